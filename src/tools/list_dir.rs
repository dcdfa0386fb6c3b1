//! `list_dir`: what is in a folder, ignore files honoured.

use super::{
    ANSWER_LIMIT, Call, Host, Look, Tool, ToolError, ToolOutput, arguments, blocking, schema, shown_arguments,
};
use crate::model::item::ToolSpec;
use crate::workspace::{Judge, Opened, walk};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;
use std::fmt::Write;
use std::path::{Path, PathBuf};

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
                    "dir_path": {"type": "string", "description": "Default: the working directory."},
                    "depth": {"type": "integer", "description": "Default 2."},
                    "limit": {"type": "integer", "description": "Default 200."},
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
            blocking(move || list(&dir, depth, limit, reading.as_ref(), &|| stop.is_cancelled()))
                .await?
                .map(ToolOutput::ok)
        })
    }
}

/// The folder's path, then what is in it, a path a line.
pub(crate) fn list(
    dir: &Path,
    depth: usize,
    limit: usize,
    judge: &dyn Judge,
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
    let mut folders = Folders {
        judge,
        known: Vec::new(),
    };
    for entry in walk::entries(dir, Some(depth)) {
        if stop() {
            return Err(ToolError::Answer("The listing was stopped.".to_owned()));
        }
        if !folders.tell(&entry.path) {
            continue;
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

/// The folders around an entry, as far as they may be read: of one that is closed only the name is told.
struct Folders<'a> {
    judge: &'a dyn Judge,
    /// The innermost last.
    known: Vec<(PathBuf, Option<Opened>)>,
}

impl Folders<'_> {
    /// Whether an entry is one of its folder, and that may be read. What the path of the folder leads to can be another
    /// by now; what is open cannot.
    fn tell(&mut self, entry: &Path) -> bool {
        let (Some(folder), Some(name)) = (entry.parent(), entry.file_name()) else {
            return false;
        };
        while self.known.last().is_some_and(|(known, _)| !folder.starts_with(known)) {
            self.known.pop();
        }
        if self.known.last().is_none_or(|(known, _)| known != folder) {
            let opened = Opened::judged(folder, self.judge).ok();
            self.known.push((folder.to_owned(), opened));
        }
        let opened = self.known.last().and_then(|(_, opened)| opened.as_ref());
        opened.is_some_and(|opened| opened.has(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::opened::All;

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
        let all = list(dir.path(), 2, 100, &All, &|| false).expect("list");
        assert_eq!(all, format!("{}:\n.gitignore\na/\na/b/\nz.txt", dir.path().display()));
        assert!(
            list(dir.path(), 9, 100, &All, &|| false)
                .expect("list")
                .contains("a/b/c.txt")
        );
        assert!(
            list(dir.path(), 2, 1, &All, &|| false)
                .expect("list")
                .ends_with("list a folder below)")
        );
        assert!(matches!(
            list(&dir.path().join("z.txt"), 1, 1, &All, &|| false),
            Err(ToolError::Answer(_))
        ));
        assert!(matches!(
            list(&dir.path().join("none"), 1, 1, &All, &|| false),
            Err(ToolError::Answer(_))
        ));
    }

    /// Names are given of a folder that was judged, wherever its path led when it was walked.
    #[cfg(unix)]
    #[test]
    fn what_is_swapped_after_the_look_is_not_told() {
        use crate::workspace::opened::Swaps;
        let swaps = Swaps::new("same");
        std::fs::write(swaps.link.with_file_name("closed").join("secret-name"), "").expect("write");
        for _ in 0..2 {
            let listed = list(&swaps.link, 2, 100, &swaps, &|| false).expect("list");
            assert!(listed.ends_with("(empty)"), "{listed}");
        }
        let listed = list(&swaps.link, 2, 100, &All, &|| false).expect("list");
        assert!(listed.contains("secret-name"), "{listed}");
    }
}
