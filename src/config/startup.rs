//! Settings by the command that starts the server: `-c KEY=VALUE`, and the variable `COUNTERSIGN_SETTINGS`. They are the
//! person's own, or those of a client that the person installed, so every key may be set.

use crate::protocol::config::ConfigWarning;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The variable with settings as a JSON object.
pub const SETTINGS: &str = "COUNTERSIGN_SETTINGS";
/// The variable with a secret by which a client vouches for the settings that it sends later; see [`Startup::key`].
pub const SETTINGS_KEY: &str = "COUNTERSIGN_SETTINGS_KEY";
/// Where a client puts that secret among the settings.
pub const KEY_IN_SETTINGS: &str = "settingsKey";

/// What the command said.
#[derive(Clone, Debug, Default)]
pub struct Startup {
    /// By key; dots lead into tables.
    pub settings: Map<String, Value>,
    /// Settings with this secret in them are as good as those of the command: a workspace that puts settings into the editor
    /// does not know it.
    pub key: Option<String>,
    /// What was not understood.
    pub problems: Vec<ConfigWarning>,
}

impl Startup {
    /// Reads the variables and takes them out of the environment, so that nothing that is started later gets them; then the
    /// arguments, which win.
    pub fn read(arguments: &[String], env: &mut BTreeMap<String, String>) -> Self {
        let mut startup = Self {
            key: env.remove(SETTINGS_KEY).filter(|key| key.len() >= 16),
            ..Self::default()
        };
        if let Some(text) = env.remove(SETTINGS).filter(|text| !text.trim().is_empty()) {
            match serde_json::from_str(&text) {
                Ok(Value::Object(settings)) => startup.settings = settings,
                _ => startup.problem(format!(
                    "{SETTINGS} is not used: it must be a JSON object of configuration keys."
                )),
            }
        }
        for argument in arguments {
            match argument.split_once('=') {
                Some((key, value)) if !key.trim().is_empty() => {
                    startup.settings.insert(key.trim().to_owned(), value_of(value.trim()));
                }
                // Not the argument itself: it may hold a secret.
                _ => startup.problem("An argument of -c is not used: it must be KEY=VALUE.".to_owned()),
            }
        }
        startup
    }

    /// Whether settings carry the secret of this start.
    pub fn vouches_for(&self, settings: &Value) -> bool {
        let Some(key) = &self.key else { return false };
        let section = settings.get("countersign").filter(|section| section.is_object());
        let said = section.unwrap_or(settings).get(KEY_IN_SETTINGS).and_then(Value::as_str);
        said.is_some_and(|said| crate::token::are_equal(said.as_bytes(), key.as_bytes()))
    }

    fn problem(&mut self, message: String) {
        self.problems.push(ConfigWarning {
            message,
            path: None,
            line: None,
        });
    }
}

/// A value as TOML has it; what is no TOML is a text.
fn value_of(text: &str) -> Value {
    let document = format!("value = {text}");
    match super::tree::parse(&document).ok().as_deref() {
        Some([(_, node)]) => super::check::plain(node),
        _ => Value::from(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn arguments_and_variables_by_table() {
        let mut env: BTreeMap<String, String> = [
            (SETTINGS, r#"{"model": "by-variable", "notify": ["x"]}"#),
            (SETTINGS_KEY, "0123456789abcdef"),
            ("PATH", "/bin"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        let arguments = [
            "model=by-argument",
            "sandbox_workspace_write.network_access = true",
            r#"notify=["a", "b"]"#,
            "edits.approve='workspace'",
            "model_context_window=1000",
            "personality=a = b",
            "nonsense",
            "=x",
        ]
        .map(str::to_owned);
        let startup = Startup::read(&arguments, &mut env);
        assert_eq!(
            Value::from(startup.settings.clone()),
            json!({
                "model": "by-argument", "sandbox_workspace_write.network_access": true, "notify": ["a", "b"],
                "edits.approve": "workspace", "model_context_window": 1000, "personality": "a = b",
            })
        );
        assert_eq!(startup.problems.len(), 2);
        assert_eq!(env.keys().collect::<Vec<_>>(), ["PATH"]);
        for (settings, vouched) in [
            (json!({"settingsKey": "0123456789abcdef"}), true),
            (json!({"countersign": {"settingsKey": "0123456789abcdef"}}), true),
            (json!({"countersign": {}, "settingsKey": "0123456789abcdef"}), false),
            (json!({"settingsKey": "0123456789abcdeF"}), false),
            (json!({"settingsKey": ""}), false),
            (json!({"settingsKey": null}), false),
            (json!({}), false),
            (json!(null), false),
        ] {
            assert_eq!(startup.vouches_for(&settings), vouched, "{settings}");
        }
        // Without a secret nothing is vouched for, nor by a short one.
        for key in ["", "short"] {
            let mut env = [(SETTINGS_KEY.to_owned(), key.to_owned())].into();
            let startup = Startup::read(&[], &mut env);
            assert!(!startup.vouches_for(&json!({"settingsKey": key})));
        }
    }
}
