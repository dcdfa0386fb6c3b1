//! Commands that are written after `/`.

use super::room::Room;
use serde_json::json;

/// The words do what the code action does, and are not sent to the model.
#[tokio::test]
async fn stop_as_words_ends_the_running_turn() {
    let room = Room::start("helix-25.07.1", "", json!([[{"say": "I begin. "}, {"hold": "never"}]])).await;
    room.send("Begin").await;
    room.sees("I begin.").await;
    room.send("/stop").await;
    room.sees("*Stopped.*").await;
    room.rests().await;
    let sent = room.work.model.requests();
    assert_eq!(sent.len(), 1);
    assert!(!sent[0].body.to_string().contains("/stop"));
}
