//! The settings of a turn, as the line before each request names them.

use super::text;
use crate::ids::TurnId;
use crate::protocol::settings::{ApprovalPolicy, Mode, ReasoningSummary, SandboxPolicy, ThreadSettings};
use crate::protocol::turn::Metadata;
use serde_json::{Value, json};
use std::path::PathBuf;

/// The settings of a turn at the moment of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnContextRecord {
    pub turn_id: Option<TurnId>,
    pub cwd: PathBuf,
    /// Absent where the file names a policy that is not known here.
    pub approval_policy: Option<ApprovalPolicy>,
    pub sandbox_policy: Option<SandboxPolicy>,
    /// Id of the permission profile.
    pub permissions: Option<String>,
    /// Absent where the file does not say.
    pub runtime_workspace_roots: Option<Vec<PathBuf>>,
    pub model: String,
    pub effort: Option<String>,
    pub summary: ReasoningSummary,
    /// The usual one where the file names none, or one that is not known here.
    pub mode: Mode,
    /// The form of the answer, where the client asked for one.
    pub output_schema: Option<Value>,
    /// What the client wanted the provider to be told.
    pub metadata: Metadata,
}

impl TurnContextRecord {
    pub fn new(turn_id: &TurnId, settings: &ThreadSettings) -> Self {
        Self {
            turn_id: Some(turn_id.clone()),
            cwd: settings.cwd.clone(),
            approval_policy: Some(settings.approval_policy),
            sandbox_policy: Some(settings.sandbox_policy.clone()),
            permissions: settings.permissions.clone(),
            runtime_workspace_roots: Some(settings.runtime_workspace_roots.clone()),
            model: settings.model.clone(),
            effort: settings.effort.clone(),
            summary: settings.summary,
            mode: settings.mode,
            output_schema: None,
            metadata: Metadata::default(),
        }
    }

    pub(super) fn to_value(&self) -> Value {
        let mut value = json!({
            "turn_id": self.turn_id,
            "cwd": self.cwd,
            "approval_policy": self.approval_policy,
            "sandbox_policy": self.sandbox_policy.as_ref().map(sandbox_to_value),
            "active_permission_profile": self.permissions.as_ref().map(|id| json!({ "id": id })),
            "runtime_workspace_roots": self.runtime_workspace_roots,
            "model": self.model,
            "effort": self.effort,
            "summary": self.summary,
            "collaboration_mode": self.mode_to_value(),
            // Of ours; other programs know no such mode.
            "mode": (self.mode == Mode::Ask).then_some(self.mode),
            "final_output_json_schema": self.output_schema,
            // Of ours too.
            "metadata": Some(&self.metadata).filter(|metadata| !metadata.is_empty()),
        });
        if let Value::Object(map) = &mut value {
            map.retain(|_, field| !field.is_null());
        }
        value
    }

    pub(in crate::store) fn from_value(value: &Value) -> Option<Self> {
        if !value.is_object() {
            return None;
        }
        let field = |key: &str| value.get(key).cloned();
        Some(Self {
            turn_id: text(value, "turn_id").map(TurnId::from),
            cwd: text(value, "cwd").map(PathBuf::from).unwrap_or_default(),
            approval_policy: field("approval_policy").and_then(|value| serde_json::from_value(value).ok()),
            sandbox_policy: value.get("sandbox_policy").and_then(sandbox_from_value),
            permissions: value
                .get("active_permission_profile")
                .and_then(|profile| text(profile, "id")),
            runtime_workspace_roots: field("runtime_workspace_roots")
                .and_then(|roots| serde_json::from_value(roots).ok()),
            model: text(value, "model").unwrap_or_default(),
            effort: text(value, "effort"),
            summary: field("summary")
                .and_then(|value| serde_json::from_value(value).ok())
                .unwrap_or_default(),
            mode: match (text(value, "mode"), value.pointer("/collaboration_mode/mode")) {
                (Some(own), _) if own == "ask" => Mode::Ask,
                (_, Some(mode)) if mode == "plan" => Mode::Plan,
                _ => Mode::Agent,
            },
            output_schema: field("final_output_json_schema").filter(|schema| !schema.is_null()),
            metadata: field("metadata")
                .and_then(|metadata| serde_json::from_value(metadata).ok())
                .unwrap_or_default(),
        })
    }

    /// The mode with what it brings along, as other programs read it; nothing for the usual one.
    fn mode_to_value(&self) -> Option<Value> {
        let settings = json!({
            "model": self.model,
            "reasoning_effort": self.effort,
            "developer_instructions": null,
        });
        (self.mode == Mode::Plan).then(|| json!({ "mode": "plan", "settings": settings }))
    }
}

/// Rollouts name sandbox policies in the way of `config.toml`, not of the protocol.
fn sandbox_to_value(policy: &SandboxPolicy) -> Value {
    match policy {
        SandboxPolicy::DangerFullAccess => json!({ "type": "danger-full-access" }),
        SandboxPolicy::ReadOnly { network_access } => {
            json!({ "type": "read-only", "network_access": network_access })
        }
        SandboxPolicy::WorkspaceWrite {
            writable_roots,
            network_access,
            exclude_tmpdir_env_var,
            exclude_slash_tmp,
        } => {
            json!({
                "type": "workspace-write",
                "writable_roots": writable_roots,
                "network_access": network_access,
                "exclude_tmpdir_env_var": exclude_tmpdir_env_var,
                "exclude_slash_tmp": exclude_slash_tmp,
            })
        }
    }
}

fn sandbox_from_value(value: &Value) -> Option<SandboxPolicy> {
    // Older files call the tag `mode`.
    let kind = text(value, "type").or_else(|| text(value, "mode"))?;
    let flag = |key: &str| value.get(key).and_then(Value::as_bool).unwrap_or(false);
    match kind.as_str() {
        "danger-full-access" | "dangerFullAccess" => Some(SandboxPolicy::DangerFullAccess),
        "read-only" | "readOnly" => Some(SandboxPolicy::ReadOnly {
            network_access: flag("network_access"),
        }),
        "workspace-write" | "workspaceWrite" => Some(SandboxPolicy::WorkspaceWrite {
            writable_roots: value
                .get("writable_roots")
                .and_then(Value::as_array)
                .map(|roots| roots.iter().filter_map(Value::as_str).map(PathBuf::from).collect())
                .unwrap_or_default(),
            network_access: flag("network_access"),
            exclude_tmpdir_env_var: flag("exclude_tmpdir_env_var"),
            exclude_slash_tmp: flag("exclude_slash_tmp"),
        }),
        _ => None,
    }
}
