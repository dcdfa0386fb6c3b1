//! A recorded thread goes on, or a new one goes on from it.

use super::{ID, Play, assistant, call, file_of, lines, meta, meta_line, output, said, settings, user, words_line};
use countersign::ids::TurnId;
use countersign::protocol::event::{self, EventKind};
use countersign::protocol::item::{CommandAction, CommandSource, Confined, ItemStatus, ThreadItem};
use countersign::protocol::model::{Cost, ThreadTokenUsage, TokenUsage};
use countersign::protocol::settings::ApprovalPolicy;
use countersign::protocol::turn::{TurnError, TurnErrorKind, TurnStatus};
use countersign::store::{self, Recorder, RolloutItem, Until};

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
        cost: Some(Cost {
            usd: 0.25,
            is_partial: true,
        }),
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
        full_output: Some("/home/outputs/t/call-1.txt".into()),
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
