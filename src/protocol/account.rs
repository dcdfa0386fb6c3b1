//! How the person is known to the provider of models: by a key, by an account, or not at all.

use crate::ids::LoginId;
use crate::protocol::model::RateLimits;
use serde::{Deserialize, Serialize};

/// How requests are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum AuthMethod {
    /// By a key, from the environment, the configuration or a login with it.
    ApiKey,
    /// By an account that was signed in to.
    Account,
}

/// Who is signed in, as far as it is known. Nothing of it is verified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Account {
    ApiKey {},
    Account {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        email: Option<String>,
        /// Name of the account's plan, in the provider's words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        plan: Option<String>,
        /// The workspace of the account that is used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workspace_id: Option<String>,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct AccountReadParams {
    /// Have the account's token renewed first. A failure is only logged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct AccountReadResult {
    /// Absent: nobody is signed in, or the provider needs no account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<Account>,
    /// Whether the configured provider takes a login.
    pub requires_openai_auth: bool,
}

/// Which way to sign in.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum AccountLoginStartParams {
    /// With a key, which is kept.
    ApiKey { api_key: String },
    /// To an account, in a browser on this machine. The client opens it.
    Browser {},
    /// To an account, in a browser anywhere, by a code that is typed there.
    DeviceCode {},
}

/// Without the key.
impl std::fmt::Debug for AccountLoginStartParams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::ApiKey { .. } => "ApiKey",
            Self::Browser {} => "Browser",
            Self::DeviceCode {} => "DeviceCode",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum AccountLoginStartResult {
    /// Done.
    ApiKey {},
    /// Begun: `account/login/completed` tells how it ends.
    Browser {
        login_id: LoginId,
        /// To be opened in a browser on this machine.
        auth_url: String,
    },
    /// The same.
    DeviceCode {
        login_id: LoginId,
        /// What the person types on the page.
        user_code: String,
        verification_url: String,
        /// The page with the code filled in, where the server has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        verification_url_complete: Option<String>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct AccountLoginCancelParams {
    pub login_id: LoginId,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct AccountLoginCancelResult {}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct AccountLogoutParams {}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct AccountLogoutResult {}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct AccountStatusParams {
    /// Put the key or token into the answer. Default: no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_token: Option<bool>,
    /// Have an account's token renewed first. Default: no. A failure is only logged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<bool>,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct AccountStatusResult {
    /// Absent: there is nothing to send, or the provider needs nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth_method: Option<AuthMethod>,
    /// Only where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth_token: Option<String>,
    /// Whether the configured provider takes a login.
    pub requires_openai_auth: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct AccountSetupParams {}

/// Whether a model can be asked, and by what ways it could be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct AccountSetupResult {
    /// Requests carry a key or a login, or need none. Whether the provider takes it, only a request tells.
    pub ready: bool,
    /// Name of the configured provider, for people.
    pub provider: String,
    /// The variable of the environment in which its key is looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env_key: Option<String>,
    /// `account/login/start` takes a key for it.
    pub takes_key: bool,
    /// `account/login/start` can open a browser: the configuration names who lets people in.
    pub takes_browser: bool,
    /// A server on this machine that answers and is used, since nothing was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_server: Option<LocalServer>,
}

/// A server of models on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct LocalServer {
    pub name: String,
    /// The model that it is asked for.
    pub model: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct AccountRateLimitsReadParams {}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct AccountRateLimitsReadResult {
    pub rate_limits: RateLimits,
}

/// A login has come to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct AccountLoginCompleted {
    /// Absent: a login with a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login_id: Option<LoginId>,
    pub success: bool,
    /// Why not, in words for the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// How the person is known from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct AccountUpdated {
    /// Absent: not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth_method: Option<AuthMethod>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
}

/// What the provider said of the account's allowance with its latest answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct AccountRateLimitsUpdated {
    pub rate_limits: RateLimits,
}
