//! The person, who answers the questions on the terminal; with `--yes` the answers are given for them.

use super::screen::{INDENT, Screen};
use super::style::Style;
use std::io::{self, BufRead as _};
use tokio::sync::mpsc;

pub(super) enum Person {
    /// The answers of a careful person, without asking.
    Automatic,
    /// Reads lines from standard input; started with the first question.
    Terminal(Option<mpsc::UnboundedReceiver<String>>),
}

/// One possible answer.
pub(super) struct Choice {
    /// What is typed, and its other spellings.
    pub(super) words: &'static [&'static str],
    /// Shown beside the key; empty where the question says enough.
    pub(super) meaning: &'static str,
}

/// A question with its answers.
pub(super) struct Question<'a> {
    pub(super) text: &'a str,
    pub(super) choices: &'a [Choice],
    /// The answer that `--yes` gives, and the answer of an empty line if `has_default`; an index.
    pub(super) usual: usize,
    pub(super) has_default: bool,
    /// The answer of a closed input; an index.
    pub(super) at_end: usize,
}

impl Person {
    /// Asks until the answer is understood. Gives the index of the choice.
    pub(super) async fn ask(&mut self, screen: &mut Screen, question: &Question<'_>) -> io::Result<usize> {
        self.forget_typed();
        loop {
            prompt(screen, question)?;
            let typed = match self {
                Self::Automatic => {
                    let answer = question.choices[question.usual].words[0];
                    screen.print(Style::BOLD, answer)?;
                    screen.print(Style::DIM, "  (--yes)")?;
                    screen.newline()?;
                    return Ok(question.usual);
                }
                Self::Terminal(lines) => lines.get_or_insert_with(read_lines).recv().await,
            };
            let Some(typed) = typed else {
                screen.newline()?;
                return Ok(question.at_end);
            };
            screen.ended_by_person();
            let typed = typed.trim().to_lowercase();
            if typed.is_empty() && question.has_default {
                return Ok(question.usual);
            }
            let understood = |choice: &Choice| choice.words.contains(&typed.as_str());
            if let Some(index) = question.choices.iter().position(understood) {
                return Ok(index);
            }
            let keys: Vec<_> = question.choices.iter().map(|choice| choice.words[0]).collect();
            let hint = format!("Please type one of {} and press Enter.", keys.join(", "));
            screen.paragraph(INDENT, Style::DIM, &hint)?;
        }
    }

    /// What was typed before the question is no answer to it.
    fn forget_typed(&mut self) {
        if let Self::Terminal(lines) = self {
            #[cfg(unix)]
            {
                use rustix::termios::{QueueSelector, tcflush};
                // Not a terminal: then there is nothing to forget.
                let _ = tcflush(io::stdin(), QueueSelector::IFlush);
            }
            if let Some(lines) = lines {
                while lines.try_recv().is_ok() {}
            }
        }
    }
}

fn prompt(screen: &mut Screen, question: &Question<'_>) -> io::Result<()> {
    screen.fresh_line()?;
    screen.print(Style::YELLOW.bold(), &format!("{:INDENT$}", " ?"))?;
    screen.print(Style::BOLD, question.text)?;
    screen.print(Style::PLAIN, "  ")?;
    for (index, choice) in question.choices.iter().enumerate() {
        let is_default = question.has_default && index == question.usual;
        let key = choice.words[0];
        let key = if is_default { key.to_uppercase() } else { key.to_owned() };
        if !choice.meaning.is_empty() {
            screen.print(Style::YELLOW, &format!("[{key}]"))?;
            screen.print(Style::PLAIN, &format!(" {}  ", choice.meaning))?;
        } else {
            let open = if index == 0 { "[" } else { "/" };
            let close = if index + 1 == question.choices.len() { "]" } else { "" };
            screen.print(Style::YELLOW, &format!("{open}{key}{close}"))?;
        }
    }
    screen.print(Style::PLAIN, " ")?;
    screen.flush()
}

/// Standard input can only be read by a thread that blocks; it ends with the process.
fn read_lines() -> mpsc::UnboundedReceiver<String> {
    let (sender, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}
