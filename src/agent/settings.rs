//! Settings of a thread: from the configuration, and changed by the person; checked before they are in force.

use super::AgentError;
use crate::config::Config;
use crate::protocol::settings::{SettingsOverride, ThreadSettings};
use std::path::{Path, PathBuf};

/// The settings that a thread begins with.
pub fn initial(config: &Config, cwd: PathBuf, change: &SettingsOverride) -> Result<ThreadSettings, AgentError> {
    let settings = ThreadSettings {
        model: config.model.clone().unwrap_or_default(),
        model_provider: config.model_provider.clone(),
        effort: config.effort.clone(),
        summary: config.summary,
        cwd,
        approval_policy: config.approval_policy,
        approvals_reviewer: config.approvals_reviewer,
        sandbox_policy: config.sandbox_policy.clone(),
        edit_approval: config.edits.approve,
    };
    changed(config, &settings, change)
}

/// The settings after a change; an error leaves everything as it was.
pub fn changed(config: &Config, now: &ThreadSettings, change: &SettingsOverride) -> Result<ThreadSettings, AgentError> {
    let mut settings = now.clone();
    let set = |target: &mut String, value: &Option<String>| {
        if let Some(value) = value {
            target.clone_from(value);
        }
    };
    set(&mut settings.model, &change.model);
    set(&mut settings.model_provider, &change.model_provider);
    if let Some(effort) = &change.effort {
        settings.effort.clone_from(effort);
    }
    settings.summary = change.summary.unwrap_or(settings.summary);
    settings.approval_policy = change.approval_policy.unwrap_or(settings.approval_policy);
    settings.approvals_reviewer = change.approvals_reviewer.unwrap_or(settings.approvals_reviewer);
    settings.edit_approval = change.edit_approval.unwrap_or(settings.edit_approval);
    if let Some(policy) = &change.sandbox_policy {
        settings.sandbox_policy = policy.clone();
    }
    if let Some(cwd) = &change.cwd {
        settings.cwd.clone_from(cwd);
    }
    check_folder(&settings.cwd)?;
    if !config.providers.contains_key(&settings.model_provider) {
        let known: Vec<_> = config.providers.keys().map(String::as_str).collect();
        return Err(AgentError::BadSettings(format!(
            "There is no model provider named {}. The providers are: {}.",
            settings.model_provider,
            known.join(", ")
        )));
    }
    Ok(settings)
}

/// Whether a folder can be a thread's working directory.
pub(super) fn check_folder(cwd: &Path) -> Result<(), AgentError> {
    if !cwd.is_absolute() {
        return Err(AgentError::BadSettings(format!(
            "The working directory {} is not absolute.",
            cwd.display()
        )));
    }
    match std::fs::metadata(cwd) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(AgentError::BadSettings(format!(
            "The working directory {} is not a folder.",
            cwd.display()
        ))),
        Err(error) => Err(AgentError::BadSettings(format!(
            "The working directory {} cannot be used: {error}.",
            cwd.display()
        ))),
    }
}
