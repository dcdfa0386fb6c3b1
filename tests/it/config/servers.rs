//! Tool servers in the configuration.

use super::{Place, told};

#[test]
fn servers_of_a_project_count_only_where_it_is_trusted() {
    let project = "[mcp_servers.p]\ncommand = './run'\ncwd = 'sub'\n";
    for (trust, expected) in [(None, 0), (Some("untrusted"), 0), (Some("trusted"), 1)] {
        let place = Place::new().project(".countersign/config.toml", project);
        let user = trust.map_or_else(String::new, |trust| {
            format!(
                "[projects.{:?}]\ntrust_level = {trust:?}\n",
                place.sources.cwd.as_ref().unwrap().display().to_string()
            )
        });
        let loaded = place.user(&user).load();
        assert_eq!(loaded.config.mcp_servers.len(), expected, "{trust:?}");
        let told = told(&loaded);
        assert_eq!(
            told.iter().any(|text| text.contains("trust_level")),
            trust.is_none(),
            "{told:?}"
        );
    }
}

#[test]
fn what_is_wrong_with_a_server_is_told_with_its_line() {
    let text = "[mcp_servers.a]\ncommand = 'x'\ntool_timeout_sec = -1\nheaders = {}\nstartup_timeout_sec = 2.5\n\n\
                [mcp_servers.b]\nurl = 'ftp://x'\n\n[mcp_servers.c]\ncommand = 'x'\nurl = 'http://x/'\n";
    let loaded = Place::new().user(text).load();
    let names: Vec<&String> = loaded.config.mcp_servers.keys().collect();
    assert_eq!(names, ["a"]);
    assert_eq!(loaded.config.mcp_servers["a"].startup_timeout.as_millis(), 2500);
    let told: Vec<(Option<u32>, &str)> = loaded
        .warnings
        .iter()
        .map(|one| (one.line, one.message.as_str()))
        .collect();
    for (line, words) in [
        (3, "tool_timeout_sec` must be a number of seconds, more than 0"),
        (4, "did you mean `http_headers`?"),
        (8, "http:// or https://"),
        (11, "\"c\" is not used: it has both"),
    ] {
        let found = told
            .iter()
            .any(|(at, message)| *at == Some(line) && message.contains(words));
        assert!(found, "{line} {words}: {told:?}");
    }
}

/// The tokens of tool servers are the person's: no command gets them, and nothing shows them. A server that is a program gets
/// one where it is named for it.
#[test]
fn variables_with_tokens_are_secret() {
    let text = "[mcp_servers.a]\nurl = 'https://h/'\nbearer_token_env_var = 'A_TOKEN'\nenv_http_headers = { X = 'A_HEADER' }\n";
    let place = Place::new()
        .user(text)
        .env("A_TOKEN", "hush-hush-1")
        .env("A_HEADER", "hush-hush-2");
    let config = place.load().config;
    for name in ["A_TOKEN", "A_HEADER"] {
        assert!(config.secret_variables().any(|known| known == name), "{name}");
        assert!(config.provider_variables().all(|known| known != name), "{name}");
        let value = place.sources.env[name].as_str();
        assert!(
            config.secret_values(&place.sources.env).any(|known| known == value),
            "{name}"
        );
    }
}
