//! Server-sent events over bytes: our own parser, since the wire lies. It knows nothing of HTTP or JSON.
//!
//! Every line end (LF, CRLF, CR) works, also when a chunk ends in its middle; a byte-order mark and comments are
//! passed over; bytes that are not UTF-8 become U+FFFD; an event that grows past the bound is an error.

/// The most one event may hold, in bytes.
pub const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// The `event:` line, if there was one that is not empty.
    pub event: Option<String>,
    /// The `data:` lines, joined by LF.
    pub data: String,
}

/// An event is larger than the bound. The stream is of no use after this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("one event of the stream is larger than {limit} bytes")]
pub struct EventTooLarge {
    pub limit: usize,
}

/// Takes bytes in any portions, gives events.
#[derive(Debug)]
pub struct SseParser {
    /// The line that has begun and not ended.
    line: Vec<u8>,
    event: Option<String>,
    data: String,
    has_data: bool,
    /// The last byte was a CR: a LF that follows belongs to it.
    after_cr: bool,
    /// The first line may begin with a byte-order mark.
    first_line: bool,
    limit: usize,
}

impl Default for SseParser {
    fn default() -> Self {
        Self::with_limit(MAX_EVENT_BYTES)
    }
}

impl SseParser {
    /// A parser with a bound of its own, in bytes, for one event.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            event: None,
            data: String::new(),
            has_data: false,
            after_cr: false,
            first_line: true,
            limit,
        }
    }

    /// Takes the next bytes and appends the events that they complete.
    pub fn push(&mut self, mut bytes: &[u8], events: &mut Vec<SseEvent>) -> Result<(), EventTooLarge> {
        if bytes.is_empty() {
            return Ok(());
        }
        if std::mem::take(&mut self.after_cr) && bytes[0] == b'\n' {
            bytes = &bytes[1..];
        }
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.line.extend_from_slice(&bytes[..end]);
            let cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if cr {
                match bytes.first() {
                    Some(b'\n') => bytes = &bytes[1..],
                    Some(_) => {}
                    None => self.after_cr = true,
                }
            }
            self.check_size()?;
            self.end_line(events);
        }
        self.line.extend_from_slice(bytes);
        self.check_size()
    }

    /// The stream has ended. An event whose closing blank line is missing still counts: servers forget it.
    pub fn finish(&mut self, events: &mut Vec<SseEvent>) {
        if !self.line.is_empty() {
            self.end_line(events);
        }
        self.dispatch(events);
    }

    fn check_size(&self) -> Result<(), EventTooLarge> {
        if self.line.len() + self.data.len() > self.limit {
            return Err(EventTooLarge { limit: self.limit });
        }
        Ok(())
    }

    fn end_line(&mut self, events: &mut Vec<SseEvent>) {
        let line = std::mem::take(&mut self.line);
        let mut text: &[u8] = &line;
        if std::mem::take(&mut self.first_line) {
            text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        }
        if text.is_empty() {
            self.dispatch(events);
        } else {
            let (field, value) = match text.iter().position(|byte| *byte == b':') {
                Some(colon) => (&text[..colon], &text[colon + 1..]),
                None => (text, &text[text.len()..]),
            };
            let value = value.strip_prefix(b" ").unwrap_or(value);
            match field {
                b"data" => {
                    if std::mem::replace(&mut self.has_data, true) {
                        self.data.push('\n');
                    }
                    self.data.push_str(&String::from_utf8_lossy(value));
                }
                // Some servers end an answer with an error in a field of this name, or with its bare JSON.
                b"error" => self.fail(value),
                b"{\"error\"" => self.fail(text),
                b"event" => self.event = Some(String::from_utf8_lossy(value).into_owned()),
                // Comments have an empty name; `id`, `retry` and unknown fields mean nothing here.
                _ => {}
            }
        }
        // Keeps the allocation for the next line.
        self.line = line;
        self.line.clear();
    }

    /// What a server says in the place of data.
    fn fail(&mut self, words: &[u8]) {
        self.event = Some("error".to_owned());
        self.data = String::from_utf8_lossy(words).into_owned();
        self.has_data = true;
    }

    fn dispatch(&mut self, events: &mut Vec<SseEvent>) {
        let event = self.event.take().filter(|name| !name.is_empty());
        let data = std::mem::take(&mut self.data);
        if std::mem::take(&mut self.has_data) {
            events.push(SseEvent { event, data });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(chunks: &[&[u8]]) -> Vec<SseEvent> {
        let mut parser = SseParser::default();
        let mut events = Vec::new();
        for chunk in chunks {
            parser.push(chunk, &mut events).expect("small");
        }
        parser.finish(&mut events);
        events
    }

    fn event(name: &str, data: &str) -> SseEvent {
        SseEvent {
            event: (!name.is_empty()).then(|| name.to_owned()),
            data: data.to_owned(),
        }
    }

    #[test]
    fn shapes_of_streams() {
        type Row = (&'static [u8], &'static [(&'static str, &'static str)]);
        let table: &[Row] = &[
            (b"event: a\ndata: 1\n\ndata: 2\n\n", &[("a", "1"), ("", "2")]),
            (b"event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", &[("a", "1"), ("", "2")]),
            (b"event: a\rdata: 1\r\rdata: 2\r\r", &[("a", "1"), ("", "2")]),
            (b"event: a\rdata: 1\r\n\ndata: 2\n\r", &[("a", "1"), ("", "2")]),
            (b"\xef\xbb\xbfdata: 1\n\n", &[("", "1")]),
            (b"\xef\xbb\xbf\xef\xbb\xbfdata: 1\n\n", &[]),
            (b"data: 1\n\n\xef\xbb\xbfdata: 2\n\n", &[("", "1")]),
            (b": ping\n\n:\n\ndata: 1\n: in between\ndata: 2\n\n", &[("", "1\n2")]),
            (b"data:1\n\ndata:  2\n\n", &[("", "1"), ("", " 2")]),
            (b"data\n\ndata:\n\n", &[("", ""), ("", "")]),
            (b"event: a\n\ndata: 1\n\n", &[("", "1")]),
            (b"event:\ndata: 1\n\n", &[("", "1")]),
            (b"id: 7\nretry: 10\nnoise\nDATA: x\n\ndata: 1\n\n", &[("", "1")]),
            (b"data: [DONE]", &[("", "[DONE]")]),
            (b"data: [DONE]\n", &[("", "[DONE]")]),
            (b"\n\n\n", &[]),
            (b"", &[]),
            (b"data: \xff\xfe\n\n", &[("", "\u{fffd}\u{fffd}")]),
            (b"data: a:b: c\n\n", &[("", "a:b: c")]),
            (b"error: {\"code\":500}\n\n", &[("error", "{\"code\":500}")]),
            (
                b"data: 1\n\n{\"error\":\"full\"}\n",
                &[("", "1"), ("error", "{\"error\":\"full\"}")],
            ),
        ];
        for (bytes, wanted) in table {
            let wanted: Vec<_> = wanted.iter().map(|(name, data)| event(name, data)).collect();
            assert_eq!(parse(&[bytes]), wanted, "{:?}", String::from_utf8_lossy(bytes));
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(
                parse(&single),
                wanted,
                "byte by byte: {:?}",
                String::from_utf8_lossy(bytes)
            );
        }
    }

    #[test]
    fn an_event_past_the_bound_is_an_error_and_the_ones_before_it_count() {
        let mut parser = SseParser::with_limit(20);
        let mut events = Vec::new();
        let bytes = b"data: small\n\ndata: 0123456789\ndata: 0123456789\n\n";
        assert_eq!(parser.push(bytes, &mut events), Err(EventTooLarge { limit: 20 }));
        assert_eq!(events, [event("", "small")]);
        let mut endless = SseParser::with_limit(20);
        assert!(endless.push(&[b'x'; 21], &mut events).is_err());
        let mut comments = SseParser::with_limit(20);
        for _ in 0..100 {
            comments
                .push(b": keep-alive\n\n", &mut events)
                .expect("comments do not add up");
        }
    }

    proptest! {
        /// Any split of the bytes gives the same events.
        #[test]
        fn any_split_gives_the_same_events(
            pieces in proptest::collection::vec(
                prop_oneof![
                    Just("data: ".to_owned()), Just("data:".to_owned()), Just("event: x".to_owned()),
                    Just("\r".to_owned()), Just("\n".to_owned()), Just("\r\n".to_owned()), Just("\n\n".to_owned()),
                    Just(": c".to_owned()), Just("\u{feff}".to_owned()), Just("häé🦀".to_owned()), "[a-z:{} ]{0,6}",
                ],
                0..40,
            ),
            cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..12),
            limit in prop_oneof![Just(24usize), Just(1000usize)],
        ) {
            let bytes = pieces.concat().into_bytes();
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            at.sort_unstable();
            let run = |at: &[usize]| {
                let mut parser = SseParser::with_limit(limit);
                let mut events = Vec::new();
                let mut from = 0;
                for to in at.iter().copied().chain([bytes.len()]) {
                    if let Err(error) = parser.push(&bytes[from..to], &mut events) {
                        return (events, Some(error));
                    }
                    from = to;
                }
                parser.finish(&mut events);
                (events, None)
            };
            prop_assert_eq!(run(&at), run(&[]));
        }
    }
}
