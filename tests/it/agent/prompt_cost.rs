//! What goes along with every request, tools and instructions, by family of models: within its budget, and in the manual as it is.

use super::stage::{Setting, Stage};
use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::routing::get;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// Bytes of these texts to one token of `o200k_base`: 4.38 to 4.43, counted with gpt-tokenizer 3 on 2026-11-30.
const BYTES_PER_TOKEN: f64 = 4.4;

/// A provider that keeps what it is asked, and refuses it.
async fn asked(wire_api: &str, model: &str, window: Option<u32>) -> Value {
    let kept: Arc<Mutex<Option<Value>>> = Arc::default();
    let keep = kept.clone();
    let running = json!({"models": [{"name": model, "context_length": window.unwrap_or_default()}]}).to_string();
    let app = Router::new()
        .route("/api/ps", get(async move || running))
        .fallback(async move |body: Bytes| {
            if let Ok(body) = serde_json::from_slice(&body) {
                *keep.lock().expect("not poisoned") = Some(body);
            }
            (StatusCode::BAD_REQUEST, "{}")
        });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, app).await.expect("served") });
    let table = match window {
        // Those of the built-in local servers are asked for their windows.
        Some(_) => format!("[model_providers.ollama]\nbase_url = \"http://{address}/v1\""),
        None => format!(
            "[model_providers.p]\nname = \"P\"\nbase_url = \"http://{address}/v1\"\nwire_api = \"{wire_api}\"\nrequest_max_retries = 0"
        ),
    };
    let setting = Setting {
        tables: table,
        ..Setting::default()
    };
    let stage = Stage::with(json!([]), setting).await;
    let provider = if window.is_some() { "ollama" } else { "p" };
    let settings = json!({"modelProvider": provider, "model": model});
    let started = stage.start_thread(json!({"settings": settings})).await;
    let thread = started["thread"]["id"].as_str().expect("an id").to_owned();
    stage.run(&thread, "Hello").await;
    kept.lock().expect("not poisoned").take().expect("a request")
}

fn tokens(bytes: usize) -> usize {
    (bytes as f64 / BYTES_PER_TOKEN).round() as usize
}

/// The budgets are those of the design: 3,000 tokens, and 1,200 in a small window.
#[tokio::test]
async fn what_every_request_costs_is_within_its_budget_and_in_the_manual() {
    let mut table =
        "| Models | API | Tools | Tokens of tools | Tokens of instructions | Together |\n|---|---|---|---|---|---|\n"
            .to_owned();
    for (models, wire_api, model, window, most) in [
        ("GPT, Codex", "responses", "gpt-5.5", None, 3000),
        ("Claude", "anthropic", "claude-sonnet-4-5", None, 3000),
        (
            "Gemini, Qwen, Mistral, DeepSeek and others",
            "chat",
            "qwen3-coder",
            None,
            3000,
        ),
        ("small ones", "chat", "llama-3.2-3b", None, 3000),
        ("small ones, window of 8,192", "chat", "llama-3.2-3b", Some(8192), 1200),
    ] {
        let request = asked(wire_api, model, window).await;
        let tools = request["tools"].as_array().expect("tools");
        let of_tools = tools.iter().map(|tool| tool.to_string().len()).sum();
        let instructions = match wire_api {
            "responses" => &request["instructions"],
            "anthropic" => &request["system"][0]["text"],
            _ => &request["messages"][0]["content"],
        };
        let of_instructions = instructions.as_str().expect("instructions").len();
        let sum = tokens(of_tools + of_instructions);
        assert!(sum <= most, "{models}: {sum} tokens");
        table.push_str(&format!(
            "| {models} | `{wire_api}` | {} | {} | {} | {sum} |\n",
            tools.len(),
            tokens(of_tools),
            tokens(of_instructions)
        ));
    }
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/models.md");
    let manual = std::fs::read_to_string(&path).expect("the manual");
    let (begin, end) = (
        "<!-- what requests cost: generated -->\n",
        "<!-- /what requests cost -->\n",
    );
    let (before, rest) = manual.split_once(begin).expect("where the table begins");
    let (found, after) = rest.split_once(end).expect("where the table ends");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, format!("{before}{begin}{table}{end}{after}")).expect("written");
        return;
    }
    assert_eq!(
        found, table,
        "docs/models.md is out of step; run with UPDATE=1 if this is meant"
    );
}
