//! The same conversation over each of the wire APIs.

use super::*;

/// Shows S-205, S-206, S-207.
#[tokio::test]
async fn one_script_says_the_same_over_both_apis_side_by_side() {
    let script = json!({"chunk": 3, "steps": [
        {"outputs": [
            {"think": "Let me see."},
            {"say": "I look äround."},
            {"call": {"tool": "shell", "arguments": {"command": ["ls", "-l"]}, "id": "c1"}},
            {"custom_call": {"tool": "apply_patch", "input": "*** Begin Patch\n\"quoted\"\n*** End Patch", "id": "c2"}},
            {"usage": {"input_tokens": 100, "cached_input_tokens": 40, "output_tokens": 9, "reasoning_output_tokens": 3}}
        ]},
        {"when": {"output": {"c1": "two files", "c2": "patched"}}, "outputs": [{"say": "You have {{output:c1:(two) files}}."}]}
    ]});
    let play = async |wire_api| {
        let server = rehearse(script.clone()).await;
        let client = client(&server.base_url, wire_api);
        let first = hear(&client, &ask()).await;
        assert_eq!(
            first.short(),
            [
                "thought:Let me see.",
                "message:I look äround.",
                r#"call:shell:{"command":["ls","-l"]}"#,
                "custom:apply_patch:*** Begin Patch\n\"quoted\"\n*** End Patch",
            ]
        );
        assert_eq!(
            (first.thoughts().as_str(), first.text().as_str()),
            ("Let me see.", "I look äround.")
        );
        let Some(ModelEvent::Completed { usage: Some(usage), .. }) = first.events.last() else {
            panic!("{first:?}")
        };
        assert_eq!(
            (usage.input_tokens, usage.cached_input_tokens, usage.output_tokens),
            (100, 40, 9)
        );
        assert_eq!((usage.reasoning_output_tokens, usage.total_tokens), (3, 109));

        let mut history = vec![ResponseItem::user("hello")];
        history.extend(first.done().into_iter().cloned());
        let output = |text: &str| ToolOutputPayload::Text(text.into());
        history.push(ResponseItem::FunctionCallOutput {
            call_id: "c1".into(),
            output: output("two files"),
        });
        history.push(ResponseItem::CustomToolCallOutput {
            call_id: "c2".into(),
            output: output("patched"),
        });
        let second = hear(&client, &request(history)).await;
        assert_eq!(second.short(), ["message:You have two."]);
        assert_eq!(server.violations(), Vec::<String>::new());

        let recorded = server.requests().pop().expect("a request");
        assert_eq!(recorded.calls().len(), 2);
        assert!(
            recorded.input_texts().iter().any(|text| text == "hello"),
            "the whole history goes along"
        );
        assert!(recorded.body.get("previous_response_id").is_none());
        if wire_api == WireApi::Responses {
            assert_eq!(
                (&recorded.body["store"], &recorded.body["prompt_cache_key"]),
                (&json!(false), &json!("thread-1"))
            );
            assert!(
                recorded.input().iter().all(|item| item.get("id").is_none()),
                "{}",
                recorded.body
            );
            assert!(
                recorded
                    .input()
                    .iter()
                    .any(|item| item["encrypted_content"] == "rehearsed"),
                "{}",
                recorded.body
            );
        }
    };
    tokio::join!(play(WireApi::Responses), play(WireApi::Chat));
}

/// Shows S-209.
#[tokio::test]
async fn fragments_of_chat_calls_are_put_together() {
    let delta = |delta: Value| json!({"id": "x", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
    let call = |call: Value| delta(json!({"tool_calls": [call]}));
    let finish = |reason: &str| json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
    let arguments = r#"{"a":1,"b":[true]}"#;
    let mut in_fragments = vec![
        call(json!({"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": ""}})),
        call(json!({"index": 1, "id": "c2", "type": "function", "function": {"name": "g", "arguments": ""}})),
    ];
    for fragment in arguments.as_bytes().chunks(2) {
        let fragment = std::str::from_utf8(fragment).expect("ASCII");
        for index in 0..2 {
            in_fragments.push(call(json!({"index": index, "function": {"arguments": fragment}})));
        }
    }
    assert!(in_fragments.len() >= 20);
    in_fragments.push(finish("tool_calls"));
    let whole =
        |id: &str, name: &str| json!({"index": 0, "id": id, "function": {"name": name, "arguments": arguments}});
    let (f, g) = (format!("call:f:{arguments}"), format!("call:g:{arguments}"));
    let both = vec![f.as_str(), g.as_str()];
    let table: Vec<(&str, Vec<Value>, Vec<&str>)> = vec![
        ("by index", in_fragments, both.clone()),
        (
            "one index for all",
            vec![call(whole("c1", "f")), call(whole("c2", "g")), finish("tool_calls")],
            both.clone(),
        ),
        (
            "no index",
            vec![
                call(json!({"id": "c1", "function": {"name": "f", "arguments": arguments}})),
                call(json!({"id": "c2", "function": {"name": "g", "arguments": arguments}})),
                finish("stop"),
            ],
            both.clone(),
        ),
        (
            "no ids",
            vec![
                call(json!({"function": {"name": "f", "arguments": arguments}})),
                call(json!({"function": {"name": "g", "arguments": arguments}})),
                finish("tool_calls"),
            ],
            both.clone(),
        ),
        (
            "one chunk",
            vec![
                delta(json!({"tool_calls": [
            {"id": "c1", "function": {"name": "f", "arguments": arguments}},
            {"id": "c2", "function": {"name": "g", "arguments": arguments}}]})),
                finish("tool_calls"),
            ],
            both,
        ),
        (
            "id and name in each",
            vec![
                call(json!({"index": 0, "id": "c1", "function": {"name": "f", "arguments": "{\"a\":1,"}})),
                call(json!({"index": 0, "id": "c1", "function": {"name": "f", "arguments": "\"b\":[true]}"}})),
                finish("tool_calls"),
            ],
            vec![&f],
        ),
        (
            "arguments as JSON",
            vec![
                call(json!({"index": 0, "id": "c1", "function": {"name": "f", "arguments": {"a": 1, "b": [true]}}})),
                finish("tool_calls"),
            ],
            vec![&f],
        ),
        (
            "the old form",
            vec![
                delta(json!({"function_call": {"name": "f", "arguments": "{\"a\":1,"}})),
                delta(json!({"function_call": {"arguments": "\"b\":[true]}"}})),
                finish("function_call"),
            ],
            vec![&f],
        ),
        (
            "a custom tool",
            vec![
                call(
                    json!({"index": 0, "id": "c", "function": {"name": "apply_patch", "arguments": "{\"input\":\"\"}"}}),
                ),
                finish("tool_calls"),
            ],
            vec!["custom:apply_patch:"],
        ),
        (
            "a custom tool called wrongly",
            vec![
                call(json!({"index": 0, "id": "c", "function": {"name": "apply_patch", "arguments": "*** Begin"}})),
                finish("tool_calls"),
            ],
            vec!["custom:apply_patch:*** Begin"],
        ),
    ];
    for (name, chunks, wanted) in table {
        let heard = hear_chunks(&chunks).await;
        assert_eq!(heard.short(), wanted, "{name}");
        assert!(heard.completed(), "{name}");
    }
}

#[tokio::test]
async fn chat_streams_in_their_shapes() {
    let delta = |delta: Value| json!({"id": "x", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
    let finish = |reason: &str| json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}});
    let text = || delta(json!({"content": "hi"}));
    let table = [
        (
            vec![
                delta(json!({"role": "assistant", "content": null})),
                text(),
                finish("stop"),
                usage,
            ],
            vec!["message:hi"],
        ),
        (vec![text()], vec!["message:hi"]),
        (
            vec![delta(json!({"reasoning_content": "hm"})), text(), finish("stop")],
            vec!["thought:hm", "message:hi"],
        ),
        (
            vec![delta(json!({"reasoning": "hm"})), text(), finish("stop")],
            vec!["thought:hm", "message:hi"],
        ),
        (
            vec![
                delta(json!({"reasoning": {"text": "hm"}, "content": ""})),
                text(),
                finish("stop"),
            ],
            vec!["thought:hm", "message:hi"],
        ),
        (
            vec![
                delta(json!({"reasoning": "hm", "reasoning_content": "hm"})),
                finish("stop"),
            ],
            vec!["thought:hm"],
        ),
        (
            vec![
                delta(
                    json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "hi"}]}),
                ),
                finish("stop"),
            ],
            vec!["thought:hm", "message:hi"],
        ),
        (
            vec![delta(json!({"refusal": "no"})), finish("stop")],
            vec!["message:no"],
        ),
        (vec![finish("stop")], vec![]),
    ];
    for (chunks, wanted) in table {
        let heard = hear_chunks(&chunks).await;
        assert_eq!(heard.short(), wanted, "{chunks:?}");
        assert!(heard.completed(), "{chunks:?}");
    }
    let raw = async |body: String| hear_raw(Raw::events(body), WireApi::Chat).await;
    let unmarked = raw(stream_of(&[text(), finish("stop")])).await;
    assert!(
        unmarked.completed(),
        "a missing [DONE] is forgiven once the model has finished"
    );
    let broken = raw(stream_of(&[text()])).await;
    assert!(matches!(broken.kind(), ErrorKind::StreamEnded { .. }));
    let empty = raw("data: [DONE]\n\n".to_owned()).await;
    assert!(matches!(empty.kind(), ErrorKind::StreamEnded { .. }));
    let error = raw(stream_of(&[
        text(),
        json!({"error": {"message": "the words", "code": 502}}),
    ]))
    .await;
    assert!(
        matches!(error.kind(), ErrorKind::Failed { message, .. } if message == "the words"),
        "{error:?}"
    );
    let cut_call = json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{\"a"}}]});
    let length = hear_chunks(&[text(), delta(cut_call), finish("length")]).await;
    assert_eq!(
        (length.short(), length.kind()),
        (
            vec!["message:hi".to_owned()],
            &ErrorKind::Incomplete {
                reason: "max_output_tokens".into()
            }
        )
    );
    let filtered = hear_chunks(&[finish("content_filter")]).await;
    assert_eq!(
        filtered.kind(),
        &ErrorKind::ContentFilter {
            status: None,
            message: String::new()
        }
    );
    // A server that finishes and never closes.
    let open = Raw {
        clean_end: false,
        ..Raw::events(stream_of(&[text(), finish("stop")]))
    };
    assert!(hear_raw(open, WireApi::Chat).await.completed());
}

#[tokio::test]
async fn images_go_along_over_both_apis() {
    let server = rehearse(json!({"steps": [{"repeat": true, "outputs": [{"say": "seen"}]}]})).await;
    let image = ContentPart::InputImage {
        image_url: "data:image/png;base64,AA==".into(),
    };
    let input = vec![ResponseItem::Message {
        id: None,
        role: "user".into(),
        content: vec![image],
    }];
    for wire_api in BOTH {
        assert!(
            hear(&client(&server.base_url, wire_api), &request(input.clone()))
                .await
                .completed()
        );
        let body = server.requests().pop().expect("a request").body.to_string();
        assert!(body.contains("data:image/png;base64,AA=="), "{body}");
    }
}

/// Some servers leave the thoughts in the text of the answer, cut into any pieces.
#[tokio::test]
async fn thoughts_in_the_text_of_a_chat_answer_are_thoughts() {
    for (content, thoughts, said) in [
        ("<think>Let me see.</think>Two files.", "Let me see.", "Two files."),
        (
            "\n<thinking>\nLet me see.\n</thinking>\n\nTwo files.",
            "Let me see.\n",
            "Two files.",
        ),
        ("<think>Never closed", "Never closed", ""),
        ("<think>\n\n</think>\n\nTwo files.", "", "Two files."),
        ("```\n<think>\n```\nCode.", "", "```\n<think>\n```\nCode."),
        ("Say <think> for it.", "", "Say <think> for it."),
    ] {
        for chunk in [1, 3, 7, 1000] {
            let server = rehearse(json!({"chunk": chunk, "steps": [[{"say": content}]]})).await;
            let heard = hear(&client(&server.base_url, WireApi::Chat), &ask()).await;
            assert_eq!(
                (heard.thoughts().as_str(), heard.text().as_str()),
                (thoughts, said),
                "{content:?} by {chunk}"
            );
            let mut expected: Vec<String> = Vec::new();
            expected.extend(Some(format!("thought:{thoughts}")).filter(|_| !thoughts.is_empty()));
            expected.extend(Some(format!("message:{said}")).filter(|_| !said.is_empty()));
            assert_eq!(heard.short(), expected, "{content:?} by {chunk}");
        }
    }
}
