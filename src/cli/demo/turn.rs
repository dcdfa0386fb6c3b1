//! The turn as the client sees it: every event of the thread is shown as it comes, every question is put to the person,
//! and what happens is noted.

mod answers;

use super::client::Message;
use super::facts::Accepted;
use super::flow::Flow;
use super::project::{self, CLOSED, OPEN, UNSAVED};
use super::screen::{INDENT, LABELLED, seconds};
use super::script::{COPY, COPY_OUTSIDE, READ, TEST_AFTER, TEST_BEFORE};
use super::story::{Stage, Stop};
use super::style::Style;
use crate::ids::ItemId;
use crate::protocol::event::{
    ErrorEvent, ItemCompleted, ItemDelta, ItemPartDelta, ItemStarted, PlanUpdated, ProposalChanged, TurnCompleted,
    TurnRetrying, Warning,
};
use crate::protocol::item::{Confined, ItemStatus, PlanStepStatus, ThreadItem};
use crate::protocol::turn::TurnStatus;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::time::Duration;

/// Between the steps of a plan.
const GAP: &str = "    ";

/// What is open on the screen.
#[derive(Default)]
struct View {
    /// A text that still grows.
    flow: Option<(ItemId, Flow)>,
    /// A command whose output is shown as it comes.
    command: Option<Running>,
    /// The title that comes before whatever is shown next.
    due: Option<&'static str>,
}

struct Running {
    id: ItemId,
    /// All of its output that has come.
    seen: String,
    /// How much of that is shown: whole lines.
    shown: usize,
}

/// Follows the turn to its end.
pub(super) async fn follow(stage: &mut Stage<'_>) -> Result<(), Stop> {
    let mut view = View::default();
    loop {
        let ended = match stage.client.next("the agent's next step").await? {
            Message::Notification { method, params } => view.event(stage, &method, params).await?,
            Message::Request { id, method, params } => {
                view.request(stage, id, &method, params).await?;
                None
            }
        };
        if let Some(ended) = ended {
            view.close(stage)?;
            return finish(stage, &ended);
        }
    }
}

fn finish(stage: &mut Stage<'_>, ended: &TurnCompleted) -> Result<(), Stop> {
    stage.facts.turn_completed = ended.turn.status == TurnStatus::Completed;
    match &ended.turn.error {
        Some(error) => Err(Stop::Failed(format!("The turn failed: {}", error.message))),
        None => Ok(()),
    }
}

fn read<T: DeserializeOwned>(method: &str, params: Value) -> Result<T, Stop> {
    serde_json::from_value(params)
        .map_err(|error| Stop::Failed(format!("{method} is not as the protocol says: {error}.")))
}

impl View {
    /// Shows one event; gives the turn's end.
    async fn event(
        &mut self,
        stage: &mut Stage<'_>,
        method: &str,
        params: Value,
    ) -> Result<Option<TurnCompleted>, Stop> {
        match method {
            "countersign/item/reasoning/summaryTextDelta" => {
                let delta: ItemPartDelta = read(method, params)?;
                self.text(stage, &delta.item_id, "thinks", Style::THOUGHT, &delta.delta)
                    .await?;
            }
            "countersign/item/agentMessage/delta" => {
                let delta: ItemDelta = read(method, params)?;
                self.text(stage, &delta.item_id, "says", Style::PLAIN, &delta.delta)
                    .await?;
            }
            "countersign/item/commandExecution/outputDelta" => {
                let delta: ItemDelta = read(method, params)?;
                if let Some(running) = self.command.as_mut().filter(|running| running.id == delta.item_id) {
                    running.seen.push_str(&delta.delta);
                    running.show_lines(stage, false)?;
                }
            }
            "countersign/item/started" => self.started(stage, read::<ItemStarted>(method, params)?.item).await?,
            "countersign/item/completed" => {
                self.completed(stage, read::<ItemCompleted>(method, params)?.item)
                    .await?
            }
            "countersign/turn/planUpdated" => self.plan(stage, &read(method, params)?).await?,
            "countersign/proposal/created" => {
                let created: ProposalChanged = read(method, params)?;
                self.proposal(stage, &created.proposal).await?;
            }
            "countersign/turn/retrying" => {
                let retrying: TurnRetrying = read(method, params)?;
                self.note(stage, &retrying.message).await?;
            }
            "countersign/warning" => self.note(stage, &read::<Warning>(method, params)?.message).await?,
            "countersign/error" => {
                self.note(stage, &read::<ErrorEvent>(method, params)?.error.message)
                    .await?
            }
            "countersign/turn/completed" => return read(method, params).map(Some),
            "window/showMessage" => {
                let message = params["message"].as_str().unwrap_or_default().to_owned();
                self.note(stage, &message).await?;
            }
            // Nothing to be seen here: thread, tokens, diff of the turn, the log.
            _ => {}
        }
        Ok(None)
    }

    /// Ends what is open, and begins the next step if one is due.
    async fn turn_to(&mut self, stage: &mut Stage<'_>) -> Result<(), Stop> {
        self.close(stage)?;
        if let Some(title) = self.due.take() {
            stage.title(title).await?;
        }
        Ok(())
    }

    fn close(&mut self, stage: &mut Stage<'_>) -> Result<(), Stop> {
        if let Some((_, flow)) = self.flow.take() {
            flow.finish(stage.screen)?;
        }
        Ok(())
    }

    async fn note(&mut self, stage: &mut Stage<'_>, text: &str) -> Result<(), Stop> {
        self.turn_to(stage).await?;
        stage.screen.label("note")?;
        let mut flow = Flow::new(LABELLED, Style::YELLOW);
        flow.push(stage.screen, text)?;
        flow.finish(stage.screen)?;
        Ok(())
    }

    async fn text(
        &mut self,
        stage: &mut Stage<'_>,
        id: &ItemId,
        label: &str,
        style: Style,
        delta: &str,
    ) -> Result<(), Stop> {
        if self.flow.as_ref().is_none_or(|(open, _)| open != id) {
            self.turn_to(stage).await?;
            stage.screen.label(label)?;
            self.flow = Some((id.clone(), Flow::new(LABELLED, style)));
        }
        if let Some((_, flow)) = &mut self.flow {
            flow.push(stage.screen, delta)?;
        }
        Ok(())
    }

    async fn plan(&mut self, stage: &mut Stage<'_>, plan: &PlanUpdated) -> Result<(), Stop> {
        self.turn_to(stage).await?;
        stage.screen.label("plan")?;
        let mut column = LABELLED;
        for (index, step) in plan.steps.iter().enumerate() {
            let (mark, style) = match step.status {
                PlanStepStatus::Completed => ("✓", Style::GREEN),
                PlanStepStatus::InProgress => ("›", Style::CYAN),
                PlanStepStatus::Pending => ("·", Style::DIM),
            };
            let length = step.step.chars().count() + 2;
            if index > 0 && column + GAP.len() + length > stage.screen.width() {
                stage.screen.newline()?;
                stage.screen.print(Style::PLAIN, &" ".repeat(LABELLED))?;
                column = LABELLED;
            } else if index > 0 {
                stage.screen.print(Style::PLAIN, GAP)?;
                column += GAP.len();
            }
            column += length;
            stage.screen.print(style, &format!("{mark} "))?;
            let words = match step.status {
                PlanStepStatus::Pending => Style::DIM,
                _ => Style::PLAIN,
            };
            stage.screen.print(words, &step.step)?;
        }
        stage.screen.newline()?;
        Ok(())
    }

    async fn started(&mut self, stage: &mut Stage<'_>, item: ThreadItem) -> Result<(), Stop> {
        let ThreadItem::CommandExecution {
            id, command, confined, ..
        } = item
        else {
            return Ok(());
        };
        self.turn_to(stage).await?;
        let (label, place) = match confined {
            Confined::ReadOnly => ("runs", (Style::DIM, "in the sandbox, reading only")),
            Confined::Workspace => ("runs", (Style::DIM, "in the sandbox")),
            Confined::Outside => ("wants", (Style::YELLOW, "outside the sandbox")),
        };
        let label = format!("{:INDENT$}{label:<width$}", "", width = LABELLED - INDENT);
        stage
            .screen
            .row_with(&[(Style::BLUE, &label), (Style::BOLD, &command)], place)?;
        self.command = Some(Running {
            id,
            seen: String::new(),
            shown: 0,
        });
        Ok(())
    }

    async fn completed(&mut self, stage: &mut Stage<'_>, item: ThreadItem) -> Result<(), Stop> {
        match item {
            ThreadItem::AgentMessage { id, text, .. } => self.whole_text(stage, &id, "says", Style::PLAIN, &text).await,
            ThreadItem::Reasoning { id, summary, .. } => {
                let text = summary.join("\n");
                self.whole_text(stage, &id, "thinks", Style::THOUGHT, &text).await
            }
            ThreadItem::ToolCall {
                id,
                title,
                status,
                output,
                ..
            } => {
                self.turn_to(stage).await?;
                let unsaved = output.is_some_and(|output| output.contains(UNSAVED));
                if id.as_str() == READ {
                    stage.facts.agent_read_unsaved_text = unsaved;
                }
                let note = match (status, unsaved) {
                    (ItemStatus::Completed, true) => "as it is in the editor",
                    (ItemStatus::Completed, false) => "",
                    _ => "failed",
                };
                let label = format!("{:INDENT$}{:<width$}", "", "tool", width = LABELLED - INDENT);
                stage
                    .screen
                    .row_with(&[(Style::BLUE, &label), (Style::PLAIN, &title)], (Style::DIM, note))?;
                Ok(())
            }
            ThreadItem::CommandExecution { .. } => self.command_completed(stage, item).await,
            ThreadItem::FileChange { status, .. } => self.change_completed(stage, status).await,
            // The demonstration has no MCP servers, no reviews and no sub-agents.
            ThreadItem::McpToolCall { .. }
            | ThreadItem::CommandChanges { .. }
            | ThreadItem::EnteredReviewMode { .. }
            | ThreadItem::ExitedReviewMode { .. }
            | ThreadItem::Plan { .. }
            | ThreadItem::UserMessage { .. }
            | ThreadItem::CollabAgentToolCall { .. }
            | ThreadItem::AgentMail { .. }
            | ThreadItem::Undo { .. }
            | ThreadItem::ContextCompaction { .. } => Ok(()),
        }
    }

    /// A text is whole. Mostly all of it has been shown as it came.
    async fn whole_text(
        &mut self,
        stage: &mut Stage<'_>,
        id: &ItemId,
        label: &str,
        style: Style,
        text: &str,
    ) -> Result<(), Stop> {
        if self.flow.as_ref().is_none_or(|(open, _)| open != id) && !text.is_empty() {
            self.text(stage, id, label, style, text).await?;
        }
        self.close(stage)
    }

    async fn command_completed(&mut self, stage: &mut Stage<'_>, item: ThreadItem) -> Result<(), Stop> {
        let ThreadItem::CommandExecution {
            id,
            confined,
            status,
            aggregated_output,
            exit_code,
            duration_ms,
            reason,
            ..
        } = item
        else {
            return Ok(());
        };
        if let Some(mut running) = self.command.take().filter(|running| running.id == id) {
            // The deltas are a service; the item has the last word.
            let rest = aggregated_output
                .as_deref()
                .and_then(|whole| whole.strip_prefix(running.seen.as_str()));
            running.seen.push_str(rest.unwrap_or_default());
            running.show_lines(stage, true)?;
        }
        let is_denied =
            status == ItemStatus::Failed && reason.as_deref().is_some_and(|words| words.contains("sandbox"));
        let mut words = match (status, exit_code) {
            (ItemStatus::Declined, _) => "not run: you said no".to_owned(),
            (_, Some(code)) => format!("exit {code}"),
            (_, None) => reason.clone().unwrap_or_else(|| "not run".to_owned()),
        };
        if let Some(duration) = duration_ms {
            words.push_str(&format!(", {}", seconds(Duration::from_millis(duration))));
        }
        let style = match status {
            ItemStatus::Completed => Style::GREEN,
            ItemStatus::Declined => Style::YELLOW,
            _ => Style::RED,
        };
        let gutter = format!("{:LABELLED$}└ ", "");
        let spans = [(Style::DIM, gutter.as_str()), (style, words.as_str())];
        if is_denied {
            stage
                .screen
                .row_with(&spans, (Style::RED.bold(), "stopped by the sandbox"))?;
        } else {
            stage.screen.row(&spans)?;
        }
        let there = stage.outside.is_there();
        let facts = &mut *stage.facts;
        let inside = confined == Confined::Workspace;
        match id.as_str() {
            TEST_BEFORE => {
                facts.agent_saw_failure = inside && exit_code == Some(1);
                self.due = Some("It tries to write outside the project");
            }
            COPY => {
                facts.sandbox_stopped = inside && is_denied && !there;
                show_outside(stage)?;
                self.due = Some("It asks to leave the sandbox");
            }
            COPY_OUTSIDE => {
                facts.answer_respected = facts.asked_before_leaving
                    && match facts.may_leave {
                        true => there && exit_code == Some(0) && confined == Confined::Outside,
                        false => !there && status == ItemStatus::Declined,
                    };
                show_outside(stage)?;
                self.due = Some("It proposes a change");
            }
            TEST_AFTER => facts.agent_test_status = exit_code.filter(|_| inside),
            _ => {}
        }
        Ok(())
    }

    /// What became of the proposal, in the files.
    async fn change_completed(&mut self, stage: &mut Stage<'_>, status: ItemStatus) -> Result<(), Stop> {
        self.turn_to(stage).await?;
        let (open, closed) = on_disk(stage)?;
        let Accepted { open_file, closed_file } = stage.facts.accepted;
        let untouched = open == project::saved_price();
        stage.facts.open_file_exact = stage.buffer.text == project::edited_price(open_file)
            && untouched
            && stage.buffer.edits == usize::from(open_file);
        stage.facts.closed_file_exact = closed == project::cart(closed_file);
        if stage.facts.accepted.nothing() {
            stage.screen.row(&[(Style::PLAIN, "   Both files are as they were.")])?;
            return Ok(());
        }
        if status != ItemStatus::Completed {
            return self.note(stage, "The change was not applied.").await;
        }
        let buffer = stage.buffer.text.clone();
        show_file(
            stage,
            OPEN,
            "in the open buffer; not saved yet",
            &buffer,
            |line| match line {
                UNSAVED => Some((Style::YELLOW, "your line, as it was")),
                line if open_file && line == project::PRICE_FIX.1.trim_end() => Some((Style::GREEN, "changed")),
                _ => None,
            },
        )?;
        show_file(stage, CLOSED, "on the disk", &closed, |line| {
            (closed_file && line == project::CART_FIX.1.trim_end()).then_some((Style::GREEN, "changed"))
        })?;
        self.due = Some("The test again");
        Ok(())
    }
}

impl Running {
    /// Shows the lines that are complete, or all that is left.
    fn show_lines(&mut self, stage: &mut Stage<'_>, all: bool) -> Result<(), Stop> {
        let left = &self.seen[self.shown..];
        let end = if all {
            left.len()
        } else {
            left.rfind('\n').map_or(0, |at| at + 1)
        };
        let gutter = format!("{:LABELLED$}│ ", "");
        for line in left[..end].lines() {
            stage.screen.output(&gutter, line)?;
        }
        self.shown += end;
        Ok(())
    }
}

/// The open and the closed file as they are on the disk.
fn on_disk(stage: &Stage<'_>) -> Result<(String, String), Stop> {
    let read = |name: &str| stage.project.on_disk(name).map_err(Stop::of_file(name));
    Ok((read(OPEN)?, read(CLOSED)?))
}

/// Whether the file outside the project is there.
fn show_outside(stage: &mut Stage<'_>) -> Result<(), Stop> {
    let there = stage.outside.is_there();
    let words = match there {
        false => format!("{} does not exist", stage.outside.path().display()),
        true => format!("{} is there now, until the end", stage.outside.path().display()),
    };
    stage.screen.label("check")?;
    stage.screen.print(Style::PLAIN, &words)?;
    stage.screen.newline()?;
    Ok(())
}

/// Shows the lines of a file of which there is something to say.
fn show_file<'t>(
    stage: &mut Stage<'_>,
    name: &str,
    place: &str,
    text: &'t str,
    say: impl Fn(&'t str) -> Option<(Style, &'static str)>,
) -> Result<(), Stop> {
    let mut lines = (1..)
        .zip(text.lines())
        .filter_map(|(number, line)| Some((number, line, say(line)?)))
        .peekable();
    if lines.peek().is_none() {
        return Ok(());
    }
    stage.screen.row(&[
        (Style::BOLD, &format!("   {name}")),
        (Style::DIM, &format!("  {place}")),
    ])?;
    for (number, line, (style, words)) in lines {
        let head = format!("{:INDENT$}{number:>3}  ", "");
        stage
            .screen
            .row_with(&[(Style::DIM, &head), (style, line)], (style, words))?;
    }
    Ok(())
}
