//! MCP servers: what they offer, how they are, and what they ask.

use crate::ids::{ElicitationId, ItemId, ThreadId, TurnId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum McpServerStatus {
    Starting,
    Ready,
    /// It did not start.
    Failed,
    /// It ended by itself, or the connection broke. The next use starts it again.
    Lost,
    Stopped,
}

/// Whether a server knows who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum McpAuthStatus {
    /// It takes no login, as far as is known: a program, or a server that answers without.
    Unsupported,
    /// It wants one, and has refused us.
    NotLoggedIn,
    /// A token is sent along, from the variable that the configuration names.
    BearerToken,
    /// The person is signed in to it.
    OAuth,
}

/// A tool as its server describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct McpTool {
    /// The server's own name for it.
    pub name: String,
    /// The name under which the model is offered it.
    pub qualified_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// It changes nothing: the server says so, and the person believes it (`trust_annotations`).
    pub read_only: bool,
    pub input_schema: Value,
}

/// A configured server with what it offers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct McpServer {
    pub name: String,
    pub status: McpServerStatus,
    /// Why it failed or was lost, or what could not be listed in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub auth_status: McpAuthStatus,
    /// Those that are offered, as the server listed them last.
    pub tools: Vec<McpTool>,
    /// As the server gives them.
    pub resources: Vec<Value>,
    /// As the server gives them.
    pub resource_templates: Vec<Value>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct McpLoginParams {
    /// The server's name in the configuration.
    pub server: String,
    /// Whose server; absent: one that a new thread in the first folder of the workspace would have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct McpLoginResult {
    /// To be opened in a browser on this machine.
    pub url: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct McpLogoutParams {
    /// The server's name in the configuration.
    pub server: String,
    /// Whose server; absent: one that a new thread in the first folder of the workspace would have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct McpLogoutResult {
    /// False: nobody was signed in to it.
    pub forgotten: bool,
}

/// A login to an MCP server has come to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct McpLoginCompleted {
    pub server: String,
    pub success: bool,
    /// Why it did not succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct McpListParams {
    /// Whose servers; absent: those that a new thread in the first folder of the workspace would have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct McpListResult {
    /// By name.
    pub data: Vec<McpServer>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct McpRefreshParams {
    /// Absent: all live threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct McpRefreshResult {}

/// One page of a server's resources, or of their templates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct McpResourceListParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    pub server: String,
    /// The server's own, from the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct McpResourceListResult {
    /// As the server gives them.
    pub data: Vec<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct McpResourceReadParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    pub server: String,
    pub uri: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct McpResourceReadResult {
    /// As the server gives them.
    pub contents: Vec<Value>,
}

/// A server's own id of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(untagged)]
pub enum McpRequestId {
    Number(i64),
    Text(String),
}

/// What a server wants of the person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(tag = "mode", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum McpWish {
    /// To fill in a form; one without properties is a question of yes or no.
    Form { requested_schema: Value },
    /// To do something at this address.
    Url { url: String, elicitation_id: String },
}

/// A server asks the person something while it carries out a call. Sent as the request `countersign/mcp/elicitation` to
/// clients with the plugin protocol.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct McpElicitation {
    pub id: ElicitationId,
    pub thread_id: ThreadId,
    pub turn_id: TurnId,
    /// The call that the server carries out.
    pub item_id: ItemId,
    pub server: String,
    /// The server's own id of the question, as it came.
    pub request_id: McpRequestId,
    pub message: String,
    /// What looks like something else in the address, in sentences; to be shown with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    #[serde(flatten)]
    pub wish: McpWish,
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum McpElicitationAction {
    Accept,
    Decline,
    Cancel,
}

/// The person's answer to a server. Whatever is no answer counts as `cancel`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct McpElicitationResponse {
    pub action: McpElicitationAction,
    /// With `accept`: what was filled in. Absent: an empty object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Value>,
    /// Passed along.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
}

/// Answers a server's question from another surface than the one that was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct McpElicitationRespondParams {
    pub server: String,
    pub request_id: McpRequestId,
    pub response: McpElicitationResponse,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct McpElicitationRespondResult {
    /// False if there is no such question, or it was settled before.
    pub taken: bool,
}
