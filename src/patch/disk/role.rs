//! The body of the process that writes files: what to do comes in as JSON, its outcome goes out as JSON. Started under
//! the turn's sandbox it cannot write anywhere else, whatever links do.

use super::{CommitError, Recovery, Transaction, commit, recover_one, settle};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::io::{Read, Write};
use std::path::PathBuf;

/// First argument of the process.
pub const NAME: &str = "--apply-role";

/// What the process is to do.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Request<'t> {
    /// [`commit`]; its answer is read by [`read_outcome`].
    Commit(Cow<'t, Transaction>),
    /// [`settle`]; its answer is read by [`read_outcome`].
    Settle { journal: PathBuf, stands: bool },
    /// [`recover_one`], in the roots that the journal names; its answer is read by [`read_recovery`].
    Recover { journal: PathBuf },
}

impl Request<'_> {
    /// What [`apply_role`] reads.
    ///
    /// # Errors
    /// A path is not UTF-8 and so has no place in JSON.
    pub fn to_json(&self) -> Result<Vec<u8>, CommitError> {
        serde_json::to_vec(self).map_err(|error| CommitError::Role {
            message: format!("it cannot be told what to do ({error}) and wrote nothing"),
        })
    }
}

impl Transaction {
    /// What [`apply_role`] reads to carry it out.
    ///
    /// # Errors
    /// As of [`Request::to_json`].
    pub fn to_json(&self) -> Result<Vec<u8>, CommitError> {
        Request::Commit(Cow::Borrowed(self)).to_json()
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum Outcome {
    Done,
    Failed { error: CommitError },
    Recovered { recovery: Recovery },
}

/// Reads a request, carries it out and writes the outcome. The exit status is 0 if it was done, 1 if not, 2 if the
/// request could not be read or the outcome not be written.
pub fn apply_role(mut stdin: impl Read, mut stdout: impl Write) -> i32 {
    let mut input = Vec::new();
    let read = stdin.read_to_end(&mut input).map_err(|error| error.to_string());
    let request = read.and_then(|_| serde_json::from_slice(&input).map_err(|error| error.to_string()));
    let of = |done: Result<(), CommitError>| match done {
        Ok(()) => (0, Outcome::Done),
        Err(error) => (1, Outcome::Failed { error }),
    };
    let (status, outcome) = match request {
        Ok(Request::Commit(transaction)) => of(commit(&transaction)),
        Ok(Request::Settle { journal, stands }) => of(settle(&journal, stands)),
        Ok(Request::Recover { journal }) => {
            let recovery = recover_one(&journal, None);
            (0, Outcome::Recovered { recovery })
        }
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

/// Reads what [`apply_role`] wrote; `None` if it died without a report.
fn report<T: DeserializeOwned>(stdout: &[u8]) -> Option<T> {
    serde_json::from_slice(stdout).ok()
}

/// Reads how a transaction went.
///
/// # Errors
/// What was reported, or that the process died without a report ([`CommitError::Died`]).
pub fn read_outcome(stdout: &[u8]) -> Result<(), CommitError> {
    match report(stdout) {
        Some(Outcome::Done) => Ok(()),
        Some(Outcome::Failed { error }) => Err(error),
        Some(Outcome::Recovered { .. }) | None => Err(CommitError::Died),
    }
}

/// Reads how a recovery went.
///
/// # Errors
/// What was reported, or that the process died without a report.
pub fn read_recovery(stdout: &[u8]) -> Result<Recovery, CommitError> {
    match report(stdout) {
        Some(Outcome::Recovered { recovery }) => Ok(recovery),
        Some(Outcome::Failed { error }) => Err(error),
        Some(Outcome::Done) | None => Err(CommitError::Died),
    }
}
