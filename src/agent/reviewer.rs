//! A model that looks at a question before the person does: in their place, where they have set it so, or to say how risky
//! a command is.
//!
//! Each look is a request of its own: own instructions, no tools, nothing of the conversation but the person's latest words.
//! It fails closed. What is no clear yes, comes too late or does not come at all is a no.

mod answer;

use super::provider::Provider;
use super::turn::Turn;
use super::{consult, prompt, sampling};
use crate::ids::ItemId;
use crate::model::item::ResponseItem;
use crate::model::{ModelRequest, Task};
use crate::protocol::approval::{Approval, ApprovalDecision, ApprovalResponse};
use crate::protocol::event::EventKind;
use crate::protocol::guardian::{GuardianAction, GuardianAssessment, GuardianStatus, Risk, RiskLevel};
use crate::protocol::item::{Confined, ThreadItem, UserInput};
use crate::protocol::settings::{ApprovalsReviewer, ReasoningSummary};
use crate::protocol::turn::InterruptedBy;
use answer::Verdict;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

const INSTRUCTIONS: &str = include_str!("reviewer/instructions.md");
const RISK_INSTRUCTIONS: &str = include_str!("reviewer/risk.md");

/// How long a review may take, with all its attempts.
const REVIEW_LIMIT: Duration = Duration::from_secs(60);
/// How long the person's question waits for a word on the risk.
const RISK_LIMIT: Duration = Duration::from_secs(10);
/// Requests for one review.
const MOST_ATTEMPTS: usize = 3;
/// Between two of them.
const PAUSE: Duration = Duration::from_millis(250);
/// Denials after which a turn is stopped: a model that is refused this often is on the wrong way.
const MOST_DENIALS: usize = 5;
/// Bytes of an answer; a stream that never ends is given up.
const MOST_TEXT: usize = 64 << 10;
/// Inputs of the person that are told, the newest last, and bytes of each.
const TOLD_INPUTS: usize = 3;
const TOLD_TEXT: usize = 4000;

/// Denied actions that are kept, so that the person can overrule one.
const KEPT: usize = 64;

/// What the reviewer has found in a thread.
#[derive(Debug, Default)]
pub struct Reviews {
    /// The oldest first.
    denied: Vec<(String, GuardianAction)>,
    /// Denied actions that the person allows, each once.
    overruled: Vec<GuardianAction>,
}

impl Reviews {
    fn deny(&mut self, id: &str, action: &GuardianAction) {
        if self.denied.len() == KEPT {
            self.denied.remove(0);
        }
        self.denied.push((id.to_owned(), action.clone()));
    }

    /// The person allows what was denied. None if nothing was denied under this id, or it was overruled before.
    pub fn overrule(&mut self, id: &str) -> Option<GuardianAction> {
        let at = self.denied.iter().position(|(denied, _)| denied == id)?;
        let (_, action) = self.denied.remove(at);
        self.overruled.push(action.clone());
        Some(action)
    }

    /// Whether the person has allowed just this. It counts once.
    fn take_overruled(&mut self, action: &GuardianAction) -> bool {
        let found = self.overruled.iter().position(|known| is_same(known, action));
        found.map(|at| self.overruled.remove(at)).is_some()
    }
}

/// Whether two actions do the same in the same place; why they are wanted may be said in other words.
fn is_same(one: &GuardianAction, other: &GuardianAction) -> bool {
    match (one, other) {
        (
            GuardianAction::Command {
                command: a,
                cwd: b,
                confined: c,
                ..
            },
            GuardianAction::Command {
                command: x,
                cwd: y,
                confined: z,
                ..
            },
        ) => (a, b, c) == (x, y, z),
        (
            GuardianAction::Permission {
                permissions: a,
                folders: b,
                covers: c,
                ..
            },
            GuardianAction::Permission {
                permissions: x,
                folders: y,
                covers: z,
                ..
            },
        ) => (a, b, c) == (x, y, z),
        (
            GuardianAction::Tool {
                server: a,
                tool: b,
                arguments: c,
                ..
            },
            GuardianAction::Tool {
                server: x,
                tool: y,
                arguments: z,
                ..
            },
        ) => (a, b, c) == (x, y, z),
        _ => false,
    }
}

/// What the model is told when the person overrules the reviewer.
pub(super) fn overruled_message(action: &GuardianAction) -> ResponseItem {
    let json = json!({ "action": action, "outcome": "allowed" });
    let text = serde_json::to_string_pretty(&json).unwrap_or_else(|_| json.to_string());
    prompt::message(
        "developer",
        format!(
            "The person has looked at an action that the automatic reviewer denied, and allows it. This covers exactly the action \
             below, once, in the context in which you asked for it; nothing that is only similar to it.\n{text}"
        ),
    )
}

impl Turn {
    /// Answers a question in the person's place, where they have set it so; nothing where it is theirs to answer. The answer
    /// is `None` if the turn was stopped first.
    pub(super) async fn reviewed(&self, approval: &Approval) -> Option<Option<ApprovalResponse>> {
        if self.settings.approvals_reviewer != ApprovalsReviewer::Auto {
            return None;
        }
        let action = action_of(approval);
        let mut assessment = GuardianAssessment {
            id: approval.id().to_string(),
            item_id: item_of(approval),
            action,
            status: GuardianStatus::InProgress,
            risk_level: None,
            rationale: None,
        };
        self.publish(EventKind::GuardianAssessed(assessment.clone()));
        if self.conversation.data().reviews.take_overruled(&assessment.action) {
            assessment.status = GuardianStatus::Approved;
            assessment.rationale = Some("The person has allowed just this action.".to_owned());
            self.publish(EventKind::GuardianAssessed(assessment));
            return Some(Some(response(ApprovalDecision::Accept, None)));
        }
        let verdict = tokio::select! {
            biased;
            () = self.cancel.cancelled() => None,
            verdict = self.review(&assessment.action) => Some(verdict),
        };
        let Some(verdict) = verdict else {
            assessment.status = GuardianStatus::Aborted;
            self.publish_always(EventKind::GuardianAssessed(assessment));
            return Some(None);
        };
        assessment.risk_level = verdict.risk_level;
        assessment.rationale = Some(verdict.rationale.clone());
        if verdict.allows {
            assessment.status = GuardianStatus::Approved;
            self.publish(EventKind::GuardianAssessed(assessment));
            return Some(Some(response(ApprovalDecision::Accept, None)));
        }
        assessment.status = GuardianStatus::Denied;
        self.conversation
            .data()
            .reviews
            .deny(&assessment.id, &assessment.action);
        self.publish(EventKind::GuardianAssessed(assessment));
        if self.denials.fetch_add(1, Ordering::Relaxed) + 1 >= MOST_DENIALS {
            self.warn(format!(
                "The automatic reviewer has denied {MOST_DENIALS} actions in this turn, so it was stopped. Look at what the agent \
                 wanted, and say what it may do, or answer its questions yourself (approvals_reviewer = \"user\")."
            ));
            self.stop(InterruptedBy::Reviewer);
        }
        let words = format!(
            "The automatic reviewer, who answers in the person's place, denied it: {}",
            verdict.rationale
        );
        Some(Some(response(ApprovalDecision::Decline, Some(words))))
    }

    /// How risky a command is, where the person wants to be told: in time, or not at all.
    pub(super) async fn risk(&self, approval: &Approval) -> Option<Risk> {
        if !self.config.assess_risk || !matches!(approval, Approval::Command(_)) {
            return None;
        }
        let request = self.model_request(&action_of(approval), RISK_INSTRUCTIONS, "risk", &answer::risk_schema());
        let said = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return None,
            said = tokio::time::timeout(RISK_LIMIT, self.ask_model(request)) => said,
        };
        match said {
            Ok(Ok(text)) => answer::risk(&text),
            Ok(Err(error)) => {
                tracing::warn!(turn = %self.id, error, "the risk of a command was not assessed");
                None
            }
            Err(_) => {
                tracing::warn!(turn = %self.id, "the risk of a command was not assessed in time");
                None
            }
        }
    }

    /// The verdict, whatever happens on the way.
    async fn review(&self, action: &GuardianAction) -> Verdict {
        judged(|| self.review_once(action)).await
    }

    async fn review_once(&self, action: &GuardianAction) -> Result<Verdict, String> {
        let request = self.model_request(action, INSTRUCTIONS, "review", &answer::verdict_schema());
        let text = self.ask_model(request).await?;
        answer::verdict(&text).ok_or_else(|| "the reviewer's answer could not be understood".to_owned())
    }

    /// A request that has nothing in common with the conversation's own; who answers it is found out when it is sent.
    fn model_request(&self, action: &GuardianAction, instructions: &str, what: &str, schema: &Value) -> ModelRequest {
        ModelRequest {
            instructions: instructions.to_owned(),
            input: Arc::new(vec![prompt::message("user", self.case(action))]),
            summary: ReasoningSummary::None,
            output_schema: Some(schema.clone()),
            cache_key: format!("{}-{what}", self.conversation.id),
            metadata: self.metadata().clone(),
            turn_id: self.id.to_string(),
            task: Task::Approval,
            watch: sampling::watch(self),
            ..ModelRequest::default()
        }
    }

    /// One attempt: all that the model says.
    async fn ask_model(&self, request: ModelRequest) -> Result<String, String> {
        let provider = Provider::helper(self, &self.config.approvals_by)
            .await
            .map_err(|problem| problem.into_error().message)?;
        let request = ModelRequest {
            model: provider.model.clone(),
            ..request
        };
        let said = consult::ask(&provider.client, &request, MOST_TEXT)
            .await
            .map_err(|error| error.to_string())?;
        self.add_usage_of(&provider, said.usage);
        match said.is_cut {
            true => Err("its answer was cut short".to_owned()),
            false => Ok(said.text),
        }
    }

    /// What is to be judged, as JSON, so that nothing in it can pass for anything else.
    fn case(&self, action: &GuardianAction) -> String {
        let policy = &self.settings;
        let case = json!({
            "the_persons_latest_words": self.latest_words(),
            "action": action,
            "how_it_would_run": match action {
                GuardianAction::Command { confined: Confined::Outside, .. } => "outside the sandbox, with all rights of the person",
                GuardianAction::Command { confined: Confined::Workspace, .. } => {
                    "in the sandbox, which lets it write in the workspace only"
                }
                GuardianAction::Command { confined: Confined::ReadOnly, .. } => "in the sandbox, which lets it only read",
                GuardianAction::Tool { .. } => "in a program of the person's choice, outside the sandbox",
                GuardianAction::Permission { .. } => "for as long as it says, for all that the agent does",
            },
            "workspace": policy.cwd,
            "approval_policy": policy.approval_policy,
            "sandbox_policy": policy.sandbox_policy,
        });
        serde_json::to_string_pretty(&case).unwrap_or_else(|_| case.to_string())
    }

    /// The person's own texts, the newest last.
    fn latest_words(&self) -> Vec<String> {
        let now = self.record(crate::protocol::turn::TurnStatus::InProgress, None);
        let data = self.conversation.data();
        let all = data.turns.iter().chain([&now]).flat_map(|turn| &turn.items);
        let texts: Vec<String> = all
            .filter_map(|item| match item {
                ThreadItem::UserMessage { content, .. } => Some(text_of(content)),
                _ => None,
            })
            // An agent's first message is its task, which another agent wrote.
            .skip(usize::from(self.conversation.agent.is_some()))
            .filter(|text| !text.is_empty())
            .collect();
        texts[texts.len().saturating_sub(TOLD_INPUTS)..].to_vec()
    }
}

/// The verdict of the first attempt that comes to one. None comes to one in time: denied.
async fn judged<F: Future<Output = Result<Verdict, String>>>(mut attempt: impl FnMut() -> F) -> Verdict {
    let attempts = async {
        let mut last = String::new();
        for number in 0..MOST_ATTEMPTS {
            if number > 0 {
                tokio::time::sleep(PAUSE).await;
            }
            match attempt().await {
                Ok(verdict) => return Ok(verdict),
                Err(problem) => {
                    tracing::warn!(number, problem, "a review came to nothing");
                    last = problem;
                }
            }
        }
        Err(last)
    };
    let in_time = tokio::time::timeout(REVIEW_LIMIT, attempts).await;
    let late = |_| Err(format!("it took longer than {} seconds", REVIEW_LIMIT.as_secs()));
    in_time.unwrap_or_else(late).unwrap_or_else(|problem| {
        Verdict::denied(format!(
            "The review came to no result ({problem}), and then nothing is allowed."
        ))
    })
}

fn text_of(content: &[UserInput]) -> String {
    let mut text = prompt::words(content);
    text.truncate(text.floor_char_boundary(TOLD_TEXT));
    text
}

fn response(decision: ApprovalDecision, feedback: Option<String>) -> ApprovalResponse {
    ApprovalResponse {
        decision,
        turn_id: None,
        feedback,
        permissions: None,
    }
}

fn item_of(approval: &Approval) -> ItemId {
    match approval {
        Approval::Command(command) => command.item_id.clone(),
        Approval::Permission(permission) => permission.item_id.clone(),
        Approval::Tool(tool) => tool.item_id.clone(),
    }
}

fn action_of(approval: &Approval) -> GuardianAction {
    match approval {
        Approval::Command(command) => GuardianAction::Command {
            command: command.command.clone(),
            display: command.display.clone(),
            cwd: command.cwd.clone(),
            confined: command.confined,
            reason: command.reason.clone(),
            justification: command.justification.clone(),
        },
        Approval::Tool(tool) => GuardianAction::Tool {
            server: tool.server.clone(),
            tool: tool.tool.clone(),
            arguments: tool.arguments.clone(),
            reason: tool.reason.clone(),
        },
        Approval::Permission(permission) => GuardianAction::Permission {
            request: permission.reason.clone(),
            justification: permission.justification.clone(),
            permissions: permission.permissions.clone(),
            folders: permission.folders.clone(),
            covers: permission.accept_covers,
        },
    }
}

impl Verdict {
    fn denied(rationale: String) -> Self {
        Self {
            allows: false,
            risk_level: None::<RiskLevel>,
            rationale,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;

    fn yes() -> Result<Verdict, String> {
        answer::verdict(r#"{"outcome": "allow"}"#).ok_or_else(String::new)
    }

    #[tokio::test(start_paused = true)]
    async fn what_comes_to_no_verdict_in_time_is_denied() {
        let begun = tokio::time::Instant::now();
        let verdict = judged(pending).await;
        assert!(
            !verdict.allows && verdict.rationale.contains("longer than 60"),
            "{}",
            verdict.rationale
        );
        assert!(begun.elapsed() >= REVIEW_LIMIT && begun.elapsed() < REVIEW_LIMIT + PAUSE);
        // A yes that comes too late is none.
        let verdict = judged(|| async {
            tokio::time::sleep(REVIEW_LIMIT + PAUSE).await;
            yes()
        });
        assert!(!verdict.await.allows);
        // All attempts together have that time.
        let mut asked = 0;
        let verdict = judged(|| {
            asked += 1;
            async {
                tokio::time::sleep(REVIEW_LIMIT / 2).await;
                Err("no".to_owned())
            }
        })
        .await;
        assert!(!verdict.allows && asked == 2, "{asked}");
    }

    #[tokio::test(start_paused = true)]
    async fn there_are_so_many_attempts_and_no_more() {
        for (good, allows) in [(0, true), (MOST_ATTEMPTS - 1, true), (MOST_ATTEMPTS, false)] {
            let mut asked = 0;
            let verdict = judged(|| {
                asked += 1;
                std::future::ready(match asked > good {
                    true => yes(),
                    false => Err("broken".to_owned()),
                })
            })
            .await;
            assert_eq!((verdict.allows, asked), (allows, (good + 1).min(MOST_ATTEMPTS)));
            assert_eq!(verdict.rationale.contains("broken"), !allows);
        }
    }
}
