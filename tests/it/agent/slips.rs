//! Calls that are almost right: written as text, with slips in their arguments, under another name.

use super::patch::files;
use super::stage::{Setting, Stage, say, shell};
use serde_json::{Value, json};

async fn stage(script: Value, wire_api: &str, model: &str, tables: &str) -> (Stage, String) {
    let setting = Setting {
        provider: format!("wire_api = \"{wire_api}\""),
        config: "edits.approve = \"workspace\"".to_owned(),
        tables: tables.to_owned(),
        ..files(&[("a.txt", "one\ntwo\n")])
    };
    let stage = Stage::with(script, setting).await;
    let started = stage.start_thread(json!({"settings": {"model": model}})).await;
    let thread = started["thread"]["id"].as_str().expect("an id").to_owned();
    (stage, thread)
}

#[tokio::test]
async fn an_answer_that_is_a_call_as_text_is_carried_out_and_not_shown() {
    let leaked = "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"file_path\": \"a.txt\"}}\n</tool_call>";
    for (model, tables, is_call) in [
        ("qwen3-coder", "", true),
        ("gpt-5", "", false),
        ("gpt-5", "[models.gpt-5]\ntext_calls = true\n", true),
        ("qwen3-coder", "[models.qwen3-coder]\ntext_calls = false\n", false),
    ] {
        let (stage, thread) = stage(
            json!([[say(leaked)], [say("It has two lines.")]]),
            "chat",
            model,
            tables,
        )
        .await;
        let story = stage.complete(&thread, "How long is a.txt?").await;
        let said: Vec<&Value> = story.items("agentMessage").iter().map(|item| &item["text"]).collect();
        if !is_call {
            assert_eq!(said, [leaked], "{model} {tables}");
            continue;
        }
        assert_eq!(said, ["It has two lines."], "{model} {tables}");
        assert_eq!(story.item("toolCall")["tool"], "read_file");
        // It goes back as any other call does: the model's template knows how.
        let messages = stage.requests(2)[1].body["messages"].clone();
        let of_role = |role: &str| {
            messages
                .as_array()
                .expect("a list")
                .iter()
                .rfind(|one| one["role"] == role)
                .cloned()
        };
        let call = of_role("assistant").expect("the call");
        assert_eq!(call["tool_calls"][0]["function"]["name"], "read_file", "{messages}");
        let result = of_role("tool").expect("its result");
        assert!(
            result["content"].as_str().is_some_and(|text| text.contains("two")),
            "{messages}"
        );
    }
}

/// The answer to the person stands as it is, also where it shows a call.
#[tokio::test]
async fn a_call_in_prose_or_under_a_schema_is_an_answer() {
    let call = r#"{"name": "read_file", "arguments": {"file_path": "a.txt"}}"#;
    let prose = format!("This is how it is called:\n\n```json\n{call}\n```");
    let (stage, thread) = stage(json!([[say(&prose)], [say(call)]]), "chat", "qwen3-coder", "").await;
    let story = stage.complete(&thread, "How do you read a file?").await;
    assert_eq!(story.item("agentMessage")["text"], prose);
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    let params = json!({"threadId": thread, "input": [{"type": "text", "text": "As JSON"}], "outputSchema": schema});
    let story = stage.run_with(params).await;
    assert_eq!(story.item("agentMessage")["text"], call);
    stage.requests(2);
}

/// What was read is shown, however it looks; the same text that nobody has written before is a call.
#[tokio::test]
async fn a_call_that_stands_in_a_file_is_shown() {
    let call = r#"{"name": "write", "arguments": {"file_path": "b.txt", "content": "new"}}"#;
    for (reads, is_call) in [
        (
            json!({"call": {"tool": "read_file", "arguments": {"file_path": "call.json"}, "id": "c1"}}),
            false,
        ),
        (shell("c1", &["cat", "call.json"]), false),
        (shell("c1", &["true"]), true),
    ] {
        let answer = format!("```json\n{call}\n```");
        let script = json!([[reads], [say(&answer)], [say("Done.")]]);
        let (stage, thread) = stage(script, "chat", "qwen3-coder", "").await;
        stage.write("call.json", &format!("{call}\n"));
        let story = stage.complete(&thread, "Show me call.json").await;
        assert_eq!(stage.path("b.txt").exists(), is_call);
        let shown = story.item("agentMessage")["text"].clone();
        assert_eq!(shown == answer, !is_call, "{shown}");
    }
}

#[tokio::test]
async fn arguments_with_a_slip_do_what_was_meant_and_go_back_as_they_were_meant() {
    for wire in ["responses", "chat"] {
        for (tool, arguments, file) in [
            (
                "edit",
                "{\"filePath\": \"a.txt\", \"oldString\": \"two\", \"newString\": \"2\",}",
                "one\n2\n",
            ),
            (
                "edit",
                "{\"file_path\": \"a.txt\", \"old_string\": \"one\ntwo\", \"new_string\": \"1\n2\"}",
                "1\n2\n",
            ),
            (
                "Edit",
                "{\"file_path\": \"a.txt\", \"old_string\": \"two\", \"new_string\": \"2\", \"replace_all\": \"True\"}",
                "one\n2\n",
            ),
            (
                "functions.edit",
                "\"{\\\"file_path\\\": \\\"a.txt\\\", \\\"old_string\\\": \\\"two\\\", \\\"new_string\\\": \\\"2\\\"}\"",
                "one\n2\n",
            ),
            (
                "write",
                "{\"arguments\": {\"file_path\": \"a.txt\", \"content\": \"new\\n\"}}",
                "new\n",
            ),
        ] {
            let called = json!({"call": {"tool": tool, "arguments": arguments, "id": "c1"}});
            let (stage, thread) = stage(json!([[called], [say("Done.")]]), wire, "qwen3-coder", "").await;
            stage.complete(&thread, "Change it").await;
            assert_eq!(stage.text("a.txt"), file, "{wire} {arguments}");
            let sent = stage.requests(2)[1].body.to_string();
            assert!(!sent.contains("invalid_arguments"), "{wire} {arguments}: {sent}");
        }
    }
}

/// What can be meant in two ways is not guessed: nothing is done, and the answer says what is wrong.
#[tokio::test]
async fn what_is_cut_off_or_unclear_is_an_answer_to_the_model() {
    for arguments in [
        "{\"file_path\": \"a.txt\", \"content\": \"new",
        "{\"file_path\": \"a.txt\", \"content\": \"\\d\"}",
        "{\"file_path\": \"a.txt\", \"content\": \"x\", \"content\": \"new\"}",
        "{\"filePath\": \"a.txt\", \"content\": \"x\", \"content\": \"new\",}",
        "{\"filePath\": \"a.txt\", \"content\": \"x\", \"content\": \"new\"}",
        "{\"file_path\": \"a.txt\", \"content\": \"new\"} {\"file_path\": \"b.txt\", \"content\": \"new\"}",
    ] {
        let called = json!({"call": {"tool": "write", "arguments": arguments, "id": "c1"}});
        let (stage, thread) = stage(json!([[called], [say("Hm.")]]), "responses", "qwen3-coder", "").await;
        stage.complete(&thread, "Change it").await;
        assert_eq!(stage.text("a.txt"), "one\ntwo\n", "{arguments}");
        let answer = stage.requests(2)[1].output("c1").expect("an answer");
        assert!(answer.contains("could not be read"), "{answer}");
    }
}
