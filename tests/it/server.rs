//! The server as a client on the wire sees it: life cycle, bad input, order, ways to connect and to end.

use crate::support::client::{Caps, Client, Place, ServerOptions, initialize_params};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn in_thread() -> ServerOptions {
    ServerOptions {
        place: Place::Thread,
        ..ServerOptions::default()
    }
}

#[tokio::test]
async fn every_recorded_editor_is_served() {
    for (caps, encoding) in [
        ("ale-4.0.0", "utf-16"),
        ("eglot-1.17.30", "utf-32"),
        ("helix-25.01.1", "utf-8"),
        ("helix-25.07.1", "utf-8"),
        ("kakoune-lsp-22.0.0", "utf-8"),
        ("lsp-mode-10.0.0", "utf-32"),
        ("nvim-0.10.4", "utf-16"),
        ("nvim-0.12.4", "utf-8"),
        ("vscode-1.139-lc11", "utf-16"),
        ("vscode-lc9", "utf-16"),
    ] {
        let client = Client::start(ServerOptions {
            caps: Caps::Recorded(caps),
            ..in_thread()
        })
        .await;
        let says = &client.server_says;
        assert_eq!(says["capabilities"]["positionEncoding"], encoding, "{caps}");
        assert_eq!(says["capabilities"]["textDocumentSync"]["change"], 2);
        assert_eq!(
            says["capabilities"]["workspace"]["workspaceFolders"]["changeNotifications"],
            true
        );
        assert_eq!(says["capabilities"]["experimental"]["countersign"]["version"], 1);
        assert_eq!(says["serverInfo"]["name"], "countersign");
    }
    drop(
        Client::start(ServerOptions {
            caps: Caps::Bare,
            process_id: None,
            ..in_thread()
        })
        .await,
    );
}

/// Shows S-434.
#[tokio::test]
async fn initialize_comes_first_and_once() {
    let mut client = Client::connect(in_thread());
    let early = client.request("textDocument/codeAction", json!({})).await.unwrap_err();
    assert_eq!(early.code, -32002, "{early:?}");
    assert_eq!(client.request("shutdown", Value::Null).await.unwrap_err().code, -32002);
    assert_eq!(client.request("no/such", Value::Null).await.unwrap_err().code, -32002);
    client.notify("textDocument/didOpen", json!({"textDocument": {}}));
    assert_eq!(
        client.request("initialize", Value::Null).await.unwrap_err().code,
        -32602
    );
    assert_eq!(client.request("initialize", json!([1])).await.unwrap_err().code, -32602);
    client.call("initialize", initialize_params(&in_thread())).await;
    client.notify("initialized", json!({}));
    client.initialized();
    let second = client
        .request("initialize", initialize_params(&in_thread()))
        .await
        .unwrap_err();
    assert_eq!(second.code, -32600, "{second:?}");
    client.call("shutdown", json!({})).await;
    let late = client.request("shutdown", Value::Null).await.unwrap_err();
    assert_eq!(late.code, -32600, "{late:?}");
    assert_eq!(
        client
            .request("workspace/executeCommand", json!({"command": "x"}))
            .await
            .unwrap_err()
            .code,
        -32600
    );
    client.notify("exit", Value::Null);
    assert_eq!(client.expect_end().await, 0);
}

#[tokio::test]
async fn broken_frames_are_answered_and_the_stream_is_found_again() {
    let client = Client::start(in_thread()).await;
    for bytes in [
        "Content-Length: 5\r\n\r\n{\"a\":1}\r\n",
        "Content-Length: 8\r\n\r\n{\"a\": x}",
        "Content-Type: x\r\n\r\n{}\n",
        "Content-Length: -1\r\n\r\n",
        "Content-Length: many\r\n\r\n{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}\r\n",
        "{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}\n",
        "Content-Length: 0\r\n\r\n",
        "Content-Length: 1\r\n\r\n\u{7f}",
        "Content-Length: 60\r\n\r\n{}",
        "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ] {
        client.send_bytes(bytes.as_bytes());
        client.settle().await;
        let error = client.expect_answer(Value::Null).await.unwrap_err();
        assert_eq!(error.code, -32700, "{bytes:?}");
    }
    client.send_bytes(b"Content-Length: 20\r\n\r\n{\"method\":\"\xff\xfe\xfd\"}     ");
    assert_eq!(client.expect_answer(Value::Null).await.unwrap_err().code, -32700);
    // A header in any case, with what is not known in it.
    client.send_bytes(b"X-Other: 1\r\ncontent-length:43\r\nContent-Type: application/json\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"no/such\"}");
    client.send_bytes(b"   ");
    let _ = client.expect_answer(Value::Null).await;
    client.settle().await;
}

#[tokio::test]
async fn wrong_messages_are_answered_once_with_what_is_wrong() {
    let client = Client::start(in_thread()).await;
    for (message, id, code, part) in [
        (
            json!({"jsonrpc": "2.0", "id": "a", "method": "no/such"}),
            json!("a"),
            -32601,
            "no/such",
        ),
        (
            json!({"jsonrpc": "2.0", "id": "a", "method": "$/no/such", "params": {}}),
            json!("a"),
            -32601,
            "$/no/such",
        ),
        (
            json!({"jsonrpc": "2.0", "id": "a", "method": "countersign/no/such"}),
            json!("a"),
            -32601,
            "no/such",
        ),
        (
            json!({"jsonrpc": "2.0", "id": 7.0, "method": "textDocument/hover", "params": {}}),
            json!(7),
            -32602,
            "hover",
        ),
        (
            json!({"jsonrpc": "2.0", "id": "a", "method": ""}),
            json!("a"),
            -32601,
            "method",
        ),
        (
            json!({"jsonrpc": "2.0", "id": "a", "method": "workspace/executeCommand"}),
            json!("a"),
            -32602,
            "executeCommand",
        ),
        (
            json!({"jsonrpc": "2.0", "id": "a", "method": "workspace/executeCommand", "params": {"command": 3}}),
            json!("a"),
            -32602,
            "string",
        ),
        (
            json!({"jsonrpc": "2.0", "id": "a", "method": "workspace/executeCommand", "params": "x"}),
            json!("a"),
            -32602,
            "executeCommand",
        ),
        (
            json!({"jsonrpc": "2.0", "id": "a", "method": "workspace/executeCommand", "params": {"command": "rm"}}),
            json!("a"),
            -32602,
            "rm",
        ),
        (
            json!({"jsonrpc": "2.0", "id": "a", "method": "textDocument/didOpen", "params": {}}),
            json!("a"),
            -32600,
            "notification",
        ),
        (
            json!({"jsonrpc": "1.0", "id": "a", "method": "shutdown"}),
            json!("a"),
            -32600,
            "2.0",
        ),
        (json!({"id": "a", "method": "shutdown"}), json!("a"), -32600, "2.0"),
        (
            json!({"jsonrpc": "2.0", "id": {"x": 1}, "method": "shutdown"}),
            Value::Null,
            -32600,
            "id",
        ),
        (
            json!({"jsonrpc": "2.0", "id": null, "method": "shutdown"}),
            Value::Null,
            -32600,
            "id",
        ),
        (
            json!({"jsonrpc": "2.0", "id": "a", "method": 5}),
            json!("a"),
            -32600,
            "method",
        ),
        (
            json!([{"jsonrpc": "2.0", "id": "a", "method": "shutdown"}]),
            Value::Null,
            -32600,
            "batch",
        ),
        (json!([]), Value::Null, -32600, "batch"),
        (json!(17), Value::Null, -32600, "object"),
        (json!({}), Value::Null, -32600, "method"),
    ] {
        client.send(&message);
        let error = client.expect_answer(id).await.unwrap_err();
        assert_eq!(error.code, code, "{message}: {error:?}");
        assert!(error.message.contains(part), "{message}: {error:?}");
    }
    // What needs no answer gets none.
    for message in [
        json!({"jsonrpc": "2.0", "method": "no/such", "params": {"x": 1}}),
        json!({"jsonrpc": "2.0", "method": "$/setTrace", "params": {"value": "off"}}),
        json!({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 4711}}),
        json!({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "never"}}),
        json!({"jsonrpc": "2.0", "method": "$/cancelRequest"}),
        json!({"jsonrpc": "2.0", "method": "workspace/executeCommand", "params": {"command": "x"}}),
        json!({"jsonrpc": "2.0", "id": 4711, "result": {}}),
        json!({"jsonrpc": "2.0", "id": "stray", "result": {}}),
        json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "not understood"}}),
        json!({"jsonrpc": "2.0", "id": 4711, "error": "rubbish"}),
    ] {
        client.send(&message);
    }
    client.settle().await;
}

/// The client says how much it wants to be told of its own messages, at the beginning and at any time.
#[tokio::test]
async fn what_is_done_with_messages_is_told_where_the_client_wants_it() {
    const TOLD: &str = "$/logTrace";
    let client = Client::start(in_thread()).await;
    let set = |value: serde_json::Value| client.notify("$/setTrace", json!({ "value": value }));
    // Off at first.
    client.call("countersign/thread/list", json!({})).await;
    set(json!("messages"));
    client.call("countersign/thread/list", json!({})).await;
    let told = client.expect_notification(TOLD).await;
    let message = told["message"].as_str().expect("text");
    assert!(
        message.starts_with("Answered the request countersign/thread/list (") && message.ends_with(" ms."),
        "{told}"
    );
    assert!(told.get("verbose").is_none(), "{told}");
    set(json!("loud"));
    set(json!("verbose"));
    client.request("no/such", json!({})).await.expect_err("there is none");
    let told = client.expect_notification(TOLD).await;
    assert!(
        told["message"]
            .as_str()
            .is_some_and(|text| text.starts_with("Refused the request no/such (")),
        "{told}"
    );
    assert!(
        told["verbose"]
            .as_str()
            .is_some_and(|text| text.contains("-32601") && text.contains("no/such")),
        "{told}"
    );
    client.notify("workspace/didChangeConfiguration", json!({"settings": null}));
    let told = client.expect_notification(TOLD).await;
    assert_eq!(
        told["message"],
        "Took the notification workspace/didChangeConfiguration."
    );
    set(json!("off"));
    client.call("countersign/thread/list", json!({})).await;
    client.settle().await;
}

#[tokio::test]
async fn a_notification_with_wrong_parameters_is_told_to_the_person_once() {
    let client = Client::start(in_thread()).await;
    for params in [
        json!({"textDocument": {"uri": "file:///x.rs"}}),
        json!({"textDocument": {"uri": "file:///x.rs"}}),
        json!(null),
    ] {
        client.notify("textDocument/didChange", params);
    }
    client.settle().await;
    let message = client.expect_notification("window/showMessage").await;
    assert!(
        message["message"].as_str().unwrap().contains("file:///x.rs"),
        "{message}"
    );
    client.expect_notification("window/showMessage").await;
    // A change of what was never opened is told once for each document.
    for _ in 0..2 {
        let document = json!({"uri": "file:///never.rs", "version": 2});
        client.notify(
            "textDocument/didChange",
            json!({"textDocument": document, "contentChanges": [{"text": "x"}]}),
        );
    }
    client.settle().await;
    let message = client.expect_notification("window/showMessage").await;
    assert!(
        message["message"].as_str().unwrap().contains("file:///never.rs"),
        "{message}"
    );
    // Harmless ones are not told: an editor that opens it a moment later, with all of its text, is no worse off.
    let late = json!({"uri": "file:///late.rs", "version": 1, "languageId": "rust", "text": "x"});
    client.notify(
        "textDocument/didChange",
        json!({"textDocument": {"uri": "file:///late.rs", "version": 0}, "contentChanges": [{"text": "x"}]}),
    );
    client.notify("textDocument/didOpen", json!({"textDocument": late}));
    client.notify(
        "textDocument/didChange",
        json!({"textDocument": {"uri": "file:///late.rs", "version": 2}, "contentChanges": [{"text": "y"}]}),
    );
    client.notify(
        "textDocument/didClose",
        json!({"textDocument": {"uri": "file:///never.rs"}}),
    );
    client.notify(
        "textDocument/didSave",
        json!({"textDocument": {"uri": "file:///never.rs"}}),
    );
    client.settle().await;
}

#[tokio::test]
async fn exit_without_shutdown_and_a_closed_connection_end_with_status_one() {
    let mut client = Client::start(in_thread()).await;
    client.notify("exit", Value::Null);
    assert_eq!(client.expect_end().await, 1);
    let mut client = Client::start(in_thread()).await;
    client.hang_up();
    assert_eq!(client.expect_end().await, 1);
    let mut client = Client::connect(in_thread());
    client.notify("exit", Value::Null);
    assert_eq!(client.expect_end().await, 1);
    // Shut down, then gone without a word.
    let mut client = Client::start(in_thread()).await;
    client.call("shutdown", Value::Null).await;
    client.hang_up();
    assert_eq!(client.expect_end().await, 1);
}

#[tokio::test]
async fn a_message_that_claims_to_be_too_large_ends_the_session() {
    let mut client = Client::start(in_thread()).await;
    client.send_bytes(b"Content-Length: 300000000\r\n\r\n{");
    let error = client.expect_answer(Value::Null).await.unwrap_err();
    assert!(error.message.contains("300000000"), "{error:?}");
    assert_eq!(client.expect_end().await, 1);
}

#[tokio::test]
async fn the_program_serves_over_standard_input_and_output() {
    for args in [
        vec![],
        vec!["--stdio"],
        vec!["serve"],
        vec!["serve", "--stdio"],
        vec!["--stdio", "--clientProcessId=1"],
    ] {
        let args = args.into_iter().map(str::to_owned).collect();
        let client = Client::start(ServerOptions {
            args,
            ..ServerOptions::default()
        })
        .await;
        assert!(client.home().join("log/countersign.log").is_file());
    }
}

#[tokio::test]
async fn the_program_ends_with_one_when_it_is_left() {
    for (name, leave) in [
        (
            "exit",
            (|client: &Client| client.notify("exit", Value::Null)) as fn(&Client),
        ),
        ("hang up", |client| client.hang_up()),
        ("signal", |client| {
            let pid = rustix::process::Pid::from_raw(client.server_pid() as i32).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        }),
    ] {
        let mut client = Client::start(ServerOptions::default()).await;
        let before = Instant::now();
        leave(&client);
        assert_eq!(client.expect_end().await, 1, "{name}");
        assert!(before.elapsed() < Duration::from_secs(20), "{name}");
    }
}

#[tokio::test]
async fn the_program_ends_when_its_parent_is_gone_though_its_input_stays_open() {
    for by_argument in [false, true] {
        let mut parent = Command::new("sleep").arg("1000").spawn().unwrap();
        let (process_id, args) = match by_argument {
            true => (None, vec![format!("--clientProcessId={}", parent.id())]),
            false => (Some(parent.id()), vec![]),
        };
        let mut client = Client::start(ServerOptions {
            process_id,
            args,
            ..ServerOptions::default()
        })
        .await;
        client.settle().await;
        parent.kill().unwrap();
        assert_eq!(client.expect_end().await, 1);
        parent.wait().unwrap();
    }
}

#[tokio::test]
async fn a_home_that_cannot_be_written_does_not_stop_the_server() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let home = Some(file.path().join("home"));
    let client = Client::start(ServerOptions {
        home,
        ..ServerOptions::default()
    })
    .await;
    let line = client.expect_log("No log is written").await;
    assert!(line["message"].as_str().unwrap().contains("COUNTERSIGN_HOME"), "{line}");
}

#[tokio::test]
async fn open_text_is_kept_in_step() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a b.rs");
    let client = Client::start(ServerOptions {
        roots: vec![folder.path().into()],
        ..in_thread()
    })
    .await;
    client.open(&path, "rust", 1, "fn a() {}\r\n😀x\n");
    let uri = countersign::workspace::uri::from_path(&path);
    // Out of range, out of order and the wrong way round: none is an error.
    for (version, change) in [
        (
            2,
            json!({"range": {"start": {"line": 1, "character": 4}, "end": {"line": 1, "character": 5}}, "text": "y"}),
        ),
        (
            2,
            json!({"range": {"start": {"line": 99, "character": 4}, "end": {"line": 4294967295u32, "character": 0}}, "text": "end"}),
        ),
        (
            1,
            json!({"range": {"start": {"line": 0, "character": 4294967295u32}, "end": {"line": 0, "character": 2}}, "text": "!"}),
        ),
        (3, json!({"text": "all new"})),
    ] {
        let document = json!({"uri": uri, "version": version});
        client.notify(
            "textDocument/didChange",
            json!({"textDocument": document, "contentChanges": [change]}),
        );
    }
    client.notify(
        "textDocument/didSave",
        json!({"textDocument": {"uri": uri}, "text": "all new"}),
    );
    let event =
        json!({"added": [{"uri": "file:///more", "name": "more"}], "removed": [{"uri": "file:///gone", "name": "x"}]});
    client.notify("workspace/didChangeWorkspaceFolders", json!({"event": event}));
    client.notify("textDocument/didClose", json!({"textDocument": {"uri": uri}}));
    client.notify(
        "textDocument/didOpen",
        json!({"textDocument": {"uri": "untitled:Untitled-1", "languageId": "", "version": -1, "text": ""}}),
    );
    client.notify(
        "textDocument/didOpen",
        json!({"textDocument": {"uri": "file:///a%ff", "languageId": "x", "version": 0, "text": "\u{0}"}}),
    );
    client.settle().await;
    client.expect_log("not UTF-8").await;
}

/// One client at a time over TCP, and over a socket that either side may have made.
#[tokio::test]
async fn the_program_serves_over_tcp_and_pipes() {
    let folder = tempfile::tempdir().unwrap();
    let start = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
        command
            .args(args)
            .env("COUNTERSIGN_HOME", folder.path())
            .stdin(Stdio::null())
            .stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let last_words = |child: &mut std::process::Child, lines: usize| {
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let lines = stderr.lines().take(lines).map(|line| line.unwrap());
        let last = lines.map(|line| line.rsplit(' ').next().unwrap().to_owned());
        last.collect::<Vec<_>>()
    };
    let listening = |child: &mut std::process::Child| last_words(child, 1).remove(0);

    let mut child = start(&["serve", "--tcp", "127.0.0.1:0"]);
    let said = last_words(&mut child, 2);
    let secret = std::fs::read_to_string(&said[1]).unwrap();
    let stream = std::net::TcpStream::connect(&said[0]).unwrap();
    let mut writer = stream.try_clone().unwrap();
    write!(writer, "Authorization: Bearer {secret}\r\n").unwrap();
    speak(stream, writer);
    assert_eq!(child.wait().unwrap().code(), Some(0));

    // The server makes the socket, over one that was left behind.
    let path = folder.path().join("a socket");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let mut child = start(&["serve", "--pipe", path.to_str().unwrap()]);
    listening(&mut child);
    let stream = std::os::unix::net::UnixStream::connect(&path).unwrap();
    speak(stream.try_clone().unwrap(), stream);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(!path.exists());

    // The editor has made it.
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let mut child = start(&[&format!("--pipe={}", path.display())]);
    let (stream, _) = listener.accept().unwrap();
    speak(stream.try_clone().unwrap(), stream);
    assert_eq!(child.wait().unwrap().code(), Some(0));

    // What is no socket is left alone.
    let file = folder.path().join("file");
    std::fs::write(&file, "precious").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_countersign"))
        .args(["serve", "--pipe", file.to_str().unwrap()])
        .env("COUNTERSIGN_HOME", folder.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("cannot use the pipe"),
        "{output:?}"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
}

fn speak(reader: impl std::io::Read, mut writer: impl std::io::Write) {
    let mut frame = |message: Value| {
        let body = message.to_string();
        write!(writer, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    };
    frame(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}));
    frame(json!({"jsonrpc": "2.0", "id": 2, "method": "shutdown"}));
    frame(json!({"jsonrpc": "2.0", "method": "exit"}));
    let mut all = String::new();
    BufReader::new(reader).read_to_string(&mut all).unwrap();
    assert!(all.contains("serverInfo") && all.contains("\"id\":2"), "{all}");
}

/// Nothing but the protocol is on standard output, and nothing on standard error.
#[tokio::test]
async fn the_program_is_silent_beside_the_protocol() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_countersign"))
        .env("COUNTERSIGN_HOME", folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"rubbish\r\n\r\nContent-Length: 2\r\n\r\n{}")
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let answers = String::from_utf8(output.stdout).unwrap();
    assert_eq!(answers.matches("Content-Length: ").count(), 2, "{answers}");
}
