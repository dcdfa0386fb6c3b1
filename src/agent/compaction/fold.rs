//! What stays of a conversation: instructions, the person's own words, what the model has not seen yet. All the rest is in
//! the summary.

use super::measure;
use crate::agent::context::CHANGED_INSTRUCTIONS;
use crate::agent::prompt;
use crate::agent::subagents::is_envelope;
use crate::model::item::{ContentPart, ResponseItem};
use crate::store::history::{is_context, is_words};

/// Tokens below which it is not worth keeping the rest of a message.
const LEAST_REST: usize = 50;
/// What stands for an image that does not stay.
pub(super) const IMAGE_GONE: &str = "(an image was here)";

/// A conversation taken apart.
pub(super) struct Fold {
    /// How many items go.
    pub(super) replaced: usize,
    /// Instructions from the beginning, and what was told of their changes since.
    instructions: Vec<ResponseItem>,
    /// The person's messages, without images and what programs added.
    words: Vec<ResponseItem>,
    /// There is more than instructions and words: the model has said or done something.
    has_work: bool,
    /// There is a summary of an earlier time.
    has_summary: bool,
}

/// What is put in the place of what goes.
pub(super) struct Kept<'a> {
    /// The project's instructions as they stand; in place of all that was told of them. Without them that stays.
    pub(super) project: Option<ResponseItem>,
    /// What the model knows of its surroundings.
    pub(super) surroundings: Vec<ResponseItem>,
    pub(super) summary: &'a str,
    /// The plan and what waits for the person, in words; may be empty.
    pub(super) open: &'a str,
    /// Tokens that the person's words may take together.
    pub(super) budget: usize,
}

impl Fold {
    /// Takes a history apart. Messages at its end that the model has not answered stay as they are, behind the summary.
    pub(super) fn of(items: &[ResponseItem]) -> Self {
        let is_input = |item: &ResponseItem| matches!(item, ResponseItem::Message { .. }) && !item.is_answer();
        let mut replaced = items.len();
        loop {
            replaced -= match &items[..replaced] {
                // What agents write stands on the model's side, but it has not read this yet.
                [.., sealed, note] if is_envelope(sealed, note) => 2,
                [.., item] if is_input(item) && !is_summary(item) => 1,
                _ => break,
            };
        }
        let gone = &items[..replaced];
        let leading = gone.iter().take_while(|item| is_input(item) && !is_words(item)).count();
        let told = gone.iter().enumerate().filter(|(index, item)| match is_project(item) {
            true => is_input(item),
            false => *index < leading && !is_of_a_moment(item),
        });
        let instructions = told.map(|(_, item)| item.clone()).collect();
        Self {
            replaced,
            instructions,
            words: gone.iter().filter_map(words_of).collect(),
            has_work: gone.iter().any(|item| !is_input(item)),
            has_summary: gone.iter().any(is_summary),
        }
    }

    /// Whether there is anything to sum up.
    pub(super) fn is_empty(&self) -> bool {
        !self.has_work && !self.has_summary && self.words.is_empty()
    }

    /// Whether a summary can make room: one of nothing but the person's words and an earlier summary cannot.
    pub(super) fn can_gain(&self) -> bool {
        self.has_work
    }

    /// The history that stands for what goes.
    pub(super) fn into_history(self, kept: Kept<'_>) -> Vec<ResponseItem> {
        let (words, left_out) = within(self.words, kept.budget);
        let mut items = self.instructions;
        if let Some(project) = kept.project {
            items.retain(|item| !is_project(item));
            items.push(project);
        }
        items.extend(kept.surroundings);
        items.extend(words);
        items.push(summary_message(kept.summary, kept.open, left_out));
        items
    }
}

const SUMMARY_START: &str = "<compaction_summary>";

fn summary_message(summary: &str, open: &str, left_out: usize) -> ResponseItem {
    let mut text =
        format!("{SUMMARY_START}\nEarlier parts of this conversation are gone; these are your notes on them.");
    if left_out > 0 {
        let (are, messages) = if left_out == 1 {
            ("is", "message")
        } else {
            ("are", "messages")
        };
        text.push_str(&format!(
            " {left_out} older {messages} of the person {are} left out above."
        ));
    }
    text.push_str("\n\n");
    text.push_str(&crate::shown::envelope::inside(summary.trim()));
    if !open.is_empty() {
        text.push_str("\n\n");
        text.push_str(open);
    }
    text.push_str("\n</compaction_summary>");
    prompt::message("user", text)
}

/// Whether an item is what stands for earlier turns.
pub(in crate::agent) fn is_summary(item: &ResponseItem) -> bool {
    opens_with(item, SUMMARY_START)
}

fn opens_with(item: &ResponseItem, start: &str) -> bool {
    let ResponseItem::Message { content, .. } = item else {
        return false;
    };
    let text = content.first().and_then(ContentPart::text);
    text.is_some_and(|text| text.trim_start().starts_with(start))
}

/// The project's own instructions, or a change of them.
fn is_project(item: &ResponseItem) -> bool {
    ["# AGENTS.md instructions", CHANGED_INSTRUCTIONS]
        .iter()
        .any(|start| opens_with(item, start))
}

/// What was told of a moment, as against instructions: where the agent is, what the editor showed, what became of a turn.
fn is_of_a_moment(item: &ResponseItem) -> bool {
    const MOMENTS: &[&str] = &[
        SUMMARY_START,
        "<environment_context>",
        "<editor_context>",
        "<turn_aborted>",
        "<user_shell_command>",
        "<collaboration_mode>",
        "<countersign_",
    ];
    MOMENTS.iter().any(|start| opens_with(item, start))
}

/// What the person said in a message.
fn words_of(item: &ResponseItem) -> Option<ResponseItem> {
    let ResponseItem::Message { role, content, .. } = item else {
        return None;
    };
    if !is_words(item) {
        return None;
    }
    let texts = content.iter().filter_map(|part| match part {
        ContentPart::InputImage { .. } => Some(IMAGE_GONE),
        part => part.text().filter(|text| !is_context(text)),
    });
    let content = texts.map(|text| ContentPart::InputText { text: text.to_owned() });
    Some(ResponseItem::Message {
        id: None,
        role: role.clone(),
        content: content.collect(),
    })
}

/// The newest messages within a number of tokens, in their order; the oldest of them is cut in its middle. Also how many
/// are left out.
fn within(words: Vec<ResponseItem>, budget: usize) -> (Vec<ResponseItem>, usize) {
    let number = words.len();
    let mut room = budget;
    let mut kept = Vec::new();
    for message in words.into_iter().rev() {
        let size = measure::item(&message);
        if size <= room {
            room -= size;
            kept.push(message);
            continue;
        }
        if room >= LEAST_REST {
            let texts: Vec<&str> = match &message {
                ResponseItem::Message { content, .. } => content.iter().filter_map(ContentPart::text).collect(),
                _ => Vec::new(),
            };
            kept.push(ResponseItem::user(cut(
                &texts.join("\n"),
                room * measure::BYTES_PER_TOKEN,
            )));
        }
        break;
    }
    kept.reverse();
    let left_out = number - kept.len();
    (kept, left_out)
}

/// A text of at most so many bytes, besides the mark that stands for its middle.
pub(super) fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(most / 2);
    let tail = text.ceil_char_boundary(text.len() - most / 2);
    let gone = text[head..tail].chars().count();
    format!("{}\n[… {gone} characters left out …]\n{}", &text[..head], &text[tail..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::history::{History, output_for};
    use proptest::prelude::*;

    fn developer(text: &str) -> ResponseItem {
        ResponseItem::developer(text)
    }

    fn user(text: &str) -> ResponseItem {
        ResponseItem::user(text)
    }

    fn call(id: &str) -> ResponseItem {
        ResponseItem::FunctionCall {
            id: None,
            name: "shell".into(),
            arguments: "{}".into(),
            call_id: id.into(),
        }
    }

    fn output(id: &str) -> ResponseItem {
        output_for(&call(id), id, "out".to_owned())
    }

    fn agents(text: &str) -> ResponseItem {
        user(&format!(
            "# AGENTS.md instructions for /p\n\n<INSTRUCTIONS>\n{text}\n</INSTRUCTIONS>"
        ))
    }

    fn environment(cwd: &str) -> ResponseItem {
        user(&format!(
            "<environment_context>\n  <cwd>{cwd}</cwd>\n</environment_context>"
        ))
    }

    fn summary(text: &str) -> ResponseItem {
        summary_message(text, "", 0)
    }

    fn fold(items: &[ResponseItem], text: &str) -> Vec<ResponseItem> {
        let fold = Fold::of(items);
        let rest = items[fold.replaced..].to_vec();
        let mut history = fold.into_history(Kept {
            project: None,
            surroundings: vec![environment("/now")],
            summary: text,
            open: "",
            budget: 1000,
        });
        history.extend(rest);
        history
    }

    /// Shows S-235.
    #[test]
    fn context_words_and_summary_stay_however_often() {
        let changed = user(&format!(
            "{CHANGED_INSTRUCTIONS}1\">\nuse tabs\n</countersign_instructions>"
        ));
        let first = [
            developer("be kind"),
            agents("old"),
            environment("/p"),
            user("first"),
            ResponseItem::assistant("one"),
            environment("/q"),
            user("<editor_context>\nOpen files: a\n</editor_context>"),
            user("second"),
            call("a"),
            output("a"),
            changed.clone(),
            ResponseItem::assistant("two"),
        ];
        let expect = |text: &str, more: &[ResponseItem]| {
            let mut items = vec![
                developer("be kind"),
                agents("old"),
                changed.clone(),
                environment("/now"),
                user("first"),
                user("second"),
            ];
            items.extend_from_slice(more);
            items.push(summary(text));
            items
        };
        let mut history = fold(&first, "S1");
        assert_eq!(history, expect("S1", &[]));
        history.extend([user("third"), call("b"), output("b")]);
        let second = fold(&history, "S2");
        assert_eq!(second, expect("S2", &[user("third")]));
        // Where they are known as they stand they are told once.
        let kept = Kept {
            project: Some(agents("both")),
            surroundings: Vec::new(),
            summary: "S3",
            open: "",
            budget: 1000,
        };
        let third = Fold::of(&second).into_history(kept);
        assert_eq!(third[..3], [developer("be kind"), agents("both"), user("first")]);
    }

    #[test]
    fn what_the_model_has_not_answered_stays_as_it_is() {
        let image = ResponseItem::Message {
            id: None,
            role: "user".into(),
            content: vec![ContentPart::InputImage {
                image_url: "data:".into(),
            }],
        };
        let unseen = [
            user("<editor_context>\nOpen files: a\n</editor_context>"),
            image.clone(),
            user("now this"),
        ];
        let mut items = vec![user("first"), image, call("a"), output("a")];
        items.extend_from_slice(&unseen);
        let history = fold(&items, "S");
        let expect = [environment("/now"), user("first"), user(IMAGE_GONE), summary("S")];
        assert_eq!(history[..4], expect);
        assert_eq!(history[4..], unseen);
        // A new conversation has nothing to give.
        let fold = Fold::of(&[developer("be kind"), environment("/p"), user("first")]);
        assert!(fold.is_empty() && !fold.can_gain());
        // Nor does one that was compacted a moment ago.
        let fold = Fold::of(&history);
        assert!(!fold.is_empty() && !fold.can_gain());
    }

    #[test]
    fn mail_that_the_model_has_not_read_stays_as_it_is() {
        let mail = |text: &str| crate::agent::subagents::envelope("scout", None, "main", text).words;
        let read = mail("I begin.");
        let mut items = vec![user("first")];
        items.extend(read);
        items.push(ResponseItem::assistant("Good."));
        let unread = [mail("found it"), vec![user("and now?")], mail("really")].concat();
        items.extend_from_slice(&unread);
        let fold = Fold::of(&items);
        assert_eq!(items[fold.replaced..], unread);
        assert!(fold.can_gain());
        // Nothing but what it has not read.
        assert!(Fold::of(&unread).is_empty());
    }

    #[test]
    fn older_words_go_first_and_the_oldest_that_stays_loses_its_middle() {
        let long = format!("{}{}", "a".repeat(2000), "z".repeat(2000));
        let words = vec![user("gone"), user(&long), user("new")];
        let (kept, left_out) = within(words.clone(), 105);
        assert_eq!((kept.len(), left_out), (2, 1));
        assert_eq!(kept[1], user("new"));
        let text = kept[0].text();
        assert!(
            text.starts_with("aaa") && text.ends_with("zzz") && text.contains("characters left out"),
            "{text}"
        );
        assert!(measure::item(&kept[0]) < 120, "{text}");
        assert_eq!(within(words.clone(), 20), (vec![user("new")], 2));
        assert_eq!(within(words.clone(), 0), (vec![], 3));
        assert_eq!(within(words.clone(), 10_000), (words, 0));
        let said = summary_message("S", "Plan:\n- a", 2).text();
        assert!(
            said.contains("2 older messages of the person are left out") && said.contains("\n\nPlan:\n- a\n"),
            "{said}"
        );
    }

    #[test]
    fn a_cut_keeps_characters_whole() {
        let whole = "äöü€😀äöü€😀";
        for most in 0..40 {
            let text = cut(whole, most);
            assert_eq!(text == whole, most >= whole.len(), "{most}: {text}");
            assert_eq!(
                text.contains("characters left out"),
                most < whole.len(),
                "{most}: {text}"
            );
        }
    }

    fn any_item() -> impl Strategy<Value = ResponseItem> {
        prop_oneof![
            "[a-c]{1,8}".prop_map(|text| user(&text)),
            "[a-c]{1,8}".prop_map(ResponseItem::assistant),
            "[a-c]{1,3}".prop_map(|id| call(&id)),
            "[a-c]{1,3}".prop_map(|id| output(&id)),
            Just(environment("/p")),
            Just(agents("x")),
            Just(developer("y")),
        ]
    }

    proptest! {
        /// Whatever the history, nothing in the new one is a call or an output on its own, words keep their order, and
        /// another compaction right away gains nothing.
        #[test]
        fn folding_leaves_a_history_that_can_be_sent(items in prop::collection::vec(any_item(), 0..30)) {
            let said = |items: &[ResponseItem]| -> Vec<String> {
                items.iter().filter(|item| is_words(item)).map(ResponseItem::text).collect()
            };
            let before = History::new(items).for_model();
            let after = fold(&before, "S");
            prop_assert!(after.iter().all(|item| item.call_id().is_none()));
            prop_assert_eq!(said(&before), said(&after));
            prop_assert!(!Fold::of(&after).can_gain());
        }
    }
}
