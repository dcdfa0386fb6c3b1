//! What the model sees and says: items of the Responses API, which are also the history of a thread and the
//! `response_item` lines of a rollout.

use serde::{Deserialize, Serialize};

/// One item of the conversation with the model, in the wire form of the Responses API.
/// Unknown kinds are kept out of the history (`Other`), never an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ResponseItem {
    Message {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// `user`, `assistant`, `developer` or `system`.
        role: String,
        content: Vec<ContentPart>,
    },
    Reasoning {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        #[serde(default)]
        summary: Vec<ReasoningPart>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<Vec<ReasoningPart>>,
        /// Opaque; sent back so that the model can go on thinking without state at the provider.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        encrypted_content: Option<String>,
    },
    FunctionCall {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        name: String,
        /// JSON text, as the model wrote it.
        arguments: String,
        call_id: String,
    },
    FunctionCallOutput {
        call_id: String,
        output: ToolOutputPayload,
    },
    /// A free-form call: the input is text, not JSON.
    CustomToolCall {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        call_id: String,
        name: String,
        input: String,
    },
    CustomToolCallOutput {
        call_id: String,
        output: ToolOutputPayload,
    },
    LocalShellCall {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call_id: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<String>,
        action: LocalShellAction,
    },
    LocalShellCallOutput {
        call_id: String,
        output: String,
    },
    WebSearchCall {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        action: Option<serde_json::Value>,
    },
    #[serde(other, skip_serializing)]
    Other,
}

impl ResponseItem {
    /// A message of the person, or for the model in the person's place.
    pub fn user(text: impl Into<String>) -> Self {
        Self::Message {
            id: None,
            role: "user".to_owned(),
            content: vec![ContentPart::InputText { text: text.into() }],
        }
    }

    /// A message of ours to the model.
    pub fn developer(text: impl Into<String>) -> Self {
        Self::Message {
            id: None,
            role: "developer".to_owned(),
            content: vec![ContentPart::InputText { text: text.into() }],
        }
    }

    /// An answer of the model.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::Message {
            id: None,
            role: "assistant".to_owned(),
            content: vec![ContentPart::OutputText { text: text.into() }],
        }
    }

    /// Whether it is a message of the model.
    pub fn is_answer(&self) -> bool {
        matches!(self, Self::Message { role, .. } if role == "assistant")
    }

    /// The provider's id of the item. Items that a [`ModelStream`](crate::model::ModelStream) gives always have one,
    /// except a local shell call, whose ids mean something by their absence.
    pub fn id(&self) -> Option<&str> {
        match self {
            Self::Message { id, .. }
            | Self::Reasoning { id, .. }
            | Self::FunctionCall { id, .. }
            | Self::CustomToolCall { id, .. }
            | Self::LocalShellCall { id, .. }
            | Self::WebSearchCall { id, .. } => id.as_deref(),
            Self::FunctionCallOutput { .. }
            | Self::CustomToolCallOutput { .. }
            | Self::LocalShellCallOutput { .. }
            | Self::Other => None,
        }
    }

    /// The id that joins a call and its output, for both of them.
    pub fn call_id(&self) -> Option<&str> {
        match self {
            Self::FunctionCall { call_id, .. }
            | Self::FunctionCallOutput { call_id, .. }
            | Self::CustomToolCall { call_id, .. }
            | Self::CustomToolCallOutput { call_id, .. }
            | Self::LocalShellCallOutput { call_id, .. } => Some(call_id),
            Self::LocalShellCall { call_id, id, .. } => call_id.as_deref().or(id.as_deref()),
            Self::Message { .. } | Self::Reasoning { .. } | Self::WebSearchCall { .. } | Self::Other => None,
        }
    }

    /// The visible text of a message, refusals included; nothing for other items.
    pub fn text(&self) -> String {
        let Self::Message { content, .. } = self else {
            return String::new();
        };
        content.iter().filter_map(ContentPart::text).collect()
    }
}

impl ContentPart {
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::InputText { text } | Self::OutputText { text } | Self::Refusal { refusal: text } => Some(text),
            Self::InputImage { .. } | Self::Other => None,
        }
    }
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentPart {
    InputText {
        text: String,
    },
    InputImage {
        image_url: String,
    },
    OutputText {
        text: String,
    },
    Refusal {
        refusal: String,
    },
    #[serde(other, skip_serializing)]
    Other,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ReasoningPart {
    SummaryText {
        text: String,
    },
    ReasoningText {
        text: String,
    },
    Text {
        text: String,
    },
    #[serde(other, skip_serializing)]
    Other,
}

/// Output of a call: a text, or parts where there are images.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ToolOutputPayload {
    Text(String),
    Parts(Vec<ContentPart>),
}

impl From<String> for ToolOutputPayload {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum LocalShellAction {
    Exec {
        command: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout_ms: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        working_directory: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        env: Option<std::collections::HashMap<String, String>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        user: Option<String>,
    },
}

/// A tool as it is offered to the model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolSpec {
    Function {
        name: String,
        description: String,
        strict: bool,
        /// JSON Schema of the arguments.
        parameters: serde_json::Value,
    },
    /// A free-form tool: its input is text.
    Custom {
        name: String,
        description: String,
        format: serde_json::Value,
    },
    /// The provider itself searches the web.
    WebSearch {
        /// False: only in what it has kept. Absent: as it does where nothing is said, which reaches out.
        #[serde(skip_serializing_if = "Option::is_none")]
        external_web_access: Option<bool>,
    },
}

/// The name of Claude's own tool for files.
pub const TEXT_EDITOR: &str = "str_replace_based_edit_tool";

impl ToolSpec {
    pub fn name(&self) -> &str {
        match self {
            Self::Function { name, .. } | Self::Custom { name, .. } => name,
            Self::WebSearch { .. } => "web_search",
        }
    }
}

/// Items for the tests of the wires.
#[cfg(test)]
pub(super) mod samples {
    use super::{ContentPart, ResponseItem, ToolOutputPayload};

    pub(in crate::model) fn call(call_id: &str, arguments: &str) -> ResponseItem {
        ResponseItem::FunctionCall {
            id: None,
            name: "f".into(),
            arguments: arguments.into(),
            call_id: call_id.into(),
        }
    }

    pub(in crate::model) fn output(call_id: &str, parts: Vec<ContentPart>) -> ResponseItem {
        ResponseItem::FunctionCallOutput {
            call_id: call_id.into(),
            output: ToolOutputPayload::Parts(parts),
        }
    }
}
