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
use crate::protocol::settings::{ApprovalPolicy, EditApproval, Mode, SandboxPolicy, SettingsOverride, ThreadSettings};
use serde_json::{Value, json};

/// How far the agent goes, and what asks the person first: a client has one list for both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Preset {
    Agent,
    AcceptEdits,
    NeverAsk,
    Plan,
    Ask,
}

impl Preset {
    const ALL: [Self; 5] = [Self::Agent, Self::AcceptEdits, Self::NeverAsk, Self::Plan, Self::Ask];

    const fn id(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::AcceptEdits => "accept-edits",
            Self::NeverAsk => "never-ask",
            Self::Plan => "plan",
            Self::Ask => "ask",
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Agent => "Agent",
            Self::AcceptEdits => "Accept Edits",
            Self::NeverAsk => "Never Ask",
            Self::Plan => "Plan",
            Self::Ask => "Ask",
        }
    }

    const fn description(self) -> &'static str {
        match self {
            Self::Agent => "Changes files and runs commands, and asks where the settings say so",
            Self::AcceptEdits => {
                "Makes changes of files in the workspace at once; asks before a command leaves the sandbox"
            }
            Self::NeverAsk => {
                "Makes changes of files in the workspace at once; commands run in the sandbox, and what needs more is denied"
            }
            Self::Plan => "Reads, and makes a plan; nothing is changed",
            Self::Ask => "Answers from what it can read",
        }
    }

    /// Whether it can be chosen: without a sandbox nothing holds what is never asked about, and one that only reads lets no
    /// change be made.
    fn is_offered(self, settings: &ThreadSettings) -> bool {
        match self {
            Self::AcceptEdits | Self::NeverAsk => {
                matches!(settings.sandbox_policy, SandboxPolicy::WorkspaceWrite { .. })
            }
            _ => true,
        }
    }

    /// The one in force.
    fn of(settings: &ThreadSettings) -> Self {
        let edits = settings.edit_approval == EditApproval::Workspace;
        let preset = match (settings.mode, &settings.approval_policy) {
            (Mode::Plan, _) => Self::Plan,
            (Mode::Ask, _) => Self::Ask,
            (Mode::Agent, ApprovalPolicy::Never) => Self::NeverAsk,
            (Mode::Agent, ApprovalPolicy::OnRequest | ApprovalPolicy::OnFailure) if edits => Self::AcceptEdits,
            (Mode::Agent, _) => Self::Agent,
        };
        if preset.is_offered(settings) {
            preset
        } else {
            Self::Agent
        }
    }

    fn sets(self, settings: &ThreadSettings) -> SettingsOverride {
        let mode = |mode| SettingsOverride {
            mode: Some(mode),
            ..SettingsOverride::default()
        };
        let agent = |policy, edits| SettingsOverride {
            approval_policy: policy,
            edit_approval: Some(edits),
            ..mode(Mode::Agent)
        };
        let on_request = Some(ApprovalPolicy::OnRequest);
        match self {
            Self::Plan => mode(Mode::Plan),
            Self::Ask => mode(Mode::Ask),
            Self::AcceptEdits => agent(on_request, EditApproval::Workspace),
            Self::NeverAsk => agent(Some(ApprovalPolicy::Never), EditApproval::Workspace),
            // From what never asks back to what does; another policy is the settings' own.
            Self::Agent => {
                let never_asks = Self::of(settings) == Self::NeverAsk;
                agent(on_request.filter(|_| never_asks), EditApproval::Ask)
            }
        }
    }
}

/// The id of what is in force.
pub(super) fn mode_of(settings: &ThreadSettings) -> &'static str {
    Preset::of(settings).id()
}

/// What stands for «as the model does by itself».
const DEFAULT_EFFORT: &str = "default";

/// The modes, models and options of a session, as the answers that open one have them.
pub(super) async fn state(agent: &Agent, thread: &ThreadHandle) -> Value {
    let settings = thread.settings();
    let (agent, chosen) = (agent.clone(), settings.clone());
    let models = apart(move || models(&agent, &chosen)).await.unwrap_or_default();
    let modes = presets(&settings, "id");
    let available: Vec<Value> = models
        .iter()
        .map(|model| json!({"modelId": model.id, "name": line(&model.display_name)}))
        .collect();
    json!({
        "modes": {"currentModeId": mode_of(&settings), "availableModes": modes},
        "models": {"currentModelId": settings.model, "availableModels": available},
        "configOptions": options(&settings, &models),
    })
}

/// Those that can be chosen, with their ids under this key.
fn presets(settings: &ThreadSettings, key: &str) -> Vec<Value> {
    let offered = Preset::ALL.into_iter().filter(|preset| preset.is_offered(settings));
    offered
        .map(|preset| json!({key: preset.id(), "name": preset.name(), "description": preset.description()}))
        .collect()
}

fn options(settings: &ThreadSettings, models: &[Model]) -> Vec<Value> {
    let modes = presets(settings, "value");
    let mut options = vec![json!({
        "id": "mode", "name": "Mode", "category": "mode", "type": "select", "currentValue": mode_of(settings), "options": modes,
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
        env: &agent.services().env,
    };
    catalogue::offered(agent.services().account.paid_by(terms), id, provider, &settings.model)
}

/// # Errors
/// There is no such mode.
pub(super) fn mode(id: &Value, settings: &ThreadSettings) -> Result<SettingsOverride, Failure> {
    let offered = || Preset::ALL.into_iter().filter(|preset| preset.is_offered(settings));
    let preset = offered().find(|preset| id.as_str() == Some(preset.id()));
    let preset = preset.ok_or_else(|| {
        let ids: Vec<&str> = offered().map(Preset::id).collect();
        Failure::params(format!("There is no mode {id} here; there are {}.", ids.join(", ")))
    })?;
    Ok(preset.sets(settings))
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
pub(super) fn change(option: &Value, value: &Value, settings: &ThreadSettings) -> Result<SettingsOverride, Failure> {
    match option.as_str() {
        Some("mode") => mode(value, settings),
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
