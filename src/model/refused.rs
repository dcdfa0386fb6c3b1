//! What a provider refuses of a request although it means no harm: parameters that not every model or server knows, and seals of
//! thoughts that another has made. It is found out by the refusal; the request goes out once more without, and those after it at once.

use super::ModelRequest;
use super::error::ErrorKind;
use super::item::ResponseItem;
use crate::config::provider::WireApi;
use serde_json::{Map, Value, json};
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Models, and seals of one model, that are remembered.
const MOST_KNOWN: usize = 256;
const MOST_SEALS: usize = 10_000;
/// Times that one request is sent in another form.
pub(super) const MOST_FORMS: usize = 4;

/// Something of a request that can be left out, or said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// A parameter that is no more than a wish.
    Wish(&'static str),
    /// Any choice of tools but the model's own.
    ToolChoice,
    /// Its older name for the most tokens of an answer.
    MaxTokens,
    /// Summaries of thoughts, which OpenAI gives to organizations that it knows.
    Summary,
    /// The effort that a model thinks with by itself, beside tools.
    EffortBesideTools,
}

/// Parameters that are no more than wishes, as refusals name them.
const WISHES: &[&str] = &[
    "parallel_tool_calls",
    "stream_options",
    "prompt_cache_key",
    "service_tier",
    "verbosity",
    "metadata",
];

#[derive(Clone, Default)]
struct Known {
    parts: BTreeSet<Part>,
    /// Hashes of seals.
    seals: Arc<HashSet<u64>>,
}

/// By the server's address and the model's name. It holds as long as this process runs.
static KNOWN: Mutex<BTreeMap<(String, String), Known>> = Mutex::new(BTreeMap::new());

/// What one model of one server refuses, as far as is known.
#[derive(Clone)]
pub(super) struct Refused {
    key: (String, String),
    known: Known,
}

fn known() -> MutexGuard<'static, BTreeMap<(String, String), Known>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Refused {
    pub(super) fn by(server: &str, model: &str) -> Self {
        let key = (server.to_owned(), model.to_owned());
        let known = known().get(&key).cloned().unwrap_or_default();
        Self { key, known }
    }

    /// Whether a failure is a refusal of something that can be left out and was not so far. It is noted.
    pub(super) fn learns(&mut self, kind: &ErrorKind, request: &ModelRequest) -> bool {
        let ErrorKind::BadRequest { message, .. } = kind else {
            return false;
        };
        let words = message.to_lowercase();
        let is_new = match part(&words, request) {
            Some(part) => self.known.parts.insert(part),
            None => false,
        };
        let is_new = is_new || is_of_seals(&words) && self.learns_seals(request);
        let mut all = known();
        if is_new && (all.len() < MOST_KNOWN || all.contains_key(&self.key)) {
            all.insert(self.key.clone(), self.known.clone());
        }
        is_new
    }

    /// Those of the request count as foreign from now on, what is sealed later does not.
    fn learns_seals(&mut self, request: &ModelRequest) -> bool {
        let seals: HashSet<u64> = request.input.iter().filter_map(seal).map(hash).collect();
        let has_new = seals.iter().any(|seal| !self.known.seals.contains(seal));
        if has_new {
            let all = Arc::make_mut(&mut self.known.seals);
            if all.len() + seals.len() > MOST_SEALS {
                all.clear();
            }
            all.extend(seals);
        }
        has_new
    }

    /// The request without seals that are refused; none where it has none of them.
    pub(super) fn without_seals(&self, request: &ModelRequest, wire_api: WireApi) -> Option<ModelRequest> {
        let is_foreign = |item: &ResponseItem| seal(item).is_some_and(|seal| self.known.seals.contains(&hash(seal)));
        let last = request.input.iter().rposition(is_foreign)?;
        let mut input = Vec::clone(&request.input);
        for item in input.iter_mut().filter(|item| is_foreign(item)) {
            if let ResponseItem::Reasoning { encrypted_content, .. } = item {
                *encrypted_content = None;
            }
        }
        let is_persons = |item: &ResponseItem| matches!(item, ResponseItem::Message { role, .. } if role == "user");
        let runs = input[last..].iter().all(|item| !is_persons(item));
        let mut request = request.clone();
        // Claude must not think on in a turn whose calls have no thoughts before them.
        if runs && wire_api == WireApi::Anthropic {
            request.effort = None;
        }
        request.input = Arc::new(input);
        Some(request)
    }

    /// The body without what is refused.
    ///
    /// # Errors
    /// It cannot be written as JSON.
    pub(super) fn fit(&self, body: Vec<u8>) -> Result<Vec<u8>, serde_json::Error> {
        if self.known.parts.is_empty() {
            return Ok(body);
        }
        let mut fields: Map<String, Value> = serde_json::from_slice(&body)?;
        for part in &self.known.parts {
            part.leave_out(&mut fields);
        }
        serde_json::to_vec(&fields)
    }
}

impl Part {
    fn leave_out(self, body: &mut Map<String, Value>) {
        match self {
            Self::Wish(name) => {
                body.remove(name);
            }
            Self::ToolChoice => {
                if let Some(choice) = body.get_mut("tool_choice") {
                    *choice = json!("auto");
                }
            }
            Self::MaxTokens => {
                if let Some(most) = body.remove("max_tokens") {
                    body.insert("max_completion_tokens".to_owned(), most);
                }
            }
            Self::Summary => {
                if let Some(Value::Object(reasoning)) = body.get_mut("reasoning") {
                    reasoning.remove("summary");
                }
            }
            Self::EffortBesideTools => {
                if body.contains_key("tools") && !body.contains_key("reasoning_effort") {
                    body.insert("reasoning_effort".to_owned(), json!("none"));
                }
            }
        }
    }
}

/// The part that a refusal, in small letters, is about.
fn part(words: &str, request: &ModelRequest) -> Option<Part> {
    let says = |parts: &[&str]| parts.iter().any(|part| words.contains(part));
    let refuses = says(&[
        "not support",
        "unsupported",
        "n't support",
        "only support",
        "unrecognized",
        "unknown",
        "unexpected",
        "extra inputs",
        "not permitted",
        "not allowed",
        "not available",
        "must be",
        "cannot be",
        "invalid",
        "verified to",
    ]);
    if !refuses {
        return None;
    }
    if words.contains("max_tokens") && words.contains("max_completion_tokens") {
        return Some(Part::MaxTokens);
    }
    if says(&["reasoning.summary", "reasoning summaries"]) {
        return Some(Part::Summary);
    }
    // An effort that the person has chosen is not theirs to be given up.
    if words.contains("reasoning_effort") && says(&["function tools", "tools with"]) && request.effort.is_none() {
        return Some(Part::EffortBesideTools);
    }
    if says(&["tool_choice", "tool choice"]) {
        return Some(Part::ToolChoice);
    }
    let wish = WISHES.iter().find(|name| words.contains(**name));
    wish.map(|name| Part::Wish(name))
}

/// Whether a refusal, in small letters, is about what seals thoughts.
fn is_of_seals(words: &str) -> bool {
    let says = |parts: &[&str]| parts.iter().any(|part| words.contains(part));
    says(&["encrypted content", "encrypted_content"])
        || words.contains("signature") && words.contains("thinking")
        || says(&["thinking blocks", "`redacted_thinking`"]) && says(&["cannot be modified", "invalid"])
}

fn seal(item: &ResponseItem) -> Option<&str> {
    match item {
        ResponseItem::Reasoning { encrypted_content, .. } => encrypted_content.as_deref(),
        _ => None,
    }
}

fn hash(seal: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    seal.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bad(message: &str) -> ErrorKind {
        ErrorKind::BadRequest {
            status: Some(400),
            message: message.to_owned(),
            request_id: None,
        }
    }

    fn request(effort: Option<&str>, seals: &[&str]) -> ModelRequest {
        let thought = |seal: &&str| ResponseItem::Reasoning {
            id: None,
            summary: Vec::new(),
            content: None,
            encrypted_content: Some((*seal).to_owned()),
        };
        let thoughts = seals.iter().map(thought);
        ModelRequest {
            effort: effort.map(str::to_owned),
            input: Arc::new([ResponseItem::user("x")].into_iter().chain(thoughts).collect()),
            ..ModelRequest::default()
        }
    }

    /// Each refusal as a provider words it, and what becomes of the body.
    #[test]
    fn what_is_refused_is_left_out_from_then_on() {
        let body = json!({
            "tools": [1], "tool_choice": "none", "parallel_tool_calls": false, "max_tokens": 9, "metadata": {"a": "b"},
            "stream_options": {"include_usage": true}, "reasoning": {"effort": "low", "summary": "auto"},
        });
        for (number, (message, changed, value)) in [
            ("Tool choice must be auto", "/tool_choice", json!("auto")),
            ("Unsupported parameter: 'parallel_tool_calls' is not supported with this model.", "/parallel_tool_calls", json!(null)),
            ("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "/max_completion_tokens", json!(9)),
            ("Your organization must be verified to generate reasoning summaries.", "/reasoning/summary", json!(null)),
            ("Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.", "/reasoning_effort", json!("none")),
            ("Unrecognized request argument supplied: metadata", "/metadata", json!(null)),
            ("body.stream_options: Extra inputs are not permitted", "/stream_options", json!(null)),
        ]
        .into_iter()
        .enumerate()
        {
            let server = format!("http://parts-{number}");
            let mut refused = Refused::by(&server, "m");
            assert!(refused.learns(&bad(message), &request(None, &[])), "{message}");
            assert!(!refused.learns(&bad(message), &request(None, &[])), "{message}: it is left out already");
            let bytes = serde_json::to_vec(&body).expect("JSON");
            let fit = Refused::by(&server, "m").fit(bytes).expect("JSON");
            let fit: Value = serde_json::from_slice(&fit).expect("JSON");
            assert_eq!(fit.pointer(changed).cloned().unwrap_or_default(), value, "{message}: {fit}");
            assert_eq!(fit["reasoning"]["effort"], "low");
        }
    }

    #[test]
    fn what_the_person_has_chosen_and_other_mistakes_stay() {
        let mut refused = Refused::by("http://other", "m");
        for (effort, message) in [
            (
                Some("high"),
                "Function tools with reasoning_effort are not supported for gpt-5.6.",
            ),
            (
                None,
                "Unsupported value: 'reasoning.effort' does not support 'xhigh' with this model.",
            ),
            (None, "Invalid type for 'input[0]'"),
            (None, "metadata"),
            (None, "Invalid schema for response_format"),
        ] {
            assert!(!refused.learns(&bad(message), &request(effort, &["s"])), "{message}");
        }
        assert!(!refused.learns(&ErrorKind::Refused, &request(None, &["s"])));
    }

    #[test]
    fn foreign_seals_are_left_out_and_later_ones_are_not() {
        for message in [
            "messages.1.content.0: Invalid `signature` in `thinking` block",
            "The encrypted content gAAA could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
            "messages.3.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
        ] {
            let mut refused = Refused::by("http://seals", message);
            let first = request(Some("high"), &["a", "b"]);
            assert!(refused.without_seals(&first, WireApi::Anthropic).is_none());
            assert!(refused.learns(&bad(message), &first), "{message}");
            assert!(!refused.learns(&bad(message), &first), "{message}");
            let refused = Refused::by("http://seals", message);
            let later = request(Some("high"), &["a", "b", "c"]);
            for (wire, effort) in [(WireApi::Anthropic, None), (WireApi::Responses, Some("high"))] {
                let sent = refused.without_seals(&later, wire).expect("foreign ones");
                let left: Vec<&str> = sent.input.iter().filter_map(seal).collect();
                assert_eq!((left, sent.effort.as_deref()), (vec!["c"], effort));
            }
        }
    }
}
