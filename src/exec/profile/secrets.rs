//! Where keys and passwords lie on most machines: what nothing of the agent's reads unless the person opens it.
//!
//! What a program needs besides, and what is no secret, stays open: `known_hosts`, `config` and public keys of ssh, public
//! keyrings of gpg, the settings of cloud tools. `~/.npmrc` and the like are closed only while a token stands in them,
//! since without them package managers do not find their registry.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Below the home folder, always closed: files, or folders as a whole.
const CLOSED: &[&str] = &[
    ".aws/credentials",
    ".aws/cli/cache",
    ".aws/sso/cache",
    ".azure",
    ".boto",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".claude/.credentials.json",
    ".claude.json",
    ".codex/auth.json",
    ".config/containers/auth.json",
    ".config/doctl/config.yaml",
    ".config/gcloud/access_tokens.db",
    ".config/gcloud/application_default_credentials.json",
    ".config/gcloud/credentials.db",
    ".config/gcloud/legacy_credentials",
    ".config/gh/hosts.yml",
    ".config/git/credentials",
    ".config/github-copilot",
    ".config/glab-cli/config.yml",
    ".config/hub",
    ".config/op",
    ".config/rclone/rclone.conf",
    ".config/sops/age",
    ".databrickscfg",
    ".docker/config.json",
    ".fly/config.yml",
    ".gem/credentials",
    ".git-credentials",
    ".gnupg/private-keys-v1.d",
    ".gnupg/secring.gpg",
    ".heroku",
    ".kube/config",
    ".kube/cache",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".my.cnf",
    ".netrc",
    "_netrc",
    ".oci",
    ".password-store",
    ".pgpass",
    ".pypirc",
    ".terraform.d/credentials.tfrc.json",
    ".vault-token",
    // What browsers keep of a person: cookies, passwords, sessions.
    ".config/BraveSoftware",
    ".config/chromium",
    ".config/google-chrome",
    ".config/google-chrome-beta",
    ".config/microsoft-edge",
    ".config/opera",
    ".config/vivaldi",
    ".mozilla",
    ".thunderbird",
    ".var/app/org.mozilla.firefox",
    ".var/app/com.google.Chrome",
    "snap/firefox",
    "snap/chromium",
    "Library/Application Support/BraveSoftware",
    "Library/Application Support/Firefox",
    "Library/Application Support/Google/Chrome",
    "Library/Application Support/Microsoft Edge",
    "Library/Cookies",
    "Library/Keychains",
    "Library/Safari",
];

/// Closed while one of these words stands in them.
const CLOSED_WITH: &[(&str, &[&str])] = &[
    (".npmrc", TOKENS),
    (".yarnrc.yml", TOKENS),
    (".config/pip/pip.conf", &["://"]),
];

const TOKENS: &[&str] = &["_auth", "_password", "npmAuth"];

/// Variables that move such a place: the variable, and what is closed below the folder that it names ("" for itself).
const MOVED: &[(&str, &[&str])] = &[
    ("AWS_SHARED_CREDENTIALS_FILE", &[""]),
    ("AZURE_CONFIG_DIR", &[""]),
    ("CARGO_HOME", &["credentials", "credentials.toml"]),
    (
        "CLOUDSDK_CONFIG",
        &[
            "access_tokens.db",
            "application_default_credentials.json",
            "credentials.db",
            "legacy_credentials",
        ],
    ),
    ("CODEX_HOME", &["auth.json"]),
    ("DOCKER_CONFIG", &["config.json"]),
    ("GH_CONFIG_DIR", &["hosts.yml"]),
    ("GNUPGHOME", &["private-keys-v1.d", "secring.gpg"]),
    ("GOOGLE_APPLICATION_CREDENTIALS", &[""]),
    ("KUBECONFIG", &[""]),
    ("NETRC", &[""]),
    ("PASSWORD_STORE_DIR", &[""]),
    ("PGPASSFILE", &[""]),
];

/// The folder of what only the server itself opens, below its own: closed as a whole, so that what comes to lie in it while
/// a command runs is closed for that command too. A single file is not: a command that runs sees the one that takes its place.
pub const PRIVATE: &str = "private";
/// The server's own, in its folder.
const OWN: &[&str] = &[PRIVATE, "auth.json", ".credentials.json", "credentials.json"];
/// Words in the server's configuration that stand before a key.
const OWN_KEYS: &[&str] = &["bearer_token", "api_key", "http_headers", "uthorization"];

/// What of it all exists, links followed. `own` is Countersign's folder, `env` the environment that the server was started
/// with.
pub fn secrets(home: Option<&Path>, own: &Path, env: &BTreeMap<String, String>) -> Vec<PathBuf> {
    let mut named: Vec<PathBuf> = OWN.iter().map(|name| own.join(name)).collect();
    named.extend(half_written(own));
    let configuration = own.join("config.toml");
    if holds_one_of(&configuration, OWN_KEYS) || names_a_proxys_password(&configuration) {
        named.push(configuration);
    }
    for (variable, below) in MOVED {
        let Some(value) = env.get(*variable).filter(|value| !value.is_empty()) else {
            continue;
        };
        // Some name several files.
        for folder in value.split(':').map(PathBuf::from).filter(|path| path.is_absolute()) {
            named.extend(below.iter().map(|name| match name.is_empty() {
                true => folder.clone(),
                false => folder.join(name),
            }));
        }
    }
    if let Some(home) = home {
        named.extend(CLOSED.iter().map(|name| home.join(name)));
        let with = CLOSED_WITH.iter().map(|(name, words)| (home.join(name), words));
        named.extend(
            with.filter(|(path, words)| holds_one_of(path, words))
                .map(|(path, _)| path),
        );
        named.extend(ssh_keys(&home.join(".ssh")));
    }
    let mut found: Vec<PathBuf> = Vec::new();
    for path in named {
        if let Ok(real) = fs::canonicalize(path)
            && !found.contains(&real)
        {
            found.push(real);
        }
    }
    found
}

/// The server's private folder, made where it is missing: only what is there when a command begins is closed for it.
pub fn private_folder(own: &Path) -> PathBuf {
    let folder = own.join(PRIVATE);
    if !folder.exists()
        && let Err(error) = make_private(&folder)
    {
        // Nothing can be put there then either.
        tracing::debug!(%error, folder = %folder.display(), "the private folder cannot be made");
    }
    folder
}

/// Makes a folder that only its owner looks into; the one around it has to be there.
fn make_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// What a killed program may have left of a change of its own logins.
pub fn half_written(own: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(own).into_iter().flatten().flatten();
    let is_one = |name: &str| name.starts_with(".auth.json.") || name.starts_with("..credentials.json.");
    entries
        .filter(|entry| entry.file_name().to_str().is_some_and(is_one))
        .map(|entry| entry.path())
        .collect()
}

/// Everything in ssh's folder that is not known to be open to see.
fn ssh_keys(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_open = |name: &str| {
        name.ends_with(".pub")
            || name.starts_with("known_hosts")
            || [
                "config",
                "config.d",
                "authorized_keys",
                "allowed_signers",
                "environment",
                "rc",
            ]
            .contains(&name)
    };
    entries
        .filter(|entry| !entry.file_name().to_str().is_some_and(is_open))
        .filter(|entry| {
            entry
                .metadata()
                .is_ok_and(|found| found.is_file() || found.is_dir() || found.is_symlink())
        })
        .map(|entry| entry.path())
        .collect()
}

fn holds_one_of(path: &Path, words: &[&str]) -> bool {
    if !fs::metadata(path).is_ok_and(|found| found.is_file()) {
        return false;
    }
    let mut text = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(256 << 10).read_to_end(&mut text));
    let text = String::from_utf8_lossy(&text);
    // One that cannot be looked into is not known to be harmless.
    read.is_err() || words.iter().any(|word| text.contains(word))
}

/// Whether the configuration has a proxy with a name and a password in it.
fn names_a_proxys_password(path: &Path) -> bool {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().any(|line| line.contains("proxy") && line.contains('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_closed_and_what_stands_beside_them_is_not() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let home = fs::canonicalize(dir.path()).expect("canonical");
        let own = home.join(".countersign");
        for (name, text) in [
            (".ssh/id_ed25519", "k"),
            (".ssh/id_ed25519.pub", "k"),
            (".ssh/known_hosts", ""),
            (".ssh/config", ""),
            (".ssh/work.pem", "k"),
            (".gnupg/private-keys-v1.d/a.key", "k"),
            (".gnupg/pubring.kbx", ""),
            (".aws/credentials", "k"),
            (".aws/config", ""),
            (".npmrc", "registry=https://x/\n"),
            (".yarnrc.yml", "npmAuthToken: x\n"),
            (".countersign/private/auth.json", "{}"),
            (".countersign/auth.json", "{}"),
            (".countersign/.auth.json.0199a213", "{}"),
            (".countersign/config.toml", "model = \"x\"\n"),
            ("moved/credentials.toml", "k"),
        ] {
            let path = home.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("mkdir");
            fs::write(path, text).expect("write");
        }
        let env = BTreeMap::from([
            ("CARGO_HOME".to_owned(), home.join("moved").display().to_string()),
            ("KUBECONFIG".to_owned(), "relative".to_owned()),
        ]);
        let names = |found: Vec<PathBuf>| {
            let below = |path: &PathBuf| path.strip_prefix(&home).expect("below").display().to_string();
            let mut names: Vec<String> = found.iter().map(below).collect();
            names.sort();
            names
        };
        let found = names(secrets(Some(&home), &own, &env));
        assert_eq!(
            found,
            [
                ".aws/credentials",
                ".countersign/.auth.json.0199a213",
                ".countersign/auth.json",
                ".countersign/private",
                ".gnupg/private-keys-v1.d",
                ".ssh/id_ed25519",
                ".ssh/work.pem",
                ".yarnrc.yml",
                "moved/credentials.toml",
            ]
        );
        fs::write(home.join(".npmrc"), "//x/:_authToken=1\n").expect("write");
        fs::write(own.join("config.toml"), "experimental_bearer_token = \"k\"\n").expect("write");
        let found = names(secrets(Some(&home), &own, &BTreeMap::new()));
        assert!(found.contains(&".npmrc".to_owned()) && found.contains(&".countersign/config.toml".to_owned()));
        assert_eq!(names(secrets(None, &own, &BTreeMap::new())).len(), 4);
    }
}
