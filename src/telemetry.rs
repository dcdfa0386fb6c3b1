//! Telemetry: what happens in threads, as OpenTelemetry records, spans and counters, to a collector that the person has
//! named (`[otel]`). Off unless they have; `docs/telemetry.md` is the catalogue.
//!
//! A subscriber of each thread's stream, and a witness of its requests and calls; nobody waits for either. What the person
//! types is left out unless they want it in, and secrets are taken out of everything.

mod carrier;
mod emitter;
mod exchange;
mod follower;
mod line;
#[cfg(feature = "otel")]
mod otlp;
mod record;
mod trace;

pub(crate) use carrier::Carrier;
#[cfg(feature = "otel")]
use otlp::{encode, rejected};

use crate::agent::contributors::{Beginning, Contributor};
use crate::config;
use crate::config::otel::Exporter;
use crate::secrets::Secrets;
use emitter::{Emitter, Parts};
use follower::Follower;
use line::{Line, Resource, Signal};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use tokio_util::task::TaskTracker;
use trace::{Parent, Trace};

/// How long the readers of the streams may take to come to their ends.
const READERS_LIMIT: Duration = Duration::from_millis(300);
/// How long what is left may take to go out at the end.
const FLUSH_LIMIT: Duration = Duration::from_millis(1000);

/// Lines to collectors that are kept; a configuration that changes without end must not open them without end.
const MOST_LINES: usize = 16;

/// Who the person is to the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// How they are signed in.
    pub mode: String,
    pub id: Option<String>,
}

/// The account that is signed in, if any; cheap to clone, and the clones know the same.
#[derive(Clone, Debug, Default)]
pub struct Accounts(Arc<RwLock<Option<Account>>>);

impl Accounts {
    fn get(&self) -> Option<Account> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Another account is signed in, or none.
    pub fn set(&self, account: Option<Account>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = account;
    }
}

/// A server's telemetry; cheap to clone.
#[derive(Clone)]
pub struct Telemetry(Arc<Shared>);

struct Shared {
    secrets: Secrets,
    accounts: Accounts,
    /// The trace that the server is part of.
    parent: Option<Parent>,
    /// One for each collector, signal and environment.
    lines: Mutex<Vec<Known>>,
    readers: TaskTracker,
}

struct Known {
    signal: Signal,
    exporter: Exporter,
    environment: String,
    line: Arc<Line>,
}

impl Telemetry {
    /// `env` is the environment of the process: it says in whose trace the server is (`TRACEPARENT`).
    pub fn new(secrets: Secrets, env: &BTreeMap<String, String>) -> Self {
        Self(Arc::new(Shared {
            secrets,
            accounts: Accounts::default(),
            parent: Parent::of_environment(env),
            lines: Mutex::default(),
            readers: TaskTracker::new(),
        }))
    }

    /// Who is signed in, for whoever knows.
    pub fn accounts(&self) -> &Accounts {
        &self.0.accounts
    }

    /// Sends what is left, within a bound. All threads have ended.
    pub async fn finish(&self) {
        self.0.readers.close();
        if tokio::time::timeout(READERS_LIMIT, self.0.readers.wait())
            .await
            .is_err()
        {
            tracing::warn!("telemetry of the last events is missing");
        }
        let lines: Vec<Arc<Line>> = {
            let lines = self.0.lines.lock().unwrap_or_else(PoisonError::into_inner);
            lines.iter().map(|known| known.line.clone()).collect()
        };
        let flushed = futures::future::join_all(lines.iter().map(|line| line.flush()));
        if tokio::time::timeout(FLUSH_LIMIT, flushed).await.is_err() {
            tracing::warn!("the last telemetry was not taken in time");
        }
    }

    /// The line for a signal, if it goes anywhere: threads with the same settings share one.
    fn line(&self, signal: Signal, exporter: Option<&Exporter>, environment: &str) -> Option<Arc<Line>> {
        let exporter = exporter?;
        if !cfg!(feature = "otel") {
            tracing::warn!(
                "[otel] has an exporter, but this program was built without the feature `otel`: nothing is sent"
            );
            return None;
        }
        let mut lines = self.0.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let same =
            |known: &&Known| known.signal == signal && known.exporter == *exporter && known.environment == environment;
        if let Some(known) = lines.iter().find(same) {
            return Some(known.line.clone());
        }
        let resource = Resource(vec![
            ("service.name", "countersign".into()),
            ("service.version", env!("CARGO_PKG_VERSION").into()),
            ("env", environment.into()),
            ("deployment.environment.name", environment.into()),
        ]);
        let line = Arc::new(Line::begin(signal, exporter, resource));
        if lines.len() == MOST_LINES {
            lines.remove(0);
        }
        lines.push(Known {
            signal,
            exporter: exporter.clone(),
            environment: environment.to_owned(),
            line: line.clone(),
        });
        Some(line)
    }
}

impl Contributor for Telemetry {
    fn name(&self) -> &'static str {
        "telemetry"
    }

    fn started(&self, beginning: &Beginning<'_>) {
        let Beginning {
            services,
            conversation,
            config,
            settings,
            ..
        } = beginning;
        let otel = &config.otel;
        let line = |signal, exporter: &Option<Exporter>| self.line(signal, exporter.as_ref(), &otel.environment);
        let (logs, metrics) = (line(Signal::Logs, &otel.logs), line(Signal::Metrics, &otel.metrics));
        let trace = Trace::begin(line(Signal::Traces, &otel.traces), self.0.parent.as_ref());
        if logs.is_none() && metrics.is_none() && trace.is_none() {
            return;
        }
        let emitter = Emitter::new(Parts {
            logs,
            metrics,
            trace,
            thread: conversation.id.clone(),
            secrets: self.0.secrets.clone(),
            accounts: self.0.accounts.clone(),
            shows_prompts: otel.log_user_prompt,
            terminal: services.source.clone(),
        });
        let provider = config.providers.get(&settings.model_provider);
        let key = provider.and_then(|provider| config::provider::key(provider, &services.env).ok().flatten());
        emitter.begins(config, settings, key.is_some());
        // A thread has one beginning, and nobody else is a witness.
        let _first = conversation.witness.set(emitter.clone());
        let follower = Follower::new(emitter, conversation.agent.is_some());
        let events = conversation.stream.subscribe(Some(0));
        self.0.readers.spawn(follower.follow(events));
    }
}

#[cfg(not(feature = "otel"))]
fn encode(_wire: config::otel::Wire, _resource: &Resource, _entries: &[record::Entry]) -> Vec<u8> {
    Vec::new()
}

#[cfg(not(feature = "otel"))]
fn rejected(_wire: config::otel::Wire, _body: &[u8]) -> Option<(i64, String)> {
    None
}
