//! Tells Zed how to start the server. All the rest is the language server protocol.

mod place;

use zed_extension_api::settings::LspSettings;
use zed_extension_api::{self as zed, Command, LanguageServerId, Result, Worktree, serde_json};

struct Countersign;

impl zed::Extension for Countersign {
    fn new() -> Self {
        Self
    }

    fn language_server_command(&mut self, _: &LanguageServerId, worktree: &Worktree) -> Result<Command> {
        // Settings may be the project's (`.zed/settings.json`), which cannot be told from the person's here. So neither a program nor
        // arguments are taken from there: `/bin/sh` would read what the project says in `initialization_options`.
        let env = worktree.shell_env();
        let home = env.iter().find(|(name, _)| name == "HOME").map(|(_, home)| home.as_str());
        let command = worktree.which("countersign").ok_or(
            "The program `countersign` is not on PATH. Install it with `cargo install --path . --locked` in Countersign's repository.",
        )?;
        match place::is_of_project(&command, &worktree.root_path(), home) {
            false => Ok(Command { command, args: Vec::new(), env }),
            true => Err(format!(
                "The program {command} lies where a project or a command can have put it, from where it is not started. Put one elsewhere on PATH, \
                 in front of it."
            )),
        }
    }

    fn language_server_initialization_options(
        &mut self,
        id: &LanguageServerId,
        worktree: &Worktree,
    ) -> Result<Option<serde_json::Value>> {
        Ok(LspSettings::for_worktree(id.as_ref(), worktree)?.initialization_options)
    }
}

zed::register_extension!(Countersign);
