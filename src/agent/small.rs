//! What goes along with a conversation, made to fit a small context window.
//!
//! A quarter of the window is for instructions and surroundings. Where they take more, the program's own words give way
//! first and the person's last, in this order: the tone, the built-in instructions (their short form is sent), the middle
//! of instruction files. What a message points at and what the editor shows loses its end where one of them takes more than
//! half of that quarter. What the person wrote for all projects, what is said of changed instruction files, where the work is
//! done, and the person's words are never cut; and nothing is cut within a line, which could then say the opposite.
//!
//! The record keeps all of it: a larger window gets the whole again.

use super::compaction::measure;
use super::context::{CHANGED_INSTRUCTIONS, EDITOR_OPENING, MENTIONS_OPENING};
use super::prompt::{self, BASE_INSTRUCTIONS, ENVIRONMENT_START};
use super::turn::Turn;
use crate::config::instructions::SEPARATOR;
use crate::model::item::{ContentPart, ResponseItem};
use crate::protocol::settings::Personality;
use crate::store::history::is_words;
use std::sync::Arc;

/// The share of the window that instructions and surroundings may take, as a divisor.
const SHARE: usize = 4;
/// The share of it that the program's own words may take, instructions and tools, as a divisor.
const OWN_SHARE: usize = 8;
/// Tokens of instruction files that stay, however small the window is.
const LEAST_OF_FILES: usize = 128;

/// What of all that goes along with a conversation is sent. In a window that is not small: everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fit {
    without_tone: bool,
    short_instructions: bool,
    /// Bytes of each message with instruction files.
    most_of_files: Option<usize>,
    /// Bytes of one message beside the person's.
    most_of_attached: Option<usize>,
}

/// A kind of message that is not the conversation itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beside {
    /// Instruction files, as they were at the start.
    Files,
    /// What a message points at, or what the editor shows.
    Attached,
    /// Surroundings, modes, changes of instruction files, what the person's configuration says.
    Standing,
}

/// What a small window has room for, in tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    /// For instructions and surroundings.
    most: usize,
    /// For the program's own instructions among them.
    own: usize,
}

impl Budget {
    /// Absent where the window is not small. Looks at the tools, and so at the conversation, which must not be locked here.
    pub(super) fn of(turn: &Turn) -> Option<Self> {
        let provider = turn.provider.get().filter(|provider| provider.is_small())?;
        let window = provider.context_window? as usize;
        Some(Self {
            most: window / SHARE,
            own: (window / OWN_SHARE).saturating_sub(measure::tools(turn)),
        })
    }
}

impl Fit {
    /// What fits beside these items of a turn's history.
    pub(super) fn of(turn: &Turn, budget: Option<Budget>, items: &[ResponseItem]) -> Self {
        budget.map_or_else(Self::default, |budget| {
            Self::within(budget, &turn.base_instructions, tone(turn), items)
        })
    }

    /// The instructions of a turn's requests.
    pub(super) fn instructions_of(&self, turn: &Turn) -> String {
        self.instructions(&turn.base_instructions, tone(turn))
    }

    fn within(budget: Budget, base: &str, personality: Personality, items: &[ResponseItem]) -> Self {
        let Budget { most, own } = budget;
        let sum = |kind: Beside| -> usize {
            let those = items.iter().filter(|item| beside(item) == Some(kind));
            those.map(measure::item).sum()
        };
        let (files, standing) = (sum(Beside::Files), sum(Beside::Standing));
        let messages = items.iter().filter(|item| beside(item) == Some(Beside::Files)).count();
        let mut fit = Self {
            short_instructions: base == BASE_INSTRUCTIONS && measure::text(base) > own,
            most_of_attached: Some(most / 2 * measure::BYTES_PER_TOKEN),
            ..Self::default()
        };
        let takes = |fit: &Self| measure::text(&fit.instructions(base, personality)) + files + standing;
        if takes(&fit) > most {
            fit.without_tone = personality != Personality::None;
        }
        if takes(&fit) > most {
            fit.short_instructions |= base == BASE_INSTRUCTIONS;
        }
        if takes(&fit) > most && files > 0 {
            let left = most.saturating_sub(takes(&fit) - files).max(LEAST_OF_FILES);
            fit.most_of_files = (files > left).then_some(left / messages.max(1) * measure::BYTES_PER_TOKEN);
        }
        fit
    }

    fn instructions(&self, base: &str, personality: Personality) -> String {
        let base = match self.short_instructions {
            true => include_str!("prompt/short.md"),
            false => base,
        };
        let personality = match self.without_tone {
            true => Personality::None,
            false => personality,
        };
        prompt::instructions(base, personality)
    }

    /// The items of a request.
    pub(super) fn input(&self, items: Arc<Vec<ResponseItem>>) -> Arc<Vec<ResponseItem>> {
        if *self == Self::default() || items.iter().all(|item| self.cut(item).is_none()) {
            return items;
        }
        let fitted = items.iter().map(|item| self.cut(item).unwrap_or_else(|| item.clone()));
        Arc::new(fitted.collect())
    }

    /// Tokens of an item as it is sent.
    pub(super) fn size(&self, item: &ResponseItem) -> usize {
        measure::item(self.cut(item).as_ref().unwrap_or(item))
    }

    /// The item made shorter, if it is too long.
    fn cut(&self, item: &ResponseItem) -> Option<ResponseItem> {
        let most = match beside(item)? {
            Beside::Files => self.most_of_files?,
            Beside::Attached => self.most_of_attached?,
            Beside::Standing => return None,
        };
        let text = text(item).filter(|text| text.len() > most)?;
        let cut = match beside(item)? {
            Beside::Files => without_middle(text, most),
            _ => without_end(text, most),
        };
        Some(prompt::message("user", cut))
    }

    /// What of it is not sent with these items, in words.
    pub(super) fn left_out(&self, items: &[ResponseItem]) -> Vec<&'static str> {
        let is_cut = |kind: Beside| {
            let mut those = items.iter().filter(|item| beside(item) == Some(kind));
            those.any(|item| self.cut(item).is_some())
        };
        [
            (self.without_tone, "the tone that you have chosen"),
            (
                self.short_instructions,
                "the long form of Countersign's own instructions",
            ),
            (is_cut(Beside::Files), "the middle of the instruction files (AGENTS.md)"),
            (
                is_cut(Beside::Attached),
                "the end of what your messages point at and the editor shows",
            ),
        ]
        .into_iter()
        .filter_map(|(is_out, what)| is_out.then_some(what))
        .collect()
    }
}

/// A turn apart answers in no tone.
fn tone(turn: &Turn) -> Personality {
    match turn.is_apart() {
        true => Personality::None,
        false => turn.settings.personality,
    }
}

/// Tells the person what a small window leaves out, whenever that is something else than they were told last.
pub(super) fn tell(turn: &Turn) {
    let Some(provider) = turn.provider.get().filter(|provider| provider.is_small()) else {
        return;
    };
    let budget = Budget::of(turn);
    let left_out = turn.with_history(|history| Fit::of(turn, budget, history.items()).left_out(history.items()));
    let mut message = format!(
        "{} takes {} tokens as it is loaded, so it is offered only the tools that matter most.",
        provider.model,
        provider.context_window.unwrap_or_default()
    );
    if !left_out.is_empty() {
        let left_out = left_out.join("; ");
        message.push_str(&format!(
            " To leave room for the conversation it is also not told: {left_out}."
        ));
    }
    message.push_str(" Load it with a larger context, or set model_context_window in config.toml.");
    let before = turn.conversation.data().told_small.replace(message.clone());
    if before.as_ref() != Some(&message) {
        turn.warn(message);
    }
}

fn text(item: &ResponseItem) -> Option<&str> {
    match item {
        ResponseItem::Message { content, .. } => match content.as_slice() {
            [ContentPart::InputText { text }] => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// A project's instructions without their middle. What the person wrote for all projects stands before them, and stays.
fn without_middle(text: &str, most: usize) -> String {
    let own = text.find(SEPARATOR).map_or(0, |at| at + SEPARATOR.len());
    let (own, text) = text.split_at(own);
    if text.len() <= most {
        return format!("{own}{text}");
    }
    let head = lines_before(text, most / 2);
    let tail = text.ceil_char_boundary(text.len() - most / 2);
    let tail = text[tail..].find('\n').map_or(tail, |at| tail + at + 1);
    let gone = text[head..tail].lines().count();
    format!("{own}{}[… {gone} lines left out …]\n{}", &text[..head], &text[tail..])
}

/// What was attached, without its end: what would be left of its last part could be taken for the end of its first.
fn without_end(text: &str, most: usize) -> String {
    let line = lines_before(text, most);
    // A line that is longer than all that fits is cut for all that.
    let end = if line < most / 2 {
        text.floor_char_boundary(most)
    } else {
        line
    };
    let head = &text[..end];
    let mut fence = None;
    for line in head.lines().filter(|line| line.starts_with("```")) {
        let ticks = line.len() - line.trim_start_matches('`').len();
        fence = match fence {
            Some(open) if ticks >= open => None,
            Some(open) => Some(open),
            None => Some(ticks),
        };
    }
    let fence = fence.map_or_else(String::new, |ticks| format!("{}\n", "`".repeat(ticks)));
    let gone = text.len() - head.len();
    let newline = if head.ends_with('\n') { "" } else { "\n" };
    let close = text
        .lines()
        .last()
        .filter(|line| line.starts_with("</"))
        .unwrap_or_default();
    format!("{head}{newline}{fence}[… {gone} bytes left out; read what you need with a tool …]\n{close}")
}

/// Where the last line that fits into so many bytes ends.
fn lines_before(text: &str, most: usize) -> usize {
    let most = text.floor_char_boundary(most);
    text[..most].rfind('\n').map_or(most, |at| at + 1)
}

/// What an item is, if it is not the conversation itself.
pub(super) fn beside(item: &ResponseItem) -> Option<Beside> {
    if item.is_answer() || is_words(item) {
        return None;
    }
    let ResponseItem::Message { role, .. } = item else {
        return None;
    };
    if role == "developer" {
        return Some(Beside::Standing);
    }
    let text = text(item)?;
    match text {
        // What has changed is told file by file, from this to that, and means nothing without its headings.
        text if text.starts_with(CHANGED_INSTRUCTIONS) => Some(Beside::Standing),
        text if prompt::instructions_in(text).is_some() => Some(Beside::Files),
        text if text.starts_with(EDITOR_OPENING) || text.starts_with(MENTIONS_OPENING) => Some(Beside::Attached),
        text if text.starts_with(ENVIRONMENT_START) => Some(Beside::Standing),
        // Summaries, notes and mail are part of the conversation, which is summed up when it is too long.
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn budget(most: usize) -> Budget {
        Budget { most, own: most }
    }

    fn files(size: usize) -> ResponseItem {
        prompt::project_instructions(Path::new("/p"), &"rule\n".repeat(size / 5))
    }

    fn attached(size: usize) -> ResponseItem {
        prompt::message("user", format!("{MENTIONS_OPENING}\n{}", "x".repeat(size)))
    }

    /// What is left out for a budget, in the order that is promised: the program's own words first, the person's never.
    #[test]
    fn the_programs_words_give_way_before_the_persons() {
        let tone = measure::text(&prompt::instructions("", Personality::Friendly));
        let base = measure::text(BASE_INSTRUCTIONS);
        let short = measure::text(include_str!("prompt/short.md"));
        assert!(short < base / 2, "{short} of {base}");
        let items = [
            ResponseItem::developer("mine ".repeat(20)),
            files(4000),
            prompt::message("user", "<environment_context>\n</environment_context>".into()),
            ResponseItem::user("words ".repeat(4000)),
        ];
        let around: usize = items[..3].iter().map(measure::item).sum();
        let fit = |most| Fit::within(budget(most), BASE_INSTRUCTIONS, Personality::Friendly, &items);
        let table = [
            (base + tone + around + 8, 0),
            (base + around + 8, 1),
            (short + around + 8, 2),
            (short + around - 100, 3),
            (10, 3),
        ];
        for (most, left_out) in table {
            let fit = fit(most);
            assert_eq!(fit.left_out(&items).len(), left_out, "{most}: {fit:?}");
            let input = fit.input(Arc::new(items.to_vec()));
            // The person's own instructions, the surroundings and the words stay as they are.
            assert_eq!(
                (&input[0], &input[2], &input[3]),
                (&items[0], &items[2], &items[3]),
                "{most}"
            );
            let takes = measure::text(&fit.instructions(BASE_INSTRUCTIONS, Personality::Friendly))
                + input[..3].iter().map(measure::item).sum::<usize>();
            // The mark of the gap and the tone's blank lines are on top.
            assert!(takes <= most.max(short + LEAST_OF_FILES + 60) + 24, "{most}: {takes}");
        }
    }

    /// The program's own words have a bound of their own, whatever else there is room for.
    #[test]
    fn the_programs_words_are_short_in_a_small_window() {
        let base = measure::text(BASE_INSTRUCTIONS);
        for (own, short_instructions) in [(base, false), (base - 1, true)] {
            let fit = Fit::within(
                Budget { most: 100_000, own },
                BASE_INSTRUCTIONS,
                Personality::Friendly,
                &[],
            );
            assert_eq!(fit.short_instructions, short_instructions, "{own} of {base}");
            assert!(!fit.without_tone, "{own}");
        }
    }

    #[test]
    fn instructions_of_the_persons_own_are_sent_whole() {
        let own = "Mine. ".repeat(1000);
        let fit = Fit::within(budget(10), &own, Personality::Pragmatic, &[]);
        assert_eq!(fit.instructions(&own, Personality::Pragmatic), own);
    }

    #[test]
    fn what_is_cut_says_nothing_else_than_before() {
        let files = format!("# AGENTS.md\nmine\n{SEPARATOR}{}", "Never push to main.\n".repeat(100));
        let cut = without_middle(&files, 300);
        assert!(cut.starts_with(&files[..files.find(SEPARATOR).expect("both")]), "{cut}");
        let rules = &cut[cut.find(SEPARATOR).expect("both") + SEPARATOR.len()..];
        let odd = rules.lines().filter(|line| *line != "Never push to main.");
        assert_eq!(odd.count(), 1, "only the mark of the gap: {rules}");

        let part = |name: &str| format!("{name}:\n````\n{}````\n", "let x = 1;\n".repeat(50));
        let all = format!(
            "<countersign_mentions>\n{}{}</countersign_mentions>",
            part("a.rs"),
            part("b.rs")
        );
        for most in [100, 300, 590, 620, 900] {
            let cut = without_end(&all, most);
            assert!(
                cut.len() < most + 120 && all.starts_with(&cut[..cut.find("[…").expect("a mark") / 2]),
                "{cut}"
            );
            assert_eq!(cut.matches("````").count() % 2, 0, "{most}: {cut}");
            assert!(cut.ends_with("</countersign_mentions>"), "{cut}");
            // What is there of the second file stands under its name.
            let a = cut.find("a.rs:").expect("the first file");
            let own = cut[a..].split("b.rs:").next().unwrap_or_default();
            assert!(own.matches("let x").count() <= 50, "{most}: {cut}");
        }
        let long = without_end(&"é".repeat(1000), 301);
        assert!(
            long.starts_with(&"é".repeat(150)) && long.contains("[… 1700 bytes left out"),
            "{long}"
        );
    }

    #[test]
    fn what_a_message_points_at_loses_its_end_and_only_where_it_is_large() {
        let items = vec![attached(4000), attached(100), ResponseItem::user("what is this?")];
        let fit = Fit::within(budget(1000), "", Personality::None, &items);
        let input = fit.input(Arc::new(items.clone()));
        let text = text(&input[0]).expect("a text");
        assert!(text.len() < 2100 && text.contains("bytes left out"), "{text}");
        assert_eq!(input[1..], items[1..]);
        assert_eq!(fit.left_out(&items).len(), 1);
        assert_eq!(fit.left_out(&items[1..]).len(), 0);
    }

    #[test]
    fn a_window_that_is_not_small_gets_everything() {
        let items = Arc::new(vec![files(100_000), attached(100_000)]);
        let fit = Fit::default();
        assert!(Arc::ptr_eq(&fit.input(items.clone()), &items));
        assert!(fit.left_out(&items).is_empty());
    }
}
