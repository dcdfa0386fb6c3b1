//! Changes in a row that do not fit their file: the advice changes, and then the turn ends, before a model has tried the same for
//! an hour.

use crate::agent::turn::Turn;
use crate::tools::{ToolError, apply_patch, write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// From this one on the answer says to go about it in another way.
const ADVISED: usize = 3;
/// With this one the turn ends.
const MOST: usize = 6;

/// The answers of a turn with changes that did not fit one file, since the last change of it that did.
#[derive(Default)]
pub(in crate::agent) struct Misfits(Mutex<Row>);

#[derive(Default)]
struct Row {
    /// The file; none where it could not be read which.
    path: Option<PathBuf>,
    /// Answers with such a change.
    length: usize,
    /// The answer that is being carried out is counted.
    is_counted: bool,
}

impl Misfits {
    /// The calls of another answer begin. Those of one answer were made before the model heard of any of them, so they count once.
    pub(in crate::agent) fn begin_answer(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_counted = false;
    }

    /// One more change that does not fit this file, with the answer about it.
    pub(super) fn count(&self, turn: &Turn, path: Option<&Path>, answer: String) -> ToolError {
        let length = {
            let mut row = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if row.path.as_deref() != path {
                *row = Row {
                    path: path.map(Path::to_owned),
                    ..Row::default()
                };
            }
            if !std::mem::replace(&mut row.is_counted, true) {
                row.length += 1;
            }
            row.length
        };
        let file = path.map_or_else(|| "a file".to_owned(), |path| turn.short_name(path));
        if length >= MOST {
            return ToolError::Fatal(format!(
                "The agent tried {length} times in a row to change {file} in ways that do not fit it, so it was stopped; none of these \
                 changes was made. Say more exactly what to change, or try another model."
            ));
        }
        if length < ADVISED {
            return ToolError::Answer(answer);
        }
        let tools = turn.tools();
        let whole = match (tools.has(write::NAME), tools.has(apply_patch::NAME)) {
            (true, _) => format!(", or write the whole file with {} if it is short", write::NAME),
            (false, true) => ", or, if it is short, send all of it with *** Add File".to_owned(),
            (false, false) => String::new(),
        };
        ToolError::Answer(format!(
            "{answer}\nThis was try {length} in a row for {file}. Do not send it again as it is: read that part of the file now, and \
             send a smaller change with its lines as they are{whole}."
        ))
    }

    /// A change of these files fits.
    pub(super) fn forget<'p>(&self, mut paths: impl Iterator<Item = &'p Path>) {
        let mut row = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if row.path.is_none() || paths.any(|path| row.path.as_deref() == Some(path)) {
            *row = Row::default();
        }
    }
}
