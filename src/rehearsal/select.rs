//! Which step answers a request: the first that has not been played, or may be again, and whose conditions hold.

use crate::rehearsal::recorded::Recorded;
use crate::rehearsal::script::{Step, When};

/// The step's index, or for people why there is none.
pub(super) fn select(steps: &[Step], used: &[bool], request: &Recorded) -> Result<usize, String> {
    let mut reasons = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        let name = step
            .name
            .as_deref()
            .map(|name| format!(" ({name})"))
            .unwrap_or_default();
        if used[index] && !step.repeat {
            reasons.push(format!("steps[{index}]{name} has been played"));
            continue;
        }
        match unmet(&step.when, request) {
            None => return Ok(index),
            Some(reason) => reasons.push(format!("steps[{index}]{name}: {reason}")),
        }
    }
    let tried = if reasons.is_empty() {
        "the script has no steps".to_owned()
    } else {
        reasons.join("; ")
    };
    Err(format!(
        "No step of the rehearsal script fits request {}: {tried}. Its last user text is {:?}. Add a step, or let one \
         repeat with \"repeat\": true. GET /requests shows what came.",
        request.number,
        excerpt(&request.last_user_text()),
    ))
}

/// The first condition that does not hold.
fn unmet(when: &When, request: &Recorded) -> Option<String> {
    let When {
        last_user,
        input,
        instructions,
        outputs,
        headers,
        request: number,
        model,
        tool,
        api,
        not,
    } = when;
    let lacks =
        |text: &str, wanted: &Option<String>| wanted.as_ref().is_some_and(|wanted| !text.contains(wanted.as_str()));
    if lacks(&request.last_user_text(), last_user) {
        return Some(format!(
            "the last user text does not contain {:?}",
            last_user.as_deref().unwrap_or_default()
        ));
    }
    if let Some(wanted) = input
        && !request.input_texts().iter().any(|text| text.contains(wanted.as_str()))
    {
        return Some(format!("no input item contains {wanted:?}"));
    }
    if lacks(&request.instructions(), instructions) {
        return Some(format!(
            "the instructions do not contain {:?}",
            instructions.as_deref().unwrap_or_default()
        ));
    }
    for (call_id, wanted) in outputs {
        match request.output(call_id) {
            None => return Some(format!("there is no output for {call_id}")),
            Some(text) if !text.contains(wanted.as_str()) => {
                return Some(format!(
                    "the output for {call_id} does not contain {wanted:?} but is {:?}",
                    excerpt(&text)
                ));
            }
            Some(_) => {}
        }
    }
    for (name, wanted) in headers {
        if !request
            .headers
            .get(&name.to_lowercase())
            .is_some_and(|value| value.contains(wanted.as_str()))
        {
            return Some(format!("the header {name} does not contain {wanted:?}"));
        }
    }
    if let Some(number) = number.filter(|number| *number != request.number) {
        return Some(format!("it is for request {number}"));
    }
    if model.as_ref().is_some_and(|model| model != request.model()) {
        return Some(format!(
            "it is for the model {:?}, not {:?}",
            model.as_deref().unwrap_or_default(),
            request.model()
        ));
    }
    if let Some(tool) = tool
        && !request.tools().contains(tool)
    {
        return Some(format!("the tool {tool:?} is not offered"));
    }
    if let Some(api) = api
        && (api == "chat") != request.is_chat()
    {
        return Some(format!("it is for the {api} API"));
    }
    match not {
        Some(not) if unmet(not, request).is_none() => Some("its `not` holds".to_owned()),
        _ => None,
    }
}

fn excerpt(text: &str) -> String {
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rehearsal::script::Script;
    use serde_json::{Value, json};

    fn request(number: usize) -> Recorded {
        let body = json!({"model": "m", "instructions": "be brief", "tools": [{"type": "function", "name": "shell"}], "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "first words"}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "last words"}]},
            {"type": "function_call", "call_id": "c", "name": "shell", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "exit 1"}]});
        let headers = [("x-client-request-id".to_owned(), "turn-1".to_owned())].into();
        Recorded {
            number,
            path: "/v1/responses".into(),
            headers,
            body,
            step: None,
        }
    }

    #[test]
    fn conditions() {
        let table = [
            (json!({}), true),
            (json!({"last_user": "last"}), true),
            (json!({"last_user": "first"}), false),
            (json!({"input": "first"}), true),
            (json!({"input": "exit 1"}), true),
            (json!({"input": "nowhere"}), false),
            (json!({"output": "c"}), true),
            (json!({"output": {"c": "exit 1"}}), true),
            (json!({"output": {"c": "exit 0"}}), false),
            (json!({"output": "d"}), false),
            (json!({"header": {"X-Client-Request-Id": "turn"}}), true),
            (json!({"header": {"x-other": ""}}), false),
            (json!({"request": 2}), true),
            (json!({"request": 1}), false),
            (json!({"model": "m"}), true),
            (json!({"model": "n"}), false),
            (json!({"tool": "shell"}), true),
            (json!({"tool": "other"}), false),
            (json!({"instructions": "brief"}), true),
            (json!({"instructions": "long"}), false),
            (json!({"api": "responses"}), true),
            (json!({"api": "chat"}), false),
            (json!({"not": {"input": "nowhere"}}), true),
            (json!({"not": {"input": "first"}}), false),
            (json!({"model": "m", "input": "nowhere"}), false),
        ];
        for (when, wanted) in table {
            let script = Script::from_json(&json!([{"when": when, "outputs": []}])).expect("a script");
            assert_eq!(select(&script.steps, &[false], &request(2)).is_ok(), wanted, "{when}");
        }
    }

    #[test]
    fn steps_are_played_in_order_once_unless_they_repeat() {
        let steps: Value = json!([
            {"outputs": [], "when": {"request": 9}},
            {"outputs": []},
            {"outputs": [], "name": "again", "repeat": true},
        ]);
        let steps = Script::from_json(&steps).expect("a script").steps;
        assert_eq!(select(&steps, &[false, false, false], &request(1)), Ok(1));
        assert_eq!(select(&steps, &[false, true, true], &request(2)), Ok(2));
        assert_eq!(select(&steps, &[false, true, true], &request(9)), Ok(0));
        let error = select(&steps[..2], &[false, true], &request(2)).expect_err("none");
        for words in [
            "request 2",
            "steps[0]: it is for request 9",
            "steps[1] has been played",
            "last words",
            "repeat",
        ] {
            assert!(error.contains(words), "{error}");
        }
    }
}
