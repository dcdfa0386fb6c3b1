//! What the model is told of a terminal: a few lines of facts, then the output as plain text, cut to what it asked for.

use crate::exec::plain;
use crate::exec::terminal::Taken;
use crate::tools::ToolOutput;
use std::fmt::Write;
use std::time::Duration;

/// Bytes of output in one answer, whatever was asked for.
const MOST_OUTPUT: usize = 128 * 1024;
/// Bytes that make a token, about.
const BYTES_PER_TOKEN: u64 = 4;

/// An answer about a terminal.
pub struct Answer<'a> {
    /// How long the call took.
    pub waited: Duration,
    /// The terminal that runs on, or the exit code of a command that has ended.
    pub state: State,
    pub taken: &'a Taken,
    /// Tokens of output that the model asked for.
    pub most_tokens: usize,
    /// What else it must know, a sentence each.
    pub notes: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Runs(u32),
    Exited(i32),
}

impl Answer<'_> {
    pub fn output(&self) -> ToolOutput {
        ToolOutput::new(self.text(), !matches!(self.state, State::Exited(code) if code != 0))
    }

    fn text(&self) -> String {
        let chunk = uuid::Uuid::now_v7().as_u128() & 0xFF_FFFF;
        let mut text = format!(
            "Chunk ID: {chunk:06x}\nWall time: {:.4} seconds\n",
            self.waited.as_secs_f64()
        );
        let _ = match self.state {
            State::Runs(number) => writeln!(text, "Process running with session ID {number}"),
            State::Exited(code) => writeln!(text, "Process exited with code {code}"),
        };
        let _ = writeln!(
            text,
            "Original token count: {}",
            self.taken.bytes.div_ceil(BYTES_PER_TOKEN)
        );
        let whole = self.taken.text.map(|text| plain(text).into_owned());
        let most = self
            .most_tokens
            .saturating_mul(BYTES_PER_TOKEN as usize)
            .min(MOST_OUTPUT);
        let shown = whole.cut(most);
        if !shown.is_whole() {
            let _ = writeln!(
                text,
                "Note: {} bytes of output were cut to fit; the middle is missing.",
                self.taken.bytes
            );
        }
        for note in &self.notes {
            let _ = writeln!(text, "Note: {note}");
        }
        text.push_str("Output:\n");
        text.push_str(&shown.to_string());
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(state: State, output: &str, most_tokens: usize, notes: &[&str]) -> String {
        let taken = Taken {
            text: output.to_owned().into(),
            bytes: output.len() as u64,
        };
        let answer = Answer {
            waited: Duration::from_micros(1_234_560),
            state,
            taken: &taken,
            most_tokens,
            notes: notes.iter().map(|note| (*note).to_owned()).collect(),
        };
        let text = answer.output().text;
        let (chunk, rest) = text.split_once('\n').expect("lines");
        let id = chunk.strip_prefix("Chunk ID: ").expect("an id");
        assert!(id.len() == 6 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
        rest.to_owned()
    }

    #[test]
    fn answers_by_table() {
        assert_eq!(
            text(State::Exited(3), "a\r\nb\r\n", 10, &[]),
            "Wall time: 1.2346 seconds\nProcess exited with code 3\nOriginal token count: 2\nOutput:\na\nb\n"
        );
        assert_eq!(
            text(State::Runs(4711), "", 10, &["look."]),
            "Wall time: 1.2346 seconds\nProcess running with session ID 4711\nOriginal token count: 0\nNote: look.\nOutput:\n"
        );
        let lines: String = (0..1000).map(|number| format!("line {number}\n")).collect();
        let cut = text(State::Exited(0), &lines, 20, &[]);
        assert!(cut.contains("Original token count: 2223\n"), "{cut}");
        assert!(
            cut.contains(&format!("Note: {} bytes of output were cut", lines.len())),
            "{cut}"
        );
        assert!(
            cut.ends_with("Output:\nline 0\nline 1\nline 2\nline 3\nline 4\n[… 8819 bytes, 991 lines cut out …]\nline 996\nline 997\nline 998\nline 999\n"),
            "{cut}"
        );
    }

    /// Shows S-197.
    #[test]
    fn an_answer_is_never_longer_than_the_bound_whatever_is_asked_for() {
        let lines: String = (0..1_000_000 / 8).map(|number| format!("{number:07}\n")).collect();
        for most in [40_000, usize::MAX] {
            let text = text(State::Runs(1000), &lines, most, &[]);
            let output = text.split_once("Output:\n").expect("output").1;
            assert!(output.len() <= MOST_OUTPUT + 100 && output.len() > MOST_OUTPUT - 100);
            assert!(output.starts_with("0000000\n") && output.ends_with("0124999\n"));
            assert!(output.lines().all(|line| line.len() == 7 || line.contains("cut out")));
        }
        // Borders are those of characters, where there are no lines.
        let long = "ä€".repeat(100_000);
        let cut = text(State::Runs(1000), &long, 1000, &[]);
        assert!(cut.contains("ä€") && cut.contains("cut out"));
        let none = text(State::Runs(1000), "something\n", 0, &[]);
        assert!(none.ends_with("Output:\n[… 10 bytes, 1 line cut out …]\n"), "{none}");
    }
}
