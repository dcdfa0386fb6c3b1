//! What flows into a command while it runs, what it is called, and how a signal that ends it is told.

use super::place::{Place, User};
use super::running::{request, run};
use countersign::exec::{self, Input};
use countersign::protocol::settings::SandboxMode;
use std::process::Command;
use tokio_util::sync::CancellationToken;

const MODES: [SandboxMode; 2] = [SandboxMode::WorkspaceWrite, SandboxMode::DangerFullAccess];

/// Shows S-161.
#[tokio::test]
async fn a_program_is_told_another_name() {
    let place = Place::new(User::Own);
    for mode in MODES {
        let mut wanted = request(&place.work, mode, "echo $0");
        wanted.argv = ["/bin/sh", "-c", "tr '\\0' ' ' < /proc/$$/cmdline"]
            .map(str::to_owned)
            .to_vec();
        wanted.argv0 = Some("another-name".to_owned());
        let finished = run(wanted).await.expect("runs");
        assert!(finished.stdout.starts_with("another-name -c"), "{finished:?}");
    }
}

/// Shows S-161.
#[test]
fn the_program_finds_itself_wherever_it_is_installed() {
    let place = Place::new(User::Own);
    let folder = place.outside.join("a folder with ünusual words");
    std::fs::create_dir(&folder).expect("mkdir");
    let program = folder.join("another name");
    super::place::copy_program(&program);
    let mut command = Command::new(&program);
    let output = command
        .args(["sandbox", "--", "echo", "inside"])
        .current_dir(&place.work)
        .output()
        .expect("it starts");
    assert!(output.status.success() && output.stdout == b"inside\n", "{output:?}");
}

#[tokio::test]
async fn input_can_be_written_while_the_command_runs() {
    let place = Place::new(User::Own);
    for mode in MODES {
        let mut wanted = request(
            &place.work,
            mode,
            "read a; echo got $a; read b; echo got $b; cat; echo end",
        );
        let (input, mut writer) = Input::pipe().expect("a pipe");
        wanted.input = input;
        let (seen, mut is_seen) = tokio::sync::mpsc::unbounded_channel();
        let running = exec::run(
            wanted,
            move |_, text| {
                let _gone = seen.send(text.to_owned());
            },
            CancellationToken::new(),
        );
        let talking = async {
            for word in ["one", "two"] {
                writer
                    .write_all(format!("{word}\n").as_bytes())
                    .await
                    .expect("it reads");
                let mut answer = String::new();
                while !answer.contains(&format!("got {word}\n")) {
                    answer += &is_seen.recv().await.expect("it answers");
                }
            }
            writer.write_all(b"rest\n").await.expect("it reads");
            drop(writer);
        };
        let (finished, ()) = tokio::join!(running, talking);
        let finished = finished.expect("runs");
        assert_eq!(
            (finished.exit_code, finished.stdout.as_str()),
            (0, "got one\ngot two\nrest\nend\n")
        );
    }
}

#[tokio::test]
async fn signals_are_told() {
    let place = Place::new(User::Own);
    for mode in MODES {
        for (script, code, signal) in [
            ("kill -SEGV $$", 139, Some(11)),
            ("exit 139", 139, None),
            ("kill -9 $$", 137, Some(9)),
        ] {
            let finished = run(request(&place.work, mode, script)).await.expect("runs");
            assert_eq!(
                (finished.exit_code, finished.signal),
                (code, signal),
                "{mode:?} {script}"
            );
        }
    }
}
