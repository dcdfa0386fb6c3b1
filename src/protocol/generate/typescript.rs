//! The TypeScript declarations: every type, and maps from method to types for a client that wants its
//! requests checked.

use super::schema::sent_by_clients;
use super::{Model, Visitor, visit_all};
use crate::protocol::event::EVENTS;
use crate::protocol::method::{CLIENT_REQUESTS, NOTIFICATIONS, SERVER_REQUESTS};
use schemars::JsonSchema;
use serde_json::{Map, Value};
use std::any::TypeId;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use ts_rs::{Config, TS, TypeVisitor};

pub(super) struct Declaration {
    docs: Option<String>,
    /// `type X = …`
    text: String,
}

struct Collector {
    config: Config,
    seen: HashSet<TypeId>,
    found: BTreeMap<String, Declaration>,
}

impl Collector {
    fn add<T: TS + 'static + ?Sized>(&mut self) {
        if !self.seen.insert(TypeId::of::<T>()) {
            return;
        }
        // Only types with a name of their own have a place to be written to.
        if T::output_path().is_some() {
            let declaration = Declaration {
                docs: T::docs(),
                text: T::decl(&self.config),
            };
            self.found.insert(T::ident(&self.config), declaration);
        }
        T::visit_generics(self);
        T::visit_dependencies(self);
    }
}

impl TypeVisitor for Collector {
    fn visit<T: TS + 'static + ?Sized>(&mut self) {
        self.add::<T>();
    }
}

impl Visitor for Collector {
    fn visit<T: JsonSchema + TS + 'static>(&mut self) {
        self.add::<T>();
    }
}

pub(super) fn collect(schemas: &Map<String, Value>) -> BTreeMap<String, Declaration> {
    // Our numbers are counts and times: all of them fit a JavaScript number, as JSON has no other.
    let config = Config::new().with_large_int("number");
    let mut collector = Collector {
        config,
        seen: HashSet::new(),
        found: BTreeMap::new(),
    };
    visit_all(&mut collector);
    let sent = sent_by_clients(schemas);
    for (name, declaration) in &mut collector.found {
        if sent.contains(name) {
            loosen(&mut declaration.text, schemas.get(name));
        }
    }
    collector.found
}

/// Makes optional what a client may leave out because it has a default.
fn loosen(text: &mut String, schema: Option<&Value>) {
    let Some(schema) = schema else { return };
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    for name in properties.keys().filter(|name| !required.contains(&name.as_str())) {
        for before in [" ", "\n"] {
            *text = text.replace(&format!("{before}{name}: "), &format!("{before}{name}?: "));
        }
    }
}

pub(super) fn page(model: &Model) -> String {
    let mut page = String::from(
        "// The custom protocol's types and methods. Generated from the Rust types by `UPDATE=1 cargo test`; do not \
         edit.\n/* eslint-disable */\n",
    );
    for declaration in model.declarations.values() {
        page.push('\n');
        if let Some(docs) = &declaration.docs {
            comment(&mut page, docs, 0);
        }
        let _ = writeln!(
            page,
            "export {}",
            layout(&declaration.text).replace("| null | null", "| null")
        );
    }
    let mut map = |name: &str, about: &str, rows: Vec<(&str, String, &str)>| {
        let _ = writeln!(page, "\n/** {about} */\nexport interface {name} {{");
        for (method, types, doc) in rows {
            comment(&mut page, doc.trim(), 1);
            let _ = writeln!(page, "  \"{method}\": {types};");
        }
        page.push_str("}\n");
    };
    let requests = |table: &'static [(&str, &str, &str, &'static str)]| {
        table
            .iter()
            .map(|(method, params, result, doc)| (*method, format!("{{ params: {params}; result: {result} }}"), *doc))
            .collect()
    };
    map(
        "ClientRequests",
        "What a client may ask, by method.",
        requests(CLIENT_REQUESTS),
    );
    map(
        "ServerRequests",
        "What the server asks a client with the plugin protocol, by method.",
        requests(SERVER_REQUESTS),
    );
    let events = EVENTS
        .iter()
        .map(|(method, params, doc)| (*method, format!("At & {params}"), *doc));
    let others = NOTIFICATIONS
        .iter()
        .map(|(method, params, doc)| (*method, (*params).to_owned(), *doc));
    let events = events.chain(others).collect();
    map("Notifications", "What the server tells, by method.", events);
    page
}

fn comment(page: &mut String, docs: &str, depth: usize) {
    let indent = "  ".repeat(depth);
    let lines: Vec<&str> = docs
        .lines()
        .map(|line| {
            line.trim()
                .trim_start_matches("/**")
                .trim_start_matches("*/")
                .trim_start_matches('*')
                .trim()
        })
        .filter(|line| !line.is_empty())
        .collect();
    match lines.as_slice() {
        [] => {}
        [line] => {
            let _ = writeln!(page, "{indent}/** {line} */");
        }
        lines => {
            let _ = writeln!(page, "{indent}/**");
            for line in lines {
                let _ = writeln!(page, "{indent} * {line}");
            }
            let _ = writeln!(page, "{indent} */");
        }
    }
}

/// One field a line, one alternative a line.
fn layout(text: &str) -> String {
    let mut page = String::new();
    let mut depth = 0_usize;
    // Depth of angle brackets, parentheses and square brackets: nothing breaks inside them.
    let mut inline = 0_usize;
    let mut rest = text.trim();
    let alternatives = has_alternatives(rest);
    let line = |page: &mut String, depth: usize| {
        while page.ends_with(' ') {
            page.pop();
        }
        page.push('\n');
        page.push_str(&"  ".repeat(depth));
    };
    while let Some(letter) = rest.chars().next() {
        if rest.starts_with("/**")
            && let Some(end) = rest.find("*/")
        {
            while page.ends_with([' ', '\n']) {
                page.pop();
            }
            page.push('\n');
            comment(&mut page, &rest[..end], depth);
            page.push_str(&"  ".repeat(depth));
            rest = rest[end + 2..].trim_start();
            continue;
        }
        if letter == '"' {
            let end = rest[1..].find('"').map_or(rest.len(), |end| end + 2);
            page.push_str(&rest[..end]);
            rest = &rest[end..];
            continue;
        }
        // A map is one field, not a table of them.
        if letter == '{' && rest[1..].trim_start().starts_with('[') {
            let end = rest.find('}').map_or(rest.len(), |end| end + 1);
            page.push_str(&rest[..end]);
            rest = &rest[end..];
            continue;
        }
        rest = &rest[letter.len_utf8()..];
        match letter {
            '{' if rest.trim_start().starts_with('}') => {
                page.push_str("{}");
                rest = rest.trim_start().strip_prefix('}').unwrap_or(rest);
            }
            '{' => {
                depth += 1;
                page.push('{');
                line(&mut page, depth + usize::from(alternatives));
                rest = rest.trim_start();
            }
            '}' => {
                depth = depth.saturating_sub(1);
                line(&mut page, depth + usize::from(alternatives));
                page.push('}');
            }
            ',' if depth > 0 && inline == 0 => {
                page.push(';');
                rest = rest.trim_start();
                if !rest.starts_with('}') {
                    line(&mut page, depth + usize::from(alternatives));
                }
            }
            '<' | '(' | '[' => {
                inline += 1;
                page.push(letter);
            }
            '>' | ')' | ']' => {
                inline = inline.saturating_sub(1);
                page.push(letter);
            }
            '=' if alternatives && depth == 0 && inline == 0 => {
                page.push('=');
                line(&mut page, 1);
                page.push_str("| ");
                rest = rest.trim_start();
            }
            '|' if alternatives && depth == 0 && inline == 0 => {
                line(&mut page, 1);
                page.push_str("| ");
                rest = rest.trim_start();
            }
            '\n' => {}
            _ => page.push(letter),
        }
    }
    page
}

/// Whether a declaration is a choice between tables.
fn has_alternatives(text: &str) -> bool {
    text.split_once('=')
        .is_some_and(|(_, body)| body.trim_start().starts_with(['{', '(']) && body.contains("} | {"))
}

#[test]
fn declarations_are_laid_out() {
    assert_eq!(
        layout("type A = { \n/**\n * Words.\n */\na: string, b?: Array<B> | null, m: { [key in string]: B }, };"),
        "type A = {\n  /** Words. */\n  a: string;\n  b?: Array<B> | null;\n  m: { [key in string]: B };\n};"
    );
    assert_eq!(layout("type T = \"a\" | \"b\";"), "type T = \"a\" | \"b\";");
    assert_eq!(layout("type T = { };"), "type T = {};");
    let alternatives = layout("type T = { \"type\": \"a\" } | { \"type\": \"b\", x: number, };");
    assert_eq!(
        alternatives,
        "type T =\n  | {\n    \"type\": \"a\"\n  }\n  | {\n    \"type\": \"b\";\n    x: number;\n  };"
    );
}
