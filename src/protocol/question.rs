//! Questions of the model to the person: choices and words.

use crate::ids::{ItemId, QuestionsId, ThreadId, TurnId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the model asks at one time. Sent as the request `countersign/userInput/request` to clients with the plugin protocol,
/// shown by `window/showMessageRequest` to all others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct UserInputRequest {
    pub id: QuestionsId,
    pub thread_id: ThreadId,
    pub turn_id: TurnId,
    /// The call that asks.
    pub item_id: ItemId,
    /// Name of the sub-agent that asks; absent for the thread that the person talks to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// One to three.
    pub questions: Vec<UserQuestion>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct UserQuestion {
    /// The name under which its answer comes back.
    pub id: String,
    /// What it is about, in a word or two.
    pub header: String,
    pub question: String,
    /// Whether the person may answer in words of their own.
    pub is_other: bool,
    /// Empty where only words can answer.
    #[serde(default)]
    pub options: Vec<UserChoice>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct UserChoice {
    pub label: String,
    /// What choosing it means.
    #[serde(default)]
    pub description: String,
}

/// The person's answers. `null` in its place, an error, what cannot be understood and a client that is gone are no answer,
/// and so is each question that is not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct UserInputResponse {
    /// By the question's id.
    pub answers: BTreeMap<String, UserAnswer>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct UserAnswer {
    /// Labels of choices, or the person's words.
    pub answers: Vec<String>,
}

/// Settles open questions from another surface than the one that was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct UserInputRespondParams {
    pub id: QuestionsId,
    /// `null`: the person does not want to answer.
    pub response: Option<UserInputResponse>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct UserInputRespondResult {
    /// False if they were settled before.
    pub taken: bool,
}
