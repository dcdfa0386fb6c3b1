//! Instruction files in a conversation: found where the configuration says, told by difference once they change.

use super::stage::{Setting, Stage, say};
use countersign::rehearsal::Recorded;
use serde_json::{Value, json};

/// What a request tells of changed instructions, each message.
fn news(request: &Recorded) -> Vec<String> {
    let texts = request.input_texts().into_iter();
    texts
        .filter(|text| text.starts_with("<countersign_instructions"))
        .collect()
}

fn files(files: &[(&str, &str)]) -> Vec<(String, String)> {
    let own = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
    files.iter().map(own).collect()
}

fn answers(count: usize) -> Value {
    (0..count).map(|_| json!([say("ok")])).collect()
}

/// Shows S-223.
#[tokio::test]
async fn a_changed_file_reaches_the_next_turn_once_and_as_a_difference() {
    let long: String = (0..40).map(|line| format!("Rule {line}.\n")).collect();
    let setting = Setting {
        files: files(&[("AGENTS.md", &long), (".git/HEAD", "")]),
        ..Setting::default()
    };
    let stage = Stage::with(answers(7), setting).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "One").await;
    stage.write("AGENTS.md", &long.replace("Rule 20.", "Rule twenty."));
    stage.complete(&thread, "Two").await;
    stage.complete(&thread, "Three").await;
    // The editor's text counts, also of a file that is not on the disk.
    stage.open("AGENTS.override.md", "Only this.\n");
    stage.complete(&thread, "Four").await;
    let uri = countersign::workspace::uri::from_path(&stage.path("AGENTS.override.md"));
    stage
        .client
        .notify("textDocument/didClose", json!({"textDocument": {"uri": uri}}));
    stage.complete(&thread, "Five").await;
    std::fs::remove_file(stage.path("AGENTS.md")).expect("it is there");
    stage.complete(&thread, "Six").await;
    stage.complete(&thread, "Seven").await;
    let requests = stage.requests(7);
    let counts: Vec<usize> = requests.iter().map(|request| news(request).len()).collect();
    assert_eq!(counts, [0, 1, 1, 2, 3, 4, 4]);
    let told = news(&requests[6]);
    assert!(
        told[0].contains("-Rule 20.") && told[0].contains("+Rule twenty."),
        "{}",
        told[0]
    );
    assert!(!told[0].contains("Rule 3."), "only the difference: {}", told[0]);
    assert!(
        told[1].contains("Only this.") && told[1].contains("AGENTS.md counts no more"),
        "{}",
        told[1]
    );
    assert!(told[2].contains("Rule twenty."), "{}", told[2]);
    assert!(told[3].contains("AGENTS.md counts no more"), "{}", told[3]);
    // Nothing of it is the person's.
    assert_eq!(stage.read(&thread).await["preview"], "One");
}

#[tokio::test]
async fn a_thread_that_goes_on_is_told_what_has_changed_meanwhile() {
    let setting = Setting {
        files: files(&[("AGENTS.md", "Old rule.\n"), (".git/HEAD", "")]),
        ..Setting::default()
    };
    let stage = Stage::with(answers(1), setting).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "One").await;
    let (home, dir) = (tempfile::tempdir().expect("a folder"), stage.dir.clone());
    let copy = std::process::Command::new("cp")
        .arg("-r")
        .arg(stage.client.home().join("sessions"))
        .arg(home.path())
        .status();
    assert!(copy.expect("cp").success());
    let _folder = stage.end();
    for (text, expected) in [("Old rule.\n", 0), ("New rule.\n", 1), ("New rule.\n", 1)] {
        std::fs::write(dir.join("AGENTS.md"), text).expect("a file");
        let setting = Setting {
            home: Some(home.path().to_owned()),
            folder: Some(dir.clone()),
            ..Setting::default()
        };
        let stage = Stage::with(answers(2), setting).await;
        let params = json!({"threadId": thread});
        stage.client.call("countersign/thread/resume", params).await;
        stage.complete(&thread, "More").await;
        stage.complete(&thread, "And more").await;
        let requests = stage.requests(2);
        for request in &requests {
            assert_eq!(news(request).len(), expected, "{text}");
        }
        if expected > 0 {
            assert!(news(&requests[0])[0].contains("New rule."));
        }
    }
}

/// The files of other programs count where the person's configuration says so, and not otherwise; a project cannot say so.
#[tokio::test]
async fn files_of_other_programs_count_where_the_person_says_so() {
    let project = files(&[
        (".git/HEAD", ""),
        ("AGENTS.md", "From agents."),
        ("CLAUDE.md", "From claude."),
        (".github/copilot-instructions.md", "From copilot."),
        ("copy/AGENTS.md", "From agents."),
        (
            ".countersign/config.toml",
            "project_doc_also_filenames = [\"CLAUDE.md\"]",
        ),
    ]);
    let also = "project_doc_also_filenames = [\"CLAUDE.md\", \".github/copilot-instructions.md\", \"../out.md\", \"/etc/passwd\"]";
    for (config, expected) in [
        ("", vec!["AGENTS.md"]),
        (also, vec!["AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md"]),
    ] {
        let setting = Setting {
            files: project.clone(),
            config: config.to_owned(),
            ..Setting::default()
        };
        let stage = Stage::with(answers(1), setting).await;
        let started = stage.start_thread(json!({})).await;
        let paths: Vec<_> = expected.iter().map(|name| stage.path(name)).collect();
        assert_eq!(started["instructionSources"], json!(paths));
        let thread = started["thread"]["id"].as_str().expect("an id").to_owned();
        let story = stage.complete(&thread, "Hi").await;
        drop(story);
        let told = stage.requests(1)[0].input_texts().join("\n");
        for words in ["From agents.", "From claude.", "From copilot."] {
            let wanted = expected
                .iter()
                .any(|name| name.to_lowercase().contains(&words[5..words.len() - 1]));
            assert_eq!(told.contains(words), wanted, "{words}");
        }
    }
}

/// What is too long is cut and the person hears of it; what cannot be read is no reason to fail.
#[tokio::test]
async fn what_is_left_out_is_told_to_the_person() {
    let setting = Setting {
        files: files(&[(".git/HEAD", ""), ("AGENTS.md", "0123456789")]),
        config: "project_doc_max_bytes = 4".to_owned(),
        ..Setting::default()
    };
    let stage = Stage::with(answers(3), setting).await;
    let thread = stage.thread().await;
    let warned = |params: &Value, part: &str| params["message"].as_str().is_some_and(|text| text.contains(part));
    let story = stage
        .until(|method, params| method == "warning" && warned(params, "project_doc_max_bytes (4)"))
        .await;
    assert_eq!(story.count("warning"), 1);
    stage.complete(&thread, "One").await;
    std::fs::write(stage.path("AGENTS.md"), b"caf\xe9").expect("a file");
    let story = stage.complete(&thread, "Two").await;
    let warning = &story.one("warning")["message"];
    assert!(warning.as_str().expect("text").contains("not UTF-8"), "{warning}");
    assert_eq!(stage.complete(&thread, "Three").await.count("warning"), 0);
    let requests = stage.requests(3);
    assert!(requests[0].input_texts().join("\n").contains("0123\n</INSTRUCTIONS>"));
    assert!(news(&requests[2])[0].contains("AGENTS.md counts no more"));
}

/// A client that watches files is asked to, and what it tells counts even if the file looks as it did.
#[tokio::test]
async fn instruction_files_are_watched_where_the_client_can() {
    let mut caps = super::stage::plugin();
    caps["workspace"]["didChangeWatchedFiles"] = json!({"dynamicRegistration": true});
    let setting = Setting {
        files: files(&[(".git/HEAD", ""), ("AGENTS.md", "One rule.")]),
        config: "project_doc_fallback_filenames = [\"NOTES.md\"]".to_owned(),
        caps,
        ..Setting::default()
    };
    let stage = Stage::with(answers(2), setting).await;
    super::stage::eventually("the watch is asked for", || {
        stage
            .client
            .trace()
            .iter()
            .any(|one| one == "client/registerCapability")
    })
    .await;
    let thread = stage.thread().await;
    stage.complete(&thread, "One").await;
    let path = stage.path("AGENTS.md");
    let before = std::fs::metadata(&path).expect("a file").modified().expect("a time");
    std::fs::write(&path, "Two rule.").expect("a file");
    let file = std::fs::File::options().write(true).open(&path).expect("a file");
    file.set_modified(before).expect("a time");
    let uri = countersign::workspace::uri::from_path(&path);
    stage.client.notify(
        "workspace/didChangeWatchedFiles",
        json!({"changes": [{"uri": uri, "type": 2}]}),
    );
    stage.complete(&thread, "Two").await;
    assert_eq!(news(&stage.requests(2)[1]).len(), 1);
}
