//! Modes: how far the agent may go in a turn, whatever the policies would allow. What a mode forbids is not offered, and where
//! it comes all the same it is refused; reading only is held by the sandbox.

use super::prompt;
use super::turn::Turn;
use crate::model::item::{ContentPart, ResponseItem};
use crate::protocol::settings::{Mode, SandboxMode, SandboxPolicy, ThreadSettings};
use crate::tools::{Registry, ToolError, ask_only, plan_too};

const OPENING: &str = "<collaboration_mode>";

/// The settings as a turn works with them.
pub(super) fn held(settings: &ThreadSettings) -> ThreadSettings {
    match settings.mode {
        Mode::Agent => settings.clone(),
        Mode::Plan | Mode::Ask => ThreadSettings {
            sandbox_policy: SandboxPolicy::from_mode(SandboxMode::ReadOnly),
            permissions: None,
            ..settings.clone()
        },
    }
}

/// The tools that are offered.
pub(super) fn offered(mode: Mode, tools: Registry) -> Registry {
    match mode {
        Mode::Agent => tools,
        Mode::Plan => tools.only(|tool| ask_only(tool) || plan_too(tool)),
        Mode::Ask => tools.only(ask_only),
    }
}

/// What the model is told of a mode that it has not been told of. It begins in that of an agent.
pub(super) fn message(mode: Mode) -> ResponseItem {
    let words = match mode {
        Mode::Agent => {
            "agent: You may work on the task again with all the tools you have, within the policies you were told of."
        }
        Mode::Plan => {
            "plan: The person wants a plan, and no change. Look at whatever you need; commands run in a sandbox that only lets \
             them read, and cannot leave it. Make no patch. End with the plan: the steps, the files that each touches, how it is \
             checked, and what is still open."
        }
        Mode::Ask => {
            "ask: The person wants an answer. You can read, list and search, and nothing else: no command, no patch. If the task \
             needs a change, describe it."
        }
    };
    prompt::message("developer", format!("{OPENING}\n{words}\n</collaboration_mode>"))
}

/// The mode that a conversation was told of last.
pub(super) fn told(history: &[ResponseItem]) -> Mode {
    let text = |item: &ResponseItem| match item {
        ResponseItem::Message { role, content, .. } if role == "developer" => match content.first() {
            Some(ContentPart::InputText { text }) => {
                text.strip_prefix(OPENING).map(|text| text.trim_start().to_owned())
            }
            _ => None,
        },
        _ => None,
    };
    match history.iter().rev().find_map(text) {
        Some(text) if text.starts_with("plan:") => Mode::Plan,
        Some(text) if text.starts_with("ask:") => Mode::Ask,
        _ => Mode::Agent,
    }
}

impl Turn {
    /// Whether the turn's mode lets something be changed, or asked for that would let it.
    ///
    /// # Errors
    /// It does not; the words are for the model.
    pub(super) fn may_change(&self) -> Result<(), ToolError> {
        let mode = match self.settings.mode {
            Mode::Agent => return Ok(()),
            Mode::Plan => "plan",
            Mode::Ask => "ask",
        };
        Err(ToolError::Answer(format!(
            "Nothing was done: in the mode {mode}, which the person chose, nothing is changed and nothing runs outside the \
             sandbox, which only lets commands read. Tell the person what you would do."
        )))
    }
}
