//! Programs of the person's own that are started and not looked after.

use super::answer::own_program;
use std::collections::BTreeMap;
use std::process::Stdio;

/// Starts a program of the person's, in their environment and outside the sandbox, and goes on. It reads nothing, says
/// nothing, and lives as long as it likes, past this server too. It starts in a neutral folder: a workspace holds code that it
/// would take for its own. That it failed is logged.
///
/// # Errors
/// It could not be started; why, for the person. That is logged, too.
pub fn start_and_forget(argv: &[String], env: &BTreeMap<String, String>) -> Result<(), String> {
    let (program, mut command) = own_program(argv, None, env)
        .inspect_err(|error| tracing::warn!(error, "the notifier is not started; look at `notify` in config.toml"))?;
    command.stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(false);
    match command.spawn() {
        Ok(mut child) => {
            let program = program.to_owned();
            tokio::spawn(async move {
                match child.wait().await {
                    Ok(status) if status.success() => {}
                    Ok(status) => tracing::warn!(program, %status, "the notifier failed"),
                    Err(error) => tracing::warn!(program, %error, "what became of the notifier is not known"),
                }
            });
            Ok(())
        }
        Err(error) => {
            tracing::warn!(program, %error, "the notifier could not be started; look at `notify` in config.toml");
            Err(format!("{program} could not be started: {error}"))
        }
    }
}
