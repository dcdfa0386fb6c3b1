//! How a server is reached, with everything that stands in the environment looked up.

use crate::config::mcp::{ServerSettings, Transport};
use crate::config::network::Network;
use crate::exec;
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
    /// `cwd` is the folder of a program that names none. `keys` are the variables that hold keys of providers: no server
    /// inherits them.
    pub fn new(settings: &ServerSettings, cwd: &Path, env: &BTreeMap<String, String>, keys: &[&str]) -> Self {
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
                        "`env_vars` names {key}, which holds the key of a model provider and is given to no tool server. If \
                         the server is to have that key, write it into `env`"
                    ));
                }
                let mut argv = vec![home(command, env)];
                argv.extend(args.iter().cloned());
                Self::Program {
                    argv,
                    cwd: own.clone().unwrap_or_else(|| cwd.to_owned()),
                    env: exec::for_companion(env, env_vars, set, keys),
                }
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
                            "the header {name:?} has a name or a value that cannot be sent; mend it"
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

/// `~/` at the start of a program's name is the person's home folder.
fn home(command: &str, env: &BTreeMap<String, String>) -> String {
    match (command.strip_prefix("~/"), env.get("HOME")) {
        (Some(rest), Some(home)) => Path::new(home).join(rest).to_string_lossy().into_owned(),
        _ => command.to_owned(),
    }
}
