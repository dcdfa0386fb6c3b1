//! What a server of this API wants back with the next request, beside words and calls: thoughts under the name that they came
//! under, and seals that only it can read. Some refuse a request in which it is missing, others one that has it without their
//! having sent it; so it goes to nobody but the model that it is from, at the server that it is from.
//!
//! Items have no place of their own for it. It lies where thoughts of other APIs have their seal.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What is kept begins like this; server and model, an end of line and the rest as JSON follow.
const KEPT: &str = "chat-kept:";

/// The one name for thoughts that servers insist on getting them back under.
pub(super) const INSISTED_ON: &str = "reasoning_content";

/// What is kept with one item.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Kept {
    /// The name under which the words of the item came. Empty: as parts of the content, which nobody wants back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thoughts: Option<String>,
    /// Fields for the message that the item belongs to.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(super) message: Map<String, Value>,
    /// Fields for the call that follows.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(super) call: Map<String, Value>,
}

/// Whom something is from: the server, and the model there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::model) struct Origin {
    pub(in crate::model) server: String,
    pub(in crate::model) model: String,
}

impl Origin {
    /// Whether the server is the person's own by its address: on this machine, in a container, or in the network of the house.
    pub(super) fn is_near(&self) -> bool {
        let Ok(url) = url::Url::parse(&format!("http://{}", self.server)) else {
            return false;
        };
        match url.host() {
            Some(url::Host::Domain(name)) => {
                !name.contains('.')
                    || [".localhost", ".local", ".lan", ".internal"]
                        .iter()
                        .any(|end| name.ends_with(end))
            }
            Some(url::Host::Ipv4(ip)) => ip.is_loopback() || ip.is_private() || ip.is_link_local() || is_shared(ip),
            Some(url::Host::Ipv6(ip)) => ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local(),
            None => false,
        }
    }
}

/// Of the range that carriers and overlay networks use within themselves (RFC 6598).
fn is_shared(ip: std::net::Ipv4Addr) -> bool {
    let [first, second, ..] = ip.octets();
    first == 100 && second & 0xc0 == 64
}

impl Kept {
    pub(super) fn seal(&self, from: &Origin) -> Option<String> {
        let Origin { server, model } = from;
        Some(format!("{KEPT}{server} {model}\n{}", serde_json::to_string(self).ok()?))
    }

    /// What this model is to get back. `None` where there is no such seal; nothing where it is from another one.
    pub(super) fn open(sealed: &str, to: &Origin) -> Option<Self> {
        let (server, model, kept) = read(sealed)?;
        match server == to.server && model == to.model {
            true => Some(kept),
            false => Some(Self {
                thoughts: Some(String::new()),
                ..Self::default()
            }),
        }
    }
}

/// Whether the server has shown, with whichever of its models, that it insists on thoughts beside calls.
pub(super) fn insists(sealed: &str, to: &Origin) -> bool {
    read(sealed).is_some_and(|(server, _, kept)| server == to.server && kept.thoughts.as_deref() == Some(INSISTED_ON))
}

/// Server, model, and what is kept.
fn read(sealed: &str) -> Option<(&str, &str, Kept)> {
    let (from, kept) = sealed.strip_prefix(KEPT)?.split_once('\n')?;
    let (server, model) = from.split_once(' ')?;
    Some((server, model, serde_json::from_str(kept).ok()?))
}

/// Whether what seals a thought means something to this API only.
pub(in crate::model) fn is_own_seal(sealed: &str) -> bool {
    sealed.starts_with(KEPT)
}

/// Adds the details of thoughts that one chunk brings to those so far: texts come in pieces, seals whole.
pub(super) fn add_details(details: &mut Vec<Value>, more: &[Value]) {
    for piece in more.iter().filter(|piece| piece.is_object()) {
        let same = |key: &str, one: &Value| one.get(key) == piece.get(key);
        let begun = details
            .last_mut()
            .filter(|last| same("type", last) && same("index", last) && last.get("data").is_none());
        match begun {
            Some(Value::Object(last)) => {
                for (key, value) in piece.as_object().into_iter().flatten() {
                    match (last.get_mut(key), value) {
                        (Some(Value::String(text)), Value::String(more))
                            if matches!(key.as_str(), "text" | "summary") =>
                        {
                            text.push_str(more);
                        }
                        (_, Value::Null) => {}
                        (_, value) => {
                            last.insert(key.clone(), value.clone());
                        }
                    }
                }
            }
            _ => details.push(piece.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn servers_of_the_persons_own_are_known_by_their_address() {
        let near = [
            "localhost:8080",
            "127.0.0.1:8080",
            "[::1]:8080",
            "llama:8080",
            "host.docker.internal:11434",
            "nas.local",
            "box.lan:1234",
            "192.168.1.7:8080",
            "10.0.0.2",
            "172.20.0.3:1",
            "100.100.1.2:8080",
            "[fd00::1]:8080",
        ];
        let far = [
            "api.mistral.ai",
            "8.8.8.8",
            "172.32.0.1",
            "100.128.0.1",
            "[2001:db8::1]:8080",
            "local.example.org",
            "",
        ];
        let is_near = |server: &&str| {
            let origin = Origin {
                server: (*server).to_owned(),
                model: "m".to_owned(),
            };
            origin.is_near()
        };
        assert_eq!(
            near.iter().filter(|server| !is_near(server)).collect::<Vec<_>>(),
            Vec::<&&str>::new()
        );
        assert_eq!(
            far.iter().filter(|server| is_near(server)).collect::<Vec<_>>(),
            Vec::<&&str>::new()
        );
    }

    #[test]
    fn what_is_kept_goes_to_the_model_that_it_is_from() {
        let of = |server: &str, model: &str| Origin {
            server: server.to_owned(),
            model: model.to_owned(),
        };
        let kept = Kept {
            thoughts: Some(INSISTED_ON.to_owned()),
            ..Kept::default()
        };
        let from = of("a.example:80", "deep/thinker:free");
        let sealed = kept.seal(&from).expect("JSON");
        assert!(is_own_seal(&sealed) && insists(&sealed, &from));
        assert_eq!(Kept::open(&sealed, &from), Some(kept));
        for (other, insisting) in [
            (of("a.example:80", "another"), true),
            (of("b.example", "deep/thinker:free"), false),
        ] {
            let thoughts = Kept::open(&sealed, &other).map(|kept| kept.thoughts);
            assert_eq!(thoughts, Some(Some(String::new())), "{other:?}");
            assert_eq!(insists(&sealed, &other), insisting, "{other:?}");
        }
        assert_eq!(Kept::open("gAAAA", &from), None);
        assert_eq!(Kept::open("anthropic-signature:x", &from), None);
    }

    #[test]
    fn details_come_in_pieces() {
        let mut details = Vec::new();
        for more in [
            json!([{"type": "reasoning.text", "index": 0, "text": "a", "format": "f"}]),
            json!([{"type": "reasoning.text", "index": 0, "text": "b", "signature": null}]),
            json!([{"type": "reasoning.text", "index": 0, "signature": "s"}, 7]),
            json!([{"type": "reasoning.encrypted", "index": 0, "data": "x"}, {"type": "reasoning.encrypted", "index": 0, "data": "y"}]),
        ] {
            add_details(&mut details, more.as_array().expect("a list"));
        }
        assert_eq!(
            json!(details),
            json!([
                {"type": "reasoning.text", "index": 0, "text": "ab", "format": "f", "signature": "s"},
                {"type": "reasoning.encrypted", "index": 0, "data": "x"},
                {"type": "reasoning.encrypted", "index": 0, "data": "y"},
            ])
        );
    }
}
