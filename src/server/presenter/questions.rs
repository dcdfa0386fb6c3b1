//! Asks the person about a command or a folder, by the strongest means the client has. An answer that cannot be understood,
//! a closed dialog and a lost client are a no.

use super::{Presenter, Severity, whole, words};
use crate::protocol::approval::{Approval, ApprovalDecision, ApprovalResponse};
use crate::protocol::method::{APPROVAL_COMMAND, APPROVAL_PERMISSION, APPROVAL_TOOL};
use crate::protocol::permission::GrantScope;
use crate::workspace::uri;
use std::path::PathBuf;
use std::time::Duration;

/// Leaves a question open that stands in a chat document, to be decided there.
const IN_CHAT: &str = "Decide in the chat";
/// How often it is looked whether the document still shows a question that was left to it.
const LOOK: Duration = Duration::from_secs(1);
/// Opens the page of a question that no message has room for, to be decided there.
const SHOW_ALL: &str = "Show all";
/// Lines that say where a question can be seen whole.
const POINTER: usize = 4;
/// How long an editor may take to open the page that it was asked to show.
const OPENS: Duration = Duration::from_secs(5);

/// Asks, and settles the question with the answer. Aborted when the question is settled elsewhere.
pub(super) async fn ask(presenter: Presenter, approval: Approval) {
    let response = if presenter.shared.client.can.plugin {
        let method = match &approval {
            Approval::Command(_) => APPROVAL_COMMAND,
            Approval::Permission(_) => APPROVAL_PERMISSION,
            Approval::Tool(_) => APPROVAL_TOOL,
        };
        let pending = presenter.shared.outbound.request::<ApprovalResponse>(method, &approval);
        pending.await.unwrap_or_else(|error| {
            tracing::warn!(approval = %approval.id(), %error, "no usable answer to a question; it counts as declined");
            ApprovalResponse::decline()
        })
    } else {
        loop {
            match by_message(&presenter, &approval).await {
                Said::Answer(response) => break response,
                // A document that is closed shows the question no more.
                Said::InChat => {
                    while presenter.is_in_document(approval.thread_id()) {
                        tokio::time::sleep(LOOK).await;
                    }
                }
                Said::ShowAll => show_all(&presenter, &approval).await,
            }
        }
    };
    presenter
        .shared
        .agent
        .services()
        .approvals
        .answer(approval.id(), response);
}

/// What the person said to a message.
enum Said {
    Answer(ApprovalResponse),
    /// They decide in the chat document that shows the question.
    InChat,
    /// They want to see all of it first.
    ShowAll,
}

async fn by_message(presenter: &Presenter, approval: &Approval) -> Said {
    let all = whole::question(approval);
    let lines = presenter.shared.client.can.question_lines();
    let fits_all = whole::fits(&all, lines);
    // Without what only a yes for longer is tied to, and with room for where that can be seen.
    let once =
        whole::question_once(approval).filter(|once| !fits_all && whole::fits(once, lines.saturating_sub(POINTER)));
    let fits = fits_all || once.is_some();
    let mut choices: Vec<_> = approval
        .available_decisions()
        .iter()
        // What is not wholly shown is not allowed here, whatever comes back.
        .filter(|decision| match decision.is_for_longer() {
            true => fits_all,
            false => fits || !decision.is_yes(),
        })
        .map(|decision| (title(*decision, approval), *decision))
        .collect();
    // Some prompts have the first choice filled in already: it must not be a yes.
    choices.sort_by_key(|(_, decision)| *decision != ApprovalDecision::Decline);
    let message = match once {
        _ if fits_all => all,
        Some(once) => format!("{once}\n{}", where_to_decide(presenter, approval).await),
        None => format!(
            "{} {}",
            whole::beginning(&all, lines),
            where_to_decide(presenter, approval).await
        ),
    };
    presenter.when_idle().await;
    let in_chat = presenter.is_in_document(approval.thread_id()).then_some(IN_CHAT);
    let show_all = (!fits_all && presenter.shared.client.can.show_document).then_some(SHOW_ALL);
    let titles = choices
        .iter()
        .map(|(title, _)| title.as_str())
        .chain(show_all)
        .chain(in_chat);
    let chosen = presenter.choose(Severity::Warning, &message, titles).await;
    if chosen.is_some() && chosen.as_deref() == in_chat {
        return Said::InChat;
    }
    if chosen.is_some() && chosen.as_deref() == show_all {
        return Said::ShowAll;
    }
    let decision = choices.iter().find(|(title, _)| Some(title) == chosen.as_ref());
    Said::Answer(ApprovalResponse {
        decision: decision.map_or(ApprovalDecision::Decline, |(_, decision)| *decision),
        turn_id: None,
        feedback: None,
        permissions: None,
    })
}

/// Where a question that has no room in a message can be decided.
async fn where_to_decide(presenter: &Presenter, approval: &Approval) -> String {
    match write_page(presenter, approval).await {
        Some(_) if presenter.shared.client.can.show_document => {
            format!("{SHOW_ALL} opens the whole question, to be decided there.")
        }
        Some(path) => format!(
            "The whole question is in {}: open that file, and decide by its code actions. A chat document shows questions whole, too.",
            crate::shown::path(&path)
        ),
        None => "A chat document (the command countersign.openChat) shows questions whole.".to_owned(),
    }
}

async fn write_page(presenter: &Presenter, approval: &Approval) -> Option<PathBuf> {
    let services = presenter.shared.agent.services();
    let (home, asked) = (services.home.clone(), approval.clone());
    let open: Vec<_> = services
        .approvals
        .pending(None)
        .iter()
        .map(|one| one.id().clone())
        .collect();
    let written = tokio::task::spawn_blocking(move || whole::write_page(&home, &asked, &open)).await;
    match written.map_err(std::io::Error::other).and_then(|written| written) {
        Ok(path) => Some(path),
        Err(error) => {
            let trouble =
                format!("The question could not be written to the home folder, so it cannot be shown whole: {error}.");
            presenter.message(Severity::Error, &trouble);
            None
        }
    }
}

/// Shows the page, and waits as long as the editor has it open.
async fn show_all(presenter: &Presenter, approval: &Approval) {
    let Some(path) = write_page(presenter, approval).await else {
        return;
    };
    if !presenter.show_document(&uri::from_path(&path), None, true).await {
        let message = format!(
            "This editor did not open the question. It is in the file {}.",
            path.display()
        );
        return presenter.message(Severity::Warning, &message);
    }
    let is_open = || presenter.shared.agent.services().workspace.document(&path).is_some();
    let begun = tokio::time::Instant::now();
    while !is_open() && begun.elapsed() < OPENS {
        tokio::time::sleep(LOOK / 10).await;
    }
    if !is_open() {
        let message = format!(
            "The question is in {}, but this editor gives Countersign no documents of its kind (Markdown), so it cannot be decided \
             there. Open a chat document to decide, or deny.",
            path.display()
        );
        presenter.message(Severity::Warning, &message);
    }
    while is_open() {
        tokio::time::sleep(LOOK).await;
    }
}

/// A decision on a button.
pub fn title(decision: ApprovalDecision, approval: &Approval) -> String {
    match (decision, approval) {
        (ApprovalDecision::Accept, Approval::Command(_)) => "Allow Once".to_owned(),
        (ApprovalDecision::AcceptForSession, Approval::Command(command)) => {
            format!("Allow for Session: {}", words::cut(&command.session_scope, 60))
        }
        (ApprovalDecision::AcceptAlways, Approval::Command(command)) => {
            let programs = command.always_rule.as_ref().map_or("this", |rule| rule.title.as_str());
            format!("Always Allow `{}`", words::cut(programs, 60))
        }
        (ApprovalDecision::Accept, Approval::Tool(_)) => "Allow Once".to_owned(),
        (ApprovalDecision::AcceptForSession, Approval::Tool(tool)) => {
            format!("Allow for Session: {}", words::cut(&tool.tool, 60))
        }
        (ApprovalDecision::AcceptAlways, Approval::Tool(tool)) => {
            format!("Always Allow `{}`", words::cut(&tool.always_rule.title, 60))
        }
        (decision, Approval::Permission(asked)) if !asked.permissions.is_empty() => {
            match (decision, asked.accept_covers) {
                (ApprovalDecision::AcceptForSession, _) => "Allow for Session".to_owned(),
                (ApprovalDecision::AcceptAlways, _) => "Always Allow".to_owned(),
                (ApprovalDecision::Accept, GrantScope::Command) => "Allow for Command".to_owned(),
                (ApprovalDecision::Accept, _) => "Allow for Turn".to_owned(),
                (ApprovalDecision::Decline, _) => "Deny".to_owned(),
                (ApprovalDecision::Cancel, _) => "Deny and Stop".to_owned(),
            }
        }
        (
            ApprovalDecision::Accept | ApprovalDecision::AcceptForSession | ApprovalDecision::AcceptAlways,
            Approval::Permission(_),
        ) => "Allow Writing for Session".to_owned(),
        (ApprovalDecision::Decline, _) => "Deny".to_owned(),
        (ApprovalDecision::Cancel, _) => "Deny and Stop".to_owned(),
    }
}
