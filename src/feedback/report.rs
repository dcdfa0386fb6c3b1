//! The report: one JSON document that a person can read, with all that goes and nothing else.

use super::FeedbackError;
use crate::ids::ThreadId;
use crate::secrets::Secrets;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// Bytes of a file that goes along; of a larger one the end goes.
const MOST_FILE: u64 = 8 << 20;
/// Files that the person may name.
const MOST_FILES: usize = 8;

/// What the report is made of.
#[derive(Clone, Debug)]
pub struct Details {
    /// In a word: `bug`, `bad_result`, `good_result`, `other`.
    pub classification: String,
    /// In the person's words.
    pub reason: Option<String>,
    /// The conversation that it is about.
    pub thread: Option<ThreadId>,
    pub tags: BTreeMap<String, String>,
    pub include_logs: bool,
    /// The record of the conversation, if it is live.
    pub rollout: Option<PathBuf>,
    /// Further files.
    pub files: Vec<PathBuf>,
    /// The editor.
    pub client: String,
}

impl Details {
    pub fn new(classification: &str) -> Self {
        Self {
            classification: classification.to_owned(),
            reason: None,
            thread: None,
            tags: BTreeMap::new(),
            include_logs: false,
            rollout: None,
            files: Vec::new(),
            client: "cli".to_owned(),
        }
    }
}

/// A report as it would go, byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    pub id: String,
    /// The conversation; one of the report's own where it is about none.
    pub thread_id: String,
    pub text: String,
    /// What is in it beside the person's words: name and bytes.
    pub parts: Vec<(String, usize)>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    id: &'a str,
    thread_id: &'a str,
    classification: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    tags: &'a BTreeMap<String, String>,
    version: &'static str,
    system: String,
    client: &'a str,
    created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    logs: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rollout: Option<Attachment>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<Attachment>,
}

#[derive(Serialize)]
struct Attachment {
    name: String,
    /// Its beginning is missing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
    lines: Vec<String>,
}

impl Report {
    /// `lines` of the log, if they go along; the record and further files go only with them.
    ///
    /// # Errors
    /// A file that is to go along cannot be read.
    pub fn new(details: Details, lines: Option<Vec<String>>, secrets: &Secrets) -> Result<Self, FeedbackError> {
        let id = uuid::Uuid::now_v7().to_string();
        let thread_id = match &details.thread {
            Some(thread) => thread.to_string(),
            None => format!("no-active-thread-{id}"),
        };
        let with_logs = lines.is_some();
        let logs = lines.map(|lines| lines.into_iter().map(|line| secrets.masked(line)).collect::<Vec<_>>());
        let rollout = details.rollout.as_deref().filter(|_| with_logs);
        let rollout = rollout.map(|path| attachment(path, secrets)).transpose()?;
        let files = details.files.iter().take(MOST_FILES).filter(|_| with_logs);
        let files = files
            .map(|path| attachment(path, secrets))
            .collect::<Result<Vec<_>, _>>()?;
        let size = |lines: &[String]| lines.iter().map(|line| line.len() + 1).sum::<usize>();
        let parts = logs.iter().map(|lines| ("logs".to_owned(), size(lines)));
        let attached = rollout.iter().chain(&files);
        let parts = parts
            .chain(attached.map(|part| (part.name.clone(), size(&part.lines))))
            .collect();
        let reason = details.reason.map(|reason| secrets.masked(reason));
        let tags = details.tags.into_iter();
        let tags = tags
            .map(|(name, value)| (secrets.masked(name), secrets.masked(value)))
            .collect();
        let document = Document {
            id: &id,
            thread_id: &thread_id,
            classification: &secrets.masked(details.classification),
            reason: reason.as_deref(),
            tags: &tags,
            version: env!("CARGO_PKG_VERSION"),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            client: &details.client,
            created_at: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            logs,
            rollout,
            files,
        };
        // Texts and numbers only: it always can be written.
        let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
        text.push('\n');
        Ok(Self {
            id,
            thread_id,
            text,
            parts,
        })
    }
}

/// A file by its lines, without secrets.
fn attachment(path: &Path, secrets: &Secrets) -> Result<Attachment, FeedbackError> {
    let failed = |reason: String| FeedbackError::Attachment {
        path: path.to_owned(),
        reason,
    };
    let metadata = std::fs::metadata(path).map_err(|error| failed(error.to_string()))?;
    if !metadata.is_file() {
        return Err(failed("it is no ordinary file".to_owned()));
    }
    let (from, bytes) = tail(path).map_err(|error| failed(error.to_string()))?;
    let text = String::from_utf8_lossy(&bytes);
    // Of a line that is cut only a part is there.
    let whole = match from {
        0 => &*text,
        _ => text.split_once('\n').map_or("", |(_, rest)| rest),
    };
    let name = path.file_name().unwrap_or(path.as_os_str());
    Ok(Attachment {
        name: name.to_string_lossy().into_owned(),
        cut: from > 0,
        lines: secrets.mask(whole).lines().map(str::to_owned).collect(),
    })
}

/// The end of a file, as much of it as goes along, and where that begins. A file that grows meanwhile is not followed.
fn tail(path: &Path) -> io::Result<(u64, Vec<u8>)> {
    let mut file = File::open(path)?;
    let from = file.metadata()?.len().saturating_sub(MOST_FILE);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(MOST_FILE).read_to_end(&mut bytes)?;
    Ok((from, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn read(report: &Report) -> Value {
        serde_json::from_str(&report.text).expect("JSON")
    }

    /// Part of S-379 and S-381: what was given is in it, and nothing that was left out.
    #[test]
    fn what_is_in_a_report() {
        let folder = tempfile::tempdir().expect("a folder");
        let rollout = folder.path().join("rollout-1.jsonl");
        std::fs::write(&rollout, "{\"a\":1}\n{\"api_key\":\"abcdefgh12\"}\n").expect("a file");
        let secrets = Secrets::default();
        secrets.learn(["hush-hush"]);
        let bare = Report::new(Details::new("bug"), None, &secrets).expect("a report");
        let document = read(&bare);
        assert_eq!(document["classification"], "bug");
        for left_out in ["reason", "tags", "logs", "rollout", "files"] {
            assert!(document.get(left_out).is_none(), "{left_out}");
        }
        assert_eq!(document["threadId"], format!("no-active-thread-{}", bare.id));
        let details = Details {
            reason: Some("it said hush-hush".to_owned()),
            thread: Some("t-1".into()),
            tags: [("a", "b"), ("said", "hush-hush!"), ("hush-hush", "name")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            rollout: Some(rollout),
            ..Details::new("other")
        };
        // Without logs no record either.
        let without = Report::new(details.clone(), None, &secrets).expect("a report");
        assert!(without.parts.is_empty() && read(&without).get("rollout").is_none());
        let with = Report::new(details.clone(), Some(vec!["one hush-hush".to_owned()]), &secrets).expect("a report");
        let document = read(&with);
        assert_eq!(document["reason"], "it said <secret>");
        assert_eq!(
            (&document["threadId"], &document["tags"]["a"]),
            (&"t-1".into(), &"b".into())
        );
        assert_eq!(document["tags"]["said"], "<secret>!");
        assert!(!with.text.contains("hush"), "{}", with.text);
        assert_eq!(document["logs"][0], "one <secret>");
        assert_eq!(document["rollout"]["lines"][1], "{\"api_key\":\"<secret>\"}");
        assert_eq!(with.parts[0], ("logs".to_owned(), 13));
        let missing = Details {
            files: vec![folder.path().join("none")],
            ..details
        };
        assert!(Report::new(missing, Some(Vec::new()), &secrets).is_err());
    }

    /// Of a file that is larger than memory only the end is read.
    #[test]
    fn of_a_large_file_the_end_goes_along() {
        use std::io::Write as _;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("large.log");
        let mut file = File::create(&path).expect("a file");
        // With a hole at its beginning, which takes no room on the disk.
        file.seek(SeekFrom::Start(64 << 30)).expect("a place");
        file.write_all(b"cut line\nlast but one\nlast\n").expect("written");
        let (from, bytes) = tail(&path).expect("read");
        assert_eq!((from, bytes.len() as u64), ((64 << 30) + 27 - MOST_FILE, MOST_FILE));
        let attached = attachment(&path, &Secrets::default()).expect("read");
        assert!(attached.cut);
        assert_eq!(attached.lines[..], ["last but one", "last"]);
        std::fs::write(&path, "whole\nfile").expect("a file");
        let attached = attachment(&path, &Secrets::default()).expect("read");
        assert!(!attached.cut && attached.lines == ["whole", "file"]);
    }
}
