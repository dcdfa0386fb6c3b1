//! HTTP clients, also for those who speak to other services than models: certificates, proxies and redirects are the same
//! for all, and so is staying offline.

use crate::config::network::{Network, Tls};
use crate::model::client::is_loopback;
use crate::model::trouble;
use reqwest::{Certificate, ClientBuilder, Identity, Proxy};
use std::path::Path;
use std::time::Duration;
use url::Url;

pub(super) const CONNECT_LIMIT: Duration = Duration::from_secs(15);
/// Redirects that are followed for an MCP server.
const MOST_REDIRECTS: usize = 5;

/// The kinds of proxies that are spoken to. Names are looked up here for `socks5` and `socks4`, and by the proxy for the
/// others.
const PROXIES: &[&str] = &["http", "https", "socks5", "socks5h", "socks4", "socks4a"];

/// What is said where nothing may leave this machine.
pub(super) const OFFLINE: &str = "Countersign is offline, so nothing is sent beyond this machine";

/// A builder with what holds everywhere.
///
/// # Errors
/// Something that is configured cannot work; which, as the beginning of a sentence.
pub(super) fn builder(url: &str, network: &Network, tls: &Tls) -> Result<ClientBuilder, String> {
    // An error only says that somebody has installed one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .connect_timeout(CONNECT_LIMIT)
        .tcp_keepalive(Duration::from_secs(30))
        .tcp_nodelay(true);
    if is_loopback(url) {
        builder = builder.no_proxy();
        if url.trim().starts_with("http://") {
            // No certificate will be looked at: reading the system's takes longer than a whole local turn.
            return Ok(builder.tls_certs_only([]));
        }
    } else if let Some(proxy) = proxy(url, network) {
        let shown = public_proxy(&proxy);
        let scheme = proxy
            .split_once("://")
            .map_or("", |(scheme, _)| scheme)
            .to_ascii_lowercase();
        if !PROXIES.contains(&scheme.as_str()) {
            return Err(format!(
                "the proxy {shown} is of a kind that is not spoken here; name one that begins with http://, https://, \
                 socks5:// or socks5h://"
            ));
        }
        let proxy = Proxy::all(&proxy).map_err(|_| format!("the proxy {shown} is no address"))?;
        builder = builder.no_proxy().proxy(proxy);
    } else if network.has_proxies() || !cfg!(any(target_os = "macos", windows)) {
        // Elsewhere the system may know a proxy that no variable names.
        builder = builder.no_proxy();
    }
    for authorities in &network.authorities {
        builder = builder.tls_certs_merge(certificates(&authorities.path, &authorities.named_by)?);
    }
    if let Some(path) = &tls.ca_certificate {
        builder = builder.tls_certs_merge(certificates(path, "`tls`")?);
    }
    match (&tls.client_certificate, &tls.client_private_key) {
        (None, None) => Ok(builder),
        (Some(certificate), Some(key)) => {
            let both = [pem(key, "`tls`")?, b"\n".to_vec(), pem(certificate, "`tls`")?].concat();
            let identity = Identity::from_pem(&both).map_err(|_| {
                let (certificate, key) = (certificate.display(), key.display());
                format!("{certificate} and {key} are no certificate of a client with its key, as PEM")
            })?;
            Ok(builder.identity(identity))
        }
        (Some(_), None) => Err("`tls` names a client's certificate without its key".to_owned()),
        (None, Some(_)) => Err("`tls` names a client's key without its certificate".to_owned()),
    }
}

/// The proxy on the way to an address.
pub(super) fn proxy(url: &str, network: &Network) -> Option<String> {
    let url = Url::parse(url.trim()).ok()?;
    network.proxy_for(&url).filter(|_| !is_loopback(url.as_str()))
}

/// A proxy as people may see it.
pub(super) fn public_proxy(proxy: &str) -> String {
    match Url::parse(proxy) {
        Ok(url) => match (url.host_str(), url.port()) {
            (Some(host), Some(port)) => format!("{}://{host}:{port}", url.scheme()),
            (Some(host), None) => format!("{}://{host}", url.scheme()),
            _ => "that is configured".to_owned(),
        },
        Err(_) => "that is configured".to_owned(),
    }
}

fn certificates(path: &Path, named_by: &str) -> Result<Vec<Certificate>, String> {
    let wrong = || {
        format!(
            "{}, which {named_by} names, holds no certificates as PEM",
            path.display()
        )
    };
    let certificates = Certificate::from_pem_bundle(&pem(path, named_by)?).map_err(|_| wrong())?;
    match certificates.is_empty() {
        true => Err(wrong()),
        false => Ok(certificates),
    }
}

fn pem(path: &Path, named_by: &str) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{}, which {named_by} names, cannot be read: {error}", path.display()))
}

/// Whether an address leads to this machine and no further.
pub fn is_this_machine(url: &str) -> bool {
    is_loopback(url)
}

/// Whether nothing may be sent to an address.
pub(super) fn is_closed(url: &str, network: &Network) -> bool {
    network.offline && !is_loopback(url)
}

/// Why a request of such a client came to nothing.
pub type HttpError = reqwest::Error;

/// The same in words for a person, with advice and without the address.
pub fn why(error: &HttpError, url: &str, network: &Network) -> String {
    trouble::words(error, proxy(url, network).as_deref())
}

/// A client for an MCP server. It follows redirects within the server, and takes no token elsewhere. Made aside, since it
/// reads the system's certificates.
///
/// # Errors
/// It cannot be set up; why, in words.
pub async fn for_tool_servers(url: &str, network: &Network) -> Result<reqwest::Client, String> {
    if is_closed(url, network) {
        return Err(OFFLINE.to_owned());
    }
    let (url, network) = (url.to_owned(), network.clone());
    let within = reqwest::redirect::Policy::custom(|attempt| {
        let origin = attempt.previous().first().map(url::Url::origin);
        match origin == Some(attempt.url().origin()) && attempt.previous().len() <= MOST_REDIRECTS {
            true => attempt.follow(),
            false => attempt.stop(),
        }
    });
    let made = tokio::task::spawn_blocking(move || {
        let builder = builder(&url, &network, &Tls::default())?;
        builder
            .redirect(within)
            .build()
            .map_err(|error| trouble::reason(&error))
    });
    made.await.unwrap_or_else(|error| Err(error.to_string()))
}
