//! Reviews: a reviewer of its own looks at a change, and what it finds lies on the lines until the person has dealt with it.
//!
//! A review is a turn apart from its conversation: own history, own model, own instructions, reading only. [`target`] finds out
//! what is to be looked at, [`answer`] reads what the reviewer says, [`place`] holds its places against the files, [`findings`]
//! keeps them on their lines, [`report`] puts the result into words. The conversation gets one note of it.

mod answer;
mod choices;
mod findings;
mod lines;
mod place;
mod report;
mod target;

pub use choices::Choices;
pub use findings::{Findings, Lying};

use super::AgentError;
use super::apart::Apart;
use super::prompt::{self, Environment};
use super::provider;
use super::sampling;
use super::thread::whole;
use super::turn::{Ended, Turn, TurnParts};
use crate::exec::git::Stop;
use crate::ids::ItemId;
use crate::model::item::ResponseItem;
use crate::protocol::event::{EventKind, ReviewCompleted, ReviewEntered};
use crate::protocol::item::{ThreadItem, UserInput};
use crate::protocol::review::{OpenFinding, ReviewOutput, ReviewTarget};
use crate::protocol::settings::{ReasoningSummary, SandboxPolicy, ThreadSettings};
use crate::protocol::turn::{TurnError, TurnErrorKind};
use crate::tools::{CommandCall, Tool, ToolOutput, shell};
use findings::{About, Before};
use place::Folders;
use report::Outcome;
use std::sync::Arc;
use std::time::Duration;
use target::{Nothing, Subject};

const INSTRUCTIONS: &str = include_str!("review/instructions.md");

/// How much a reviewer thinks before it speaks; it looks at much, and each look is small.
const EFFORT: &str = "low";

/// How long git may take to say what has changed.
const GIT_LIMIT: Duration = Duration::from_secs(60);

/// A review that the person has been told of.
#[derive(Debug)]
pub struct Entered {
    words: String,
    about: About,
    before: Before,
    folders: Folders,
}

/// Refuses a target that cannot be meant, before a turn is made of it.
pub fn check(target: &ReviewTarget) -> Result<(), AgentError> {
    target::check(target).map_err(AgentError::BadReview)
}

/// What a review's turn is made of, in the place of what its thread would make one of: the person's model and instructions
/// for reviews, and of all that may be done only the reading.
pub(super) fn parts(parts: TurnParts) -> TurnParts {
    let settings = provider::helped_by(&parts.config.review_by, parts.settings.clone());
    // The window in the configuration is that of the other model.
    let config = match settings == parts.settings {
        true => parts.config.clone(),
        false => provider::without_window(&parts.config),
    };
    let settings = ThreadSettings {
        effort: Some(EFFORT.to_owned()),
        summary: ReasoningSummary::Detailed,
        sandbox_policy: SandboxPolicy::ReadOnly { network_access: false },
        ..settings
    };
    TurnParts {
        config,
        settings,
        profile: parts.profile.reading_only(),
        output_schema: Some(answer::schema()),
        base_instructions: INSTRUCTIONS.to_owned(),
        apart: Some(Apart::default()),
        ..parts
    }
}

/// What a reviewer may call: commands, which only read here, and the tools that read the text as the editor has it.
const TOOLS: &[&str] = &[shell::NAME, "read_file", "list_dir", "grep_files"];

/// Whether a reviewer has this one of our tools. Those of servers are offered too; a call of one that may change something is
/// not carried out.
pub(super) fn allows(tool: &dyn Tool) -> bool {
    TOOLS.contains(&tool.spec().name())
}

/// What a reviewer is told that wants more than to read.
pub(super) fn refuses(turn: &Turn, call: &CommandCall) -> Option<ToolOutput> {
    let wants_more = call.escalated || !call.permissions.is_empty();
    (turn.is_apart() && wants_more).then(|| {
        ToolOutput::not_done(
            "Nothing was run: a review only reads, so its commands neither leave the sandbox nor get more rights in it. Find \
             out what you need by reading.",
        )
    })
}

/// A patch in a review.
pub(super) fn refuses_patch(turn: &Turn) -> Option<ToolOutput> {
    turn.is_apart().then(|| {
        ToolOutput::not_done("Nothing was changed: a review only reads. Say in a finding what should be changed.")
    })
}

/// Runs a review from its first event to its last item; closing the turn is the caller's.
pub(super) async fn run(turn: Arc<Turn>, target: ReviewTarget) -> Ended {
    turn.begin(None);
    let ended = review(&turn, target).await;
    left(&turn);
    // The note is on the record before the turn ends.
    turn.conversation.recorded().await;
    ended
}

async fn review(turn: &Arc<Turn>, target: ReviewTarget) -> Ended {
    let found = tokio::select! {
        biased;
        () = turn.cancel.cancelled() => return Ended::Interrupted,
        found = find(turn, target.clone()) => found,
    };
    let subject = match found {
        Ok(subject) => subject,
        Err(Nothing::Unresolved(message)) => return Ended::Failed(failure(message)),
        Err(Nothing::Unchanged(message)) => return unchanged(turn, target, message),
    };
    if let Err(ended) = whole::find_provider(turn, |_window| ()).await {
        return ended;
    }
    enter(turn, subject).await;
    match sampling::run(turn).await {
        Ended::Completed => conclude(turn).await,
        other => other,
    }
}

fn failure(message: String) -> TurnError {
    TurnError {
        message,
        kind: TurnErrorKind::ReviewFailed,
        http_status: None,
        actions: Vec::new(),
    }
}

/// Stops git when nobody waits for it any more.
struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Finds out what is to be reviewed. Git ends with this.
async fn find(turn: &Arc<Turn>, target: ReviewTarget) -> Result<Subject, Nothing> {
    let stop = Stop::default();
    let _stopped = StopOnDrop(stop.clone());
    let services = turn.services.clone();
    let cwd = turn.settings.cwd.clone();
    let unsaved = services.unsaved(&turn.conversation.id);
    let work = tokio::task::spawn_blocking(move || target::resolve(&target, &cwd, &services.env, &unsaved, &stop));
    match tokio::time::timeout(GIT_LIMIT, work).await {
        Ok(Ok(found)) => found,
        Ok(Err(error)) => Err(Nothing::Unresolved(format!(
            "The changes could not be found out, through a fault of Countersign ({error}); the log has the details."
        ))),
        Err(_) => Err(Nothing::Unresolved(format!(
            "Git did not say within {} seconds what has changed. Try again, or review with instructions of your own.",
            GIT_LIMIT.as_secs()
        ))),
    }
}

/// There is no difference, so there are no findings either.
fn unchanged(turn: &Turn, target: ReviewTarget, message: String) -> Ended {
    let folder = turn.settings.cwd.clone();
    turn.services.findings.outdate(&About { target, folder });
    turn.complete_item(ThreadItem::AgentMessage {
        id: ItemId::fresh(),
        text: message,
        partial: false,
    });
    // What the person said meanwhile goes back to them; there is nobody to answer it.
    Ended::Completed
}

/// Tells the person that the review begins, and the reviewer what to do.
async fn enter(turn: &Arc<Turn>, subject: Subject) {
    let folder = turn.settings.cwd.clone();
    let about = About {
        target: subject.target.clone(),
        folder,
    };
    // The findings of an earlier review of the same are over.
    turn.services.findings.outdate(&about);
    let (workspace, files) = (turn.workspace.clone(), subject.files);
    let before = tokio::task::spawn_blocking(move || Before::of(&workspace, &files)).await;
    let entered = Entered {
        words: subject.words.clone(),
        about,
        // Without it the findings are about the texts of later.
        before: before.unwrap_or_default(),
        folders: Folders {
            cwd: turn.settings.cwd.clone(),
            top: subject.top,
            roots: turn.roots.clone(),
        },
    };
    let Some(apart) = &turn.apart else { return };
    apart.enter(entered);
    turn.publish(EventKind::ReviewEntered(ReviewEntered {
        target: subject.target.clone(),
        review: subject.words.clone(),
    }));
    turn.complete_item(ThreadItem::EnteredReviewMode {
        id: ItemId::fresh(),
        review: subject.words.clone(),
        target: Some(subject.target),
    });
    let text = format!("Review {}", subject.words);
    {
        let mut data = turn.conversation.data();
        if data.preview.is_empty() {
            data.preview.clone_from(&text);
        }
    }
    turn.complete_item(ThreadItem::UserMessage {
        id: ItemId::fresh(),
        content: vec![UserInput::Text { text }],
        client_id: None,
        context: Vec::new(),
    });
    let environment = Environment::new(&turn.settings, &turn.roots, turn.services.shell());
    turn.say([environment.message(), prompt::message("user", subject.prompt)]);
}

/// The reviewer has said its last word.
async fn conclude(turn: &Arc<Turn>) -> Ended {
    let Some(text) = turn.with_history(|history| last_words(history.items())) else {
        if let Some(entered) = leave(turn) {
            exit(turn, &entered, &Outcome::Empty, Vec::new());
            turn.warn("The reviewer gave no answer, so there are no findings. Start the review again, or choose another model for it \
                 (review_model)."
                    .to_owned());
        }
        return Ended::Completed;
    };
    let work = turn.clone();
    let read = tokio::task::spawn_blocking(move || read(&work, &text)).await;
    let Ok(Some((output, findings))) = read else {
        return Ended::Failed(failure(
            "The reviewer's answer could not be read, through a fault of Countersign; the log has the details."
                .to_owned(),
        ));
    };
    if turn.cancel.is_cancelled() {
        forget(turn);
        return Ended::Interrupted;
    }
    if output.is_unlisted {
        turn.warn(
            "The reviewer answered without a list of findings, so none is shown at its lines; read what it says. Start the review \
             again, or choose another model for it (review_model)."
                .to_owned(),
        );
    }
    match leave(turn) {
        Some(entered) => exit(turn, &entered, &Outcome::Done(&output), findings),
        None => forget(turn),
    }
    Ended::Completed
}

/// The text of the reviewer's last message, if it comes after all calls.
fn last_words(items: &[ResponseItem]) -> Option<String> {
    let said = items.iter().rev().take_while(|item| match item {
        ResponseItem::Message { role, .. } => role == "assistant",
        ResponseItem::Reasoning { .. } | ResponseItem::WebSearchCall { .. } => true,
        _ => false,
    });
    let mut texts = said.map(ResponseItem::text);
    texts.find(|text| !text.trim().is_empty())
}

/// Reads the answer and puts its findings onto their lines. Reads files.
fn read(turn: &Turn, text: &str) -> Option<(ReviewOutput, Vec<OpenFinding>)> {
    let entered = turn.apart.as_ref()?.entered()?;
    let answer = answer::read(text);
    let mut findings: Vec<_> = answer
        .findings
        .into_iter()
        .map(|(mut finding, claim)| {
            finding.code_location = claim.and_then(|claim| entered.folders.place(&claim));
            finding
        })
        .collect();
    let services = &turn.services;
    let whose = (&turn.conversation, &turn.id);
    let open = services
        .findings
        .add(whose, &entered.about, &mut findings, &entered.before, &turn.workspace);
    let output = ReviewOutput {
        findings,
        overall_correctness: answer.verdict,
        overall_explanation: answer.explanation,
        overall_confidence_score: answer.confidence,
        is_unlisted: answer.is_unlisted,
    };
    Some((output, open))
}

/// A review that was stopped leaves no findings.
fn forget(turn: &Turn) {
    turn.services
        .findings
        .dismiss(&turn.conversation.id, Some(&turn.id), None);
}

/// Takes the review's end for the one who calls first.
fn leave(turn: &Turn) -> Option<Arc<Entered>> {
    turn.apart.as_ref()?.leave()
}

/// The turn ends: a review that has not come to its end is over without a result.
pub(super) fn left(turn: &Turn) {
    if let Some(entered) = leave(turn) {
        forget(turn);
        let outcome = match turn.cancel.is_cancelled() {
            true => Outcome::Interrupted,
            false => Outcome::Failed,
        };
        exit(turn, &entered, &outcome, Vec::new());
    }
}

/// Tells that the review is over: the person first, then the model of the conversation.
fn exit(turn: &Turn, entered: &Entered, outcome: &Outcome<'_>, findings: Vec<OpenFinding>) {
    let cwd = &turn.settings.cwd;
    let output = match outcome {
        Outcome::Done(output) => Some(ReviewOutput::clone(output)),
        Outcome::Empty | Outcome::Failed | Outcome::Interrupted => None,
    };
    let summary = output
        .as_ref()
        .map(|output| report::summary(&entered.words, output, cwd));
    turn.publish(EventKind::ReviewCompleted(ReviewCompleted {
        output: output.clone(),
        findings,
    }));
    turn.complete_item(ThreadItem::ExitedReviewMode {
        id: ItemId::fresh(),
        review: summary.clone().unwrap_or_default(),
        output,
    });
    if let Some(text) = summary {
        turn.complete_item(ThreadItem::AgentMessage {
            id: ItemId::fresh(),
            text,
            partial: false,
        });
    }
    turn.conversation.say([report::note(&entered.words, outcome, cwd)]);
}
