//! What a server is given and may not be shown: its own tokens, where it prints them or answers with them.

use super::failure::StartError;
use super::launch::Launch;
use crate::config::mcp::{ServerSettings, Transport};

/// What stands in the place of a value.
const HIDDEN: &str = "<hidden>";
/// A shorter value, in bytes, is looked for nowhere: it would be found in words that mean nothing.
const SHORTEST: usize = 6;

/// The values of one server.
#[derive(Clone, Default)]
pub(super) struct Masks(Vec<String>);

impl Masks {
    /// Values that the person has set for it, or has it inherit.
    pub(super) fn of(launch: &Launch, settings: &ServerSettings) -> Self {
        match (launch, &settings.transport) {
            (Launch::Program { env, .. }, Transport::Program { env: set, env_vars, .. }) => {
                Self::new(set.keys().chain(env_vars).filter_map(|name| env.get(name)).cloned())
            }
            (Launch::Http { token, headers, .. }, _) => {
                let headers = headers.values().filter_map(|value| value.to_str().ok());
                Self::new(headers.chain(token.as_deref()).map(str::to_owned))
            }
            _ => Self::default(),
        }
    }

    fn new(values: impl IntoIterator<Item = String>) -> Self {
        let values = values.into_iter().map(|value| value.trim().to_owned());
        let mut values: Vec<String> = values.filter(|value| value.len() >= SHORTEST).collect();
        // One that holds another is found before that.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        values.dedup();
        Self(values)
    }

    pub(super) fn hide(&self, text: &str) -> String {
        let hide = |text: String, value: &String| match text.contains(value) {
            true => text.replace(value, HIDDEN),
            false => text,
        };
        self.0.iter().fold(text.to_owned(), hide)
    }

    pub(super) fn hide_in(&self, error: StartError) -> StartError {
        match error {
            StartError::Other(text) => StartError::Other(self.hide(&text)),
            error => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_was_given_is_hidden_in_what_it_says() {
        let values = ["mcp-token-1", "mcp-token-1-long", "short", "  blanks-around\n", ""];
        let masks = Masks::new(values.map(str::to_owned));
        for (said, shown) in [
            ("fail mcp-token-1", "fail <hidden>"),
            ("mcp-token-1-long, mcp-token-1 and more", "<hidden>, <hidden> and more"),
            ("key=blanks-around;", "key=<hidden>;"),
            ("a short word", "a short word"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(masks.hide(said), shown);
        }
        let error = masks.hide_in(StartError::Other("HTTP 500: mcp-token-1".to_owned()));
        assert_eq!(error, StartError::Other("HTTP 500: <hidden>".to_owned()));
        assert_eq!(Masks::default().hide("mcp-token-1"), "mcp-token-1");
    }
}
