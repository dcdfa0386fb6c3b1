//! `countersign editor-config`: prints the configuration that makes an editor start the server, ready to be put where the editor
//! looks for it. Where it goes stands in its first lines, as a comment.

use std::io::Write;
use std::process::ExitCode;

/// The languages that Helix knows, each with the servers that Helix has for it.
const HELIX_LANGUAGES: &str = include_str!("../../editors/helix/languages.txt");
const EMACS: &str = include_str!("../../editors/emacs/countersign.el");
const KAKOUNE: &str = include_str!("editor_config/kakoune.kak");
const NEOVIM: &str = include_str!("../../editors/nvim/countersign.lua");
const SUBLIME: &str = include_str!("editor_config/sublime.json");
const VIM: &str = include_str!("editor_config/vim.vim");
const VSCODE: &str = include_str!("editor_config/vscode.json");
const ZED: &str = include_str!("editor_config/zed.json");

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The editor.
    editor: EditorName,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum EditorName {
    #[value(alias = "hx")]
    Helix,
    Emacs,
    #[value(alias = "kak")]
    Kakoune,
    Sublime,
    Zed,
    Vim,
    #[value(alias = "nvim")]
    Neovim,
    #[value(alias = "code")]
    Vscode,
}

pub fn run(args: Args) -> ExitCode {
    let text = match args.editor {
        EditorName::Helix => helix(),
        EditorName::Emacs => EMACS.to_owned(),
        EditorName::Kakoune => KAKOUNE.to_owned(),
        EditorName::Sublime => SUBLIME.to_owned(),
        EditorName::Zed => ZED.to_owned(),
        EditorName::Vim => VIM.to_owned(),
        EditorName::Neovim => NEOVIM.to_owned(),
        EditorName::Vscode => VSCODE.to_owned(),
    };
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader, `head` for one, has seen enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// The agent for every language, behind the servers that the language has: a list of servers replaces Helix's own.
fn helix() -> String {
    let mut text = "# ~/.config/helix/languages.toml: the agent for all languages, beside their own servers.\n\
                    # Where you have this file already, keep your own entries and take from here what they lack.\n\n\
                    [language-server.countersign]\ncommand = \"countersign\"\n"
        .to_owned();
    for line in HELIX_LANGUAGES.lines() {
        let mut words = line.split(' ');
        let Some(language) = words.next().filter(|name| !name.is_empty()) else {
            continue;
        };
        let servers: Vec<_> = words
            .chain(["countersign"])
            .map(|server| format!("{server:?}"))
            .collect();
        text.push_str(&format!(
            "\n[[language]]\nname = {language:?}\nlanguage-servers = [{}]\n",
            servers.join(", ")
        ));
    }
    text
}
