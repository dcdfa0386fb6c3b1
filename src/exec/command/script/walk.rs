//! The walk through a script that finds its simple commands.

use super::{Feed, MAX_VALUE, Script, Simple, each, pieces};
use crate::exec::command::word::Word;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use tree_sitter::Node;

/// How deep text within the text is read with the grammar. What is deeper is only cut.
const MAX_WITHIN: usize = 4;

/// Every simple command of a script, as far as it can be read.
pub(super) fn commands(script: &Script<'_>) -> Vec<Simple> {
    commands_within(script, 0)
}

fn commands_within(script: &Script<'_>, depth: usize) -> Vec<Simple> {
    let mut walk = Walk {
        script,
        variables: HashMap::from([("IFS".to_owned(), " ".to_owned())]),
        found: vec![],
        depth,
        is_untold: false,
    };
    walk.visit(script.tree.root_node(), &Feed::Nothing);
    // The grammar does not say which commands these are fed to.
    if feeds_a_group(&script.text) {
        for simple in &mut walk.found {
            simple.is_untold = true;
        }
    }
    // What the grammar takes for something else must not be hidden by that.
    if script.is_doubtful() {
        walk.add_new(pieces::commands(&script.text));
    }
    walk.found
}

/// Whether a text may be put into a group of commands (`{ sh; } <<< x`), or what a command prints into another (`>(sh)`).
fn feeds_a_group(text: &str) -> bool {
    let ends_group = |before: &str| {
        let before = before.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end();
        before.ends_with([')', '}']) || ["done", "esac", "fi"].iter().any(|end| before.ends_with(end))
    };
    text.contains(">(") || text.match_indices("<<<").any(|(at, _)| ends_group(&text[..at]))
}

struct Walk<'s, 't> {
    script: &'s Script<'t>,
    variables: HashMap<String, String>,
    found: Vec<Simple>,
    depth: usize,
    /// What comes into the commands here may be more than its text says.
    is_untold: bool,
}

/// Words of a command that stand behind one of its redirections. The grammar has them there.
#[derive(Default)]
struct Behind {
    words: Vec<Word>,
    spans: Vec<Range<usize>>,
    substituted: Vec<String>,
}

impl Walk<'_, '_> {
    fn visit(&mut self, node: Node<'_>, feed: &Feed) {
        let mut cursor = node.walk();
        match node.kind() {
            "command" => self.command(node, feed),
            "pipeline" => {
                let mut feed = feed.clone();
                let was_untold = self.is_untold;
                for child in node.named_children(&mut cursor) {
                    let from = self.found.len();
                    self.visit(child, &feed);
                    feed = Feed::Pipe((from..self.found.len()).collect());
                    self.is_untold = says_more(child);
                }
                self.is_untold = was_untold;
            }
            "redirected_statement" => self.redirected(node, feed),
            "variable_assignment" => {
                self.assign(node);
                self.inside(node);
            }
            _ => {
                self.within_leaf(node);
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
                // A value that doubles with each line would outgrow the memory.
                if value.len() > MAX_VALUE {
                    self.variables.remove(self.script.source(name));
                    return;
                }
                self.variables.insert(self.script.source(name).to_owned(), value);
            }
        }
    }

    fn redirected(&mut self, node: Node<'_>, feed: &Feed) {
        let mut cursor = node.walk();
        let body = node.child_by_field_name("body");
        let redirects: Vec<_> = node
            .named_children(&mut cursor)
            .filter(|child| child.kind().ends_with("_redirect"))
            .collect();
        let mut feed = feed.clone();
        let mut writes = Vec::new();
        let mut behind = Behind::default();
        let was_untold = self.is_untold;
        for redirect in &redirects {
            self.redirect(*redirect, &mut feed, &mut writes, &mut behind);
        }
        let from = self.found.len();
        if let Some(body) = body {
            self.visit(body, &feed);
        }
        let takes_words = behind.words.is_empty() || body.is_some_and(ends_with_command);
        if takes_words && self.found.len() > from {
            if let Some(last) = self.found.last_mut() {
                last.writes.extend(writes);
                last.words.extend(behind.words);
                last.spans.extend(behind.spans);
                last.substituted.extend(behind.substituted);
            }
        } else if !behind.words.is_empty() {
            // There is no command that they belong to, so they may be one.
            self.found.push(Simple {
                words: behind.words,
                spans: behind.spans,
                feed,
                writes,
                substituted: behind.substituted,
                is_untold: self.is_untold,
            });
        }
        self.is_untold = body.is_some_and(says_more);
        // What follows a here-document on its first line stands inside it in the tree.
        let piped = Feed::Pipe((from..self.found.len()).collect());
        for redirect in redirects.iter().filter(|child| child.kind() == "heredoc_redirect") {
            let words = words_of_heredoc(*redirect);
            let mut cursor = redirect.walk();
            for inner in redirect.named_children(&mut cursor) {
                let is_read = inner.kind().starts_with("heredoc_") || inner.kind().ends_with("_redirect");
                if !is_read && !words.contains(&inner) {
                    self.visit(inner, &piped);
                }
            }
        }
        self.is_untold = was_untold;
    }

    fn redirect(&mut self, node: Node<'_>, feed: &mut Feed, writes: &mut Vec<Word>, behind: &mut Behind) {
        let mut cursor = node.walk();
        match node.kind() {
            "file_redirect" => {
                let redirection = self.script.redirection(node);
                if let Some(target) = redirection.target {
                    if redirection.operator.contains('>') {
                        writes.extend(self.script.read(target, &self.variables));
                    }
                    let from = self.found.len();
                    self.inside(target);
                    if redirection.operator.contains('<') && target.kind() == "process_substitution" {
                        *feed = Feed::Pipe((from..self.found.len()).collect());
                    }
                }
                for word in redirection.behind {
                    self.behind(word, behind);
                }
            }
            "heredoc_redirect" => {
                let words = words_of_heredoc(node);
                let mut text = String::new();
                let mut is_literal = false;
                for child in node.named_children(&mut cursor) {
                    match child.kind() {
                        "heredoc_start" => is_literal = self.script.source(child).contains(['\'', '"', '\\']),
                        "heredoc_body" => {
                            text = self.script.source(child).to_owned();
                            if !is_literal {
                                self.is_untold |= !pieces::substitutions(&text).is_empty();
                                self.inside(child);
                                self.within(child);
                            }
                        }
                        "file_redirect" | "herestring_redirect" => self.redirect(child, feed, writes, behind),
                        _ if words.contains(&child) => self.behind(child, behind),
                        _ => {}
                    }
                }
                *feed = Feed::Text(text);
            }
            "herestring_redirect" => {
                let words = node
                    .named_child(0)
                    .map(|word| self.script.read(word, &self.variables))
                    .unwrap_or_default();
                self.is_untold |= words.iter().any(|word| !word.known);
                *feed = Feed::Text(words.into_iter().map(|word| word.text).collect::<Vec<_>>().join(" "));
                self.inside(node);
            }
            _ => {}
        }
    }

    /// A word behind a redirection.
    fn behind(&mut self, node: Node<'_>, behind: &mut Behind) {
        if self.script.is_descriptor(node) {
            return;
        }
        let from = self.found.len();
        self.inside(node);
        behind.words.extend(self.script.read(node, &self.variables));
        behind.spans.push(node.byte_range());
        behind.substituted.extend(programs(&self.found[from..]));
    }

    fn command(&mut self, node: Node<'_>, feed: &Feed) {
        let mut cursor = node.walk();
        let mut feed = feed.clone();
        let mut writes = Vec::new();
        let mut here = Behind::default();
        let was_untold = self.is_untold;
        let from = self.found.len();
        for child in node.named_children(&mut cursor) {
            match child.kind() {
                "variable_assignment" => {
                    self.assign(child);
                    self.inside(child);
                }
                "file_redirect" | "heredoc_redirect" | "herestring_redirect" => {
                    self.redirect(child, &mut feed, &mut writes, &mut here);
                }
                _ if self.script.is_descriptor(child) => {}
                _ => {
                    here.words.extend(self.script.read(child, &self.variables));
                    here.spans.push(child.byte_range());
                    self.inside(child);
                }
            }
        }
        let substituted = programs(&self.found[from..]);
        let mut words = here.words;
        words.drain(..pieces::keywords(&words));
        self.found.push(Simple {
            words,
            spans: here.spans,
            feed,
            writes,
            substituted,
            is_untold: self.is_untold,
        });
        self.is_untold = was_untold;
    }

    /// Commands in substitutions at or below a node.
    fn inside(&mut self, node: Node<'_>) {
        let substitution = matches!(node.kind(), "command_substitution" | "process_substitution");
        let mut cursor = node.walk();
        self.within_leaf(node);
        for child in node.named_children(&mut cursor) {
            if substitution {
                self.visit(child, &Feed::Nothing);
            } else {
                self.inside(child);
            }
        }
    }

    /// Commands in what the grammar takes for text.
    fn within_leaf(&mut self, node: Node<'_>) {
        const WITHOUT: [&str; 6] = [
            "raw_string",
            "ansi_c_string",
            "comment",
            "heredoc_start",
            "heredoc_body",
            "heredoc_end",
        ];
        if node.named_child_count() == 0 && !WITHOUT.contains(&node.kind()) {
            self.within(node);
        }
    }

    /// Commands in the substitutions of a node's text that are none in the tree.
    fn within(&mut self, node: Node<'_>) {
        let source = self.script.source(node);
        if !source.contains('`') && !source.contains("$(") {
            return;
        }
        let mut cursor = node.walk();
        let known: HashSet<usize> = node
            .named_children(&mut cursor)
            .map(|child| child.start_byte() - node.start_byte())
            .collect();
        for (at, text) in pieces::substitutions(source) {
            if !known.contains(&at) && !text.trim().is_empty() {
                let script = Script::parse(&text).filter(|_| self.depth < MAX_WITHIN);
                let inner = match &script {
                    Some(script) => commands_within(script, self.depth + 1),
                    None => pieces::commands(&text),
                };
                self.add(inner);
            }
        }
    }

    /// Adds commands that were read by themselves, from another text.
    fn add(&mut self, commands: Vec<Simple>) {
        let base = self.found.len();
        for mut simple in commands {
            simple.spans.clear();
            if let Feed::Pipe(sources) = &mut simple.feed {
                sources.iter_mut().for_each(|at| *at += base);
            }
            self.found.push(simple);
        }
    }

    /// Adds what another reading found, without what is there already.
    fn add_new(&mut self, commands: Vec<Simple>) {
        let texts = |simple: &Simple| simple.words.iter().map(|word| word.text.clone()).collect::<Vec<_>>();
        let mut known: HashMap<Vec<String>, usize> = HashMap::new();
        for (at, simple) in self.found.iter().enumerate() {
            known.entry(texts(simple)).or_insert(at);
        }
        let mut places: Vec<usize> = Vec::with_capacity(commands.len());
        for mut simple in commands {
            let same = known.get(&texts(&simple)).copied();
            let same = same.filter(|at| simple.feed == Feed::Nothing || self.found[*at].feed != Feed::Nothing);
            places.push(same.unwrap_or(self.found.len()));
            if same.is_none() {
                if let Feed::Pipe(sources) = &mut simple.feed {
                    sources.iter_mut().for_each(|at| *at = places[*at]);
                }
                self.found.push(simple);
            }
        }
    }
}

/// The words of a command that stand behind the beginning of its here-document.
fn words_of_heredoc(redirect: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = redirect.walk();
    redirect.children_by_field_name("argument", &mut cursor).collect()
}

/// Whether the last thing in a statement is a command, so that words behind a redirection of the statement are its words.
fn ends_with_command(statement: Node<'_>) -> bool {
    let mut node = statement;
    loop {
        let mut cursor = node.walk();
        let last = match node.kind() {
            "command" => return true,
            "pipeline" | "list" | "negated_command" => node.named_children(&mut cursor).last(),
            "redirected_statement" => node.child_by_field_name("body"),
            _ => return false,
        };
        match last {
            Some(inner) => node = inner,
            None => return false,
        }
    }
}

/// Whether more may come out of a statement than its commands say once each.
fn says_more(statement: Node<'_>) -> bool {
    const KINDS: [&str; 5] = [
        "c_style_for_statement",
        "declaration_command",
        "for_statement",
        "function_definition",
        "while_statement",
    ];
    let mut found = false;
    each(statement, &mut |node| found |= KINDS.contains(&node.kind()));
    found
}

/// The programs of commands.
fn programs(commands: &[Simple]) -> Vec<String> {
    let first = commands.iter().filter_map(|simple| simple.words.first());
    first.map(|word| word.text.clone()).collect()
}
