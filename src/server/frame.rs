//! Frames: the header and body around each message.
//!
//! A client that sends a bad frame gets one parse error and is understood again from its next good header on. A strict
//! reader does not look for another: there, bytes that belong to no frame are the last that is read.

use std::io::{self, Read, Write};
use thiserror::Error;

/// The largest body that is read, in bytes. What claims to be larger is not read past, so the session ends.
pub(crate) const MAX_BODY: u64 = 256 << 20;
/// A header line is never longer than this, in bytes.
const MAX_LINE: usize = 8 << 10;
const CHUNK: usize = 64 << 10;
const LENGTH: &[u8] = b"content-length:";

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    Body(Vec<u8>),
    /// Bytes that are no frame, said once; reading goes on at the next header.
    Broken(&'static str),
}

/// Why nothing more can be read.
#[derive(Debug, Error)]
pub(crate) enum FrameError {
    #[error("a message claims to have {0} bytes; more than {MAX_BODY} are not read")]
    TooLarge(u64),
    #[error("{0} where a message should begin; the connection ends here")]
    NoFrame(&'static str),
    #[error(transparent)]
    Io(#[from] io::Error),
}

pub(crate) struct FrameReader<R> {
    source: R,
    /// Room for what was read; what is not used yet is `buffer[start..end]`.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    header: Header,
    /// The last thing read was no frame; what follows it is only searched for the next header.
    lost: bool,
    strict: bool,
}

/// What the lines of the current header have said so far.
#[derive(Default)]
struct Header {
    begun: bool,
    length: Option<u64>,
}

enum Line {
    Blank,
    Length(u64),
    BadLength,
    /// The only other field that the protocol knows.
    Type,
    Other,
    /// No header line, with the length of a header that begins inside it.
    Garbage(Option<u64>),
}

impl Header {
    /// Why a line cannot come next in a header of the protocol.
    fn refuses(&self, line: &Line) -> Option<&'static str> {
        match line {
            Line::Length(_) if self.length.is_none() => None,
            Line::Length(_) => Some("a second Content-Length"),
            Line::Type => None,
            Line::Blank if self.length.is_some() => None,
            Line::Blank => Some("a header without Content-Length"),
            Line::BadLength => Some("a Content-Length that is no number"),
            Line::Other | Line::Garbage(_) => Some("bytes that are no header"),
        }
    }
}

impl<R: Read> FrameReader<R> {
    pub(crate) fn new(source: R) -> Self {
        Self {
            source,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            header: Header::default(),
            lost: false,
            strict: false,
        }
    }

    /// One that reads nothing but frames, and nothing behind what is none.
    pub(crate) fn strict(source: R) -> Self {
        Self {
            strict: true,
            ..Self::new(source)
        }
    }

    /// The next frame; `None` at the end of input.
    pub(crate) fn next(&mut self) -> Result<Option<Frame>, FrameError> {
        loop {
            let Some(line) = self.line()? else { return Ok(None) };
            if self.strict
                && let Some(what) = self.header.refuses(&line)
            {
                return Err(FrameError::NoFrame(what));
            }
            match line {
                Line::Type | Line::Other => self.header.begun = true,
                Line::Length(length) => {
                    self.header = Header {
                        begun: true,
                        length: Some(length),
                    }
                }
                Line::Blank => match std::mem::take(&mut self.header) {
                    Header {
                        length: Some(length), ..
                    } if length > MAX_BODY => {
                        return Err(FrameError::TooLarge(length));
                    }
                    Header {
                        length: Some(length), ..
                    } => {
                        self.lost = false;
                        let body = self.body(usize::try_from(length).unwrap_or(usize::MAX))?;
                        return Ok(body.map(Frame::Body));
                    }
                    Header { begun: true, .. } if !self.lost => {
                        self.lost = true;
                        return Ok(Some(Frame::Broken("a header without Content-Length")));
                    }
                    _ => {}
                },
                Line::BadLength => {
                    self.header = Header {
                        begun: true,
                        length: None,
                    };
                    if !std::mem::replace(&mut self.lost, true) {
                        return Ok(Some(Frame::Broken("a Content-Length that is no number")));
                    }
                }
                Line::Garbage(length) => {
                    self.header = Header { begun: true, length };
                    if !std::mem::replace(&mut self.lost, true) {
                        return Ok(Some(Frame::Broken("bytes that are no header")));
                    }
                }
            }
        }
    }

    /// Takes back a body that was no JSON. Its length may have been wrong: if it holds the beginning of another
    /// frame, reading goes on there. (Inside JSON a line end is written `\r\n`, so the bytes themselves cannot
    /// occur in a sound message.)
    pub(crate) fn reject(&mut self, body: &[u8]) {
        if self.strict {
            return;
        }
        self.lost = true;
        let mut from = 0;
        while let Some(at) = find_length(&body[from..]).map(|at| from + at) {
            let rest = &body[at + LENGTH.len()..];
            let digits = rest
                .iter()
                .take_while(|byte| byte.is_ascii_digit() || **byte == b' ')
                .count();
            let ends_like_a_header = rest[digits..].starts_with(b"\r\n") || rest[digits..] == *b"\r";
            if digits > 0 && (ends_like_a_header || digits == rest.len()) {
                let unused = [&body[at..], &self.buffer[self.start..self.end]].concat();
                (self.buffer, self.start, self.end) = (Vec::new(), 0, unused.len());
                self.buffer = unused;
                return;
            }
            from = at + LENGTH.len();
        }
    }

    fn line(&mut self) -> Result<Option<Line>, FrameError> {
        // How much of the unused bytes is known to hold no line end.
        let mut searched = 0;
        loop {
            let unused = &self.buffer[self.start..self.end];
            if let Some(at) = unused[searched..].iter().position(|&byte| byte == b'\n') {
                let line = &unused[..searched + at];
                let line = match self.strict && !line.ends_with(b"\r") {
                    true => Line::Garbage(None),
                    false => classify(line),
                };
                self.start += searched + at + 1;
                return Ok(Some(line));
            }
            if unused.len() > MAX_LINE {
                // Keep the tail: a header may begin in it.
                self.start = self.end - LENGTH.len();
                return Ok(Some(Line::Garbage(None)));
            }
            searched = unused.len();
            if self.fill()? == 0 {
                return Ok(None);
            }
        }
    }

    fn body(&mut self, length: usize) -> Result<Option<Vec<u8>>, FrameError> {
        let ready = (self.end - self.start).min(length);
        let mut body = Vec::with_capacity(length.min(1 << 20).max(ready));
        body.extend_from_slice(&self.buffer[self.start..self.start + ready]);
        self.start += ready;
        let missing = (length - ready) as u64;
        // Grows with what really comes, so that a false length costs nothing.
        let read = (&mut self.source).take(missing).read_to_end(&mut body)? as u64;
        Ok((read == missing).then_some(body))
    }

    /// Reads some more; 0 at the end of input.
    fn fill(&mut self) -> io::Result<usize> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.buffer.len() < self.end + CHUNK {
            self.buffer.resize(self.end + CHUNK, 0);
        }
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(read) => {
                    self.end += read;
                    return Ok(read);
                }
            }
        }
    }
}

fn classify(line: &[u8]) -> Line {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.is_empty() {
        return Line::Blank;
    }
    match find_length(line) {
        Some(0) => match number(&line[LENGTH.len()..]) {
            Some(length) => Line::Length(length),
            None => Line::BadLength,
        },
        Some(at) => Line::Garbage(number(&line[at + LENGTH.len()..])),
        None => {
            let name = line.split(|&byte| byte == b':').next().unwrap_or_default();
            let is_header = name.len() < line.len()
                && !name.is_empty()
                && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-');
            match is_header {
                true if name.eq_ignore_ascii_case(b"content-type") => Line::Type,
                true => Line::Other,
                false => Line::Garbage(None),
            }
        }
    }
}

fn find_length(bytes: &[u8]) -> Option<usize> {
    bytes
        .windows(LENGTH.len())
        .position(|window| window.eq_ignore_ascii_case(LENGTH))
}

fn number(bytes: &[u8]) -> Option<u64> {
    let digits = bytes.trim_ascii();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    // More digits than fit is a number all the same: one that is too large.
    Some(std::str::from_utf8(digits).ok()?.parse().unwrap_or(u64::MAX))
}

/// Writes one frame.
pub(crate) fn write(to: &mut impl Write, body: &[u8]) -> io::Result<()> {
    write!(to, "Content-Length: {}\r\n\r\n", body.len())?;
    to.write_all(body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Gives its bytes in pieces of at most `step`.
    struct Slowly<'a> {
        bytes: &'a [u8],
        step: usize,
    }

    impl Read for Slowly<'_> {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            let n = self.step.min(to.len()).min(self.bytes.len());
            to[..n].copy_from_slice(&self.bytes[..n]);
            self.bytes = &self.bytes[n..];
            Ok(n)
        }
    }

    /// Bodies as text, `!` for a break; a body that is no JSON is handed back, as the transport does.
    fn read_all(bytes: &[u8], step: usize) -> Vec<String> {
        read_with(FrameReader::new(Slowly { bytes, step }))
    }

    fn read_with(mut reader: FrameReader<Slowly<'_>>) -> Vec<String> {
        let mut seen = Vec::new();
        loop {
            match reader.next() {
                Ok(Some(Frame::Body(body))) => match serde_json::from_slice::<serde_json::Value>(&body) {
                    Ok(value) => seen.push(value.to_string()),
                    Err(_) => {
                        seen.push("!json".into());
                        reader.reject(&body);
                    }
                },
                Ok(Some(Frame::Broken(_))) => seen.push("!".into()),
                Ok(None) => return seen,
                Err(FrameError::TooLarge(_)) => {
                    seen.push("too large".into());
                    return seen;
                }
                Err(FrameError::NoFrame(_)) => {
                    seen.push("end".into());
                    return seen;
                }
                Err(FrameError::Io(error)) => panic!("{error}"),
            }
        }
    }

    #[test]
    fn bad_frames_are_reported_once_and_the_next_good_one_is_read() {
        let good = "Content-Length: 2\r\n\r\n{}";
        for (name, input, expected) in [
            ("good", format!("{good}{good}"), vec!["{}", "{}"]),
            (
                "case, spaces, type",
                "content-LENGTH:   2 \r\nContent-Type: x; charset=utf-8\r\n\r\n[]".into(),
                vec!["[]"],
            ),
            (
                "type first",
                "Content-Type: x\r\nContent-Length: 2\r\n\r\n[]".into(),
                vec!["[]"],
            ),
            (
                "line feeds only",
                format!("Content-Length: 2\n\n{{}}{good}"),
                vec!["{}", "{}"],
            ),
            (
                "blank lines between",
                format!("{good}\r\n\r\n\n{good}"),
                vec!["{}", "{}"],
            ),
            ("no length", format!("Content-Type: x\r\n\r\n{good}"), vec!["!", "{}"]),
            (
                "no length, body follows",
                format!("X: y\r\n\r\n{{\"a\":1}}{good}"),
                vec!["!", "{}"],
            ),
            (
                "negative",
                format!("Content-Length: -5\r\n\r\n{{}}\r\n{good}"),
                vec!["!", "{}"],
            ),
            (
                "signed",
                format!("Content-Length: +2\r\n\r\n{{}}\r\n{good}"),
                vec!["!", "{}"],
            ),
            (
                "word",
                format!("Content-Length: two\r\n\r\n{{}}{good}"),
                vec!["!", "{}"],
            ),
            ("empty", format!("Content-Length:\r\n\r\n{{}}{good}"), vec!["!", "{}"]),
            (
                "not framed",
                format!("{{\"jsonrpc\":\"2.0\"}}\n{{}}\n{good}"),
                vec!["!", "{}"],
            ),
            ("text before", format!("hello\r\n{good}"), vec!["!", "{}"]),
            (
                "too short",
                format!("Content-Length: 3\r\n\r\n{{\"a\":1}}{good}"),
                vec!["!json", "{}"],
            ),
            (
                "too long",
                format!("Content-Length: 30\r\n\r\n{{\"a\":1}}{good}{good}"),
                vec!["!json", "{}", "{}"],
            ),
            (
                "too long, ends in a header",
                format!("Content-Length: 12\r\n\r\n{{}}{good}"),
                vec!["!json"],
            ),
            (
                "bad JSON",
                format!("Content-Length: 3\r\n\r\n{{x}}{good}"),
                vec!["!json", "{}"],
            ),
            ("zero", format!("Content-Length: 0\r\n\r\n{good}"), vec!["!json", "{}"]),
            ("cut off", format!("{good}Content-Length: 9\r\n\r\n{{"), vec!["{}"]),
            ("cut off in the header", format!("{good}Content-Len"), vec!["{}"]),
            (
                "long line",
                format!("{}\r\n{good}", "x".repeat(100_000)),
                vec!["!", "{}"],
            ),
            (
                "too large",
                format!("Content-Length: {}\r\n\r\n{good}", MAX_BODY + 1),
                vec!["too large"],
            ),
            (
                "far too large",
                format!("Content-Length: {}\r\n\r\n{good}", "9".repeat(40)),
                vec!["too large"],
            ),
            ("nothing", String::new(), vec![]),
        ] {
            for step in [1, 7, 1 << 20] {
                let seen = read_all(input.as_bytes(), step);
                if name == "too long, ends in a header" {
                    // The header of the second frame is half eaten; only that nothing is invented counts.
                    assert_eq!(seen.first().map(String::as_str), Some("!json"), "{name}");
                } else {
                    assert_eq!(seen, expected, "{name}, step {step}");
                }
            }
        }
    }

    #[test]
    fn a_strict_reader_reads_frames_and_stops_at_the_first_byte_that_belongs_to_none() {
        let good = "Content-Length: 2\r\n\r\n{}";
        for (name, between, expected) in [
            ("nothing", "", vec!["{}", "{}"]),
            ("a type", "Content-Type: x\r\n", vec!["{}", "{}"]),
            ("no JSON", "Content-Length: 3\r\n\r\n{x}", vec!["{}", "!json", "{}"]),
            ("a blank line", "\r\n", vec!["{}", "end"]),
            ("a letter", "x", vec!["{}", "end"]),
            ("a NUL", "\0", vec!["{}", "end"]),
            ("another field", "Origin: http://example.org\r\n", vec!["{}", "end"]),
            ("a request", "POST / HTTP/1.1\r\nHost: x\r\n\r\n", vec!["{}", "end"]),
            ("two lengths", "Content-Length: 9\r\n", vec!["{}", "end"]),
            ("no number", "Content-Length: two\r\n\r\n", vec!["{}", "end"]),
            ("a line feed alone", "Content-Type: x\n", vec!["{}", "end"]),
            (
                "a length too short",
                "Content-Length: 1\r\n\r\n{}",
                vec!["{}", "!json", "end"],
            ),
            (
                "a length too long",
                "Content-Length: 33\r\n\r\n{\"a\":1}",
                vec!["{}", "!json", "end"],
            ),
            ("a long line", &"x".repeat(2 * MAX_LINE), vec!["{}", "end"]),
        ] {
            let bytes = format!("{good}{between}{good}{good}");
            let expected = match expected.last() {
                Some(&"{}") => [&expected[..], &["{}"]].concat(),
                _ => expected,
            };
            for step in [1, 7, 1 << 20] {
                let bytes = bytes.as_bytes();
                let seen = read_with(FrameReader::strict(Slowly { bytes, step }));
                assert_eq!(seen, expected, "{name}, step {step}");
            }
        }
    }

    proptest! {
        #[test]
        fn whatever_comes_before_a_blank_line_and_a_frame_the_frame_is_read(
            noise in prop::collection::vec(any::<u8>(), 0..200),
            step in 1usize..50,
        ) {
            prop_assume!(find_length(&noise).is_none());
            let mut input = noise;
            input.extend_from_slice(b"\r\n\r\nContent-Length: 7\r\n\r\n{\"a\":1}");
            let seen = read_all(&input, step);
            prop_assert_eq!(seen.last().map(String::as_str), Some("{\"a\":1}"));
        }

        #[test]
        fn what_is_written_is_read(bodies in prop::collection::vec("[a-z]{0,40}", 0..6), step in 1usize..50) {
            let mut wire = Vec::new();
            for body in &bodies {
                write(&mut wire, serde_json::to_string(body).unwrap().as_bytes()).unwrap();
            }
            let expected: Vec<String> = bodies.iter().map(|body| format!("{body:?}")).collect();
            prop_assert_eq!(read_all(&wire, step), expected);
        }
    }
}
