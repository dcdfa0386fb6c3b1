//! A `config.toml` that is open in an editor: what is wrong with it, what can stand at a place, and what a place means.
//! Works on a text as it is being typed, so also on one that is no TOML yet.

mod complete;
mod explain;
mod report;
mod statements;

pub use complete::{Names, Offer, Sort, offers};
pub use explain::explain;
pub use report::{Report, Severity, reports};

use super::{ConfigError, Loaded, Sources, load};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Which file of configuration it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// The person's own.
    Person,
    /// A profile of the person's that is a file of its own.
    Profile(String),
    /// A project's; the folder that it holds for.
    Project(PathBuf),
}

/// Which file of configuration this is, if it is one. `home` is Countersign's folder.
pub fn role(path: &Path, home: &Path) -> Option<Role> {
    let name = path.file_name()?.to_str()?;
    let holder = path.parent()?;
    let is_home = holder == home || std::fs::canonicalize(home).is_ok_and(|home| home == holder);
    if is_home {
        return match name.strip_suffix(".config.toml") {
            _ if name == "config.toml" => Some(Role::Person),
            Some(profile) => Some(Role::Profile(profile.to_owned())),
            None => None,
        };
    }
    let is_project = name == "config.toml" && (holder.ends_with(".countersign") || holder.ends_with(".codex"));
    is_project.then(|| Some(Role::Project(holder.parent()?.to_owned())))?
}

/// The configuration as it would be if this file had this text, and the name that the file is known by in it.
///
/// # Errors
/// What makes the settings of a request invalid: a profile that there is no more.
pub fn load_with(role: &Role, path: &Path, text: &str, mut sources: Sources) -> Result<(PathBuf, Loaded), ConfigError> {
    match role {
        Role::Person => {}
        Role::Profile(name) => {
            sources
                .overrides
                .insert("profile".to_owned(), Value::from(name.clone()));
        }
        Role::Project(folder) => sources.cwd = Some(folder.clone()),
    }
    // Under the name that it is looked for by.
    let known = match role {
        Role::Project(_) => path.to_owned(),
        _ => sources.home.join(path.file_name().unwrap_or_default()),
    };
    sources.open.insert(known.clone(), text.to_owned());
    Ok((known, load(&sources)?))
}
