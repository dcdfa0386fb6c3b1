//! Values from the request in a step's texts: `{{last_output}}`, `{{output:call_1:/exit_code}}` and the like.

use crate::rehearsal::recorded::Recorded;
use crate::rehearsal::script::Output;
use regex::Regex;
use serde_json::Value;
use std::sync::LazyLock;

/// The outputs with their values filled in, or for people what could not be.
pub(super) fn fill(outputs: &[Output], request: &Recorded) -> Result<Vec<Output>, String> {
    let mut outputs = outputs.to_vec();
    for output in &mut outputs {
        match output {
            Output::Say { text, .. }
            | Output::Think { text, .. }
            | Output::Refuse { text, .. }
            | Output::Trickle { text, .. }
            | Output::CustomCall { input: text, .. } => *text = fill_text(text, request)?,
            Output::Call { arguments, .. } => fill_value(arguments, request)?,
            _ => {}
        }
    }
    Ok(outputs)
}

fn fill_value(value: &mut Value, request: &Recorded) -> Result<(), String> {
    match value {
        Value::String(text) => *text = fill_text(text, request)?,
        Value::Array(list) => list.iter_mut().try_for_each(|value| fill_value(value, request))?,
        Value::Object(fields) => fields.values_mut().try_for_each(|value| fill_value(value, request))?,
        _ => {}
    }
    Ok(())
}

fn fill_text(text: &str, request: &Recorded) -> Result<String, String> {
    static PLACE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\{\{(last_output|last_user|model|output:.*?)\}\}").expect("a valid pattern"));
    let mut filled = String::with_capacity(text.len());
    let mut from = 0;
    for place in PLACE.captures_iter(text) {
        let (whole, name) = (place.get_match(), &place[1]);
        filled.push_str(&text[from..whole.start()]);
        filled.push_str(&value(name, request).map_err(|reason| format!("{}: {reason}", whole.as_str()))?);
        from = whole.end();
    }
    filled.push_str(&text[from..]);
    Ok(filled)
}

fn value(name: &str, request: &Recorded) -> Result<String, String> {
    match name {
        "last_output" => request
            .outputs()
            .pop()
            .map(|(_, text)| text)
            .ok_or_else(|| "the request holds no output".to_owned()),
        "last_user" => Ok(request.last_user_text()),
        "model" => Ok(request.model().to_owned()),
        _ => {
            let rest = name.strip_prefix("output:").unwrap_or(name);
            let (call_id, pick) = rest.split_once(':').map_or((rest, None), |(id, pick)| (id, Some(pick)));
            let output = request
                .output(call_id)
                .ok_or_else(|| format!("the request holds no output for {call_id}"))?;
            match pick {
                None => Ok(output),
                Some(pointer) if pointer.starts_with('/') => by_pointer(&output, pointer),
                Some(pattern) => by_pattern(&output, pattern),
            }
        }
    }
}

fn by_pointer(output: &str, pointer: &str) -> Result<String, String> {
    let json: Value = serde_json::from_str(output).map_err(|_| "the output is no JSON".to_owned())?;
    match json.pointer(pointer) {
        None => Err(format!("the output has nothing at {pointer}")),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(value) => Ok(value.to_string()),
    }
}

/// The first group of the match, or the whole of it.
fn by_pattern(output: &str, pattern: &str) -> Result<String, String> {
    let regex = Regex::new(pattern).map_err(|error| format!("no valid pattern: {error}"))?;
    let found = regex
        .captures(output)
        .ok_or_else(|| "the output does not match".to_owned())?;
    Ok(found
        .get(1)
        .or(found.get(0))
        .map(|text| text.as_str().to_owned())
        .unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_come_from_the_request() {
        let body = json!({"model": "m", "input": [
            {"role": "user", "content": "words"},
            {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a", "output": "{\"exit\": 3, \"text\": \"t\"}"},
            {"type": "function_call_output", "call_id": "b", "output": "took 12 ms"}]});
        let request = Recorded {
            number: 1,
            path: "/v1/responses".into(),
            headers: Default::default(),
            body,
            step: None,
        };
        let table = [
            ("plain {{x}} {{", Ok("plain {{x}} {{")),
            ("<{{last_output}}|{{last_user}}|{{model}}>", Ok("<took 12 ms|words|m>")),
            ("{{output:a:/exit}}{{output:a:/text}}", Ok("3t")),
            (r"{{output:b:took (\d+)}}", Ok("12")),
            (r"{{output:b:\d+ ms}}", Ok("12 ms")),
            ("{{output:c}}", Err("no output for c")),
            ("{{output:a:/nope}}", Err("nothing at /nope")),
            ("{{output:b:/x}}", Err("no JSON")),
            ("{{output:b:zzz}}", Err("does not match")),
            ("{{output:b:(}}", Err("no valid pattern")),
        ];
        for (text, wanted) in table {
            match (fill_text(text, &request), wanted) {
                (Ok(filled), Ok(wanted)) => assert_eq!(filled, wanted),
                (Err(reason), Err(words)) => assert!(reason.contains(words), "{reason}"),
                (got, wanted) => panic!("{text}: {got:?} instead of {wanted:?}"),
            }
        }
        let mut arguments = json!({"a": ["{{last_user}}", 1], "b": {"c": "{{model}}"}});
        fill_value(&mut arguments, &request).expect("filled");
        assert_eq!(arguments, json!({"a": ["words", 1], "b": {"c": "m"}}));
    }
}
