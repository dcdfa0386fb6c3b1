//! The sandbox role on Linux.
//!
//! Who forks whom, and who ends with whom:
//!
//! ```text
//! asker (the server)
//!  └─ starter              our program in its role, started once; ends when the asker closes its socket or dies
//!      └─ outer keeper     one for each command, forked before its order comes (`starter`)
//!          └─ inner keeper process 1 of namespaces of its own, forked ahead where there is time (`spare`); the kernel
//!              │           kills it when the outer keeper dies
//!              └─ command  gives up every right it can and executes the program (`enter`)
//! ```
//!
//! - The *outer keeper* holds the line to the asker and the exit status. When the line ends, it ends everything.
//! - The *inner keeper* lays out the read-only view of the disk, answers the questions of the filter, and reaps. When it
//!   ends, the kernel kills all that is left in its process namespace.
//!
//! Without namespaces the outer keeper does the work of both, and hunts down what is left of the command by descent.
//! `countersign sandbox` has no starter: its own process is the outer keeper, and forks the inner one before it reads its
//! words.
//!
//! `launch` is the asker's side of the line; nothing else here runs in the server.

mod audit;
mod broker;
mod crowd;
mod descent;
mod enter;
mod group;
mod hidden;
mod keeper;
mod landlock;
mod later;
mod launch;
mod limits;
mod memory;
mod metadata;
mod moments;
mod moves;
mod names;
mod namespaces;
mod questions;
mod resolve;
mod seccomp;
mod set_aside;
mod spare;
mod starter;
mod sys;
mod telling;
mod terminal;
mod unix_sockets;
mod watch;

use super::confinement::Walls;
use super::protected::Guard;
use super::proxy::{self, Alone};
use super::role::{Order, Report};
use super::support::{self, Support, Wall};
use audit::Audit;
use broker::{Factory, Reach};
use crowd::Crowd;
use group::Group;
use keeper::{Charge, Keeper};
use later::Kept;
pub(super) use limits::{FILE_SIZE as MOST_FILE_SIZE, binds_root};
use memory::Memory;
use names::Names;
use namespaces::{Prepared, View};
use questions::{Asker, Network};
use spare::{Ahead, Spare, Work};
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::process::ExitCode;
use std::time::Duration;
use watch::Watch;

pub(super) use launch::{Line, start as launch};
pub(super) use starter::serve;
pub(super) use sys::memory_file;
pub(crate) use sys::peer_process;
pub(super) use terminal::receive as receive_terminal;

/// The least Landlock that will do where there is no read-only view of the disk: before version 3 it cannot keep files
/// from being cut to nothing.
const LANDLOCK_ALONE: u32 = 3;

/// Since when Landlock writes down what it refuses.
const LANDLOCK_RECORDS: u32 = 7;

/// How long processes may take to die.
const DYING: Duration = Duration::from_secs(2);

/// How long the starter waits for the walls of one command before it forks ahead for the next, in milliseconds.
const WALLS_SOON: libc::c_int = 100;

/// Where reports go.
enum Post<'a> {
    /// To the program that asked, as lines of JSON.
    Asker(OwnedFd),
    /// To the person at the terminal.
    Person(&'a dyn Fn(&str)),
}

impl Post<'_> {
    /// Nobody is helped by a report that cannot be delivered: the asker is gone.
    fn send(&self, report: &Report) {
        match self {
            Self::Asker(socket) => {
                let mut line = serde_json::to_vec(report).unwrap_or_default();
                line.push(b'\n');
                let _gone = sys::send(socket, &line);
            }
            // The rest shows in the command's own words and exit status.
            Self::Person(_)
                if matches!(report, Report::Blocked { .. } | Report::Unanswered { .. })
                    || matches!(report, Report::Signalled { .. })
                    || report.is_of_writing() => {}
            Self::Person(tell) => tell(&report.to_string()),
        }
    }

    /// Tells of a command that a signal has ended.
    fn tell_signal(&self, ended: sys::Ended) {
        if let Some(signal) = ended.signal {
            self.send(&Report::Signalled { signal });
        }
    }

    /// This process has started the command and needs its streams no more. At a terminal they are the person's.
    fn release_streams(&self) {
        if let Self::Asker(_) = self {
            starter::release_streams();
        }
    }

    fn control(&self) -> Option<&OwnedFd> {
        match self {
            Self::Asker(socket) => Some(socket),
            Self::Person(_) => None,
        }
    }
}

/// What is begun for a person's command before it is known; nothing where there can be no namespaces.
pub(super) struct Begun {
    spare: Option<Spare>,
    /// Where it is.
    group: Option<Group>,
}

/// Begins what a person's command will need. `report` is how they are told of what becomes of it.
pub(super) fn begin(report: fn(&str)) -> Begun {
    sys::close_all_on_exec();
    let group = Group::make();
    let spare = Spare::begin(report, group.as_ref()).ok();
    Begun { spare, group }
}

/// Runs an order with the standard streams as they are.
pub(super) fn run_here(mut order: Order, begun: Begun, report: fn(&str)) -> ExitCode {
    let proxy = match lead_to_hosts(&mut order, report) {
        Ok(proxy) => proxy,
        Err(reason) => {
            let refused = Report::CannotConfine { reason };
            report(&refused.to_string());
            return ExitCode::from(refused.exit_code());
        }
    };
    let ahead = begun.spare.zip(serde_json::to_vec(&order).ok());
    let ahead = Ahead(ahead.map(|(spare, order)| (spare, Work { order, asked: None })));
    let status = run(&order, &Post::Person(&report), ahead, begun.group.as_ref());
    drop(proxy);
    ExitCode::from(status)
}

/// Gives a person's command the proxy for the hosts that it may reach by name: a process of its own, that ends with this one.
/// What goes with it stays as long as what is returned.
fn lead_to_hosts(order: &mut Order, report: fn(&str)) -> Result<Option<Alone>, String> {
    let Some(proxy) = order.walls.as_ref().map_or(Ok(None), Alone::for_walls)? else {
        proxy::withhold(order);
        return Ok(None);
    };
    proxy.lead(order);
    let keeper = sys::own_pid();
    match sys::fork(0).map_err(|error| format!("cannot start a process: {error}"))? {
        sys::Forked::Parent(_) => Ok(Some(proxy)),
        sys::Forked::Child => {
            sys::new_session();
            let followed = sys::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong).is_ok();
            let quiet = File::open("/dev/null").and_then(|nothing| {
                let nothing = OwnedFd::from(nothing);
                sys::put_at(&nothing, 0).and_then(|()| sys::put_at(&nothing, 1))
            });
            if followed && sys::parent() == keeper && quiet.is_ok() {
                proxy.serve(report);
            }
            sys::exit(0)
        }
    }
}

/// Runs a command to its end, nothing of it left; its exit status, or the one that says why it did not run.
fn run(order: &Order, post: &Post<'_>, mut ahead: Ahead, group: Option<&Group>) -> u8 {
    if let Some((group, bounds)) = group.zip(order.bounds) {
        group.bound(bounds);
    }
    let outcome = match &order.walls {
        None => {
            let ready = ahead.use_if(false).map_err(|error| error.to_string());
            ready.and_then(|_none| run_beside(order, None, (post, &RefCell::default()), group))
        }
        Some(walls) => run_confined(order, walls, ahead, post, group),
    };
    if let Some(most) = group
        .zip(order.bounds)
        .and_then(|(group, bounds)| group.starved(bounds))
    {
        post.send(&Report::Starved { most });
    }
    outcome.unwrap_or_else(|reason| {
        let report = Report::CannotConfine { reason };
        post.send(&report);
        report.exit_code()
    })
}

/// Chooses the strongest walls that stand here.
fn run_confined(
    order: &Order,
    walls: &Walls,
    ahead: Ahead,
    post: &Post<'_>,
    group: Option<&Group>,
) -> Result<u8, String> {
    if !seccomp::known_architecture() {
        return Err("there is no system call filter for this processor".to_owned());
    }
    let version = sys::landlock_version().map_err(|error| {
        format!("the kernel has no Landlock, or it is switched off (boot with `lsm=landlock,...`): {error}")
    })?;
    let guard = Guard::of_walls(walls);
    let reach = Reach::of(walls)?;
    let watched = set_aside::Watched::new(&guard, walls);
    let named = RefCell::new(Names::default());
    let about = About {
        order,
        walls,
        guard: &guard,
        reach: &reach,
        version,
        post,
        named: &named,
        group,
    };
    match run_in_namespaces(about, ahead) {
        Ok(exit_code) => {
            watched.intruders(post, &named.borrow());
            Ok(exit_code)
        }
        Err(reason) if version < LANDLOCK_ALONE => Err(format!(
            "namespaces are not allowed ({reason}), and Landlock {version} is too old to do without them \
             (version {LANDLOCK_ALONE} would do)"
        )),
        // Where a name leads, and what is to be ended, would be asked of other processes.
        Err(reason) if !unix_sockets::shows_own_processes() => Err(format!(
            "namespaces are not allowed ({reason}), and /proc shows the processes of another namespace"
        )),
        Err(reason) => {
            let lacks = support::without_namespaces(Some(version), sys::own_ids().0 == 0);
            post.send(&Report::Weaker {
                what: format!("namespaces are not allowed here ({reason}). {}", lacks.join(" ")),
            });
            let exit_code = run_beside(order, Some((walls, &guard, &reach, version)), (post, &named), group)?;
            watched.intruders(post, &named.borrow());
            Ok(exit_code)
        }
    }
}

/// A command that is to be confined.
#[derive(Clone, Copy)]
struct About<'a> {
    order: &'a Order,
    walls: &'a Walls,
    guard: &'a Guard,
    reach: &'a Reach,
    /// Of Landlock.
    version: u32,
    post: &'a Post<'a>,
    /// Noted there: what the command has tried to make or change.
    named: &'a RefCell<Names>,
    group: Option<&'a Group>,
}

/// Runs the command in namespaces. The error says why there are none; nothing has run then.
fn run_in_namespaces(about: About<'_>, mut ahead: Ahead) -> Result<u8, String> {
    let About {
        order,
        walls,
        guard,
        reach,
        version,
        post,
        named,
        group,
    } = about;
    if reach.names.is_some() && !broker::reads_table(&std::fs::read_to_string("/etc/nsswitch.conf").unwrap_or_default())
    {
        post.send(&Report::Weaker {
            what: "programs here do not look for host names in /etc/hosts (see /etc/nsswitch.conf): a granted host can be \
                   reached only by programs that use a proxy."
                .to_owned(),
        });
    }
    // Before there are namespaces: it gives out sockets of the network outside.
    let factory = match reach.is_brokered() {
        true => Some(Factory::start().map_err(|error| error.to_string())?),
        false => None,
    };
    let signals = sys::signal_descriptor().map_err(|error| error.to_string())?;
    let ids = sys::own_ids();
    let attempts = namespaces::attempts(walls.network);
    let own_network = attempts[0] & libc::CLONE_NEWNET != 0;
    let mut reason = String::new();
    let mut stands = |inner: libc::pid_t, socket: &OwnedFd| match hear(socket) {
        Ok(counted) => Some(counted),
        Err(trouble) => {
            reason = trouble;
            sys::kill(inner, libc::SIGKILL);
            while sys::reap(true).is_ok_and(|ended| ended.is_some_and(|ended| ended.pid != inner)) {}
            None
        }
    };
    let keep = |inner: libc::pid_t, word: &OwnedFd, counted: bool, memory: Option<Memory>| {
        let bounds = order.bounds.filter(|_| !counted && memory.is_some());
        let crowd = bounds.map(|bounds| Crowd::watch(bounds.processes));
        let keeper = Keeper {
            watch: Watch::new(crowd, memory, post),
            forces: Some(post),
            signals: &signals,
            control: post.control(),
            asker: None,
            word: Some(word),
            named: Some(named),
        };
        keeper.keep(Charge::InnerKeeper(inner)).exit_code
    };
    // What the kernel keeps in a group needs no looking after.
    let held = || group.is_some_and(Group::holds);
    let watch_memory = || {
        order
            .bounds
            .filter(|_| !held())
            .map(|bounds| Memory::watch(bounds.memory))
    };
    let given = ahead.use_if(own_network && factory.is_none());
    if let Some(given) = given.map_err(|error| error.to_string())? {
        let streams = given.asked.map(|asked| {
            // The starter goes on when the walls stand, or soon: a folder that does not answer holds up its own command only.
            sys::poll([Some(given.socket.as_raw_fd())], WALLS_SOON);
            drop(asked.sign);
            asked.streams
        });
        // While the other puts up its walls.
        let memory = watch_memory();
        if let Some(counted) = stands(given.keeper, &given.socket) {
            // Nobody who reads the command's streams waits for this process.
            drop(streams);
            return Ok(keep(given.keeper, &given.socket, counted, memory));
        }
        // Whoever runs the command in its place needs them here.
        if let Some(streams) = streams {
            starter::put_in_place(&streams).map_err(|error| error.to_string())?;
        }
    }
    let mut refused = None;
    for flags in attempts {
        let (ours, theirs) = sys::socket_pair().map_err(|error| error.to_string())?;
        match group::fork(group, flags) {
            Err(error) => refused = Some(format!("cannot make namespaces: {error}")),
            Ok(sys::Forked::Child) => {
                drop(ours);
                let inner = Inner {
                    order,
                    walls,
                    guard,
                    reach,
                    factory: factory.as_ref(),
                    version,
                    post,
                    own_network,
                    own_user: flags & libc::CLONE_NEWUSER != 0,
                    user: ids.0,
                };
                sys::exit(inner_keeper(&inner, theirs, || {
                    namespaces::enter(flags, ids).map(|()| namespaces::prepare(own_network))
                }));
            }
            Ok(sys::Forked::Parent(inner)) => {
                drop(theirs);
                let memory = watch_memory();
                if let Some(counted) = stands(inner, &ours) {
                    // It ends when nobody inside is left to ask it.
                    drop(factory);
                    post.release_streams();
                    return Ok(keep(inner, &ours, counted, memory));
                }
                refused = None;
            }
        }
    }
    Err(refused.unwrap_or(reason))
}

/// What the inner keeper says about its namespaces: if they stand, whether the kernel counts the processes in them.
fn hear(socket: &OwnedFd) -> Result<bool, String> {
    let mut words = String::new();
    let heard = socket.try_clone().map(File::from).and_then(|mut socket| {
        (&mut socket).take(READY.len() as u64).read_to_string(&mut words)?;
        if [READY, UNCOUNTED].contains(&&*words) {
            Ok(0)
        } else {
            socket.read_to_string(&mut words)
        }
    });
    match heard {
        Ok(_) if words == READY => Ok(true),
        Ok(_) if words == UNCOUNTED => Ok(false),
        Ok(_) if words.is_empty() => Err("it ended while setting up its namespaces".to_owned()),
        Ok(_) => Err(words),
        Err(error) => Err(error.to_string()),
    }
}

/// What an inner keeper says when its namespaces stand; they are of one length.
const READY: &str = "ready";
/// The same, where the kernel would let root have any number of processes.
const UNCOUNTED: &str = "loose";

/// What an inner keeper has to know.
struct Inner<'a> {
    order: &'a Order,
    walls: &'a Walls,
    guard: &'a Guard,
    reach: &'a Reach,
    /// What makes sockets of the network outside, where some of it was granted.
    factory: Option<&'a Factory>,
    /// Of Landlock.
    version: u32,
    post: &'a Post<'a>,
    own_network: bool,
    /// Whether its user namespace is its own.
    own_user: bool,
    /// As the outer keeper has it.
    user: u32,
}

/// The inner keeper's life from its order on. `enter` is what it has still to do to be in its namespaces; `ready` is told
/// when they stand, or why not, and in the end how the command ended.
fn inner_keeper(inner: &Inner<'_>, ready: OwnedFd, enter: impl FnOnce() -> io::Result<Prepared>) -> u8 {
    let Inner {
        order,
        walls,
        guard,
        reach,
        post,
        own_network,
        ..
    } = *inner;
    // The outer keeper may have died before it could be followed into death.
    let followed = sys::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong).is_ok();
    if !followed || sys::poll([Some(ready.as_raw_fd())], 0)[0] {
        return super::role::EXIT_REFUSED;
    }
    sys::new_session();
    limits::go_first();
    let view = enter().and_then(|prepared| {
        let signals = sys::signal_descriptor()?;
        let prepared = prepared.bounded_by(order.bounds.unwrap_or_default());
        let view = namespaces::build(&walls.roots, guard, reach.names.as_deref())?;
        Ok((signals, prepared, view))
    });
    let mut ready = File::from(ready);
    let (signals, prepared, view) = match view {
        Ok(view) => view,
        Err(error) => {
            let _gone = write!(ready, "cannot set up namespaces: {error}");
            return super::role::EXIT_REFUSED;
        }
    };
    let counted = prepared.bounded || inner.user != 0;
    let _gone = ready.write_all(if counted { READY } else { UNCOUNTED }.as_bytes());
    let mut writable = walls.roots.clone();
    writable.extend(view.shared_memory.clone());
    let inside = enter::Inside {
        order,
        landlock: inner.version,
        readable: vec!["/".into()],
        writable,
        capabilities: view.capabilities_to_keep(&walls.roots),
        message_queues: view.message_queues,
        network: walls.network,
        own_network: own_network && prepared.loopback,
        brokered: reach.is_brokered(),
        own_ipc: true,
        own_terminals: view.own_terminals,
        watch_metadata: false,
        other_processes: limits::others(inner.own_user, prepared.bounded, inner.user),
        bounding: prepared.bounding,
        // The view of the disk answers before Landlock is asked.
        record: false,
        watch_names: walls.later.is_some() || !(guard.missing.is_empty() && guard.awaited.is_empty()),
        watch_writes: walls.later.is_some(),
        watch_removal: walls.later.is_some(),
    };
    let network = Network {
        open: walls.network,
        own: own_network,
        reach,
        factory: inner.factory,
    };
    // What was there lies under mounts, as far as it is known.
    let kept = Kept::of(walls, guard, walls.later.as_ref().is_some_and(|later| later.partial));
    start(&inside, guard, kept, post, network, None)
        .map(|(command, asker)| {
            post.release_streams();
            let ended = Keeper {
                signals: &signals,
                control: None,
                asker: asker.as_ref(),
                word: None,
                named: None,
                watch: None,
                forces: None,
            }
            .keep(Charge::Command(command));
            post.tell_signal(ended);
            sys::end_namespace();
            let names = asker.as_ref().map_or_else(Names::unknown, Asker::names);
            let mut word = vec![ended.exit_code];
            word.extend(names.written());
            let _gone = ready.write_all(&word);
            ended.exit_code
        })
        .unwrap_or_else(|report| {
            post.send(&report);
            report.exit_code()
        })
}

/// Starts the command and receives the descriptor of its filter.
fn start<'a>(
    inside: &enter::Inside<'_>,
    guard: &'a Guard,
    kept: Option<Kept<'a>>,
    post: &'a Post<'a>,
    network: Network<'a>,
    group: Option<&Group>,
) -> Result<(libc::pid_t, Option<Asker<'a>>), Report> {
    let failed = |error: io::Error| Report::CannotConfine {
        reason: format!("cannot start a process: {error}"),
    };
    let (ours, theirs) = sys::socket_pair().map_err(failed)?;
    let command = group::spawn(group, || {
        let report = enter::enter(inside, &theirs);
        post.send(&report);
        report.exit_code()
    });
    let command = command.map_err(failed)?;
    drop(theirs);
    let listener = sys::receive_descriptor(&ours).map_err(failed)?;
    let asker = listener.map(|listener| {
        let changeable = inside.watch_metadata.then(|| inside.writable.clone());
        Asker::new(listener, guard, kept, network, changeable, post)
    });
    Ok((command, asker))
}

/// Runs the command beside its keeper, without namespaces: in full access, or behind Landlock and the filter alone.
fn run_beside(
    order: &Order,
    confined: Option<(&Walls, &Guard, &Reach, u32)>,
    (post, named): (&Post<'_>, &RefCell<Names>),
    group: Option<&Group>,
) -> Result<u8, String> {
    let signals = sys::signal_descriptor().map_err(|error| error.to_string())?;
    sys::prctl(libc::PR_SET_CHILD_SUBREAPER, 1).map_err(|error| error.to_string())?;
    let keeper = sys::own_pid();
    let audit = confined
        .filter(|(.., version)| *version >= LANDLOCK_RECORDS)
        .and_then(|_| Audit::listen());
    let watch_memory = || order.bounds.map(|bounds| Memory::watch(bounds.memory));
    let memory = group.is_none().then(watch_memory).flatten();
    let started = match confined {
        Some((walls, guard, reach, version)) => {
            let hidden = hidden::everywhere(&guard.hidden);
            let closed: Vec<_> = guard.existing.iter().chain(&hidden).cloned().collect();
            let mut writable = landlock::opened(&walls.roots, &closed);
            // A root in a hidden place, or one itself, is hidden like the rest.
            writable.retain(|root| !hidden.iter().any(|hidden| root.starts_with(hidden)));
            let inside = enter::Inside {
                order,
                landlock: version,
                readable: landlock::readable(&hidden),
                writable,
                message_queues: None,
                network: walls.network,
                own_network: false,
                brokered: reach.is_brokered(),
                own_ipc: false,
                own_terminals: false,
                watch_metadata: true,
                other_processes: Some(limits::running(sys::own_ids().0)),
                watch_names: walls.later.is_some() || !(guard.missing.is_empty() && guard.awaited.is_empty()),
                watch_writes: walls.later.is_some(),
                watch_removal: walls.later.is_some(),
                capabilities: 0,
                bounding: u64::MAX,
                record: audit.is_some(),
            };
            let network = Network {
                open: walls.network,
                own: false,
                reach,
                factory: None,
            };
            let kept = Kept::of(walls, guard, true);
            start(&inside, guard, kept, post, network, group)
        }
        None => {
            let command = group::spawn(group, || {
                let report = enter::enter_unconfined(order, keeper);
                post.send(&report);
                report.exit_code()
            });
            Ok((command.map_err(|error| error.to_string())?, None))
        }
    };
    let (command, asker) = match started {
        Ok(started) => started,
        Err(report) => {
            post.send(&report);
            return Ok(report.exit_code());
        }
    };
    post.release_streams();
    let held = group.is_some_and(Group::holds);
    let memory = memory.or_else(|| (!held).then(watch_memory).flatten());
    // Of a confined user the kernel counts the processes; of root, and without walls, it does not.
    let counted = held || order.walls.is_some() && sys::own_ids().0 != 0;
    let crowd = order.bounds.filter(|_| !counted);
    let crowd = crowd.map(|bounds| Crowd::watch(bounds.processes));
    let ended = Keeper {
        signals: &signals,
        control: post.control(),
        asker: asker.as_ref(),
        word: None,
        named: None,
        watch: Watch::new(crowd, memory, post),
        forces: Some(post),
    }
    .keep(Charge::Family(command));
    if let Some(group) = group {
        group.kill();
    }
    descent::kill_all(DYING);
    *named.borrow_mut() = asker.as_ref().map_or_else(Names::unknown, Asker::names);
    if let Some(audit) = audit.filter(|_| ended.exit_code != 0) {
        for refusal in audit.refused(command) {
            post.send(&Report::Refused { refusal });
        }
    }
    post.tell_signal(ended);
    Ok(ended.exit_code)
}

/// Tries every wall, prints the result as JSON.
pub(super) fn probe() -> ExitCode {
    let landlock = sys::landlock_version();
    let seccomp = match sys::fork(0) {
        Ok(sys::Forked::Child) => {
            let rules = seccomp::Rules {
                network: false,
                own_network: true,
                brokered: true,
                own_ipc: false,
                watch_metadata: true,
                watch_names: true,
                watch_writes: true,
                watch_removal: true,
                ask: true,
            };
            let done = seccomp::filter(rules).is_some_and(|mut program| {
                sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1).is_ok() && sys::install_filter(&mut program).is_ok()
            });
            sys::exit(u8::from(!done))
        }
        Ok(sys::Forked::Parent(_)) => match sys::reap(true) {
            Ok(Some(ended)) if ended.exit_code == 0 => Wall::Stands("system calls are filtered".to_owned()),
            _ => Wall::Missing("the kernel takes no system call filter that asks".to_owned()),
        },
        Err(error) => Wall::Missing(error.to_string()),
    };
    let namespaces = probe_namespaces();
    let support = Support {
        landlock_version: landlock.as_ref().ok().copied(),
        landlock: match &landlock {
            Ok(version) => Wall::Stands(format!("version {version}")),
            Err(error) => Wall::Missing(format!("not in this kernel, or switched off at boot: {error}")),
        },
        seccomp,
        namespaces,
        seatbelt: None,
    };
    let json = serde_json::to_string(&support).unwrap_or_default();
    let written = writeln!(io::stdout(), "{json}");
    if written.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn probe_namespaces() -> Wall {
    let ids = sys::own_ids();
    let mut reason = String::new();
    for flags in namespaces::attempts(false) {
        let Ok((ours, theirs)) = sys::socket_pair() else { break };
        match sys::fork(flags) {
            Err(error) => reason = error.to_string(),
            Ok(sys::Forked::Child) => {
                drop(ours);
                let built =
                    namespaces::enter(flags, ids).and_then(|()| namespaces::build(&[], &Guard::default(), None));
                let words = built.map_or_else(|error| error.to_string(), |_: View| READY.to_owned());
                let _gone = File::from(theirs).write_all(words.as_bytes());
                sys::exit(0)
            }
            Ok(sys::Forked::Parent(_)) => {
                drop(theirs);
                let heard = hear(&ours);
                let _ended = sys::reap(true);
                match heard {
                    Ok(_) if flags & libc::CLONE_NEWUSER != 0 => {
                        return Wall::Stands("user, mount, process, network and ipc namespaces".to_owned());
                    }
                    Ok(_) => return Wall::Stands("mount, process, network and ipc namespaces, as root".to_owned()),
                    Err(trouble) => reason = trouble,
                }
            }
        }
    }
    Wall::Missing(reason)
}
