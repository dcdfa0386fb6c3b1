//! What the bytes of an answer may stand for: each character as it is, or as an escape of addresses, JSON, HTML or programs, also
//! where one such text stands inside of another. Which of them the host meant is not known, so each reading counts.

use std::cell::Cell;

/// A character, and where what stands for it ends.
pub(super) type Reading = (u8, usize);

/// Reads what begins at a place, without escapes or with those of one text.
type Read<'b> = fn(&Reader<'b>, usize) -> Option<Reading>;

/// Most digits, or letters, of an escape that has an end of its own.
const LONGEST: usize = 8;
/// Zeros behind a character in UTF-32; UTF-16 has one.
const ZEROS: usize = 3;

/// Characters that HTML has names for.
const NAMES: &[(&str, u8)] = &[
    ("amp", b'&'),
    ("lt", b'<'),
    ("gt", b'>'),
    ("quot", b'"'),
    ("apos", b'\''),
    ("sol", b'/'),
    ("bsol", b'\\'),
    ("equals", b'='),
    ("plus", b'+'),
    ("num", b'#'),
    ("dollar", b'$'),
    ("percnt", b'%'),
    ("excl", b'!'),
    ("lpar", b'('),
    ("rpar", b')'),
    ("ast", b'*'),
    ("comma", b','),
    ("period", b'.'),
    ("colon", b':'),
    ("semi", b';'),
    ("quest", b'?'),
    ("commat", b'@'),
    ("lsqb", b'['),
    ("lbrack", b'['),
    ("rsqb", b']'),
    ("rbrack", b']'),
    ("hat", b'^'),
    ("lowbar", b'_'),
    ("grave", b'`'),
    ("lcub", b'{'),
    ("lbrace", b'{'),
    ("verbar", b'|'),
    ("vert", b'|'),
    ("rcub", b'}'),
    ("rbrace", b'}'),
    ("newline", b'\n'),
];

/// Whether an escape begins with it.
pub(super) fn begins_escape(byte: u8) -> bool {
    matches!(byte, b'%' | b'\\' | b'&')
}

/// Reads a part of an answer.
pub(super) struct Reader<'b> {
    bytes: &'b [u8],
    has_ended: Cell<bool>,
}

impl<'b> Reader<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self {
            bytes,
            has_ended: Cell::new(false),
        }
    }

    /// Whether anything since the last time was not read to its end because the bytes have ended.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended.take()
    }

    pub(super) fn is_end(&self, at: usize) -> bool {
        at >= self.bytes.len()
    }

    /// All that what begins here may stand for.
    pub(super) fn readings(&self, at: usize) -> impl Iterator<Item = Reading> + use<> {
        let plain = self.plain(at);
        let once = plain.and_then(|first| self.escape(first, Self::plain));
        // As `\&quot;`: the escapes of the inner text only where they have to be.
        let mixed = plain.and_then(|first| self.escape(first, Self::unescaped));
        let twice = once.and_then(|first| self.escape(first, Self::unescaped));
        [plain, once, mixed, twice].into_iter().flatten()
    }

    /// One character as it stands there.
    fn plain(&self, at: usize) -> Option<Reading> {
        let Some(byte) = self.bytes.get(at) else {
            self.has_ended.set(true);
            return None;
        };
        let behind = self.bytes[at + 1..].iter().take(ZEROS);
        let zeros = behind.take_while(|byte| **byte == 0).count();
        Some((*byte, at + 1 + zeros))
    }

    /// The character that an escape stands for, where there is one, else as it stands there.
    fn unescaped(&self, at: usize) -> Option<Reading> {
        let plain = self.plain(at)?;
        self.escape(plain, Self::plain).or(Some(plain))
    }

    /// The character that an escape stands for, of which the first is read already.
    fn escape(&self, (first, at): Reading, read: Read<'b>) -> Option<Reading> {
        match first {
            b'%' => self.digits(at, read, 16, 2),
            b'&' => self.entity(at, read),
            b'\\' => {
                let (kind, next) = read(self, at)?;
                match kind {
                    b'x' => self.digits(next, read, 16, 2),
                    b'u' => match read(self, next)? {
                        (b'{', inner) => self.number(inner, read, 16, b'}'),
                        _ => self.digits(next, read, 16, 4),
                    },
                    b'U' => self.digits(next, read, 16, 8),
                    b'0'..=b'7' => self.digits(at, read, 8, 3),
                    b'n' => Some((b'\n', next)),
                    b'r' => Some((b'\r', next)),
                    b't' => Some((b'\t', next)),
                    _ => kind.is_ascii_punctuation().then_some((kind, next)),
                }
            }
            _ => None,
        }
    }

    /// A number of so many digits.
    fn digits(&self, mut at: usize, read: Read<'b>, radix: u32, count: usize) -> Option<Reading> {
        let mut value: u32 = 0;
        for _ in 0..count {
            let (digit, next) = read(self, at)?;
            value = value
                .checked_mul(radix)?
                .checked_add(char::from(digit).to_digit(radix)?)?;
            at = next;
        }
        Some((u8::try_from(value).ok()?, at))
    }

    /// A number up to what ends it.
    fn number(&self, mut at: usize, read: Read<'b>, radix: u32, end: u8) -> Option<Reading> {
        let mut value: u32 = 0;
        for _ in 0..=LONGEST {
            let (digit, next) = read(self, at)?;
            at = next;
            if digit == end {
                return Some((u8::try_from(value).ok().filter(|value| *value > 0)?, at));
            }
            value = value
                .checked_mul(radix)?
                .checked_add(char::from(digit).to_digit(radix)?)?;
        }
        None
    }

    /// A character of HTML by its number or name, behind the `&`.
    fn entity(&self, at: usize, read: Read<'b>) -> Option<Reading> {
        let (kind, next) = read(self, at)?;
        if kind == b'#' {
            return match read(self, next)? {
                (b'x' | b'X', inner) => self.number(inner, read, 16, b';'),
                _ => self.number(next, read, 10, b';'),
            };
        }
        let mut at = at;
        let mut name = String::new();
        while name.len() <= LONGEST {
            let (letter, next) = read(self, at)?;
            at = next;
            match letter {
                b';' => {
                    let mut known = NAMES.iter().filter(|(known, _)| known.eq_ignore_ascii_case(&name));
                    return known.next().map(|(_, byte)| (*byte, at));
                }
                _ if letter.is_ascii_alphabetic() => name.push(char::from(letter)),
                _ => return None,
            }
        }
        None
    }
}

/// Writes another character over one, so that the text stays one of its kind: by the same escape where there is room, else as
/// often as there is room.
pub(super) fn write_over(part: &mut [u8], with: u8) {
    let places: Vec<usize> = (0..part.len()).filter(|at| part[*at] != 0).collect();
    let old: Vec<u8> = places.iter().map(|at| part[*at]).collect();
    let width = old.len();
    let escaped = match old.as_slice() {
        [b'%', ..] => format!("%{with:02X}"),
        [b'\\', b'x', ..] => format!("\\x{with:02x}"),
        [b'\\', b'u', digit, ..] if *digit != b'{' => format!("\\u{with:04x}"),
        [b'&', b'#', b'x' | b'X', ..] => format!("&#x{with:0digits$x};", digits = width.saturating_sub(4)),
        [b'&', b'#', ..] => format!("&#{with:0digits$};", digits = width.saturating_sub(3)),
        _ => String::new(),
    };
    let new = match escaped.len() == width {
        true => escaped.into_bytes(),
        false => vec![with; width],
    };
    for (at, byte) in places.into_iter().zip(new) {
        part[at] = byte;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(text: &str) -> Vec<Reading> {
        let mut all: Vec<Reading> = Reader::new(text.as_bytes()).readings(0).collect();
        all.dedup();
        all
    }

    #[test]
    fn what_a_text_stands_for_by_table() {
        for text in [
            "+",
            "%2B",
            "%2b",
            "%252B",
            "%25%32%62",
            "\\u002B",
            "\\u002b",
            "\\\\u002B",
            "\\u{2b}",
            "\\U0000002b",
            "\\x2b",
            "\\053",
            "\\+",
            "&#43;",
            "&#043;",
            "&#x2B;",
            "&#X2b;",
            "&plus;",
            "&amp;#43;",
            "&amp;plus;",
            "\\&#43;",
            "%26%2343%3B",
            "\\u0026#43;",
            "+\0",
            "+\0\0\0",
            "%\x002\0B\0",
        ] {
            let all = readings(text);
            assert!(all.contains(&(b'+', text.len())), "{text:?}: {all:?}");
        }
        for text in ["%2", "\\u002", "&#4", "&plu", "%25"] {
            let reader = Reader::new(text.as_bytes());
            assert!(reader.readings(0).all(|(byte, _)| byte != b'+'), "{text}");
            assert!(reader.has_ended() && !reader.has_ended(), "{text}");
        }
        for text in ["%zz", "&nothing;", "&#;", "&#999;", "\\q1", "a"] {
            let reader = Reader::new(text.as_bytes());
            assert_eq!(reader.readings(0).count(), 1, "{text}");
            assert!(!reader.has_ended(), "{text}");
        }
    }

    #[test]
    fn another_character_is_written_by_the_same_escape_where_there_is_room() {
        for (old, new) in [
            ("+", "a"),
            ("%2B", "%61"),
            ("%252B", "aaaaa"),
            ("\\u002B", "\\u0061"),
            ("\\u{2b}", "aaaaaa"),
            ("\\x2b", "\\x61"),
            ("\\/", "aa"),
            ("&#43;", "&#97;"),
            ("&#043;", "&#097;"),
            ("&#x2B;", "&#x61;"),
            ("&#x3;", "aaaaa"),
            ("&plus;", "aaaaaa"),
            ("+\0\0", "a\0\0"),
        ] {
            let mut part = old.as_bytes().to_vec();
            write_over(&mut part, b'a');
            assert_eq!(String::from_utf8_lossy(&part), new, "{old:?}");
        }
    }
}
