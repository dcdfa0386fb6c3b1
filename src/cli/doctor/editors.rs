//! Which editors are here, and how each is set up for Countersign.

use super::checks::find;
use super::{Check, Machine, State};

/// Set by an extension of ours that starts this: the name of its editor, which needs no advice.
const STARTED_BY: &str = "COUNTERSIGN_EDITOR";

struct Editor {
    name: &'static str,
    programs: &'static [&'static str],
    /// What to do, in lines that can be copied.
    hint: &'static str,
}

const EDITORS: &[Editor] = &[
    Editor {
        name: "Neovim",
        programs: &["nvim"],
        hint: "the plugin is the folder editors/nvim of the repository: link it as\n\
               ~/.local/share/nvim/site/pack/agents/start/countersign, and in ~/.config/nvim/init.lua:\n\
               require('countersign').setup()\n\
               then :checkhealth countersign; its README has more. Without the plugin: countersign editor-config neovim",
    },
    Editor {
        name: "VS Code",
        programs: &["code", "codium", "code-insiders", "code-server"],
        hint: "install the extension of editors/vscode; its README says how",
    },
    Editor {
        name: "Helix",
        programs: &["hx", "helix"],
        hint: "in ~/.config/helix/languages.toml, and in language-servers of each language:\n\
               [language-server.countersign]\n\
               command = \"countersign\"",
    },
    Editor {
        name: "Emacs",
        programs: &["emacs"],
        hint: "with eglot:\n\
               countersign editor-config emacs > ~/.emacs.d/countersign.el, and in ~/.emacs.d/init.el:\n\
               (load \"~/.emacs.d/countersign.el\")\n\
               then M-x countersign in a file of a project; your language servers stay the default",
    },
    Editor {
        name: "Kakoune",
        programs: &["kak"],
        hint: "with kakoune-lsp: countersign editor-config kakoune prints what goes into kakrc, before lsp-enable",
    },
    Editor {
        name: "Zed",
        programs: &["zed", "zeditor"],
        hint: "the extension is the folder editors/zed of the repository: its README says how it is installed",
    },
    Editor {
        name: "Sublime Text",
        programs: &["subl", "sublime_text"],
        hint: "with the package LSP, in its settings:\n\
               \"clients\": { \"countersign\": { \"enabled\": true, \"command\": [\"countersign\"], \"selector\": \"source | text\" } }",
    },
];

pub(super) fn check(machine: &Machine) -> Check {
    let here: Vec<&Editor> = EDITORS
        .iter()
        .filter(|editor| editor.programs.iter().any(|program| find(machine, program).is_some()))
        .collect();
    let by = machine.env.get(STARTED_BY).map(String::as_str);
    let (here, own) = match EDITORS.iter().find(|editor| Some(editor.name) == by) {
        Some(own) => (
            here.into_iter().filter(|editor| editor.name != own.name).collect(),
            Some(own),
        ),
        None => (here, None),
    };
    if here.is_empty() && own.is_none() {
        return Check::new("editors", State::Ok, "none found on PATH")
            .with(["Any editor that speaks LSP will do: let it start `countersign` for your files.".to_owned()]);
    }
    let names: Vec<&str> = own
        .into_iter()
        .chain(here.iter().copied())
        .map(|editor| editor.name)
        .collect();
    let set_up = own.map(|editor| format!("{}: set up; this was started from it", editor.name));
    let hints = here
        .iter()
        .map(|editor| format!("{}: {}", editor.name, editor.hint.replace('\n', "\n  ")));
    Check::new("editors", State::Ok, names.join(", ")).with(set_up.into_iter().chain(hints))
}
