//! Whatever happened in a conversation, playing its file again gives its history.

use super::{assistant, call, meta, output, user};
use countersign::ids::TurnId;
use countersign::model::item::ResponseItem;
use countersign::protocol::turn::TurnKind;
use countersign::store::{self, EventMsg, Recorder, RolloutItem};
use serde_json::json;

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
            error: None,
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
