//! The checks, in the order in which they are shown.

use super::{Check, Machine, State, editors};
use crate::account::{self, Account, CommandLogin, Held};
use crate::cli::{allowed, login, mcp};
use crate::config::consent;
use crate::config::provider::{AuthCommand, Provider};
use crate::config::{self, Config, Loaded, Sources};
use crate::exec::{rules, support};
use crate::model::credential::Login as _;
use crate::model::error::{ErrorKind, KeyFrom};
use crate::model::local::{self, Candidate};
use crate::model::{ModelClient, catalogue};
use crate::private;
use crate::protocol::config::ConfigWarning;
use crate::secrets::Secrets;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a server on this machine may take to list its models.
const LOCAL_LIMIT: Duration = Duration::from_secs(2);
/// How long a provider may take for the same.
const PROVIDER_LIMIT: Duration = Duration::from_secs(5);

pub(super) fn all(machine: &Machine) -> Vec<Check> {
    let mut checks = vec![version(machine), sandbox(), home(machine)];
    match load(machine) {
        Ok(loaded) => {
            checks.push(configuration(machine, &loaded));
            checks.push(rules(&loaded.config));
            checks.push(model(machine, &loaded.config));
            checks.extend(login_check(machine, &loaded.config));
            checks.extend(tool_servers(machine, &loaded.config));
        }
        Err(problem) => checks.push(Check::new("configuration", State::Fail, problem)),
    }
    checks.push(git(machine));
    checks.push(editors::check(machine));
    checks
}

fn version(machine: &Machine) -> Check {
    let summary = format!(
        "countersign {} on {} {}",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH
    );
    match (find(machine, "countersign"), &machine.program) {
        (Some(found), Some(own)) if !same_file(&found, own) => {
            Check::new("program", State::Warn, summary).with([format!(
                "Editors start another one: PATH leads to {}, this is {}.",
                found.display(),
                own.display()
            )])
        }
        (None, Some(own)) => Check::new("program", State::Warn, summary).with([format!(
            "It is not on PATH. Put it there, or give your editor the whole path: {}",
            own.display()
        )]),
        _ => Check::new("program", State::Ok, summary),
    }
}

fn sandbox() -> Check {
    const NAME: &str = "sandbox";
    let status = support().status();
    let missing = status.walls.iter().filter(|wall| !wall.stands);
    let missing: Vec<String> = missing
        .map(|wall| format!("{} is missing: {}", wall.name, wall.detail))
        .collect();
    if !status.can_confine {
        let advice = match status.platform.as_str() {
            "linux" => "Use a Linux kernel of 5.13 or newer with Landlock, outside of containers that forbid it.",
            "macos" => "macOS comes with /usr/bin/sandbox-exec; find out why it cannot be started.",
            _ => "Work on Linux or macOS (on Windows: in WSL 2), or set full access, if you trust all that runs.",
        };
        return Check::new(
            NAME,
            State::Fail,
            "commands cannot be confined here, so they are refused",
        )
        .with(missing)
        .with([format!("At least: {}.", status.minimum), advice.to_owned()]);
    }
    let parts: Vec<String> = status
        .walls
        .iter()
        .filter(|wall| wall.stands)
        .map(|wall| match wall.detail.strip_prefix("version ") {
            Some(version) => format!("{} {version}", wall.name),
            None => wall.name.clone(),
        })
        .collect();
    let state = match status.weaknesses.is_empty() {
        true => State::Ok,
        false => State::Warn,
    };
    Check::new(NAME, state, format!("commands are confined: {}", parts.join(", ")))
        .with(missing)
        .with(status.weaknesses)
}

fn home(machine: &Machine) -> Check {
    let Some(home) = &machine.home else {
        return Check::new(
            "home folder",
            State::Fail,
            "not known: neither COUNTERSIGN_HOME nor HOME is an absolute path",
        )
        .with(["Set COUNTERSIGN_HOME to a folder that can be written.".to_owned()]);
    };
    if let Err(trouble) = private::check_home(home) {
        let summary = format!("{} can be changed by others, so it is not used", home.display());
        return Check::new("home folder", State::Fail, summary).with([trouble.to_string()]);
    }
    match try_write(home) {
        Ok(true) => Check::new("home folder", State::Ok, home.display().to_string()),
        Ok(false) => Check::new(
            "home folder",
            State::Ok,
            format!("{} (made when it is needed)", home.display()),
        ),
        Err(cause) => Check::new(
            "home folder",
            State::Fail,
            format!("{} cannot be written: {cause}", home.display()),
        )
        .with(["Make it writable, or set COUNTERSIGN_HOME to a folder that is.".to_owned()]),
    }
}

/// Writes a file into the folder, or into what would hold it, and takes it away again. Whether the folder is there.
fn try_write(home: &Path) -> std::io::Result<bool> {
    let there = home
        .ancestors()
        .find(|folder| fs::symlink_metadata(folder).is_ok())
        .unwrap_or(home);
    let probe = there.join(format!(".countersign-probe-{}", std::process::id()));
    private::create_new(&probe)?;
    fs::remove_file(&probe)?;
    Ok(there == home)
}

fn load(machine: &Machine) -> Result<Loaded, String> {
    let sources = Sources {
        // Without a home folder there is no file; everything else still counts.
        home: machine.home.clone().unwrap_or_else(|| PathBuf::from("/nonexistent")),
        env: machine.env.clone(),
        cwd: machine.cwd.clone(),
        ..Sources::default()
    };
    config::load(&sources).map_err(|error| error.to_string())
}

fn configuration(machine: &Machine, loaded: &Loaded) -> Check {
    let file = machine.home.as_ref().map(|home| home.join("config.toml"));
    let mut files: Vec<String> = Vec::new();
    for origin in loaded.origins.values().filter(|origin| origin.ends_with(".toml")) {
        if !files.contains(origin) {
            files.push(origin.clone());
        }
    }
    let summary = match &file {
        // A project's folder may be among them.
        _ if !files.is_empty() => crate::shown::line(&files.join(", ")),
        Some(file) if !file.exists() => format!("built-in ({} is not there)", file.display()),
        _ => "built-in".to_owned(),
    };
    let state = if loaded.warnings.is_empty() {
        State::Ok
    } else {
        State::Warn
    };
    let mut check = Check::new("configuration", state, summary).with(loaded.warnings.iter().map(place));
    let unused: Vec<&str> = loaded
        .notes
        .iter()
        .filter_map(|note| note.message.split('`').nth(1))
        .collect();
    if let (Some(home), Some(cwd)) = (&machine.home, &machine.cwd) {
        let refused = consent::last_refused(home, cwd);
        if !refused.is_empty() && check.state == State::Ok {
            check.state = State::Warn;
        }
        let sentences = refused
            .iter()
            .map(|(editor, refused)| consent::describe(editor, refused));
        check.details.extend(sentences);
        check.details.extend(allowed::sentences(home, cwd));
    }
    if !unused.is_empty() {
        check
            .details
            .push(format!("Known, but not used yet: {}.", unused.join(", ")));
    }
    check
}

/// The standing rules on commands.
fn rules(config: &Config) -> Check {
    const NAME: &str = "rules";
    let rules = rules::load(&rules::Sources::new(&config.home, &config.rule_folders));
    let count = |number: usize, what: &str| match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    };
    let summary = format!(
        "{}, {}",
        count(rules.iter().count(), "rule"),
        count(rules.permissions().count(), "standing permission")
    );
    let state = match rules.reports().is_empty() {
        true => State::Ok,
        false => State::Warn,
    };
    Check::new(NAME, state, summary).with(rules.reports().iter().map(place))
}

/// A warning behind its place, as compilers write them.
fn place(warning: &ConfigWarning) -> String {
    match (&warning.path, warning.line) {
        (Some(path), Some(line)) => format!("{}:{line}: {}", crate::shown::path(path), warning.message),
        (Some(path), None) => format!("{}: {}", crate::shown::path(path), warning.message),
        (None, _) => warning.message.clone(),
    }
}

fn model(machine: &Machine, config: &Config) -> Check {
    const NAME: &str = "model";
    let id = &config.model_provider;
    let provider = match config.provider(id) {
        Ok(provider) => provider,
        Err(error) => return Check::new(NAME, State::Fail, error.to_string()),
    };
    let of = match &config.model {
        Some(model) => format!("{model} of {}", provider.name),
        None => provider.name.clone(),
    };
    if let Some(command) = &provider.auth {
        return auth_program(NAME, &of, command, machine);
    }
    let terms = login::terms(config, machine.env.clone());
    let account = Account::new(&config.home, Secrets::default());
    let tried = |how: &str| {
        let (credential, _) = account.credential(terms.terms());
        let headers = machine_headers(provider, machine);
        let client =
            ModelClient::with_credential(provider, credential, &ModelClient::user_agent()).with_headers(headers);
        try_provider(&format!("{of}, {how}"), &client, config.model.as_deref())
    };
    match account.held(terms.terms()) {
        Held::Account(_) => return Check::new(NAME, State::Ok, format!("{of}, by the login below")),
        Held::Key {
            from: KeyFrom::Stored, ..
        } => return tried("with the key of the login below"),
        _ => {}
    }
    match config::key(provider, &machine.env) {
        Ok(None) if is_local(provider) => match ask(&[candidate(id, provider)]) {
            Some(found) => {
                let model = config.model.clone().unwrap_or_else(|| found.model.clone());
                let summary = format!("{model} of {} at {}", provider.name, provider.base_url);
                if found.models.contains(&model) {
                    Check::new(NAME, State::Ok, summary)
                } else {
                    let known = format!("It does not offer {model:?}, but {}.", found.models.join(", "));
                    Check::new(NAME, State::Warn, summary).with([known])
                }
            }
            None => Check::new(
                NAME,
                State::Fail,
                format!("{} does not answer at {}", provider.name, provider.base_url),
            )
            .with(["Start it and load a model, or choose another model_provider in config.toml.".to_owned()]),
        },
        Ok(None) => tried("without a key"),
        Ok(Some(_)) => match (&provider.experimental_bearer_token, &provider.env_key) {
            (None, Some(variable)) => tried(&format!("key in {variable}")),
            _ => tried("key in the configuration"),
        },
        Err(missing) => {
            // Somebody who chose a provider wants that one; anybody else is glad of what is there.
            let found = if config.model_provider_chosen {
                None
            } else {
                ask(&local::usual_candidates())
            };
            match found {
                Some(found) => Check::new(
                    NAME,
                    State::Ok,
                    format!(
                        "{} of {} at {}",
                        found.model, found.provider.name, found.provider.base_url
                    ),
                )
                .with([format!(
                    "There is no key ({}), so the server on this machine is used.",
                    missing.variable
                )]),
                None => Check::new(
                    NAME,
                    State::Fail,
                    format!("no key for {}: {} is not set", provider.name, missing.variable),
                )
                .with([missing.to_string()])
                .with(
                    provider
                        .requires_openai_auth
                        .then(|| "Or sign in: `countersign login`.".to_owned()),
                )
                .with([
                    "Or start a local server: Ollama (ollama serve), llama.cpp (llama-server) or LM Studio, with a model loaded; it is \
                     found by itself."
                        .to_owned(),
                ]),
            }
        }
    }
}

/// What the provider's `env_http_headers` name.
fn machine_headers(provider: &Provider, machine: &Machine) -> Vec<(String, String)> {
    let headers = provider.env_http_headers.iter();
    headers
        .filter_map(|(name, variable)| Some((name.clone(), machine.env.get(variable)?.clone())))
        .collect()
}

/// Asks a provider for its models, which costs nothing: whether it is reached, takes the key, and has the model that is wanted.
fn try_provider(of: &str, client: &ModelClient, wanted: Option<&str>) -> Check {
    const NAME: &str = "model";
    let listed = block_on(async { tokio::time::timeout(PROVIDER_LIMIT, catalogue::list_remote(client)).await });
    let Some(listed) = listed else {
        return Check::new(NAME, State::Warn, format!("{of}; not tried"));
    };
    let error = match listed {
        Ok(Ok(models)) => {
            return match wanted.filter(|wanted| !models.is_empty() && models.iter().all(|model| model.id != **wanted)) {
                None => Check::new(NAME, State::Ok, format!("{of}; it answers")),
                Some(wanted) => Check::new(NAME, State::Warn, format!("{of}; it answers")).with([format!(
                    "{wanted} is not among the models that it lists: `countersign model list` shows them."
                )]),
            };
        }
        Ok(Err(error)) => error,
        Err(_) => {
            let why = format!("{of}; no answer within {} s", PROVIDER_LIMIT.as_secs());
            return Check::new(NAME, State::Warn, why);
        }
    };
    match &error.kind {
        ErrorKind::Unauthorized { .. } => {
            Check::new(NAME, State::Fail, format!("{of}; refused")).with([error.to_string()])
        }
        // Not every provider lists its models.
        ErrorKind::Http {
            status: status @ (404 | 405 | 501),
            ..
        } => Check::new(
            NAME,
            State::Ok,
            format!("{of}; it answers (status {status}: it lists no models, so the key was not tried)"),
        ),
        ErrorKind::Offline => Check::new(
            NAME,
            State::Ok,
            format!("{of}; not tried, since the network is turned off"),
        ),
        _ => Check::new(NAME, State::Warn, format!("{of}; it could not be tried")).with([error.to_string()]),
    }
}

/// The program that gives the provider's key, run as a turn would.
fn auth_program(name: &'static str, of: &str, command: &AuthCommand, machine: &Machine) -> Check {
    let secrets = Secrets::default();
    let login = CommandLogin::new(command, &machine.env, secrets.clone());
    let program = &command.command;
    match block_on(login.current()) {
        Some(Ok(bearer)) => {
            let length = bearer.token.chars().count();
            let summary = format!("{of}, key from `{program}`, which gave one of {length} characters");
            Check::new(name, State::Ok, summary)
        }
        Some(Err(trouble)) => Check::new(name, State::Fail, format!("no key for {of}: `{program}` gave none")).with([
            secrets.mask(&trouble.to_string()).into_owned(),
            "Fix the program, or `auth` of the provider in config.toml; then run this again.".to_owned(),
        ]),
        None => Check::new(name, State::Fail, format!("`{program}` could not be started")),
    }
}

/// How one is signed in, where the provider takes a login.
fn login_check(machine: &Machine, config: &Config) -> Option<Check> {
    const NAME: &str = "login";
    let terms = login::terms(config, machine.env.clone());
    if !terms.provider.requires_openai_auth {
        return None;
    }
    let account = Account::new(&config.home, Secrets::default());
    let kept = account::place(&config.home, &terms.login);
    let (summary, is_signed_in) = login::describe(&account, &terms, &kept);
    let trouble = account.trouble(&terms.login);
    // Somebody without a login may have a local server, which the check of the model finds; else that one says how to sign in.
    if !is_signed_in && trouble.is_none() {
        return None;
    }
    Some(match trouble {
        None => Check::new(NAME, State::Ok, summary),
        Some(trouble) if summary.contains(&trouble.to_string()) => Check::new(NAME, State::Warn, summary),
        Some(trouble) => Check::new(NAME, State::Warn, summary).with([trouble.to_string()]),
    })
}

fn ask(candidates: &[Candidate]) -> Option<local::Found> {
    block_on(local::detect(candidates, LOCAL_LIMIT))?
}

/// None if the system gives no runtime.
fn block_on<T>(work: impl Future<Output = T>) -> Option<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    Some(runtime.ok()?.block_on(work))
}

fn candidate(id: &str, provider: &Provider) -> Candidate {
    Candidate {
        id: id.to_owned(),
        name: provider.name.clone(),
        base_url: provider.base_url.clone(),
    }
}

fn is_local(provider: &Provider) -> bool {
    url::Url::parse(&provider.base_url).is_ok_and(|url| match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    })
}

/// The MCP servers, each started for a moment; nothing where none are configured.
fn tool_servers(machine: &Machine, config: &Config) -> Option<Check> {
    let cwd = machine.cwd.as_deref().unwrap_or(&config.home);
    let tried = mcp::try_all(config, &machine.env, cwd);
    let broken = tried.iter().filter(|tried| tried.outcome.is_err()).count();
    let (state, summary) = match (tried.len(), broken) {
        (0, _) => return None,
        (all, 0) => (State::Ok, format!("{all} configured, all start")),
        (all, broken) => (State::Warn, format!("{all} configured, {broken} of them not working")),
    };
    let details = tried.into_iter().map(|tried| match tried.outcome {
        Ok(tools) => format!("{}: {} tools", tried.name, tools.len()),
        Err(problem) => problem,
    });
    Some(Check::new("MCP servers", state, summary).with(details))
}

fn git(machine: &Machine) -> Check {
    match find(machine, "git") {
        Some(path) => Check::new("git", State::Ok, path.display().to_string()),
        None => Check::new("git", State::Warn, "not found on PATH").with([
            "Threads do not note their branch, and reviews of changes are not possible. Install git.".to_owned(),
        ]),
    }
}

/// The program that this name starts.
pub(super) fn find(machine: &Machine, name: &str) -> Option<PathBuf> {
    let path = machine.env.get("PATH")?;
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|file| is_program(file))
}

#[cfg(unix)]
fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(file: &Path) -> bool {
    file.is_file() || file.with_extension("exe").is_file()
}

fn same_file(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}
