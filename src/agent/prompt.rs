//! The words that frame a conversation: who the agent is, where it is, what it may do, what the editor shows.
//!
//! Context goes to the model as messages of the user's role in tags of their own, so that it is never taken for
//! what the person typed.

use super::context::lines_in_words;
use crate::config::permissions::is_built_in;
use crate::model::item::{ContentPart, ResponseItem};
use crate::protocol::item::UserInput;
use crate::protocol::settings::{Personality, SandboxPolicy, ThreadSettings};
use crate::shown;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The built-in instructions.
pub const BASE_INSTRUCTIONS: &str = include_str!("prompt/base.md");

/// The instructions of a request: those in force, and the tone where the person has chosen one.
pub fn instructions(base: &str, personality: Personality) -> String {
    let tone = match personality {
        Personality::None => return base.to_owned(),
        Personality::Friendly => include_str!("prompt/friendly.md"),
        Personality::Pragmatic => include_str!("prompt/pragmatic.md"),
    };
    format!("{}\n\n{}", base.trim_end(), tone)
}

/// A message of the given role with one text.
pub fn message(role: &str, text: String) -> ResponseItem {
    ResponseItem::Message {
        id: None,
        role: role.to_owned(),
        content: vec![ContentPart::InputText { text }],
    }
}

/// The project's instruction files, as one message. Its first words are those by which other programs that read our
/// files tell it from what the person typed.
pub fn project_instructions(cwd: &Path, text: &str) -> ResponseItem {
    message(
        "user",
        format!(
            "# AGENTS.md instructions for {}\n\n<INSTRUCTIONS>\n{}\n</INSTRUCTIONS>",
            cwd.display(),
            text.trim_end()
        ),
    )
}

/// What stands in such a message.
pub fn instructions_in(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("# AGENTS.md instructions")?;
    let (_, inner) = rest.split_once("<INSTRUCTIONS>\n")?;
    inner.trim_end().strip_suffix("\n</INSTRUCTIONS>")
}

/// What the model is told of its surroundings; told again only where it has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// Name and value, in the order in which they are told.
    lines: Vec<(String, String)>,
}

pub(super) const ENVIRONMENT_START: &str = "<environment_context>\n";
const ENVIRONMENT_END: &str = "</environment_context>";

impl Environment {
    pub fn new(settings: &ThreadSettings, roots: &[PathBuf], shell: &str) -> Self {
        let policy = &settings.sandbox_policy;
        let network = if policy.network_access() {
            "enabled"
        } else {
            "restricted"
        };
        let paths = |paths: &mut dyn Iterator<Item = &PathBuf>| {
            paths
                .map(|path| path.display().to_string())
                .collect::<Vec<_>>()
                .join(", ")
        };
        let writable = match policy {
            SandboxPolicy::WorkspaceWrite { writable_roots, .. } => paths(&mut writable_roots.iter()),
            SandboxPolicy::ReadOnly { .. } | SandboxPolicy::DangerFullAccess => String::new(),
        };
        let lines = [
            ("cwd", settings.cwd.display().to_string()),
            ("approval_policy", settings.approval_policy.as_str().to_owned()),
            ("sandbox_mode", sandbox_words(policy).to_owned()),
            (PROFILE, own_profile(settings)),
            ("network_access", network.to_owned()),
            ("writable_roots", writable),
            (
                "workspace_folders",
                paths(&mut roots.iter().filter(|root| **root != settings.cwd)),
            ),
            (SHELL, shell.to_owned()),
        ];
        let told = lines.into_iter().filter(|(_, value)| !value.is_empty());
        Self {
            lines: told.map(|(name, value)| (name.to_owned(), value)).collect(),
        }
    }

    /// What a conversation that goes on was told so far; nothing if nothing.
    pub fn told(history: &[ResponseItem]) -> Option<Self> {
        let mut lines: Vec<(String, String)> = Vec::new();
        for text in history.iter().filter_map(context_text) {
            for line in text.lines() {
                let Some((name, value)) = line.trim().strip_prefix('<').and_then(|line| line.split_once('>')) else {
                    continue;
                };
                let Some(value) = value.strip_suffix(&format!("</{name}>")) else {
                    continue;
                };
                lines.retain(|(known, _)| known != name);
                if value != NONE {
                    lines.push((name.to_owned(), value.to_owned()));
                }
            }
        }
        (!lines.is_empty()).then_some(Self { lines })
    }

    /// The whole context, for the start of a conversation.
    pub fn message(&self) -> ResponseItem {
        Self::tagged(self.lines.iter())
    }

    /// Only what differs from what the model was told before; nothing if nothing does. The shell does not count.
    pub fn difference(&self, before: &Self) -> Option<ResponseItem> {
        let here = |name: &str| self.lines.iter().any(|(own, _)| own == name);
        let gone = |(name, _): &&(String, String)| !here(name) && OPTIONAL.contains(&name.as_str());
        let gone = before
            .lines
            .iter()
            .filter(gone)
            .map(|(name, _)| (name.clone(), NONE.to_owned()));
        let changed: Vec<_> = self
            .lines
            .iter()
            .filter(|line| line.0 != SHELL && !before.lines.contains(line))
            .cloned()
            .chain(gone)
            .collect();
        (!changed.is_empty()).then(|| Self::tagged(changed.iter()))
    }

    fn tagged<'a>(lines: impl Iterator<Item = &'a (String, String)>) -> ResponseItem {
        let mut text = ENVIRONMENT_START.to_owned();
        for (name, value) in lines {
            let value = match shown::hides(value) {
                true => shown::exact(value),
                false => value.clone(),
            };
            let _ = writeln!(
                text,
                "  <{name}>{}</{name}>",
                shown::envelope::inside_of(&value, &[name.as_str()])
            );
        }
        text.push_str(ENVIRONMENT_END);
        message("user", text)
    }
}

const SHELL: &str = "shell";
const PROFILE: &str = "permission_profile";
/// Lines that are there only where they say something.
const OPTIONAL: [&str; 3] = [PROFILE, "writable_roots", "workspace_folders"];
/// What takes such a line back.
const NONE: &str = "none";

/// The text of a message that tells of the surroundings.
fn context_text(item: &ResponseItem) -> Option<&str> {
    match item {
        ResponseItem::Message { role, content, .. } if role == "user" => match content.as_slice() {
            [ContentPart::InputText { text }] => text
                .trim()
                .strip_prefix(ENVIRONMENT_START)?
                .strip_suffix(ENVIRONMENT_END),
            _ => None,
        },
        _ => None,
    }
}

/// The person's own profile that is in force; nothing for a built-in one, which its mode names.
fn own_profile(settings: &ThreadSettings) -> String {
    let own = settings.permissions.clone().filter(|id| !is_built_in(id));
    own.unwrap_or_default()
}

/// A policy as files and the model name it.
pub(super) fn sandbox_words(policy: &SandboxPolicy) -> &'static str {
    match policy {
        SandboxPolicy::DangerFullAccess => "danger-full-access",
        SandboxPolicy::ReadOnly { .. } => "read-only",
        SandboxPolicy::WorkspaceWrite { .. } => "workspace-write",
    }
}

/// The person's input as a message, each piece in its order. Output of commands comes in a message of its own, so there may
/// be nothing left.
pub fn user_message(
    input: &[UserInput],
    cwd: &Path,
    image: &dyn Fn(&Path) -> Result<String, String>,
) -> Option<ResponseItem> {
    let content: Vec<ContentPart> = input
        .iter()
        .filter_map(|piece| {
            Some(match piece {
                UserInput::Text { text } => ContentPart::InputText { text: text.clone() },
                UserInput::Image { url } => ContentPart::InputImage { image_url: url.clone() },
                UserInput::LocalImage { path } => match image(path) {
                    Ok(image_url) => ContentPart::InputImage { image_url },
                    Err(why) => ContentPart::InputText {
                        text: format!("(the image {} could not be read: {why})", path.display()),
                    },
                },
                UserInput::Mention { path, line_range } => {
                    let name = path.strip_prefix(cwd).unwrap_or(path).display();
                    let lines = line_range
                        .map(|lines| format!(", {}", lines_in_words(lines)))
                        .unwrap_or_default();
                    ContentPart::InputText {
                        text: format!("(the person points at {name}{lines})"),
                    }
                }
                UserInput::CommandOutput { .. } => return None,
            })
        })
        .collect();
    (!content.is_empty()).then(|| ResponseItem::Message {
        id: None,
        role: "user".to_owned(),
        content,
    })
}

/// The person's words only, for previews and titles.
pub fn words(input: &[UserInput]) -> String {
    let texts = input.iter().filter_map(|piece| match piece {
        UserInput::Text { text } => Some(text.trim()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join(" ")
}

/// Told to the model after a turn that the person stopped.
pub fn interrupted() -> ResponseItem {
    message(
        "user",
        "<turn_aborted>\nThe person stopped this turn. Commands that were running were ended and may have done part of their \
         work; look before you rely on it.\n</turn_aborted>"
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::settings::{ApprovalPolicy, EditApproval, ReasoningSummary};

    fn settings() -> ThreadSettings {
        ThreadSettings {
            model: "m".into(),
            model_provider: "p".into(),
            effort: None,
            summary: ReasoningSummary::Auto,
            cwd: "/p".into(),
            approval_policy: ApprovalPolicy::OnRequest,
            approvals_reviewer: crate::protocol::settings::ApprovalsReviewer::User,
            edit_approval: EditApproval::Ask,
            editor_context: Default::default(),
            mode: Default::default(),
            sandbox_policy: SandboxPolicy::default(),
            permissions: None,
            runtime_workspace_roots: Vec::new(),
            service_tier: None,
            personality: Default::default(),
        }
    }

    fn text(item: ResponseItem) -> String {
        match item {
            ResponseItem::Message { content, .. } => match &content[0] {
                ContentPart::InputText { text } => text.clone(),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }

    /// Shows S-104, S-225.
    #[test]
    fn the_environment_is_told_whole_once_and_then_only_by_difference() {
        let before = Environment::new(&settings(), &[], "bash");
        assert!(text(before.message()).contains("<approval_policy>on-request</approval_policy>"));
        assert_eq!(before.difference(&Environment::new(&settings(), &[], "zsh")), None);
        let policies = [
            ApprovalPolicy::Untrusted,
            ApprovalPolicy::OnFailure,
            ApprovalPolicy::Never,
        ];
        for approval_policy in policies {
            let after = Environment::new(
                &ThreadSettings {
                    approval_policy,
                    ..settings()
                },
                &[],
                "bash",
            );
            let told = text(after.difference(&before).expect("a difference"));
            let line = format!("  <approval_policy>{}</approval_policy>", approval_policy.as_str());
            assert_eq!(told, format!("<environment_context>\n{line}\n</environment_context>"));
        }
    }
}
