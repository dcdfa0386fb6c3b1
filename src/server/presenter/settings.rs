//! What is wrong with a `config.toml` that is open in the editor, as diagnostics on its text as it is there, saved or not.

use super::Presenter;
use crate::config::open::{self, Report, Severity};
use crate::lsp::convert;
use crate::workspace::{Document, Range, position};
use serde_json::{Value, json};
use std::path::Path;

/// Source of these diagnostics.
const SOURCE: &str = "countersign config";
/// The tag for what does nothing (LSP 3.17, DiagnosticTag).
const UNNECESSARY: u8 = 1;

impl Presenter {
    /// A document was opened. A file of configuration is looked over from now on.
    pub fn document_opened(&self, path: Option<&Path>) {
        let home = &self.shared.agent.services().home;
        if self.shared.client.can.diagnostics && path.is_some_and(|path| open::role(path, home).is_some()) {
            self.look_over();
        }
    }

    /// What is wrong with a document that is a file of configuration. Reads the other files.
    pub(super) fn configuration_diagnostics(&self, document: &Document) -> Vec<Value> {
        let agent = &self.shared.agent;
        let Some(path) = document.path() else { return Vec::new() };
        let Some(role) = open::role(path, &agent.services().home) else {
            return Vec::new();
        };
        let text = document.text();
        // Where another file is broken there is nothing to say of this one.
        let Ok((known, loaded)) = agent.load_open(&role, path, &text) else {
            return Vec::new();
        };
        let encoding = self.shared.client.encoding;
        let place = |byte| position::position_of_byte(&document.rope, byte, encoding);
        let diagnostic = |report: Report| {
            let range = Range {
                start: place(report.span.start),
                end: place(report.span.end),
            };
            let mut diagnostic = json!({
                "range": convert::to_range(range),
                "severity": severity(report.severity),
                "source": SOURCE,
                "message": report.message,
            });
            if report.severity == Severity::Hint {
                diagnostic["tags"] = json!([UNNECESSARY]);
            }
            diagnostic
        };
        let reports = open::reports(&text, &known, &loaded);
        reports.into_iter().map(diagnostic).collect()
    }
}

/// LSP 3.17, DiagnosticSeverity.
fn severity(severity: Severity) -> u8 {
    match severity {
        Severity::Error => 1,
        Severity::Warning => 2,
        Severity::Hint => 4,
    }
}
