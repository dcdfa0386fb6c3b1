//! The rehearsal server as its users see it.

use super::*;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

#[tokio::test]
async fn a_barrier_holds_the_answer_back() {
    let server =
        rehearse(json!([[{"hold": "before"}, {"say": "one ", "partial": true}, {"hold": "within"}, {"say": "two"}]]))
            .await;
    let client = client(&server.base_url, WireApi::Responses);
    let listening = tokio::spawn(async move { hear(&client, &ask()).await });
    within(server.wait_for_requests(1)).await;
    within(server.wait_for_hold("before")).await;
    assert!(!listening.is_finished());
    server.release("before");
    within(server.wait_for_hold("within")).await;
    assert!(!listening.is_finished());
    server.release("within");
    assert_eq!(within(listening).await.expect("heard").short(), ["message:one two"]);
}

#[tokio::test]
async fn requests_that_break_the_rules_are_refused() {
    let orphan = vec![ResponseItem::FunctionCallOutput {
        call_id: "c".into(),
        output: ToolOutputPayload::Text("x".into()),
    }];
    for wire_api in BOTH {
        let server = rehearse(json!({"steps": [{"outputs": [{"say": "hi"}]}]})).await;
        let heard = hear(&client(&server.base_url, wire_api), &request(orphan.clone())).await;
        assert!(
            matches!(heard.kind(), ErrorKind::BadRequest { message, .. } if message.contains("no call before it")),
            "{heard:?}"
        );
        assert_eq!(server.violations().len(), 1);
        assert!(
            hear(&client(&server.base_url, wire_api), &ask()).await.completed(),
            "the step is still to be played"
        );
        let lenient = rehearse(json!({"lenient": true, "steps": [{"outputs": [{"say": "hi"}]}]})).await;
        assert!(
            hear(&client(&lenient.base_url, wire_api), &request(orphan.clone()))
                .await
                .completed()
        );
        assert_eq!(lenient.violations().len(), 1);
    }
}

#[tokio::test]
async fn a_request_that_nothing_fits_is_told_why() {
    let server = rehearse(json!([{"when": {"last_user": "bye"}, "outputs": [{"say": "bye"}]}])).await;
    let heard = hear(&client(&server.base_url, WireApi::Chat), &ask()).await;
    assert!(
        matches!(heard.kind(), ErrorKind::Http { status: 500, message, .. } if message.contains("does not contain \"bye\"")),
        "{heard:?}"
    );
    assert_eq!(server.requests()[0].step, None);
    let unfilled = rehearse(json!([[{"say": "{{last_output}}"}]])).await;
    let heard = hear(&client(&unfilled.base_url, WireApi::Chat), &ask()).await;
    assert!(
        matches!(heard.kind(), ErrorKind::Http { status: 500, message, .. } if message.contains("last_output")),
        "{heard:?}"
    );
}

#[tokio::test]
async fn every_fault_arrives() {
    let table = [
        (json!([{"bad_event": true}, {"say": "x"}]), "completed"),
        (
            json!([{"error_event": {"type": "error", "message": "words"}}]),
            "Failed",
        ),
        (json!([{"error_event": {"error": {"message": "words"}}}]), "Failed"),
        (
            json!([{"failed": {"code": "context_length_exceeded"}}]),
            "ContextWindowExceeded",
        ),
        (json!([{"say": "x"}, {"incomplete": "max_output_tokens"}]), "Incomplete"),
        (
            json!([{"say": "x", "partial": true}, {"no_completed": true}]),
            "StreamEnded",
        ),
        (json!([{"begin": true}, {"drop": true}]), "StreamEnded"),
        (json!([{"wait_ms": 1}, {"drop": true}]), "Broken"),
        (json!([{"refuse": "I won't."}]), "completed"),
        (json!([{"raw_bytes": "data: nonsense\n\n"}, {"say": "x"}]), "completed"),
        (json!([{"usage": null}, {"say": "x"}]), "completed"),
        (json!([{"hold": "open"}, {"fail": {"status": 400}}]), "BadRequest"),
    ];
    for (outputs, wanted) in table {
        for wire_api in BOTH {
            let server = rehearse(json!([outputs])).await;
            server.release("open");
            let heard = hear(&client(&server.base_url, wire_api), &ask()).await;
            let got = match &heard.error {
                None => "completed".to_owned(),
                Some(error) => format!("{:?}", error.kind),
            };
            assert!(got.starts_with(wanted), "{outputs} {wire_api:?}: {got}");
        }
    }
}

#[tokio::test]
async fn never_ending_answers_end_with_the_client_or_the_server() {
    let server =
        rehearse(json!({"steps": [{"repeat": true, "outputs": [{"trickle": "on and on ", "delay_ms": 1}]}]})).await;
    let client = client(&server.base_url, WireApi::Responses);
    let mut stream = within(client.stream(&ask())).await.expect("a stream");
    let mut deltas = 0;
    while deltas < 20 {
        let event = within(stream.next()).await.expect("endless").expect("no error");
        deltas += usize::from(matches!(event, ModelEvent::TextDelta { .. }));
    }
    within(server.stop()).await;
    let ended = async { while let Some(Ok(_)) = stream.next().await {} };
    within(ended).await;
}

/// One HTTP request by hand, whole answer.
async fn http(base_url: &str, head: &str, body: &str) -> String {
    let address = base_url.trim_start_matches("http://").trim_end_matches("/v1");
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let request = format!(
        "{head} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = String::new();
    within(stream.read_to_string(&mut answer)).await.expect("an answer");
    answer
}

fn json_of(answer: &str) -> Value {
    let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

#[tokio::test]
async fn answers_in_one_piece() {
    let script = json!({"steps": [{"repeat": true, "outputs": [
        {"think": "hm"}, {"say": "hi"}, {"call": {"tool": "f", "arguments": {"a": 1}, "id": "c"}}, {"usage": {"input_tokens": 1}}]}]});
    let server = rehearse(script).await;
    let responses = json_of(
        &http(
            &server.base_url,
            "POST /v1/responses",
            r#"{"model": "m", "input": "hello"}"#,
        )
        .await,
    );
    assert_eq!(
        (&responses["status"], &responses["output"][1]["content"][0]["text"]),
        (&json!("completed"), &json!("hi"))
    );
    assert_eq!(
        (
            &responses["output"][2]["arguments"],
            &responses["usage"]["total_tokens"]
        ),
        (&json!("{\"a\":1}"), &json!(1))
    );
    let chat = json_of(&http(&server.base_url, "POST /v1/chat/completions", r#"{"messages": []}"#).await);
    let message = &chat["choices"][0]["message"];
    assert_eq!(
        (&message["content"], &message["tool_calls"][0]["id"]),
        (&json!("hi"), &json!("c"))
    );
    assert_eq!(
        (&chat["choices"][0]["finish_reason"], &message["reasoning_content"]),
        (&json!("tool_calls"), &json!("hm"))
    );
}

#[tokio::test]
async fn the_other_routes() {
    let server = rehearse(json!([[{"hold": "gate"}, {"say": "hi"}]])).await;
    let client = client(&server.base_url, WireApi::Responses);
    let listening = tokio::spawn(async move { hear(&client, &ask()).await });
    within(server.wait_for_hold("gate")).await;
    let listed = json_of(&http(&server.base_url, "GET /requests", "").await);
    assert_eq!(
        (&listed[0]["number"], &listed[0]["body"]["model"]),
        (&json!(1), &json!("rehearsal"))
    );
    assert!(
        http(&server.base_url, "POST /release/gate", "")
            .await
            .starts_with("HTTP/1.1 200")
    );
    assert!(within(listening).await.expect("heard").completed());
    let unknown = http(&server.base_url, "GET /v2/nothing", "").await;
    assert!(
        unknown.starts_with("HTTP/1.1 404") && unknown.contains("/v1/responses"),
        "{unknown}"
    );
    let rubbish = http(&server.base_url, "POST /v1/responses", "not json").await;
    assert!(
        rubbish.starts_with("HTTP/1.1 400") && rubbish.contains("no JSON object"),
        "{rubbish}"
    );
}

struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn program(args: &[&std::ffi::OsStr]) -> Program {
    let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
    command
        .arg("rehearse")
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Program(command.spawn().expect("the program starts"))
}

#[tokio::test]
async fn the_command_serves_a_script_and_records() {
    let folder = tempfile::tempdir().expect("a folder");
    let (script, record) = (folder.path().join("script.json"), folder.path().join("requests.jsonl"));
    std::fs::write(&script, r#"{"steps": [[{"say": "from the file"}]]}"#).expect("written");
    let mut program = program(&[script.as_os_str(), "--record".as_ref(), record.as_os_str()]);
    let mut line = String::new();
    BufReader::new(program.0.stdout.take().expect("stdout"))
        .read_line(&mut line)
        .expect("a line");
    let base_url = line
        .trim()
        .strip_prefix("listening on ")
        .unwrap_or_else(|| panic!("{line:?}"));
    assert!(
        base_url.starts_with("http://127.0.0.1:") && base_url.ends_with("/v1"),
        "{base_url}"
    );
    let provider = Provider {
        env_key: Some("KEY".into()),
        ..provider(base_url, WireApi::Responses)
    };
    let heard = hear(&ModelClient::new(&provider, Some("sk-secret".into()), "test"), &ask()).await;
    assert_eq!(heard.short(), ["message:from the file"]);
    let recorded = std::fs::read_to_string(&record).expect("a record");
    let recorded_json: Value = serde_json::from_str(&recorded).expect("one line of JSON");
    assert_eq!(recorded_json["step"], 0);
    assert!(!recorded.contains("sk-secret"));
}

#[test]
fn the_command_says_what_is_wrong() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("written");
        path.into_os_string()
    };
    let good = write("good.json", "[]");
    let here = |text: &'static str| std::ffi::OsString::from(text);
    let table = [
        (
            vec![folder.path().join("absent.json").into_os_string()],
            "cannot read the script",
        ),
        (vec![write("broken.json", "{")], "line 1, column 1"),
        (
            vec![write("wrong.json", r#"[[{"sya": "x"}]]"#)],
            "[0][0]: there is no output `sya`",
        ),
        (vec![good.clone(), here("--addr"), here("0.0.0.0:0")], "--remote"),
        (
            vec![good.clone(), here("--record"), folder.path().as_os_str().to_owned()],
            "--record",
        ),
        (
            vec![good, here("--addr"), here("203.0.113.1:1"), here("--remote")],
            "cannot listen",
        ),
    ];
    for (args, words) in table {
        let args: Vec<_> = args.iter().map(std::ffi::OsString::as_os_str).collect();
        let mut program = program(&args);
        let mut said = String::new();
        program
            .0
            .stderr
            .take()
            .expect("stderr")
            .read_to_string(&mut said)
            .expect("read");
        assert!(!program.0.wait().expect("it ends").success(), "{args:?}");
        assert!(said.contains(words), "{args:?}: {said}");
    }
}
