//! What a long conversation costs: bringing back one of 10 MB, making a request of it, and compacting it. The model is the
//! rehearsal server in the same process, so that reading the request is part of each figure that has one.
//! `cargo bench --bench compact`.

#![expect(clippy::print_stdout, reason = "a bench is there to print")]

use countersign::agent::editor::{ApplyReply, Editor, EditorChange, Saving, Unsaved};
use countersign::agent::history::{History, output_for};
use countersign::agent::stream::Subscription;
use countersign::agent::thread::{Start, ThreadHandle};
use countersign::agent::{Agent, Setup};
use countersign::config::ClientSettings;
use countersign::ids::ThreadId;
use countersign::model::item::ResponseItem;
use countersign::protocol::event::EventKind;
use countersign::protocol::item::UserInput;
use countersign::protocol::thread::ThreadResumeParams;
use countersign::protocol::turn::TurnStatus;
use countersign::rehearsal::{Script, Server};
use countersign::store::{Recorder, RolloutItem, SessionMeta};
use countersign::workspace::Workspace;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const BYTES: usize = 10 << 20;
/// Text of one output.
const OUTPUT: usize = 8 << 10;
const RUNS: usize = 9;

struct NoEditor;

impl Editor for NoEditor {
    fn apply(&self, _change: EditorChange) -> BoxFuture<'static, ApplyReply> {
        async { ApplyReply::NoAnswer }.boxed()
    }

    fn save(&self, _thread: ThreadId, _documents: Vec<Unsaved>) -> BoxFuture<'static, Saving> {
        async { Saving::Over }.boxed()
    }

    fn has_resource_operations(&self) -> bool {
        false
    }
}

/// Questions, calls, outputs and answers, 10 MB of them.
fn history() -> Vec<ResponseItem> {
    let mut items = vec![ResponseItem::developer("Be kind.")];
    for index in 0..BYTES / OUTPUT {
        if index % 20 == 0 {
            items.push(ResponseItem::user(format!("Question {index}")));
        }
        let call = ResponseItem::FunctionCall {
            id: None,
            name: "shell".into(),
            arguments: json!({"command": ["cat", format!("file-{index}")]}).to_string(),
            call_id: format!("call_{index}"),
        };
        let text = format!("line {index} \"of\" the file\n").repeat(OUTPUT / 24);
        let output = output_for(&call, &format!("call_{index}"), text);
        items.extend([call, output]);
        if index % 20 == 19 {
            items.push(ResponseItem::assistant(format!("Answer {index}")));
        }
    }
    items
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e3
}

async fn until_completed(events: &mut Subscription) -> Result<(), Box<dyn Error>> {
    while let Some(event) = events.next().await {
        if let EventKind::TurnCompleted(completed) = event.kind {
            return match completed.turn.status {
                TurnStatus::Completed => Ok(()),
                _ => Err(format!("{:?}", completed.turn.error).into()),
            };
        }
    }
    Err("the thread is gone".into())
}

async fn turn(thread: &ThreadHandle) -> Result<Duration, Box<dyn Error>> {
    let mut events = thread.subscribe(None);
    let text = "Go on".to_owned();
    let start = Start {
        content: vec![UserInput::Text { text }],
        ..Start::default()
    };
    let begin = Instant::now();
    drop(thread.start_turn(start).await?);
    until_completed(&mut events).await?;
    Ok(begin.elapsed())
}

async fn measure(home: &Path) -> Result<(), Box<dyn Error>> {
    let items = history();
    let whole = History::new(items.clone());
    let times = (0..RUNS).map(|_| {
        let begin = Instant::now();
        assert_eq!(whole.for_model().len(), items.len());
        begin.elapsed()
    });
    println!("items of a request out of 10 MB: {:.3} ms", median(times.collect()));

    let script = json!({"lenient": true, "steps": [{"repeat": true, "outputs": [{"say": "Done."}]}]});
    let model = Server::start(Script::from_json(&script)?, ([127, 0, 0, 1], 0).into()).await?;
    let provider = json!({"name": "Rehearsal", "base_url": model.base_url});
    let workspace = Workspace::default();
    workspace.set_roots(vec![home.to_owned()]);
    let agent = Agent::new(Setup {
        workspace,
        editor: Arc::new(NoEditor),
        home: home.to_owned(),
        env: BTreeMap::new(),
        client: ClientSettings {
            vouched: Some(json!({
                "model": "rehearsal", "model_provider": "rehearsal", "model_providers": {"rehearsal": provider},
            })),
            ..ClientSettings::default()
        },
        user_agent: "bench".to_owned(),
        source: "bench".to_owned(),
        secrets: Default::default(),
    });
    let (mut resumes, mut turns, mut compactions) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let meta = SessionMeta::new(ThreadId::fresh(), home, "bench");
        let recorder = Recorder::create(home, meta).await?;
        recorder.record(items.iter().cloned().map(RolloutItem::ResponseItem));
        recorder.close().await?;
        let begin = Instant::now();
        let opened = agent
            .resume_thread(ThreadResumeParams {
                path: Some(recorder.path().to_owned()),
                ..ThreadResumeParams::default()
            })
            .await?;
        resumes.push(begin.elapsed());
        let thread = opened.handle;
        turns.push(turn(&thread).await?);
        let mut events = thread.subscribe(None);
        let begin = Instant::now();
        drop(thread.compact().await?);
        until_completed(&mut events).await?;
        compactions.push(begin.elapsed());
        thread.close().await;
    }
    println!("resume of 10 MB: {:.1} ms", median(resumes));
    println!("turn over 10 MB, request read by the model: {:.1} ms", median(turns));
    println!(
        "compaction of 10 MB, request read by the model: {:.1} ms",
        median(compactions)
    );
    agent.shutdown().await;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    // What cargo passes to every bench is of no interest here.
    let folder = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure(folder.path()))
}
