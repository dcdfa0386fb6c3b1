//! Text that build servers take for orders: they read what a step prints, and a line of the model's, or of a file that it shows, is not to
//! set variables or paths of the steps that follow.

use std::borrow::Cow;
use std::sync::LazyLock;

/// Variables of the servers that read orders, and the one that nearly all set.
const SERVERS: &[&str] = &["CI", "GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION"];
/// How orders begin that may stand anywhere in a line, in small letters.
const ORDERS: &[&str] = &["##[", "##vso[", "##teamcity["];

/// Whether what is printed may be read so.
pub(super) fn are_read() -> bool {
    static ARE_READ: LazyLock<bool> = LazyLock::new(|| SERVERS.iter().any(|name| std::env::var_os(name).is_some()));
    *ARE_READ
}

/// Text in which no line is one: `##vso[…]`, `##[…]` and `##teamcity[…]` wherever they stand (Azure Pipelines, TeamCity), and
/// `::name::` where a line begins (GitHub Actions and what is made after it).
pub(super) fn undone(text: &str) -> Cow<'_, str> {
    if !text.contains("##") && !text.contains("::") {
        return Cow::Borrowed(text);
    }
    let line = |line: &str| {
        let mut line = line.to_owned();
        for order in ORDERS {
            while let Some(at) = line.to_ascii_lowercase().find(order) {
                line.insert(at + "##".len(), ' ');
            }
        }
        let begin = line.len() - line.trim_start().len();
        match line[begin..].strip_prefix("::") {
            Some(rest) => format!("{}: :{rest}", &line[..begin]),
            None => line,
        }
    };
    Cow::Owned(text.split('\n').map(line).collect::<Vec<_>>().join("\n"))
}

/// The same for JSON, which stays what it was.
pub(super) fn undone_in_json(json: &str) -> Cow<'_, str> {
    match json.contains("##") {
        true => Cow::Owned(json.replace("##", "\\u0023\\u0023")),
        false => Cow::Borrowed(json),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_an_order() {
        for (text, expected) in [
            ("Done.", "Done."),
            ("Use `std::fs` and a::b.", "Use `std::fs` and a::b."),
            ("::add-mask::x", ": :add-mask::x"),
            ("One\n  ::error file=x::y\nend", "One\n  : :error file=x::y\nend"),
            ("a ##vso[task.prependpath]/x", "a ## vso[task.prependpath]/x"),
            ("##VSO[x] ##vso[y]", "## VSO[x] ## vso[y]"),
            (
                "##teamcity[setParameter name='a']",
                "## teamcity[setParameter name='a']",
            ),
            ("###[group]x", "### [group]x"),
            ("## Findings\n### One", "## Findings\n### One"),
        ] {
            assert_eq!(undone(text), expected);
        }
        let json = serde_json::json!({"text": "##vso[x] ###"}).to_string();
        let undone = undone_in_json(&json);
        assert!(!undone.contains("##"), "{undone}");
        let value: serde_json::Value = serde_json::from_str(&undone).expect("JSON");
        assert_eq!(value["text"], "##vso[x] ###");
    }
}
