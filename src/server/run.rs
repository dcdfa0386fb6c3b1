//! One session, from the connection to its end.

use crate::config::startup::Startup;
use crate::feedback::ring::Ring;
use crate::handlers::Context;
use crate::secrets::Secrets;
use crate::server::line::{self, Line};
use crate::server::outbound::Outbound;
use crate::server::stop::{End, Stop};
use crate::server::trace::Trace;
use crate::server::transport::{self, Transport, Wire};
use crate::server::{lost, service};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What open requests may take to be answered as cancelled.
const ANSWER_LIMIT: Duration = Duration::from_millis(200);
/// What the last words may take to reach the client.
const FLUSH_LIMIT: Duration = Duration::from_millis(300);

/// What the process knows and the client does not say.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The home folder: configuration, threads, logs.
    pub home: PathBuf,
    /// The environment that the process was started with.
    pub env: BTreeMap<String, String>,
    /// Settings by the command that started the server.
    pub startup: Startup,
    /// A process to watch beside the one that the client names in `initialize`.
    pub parent: Option<u32>,
    /// Why there is no log, for the person.
    pub log_trouble: Option<String>,
    /// A file for every message, for who looks for a fault.
    pub trace_file: Option<PathBuf>,
    /// What must stand in no log, record or report.
    pub secrets: Secrets,
    /// The last lines of the log.
    pub ring: Ring,
}

/// Serves one client until `exit`, or until it, its process or the connection is gone. Whatever ends the session,
/// the same teardown runs before this returns, within three seconds.
pub async fn run(wire: Wire, setup: Setup, stop: Stop) -> io::Result<End> {
    let (outbound, queue) = Outbound::new(stop.clone());
    let line = Line::new(wire.writer, wire.has_room);
    outbound.write_small_at_once(line.clone());
    line::spawn_writer(line, queue, &outbound)?;
    let trace = setup.trace_file.as_deref().map(Trace::open);
    if let Some(trace) = &trace {
        outbound.trace_to(trace.clone());
    }
    let incoming = transport::spawn_reader(wire.reader, wire.strict, trace)?;
    if let Some(pid) = setup.parent {
        crate::server::parent::watch(pid, stop.clone());
    }
    let context = Arc::new(Context::new(setup, outbound.clone(), stop.clone()));
    let (service, socket) = service(context.clone());
    // Nothing is sent through tower-lsp; see `outbound`.
    drop(socket);
    let on_lost = {
        let context = context.clone();
        move |method: &str, document: Option<&str>| lost(&context, method, document)
    };
    let (end, open) = Transport::new(service, outbound.clone(), stop, on_lost)
        .run(incoming)
        .await;
    tracing::info!(?end, "the session ends");
    context.teardown.run().await;
    // Whoever asked something before the end has a right to an answer.
    let _ = tokio::time::timeout(ANSWER_LIMIT, open.wait()).await;
    // What was said until now may still arrive; a client that does not read is not waited for.
    let _ = tokio::time::timeout(FLUSH_LIMIT, outbound.finish()).await;
    outbound.client_gone();
    (wire.hang_up)();
    Ok(end)
}
