//! `countersign sandbox`: a command confined as the agent's commands are, with its own streams and exit status.

use crate::config::bounds::{Bounds, Memory};
use crate::config::environment::EnvironmentPolicy;
use crate::config::requests::{self, Credential, Requests};
use crate::exec::profile::{secrets, secrets_of_the_system};
use crate::exec::{Confinement, role};
use crate::protocol::settings::SandboxPolicy;
use clap::{Parser as _, ValueEnum};
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Run a command confined, as the agent would.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What the command may touch.
    #[arg(long, value_enum, default_value_t = Policy::WorkspaceWrite)]
    policy: Policy,
    /// The folder to run in, writable under workspace-write; the current one by default.
    #[arg(long, value_name = "DIR")]
    cd: Option<PathBuf>,
    /// One more folder that may be written.
    #[arg(long, value_name = "DIR")]
    writable: Vec<PathBuf>,
    /// Keep /tmp and $TMPDIR read-only.
    #[arg(long)]
    no_tmp: bool,
    /// Let the network through.
    #[arg(long)]
    network: bool,
    /// A file or folder below a writable one that stays read-only.
    #[arg(long, value_name = "PATH")]
    read_only: Vec<PathBuf>,
    /// A file or folder that can be neither read nor written.
    #[arg(long, value_name = "PATH")]
    unreadable: Vec<PathBuf>,
    /// Let this be read, though keys, logins or conversations lie there, which are closed otherwise.
    #[arg(long, value_name = "PATH")]
    readable: Vec<PathBuf>,
    /// Keep every file or folder of this name read-only, at any depth.
    #[arg(long, value_name = "NAME")]
    protected: Vec<String>,
    /// Let this protected name be written.
    #[arg(long, value_name = "NAME")]
    unprotected: Vec<String>,
    /// A TCP port of this machine's loopback that may be connected to without a network.
    #[arg(long, value_name = "PORT")]
    loopback: Vec<u16>,
    /// A host that may be connected to by TCP without a network; with one port if named. `*.HOST` is every name below it.
    #[arg(long, value_name = "HOST[:PORT]")]
    host: Vec<String>,
    /// Block this host.
    #[arg(long, value_name = "HOST[:PORT]")]
    no_host: Vec<String>,
    /// Send a secret of this environment to this host only: the command sees a placeholder in its variable.
    #[arg(long, value_name = "VARIABLE=HOST")]
    credential: Vec<String>,
    /// Allow requests to this host with this method, and no other than those named.
    #[arg(long, value_name = "METHOD=HOST")]
    method: Vec<String>,
    /// A socket file outside that may be connected to.
    #[arg(long, value_name = "PATH")]
    socket: Vec<PathBuf>,
    /// Memory that all it starts may take: as "8 GiB", or a share of the machine.
    #[arg(long, value_name = "AMOUNT", default_value = "50%")]
    memory: Memory,
    /// Processes and threads that there may be at one time.
    #[arg(long, value_name = "COUNT", default_value_t = Bounds::default().processes, value_parser = clap::value_parser!(u64).range(8..))]
    processes: u64,
    /// The program and its arguments.
    #[arg(trailing_var_arg = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Policy {
    ReadOnly,
    WorkspaceWrite,
    #[value(alias = "danger-full-access")]
    FullAccess,
}

/// How a command ends that there is no more to say of: well, never begun, stopped by the person's Ctrl-C.
const SAID_OR_WANTED: [u8; 3] = [0, role::EXIT_REFUSED, 130];

/// Its name.
pub const NAME: &str = "sandbox";

/// As much of the command line as there is where its first word is known.
#[derive(Debug, clap::Parser)]
#[command(name = "countersign", version)]
struct Alone {
    #[command(subcommand)]
    command: Only,
}

#[derive(Debug, clap::Subcommand)]
enum Only {
    Sandbox(Args),
}

/// Runs it for a command line whose first word is its name: while the words are read, the kernel makes namespaces. For a
/// process in which no thread has started.
pub fn start() -> ExitCode {
    let here = role::begin(tell);
    let Only::Sandbox(args) = Alone::parse().command;
    run_here(here, args)
}

/// Runs it.
pub fn run(args: Args) -> ExitCode {
    run_here(role::begin(tell), args)
}

fn run_here(here: role::Here, args: Args) -> ExitCode {
    match prepare(&args) {
        Ok((cwd, confinement)) => {
            let status = role::run_here(here, args.command, cwd, environment(&confinement), &confinement);
            let is_told = SAID_OR_WANTED.map(ExitCode::from).contains(&status);
            // A file or a pipe gets the command's own output and no more.
            if !is_told && !confinement.is_outside() && std::io::stderr().is_terminal() {
                tell(&may_be_why(&confinement));
            }
            status
        }
        Err(reason) => {
            tell(&reason);
            ExitCode::from(role::EXIT_REFUSED)
        }
    }
}

/// What a command could not do here, for a person who wonders why it failed; the kernel does not say which call it was.
fn may_be_why(confinement: &Confinement) -> String {
    let mut roots: Vec<String> = Vec::new();
    for root in confinement.writable_roots() {
        let root = root.display().to_string();
        if !roots.contains(&root) {
            roots.push(root);
        }
    }
    let writes = match roots.split_last() {
        None => "write nowhere (--policy workspace-write)".to_owned(),
        Some((only, [])) => format!("write only in {only} (--writable DIR adds one)"),
        Some((last, others)) => format!(
            "write only in {} and {last} (--writable DIR adds one)",
            others.join(", ")
        ),
    };
    let reaches = match (confinement.network(), confinement.reaches_nobody()) {
        (true, _) => "",
        (false, true) => ", and reach no host (--host HOST, or --network for all)",
        (false, false) => ", and reach only what was named (--host HOST, or --network for all)",
    };
    format!("It failed. In this sandbox it could {writes}{reaches}.")
}

fn tell(message: &str) {
    // Without a standard error there is nobody to tell; the exit status says the rest.
    let _closed = writeln!(std::io::stderr(), "countersign sandbox: {message}");
}

fn prepare(args: &Args) -> Result<(PathBuf, Confinement), String> {
    let here = std::env::current_dir();
    let absolute = |path: &Path| -> Result<PathBuf, String> {
        match &here {
            _ if path.is_absolute() => Ok(path.to_owned()),
            Ok(here) => Ok(here.join(path)),
            Err(error) => Err(format!(
                "the current folder cannot be found ({error}); name one with --cd"
            )),
        }
    };
    let cwd = absolute(args.cd.as_deref().unwrap_or(Path::new(".")))?;
    let cwd = std::fs::canonicalize(&cwd).map_err(|error| {
        format!(
            "the folder cannot be entered ({error}); name one that exists: {}",
            cwd.display()
        )
    })?;
    let found = |option: &str, paths: &[PathBuf]| -> Result<Vec<PathBuf>, String> {
        let find = |path: &PathBuf| {
            let path = absolute(path)?;
            std::fs::canonicalize(&path).map_err(|error| {
                format!(
                    "what --{option} names cannot be found ({error}); make it first: {}",
                    path.display()
                )
            })
        };
        paths.iter().map(find).collect()
    };
    let roots = found("writable", &args.writable)?;
    let hosts = |list: &[String]| -> Result<Vec<_>, String> { list.iter().map(|host| host_and_port(host)).collect() };
    // What is to be closed need not exist yet.
    let closed = |paths: &[PathBuf]| -> Result<Vec<PathBuf>, String> {
        let place = |path: &PathBuf| Ok(crate::exec::resolve(&absolute(path)?));
        paths.iter().map(place).collect()
    };
    let policy = match args.policy {
        Policy::FullAccess => SandboxPolicy::DangerFullAccess,
        Policy::ReadOnly => SandboxPolicy::ReadOnly {
            network_access: args.network,
        },
        Policy::WorkspaceWrite => SandboxPolicy::WorkspaceWrite {
            writable_roots: Vec::new(),
            network_access: args.network,
            exclude_tmpdir_env_var: args.no_tmp,
            exclude_slash_tmp: args.no_tmp,
        },
    };
    let tmpdir = std::env::var_os("TMPDIR").map(PathBuf::from);
    let home = std::env::var_os("HOME")
        .map(PathBuf::from)
        .filter(|home| home.is_absolute());
    let confinement = Confinement::new(&policy, &cwd, &[], tmpdir.as_deref());
    let bounds = Bounds {
        memory: args.memory,
        processes: args.processes,
    };
    let confinement = confinement.within(bounds);
    let confinement = confinement.keeping_later(
        &args.protected,
        &args.unprotected,
        std::slice::from_ref(&cwd),
        (tmpdir.as_deref(), home.as_deref()),
    );
    let named: Vec<PathBuf> = found("readable", &args.readable)?
        .into_iter()
        .chain(roots.iter().cloned())
        .chain([cwd.clone()])
        .collect();
    let confinement = roots.into_iter().fold(confinement, Confinement::with_writable);
    let mut confinement = close(confinement, &named, home.as_deref());
    if let Some(walls) = confinement.walls_mut() {
        walls.read_only.extend(closed(&args.read_only)?);
        walls.unreadable.extend(closed(&args.unreadable)?);
        walls.loopback_ports.extend(&args.loopback);
        walls.hosts.extend(hosts(&args.host)?);
        walls.denied_hosts.extend(hosts(&args.no_host)?);
        walls.sockets.extend(found("socket", &args.socket)?);
    }
    let requests = requests(&args.credential, &args.method)?;
    let confinement = confinement.requesting(&requests, &crate::cli::environment());
    Ok((cwd, confinement))
}

/// Without what the agent's commands do not read either: keys and logins, and Countersign's own folders with the conversations
/// of all projects. What is named stays open.
fn close(confinement: Confinement, named: &[PathBuf], home: Option<&Path>) -> Confinement {
    let env = crate::cli::environment();
    let own = crate::cli::home();
    let mut keys = secrets(home, own.as_deref().unwrap_or(Path::new("")), &env);
    keys.extend(secrets_of_the_system(&env));
    keys.retain(|place| !named.iter().any(|path| path.starts_with(place)));
    let usual = home.map(|home| home.join(".countersign"));
    let folders = own
        .into_iter()
        .chain(usual)
        .filter_map(|folder| folder.canonicalize().ok());
    folders.fold(confinement.without(&keys), |confinement, folder| {
        let open: Vec<PathBuf> = named.iter().filter(|path| path.starts_with(&folder)).cloned().collect();
        match open.contains(&folder) {
            true => confinement,
            false => confinement.without_all_but(&folder, &open),
        }
    })
}

/// `name`, `name:port`, `address`, `1.2.3.4:port` or `[address]:port`.
fn host_and_port(text: &str) -> Result<(String, Option<u16>), String> {
    let wrong = || format!("this is no host and port; write HOST or HOST:PORT, an IPv6 address in brackets: {text}");
    if text.parse::<std::net::Ipv6Addr>().is_ok() {
        return Ok((text.to_owned(), None));
    }
    match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => {
            let port = port.parse().map_err(|_| wrong())?;
            Ok((host.to_owned(), Some(port)))
        }
        _ => Ok((text.to_owned(), None)),
    }
}

/// `NAME=HOST` of each kind.
fn requests(credentials: &[String], methods: &[String]) -> Result<Requests, String> {
    let read = |text: &str| {
        let (name, host) = text.split_once('=')?;
        Some((name.to_owned(), requests::name(host)?)).filter(|_| !name.is_empty())
    };
    let wrong = |text: &str| format!("this is no name with the one host that it belongs to; write NAME=HOST: {text}");
    let mut given = Requests::default();
    for text in credentials {
        let (variable, host) = read(text).ok_or_else(|| wrong(text))?;
        given.credentials.push(Credential {
            from: variable.clone(),
            variable,
            hosts: vec![host],
            headers: requests::usual_headers(),
            in_query: false,
        });
    }
    for text in methods {
        let (method, host) = read(text).ok_or_else(|| wrong(text))?;
        given.methods.entry(host).or_default().push(method.to_ascii_uppercase());
    }
    Ok(given)
}

/// The person's own environment, without what looks like a secret, and with the marks of the sandbox.
fn environment(confinement: &Confinement) -> Vec<(String, String)> {
    let mut variables = crate::cli::environment();
    if !confinement.is_outside() {
        variables.retain(|name, _| !crate::exec::looks_secret(name));
        variables.insert("COUNTERSIGN_SANDBOX".to_owned(), "1".to_owned());
    }
    if !confinement.network() {
        for name in ["COUNTERSIGN_SANDBOX_NETWORK_DISABLED", "CODEX_SANDBOX_NETWORK_DISABLED"] {
            variables.insert(name.to_owned(), "1".to_owned());
        }
    }
    if confinement.reaches_nobody() {
        crate::exec::without_retries(&mut variables, &EnvironmentPolicy::default());
    }
    variables.into_iter().collect()
}
