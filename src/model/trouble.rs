//! Why a connection did not come about, from the errors of three libraries to words that a person can do something with.

use super::error::ErrorKind;
use super::http::{CONNECT_LIMIT, public_proxy};
use rustls::{AlertDescription, CertificateError};
use std::error::Error;
use std::io;

/// What to do about a proxy.
const PROXY_ADVICE: &str = "Check HTTPS_PROXY and NO_PROXY in the environment of the editor, or `network.proxy` in \
                            config.toml.";

/// A failure before the answer began. `proxy`: the one that the request went through.
pub(super) fn kind(error: &reqwest::Error, proxy: Option<&str>) -> ErrorKind {
    let reason = reason(error);
    if error.is_builder() {
        return ErrorKind::Setup { reason };
    }
    if let Some((reason, advice)) = tls(error) {
        return ErrorKind::Insecure { reason, advice };
    }
    if let Some(proxy) = proxy.map(public_proxy) {
        let tunnel =
            causes(error).find_map(|cause| cause.to_string().strip_prefix("tunnel error: ").map(str::to_owned));
        let is_refused = |words: &str| words.contains("unsuccessful") || words.contains("authorization");
        match tunnel {
            Some(words) if words.contains("authorization") => {
                return ErrorKind::Proxy {
                    reason: format!("the proxy {proxy} requires authentication (status 407)"),
                    advice: "Give it name and password: http://NAME:PASSWORD@HOST:PORT in HTTPS_PROXY, or in \
                             `network.proxy` of config.toml."
                        .to_owned(),
                };
            }
            Some(words) if is_refused(&words) => {
                return ErrorKind::Proxy {
                    reason: format!("the proxy {proxy} refuses to connect to it"),
                    advice: format!("Ask the administrator of the proxy to allow the address. {PROXY_ADVICE}"),
                };
            }
            _ if error.is_connect() => {
                return ErrorKind::Unreachable {
                    reason: format!("the proxy {proxy} does not answer: {reason}"),
                    advice: PROXY_ADVICE.to_owned(),
                };
            }
            _ => {}
        }
    }
    match error.is_connect() {
        true => ErrorKind::Unreachable {
            advice: advice(error),
            reason,
        },
        false => ErrorKind::Broken { reason },
    }
}

/// The same in words, for who asks another service than a provider of models. The address is not among them: it may hold a key.
pub(super) fn words(error: &reqwest::Error, proxy: Option<&str>) -> String {
    match kind(error, proxy) {
        ErrorKind::Unreachable { reason, advice }
        | ErrorKind::Insecure { reason, advice }
        | ErrorKind::Proxy { reason, advice } => {
            // What can only be set for a provider is no advice here.
            match advice.contains("provider") {
                true => reason,
                false => format!("{reason}. {}", advice.replace("`base_url`", "`url`")),
            }
        }
        ErrorKind::Broken { reason } => format!("the connection broke: {reason}"),
        _ => reason(error),
    }
}

/// The reason in words: where it is known what it means, our own; else the innermost cause.
pub(super) fn reason(error: &reqwest::Error) -> String {
    if error.is_timeout() && error.is_connect() {
        return format!("no connection within {} s", CONNECT_LIMIT.as_secs());
    }
    if let Some((reason, _)) = tls(error) {
        return reason;
    }
    let deepest = causes(error).last().map(ToString::to_string);
    let said = deepest.unwrap_or_else(|| error.to_string());
    // The number says no more than the words before it.
    let said = said.split(" (os error ").next().unwrap_or_default().to_owned();
    match reach(error) {
        Some(Reach::NoName) => {
            let host = error.url().and_then(|url| url.host_str()).unwrap_or("that is given");
            format!("no machine has the name {host} ({said})")
        }
        Some(Reach::NoNameServer) => format!("no name can be looked up, so there may be no network ({said})"),
        Some(Reach::NoNetwork) => format!("there is no way to it from this machine ({said})"),
        Some(Reach::Refused) | None => said,
    }
}

/// What kept us from a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    NoName,
    NoNameServer,
    NoNetwork,
    Refused,
}

fn reach(error: &reqwest::Error) -> Option<Reach> {
    causes(error).find_map(|cause| {
        let words = cause.to_string();
        if words.contains("failed to lookup address information") || words.contains("nodename nor servname") {
            return Some(
                match words.contains("Temporary failure") || words.contains("try again") {
                    true => Reach::NoNameServer,
                    false => Reach::NoName,
                },
            );
        }
        match cause.downcast_ref::<io::Error>()?.kind() {
            io::ErrorKind::ConnectionRefused => Some(Reach::Refused),
            io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkDown => {
                Some(Reach::NoNetwork)
            }
            _ => None,
        }
    })
}

fn advice(error: &reqwest::Error) -> String {
    let is_local = error.url().is_some_and(|url| super::client::is_loopback(url.as_str()));
    match reach(error) {
        Some(Reach::NoName) => "Check the name in `base_url` of config.toml, and whether a VPN is needed.",
        Some(Reach::NoNameServer | Reach::NoNetwork) => {
            "Connect to a network; without one, a model on this machine can answer (`model_provider = \"ollama\"`)."
        }
        Some(Reach::Refused) if is_local => "Start the server on this machine, or check the port in `base_url`.",
        Some(Reach::Refused) => "Check the port in `base_url`, and whether the service runs.",
        None => "Check the network and the proxy, or `base_url` in config.toml.",
    }
    .to_owned()
}

/// The error of the encryption that this is, or that lies in it: an error of the system that carries another one skips it in
/// its chain of causes, and there can be several around each other.
fn encryption<'a>(cause: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    match cause.downcast_ref::<io::Error>() {
        Some(carrier) => encryption(carrier.get_ref()?),
        None => cause.downcast_ref(),
    }
}

/// What is wrong with the encryption, and what to do about it.
fn tls(error: &reqwest::Error) -> Option<(String, String)> {
    let error = causes(error).find_map(encryption)?;
    let (reason, advice) = match error {
        rustls::Error::InvalidCertificate(problem) => certificate(problem),
        rustls::Error::AlertReceived(AlertDescription::CertificateRequired) => (
            "it wants a certificate of this client".to_owned(),
            "Name one with its key: `client_certificate` and `client_private_key` in the `tls` table of the provider.",
        ),
        rustls::Error::AlertReceived(
            alert @ (AlertDescription::BadCertificate
            | AlertDescription::UnknownCA
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown
            | AlertDescription::AccessDenied),
        ) => (
            format!("it does not accept the certificate of this client ({alert:?})"),
            "Check `client_certificate` in the `tls` table of the provider.",
        ),
        rustls::Error::InvalidMessage(_) => (
            "what answers there does not speak TLS".to_owned(),
            "Check the port in `base_url`; a server without encryption is reached with http://.",
        ),
        other => (
            format!("no encrypted connection came about ({other})"),
            "Check `base_url`; if a proxy inspects encrypted connections, ask its administrator.",
        ),
    };
    Some((reason, advice.to_owned()))
}

fn certificate(problem: &CertificateError) -> (String, &'static str) {
    const UNKNOWN: &str = "If your company's proxy or a server of your own signs it, name the certificate of its \
                           authority (PEM) in `network.ca_certificates` of config.toml, or in SSL_CERT_FILE.";
    const DATE: &str = "Check the date of this machine; if it is right, the administrator of the server has to renew the \
                        certificate.";
    let unknown = || "nobody whom this machine trusts vouches for its certificate".to_owned();
    match problem {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            ("its certificate has expired".to_owned(), DATE)
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            ("its certificate is not valid yet".to_owned(), DATE)
        }
        CertificateError::NotValidForName => (
            "its certificate is for another name".to_owned(),
            "Check the name in `base_url`: it has to be one that the certificate is for.",
        ),
        CertificateError::NotValidForNameContext { expected, presented } => (
            format!(
                "its certificate is for {}, not for {}",
                presented.join(", "),
                expected.to_str()
            ),
            "Check the name in `base_url`: it has to be one that the certificate is for.",
        ),
        CertificateError::UnknownIssuer | CertificateError::BadSignature => (unknown(), UNKNOWN),
        // A certificate that vouches for itself and calls itself an authority.
        other if format!("{other:?}").contains("CaUsedAsEndEntity") => (unknown(), UNKNOWN),
        CertificateError::Revoked => (
            "its certificate has been revoked".to_owned(),
            "Ask the administrator of the server; do not send it anything until then.",
        ),
        other => (
            format!("its certificate cannot be accepted ({other:?})"),
            "Ask the administrator of the server, or of the proxy in front of it.",
        ),
    }
}

fn causes<'a>(error: &'a reqwest::Error) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Error::source(error), |cause| (*cause).source())
}
