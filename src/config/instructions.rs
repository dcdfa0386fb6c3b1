//! The project's own words to the agent: `AGENTS.md` files, from the project's root down to the working
//! directory, after those of the person; and the files of other programs that the person's configuration names.

use super::{Config, layers};
use crate::shown;
use std::path::{Component, Path, PathBuf};

/// Stands between the person's words and the project's.
pub const SEPARATOR: &str = "\n\n--- project-doc ---\n\n";

/// What is looked for in each folder first, in this order.
pub const NAMES: [&str; 2] = ["AGENTS.override.md", "AGENTS.md"];

/// The instructions for a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instructions {
    /// Empty if there are none.
    pub text: String,
    /// The files in it, in order.
    pub sources: Vec<PathBuf>,
    /// What of each file is in it, in the same order.
    pub documents: Vec<String>,
    /// What was left out for its length; for the person.
    pub truncated_warning: Option<String>,
    /// What was left out for where its link leads; for the person.
    pub led_out: Vec<String>,
}

/// Where a thread's instructions may stand: folders in order, the home folder first, each with the names that are looked
/// for. Of the first list one file counts, of the second all.
pub struct Places<'c>(Vec<(PathBuf, Vec<&'c str>, Vec<&'c str>)>);

impl<'c> Places<'c> {
    pub fn new(config: &'c Config, home: &Path, cwd: &Path) -> Self {
        let mut places = vec![(home.to_owned(), NAMES.to_vec(), Vec::new())];
        if config.project_doc_max_bytes > 0 {
            let fallback = config.project_doc_fallback_filenames.iter();
            let names: Vec<&str> = NAMES.into_iter().chain(fallback.map(String::as_str)).collect();
            let also: Vec<&str> = config.project_doc_also_filenames.iter().map(String::as_str).collect();
            let folders = layers::project_folders(cwd, &config.project_root_markers);
            places.extend(folders.into_iter().map(|folder| (folder, names.clone(), also.clone())));
        }
        Self(places)
    }

    /// Every path there may be one at.
    pub fn paths(&self) -> impl Iterator<Item = PathBuf> {
        self.0
            .iter()
            .flat_map(|(folder, names, also)| names.iter().chain(also).map(|name| folder.join(name)))
    }
}

impl Config {
    /// Every name that is looked for in a project's folders.
    pub fn instruction_names(&self) -> Vec<String> {
        let configured = self
            .project_doc_fallback_filenames
            .iter()
            .chain(&self.project_doc_also_filenames);
        let mut names: Vec<String> = NAMES
            .into_iter()
            .map(str::to_owned)
            .chain(configured.cloned())
            .collect();
        let mut seen = Vec::new();
        names.retain(|name| {
            !seen.contains(name) && {
                seen.push(name.clone());
                true
            }
        });
        names
    }
}

/// Collects the instructions. `read` gives a file's text, or `None` where there is no such file; the text may
/// be that of an open document.
pub fn project_documents(
    config: &Config,
    home: &Path,
    cwd: &Path,
    read: &dyn Fn(&Path) -> Option<String>,
) -> Instructions {
    let Places(places) = Places::new(config, home, cwd);
    let read: &dyn Fn(&Path) -> Option<String> = &|path| read(path).filter(|_| !layers::is_planted(path, cwd));
    let mut result = Instructions::default();
    let mut own: Vec<String> = config
        .user_instructions
        .iter()
        .map(|text| text.trim().to_owned())
        .collect();
    let mut documents = Vec::new();
    let outside = outside_of_project(config, cwd);
    let mut room = config.project_doc_max_bytes;
    let mut left_out = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    for (index, (folder, names, also)) in places.iter().enumerate() {
        let others = also.iter().filter_map(|name| first(folder, &[name], read));
        for (path, text) in first(folder, names, read).into_iter().chain(others) {
            // Found as the person's own already, where the home folder is a project; or the same words under another name.
            if result.sources.contains(&path) || seen.contains(&text) {
                continue;
            }
            if index == 0 {
                own.push(text.trim().to_owned());
                result.documents.push(text.trim().to_owned());
                result.sources.push(path);
                seen.push(text);
                continue;
            }
            let path = match outside(&path) {
                None => path,
                // What is not the project's is named as what it is.
                Some(real) if config.trusts_project => real,
                Some(real) => {
                    result.led_out.push(format!(
                        "The instructions in {} are not used: it leads to {}, outside of the project. If you want them, copy the file, or \
                         call the project trusted in your config.toml.",
                        shown::path(&path),
                        shown::path(&real)
                    ));
                    continue;
                }
            };
            let kept = shorten(&text, room).trim();
            if room == 0 || kept.is_empty() {
                room = 0;
                left_out.push(shown::path(&path));
                continue;
            }
            let fits = text.len() <= room;
            if !fits {
                let at = shorten(&text, room).len();
                left_out.push(format!("{} from byte {at} on", shown::path(&path)));
            }
            room = if fits { room - text.len() } else { 0 };
            documents.push(kept.to_owned());
            result.documents.push(kept.to_owned());
            result.sources.push(path);
            seen.push(text);
        }
    }
    if !left_out.is_empty() {
        result.truncated_warning = Some(format!(
            "The project's instructions are longer than project_doc_max_bytes ({}); the model does not get {}. Shorten \
             them, or raise the limit in config.toml.",
            config.project_doc_max_bytes,
            left_out.join(", ")
        ));
    }
    let parts = [own.join("\n\n"), documents.join("\n\n")];
    result.text = parts
        .iter()
        .map(String::as_str)
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(SEPARATOR);
    result
}

/// Gives where a file really is, if that is neither in the project nor in the working directory, which the person has chosen.
fn outside_of_project(config: &Config, cwd: &Path) -> impl Fn(&Path) -> Option<PathBuf> {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    let root = layers::project_root(cwd, &config.project_root_markers);
    let inside: Vec<PathBuf> = [root.as_deref(), Some(cwd)]
        .into_iter()
        .flatten()
        .filter_map(real)
        .collect();
    // What is in the editor only is no link.
    move |path: &Path| real(path).filter(|real| !inside.iter().any(|folder| real.starts_with(folder)))
}

/// The first of the names in a folder that has text in it.
fn first(folder: &Path, names: &[&str], read: &dyn Fn(&Path) -> Option<String>) -> Option<(PathBuf, String)> {
    names.iter().find_map(|name| {
        let path = folder.join(name);
        let text = read(&path)?;
        let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
        (!text.trim().is_empty()).then_some((path, text))
    })
}

/// Whether a name of the configuration stays in the folder that it is looked for in: `CLAUDE.md`,
/// `.github/copilot-instructions.md`, but no `../x` and nothing absolute.
pub(super) fn is_inside(name: &str) -> bool {
    let mut parts = Path::new(name).components().peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_))) && !name.ends_with('/')
}

/// At most `room` bytes, whole characters.
fn shorten(text: &str, room: usize) -> &str {
    if text.len() <= room {
        return text;
    }
    let mut end = room;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
