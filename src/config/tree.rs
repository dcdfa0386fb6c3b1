//! Configuration as it was written, before anything is made of it: TOML and JSON in one shape, each value
//! with its line.

use serde_json::{Map, Value};
use toml::de::{DeTable, DeValue};

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) data: Data,
    /// Counted from 1; known for files only.
    pub(crate) line: Option<u32>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Data {
    /// JSON only; counts as absent.
    Null,
    Flag(bool),
    Number(i64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Table(Vec<(String, Node)>),
}

impl Data {
    /// The kind of value, for messages.
    pub(crate) fn describe(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Flag(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Float(_) => "a number with a fraction",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

/// Why a file is no TOML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    pub(crate) message: String,
    /// Counted from 1.
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// Parses a file's text.
pub(crate) fn parse(text: &str) -> Result<Vec<(String, Node)>, SyntaxError> {
    let (entries, error) = parse_what_can_be(text);
    error.map_or(Ok(entries), Err)
}

/// What can be read of a file's text, also of a broken one, and what breaks it first.
pub(crate) fn parse_what_can_be(text: &str) -> (Vec<(String, Node)>, Option<SyntaxError>) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = LineStarts::of(text);
    let (table, errors) = DeTable::parse_recoverable(text);
    let error = errors.first().map(|error| {
        let at = error.span().map_or(text.len(), |span| span.start);
        let (line, column) = lines.place(text, at);
        SyntaxError {
            message: error.message().trim().replace('\n', "; "),
            line,
            column,
        }
    });
    (entries(table.get_ref(), &lines), error)
}

fn entries(table: &DeTable<'_>, lines: &LineStarts) -> Vec<(String, Node)> {
    let mut found: Vec<(usize, (String, Node))> = table
        .iter()
        .map(|(key, value)| {
            let at = key.span().start;
            let node = Node {
                data: data(value.get_ref(), lines),
                line: Some(lines.line(at)),
            };
            (at, (key.get_ref().to_string(), node))
        })
        .collect();
    // In the order of the file, so that reports are too.
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, entry)| entry).collect()
}

fn data(value: &DeValue<'_>, lines: &LineStarts) -> Data {
    match value {
        DeValue::String(text) => Data::Text(text.to_string()),
        DeValue::Boolean(flag) => Data::Flag(*flag),
        DeValue::Integer(number) => {
            let digits = number.as_str().replace('_', "");
            // Too large for a number is a text to whoever wants a number, which is what the report says.
            i64::from_str_radix(&digits, number.radix()).map_or(Data::Text(digits), Data::Number)
        }
        DeValue::Float(number) => number
            .as_str()
            .parse()
            .map_or(Data::Text(number.to_string()), Data::Float),
        DeValue::Datetime(time) => Data::Text(time.to_string()),
        DeValue::Array(list) => Data::List(
            list.iter()
                .map(|item| Node {
                    data: data(item.get_ref(), lines),
                    line: Some(lines.line(item.span().start)),
                })
                .collect(),
        ),
        DeValue::Table(table) => Data::Table(entries(table, lines)),
    }
}

/// The entries of a table that lies in others; none where there is no such table.
pub(super) fn table_at<'a>(entries: &'a [(String, Node)], way: &[&str]) -> &'a [(String, Node)] {
    way.iter().fold(entries, |entries, name| {
        match entries
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, node)| &node.data)
        {
            Some(Data::Table(inner)) => inner,
            _ => &[],
        }
    })
}

struct LineStarts(Vec<usize>);

impl LineStarts {
    fn of(text: &str) -> Self {
        let ends = text
            .bytes()
            .enumerate()
            .filter(|(_, byte)| *byte == b'\n')
            .map(|(at, _)| at + 1);
        Self(std::iter::once(0).chain(ends).collect())
    }

    fn line(&self, at: usize) -> u32 {
        let line = self.0.partition_point(|start| *start <= at);
        u32::try_from(line).unwrap_or(u32::MAX)
    }

    fn place(&self, text: &str, at: usize) -> (u32, u32) {
        let line = self.line(at);
        let start = self.0.get(line as usize - 1).copied().unwrap_or(0);
        let column = text.get(start..at).map_or(0, |before| before.chars().count());
        (line, u32::try_from(column + 1).unwrap_or(u32::MAX))
    }
}

/// JSON in the same shape. Dots in the names of the top level lead into tables, parts with dots of their own
/// stand in quotes.
pub(super) fn of_json(map: &Map<String, Value>) -> Vec<(String, Node)> {
    let mut found = Vec::new();
    for (key, value) in map {
        insert(&mut found, &split(key), of_value(value));
    }
    found
}

fn insert(entries: &mut Vec<(String, Node)>, path: &[String], node: Node) {
    let Some((first, rest)) = path.split_first() else {
        return;
    };
    let at = entries.iter().position(|(name, _)| name == first);
    if rest.is_empty() {
        match at {
            Some(at) => join(&mut entries[at].1, node),
            None => entries.push((first.clone(), node)),
        }
        return;
    }
    let at = at.unwrap_or_else(|| {
        entries.push((
            first.clone(),
            Node {
                data: Data::Table(Vec::new()),
                line: None,
            },
        ));
        entries.len() - 1
    });
    let inner = &mut entries[at].1;
    if !matches!(inner.data, Data::Table(_)) {
        inner.data = Data::Table(Vec::new());
    }
    if let Data::Table(inner) = &mut inner.data {
        insert(inner, rest, node);
    }
}

/// `{"a.b": 1, "a": {"c": 2}}` means both.
fn join(old: &mut Node, new: Node) {
    match (&mut old.data, new.data) {
        (Data::Table(old), Data::Table(new)) => {
            for (name, node) in new {
                insert(old, &[name], node);
            }
        }
        (_, data) => old.data = data,
    }
}

fn of_value(value: &Value) -> Node {
    let data = match value {
        Value::Null => Data::Null,
        Value::Bool(flag) => Data::Flag(*flag),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => Data::Number(number),
            (None, Some(float)) => Data::Float(float),
            (None, None) => Data::Text(number.to_string()),
        },
        Value::String(text) => Data::Text(text.clone()),
        Value::Array(list) => Data::List(list.iter().map(of_value).collect()),
        Value::Object(map) => Data::Table(map.iter().map(|(key, value)| (key.clone(), of_value(value))).collect()),
    };
    Node { data, line: None }
}

/// The most parts of a dotted key that lead into tables; the deepest value that is known lies not half as deep.
const MOST_PARTS: usize = 16;

/// The parts of a dotted key. One with more than may lead into tables is reported under its own name.
fn split(key: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quote = None;
    for letter in key.chars() {
        match (quote, letter) {
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), _) if letter == open => quote = None,
            (None, '.') => parts.push(String::new()),
            _ => {
                if let Some(part) = parts.last_mut() {
                    part.push(letter);
                }
            }
        }
    }
    // A key with an empty part is no path; it is reported under its own name.
    if quote.is_some() || parts.iter().any(String::is_empty) || parts.len() > MOST_PARTS {
        vec![key.to_owned()]
    } else {
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_know_their_lines() {
        let text = "\u{feff}a = 1\r\n# words\n[t]\nb = [\n  'x',\n]\n[t.u]\nc.d = 0x1F\n";
        let entries = parse(text).unwrap();
        let Data::Table(t) = &entries[1].1.data else {
            panic!("{entries:?}")
        };
        let Data::Table(u) = &t[1].1.data else { panic!("{t:?}") };
        let Data::List(b) = &t[0].1.data else { panic!("{t:?}") };
        assert_eq!((entries[0].1.line, t[0].1.line, b[0].line), (Some(1), Some(4), Some(5)));
        let Data::Table(c) = &u[0].1.data else { panic!("{u:?}") };
        assert_eq!(
            (c[0].0.as_str(), &c[0].1),
            (
                "d",
                &Node {
                    data: Data::Number(31),
                    line: Some(8)
                }
            )
        );
    }

    #[test]
    fn broken_files_say_where() {
        for (text, line) in [
            ("a = \n", 1),
            ("a = 1\nb = [1,\n\nc", 2),
            ("a = 1\na = 2\n", 2),
            ("\n\nx y = 1", 3),
        ] {
            let error = parse(text).unwrap_err();
            assert!(
                error.line >= line && error.column >= 1 && !error.message.is_empty(),
                "{text:?} {error:?}"
            );
        }
    }

    #[test]
    fn dotted_names_lead_into_tables() {
        let map = json!({
            "model": "x",
            "a.b": 1,
            "a": { "c": [true] },
            "p.\"x.y\".z": "t",
            "broken..key": 1,
        });
        let entries = of_json(map.as_object().unwrap());
        let plain = |nodes: &[(String, Node)]| plain(nodes);
        assert_eq!(
            plain(&entries),
            json!({ "model": "x", "a": { "b": 1, "c": [true] }, "p": { "x.y": { "z": "t" } }, "broken..key": 1 })
        );
    }

    #[test]
    fn a_name_with_too_many_parts_leads_nowhere() {
        for (parts, is_path) in [(2, true), (MOST_PARTS, true), (MOST_PARTS + 1, false), (300_000, false)] {
            let key = vec!["a"; parts].join(".");
            let map = [(key.clone(), json!(1))].into_iter().collect();
            let entries = of_json(&map);
            assert_eq!(entries[0].0 == "a", is_path, "{parts}");
            assert_eq!(entries[0].0 == key, !is_path, "{parts}");
        }
    }

    fn plain(nodes: &[(String, Node)]) -> Value {
        nodes
            .iter()
            .map(|(name, node)| (name.clone(), value(node)))
            .collect::<Map<_, _>>()
            .into()
    }

    fn value(node: &Node) -> Value {
        match &node.data {
            Data::Null => Value::Null,
            Data::Flag(flag) => json!(flag),
            Data::Number(number) => json!(number),
            Data::Float(float) => json!(float),
            Data::Text(text) => json!(text),
            Data::List(list) => list.iter().map(value).collect(),
            Data::Table(entries) => plain(entries),
        }
    }
}
