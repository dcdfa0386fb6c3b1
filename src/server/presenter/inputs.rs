//! Asks the person what the model wants to know, by the strongest means the client has: by a request to our plugins, by
//! one message with choices after the other elsewhere. A closed dialog, a lost client and what cannot be understood are no
//! answer.

use super::{Presenter, Severity};
use crate::mcp::untrusted::quoted;
use crate::protocol::method::USER_INPUT_REQUEST;
use crate::protocol::question::{UserAnswer, UserInputRequest, UserInputResponse, UserQuestion};
use crate::shown;

/// The choices beside the model's own. The first stands first: some prompts have the first choice filled in already.
const NO_ANSWER: &str = "No answer";
const IN_WORDS: &str = "Answer in words…";

/// Asks, and settles the question with the answers. Aborted when it is settled elsewhere.
pub(super) async fn ask(presenter: Presenter, request: UserInputRequest) {
    let response = if presenter.shared.client.can.plugin {
        let pending = presenter
            .shared
            .outbound
            .request::<Option<UserInputResponse>>(USER_INPUT_REQUEST, &request);
        pending.await.unwrap_or_else(|error| {
            tracing::warn!(question = %request.id, %error, "no usable answer to a question of the model");
            None
        })
    } else {
        // Two prompts at a time, one over the other, are hard to tell apart.
        let _one_after_the_other = presenter.shared.asking_inputs.lock().await;
        match by_messages(&presenter, &request).await {
            Said::Answers(response) => Some(response),
            Said::InWords => {
                presenter.state().in_words.insert(request.id, request.thread_id);
                return presenter.message(
                    Severity::Info,
                    "The agent is waiting for your answer: your next message to it is the answer. Stopping the agent withdraws the \
                     question.",
                );
            }
        }
    };
    presenter
        .shared
        .agent
        .services()
        .questions
        .answer(&request.id, response);
}

enum Said {
    Answers(UserInputResponse),
    /// They write a message, and the question stays open until it comes.
    InWords,
}

async fn by_messages(presenter: &Presenter, request: &UserInputRequest) -> Said {
    let mut response = UserInputResponse::default();
    for question in &request.questions {
        match choose(presenter, request, question).await.as_deref() {
            Some(IN_WORDS) if question.is_other => return Said::InWords,
            Some(label) if question.options.iter().any(|option| option.label == label) => {
                let answers = vec![label.to_owned()];
                response.answers.insert(question.id.clone(), UserAnswer { answers });
            }
            _ => {}
        }
    }
    Said::Answers(response)
}

async fn choose(presenter: &Presenter, request: &UserInputRequest, question: &UserQuestion) -> Option<String> {
    let in_words = question.is_other.then_some(IN_WORDS);
    let labels = question.options.iter().map(|option| option.label.as_str());
    let titles = [NO_ANSWER].into_iter().chain(labels).chain(in_words);
    presenter.when_idle().await;
    presenter
        .choose(Severity::Info, &words(request, question), titles)
        .await
}

fn words(request: &UserInputRequest, question: &UserQuestion) -> String {
    let who = request
        .agent
        .as_deref()
        .map(|name| format!("The agent {} asks", shown::line(name)));
    let who = who.unwrap_or_else(|| "The agent asks".to_owned());
    let about = match question.header.is_empty() {
        true => String::new(),
        false => format!(" ({})", shown::line(&question.header)),
    };
    let asked = shown::prose(question.question.trim());
    let mut text = match asked.contains('\n') {
        // Marked line by line: none of it passes for one of ours.
        true => format!("{who}{about}:\n{}", quoted(&asked)),
        false => format!("{who}{about}: {asked}"),
    };
    for option in question
        .options
        .iter()
        .filter(|option| !option.description.trim().is_empty())
    {
        let (label, meaning) = (shown::line(&option.label), shown::line(&option.description));
        text.push_str(&format!("\n  {label}: {meaning}"));
    }
    text
}
