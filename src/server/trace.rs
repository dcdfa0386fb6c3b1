//! Every message of a session in a file, for who looks for a fault: one line of JSON each, as they came and went.

use crate::private;
use regex::bytes::Regex;
use serde::Serialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// Who said it.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Side {
    Client,
    Server,
}

/// Fields that hold a key or a token, with their values.
static SECRETS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#""(apiKey|authToken)"\s*:\s*"(?:[^"\\]|\\.)*""#).expect("a fixed expression, which a test compiles")
});

/// The file; cheap to clone. Whatever happens to it, the session goes on.
#[derive(Clone, Debug)]
pub struct Trace(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    path: PathBuf,
    /// Absent where it could not be opened.
    file: Option<File>,
    /// The log was told that it cannot be written.
    warned: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a, M: ?Sized> {
    at_ms: i64,
    from: Side,
    message: &'a M,
}

impl Trace {
    /// Adds to a file, which is made with its folders where it is not there. If it cannot be, the log says so.
    pub fn open(path: &Path) -> Self {
        let file = open(path);
        if let Err(error) = &file {
            let path = path.display();
            tracing::warn!(%path, %error, "the trace file cannot be opened; the session goes on without");
        }
        Self(Arc::new(Mutex::new(State {
            path: path.to_owned(),
            warned: file.is_err(),
            file: file.ok(),
        })))
    }

    /// Writes one message down, but for keys and tokens of logins. What is no JSON stands there as a text.
    pub fn write(&self, from: Side, body: &[u8]) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(file) = &mut state.file else { return };
        let written = line(from, body).and_then(|line| file.write_all(&line));
        match written {
            Ok(()) => state.warned = false,
            Err(error) if !std::mem::replace(&mut state.warned, true) => {
                let path = state.path.display();
                tracing::warn!(%path, %error, "a message could not be written to the trace file");
            }
            Err(_) => {}
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        private::make_folder(folder)?;
    }
    private::options().create(true).append(true).open(path)
}

fn line(from: Side, body: &[u8]) -> io::Result<Vec<u8>> {
    let at_ms = crate::agent::now_ms();
    let body = &*SECRETS.replace_all(body, br#""$1":"<hidden>""#);
    // Between the parts of a message there may be line ends; in a text of JSON there are none.
    let flat: Cow<'_, [u8]> = match body.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
        true => body
            .iter()
            .map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte })
            .collect(),
        false => body.into(),
    };
    let mut line = match serde_json::from_slice::<&RawValue>(&flat) {
        Ok(message) => serde_json::to_vec(&Line { at_ms, from, message }),
        Err(_) => {
            let message = &String::from_utf8_lossy(body);
            serde_json::to_vec(&Line { at_ms, from, message })
        }
    }?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn keys_and_tokens_are_not_written_down() {
        for body in [
            r#"{"method":"countersign/account/login/start","params":{"type":"apiKey","apiKey":"sk-secret"}}"#,
            r#"{"result":{"authToken" : "se\"cr\\et","requiresOpenaiAuth":true}}"#,
            r#"broken {"apiKey":"sk-secret""#,
        ] {
            let line = line(Side::Client, body.as_bytes()).expect("a line");
            let line = String::from_utf8(line).expect("text");
            assert!(
                line.contains("hidden") && !line.contains("secret") && !line.contains("cr\\"),
                "{line}"
            );
        }
        let plain = line(Side::Server, br#"{"type":"apiKey","authMethod":"apiKey"}"#).expect("a line");
        assert!(String::from_utf8_lossy(&plain).contains(r#""type":"apiKey","authMethod":"apiKey""#));
    }

    #[test]
    fn each_message_is_a_line_whatever_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/trace.jsonl");
        let trace = Trace::open(&path);
        let bodies: [(&[u8], Value); 4] = [
            (b"{\"id\":1}", json!({"id": 1})),
            (b"{\r\n \"id\":\n2 }", json!({"id": 2})),
            (b"no {\njson", json!("no {\njson")),
            (b"\xff", json!("\u{fffd}")),
        ];
        for (body, _) in &bodies {
            trace.write(Side::Client, body);
        }
        trace.write(Side::Server, b"{}");
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), bodies.len() + 1);
        for (line, (_, message)) in lines.iter().zip(&bodies) {
            assert_eq!((&line["from"], &line["message"]), (&json!("client"), message));
        }
        assert_eq!(lines[4]["from"], "server");
        // Another session goes on in it.
        Trace::open(&path).write(Side::Client, b"{}");
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 6);
    }

    #[test]
    fn a_file_that_cannot_be_is_no_obstacle() {
        let file = tempfile::NamedTempFile::new().unwrap();
        Trace::open(&file.path().join("trace.jsonl")).write(Side::Client, b"{}");
        // A disk that is always full.
        let full = Path::new("/dev/full");
        if full.exists() {
            let trace = Trace::open(full);
            trace.write(Side::Client, b"{}");
            assert!(trace.0.lock().unwrap().warned);
        }
    }
}
