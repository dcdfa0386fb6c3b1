//! What the model asks the person: choices and words. The waiter is registered first, the first answer over all surfaces
//! wins, and silence is told to the model as such.

use super::open::{Ask, Open};
use super::turn::{Turn, WaitsFor};
use crate::ids::{ItemId, QuestionsId, ThreadId};
use crate::protocol::event::{EventKind, UserInputRequested, UserInputResolved};
use crate::protocol::question::{UserInputRequest, UserInputResponse, UserQuestion};
use crate::protocol::settings::ApprovalPolicy;
use crate::tools::ToolOutput;
use serde_json::json;

/// Characters of one answer.
const MOST_ANSWER: usize = 20_000;

/// The open ones of a server.
pub type Questions = Open<UserInputRequest>;

impl Ask for UserInputRequest {
    type Id = QuestionsId;
    /// Absent: no answer.
    type Answer = Option<UserInputResponse>;

    fn id(&self) -> &QuestionsId {
        &self.id
    }

    fn thread_id(&self) -> &ThreadId {
        &self.thread_id
    }

    fn unanswered() -> Self::Answer {
        None
    }
}

/// What came of it.
enum Reply {
    Answered(UserInputResponse),
    /// They wrote a message instead.
    Wrote,
    None,
    /// The turn was stopped.
    Stopped,
}

/// Asks, on every surface there is, and says to the model what came of it.
pub(super) async fn ask(turn: &Turn, item_id: ItemId, questions: Vec<UserQuestion>) -> ToolOutput {
    if turn.settings.approval_policy == ApprovalPolicy::Never {
        return ToolOutput::not_done(
            "Nobody is asked anything here: the approval policy is never. Decide by what you can find out, and say in your answer \
             what you took for granted.",
        );
    }
    let reply = put(turn, item_id, questions.clone()).await;
    ToolOutput::ok(match reply {
        Reply::Answered(response) => in_words(&questions, response),
        Reply::Wrote => {
            "The person did not choose. They wrote a message instead, which follows: take it as their answer, as far \
                         as it is one."
                .to_owned()
        }
        Reply::None => NO_ANSWER.to_owned(),
        Reply::Stopped => {
            return ToolOutput::not_done("The person stopped the turn; the question was withdrawn without an answer.");
        }
    })
}

const NO_ANSWER: &str = "The person gave no answer: they closed the question, or their editor could not show it. That is neither \
                         a yes nor a choice. Go on with what is right whatever they would have said, or end your turn and say what \
                         you need to know.";

async fn put(turn: &Turn, item_id: ItemId, questions: Vec<UserQuestion>) -> Reply {
    if turn.pending.has_input() {
        // They have written already: what they said may settle it.
        return Reply::Wrote;
    }
    let request = UserInputRequest {
        id: QuestionsId::fresh(),
        thread_id: turn.conversation.id.clone(),
        turn_id: turn.id.clone(),
        item_id,
        agent: turn.conversation.agent_name(),
        questions,
    };
    let mut question = turn.services.questions.open(request.clone());
    let _waiting = turn.waiting(WaitsFor::Input);
    let mut asked = Asked {
        turn,
        id: request.id.clone(),
        answered: false,
    };
    turn.publish(EventKind::UserInputRequested(UserInputRequested { request }));
    let reply = tokio::select! {
        biased;
        () = turn.cancel.cancelled() => Reply::Stopped,
        answer = question.answered() => answer.map_or(Reply::None, Reply::Answered),
        () = turn.pending.input_came() => Reply::Wrote,
    };
    asked.answered = matches!(reply, Reply::Answered(_));
    reply
}

/// Questions that were announced. However they end, what shows them is told.
struct Asked<'a> {
    turn: &'a Turn,
    id: QuestionsId,
    answered: bool,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.turn
            .publish_always(EventKind::UserInputResolved(UserInputResolved {
                id: self.id.clone(),
                answered: self.answered,
            }));
    }
}

/// The answers for the model. What is no answer to what was asked is none.
fn in_words(questions: &[UserQuestion], mut response: UserInputResponse) -> String {
    let mut answers = serde_json::Map::new();
    let mut unanswered = Vec::new();
    for question in questions {
        let given = response.answers.remove(&question.id).unwrap_or_default().answers;
        let fits = |answer: &&String| {
            question.is_other && !answer.trim().is_empty()
                || question.options.iter().any(|one| one.label == answer.trim())
        };
        let given: Vec<String> = given
            .iter()
            .filter(fits)
            .map(|answer| answer.trim().chars().take(MOST_ANSWER).collect())
            .collect();
        if given.is_empty() {
            unanswered.push(question.id.as_str());
        } else {
            answers.insert(question.id.clone(), json!({ "answers": given }));
        }
    }
    if answers.is_empty() {
        return NO_ANSWER.to_owned();
    }
    let mut told = json!({ "answers": answers });
    if !unanswered.is_empty() {
        told["unanswered"] = json!(unanswered);
    }
    told.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::question::UserChoice;
    use serde_json::Value;

    fn request(id: &str) -> UserInputRequest {
        UserInputRequest {
            id: id.into(),
            thread_id: "t".into(),
            turn_id: "u".into(),
            item_id: "i".into(),
            agent: None,
            questions: Vec::new(),
        }
    }

    fn response(answers: Value) -> UserInputResponse {
        serde_json::from_value(json!({ "answers": answers })).expect("answers")
    }

    /// Shows S-427.
    #[tokio::test]
    async fn each_answer_reaches_the_step_that_asked_and_only_once() {
        let services = Questions::default();
        let (mut first, mut second) = (services.open(request("1")), services.open(request("2")));
        let answer = |text: &str| Some(response(json!({"q": {"answers": [text]}})));
        assert!(services.answer(&"2".into(), answer("two")));
        assert!(services.answer(&"1".into(), answer("one")));
        assert!(!services.answer(&"1".into(), answer("late")));
        assert_eq!(first.answered().await, answer("one"));
        assert_eq!(second.answered().await, answer("two"));
        let third = services.open(request("3"));
        assert_eq!(services.pending(Some(&"t".into())), [request("3")]);
        drop(third);
        assert!(!services.answer(&"3".into(), answer("withdrawn")));
    }

    #[test]
    fn what_is_no_answer_is_told_as_none() {
        let question = |id: &str, is_other: bool| UserQuestion {
            id: id.to_owned(),
            header: String::new(),
            question: "Which?".to_owned(),
            is_other,
            options: ["a", "b"]
                .map(|label| UserChoice {
                    label: label.to_owned(),
                    description: String::new(),
                })
                .to_vec(),
        };
        let told = |is_other: bool, answers: Value| {
            in_words(&[question("q", is_other), question("r", true)], response(answers))
        };
        for (is_other, answers) in [
            (true, json!({})),
            (true, json!({"q": {"answers": []}})),
            (true, json!({"q": {"answers": ["", "  "]}})),
            (false, json!({"q": {"answers": ["c"]}})),
            (true, json!({"other": {"answers": ["a"]}})),
        ] {
            assert_eq!(told(is_other, answers.clone()), NO_ANSWER, "{answers}");
        }
        let parsed = |text: String| serde_json::from_str::<Value>(&text).expect("JSON");
        assert_eq!(
            parsed(told(false, json!({"q": {"answers": ["c", " b "]}}))),
            json!({"answers": {"q": {"answers": ["b"]}}, "unanswered": ["r"]})
        );
        assert_eq!(
            parsed(told(
                true,
                json!({"q": {"answers": ["in words"]}, "r": {"answers": ["a"]}})
            )),
            json!({"answers": {"q": {"answers": ["in words"]}, "r": {"answers": ["a"]}}})
        );
    }
}
