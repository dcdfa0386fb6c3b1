//! Layers: where they come from, in which order they count, and what a project may not do.

use super::check::{Checker, Layer};
use super::keys::{self, KEYS};
use super::tree::{self, Data, Node};
use crate::protocol::config::ConfigWarning;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Nobody writes this much configuration; a device or a log that got there by a link does.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

/// What a file says.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum File {
    Missing,
    /// There, but it cannot be read.
    Unreadable(String),
    Broken(tree::SyntaxError),
    Parsed(Vec<(String, Node)>),
}

impl File {
    pub(super) fn read(path: &Path) -> Self {
        match read_text(path) {
            Ok(None) => Self::Missing,
            Ok(Some(text)) => Self::of(&text),
            Err(cause) => Self::Unreadable(cause.to_string()),
        }
    }

    pub(super) fn of(text: &str) -> Self {
        match tree::parse(text) {
            Ok(entries) => Self::Parsed(entries),
            Err(error) => Self::Broken(error),
        }
    }

    /// The entries, or a warning that says why there are none.
    pub(super) fn entries(self, path: &Path, warnings: &mut Vec<ConfigWarning>) -> Vec<(String, Node)> {
        let (message, line) = match self {
            Self::Missing => return Vec::new(),
            Self::Parsed(entries) => return entries,
            Self::Unreadable(cause) => (
                format!("The file cannot be read, so nothing in it is used: {cause}."),
                None,
            ),
            Self::Broken(error) => (
                format!(
                    "The file is not valid TOML, so nothing in it is used: line {}, column {}: {}.",
                    error.line,
                    error.column,
                    error.message.trim_end_matches('.')
                ),
                Some(error.line),
            ),
        };
        warnings.push(ConfigWarning {
            message,
            path: Some(path.to_owned()),
            line,
        });
        Vec::new()
    }
}

/// The text of a regular file; `None` if there is none.
pub(crate) fn read_text(path: &Path) -> std::io::Result<Option<String>> {
    read_text_up_to(path, MOST_BYTES)
}

/// The same where another number of bytes is too many.
pub(super) fn read_text_up_to(path: &Path, most: u64) -> std::io::Result<Option<String>> {
    let invalid = |text: &str| std::io::Error::new(std::io::ErrorKind::InvalidData, text);
    match std::fs::metadata(path) {
        Err(error)
            if matches!(
                error.kind(),
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error),
        // Opening a pipe would wait for its other end.
        Ok(meta) if !meta.is_file() => return Err(invalid("it is not a file")),
        Ok(_) => {}
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(invalid("it is too large"));
    }
    String::from_utf8(bytes)
        .map(Some)
        .map_err(|_| invalid("it is not UTF-8 text"))
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// `built-in`, a file's path, `profile NAME`, `projects`, `editor` or `request`.
    pub layer: String,
    pub file: Option<PathBuf>,
    /// Counted from 1.
    pub line: Option<u32>,
}

impl Origin {
    /// As a part of a sentence.
    pub fn in_words(&self) -> String {
        let place = match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{}:{line}", file.display()),
            (Some(file), None) => file.display().to_string(),
            (None, _) => {
                return match self.layer.as_str() {
                    "editor" => "the editor's settings".to_owned(),
                    "projects" => "the project that you do not trust".to_owned(),
                    other => other.to_owned(),
                };
            }
        };
        match self.layer.strip_prefix("profile ") {
            Some(name) => format!("profile {name} in {place}"),
            None => place,
        }
    }
}

/// The origin of each single value, by its way through the tables.
pub type Origins = BTreeMap<Vec<String>, Origin>;

/// A layer's name and what it was read from.
#[derive(Clone, Copy)]
pub(super) struct From<'a> {
    pub(super) layer: &'a str,
    pub(super) file: Option<&'a Path>,
    pub(super) entries: &'a [(String, Node)],
}

/// The values so far and the layer that each top-level key came from last.
#[derive(Clone, Debug, Default)]
pub(super) struct Merged {
    pub(super) values: Map<String, Value>,
    pub(super) origins: BTreeMap<String, String>,
    /// The same for each single value.
    pub(super) leaves: Origins,
    /// Whether the last word on what commands may do was a permission profile's, not a sandbox mode's.
    pub(super) by_profile: bool,
}

impl Merged {
    /// Lays `values` over what is there: tables are joined, everything else is replaced.
    pub(super) fn lay(&mut self, values: Map<String, Value>, origin: &str) {
        let from = From {
            layer: origin,
            file: None,
            entries: &[],
        };
        self.lay_from(values, from);
    }

    /// The same for values that stand in a file.
    pub(super) fn lay_from(&mut self, values: Map<String, Value>, from: From<'_>) {
        if values.contains_key("default_permissions") {
            self.by_profile = true;
        } else if values.contains_key("sandbox_mode") {
            self.by_profile = false;
        }
        for (key, value) in values {
            self.origins.insert(key.clone(), from.layer.to_owned());
            self.note(&mut vec![key.clone()], &value, from, None);
            match self.values.get_mut(&key) {
                Some(old) => join(old, value),
                None => {
                    self.values.insert(key, value);
                }
            }
        }
    }

    /// Notes where the values below a way come from. `line` is that of the table around them.
    fn note(&mut self, way: &mut Vec<String>, value: &Value, from: From<'_>, line: Option<u32>) {
        let name = way.last().map_or("", String::as_str);
        let named = |(written, _): &&(String, Node)| written == name || keys::proper(KEYS, written) == name;
        let node = from.entries.iter().find(named).map(|(_, node)| node);
        let line = node.and_then(|node| node.line).or(line);
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                self.leaves.remove(way);
                let entries = match node.map(|node| &node.data) {
                    Some(Data::Table(entries)) => entries.as_slice(),
                    _ => &[],
                };
                for (name, value) in inner {
                    way.push(name.clone());
                    self.note(way, value, From { entries, ..from }, line);
                    way.pop();
                }
            }
            // A table without entries takes nothing away.
            Value::Object(_) if self.leaves.keys().any(|known| known.starts_with(way)) => {}
            _ => {
                self.leaves.retain(|known, _| !known.starts_with(way));
                let origin = Origin {
                    layer: from.layer.to_owned(),
                    file: from.file.map(Path::to_owned),
                    line,
                };
                self.leaves.insert(way.clone(), origin);
            }
        }
    }

    /// Where a value stands in a file, or the first of its table: the head of a complaint about it.
    pub(super) fn place(&self, way: &[&str]) -> ConfigWarning {
        let exact = self.leaves.iter().find(|(known, _)| known.iter().eq(way.iter()));
        let table = &way[..way.len().saturating_sub(1)];
        let of_table = || {
            let below = |known: &[String]| known.len() > table.len() && known.iter().zip(table).all(|(a, b)| a == b);
            let all = self
                .leaves
                .iter()
                .filter(|(known, origin)| below(known) && origin.line.is_some());
            all.min_by_key(|(_, origin)| origin.line)
        };
        let origin = exact.or_else(of_table).map(|(_, origin)| origin);
        ConfigWarning {
            message: String::new(),
            path: origin.and_then(|origin| origin.file.clone()),
            line: origin.and_then(|origin| origin.line),
        }
    }

    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.values.get(key)?.as_str()
    }
}

fn join(old: &mut Value, new: Value) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in new {
                match old.get_mut(&key) {
                    Some(inner) => join(inner, value),
                    None => {
                        old.insert(key, value);
                    }
                }
            }
        }
        (old, new) => *old = new,
    }
}

/// The project's root: the nearest folder at or above `cwd` with one of the markers.
pub(super) fn project_root(cwd: &Path, markers: &[String]) -> Option<PathBuf> {
    cwd.ancestors()
        .find(|folder| markers.iter().any(|marker| folder.join(marker).exists()))
        .map(Path::to_owned)
}

/// The folders from the project's root down to `cwd`; only `cwd` where there is no project.
pub(super) fn project_folders(cwd: &Path, markers: &[String]) -> Vec<PathBuf> {
    let root = project_root(cwd, markers).unwrap_or_else(|| cwd.to_owned());
    let mut folders: Vec<PathBuf> = cwd
        .ancestors()
        .take_while(|folder| folder.starts_with(&root))
        .map(Path::to_owned)
        .collect();
    folders.reverse();
    folders
}

/// Takes out of a project's entries what would allow more than `current` does, with a warning for each.
pub(super) fn tighten(entries: &mut Vec<(String, Node)>, current: &Merged, checker: &mut Checker<'_>) {
    debug_assert_eq!(checker.layer, Layer::Project);
    for (name, _) in entries.iter_mut() {
        *name = keys::proper(KEYS, name).to_owned();
    }
    let mut refused: Vec<(String, Option<u32>)> = Vec::new();
    entries.retain_mut(|(name, node)| match name.as_str() {
        "approval_policy" | "sandbox_mode" | "default_permissions" => {
            let wanted = match &node.data {
                Data::Text(wanted) => wanted.as_str(),
                // The granular form.
                Data::Table(_) if name == "approval_policy" => "granular",
                _ => return true,
            };
            let looser = match name.as_str() {
                "approval_policy" => {
                    let now = match current.values.get(name.as_str()) {
                        Some(Value::Object(_)) => Some("granular"),
                        _ => current.text(name),
                    };
                    match (approval_rank(wanted), now.and_then(approval_rank)) {
                        (Some(wanted), Some(now)) => wanted > now,
                        // A word that is not known is reported when the keys are checked.
                        _ => false,
                    }
                }
                "sandbox_mode" => {
                    sandbox_rank(wanted).is_some_and(|wanted| now_allowed(current).is_none_or(|now| wanted > now))
                }
                // Of a profile it is only known of the built-in ones what it allows, and the settings of the workspace's
                // mode may allow less than the profile of that name.
                _ => profile_rank(wanted).is_none_or(|wanted| {
                    now_allowed(current)
                        .is_none_or(|now| wanted > now || wanted == now && wanted > 0 && !current.by_profile)
                }),
            };
            if looser {
                refused.push((format!("{name} = {wanted:?}"), node.line));
            }
            !looser
        }
        "permissions" => {
            if let Data::Table(profiles) = &mut node.data {
                let known = current.values.get("permissions").and_then(Value::as_object);
                profiles.retain_mut(|(profile, node)| {
                    let is_known = known.is_some_and(|known| known.contains_key(profile.as_str()));
                    let Data::Table(inner) = &mut node.data else {
                        return true;
                    };
                    if !is_known {
                        refused.push((format!("permissions.{profile}"), node.line));
                        return false;
                    }
                    inner.retain_mut(|(key, node)| {
                        only_closes(key, node, &mut |what, line| {
                            refused.push((format!("permissions.{profile}.{what}"), line));
                        })
                    });
                    true
                });
            }
            true
        }
        "sandbox" => {
            if let Data::Table(inner) = &mut node.data {
                let now = current.values.get("sandbox");
                inner.retain_mut(|(key, node)| match (key.as_str(), &mut node.data) {
                    ("unreadable_defaults", Data::Flag(false)) => {
                        refused.push(("sandbox.unreadable_defaults".to_owned(), node.line));
                        false
                    }
                    // A list takes the place of the one before it: what the person named stays in it.
                    ("unreadable", Data::List(list)) => {
                        let named = now.and_then(|table| table.get("unreadable")).and_then(Value::as_array);
                        let named = named.into_iter().flatten().filter_map(Value::as_str);
                        list.extend(named.map(|text| Node {
                            data: Data::Text(text.to_owned()),
                            line: None,
                        }));
                        true
                    }
                    _ => true,
                });
            }
            true
        }
        "sandbox_workspace_write" => {
            if let Data::Table(inner) = &mut node.data {
                let now = current.values.get(name.as_str());
                inner.retain(|(key, node)| {
                    let keep = !loosens(key, &node.data, now.and_then(|table| table.get(key)));
                    if !keep {
                        refused.push((format!("sandbox_workspace_write.{key}"), node.line));
                    }
                    keep
                });
            }
            true
        }
        "edits" => {
            if let Data::Table(inner) = &mut node.data {
                let now = current.values.get("edits").and_then(|table| table.get("approve"));
                inner.retain(|(key, node)| {
                    let keep = key != "approve" || !approves_more(&node.data, now.and_then(Value::as_str));
                    if !keep {
                        refused.push(("edits.approve".to_owned(), node.line));
                    }
                    keep
                });
            }
            true
        }
        _ => true,
    });
    for (what, line) in refused {
        checker.warnings.push(ConfigWarning {
            message: format!(
                "A project can only tighten what may happen without asking; `{what}` would allow more than your own \
                 settings do, so it is not used. If you want it, put it into your own config.toml."
            ),
            path: checker.file.map(Path::to_owned),
            line,
        });
    }
}

/// Keeps of one key of a profile what denies; tells of the rest.
fn only_closes(key: &str, node: &mut Node, refuse: &mut dyn FnMut(String, Option<u32>)) -> bool {
    let denies = |node: &Node, words: &[&str]| match &node.data {
        Data::Text(word) => words.contains(&word.as_str()),
        Data::Flag(on) => words.contains(&"false") && !on,
        _ => false,
    };
    let (Data::Table(inner), "filesystem" | "network") = (&mut node.data, key) else {
        refuse(key.to_owned(), node.line);
        return false;
    };
    inner.retain_mut(|(name, node)| match (key, name.as_str(), &mut node.data) {
        ("filesystem", _, Data::Table(below)) | ("network", "domains", Data::Table(below)) => {
            below.retain(|(below, node)| {
                let keep = denies(node, &["deny", "none"]);
                if !keep {
                    refuse(format!("{key}.{name}.{below}"), node.line);
                }
                keep
            });
            // A table of hosts that got empty would say that there are none.
            !below.is_empty()
        }
        _ => {
            let words: &[&str] = if key == "network" {
                &["false"]
            } else {
                &["deny", "none"]
            };
            let keep = denies(node, words) && (key == "filesystem" || name == "enabled");
            if !keep {
                refuse(format!("{key}.{name}"), node.line);
            }
            keep
        }
    });
    true
}

/// How much may be done now, in the ranks of `sandbox_rank`; `None` under a profile of the person's own.
fn now_allowed(current: &Merged) -> Option<usize> {
    match current.by_profile {
        true => current.text("default_permissions").and_then(profile_rank),
        false => current.text("sandbox_mode").and_then(sandbox_rank),
    }
}

/// The rank of a built-in profile.
fn profile_rank(id: &str) -> Option<usize> {
    sandbox_rank(match id {
        ":read-only" => "read-only",
        ":workspace" => "workspace-write",
        ":full-access" | ":danger-full-access" => "full-access",
        _ => return None,
    })
}

fn loosens(key: &str, wanted: &Data, now: Option<&Value>) -> bool {
    let is = now.and_then(Value::as_bool).unwrap_or(false);
    match (key, wanted) {
        ("network_access", Data::Flag(wanted)) => *wanted && !is,
        ("exclude_tmpdir_env_var" | "exclude_slash_tmp", Data::Flag(wanted)) => !*wanted && is,
        ("writable_roots", Data::List(wanted)) => {
            let now: Vec<&str> = now
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            wanted.iter().any(|root| match &root.data {
                Data::Text(root) => !now.contains(&root.as_str()),
                _ => false,
            })
        }
        _ => false,
    }
}

fn approves_more(wanted: &Data, now: Option<&str>) -> bool {
    let rank = |word: &str| super::keys::EDIT_APPROVALS.iter().position(|known| *known == word);
    match wanted {
        // A word that is not known is reported when the keys are checked.
        Data::Text(wanted) => rank(wanted) > now.and_then(rank).or(Some(0)),
        _ => false,
    }
}

/// Higher asks less. The granular form asks as `on-request` does, or says no where that asks.
fn approval_rank(word: &str) -> Option<usize> {
    let word = if word == "granular" { "on-request" } else { word };
    super::keys::APPROVALS.iter().position(|known| *known == word)
}

/// Higher allows more.
fn sandbox_rank(word: &str) -> Option<usize> {
    let word = if word == "full-access" {
        "danger-full-access"
    } else {
        word
    };
    super::keys::SANDBOXES.iter().position(|known| *known == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tables_are_joined_and_the_rest_replaced() {
        let mut merged = Merged::default();
        merged.lay(
            json!({ "a": { "x": 1, "y": [1] }, "b": 1 })
                .as_object()
                .unwrap()
                .clone(),
            "one",
        );
        merged.lay(
            json!({ "a": { "y": [2], "z": {} }, "c": 2 })
                .as_object()
                .unwrap()
                .clone(),
            "two",
        );
        assert_eq!(
            Value::from(merged.values),
            json!({ "a": { "x": 1, "y": [2], "z": {} }, "b": 1, "c": 2 })
        );
        let origins: Vec<(&str, &str)> = merged
            .origins
            .iter()
            .map(|(key, layer)| (key.as_str(), layer.as_str()))
            .collect();
        assert_eq!(origins, [("a", "two"), ("b", "one"), ("c", "two")]);
    }

    #[test]
    fn folders_go_from_the_root_down() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("repo/a/b");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::write(dir.path().join("repo/.git"), "gitdir: elsewhere").unwrap();
        let markers = [".git".to_owned()];
        let below = |name: &str| dir.path().join(name);
        assert_eq!(
            project_folders(&deep, &markers),
            [below("repo"), below("repo/a"), below("repo/a/b")]
        );
        assert_eq!(
            project_folders(&deep, &["nothing-has-this".to_owned()]),
            [below("repo/a/b")]
        );
    }
}
