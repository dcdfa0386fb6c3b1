//! The body of the process that writes files: a transaction comes in as JSON, its outcome goes out as JSON. Started
//! under the turn's sandbox it cannot write anywhere else, whatever links do.

use super::{CommitError, Transaction, commit};
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum Outcome {
    Done,
    Failed { error: CommitError },
}

/// Reads a transaction, carries it out and writes the outcome. The exit status is 0 if all was written, 1 if nothing
/// was, 2 if the transaction could not be read or the outcome not be written.
pub fn apply_role(mut stdin: impl Read, mut stdout: impl Write) -> i32 {
    let mut input = Vec::new();
    let read = stdin.read_to_end(&mut input).map_err(|error| error.to_string());
    let transaction = read.and_then(|_| serde_json::from_slice(&input).map_err(|error| error.to_string()));
    let (status, outcome) = match transaction.as_ref().map(commit) {
        Ok(Ok(())) => (0, Outcome::Done),
        Ok(Err(error)) => (1, Outcome::Failed { error }),
        Err(message) => {
            let message = format!("it did not understand the transaction ({message}) and wrote nothing");
            (
                2,
                Outcome::Failed {
                    error: CommitError::Role { message },
                },
            )
        }
    };
    let written = serde_json::to_vec(&outcome)
        .map_err(std::io::Error::other)
        .and_then(|text| stdout.write_all(&text))
        .and_then(|()| stdout.flush());
    if written.is_ok() { status } else { 2 }
}

impl Transaction {
    /// What [`apply_role`] reads.
    ///
    /// # Errors
    /// A path is not UTF-8 and so has no place in JSON.
    pub fn to_json(&self) -> Result<Vec<u8>, CommitError> {
        serde_json::to_vec(self).map_err(|error| CommitError::Role {
            message: error.to_string(),
        })
    }
}

/// Reads what [`apply_role`] wrote.
///
/// # Errors
/// What it reported, or that it died without a report.
pub fn read_outcome(stdout: &[u8]) -> Result<(), CommitError> {
    match serde_json::from_slice(stdout) {
        Ok(Outcome::Done) => Ok(()),
        Ok(Outcome::Failed { error }) => Err(error),
        Err(_) => Err(CommitError::Role {
            message: "it ended without a report".to_owned(),
        }),
    }
}
