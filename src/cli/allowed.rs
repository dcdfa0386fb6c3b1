//! `countersign config allowed` and `countersign config forget`: what the person has allowed, for which folder and when, and
//! taking it back.

use crate::config::consent::{self, Answer};
use crate::config::edit::{self, Edit};
use crate::exec::rules::{self, Given};
use crate::{config, shown};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    place: Place,
    /// As JSON, for programs.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct Forget {
    /// What to forget, by the id that `countersign config allowed` shows.
    #[arg(value_name = "ID", required_unless_present = "all")]
    ids: Vec<String>,
    /// All that is allowed for the folder. What holds everywhere goes by its id only.
    #[arg(long, conflicts_with = "ids")]
    all: bool,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, clap::Args)]
struct Place {
    /// The folder; default: this one.
    #[arg(long, value_name = "DIR")]
    cd: Option<PathBuf>,
    /// All folders.
    #[arg(long)]
    everywhere: bool,
}

impl Place {
    /// None: all folders.
    fn folder(&self) -> Result<Option<PathBuf>, String> {
        if self.everywhere {
            return Ok(None);
        }
        let here = std::env::current_dir().map_err(|error| format!("The current folder is not known: {error}."))?;
        Ok(Some(
            self.cd
                .as_ref()
                .map_or_else(|| here.clone(), |folder| here.join(folder)),
        ))
    }
}

/// What was allowed, or refused for good.
struct Entry {
    what: What,
    /// Where it holds; none: everywhere.
    folders: Vec<PathBuf>,
    /// All of it on one line, in which nothing hides.
    text: String,
    day: Option<String>,
}

enum What {
    Answer(Answer),
    /// A project that is trusted, by its folder as the file names it.
    Trust(String),
    Given(Given),
}

impl Entry {
    /// Short, and the same each time.
    fn id(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(json!([self.folders, self.text, self.day]).to_string());
        if let What::Answer(answer) = &self.what {
            hash.update(&answer.fingerprint);
        }
        hash.finalize()
            .iter()
            .take(4)
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    fn place(&self) -> String {
        let folders: Vec<String> = self.folders.iter().map(|folder| shown::path(folder)).collect();
        match folders.is_empty() {
            true => "everywhere".to_owned(),
            false => format!("for {}", folders.join(" and ")),
        }
    }

    fn verb(&self) -> &'static str {
        match &self.what {
            What::Answer(answer) if !answer.allowed => "Not allowed",
            What::Trust(_) => "Trusted",
            _ => "Allowed",
        }
    }

    fn sentence(&self) -> String {
        let day = self.day.as_ref().map(|day| format!(" on {day}")).unwrap_or_default();
        format!("{} {}{day}: {}", self.verb(), self.place(), self.text)
    }

    fn take_back(&self, home: &Path) -> Result<(), String> {
        match &self.what {
            What::Answer(answer) => consent::forget(home, answer).map_err(|error| error.to_string()),
            What::Given(given) => rules::take_back(home, given)
                .map(drop)
                .map_err(|error| error.to_string()),
            What::Trust(folder) => {
                let way = ["projects", folder.as_str(), "trust_level"].map(str::to_owned);
                let edit = Edit {
                    key_path: edit::key_path(&way),
                    value: None,
                };
                let written = edit::write(&home.join("config.toml"), &[edit], None);
                written.map(drop).map_err(|error| error.to_string())
            }
        }
    }
}

/// All there is for a folder, or for all of them.
fn entries(home: &Path, folder: Option<&Path>) -> Vec<Entry> {
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = folder.map(real);
    let holds = |folders: &[PathBuf]| {
        let is_in = |folder: &PathBuf| folders.iter().any(|around| folder.starts_with(real(around)));
        folders.is_empty() || folder.as_ref().is_none_or(is_in)
    };
    let answers = consent::answers(home).into_iter().map(|answer| Entry {
        folders: answer.folders.clone(),
        text: match &answer.shown {
            Some(text) => format!("the setting {text}"),
            None => "a setting of an editor, whose text an earlier version has not kept".to_owned(),
        },
        day: answer.day.clone(),
        what: What::Answer(answer),
    });
    let saved = config::saved(home).map(|read| read.config).unwrap_or_default();
    let projects = saved["projects"].as_object().cloned().unwrap_or_default();
    let trusted = projects
        .into_iter()
        .filter(|(_, project)| project["trust_level"] == "trusted");
    let trusted = trusted.map(|(folder, _)| Entry {
        folders: vec![PathBuf::from(&folder)],
        text: "the project, by config.toml".to_owned(),
        day: None,
        what: What::Trust(folder),
    });
    let given = rules::given(home).into_iter().map(|given| Entry {
        folders: given.folder.clone().into_iter().collect(),
        text: format!("the {} {}", given.kind, shown::line(&given.text)),
        day: given.day.clone(),
        what: What::Given(given),
    });
    let all = answers.chain(trusted).chain(given);
    all.filter(|entry| holds(&entry.folders)).collect()
}

/// What the person has allowed for a folder, a sentence each.
pub(super) fn sentences(home: &Path, folder: &Path) -> Vec<String> {
    let all = entries(home, Some(folder));
    let sentence = |entry: &Entry| {
        format!(
            "{}. To forget it: countersign config forget {}",
            entry.sentence(),
            entry.id()
        )
    };
    // What holds everywhere is among the rules.
    all.iter()
        .filter(|entry| !entry.folders.is_empty())
        .map(sentence)
        .collect()
}

/// The text to print, and that all is well.
pub(super) fn list(wish: &Args, home: &Path) -> Result<(String, bool), String> {
    crate::private::check_home(home).map_err(|trouble| trouble.to_string())?;
    let folder = wish.place.folder()?;
    let all = entries(home, folder.as_deref());
    if wish.json {
        let list = all.iter().map(|entry| {
            json!({
                "id": entry.id(), "allowed": entry.verb() != "Not allowed", "folders": entry.folders, "day": entry.day,
                "text": entry.text,
            })
        });
        return Ok((format!("{:#}\n", list.collect::<serde_json::Value>()), true));
    }
    let lines = all
        .iter()
        .map(|entry| format!("{}  {}\n", entry.id(), entry.sentence()));
    let text: String = lines.collect();
    let none = || match &folder {
        Some(folder) => format!("Nothing is allowed for {}.\n", shown::path(folder)),
        None => "Nothing is allowed for any folder.\n".to_owned(),
    };
    Ok((if text.is_empty() { none() } else { text }, true))
}

/// Takes back what is named. The text to print, and whether all of it was there.
pub(super) fn forget(wish: &Forget, home: &Path) -> Result<(String, bool), String> {
    crate::private::check_home(home).map_err(|trouble| trouble.to_string())?;
    let folder = wish.place.folder()?;
    // An id names one thing, wherever it holds.
    let all = entries(home, folder.as_deref().filter(|_| wish.all));
    let mut text = String::new();
    let mut is_all = true;
    if let Some(unknown) = wish.ids.iter().find(|id| !all.iter().any(|entry| entry.id() == **id)) {
        is_all = false;
        text.push_str(&format!("There is nothing with the id {}.\n", shown::line(unknown)));
    }
    let is_meant = |entry: &&Entry| match wish.all {
        true => !entry.folders.is_empty(),
        false => wish.ids.contains(&entry.id()),
    };
    for entry in all.iter().filter(is_meant) {
        entry.take_back(home)?;
        text.push_str(&format!("Forgotten: {}\n", entry.sentence()));
    }
    match text.is_empty() {
        true => text.push_str("There is nothing to forget.\n"),
        false if is_all => text.push_str("Servers that run know of it when they start again.\n"),
        false => {}
    }
    Ok((text, is_all))
}
