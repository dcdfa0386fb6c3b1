//! How the person may sign in: `[login]`, and the keys of the reference system beside it.
//!
//! There is no authorization server that every copy of this program may use, since such a server knows its programs by a
//! client id: the configuration names one.

use super::network::Network;
use crate::protocol::config::ConfigWarning;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::time::Duration;

/// Where accounts are served if nothing else is said.
const BASE_URL: &str = "https://chatgpt.com/backend-api";
/// How long a person may take to sign in.
const LONGEST_LOGIN: Duration = Duration::from_secs(600);
/// Asked for where the configuration names no scopes: who it is, and a token to renew the login with.
const SCOPES: [&str; 4] = ["openid", "profile", "email", "offline_access"];

/// Where what is signed in with is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CredentialStore {
    /// A file in the home folder.
    #[default]
    File,
    /// The system's keyring. A login that lies in the file counts before it, until the next login.
    Keyring,
    /// The same where a keyring can be had, else the file.
    Auto,
    /// Nowhere: it is forgotten when the server ends.
    Ephemeral,
}

/// The only way in which the person may sign in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum ForcedMethod {
    #[serde(rename = "api")]
    ApiKey,
    #[serde(rename = "chatgpt")]
    Account,
}

/// What holds for signing in and for what was signed in with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// `cli_auth_credentials_store`.
    pub store: CredentialStore,
    /// `forced_login_method`.
    pub forced: Option<ForcedMethod>,
    /// `forced_chatgpt_workspace_id`: the only workspaces that may be signed in to; absent: any.
    pub workspaces: Option<Vec<String>>,
    /// `chatgpt_base_url`: what accounts are used at, without a slash at the end.
    pub base_url: String,
    /// The authorization server, without a slash at the end.
    pub issuer: Option<String>,
    /// The id under which the authorization server knows this program.
    pub client_id: Option<String>,
    pub scopes: Vec<String>,
    /// Where the browser is sent; this and the others as they stand, or found below the issuer.
    pub authorization_endpoint: Option<String>,
    pub token_endpoint: Option<String>,
    pub device_authorization_endpoint: Option<String>,
    pub revocation_endpoint: Option<String>,
    /// Where the account's allowance is asked for.
    pub usage_endpoint: String,
    /// Where the browser comes back to, on this machine. Without a port any free one is taken.
    pub callback_url: Option<String>,
    /// How long the person may take.
    pub limit: Duration,
    /// How the servers are reached.
    pub network: Network,
}

impl Default for Login {
    fn default() -> Self {
        Self::read(&Map::new(), &mut Vec::new())
    }
}

impl Login {
    /// Reads it from the merged values, which the table of keys has checked.
    pub(super) fn read(values: &Map<String, Value>, warnings: &mut Vec<ConfigWarning>) -> Self {
        let table = values.get("login").and_then(Value::as_object);
        let text = |key: &str| {
            let text = table?.get(key)?.as_str()?.trim();
            Some(text.to_owned()).filter(|text| !text.is_empty())
        };
        let base_url = values.get("chatgpt_base_url").and_then(Value::as_str).map(str::trim);
        let base_url = base_url.filter(|url| !url.is_empty()).unwrap_or(BASE_URL);
        let base_url = base_url.trim_end_matches('/').to_owned();
        let issuer = text("issuer").map(|issuer| issuer.trim_end_matches('/').to_owned());
        let below = |key: &str, path: &str| text(key).or_else(|| Some(format!("{}/{path}", issuer.as_deref()?)));
        let scopes = table
            .and_then(|table| Vec::deserialize(table.get("scopes")?).ok())
            .unwrap_or_else(|| SCOPES.map(str::to_owned).to_vec());
        let seconds = table.and_then(|table| table.get("timeout_sec")?.as_f64());
        let limit = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        Self {
            store: choice(values, "cli_auth_credentials_store").unwrap_or_default(),
            forced: choice(values, "forced_login_method"),
            workspaces: workspaces(values, warnings),
            authorization_endpoint: below("authorization_endpoint", "oauth/authorize"),
            token_endpoint: below("token_endpoint", "oauth/token"),
            device_authorization_endpoint: below("device_authorization_endpoint", "oauth/device/code"),
            revocation_endpoint: below("revocation_endpoint", "oauth/revoke"),
            usage_endpoint: text("usage_endpoint").unwrap_or_else(|| format!("{base_url}/wham/usage")),
            client_id: text("client_id"),
            callback_url: text("callback_url"),
            limit: limit.unwrap_or(LONGEST_LOGIN).min(LONGEST_LOGIN),
            scopes,
            issuer,
            base_url,
            network: Network::default(),
        }
    }
}

fn choice<T: serde::de::DeserializeOwned>(values: &Map<String, Value>, key: &str) -> Option<T> {
    serde_json::from_value(values.get(key)?.clone()).ok()
}

/// One id, or a list of them. What is neither allows none: a restriction must not be lost by a slip.
fn workspaces(values: &Map<String, Value>, warnings: &mut Vec<ConfigWarning>) -> Option<Vec<String>> {
    let value = values
        .get("forced_chatgpt_workspace_id")
        .filter(|value| !value.is_null())?;
    let ids = match value {
        Value::String(id) => Some(vec![id.trim().to_owned()]),
        Value::Array(ids) => ids
            .iter()
            .map(|id| id.as_str().map(|id| id.trim().to_owned()))
            .collect(),
        _ => None,
    };
    let ids = ids.filter(|ids: &Vec<String>| ids.iter().all(|id| !id.is_empty()));
    Some(ids.unwrap_or_else(|| {
        warnings.push(ConfigWarning {
            message: "`forced_chatgpt_workspace_id` is neither the id of a workspace nor a list of such ids, so no account can be \
                      signed in to. Write the ids as texts."
                .to_owned(),
            path: None,
            line: None,
        });
        Vec::new()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(values: Value) -> (Login, usize) {
        let mut warnings = Vec::new();
        let login = Login::read(values.as_object().expect("a table"), &mut warnings);
        (login, warnings.len())
    }

    #[test]
    fn endpoints_lie_below_the_issuer_unless_they_are_named() {
        let (plain, _) = read(json!({}));
        assert_eq!(plain.token_endpoint, None);
        assert_eq!(plain.limit, Duration::from_secs(600));
        assert_eq!(plain.usage_endpoint, "https://chatgpt.com/backend-api/wham/usage");
        let (named, _) = read(json!({
            "chatgpt_base_url": "https://b.example/api/",
            "login": {"issuer": "https://a.example/", "token_endpoint": "https://t.example/x/", "timeout_sec": 0.5},
        }));
        assert_eq!(
            named.authorization_endpoint.as_deref(),
            Some("https://a.example/oauth/authorize")
        );
        assert_eq!(named.token_endpoint.as_deref(), Some("https://t.example/x/"));
        assert_eq!(named.base_url, "https://b.example/api");
        assert_eq!(named.limit, Duration::from_millis(500));
        assert_eq!(read(json!({"login": {"timeout_sec": 1e9}})).0.limit, LONGEST_LOGIN);
    }

    #[test]
    fn a_restriction_is_never_lost() {
        let one = |value: Value| read(json!({ "forced_chatgpt_workspace_id": value }));
        assert_eq!(one(json!(null)).0.workspaces, None);
        assert_eq!(one(json!("w1")).0.workspaces, Some(vec!["w1".to_owned()]));
        assert_eq!(one(json!(["w1", "w2"])).0.workspaces.map(|all| all.len()), Some(2));
        for odd in [json!(7), json!(""), json!(["w1", 7]), json!({}), json!(true)] {
            let (login, warnings) = one(odd.clone());
            assert_eq!((login.workspaces, warnings), (Some(Vec::new()), 1), "{odd}");
        }
    }
}
