//! Commands that make a repository. Git and editors act on its metadata by themselves, so none is made in the sandbox.

use super::{base_name, has_usual_place, plain_commands};

/// Programs that make one, with what they are told to do so.
const MAKING: &[(&str, &[&[&str]])] = &[
    ("git", &[&["clone"], &["init"]]),
    ("hg", &[&["clone"], &["init"]]),
    ("jj", &[&["git", "clone"], &["git", "init"]]),
];

/// Whether the command makes a repository and does nothing else.
pub fn makes_a_repository(argv: &[String]) -> bool {
    let commands = plain_commands(argv);
    matches!(commands.as_deref(), Some([command]) if makes(command))
}

/// What the model is told where the sandbox has stopped a command that makes one; none if it makes none.
pub fn advice_on_making(argv: &[String]) -> Option<&'static str> {
    let commands = plain_commands(argv)?;
    if commands.iter().any(|command| makes(command)) {
        return Some(
            "no repository is made in the sandbox, since other programs act on its metadata. Run the command that makes \
             it by itself with escalated permissions, if you may ask for that",
        );
    }
    let is_cargo = |command: &Vec<String>| {
        let sub_command = command.get(1).map(String::as_str);
        let mut program = command.iter().take(1);
        program.any(|program| base_name(program) == "cargo") && matches!(sub_command, Some("init" | "new"))
    };
    commands.iter().any(is_cargo).then_some(
        "no repository is made in the sandbox, since other programs act on its metadata. Use `cargo init --vcs none` in \
         the folder, which is there now; `git init` makes a repository, if you may ask to run that outside the sandbox",
    )
}

fn makes(command: &[String]) -> bool {
    let Some((program, arguments)) = command.split_first() else {
        return false;
    };
    let mut rows = MAKING.iter().filter(|(name, _)| *name == base_name(program));
    let begins =
        |words: &&[&str]| words.len() <= arguments.len() && words.iter().zip(arguments).all(|(one, word)| one == word);
    has_usual_place(program) && rows.any(|(_, forms)| forms.iter().any(begins))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns: the text, whether it makes a repository and nothing else, and a word of what the model is told.
    #[test]
    fn by_table() {
        for (text, alone, advice) in [
            ("git init x", true, Some("escalated permissions")),
            ("git clone https://a.example/x", true, Some("escalated permissions")),
            ("jj git init", true, Some("escalated permissions")),
            ("mkdir x && git init x", false, Some("escalated permissions")),
            ("cargo new x", false, Some("--vcs none")),
            ("git status", false, None),
            ("git initial", false, None),
            ("./git init x", false, None),
            ("jj git push", false, None),
            ("cargo build", false, None),
            ("git init $x", false, None),
        ] {
            let argv = ["bash", "-lc", text].map(str::to_owned);
            assert_eq!(makes_a_repository(&argv), alone, "{text}");
            let told = advice_on_making(&argv);
            assert_eq!(told.is_some(), advice.is_some(), "{text}");
            assert!(
                told.is_none_or(|told| advice.is_some_and(|advice| told.contains(advice))),
                "{text}"
            );
        }
    }
}
