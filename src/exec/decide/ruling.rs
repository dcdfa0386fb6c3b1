//! What the rules say of a command: of each command in it, and then the strictest of all.

use super::{Reach, only_reads, plain};
use crate::exec::command::Judgement;
use crate::exec::rules::{Decision, Rule, Rules};
use std::path::Path;

/// What the rules say of a whole command.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ruling<'r> {
    /// The strictest rule that asks or denies.
    pub(super) tightening: Option<&'r Rule>,
    pub(super) allowed: Option<Allowed<'r>>,
    /// A rule that would allow it, did it count.
    pub(super) suspended: Option<&'r Rule>,
}

/// Each command in it is allowed by a rule, or only reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowed<'r> {
    /// One of the rules.
    pub(super) rule: &'r Rule,
    /// Each of them lets its command out of the sandbox, and what only reads stays where it is.
    pub(super) outside: bool,
}

/// Programs that do nothing but run the command among their arguments.
const WRAPPERS: &[&str] = &[
    "ash", "bash", "builtin", "busybox", "chrt", "command", "dash", "doas", "env", "eval", "exec", "gosu", "ionice",
    "ksh", "nice", "nohup", "runuser", "setsid", "sh", "stdbuf", "strace", "su", "sudo", "taskset", "time", "timeout",
    "watch", "xargs", "zsh",
];

impl<'r> Ruling<'r> {
    pub(super) fn of(argv: &[String], cwd: &Path, judgement: &Judgement, rules: &'r Rules) -> Self {
        if rules.iter().next().is_none() {
            return Self::default();
        }
        let plain = plain::commands(argv);
        let allowed = |allowing: &dyn Fn(&[String]) -> Option<&'r Rule>| {
            let mut allowed: Option<Allowed<'r>> = None;
            let mut readers_stay = true;
            for command in plain.as_ref()? {
                match allowing(command) {
                    Some(rule) => {
                        let outside = rule.outside && allowed.is_none_or(|before| before.outside);
                        allowed = Some(Allowed { rule, outside });
                    }
                    None if only_reads(command, cwd) => readers_stay &= !Reach::of(command, cwd).elsewhere,
                    None => return None,
                }
            }
            allowed.map(|allowed| Allowed {
                outside: allowed.outside && readers_stay,
                ..allowed
            })
        };
        Self {
            tightening: rules.tightening(&commands(argv, plain.as_deref(), judgement)),
            allowed: allowed(&|command| rules.allowing(command, cwd)),
            suspended: match rules.unreadable() {
                Some(_) => allowed(&|command| rules.would_allow(command, cwd)).map(|allowed| allowed.rule),
                None => None,
            },
        }
    }

    pub(super) fn denied(&self) -> Option<&'r Rule> {
        self.tightening.filter(|rule| rule.decision == Decision::Deny)
    }

    pub(super) fn asked(&self) -> Option<&'r Rule> {
        self.tightening.filter(|rule| rule.decision == Decision::Ask)
    }
}

/// All that could be meant by a command, for rules that tighten: as it stands, taken apart, out of its wrappers, and where
/// it is not understood every run of its words.
fn commands(argv: &[String], plain: Option<&[Vec<String>]>, judgement: &Judgement) -> Vec<Vec<String>> {
    let mut commands = vec![argv.to_vec()];
    commands.extend(plain.into_iter().flatten().cloned());
    // Whatever is made of a wrapper elsewhere: here any of its words may begin the command that it runs.
    let wrapped = plain.into_iter().flatten().filter(|command| {
        let name = command[0].rsplit('/').next().unwrap_or_default();
        WRAPPERS.contains(&name)
    });
    for command in wrapped {
        let words = words(&command.join(" "));
        commands.extend((1..words.len()).map(|from| words[from..].to_vec()));
    }
    for part in &judgement.parts {
        let words = words(&part.text);
        if part.argv.is_empty() || plain.is_none() && judgement.parts.len() == 1 {
            commands.extend((0..words.len()).map(|from| words[from..].to_vec()));
        } else {
            // A wrapper was taken off, and there may be a rule on it.
            commands.push(words);
        }
        commands.push(part.argv.clone());
    }
    commands.retain(|command| !command.is_empty());
    commands
}

/// The words of a text without what quotes, joins and substitutes.
fn words(text: &str) -> Vec<String> {
    text.split(|c: char| c.is_whitespace() || ";&|(){}<>`$\"'\\".contains(c))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}
