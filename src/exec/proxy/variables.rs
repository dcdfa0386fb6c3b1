//! What the proxy takes from the server's environment. It stays in this process: the command's keeper gets the rest of its walls.

use crate::config::requests::Requests;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// Those for one command.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Variables {
    /// The secrets, by the variables that have them.
    secrets: BTreeMap<String, String>,
    /// The authorities that the person's programs believe in place of the system's.
    pub(super) authorities: Option<PathBuf>,
    pub(super) runtime_folder: Option<PathBuf>,
    pub(super) temporary_folder: Option<PathBuf>,
}

/// Without the secrets.
impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.secrets.keys().collect();
        f.debug_struct("Variables")
            .field("secrets", &names)
            .finish_non_exhaustive()
    }
}

impl Variables {
    pub(crate) fn of(requests: &Requests, env: &BTreeMap<String, String>) -> Self {
        let set = |name: &str| env.get(name).filter(|value| !value.is_empty()).cloned();
        let names = requests.credentials.iter().map(|credential| &credential.from);
        Self {
            secrets: names.filter_map(|name| Some((name.clone(), set(name)?))).collect(),
            authorities: set("SSL_CERT_FILE").map(PathBuf::from),
            runtime_folder: set("XDG_RUNTIME_DIR").map(PathBuf::from),
            temporary_folder: set("TMPDIR").map(PathBuf::from),
        }
    }

    /// The secret that a variable has.
    pub(super) fn secret(&self, name: &str) -> Option<&str> {
        self.secrets.get(name).map(String::as_str)
    }
}
