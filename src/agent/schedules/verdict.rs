//! What must be so at the end of every schedule.

use super::dice::Dice;
use super::person;
use super::world::{Fate, Record, World};
use crate::agent::thread::QueueChange;
use crate::model::item::{ContentPart, ResponseItem};
use crate::protocol::thread::ThreadStatus;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Longest wait until nothing happens any more.
const PATIENCE: Duration = Duration::from_secs(3600);
/// How soon the person looks again at a thread that has nothing to do.
const LOOKS_AFTER: Duration = Duration::from_millis(700);
/// A stopped turn is closed by then.
const STOPPED_WITHIN: Duration = Duration::from_millis(2000);

/// What a run of many schedules must have come across, or it proves little.
pub(super) const SIGHTS: [&str; 10] = [
    "completed",
    "failed",
    "interrupted by person",
    "interrupted by replaced",
    "interrupted by shutdown",
    "retried",
    "paused",
    "given back",
    "withdrawn",
    "woken",
];

/// Which of them one schedule came across.
pub(super) fn sights(world: &World) -> Vec<&'static str> {
    let record = world.record();
    let saw = |sight: &str| {
        record
            .events
            .iter()
            .any(|(_, method, params)| match (sight, method.as_str()) {
                ("completed" | "failed", "turn/completed") => params["turn"]["status"] == sight,
                ("retried", "turn/retrying") => true,
                ("paused", "turn/queueChanged") => params["queue"]["paused"] == true,
                ("given back", "turn/completed") => params["unanswered"] != Value::Array(Vec::new()),
                ("withdrawn", "approval/resolved") => params["decision"].is_null(),
                ("woken", "turn/completed") => {
                    let items = params["turn"]["items"].as_array().into_iter().flatten();
                    let mut kinds = items.map(|item| &item["type"]);
                    params["turn"]["kind"] == "regular" && kinds.next().is_some_and(|first| first != "userMessage")
                }
                (sight, "turn/completed") => {
                    let by = params["turn"]["interruptedBy"].as_str();
                    by.is_some_and(|by| sight.strip_prefix("interrupted by ") == Some(by))
                }
                _ => false,
            })
    };
    SIGHTS.into_iter().filter(|sight| saw(sight)).collect()
}

/// Lets all that was begun come to its end, closes the thread, and tells what is wrong.
pub(super) async fn of(world: &Arc<World>) -> Vec<String> {
    let mut faults = Vec::new();
    // A few are left in the middle of it, as by a client that goes away.
    let leaves = world.record().events.len() % 10 == 3;
    if !leaves && !settles(world).await {
        faults.push("it never came to rest".to_owned());
    }
    world.note("close");
    world.thread.close().await;
    // What was published is read.
    tokio::time::sleep(Duration::from_secs(1)).await;
    if !world
        .agent
        .services()
        .approvals
        .pending(Some(world.thread.id()))
        .is_empty()
    {
        faults.push("a question is still open".to_owned());
    }
    if world.thread.snapshot(false).status != ThreadStatus::Idle {
        faults.push(format!("a closed thread is {:?}", world.thread.snapshot(false).status));
    }
    let requests = world.provider.requests();
    for violation in requests.iter().flat_map(|request| request.violations()) {
        faults.push(format!("a request broke the rules: {violation}"));
    }
    let heard: Vec<String> = requests.iter().flat_map(|request| request.input_texts()).collect();
    let history = world.thread.conversation().data().history.items().to_vec();
    let record = world.record();
    faults.extend(record.faults.iter().cloned());
    faults.extend(record.order.left_open());
    if record
        .events
        .last()
        .is_none_or(|(_, method, _)| method != "thread/closed")
    {
        faults.push("the thread was not closed, or something came after".to_owned());
    }
    faults.extend(calls(&history));
    faults.extend(words(&record, &heard, &history));
    faults.extend(stops(&record));
    faults.extend(quiet(&record));
    for mail in &record.mail {
        let count = history.iter().filter(|item| text_of(item) == *mail).count();
        if count != 1 {
            faults.push(format!("mail {mail} is in the history {count} times"));
        }
    }
    faults
}

/// Answers what is asked, and takes pauses away, until the thread has nothing to do. False if that never comes.
async fn settles(world: &Arc<World>) -> bool {
    let mut dice = Dice::new(1);
    let mut idle = 0;
    let mut pause = LOOKS_AFTER;
    while world.now() < PATIENCE {
        person::answer(world, &mut dice);
        let queue = world.thread.change_queue(QueueChange::Look).await.expect("it lives");
        if queue.paused {
            world.thread.change_queue(QueueChange::Resume).await.expect("it lives");
        }
        let is_idle = world.thread.running().is_none() && queue.inputs.is_empty();
        // Whoever waits for a provider that has fallen silent looks less and less often.
        (idle, pause) = match is_idle {
            true => (idle + 1, LOOKS_AFTER),
            false => (0, (pause * 2).min(LOOKS_AFTER * 30)),
        };
        if idle == 3 {
            return true;
        }
        // A provider that has fallen silent for ever is left alone by the person.
        if !is_idle && world.now() > PATIENCE / 4 {
            let _stopped = world.thread.interrupt(None).await;
        }
        tokio::time::sleep(pause).await;
    }
    false
}

fn text_of(item: &ResponseItem) -> String {
    let ResponseItem::Message { content, .. } = item else {
        return String::new();
    };
    content
        .iter()
        .filter_map(|part| match part {
            ContentPart::InputText { text } => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

/// Each call has one output.
fn calls(history: &[ResponseItem]) -> Vec<String> {
    let mut open: BTreeMap<&str, i32> = BTreeMap::new();
    for item in history {
        match item {
            ResponseItem::FunctionCall { call_id, .. } => *open.entry(call_id).or_default() += 1,
            ResponseItem::FunctionCallOutput { call_id, .. } => *open.entry(call_id).or_default() -= 1,
            _ => {}
        }
    }
    let wrong = open.into_iter().filter(|(_, count)| *count != 0);
    wrong
        .map(|(id, count)| format!("call {id}: {count} more calls than outputs"))
        .collect()
}

/// All that was said is somewhere, once: in a turn, given back, or in the queue.
fn words(record: &Record, heard: &[String], history: &[ResponseItem]) -> Vec<String> {
    let mut faults = Vec::new();
    let ends = || record.events.iter().filter(|(_, method, _)| method == "turn/completed");
    let said = |value: &Value| value[0]["text"].as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut read: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut back: Vec<String> = Vec::new();
    for (_, _, params) in ends() {
        let status = params["turn"]["status"].as_str().unwrap_or_default().to_owned();
        for item in list(&params["turn"]["items"])
            .iter()
            .filter(|item| item["type"] == "userMessage")
        {
            read.entry(said(&item["content"])).or_default().push(status.clone());
        }
        back.extend(list(&params["unanswered"]).iter().map(|unread| said(&unread["input"])));
    }
    let queue = record
        .events
        .iter()
        .rfind(|(_, method, _)| method == "turn/queueChanged");
    let left: Vec<String> = match queue {
        Some((_, _, params)) => list(&params["queue"]["inputs"])
            .iter()
            .map(|queued| said(&queued["input"]))
            .collect(),
        None => Vec::new(),
    };
    for (words, fate) in &record.words {
        let in_turns = read.get(words).map_or(0, Vec::len);
        let places = in_turns
            + back.iter().filter(|back| *back == words).count()
            + left.iter().filter(|left| *left == words).count();
        let expected = usize::from(*fate == Fate::Taken);
        if places != expected {
            faults.push(format!("{words} ({fate:?}) is in {places} places, not {expected}"));
        }
        let told = history.iter().filter(|item| text_of(item) == *words).count();
        if told != in_turns {
            faults.push(format!(
                "{words} is in {in_turns} turns and {told} times in the history"
            ));
        }
        let is_answered = read
            .get(words)
            .is_some_and(|turns| turns.iter().any(|status| status == "completed"));
        if is_answered && !heard.iter().any(|heard| heard == words) {
            faults.push(format!("{words} is in a completed turn, and the model never heard it"));
        }
    }
    faults
}

/// Stopped turns are closed in time.
fn stops(record: &Record) -> Vec<String> {
    let mut faults = Vec::new();
    for (turn, at) in &record.stopped {
        let end = record
            .events
            .iter()
            .find(|(_, method, params)| method == "turn/completed" && params["turn"]["id"] == turn.as_str());
        match end {
            Some((ended, _, _)) if *ended <= *at + STOPPED_WITHIN => {}
            Some((ended, _, _)) => faults.push(format!("a turn that was stopped at {at:?} ended at {ended:?}")),
            None => faults.push(format!("a turn that was stopped at {at:?} has no end")),
        }
    }
    faults
}

/// After a stop by the person the model is asked no more before they have said something.
fn quiet(record: &Record) -> Vec<String> {
    let ends = record.events.iter().filter(|(_, method, _)| method == "turn/completed");
    let mut stopped = false;
    let mut faults = Vec::new();
    for (at, _, params) in ends {
        let turn = &params["turn"];
        let mut items = turn["items"].as_array().into_iter().flatten();
        // What was said to a turn and not read there was said all the same.
        let spoke = items.any(|item| item["type"] == "userMessage") || params["unanswered"] != Value::Array(Vec::new());
        if stopped && turn["kind"] == "regular" && !spoke {
            faults.push(format!(
                "a turn that ended at {at:?} began by itself after the person had stopped one"
            ));
        }
        stopped &= !spoke;
        stopped |= turn["interruptedBy"] == "person";
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn end(texts: &[&str], status: &str, unanswered: &[&str]) -> (Duration, String, Value) {
        let content = |text: &&str| json!([{"type": "text", "text": text}]);
        let items = texts
            .iter()
            .map(|text| json!({"type": "userMessage", "content": content(text)}));
        let items: Vec<Value> = items.collect();
        let back: Vec<Value> = unanswered
            .iter()
            .map(|text| json!({ "input": content(text) }))
            .collect();
        let turn = json!({"id": "t", "status": status, "items": items});
        let params = json!({"turn": turn, "unanswered": back});
        (Duration::from_secs(5), "turn/completed".to_owned(), params)
    }

    fn record(end: (Duration, String, Value), fates: &[(&str, Fate)]) -> Record {
        Record {
            events: vec![end],
            words: fates
                .iter()
                .map(|(words, fate)| ((*words).to_owned(), fate.clone()))
                .collect(),
            ..Record::default()
        }
    }

    #[test]
    fn what_is_wrong_is_seen() {
        let user = |text: &str| crate::agent::prompt::message("user", text.to_owned());
        let (said, heard) = ([user("a")], ["a".to_owned()]);
        let taken = [("a", Fate::Taken)];
        let faults = |end, fates: &[(&str, Fate)], heard: &[String], history: &[ResponseItem]| {
            words(&record(end, fates), heard, history).len()
        };
        assert_eq!(faults(end(&["a"], "completed", &[]), &taken, &heard, &said), 0);
        assert_eq!(faults(end(&[], "interrupted", &["a"]), &taken, &[], &[]), 0);
        assert_eq!(faults(end(&[], "completed", &[]), &taken, &[], &[]), 1, "lost");
        assert_eq!(
            faults(end(&["a"], "completed", &["a"]), &taken, &heard, &said),
            1,
            "twice"
        );
        assert_eq!(
            faults(end(&["a"], "completed", &[]), &[("a", Fate::Refused)], &heard, &said),
            1,
            "refused"
        );
        assert_eq!(
            faults(end(&["a"], "completed", &[]), &taken, &[], &said),
            1,
            "never heard"
        );
        assert_eq!(
            faults(end(&["a"], "completed", &[]), &taken, &heard, &[]),
            1,
            "not in the history"
        );
        let call = ResponseItem::FunctionCall {
            id: None,
            name: "x".to_owned(),
            arguments: String::new(),
            call_id: "c".to_owned(),
        };
        assert_eq!(calls(&[call]).len(), 1, "an orphan");
        let mut late = record(end(&[], "interrupted", &[]), &[]);
        late.stopped = vec![
            ("t".into(), Duration::from_secs(4)),
            ("t".into(), Duration::from_secs(2)),
            ("u".into(), Duration::ZERO),
        ];
        assert_eq!(stops(&late).len(), 2, "one is late, and one has no end");
    }
}
