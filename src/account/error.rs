//! What can go wrong with logins, in words for the person.

use super::server::ServerError;
use super::store::StoreError;
use crate::protocol::error as kinds;

#[derive(Clone, Debug, thiserror::Error)]
pub enum AccountError {
    #[error(
        "The key is empty, or contains something that no key does, such as a line break. Copy it again from the provider's \
         page for API keys."
    )]
    BadKey,
    #[error(
        "Signing in with a key is not allowed: `forced_login_method` in config.toml asks for a login to an account. Sign in with the \
         browser or with a code."
    )]
    ForcedAccount,
    #[error(
        "Signing in to an account is not allowed: `forced_login_method` in config.toml asks for a key. Sign in with a key: \
         `countersign login --with-api-key` in a terminal."
    )]
    ForcedKey,
    #[error(
        "Sign in with an API key: `countersign login --with-api-key` in a terminal. There is no authorization server to sign in to by \
         browser: `{missing}` is not set in [login] of config.toml. An organization that has one names its `issuer` and `client_id`."
    )]
    NotConfigured { missing: &'static str },
    #[error("`{key}` in [login] of config.toml is {value:?}, which cannot be used: {reason}.")]
    BadSetting {
        key: &'static str,
        value: String,
        reason: &'static str,
    },
    #[error(
        "The browser's answer cannot be received: port {port} of this machine cannot be opened: {reason}. Stop the program \
         that uses it, or name another port in `callback_url` in [login] of config.toml, or sign in with a code."
    )]
    NoPort { port: u16, reason: String },
    #[error("The system gives no random numbers, and without them no login is safe. Try again.")]
    NoChance,
    #[error("The authorization server {0}. Start the login again.")]
    Server(ServerError),
    #[error("The login was given up: {0} Start it again if you still want it.")]
    GivenUp(String),
    #[error("The login timed out: it was not finished within {0} s. Start it again.")]
    TimedOut(f64),
    #[error("The login was refused{}. Start it again, and allow it on the page.", .0.as_deref().map(|why| format!(": {why}")).unwrap_or_default())]
    Refused(Option<String>),
    #[error(
        "The login belongs to {} and `forced_chatgpt_workspace_id` in config.toml allows other workspaces only. Sign in to one of those.",
        .0.as_deref().map_or_else(|| "no workspace that it names,".to_owned(), |id| format!("the workspace {id},"))
    )]
    OtherWorkspace(Option<String>),
    #[error("No login has the id {0}. It has ended, or another one has taken its place.")]
    UnknownLogin(String),
    #[error("{0:?} is not the id of a login. Use the loginId that account/login/start answered.")]
    BadLoginId(String),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "Not signed in, so there is no allowance to ask for. Sign in to an account first: `countersign login` in a terminal."
    )]
    NotLoggedIn,
    #[error(
        "A key is used, and only accounts have an allowance that can be asked for. Sign in to an account: `countersign login` in a \
         terminal."
    )]
    NoAccount,
    #[error("The account's allowance is not known: {0}")]
    Usage(String),
}

impl AccountError {
    /// Stable name for programs; its JSON-RPC code is in the protocol's table.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::BadKey => kinds::INVALID_PARAMS,
            Self::ForcedAccount | Self::ForcedKey => kinds::LOGIN_METHOD_FORCED,
            Self::NotConfigured { .. } | Self::BadSetting { .. } => kinds::LOGIN_NOT_CONFIGURED,
            Self::NoPort { .. }
            | Self::NoChance
            | Self::Server(_)
            | Self::GivenUp(_)
            | Self::TimedOut(_)
            | Self::Refused(_)
            | Self::OtherWorkspace(_) => kinds::LOGIN_FAILED,
            Self::UnknownLogin(_) => kinds::LOGIN_NOT_FOUND,
            Self::BadLoginId(_) => kinds::BAD_LOGIN_ID,
            Self::Store(_) => kinds::ACCOUNT_STORE_FAILED,
            Self::NotLoggedIn => kinds::NOT_LOGGED_IN,
            Self::NoAccount => kinds::NO_ACCOUNT,
            Self::Usage(_) => kinds::RATE_LIMITS_FAILED,
        }
    }
}
