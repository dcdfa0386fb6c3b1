//! Rollout files: written as it happens, read back whatever state they are in, listed quickly.

mod archive;
mod list;
mod load;
mod record;
mod replay;
mod resume;

use countersign::ids::{ItemId, ThreadId, TurnId};
use countersign::model::item::{ContentPart, ResponseItem, ToolOutputPayload};
use countersign::protocol::event::{self, At, Event, EventKind};
use countersign::protocol::item::{ThreadItem, UserInput};
use countersign::protocol::settings::{
    ApprovalPolicy, ApprovalsReviewer, EditApproval, ReasoningSummary, SandboxPolicy, ThreadSettings,
};
use countersign::protocol::turn::{InterruptedBy, Turn, TurnError, TurnKind, TurnStatus};
use countersign::store::{Recorder, RolloutItem, SessionMeta, TurnContextRecord};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

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
                withdrawn: false,
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
                cost: None,
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

fn id_of(number: usize) -> String {
    format!("00000000-0000-7000-8000-{number:012}")
}
