//! `view_image`: shows the model an image file.

use super::{Call, Host, Look, Tool, ToolError, ToolOutput, arguments, blocking, image, schema, shown_arguments};
use crate::model::item::ToolSpec;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

pub const NAME: &str = "view_image";

pub struct ViewImage;

#[derive(Deserialize)]
struct Arguments {
    #[serde(alias = "file_path")]
    path: String,
}

impl Tool for ViewImage {
    fn spec(&self) -> ToolSpec {
        ToolSpec::Function {
            name: NAME.to_owned(),
            description: "Shows you an image file (PNG, JPEG, GIF or WebP).".to_owned(),
            strict: false,
            parameters: schema(json!({"path": {"type": "string"}}), &["path"]),
        }
    }

    fn only_reads(&self) -> bool {
        true
    }

    fn look(&self, call: &Call) -> Option<Look> {
        let arguments = shown_arguments(call);
        let path = arguments.get("path").or_else(|| arguments.get("file_path"));
        Some(Look {
            title: format!("View {}", path.and_then(|path| path.as_str()).unwrap_or("an image")),
            arguments,
        })
    }

    fn run<'a>(&'a self, call: &'a Call, host: &'a dyn Host) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let Arguments { path } = arguments(call)?;
            if path.trim().is_empty() {
                return Err(ToolError::Answer("path is empty: name the image file.".to_owned()));
            }
            let path = host.resolve_home(&path);
            host.may_read(&path)?;
            let (name, reading) = (path.clone(), host.reading());
            let image = blocking(move || image::read(&name, reading.as_ref()))
                .await?
                .map_err(|error| ToolError::Answer(format!("{} cannot be shown: {error}.", path.display())))?;
            let text = format!("{} ({}, {} bytes)", path.display(), image.kind, image.bytes);
            Ok(ToolOutput {
                images: vec![image.url],
                ..ToolOutput::ok(text)
            })
        })
    }
}
