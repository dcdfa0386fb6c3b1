//! Puts the layers of the configuration together.

use super::check::{self, Checker, Layer};
use super::consent::{self, Refused};
use super::layers::{File, From, Merged};
use super::network::Network;
use super::{Config, ConfigError, Loaded, Sources, described, effective, keys, layers, otel, provider, spelling, tree};
use crate::private;
use crate::protocol::config::ConfigWarning;
use crate::shown;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Puts the layers together.
pub fn load(sources: &Sources) -> Result<Loaded, ConfigError> {
    private::check_home(&sources.home)?;
    let user_home = sources.env.get("HOME").map(Path::new);
    let mut warnings = Vec::new();
    let mut notes = Vec::new();

    // The request's own layer first: if it does not fit, nothing else matters.
    let request = {
        let mut checker = Checker::new(Layer::Request, None);
        checker.folder = sources.cwd.as_deref();
        checker.home = user_home;
        checker.allowed = Some(sources.client.allowed_for(sources.cwd.as_deref()));
        let values = checker.check(&tree::of_json(&sources.overrides));
        if !checker.misfits.is_empty() {
            return Err(ConfigError::Override {
                problem: shown::line(&checker.misfits.join(" ")),
            });
        }
        warnings.append(&mut checker.warnings);
        notes.append(&mut checker.notes);
        values
    };
    let mut reports = Reports {
        warnings: &mut warnings,
        notes: &mut notes,
    };
    let command = command_layer(sources, &sources.client.startup, user_home, &mut reports);
    let vouched = match section(sources.client.vouched.as_ref()) {
        Ok(settings) => command_layer(sources, &settings, user_home, &mut reports),
        Err(problem) => reports.add(problem),
    };

    let mut is_lost = false;
    let mut read = |path: &Path, layer: Layer| {
        let file = File::of_person(path, &sources.open);
        let lost = file.is_lost();
        is_lost |= lost;
        let entries = file.entries(path, &mut warnings);
        if let Some(warning) = warnings.last_mut().filter(|_| lost) {
            warning
                .message
                .push_str(" Until that is fixed, new conversations begin with sandbox_mode read-only.");
        }
        let mut checker = Checker::new(layer, Some(path));
        checker.home = user_home;
        let values = checker.check(&entries);
        warnings.append(&mut checker.warnings);
        notes.append(&mut checker.notes);
        (values, entries)
    };
    let file = sources.home.join("config.toml");
    let (user, entries) = read(&file, Layer::Person);
    let mut merged = Merged::default();
    merged.lay(defaults(&sources.env), "built-in");
    let file_name = file.display().to_string();
    let from_file = From {
        layer: &file_name,
        file: Some(&file),
        entries: &entries,
    };
    merged.lay_from(user, from_file);

    let chosen = |layer: &Map<String, Value>| layer.get("profile").and_then(Value::as_str).map(str::to_owned);
    let by_request = chosen(&request);
    if let Some(name) = by_request
        .clone()
        .or_else(|| chosen(&command))
        .or_else(|| chosen(&vouched))
        .or_else(|| allowed_profile(sources))
        .or_else(|| chosen(&merged.values))
    {
        let from_table = merged
            .values
            .get("profiles")
            .and_then(|all| all.get(&name))
            .and_then(Value::as_object);
        // A profile can also be a file of its own.
        let own = sources.home.join(format!("{name}.config.toml"));
        let is_plain = Path::new(&name).file_name().is_some_and(|plain| plain == name.as_str());
        if let Some(values) = from_table.cloned() {
            let from = From {
                layer: &format!("profile {name}"),
                entries: tree::table_at(&entries, &["profiles", &name]),
                ..from_file
            };
            merged.lay_from(values, from);
        } else if is_plain && name != "config" && (own.is_file() || sources.open.contains_key(&own)) {
            let (values, entries) = read(&own, Layer::Person);
            let from = From {
                layer: &own.display().to_string(),
                file: Some(&own),
                entries: &entries,
            };
            merged.lay_from(values, from);
        } else {
            let error = ConfigError::UnknownProfile {
                name,
                known: profiles_there_are(&merged.values),
            };
            if by_request.is_some() {
                return Err(error);
            }
            warnings.push(ConfigWarning {
                message: format!("{error} None is used."),
                path: Some(file.clone()),
                line: None,
            });
        }
    }

    // Nobody knows what it would have forbidden.
    if is_lost {
        let closed = Map::from_iter([("sandbox_mode".to_owned(), json!("read-only"))]);
        merged.lay(closed, "unreadable configuration");
    }

    // What a project may not overturn is all that the person says, wherever they say it: so it is laid before projects are judged,
    // and once more after them, where it counts.
    merged.lay(vouched.clone(), "editor");
    merged.lay(command.clone(), "command");
    let persons = [&vouched, &command];
    let (holders, trusts_project, theirs) = match &sources.cwd {
        Some(cwd) => project_layers(sources, cwd, &mut merged, persons, &mut warnings, &mut notes),
        None => (Vec::new(), false, Vec::new()),
    };
    let own = holders.iter().filter(|holder| holder.ends_with(".countersign"));
    let prompt_folders = own.map(|holder| holder.join("prompts")).collect();
    let rule_folders = holders.iter().map(|holder| holder.join("rules")).collect();
    for (mut values, layer) in [(vouched, "editor"), (command, "command")] {
        described::leave_out(&mut values, &theirs);
        merged.lay(values, layer);
    }
    let (client, refused) = client_layer(sources, user_home, &merged, &mut warnings, &mut notes);
    described::replace(&mut merged, &client);
    merged.lay(client, "editor");
    described::replace(&mut merged, &request);
    merged.lay(request, "request");
    merged.values.entry("profiles").or_insert_with(|| json!({}));

    let mut config = Config {
        otel: otel::otel(&merged.values, &sources.env, &mut warnings),
        feedback: otel::feedback(&merged.values, &sources.env, &mut warnings),
        trusts_project,
        rule_folders,
        prompt_folders,
        overrides: sources.overrides.clone(),
        ..effective::config(&sources.home, &merged, &mut warnings)
    };
    config.reach_by(Network::read(&merged.values, &sources.env));
    let chosen_by_request = merged
        .origins
        .get("model_provider")
        .is_some_and(|origin| origin == "request");
    if let Err(error) = config.provider(&config.model_provider) {
        if chosen_by_request {
            return Err(error);
        }
        warnings.push(ConfigWarning {
            message: error.to_string(),
            ..merged.place(&["model_provider"])
        });
    }
    for warning in warnings.iter_mut().chain(&mut notes) {
        // A project's names and values are in it.
        warning.message = shown::line(&warning.message);
    }
    Ok(Loaded {
        config,
        origins: merged.origins,
        leaves: merged.leaves,
        refused,
        warnings,
        notes,
        is_lost,
        values: merged.values.into(),
    })
}

/// Where what is found in a layer is collected.
struct Reports<'a> {
    warnings: &'a mut Vec<ConfigWarning>,
    notes: &'a mut Vec<ConfigWarning>,
}

impl Reports<'_> {
    /// A layer that is none.
    fn add(&mut self, message: String) -> Map<String, Value> {
        self.warnings.push(ConfigWarning {
            message,
            path: None,
            line: None,
        });
        Map::new()
    }

    fn take(&mut self, checker: &mut Checker<'_>) {
        self.warnings.append(&mut checker.warnings);
        self.notes.append(&mut checker.notes);
    }
}

/// The table of an editor's settings; empty where there are none. Some editors send the section, some what holds it.
fn section(settings: Option<&Value>) -> Result<Map<String, Value>, String> {
    match settings {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(map)) => match map.get("countersign") {
            Some(Value::Object(section)) => Ok(section.clone()),
            _ => Ok(map.clone()),
        },
        Some(_) => Err("The editor's settings must be a table of configuration keys; they are not used.".to_owned()),
    }
}

/// Settings that count like the person's own file.
fn command_layer(
    sources: &Sources,
    settings: &Map<String, Value>,
    user_home: Option<&Path>,
    reports: &mut Reports<'_>,
) -> Map<String, Value> {
    let mut checker = Checker::new(Layer::Command, None);
    checker.folder = sources.cwd.as_deref();
    checker.home = user_home;
    let values = checker.check(&tree::of_json(settings));
    reports.take(&mut checker);
    values
}

/// The profile that the editor's settings choose, where the person has allowed it.
fn allowed_profile(sources: &Sources) -> Option<String> {
    let settings = section(sources.client.sent.as_ref()).ok()?;
    let entries = spelling::normalized(&tree::of_json(&settings), keys::KEYS);
    let (_, node) = entries.into_iter().find(|(key, _)| key == "profile")?;
    let name = check::plain(&node);
    let allowed = sources.client.allowed_for(sources.cwd.as_deref());
    let allowed = allowed.contains(&consent::fingerprint("profile", &name));
    name.as_str().filter(|_| allowed).map(str::to_owned)
}

/// The editor's settings as far as they count over what is there: preferences, what allows less, and what the person has
/// allowed. The rest of them comes beside it.
fn client_layer(
    sources: &Sources,
    user_home: Option<&Path>,
    merged: &Merged,
    warnings: &mut Vec<ConfigWarning>,
    notes: &mut Vec<ConfigWarning>,
) -> (Map<String, Value>, Vec<Refused>) {
    let mut reports = Reports { warnings, notes };
    let settings = match section(sources.client.sent.as_ref()) {
        Ok(settings) => settings,
        Err(problem) => return (reports.add(problem), Vec::new()),
    };
    let mut checker = Checker::new(Layer::Client, None);
    checker.folder = sources.cwd.as_deref();
    checker.home = user_home;
    checker.allowed = Some(sources.client.allowed_for(sources.cwd.as_deref()));
    checker.current = Some(&merged.values);
    let mut entries = spelling::normalized(&tree::of_json(&settings), keys::KEYS);
    layers::tighten(&mut entries, merged, &mut checker);
    let values = checker.check(&entries);
    checker.leave_out_warnings();
    reports.take(&mut checker);
    (values, checker.refused)
}

/// Lays the project's files over what is there. Returns the folders that may hold some, none of a project that the person
/// does not trust; whether they have called it trusted; and the MCP servers that it has put in the place of the person's.
/// `persons` are settings of theirs that come once more after it.
fn project_layers(
    sources: &Sources,
    cwd: &Path,
    merged: &mut Merged,
    persons: [&Map<String, Value>; 2],
    warnings: &mut Vec<ConfigWarning>,
    notes: &mut Vec<ConfigWarning>,
) -> (Vec<PathBuf>, bool, Vec<String>) {
    let markers = effective::texts(&merged.values, "project_root_markers");
    let folders = layers::project_folders(cwd, &markers);
    let trust = |folder: &Path| {
        let projects = merged.values.get("projects")?.as_object()?;
        let entry = projects.iter().find(|(path, _)| Path::new(path) == folder)?;
        entry.1.get("trust_level")?.as_str().map(str::to_owned)
    };
    // The folder's own word wins over that of the folders above it.
    let trust = folders.iter().rev().find_map(|folder| trust(folder));
    if trust.as_deref() == Some("untrusted") {
        if merged
            .origins
            .get("approval_policy")
            .is_none_or(|origin| origin == "built-in")
        {
            let values = [("approval_policy".to_owned(), Value::from("untrusted"))]
                .into_iter()
                .collect();
            merged.lay(values, "projects");
        }
        return (Vec::new(), false, Vec::new());
    }
    let is_trusted = trust.as_deref() == Some("trusted");
    // A home folder that is a repository holds the person's own files, not a project's.
    let own = [
        Some(sources.home.clone()),
        sources.env.get("CODEX_HOME").map(PathBuf::from),
        sources.env.get("HOME").map(|home| Path::new(home).join(".codex")),
        sources.env.get("HOME").map(|home| Path::new(home).join(".countersign")),
    ];
    let (mut holders, mut theirs) = (Vec::new(), Vec::new());
    for folder in folders {
        for name in [".codex", ".countersign"] {
            let holder = folder.join(name);
            if own.iter().flatten().any(|own| *own == holder) || layers::is_planted(&holder, cwd) {
                continue;
            }
            holders.push(holder.clone());
            let path = holder.join("config.toml");
            let mut entries = File::read_or(&path, &sources.open).entries(&path, warnings);
            if entries.is_empty() {
                continue;
            }
            let mut checker = Checker::new(Layer::Project, Some(&path));
            checker.folder = Some(&folder);
            checker.trusted = is_trusted;
            layers::tighten(&mut entries, merged, &mut checker);
            let mut values = checker.check(&entries);
            keep_servers(&mut values, persons, &mut checker);
            theirs.append(&mut replace_servers(&values, merged, &mut checker));
            checker.leave_out_warnings();
            warnings.append(&mut checker.warnings);
            notes.append(&mut checker.notes);
            let from = From {
                layer: &path.display().to_string(),
                file: Some(&path),
                entries: &entries,
            };
            merged.lay_from(values, from);
        }
    }
    (holders, is_trusted, theirs)
}

/// An MCP server that the start-up command or the editor's own settings describe stays as it is there: they come after the project.
fn keep_servers(by_project: &mut Map<String, Value>, persons: [&Map<String, Value>; 2], checker: &mut Checker<'_>) {
    for name in described::keep(by_project, &persons) {
        let message = format!(
            "The project describes the MCP server {name:?} itself; that is not used, since your editor or the command that starts \
             the server describes one under that name."
        );
        checker.warn(message, None);
    }
}

/// Nothing that the person has said of an MCP server holds for another one that a project puts under its name. Gives their names.
fn replace_servers(by_project: &Map<String, Value>, merged: &mut Merged, checker: &mut Checker<'_>) -> Vec<String> {
    let replaced = described::replace(merged, by_project);
    for name in &replaced {
        let message = format!(
            "The project describes the MCP server {name:?} itself, so what you have configured under that name does not \
             apply to it here: its address, tokens, trust and tools are the project's."
        );
        checker.warn(message, None);
    }
    replaced
}

fn profiles_there_are(values: &Map<String, Value>) -> String {
    let names: Vec<&str> = values
        .get("profiles")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(name, _)| name.as_str())
        .collect();
    if names.is_empty() {
        "config.toml has no [profiles.<name>].".to_owned()
    } else {
        format!("Known are: {}.", names.join(", "))
    }
}

pub(super) fn defaults(env: &BTreeMap<String, String>) -> Map<String, Value> {
    let values = json!({
        "model_provider": "openai",
        "model_providers": provider::built_in(env),
        "model_reasoning_summary": "auto",
        "approval_policy": "on-request",
        "sandbox_mode": "workspace-write",
        "sandbox_workspace_write": {
            "writable_roots": [],
            "network_access": false,
            "exclude_tmpdir_env_var": false,
            "exclude_slash_tmp": false,
        },
        "sandbox": { "unreadable": [], "unreadable_defaults": true, "network": [], "protected": [], "unprotected": [], "credentials": {}, "methods": {} },
        "shell_environment_policy": {
            "inherit": "core",
            "ignore_default_excludes": false,
            "exclude": [],
            "set": {},
            "include_only": [],
        },
        "project_doc_max_bytes": 32768,
        "project_doc_fallback_filenames": [],
        "project_root_markers": [".git"],
        "hide_agent_reasoning": false,
        "show_raw_agent_reasoning": false,
        "history": { "persistence": "save-all" },
        "edits": { "approve": "ask", "hints": true },
        "include_apply_patch_tool": true,
    });
    match values {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
