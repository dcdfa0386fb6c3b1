//! The person's own commands, `!command` in the place of a message: run with the person's rights in their own shell, beside
//! what the agent does or as a turn of their own, and shown as items.
//!
//! The model hears nothing of them. What it is to know of one the person sends along with a message, by the item's id.

use super::AgentError;
use super::pending::Beside;
use super::turn::Turn;
use super::{outputs, prompt};
use crate::exec::{self, CommandRequest, Excerpt, ExecError, Finished, Input};
use crate::ids::ItemId;
use crate::model::item::ResponseItem;
use crate::protocol::item::{CommandAction, CommandSource, Confined, ItemStatus, ThreadItem, UserInput};
use crate::protocol::settings::SandboxMode;
use crate::shown::envelope;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// Longest run where the person names none.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60 * 60);
/// Longest run that can be named.
const MOST_TIMEOUT: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Bytes of output that are shown while it comes.
const LIVE_OUTPUT: usize = 256 << 10;
/// Bytes of output in the completed item.
const SHOWN_OUTPUT: usize = 64 << 10;

/// A command as the person typed it.
#[derive(Debug)]
pub struct OwnCommand {
    pub item_id: ItemId,
    script: String,
    timeout: Duration,
}

/// One that was taken and waits for its turn.
pub(super) struct Queued {
    pub command: OwnCommand,
    /// It begins when this is released: once the person has the answer. Absent: with its turn.
    pub released: Option<oneshot::Receiver<()>>,
}

/// The command in an input that begins with an exclamation mark. A blank before it makes it a message again.
pub fn in_input(content: &[UserInput]) -> Option<&str> {
    match content {
        [UserInput::Text { text }] => text.strip_prefix('!'),
        _ => None,
    }
}

impl OwnCommand {
    pub fn new(text: &str, timeout: Option<Duration>) -> Result<Self, AgentError> {
        let script = text.trim();
        if script.is_empty() {
            return Err(AgentError::EmptyCommand);
        }
        if script.contains('\0') {
            return Err(AgentError::BadCommand(
                "A command cannot hold a NUL character; leave it out.".to_owned(),
            ));
        }
        Ok(Self {
            item_id: ItemId::fresh(),
            script: script.to_owned(),
            timeout: timeout.unwrap_or(DEFAULT_TIMEOUT).min(MOST_TIMEOUT),
        })
    }

    /// The command's item, as the answer to whoever runs it may show it.
    pub(super) fn item(&self, turn: &Turn, status: ItemStatus) -> ThreadItem {
        let words = ["bash", "-lc", &self.script].map(str::to_owned);
        let actions = exec::command::actions(&words, &turn.settings.cwd);
        ThreadItem::CommandExecution {
            id: self.item_id.clone(),
            command: self.script.clone(),
            cwd: turn.settings.cwd.clone(),
            actions: if actions.is_empty() { self.as_one() } else { actions },
            source: CommandSource::User,
            confined: confined(turn),
            status,
            aggregated_output: None,
            full_output: None,
            exit_code: None,
            duration_ms: None,
            reason: None,
            terminal_id: None,
        }
    }

    fn as_one(&self) -> Vec<CommandAction> {
        let command = self.script.clone();
        vec![CommandAction::Unknown { command }]
    }
}

/// The person's rights, unless they want the thread's sandbox around their own commands too.
fn confined(turn: &Turn) -> Confined {
    if !turn.config.user_commands_sandboxed {
        return Confined::Outside;
    }
    match turn.settings.sandbox_policy.mode() {
        SandboxMode::ReadOnly => Confined::ReadOnly,
        SandboxMode::WorkspaceWrite => Confined::Workspace,
        SandboxMode::DangerFullAccess => Confined::Outside,
    }
}

/// Starts a command in a turn, which stays open for it. Given back if the turn takes no more.
pub(super) fn start(turn: &Arc<Turn>, queued: Queued) -> Result<(), Queued> {
    let Some(beside) = Beside::of(turn) else {
        return Err(queued);
    };
    tokio::spawn(async move {
        let Queued { command, released } = queued;
        if let Some(released) = released {
            let _released = released.await;
        }
        run(beside.turn(), &command).await;
    });
    Ok(())
}

async fn run(turn: &Arc<Turn>, command: &OwnCommand) {
    // It may be quicker than the turn that it came to.
    tokio::select! {
        biased;
        () = turn.own_commands.cancelled() => return,
        () = turn.opened.cancelled() => {}
    }
    turn.start_item(command.item(turn, ItemStatus::InProgress));
    let confinement = turn.confinement_aside(confined(turn)).await;
    let request = CommandRequest {
        argv: exec::shell::login(&turn.services.env, &command.script),
        argv0: None,
        cwd: turn.settings.cwd.clone(),
        env: turn.command_environment(&confinement),
        confinement,
        timeout: Some(command.timeout),
        input: Input::Nothing,
        wrote: exec::Wrote::default(),
        full: outputs::of(turn, &command.item_id, SHOWN_OUTPUT),
    };
    let doing = turn.services.persons.begin(turn).await;
    let mut live = Live::default();
    let show = |_stream, text: &str| {
        if let Some(text) = live.take(text) {
            turn.output_delta(&command.item_id, &text);
        }
    };
    let result = exec::run(request, show, turn.own_commands.clone()).await;
    doing.end(turn).await;
    turn.complete_item(done(command, command.item(turn, ItemStatus::Completed), result));
}

/// What is shown of the output while it comes.
#[derive(Default)]
struct Live {
    shown: usize,
}

impl Live {
    fn take(&mut self, text: &str) -> Option<String> {
        if self.shown >= LIVE_OUTPUT {
            return None;
        }
        let fits = text.floor_char_boundary(LIVE_OUTPUT - self.shown);
        let rest = fits < text.len();
        // Nothing more is shown once something was left out, whether or not a byte more would fit.
        self.shown = if rest { LIVE_OUTPUT } else { self.shown + fits };
        match rest {
            false => Some(text.to_owned()),
            true => Some(format!(
                "{}\n[… more output than is shown while it runs; its end comes with the end of the command …]\n",
                &text[..fits]
            )),
        }
    }
}

/// The item of a command that has ended, or did not run.
fn done(command: &OwnCommand, mut item: ThreadItem, result: Result<Finished, ExecError>) -> ThreadItem {
    let ThreadItem::CommandExecution {
        status,
        aggregated_output,
        full_output,
        exit_code,
        duration_ms,
        reason,
        ..
    } = &mut item
    else {
        return item;
    };
    match result {
        Ok(finished) => {
            *status = match &finished {
                Finished { cancelled: true, .. } => ItemStatus::Interrupted,
                Finished {
                    exit_code: 0,
                    timed_out: false,
                    ..
                } => ItemStatus::Completed,
                _ => ItemStatus::Failed,
            };
            full_output.clone_from(&finished.full);
            *aggregated_output = Some(finished.aggregated.cut(SHOWN_OUTPUT).to_string());
            *exit_code = Some(finished.exit_code);
            *duration_ms = Some(u64::try_from(finished.duration.as_millis()).unwrap_or(u64::MAX));
            *reason = match &finished.denied {
                Some(denial) => Some(format!("The sandbox stopped it: {}.", denial.reason)),
                None => finished.timed_out.then(|| {
                    let seconds = command.timeout.as_secs_f64();
                    format!("It was ended after {seconds} seconds, which is as long as it may take.")
                }),
            };
        }
        Err(error) => {
            *status = ItemStatus::Failed;
            *reason = Some(error.to_string());
        }
    }
    item
}

impl Turn {
    /// A command of this turn or an earlier one.
    fn find_command(&self, id: &ItemId) -> Option<ThreadItem> {
        let is_command = |item: &&ThreadItem| item.id() == id && matches!(item, ThreadItem::CommandExecution { .. });
        let own = self.item(id);
        own.filter(|item| is_command(&item)).or_else(|| {
            let data = self.conversation.data();
            let mut items = data.turns.iter().flat_map(|turn| &turn.items);
            items.find(is_command).cloned()
        })
    }
}

/// What the model gets of the commands that the person sends along.
pub(super) fn sent_along(turn: &Turn, content: &[UserInput]) -> Vec<ResponseItem> {
    let ids = content.iter().filter_map(|piece| match piece {
        UserInput::CommandOutput { item_id } => Some(item_id),
        _ => None,
    });
    let items = ids.filter_map(|id| turn.find_command(id));
    items.filter_map(|item| told(&item)).collect()
}

fn told(item: &ThreadItem) -> Option<ResponseItem> {
    let ThreadItem::CommandExecution {
        command,
        cwd,
        source,
        aggregated_output,
        exit_code,
        reason,
        ..
    } = item
    else {
        return None;
    };
    let who = match source {
        CommandSource::User => "The person ran this command themselves and sends you what it said.",
        CommandSource::Agent => "The person points at this command that you ran, and sends you again what it said.",
    };
    let code = exit_code.map_or_else(|| "none".to_owned(), |code| code.to_string());
    let inside = |text: &str| envelope::inside_of(text, &["command", "cwd", "exitcode", "note", "output"]);
    let note = reason
        .as_deref()
        .map(|reason| format!("\n<note>{}</note>", inside(reason)));
    // As the person sees it. Of a conversation that another program wrote it may be longer.
    let output = aggregated_output.clone().unwrap_or_default();
    let output = Excerpt::from(output).cut(2 * SHOWN_OUTPUT).to_string();
    Some(prompt::message(
        "user",
        format!(
            "<user_command>\n{who}\n<command>{}</command>\n<cwd>{}</cwd>\n<exit_code>{code}</exit_code>{}\n<output>\n\
             {}\n</output>\n</user_command>",
            inside(command),
            inside(&cwd.display().to_string()),
            note.unwrap_or_default(),
            inside(output.trim_end_matches('\n'))
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_command_by_table() {
        let text = |text: &str| UserInput::Text { text: text.to_owned() };
        let image = UserInput::Image {
            url: "data:x".to_owned(),
        };
        for (content, expected) in [
            (vec![text("!ls")], Some("ls")),
            (vec![text("! ls -l\n")], Some(" ls -l\n")),
            (vec![text("!")], Some("")),
            (vec![text(" !ls")], None),
            (vec![text("ls!")], None),
            (vec![text("!ls"), text("x")], None),
            (vec![text("!ls"), image], None),
            (vec![], None),
        ] {
            assert_eq!(in_input(&content), expected, "{content:?}");
        }
        for bad in ["", "  \n", "a\0b"] {
            assert!(OwnCommand::new(bad, None).is_err(), "{bad:?}");
        }
        let long = OwnCommand::new(" ls ", Some(Duration::MAX)).expect("a command");
        assert_eq!((long.script.as_str(), long.timeout), ("ls", MOST_TIMEOUT));
    }

    #[test]
    fn live_output_is_bounded_and_says_so_once() {
        let mut live = Live::default();
        let mut shown = String::new();
        for _ in 0..1000 {
            shown.extend(live.take(&"ä".repeat(1001)));
        }
        assert!(shown.len() < LIVE_OUTPUT + 200, "{}", shown.len());
        assert_eq!(shown.matches("more output").count(), 1);
        let mut live = Live::default();
        assert_eq!(live.take("all of it").as_deref(), Some("all of it"));
    }
}
