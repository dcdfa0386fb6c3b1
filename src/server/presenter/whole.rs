//! Whether a question is wholly shown where it is asked, and the page that shows one which no message has room for. What is not
//! wholly shown cannot be allowed there.

use super::words;
use crate::chat::story;
use crate::ids::ApprovalId;
use crate::private;
use crate::protocol::approval::Approval;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use unicode_width::UnicodeWidthChar as _;

/// Characters that a message has room for, in any editor.
const MOST: usize = 1200;
/// Columns of a line, before an editor breaks it.
const WIDTH: usize = 80;
/// Columns of a tab, at the most.
const TAB: usize = 8;
/// What is shown of a text that has no room.
const BEGINNING: usize = 500;
/// Pages that are kept in the home folder.
const KEPT: usize = 40;

/// Whether a message of so many lines shows all of a text.
pub(in crate::server) fn fits(text: &str, lines: usize) -> bool {
    let width = |char: char| match char {
        '\t' => TAB,
        // What has no width of its own may be shown by a sign that has.
        _ => char.width().unwrap_or(1).max(1),
    };
    let height = |line: &str| line.chars().map(width).sum::<usize>().div_ceil(WIDTH).max(1);
    text.chars().count() <= MOST && text.lines().map(height).sum::<usize>() <= lines
}

/// The beginning of a text for a message of so many lines, and how much more there is.
pub(super) fn beginning(text: &str, lines: usize) -> String {
    let first: String = text.split_inclusive('\n').take(lines / 2).collect();
    let shown: String = first.chars().take(BEGINNING.min(lines / 2 * WIDTH)).collect();
    let more = text.chars().count() - shown.chars().count();
    format!(
        "{}\n… {more} more characters, so nothing can be allowed in this message.",
        shown.trim_end()
    )
}

/// Where the page of a question lies.
pub fn page_path(home: &Path, id: &ApprovalId) -> PathBuf {
    home.join("questions").join(format!("{id}.md"))
}

/// The whole of a question.
pub fn page(approval: &Approval) -> String {
    format!(
        "# The agent asks\n\nAnswer by a code action or lens of this page. The page is only to be read: where it is changed, \
         nothing can be allowed on it.\n\n{}",
        story::question(approval)
    )
}

/// Whether a document shows all of a question: it is its page as it was written, or a chat that has it to the letter.
pub fn shows(home: &Path, path: &Path, text: &str, approval: &Approval) -> bool {
    let text = text.replace("\r\n", "\n");
    match path == page_path(home, approval.id()) {
        true => text == page(approval),
        false => crate::server::chats::is_chat(path) && text.contains(story::question(approval).trim_end()),
    }
}

/// Writes the page, for its owner only and not to be changed. Of the older ones some are removed, but not those of questions
/// that are `open`.
///
/// # Errors
///
/// What the system says where the home folder cannot be written.
pub(super) fn write_page(home: &Path, approval: &Approval, open: &[ApprovalId]) -> io::Result<PathBuf> {
    let path = page_path(home, approval.id());
    let folder = home.join("questions");
    private::make_folder(&folder)?;
    if path.exists() {
        return Ok(path);
    }
    let mut old: Vec<_> = std::fs::read_dir(&folder)?
        .flatten()
        .map(|entry| entry.path())
        .filter(|page| !open.iter().any(|id| page_path(home, id) == *page))
        .collect();
    // Their names rise with time.
    old.sort();
    for file in old.iter().take((old.len() + 1).saturating_sub(KEPT)) {
        // It may be gone already, and one too many does no harm.
        let _gone = remove(file);
    }
    let mut file = private::create_new(&path)?;
    let written = file.write_all(page(approval).as_bytes()).and_then(|()| {
        let mut rights = file.metadata()?.permissions();
        rights.set_readonly(true);
        file.set_permissions(rights)
    });
    if let Err(error) = written {
        // Half a page would be taken for the question the next time; what went wrong first is what counts.
        let _left = std::fs::remove_file(&path);
        return Err(error);
    }
    Ok(path)
}

/// Removes a page, which Windows lets nobody do who may not write it.
fn remove(page: &Path) -> io::Result<()> {
    #[cfg(windows)]
    {
        let mut rights = page.metadata()?.permissions();
        rights.set_readonly(false);
        std::fs::set_permissions(page, rights)?;
    }
    std::fs::remove_file(page)
}

/// The question of a message, all of it.
pub(super) fn question(approval: &Approval) -> String {
    asked(approval, true)
}

/// The same for a yes for once alone, where one for longer is tied to more.
pub(super) fn question_once(approval: &Approval) -> Option<String> {
    approval.definition().map(|_| asked(approval, false))
}

fn asked(approval: &Approval, for_longer: bool) -> String {
    let asked = match approval {
        Approval::Command(command) => words::command_question(command),
        Approval::Permission(permission) => words::permission_question(permission),
        Approval::Tool(tool) => words::tool_question(tool, for_longer),
    };
    let asked = match approval.agent() {
        Some(name) => format!("The agent {} asks. {asked}", crate::shown::line(name)),
        None => asked,
    };
    let notes: String = approval.notes().iter().map(|note| format!("\nNote: {note}")).collect();
    asked + &notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::approval::{AlwaysRule, ToolApproval};

    #[test]
    fn what_has_no_room_says_how_much_more_there_is() {
        assert!(fits(&"x".repeat(MOST), 60) && !fits(&"x".repeat(MOST + 1), 60));
        assert!(fits(&"x\n".repeat(60), 60) && !fits(&"x\n".repeat(61), 60));
        // Long lines are broken, and are several.
        assert!(fits(&"\t".repeat(100), 10) && !fits(&"\t".repeat(101), 10));
        assert!(fits(&"宽".repeat(400), 10) && !fits(&"宽".repeat(401), 10));
        assert!(fits(&"x".repeat(10 * WIDTH), 10) && !fits(&"x".repeat(10 * WIDTH + 1), 10));
        let shown = beginning(&"é".repeat(3000), 60);
        assert!(shown.contains("… 2500 more characters"), "{shown}");
        let shown = beginning(&"x\n".repeat(100), 60);
        assert!(shown.contains("… 140 more characters"), "{shown}");
        let shown = beginning(&"x".repeat(1000), 10);
        assert!(shown.contains("… 600 more characters"), "{shown}");
    }

    #[test]
    fn what_a_yes_for_longer_is_tied_to_is_shown_or_said_to_be_left_out() {
        let approval = |definition: &str| {
            Approval::Tool(ToolApproval {
                id: "q".into(),
                thread_id: "t".into(),
                turn_id: "u".into(),
                item_id: "i".into(),
                agent: None,
                server: "s".to_owned(),
                tool: "look".to_owned(),
                title: "look".to_owned(),
                arguments: serde_json::json!({}),
                reason: "It asks.".to_owned(),
                definition: definition.to_owned(),
                session_scope: "look of s as it is now".to_owned(),
                always_rule: AlwaysRule {
                    text: "look of s".to_owned(),
                    title: "s: look".to_owned(),
                    toml: String::new(),
                    file: "/h/rules/always.toml".into(),
                },
                notes: vec!["It looks like another.".to_owned()],
                available_decisions: Vec::new(),
            })
        };
        let asked = approval("description:\n    Looks.\nNote: it is fine.");
        let all = question(&asked);
        assert!(
            all.contains(story::TIED_TO) && all.contains("\nAlways would cover"),
            "{all}"
        );
        assert!(
            all.contains("\n>     Looks.\n> Note: it is fine.\nNote: It looks like another."),
            "{all}"
        );
        assert!(page(&asked).contains("    Looks."), "{}", page(&asked));
        let once = question_once(&asked).expect("less");
        assert!(
            once.contains(story::ONCE_ONLY) && !once.contains("Always would") && !once.contains("Looks."),
            "{once}"
        );
        assert!(once.contains("Note: It looks like another."), "{once}");
        assert_eq!(question_once(&approval("")), None);
    }
}
