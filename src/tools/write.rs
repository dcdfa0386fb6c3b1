//! `write`: proposes a whole file.

use super::{Call, Host, Tool, ToolError, ToolOutput, arguments, propose_one, schema};
use crate::model::item::ToolSpec;
use crate::patch::edit::{FileEdit, TextChange};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;
use std::path::PathBuf;

pub struct WriteFile;

pub const NAME: &str = "write";

/// Names of parameters as other programs have them are taken too.
#[derive(Deserialize)]
struct Arguments {
    #[serde(alias = "path", alias = "filePath", alias = "filename", alias = "file")]
    file_path: PathBuf,
    #[serde(alias = "contents", alias = "text", alias = "file_text", alias = "code")]
    content: String,
}

const DESCRIPTION: &str = "Proposes a whole file: a new one, or all of the text of one that is there. The person reviews it; the \
answer says what was taken. Leave nothing out of the content. Files are deleted and renamed by commands.";

impl Tool for WriteFile {
    fn spec(&self) -> ToolSpec {
        ToolSpec::Function {
            name: NAME.to_owned(),
            description: DESCRIPTION.to_owned(),
            strict: false,
            parameters: schema(
                json!({
                    "file_path": {"type": "string"},
                    "content": {"type": "string"},
                }),
                &["file_path", "content"],
            ),
        }
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["Write", "write_file", "create_file", "write_to_file"]
    }

    fn edit(&self, call: &Call) -> Result<Option<FileEdit>, ToolError> {
        let Arguments { file_path, content } = arguments(call)?;
        Ok(Some(FileEdit {
            path: file_path,
            change: TextChange::Whole { text: content },
        }))
    }

    fn run<'a>(&'a self, call: &'a Call, host: &'a dyn Host) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(propose_one(self, call, host))
    }
}
