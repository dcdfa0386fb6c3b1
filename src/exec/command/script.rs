//! Shell text, read with the grammar of bash: its simple commands with their words unquoted, what is fed to them and
//! where they write.

use std::borrow::Cow;
use std::collections::HashMap;
use tree_sitter::{Node, Parser, Tree};

/// Longest text that is read, in bytes. Longer text counts as not understood.
const MAX_TEXT: usize = 256 * 1024;

/// One word of a command, unquoted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub text: String,
    /// False if the shell puts something in at run time; `text` is then the source.
    pub known: bool,
    /// Begins with an unquoted `*`, `?` or `[`: what it becomes may look like an option.
    pub glob: bool,
}

impl Word {
    pub(super) fn literal(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            known: true,
            glob: false,
        }
    }

    fn unknown(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            known: false,
            glob: false,
        }
    }
}

/// What comes in through a command's standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Feed {
    /// Whatever the keyboard or the caller gives.
    Nothing,
    /// A text that stands in the script.
    Text(String),
    /// The output of the commands before it in the pipe: their places in the list.
    Pipe(Vec<usize>),
}

/// A simple command, anywhere in a script: in a loop, a function, a substitution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Simple {
    pub words: Vec<Word>,
    pub feed: Feed,
    /// Files that it is sent to.
    pub writes: Vec<Word>,
    /// Programs in substitutions among its words.
    pub substituted: Vec<String>,
}

pub(super) struct Script<'t> {
    text: Cow<'t, str>,
    tree: Tree,
}

impl<'t> Script<'t> {
    pub(super) fn parse(text: &'t str) -> Option<Self> {
        if text.len() > MAX_TEXT {
            return None;
        }
        let mut parser = Parser::new();
        parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
        // To the grammar these are blanks, to a shell characters of a word like any other.
        const NO_BLANKS: [char; 3] = ['\r', '\x0b', '\x0c'];
        let text = match text.contains(NO_BLANKS) {
            true => Cow::Owned(text.replace(NO_BLANKS, "_")),
            false => Cow::Borrowed(text),
        };
        let tree = parser.parse(&*text, None)?;
        Some(Self { text, tree })
    }

    /// Whether the grammar does not know all of it.
    pub(super) fn has_errors(&self) -> bool {
        self.tree.root_node().has_error()
    }

    /// The commands in order, if the script is nothing but plain words joined by `&&`, `||`, `;`, `|` and line ends.
    pub(super) fn plain(&self) -> Option<Vec<Vec<Word>>> {
        if self.has_errors() {
            return None;
        }
        let mut commands = Vec::new();
        self.collect_plain(self.tree.root_node(), &mut commands)?;
        (!commands.is_empty()).then_some(commands)
    }

    fn collect_plain(&self, node: Node<'_>, commands: &mut Vec<Vec<Word>>) -> Option<()> {
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "list" | "pipeline" => self.collect_plain(child, commands)?,
                "command" => commands.push(self.plain_command(child)?),
                "comment" | "&&" | "||" | ";" | "|" | "\n" => {}
                _ => return None,
            }
        }
        Some(())
    }

    fn plain_command(&self, node: Node<'_>) -> Option<Vec<Word>> {
        let mut cursor = node.walk();
        let nothing = HashMap::new();
        let mut words = Vec::new();
        for child in node.children(&mut cursor) {
            let word = match child.kind() {
                "command_name" if child.named_child_count() == 1 => child.named_child(0)?,
                "word" | "string" | "raw_string" | "number" | "concatenation" => child,
                _ => return None,
            };
            let mut read = self.read(word, &nothing);
            match (read.pop(), read.is_empty()) {
                (Some(word), true) if word.known => words.push(word),
                _ => return None,
            }
        }
        Some(words)
    }

    /// Every simple command in the script, as far as it can be read, and whether all of it could.
    pub(super) fn commands(&self) -> Vec<Simple> {
        let mut walk = Walk {
            script: self,
            variables: HashMap::from([("IFS".to_owned(), " ".to_owned())]),
            found: vec![],
        };
        walk.visit(self.tree.root_node(), &Feed::Nothing);
        walk.found
    }

    /// Names of functions that call themselves side by side with themselves: fork bombs.
    pub(super) fn bombs(&self) -> Vec<String> {
        let mut bombs = Vec::new();
        each(self.tree.root_node(), &mut |node| {
            if node.kind() == "function_definition"
                && let Some(name) = node.child_by_field_name("name").map(|name| self.source(name))
                && let Some(body) = node.child_by_field_name("body")
            {
                let mut calls = 0;
                let mut spreads = self.source(body).contains('&');
                each(body, &mut |inner| {
                    calls += usize::from(inner.kind() == "command_name" && self.source(inner) == name);
                    spreads |= inner.kind() == "pipeline";
                });
                if calls > 0 && spreads {
                    bombs.push(name.to_owned());
                }
            }
        });
        bombs
    }

    fn source(&self, node: Node<'_>) -> &str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// The words that the shell makes of a node: one, unless something unquoted is split or braces are expanded.
    fn read(&self, node: Node<'_>, variables: &HashMap<String, String>) -> Vec<Word> {
        let mut piece = Piece::default();
        if !self.add(node, variables, &mut piece) {
            return vec![Word::unknown(self.source(node))];
        }
        if piece.braces {
            let expanded = expand_braces(&piece.text, 0);
            return expanded.iter().map(|text| Word::literal(text)).collect();
        }
        if piece.split {
            return piece.text.split_ascii_whitespace().map(Word::literal).collect();
        }
        vec![Word {
            glob: piece.glob,
            ..Word::literal(&piece.text)
        }]
    }

    /// Adds what a node says to a word; false if only the run can tell.
    fn add(&self, node: Node<'_>, variables: &HashMap<String, String>, piece: &mut Piece) -> bool {
        let source = self.source(node);
        match node.kind() {
            "word" | "number" | "variable_name" | "special_variable_name" if node.named_child_count() == 0 => {
                piece.glob |= piece.text.is_empty() && source.starts_with(['*', '?', '[']);
                let (text, escaped) = unescaped(source);
                // Braces may be cut over several words of a concatenation; whether they expand shows at the end.
                piece.brace_open |= source.contains('{') && !escaped;
                piece.braces |= piece.brace_open && (source.contains(',') || source.contains(".."));
                piece.text.push_str(&text);
                true
            }
            "raw_string" => {
                piece
                    .text
                    .push_str(source.trim_start_matches('\'').trim_end_matches('\''));
                true
            }
            "ansi_c_string" => {
                let inner = source.strip_prefix("$'").and_then(|rest| rest.strip_suffix('\''));
                inner.map(|inner| piece.text.push_str(&decoded(inner))).is_some()
            }
            "string" => self.add_string(node, variables, piece),
            "translated_string" | "command_name" | "concatenation" => {
                let mut cursor = node.walk();
                let children: Vec<_> = node.named_children(&mut cursor).collect();
                !children.is_empty() && children.into_iter().all(|child| self.add(child, variables, piece))
            }
            "simple_expansion" | "expansion" => {
                let known = self.variable(node).and_then(|name| variables.get(name));
                piece.split = true;
                known.map(|value| piece.text.push_str(value)).is_some()
            }
            _ => false,
        }
    }

    /// Text in double quotes, with its variables where they are known.
    fn add_string(&self, node: Node<'_>, variables: &HashMap<String, String>, piece: &mut Piece) -> bool {
        let source = self.source(node);
        if source.len() < 2 || !source.ends_with('"') {
            return false;
        }
        let (mut at, end) = (node.start_byte() + 1, node.end_byte() - 1);
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            if child.kind() == "string_content" {
                continue;
            }
            let Some(value) = self.variable(child).and_then(|name| variables.get(name)) else {
                return false;
            };
            piece.text.push_str(&unescaped_in_quotes(
                self.text.get(at..child.start_byte()).unwrap_or_default(),
            ));
            piece.text.push_str(value);
            at = child.end_byte();
        }
        piece
            .text
            .push_str(&unescaped_in_quotes(self.text.get(at..end).unwrap_or_default()));
        true
    }

    /// The name in `$name` or `${name}`.
    fn variable(&self, node: Node<'_>) -> Option<&str> {
        let simple = node.kind() == "simple_expansion" || node.kind() == "expansion";
        let name = node
            .named_child(0)
            .filter(|_| simple && node.named_child_count() == 1)?;
        let name = (name.kind() == "variable_name").then(|| self.source(name))?;
        let source = self.source(node);
        (source == format!("${name}") || source == format!("${{{name}}}")).then_some(name)
    }
}

/// A word in the making.
#[derive(Default)]
struct Piece {
    text: String,
    glob: bool,
    brace_open: bool,
    braces: bool,
    /// An unquoted variable was put in, whose value the shell splits at blanks.
    split: bool,
}

struct Walk<'s, 't> {
    script: &'s Script<'t>,
    variables: HashMap<String, String>,
    found: Vec<Simple>,
}

impl Walk<'_, '_> {
    fn visit(&mut self, node: Node<'_>, feed: &Feed) {
        let mut cursor = node.walk();
        match node.kind() {
            "command" => self.command(node, feed, &[]),
            "pipeline" => {
                let mut feed = feed.clone();
                for child in node.named_children(&mut cursor) {
                    let from = self.found.len();
                    self.visit(child, &feed);
                    feed = Feed::Pipe((from..self.found.len()).collect());
                }
            }
            "redirected_statement" => self.redirected(node, feed),
            "variable_assignment" => {
                self.assign(node);
                self.inside(node);
            }
            _ => {
                for child in node.named_children(&mut cursor) {
                    self.visit(child, feed);
                }
            }
        }
    }

    fn assign(&mut self, node: Node<'_>) {
        if let (Some(name), Some(value)) = (node.child_by_field_name("name"), node.child_by_field_name("value")) {
            let words = self.script.read(value, &self.variables);
            if words.iter().all(|word| word.known) {
                let value = words.into_iter().map(|word| word.text).collect::<Vec<_>>().join(" ");
                self.variables.insert(self.script.source(name).to_owned(), value);
            }
        }
    }

    fn redirected(&mut self, node: Node<'_>, feed: &Feed) {
        let mut cursor = node.walk();
        let children: Vec<_> = node.named_children(&mut cursor).collect();
        let mut feed = feed.clone();
        let mut writes = Vec::new();
        for child in &children {
            self.redirect(*child, &mut feed, &mut writes);
        }
        let from = self.found.len();
        if let Some(body) = node.child_by_field_name("body") {
            self.visit(body, &feed);
            if let Some(last) = self.found.get_mut(from..).and_then(<[Simple]>::last_mut) {
                last.writes.extend(writes);
            }
        }
        // What follows a here-document on its first line stands inside it in the tree.
        let piped = Feed::Pipe((from..self.found.len()).collect());
        for child in children.iter().filter(|child| child.kind() == "heredoc_redirect") {
            let mut cursor = child.walk();
            for inner in child.named_children(&mut cursor) {
                if !matches!(inner.kind(), "heredoc_start" | "heredoc_body" | "heredoc_end") {
                    self.visit(inner, &piped);
                } else {
                    self.inside(inner);
                }
            }
        }
    }

    fn redirect(&mut self, node: Node<'_>, feed: &mut Feed, writes: &mut Vec<Word>) {
        let mut cursor = node.walk();
        match node.kind() {
            "file_redirect" => {
                let source = self.script.source(node);
                if let Some(target) = node.child_by_field_name("destination") {
                    if source.contains('>') {
                        writes.extend(self.script.read(target, &self.variables));
                    }
                    self.inside(node);
                }
            }
            "heredoc_redirect" => {
                let body = node
                    .named_children(&mut cursor)
                    .find(|child| child.kind() == "heredoc_body");
                *feed = Feed::Text(body.map(|body| self.script.source(body)).unwrap_or_default().to_owned());
            }
            "herestring_redirect" => {
                let words = node
                    .named_child(0)
                    .map(|word| self.script.read(word, &self.variables))
                    .unwrap_or_default();
                *feed = Feed::Text(words.into_iter().map(|word| word.text).collect::<Vec<_>>().join(" "));
                self.inside(node);
            }
            _ => {}
        }
    }

    fn command(&mut self, node: Node<'_>, feed: &Feed, writes: &[Word]) {
        let mut cursor = node.walk();
        let mut feed = feed.clone();
        let mut writes = writes.to_vec();
        let mut words = Vec::new();
        let before = self.found.len();
        for child in node.named_children(&mut cursor) {
            match child.kind() {
                "variable_assignment" => self.assign(child),
                "file_redirect" | "heredoc_redirect" | "herestring_redirect" => {
                    self.redirect(child, &mut feed, &mut writes);
                }
                _ => words.extend(self.script.read(child, &self.variables)),
            }
            if !child.kind().ends_with("_redirect") {
                self.inside(child);
            }
        }
        let substituted = self.found[before..].iter().filter_map(|inner| inner.words.first());
        let substituted = substituted.map(|word| word.text.clone()).collect();
        self.found.push(Simple {
            words,
            feed,
            writes,
            substituted,
        });
    }

    /// Commands in substitutions at or below a node.
    fn inside(&mut self, node: Node<'_>) {
        let substitution = matches!(node.kind(), "command_substitution" | "process_substitution");
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            if substitution {
                self.visit(child, &Feed::Nothing);
            } else {
                self.inside(child);
            }
        }
    }
}

fn each(node: Node<'_>, visit: &mut dyn FnMut(Node<'_>)) {
    visit(node);
    let mut cursor = node.walk();
    for child in node.named_children(&mut cursor) {
        each(child, visit);
    }
}

/// Takes the backslashes out of an unquoted word; whether there were any.
fn unescaped(source: &str) -> (String, bool) {
    let mut text = String::with_capacity(source.len());
    let mut chars = source.chars();
    let mut escaped = false;
    while let Some(c) = chars.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        escaped = true;
        // A line that goes on is no character.
        text.extend(chars.next().filter(|c| *c != '\n'));
    }
    (text, escaped)
}

/// In double quotes a backslash means something only before a few characters.
fn unescaped_in_quotes(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    let mut chars = source.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some('"' | '\\' | '$' | '`')) => text.extend(chars.next()),
            ('\\', Some('\n')) => drop(chars.next()),
            _ => text.push(c),
        }
    }
    text
}

/// The escapes of `$'...'`.
fn decoded(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    let mut chars = source.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        let decoded = match chars.next() {
            None => '\\',
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('e' | 'E') => '\u{1b}',
            Some('x') => digits_from(&mut chars, 16, 3, '0'),
            Some(digit @ '0'..='7') => digits_from(&mut chars, 8, 3, digit),
            Some('u') => digits_from(&mut chars, 16, 5, '0'),
            Some('U') => digits_from(&mut chars, 16, 9, '0'),
            Some(other) => other,
        };
        text.push(decoded);
    }
    text
}

fn digits_from(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, radix: u32, most: usize, first: char) -> char {
    let mut number = first.to_digit(radix).unwrap_or(0);
    for _ in 1..most {
        let Some(digit) = chars.peek().and_then(|c| c.to_digit(radix)) else {
            break;
        };
        number = number.saturating_mul(radix).saturating_add(digit);
        chars.next();
    }
    char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// How deep braces may be nested, and into how many words they may grow.
const MAX_BRACES: usize = 6;
const MAX_WORDS: usize = 64;

/// `a{b,c}d` to `abd acd`. Sequences (`{1..3}`) stay as they are.
fn expand_braces(text: &str, depth: usize) -> Vec<String> {
    let whole = || vec![text.to_owned()];
    let Some(open) = text.find('{').filter(|_| depth < MAX_BRACES) else {
        return whole();
    };
    let (mut level, mut cuts, mut close) = (0usize, vec![open + 1], None);
    for (at, c) in text.char_indices().skip_while(|(at, _)| *at < open) {
        match c {
            '{' => level += 1,
            ',' if level == 1 => cuts.push(at + 1),
            '}' => {
                level -= 1;
                if level == 0 {
                    close = Some(at);
                    break;
                }
            }
            _ => {}
        }
    }
    let Some(close) = close.filter(|_| cuts.len() > 1) else {
        return whole();
    };
    cuts.push(close + 1);
    let mut words = Vec::new();
    for pair in cuts.windows(2) {
        let choice = format!("{}{}{}", &text[..open], &text[pair[0]..pair[1] - 1], &text[close + 1..]);
        words.extend(expand_braces(&choice, depth + 1));
        words.truncate(MAX_WORDS);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(script: &str) -> Vec<Vec<String>> {
        let script = Script::parse(script).expect("parses");
        let words = |simple: Simple| simple.words.into_iter().map(|word| word.text).collect();
        script.commands().into_iter().map(words).collect()
    }

    #[test]
    fn commands_anywhere_are_found_and_unquoted() {
        for (script, expected) in [
            (r"\rm -rf x", vec![vec!["rm", "-rf", "x"]]),
            ("r''m 'x'\"y\"", vec![vec!["rm", "xy"]]),
            (r"$'r\x6d' $'\055f' x", vec![vec!["rm", "-f", "x"]]),
            ("r{m,x} {-rf,x}", vec![vec!["rm", "rx", "-rf", "x"]]),
            ("R=rm; $R -f ${R}", vec![vec!["rm", "-f", "rm"]]),
            ("R='rm -rf'; $R x", vec![vec!["rm", "-rf", "x"]]),
            ("rm${IFS}-rf${IFS}x", vec![vec!["rm", "-rf", "x"]]),
            ("(cd x && rm y) &", vec![vec!["cd", "x"], vec!["rm", "y"]]),
            ("for i in a; do rm \"$i\"; done", vec![vec!["rm", "\"$i\""]]),
            ("f() { rm x; }; f", vec![vec!["rm", "x"], vec!["f"]]),
            (
                "if true; then rm x; else ls; fi",
                vec![vec!["true"], vec!["rm", "x"], vec!["ls"]],
            ),
            ("echo $(rm x)", vec![vec!["rm", "x"], vec!["echo", "$(rm x)"]]),
            (
                "echo \"a $(rm x)\"",
                vec![vec!["rm", "x"], vec!["echo", "\"a $(rm x)\""]],
            ),
            ("X=$(rm x)", vec![vec!["rm", "x"]]),
            ("cat > $(rm x)", vec![vec!["rm", "x"], vec!["cat"]]),
            ("A=1 rm x 2>/dev/null", vec![vec!["rm", "x"]]),
            ("while rm x; do :; done", vec![vec!["rm", "x"], vec![":"]]),
        ] {
            assert_eq!(texts(script), expected, "{script}");
        }
    }

    #[test]
    fn feeds() {
        let script =
            Script::parse("cat <<EOF | sh\nrm -rf /\nEOF\nbash <<< 'rm x'; echo a | tee b | sh").expect("parses");
        let commands = script.commands();
        let of = |name: &str| -> Vec<Feed> {
            let named = |simple: &&Simple| simple.words.first().is_some_and(|word| word.text == name);
            commands
                .iter()
                .filter(named)
                .map(|simple| simple.feed.clone())
                .collect()
        };
        assert!(matches!(&of("cat")[0], Feed::Text(text) if text.trim() == "rm -rf /"));
        assert_eq!(of("bash"), [Feed::Text("rm x".to_owned())]);
        assert_eq!(of("sh").len(), 2);
        assert!(of("sh").iter().all(|feed| matches!(feed, Feed::Pipe(_))));
    }

    #[test]
    fn fork_bombs() {
        for (script, expected) in [
            (":(){ :|:& };:", 1),
            ("b() { b & b; }; b", 1),
            ("f() { f; }", 0),
            ("f() { ls | wc; }", 0),
        ] {
            assert_eq!(
                Script::parse(script).expect("parses").bombs().len(),
                expected,
                "{script}"
            );
        }
    }

    #[test]
    fn braces() {
        for (text, expected) in [
            ("a{b,c}d", vec!["abd", "acd"]),
            ("{a,{b,c}}", vec!["a", "b", "c"]),
            ("{}", vec!["{}"]),
            ("{a}", vec!["{a}"]),
            ("{a,b", vec!["{a,b"]),
        ] {
            assert_eq!(expand_braces(text, 0), expected);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "[-a-z {}$'\"`|&;<>()\\\\\n=*]{0,60}") {
            if let Some(script) = Script::parse(&text) {
                script.plain();
                script.commands();
                script.bombs();
            }
        }
    }
}
