//! Taking one change out of what is there now: three-way between before the turn, after it, and now. Nothing here looks
//! at the disk or the editor.

use super::state::{Data, Thing};
use crate::patch::hunk::{apply_hunks, hunks};
use crate::patch::rebase::{Conflict, Rebased, rebase};

/// One path as a turn changed it.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) before: Option<Thing>,
    pub(super) after: Option<Thing>,
}

/// What taking changes out of a path comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Inverse {
    /// What shall be there is what was there before.
    Restored(Option<Thing>),
    /// The changes are out; what was changed since is still in.
    Merged(Option<Thing>),
    /// They cannot be taken out without losing what was changed since; why.
    Conflict(String),
    /// What was there before is not known; why.
    Skipped(String),
}

/// Takes changes out, given from the newest to the oldest.
pub(super) fn take_out(now: Option<&Thing>, changes: &[Change]) -> Inverse {
    let mut state = now.cloned();
    let mut merged = false;
    for change in changes {
        match one(state.as_ref(), change) {
            Inverse::Restored(then) => state = then,
            Inverse::Merged(then) => {
                state = then;
                merged = true;
            }
            no => return no,
        }
    }
    if merged {
        Inverse::Merged(state)
    } else {
        Inverse::Restored(state)
    }
}

/// What was there before all of the changes, whatever is there now.
pub(super) fn force(now: Option<&Thing>, changes: &[Change]) -> Inverse {
    if let Some(Data::Strange(words)) = now.map(|now| &now.data) {
        return Inverse::Conflict(words.clone());
    }
    let before = changes.last().and_then(|change| change.before.clone());
    match before {
        Some(before) if matches!(before.data, Data::Unkept { .. }) => Inverse::Skipped(unkept()),
        Some(mut before) => {
            before.mode = before.mode.or(now.and_then(|now| now.mode));
            Inverse::Restored(Some(before))
        }
        None => Inverse::Restored(None),
    }
}

fn unkept() -> String {
    "it was too large, or could not be read, when the turn began, so what it held was not kept".to_owned()
}

fn one(now: Option<&Thing>, change: &Change) -> Inverse {
    let Change { before, after } = change;
    if let Some(Data::Strange(words)) = now.map(|now| &now.data) {
        return Inverse::Conflict(words.clone());
    }
    match (before, after, now) {
        (_, None, None) | (_, Some(_), Some(_)) if same(after.as_ref(), now) => back(before.as_ref(), after, now),
        (None, _, None) => Inverse::Restored(None),
        (Some(before), _, Some(now)) if before.same_content(now) => {
            let mode = mode_of(Some(before), after.as_ref(), Some(now));
            Inverse::Restored(Some(Thing { mode, ..now.clone() }))
        }
        (Some(before), Some(after), Some(now)) => match (before.as_text(), after.as_text(), now.as_text()) {
            (Some(old), Some(new), Some(text)) => {
                let mode = mode_of(Some(before), Some(after), Some(now));
                merge(old, new, text, mode)
            }
            _ => Inverse::Conflict("it was changed since".to_owned()),
        },
        (Some(_), Some(_), None) => Inverse::Conflict("it was deleted since".to_owned()),
        (Some(_), None, Some(_)) => Inverse::Conflict("the turn deleted it, and it was created again since".to_owned()),
        (None, Some(_), Some(_)) => Inverse::Conflict("the turn made it, and it was changed since".to_owned()),
        // It changed nothing.
        (_, None, None) | (None, None, Some(_)) => Inverse::Restored(now.cloned()),
    }
}

fn same(a: Option<&Thing>, b: Option<&Thing>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.same_content(b),
        (None, None) => true,
        _ => false,
    }
}

/// Nothing has changed since: what was there before comes back.
fn back(before: Option<&Thing>, after: &Option<Thing>, now: Option<&Thing>) -> Inverse {
    match before {
        Some(before) if matches!(before.data, Data::Unkept { .. }) => Inverse::Skipped(unkept()),
        Some(before) => Inverse::Restored(Some(Thing {
            mode: mode_of(Some(before), after.as_ref(), now),
            ..before.clone()
        })),
        None => Inverse::Restored(None),
    }
}

/// The bits of before, unless the turn had not changed them and somebody did since.
fn mode_of(before: Option<&Thing>, after: Option<&Thing>, now: Option<&Thing>) -> Option<u32> {
    let mode = |thing: Option<&Thing>| thing.and_then(|thing| thing.mode);
    let (before, after, now) = (mode(before), mode(after), mode(now));
    match now {
        None => before,
        Some(_) if before.is_none() || before == after => now,
        Some(_) if after.is_none() || now == after => before,
        Some(_) => now,
    }
}

fn merge(before: &str, after: &str, now: &str, mode: Option<u32>) -> Inverse {
    let back = hunks(after, before);
    let mut placed = Vec::new();
    for (hunk, found) in back.iter().zip(rebase(after, &back, now)) {
        match found {
            Rebased::Placed(range) => placed.push((range, hunk.new_text.clone())),
            Rebased::Conflict {
                why: Conflict::AlreadyThere,
            } => {}
            Rebased::Conflict { why } => return Inverse::Conflict(format!("it was changed since: {why}")),
        }
    }
    let text = apply_hunks(now, &placed);
    Inverse::Merged(Some(Thing::text(text, mode)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(text: &str) -> Option<Thing> {
        Some(Thing::text(text.to_owned(), Some(0o644)))
    }

    fn with_mode(thing: Option<Thing>, mode: u32) -> Option<Thing> {
        thing.map(|thing| Thing {
            mode: Some(mode),
            ..thing
        })
    }

    fn link(target: &str) -> Option<Thing> {
        Some(Thing {
            mode: None,
            data: Data::Link(target.into()),
        })
    }

    fn change(before: Option<Thing>, after: Option<Thing>) -> Change {
        Change { before, after }
    }

    #[test]
    fn by_table() {
        let conflict = |inverse: &Inverse| matches!(inverse, Inverse::Conflict(_));
        let (a, b) = (text("a\nb\nc\n"), text("a\nB\nc\n"));
        let exec = |thing: &Option<Thing>| with_mode(thing.clone(), 0o755);
        for (before, after, now, expected) in [
            // Nothing has changed since.
            (&a, &b, &b, Inverse::Restored(a.clone())),
            (&None, &b, &b, Inverse::Restored(None)),
            (&a, &None, &None, Inverse::Restored(a.clone())),
            (&link("x"), &link("y"), &link("y"), Inverse::Restored(link("x"))),
            (&a, &exec(&a), &exec(&a), Inverse::Restored(a.clone())),
            // It is what it was already.
            (&a, &b, &a, Inverse::Restored(a.clone())),
            (&None, &b, &None, Inverse::Restored(None)),
            // Somebody has typed elsewhere.
            (&a, &b, &text("x\na\nB\nc\n"), Inverse::Merged(text("x\na\nb\nc\n"))),
            // Bits that somebody set since stay.
            (&a, &b, &exec(&b), Inverse::Restored(exec(&a))),
            (
                &a,
                &exec(&b),
                &with_mode(b.clone(), 0o600),
                Inverse::Restored(with_mode(a.clone(), 0o600)),
            ),
        ] {
            let found = take_out(now.as_ref(), &[change(before.clone(), after.clone())]);
            assert_eq!(found, expected, "{before:?} {after:?} {now:?}");
        }
        for (before, after, now) in [
            (&a, &b, &text("a\nBB\nc\n")),
            (&a, &b, &None),
            (&a, &None, &b),
            (&None, &b, &text("other\n")),
            (&a, &link("x"), &link("y")),
        ] {
            let changes = [change(before.clone(), after.clone())];
            let found = take_out(now.as_ref(), &changes);
            assert!(conflict(&found), "{before:?} {after:?} {now:?}: {found:?}");
            let forced = force(now.as_ref(), &changes);
            assert!(
                matches!(&forced, Inverse::Restored(then) if same(then.as_ref(), before.as_ref())),
                "{forced:?}"
            );
        }
        let folder = Some(Thing {
            mode: None,
            data: Data::Strange("a folder is there now".to_owned()),
        });
        assert!(conflict(&force(folder.as_ref(), &[change(a.clone(), b.clone())])));
    }

    #[test]
    fn a_content_that_was_not_kept_is_left_alone() {
        let unkept = Some(Thing {
            mode: Some(0o644),
            data: Data::Unkept {
                key: "1".to_owned(),
                size: 9,
            },
        });
        let changes = [change(unkept.clone(), None)];
        assert!(matches!(take_out(None, &changes), Inverse::Skipped(_)));
        assert!(matches!(force(None, &changes), Inverse::Skipped(_)));
        let changes = [change(None, unkept.clone())];
        assert_eq!(take_out(unkept.as_ref(), &changes), Inverse::Restored(None));
    }

    #[test]
    fn several_turns_are_taken_out_one_after_the_other() {
        let turns = [
            change(text("1\n2\nx\n"), text("1\n2\n3\nx\n")),
            change(text("1\n"), text("1\n2\n")),
        ];
        // Between the two turns somebody added the last line.
        let found = take_out(text("1\n2\n3\nx\n").as_ref(), &turns);
        assert!(matches!(&found, Inverse::Conflict(_) | Inverse::Merged(_)), "{found:?}");
        let turns = [
            change(text("1\n\na\n\nx\n"), text("1\n\na\n\nX\n")),
            change(text("0\n\na\n"), text("1\n\na\n")),
        ];
        let found = take_out(text("1\n\na\n\nX\n").as_ref(), &turns);
        assert_eq!(found, Inverse::Merged(text("0\n\na\n\nx\n")));
    }

    fn any_text() -> impl Strategy<Value = String> {
        let line = prop_oneof![Just("a\n"), Just("b\n"), Just("\n"), Just("long line\n"), Just("c\n")];
        prop::collection::vec(line, 0..12).prop_map(|lines| lines.concat())
    }

    proptest! {
        #[test]
        fn what_nobody_touched_since_comes_back(before in any_text(), after in any_text()) {
            let found = take_out(text(&after).as_ref(), &[change(text(&before), text(&after))]);
            prop_assert_eq!(found, Inverse::Restored(text(&before)));
        }

        #[test]
        fn what_was_added_since_at_the_end_stays(before in any_text(), after in any_text(), since in "[x-z]{1,5}") {
            let now = format!("{after}{since}\n");
            if let Inverse::Merged(Some(then)) = take_out(text(&now).as_ref(), &[change(text(&before), text(&after))]) {
                let then = then.as_text().unwrap().to_owned();
                prop_assert!(then.ends_with(&format!("{since}\n")), "{:?}", then);
            }
        }
    }
}
