//! A token that a program of the person's gives (`model_providers.<id>.auth`), asked for again from time to time.

use crate::config::provider::AuthCommand;
use crate::exec;
use crate::model::credential::{Bearer, Login};
use crate::model::error::LoginTrouble;
use crate::secrets::Secrets;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

pub struct CommandLogin {
    command: AuthCommand,
    /// The environment that the server was started with.
    env: BTreeMap<String, String>,
    /// The command in one text.
    name: String,
    latest: Mutex<Option<(Instant, String)>>,
    /// One asks, and the others take what it got.
    asking: tokio::sync::Mutex<()>,
    secrets: Secrets,
}

impl CommandLogin {
    pub fn new(command: &AuthCommand, env: &BTreeMap<String, String>, secrets: Secrets) -> Self {
        Self {
            name: format!("{command:?}"),
            command: command.clone(),
            env: env.clone(),
            latest: Mutex::default(),
            asking: tokio::sync::Mutex::default(),
            secrets,
        }
    }

    fn latest(&self) -> Option<(Instant, String)> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn ask(&self) -> Result<Bearer, LoginTrouble> {
        let AuthCommand {
            command,
            args,
            cwd,
            timeout_ms,
            ..
        } = &self.command;
        let argv: Vec<String> = std::iter::once(command).chain(args).cloned().collect();
        let limit = Duration::from_millis((*timeout_ms).max(1));
        let answer = exec::answer_of(&argv, cwd.as_deref(), &self.env, limit).await;
        let token = match answer {
            Ok(token) if token.is_empty() => Err(format!("`{command}` gives no token")),
            answer => answer,
        };
        let token = token.map_err(|problem| LoginTrouble {
            reason: format!("{problem} (`auth` of the provider in config.toml)"),
            passing: true,
            is_kept: false,
        })?;
        self.secrets.learn([&token]);
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), token.clone()));
        Ok(bearer(token))
    }
}

fn bearer(token: String) -> Bearer {
    Bearer {
        token,
        headers: Vec::new(),
    }
}

impl Login for CommandLogin {
    fn current(&self) -> BoxFuture<'_, Result<Bearer, LoginTrouble>> {
        async {
            let interval = Duration::from_millis(self.command.refresh_interval_ms);
            let fresh = || {
                let (at, token) = self.latest()?;
                (interval.is_zero() || at.elapsed() < interval).then(|| bearer(token))
            };
            if let Some(bearer) = fresh() {
                return Ok(bearer);
            }
            let _one = self.asking.lock().await;
            match fresh() {
                Some(bearer) => Ok(bearer),
                None => self.ask().await,
            }
        }
        .boxed()
    }

    fn renew<'a>(&'a self, refused: &'a str) -> BoxFuture<'a, Result<Bearer, LoginTrouble>> {
        async move {
            let _one = self.asking.lock().await;
            match self.latest() {
                Some((_, token)) if token != refused => Ok(bearer(token)),
                _ => self.ask().await,
            }
        }
        .boxed()
    }

    fn name(&self) -> &str {
        &self.name
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn login(script: &str, refresh_interval_ms: u64) -> CommandLogin {
        let command = AuthCommand {
            command: "/bin/sh".into(),
            args: vec!["-c".into(), script.into()],
            timeout_ms: 20_000,
            refresh_interval_ms,
            ..AuthCommand::default()
        };
        let env = BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
        CommandLogin::new(&command, &env, Secrets::default())
    }

    #[tokio::test]
    async fn a_program_gives_the_token_and_is_asked_again_when_it_is_refused_or_old() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("count");
        let script = format!(
            "echo x >> {0}; echo \" token-$(wc -l < {0} | tr -d ' ')\"",
            file.display()
        );
        let login = login(&script, 3_600_000);
        let token = async |login: &CommandLogin| login.current().await.map(|bearer| bearer.token);
        assert_eq!(token(&login).await, Ok("token-1".to_owned()));
        assert_eq!(token(&login).await, Ok("token-1".to_owned()), "it is kept");
        let renewed = login.renew("token-1").await.map(|bearer| bearer.token);
        assert_eq!(renewed, Ok("token-2".to_owned()));
        let known = login.renew("token-1").await.map(|bearer| bearer.token);
        assert_eq!(known, Ok("token-2".to_owned()), "somebody else has renewed it");
        let often = self::login(&script, 1);
        assert_eq!(token(&often).await, Ok("token-3".to_owned()));
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert_eq!(token(&often).await, Ok("token-4".to_owned()));
        let lasting = self::login(&script, 0);
        assert_eq!(token(&lasting).await, Ok("token-5".to_owned()));
        assert_eq!(token(&lasting).await, Ok("token-5".to_owned()), "until it is refused");
    }

    #[tokio::test]
    async fn a_program_that_fails_says_why() {
        for (script, words) in [
            ("echo no network >&2; exit 3", "no network"),
            ("true", "gives no token"),
        ] {
            let trouble = login(script, 0).current().await.err().expect("no token");
            assert!(trouble.passing && trouble.reason.contains(words), "{trouble}");
        }
        // What it leaves running does not keep its answer.
        let leaves = login("sleep 600 & echo token", 0).current().await;
        assert_eq!(leaves.map(|bearer| bearer.token), Ok("token".to_owned()));
        let mut slow = login("sleep 600", 0);
        slow.command.timeout_ms = 50;
        let trouble = slow.current().await.err().expect("no token");
        assert!(trouble.reason.contains("50 ms"), "{trouble}");
        let mut missing = login("", 0);
        missing.command.command = "/nowhere/get-token".into();
        let trouble = missing.current().await.err().expect("no token");
        assert!(trouble.reason.contains("/nowhere/get-token"), "{trouble}");
    }
}
