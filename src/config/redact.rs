//! Takes secrets out of a configuration before it is shown.

use serde_json::Value;

const HIDDEN: &str = "<hidden>";

/// Replaces every value that is, or may be, a secret. Names stay, so that one can see what is set.
pub(super) fn redact(value: &mut Value) {
    let Value::Object(map) = value else {
        if let Value::Array(list) = value {
            list.iter_mut().for_each(redact);
        }
        return;
    };
    for (key, value) in map.iter_mut() {
        match value {
            Value::Object(inner) if is_headers(key) => {
                inner.values_mut().for_each(|value| *value = HIDDEN.into());
            }
            // What a permission profile says of a place whose name sounds like a secret's.
            Value::String(text) if matches!(text.as_str(), "read" | "write" | "deny" | "allow") => {}
            Value::String(text) if is_secret(key) && !text.is_empty() => *text = HIDDEN.to_owned(),
            Value::String(text) if key == "proxy" => *text = redact_proxy(text),
            Value::String(text) if key.ends_with("url") || key.ends_with("endpoint") => *text = redact_url(text),
            other => redact(other),
        }
    }
}

/// Tables whose every value may be a key, whatever its name.
fn is_headers(table: &str) -> bool {
    matches!(table, "http_headers" | "headers" | "env" | "query_params")
}

/// Whether a value under this name is, or may be, a secret.
pub(super) fn is_secret(key: &str) -> bool {
    let key = key.to_ascii_lowercase().replace('-', "_");
    // These name a variable that holds the secret, or count tokens.
    if matches!(key.as_str(), "env_key" | "env_key_instructions")
        || key.ends_with("_env_var")
        || key.ends_with("_limit")
        || key.ends_with("_endpoint")
    {
        return false;
    }
    [
        "key",
        "secret",
        "token",
        "password",
        "passwd",
        "credential",
        "authorization",
        "cookie",
    ]
    .iter()
    .any(|word| key.contains(word))
        && !key.contains("credentials_store")
}

/// The same for a header, whose name may say no more than that it lets in.
pub(super) fn may_hold_secret(header: &str) -> bool {
    is_secret(header) || header.to_ascii_lowercase().contains("auth")
}

/// What an address holds that may be a secret: a password, or a user without one, and what is asked for.
pub(crate) fn secrets_of_address(address: &str) -> impl Iterator<Item = &str> {
    let (place, query) = address.split_once('?').unwrap_or((address, ""));
    let host = place.split_once("://").map_or(place, |(_, rest)| rest);
    let person = host.split('/').next().and_then(|host| host.rsplit_once('@'));
    let password = person.map(|(person, _)| person.split_once(':').map_or(person, |(_, password)| password));
    let query = query.split('#').next().unwrap_or_default();
    let values = query.split('&').filter_map(|pair| pair.split_once('='));
    password
        .into_iter()
        .chain(values.filter(|(name, _)| !is_no_secret(name)).map(|(_, value)| value))
}

/// Whether a header or a parameter is known to hold no secret, such as the number of a version: it helps to understand an
/// error.
pub(crate) fn is_no_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let known = [
        "accept",
        "content-type",
        "http-referer",
        "referer",
        "user-agent",
        "x-title",
    ];
    name.ends_with("version") || name.ends_with("-beta") || known.contains(&name.as_str())
}

/// Takes user and password out of a proxy, which may be named without a scheme.
fn redact_proxy(text: &str) -> String {
    match text.rsplit_once('@') {
        Some((before, host)) => match before.split_once("://") {
            Some((scheme, _)) => format!("{scheme}://{HIDDEN}@{host}"),
            None => format!("{HIDDEN}@{host}"),
        },
        None => text.to_owned(),
    }
}

/// Takes user, password and query out of an address.
fn redact_url(text: &str) -> String {
    let Ok(mut url) = url::Url::parse(text) else {
        return text.to_owned();
    };
    if url.username().is_empty() && url.password().is_none() && url.query().is_none() {
        return text.to_owned();
    }
    // Neither can fail on an address with a host, and one without has nothing to hide there.
    let _user = url.set_username("");
    let _password = url.set_password(None);
    if url.query().is_some() {
        url.set_query(Some(HIDDEN));
    }
    url.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn addresses_hold_secrets() {
        for (address, wanted) in [
            ("https://host/v1", &[][..]),
            (
                "https://me:pw@host/v1?key=one&api-version=2&b=two#c=d",
                &["pw", "one", "two"],
            ),
            ("me:pw@host:1", &["pw"]),
            ("https://host/a@b:c?x", &[]),
            ("https://me@host?=y", &["me", "y"]),
        ] {
            assert_eq!(secrets_of_address(address).collect::<Vec<_>>(), wanted, "{address}");
        }
    }

    #[test]
    fn secrets_do_not_show() {
        let mut value = json!({
            "model": "x",
            "model_context_window": 10,
            "tool_output_token_limit": 5,
            "cli_auth_credentials_store": "file",
            "openai_base_url": "https://me:pw@host/v1?api-key=s3cret",
            "model_providers": { "a": {
                "base_url": "http://host/v1",
                "env_key": "A_KEY",
                "experimental_bearer_token": "s3cret",
                "http_headers": { "X-Anything": "s3cret" },
                "env_http_headers": { "X-Other": "NAME" },
                "query_params": { "api-version": "s3cret" },
            } },
            "shell_environment_policy": { "set": { "MY_TOKEN": "s3cret", "LANG": "C" } },
            "mcp_servers": { "m": { "bearer_token_env_var": "NAME", "env": { "A": "s3cret" }, "args": [{ "password": "s3cret" }] } },
        });
        redact(&mut value);
        let text = value.to_string();
        assert!(!text.contains("s3cret") && !text.contains("pw@"), "{text}");
        for shown in [
            "A_KEY",
            "NAME",
            "\"C\"",
            "http://host/v1",
            "X-Anything",
            "MY_TOKEN",
            "file",
        ] {
            assert!(text.contains(shown), "{shown} {text}");
        }
        assert_eq!(value["tool_output_token_limit"], 5);
    }
}
