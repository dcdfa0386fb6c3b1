//! How a command of the model is shown: its item as it begins and ends, and what the model is told of it.

use super::Run;
use crate::exec::{self, Finished, command};
use crate::ids::ItemId;
use crate::protocol::item::{CommandSource, Confined, ItemStatus, ThreadItem};
use crate::tools::ToolOutput;

/// Bytes of output that the model is told: head and tail, the middle cut out.
const MODEL_OUTPUT: usize = 40_000;
/// Bytes of output in the completed item.
pub(super) const SHOWN_OUTPUT: usize = 64 << 10;

impl Run<'_> {
    pub(super) fn item(&self, id: &ItemId, confined: Confined, status: ItemStatus) -> ThreadItem {
        ThreadItem::CommandExecution {
            id: id.clone(),
            command: command::display_short(&self.argv),
            cwd: self.cwd.clone(),
            actions: self.actions.clone(),
            source: CommandSource::Agent,
            confined,
            status,
            aggregated_output: None,
            full_output: None,
            exit_code: None,
            duration_ms: None,
            reason: None,
            terminal_id: None,
        }
    }

    pub(super) fn begin(&self, id: &ItemId, confined: Confined) {
        self.turn.start_item(self.item(id, confined, ItemStatus::InProgress));
    }

    /// Ends an item that did not run, with the reason.
    pub(super) fn not_run(&self, id: &ItemId, confined: Confined, ended: ItemStatus, why: &str) {
        let mut item = self.item(id, confined, ended);
        if let ThreadItem::CommandExecution { reason, .. } = &mut item {
            *reason = Some(why.to_owned());
        }
        self.turn.complete_item(item);
    }

    /// The turn was stopped first. Of a command that nobody was asked about nothing has been shown, and nothing is.
    pub(super) fn never_begun(&self, confined: Confined) -> ToolOutput {
        let words = "The person stopped the turn before this call began; the command was not run.";
        if self.turn.is_open(&self.item_id) {
            self.not_run(&self.item_id, confined, ItemStatus::Interrupted, words);
        }
        ToolOutput::not_done(words)
    }

    pub(super) fn finished_item(&self, id: &ItemId, confined: Confined, finished: &Finished) -> ThreadItem {
        let status = match finished {
            Finished { cancelled: true, .. } => ItemStatus::Interrupted,
            Finished {
                exit_code: 0,
                timed_out: false,
                ..
            } => ItemStatus::Completed,
            _ => ItemStatus::Failed,
        };
        let mut item = self.item(id, confined, status);
        if let ThreadItem::CommandExecution {
            aggregated_output,
            full_output,
            exit_code,
            duration_ms,
            reason,
            ..
        } = &mut item
        {
            full_output.clone_from(&finished.full);
            *aggregated_output = Some(finished.aggregated.cut(SHOWN_OUTPUT).to_string());
            *exit_code = Some(finished.exit_code);
            *duration_ms = Some(u64::try_from(finished.duration.as_millis()).unwrap_or(u64::MAX));
            *reason = finished
                .denied
                .as_ref()
                .map(|denial| format!("The sandbox stopped it: {}.", denial.reason));
        }
        item
    }

    /// The same for one that runs on in a terminal, with its output so far.
    pub(super) fn background_item(
        &self,
        id: &ItemId,
        confined: Confined,
        so_far: &Finished,
        terminal: u32,
    ) -> ThreadItem {
        let mut item = self.finished_item(id, confined, so_far);
        if let ThreadItem::CommandExecution {
            status,
            exit_code,
            duration_ms,
            terminal_id,
            ..
        } = &mut item
        {
            *status = ItemStatus::Background;
            *exit_code = None;
            *duration_ms = None;
            *terminal_id = Some(terminal);
        }
        item
    }

    /// Closes the item of something that was only asked about, if it was.
    pub(in crate::agent) fn asked_and_done(&self, confined: Confined, status: ItemStatus) {
        if self.turn.is_open(&self.item_id) {
            self.turn.complete_item(self.item(&self.item_id, confined, status));
        }
    }

    /// What the model has to know to understand the output.
    pub(super) fn notes(&self, confined: Confined) -> Vec<String> {
        let sees_few = confined != Confined::Outside && command::lists_processes(&self.argv);
        let few = sees_few.then(|| {
            "the sandbox hides processes: it sees its own and may see no others, so what is missing here may run all the same".to_owned()
        });
        self.unsaved().into_iter().chain(few).collect()
    }

    /// What differs between the disk, which the command saw, and the editor.
    fn unsaved(&self) -> Option<String> {
        let unsaved = self.turn.services.unsaved(&self.turn.conversation.id);
        let names: Vec<_> = unsaved.iter().map(|path| self.turn.short_name(path)).collect();
        (!names.is_empty()).then(|| {
            format!(
                "the command saw the disk; unsaved in the editor, so different from what you and the person see: {}",
                names.join(", ")
            )
        })
    }

    /// What the model is told: JSON with the output, the exit code and the time.
    pub(super) fn output(&self, finished: &Finished, confined: Confined) -> ToolOutput {
        let mut text = String::new();
        if finished.timed_out {
            text.push_str(&format!(
                "command timed out after {} milliseconds\n",
                self.timeout.as_millis()
            ));
        }
        if finished.cancelled {
            text.push_str("the person stopped the command\n");
        }
        if let Some(denial) = &finished.denied {
            text.push_str(&format!("note: the sandbox stopped it: {}\n", denial.reason));
            if let Some(advice) = command::advice_on_making(&self.argv) {
                text.push_str(&format!("note: {advice}\n"));
            }
        }
        for note in self.notes(confined) {
            text.push_str(&format!("note: {note}\n"));
        }
        let plain = finished.aggregated.map(|text| exec::plain(text).into_owned());
        text.push_str(&plain.cut(MODEL_OUTPUT).to_string());
        let seconds = (finished.duration.as_secs_f64() * 10.0).round() / 10.0;
        let json = serde_json::json!({
            "output": text,
            "metadata": {"exit_code": finished.exit_code, "duration_seconds": seconds},
        });
        ToolOutput::new(json.to_string(), finished.exit_code == 0 && !finished.timed_out)
    }
}
