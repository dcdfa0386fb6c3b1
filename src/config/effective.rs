//! The merged values as types. Every value has been checked against the table of keys before.

use super::bounds::Bounds;
use super::check::is_misfit_of;
use super::environment::{EnvironmentPolicy, Inherit};
use super::instructions::is_inside;
use super::layers::{Merged, read_text};
use super::login::Login;
use super::models::ModelSettings;
use super::network::Network;
use super::otel::{Feedback, Otel};
use super::permissions::{self, Profiles};
use super::provider::{OPENAI_URL, Provider};
use super::requests::Requests;
use super::{Config, Edits, Helper, History, Limits, Realtime, mcp};
use crate::protocol::config::ConfigWarning;
use crate::protocol::settings::{SandboxMode, SandboxPolicy};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where the configuration says nothing.
const LONGEST_POLL: std::time::Duration = std::time::Duration::from_millis(300_000);

/// Seconds that a tool of the client's may take where the configuration says nothing; a person may have to do something.
const DYNAMIC_TOOL_TIMEOUT: u64 = 300;
/// Requests to the model of one turn: a model that calls tools without end is stopped here.
const MOST_REQUESTS: u32 = 1000;

/// More retries than anyone waits for.
const MOST_RETRIES: u32 = 100;

pub(super) fn config(home: &Path, merged: &Merged, warnings: &mut Vec<ConfigWarning>) -> Config {
    let values = &merged.values;
    let instructions_file = text(values, "model_instructions_file").map(PathBuf::from);
    // Instructions of a request win over the person's file.
    let base = text(values, "base_instructions");
    let base_instructions = match &instructions_file {
        Some(path) if base.is_none() => instructions("model_instructions_file", path, warnings),
        _ => base,
    };
    let compact_prompt = text(values, "compact_prompt").filter(|text| !text.trim().is_empty());
    let compact_prompt = match text(values, "experimental_compact_prompt_file") {
        Some(path) if compact_prompt.is_none() => {
            instructions("experimental_compact_prompt_file", Path::new(&path), warnings)
        }
        _ => compact_prompt,
    };
    let (permissions, default_permissions) = permission_profiles(merged, warnings);
    let known = providers(values, warnings);
    let empty = Map::new();
    let sandbox_table = values.get("sandbox").and_then(Value::as_object).unwrap_or(&empty);
    Config {
        home: home.to_owned(),
        model: text(values, "model"),
        review_by: helper(merged, &known, &["review_model"], &["review_model_provider"], warnings),
        compact_by: helper(
            merged,
            &known,
            &["compact_model"],
            &["compact_model_provider"],
            warnings,
        ),
        approvals_by: helper(
            merged,
            &known,
            &["approvals", "model"],
            &["approvals", "model_provider"],
            warnings,
        ),
        model_provider: text(values, "model_provider").unwrap_or_else(|| "openai".to_owned()),
        model_provider_chosen: merged
            .origins
            .get("model_provider")
            .is_some_and(|origin| origin != "built-in"),
        providers: known,
        login: Login::read(values, warnings),
        mcp_servers: mcp::servers(
            values,
            &|name| merged.place(&["mcp_servers", name, "command"]),
            warnings,
        ),
        mcp_logins: mcp::Login::read(values),
        mcp_problem: match values.contains_key("mcp_servers") {
            // Another layer has sound ones.
            true => None,
            false => warnings
                .iter()
                .find(|warning| is_misfit_of("mcp_servers", warning))
                .cloned(),
        },
        approval_policy: parsed(values, "approval_policy").unwrap_or_default(),
        approvals_reviewer: parsed(values, "approvals_reviewer").unwrap_or_default(),
        assess_risk: flag_in(values, "approvals", "assess_risk"),
        sandbox_policy: sandbox(values),
        default_permissions,
        permissions,
        unreadable: permissions::subjects(&texts(sandbox_table, "unreadable")),
        network_hosts: permissions::hosts(&texts(sandbox_table, "network")),
        requests: Requests::read(sandbox_table, |key, message| {
            warnings.push(ConfigWarning {
                message: format!("`{key}`: {message}"),
                path: None,
                line: None,
            });
        }),
        unreadable_defaults: flag(sandbox_table, "unreadable_defaults").unwrap_or(true),
        protected: texts(sandbox_table, "protected"),
        unprotected: texts(sandbox_table, "unprotected"),
        environment: environment(values),
        effort: text(values, "model_reasoning_effort"),
        summary: parsed(values, "model_reasoning_summary").unwrap_or_default(),
        supports_reasoning_summaries: flag(values, "model_supports_reasoning_summaries"),
        verbosity: text(values, "model_verbosity"),
        context_window: count(values, "model_context_window").filter(|tokens| *tokens > 0),
        max_output_tokens: count(values, "model_max_output_tokens").filter(|tokens| *tokens > 0),
        auto_compact_token_limit: count(values, "model_auto_compact_token_limit"),
        compact_prompt,
        service_tier: text(values, "service_tier").filter(|tier| !tier.trim().is_empty()),
        personality: parsed(values, "personality").unwrap_or_default(),
        tool_output_token_limit: count(values, "tool_output_token_limit"),
        base_instructions,
        developer_instructions: text(values, "developer_instructions").filter(|text| !text.trim().is_empty()),
        user_instructions: text(values, "user_instructions")
            .or_else(|| text(values, "instructions"))
            .filter(|text| !text.trim().is_empty()),
        instructions_file,
        project_doc_max_bytes: parsed(values, "project_doc_max_bytes").unwrap_or(32768),
        project_doc_fallback_filenames: file_names(values, "project_doc_fallback_filenames", warnings),
        project_doc_also_filenames: file_names(values, "project_doc_also_filenames", warnings),
        project_root_markers: texts(values, "project_root_markers"),
        show_raw_agent_reasoning: flag(values, "show_raw_agent_reasoning").unwrap_or(false),
        hide_agent_reasoning: flag(values, "hide_agent_reasoning").unwrap_or(false),
        history: history(values),
        notify: texts(values, "notify"),
        notify_in_editor: flag(values, "notify_in_editor").unwrap_or(false),
        user_commands_sandboxed: flag_in(values, "user_commands", "sandboxed"),
        edits: edits(values),
        editor_context: parsed(values, "editor_context").unwrap_or_default(),
        include_apply_patch_tool: flag(values, "include_apply_patch_tool").unwrap_or(true),
        max_requests_per_turn: count(values, "max_requests_per_turn")
            .filter(|requests| *requests > 0)
            .unwrap_or(MOST_REQUESTS),
        max_cost_per_turn: parsed(values, "max_cost_per_turn"),
        models: models(merged, warnings),
        features: parsed(values, "features").unwrap_or_default(),
        web_search_key: parsed(values, "web_search"),
        unified_exec_tool: flag(values, "use_experimental_unified_exec_tool"),
        stores_answers: flag(values, "disable_response_storage") == Some(false),
        trusts_project: false,
        rule_folders: Vec::new(),
        realtime: realtime(values),
        agents: agents(values),
        bounds: bounds(values),
        dynamic_tool_timeout: match parsed(values, "dynamic_tool_timeout_sec").unwrap_or(DYNAMIC_TOOL_TIMEOUT) {
            0 => None,
            seconds => Some(std::time::Duration::from_secs(seconds)),
        },
        prompt_folders: Vec::new(),
        background_terminal_max_timeout: parsed(values, "background_terminal_max_timeout")
            .map_or(LONGEST_POLL, std::time::Duration::from_millis),
        otel: Otel::default(),
        feedback: Feedback::default(),
        network: Network::default(),
        profile: text(values, "profile"),
        profiles: values
            .get("profiles")
            .and_then(Value::as_object)
            .map(|all| all.keys().cloned().collect())
            .unwrap_or_default(),
        overrides: Map::new(),
    }
}

fn realtime(values: &Map<String, Value>) -> Realtime {
    let empty = Map::new();
    let table = values.get("realtime").and_then(Value::as_object).unwrap_or(&empty);
    let written = |key: &str| text(table, key).filter(|text| !text.trim().is_empty());
    Realtime {
        version: parsed(table, "version").unwrap_or_default(),
        base_url: written("base_url"),
        model: written("model"),
        voice: written("voice"),
        instructions: written("instructions"),
        startup_context: flag(table, "startup_context"),
        start_limit: parsed(table, "start_timeout_ms")
            .filter(|ms| *ms > 0)
            .map(std::time::Duration::from_millis),
    }
}

fn agents(values: &Map<String, Value>) -> Limits {
    let table = values.get("agents").and_then(Value::as_object);
    let number = |key: &str| count(table?, key);
    let usual = Limits::default();
    Limits {
        threads: number("max_threads").map_or(usual.threads, |most| most as usize),
        depth: number("max_depth").unwrap_or(usual.depth),
    }
}

fn bounds(values: &Map<String, Value>) -> Bounds {
    let table = values.get("limits");
    let value = |key: &str| table.and_then(|table| table.get(key));
    Bounds::of(value("memory"), value("processes").and_then(Value::as_u64))
}

fn text(values: &Map<String, Value>, key: &str) -> Option<String> {
    values.get(key)?.as_str().map(str::to_owned)
}

fn flag(values: &Map<String, Value>, key: &str) -> Option<bool> {
    values.get(key)?.as_bool()
}

/// A switch in a table that is off where nobody says otherwise.
fn flag_in(values: &Map<String, Value>, table: &str, key: &str) -> bool {
    let table = values.get(table).and_then(Value::as_object);
    table.and_then(|table| flag(table, key)).unwrap_or(false)
}

/// A number of tokens; more than fit count as all there can be.
fn count(values: &Map<String, Value>, key: &str) -> Option<u32> {
    values
        .get(key)?
        .as_u64()
        .map(|number| u32::try_from(number).unwrap_or(u32::MAX))
}

pub(super) fn texts(values: &Map<String, Value>, key: &str) -> Vec<String> {
    parsed(values, key).unwrap_or_default()
}

fn parsed<T: DeserializeOwned>(values: &Map<String, Value>, key: &str) -> Option<T> {
    serde_json::from_value(values.get(key)?.clone()).ok()
}

/// What the person says of single models. A price without both of its halves counts as none.
fn models(merged: &Merged, warnings: &mut Vec<ConfigWarning>) -> BTreeMap<String, ModelSettings> {
    let models: BTreeMap<String, ModelSettings> = parsed(&merged.values, "models").unwrap_or_default();
    for (name, model) in &models {
        let price = model.price.unwrap_or_default();
        let lacks = match (price.input, price.output) {
            (Some(_), Some(_)) => continue,
            (None, None) if model.price.is_none() => continue,
            (None, None) => "neither",
            (None, Some(_)) => "no `input`",
            (Some(_), None) => "no `output`",
        };
        warnings.push(ConfigWarning {
            message: format!(
                "`models.{name}.price` must have `input` and `output`, but it has {lacks}. It is not used."
            ),
            ..merged.place(&["models", name, "price", ""])
        });
    }
    models
}

/// Names of files that are looked for in folders; one that leads out of its folder is reported and not used.
fn file_names(values: &Map<String, Value>, key: &str, warnings: &mut Vec<ConfigWarning>) -> Vec<String> {
    let (inside, outside): (Vec<String>, Vec<String>) =
        texts(values, key).into_iter().partition(|name| is_inside(name));
    for name in outside {
        let message = format!(
            "`{key}` names {name:?}, which is no file below a folder; it is not used. Write a name such as CLAUDE.md or \
             .github/copilot-instructions.md."
        );
        warnings.push(ConfigWarning {
            message,
            path: None,
            line: None,
        });
    }
    inside
}

fn providers(values: &Map<String, Value>, warnings: &mut Vec<ConfigWarning>) -> BTreeMap<String, Provider> {
    let Some(described) = values.get("model_providers").and_then(Value::as_object) else {
        return BTreeMap::new();
    };
    let mut providers = BTreeMap::new();
    for (id, description) in described {
        // Numbers beyond the type's range are the only way to fail here.
        let mut provider: Provider = serde_json::from_value(description.clone()).unwrap_or_else(|error| {
            let message = format!("[model_providers.{id}] is not used as it stands: {error}.");
            warnings.push(ConfigWarning {
                message,
                path: None,
                line: None,
            });
            Provider::default()
        });
        if provider.name.trim().is_empty() {
            provider.name.clone_from(id);
        }
        if id == "openai"
            && provider.base_url == OPENAI_URL
            && let Some(url) = text(values, "openai_base_url")
        {
            provider.base_url = url;
        }
        // The rehearsal model has no address of its own, and a key must not go to a stranger by mistake.
        if provider.base_url.is_empty() && id != "rehearsal" && provider.requires_openai_auth {
            provider.base_url = OPENAI_URL.to_owned();
        }
        provider.request_max_retries = provider.request_max_retries.min(MOST_RETRIES);
        provider.stream_max_retries = provider.stream_max_retries.min(MOST_RETRIES);
        providers.insert(id.clone(), provider);
    }
    providers
}

/// Who does work beside the conversation, by the ways to the keys of model and provider. A provider that is not known is
/// told of and not used, nor is its model: it would mean nothing to another.
fn helper(
    merged: &Merged,
    known: &BTreeMap<String, Provider>,
    model: &[&str],
    provider: &[&str],
    warnings: &mut Vec<ConfigWarning>,
) -> Helper {
    let at = |way: &[&str]| {
        let mut values = &merged.values;
        let (last, tables) = way.split_last()?;
        for table in tables {
            values = values.get(*table)?.as_object()?;
        }
        text(values, last)
    };
    let (model, id) = (at(model), at(provider));
    if let Some(id) = id.as_ref().filter(|id| !known.contains_key(*id)) {
        let known = known.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        warnings.push(ConfigWarning {
            message: format!(
                "`{}`: there is no model provider {id:?}, so the thread's is used. Known are: {known}. Add \
                 [model_providers.{id}] to config.toml, or choose another.",
                provider.join(".")
            ),
            ..merged.place(provider)
        });
        return Helper::default();
    }
    Helper { model, provider: id }
}

fn sandbox(values: &Map<String, Value>) -> SandboxPolicy {
    policy_of(values, parsed(values, "sandbox_mode").unwrap_or_default())
}

/// The policy of a mode, with what the configuration says of it.
pub(super) fn policy_of(values: &Map<String, Value>, mode: SandboxMode) -> SandboxPolicy {
    match SandboxPolicy::from_mode(mode) {
        SandboxPolicy::WorkspaceWrite { .. } => {
            let empty = Map::new();
            let table = values
                .get("sandbox_workspace_write")
                .and_then(Value::as_object)
                .unwrap_or(&empty);
            let on = |key: &str| flag(table, key).unwrap_or(false);
            SandboxPolicy::WorkspaceWrite {
                writable_roots: texts(table, "writable_roots").into_iter().map(PathBuf::from).collect(),
                network_access: on("network_access"),
                exclude_tmpdir_env_var: on("exclude_tmpdir_env_var"),
                exclude_slash_tmp: on("exclude_slash_tmp"),
            }
        }
        other => other,
    }
}

/// The permission profiles there are, and the one that threads begin with if it is one's last word.
fn permission_profiles(merged: &Merged, warnings: &mut Vec<ConfigWarning>) -> (Profiles, Option<String>) {
    let values = &merged.values;
    let (profiles, mut problems) =
        permissions::resolve(values, &|name| merged.place(&["permissions", name, "extends"]));
    let chosen = text(values, "default_permissions").filter(|_| merged.by_profile);
    let origin = |key: &str| merged.origins.get(key).map(String::as_str);
    if chosen.is_some() && origin("default_permissions") == origin("sandbox_mode") {
        problems.push(ConfigWarning {
            message: "`default_permissions` and `sandbox_mode` say the same thing twice; the profile is used, the mode is not. \
                      Remove one of them."
                .to_owned(),
            path: None,
            line: None,
        });
    }
    let known = chosen.filter(|id| {
        let is_known = profiles.get(id).is_some();
        if !is_known {
            problems.push(ConfigWarning {
                message: format!(
                    "There is no permission profile {id:?}; {} is used until there is. {}",
                    permissions::READ_ONLY,
                    profiles.instead_of(id)
                ),
                path: None,
                line: None,
            });
        }
        is_known
    });
    warnings.append(&mut problems);
    // A name that means nothing must not leave more open than any name could.
    let known = known.or_else(|| merged.by_profile.then(|| permissions::READ_ONLY.to_owned()));
    (profiles, known)
}

fn environment(values: &Map<String, Value>) -> EnvironmentPolicy {
    let empty = Map::new();
    let table = values
        .get("shell_environment_policy")
        .and_then(Value::as_object)
        .unwrap_or(&empty);
    EnvironmentPolicy {
        inherit: parsed::<Inherit>(table, "inherit").unwrap_or_default(),
        ignore_default_excludes: flag(table, "ignore_default_excludes").unwrap_or(false),
        exclude: texts(table, "exclude"),
        set: parsed(table, "set").unwrap_or_default(),
        include_only: texts(table, "include_only"),
        experimental_use_profile: flag(table, "experimental_use_profile").unwrap_or(false),
    }
}

fn edits(values: &Map<String, Value>) -> Edits {
    let empty = Map::new();
    let table = values.get("edits").and_then(Value::as_object).unwrap_or(&empty);
    Edits {
        approve: parsed(table, "approve").unwrap_or_default(),
        applies_each: table.get("apply").and_then(Value::as_str) != Some("together"),
        hints: flag(table, "hints").unwrap_or(true),
    }
}

fn history(values: &Map<String, Value>) -> History {
    let table = values.get("history");
    let field = |key: &str| table.and_then(|table| table.get(key));
    History {
        save: field("persistence").and_then(Value::as_str) != Some("none"),
        max_bytes: field("max_bytes").and_then(Value::as_u64),
    }
}

fn instructions(key: &str, path: &Path, warnings: &mut Vec<ConfigWarning>) -> Option<String> {
    let problem = match read_text(path) {
        Ok(Some(text)) if !text.trim().is_empty() => return Some(text),
        Ok(Some(_)) => "it is empty".to_owned(),
        Ok(None) => "there is no such file".to_owned(),
        Err(cause) => cause.to_string(),
    };
    let message = format!("The instructions of {key} are not used, the built-in ones are: {problem}.");
    warnings.push(ConfigWarning {
        message,
        path: Some(path.to_owned()),
        line: None,
    });
    None
}
