//! The project's own words to the agent: `AGENTS.md` files, from the project's root down to the working
//! directory, after those of the person.

use super::{Config, layers};
use std::path::{Path, PathBuf};

/// Stands between the person's words and the project's.
pub const SEPARATOR: &str = "\n\n--- project-doc ---\n\n";

/// What is looked for in each folder first, in this order.
const NAMES: [&str; 2] = ["AGENTS.override.md", "AGENTS.md"];

/// The instructions for a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instructions {
    /// Empty if there are none.
    pub text: String,
    /// The files in it, in order.
    pub sources: Vec<PathBuf>,
    /// What was left out for its length; for the person.
    pub truncated_warning: Option<String>,
}

/// Collects the instructions. `read` gives a file's text, or `None` where there is no such file; the text may
/// be that of an open document.
pub fn project_documents(
    config: &Config,
    home: &Path,
    cwd: &Path,
    read: &dyn Fn(&Path) -> Option<String>,
) -> Instructions {
    let mut result = Instructions::default();
    let mut own: Vec<String> = config
        .user_instructions
        .iter()
        .map(|text| text.trim().to_owned())
        .collect();
    if let Some((path, text)) = first(home, &NAMES, read) {
        own.push(text.trim().to_owned());
        result.sources.push(path);
    }

    let mut documents = Vec::new();
    let mut room = config.project_doc_max_bytes;
    let mut left_out = Vec::new();
    let names: Vec<&str> = NAMES
        .into_iter()
        .chain(
            config
                .project_doc_fallback_filenames
                .iter()
                .filter_map(|name| plain(name)),
        )
        .collect();
    if room > 0 {
        for folder in layers::project_folders(cwd, &config.project_root_markers) {
            let Some((path, text)) = first(&folder, &names, read) else {
                continue;
            };
            // Found as the person's own already, where the home folder is a project.
            if result.sources.contains(&path) {
                continue;
            }
            if room == 0 {
                left_out.push(path.display().to_string());
                continue;
            }
            let kept = shorten(&text, room);
            if kept.len() < text.len() {
                left_out.push(format!("{} from byte {} on", path.display(), kept.len()));
                room = 0;
            } else {
                room -= text.len();
            }
            documents.push(kept.trim().to_owned());
            result.sources.push(path);
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

/// The first of the names in a folder that has text in it.
fn first(folder: &Path, names: &[&str], read: &dyn Fn(&Path) -> Option<String>) -> Option<(PathBuf, String)> {
    names.iter().find_map(|name| {
        let path = folder.join(name);
        let text = read(&path)?;
        let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
        (!text.trim().is_empty()).then_some((path, text))
    })
}

/// A fallback is a name, not a way out of the folder.
fn plain(name: &str) -> Option<&str> {
    Path::new(name).file_name().filter(|file| *file == name).map(|_| name)
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
