//! `grep_files`: searches the project's files as the person sees them.

use super::{
    ANSWER_LIMIT, Call, Host, Look, Tool, ToolError, ToolOutput, arguments, blocking, schema, shown_arguments,
};
use crate::model::item::ToolSpec;
use crate::workspace::{Judge, Opened, Workspace, walk};
use futures::future::BoxFuture;
use globset::{GlobBuilder, GlobMatcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, sinks::Lossy};
use serde::Deserialize;
use serde_json::json;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const DEFAULT_LIMIT: usize = 100;
/// More than anyone reads; also where the model asks for more.
const MOST_LINES: usize = 2000;
/// Files that were found of which an editor that does not tell by itself is asked for its text.
const MOST_LOOKS: usize = 32;
/// Characters shown of one line.
const LINE_LIMIT: usize = 300;

pub struct GrepFiles;

#[derive(Deserialize)]
struct Arguments {
    pattern: String,
    #[serde(alias = "glob")]
    include: Option<String>,
    path: Option<String>,
    #[serde(default)]
    ignore_case: bool,
    limit: Option<usize>,
}

impl Tool for GrepFiles {
    fn spec(&self) -> ToolSpec {
        ToolSpec::Function {
            name: "grep_files".to_owned(),
            description:
                "Searches files for a regular expression, as the person sees them in the editor, unsaved changes \
                included. Answers with path:line: text. What .gitignore and .countersignignore name is left out."
                    .to_owned(),
            strict: false,
            parameters: schema(
                json!({
                    "pattern": {"type": "string", "description": "Rust syntax, matched line by line."},
                    "include": {"type": "string", "description": "Glob of file names, such as *.rs."},
                    "path": {"type": "string", "description": "Folder or file; default: the working directory."},
                    "ignore_case": {"type": "boolean"},
                    "limit": {"type": "integer", "description": "Default 100."},
                }),
                &["pattern"],
            ),
        }
    }

    fn only_reads(&self) -> bool {
        true
    }

    fn look(&self, call: &Call) -> Option<Look> {
        let arguments = shown_arguments(call);
        let pattern = arguments
            .get("pattern")
            .and_then(|pattern| pattern.as_str())
            .unwrap_or_default();
        Some(Look {
            title: format!("Search for {pattern}"),
            arguments,
        })
    }

    fn run<'a>(&'a self, call: &'a Call, host: &'a dyn Host) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let search = Arc::new(Search::new(arguments(call)?, host)?);
            host.look_below(&search.dir).await;
            let mut found = search.run_apart(host).await?;
            let before = *host.workspace().changed().borrow();
            let looks = found.files.iter().take(MOST_LOOKS).map(|(path, _)| host.look_at(path));
            futures::future::join_all(looks).await;
            if *host.workspace().changed().borrow() != before {
                // The editor holds another text of a file that was found.
                found = search.run_apart(host).await?;
            }
            let mut shown = String::new();
            let mut count = 0;
            for (path, lines) in &found.files {
                count += lines.len();
                let name = path.strip_prefix(host.cwd()).unwrap_or(path).display();
                for (number, line) in lines {
                    let _ = writeln!(shown, "{name}:{number}: {line}");
                }
            }
            if count == 0 {
                return Ok(ToolOutput::ok("(nothing found)"));
            }
            if found.more {
                shown.push_str("(more matches; narrow the search or raise limit)\n");
            }
            shown.truncate(shown.trim_end_matches('\n').len());
            Ok(ToolOutput::ok(shown))
        })
    }
}

struct Search {
    matcher: RegexMatcher,
    include: Option<GlobMatcher>,
    dir: PathBuf,
    limit: usize,
}

#[derive(Default)]
struct Found {
    files: Vec<(PathBuf, Vec<(u64, String)>)>,
    more: bool,
}

impl Search {
    fn new(arguments: Arguments, host: &dyn Host) -> Result<Self, ToolError> {
        let matcher = RegexMatcherBuilder::new()
            .case_insensitive(arguments.ignore_case)
            .line_terminator(Some(b'\n'))
            .build(&arguments.pattern)
            .map_err(|error| ToolError::Answer(format!("The pattern is no regular expression: {error}.")))?;
        let include = arguments
            .include
            .map(|glob| {
                GlobBuilder::new(&glob)
                    .literal_separator(false)
                    .build()
                    .map(|glob| glob.compile_matcher())
                    .map_err(|error| ToolError::Answer(format!("include is no glob: {error}.")))
            })
            .transpose()?;
        let dir = host.resolve(arguments.path.as_deref().unwrap_or("."));
        host.may_read(&dir)?;
        if !dir.exists() && host.workspace().document(&dir).is_none() {
            return Err(ToolError::Answer(format!("There is no {} to search.", dir.display())));
        }
        Ok(Self {
            matcher,
            include,
            dir,
            limit: arguments.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MOST_LINES),
        })
    }

    /// Searches where that holds nobody up.
    async fn run_apart(self: &Arc<Self>, host: &dyn Host) -> Result<Found, ToolError> {
        let (search, workspace, stop, reading) =
            (self.clone(), host.workspace().clone(), host.cancelled(), host.reading());
        blocking(move || search.run(&workspace, reading.as_ref(), &|| stop.is_cancelled())).await?
    }

    fn run(&self, workspace: &Workspace, reading: &dyn Judge, stop: &dyn Fn() -> bool) -> Result<Found, ToolError> {
        let mut searcher = SearcherBuilder::new()
            .line_number(true)
            .binary_detection(BinaryDetection::quit(0))
            .build();
        let mut found = Found::default();
        let mut room = self.limit;
        let mut size = 0;
        let files: Box<dyn Iterator<Item = PathBuf>> = if self.dir.is_dir() {
            Box::new(
                walk::entries(&self.dir, None)
                    .filter(|entry| !entry.is_dir)
                    .map(|entry| entry.path),
            )
        } else {
            Box::new(std::iter::once(self.dir.clone()))
        };
        for path in files {
            if stop() {
                return Err(ToolError::Answer("The search was stopped.".to_owned()));
            }
            // A folder may hold files that may not be read: they are as if they were not there.
            if !self.wanted(&path) || reading.path(&path).is_err() {
                continue;
            }
            let lines = self.lines(&mut searcher, (workspace, reading), &path, room + 1);
            if lines.is_empty() {
                continue;
            }
            found.more = lines.len() > room;
            let taken: Vec<_> = lines.into_iter().take(room).collect();
            room -= taken.len();
            size += taken.iter().map(|(_, line)| line.len()).sum::<usize>();
            found.more |= size > ANSWER_LIMIT;
            if !taken.is_empty() {
                found.files.push((path, taken));
            }
            if found.more {
                break;
            }
        }
        Ok(found)
    }

    fn wanted(&self, path: &Path) -> bool {
        self.include.as_ref().is_none_or(|include| {
            let below = path.strip_prefix(&self.dir).unwrap_or(path);
            include.is_match(below) || path.file_name().is_some_and(|name| include.is_match(name))
        })
    }

    fn search_opened(
        &self,
        searcher: &mut Searcher,
        opened: &Opened,
        sink: impl Sink<Error = std::io::Error>,
    ) -> Result<(), String> {
        // What took the place of the file meanwhile is none.
        if !opened.metadata().is_file() {
            return Ok(());
        }
        searcher
            .search_file(&self.matcher, opened.file(), sink)
            .map_err(|error| error.to_string())
    }

    /// Matching lines of one file; a file that cannot be read has none.
    fn lines(
        &self,
        searcher: &mut Searcher,
        (workspace, reading): (&Workspace, &dyn Judge),
        path: &Path,
        most: usize,
    ) -> Vec<(u64, String)> {
        let mut lines = Vec::new();
        let sink = Lossy(|number, line: &str| {
            let line = line.trim_end();
            let cut = line.char_indices().nth(LINE_LIMIT).map_or(line.len(), |(at, _)| at);
            lines.push((number, line[..cut].to_owned()));
            Ok(lines.len() < most)
        });
        let searched = match workspace.judged_document(path, reading) {
            Ok(Some(document)) => searcher
                .search_reader(&self.matcher, RopeReader::new(&document.rope), sink)
                .map_err(|error| error.to_string()),
            // Never opens a pipe or a device: that could wait for ever.
            Ok(None) if std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file()) => {
                Opened::after_look(path, reading)
                    .map_err(|error| error.to_string())
                    .and_then(|opened| self.search_opened(searcher, &opened, sink))
            }
            Ok(None) => Ok(()),
            Err(error) => Err(error.to_string()),
        };
        if let Err(error) = searched {
            tracing::debug!(path = %path.display(), %error, "not searched");
        }
        lines
    }
}

/// Reads a rope chunk by chunk, without a copy of the whole text.
struct RopeReader<'a> {
    chunks: ropey::iter::Chunks<'a>,
    rest: &'a [u8],
}

impl<'a> RopeReader<'a> {
    fn new(rope: &'a ropey::Rope) -> Self {
        Self {
            chunks: rope.chunks(),
            rest: &[],
        }
    }
}

impl std::io::Read for RopeReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while self.rest.is_empty() {
            match self.chunks.next() {
                Some(chunk) => self.rest = chunk.as_bytes(),
                None => return Ok(0),
            }
        }
        let count = self.rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.rest[..count]);
        self.rest = &self.rest[count..];
        Ok(count)
    }
}
