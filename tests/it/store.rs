//! Rollout files: written as it happens, read back whatever state they are in, listed quickly.

use countersign::ids::{ItemId, ThreadId, TurnId};
use countersign::model::item::{ContentPart, ResponseItem, ToolOutputPayload};
use countersign::protocol::event::{self, At, Event, EventKind};
use countersign::protocol::item::{CommandAction, CommandSource, Confined, ItemStatus, ThreadItem, UserInput};
use countersign::protocol::model::{ThreadTokenUsage, TokenUsage};
use countersign::protocol::settings::{
    ApprovalPolicy, ApprovalsReviewer, EditApproval, ReasoningSummary, SandboxPolicy, ThreadSettings,
};
use countersign::protocol::thread::{GitInfo, ThreadListParams};
use countersign::protocol::turn::{InterruptedBy, Turn, TurnError, TurnErrorKind, TurnKind, TurnStatus};
use countersign::store::{
    self, EventMsg, Index, Recorder, RolloutItem, SessionMeta, StoreError, TurnContextRecord, Until,
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

fn user(text: &str) -> ResponseItem {
    ResponseItem::Message {
        id: None,
        role: "user".into(),
        content: vec![ContentPart::InputText { text: text.into() }],
    }
}

fn assistant(text: &str) -> ResponseItem {
    ResponseItem::Message {
        id: None,
        role: "assistant".into(),
        content: vec![ContentPart::OutputText { text: text.into() }],
    }
}

fn call(id: &str) -> ResponseItem {
    ResponseItem::FunctionCall {
        id: None,
        name: "read_file".into(),
        arguments: "{}".into(),
        call_id: id.into(),
    }
}

fn output(id: &str) -> ResponseItem {
    ResponseItem::FunctionCallOutput {
        call_id: id.into(),
        output: ToolOutputPayload::Text("text".into()),
    }
}

fn meta(home: &Path) -> SessionMeta {
    let mut meta = SessionMeta::new(ThreadId::fresh(), &home.join("project"), "neovim");
    meta.model_provider = Some("openai".into());
    meta.instructions = Some("Use tabs.".into());
    meta
}

/// A play of events, as a thread sends them.
struct Play {
    thread: ThreadId,
    seq: u64,
    recorder: Recorder,
}

impl Play {
    async fn new(home: &Path) -> Self {
        let meta = meta(home);
        let thread = meta.id.clone();
        Self {
            thread,
            seq: 0,
            recorder: Recorder::create(home, meta).await.expect("the home is writable"),
        }
    }

    fn event(&mut self, turn: &TurnId, kind: EventKind) {
        self.seq += 1;
        let at = At {
            subscription_id: None,
            thread_id: self.thread.clone(),
            turn_id: Some(turn.clone()),
            seq: self.seq,
        };
        self.recorder.record(RolloutItem::of_event(&Event { at, kind }));
    }

    fn item(&mut self, turn: &TurnId, item: ThreadItem) {
        self.event(
            turn,
            EventKind::ItemCompleted(event::ItemCompleted {
                item,
                completed_at_ms: 1,
            }),
        );
    }

    fn begin(&mut self, words: &str) -> TurnId {
        let id = TurnId::fresh();
        let turn = turn(&id, TurnStatus::InProgress, None);
        self.event(
            &id,
            EventKind::TurnStarted(event::TurnStarted {
                turn,
                model_context_window: Some(1000),
            }),
        );
        self.recorder
            .record([RolloutItem::TurnContext(TurnContextRecord::new(&id, &settings()))]);
        self.recorder.record([RolloutItem::ResponseItem(user(words))]);
        let content = vec![UserInput::Text { text: words.into() }];
        self.item(
            &id,
            ThreadItem::UserMessage {
                id: ItemId::fresh(),
                content,
                client_id: None,
                context: Vec::new(),
            },
        );
        id
    }

    fn answer(&mut self, id: &TurnId, words: &str) {
        self.recorder.record([RolloutItem::ResponseItem(assistant(words))]);
        self.item(
            id,
            ThreadItem::AgentMessage {
                id: ItemId::fresh(),
                text: words.into(),
                partial: false,
            },
        );
    }

    fn end(&mut self, id: &TurnId, status: TurnStatus, error: Option<TurnError>) {
        let turn = turn(id, status, error);
        self.event(
            id,
            EventKind::TurnCompleted(event::TurnCompleted {
                turn,
                last_agent_message: None,
                unanswered: vec![],
            }),
        );
    }

    fn whole_turn(&mut self, words: &str, answer: &str) {
        let id = self.begin(words);
        self.answer(&id, answer);
        self.end(&id, TurnStatus::Completed, None);
    }
}

fn turn(id: &TurnId, status: TurnStatus, error: Option<TurnError>) -> Turn {
    Turn {
        id: id.clone(),
        kind: TurnKind::Regular,
        status,
        items: vec![],
        error,
        interrupted_by: (status == TurnStatus::Interrupted).then_some(InterruptedBy::Person),
        started_at_ms: Some(5000),
        completed_at_ms: Some(6000),
    }
}

fn settings() -> ThreadSettings {
    ThreadSettings {
        model: "gpt-x".into(),
        model_provider: "openai".into(),
        effort: Some("high".into()),
        summary: ReasoningSummary::Concise,
        cwd: "/project".into(),
        approval_policy: ApprovalPolicy::Untrusted,
        approvals_reviewer: ApprovalsReviewer::User,
        edit_approval: EditApproval::Ask,
        editor_context: Default::default(),
        mode: Default::default(),
        permissions: Some("own".into()),
        runtime_workspace_roots: vec!["/data/more".into()],
        service_tier: None,
        personality: Default::default(),
        sandbox_policy: SandboxPolicy::WorkspaceWrite {
            writable_roots: vec!["/data".into()],
            network_access: true,
            exclude_tmpdir_env_var: false,
            exclude_slash_tmp: true,
        },
    }
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("the rollout is there");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a line is JSON"))
        .collect()
}

fn file_of(home: &Path, id: &str, body: &[Value]) -> PathBuf {
    let folder = home.join("sessions/2025/05/07");
    std::fs::create_dir_all(&folder).expect("folder");
    let path = folder.join(format!("rollout-2025-05-07T17-24-21-{id}.jsonl"));
    let text: String = body.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(&path, text).expect("file");
    path
}

const ID: &str = "5973b6c0-94b8-487b-a530-2aeb6098ae0e";

fn line(kind: &str, payload: Value) -> Value {
    json!({ "timestamp": "2025-05-07T17:24:21.123Z", "type": kind, "payload": payload })
}

fn meta_line(id: &str) -> Value {
    line(
        "session_meta",
        json!({ "id": id, "timestamp": "2025-05-07T17:24:21.123Z", "cwd": "/project", "originator": "codex_cli_rs",
                "cli_version": "0.50.0", "source": "cli", "instructions": null, "model_provider": "openai" }),
    )
}

fn words_line(text: &str) -> Value {
    line(
        "response_item",
        json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": text }] }),
    )
}

fn said(text: &str) -> Value {
    line(
        "event_msg",
        json!({ "type": "user_message", "message": text, "kind": "plain" }),
    )
}

/// Shows S-293, S-294, S-295, S-030, S-299.
#[tokio::test]
async fn a_thread_is_recorded_line_by_line() {
    let home = tempfile::tempdir().unwrap();
    let mut meta = meta(home.path());
    meta.git = Some(GitInfo {
        sha: Some("abc".into()),
        branch: Some("main".into()),
        origin_url: Some("https://example.com/r.git".into()),
    });
    let id = meta.id.clone();
    let mut play = Play {
        thread: id.clone(),
        seq: 0,
        recorder: Recorder::create(home.path(), meta).await.unwrap(),
    };
    play.whole_turn("Mend it", "Done.");
    play.recorder.record([RolloutItem::Compacted {
        message: "sum".into(),
        replacement_history: Some(vec![user("x")]),
    }]);
    play.recorder.close().await.unwrap();

    let path = play.recorder.path().to_owned();
    assert!(path.to_str().unwrap().ends_with(&format!("-{id}.jsonl")));
    assert_eq!(store::find(home.path(), &id).unwrap(), Some(path.clone()));
    let lines = lines(&path);
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        [
            "session_meta",
            "event_msg",
            "turn_context",
            "response_item",
            "event_msg",
            "event_msg",
            "response_item",
            "event_msg",
            "event_msg",
            "event_msg",
            "compacted"
        ]
    );
    let first = &lines[0]["payload"];
    assert_eq!(first["id"], json!(id));
    assert_eq!(first["cwd"], json!(home.path().join("project")));
    assert_eq!(first["originator"], "countersign");
    assert_eq!(first["cli_version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(first["instructions"], "Use tabs.");
    assert_eq!(first["source"], json!({ "custom": "neovim" }));
    assert_eq!(first["model_provider"], "openai");
    assert_eq!(
        first["git"],
        json!({ "commit_hash": "abc", "branch": "main", "repository_url": "https://example.com/r.git" })
    );
    let context = &lines[2]["payload"];
    assert_eq!(context["approval_policy"], "untrusted");
    assert_eq!(context["sandbox_policy"]["type"], "workspace-write");
    assert_eq!(
        (&context["model"], &context["effort"], &context["summary"]),
        (&json!("gpt-x"), &json!("high"), &json!("concise"))
    );
    let stamps: Vec<&str> = lines.iter().map(|line| line["timestamp"].as_str().unwrap()).collect();
    assert!(stamps.is_sorted(), "{stamps:?}");
    assert!(
        stamps.iter().all(|stamp| stamp.len() == 24 && stamp.ends_with('Z')),
        "{stamps:?}"
    );
    let ordinals: Vec<u64> = lines.iter().map(|line| line["ordinal"].as_u64().unwrap()).collect();
    assert_eq!(ordinals, (0..lines.len() as u64).collect::<Vec<_>>());
}

#[cfg(unix)]
#[tokio::test]
async fn a_rollout_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    let mut play = Play::new(home.path()).await;
    play.whole_turn("a", "b");
    play.recorder.flush().await.unwrap();
    let mode = std::fs::metadata(play.recorder.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(
        lines(play.recorder.path())[0]["payload"].get("git").is_none(),
        "no repository, no part about it"
    );
}

#[tokio::test]
async fn a_thread_without_a_turn_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let recorder = Recorder::create(home.path(), meta(home.path())).await.unwrap();
    // Events that are not kept do not bring the file into being.
    recorder.record([]);
    recorder.record([RolloutItem::ResponseItem(ResponseItem::Other)]);
    recorder.flush().await.unwrap();
    assert!(!recorder.path().exists());
    recorder.close().await.unwrap();
    assert!(!home.path().join("sessions").exists());
}

#[tokio::test]
async fn a_home_that_cannot_be_written_fails_the_creation() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    std::fs::write(&home, "a file in the way").unwrap();
    let error = Recorder::create(&home, meta(dir.path())).await.unwrap_err();
    assert!(matches!(error, StoreError::Unwritable { .. }));
    let text = error.to_string();
    assert!(
        text.contains(home.to_str().unwrap()) && text.contains("COUNTERSIGN_HOME"),
        "{text}"
    );
}

/// Shows S-297.
#[tokio::test]
async fn flush_puts_all_that_was_recorded_on_disk() {
    let home = tempfile::tempdir().unwrap();
    let mut play = Play::new(home.path()).await;
    for round in 1..=50 {
        play.recorder
            .record([RolloutItem::ResponseItem(user(&format!("w{round}")))]);
        play.recorder.flush().await.unwrap();
        assert_eq!(lines(play.recorder.path()).len(), round + 1);
    }
    // Closing drains what nobody flushed.
    play.whole_turn("last", "answer");
    play.recorder.close().await.unwrap();
    assert_eq!(lines(play.recorder.path()).len(), 51 + 9);
    assert!(matches!(play.recorder.flush().await, Err(StoreError::Closed { .. })));
    play.recorder.close().await.unwrap();
}

/// Shows S-298.
#[tokio::test]
async fn a_failed_write_is_told_once_and_made_up_for() {
    let home = tempfile::tempdir().unwrap();
    let mut play = Play::new(home.path()).await;
    let folder = play.recorder.path().parent().unwrap().to_owned();
    std::fs::remove_dir(&folder).unwrap();
    std::fs::write(&folder, "in the way").unwrap();
    let mut trouble = play.recorder.trouble();
    play.whole_turn("first", "one");
    trouble.wait_for(Option::is_some).await.unwrap();
    let text = trouble.borrow_and_update().clone().unwrap();
    assert!(text.contains(play.recorder.path().to_str().unwrap()), "{text}");
    play.whole_turn("second", "two");
    assert!(matches!(play.recorder.flush().await, Err(StoreError::Write { .. })));
    assert!(!trouble.has_changed().unwrap(), "told twice");

    std::fs::remove_file(&folder).unwrap();
    play.recorder.flush().await.unwrap();
    assert!(trouble.borrow_and_update().is_none());
    let stored = store::load(play.recorder.path()).unwrap();
    assert_eq!(
        stored.history,
        [user("first"), assistant("one"), user("second"), assistant("two")]
    );
    assert_eq!(stored.skipped, 0);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_full_disk_loses_nothing() {
    let home = tempfile::tempdir().unwrap();
    let mut play = Play::new(home.path()).await;
    std::os::unix::fs::symlink("/dev/full", play.recorder.path()).unwrap();
    play.whole_turn("a", "b");
    let error = play.recorder.flush().await.unwrap_err();
    assert!(error.to_string().contains("disk space"), "{error}");
    std::fs::remove_file(play.recorder.path()).unwrap();
    // Without a word from anyone: it tries again by itself.
    play.recorder.trouble().wait_for(Option::is_none).await.unwrap();
    assert_eq!(
        store::load(play.recorder.path()).unwrap().history,
        [user("a"), assistant("b")]
    );
}

/// Shows S-300, S-301, S-014.
#[tokio::test]
async fn resuming_goes_on_in_the_same_file() {
    let home = tempfile::tempdir().unwrap();
    let mut play = Play::new(home.path()).await;
    play.whole_turn("one", "1");
    let usage = ThreadTokenUsage {
        last: TokenUsage {
            total_tokens: 7,
            ..TokenUsage::default()
        },
        total: TokenUsage {
            total_tokens: 9,
            ..TokenUsage::default()
        },
        model_context_window: Some(1000),
    };
    play.event(
        &TurnId::fresh(),
        EventKind::TokenUsageUpdated(event::TokenUsageUpdated {
            token_usage: usage,
            rate_limits: None,
        }),
    );
    play.recorder.close().await.unwrap();
    let path = play.recorder.path().to_owned();
    let before = std::fs::read(&path).unwrap();

    let resumed = Recorder::resume(home.path(), &path, meta(home.path())).await.unwrap();
    assert!(!resumed.forked);
    assert_eq!(resumed.stored.meta.id, play.thread);
    assert_eq!(resumed.stored.history, [user("one"), assistant("1")]);
    assert_eq!(resumed.stored.usage, Some(usage));
    assert_eq!(
        resumed.stored.last_context.as_ref().unwrap().sandbox_policy,
        Some(settings().sandbox_policy)
    );
    assert_eq!(
        resumed.stored.last_context.as_ref().unwrap().approval_policy,
        Some(ApprovalPolicy::Untrusted)
    );
    resumed.recorder.flush().await.unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), before, "nothing new, nothing written");

    play.recorder = resumed.recorder;
    play.whole_turn("two", "2");
    play.recorder.close().await.unwrap();
    let after = std::fs::read(&path).unwrap();
    assert!(after.starts_with(&before));
    let stored = store::load(&path).unwrap();
    assert_eq!(
        stored.history,
        [user("one"), assistant("1"), user("two"), assistant("2")]
    );
    assert_eq!(stored.turns.len(), 2);
    let ordinals: Vec<u64> = lines(&path)
        .iter()
        .map(|line| line["ordinal"].as_u64().unwrap())
        .collect();
    assert_eq!(ordinals, (0..ordinals.len() as u64).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_file_of_another_program_is_copied_not_changed() {
    let home = tempfile::tempdir().unwrap();
    let path = file_of(home.path(), ID, &[meta_line(ID), words_line("hello"), said("hello")]);
    let before = std::fs::read(&path).unwrap();
    let resumed = Recorder::resume(home.path(), &path, meta(home.path())).await.unwrap();
    assert!(resumed.forked);
    assert_ne!(resumed.recorder.path(), path);
    assert!(!resumed.recorder.path().exists(), "looking at a thread leaves nothing");
    resumed.recorder.record([RolloutItem::ResponseItem(assistant("hi"))]);
    resumed.recorder.close().await.unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let copy = store::load(resumed.recorder.path()).unwrap();
    assert_eq!(copy.history, [user("hello"), assistant("hi")]);
    assert_eq!(copy.meta.forked_from_id, Some(ID.into()));
    assert_eq!(copy.preview, "hello");
}

/// Shows S-301.
#[tokio::test]
async fn a_fork_has_the_old_items_and_a_new_id() {
    let home = tempfile::tempdir().unwrap();
    let mut play = Play::new(home.path()).await;
    play.whole_turn("one", "1");
    let _running = play.begin("cut off");
    play.recorder.close().await.unwrap();
    let forked = Recorder::fork(home.path(), play.recorder.path(), Until::End, meta(home.path()))
        .await
        .unwrap();
    forked.recorder.persist().await.unwrap();
    let copy = store::load(forked.recorder.path()).unwrap();
    assert_ne!(copy.meta.id, play.thread);
    assert_eq!(copy.meta.forked_from_id, Some(play.thread.clone()));
    assert_eq!(copy.history, [user("one"), assistant("1"), user("cut off")]);
    assert_eq!(copy.turns[1].status, TurnStatus::Interrupted);
    assert_eq!(
        lines(forked.recorder.path()).last().unwrap()["payload"]["type"],
        "turn_aborted"
    );
}

#[tokio::test]
async fn turns_come_back_as_they_were() {
    let home = tempfile::tempdir().unwrap();
    let mut play = Play::new(home.path()).await;
    let first = play.begin("Run the tests");
    let command = ThreadItem::CommandExecution {
        id: "call-1".into(),
        command: "cargo test".into(),
        cwd: "/project".into(),
        actions: vec![CommandAction::Unknown {
            command: "cargo test".into(),
        }],
        source: CommandSource::User,
        confined: Confined::ReadOnly,
        status: ItemStatus::Failed,
        aggregated_output: Some("failed".into()),
        exit_code: Some(101),
        duration_ms: Some(12),
        reason: None,
        terminal_id: None,
    };
    play.recorder.record([
        RolloutItem::ResponseItem(call("call-1")),
        RolloutItem::ResponseItem(output("call-1")),
    ]);
    play.item(&first, command.clone());
    play.answer(&first, "They fail.");
    play.end(&first, TurnStatus::Completed, None);
    let second = play.begin("And now?");
    let error = TurnError {
        message: "No key.".into(),
        kind: TurnErrorKind::MissingKey,
        http_status: Some(401),
        actions: Vec::new(),
    };
    play.end(&second, TurnStatus::Failed, Some(error.clone()));
    let third = play.begin("Stop");
    play.end(&third, TurnStatus::Interrupted, None);
    let fourth = play.begin("Crash");
    play.recorder.close().await.unwrap();

    let thread = store::read(home.path(), &play.thread, true).unwrap();
    let turns = &thread.turns;
    assert_eq!(
        turns.iter().map(|turn| &turn.id).collect::<Vec<_>>(),
        [&first, &second, &third, &fourth]
    );
    assert_eq!(
        turns.iter().map(|turn| turn.status).collect::<Vec<_>>(),
        [
            TurnStatus::Completed,
            TurnStatus::Failed,
            TurnStatus::Interrupted,
            TurnStatus::Interrupted
        ]
    );
    assert_eq!(turns[0].items.len(), 3);
    assert_eq!(turns[0].items[1], command);
    assert_eq!(turns[1].error, Some(error));
    assert!(turns[0].started_at_ms.is_some() && turns[3].completed_at_ms.is_none());
    assert_eq!(thread.preview, "Run the tests");
    assert_eq!(thread.model.as_deref(), Some("gpt-x"));
    assert!(store::read(home.path(), &play.thread, false).unwrap().turns.is_empty());
}

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

#[tokio::test]
async fn a_torn_last_line_is_ended_before_more_is_written() {
    let home = tempfile::tempdir().unwrap();
    let mut play = Play::new(home.path()).await;
    play.whole_turn("one", "1");
    play.recorder.close().await.unwrap();
    let path = play.recorder.path().to_owned();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 20]).unwrap();
    let resumed = Recorder::resume(home.path(), &path, meta(home.path())).await.unwrap();
    assert_eq!(resumed.stored.skipped, 1);
    resumed.recorder.record([RolloutItem::ResponseItem(user("two"))]);
    resumed.recorder.close().await.unwrap();
    let stored = store::load(&path).unwrap();
    assert_eq!(stored.history, [user("one"), assistant("1"), user("two")]);
    assert_eq!(stored.skipped, 1);
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

fn use_at(path: &Path, seconds: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + seconds);
    std::fs::File::options()
        .append(true)
        .open(path)
        .unwrap()
        .set_modified(time)
        .unwrap();
}

fn id_of(number: usize) -> String {
    format!("00000000-0000-7000-8000-{number:012}")
}

/// Shows S-306.
#[test]
fn the_list_goes_page_by_page() {
    let home = tempfile::tempdir().unwrap();
    for number in 0..60 {
        let id = id_of(number);
        let path = file_of(home.path(), &id, &[meta_line(&id), said(&format!("thread {number}"))]);
        // The same moment for some: nothing may be lost or shown twice at the border of a page.
        use_at(&path, (number / 7) as u64);
    }
    let page = |cursor: Option<String>, limit: Option<u32>| {
        let params = ThreadListParams {
            cursor,
            limit,
            ..ThreadListParams::default()
        };
        store::list(home.path(), &params, "openai").unwrap()
    };
    let mut sizes = Vec::new();
    let mut seen = Vec::new();
    let mut cursor = None;
    loop {
        let result = page(cursor, None);
        sizes.push(result.data.len());
        seen.extend(result.data.into_iter().map(|thread| thread.id));
        cursor = result.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(sizes, [25, 25, 10]);
    let expected: Vec<ThreadId> = (0..60).rev().map(|number| id_of(number).into()).collect();
    assert_eq!(seen, expected);
    assert_eq!(page(None, Some(0)).data.len(), 1);
    assert_eq!(page(None, Some(60)).next_cursor, None);
    assert_eq!(page(None, Some(59)).data.len(), 59);
}

/// Shows S-308.
#[test]
fn a_bad_cursor_is_an_error() {
    let home = tempfile::tempdir().unwrap();
    for cursor in ["xyz", "", "MXwyfA==", "Mnwx", "1|2|3", "\u{1F600}"] {
        let params = ThreadListParams {
            cursor: Some(cursor.into()),
            ..ThreadListParams::default()
        };
        let error = store::list(home.path(), &params, "openai").unwrap_err();
        assert!(
            matches!(error, StoreError::BadCursor { .. }) && error.is_bad_request(),
            "{cursor}"
        );
    }
}

/// Shows S-030, S-307, S-309.
#[test]
fn the_list_is_filtered() {
    let home = tempfile::tempdir().unwrap();
    let with = |number: usize, change: &dyn Fn(&mut Value), words: &str| {
        let id = id_of(number);
        let mut meta = meta_line(&id);
        change(&mut meta["payload"]);
        let path = file_of(home.path(), &id, &[meta, said(words)]);
        use_at(&path, 100 - number as u64);
    };
    with(0, &|_| {}, "Alpha ÄÖ");
    with(1, &|meta| meta["model_provider"] = json!("ollama"), "beta");
    with(2, &|meta| meta["model_provider"] = Value::Null, "gamma");
    with(3, &|meta| meta["source"] = json!("exec"), "delta");
    with(4, &|meta| meta["source"] = json!({ "subagent": "review" }), "epsilon");
    with(5, &|meta| meta["source"] = json!({ "custom": "neovim" }), "zeta");
    with(6, &|meta| meta["cwd"] = json!("/other/"), "eta");
    file_of(home.path(), &id_of(7), &[meta_line(&id_of(7))]);
    file_of(home.path(), &id_of(8), &[]);
    file_of(home.path(), &id_of(9), &[said("no description")]);
    let renamed = file_of(
        home.path(),
        &id_of(10),
        &[
            meta_line(&id_of(10)),
            said("named"),
            line(
                "event_msg",
                json!({ "type": "thread_name_updated", "thread_id": "x", "thread_name": "Omega" }),
            ),
        ],
    );
    use_at(&renamed, 1);

    let ids = |params: ThreadListParams| -> Vec<usize> {
        let result = store::list(home.path(), &params, "openai").unwrap();
        result
            .data
            .iter()
            .map(|thread| thread.id.as_str()[24..].parse().unwrap())
            .collect()
    };
    let all = || ThreadListParams::default();
    let providers = |names: &[&str]| ThreadListParams {
        model_providers: Some(names.iter().map(|name| (*name).to_owned()).collect()),
        ..ThreadListParams::default()
    };
    let cwd = |path: &str| ThreadListParams {
        cwd: Some(path.into()),
        ..ThreadListParams::default()
    };
    let term = |text: &str| ThreadListParams {
        search_term: Some(text.into()),
        ..ThreadListParams::default()
    };
    let rows = [
        (all(), vec![0, 2, 5, 6, 10]),
        (providers(&[]), vec![0, 1, 2, 5, 6, 10]),
        (providers(&["ollama"]), vec![1]),
        (providers(&["ollama", "openai"]), vec![0, 1, 2, 5, 6, 10]),
        (providers(&["nobody"]), vec![]),
        (cwd("/other"), vec![6]),
        (cwd("/project/"), vec![0, 2, 5, 10]),
        (cwd("/oth"), vec![]),
        (term("äö"), vec![0]),
        (term("omega"), vec![10]),
        (term("  "), vec![0, 2, 5, 6, 10]),
        (term("nothing"), vec![]),
    ];
    for (params, expected) in rows {
        assert_eq!(ids(params.clone()), expected, "{params:?}");
    }
    let listed = store::list(home.path(), &all(), "openai").unwrap().data;
    let first = &listed[0];
    assert_eq!(
        (
            first.preview.as_str(),
            first.cli_version.as_str(),
            first.source.as_str(),
            first.cwd.to_str().unwrap()
        ),
        ("Alpha ÄÖ", "0.50.0", "cli", "/project")
    );
    assert!(first.path.as_ref().unwrap().is_file());
    assert!(first.created_at_ms > 0 && first.updated_at_ms >= first.created_at_ms);
    assert_eq!(
        listed[1].model_provider, "openai",
        "the current one where none is stored"
    );
    assert_eq!(listed[4].name.as_deref(), Some("Omega"));
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

#[test]
fn ten_thousand_threads_are_listed_without_reading_them_all() {
    let home = tempfile::tempdir().unwrap();
    for number in 0..10_000 {
        let id = id_of(number);
        file_of(home.path(), &id, &[meta_line(&id), said("words")]);
    }
    let began = std::time::Instant::now();
    let result = store::list(home.path(), &ThreadListParams::default(), "openai").unwrap();
    let took = began.elapsed();
    assert_eq!(result.data.len(), 25);
    // Far above what it takes; only to notice that whole files are read.
    assert!(took < Duration::from_secs(8), "{took:?}");
}

#[test]
fn unknown_events_are_kept_as_they_are() {
    let value = json!({ "type": "brand_new", "x": [1] });
    let event: EventMsg = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(event, EventMsg::Other(value.clone()));
    assert_eq!(serde_json::to_value(event).unwrap(), value);
}

/// A home with so many threads, used one after the other.
fn home_with(count: usize) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    for number in 0..count {
        let id = id_of(number);
        let mut meta = meta_line(&id);
        meta["payload"]["cwd"] = json!(format!("/home/ada/{}", number % 3));
        let path = file_of(home.path(), &id, &[meta, words_line(&format!("Words {number}"))]);
        use_at(&path, 1_000 + number as u64);
    }
    home
}

/// An index that is built.
fn index_of(home: &Path) -> Index {
    let index = Index::new(home);
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    while !index.is_ready() {
        assert!(std::time::Instant::now() < deadline, "the index is never ready");
        std::thread::sleep(Duration::from_millis(2));
    }
    index
}

/// All pages of a list, from the index and from the files, which must say the same.
fn all_pages(index: &Index, home: &Path, params: &ThreadListParams) -> Vec<String> {
    let mut pages = Vec::new();
    let mut params = params.clone();
    loop {
        let page = index.list(&params, "openai", &[]).unwrap();
        assert_eq!(page, store::list(home, &params, "openai").unwrap(), "{params:?}");
        pages.extend(page.data.iter().map(|thread| thread.id.to_string()));
        params.cursor = page.next_cursor;
        if params.cursor.is_none() {
            return pages;
        }
    }
}

fn any_provider() -> ThreadListParams {
    ThreadListParams {
        model_providers: Some(Vec::new()),
        ..ThreadListParams::default()
    }
}

/// Shows S-306, S-307, S-308.
#[test]
fn the_index_says_what_the_files_say() {
    for count in [0, 60, 450] {
        let home = home_with(count);
        let index = index_of(home.path());
        let cwd = |cwd: &str| ThreadListParams {
            cwd: Some(cwd.into()),
            ..any_provider()
        };
        let term = |term: &str| ThreadListParams {
            search_term: Some(term.into()),
            ..any_provider()
        };
        for params in [
            any_provider(),
            cwd("/home/ada/1"),
            cwd("/home/ada/1/"),
            cwd("/nowhere"),
            term("wORDS 1"),
            term("%"),
        ] {
            all_pages(&index, home.path(), &params);
        }
        assert_eq!(all_pages(&index, home.path(), &any_provider()).len(), count);
        for cursor in ["xyz", "", "MQ"] {
            let params = ThreadListParams {
                cursor: Some(cursor.into()),
                ..any_provider()
            };
            let error = index.list(&params, "openai", &[]).unwrap_err();
            assert!(matches!(error, StoreError::BadCursor { .. }), "{cursor}: {error}");
        }
        if count == 0 {
            continue;
        }
        // What others do is seen at once: a new thread, one that is gone, words that were added to one that is shown.
        let late = file_of(
            home.path(),
            &id_of(9_000),
            &[meta_line(&id_of(9_000)), words_line("Late")],
        );
        use_at(&late, 9_000);
        std::fs::remove_file(
            store::find(home.path(), &ThreadId::from(id_of(count - 1)))
                .unwrap()
                .unwrap(),
        )
        .unwrap();
        let shown = store::find(home.path(), &ThreadId::from(id_of(count - 2)))
            .unwrap()
            .unwrap();
        let name = line(
            "event_msg",
            json!({"type": "thread_name_updated", "thread_name": "A name"}),
        );
        let text = std::fs::read_to_string(&shown).unwrap() + &name.to_string() + "\n";
        std::fs::write(&shown, text).unwrap();
        use_at(&shown, 1_000 + count as u64 - 2);
        let pages = all_pages(&index, home.path(), &any_provider());
        assert_eq!(pages[..2], [id_of(9_000), id_of(count - 2)]);
        assert_eq!(pages.len(), count);
        // A server that comes later begins where this one was.
        let again = Index::new(home.path());
        assert_eq!(all_pages(&again, home.path(), &any_provider()), pages);
        let archived = store::archive::archive(home.path(), &ThreadId::from(id_of(9_000))).unwrap();
        assert!(archived.exists());
        assert_eq!(all_pages(&again, home.path(), &any_provider()), pages[1..]);
        let away = ThreadListParams {
            archived: true,
            ..any_provider()
        };
        assert_eq!(all_pages(&again, home.path(), &away), [id_of(9_000)]);
    }
}

#[test]
fn without_its_index_a_list_is_the_same() {
    type Spoil<'a> = (&'a str, &'a dyn Fn(&Path));
    let spoil: [Spoil<'_>; 5] = [
        ("lost", &|path| std::fs::remove_file(path).unwrap()),
        ("empty", &|path| std::fs::write(path, "").unwrap()),
        ("no database", &|path| {
            std::fs::write(path, "no database at all ".repeat(999)).unwrap()
        }),
        ("cut short", &|path| {
            let bytes = std::fs::read(path).unwrap();
            std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
        }),
        ("a folder in the way", &|path| {
            std::fs::remove_file(path).unwrap();
            std::fs::create_dir(path).unwrap();
        }),
    ];
    for (what, spoil) in spoil {
        let home = home_with(30);
        let whole = all_pages(&index_of(home.path()), home.path(), &any_provider());
        spoil(&home.path().join("threads.sqlite"));
        let index = Index::new(home.path());
        for _ in 0..20 {
            assert_eq!(all_pages(&index, home.path(), &any_provider()), whole, "{what}");
        }
    }
    // Locked by another server for as long as it likes.
    let home = home_with(30);
    let index = index_of(home.path());
    let other = rusqlite::Connection::open(home.path().join("threads.sqlite")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let used = store::find(home.path(), &ThreadId::from(id_of(3))).unwrap().unwrap();
    use_at(&used, 99_000);
    assert_eq!(all_pages(&index, home.path(), &any_provider())[0], id_of(3));
}

/// Shows S-313, S-315.
#[test]
fn only_a_threads_own_file_is_archived() {
    let home = tempfile::tempdir().unwrap();
    let id = ThreadId::from(ID);
    let path = file_of(home.path(), ID, &[meta_line(ID), words_line("Hi")]);
    let outside = home.path().join(format!("rollout-2026-01-01T00-00-00-{ID}.jsonl"));
    std::fs::copy(&path, &outside).unwrap();
    let link = path.with_file_name(format!("rollout-2026-01-02T00-00-00-{ID}.jsonl"));
    std::os::unix::fs::symlink(&outside, &link).unwrap();
    let folder = path.with_file_name(format!("rollout-2026-01-03T00-00-00-{ID}.jsonl"));
    std::fs::create_dir(&folder).unwrap();
    let other = ThreadId::from(id_of(7));
    let rows: [(&ThreadId, &Path, &str); 5] = [
        (&id, &outside, "outside"),
        (&id, &link, "outside"),
        (&id, &folder, "not a plain file"),
        (&other, &path, "does not end with the id"),
        (&id, Path::new("sessions/nothing.jsonl"), "no stored thread"),
    ];
    for (id, path, part) in rows {
        let error = store::archive::archive_file(home.path(), id, path).unwrap_err();
        assert!(error.is_bad_request() && error.to_string().contains(part), "{error}");
    }
    let bad = store::archive::archive(home.path(), &ThreadId::from("no id")).unwrap_err();
    assert!(matches!(bad, StoreError::BadId { .. }));
    std::fs::remove_file(&link).unwrap();
    std::fs::remove_dir(&folder).unwrap();
    // A file that is there already is never written over.
    let to = home.path().join("archived_sessions").join(path.file_name().unwrap());
    std::fs::create_dir(to.parent().unwrap()).unwrap();
    std::fs::write(&to, "precious").unwrap();
    let error = store::archive::archive(home.path(), &id).unwrap_err();
    assert!(matches!(error, StoreError::Move { .. }), "{error}");
    assert_eq!(std::fs::read_to_string(&to).unwrap(), "precious");
    std::fs::remove_file(&to).unwrap();
    let text = std::fs::read(&path).unwrap();
    assert_eq!(store::archive::archive(home.path(), &id).unwrap(), to);
    assert_eq!(std::fs::read(&to).unwrap(), text);
    assert!(!path.exists());
    assert!(matches!(
        store::archive::archive(home.path(), &id),
        Err(StoreError::Archived { .. })
    ));
    let back = store::archive::unarchive(home.path(), &id).unwrap();
    assert_eq!(std::fs::read(&back).unwrap(), text);
    assert_eq!(
        back.parent().unwrap().strip_prefix(home.path()).unwrap(),
        Path::new("sessions/2025/05/07")
    );
}

/// What happens in a conversation.
#[derive(Clone, Debug)]
enum Deed {
    /// A turn with so many calls; after one of them the history is replaced by a summary.
    Turn {
        calls: usize,
        compacted_after: Option<usize>,
    },
    /// A turn without words of the person, such as an undo.
    Silent,
    RollBack(usize),
}

fn deeds() -> impl proptest::strategy::Strategy<Value = Vec<Deed>> {
    use proptest::prelude::*;
    let turn = (0..3_usize, proptest::option::weighted(0.3, 0..3_usize));
    let turn = turn.prop_map(|(calls, compacted_after)| Deed::Turn { calls, compacted_after });
    let deed = prop_oneof![4 => turn, 1 => Just(Deed::Silent), 2 => (0..4_usize).prop_map(Deed::RollBack)];
    proptest::collection::vec(deed, 0..12)
}

/// Plays a conversation: on the record, and as the live history goes.
async fn play_out(recorder: &Recorder, deeds: &[Deed]) -> (Vec<ResponseItem>, usize) {
    let mut live: Vec<ResponseItem> = Vec::new();
    // The history before each turn, and whether the person said something in it.
    let mut before: Vec<(Vec<ResponseItem>, bool)> = Vec::new();
    for (number, deed) in deeds.iter().enumerate() {
        let turn_id = Some(TurnId::from(format!("t{number}")));
        let begin = RolloutItem::EventMsg(EventMsg::TaskStarted {
            turn_id: turn_id.clone(),
            started_at: None,
            model_context_window: None,
            kind: TurnKind::Regular,
        });
        let end = RolloutItem::EventMsg(EventMsg::TaskComplete {
            turn_id: turn_id.clone(),
            last_agent_message: None,
            completed_at: None,
        });
        match deed {
            Deed::Turn { calls, compacted_after } => {
                before.push((live.clone(), true));
                recorder.record([begin]);
                let words = user(&format!("words {number}"));
                let shown = json!({"type": "userMessage", "id": format!("u{number}"), "content": [{"type": "text", "text": "w"}]});
                recorder.record([
                    RolloutItem::ResponseItem(words.clone()),
                    RolloutItem::EventMsg(EventMsg::ItemCompleted {
                        thread_id: None,
                        turn_id,
                        item: shown,
                        completed_at_ms: None,
                    }),
                ]);
                live.push(words.clone());
                for at in 0..=*calls {
                    if *compacted_after == Some(at) {
                        live = vec![user(&format!("<compaction_summary>{number}")), words.clone()];
                        recorder.record([RolloutItem::Compacted {
                            message: "sum".to_owned(),
                            replacement_history: Some(live.clone()),
                        }]);
                    }
                    if at < *calls {
                        let id = format!("c{number}-{at}");
                        let items = [call(&id), output(&id)];
                        live.extend(items.clone());
                        recorder.record(items.map(RolloutItem::ResponseItem));
                    }
                }
                let answer = assistant(&format!("answer {number}"));
                live.push(answer.clone());
                recorder.record([RolloutItem::ResponseItem(answer), end]);
            }
            Deed::Silent => {
                before.push((live.clone(), false));
                recorder.record([begin, end]);
            }
            Deed::RollBack(turns) => {
                recorder.flush().await.unwrap();
                let of_person = before.iter().filter(|(_, has_words)| *has_words).count();
                let expected = of_person.min(*turns);
                let mut left = expected;
                while left > 0
                    && let Some((then, has_words)) = before.pop()
                {
                    live = then;
                    left -= usize::from(has_words);
                }
                let path = recorder.path();
                if path.exists() {
                    let (stored, dropped) = store::load_rolled_back(path, *turns).unwrap();
                    assert_eq!((stored.history, dropped), (live.clone(), expected));
                    recorder.record([RolloutItem::EventMsg(EventMsg::ThreadRolledBack { num_turns: dropped })]);
                }
            }
        }
    }
    recorder.close().await.unwrap();
    (live, before.len())
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 96, ..Default::default() })]

    /// Shows S-319.
    #[test]
    fn what_is_played_again_is_the_live_history(deeds in deeds()) {
        let home = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let recorder = Recorder::create(home.path(), meta(home.path())).await.unwrap();
            let (live, turns) = play_out(&recorder, &deeds).await;
            if recorder.path().exists() {
                let stored = store::load(recorder.path()).unwrap();
                assert_eq!(stored.history, live);
                assert_eq!(stored.turns.len(), turns);
            }
        });
    }
}
