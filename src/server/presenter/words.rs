//! Items in words, for progress and the log.

use crate::agent::terminals::Entry;
use crate::chat::story;
use crate::chat::text::in_code;
use crate::mcp::untrusted::quoted;
use crate::protocol::agent::{AgentState, AgentStatus, CollabTool};
use crate::protocol::approval::{AlwaysRule, ApprovalDecision, CommandApproval, PermissionApproval, ToolApproval};
use crate::protocol::document::{ChangedKind, FilesChanged};
use crate::protocol::item::{CommandAction, CommandSource, Confined, FileChangeKind, ItemStatus, ThreadItem};
use crate::protocol::proposal::{HunkStatus, Proposal, ProposalFile, ProposalStatus};
use crate::protocol::terminal::Terminal;
use crate::shown::{self, alike};
use std::path::Path;
use std::sync::Arc;

/// What an item that begins is doing; nothing for items that are not worth a line.
pub(super) fn doing(item: &ThreadItem) -> Option<String> {
    Some(match item {
        ThreadItem::Reasoning { .. } => "Thinking".to_owned(),
        ThreadItem::AgentMessage { .. } => "Writing".to_owned(),
        ThreadItem::CommandExecution {
            command,
            actions,
            confined,
            source,
            ..
        } => {
            let outside = if *confined == Confined::Outside && *source == CommandSource::Agent {
                " outside the sandbox"
            } else {
                ""
            };
            format!(
                "{}{outside}",
                in_short(actions).unwrap_or_else(|| format!("Running {}", cut(command, 80).replace('\n', " ")))
            )
        }
        ThreadItem::FileChange { changes, .. } => {
            let names: Vec<_> = changes.iter().map(|change| name(&change.path)).collect();
            format!("Proposing changes to {}", names.join(", "))
        }
        ThreadItem::ToolCall { title, .. } => title.clone(),
        ThreadItem::McpToolCall { title, .. } => format!("Calling {}", cut(title, 80)),
        ThreadItem::CollabAgentToolCall { tool, .. } => match tool {
            CollabTool::SpawnAgent => "Starting an agent".to_owned(),
            CollabTool::SendMessage => "Writing to an agent".to_owned(),
            CollabTool::Wait => "Waiting for agents".to_owned(),
            CollabTool::ListAgents => "Looking at the agents".to_owned(),
            CollabTool::CloseAgent => "Closing an agent".to_owned(),
        },
        ThreadItem::AgentMail { author, .. } => format!("Reading what {author} says"),
        ThreadItem::Undo { .. } => "Undoing changes".to_owned(),
        ThreadItem::ContextCompaction { .. } => "Compacting the conversation".to_owned(),
        ThreadItem::EnteredReviewMode { review, .. } => format!("Reviewing {}", cut(review, 80)),
        ThreadItem::Plan { .. }
        | ThreadItem::UserMessage { .. }
        | ThreadItem::CommandChanges { .. }
        | ThreadItem::ExitedReviewMode { .. } => return None,
    })
}

/// A command in the words of what it does, where all of it is known.
fn in_short(actions: &[CommandAction]) -> Option<String> {
    let words: Option<Vec<_>> = actions
        .iter()
        .map(|action| match action {
            CommandAction::Read { name, .. } => Some(format!("Reading {name}")),
            CommandAction::ListFiles { path, .. } => Some(format!("Listing {}", path.as_deref().unwrap_or("files"))),
            CommandAction::Search { query, .. } => {
                Some(format!("Searching for {}", query.as_deref().unwrap_or("text")))
            }
            CommandAction::Build { .. } | CommandAction::Test { .. } | CommandAction::Unknown { .. } => None,
        })
        .collect();
    words.filter(|words| !words.is_empty()).map(|words| words.join(", "))
}

/// What an item came to, for the log.
pub(super) fn done(item: &ThreadItem) -> Option<String> {
    Some(match item {
        ThreadItem::UserMessage { .. } | ThreadItem::Reasoning { .. } => return None,
        ThreadItem::AgentMessage { text, .. } => format!("agent: {}", indented(text)),
        ThreadItem::Plan { steps, .. } => {
            let steps: Vec<_> = steps
                .iter()
                .map(|step| format!("{:?} {}", step.status, shown::line(&step.step)))
                .collect();
            format!("plan: {}", steps.join("; "))
        }
        ThreadItem::CommandExecution {
            command,
            status,
            exit_code,
            aggregated_output,
            reason,
            ..
        } => {
            let code = exit_code.map(|code| format!(", exit code {code}")).unwrap_or_default();
            let reason = below(reason.as_deref().unwrap_or_default());
            let output = below(aggregated_output.as_deref().unwrap_or_default());
            format!(
                "$ {}\n({}{code}){reason}{output}",
                indented(command),
                status_word(*status)
            )
        }
        ThreadItem::FileChange {
            changes,
            applied,
            status,
            outcome,
            ..
        } => {
            let made = applied.as_ref().unwrap_or(changes);
            let diffs: String = made.iter().map(|change| change.diff.as_str()).collect();
            let outcome = outcome.as_deref().unwrap_or_default();
            format!(
                "file change ({}): {}{}",
                status_word(*status),
                indented(outcome),
                below(&diffs)
            )
        }
        ThreadItem::CommandChanges { changes, more, .. } => {
            let diffs = changes.iter().filter_map(|change| change.diff.as_deref());
            let listed = u32::try_from(changes.len()).unwrap_or(u32::MAX);
            format!(
                "changed by a command: {}{}",
                files(listed.saturating_add(*more)),
                below(&diffs.collect::<String>())
            )
        }
        ThreadItem::ToolCall { title, status, .. } => format!("{} ({})", shown::line(title), status_word(*status)),
        ThreadItem::McpToolCall {
            title, status, error, ..
        } => {
            let error = error
                .as_deref()
                .map(|error| format!(": {}", indented(&cut(error, 2000))))
                .unwrap_or_default();
            format!("call of {} ({}){error}", shown::line(title), status_word(*status))
        }
        ThreadItem::CollabAgentToolCall {
            tool,
            status,
            agents_states,
            prompt,
            ..
        } => {
            let names: Vec<_> = agents_states.values().map(|state| shown::line(&state.name)).collect();
            let what = match tool {
                CollabTool::SpawnAgent => "agent started",
                CollabTool::SendMessage => "message to",
                CollabTool::Wait => "waited for",
                CollabTool::ListAgents => "agents",
                CollabTool::CloseAgent => "agent closed",
            };
            let prompt = below(prompt.as_deref().unwrap_or_default());
            format!("{what} {} ({}){prompt}", names.join(", "), status_word(*status))
        }
        ThreadItem::AgentMail { author, text, .. } => {
            format!(
                "the agent {}: {}",
                shown::line(author),
                indented(&cut(text, MOST_LOGGED))
            )
        }
        ThreadItem::EnteredReviewMode { review, .. } => format!("review of {} begins", indented(review)),
        ThreadItem::ExitedReviewMode { output: None, .. } => "review ended without a result".to_owned(),
        // The message that follows says it all.
        ThreadItem::ExitedReviewMode { .. } => return None,
        ThreadItem::Undo { status, message, .. } => {
            let message = message.as_deref().unwrap_or_default();
            format!("undo ({}): {}", status_word(*status), indented(message))
        }
        ThreadItem::ContextCompaction {
            status,
            tokens_before,
            tokens_after,
            message,
            ..
        } => {
            let tokens = match (tokens_before, tokens_after) {
                (Some(before), Some(after)) => format!(" from about {before} to about {after} tokens"),
                _ => String::new(),
            };
            let why = message
                .as_deref()
                .map(|why| format!(": {}", indented(why)))
                .unwrap_or_default();
            format!("compacting the conversation ({}){tokens}{why}", status_word(*status))
        }
    })
}

/// Text of others: each further line of it is indented, so that none passes for one of ours.
pub(super) fn indented(text: &str) -> String {
    shown::prose(text).trim_end().replace('\n', "\n  ")
}

/// The same below a line of ours; nothing where there is none.
fn below(text: &str) -> String {
    match indented(&cut(text, MOST_LOGGED)) {
        text if text.is_empty() => text,
        text => format!("\n  {text}"),
    }
}

/// Characters of a text in the log.
const MOST_LOGGED: usize = 8000;

fn files(count: u32) -> String {
    match count {
        1 => "1 file".to_owned(),
        count => format!("{count} files"),
    }
}

/// Where a sub-agent stands, for the log.
pub(super) fn agent(state: &AgentState) -> String {
    let status = match state.status {
        AgentStatus::PendingInit => "is started",
        AgentStatus::Running => "works",
        AgentStatus::Interrupted => "was stopped",
        AgentStatus::Completed => "is done",
        AgentStatus::Errored => "has failed",
        AgentStatus::Shutdown => "is closed",
    };
    format!("The agent {} {status}.", shown::line(&state.name))
}

/// What the person's own command came to, for those who see it nowhere else.
pub(super) fn own_command(item: &ThreadItem) -> Option<String> {
    let is_own = matches!(
        item,
        ThreadItem::CommandExecution {
            source: CommandSource::User,
            ..
        }
    );
    is_own.then(|| done(item)).flatten().map(|text| cut(&text, 1500))
}

/// What the person must be told of an item besides the log: a change that they accepted was not made.
pub(super) fn trouble(item: &ThreadItem) -> Option<String> {
    match item {
        // The others nobody was asked about, and the agent tries again.
        ThreadItem::FileChange {
            proposal_id: Some(_),
            status: ItemStatus::Failed,
            changes,
            outcome,
            ..
        } => {
            let names: Vec<_> = changes.iter().map(|change| name(&change.path)).collect();
            let why = outcome.as_deref().unwrap_or_default();
            let names = cut(&names.join(", "), 200);
            Some(format!(
                "The agent's change of {names} was not made. {}",
                cut(why, 1000)
            ))
        }
        _ => None,
    }
}

/// Accepted changes that did not fit any more, while others of the same proposal did.
pub(super) fn left_out(proposal: &Proposal) -> Option<String> {
    let conflicts = |file: &&ProposalFile| file.hunks.iter().any(|hunk| hunk.status == HunkStatus::Conflicting);
    let names: Vec<_> = proposal
        .files
        .iter()
        .filter(conflicts)
        .map(|file| name(&file.path))
        .collect();
    (proposal.status == ProposalStatus::Applied && !names.is_empty()).then(|| {
        format!(
            "Some of the agent's changes were left out, since the text that they replace has changed: {}.",
            names.join(", ")
        )
    })
}

fn status_word(status: ItemStatus) -> &'static str {
    match status {
        ItemStatus::InProgress => "in progress",
        ItemStatus::Completed => "done",
        ItemStatus::Failed => "failed",
        ItemStatus::Declined => "declined",
        ItemStatus::Interrupted => "stopped",
        ItemStatus::Background => "runs on",
    }
}

/// A command that runs on, for the log.
pub(super) fn terminal(terminal: &Terminal) -> String {
    format!(
        "The agent's command runs on in terminal {}: {}\nIt ends with its conversation, or by the command Stop background \
         terminals.",
        terminal.terminal_id,
        indented(&cut(&terminal.command, 1000))
    )
}

/// What runs on when a turn is over.
pub(super) fn run_on(running: &[Arc<Entry>]) -> Option<String> {
    let commands: Vec<_> = running
        .iter()
        .map(|entry| cut(&shown::line(&entry.command), 80))
        .collect();
    (!commands.is_empty()).then(|| format!("Still running in the background: {}", commands.join("; ")))
}

/// A proposal in one line: how much of it there is, then each file with the lines that come and go.
pub(super) fn proposal(proposal: &Proposal, cwd: &Path) -> String {
    let (mut plus, mut minus) = (0, 0);
    let mut parts = Vec::with_capacity(proposal.files.len());
    for file in &proposal.files {
        let changes = || file.hunks.iter().filter(|hunk| hunk.old_text != hunk.new_text);
        let file_plus: usize = changes().map(|hunk| hunk.new_text.lines().count()).sum();
        let file_minus: usize = changes().map(|hunk| hunk.old_text.lines().count()).sum();
        plus += file_plus;
        minus += file_minus;
        let name = relative(&file.path, cwd);
        parts.push(match &file.kind {
            FileChangeKind::Add => format!("new {name} (+{file_plus})"),
            FileChangeKind::Delete => format!("delete {name} (−{file_minus})"),
            FileChangeKind::Update { move_path: Some(to) } => {
                format!("move {name} to {} (+{file_plus} −{file_minus})", relative(to, cwd))
            }
            FileChangeKind::Update { move_path: None } => format!("{name} (+{file_plus} −{file_minus})"),
        });
    }
    match parts.len() {
        1 => parts.concat(),
        count => format!("{count} files, +{plus} −{minus}: {}", parts.join(", ")),
    }
}

/// What the person should know of the names that files get.
pub(super) fn look_alikes<'a>(files: impl IntoIterator<Item = &'a ProposalFile>, cwd: &Path) -> Vec<String> {
    let names = files.into_iter().filter_map(ProposalFile::new_name);
    alike::of_paths(names.map(|name| inside(name, cwd)))
}

/// A path as the person knows it: from the folder that they work in, where it lies in it.
pub(super) fn relative(path: &Path, cwd: &Path) -> String {
    shown::path(inside(path, cwd))
}

fn inside<'a>(path: &'a Path, cwd: &Path) -> &'a Path {
    let inside = path.strip_prefix(cwd).ok();
    inside.filter(|inside| !inside.as_os_str().is_empty()).unwrap_or(path)
}

/// A file's name without its folder.
pub(super) fn name(path: &Path) -> String {
    shown::exact(&path.file_name().unwrap_or(path.as_os_str()).to_string_lossy())
}

/// A text of at most `most` characters.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{} […]", &text[..at]),
        None => text.to_owned(),
    }
}

/// The question about a command: what it does, where, how confined, why it asks.
pub(super) fn command_question(approval: &CommandApproval) -> String {
    let place = match approval.confined {
        Confined::ReadOnly => "in the sandbox, reading only",
        Confined::Workspace => "in the sandbox",
        Confined::Outside => "OUTSIDE the sandbox",
    };
    let what = in_words(approval);
    let why = said(approval.justification.as_deref());
    let session = match approval
        .available_decisions
        .contains(&ApprovalDecision::AcceptForSession)
    {
        true => for_session(&approval.session_scope),
        false => String::new(),
    };
    let always = approval.always_rule.as_ref().map(always).unwrap_or_default();
    format!(
        "Countersign wants to run, {place}{what}:\n  {}\nin {}\n{}{why}{session}{always}",
        approval.display,
        shown::path(&approval.cwd),
        shown::line(&approval.reason)
    )
}

/// What a button for the session covers, where it has no room for that.
fn for_session(scope: &str) -> String {
    match scope.chars().count() > ON_BUTTON {
        true => format!("\nFor this session would cover {}", shown::line(scope)),
        false => String::new(),
    }
}

fn always(rule: &AlwaysRule) -> String {
    let title = match rule.title.chars().count() > ON_BUTTON {
        true => format!(" {},", in_code(&shown::exact(&rule.title))),
        false => String::new(),
    };
    format!(
        "\nAlways would cover{title} {} (written to {})",
        shown::line(&rule.text),
        shown::path(&rule.file)
    )
}

/// Characters of a button.
pub(super) const ON_BUTTON: usize = 60;

/// The question about a call of a server's tool.
///
/// Not `for_longer`: what a yes for once needs to show, where what one for longer is tied to has no room.
pub(super) fn tool_question(approval: &ToolApproval, for_longer: bool) -> String {
    let longer = match for_longer {
        true => {
            let definition = match approval.definition.is_empty() {
                true => String::new(),
                false => format!("\n{}\n{}", story::TIED_TO, quoted(&shown::text(&approval.definition))),
            };
            for_session(&approval.session_scope) + &always(&approval.always_rule) + &definition
        }
        false => format!("\n{}", story::ONCE_ONLY),
    };
    format!(
        "Countersign wants to call {} of the MCP server {}:\n  {}\n{}{longer}",
        shown::exact(&approval.tool),
        shown::exact(&approval.server),
        shown::exact(&shown::value(&approval.arguments).to_string()),
        shown::prose(&approval.reason),
    )
}

/// The question about folders: which, for what, and what a yes covers.
pub(super) fn permission_question(permission: &PermissionApproval) -> String {
    let (what, lines): (_, Vec<_>) = match permission.permissions.is_empty() {
        false => {
            let asked = permission.permissions.iter().map(|one| shown::exact(&one.to_string()));
            ("for more than the sandbox allows", asked.collect())
        }
        true => {
            let folders = permission.folders.iter().map(|folder| shown::path(folder));
            ("for a folder outside the workspace", folders.collect())
        }
    };
    format!(
        "Countersign asks {what}:\n  {}\n{}{}",
        lines.join("\n  "),
        shown::line(&permission.reason),
        said(permission.justification.as_deref())
    )
}

/// What the agent says of it. On one line: it begins none that could be one of ours.
fn said(words: Option<&str>) -> String {
    words
        .map(|words| format!("\nThe agent says: {}", shown::line(words)))
        .unwrap_or_default()
}

/// What each part of a command does, in brackets; nothing if nothing can be told.
fn in_words(approval: &CommandApproval) -> String {
    if let Some(words) = in_short(&approval.actions) {
        return format!(" ({words})");
    }
    let judgement = crate::exec::command::judge(&approval.command, &approval.cwd);
    let mut words: Vec<String> = judgement.parts.into_iter().map(|part| part.words).collect();
    if crate::exec::command::writes_by_redirection(&approval.command) {
        words.insert(0, "writes a file".to_owned());
    }
    words.dedup();
    let more = words.len().saturating_sub(MOST_PARTS);
    words.truncate(MOST_PARTS);
    if more > 0 {
        words.push(format!("and {more} more"));
    }
    if words.is_empty() {
        return String::new();
    }
    format!(" ({})", cut(&words.join("; "), 300))
}

/// So many parts of a command are put into words in a question.
const MOST_PARTS: usize = 5;

/// Files that were written on the disk, in one line.
pub(super) fn written(changed: &FilesChanged) -> String {
    let names: Vec<_> = changed
        .paths
        .iter()
        .map(|changed| {
            let word = match changed.kind {
                ChangedKind::Created => "made",
                ChangedKind::Changed => "changed",
                ChangedKind::Deleted => "deleted",
            };
            format!("{} ({word})", shown::path(&changed.path))
        })
        .collect();
    cut(&format!("Written on the disk: {}", names.join(", ")), 2000)
}
