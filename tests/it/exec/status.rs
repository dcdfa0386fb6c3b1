//! What a client is told of the walls, and that doctor tells the same.

use super::fallback;
use super::place::{Place, User, has, words};
use crate::support::client::{Client, ServerOptions};
use serde_json::json;
use std::process::Command;

#[tokio::test]
async fn a_client_learns_which_walls_stand() {
    let client = Client::start(ServerOptions::default()).await;
    let status = client.call("countersign/sandbox/status", json!({})).await;
    assert_eq!(status["platform"], std::env::consts::OS);
    assert_eq!(status["canConfine"], true, "{status}");
    let walls = status["walls"].as_array().expect("a list");
    let names: Vec<_> = walls
        .iter()
        .map(|wall| wall["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(names, ["Landlock", "seccomp", "namespaces"]);
    for wall in walls {
        for field in ["detail", "keepsFrom"] {
            assert!(wall[field].as_str().is_some_and(|words| !words.is_empty()), "{wall}");
        }
    }
    let modes: Vec<_> = status["modes"].as_array().expect("a list").iter().collect();
    let enforcement: Vec<_> = modes.iter().map(|mode| mode["enforcement"].as_str()).collect();
    let all_stand = walls.iter().all(|wall| wall["stands"] == true);
    let confined = Some(if all_stand { "full" } else { "weaker" });
    assert_eq!(enforcement, [confined, confined, Some("none")], "{status}");
    assert_eq!(modes[2]["mode"], "danger-full-access");
    assert!(
        status["minimum"]
            .as_str()
            .is_some_and(|words| words.contains("Landlock"))
    );

    let program = env!("CARGO_BIN_EXE_countersign");
    let output = Command::new(program).arg("doctor").output().expect("doctor");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    for weakness in status["weaknesses"].as_array().expect("a list") {
        assert!(
            told.contains(weakness.as_str().expect("a sentence")),
            "{weakness} in {told}"
        );
    }
}

#[test]
fn doctor_says_what_is_weaker_without_namespaces() {
    if !(has("unshare") && has("setpriv")) {
        return;
    }
    let place = Place::new(User::Own);
    // The command's walls are of no matter: doctor looks for itself, where it may not make namespaces.
    let mut command = fallback::plain_doctor(&place);
    let output = command.output().expect("unshare");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = told
        .lines()
        .find(|line| line.contains("commands are confined"))
        .unwrap_or_else(|| panic!("{}", words(&output)));
    assert!(
        line.starts_with("warn") && line.contains("seccomp") && !line.contains("namespaces"),
        "{told}"
    );
    assert!(
        told.contains("namespaces is missing: ") && told.contains("System V shared memory"),
        "{told}"
    );
}
