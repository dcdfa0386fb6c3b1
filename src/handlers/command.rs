//! `workspace/executeCommand`: one table of commands, which is also what the server announces.

use crate::handlers::Context;
use crate::lsp::error::RequestError;
use lsp_types::ExecuteCommandParams;
use serde_json::Value;

type Run = fn(&Context, Vec<Value>) -> Result<Value, RequestError>;

/// Name and what it does. The first argument of each is an object.
const COMMANDS: &[(&str, Run)] = &[];

/// The names, for `initialize`.
pub fn names() -> Vec<String> {
    COMMANDS.iter().map(|(name, _)| (*name).to_owned()).collect()
}

pub fn execute(context: &Context, params: ExecuteCommandParams) -> Result<Option<Value>, RequestError> {
    match COMMANDS.iter().find(|(name, _)| *name == params.command) {
        Some((_, run)) => run(context, params.arguments).map(Some),
        None => Err(RequestError::InvalidParams(format!(
            "{} is not a command of this server",
            params.command
        ))),
    }
}
