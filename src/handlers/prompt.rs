//! `countersign/prompt/list`, and prompts as commands and code actions for editors without our plugin.

use super::code_action;
use super::command::Place;
use crate::agent::AgentError;
use crate::config::prompts::{self, Call, Prompts};
use crate::lsp::error::RequestError;
use crate::protocol::item::LineRange;
use crate::protocol::prompt::{Prompt, PromptArgument, PromptListParams, PromptListResult, PromptSource};
use crate::server::session::Session;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The argument of the command that calls a prompt.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptCall {
    pub name: String,
    /// What stands behind the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    /// The file that is looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// What is selected in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<LineRange>,
}

impl PromptCall {
    /// What the person would have typed.
    pub fn words(&self) -> String {
        let name = self.name.trim_start_matches('/');
        match self.arguments.as_deref().map(str::trim).filter(|text| !text.is_empty()) {
            Some(arguments) => format!("/{name} {arguments}"),
            None => format!("/{name}"),
        }
    }

    pub fn place(&self) -> Option<Place> {
        let uri = self.uri.clone()?;
        Some(Place {
            uri,
            lines: self.lines,
            diagnostics: Vec::new(),
            instruction: None,
        })
    }
}

pub async fn list(session: &Session, params: PromptListParams) -> Result<PromptListResult, RequestError> {
    let session = session.clone();
    let read = tokio::task::spawn_blocking(move || read(&session, params.cwd.as_deref())).await;
    let found = read.map_err(|error| RequestError::internal(error.to_string()))??;
    Ok(PromptListResult {
        data: found.all.into_iter().map(shown).collect(),
        problems: found.problems,
    })
}

/// The prompts for a folder, as their files say now. Reads the disk.
fn read(session: &Session, cwd: Option<&Path>) -> Result<Prompts, AgentError> {
    let agent = session.agent();
    let cwd = cwd
        .map(Path::to_owned)
        .or_else(|| session.workspace().roots().into_iter().next());
    let config = agent.load_config(cwd.as_deref(), None)?.config;
    Ok(Prompts::read(&config, &agent.services().home))
}

fn shown(prompt: prompts::Prompt) -> Prompt {
    let argument_hint = prompt.argument_hint();
    let arguments = prompt.front.arguments.into_iter().map(|argument| PromptArgument {
        name: argument.name,
        hint: argument.hint,
        default: argument.default,
    });
    Prompt {
        argument_hint,
        arguments: arguments.collect(),
        name: prompt.name,
        description: prompt.front.description,
        code: prompt.front.code,
        source: match prompt.of_project {
            true => PromptSource::Project,
            false => PromptSource::Person,
        },
        path: prompt.path,
        content: prompt.body,
    }
}

/// The prompts that are for code and can be called with nothing but a selection: title and call. Looks at the disk, so only
/// where something is selected; where there is no folder of prompts, at next to nothing.
pub fn for_code(session: &Session, path: &Path, place: &Place) -> Vec<(String, PromptCall)> {
    let home = session.agent().services().home.join("prompts");
    let mut folders = path
        .ancestors()
        .skip(1)
        .map(|folder| folder.join(".countersign/prompts"));
    if !home.is_dir() && !folders.any(|folder| folder.is_dir()) {
        return Vec::new();
    }
    let folder: PathBuf = session.folder_of(path);
    let prompts = read(session, Some(&folder)).map(|found| found.all).unwrap_or_default();
    let fitting = prompts
        .into_iter()
        .filter(|prompt| prompt.front.code && prompt.expand(&Call::default()).is_ok());
    fitting
        .map(|prompt| {
            let about = prompt.front.description.as_deref().map(code_action::short);
            let about = about.map(|words| format!(": {words}")).unwrap_or_default();
            let call = PromptCall {
                name: prompt.name.clone(),
                arguments: None,
                uri: Some(place.uri.clone()),
                lines: place.lines,
            };
            // Whatever a project says of it, it is one of theirs.
            (format!("Prompt /{}{about}", prompt.name), call)
        })
        .collect()
}
