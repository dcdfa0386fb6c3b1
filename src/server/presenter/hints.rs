//! What lies on documents: hints on hunks that wait and findings of reviews as diagnostics, and word to the editor that its
//! lenses are out of date. Looked over after each event about them and each change of a text, at most once in a while, and told
//! only where something is different, or was told of an older text.

use super::Presenter;
use super::change::{Change, is_document, waiting_in};
use crate::handlers::code_action::OWN_SOURCE;
use crate::ids::HunkId;
use crate::lsp::convert;
use crate::protocol::item::FileChangeKind;
use crate::protocol::proposal::HunkStatus;
use crate::workspace::{Document, position};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// Shortest time between two looks: whoever types or decides quickly is followed in steps.
const STEP: Duration = Duration::from_millis(80);
/// How long an editor may take to ask for its lenses again.
const REFRESH_LIMIT: Duration = Duration::from_secs(10);
/// How often files are looked at that have findings and are not open: of their changes nobody tells.
const TICK: Duration = Duration::from_secs(3);
/// The code of our hints among diagnostics.
const CODE: &str = "proposal";
/// Severity of diagnostics (LSP 3.17, DiagnosticSeverity): the least of them.
const HINT: u8 = 4;

/// Wakes what looks documents over. Its task begins with the first proposal or finding.
#[derive(Default)]
pub(super) struct Surface {
    wake: watch::Sender<()>,
    lenses: watch::Sender<()>,
    runs: AtomicBool,
    over: AtomicBool,
    /// Whether the configuration wants hints, by folder; read anew after each event about proposals.
    wanted: Mutex<BTreeMap<PathBuf, bool>>,
}

/// What was last told of a document.
#[derive(Clone, Debug, Default)]
struct Told {
    /// The version that was looked at.
    version: Option<i32>,
    diagnostics: Vec<Value>,
    lenses: Vec<(HunkId, HunkStatus, String)>,
}

impl Presenter {
    /// Something about the proposals is different.
    pub(super) fn look_over(&self) {
        let surface = &self.shared.surface;
        surface.wanted().clear();
        if !surface.runs.swap(true, Ordering::AcqRel) {
            // Subscribed before the first look, whose changes would be missed otherwise.
            let lenses = surface.lenses.subscribe();
            tokio::spawn(follow(self.clone()));
            if self.shared.client.can.code_lens_refresh {
                tokio::spawn(refresh_lenses(self.clone(), lenses));
            }
        }
        surface.wake.send_replace(());
    }

    /// Lenses of a chat document are others now.
    pub fn lenses_changed(&self) {
        if self.shared.client.can.code_lens_refresh {
            self.look_over();
            self.shared.surface.lenses.send_replace(());
        }
    }

    /// Whether documents are looked over.
    pub(super) fn is_looking(&self) -> bool {
        self.shared.surface.runs.load(Ordering::Acquire)
    }

    /// From now on nothing is told any more: the session ends.
    pub(super) fn stop_looking(&self) {
        self.shared.surface.over.store(true, Ordering::Release);
    }

    /// Whether hints can be shown. Our plugins draw their own where they show proposals.
    fn shows_hints(&self) -> bool {
        let can = &self.shared.client.can;
        can.diagnostics && !can.reviews_proposals
    }

    /// Whether the person wants hints in a file. Reads the configuration once for each folder.
    fn wants_hints(&self, path: &Path) -> bool {
        let agent = &self.shared.agent;
        let folder = agent.services().workspace.root_of(path);
        let Some(folder) = folder.or_else(|| path.parent().map(Path::to_owned)) else {
            return true;
        };
        if let Some(wanted) = self.shared.surface.wanted().get(&folder) {
            return *wanted;
        }
        // What is wrong with the configuration is told where a thread starts.
        let wanted = agent
            .load_config(Some(&folder), None)
            .map_or(true, |loaded| loaded.config.edits.hints);
        self.shared.surface.wanted().insert(folder, wanted);
        wanted
    }
}

impl Surface {
    fn wanted(&self) -> MutexGuard<'_, BTreeMap<PathBuf, bool>> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Follows the texts and the proposals until the session ends.
async fn follow(presenter: Presenter) {
    let mut texts = presenter.shared.agent.services().workspace.changed();
    let mut wake = presenter.shared.surface.wake.subscribe();
    let mut told = BTreeMap::new();
    loop {
        texts.mark_unchanged();
        wake.mark_unchanged();
        if presenter.shared.surface.over.load(Ordering::Acquire) {
            return;
        }
        let looks = presenter.clone();
        match tokio::task::spawn_blocking(move || looks.look()).await {
            Ok(now) => {
                presenter.tell(&told, &now);
                told = now;
            }
            // What was told stays so; the next look may come through.
            Err(error) => tracing::error!(%error, "looking documents over broke off"),
        }
        tokio::time::sleep(STEP).await;
        let moved = tokio::select! {
            moved = texts.changed() => moved,
            moved = wake.changed() => moved,
            () = tick(&presenter) => Ok(()),
        };
        if moved.is_err() {
            return;
        }
    }
}

/// Ends when files that are not open are to be looked at again; never where nothing lies on any.
async fn tick(presenter: &Presenter) {
    match presenter.shared.agent.services().findings.any_closed() {
        true => tokio::time::sleep(TICK).await,
        false => std::future::pending().await,
    }
}

/// Asks the editor to ask for its lenses again: one question at a time, and one more for all that came meanwhile.
async fn refresh_lenses(presenter: Presenter, mut wanted: watch::Receiver<()>) {
    while wanted.changed().await.is_ok() {
        let refresh = presenter
            .shared
            .outbound
            .request::<Value>("workspace/codeLens/refresh", ());
        let _shown = tokio::time::timeout(REFRESH_LIMIT, refresh).await;
    }
}

impl Presenter {
    /// What is to be told of each document that is open or has findings, by its URI.
    fn look(&self) -> BTreeMap<String, Told> {
        let services = self.shared.agent.services();
        let findings = self.finding_diagnostics();
        let documents = services.workspace.documents();
        let of = |document: &Document| {
            let mut told = Told {
                version: Some(document.version),
                ..Told::default()
            };
            let Some(path) = document.path() else { return told };
            told.diagnostics = self.configuration_diagnostics(document);
            let waiting = services.proposals.on_document(path, document.uri());
            let hints = self.shows_hints() && !waiting.is_empty() && self.wants_hints(path);
            for proposal in waiting {
                let here = |file: &&_| is_document(file, path, document.uri());
                for file in proposal.files.iter().filter(here) {
                    for change in waiting_in(&proposal, file) {
                        let summary = change.summary();
                        if hints {
                            told.diagnostics.push(self.hint(document, &change, &summary));
                        }
                        told.lenses.push((change.hunk.id.clone(), change.hunk.status, summary));
                    }
                }
            }
            told
        };
        let open = documents
            .iter()
            .map(|document| (document.uri().to_owned(), of(document)));
        let mut all: BTreeMap<String, Told> = open.collect();
        for (uri, found) in findings {
            all.entry(uri).or_default().diagnostics.extend(found);
        }
        all
    }

    /// A hunk as a diagnostic (LSP 3.17, Diagnostic).
    fn hint(&self, document: &Document, change: &Change<'_>, summary: &str) -> Value {
        let encoding = self.shared.client.encoding;
        let lines = document.rope.len_lines();
        let first = (change.hunk.range.start as usize).min(lines - 1);
        // A file that would go as a whole is marked at its beginning only.
        let last = match change.file.kind {
            FileChangeKind::Delete => first,
            _ => (change.hunk.range.end as usize).clamp(first + 1, lines.max(first + 1)) - 1,
        };
        let place = |line: usize, column: u32| {
            let line = u32::try_from(line).unwrap_or(u32::MAX);
            position::char_at(&document.rope, crate::workspace::Position { line, column }, encoding)
        };
        let range = crate::workspace::Range {
            start: position::position_of_char(&document.rope, place(first, 0), encoding),
            end: position::position_of_char(&document.rope, place(last, u32::MAX), encoding),
        };
        json!({
            "range": convert::to_range(range),
            "severity": HINT,
            "source": OWN_SOURCE,
            "code": CODE,
            "message": format!("The agent's {summary}"),
            "data": {
                "threadId": change.proposal.thread_id,
                "proposalId": change.proposal.id,
                "hunkId": change.hunk.id,
            },
        })
    }

    fn tell(&self, before: &BTreeMap<String, Told>, now: &BTreeMap<String, Told>) {
        let nothing = Told::default();
        if self.shared.client.can.diagnostics {
            let gone = before
                .keys()
                .filter(|uri| !now.contains_key(*uri))
                .map(|uri| (uri, &nothing));
            for (uri, told) in now.iter().chain(gone) {
                let before = before.get(uri).unwrap_or(&nothing);
                // Some editors take nothing for a version that is not the newest any more, and so may have missed it.
                let is_missed = before.version != told.version && !told.diagnostics.is_empty();
                if before.diagnostics != told.diagnostics || is_missed {
                    self.publish(uri, told);
                }
            }
        }
        // For a document that was just opened the editor asks by itself.
        let differs =
            |(uri, told): (&String, &Told)| before.get(uri).is_some_and(|before| before.lenses != told.lenses);
        let first = before.is_empty() && now.values().any(|told| !told.lenses.is_empty());
        if first || now.iter().any(differs) {
            self.shared.surface.lenses.send_replace(());
        }
    }

    fn publish(&self, uri: &str, told: &Told) {
        let mut params = json!({"uri": uri, "diagnostics": told.diagnostics});
        if let Some(version) = told.version {
            params["version"] = version.into();
        }
        self.shared.outbound.notify("textDocument/publishDiagnostics", params);
    }
}
