//! *Send again* in a chat document: a lens where the person writes, for as long as it holds.

use super::room::{NAME, Room};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn used_up(seconds: u64) -> Value {
    json!([{"fail": {"status": 429,
        "body": {"error": {"type": "usage_limit_reached", "message": "The limit.", "resets_in_seconds": seconds}}}}])
}

/// The lenses that say something of sending again, once there is one that begins so.
async fn lens(room: &Room, title: &str) -> Value {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let lenses = room.work.lenses(NAME).await;
        let about = |lens: &&Value| {
            lens["command"]["title"]
                .as_str()
                .is_some_and(|title| title.contains("end again"))
        };
        let about: Vec<_> = lenses.iter().filter(about).collect();
        if let [one] = about[..]
            && one["command"]["title"]
                .as_str()
                .is_some_and(|one| one.starts_with(title))
        {
            return one.clone();
        }
        assert!(Instant::now() < deadline, "no {title:?} among {lenses:#?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The message to the person that begins like this.
async fn told(room: &Room, beginning: &'static str) {
    let fits = move |params: &Value| {
        params["message"]
            .as_str()
            .is_some_and(|text| text.starts_with(beginning))
    };
    room.work
        .client
        .expect_notification_where("window/showMessage", fits)
        .await;
}

#[tokio::test]
async fn the_lens_of_a_used_up_allowance_sends_again_and_takes_it_back() {
    let room = Room::start("helix-25.07.1", "", json!([used_up(7200)])).await;
    room.send("Where are you?").await;
    room.sees("The limit.").await;
    let send = lens(&room, "Agent: Send again at ").await;
    // It stands where the person writes, and names the turn that failed.
    let text = room.text();
    let line = usize::try_from(send["range"]["start"]["line"].as_u64().expect("a line")).expect("a small number");
    assert_eq!(text.lines().nth(line), Some("## ❯ You"), "{text}");
    assert_eq!(
        text.lines()
            .skip(line + 1)
            .filter(|line| line.starts_with("## "))
            .count(),
        0
    );
    assert!(send["command"]["arguments"][0]["turnId"].is_string(), "{send}");
    room.work.run(&send).await;
    told(&room, "The message is sent again at ").await;
    let back = lens(&room, "Agent: Do not send again at ").await;
    room.work.run(&back).await;
    told(&room, "The message is not sent again.").await;
    lens(&room, "Agent: Send again at ").await;
    assert_eq!(room.work.model.requests().len(), 1);
}

#[tokio::test]
async fn what_the_lens_sends_again_is_answered_in_the_document() {
    let room = Room::start("helix-25.07.1", "", json!([used_up(1), [{"say": "Here I am."}]])).await;
    room.send("Where are you?").await;
    let send = lens(&room, "Agent: Send again ").await;
    room.work.run(&send).await;
    told(&room, "The message is sent again ").await;
    room.sees("Here I am.").await;
    room.rests().await;
    let requests = room.work.model.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[1].last_user_text(), "Where are you?");
    assert_eq!(room.text().matches("Where are you?").count(), 2, "{}", room.text());
    let titles = room.titles().await;
    assert!(titles.iter().all(|title| !title.contains("end again")), "{titles:?}");
}
