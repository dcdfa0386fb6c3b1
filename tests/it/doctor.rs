//! `countersign doctor`: what it finds on machines in several states.

use crate::support::mcp::{program, reading};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};

struct Machine {
    dir: tempfile::TempDir,
    env: Vec<(String, String)>,
}

impl Machine {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("bin")).unwrap();
        std::fs::create_dir_all(dir.path().join("project/.git")).unwrap();
        let path = |name: &str| dir.path().join(name).display().to_string();
        let env = vec![
            ("HOME".into(), path("person")),
            ("COUNTERSIGN_HOME".into(), path("home")),
            ("PATH".into(), path("bin")),
        ];
        Self { dir, env }
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.into(), value.into()));
        self
    }

    fn config(self, text: &str) -> Self {
        let home = self.dir.path().join("home");
        std::fs::create_dir_all(&home).unwrap();
        std::fs::write(home.join("config.toml"), text).unwrap();
        self
    }

    fn program(self, name: &str) -> Self {
        let file = self.dir.path().join("bin").join(name);
        std::fs::write(&file, "#!/bin/sh\n").unwrap();
        executable(&file);
        self
    }

    fn doctor(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_countersign"))
            .arg("doctor")
            .args(args)
            .current_dir(self.dir.path().join("project"))
            .env_clear()
            .envs(self.env.iter().cloned())
            .output()
            .expect("the program starts")
    }

    fn report(&self) -> (Option<i32>, Value) {
        let output = self.doctor(&["--json"]);
        let report = serde_json::from_slice(&output.stdout).expect("a report");
        (output.status.code(), report)
    }
}

#[cfg(unix)]
fn executable(file: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[cfg(not(unix))]
fn executable(_file: &Path) {}

fn check<'a>(report: &'a Value, name: &str) -> &'a Value {
    let all = report["checks"].as_array().unwrap();
    all.iter()
        .find(|check| check["name"] == name)
        .unwrap_or_else(|| panic!("no {name} in {report}"))
}

fn text(check: &Value) -> String {
    let details = check["details"].as_array().unwrap().iter().filter_map(Value::as_str);
    std::iter::once(check["summary"].as_str().unwrap())
        .chain(details)
        .collect::<Vec<_>>()
        .join("\n")
}

/// A provider with a key that answers every request like this; its configuration.
fn provider(status: &str, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let read = stream.read(&mut request).unwrap();
            let request = String::from_utf8_lossy(&request[..read]).to_ascii_lowercase();
            assert!(
                request.starts_with("get /v1/models") && request.contains("authorization: bearer s3cret"),
                "{request}"
            );
            stream.write_all((head.clone() + body).as_bytes()).unwrap();
        }
    });
    configured(port)
}

fn configured(port: u16) -> String {
    format!(
        "model_provider = \"far\"\n[model_providers.far]\nname = \"Far\"\nenv_key = \"OPENAI_API_KEY\"\n\
         base_url = \"http://127.0.0.1:{port}/v1\"\n"
    )
}

const MODELS: &str = r#"{"object":"list","data":[{"id":"big-one","object":"model"}]}"#;

/// A key is tried where that costs nothing, and what comes of it is said.
#[test]
fn a_provider_is_tried_with_its_key() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for (config, state, words) in [
        (
            provider("200 OK", MODELS),
            "ok",
            "Far, key in OPENAI_API_KEY; it answers",
        ),
        (
            format!("model = \"big-one\"\n{}", provider("200 OK", MODELS)),
            "ok",
            "big-one of Far, key in OPENAI_API_KEY; it answers",
        ),
        (
            format!("model = \"other\"\n{}", provider("200 OK", MODELS)),
            "warn",
            "other is not among the models that it lists",
        ),
        (
            provider("401 Unauthorized", r#"{"error":{"message":"Incorrect API key"}}"#),
            "fail",
            "OPENAI_API_KEY; refused",
        ),
        (provider("404 Not Found", "{}"), "ok", "the key was not tried"),
        (provider("500 Oh", "{}"), "warn", "could not be tried"),
        (provider("200 OK", "<html>"), "warn", "could not be tried"),
        (configured(nobody), "warn", "cannot be reached"),
    ] {
        let (_, report) = Machine::new().env("OPENAI_API_KEY", "s3cret").config(&config).report();
        let found = check(&report, "model");
        assert!(
            found["state"] == state && text(found).contains(words),
            "{words}: {found}"
        );
        assert!(!report.to_string().contains("s3cret"), "{report}");
    }
}

#[test]
fn a_machine_with_a_key_is_fit() {
    let machine = Machine::new()
        .config(&provider("200 OK", MODELS))
        .env("OPENAI_API_KEY", "s3cret")
        .program("git")
        .program("nvim")
        .program("hx");
    let (status, report) = machine.report();
    assert_eq!(check(&report, "model")["state"], "ok");
    assert!(text(check(&report, "model")).contains("OPENAI_API_KEY"));
    assert!(!report.to_string().contains("s3cret"));
    assert_eq!(check(&report, "git")["state"], "ok");
    assert_eq!(check(&report, "configuration")["state"], "ok");
    assert_eq!(check(&report, "home folder")["state"], "ok");
    let editors = text(check(&report, "editors"));
    assert!(
        editors.contains("Neovim, Helix") && editors.contains("require('countersign').setup()"),
        "{editors}"
    );
    assert_eq!(report["version"], env!("CARGO_PKG_VERSION"));
    let fit = check(&report, "sandbox")["state"] != "fail";
    assert_eq!((report["usable"].as_bool(), status), (Some(fit), Some(i32::from(!fit))));
    // It looks, and leaves nothing; nobody is signed in, and need not be.
    assert_eq!(std::fs::read_dir(machine.dir.path().join("home")).unwrap().count(), 1);
    assert!(!report.to_string().contains("\"login\""), "{report}");

    let table = machine.doctor(&[]);
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(table.contains("  ok  model") && !table.contains('\x1b'), "{table}");
}

/// Who runs it from an extension is not advised to install that; other editors are still named.
#[test]
fn the_editor_that_starts_it_needs_no_advice() {
    for (program, rest) in [("code", None), ("hx", Some("Helix: in ~/.config/helix"))] {
        let machine = Machine::new().env("COUNTERSIGN_EDITOR", "VS Code").program(program);
        let editors = text(check(&machine.report().1, "editors"));
        assert!(
            editors.contains("VS Code: set up") && !editors.contains("install the extension"),
            "{editors}"
        );
        assert!(rest.is_none_or(|rest| editors.contains(rest)), "{editors}");
    }
    let other = Machine::new().env("COUNTERSIGN_EDITOR", "Ed").program("code");
    let editors = text(check(&other.report().1, "editors"));
    assert!(editors.contains("install the extension"), "{editors}");
}

#[test]
fn without_a_model_it_says_how_to_get_one() {
    // A provider was chosen, so no other one is looked for on this machine.
    let machine = Machine::new().config("model_provider = \"openai\"\n");
    let (status, report) = machine.report();
    assert_eq!((status, report["usable"].as_bool()), (Some(1), Some(false)));
    assert_eq!(check(&report, "model")["state"], "fail");
    let words = text(check(&report, "model"));
    assert!(
        words.contains("OPENAI_API_KEY") && words.contains("ollama serve"),
        "{words}"
    );
    assert_eq!(check(&report, "git")["state"], "warn");
    let table = String::from_utf8(machine.doctor(&[]).stdout).unwrap();
    assert!(
        table.contains("FAIL  model") && table.contains("countersign demo"),
        "{table}"
    );
}

#[test]
fn a_server_on_this_machine_is_asked() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        for stream in listener.incoming().take(2) {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let read = stream.read(&mut request).unwrap();
            assert!(request[..read].starts_with(b"GET /v1/models"));
            let body = r#"{"object":"list","data":[{"id":"small-one","object":"model"}]}"#;
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            stream.write_all((head + body).as_bytes()).unwrap();
        }
    });
    let config = |more: &str| {
        format!(
            "model_provider = \"here\"\n{more}\n[model_providers.here]\nbase_url = \"http://127.0.0.1:{port}/v1\"\n"
        )
    };
    let (_, report) = Machine::new().config(&config("")).report();
    assert_eq!(check(&report, "model")["state"], "ok", "{report}");
    assert!(text(check(&report, "model")).contains("small-one"));
    let (_, report) = Machine::new().config(&config("model = \"big-one\"")).report();
    assert_eq!(check(&report, "model")["state"], "warn");
    server.join().unwrap();

    let (status, report) = Machine::new().config(&config("")).report();
    assert_eq!(status, Some(1));
    assert!(text(check(&report, "model")).contains(&format!("http://127.0.0.1:{port}/v1")));
}

#[test]
fn trouble_in_the_configuration_is_shown_with_its_place() {
    let machine = Machine::new()
        .env("OPENAI_API_KEY", "k")
        .config("modle = \"x\"\nnotice = 1\n");
    let project = machine.dir.path().join("project/.countersign");
    std::fs::create_dir_all(&project).unwrap();
    std::fs::write(project.join("config.toml"), "sandbox_mode = \"danger-full-access\"\n").unwrap();
    let (_, report) = machine.report();
    let found = check(&report, "configuration");
    assert_eq!(found["state"], "warn");
    let words = text(found);
    for expected in [
        "home/config.toml:1: `modle`",
        "did you mean `model`?",
        "config.toml:1: A project can only tighten",
        "not used yet: notice",
    ] {
        assert!(words.contains(expected), "{expected} not in {words}");
    }

    let (_, report) = Machine::new().env("OPENAI_API_KEY", "k").config("model = \n").report();
    assert!(text(check(&report, "configuration")).contains("line 1"));
}

#[test]
fn a_home_that_cannot_be_written_is_a_failure() {
    let machine = Machine::new().env("OPENAI_API_KEY", "k");
    std::fs::write(machine.dir.path().join("home"), "a file").unwrap();
    let (status, report) = machine.report();
    assert_eq!(status, Some(1));
    assert!(text(check(&report, "home folder")).contains("COUNTERSIGN_HOME"));

    let machine = Machine::new()
        .env("OPENAI_API_KEY", "k")
        .env("COUNTERSIGN_HOME", "relative");
    assert_eq!(check(&machine.report().1, "home folder")["state"], "fail");
}

#[test]
fn tool_servers_are_started_for_a_moment() {
    let good = program("good", &json!({"tools": [reading("look")]}));
    let gone = "[mcp_servers.gone]\ncommand = \"/no/such/program\"\n";
    let machine = Machine::new().config(&format!("{good}{gone}"));
    let (_, report) = machine.report();
    let checks = report["checks"].as_array().expect("checks");
    let check = checks
        .iter()
        .find(|check| check["name"] == "MCP servers")
        .expect("a check");
    assert_eq!(check["state"], "warn");
    assert_eq!(check["summary"], "2 configured, 1 of them not working");
    assert!(
        check["details"][0]
            .as_str()
            .is_some_and(|text| text.contains("/no/such/program")),
        "{check}"
    );
    assert_eq!(check["details"][1], "good: 1 tools");
    // Without servers there is nothing to say.
    let (_, report) = Machine::new().report();
    assert!(!report.to_string().contains("MCP servers"));
}

#[test]
fn tool_servers_are_listed_and_a_login_is_explained() {
    let good = program("good", &json!({"tools": [reading("look"), reading("find")]}));
    let far = "[mcp_servers.far]\nurl = \"http://127.0.0.1:9/mcp\"\nenabled = false\n[mcp_servers.web]\nurl = \"http://127.0.0.1:9/mcp\"\n";
    let machine = Machine::new().config(&format!("{good}{far}"));
    let run = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_countersign"))
            .arg("mcp")
            .args(args)
            .current_dir(machine.dir.path().join("project"))
            .env_clear()
            .envs(machine.env.iter().cloned())
            .output()
            .expect("the program starts");
        (output.status.code(), String::from_utf8(output.stdout).expect("text"))
    };
    let (code, text) = run(&["list"]);
    assert_eq!(code, Some(1));
    assert!(
        text.contains("good: look, find\n") && text.contains("web: The MCP server web did not start"),
        "{text}"
    );
    assert!(!text.contains("far"), "{text}");
    let (code, text) = run(&["login", "web"]);
    assert_eq!(code, Some(1));
    assert!(
        text.contains("The login to the MCP server web failed: 127.0.0.1:9"),
        "{text}"
    );
    let (code, text) = run(&["login", "nobody"]);
    assert_eq!(code, Some(1));
    assert!(text.contains("There are: good, web"), "{text}");
}

/// A program that gives the key is run, and what it says is told; the key itself is not.
#[cfg(unix)]
#[test]
fn a_program_that_gives_the_key_is_tried() {
    let config = |script: &str| {
        format!(
            "model = \"m\"\nmodel_provider = \"acme\"\n[model_providers.acme]\nname = \"Acme\"\n\
             base_url = \"https://model.example/v1\"\n[model_providers.acme.auth]\ncommand = \"/bin/sh\"\n\
             args = [\"-c\", \"{script}\"]\n"
        )
    };
    for (script, state, words) in [
        ("echo a-secret-key", "ok", "12 characters"),
        ("echo no network to ask >&2; exit 3", "fail", "no network to ask"),
        ("true", "fail", "gives no token"),
    ] {
        let machine = Machine::new().config(&config(script));
        let (_, report) = machine.report();
        let check = check(&report, "model");
        assert_eq!(check["state"], state, "{check}");
        let all = check.to_string();
        assert!(
            all.contains(words) && all.contains("/bin/sh") && all.contains("Acme"),
            "{all}"
        );
        assert!(!report.to_string().contains("a-secret-key"), "{report}");
    }
}
