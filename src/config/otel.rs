//! Where telemetry goes and what it may hold (`[otel]`), and where feedback may be sent (`[feedback]`). Only the person sets
//! them; nothing is sent anywhere unless they do.

use super::network::{Network, Tls};
use crate::protocol::config::ConfigWarning;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// The table `[otel]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Otel {
    /// A tag of every record, such as `dev` or `prod`.
    pub environment: String,
    /// Whether the text of prompts is sent, and not only their length.
    pub log_user_prompt: bool,
    /// Where records go; absent: nowhere.
    pub logs: Option<Exporter>,
    /// Where spans go; absent: nowhere.
    pub traces: Option<Exporter>,
    /// Where counters go; absent: nowhere.
    pub metrics: Option<Exporter>,
}

impl Default for Otel {
    fn default() -> Self {
        Self {
            environment: "dev".to_owned(),
            log_user_prompt: false,
            logs: None,
            traces: None,
            metrics: None,
        }
    }
}

/// A collector, and how it is spoken to.
#[derive(Clone, PartialEq, Eq)]
pub struct Exporter {
    pub wire: Wire,
    /// With the path of the signal for HTTP, without any for gRPC.
    pub endpoint: String,
    /// Names in lower case; variables are filled in.
    pub headers: BTreeMap<String, String>,
    pub tls: Tls,
    pub network: Network,
}

/// Without the values of headers, which may be keys.
impl fmt::Debug for Exporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exporter")
            .field("wire", &self.wire)
            .finish_non_exhaustive()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// OTLP over HTTP, protobuf.
    Binary,
    /// OTLP over HTTP, JSON.
    Json,
    Grpc,
}

/// The table `[feedback]`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Feedback {
    /// Switched off: nothing can be sent, whatever the endpoint is.
    pub disabled: bool,
    /// Absent: feedback is saved as a file and not sent.
    pub endpoint: Option<String>,
    /// Variables are filled in.
    pub headers: BTreeMap<String, String>,
    pub network: Network,
}

/// Without the values of headers.
impl fmt::Debug for Feedback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feedback")
            .field("disabled", &self.disabled)
            .finish_non_exhaustive()
    }
}

/// Reads `[otel]`; what is wrong with an exporter costs that exporter only.
pub(super) fn otel(
    values: &Map<String, Value>,
    env: &BTreeMap<String, String>,
    warnings: &mut Vec<ConfigWarning>,
) -> Otel {
    let Some(table) = values.get("otel").and_then(Value::as_object) else {
        return Otel::default();
    };
    let text = |key: &str| table.get(key).and_then(Value::as_str);
    let mut exporter = |key: &str| {
        let described = table.get(key)?;
        exporter(described, env).unwrap_or_else(|problem| {
            warnings.push(ConfigWarning {
                message: format!("`otel.{key}` is not used: {problem}"),
                path: None,
                line: None,
            });
            None
        })
    };
    let (logs, traces, metrics) = (
        exporter("exporter"),
        exporter("trace_exporter"),
        exporter("metrics_exporter"),
    );
    let metrics_are_said = table.contains_key("metrics_exporter");
    Otel {
        environment: text("environment").unwrap_or("dev").to_owned(),
        log_user_prompt: table.get("log_user_prompt").and_then(Value::as_bool).unwrap_or(false),
        metrics: match metrics_are_said {
            true => metrics,
            false => logs.as_ref().and_then(beside),
        },
        logs,
        traces,
    }
}

/// Where the same collector takes counters, if its address tells.
fn beside(logs: &Exporter) -> Option<Exporter> {
    let endpoint = match logs.wire {
        Wire::Grpc => logs.endpoint.clone(),
        Wire::Binary | Wire::Json => format!("{}/v1/metrics", logs.endpoint.strip_suffix("/v1/logs")?),
    };
    Some(Exporter {
        endpoint,
        ..logs.clone()
    })
}

/// One exporter as the table of keys lets it through.
fn exporter(described: &Value, env: &BTreeMap<String, String>) -> Result<Option<Exporter>, String> {
    let Some(table) = described.as_object() else {
        return Ok(None);
    };
    let Some((kind, settings)) = table.iter().next() else {
        return Ok(None);
    };
    let text = |key: &str| settings.get(key).and_then(Value::as_str);
    let Some(endpoint) = text("endpoint") else {
        return Err(format!(
            "it has no endpoint. Give {kind} one, such as \"http://localhost:4318/v1/logs\" for HTTP or \
             \"http://localhost:4317\" for gRPC."
        ));
    };
    let wire = match (kind.as_str(), text("protocol")) {
        ("otlp-grpc", _) => Wire::Grpc,
        (_, Some("json")) => Wire::Json,
        _ => Wire::Binary,
    };
    let path = |key: &str| {
        let path = settings.get("tls")?.get(key)?.as_str()?;
        Some(PathBuf::from(path))
    };
    let (client_certificate, client_private_key) = (path("client-certificate"), path("client-private-key"));
    if client_certificate.is_some() != client_private_key.is_some() {
        return Err(
            "a client certificate needs its key and the key its certificate. Give both client-certificate and \
             client-private-key, or neither."
                .to_owned(),
        );
    }
    Ok(Some(Exporter {
        wire,
        endpoint: endpoint.to_owned(),
        headers: headers(settings.get("headers"), env)?,
        tls: Tls {
            ca_certificate: path("ca-certificate"),
            client_certificate,
            client_private_key,
        },
        network: Network::default(),
    }))
}

/// Reads `[feedback]`.
pub(super) fn feedback(
    values: &Map<String, Value>,
    env: &BTreeMap<String, String>,
    warnings: &mut Vec<ConfigWarning>,
) -> Feedback {
    let Some(table) = values.get("feedback").and_then(Value::as_object) else {
        return Feedback::default();
    };
    let disabled = table.get("enabled").and_then(Value::as_bool) == Some(false);
    let endpoint = table.get("endpoint").and_then(Value::as_str).map(str::to_owned);
    match headers(table.get("headers"), env) {
        Ok(headers) => Feedback {
            disabled,
            endpoint,
            headers,
            network: Network::default(),
        },
        Err(problem) => {
            warnings.push(ConfigWarning {
                message: format!("`feedback.endpoint` is not used, so feedback can be saved but not sent: {problem}"),
                path: None,
                line: None,
            });
            Feedback {
                disabled,
                ..Feedback::default()
            }
        }
    }
}

/// Headers with their variables filled in: `${NAME}` stands for the value of a variable of the server's environment.
fn headers(described: Option<&Value>, env: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, String> {
    let described = described.and_then(Value::as_object).into_iter().flatten();
    described
        .filter_map(|(name, value)| Some((name, value.as_str()?)))
        .map(|(name, value)| Ok((name.to_ascii_lowercase(), filled(name, value, env)?)))
        .collect()
}

fn filled(header: &str, value: &str, env: &BTreeMap<String, String>) -> Result<String, String> {
    let mut text = String::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, behind)) = after.split_once('}') else {
            break;
        };
        let Some(value) = env
            .get(name.trim())
            .map(|value| value.trim())
            .filter(|value| !value.is_empty())
        else {
            return Err(format!(
                "its header {header:?} needs the environment variable {name}, which is not set. Set it in the environment that \
                 starts your editor, then start the editor again."
            ));
        };
        text.push_str(before);
        text.push_str(value);
        rest = behind;
    }
    text.push_str(rest);
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(table: Value) -> (Otel, Vec<String>) {
        let values = json!({"otel": table});
        let env = [("TOKEN".to_owned(), " t0k\n".to_owned())].into_iter().collect();
        let mut warnings = Vec::new();
        let otel = otel(values.as_object().expect("a table"), &env, &mut warnings);
        (otel, warnings.into_iter().map(|warning| warning.message).collect())
    }

    /// Part of S-383 and S-384: what is said is taken, and what is not said sends nothing.
    #[test]
    fn exporters_by_table() {
        assert_eq!(read(json!({})), (Otel::default(), Vec::new()));
        assert_eq!(
            read(json!({"exporter": "none", "metrics_exporter": "statsig"})).0,
            Otel::default()
        );
        let http =
            json!({"otlp-http": {"endpoint": "http://c/v1/logs", "headers": {"X-Key": "a ${TOKEN} b", "Plain": "$x"}}});
        let (otel, warnings) = read(json!({"exporter": http, "environment": "prod", "log_user_prompt": true}));
        assert_eq!(warnings, Vec::<String>::new());
        let logs = otel.logs.expect("an exporter");
        assert_eq!((logs.wire, logs.endpoint.as_str()), (Wire::Binary, "http://c/v1/logs"));
        assert_eq!(logs.headers["x-key"], "a t0k b");
        assert_eq!(logs.headers["plain"], "$x");
        assert_eq!(otel.metrics.expect("beside").endpoint, "http://c/v1/metrics");
        assert!(otel.log_user_prompt && otel.traces.is_none() && otel.environment == "prod");
        assert!(!format!("{logs:?}").contains("t0k"));
        // An address that does not tell where counters go.
        let other = json!({"otlp-http": {"endpoint": "http://c/in", "protocol": "json"}});
        let (otel, _) = read(json!({"exporter": other}));
        assert_eq!(
            (otel.logs.map(|logs| logs.wire), otel.metrics),
            (Some(Wire::Json), None)
        );
        let grpc = json!({"otlp-grpc": {"endpoint": "http://c:4317"}});
        let (otel, _) = read(json!({"exporter": grpc.clone(), "metrics_exporter": "none", "trace_exporter": grpc}));
        assert_eq!(
            (otel.metrics, otel.traces.map(|traces| traces.wire)),
            (None, Some(Wire::Grpc))
        );
        for (broken, words) in [
            (json!({"otlp-http": {}}), "no endpoint"),
            (
                json!({"otlp-http": {"endpoint": "http://c", "headers": {"a": "${NONE}"}}}),
                "NONE",
            ),
            (
                json!({"otlp-grpc": {"endpoint": "http://c", "tls": {"client-certificate": "/c"}}}),
                "client-private-key",
            ),
        ] {
            let (otel, warnings) = read(json!({"exporter": broken}));
            assert_eq!(otel.logs, None);
            assert!(warnings.len() == 1 && warnings[0].contains(words), "{warnings:?}");
        }
    }
}
