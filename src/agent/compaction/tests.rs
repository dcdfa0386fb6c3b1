//! What is on the disk says exactly what the live conversation knows, whatever was said, compacted and resumed.

use super::fold::{Fold, Kept};
use crate::agent::conversation::Conversation;
use crate::agent::history::{History, output_for};
use crate::ids::{ThreadId, TurnId};
use crate::model::item::{ContentPart, ResponseItem};
use crate::store::{self, EventMsg, Recorder, RolloutItem, SessionMeta};
use proptest::prelude::*;
use std::path::Path;

#[derive(Clone, Debug)]
enum Step {
    Words(String),
    /// With an image.
    Picture(String),
    Context,
    Answer(String),
    /// A call, with its output if it came to one.
    Call(bool),
    /// A summary; so many things are said while it is made.
    Compact {
        summary: String,
        budget: usize,
        meanwhile: usize,
    },
    /// The server ends and another one goes on.
    Resume,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => "[a-d ]{1,40}".prop_map(Step::Words),
        1 => "[a-d]{1,4}".prop_map(Step::Picture),
        1 => Just(Step::Context),
        3 => "[a-d]{1,20}".prop_map(Step::Answer),
        3 => prop::bool::weighted(0.9).prop_map(Step::Call),
        2 => ("[A-D]{1,20}", 0usize..60, 0usize..3)
            .prop_map(|(summary, budget, meanwhile)| Step::Compact { summary, budget, meanwhile }),
        1 => Just(Step::Resume),
    ]
}

fn environment() -> ResponseItem {
    ResponseItem::user("<environment_context>\n  <cwd>/p</cwd>\n</environment_context>")
}

async fn begin(home: &Path) -> Conversation {
    let id = ThreadId::fresh();
    let meta = SessionMeta::new(id.clone(), Path::new("/p"), "test");
    let recorder = Recorder::create(home, meta).await.expect("a writable home");
    let conversation = Conversation::new(id, Some(recorder), History::default());
    conversation.remember([ResponseItem::developer("be kind")]);
    conversation
}

async fn end(conversation: &Conversation) -> std::path::PathBuf {
    let recorder = conversation.recorder.as_ref().expect("it is recorded");
    recorder.close().await.expect("a writable file");
    recorder.path().to_owned()
}

async fn play(home: &Path, steps: Vec<Step>) -> (Vec<ResponseItem>, Vec<ResponseItem>) {
    let mut conversation = begin(home).await;
    let turn = |number: usize| TurnId::from(format!("t{number}"));
    for (number, step) in steps.into_iter().enumerate() {
        match step {
            Step::Words(text) => {
                conversation.record(RolloutItem::EventMsg(EventMsg::TaskStarted {
                    turn_id: Some(turn(number)),
                    started_at: None,
                    model_context_window: None,
                    kind: Default::default(),
                }));
                conversation.say([ResponseItem::user(text)]);
            }
            Step::Picture(text) => {
                let image = ContentPart::InputImage {
                    image_url: "data:image/png;base64,AAAA".into(),
                };
                conversation.say([ResponseItem::Message {
                    id: None,
                    role: "user".into(),
                    content: vec![ContentPart::InputText { text }, image],
                }]);
            }
            Step::Context => conversation.say([environment()]),
            Step::Answer(text) => conversation.say([ResponseItem::Message {
                id: Some(format!("msg_{number}")),
                role: "assistant".into(),
                content: vec![ContentPart::OutputText { text }],
            }]),
            Step::Call(is_answered) => {
                let id = format!("call_{number}");
                let call = ResponseItem::FunctionCall {
                    id: None,
                    name: "shell".into(),
                    arguments: "{}".into(),
                    call_id: id.clone(),
                };
                conversation.say([call.clone()]);
                if is_answered {
                    conversation.say([output_for(&call, &id, "out".to_owned())]);
                }
            }
            Step::Compact {
                summary,
                budget,
                meanwhile,
            } => {
                let before = conversation.data().history.for_model();
                let fold = Fold::of(&before);
                // As it is between two rounds: every call has its output.
                if fold.is_empty() || *before != *conversation.data().history.items() {
                    continue;
                }
                for _ in 0..meanwhile {
                    conversation.say([ResponseItem::user("<countersign_note>\nnews\n</countersign_note>")]);
                }
                let replaced = fold.replaced;
                let history = fold.into_history(Kept {
                    project: None,
                    surroundings: vec![environment()],
                    summary: &summary,
                    open: "",
                    budget,
                });
                conversation.replace(replaced, history, summary);
            }
            Step::Resume => {
                conversation.say([ResponseItem::user("so that there is a file")]);
                let path = end(&conversation).await;
                let fork = SessionMeta::new(ThreadId::fresh(), Path::new("/p"), "test");
                let resumed = Recorder::resume(home, &path, fork).await.expect("our own file");
                assert!(!resumed.forked);
                let id = conversation.id.clone();
                conversation = Conversation::new(id, Some(resumed.recorder), History::new(resumed.stored.history));
            }
        }
    }
    conversation.say([ResponseItem::user("the last word")]);
    let path = end(&conversation).await;
    let stored = store::load(&path).expect("our own file").history;
    let live = conversation.data().history.for_model();
    (live.to_vec(), stored)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Shows S-237.
    #[test]
    fn a_replayed_rollout_is_the_live_history(steps in prop::collection::vec(step(), 1..25)) {
        let home = tempfile::tempdir().expect("a folder");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let (live, stored) = runtime.block_on(play(home.path(), steps));
        // What a call without an output is given depends on who misses it.
        let plain = |items: Vec<ResponseItem>| -> Vec<ResponseItem> {
            let unsaid = |item: ResponseItem| match item {
                ResponseItem::FunctionCallOutput { call_id, output: crate::model::item::ToolOutputPayload::Text(text) }
                    if text != "out" => output_for(&ResponseItem::Other, &call_id, String::new()),
                item => item,
            };
            items.into_iter().map(unsaid).collect()
        };
        prop_assert_eq!(plain(live), plain(stored));
    }
}
