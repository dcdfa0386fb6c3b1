//! Thoughts that a server leaves in the text of its answer, between `<think>` and `</think>`: kept apart from what is said,
//! however the tags are cut into pieces. A tag opens at the beginning of the text or of a line; in fenced code it is code, and
//! once something was said it is text as long as it is not closed.

const NAMES: [&str; 2] = ["think", "thinking"];
/// So many blanks can stand before a tag; more are text.
const MOST_BLANKS: usize = 1024;
/// As much of a line as tells whether it begins or ends fenced code.
const HEAD: usize = 200;

/// A piece of the content.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Thought(String),
    Said(String),
}

#[derive(Debug, Default)]
pub(super) struct Splitter {
    /// The name of the tag that is open.
    open: Option<&'static str>,
    /// What stands in it, where something was said before.
    late: Option<Late>,
    /// What may become a tag.
    held: String,
    /// The line so far, where its beginning is known already.
    line: Option<String>,
    /// The fence that is open: its letter, and how many.
    fence: Option<(char, usize)>,
    /// Something was said.
    spoke: bool,
    /// A thought has ended, or its beginning was blank: blanks that follow belong to nothing.
    skips_blanks: bool,
}

/// What is a thought if its tag is closed, and else was said.
#[derive(Debug, Default)]
struct Late {
    /// With the tag.
    text: String,
    thoughts: Vec<Piece>,
}

impl Splitter {
    /// The next piece of the content.
    pub(super) fn take(&mut self, text: &str) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for letter in text.chars() {
            match self.open {
                Some(name) => match self.late.take() {
                    Some(late) => self.in_late_thought(late, name, letter, &mut pieces),
                    None => self.in_thought(name, letter, &mut pieces),
                },
                None => self.in_text(letter, &mut pieces),
            }
        }
        pieces
    }

    /// The content is over: what was held back is what it looks like. A thought that never ends is one, unless something was
    /// said before.
    pub(super) fn finish(&mut self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let held = std::mem::take(&mut self.held);
        match self.open {
            Some(_) if self.late.is_some() => {
                let late = self.late.take().unwrap_or_default();
                add(&mut pieces, late.text, false);
            }
            Some(_) => add(&mut pieces, held, true),
            None if self.skips_blanks && held.trim().is_empty() => {}
            None => add(&mut pieces, held, false),
        }
        pieces
    }

    fn in_thought(&mut self, name: &'static str, letter: char, pieces: &mut Vec<Piece>) {
        if self.skips_blanks && self.held.is_empty() && letter.is_whitespace() {
            return;
        }
        self.held.push(letter);
        let end = format!("</{name}>");
        if self.held.eq_ignore_ascii_case(&end) {
            self.held.clear();
            self.open = None;
            self.line = None;
            self.skips_blanks = true;
            return;
        }
        // All that cannot be the beginning of the end.
        while !self.held.is_empty() && !begins(&end, &self.held) {
            let first = self.held.remove(0);
            self.skips_blanks = false;
            add(pieces, first.to_string(), true);
        }
    }

    fn in_late_thought(&mut self, mut late: Late, name: &'static str, letter: char, pieces: &mut Vec<Piece>) {
        late.text.push(letter);
        self.in_thought(name, letter, &mut late.thoughts);
        match self.open {
            Some(_) => self.late = Some(late),
            None => pieces.extend(late.thoughts),
        }
    }

    fn in_text(&mut self, letter: char, pieces: &mut Vec<Piece>) {
        if let Some(line) = &mut self.line {
            if line.len() < HEAD {
                line.push(letter);
            }
            add(pieces, letter.to_string(), false);
            if letter == '\n' {
                self.end_line();
            }
            return;
        }
        self.held.push(letter);
        let word = self.held.trim_start();
        if word.is_empty() {
            let is_line = letter == '\n' && self.spoke && !self.skips_blanks;
            if is_line || self.held.len() > MOST_BLANKS {
                self.say_held(pieces);
                self.line = None;
            }
            return;
        }
        let tags = NAMES.map(|name| (name, format!("<{name}>")));
        if self.fence.is_none() {
            if let Some((name, _)) = tags.iter().find(|(_, tag)| word.eq_ignore_ascii_case(tag)) {
                self.open = Some(name);
                let text = std::mem::take(&mut self.held);
                self.late = self.spoke.then(|| Late {
                    text,
                    ..Late::default()
                });
                self.skips_blanks = true;
                return;
            }
            if tags.iter().any(|(_, tag)| begins(tag, word)) {
                return;
            }
        }
        self.say_held(pieces);
    }

    /// What was held back is text.
    fn say_held(&mut self, pieces: &mut Vec<Piece>) {
        let held = std::mem::take(&mut self.held);
        let said = if std::mem::take(&mut self.skips_blanks) && !self.spoke {
            let word = held.trim_start();
            // The first line keeps its indentation, as code has one.
            let blanks = &held[..held.len() - word.len()];
            blanks.rfind('\n').map_or(word, |end| &held[end + 1..])
        } else {
            &held
        };
        self.spoke = true;
        self.line = Some(held.trim_start_matches('\n').to_owned());
        let ends = held.ends_with('\n');
        add(pieces, said.to_owned(), false);
        if ends {
            self.end_line();
        }
    }

    /// A line is over; it may have begun or ended fenced code.
    fn end_line(&mut self) {
        let line = self.line.take().unwrap_or_default();
        let line = line.trim();
        let Some(mark) = line.chars().next().filter(|mark| matches!(mark, '`' | '~')) else {
            return;
        };
        let count = line.chars().take_while(|letter| *letter == mark).count();
        match self.fence {
            // With a letter of the fence behind it, it is code within a line.
            None if count >= 3 && (mark == '~' || !line[count..].contains(mark)) => self.fence = Some((mark, count)),
            Some((open, least)) if open == mark && count >= least && line.chars().all(|letter| letter == mark) => {
                self.fence = None;
            }
            _ => {}
        }
    }
}

/// Whether a tag begins so, in letters of either case.
fn begins(tag: &str, text: &str) -> bool {
    tag.get(..text.len())
        .is_some_and(|head| head.eq_ignore_ascii_case(text))
}

fn add(pieces: &mut Vec<Piece>, text: String, is_thought: bool) {
    if text.is_empty() {
        return;
    }
    match (pieces.last_mut(), is_thought) {
        (Some(Piece::Thought(last)), true) | (Some(Piece::Said(last)), false) => last.push_str(&text),
        (_, true) => pieces.push(Piece::Thought(text)),
        (_, false) => pieces.push(Piece::Said(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// All thoughts and all that is said, each as one text.
    fn split(pieces: &[&str]) -> (String, String) {
        let mut splitter = Splitter::default();
        let mut all: Vec<Piece> = pieces.iter().flat_map(|piece| splitter.take(piece)).collect();
        all.extend(splitter.finish());
        let (mut thoughts, mut said) = (String::new(), String::new());
        for piece in all {
            match piece {
                Piece::Thought(text) => thoughts.push_str(&text),
                Piece::Said(text) => said.push_str(&text),
            }
        }
        (thoughts, said)
    }

    const TABLE: &[(&str, &str, &str)] = &[
        ("<think>Hm.</think>Yes.", "Hm.", "Yes."),
        ("<think>\nHm.\n</think>\n\nYes.\n", "Hm.\n", "Yes.\n"),
        (" \n <thinking>Hm.</thinking> Yes.", "Hm.", "Yes."),
        ("<THINK>Hm.</Think>Yes.", "Hm.", "Yes."),
        ("<think>never closed", "never closed", ""),
        ("<think>almost</thin", "almost</thin", ""),
        ("<think></think>Yes.", "", "Yes."),
        ("<think>\n\n</think>\n\nYes.", "", "Yes."),
        ("<think>a < b </ c</think>Yes.", "a < b </ c", "Yes."),
        ("<think>one</thinking></think>Yes.", "one</thinking>", "Yes."),
        ("<think>one</think><think>two</think>Yes.", "onetwo", "Yes."),
        ("Well.\n<think>Hm.</think>\nYes.", "Hm.", "Well.\n\nYes."),
        (
            "```xml\n<think>code</think>\n```\n<think>Hm.</think>Yes.",
            "Hm.",
            "```xml\n<think>code</think>\n```\nYes.",
        ),
        (
            "~~~~\n```\n<think>\n~~~\n~~~~\nend",
            "",
            "~~~~\n```\n<think>\n~~~\n~~~~\nend",
        ),
        (
            "Write `<think>` or <think> there.",
            "",
            "Write `<think>` or <think> there.",
        ),
        (
            "Use this:\n<think>\nThat is all.",
            "",
            "Use this:\n<think>\nThat is all.",
        ),
        ("Well.\n  <think>Hm.</thin", "", "Well.\n  <think>Hm.</thin"),
        (
            "```js``` is code\n<think>Hm.</think>Yes.",
            "Hm.",
            "```js``` is code\nYes.",
        ),
        ("<think>Hm.</think>\n\n    code\n", "Hm.", "    code\n"),
        ("<thinker>x</thinker>", "", "<thinker>x</thinker>"),
        ("<think", "", "<think"),
        ("</think>Yes.", "", "</think>Yes."),
        ("plain\n\n  text\n", "", "plain\n\n  text\n"),
        ("  indented", "", "  indented"),
        ("", "", ""),
    ];

    #[test]
    fn thoughts_are_told_from_what_is_said_wherever_the_pieces_end() {
        for (content, thoughts, said) in TABLE {
            let expected = ((*thoughts).to_owned(), (*said).to_owned());
            assert_eq!(split(&[content]), expected, "{content:?}");
            let letters: Vec<String> = content.chars().map(String::from).collect();
            let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
            assert_eq!(split(&letters), expected, "{content:?} by letters");
            for (cut, _) in content.char_indices() {
                let (head, tail) = content.split_at(cut);
                assert_eq!(split(&[head, tail]), expected, "{content:?} cut at {cut}");
            }
        }
    }

    proptest! {
        #[test]
        fn where_there_is_no_tag_nothing_is_lost(text in "[a-z<>/`~ \n]{0,80}") {
            prop_assume!(!text.contains("<think"));
            prop_assert_eq!(split(&[&text]), (String::new(), text));
        }
    }
}
