//! Bodies in their shapes: what is read of them, and what ends them.

use super::*;

#[tokio::test]
async fn byte_level_shapes_of_a_stream_all_say_the_same() {
    let added = json!({"type": "response.output_item.added", "output_index": 0,
        "item": {"type": "message", "id": "m", "role": "assistant", "content": []}});
    let delta = |text: &str| json!({"type": "response.output_text.delta", "item_id": "m", "delta": text});
    let events = [
        json!({"type": "response.created"}),
        added,
        delta("häß"),
        delta("lich 🦀"),
        message_done("häßlich 🦀"),
        completed(),
    ];
    let lf = stream_of(&events);
    let with_names: String = events
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()))
        .collect();
    let wrong_names: String = events
        .iter()
        .map(|event| format!("event: message\ndata: {event}\n\n"))
        .collect();
    let in_lines: String = events
        .iter()
        .map(|event| {
            serde_json::to_string_pretty(event)
                .unwrap()
                .lines()
                .map(|line| format!("data: {line}\n"))
                .collect::<String>()
                + "\n"
        })
        .collect();
    let with_noise = format!(
        ": hello\n\nretry: 5\n\ndata: [DONE]\n\ndata: {{\"type\": \"never.heard.of\", \"delta\": 5}}\n\n{}data: [DONE]\n\n",
        lf.replace("\n\n", "\n\n: keep-alive\n\nid: 7\n")
    );
    let shapes = [
        lf.clone(),
        lf.replace('\n', "\r\n"),
        lf.replace('\n', "\r"),
        format!("\u{feff}{lf}"),
        format!("\u{feff}{}", lf.replace('\n', "\r")),
        format!("\n\n  \n{lf}"),
        lf.replace("data: ", "data:"),
        with_names.clone(),
        with_names.replace('\n', "\r\n"),
        wrong_names,
        in_lines,
        with_noise,
        lf.trim_end().to_owned(),
    ];
    for shape in shapes {
        for chunk in [usize::MAX, 1, 3, 7] {
            let heard = hear_raw(
                Raw {
                    chunk,
                    ..Raw::events(shape.clone())
                },
                WireApi::Responses,
            )
            .await;
            assert_eq!(heard.text(), "häßlich 🦀", "{shape:?} in chunks of {chunk}");
            assert_eq!(heard.short(), ["message:häßlich 🦀"], "{shape:?}");
            assert!(heard.completed(), "{shape:?}");
            assert_eq!(heard.skipped, 0, "{shape:?}");
        }
    }
}

#[tokio::test]
async fn events_that_cannot_be_read_are_skipped_and_counted() {
    let body = format!(
        "data: {{\"type\": \"response.output_text.delta\", \"delta\": \n\ndata: rubbish\n\ndata: [1]\n\n{}",
        stream_of(&[
            json!({"type": "response.output_text.delta"}),
            json!({"type": "response.output_text.delta", "delta": 5}),
            json!({"type": "response.output_item.done"}),
            json!({"type": "response.output_item.done", "item": 5}),
            json!({"type": "response.output_item.done", "item": {"type": "unheard_of", "id": "x"}}),
            message_done("fine"),
            completed(),
        ])
    );
    let body = body.replace("\"fine\"", "\"fine\\ud83d\"");
    let heard = hear_raw(Raw::events(body), WireApi::Responses).await;
    assert_eq!(
        (heard.short(), heard.skipped),
        (vec!["message:fine\u{fffd}".to_owned()], 3)
    );
    assert!(heard.completed());
}

#[tokio::test]
async fn a_completed_event_needs_neither_id_nor_usage() {
    let usage = json!({"input_tokens": 5, "input_tokens_details": null, "output_tokens": 2, "total_tokens": 7});
    let table = [
        (json!({"type": "response.completed"}), None, None),
        (json!({"type": "response.completed", "response": null}), None, None),
        (json!({"type": "response.completed", "response": {}}), None, None),
        (
            json!({"type": "response.completed", "response": {"id": null, "usage": null}}),
            None,
            None,
        ),
        (
            json!({"type": "response.completed", "response": {"id": "r", "usage": {}}}),
            Some("r"),
            None,
        ),
        (
            json!({"type": "response.done", "response": {"id": "r", "usage": usage}}),
            Some("r"),
            Some(7),
        ),
    ];
    for (event, wanted_id, wanted_total) in table {
        let heard = hear_events(&[message_done("x"), event.clone()]).await;
        let Some(ModelEvent::Completed { response_id, usage }) = heard.events.last() else {
            panic!("{event}")
        };
        assert_eq!(
            (response_id.as_deref(), usage.map(|usage| usage.total_tokens)),
            (wanted_id, wanted_total),
            "{event}"
        );
    }
}

/// Shows S-072.
#[tokio::test]
async fn items_are_whole_whatever_the_provider_leaves_out() {
    let added = |item: Value| json!({"type": "response.output_item.added", "item": item});
    let done = |item: Value| json!({"type": "response.output_item.done", "item": item});
    let message = |id: &str, text: &str| json!({"type": "message", "id": id, "role": "assistant", "content": [{"type": "output_text", "text": text}]});
    let call = |id: &str, call_id: &str| json!({"type": "function_call", "id": id, "call_id": call_id, "name": "f", "arguments": "{}"});
    let delta = |fields: Value| {
        let mut event = json!({"type": "response.output_text.delta"});
        event
            .as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        event
    };
    let finish = |output: Value| json!({"type": "response.completed", "response": {"id": "r", "output": output}});
    let table: Vec<(&str, Vec<Value>, Vec<&str>)> = vec![
        (
            "done without added",
            vec![done(message("a", "x")), completed()],
            vec!["message:x"],
        ),
        (
            "done without id",
            vec![
                added(json!({"type": "message"})),
                delta(json!({"delta": "x"})),
                done(json!({"type": "message", "content": "x"})),
                completed(),
            ],
            vec!["message:x"],
        ),
        (
            "deltas without id",
            vec![
                added(message("a", "")),
                delta(json!({"delta": "x"})),
                done(message("a", "x")),
                completed(),
            ],
            vec!["message:x"],
        ),
        (
            "deltas by place",
            vec![
                json!({"type": "response.output_item.added", "output_index": 0, "item": message("a", "")}),
                json!({"type": "response.output_item.added", "output_index": 1, "item": message("b", "")}),
                delta(json!({"delta": "1", "output_index": 0})),
                delta(json!({"delta": "2", "output_index": 1})),
                completed(),
            ],
            vec!["message:1", "message:2"],
        ),
        (
            "deltas alone",
            vec![delta(json!({"delta": "x"})), delta(json!({"delta": "y"})), completed()],
            vec!["message:xy"],
        ),
        (
            "a new id in each delta",
            vec![
                added(message("a", "")),
                delta(json!({"delta": "x", "item_id": "q"})),
                delta(json!({"delta": "y", "item_id": "s"})),
                done(message("a", "xy")),
                completed(),
            ],
            vec!["message:xy"],
        ),
        (
            "another id when done",
            vec![
                added(message("a", "")),
                delta(json!({"delta": "x", "item_id": "a"})),
                done(message("b", "x")),
                completed(),
            ],
            vec!["message:x"],
        ),
        (
            "only in the closing event",
            vec![finish(json!([message("a", "x"), call("b", "c1")]))],
            vec!["message:x", "call:f:{}"],
        ),
        (
            "again in the closing event",
            vec![
                done(message("a", "x")),
                done(call("b", "c1")),
                finish(json!([message("z", "x"), call("y", "c1")])),
            ],
            vec!["message:x", "call:f:{}"],
        ),
        (
            "done twice",
            vec![
                done(message("a", "x")),
                done(message("a", "x")),
                done(call("b", "c1")),
                done(call("b", "c1")),
                completed(),
            ],
            vec!["message:x", "call:f:{}"],
        ),
        (
            "one id for all",
            vec![done(call("a", "c1")), done(call("a", "c2")), completed()],
            vec!["call:f:{}", "call:f:{}"],
        ),
        (
            "empty ids",
            vec![done(call("", "")), done(call("", "")), completed()],
            vec!["call:f:{}", "call:f:{}"],
        ),
        (
            "one call id for all",
            vec![done(call("a", "c")), done(call("b", "c")), completed()],
            vec!["call:f:{}", "call:f:{}"],
        ),
        (
            "arguments only in deltas",
            vec![
                added(json!({"type": "function_call", "id": "a", "call_id": "c", "name": "f"})),
                json!({"type": "response.function_call_arguments.delta", "item_id": "a", "delta": "{\"x\""}),
                json!({"type": "response.function_call_arguments.delta", "item_id": "a", "delta": ":1}"}),
                done(json!({"type": "function_call", "id": "a", "call_id": "c", "arguments": ""})),
                completed(),
            ],
            vec!["call:f:{\"x\":1}"],
        ),
        (
            "a call that never was done",
            vec![
                added(json!({"type": "function_call", "id": "a", "call_id": "c", "name": "f"})),
                json!({"type": "response.function_call_arguments.done", "item_id": "a", "arguments": "{}"}),
                completed(),
            ],
            vec!["call:f:{}"],
        ),
        (
            "half a call",
            vec![
                added(json!({"type": "function_call", "id": "a", "call_id": "c", "name": "f"})),
                json!({"type": "response.function_call_arguments.delta", "item_id": "a", "delta": "{"}),
                completed(),
            ],
            vec![],
        ),
        (
            "outputs are not the model's to say",
            vec![
                done(json!({"type": "function_call_output", "call_id": "c", "output": "x"})),
                done(json!({"type": "no_such_item", "id": "n"})),
                done(message("a", "x")),
                completed(),
            ],
            vec!["message:x"],
        ),
        (
            "a refusal",
            vec![
                added(message("a", "")),
                json!({"type": "response.refusal.delta", "item_id": "a", "delta": "I won't."}),
                done(json!({"type": "message", "id": "a", "content": [{"type": "refusal", "refusal": "I won't."}]})),
                completed(),
            ],
            vec!["message:I won't."],
        ),
        (
            "after completed",
            vec![
                done(message("a", "x")),
                completed(),
                done(message("b", "y")),
                json!({"type": "error"}),
            ],
            vec!["message:x"],
        ),
        (
            "reasoning of both kinds",
            vec![
                json!({"type": "response.reasoning_summary_text.delta", "item_id": "a", "summary_index": 0, "delta": "s"}),
                json!({"type": "response.reasoning_text.delta", "item_id": "a", "content_index": 0, "delta": "r"}),
                done(json!({"type": "reasoning", "id": "a", "summary": [], "encrypted_content": "e"})),
                completed(),
            ],
            vec!["thought:sr"],
        ),
    ];
    for (name, events, wanted) in table {
        let heard = hear_events(&events).await;
        assert_eq!(heard.short(), wanted, "{name}");
        assert!(heard.completed(), "{name}");
        for item in heard.done() {
            assert!(item.id().is_some_and(|id| !id.is_empty()), "{name}");
            assert!(item.call_id().is_none_or(|id| !id.is_empty()), "{name}");
        }
    }
}

#[tokio::test]
async fn a_local_shell_call_keeps_the_ids_that_it_has() {
    let call = |id: Value, call_id: Value| {
        json!({"type": "response.output_item.done", "item": {"type": "local_shell_call", "id": id, "call_id": call_id,
            "status": "completed", "action": {"type": "exec", "command": ["ls"]}}})
    };
    for (id, call_id, wanted) in [
        (json!("i"), json!("c"), Some("c")),
        (json!("i"), json!(null), Some("i")),
        (json!(""), json!(null), None),
    ] {
        let heard = hear_events(&[call(id, call_id), completed()]).await;
        assert_eq!(heard.done()[0].call_id(), wanted);
    }
}

#[tokio::test]
async fn ids_of_the_history_are_not_given_again() {
    let server = rehearse(json!({"steps": [{"repeat": true, "outputs": [
        {"say": "hi", "id": "m1"}, {"call": {"tool": "shell", "id": "c1"}}]}]}))
    .await;
    for wire_api in BOTH {
        let client = client(&server.base_url, wire_api);
        let first = hear(&client, &ask()).await;
        let mut history = vec![ResponseItem::user("hello")];
        history.extend(first.done().into_iter().cloned());
        let call_id = first.done()[1].call_id().expect("an id").to_owned();
        assert_eq!(call_id, "c1");
        history.push(ResponseItem::FunctionCallOutput {
            call_id,
            output: ToolOutputPayload::Text("ok".into()),
        });
        let second = hear(&client, &request(history)).await;
        assert_eq!(second.short(), first.short());
        for (old, new) in first.done().iter().zip(second.done()) {
            assert_ne!(old.id(), new.id());
        }
        assert_ne!(second.done()[1].call_id(), Some("c1"));
    }
    assert_eq!(server.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn bodies_that_are_no_event_stream() {
    let document = json!({"id": "r", "object": "response", "status": "completed", "output": [
        {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "whole"}]}]});
    let completion = json!({"id": "r", "object": "chat.completion", "choices": [{"index": 0, "finish_reason": "stop",
        "message": {"role": "assistant", "content": "whole"}}]});
    let error = json!({"error": {"message": "the words", "code": "insufficient_quota"}});
    for content_type in ["application/json", "text/event-stream", "text/html", ""] {
        for wire_api in BOTH {
            let say = async |body: String| {
                hear_raw(
                    Raw {
                        content_type,
                        chunk: 5,
                        ..Raw::events(body)
                    },
                    wire_api,
                )
                .await
            };
            let whole = if wire_api == WireApi::Chat {
                &completion
            } else {
                &document
            };
            assert_eq!(
                say(whole.to_string()).await.short(),
                ["message:whole"],
                "{content_type}"
            );
            assert!(
                matches!(say(error.to_string()).await.kind(), ErrorKind::Quota { message, .. } if message == "the words")
            );
            let page = say("<!doctype html><title>Sign in</title><body>…".to_owned()).await;
            assert!(
                matches!(page.kind(), ErrorKind::Protocol { reason } if reason.contains("Sign in")),
                "{page:?}"
            );
            assert!(matches!(say(String::new()).await.kind(), ErrorKind::StreamEnded { .. }));
            assert!(matches!(
                say(" \n ".to_owned()).await.kind(),
                ErrorKind::StreamEnded { .. }
            ));
            assert!(matches!(
                say("{\"id\": ".to_owned()).await.kind(),
                ErrorKind::StreamEnded { .. }
            ));
            assert!(matches!(
                say("{\"a\": 1}".to_owned()).await.kind(),
                ErrorKind::Protocol { .. }
            ));
            assert!(matches!(
                say("just words".to_owned()).await.kind(),
                ErrorKind::StreamEnded { .. }
            ));
        }
    }
}

/// A gzip file of stored blocks.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut crc = !0u32;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xEDB8_8320 & 0u32.wrapping_sub(crc & 1));
        }
    }
    let mut file = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let length = u16::try_from(bytes.len()).expect("small");
    file.push(1);
    file.extend_from_slice(&length.to_le_bytes());
    file.extend_from_slice(&(!length).to_le_bytes());
    file.extend_from_slice(bytes);
    file.extend_from_slice(&(!crc).to_le_bytes());
    file.extend_from_slice(&u32::from(length).to_le_bytes());
    file
}

#[tokio::test]
async fn a_compressed_stream_is_read() {
    let body = gzip(stream_of(&[message_done("packed"), completed()]).as_bytes());
    let raw = Raw {
        headers: "content-encoding: gzip\r\n".into(),
        chunk: 11,
        ..Raw::events(body)
    };
    assert_eq!(hear_raw(raw, WireApi::Responses).await.short(), ["message:packed"]);
}

#[tokio::test]
async fn an_event_beyond_all_bounds_is_refused() {
    let mut body = b"data: ".to_vec();
    body.resize(17 * 1024 * 1024, b'x');
    let heard = hear_raw(
        Raw {
            chunk: 1 << 20,
            ..Raw::events(body)
        },
        WireApi::Responses,
    )
    .await;
    assert!(
        matches!(heard.kind(), ErrorKind::Protocol { reason } if reason.contains("larger")),
        "{heard:?}"
    );
}

#[tokio::test]
async fn a_stream_that_is_cut_is_an_error_and_keeps_what_was_finished() {
    let server = rehearse(json!({"steps": [{"repeat": true, "outputs": [
        {"say": "done"}, {"say": "not do", "partial": true}, {"drop": true}]}]}))
    .await;
    for wire_api in BOTH {
        let heard = hear(&client(&server.base_url, wire_api), &ask()).await;
        assert_eq!(heard.text(), "donenot do");
        assert!(
            matches!(heard.kind(), ErrorKind::StreamEnded { reason: Some(_) }),
            "{heard:?}"
        );
        assert_eq!(
            heard.error.as_ref().expect("an error").turn_error().kind,
            TurnErrorKind::StreamDisconnected
        );
    }
    let clean = rehearse(json!([[{"say": "done"}, {"no_completed": true}]])).await;
    let heard = hear(&client(&clean.base_url, WireApi::Responses), &ask()).await;
    assert_eq!(heard.short(), ["message:done"]);
    assert_eq!(heard.kind(), &ErrorKind::StreamEnded { reason: None });
}

#[tokio::test]
async fn silence_has_a_limit_and_comments_are_silence() {
    let server = rehearse(json!({"steps": [
        {"outputs": [{"say": "half", "partial": true}, {"stall": true}]},
        {"outputs": [{"stall": true}]}]}))
    .await;
    let impatient = Provider {
        stream_idle_timeout_ms: 3000,
        ..provider(&server.base_url, WireApi::Responses)
    };
    let client = ModelClient::new(&impatient, None, "test");
    let heard = hear(&client, &ask()).await;
    assert_eq!(
        (heard.text().as_str(), heard.kind()),
        (
            "half",
            &ErrorKind::Idle {
                limit: Duration::from_millis(3000)
            }
        )
    );
    let heard = hear(&client, &ask()).await;
    assert_eq!(
        (heard.events.len(), heard.kind()),
        (
            0,
            &ErrorKind::Idle {
                limit: Duration::from_millis(3000)
            }
        )
    );

    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let base_url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        read_request(&mut stream).await;
        let _ = stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
            .await;
        while stream.write_all(b": keep-alive\n\n").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let impatient = Provider {
        stream_idle_timeout_ms: 300,
        ..provider(&base_url, WireApi::Responses)
    };
    let heard = hear(&ModelClient::new(&impatient, None, "test"), &ask()).await;
    assert!(matches!(heard.kind(), ErrorKind::Idle { .. }), "{heard:?}");
}

#[tokio::test]
async fn a_stream_that_is_dropped_closes_its_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let base_url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        read_request(&mut stream).await;
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
        let event = stream_of(&[json!({"type": "response.created"})]);
        stream
            .write_all(format!("{head}{event}").as_bytes())
            .await
            .expect("sent");
        let mut rest = Vec::new();
        // Ends when the client closes; a reset is an end too.
        let _ = stream.read_to_end(&mut rest).await;
    });
    let client = client(&base_url, WireApi::Responses);
    let mut stream = within(client.stream(&ask())).await.expect("a stream");
    assert_eq!(
        within(stream.next()).await.expect("an event").expect("no error"),
        ModelEvent::Created
    );
    drop(stream);
    within(server).await.expect("the connection was closed");
}

#[tokio::test]
async fn connections_are_used_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let base_url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let accepted = Arc::new(AtomicUsize::new(0));
    let answered = Arc::new(tokio::sync::Semaphore::new(0));
    tokio::spawn({
        let (accepted, answered) = (accepted.clone(), answered.clone());
        async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                accepted.fetch_add(1, Ordering::SeqCst);
                let answered = answered.clone();
                tokio::spawn(async move {
                    while read_request(&mut stream).await {
                        let body = stream_of(&[message_done("x"), completed()]);
                        let head =
                            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
                        let _ = stream
                            .write_all(format!("{head}{:x}\r\n{body}\r\n", body.len()).as_bytes())
                            .await;
                        // The end comes by itself, as it does from servers.
                        tokio::task::yield_now().await;
                        let _ = stream.write_all(b"0\r\n\r\n").await;
                        answered.add_permits(1);
                    }
                });
            }
        }
    });
    let client = client(&base_url, WireApi::Responses);
    // The connection goes back to the pool a moment after the answer, so not each request must find it there.
    for number in 1..=50 {
        assert!(hear(&client, &ask()).await.completed());
        within(answered.acquire()).await.expect("answered").forget();
        if accepted.load(Ordering::SeqCst) < number {
            return;
        }
    }
    panic!("each request had a connection of its own");
}
