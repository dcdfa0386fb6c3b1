//! Bringing along what the reference system's home folder holds: settings, instructions, prompts and, if that is asked for,
//! the login. What is there already stays as it is.

use super::check::{Checker, Layer};
use super::edit::{self, Edit, EditError, key_path};
use super::keys::{self, At, Below, KEYS, Key};
use super::layers::{File, read_text};
use super::redact::{is_secret, redact};
use super::tree::{Data, Node};
use crate::private;
use serde_json::{Map, Value};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// What lies in such a folder besides settings, and why it stays there. Instructions, prompts and the login are brought along.
const STAYS: [(&str, &str); 12] = [
    (
        "sessions",
        "conversations stay there, where `countersign thread list --codex` finds them",
    ),
    ("archived_sessions", "archived conversations stay there"),
    ("history.jsonl", "what was typed before stays there"),
    (
        "rules",
        "rules about commands stay there, since they allow what nobody was asked about here: look them through, and copy the files \
         that you want into the folder `rules` of the home folder",
    ),
    ("skills", "skills stay there: Countersign has none yet"),
    ("agents", "agents stay there: Countersign reads none from files"),
    (
        "AGENTS.override.md",
        "stays there: put what you need of it into AGENTS.md",
    ),
    ("hooks.json", "hooks stay there: Countersign runs none"),
    ("memories", "memories stay there: Countersign keeps none"),
    ("plugins", "plugins stay there: Countersign loads none"),
    ("themes", "themes stay there: they are the terminal's"),
    (
        ".credentials.json",
        "logins to MCP servers stay there: `countersign mcp login` makes new ones",
    ),
];

/// What would be done.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Keys of `config.toml` that are set, by their way.
    pub keys: Vec<(Vec<String>, Value)>,
    /// Files that are copied: from where, to where.
    pub files: Vec<(PathBuf, PathBuf)>,
    /// Keys and files that are here already, and stay as they are.
    pub kept: Vec<String>,
    /// What stays behind, and why.
    pub left: Vec<String>,
    /// The version of `config.toml` that this was made for.
    version: String,
    home: PathBuf,
}

/// Why nothing can be brought along.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("{} is no folder, so there is nothing to import. Say where the other home folder is: --from DIR.", .0.display())]
    NoFolder(PathBuf),
    #[error("{} is Countersign's own home folder.", .0.display())]
    Own(PathBuf),
    #[error("{} cannot be read: {cause}. Fix that, or remove the file there.", path.display())]
    Unreadable { path: PathBuf, cause: String },
    #[error(transparent)]
    Edit(#[from] EditError),
    #[error("{} could not be written: {cause}. What was written before stays.", path.display())]
    Write { path: PathBuf, cause: std::io::Error },
}

/// Looks what there is to bring along from a folder. Writes nothing.
///
/// # Errors
/// There is no such folder, or a file of configuration cannot be read.
///
/// `login`: where logins are kept here, if the one there is to come along.
pub fn plan(from: &Path, home: &Path, person: Option<&Path>, login: Option<&Path>) -> Result<Plan, ImportError> {
    if !from.is_dir() {
        return Err(ImportError::NoFolder(from.to_owned()));
    }
    if from
        .canonicalize()
        .ok()
        .is_some_and(|from| home.canonicalize().is_ok_and(|home| home == from))
    {
        return Err(ImportError::Own(from.to_owned()));
    }
    let mut plan = Plan {
        home: home.to_owned(),
        ..Plan::default()
    };
    plan.settings(&from.join("config.toml"), person)?;
    plan.file(from, "AGENTS.md");
    plan.prompts(from);
    plan.rest(from);
    match login {
        _ if !from.join("auth.json").is_file() => {}
        None => plan
            .left
            .push("auth.json: the login stays behind; --with-login brings it along".to_owned()),
        // One may also have been put into the home folder itself.
        Some(kept) => match [kept.to_owned(), home.join("auth.json")]
            .into_iter()
            .find(|place| place.symlink_metadata().is_ok())
        {
            Some(place) => plan.kept.push(place.display().to_string()),
            None => plan.files.push((from.join("auth.json"), kept.to_owned())),
        },
    }
    Ok(plan)
}

impl Plan {
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.files.is_empty()
    }

    fn settings(&mut self, path: &Path, person: Option<&Path>) -> Result<(), ImportError> {
        let own = self.home.join("config.toml");
        let unreadable = |path: &Path, cause: String| ImportError::Unreadable {
            path: path.to_owned(),
            cause,
        };
        let text = read_text(&own).map_err(|cause| unreadable(&own, cause.to_string()))?;
        self.version = edit::version(text.as_deref().unwrap_or_default());
        let entries = |path: &Path| match File::read(path) {
            File::Missing => Ok(Vec::new()),
            File::Parsed(entries) => Ok(entries),
            File::Unreadable(cause) => Err(unreadable(path, cause)),
            File::Open(trouble) => Err(unreadable(path, trouble.to_string())),
            File::Broken(error) => Err(unreadable(
                path,
                format!("line {}, column {}: {}", error.line, error.column, error.message),
            )),
        };
        let (theirs, ours) = (entries(path)?, entries(&own)?);
        let mut checker = Checker::new(Layer::Person, Some(path));
        checker.home = person;
        let values = checker.check(&theirs);
        let problems = checker
            .warnings
            .iter()
            .filter(|warning| !warning.message.contains("is not a known key"));
        let problem = |message: &str, line: Option<u32>| match line {
            Some(line) => format!("line {line}: {message}"),
            None => message.to_owned(),
        };
        self.left
            .extend(problems.map(|warning| problem(&warning.message, warning.line)));
        self.without_counterpart(&theirs, &mut Vec::new());
        self.leaves(&values, &ours, &mut Vec::new());
        Ok(())
    }

    /// Names the keys that mean nothing here.
    fn without_counterpart(&mut self, entries: &[(String, Node)], way: &mut Vec<String>) {
        for (name, node) in entries {
            way.push(name.clone());
            let below = keys::at(way);
            let line = node.line.map_or_else(String::new, |line| format!("line {line}: "));
            match (below, &node.data) {
                (None, _) if matches!(keys::below(&way[..way.len() - 1]), Below::Keys(_)) => {
                    self.left
                        .push(format!("{line}`{}` has no counterpart here", way.join(".")));
                }
                (Some(At::Key(Key { used: false, .. })), _) => {
                    self.left
                        .push(format!("{line}`{}` has no effect here yet", way.join(".")));
                }
                (Some(_), Data::Table(inner)) => self.without_counterpart(inner, way),
                _ => {}
            }
            way.pop();
        }
    }

    /// The values that are not here yet.
    fn leaves(&mut self, values: &Map<String, Value>, ours: &[(String, Node)], way: &mut Vec<String>) {
        for (name, value) in values {
            way.push(name.clone());
            let is_used = !matches!(keys::at(way), Some(At::Key(Key { used: false, .. })));
            let here = ours
                .iter()
                .find(|(known, _)| known == name || way.len() == 1 && keys::proper(KEYS, known) == name)
                .map(|(_, node)| &node.data);
            match (value, here) {
                _ if !is_used => {}
                // What somebody else called the same is another thing: half of each would be a third.
                (_, Some(_)) if is_id(way) => self.kept.push(format!("`{}`", way.join("."))),
                (Value::Object(inner), None | Some(Data::Table(_))) => {
                    let ours = match here {
                        Some(Data::Table(entries)) => entries.as_slice(),
                        _ => &[],
                    };
                    self.leaves(inner, ours, way);
                }
                (_, Some(_)) => self.kept.push(format!("`{}`", way.join("."))),
                (value, None) => self.keys.push((way.clone(), value.clone())),
            }
            way.pop();
        }
    }

    fn file(&mut self, from: &Path, name: &str) {
        let (from, to) = (from.join(name), self.home.join(name));
        match from.is_file() {
            false => {}
            true if to.symlink_metadata().is_ok() => self.kept.push(to.display().to_string()),
            true => self.files.push((from, to)),
        }
    }

    fn prompts(&mut self, from: &Path) {
        let found = std::fs::read_dir(from.join("prompts")).into_iter().flatten().flatten();
        let mut names: Vec<String> = found.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.retain(|name| name.ends_with(".md"));
        names.sort_unstable();
        for name in names {
            self.file(from, &format!("prompts/{name}"));
        }
    }

    /// Names what is there besides, and what becomes of it.
    fn rest(&mut self, from: &Path) {
        let there = STAYS
            .iter()
            .filter(|(name, _)| from.join(name).symlink_metadata().is_ok());
        self.left.extend(there.map(|(name, why)| format!("{name}: {why}")));
    }

    /// What it would do, in lines. Secrets are not shown; else nothing hides in them, whatever the other files say.
    pub fn in_words(&self) -> String {
        use crate::shown::exact;
        let mut text = String::new();
        let mut part = |title: String, lines: Vec<String>| {
            if !lines.is_empty() {
                text.push_str(&format!("{}\n", exact(&title)));
                lines
                    .iter()
                    .for_each(|line| text.push_str(&format!("  {}\n", exact(line))));
            }
        };
        let keys = self
            .keys
            .iter()
            .map(|(way, value)| format!("{} = {}", key_path(way), shown(way, value)));
        part(
            format!("Set in {}:", self.home.join("config.toml").display()),
            keys.collect(),
        );
        let files = self
            .files
            .iter()
            .map(|(from, to)| format!("{} from {}", to.display(), from.display()));
        part("Copied:".to_owned(), files.collect());
        part("Here already, and left as it is:".to_owned(), self.kept.clone());
        part("Stays behind:".to_owned(), self.left.clone());
        text
    }

    /// Does it. Nothing that is there is written over.
    ///
    /// # Errors
    /// `config.toml` has changed since the plan was made or cannot be written, or a file cannot.
    pub fn carry_out(&self) -> Result<(), ImportError> {
        let edits: Vec<Edit> = self
            .keys
            .iter()
            .map(|(way, value)| Edit {
                key_path: key_path(way),
                value: Some(value.clone()),
            })
            .collect();
        if !edits.is_empty() {
            edit::write(&self.home.join("config.toml"), &edits, Some(&self.version))?;
        }
        for (from, to) in &self.files {
            let failed = |cause| ImportError::Write {
                path: to.clone(),
                cause,
            };
            copy(from, to).map_err(failed)?;
        }
        Ok(())
    }
}

/// Whether this is the way of a whole that a person has named, such as a provider or an MCP server.
fn is_id(way: &[String]) -> bool {
    way.len() == 2
        && matches!(
            way[0].as_str(),
            "model_providers" | "mcp_servers" | "profiles" | "permissions"
        )
}

/// A value, unless it is a secret. All are written as they are, so what a program does by them is shown before the yes; what is
/// hidden goes only to whom the lines beside it name, and the terminal may keep what it shows.
fn shown(way: &[String], value: &Value) -> String {
    if let [.., table, name] = way
        && matches!(table.as_str(), "env" | "set")
        && (steers(name) || !is_secret(name))
    {
        return value.to_string();
    }
    let whole = way.iter().rev().fold(value.clone(), |value, part| {
        Value::Object([(part.clone(), value)].into_iter().collect())
    });
    let mut whole = whole;
    redact(&mut whole);
    let inner = way.iter().try_fold(&whole, |value, part| value.get(part));
    inner.map(Value::to_string).unwrap_or_default()
}

/// Whether a variable names what is started or read, though its name sounds like a secret's.
fn steers(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let ends = ["command", "_cmd", "_program", "_helper", "_file", "_path", "_dir"];
    name.starts_with("git_config_") || ends.iter().any(|end| name.ends_with(end))
}

/// Copies a file for the person alone, if there is none yet.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    if let Some(folder) = to.parent() {
        private::make_folder(folder)?;
    }
    let bytes = std::fs::read(from)?;
    let mut file = private::create_new(to)?;
    file.write_all(&bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_programs_do_is_shown_and_what_is_secret_is_not() {
        for (way, value, expected) in [
            (
                &["mcp_servers", "x", "env", "GIT_SSH_COMMAND"][..],
                "sh -c evil",
                "\"sh -c evil\"",
            ),
            (
                &["mcp_servers", "x", "env", "GIT_CONFIG_KEY_0"],
                "core.pager",
                "\"core.pager\"",
            ),
            (
                &["mcp_servers", "x", "env", "RESTIC_PASSWORD_COMMAND"],
                "evil",
                "\"evil\"",
            ),
            (&["mcp_servers", "x", "env", "NODE_OPTIONS"], "-r evil", "\"-r evil\""),
            (&["mcp_servers", "x", "env", "API_TOKEN"], "hush", "\"<hidden>\""),
            (
                &["shell_environment_policy", "set", "LD_PRELOAD"],
                "/evil.so",
                "\"/evil.so\"",
            ),
            (
                &["shell_environment_policy", "set", "MY_SECRET"],
                "hush",
                "\"<hidden>\"",
            ),
            (&["mcp_servers", "x", "http_headers", "X-Any"], "hush", "\"<hidden>\""),
            (
                &["model_providers", "x", "experimental_bearer_token"],
                "hush",
                "\"<hidden>\"",
            ),
            (&["mcp_servers", "x", "command"], "/bin/sh", "\"/bin/sh\""),
        ] {
            let way: Vec<String> = way.iter().map(|&part| part.to_owned()).collect();
            assert_eq!(shown(&way, &value.into()), expected, "{way:?}");
        }
    }
}
