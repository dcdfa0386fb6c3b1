//! Who belongs to whom, and the bounds: how many agents there may be, how deep, how much they may do before the person has
//! a say again. Pure state; the threads are elsewhere.

use crate::agent::spending::Spending;
use crate::config::Limits;
use crate::ids::ThreadId;
use crate::protocol::agent::{AgentState, AgentStates, AgentStatus, SubAgent};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Messages between the agents of one conversation before the person has said something again.
pub(super) const MOST_MESSAGES: usize = 100;
/// Messages after which none is taken any more: those who wait for each other's next one come to an end.
pub(super) const LAST_MESSAGE: usize = MOST_MESSAGES + 20;
/// Agents started in one conversation before the person has said something again, for each that may live at a time.
const SPAWNS_EACH: usize = 4;
/// Characters of a name.
const MOST_NAME: usize = 32;
/// By these names everybody knows others than agents.
const TAKEN: &[&str] = &["parent", "main", "person", "user", "client"];

#[derive(Default)]
pub(super) struct Family {
    members: BTreeMap<ThreadId, Member>,
    /// What a thread waits for; it does nothing meanwhile.
    waits: BTreeMap<ThreadId, BTreeSet<ThreadId>>,
    /// What has been done since the person spoke last, by the thread that they talk to.
    spent: BTreeMap<ThreadId, Spent>,
    /// Those of them whose agents were stopped since: nobody wakes anybody.
    quiet: BTreeSet<ThreadId>,
}

pub(super) struct Member {
    pub(super) identity: SubAgent,
    pub(super) status: AgentStatus,
    pub(super) message: Option<String>,
    /// The spending of the turn that set it to work last.
    pub(super) payer: Option<Arc<Spending>>,
}

#[derive(Default)]
struct Spent {
    spawned: usize,
    messages: usize,
    told: bool,
}

/// What another message may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Allowance {
    /// Wake whoever gets it.
    Wake,
    /// Be read. The agents have talked too much, and the person does not know it yet.
    ReadAndTell,
    /// The same, and the person knows.
    Read,
    /// Be read: their work was stopped.
    ReadQuietly,
    /// Nothing: it is not delivered.
    None,
}

impl Family {
    pub(super) fn member(&self, id: &ThreadId) -> Option<&Member> {
        self.members.get(id)
    }

    /// The thread that the person talks to.
    pub(super) fn root(&self, id: &ThreadId) -> ThreadId {
        let mut root = id;
        while let Some(member) = self.members.get(root) {
            root = &member.identity.parent_thread_id;
        }
        root.clone()
    }

    /// Everybody who works for a thread, directly or not; nobody before whom they work for.
    pub(super) fn below(&self, id: &ThreadId) -> Vec<ThreadId> {
        let mut found = vec![id.clone()];
        let mut at = 0;
        while let Some(parent) = found.get(at).cloned() {
            let children = self
                .members
                .iter()
                .filter(|(_, member)| member.identity.parent_thread_id == parent);
            found.extend(children.map(|(child, _)| child.clone()));
            at += 1;
        }
        found.remove(0);
        found
    }

    /// Makes room for one more agent of a thread, under a name of its own. `parent_depth`: how deep that thread stands; one
    /// that was brought back knows it, while its family does not.
    ///
    /// # Errors
    /// Why there is none, for the model.
    pub(super) fn join(
        &mut self,
        id: ThreadId,
        parent: &ThreadId,
        parent_depth: u32,
        wanted: Option<&str>,
        limits: Limits,
    ) -> Result<SubAgent, String> {
        let depth = parent_depth.saturating_add(1);
        if depth > limits.depth {
            return Err(format!(
                "No agent was started: agents may stand {} deep here, and yours would be one deeper (agents.max_depth). Do this \
                 part yourself.",
                limits.depth
            ));
        }
        let root = self.root(parent);
        let family = self.below(&root);
        if family.len() >= limits.threads {
            let states = self.words(&family);
            return Err(format!(
                "No agent was started: {} at a time are the most here (agents.max_threads). There are {states}. Close one that \
                 has done its work with close_agent, or wait for one.",
                limits.threads
            ));
        }
        let most = limits.threads.saturating_mul(SPAWNS_EACH);
        let spent = self.spent.entry(root).or_default();
        if spent.spawned >= most {
            return Err(format!(
                "No agent was started: {most} were started since the person spoke last, and that is the most. Say what was done \
                 so far, and ask whether to go on."
            ));
        }
        let name = self.name(&family, wanted)?;
        let identity = SubAgent {
            name,
            parent_thread_id: parent.clone(),
            depth,
        };
        if let Some(spent) = self.spent.get_mut(&self.root(parent)) {
            spent.spawned += 1;
        }
        self.members.insert(
            id,
            Member {
                identity: identity.clone(),
                status: AgentStatus::PendingInit,
                message: None,
                payer: None,
            },
        );
        Ok(identity)
    }

    fn name(&self, family: &[ThreadId], wanted: Option<&str>) -> Result<String, String> {
        let is_free = |name: &str| {
            let mut names = family
                .iter()
                .filter_map(|id| self.members.get(id))
                .map(|member| &member.identity.name);
            !TAKEN.contains(&name) && names.all(|known| known != name)
        };
        let Some(wanted) = wanted.map(str::trim).filter(|name| !name.is_empty()) else {
            let mut numbered = (1_u64..).map(|number| format!("agent-{number}"));
            return Ok(numbered.find(|name| is_free(name)).unwrap_or_default());
        };
        let is_good = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        if wanted.chars().count() > MOST_NAME || !wanted.chars().all(is_good) {
            return Err(format!(
                "No agent was started: {wanted:?} is no name. Names have at most {MOST_NAME} letters, digits, _ and -."
            ));
        }
        match is_free(wanted) {
            true => Ok(wanted.to_owned()),
            false => Err(format!(
                "No agent was started: the name {wanted} is taken. Choose another, or write to the agent that has it."
            )),
        }
    }

    pub(super) fn set(&mut self, id: &ThreadId, status: AgentStatus, message: Option<String>) -> Option<AgentState> {
        let member = self.members.get_mut(id)?;
        if member.status == AgentStatus::Shutdown {
            return None;
        }
        member.status = status;
        if message.is_some() {
            member.message = message;
        }
        Some(member.state())
    }

    /// What this agent does from now on counts for a turn.
    pub(super) fn set_payer(&mut self, id: &ThreadId, payer: &Arc<Spending>) {
        if let Some(member) = self.members.get_mut(id) {
            member.payer = Some(payer.clone());
        }
    }

    pub(super) fn remove(&mut self, id: &ThreadId) {
        self.members.remove(id);
        self.waits.remove(id);
    }

    /// The member of a family that a name means to one of it. `parent` and `main` are names too, and so are thread ids.
    pub(super) fn find(&self, from: &ThreadId, name: &str) -> Option<ThreadId> {
        let root = self.root(from);
        let name = name.trim();
        match name {
            "parent" => {
                return self
                    .members
                    .get(from)
                    .map(|member| member.identity.parent_thread_id.clone());
            }
            "main" => return Some(root).filter(|root| root != from),
            _ => {}
        }
        let mut family = self.below(&root);
        family.push(root);
        family.retain(|id| id != from);
        family.into_iter().find(|id| {
            let known = self.members.get(id).map(|member| member.identity.name.as_str());
            known == Some(name) || id.as_str() == name
        })
    }

    /// How others of its family know a thread.
    pub(super) fn known_as(&self, id: &ThreadId) -> String {
        self.members
            .get(id)
            .map_or_else(|| "main".to_owned(), |member| member.identity.name.clone())
    }

    /// Whom one of a family can write to and wait for.
    pub(super) fn others(&self, id: &ThreadId) -> Vec<ThreadId> {
        let root = self.root(id);
        let mut others = self.below(&root);
        others.retain(|other| other != id);
        others
    }

    pub(super) fn states(&self, ids: &[ThreadId]) -> AgentStates {
        let state = |id: &ThreadId| Some((id.to_string(), self.members.get(id)?.state()));
        ids.iter().filter_map(state).collect()
    }

    /// Names with where each stands.
    pub(super) fn words(&self, ids: &[ThreadId]) -> String {
        let one = |id: &ThreadId| {
            let member = self.members.get(id)?;
            Some(format!("{} ({})", member.identity.name, word(member.status)))
        };
        let all: Vec<_> = ids.iter().filter_map(one).collect();
        match all.is_empty() {
            true => "no agents".to_owned(),
            false => all.join(", "),
        }
    }

    pub(super) fn is_at_work(&self, id: &ThreadId) -> bool {
        let status = self.members.get(id).map(|member| member.status);
        matches!(status, Some(AgentStatus::PendingInit | AgentStatus::Running))
    }

    /// Notes that a thread waits until one of these ends its work or writes. False if that can never be: all of them wait too,
    /// for one another or for this one. The one that asks first is told, so that it can do something about it.
    pub(super) fn wait(&mut self, id: &ThreadId, targets: &[ThreadId]) -> bool {
        self.waits.insert(id.clone(), targets.iter().cloned().collect());
        let will_move = self.will_move(id);
        if !will_move {
            self.waits.remove(id);
        }
        will_move
    }

    pub(super) fn waits_no_more(&mut self, id: &ThreadId) {
        self.waits.remove(id);
    }

    /// Whether somebody whom a thread waits for is at work and does not wait, or waits for somebody of whom this is true.
    fn will_move(&self, id: &ThreadId) -> bool {
        let mut seen = BTreeSet::from([id]);
        let mut open = vec![id];
        while let Some(waits) = open.pop().and_then(|id| self.waits.get(id)) {
            for target in waits {
                let is_root = !self.members.contains_key(target);
                if !self.waits.contains_key(target) && (is_root || self.is_at_work(target)) {
                    return true;
                }
                if self.waits.contains_key(target) && seen.insert(target) {
                    open.push(target);
                }
            }
        }
        false
    }

    pub(super) fn person_spoke(&mut self, thread: &ThreadId) {
        let root = self.root(thread);
        self.forget(&root);
    }

    /// A thread is over that the person talked to.
    pub(super) fn forget(&mut self, root: &ThreadId) {
        self.spent.remove(root);
        self.quiet.remove(root);
    }

    /// The work for a thread that the person talks to was stopped.
    pub(super) fn stopped_below(&mut self, thread: &ThreadId) {
        if !self.members.contains_key(thread) {
            self.quiet.insert(thread.clone());
        }
    }

    /// Counts a message of somebody of a family.
    pub(super) fn count_message(&mut self, from: &ThreadId) -> Allowance {
        let root = self.root(from);
        if self.below(&root).is_empty() {
            // The last of a family that is gone.
            return Allowance::ReadQuietly;
        }
        let is_quiet = self.quiet.contains(&root);
        let spent = self.spent.entry(root).or_default();
        spent.messages = spent.messages.saturating_add(1);
        if spent.messages <= MOST_MESSAGES {
            return match is_quiet {
                true => Allowance::ReadQuietly,
                false => Allowance::Wake,
            };
        }
        if !std::mem::replace(&mut spent.told, true) {
            return Allowance::ReadAndTell;
        }
        match spent.messages {
            ..=LAST_MESSAGE => Allowance::Read,
            _ => Allowance::None,
        }
    }
}

impl Member {
    pub(super) fn state(&self) -> AgentState {
        AgentState {
            name: self.identity.name.clone(),
            status: self.status,
            message: self.message.clone(),
        }
    }
}

/// Where an agent stands, for the model.
pub(super) fn word(status: AgentStatus) -> &'static str {
    match status {
        AgentStatus::PendingInit => "about to begin",
        AgentStatus::Running => "at work",
        AgentStatus::Interrupted => "stopped",
        AgentStatus::Completed => "done",
        AgentStatus::Errored => "failed",
        AgentStatus::Shutdown => "closed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { threads: 3, depth: 2 };

    fn id(name: &str) -> ThreadId {
        name.into()
    }

    fn family(members: &[(&str, &str)]) -> Family {
        let mut family = Family::default();
        for (name, parent) in members {
            let joined = family.join(id(name), &id(parent), 0, Some(name), Limits { threads: 100, depth: 9 });
            joined.unwrap_or_else(|why| panic!("{name}: {why}"));
            family.set(&id(name), AgentStatus::Running, None);
        }
        family
    }

    #[test]
    fn a_family_is_bounded_in_number_depth_and_spending() {
        let mut family = Family::default();
        let mut join = |name: &str, parent: &str, depth| {
            family
                .join(id(name), &id(parent), depth, None, LIMITS)
                .map(|agent| agent.name)
        };
        assert_eq!(join("a", "main", 0), Ok("agent-1".to_owned()));
        assert_eq!(join("b", "a", 1), Ok("agent-2".to_owned()));
        assert!(join("c", "b", 2).is_err_and(|why| why.contains("2 deep")));
        assert_eq!(join("c", "a", 1), Ok("agent-3".to_owned()));
        assert!(
            join("d", "main", 0)
                .is_err_and(|why| why.contains("3 at a time") && why.contains("agent-2 (about to begin)"))
        );
        // Closed ones make room, until too many were started.
        for _ in 3..12 {
            family.remove(&id("c"));
            family.join(id("c"), &id("a"), 1, None, LIMITS).expect("room");
        }
        family.remove(&id("c"));
        let why = family.join(id("c"), &id("a"), 1, None, LIMITS).expect_err("spent");
        assert!(why.contains("12 were started"), "{why}");
        family.person_spoke(&id("a"));
        family.join(id("c"), &id("a"), 1, None, LIMITS).expect("counted anew");
        // Another conversation has its own bounds.
        family.join(id("z"), &id("other"), 0, None, LIMITS).expect("room");
    }

    #[test]
    fn names_are_unique_and_mean_somebody() {
        let mut family = family(&[("scout", "m"), ("tests", "m"), ("deep", "scout")]);
        for (name, part) in [
            ("scout", "taken"),
            ("parent", "taken"),
            ("main", "taken"),
            ("two words", "no name"),
            ("a/b", "no name"),
            (&"x".repeat(33), "no name"),
        ] {
            let why = family
                .join(id("new"), &id("m"), 0, Some(name), Limits { threads: 9, depth: 3 })
                .expect_err(name);
            assert!(why.contains(part), "{name}: {why}");
        }
        for (from, name, expected) in [
            ("m", "scout", Some("scout")),
            ("m", "deep", Some("deep")),
            ("deep", "tests", Some("tests")),
            ("deep", "parent", Some("scout")),
            ("deep", "main", Some("m")),
            ("deep", " m ", Some("m")),
            ("m", "parent", None),
            ("m", "main", None),
            ("scout", "scout", None),
            ("scout", "nobody", None),
        ] {
            assert_eq!(family.find(&id(from), name), expected.map(id), "{from} {name}");
        }
        let below: Vec<_> = family.below(&id("m")).iter().map(ToString::to_string).collect();
        assert_eq!(below, ["scout", "tests", "deep"]);
        assert_eq!(family.below(&id("tests")), []);
        assert_eq!(family.root(&id("deep")), id("m"));
    }

    #[test]
    fn nobody_waits_for_what_can_never_come() {
        let ids = |names: &[&str]| names.iter().map(|name| id(name)).collect::<Vec<_>>();
        let mut family = family(&[("a", "m"), ("b", "m")]);
        // The main thread waits for a; a asks it something and waits for it in turn.
        assert!(family.wait(&id("m"), &ids(&["a"])));
        assert!(!family.wait(&id("a"), &ids(&["m"])), "a circle");
        // It can wait for b, which works.
        assert!(family.wait(&id("a"), &ids(&["m", "b"])));
        assert!(!family.wait(&id("b"), &ids(&["a"])), "a longer circle");
        family.waits_no_more(&id("m"));
        assert!(family.wait(&id("b"), &ids(&["m"])), "the main thread works again");
        // Whoever is done will not end once more.
        family.waits_no_more(&id("b"));
        family.waits_no_more(&id("a"));
        family.set(&id("a"), AgentStatus::Completed, None);
        assert!(!family.wait(&id("m"), &ids(&["a"])));
        assert!(!family.wait(&id("m"), &[]));
    }

    #[test]
    fn messages_are_counted_until_the_person_speaks() {
        let mut family = family(&[("a", "m"), ("b", "m")]);
        for number in 0..MOST_MESSAGES {
            let from = if number % 2 == 0 { "a" } else { "b" };
            assert_eq!(family.count_message(&id(from)), Allowance::Wake);
        }
        assert_eq!(family.count_message(&id("a")), Allowance::ReadAndTell);
        for _ in MOST_MESSAGES + 1..LAST_MESSAGE {
            assert_eq!(family.count_message(&id("b")), Allowance::Read);
        }
        assert_eq!(family.count_message(&id("b")), Allowance::None);
        family.person_spoke(&id("b"));
        assert_eq!(family.count_message(&id("a")), Allowance::Wake);
    }

    #[test]
    fn after_a_stop_nobody_is_woken_until_the_person_speaks() {
        let mut family = family(&[("a", "m"), ("b", "m"), ("z", "other")]);
        family.stopped_below(&id("a"));
        assert_eq!(
            family.count_message(&id("b")),
            Allowance::Wake,
            "only what works for a was stopped"
        );
        family.stopped_below(&id("m"));
        assert_eq!(family.count_message(&id("a")), Allowance::ReadQuietly);
        assert_eq!(family.count_message(&id("z")), Allowance::Wake);
        family.person_spoke(&id("m"));
        assert_eq!(family.count_message(&id("a")), Allowance::Wake);
    }

    #[test]
    fn nothing_is_kept_of_a_family_that_is_gone() {
        let mut family = family(&[("a", "m"), ("b", "a")]);
        family.count_message(&id("b"));
        family.stopped_below(&id("m"));
        family.remove(&id("b"));
        family.remove(&id("a"));
        family.forget(&id("m"));
        // What was on its way.
        for from in ["a", "b", "m"] {
            family.count_message(&id(from));
        }
        assert!(family.members.is_empty() && family.waits.is_empty());
        assert!(family.spent.is_empty() && family.quiet.is_empty());
    }

    #[test]
    fn a_closed_agent_stays_closed() {
        let mut family = family(&[("a", "m")]);
        assert!(family.set(&id("a"), AgentStatus::Shutdown, None).is_some());
        assert_eq!(family.set(&id("a"), AgentStatus::Interrupted, None), None);
        assert_eq!(family.states(&[id("a"), id("m")])["a"].status, AgentStatus::Shutdown);
    }
}
