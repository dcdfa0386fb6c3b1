//! `str_replace_based_edit_tool`: Claude's own tool for files, which it was taught to use (Anthropic, "Text editor tool").

use super::list_dir::ListDir;
use super::read_file::ReadFile;
use super::{
    Call, Host, Look, Payload, Tool, ToolError, ToolOutput, arguments, blocking, propose_one, schema, shown_arguments,
};
use crate::model::item::{TEXT_EDITOR, ToolSpec};
use crate::patch::edit::{FileEdit, TextChange};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;
use std::path::PathBuf;

pub struct TextEditor;

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Command {
    View,
    Create,
    StrReplace,
    Insert,
}

#[derive(Deserialize)]
struct Arguments {
    command: Command,
    #[serde(alias = "file_path")]
    path: PathBuf,
    /// First and last line from 1; -1 for the end.
    view_range: Option<[i64; 2]>,
    #[serde(alias = "content")]
    file_text: Option<String>,
    #[serde(alias = "old_string")]
    old_str: Option<String>,
    #[serde(alias = "new_string", alias = "insert_text", alias = "text")]
    new_str: Option<String>,
    insert_line: Option<usize>,
}

const DESCRIPTION: &str = "Views files and folders, and proposes changes. The person reviews each change; the answer says what was \
taken. Changes of one answer are reviewed together, each on top of those before it. command: view (optionally view_range), create \
(a whole file: path, file_text), str_replace (old_str, which must stand in the file exactly once, and new_str), insert (insert_text \
after line insert_line, 0 for the start). Files are as the person sees them in the editor, unsaved text included. Files are deleted and \
renamed by commands.";

impl Tool for TextEditor {
    fn spec(&self) -> ToolSpec {
        ToolSpec::Function {
            name: TEXT_EDITOR.to_owned(),
            description: DESCRIPTION.to_owned(),
            strict: false,
            parameters: schema(
                json!({
                    "command": {"type": "string", "enum": ["view", "create", "str_replace", "insert"]},
                    "path": {"type": "string", "description": "Absolute, or relative to the working directory."},
                    "view_range": {"type": "array", "items": {"type": "integer"}, "description": "First and last line, from 1; -1 is the end."},
                    "file_text": {"type": "string"},
                    "old_str": {"type": "string"},
                    "new_str": {"type": "string"},
                    "insert_line": {"type": "integer"},
                    "insert_text": {"type": "string"},
                }),
                &["command", "path"],
            ),
        }
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["str_replace_editor", "text_editor"]
    }

    fn edit(&self, call: &Call) -> Result<Option<FileEdit>, ToolError> {
        let Arguments {
            command,
            path,
            file_text,
            old_str,
            new_str,
            insert_line,
            ..
        } = arguments(call)?;
        let missing = |what: &str| ToolError::Answer(format!("{} needs {what} for this command.", call.tool));
        let change = match command {
            Command::View => return Ok(None),
            Command::Create => TextChange::Whole {
                text: file_text.or(new_str).ok_or_else(|| missing("file_text"))?,
            },
            Command::StrReplace => TextChange::Replace {
                old: old_str.ok_or_else(|| missing("old_str"))?,
                // What is left out is nothing, as Anthropic's own tool takes it.
                new: new_str.unwrap_or_default(),
                all: false,
            },
            Command::Insert => TextChange::Insert {
                after: insert_line.ok_or_else(|| missing("insert_line"))?,
                text: new_str.ok_or_else(|| missing("insert_text"))?,
            },
        };
        Ok(Some(FileEdit { path, change }))
    }

    fn look(&self, call: &Call) -> Option<Look> {
        let arguments = shown_arguments(call);
        let is_view = arguments.get("command").is_some_and(|command| command == "view");
        let path = arguments.get("path").and_then(|path| path.as_str()).unwrap_or("a file");
        is_view.then(|| Look {
            title: format!("Read {path}"),
            arguments: arguments.clone(),
        })
    }

    fn run<'a>(&'a self, call: &'a Call, host: &'a dyn Host) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let Arguments {
                command,
                path,
                view_range,
                ..
            } = arguments(call)?;
            if command != Command::View {
                return propose_one(self, call, host).await;
            }
            let path = path.display().to_string();
            let found = host.resolve(&path);
            host.may_read(&found)?;
            let is_folder = blocking(move || found.is_dir()).await?;
            let call = |arguments: serde_json::Value| Call {
                payload: Payload::Function(arguments.to_string()),
                ..call.clone()
            };
            if is_folder {
                return ListDir.run(&call(json!({"dir_path": path})), host).await;
            }
            let mut wanted = json!({"file_path": path});
            if let Some([first, last]) = view_range {
                let first = first.max(1);
                wanted["offset"] = json!(first);
                if last >= first {
                    wanted["limit"] = json!(last - first + 1);
                }
            }
            ReadFile.run(&call(wanted), host).await
        })
    }
}
