//! What reviews found, as diagnostics on its lines.

use super::Presenter;
use crate::agent::review::Lying;
use crate::lsp::convert;
use crate::workspace::{Encoding, Position, Range, position};
use ropey::Rope;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Source of our findings among diagnostics.
pub const FINDINGS_SOURCE: &str = "countersign review";

/// The severity of a finding among diagnostics (LSP 3.17, DiagnosticSeverity), and its name.
pub fn severity_of(priority: u8) -> (u8, &'static str) {
    match priority {
        0 | 1 => (1, "error"),
        2 => (2, "warning"),
        _ => (3, "information"),
    }
}

impl Presenter {
    /// Findings came, went, or lie elsewhere.
    pub fn findings_changed(&self) {
        if self.is_looking() || !self.findings_are_none() {
            self.look_over();
        }
    }

    fn findings_are_none(&self) -> bool {
        self.shared.agent.services().findings.is_empty()
    }

    /// The diagnostics of all documents with findings, by URI, as the texts are now. Reads files.
    pub(super) fn finding_diagnostics(&self) -> BTreeMap<String, Vec<Value>> {
        let services = self.shared.agent.services();
        if !self.shared.client.can.diagnostics || services.findings.is_empty() {
            return BTreeMap::new();
        }
        services.findings.look(&services.workspace);
        let encoding = self.shared.client.encoding;
        let all = services.findings.by_uri().into_iter();
        all.map(|(uri, lying)| (uri, lying.iter().map(|one| finding_diagnostic(one, encoding)).collect()))
            .collect()
    }
}

/// A finding as a diagnostic (LSP 3.17, Diagnostic).
pub fn finding_diagnostic(lying: &Lying, encoding: Encoding) -> Value {
    let finding = &lying.finding;
    let body = finding.body.trim();
    let gap = if body.is_empty() { "" } else { "\n\n" };
    let lines = finding.code_location.line_range;
    json!({
        "range": convert::to_range(range(&lying.rope, lines.start, lines.end, encoding)),
        "severity": severity_of(finding.priority).0,
        "source": FINDINGS_SOURCE,
        "code": format!("P{}", finding.priority),
        "message": crate::shown::prose(&format!("{}{gap}{body}", finding.title)),
        "data": {
            "threadId": finding.thread_id,
            "turnId": finding.turn_id,
            "findingId": finding.id,
        },
    })
}

/// The text of some lines, without the blanks around it.
fn range(rope: &Rope, start: u32, end: u32, encoding: Encoding) -> Range {
    let last = end.saturating_sub(1).max(start);
    let at = |line: u32, column: u32| position::char_at(rope, Position { line, column }, encoding);
    let (first, mut after) = (at(start, 0), at(last, u32::MAX));
    let is_blank = |index: usize| rope.get_char(index).is_some_and(|c| c == ' ' || c == '\t');
    let mut begin = first;
    while begin < after && is_blank(begin) {
        begin += 1;
    }
    while after > begin && is_blank(after - 1) {
        after -= 1;
    }
    let place = |index| position::position_of_char(rope, index, encoding);
    match begin < after {
        true => Range {
            start: place(begin),
            end: place(after),
        },
        // A blank line is marked as it is.
        false => Range {
            start: place(first),
            end: place(at(last, u32::MAX)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_marks_the_text_of_its_lines() {
        let rope = Rope::from_str("a\n    let ü = 1;  \r\n\tb\n   \nlast");
        for (start, end, expected) in [
            (0, 1, ((0, 0), (0, 1))),
            (1, 2, ((1, 4), (1, 14))),
            (1, 3, ((1, 4), (2, 2))),
            (3, 4, ((3, 0), (3, 3))),
            (4, 5, ((4, 0), (4, 4))),
            (4, 99, ((4, 0), (4, 4))),
        ] {
            let range = range(&rope, start, end, Encoding::Utf16);
            let place = |place: Position| (place.line, place.column);
            assert_eq!((place(range.start), place(range.end)), expected, "{start} {end}");
        }
    }

    #[test]
    fn priorities_by_table() {
        let names = [0, 1, 2, 3, 9].map(|priority| severity_of(priority).1);
        assert_eq!(names, ["error", "error", "warning", "information", "information"]);
    }
}
