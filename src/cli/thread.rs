//! `countersign thread`: the conversations that are kept, without an editor. Reads them, and makes the document by which an editor
//! resumes one; it changes none.

use super::exec;
use crate::agent::clock;
use crate::chat::catch_up;
use crate::chat::document::{AGENT, YOU};
use crate::handlers::chat;
use crate::ids::ThreadId;
use crate::protocol::thread::{Thread, ThreadListParams};
use crate::shown;
use crate::store;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Characters of a name in a list.
const LONGEST_NAME: usize = 80;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List the conversations, those used last first.
    List(List),
    /// Print a conversation as Markdown.
    Show(Show),
    /// Make a chat document in which an editor resumes a conversation, and print its path.
    Resume {
        /// The conversation's id, or `last` for the one used last in this folder.
        id: String,
    },
}

#[derive(Debug, clap::Args)]
struct List {
    /// Those of this folder only, not all.
    #[arg(long)]
    here: bool,
    /// The archived ones in place of the others.
    #[arg(long)]
    archived: bool,
    /// Those of Codex, in `$CODEX_HOME` or `~/.codex`.
    #[arg(long)]
    codex: bool,
    /// How many at most.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// One line of JSON each.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct Show {
    /// The conversation's id, or `last` for the one used last in this folder.
    id: String,
    /// Print it as JSON, with all its items.
    #[arg(long)]
    json: bool,
}

/// The status is 0 if there is what was asked for.
pub fn run(args: Args) -> ExitCode {
    let said = match args.command {
        Command::List(wish) => list(&wish),
        Command::Show(wish) => show(&wish),
        Command::Resume { id } => resume(&id),
    };
    let mut out = io::stdout().lock();
    match said {
        Ok(text) => match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Ok(()) => ExitCode::SUCCESS,
            // The reader, `head` for one, has seen enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        Err(problem) => {
            let _closed = writeln!(io::stderr(), "{}", shown::prose(&problem));
            ExitCode::FAILURE
        }
    }
}

fn home() -> Result<PathBuf, String> {
    super::home().ok_or_else(|| {
        "No home folder is known, so there are no conversations. Set COUNTERSIGN_HOME to a folder.".to_owned()
    })
}

/// Where Codex keeps its own.
fn home_of_codex() -> Result<PathBuf, String> {
    let variable = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    variable("CODEX_HOME")
        .or_else(|| Some(variable("HOME")?.join(".codex")))
        .ok_or_else(|| {
            "Neither CODEX_HOME nor HOME is set, so it is not known where Codex keeps its conversations.".to_owned()
        })
}

fn here() -> Result<PathBuf, String> {
    std::env::current_dir().map_err(|error| format!("The current folder is not known: {error}."))
}

fn list(wish: &List) -> Result<String, String> {
    let home = match wish.codex {
        true => home_of_codex()?,
        false => home()?,
    };
    let params = ThreadListParams {
        limit: Some(wish.limit),
        // Whoever answered in them.
        model_providers: Some(Vec::new()),
        cwd: wish.here.then(here).transpose()?,
        archived: wish.archived,
        sources: Some(all_sources()),
        ..ThreadListParams::default()
    };
    let page = store::list(&home, &params, "").map_err(|error| error.to_string())?;
    if wish.json {
        let lines = page
            .data
            .iter()
            .map(|thread| Ok(format!("{}\n", serde_json::to_string(thread)?)));
        return lines
            .collect::<serde_json::Result<_>>()
            .map_err(|error| error.to_string());
    }
    if page.data.is_empty() {
        let place = if wish.here { " in this folder" } else { "" };
        return Ok(format!("There are no conversations{place}.\n"));
    }
    let mut text: String = page.data.iter().map(line).collect();
    if page.next_cursor.is_some() {
        text.push_str(&format!(
            "There are more: --limit {} shows as many.\n",
            wish.limit.saturating_mul(2)
        ));
    }
    Ok(text)
}

/// A conversation on one line; nothing in it hides, whatever was said.
fn line(thread: &Thread) -> String {
    let name = shown::line(thread.name.as_ref().unwrap_or(&thread.preview));
    let name = match name.char_indices().nth(LONGEST_NAME) {
        Some((at, _)) => format!("{}…", &name[..at]),
        None => name,
    };
    let of_run = if thread.source == exec::NAME { "(exec) " } else { "" };
    format!(
        "{}  {}  {}  {of_run}{name}\n",
        thread.id,
        clock(thread.updated_at_ms),
        shown::path(&thread.cwd)
    )
}

/// Conversations that a person holds, and runs without an editor.
fn all_sources() -> Vec<String> {
    [store::INTERACTIVE, exec::NAME].map(str::to_owned).into()
}

/// The conversation with this id, or the only one whose id begins so.
///
/// # Errors
/// There are several.
pub(super) fn named(home: &Path, id: &str) -> Result<ThreadId, String> {
    const LEAST: usize = 6;
    let whole = ThreadId::from(id);
    let is_beginning = id.len() >= LEAST && id.len() < 36 && id.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    if !is_beginning {
        return Ok(whole);
    }
    let params = ThreadListParams {
        limit: Some(u32::MAX),
        model_providers: Some(Vec::new()),
        sources: Some(all_sources()),
        ..ThreadListParams::default()
    };
    let page = store::list(home, &params, "").map_err(|error| error.to_string())?;
    let mut fitting = page
        .data
        .into_iter()
        .map(|thread| thread.id)
        .filter(|one| one.as_str().starts_with(id));
    match (fitting.next(), fitting.next()) {
        (Some(one), None) => Ok(one),
        (Some(one), Some(other)) => Err(format!(
            "{id} is the beginning of several ids: {one}, {other}. Give more of it."
        )),
        (None, _) => Ok(whole),
    }
}

/// The conversation that is meant.
fn find(home: &Path, id: &str, with_turns: bool) -> Result<Thread, String> {
    let id = match id {
        "last" => last(home, &here()?, Some(all_sources()))?,
        id => named(home, id)?,
    };
    store::read(home, &id, with_turns).map_err(|error| error.to_string())
}

/// The conversation that was used last in a folder: one that a person holds, or one that was started in these ways.
///
/// # Errors
/// There is none.
pub(super) fn last(home: &Path, folder: &Path, sources: Option<Vec<String>>) -> Result<ThreadId, String> {
    let params = ThreadListParams {
        limit: Some(1),
        model_providers: Some(Vec::new()),
        cwd: Some(folder.to_owned()),
        sources,
        ..ThreadListParams::default()
    };
    let page = store::list(home, &params, "").map_err(|error| error.to_string())?;
    let newest = page.data.into_iter().next().map(|thread| thread.id);
    newest.ok_or_else(|| {
        "There is no conversation in this folder. `countersign thread list` shows those of all folders.".to_owned()
    })
}

fn show(wish: &Show) -> Result<String, String> {
    let thread = find(&home()?, &wish.id, true)?;
    if wish.json {
        let json = serde_json::to_string_pretty(&thread).map_err(|error| error.to_string())?;
        return Ok(json + "\n");
    }
    let mut text = format!(
        "---\nthread: {}\nfolder: {}\n---\n",
        thread.id,
        shown::path(&thread.cwd)
    );
    for (_, words, story) in catch_up::stories(&thread.turns) {
        for said in words {
            text.push_str(&format!("\n{YOU}\n\n{}\n", shown::prose(said.trim())));
        }
        if !story.all().is_empty() {
            text.push_str(&format!("\n{AGENT}\n\n{}\n", story.all().trim_start()));
        }
    }
    Ok(text)
}

fn resume(id: &str) -> Result<String, String> {
    let home = home()?;
    let thread = find(&home, id, false)?;
    if thread.archived {
        return Err(format!(
            "{} is archived. Unarchive it in an editor's list of conversations (countersign.listThreads) first.",
            thread.id
        ));
    }
    let document = chat::make(&home.join("chats"), &thread.cwd, Some(&thread.id), "")?;
    Ok(format!("{}\n", document.display()))
}
