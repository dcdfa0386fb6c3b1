//! Signing in to an account: one login at a time, in a browser here or by a code in a browser anywhere.
//!
//! A login runs in a task of its own. Whoever takes it out of its place tells how it ended: the task when it has come to
//! its end, or whoever gives it up before. So it ends once, and one that was given up changes nothing any more.

use super::callback::{Callback, Visit};
use super::server::{Device, Endpoints, Poll, ServerError};
use super::stored::{File, Tokens};
use super::{Account, AccountError, Announce, Notice, OwnTerms, Terms, is_allowed, secret};
use crate::config::login::{ForcedMethod, Login};
use crate::ids::LoginId;
use crate::keyring::Manner;
use crate::protocol::account::AccountLoginCompleted;
use std::sync::PoisonError;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long the port of a login that was given up may take to close.
const CLOSING: Duration = Duration::from_secs(3);

/// The login that runs.
pub(super) struct Running {
    id: LoginId,
    /// Told how it ended.
    told: oneshot::Sender<Result<(), String>>,
    /// Stops the task.
    stop: CancellationToken,
    /// The task has ended, and its port is closed.
    ended: CancellationToken,
}

/// How a login ends, for who waits for that.
pub struct Ending(oneshot::Receiver<Result<(), String>>);

impl Ending {
    /// Nothing, or why it did not succeed.
    pub async fn wait(self) -> Result<(), String> {
        let over = || Err(AccountError::GivenUp("The program ended.".to_owned()).to_string());
        self.0.await.unwrap_or_else(|_| over())
    }
}

/// A login that waits for a browser on this machine.
pub struct ByBrowser {
    pub id: LoginId,
    pub ending: Ending,
    /// To be opened there.
    pub url: String,
}

/// A login that waits for a code to be typed.
pub struct ByCode {
    pub id: LoginId,
    pub ending: Ending,
    pub code: String,
    /// Where it is typed.
    pub page: String,
    /// The same with the code filled in.
    pub filled_page: Option<String>,
}

/// Tokens that the authorization server has just given. Dropped before they are kept, they are given back: they would hold
/// for long, and nobody would know of them.
struct Fresh {
    account: Account,
    login: Login,
    tokens: Tokens,
    is_kept: bool,
}

impl Fresh {
    fn new(account: Account, login: &Login, tokens: Tokens) -> Self {
        account.0.secrets.learn(tokens.secrets());
        Self {
            account,
            login: login.clone(),
            tokens,
            is_kept: false,
        }
    }

    fn are_kept(mut self) {
        self.is_kept = true;
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        // Without a runtime the program ends, and nothing can be sent any more.
        if !self.is_kept && tokio::runtime::Handle::try_current().is_ok() {
            self.account.give_back(&self.login, std::mem::take(&mut self.tokens));
        }
    }
}

/// Does something to its end, also where nobody waits for it any more.
async fn aside<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> Result<T, AccountError> {
    let done = tokio::spawn(work).await;
    done.map_err(|error| AccountError::GivenUp(format!("It broke off ({error}).")))
}

/// What a login's task takes along.
struct Task {
    account: Account,
    id: LoginId,
    terms: OwnTerms,
    stop: CancellationToken,
    ended: CancellationToken,
    limit: Duration,
    deadline: Instant,
    announce: Announce,
}

impl Account {
    /// Begins a login in a browser on this machine. It gives up the one before.
    pub async fn login_in_browser(&self, terms: Terms<'_>, announce: &Announce) -> Result<ByBrowser, AccountError> {
        let login = terms.login;
        let endpoints = allowed(login)?;
        let _one = self.0.starting.lock().await;
        let (state, verifier) = (secret::random()?, secret::random()?);
        self.supersede(announce).await;
        let callback = Callback::open(login).await?;
        let url = endpoints.page(login, &callback.url, &state, &secret::challenge(&verifier))?;
        let (task, ending) = self.begin(terms, announce, login.limit);
        let begun = ByBrowser {
            id: task.id.clone(),
            ending,
            url,
        };
        tokio::spawn(task.wait_for_browser(callback, state, verifier));
        Ok(begun)
    }

    /// Begins a login by a code, which the authorization server is asked for. It gives up the one before.
    pub async fn login_by_code(&self, terms: Terms<'_>, announce: &Announce) -> Result<ByCode, AccountError> {
        let login = terms.login;
        let endpoints = allowed(login)?;
        let _one = self.0.starting.lock().await;
        self.supersede(announce).await;
        let device = endpoints.device_code(login).await.map_err(AccountError::Server)?;
        let limit = device.limit.map_or(login.limit, |limit| limit.min(login.limit));
        let (task, ending) = self.begin(terms, announce, limit);
        let begun = ByCode {
            id: task.id.clone(),
            ending,
            code: device.user_code.clone(),
            page: device.page.clone(),
            filled_page: device.filled_page.clone(),
        };
        tokio::spawn(task.wait_for_code(device));
        Ok(begun)
    }

    /// Gives up the login with this id.
    pub fn cancel(&self, id: &LoginId, announce: &Announce) -> Result<(), AccountError> {
        if uuid::Uuid::parse_str(id.as_str()).is_err() {
            return Err(AccountError::BadLoginId(id.as_str().chars().take(100).collect()));
        }
        let running = self
            .take(id)
            .ok_or_else(|| AccountError::UnknownLogin(id.to_string()))?;
        end(running, "Somebody cancelled it.", announce);
        Ok(())
    }

    /// Gives up the login that runs, if one does.
    pub(super) fn give_up(&self, why: &str, announce: &Announce) -> Option<CancellationToken> {
        let running = self.running().take()?;
        let ended = running.ended.clone();
        end(running, why, announce);
        Some(ended)
    }

    /// Stops the login that runs without a word: the program ends.
    pub fn close(&self) {
        if let Some(running) = self.running().take() {
            running.stop.cancel();
        }
    }

    async fn supersede(&self, announce: &Announce) {
        if let Some(ended) = self.give_up("Another login was started.", announce) {
            // Its port may be the one that is wanted now.
            let _in_time = tokio::time::timeout(CLOSING, ended.cancelled()).await;
        }
    }

    fn begin(&self, terms: Terms<'_>, announce: &Announce, limit: Duration) -> (Task, Ending) {
        let (told, ending) = oneshot::channel();
        let task = Task {
            account: self.clone(),
            id: LoginId::fresh(),
            terms: OwnTerms::of(terms),
            stop: CancellationToken::new(),
            ended: CancellationToken::new(),
            limit,
            deadline: Instant::now() + limit,
            announce: announce.clone(),
        };
        *self.running() = Some(Running {
            id: task.id.clone(),
            told,
            stop: task.stop.clone(),
            ended: task.ended.clone(),
        });
        (task, Ending(ending))
    }

    fn running(&self) -> std::sync::MutexGuard<'_, Option<Running>> {
        self.0.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the login with this id out of its place; another one stays there.
    fn take(&self, id: &LoginId) -> Option<Running> {
        self.running().take_if(|running| running.id == *id)
    }
}

/// Tells that a login was given up, and stops its task.
fn end(running: Running, why: &str, announce: &Announce) {
    running.stop.cancel();
    let error = AccountError::GivenUp(why.to_owned()).to_string();
    announce(Notice::Completed(AccountLoginCompleted {
        login_id: Some(running.id),
        success: false,
        error: Some(error.clone()),
    }));
    // Nobody need wait for it.
    let _alone = running.told.send(Err(error));
}

/// The authorization server, if accounts may be signed in to.
fn allowed(login: &Login) -> Result<Endpoints<'_>, AccountError> {
    match login.forced {
        Some(ForcedMethod::ApiKey) => Err(AccountError::ForcedKey),
        _ => Endpoints::of(login),
    }
}

impl Task {
    async fn wait_for_browser(self, callback: Callback, state: String, verifier: String) {
        let back = callback.url.clone();
        let (visits, mut coming) = mpsc::channel(1);
        // Not the task's own stop: the last page is to reach the browser.
        let closed = CancellationToken::new();
        let door = tokio::spawn(callback.serve(state, visits, closed.clone()));
        let visit = tokio::select! {
            biased;
            () = self.stop.cancelled() => None,
            visit = tokio::time::timeout_at(self.deadline, coming.recv()) => Some(visit),
        };
        // Who comes from now on comes too late.
        coming.close();
        match visit {
            None => {}
            Some(Err(_)) => drop(self.finish(Err(self.timed_out())).await),
            // The door closes with the task only.
            Some(Ok(None)) => drop(self.finish(Err(AccountError::Refused(None))).await),
            Some(Ok(Some(Visit { brought, answer }))) => {
                let outcome = match brought {
                    Ok(code) => self.in_time(self.exchange(code, back, verifier)).await,
                    Err(why) => Err(AccountError::Refused(why.map(|why| in_short(&why)))),
                };
                let told = self.finish(outcome).await;
                // The browser may be gone by now.
                let _gone = answer.send(told.map_err(|error| error.to_string()));
            }
        }
        closed.cancel();
        let _ended = door.await;
        self.ended.cancel();
    }

    async fn exchange(&self, code: String, back: String, verifier: String) -> Result<Fresh, AccountError> {
        let (account, login) = (self.account.clone(), self.terms.login.clone());
        aside(async move {
            let tokens = Endpoints::of(&login)?.exchange(&code, &back, &verifier).await;
            tokens
                .map(|tokens| Fresh::new(account, &login, tokens))
                .map_err(AccountError::Server)
        })
        .await?
    }

    async fn wait_for_code(self, device: Device) {
        let outcome = tokio::select! {
            biased;
            () = self.stop.cancelled() => None,
            outcome = self.in_time(self.poll(&device)) => Some(outcome),
        };
        if let Some(outcome) = outcome {
            let _told = self.finish(outcome).await;
        }
        self.ended.cancel();
    }

    async fn poll(&self, device: &Device) -> Result<Fresh, AccountError> {
        let mut pause = device.pause;
        loop {
            tokio::time::sleep(pause).await;
            let (account, login, code) = (self.account.clone(), self.terms.login.clone(), device.code.clone());
            let asked = aside(async move {
                let polled = Endpoints::of(&login)?.poll(&code).await;
                Ok::<_, AccountError>(polled.map(|poll| poll.map(|tokens| Fresh::new(account, &login, tokens))))
            });
            match asked.await?? {
                Ok(Poll::Done(fresh)) => return Ok(fresh),
                Ok(Poll::NotYet) => {}
                Ok(Poll::Slower) => pause = Device::slower(pause),
                Ok(Poll::Denied) => return Err(AccountError::Refused(None)),
                Ok(Poll::RunOut) => return Err(self.timed_out()),
                // A web page in its place is no trouble that passes.
                Err(error @ ServerError::Unreadable(_)) => return Err(AccountError::Server(error)),
                Err(error) if error.is_passing() => {
                    tracing::info!(%error, "the authorization server is asked again");
                }
                Err(error) => return Err(AccountError::Server(error)),
            }
        }
    }

    async fn in_time(&self, work: impl Future<Output = Result<Fresh, AccountError>>) -> Result<Fresh, AccountError> {
        match tokio::time::timeout_at(self.deadline, work).await {
            Ok(outcome) => outcome,
            Err(_) => Err(self.timed_out()),
        }
    }

    fn timed_out(&self) -> AccountError {
        AccountError::TimedOut(self.limit.as_secs_f64())
    }

    /// Keeps the tokens and tells how it ended, unless the login was given up meanwhile. Tokens that are not kept are given
    /// back.
    async fn finish(&self, outcome: Result<Fresh, AccountError>) -> Result<(), AccountError> {
        let shared = &self.account.0;
        let _alone = shared.changing.lock().await;
        let Some(running) = self.account.take(&self.id) else {
            return Err(AccountError::GivenUp("Something else took its place.".to_owned()));
        };
        let login = &self.terms.login;
        let outcome = match outcome {
            Ok(fresh) if !is_allowed(login, &fresh.tokens) => {
                Err(AccountError::OtherWorkspace(fresh.tokens.account_id.clone()))
            }
            Ok(fresh) => {
                let written = shared
                    .store
                    .write(login.store, File::of_tokens(fresh.tokens.clone()), Manner::MayAsk)
                    .await;
                written.inspect(|()| fresh.are_kept())
            }
            Err(error) => Err(error),
        };
        (self.announce)(Notice::Completed(AccountLoginCompleted {
            login_id: Some(self.id.clone()),
            success: outcome.is_ok(),
            error: outcome.as_ref().err().map(ToString::to_string),
        }));
        if outcome.is_ok() {
            (self.announce)(Notice::Updated(self.account.updated(self.terms.terms())));
        }
        let _alone = running
            .told
            .send(outcome.as_ref().copied().map_err(ToString::to_string));
        outcome
    }
}

/// What a server says through the browser, as one short line.
fn in_short(text: &str) -> String {
    let line: String = crate::shown::line(text).chars().take(200).collect();
    line.trim().trim_end_matches('.').to_owned()
}
