//! The walk through a script that finds its simple commands.

use super::{Feed, MAX_VALUE, Script, Simple};
use crate::exec::command::word::Word;
use std::collections::HashMap;
use tree_sitter::Node;

/// Every simple command of a script, as far as it can be read.
pub(super) fn commands(script: &Script<'_>) -> Vec<Simple> {
    let mut walk = Walk {
        script,
        variables: HashMap::from([("IFS".to_owned(), " ".to_owned())]),
        found: vec![],
    };
    walk.visit(script.tree.root_node(), &Feed::Nothing);
    walk.found
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
        let mut spans = Vec::new();
        let before = self.found.len();
        for child in node.named_children(&mut cursor) {
            match child.kind() {
                "variable_assignment" => self.assign(child),
                "file_redirect" | "heredoc_redirect" | "herestring_redirect" => {
                    self.redirect(child, &mut feed, &mut writes);
                }
                _ => {
                    words.extend(self.script.read(child, &self.variables));
                    spans.push(child.byte_range());
                }
            }
            if !child.kind().ends_with("_redirect") {
                self.inside(child);
            }
        }
        let substituted = self.found[before..].iter().filter_map(|inner| inner.words.first());
        let substituted = substituted.map(|word| word.text.clone()).collect();
        self.found.push(Simple {
            words,
            spans,
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
