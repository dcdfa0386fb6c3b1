//! `list_dir`: what is in a folder, ignore files honoured.

use super::{
    ANSWER_LIMIT, Call, Host, Look, Tool, ToolError, ToolOutput, arguments, blocking, schema, shown_arguments,
};
use crate::model::item::ToolSpec;
use crate::workspace::walk;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;
use std::fmt::Write;

const DEFAULT_DEPTH: usize = 2;
const DEFAULT_LIMIT: usize = 200;

pub struct ListDir;

#[derive(Deserialize)]
struct Arguments {
    #[serde(alias = "path")]
    dir_path: Option<String>,
    depth: Option<usize>,
    limit: Option<usize>,
}

impl Tool for ListDir {
    fn spec(&self) -> ToolSpec {
        ToolSpec::Function {
            name: "list_dir".to_owned(),
            description: "Lists a folder: one path a line, folders with a / at the end. What .gitignore and \
                .countersignignore name is left out."
                .to_owned(),
            strict: false,
            parameters: schema(
                json!({
                    "dir_path": {"type": "string", "description": "Absolute, or relative to the working directory, which is the default."},
                    "depth": {"type": "integer", "description": "Levels to go down. Default 2."},
                    "limit": {"type": "integer", "description": "Most entries. Default 200."},
                }),
                &[],
            ),
        }
    }

    fn only_reads(&self) -> bool {
        true
    }

    fn look(&self, call: &Call) -> Option<Look> {
        let arguments = shown_arguments(call);
        let path = arguments
            .get("dir_path")
            .or_else(|| arguments.get("path"))
            .and_then(|path| path.as_str());
        Some(Look {
            title: format!("List {}", path.unwrap_or(".")),
            arguments,
        })
    }

    fn run<'a>(&'a self, call: &'a Call, host: &'a dyn Host) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let Arguments { dir_path, depth, limit } = arguments(call)?;
            let dir = host.resolve(dir_path.as_deref().unwrap_or("."));
            host.may_read(&dir)?;
            let (depth, limit) = (
                depth.unwrap_or(DEFAULT_DEPTH).max(1),
                limit.unwrap_or(DEFAULT_LIMIT).max(1),
            );
            let (stop, reading) = (host.cancelled(), host.reading());
            blocking(move || {
                list(&dir, depth, limit, &|path| reading(path).is_ok(), &|| {
                    stop.is_cancelled()
                })
            })
            .await?
            .map(ToolOutput::ok)
        })
    }
}

/// The folder's path, then what is in it, a path a line.
pub(crate) fn list(
    dir: &std::path::Path,
    depth: usize,
    limit: usize,
    may_read: &dyn Fn(&std::path::Path) -> bool,
    stop: &dyn Fn() -> bool,
) -> Result<String, ToolError> {
    match std::fs::metadata(dir) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => {
            return Err(ToolError::Answer(format!(
                "{} is not a folder; use read_file.",
                dir.display()
            )));
        }
        Err(error) => {
            return Err(ToolError::Answer(format!(
                "{} cannot be listed: {error}.",
                dir.display()
            )));
        }
    }
    let mut shown = format!("{}:\n", dir.display());
    let mut count = 0;
    // Of a folder that is closed only the name is told.
    let is_told = |entry: &walk::Entry| {
        entry
            .path
            .parent()
            .is_none_or(|folder| folder == dir || may_read(folder))
    };
    for entry in walk::entries(dir, Some(depth)).filter(is_told) {
        if stop() {
            return Err(ToolError::Answer("The listing was stopped.".to_owned()));
        }
        if count == limit || shown.len() > ANSWER_LIMIT {
            let _ = writeln!(shown, "(more entries; raise limit or list a folder below)");
            break;
        }
        count += 1;
        let relative = entry.path.strip_prefix(dir).unwrap_or(&entry.path);
        let _ = writeln!(shown, "{}{}", relative.display(), if entry.is_dir { "/" } else { "" });
    }
    if count == 0 {
        shown.push_str("(empty)\n");
    }
    shown.truncate(shown.trim_end_matches('\n').len());
    Ok(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(_: &std::path::Path) -> bool {
        true
    }

    #[test]
    fn ignored_files_and_git_are_left_out_and_the_limit_is_told() {
        let dir = tempfile::tempdir().expect("temp dir");
        for (path, text) in [
            (".gitignore", "target/\n"),
            ("a/b/c.txt", ""),
            ("target/x", ""),
            (".git/config", ""),
            ("z.txt", ""),
        ] {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().expect("parent")).expect("mkdir");
            std::fs::write(path, text).expect("write");
        }
        let all = list(dir.path(), 2, 100, &open, &|| false).expect("list");
        assert_eq!(all, format!("{}:\n.gitignore\na/\na/b/\nz.txt", dir.path().display()));
        assert!(
            list(dir.path(), 9, 100, &open, &|| false)
                .expect("list")
                .contains("a/b/c.txt")
        );
        assert!(
            list(dir.path(), 2, 1, &open, &|| false)
                .expect("list")
                .ends_with("list a folder below)")
        );
        assert!(matches!(
            list(&dir.path().join("z.txt"), 1, 1, &open, &|| false),
            Err(ToolError::Answer(_))
        ));
        assert!(matches!(
            list(&dir.path().join("none"), 1, 1, &open, &|| false),
            Err(ToolError::Answer(_))
        ));
    }
}
