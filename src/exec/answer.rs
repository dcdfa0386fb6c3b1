//! Programs of the person's own that are asked for a short answer, such as a token.

use super::named::{self, Open};
use super::program;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;

/// The most that is read of an answer, in bytes.
const MOST_ANSWER: u64 = 64 << 10;
/// Characters of what a program complains of that are shown.
const SHOWN: usize = 300;
/// How long is read on after the program has ended.
const LEFT: Duration = Duration::from_millis(200);

/// A program of the person's own, in their environment and outside the sandbox, with nothing to read; and its name. `folder` is
/// where it starts and a relative name counts from; without one it starts where nothing of a workspace's is taken for its own.
///
/// # Errors
/// None is named, it is found only where others could have put it, its arguments depend on a folder and there is none, or commands
/// could change what it runs.
pub(super) fn own_program<'a>(
    argv: &'a [String],
    folder: Option<&Path>,
    env: &BTreeMap<String, String>,
) -> Result<(&'a str, Command), String> {
    let (program, arguments) = argv.split_first().ok_or("no program is named")?;
    let found = program::find(program, folder, env).map_err(|unfound| unfound.to_string())?;
    let start = match (folder, program::relative_argument(arguments, None)) {
        (Some(folder), _) => folder.to_owned(),
        (None, None) => program::neutral_folder(env),
        (None, Some(argument)) => {
            return Err(format!(
                "`{program}` does not start in the workspace, where {argument:?} would be somebody else's file; give an absolute path"
            ));
        }
    };
    let mut its = env.clone();
    // What it starts itself is found as it is, and what it loads comes from no other place.
    its.insert("PATH".to_owned(), program::search_path(env));
    program::drop_open_code_paths(&mut its, |_| false);
    program::share_no_caches(&mut its);
    // Nobody is asked before it starts, and what it runs may have been written by a command a moment ago.
    let mut line = vec![found.to_string_lossy().into_owned()];
    line.extend_from_slice(arguments);
    let is_in = folder.filter(|folder| program::is_open(folder, env));
    let open = is_in
        .map(|folder| Open::Place(folder.to_owned()))
        .or_else(|| named::open_code(&line, &start, &its));
    match open {
        None => {}
        Some(Open::Place(path)) => {
            return Err(format!(
                "`{program}` is not started, since commands or other users can change what it runs: {}. It runs outside the \
                 sandbox, so put that where nobody but you can write, outside of the workspace and of temporary folders, and \
                 name it there",
                crate::shown::path(&path)
            ));
        }
        Some(Open::Unknown(word)) => {
            return Err(format!(
                "`{program}` is not started, since it cannot be known beforehand what `{}` runs. It runs outside the sandbox, \
                 so put these commands into a script that nobody but you can write, and name its absolute path",
                crate::shown::line(&word)
            ));
        }
    }
    let mut command = Command::new(found);
    command.current_dir(start);
    command.args(arguments).env_clear().envs(its).stdin(Stdio::null());
    // What is sent to the group of the server, such as an interrupt, is not meant for it.
    #[cfg(unix)]
    command.process_group(0);
    Ok((program, command))
}

/// Starts a program of the person's, in their environment and outside the sandbox, and gives what it writes on its standard
/// output, without white space around it. It starts in `cwd`, or in a neutral folder, and ends with the limit at the latest.
///
/// # Errors
/// There is no answer; why, as the end of a sentence.
pub async fn answer_of(
    argv: &[String],
    cwd: Option<&Path>,
    env: &BTreeMap<String, String>,
    limit: Duration,
) -> Result<String, String> {
    let (program, mut command) = own_program(argv, cwd, env)?;
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("`{program}` cannot be started: {error}"))?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let group = child.id();
    let (mut said, mut complained) = (Vec::new(), Vec::new());
    let ended = async {
        let reading = async { tokio::join!(read(out, &mut said), read(err, &mut complained)) };
        tokio::pin!(reading);
        tokio::select! {
            _ = &mut reading => child.wait().await,
            // What it leaves running may hold the pipes open; what it wrote itself is in them by now.
            status = child.wait() => {
                let _left = tokio::time::timeout(LEFT, &mut reading).await;
                status
            }
        }
    };
    let ended = tokio::time::timeout(limit, ended).await;
    let Ok(status) = ended else {
        end(group);
        return Err(format!("`{program}` did not end within {} ms", limit.as_millis()));
    };
    let (out, err) = (text(&said), text(&complained));
    let status = status.map_err(|error| format!("what became of `{program}` is not known: {error}"))?;
    if !status.success() {
        let words: String = err.chars().take(SHOWN).collect();
        return Err(format!("`{program}` failed ({status}): {words}"));
    }
    Ok(out)
}

/// What was read before a failure, or before it was waited for no longer, counts.
async fn read(pipe: Option<impl AsyncRead + Unpin>, bytes: &mut Vec<u8>) {
    if let Some(pipe) = pipe {
        let _ = pipe.take(MOST_ANSWER).read_to_end(bytes).await;
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

/// Ends a program that took too long, with all that it started.
fn end(group: Option<u32>) {
    #[cfg(unix)]
    if let Some(group) = group.and_then(|id| rustix::process::Pid::from_raw(id.cast_signed())) {
        let _gone = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    #[cfg(not(unix))]
    let _ = group;
}
