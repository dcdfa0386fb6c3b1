//! What can be done in a chat document: the same as code actions and as lenses. Lenses stand where a question stands; code actions
//! are offered anywhere in the document.

use super::{Answer, Approve, Deny, Which};
use crate::agent::clock;
use crate::chat::document::Chat;
use crate::chat::text::inline;
use crate::handlers::command::{self, Decide, ShowProposal};
use crate::handlers::thread;
use crate::protocol::approval::{Approval, ApprovalDecision};
use crate::protocol::proposal::{Proposal, ProposalDecision};
use crate::protocol::question::UserInputRequest;
use crate::server::chats::{Seen, is_chat};
use crate::server::presenter::{again_title, approval_title, change, question_page_path, shows_question};
use crate::server::session::Session;
use crate::workspace::{Document, position};
use lsp_types::{CodeAction, CodeActionKind, CodeLens, Command, Position, Range};
use serde::Serialize;
use serde_json::Value;
use std::path::Path;

/// One thing that can be done.
struct Offer {
    title: String,
    command: &'static str,
    argument: Value,
    /// Where a lens for it stands, in bytes.
    at: usize,
}

fn offer(title: impl Into<String>, command: &'static str, argument: &impl Serialize, at: usize) -> Offer {
    let title: String = title.into();
    Offer {
        title: crate::shown::line(&title),
        command,
        argument: serde_json::to_value(argument).unwrap_or_default(),
        at,
    }
}

/// The chat document under this URI, if it is one.
pub fn chat(session: &Session, uri: &str) -> Option<Document> {
    let document = session.workspace().document_by_uri(uri)?;
    document.path().is_some_and(is_chat).then_some(document)
}

/// Whether a document shows all of a question, so that it can be allowed there.
pub(super) fn shows(session: &Session, uri: &str, text: &str, approval: &Approval) -> bool {
    let path = session
        .workspace()
        .document_by_uri(uri)
        .and_then(|open| open.path().map(Path::to_owned));
    path.is_some_and(|path| shows_question(&session.agent().services().home, &path, text, approval))
}

/// The question whose page a document is, if it is one and the question is open.
pub fn page(session: &Session, document: &Document) -> Option<Approval> {
    let path = document.path()?;
    let services = session.agent().services();
    let open = services.approvals.pending(None).into_iter();
    open.into_iter()
        .find(|approval| path == question_page_path(&services.home, approval.id()))
}

/// What can be done in a document of ours.
fn offered(session: &Session, document: &Document) -> Vec<Offer> {
    let text = document.text();
    let Some(approval) = page(session, document) else {
        return offers(session, document.uri(), &text);
    };
    let mut offers = Vec::new();
    let shown = shows(session, document.uri(), &text, &approval);
    approval_offers(&approval, document.uri(), shown, 0, &mut offers);
    offers
}

pub fn lenses(session: &Session, document: &Document) -> Vec<CodeLens> {
    let offers = offered(session, document);
    let lens = |offer: Offer| {
        let at = position::position_of_byte(&document.rope, offer.at, session.workspace().encoding());
        let at = Position::new(at.line, 0);
        CodeLens {
            range: Range::new(at, at),
            command: Some(Command::new(
                offer.title,
                offer.command.to_owned(),
                Some(vec![offer.argument]),
            )),
            data: None,
        }
    };
    offers.into_iter().map(lens).collect()
}

pub fn actions(session: &Session, document: &Document, kind: &str) -> Vec<CodeAction> {
    let mut offers = offered(session, document);
    // What is done with the words that stand there comes first: a menu may show only its first rows.
    offers.sort_by_key(|offer| ![command::CHAT_SEND, command::CHAT_DENY].contains(&offer.command));
    let action = |offer: Offer| CodeAction {
        title: offer.title.clone(),
        kind: Some(CodeActionKind::from(kind.to_owned())),
        command: Some(Command::new(
            offer.title,
            offer.command.to_owned(),
            Some(vec![offer.argument]),
        )),
        ..CodeAction::default()
    };
    offers.into_iter().map(action).collect()
}

fn offers(session: &Session, uri: &str, text: &str) -> Vec<Offer> {
    let chat = Chat::read(text);
    let seen = session.chats().seen(uri);
    let which = Which {
        uri: Some(uri.to_owned()),
    };
    let composer = chat.sections.last().map_or(chat.start, |last| last.head.start);
    let services = session.agent().services();
    let thread = seen.thread.as_ref().and_then(|id| session.agent().thread(id));
    let running = thread.as_ref().is_some_and(|thread| thread.running().is_some());
    let mut offers = Vec::new();
    let questions = thread
        .as_ref()
        .map(|thread| services.questions.pending(Some(thread.id())))
        .unwrap_or_default();
    if !chat.words().is_empty() {
        let title = match (questions.is_empty(), running) {
            (false, _) => "Agent: Answer with these words",
            (true, true) => "Agent: Send to the running turn",
            (true, false) => "Agent: Send",
        };
        offers.push(offer(title, command::CHAT_SEND, &which, composer));
    }
    if running {
        offers.push(offer("Agent: Stop", command::CHAT_STOP, &which, composer));
    }
    if let Some(thread) = &thread {
        let which_thread = thread::Which {
            thread_id: Some(thread.id().clone()),
        };
        if let Some(again) = thread.may_send_again() {
            let title = format!("Agent: {}", again_title(again.at_ms));
            let which = thread::Again::of(thread, again.turn);
            offers.push(offer(title, command::SEND_AGAIN, &which, composer));
        }
        if let Some(at) = thread.sends_at() {
            let title = format!("Agent: Do not send again at {}", clock(at));
            offers.push(offer(title, command::DO_NOT_SEND, &which_thread, composer));
        }
        for approval in services.approvals.pending(Some(thread.id())) {
            let at = place(&chat, &seen, approval.id().as_str()).unwrap_or(composer);
            let shown = shows(session, uri, text, &approval);
            approval_offers(&approval, uri, shown, at, &mut offers);
            if !chat.words().is_empty() {
                let deny = Deny {
                    approval_id: Some(approval.id().clone()),
                    ..deny_in(uri)
                };
                let title = format!("Agent: Deny, with these words as the reason ({})", subject(&approval));
                offers.push(offer(title, command::CHAT_DENY, &deny, at));
            }
        }
        for request in &questions {
            let at = place(&chat, &seen, request.id.as_str()).unwrap_or(composer);
            question_offers(request, at, &mut offers);
        }
        for proposal in services.proposals.list(Some(thread.id()), false) {
            let at = place(&chat, &seen, proposal.id.as_str()).unwrap_or(composer);
            proposal_offers(session, &proposal, at, &mut offers);
            if !chat.words().is_empty() && change::waiting(&proposal).next().is_some() {
                let deny = Deny {
                    proposal_id: Some(proposal.id.clone()),
                    ..deny_in(uri)
                };
                let title = format!("Agent: Reject, with these words as the reason ({})", names(&proposal));
                offers.push(offer(title, command::CHAT_DENY, &deny, at));
            }
        }
        if !running && chat.sections.len() > 1 {
            offers.push(offer("Agent: Compact", command::COMPACT, &which_thread, composer));
            offers.push(offer(
                "Agent: Begin a new conversation",
                command::CHAT_NEW,
                &which,
                composer,
            ));
        }
    } else if seen.lost {
        offers.push(offer(
            "Agent: Begin a new conversation",
            command::CHAT_NEW,
            &which,
            composer,
        ));
    }
    offers
}

/// Where the heading of a question or change stands.
fn place(chat: &Chat<'_>, seen: &Seen, id: &str) -> Option<usize> {
    let (tag, heading) = seen.places.get(id)?;
    let of_turn = chat
        .sections
        .iter()
        .rev()
        .filter(|section| section.tag.as_deref() == Some(tag));
    of_turn
        .flat_map(|section| chat.parts(section))
        .find(|part| {
            let rest = part.title.strip_prefix(heading.as_str());
            // “Question 1” is not the beginning of “Question 10”.
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
        })
        .map(|part| part.head.start)
}

fn deny_in(uri: &str) -> Deny {
    Deny {
        uri: Some(uri.to_owned()),
        ..Deny::default()
    }
}

/// What a question is about, in a few words.
fn subject(approval: &Approval) -> String {
    match approval {
        Approval::Command(command) => inline(&command.display, 40),
        Approval::Permission(_) => "permission".to_owned(),
        Approval::Tool(tool) => inline(&tool.tool, 40),
    }
}

fn approval_offers(approval: &Approval, uri: &str, shown: bool, at: usize, offers: &mut Vec<Offer>) {
    let subject = subject(approval);
    let mut decisions = approval.available_decisions().to_vec();
    // What allows is never the first.
    decisions.sort_by_key(|decision| *decision != ApprovalDecision::Decline);
    decisions.retain(|decision| shown || !decision.is_yes());
    for decision in decisions {
        let title = format!("Agent: {} ({subject})", approval_title(decision, approval));
        let given = Approve {
            approval_id: approval.id().clone(),
            decision,
            feedback: None,
            uri: Some(uri.to_owned()),
        };
        offers.push(offer(title, command::APPROVE, &given, at));
    }
}

fn question_offers(request: &UserInputRequest, at: usize, offers: &mut Vec<Offer>) {
    // With several questions one choice would leave the others without an answer: words answer those.
    if let [question] = request.questions.as_slice() {
        for option in &question.options {
            let given = Answer {
                questions_id: request.id.clone(),
                answers: [(question.id.clone(), option.label.clone())].into(),
            };
            let title = format!("Agent: Answer: {}", inline(&option.label, 60));
            offers.push(offer(title, command::ANSWER, &given, at));
        }
    }
    let nothing = Answer {
        questions_id: request.id.clone(),
        answers: Default::default(),
    };
    offers.push(offer("Agent: No answer", command::ANSWER, &nothing, at));
}

/// The first files of a change.
fn names(proposal: &Proposal) -> String {
    let files = proposal.files.iter().take(3);
    let names: Vec<_> = files
        .map(|file| inline(&file.path.file_name().unwrap_or_default().to_string_lossy(), 30))
        .collect();
    names.join(", ")
}

/// What can be done with a proposal. What the person was not shown yet is shown before it can be accepted.
fn proposal_offers(session: &Session, proposal: &Proposal, at: usize, offers: &mut Vec<Offer>) {
    let presenter = session.presenter();
    let waiting: Vec<_> = change::waiting(proposal).collect();
    if waiting.is_empty() {
        return;
    }
    let decide = |decision, hunk_ids| Decide {
        proposal_id: proposal.id.clone(),
        decision,
        hunk_ids,
        path: None,
        feedback: None,
    };
    let show = ShowProposal {
        proposal_id: Some(proposal.id.clone()),
        path: None,
        hunk_id: None,
    };
    let names = names(proposal);
    offers.push(offer(
        format!("Agent: Show the change ({names})"),
        command::SHOW_PROPOSAL,
        &show,
        at,
    ));
    let shown = presenter.shown_changes();
    // What cannot be accepted is not accepted with the rest.
    let is_offered = |change: &change::Change<'_>| change.trouble().is_some() || shown.has(change);
    if waiting.iter().any(|change| change.trouble().is_none()) && waiting.iter().all(is_offered) {
        let all = decide(ProposalDecision::Accept, None);
        offers.push(offer(
            format!("Agent: Accept the change ({names})"),
            command::DECIDE,
            &all,
            at,
        ));
    }
    let all = decide(ProposalDecision::Reject, None);
    offers.push(offer(
        format!("Agent: Reject the change ({names})"),
        command::DECIDE,
        &all,
        at,
    ));
    if waiting.len() < 2 {
        return;
    }
    for change in &waiting {
        let one = Some(vec![change.hunk.id.clone()]);
        let name = change.file.path.file_name().unwrap_or_default().to_string_lossy();
        let what = format!("{} {}", inline(&name, 30), change.lines());
        if change.trouble().is_none() && shown.has(change) {
            let accept = decide(ProposalDecision::Accept, one.clone());
            offers.push(offer(format!("Agent: Accept {what}"), command::DECIDE, &accept, at));
        }
        let reject = decide(ProposalDecision::Reject, one);
        offers.push(offer(format!("Agent: Reject {what}"), command::DECIDE, &reject, at));
    }
}
