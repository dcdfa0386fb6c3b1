//! The editor's settings: which of them count, and asking the person about those that do not count without their word.
//!
//! They come in `initializationOptions`, as answer to `workspace/configuration` and with `didChangeConfiguration`. A workspace
//! can put what it likes there (`.dir-locals.el`, `.zed/settings.json`, `.helix/languages.toml`, neoconf…), so `config` takes
//! preferences and what tightens, and hands the rest back as refused. A client that the person trusts vouches for what it
//! sends with the secret that it gave this process at its start.

use crate::config::ClientSettings;
use crate::config::consent::{self, Allowed, Refused, Remembered};
use crate::server::presenter::Severity;
use crate::server::run::Setup;
use crate::server::session::Session;
use crate::shown;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

const ALLOW: &str = "Allow in This Folder";
/// The same where no folder is open: what is allowed in none would be allowed in all.
const ALLOW_NOW: &str = "Allow Until the Editor Closes";
const DENY: &str = "Don't Allow";

/// The longest question. What does not fit could not be shown whole in every editor, so it cannot be allowed here.
const MOST_CHARACTERS: usize = 600;

/// Values that are asked about in one session: a project cannot bury the person in questions.
const MOST_QUESTIONS: usize = 10;

const TOO_MANY: &str = "Your editor's settings hold more values that need your approval. They are not used; \
                        `countersign config show --origin` lists them.";

/// What has been asked in this session.
#[derive(Debug, Default)]
pub struct Asked {
    answers: Mutex<Answers>,
    round: Mutex<Arc<Round>>,
}

/// By the fingerprints of values.
#[derive(Debug, Default)]
struct Answers {
    asked: BTreeSet<String>,
    /// What counts until the session ends, since no folder is open.
    allowed: Allowed,
}

/// Asking while the same folders are open.
#[derive(Debug)]
struct Round {
    /// Held as long as somebody is asked.
    alone: tokio::sync::Mutex<()>,
    /// Who asks, and who waits to ask.
    places: Semaphore,
    /// Other folders are open.
    over: CancellationToken,
}

impl Default for Round {
    fn default() -> Self {
        Self {
            alone: tokio::sync::Mutex::default(),
            places: Semaphore::new(2),
            over: CancellationToken::new(),
        }
    }
}

impl Asked {
    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn round(&self) -> MutexGuard<'_, Arc<Round>> {
        self.round.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is being asked is asked no more.
    fn begin_round(&self) {
        let before = std::mem::take(&mut *self.round());
        before.over.cancel();
    }
}

/// The settings that a session begins with.
pub fn at_start(setup: &Setup, options: &Value) -> ClientSettings {
    let mut settings = ClientSettings {
        startup: setup.startup.settings.clone(),
        ..ClientSettings::default()
    };
    put(setup, options.clone(), &mut settings);
    settings
}

fn put(setup: &Setup, said: Value, settings: &mut ClientSettings) {
    // A text is reported as none; a list is how some editors write a table that is empty.
    if !said.is_object() && !said.is_string() {
        return;
    }
    match setup.startup.vouches_for(&said) {
        true => settings.vouched = Some(said),
        false => settings.sent = Some(said),
    }
}

/// Settings that the editor sends count from now on, for live threads too.
pub fn changed(session: &Session, setup: &Setup, said: Value) {
    session
        .agent()
        .change_client_settings(|settings| put(setup, said, settings));
    let session = session.clone();
    tokio::spawn(async move {
        reload(&session).await;
        ask(&session).await;
    });
}

/// Asks about the settings that need the person's word.
pub fn ask_in_background(session: &Session) {
    let session = session.clone();
    tokio::spawn(async move { ask(&session).await });
}

async fn reload(session: &Session) {
    if let Err(error) = session.agent().reload_config(None).await {
        tracing::warn!(%error, "live threads keep the configuration they have");
    }
}

/// Takes up what the person has said before, whoever is being asked, and asks about the rest, one value after the other.
async fn ask(session: &Session) {
    let round = session.asked_settings().round().clone();
    if take_up(session).await.is_none() {
        return;
    }
    // One asks, one waits and sees what holds by then; who comes after has nothing to add.
    let Ok(_place) = round.places.try_acquire() else {
        return;
    };
    let _alone = tokio::select! {
        biased;
        () = round.over.cancelled() => return,
        alone = round.alone.lock() => alone,
    };
    let Some(Found {
        folders,
        remembered,
        refused,
        places,
    }) = take_up(session).await
    else {
        return;
    };
    for value in refused {
        let fingerprint = value.fingerprint();
        let count_asked = {
            let mut answers = session.asked_settings().answers();
            if remembered.denied.contains(&fingerprint) || !answers.asked.insert(fingerprint.clone()) {
                continue;
            }
            answers.asked.len()
        };
        let presenter = session.presenter();
        if count_asked == MOST_QUESTIONS + 1 {
            presenter.message(Severity::Warning, TOO_MANY);
        }
        if count_asked > MOST_QUESTIONS {
            continue;
        }
        let Some(question) = question(&folders, &value) else {
            presenter.message(Severity::Warning, &too_long(&value));
            continue;
        };
        let yes = if folders.is_empty() { ALLOW_NOW } else { ALLOW };
        // The first choice is never a yes; a closed question is asked again by the next session.
        let choosing = async {
            presenter.when_idle().await;
            let outbound = session.outbound();
            outbound.choose(Severity::Warning, &question, [DENY, yes]).await
        };
        let chosen = tokio::select! {
            biased;
            () = round.over.cancelled() => {
                // Nobody has answered for the folders that are open now.
                session.asked_settings().answers().asked.remove(&fingerprint);
                return;
            }
            chosen = choosing => chosen,
        };
        let allow = match chosen.as_deref() {
            Some(chosen) if chosen == yes => true,
            Some(DENY) => false,
            _ => continue,
        };
        if folders.is_empty() {
            if allow {
                let now = {
                    let mut answers = session.asked_settings().answers();
                    answers.allowed.insert(fingerprint);
                    answers.allowed.clone()
                };
                count(session, (&folders, &places), now).await;
            }
        } else if let Some(allowed) = remember(session, folders.clone(), value, allow).await {
            count(session, (&folders, &places), allowed).await;
        }
    }
}

/// What holds of the folders that are open.
struct Found {
    folders: Vec<PathBuf>,
    remembered: Remembered,
    refused: Vec<Refused>,
    /// Where the folders are, by all their names.
    places: Vec<PathBuf>,
}

/// Has count what the person has said before.
async fn take_up(session: &Session) -> Option<Found> {
    let folders = session.workspace().roots();
    let now = session.asked_settings().answers().allowed.clone();
    let (remembered, refused, places) = look(session, folders.clone(), now).await?;
    if !remembered.allowed.is_empty() {
        count(session, (&folders, &places), remembered.allowed.clone()).await;
    }
    Some(Found {
        folders,
        remembered,
        refused,
        places,
    })
}

/// What is remembered of the workspace, and what of the settings does not count in one of its folders. What is refused is
/// written down for `countersign doctor` and `countersign config show`. With it, where the folders are, by all their names.
///
/// `now` is what counts where no folder is open.
async fn look(
    session: &Session,
    folders: Vec<PathBuf>,
    now: Allowed,
) -> Option<(Remembered, Vec<Refused>, Vec<PathBuf>)> {
    let (agent, editor) = (session.agent().clone(), session.client().name.clone());
    let open = session.clone();
    let looked = tokio::task::spawn_blocking(move || {
        let home = agent.services().home.clone();
        // A conversation may know its folder by where a link leads.
        let led = folders.iter().filter_map(|folder| std::fs::canonicalize(folder).ok());
        let real: Vec<PathBuf> = folders.iter().cloned().chain(led).collect();
        let mut remembered = consent::read(&home, &folders);
        if folders.is_empty() {
            remembered.allowed = now;
        }
        // Others may have been opened meanwhile, and looked at.
        if open.workspace().roots() == folders {
            agent.change_client_settings(|settings| {
                settings.allowed.clone_from(&remembered.allowed);
                settings.allowed_in = Some(real.clone());
            });
        }
        let places = folders.iter().map(Some);
        let places = places.chain(folders.is_empty().then_some(None));
        let mut refused: Vec<Refused> = Vec::new();
        for place in places {
            let Ok(loaded) = agent.load_config(place.map(PathBuf::as_path), None) else {
                continue;
            };
            refused.extend(loaded.refused);
        }
        let mut seen = BTreeSet::new();
        refused.retain(|value| seen.insert(value.fingerprint()));
        let noted = consent::noted(&refused);
        if noted != remembered.refused {
            let written = consent::change(&home, &folders, |workspace| {
                workspace.refused = noted;
                workspace.editor = editor;
            });
            if let Err(error) = written {
                tracing::warn!(%error, "what was refused of the editor's settings is not written down");
            }
        }
        (remembered, refused, real)
    });
    looked.await.ok()
}

/// Keeps the answer. What counts after it; nothing if it changes nothing.
async fn remember(session: &Session, folders: Vec<PathBuf>, value: Refused, allow: bool) -> Option<Allowed> {
    let home = session.agent().services().home.clone();
    let key = value.key.clone();
    let kept = tokio::task::spawn_blocking(move || {
        let mut allowed = None;
        consent::change(&home, &folders, |workspace| {
            let fingerprint = value.fingerprint();
            workspace.answer(fingerprint.clone(), (&value.key, &value.value), allow);
            if !allow {
                return;
            }
            workspace.refused.retain(|one| one.fingerprint() != fingerprint);
            allowed = Some(workspace.allowed.clone());
        })
        .map(|()| allowed)
    });
    match kept.await {
        Ok(Ok(allowed)) => allowed,
        Ok(Err(error)) => {
            let message = format!("Your answer about `{key}` could not be saved, so the setting is not used: {error}.");
            session.presenter().message(Severity::Error, &message);
            None
        }
        Err(_) => None,
    }
}

/// What is allowed counts for these folders, which are at these places, as long as they are the ones that are open.
async fn count(session: &Session, (folders, places): (&[PathBuf], &[PathBuf]), allowed: Allowed) {
    if session.workspace().roots() != folders {
        return;
    }
    session.agent().change_client_settings(|settings| {
        settings.allowed = allowed;
        settings.allowed_in = Some(places.to_owned());
    });
    reload(session).await;
}

/// Other folders are open: what was allowed for those before counts no more, and what is remembered of these does.
pub fn folders_changed(session: &Session) {
    session.asked_settings().begin_round();
    session.agent().change_client_settings(|settings| {
        settings.allowed.clear();
        settings.allowed_in = Some(session.workspace().roots());
    });
    let session = session.clone();
    tokio::spawn(async move {
        // Threads that go on in a folder that was closed have its settings no more.
        reload(&session).await;
        ask(&session).await;
    });
}

/// The whole value, with every character visible. `None` where that is too long for a question.
fn question(folders: &[PathBuf], value: &Refused) -> Option<String> {
    let folder = match folders {
        [] => String::new(),
        [one] => format!(" for {}", shown::path(one)),
        [first, ..] => format!(" for {} and {} more", shown::path(first), folders.len() - 1),
    };
    let text = format!(
        "Your editor's settings{folder} want to set {} = {}. A project's own files can put settings there, and {}. Allow it?",
        value.shown_key(),
        consent::visible(&value.value),
        value.reason
    );
    (value.has_plain_key() && text.chars().count() <= MOST_CHARACTERS).then_some(text)
}

fn too_long(value: &Refused) -> String {
    if !value.has_plain_key() {
        let key: String = value.shown_key().chars().take(MOST_CHARACTERS / 2).collect();
        return format!(
            "`{key}` in your editor's settings is not used: {}, and a name in it has blanks or other characters that could pass for \
             words of the question, or is too long. If you want it, put it into your own config.toml.",
            value.reason
        );
    }
    format!(
        "`{}` in your editor's settings is not used: {}, and its value ({} characters) is too long to be shown whole in a \
         question. If you want it, put it into your own config.toml.",
        value.shown_key(),
        value.reason,
        consent::visible(&value.value).chars().count()
    )
}
