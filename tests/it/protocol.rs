//! `countersign protocol`, and the pages it prints.

use countersign::protocol::event::EVENTS;
use countersign::protocol::method::{CLIENT_REQUESTS, NOTIFICATIONS, SERVER_REQUESTS};
use std::process::{Command, Output};

fn protocol(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_countersign"))
        .arg("protocol")
        .args(args)
        .output()
        .expect("the program starts")
}

#[test]
fn it_prints_the_committed_pages() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    for (flag, page) in [
        ("--schema", "docs/protocol.schema.json"),
        ("--typescript", "editors/vscode/src/protocol.ts"),
        ("--markdown", "docs/protocol.md"),
    ] {
        let output = protocol(&[flag]);
        assert!(output.status.success());
        let committed = std::fs::read_to_string(root.join(page)).unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), committed, "{page}");
        for method in CLIENT_REQUESTS
            .iter()
            .chain(SERVER_REQUESTS)
            .map(|row| row.0)
            .chain(EVENTS.iter().chain(NOTIFICATIONS).map(|row| row.0))
        {
            assert!(committed.contains(method), "{method} is not in {page}");
        }
    }
    let schema: serde_json::Value = serde_json::from_slice(&protocol(&["--schema"]).stdout).unwrap();
    assert!(schema["$defs"]["ThreadItem"].is_object());
}

#[test]
fn it_wants_to_know_which() {
    for args in [&[][..], &["--schema", "--markdown"], &["--xml"]] {
        let output = protocol(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let help = String::from_utf8(output.stderr).unwrap();
        assert!(help.contains("--schema"), "{help}");
    }
}
