//! One table of a file, held against what a rule or a permission can be.

use super::{Decision, Place, Rule, Rules, Standing, StandingTool};
use crate::config::tree::{Data, Node};
use crate::exec::command::{display, plain_commands};
use crate::protocol::config::ConfigWarning;
use crate::protocol::permission::Permission;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

const KEYS: &[&str] = &[
    "prefix",
    "decision",
    "sandbox",
    "paths",
    "folder",
    "hosts",
    "options",
    "reason",
    "match",
    "not_match",
];

/// Puts what stands in one file to the rules that were read before.
pub(super) struct Reader<'a> {
    rules: &'a mut Rules,
    file: &'a Path,
    /// It belongs to a project, so it can only tighten.
    is_project: bool,
}

/// A rule as far as it could be read.
#[derive(Default)]
struct Draft {
    prefix: Option<Vec<Vec<String>>>,
    decision: Option<Decision>,
    outside: bool,
    here: bool,
    folder: Option<PathBuf>,
    hosts: Option<Vec<String>>,
    options: Option<Vec<String>>,
    reason: Option<String>,
    examples: Vec<Example>,
    /// Something in it is not as it should be.
    broken: bool,
}

/// A command that a rule must take, or must leave alone.
struct Example {
    commands: Vec<Vec<String>>,
    text: String,
    taken: bool,
    line: u32,
}

impl<'a> Reader<'a> {
    pub(super) fn new(rules: &'a mut Rules, file: &'a Path, is_project: bool) -> Self {
        Self {
            rules,
            file,
            is_project,
        }
    }

    /// Tells the person what to mend.
    pub(super) fn report(&mut self, message: String, line: Option<u32>) {
        self.rules.reports.push(ConfigWarning {
            message: crate::shown::line(&message),
            path: Some(self.file.to_owned()),
            line,
        });
    }

    /// Something here cannot be read at all. It may have been a deny, so nothing that only a rule allows runs unasked.
    pub(super) fn unreadable(&mut self, what: String, line: Option<u32>) {
        self.report(
            format!("{what} Until that is fixed no rule allows anything; those that ask and deny hold as far as they can be read."),
            line,
        );
        self.rules.unreadable.get_or_insert_with(|| self.file.to_owned());
    }

    /// Reads the top level of a file.
    pub(super) fn entries(&mut self, entries: &[(String, Node)]) {
        for (name, node) in entries {
            match (name.as_str(), &node.data) {
                ("rule" | "permission" | "tool", Data::List(list)) => {
                    for item in list {
                        let line = item.line.or(node.line);
                        match &item.data {
                            Data::Table(fields) if name == "rule" => self.rule(fields, line),
                            Data::Table(fields) if name == "tool" => self.tool(fields, line),
                            Data::Table(fields) => self.permission(fields, line),
                            other => self.not_a_table(name, other, line),
                        }
                    }
                }
                ("rule", Data::Table(fields)) => {
                    self.report(
                        "Write [[rule]] with two brackets, so that there can be more than one.".to_owned(),
                        node.line,
                    );
                    self.rule(fields, node.line);
                }
                ("rule" | "permission" | "tool", other) => self.not_a_table(name, other, node.line),
                _ => self.unreadable(
                    format!("`{name}` is not known here; a file of rules holds [[rule]], [[permission]] and [[tool]] tables."),
                    node.line,
                ),
            }
        }
    }

    /// The same of a broken file: what is no rule there is not worth another report.
    pub(super) fn only_tables(&mut self, entries: &[(String, Node)]) {
        for entry in entries
            .iter()
            .filter(|(name, _)| matches!(name.as_str(), "rule" | "permission" | "tool"))
        {
            self.entries(std::slice::from_ref(entry));
        }
    }

    fn not_a_table(&mut self, name: &str, data: &Data, line: Option<u32>) {
        let message = format!(
            "`{name}` must be tables, each below a line [[{name}]], but it is {}.",
            data.describe()
        );
        match name {
            "rule" => self.unreadable(message, line),
            _ => self.report(message, line),
        }
    }

    /// Reads a rule; `line` is where it begins.
    pub(super) fn rule(&mut self, fields: &[(String, Node)], line: Option<u32>) {
        let place = Place {
            path: self.file.to_owned(),
            line: line.unwrap_or(1),
        };
        let mut draft = Draft::default();
        for (name, node) in fields {
            if let Err(problem) = draft.field(name, node) {
                draft.broken = true;
                self.report(problem, node.line.or(line));
            }
        }
        let given = |name: &str| fields.iter().any(|(known, _)| known == name);
        for name in ["prefix", "decision"] {
            if !given(name) {
                draft.broken = true;
                self.report(
                    format!(
                        "The rule has no `{name}`. Give it {}.",
                        match name {
                            "prefix" => "the words that the commands begin with, as in prefix = [\"git\", \"push\"]",
                            _ => "one: \"allow\", \"ask\" or \"deny\"",
                        }
                    ),
                    line,
                );
            }
        }
        let tightens = matches!(draft.decision, Some(Decision::Ask | Decision::Deny));
        if tightens {
            let for_allow = ["sandbox", "paths", "folder", "hosts", "options"]
                .into_iter()
                .find(|name| given(name));
            if let Some(name) = for_allow {
                draft.broken = true;
                self.report(
                    format!("`{name}` is only for rules that allow; this rule holds without it."),
                    line,
                );
            }
        }
        let (prefix, decision) = match (draft.prefix, draft.decision) {
            (Some(prefix), Some(decision)) => (prefix, decision),
            // Half an allow is nothing; half of anything else may be a deny.
            (None, Some(Decision::Allow)) => {
                self.report("The rule is not used.".to_owned(), line);
                return;
            }
            _ => {
                self.unreadable("The rule cannot be used.".to_owned(), line);
                return;
            }
        };
        let rule = Rule {
            prefix,
            decision,
            outside: draft.outside,
            here: draft.here,
            folder: draft.folder,
            hosts: draft.hosts,
            options: draft.options,
            reason: draft.reason,
            place,
        };
        let mut failed = false;
        for example in &draft.examples {
            let takes = example.commands.iter().any(|command| rule.takes(command));
            if takes != example.taken {
                failed = true;
                let words = match example.taken {
                    true => "is to fall under the rule, but does not",
                    false => "is not to fall under the rule, but does",
                };
                self.report(
                    format!("The example `{}` {words}.", example.text),
                    Some(example.line).filter(|line| *line > 0).or(line),
                );
            }
        }
        match decision {
            Decision::Allow if self.is_project => self.report(
                format!(
                    "A project can only tighten what may happen without asking: the rule that allows `{}` is not used. If you \
                     want it, put it into a file of rules in your own home folder.",
                    rule.prefix_in_words()
                ),
                line,
            ),
            Decision::Allow if failed || draft.broken => {
                self.report(format!("The rule that allows `{}` is not used until it is fixed.", rule.prefix_in_words()), line);
            }
            Decision::Ask | Decision::Deny if failed || draft.broken => {
                self.report(
                    format!(
                        "The rule holds all the same: it is a {} on `{}`.",
                        decision.as_str(),
                        rule.prefix_in_words()
                    ),
                    line,
                );
                self.rules.rules.push(rule);
            }
            _ => self.rules.rules.push(rule),
        }
    }

    /// A tool of a server that may be called without asking.
    fn tool(&mut self, fields: &[(String, Node)], line: Option<u32>) {
        if self.is_project {
            let message = "A project cannot allow tools of servers; this one asks as before. If you want it, put it into a file of \
                           rules in your own home folder.";
            return self.report(message.to_owned(), line);
        }
        let text = |wanted: &str| {
            fields.iter().find_map(|(name, node)| match &node.data {
                Data::Text(text) if name == wanted && !text.is_empty() => Some(text.clone()),
                _ => None,
            })
        };
        let strange = fields
            .iter()
            .find(|(name, _)| !matches!(name.as_str(), "server" | "tool" | "decision" | "pin"));
        let pin = text("pin");
        let has_odd_pin = pin.is_none() && fields.iter().any(|(name, _)| name == "pin");
        match (text("server"), text("tool"), text("decision").as_deref(), strange) {
            (Some(server), Some(tool), Some("allow"), None) if !has_odd_pin => {
                let place = Place {
                    path: self.file.to_owned(),
                    line: line.unwrap_or(1),
                };
                self.rules.tools.push(StandingTool {
                    server,
                    tool,
                    pin,
                    place,
                });
            }
            _ => self.report(
                "A [[tool]] has a `server`, a `tool`, `decision = \"allow\"` and the `pin` that was written with it, and nothing \
                 else; this one is not used."
                    .to_owned(),
                line,
            ),
        }
    }

    fn permission(&mut self, fields: &[(String, Node)], line: Option<u32>) {
        if self.is_project {
            let message = "A project cannot give permissions; this one is not used. If you want it, put it into a file of rules \
                           in your own home folder.";
            return self.report(message.to_owned(), line);
        }
        let folder = fields
            .iter()
            .find(|(name, _)| name == "folder")
            .map(|(_, node)| &node.data);
        let folder = match folder {
            None => None,
            Some(Data::Text(text)) if Path::new(text).is_absolute() => Some(PathBuf::from(text)),
            Some(_) => {
                let message = "`folder` must be an absolute path as a text; the permission is not used.";
                return self.report(message.to_owned(), line);
            }
        };
        let fields: Map<String, Value> = fields
            .iter()
            .filter(|(name, _)| name != "folder")
            .map(|(name, node)| (name.clone(), plain(node)))
            .collect();
        let unknown = |permission: &Permission| {
            let known = serde_json::to_value(permission).unwrap_or_default();
            fields.keys().find(|name| known.get(name.as_str()).is_none()).cloned()
        };
        match serde_json::from_value::<Permission>(Value::Object(fields.clone())) {
            Ok(permission) => match unknown(&permission) {
                None => self.rules.permissions.push(Standing {
                    folder,
                    permission,
                    place: Place {
                        path: self.file.to_owned(),
                        line: line.unwrap_or(1),
                    },
                }),
                Some(name) => {
                    self.report(
                        format!("`{name}` is not known in a permission of this type; the permission is not used."),
                        line,
                    );
                }
            },
            Err(error) => self.report(format!("The permission is not used: {error}."), line),
        }
    }
}

impl Draft {
    fn field(&mut self, name: &str, node: &Node) -> Result<(), String> {
        match name {
            "prefix" => self.prefix = Some(prefix(node)?),
            "decision" => {
                self.decision = Some(match text(name, node)? {
                    "allow" => Decision::Allow,
                    "ask" => Decision::Ask,
                    "deny" => Decision::Deny,
                    other => {
                        return Err(format!(
                            "`decision` cannot be {other:?}; it is \"allow\", \"ask\" or \"deny\"."
                        ));
                    }
                });
            }
            "sandbox" => {
                self.outside = match text(name, node)? {
                    "inside" => false,
                    "outside" => true,
                    other => {
                        return Err(format!(
                            "`sandbox` cannot be {other:?}; it is \"inside\" or \"outside\"."
                        ));
                    }
                };
            }
            "paths" => {
                self.here = match text(name, node)? {
                    "here" => true,
                    "any" => false,
                    other => return Err(format!("`paths` cannot be {other:?}; it is \"here\" or \"any\".")),
                };
            }
            "folder" => {
                let folder = Path::new(text(name, node)?);
                if !folder.is_absolute() {
                    return Err("`folder` must be an absolute path.".to_owned());
                }
                self.folder = Some(folder.to_owned());
            }
            "hosts" => {
                self.hosts = Some(
                    texts(name, node)?
                        .into_iter()
                        .map(|host| host.to_ascii_lowercase())
                        .collect(),
                )
            }
            "options" => self.options = Some(texts(name, node)?),
            "reason" => self.reason = Some(text(name, node)?.trim().to_owned()).filter(|reason| !reason.is_empty()),
            "match" | "not_match" => self.examples.extend(examples(name, node)?),
            _ => {
                let known = KEYS.join(", ");
                return Err(format!("`{name}` is not known in a rule, which can have {known}."));
            }
        }
        Ok(())
    }
}

fn text<'n>(name: &str, node: &'n Node) -> Result<&'n str, String> {
    match &node.data {
        Data::Text(text) => Ok(text),
        other => Err(format!("`{name}` must be a text, but it is {}.", other.describe())),
    }
}

fn texts(name: &str, node: &Node) -> Result<Vec<String>, String> {
    let Data::List(list) = &node.data else {
        return Err(format!(
            "`{name}` must be a list of texts, but it is {}.",
            node.data.describe()
        ));
    };
    list.iter().map(|item| text(name, item).map(str::to_owned)).collect()
}

fn prefix(node: &Node) -> Result<Vec<Vec<String>>, String> {
    let Data::List(list) = &node.data else {
        return Err(format!(
            "`prefix` must be a list of words, as in [\"git\", \"push\"], but it is {}.",
            node.data.describe()
        ));
    };
    let mut prefix = Vec::with_capacity(list.len());
    for item in list {
        let alternatives = match &item.data {
            Data::Text(word) => vec![word.clone()],
            Data::List(_) => texts("prefix", item)?,
            other => {
                return Err(format!(
                    "A word of `prefix` must be a text or a list of texts, but one is {}.",
                    other.describe()
                ));
            }
        };
        if alternatives.is_empty() {
            return Err("A list of alternatives in `prefix` is empty, so that nothing can match.".to_owned());
        }
        prefix.push(alternatives);
    }
    let Some(programs) = prefix.first() else {
        return Err("`prefix` is empty: it would match everything. Name at least the program.".to_owned());
    };
    for program in programs {
        if program.trim().is_empty() {
            return Err("The program in `prefix` is empty.".to_owned());
        }
        if program.contains(char::is_whitespace) && !program.contains('/') {
            return Err(format!(
                "The program in `prefix` is {program:?}; give each word of the command by itself, as in [\"git\", \"push\"]."
            ));
        }
        if program.contains('/') && !program.starts_with('/') {
            return Err(format!(
                "The program in `prefix` is {program:?}; give its name alone, or its whole path from the root."
            ));
        }
    }
    Ok(prefix)
}

/// The examples of a rule: each an argument list or shell text.
fn examples(name: &str, node: &Node) -> Result<Vec<Example>, String> {
    let wanted = || format!("`{name}` must be a list of examples, each a list of words or a text for the shell.");
    let Data::List(list) = &node.data else {
        return Err(wanted());
    };
    let mut examples = Vec::with_capacity(list.len());
    for item in list {
        let argv = match &item.data {
            Data::Text(text) => vec!["bash".to_owned(), "-c".to_owned(), text.clone()],
            Data::List(_) => texts(name, item)?,
            _ => return Err(wanted()),
        };
        let text = match &item.data {
            Data::Text(text) => text.clone(),
            _ => display(&argv),
        };
        let Some(commands) = plain_commands(&argv) else {
            return Err(format!("The example `{text}` in `{name}` is no plain command."));
        };
        examples.push(Example {
            commands,
            text,
            taken: name == "match",
            line: item.line.unwrap_or(0),
        });
    }
    Ok(examples)
}

fn plain(node: &Node) -> Value {
    match &node.data {
        Data::Null => Value::Null,
        Data::Flag(flag) => Value::from(*flag),
        Data::Number(number) => Value::from(*number),
        Data::Float(float) => Value::from(*float),
        Data::Text(text) => Value::from(text.clone()),
        Data::List(list) => list.iter().map(plain).collect(),
        Data::Table(entries) => {
            let entries = entries.iter().map(|(name, node)| (name.clone(), plain(node)));
            Value::Object(entries.collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::decide::{Folders, Scene};
    use crate::exec::rules::read::text_of_toml;

    fn read(text: &str, is_project: bool) -> Rules {
        let mut rules = Rules::default();
        text_of_toml(text, &mut Reader::new(&mut rules, Path::new("/r/x.toml"), is_project));
        rules
    }

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    /// Each row: the text of a rule, the rules in force by their decision, whether every allow is suspended, and for each
    /// report its line and some of its words.
    #[test]
    fn what_is_broken_is_reported_with_its_line_and_widens_nothing() {
        type Row<'r> = (&'r str, &'r str, bool, &'r [(u32, &'r str)]);
        let rows: &[Row<'_>] = &[
            (
                "[[rule]]\nprefix = [\"a\"]\ndecision = \"allow\"\n",
                "allow",
                false,
                &[],
            ),
            (
                "[[rule]]\nprefix = [\"a\", [\"b\", \"c\"]]\ndecision = \"deny\"\nreason = \"no\"\n",
                "deny",
                false,
                &[],
            ),
            ("", "", false, &[]),
            ("# nothing\n", "", false, &[]),
            // No decision, no prefix, nothing at all.
            (
                "[[rule]]\nprefix = [\"a\"]\n",
                "",
                true,
                &[(1, "no `decision`"), (1, "cannot be used")],
            ),
            (
                "\n[[rule]]\ndecision = \"deny\"\n",
                "",
                true,
                &[(2, "no `prefix`"), (2, "cannot be used")],
            ),
            (
                "\n[[rule]]\ndecision = \"allow\"\n",
                "",
                false,
                &[(2, "no `prefix`"), (2, "not used")],
            ),
            (
                "[[rule]]\n",
                "",
                true,
                &[(1, "no `prefix`"), (1, "no `decision`"), (1, "cannot be used")],
            ),
            // Words that are none.
            (
                "[[rule]]\nprefix = [\"a\"]\ndecision = \"maybe\"\n",
                "",
                true,
                &[(3, "\"maybe\""), (1, "cannot be used")],
            ),
            (
                "[[rule]]\nprefix = [\"a\"]\ndecision = \"allow\"\nsandbox = \"beside\"\n",
                "",
                false,
                &[(4, "\"beside\""), (1, "not used until")],
            ),
            (
                "[[rule]]\nprefix = [\"a\"]\ndecision = \"allow\"\npaths = \"there\"\n",
                "",
                false,
                &[(4, "\"there\""), (1, "not used until")],
            ),
            (
                "[[rule]]\nprefix = []\ndecision = \"allow\"\n",
                "",
                false,
                &[(2, "is empty"), (1, "not used")],
            ),
            (
                "[[rule]]\nprefix = \"git push\"\ndecision = \"deny\"\n",
                "",
                true,
                &[(2, "list of words"), (1, "cannot")],
            ),
            (
                "[[rule]]\nprefix = [\"git push\"]\ndecision = \"deny\"\n",
                "",
                true,
                &[(2, "by itself"), (1, "cannot")],
            ),
            (
                "[[rule]]\nprefix = [\"./x\"]\ndecision = \"allow\"\n",
                "",
                false,
                &[(2, "whole path"), (1, "not used")],
            ),
            (
                "[[rule]]\nprefix = [\"\"]\ndecision = \"allow\"\n",
                "",
                false,
                &[(2, "is empty"), (1, "not used")],
            ),
            (
                "[[rule]]\nprefix = [\"a\", []]\ndecision = \"deny\"\n",
                "",
                true,
                &[(2, "nothing can match"), (1, "cannot")],
            ),
            (
                "[[rule]]\nprefix = [\"a\", 3]\ndecision = \"allow\"\n",
                "",
                false,
                &[(2, "a number"), (1, "not used")],
            ),
            (
                "[[rule]]\nprefix = [\"a\", [3]]\ndecision = \"allow\"\n",
                "",
                false,
                &[(2, "a number"), (1, "not used")],
            ),
            // Keys that are not known: an allow is off, a deny holds.
            (
                "[[rule]]\nprefix = [\"a\"]\ndecision = \"allow\"\ndecison = \"deny\"\n",
                "",
                false,
                &[(4, "`decison` is not known"), (1, "not used until")],
            ),
            (
                "[[rule]]\nprefix = [\"a\"]\ndecision = \"deny\"\nwhy = \"x\"\n",
                "deny",
                false,
                &[(4, "`why` is not known"), (1, "holds all the same")],
            ),
            (
                "[[rule]]\nprefix = [\"a\"]\ndecision = \"ask\"\nsandbox = \"outside\"\n",
                "ask",
                false,
                &[(1, "only for rules that allow"), (1, "holds all the same")],
            ),
            // Examples.
            (
                "[[rule]]\nprefix = [\"a\"]\ndecision = \"allow\"\nmatch = [\"a b\", [\"a\", \"b c\"]]\nnot_match = [\"b a\"]\n",
                "allow",
                false,
                &[],
            ),
            (
                "[[rule]]\nprefix = [\"a\", \"b\"]\ndecision = \"allow\"\nmatch = [\n  \"a b\",\n  \"a c\",\n]\n",
                "",
                false,
                &[(6, "`a c` is to fall"), (1, "not used until")],
            ),
            (
                "[[rule]]\nprefix = [\"a\"]\ndecision = \"deny\"\nnot_match = [\"x; a\"]\n",
                "deny",
                false,
                &[(4, "`x; a` is not to fall"), (1, "holds all the same")],
            ),
            (
                "[[rule]]\nprefix = [\"a\"]\ndecision = \"allow\"\nmatch = [\"a $(b)\"]\n",
                "",
                false,
                &[(4, "no plain command"), (1, "not used until")],
            ),
            (
                "[[rule]]\nprefix = [\"a\"]\ndecision = \"allow\"\nmatch = \"a\"\n",
                "",
                false,
                &[(4, "list of examples"), (1, "not used until")],
            ),
            // Whole files.
            (
                "[rule]\nprefix = [\"a\"]\ndecision = \"deny\"\n",
                "deny",
                false,
                &[(1, "two brackets")],
            ),
            ("rules = 3\n", "", true, &[(1, "`rules` is not known here")]),
            ("rule = 3\n", "", true, &[(1, "must be tables")]),
            ("rule = [3]\n", "", true, &[(1, "must be tables")]),
            (
                "[[rule]]\nprefix = [\"a\"]\ndecision = \"deny\"\n\n[[rule]]\nprefix = [\"b\"\ndecision = \"allow\"\n",
                "deny",
                true,
                &[(7, "not valid TOML")],
            ),
        ];
        for (text, in_force, suspended, reports) in rows {
            let rules = read(text, false);
            let decisions: Vec<&str> = rules.iter().map(|rule| rule.decision.as_str()).collect();
            let expected: Vec<&str> = in_force.split_whitespace().collect();
            assert!(decisions.starts_with(&expected), "{text}\n{rules:#?}");
            assert_eq!(rules.unreadable().is_some(), *suspended, "{text}\n{rules:#?}");
            for (line, part) in *reports {
                let found = rules
                    .reports()
                    .iter()
                    .any(|report| report.line == Some(*line) && report.message.contains(part));
                assert!(found, "{text}\n{line} {part}\n{:#?}", rules.reports());
            }
            assert_eq!(
                reports.is_empty(),
                rules.reports().is_empty(),
                "{text}\n{:#?}",
                rules.reports()
            );
            let allows = |command: &str| {
                rules
                    .allowing(&words(command), &Folders::of(Scene::at(Path::new("/w"))))
                    .is_some()
            };
            assert!(!allows("b"), "{text}");
        }
    }

    #[test]
    fn a_project_only_tightens() {
        let text = "[[rule]]\nprefix = [\"a\"]\ndecision = \"allow\"\n[[rule]]\nprefix = [\"b\"]\ndecision = \"ask\"\n\
                    [[permission]]\ntype = \"network\"\n";
        let rules = read(text, true);
        assert_eq!(
            rules.iter().map(|rule| rule.decision).collect::<Vec<_>>(),
            [Decision::Ask]
        );
        assert!(rules.permissions_for(Path::new("/w")).is_empty());
        let lines: Vec<_> = rules.reports().iter().filter_map(|report| report.line).collect();
        assert_eq!(lines, [1, 7]);
        assert!(rules.reports().iter().all(|report| report.message.contains("project")));
    }

    #[test]
    fn permissions_by_table() {
        for (text, good) in [
            ("type = \"network\"\n", true),
            ("type = \"write\"\npath = \"/data\"\n", true),
            ("type = \"host\"\nhost = \"a.example\"\n", true),
            ("type = \"host\"\nhost = \"a.example\"\nport = 443\n", true),
            ("type = \"loopbackPort\"\nport = 5432\n", true),
            ("folder = \"/w\"\ntype = \"gitMetadata\"\nrepository = \"/w\"\n", true),
            ("folder = \"w\"\ntype = \"network\"\n", false),
            ("type = \"everything\"\n", false),
            ("type = \"write\"\n", false),
            ("type = \"loopbackPort\"\nport = 99999\n", false),
            ("type = \"network\"\nhost = \"a.example\"\n", false),
            ("", false),
        ] {
            let rules = read(&format!("[[permission]]\n{text}"), false);
            assert_eq!(
                rules.permissions_for(Path::new("/w/sub")).len(),
                usize::from(good),
                "{text}"
            );
            assert_eq!(rules.reports().is_empty(), good, "{text} {:?}", rules.reports());
            assert!(rules.unreadable().is_none(), "{text}");
        }
        let rules = read("[[permission]]\nfolder = \"/w\"\ntype = \"network\"\n", false);
        assert!(rules.permissions_for(Path::new("/www")).is_empty());
    }
}
