//! Other users of the machine: what they can write in the home folder is not the person's word.

use super::repel;
use serde_json::{Value, json};
use std::fs::{self, Permissions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const CONFIG: &str = "model = \"somebody-elses\"\n";
const RULES: &str =
    "[[rule]]\nprefix = [\"mine\"]\ndecision = \"deny\"\n\n[[rule]]\nprefix = [\"make\"]\ndecision = \"allow\"\n";

struct Ground {
    _folder: tempfile::TempDir,
    home: PathBuf,
    work: PathBuf,
}

impl Ground {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path().canonicalize().expect("a path");
        fs::create_dir(base.join("work")).expect("mkdir");
        Self {
            home: base.join("home"),
            work: base.join("work"),
            _folder: folder,
        }
    }

    fn with_settings() -> Self {
        let ground = Self::new();
        fs::create_dir_all(ground.home.join("rules")).expect("mkdir");
        fs::write(ground.home.join("config.toml"), CONFIG).expect("written");
        fs::write(ground.home.join("rules/own.toml"), RULES).expect("written");
        for place in ["", "rules"] {
            set(&ground.home.join(place), 0o755);
        }
        for place in ["config.toml", "rules/own.toml"] {
            set(&ground.home.join(place), 0o644);
        }
        ground
    }

    /// The program under a umask that closes nothing.
    fn program(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command
            .args(["-c", "umask 0; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_countersign")])
            .args(arguments)
            .current_dir(&self.work)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", &self.work)
            .env("COUNTERSIGN_HOME", &self.home);
        command
    }

    fn said(&self, arguments: &[&str]) -> String {
        let output = self.program(arguments).output().expect("it starts");
        let [out, error] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        out + &error
    }

    /// The answers of a server to a session with one conversation.
    fn session(&self) -> String {
        let mut server = self
            .program(&[])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut input = server.stdin.take().expect("a pipe");
        let mut output = server.stdout.take().expect("a pipe");
        let initialize = json!({"processId": null, "rootUri": null, "capabilities": {}});
        let start = json!({"settings": {"cwd": self.work}});
        let mut said = String::new();
        for (id, method, params) in [
            (Some(1), "initialize", initialize),
            (None, "initialized", json!({})),
            (Some(2), "countersign/thread/start", start),
            (Some(3), "shutdown", Value::Null),
            (None, "exit", Value::Null),
        ] {
            let mut message = json!({"jsonrpc": "2.0", "method": method, "params": params});
            if let Some(id) = id {
                message["id"] = json!(id);
            }
            let body = message.to_string();
            write!(input, "Content-Length: {}\r\n\r\n{body}", body.len()).expect("it listens");
            let mut piece = [0; 1 << 12];
            while id.is_some_and(|id| !said.contains(&format!("\"id\":{id}"))) {
                let count = output.read(&mut piece).expect("it speaks");
                assert!(count > 0, "it ended before the answer to {method}: {said}");
                said.push_str(&String::from_utf8_lossy(&piece[..count]));
            }
        }
        drop(input);
        let _ended = server.wait().expect("an end");
        said
    }
}

fn set(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("chmod");
}

fn all_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(all_below(&entry.path()));
        }
        found.push(entry.path());
    }
    found
}

/// Whatever the umask says, nobody else can look into the home folder or into anything that is made there.
#[test]
fn whatever_is_made_in_the_home_is_the_persons_alone() {
    let ground = Ground::new();
    let said = ground.session();
    assert!(said.contains("\"thread\""), "{said}");
    let mut made = all_below(&ground.home);
    assert!(
        made.iter().any(|path| path.ends_with("log/countersign.log")),
        "{made:?}"
    );
    made.push(ground.home.clone());
    repel(made, |path| {
        let found = fs::symlink_metadata(path).map_err(|error| error.to_string())?;
        match found.permissions().mode() & 0o077 {
            0 => Ok(()),
            open => Err(format!("others may {open:o}")),
        }
    });
}

/// The folder, what makes it so, and what is named.
type Row = (&'static str, fn(&Path), &'static str);

fn give_away(path: &Path) {
    // Only root can; elsewhere the mode says the same.
    if std::os::unix::fs::chown(path, Some(65_533), None).is_err() {
        set(path, 0o666);
    }
}

/// Settings that others can write do not count, and the message names the place, its mode and what to run.
#[test]
fn what_others_can_write_in_the_home_is_not_the_persons_word() {
    const WHOLE: [Row; 4] = [
        ("for everybody", |home| set(home, 0o777), ""),
        ("sticky", |home| set(home, 0o1777), ""),
        (
            "the private folder",
            |home| {
                fs::create_dir(home.join("private")).expect("mkdir");
                set(&home.join("private"), 0o777);
            },
            "private",
        ),
        (
            "what is remembered",
            |home| {
                fs::create_dir(home.join("private")).expect("mkdir");
                fs::write(home.join("private/editor-settings.json"), "{}").expect("written");
                set(&home.join("private/editor-settings.json"), 0o666);
            },
            "private/editor-settings.json",
        ),
    ];
    repel(WHOLE, |(_, prepare, named)| {
        let ground = Ground::with_settings();
        prepare(&ground.home);
        let place = match named.is_empty() {
            true => ground.home.clone(),
            false => ground.home.join(named),
        };
        let command = format!("chmod go-w {}", place.display());
        for arguments in [&["config", "show"][..], &["doctor"], &["rules", "list"]] {
            let said = ground.said(arguments);
            if said.contains("somebody-elses") || !said.contains(&command) || !said.contains("(mode ") {
                return Err(format!("{arguments:?}: {said}"));
            }
        }
        // At its start the server closes its own folder, but no file in it and not what holds all.
        let said = ground.session();
        let closes = *named == "private";
        match said.contains(&command) || closes {
            true => Ok(()),
            false => Err(said),
        }
    });

    let files: [Row; 4] = [
        (
            "config, for everybody",
            |home| set(&home.join("config.toml"), 0o666),
            "config.toml",
        ),
        (
            "config, another's",
            |home| give_away(&home.join("config.toml")),
            "config.toml",
        ),
        (
            "rules, for everybody",
            |home| set(&home.join("rules/own.toml"), 0o666),
            "rules/own.toml",
        ),
        ("the folder of rules", |home| set(&home.join("rules"), 0o777), "rules"),
    ];
    repel(files, |(_, prepare, named)| {
        let ground = Ground::with_settings();
        prepare(&ground.home);
        let place = ground.home.join(named).display().to_string();
        let (shown, rules) = (ground.said(&["config", "show"]), ground.said(&["rules", "list"]));
        let doctor = ground.said(&["doctor"]);
        let said = match named.starts_with("rules") {
            true => &rules,
            false => &shown,
        };
        let counts = shown.contains("somebody-elses") && !named.starts_with("rules");
        match !counts && said.contains("(mode ") && said.contains(&place) && doctor.contains(&place) {
            true => Ok(()),
            false => Err(format!("{shown}\n{rules}\n{doctor}")),
        }
    });
}

/// What only the person can write counts, also where others can read it.
#[test]
fn what_only_the_person_can_write_counts() {
    let ground = Ground::with_settings();
    let said = ground.said(&["config", "show"]);
    assert!(said.contains("somebody-elses") && !said.contains("chmod"), "{said}");
    assert!(!ground.said(&["doctor"]).contains("chmod"));
}
