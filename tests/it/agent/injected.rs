//! The agent by itself, with no LSP around it, and with tools made for the test: those that panic, hang, or must run side
//! by side.

use super::stage::{rehearse, say, within};
use countersign::agent::contributors::{Beginning, Contributor};
use countersign::agent::conversation::Conversation;
use countersign::agent::editor::{ApplyReply, Editor, EditorChange, Saving, Unsaved};
use countersign::agent::mail::Mail;
use countersign::agent::services::Services;
use countersign::agent::stream::Subscription;
use countersign::agent::thread::{Start, Task, ThreadHandle, WhenBusy};
use countersign::agent::turn::Ended;
use countersign::agent::{Agent, Setup};
use countersign::ids::ThreadId;
use countersign::model::item::{ContentPart, ResponseItem, ToolSpec};
use countersign::protocol::event::{Event, EventKind};
use countersign::protocol::item::{ItemStatus, ThreadItem, UserInput};
use countersign::protocol::thread::ThreadStartParams;
use countersign::protocol::turn::{InterruptedBy, TurnErrorKind, TurnKind, TurnStatus};
use countersign::rehearsal::Running;
use countersign::tools::{Call, Host, Look, Registry, Tool, ToolError, ToolOutput};
use countersign::workspace::Workspace;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// An editor with nothing in it.
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

type Work = Box<dyn Fn() -> BoxFuture<'static, Result<ToolOutput, ToolError>> + Send + Sync>;

/// A tool that does what the test says.
struct Made {
    name: &'static str,
    reads: bool,
    /// Its description fails from the third time on: it is read for its name, and for the first request.
    spoiled: Option<AtomicUsize>,
    work: Work,
}

impl Tool for Made {
    fn spec(&self) -> ToolSpec {
        if let Some(times) = &self.spoiled {
            assert!(times.fetch_add(1, Ordering::Relaxed) < 2, "spoiled");
        }
        ToolSpec::Function {
            name: self.name.to_owned(),
            description: "Made for a test.".to_owned(),
            strict: false,
            parameters: json!({"type": "object"}),
        }
    }

    fn only_reads(&self) -> bool {
        self.reads
    }

    fn look(&self, _call: &Call) -> Option<Look> {
        Some(Look {
            title: self.name.to_owned(),
            arguments: Value::Null,
        })
    }

    fn run<'a>(&'a self, _call: &'a Call, _host: &'a dyn Host) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        (self.work)()
    }
}

fn tool<F>(name: &'static str, reads: bool, work: impl Fn() -> F + Send + Sync + 'static) -> Arc<dyn Tool>
where
    F: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
{
    Arc::new(Made {
        name,
        reads,
        spoiled: None,
        work: Box::new(move || work().boxed()),
    })
}

struct Alone {
    agent: Agent,
    model: Running,
    home: PathBuf,
    _folder: tempfile::TempDir,
}

impl Alone {
    async fn new(script: Value, tools: Vec<Arc<dyn Tool>>) -> Self {
        Self::with(script, tools, Vec::new()).await
    }

    async fn with(script: Value, tools: Vec<Arc<dyn Tool>>, contributors: Vec<Arc<dyn Contributor>>) -> Self {
        let model = rehearse(script).await;
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path().join("home");
        let workspace = Workspace::default();
        workspace.set_roots(vec![folder.path().to_owned()]);
        let provider = json!({"name": "Rehearsal", "base_url": model.base_url});
        let config = json!({
            "model": "rehearsal", "model_provider": "rehearsal", "model_providers": {"rehearsal": provider},
        });
        let setup = Setup {
            workspace,
            editor: Arc::new(NoEditor),
            home: home.clone(),
            env: BTreeMap::new(),
            client: countersign::config::ClientSettings {
                startup: config.as_object().cloned().expect("a table"),
                ..Default::default()
            },
            user_agent: "test".to_owned(),
            source: "test".to_owned(),
            secrets: Default::default(),
        };
        Self {
            agent: Agent::with(setup, Registry::new(tools), contributors),
            model,
            home,
            _folder: folder,
        }
    }

    async fn thread(&self) -> ThreadHandle {
        self.agent
            .start_thread(ThreadStartParams::default())
            .await
            .expect("a thread")
            .handle
    }

    /// A turn and its story.
    async fn run(&self, thread: &ThreadHandle, text: &str) -> Vec<Event> {
        let mut events = thread.subscribe(None);
        start(thread, text).await;
        story(&mut events).await
    }
}

async fn start(thread: &ThreadHandle, text: &str) {
    let content = vec![UserInput::Text { text: text.to_owned() }];
    let start = Start {
        content,
        ..Start::default()
    };
    drop(thread.start_turn(start).await.expect("a turn"));
}

/// All up to the turn's last event.
async fn story(events: &mut Subscription) -> Vec<Event> {
    let mut seen = Vec::new();
    loop {
        let event = within(events.next()).await.expect("the thread lives");
        let last = matches!(event.kind, EventKind::TurnCompleted(_));
        seen.push(event);
        if last {
            return seen;
        }
    }
}

/// Waits until so many tools have begun.
async fn tools_begun(events: &mut Subscription, number: usize) {
    let mut begun = 0;
    while begun < number {
        let event = within(events.next()).await.expect("an event");
        let tool = |item: &ThreadItem| matches!(item, ThreadItem::ToolCall { .. });
        begun += usize::from(matches!(&event.kind, EventKind::ItemStarted(started) if tool(&started.item)));
    }
}

fn ended(story: &[Event]) -> (TurnStatus, Option<TurnErrorKind>) {
    let ends: Vec<_> = story
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::TurnCompleted(completed) => Some(&completed.turn),
            _ => None,
        })
        .collect();
    assert_eq!(ends.len(), 1);
    (ends[0].status, ends[0].error.as_ref().map(|error| error.kind))
}

fn tool_statuses(story: &[Event]) -> Vec<ItemStatus> {
    story
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::ItemCompleted(completed) => match &completed.item {
                ThreadItem::ToolCall { status, .. } => Some(*status),
                _ => None,
            },
            _ => None,
        })
        .collect()
}

fn call(tool: &str, id: &str) -> Value {
    json!({"call": {"tool": tool, "arguments": {}, "id": id}})
}

/// Shows S-188, S-444.
#[tokio::test]
async fn failures_of_tools_are_answers_and_only_the_fatal_kind_ends_the_turn() {
    let tools = vec![
        tool("panics", false, || async { panic!("on purpose") }),
        tool("panics_reading", true, || async { panic!("on purpose") }),
        tool("explains", false, || async {
            Err(ToolError::Answer("not like this".to_owned()))
        }),
        tool("refuses", true, || async {
            Ok(ToolOutput::not_done("denied by the test"))
        }),
        tool("dies", false, || async { Err(ToolError::Fatal("the end".to_owned())) }),
    ];
    let script = json!([
        [
            call("panics", "c1"),
            call("panics_reading", "c2"),
            call("explains", "c3"),
            call("refuses", "c4")
        ],
        [say("I see.")],
        [call("dies", "c5")],
        [say("again")],
    ]);
    let alone = Alone::new(script, tools).await;
    let thread = alone.thread().await;
    let story = alone.run(&thread, "Go").await;
    assert_eq!(ended(&story), (TurnStatus::Completed, None));
    assert_eq!(tool_statuses(&story), [ItemStatus::Failed; 4]);
    let request = &alone.model.requests()[1];
    let outputs: Vec<String> = request.outputs().into_iter().map(|(_, text)| text).collect();
    assert!(
        outputs[0].contains("panics") && outputs[1].contains("panics_reading"),
        "{outputs:?}"
    );
    assert_eq!(outputs[2..], ["not like this", "denied by the test"]);
    let story = alone.run(&thread, "Die").await;
    assert_eq!(ended(&story), (TurnStatus::Failed, Some(TurnErrorKind::Internal)));
    let errors = story
        .iter()
        .filter(|event| matches!(event.kind, EventKind::Error(_)))
        .count();
    assert_eq!(errors, 1);
    assert_eq!(alone.model.requests().len(), 3);
    assert_eq!(ended(&alone.run(&thread, "Again").await).0, TurnStatus::Completed);
    alone.agent.shutdown().await;
}

/// Shows S-067.
#[tokio::test]
async fn a_panic_in_the_turn_itself_closes_it_and_the_thread_lives() {
    let spoiled = Arc::new(Made {
        name: "spoiled",
        reads: true,
        spoiled: Some(AtomicUsize::new(0)),
        work: Box::new(|| async { Ok(ToolOutput::ok("")) }.boxed()),
    });
    let alone = Alone::new(
        json!([[{"say": "Half a", "partial": true}, {"hold": "x"}]]),
        vec![spoiled],
    )
    .await;
    let thread = alone.thread().await;
    let mut events = thread.subscribe(None);
    start(&thread, "Go").await;
    within(alone.model.wait_for_hold("x")).await;
    assert!(thread.interrupt(None).await.expect("answered"));
    assert_eq!(ended(&story(&mut events).await).0, TurnStatus::Interrupted);
    // From now on the tool's description fails, in the middle of making the request.
    let story = alone.run(&thread, "Again").await;
    assert_eq!(ended(&story), (TurnStatus::Failed, Some(TurnErrorKind::Internal)));
    assert_eq!(thread.running(), None);
    assert!(!thread.interrupt(None).await.expect("answered"));
    assert_eq!(ended(&alone.run(&thread, "And again").await).0, TurnStatus::Failed);
    alone.agent.shutdown().await;
}

/// Shows S-058, S-193.
#[tokio::test]
async fn reading_calls_run_side_by_side_and_their_outputs_keep_their_order() {
    // The first waits until the last has ended: side by side, or not at all.
    let gate = Arc::new(tokio::sync::Notify::new());
    let waits = {
        let gate = gate.clone();
        tool("waits", true, move || {
            let gate = gate.clone();
            async move {
                gate.notified().await;
                Ok(ToolOutput::ok("slow"))
            }
        })
    };
    let opens = tool("opens", true, move || {
        let gate = gate.clone();
        async move {
            gate.notify_one();
            Ok(ToolOutput::ok("quick"))
        }
    });
    let script = json!([[call("waits", "c1"), call("opens", "c2")], [say("done")]]);
    let alone = Alone::new(script, vec![waits, opens]).await;
    let thread = alone.thread().await;
    assert_eq!(ended(&alone.run(&thread, "Go").await).0, TurnStatus::Completed);
    let outputs = alone.model.requests()[1].outputs();
    let expected = [("c1", "slow"), ("c2", "quick")].map(|(id, text)| (id.to_owned(), text.to_owned()));
    assert_eq!(outputs, expected);
    alone.agent.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changing_calls_are_alone_and_in_order() {
    let (inside, log) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
    let made = |name: &'static str, reads: bool| {
        let (inside, log) = (inside.clone(), log.clone());
        tool(name, reads, move || {
            let (inside, log) = (inside.clone(), log.clone());
            async move {
                let others = inside.fetch_add(1, Ordering::SeqCst);
                log.lock().unwrap().push(name);
                for _ in 0..20 {
                    tokio::task::yield_now().await;
                    let now = inside.load(Ordering::SeqCst);
                    assert!(reads || (others == 0 && now == 1), "{name} is not alone");
                }
                inside.fetch_sub(1, Ordering::SeqCst);
                Ok(ToolOutput::ok(name))
            }
        })
    };
    let names = ["change_1", "read_1", "read_2", "change_2", "change_3", "read_3"];
    let tools = names.map(|name| made(name, name.starts_with("read"))).to_vec();
    let mut steps: Vec<Value> = (0..20)
        .map(|round| {
            json!(
                names
                    .iter()
                    .map(|name| call(name, &format!("{name}_{round}")))
                    .collect::<Vec<_>>()
            )
        })
        .collect();
    steps.push(json!([say("done")]));
    let alone = Alone::new(json!(steps), tools).await;
    let thread = alone.thread().await;
    let story = alone.run(&thread, "Go").await;
    assert_eq!(ended(&story).0, TurnStatus::Completed);
    assert!(
        tool_statuses(&story)
            .iter()
            .all(|status| *status == ItemStatus::Completed)
    );
    for round in log.lock().unwrap().chunks(names.len()) {
        let at = |name: &str| round.iter().position(|seen| *seen == name).unwrap();
        assert_eq!(
            (at("change_1"), at("change_2"), at("change_3"), at("read_3")),
            (0, 3, 4, 5),
            "{round:?}"
        );
    }
    alone.agent.shutdown().await;
}

/// Says when it is dropped.
struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Shows S-093, S-192.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn tools_that_do_not_listen_are_ended_by_force_and_the_turn_closes_once() {
    let (dropped, release) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    // Also where the test fails: the runtime waits for its threads.
    let _in_the_end = Dropped(release.clone());
    let hangs = {
        let dropped = dropped.clone();
        tool("hangs", true, move || {
            let guard = Dropped(dropped.clone());
            async move {
                let _guard = guard;
                std::future::pending().await
            }
        })
    };
    let blocks = {
        let release = release.clone();
        tool("blocks", true, move || {
            let release = release.clone();
            async move {
                // Gives the thread back to nobody.
                while !release.load(Ordering::SeqCst) {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Ok(ToolOutput::ok("too late"))
            }
        })
    };
    let script = json!([
        [call("hangs", "c1"), call("blocks", "c2"), call("hangs", "c3")],
        [say("on it")]
    ]);
    let alone = Alone::new(script, vec![hangs, blocks]).await;
    let thread = alone.thread().await;
    let mut events = thread.subscribe(None);
    start(&thread, "Go").await;
    tools_begun(&mut events, 3).await;
    assert!(thread.interrupt(None).await.expect("answered"));
    let story = story(&mut events).await;
    assert_eq!(ended(&story).0, TurnStatus::Interrupted);
    assert_eq!(tool_statuses(&story), [ItemStatus::Interrupted; 3]);
    // Another thread lets go of what it held, which may be a moment later.
    let let_go = async {
        while !dropped.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    within(let_go).await;
    release.store(true, Ordering::SeqCst);
    // Nothing more comes of that turn, and the next one has an output for each call.
    let next = alone.run(&thread, "Go on").await;
    let turn = &next.iter().find_map(|event| event.at.turn_id.clone()).expect("a turn");
    assert!(
        next.iter()
            .all(|event| event.at.turn_id.as_ref().is_none_or(|id| id == turn))
    );
    assert_eq!(alone.model.requests()[1].outputs().len(), 3);
    alone.agent.shutdown().await;
}

/// Shows S-001, S-002, S-043, S-452.
#[tokio::test]
async fn subscribers_see_the_same_story_and_none_holds_it_up() {
    let script = json!({"chunk": 1, "steps": [
        [{"say": "word ".repeat(400)}, call("looks", "c1")],
        [say("done")],
    ]});
    let looks = tool("looks", true, || async { Ok(ToolOutput::ok("seen")) });
    let alone = Alone::new(script, vec![looks]).await;
    let thread = alone.thread().await;
    let (mut first, mut idle, gone) = (
        thread.subscribe(Some(0)),
        thread.subscribe(Some(0)),
        thread.subscribe(None),
    );
    drop(gone);
    start(&thread, "Go").await;
    let seen = story(&mut first).await;
    // The second has not read anything so far; what it gets is shorter and says the same.
    let late = story(&mut idle).await;
    let without_deltas = |story: &[Event]| -> Vec<(u64, &'static str)> {
        let deltas = |event: &&Event| !matches!(event.kind, EventKind::AgentMessageDelta(_));
        story
            .iter()
            .filter(deltas)
            .map(|event| (event.at.seq, event.kind.method()))
            .collect()
    };
    let text = |story: &[Event]| -> String {
        let deltas = story.iter().filter_map(|event| match &event.kind {
            EventKind::AgentMessageDelta(delta) => Some(delta.delta.clone()),
            _ => None,
        });
        deltas.collect()
    };
    assert_eq!(without_deltas(&seen), without_deltas(&late));
    assert_eq!(text(&seen), text(&late));
    assert!(text(&late).starts_with("word word"));
    assert!(late.len() <= without_deltas(&late).len() + 2);
    assert!(seen.windows(2).all(|pair| pair[0].at.seq < pair[1].at.seq));
    alone.agent.shutdown().await;
    assert!(matches!(
        within(first.next()).await.map(|event| event.kind),
        Some(EventKind::ThreadClosed(_))
    ));
    assert!(within(first.next()).await.is_none());
}

/// Shows S-010, S-441, S-455, S-457.
#[tokio::test]
async fn a_thread_that_has_ended_says_so_at_once() {
    let alone = Alone::new(json!([[say("ok")]]), Vec::new()).await;
    let thread = alone.thread().await;
    alone.run(&thread, "Hi").await;
    let mut events = thread.subscribe(None);
    alone.agent.shutdown().await;
    assert!(matches!(
        within(events.next()).await.map(|event| event.kind),
        Some(EventKind::ThreadClosed(_))
    ));
    assert!(within(events.next()).await.is_none());
    let lines = super::stage::rollout(&alone.home, thread.id().as_str());
    assert_eq!(lines.last().unwrap()["payload"]["type"], "task_complete");
    let content = vec![UserInput::Text {
        text: "Still there?".to_owned(),
    }];
    let start = Start {
        content,
        ..Start::default()
    };
    let error = within(thread.start_turn(start)).await.expect_err("it is over");
    assert!(error.to_string().contains("has ended"), "{error}");
    within(thread.interrupt(None)).await.expect_err("it is over");
    within(thread.close()).await;
}

/// Shows S-102.
#[tokio::test]
async fn a_thread_that_nobody_holds_ends_its_turn() {
    let dropped = Arc::new(AtomicBool::new(false));
    let hangs = {
        let dropped = dropped.clone();
        tool("hangs", false, move || {
            let guard = Dropped(dropped.clone());
            async move {
                let _guard = guard;
                std::future::pending().await
            }
        })
    };
    let alone = Alone::new(json!([[call("hangs", "c1"), {"hold": "never"}]]), vec![hangs]).await;
    let thread = alone.thread().await;
    let mut events = thread.subscribe(None);
    start(&thread, "Go").await;
    tools_begun(&mut events, 1).await;
    let Alone {
        agent, model: _model, ..
    } = alone;
    drop(thread);
    drop(agent);
    assert_eq!(ended(&story(&mut events).await).0, TurnStatus::Interrupted);
    assert!(matches!(
        within(events.next()).await.map(|event| event.kind),
        Some(EventKind::ThreadClosed(_))
    ));
    super::stage::eventually("the tool is ended", || dropped.load(Ordering::SeqCst)).await;
}

/// Shows S-091, S-093.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_turn_that_does_not_listen_itself_is_closed_all_the_same() {
    let release = Arc::new(AtomicBool::new(false));
    let _in_the_end = Dropped(release.clone());
    struct Blocks(Arc<AtomicBool>, AtomicUsize);
    impl Tool for Blocks {
        fn spec(&self) -> ToolSpec {
            // The second request is never made: it is asked for its name, for the first request, and for the call.
            while self.1.fetch_add(1, Ordering::SeqCst) > 2 && !self.0.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
            ToolSpec::Function {
                name: "looks".to_owned(),
                description: String::new(),
                strict: false,
                parameters: json!({"type": "object"}),
            }
        }

        fn only_reads(&self) -> bool {
            true
        }

        fn run<'a>(&'a self, _call: &'a Call, _host: &'a dyn Host) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
            async { Ok(ToolOutput::ok("seen")) }.boxed()
        }
    }
    let blocks = Arc::new(Blocks(release.clone(), AtomicUsize::new(0)));
    let alone = Alone::new(json!([[call("looks", "c1")], [say("on it")]]), vec![blocks]).await;
    let thread = alone.thread().await;
    let mut events = thread.subscribe(None);
    start(&thread, "Go").await;
    loop {
        let event = within(events.next()).await.expect("an event");
        if matches!(event.kind, EventKind::TokenUsageUpdated(_)) {
            break;
        }
    }
    assert!(thread.interrupt(None).await.expect("answered"));
    assert_eq!(ended(&story(&mut events).await).0, TurnStatus::Interrupted);
    release.store(true, Ordering::SeqCst);
    assert_eq!(ended(&alone.run(&thread, "Go on").await).0, TurnStatus::Completed);
    alone.agent.shutdown().await;
}

/// Shows S-080, S-088.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_input_at_the_very_end_of_a_turn_is_answered_in_the_turn_that_was_promised() {
    let alone = Alone::new(
        json!([{"repeat": true, "outputs": [{"say": "re: {{last_user}}"}]}]),
        Vec::new(),
    )
    .await;
    let thread = alone.thread().await;
    let input = |text: String| Start {
        content: vec![UserInput::Text { text }],
        ..Start::default()
    };
    for round in 0..150 {
        let mut events = thread.subscribe(None);
        start(&thread, &format!("question {round}")).await;
        loop {
            let event = within(events.next()).await.expect("an event");
            if matches!(event.kind, EventKind::TokenUsageUpdated(_)) {
                break;
            }
        }
        // Three at once, while the turn closes its door.
        let late = |number: usize| {
            let (thread, start) = (thread.clone(), input(format!("late {round} {number}")));
            async move { thread.start_turn(start).await.expect("taken").turn.id.clone() }
        };
        let promised = [tokio::spawn(late(0)), tokio::spawn(late(1)), tokio::spawn(late(2))];
        let mut waiting: std::collections::BTreeSet<_> = Default::default();
        for turn in promised {
            waiting.insert(turn.await.expect("no panic"));
        }
        let mut words = Vec::new();
        while !waiting.is_empty() {
            let event = within(events.next()).await.expect("an event");
            match event.kind {
                EventKind::TurnCompleted(completed) => {
                    assert_eq!(completed.turn.status, TurnStatus::Completed);
                    waiting.remove(&completed.turn.id);
                }
                EventKind::ItemCompleted(completed) => {
                    if let ThreadItem::UserMessage { content, .. } = completed.item {
                        words.extend(content);
                    }
                }
                _ => {}
            }
        }
        for number in 0..3 {
            let text = format!("late {round} {number}");
            let told = words
                .iter()
                .filter(|one| matches!(one, UserInput::Text { text: seen } if *seen == text));
            assert_eq!(told.count(), 1, "{text}");
        }
    }
    alone.agent.shutdown().await;
}

fn mail(text: &str) -> Mail {
    Mail::new(ResponseItem::Message {
        id: None,
        role: "user".to_owned(),
        content: vec![ContentPart::InputText { text: text.to_owned() }],
    })
}

/// Shows S-086, S-087.
#[tokio::test]
async fn mail_waits_for_the_next_request_or_wakes_an_idle_thread() {
    let script = json!([
        [say("I read both.")],
        [{"say": "The answer", "partial": true}, {"hold": "gate"}, {"say": " is 42."}],
        [say("I read the third.")],
        [say("I read the fourth.")],
    ]);
    let alone = Alone::new(script, vec![]).await;
    let thread = alone.thread().await;
    let mut events = thread.subscribe(None);
    thread.deliver(mail("mail 1"), false).await.expect("it lives");
    assert_eq!(thread.running(), None, "that is no reason for a turn");
    thread.deliver(mail("mail 2"), true).await.expect("it lives");
    let woken = story(&mut events).await;
    assert_eq!(ended(&woken).0, TurnStatus::Completed);
    let texts = |at: usize| -> Vec<String> {
        let requests = alone.model.requests();
        let texts = requests[at].input_texts().into_iter();
        texts.filter(|text| text.starts_with("mail")).collect()
    };
    assert_eq!(texts(0), ["mail 1", "mail 2"]);
    // While the last answer streams: the turn goes on for what wakes, and for nothing else.
    start(&thread, "Question").await;
    loop {
        let event = within(events.next()).await.expect("it lives");
        if matches!(event.kind, EventKind::AgentMessageDelta(_)) {
            break;
        }
    }
    thread.deliver(mail("mail 3"), true).await.expect("it lives");
    alone.model.release("gate");
    story(&mut events).await;
    assert_eq!((texts(1).len(), texts(2).len()), (2, 3));
    thread.deliver(mail("mail 4"), false).await.expect("it lives");
    start(&thread, "Next").await;
    story(&mut events).await;
    assert_eq!(texts(3), ["mail 1", "mail 2", "mail 3", "mail 4"]);
    assert_eq!(alone.model.requests().len(), 4);
}

/// Shows S-103.
#[tokio::test]
async fn a_task_takes_the_place_of_the_running_turn_or_is_refused() {
    let alone = Alone::new(json!([[{"hold": "never"}, say("x")], [say("later")]]), vec![]).await;
    let thread = alone.thread().await;
    let mut events = thread.subscribe(None);
    start(&thread, "Go").await;
    alone.model.wait_for_hold("never").await;
    let task = |when_busy| {
        Task::new(
            TurnKind::Review,
            when_busy,
            |turn: Arc<countersign::agent::turn::Turn>| async move {
                turn.begin(None);
                Ended::Completed
            },
        )
    };
    let refused = thread
        .start_task(task(WhenBusy::Refuse))
        .await
        .expect_err("a turn runs");
    assert_eq!(refused.kind(), "turnRunning");
    let started = thread
        .start_task(task(WhenBusy::Replace))
        .await
        .expect("it takes the place");
    assert_eq!(started.turn.kind, TurnKind::Review);
    let of_turn = |story: &[Event]| match &story.last().expect("an event").kind {
        EventKind::TurnCompleted(completed) => completed.turn.clone(),
        other => panic!("{other:?}"),
    };
    let replaced = of_turn(&story(&mut events).await);
    assert_eq!(
        (replaced.status, replaced.interrupted_by),
        (TurnStatus::Interrupted, Some(InterruptedBy::Replaced))
    );
    let id = started.turn.id.clone();
    drop(started);
    let review = of_turn(&story(&mut events).await);
    assert_eq!(
        (review.id, review.kind, review.status),
        (id, TurnKind::Review, TurnStatus::Completed)
    );
    let later = alone.run(&thread, "Next").await;
    assert_eq!(ended(&later).0, TurnStatus::Completed);
    // The reason is on the record as well.
    drop(events);
    thread.close().await;
    let stored = countersign::store::read(&alone.home, thread.id(), true).expect("a record");
    assert_eq!(stored.turns[0].interrupted_by, Some(InterruptedBy::Replaced));
    assert_eq!(stored.turns[1].kind, TurnKind::Review);
}

/// Keeps what it hears; says a word of its own at the end.
#[derive(Default)]
struct Hears(Mutex<Vec<String>>);

impl Hears {
    fn note(&self, what: &str, thread: &ThreadId) {
        self.0.lock().expect("whole").push(format!("{what} {thread}"));
    }
}

impl Contributor for Hears {
    fn name(&self) -> &'static str {
        "hears"
    }

    fn started(&self, beginning: &Beginning<'_>) {
        self.note("started", &beginning.conversation.id);
    }

    fn stopped<'a>(&'a self, services: &'a Services, conversation: &'a Conversation) -> BoxFuture<'a, ()> {
        async move {
            tokio::task::yield_now().await;
            self.note("stopped", &conversation.id);
            conversation.warn(None, format!("goodbye from {}", services.source));
        }
        .boxed()
    }
}

/// One that fails where it can.
struct Fails;

impl Contributor for Fails {
    fn name(&self) -> &'static str {
        "fails"
    }

    fn started(&self, _beginning: &Beginning<'_>) {
        panic!("a contributor that fails");
    }

    fn stopped<'a>(&'a self, _services: &'a Services, _conversation: &'a Conversation) -> BoxFuture<'a, ()> {
        async { panic!("a contributor that fails") }.boxed()
    }
}

/// Shows S-423, S-424.
#[tokio::test]
async fn contributors_hear_of_the_beginning_and_the_end_once_however_it_comes() {
    for way in ["shutdown", "nobody holds it", "archived", "archived, then shutdown"] {
        let hears = Arc::new(Hears::default());
        let contributors: Vec<Arc<dyn Contributor>> = vec![Arc::new(Fails), hears.clone()];
        let alone = Alone::with(json!([[say("One.")]]), Vec::new(), contributors).await;
        let thread = alone.thread().await;
        let id = thread.id().clone();
        alone.run(&thread, "Go").await;
        let mut events = thread.subscribe(None);
        drop(thread);
        let Alone { agent, model, .. } = alone;
        match way {
            "shutdown" => agent.shutdown().await,
            "nobody holds it" => drop(agent),
            _ => {
                agent.archive_thread(&id).await.expect("put away");
                if way != "archived" {
                    agent.shutdown().await;
                }
            }
        }
        let mut last = Vec::new();
        while let Some(event) = within(events.next()).await {
            last.push(event.kind);
        }
        // The thread's own things are still there when it hears, and nothing follows the end.
        let said =
            |kind: &EventKind| matches!(kind, EventKind::Warning(warning) if warning.message == "goodbye from test");
        assert_eq!(last.iter().filter(|kind| said(kind)).count(), 1, "{way}: {last:?}");
        assert!(
            matches!(last.last(), Some(EventKind::ThreadClosed(_))),
            "{way}: {last:?}"
        );
        let heard = hears.0.lock().expect("whole").clone();
        assert_eq!(heard, [format!("started {id}"), format!("stopped {id}")], "{way}");
        drop(model);
    }
}

/// Shows S-454, S-455.
#[tokio::test]
async fn a_record_that_cannot_be_finished_is_an_error_and_then_comes_the_end() {
    let alone = Alone::new(json!([[say("One.")]]), Vec::new()).await;
    let thread = alone.thread().await;
    // Something is in the way of its file, which is made with the first turn.
    let recorder = thread.conversation().recorder.as_ref().expect("a record");
    let folder = recorder.path().parent().expect("a folder").to_owned();
    let _not_made_yet = std::fs::remove_dir_all(&folder);
    std::fs::write(&folder, "in the way").expect("a file");
    alone.run(&thread, "Go").await;
    let mut events = thread.subscribe(None);
    thread.close().await;
    let mut last = Vec::new();
    while let Some(event) = within(events.next()).await {
        last.push(event.kind);
    }
    match &last[..] {
        [.., EventKind::Error(error), EventKind::ThreadClosed(_)] => {
            assert_eq!(error.error.kind, TurnErrorKind::Other);
            assert!(error.error.message.contains("recorded to its end"), "{error:?}");
        }
        other => panic!("{other:?}"),
    }
    drop(alone);
}
