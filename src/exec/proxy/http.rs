//! HTTP, as a proxy is spoken to and as it goes through a tunnel. Every request is judged by itself, whatever went before it
//! on its connection, and is written afresh: how a host takes a message apart is decided here and not by the client.

use super::dial::{Counted, NoWay};
use super::masks::Concealed;
use super::rules::{Target, Why};
use super::tunnel::{self, Client};
use super::{Entry, Shared, Who};
use base64::Engine as _;
use bytes::Bytes;
use futures::future::BoxFuture;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::timeout;

/// How long the head of a request may take.
const HEAD: Duration = Duration::from_secs(15);
/// Longest head of a request or an answer.
const LONGEST_HEAD: usize = 64 * 1024;
/// How long a host may take to prove who it is.
const SHAKING: Duration = Duration::from_secs(20);
/// How long a host may take to begin its answer.
const ANSWER: Duration = Duration::from_secs(10 * 60);

/// Where the keeper says for which program it asks.
const PROGRAM: HeaderName = HeaderName::from_static("x-countersign-program");

/// What concerns a connection and not the message on it.
const HOP: [HeaderName; 8] = [
    header::CONNECTION,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::UPGRADE,
    header::TRANSFER_ENCODING,
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("keep-alive"),
    PROGRAM,
];

/// By which a request asks some hosts for another method than its own.
const OVERRIDES: [&str; 4] = [
    "_method",
    "x_http_method",
    "x_http_method_override",
    "x_method_override",
];

/// Whether a header, or a part of a query, asks for another method. Servers that hand these on as variables do not tell `-`, `.` and
/// blanks from `_`.
fn overrides(name: &str) -> bool {
    let name = name.trim_start().to_ascii_lowercase();
    OVERRIDES.contains(&name.replace(['-', '.', ' ', '['], "_").as_str())
}

/// Whether the query of an address does.
fn query_overrides(address: &Uri) -> bool {
    let query = address.query().unwrap_or_default();
    let mut names = query.split(['&', ';']).flat_map(|part| {
        let pair = url::form_urlencoded::parse(part.as_bytes()).next();
        pair.map(|(name, _)| name.into_owned())
    });
    names.any(|name| overrides(&name))
}

type Body = Either<Concealed, Full<Bytes>>;

/// Where requests come from.
#[derive(Clone)]
pub(super) enum Place {
    /// A client that speaks to the proxy.
    Front(Arc<Entry>),
    /// A connection to one host.
    Inside { target: Target, secure: bool },
}

/// A connection to a host, kept for the next request.
struct Kept {
    target: Target,
    sender: SendRequest<Incoming>,
}

type Spare = Arc<Mutex<Option<Kept>>>;

/// What a connection becomes once the request for it is answered.
type Tunnel = Arc<std::sync::Mutex<Option<BoxFuture<'static, ()>>>>;

/// Serves one connection. What is served may be a tunnel, in which HTTP is served again.
pub(super) fn serve(
    shared: Arc<Shared>,
    client: impl Client,
    place: Place,
    host: Option<Counted<TcpStream>>,
    who: Who,
) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let kept = match (&place, host) {
            (Place::Inside { target, secure }, Some(host)) => {
                let speaking = speak_to(&shared, target, *secure, host).await;
                speaking.ok().map(|sender| Kept {
                    target: target.clone(),
                    sender,
                })
            }
            _ => None,
        };
        let kept: Spare = Arc::new(Mutex::new(kept));
        let tunnel = Tunnel::default();
        let opened = tunnel.clone();
        let answer = service_fn(move |request| {
            let one = One {
                shared: shared.clone(),
                place: place.clone(),
                kept: kept.clone(),
                tunnel: opened.clone(),
                who: who.clone(),
            };
            async move { Ok::<_, Infallible>(one.answer(request).await) }
        });
        let serving = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .max_buf_size(LONGEST_HEAD)
            .serve_connection(TokioIo::new(client), answer)
            .with_upgrades();
        let _ended = serving.await;
        // A part of this connection, so that it has its place among those that there may be.
        let tunnel = super::lock(&tunnel).take();
        if let Some(tunnel) = tunnel {
            tunnel.await;
        }
    })
}

/// Begins to speak to a host, by TLS where it is to be secure.
async fn speak_to(
    shared: &Shared,
    target: &Target,
    secure: bool,
    host: Counted<TcpStream>,
) -> Result<SendRequest<Incoming>, Trouble> {
    let broken = |_| Trouble::Broken(target.clone());
    if !secure {
        return speak(host).await.map_err(broken);
    }
    let unproven = |error: String| Trouble::of(target, NoWay::Unproven(error));
    let trust = shared.world.trust().await.map_err(unproven)?;
    let name = target.name().unwrap_or_default().to_owned();
    let name = rustls::pki_types::ServerName::try_from(name).map_err(|error| unproven(error.to_string()))?;
    let connecting = tokio_rustls::TlsConnector::from(trust).connect(name, host);
    let host = timeout(SHAKING, connecting).await;
    let host = host.map_err(|_| Trouble::of(target, NoWay::TooSlow))?;
    speak(host.map_err(|error| unproven(error.to_string()))?)
        .await
        .map_err(broken)
}

/// Begins to speak to a host.
async fn speak(host: impl Client) -> hyper::Result<SendRequest<Incoming>> {
    let (sender, connection) = hyper::client::conn::http1::Builder::new()
        .max_buf_size(LONGEST_HEAD)
        .handshake(TokioIo::new(host))
        .await?;
    tokio::spawn(connection);
    Ok(sender)
}

/// One request, with what it takes to answer it.
struct One {
    shared: Arc<Shared>,
    place: Place,
    kept: Spare,
    tunnel: Tunnel,
    who: Who,
}

impl One {
    async fn answer(mut self, request: Request<Incoming>) -> Response<Body> {
        if let Place::Front(entry) = &self.place {
            if !self.shared.is_known(request.headers()) {
                let mut response = said(
                    StatusCode::PROXY_AUTHENTICATION_REQUIRED,
                    "This proxy serves one command only.".to_owned(),
                );
                let challenge = HeaderValue::from_static("Basic realm=\"countersign\"");
                response.headers_mut().insert(header::PROXY_AUTHENTICATE, challenge);
                return response;
            }
            entry.admit(&self.shared.places).await;
            let said = request.headers().get(PROGRAM).and_then(|said| said.to_str().ok());
            if let Some(who) = said.and_then(|said| self.shared.named_by_keeper(said)) {
                self.who = who;
            }
        }
        let is_connect = request.method() == Method::CONNECT;
        let outcome = match (&self.place, is_connect) {
            (Place::Front(_), true) => self.connect(request).await,
            (Place::Inside { .. }, true) => Err(Trouble::Odd("a tunnel is asked for inside of a tunnel")),
            _ => self.pass(request).await,
        };
        match outcome {
            Ok(response) => response,
            Err(trouble) => self.trouble(trouble).await,
        }
    }

    /// Opens a tunnel.
    async fn connect(&self, mut request: Request<Incoming>) -> Result<Response<Body>, Trouble> {
        let authority = request.uri().authority().ok_or(Trouble::Odd("no host is asked for"))?;
        let target = Target::parse(authority.as_str(), None).ok_or(Trouble::Odd("no host and port are asked for"))?;
        let same = |host: &HeaderValue| named(host, target.port).as_ref() == Some(&target);
        if !request.headers().get_all(header::HOST).iter().all(same) {
            return Err(Trouble::Refused(
                target,
                Why::Form("its Host header names another host than it asks for"),
            ));
        }
        let host = self
            .shared
            .reach(&target)
            .await
            .map_err(|way| Trouble::of(&target, way))?;
        let (shared, who) = (self.shared.clone(), self.who.clone());
        let upgrade = hyper::upgrade::on(&mut request);
        *super::lock(&self.tunnel) = Some(Box::pin(async move {
            if let Ok(client) = upgrade.await {
                tunnel::run(shared, TokioIo::new(client), target, host, who).await;
            }
        }));
        Ok(Response::new(Either::Right(Full::default())))
    }

    /// Passes a request on.
    async fn pass(&self, request: Request<Incoming>) -> Result<Response<Body>, Trouble> {
        let (target, path) = self.whither(&request)?;
        let mut hosts = request.headers().get_all(header::HOST).iter();
        let usual = if self.is_secure() { 443 } else { 80 };
        let sound = match (hosts.next(), hosts.next()) {
            (Some(host), None) => named(host, usual).as_ref() == Some(&target),
            // The oldest clients name the host in the address only.
            (None, None) => request.version() == hyper::Version::HTTP_10 && matches!(self.place, Place::Front(_)),
            _ => false,
        };
        if !sound {
            return Err(Trouble::Refused(
                target,
                Why::Form("its Host header names another host than was asked for"),
            ));
        }
        let (mut parts, body) = request.into_parts();
        clean(&mut parts.headers);
        let authority = if target.port == usual {
            target.host_in_header()
        } else {
            target.to_string()
        };
        let host = HeaderValue::try_from(authority).map_err(|_| Trouble::Odd("the host is not text"))?;
        parts.headers.insert(header::HOST, host);
        let masks = &self.shared.masks;
        if let Some(allowed) = masks.methods(&target)
            && !allowed.iter().any(|method| method == parts.method.as_str())
        {
            let (method, allowed) = (parts.method.to_string(), allowed.join(", "));
            return Err(Trouble::Refused(target, Why::Method { method, allowed }));
        }
        if masks.methods(&target).is_some() {
            if query_overrides(&path) {
                let why = "its address asks for another method than its own, of a host whose methods are limited";
                return Err(Trouble::Refused(target, Why::Form(why)));
            }
            let headers = parts.headers.keys();
            let names: Vec<_> = headers.filter(|name| overrides(name.as_str())).cloned().collect();
            for name in names {
                parts.headers.remove(name);
            }
        }
        parts.uri = path;
        parts.version = hyper::Version::HTTP_11;
        // What goes by plain HTTP can be read by others on its way.
        if self.is_secure() {
            masks.reveal(&target, &mut parts.headers, &mut parts.uri);
        }
        let mut response = self.send(&target, Request::from_parts(parts, body)).await?;
        masks
            .conceal(&target, &mut response)
            .map_err(|why| Trouble::Unseen(target.clone(), why))?;
        clean(response.headers_mut());
        Ok(response.map(|body| Either::Left(masks.concealed(&target, body))))
    }

    fn is_secure(&self) -> bool {
        matches!(self.place, Place::Inside { secure: true, .. })
    }

    /// The host that a request is for, and the rest of its address.
    fn whither(&self, request: &Request<Incoming>) -> Result<(Target, Uri), Trouble> {
        let uri = request.uri();
        let written = match (uri.scheme_str(), uri.authority()) {
            (Some("http"), Some(authority)) => {
                let target = Target::parse(authority.as_str(), Some(80));
                Some(target.ok_or(Trouble::Odd("its address names no host in a way that is understood"))?)
            }
            (None, None) => None,
            (Some("https"), _) => return Err(Trouble::Odd("use CONNECT for an https address")),
            _ => return Err(Trouble::Odd("its address is of a kind that is not passed on")),
        };
        let target = match (&self.place, written) {
            (Place::Front(_), Some(target)) => target,
            (Place::Front(_), None) => return Err(Trouble::Odd("a request to a proxy needs the full URL")),
            (Place::Inside { target, .. }, Some(written)) if *target != written => {
                return Err(Trouble::Refused(written, Why::Form("the tunnel leads to another host")));
            }
            (Place::Inside { target, .. }, _) => target.clone(),
        };
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let path = path.parse().map_err(|_| Trouble::Odd("its address has no path"))?;
        Ok((target, path))
    }

    /// Sends a request over the connection that is there, or a new one.
    async fn send(&self, target: &Target, mut request: Request<Incoming>) -> Result<Response<Incoming>, Trouble> {
        let mut kept = self.kept.lock().await;
        let old = kept
            .take()
            .filter(|old| old.target == *target && !old.sender.is_closed());
        if let Some(mut old) = old
            && old.sender.ready().await.is_ok()
        {
            match timeout(ANSWER, old.sender.try_send_request(request)).await {
                Ok(Ok(response)) => {
                    *kept = Some(old);
                    return Ok(response);
                }
                // It had ended meanwhile, and nothing was sent.
                Ok(Err(mut failed)) => match failed.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(Trouble::Broken(target.clone())),
                },
                Err(_) => return Err(Trouble::of(target, NoWay::TooSlow)),
            }
        }
        let host = self
            .shared
            .reach(target)
            .await
            .map_err(|way| Trouble::of(target, way))?;
        let broken = |_| Trouble::Broken(target.clone());
        let mut sender = speak_to(&self.shared, target, self.is_secure(), host).await?;
        let response = timeout(ANSWER, sender.send_request(request)).await;
        let response = response
            .map_err(|_| Trouble::of(target, NoWay::TooSlow))?
            .map_err(broken)?;
        let target = target.clone();
        *kept = Some(Kept { target, sender });
        Ok(response)
    }

    /// Answers what is not passed on.
    async fn trouble(&self, trouble: Trouble) -> Response<Body> {
        match trouble {
            Trouble::Refused(target, why) => {
                let text = self.shared.refusal(&target, why, &self.who).await;
                said(StatusCode::FORBIDDEN, text)
            }
            Trouble::Odd(why) => said(
                StatusCode::BAD_REQUEST,
                format!("The request was not passed on: {why}."),
            ),
            Trouble::Broken(target) => said(
                StatusCode::BAD_GATEWAY,
                format!("{target} has ended the connection, or does not speak HTTP."),
            ),
            Trouble::Unseen(target, why) => said(
                StatusCode::BAD_GATEWAY,
                format!("The answer of {target} was not let through: {why}."),
            ),
            Trouble::Unreached(target, NoWay::TooSlow) => said(
                StatusCode::GATEWAY_TIMEOUT,
                format!("{target} has not answered in time."),
            ),
            Trouble::Unreached(target, NoWay::Failed(error)) => {
                said(StatusCode::BAD_GATEWAY, format!("{target} cannot be reached: {error}."))
            }
            Trouble::Unreached(target, NoWay::Unproven(error)) => said(
                StatusCode::BAD_GATEWAY,
                format!("The TLS certificate of {target} could not be verified, so nothing was sent there: {error}."),
            ),
            Trouble::Unreached(target, _) => said(StatusCode::BAD_GATEWAY, format!("{target} could not be resolved.")),
        }
    }
}

/// Why a request is not passed on.
enum Trouble {
    Refused(Target, Why),
    Odd(&'static str),
    Broken(Target),
    /// Its answer is not let through.
    Unseen(Target, &'static str),
    Unreached(Target, NoWay),
}

impl Trouble {
    fn of(target: &Target, way: NoWay) -> Self {
        match way {
            NoWay::Refused(why) => Self::Refused(target.clone(), why),
            other => Self::Unreached(target.clone(), other),
        }
    }
}

fn said(status: StatusCode, text: String) -> Response<Body> {
    let mut response = Response::new(Either::Right(Full::from(text + "\n")));
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}

/// The host in a header.
fn named(host: &HeaderValue, usual: u16) -> Option<Target> {
    Target::parse(host.to_str().ok()?, Some(usual))
}

/// Takes out what concerns one connection only, also what a message itself says does.
fn clean(headers: &mut HeaderMap) {
    let listed = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|list| list.to_str().ok());
    let listed = listed
        .flat_map(|list| list.split(','))
        .filter_map(|name| name.trim().parse().ok());
    // How long a message is, and whom it is for, is not the client's to take away.
    let kept = [header::HOST, header::CONTENT_LENGTH];
    let listed: Vec<HeaderName> = listed.filter(|name| !kept.contains(name)).collect();
    for name in HOP.iter().chain(&listed) {
        headers.remove(name);
    }
}

/// The name and the password that a client shows to a proxy.
pub(super) fn shown_by(headers: &HeaderMap) -> Option<Vec<u8>> {
    let mut all = headers.get_all(header::PROXY_AUTHORIZATION).iter();
    let only = all.next().filter(|_| all.next().is_none())?.to_str().ok()?;
    let (scheme, encoded) = only.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    base64::engine::general_purpose::STANDARD.decode(encoded.trim()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_asks_for_another_method_by_table() {
        for (address, expected) in [
            ("/a?_method=DELETE", true),
            ("/a?x=1&_METHOD=DELETE", true),
            ("/a?x=1;_method=DELETE", true),
            ("/a?%5Fmethod=DELETE", true),
            ("/a?.method=DELETE", true),
            ("/a?+_method=DELETE", true),
            ("/a?x-http-method-override=PUT", true),
            ("/a?_method", true),
            ("/a?method=DELETE&a_method=x", false),
            ("/_method?x=_method", false),
            ("/", false),
        ] {
            assert_eq!(
                query_overrides(&address.parse().expect("an address")),
                expected,
                "{address}"
            );
        }
        for (header, expected) in [
            ("x-http-method-override", true),
            ("x_http_method_override", true),
            ("x-http-method", true),
            ("x-method-override", true),
            ("x-http-methods", false),
        ] {
            assert_eq!(overrides(header), expected, "{header}");
        }
    }
}
