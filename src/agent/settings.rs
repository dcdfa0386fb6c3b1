//! Settings of a thread: from the configuration, and changed by the person; checked before they are in force.

mod recorded;

pub use recorded::take_up;

use super::{AgentError, permissions};
use crate::config::Config;
use crate::protocol::settings::{ApprovalsReviewer, EditApproval, Mode, SettingsOverride, ThreadSettings};
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
        permissions: permissions::same_as(config, &config.sandbox_policy),
        runtime_workspace_roots: Vec::new(),
        edit_approval: config.edits.approve,
        service_tier: config.service_tier.clone(),
        personality: config.personality,
        editor_context: config.editor_context,
        mode: Mode::default(),
    };
    let begun = SettingsOverride {
        permissions: config.default_permissions.clone(),
        ..SettingsOverride::default()
    };
    let settings = with_permissions(config, settings, &begun)?;
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
    if let Some(tier) = &change.service_tier {
        settings.service_tier = tier.clone().filter(|tier| !tier.trim().is_empty());
    }
    settings.personality = change.personality.unwrap_or(settings.personality);
    settings.summary = change.summary.unwrap_or(settings.summary);
    settings.approval_policy = change.approval_policy.unwrap_or(settings.approval_policy);
    settings.approvals_reviewer = change.approvals_reviewer.unwrap_or(settings.approvals_reviewer);
    settings.edit_approval = change.edit_approval.unwrap_or(settings.edit_approval);
    settings.mode = match change.mode {
        Some(mode) => mode,
        None if change.is_whole() => Mode::default(),
        None => settings.mode,
    };
    settings.editor_context = settings.editor_context.with(change.editor_context.unwrap_or_default());
    settings = with_permissions(config, settings, change)?;
    if let Some(cwd) = &change.cwd {
        settings.cwd = without_parents(cwd);
    }
    if let Some(roots) = &change.runtime_workspace_roots {
        settings.runtime_workspace_roots = resolved(roots, &settings.cwd);
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

/// The settings after the configuration changed: what a thread has from there follows it, what was chosen for the thread
/// stays. What it may do is only ever narrowed so: nobody can tell whether what it has was chosen as well. What it is
/// answered by (model, provider, effort, tier) is for threads that begin.
pub fn followed(before: &Config, config: &Config, now: &ThreadSettings) -> ThreadSettings {
    let begun = |config| initial(config, now.cwd.clone(), &SettingsOverride::default());
    let (Ok(old), Ok(new)) = (begun(before), begun(config)) else {
        return now.clone();
    };
    fn follow<T: PartialEq + Clone>(now: &T, old: &T, new: &T) -> T {
        if now == old { new.clone() } else { now.clone() }
    }
    let policy = |settings: &ThreadSettings| (settings.sandbox_policy.clone(), settings.permissions.clone());
    let (sandbox_policy, permissions) = match recorded::is_within(&new.sandbox_policy, &now.sandbox_policy) {
        true => follow(&policy(now), &policy(&old), &policy(&new)),
        false => policy(now),
    };
    let asks_more = recorded::asks_no_less(new.approval_policy, now.approval_policy);
    let reviewed_by_the_person = new.approvals_reviewer == ApprovalsReviewer::User;
    let edits_asked_about = new.edit_approval == EditApproval::Ask;
    ThreadSettings {
        summary: follow(&now.summary, &old.summary, &new.summary),
        approval_policy: match asks_more {
            true => follow(&now.approval_policy, &old.approval_policy, &new.approval_policy),
            false => now.approval_policy,
        },
        approvals_reviewer: match reviewed_by_the_person {
            true => follow(
                &now.approvals_reviewer,
                &old.approvals_reviewer,
                &new.approvals_reviewer,
            ),
            false => now.approvals_reviewer,
        },
        edit_approval: match edits_asked_about {
            true => follow(&now.edit_approval, &old.edit_approval, &new.edit_approval),
            false => now.edit_approval,
        },
        personality: follow(&now.personality, &old.personality, &new.personality),
        editor_context: follow(&now.editor_context, &old.editor_context, &new.editor_context),
        sandbox_policy,
        permissions,
        ..now.clone()
    }
}

/// The settings with what a change says of permissions: a profile by its id, or a policy.
fn with_permissions(
    config: &Config,
    mut settings: ThreadSettings,
    change: &SettingsOverride,
) -> Result<ThreadSettings, AgentError> {
    match (&change.permissions, &change.sandbox_policy) {
        (Some(_), Some(_)) => return Err(permissions::both()),
        (Some(id), None) => {
            let profile = permissions::find(config, id)?;
            settings.permissions = Some(profile.id.clone());
            settings.sandbox_policy = profile.policy(None);
        }
        (None, Some(policy)) => {
            settings.permissions = permissions::same_as(config, policy);
            settings.sandbox_policy = policy.clone();
        }
        (None, None) => {}
    }
    Ok(settings)
}

/// Folders of a request as absolute paths, each once, in their order.
fn resolved(roots: &[PathBuf], cwd: &Path) -> Vec<PathBuf> {
    let mut resolved: Vec<PathBuf> = Vec::with_capacity(roots.len());
    for root in roots {
        let root = crate::workspace::uri::clean(&cwd.join(root));
        if !resolved.contains(&root) {
            resolved.push(root);
        }
    }
    resolved
}

/// A folder by a name without `..`, so that what is said of folders and what lies in them can be seen by the name.
fn without_parents(cwd: &Path) -> PathBuf {
    let goes_up = cwd.components().any(|part| part == std::path::Component::ParentDir);
    match goes_up.then(|| std::fs::canonicalize(cwd)) {
        Some(Ok(real)) => real,
        _ => cwd.to_owned(),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_named_without_parents() {
        let dir = tempfile::tempdir().expect("a folder");
        let base = std::fs::canonicalize(dir.path()).expect("canonical");
        for folder in ["work", "other"] {
            std::fs::create_dir(base.join(folder)).expect("mkdir");
        }
        assert_eq!(without_parents(&base.join("work/../other")), base.join("other"));
        assert_eq!(without_parents(&base.join("work")), base.join("work"));
    }
}
