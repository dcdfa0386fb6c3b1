//! Secrets that a command uses without having them, and what it may ask hosts for. To see requests that go to such a host by
//! TLS, the proxy ends the connection itself, with a certificate of an authority that only this command's programs are led
//! to believe, and makes one of its own to the host, whose certificate is held to what the machine believes.
//!
//! A secret goes into those headers of requests by TLS to its hosts that are for credentials, and nowhere else: what a host keeps
//! or publishes of a request could give it back later. On its way back it becomes the placeholder again (`forms`).

mod authority;
mod forms;

use super::rules::Target;
use super::variables::Variables;
use crate::config::requests::Requests;
use crate::token;
use authority::Authority;
#[cfg(not(target_os = "linux"))]
pub(crate) use authority::Bundle;
pub(super) use authority::folder;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::{Bytes, BytesMut};
use forms::Forms;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::ext::ReasonPhrase;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Response, Uri};
use rustls::ServerConfig;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// Shorter secrets are words that stand in any text: hiding them would tell more than it hides.
pub(super) const SHORTEST: usize = 16;
/// Beginnings by which issuers mark their secrets, and that programs look for. What a secret begins with otherwise may be a part of
/// it, as the first word of a passphrase is.
const KINDS: &[&str] = &[
    "dop_v1_",
    "figd_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "gldt-",
    "glpat-",
    "glptt-",
    "glrt-",
    "glsa_",
    "gsk_",
    "hf_",
    "lin_api_",
    "npm_",
    "nvapi-",
    "pplx-",
    "pypi-",
    "rk_live_",
    "rk_test_",
    "rubygems_",
    "shpat_",
    "sk-",
    "sk-ant-",
    "sk-or-",
    "sk-proj-",
    "sk_live_",
    "sk_test_",
    "xai-",
    "xapp-",
    "xoxa-",
    "xoxb-",
    "xoxe-",
    "xoxp-",
    "xoxs-",
];
/// Variables that name a file of authorities, by the programs that heed them.
const AUTHORITIES: &[&str] = &[
    "SSL_CERT_FILE",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "NODE_EXTRA_CA_CERTS",
    "CARGO_HTTP_CAINFO",
    "PIP_CERT",
    "AWS_CA_BUNDLE",
    "DENO_CERT",
    "NIX_SSL_CERT_FILE",
];

/// What stands for a secret, in as many bytes.
struct Masked {
    variable: String,
    placeholder: String,
    secret: String,
    hosts: Vec<String>,
    /// The headers that it goes into.
    headers: Vec<String>,
    /// Whether it goes into what follows the `?` of an address.
    in_query: bool,
}

/// Of one command.
#[derive(Default)]
pub(super) struct Masks {
    masked: Vec<Masked>,
    /// What the answers of a host must not hold, by host.
    forms: BTreeMap<String, Arc<Forms>>,
    methods: BTreeMap<String, Vec<String>>,
    authority: Option<Authority>,
}

impl Masks {
    /// A secret whose variable is not set is left out. The file of authorities lies in `folder`.
    ///
    /// # Errors
    /// A secret is too short to be hidden, or there is nothing to make certificates with; as text.
    pub(super) fn of(requests: &Requests, folder: &Path, variables: &Variables) -> Result<Self, String> {
        let mut masked = Vec::new();
        for credential in &requests.credentials {
            let Some(secret) = variables.secret(&credential.from) else {
                continue;
            };
            let fits = secret.len() >= SHORTEST && secret.bytes().all(|byte| byte.is_ascii_graphic());
            if !fits {
                return Err(format!(
                    "the secret in {} is shorter than {SHORTEST} characters or has others than visible ASCII, so it cannot be kept from \
                     the command; take it out of [sandbox.credentials]",
                    credential.from
                ));
            }
            masked.push(Masked {
                variable: credential.variable.clone(),
                placeholder: placeholder(secret).map_err(|error| error.to_string())?,
                secret: secret.to_owned(),
                hosts: credential.hosts.clone(),
                headers: credential.headers.clone(),
                in_query: credential.in_query,
            });
        }
        let mut masks = Self {
            forms: forms_by_host(&masked),
            masked,
            methods: requests.methods.clone(),
            authority: None,
        };
        let names = masks.names();
        if !names.is_empty() {
            let made = Authority::make(names, folder, variables.authorities.as_deref())
                .map_err(|error| format!("the proxy cannot make certificates: {error}"))?;
            masks.authority = Some(made);
        }
        Ok(masks)
    }

    fn names(&self) -> Vec<String> {
        let with_secret = self.masked.iter().flat_map(|masked| &masked.hosts);
        let mut names: Vec<_> = with_secret.chain(self.methods.keys()).cloned().collect();
        names.sort();
        names.dedup();
        names
    }

    /// The variables of the command: placeholders, and the file of authorities.
    pub(super) fn environment(&self) -> Vec<(String, String)> {
        let placeholders = self.masked.iter();
        let placeholders = placeholders.map(|masked| (masked.variable.clone(), masked.placeholder.clone()));
        let bundle = self.bundle().map(|bundle| bundle.display().to_string());
        let authorities = bundle.into_iter().flat_map(|bundle| {
            let named = move |name: &&str| ((*name).to_owned(), bundle.clone());
            AUTHORITIES.iter().map(named).collect::<Vec<_>>()
        });
        placeholders.chain(authorities).collect()
    }

    /// The file of authorities.
    pub(super) fn bundle(&self) -> Option<&Path> {
        self.authority.as_ref().and_then(Authority::bundle)
    }

    /// The file itself, which is removed when this is dropped: for who ends before they can drop the rest.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn take_bundle(&mut self) -> Option<Bundle> {
        self.authority.as_mut().and_then(Authority::take_bundle)
    }

    /// Whether a text has one of the secrets in it.
    pub(super) fn has_secret(&self, text: &str) -> bool {
        self.masked.iter().any(|masked| text.contains(&masked.secret))
    }

    /// Whether requests to a host have to be read.
    pub(super) fn is_read(&self, target: &Target) -> bool {
        let named = |authority: &Authority| {
            target
                .name()
                .is_some_and(|name| authority.names.iter().any(|one| one == name))
        };
        self.authority.as_ref().is_some_and(named)
    }

    /// The certificate to be shown in the name of a host whose requests are read; none if it cannot be made.
    pub(super) fn certificate(&self, target: &Target) -> Option<Arc<ServerConfig>> {
        let authority = self.authority.as_ref().filter(|_| self.is_read(target))?;
        authority
            .certificate(target.name()?)
            .inspect_err(|error| tracing::warn!(%error, "no certificate"))
            .ok()
    }

    /// The methods that a host may be asked with, where that is said.
    pub(super) fn methods(&self, target: &Target) -> Option<&[String]> {
        self.methods.get(target.name()?).map(Vec::as_slice)
    }

    fn of_host<'m>(&'m self, target: &'m Target) -> impl Iterator<Item = &'m Masked> {
        let is_its = |masked: &&Masked| {
            target
                .name()
                .is_some_and(|name| masked.hosts.iter().any(|host| host == name))
        };
        self.masked.iter().filter(is_its)
    }

    fn forms(&self, target: &Target) -> Option<&Arc<Forms>> {
        self.forms.get(target.name()?)
    }

    /// Puts a host's secrets into a request that goes to it by TLS.
    pub(super) fn reveal(&self, target: &Target, headers: &mut HeaderMap, path: &mut Uri) {
        let mut any = false;
        for masked in self.of_host(target) {
            any = true;
            for (name, value) in headers.iter_mut() {
                if masked.headers.iter().any(|known| known == name.as_str())
                    && let Some(revealed) = revealed(value, masked)
                {
                    *value = revealed;
                }
            }
            if masked.in_query
                && let Some((place, query)) = path.to_string().split_once('?')
                && let Ok(revealed) = format!("{place}?{}", query.replace(&masked.placeholder, &masked.secret)).parse()
            {
                *path = revealed;
            }
        }
        if any {
            // What is packed, or comes in pieces of one's choice, could bring the secret back unseen.
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
            headers.remove(header::RANGE);
            headers.remove(header::IF_RANGE);
        }
    }

    /// Takes a host's secrets out of the head of its answer.
    ///
    /// # Errors
    /// They could not be seen in the answer; why, as the end of a sentence.
    pub(super) fn conceal<B>(&self, target: &Target, response: &mut Response<B>) -> Result<(), &'static str> {
        let Some(forms) = self.forms(target) else { return Ok(()) };
        let headers = response.headers();
        let says_only = |name: header::HeaderName, usual: &[u8]| {
            let mut all = headers.get_all(name).iter();
            all.all(|value| value.as_bytes().trim_ascii().eq_ignore_ascii_case(usual))
        };
        if !says_only(header::CONTENT_ENCODING, b"identity") || !says_only(header::TRANSFER_ENCODING, b"chunked") {
            return Err(
                "it has packed its answer although it was asked not to, so that a secret in it could not be seen",
            );
        }
        if headers.get_all(header::CONTENT_TYPE).iter().any(is_odd_text) {
            return Err("its text is in an encoding in which a secret could not be seen");
        }
        let names: Vec<u8> = headers.keys().flat_map(|name| name.as_str().bytes()).collect();
        let values: Vec<&[u8]> = headers.values().map(HeaderValue::as_bytes).collect();
        let mut by_name = headers.keys().map(|name| {
            let all = headers.get_all(name).iter().map(HeaderValue::as_bytes);
            all.collect::<Vec<_>>()
        });
        // A name cannot be written over, nor can what only becomes one behind the other.
        if forms.is_in_folded(&names) || forms.is_spread(&values) || by_name.any(|all| forms.is_spread(&all)) {
            return Err(SPREAD);
        }
        for value in response.headers_mut().values_mut() {
            if let Some(hidden) = forms.hidden(value.as_bytes())
                && let Ok(hidden) = HeaderValue::from_bytes(&hidden)
            {
                *value = hidden;
            }
        }
        let lines = response.headers().iter();
        let lines = lines.flat_map(|(name, value)| [name.as_str().as_bytes(), value.as_bytes()].concat());
        let lines: Vec<u8> = lines.collect();
        if forms.is_in_folded(&lines) {
            return Err(SPREAD);
        }
        // Its own words beside the status.
        response.extensions_mut().remove::<ReasonPhrase>();
        Ok(())
    }

    /// The body of an answer without them.
    pub(super) fn concealed(&self, target: &Target, body: Incoming) -> Concealed {
        Concealed {
            body,
            forms: self.forms(target).cloned(),
            held: BytesMut::new(),
            trailers: None,
        }
    }
}

/// Why an answer is not passed on, as the end of a sentence.
const SPREAD: &str =
    "it has given a secret back in the name of a header, or in several headers, so that it cannot be hidden";

/// Encodings of text in which letters are not the bytes that they usually are, without what stands between their words.
const ODD_TEXTS: [&str; 7] = ["utf7", "utf16", "utf32", "ucs", "unicode", "iso10646", "ebcdic"];

/// Whether a type of content says that its text is in such an encoding.
fn is_odd_text(kind: &HeaderValue) -> bool {
    let kind = String::from_utf8_lossy(kind.as_bytes()).to_ascii_lowercase();
    kind.split(';').skip(1).any(|parameter| {
        let Some((name, value)) = parameter.split_once('=') else {
            return false;
        };
        let value: String = value.chars().filter(char::is_ascii_alphanumeric).collect();
        name.trim() == "charset" && ODD_TEXTS.iter().any(|odd| value.contains(odd))
    })
}

fn forms_by_host(masked: &[Masked]) -> BTreeMap<String, Arc<Forms>> {
    let mut by_host = BTreeMap::new();
    for host in masked.iter().flat_map(|masked| &masked.hosts) {
        let its = masked.iter().filter(|masked| masked.hosts.contains(host));
        let its = its.map(|masked| (masked.secret.as_str(), masked.placeholder.as_str()));
        by_host.insert(host.clone(), Arc::new(Forms::of(its)));
    }
    by_host
}

/// As long as the secret and of its kind, so that programs take it for one, and lengths stay what they are.
fn placeholder(secret: &str) -> io::Result<String> {
    let kinds = KINDS.iter().filter(|kind| secret.starts_with(**kind));
    let kind = kinds.max_by_key(|kind| kind.len()).copied().unwrap_or_default();
    let mut random = vec![0; secret.len()];
    token::fill(&mut random)?;
    let rest = random
        .iter()
        .map(|byte| char::from(b"0123456789abcdef"[usize::from(byte % 16)]));
    Ok(kind.chars().chain(rest).take(secret.len()).collect())
}

/// A header's value with the secret in the placeholder's place, where that stands in it.
fn revealed(value: &HeaderValue, masked: &Masked) -> Option<HeaderValue> {
    let (placeholder, secret) = (masked.placeholder.as_bytes(), masked.secret.as_bytes());
    let swap = |bytes: &[u8]| swapped(bytes, placeholder, secret);
    let bytes = match value.as_bytes().split_first_chunk::<6>() {
        // Name and password.
        Some((scheme, encoded)) if scheme.eq_ignore_ascii_case(b"basic ") => {
            let decoded = STANDARD.decode(encoded.trim_ascii()).ok()?;
            format!("Basic {}", STANDARD.encode(swap(&decoded)?)).into_bytes()
        }
        _ => swap(value.as_bytes())?,
    };
    let mut revealed = HeaderValue::from_bytes(&bytes).ok()?;
    revealed.set_sensitive(true);
    Some(revealed)
}

/// Each `from` as `to`; none where there is none.
fn swapped(bytes: &[u8], from: &[u8], to: &[u8]) -> Option<Vec<u8>> {
    let mut made = Vec::new();
    let mut left = bytes;
    while let Some(at) = left.windows(from.len()).position(|part| part == from) {
        made.extend_from_slice(&left[..at]);
        made.extend_from_slice(to);
        left = &left[at + from.len()..];
    }
    (left.len() < bytes.len()).then(|| {
        made.extend_from_slice(left);
        made
    })
}

/// The body of an answer in which secrets become placeholders, wherever its pieces end.
pub(super) struct Concealed {
    body: Incoming,
    forms: Option<Arc<Forms>>,
    /// What may be the beginning of a secret.
    held: BytesMut,
    trailers: Option<HeaderMap>,
}

impl Concealed {
    /// What can go on of what was read so far.
    fn ready(&mut self, is_end: bool) -> Bytes {
        let Some(forms) = &self.forms else {
            return self.held.split().freeze();
        };
        let ready = forms.hide(&mut self.held, is_end);
        self.held.split_to(ready).freeze()
    }
}

impl Body for Concealed {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        loop {
            if let Some(trailers) = self.trailers.take() {
                return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
            }
            let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => frame,
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => {
                    let last = self.ready(true);
                    return Poll::Ready((!last.is_empty()).then(|| Ok(Frame::data(last))));
                }
            };
            match frame.into_data() {
                Ok(data) => {
                    self.held.extend_from_slice(&data);
                    let ready = self.ready(false);
                    if !ready.is_empty() {
                        return Poll::Ready(Some(Ok(Frame::data(ready))));
                    }
                }
                // Trailers could carry it too, and are hardly used: those are left out where there is something to hide.
                Err(frame) => {
                    self.trailers = frame.into_trailers().ok().filter(|_| self.forms.is_none());
                    let last = self.ready(true);
                    if !last.is_empty() {
                        return Poll::Ready(Some(Ok(Frame::data(last))));
                    }
                }
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        // A placeholder is as long as its secret, so that nothing changes in it.
        let (hint, held) = (self.body.size_hint(), self.held.len() as u64);
        let mut all = SizeHint::new();
        all.set_lower(hint.lower() + held);
        if let Some(upper) = hint.upper() {
            all.set_upper(upper + held);
        }
        all
    }
}

#[cfg(test)]
mod tests;
