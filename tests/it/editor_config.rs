//! `countersign editor-config`: what it prints is what editors read.

use std::path::PathBuf;
use std::process::Command;

const ALL: [&str; 8] = ["helix", "emacs", "kakoune", "sublime", "zed", "vim", "neovim", "vscode"];

fn printed(editor: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_countersign"))
        .args(["editor-config", editor])
        .output()
        .expect("the program");
    assert!(output.status.success(), "{editor}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// A program that is named in a variable, or on the path.
fn program(variable: &str, name: &str) -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(variable) {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

#[test]
fn every_editor_has_its_configuration() {
    for editor in ALL {
        assert!(printed(editor).contains("countersign"), "{editor}");
    }
    let unknown = Command::new(env!("CARGO_BIN_EXE_countersign"))
        .args(["editor-config", "ed"])
        .output()
        .expect("the program");
    let told = String::from_utf8_lossy(&unknown.stderr);
    assert!(
        !unknown.status.success() && ALL.iter().all(|editor| told.contains(editor)),
        "{told}"
    );
}

#[test]
fn helix_gets_the_agent_behind_the_servers_of_every_language() {
    let table: toml::Table = printed("helix").parse().expect("TOML");
    assert_eq!(
        table["language-server"]["countersign"]["command"].as_str(),
        Some("countersign")
    );
    let languages = table["language"].as_array().expect("a list");
    assert!(languages.len() > 200, "{}", languages.len());
    let mut names = Vec::new();
    for language in languages {
        let servers = language["language-servers"].as_array().expect("a list");
        assert_eq!(
            servers.last().and_then(|server| server.as_str()),
            Some("countersign"),
            "{language:?}"
        );
        names.push(language["name"].as_str().expect("a name"));
    }
    assert!(["markdown", "python", "rust"].iter().all(|name| names.contains(name)));
    let rust = languages
        .iter()
        .find(|language| language["name"].as_str() == Some("rust"));
    assert_eq!(rust.expect("it")["language-servers"][0].as_str(), Some("rust-analyzer"));
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count, "each once");
}

#[test]
fn what_is_json_is_json() {
    for editor in ["sublime", "zed", "vscode"] {
        let value: serde_json::Value = serde_json::from_str(&printed(editor)).expect(editor);
        assert!(value.is_object(), "{editor}");
    }
}

#[test]
fn emacs_and_neovim_load_theirs() {
    let folder = tempfile::tempdir().expect("a folder");
    if let Some(emacs) = program("COUNTERSIGN_EMACS", "emacs") {
        let file = folder.path().join("countersign.el");
        std::fs::write(&file, printed("emacs")).expect("a file");
        let output = Command::new(emacs)
            .args(["-Q", "--batch", "-l"])
            .arg(&file)
            .output()
            .expect("emacs");
        assert!(output.status.success(), "{output:?}");
    }
    if let Some(neovim) = program("COUNTERSIGN_NVIM_CURRENT", "nvim") {
        let file = folder.path().join("countersign.lua");
        std::fs::write(&file, printed("neovim")).expect("a file");
        let output = Command::new(neovim)
            .args(["--headless", "--clean", "-l"])
            .arg(&file)
            .env("HOME", folder.path())
            .output()
            .expect("nvim");
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    }
}
