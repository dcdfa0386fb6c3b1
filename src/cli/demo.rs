//! `countersign demo`: shows the whole product at work, with nothing but a terminal.
//!
//! A small project with a failing test is made in a temporary folder, the rehearsal model is started on loopback and
//! this program once more as the server; the demonstration is the editor. Everything is real but the model's words. The
//! status is 0 only if all of it was seen to happen; each claim is checked where it can be seen without the server.

mod client;
mod editor;
mod facts;
mod flow;
mod folder;
mod person;
mod project;
mod proposal;
mod screen;
mod script;
mod story;
mod style;
mod svg;
mod turn;

use crate::rehearsal;
use client::Client;
use editor::Buffer;
use facts::Facts;
use folder::{Folder, Outside};
use person::Person;
use project::Project;
use screen::{Screen, seconds};
use std::fs::File;
use std::io::{self, IsTerminal as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use story::{Stage, Stop};
use style::Style;

/// Exit status where nobody can answer.
const NOBODY_ASKED: u8 = 2;
/// Added to a signal's number for the exit status, as shells do.
const SIGNALLED: u8 = 128;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Do not ask: no to leaving the sandbox, yes to the change and to saving it.
    #[arg(long)]
    yes: bool,
    /// Without the pauses that make it easy to follow.
    #[arg(long)]
    fast: bool,
    /// Draw what was shown as a picture, too.
    #[arg(long, value_name = "FILE", hide = true)]
    svg: Option<PathBuf>,
}

/// How it ended.
enum End {
    Told,
    Stopped(Stop),
    /// A signal, by its number.
    Signal(u8),
}

pub fn run(args: Args) -> ExitCode {
    if !args.yes && !io::stdin().is_terminal() {
        say("it asks questions, and standard input is no terminal; add --yes to have them answered");
        return ExitCode::from(NOBODY_ASKED);
    }
    let support = crate::exec::support();
    if !support.can_confine() {
        say(&format!(
            "commands cannot be confined on this machine, and nothing is run without a sandbox: Landlock {}; seccomp {}; \
             namespaces {}. `countersign doctor` says more",
            support.landlock, support.seccomp, support.namespaces
        ));
        return ExitCode::FAILURE;
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            say(&format!("cannot start: {error}"));
            return ExitCode::FAILURE;
        }
    };
    runtime.block_on(demonstrate(&args))
}

/// To standard error, which may be closed.
fn say(message: &str) {
    let _ = writeln!(io::stderr(), "countersign demo: {message}.");
}

/// What is set up before the story begins, and taken down after it.
struct Scene {
    // Dropped first, while its fallback place may still be there.
    outside: Outside,
    project: Project,
    home: PathBuf,
    folder: Folder,
}

impl Scene {
    fn set() -> io::Result<Self> {
        let folder = Folder::new()?;
        Ok(Self {
            outside: Outside::choose(&folder)?,
            project: Project::write(folder.make("shop")?)?,
            home: folder.make("home")?,
            folder,
        })
    }

    /// The server's configuration. Only the project may be written: the temporary folders, in which it lies, stay closed.
    fn configure(&self, model: &str) -> io::Result<()> {
        let config = format!(
            "model_provider = \"rehearsal\"\napproval_policy = \"on-request\"\nsandbox_mode = \"workspace-write\"\n\n\
             [sandbox_workspace_write]\nexclude_slash_tmp = true\nexclude_tmpdir_env_var = true\n\n\
             [model_providers.rehearsal]\nname = \"Rehearsal\"\nbase_url = \"{model}\"\n"
        );
        std::fs::write(self.home.join("config.toml"), config)
    }

    fn conversation(&self) -> PathBuf {
        self.folder.path().join("conversation.log")
    }

    fn errors(&self) -> PathBuf {
        self.folder.path().join("server.err")
    }

    /// Gathers the logs in one file that stays. Gives its path.
    fn keep_logs(&self, requests: &str) -> io::Result<PathBuf> {
        let (path, mut file) = folder::fresh_log()?;
        let mut part = |name: &str, text: &str| writeln!(file, "== {name}\n{text}\n");
        for (name, log) in [
            ("the server's log", self.home.join("log/countersign.log")),
            ("the server's standard error", self.errors()),
            (
                "what the demonstration (->) and the server (<-) said",
                self.conversation(),
            ),
        ] {
            let text = std::fs::read_to_string(&log).unwrap_or_else(|error| format!("(not read: {error})"));
            part(name, &text)?;
        }
        part("what the model was asked", requests)?;
        Ok(path)
    }
}

async fn demonstrate(args: &Args) -> ExitCode {
    let mut signals = match Signals::new() {
        Ok(signals) => signals,
        Err(error) => {
            say(&format!("cannot listen for signals: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let scene = match Scene::set() {
        Ok(scene) => scene,
        Err(error) => {
            say(&format!(
                "no project could be made in {}: {error}. Set TMPDIR to a folder that can be written",
                std::env::temp_dir().display()
            ));
            return ExitCode::FAILURE;
        }
    };
    let mut screen = Screen::new(args.svg.is_some().then_some(svg::COLUMNS));
    let mut facts = Facts::default();
    let (end, requests) = play(args, &scene, &mut screen, &mut facts, &mut signals).await;
    let code = conclude(&scene, &mut screen, &facts, &end, &requests, args);
    let Scene { outside, folder, .. } = scene;
    drop(outside);
    if let Err(error) = folder.remove() {
        say(&format!("its temporary folder could not be removed: {error}"));
        return ExitCode::FAILURE;
    }
    if matches!(end, End::Signal(_)) {
        say("stopped; the server has ended, and the temporary folder is gone");
    }
    code
}

/// Starts model and server, tells the story, and ends both again. Also gives the requests that the model got.
async fn play(
    args: &Args,
    scene: &Scene,
    screen: &mut Screen,
    facts: &mut Facts,
    signals: &mut Signals,
) -> (End, String) {
    let failed = |words: String| (End::Stopped(Stop::Failed(words)), String::new());
    let script = match script::script(scene.outside.path(), !args.fast) {
        Ok(script) => script,
        Err(error) => return failed(error.to_string()),
    };
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let model = match rehearsal::Server::start(script, address).await {
        Ok(model) => model,
        Err(error) => return failed(format!("The rehearsal model cannot listen at {address}: {error}.")),
    };
    let started = scene.configure(&model.base_url).and_then(|()| {
        let buffer = Buffer::open(scene.project.path(project::OPEN))?;
        Ok((
            buffer,
            File::create(scene.conversation())?,
            File::create(scene.errors())?,
        ))
    });
    let (buffer, log, errors) = match started {
        Ok(started) => started,
        Err(error) => return failed(format!("The temporary folder cannot be written: {error}.")),
    };
    let mut client = match Client::start(&scene.home, log, errors) {
        Ok(client) => client,
        Err(error) => return failed(format!("{error}.")),
    };
    let mut person = if args.yes {
        Person::Automatic
    } else {
        Person::Terminal(None)
    };
    let mut stage = Stage {
        screen,
        client: &mut client,
        person: &mut person,
        project: &scene.project,
        outside: &scene.outside,
        buffer,
        facts,
        fast: args.fast,
    };
    let end = tokio::select! {
        told = story::tell(&mut stage) => told.map_or_else(End::Stopped, |()| End::Told),
        signal = signals.next() => End::Signal(signal),
    };
    facts.server_ended_well = client.stop().await.is_ok_and(|status| status.success());
    let requests: Vec<_> = model
        .requests()
        .iter()
        .map(|request| request.to_json().to_string())
        .collect();
    model.stop().await;
    if matches!(end, End::Told) && !facts.accepted.nothing() && facts.open_file_exact && facts.closed_file_exact {
        facts.passes_now = scene.project.test().await.is_ok_and(|tested| tested.passed);
    }
    (end, requests.join("\n"))
}

/// Says what really happened, and gives the status.
fn conclude(scene: &Scene, screen: &mut Screen, facts: &Facts, end: &End, requests: &str, args: &Args) -> ExitCode {
    let stopped = match end {
        End::Signal(number) => {
            // Whoever sent it may not be reading any more.
            let _ = screen.fresh_line();
            return ExitCode::from(SIGNALLED + number);
        }
        End::Stopped(Stop::Closed(error)) => {
            if error.kind() != io::ErrorKind::BrokenPipe {
                say(&format!("standard output cannot be written: {error}"));
            }
            return ExitCode::FAILURE;
        }
        End::Stopped(Stop::Failed(why)) => Some(why.as_str()),
        End::Told => None,
    };
    let shown = if stopped.is_none() {
        verdict(screen, facts)
    } else {
        screen.fresh_line()
    };
    let failed: Vec<_> = facts
        .checks()
        .into_iter()
        .filter(|(_, held)| !held)
        .map(|(words, _)| words)
        .collect();
    if stopped.is_none() && failed.is_empty() {
        return match shown.and_then(|()| draw(screen, args.svg.as_deref())) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                say(&format!("the end could not be shown: {error}"));
                ExitCode::FAILURE
            }
        };
    }
    let what = stopped.map_or_else(|| format!("This did not happen: {}.", failed.join("; ")), str::to_owned);
    let log = match scene.keep_logs(requests) {
        Ok(path) => format!("What was said is in {}", path.display()),
        Err(error) => format!("The log could not be kept: {error}"),
    };
    say(&format!("{what} {log}"));
    ExitCode::FAILURE
}

fn verdict(screen: &mut Screen, facts: &Facts) -> io::Result<()> {
    let checks = facts.checks();
    screen.title("What really happened")?;
    screen.columns(&checks)?;
    screen.blank()?;
    let held = checks.iter().filter(|(_, held)| *held).count();
    let summary = match held == checks.len() {
        true if facts.accepted.nothing() => "You rejected the change: nothing was changed.".to_owned(),
        true => format!("All {held} checks hold."),
        false => format!("{held} of {} checks hold.", checks.len()),
    };
    let time = seconds(screen.elapsed());
    screen.row_with(
        &[
            (Style::BOLD, &format!("   {summary}")),
            (Style::DIM, "  Next: "),
            (Style::CYAN, "countersign doctor"),
            (Style::DIM, ", and your editor"),
        ],
        (Style::DIM, &time),
    )
}

fn draw(screen: &Screen, file: Option<&Path>) -> io::Result<()> {
    match file {
        Some(file) => std::fs::write(file, svg::draw(screen.shown())),
        None => Ok(()),
    }
}

/// The signals that end a program at a terminal.
#[cfg(unix)]
struct Signals([(u8, tokio::signal::unix::Signal); 4]);

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let listen =
            |kind: SignalKind| -> io::Result<_> { Ok((u8::try_from(kind.as_raw_value()).unwrap_or(0), signal(kind)?)) };
        Ok(Self([
            listen(SignalKind::interrupt())?,
            listen(SignalKind::terminate())?,
            listen(SignalKind::hangup())?,
            listen(SignalKind::quit())?,
        ]))
    }

    /// Waits for the first of them; gives its number.
    async fn next(&mut self) -> u8 {
        let [a, b, c, d] = &mut self.0;
        tokio::select! {
            _ = a.1.recv() => a.0,
            _ = b.1.recv() => b.0,
            _ = c.1.recv() => c.0,
            _ = d.1.recv() => d.0,
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    /// Waits for Ctrl-C; gives the number that Unix has for it.
    async fn next(&mut self) -> u8 {
        match tokio::signal::ctrl_c().await {
            Ok(()) => 2,
            Err(_) => std::future::pending().await,
        }
    }
}
