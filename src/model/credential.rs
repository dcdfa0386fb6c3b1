//! What a request has to show: nothing, a key, or what belongs to a login and is renewed from time to time.

use super::error::{KeyFrom, LoginTrouble};
use futures::future::BoxFuture;
use std::fmt;
use std::sync::Arc;

/// What the requests of a client carry.
#[derive(Clone)]
pub enum Credential {
    None,
    Key { key: String, from: KeyFrom },
    Login(Arc<dyn Login>),
}

/// Two logins are the same if they say so.
impl PartialEq for Credential {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::None, Self::None) => true,
            (
                Self::Key { key, from },
                Self::Key {
                    key: other,
                    from: there,
                },
            ) => key == other && from == there,
            (Self::Login(one), Self::Login(other)) => one.name() == other.name(),
            _ => false,
        }
    }
}

/// Without the key.
impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Key { .. } => "Key",
            Self::Login(_) => "Login",
        })
    }
}

/// What a login gives a request.
#[derive(Clone, PartialEq, Eq)]
pub struct Bearer {
    pub token: String,
    /// Further headers that name the account.
    pub headers: Vec<(String, String)>,
}

/// A login whose token changes.
pub trait Login: Send + Sync {
    /// The token as it is now; one that is about to run out is renewed first.
    fn current(&self) -> BoxFuture<'_, Result<Bearer, LoginTrouble>>;

    /// Another token than this one, which the provider does not accept.
    fn renew<'a>(&'a self, refused: &'a str) -> BoxFuture<'a, Result<Bearer, LoginTrouble>>;

    /// The same for two that give the same tokens. Holds no secret.
    fn name(&self) -> &str;
}
