//! What the person points at: read as they see it, bounded, apart from their words, and never guessed.

use super::stage::{Setting, Stage, Story, say};
use countersign::rehearsal::Recorded;
use serde_json::{Value, json};

fn answers(count: usize) -> Value {
    (0..count).map(|_| json!([say("ok")])).collect()
}

/// What the last message before the person's own tells of what they point at.
fn told(request: &Recorded) -> String {
    let texts = request.input_texts();
    let of_mentions = texts
        .into_iter()
        .rfind(|text| text.starts_with("<countersign_mentions>"));
    of_mentions.unwrap_or_default()
}

fn labels(story: &Story) -> Vec<(String, u64)> {
    let context = story.item("userMessage")["context"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let one = |piece: &Value| {
        (
            piece["label"].as_str().unwrap().to_owned(),
            piece["bytes"].as_u64().unwrap(),
        )
    };
    context.iter().map(one).collect()
}

async fn stage(answers: Value) -> Stage {
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let setting = Setting {
        files: vec![
            file(".gitignore", "built/\n"),
            file(".countersignignore", "/kept/\n"),
            file("src/a.rs", "one\ntwo\nthree\n"),
            file("src/deep/only.rs", "only\n"),
            file("src/deep/twin.rs", "1\n"),
            file("src/other/twin.rs", "2\n"),
            file("a name.md", "blank\n"),
            file("built/out.txt", "built\n"),
            file("kept/secret.txt", "hush\n"),
            file("Override", "a file\n"),
        ],
        ..Setting::default()
    };
    let stage = Stage::with(answers, setting).await;
    std::fs::write(stage.path("image.bin"), b"\x00\x01\x02").expect("a file");
    stage
}

/// Shows S-230.
#[tokio::test]
async fn files_are_sent_beside_the_words() {
    let stage = stage(answers(3)).await;
    stage.open("src/a.rs", "one\ntwo, unsaved\nthree\n");
    let thread = stage.thread().await;
    let words = "Compare @src/a.rs#L2-3, @\"a name.md\" and @src/a.rs#L2-3; mail ada@example.org about @angular/core.";
    let story = stage.complete(&thread, words).await;
    assert_eq!(
        story.item("userMessage")["content"],
        json!([{"type": "text", "text": words}])
    );
    assert_eq!(story.count("warning"), 0);
    assert_eq!(
        labels(&story),
        [("src/a.rs, lines 2-3".to_owned(), 19), ("a name.md".to_owned(), 6)]
    );
    let request = &stage.requests(1)[0];
    let sheet = told(request);
    for part in [
        "src/a.rs, lines 2-3, with unsaved changes:\n```\ntwo, unsaved\nthree\n```",
        "a name.md:\n```\nblank\n```",
    ] {
        assert!(sheet.contains(part), "{part}: {sheet}");
    }
    assert_eq!(request.input_texts().last().map(String::as_str), Some(words));
    assert_eq!(stage.read(&thread).await["preview"], words);
    // What is in the record shows it too.
    let shown = stage.read(&thread).await["turns"][0]["items"][0]["context"].clone();
    assert_eq!(shown.as_array().map(Vec::len), Some(2));
    // A path that is named is read, whatever .gitignore says; a folder is listed without what it names.
    let story = stage.complete(&thread, "See @built/out.txt, @src and @only.rs.").await;
    assert_eq!(story.count("warning"), 0);
    let sheet = told(&stage.requests(2)[1]);
    for part in [
        "built/out.txt:\n```\nbuilt\n",
        "The folder src:\n```\na.rs\ndeep/\n",
        "src/deep/only.rs:\n```\nonly\n",
    ] {
        assert!(sheet.contains(part), "{part}: {sheet}");
    }
    // A file of that name makes a mention of what is a decorator otherwise.
    let story = stage.complete(&thread, "Use @Override, not @Overload").await;
    assert_eq!(labels(&story), [("Override".to_owned(), 7)]);
}

/// An image is known by its content, and looked at as one that is attached; not so lines of it, and not what is kept from the model.
///
/// Shows S-047.
#[tokio::test]
async fn an_image_goes_with_the_words() {
    let stage = stage(answers(2)).await;
    let png = b"\x89PNG\r\n\x1a\nnot really";
    for name in ["shot.png", "kept/secret.png"] {
        std::fs::write(stage.path(name), png).expect("an image");
    }
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "What is wrong in @shot.png?").await;
    assert_eq!(story.count("warning"), 0);
    assert_eq!(labels(&story), [("shot.png".to_owned(), png.len() as u64)]);
    let request = &stage.requests(1)[0];
    assert!(told(request).contains("shot.png: an image"), "{}", told(request));
    let content = request.input().last().expect("a message")["content"].clone();
    assert_eq!(content[0]["text"], "What is wrong in @shot.png?");
    let url = content[1]["image_url"].as_str().expect("an image");
    assert!(url.starts_with("data:image/png;base64,iVBOR"), "{url}");
    let story = stage.complete(&thread, "And @kept/secret.png?").await;
    assert_eq!(story.count("warning"), 1);
    let content = stage.requests(2)[1].input().last().expect("a message")["content"].clone();
    assert_eq!(content.as_array().map(Vec::len), Some(1), "{content}");
}

#[tokio::test]
async fn what_cannot_be_sent_is_told_and_not_guessed() {
    let outside = tempfile::tempdir().expect("a folder");
    std::fs::write(outside.path().join("far.txt"), "far\n").expect("a file");
    let cases = [
        ("@src/missing.rs", "no such file"),
        ("@twin.rs", "src/deep/twin.rs or src/other/twin.rs"),
        ("@kept/secret.txt", ".countersignignore keeps it"),
        ("@image.bin", "not UTF-8"),
        ("@large.png", "an image that cannot be sent: it is larger than 20 MiB"),
        ("@src/a.rs#L9", "it has 3 lines"),
        ("@src/a.rs#L0", "count from 1"),
        ("@selection", "nothing is selected"),
        ("@diagnostics", "no problems"),
        ("@~/.ssh/id_rsa", "no such file"),
        ("@/dev/zero", "a device"),
    ];
    let stage = stage(answers(cases.len() + 1)).await;
    std::fs::write(stage.path("large.png"), b"\x89PNG\r\n\x1a\n").expect("an image");
    let large = std::fs::File::options().write(true).open(stage.path("large.png"));
    large.expect("a file").set_len(21 << 20).expect("room");
    let thread = stage.thread().await;
    for (words, why) in cases {
        let story = stage.complete(&thread, &format!("Look at {words} please")).await;
        let warning = story.one("warning")["message"].as_str().expect("a text").to_owned();
        assert!(
            warning.contains(why) && warning.contains(words.trim_start_matches('@').split('#').next().unwrap()),
            "{words}: {warning}"
        );
        let piece = &story.item("userMessage")["context"][0];
        assert_eq!(piece["bytes"], 0, "{words}");
        assert!(
            piece["note"].as_str().expect("a note").contains(why),
            "{words}: {piece}"
        );
        let sheet = told(stage.model.requests().last().expect("a request"));
        assert!(sheet.contains(why) && !sheet.contains("hush"), "{words}: {sheet}");
    }
    // Outside the workspace the rules are those of the reading tools.
    let story = stage
        .complete(&thread, &format!("And @{}/far.txt", outside.path().display()))
        .await;
    assert_eq!(labels(&story)[0].1, 4);
}

/// Pieces of a plugin, the selection and the problems; each thing once.
#[tokio::test]
async fn pieces_of_a_plugin_and_the_selection_are_read_alike() {
    let stage = stage(answers(2)).await;
    let thread = stage.thread().await;
    let path = stage.path("src/a.rs");
    let input = json!([
        {"type": "text", "text": "Mend @selection and @diagnostics in @src/a.rs#L1"},
        {"type": "mention", "path": path, "lineRange": {"start": 0, "end": 1}},
        {"type": "mention", "path": "src"},
        {"type": "mention", "path": stage.path("gone.txt")},
    ]);
    let context = json!({
        "activeFile": path, "selection": {"start": 1, "end": 2},
        "diagnostics": [{"path": path, "range": {"start": 0, "end": 1}, "severity": "error", "message": "odd"}],
    });
    let params = json!({"threadId": thread, "input": input, "context": context});
    let story = stage.run_with(params).await;
    let sheet = told(&stage.requests(1)[0]);
    for part in [
        "lines 2:\n",
        "src/a.rs, line 2:\n```\ntwo\n```",
        "src/a.rs, line 1:\n```\none\n```",
        "error in src/a.rs, line 1: odd",
        "The folder src:",
    ] {
        assert_eq!(sheet.contains(part), part != "lines 2:\n", "{part}: {sheet}");
    }
    assert_eq!(sheet.matches("one\n").count(), 1, "each thing once: {sheet}");
    assert!(story.one("warning")["message"].as_str().unwrap().contains("gone.txt"));
}

/// A long file is cut at a line, and all that is sent has a bound.
#[tokio::test]
async fn what_is_sent_is_bounded() {
    let stage = stage(answers(2)).await;
    let line = format!("{}\n", "x".repeat(99));
    for name in ["1", "2", "3", "4", "5"] {
        stage.write(&format!("big{name}.txt"), &line.repeat(3000));
    }
    stage.write("fence.md", "````\ncode\n````\n");
    let thread = stage.thread().await;
    let story = stage
        .complete(&thread, "@fence.md @big1.txt @big2.txt @big3.txt @big4.txt @big5.txt")
        .await;
    let sheet = told(&stage.requests(1)[0]);
    assert!(sheet.len() < 200_000, "{}", sheet.len());
    assert!(
        sheet.contains("big1.txt (only lines 1 to 491 of 3000 are sent)"),
        "{}",
        &sheet[..600]
    );
    assert!(sheet.contains("`````\n````\ncode\n````\n`````"), "{}", &sheet[..600]);
    assert_eq!(labels(&story).len(), 6);
    assert!(labels(&story).iter().any(|(_, bytes)| *bytes == 0));
}
