//! What both versions write and read, by table.

use super::*;

fn heard(event: Value) -> Vec<Heard> {
    hear(&event)
}

fn sound(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

#[test]
fn what_is_said_in_both_versions() {
    use RealtimeVersion::{V1, V2};
    let text = |kind: &str, text: &str| {
        let content = json!([{"type": kind, "text": text}]);
        json!({"type": "conversation.item.create", "item": {"type": "message", "role": "user", "content": content}})
    };
    let back = Said::HandedBack {
        id: "c".into(),
        text: "done".into(),
    };
    let table = [
        (
            V1,
            Said::Audio("AAAA".into()),
            json!({"type": "input_audio_buffer.append", "audio": "AAAA"}),
            false,
        ),
        (
            V2,
            Said::Audio("AAAA".into()),
            json!({"type": "input_audio_buffer.append", "audio": "AAAA"}),
            false,
        ),
        (V1, Said::Text("hi".into()), text("text", "hi"), false),
        (V2, Said::Text("hi".into()), text("input_text", "hi"), true),
        (V1, Said::Mirrored("hi".into()), text("text", "hi"), false),
        (V2, Said::Mirrored("hi".into()), text("input_text", "hi"), false),
        (
            V1,
            back.clone(),
            json!({"type": "conversation.handoff.append", "handoff_id": "c", "output_text": "done"}),
            false,
        ),
        (
            V2,
            back,
            json!({"type": "conversation.item.create", "item": {"type": "function_call_output", "call_id": "c", "output": "done"}}),
            true,
        ),
        (
            V2,
            Said::Respond,
            json!({"type": "response.create", "event_id": RESPOND_ID}),
            false,
        ),
    ];
    for (version, said, wanted, answer) in table {
        assert_eq!(event(version, &said), wanted, "{version:?} {said:?}");
        assert_eq!(wants_answer(version, &said), answer, "{version:?} {said:?}");
    }
    let opening = |version| Opening {
        version,
        model: "m".into(),
        voice: "v".into(),
        modality: RealtimeModality::Text,
        instructions: "i".into(),
    };
    let (one, two) = (opening(V1).event(), opening(V2).event());
    assert_eq!(one["session"]["type"], "quicksilver");
    assert_eq!(two["session"]["type"], "realtime");
    for event in [&one, &two] {
        assert_eq!(event["type"], "session.update");
        assert_eq!(event["session"]["instructions"], "i");
        assert_eq!(event["session"]["audio"]["output"]["voice"], "v");
        assert_eq!(event["session"]["audio"]["input"]["format"]["rate"], 24_000);
    }
    assert_eq!(two["session"]["output_modalities"], json!(["text"]));
    assert_eq!(opening(V1).query(), [("model", "m"), ("intent", "quicksilver")]);
    assert_eq!(opening(V2).query(), [("model", "m")]);
}

#[test]
fn what_is_heard_by_table() {
    let delta = |role, delta: &str| {
        vec![Heard::TranscriptDelta {
            item: Some("i".into()),
            role,
            delta: delta.into(),
        }]
    };
    let done = |role, text: &str| {
        vec![Heard::TranscriptDone {
            item: Some("i".into()),
            role,
            text: text.into(),
        }]
    };
    use RealtimeRole::{Assistant, User};
    let handoff = vec![Heard::Handoff {
        id: "c".into(),
        text: "fix it".into(),
    }];
    let call =
        json!({"type": "function_call", "name": "ask_agent", "call_id": "c", "arguments": "{\"task\": \" fix it \"}"});
    let table = [
        (
            json!({"type": "session.created", "session": {"id": "s"}}),
            vec![Heard::Ready(Some("s".into()))],
        ),
        (json!({"type": "session.updated"}), vec![Heard::Ready(None)]),
        (
            json!({"type": "response.output_text.delta", "item_id": "i", "delta": "a"}),
            delta(Assistant, "a"),
        ),
        (
            json!({"type": "response.audio_transcript.delta", "item_id": "i", "delta": "a"}),
            delta(Assistant, "a"),
        ),
        (
            json!({"type": "conversation.output_transcript.delta", "item_id": "i", "delta": "a"}),
            delta(Assistant, "a"),
        ),
        (
            json!({"type": "conversation.input_transcript.delta", "item_id": "i", "delta": "a"}),
            delta(User, "a"),
        ),
        (
            json!({"type": "conversation.item.input_audio_transcription.completed", "item_id": "i", "transcript": "all"}),
            done(User, "all"),
        ),
        (
            json!({"type": "response.output_audio_transcript.done", "item_id": "i", "transcript": "all"}),
            done(Assistant, "all"),
        ),
        (
            json!({"type": "response.text.done", "item_id": "i", "text": "all"}),
            done(Assistant, "all"),
        ),
        (
            json!({"type": "input_audio_buffer.speech_started", "item_id": "i"}),
            vec![Heard::SpeechStarted(Some("i".into()))],
        ),
        (json!({"type": "response.created"}), vec![Heard::AnswerBegins]),
        (json!({"type": "response.done"}), vec![Heard::AnswerEnds]),
        (
            json!({"type": "response.done", "response": {"status": "failed", "status_details": {"error": {"message": "no"}}}}),
            vec![Heard::Error("no".into()), Heard::AnswerEnds],
        ),
        (
            json!({"type": "response.output_item.done", "item": call}),
            handoff.clone(),
        ),
        (
            json!({"type": "response.done", "response": {"output": [call]}}),
            handoff.iter().cloned().chain([Heard::AnswerEnds]).collect(),
        ),
        (
            json!({"type": "conversation.handoff.requested", "handoff_id": "c", "input_transcript": "fix it "}),
            handoff,
        ),
        (
            json!({"type": "error", "error": {"message": "bad"}}),
            vec![Heard::Error("bad".into())],
        ),
        (
            json!({"type": "error", "error": "bad"}),
            vec![Heard::Error("bad".into())],
        ),
        (
            json!({"type": "error"}),
            vec![Heard::Error("an error without a word about it".into())],
        ),
        (
            json!({"type": "error", "error": {"code": "conversation_already_has_active_response"}}),
            vec![Heard::AnswersAlready],
        ),
        (
            json!({"type": "error", "error": {"message": "bad", "event_id": RESPOND_ID}}),
            vec![Heard::NoAnswer("bad".into())],
        ),
        (
            json!({"type": "error", "error": {"message": "bad", "event_id": "another"}}),
            vec![Heard::Error("bad".into())],
        ),
        (json!({"type": "rate_limits.updated"}), vec![]),
        (json!({"type": "made.up", "delta": 7}), vec![]),
        (
            json!({"type": "response.output_item.done", "item": {"type": "function_call", "name": "rm", "call_id": "c"}}),
            vec![],
        ),
    ];
    for (event, wanted) in table {
        assert_eq!(heard(event.clone()), wanted, "{event}");
    }
}

#[test]
fn what_says_nothing_is_garbage() {
    let table = [
        json!(null),
        json!([1]),
        json!("text"),
        json!({"kind": "x"}),
        json!({"type": 7}),
        json!({"type": "response.output_audio.delta"}),
        json!({"type": "response.output_audio.delta", "delta": 7}),
        json!({"type": "response.output_audio.delta", "delta": "not base64!"}),
        json!({"type": "response.output_audio.delta", "delta": sound(&[1, 2, 3])}),
        json!({"type": "conversation.output_audio.delta", "delta": sound(&[1, 2]), "channels": 2}),
        json!({"type": "response.output_text.delta"}),
        json!({"type": "conversation.handoff.requested", "handoff_id": "c", "input_transcript": "  "}),
        json!({"type": "conversation.handoff.requested", "input_transcript": "x"}),
        json!({"type": "conversation.item.done", "item": {"type": "function_call", "name": "ask_agent", "call_id": "c", "arguments": "{"}}),
    ];
    for event in table {
        assert!(matches!(&heard(event.clone())[..], [Heard::Garbage(_)]), "{event}");
    }
}

/// Whatever is sent, what is kept of it is small.
#[test]
fn nothing_that_is_heard_is_without_bound() {
    let long = "語".repeat(1 << 20);
    let call = |id: &str, task: &str| json!({"type": "function_call", "name": "ask_agent", "call_id": id, "arguments": json!({"task": task}).to_string()});
    let table = [
        json!({"type": "session.created", "session": {"id": long}}),
        json!({"type": "response.output_text.delta", "item_id": long, "delta": long}),
        json!({"type": "response.output_text.done", "item_id": long, "text": long}),
        json!({"type": "conversation.input_transcript.done", "item_id": long, "transcript": long}),
        json!({"type": "response.audio.delta", "item_id": long, "delta": sound(&[1, 2])}),
        json!({"type": "input_audio_buffer.speech_started", "item_id": long}),
        json!({"type": "conversation.handoff.requested", "handoff_id": long, "input_transcript": "x"}),
        json!({"type": "conversation.handoff.requested", "handoff_id": "c", "input_transcript": long}),
        json!({"type": "response.output_item.done", "item": call(&long, "x")}),
        json!({"type": "response.output_item.done", "item": call("c", &long)}),
        json!({"type": "response.done", "response": {"status": "failed", "status_details": {"error": {"message": long}}}}),
        json!({"type": "error", "error": {"message": long}}),
        json!({"type": "error", "error": {"message": long, "event_id": RESPOND_ID}}),
        json!({"type": "conversation.item.input_audio_transcription.failed", "error": {"message": long}}),
    ];
    for event in table {
        let heard = heard(event.clone());
        assert!(!heard.is_empty(), "{}", event["type"]);
        let size = format!("{heard:?}").len();
        assert!(size < 20 << 10, "{} keeps {size} bytes", event["type"]);
    }
}

#[test]
fn sound_comes_in_pieces_that_are_not_too_large_and_together_are_the_whole() {
    for channels in [1u16, 2, 6] {
        let frame = usize::from(channels) * 2;
        let bytes: Vec<u8> = (0..frame * 20_011).map(|at| (at % 251) as u8).collect();
        let event = json!({"type": "conversation.output_audio.delta", "delta": sound(&bytes), "item_id": "i",
            "sample_rate": 16_000, "num_channels": channels});
        let mut whole = Vec::new();
        for piece in heard(event) {
            let Heard::Audio { item, audio } = piece else {
                panic!("no sound")
            };
            assert_eq!(
                (item.as_deref(), audio.sample_rate, audio.channels),
                (Some("i"), 16_000, channels)
            );
            let piece = STANDARD.decode(audio.data).expect("base64");
            assert!(piece.len() <= MOST_PIECE && piece.len() % frame == 0);
            whole.extend(piece);
        }
        assert!(whole == bytes);
    }
    assert_eq!(heard(json!({"type": "response.audio.delta", "delta": ""})), []);
}
