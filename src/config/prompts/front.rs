//! The head of a prompt's file, between two lines of three dashes: the little of YAML that a head needs, read by hand, so
//! that each problem has its line.

/// One argument of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Argument {
    pub name: String,
    /// What to give, for the person.
    pub hint: Option<String>,
    /// What stands in where nothing is given; without it the argument must be given.
    pub default: Option<String>,
}

/// What the head says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Front {
    pub description: Option<String>,
    pub argument_hint: Option<String>,
    pub arguments: Vec<Argument>,
    /// For code: offered on a selection.
    pub code: bool,
}

type Problem = (u32, String);

/// A file as its head, its text, and the lines of the head that were not understood. Nothing of the file can be used where
/// the head has no end.
pub(super) fn split(text: &str) -> Result<(Front, &str, Vec<Problem>), Problem> {
    let Some(rest) = text.strip_prefix("---\n") else {
        return match text.trim_end() == "---" {
            true => Err((1, "its head begins with --- and has no end".to_owned())),
            false => Ok((Front::default(), text, Vec::new())),
        };
    };
    let mut length = 0;
    for line in rest.split_inclusive('\n') {
        if matches!(line.trim_end(), "---" | "...") {
            let (front, problems) = read(&rest[..length]);
            return Ok((front, &rest[length + line.len()..], problems));
        }
        length += line.len();
    }
    let why = "its head begins with --- in the first line and has no such line at its end";
    Err((1, why.to_owned()))
}

/// A line of the head that says something.
struct Line<'t> {
    number: u32,
    indent: usize,
    text: &'t str,
}

fn read(head: &str) -> (Front, Vec<Problem>) {
    let mut front = Front::default();
    let mut problems = Vec::new();
    let lines: Vec<Line<'_>> = head
        .lines()
        .zip(2..)
        .map(|(line, number)| Line {
            number,
            indent: line.len() - line.trim_start_matches(' ').len(),
            text: line.trim_end().trim_start_matches(' '),
        })
        .filter(|line| !line.text.is_empty() && !line.text.starts_with('#'))
        .collect();
    let mut lines = lines.into_iter().peekable();
    while let Some(line) = lines.next() {
        let pair = key_and_value(line.text).filter(|_| line.indent == 0);
        let Some((key, value)) = pair else {
            problems.push((
                line.number,
                format!("{:?} is not understood; a line is `key: value`.", line.text),
            ));
            continue;
        };
        let mut below = Vec::new();
        while let Some(more) = lines.next_if(|more| more.indent > 0 || more.text.starts_with("- ") || more.text == "-")
        {
            below.push(more);
        }
        let text = |value: &str| {
            let folded: Vec<&str> = below.iter().map(|line| line.text).collect();
            match value {
                // Text over several lines.
                "" | "|" | "|-" | ">" | ">-" => folded.join(if value.starts_with('|') { "\n" } else { " " }),
                value => scalar(value),
            }
        };
        match key.to_ascii_lowercase().replace('_', "-").as_str() {
            "description" => front.description = Some(text(value)).filter(|text| !text.is_empty()),
            "argument-hint" => front.argument_hint = Some(hint(value, &text(value))).filter(|text| !text.is_empty()),
            "code" => match scalar(value).to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" => front.code = true,
                "false" | "no" | "off" => front.code = false,
                _ => problems.push((line.number, format!("`code` is true or false, not {value:?}."))),
            },
            "arguments" | "args" => arguments(value, &line, &below, &mut front, &mut problems),
            // Heads are written for other programs, too.
            _ => {}
        }
    }
    (front, problems)
}

/// A hint is often written in brackets, which is a list elsewhere.
fn hint(value: &str, text: &str) -> String {
    if value.starts_with('[') {
        value.to_owned()
    } else {
        text.to_owned()
    }
}

fn key_and_value(text: &str) -> Option<(&str, &str)> {
    let (key, value) = text.split_once(':')?;
    let plain = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "-_".contains(c));
    (plain && (value.is_empty() || value.starts_with([' ', '\t']))).then(|| (key, value.trim()))
}

/// A value without its quotes, and without a comment behind it.
fn scalar(value: &str) -> String {
    for quote in ['"', '\''] {
        let Some(inner) = value.strip_prefix(quote) else {
            continue;
        };
        let mut text = String::new();
        let mut chars = inner.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\\' if quote == '"' => match chars.next() {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some(other) => text.push(other),
                    None => {}
                },
                '\'' if quote == '\'' && chars.peek() == Some(&'\'') => {
                    chars.next();
                    text.push('\'');
                }
                c if c == quote => break,
                c => text.push(c),
            }
        }
        return text;
    }
    value.split(" #").next().unwrap_or(value).trim().to_owned()
}

fn arguments(value: &str, line: &Line<'_>, below: &[Line<'_>], front: &mut Front, problems: &mut Vec<Problem>) {
    let mut all: Vec<(u32, Argument)> = Vec::new();
    let named = |name: &str| Argument {
        name: scalar(name),
        ..Argument::default()
    };
    if !value.is_empty() {
        let inner = value
            .strip_prefix('[')
            .map_or(value, |inner| inner.trim_end_matches(']'));
        let names = inner.split([',', ' ']).map(str::trim).filter(|name| !name.is_empty());
        all.extend(names.map(|name| (line.number, named(name))));
    }
    let mut in_item = false;
    for line in below {
        let (text, begins) = match line.text.strip_prefix('-') {
            Some(rest) => (rest.trim_start(), true),
            None => (line.text, false),
        };
        match (key_and_value(text), begins) {
            // `- name: x`, or one more field of it.
            (Some((key, value)), begins) if begins || in_item => {
                if begins {
                    all.push((line.number, Argument::default()));
                    in_item = true;
                }
                let Some((_, argument)) = all.last_mut() else { continue };
                match key {
                    "name" => argument.name = scalar(value),
                    "description" | "hint" => argument.hint = Some(scalar(value)),
                    "default" => argument.default = Some(scalar(value)),
                    "required" if scalar(value) == "false" => {
                        argument.default.get_or_insert_default();
                    }
                    _ => {}
                }
            }
            // `x: what it is`.
            (Some((name, hint)), _) => all.push((
                line.number,
                Argument {
                    hint: Some(scalar(hint)).filter(|hint| !hint.is_empty()),
                    ..named(name)
                },
            )),
            (None, true) => {
                in_item = false;
                all.push((line.number, named(text)));
            }
            (None, false) => problems.push((line.number, format!("{text:?} is no argument; write `- name`."))),
        }
    }
    for (number, argument) in all {
        let name = &argument.name;
        if !is_argument(name) {
            problems.push((
                number,
                format!("{name:?} is no name of an argument; it has letters, digits and _ and begins with a letter."),
            ));
        } else if front
            .arguments
            .iter()
            .any(|known| known.name.eq_ignore_ascii_case(name))
        {
            problems.push((number, format!("There are two arguments named {name}.")));
        } else {
            front.arguments.push(argument);
        }
    }
}

pub(super) fn is_argument(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argument(name: &str, hint: Option<&str>, default: Option<&str>) -> Argument {
        Argument {
            name: name.to_owned(),
            hint: hint.map(str::to_owned),
            default: default.map(str::to_owned),
        }
    }

    #[test]
    fn heads_by_table() {
        let front = |description: Option<&str>, arguments: Vec<Argument>, code| Front {
            description: description.map(str::to_owned),
            arguments,
            code,
            argument_hint: None,
        };
        let two = vec![
            argument("file", None, None),
            argument("style", Some("how"), Some("plain")),
        ];
        for (text, expected, body, lines) in [
            (
                "Text only\n---\nx",
                front(None, vec![], false),
                "Text only\n---\nx",
                vec![],
            ),
            ("---\n---\nx", front(None, vec![], false), "x", vec![]),
            (
                "---\ndescription: \"a: b # c\"\n---\nx",
                front(Some("a: b # c"), vec![], false),
                "x",
                vec![],
            ),
            (
                "---\ndescription: 'it''s' # why\n---\nx",
                front(Some("it's"), vec![], false),
                "x",
                vec![],
            ),
            (
                "---\ndescription: >\n  two\n  lines\n---\nx",
                front(Some("two lines"), vec![], false),
                "x",
                vec![],
            ),
            (
                "---\ncode: yes\nmodel: other\n---\n\nx",
                front(None, vec![], true),
                "\nx",
                vec![],
            ),
            ("---\ncode: perhaps\n---\nx", front(None, vec![], false), "x", vec![2]),
            (
                "---\n\n# why\nnonsense\ndescription: d\n---\nx",
                front(Some("d"), vec![], false),
                "x",
                vec![4],
            ),
            (
                "---\narguments: [file, a-b]\n---\nx",
                front(None, vec![argument("file", None, None)], false),
                "x",
                vec![2],
            ),
            (
                "---\narguments:\n  - file\n  - name: style\n    hint: how\n    default: plain\n---\nx",
                front(None, two.clone(), false),
                "x",
                vec![],
            ),
            (
                "---\narguments:\n- file\n- file\n---\nx",
                front(None, vec![argument("file", None, None)], false),
                "x",
                vec![4],
            ),
            (
                "---\narguments:\n  file: which\n  other:\n---\nx",
                front(
                    None,
                    vec![argument("file", Some("which"), None), argument("other", None, None)],
                    false,
                ),
                "x",
                vec![],
            ),
        ] {
            let (got, rest, problems) = split(text).expect(text);
            assert_eq!(got, expected, "{text}");
            assert_eq!(rest, body, "{text}");
            let numbers: Vec<u32> = problems.iter().map(|(line, _)| *line).collect();
            assert_eq!(numbers, lines, "{text} {problems:?}");
        }
        for text in ["---\ndescription: x\n", "---", "---\n"] {
            assert_eq!(split(text).expect_err(text).0, 1, "{text}");
        }
        let (front, ..) = split("---\nargument-hint: [file] [style]\n---\nx").expect("a head");
        assert_eq!(front.argument_hint.as_deref(), Some("[file] [style]"));
    }
}
