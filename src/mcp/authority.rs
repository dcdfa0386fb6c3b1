//! The authorization server of an MCP server: where it is, how a program makes itself known to it, and what it gives
//! (the Model Context Protocol's rules for authorization, with RFC 6749, 7591, 7636, 8414, 8707 and 9728).

use crate::config::network::Network;
use crate::model::web::{self, Answer, WebError};
use serde::Deserialize;
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use url::{Host, Url};

/// The most of a server's own words that is shown, in characters.
const LONGEST_MESSAGE: usize = 300;

/// Why it gave nothing, as the end of a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthorityError {
    #[error("{0}")]
    Unreached(#[from] WebError),
    #[error("its authorization server answered with status {status}{words}")]
    Refused { status: u16, words: String },
    #[error("its authorization server says what cannot be understood: {0}")]
    Unreadable(&'static str),
    #[error("{0} names no authorization server, so there is nothing to sign in to")]
    None(String),
    #[error(
        "its authorization server does not register new programs. Have a client created there, and name it in \
         config.toml: [mcp_servers.NAME.oauth] with client_id = \"…\""
    )]
    NoRegistration,
    #[error(
        "it names {0}, which is an address of this machine or of its network, and is not there itself; nothing was asked there"
    )]
    Nearer(String),
}

impl AuthorityError {
    /// Whether a login is over with this answer to its renewal; all else may pass.
    pub(super) fn ends_the_login(&self) -> bool {
        match self {
            Self::Refused { status, .. } => (400..500).contains(status) && !matches!(status, 408 | 429),
            Self::Unreached(WebError::NoUrl(_) | WebError::Open(_)) => true,
            _ => false,
        }
    }
}

/// What an authorization server tells of itself.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Authority {
    issuer: Option<String>,
    pub(super) authorization_endpoint: String,
    pub(super) token_endpoint: String,
    registration_endpoint: Option<String>,
    pub(super) revocation_endpoint: Option<String>,
    code_challenge_methods_supported: Option<Vec<String>>,
    /// What it calls the MCP server, and what a login may ask for there.
    #[serde(skip)]
    pub(super) resource: String,
    #[serde(skip)]
    pub(super) scopes: Vec<String>,
}

/// A program as the authorization server knows it.
#[derive(Clone, Deserialize)]
pub(super) struct Registered {
    pub(super) client_id: String,
    pub(super) client_secret: Option<String>,
}

/// What it gives.
#[derive(Clone, Deserialize)]
pub(super) struct Tokens {
    pub(super) access_token: String,
    pub(super) refresh_token: Option<String>,
    pub(super) expires_in: Option<u64>,
}

#[derive(Deserialize)]
struct Resource {
    resource: String,
    #[serde(default)]
    authorization_servers: Vec<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
}

/// Asks for a page of JSON; nothing where there is none.
async fn page<T: serde::de::DeserializeOwned>(network: &Network, url: &str) -> Result<Option<T>, AuthorityError> {
    let answer = web::get_plain(network, url).await?;
    Ok((answer.status == 200)
        .then(|| serde_json::from_slice(&answer.body).ok())
        .flatten())
}

/// `/.well-known/NAME` of an address, before its path (RFC 8414, 9728), and without the path.
fn well_known(url: &Url, name: &str) -> Vec<String> {
    let origin = url.origin().ascii_serialization();
    let path = url.path().trim_end_matches('/');
    let mut all = vec![format!("{origin}/.well-known/{name}{path}")];
    if !path.is_empty() {
        all.push(format!("{origin}/.well-known/{name}"));
    }
    all
}

/// How near an address is, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Distance {
    Far,
    /// In the network of the house, or of the company.
    House,
    /// On this machine.
    Here,
}

fn distance(url: &Url) -> Distance {
    let of_v4 = |ip: Ipv4Addr| {
        let [first, second, ..] = ip.octets();
        // The last is what carriers and overlay networks use within themselves (RFC 6598).
        match ip.is_loopback() || first == 0 {
            true => Distance::Here,
            false if ip.is_private() || ip.is_link_local() || first == 100 && second & 0xc0 == 64 => Distance::House,
            false => Distance::Far,
        }
    };
    match url.host() {
        None => Distance::Here,
        Some(Host::Ipv4(ip)) => of_v4(ip),
        Some(Host::Ipv6(ip)) => match ip.to_ipv4_mapped() {
            Some(ip) => of_v4(ip),
            None if ip.is_loopback() || ip.is_unspecified() => Distance::Here,
            None if ip.is_unique_local() || ip.is_unicast_link_local() => Distance::House,
            None => Distance::Far,
        },
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.').to_lowercase();
            let ends = |all: &[&str]| all.iter().any(|end| name.ends_with(end));
            match name == "localhost" || ends(&[".localhost"]) {
                true => Distance::Here,
                false if !name.contains('.') || ends(&[".local", ".lan", ".internal", ".home.arpa"]) => Distance::House,
                false => Distance::Far,
            }
        }
    }
}

/// Refuses an address that is nearer than the MCP server whose word it is: what waits there often trusts whoever reaches it.
fn no_nearer(server: &Url, address: &str) -> Result<(), AuthorityError> {
    match Url::parse(address) {
        Ok(url) if distance(&url) > distance(server) => {
            Err(AuthorityError::Nearer(url.host_str().unwrap_or_default().to_owned()))
        }
        // One that is none is refused by whoever asks there.
        _ => Ok(()),
    }
}

/// Finds the authorization server of an MCP server.
///
/// # Errors
/// There is none, or it is not one that a login is safe with.
pub(super) async fn find(network: &Network, server: &str) -> Result<Authority, AuthorityError> {
    let url = Url::parse(server).map_err(|_| AuthorityError::None(server.to_owned()))?;
    let mut places: Vec<String> = challenge(network, server).await?.into_iter().collect();
    places.extend(well_known(&url, "oauth-protected-resource"));
    let mut described = None;
    for place in places {
        if let Some(found) = page::<Resource>(network, &place).await? {
            described = Some(found);
            break;
        }
    }
    // A server that says it is another one would have our token sent there.
    if let Some(described) = &described
        && !Url::parse(&described.resource).is_ok_and(|resource| resource.origin() == url.origin())
    {
        return Err(AuthorityError::Unreadable("it speaks of another server than this one"));
    }
    let issuer = described
        .as_ref()
        .and_then(|described| described.authorization_servers.first().cloned())
        .unwrap_or_else(|| url.origin().ascii_serialization());
    let place = Url::parse(&issuer).map_err(|_| AuthorityError::Unreadable("its address is none"))?;
    no_nearer(&url, &issuer)?;
    let mut places = well_known(&place, "oauth-authorization-server");
    places.extend(well_known(&place, "openid-configuration"));
    places.push(format!(
        "{}/.well-known/openid-configuration",
        issuer.trim_end_matches('/')
    ));
    for place in places {
        let Some(mut found) = page::<Authority>(network, &place).await? else {
            continue;
        };
        let is_same = |said: &String| said.trim_end_matches('/') == issuer.trim_end_matches('/');
        if !found.issuer.as_ref().is_some_and(is_same) {
            return Err(AuthorityError::Unreadable(
                "it speaks of another authorization server than this one",
            ));
        }
        let methods = found.code_challenge_methods_supported.as_ref();
        if !methods.is_some_and(|methods| methods.iter().any(|method| method == "S256")) {
            return Err(AuthorityError::Unreadable(
                "it does not say that it knows PKCE with S256, without which no login is safe",
            ));
        }
        let endpoints = [&found.authorization_endpoint, &found.token_endpoint].into_iter();
        for endpoint in endpoints
            .chain(&found.registration_endpoint)
            .chain(&found.revocation_endpoint)
        {
            no_nearer(&url, endpoint)?;
        }
        (found.resource, found.scopes) = match described {
            Some(described) => (described.resource, described.scopes_supported),
            None => (server.to_owned(), Vec::new()),
        };
        return Ok(found);
    }
    Err(AuthorityError::None(server.to_owned()))
}

/// Where a server says that it describes itself, in the answer to a request without a token.
async fn challenge(network: &Network, server: &str) -> Result<Option<String>, AuthorityError> {
    let answer = web::get_plain(network, server).await?;
    let words = answer.challenge.unwrap_or_default();
    let value = words.split("resource_metadata=").nth(1).unwrap_or_default();
    let value = match value.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => value.split([',', ' ']).next(),
    };
    let same = |text: &&str| {
        let origin = |text: &str| Url::parse(text).ok().map(|url| url.origin());
        origin(text).is_some_and(|found| Some(found) == origin(server))
    };
    Ok(value.filter(same).map(str::to_owned))
}

impl Authority {
    /// Makes this program known, for logins that come back to this address.
    pub(super) async fn register(
        &self,
        network: &Network,
        back: &str,
        scope: Option<&str>,
    ) -> Result<Registered, AuthorityError> {
        let endpoint = self
            .registration_endpoint
            .as_deref()
            .ok_or(AuthorityError::NoRegistration)?;
        let mut wish = json!({
            "client_name": "Countersign",
            "redirect_uris": [back],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        });
        if let Some(scope) = scope {
            wish["scope"] = scope.into();
        }
        read(&web::post_json(network, endpoint, &wish).await?)
    }

    /// Where the browser is to go.
    pub(super) fn page(&self, query: &[(&str, &str)]) -> Result<String, AuthorityError> {
        let wrong = AuthorityError::Unreadable("its authorization_endpoint is no address that begins with https://");
        let mut url = Url::parse(&self.authorization_endpoint).map_err(|_| wrong.clone())?;
        let is_here = match url.host() {
            Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
            Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
            None => false,
        };
        // What the page is asked with, and the password that is typed there, are not for others on the way.
        let is_safe = match url.scheme() {
            "https" => true,
            "http" => is_here,
            _ => false,
        };
        if !is_safe {
            return Err(wrong);
        }
        url.query_pairs_mut().extend_pairs(query);
        Ok(url.into())
    }
}

/// Asks for tokens.
pub(super) async fn tokens(
    network: &Network,
    endpoint: &str,
    fields: &[(&str, &str)],
) -> Result<Tokens, AuthorityError> {
    read(&web::post_form(network, endpoint, fields).await?)
}

fn read<T: serde::de::DeserializeOwned>(answer: &Answer) -> Result<T, AuthorityError> {
    if !(200..300).contains(&answer.status) {
        let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let part = |name: &str| body[name].as_str();
        let said: Vec<&str> = [part("error"), part("error_description")]
            .into_iter()
            .flatten()
            .collect();
        let said: String = crate::shown::line(&said.join(": "))
            .chars()
            .take(LONGEST_MESSAGE)
            .collect();
        return Err(AuthorityError::Refused {
            status: answer.status,
            words: match said.is_empty() {
                true => String::new(),
                false => format!(": {}", said.trim_end_matches('.')),
            },
        });
    }
    serde_json::from_slice(&answer.body).map_err(|_| AuthorityError::Unreadable("a field is missing or is none"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_server_leads_to_what_is_nearer_than_itself() {
        for (server, address, allowed) in [
            ("https://192.0.2.2/mcp", "http://127.0.0.1:80/api/create", false),
            ("https://192.0.2.2/mcp", "https://127.9.9.9/", false),
            ("https://192.0.2.2/mcp", "https://0.0.0.0/", false),
            ("https://192.0.2.2/mcp", "https://2130706433/", false),
            ("https://192.0.2.2/mcp", "https://[::1]/", false),
            ("https://192.0.2.2/mcp", "https://[::ffff:127.0.0.1]/", false),
            ("https://192.0.2.2/mcp", "https://[::ffff:10.0.0.1]/", false),
            ("https://192.0.2.2/mcp", "https://[fd00::1]/", false),
            ("https://192.0.2.2/mcp", "https://[fe80::1]/", false),
            ("https://mcp.example/", "http://localhost/", false),
            ("https://mcp.example/", "https://LOCALHOST./", false),
            ("https://mcp.example/", "https://a.localhost/", false),
            ("https://mcp.example/", "https://169.254.169.254/", false),
            ("https://mcp.example/", "https://192.168.1.1/", false),
            ("https://mcp.example/", "https://100.64.0.1/", false),
            ("https://mcp.example/", "https://router/", false),
            ("https://mcp.example/", "https://nas.local/", false),
            ("https://mcp.example/", "https://login.example/token", true),
            ("https://mcp.example/", "https://[2001:db8::1]/", true),
            ("https://mcp.example/", "no address", true),
            ("https://10.0.0.2/", "https://10.0.0.3/", true),
            ("https://10.0.0.2/", "https://login.example/", true),
            ("https://10.0.0.2/", "http://127.0.0.1/", false),
            ("http://127.0.0.1:1/", "http://localhost:2/", true),
            ("http://127.0.0.1:1/", "https://10.0.0.3/", true),
            ("http://localhost:1/", "https://login.example/", true),
        ] {
            let server = Url::parse(server).expect("an address");
            assert_eq!(no_nearer(&server, address).is_ok(), allowed, "{server} {address}");
        }
    }
}
