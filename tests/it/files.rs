//! Finding files by a few letters, and what git knows that no remote does.

use crate::support::client::{Caps, Client, ServerOptions};
use crate::support::git::git;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const SEARCH: &str = "countersign/file/search";
const DIFF: &str = "countersign/git/diffToRemote";

struct Place {
    client: Client,
    dir: PathBuf,
    _folder: tempfile::TempDir,
}

/// A client whose workspace are these folders of a fresh one.
async fn place(roots: &[&str]) -> Place {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let dir = folder.path().canonicalize().expect("a path");
    let roots: Vec<PathBuf> = roots.iter().map(|root| dir.join(root)).collect();
    for root in &roots {
        std::fs::create_dir_all(root).expect("a folder");
    }
    let client = Client::start(ServerOptions {
        caps: Caps::Plugin,
        roots,
        ..ServerOptions::default()
    })
    .await;
    Place {
        client,
        dir,
        _folder: folder,
    }
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    std::fs::write(path, text).expect("a file");
}

fn names(found: &Value) -> Vec<(&str, &str)> {
    let files = found["files"].as_array().expect("files");
    files
        .iter()
        .map(|file| {
            let root = file["root"].as_str().expect("a root").rsplit('/').next();
            (root.expect("a name"), file["path"].as_str().expect("a path"))
        })
        .collect()
}

/// Shows S-366.
#[tokio::test]
async fn files_of_all_roots_are_found_the_best_first() {
    let place = place(&["one", "two"]).await;
    write(&place.dir.join("one/src/total.rs"), "");
    write(&place.dir.join("one/docs/tutorials.md"), "");
    write(&place.dir.join("two/total.rs"), "");
    write(&place.dir.join("two/.gitignore"), "built\n");
    write(&place.dir.join("two/built/total.rs"), "");
    write(&place.dir.join("two/.git/total.rs"), "");
    let found = place.client.call(SEARCH, json!({"query": "total"})).await;
    assert_eq!(names(&found), [("two", "total.rs"), ("one", "src/total.rs")]);
    assert_eq!((&found["total"], &found["complete"]), (&json!(2), &json!(true)));
    assert_eq!(found["files"][0]["fileName"], "total.rs");
    assert_eq!(found["files"][1]["indices"], json!([4, 5, 6, 7, 8]));
    let folders = place.client.call(SEARCH, json!({"query": "docs"})).await;
    assert_eq!(folders["files"][0]["matchType"], "directory", "{folders}");
    let one = json!({"query": "total", "roots": [place.dir.join("one")]});
    assert_eq!(names(&place.client.call(SEARCH, one).await), [("one", "src/total.rs")]);
    let best = place.client.call(SEARCH, json!({"query": "total", "limit": 1})).await;
    assert_eq!((names(&best).len(), &best["total"]), (1, &json!(2)));
}

#[tokio::test]
async fn what_cannot_be_searched_is_said() {
    let place = place(&["one"]).await;
    write(&place.dir.join("one/file"), "");
    for (params, words) in [
        (
            json!({"query": "a", "roots": ["relative"]}),
            "relative is not an absolute path",
        ),
        (
            json!({"query": "a", "roots": [place.dir.join("one/file")]}),
            "is not a folder",
        ),
        (
            json!({"query": "a", "roots": [place.dir.join("gone")]}),
            "cannot be looked into",
        ),
        (json!({"query": "a", "roots": []}), "no folder to search"),
        (json!({"query": "a", "stream": true}), "needs a cancellationToken"),
    ] {
        let error = place.client.request(SEARCH, params.clone()).await.expect_err("refused");
        assert!(
            error.code == -32602 && error.message.contains(words),
            "{params}: {error:?}"
        );
    }
    // Nothing to look for is no mistake, wherever it is not looked for.
    let found = place
        .client
        .call(SEARCH, json!({"query": "", "roots": ["relative"]}))
        .await;
    assert_eq!(found, json!({"files": [], "total": 0, "complete": true}));
}

fn many(dir: &Path) {
    for folder in 0..200 {
        let folder = dir.join(format!("folder{folder}"));
        std::fs::create_dir_all(&folder).expect("a folder");
        for file in 0..50 {
            std::fs::write(folder.join(format!("some_file_{file}.txt")), "").expect("a file");
        }
    }
}

/// Shows S-368, S-370.
#[tokio::test]
async fn a_new_search_stops_the_old_one_and_both_are_answered() {
    let place = place(&["one"]).await;
    many(&place.dir.join("one"));
    let ask = |query: &str| json!({"query": query, "cancellationToken": "composer", "stream": true});
    let ids: Vec<i64> = ["s", "so", "some", "some_file_49"]
        .iter()
        .map(|query| place.client.send_request(SEARCH, ask(query)))
        .collect();
    // Other requests are answered meanwhile.
    place.client.call("countersign/config/read", json!({})).await;
    let mut answers = Vec::new();
    for id in ids {
        answers.push(place.client.expect_answer(json!(id)).await.expect("an answer"));
    }
    let last = &answers[3];
    assert_eq!((&last["complete"], &last["total"]), (&json!(true), &json!(200)));
    assert!(answers[..3].iter().all(|answer| answer["files"].is_array()));
    assert!(
        answers[..3].iter().any(|answer| answer["complete"] == false),
        "none was stopped: {:?}",
        answers.iter().map(|answer| &answer["complete"]).collect::<Vec<_>>()
    );
    for (method, params) in place.client.take_unread() {
        assert_eq!(method, "countersign/file/searchUpdated");
        assert_eq!(params["cancellationToken"], "composer");
    }
    let cancelled = place.client.send_request(SEARCH, ask("txt"));
    place.client.notify("$/cancelRequest", json!({"id": cancelled}));
    match place.client.expect_answer(json!(cancelled)).await {
        Err(error) => assert_eq!(error.code, -32800),
        Ok(found) => assert_eq!(found["total"], 10_000, "answered before the cancellation came"),
    }
    place.client.ignore("countersign/file/searchUpdated");
}

/// Shows S-371.
#[tokio::test]
async fn the_difference_to_the_remote_has_commits_changes_and_new_files() {
    let place = place(&["work"]).await;
    let (remote, work) = (place.dir.join("remote.git"), place.dir.join("work"));
    git(&place.dir, &["init", "--bare", "-q", "remote.git"]);
    git(&work, &["init", "-q"]);
    git(&work, &["remote", "add", "origin", remote.to_str().expect("utf-8")]);
    for (name, text) in [
        ("kept", "same\n"),
        ("committed", "old\n"),
        ("changed", "old\n"),
        ("gone", "old\n"),
    ] {
        write(&work.join(name), text);
    }
    git(&work, &["add", "."]);
    git(&work, &["commit", "-qm", "first"]);
    git(&work, &["push", "-q", "origin", "HEAD:main"]);
    git(&work, &["fetch", "-q", "origin"]);
    let pushed = git(&work, &["rev-parse", "HEAD"]);
    let ask = |folder: PathBuf| place.client.call(DIFF, json!({"cwd": folder}));
    assert_eq!(ask(work.clone()).await, json!({"sha": pushed, "diff": ""}));
    write(&work.join("committed"), "committed since\n");
    git(&work, &["commit", "-qam", "second"]);
    write(&work.join("changed"), "changed since\n");
    write(&work.join("new/ä file"), "new file\n");
    write(&work.join(".gitignore"), "ignored\n");
    write(&work.join("ignored"), "not to be seen\n");
    std::fs::remove_file(work.join("gone")).expect("it was there");
    write(&work.join("staged"), "staged\n");
    git(&work, &["add", "staged"]);
    let before = git(&work, &["status", "--porcelain"]);
    let objects = git(&work, &["count-objects"]);
    let found = ask(work.join("new")).await;
    assert_eq!(found["sha"], pushed);
    let diff = found["diff"].as_str().expect("text");
    for line in [
        "+committed since",
        "+changed since",
        "+++ b/new/ä file",
        "+new file",
        "+staged",
        "deleted file mode 100644",
    ] {
        assert!(diff.contains(line), "{line}: {diff}");
    }
    assert!(!diff.contains("not to be seen") && !diff.contains("kept"), "{diff}");
    // The repository is as it was.
    assert_eq!(git(&work, &["status", "--porcelain"]), before);
    assert_eq!(git(&work, &["count-objects"]), objects);
    assert_eq!(
        std::fs::read_dir(place.client.home().join("tmp"))
            .expect("a folder")
            .count(),
        0
    );
}

/// Shows S-372.
#[tokio::test]
async fn without_a_remote_there_is_no_difference_and_the_folder_is_named() {
    let place = place(&["plain", "bare", "empty"]).await;
    git(&place.dir.join("empty"), &["init", "-q"]);
    let lonely = place.dir.join("bare");
    git(&lonely, &["init", "-q"]);
    write(&lonely.join("a"), "a\n");
    git(&lonely, &["add", "."]);
    git(&lonely, &["commit", "-qm", "first"]);
    for (folder, words) in [
        ("plain", "not a git repository"),
        ("bare", "no branch of a remote is known"),
        ("empty", "no branch of a remote is known"),
        ("gone", "there is no such folder"),
    ] {
        let folder = place.dir.join(folder);
        let error = place
            .client
            .request(DIFF, json!({"cwd": folder}))
            .await
            .expect_err("refused");
        assert_eq!(error.code, -32600, "{error:?}");
        assert!(
            error.message.contains(words) && error.message.contains(folder.to_str().expect("utf-8")),
            "{error:?}"
        );
    }
}
