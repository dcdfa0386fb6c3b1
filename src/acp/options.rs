//! What can be chosen in a session: mode, model, and how long the model thinks. As options, and in the older form that had a
//! method for each.

use super::error::Failure;
use super::sessions::apart;
use super::update::line;
use crate::account::Terms;
use crate::agent::Agent;
use crate::agent::thread::ThreadHandle;
use crate::model::catalogue;
use crate::protocol::model::Model;
use crate::protocol::settings::{Mode, SettingsOverride, ThreadSettings};
use serde_json::{Value, json};

const MODES: [(Mode, &str, &str); 3] = [
    (
        Mode::Agent,
        "Agent",
        "Changes files and runs commands, and asks where the settings say so",
    ),
    (Mode::Plan, "Plan", "Reads, and makes a plan; nothing is changed"),
    (Mode::Ask, "Ask", "Answers from what it can read"),
];

/// What stands for «as the model does by itself».
const DEFAULT_EFFORT: &str = "default";

/// The modes, models and options of a session, as the answers that open one have them.
pub(super) async fn state(agent: &Agent, thread: &ThreadHandle) -> Value {
    let settings = thread.settings();
    let (agent, chosen) = (agent.clone(), settings.clone());
    let models = apart(move || models(&agent, &chosen)).await.unwrap_or_default();
    let modes = MODES.map(|(mode, name, description)| json!({"id": mode, "name": name, "description": description}));
    let available: Vec<Value> = models
        .iter()
        .map(|model| json!({"modelId": model.id, "name": line(&model.display_name)}))
        .collect();
    json!({
        "modes": {"currentModeId": settings.mode, "availableModes": modes},
        "models": {"currentModelId": settings.model, "availableModels": available},
        "configOptions": options(&settings, &models),
    })
}

fn options(settings: &ThreadSettings, models: &[Model]) -> Vec<Value> {
    let modes = MODES.map(|(mode, name, description)| json!({"value": mode, "name": name, "description": description}));
    let mut options = vec![json!({
        "id": "mode", "name": "Mode", "category": "mode", "type": "select", "currentValue": settings.mode, "options": modes,
    })];
    if !models.is_empty() {
        let choices: Vec<Value> = models
            .iter()
            .map(|model| json!({"value": model.id, "name": line(&model.display_name)}))
            .collect();
        options.push(json!({
            "id": "model", "name": "Model", "category": "model", "type": "select",
            "currentValue": settings.model, "options": choices,
        }));
    }
    let current = models.iter().find(|model| model.id == settings.model);
    let mut efforts: Vec<String> = current
        .map(|model| model.supported_reasoning_efforts.clone())
        .unwrap_or_default();
    if let Some(effort) = settings.effort.as_ref().filter(|effort| !efforts.contains(effort)) {
        efforts.push(effort.clone());
    }
    if !efforts.is_empty() {
        let default = json!({"value": DEFAULT_EFFORT, "name": "Default"});
        let each = efforts
            .iter()
            .map(|effort| json!({"value": effort, "name": line(effort)}));
        let choices: Vec<Value> = std::iter::once(default).chain(each).collect();
        options.push(json!({
            "id": "effort", "name": "Thinking", "category": "thought_level", "type": "select",
            "currentValue": settings.effort.as_deref().unwrap_or(DEFAULT_EFFORT), "options": choices,
        }));
    }
    options
}

/// The models that can be chosen, by how the person is known to the provider.
fn models(agent: &Agent, settings: &ThreadSettings) -> Vec<Model> {
    let Ok(loaded) = agent.load_config(Some(&settings.cwd), None) else {
        return Vec::new();
    };
    let (config, id) = (&loaded.config, &settings.model_provider);
    let Ok(provider) = config.provider(id) else {
        return Vec::new();
    };
    let terms = Terms {
        login: &config.login,
        provider,
        env: &agent.desk().env,
    };
    catalogue::offered(agent.desk().account.paid_by(terms), id, provider, &settings.model)
}

/// # Errors
/// There is no such mode.
pub(super) fn mode(id: &Value) -> Result<SettingsOverride, Failure> {
    let mode = serde_json::from_value(id.clone())
        .map_err(|_| Failure::params(format!("There is no mode {id}; there are agent, plan and ask.")))?;
    Ok(SettingsOverride {
        mode: Some(mode),
        ..SettingsOverride::default()
    })
}

/// # Errors
/// It names no model.
pub(super) fn model(id: &Value) -> Result<SettingsOverride, Failure> {
    let model = id.as_str().map(str::trim).filter(|model| !model.is_empty());
    let model = model.ok_or_else(|| Failure::params("The model must be a text that names one."))?;
    Ok(SettingsOverride {
        model: Some(model.to_owned()),
        ..SettingsOverride::default()
    })
}

/// An option that the person chose.
///
/// # Errors
/// There is no such option, or it has no such value.
pub(super) fn change(option: &Value, value: &Value) -> Result<SettingsOverride, Failure> {
    match option.as_str() {
        Some("mode") => mode(value),
        Some("model") => model(value),
        Some("effort") => {
            let effort = value.as_str().map(str::trim).filter(|effort| !effort.is_empty());
            let effort = effort.ok_or_else(|| Failure::params("The effort must be a text that names one."))?;
            Ok(SettingsOverride {
                effort: Some(Some(effort.to_owned()).filter(|effort| effort != DEFAULT_EFFORT)),
                ..SettingsOverride::default()
            })
        }
        _ => Err(Failure::params(format!(
            "There is no option {option}; there are mode, model and effort."
        ))),
    }
}
