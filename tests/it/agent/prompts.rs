//! Prompts that are called by name: shown as they were typed, sent as they say.

use super::stage::{Setting, Stage, say};
use serde_json::{Value, json};

fn answers(count: usize) -> Value {
    (0..count).map(|_| json!([say("ok")])).collect()
}

async fn stage(count: usize, trusted: bool) -> Stage {
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let setting = Setting {
        files: vec![
            file(".git/HEAD", ""),
            file("a.rs", "fn a() {}\n"),
            file(".countersign/prompts/theirs.md", "Of the project."),
            file(".countersign/prompts/mine.md", "Not this."),
        ],
        ..Setting::default()
    };
    let stage = Stage::with(answers(count), setting).await;
    if !trusted {
        let config = stage.client.home().join("config.toml");
        let mut text = std::fs::read_to_string(&config).expect("a configuration");
        text.push_str(&format!("\n[projects.{:?}]\ntrust_level = \"untrusted\"\n", stage.dir));
        std::fs::write(config, text).expect("a configuration");
    }
    stage
}

fn write(stage: &Stage, name: &str, text: &str) {
    super::stage::write(&stage.client.home().join("prompts").join(name), text);
}

async fn list(stage: &Stage) -> Value {
    let params = json!({"cwd": stage.dir});
    stage.client.call("countersign/prompt/list", params).await
}

fn names(list: &Value) -> Vec<&str> {
    let data = list["data"].as_array().expect("a list");
    data.iter()
        .map(|prompt| prompt["name"].as_str().expect("a name"))
        .collect()
}

/// Shows S-330, S-331, S-332.
#[tokio::test]
async fn prompts_are_listed_anew_and_called_by_name() {
    let stage = stage(4, true).await;
    assert_eq!(names(&list(&stage).await), ["mine", "theirs"]);
    write(
        &stage,
        "mine.md",
        "---\ndescription: Mine\narguments: [file]\ncode: true\n---\nLook at $FILE, @a.rs and $$1.",
    );
    write(&stage, "plain.md", "Tidy up.");
    write(&stage, "bad.md", "---\ndescription: no end\n");
    let listed = list(&stage).await;
    assert_eq!(names(&listed), ["mine", "plain", "project:mine", "theirs"]);
    let mine = &listed["data"][0];
    assert_eq!(
        (
            &mine["description"],
            &mine["argumentHint"],
            &mine["code"],
            &mine["source"]
        ),
        (&json!("Mine"), &json!("<file>"), &json!(true), &json!("person"))
    );
    assert_eq!(listed["problems"][0]["line"], 1);
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "/mine \"b c.rs\"").await;
    let item = story.item("userMessage");
    assert_eq!(item["content"][0]["text"], "/mine \"b c.rs\"");
    let kinds: Vec<_> = item["context"]
        .as_array()
        .unwrap()
        .iter()
        .map(|piece| &piece["kind"])
        .collect();
    assert_eq!(kinds, ["prompt", "file"]);
    stage.complete(&thread, "/plain the tests").await;
    stage.complete(&thread, "/project:mine").await;
    // What calls nothing is sent as it is; a slip is told.
    let story = stage.complete(&thread, "/plan or not").await;
    assert!(
        story.one("warning")["message"]
            .as_str()
            .unwrap()
            .contains("did you mean /plain?")
    );
    let requests = stage.requests(4);
    let last: Vec<String> = requests
        .iter()
        .map(|request| request.input_texts().pop().expect("words"))
        .collect();
    assert_eq!(
        last,
        [
            "Look at b c.rs, @a.rs and $1.",
            "Tidy up.\n\nthe tests",
            "Not this.",
            "/plan or not"
        ]
    );
    assert!(requests[0].input_texts().join("\n").contains("fn a() {}"));
    assert_eq!(stage.read(&thread).await["preview"], "/mine \"b c.rs\"");
}

#[tokio::test]
async fn a_call_without_what_it_needs_is_refused_at_once() {
    let stage = stage(1, true).await;
    write(&stage, "fix.md", "---\narguments: [file]\n---\nFix $FILE.");
    let thread = stage.thread().await;
    let params = json!({"threadId": thread, "input": [{"type": "text", "text": "/fix"}]});
    let error = stage
        .client
        .request("countersign/turn/start", params)
        .await
        .expect_err("it is refused");
    assert_eq!((error.code, &error.data["kind"]), (-32602, &json!("invalidParams")));
    assert!(error.message.contains("/fix <file>"), "{error:?}");
    assert_eq!(stage.complete(&thread, "/fix x").await.count("warning"), 0);
    assert_eq!(stage.requests(1)[0].input_texts().pop().as_deref(), Some("Fix x."));
}

/// What came with a project that the person does not trust is not offered.
#[tokio::test]
async fn a_project_that_is_not_trusted_brings_no_prompts() {
    let stage = stage(1, false).await;
    assert_eq!(names(&list(&stage).await), [] as [&str; 0]);
    let thread = stage.thread().await;
    stage.complete(&thread, "/theirs").await;
    assert_eq!(stage.requests(1)[0].input_texts().pop().as_deref(), Some("/theirs"));
}
