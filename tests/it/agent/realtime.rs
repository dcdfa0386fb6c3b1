//! Speech beside the written conversation, against a real WebSocket on loopback.

mod faults;

use super::stage::{Setting, Stage, Story, say, within};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use countersign::rehearsal::Call;
use serde_json::{Value, json};

/// The endpoint is ready.
fn greeting() -> [Value; 2] {
    [
        json!({"await": "session.update"}),
        json!({"event": {"type": "session.updated", "session": {"id": "sess_1"}}}),
    ]
}

/// A connection that greets and then does this.
fn connection(more: impl IntoIterator<Item = Value>) -> Value {
    greeting().into_iter().chain(more).collect()
}

async fn stage(steps: Value, connections: impl IntoIterator<Item = Value>, tables: &str) -> Stage {
    let connections: Vec<Value> = connections.into_iter().collect();
    let setting = Setting {
        tables: tables.to_owned(),
        ..Setting::default()
    };
    Stage::with(json!({"steps": steps, "realtime": connections}), setting).await
}

impl Stage {
    async fn realtime(&self, method: &str, thread: &str, more: Value) -> Value {
        let method = format!("countersign/realtime/{method}");
        self.client.call(&method, with_thread(thread, more)).await
    }

    async fn not_taken(&self, method: &str, thread: &str, more: Value) -> (i64, Value) {
        let method = format!("countersign/realtime/{method}");
        let error = self.client.request(&method, with_thread(thread, more)).await;
        let error = error.expect_err("it is refused");
        assert!(!error.message.is_empty());
        (error.code, error.data["kind"].clone())
    }

    /// Starts one and reads on until it has begun; its id.
    async fn speak(&self, thread: &str, more: Value) -> String {
        let started = self.realtime("start", thread, more).await;
        let id = started["realtimeId"].as_str().expect("an id").to_owned();
        let story = self.until_event("realtime/started").await;
        assert_eq!(story.one("realtime/started")["realtimeId"], *id, "{story:#?}");
        id
    }

    /// The endpoint's side once it is as wanted.
    async fn endpoint(&self, wanted: impl Fn(&Call) -> bool) -> Call {
        let calls = within(self.model.wait_for_calls(|calls| calls.last().is_some_and(&wanted))).await;
        calls.into_iter().next_back().expect("a connection")
    }
}

fn with_thread(thread: &str, more: Value) -> Value {
    let mut params = json!({"threadId": thread});
    let fields = params.as_object_mut().expect("an object");
    fields.extend(more.as_object().expect("an object").clone());
    params
}

fn sound(bytes: &[u8]) -> Value {
    json!({"audio": {"data": STANDARD.encode(bytes)}})
}

/// The texts of messages that the endpoint was given.
fn texts(call: &Call) -> Vec<String> {
    let created = call.of_type("conversation.item.create").into_iter();
    created
        .filter_map(|event| event["item"]["content"][0]["text"].as_str().map(str::to_owned))
        .collect()
}

fn one_of<'a>(story: &'a Story, method: &str) -> &'a Value {
    story.one(method)
}

/// Shows S-395, S-397.
#[tokio::test]
async fn the_endpoint_hears_what_is_said_and_the_client_what_it_says() {
    let spoken: Vec<u8> = (0..60_000u32).map(|at| at as u8).collect();
    let audio =
        json!({"event": {"type": "response.output_audio.delta", "item_id": "i1", "delta": STANDARD.encode(&spoken)}});
    let words = |kind: &str, words: &str| json!({"event": {"type": kind, "item_id": "i1", "delta": words}});
    let script = connection([
        json!({"await": "input_audio_buffer.append"}),
        json!({"await": "input_audio_buffer.append"}),
        json!({"await": "input_audio_buffer.append"}),
        json!({"event": {"type": "input_audio_buffer.speech_started", "item_id": "u1"}}),
        json!({"event": {"type": "conversation.item.input_audio_transcription.completed", "item_id": "u1", "transcript": "Hi."}}),
        json!({"await": "conversation.item.create"}),
        words("response.output_audio_transcript.delta", "Good "),
        audio,
        words("response.output_audio_transcript.delta", "morning."),
        json!({"event": {"type": "response.output_audio_transcript.done", "item_id": "i1", "transcript": "Good morning."}}),
    ]);
    let stage = stage(json!([]), [script], "").await;
    // Nobody is asked for them.
    let voices = stage.client.call("countersign/realtime/voices", json!({})).await;
    assert_eq!(
        voices,
        stage.client.call("countersign/realtime/voices", json!({})).await
    );
    for version in ["v1", "v2"] {
        let usual = &voices[version]["usual"];
        assert!(
            voices[version]["voices"].as_array().expect("a list").contains(usual),
            "{voices}"
        );
    }
    let thread = stage.thread().await;
    assert_eq!(stage.model.calls(), []);
    let started = stage
        .realtime("start", &thread, json!({"voice": "cedar", "instructions": "Be brief."}))
        .await;
    assert_eq!(
        (&started["voice"], &started["version"]),
        (&json!("cedar"), &json!("v2"))
    );
    // Said before it is ready, and heard after.
    for piece in [[1, 2], [3, 4], [5, 6]] {
        stage.realtime("audio", &thread, sound(&piece)).await;
    }
    stage.realtime("text", &thread, json!({"text": "And you?"})).await;
    let story = stage
        .until(|method, params| method == "realtime/transcript/done" && params["role"] == "assistant")
        .await;
    assert_eq!(one_of(&story, "realtime/started")["sessionId"], "sess_1");
    assert_eq!(
        story.names()[..3],
        ["realtime/started", "realtime/speechStarted", "realtime/transcript/done"]
    );
    let heard: Vec<u8> = story
        .all("realtime/audio/delta")
        .iter()
        .flat_map(|delta| {
            let piece = STANDARD
                .decode(delta["audio"]["data"].as_str().expect("text"))
                .expect("base64");
            assert!(piece.len() <= 16 * 1024 && delta["itemId"] == "i1");
            piece
        })
        .collect();
    assert!(heard == spoken);
    let said: String = story
        .all("realtime/transcript/delta")
        .iter()
        .map(|delta| delta["delta"].as_str().expect("text"))
        .collect();
    assert_eq!(said, "Good morning.");
    assert_eq!(stage.realtime("close", &thread, json!({})).await["closing"], true);
    let story = stage.until_event("realtime/closed").await;
    let closed = one_of(&story, "realtime/closed");
    assert_eq!(
        (&closed["reason"], &closed["realtimeId"]),
        (&json!("requested"), &started["realtimeId"])
    );
    let call = stage.endpoint(|call| call.ended).await;
    assert_eq!(call.closed, Some(1000));
    assert_eq!(call.query, "model=gpt-realtime");
    let session = &call.received[0]["session"];
    assert!(session["instructions"].as_str().expect("text").starts_with("Be brief."));
    assert_eq!(session["audio"]["output"]["voice"], "cedar");
    let kinds: Vec<_> = call
        .received
        .iter()
        .map(|event| event["type"].as_str().expect("text"))
        .collect();
    let append = "input_audio_buffer.append";
    assert_eq!(
        kinds,
        [
            "session.update",
            append,
            append,
            append,
            "conversation.item.create",
            "response.create"
        ]
    );
    let pieces: Vec<_> = call
        .of_type(append)
        .iter()
        .map(|event| event["audio"].clone())
        .collect();
    assert_eq!(pieces, ["AQI=", "AwQ=", "BQY="]);
    assert_eq!(texts(&call), ["And you?"]);
    // Closing twice is nothing.
    assert_eq!(stage.realtime("close", &thread, json!({})).await["closing"], false);
    assert_eq!(stage.model.calls().len(), 1);
}

/// Shows S-398.
#[tokio::test]
async fn what_the_person_writes_is_mirrored() {
    let picture = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    for (version, mark) in [("v1", ""), ("v2", "[USER] ")] {
        let steps = json!([{"repeat": true, "outputs": [{"say": "Yes."}]}]);
        let stage = stage(steps, [connection([])], "").await;
        let thread = stage.thread().await;
        // None runs.
        stage.complete(&thread, "Before").await;
        stage.speak(&thread, json!({"version": version})).await;
        stage.complete(&thread, "Short").await;
        let image = json!([{"type": "text", "text": "  \n"}, {"type": "image", "url": picture}]);
        stage.run_with(json!({"threadId": thread, "input": image})).await;
        stage.complete(&thread, &"long ".repeat(2000)).await;
        stage
            .client
            .call(
                "countersign/thread/shellCommand",
                json!({"threadId": thread, "command": "true"}),
            )
            .await;
        stage.until_event("turn/completed").await;
        stage.complete(&thread, "Last").await;
        stage.realtime("close", &thread, json!({})).await;
        stage.until_event("realtime/closed").await;
        let call = stage.endpoint(|call| call.ended).await;
        let told = texts(&call);
        assert_eq!(told.len(), 3, "{told:#?}");
        assert_eq!((&told[0], &told[2]), (&format!("{mark}Short"), &format!("{mark}Last")));
        assert!(told[1].starts_with(&format!("{mark}long long ")) && told[1].len() <= 1200 && told[1].len() > 1100);
        // It is only told, and not asked to answer.
        assert!(call.of_type("response.create").is_empty());
        // None runs any more.
        stage.complete(&thread, "After").await;
        let log = std::fs::read_to_string(stage.client.home().join("log/countersign.log")).expect("a log");
        assert!(!log.contains("mirror"), "{log}");
    }
}

/// Shows S-399.
#[tokio::test]
async fn what_was_spoken_becomes_a_turn_and_is_not_told_again() {
    let call = json!({"type": "function_call", "name": "ask_agent", "call_id": "c1", "arguments": "{\"task\": \"!echo Fix it\"}"});
    let v2 = connection([
        json!({"event": {"type": "response.created"}}),
        json!({"event": {"type": "response.output_item.done", "item": call}}),
        // Told twice, done once.
        json!({"event": {"type": "response.done", "response": {"output": [call]}}}),
    ]);
    let v1 = connection([
        json!({"event": {"type": "conversation.handoff.requested", "handoff_id": "c1", "input_transcript": "!echo Fix it"}}),
    ]);
    for (version, script) in [("v1", v1), ("v2", v2)] {
        let stage = stage(json!([[say("It is fixed.")], [say("Well.")]]), [script], "").await;
        let thread = stage.thread().await;
        stage.speak(&thread, json!({"version": version})).await;
        let story = stage.until_event("turn/completed").await;
        let handed = one_of(&story, "realtime/handoff");
        assert_eq!(
            (&handed["inputTurnId"], &handed["text"]),
            (&one_of(&story, "turn/completed")["turn"]["id"], &json!("!echo Fix it"))
        );
        // The words of a voice are no command of the person's.
        let items = one_of(&story, "turn/completed")["turn"]["items"]
            .as_array()
            .expect("items")
            .clone();
        assert!(
            items.iter().all(|item| item["type"] != "commandExecution"),
            "{items:#?}"
        );
        let back = |call: &Call| match version {
            "v1" => call
                .of_type("conversation.handoff.append")
                .first()
                .map(|event| event["output_text"].clone()),
            _ => call
                .of_type("conversation.item.create")
                .iter()
                .find(|event| event["item"]["type"] == "function_call_output" && event["item"]["call_id"] == "c1")
                .map(|event| event["item"]["output"].clone()),
        };
        let call = stage.endpoint(|call| back(call).is_some()).await;
        assert_eq!(back(&call), Some(json!("It is fixed.")));
        // A client that hears for itself says so.
        let input = json!([{"type": "text", "text": "By ear"}]);
        stage
            .run_with(json!({"threadId": thread, "input": input, "spoken": true}))
            .await;
        stage.realtime("close", &thread, json!({})).await;
        stage.until_event("realtime/closed").await;
        let call = stage.endpoint(|call| call.ended).await;
        assert_eq!(texts(&call), Vec::<String>::new());
        assert_eq!(stage.requests(2).len(), 2);
    }
}

/// Shows S-400.
#[tokio::test]
async fn the_end_of_the_server_ends_it_first() {
    let mut stage = stage(json!([]), [connection([])], "").await;
    let thread = stage.thread().await;
    stage.speak(&thread, json!({})).await;
    stage.client.heed("countersign/thread/closed");
    let id = stage.client.send_request("shutdown", Value::Null);
    let story = stage.until_event("thread/closed").await;
    assert_eq!(story.names(), ["realtime/closed", "thread/closed"]);
    assert_eq!(one_of(&story, "realtime/closed")["reason"], "threadClosed");
    // The endpoint has seen it at that moment: the event waits for its answer.
    let call = stage.model.calls().remove(0);
    assert_eq!(call.closed, Some(1000));
    assert_eq!(stage.client.expect_answer(json!(id)).await, Ok(Value::Null));
    stage.client.notify("exit", Value::Null);
    assert_eq!(stage.client.expect_end().await, 0);
}

#[tokio::test]
async fn a_thread_that_is_put_away_ends_it_and_another_start_takes_its_place() {
    let stage = stage(
        json!([[say("Here.")]]),
        [connection([]), connection([]), connection([])],
        "",
    )
    .await;
    let thread = stage.thread().await;
    stage.complete(&thread, "Hello").await;
    let first = stage.speak(&thread, json!({})).await;
    let started = stage.realtime("start", &thread, json!({})).await;
    let story = stage.until_event("realtime/started").await;
    assert_eq!(story.names(), ["realtime/closed", "realtime/started"]);
    let closed = one_of(&story, "realtime/closed");
    assert_eq!(
        (&closed["reason"], &closed["realtimeId"]),
        (&json!("replaced"), &json!(first))
    );
    assert_eq!(one_of(&story, "realtime/started")["realtimeId"], started["realtimeId"]);
    // What was said before is what it is told to begin with, unless nobody wants that.
    let instructions = |call: &Call| {
        call.received[0]["session"]["instructions"]
            .as_str()
            .expect("text")
            .to_owned()
    };
    let told = instructions(&stage.model.calls()[1]);
    assert!(
        told.contains("The person: Hello") && told.contains("The agent: Here."),
        "{told}"
    );
    stage.client.heed("countersign/thread/closed");
    stage
        .client
        .call("countersign/thread/archive", json!({"threadId": thread}))
        .await;
    let story = stage.until_event("thread/closed").await;
    assert_eq!(story.names(), ["realtime/closed", "thread/closed"]);
    assert_eq!(one_of(&story, "realtime/closed")["reason"], "threadClosed");
    stage.client.ignore("countersign/thread/archived");
    stage.client.ignore("countersign/thread/closed");
    assert_eq!(stage.not_taken("start", &thread, json!({})).await.1, "threadNotLoaded");
    let other = stage.thread().await;
    stage.speak(&other, json!({"includeStartupContext": false})).await;
    assert!(!instructions(&stage.model.calls()[2]).contains("The project is in"));
    stage.client.ignore("countersign/realtime/closed");
}

#[tokio::test]
async fn sound_keeps_its_order_through_a_flood() {
    let piece = |number: usize| {
        let bytes: Vec<u8> = (0..40_000usize).map(|at| (at / 2 + number) as u8).collect();
        bytes
    };
    let flood = (0..100).map(
        |number| json!({"event": {"type": "response.output_audio.delta", "delta": STANDARD.encode(piece(number))}}),
    );
    let done = json!({"event": {"type": "response.output_audio_transcript.done", "transcript": "Done."}});
    let stage = stage(json!([]), [connection(flood.chain([done]))], "").await;
    let thread = stage.thread().await;
    stage.speak(&thread, json!({})).await;
    let story = stage.until_event("realtime/transcript/done").await;
    let heard: Vec<u8> = story
        .all("realtime/audio/delta")
        .iter()
        .flat_map(|delta| {
            STANDARD
                .decode(delta["audio"]["data"].as_str().expect("text"))
                .expect("base64")
        })
        .collect();
    assert!(heard == (0..100).flat_map(piece).collect::<Vec<_>>());
    stage.client.ignore("countersign/realtime/closed");
}

#[tokio::test]
async fn where_it_is_and_who_asks_is_the_configuration_s() {
    let other = super::stage::rehearse(json!({"steps": [], "realtime": [connection([])]})).await;
    let tables = format!(
        "env_key = \"VOICE_KEY\"\nhttp_headers = {{ \"x-team\" = \"sums\" }}\n[realtime]\nversion = \"v1\"\nvoice = \"ember\"\n\
         model = \"own\"\nbase_url = \"{}\"\n",
        other.base_url
    );
    let setting = Setting {
        provider: tables,
        env: vec![("VOICE_KEY".to_owned(), "sk-voice".to_owned())],
        ..Setting::default()
    };
    let stage = Stage::with(json!([]), setting).await;
    let thread = stage.thread().await;
    stage.speak(&thread, json!({})).await;
    let call = other.calls().remove(0);
    assert_eq!(call.query, "model=own&intent=quicksilver");
    assert_eq!(call.headers["authorization"], "Bearer sk-voice");
    assert_eq!(call.headers["x-team"], "sums");
    assert_eq!(call.received[0]["session"]["type"], "quicksilver");
    assert_eq!(call.received[0]["session"]["audio"]["output"]["voice"], "ember");
    assert_eq!(stage.model.calls(), []);
    let log = std::fs::read_to_string(stage.client.home().join("log/countersign.log")).unwrap_or_default();
    assert!(!log.contains("sk-voice"));
    stage.client.ignore("countersign/realtime/closed");
}
