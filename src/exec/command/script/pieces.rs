//! Shell text cut into commands without a grammar, where that cannot be relied on: wherever a command may begin, one is found.
//! Here-documents are taken out by their ends, and of them only what a shell runs is read.

use super::{Feed, Simple};
use crate::exec::command::word::{Word, decoded, expand_braces, unescaped_in_quotes};

/// How deep substitutions and quotes in them are followed. What is deeper is cut without a look at quotes.
const MAX_DEPTH: usize = 20;
/// The most here-documents whose end is looked for. The text of others is read like commands.
const MAX_HEREDOCS: usize = 200;
/// Longest first.
const REDIRECTIONS: [&str; 11] = ["<<<", "<<-", "&>>", "<<", ">>", "<>", "<&", ">&", "&>", "<", ">"];

/// The commands of a text, too many rather than too few.
pub(super) fn commands(text: &str) -> Vec<Simple> {
    let mut found = Vec::new();
    read(text, 0, &mut found);
    found
}

/// How many words in front of a command are words of the language.
pub(super) fn keywords(words: &[Word]) -> usize {
    const WORDS: [&str; 13] = [
        "!", "{", "}", "if", "then", "else", "elif", "fi", "do", "done", "while", "until", "esac",
    ];
    const OPENING: [&str; 9] = ["{", "(", "((", "[[", "while", "until", "for", "if", "case"];
    let text = |at: usize| words.get(at).map(|word| word.text.as_str());
    let mut at = 0;
    while let Some(word) = text(at) {
        match word {
            // It may have a name before what it runs.
            "coproc" => at += 1 + usize::from(text(at + 2).is_some_and(|word| OPENING.contains(&word))),
            _ if WORDS.contains(&word) => at += 1,
            _ => break,
        }
    }
    at.min(words.len())
}

/// The substitutions in text that a shell reads as if in double quotes: where they begin, and what stands in them.
pub(super) fn substitutions(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let begin = at;
        at += c.len_utf8();
        match c {
            '\\' => at += text[at..].chars().next().map_or(0, char::len_utf8),
            '`' => {
                let end = end_of_backticks(text, at).unwrap_or(text.len());
                found.push((begin, unescaped_in_backticks(&text[at..end])));
                at = text.len().min(end + 1);
            }
            '$' if text[at..].starts_with('(') => {
                let end = end_of_parentheses(text, at + 1, 0).unwrap_or(text.len());
                found.push((begin, text[at + 1..end].to_owned()));
                at = text.len().min(end + 1);
            }
            _ => {}
        }
    }
    found
}

/// In backticks a backslash means something only before a few characters.
fn unescaped_in_backticks(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    let mut chars = source.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some('`' | '\\' | '$')) => text.extend(chars.next()),
            _ => text.push(c),
        }
    }
    text
}

/// Where the backtick is that ends what begins here.
fn end_of_backticks(text: &str, from: usize) -> Option<usize> {
    let mut escaped = false;
    let mut ends = text[from..].char_indices().filter(|(_, c)| {
        let is_end = *c == '`' && !escaped;
        escaped = *c == '\\' && !escaped;
        is_end
    });
    ends.next().map(|(at, _)| from + at)
}

/// Where the double quote is that ends what begins here.
fn end_of_quotes(text: &str, from: usize, depth: usize) -> Option<usize> {
    let mut at = from;
    while let Some(c) = text[at..].chars().next() {
        match c {
            '"' => return Some(at),
            '\\' => at += 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
            '`' => at = end_of_backticks(text, at + 1)? + 1,
            '$' if text[at + 1..].starts_with('(') => at = end_of_parentheses(text, at + 2, depth)? + 1,
            _ => at += c.len_utf8(),
        }
    }
    None
}

/// Where the parenthesis is that ends what begins here.
fn end_of_parentheses(text: &str, from: usize, depth: usize) -> Option<usize> {
    if depth > MAX_DEPTH {
        return None;
    }
    let mut at = from;
    let mut open = 1usize;
    while let Some(c) = text[at..].chars().next() {
        at += c.len_utf8();
        match c {
            '\\' => at += text[at..].chars().next().map_or(0, char::len_utf8),
            '\'' => at = text[at..].find('\'').map_or(at, |end| at + end + 1),
            '"' => at = end_of_quotes(text, at, depth + 1)? + 1,
            '(' => open += 1,
            ')' => {
                open -= 1;
                if open == 0 {
                    return Some(at - 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// Reads a text; what stands in its substitutions is found before it.
fn read(text: &str, depth: usize, found: &mut Vec<Simple>) {
    if depth > MAX_DEPTH {
        let pieces = text.split([';', '&', '|', '\n', '(', ')', '`', '"', '\'']);
        found.extend(pieces.map(|piece| simple(piece.split_whitespace().map(Word::literal).collect())));
        return;
    }
    let mut reader = Reader {
        text,
        at: 0,
        depth,
        found,
        simple: simple(Vec::new()),
        word: Draft::default(),
        awaited: Awaited::Word,
        heredocs: Vec::new(),
        ended: 0,
        piped: None,
        in_backticks: false,
        // There `<<` may be no here-document.
        has_numbers: text.contains("((") || text.contains("$["),
    };
    reader.commands();
}

fn simple(words: Vec<Word>) -> Simple {
    Simple {
        words,
        spans: Vec::new(),
        feed: Feed::Nothing,
        writes: Vec::new(),
        substituted: Vec::new(),
        is_untold: false,
    }
}

/// A word in the making.
#[derive(Default)]
struct Draft {
    text: String,
    begun: Option<usize>,
    /// Something is put in when it runs.
    put_in: bool,
    quoted: bool,
    brace: bool,
}

/// What the next word is.
#[derive(Clone, Copy)]
enum Awaited {
    Word,
    Target { written: bool },
    Input,
    End { indented: bool },
}

/// A here-document whose text begins on the next line.
struct Heredoc {
    /// The place of its command, once that has ended.
    command: Option<usize>,
    end: String,
    is_literal: bool,
    is_indented: bool,
}

struct Reader<'t, 'f> {
    text: &'t str,
    at: usize,
    depth: usize,
    found: &'f mut Vec<Simple>,
    simple: Simple,
    word: Draft,
    awaited: Awaited,
    heredocs: Vec<Heredoc>,
    /// So many here-documents have been looked for.
    ended: usize,
    /// The command whose output goes into this one.
    piped: Option<usize>,
    in_backticks: bool,
    has_numbers: bool,
}

impl Reader<'_, '_> {
    fn commands(&mut self) {
        while let Some(c) = self.rest().chars().next() {
            let rest = self.rest();
            let begun = self.at;
            let is_redirection = matches!(c, '<' | '>') && !rest[1..].starts_with('(') || rest.starts_with("&>");
            if is_redirection {
                self.redirection();
                continue;
            }
            self.at += c.len_utf8();
            match c {
                '\\' => {
                    if let Some(next) = self.rest().chars().next() {
                        self.at += next.len_utf8();
                        if next != '\n' {
                            self.put(begun, next);
                            self.word.quoted = true;
                        }
                    }
                }
                '\'' => match self.rest().find('\'') {
                    Some(length) => {
                        let inner = self.rest()[..length].to_owned();
                        self.at += length + 1;
                        self.quoted(begun, &inner);
                    }
                    None => self.put(begun, c),
                },
                '"' => match end_of_quotes(self.text, self.at, self.depth) {
                    Some(end) => {
                        let inner = self.text[self.at..end].to_owned();
                        self.at = end + 1;
                        self.word.put_in |= inner.contains(['$', '`']);
                        self.within(&inner);
                        self.quoted(begun, &unescaped_in_quotes(&inner));
                    }
                    None => self.put(begun, c),
                },
                '$' if self.rest().starts_with('\'') => match end_of_escapes(self.text, self.at + 1) {
                    Some(end) => {
                        // As the end of a here-document it is not the same everywhere.
                        self.word.put_in |= matches!(self.awaited, Awaited::End { .. });
                        let inner = decoded(&self.text[self.at + 1..end]);
                        self.at = end + 1;
                        self.quoted(begun, &inner);
                    }
                    None => self.put(begun, c),
                },
                '`' => {
                    if !self.in_backticks {
                        self.word.put_in = true;
                        self.put(begun, '$');
                    }
                    self.in_backticks = !self.in_backticks;
                    self.end_of_command(false);
                }
                '#' if self.word.begun.is_none() => {
                    self.at += self.rest().find('\n').unwrap_or(self.rest().len());
                }
                '\n' => {
                    self.end_of_command(false);
                    self.bodies();
                }
                // What a substitution of a process gives is a word.
                '<' | '>' => {
                    self.end_of_word();
                    self.word.put_in = true;
                    self.put(begun, '$');
                }
                ';' | '&' | '(' | ')' => self.end_of_command(false),
                '|' => {
                    // `a || b` is none; in `a |& b` both outputs are.
                    let is_pipe = !self.rest().starts_with('|');
                    self.at += usize::from(self.rest().starts_with(['|', '&']));
                    self.end_of_command(is_pipe);
                }
                _ if c.is_whitespace() => self.end_of_word(),
                _ => {
                    self.word.put_in |= c == '$';
                    self.word.brace |= c == '{';
                    self.put(begun, c);
                }
            }
        }
        self.end_of_command(false);
        self.bodies();
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn put(&mut self, begun: usize, c: char) {
        self.word.begun.get_or_insert(begun);
        self.word.text.push(c);
    }

    fn quoted(&mut self, begun: usize, text: &str) {
        self.word.begun.get_or_insert(begun);
        self.word.quoted = true;
        self.word.text.push_str(text);
    }

    /// Reads what a shell runs of text in double quotes or a here-document.
    fn within(&mut self, text: &str) {
        for (_, inner) in substitutions(text) {
            read(&inner, self.depth + 1, self.found);
        }
    }

    fn redirection(&mut self) {
        // A number or a name in braces in front is no word of the command.
        let front = self.word.text.as_str();
        let is_descriptor = front.starts_with('{') && front.ends_with('}') || front.chars().all(|c| c.is_ascii_digit());
        if is_descriptor && !self.word.quoted {
            self.word = Draft::default();
        }
        self.end_of_word();
        let Some(operator) = REDIRECTIONS.into_iter().find(|one| self.rest().starts_with(one)) else {
            return;
        };
        self.at += operator.len();
        self.awaited = match operator {
            "<<" | "<<-" => Awaited::End {
                indented: operator == "<<-",
            },
            "<<<" => Awaited::Input,
            _ => Awaited::Target {
                written: operator.contains('>'),
            },
        };
        if operator.ends_with('&') && self.rest().starts_with('-') {
            self.at += 1;
            self.awaited = Awaited::Word;
        }
        // `>|` writes, too.
        if operator == ">" && self.rest().starts_with('|') {
            self.at += 1;
        }
    }

    fn end_of_word(&mut self) {
        let draft = std::mem::take(&mut self.word);
        let Some(begun) = draft.begun else { return };
        let source = self.text[begun..self.at].trim_end();
        let words = match (draft.put_in, draft.brace && !draft.quoted) {
            // What stood before a cut is all that there is of it.
            (true, _) if draft.text == "$" => vec![Word::unknown("$")],
            (true, _) => vec![Word::unknown(source.trim_end_matches([';', '&', '|', ')']))],
            (false, true) => {
                let expanded = expand_braces(&draft.text, 0);
                expanded.iter().map(|text| Word::literal(text)).collect()
            }
            (false, false) => vec![Word::literal(&draft.text)],
        };
        match std::mem::replace(&mut self.awaited, Awaited::Word) {
            Awaited::Word => self.simple.words.extend(words),
            Awaited::Target { written: true } => self.simple.writes.extend(words),
            Awaited::Target { written: false } => {}
            Awaited::Input => self.simple.feed = Feed::Text(draft.text),
            Awaited::End { indented } => {
                self.ended += 1;
                if !draft.put_in && self.ended <= MAX_HEREDOCS {
                    self.heredocs.push(Heredoc {
                        command: None,
                        end: draft.text,
                        is_literal: draft.quoted,
                        is_indented: indented,
                    });
                }
            }
        }
    }

    fn end_of_command(&mut self, is_pipe: bool) {
        self.end_of_word();
        self.awaited = Awaited::Word;
        let mut done = std::mem::replace(&mut self.simple, simple(Vec::new()));
        let sets = |text: &str| {
            let name = text.split_once('=').map_or("", |(name, _)| name);
            name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && name.chars().all(|c| c.is_ascii_alphanumeric() || "_+[]".contains(c))
        };
        let front = keywords(&done.words);
        let assigned = done.words[front..].iter().take_while(|word| sets(&word.text));
        let set = assigned.count();
        done.words.drain(..front + set);
        let at = self.found.len();
        let mut has_heredoc = false;
        for heredoc in self.heredocs.iter_mut().filter(|heredoc| heredoc.command.is_none()) {
            heredoc.command = Some(at);
            has_heredoc = true;
        }
        let is_empty = done.words.is_empty() && done.writes.is_empty() && done.feed == Feed::Nothing && !has_heredoc;
        if is_empty {
            // `(a) | b`
            self.piped = (is_pipe && at > 0).then(|| at - 1);
            return;
        }
        if let (Feed::Nothing, Some(from)) = (&done.feed, self.piped) {
            done.feed = Feed::Pipe(vec![from]);
        }
        self.piped = is_pipe.then_some(at);
        self.found.push(done);
    }

    /// The text of here-documents, at the beginning of a line.
    fn bodies(&mut self) {
        for heredoc in std::mem::take(&mut self.heredocs) {
            let Some((length, after)) = length_of(self.rest(), &heredoc) else {
                continue;
            };
            let body = self.rest()[..length].to_owned();
            self.at += after;
            if !heredoc.is_literal {
                self.within(&body);
            }
            if self.has_numbers {
                read(&body, self.depth + 1, self.found);
            }
            if let Some(command) = heredoc.command.and_then(|at| self.found.get_mut(at)) {
                command.is_untold |= !heredoc.is_literal && !substitutions(&body).is_empty();
                command.feed = Feed::Text(body);
            }
        }
    }
}

/// How long the text of a here-document is, and where the line after its end begins; none if it has no end.
fn length_of(text: &str, heredoc: &Heredoc) -> Option<(usize, usize)> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.strip_suffix('\n').unwrap_or(line);
        let bare = match heredoc.is_indented {
            true => bare.trim_start_matches('\t'),
            false => bare,
        };
        if bare == heredoc.end {
            return Some((at, at + line.len()));
        }
        at += line.len();
    }
    None
}

/// Where the quote is that ends `$'...'`.
fn end_of_escapes(text: &str, from: usize) -> Option<usize> {
    let mut escaped = false;
    let mut ends = text[from..].char_indices().filter(|(_, c)| {
        let is_end = *c == '\'' && !escaped;
        escaped = *c == '\\' && !escaped;
        is_end
    });
    ends.next().map(|(at, _)| from + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_by_table() {
        for (text, expected) in [
            (
                "a; b | c && d & e",
                vec![vec!["a"], vec!["b"], vec!["c"], vec!["d"], vec!["e"]],
            ),
            ("x=1 a <b >c d 2>&1", vec![vec!["a", "d"]]),
            ("a <&- b >&- c", vec![vec!["a", "b", "c"]]),
            ("{fd}>x a 3<<<b c", vec![vec!["a", "c"]]),
            ("a 'b;c' d\\;e", vec![vec!["a", "b;c", "d;e"]]),
            ("a $'\\x62'", vec![vec!["a", "b"]]),
            ("don't a; b", vec![vec!["don't", "a"], vec!["b"]]),
            ("a # b; c\nd", vec![vec!["a"], vec!["d"]]),
            ("if a; then b; fi", vec![vec!["a"], vec!["b"]]),
            ("f() { a; }", vec![vec!["f"], vec!["a"]]),
            ("coproc X { a b; }", vec![vec!["a", "b"]]),
            ("a $(b c)", vec![vec!["a", "$"], vec!["b", "c"]]),
            ("a `b c`", vec![vec!["a", "$"], vec!["b", "c"]]),
            ("a{b,c}", vec![vec!["ab", "ac"]]),
            ("cat <<E; a\nb; c\nE\nd", vec![vec!["cat"], vec!["a"], vec!["d"]]),
            ("cat <<-E a\nb\n\tE\nd", vec![vec!["cat", "a"], vec!["d"]]),
            ("cat <<E''\n`a`\nE\nd", vec![vec!["cat"], vec!["d"]]),
            ("cat <<E\n`a b` \\`c\\`\nE", vec![vec!["cat"], vec!["a", "b"]]),
            ("cat <<E\na\nF", vec![vec!["cat"], vec!["a"], vec!["F"]]),
            ("((x<<2))\na\n2", vec![vec!["x"], vec!["a"]]),
            (
                "a \"$(b \")\" c)\" d",
                vec![vec!["b", ")", "c"], vec!["a", "\"$(b \")\" c)\"", "d"]],
            ),
        ] {
            let found: Vec<Vec<String>> = commands(text)
                .into_iter()
                .map(|simple| simple.words.into_iter().map(|word| word.text).collect())
                .collect();
            assert_eq!(found, expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_fed_by_table() {
        for (text, at, expected) in [
            ("a | b", 1, Feed::Pipe(vec![0])),
            ("(a) | b", 1, Feed::Pipe(vec![0])),
            ("a || b", 1, Feed::Nothing),
            ("a |& b", 1, Feed::Pipe(vec![0])),
            ("a <<< 'b c'", 0, Feed::Text("b c".to_owned())),
            ("a <<E; b\nc\nE", 0, Feed::Text("c\n".to_owned())),
            ("a <<E \"$(b)\"\nc\nE", 1, Feed::Text("c\n".to_owned())),
            ("a <<E\nc\nF", 0, Feed::Nothing),
        ] {
            assert_eq!(commands(text)[at].feed, expected, "{text:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_cut_without_panic(text in "[-a-zäE {}$'\"`|&;<>()\\\\\n\t=*#]{0,60}") {
            commands(&text);
            substitutions(&text);
        }
    }
}
