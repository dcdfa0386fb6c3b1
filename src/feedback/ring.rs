//! The last lines of the log, in memory and in more detail than the file: what feedback can take along.

use crate::secrets::Secrets;
use std::collections::{BTreeSet, VecDeque};
use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// Lines, and bytes of them, that are kept.
const MOST_LINES: usize = 8192;
const MOST_BYTES: usize = 2 << 20;
/// Bytes of one line.
const LONGEST: usize = 4 << 10;

/// Cheap to clone; the clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Ring(Arc<Mutex<Lines>>);

#[derive(Debug, Default)]
struct Lines {
    lines: VecDeque<Line>,
    bytes: usize,
    /// Lines that went for want of room.
    dropped: u64,
}

#[derive(Debug)]
struct Line {
    /// The conversation that it is about, if it is about one.
    thread: Option<String>,
    text: String,
}

impl Ring {
    /// What is kept: our own lines to the level of `debug`, of others what is wrong. A line for each key that the person
    /// types would leave no room for others.
    pub fn targets() -> Targets {
        Targets::new()
            .with_default(LevelFilter::WARN)
            .with_target("countersign", LevelFilter::DEBUG)
            .with_target("countersign::server::transport", LevelFilter::INFO)
    }

    /// What puts lines in. Of those that are cut no half of a secret is kept; all others are masked when they are taken out,
    /// since some secrets are learned later.
    pub fn layer<S: Subscriber + for<'a> LookupSpan<'a>>(&self, secrets: Secrets) -> impl Layer<S> + use<S> {
        Keep(self.clone(), secrets)
    }

    /// The lines as they are now: all, or those that are about one conversation or about none.
    pub fn lines(&self, thread: Option<&str>) -> Vec<String> {
        let lines = self.lock();
        let others: BTreeSet<&str> = match thread {
            Some(wanted) => {
                let threads = lines.lines.iter().filter_map(|line| line.thread.as_deref());
                threads.filter(|about| *about != wanted).collect()
            }
            None => BTreeSet::new(),
        };
        let is_wanted = |line: &&Line| match thread {
            Some(wanted) if line.text.contains(wanted) => true,
            _ => !others.iter().any(|other| line.text.contains(other)),
        };
        let dropped = (lines.dropped > 0).then(|| format!("({} older lines are not kept)", lines.dropped));
        let kept = lines.lines.iter().filter(is_wanted).map(|line| line.text.clone());
        dropped.into_iter().chain(kept).collect()
    }

    fn add(&self, line: Line) {
        let mut lines = self.lock();
        lines.bytes += line.text.len();
        lines.lines.push_back(line);
        while lines.lines.len() > MOST_LINES || lines.bytes > MOST_BYTES {
            let Some(oldest) = lines.lines.pop_front() else { return };
            lines.bytes -= oldest.text.len();
            lines.dropped += 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Keep(Ring, Secrets);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Keep {
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let metadata = event.metadata();
        let mut text = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
        let _ = write!(text, " {} {}", metadata.level(), metadata.target());
        if let Some(span) = context.event_span(event) {
            let _ = write!(text, " {}", span.name());
        }
        text.push(':');
        let mut fields = Fields { thread: None, text };
        event.record(&mut fields);
        let Fields { thread, mut text } = fields;
        if text.len() > LONGEST {
            text = self.1.masked(text);
        }
        if text.len() > LONGEST {
            text.truncate(text.floor_char_boundary(LONGEST));
            text.push_str(" […]");
        }
        self.0.add(Line { thread, text });
    }
}

/// The fields of an event in one line.
struct Fields {
    thread: Option<String>,
    text: String,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let before = self.text.len();
        let _ = match field.name() {
            "message" => write!(self.text, " {value:?}"),
            name => write!(self.text, " {name}={value:?}"),
        };
        if matches!(field.name(), "thread" | "thread_id") {
            self.thread = Some(format!("{value:?}").trim_matches('"').to_owned());
        }
        // One event is one line.
        if self.text[before..].contains('\n') {
            let flat = self.text[before..].replace('\n', " ");
            self.text.replace_range(before.., &flat);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing_subscriber::layer::SubscriberExt as _;

    #[test]
    fn lines_of_one_conversation_and_of_none() {
        let ring = Ring::default();
        let subscriber =
            tracing_subscriber::registry().with(ring.layer(Secrets::default()).with_filter(Ring::targets()));
        tracing::subscriber::with_default(subscriber, || {
            let (one, other) = ("thread-one", "thread-other");
            tracing::debug!(thread = one, count = 3, "begins\nhere");
            tracing::info!(thread = %other, "is another's");
            tracing::info!(thread = %other, about = one, "is about both");
            tracing::info!("names the file of thread-other");
            tracing::warn!("is nobody's");
            tracing::trace!("too much detail");
            tracing::info!(target: "somebody::else", "is not ours");
        });
        let ends = |thread: Option<&str>| -> Vec<String> {
            let lines = ring.lines(thread).into_iter();
            lines
                .map(|line| line.split_once(": ").expect("a line").1.to_owned())
                .collect()
        };
        assert_eq!(
            ends(Some("thread-one")),
            [
                "begins here thread=\"thread-one\" count=3",
                "is about both thread=thread-other about=\"thread-one\"",
                "is nobody's"
            ]
        );
        assert_eq!(ends(None).len(), 5);
        assert!(ring.lines(None)[0].contains(" DEBUG countersign::feedback::ring"));
    }

    #[test]
    fn a_line_that_is_cut_keeps_no_half_of_a_secret() {
        const SECRET: &str = "correct-horse-battery-staple-of-some-length";
        let (ring, secrets) = (Ring::default(), Secrets::default());
        secrets.learn([SECRET]);
        let subscriber = tracing_subscriber::registry().with(ring.layer(secrets).with_filter(Ring::targets()));
        tracing::subscriber::with_default(subscriber, || {
            // Wherever the cut falls.
            for before in LONGEST - 150..LONGEST + 10 {
                tracing::info!("{}{SECRET}{}", "x".repeat(before), "y".repeat(100));
            }
        });
        let lines = ring.lines(None);
        assert_eq!(lines.len(), 160);
        for line in lines {
            assert!(!line.contains("correct"), "{}", &line[LONGEST - 60..]);
            assert!(line.len() <= LONGEST + 8);
        }
    }

    #[test]
    fn it_is_bounded() {
        let ring = Ring::default();
        for number in 0..MOST_LINES + 2 {
            let text = format!("line {number}");
            ring.add(Line { thread: None, text });
        }
        let lines = ring.lines(None);
        assert_eq!(
            (lines.len(), lines[0].as_str()),
            (MOST_LINES + 1, "(2 older lines are not kept)")
        );
        for _ in 0..2 {
            let text = "x".repeat(MOST_BYTES - 10);
            ring.add(Line { thread: None, text });
        }
        assert_eq!(ring.lines(None).len(), 2);
    }
}
