//! What servers want to know of the person while they carry out a call. The waiter is registered first, the first answer
//! wins, and what is no answer counts as none.

use crate::agent::turn::{Turn, WaitsFor};
use crate::ids::{ElicitationId, ItemId};
use crate::mcp::{Question, untrusted};
use crate::protocol::event::{EventKind, McpElicitationRequested, McpElicitationResolved};
use crate::protocol::mcp::{McpElicitation, McpElicitationAction, McpElicitationResponse, McpRequestId, McpWish};
use crate::protocol::settings::ApprovalPolicy;
use crate::shown::alike;
use serde_json::Value;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// All open questions of servers; cheap to clone.
#[derive(Clone, Default)]
pub struct Elicitations {
    open: Arc<Mutex<Vec<Waiter>>>,
}

struct Waiter {
    id: ElicitationId,
    server: String,
    request_id: McpRequestId,
    answer: oneshot::Sender<McpElicitationResponse>,
}

/// A registered question. Dropping it withdraws the question.
struct Waiting {
    id: ElicitationId,
    services: Elicitations,
    answer: oneshot::Receiver<McpElicitationResponse>,
}

impl Elicitations {
    fn lock(&self) -> MutexGuard<'_, Vec<Waiter>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, question: &McpElicitation) -> Waiting {
        let (sender, answer) = oneshot::channel();
        self.lock().push(Waiter {
            id: question.id.clone(),
            server: question.server.clone(),
            request_id: question.request_id.clone(),
            answer: sender,
        });
        Waiting {
            id: question.id.clone(),
            services: self.clone(),
            answer,
        }
    }

    /// Settles a question by our id of it. False if it is not open (any more).
    pub fn answer(&self, id: &ElicitationId, response: McpElicitationResponse) -> bool {
        self.settle(|waiter| waiter.id == *id, response, id.as_str())
    }

    /// The same by the server and its own id: text and number are not the same.
    pub fn answer_of(&self, server: &str, request_id: &McpRequestId, response: McpElicitationResponse) -> bool {
        let is_it = |waiter: &Waiter| waiter.server == server && waiter.request_id == *request_id;
        self.settle(is_it, response, server)
    }

    fn settle(&self, is_it: impl Fn(&Waiter) -> bool, response: McpElicitationResponse, about: &str) -> bool {
        let found = {
            let mut open = self.lock();
            let at = open.iter().position(is_it);
            at.map(|at| open.remove(at))
        };
        let Some(waiter) = found else {
            tracing::info!(
                about,
                "an answer to an MCP server's question that is not open was ignored"
            );
            return false;
        };
        waiter.answer.send(checked(response)).is_ok()
    }
}

/// Bytes of a server's question.
const MOST_MESSAGE: usize = 4000;

/// Makes visible what hides in the texts of a form: what fields are called and what is said of them.
fn visible_texts(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            for (key, value) in map {
                match key.as_str() {
                    "title" | "description" | "enumNames" if !value.is_object() => untrusted::visible_in(value),
                    _ => visible_texts(value),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(visible_texts),
        _ => {}
    }
}

/// What was filled in is a table, or there is no telling what was meant.
fn checked(response: McpElicitationResponse) -> McpElicitationResponse {
    let is_sound = response
        .content
        .as_ref()
        .is_none_or(|content| content.is_object() || content.is_null());
    if response.action == McpElicitationAction::Accept && !is_sound {
        tracing::warn!(
            "the answer to an MCP server's question has a content that is no object; it counts as cancelled"
        );
        return McpElicitationResponse::cancel();
    }
    McpElicitationResponse {
        content: response.content.filter(|content| !content.is_null()),
        meta: response.meta.filter(|meta| meta.is_object()),
        ..response
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.services.lock().retain(|waiter| waiter.id != self.id);
    }
}

/// A question that was announced. However it ends, what shows it is told.
struct Announced<'a> {
    turn: &'a Turn,
    id: ElicitationId,
    server: String,
    /// Absent: withdrawn.
    action: Option<McpElicitationAction>,
}

impl Drop for Announced<'_> {
    fn drop(&mut self) {
        self.turn
            .publish_always(EventKind::McpElicitationResolved(McpElicitationResolved {
                elicitation_id: self.id.clone(),
                server: self.server.clone(),
                action: self.action,
            }));
    }
}

impl Turn {
    /// Puts a server's question to the person. Withdrawn when the turn is stopped.
    pub(super) async fn elicit(&self, item_id: ItemId, server: String, question: Question) -> McpElicitationResponse {
        let is_silent = match &self.settings.approval_policy {
            ApprovalPolicy::Never => true,
            ApprovalPolicy::Granular(kinds) => !kinds.mcp_elicitations,
            _ => false,
        };
        if is_silent {
            tracing::info!(
                server,
                "the approval policy lets nobody be asked; an MCP server's question was declined"
            );
            return McpElicitationResponse::decline();
        }
        let Question {
            request_id,
            message,
            mut wish,
            meta,
        } = question;
        let message = untrusted::bounded(&message, MOST_MESSAGE);
        match &mut wish {
            // Names and values of fields are what the answer is made of; they stay.
            McpWish::Form { requested_schema } => visible_texts(requested_schema),
            McpWish::Url { url, .. } => *url = untrusted::visible(url),
        }
        let notes = match &wish {
            McpWish::Form { .. } => Vec::new(),
            McpWish::Url { url, .. } => alike::notes(url),
        };
        let elicitation = McpElicitation {
            id: ElicitationId::fresh(),
            thread_id: self.conversation.id.clone(),
            turn_id: self.id.clone(),
            item_id,
            server,
            request_id,
            message,
            notes,
            wish,
            meta,
        };
        let mut waiting = self.services.elicitations.open(&elicitation);
        let _status = self.waiting(WaitsFor::Approval);
        let mut announced = Announced {
            turn: self,
            id: elicitation.id.clone(),
            server: elicitation.server.clone(),
            action: None,
        };
        self.publish(EventKind::McpElicitationRequested(McpElicitationRequested {
            elicitation,
        }));
        let answer = tokio::select! {
            biased;
            () = self.cancel.cancelled() => None,
            answer = &mut waiting.answer => answer.ok(),
        };
        announced.action = answer.as_ref().map(|answer| answer.action);
        answer.unwrap_or_else(McpElicitationResponse::cancel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn question(server: &str, request_id: McpRequestId) -> McpElicitation {
        McpElicitation {
            id: ElicitationId::fresh(),
            thread_id: "t".into(),
            turn_id: "u".into(),
            item_id: "i".into(),
            server: server.to_owned(),
            request_id,
            message: "?".to_owned(),
            notes: Vec::new(),
            wish: McpWish::Form {
                requested_schema: json!({}),
            },
            meta: None,
        }
    }

    /// Shows S-289.
    #[tokio::test]
    async fn each_answer_finds_its_own_question_and_others_none() {
        let services = Elicitations::default();
        let accept = |content| McpElicitationResponse {
            action: McpElicitationAction::Accept,
            content: Some(content),
            meta: None,
        };
        let mut number = services.open(&question("s", McpRequestId::Number(7)));
        let mut text = services.open(&question("s", McpRequestId::Text("7".to_owned())));
        assert!(!services.answer_of("other", &McpRequestId::Number(7), accept(json!({}))));
        assert!(!services.answer_of("s", &McpRequestId::Number(8), accept(json!({}))));
        assert!(services.answer_of("s", &McpRequestId::Text("7".to_owned()), accept(json!({"a": "text"}))));
        assert!(services.answer_of("s", &McpRequestId::Number(7), accept(json!("no object"))));
        assert_eq!(
            (&mut text.answer).await.expect("an answer").content,
            Some(json!({"a": "text"}))
        );
        assert_eq!(
            (&mut number.answer).await.expect("an answer"),
            McpElicitationResponse::cancel()
        );
        let gone = services.open(&question("s", McpRequestId::Number(9)));
        drop(gone);
        assert!(!services.answer_of("s", &McpRequestId::Number(9), accept(json!({}))));
    }
}
