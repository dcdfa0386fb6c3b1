//! An MCP server, as `[mcp_servers.<name>]` describes it: how it is reached, how long it may take, and which of its tools
//! are offered.

use super::login::CredentialStore;
use super::network::Network;
use crate::protocol::config::ConfigWarning;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

/// How long a server may take to start where it says nothing else.
pub const STARTUP_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a call may take where the server says nothing else.
const TOOL_TIMEOUT: Duration = Duration::from_secs(60);
/// Longer than anyone waits, and short enough for every clock.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);

/// One server that is switched on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    pub transport: Transport,
    /// Turns wait for it, and fail where it does not start.
    pub required: bool,
    pub startup_timeout: Duration,
    /// For one call of a tool, without the time in which the person is asked something.
    pub tool_timeout: Duration,
    /// The only tools that are offered; absent: all.
    pub enabled_tools: Option<BTreeSet<String>>,
    /// Tools that are not offered, whatever else is said.
    pub disabled_tools: BTreeSet<String>,
    /// Which calls ask first.
    pub approval: ApprovalMode,
    /// The same for single tools.
    pub tools: BTreeMap<String, ApprovalMode>,
    /// Its calls run side by side, also those that change something.
    pub parallel: bool,
    /// The person believes what it says of its tools: that one only reads, for example.
    pub trust_annotations: bool,
    /// How one signs in to it.
    pub login: Login,
    /// How it is reached, where it is a service.
    pub network: Network,
}

/// What holds for signing in to a server, and for what was signed in with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Login {
    /// The client that its authorization server knows already (`oauth.client_id`); absent: one is registered.
    pub client_id: Option<String>,
    /// What is asked for; absent: what the server says.
    pub scopes: Option<Vec<String>>,
    /// `mcp_oauth_credentials_store`.
    pub store: CredentialStore,
    /// Where the browser comes back to, on this machine; absent: any free port of it.
    pub callback_url: Option<String>,
}

impl Login {
    /// What is the same for all servers. Reads it from the merged values, which the table of keys has checked.
    pub(super) fn read(values: &Map<String, Value>) -> Self {
        let store = values.get("mcp_oauth_credentials_store").cloned();
        let url = values.get("mcp_oauth_callback_url").and_then(Value::as_str);
        let port = values.get("mcp_oauth_callback_port").and_then(Value::as_u64);
        Self {
            store: store
                .and_then(|store| serde_json::from_value(store).ok())
                .unwrap_or(CredentialStore::Auto),
            callback_url: url
                .map(str::to_owned)
                .or_else(|| Some(format!("http://127.0.0.1:{}/auth/callback", port?))),
            ..Self::default()
        }
    }
}

/// How a server is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum Transport {
    /// A program of the person's that talks over its standard streams.
    Program {
        command: String,
        args: Vec<String>,
        env: BTreeMap<String, String>,
        /// Variables that it gets from the environment of the server.
        env_vars: Vec<String>,
        /// Absent: the thread's folder.
        cwd: Option<PathBuf>,
    },
    /// Streamable HTTP.
    Http {
        url: String,
        /// The variable that holds the token.
        bearer_token_env_var: Option<String>,
        http_headers: BTreeMap<String, String>,
        /// Header name to the variable that holds its value.
        env_http_headers: BTreeMap<String, String>,
    },
}

/// Without values that may be secret.
impl std::fmt::Debug for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Program { command, .. } => f
                .debug_struct("Program")
                .field("command", command)
                .finish_non_exhaustive(),
            Self::Http { .. } => f.debug_struct("Http").finish_non_exhaustive(),
        }
    }
}

/// Which calls of tools ask the person first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ApprovalMode {
    /// All but those that only read, as far as the server is believed.
    #[default]
    Auto,
    /// All.
    Prompt,
    /// None.
    Approve,
}

/// The words for it in a file.
pub(super) const APPROVAL_MODES: &[&str] = &["auto", "prompt", "approve", "writes"];

impl ApprovalMode {
    fn parse(word: &str) -> Self {
        match word {
            "prompt" => Self::Prompt,
            "approve" => Self::Approve,
            // `writes` is another name of it.
            _ => Self::Auto,
        }
    }
}

impl ServerSettings {
    /// Whether a tool of this name is offered.
    pub fn offers(&self, tool: &str) -> bool {
        let enabled = self.enabled_tools.as_ref();
        enabled.is_none_or(|enabled| enabled.contains(tool)) && !self.disabled_tools.contains(tool)
    }

    pub fn approval_of(&self, tool: &str) -> ApprovalMode {
        self.tools.get(tool).copied().unwrap_or(self.approval)
    }

    /// Whether its token comes from a variable, or from a header that the configuration sets.
    pub fn has_token(&self) -> bool {
        match &self.transport {
            Transport::Program { .. } => false,
            Transport::Http {
                bearer_token_env_var,
                http_headers,
                env_http_headers,
                ..
            } => {
                let mut headers = http_headers.keys().chain(env_http_headers.keys());
                bearer_token_env_var.is_some() || headers.any(|name| name.eq_ignore_ascii_case("authorization"))
            }
        }
    }

    /// The address of a server that is reached by HTTP.
    pub fn url(&self) -> Option<&str> {
        match &self.transport {
            Transport::Http { url, .. } => Some(url),
            Transport::Program { .. } => None,
        }
    }
}

/// The servers that are switched on, of the merged values. `place` gives the line of a server's table, where it has one.
pub(super) fn servers(
    values: &Map<String, Value>,
    place: &dyn Fn(&str) -> ConfigWarning,
    warnings: &mut Vec<ConfigWarning>,
) -> BTreeMap<String, ServerSettings> {
    let described = values.get("mcp_servers").and_then(Value::as_object);
    let mut servers = BTreeMap::new();
    let all = Login::read(values);
    for (name, description) in described.into_iter().flatten() {
        let Some(table) = description.as_object() else {
            continue;
        };
        if table.get("enabled").and_then(Value::as_bool) == Some(false) {
            continue;
        }
        let read = match name.trim().is_empty() {
            true => Err("it has no name".to_owned()),
            false => server(table, &all),
        };
        match read {
            Ok(settings) => {
                servers.insert(name.clone(), settings);
            }
            Err(problem) => warnings.push(ConfigWarning {
                message: format!("The MCP server {name:?} is not used: {problem}."),
                ..place(name)
            }),
        }
    }
    servers
}

fn server(table: &Map<String, Value>, all: &Login) -> Result<ServerSettings, String> {
    let text = |key: &str| table.get(key).and_then(Value::as_str).map(str::to_owned);
    let texts = |key: &str| -> Option<Vec<String>> { serde_json::from_value(table.get(key)?.clone()).ok() };
    let map = |key: &str| -> BTreeMap<String, String> {
        let value = table.get(key).cloned();
        value
            .and_then(|value| serde_json::from_value(value).ok())
            .unwrap_or_default()
    };
    let flag = |key: &str| table.get(key).and_then(Value::as_bool).unwrap_or(false);
    let seconds = |key: &str| table.get(key).and_then(Value::as_f64).map(duration);
    let transport = match (text("command"), text("url")) {
        (Some(_), Some(_)) => {
            return Err(
                "it has both `command` and `url`. A program has `command`, a server on the network `url`: \
                        remove one of them"
                    .to_owned(),
            );
        }
        (None, None) => {
            return Err(
                "it has neither `command` nor `url`. Say which program is to be started, or where the server is"
                    .to_owned(),
            );
        }
        (Some(command), None) => {
            let stray = ["bearer_token_env_var", "http_headers", "env_http_headers"];
            if let Some(stray) = stray.into_iter().find(|key| table.contains_key(*key)) {
                return Err(format!(
                    "`{stray}` is for servers with `url`, and it has `command`. Programs get their secrets by `env` or `env_vars`"
                ));
            }
            Transport::Program {
                command,
                args: texts("args").unwrap_or_default(),
                env: map("env"),
                env_vars: texts("env_vars").unwrap_or_default(),
                cwd: text("cwd").map(PathBuf::from),
            }
        }
        (None, Some(url)) => {
            let stray = ["args", "env", "env_vars", "cwd"];
            if let Some(stray) = stray.into_iter().find(|key| table.contains_key(*key)) {
                return Err(format!("`{stray}` is for servers with `command`, and it has `url`"));
            }
            Transport::Http {
                url,
                bearer_token_env_var: text("bearer_token_env_var"),
                http_headers: map("http_headers"),
                env_http_headers: map("env_http_headers"),
            }
        }
    };
    let modes = table.get("tools").and_then(Value::as_object);
    let modes = modes.into_iter().flatten().filter_map(|(tool, settings)| {
        let mode = settings.get("approval_mode")?.as_str()?;
        Some((tool.clone(), ApprovalMode::parse(mode)))
    });
    let milliseconds = table.get("startup_timeout_ms").and_then(Value::as_u64);
    Ok(ServerSettings {
        transport,
        required: flag("required"),
        startup_timeout: seconds("startup_timeout_sec")
            .or_else(|| milliseconds.map(|number| Duration::from_millis(number).min(LONGEST)))
            .unwrap_or(STARTUP_TIMEOUT),
        tool_timeout: seconds("tool_timeout_sec").unwrap_or(TOOL_TIMEOUT),
        enabled_tools: texts("enabled_tools").map(|tools| tools.into_iter().collect()),
        disabled_tools: texts("disabled_tools").unwrap_or_default().into_iter().collect(),
        approval: text("default_tools_approval_mode")
            .map(|word| ApprovalMode::parse(&word))
            .unwrap_or_default(),
        tools: modes.collect(),
        parallel: flag("supports_parallel_tool_calls"),
        trust_annotations: flag("trust_annotations"),
        login: Login {
            client_id: table
                .get("oauth")
                .and_then(|oauth| oauth.get("client_id")?.as_str())
                .map(str::to_owned),
            scopes: texts("scopes"),
            ..all.clone()
        },
        network: Network::default(),
    })
}

fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).map_or(LONGEST, |time| time.min(LONGEST))
}

/// The servers of these values.
#[cfg(test)]
pub(crate) fn for_tests(values: &Value) -> BTreeMap<String, ServerSettings> {
    let place = |_: &str| ConfigWarning {
        message: String::new(),
        path: None,
        line: None,
    };
    servers(values.as_object().expect("a table"), &place, &mut Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(table: Value) -> Result<ServerSettings, String> {
        server(table.as_object().expect("a table"), &Login::default())
    }

    #[test]
    fn what_is_left_out_has_its_default() {
        let plain = read(json!({"command": "x"})).expect("a server");
        assert_eq!(plain.startup_timeout, Duration::from_secs(10));
        assert_eq!(plain.tool_timeout, Duration::from_secs(60));
        assert!(!plain.required && !plain.parallel && plain.url().is_none());
        assert!(plain.offers("anything"));
        assert_eq!(plain.approval_of("anything"), ApprovalMode::Auto);
    }

    #[test]
    fn what_is_said_counts() {
        let full = read(json!({
            "url": "https://host/mcp/", "startup_timeout_ms": 1500, "tool_timeout_sec": 0.5, "required": true,
            "enabled_tools": ["a", "b"], "disabled_tools": ["b"], "default_tools_approval_mode": "prompt",
            "tools": {"a": {"approval_mode": "approve"}},
        }))
        .expect("a server");
        assert_eq!(full.url(), Some("https://host/mcp/"));
        assert_eq!(full.startup_timeout, Duration::from_millis(1500));
        assert_eq!(full.tool_timeout, Duration::from_millis(500));
        assert!(full.offers("a") && !full.offers("b") && !full.offers("c"));
        assert_eq!(full.approval_of("a"), ApprovalMode::Approve);
        assert_eq!(full.approval_of("z"), ApprovalMode::Prompt);
        assert_eq!(duration(1e300), LONGEST);
        assert!(!format!("{:?}", full.transport).contains("host"));
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        for (table, word) in [
            (json!({}), "neither"),
            (json!({"command": "x", "url": "http://h"}), "both"),
            (json!({"command": "x", "http_headers": {}}), "http_headers"),
            (json!({"url": "http://h", "args": []}), "args"),
        ] {
            let problem = read(table).expect_err("no server");
            assert!(problem.contains(word), "{problem}");
        }
    }
}
