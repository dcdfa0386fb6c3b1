//! How services are reached: proxies, certificates beside the system's, and whether at all. From `[network]` and from the
//! variables that other programs heed, by value.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use url::{Host, Url};

/// Variables that name a file with further authorities.
const CA_VARIABLES: &[&str] = &["COUNTERSIGN_CA_CERTIFICATE", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"];

/// A file with certificates of authorities (PEM), and where it is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authorities {
    pub path: PathBuf,
    pub named_by: String,
}

/// What holds for every connection that leaves this machine.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Network {
    /// Nothing leaves this machine.
    pub offline: bool,
    /// Authorities beside those that the system trusts.
    pub authorities: Vec<Authorities>,
    http_proxy: Option<String>,
    https_proxy: Option<String>,
    /// Hosts that are reached without a proxy, as `NO_PROXY` names them.
    no_proxy: Vec<String>,
}

/// Without the proxies, which may hold a password.
impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network")
            .field("offline", &self.offline)
            .field("authorities", &self.authorities)
            .finish_non_exhaustive()
    }
}

/// Certificates of one connection, as PEM files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tls {
    /// Authorities beside the system's.
    pub ca_certificate: Option<PathBuf>,
    /// Of the client; it goes with its key.
    pub client_certificate: Option<PathBuf>,
    pub client_private_key: Option<PathBuf>,
}

impl Network {
    /// Reads `[network]`, whose values the table of keys has checked, and the variables, which it goes before.
    pub(super) fn read(values: &Map<String, Value>, env: &BTreeMap<String, String>) -> Self {
        let table = values.get("network").and_then(Value::as_object);
        let value = |key: &str| table?.get(key);
        let texts = |key: &str| {
            let texts = value(key).and_then(Value::as_array).into_iter().flatten();
            texts.filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
        };
        let filled = |text: &str| Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned);
        // The small names are the older ones, and win as they do in curl.
        let variable = |name: &str| {
            let of = |name: &str| env.get(name).and_then(|text| filled(text));
            of(&name.to_ascii_lowercase()).or_else(|| of(name))
        };
        let own = value("proxy").and_then(Value::as_str).and_then(filled);
        let proxy = |name: &str| own.clone().or_else(|| variable(name)).or_else(|| variable("ALL_PROXY"));
        let mut authorities: Vec<Authorities> = texts("ca_certificates")
            .into_iter()
            .map(|path| Authorities {
                path: path.into(),
                named_by: "`network.ca_certificates`".to_owned(),
            })
            .collect();
        for name in CA_VARIABLES {
            if let Some(path) = env.get(*name).and_then(|path| filled(path)) {
                authorities.push(Authorities {
                    path: path.into(),
                    named_by: (*name).to_owned(),
                });
            }
        }
        let no_proxy = match value("no_proxy") {
            Some(_) => texts("no_proxy"),
            None => variable("NO_PROXY")
                .iter()
                .flat_map(|list| list.split(','))
                .map(str::to_owned)
                .collect(),
        };
        let said = |text: &String| !matches!(text.trim(), "" | "0" | "false" | "no");
        Self {
            // Either is enough: who says so in one place means it.
            offline: value("offline").and_then(Value::as_bool) == Some(true)
                || env.get("COUNTERSIGN_OFFLINE").is_some_and(said),
            authorities,
            http_proxy: proxy("HTTP_PROXY"),
            https_proxy: proxy("HTTPS_PROXY"),
            no_proxy: no_proxy.iter().filter_map(|entry| filled(entry)).collect(),
        }
    }

    /// Passwords of proxies.
    pub fn passwords(&self) -> impl Iterator<Item = &str> {
        let proxies = [&self.http_proxy, &self.https_proxy].into_iter().flatten();
        proxies.filter_map(|proxy| {
            let (before, _) = proxy.rsplit_once('@')?;
            let person = before.split_once("://").map_or(before, |(_, person)| person);
            person.split_once(':').map(|(_, password)| password)
        })
    }

    /// The proxy on the way to an address, with what it wants to know of us; none to this machine.
    pub fn proxy_for(&self, url: &Url) -> Option<String> {
        let proxy = match url.scheme() {
            "https" => self.https_proxy.as_ref()?,
            _ => self.http_proxy.as_ref()?,
        };
        if self.no_proxy.iter().any(|entry| covers(entry, url)) {
            return None;
        }
        Some(match proxy.contains("://") {
            true => proxy.clone(),
            false => format!("http://{proxy}"),
        })
    }

    /// Whether any proxy is named.
    pub fn has_proxies(&self) -> bool {
        self.http_proxy.is_some() || self.https_proxy.is_some()
    }
}

/// Whether an entry of `NO_PROXY` means this address: `*`, a name with all below it, an address, a net, each maybe with a
/// port.
fn covers(entry: &str, url: &Url) -> bool {
    if entry == "*" {
        return true;
    }
    let (entry, port) = match entry.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, port.parse::<u16>().ok()),
        _ => (entry, None),
    };
    if port.is_some() && port != url.port_or_known_default() {
        return false;
    }
    let entry = entry.trim_start_matches('[').trim_end_matches(']');
    let address = match url.host() {
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            let entry = entry
                .trim_start_matches("*.")
                .trim_start_matches('.')
                .to_ascii_lowercase();
            let below = || name.strip_suffix(&entry).is_some_and(|rest| rest.ends_with('.'));
            return !entry.is_empty() && (name == entry || below());
        }
        Some(Host::Ipv4(ip)) => IpAddr::V4(ip),
        Some(Host::Ipv6(ip)) => IpAddr::V6(ip),
        None => return false,
    };
    match entry.split_once('/') {
        None => entry.parse::<IpAddr>().is_ok_and(|entry| entry == address),
        Some((net, bits)) => match (net.parse::<IpAddr>(), bits.parse::<u32>(), address) {
            (Ok(IpAddr::V4(net)), Ok(bits @ 0..=32), IpAddr::V4(ip)) => {
                let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
                u32::from(net) & mask == u32::from(ip) & mask
            }
            (Ok(IpAddr::V6(net)), Ok(bits @ 0..=128), IpAddr::V6(ip)) => {
                let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
                u128::from(net) & mask == u128::from(ip) & mask
            }
            _ => false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(values: &Value, env: &[(&str, &str)]) -> Network {
        let env = env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        Network::read(values.as_object().expect("a table"), &env)
    }

    fn proxy(network: &Network, url: &str) -> Option<String> {
        network.proxy_for(&Url::parse(url).expect("a URL"))
    }

    #[test]
    fn proxies_come_from_the_variables_that_others_heed_and_from_the_table_first() {
        let table = [
            (vec![], "https://a.example", None),
            (
                vec![("HTTPS_PROXY", "http://p:1")],
                "https://a.example",
                Some("http://p:1"),
            ),
            (vec![("HTTPS_PROXY", "p:1")], "https://a.example", Some("http://p:1")),
            (vec![("HTTPS_PROXY", "http://p:1")], "http://a.example", None),
            (
                vec![("HTTP_PROXY", "http://p:1")],
                "http://a.example",
                Some("http://p:1"),
            ),
            (
                vec![("ALL_PROXY", "http://p:1")],
                "https://a.example",
                Some("http://p:1"),
            ),
            (vec![("HTTPS_PROXY", " ")], "https://a.example", None),
            (
                vec![("HTTPS_PROXY", "http://p:1"), ("https_proxy", "http://q:2")],
                "https://a.example",
                Some("http://q:2"),
            ),
        ];
        for (env, url, wanted) in table {
            assert_eq!(proxy(&read(&json!({}), &env), url).as_deref(), wanted, "{env:?} {url}");
        }
        let own = json!({"network": {"proxy": "http://own:3", "no_proxy": ["b.example"]}});
        let network = read(&own, &[("HTTPS_PROXY", "http://p:1"), ("NO_PROXY", "a.example")]);
        assert_eq!(proxy(&network, "https://a.example").as_deref(), Some("http://own:3"));
        assert_eq!(proxy(&network, "https://b.example"), None);
    }

    #[test]
    fn hosts_without_a_proxy() {
        let table = [
            ("*", "https://a.example", true),
            ("a.example", "https://a.example", true),
            ("A.Example", "https://a.example", true),
            ("example", "https://a.example", true),
            (".example", "https://a.example", true),
            ("*.example", "https://a.example", true),
            ("ample", "https://a.example", false),
            ("a.example:443", "https://a.example", true),
            ("a.example:8443", "https://a.example", false),
            ("x, a.example ,y", "https://a.example", true),
            ("10.0.0.0/8", "http://10.9.8.7", true),
            ("10.0.0.0/8", "http://11.9.8.7", false),
            ("10.9.8.7", "http://10.9.8.7", true),
            ("::1", "http://[::1]:8080", true),
            ("[::1]:8080", "http://[::1]:8080", true),
            ("fd00::/8", "http://[fd12::1]", true),
            ("0.0.0.0/0", "http://10.9.8.7", true),
            ("10.0.0.0/99", "http://10.9.8.7", false),
            (",,", "https://a.example", false),
        ];
        for (list, url, without) in table {
            let network = read(&json!({}), &[("ALL_PROXY", "http://p:1"), ("NO_PROXY", list)]);
            assert_eq!(proxy(&network, url).is_none(), without, "{list} {url}");
        }
    }

    #[test]
    fn authorities_and_offline_come_from_both_and_no_password_is_shown() {
        let env = [
            ("SSL_CERT_FILE", "/c.pem"),
            ("COUNTERSIGN_OFFLINE", "1"),
            ("HTTPS_PROXY", "http://u:secret@p:1"),
        ];
        let network = read(&json!({"network": {"ca_certificates": ["/a.pem"]}}), &env);
        let named: Vec<&str> = network.authorities.iter().map(|one| one.named_by.as_str()).collect();
        assert_eq!(named, ["`network.ca_certificates`", "SSL_CERT_FILE"]);
        assert!(network.offline);
        for (proxy, password) in [
            ("http://ada:pass-word-1@proxy:3128", Some("pass-word-1")),
            ("ada:pass@word@proxy:3128", Some("pass@word")),
            ("http://proxy:3128", None),
            ("http://ada@proxy:3128", None),
        ] {
            let network = read(&json!({"network": {"proxy": proxy}}), &[]);
            assert_eq!(network.passwords().next(), password, "{proxy}");
        }
        assert!(!format!("{network:?}").contains("secret"));
        assert!(read(&json!({"network": {"offline": false}}), &env).offline);
        assert!(!read(&json!({}), &[("COUNTERSIGN_OFFLINE", "0")]).offline);
    }
}
