//! What the template of a model, or a server, takes of a conversation: the same messages in a stricter form. The history stays as it is.
//!
//! Tried with the templates of 73 models under llama.cpp, and with llama-cpp-python: of messages of the person's in a row, calls side by
//! side, words of the person's behind a result, `null` as content and long ids each is refused by some, and none by all.

use super::kept::INSISTED_ON;
use serde_json::{Value, json};

/// Families whose templates take one call in a message; of more, some refuse all and some show the first alone.
const ONE_CALL: &[&str] = &["llama-3", "llama3", "llama-v3", "llama-guard", "gpt-oss", "gigachat"];

/// Families of Mistral's: after a result the model speaks, and ids are nine letters or digits.
const MISTRAL: &[&str] = &[
    "mistral",
    "ministral",
    "mixtral",
    "codestral",
    "devstral",
    "magistral",
    "pixtral",
    "voxtral",
];

/// What stands where the model has said nothing between a result and a message of the person's: their words, a picture that a tool gave, or
/// what is asked at the end. So it claims nothing.
const BETWEEN: &str = "OK.";

/// What is asked of the messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shape {
    /// Messages of the person's in a row are one.
    one_in_a_row: bool,
    /// A message has one call, with its result behind it.
    one_call: bool,
    /// The model speaks between a result and the person.
    speaks_between: bool,
    short_ids: bool,
    /// Content is a text, be it an empty one.
    no_null: bool,
}

impl Shape {
    /// For a model as its provider calls it. `near`: by a server of the person's own, whose template is not known.
    pub(super) fn of(model: &str, near: bool, openai: bool) -> Self {
        let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
        let is = |families: &[&str]| families.iter().any(|family| name.contains(family));
        match openai {
            true => Self::default(),
            false => Self {
                one_in_a_row: true,
                one_call: near || is(ONE_CALL),
                speaks_between: is(MISTRAL),
                short_ids: is(MISTRAL),
                no_null: near,
            },
        }
    }

    /// The messages in this form.
    pub(super) fn shaped(self, mut messages: Vec<Value>) -> Vec<Value> {
        if self.one_call {
            messages = one_by_one(messages);
        }
        if self.one_in_a_row {
            messages = joined(messages);
        }
        if self.speaks_between {
            messages = spoken_between(messages);
        }
        for message in &mut messages {
            if self.short_ids {
                shorten_ids(message);
            }
            if self.no_null && message["content"].is_null() {
                message["content"] = json!("");
            }
        }
        messages
    }
}

fn role(message: &Value) -> &str {
    message["role"].as_str().unwrap_or_default()
}

/// Each call in a message of its own, with its result right behind it.
fn one_by_one(messages: Vec<Value>) -> Vec<Value> {
    let mut shaped = Vec::with_capacity(messages.len());
    let mut messages = messages.into_iter().peekable();
    while let Some(mut message) = messages.next() {
        let calls = match message["tool_calls"].as_array() {
            Some(calls) if calls.len() > 1 && !is_signed(&message, calls) => calls.clone(),
            _ => {
                shaped.push(message);
                continue;
            }
        };
        let mut results = Vec::new();
        while let Some(result) = messages.next_if(|next| role(next) == "tool") {
            results.push(result);
        }
        let thought = message.get(INSISTED_ON).is_some();
        for (at, call) in calls.into_iter().enumerate() {
            let own = results.iter().position(|result| result["tool_call_id"] == call["id"]);
            if at > 0 {
                message = json!({"role": "assistant", "content": null});
                if thought {
                    message[INSISTED_ON] = json!(" ");
                }
            }
            message["tool_calls"] = json!([call]);
            shaped.push(message.take());
            shaped.extend(own.map(|own| results.remove(own)));
        }
        shaped.extend(results);
    }
    shaped
}

/// Whether a server has signed the calls or what stands beside them, which then go back as they came.
fn is_signed(message: &Value, calls: &[Value]) -> bool {
    let plain = |value: &Value, names: &[&str]| {
        let mut fields = value.as_object().into_iter().flatten();
        fields.all(|(name, _)| names.contains(&name.as_str()))
    };
    !plain(message, &["role", "content", "tool_calls", INSISTED_ON])
        || !calls.iter().all(|call| plain(call, &["id", "type", "function"]))
}

/// Messages of the person's in a row as one.
fn joined(messages: Vec<Value>) -> Vec<Value> {
    let mut shaped: Vec<Value> = Vec::with_capacity(messages.len());
    for message in messages {
        match shaped.last_mut() {
            Some(last) if role(last) == "user" && role(&message) == "user" => {
                last["content"] = both(last["content"].take(), message["content"].clone());
            }
            _ => shaped.push(message),
        }
    }
    shaped
}

/// Two contents as one: texts as a text, else as parts.
fn both(one: Value, other: Value) -> Value {
    if let (Value::String(one), Value::String(other)) = (&one, &other) {
        return json!(format!("{one}\n\n{other}"));
    }
    let parts = |content: Value| match content {
        Value::Array(parts) => parts,
        text => vec![json!({"type": "text", "text": text})],
    };
    let mut all = parts(one);
    all.extend(parts(other));
    json!(all)
}

fn spoken_between(messages: Vec<Value>) -> Vec<Value> {
    let mut shaped: Vec<Value> = Vec::with_capacity(messages.len());
    for message in messages {
        if role(&message) == "user" && shaped.last().is_some_and(|last| role(last) == "tool") {
            shaped.push(json!({"role": "assistant", "content": BETWEEN}));
        }
        shaped.push(message);
    }
    shaped
}

fn shorten_ids(message: &mut Value) {
    let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
    let ids = calls.into_iter().flatten().filter_map(|call| call.get_mut("id"));
    ids.for_each(|id| *id = json!(short(id.as_str().unwrap_or_default())));
    if let Some(id) = message.get_mut("tool_call_id") {
        *id = json!(short(id.as_str().unwrap_or_default()));
    }
}

/// The same for the same id in each request: nine letters and digits, made of the id's FNV-1a hash where it is no such one.
fn short(id: &str) -> String {
    const LENGTH: usize = 9;
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    if id.len() == LENGTH && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return id.to_owned();
    }
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let mut rest = id.bytes().fold(0xcbf2_9ce4_8422_2325, hash);
    let digit = |_| {
        let digit = DIGITS[(rest % 36) as usize];
        rest /= 36;
        char::from(digit)
    };
    (0..LENGTH).map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str) -> Value {
        json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}})
    }

    fn result(id: &str) -> Value {
        json!({"role": "tool", "tool_call_id": id, "content": id})
    }

    fn user(text: &str) -> Value {
        json!({"role": "user", "content": text})
    }

    #[test]
    fn each_model_has_the_shape_that_its_template_takes() {
        let openai = Shape::default();
        let others = Shape {
            one_in_a_row: true,
            ..openai
        };
        let near = Shape {
            one_call: true,
            no_null: true,
            ..others
        };
        for (model, is_near, is_openai, shape) in [
            ("gpt-5", false, true, openai),
            ("gpt-5", false, false, others),
            ("deepseek-chat", false, false, others),
            ("qwen3-coder", true, false, near),
            (
                "accounts/fireworks/models/llama-v3p3-70b-instruct",
                false,
                false,
                Shape {
                    one_call: true,
                    ..others
                },
            ),
            (
                "meta-llama/Llama-3.3-70B-Instruct",
                false,
                false,
                Shape {
                    one_call: true,
                    ..others
                },
            ),
            (
                "openai/gpt-oss-120b",
                false,
                false,
                Shape {
                    one_call: true,
                    ..others
                },
            ),
            (
                "Mistral-Small-3.2-24B",
                true,
                false,
                Shape {
                    speaks_between: true,
                    short_ids: true,
                    ..near
                },
            ),
        ] {
            assert_eq!(Shape::of(model, is_near, is_openai), shape, "{model}");
        }
    }

    #[test]
    fn what_each_part_of_a_shape_does() {
        let history = || {
            vec![
                user("rules"),
                user("words"),
                json!({"role": "assistant", "content": null, "reasoning_content": "why", "tool_calls": [call("a"), call("b")]}),
                result("b"),
                result("a"),
                json!({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,x"}}]}),
                user("more"),
            ]
        };
        assert_eq!(Shape::default().shaped(history()), history());
        let joined = Shape {
            one_in_a_row: true,
            ..Shape::default()
        };
        let sent = joined.shaped(history());
        assert_eq!((sent.len(), &sent[0]), (5, &user("rules\n\nwords")));
        assert_eq!(
            sent[4]["content"],
            json!([{"type": "image_url", "image_url": {"url": "data:,x"}}, {"type": "text", "text": "more"}])
        );
        let one_call = Shape {
            one_call: true,
            no_null: true,
            ..Shape::default()
        };
        let calls = |calls: Value, thoughts: &str| json!({"role": "assistant", "content": "", "reasoning_content": thoughts, "tool_calls": calls});
        assert_eq!(
            one_call.shaped(history())[2..6],
            [
                calls(json!([call("a")]), "why"),
                result("a"),
                calls(json!([call("b")]), " "),
                result("b")
            ]
        );
        let mistral = Shape::of("ministral-3", false, false).shaped(history());
        assert_eq!(mistral[4], json!({"role": "assistant", "content": BETWEEN}));
        let id = |value: &Value| value.as_str().expect("an id").to_owned();
        let ids = [
            id(&mistral[1]["tool_calls"][0]["id"]),
            id(&mistral[1]["tool_calls"][1]["id"]),
        ];
        assert_eq!([id(&mistral[3]["tool_call_id"]), id(&mistral[2]["tool_call_id"])], ids);
        assert!(
            ids.iter()
                .all(|id| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()))
                && ids[0] != ids[1]
        );
    }

    /// What a server signs is of no use to it in another message.
    #[test]
    fn signed_calls_stay_together() {
        let mut signed = call("a");
        signed["extra_content"] = json!({"google": {"thought_signature": "s"}});
        let by_call = json!({"role": "assistant", "content": "", "tool_calls": [signed, call("b")]});
        let mut by_message = json!({"role": "assistant", "content": "", "tool_calls": [call("a"), call("b")]});
        by_message["reasoning_details"] = json!([{"signature": "s"}]);
        for message in [by_call, by_message] {
            let history = vec![user("words"), message, result("a"), result("b")];
            assert_eq!(Shape::of("gemini-3-pro", true, false).shaped(history.clone()), history);
        }
    }

    #[test]
    fn an_id_that_fits_stays_and_others_are_always_the_same() {
        assert_eq!(short("Ab3456789"), "Ab3456789");
        for id in ["", "call_1", "Ab345678-", "toolu_01A09q90qw90lq917835lq9"] {
            assert_eq!(short(id), short(id));
            assert_eq!(short(id).len(), 9, "{id}");
        }
        assert_ne!(short("call_1"), short("call_2"));
    }

    /// Results that nobody waits for, and calls without one, as a history has them that was cut, come to no harm.
    #[test]
    fn what_does_not_pair_up_is_left_in_place() {
        let lonely = vec![
            result("x"),
            json!({"role": "assistant", "content": "t", "tool_calls": [call("a"), call("b")]}),
            user("next"),
        ];
        let sent = Shape::of("llama", true, false).shaped(lonely);
        let roles: Vec<&str> = sent.iter().map(role).collect();
        assert_eq!(roles, ["tool", "assistant", "assistant", "user"]);
        let twice = vec![
            json!({"role": "assistant", "content": "t", "tool_calls": [call("a"), call("a")]}),
            json!({"role": "tool", "tool_call_id": "a", "content": "1"}),
            json!({"role": "tool", "tool_call_id": "a", "content": "2"}),
            result("nobody's"),
        ];
        let sent = Shape::of("llama", true, false).shaped(twice);
        let contents: Vec<&str> = sent.iter().filter_map(|message| message["content"].as_str()).collect();
        assert_eq!(contents, ["t", "1", "", "2", "nobody's"]);
    }
}
