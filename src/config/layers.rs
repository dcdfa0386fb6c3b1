//! Layers: where they come from, in which order they count, and what a project may not do.

use super::bounds::Bounds;
use super::check::{Checker, Layer, plain};
use super::consent;
pub(crate) use super::file::read_text;
pub(super) use super::file::{File, read_text_up_to};
use super::keys::{self, KEYS};
use super::project_servers;
use super::tree::{self, Data, Node};
use crate::protocol::config::ConfigWarning;
use crate::protocol::settings::Granular;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

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
    /// Lays `values` over what is there: tables are joined, everything else is replaced. What may happen without asking is one
    /// value: who says some of it means the rest as it is by itself.
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
            if key == "approval_policy" {
                self.forget(&[key.as_str()]);
            }
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

    /// Takes away what lies at a way through the tables. Whether there was something.
    pub(super) fn forget(&mut self, way: &[&str]) -> bool {
        let Some((name, tables)) = way.split_last() else {
            return false;
        };
        let table = tables.iter().try_fold(&mut self.values, |table, name| {
            table.get_mut(*name).and_then(Value::as_object_mut)
        });
        let is_there = table.is_some_and(|table| table.remove(*name).is_some());
        self.leaves
            .retain(|known, _| known.len() < way.len() || known.iter().zip(way).any(|(known, name)| known != name));
        is_there
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

/// The project's root: the nearest folder at or above `cwd` with one of the markers. One that another user has put above the
/// folder makes no project of it, as for git.
pub(super) fn project_root(cwd: &Path, markers: &[String]) -> Option<PathBuf> {
    let marks = |marker: PathBuf| marker.exists() && !is_strangers(&marker, cwd);
    cwd.ancestors()
        .find(|folder| markers.iter().any(|marker| marks(folder.join(marker))))
        .map(Path::to_owned)
}

/// Whether an entry belongs to somebody who is neither the person, nor root, nor whose folder they work in.
#[cfg(unix)]
fn is_strangers(path: &Path, cwd: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let owner = |path: &Path| std::fs::symlink_metadata(path).map(|found| found.uid()).ok();
    let own = rustix::process::geteuid().as_raw();
    owner(path).is_some_and(|user| user != own && user != 0 && Some(user) != owner(cwd))
}

#[cfg(not(unix))]
fn is_strangers(_path: &Path, _cwd: &Path) -> bool {
    false
}

/// Whether another user could have put an entry where it is, and did: in a folder that everybody can write, such as `/tmp`.
pub(super) fn is_planted(path: &Path, cwd: &Path) -> bool {
    path.parent().is_some_and(is_everybodys) && is_strangers(path, cwd)
}

#[cfg(unix)]
fn is_everybodys(folder: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(folder).is_ok_and(|found| found.permissions().mode() & 0o002 != 0)
}

#[cfg(not(unix))]
fn is_everybodys(_folder: &Path) -> bool {
    false
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

/// Takes out of the entries of a project, or of the editor, what would allow more than `current` does.
pub(super) fn tighten(entries: &mut Vec<(String, Node)>, current: &Merged, checker: &mut Checker<'_>) {
    debug_assert!(matches!(checker.layer, Layer::Project | Layer::Client));
    for (name, _) in entries.iter_mut() {
        *name = keys::proper(KEYS, name).to_owned();
    }
    entries.retain_mut(|(name, node)| match name.as_str() {
        "approval_policy" | "sandbox_mode" | "default_permissions" => {
            !is_looser(name, &node.data, current) || looser(checker, name, node)
        }
        "permissions" => {
            if let Data::Table(profiles) = &mut node.data {
                let known = current.values.get("permissions").and_then(Value::as_object);
                profiles.retain_mut(|(profile, node)| {
                    let is_known = known.is_some_and(|known| known.contains_key(profile.as_str()));
                    let way = format!("permissions.{}", consent::key_part(profile));
                    let Data::Table(inner) = &mut node.data else {
                        return true;
                    };
                    if !is_known {
                        return looser(checker, &way, node);
                    }
                    inner.retain_mut(|(key, node)| {
                        only_closes(key, node, &mut |what, node| {
                            looser(checker, &format!("{way}.{what}"), node)
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
                    ("unreadable_defaults", Data::Flag(false)) => looser(checker, "sandbox.unreadable_defaults", node),
                    // A list takes the place of the one before it: what the person named stays in it.
                    ("unreadable" | "protected", Data::List(list)) => {
                        let named = now.and_then(|table| table.get(key.as_str())).and_then(Value::as_array);
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
                    !loosens(key, &node.data, now.and_then(|table| table.get(key)))
                        || looser(checker, &format!("sandbox_workspace_write.{key}"), node)
                });
            }
            true
        }
        "limits" => {
            if let Data::Table(inner) = &mut node.data {
                let now = current.values.get("limits");
                let now = |key: &str| now.and_then(|table| table.get(key));
                let now = Bounds::of(now("memory"), now("processes").and_then(Value::as_u64));
                inner.retain(|(key, node)| {
                    !now.is_exceeded(key, &plain(node)) || looser(checker, &format!("limits.{key}"), node)
                });
            }
            true
        }
        "mcp_servers" => {
            project_servers::tighten(node, current, checker);
            true
        }
        "editor_context" => {
            if let Data::Table(inner) = &mut node.data {
                let now = current.values.get("editor_context");
                let is_off = |key: &str| now.and_then(|table| table.get(key)) == Some(&Value::Bool(false));
                inner.retain(|(key, node)| {
                    node.data != Data::Flag(true)
                        || !is_off(key)
                        || looser(checker, &format!("editor_context.{key}"), node)
                });
            }
            true
        }
        "project_doc_max_bytes" => {
            let is_persons = current
                .origins
                .get(name.as_str())
                .is_some_and(|origin| origin != "built-in");
            let now = current
                .values
                .get(name.as_str())
                .filter(|_| is_persons)
                .and_then(Value::as_u64);
            let is_more = |now: u64| plain(node).as_u64().is_some_and(|wanted| wanted > now);
            !now.is_some_and(is_more) || looser(checker, name, node)
        }
        "edits" => {
            if let Data::Table(inner) = &mut node.data {
                let now = current.values.get("edits").and_then(|table| table.get("approve"));
                inner.retain(|(key, node)| {
                    key != "approve"
                        || !approves_more(&node.data, now.and_then(Value::as_str))
                        || looser(checker, "edits.approve", node)
                });
            }
            true
        }
        _ => true,
    });
}

/// Whether one of the words on what may be done would allow more than holds now.
fn is_looser(name: &str, wanted: &Data, current: &Merged) -> bool {
    let kinds = wanted;
    let wanted = match wanted {
        Data::Text(wanted) => wanted.as_str(),
        // The granular form.
        Data::Table(_) if name == "approval_policy" => "granular",
        _ => return false,
    };
    match name {
        "approval_policy" => {
            let now = match current.values.get(name) {
                // Of what the person has said no to without a question nobody asks.
                Some(now @ Value::Object(_)) if asks_again(kinds, now) => return true,
                Some(Value::Object(_)) => Some("granular"),
                _ => current.text(name),
            };
            match (approval_rank(wanted), now.and_then(approval_rank)) {
                (Some(wanted), Some(now)) => wanted > now,
                // A word that is not known is reported when the keys are checked.
                _ => false,
            }
        }
        // A mode takes along what the settings of its own allow, which a profile leaves aside.
        "sandbox_mode" => sandbox_rank(wanted).is_some_and(|wanted| {
            now_allowed(current).is_none_or(|now| wanted > now || wanted == now && wanted > 0 && current.by_profile)
        }),
        // Of a profile it is only known of the built-in ones what it allows, and the settings of the workspace's
        // mode may allow less than the profile of that name.
        _ => profile_rank(wanted).is_none_or(|wanted| {
            now_allowed(current).is_none_or(|now| wanted > now || wanted == now && wanted > 0 && !current.by_profile)
        }),
    }
}

/// Whether a policy asks about a kind of which the granular one that holds now says no, also where that says so by leaving it out.
fn asks_again(wanted: &Data, now: &Value) -> bool {
    let now = now.get("granular").cloned().unwrap_or_default();
    let now: Granular = serde_json::from_value(now).unwrap_or_default();
    let kinds = match wanted {
        Data::Table(entries) => Some(tree::table_at(entries, &["granular"])),
        // A word stands for all kinds.
        _ => None,
    };
    let by_itself = Granular::default();
    // What is not said, or is no answer, is as it is by itself.
    let asks = |kind: &str, by_itself: bool| {
        kinds.is_none_or(|kinds| {
            let said = kinds.iter().find(|(name, _)| name == kind);
            match said.map(|(_, node)| &node.data) {
                Some(Data::Flag(asks)) => *asks,
                _ => by_itself,
            }
        })
    };
    [
        ("sandbox_approval", now.sandbox_approval, by_itself.sandbox_approval),
        ("rules", now.rules, by_itself.rules),
        (
            "request_permissions",
            now.request_permissions,
            by_itself.request_permissions,
        ),
        ("mcp_elicitations", now.mcp_elicitations, by_itself.mcp_elicitations),
    ]
    .into_iter()
    .any(|(kind, asked, by_itself)| !asked && asks(kind, by_itself))
}

/// What becomes of a value that would allow more: it counts in the editor's settings if the person has said so, else it is
/// kept as refused, with a warning.
fn looser(checker: &mut Checker<'_>, way: &str, node: &Node) -> bool {
    if checker.layer == Layer::Client {
        return checker.allow(way, node, "it would allow more than your own settings do");
    }
    let what = match &node.data {
        Data::Text(word) if !way.contains('.') => format!("{way} = {word:?}"),
        Data::Table(_) if way == "approval_policy" => "approval_policy = \"granular\"".to_owned(),
        _ => way.to_owned(),
    };
    checker.warnings.push(ConfigWarning {
        message: format!(
            "A project can only tighten what may happen without asking; `{what}` would allow more than your own \
             settings do, so it is not used. If you want it, put it into your own config.toml."
        ),
        path: checker.file.map(Path::to_owned),
        line: node.line,
    });
    false
}

/// Keeps of one key of a profile what denies, and of the rest what `allowed` says.
fn only_closes(key: &str, node: &mut Node, allowed: &mut dyn FnMut(String, &Node) -> bool) -> bool {
    let denies = |node: &Node, words: &[&str]| match &node.data {
        Data::Text(word) => words.contains(&word.as_str()),
        Data::Flag(on) => words.contains(&"false") && !on,
        _ => false,
    };
    if !matches!((key, &node.data), ("filesystem" | "network", Data::Table(_))) {
        return allowed(key.to_owned(), node);
    }
    let Data::Table(inner) = &mut node.data else {
        return false;
    };
    inner.retain_mut(|(name, node)| match (key, name.as_str(), &mut node.data) {
        ("filesystem", _, Data::Table(below)) | ("network", "domains", Data::Table(below)) => {
            below.retain(|(below, node)| {
                denies(node, &["deny", "none"]) || allowed(format!("{key}.{name}.{below}"), node)
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
            denies(node, words) && (key == "filesystem" || name == "enabled") || allowed(format!("{key}.{name}"), node)
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
