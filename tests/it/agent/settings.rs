//! What the configuration says, seen in what the model is asked and in what the client is told.

use super::stage::{Stage, say};
use countersign::rehearsal::Recorded;
use serde_json::{Value, json};

/// A thread that began, and what the model was asked in it.
struct Begun {
    started: Value,
    requests: Vec<Recorded>,
}

impl Begun {
    fn settings(&self, name: &str) -> &Value {
        &self.started["settings"][name]
    }

    fn body(&self, pointer: &str) -> &Value {
        self.requests[0].body.pointer(pointer).unwrap_or(&Value::Null)
    }

    fn says(&self, text: &str) -> bool {
        self.requests[0].body.to_string().contains(text)
    }

    fn offers(&self, tool: &str) -> bool {
        let tools = self.body("/tools").as_array();
        tools.into_iter().flatten().any(|offered| offered["name"] == tool)
    }
}

/// The file, with `TOP` above its tables, as it is for this stage.
fn configure(stage: &Stage, top: &str, tables: &str) {
    let provider = |id: &str| {
        format!(
            "[model_providers.{id}]\nname = \"{id}\"\nbase_url = \"{}\"\nhttp_headers = {{ x-which = \"{id}\" }}\n",
            stage.model.base_url
        )
    };
    let providers = ["rehearsal", "second", "third"].map(provider).concat();
    let text = format!("{top}\n{providers}\n{tables}\n");
    std::fs::write(stage.client.home().join("config.toml"), text).expect("written");
}

async fn begin(stage: &Stage, params: Value, compact: bool) -> Begun {
    let before = stage.model.requests().len();
    for told in ["warning", "thread/configured", "thread/started"] {
        stage.client.ignore(&format!("countersign/{told}"));
    }
    let started = stage.client.call("countersign/thread/start", params).await;
    let thread = started["thread"]["id"].as_str().expect("an id").to_owned();
    stage.complete(&thread, "Go").await;
    if compact {
        let params = json!({ "threadId": thread });
        let answer = stage.client.call("countersign/thread/compact", params).await;
        stage.finish(answer["turnId"].as_str().expect("an id")).await;
    }
    Begun {
        started,
        requests: stage.model.requests().split_off(before),
    }
}

/// Shows S-354.
#[tokio::test]
async fn an_override_wins_over_the_profile_and_that_over_the_file() {
    let long = "A long answer. ".repeat(400);
    let answers: Vec<Value> = (0..9).map(|_| json!([say(&long)])).collect();
    let stage = Stage::new(json!(answers)).await;
    let top = "\
model = \"file-model\"
model_provider = \"rehearsal\"
approval_policy = \"untrusted\"
sandbox_mode = \"read-only\"
base_instructions = \"File base.\"
developer_instructions = \"File developer.\"
compact_prompt = \"File compact.\"
include_apply_patch_tool = false
model_max_output_tokens = 1001";
    let tables = "\
[profiles.p]
model = \"profile-model\"
model_provider = \"second\"
approval_policy = \"on-request\"
sandbox_mode = \"workspace-write\"
base_instructions = \"Profile base.\"
developer_instructions = \"Profile developer.\"
compact_prompt = \"Profile compact.\"
include_apply_patch_tool = true
model_max_output_tokens = 1002
[profiles.q]
model = \"other-model\"";
    configure(&stage, top, tables);
    let file = begin(&stage, json!({}), true).await;
    let profile = begin(&stage, json!({"config": {"profile": "p"}}), true).await;
    let elsewhere = stage.path("elsewhere");
    std::fs::create_dir(&elsewhere).expect("a folder");
    let params = json!({
        "settings": {
            "model": "given-model", "modelProvider": "third", "cwd": elsewhere,
            "approvalPolicy": "never", "sandboxPolicy": {"type": "dangerFullAccess"},
        },
        "baseInstructions": "Given base.",
        "developerInstructions": "Given developer.",
        "config": {
            "profile": "p", "compact_prompt": "Given compact.", "include_apply_patch_tool": false,
            // A free one.
            "model_max_output_tokens": 1003,
        },
    });
    let given = begin(&stage, params, true).await;

    type Look = fn(&Begun) -> Value;
    let rows: [(&str, Look, [Value; 3]); 10] = [
        (
            "model",
            |one| one.body("/model").clone(),
            ["file-model", "profile-model", "given-model"].map(Value::from),
        ),
        (
            "provider",
            |one| one.requests[0].headers["x-which"].clone().into(),
            ["rehearsal", "second", "third"].map(Value::from),
        ),
        (
            "approval policy",
            |one| one.settings("approvalPolicy").clone(),
            ["untrusted", "on-request", "never"].map(Value::from),
        ),
        (
            "sandbox mode",
            |one| one.settings("sandboxPolicy")["type"].clone(),
            ["readOnly", "workspaceWrite", "dangerFullAccess"].map(Value::from),
        ),
        (
            "base instructions",
            |one| {
                ["File base.", "Profile base.", "Given base."]
                    .map(|text| one.says(text))
                    .to_vec()
                    .into()
            },
            [
                json!([true, false, false]),
                json!([false, true, false]),
                json!([false, false, true]),
            ],
        ),
        (
            "developer instructions",
            |one| {
                let texts = ["File developer.", "Profile developer.", "Given developer."];
                texts.map(|text| one.says(text)).to_vec().into()
            },
            [
                json!([true, false, false]),
                json!([false, true, false]),
                json!([false, false, true]),
            ],
        ),
        (
            "compaction prompt",
            |one| {
                let asked = one.requests[1].body.to_string();
                let texts = ["File compact.", "Profile compact.", "Given compact."];
                texts.map(|text| asked.contains(text)).to_vec().into()
            },
            [
                json!([true, false, false]),
                json!([false, true, false]),
                json!([false, false, true]),
            ],
        ),
        (
            "patch tool",
            |one| (one.offers("apply_patch") || one.offers("edit")).into(),
            [false, true, false].map(Value::from),
        ),
        (
            "working folder",
            |one| one.settings("cwd").clone(),
            [json!(stage.dir), json!(stage.dir), json!(stage.path("elsewhere"))],
        ),
        (
            "a free one",
            |one| one.body("/max_output_tokens").clone(),
            [1001, 1002, 1003].map(Value::from),
        ),
    ];
    for (what, look, expected) in rows {
        assert_eq!([look(&file), look(&profile), look(&given)], expected, "{what}");
    }

    // The profile itself: none, the file's, the request's.
    configure(&stage, &format!("profile = \"p\"\n{top}"), tables);
    let by_file = begin(&stage, json!({}), false).await;
    let by_request = begin(&stage, json!({"config": {"profile": "q"}}), false).await;
    assert_eq!(by_file.body("/model"), "profile-model");
    assert_eq!(by_request.body("/model"), "other-model");
    assert_eq!(by_request.settings("approvalPolicy"), "untrusted");
}

/// Shows S-361.
#[tokio::test]
async fn each_setting_changes_what_is_asked() {
    type Look = fn(&Begun) -> bool;
    let rows: &[(&str, &str, Look)] = &[
        ("model = \"gpt-5.1\"", "", |one| one.body("/model") == "gpt-5.1"),
        ("model_provider = \"second\"", "", |one| {
            one.requests[0].headers["x-which"] == "second" && one.settings("modelProvider") == "second"
        }),
        ("model_reasoning_effort = \"high\"", "", |one| {
            one.body("/reasoning/effort") == "high"
        }),
        ("model_reasoning_summary = \"detailed\"", "", |one| {
            one.body("/reasoning/summary") == "detailed"
        }),
        ("model_max_output_tokens = 321", "", |one| {
            one.body("/max_output_tokens") == 321
        }),
        ("approval_policy = \"never\"", "", |one| {
            one.settings("approvalPolicy") == "never"
        }),
        ("sandbox_policy = \"read-only\"", "", |one| {
            one.settings("sandboxPolicy")["type"] == "readOnly"
        }),
        ("active_profile = \"p\"", "[profiles.p]\nmodel = \"gpt-5.2\"", |one| {
            one.body("/model") == "gpt-5.2"
        }),
        ("base_instructions = \"You are a parrot.\"", "", |one| {
            one.says("You are a parrot.")
        }),
        ("user_instructions = \"Mind the gap.\"", "", |one| {
            one.says("Mind the gap.")
        }),
        ("disable_response_storage = false", "", |one| one.body("/store") == true),
        ("use_experimental_unified_exec_tool = false", "", |one| {
            !one.offers("exec_command")
        }),
        ("", "[features]\nunified_exec = false", |one| {
            !one.offers("exec_command")
        }),
    ];
    let answers: Vec<Value> = (0..=rows.len()).map(|_| json!([say("Done.")])).collect();
    let stage = Stage::new(json!(answers)).await;
    let usual = ["model = \"gpt-5\"", "model_provider = \"rehearsal\""];
    let with = |line: &str| {
        let key = |line: &str| line.split(" =").next().map(str::to_owned);
        let mut lines: Vec<&str> = usual.into_iter().filter(|usual| key(usual) != key(line)).collect();
        lines.push(line);
        lines.join("\n")
    };
    configure(&stage, &with(""), "");
    let plain = begin(&stage, json!({}), false).await;
    for (line, tables, look) in rows {
        assert!(!look(&plain), "{line} {tables}: it is so without it");
        configure(&stage, &with(line), tables);
        let changed = begin(&stage, json!({}), false).await;
        assert!(look(&changed), "{line} {tables}: {:#}", changed.requests[0].body);
    }
}
