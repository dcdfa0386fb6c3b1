//! `edit`: proposes text in the place of other text of a file, for models that were taught to name the old text.

use super::{Call, Host, Tool, ToolError, ToolOutput, arguments, propose_one, schema};
use crate::model::item::ToolSpec;
use crate::patch::edit::{FileEdit, TextChange};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;
use std::path::PathBuf;

pub struct EditFile;

pub const NAME: &str = "edit";

/// Names of parameters as other programs have them are taken too: models remember those.
#[derive(Deserialize)]
struct Arguments {
    #[serde(alias = "path", alias = "filePath", alias = "filename", alias = "file")]
    file_path: PathBuf,
    #[serde(
        alias = "old_str",
        alias = "oldString",
        alias = "old_text",
        alias = "oldText",
        alias = "search"
    )]
    old_string: String,
    #[serde(
        alias = "new_str",
        alias = "newString",
        alias = "new_text",
        alias = "newText",
        alias = "replace"
    )]
    new_string: String,
    #[serde(default, alias = "replaceAll")]
    replace_all: bool,
}

const DESCRIPTION: &str = "Proposes to replace text in a file. The person reviews it; the answer says what was taken. Edits of one \
answer are reviewed together, each on top of those before it. old_string must stand in the file exactly once, with its indentation \
and without line numbers: give a few lines around a short change. The file is as the person sees it in the editor, unsaved text \
included. An empty old_string makes a new file.";

impl Tool for EditFile {
    fn spec(&self) -> ToolSpec {
        ToolSpec::Function {
            name: NAME.to_owned(),
            description: DESCRIPTION.to_owned(),
            strict: false,
            parameters: schema(
                json!({
                    "file_path": {"type": "string"},
                    "old_string": {"type": "string", "description": "Exactly as it stands in the file."},
                    "new_string": {"type": "string"},
                    "replace_all": {"type": "boolean", "description": "Wherever it stands. Default false."},
                }),
                &["file_path", "old_string", "new_string"],
            ),
        }
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["Edit", "edit_file", "replace", "str_replace", "search_replace"]
    }

    fn edit(&self, call: &Call) -> Result<Option<FileEdit>, ToolError> {
        let Arguments {
            file_path,
            old_string,
            new_string,
            replace_all,
        } = arguments(call)?;
        Ok(Some(FileEdit {
            path: file_path,
            change: TextChange::Replace {
                old: old_string,
                new: new_string,
                all: replace_all,
            },
        }))
    }

    fn run<'a>(&'a self, call: &'a Call, host: &'a dyn Host) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(propose_one(self, call, host))
    }
}
