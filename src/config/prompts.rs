//! The person's prompts: Markdown files that are called by name, `/review src/main.rs`. Read anew each time they are asked
//! for; a broken one is reported with its line and harms no other.

mod expand;
mod front;

pub use expand::{Call, CallError};
pub use front::{Argument, Front};

use super::{Config, layers};
use crate::protocol::config::ConfigWarning;
use std::path::{Path, PathBuf};

/// Bytes of a prompt's file.
const MOST_BYTES: u64 = 256 << 10;
/// Files of one folder that are looked at.
const MOST_FILES: usize = 1000;
/// In front of the name of a project's prompt where the person has one of the same name.
const PROJECT: &str = "project:";
/// What editors, the chat document and clients of other protocols have commands for: no prompt of a project is called by such a name alone.
pub const COMMANDS: &[&str] = &[
    "account",
    "add",
    "changes",
    "clear",
    "compact",
    "context",
    "copy",
    "diff",
    "export",
    "feedback",
    "files",
    "fork",
    "help",
    "image",
    "init",
    "list",
    "mcp",
    "mode",
    "model",
    "new",
    "permissions",
    "recover",
    "rename",
    "retry",
    "review",
    "rewind",
    "rollback",
    "send-output",
    "setup",
    "stop",
    "threads",
    "undo",
];
/// In front of the name of any prompt, where the name alone would call something else.
pub const FULL: &str = "prompts:";

/// One prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// What stands behind the slash.
    pub name: String,
    pub path: PathBuf,
    /// It came with the project; else it is the person's own.
    pub of_project: bool,
    pub front: Front,
    /// The text, without the front matter.
    pub body: String,
}

/// All prompts, by name, and what is wrong with their files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompts {
    pub all: Vec<Prompt>,
    pub problems: Vec<ConfigWarning>,
}

impl Prompts {
    /// The prompts of the home folder and of the project's folders. Of two with one name the person's own is called by it,
    /// and the project's is called `project:name`, as one is that has the name of a command; among a project's the innermost folder counts.
    pub fn read(config: &Config, home: &Path) -> Self {
        let mut found = Self::default();
        for prompt in found.folder(&home.join("prompts"), false) {
            found.all.push(prompt);
        }
        for folder in config.prompt_folders.iter().rev() {
            for mut prompt in found.folder(folder, true) {
                let is_own = |one: &Prompt| !one.of_project && one.name == prompt.name;
                if found.all.iter().any(is_own) || COMMANDS.contains(&prompt.name.as_str()) {
                    prompt.name = format!("{PROJECT}{}", prompt.name);
                }
                if !found.all.iter().any(|one| one.name == prompt.name) {
                    found.all.push(prompt);
                }
            }
        }
        found.all.sort_by(|a, b| a.name.cmp(&b.name));
        found
    }

    /// The prompt that is called so; a project's also by its full name.
    pub fn get(&self, name: &str) -> Option<&Prompt> {
        let called = |name: &str| self.all.iter().find(|prompt| prompt.name == name);
        if let Some(name) = name.strip_prefix(FULL) {
            return called(name).or_else(|| called(&format!("{PROJECT}{name}")));
        }
        called(name).or_else(|| called(name.strip_prefix(PROJECT)?).filter(|prompt| prompt.of_project))
    }

    /// The name that is most like one that there is not.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        super::keys::nearest(name, self.all.iter().map(|prompt| prompt.name.as_str()))
    }

    fn folder(&mut self, folder: &Path, of_project: bool) -> Vec<Prompt> {
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => {
                let none = matches!(error.kind(), std::io::ErrorKind::NotFound);
                if !none {
                    self.report(folder, None, format!("The folder of prompts cannot be read: {error}."));
                }
                return Vec::new();
            }
        };
        let mut paths: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .take(MOST_FILES)
            .collect();
        paths.sort();
        let mut prompts = Vec::new();
        for path in paths {
            let Some(name) = name_of(&path) else { continue };
            match self.prompt(&path, name, of_project) {
                Ok(prompt) => prompts.push(prompt),
                Err((line, why)) => self.report(&path, line, format!("The prompt is not offered: {why}.")),
            }
        }
        prompts
    }

    fn prompt(
        &mut self,
        path: &Path,
        name: Result<String, String>,
        of_project: bool,
    ) -> Result<Prompt, (Option<u32>, String)> {
        let name = name.map_err(|why| (None, why))?;
        if of_project && !stays_inside(path) {
            let why = "a project's prompt must not be a link out of its folder, nor its folder one out of the project";
            return Err((None, why.to_owned()));
        }
        let text = match layers::read_text_up_to(path, MOST_BYTES) {
            Ok(Some(text)) => text,
            // A link that leads nowhere, or a file that has just gone.
            Ok(None) => return Err((None, "there is no such file".to_owned())),
            Err(error) => return Err((None, error.to_string())),
        };
        let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        let (front, body, problems) = front::split(&text).map_err(|(line, why)| (Some(line), why))?;
        for (line, why) in problems {
            self.report(path, Some(line), why);
        }
        if body.trim().is_empty() {
            return Err((None, "it has no text".to_owned()));
        }
        let (visible, hid) = crate::shown::envelope::visible_inside(body);
        if hid {
            let why = "it holds characters that do not show; they are sent written as their numbers, like <U+200B>";
            self.report(path, None, why.to_owned());
        }
        Ok(Prompt {
            name,
            path: path.to_owned(),
            of_project,
            front,
            body: visible.trim_matches('\n').to_owned(),
        })
    }

    fn report(&mut self, path: &Path, line: Option<u32>, message: String) {
        self.problems.push(ConfigWarning {
            message: crate::shown::line(&message),
            path: Some(path.to_owned()),
            line,
        });
    }
}

/// Whether no link leads a file of a project's prompts out of its folder, or that folder (`PROJECT/.countersign/prompts`) out of
/// the project: what lies elsewhere may be closed to all that goes to a model.
fn stays_inside(path: &Path) -> bool {
    let Ok(real) = std::fs::canonicalize(path) else {
        return false;
    };
    let holds = |place: &Path| std::fs::canonicalize(place).is_ok_and(|place| real.starts_with(place));
    let folder = path.parent();
    let project = folder.and_then(Path::parent).and_then(Path::parent);
    [folder, project].into_iter().all(|place| place.is_some_and(holds))
}

/// The name that a file gives its prompt; nothing if it is no prompt at all, and words if its name cannot be called.
fn name_of(path: &Path) -> Option<Result<String, String>> {
    let file = path.file_name()?.to_string_lossy();
    // What editors and file systems put beside files.
    if file.starts_with(['.', '#', '~']) || !path.extension()?.eq_ignore_ascii_case("md") || path.is_dir() {
        return None;
    }
    let stem = path.file_stem()?.to_string_lossy();
    Some(match is_name(&stem) {
        true => Ok(stem.into_owned()),
        false => Err(format!(
            "{stem:?} cannot be called by name; name the file with letters, digits, - and _ only, and begin with a letter or a digit"
        )),
    })
}

/// Letters, digits, `-`, `_` and `.`, beginning with a letter or a digit.
pub fn is_name(text: &str) -> bool {
    let first = text.chars().next().is_some_and(char::is_alphanumeric);
    let is_plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    // Some letters do not show.
    first && text.len() <= 100 && text.chars().all(is_plain) && !crate::shown::hides(text)
}

/// The call of a prompt that an input begins with: `/name` and what is behind it, as typed. A path is no call, nor is a
/// slash behind a blank.
pub fn call_in(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix('/')?;
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let (name, arguments) = rest.split_at(end);
    let plain = name.strip_prefix(FULL).unwrap_or(name);
    let plain = plain.strip_prefix(PROJECT).unwrap_or(plain);
    is_name(plain).then(|| (name, arguments.trim()))
}

impl Prompt {
    /// How it is called, for the person.
    pub fn usage(&self) -> String {
        let hint = self.argument_hint();
        match hint.is_empty() {
            true => format!("/{}", self.name),
            false => format!("/{} {hint}", self.name),
        }
    }

    /// What stands behind its name: its own hint, else its arguments by their names.
    pub fn argument_hint(&self) -> String {
        if let Some(hint) = &self.front.argument_hint {
            return hint.clone();
        }
        let names = self.front.arguments.iter().map(|argument| match &argument.default {
            Some(_) => format!("[{}]", argument.name),
            None => format!("<{}>", argument.name),
        });
        names.collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Place {
        dir: tempfile::TempDir,
        config: Config,
    }

    impl Place {
        fn new(files: &[(&str, &str)]) -> Self {
            let dir = tempfile::tempdir().unwrap();
            for (name, text) in files {
                let path = dir.path().join(name);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            let sources = super::super::Sources {
                home: dir.path().join("home"),
                cwd: Some(dir.path().join("w/inner")),
                ..Default::default()
            };
            let config = super::super::load(&sources).unwrap().config;
            Self { dir, config }
        }

        fn read(&self) -> Prompts {
            Prompts::read(&self.config, &self.dir.path().join("home"))
        }
    }

    /// Shows S-330, S-331.
    #[test]
    fn prompts_are_found_each_time_and_none_is_no_error() {
        let place = Place::new(&[]);
        assert_eq!(place.read(), Prompts::default());
        let folder = place.dir.path().join("home/prompts");
        std::fs::create_dir_all(&folder).unwrap();
        assert_eq!(place.read(), Prompts::default());
        std::fs::write(folder.join("one.md"), "Do it.\n").unwrap();
        assert_eq!(place.read().get("one").unwrap().body, "Do it.");
        std::fs::remove_file(folder.join("one.md")).unwrap();
        assert_eq!(place.read(), Prompts::default());
    }

    #[test]
    fn the_persons_own_wins_and_the_innermost_of_a_projects() {
        let place = Place::new(&[
            ("w/.git/HEAD", ""),
            ("w/.countersign/prompts/review.md", "theirs"),
            ("w/.countersign/prompts/outer.md", "outer"),
            ("w/.countersign/prompts/both.md", "outer"),
            ("w/inner/.countersign/prompts/both.md", "inner"),
            ("home/prompts/review.md", "mine"),
            ("w/.countersign/prompts/undo.md", "not undone"),
        ]);
        let prompts = place.read();
        let names: Vec<_> = prompts
            .all
            .iter()
            .map(|prompt| (&prompt.name[..], &prompt.body[..]))
            .collect();
        assert_eq!(
            names,
            [
                ("both", "inner"),
                ("outer", "outer"),
                ("project:review", "theirs"),
                ("project:undo", "not undone"),
                ("review", "mine")
            ]
        );
        for (name, body) in [
            ("review", Some("mine")),
            ("project:review", Some("theirs")),
            ("prompts:review", Some("mine")),
            ("project:outer", Some("outer")),
            ("Review", None),
            ("undo", None),
            ("project:undo", Some("not undone")),
            ("prompts:undo", Some("not undone")),
        ] {
            assert_eq!(prompts.get(name).map(|prompt| &prompt.body[..]), body, "{name}");
        }
        assert_eq!(prompts.nearest("reveiw"), Some("review"));
    }

    #[test]
    fn a_broken_file_harms_no_other() {
        let place = Place::new(&[
            ("home/prompts/good.md", "---\ndescription: Fine\n---\nText"),
            (
                "home/prompts/odd.md",
                "---\ndescription: Kept\n\tnonsense here\n---\nText",
            ),
            ("home/prompts/open.md", "---\ndescription: x\nText"),
            ("home/prompts/empty.md", "---\ncode: true\n---\n\n"),
            ("home/prompts/with blank.md", "Text"),
            ("home/prompts/.hidden.md", "Text"),
            ("home/prompts/notes.txt", "Text"),
            ("home/prompts/UPPER.MD", "Text"),
        ]);
        std::fs::write(place.dir.path().join("home/prompts/bytes.md"), b"\xff\xfe").unwrap();
        std::fs::create_dir(place.dir.path().join("home/prompts/folder.md")).unwrap();
        let prompts = place.read();
        let names: Vec<_> = prompts.all.iter().map(|prompt| &prompt.name[..]).collect();
        assert_eq!(names, ["UPPER", "good", "odd"]);
        let problems: Vec<_> = prompts
            .problems
            .iter()
            .map(|problem| {
                let file = problem.path.as_ref().unwrap().file_name().unwrap();
                (file.to_str().unwrap(), problem.line)
            })
            .collect();
        assert_eq!(
            problems,
            [
                ("bytes.md", None),
                ("empty.md", None),
                ("odd.md", Some(3)),
                ("open.md", Some(1)),
                ("with blank.md", None)
            ]
        );
    }

    #[test]
    fn what_is_a_call_by_table() {
        for (text, call) in [
            ("/review", Some(("review", ""))),
            ("/review src/a.rs  please\n", Some(("review", "src/a.rs  please"))),
            ("/review\nmore", Some(("review", "more"))),
            ("/project:x y", Some(("project:x", "y"))),
            ("/prompts:x", Some(("prompts:x", ""))),
            ("/etc/hosts is broken", None),
            (" /review", None),
            ("//review", None),
            ("/", None),
            ("/ review", None),
            ("/-x", None),
            ("/x!", None),
            ("review", None),
        ] {
            assert_eq!(call_in(text), call, "{text}");
        }
    }
}
