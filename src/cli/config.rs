//! `countersign config`: the configuration in force, what it may hold, and bringing one along.

use super::allowed;
use crate::config::consent::{self, Refused};
use crate::config::import;
use crate::config::startup::Startup;
use crate::config::{self, ClientSettings, Loaded, Sources, schema};
use crate::protocol::config::ConfigWarning;
use clap::Subcommand;
use serde_json::{Value, json};
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Wish,
}

#[derive(Debug, Subcommand)]
enum Wish {
    /// Show the configuration in force, secrets hidden. The status is 0 if nothing in it is wrong.
    Show(Show),
    /// List what you have allowed for a folder: settings of an editor, trust, rules and permissions.
    Allowed(allowed::Args),
    /// Forget what you have allowed; you are asked again when it comes up.
    Forget(allowed::Forget),
    /// Print the JSON Schema of config.toml.
    Schema,
    /// Bring along settings, instructions and prompts from the home folder of Codex.
    Import(Import),
}

#[derive(Debug, clap::Args)]
struct Show {
    /// Say where each value comes from: the layer, and the line of a file.
    #[arg(long)]
    origin: bool,
    /// As JSON, for programs.
    #[arg(long)]
    json: bool,
    /// The project whose configuration counts too; default: this folder.
    #[arg(long, value_name = "DIR")]
    cd: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct Import {
    /// The other home folder; default: $CODEX_HOME, else ~/.codex.
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// Bring the login along too (auth.json).
    #[arg(long)]
    with_login: bool,
    /// Write without asking.
    #[arg(long)]
    yes: bool,
}

pub fn run(args: Args) -> ExitCode {
    let outcome = match args.command {
        Wish::Show(show) => shown(&show),
        Wish::Allowed(wish) => sources().and_then(|sources| allowed::list(&wish, &sources.home)),
        Wish::Forget(wish) => sources().and_then(|sources| allowed::forget(&wish, &sources.home)),
        Wish::Schema => Ok((format!("{:#}\n", schema::schema()), true)),
        Wish::Import(import) => imported(&import),
    };
    match outcome {
        Ok((text, good)) => {
            say(&text);
            if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(problem) => {
            let _closed = writeln!(io::stderr(), "countersign: {}", crate::shown::text(&problem));
            ExitCode::FAILURE
        }
    }
}

fn say(text: &str) {
    let mut out = io::stdout().lock();
    let _gone = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// What the process knows.
fn sources() -> Result<Sources, String> {
    let mut env = super::environment();
    let startup = Startup::read(&[], &mut env);
    let home = config::home(&env)
        .ok_or("Neither COUNTERSIGN_HOME nor HOME is an absolute path, so there is no configuration.")?;
    Ok(Sources {
        home,
        env,
        client: ClientSettings {
            startup: startup.settings,
            ..ClientSettings::default()
        },
        ..Sources::default()
    })
}

fn shown(show: &Show) -> Result<(String, bool), String> {
    let here = std::env::current_dir().map_err(|error| format!("The current folder is not known: {error}."))?;
    let cwd = show
        .cd
        .as_ref()
        .map_or_else(|| here.clone(), |folder| here.join(folder));
    let sources = Sources {
        cwd: Some(cwd.clone()),
        ..sources()?
    };
    let loaded = config::load(&sources).map_err(|error| error.to_string())?;
    let refused = consent::last_refused(&sources.home, &cwd);
    let mut text = match show.json {
        // What a project says is among it, and may be read on a terminal all the same.
        true => format!("{}\n", consent::visible_lines(&as_json(&loaded, &refused, show.origin))),
        false => as_lines(&loaded, &refused, show.origin),
    };
    if show.origin && !show.json {
        for line in allowed::sentences(&sources.home, &cwd) {
            text.push_str(&format!("# {line}\n"));
        }
    }
    Ok((text, loaded.warnings.is_empty()))
}

/// Each single value by its way, secrets hidden.
fn values(loaded: &Loaded) -> Vec<(&Vec<String>, Value, &config::Origin)> {
    let hidden = loaded.read_result().config;
    let value = |way: &Vec<String>| way.iter().try_fold(&hidden, |value, part| value.get(part)).cloned();
    let all = loaded.leaves.iter();
    all.filter_map(|(way, origin)| Some((way, value(way)?, origin)))
        .collect()
}

fn as_json(loaded: &Loaded, refused: &[(String, Refused)], origin: bool) -> Value {
    let mut shown = json!({ "config": loaded.read_result().config, "warnings": loaded.warnings });
    if origin {
        let origins = values(loaded).into_iter().map(|(way, value, origin)| {
            json!({
                "key": way, "value": value, "layer": origin.layer, "path": origin.file, "line": origin.line,
            })
        });
        shown["origins"] = origins.collect();
        let refused = refused
            .iter()
            .map(|(editor, refused)| json!({"setting": refused.shown(), "editor": editor, "reason": refused.reason}));
        shown["refused"] = refused.collect();
    }
    shown
}

fn as_lines(loaded: &Loaded, refused: &[(String, Refused)], origin: bool) -> String {
    let mut text = String::new();
    for (way, value, from) in values(loaded) {
        // What a project says is among it: no line of its own, and nothing that hides.
        let key = crate::shown::line(&config::edit::key_path(way));
        text.push_str(&format!("{key} = {}", crate::shown::value(&value)));
        if origin {
            text.push_str(&format!("  # {}", crate::shown::line(&from.in_words())));
        }
        text.push('\n');
    }
    for ConfigWarning { message, path, line } in &loaded.warnings {
        let place = match (path, line) {
            (Some(path), Some(line)) => format!("{}:{line}: ", crate::shown::path(path)),
            (Some(path), None) => format!("{}: ", crate::shown::path(path)),
            (None, _) => String::new(),
        };
        text.push_str(&format!("# {place}{message}\n"));
    }
    if origin {
        for (editor, refused) in refused {
            text.push_str(&format!("# {}\n", consent::describe(editor, refused)));
        }
    }
    text
}

fn imported(wish: &Import) -> Result<(String, bool), String> {
    let sources = sources()?;
    let person = sources.env.get("HOME").map(PathBuf::from);
    let theirs = sources
        .env
        .get("CODEX_HOME")
        .filter(|text| !text.is_empty())
        .map(PathBuf::from);
    let from = wish
        .from
        .clone()
        .or(theirs)
        .or_else(|| Some(person.as_ref()?.join(".codex")));
    let from = from.ok_or("HOME is not set, so the other home folder is not known. Say where it is: --from DIR.")?;
    let login = wish
        .with_login
        .then(|| sources.home.join(crate::exec::profile::PRIVATE).join("auth.json"));
    let plan = import::plan(&from, &sources.home, person.as_deref(), login.as_deref())
        .map_err(|error| crate::shown::exact(&error.to_string()))?;
    say(&plan.in_words());
    if plan.is_empty() {
        return Ok(("There is nothing to import.\n".to_owned(), true));
    }
    if !wish.yes {
        if !io::stdin().is_terminal() {
            return Ok(("Nothing was written. To write it, say so: --yes.\n".to_owned(), true));
        }
        say("Write this? [y/N] ");
        let mut answer = String::new();
        let _closed = io::stdin().lock().read_line(&mut answer);
        if !matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") {
            return Ok(("Nothing was written.\n".to_owned(), true));
        }
    }
    plan.carry_out().map_err(|error| error.to_string())?;
    Ok((format!("Written to {}.\n", sources.home.display()), true))
}
