//! Commands beside all conversations, and the same for an editor that knows nothing of our protocol.

use crate::support::client::{Answer, Caps, Client, Reply, ServerOptions};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const EXEC: &str = "countersign/command/exec";

struct Place {
    client: Client,
    dir: PathBuf,
    _folder: TempDir,
}

impl Place {
    async fn new(config: &str) -> Self {
        Self::with(config, Caps::Plugin).await
    }

    async fn with(config: &str, caps: Caps) -> Self {
        // Not in the temporary folder, which commands may write.
        let folder = tempfile::Builder::new()
            .prefix("one-off")
            .tempdir_in("/var/tmp")
            .expect("a temporary folder");
        let dir = folder.path().canonicalize().expect("a path").join("work");
        std::fs::create_dir_all(dir.join("sub")).expect("a workspace");
        let client = Client::start(ServerOptions {
            caps,
            roots: vec![dir.clone()],
            config: Some(config.to_owned()),
            env: vec![("ACME_MARK".to_owned(), dir.display().to_string())],
            ..ServerOptions::default()
        })
        .await;
        Self {
            client,
            dir,
            _folder: folder,
        }
    }

    async fn exec(&self, params: Value) -> Answer {
        self.client.request(EXEC, params).await
    }

    async fn sh(&self, script: &str) -> Value {
        self.client.call(EXEC, json!({"command": ["sh", "-c", script]})).await
    }
}

/// Processes whose command line holds this.
fn running(mark: &str) -> usize {
    let found = std::fs::read_dir("/proc").expect("/proc").flatten();
    let command = |entry: std::fs::DirEntry| std::fs::read(entry.path().join("cmdline")).ok();
    found
        .filter(|entry| {
            entry
                .file_name()
                .to_string_lossy()
                .bytes()
                .all(|byte| byte.is_ascii_digit())
        })
        .filter_map(command)
        .filter(|line| String::from_utf8_lossy(line).contains(mark))
        .count()
}

async fn gone(mark: &str) {
    let asked = Instant::now();
    while running(mark) > 0 {
        assert!(asked.elapsed() < Duration::from_secs(20), "{mark} still runs");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn begun(mark: &str) {
    let asked = Instant::now();
    while running(mark) == 0 {
        assert!(asked.elapsed() < Duration::from_secs(10), "{mark} does not begin");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Shows S-373, S-376, S-377.
#[tokio::test]
async fn what_it_is_given_and_what_it_answers() {
    let place = Place::new("").await;
    let answer = place
        .exec(json!({"command": ["printf", "%s|", "a b", "$HOME", ""]}))
        .await
        .unwrap();
    assert_eq!(
        (
            &answer["exitCode"],
            &answer["stdout"],
            &answer["stderr"],
            &answer["timedOut"]
        ),
        (&json!(0), &json!("a b|$HOME||"), &json!(""), &json!(false))
    );
    assert!(answer["durationMs"].is_u64());
    let answer = place.sh("echo out; echo err >&2; exit 3").await;
    assert_eq!(
        (&answer["exitCode"], &answer["stdout"], &answer["stderr"]),
        (&json!(3), &json!("out\n"), &json!("err\n"))
    );
    let answer = place.sh("kill -KILL $$").await;
    assert_eq!(answer["exitCode"], 137);
    let answer = place
        .exec(json!({"command": ["cat"], "stdin": "from the client\n"}))
        .await
        .unwrap();
    assert_eq!(answer["stdout"], "from the client\n");
    for (params, code, kind, words) in [
        (json!({"command": []}), -32600, "emptyCommand", "nothing to run"),
        (json!({"command": [""]}), -32600, "emptyCommand", "nothing to run"),
        (json!({}), -32602, "invalidParams", "command"),
        (json!({"command": "ls"}), -32602, "invalidParams", "command"),
        (json!({"command": ["a\0b"]}), -32602, "invalidParams", "NUL"),
        (
            json!({"command": ["ls"], "timeoutMs": -1}),
            -32602,
            "invalidParams",
            "command/exec",
        ),
        (
            json!({"command": ["ls"], "env": {"A=B": "x"}}),
            -32602,
            "invalidParams",
            "A=B",
        ),
        (
            json!({"command": ["ls"], "streamOutput": true}),
            -32602,
            "invalidParams",
            "processId",
        ),
        (
            json!({"command": ["/no/such/program"]}),
            -32603,
            "execFailed",
            "/no/such/program",
        ),
        (
            json!({"command": ["no-such-program-anywhere"]}),
            -32603,
            "execFailed",
            "no program",
        ),
        (
            json!({"command": ["/etc/passwd"]}),
            -32603,
            "execFailed",
            "cannot be executed",
        ),
        (
            json!({"command": ["ls"], "cwd": "/no/such/folder"}),
            -32603,
            "execFailed",
            "/no/such/folder",
        ),
    ] {
        let error = place.exec(params.clone()).await.unwrap_err();
        assert_eq!(
            (error.code, error.data["kind"].as_str()),
            (code, Some(kind)),
            "{params}: {error:?}"
        );
        assert!(error.message.contains(words), "{params}: {}", error.message);
    }
}

/// Shows S-374.
#[tokio::test]
async fn defaults_of_folder_environment_and_time() {
    let place = Place::new("[shell_environment_policy]\nset = { ACME_SET = \"given\", ACME_OTHER = \"x\" }").await;
    let answer = place.sh("pwd; env").await;
    let text = answer["stdout"].as_str().expect("text");
    assert!(text.starts_with(&format!("{}\n", place.dir.display())), "{text}");
    assert!(
        text.contains("ACME_SET=given") && !text.contains("ACME_MARK") && !text.contains("THREAD_ID"),
        "{text}"
    );
    let own = json!({"ACME_SET": "mine", "ACME_OTHER": null, "NEW": ""});
    for (cwd, expected) in [
        ("sub", place.dir.join("sub")),
        ("/", PathBuf::from("/")),
        ("sub/..", place.dir.clone()),
    ] {
        let params = json!({"command": ["sh", "-c", "pwd; env"], "cwd": cwd, "env": own});
        let answer = place.exec(params).await.unwrap();
        let text = answer["stdout"].as_str().expect("text");
        assert!(text.starts_with(&format!("{}\n", expected.display())), "{cwd}: {text}");
        assert!(
            text.contains("ACME_SET=mine\n") && text.contains("NEW=\n") && !text.contains("ACME_OTHER"),
            "{text}"
        );
    }
    let answer = place
        .exec(json!({"command": ["sh", "-c", "echo a; sleep 1000"], "timeoutMs": 5000}))
        .await
        .unwrap();
    assert_eq!(
        (&answer["exitCode"], &answer["timedOut"], &answer["stdout"]),
        (&json!(124), &json!(true), &json!("a\n"))
    );
    // No number is too large.
    let answer = place
        .exec(json!({"command": ["true"], "timeoutMs": u64::MAX}))
        .await
        .unwrap();
    assert_eq!(answer["exitCode"], 0);
}

/// Shows S-375.
#[tokio::test]
async fn the_sandbox_is_the_configured_one_or_the_one_that_is_named() {
    let place = Place::new("").await;
    let outside = place.dir.parent().expect("a folder").join("outside");
    let write = |path: &Path| format!("echo x > {} && echo written", path.display());
    let inside = place.dir.join("inside");
    for (policy, cwd, path, allowed) in [
        (Value::Null, Value::Null, &inside, true),
        (Value::Null, Value::Null, &outside, false),
        // The folder that it runs in opens nothing.
        (Value::Null, json!(outside.parent()), &outside, false),
        (Value::Null, json!(outside.parent()), &inside, true),
        (json!({"type": "readOnly"}), Value::Null, &inside, false),
        (json!({"type": "readOnly"}), Value::Null, &outside, false),
        (
            json!({"type": "workspaceWrite", "writableRoots": [outside.parent()]}),
            Value::Null,
            &outside,
            true,
        ),
        (json!({"type": "dangerFullAccess"}), Value::Null, &outside, true),
    ] {
        for path in [&inside, &outside] {
            let _absent = std::fs::remove_file(path);
        }
        let mut params = json!({"command": ["sh", "-c", write(path)]});
        for (name, value) in [("sandboxPolicy", &policy), ("cwd", &cwd)] {
            if !value.is_null() {
                params[name] = value.clone();
            }
        }
        let answer = place.exec(params.clone()).await.unwrap();
        assert_eq!(answer["stdout"] == "written\n", allowed, "{params}: {answer}");
        assert_eq!(path.exists(), allowed, "{params}");
        assert_eq!(answer.get("denied").is_some(), !allowed, "{params}: {answer}");
    }
    drop(place);
    let reading = Place::new("sandbox_mode = \"read-only\"").await;
    assert_ne!(reading.sh("touch inside").await["exitCode"], 0);
}

/// Shows S-418.
#[tokio::test]
async fn a_profile_says_what_it_may_do_as_for_threads() {
    let place = Place::new(
        "default_permissions = \"narrow\"\n[permissions.narrow]\nextends = \":read-only\"\n\
         [permissions.narrow.filesystem]\n\":workspace_roots/sub\" = \"write\"\n",
    )
    .await;
    for (permissions, script, allowed) in [
        (None, "touch sub/new", true),
        (None, "touch new", false),
        (Some(":read-only"), "touch sub/other", false),
        (Some(":workspace"), "touch new", true),
        (Some(":workspace"), "touch ../new", false),
        (Some(":full-access"), "touch ../new", true),
    ] {
        let mut params = json!({"command": ["sh", "-c", script]});
        if let Some(permissions) = permissions {
            params["permissions"] = json!(permissions);
        }
        let answer = place.exec(params.clone()).await.unwrap();
        assert_eq!(answer["exitCode"] == 0, allowed, "{params}: {answer}");
    }
    for params in [
        json!({"command": ["ls"], "permissions": "unknown"}),
        json!({"command": ["ls"], "permissions": ":read-only", "sandboxPolicy": {"type": "readOnly"}}),
    ] {
        let error = place.exec(params.clone()).await.unwrap_err();
        assert_eq!(error.code, -32602, "{params}: {error:?}");
    }
}

/// Shows S-376, S-378.
#[tokio::test]
async fn it_runs_beside_everything_and_leaves_no_trace() {
    let place = Place::new("").await;
    let client = &place.client;
    // Each waits for the other: one after the other they would never end.
    let meet = |own: &str, other: &str| {
        let script = format!("touch {own}; until [ -e {other} ]; do sleep 0.02; done; echo met");
        client.send_request(EXEC, json!({"command": ["sh", "-c", script]}))
    };
    let ids: Vec<_> = (0..6)
        .map(|n| meet(&format!("f{n}"), &format!("f{}", (n + 1) % 6)))
        .collect();
    // And nothing else waits for them.
    let list = client
        .call("countersign/thread/list", json!({"modelProviders": []}))
        .await;
    assert_eq!(list["data"], json!([]));
    for id in ids {
        assert_eq!(client.expect_answer(json!(id)).await.unwrap()["stdout"], "met\n");
    }
    let list = client
        .call("countersign/thread/list", json!({"modelProviders": []}))
        .await;
    assert_eq!(list["data"], json!([]));
    let sessions = client.home().join("sessions");
    assert!(!sessions.exists() || std::fs::read_dir(&sessions).expect("a folder").next().is_none());
    assert!(client.take_unread().is_empty(), "nothing is told of them");
}

#[tokio::test]
async fn what_takes_it_back_ends_it_with_its_children() {
    let mut place = Place::new("").await;
    let mark = format!("one-off-{}", std::process::id());
    let script = format!("trap '' TERM; (setsid sh -c 'sleep 1000; : {mark}' &); sleep 1000; : {mark}");
    // By the protocol's own means.
    let id = place
        .client
        .send_request(EXEC, json!({"command": ["sh", "-c", script], "timeoutMs": 600_000}));
    begun(&mark).await;
    place.client.notify("$/cancelRequest", json!({"id": id}));
    assert_eq!(place.client.expect_answer(json!(id)).await.unwrap_err().code, -32800);
    gone(&mark).await;
    // By its name; the answer has what it said.
    let script = format!("echo said; sleep 1000; : {mark}");
    let named = json!({"command": ["sh", "-c", script], "processId": "mine", "timeoutMs": 600_000});
    let id = place.client.send_request(EXEC, named.clone());
    begun(&mark).await;
    let error = place.exec(named).await.unwrap_err();
    assert_eq!(error.code, -32602, "{error:?}");
    assert!(error.message.contains("mine"), "{}", error.message);
    let stop = |name: &str| {
        place
            .client
            .call("countersign/command/terminate", json!({"processId": name}))
    };
    assert_eq!(stop("other").await, json!({"stopped": false}));
    assert_eq!(stop("mine").await, json!({"stopped": true}));
    let answer = place.client.expect_answer(json!(id)).await.unwrap();
    assert_eq!((&answer["stopped"], &answer["exitCode"]), (&json!(true), &json!(130)));
    assert_eq!(stop("mine").await, json!({"stopped": false}));
    gone(&mark).await;
    // A client that is gone.
    let last = format!("sleep 1000; : {mark}-last");
    let id = place
        .client
        .send_request(EXEC, json!({"command": ["sh", "-c", last], "timeoutMs": 600_000}));
    begun(&format!("{mark}-last")).await;
    place.client.hang_up();
    place.client.expect_end().await;
    gone(&mark).await;
    // Whoever asked was told, while there was somebody to tell.
    let _answer = place.client.expect_answer(json!(id)).await;
}

#[tokio::test]
async fn output_is_told_as_it_comes_and_bounded() {
    let place = Place::new("").await;
    let script = "echo first; until [ -e go ]; do sleep 0.02; done; echo second; echo wrong >&2";
    let params = json!({"command": ["sh", "-c", script], "processId": "p", "streamOutput": true});
    let id = place.client.send_request(EXEC, params);
    let first = place.client.expect_notification("countersign/command/output").await;
    assert_eq!(first, json!({"processId": "p", "stream": "stdout", "delta": "first\n"}));
    std::fs::write(place.dir.join("go"), "").expect("a file");
    let answer = place.client.expect_answer(json!(id)).await.unwrap();
    assert_eq!(answer["stdout"], "first\nsecond\n");
    let rest = place.client.take_unread();
    let of = |stream: &str| -> String {
        let told = rest.iter().filter(|(_, params)| params["stream"] == stream);
        told.filter_map(|(_, params)| params["delta"].as_str()).collect()
    };
    assert_eq!((of("stdout"), of("stderr")), ("second\n".into(), "wrong\n".into()));
    let trace = place.client.trace();
    assert_eq!(
        trace.last(),
        Some(&format!("answer {id}")),
        "the answer comes after all output"
    );
    // A flood is joined, cut, and says so.
    let flood = "head -c 20000000 /dev/zero | tr '\\0' x; echo; echo end";
    let params = json!({"command": ["sh", "-c", flood], "processId": "p", "streamOutput": true});
    let answer = place.client.call(EXEC, params).await;
    let kept = answer["stdout"].as_str().expect("text");
    assert!(kept.len() < 1100 << 10 && kept.ends_with("end\n"), "{}", kept.len());
    let told = place.client.take_unread();
    let bytes: usize = told
        .iter()
        .map(|(_, params)| params["delta"].as_str().expect("text").len())
        .sum();
    // Of a flood as much comes as fits while it lasts.
    assert!((1..=1 << 20).contains(&bytes), "{bytes}");
    assert!(told.len() < 600, "{}", told.len());
    let capped: Vec<bool> = told.iter().map(|(_, params)| params["capReached"] == true).collect();
    let before = &capped[..capped.len() - 1];
    assert!(before.iter().all(|cap| !cap), "{capped:?}");
}

#[tokio::test]
async fn an_editor_without_a_plugin_has_both_as_commands() {
    let place = Place::with("", Caps::Recorded("helix-25.07.1")).await;
    let client = &place.client;
    let commands = client.server_says["capabilities"]["executeCommandProvider"]["commands"].clone();
    for name in ["countersign.exec", "countersign.runCommand"] {
        assert!(commands.as_array().expect("names").contains(&json!(name)), "{commands}");
    }
    let execute = |name: &str, argument: Value| {
        let arguments: Vec<Value> = Some(argument)
            .filter(|argument| !argument.is_null())
            .into_iter()
            .collect();
        json!({"command": name, "arguments": arguments})
    };
    let run = |name: &'static str, argument: Value| client.request("workspace/executeCommand", execute(name, argument));
    let answer = run("countersign.exec", json!({"command": ["echo", "hi"]}))
        .await
        .unwrap();
    assert_eq!((&answer["exitCode"], &answer["stdout"]), (&json!(0), &json!("hi\n")));
    let kinds = |progress: Vec<(String, Value)>| -> Vec<String> {
        let values = progress
            .into_iter()
            .map(|(_, params)| params["value"]["kind"].as_str().unwrap_or("").to_owned());
        values.collect()
    };
    // What runs for longer than a moment is shown as running, too.
    let mut kinds = kinds(client.take_unread());
    kinds.retain(|kind| kind != "report");
    assert_eq!(kinds, ["begin", "end"]);
    // Cancel on the progress stops it.
    let id = client.send_request(
        "workspace/executeCommand",
        execute(
            "countersign.exec",
            json!({"command": ["sh", "-c", "echo working; sleep 1000"], "timeoutMs": 600_000}),
        ),
    );
    let begin = client.expect_notification("$/progress").await;
    assert_eq!(begin["value"]["cancellable"], true);
    let report = client.expect_notification("$/progress").await;
    assert_eq!(report["value"]["message"], "working");
    client.notify("window/workDoneProgress/cancel", json!({"token": begin["token"]}));
    let answer = client.expect_answer(json!(id)).await.unwrap();
    assert_eq!(answer["stopped"], true);
    client.expect_notification("$/progress").await;
    for (name, argument) in [
        ("countersign.exec", Value::Null),
        ("countersign.exec", json!({"command": "ls"})),
        ("countersign.runCommand", Value::Null),
        ("countersign.runCommand", json!({"uri": "file:///a"})),
    ] {
        let error = run(name, argument).await.unwrap_err();
        assert_eq!(error.code, -32602, "{error:?}");
    }
    assert_eq!(
        run("countersign.runCommand", json!("!  ")).await.unwrap_err().data["kind"],
        "emptyCommand"
    );
    // The person's own, in the folder's conversation: its output is shown, and no model is asked.
    client.ignore("$/progress");
    client.on_request("window/showMessageRequest", |_| Reply::Never);
    for argument in [
        json!("echo own; touch ../outside"),
        json!({"command": "!echo own; touch ../outside"}),
    ] {
        assert_eq!(run("countersign.runCommand", argument).await.unwrap(), Value::Null);
        let shown = client.expect_notification("window/showMessage").await;
        let text = shown["message"].as_str().expect("text");
        assert!(
            text.contains("echo own") && text.trim_end().ends_with("\n  own"),
            "{text}"
        );
        assert!(place.dir.join("../outside").exists(), "with the person's rights");
    }
}
