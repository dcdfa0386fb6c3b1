//! The commands of shell text as they are written, with what is put into their input. This is read more loosely than
//! what may be called harmless: what is found too much here is only asked about.

use std::mem;

/// A simple command in shell text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Written {
    /// Without their quotes. What only the run can tell stands as its source.
    pub(super) words: Vec<String>,
    /// Of each of them whether only the run can tell some of it.
    pub(super) put_in: Vec<bool>,
    /// Files that are put into its input.
    pub(super) reads: Vec<String>,
    /// Text that stands in the script and is put into its input.
    pub(super) fed: Vec<String>,
    /// Whether only the run can tell some of that.
    pub(super) is_fed_unread: bool,
    /// Whether a command before it may write into its input.
    pub(super) is_piped: bool,
    /// Whether it stands in a text of which it is not known that a shell reads it.
    pub(super) is_guess: bool,
}

/// What shell text holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) commands: Vec<Written>,
    /// The texts of substitutions.
    pub(super) inner: Vec<String>,
    /// Files that are put into the input of several commands at once.
    pub(super) reads: Vec<String>,
    /// Words of the commands that write into a pipe.
    pub(super) piped: Vec<String>,
    /// Whether some of it may run more than once.
    pub(super) repeats: bool,
}

/// Words of the shell's language in front of a command.
#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "!", "{", "}", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in",
    "select", "then", "until", "while",
];
const REPEATING: &[&str] = &["for", "function", "select", "until", "while"];
/// Behind these stand words that are no command.
const LISTING: &[&str] = &["case", "for", "select"];

pub(super) fn read(text: &str) -> Text {
    let mut reader = Reader {
        rest: text,
        word: None,
        is_put_in: false,
        is_quoted: false,
        now: Written::default(),
        next: Next::Word,
        documents: Vec::new(),
        found: Text::default(),
    };
    while reader.step() {}
    reader.end_command(false);
    reader.found
}

/// What the next word is.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Next {
    #[default]
    Word,
    Reads,
    Writes,
    Fed,
    /// The end of a here-document, which may stand behind tabs.
    Document {
        tabs: bool,
    },
}

/// A here-document whose text comes with the next lines.
struct Document {
    end: String,
    tabs: bool,
    command: usize,
    /// The shell puts nothing in.
    is_quoted: bool,
}

struct Reader<'t> {
    rest: &'t str,
    word: Option<String>,
    /// Whether the word has what only the run can tell, and whether some of it stands in quotes.
    is_put_in: bool,
    is_quoted: bool,
    now: Written,
    next: Next,
    documents: Vec<Document>,
    found: Text,
}

impl<'t> Reader<'t> {
    fn push(&mut self, text: &str) {
        self.word.get_or_insert_default().push_str(text);
    }

    /// Reads on; false at the end.
    fn step(&mut self) -> bool {
        let rest = self.rest;
        let Some(c) = rest.chars().next() else {
            return false;
        };
        let after = &rest[c.len_utf8()..];
        self.rest = after;
        self.is_put_in |=
            c == '`' || matches!(c, '$' | '<') && after.starts_with('(') || c == '$' && names_value(after);
        self.is_quoted |= matches!(c, '\\' | '\'' | '"');
        match c {
            ' ' | '\t' => self.end_word(),
            '\n' => {
                self.end_command(false);
                self.read_documents();
            }
            ';' | ')' => self.end_command(false),
            '(' if after.starts_with('(') => {
                // Arithmetic, or groups within groups.
                self.end_command(false);
                let inside = self.up_to(&after[1..], after[1..].find("))"));
                self.rest = self.rest.strip_prefix(')').unwrap_or(self.rest);
                self.found.inner.push(inside.to_owned());
            }
            '(' => {
                self.found.repeats |= after.starts_with(')');
                self.end_command(false);
            }
            '|' => {
                let is_or = after.starts_with('|');
                self.rest = after.strip_prefix(['|', '&']).unwrap_or(after);
                self.end_command(!is_or);
            }
            '&' if after.starts_with('>') => {
                self.end_word();
                self.rest = after.trim_start_matches('>');
                self.next = Next::Writes;
            }
            '&' => self.end_command(false),
            '#' if self.word.is_none() => self.rest = &after[after.find('\n').unwrap_or(after.len())..],
            '\\' => {
                let escaped = after.chars().next().map_or("", |next| &after[..next.len_utf8()]);
                self.rest = &after[escaped.len()..];
                if escaped != "\n" {
                    self.push(escaped);
                }
            }
            '\'' => {
                let inside = self.up_to(after, after.find('\''));
                self.push(inside);
            }
            '"' => {
                let inside = self.up_to(after, end_of_quote(after));
                self.is_put_in |= puts_in(inside);
                self.found.inner.extend(substituted(inside));
                self.push(&unquoted(inside));
            }
            '`' => {
                let inside = self.up_to(after, after.find('`'));
                self.found.inner.push(inside.to_owned());
                self.push(&format!("`{inside}`"));
            }
            '$' | '<' | '>' if after.starts_with('(') => {
                let inside = self.up_to(&after[1..], closing(&after[1..], b'(', b')'));
                self.found.inner.push(inside.to_owned());
                self.push(&format!("{c}({inside})"));
            }
            '$' if after.starts_with('{') => {
                let inside = self.up_to(&after[1..], closing(&after[1..], b'{', b'}'));
                self.found.inner.extend(substituted(inside));
                self.push(&format!("${{{inside}}}"));
            }
            '<' => self.redirect_input(after),
            '>' => {
                self.end_descriptor();
                self.rest = after.strip_prefix(['>', '|', '&']).unwrap_or(after);
                self.next = Next::Writes;
            }
            _ => self.push(&rest[..c.len_utf8()]),
        }
        true
    }

    /// What stands before a place in this text, which is all the rest; reading goes on behind the (short) character there.
    fn up_to(&mut self, text: &'t str, end: Option<usize>) -> &'t str {
        let end = end.unwrap_or(text.len());
        self.rest = text.get(end + 1..).unwrap_or_default();
        &text[..end]
    }

    fn redirect_input(&mut self, after: &str) {
        self.end_descriptor();
        let forms = [
            ("<<", Next::Fed),
            ("<-", Next::Document { tabs: true }),
            ("<", Next::Document { tabs: false }),
            ("&", Next::Writes),
            (">", Next::Reads),
            ("", Next::Reads),
        ];
        for (form, next) in forms {
            if after.starts_with(form) {
                self.rest = &self.rest[form.len()..];
                self.next = next;
                return;
            }
        }
    }

    /// The word right before a redirection is none if it names a descriptor: `2>x`, `{log}>x`.
    fn end_descriptor(&mut self) {
        let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        let is_descriptor = |word: &str| word.starts_with('{') && word.ends_with('}') || is_number(word);
        if self.word.as_deref().is_some_and(is_descriptor) {
            self.word = None;
        }
        self.end_word();
    }

    fn end_word(&mut self) {
        let (is_put_in, is_quoted) = (mem::take(&mut self.is_put_in), mem::take(&mut self.is_quoted));
        let Some(word) = self.word.take() else { return };
        match mem::take(&mut self.next) {
            Next::Word => {
                self.now.words.push(word);
                self.now.put_in.push(is_put_in);
            }
            Next::Reads => self.now.reads.push(word),
            Next::Writes => {}
            Next::Fed => {
                self.now.fed.push(word);
                self.now.is_fed_unread |= is_put_in;
            }
            Next::Document { tabs } => self.documents.push(Document {
                end: word,
                tabs,
                command: self.found.commands.len(),
                is_quoted,
            }),
        }
    }

    fn end_command(&mut self, pipes: bool) {
        self.end_word();
        self.next = Next::Word;
        let mut done = mem::take(&mut self.now);
        let is_keyword = |word: &&String| KEYWORDS.contains(&word.as_str());
        let keywords = done.words.iter().take_while(is_keyword).count();
        done.put_in.drain(..keywords);
        for keyword in done.words.drain(..keywords) {
            self.found.repeats |= REPEATING.contains(&keyword.as_str());
            done.is_guess |= LISTING.contains(&keyword.as_str());
        }
        let at = self.found.commands.len();
        let has_document = self.documents.iter().any(|document| document.command == at);
        if done.words.is_empty() && !has_document {
            self.found.reads.append(&mut done.reads);
            return;
        }
        done.is_piped = !self.found.piped.is_empty();
        if pipes {
            self.found.piped.extend(done.words.iter().cloned());
        }
        self.found.commands.push(done);
    }

    fn read_documents(&mut self) {
        for document in mem::take(&mut self.documents) {
            let mut body = String::new();
            let mut has_end = false;
            while !has_end && !self.rest.is_empty() {
                let (line, after) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
                self.rest = after;
                let shown = match document.tabs {
                    true => line.trim_start_matches('\t'),
                    false => line,
                };
                has_end = shown == document.end;
                if !has_end {
                    body.push_str(shown);
                    body.push('\n');
                }
            }
            // Then it may be none.
            if !has_end {
                self.found.inner.push(body.clone());
            }
            self.found.inner.extend(substituted(&body));
            if let Some(command) = self.found.commands.get_mut(document.command) {
                command.is_fed_unread |= !document.is_quoted && puts_in(&body);
                command.fed.push(body);
            }
        }
    }
}

/// Whether a shell puts something into text that stands in double quotes.
fn puts_in(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find(['\\', '$', '`']) {
        let behind = &rest[at + 1..];
        rest = match rest.as_bytes()[at] {
            b'\\' => behind
                .get(behind.chars().next().map_or(0, char::len_utf8)..)
                .unwrap_or_default(),
            b'$' if !names_value(behind) => behind,
            _ => return true,
        };
    }
    false
}

/// Whether the sign in front of this text stands for a value.
fn names_value(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphanumeric() || "_{(@*#?!-$".contains(c))
}

/// Where a double quote ends; those in its substitutions are others.
fn end_of_quote(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        at += match bytes[at] {
            b'"' => return Some(at),
            b'\\' => 2,
            b'$' if bytes.get(at + 1) == Some(&b'(') => {
                let inside = &text[at + 2..];
                3 + closing(inside, b'(', b')').unwrap_or(inside.len())
            }
            _ => 1,
        };
    }
    None
}

/// Where what was opened is closed; what stands in quotes and in here-documents closes nothing.
fn closing(text: &str, open: u8, close: u8) -> Option<usize> {
    let bytes = text.as_bytes();
    // In arithmetic `<<` is no here-document.
    let has_documents = open == b'(' && !text.starts_with('(');
    let mut ends: Vec<String> = Vec::new();
    let (mut at, mut depth, mut quote) = (0, 0_usize, None);
    while at < bytes.len() {
        let byte = bytes[at];
        match (quote, byte) {
            (Some(b'\''), b'\'') => quote = None,
            (Some(b'\''), _) => {}
            (_, b'\\') => at += 1,
            (Some(_), b'"') => quote = None,
            (Some(_), _) => {}
            (None, b'\'' | b'"') => quote = Some(byte),
            (None, b'<') if text[at..].starts_with("<<<") => at += 2,
            (None, b'<') if has_documents && text[at..].starts_with("<<") => {
                let word = text[at + 2..].trim_start_matches(['-', ' ', '\t']);
                let is_end = |c: char| c.is_whitespace() || ";&|()<>".contains(c);
                let word = &word[..word.find(is_end).unwrap_or(word.len())];
                ends.push(word.replace(['\'', '"', '\\'], ""));
                at += 1;
            }
            (None, b'\n') => {
                for end in ends.drain(..) {
                    at += document(&text[at + 1..], &end).unwrap_or(0);
                }
            }
            (None, _) if byte == open => depth += 1,
            (None, _) if byte == close && depth == 0 => return Some(at),
            (None, _) if byte == close => depth -= 1,
            (None, _) => {}
        }
        at += 1;
    }
    None
}

/// How much of a text is a here-document with its last line, if that comes.
fn document(text: &str, end: &str) -> Option<usize> {
    let mut length = 0;
    text.split_inclusive('\n').find_map(|line| {
        length += line.len();
        (line.trim_start_matches('\t').trim_end_matches('\n') == end).then_some(length)
    })
}

/// The texts of substitutions in what stands in double quotes, or in a here-document.
fn substituted(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['$', '`', '\\']) {
        let after = &rest[at + 1..];
        let (inside, end) = match rest.as_bytes()[at] {
            b'`' => (after, after.find('`')),
            b'$' if after.starts_with('(') => (&after[1..], closing(&after[1..], b'(', b')')),
            b'$' => {
                rest = after;
                continue;
            }
            // What it stands before is no substitution.
            _ => {
                rest = after.strip_prefix(['$', '`', '\\']).unwrap_or(after);
                continue;
            }
        };
        let end = end.unwrap_or(inside.len());
        found.push(inside[..end].to_owned());
        rest = inside.get(end + 1..).unwrap_or_default();
    }
    found
}

/// What stands in double quotes, without what keeps its characters from being read by the shell.
fn unquoted(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match (c, characters.peek().copied()) {
            ('\\', Some('\n')) => {
                characters.next();
            }
            ('\\', Some(next)) if ['$', '`', '"', '\\'].contains(&next) => {
                plain.push(next);
                characters.next();
            }
            _ => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_by_table() {
        for (text, expected) in [
            ("a 'b c' \"d e\" f\\ g", "a|b c|d e|f g"),
            ("a; b && c || d | e & f", "a / b / c / d / e / f"),
            ("(cd x; a) # b", "cd|x / a"),
            ("if a; then b; fi", "a / b"),
            ("{ a; }", "a"),
            ("A=1 a", "A=1|a"),
            ("a 2>/dev/null b", "a|b"),
            ("a {log}>x b &>y c", "a|b|c"),
            ("a >>x 2>&1 b", "a|b"),
            ("a \"$(b c)\"", "a|$(b c)"),
            ("a <(b c) ${x:-d e}", "a|<(b c)|${x:-d e}"),
            ("a $(b \")\" c) d", "a|$(b \")\" c)|d"),
            ("a \\\nb", "a|b"),
            ("((x=1<<2))\nb", "b"),
            ("a \"$(cat <<'E'\ndon't (\nE\n)\" b", "a|$(cat <<'E'\ndon't (\nE\n)|b"),
            ("a ''", "a|"),
            ("", ""),
        ] {
            let found = read(text).commands;
            let found: Vec<String> = found.iter().map(|command| command.words.join("|")).collect();
            assert_eq!(found.join(" / "), expected, "{text}");
        }
    }

    #[test]
    fn what_is_put_into_an_input() {
        let of = |text: &str| {
            let found = read(text);
            let last = found.commands.last().cloned().unwrap_or_default();
            (last.reads, last.fed, last.is_piped)
        };
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        assert_eq!(of("a < x"), (texts(&["x"]), texts(&[]), false));
        assert_eq!(of("<x a 3<'y z'"), (texts(&["x", "y z"]), texts(&[]), false));
        assert_eq!(of("a <<< 'b c'"), (texts(&[]), texts(&["b c"]), false));
        assert_eq!(of("a <<E >y\nb don't\nE\n"), (texts(&[]), texts(&["b don't\n"]), false));
        assert_eq!(of("a <<-'E'\n\tb\n\tE\n"), (texts(&[]), texts(&["b\n"]), false));
        assert_eq!(of("b | c | a"), (texts(&[]), texts(&[]), true));
        assert_eq!(of("b || a"), (texts(&[]), texts(&[]), false));
        assert_eq!(read("b x | c | a").piped, texts(&["b", "x", "c"]));
        assert_eq!(read("{ a; b; } < x").reads, texts(&["x"]));
        assert_eq!(read("a <<E; b\nx\nE\nc").commands.len(), 3);
    }

    #[test]
    fn what_is_substituted() {
        for (text, expected) in [
            ("a $(b c) `d` <(e)", "b c/d/e"),
            ("a \"x $(b \"c\") `d`\"", "b \"c\"/d"),
            ("a '$(b)' \"\\$(c)\"", ""),
            ("a <<E\nx $(b)\nE\n", "b"),
        ] {
            assert_eq!(read(text).inner.join("/"), expected, "{text}");
        }
        for (text, expected) in [("while a; do b; done", true), ("f() { a; }", true), ("a; b", false)] {
            assert_eq!(read(text).repeats, expected, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "[-a-zä {}$'\"`|&;<>()\\\\\n\t=#*]{0,60}") {
            read(&text);
        }
    }
}
