//! The first message of a TLS client, as far as it says whom it wants to speak to. It may come in any number of pieces; what
//! is not wholly understood names nobody.

use super::rules::name_of;

/// Longest first message that is waited for.
pub(super) const LONGEST: usize = 64 * 1024;
const RECORD_HEAD: usize = 5;
/// Longest record of plain text.
const LONGEST_RECORD: usize = 1 << 14;

pub(super) const HANDSHAKE: u8 = 22;
pub(super) const CHANGE_CIPHER: u8 = 20;
pub(super) const ALERT: u8 = 21;
const HEARTBEAT: u8 = 24;
pub(super) const CLIENT_HELLO: u8 = 1;
/// Bytes by which a greeting is known in a stream: the head of its record, its kind, and the first byte of its length.
const SIGN: usize = RECORD_HEAD + 2;

/// Whether bytes may begin a TLS record, of whatever kind.
pub(super) fn begins_record(bytes: &[u8]) -> bool {
    let is_kind =
        |kind: u8| kind == HANDSHAKE || (CHANGE_CIPHER..=HEARTBEAT).contains(&kind) && bytes.get(1) == Some(&3);
    bytes.first().is_some_and(|kind| is_kind(*kind))
}

const SERVER_NAME: u16 = 0;
/// Encrypted names: that of TLS, and its forerunner.
const ENCRYPTED: [u16; 2] = [0xFE0D, 0xFFCE];

/// What has come of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Hello {
    /// Too little to say.
    More,
    /// Whole, and what it takes of the bytes.
    Whole { name: Option<String>, length: usize },
    /// Not to be let through; why, as the end of a sentence.
    Wrong(&'static str),
}

const BROKEN: Hello = Hello::Wrong("its first TLS message is not well-formed");

/// Reads the message at the beginning of `bytes`, records and all.
pub(super) fn read(bytes: &[u8]) -> Hello {
    let (mut at, mut message) = (0, Vec::new());
    loop {
        let Some(head) = bytes.get(at..at + RECORD_HEAD) else {
            let started = bytes.get(at..).unwrap_or_default();
            let plausible =
                started.first().is_none_or(|kind| *kind == HANDSHAKE) && started.get(1).is_none_or(|major| *major == 3);
            return match plausible && bytes.len() <= LONGEST {
                true => Hello::More,
                false => BROKEN,
            };
        };
        let length = usize::from(u16::from_be_bytes([head[3], head[4]]));
        if head[0] != HANDSHAKE || head[1] != 3 || length == 0 || length > LONGEST_RECORD {
            return BROKEN;
        }
        let end = at + RECORD_HEAD + length;
        let whole = bytes.len() >= end;
        message.extend_from_slice(&bytes[at + RECORD_HEAD..end.min(bytes.len())]);
        if message.first().is_some_and(|kind| *kind != CLIENT_HELLO) {
            return BROKEN;
        }
        let wanted = match message.get(1..4) {
            Some(length) => 4 + (usize::from(length[0]) << 16 | usize::from(length[1]) << 8 | usize::from(length[2])),
            None => usize::MAX,
        };
        if wanted != usize::MAX && wanted > LONGEST || message.len() > wanted {
            return BROKEN;
        }
        if message.len() == wanted && whole {
            return match body(&message[4..]) {
                Some(Ok(name)) => Hello::Whole { name, length: end },
                Some(Err(why)) => Hello::Wrong(why),
                None => BROKEN,
            };
        }
        if !whole {
            return if bytes.len() > LONGEST { BROKEN } else { Hello::More };
        }
        at = end;
    }
}

/// Takes a message apart.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u16> {
        self.take(2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    /// What a length of one byte stands before.
    fn short(&mut self) -> Option<&'a [u8]> {
        let length = self.take(1)?[0];
        self.take(length.into())
    }

    /// What a length of two bytes stands before.
    fn long(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?;
        self.take(length.into())
    }
}

/// The name in a message; none where the message is broken.
fn body(message: &[u8]) -> Option<Result<Option<String>, &'static str>> {
    let mut reader = Reader(message);
    reader.take(2 + 32)?;
    reader.short()?;
    reader.long()?;
    reader.short()?;
    if reader.0.is_empty() {
        return Some(Ok(None));
    }
    let mut extensions = Reader(reader.long()?);
    if !reader.0.is_empty() {
        return None;
    }
    let mut name = None;
    while !extensions.0.is_empty() {
        let kind = extensions.number()?;
        let content = extensions.long()?;
        if ENCRYPTED.contains(&kind) {
            return Some(Err("it hides the name of the host in its TLS ClientHello (ECH)"));
        }
        if kind == SERVER_NAME {
            let mut outer = Reader(content);
            let mut list = Reader(outer.long()?);
            let is_host = list.take(1)? == [0];
            let text = list.long()?;
            // One name, of a host, and nothing beside it.
            if name.is_some() || !is_host || !list.0.is_empty() || !outer.0.is_empty() {
                return None;
            }
            let text = std::str::from_utf8(text).ok().filter(|text| text.is_ascii())?;
            name = Some(name_of(text)?);
        }
    }
    Some(Ok(name))
}

/// Looks at all that a client sends until it is encrypted: it may greet once more, and then under the same name. What is
/// not understood yet is held back.
#[derive(Debug)]
pub(super) struct Watch {
    name: String,
    held: Vec<u8>,
    /// So many bytes at the beginning of what is held have gone on already.
    sent: usize,
    /// No greeting has come yet.
    waits: bool,
    /// The stream did not begin with one.
    is_late: bool,
    over: bool,
}

impl Watch {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            held: Vec::new(),
            sent: 0,
            waits: false,
            is_late: false,
            over: false,
        }
    }

    /// For a stream that begins otherwise, and may come to a greeting.
    pub(super) fn for_later(name: &str) -> Self {
        Self {
            waits: true,
            is_late: true,
            ..Self::new(name)
        }
    }

    /// What has come without a greeting goes on at once: who sent it may wait for an answer. Where a greeting begins, the rest is held.
    fn find_greeting(&mut self) -> Vec<u8> {
        let is_sign = |bytes: &[u8]| {
            bytes[0] == HANDSHAKE
                && bytes[1] == 3
                && bytes[2] <= 4
                && bytes[RECORD_HEAD] == CLIENT_HELLO
                && bytes[SIGN - 1] == 0
        };
        let at = self.held.windows(SIGN).position(is_sign);
        self.waits = at.is_none();
        // The last bytes may be the beginning of one.
        let keep = at.unwrap_or(self.held.len().saturating_sub(SIGN - 1));
        let end = at.unwrap_or(self.held.len());
        let goes_on = self.held.get(self.sent..end).unwrap_or_default().to_vec();
        self.sent = self.sent + goes_on.len() - keep;
        self.held.drain(..keep);
        goes_on
    }

    /// Takes in what has come; what of it may go on.
    ///
    /// # Errors
    /// The client greets under another name.
    pub(super) fn pass(&mut self, bytes: &[u8]) -> Result<Vec<u8>, &'static str> {
        self.held.extend_from_slice(bytes);
        let mut before = match self.waits {
            true => self.find_greeting(),
            false => Vec::new(),
        };
        if self.waits {
            return Ok(before);
        }
        let mut passed = 0;
        while !self.over {
            let rest = &self.held[passed..];
            let Some(head) = rest.get(..RECORD_HEAD) else { break };
            let length = RECORD_HEAD + usize::from(u16::from_be_bytes([head[3], head[4]]));
            match (head[0], rest.get(RECORD_HEAD)) {
                // The byte behind it would be looked at as if it were its own.
                (HANDSHAKE | CHANGE_CIPHER | ALERT, _) if length == RECORD_HEAD => {
                    return Err("it sends empty TLS records");
                }
                (CHANGE_CIPHER | ALERT, _) if rest.len() < length => break,
                (CHANGE_CIPHER | ALERT, _) => passed += length,
                (HANDSHAKE, None) => break,
                (HANDSHAKE, Some(&CLIENT_HELLO)) => match read(rest) {
                    Hello::More => break,
                    Hello::Whole { name, length } if name.as_deref() == Some(&self.name) => passed += length,
                    // In the middle of a stream it is the host's own affair which of its names is meant where none is said.
                    Hello::Whole { name: None, length } if self.is_late => passed += length,
                    Hello::Whole { .. } => return Err("it changes the name of the host in its TLS ClientHello"),
                    Hello::Wrong(why) => return Err(why),
                },
                // Encrypted from here on, or an older handshake that has gone past greetings.
                _ => self.over = true,
            }
        }
        if self.over {
            passed = self.held.len();
        }
        let sent = self.sent.min(passed);
        before.extend(self.held.drain(..passed).skip(sent));
        self.sent -= sent;
        Ok(before)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn long(content: &[u8]) -> Vec<u8> {
        [&(content.len() as u16).to_be_bytes(), content].concat()
    }

    pub(in crate::exec::proxy) fn server_name(name: &[u8]) -> (u16, Vec<u8>) {
        (SERVER_NAME, long(&[&[0], &long(name)[..]].concat()))
    }

    /// A greeting with these extensions, in records of at most `piece` bytes.
    pub(in crate::exec::proxy) fn greeting(extensions: &[(u16, Vec<u8>)], piece: usize) -> Vec<u8> {
        let mut body = vec![3, 3];
        body.extend([7; 32]);
        body.extend([0, 0, 2, 0x13, 0x01, 1, 0]);
        let extensions = extensions
            .iter()
            .map(|(kind, content)| [&kind.to_be_bytes()[..], &long(content)].concat());
        body.extend(long(&extensions.collect::<Vec<_>>().concat()));
        let mut message = vec![CLIENT_HELLO, 0];
        message.extend(long(&body));
        let records = message
            .chunks(piece)
            .map(|piece| [&[HANDSHAKE, 3, 1][..], &long(piece)].concat());
        records.collect::<Vec<_>>().concat()
    }

    fn named(bytes: &[u8]) -> Option<String> {
        match read(bytes) {
            Hello::Whole { name, length } => {
                assert_eq!(length, bytes.len());
                name
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn names_are_found_in_any_number_of_pieces() {
        let extensions = [(10, vec![0, 0]), server_name(b"Example.org"), (43, vec![2, 3, 4])];
        for piece in [1, 2, 3, 5, 40, 16_384] {
            let whole = greeting(&extensions, piece);
            assert_eq!(named(&whole).as_deref(), Some("example.org"), "{piece}");
            for end in 0..whole.len() {
                assert_eq!(read(&whole[..end]), Hello::More, "{piece} {end}");
            }
        }
        assert_eq!(named(&greeting(&[], 100)), None);
    }

    #[test]
    fn what_is_odd_names_nobody() {
        let twice = [server_name(b"a.org"), server_name(b"b.org")];
        let two = (
            SERVER_NAME,
            long(&[&[0][..], &long(b"a.org"), &[0], &long(b"b.org")].concat()),
        );
        let other_kind = (SERVER_NAME, long(&[&[1][..], &long(b"a.org")].concat()));
        for (label, extensions) in [
            ("two extensions", twice.to_vec()),
            ("two names in one", vec![two]),
            ("not of a host", vec![other_kind]),
            ("a NUL", vec![server_name(b"a.org\0.b.org")]),
            ("empty", vec![server_name(b"")]),
            ("an address", vec![server_name(b"127.0.0.1")]),
            ("not ASCII", vec![server_name("ä.org".as_bytes())]),
            (
                "a list with more behind it",
                vec![(
                    SERVER_NAME,
                    [long(&[&[0][..], &long(b"a.org")].concat()), vec![0]].concat(),
                )],
            ),
            ("encrypted", vec![server_name(b"a.org"), (0xFE0D, vec![0; 8])]),
            (
                "encrypted in the older way",
                vec![(0xFFCE, vec![0; 8]), server_name(b"a.org")],
            ),
        ] {
            assert!(matches!(read(&greeting(&extensions, 1000)), Hello::Wrong(_)), "{label}");
        }
        let mut sound = greeting(&[server_name(b"a.org")], 1000);
        sound[5] = 2;
        assert_eq!(read(&sound), BROKEN, "another message");
        assert_eq!(read(b"GET / HTTP/1.1\r\n"), BROKEN);
        assert_eq!(read(&[HANDSHAKE, 3, 1, 0, 0, 1]), BROKEN, "an empty record");
        assert_eq!(
            read(&[HANDSHAKE, 3, 1, 0xFF, 0xFF, 1]),
            BROKEN,
            "a record that is too long"
        );
        assert_eq!(
            read(&[HANDSHAKE, 3, 1, 0, 4, 1, 0xFF, 0xFF, 0xFF]),
            BROKEN,
            "a message that is too long"
        );
        let mut more = greeting(&[server_name(b"a.org")], 1000);
        let end = more.len();
        more.extend([0, 0]);
        more[4] += 2;
        assert_eq!(read(&more), BROKEN, "something behind the message in its record, {end}");
    }

    /// A stream that begins with something else is held to the name once it goes over to TLS; until then nothing is held back.
    #[test]
    fn a_late_greeting_keeps_the_name() {
        let greeting = |name: &[u8]| greeting(&[server_name(name)], 50);
        let bare = super::tests::greeting(&[], 1000);
        for (label, said, greets, sound) in [
            (
                "the same name",
                &b"EHLO here\r\nSTARTTLS\r\n"[..],
                greeting(b"a.org"),
                true,
            ),
            ("no name", b"STARTTLS\r\n", bare, true),
            ("another name", b"STARTTLS\r\n", greeting(b"b.org"), false),
            (
                "nothing but what looks like it",
                b"\x16\x03\x01\x00\x05\x02\x00 and \x16\x03",
                Vec::new(),
                true,
            ),
            ("a byte in front", b"\x16", greeting(b"b.org"), false),
            ("a head in front", b"\x16\x03\x01", greeting(b"b.org"), false),
            ("nothing in front", b"", greeting(b"b.org"), false),
        ] {
            for piece in [1, 2, 3, 7, 1000] {
                let mut watch = Watch::for_later("a.org");
                let mut passed = Vec::new();
                for piece in said.chunks(piece) {
                    passed.extend(watch.pass(piece).expect("nothing is wrong yet"));
                }
                assert_eq!(passed, said, "{label} {piece}: all of it has gone on");
                let rest = [&greets[..], &[23, 3, 3, 0, 2, 9, 9]].concat();
                let late: Result<Vec<_>, _> = rest.chunks(piece).map(|piece| watch.pass(piece)).collect();
                // Refused, or held.
                let passes = late.is_ok_and(|late| late.concat() == rest);
                assert_eq!(passes, sound, "{label} {piece}");
            }
        }
    }

    #[test]
    fn a_second_greeting_keeps_the_name() {
        let again = |name: &[u8]| greeting(&[server_name(name)], 50);
        let change = [CHANGE_CIPHER, 3, 3, 0, 1, 1];
        let encrypted = [23, 3, 3, 0, 2, 9, 9];
        let older = [HANDSHAKE, 3, 3, 0, 1, 16];
        for (label, sent, sound) in [
            ("encrypted at once", encrypted.to_vec(), true),
            ("an older handshake", [&older[..], &again(b"b.org")].concat(), true),
            (
                "the same name",
                [&change[..], &again(b"a.org"), &encrypted].concat(),
                true,
            ),
            (
                "another name",
                [&change[..], &again(b"b.org"), &encrypted].concat(),
                false,
            ),
            ("another name at once", again(b"b.org"), false),
            ("no name", greeting(&[], 1000), false),
            (
                "another name behind an empty record",
                [&change[..], &[HANDSHAKE, 3, 3, 0, 0], &again(b"b.org")].concat(),
                false,
            ),
            (
                "an empty change",
                [&[CHANGE_CIPHER, 3, 3, 0, 0][..], &again(b"a.org")].concat(),
                false,
            ),
        ] {
            for piece in [1, 7, 1000] {
                let mut watch = Watch::new("a.org");
                let passed: Result<Vec<_>, _> = sent.chunks(piece).map(|piece| watch.pass(piece)).collect();
                assert_eq!(passed.is_ok(), sound, "{label} {piece}");
                if let Ok(passed) = passed {
                    assert_eq!(passed.concat(), sent, "{label} {piece}");
                }
            }
        }
    }
}
