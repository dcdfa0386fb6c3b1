//! Where the browser comes back to after a login: a page on this machine, for one login, open only while it runs.
//!
//! Whoever comes without the login's own secret (`state`), or by another name than this machine's, gets a page that says
//! so and changes nothing: any page in any browser here can send requests to this port.

use super::AccountError;
use crate::config::login::Login;
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use url::{Url, form_urlencoded};

/// Where nothing else is configured. The port is any free one.
const DEFAULT: &str = "http://127.0.0.1/auth/callback";
/// How long the last page may take to reach the browser.
const LAST_PAGE: Duration = Duration::from_secs(2);

/// An open door for one login.
pub(crate) struct Callback {
    /// What the browser is told to come back to.
    pub(crate) url: String,
    listeners: Vec<TcpListener>,
    path: String,
}

/// What the browser brought.
pub(crate) struct Visit {
    /// The code, or the server's word for why there is none.
    pub(crate) brought: Result<String, Option<String>>,
    /// Takes what came of it: nothing, or why it failed.
    pub(crate) answer: oneshot::Sender<Result<(), String>>,
}

impl Callback {
    /// Opens the port.
    pub(crate) async fn open(login: &Login) -> Result<Self, AccountError> {
        let text = login.callback_url.as_deref().unwrap_or(DEFAULT);
        let wrong = |reason| AccountError::BadSetting {
            key: "callback_url",
            value: text.to_owned(),
            reason,
        };
        let mut url = Url::parse(text).map_err(|_| wrong("it is no address"))?;
        if url.scheme() != "http" {
            return Err(wrong("it does not begin with http://"));
        }
        let (v4, v6) = match url.host() {
            Some(url::Host::Ipv4(Ipv4Addr::LOCALHOST)) => (true, false),
            Some(url::Host::Ipv6(Ipv6Addr::LOCALHOST)) => (false, true),
            Some(url::Host::Domain("localhost")) => (true, true),
            _ => {
                return Err(wrong(
                    "it is not this machine; the host is 127.0.0.1, [::1] or localhost",
                ));
            }
        };
        // What stands for a part of a path, and not for itself, is not meant.
        let is_pattern = text.contains(['{', '}', '*']) || url.path().contains("/:");
        if url.query().is_some() || url.fragment().is_some() || is_pattern {
            return Err(wrong("it has more than a host, a port and a path"));
        }
        let wanted = url.port().unwrap_or(0);
        let taken = |port: u16, error: std::io::Error| AccountError::NoPort {
            port,
            reason: error.to_string(),
        };
        let mut listeners = Vec::new();
        let mut port = wanted;
        if v4 {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
                .await
                .map_err(|error| taken(port, error))?;
            port = listener.local_addr().map_err(|error| taken(port, error))?.port();
            listeners.push(listener);
        }
        if v6 {
            match TcpListener::bind((Ipv6Addr::LOCALHOST, port)).await {
                Ok(listener) => {
                    port = listener.local_addr().map_err(|error| taken(port, error))?.port();
                    listeners.push(listener);
                }
                Err(error) if listeners.is_empty() => return Err(taken(port, error)),
                // A machine may have no addresses of that kind, and browsers then use the other.
                Err(error) => tracing::info!(%error, "only one of the addresses of localhost is listened to"),
            }
        }
        // Only what has no port of its own in this scheme is refused, and this one has.
        let _always = url.set_port(Some(port));
        Ok(Self {
            path: url.path().to_owned(),
            url: url.into(),
            listeners,
        })
    }

    /// Answers browsers until `closed`, and gives what they bring with the right `state`. Ends once the port is closed
    /// and the last page is out.
    pub(crate) async fn serve(self, state: String, visits: mpsc::Sender<Visit>, closed: CancellationToken) {
        let door = Arc::new(Door { state, visits });
        let app = Router::new()
            .route(&self.path, get(come_back))
            .fallback(async || page(StatusCode::NOT_FOUND, "Nothing is here", "This is no page of a login."))
            .with_state(door);
        let served = self.listeners.into_iter().map(|listener| {
            let closed = closed.clone();
            let serving = axum::serve(listener, app.clone());
            let serving = serving.with_graceful_shutdown(async move { closed.cancelled().await });
            async move {
                let _ended = serving.await;
            }
        });
        let served = futures::future::join_all(served);
        tokio::pin!(served);
        tokio::select! {
            _ = &mut served => {}
            () = async { closed.cancelled().await; tokio::time::sleep(LAST_PAGE).await } => {}
        }
    }
}

struct Door {
    state: String,
    visits: mpsc::Sender<Visit>,
}

async fn come_back(State(door): State<Arc<Door>>, headers: HeaderMap, uri: Uri) -> Response {
    // A name that leads here and is not this machine's is somebody's trick (DNS rebinding).
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok())
        .unwrap_or_default();
    if !crate::model::http::is_this_machine(&format!("http://{host}/")) {
        return page(
            StatusCode::BAD_REQUEST,
            "Not for here",
            "This address belongs to another machine.",
        );
    }
    let query: Vec<(String, String)> = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes())
        .into_owned()
        .collect();
    let first = |name: &str| {
        let found = query.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.clone()).filter(|value| !value.is_empty())
    };
    let state = first("state").unwrap_or_default();
    if !crate::token::are_equal(state.as_bytes(), door.state.as_bytes()) {
        let text = "It does not belong to the login that runs. Start the login again, and use the page that it opens.";
        return page(StatusCode::BAD_REQUEST, "This is not the login that was started", text);
    }
    let brought = match (first("error"), first("code")) {
        (Some(error), _) => Err(Some(match first("error_description") {
            Some(more) => format!("{error}: {more}"),
            None => error,
        })),
        (None, Some(code)) => Ok(code),
        (None, None) => Err(None),
    };
    let (answer, answered) = oneshot::channel();
    if door.visits.try_send(Visit { brought, answer }).is_err() {
        return page(
            StatusCode::CONFLICT,
            "This login is over",
            "It was finished or given up before.",
        );
    }
    match answered.await {
        Ok(Ok(())) => page(
            StatusCode::OK,
            "You are signed in",
            "Countersign has what it needs. Close this page and go back to your editor.",
        ),
        Ok(Err(why)) => page(StatusCode::BAD_REQUEST, "The login did not succeed", &why),
        Err(_) => page(
            StatusCode::CONFLICT,
            "This login is over",
            "It was given up while you were on your way.",
        ),
    }
}

/// A page that loads nothing, is kept by nobody and tells no other page where it was.
fn page(status: StatusCode, title: &str, text: &str) -> Response {
    let (title, text) = (escaped(title), escaped(text));
    let html = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title} \u{2013} Countersign</title>\
         <style>body{{font:1.1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:20vh auto;padding:0 1.5rem;color-scheme:light dark}}\
         </style></head><body><h1>{title}</h1><p>{text}</p></body></html>"
    );
    let headers = [
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
        ),
        (header::CONNECTION, "close"),
    ];
    (status, headers, Html(html)).into_response()
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            letter if letter.is_control() => escaped.push(' '),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn open(url: &str) -> Result<String, AccountError> {
        let login = Login {
            callback_url: Some(url.to_owned()),
            ..Login::default()
        };
        Callback::open(&login).await.map(|callback| callback.url)
    }

    #[tokio::test]
    async fn only_this_machine_is_come_back_to() {
        for good in [
            "http://127.0.0.1/auth/callback",
            "http://localhost/x",
            "http://localhost:0/",
        ] {
            let url = open(good).await.expect(good);
            let port = Url::parse(&url).expect("an address").port();
            assert!(port.is_some_and(|port| port > 0), "{url}");
        }
        for bad in [
            "https://127.0.0.1/x",
            "http://0.0.0.0/x",
            "http://192.168.0.1:1/x",
            "http://example.org/x",
            "http://127.0.0.1.example.org/x",
            "http://127.0.0.1/x?y=1",
            "http://127.0.0.1/{x}",
            "http://127.0.0.1/:x",
            "nothing",
            "",
        ] {
            let error = open(bad).await.expect_err(bad);
            assert!(error.to_string().contains("callback_url"), "{error}");
        }
    }

    #[test]
    fn what_others_say_is_text_on_the_page() {
        assert_eq!(
            escaped("<b onclick=\"x\">&\u{1b}"),
            "&lt;b onclick=&quot;x&quot;&gt;&amp; "
        );
    }
}
