//! What the person says of single values of the editor's settings that count only with their word, remembered by hash and
//! for the folders of one workspace.
//!
//! The same text means another thing in another folder (`./tool`), and a workspace must not profit from what was allowed to
//! another one, so nothing is remembered beyond its workspace. Values for all of them belong into the person's own file.

use super::own_file::{FileError, OwnFile};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Workspaces that are remembered; the ones that were not open for longest are forgotten.
const MOST_WORKSPACES: usize = 200;
/// Refused values that are written down of one workspace, and bytes of one of them: a project says as much as it likes.
const MOST_REFUSED: usize = 100;
const MOST_BYTES: usize = 2 << 10;
/// Bytes of a value that an answer is kept with; no question shows as much.
const MOST_GIVEN: usize = 32 << 10;
/// Bytes of a key that may stand in a question.
const MOST_OF_A_KEY: usize = 100;
/// Bytes of the whole file; older workspaces make room. What is larger than 4 MiB could not be read again.
const MOST_IN_ALL: usize = 1 << 20;

/// A value that does not count, since whoever set it may not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Refused {
    /// Its key, with dots; see [`key_of`].
    pub key: String,
    /// As it was written; of a long one, where it is only noted, how long it is.
    pub value: Value,
    /// Why it does not count, as a sentence.
    pub reason: String,
}

impl Refused {
    /// Key and value as one line, secrets hidden.
    pub fn shown(&self) -> String {
        let mut parts: Vec<&str> = self.key.split('.').collect();
        let mut whole = self.value.clone();
        while let Some(part) = parts.pop() {
            whole = serde_json::json!({ part: whole });
        }
        super::redact::redact(&mut whole);
        let hidden = self.key.split('.').try_fold(&whole, |value, part| value.get(part));
        format!("{} = {}", self.shown_key(), visible(hidden.unwrap_or(&Value::Null)))
    }

    /// Its key, in which nothing hides.
    pub fn shown_key(&self) -> String {
        escaped(&self.key)
    }

    /// Whether its key may stand in a question: a name in it could read like words of ours where it has blanks, hides something or
    /// is long.
    pub fn has_plain_key(&self) -> bool {
        is_plain(&self.key)
    }

    /// What is remembered of it: the hash of its key and its whole value.
    pub fn fingerprint(&self) -> String {
        fingerprint(&self.key, &self.value)
    }
}

fn is_plain(key: &str) -> bool {
    key.len() <= MOST_OF_A_KEY && key.chars().all(|c| c.is_ascii_graphic() && c != '\\')
}

/// The hash of a key and its whole value, whatever the order of names in its tables.
pub(super) fn fingerprint(key: &str, value: &Value) -> String {
    let mut hash = Sha256::new();
    hash.update((key.len() as u64).to_be_bytes());
    hash.update(key);
    // Tables of `serde_json` are sorted by name.
    hash.update(value.to_string());
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The same for a value of a request, which counts in one folder.
pub fn fingerprint_in(folder: &Path, key: &str, value: &Value) -> String {
    fingerprint(&format!("{}\u{0}{key}", folder.display()), value)
}

/// A value as JSON on one line in which nothing hides: all but plain characters are escaped, and each blank after another.
pub fn visible(value: &Value) -> String {
    escaped(&value.to_string())
}

/// The same on several lines, one for each part.
pub fn visible_lines(value: &Value) -> String {
    let text = format!("{value:#}");
    let line = |line: &str| {
        let told = line.trim_start_matches(' ');
        format!("{}{}", &line[..line.len() - told.len()], escaped(told))
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

fn escaped(json: &str) -> String {
    let mut text = String::new();
    for character in json.chars() {
        match character {
            ' ' if text.ends_with(' ') || text.ends_with("\\u0020") => text.push_str("\\u0020"),
            ' '..='~' => text.push(character),
            other => text.extend(
                other
                    .encode_utf16(&mut [0; 2])
                    .iter()
                    .map(|unit| format!("\\u{unit:04x}")),
            ),
        }
    }
    text
}

/// A part of a key with dots: one that is no bare word stands in quotes, so that it does not read like words of ours.
pub fn key_part(part: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    match !part.is_empty() && part.chars().all(is_bare) {
        true => part.to_owned(),
        false => visible(&Value::from(part)),
    }
}

/// A key with dots, of its parts.
pub fn key_of(parts: &[String]) -> String {
    let parts: Vec<_> = parts.iter().map(|part| key_part(part)).collect();
    parts.join(".")
}

/// A name as a part of a key, if it may stand in a question; see [`Refused::has_plain_key`].
pub fn plain_part(name: &str) -> Option<String> {
    Some(key_part(name)).filter(|part| is_plain(part))
}

/// The values that count by the person's word.
pub type Allowed = BTreeSet<String>;

/// What is remembered of one workspace.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Remembered {
    /// The editor whose settings were refused last.
    #[serde(default)]
    pub editor: String,
    /// Fingerprints of what the person allowed.
    #[serde(default)]
    pub allowed: Allowed,
    /// Fingerprints of what the person does not want to be asked about again.
    #[serde(default)]
    pub denied: BTreeSet<String>,
    /// What the answers were about, by fingerprint; those of earlier versions are missing.
    #[serde(default)]
    given: BTreeMap<String, Given>,
    /// What was refused when the settings were last read.
    #[serde(default)]
    pub refused: Vec<Refused>,
    /// When that was: a number greater than those of all before it, milliseconds since 1970 where the clock goes right. What is
    /// in seconds is of an earlier version, and earlier.
    #[serde(default)]
    last_use: u64,
}

/// What an answer was about, so that it can be listed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Given {
    key: String,
    value: Value,
    day: String,
}

impl Remembered {
    /// Keeps an answer, in the place of an earlier one.
    pub fn answer(&mut self, fingerprint: String, (key, value): (&str, &Value), allow: bool) {
        let (to, from) = match allow {
            true => (&mut self.allowed, &mut self.denied),
            false => (&mut self.denied, &mut self.allowed),
        };
        from.remove(&fingerprint);
        to.insert(fingerprint.clone());
        let given = Given {
            key: key.to_owned(),
            value: match value.to_string().len() {
                length if length > MOST_GIVEN => Value::from(format!("… {length} bytes")),
                _ => value.clone(),
            },
            day: today(),
        };
        self.given.insert(fingerprint, given);
    }
}

/// The day, by the clock of this machine.
pub fn today() -> String {
    jiff::Zoned::now().strftime("%Y-%m-%d").to_string()
}

/// An answer that is remembered.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The folders of the workspace that it was given for.
    pub folders: Vec<PathBuf>,
    pub fingerprint: String,
    pub allowed: bool,
    /// Key and value as one line, secrets hidden; absent for one of an earlier version.
    pub shown: Option<String>,
    pub day: Option<String>,
}

/// All answers that are remembered, by their folders.
pub fn answers(home: &Path) -> Vec<Answer> {
    let of_workspace = |(name, workspace): (String, Remembered)| {
        let folders: Vec<PathBuf> = serde_json::from_str(&name).unwrap_or_default();
        let Remembered {
            allowed, denied, given, ..
        } = workspace;
        let answer = move |(fingerprint, allowed): (String, bool)| {
            let given = given.get(&fingerprint);
            let shown = |given: &Given| {
                let refused = Refused {
                    key: given.key.clone(),
                    value: given.value.clone(),
                    reason: String::new(),
                };
                refused.shown()
            };
            Answer {
                folders: folders.clone(),
                allowed,
                shown: given.map(shown),
                day: given.map(|given| given.day.clone()),
                fingerprint,
            }
        };
        let allowed = allowed.into_iter().map(|one| (one, true));
        allowed.chain(denied.into_iter().map(|one| (one, false))).map(answer)
    };
    read_all(home).workspaces.into_iter().flat_map(of_workspace).collect()
}

/// Takes an answer back: what it was about is asked again.
///
/// # Errors
/// The file cannot be written.
pub fn forget(home: &Path, answer: &Answer) -> Result<(), FileError> {
    change(home, &answer.folders, |workspace| {
        workspace.allowed.remove(&answer.fingerprint);
        workspace.denied.remove(&answer.fingerprint);
        workspace.given.remove(&answer.fingerprint);
    })
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct All {
    #[serde(default)]
    workspaces: BTreeMap<String, Remembered>,
}

impl All {
    /// Forgets the workspace that was not open for longest, but never this one. False where there is no other.
    fn forget_one_but(&mut self, current: &str) -> bool {
        let others = self.workspaces.iter().filter(|(name, _)| *name != current);
        let oldest = others.min_by_key(|(_, one)| one.last_use);
        let oldest = oldest.map(|(name, _)| name.clone());
        oldest.is_some_and(|oldest| self.workspaces.remove(&oldest).is_some())
    }
}

/// The place of it all: in the folder that no command and no tool reads or writes.
fn file(home: &Path) -> PathBuf {
    home.join("private").join("editor-settings.json")
}

/// One name for a set of folders. A link is the folder that it leads to.
fn name(folders: &[PathBuf]) -> String {
    let real = |folder: &PathBuf| std::fs::canonicalize(folder).unwrap_or_else(|_| folder.clone());
    let mut names: Vec<String> = folders
        .iter()
        .map(|folder| real(folder).to_string_lossy().into_owned())
        .collect();
    names.sort();
    names.dedup();
    Value::from(names).to_string()
}

/// A file that cannot be read remembers nothing, so nothing counts and the person is asked again.
fn parse(text: Option<&str>) -> All {
    text.and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default()
}

fn read_all(home: &Path) -> All {
    parse(super::layers::read_text(&file(home)).ok().flatten().as_deref())
}

/// What is remembered of a workspace.
pub fn read(home: &Path, folders: &[PathBuf]) -> Remembered {
    read_all(home).workspaces.remove(&name(folders)).unwrap_or_default()
}

/// What was refused when a folder, or one around it, was last open, with the editor's name.
pub fn last_refused(home: &Path, folder: &Path) -> Vec<(String, Refused)> {
    let folder = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let about = |name: &str| {
        let folders: Vec<PathBuf> = serde_json::from_str(name).unwrap_or_default();
        folders.iter().any(|one| folder.starts_with(one))
    };
    let all = read_all(home).workspaces.into_iter();
    let those = all.filter(|(name, _)| about(name));
    those
        .flat_map(|(_, workspace)| {
            let editor = workspace.editor;
            workspace
                .refused
                .into_iter()
                .map(move |refused| (editor.clone(), refused))
        })
        .collect()
}

/// What was refused and why, as a sentence for the person.
pub fn describe(editor: &str, refused: &Refused) -> String {
    let editor = if editor.is_empty() { "the editor" } else { editor };
    format!(
        "Not used, from the settings of {editor}: {}; {}. Put it into your own config.toml if you want it.",
        refused.shown(),
        refused.reason
    )
}

/// Changes what is remembered of a workspace.
///
/// # Errors
/// The file cannot be written.
pub fn change(home: &Path, folders: &[PathBuf], change: impl FnOnce(&mut Remembered)) -> Result<(), FileError> {
    // One that cannot be read remembers nothing, and would be in the way for good.
    let path = file(home);
    if super::layers::read_text(&path).is_err() && path.is_file() {
        let _moved = std::fs::rename(&path, path.with_extension("json.unreadable"));
    }
    let file = OwnFile::open(&path)?;
    let mut all = parse(file.text());
    let last = all.workspaces.values().map(|one| one.last_use).max().unwrap_or(0);
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(0));
    let current = name(folders);
    let workspace = all.workspaces.entry(current.clone()).or_default();
    change(workspace);
    workspace.last_use = now.max(last.saturating_add(1));
    while all.workspaces.len() > MOST_WORKSPACES && all.forget_one_but(&current) {}
    let mut text = serde_json::to_string_pretty(&all).unwrap_or_default();
    while text.len() > MOST_IN_ALL && all.forget_one_but(&current) {
        text = serde_json::to_string_pretty(&all).unwrap_or_default();
    }
    file.replace(&text, |_| Ok(()))
}

/// What of refused values is written down: the first ones, and of a long value how long it is.
pub fn noted(refused: &[Refused]) -> Vec<Refused> {
    let short = |refused: &Refused| {
        let length = refused.value.to_string().len();
        let mut refused = refused.clone();
        if length > MOST_BYTES {
            refused.value = Value::from(format!("… {length} bytes"));
        }
        refused.key.truncate(refused.key.floor_char_boundary(MOST_BYTES));
        refused
    };
    refused.iter().take(MOST_REFUSED).map(short).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_fingerprint_is_of_the_whole_value_and_its_key() {
        let of = |key: &str, value: Value| fingerprint(key, &value);
        let one = of("notify", json!(["a", "b"]));
        assert_eq!(one, of("notify", json!(["a", "b"])));
        for other in [
            of("notify", json!(["a", "b", "c"])),
            of("notify", json!(["a b"])),
            of("notif", json!(["a", "b"])),
            of("notify.x", json!(["a", "b"])),
        ] {
            assert_ne!(one, other);
        }
        assert_eq!(of("x", json!({"a": 1, "b": 2})), of("x", json!({"b": 2, "a": 1})));
    }

    #[test]
    fn what_was_said_of_one_workspace_counts_in_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let (one, other) = (dir.path().join("one"), dir.path().join("other"));
        for folder in [&one, &other] {
            std::fs::create_dir(folder).unwrap();
        }
        let home = dir.path().join("home");
        change(&home, std::slice::from_ref(&one), |workspace| {
            workspace.allowed.insert("x".to_owned());
        })
        .unwrap();
        assert!(read(&home, std::slice::from_ref(&one)).allowed.contains("x"));
        assert!(read(&home, std::slice::from_ref(&other)).allowed.is_empty());
        assert!(read(&home, &[one.clone(), other]).allowed.is_empty());
        // Written over by somebody: nothing counts, and it can be written again.
        std::fs::write(file(&home), "{\"workspaces\": 5").unwrap();
        assert!(read(&home, std::slice::from_ref(&one)).allowed.is_empty());
        change(&home, std::slice::from_ref(&one), |workspace| {
            workspace.denied.insert("y".to_owned());
        })
        .unwrap();
        assert!(read(&home, std::slice::from_ref(&one)).denied.contains("y"));
        // Grown past what can be read: the same.
        std::fs::write(file(&home), "x".repeat(5 << 20)).unwrap();
        change(&home, std::slice::from_ref(&one), |workspace| {
            workspace.denied.insert("z".to_owned());
        })
        .unwrap();
        assert!(read(&home, &[one]).denied.contains("z"));
    }

    /// However fast they come, and whatever the clock says: the one that is being written stays, and the earliest goes.
    #[test]
    fn the_workspace_that_is_written_is_not_the_one_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let allow = |number: usize| {
            // The later the name comes in the file, the earlier it was open.
            let folder = dir.path().join(format!("w{:03}", 999 - number));
            change(dir.path(), std::slice::from_ref(&folder), |workspace| {
                workspace.allowed.insert("x".to_owned());
            })
            .unwrap();
            folder
        };
        let is_kept = |folder: &PathBuf| !read(dir.path(), std::slice::from_ref(folder)).allowed.is_empty();
        let folders: Vec<PathBuf> = (0..MOST_WORKSPACES).map(allow).collect();
        assert!(folders.iter().all(is_kept));
        // Of a clock that went ahead.
        let text = std::fs::read_to_string(file(dir.path())).unwrap();
        let mut all: All = serde_json::from_str(&text).unwrap();
        all.workspaces
            .get_mut(&name(std::slice::from_ref(&folders[1])))
            .unwrap()
            .last_use = u64::MAX / 2;
        std::fs::write(file(dir.path()), serde_json::to_string(&all).unwrap()).unwrap();
        let more: Vec<PathBuf> = (MOST_WORKSPACES..MOST_WORKSPACES + 3).map(allow).collect();
        assert!(more.iter().all(is_kept));
        let gone: Vec<usize> = (0..folders.len()).filter(|at| !is_kept(&folders[*at])).collect();
        assert_eq!(gone, [0, 2, 3]);
    }

    #[test]
    fn however_much_a_project_says_the_file_stays_small() {
        let dir = tempfile::tempdir().unwrap();
        let of = |key: String, value: String| Refused {
            key,
            value: json!([value]),
            reason: "it starts programs".to_owned(),
        };
        let many: Vec<Refused> = (0..500)
            .map(|number| of(format!("k{number}"), "v".repeat(1500)))
            .collect();
        let huge = [
            of("notify".to_owned(), "x".repeat(5 << 20)),
            of("k".repeat(1 << 20), String::new()),
        ];
        for number in 0..20 {
            let folder = dir.path().join(format!("w{number}"));
            change(dir.path(), std::slice::from_ref(&folder), |workspace| {
                workspace.refused = noted(&many);
                workspace.denied.insert("y".to_owned());
            })
            .unwrap();
            change(dir.path(), std::slice::from_ref(&folder), |workspace| {
                workspace.refused.extend(noted(&huge))
            })
            .unwrap();
            assert!(std::fs::metadata(file(dir.path())).unwrap().len() < 2 << 20);
            assert!(read(dir.path(), &[folder]).denied.contains("y"));
        }
    }
}
