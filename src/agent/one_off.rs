//! One command beside all conversations, for the client: in the sandbox, with the environment of every other command, and
//! without a trace in any thread.

use super::aside::aside;
use super::{Agent, AgentError, permissions, scratch};
use crate::exec::{self, CommandRequest, Finished, Input, Stream};
use crate::protocol::command::CommandExecParams;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Longest run where the client names none.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest run that can be named.
const MOST_TIMEOUT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// A command that can be run.
pub struct OneOff {
    request: CommandRequest,
}

impl OneOff {
    /// Puts together what is run, by the configuration as it stands, where looking at the disk holds up nobody.
    pub async fn prepare(agent: &Agent, params: CommandExecParams) -> Result<Self, AgentError> {
        let agent = agent.clone();
        aside(move || Self::new(&agent, &params)).await
    }

    fn new(agent: &Agent, params: &CommandExecParams) -> Result<Self, AgentError> {
        if params.command.first().is_none_or(|program| program.trim().is_empty()) {
            return Err(AgentError::EmptyCommand);
        }
        if params.command.iter().any(|word| word.contains('\0')) {
            return Err(bad(
                "command holds a NUL character, which no program can be given; leave it out",
            ));
        }
        let base = agent.default_folder();
        scratch::make(&agent.services().home, &base)?;
        let config = agent.load_config(Some(&base), None)?.config;
        let confinement = permissions::one_off(
            agent.services(),
            &config,
            &base,
            params.permissions.as_deref(),
            params.sandbox_policy.as_ref(),
        )?;
        let mut env = agent.services().command_environment(&config, "", &confinement);
        change(&mut env, &params.env)?;
        let timeout = params.timeout_ms.map_or(DEFAULT_TIMEOUT, Duration::from_millis);
        Ok(Self {
            request: CommandRequest {
                argv: agent.services().through_profile(&config, &params.command),
                argv0: None,
                cwd: match &params.cwd {
                    Some(cwd) => crate::workspace::uri::clean(&base.join(cwd)),
                    None => base,
                },
                env,
                confinement,
                timeout: Some(timeout.min(MOST_TIMEOUT)),
                input: params
                    .stdin
                    .clone()
                    .map_or(Input::Nothing, |text| Input::Bytes(text.into_bytes())),
                wrote: exec::Wrote::default(),
                full: exec::FullOutput::default(),
            },
        })
    }

    /// Runs it to its end. When this is dropped or `stop` fires it ends with everything it started.
    pub async fn run(
        self,
        on_output: impl FnMut(Stream, &str) + Send,
        stop: CancellationToken,
    ) -> Result<Finished, AgentError> {
        let run = exec::run(self.request, on_output, stop);
        run.await.map_err(AgentError::Exec)
    }
}

/// The client's own variables.
fn change(env: &mut BTreeMap<String, String>, own: &BTreeMap<String, Option<String>>) -> Result<(), AgentError> {
    for (name, value) in own {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(bad(&format!(
                "env has the name {name:?}, which no variable can have; it must not be empty nor hold = or NUL"
            )));
        }
        match value {
            Some(value) if value.contains('\0') => {
                return Err(bad(&format!(
                    "the value of {name} in env holds a NUL character; leave it out"
                )));
            }
            Some(value) => drop(env.insert(name.clone(), value.clone())),
            None => drop(env.remove(name)),
        }
    }
    Ok(())
}

fn bad(what: &str) -> AgentError {
    AgentError::BadCommand(format!("The command cannot be run as it stands: {what}."))
}
