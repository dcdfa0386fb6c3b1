use super::*;
use crate::patch::hunk::tests::any_text;
use crate::patch::hunk::{apply_hunks, hunks, with_hunks};
use crate::patch::lines::Lines;
use proptest::prelude::*;

/// The text with every hunk that found a place, and how many did not.
fn merged(before: &str, after: &str, now: &str) -> (String, Vec<Conflict>) {
    let hunks = hunks(before, after);
    let (mut placed, mut conflicts) = (Vec::new(), Vec::new());
    for (hunk, one) in hunks.iter().zip(rebase(before, &hunks, now)) {
        match one {
            Rebased::Placed(range) => placed.push((range, hunk.new_text.clone())),
            Rebased::Conflict { why } => conflicts.push(why),
        }
    }
    (apply_hunks(now, &placed), conflicts)
}

#[test]
fn hunks_follow_their_text_or_conflict() {
    use Conflict::{AlreadyThere, Changed, SamePlace};
    let five = "1\n2\n3\n4\n5\n";
    type Row<'a> = (&'a str, &'a str, &'a str, &'a str, &'a str, &'a [Conflict]);
    let rows: &[Row<'_>] = &[
        (
            "typed above",
            five,
            "1\n2\n3\n4\nE\n",
            "0\n1\n2\n3\n4\n5\n",
            "0\n1\n2\n3\n4\nE\n",
            &[],
        ),
        (
            "typed right above",
            five,
            "1\n2\nC\n4\n5\n",
            "1\n2\nx\n3\n4\n5\n",
            "1\n2\nx\nC\n4\n5\n",
            &[],
        ),
        (
            "typed right below",
            five,
            "1\n2\nC\n4\n5\n",
            "1\n2\n3\nx\n4\n5\n",
            "1\n2\nC\nx\n4\n5\n",
            &[],
        ),
        (
            "the line above rewritten",
            five,
            "1\n2\nC\n4\n5\n",
            "1\nx\n3\n4\n5\n",
            "1\nx\nC\n4\n5\n",
            &[],
        ),
        (
            "the line itself",
            five,
            "1\n2\nC\n4\n5\n",
            "1\n2\nx\n4\n5\n",
            "1\n2\nx\n4\n5\n",
            &[Changed],
        ),
        (
            "inside the lines",
            five,
            "1\nX\n4\n5\n",
            "1\n2\nx\n3\n4\n5\n",
            "1\n2\nx\n3\n4\n5\n",
            &[Changed],
        ),
        (
            "the lines are gone",
            five,
            "1\n2\nC\n4\n5\n",
            "1\n5\n",
            "1\n5\n",
            &[Changed],
        ),
        (
            "by hand already",
            five,
            "1\n2\nC\n4\n5\n",
            "1\n2\nC\n4\n5\n",
            "1\n2\nC\n4\n5\n",
            &[AlreadyThere],
        ),
        (
            "inserted by hand",
            five,
            "1\n2\nx\n3\n4\n5\n",
            "1\n2\nx\n3\n4\n5\n",
            "1\n2\nx\n3\n4\n5\n",
            &[AlreadyThere],
        ),
        (
            "two at one place",
            five,
            "1\n2\nx\n3\n4\n5\n",
            "1\n2\ny\n3\n4\n5\n",
            "1\n2\ny\n3\n4\n5\n",
            &[SamePlace],
        ),
        (
            "insertion, above rewritten",
            five,
            "1\n2\nx\n3\n4\n5\n",
            "1\ny\n3\n4\n5\n",
            "1\ny\nx\n3\n4\n5\n",
            &[],
        ),
        (
            "insertion, below rewritten",
            five,
            "1\n2\nx\n3\n4\n5\n",
            "1\n2\ny\n4\n5\n",
            "1\n2\nx\ny\n4\n5\n",
            &[],
        ),
        (
            "insertion, both rewritten",
            five,
            "1\n2\nx\n3\n4\n5\n",
            "1\ny\nz\n4\n5\n",
            "1\ny\nz\n4\n5\n",
            &[Changed],
        ),
        (
            "insertion, both gone",
            five,
            "1\n2\nx\n3\n4\n5\n",
            "1\n4\n5\n",
            "1\n4\n5\n",
            &[Changed],
        ),
        (
            "one of equal lines gone",
            "a\nx\nx\nb\n",
            "a\nx\nY\nb\n",
            "a\nx\nb\n",
            "a\nx\nb\n",
            &[AlreadyThere, Changed],
        ),
        (
            "typed after an unfinished end",
            "1\n2\n",
            "1\n2",
            "1\n2\n3\n",
            "1\n2\n3\n",
            &[Changed],
        ),
        ("all gone", five, "1\n2\nC\n4\n5\n", "", "", &[Changed]),
        ("into what was empty", "", "x\n", "y\n", "y\n", &[SamePlace]),
        ("the same into what was empty", "", "x\n", "x\n", "x\n", &[AlreadyThere]),
    ];
    for (name, before, after, now, expected, conflicts) in rows {
        let (text, why) = merged(before, after, now);
        assert_eq!(&text, expected, "{name}");
        assert_eq!(why.len(), conflicts.len().min(1), "{name}: {why:?}");
        assert!(why.iter().all(|why| conflicts.contains(why)), "{name}: {why:?}");
    }
}

#[test]
fn text_moved_as_a_whole_is_found_again() {
    let function = "fn moved() {\n    first();\n    second();\n    third();\n}\n";
    let rest: String = (0..20).map(|n| format!("line number {n}\n")).collect();
    let before = format!("{function}{rest}");
    let after = before.replace("second", "other");
    let now = format!("{rest}{function}");
    assert_eq!(merged(&before, &after, &now), (now.replace("second", "other"), vec![]));
    // Copied, so that it stands twice: no place is certain, but the one that was not touched is known.
    let copied = format!("{function}{rest}{function}");
    assert_eq!(
        merged(&before, &after, &copied).0,
        format!("{}{rest}{function}", function.replace("second", "other"))
    );
    // Moved and copied: conflict.
    let twice = format!("{rest}{function}{function}");
    assert_eq!(
        merged(&before, &after, &twice),
        (twice.clone(), vec![Conflict::Changed])
    );
}

#[test]
fn hunks_of_another_text_never_panic() {
    let stray = PlannedHunk {
        old: 7..9,
        old_text: "x\n".into(),
        new_text: "y\n".into(),
    };
    let why = Conflict::Changed;
    assert_eq!(rebase("a\n", &[stray], "b\n"), [Rebased::Conflict { why }]);
}

proptest! {
    #[test]
    fn unchanged_text_is_the_identity(before in any_text(), after in any_text()) {
        let hunks = hunks(&before, &after);
        let expected: Vec<_> = hunks.iter().map(|hunk| Rebased::Placed(hunk.old.clone())).collect();
        prop_assert_eq!(rebase(&before, &hunks, &before), expected);
    }

    /// Only lines that equal what the hunk replaces are ever replaced, and no two hunks share a line.
    #[test]
    fn a_placed_hunk_replaces_its_own_text(before in any_text(), after in any_text(), now in any_text()) {
        let hunks = hunks(&before, &after);
        let lines = Lines::new(&now);
        let mut taken: Vec<Range<usize>> = Vec::new();
        for (hunk, one) in hunks.iter().zip(rebase(&before, &hunks, &now)) {
            if let Rebased::Placed(range) = one {
                prop_assert!(range.end <= lines.len());
                prop_assert_eq!(lines.slice(&range), &hunk.old_text);
                prop_assert!(taken.iter().all(|other| range.end <= other.start || other.end <= range.start));
                taken.push(range);
            }
        }
    }

    /// What is kept up while somebody types is what a look from scratch finds.
    #[test]
    fn following_step_by_step_is_following_at_once(
        before in any_text(), after in any_text(), typed in prop::collection::vec(any_text(), 1..6),
    ) {
        let hunks = hunks(&before, &after);
        let mut follower = Follower::default();
        for now in typed {
            let found: Vec<_> = follower
                .follow(&before, &hunks, now.clone())
                .into_iter()
                .map(|followed| followed.found)
                .collect();
            prop_assert_eq!(found, rebase(&before, &hunks, &now));
        }
    }

    /// Random edits: what is not in a hunk's place is never touched, and no hunk goes in twice.
    #[test]
    fn only_the_hunks_change_and_each_once(
        fates in prop::collection::vec(0u8..6, 1..40),
        typing in prop::collection::vec((0usize..44, 0u8..4), 0..12),
    ) {
        let before: String = (0..fates.len()).map(|line| format!("line {line}\n")).collect();
        let after: String = fates.iter().enumerate().map(|(line, fate)| match fate {
            0 => format!("HUNK {line}\n"),
            1 => format!("line {line}\nHUNK {line}\n"),
            _ => format!("line {line}\n"),
        }).collect();
        let mut lines: Vec<String> = before.split_inclusive('\n').map(str::to_owned).collect();
        for (number, (at, how)) in typing.into_iter().enumerate() {
            let at = at.min(lines.len());
            match how {
                0 => lines.insert(at, format!("typed {number}\n")),
                1 if at < lines.len() => { lines.remove(at); }
                2 if at < lines.len() => lines[at] = format!("{} and {number}\n", lines[at].trim_end()),
                // A line taken elsewhere.
                3 if at < lines.len() => { let line = lines.remove(at); lines.insert(at / 2, line); }
                _ => {}
            }
        }
        let now = lines.concat();
        let hunks = hunks(&before, &after);
        let mut placed = Vec::new();
        for (hunk, one) in hunks.iter().zip(rebase(&before, &hunks, &now)) {
            if let Rebased::Placed(range) = one {
                placed.push((range, hunk));
            }
        }
        let edits: Vec<_> = placed.iter().map(|(range, hunk)| (range.clone(), hunk.new_text.clone())).collect();
        let result = apply_hunks(&now, &edits);
        for line in after.lines().filter(|line| line.starts_with("HUNK")) {
            let times = result.lines().filter(|seen| *seen == line).count();
            let of_placed = placed.iter().any(|(_, hunk)| hunk.new_text.lines().any(|new| new == line));
            prop_assert_eq!(times, usize::from(of_placed), "{}", line);
        }
        // Taking the hunks out again, by their own lines, leaves what the person typed.
        let ours: Vec<&str> = result.lines().filter(|line| !line.starts_with("HUNK")).collect();
        let replaced: Vec<&str> = placed.iter().flat_map(|(_, hunk)| hunk.old_text.lines()).collect();
        let kept: Vec<&str> = placed.iter().flat_map(|(_, hunk)| hunk.new_text.lines()).filter(|line| !line.starts_with("HUNK")).collect();
        let mut expected: Vec<&str> = now.lines().filter(|line| !replaced.contains(line) || kept.contains(line)).collect();
        let mut ours = ours;
        ours.sort_unstable();
        expected.sort_unstable();
        prop_assert_eq!(ours, expected);
    }

    /// Taking a part now and the rest later is the same as taking all, as long as no line stands twice.
    #[test]
    fn hunks_taken_one_after_the_other(fates in prop::collection::vec(0u8..8, 0..24), mask in any::<u32>()) {
        let before: String = (0..fates.len()).map(|line| format!("line {line}\n")).collect();
        let after: String = fates.iter().enumerate().map(|(line, fate)| match fate {
            0 => String::new(),
            1 => format!("other {line}\n"),
            2 => format!("line {line}\nnew {line}\n"),
            _ => format!("line {line}\n"),
        }).collect();
        let hunks = hunks(&before, &after);
        let first: Vec<bool> = (0..hunks.len()).map(|bit| mask >> bit & 1 == 1).collect();
        let now = with_hunks(&before, &hunks, &first);
        let rest: Vec<_> = hunks.iter().zip(&first).filter(|&(_, &taken)| !taken).map(|(hunk, _)| hunk.clone()).collect();
        let mut placed = Vec::new();
        for (hunk, one) in rest.iter().zip(rebase(&before, &rest, &now)) {
            let Rebased::Placed(range) = one else { return Err(TestCaseError::fail(format!("{hunk:?}: {one:?}"))) };
            placed.push((range, hunk.new_text.clone()));
        }
        prop_assert_eq!(apply_hunks(&now, &placed), after);
    }

    /// The order of the person's lines is never changed: what is left after taking out new lines is theirs.
    #[test]
    fn text_outside_the_hunks_stays(before in any_text(), now in any_text(), at in 0usize..14) {
        let lines = Lines::new(&before);
        let at = at.min(lines.len());
        let hunk = PlannedHunk { old: at..at, old_text: String::new(), new_text: "NEW\n".into() };
        if let [Rebased::Placed(range)] = &rebase(&before, &[hunk], &now)[..] {
            prop_assert!(range.is_empty());
            let text = apply_hunks(&now, &[(range.clone(), "NEW\n".into())]);
            prop_assert_eq!(text.replacen("NEW\n", "", 1), now);
        }
    }
}
