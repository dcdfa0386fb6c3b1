//! What holds for single models (`[models.NAME]`).

use serde::Deserialize;

/// How a model says what is to be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EditTool {
    /// Patches of one or more files.
    ApplyPatch,
    /// Claude's own: view, create, replace, insert.
    TextEditor,
    /// Text in the place of other text; and whole files.
    Edit,
    /// Whole files only: for models that do not copy old text exactly.
    Write,
}

/// The words of the configuration, in the order of the variants.
pub(super) const EDIT_TOOLS: &[&str] = &["apply_patch", "text_editor", "edit", "write"];

/// `[models.NAME]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct ModelSettings {
    /// Absent: as its family.
    pub edit_tool: Option<EditTool>,
}
