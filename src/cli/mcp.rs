//! `countersign mcp`: the configured MCP servers, signing in to one and out of it, and allowing what one runs.

use crate::config::login::CredentialStore;
use crate::config::mcp::{ServerSettings, Transport};
use crate::config::{self, Config, Sources};
use crate::exec::Confinement;
use crate::exec::rules;
use crate::mcp::{self, Launch, Logins, Pool, State, shown_name};
use crate::protocol::mcp::McpServerStatus;
use crate::shown;
use clap::Subcommand;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Wish,
}

#[derive(Debug, Subcommand)]
enum Wish {
    /// Start each configured MCP server, and say whether it works and which tools it has.
    List(Place),
    /// Sign in to an MCP server in a browser, or say what else it needs.
    Login {
        /// Its name in config.toml.
        name: String,
        #[command(flatten)]
        place: Place,
    },
    /// Allow what an MCP server runs as it is now, after it was changed where commands of the agent can write.
    Allow {
        /// Its name in config.toml, in the editor's settings or in the client.
        name: String,
        #[command(flatten)]
        place: Place,
    },
    /// Forget the login to an MCP server.
    Logout {
        /// Its name in config.toml.
        name: String,
        #[command(flatten)]
        place: Place,
    },
}

#[derive(Debug, clap::Args)]
struct Place {
    /// The project whose configuration counts too; default: this folder.
    #[arg(long, value_name = "DIR")]
    cd: Option<PathBuf>,
}

/// What came of the start of a server.
pub(super) struct Tried {
    pub(super) name: String,
    /// The tools that are offered, or why there are none.
    pub(super) outcome: Result<Vec<String>, String>,
}

/// The status is 0 if all servers work, or if it is known how to sign in.
pub fn run(args: Args) -> ExitCode {
    let env = super::environment();
    let place = match &args.command {
        Wish::List(place) | Wish::Login { place, .. } | Wish::Allow { place, .. } | Wish::Logout { place, .. } => place,
    };
    let said = folder(place).and_then(|cwd| {
        let config = load(&env, &cwd)?;
        match &args.command {
            Wish::List(_) => Ok(list(&config, &env, &cwd)),
            Wish::Login { name, .. } => login(&config, name).map(|text| (text, true)),
            Wish::Allow { name, .. } => allow(&config, name, &env, &cwd).map(|text| (text, true)),
            Wish::Logout { name, .. } => logout(&config, name).map(|text| (text, true)),
        }
    });
    let (text, good) = match said {
        Ok(said) => said,
        Err(problem) => (format!("{problem}\n"), false),
    };
    let mut out = io::stdout().lock();
    let _gone = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn folder(place: &Place) -> Result<PathBuf, String> {
    let here = std::env::current_dir().map_err(|error| format!("The current folder is not known: {error}."))?;
    Ok(place
        .cd
        .as_ref()
        .map_or_else(|| here.clone(), |folder| here.join(folder)))
}

fn load(env: &BTreeMap<String, String>, cwd: &Path) -> Result<Config, String> {
    let home = config::home(env)
        .ok_or("Neither COUNTERSIGN_HOME nor HOME is an absolute path, so there is no configuration.")?;
    let sources = Sources {
        home,
        env: env.clone(),
        cwd: Some(cwd.to_owned()),
        ..Sources::default()
    };
    config::load(&sources)
        .map(|loaded| loaded.config)
        .map_err(|error| error.to_string())
}

fn list(config: &Config, env: &BTreeMap<String, String>, cwd: &Path) -> (String, bool) {
    let tried = try_all(config, env, cwd);
    if tried.is_empty() {
        return ("No MCP servers are configured.\n".to_owned(), true);
    }
    let good = tried.iter().all(|tried| tried.outcome.is_ok());
    let lines = tried.into_iter().map(|Tried { name, outcome }| match outcome {
        Ok(tools) => format!("{name}: {}\n", tools.join(", ")),
        Err(problem) => format!("{name}: {problem}\n"),
    });
    (lines.collect(), good)
}

/// Starts all servers side by side, each in its time, and ends them again.
pub(super) fn try_all(config: &Config, env: &BTreeMap<String, String>, cwd: &Path) -> Vec<Tried> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            let failed = |name: &String| Tried {
                name: name.clone(),
                outcome: Err(error.to_string()),
            };
            return config.mcp_servers.keys().map(failed).collect();
        }
    };
    know_what_is_open(config, cwd);
    runtime.block_on(async {
        let pool = Pool::new(Logins::new(&config.home));
        let keys: Vec<&str> = config.provider_variables().collect();
        let servers: Vec<_> = config
            .mcp_servers
            .iter()
            .map(|(name, settings)| pool.get(name, settings, Launch::new(settings, cwd, &config.home, env, &keys)))
            .collect();
        servers.iter().for_each(|server| server.start());
        let states = futures::future::join_all(servers.iter().map(|server| server.started())).await;
        let tried = servers
            .iter()
            .zip(states)
            .map(|(server, State { status, problem })| Tried {
                // A project and the server have named them: no line of their own, and nothing that hides.
                name: shown_name(&server.name),
                outcome: match status {
                    McpServerStatus::Ready => Ok(server.tools().iter().map(|tool| shown::line(&tool.name)).collect()),
                    _ => {
                        Err(problem
                            .map_or_else(|| "it is not there".to_owned(), |problem| shown::line(problem.as_ref())))
                    }
                },
            });
        let tried = tried.collect();
        pool.close().await;
        tried
    })
}

/// What commands may write is known before programs are looked for.
fn know_what_is_open(config: &Config, cwd: &Path) {
    let _rules = rules::Cache::default().rules(&rules::Sources::new(&config.home, &config.rule_folders));
    let _walls = Confinement::new(&config.sandbox_policy, cwd, &[], None);
}

/// Remembers the files that a server runs as they are now.
fn allow(config: &Config, name: &str, env: &BTreeMap<String, String>, cwd: &Path) -> Result<String, String> {
    know_what_is_open(config, cwd);
    let keys: Vec<&str> = config.provider_variables().collect();
    let server = shown_name(name);
    let settings = config.mcp_servers.get(name);
    let mut files = match settings.map(|settings| Launch::new(settings, cwd, &config.home, env, &keys)) {
        Some(Launch::None(why)) => {
            return Err(format!(
                "The MCP server {server} cannot be started: {}.",
                shown::line(&why)
            ));
        }
        Some(launch) => mcp::allow(&config.home, name, &launch).map_err(|error| error.to_string())?,
        None => BTreeSet::new(),
    };
    // One of the editor's settings, or of a client, is in no file.
    let refused = mcp::allow_refused(&config.home, name, cwd, settings.is_some());
    files.extend(refused.map_err(|error| error.to_string())?);
    if files.is_empty() {
        known(config, name)?;
        return Ok(format!(
            "Commands of the agent can write nothing that the MCP server {server} runs.\n"
        ));
    }
    let files: String = files.iter().map(|file| format!("  {}\n", shown::path(file))).collect();
    Ok(format!(
        "The MCP server {server} may be started with these as they are now:\n{files}"
    ))
}

fn known<'a>(config: &'a Config, name: &str) -> Result<&'a ServerSettings, String> {
    config.mcp_servers.get(name).ok_or_else(|| {
        let known: Vec<String> = config.mcp_servers.keys().map(|name| shown_name(name)).collect();
        match known.is_empty() {
            true => format!("There is no MCP server {name:?}; none are configured."),
            false => format!("There is no MCP server {name:?}. There are: {}.", known.join(", ")),
        }
    })
}

/// Logs in to a server that takes a login by browser; of the others it is told what they need.
fn login(config: &Config, name: &str) -> Result<String, String> {
    let settings = known(config, name)?;
    if let Some(how) = otherwise(name, settings) {
        return Ok(how);
    }
    check_store(settings)?;
    let logins = Logins::new(&config.home);
    wait(async {
        let begun = mcp::begin(name, settings, &logins)
            .await
            .map_err(|error| error.to_string())?;
        super::login::say(&format!(
            "Open this page in a browser on this machine:\n\n{}\n",
            begun.url
        ));
        begun.finish().await.map_err(|error| error.to_string())?;
        Ok(format!("You are signed in to the MCP server {}.\n", shown_name(name)))
    })
}

fn logout(config: &Config, name: &str) -> Result<String, String> {
    let settings = known(config, name)?;
    let url = settings.url().unwrap_or_default();
    let logins = Logins::new(&config.home);
    let forgotten = wait(async {
        let forgotten = logins.forget(name, url, settings.login.store, &settings.network).await;
        forgotten.map_err(|error| error.to_string())
    })?;
    Ok(match forgotten {
        true => format!("You are signed out of the MCP server {}.\n", shown_name(name)),
        false => format!("Nobody was signed in to the MCP server {}.\n", shown_name(name)),
    })
}

fn wait<T>(work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build();
    runtime
        .map_err(|error| format!("It cannot start: {error}."))?
        .block_on(work)
}

/// A login that is kept nowhere is of no use to another program.
fn check_store(settings: &ServerSettings) -> Result<(), String> {
    match settings.login.store {
        CredentialStore::File | CredentialStore::Keyring | CredentialStore::Auto => Ok(()),
        CredentialStore::Ephemeral => Err("mcp_oauth_credentials_store = \"ephemeral\" keeps logins in the memory of the program \
                                           that made them. Sign in from your editor (countersign/mcp/login), or set it to \"file\"."
            .to_owned()),
    }
}

/// What a server needs that takes no login by browser.
fn otherwise(name: &str, settings: &ServerSettings) -> Option<String> {
    let name = shown_name(name);
    match &settings.transport {
        Transport::Program { .. } => Some(format!(
            "The MCP server {name} is a program and takes no login from here. What it needs to know it gets by `env` or \
             `env_vars` in [mcp_servers.{name}].\n"
        )),
        Transport::Http {
            bearer_token_env_var: Some(variable),
            ..
        } => Some(format!(
            "The MCP server {name} gets its token from the variable {variable}. Set it in the environment that starts your editor.\n"
        )),
        Transport::Http { .. } if settings.has_token() => Some(format!(
            "The MCP server {name} gets its token from a header that [mcp_servers.{name}] sets.\n"
        )),
        Transport::Http { .. } => None,
    }
}
