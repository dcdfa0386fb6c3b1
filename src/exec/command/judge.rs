//! The judgement of a command.

use super::judgement::{Judgement, Kind, Label, Part};
use super::{dangerous, display, known_to_only_read, plain_commands, shell_text};
use std::path::Path;

/// Judges a command that would run in `cwd`: each command in it by itself, and all of it by the worst of them.
pub fn judge(argv: &[String], _cwd: &Path) -> Judgement {
    let whole = || {
        part(
            argv.to_vec(),
            shell_text(argv).map_or_else(|| display(argv), str::to_owned),
            argv,
        )
    };
    let Some(commands) = plain_commands(argv) else {
        return Judgement::of(vec![whole()]);
    };
    let parts: Vec<Part> = commands
        .into_iter()
        .map(|command| part(command.clone(), display(&command), &command))
        .collect();
    let judgement = Judgement::of(parts);
    match whole() {
        all if all.label > judgement.label => Judgement::of(vec![all]),
        _ => judgement,
    }
}

fn part(argv: Vec<String>, text: String, judged: &[String]) -> Part {
    let danger = dangerous(judged);
    let (label, why) = match danger {
        Some(reason) => (Label::Dangerous, Some(reason)),
        None if known_to_only_read(judged) => (Label::SafeReadonly, None),
        None => (Label::NotSafe, Some("is not known to only read".to_owned())),
    };
    Part {
        words: format!("runs {}", argv.first().map_or("", String::as_str)),
        argv,
        text,
        label,
        kind: Kind::Other,
        why,
    }
}
