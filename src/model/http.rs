//! HTTP clients, also for those who speak to other services than models: certificates, proxies and redirects are the same
//! for all.

use crate::model::client::{is_loopback, transport_reason};
use std::time::Duration;

pub(super) const CONNECT_LIMIT: Duration = Duration::from_secs(15);
/// Redirects that are followed for a tool server.
const MOST_REDIRECTS: usize = 5;

/// A builder with what holds everywhere.
pub(super) fn builder(url: &str) -> reqwest::ClientBuilder {
    // An error only says that somebody has installed one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .connect_timeout(CONNECT_LIMIT)
        .tcp_keepalive(Duration::from_secs(30))
        .tcp_nodelay(true);
    if is_loopback(url) {
        builder = builder.no_proxy();
        if url.starts_with("http://") {
            // No certificate will be looked at: reading the system's takes longer than a whole local turn.
            builder = builder.tls_certs_only([]);
        }
    }
    builder
}

/// Whether an address leads to this machine and no further.
pub fn is_this_machine(url: &str) -> bool {
    is_loopback(url)
}

/// A client for a tool server. It follows redirects within the server, and takes no token elsewhere. Made aside, since it
/// reads the system's certificates.
///
/// # Errors
/// It cannot be set up; why, in words.
pub async fn for_tool_servers(url: &str) -> Result<reqwest::Client, String> {
    let url = url.to_owned();
    let within = reqwest::redirect::Policy::custom(|attempt| {
        let origin = attempt.previous().first().map(url::Url::origin);
        match origin == Some(attempt.url().origin()) && attempt.previous().len() <= MOST_REDIRECTS {
            true => attempt.follow(),
            false => attempt.stop(),
        }
    });
    let made = tokio::task::spawn_blocking(move || builder(&url).redirect(within).build()).await;
    match made {
        Ok(Ok(client)) => Ok(client),
        Ok(Err(error)) => Err(transport_reason(&error)),
        Err(error) => Err(error.to_string()),
    }
}
