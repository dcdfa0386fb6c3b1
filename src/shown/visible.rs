//! Which characters hide, and what is shown in their place. Text may come in pieces; how it is cut changes nothing.

use icu_properties::props::{
    BidiControl, CanonicalCombiningClass, DefaultIgnorableCodePoint, Emoji, EmojiModifier, ExtendedPictographic,
    GeneralCategory, JoiningType, Script, UnifiedIdeograph,
};
use icu_properties::script::{ScriptExtensionsSet, ScriptWithExtensions};
use icu_properties::{CodePointMapData, CodePointSetData};
use std::fmt::Write as _;

const NON_JOINER: char = '\u{200c}';
const JOINER: char = '\u{200d}';
const TEXT_STYLE: char = '\u{fe0e}';
const EMOJI_STYLE: char = '\u{fe0f}';
const KEYCAP: char = '\u{20e3}';
const BLACK_FLAG: char = '\u{1f3f4}';
const TAG_END: char = '\u{e007f}';
/// The regions that have a flag of tag characters; all others are hidden text behind a flag.
const FLAGS: [&str; 3] = ["gbeng", "gbsct", "gbwls"];

/// Marks on one letter. Scripts that stack them need more than an alphabet with accents does.
const MOST_MARKS: usize = 3;
const MOST_MARKS_OF_STACKS: usize = 8;
/// Blanks in a row before they are counted: where lines are kept, and where what is decided on stands.
const MOST_BLANKS_IN_PROSE: usize = 80;
const MOST_BLANKS: usize = 3;
/// Line ends in a row.
const MOST_LINE_ENDS: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Lines stay.
    Prose,
    /// One line.
    Line,
    /// One line in which no two texts look the same.
    Exact,
    /// A part of something that is put together elsewhere: blanks stay.
    Word,
}

/// Makes text visible.
#[derive(Clone, Debug)]
pub struct Visible {
    form: Form,
    /// The last letter or sign that is no mark; nothing at the beginning of a line.
    base: Option<char>,
    /// The last character that stayed as it is.
    last: Option<char>,
    /// Marks since the base.
    marks: usize,
    /// What is known only by what follows: a joiner, a style of a digit, the tags of a flag.
    held: String,
    blanks: usize,
    line_ends: usize,
    returned: bool,
}

fn category(c: char) -> GeneralCategory {
    CodePointMapData::<GeneralCategory>::new().get(c)
}

fn is_pictograph(c: char) -> bool {
    CodePointSetData::new::<ExtendedPictographic>().contains(c)
}

/// Whether a character is put on the one before it.
pub fn is_mark(c: char) -> bool {
    matches!(
        category(c),
        GeneralCategory::NonspacingMark | GeneralCategory::EnclosingMark | GeneralCategory::SpacingMark
    )
}

/// Whether a character shows as nothing, or changes how others show, wherever it stands: by its properties. What only some
/// neighbors make visible counts as hidden.
pub fn is_hidden(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    if CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c)
        || CodePointSetData::new::<BidiControl>().contains(c)
    {
        return true;
    }
    match category(c) {
        GeneralCategory::Control
        | GeneralCategory::PrivateUse
        | GeneralCategory::Surrogate
        | GeneralCategory::LineSeparator
        | GeneralCategory::ParagraphSeparator => true,
        // Signs that enclose numbers show; they are the only ones of their kind that do.
        GeneralCategory::Format => !is_number_sign(c),
        // Emoji to come have their places already.
        GeneralCategory::Unassigned => !is_pictograph(c),
        // The braille pattern without dots, the note without a head, the place of an object and the blanks of hieroglyphs:
        // signs and letters by their properties, and blank.
        GeneralCategory::OtherSymbol | GeneralCategory::OtherLetter => {
            matches!(c, '\u{2800}' | '\u{1d159}' | '\u{fffc}' | '\u{13441}' | '\u{13442}')
        }
        _ => false,
    }
}

fn is_number_sign(c: char) -> bool {
    matches!(
        c,
        '\u{600}'..='\u{605}' | '\u{6dd}' | '\u{890}' | '\u{891}' | '\u{8e2}' | '\u{110bd}' | '\u{110cd}'
    )
}

/// Whether the script of a letter joins its letters, so that a joiner between two of them shows.
fn joins(c: char) -> bool {
    matches!(
        CodePointMapData::<JoiningType>::new().get(c),
        JoiningType::DualJoining | JoiningType::RightJoining | JoiningType::LeftJoining
    )
}

fn is_virama(c: char) -> bool {
    CodePointMapData::<CanonicalCombiningClass>::new().get(c) == CanonicalCombiningClass::Virama
}

fn is_ideograph(c: char) -> bool {
    CodePointSetData::new::<UnifiedIdeograph>().contains(c)
}

fn is_mongolian(c: char) -> bool {
    CodePointMapData::<Script>::new().get(c) == Script::Mongolian
}

fn is_tag(c: char) -> bool {
    ('\u{e0020}'..=TAG_END).contains(&c)
}

/// Whether the script of a letter puts several signs on one.
fn stacks(base: char) -> bool {
    !matches!(
        CodePointMapData::<Script>::new().get(base),
        Script::Latin | Script::Greek | Script::Cyrillic | Script::Common | Script::Inherited
    )
}

/// Whether a mark is of one script, and not for letters of any.
fn is_of_a_script(mark: char) -> bool {
    !matches!(
        CodePointMapData::<Script>::new().get(mark),
        Script::Inherited | Script::Common
    )
}

/// Whether a mark may stand on a base: few fonts show one of another script.
fn belongs(mark: char, base: char) -> bool {
    !is_of_a_script(mark) || scripts(mark).iter().any(|script| scripts(base).contains(&script))
}

pub(super) fn scripts(c: char) -> ScriptExtensionsSet<'static> {
    ScriptWithExtensions::new().get_script_extensions_val(c)
}

/// What the functions here know of a character, for the plugins' tables: the numbers of its [`TRAITS`], as bits.
#[cfg(test)]
pub(super) fn traits(c: char) -> u16 {
    if is_hidden(c) {
        return 1;
    }
    let is_mark = is_mark(c);
    let is_base = !is_mark;
    let has = [
        false,
        c != ' ' && category(c) == GeneralCategory::SpaceSeparator,
        is_mark,
        is_mark && is_of_a_script(c),
        is_pictograph(c),
        !c.is_ascii() && CodePointSetData::new::<Emoji>().contains(c),
        CodePointSetData::new::<EmojiModifier>().contains(c),
        joins(c),
        is_virama(c),
        is_base && stacks(c),
        is_base && stacks(c) && c.is_alphabetic(),
        is_ideograph(c),
        is_mongolian(c),
    ];
    has.iter().rev().fold(0, |bits, one| bits << 1 | u16::from(*one))
}

#[cfg(test)]
pub(super) const TRAITS: [&str; 13] = [
    "hides",
    "blank",
    "mark",
    "scripted",
    "picture",
    "emoji",
    "skin",
    "joins",
    "virama",
    "stacks",
    "letter",
    "ideograph",
    "mongolian",
];

fn most_marks(base: char) -> usize {
    if stacks(base) { MOST_MARKS_OF_STACKS } else { MOST_MARKS }
}

/// Writes a character by its number.
fn escape(c: char, shown: &mut String) {
    // Writing to a text cannot fail.
    let _ = write!(shown, "<U+{:04X}>", u32::from(c));
}

impl Visible {
    fn new(form: Form) -> Self {
        Self {
            form,
            base: None,
            last: None,
            marks: 0,
            held: String::new(),
            blanks: 0,
            line_ends: 0,
            returned: false,
        }
    }

    /// See [`super::prose`].
    pub fn prose() -> Self {
        Self::new(Form::Prose)
    }

    pub(super) fn line() -> Self {
        Self::new(Form::Line)
    }

    pub(super) fn exact() -> Self {
        Self::new(Form::Exact)
    }

    pub(super) fn word() -> Self {
        Self::new(Form::Word)
    }

    /// The next piece. What depends on what follows comes with it.
    pub fn push(&mut self, piece: &str) -> String {
        let mut shown = String::with_capacity(piece.len());
        for c in piece.chars() {
            self.one(c, &mut shown);
        }
        shown
    }

    /// What is still held back, at the end.
    pub fn finish(&mut self) -> String {
        let mut shown = String::new();
        self.release(&mut shown);
        if self.form == Form::Exact {
            self.write_blanks(true, &mut shown);
        }
        *self = Self::new(self.form);
        shown
    }

    fn one(&mut self, c: char, shown: &mut String) {
        if std::mem::take(&mut self.returned) && c == '\n' {
            return;
        }
        if !self.held.is_empty() && self.settle(c, shown) {
            return;
        }
        // What most text is made of is what it seems to be, and needs no tables.
        if c.is_ascii_graphic() {
            self.write_blanks(false, shown);
            self.line_ends = 0;
            return self.put(c, shown);
        }
        if self.form == Form::Prose && matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
        {
            self.returned = c == '\r';
            return self.end_line(shown);
        }
        if self.is_blank(c) {
            return self.blank(c, shown);
        }
        self.write_blanks(false, shown);
        self.line_ends = 0;
        if is_mark(c) && !is_hidden(c) {
            return self.mark(c, shown);
        }
        if is_hidden(c) {
            return self.hidden(c, shown);
        }
        if c != ' ' && category(c) == GeneralCategory::SpaceSeparator {
            return self.show(c, shown);
        }
        // A skin belongs to what it is put on.
        if CodePointSetData::new::<EmojiModifier>().contains(c) && self.base.is_some() {
            shown.push(c);
            self.last = Some(c);
            return;
        }
        self.put(c, shown);
    }

    /// What marks may follow.
    fn put(&mut self, c: char, shown: &mut String) {
        shown.push(c);
        (self.base, self.last, self.marks) = (Some(c), Some(c), 0);
    }

    fn end_line(&mut self, shown: &mut String) {
        // Blanks at the end of a line that were only counted push nothing away.
        self.blanks = 0;
        (self.base, self.last, self.marks) = (None, None, 0);
        self.line_ends += 1;
        if self.line_ends <= MOST_LINE_ENDS {
            shown.push('\n');
        }
    }

    fn is_blank(&self, c: char) -> bool {
        match self.form {
            Form::Prose => matches!(c, '\t' | ' ') || category(c) == GeneralCategory::SpaceSeparator,
            Form::Line => c.is_whitespace(),
            Form::Exact => c == ' ',
            Form::Word => false,
        }
    }

    fn blank(&mut self, c: char, shown: &mut String) {
        self.blanks += 1;
        if self.form == Form::Prose && self.blanks <= MOST_BLANKS_IN_PROSE {
            shown.push(c);
        }
        (self.base, self.last, self.marks) = (Some(' '), Some(c), 0);
        self.line_ends = 0;
    }

    /// Blanks that were only counted.
    fn write_blanks(&mut self, at_end: bool, shown: &mut String) {
        let count = std::mem::take(&mut self.blanks);
        let at_edge = at_end || shown.is_empty() && self.is_at_start();
        let counted = match self.form {
            Form::Prose => count.saturating_sub(MOST_BLANKS_IN_PROSE),
            Form::Exact if count > MOST_BLANKS || at_edge => count,
            Form::Exact => return shown.extend(std::iter::repeat_n(' ', count)),
            Form::Line if count > 0 && !at_edge => return shown.push(' '),
            Form::Line | Form::Word => 0,
        };
        let _ = match counted {
            0 => Ok(()),
            1 => write!(shown, "<1 blank>"),
            count => write!(shown, "<{count} blanks>"),
        };
    }

    /// Texts of one line come whole, so nothing shown is nothing before.
    fn is_at_start(&self) -> bool {
        self.form != Form::Prose
    }

    fn mark(&mut self, c: char, shown: &mut String) {
        match self.base {
            Some(base) if self.marks < most_marks(base) && belongs(c, base) => {
                shown.push(c);
                self.marks += 1;
                self.last = Some(c);
            }
            _ => escape(c, shown),
        }
    }

    fn hidden(&mut self, c: char, shown: &mut String) {
        match (c, self.last) {
            (JOINER | NON_JOINER, Some(_)) => self.held.push(c),
            (EMOJI_STYLE, Some('0'..='9' | '#' | '*')) => self.held.push(c),
            (EMOJI_STYLE | TEXT_STYLE, Some(last))
                if !last.is_ascii() && CodePointSetData::new::<Emoji>().contains(last) =>
            {
                self.keep(c, shown);
            }
            ('\u{fe00}'..='\u{fe02}' | '\u{e0100}'..='\u{e01ef}', Some(last)) if is_ideograph(last) => {
                self.keep(c, shown);
            }
            ('\u{180b}'..='\u{180f}', Some(last)) if is_mongolian(last) && !is_hidden(last) => self.keep(c, shown),
            (c, Some(BLACK_FLAG)) if is_tag(c) => self.held.push(c),
            _ => self.show(c, shown),
        }
    }

    fn keep(&mut self, c: char, shown: &mut String) {
        shown.push(c);
        self.last = Some(c);
    }

    /// What is shown by its number has an end that takes no marks.
    fn show(&mut self, c: char, shown: &mut String) {
        escape(c, shown);
        (self.base, self.last, self.marks) = (Some('>'), Some('>'), 0);
    }

    fn release(&mut self, shown: &mut String) {
        let held = std::mem::take(&mut self.held);
        held.chars().for_each(|c| self.show(c, shown));
    }

    /// Decides on what is held, now that what follows is there. Says whether that was taken, too.
    fn settle(&mut self, next: char, shown: &mut String) -> bool {
        let first = self.held.chars().next().unwrap_or_default();
        let stays = match first {
            JOINER | NON_JOINER => self.joins(first, next),
            EMOJI_STYLE => next == KEYCAP,
            _ if is_tag(next) => {
                self.held.push(next);
                let region = |c: char| char::from_u32(u32::from(c).saturating_sub(0xe0000)).unwrap_or_default();
                if next == TAG_END {
                    let text: String = self.held.chars().map(region).collect();
                    match FLAGS.contains(&text.trim_end_matches('\u{7f}')) {
                        true => shown.push_str(&std::mem::take(&mut self.held)),
                        false => self.release(shown),
                    }
                }
                return true;
            }
            _ => false,
        };
        if stays {
            shown.push(first);
            self.held.clear();
            self.last = Some(first);
        } else {
            self.release(shown);
        }
        false
    }

    /// Whether a joiner is one: between two pictures, between letters that join, beside the sign that joins letters of the
    /// scripts of India.
    fn joins(&self, joiner: char, next: char) -> bool {
        let (Some(base), Some(last)) = (self.base, self.last) else {
            return false;
        };
        let is_emoji = joiner == JOINER && is_pictograph(base) && is_pictograph(next);
        let is_conjunct = stacks(base) && base.is_alphabetic() && (is_virama(last) || is_virama(next));
        is_emoji || is_conjunct || (joins(base) && joins(next))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{exact, line, prose, value};
    use super::*;
    use proptest::prelude::*;

    const HIDDEN: &str = "\u{ad}\u{34f}\u{61c}\u{115f}\u{1160}\u{17b4}\u{180e}\u{200b}\u{200c}\u{200d}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\
        \u{202e}\u{2060}\u{2061}\u{2064}\u{2065}\u{2066}\u{2069}\u{206f}\u{2800}\u{3164}\u{fe00}\u{fe0f}\u{feff}\u{ffa0}\u{fff9}\u{fffb}\u{fff0}\
        \u{1bca0}\u{1d159}\u{1d173}\u{e000}\u{e0001}\u{e0020}\u{e0041}\u{e007f}\u{e0100}\u{e01ef}\u{f0000}\u{10fffd}\u{378}\0\u{7}\u{8}\u{1b}\u{7f}\
        \u{80}\u{9b}";

    #[test]
    fn what_does_not_show_is_shown_by_its_number() {
        for c in HIDDEN.chars() {
            assert!(is_hidden(c), "{c:?}");
            let number = format!("<U+{:04X}>", u32::from(c));
            let text = format!("rm a{c}b");
            assert_eq!(exact(&text), format!("rm a{number}b"), "{c:?}");
            if !c.is_whitespace() {
                assert_eq!(line(&text), format!("rm a{number}b"), "{c:?}");
                assert_eq!(prose(&text), format!("rm a{number}b"), "{c:?}");
            }
        }
    }

    #[test]
    fn what_people_write_stays_as_it_is() {
        for text in [
            "plain text, with punctuation! `code` <b> & 100 %",
            "größe café naïve Ångström e\u{301} Việt Nam ǖ",
            "👩\u{200d}👩\u{200d}👧\u{200d}👦 🏳\u{fe0f}\u{200d}🌈 👩🏽\u{200d}🔬 👁\u{fe0f}\u{200d}🗨\u{fe0f} ❤\u{fe0f} ☺\u{fe0e}",
            "1\u{fe0f}\u{20e3} #\u{fe0f}\u{20e3} 🇩🇪 🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f} ©\u{fe0f}",
            "السلام عليكم مَرْحَبًا می\u{200c}خواهم خانه\u{200c}ها",
            "שָׁלוֹם בְּרֵאשִׁ֖ית",
            "नमस्ते क्\u{200d}ष र्\u{200d}य শ্র র\u{200d}্য ශ්\u{200d}රී മലയാളം ന്\u{200d} ക",
            "สวัสดี น้ำ ที่ ກຳ",
            "안녕하세요 한글 각 日本語 葛\u{e0100} 中文，标点。",
            "ကြွှောင့် བསྒྲུབས ខ្មែរ",
            "\u{600}12 ᠮᠣᠩᠭᠣᠯ",
        ] {
            assert_eq!(line(text), text);
            assert_eq!(prose(text), text);
            assert_eq!(exact(text), text);
        }
    }

    #[test]
    fn neighbors_that_make_nothing_visible_excuse_nothing() {
        for (text, expected) in [
            ("a\u{200d}b", "a<U+200D>b"),
            ("می\u{200c}\u{200c}خ", "می<U+200C><U+200C>خ"),
            ("สวัส\u{200c}ดี", "สวัส<U+200C>ดี"),
            ("한\u{200d}글", "한<U+200D>글"),
            ("👩\u{200d}x", "👩<U+200D>x"),
            ("👩\u{200d}", "👩<U+200D>"),
            ("😀\u{fe0f}\u{fe0f}", "😀\u{fe0f}<U+FE0F>"),
            ("😀\u{e0100}\u{e0101}", "😀<U+E0100><U+E0101>"),
            ("1\u{fe0f}2", "1<U+FE0F>2"),
            ("葛\u{e0100}\u{e0101}", "葛\u{e0100}<U+E0101>"),
            ("🏴\u{e0072}\u{e006d}\u{e007f}", "🏴<U+E0072><U+E006D><U+E007F>"),
            ("🏴\u{e0072}x", "🏴<U+E0072>x"),
            (
                "e\u{301}\u{301}\u{301}\u{301}\u{301}x",
                "e\u{301}\u{301}\u{301}<U+0301><U+0301>x",
            ),
            ("\u{301}x", "<U+0301>x"),
            ("\u{200d}\u{301}x", "<U+200D>\u{301}x"),
        ] {
            assert_eq!(exact(text), expected, "{text:?}");
        }
    }

    #[test]
    fn blanks_and_line_ends_by_form() {
        let long = " ".repeat(300);
        for (text, in_prose, in_line, in_exact) in [
            ("a\tb", "a\tb", "a b", "a<U+0009>b"),
            (
                "a\r\nb\rc\nd",
                "a\nb\nc\nd",
                "a b c d",
                "a<U+000D><U+000A>b<U+000D>c<U+000A>d",
            ),
            ("a\u{a0}b\u{3000}c", "a\u{a0}b\u{3000}c", "a b c", "a<U+00A0>b<U+3000>c"),
            (" a  b ", " a  b ", "a b", "<1 blank>a  b<1 blank>"),
            (
                "a\u{2028}## b\u{85}c",
                "a\n## b\nc",
                "a ## b c",
                "a<U+2028>## b<U+0085>c",
            ),
            (
                &format!("a{long}b"),
                &format!("a{}<220 blanks>b", &long[..80]),
                "a b",
                "a<300 blanks>b",
            ),
            (
                &format!("a{long}\nb"),
                &format!("a{}\nb", &long[..80]),
                "a b",
                "a<300 blanks><U+000A>b",
            ),
        ] {
            assert_eq!(prose(text), in_prose, "{text:?}");
            assert_eq!(line(text), in_line, "{text:?}");
            assert_eq!(exact(text), in_exact, "{text:?}");
        }
        assert_eq!(
            prose(&format!("a{}b", "\n".repeat(500))),
            format!("a{}b", "\n".repeat(20))
        );
    }

    #[test]
    fn values_keep_their_shape() {
        let given = serde_json::json!({"a\u{202e}": ["x\u{200b}\ny", 1, null], "b": {"c": "  d"}});
        let shown = serde_json::json!({"a<U+202E>": ["x<U+200B>\ny", 1, null], "b": {"c": "  d"}});
        assert_eq!(value(&given), shown);
    }

    proptest! {
        #[test]
        fn how_it_is_cut_changes_nothing_and_nothing_hides(
            text in "([a-c \n\r\t]|\u{200d}|\u{200c}|\u{fe0f}|\u{20e3}|👩|🏴|\u{e0067}|\u{e007f}|م|ی|क|\u{94d}|\u{301}|1|\\PC|.){0,40}",
            cut in 0..40usize,
        ) {
            let at = text.char_indices().nth(cut).map_or(text.len(), |(at, _)| at);
            let mut visible = Visible::prose();
            let pieces = visible.push(&text[..at]) + &visible.push(&text[at..]) + &visible.finish();
            let whole = prose(&text);
            prop_assert_eq!(&pieces, &whole);
            for c in exact(&text).chars() {
                prop_assert!(!is_hidden(c) || matches!(c, NON_JOINER | JOINER | TEXT_STYLE | EMOJI_STYLE | '\u{180b}'..='\u{180f}' | '\u{fe00}'..='\u{fe02}') || u32::from(c) >= 0xe0000, "{c:?}");
            }
        }
    }
}
