//! What a review came to, in words: for the person, and for the model of the conversation that it was made in.

use crate::agent::prompt;
use crate::model::item::ResponseItem;
use crate::protocol::item::LineRange;
use crate::protocol::review::{ReviewFinding, ReviewOutput, ReviewVerdict};
use crate::shown::envelope;
use std::fmt::Write as _;
use std::path::Path;

/// How a review ended, as the conversation is told.
pub(super) enum Outcome<'a> {
    Done(&'a ReviewOutput),
    /// The reviewer gave no answer.
    Empty,
    Failed,
    Interrupted,
}

/// For the person, in Markdown. Paths are shown from `cwd`.
pub(super) fn summary(words: &str, output: &ReviewOutput, cwd: &Path) -> String {
    let count = match output.findings.len() {
        _ if output.is_unlisted => "the reviewer gave no list of findings".to_owned(),
        0 => "no findings".to_owned(),
        1 => "1 finding".to_owned(),
        count => format!("{count} findings"),
    };
    let verdict = match output.overall_correctness {
        Some(ReviewVerdict::Correct) => "; nothing has to be fixed first",
        Some(ReviewVerdict::Incorrect) => "; it should not stay like this",
        None => "",
    };
    let mut text = format!("**Review of {words}: {count}{verdict}.**");
    if !output.overall_explanation.trim().is_empty() {
        let _ = write!(text, "\n\n{}", output.overall_explanation.trim());
    }
    for (number, finding) in (1..).zip(&output.findings) {
        let gap = if number == 1 { "\n\n" } else { "\n" };
        let _ = write!(
            text,
            "{gap}{number}. **{}**{}",
            heading(finding),
            place(finding, cwd, "`")
        );
        let body = indented(&finding.body, "   ");
        if !body.is_empty() {
            let _ = write!(text, "\n{body}");
        }
    }
    text
}

/// For the model: one message of the person's role. The findings are told so that the person can point at them.
pub(super) fn note(words: &str, outcome: &Outcome<'_>, cwd: &Path) -> ResponseItem {
    let (context, results) = match outcome {
        Outcome::Done(output) => (
            format!(
                "The person had a reviewer of its own look at {words}. This is what it says. The person may pick findings to have \
                 them resolved; fix none before they do."
            ),
            results(output, cwd),
        ),
        Outcome::Empty => (
            format!("The person had a reviewer look at {words}, and it gave no answer. It can be started again."),
            String::new(),
        ),
        Outcome::Failed => (
            format!(
                "The person started a review of {words}, which failed before it came to a result. It can be started again."
            ),
            String::new(),
        ),
        Outcome::Interrupted => (
            format!(
                "The person started a review of {words} and interrupted it before it came to a result, so there are no findings. If \
                 they want some, the review has to be run again."
            ),
            String::new(),
        ),
    };
    let inside = |text: &str| envelope::inside_of(text, &["results", "context", "action"]);
    let results = match results.is_empty() {
        true => String::new(),
        false => format!("<results>\n{}\n</results>\n", inside(&results)),
    };
    let context = inside(&context);
    let text = format!("<user_action>\n<context>{context}</context>\n<action>review</action>\n{results}</user_action>");
    prompt::message("user", text)
}

fn results(output: &ReviewOutput, cwd: &Path) -> String {
    let explanation = output.overall_explanation.trim();
    let mut text = explanation.to_owned();
    if !output.findings.is_empty() {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str("Findings:");
        for finding in &output.findings {
            let _ = write!(text, "\n- {}{}", heading(finding), place(finding, cwd, ""));
            let body = indented(&finding.body, "  ");
            if !body.is_empty() {
                let _ = write!(text, "\n{body}");
            }
        }
    }
    text
}

fn heading(finding: &ReviewFinding) -> String {
    format!("[P{}] {}", finding.priority, finding.title)
}

fn place(finding: &ReviewFinding, cwd: &Path, quote: &str) -> String {
    let Some(location) = &finding.code_location else {
        return String::new();
    };
    let path = &location.absolute_file_path;
    let path = path.strip_prefix(cwd).unwrap_or(path).display();
    format!(" — {quote}{path}:{}{quote}", numbers(location.line_range))
}

/// Lines as people count them.
fn numbers(lines: LineRange) -> String {
    let first = lines.start.saturating_add(1);
    match lines.end <= first {
        true => first.to_string(),
        false => format!("{first}-{}", lines.end),
    }
}

fn indented(text: &str, by: &str) -> String {
    let line = |line: &str| match line.trim().is_empty() {
        true => String::new(),
        false => format!("{by}{line}"),
    };
    text.trim().lines().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::review::CodeLocation;

    fn finding(title: &str, body: &str, place: Option<(&str, u32, u32)>) -> ReviewFinding {
        ReviewFinding {
            title: title.to_owned(),
            body: body.to_owned(),
            confidence_score: 0.5,
            priority: 1,
            code_location: place.map(|(path, start, end)| CodeLocation {
                absolute_file_path: path.into(),
                line_range: LineRange { start, end },
            }),
        }
    }

    #[test]
    fn a_result_reads_like_a_page() {
        let cwd = Path::new("/w");
        let output = ReviewOutput {
            findings: vec![
                finding(
                    "Check the length",
                    "It panics.\n\nAlways.",
                    Some(("/w/src/a.rs", 9, 12)),
                ),
                finding("Close the file", "", Some(("/v/b.rs", 0, 1))),
                finding("Say why", "No place.", None),
            ],
            overall_correctness: Some(ReviewVerdict::Incorrect),
            overall_explanation: " It panics. \n".to_owned(),
            overall_confidence_score: None,
            is_unlisted: false,
        };
        assert_eq!(
            summary("uncommitted changes", &output, cwd),
            "**Review of uncommitted changes: 3 findings; it should not stay like this.**\n\nIt panics.\n\n\
             1. **[P1] Check the length** — `src/a.rs:10-12`\n   It panics.\n\n   Always.\n\
             2. **[P1] Close the file** — `/v/b.rs:1`\n\
             3. **[P1] Say why**\n   No place."
        );
        let told = note("uncommitted changes", &Outcome::Done(&output), cwd).text();
        assert!(
            told.starts_with("<user_action>\n<context>") && told.ends_with("</results>\n</user_action>"),
            "{told}"
        );
        assert!(
            told.contains("<results>\nIt panics.\n\nFindings:\n- [P1] Check the length — src/a.rs:10-12\n  It panics.")
        );
    }

    #[test]
    fn what_there_is_not_is_left_out() {
        let cwd = Path::new("/w");
        let explained = ReviewOutput {
            overall_explanation: "Fine.".to_owned(),
            ..ReviewOutput::default()
        };
        assert_eq!(summary("x", &explained, cwd), "**Review of x: no findings.**\n\nFine.");
        let told = note("x", &Outcome::Done(&explained), cwd).text();
        assert!(
            told.contains("<results>\nFine.\n</results>") && !told.contains("Findings"),
            "{told}"
        );
        let unlisted = ReviewOutput {
            overall_explanation: "It adds what it should subtract.".to_owned(),
            is_unlisted: true,
            ..ReviewOutput::default()
        };
        assert_eq!(
            summary("x", &unlisted, cwd),
            "**Review of x: the reviewer gave no list of findings.**\n\nIt adds what it should subtract."
        );
        let nothing = ReviewOutput {
            overall_explanation: " \n".to_owned(),
            ..ReviewOutput::default()
        };
        assert_eq!(summary("x", &nothing, cwd), "**Review of x: no findings.**");
        let bare = ReviewOutput {
            findings: vec![finding("Mend it", "", None)],
            ..ReviewOutput::default()
        };
        let told = note("x", &Outcome::Done(&bare), cwd).text();
        assert!(
            told.contains("<results>\nFindings:\n- [P1] Mend it\n</results>"),
            "{told}"
        );
        for (outcome, word) in [
            (Outcome::Done(&nothing), "had a reviewer"),
            (Outcome::Empty, "no answer"),
            (Outcome::Failed, "failed"),
            (Outcome::Interrupted, "interrupted"),
        ] {
            let told = note("x", &outcome, cwd).text();
            assert!(told.contains(word) && !told.contains("<results>"), "{told}");
        }
    }
}
