//! Files are read whatever state they are in, and whoever wrote them.

use super::{ID, call, file_of, id_of, line, meta_line, output, said, user, words_line};
use countersign::model::item::{ContentPart, ResponseItem};
use countersign::protocol::item::{ItemStatus, ThreadItem, UserInput};
use countersign::protocol::thread::ThreadListParams;
use countersign::protocol::turn::TurnStatus;
use countersign::store::{self, StoreError};
use serde_json::{Value, json};
use std::path::Path;

#[test]
fn spoiled_files_are_read_as_far_as_they_go() {
    let home = tempfile::tempdir().unwrap();
    let meta = meta_line(ID).to_string();
    let one = words_line("one").to_string();
    let behind = format!(
        r#"{{"timestamp":"2025-05-07T17:24:22Z","type":"response_item","payload":{}}}"#,
        words_line("two")["payload"]
    );
    let numbered = |ordinal: u64, text: &str| {
        let mut line = words_line(text);
        line["ordinal"] = json!(ordinal);
        line.to_string()
    };
    let rows: Vec<(&str, Vec<u8>, Vec<&str>, usize)> = vec![
        (
            "byte-order mark",
            format!("\u{feff}{meta}\n{one}\n").into(),
            vec!["one"],
            0,
        ),
        (
            "CRLF and blank lines",
            format!("{meta}\r\n\r\n   \r\n{one}\r\n\n").into(),
            vec!["one"],
            0,
        ),
        (
            "no end of the last line",
            format!("{meta}\n{one}").into(),
            vec!["one"],
            0,
        ),
        (
            "torn last line",
            format!("{meta}\n{one}\n{}", &one[..40]).into(),
            vec!["one"],
            1,
        ),
        (
            "torn, then written behind",
            format!("{meta}\n{}{behind}\n", &one[..60]).into(),
            vec!["two"],
            0,
        ),
        ("two on a line", format!("{meta}{one}\n").into(), vec!["one"], 0),
        (
            "rubbish between",
            format!("{meta}\nnot json\n[1]\n{one}\n\0\0\n").into(),
            vec!["one"],
            3,
        ),
        (
            "unknown kind",
            format!("{meta}\n{}\n{one}\n", line("world_state", json!({}))).into(),
            vec!["one"],
            0,
        ),
        (
            "unknown item",
            format!("{meta}\n{}\n{one}\n", line("response_item", json!({"type":"new"}))).into(),
            vec!["one"],
            0,
        ),
        (
            "damaged item",
            format!("{meta}\n{}\n{one}\n", line("response_item", json!({"type":"message"}))).into(),
            vec!["one"],
            1,
        ),
        (
            "a copy with its number",
            format!(
                "{meta}\n{}\n{}\n{}\n",
                numbered(1, "a"),
                numbered(1, "a"),
                numbered(2, "a")
            )
            .into(),
            vec!["a", "a"],
            0,
        ),
        (
            "two writers with one number",
            format!("{meta}\n{}\n{}\n", numbered(1, "a"), numbered(1, "b")).into(),
            vec!["a", "b"],
            0,
        ),
        (
            "the whole file twice",
            format!("{meta}\n{one}\n{meta}\n{one}\n").into(),
            vec!["one"],
            0,
        ),
        (
            "bytes that are no text",
            [meta.as_bytes(), b"\n\xff\xfe\n", one.as_bytes(), b"\n"].concat(),
            vec!["one"],
            1,
        ),
        (
            "damaged first line",
            format!("{}\n{one}\n", &meta[..50]).into(),
            vec!["one"],
            1,
        ),
        (
            "later description",
            format!("{meta}\n{}\n{one}\n", meta_line("00000000-0000-7000-8000-000000000000")).into(),
            vec!["one"],
            0,
        ),
    ];
    for (name, bytes, words, skipped) in rows {
        let path = file_of(home.path(), ID, &[]);
        std::fs::write(&path, bytes).unwrap();
        let stored = store::load(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let expected: Vec<ResponseItem> = words.iter().map(|text| user(text)).collect();
        assert_eq!(stored.history, expected, "{name}");
        assert_eq!(stored.skipped, skipped, "{name}");
        assert_eq!(stored.meta.id.as_str(), ID, "{name}");
    }
}

/// Shows S-319.
#[test]
fn compactions_and_rollbacks_are_honoured() {
    let home = tempfile::tempdir().unwrap();
    let context = words_line("<environment_context>\n<cwd>/project</cwd>\n</environment_context>");
    let rolled = |count: usize| line("event_msg", json!({ "type": "thread_rolled_back", "num_turns": count }));
    let started = line("event_msg", json!({ "type": "turn_started", "turn_id": "t" }));
    let ended = line("event_msg", json!({ "type": "turn_complete", "turn_id": "t" }));
    let count = |total: u64| {
        line(
            "event_msg",
            json!({ "type": "token_count", "info": { "total_token_usage": { "total_tokens": total } } }),
        )
    };
    let one = |mark: &str| words_line(mark);
    type Row = (&'static str, Vec<Value>, Vec<&'static str>);
    let rows: Vec<Row> = vec![
        (
            "last of two",
            vec![context.clone(), one("a"), one("b"), rolled(1)],
            vec!["<", "a"],
        ),
        ("both", vec![context.clone(), one("a"), one("b"), rolled(2)], vec!["<"]),
        (
            "more than there are",
            vec![context.clone(), one("a"), rolled(9), one("c")],
            vec!["<", "c"],
        ),
        (
            "a steered turn counts once",
            vec![
                one("a"),
                started.clone(),
                one("b"),
                one("steer"),
                ended.clone(),
                rolled(1),
                one("c"),
            ],
            vec!["a", "c"],
        ),
        (
            "a marker behind a compaction",
            vec![
                one("a"),
                one("b"),
                line(
                    "compacted",
                    json!({ "message": "s", "replacement_history": [words_line("a")["payload"], words_line("b")["payload"]] }),
                ),
                one("c"),
                rolled(2),
            ],
            vec!["a"],
        ),
        (
            "a compaction without a history",
            vec![
                context.clone(),
                one("a"),
                line(
                    "response_item",
                    json!({ "type": "function_call", "name": "x", "arguments": "", "call_id": "1" }),
                ),
                line("compacted", json!({ "message": "sum" })),
                one("b"),
            ],
            vec!["<", "a", "<compaction_summary>\nsum\n</compaction_summary>", "b"],
        ),
    ];
    for (name, body, expected) in rows {
        let mut all = vec![meta_line(ID)];
        // Equal lines count as copies, so each gets a number.
        all.extend(body);
        for (ordinal, line) in all.iter_mut().enumerate() {
            line["ordinal"] = json!(ordinal);
        }
        let stored = store::load(&file_of(home.path(), ID, &all)).unwrap();
        let texts: Vec<String> = stored
            .history
            .iter()
            .map(|item| match item {
                ResponseItem::Message { content, .. } => match &content[0] {
                    ContentPart::InputText { text } if text.starts_with("<env") => "<".to_owned(),
                    ContentPart::InputText { text } => text.clone(),
                    other => panic!("{other:?}"),
                },
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(texts, expected, "{name}");
    }
    let body = [meta_line(ID), one("a"), count(10), one("b"), count(90), rolled(1)];
    let stored = store::load(&file_of(home.path(), ID, &body)).unwrap();
    assert_eq!(
        stored.usage.unwrap().total.total_tokens,
        10,
        "usage as it was before the turn"
    );
    assert_eq!(stored.turns.len(), 1);
}

#[test]
fn every_call_has_its_output_once() {
    let home = tempfile::tempdir().unwrap();
    let item = |item: ResponseItem| line("response_item", serde_json::to_value(item).unwrap());
    let body = [
        meta_line(ID),
        words_line("a"),
        item(output("lost")),
        item(call("1")),
        item(output("1")),
        item(output("1")),
        item(call("2")),
    ];
    let stored = store::load(&file_of(home.path(), ID, &body)).unwrap();
    let ids: Vec<(&str, &str)> = stored
        .history
        .iter()
        .filter_map(|item| match item {
            ResponseItem::FunctionCall { call_id, .. } => Some(("call", call_id.as_str())),
            ResponseItem::FunctionCallOutput { call_id, .. } => Some(("output", call_id.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(ids, [("call", "1"), ("output", "1"), ("call", "2"), ("output", "2")]);
}

/// Shows S-310, S-230, S-231.
#[test]
fn previews_are_the_persons_words() {
    let home = tempfile::tempdir().unwrap();
    let agents = "# AGENTS.md instructions for /project\n\n<INSTRUCTIONS>\nx\n</INSTRUCTIONS>";
    let marked = "# Context from my IDE setup:\n\n## Open tabs:\n- a.rs\n\n## My request for Codex:\nMend  it \n";
    let rows: Vec<(Vec<Value>, &str)> = vec![
        (vec![], ""),
        (
            vec![
                words_line(agents),
                words_line("<environment_context>x</environment_context>"),
            ],
            "",
        ),
        (vec![words_line(agents), words_line("Mend it")], "Mend it"),
        (vec![said("Mend it")], "Mend it"),
        (
            vec![words_line("<user_instructions>x</user_instructions>"), said(marked)],
            "Mend  it",
        ),
        (vec![words_line(marked)], "Mend  it"),
        (vec![words_line("<b>bold</b> is not shown")], "<b>bold</b> is not shown"),
        (vec![words_line("no ## My request here")], "no ## My request here"),
        (
            vec![line(
                "event_msg",
                json!({ "type": "item_completed", "thread_id": ID, "turn_id": "t",
                "item": { "type": "UserMessage", "id": "i", "content": [{ "type": "text", "text": "Mend it" }] } }),
            )],
            "Mend it",
        ),
    ];
    for (body, preview) in rows {
        let mut all = vec![meta_line(ID)];
        all.extend(body);
        file_of(home.path(), ID, &all);
        let thread = store::read(home.path(), &ID.into(), false).unwrap();
        assert_eq!(thread.preview, preview);
        let listed = store::list(home.path(), &ThreadListParams::default(), "openai").unwrap();
        assert_eq!(listed.data.len(), usize::from(!preview.is_empty()), "{preview}");
    }
}

#[test]
fn older_files_show_their_turns() {
    let home = tempfile::tempdir().unwrap();
    // Message events beside the items; only the calls come from the latter.
    let shell = json!({ "type": "function_call", "name": "shell", "call_id": "c1",
        "arguments": "{\"command\":[\"bash\",\"-lc\",\"ls -a\"],\"workdir\":\"src\"}" });
    let shell_output = json!({ "type": "function_call_output", "call_id": "c1",
        "output": "{\"output\":\"a\\n\",\"metadata\":{\"exit_code\":2,\"duration_seconds\":0.1}}" });
    let body = [
        meta_line(ID),
        words_line("<environment_context>x</environment_context>"),
        words_line("first"),
        said("first"),
        line(
            "event_msg",
            json!({ "type": "agent_reasoning", "text": "**Thinking**" }),
        ),
        line("response_item", shell),
        line("response_item", shell_output),
        line(
            "response_item",
            json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "done" }] }),
        ),
        line("event_msg", json!({ "type": "agent_message", "message": "done" })),
        words_line("second"),
        said("second"),
        line("event_msg", json!({ "type": "turn_aborted", "reason": "interrupted" })),
    ];
    let stored = store::load(&file_of(home.path(), ID, &body)).unwrap();
    assert_eq!(stored.turns.len(), 2);
    assert_eq!(
        stored.turns.iter().map(|turn| turn.status).collect::<Vec<_>>(),
        [TurnStatus::Completed, TurnStatus::Interrupted]
    );
    let items = &stored.turns[0].items;
    assert!(
        matches!(&items[0], ThreadItem::UserMessage { content, .. } if *content == [UserInput::Text { text: "first".into() }])
    );
    assert!(matches!(&items[1], ThreadItem::Reasoning { summary, .. } if summary == &["**Thinking**"]));
    assert!(
        matches!(&items[2], ThreadItem::CommandExecution { command, cwd, status, exit_code, aggregated_output, .. }
            if command == "ls -a" && cwd == Path::new("/project/src") && *status == ItemStatus::Failed
                && *exit_code == Some(2) && aggregated_output.as_deref() == Some("a\n")),
        "{:?}",
        items[2]
    );
    assert!(matches!(&items[3], ThreadItem::AgentMessage { text, .. } if text == "done"));
    assert_eq!(items.len(), 4);

    // The oldest: no envelopes, no events.
    let bare = [
        json!({ "id": ID, "timestamp": "2025-05-07T17:24:21.123Z", "instructions": null, "git": null }),
        json!({ "record_type": "state" }),
        words_line("hello")["payload"].clone(),
        json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "hi" }] }),
    ];
    let stored = store::load(&file_of(home.path(), ID, &bare)).unwrap();
    assert_eq!(
        (stored.meta.id.as_str(), stored.preview.as_str(), stored.skipped),
        (ID, "hello", 0)
    );
    assert_eq!(stored.turns.len(), 1);
    assert_eq!(stored.turns[0].items.len(), 2);
}

#[test]
fn newer_files_show_their_items() {
    let home = tempfile::tempdir().unwrap();
    let item = |item: Value| {
        line(
            "event_msg",
            json!({ "type": "item_completed", "thread_id": ID, "turn_id": "t1", "item": item, "completed_at_ms": 5 }),
        )
    };
    let body = [
        meta_line(ID),
        line(
            "event_msg",
            json!({ "type": "task_started", "turn_id": "t1", "started_at": 1746638661, "collaboration_mode_kind": "default" }),
        ),
        words_line("go"),
        item(
            json!({ "type": "UserMessage", "id": "i1", "content": [{ "type": "text", "text": "go", "text_elements": [] }] }),
        ),
        item(json!({ "type": "Reasoning", "id": "i2", "summary_text": ["why"], "raw_content": [] })),
        item(
            json!({ "type": "CommandExecution", "id": "i3", "command": ["ls", "-a"], "cwd": "/project", "status": "declined" }),
        ),
        item(
            json!({ "type": "fileChange", "id": "i4", "changes": [{ "path": "/project/a", "kind": { "type": "update", "move_path": "/project/b" }, "diff": "@@" }], "status": "completed" }),
        ),
        item(
            json!({ "type": "mcpToolCall", "id": "i5", "server": "docs", "tool": "find", "arguments": { "q": 1 }, "status": "failed" }),
        ),
        item(json!({ "type": "somethingNew", "id": "i6", "x": 1 })),
        item(
            json!({ "type": "AgentMessage", "id": "i7", "content": [{ "type": "Text", "text": "do" }, { "type": "Text", "text": "ne" }] }),
        ),
        item(json!("rubbish")),
        line(
            "event_msg",
            json!({ "type": "task_complete", "turn_id": "t1", "last_agent_message": "done" }),
        ),
    ];
    let stored = store::load(&file_of(home.path(), ID, &body)).unwrap();
    assert_eq!(stored.turns.len(), 1);
    let kinds: Vec<String> = stored.turns[0]
        .items
        .iter()
        .map(|item| serde_json::to_value(item).unwrap()["type"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        kinds,
        [
            "userMessage",
            "reasoning",
            "commandExecution",
            "fileChange",
            "toolCall",
            "toolCall",
            "agentMessage"
        ]
    );
    assert!(matches!(&stored.turns[0].items[6], ThreadItem::AgentMessage { text, .. } if text == "done"));
    assert!(
        matches!(&stored.turns[0].items[2], ThreadItem::CommandExecution { status, .. } if *status == ItemStatus::Declined)
    );
}

/// Newer files of the reference system say with the end of a turn why it failed.
#[test]
fn a_turn_that_ended_with_an_error_has_failed() {
    use countersign::protocol::turn::TurnErrorKind;
    let home = tempfile::tempdir().unwrap();
    let info = json!("usage_limit_exceeded");
    let rows = [
        (
            json!({"message": "The limit.", "codex_error_info": info}),
            Some(("The limit.", TurnErrorKind::UsageLimitExceeded)),
        ),
        (json!("It broke."), Some(("It broke.", TurnErrorKind::ServerError))),
        (
            json!({"message": "HTTP.", "codex_error_info": {"http_connection_failed": {"http_status_code": 502}}}),
            Some(("HTTP.", TurnErrorKind::ConnectionFailed)),
        ),
        (
            json!({"code": 7}),
            Some((
                "The turn failed; the file does not say why.",
                TurnErrorKind::ServerError,
            )),
        ),
        // These leave the turn as it is.
        (
            json!({"message": "No.", "codex_error_info": "thread_rollback_failed"}),
            None,
        ),
        (json!(null), None),
        (json!(""), None),
    ];
    for (error, expected) in rows {
        let started = line("event_msg", json!({ "type": "task_started", "turn_id": "t1" }));
        let end = json!({ "type": "task_complete", "turn_id": "t1", "last_agent_message": null, "error": error });
        let body = [meta_line(ID), started, words_line("go"), line("event_msg", end)];
        let stored = store::load(&file_of(home.path(), ID, &body)).unwrap();
        let turn = &stored.turns[0];
        let found = turn.error.as_ref().map(|error| (error.message.as_str(), error.kind));
        assert_eq!(found, expected, "{error}");
        let status = if expected.is_some() {
            TurnStatus::Failed
        } else {
            TurnStatus::Completed
        };
        assert_eq!(turn.status, status, "{error}");
    }
    // The event before it says more.
    let body = [
        meta_line(ID),
        line("event_msg", json!({ "type": "task_started", "turn_id": "t1" })),
        words_line("go"),
        line(
            "event_msg",
            json!({ "type": "error", "message": "First.", "codex_error_info": "bad_request" }),
        ),
        line(
            "event_msg",
            json!({ "type": "task_complete", "turn_id": "t1", "error": "Second." }),
        ),
    ];
    let stored = store::load(&file_of(home.path(), ID, &body)).unwrap();
    assert_eq!(
        stored.turns[0].error.as_ref().map(|error| error.message.as_str()),
        Some("First.")
    );
}

/// The name of a file says which thread it is; a description that says another is not ours, and no path is an id.
#[test]
fn a_file_is_of_the_thread_in_its_name() {
    let home = tempfile::tempdir().unwrap();
    for (id, is_ours) in [
        (ID, true),
        (ID.to_uppercase().as_str(), true),
        (id_of(1).as_str(), false),
        ("../../../x", false),
        ("..", false),
        ("/", false),
        ("/tmp/x", false),
        ("x", false),
        ("", false),
    ] {
        let mut meta = meta_line(id);
        meta["payload"]["originator"] = json!("countersign");
        let path = file_of(home.path(), ID, &[meta, said("hello")]);
        let stored = store::load(&path).unwrap();
        assert_eq!((stored.meta.id.as_str(), stored.meta.is_ours()), (ID, is_ours), "{id}");
        let head = store::summary::meta_of(&path).unwrap();
        assert_eq!((head.id.as_str(), head.is_ours()), (ID, is_ours), "{id}");
    }
}

/// Shows S-311, S-312.
#[test]
fn a_thread_is_read_by_id_and_by_path() {
    let home = tempfile::tempdir().unwrap();
    let path = file_of(home.path(), ID, &[meta_line(ID), said("hello")]);
    let by_id = store::read(home.path(), &ID.into(), false).unwrap();
    assert_eq!(
        store::read(home.path(), &ID.to_uppercase().as_str().into(), false).unwrap(),
        by_id
    );
    assert_eq!(store::read_path(home.path(), &path, false).unwrap(), by_id);
    let relative = path.strip_prefix(home.path()).unwrap();
    assert_eq!(store::read_path(home.path(), relative, false).unwrap(), by_id);

    // A file that was renamed is still the thread.
    let renamed = path.with_file_name("rollout-my-copy.jsonl");
    std::fs::rename(&path, &renamed).unwrap();
    assert_eq!(store::find(home.path(), &ID.into()).unwrap(), Some(renamed.clone()));

    for (id, bad) in [
        ("", true),
        ("x", true),
        ("../../etc/passwd", true),
        (id_of(1).as_str(), false),
    ] {
        let error = store::read(home.path(), &id.into(), false).unwrap_err();
        assert!(error.is_bad_request());
        assert_eq!(matches!(error, StoreError::BadId { .. }), bad, "{error}");
    }
    for (bytes, words) in [("", "empty"), (said("hi").to_string().as_str(), "session_meta")] {
        std::fs::write(&renamed, bytes).unwrap();
        let error = store::read_path(home.path(), &renamed, false).unwrap_err();
        assert!(!error.is_bad_request());
        let text = error.to_string();
        assert!(
            text.contains(words) && text.contains(renamed.to_str().unwrap()),
            "{text}"
        );
    }
    std::fs::remove_file(&renamed).unwrap();
    assert!(matches!(
        store::read_path(home.path(), &renamed, false),
        Err(StoreError::Read { .. })
    ));
}

#[test]
fn long_instructions_do_not_hide_the_words() {
    let home = tempfile::tempdir().unwrap();
    let mut meta = meta_line(ID);
    meta["payload"]["base_instructions"] = json!({ "text": "x".repeat(50_000) });
    let context = words_line(&format!(
        "<user_instructions>{}</user_instructions>",
        "y".repeat(200_000)
    ));
    let body = [meta, context, said("after all that")];
    file_of(home.path(), ID, &body);
    let listed = store::list(home.path(), &ThreadListParams::default(), "openai").unwrap();
    assert_eq!(listed.data[0].preview, "after all that");
}
