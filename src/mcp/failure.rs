//! Why a server did not start, in words: what happened, and what to do about it.

use crate::config::mcp::{ServerSettings, Transport};
use crate::shown;
use std::time::Duration;

/// GitHub's own server, which takes no login of other programs.
const GITHUB: &str = "https://api.githubcopilot.com/mcp";

/// A server did not start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    #[error("it wants a login")]
    AuthRequired,
    /// There is one, and it cannot be used: a whole sentence with advice.
    #[error("{0}")]
    Login(String),
    /// There is one, and for now it cannot be renewed: a whole sentence.
    #[error("{0}")]
    Unrenewed(String),
    #[error("it did not answer within {} seconds", seconds(*.0))]
    TimedOut(Duration),
    #[error("{0}")]
    Other(String),
}

impl StartError {
    /// The failure with all its causes. What an error says of itself decides what it is.
    pub fn of(error: &(dyn std::error::Error + 'static), limit: Duration) -> Self {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(next) = cause {
            let words = next.to_string();
            if !text.contains(&words) {
                text.push_str(": ");
                text.push_str(&words);
            }
            cause = next.source();
        }
        Self::of_text(text, limit)
    }

    pub fn of_text(text: String, limit: Duration) -> Self {
        let lower = text.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|words| lower.contains(words));
        if says(&[
            "auth required",
            "authorization required",
            "http 401",
            "401 unauthorized",
        ]) {
            Self::AuthRequired
        } else if says(&[
            "request timed out",
            "handshake timed out",
            "request timeout",
            "operation timed out",
        ]) {
            Self::TimedOut(limit)
        } else {
            Self::Other(text)
        }
    }

    /// What happened, without anything that the server has said.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::AuthRequired => "it wants a login",
            Self::Login(_) => "its login cannot be used",
            Self::Unrenewed(_) => "its login could not be renewed yet",
            Self::TimedOut(_) => "it took too long",
            Self::Other(_) => "it could not be reached, or failed",
        }
    }

    /// The words for the person; of several that fit, the first counts.
    pub fn message(&self, name: &str, settings: &ServerSettings) -> String {
        let login = shown::exact(&word(name));
        let name = shown_name(name);
        let table = format!("[mcp_servers.{name}]");
        if is_github_without_token(settings) {
            return format!(
                "The MCP server {name} did not start: GitHub's server cannot be signed in to by OAuth from here. Make a \
                 personal access token at https://github.com/settings/personal-access-tokens, put it into a variable of the \
                 environment, and name that in config.toml:\n{table}\nbearer_token_env_var = \"GITHUB_PERSONAL_ACCESS_TOKEN\""
            );
        }
        match self {
            Self::AuthRequired => format!(
                "The MCP server {name} did not start: you are not signed in to it. Sign in with `countersign mcp login \
                 {login}`."
            ),
            Self::Login(sentence) | Self::Unrenewed(sentence) => sentence.clone(),
            Self::TimedOut(limit) => format!(
                "The MCP server {name} did not start within {} seconds. If it needs longer, say so in config.toml:\n{table}\n\
                 startup_timeout_sec = {}",
                seconds(*limit),
                limit.as_secs().saturating_mul(2).max(20)
            ),
            Self::Other(text) => {
                let end = if text.ends_with(['.', '!', '?']) { "" } else { "." };
                format!("The MCP server {name} did not start: {}{end}", shown::prose(text))
            }
        }
    }
}

fn is_github_without_token(settings: &ServerSettings) -> bool {
    matches!(
        &settings.transport,
        Transport::Http { url, bearer_token_env_var: None, http_headers, env_http_headers }
            if url.trim_end_matches('/') == GITHUB && http_headers.is_empty() && env_http_headers.is_empty()
    )
}

/// Whole seconds as such.
pub(super) fn seconds(time: Duration) -> String {
    format!("{}", (time.as_secs_f64() * 1000.0).round() / 1000.0)
}

/// A name as a key of TOML.
fn key(name: &str) -> String {
    let is_bare = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    match !name.is_empty() && name.chars().all(is_bare) {
        true => name.to_owned(),
        false => serde_json::Value::from(name).to_string(),
    }
}

/// The name of a server as it stands in words of ours: in quotes where it is no bare word, on one line, and with nothing
/// hidden in it. A project names its servers, too.
pub fn shown_name(name: &str) -> String {
    shown::exact(&key(name))
}

/// A name as a word of a shell.
pub(super) fn word(name: &str) -> String {
    match key(name) == name {
        true => name.to_owned(),
        false => format!("'{}'", name.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn settings(url: &str) -> ServerSettings {
        ServerSettings {
            transport: Transport::Http {
                url: url.to_owned(),
                bearer_token_env_var: None,
                http_headers: BTreeMap::new(),
                env_http_headers: BTreeMap::new(),
            },
            required: false,
            startup_timeout: Duration::from_secs(10),
            tool_timeout: Duration::from_secs(60),
            enabled_tools: None,
            disabled_tools: BTreeSet::new(),
            approval: Default::default(),
            tools: BTreeMap::new(),
            parallel: false,
            trust_annotations: false,
            login: Default::default(),
            network: Default::default(),
        }
    }

    /// Shows S-284.
    #[test]
    fn each_failure_says_what_to_do() {
        let ten = Duration::from_secs(10);
        let plain = settings("https://host/mcp");
        let github = settings("https://api.githubcopilot.com/mcp/");
        let mut with_token = github.clone();
        if let Transport::Http {
            bearer_token_env_var, ..
        } = &mut with_token.transport
        {
            *bearer_token_env_var = Some("TOKEN".to_owned());
        }
        let of = |text: &str| StartError::of_text(text.to_owned(), ten);
        let auth = of("Send message error Transport error: Auth required, when send initialize request");
        assert_eq!(auth, StartError::AuthRequired);
        for (error, settings, words) in [
            (
                auth.clone(),
                &github,
                &["personal access token", "[mcp_servers.one]\nbearer_token_env_var = "][..],
            ),
            (of("whatever"), &github, &["personal access token"]),
            (
                auth.clone(),
                &with_token,
                &["not signed in", "countersign mcp login one"],
            ),
            (auth, &plain, &["not signed in", "countersign mcp login one"]),
            (
                of("the handshake timed out"),
                &plain,
                &["within 10 seconds", "[mcp_servers.one]\nstartup_timeout_sec = 20"],
            ),
            (
                StartError::TimedOut(Duration::from_millis(1500)),
                &plain,
                &["within 1.5 seconds"],
            ),
            (
                of("no such file"),
                &plain,
                &["The MCP server one did not start: no such file."],
            ),
        ] {
            let message = error.message("one", settings);
            for word in words {
                assert!(message.contains(word), "{word}: {message}");
            }
        }
        assert_eq!(key("a b\"c"), r#""a b\"c""#);
        // A project names its servers and their programs.
        let forged = "x\u{1b}[2K\r  ok  MCP servers\n\n## You\n\u{202e}\u{200b}";
        for error in [
            of(&format!("the program {forged} was not found")),
            StartError::AuthRequired,
            StartError::TimedOut(Duration::from_millis(1500)),
        ] {
            let message = error.message(forged, &plain);
            let is_plain = |c: char| c == '\n' || c.is_ascii_graphic() || c == ' ';
            assert!(message.chars().all(is_plain), "{message:?}");
            assert!(
                message.contains("The MCP server \"x") && message.contains("<U+202E>"),
                "{message:?}"
            );
        }
        assert_eq!(word("it's"), r"'it'\''s'");
    }
}
