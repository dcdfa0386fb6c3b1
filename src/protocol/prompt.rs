//! The person's prompts: Markdown files that are called by name.

use crate::protocol::config::ConfigWarning;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct PromptListParams {
    /// The folder whose project's prompts count; absent: the first folder of the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct PromptListResult {
    /// By name.
    pub data: Vec<Prompt>,
    /// What is wrong with the files, each with its place.
    pub problems: Vec<ConfigWarning>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Prompt {
    /// An input that begins with a slash and this name calls it.
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What stands behind the name, for the person; empty where nothing does.
    pub argument_hint: String,
    pub arguments: Vec<PromptArgument>,
    /// Offered as a code action on a selection.
    pub code: bool,
    pub source: PromptSource,
    pub path: PathBuf,
    /// The text as it stands in the file, without its head.
    pub content: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct PromptArgument {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Stands in where nothing is given; without it the argument must be given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum PromptSource {
    /// The person's own, in the home folder.
    Person,
    /// It came with the project.
    Project,
}
