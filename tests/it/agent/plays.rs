//! Whole conversations as plays, and a stop at every point of one.

use super::play::Play;
use super::stage::{apply_patch, bash, say, shell};
use serde_json::json;

const PATCH: &str = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** End Patch";

#[tokio::test]
async fn a_question_an_answer_a_patch_and_a_last_word() {
    let played = Play::new()
        .config("approval_policy = \"untrusted\"")
        .file("a.txt", "one\n")
        .person("Make it two.")
        .model([say("I look."), bash("c1", "cat a.txt && touch looked")])
        .answers("accept")
        .model([apply_patch("c2", PATCH)])
        .decides("accept")
        .model([say("It is two.")])
        .ends("completed")
        .play()
        .await;
    assert_eq!(played.said(), [["I look.", "It is two."]]);
    assert_eq!(played.stage.text("a.txt"), "two\n");
    let request = played.last_request();
    assert!(request.output("c1").expect("an output").contains("one"));
}

#[tokio::test]
async fn steering_joins_and_queueing_waits() {
    let played = Play::new()
        .person("Begin.")
        .model([bash("c1", "echo ready; until test -e go; do sleep 0.02; done")])
        .sees("item/commandExecution/outputDelta", json!({"delta": "ready"}))
        .queues("Later.")
        .person("Now.")
        .writes("go", "")
        .model([say("Both heard.")])
        .ends("completed")
        .model([say("Later it is.")])
        .ends("completed")
        .play()
        .await;
    assert_eq!(played.said(), [["Both heard."], ["Later it is."]]);
    let steered: Vec<_> = played.turns[0].items("userMessage");
    assert_eq!(steered.len(), 2);
    assert_eq!(played.turns[1].item("userMessage")["content"][0]["text"], "Later.");
}

/// What has been played up to the point at which the person presses stop.
fn points() -> Vec<(&'static str, Play)> {
    let play = || Play::new().file("a.txt", "one\n").person("Go.");
    let asks = || play().config("approval_policy = \"untrusted\"");
    vec![
        (
            "the request is on its way",
            play().model([json!({"hold": "never"}), say("x")]).reached("never"),
        ),
        (
            "words stream",
            play()
                .model([json!({"say": "A few wo", "partial": true}), json!({"hold": "never"})])
                .sees("item/agentMessage/delta", json!({"delta": "wo"})),
        ),
        (
            "thoughts stream",
            play()
                .model([json!({"think": "Hm", "partial": true}), json!({"hold": "never"})])
                .sees("item/reasoning/summaryTextDelta", json!({"delta": "Hm"})),
        ),
        (
            "a call streams",
            play()
                .model([
                    json!({"call": {"tool": "shell", "arguments": "{\"command\": [\"tou", "id": "c1"}, "partial": true}),
                    json!({"hold": "never"}),
                ])
                .reached("never"),
        ),
        (
            "a tool begins while the answer streams",
            play()
                .model([shell("c1", &["sleep", "1000"]), json!({"hold": "never"})])
                .sees("item/started", json!({"item": {"type": "commandExecution"}})),
        ),
        (
            "a command runs, and others wait behind it",
            play()
                .model([
                    bash("c1", "trap '' TERM; echo ready; setsid sleep 1000 & sleep 1000"),
                    bash("c2", "touch never"),
                    apply_patch("c3", PATCH),
                ])
                .sees("item/commandExecution/outputDelta", json!({"delta": "ready"})),
        ),
        (
            "a question is open",
            asks()
                .model([bash("c1", "touch never"), bash("c2", "touch never")])
                .asked(),
        ),
        (
            "a permission is asked for",
            play()
                .model([json!({"call": {
                    "tool": "request_permissions",
                    "arguments": {"permissions": [{"type": "network"}], "reason": "To look."},
                    "id": "c1",
                }})])
                .sees("approval/requested", json!({})),
        ),
        (
            "a proposal waits",
            play().model([apply_patch("c1", PATCH)]).sees("proposal/created", json!({})),
        ),
        (
            "a retry is waited for",
            play()
                .model([json!({"fail": {"status": 503, "retry_after": 60}})])
                .sees("turn/retrying", json!({})),
        ),
        (
            "the connection is silent",
            play()
                .model([json!({"begin": true}), json!({"hold": "never"})])
                .reached("never"),
        ),
    ]
}

/// Shows S-069, S-091, S-093, S-099, S-101.
#[tokio::test]
async fn a_stop_at_every_point_closes_the_turn_once_and_the_next_one_works() {
    for (point, play) in points() {
        let played = play
            .stops()
            .ends("interrupted")
            .person("Go on.")
            .model([say("on it")])
            .ends("completed")
            .play()
            .await;
        let stopped = &played.turns[0];
        assert_eq!(
            stopped.one("turn/completed")["turn"]["interruptedBy"],
            "person",
            "{point}"
        );
        assert_eq!(stopped.count("error"), 0, "{point}");
        assert_eq!(played.said()[1], ["on it"], "{point}");
        let request = played.last_request();
        let told = request.input_texts();
        let told = told.iter().filter(|text| text.contains("<turn_aborted>")).count();
        assert_eq!(told, 1, "{point}");
        assert!(!played.stage.path("never").exists(), "{point}");
        assert_eq!(played.stage.text("a.txt"), "one\n", "{point}");
    }
}
