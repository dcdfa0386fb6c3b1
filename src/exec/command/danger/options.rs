//! Options and operands of commands, read generously: an option counts wherever it stands, also shortened.

use crate::exec::command::word::Word;

/// Options before `--`.
pub(super) fn options(arguments: &[Word]) -> impl Iterator<Item = &str> {
    let before = arguments
        .iter()
        .map(|word| word.text.as_str())
        .take_while(|text| *text != "--");
    before.filter(|text| text.starts_with('-') && text.len() > 1)
}

pub(super) fn operands(arguments: &[Word]) -> impl Iterator<Item = &Word> {
    arguments.iter().filter(|word| !word.text.starts_with('-'))
}

/// Whether one of the options is this short letter (alone or among others) or this long name, also abbreviated.
pub(super) fn has_option(arguments: &[Word], letters: &[char], long: &str) -> bool {
    options(arguments).any(|option| match option.strip_prefix("--") {
        Some(name) => !name.is_empty() && long.starts_with(name),
        None => option.contains(letters),
    })
}

pub(super) fn forces(arguments: &[Word]) -> bool {
    has_option(arguments, &['f'], "force") || options(arguments).any(|option| option.starts_with("--interactive=n"))
}

pub(super) fn recurses(arguments: &[Word]) -> bool {
    has_option(arguments, &['r', 'R'], "recursive")
}
