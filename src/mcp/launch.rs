//! How a server is reached, with everything that stands in the environment looked up.

mod caches;

use crate::config::mcp::{ServerSettings, Transport};
use crate::config::network::Network;
use crate::exec::{self, program};
use axum::http::{HeaderName, HeaderValue};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// The way to a server.
#[derive(Clone, PartialEq, Eq)]
pub enum Launch {
    Program {
        argv: Vec<String>,
        cwd: PathBuf,
        env: BTreeMap<String, String>,
    },
    Http {
        url: String,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        network: Network,
    },
    /// There is none; why, in words.
    None(String),
}

impl Launch {
    /// `cwd` is the conversation's folder, in which no program starts that does not name it. `home` is the home folder of
    /// Countersign. `keys` are the variables that hold keys of providers: no server inherits them.
    pub fn new(
        settings: &ServerSettings,
        cwd: &Path,
        home: &Path,
        env: &BTreeMap<String, String>,
        keys: &[&str],
    ) -> Self {
        match &settings.transport {
            Transport::Program {
                command,
                args,
                env: set,
                env_vars,
                cwd: own,
            } => {
                if let Some(key) = env_vars.iter().find(|name| keys.contains(&name.as_str())) {
                    return Self::None(format!(
                        "`env_vars` names {key}, which holds the key of a model provider and is given to no MCP server. If \
                         the server is to have that key, write it into `env`"
                    ));
                }
                Self::program(
                    command,
                    args,
                    own.as_deref(),
                    (cwd, home),
                    env,
                    exec::for_companion(env, env_vars, set, keys),
                )
            }
            Transport::Http {
                url,
                bearer_token_env_var,
                http_headers,
                env_http_headers,
            } => {
                let filled = |name: &String| {
                    env.get(name)
                        .map(|value| value.trim().to_owned())
                        .filter(|value| !value.is_empty())
                };
                let token = match bearer_token_env_var {
                    None => None,
                    Some(name) => match filled(name) {
                        Some(token) => Some(token),
                        None => {
                            return Self::None(format!(
                                "the environment variable {name}, which is to hold its token, is not set. Set it in the \
                                 environment that starts your editor, then start the editor again"
                            ));
                        }
                    },
                };
                // A header whose variable is not set is left out, as for model providers.
                let looked_up = env_http_headers
                    .iter()
                    .filter_map(|(header, name)| Some((header.clone(), filled(name)?)));
                let all = http_headers
                    .iter()
                    .map(|(header, value)| (header.clone(), value.clone()))
                    .chain(looked_up);
                let mut headers = HashMap::new();
                for (name, value) in all {
                    let (Ok(header), Ok(value)) = (HeaderName::try_from(&name), HeaderValue::try_from(&value)) else {
                        return Self::None(format!(
                            "the header {name:?} has a name or a value that cannot be sent; fix it"
                        ));
                    };
                    headers.insert(header, value);
                }
                // Ours to set, as the token is.
                if let Some(own) = ["accept", "mcp-session-id", "mcp-protocol-version", "last-event-id"]
                    .into_iter()
                    .find(|own| headers.contains_key(*own))
                {
                    return Self::None(format!(
                        "the header {own} belongs to the protocol and cannot be set; remove it"
                    ));
                }
                Self::Http {
                    url: url.clone(),
                    token,
                    headers,
                    network: settings.network.clone(),
                }
            }
        }
    }
}

impl Launch {
    /// Looks again whether nobody else could have changed where a program was found by its name and where it starts: what
    /// commands may write can have become more since.
    ///
    /// # Errors
    /// Somebody could; in words.
    pub(super) fn check(&self, settings: &ServerSettings) -> Result<(), String> {
        let (Self::Program { argv, cwd, env }, Transport::Program { command, cwd: own, .. }) =
            (self, &settings.transport)
        else {
            return Ok(());
        };
        let is_by_name = !Path::new(command).is_absolute() && !command.starts_with("~/");
        let found = argv.first().map(Path::new).filter(|_| is_by_name);
        let start = Some(cwd.as_path()).filter(|cwd| own.is_none() && cwd.parent().is_some());
        match found
            .into_iter()
            .chain(start)
            .find(|place| program::is_open(place, env))
        {
            None => Ok(()),
            Some(place) => Err(format!(
                "commands or other users can change {} by now, so it is not started from there again; start a new conversation, \
                 in which it is looked for elsewhere",
                place.display()
            )),
        }
    }

    /// `own` is the folder that the person has named for it; then the conversation's and Countersign's home folder. `env` is the
    /// server's environment and `its` the program's.
    fn program(
        command: &str,
        args: &[String],
        own: Option<&Path>,
        (cwd, home): (&Path, &Path),
        env: &BTreeMap<String, String>,
        mut its: BTreeMap<String, String>,
    ) -> Self {
        program::guard(cwd);
        // The person may have set another `PATH` for it; what it is found by is what it gets.
        let path = its.get("PATH").or_else(|| env.get("PATH")).cloned().unwrap_or_default();
        let mut looking = env.clone();
        looking.insert("PATH".to_owned(), path);
        let found = match program::find(&at_home(command, env), own, &looking) {
            Ok(found) => found,
            Err(unfound) => return Self::None(unfound.to_string()),
        };
        its.insert("PATH".to_owned(), program::search_path(&looking));
        let start = match (own, program::relative_argument(args, Some(cwd))) {
            (Some(own), _) => own.to_owned(),
            (None, None) => program::neutral_folder(env),
            (None, Some(argument)) => {
                return Self::None(format!(
                    "its argument {argument:?} depends on the folder that it starts in, which is not the workspace: set `cwd` in \
                     its table, or give an absolute path"
                ));
            }
        };
        for (variable, folder) in caches::moved(&its, env, home) {
            its.insert(variable.to_owned(), folder);
        }
        exec::program::share_no_caches(&mut its);
        let mut argv = vec![found.to_string_lossy().into_owned()];
        argv.extend(args.iter().cloned());
        if !its.contains_key(caches::OF_PYTHON)
            && !exec::led_to(&argv, &start, &its).is_empty()
            && let Some(folder) = caches::of_python(env, home)
        {
            its.insert(caches::OF_PYTHON.to_owned(), folder);
        }
        Self::Program {
            argv,
            cwd: start,
            env: its,
        }
    }
}

/// `~/` at the start of a program's name is the person's home folder.
fn at_home(command: &str, env: &BTreeMap<String, String>) -> String {
    match (command.strip_prefix("~/"), env.get("HOME")) {
        (Some(rest), Some(home)) => Path::new(home).join(rest).to_string_lossy().into_owned(),
        _ => command.to_owned(),
    }
}
