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

/// What tokens cost, in US dollars for a million.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// Of the prompt and the conversation.
    pub input: f64,
    /// Of what the provider reads from its cache. Absent: as the rest of the input.
    pub cached_input: Option<f64>,
    /// Of what it writes into its cache. Absent: as the rest of the input.
    pub cache_write: Option<f64>,
    /// Of answers, thoughts included.
    pub output: f64,
}

/// `[models.NAME.price]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct PriceSettings {
    pub input: Option<f64>,
    pub cached_input: Option<f64>,
    pub cache_write: Option<f64>,
    pub output: Option<f64>,
}

impl PriceSettings {
    /// The price, if it says what input and output cost.
    pub fn price(self) -> Option<Price> {
        Some(Price {
            input: self.input?,
            cached_input: self.cached_input,
            cache_write: self.cache_write,
            output: self.output?,
        })
    }
}

/// `[models.NAME]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
pub struct ModelSettings {
    /// Absent: as its family.
    pub edit_tool: Option<EditTool>,
    /// Whether an answer that is nothing but calls written as text counts as these calls. Absent: as its family.
    pub text_calls: Option<bool>,
    /// Absent: what the provider lists.
    pub price: Option<PriceSettings>,
}
