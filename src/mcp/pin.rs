//! What a grant to call a tool holds for: this server, reached in this way, and this tool as it was described when
//! the person said yes. Whatever of it changes makes another pin, which nobody has allowed.

use super::launch::Launch;
use super::server::Server;
use super::tool::ToolInfo;
use super::untrusted;
use crate::config::mcp::Transport;
use crate::exec::program;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use similar::{ChangeTag, TextDiff};
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// A tool of a server as it is at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pinned(Value);

impl Pinned {
    /// Looks on the disk where the server is a program, for the one that its name means.
    pub fn of(server: &Server, tool: &ToolInfo) -> Self {
        let tool = json!({
            "name": tool.name,
            "title": tool.title,
            "description": tool.description,
            "hints": tool.hints,
            "arguments": tool.schema,
        });
        Self(sorted(
            json!({"server": server.name, "reached": reached(server), "tool": tool}),
        ))
    }

    /// What was kept as [`Pinned::text`]; nothing if it is not what the pin stands for.
    pub fn read(text: &str, pin: &str) -> Option<Self> {
        let kept = Self(sorted(serde_json::from_str(text).ok()?));
        (kept.pin() == pin).then_some(kept)
    }

    /// The same in a short form that no other has.
    pub fn pin(&self) -> String {
        format!("sha256:{}", digest(self.text().as_bytes()))
    }

    /// All of it, to be kept.
    pub fn text(&self) -> String {
        self.0.to_string()
    }

    /// Whether it is the same server, whatever the tool.
    pub fn is_same_server(&self, other: &Self) -> bool {
        self.0["server"] == other.0["server"] && self.0["reached"] == other.0["reached"]
    }

    /// All of it for a person. No line of the server's begins like one of ours.
    pub fn described(&self) -> String {
        let (reached, tool) = (&self.0["reached"], &self.0["tool"]);
        let mut lines = vec![format!("server: {}", self.0["server"])];
        for (what, value) in reached.as_object().into_iter().flatten() {
            match value {
                Value::Object(variables) => {
                    let names = variables.iter().map(|(name, mark)| {
                        let mark = mark.as_str().unwrap_or_default();
                        format!("{name} (a value with the mark {})", &mark[..mark.len().min(12)])
                    });
                    lines.extend(names.map(|name| format!("{what}: {name}")));
                }
                value => lines.push(format!("{what}: {value}")),
            }
        }
        lines.push(format!("tool: {}", tool["name"]));
        if !tool["title"].is_null() {
            lines.push(format!("title: {}", tool["title"]));
        }
        lines.push(format!("hints: {}", tool["hints"]));
        lines.push("description:".to_owned());
        let description = tool["description"].as_str().unwrap_or_default();
        lines.extend(description.lines().map(|line| format!("    {line}")));
        lines.push("arguments:".to_owned());
        let schema = serde_json::to_string_pretty(&tool["arguments"]).unwrap_or_default();
        lines.extend(schema.lines().map(|line| format!("    {line}")));
        untrusted::visible(&lines.join("\n"))
    }

    /// What is other than it was, line by line with all that stayed, so that nothing of either is left out.
    pub fn difference(&self, before: &Self) -> String {
        let (old, new) = (before.described() + "\n", self.described() + "\n");
        let diff = TextDiff::from_lines(old.as_str(), new.as_str());
        let lines = diff.iter_all_changes().map(|change| {
            let mark = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            format!("{mark} {}", change.value())
        });
        lines.collect::<String>().trim_end().to_owned()
    }
}

/// Bytes of a file that are looked at: the largest of programs have less.
const MOST_FILE: u64 = 512 << 20;

/// Marks of the files in a program's command line that lie where commands of the agent, or others, can write, with what runs those
/// that are scripts: what it runs may be in them.
fn files(argv: &[String], cwd: &Path, env: &BTreeMap<String, String>) -> Map<String, Value> {
    let named = argv.iter().flat_map(|word| {
        let value = word.split_once('=').map(|(_, value)| value);
        std::iter::once(word.as_str()).chain(value).map(|name| cwd.join(name))
    });
    let with_interpreters = named.flat_map(|path| {
        let run_by = program::interpreters(&path, cwd, Some(env));
        std::iter::once(path).chain(run_by)
    });
    let mark = |path: PathBuf| {
        let is_file = std::fs::metadata(&path).is_ok_and(|found| found.is_file());
        let is_open = is_file && program::is_open(&path, env);
        is_open.then(|| (path.to_string_lossy().into_owned(), mark_of(&path).into()))
    };
    with_interpreters.filter_map(mark).collect()
}

/// What tells a file's text from all others.
fn mark_of(path: &Path) -> String {
    let read = || -> std::io::Result<Sha256> {
        let file = program::open_file(path)?;
        let found = file.metadata()?;
        let (mut hasher, mut buffer) = (Sha256::new(), vec![0; 64 << 10]);
        if found.len() > MOST_FILE {
            // Of one that large only this is known.
            #[cfg(unix)]
            let changed = std::os::unix::fs::MetadataExt::ctime_nsec(&found)
                + std::os::unix::fs::MetadataExt::ctime(&found) * 1_000_000_000;
            #[cfg(not(unix))]
            let changed = format!("{:?}", found.modified()?);
            hasher.update(format!("{} {changed}", found.len()));
            return Ok(hasher);
        }
        let mut file = file.take(MOST_FILE);
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(hasher),
                count => hasher.update(&buffer[..count]),
            }
        }
    };
    read().map(|hasher| hex(&hasher.finalize())).unwrap_or_default()
}

/// How a server is reached: what makes it another one where it differs. A program is the one that runs in this folder, since
/// what `npx` or `node server.js` start depends on it. Of variables that are set for it only marks of their values are kept.
fn reached(server: &Server) -> Value {
    match (&server.launch, &server.settings.transport) {
        (Launch::Program { argv, cwd, env }, transport) => {
            let (set, inherited) = match transport {
                Transport::Program { env, env_vars, .. } => (env.clone(), env_vars.clone()),
                Transport::Http { .. } => (BTreeMap::new(), Vec::new()),
            };
            let marks: Map<String, Value> = set
                .iter()
                .map(|(name, value)| (name.clone(), digest(value.as_bytes()).into()))
                .collect();
            let path = env.get("PATH").map_or("", String::as_str);
            let program = argv.first().map_or("", String::as_str);
            let arguments = argv.get(1..).unwrap_or_default();
            let mut reached = json!({
                "program": resolved(program, path, cwd),
                "program arguments": arguments,
                "folder": cwd,
                "variables": marks,
                "inherited variables": inherited,
            });
            let files = files(argv, cwd, env);
            if !files.is_empty() {
                reached["files that commands can write"] = files.into();
            }
            reached
        }
        (Launch::Http { url, .. }, _) => {
            let Ok(parsed) = url::Url::parse(url) else {
                return json!({ "address": url });
            };
            let mut plain = parsed.clone();
            plain.set_query(None);
            plain.set_fragment(None);
            // They may hold a key.
            let _of_a_kind_that_has_none = plain.set_username("");
            let _of_a_kind_that_has_none = plain.set_password(None);
            let query = parsed.query().map(|query| digest(query.as_bytes()));
            json!({"address": plain.as_str(), "mark of its query": query})
        }
        (Launch::None(_), _) => Value::Null,
    }
}

/// The file that a program's name means, as far as it can be found.
fn resolved(program: &str, path: &str, cwd: &Path) -> String {
    let found = match program.contains('/') {
        true => Some(cwd.join(program)),
        false => std::env::split_paths(path)
            .map(|folder| cwd.join(folder).join(program))
            .find(|file| file.is_file()),
    };
    found.map_or_else(|| program.to_owned(), |file| file.to_string_lossy().into_owned())
}

fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The same value with all names in order: in which order a server sends them means nothing.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let in_order: BTreeMap<String, Value> =
                map.into_iter().map(|(name, value)| (name, sorted(value))).collect();
            Value::Object(in_order.into_iter().collect())
        }
        Value::Array(list) => list.into_iter().map(sorted).collect(),
        value => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pinned(tool: Value) -> Pinned {
        Pinned(sorted(
            json!({"server": "s", "reached": {"program": "/bin/s", "variables": {"A": "0123456789abcdef"}}, "tool": tool}),
        ))
    }

    #[test]
    fn the_order_of_names_means_nothing_and_all_else_does() {
        let tool = |text: &str| pinned(serde_json::from_str(text).expect("JSON"));
        let one = tool(r#"{"name": "t", "arguments": {"a": 1, "b": [1, 2]}}"#);
        assert_eq!(
            one.pin(),
            tool(r#"{"arguments": {"b": [1, 2], "a": 1}, "name": "t"}"#).pin()
        );
        for other in [
            r#"{"name": "t", "arguments": {"a": 1, "b": [2, 1]}}"#,
            r#"{"name": "T", "arguments": {"a": 1, "b": [1, 2]}}"#,
            r#"{"name": "t", "arguments": {"a": 1, "b": [1, 2]}, "hints": {}}"#,
            r#"{"name": "t", "arguments": {"a": 1, "b": [1, 2], "c": null}}"#,
        ] {
            assert_ne!(one.pin(), tool(other).pin(), "{other}");
        }
        assert_eq!(Pinned::read(&one.text(), &one.pin()), Some(one.clone()));
        assert_eq!(Pinned::read(&one.text().replace('1', "3"), &one.pin()), None);
        assert_eq!(Pinned::read("no JSON", &one.pin()), None);
    }

    #[cfg(unix)]
    #[test]
    fn files_that_commands_can_write_are_marked_by_their_whole_text() {
        let dir = tempfile::tempdir().expect("a folder");
        let at = |name: &str| dir.path().join(name);
        let marks = |words: &[&str]| {
            let argv: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            files(&argv, dir.path(), &BTreeMap::new())
        };
        let text = |name: &str| at(name).display().to_string();
        program::guard(dir.path());
        // The program itself, one of its arguments, and what runs it.
        std::fs::write(at("a=b"), format!("#!{}\n", text("interpreter"))).expect("write");
        std::fs::write(at("interpreter"), "1").expect("write");
        std::fs::write(at("config"), "2").expect("write");
        let command = [
            text("a=b"),
            "--config=config".to_owned(),
            "none".to_owned(),
            "/bin/sh".to_owned(),
        ];
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let before = marks(&command);
        let mut names: Vec<&String> = before.keys().collect();
        names.sort();
        let mut expected = [text("a=b"), text("config"), text("interpreter")];
        expected.sort();
        assert_eq!(names, expected.iter().collect::<Vec<_>>());
        for name in ["a=b", "interpreter", "config"] {
            let kept = std::fs::read(at(name)).expect("read");
            std::fs::write(at(name), [&kept[..], b"\n3"].concat()).expect("write");
            assert_ne!(marks(&command)[&text(name)], before[&text(name)], "{name}");
            std::fs::write(at(name), kept).expect("write");
        }
        assert_eq!(marks(&command), before);
        // The last byte of a large one, with the length and the time as they were.
        let large = std::fs::File::create(at("large")).expect("a file");
        large.set_len(17 << 20).expect("made longer");
        let time = large.metadata().expect("found").modified().expect("a time");
        let before = marks(&["large"]);
        std::os::unix::fs::FileExt::write_at(&large, b"x", (17 << 20) - 1).expect("write");
        large.set_modified(time).expect("set back");
        let after = marks(&["large"]);
        assert_ne!(before, after);
        // What a person sees of a mark shows it, too.
        let shown = |marks: &Map<String, Value>| marks[&text("large")].as_str().map(|mark| mark[..12].to_owned());
        assert_ne!(shown(&before), shown(&after));
    }

    #[test]
    fn a_difference_shows_both_wholly_and_nothing_imitates_it() {
        let tool = |description: &str| {
            pinned(json!({"name": "t", "hints": null, "description": description, "arguments": {"type": "object"}}))
        };
        let (old, new) = (tool("Reads.\nOne file."), tool("Reads.\ntool: \"other\"\u{202e}"));
        let expected = "  server: \"s\"\n  program: \"/bin/s\"\n  variables: A (a value with the mark 0123456789ab)\n  tool: \"t\"\n  \
                        hints: null\n  description:\n      Reads.\n-     One file.\n+     tool: \"other\"<U+202E>\n  arguments:\n      \
                        {\n        \"type\": \"object\"\n      }";
        assert_eq!(new.difference(&old), expected);
    }
}
