//! Output of a command: bytes to text at chunk borders, and a bounded memory of it.

mod excerpt;
mod full;
mod plain;

pub use excerpt::Excerpt;
pub use full::FullOutput;
pub use plain::plain;

/// Bytes kept of each stream, and of both together: half from the start, half from the end.
pub const KEPT_OUTPUT: usize = 1024 * 1024;

/// Which of the two streams a piece of output came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Stdout,
    Stderr,
}

/// Decodes UTF-8 in pieces. A character that a border cuts in two waits for its rest; bytes that can never be one
/// become U+FFFD.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    /// The beginning of a character, at most three bytes.
    waiting: Vec<u8>,
}

impl Decoder {
    pub(crate) fn push(&mut self, bytes: &[u8]) -> String {
        let mut joined = std::mem::take(&mut self.waiting);
        joined.extend_from_slice(bytes);
        let mut text = String::with_capacity(joined.len());
        let mut chunks = joined.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            let invalid = chunk.invalid();
            if chunks.peek().is_none() && may_become_a_character(invalid) {
                self.waiting = invalid.to_vec();
            } else if !invalid.is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        text
    }

    /// What is left when the stream has ended.
    pub(crate) fn finish(&mut self) -> &'static str {
        let cut = !std::mem::take(&mut self.waiting).is_empty();
        if cut { "\u{FFFD}" } else { "" }
    }
}

/// Whether these bytes are a valid beginning of a longer character.
fn may_become_a_character(bytes: &[u8]) -> bool {
    !bytes.is_empty() && std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

/// Head and tail of a text of any length.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    half: usize,
    head: String,
    /// The last bytes after the head; once it is full, the oldest stand at `oldest`.
    tail: Vec<u8>,
    oldest: usize,
    /// Bytes and line ends seen in all.
    bytes: u64,
    lines: u64,
}

impl Kept {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            half: limit / 2,
            head: String::new(),
            tail: Vec::new(),
            oldest: 0,
            bytes: 0,
            lines: 0,
        }
    }

    pub(crate) fn push(&mut self, text: &str) {
        self.bytes += text.len() as u64;
        self.lines += line_ends(text);
        let mut rest = text;
        // The head is full once the tail has begun: the text between must not be lost to a short character.
        if self.tail.is_empty() {
            let fits = text.floor_char_boundary(self.half.saturating_sub(self.head.len()));
            self.head.push_str(&text[..fits]);
            rest = &text[fits..];
        }
        self.push_tail(rest.as_bytes());
    }

    fn push_tail(&mut self, bytes: &[u8]) {
        // Only the last of them will stay.
        let mut bytes = &bytes[bytes.len().saturating_sub(self.half)..];
        let room = (self.half - self.tail.len()).min(bytes.len());
        self.tail.extend_from_slice(&bytes[..room]);
        bytes = &bytes[room..];
        while !bytes.is_empty() {
            let place = &mut self.tail[self.oldest..];
            let fits = place.len().min(bytes.len());
            place[..fits].copy_from_slice(&bytes[..fits]);
            bytes = &bytes[fits..];
            self.oldest = (self.oldest + fits) % self.half;
        }
    }

    /// The tail as text; a character that lost its beginning is left out.
    fn take_tail(&mut self) -> String {
        let mut tail = std::mem::take(&mut self.tail);
        tail.rotate_left(self.oldest);
        let start = tail.iter().take_while(|byte| **byte & 0xC0 == 0x80).count();
        tail.drain(..start);
        String::from_utf8(tail).unwrap_or_default()
    }

    /// Bytes seen in all.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// As `excerpt`, as it is so far.
    pub(crate) fn so_far(&self) -> Excerpt {
        self.clone().excerpt()
    }

    /// The text, or its head and tail around a line that says how much is missing.
    pub(crate) fn finish(self) -> String {
        self.excerpt().to_string()
    }

    /// The text, or its head and tail, which begin and end at lines where there are any.
    pub(crate) fn excerpt(mut self) -> Excerpt {
        let tail = self.take_tail();
        if self.bytes == (self.head.len() + tail.len()) as u64 {
            self.head.push_str(&tail);
            return Excerpt::from(self.head);
        }
        Excerpt::around(self.head, tail, (self.bytes, self.lines))
    }
}

/// Eight bytes at a time, so that a flood is no trouble where nothing is optimised either.
fn line_ends(text: &str) -> u64 {
    const LOW_BITS: u64 = u64::from_ne_bytes([0x7F; 8]);
    const ENDS: u64 = u64::from_ne_bytes([b'\n'; 8]);
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    let mut count = rest.iter().filter(|byte| **byte == b'\n').count() as u64;
    for word in words {
        let differs = u64::from_ne_bytes(*word) ^ ENDS;
        // The high bit of a byte stays clear only where no bit of it differs.
        let high = ((differs & LOW_BITS) + LOW_BITS) | differs;
        count += u64::from((!high & !LOW_BITS).count_ones());
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn line_ends_are_counted(text in "[\\n\u{0}-\u{ff}]{0,60}") {
            prop_assert_eq!(line_ends(&text), text.bytes().filter(|byte| *byte == b'\n').count() as u64);
        }
    }

    proptest! {
        #[test]
        fn borders_do_not_show(bytes in proptest::collection::vec(any::<u8>(), 0..200), cuts in proptest::collection::vec(0usize..200, 0..6)) {
            let mut decoder = Decoder::default();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            cuts.push(bytes.len());
            let (mut text, mut from) = (String::new(), 0);
            for cut in cuts {
                text.push_str(&decoder.push(&bytes[from..cut]));
                from = cut;
            }
            text.push_str(decoder.finish());
            prop_assert_eq!(text, String::from_utf8_lossy(&bytes));
        }

        #[test]
        fn short_output_is_kept_whole(pieces in proptest::collection::vec(".{0,20}", 0..8)) {
            let mut kept = Kept::new(4096);
            pieces.iter().for_each(|piece| kept.push(piece));
            prop_assert_eq!(kept.finish(), pieces.concat());
        }

        #[test]
        fn long_output_is_bounded_and_the_count_is_right(pieces in proptest::collection::vec("[a-zä€\n]{0,80}", 0..40)) {
            let mut kept = Kept::new(256);
            pieces.iter().for_each(|piece| kept.push(piece));
            let (whole, text) = (pieces.concat(), kept.finish());
            if let Some((head, rest)) = text.split_once("[… ") {
                let (count, tail) = rest.split_once("…]\n").expect("the marker is a line");
                let left_out: usize = count.split(' ').next().and_then(|n| n.parse().ok()).expect("a count");
                prop_assert!(whole.ends_with(tail) && whole.starts_with(head.trim_end_matches('\n')));
                let border = usize::from(!whole.starts_with(head));
                prop_assert_eq!(whole.len(), head.len() - border + left_out + tail.len());
                prop_assert!(text.len() < 256 + 80);
            } else {
                prop_assert_eq!(text, whole);
            }
        }
    }

    #[test]
    fn the_end_of_a_line_without_end_is_kept() {
        let mut kept = Kept::new(40);
        (0..100).for_each(|_| kept.push("0123456789"));
        kept.push("end\n");
        let text = kept.finish();
        assert!(text.starts_with("0123456789") && text.ends_with("789end\n"), "{text}");
    }

    #[test]
    fn the_middle_is_cut_at_lines() {
        let mut kept = Kept::new(40);
        (0..100).for_each(|n| kept.push(&format!("line {n}\n")));
        assert_eq!(
            kept.finish(),
            "line 0\nline 1\n[… 760 bytes, 96 lines cut out …]\nline 98\nline 99\n"
        );
    }
}
