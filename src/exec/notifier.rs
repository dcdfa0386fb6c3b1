//! Programs of the person's own that are started and not looked after.

use super::answer::own_program;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;

/// Starts a program of the person's, in their environment and outside the sandbox, and goes on. It reads nothing, says
/// nothing, and lives as long as it likes, past this server too. That it could not be started, or failed, is logged.
pub fn start_and_forget(argv: Vec<String>, cwd: &Path, env: &BTreeMap<String, String>) {
    let Some((program, mut command)) = own_program(&argv, env) else {
        return;
    };
    command.stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(false);
    // The thread's folder may be gone by now; that is no reason not to tell.
    if cwd.is_dir() {
        command.current_dir(cwd);
    }
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
        }
        Err(error) => {
            tracing::warn!(program, %error, "the notifier could not be started; look at `notify` in config.toml");
        }
    }
}
