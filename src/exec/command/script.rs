//! Shell text, read with the grammar of bash: its simple commands with their words unquoted, what is fed to them and
//! where they write.

mod pieces;
mod walk;

use super::word::{Word, decoded, expand_braces, unescaped, unescaped_in_quotes};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use tree_sitter::{Node, Parser, Tree};

/// Longest text that is read, in bytes. Longer text counts as not understood.
const MAX_TEXT: usize = 64 * 1024;
/// Longest value of a variable that is followed, in bytes.
pub(super) const MAX_VALUE: usize = 4096;
/// The most here-documents that are read: the grammar looks for the end of each in all that follows.
const MAX_HEREDOCS: usize = 100;
/// How deep the tree of a text may be: walking it takes a frame a level.
const MAX_TREE: usize = 250;

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
    /// Where the words stand in the text.
    pub spans: Vec<Range<usize>>,
    pub feed: Feed,
    /// Files that it is sent to.
    pub writes: Vec<Word>,
    /// Programs in substitutions among its words.
    pub substituted: Vec<String>,
    /// What comes in may be more than its text says, or come more than once.
    pub is_untold: bool,
}

/// A redirection to or from a file.
struct Redirection<'s, 'n> {
    operator: &'s str,
    target: Option<Node<'n>>,
    /// Words of the command, which the grammar takes for more targets.
    behind: Vec<Node<'n>>,
}

pub(super) struct Script<'t> {
    text: Cow<'t, str>,
    tree: Tree,
}

impl<'t> Script<'t> {
    pub(super) fn parse(text: &'t str) -> Option<Self> {
        if text.len() > MAX_TEXT || text.matches("<<").count() > MAX_HEREDOCS {
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
        (!is_deep(&tree)).then_some(Self { text, tree })
    }

    /// Files that are written by redirections, also of loops and of no command at all.
    pub(super) fn writes(&self) -> Vec<Word> {
        self.redirected('>')
    }

    /// Files that are read by redirections.
    pub(super) fn reads(&self) -> Vec<Word> {
        self.redirected('<')
    }

    fn redirected(&self, sign: char) -> Vec<Word> {
        let nothing = HashMap::new();
        let mut files = Vec::new();
        each(self.tree.root_node(), &mut |node| {
            if node.kind() == "file_redirect" {
                let redirection = self.redirection(node);
                let target = redirection.target.filter(|_| redirection.operator.contains(sign));
                files.extend(target.map(|target| self.read(target, &nothing)).unwrap_or_default());
            }
        });
        files
    }

    /// Whether it has a part of one of these kinds.
    pub(super) fn has(&self, kinds: &[&str]) -> bool {
        let mut found = false;
        each(self.tree.root_node(), &mut |node| found |= kinds.contains(&node.kind()));
        found
    }

    /// A redirection, taken apart.
    fn redirection<'n>(&self, node: Node<'n>) -> Redirection<'_, 'n> {
        let mut cursor = node.walk();
        let mut words: Vec<Node<'n>> = node.children_by_field_name("destination", &mut cursor).collect();
        let end = words.first().map_or(node.end_byte(), |word| word.start_byte());
        let operator = self.text.get(node.start_byte()..end).unwrap_or_default();
        // `>&-` leads nowhere.
        let closes = operator.trim_end().ends_with('-');
        let target = (!closes && !words.is_empty()).then(|| words.remove(0));
        Redirection {
            operator,
            target,
            behind: words,
        }
    }

    /// Whether a node is the name of a descriptor in front of a redirection, which is no word: `{fd}>x`.
    fn is_descriptor(&self, node: Node<'_>) -> bool {
        let source = self.source(node);
        let name = source.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_[]".contains(c));
        let behind = self.text.get(node.end_byte()..).unwrap_or_default();
        let redirects = behind.starts_with(['<', '>']) && !behind[1..].starts_with('(');
        redirects && name.is_some_and(is_name)
    }

    /// Whether the grammar may take commands for something else: where it errs, what it does not know, and where it does not end
    /// a here-document as a shell does.
    pub(super) fn is_doubtful(&self) -> bool {
        let mut is_doubtful = self.has_errors() || self.text.contains("coproc");
        if self.text.contains("<<") {
            each(self.tree.root_node(), &mut |node| {
                is_doubtful |= node.kind() == "heredoc_redirect" && !self.ends_as_in_a_shell(node);
            });
        }
        is_doubtful
    }

    /// Whether a here-document has a plain end, alone on its line and for the first time.
    fn ends_as_in_a_shell(&self, heredoc: Node<'_>) -> bool {
        let mut cursor = heredoc.walk();
        let children: Vec<_> = heredoc.named_children(&mut cursor).collect();
        let of = |kind: &str| children.iter().find(|child| child.kind() == kind);
        let (Some(start), Some(body), Some(end)) = (of("heredoc_start"), of("heredoc_body"), of("heredoc_end")) else {
            return false;
        };
        let start = self.source(*start);
        let without = |quote: char| start.strip_prefix(quote)?.strip_suffix(quote);
        let word = without('\'').or_else(|| without('"')).unwrap_or(start);
        let is_plain = !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
        let may_be_indented = self.source(heredoc).starts_with("<<-");
        let is_end = |line: &str| match may_be_indented {
            true => line.trim_start_matches('\t') == word,
            false => line == word,
        };
        let before = self.text.get(..end.start_byte()).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let last = self.text.get(line_start..).unwrap_or_default();
        let body = self.text.get(body.start_byte()..line_start).unwrap_or_default();
        is_plain && is_end(last.split('\n').next().unwrap_or_default()) && !body.split('\n').any(is_end)
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
        walk::commands(self)
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
            // It is split at other characters, too, if they do not stand in the text itself.
            let ends = variables.get("IFS").map_or("", String::as_str);
            if piece.text.contains(|c: char| !c.is_whitespace() && ends.contains(c)) {
                let inner = node
                    .named_child(0)
                    .filter(|_| node.kind() == "command_name")
                    .unwrap_or(node);
                if !matches!(inner.kind(), "simple_expansion" | "expansion") {
                    return vec![Word::unknown(self.source(node))];
                }
                let words = piece.text.split(|c: char| ends.contains(c));
                return words.filter(|word| !word.is_empty()).map(Word::literal).collect();
            }
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

/// Whether a tree is deeper than it is safe to walk, found out without walking it by calls.
fn is_deep(tree: &Tree) -> bool {
    let mut cursor = tree.walk();
    loop {
        if cursor.goto_first_child() {
            if cursor.depth() as usize > MAX_TREE {
                return true;
            }
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return false;
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
            ("IFS=,; R=rm,x; $R", vec![vec!["rm", "x"]]),
            ("IFS=,; R=m,x; r$R", vec![vec!["r$R"]]),
            ("rm {fd}>x y", vec![vec!["rm", "y"]]),
            ("rm {a}>x {b}<y {c}>&2 w", vec![vec!["rm", "w"]]),
            ("rm {a}<<<z w", vec![vec!["rm", "w"]]),
            ("rm {fd}<<E y\nE", vec![vec!["rm", "y"]]),
            ("rm {fd} >x {y}", vec![vec!["rm", "{fd}", "{y}"]]),
            (
                "coproc X { {rm,x}; }",
                vec![vec!["X", "{ {", "rm,x}"], vec![], vec!["rm", "x"]],
            ),
        ] {
            assert_eq!(texts(script), expected, "{script}");
        }
    }

    /// The grammar takes words behind a redirection for more targets of it.
    #[test]
    fn words_behind_a_redirection_are_the_commands() {
        for words in [
            &["git", "push", "--force", "origin"][..],
            &["rm", "-rf", "x"],
            &["dd", "if=/dev/zero", "of=/dev/sda"],
            &["bash", "t.sh"],
            &["git", "-C", "sub", "push"],
        ] {
            for redirection in [
                "2>/dev/null",
                "2> log",
                "&>x",
                ">&2",
                ">|x",
                "<x",
                "<<<x",
                ">x 2>&1",
                ">x <y",
            ] {
                for at in 0..=words.len() {
                    let (front, behind) = words.split_at(at);
                    let text = [front.join(" "), redirection.to_owned(), behind.join(" ")].join(" ");
                    let text = text.trim();
                    for (around, before) in [("", 0), ("! ", 0), ("ls | ", 1), ("ls && ", 1)] {
                        let found = texts(&format!("{around}{text}"));
                        assert_eq!(found[before..], [words], "{around}{text}");
                    }
                }
            }
        }
        for (script, expected, writes) in [
            ("rm >a x >b y", vec![vec!["rm", "x", "y"]], vec!["a", "b"]),
            ("rm >&- x", vec![vec!["rm", "x"]], vec![]),
            ("a <<E b\nE", vec![vec!["a", "b"]], vec![]),
            ("a <<E 2>w b\nE", vec![vec!["a", "b"]], vec!["w"]),
            ("a && b >w c", vec![vec!["a"], vec!["b", "c"]], vec!["w"]),
            ("{ a; } >w b", vec![vec!["a"], vec!["b"]], vec!["w"]),
            (
                "bash 2>w -c \"$(b)\"",
                vec![vec!["b"], vec!["bash", "-c", "\"$(b)\""]],
                vec!["w"],
            ),
        ] {
            assert_eq!(texts(script), expected, "{script}");
            let script = Script::parse(script).expect("parses");
            let found: Vec<String> = script.writes().into_iter().map(|word| word.text).collect();
            assert_eq!(found, writes);
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
