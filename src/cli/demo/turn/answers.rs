//! What the server asks: of the editor to change and to save, of the person to decide.

use super::{View, on_disk, read};
use crate::cli::demo::flow::Flow;
use crate::cli::demo::person::{Choice, Question};
use crate::cli::demo::project::{self, CLOSED, OPEN};
use crate::cli::demo::proposal;
use crate::cli::demo::screen::LABELLED;
use crate::cli::demo::script::COPY_OUTSIDE;
use crate::cli::demo::story::{Stage, Stop};
use crate::cli::demo::style::Style;
use crate::protocol::approval::{ApprovalDecision, ApprovalResponse, CommandApproval};
use crate::protocol::document::{DocumentSaveParams, DocumentSaveResult};
use crate::protocol::item::Confined;
use crate::protocol::method;
use crate::protocol::proposal::{Proposal, ProposalReadResult};
use serde_json::{Value, json};

const YES: Choice = Choice {
    words: &["y", "yes"],
    meaning: "",
};
const NO: Choice = Choice {
    words: &["n", "no"],
    meaning: "",
};

impl View {
    /// Shows the proposal, asks, and tells the server the decision.
    pub(super) async fn proposal(&mut self, stage: &mut Stage<'_>, created: &Proposal) -> Result<(), Stop> {
        self.turn_to(stage).await?;
        let method = "countersign/proposal/read";
        let answer = stage.client.request(method, json!({"proposalId": created.id})).await?;
        let proposal = &read::<ProposalReadResult>(method, answer)?.proposal;
        let (open, closed) = on_disk(stage)?;
        let mut files: Vec<_> = proposal
            .files
            .iter()
            .map(|file| (project::name_of(&file.path), file.open, file.unsaved))
            .collect();
        files.sort();
        stage.facts.proposed_both_files = files == [(CLOSED.to_owned(), false, false), (OPEN.to_owned(), true, true)];
        stage.screen.blank()?;
        proposal::show(stage.screen, proposal)?;
        stage.screen.blank()?;
        stage.pause(300).await;
        let (decisions, accepted) = proposal::decide(stage.person, stage.screen, proposal).await?;
        stage.facts.accepted = accepted;
        stage.facts.untouched_before_answer = stage.buffer.text == project::edited_price(false)
            && open == project::saved_price()
            && closed == project::cart(false)
            && on_disk(stage)? == (open, closed);
        self.due = Some(if accepted.nothing() {
            "Rejected"
        } else {
            "The change is applied"
        });
        for decision in decisions {
            let params = serde_json::to_value(decision).map_err(|error| Stop::Failed(error.to_string()))?;
            stage.client.request("countersign/proposal/decide", params).await?;
        }
        Ok(())
    }

    /// Answers a request of the server.
    pub(super) async fn request(
        &mut self,
        stage: &mut Stage<'_>,
        id: Value,
        method: &str,
        params: Value,
    ) -> Result<(), Stop> {
        match method {
            "workspace/applyEdit" => {
                let result = match stage.buffer.apply(&params["edit"]) {
                    Ok(change) => {
                        stage.client.notify("textDocument/didChange", change).await?;
                        json!({"applied": true})
                    }
                    Err(reason) => json!({"applied": false, "failureReason": reason}),
                };
                stage.client.answer(id, result).await?;
            }
            method::DOCUMENT_SAVE => {
                let saved = self.save(stage, &read(method, params)?).await?;
                stage.client.answer(id, json!(DocumentSaveResult { saved })).await?;
            }
            method::APPROVAL_COMMAND => {
                let approval: CommandApproval = read(method, params)?;
                let response = self.approval(stage, &approval).await?;
                stage.client.answer(id, json!(response)).await?;
            }
            method => stage.client.answer_unknown(id, method).await?,
        }
        Ok(())
    }

    /// Saves the open document, after asking: a line of the person's goes with it. Gives what was saved.
    async fn save(&mut self, stage: &mut Stage<'_>, wanted: &DocumentSaveParams) -> Result<Vec<String>, Stop> {
        self.turn_to(stage).await?;
        let ours = wanted
            .documents
            .iter()
            .find(|document| document.uri == stage.buffer.uri);
        let Some(document) = ours else { return Ok(Vec::new()) };
        let untouched = on_disk(stage)?.0 == project::saved_price();
        stage.facts.asked_before_saving = document.held_unsaved_text && untouched;
        let text = format!("Save {OPEN} with your line? Commands see the disk.");
        let question = Question {
            text: &text,
            choices: &[YES, NO],
            usual: 0,
            has_default: true,
            at_end: 1,
        };
        stage.facts.may_save = stage.person.ask(stage.screen, &question).await? == 0;
        if !stage.facts.may_save {
            return Ok(Vec::new());
        }
        let saved = stage
            .buffer
            .save()
            .map_err(Stop::of_file("the open document could not be saved"))?;
        stage.client.notify("textDocument/didSave", saved).await?;
        let expected = project::edited_price(stage.facts.accepted.open_file);
        stage.facts.saved_for_test = on_disk(stage)?.0 == expected;
        Ok(vec![stage.buffer.uri.clone()])
    }

    /// Puts the question about a command to the person.
    async fn approval(&mut self, stage: &mut Stage<'_>, approval: &CommandApproval) -> Result<ApprovalResponse, Stop> {
        self.turn_to(stage).await?;
        let why = approval.justification.as_deref().unwrap_or(&approval.reason);
        stage.screen.label("why")?;
        let mut flow = Flow::new(LABELLED, Style::PLAIN);
        flow.push(stage.screen, why)?;
        flow.finish(stage.screen)?;
        let is_copy = approval.item_id.as_str() == COPY_OUTSIDE && approval.confined == Confined::Outside;
        stage.facts.asked_before_leaving = is_copy && !stage.outside.is_there();
        stage.pause(300).await;
        let question = Question {
            text: "Run it outside the sandbox?",
            choices: &[YES, NO],
            usual: 1,
            has_default: true,
            at_end: 1,
        };
        let accept = stage.person.ask(stage.screen, &question).await? == 0;
        stage.facts.may_leave = accept;
        let decision = if accept {
            ApprovalDecision::Accept
        } else {
            ApprovalDecision::Decline
        };
        Ok(ApprovalResponse {
            decision,
            turn_id: None,
            feedback: None,
            permissions: None,
        })
    }
}
