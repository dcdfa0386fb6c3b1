//! Whose each line of a text is, followed by its place through all changes: an equal line elsewhere says nothing.
//!
//! Lines are compared without regard to blanks, which formatters change. Rules and fences are nobody's words. What stands in the
//! place of somebody else's line is made out of it, and stays theirs; what is put beside it is not. Where a change takes out more of
//! theirs than it puts in that place, all that is new in it may be what was moved, and made into something else on the way.

use crate::chat::document::{Chat, bare, lines};
use crate::patch::diff;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

/// What is as short as this is nobody's once it was taken out: a bracket, the first key of a command.
const SHORT: usize = 3;

/// Whose a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Owner {
    Person,
    /// It came while the file was in a state that nobody had accounted for.
    Doubtful,
    /// Made out of somebody else's line.
    Made,
    /// Somebody else's, as it came.
    Other,
}

/// A line that has words.
struct Line {
    /// As it is compared.
    plain: String,
    at: Range<usize>,
    /// How many stand above it, with those that have no words.
    number: usize,
    is_of_header: bool,
}

/// A line as it is compared.
pub(super) fn plain(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn words(text: &str) -> Vec<Line> {
    let start = Chat::read(text).start;
    let lines = lines(text).enumerate().map(|(number, at)| Line {
        plain: plain(bare(&text[at.clone()]).trim_start_matches('\u{feff}')),
        is_of_header: at.start < start,
        at,
        number,
    });
    lines
        .filter(|line| line.plain.chars().any(|c| !"-=_~`".contains(c)))
        .collect()
}

/// A text with the owners of its lines.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    text: String,
    /// Of each line that has words, in their order; empty where all are the person's.
    owners: Vec<Owner>,
    /// Lines of others that do not stand there, but may come back: of the header, and of the rest. They stay theirs until the person
    /// has seen them in a question.
    away: [BTreeSet<String>; 2],
}

impl Lines {
    /// A text that is all of one owner.
    pub(super) fn of(text: &str, owner: Owner) -> Self {
        Self::with(text, |_| owner)
    }

    /// A text in which the lines of these numbers are somebody else's.
    pub(super) fn noted(text: &str, others: &[Range<usize>]) -> Self {
        let is_other = |line: &Line| others.iter().any(|range| range.contains(&line.number));
        Self::with(text, |line| if is_other(line) { Owner::Other } else { Owner::Person })
    }

    fn with(text: &str, owner: impl Fn(&Line) -> Owner) -> Self {
        let mut lines = Self {
            text: text.to_owned(),
            owners: words(text).iter().map(owner).collect(),
            away: Default::default(),
        };
        lines.simplify();
        lines
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    fn simplify(&mut self) {
        if self.owners.iter().all(|owner| *owner == Owner::Person) {
            self.owners.clear();
        }
    }

    /// The numbers of the lines that are not the person's.
    pub(super) fn others(&self) -> Vec<Range<usize>> {
        let mut others: Vec<Range<usize>> = Vec::new();
        let lines = words(&self.text).into_iter().zip(&self.owners);
        for (line, _) in lines.filter(|(_, owner)| **owner != Owner::Person) {
            match others.last_mut() {
                Some(last) if last.end == line.number => last.end += 1,
                _ => others.push(line.number..line.number + 1),
            }
        }
        others
    }

    /// Whether a line that is not the person's stands in these bytes of a text; nothing is known of one that was not looked at.
    pub(super) fn has_others(&self, text: &str, bytes: &Range<usize>) -> bool {
        let is_there = |line: &Line| line.at.start < bytes.end && bytes.start < line.at.end;
        self.text != text
            || !self.owners.is_empty()
                && words(text)
                    .iter()
                    .zip(&self.owners)
                    .any(|(line, owner)| *owner != Owner::Person && is_there(line))
    }

    /// The editor may yet bring what is not the person's in these lines.
    pub(super) fn expect(&mut self, other: &Self) {
        let lines = words(&other.text).into_iter().zip(&other.owners);
        for (line, _) in lines.filter(|(_, owner)| **owner != Owner::Person) {
            self.away[usize::from(!line.is_of_header)].insert(line.plain);
        }
    }

    /// The text is another one now, by the hand of the editor. Lines of the header that the server itself has `put` there are
    /// nobody else's.
    pub(super) fn edit(&mut self, text: &str, put: &BTreeSet<String>) {
        if self.text == text {
            return;
        }
        let before = std::mem::replace(&mut self.text, text.to_owned());
        if self.owners.is_empty() && self.away.iter().all(BTreeSet::is_empty) {
            return;
        }
        let (old, new) = (words(&before), words(text));
        let mut owners = std::mem::take(&mut self.owners);
        owners.resize(old.len(), Owner::Person);
        let mut next = Vec::with_capacity(new.len());
        // Whose lines were taken out for nothing, and what is new.
        let mut lost = Owner::Person;
        let mut fresh = Vec::new();
        let mut kept = 0;
        for (gone, came) in changed(&old, &new) {
            next.extend_from_slice(&owners[kept..gone.start]);
            kept = gone.end;
            let foreign = owners[gone.clone()].iter().filter(|owner| **owner != Owner::Person);
            let worst = foreign.clone().max().copied().unwrap_or(Owner::Person);
            if foreign.count() > came.len() {
                lost = lost.max(worst);
            }
            for (line, owner) in old[gone.clone()].iter().zip(&owners[gone]) {
                // On the way from one text of the person's to another, key by key, each step is made out of the last.
                let is_gone = *owner == Owner::Other || *owner == Owner::Made && came.is_empty();
                if is_gone && line.plain.chars().count() > SHORT {
                    self.away[usize::from(!line.is_of_header)].insert(line.plain.clone());
                }
            }
            fresh.extend(came.clone());
            next.extend(came.map(|_| worst.min(Owner::Made)));
        }
        next.extend_from_slice(&owners[kept..]);
        for at in fresh {
            let line = &new[at];
            next[at] = if line.is_of_header && put.contains(&line.plain) {
                Owner::Person
            } else if self.away.iter().any(|lines| lines.contains(&line.plain)) {
                Owner::Other
            } else {
                next[at].max(lost.min(Owner::Made))
            };
        }
        self.owners = next;
        self.simplify();
    }

    /// All of it may have come from elsewhere: what was left out, or put elsewhere, shows in no line.
    pub(super) fn doubt(&mut self) {
        self.owners.resize(words(&self.text).len(), Owner::Person);
        for owner in &mut self.owners {
            *owner = Owner::Doubtful.max(*owner);
        }
    }

    /// It is known now whose the doubtful lines are.
    pub(super) fn settle(&mut self, whose: Owner) {
        for owner in self.owners.iter_mut().filter(|owner| **owner == Owner::Doubtful) {
            *owner = whose;
        }
        self.simplify();
    }

    /// The person stands by the lines in these bytes, by the place at which they have seen them.
    pub(super) fn free(&mut self, bytes: &Range<usize>) {
        for (line, owner) in words(&self.text).iter().zip(&mut self.owners) {
            if line.at.start < bytes.end && bytes.start < line.at.end {
                *owner = Owner::Person;
                self.away[usize::from(!line.is_of_header)].remove(&line.plain);
            }
        }
        self.simplify();
    }
}

/// The ranges of lines in which two texts differ.
fn changed<'a>(old: &'a [Line], new: &'a [Line]) -> Vec<(Range<usize>, Range<usize>)> {
    let mut numbers = HashMap::new();
    let mut number = |line: &'a Line| {
        let next = numbers.len() as u64;
        *numbers.entry(line.plain.as_str()).or_insert(next)
    };
    let old: Vec<u64> = old.iter().map(&mut number).collect();
    let new: Vec<u64> = new.iter().map(&mut number).collect();
    diff::changed_numbers(&old, &new)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a text after changes that are not the person's; what others wrote has `F` in it at the beginning.
    fn others(texts: &[&str]) -> String {
        let mut lines = Lines::of("", Owner::Person);
        lines.text = texts[0].to_owned();
        lines.owners = words(texts[0])
            .iter()
            .map(|line| match line.plain.contains('F') {
                true => Owner::Other,
                false => Owner::Person,
            })
            .collect();
        for text in &texts[1..] {
            lines.edit(text, &BTreeSet::new());
        }
        let last = words(texts[texts.len() - 1]);
        let theirs = lines
            .others()
            .into_iter()
            .flatten()
            .filter_map(|number| last.iter().find(|line| line.number == number));
        theirs.map(|line| line.plain.as_str()).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn a_line_keeps_its_owner_by_its_place() {
        for (what, texts, expected) in [
            (
                "typed behind",
                &["a\nF line\nb", "a\nF line more\nb"][..],
                "F line more",
            ),
            ("typed beside", &["a\nF line\nb", "a\nF line\nb\nmine"], "F line"),
            ("blanks", &["a\nF  line\n\nb", "a\n  F line\nb"], "F line"),
            // One of two equal ones is edited, by the person or by a formatter.
            (
                "twins",
                &["F *x*\na\nF *x*", "F *x*\na\nF *x* more"],
                "F *x*|F *x* more",
            ),
            (
                "formatted twins",
                &["F *x*\na\nF *x*", "F *x*\na\nF _x_"],
                "F *x*|F _x_",
            ),
            (
                "twins of what is made",
                &["F *x*\nF _x_", "F _x_\nF _x_"],
                "F _x_|F _x_",
            ),
            // An equal line that the person writes is theirs.
            ("an equal one", &["F line }\na", "F line }\na\nF line }"], "F line }"),
            // What was taken out and comes back is not, also where it was edited in between.
            ("put back", &["F line\na", "a", "a\nF line"], "F line"),
            ("moved", &["F line\na", "a\nF line"], "F line"),
            (
                "edited and put back",
                &["F line\na", "F lin\na", "a", "a\nF lin"],
                "F lin",
            ),
            (
                "edited and undone",
                &["F line\na", "F lin\na", "a", "a\nF line"],
                "F line",
            ),
            // Put elsewhere, and made into something else on the way.
            ("moved and formatted", &["F *x*\na", "a\nx _x_"], "x _x_"),
            ("joined", &["a\nb\nF line\nb\nc", "a\nb\nx line b\nc"], "x line b"),
            ("split", &["a\nF one two\nb", "a\nx one\nx two\nb"], "x one|x two"),
            ("replaced in one go", &["a\nF one\nb", "a\nmine\nb"], "mine"),
            // Both are formatted, each in its place.
            (
                "both formatted",
                &["F *x*\n## You\nm *y*", "x _x_\n## You\nm _y_"],
                "x _x_",
            ),
            ("key by key", &["F li", "F l", "F", "", "F", "F mine"], ""),
            ("all taken out", &["F line", "", "mine"], ""),
        ] {
            assert_eq!(others(texts), expected, "{what}");
        }
    }

    #[test]
    fn what_the_server_put_into_the_header_is_nobody_elses() {
        let before = "---\nmode: agent\n---\n\nmode: agent\n";
        let put = BTreeSet::from(["mode: plan".to_owned()]);
        let mut lines = Lines::of(before, Owner::Other);
        let after = before.replace("agent", "plan");
        lines.edit(&after, &put);
        assert!(!lines.has_others(&after, &(0..after.find("---\n\n").expect("there"))));
        assert!(lines.has_others(&after, &(0..after.len())));
    }

    #[test]
    fn what_is_noted_is_known_again() {
        let text = "---\nmode: agent\n---\n\nF one\nF two\n\nmine\n\nF three\n";
        let lines = Lines::noted(text, &[1..2, 4..6, 9..10]);
        assert_eq!(lines.others(), [1..2, 4..6, 9..10]);
        assert!(lines.has_others(text, &(text.find("three").expect("there")..text.len())));
        let mine = text.find("mine").expect("there");
        assert!(!lines.has_others(text, &(mine..mine + 4)));
        // Of another text nothing is known.
        assert!(lines.has_others("mine", &(0..4)));
        assert!(Lines::noted(text, &[]).others().is_empty());
    }
}
