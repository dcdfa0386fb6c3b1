//! Disks that are full, homes that cannot be written, and links, pipes and folders in the way of a patch.

use crate::support::client::{Caps, Client, ServerOptions};
use crate::support::work::{Setting, Work, entries, proposes};
use serde_json::json;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The tests' own folders are temporary ones, which count as outside only so.
const NO_TEMPORARY: &str = "sandbox_workspace_write = { exclude_slash_tmp = true, exclude_tmpdir_env_var = true }";

/// A file system of 64 KB. Where we may not mount one (as an ordinary user), the test that needs it has nothing to say.
struct Tiny(tempfile::TempDir);

impl Tiny {
    fn mount() -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64k,mode=755", "tiny"])
            .arg(folder.path())
            .output()
            .is_ok_and(|output| output.status.success());
        mounted.then_some(Self(folder))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Fills what is free, all but some bytes.
    fn fill(&self) -> PathBuf {
        let path = self.path().join("ballast");
        let mut size = 64 << 10;
        while std::fs::write(&path, vec![b'x'; size]).is_err() {
            size -= 4096;
        }
        path
    }
}

impl Drop for Tiny {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}

/// Shows S-012.
#[tokio::test]
async fn a_home_that_cannot_be_written_is_told_with_its_path_and_cause() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let home = file.join("home");
    let client = Client::start(ServerOptions {
        caps: Caps::Recorded("helix-25.07.1"),
        roots: vec![folder.path().into()],
        home: Some(home.clone()),
        ..ServerOptions::default()
    })
    .await;
    let error = client
        .request("countersign/thread/start", json!({}))
        .await
        .expect_err("no home");
    assert_eq!(
        (error.code, &error.data["kind"]),
        (-32803, &json!("storeFailed")),
        "{error:?}"
    );
    for part in [home.to_str().unwrap(), "Not a directory", "COUNTERSIGN_HOME"] {
        assert!(error.message.contains(part), "{part} is missing in {error:?}");
    }
    // The same from a code action, as a message.
    let place = json!({"uri": format!("file://{}", folder.path().join("a.txt").display())});
    let command = json!({"command": "countersign.fix", "arguments": [place]});
    client.call("workspace/executeCommand", command).await;
    let shown = client.expect_notification("window/showMessage").await;
    assert!(
        shown["message"].as_str().unwrap().contains(home.to_str().unwrap()),
        "{shown}"
    );
    // A thread that leaves nothing behind needs no home.
    client
        .call("countersign/thread/start", json!({"ephemeral": true}))
        .await;
    client.settle().await;
}

/// The disk with the home is full: the person is told, the turn goes on, and once there is room the record is whole.
#[tokio::test]
async fn a_full_disk_under_the_record_costs_no_conversation() {
    let Some(tiny) = Tiny::mount() else { return };
    let home = tiny.path().join("home");
    let setting = Setting {
        home: Some(home.clone()),
        files: vec![("a.txt", "a\n".to_owned())],
        ..Setting::default()
    };
    let words = "word ".repeat(2000);
    let script = json!([
        [{"hold": "filled"}, {"say": words}, {"call": {"tool": "read_file", "arguments": {"path": "a.txt"}, "id": "call_1"}}],
        [{"hold": "freed"}, {"say": "All done."}],
    ]);
    let work = Work::with(setting, script).await;
    work.open("a.txt");
    work.fix("a.txt").await;
    work.model.wait_for_hold("filled").await;
    let ballast = tiny.fill();
    work.model.release("filled");
    let warning = work.warned().await;
    assert!(
        warning.contains("cannot be recorded") && warning.contains(home.to_str().unwrap()),
        "{warning}"
    );
    work.output("call_1").await;
    std::fs::remove_file(ballast).unwrap();
    work.model.release("freed");
    work.done().await;
    let again = work.warned().await;
    assert!(again.contains("recorded again"), "{again}");
    let threads = work.client.call("countersign/thread/list", json!({})).await;
    let id = &threads["data"][0]["id"];
    let path = threads["data"][0]["path"].as_str().unwrap();
    let record = std::fs::read_to_string(path).unwrap();
    assert!(record.contains(&words) && record.contains("All done."), "{id}");
}

/// The disk with the project is full: nothing is changed, nothing is left behind, and the cause is told.
///
/// Shows S-149.
#[tokio::test]
async fn a_full_disk_under_a_patch_leaves_every_file_as_it_was() {
    let Some(tiny) = Tiny::mount() else { return };
    let project = tiny.path().join("project");
    std::fs::create_dir(&project).unwrap();
    let big: String = (0..1500).map(|line| format!("+line {line}\n")).collect();
    let patch = format!(
        "*** Update File: open.txt\n@@\n-a\n+A\n*** Update File: shut.txt\n@@\n-x\n+X\n*** Add File: sub/big.txt\n{big}\
         *** Delete File: old.txt\n"
    );
    let setting = Setting {
        folder: Some(project.clone()),
        files: ["open.txt", "shut.txt", "old.txt"]
            .into_iter()
            .zip(["a\n", "x\n", "old\n"].map(str::to_owned))
            .collect(),
        ..Setting::default()
    };
    let work = Work::with(setting, proposes(&patch)).await;
    work.open("open.txt");
    work.fix("open.txt").await;
    let question = work.question().await;
    // The message has no room for the change, so it offers no yes before it was shown.
    work.press(&question, "Show the diff");
    let question = work.question().await;
    let ballast = tiny.fill();
    work.press(&question, "Accept all");
    let output = work.output("call_1").await;
    assert!(output.contains("No space left") && output.contains("txt"), "{output}");
    let warning = work.warned().await;
    assert!(warning.contains("No space left"), "{warning}");
    work.done().await;
    assert_eq!(work.buffer("open.txt"), "a\n");
    assert_eq!(work.disk("shut.txt").unwrap(), "x\n");
    assert_eq!(work.disk("old.txt").unwrap(), "old\n");
    assert_eq!(entries(&project), ["old.txt", "open.txt", "shut.txt"]);
    assert!(
        work.editor.edits().is_empty(),
        "the editor is not asked before the disk has said yes"
    );
    drop(ballast);
}

/// What a patch must never write through, or onto. The person says yes to everything that is asked.
///
/// Shows S-148.
#[tokio::test]
async fn links_pipes_and_folders_are_not_written_through() {
    type Prepare = fn(&Path, &Path);
    let cases: [(&str, Prepare, &str); 9] = [
        (
            "a link to a file",
            |project, out| symlink(out.join("f.txt"), project.join("f.txt")).unwrap(),
            "f.txt",
        ),
        (
            "a link to a folder",
            |project, out| symlink(out, project.join("link")).unwrap(),
            "link/f.txt",
        ),
        (
            "a new file behind a link",
            |project, out| symlink(out, project.join("link")).unwrap(),
            "+link/new.txt",
        ),
        (
            "a new file over a link to nothing",
            |project, out| {
                symlink(out.join("new.txt"), project.join("f.txt")).unwrap();
            },
            "+f.txt",
        ),
        ("up and out", |_, _| {}, "../out/f.txt"),
        ("a new file up and out", |_, _| {}, "+../out/new.txt"),
        ("a pipe", |project, _| fifo(&project.join("f.txt")), "f.txt"),
        (
            "a folder",
            |project, _| std::fs::create_dir(project.join("f.txt")).unwrap(),
            "f.txt",
        ),
        (
            "a file as a folder",
            |project, _| std::fs::write(project.join("f.txt"), "x\n").unwrap(),
            "+f.txt/new.txt",
        ),
    ];
    for (name, prepare, target) in cases {
        let folder = tempfile::tempdir().unwrap();
        let (project, out) = (folder.path().join("project"), folder.path().join("out"));
        std::fs::create_dir(&project).unwrap();
        std::fs::create_dir(&out).unwrap();
        std::fs::write(out.join("f.txt"), "x\n").unwrap();
        std::fs::write(project.join("a.txt"), "a\n").unwrap();
        prepare(&project, &out);
        let patch = match target.strip_prefix('+') {
            Some(new) => format!("*** Add File: {new}\n+new\n*** Update File: a.txt\n@@\n-a\n+A\n"),
            None => format!("*** Update File: {target}\n@@\n-x\n+X\n*** Update File: a.txt\n@@\n-a\n+A\n"),
        };
        let setting = Setting {
            folder: Some(project.clone()),
            config: NO_TEMPORARY.to_owned(),
            ..Setting::default()
        };
        let work = Work::with(setting, proposes(&patch)).await;
        work.fix("a.txt").await;
        // Either it is refused at once, or the question says that it is outside.
        let asked = tokio::select! {
            question = work.question() => Some(question),
            output = work.output("call_1") => {
                assert!(!output.contains("Success"), "{name}: {output}");
                None
            }
        };
        if let Some(question) = &asked {
            let message = question.params["message"].as_str().unwrap();
            assert!(message.contains("Outside the workspace"), "{name}: {message}");
            work.press(question, "Reject");
        }
        work.done().await;
        work.client.ignore("window/showMessage");
        assert_eq!(std::fs::read_to_string(out.join("f.txt")).unwrap(), "x\n", "{name}");
        assert_eq!(entries(&out), ["f.txt"], "{name}");
        assert_eq!(work.disk("a.txt").unwrap(), "a\n", "{name}: all or none");
    }
}

/// A hard link: the file in the project changes, the one outside keeps its text.
///
/// Shows S-148.
#[tokio::test]
async fn a_hard_link_is_not_written_through() {
    let folder = tempfile::tempdir().unwrap();
    let (project, out) = (folder.path().join("project"), folder.path().join("out.txt"));
    std::fs::create_dir(&project).unwrap();
    std::fs::write(&out, "x\n").unwrap();
    std::fs::hard_link(&out, project.join("f.txt")).unwrap();
    let setting = Setting {
        folder: Some(project),
        config: NO_TEMPORARY.to_owned(),
        ..Setting::default()
    };
    let work = Work::with(setting, proposes("*** Update File: f.txt\n@@\n-x\n+X\n")).await;
    work.fix("f.txt").await;
    work.accept().await;
    work.done().await;
    assert_eq!(work.disk("f.txt").unwrap(), "X\n");
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "x\n");
}

/// Links that appear between the question and the yes.
///
/// Shows S-148.
#[tokio::test]
async fn a_link_that_slips_in_while_the_person_reads_is_not_followed() {
    type Slip = fn(&Path, &Path);
    let ways: [(&str, Slip); 3] = [
        ("the file", |project, out| {
            std::fs::remove_file(project.join("sub/f.txt")).unwrap();
            symlink(out.join("f.txt"), project.join("sub/f.txt")).unwrap();
        }),
        ("its folder", |project, out| {
            std::fs::rename(project.join("sub"), project.join("was")).unwrap();
            symlink(out, project.join("sub")).unwrap();
        }),
        ("the folder of a new file", |project, out| {
            symlink(out, project.join("fresh")).unwrap();
        }),
    ];
    for (name, slip) in ways {
        let folder = tempfile::tempdir().unwrap();
        let (project, out) = (folder.path().join("project"), folder.path().join("out"));
        std::fs::create_dir_all(project.join("sub")).unwrap();
        std::fs::create_dir(&out).unwrap();
        std::fs::write(out.join("f.txt"), "x\n").unwrap();
        std::fs::write(project.join("sub/f.txt"), "x\n").unwrap();
        let patch = "*** Update File: sub/f.txt\n@@\n-x\n+X\n*** Add File: fresh/new.txt\n+new\n";
        let setting = Setting {
            folder: Some(project.clone()),
            config: NO_TEMPORARY.to_owned(),
            ..Setting::default()
        };
        let work = Work::with(setting, proposes(patch)).await;
        work.fix("sub/f.txt").await;
        let question = work.question().await;
        slip(&project, &out);
        work.accept_all(question).await;
        work.done().await;
        assert_eq!(std::fs::read_to_string(out.join("f.txt")).unwrap(), "x\n", "{name}");
        assert_eq!(entries(&out), ["f.txt"], "{name}");
        let output = work.output("call_1").await;
        assert!(!output.contains("Success"), "{name}: {output}");
        work.client.ignore("window/showMessage");
    }
}

/// A place outside the workspace that the person said yes to, knowing it, is written; protected folders never are.
#[tokio::test]
async fn outside_is_asked_and_protected_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (project, out) = (folder.path().join("project"), folder.path().join("out"));
    std::fs::create_dir_all(project.join(".git")).unwrap();
    std::fs::create_dir(&out).unwrap();
    let setting = || Setting {
        folder: Some(project.clone()),
        config: NO_TEMPORARY.to_owned(),
        ..Setting::default()
    };
    let work = Work::with(setting(), proposes("*** Add File: ../out/new.txt\n+new\n")).await;
    work.fix("a.txt").await;
    let question = work.question().await;
    let message = question.params["message"].as_str().unwrap();
    assert!(message.contains("Outside the workspace"), "{message}");
    work.accept_all(question).await;
    let question = work.question().await;
    assert!(!out.join("new.txt").exists(), "the folder is asked for first");
    work.press(&question, "Allow Writing");
    work.done().await;
    assert_eq!(std::fs::read_to_string(out.join("new.txt")).unwrap(), "new\n");
    let work = Work::with(
        setting(),
        proposes("*** Add File: .git/hooks/post-checkout\n+#!/bin/sh\n"),
    )
    .await;
    work.fix("a.txt").await;
    let output = work.output("call_1").await;
    assert!(output.contains("protected"), "{output}");
    work.done().await;
    assert_eq!(entries(&project.join(".git")), [""; 0]);
}

fn fifo(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("a pipe");
}
