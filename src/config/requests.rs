//! What a command's requests carry, and may ask for, by the host that they go to: `[sandbox.credentials]` and
//! `[sandbox.methods]`.

use super::permissions::{Host, one};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Both, as they count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requests {
    pub credentials: Vec<Credential>,
    /// Methods by host; other hosts take all of them.
    pub methods: BTreeMap<String, Vec<String>>,
}

/// A secret that a command uses without having it: it sees a placeholder in a variable, and the proxy puts the secret in for
/// these hosts only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credential {
    /// The variable in the command's environment.
    pub variable: String,
    /// The variable in the server's environment that has the secret.
    pub from: String,
    /// Names in the one spelling that hosts are compared by.
    pub hosts: Vec<String>,
    /// The headers that the secret goes into, in lower case.
    pub headers: Vec<String>,
    /// Whether it goes into the query of an address too.
    pub in_query: bool,
}

/// The headers that secrets go into where nothing else is said: those that are for nothing but credentials, and that no host
/// keeps as a part of what it is sent.
pub fn usual_headers() -> Vec<String> {
    USUAL_HEADERS.map(str::to_owned).to_vec()
}

const USUAL_HEADERS: [&str; 9] = [
    "authorization",
    "private-token",
    "job-token",
    "api-key",
    "apikey",
    "x-api-key",
    "x-auth-token",
    "x-access-token",
    "x-goog-api-key",
];

impl Requests {
    pub fn is_empty(&self) -> bool {
        self.credentials.is_empty() && self.methods.is_empty()
    }

    /// Reads the tables; what is wrong in them goes to `wrong`, with its key, and does not count.
    pub(super) fn read(sandbox: &Map<String, Value>, mut wrong: impl FnMut(String, String)) -> Self {
        let table = |key: &str| sandbox.get(key).and_then(Value::as_object).into_iter().flatten();
        let mut read = Self::default();
        let nothing = Map::new();
        for (variable, entry) in table("credentials") {
            let key = format!("sandbox.credentials.{variable}");
            let entry = entry.as_object().unwrap_or(&nothing);
            let mut hosts = Vec::new();
            for host in super::effective::texts(entry, "hosts") {
                match name(&host) {
                    Some(name) => hosts.push(name),
                    None => wrong(
                        key.clone(),
                        format!("{host:?} is not the name of a single host; a secret goes to named hosts only."),
                    ),
                }
            }
            if hosts.is_empty() {
                wrong(key, "It has no `hosts`, so the secret goes nowhere.".to_owned());
                continue;
            }
            let from = entry.get("from").and_then(Value::as_str).unwrap_or(variable);
            let mut headers = match entry.contains_key("headers") {
                true => super::effective::texts(entry, "headers"),
                false => usual_headers(),
            };
            headers.retain_mut(|header| {
                header.make_ascii_lowercase();
                let sound = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
                let is_name = !header.is_empty() && header.bytes().all(sound);
                if !is_name {
                    wrong(
                        key.clone(),
                        format!("{header:?} is not the name of a header, so it does not count."),
                    );
                }
                is_name
            });
            read.credentials.push(Credential {
                variable: variable.clone(),
                from: from.to_owned(),
                hosts,
                headers,
                in_query: entry.get("in_query").and_then(Value::as_bool).unwrap_or(false),
            });
        }
        for (host, entry) in table("methods") {
            let methods = super::effective::texts(entry.as_object().unwrap_or(&Map::new()), "allow");
            match name(host) {
                Some(name) => {
                    let upper = methods.iter().map(|method| method.to_ascii_uppercase());
                    read.methods.insert(name, upper.collect());
                }
                None => wrong(
                    format!("sandbox.methods.{host}"),
                    "This is not the name of a single host: the entry is ignored, and all methods stay allowed."
                        .to_owned(),
                ),
            }
        }
        read
    }
}

/// The one spelling of a name.
pub fn name(text: &str) -> Option<String> {
    match one(text).ok()? {
        Host::Name(name) => Some(name),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_secret_goes_where_the_person_says_and_else_where_only_credentials_go() {
        for (entry, headers, in_query, complaints) in [
            (json!({"hosts": ["a.org"]}), usual_headers(), false, 0),
            (
                json!({"hosts": ["a.org"], "headers": ["X-Token", "no header"], "in_query": true}),
                vec!["x-token".to_owned()],
                true,
                1,
            ),
            (json!({"hosts": ["a.org"], "headers": []}), vec![], false, 0),
        ] {
            let sandbox = json!({"credentials": {"TOKEN": entry.clone()}});
            let mut wrong = Vec::new();
            let read = Requests::read(sandbox.as_object().expect("a table"), |key, what| {
                wrong.push((key, what))
            });
            let expected = Credential {
                variable: "TOKEN".to_owned(),
                from: "TOKEN".to_owned(),
                hosts: vec!["a.org".to_owned()],
                headers,
                in_query,
            };
            assert_eq!(read.credentials, [expected], "{entry}");
            assert_eq!(wrong.len(), complaints, "{entry}: {wrong:?}");
        }
    }
}
