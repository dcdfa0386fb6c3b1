//! What is known of the line that is typed into a terminal: its text, so long as nothing but text was typed into it.

/// Bytes of a line that the model is typing; terminals take no longer ones.
const LONGEST: usize = 4096;

/// What was typed since the last Enter or interrupt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// By the model, keys and all.
    text: String,
    /// There is something in it that this does not hold: the person typed too, or it was too long.
    holds_more: bool,
}

impl Line {
    /// The same with more of it, lines in the midst and all.
    pub(super) fn with(&self, more: &str) -> Self {
        Self {
            text: format!("{}{more}", self.text),
            holds_more: self.holds_more,
        }
    }

    /// What a shell would take it for; Enter is a line end, by whatever key.
    pub(super) fn script(&self) -> String {
        self.text.replace("\r\n", "\n").replace('\r', "\n")
    }

    /// Whether its text is all that there is to it: no key that edits, recalls or completes, and nothing of the person's.
    /// History takes `!` for an earlier line, and a backslash takes the end from a line.
    pub(super) fn is_known(&self) -> bool {
        let script = self.script();
        let is_key = |c: char| c.is_control() && c != '\n';
        !self.holds_more && !script.contains(is_key) && !script.contains('!') && !script.contains("\\\n")
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty() && !self.holds_more
    }

    /// The model has typed this.
    pub(super) fn typed(&mut self, text: &str) {
        let begun = text.rfind(['\r', '\n', '\x03']).map(|end| &text[end + 1..]);
        if begun.is_some() {
            *self = Self::default();
        }
        match begun.unwrap_or(text) {
            // The end of the input, or of nothing.
            "\x04" if self.is_empty() => {}
            more => self.text.push_str(more),
        }
        let surplus = self.text.len().saturating_sub(LONGEST);
        if surplus > 0 {
            self.holds_more = true;
            self.text.drain(..self.text.ceil_char_boundary(surplus));
        }
    }

    /// Something was typed that is not known: by the person, or of a text that was not taken whole.
    pub(super) fn lose_track(&mut self) {
        self.holds_more = true;
    }
}

/// Whether a text is nothing but interrupts.
pub(super) fn only_interrupts(text: &str) -> bool {
    text.chars().all(|key| key == '\x03')
}

/// Whether a text is nothing but interrupts and keys that end a line or the input.
pub(super) fn only_ends(text: &str) -> bool {
    text.chars().all(|key| matches!(key, '\x03' | '\x04' | '\r' | '\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_a_line_by_table() {
        for (typed, more, script, is_known) in [
            (&[][..], "ls -la\r", "ls -la\n", true),
            (&["rm -r"], " -f x\r\n", "rm -r -f x\n", true),
            (&["echo x\r"], "\r", "\n", true),
            (&["echo x", "\x03"], "ls\n", "ls\n", true),
            (&[], "a\nb\n", "a\nb\n", true),
            (&["\x04"], "ls\n", "ls\n", true),
            // What was there is recalled, edited, completed or taken on.
            (&["echo 'rm x'\n"], "\x1b[A\x01\r", "\x1b[A\x01\n", false),
            (&["echo x", "\x04"], " y\n", "echo x\x04 y\n", false),
            (&["echo x"], "\x7f\x7f\n", "echo x\x7f\x7f\n", false),
            (&["rm"], "\x03ls\n", "rm\x03ls\n", false),
            (&[], "ls\t", "ls\t", false),
            (&[], "echo !!:s/'a/b/:s/c'/d/\n", "echo !!:s/'a/b/:s/c'/d/\n", false),
            (&[], "echo \\\n", "echo \\\n", false),
            (&[], "\u{85}ls\n", "\u{85}ls\n", false),
        ] {
            let mut line = Line::default();
            for text in typed {
                line.typed(text);
            }
            let line = line.with(more);
            assert_eq!(
                (line.script().as_str(), line.is_known()),
                (script, is_known),
                "{typed:?} {more:?}"
            );
        }
    }

    #[test]
    fn what_the_person_has_typed_is_in_it_until_it_ends() {
        let mut line = Line::default();
        assert!(line.is_empty());
        line.lose_track();
        assert!(!line.is_empty() && !line.with("\r").is_known());
        line.typed("\r");
        assert!(line.is_empty());
        line.typed(&"x".repeat(LONGEST + 1));
        assert!(!line.is_known() && line.text.len() == LONGEST);
    }

    #[test]
    fn keys_by_table() {
        for (text, interrupts, ends) in [
            ("\x03", true, true),
            ("\x03\x03", true, true),
            ("\x04", false, true),
            ("\r\n", false, true),
            ("\x1b[A\r", false, false),
            ("\x1b[3~", false, false),
            ("\x7f", false, false),
            ("\x12", false, false),
            (" ", false, false),
            ("\t", false, false),
            ("y\n", false, false),
        ] {
            assert_eq!((only_interrupts(text), only_ends(text)), (interrupts, ends), "{text:?}");
        }
    }
}
