//! `apply_patch`: proposes a change to files.

use super::{Call, Host, Payload, Tool, ToolError, ToolOutput, arguments, schema};
use crate::model::item::ToolSpec;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

pub struct ApplyPatch;

pub const NAME: &str = "apply_patch";

#[derive(Deserialize)]
struct Arguments {
    #[serde(alias = "patch")]
    input: String,
    workdir: Option<String>,
}

const DESCRIPTION: &str = "Proposes a change to one or more files. The person reviews it hunk by hunk; the answer says what was \
taken. The patch is matched against the files as the person sees them in the editor, unsaved text included. Form:\n\
*** Begin Patch\n\
*** Add File: <path>          followed by lines that begin with +\n\
*** Delete File: <path>\n\
*** Update File: <path>       optionally followed by *** Move to: <new path>, then one or more chunks\n\
*** End Patch\n\
A chunk begins with @@, or with @@ and a line of the file that comes before it (such as the function's first line); several @@ lines \
narrow the place down. Its lines begin with a blank (kept), - (removed) or + (added). Give about three kept lines before and after a \
change, so that its place is unique. A chunk at the end of a file may be closed by *** End of File. Delete File, and Move to without a \
chunk, also take binary files and symbolic links. A unified diff is taken too.";

impl Tool for ApplyPatch {
    fn spec(&self) -> ToolSpec {
        ToolSpec::Function {
            name: NAME.to_owned(),
            description: DESCRIPTION.to_owned(),
            strict: false,
            parameters: schema(
                json!({"input": {"type": "string", "description": "The whole patch."}}),
                &["input"],
            ),
        }
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["applypatch"]
    }

    fn run<'a>(&'a self, call: &'a Call, host: &'a dyn Host) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let (patch, workdir) = match &call.payload {
                Payload::Custom(patch) => (patch.clone(), None),
                _ => {
                    let arguments: Arguments = arguments(call)?;
                    (arguments.input, arguments.workdir)
                }
            };
            host.propose_patch(call.id.as_str().into(), patch, workdir).await
        })
    }
}
