//! Configuration: layers, what a project may do, and reports with lines.

mod allowed;
mod cli;
mod editor;
mod files;
mod instructions;
mod keys;
mod layers;
mod manual;
mod project;
mod servers;

use countersign::config::{self, ConfigError, Loaded, Sources};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

struct Place {
    dir: tempfile::TempDir,
    sources: Sources,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        std::fs::create_dir_all(&home).unwrap();
        let sources = Sources {
            home,
            env: BTreeMap::from([pair("HOME", dir.path())]),
            ..Sources::default()
        };
        Self { dir, sources }
    }

    fn user(self, text: &str) -> Self {
        std::fs::write(self.sources.home.join("config.toml"), text).unwrap();
        self
    }

    /// A project file; the project is `<dir>/project` with a `.git`.
    fn project(mut self, path: &str, text: &str) -> Self {
        let root = self.dir.path().join("project");
        std::fs::create_dir_all(root.join(".git")).unwrap();
        let file = root.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
        self.sources.cwd.get_or_insert(root);
        self
    }

    fn client(mut self, value: Value) -> Self {
        self.sources.client.sent = Some(value);
        self
    }

    /// Settings by the command that starts the server.
    fn command(mut self, value: Value) -> Self {
        self.sources.client.startup = value.as_object().unwrap().clone();
        self
    }

    /// The person's settings, as TOML, by each way in which they come, with what they say besides in their file.
    fn each_way(settings: &str, file: &str) -> [(&'static str, Self); 3] {
        let value: Value = toml::from_str(settings).unwrap();
        let mut vouched = Self::new().user(file);
        vouched.sources.client.vouched = Some(value.clone());
        [
            ("file", Self::new().user(&format!("{settings}{file}"))),
            ("command", Self::new().user(file).command(value)),
            ("vouched", vouched),
        ]
    }

    fn request(mut self, value: Value) -> Self {
        self.sources.overrides = value.as_object().unwrap().clone();
        self
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        self.sources.env.insert(name.into(), value.into());
        self
    }

    fn load(&self) -> Loaded {
        config::load(&self.sources).unwrap_or_else(|error| panic!("{error}"))
    }

    fn error(&self) -> ConfigError {
        config::load(&self.sources).expect_err("not valid")
    }
}

fn pair(name: &str, path: &Path) -> (String, String) {
    (name.to_owned(), path.display().to_string())
}

/// `line: message` of each warning.
fn told(loaded: &Loaded) -> Vec<String> {
    let line = |line: Option<u32>| line.map_or_else(|| "-".to_owned(), |line| line.to_string());
    loaded
        .warnings
        .iter()
        .map(|warning| format!("{}: {}", line(warning.line), warning.message))
        .collect()
}
