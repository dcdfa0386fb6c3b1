//! WebSockets to a provider: opened as an HTTP request of the same kind as all others, with the same certificates, proxies,
//! headers and key, and upgraded.

use crate::model::client::ModelClient;
use crate::model::credential::{Bearer, Credential};
use crate::model::error::{ErrorKind, ModelError};
use crate::model::{http, trouble};
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, HeaderValue};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

/// Bytes of a message, in one frame or in many.
pub const MOST_BYTES: usize = 4 << 20;

pub type Socket = WebSocketStream<reqwest::Upgraded>;

impl ModelClient {
    /// Opens a WebSocket at `path` below the base URL. Takes as long as the provider does; dropping the future closes the
    /// connection.
    ///
    /// # Errors
    /// The provider cannot be reached, or answered with anything but an upgrade.
    pub async fn open_socket(&self, path: &str, query: &[(&str, &str)]) -> Result<Socket, ModelError> {
        self.try_open(path, query).await.map_err(|kind| self.error(kind))
    }

    /// What belongs to a login is renewed once if the provider does not accept it.
    async fn try_open(&self, path: &str, query: &[(&str, &str)]) -> Result<Socket, ErrorKind> {
        let Credential::Login(login) = self.credential() else {
            return self.upgrade(path, query, None).await;
        };
        let bearer = login.current().await.map_err(ErrorKind::Login)?;
        match self.upgrade(path, query, Some(&bearer)).await {
            Err(ErrorKind::Unauthorized { status: Some(401), .. }) => {}
            answered => return answered,
        }
        let bearer = login.renew(&bearer.token).await.map_err(ErrorKind::Login)?;
        self.upgrade(path, query, Some(&bearer)).await
    }

    async fn upgrade(&self, path: &str, query: &[(&str, &str)], bearer: Option<&Bearer>) -> Result<Socket, ErrorKind> {
        let mut url = self.url(path)?;
        url.query_pairs_mut().extend_pairs(query);
        let key = generate_key();
        let mut headers = self.headers(bearer)?;
        headers.insert("connection", HeaderValue::from_static("Upgrade"));
        headers.insert("upgrade", HeaderValue::from_static("websocket"));
        headers.insert("sec-websocket-version", HeaderValue::from_static("13"));
        let sent = HeaderValue::from_str(&key).map_err(|error| ErrorKind::Setup {
            reason: error.to_string(),
        })?;
        headers.insert("sec-websocket-key", sent);
        if http::is_closed(url.as_str(), &self.provider().network) {
            return Err(ErrorKind::Offline);
        }
        // Only HTTP/1.1 can be upgraded.
        let client = self.make_http(reqwest::ClientBuilder::http1_only).await?;
        let proxy = self.proxy();
        let transport_kind = |error: reqwest::Error| trouble::kind(&error, proxy.as_deref());
        let response = client.get(url).headers(headers).send().await.map_err(transport_kind)?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            let mut context = self.context("");
            if let Some(bearer) = bearer {
                // Not to be repeated in any message.
                context.key = Some(bearer.token.clone());
            }
            let response = self.check(response, &context).await?;
            let status = response.status().as_u16();
            return Err(no_socket(format!(
                "it answered with status {status} and opened no WebSocket"
            )));
        }
        check_upgrade(response.headers(), &key)?;
        let upgraded = response.upgrade().await.map_err(transport_kind)?;
        let config = WebSocketConfig::default()
            .max_message_size(Some(MOST_BYTES))
            .max_frame_size(Some(MOST_BYTES));
        Ok(WebSocketStream::from_raw_socket(upgraded, Role::Client, Some(config)).await)
    }
}

fn check_upgrade(headers: &HeaderMap, key: &str) -> Result<(), ErrorKind> {
    let text = |name: &str| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    };
    if !text("upgrade").eq_ignore_ascii_case("websocket") {
        return Err(no_socket("it switched to another protocol than WebSocket".to_owned()));
    }
    if text("sec-websocket-accept") != derive_accept_key(key.as_bytes()) {
        return Err(no_socket(
            "it did not confirm the WebSocket that was asked for".to_owned(),
        ));
    }
    Ok(())
}

fn no_socket(reason: String) -> ErrorKind {
    ErrorKind::Protocol { reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_asked_for_is_an_upgrade() {
        // The example of RFC 6455, 1.3.
        let key = "dGhlIHNhbXBsZSBub25jZQ==";
        let accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
        for (upgrade, answer, fine) in [
            ("websocket", accept, true),
            ("WebSocket", accept, true),
            ("h2c", accept, false),
            ("", accept, false),
            ("websocket", "", false),
            ("websocket", key, false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert("upgrade", HeaderValue::from_static(upgrade));
            headers.insert("sec-websocket-accept", HeaderValue::from_static(answer));
            assert_eq!(check_upgrade(&headers, key).is_ok(), fine, "{upgrade} {answer}");
        }
    }
}
