//! `countersign login` and `countersign logout`: how the person is known to the provider, from a terminal.

use crate::account::{self, Account, Announce, ByBrowser, ByCode, Held, OwnTerms};
use crate::config::login::ForcedMethod;
use crate::config::{self, Config, Sources};
use crate::model::error::KeyFrom;
use crate::protocol::account::Account as Known;
use crate::secrets::Secrets;
use clap::Subcommand;
use std::collections::BTreeMap;
use std::future::Future;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// Longer than any key.
const MOST_INPUT: u64 = 64 << 10;
/// How long the authorization server may take to be told of a logout.
const TELLING: Duration = Duration::from_secs(5);

#[derive(Debug, Default, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    wish: Option<Wish>,
    /// Sign in by a code that is typed into a browser anywhere; for a machine that has none.
    #[arg(long, conflicts_with = "with_api_key")]
    device: bool,
    /// Sign in with a key, which is read from standard input.
    #[arg(long)]
    with_api_key: bool,
}

#[derive(Debug, Subcommand)]
enum Wish {
    /// Say how one is signed in. The status is 0 if the configured provider can be used.
    Status,
}

#[derive(Debug, clap::Args)]
pub struct LogoutArgs {}

/// What both need to know.
struct Place {
    home: PathBuf,
    account: Account,
    terms: OwnTerms,
}

impl Place {
    /// Whether there is no authorization server to sign in to, and a key will do.
    fn takes_key_only(&self) -> bool {
        let terms = self.terms.terms();
        terms.login.client_id.is_none() && terms.login.forced != Some(ForcedMethod::Account)
    }
}

pub fn run(args: Args) -> ExitCode {
    in_place(async |place| {
        match args.wish {
            Some(Wish::Status) => Ok(status(&place)),
            None if args.with_api_key => with_key(&place).await,
            None if args.device => by_code(&place).await,
            // Without an authorization server a key is the only way.
            None if place.takes_key_only() => match io::stdin().is_terminal() {
                true => with_key(&place).await,
                false => Err(
                    "Sign in with a key here, since [login] in config.toml names no authorization server. Pipe it in: \
                 countersign login --with-api-key < file"
                        .to_owned(),
                ),
            },
            None => by_browser(&place).await,
        }
    })
}

pub fn logout(_args: LogoutArgs) -> ExitCode {
    in_place(async |place| {
        let terms = place.terms.terms();
        let account = &place.account;
        account
            .logout(terms, &silent())
            .await
            .map_err(|error| error.to_string())?;
        let _in_time = tokio::time::timeout(TELLING, account.told()).await;
        let left = match account.known(terms) {
            None => "You are signed out.".to_owned(),
            Some(_) => format!("You are signed out. What remains: {}", described(&place).0),
        };
        Ok((left, true))
    })
}

/// Does it, and says what came of it: a text, and whether it is good news.
fn in_place<F: Future<Output = Result<(String, bool), String>>>(work: impl FnOnce(Place) -> F) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let outcome = runtime
        .map_err(|error| format!("It cannot start: {error}."))
        .and_then(|runtime| runtime.block_on(work(place()?)));
    match outcome {
        Ok((text, good)) => {
            say(&text);
            if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(problem) => {
            let _closed = writeln!(io::stderr(), "countersign: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn place() -> Result<Place, String> {
    let env = super::environment();
    let home = config::home(&env)
        .ok_or("Neither COUNTERSIGN_HOME nor HOME is an absolute path, so there is no place for a login.")?;
    let sources = Sources {
        home: home.clone(),
        env: env.clone(),
        cwd: std::env::current_dir().ok(),
        ..Sources::default()
    };
    let config = config::load(&sources).map_err(|error| error.to_string())?.config;
    Ok(Place {
        account: Account::new(&home, Secrets::default()),
        terms: terms(&config, env),
        home,
    })
}

/// What holds for the configured provider.
pub(super) fn terms(config: &Config, env: BTreeMap<String, String>) -> OwnTerms {
    OwnTerms {
        provider: config
            .providers
            .get(&config.model_provider)
            .cloned()
            .unwrap_or_default(),
        login: config.login.clone(),
        env,
    }
}

async fn with_key(place: &Place) -> Result<(String, bool), String> {
    if io::stdin().is_terminal() {
        let provider = &place.terms.provider.name;
        let _closed = writeln!(
            io::stderr(),
            "Paste your API key for {provider} and press Enter; it {} shown.",
            if cfg!(unix) { "is not" } else { "is" }
        );
    }
    // On a thread of its own: a terminal waits for the person.
    let read = tokio::task::spawn_blocking(|| {
        let mut text = String::new();
        let mut input = io::stdin().lock();
        match input.is_terminal() {
            true => {
                let _silent = Silent::begin();
                io::BufRead::read_line(&mut input, &mut text).map(|_| text)
            }
            false => input.take(MOST_INPUT).read_to_string(&mut text).map(|_| text),
        }
    });
    let key = match read.await {
        Ok(Ok(key)) => key,
        Ok(Err(error)) => return Err(format!("The key cannot be read from standard input: {error}.")),
        Err(error) => return Err(format!("The key cannot be read from standard input: {error}.")),
    };
    let logged_in = place.account.login_with_key(place.terms.terms(), &key, &silent()).await;
    logged_in.map_err(|error| error.to_string())?;
    Ok((done(place), true))
}

/// While this lives the terminal does not show what is typed.
struct Silent {
    #[cfg(unix)]
    before: Option<rustix::termios::Termios>,
}

impl Silent {
    #[cfg(unix)]
    fn begin() -> Self {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let before = tcgetattr(io::stdin()).ok();
        if let Some(mut silent) = before.clone() {
            silent.local_modes.remove(LocalModes::ECHO);
            let _shows = tcsetattr(io::stdin(), OptionalActions::Flush, &silent);
        }
        Self { before }
    }

    #[cfg(not(unix))]
    fn begin() -> Self {
        Self {}
    }
}

#[cfg(unix)]
impl Drop for Silent {
    fn drop(&mut self) {
        use rustix::termios::{OptionalActions, tcsetattr};
        if let Some(before) = &self.before {
            let _stays = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }
}

async fn by_browser(place: &Place) -> Result<(String, bool), String> {
    let begun = place.account.login_in_browser(place.terms.terms(), &silent()).await;
    let ByBrowser { url, ending, .. } = begun.map_err(|error| error.to_string())?;
    say(&format!(
        "Open this page in a browser on this machine (on another machine: countersign login --device):\n\n{url}\n"
    ));
    ending.wait().await?;
    Ok((done(place), true))
}

async fn by_code(place: &Place) -> Result<(String, bool), String> {
    let begun = place.account.login_by_code(place.terms.terms(), &silent()).await;
    let ByCode { code, page, ending, .. } = begun.map_err(|error| error.to_string())?;
    say(&format!(
        "Open this page in any browser and type the code there:\n\n{page}\n\n{code}\n"
    ));
    ending.wait().await?;
    Ok((done(place), true))
}

fn done(place: &Place) -> String {
    let kept = account::place(&place.home, &place.terms.login);
    format!("Done; it is kept in {kept}.\n{}", described(place).0)
}

fn status(place: &Place) -> (String, bool) {
    described(place)
}

fn described(place: &Place) -> (String, bool) {
    describe(
        &place.account,
        &place.terms,
        &account::place(&place.home, &place.terms.login),
    )
}

/// How one is signed in, as a sentence, and whether the provider can be used with that. `kept`: where logins are kept.
pub(super) fn describe(account: &Account, terms: &OwnTerms, kept: &str) -> (String, bool) {
    let OwnTerms { provider, .. } = terms;
    let name = match provider.name.as_str() {
        "" => "The provider",
        name => name,
    };
    match account.held(terms.terms()) {
        Held::Nothing => (format!("{name} needs no login."), true),
        Held::Missing if provider.requires_openai_auth => {
            let words = match account.trouble(&terms.login) {
                None => format!("Not signed in to {name}. Sign in with `countersign login`."),
                Some(trouble) => format!("{name} cannot be used. {trouble}"),
            };
            (words, false)
        }
        Held::Missing => {
            let variable = provider.env_key.as_deref().unwrap_or("the variable of its key");
            (
                format!("{name} takes a key from the environment only, and {variable} is not set."),
                false,
            )
        }
        Held::Key { from, .. } => {
            let from = match from {
                KeyFrom::Variable(variable) => format!("from the variable {variable}"),
                KeyFrom::Stored => format!("kept in {kept}"),
                KeyFrom::Nowhere | KeyFrom::Account => "from the configuration".to_owned(),
            };
            (format!("{name} is used with a key {from}."), true)
        }
        Held::Account(_) => {
            let (email, plan) = match account.known(terms.terms()) {
                Some(Known::Account { email, plan, .. }) => (email, plan),
                _ => (None, None),
            };
            let email = email.unwrap_or_else(|| "an account without a mail address".to_owned());
            let plan = plan.map(|plan| format!(", plan {plan}")).unwrap_or_default();
            (
                format!("{name} is used with a login: {email}{plan}, kept in {kept}."),
                true,
            )
        }
    }
}

/// Nobody but the person at the terminal hears of it.
fn silent() -> Announce {
    Arc::new(|_| {})
}

pub(super) fn say(text: &str) {
    let mut out = io::stdout().lock();
    // A reader that has seen enough is no trouble of ours.
    let _gone = writeln!(out, "{text}").and_then(|()| out.flush());
}
