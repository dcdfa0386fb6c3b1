//! What the rules say of a command: of each command in it, and then the strictest of all.

mod meant;

use super::{Case, Folders, is_harmless_without_walls, only_reads, plain, rides_along};
use crate::exec::command::Judgement;
use crate::exec::rules::{Decision, Rule};
use meant::Meant;
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
    /// Each of them lets its command out of the sandbox, and what only reads may go along.
    pub(super) outside: bool,
    /// What only reads does so without walls, too.
    pub(super) needs_no_walls: bool,
}

impl<'r> Ruling<'r> {
    pub(super) fn of(case: &Case<'r>, judgement: &Judgement) -> Self {
        let Case { argv, scene, rules, .. } = *case;
        if rules.iter().next().is_none() {
            return Self::default();
        }
        let plain = plain::commands(argv);
        let located = plain.as_ref().map(|commands| Folders::of_each(scene, commands));
        let allowed = |allowing: &dyn Fn(&[String], &Folders) -> Option<&'r Rule>| {
            let mut allowed: Option<Allowed<'r>> = None;
            let (mut ride, mut need_no_walls) = (true, true);
            for (command, folders) in located.as_ref()? {
                match allowing(command, folders) {
                    Some(rule) => {
                        let outside = rule.outside && allowed.is_none_or(|before| before.outside);
                        allowed = Some(Allowed {
                            rule,
                            outside,
                            needs_no_walls: true,
                        });
                    }
                    None => {
                        let judgement = only_reads(command, scene.cwd)?;
                        ride &= rides_along(&judgement, command, folders, scene);
                        need_no_walls &= is_harmless_without_walls(&judgement, scene);
                    }
                }
            }
            allowed.map(|allowed| Allowed {
                outside: allowed.outside && ride,
                needs_no_walls: need_no_walls,
                ..allowed
            })
        };
        let home = scene.env.get("HOME").map(Path::new);
        let meant = Meant::of(argv, (scene.cwd, home), judgement);
        Self {
            tightening: rules.tightening(&meant.commands().collect::<Vec<_>>()),
            allowed: allowed(&|command, folders| rules.allowing(command, folders)),
            suspended: match rules.unreadable() {
                Some(_) => allowed(&|command, folders| rules.would_allow(command, folders)).map(|allowed| allowed.rule),
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
