//! Places in a text: lines and columns as editors count them, and offsets in a rope.
//!
//! Lines end with LF, CRLF or CR. Columns count bytes (UTF-8), UTF-16 code units or characters, as negotiated.
//! A column past the end of its line means the line's end, a line past the end means the text's end, and a
//! column inside a character means the character's start: an editor's place always is some place.

use ropey::Rope;

/// What columns count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    /// The protocol's default.
    #[default]
    Utf16,
    Utf32,
}

/// Both counted from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub line: u32,
    pub column: u32,
}

/// Half open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    pub start: Position,
    pub end: Position,
}

/// One change by the editor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Absent: the whole text.
    pub range: Option<Range>,
    pub text: String,
}

impl Edit {
    /// Makes the change. A range that is the wrong way round is turned.
    pub fn apply(&self, rope: &mut Rope, encoding: Encoding) {
        let Some(range) = self.range else {
            *rope = Rope::from_str(&self.text);
            return;
        };
        let (a, b) = (char_at(rope, range.start, encoding), char_at(rope, range.end, encoding));
        let (start, end) = (a.min(b), a.max(b));
        rope.remove(start..end);
        rope.insert(start, &self.text);
    }
}

/// The character that a position stands before.
pub fn char_at(rope: &Rope, position: Position, encoding: Encoding) -> usize {
    let line = position.line as usize;
    if line >= rope.len_lines() {
        return rope.len_chars();
    }
    let start = rope.line_to_char(line);
    let end = line_end(rope, line);
    let column = position.column as usize;
    let at = match encoding {
        Encoding::Utf32 => start.saturating_add(column),
        Encoding::Utf8 => {
            let byte = rope.char_to_byte(start).saturating_add(column);
            if byte >= rope.len_bytes() {
                end
            } else {
                rope.byte_to_char(byte)
            }
        }
        Encoding::Utf16 => {
            let unit = rope.char_to_utf16_cu(start).saturating_add(column);
            if unit >= rope.len_utf16_cu() {
                end
            } else {
                rope.utf16_cu_to_char(unit)
            }
        }
    };
    at.min(end)
}

/// The byte that a position stands before.
pub fn byte_at(rope: &Rope, position: Position, encoding: Encoding) -> usize {
    rope.char_to_byte(char_at(rope, position, encoding))
}

/// The position of a character; past the end, that of the text's end. Inside a line end, that of the line end.
pub fn position_of_char(rope: &Rope, char_index: usize, encoding: Encoding) -> Position {
    let char_index = char_index.min(rope.len_chars());
    let line = rope.char_to_line(char_index);
    let start = rope.line_to_char(line);
    let at = char_index.min(line_end(rope, line));
    let column = match encoding {
        Encoding::Utf32 => at - start,
        Encoding::Utf8 => rope.char_to_byte(at) - rope.char_to_byte(start),
        Encoding::Utf16 => rope.char_to_utf16_cu(at) - rope.char_to_utf16_cu(start),
    };
    Position {
        line: saturate(line),
        column: saturate(column),
    }
}

/// The position of a byte; inside a character, that of the character's start.
pub fn position_of_byte(rope: &Rope, byte: usize, encoding: Encoding) -> Position {
    position_of_char(rope, rope.byte_to_char(byte.min(rope.len_bytes())), encoding)
}

/// The places of a text for whoever asks for many: each takes no longer than its own line does.
pub struct Places<'a> {
    text: &'a str,
    encoding: Encoding,
    /// Where its lines begin.
    starts: Vec<usize>,
}

impl<'a> Places<'a> {
    pub fn new(text: &'a str, encoding: Encoding) -> Self {
        let bytes = text.as_bytes();
        let ends_line = |at: usize| match bytes[at] {
            b'\n' => true,
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        };
        let behind = (0..bytes.len()).filter(|at| ends_line(*at)).map(|at| at + 1);
        Self {
            text,
            encoding,
            starts: std::iter::once(0).chain(behind).collect(),
        }
    }

    /// See [`position_of_byte`].
    pub fn of_byte(&self, byte: usize) -> Position {
        let byte = self.text.floor_char_boundary(byte);
        let line = self.starts.partition_point(|start| *start <= byte).saturating_sub(1);
        let start = self.starts[line];
        let end = self.starts.get(line + 1).copied().unwrap_or(self.text.len());
        let words = self.text[start..end].trim_end_matches(['\n', '\r']);
        let before = &words[..words.len().min(byte - start)];
        let column = match self.encoding {
            Encoding::Utf8 => before.len(),
            Encoding::Utf16 => before.chars().map(char::len_utf16).sum(),
            Encoding::Utf32 => before.chars().count(),
        };
        Position {
            line: saturate(line),
            column: saturate(column),
        }
    }
}

/// The whole text as a range.
pub fn whole(rope: &Rope, encoding: Encoding) -> Range {
    Range {
        start: Position::default(),
        end: position_of_char(rope, rope.len_chars(), encoding),
    }
}

/// Where the text of a line ends: before its line break.
fn line_end(rope: &Rope, line: usize) -> usize {
    if line + 1 >= rope.len_lines() {
        return rope.len_chars();
    }
    let start = rope.line_to_char(line);
    let next = rope.line_to_char(line + 1);
    let crlf = next >= start + 2 && rope.char(next - 1) == '\n' && rope.char(next - 2) == '\r';
    if crlf { next - 2 } else { next - 1 }
}

fn saturate(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: [Encoding; 3] = [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32];

    #[test]
    fn places_beyond_the_text_are_clamped() {
        let rope = Rope::from_str("a😀b\r\nß\rz\n");
        use Encoding::{Utf8, Utf16, Utf32};
        for (encoding, line, column, expected) in [
            (Utf16, 0, 1, 1),
            (Utf16, 0, 2, 1), // inside the surrogate pair
            (Utf16, 0, 3, 2),
            (Utf16, 0, 99, 3),
            (Utf16, 0, u32::MAX, 3),
            (Utf8, 0, 1, 1),
            (Utf8, 0, 2, 1),
            (Utf8, 0, 4, 1),
            (Utf8, 0, 5, 2),
            (Utf8, 0, 6, 3),
            (Utf8, 0, 7, 3), // never between CR and LF
            (Utf8, 0, u32::MAX, 3),
            (Utf32, 0, 2, 2),
            (Utf32, 0, u32::MAX, 3),
            (Utf16, 1, 1, 6),
            (Utf16, 1, 2, 6),
            (Utf8, 1, 1, 5),
            (Utf8, 1, 2, 6),
            (Utf32, 2, 0, 7),
            (Utf32, 3, 0, 9),
            (Utf16, 3, 5, 9),
            (Utf16, 4, 0, 9),
            (Utf16, u32::MAX, u32::MAX, 9),
        ] {
            let at = char_at(&rope, Position { line, column }, encoding);
            assert_eq!(at, expected, "{encoding:?} {line}:{column}");
        }
        for encoding in ALL {
            assert_eq!(char_at(&Rope::new(), Position { line: 7, column: 7 }, encoding), 0);
        }
    }

    #[test]
    fn a_range_the_wrong_way_round_is_turned() {
        let mut rope = Rope::from_str("abc");
        let range = Range {
            start: Position { line: 0, column: 2 },
            end: Position { line: 0, column: 1 },
        };
        Edit {
            range: Some(range),
            text: "X".into(),
        }
        .apply(&mut rope, Encoding::Utf16);
        assert_eq!(rope.to_string(), "aXc");
    }

    /// The same rules over a plain string, character by character.
    fn model_byte_at(text: &str, position: Position, encoding: Encoding) -> usize {
        let mut lines = Vec::new();
        let mut start = 0;
        let bytes = text.as_bytes();
        let mut i = 0;
        while i < bytes.len() {
            let width = match (bytes[i], bytes.get(i + 1)) {
                (b'\r', Some(b'\n')) => 2,
                (b'\r' | b'\n', _) => 1,
                _ => 0,
            };
            if width > 0 {
                lines.push((start, i));
                start = i + width;
            }
            i += width.max(1);
        }
        lines.push((start, text.len()));
        let Some(&(start, end)) = lines.get(position.line as usize) else {
            return text.len();
        };
        let mut left = position.column as usize;
        let mut at = start;
        for character in text[start..end].chars() {
            let width = match encoding {
                Encoding::Utf8 => character.len_utf8(),
                Encoding::Utf16 => character.len_utf16(),
                Encoding::Utf32 => 1,
            };
            if left < width {
                break;
            }
            left -= width;
            at += character.len_utf8();
        }
        at
    }

    fn text() -> impl Strategy<Value = String> {
        prop::collection::vec(
            prop::sample::select(vec![
                "a",
                "ß",
                "😀",
                "\n",
                "\r\n",
                "\r",
                "\t",
                "e\u{301}",
                "\u{2028}",
                "long words ",
            ]),
            0..40,
        )
        .prop_map(|parts| parts.concat())
    }

    fn position() -> impl Strategy<Value = Position> {
        (0u32..12, 0u32..24).prop_map(|(line, column)| Position { line, column })
    }

    proptest! {
        #[test]
        fn a_run_of_edits_equals_the_full_text(
            before in text(),
            edits in prop::collection::vec((position(), position(), text()), 0..12),
            which in 0usize..3,
        ) {
            let encoding = ALL[which];
            let mut rope = Rope::from_str(&before);
            let mut plain = before;
            for (a, b, text) in edits {
                let (start, end) = (model_byte_at(&plain, a, encoding), model_byte_at(&plain, b, encoding));
                plain.replace_range(start.min(end)..start.max(end), &text);
                Edit { range: Some(Range { start: a, end: b }), text }.apply(&mut rope, encoding);
                prop_assert_eq!(rope.to_string(), plain.clone());
            }
        }

        #[test]
        fn an_offset_survives_the_way_there_and_back(text in text(), which in 0usize..3) {
            let encoding = ALL[which];
            let rope = Rope::from_str(&text);
            let mut last = Position::default();
            for (byte, _) in text.char_indices().chain([(text.len(), ' ')]) {
                let position = position_of_byte(&rope, byte, encoding);
                prop_assert_eq!(Places::new(&text, encoding).of_byte(byte), position);
                prop_assert!(position >= last);
                last = position;
                let inside_line_end = byte > 0 && text.is_char_boundary(byte) && text[..byte].ends_with('\r')
                    && text[byte..].starts_with('\n');
                let expected = if inside_line_end { byte - 1 } else { byte };
                prop_assert_eq!(byte_at(&rope, position, encoding), expected);
            }
        }

        #[test]
        fn no_place_is_out_of_reach(text in text(), line: u32, column: u32, which in 0usize..3) {
            let rope = Rope::from_str(&text);
            let at = char_at(&rope, Position { line, column }, ALL[which]);
            prop_assert!(at <= rope.len_chars());
        }
    }
}
