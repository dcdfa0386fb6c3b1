//! A small context window of a local server: found out, and then tools and prompts are trimmed to it, which is said.

use super::stage::{Setting, Stage, say};
use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::routing::get;
use serde_json::{Value, json};
use std::sync::{Arc, OnceLock};

/// A server that says, as Ollama does, how much its model is loaded with, and has the rehearsal model answer.
struct Front {
    address: std::net::SocketAddr,
    model: Arc<OnceLock<String>>,
}

impl Front {
    async fn start(window: u32) -> Self {
        let model: Arc<OnceLock<String>> = Arc::default();
        let to = model.clone();
        let running = json!({"models": [{"name": "small", "context_length": window}]}).to_string();
        let app = Router::new().route("/api/ps", get(async move || running)).fallback(
            async move |uri: Uri, headers: HeaderMap, body: Bytes| {
                let (Some(model), Some(path)) = (to.get(), uri.path().strip_prefix("/v1/")) else {
                    return (StatusCode::NOT_FOUND, HeaderMap::new(), Bytes::new());
                };
                let request = reqwest::Client::new().post(format!("{model}/{path}"));
                let mut request = request.body(body);
                for name in ["content-type", "x-countersign-task"] {
                    if let Some(value) = headers.get(name) {
                        request = request.header(name, value);
                    }
                }
                let answer = request.send().await.expect("the model answers");
                let (status, kind) = (answer.status(), answer.headers()[header::CONTENT_TYPE].clone());
                let kind = HeaderMap::from_iter([(header::CONTENT_TYPE, kind)]);
                (status, kind, answer.bytes().await.expect("an answer"))
            },
        );
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move { axum::serve(listener, app).await.expect("served") });
        Self { address, model }
    }

    async fn stage(&self, script: Value, setting: Setting) -> Stage {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let setting = Setting {
            tables: format!(
                "[model_providers.ollama]\nbase_url = \"http://{}/v1\"\n{}",
                self.address, setting.tables
            ),
            ..setting
        };
        let stage = Stage::with(script, setting).await;
        self.model.set(stage.model.base_url.clone()).expect("once");
        stage
    }
}

async fn thread(stage: &Stage) -> String {
    let settings = json!({"modelProvider": "ollama", "model": "small"});
    let started = stage.start_thread(json!({"settings": settings})).await;
    started["thread"]["id"].as_str().expect("an id").to_owned()
}

fn setting(rules: &str) -> Setting {
    Setting {
        config: "personality = \"friendly\"\ndeveloper_instructions = \"Answer in verse.\"".to_owned(),
        files: vec![
            ("AGENTS.md".to_owned(), rules.to_owned()),
            (
                "big.txt".to_owned(),
                format!("FIRST\n{}LAST\n", "filler\n".repeat(5000)),
            ),
        ],
        ..Setting::default()
    }
}

const TONE: &str = "tone";
const LONG: &str = "Countersign's own instructions";
const FILES: &str = "instruction files";
const ATTACHED: &str = "your messages point at";

/// What is left out in windows of several sizes, in the order that the documentation names, and that it is said once. What
/// the person configured and says, and where they are, is always there.
#[tokio::test]
async fn tools_and_prompts_are_trimmed_to_a_small_window_and_the_person_is_told() {
    let rules = format!("BEGIN\n{}END\n", "Write tests first.\n".repeat(150));
    for (window, is_small, left_out, kept) in [
        (32_768, false, &[][..], &[TONE, LONG, FILES, ATTACHED][..]),
        (16_384, true, &[ATTACHED], &[TONE, LONG, FILES]),
        (8_192, true, &[LONG, ATTACHED], &[TONE, FILES]),
        (4_240, true, &[TONE, LONG, ATTACHED], &[FILES]),
        (2_048, true, &[TONE, LONG, FILES, ATTACHED], &[]),
    ] {
        let front = Front::start(window).await;
        let script = json!([[say("ok")], [say("ok")]]);
        let config = setting(&rules);
        let stage = front.stage(script, config).await;
        let thread = thread(&stage).await;
        let story = stage.complete(&thread, "What is in @big.txt?").await;
        let warnings: Vec<&str> = story
            .all("warning")
            .into_iter()
            .filter_map(|warning| warning["message"].as_str())
            .filter(|message| message.contains(&format!("takes {window} tokens")))
            .collect();
        assert_eq!(warnings.len(), usize::from(is_small), "{window}: {story:#?}");
        for words in left_out {
            assert!(warnings[0].contains(words), "{window} {words}: {warnings:?}");
        }
        for words in kept {
            assert!(!warnings.concat().contains(words), "{window} {words}: {warnings:?}");
        }
        let request = &stage.requests(1)[0];
        let tools = request.tools();
        assert!(tools.iter().any(|name| name == "edit"), "{window}: {tools:?}");
        for tool in ["view_image", "exec_command"] {
            let is_there = tools.iter().any(|name| name == tool);
            assert_eq!(is_there, !is_small, "{window}: {tool} in {tools:?}");
        }
        let all = request.body.to_string();
        let whole = |words: &str| !left_out.contains(&words);
        assert_eq!(all.contains("Find out before you act"), whole(LONG), "{window}");
        let rules = all.matches("Write tests first.").count();
        assert_eq!(rules == 150, whole(FILES), "{window}: {rules} rules");
        let lines = all.matches("filler").count();
        assert_eq!(lines == 5000, whole(ATTACHED), "{window}: {lines} lines");
        for words in [
            "You are Countersign",
            "Answer in verse.",
            "BEGIN",
            "END",
            "FIRST",
            "<environment_context>",
            "What is in @big.txt?",
        ] {
            assert!(all.contains(words), "{window}: {words} is missing");
        }
        assert_eq!(
            all.contains("LAST"),
            whole(ATTACHED),
            "{window}: what is cut loses its end"
        );
        // What is on the record is whole: a larger window gets it again.
        let record = Value::from(stage.rollout(&thread)).to_string();
        // The first line holds the instructions, too.
        assert_eq!(record.matches("Write tests first.").count(), 300, "{window}");
        if window == 16_384 {
            let again = stage.complete(&thread, "And now?").await;
            assert_eq!(again.count("warning"), 0, "it is said once: {again:#?}");
        }
    }
}

/// Who sets the window has decided: all tools, all words.
#[tokio::test]
async fn a_window_that_the_person_sets_is_not_asked_for_and_nothing_is_trimmed() {
    let front = Front::start(2048).await;
    let setting = Setting {
        config: "model_context_window = 2000000".to_owned(),
        ..setting("Write tests first.\n")
    };
    let stage = front.stage(json!([[say("ok")]]), setting).await;
    let thread = thread(&stage).await;
    let story = stage.complete(&thread, "Hello").await;
    assert_eq!(story.count("warning"), 0, "{story:#?}");
    assert!(stage.requests(1)[0].tools().contains(&"view_image".to_owned()));
}

/// That a model is not known is said with its first turn, and not with each; whatever its name is, in one line.
#[tokio::test]
async fn a_model_that_is_not_known_is_said_once() {
    for (model, shown) in [
        ("nobody-1", "nobody-1"),
        ("nobody\n\n\u{1b}[1mUpdate now", "nobody <U+001B>[1mUpdate now"),
    ] {
        let front = Front::start(4096).await;
        let tables = format!("[model_providers.plain]\nbase_url = \"http://{}/v1\"\n", front.address);
        let setting = Setting {
            tables,
            ..Setting::default()
        };
        let stage = front.stage(json!([[say("One.")], [say("Two.")]]), setting).await;
        let settings = json!({"modelProvider": "plain", "model": model});
        let started = stage.start_thread(json!({"settings": settings})).await;
        let thread = started["thread"]["id"].as_str().expect("an id");
        let mut said = Vec::new();
        for words in ["Go", "Again"] {
            let story = stage.complete(thread, words).await;
            let warnings = story.all("warning");
            let of_model = warnings.iter().filter(|warning| {
                let message = warning["message"].as_str().unwrap_or_default();
                message.contains(&format!("The model {shown} is not known"))
            });
            said.push(of_model.count());
        }
        assert_eq!(said, [1, 0], "{model:?}");
    }
}
