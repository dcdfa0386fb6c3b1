//! What holds for the notifications of every thread, as a check: for tests, and for whoever wants to know whether a client's
//! record of a session is whole.
//!
//! The rules are those of "Order" on the protocol's page.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Follows the notifications of any number of threads.
#[derive(Debug, Default)]
pub struct Order {
    threads: BTreeMap<String, Thread>,
}

#[derive(Debug, Default)]
struct Thread {
    /// The last number.
    seq: u64,
    /// The turn that runs.
    running: Option<String>,
    /// Turns that have ended.
    ended: BTreeSet<String>,
    /// Items of the running turn that have begun and not ended.
    open: BTreeSet<String>,
    /// Items of the running turn that have ended.
    done: BTreeSet<String>,
    /// Items of the running turn that were withdrawn.
    withdrawn: BTreeSet<String>,
    /// Questions without an end.
    asked: BTreeSet<String>,
    /// Proposals of this server's turns that wait for the person.
    proposed: BTreeSet<String>,
    /// Terminals that run.
    terminals: BTreeSet<u64>,
    /// The realtime conversation that runs.
    voice: Option<String>,
    closed: bool,
}

impl Order {
    /// Takes the next notification: its method, with or without `countersign/`, and its parameters. What belongs to no
    /// thread is let through.
    ///
    /// # Errors
    /// In words what is wrong about it.
    pub fn take(&mut self, method: &str, params: &Value) -> Result<(), String> {
        let method = method.strip_prefix("countersign/").unwrap_or(method);
        let (Some(id), Some(seq)) = (params["threadId"].as_str(), params["seq"].as_u64()) else {
            return Ok(());
        };
        // A copy, which may begin anywhere in the story.
        if params["subscriptionId"].is_string() {
            return Ok(());
        }
        if method == "thread/started" {
            // A thread that was closed and is brought back counts on or anew.
            let seq = self
                .threads
                .get(id)
                .filter(|thread| thread.closed)
                .map(|thread| thread.seq);
            self.threads.remove(id);
            let begun = Thread {
                seq: seq
                    .filter(|last| *last < params["seq"].as_u64().unwrap_or_default())
                    .unwrap_or_default(),
                ..Thread::default()
            };
            self.threads.insert(id.to_owned(), begun);
        }
        let thread = self.threads.entry(id.to_owned()).or_default();
        thread
            .take(method, params, seq)
            .map_err(|wrong| format!("{wrong}: {method} {params}"))
    }

    /// What should have ended by now in threads that are idle or closed.
    pub fn left_open(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (id, thread) in &self.threads {
            let mut say = |what: &str, which: String| found.push(format!("thread {id}: {what} {which}"));
            if let Some(turn) = &thread.running {
                say("no end of turn", turn.clone());
            }
            thread
                .asked
                .iter()
                .for_each(|asked| say("no end of question", asked.clone()));
            if thread.closed {
                if let Some(voice) = &thread.voice {
                    say("no end of realtime conversation", voice.clone());
                }
                thread
                    .terminals
                    .iter()
                    .for_each(|number| say("no end of terminal", number.to_string()));
            }
        }
        found
    }

    /// The same for those threads only whose last event is there.
    pub fn left_open_of_closed(&self) -> Vec<String> {
        let threads = self.threads.iter().filter(|(_, thread)| thread.closed);
        let closed = |(id, thread): (&String, &Thread)| (id.clone(), thread.clone_open());
        Self {
            threads: threads.map(closed).collect(),
        }
        .left_open()
    }
}

impl Thread {
    /// Only what has not ended.
    fn clone_open(&self) -> Self {
        Self {
            running: self.running.clone(),
            asked: self.asked.clone(),
            terminals: self.terminals.clone(),
            voice: self.voice.clone(),
            closed: self.closed,
            ..Self::default()
        }
    }

    fn take(&mut self, method: &str, params: &Value, seq: u64) -> Result<(), String> {
        if self.closed {
            match method {
                // It comes back to life.
                "thread/started" => self.closed = false,
                // What is done to the file of a thread that rests.
                "thread/archived" | "thread/unarchived" | "thread/deleted" | "thread/nameUpdated" => {}
                _ => return Err("after the thread's last event".to_owned()),
            }
        }
        // Of what was joined on its way the last number is kept.
        let may_jump = method.ends_with("elta") || matches!(method, "proposal/moved" | "terminal/output");
        if seq <= self.seq || (seq > self.seq + 1 && self.seq > 0 && !may_jump) {
            return Err(format!("number {seq} after {}", self.seq));
        }
        self.seq = seq;
        match method {
            "thread/closed" => {
                self.closed = true;
                if let Some(turn) = &self.running {
                    return Err(format!("turn {turn} has no end"));
                }
            }
            "realtime/started" => {
                if let Some(voice) = &self.voice {
                    return Err(format!("realtime conversation {voice} runs already"));
                }
                self.voice = params["realtimeId"].as_str().map(str::to_owned);
            }
            voice if voice.starts_with("realtime/") => {
                if self.voice.as_deref() != params["realtimeId"].as_str() || self.voice.is_none() {
                    return Err("of a realtime conversation that does not run".to_owned());
                }
                if voice == "realtime/closed" {
                    self.voice = None;
                }
            }
            "terminal/started" => {
                self.terminals.extend(params["terminal"]["terminalId"].as_u64());
            }
            "terminal/exited" => {
                let id = params["terminalId"].as_u64().unwrap_or_default();
                self.terminals.remove(&id);
            }
            _ => {}
        }
        match params["turnId"].as_str() {
            Some(turn) => self.of_turn(method, params, turn),
            None => of_thread(method, params),
        }
    }

    fn of_turn(&mut self, method: &str, params: &Value, turn: &str) -> Result<(), String> {
        if method == "turn/started" {
            if let Some(running) = &self.running {
                return Err(format!("turn {running} runs already"));
            }
            if self.ended.contains(turn) {
                return Err("the turn began before".to_owned());
            }
            self.running = Some(turn.to_owned());
            self.open.clear();
            self.done.clear();
            self.withdrawn.clear();
            return same(params, turn);
        }
        // A proposal is settled after its turn where applying it takes longer, and a question where its turn was ended by force.
        let may_be_late = matches!(
            method,
            "proposal/updated" | "approval/resolved" | "mcp/elicitationResolved"
        );
        if self.running.as_deref() != Some(turn) && !(may_be_late && self.ended.contains(turn)) {
            return Err(match self.ended.contains(turn) {
                true => "after the end of its turn",
                false => "before its turn began",
            }
            .to_owned());
        }
        let item = || {
            let id = params["item"]["id"].as_str().or(params["itemId"].as_str());
            id.map(str::to_owned).ok_or("no item is named")
        };
        match method {
            "turn/completed" => {
                same(params, turn)?;
                if params["turn"]["status"] == "inProgress" {
                    return Err("it has ended and is in progress".to_owned());
                }
                if params["turn"]["status"] == "interrupted" && params["turn"]["interruptedBy"].is_null() {
                    return Err("nobody stopped it".to_owned());
                }
                self.running = None;
                self.ended.insert(turn.to_owned());
                if !self.open.is_empty() {
                    return Err(format!("items are open: {:?}", self.open));
                }
                if !self.asked.is_empty() {
                    return Err(format!("questions are open: {:?}", self.asked));
                }
                let shown = params["turn"]["items"].as_array().into_iter().flatten();
                let shown: BTreeSet<_> = shown
                    .filter_map(|item| item["id"].as_str().map(str::to_owned))
                    .collect();
                if shown != self.done {
                    return Err(format!("its items were {:?}", self.done));
                }
            }
            "item/started" => {
                let item = item()?;
                if self.done.contains(&item) {
                    return Err("the item is done already".to_owned());
                }
                if self.withdrawn.contains(&item) {
                    return Err("the item was withdrawn".to_owned());
                }
                if !self.open.insert(item) {
                    return Err("the item began before".to_owned());
                }
            }
            "item/completed" => {
                let item = item()?;
                if params["item"]["status"] == "inProgress" {
                    return Err("the item is done and in progress".to_owned());
                }
                if !self.open.remove(&item) {
                    return Err("the item was not open".to_owned());
                }
                match params["withdrawn"] == true {
                    true => self.withdrawn.insert(item),
                    false => self.done.insert(item),
                };
            }
            "approval/requested" => {
                let id = params["approval"]["id"].as_str().unwrap_or_default();
                if !self.asked.insert(id.to_owned()) {
                    return Err("the question was asked before".to_owned());
                }
            }
            "approval/resolved" => {
                let id = params["approvalId"].as_str().unwrap_or_default();
                if !self.asked.remove(id) {
                    return Err("the question was not open".to_owned());
                }
            }
            "proposal/created" => {
                let id = params["proposal"]["id"].as_str().unwrap_or_default();
                if !self.proposed.insert(id.to_owned()) {
                    return Err("the proposal was made before".to_owned());
                }
            }
            delta if delta.starts_with("item/") && !self.open.contains(&item()?) => {
                return Err("more of an item that is not open".to_owned());
            }
            _ => {}
        }
        Ok(())
    }
}

/// What may come without a turn. Proposals of an earlier server belong to no turn of this one.
fn of_thread(method: &str, params: &Value) -> Result<(), String> {
    let of_thread = ["thread/", "proposal/", "file/", "terminal/", "mcp/", "realtime/"]
        .iter()
        .any(|start| method.starts_with(start));
    // An MCP server fails beside all turns, and so does a voice.
    let failed_beside =
        method == "error" && (params["error"]["kind"] == "toolServerFailed" || params["realtimeId"].is_string());
    match of_thread || failed_beside || matches!(method, "warning" | "turn/queueChanged" | "review/findingsChanged") {
        true => Ok(()),
        false => Err("no turn is named".to_owned()),
    }
}

fn same(params: &Value, turn: &str) -> Result<(), String> {
    match params["turn"]["id"] == turn {
        true => Ok(()),
        false => Err("it names two turns".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// One character an event: `(` and `)` begin and end turn t, `[` and `]` an item, `.` is a delta of it, `?` and `!` a
    /// question and its end, `<` and `>` the thread, `+` leaves a number out.
    fn follow(story: &str) -> Result<Vec<String>, String> {
        let mut order = Order::default();
        let mut seq = 0;
        for event in story.chars() {
            seq += 1;
            let (method, more) = match event {
                '<' => ("thread/started", json!({})),
                '>' => ("thread/closed", json!({})),
                '(' => ("turn/started", json!({"turnId": "t", "turn": {"id": "t"}})),
                ')' => {
                    let items = if story.contains(']') {
                        json!([{"id": "i"}])
                    } else {
                        json!([])
                    };
                    let turn = json!({"id": "t", "status": "completed", "items": items});
                    ("turn/completed", json!({"turnId": "t", "turn": turn}))
                }
                '[' => ("item/started", json!({"turnId": "t", "item": {"id": "i"}})),
                ']' => ("item/completed", json!({"turnId": "t", "item": {"id": "i"}})),
                '/' => (
                    "item/completed",
                    json!({"turnId": "t", "item": {"id": "i"}, "withdrawn": true}),
                ),
                '.' => ("item/agentMessage/delta", json!({"turnId": "t", "itemId": "i"})),
                '?' => ("approval/requested", json!({"turnId": "t", "approval": {"id": "a"}})),
                '!' => ("approval/resolved", json!({"turnId": "t", "approvalId": "a"})),
                'w' => ("warning", json!({})),
                '+' => continue,
                other => panic!("{other}"),
            };
            let mut params = json!({"threadId": "T", "seq": seq});
            params
                .as_object_mut()
                .expect("an object")
                .extend(more.as_object().expect("an object").clone());
            order.take(method, &params)?;
        }
        Ok(order.left_open())
    }

    #[test]
    fn stories_by_table() {
        for good in [
            "",
            "<>",
            "<()>",
            "<([..])w>",
            "<([+.])>",
            "<([?!])>",
            "<([./)>",
            "w([])",
        ] {
            assert_eq!(follow(good), Ok(vec![]), "{good}");
        }
        for open in ["<(", "<(["] {
            assert!(!follow(open).expect("no fault yet").is_empty(), "{open}");
        }
        for bad in [
            "<(>", "<()(", "<(()", "<()[", "<[", "<([)", "<([[", "<([][", "<(])", "<(.", "<([].", "<>w", "<(?)", "<(!",
            "<(??", "<([/[", "<([/]", "<([/.", "<+w", "<(+[",
        ] {
            assert!(follow(bad).is_err(), "{bad}");
        }
    }
}
