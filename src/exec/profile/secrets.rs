//! Where keys and passwords lie on most machines: what nothing of the agent's reads unless the person opens it.
//!
//! What a program needs besides, and what is no secret, stays open: `known_hosts`, `config` and public keys of ssh, public
//! keyrings of gpg, the settings of cloud tools. `~/.npmrc` and the like are closed only while a token stands in them,
//! since without them package managers do not find their registry.

use crate::regular;
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
    ".aws/login/cache",
    // What other agents were told, and answered.
    ".claude/debug",
    ".claude/file-history",
    ".claude/history.jsonl",
    ".claude/paste-cache",
    ".claude/plans",
    ".claude/projects",
    ".claude/shell-snapshots",
    ".claude/todos",
    ".claude.json",
    ".aider.chat.history.md",
    ".aider.input.history",
    ".cline/data",
    ".codeium",
    ".config/goose/secrets.yaml",
    ".config/io.datasette.llm",
    ".config/zed/conversations",
    ".copilot",
    ".kiro/sessions",
    ".local/share/amazon-q",
    ".local/share/kiro-cli",
    ".roo/data",
    "Library/Application Support/amazon-q",
    "Library/Application Support/io.datasette.llm",
    ".codex/archived_sessions",
    ".codex/auth.json",
    ".codex/history.jsonl",
    ".codex/log",
    ".codex/sessions",
    ".gemini/oauth_creds.json",
    ".gemini/tmp",
    ".continue/sessions",
    ".cursor/chats",
    ".cursor/projects",
    ".factory/auth.json",
    ".factory/sessions",
    ".qwen/oauth_creds.json",
    ".qwen/tmp",
    ".config/Cursor",
    ".local/share/amp",
    ".local/share/crush",
    ".local/share/goose",
    ".local/share/opencode",
    ".local/share/zed",
    "Library/Application Support/Cursor",
    "Library/Application Support/Zed",
    ".pi/agent/auth.json",
    ".pi/agent/sessions",
    ".vibe/.env",
    ".augment/session.json",
    ".grok/user-settings.json",
    ".iflow/oauth_creds.json",
    ".iflow/settings.json",
    ".iflow/tmp",
    ".qoder",
    ".codebuddy",
    ".kimi/credentials",
    ".kimi/sessions",
    ".letta/settings.json",
    ".openclaw/openclaw.json",
    ".openclaw/credentials",
    ".hermes/.env",
    ".config/crush/crush.json",
    ".config/aichat/config.yaml",
    ".config/Claude",
    "Library/Application Support/Claude",
    ".config/amp/settings.json",
    ".continue/config.yaml",
    ".cursor/mcp.json",
    ".kiro/settings/mcp.json",
    ".kilocode/cli/config.json",
    ".lmstudio/conversations",
    ".local/state/warp-terminal",
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
    ".ansible/vault_pass",
    ".authinfo",
    ".authinfo.gpg",
    ".cache/huggingface/stored_tokens",
    ".cache/huggingface/token",
    ".cloudflared",
    ".composer/auth.json",
    ".config/Bitwarden CLI",
    ".config/age",
    ".config/argocd",
    ".config/composer/auth.json",
    ".config/configstore/firebase-tools.json",
    ".config/coursier/credentials.properties",
    ".config/gopass",
    ".config/hcloud/cli.toml",
    ".config/helm/registry/config.json",
    ".config/linode-cli",
    ".config/msmtp/config",
    ".config/neonctl",
    ".config/netlify",
    ".config/ngrok/ngrok.yml",
    ".config/openstack/clouds.yaml",
    ".config/openstack/secure.yaml",
    ".config/planetscale",
    ".config/pypoetry/auth.toml",
    ".config/scw/config.yaml",
    ".config/stripe",
    ".config/tea/config.yml",
    ".config/turso",
    ".config/.wrangler",
    ".coursier/credentials.properties",
    ".dbt/profiles.yml",
    ".doppler",
    ".fetchmailrc",
    ".huggingface/token",
    ".ivy2/.credentials",
    ".kaggle/kaggle.json",
    ".local/share/com.vercel.cli",
    ".local/share/gopass",
    ".local/share/rbw",
    ".local/share/uv/credentials",
    ".lpass",
    ".m2/settings-security.xml",
    ".mbsyncrc",
    ".mc/config.json",
    ".msmtprc",
    ".netlify/config.json",
    ".ngrok2/ngrok.yml",
    ".op",
    ".passwd-s3fs",
    ".pulumi/credentials.json",
    ".railway",
    ".rancher/cli2.json",
    ".s3cfg",
    ".sbt/.credentials",
    ".snowflake",
    ".snowsql/config",
    ".supabase",
    ".tsh",
    ".vercel/auth.json",
    ".wrangler/config",
    "Library/Application Support/Bitwarden CLI",
    "Library/Application Support/com.vercel.cli",
    "Library/Application Support/doctl/config.yaml",
    "Library/Application Support/ngrok/ngrok.yml",
    "Library/Application Support/sops/age",
    "Library/Preferences/netlify",
    ".circleci/cli.yml",
    ".config/JetBrains",
    ".expo/state.json",
    ".jfrog",
    ".local/share/gem/credentials",
    ".mcp-auth",
    ".sentryclirc",
    ".slack/credentials.json",
    ".talos/config",
    ".mylogin.cnf",
    ".vnc/passwd",
    ".config/kaggle/kaggle.json",
    ".clasprc.json",
    ".neonctl",
    ".planetscale",
    ".config/atlascli",
    ".bluemix",
    ".cf/config.json",
    ".aliyun/config.json",
    ".config/snowflake",
    ".databricks/token-cache.json",
    ".modal.toml",
    ".argocd/config",
    ".smbcredentials",
    ".davfs2/secrets",
    ".config/borg/keys",
    ".config/chezmoi/key.txt",
    ".age/key.txt",
    ".config/syncthing",
    ".local/state/syncthing",
    ".android/adbkey",
    ".private_keys",
    ".fastlane/spaceship",
    "Library/Application Support/JetBrains",
    // Money.
    ".bitcoin",
    ".config/solana",
    ".electrum",
    ".near-credentials",
    ".sui/sui_config",
    ".ethereum/keystore",
    ".foundry/keystores",
    // Certificates with their keys.
    ".docker/contexts/tls",
    ".docker/machine/certs",
    ".globus",
    ".local/share/mkcert",
    ".minikube/ca.key",
    ".minikube/certs",
    ".minikube/profiles",
    ".pki",
    ".step/secrets",
    // Passwords that programs keep.
    ".config/1Password",
    ".config/Bitwarden",
    ".config/KeePass",
    ".config/filezilla",
    ".config/hexchat",
    ".config/irssi",
    ".config/keepassxc",
    ".config/remmina",
    ".config/weechat",
    ".filezilla",
    ".irssi",
    ".local/share/remmina",
    ".subversion/auth",
    ".weechat",
    "Library/Application Support/1Password",
    "Library/Application Support/Bitwarden",
    "Library/Group Containers/2BUA8C4S2C.com.1password",
    // What was typed, secrets among it, and said to others; more are found by their names.
    ".bash_history",
    ".lesshst",
    ".local/share/atuin",
    ".local/share/nvim/shada",
    ".local/share/powershell/PSReadLine",
    ".local/share/xonsh",
    ".local/state/less",
    ".local/state/nvim/shada",
    ".local/state/python_history",
    ".config/fish/fish_history",
    ".config/nushell/history.sqlite3",
    ".config/nushell/history.txt",
    ".mongodb/mongosh",
    ".viminfo",
    ".zsh_sessions",
    ".local/share/fish/fish_history",
    ".local/state/bash/history",
    ".mysql_history",
    ".node_repl_history",
    ".psql_history",
    ".python_history",
    ".rediscli_history",
    ".zsh_history",
    ".histfile",
    ".config/zsh/.zsh_history",
    ".local/state/zsh/history",
    ".cache/zsh/history",
    ".local/share/nushell/history.txt",
    ".local/share/nushell/history.sqlite3",
    ".config/Element",
    ".config/Signal",
    ".config/Slack",
    ".config/discord",
    ".local/share/TelegramDesktop",
    "Library/Application Support/Signal",
    "Library/Application Support/Slack",
    "Library/Application Support/discord",
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
    ".config/google-chrome-unstable",
    ".config/microsoft-edge-beta",
    ".config/microsoft-edge-dev",
    ".floorp",
    ".librewolf",
    ".local/share/epiphany",
    ".local/share/qutebrowser",
    ".waterfox",
    ".zen",
    ".var/app/com.brave.Browser",
    ".var/app/com.microsoft.Edge",
    ".var/app/io.gitlab.librewolf-community",
    ".var/app/org.chromium.Chromium",
    ".var/app/org.mozilla.Thunderbird",
    "snap/brave",
    "snap/thunderbird",
    "Library/Application Support/Arc",
    "Library/Application Support/Chromium",
    "Library/Application Support/LibreWolf",
    "Library/Application Support/Vivaldi",
    "Library/Application Support/com.operasoftware.Opera",
    "Library/Application Support/zen",
    "Library/Thunderbird",
];

/// Folders of editors that are made like VS Code: their settings are open, what they and their extensions keep of a person is not.
const EDITORS: &[&str] = &[
    ".config/Antigravity",
    ".config/Code",
    ".config/Code - Insiders",
    ".config/Kiro",
    ".config/Trae",
    ".config/VSCodium",
    ".config/Windsurf",
    ".vscode-server/data",
    ".vscode-server-insiders/data",
    ".local/share/code-server",
    "Library/Application Support/Antigravity",
    "Library/Application Support/Code",
    "Library/Application Support/Code - Insiders",
    "Library/Application Support/Kiro",
    "Library/Application Support/VSCodium",
    "Library/Application Support/Windsurf",
];
const IN_EDITORS: &[&str] = &[
    "Cookies",
    "Local Storage",
    "Network",
    "Session Storage",
    "User/History",
    "User/globalStorage",
    "User/workspaceStorage",
    "logs",
];

/// Folders below the home folder that a variable moves, with all that is closed in them.
const MOVED_FOLDERS: &[(&str, &str)] = &[
    (".cache", "XDG_CACHE_HOME"),
    (".config", "XDG_CONFIG_HOME"),
    (".local/share", "XDG_DATA_HOME"),
    (".local/state", "XDG_STATE_HOME"),
];

/// Closed while one of these words stands in them.
const CLOSED_WITH: &[(&str, &[&str])] = &[
    (".aws/config", &["aws_secret_access_key", "aws_session_token"]),
    (".claude/settings.json", &["_TOKEN", "_KEY", "_SECRET"]),
    (".bundle/config", &["__"]),
    (".npmrc", TOKENS),
    (".yarnrc.yml", TOKENS),
    (".config/pip/pip.conf", &["://"]),
    (".pip/pip.conf", &["://"]),
    (".m2/settings.xml", &["<password", "<passphrase", "<privateKey"]),
    (".gradle/gradle.properties", &["assword", "oken", "ecret"]),
    (".hex/hex.config", &["api_key", "auth_key", "write_key"]),
    (".nuget/NuGet/NuGet.Config", &["Password"]),
    (".config/NuGet/NuGet.Config", &["Password"]),
    (".terraformrc", &["token"]),
];

const TOKENS: &[&str] = &["_auth", "_password", "npmAuth"];

/// Variables that move such a place: the variable, and what is closed below the folder that it names ("" for itself).
const MOVED: &[(&str, &[&str])] = &[
    ("ANSIBLE_VAULT_PASSWORD_FILE", &[""]),
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
    ("CLAUDE_CONFIG_DIR", &[".credentials.json", "history.jsonl", "projects"]),
    (
        "CODEX_HOME",
        &["archived_sessions", "auth.json", "history.jsonl", "log", "sessions"],
    ),
    ("COMPOSER_HOME", &["auth.json"]),
    ("DATABRICKS_CONFIG_FILE", &[""]),
    ("DOCKER_CONFIG", &["config.json"]),
    ("GH_CONFIG_DIR", &["hosts.yml"]),
    ("GNUPGHOME", &["private-keys-v1.d", "secring.gpg"]),
    ("GOOGLE_APPLICATION_CREDENTIALS", &[""]),
    ("HF_HOME", &["stored_tokens", "token"]),
    ("HF_TOKEN_PATH", &[""]),
    ("HISTFILE", &[""]),
    ("KRB5_KTNAME", &[""]),
    ("KAGGLE_CONFIG_DIR", &["kaggle.json"]),
    ("KUBECONFIG", &[""]),
    ("NETRC", &[""]),
    ("PASSWORD_STORE_DIR", &[""]),
    ("PGPASSFILE", &[""]),
    ("PULUMI_HOME", &["credentials.json"]),
    ("RCLONE_CONFIG", &[""]),
    ("REGISTRY_AUTH_FILE", &[""]),
    ("SOPS_AGE_KEY_FILE", &[""]),
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
        named.extend(CLOSED.iter().flat_map(|name| places(home, name, env)));
        for editor in EDITORS {
            let folders: Vec<PathBuf> = places(home, editor, env).collect();
            named.extend(
                folders
                    .iter()
                    .flat_map(|folder| IN_EDITORS.iter().map(|name| folder.join(name))),
            );
        }
        for (name, words) in CLOSED_WITH {
            let with = places(home, name, env);
            named.extend(with.filter(|path| holds_one_of(path, words)));
        }
        named.extend(ssh_keys(&home.join(".ssh")));
        named.extend(typed(home));
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

/// Where something of the home folder is: there, and where a variable has moved the folder around it.
fn places(home: &Path, name: &str, env: &BTreeMap<String, String>) -> impl Iterator<Item = PathBuf> {
    let moved = MOVED_FOLDERS.iter().filter_map(move |(folder, variable)| {
        let below = Path::new(name).strip_prefix(folder).ok()?;
        let folder = env.get(*variable).map(Path::new).filter(|path| path.is_absolute())?;
        Some(folder.join(below))
    });
    [home.join(name)].into_iter().chain(moved)
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
    let entries = match fs::read_dir(folder).and_then(Iterator::collect::<std::io::Result<Vec<_>>>) {
        Ok(entries) => entries,
        // Names of keys can be guessed where they cannot be listed.
        Err(_) => return vec![folder.to_owned()],
    };
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
        .iter()
        .filter(|entry| !entry.file_name().to_str().is_some_and(is_open))
        .filter(|entry| match entry.metadata() {
            Ok(found) => found.is_file() || found.is_dir() || found.is_symlink(),
            Err(_) => true,
        })
        .map(|entry| entry.path())
        .collect()
}

/// Ends of the names of hidden files, right in the home folder, in which programs keep what was typed into them.
const TYPED: &[&str] = &["_history", "_hist", "history", "hist", "-history"];

fn typed(home: &Path) -> Vec<PathBuf> {
    let is_one = |name: &str| {
        name.starts_with('.') && TYPED.iter().any(|end| name.to_lowercase().ends_with(end)) || name.ends_with(".kdbx")
    };
    let entries = fs::read_dir(home).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_one));
    named.map(|entry| entry.path()).collect()
}

/// Files of the system that hold keys and passwords, and folders of them.
const OF_THE_SYSTEM: &[&str] = &[
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/ipsec.secrets",
    "/etc/krb5.keytab",
    "/etc/letsencrypt/accounts",
    "/etc/letsencrypt/archive",
    "/etc/letsencrypt/live",
    "/etc/NetworkManager/system-connections",
    "/etc/ppp/chap-secrets",
    "/etc/ppp/pap-secrets",
    "/etc/security/opasswd",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/ssh/ssh_host_dsa_key",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssl/private",
    "/etc/wireguard",
    "/run/secrets",
    "/var/run/secrets",
];

/// What of the system, and of the person's session outside the home folder, holds keys and can be read.
pub fn secrets_of_the_system(env: &BTreeMap<String, String>) -> Vec<PathBuf> {
    let mut named: Vec<PathBuf> = OF_THE_SYSTEM.iter().map(PathBuf::from).collect();
    if let Some(run) = env
        .get("XDG_RUNTIME_DIR")
        .map(Path::new)
        .filter(|path| path.is_absolute())
    {
        named.push(run.join("containers/auth.json"));
    }
    let by_variable = env.get("KRB5CCNAME").and_then(|name| match name.split_once(':') {
        Some(("FILE" | "DIR", path)) => Some(path),
        Some(_) => None,
        None => Some(name.as_str()),
    });
    named.extend(by_variable.map(PathBuf::from).filter(|path| path.is_absolute()));
    let tickets = fs::read_dir("/tmp").into_iter().flatten().flatten();
    let tickets = tickets.filter(|entry| {
        entry
            .file_name()
            .to_str()
            .is_some_and(|name| name.starts_with("krb5cc"))
    });
    named.extend(tickets.map(|entry| entry.path()));
    let can_be_read = |path: &PathBuf| match path.is_dir() {
        true => fs::read_dir(path).is_ok(),
        false => regular::open(path).is_ok(),
    };
    let real = named.iter().filter_map(|path| fs::canonicalize(path).ok());
    let mut found: Vec<PathBuf> = real.filter(can_be_read).collect();
    found.sort();
    found.dedup();
    found
}

fn holds_one_of(path: &Path, words: &[&str]) -> bool {
    if !fs::metadata(path).is_ok_and(|found| found.is_file()) {
        return false;
    }
    let mut text = Vec::new();
    let read = regular::open(path).and_then(|file| file.take(256 << 10).read_to_end(&mut text));
    let text = String::from_utf8_lossy(&text);
    // One that cannot be looked into is not known to be harmless.
    read.is_err() || words.iter().any(|word| text.contains(word))
}

/// Whether the configuration has a proxy with a name and a password in it.
fn names_a_proxys_password(path: &Path) -> bool {
    let text = regular::read_to_string(path).unwrap_or_default();
    text.lines().any(|line| line.contains("proxy") && line.contains('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each place by itself, in an empty home folder.
    #[test]
    fn each_place_of_the_tables() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let around = fs::canonicalize(dir.path()).expect("canonical");
        let mut homes = 0;
        let mut closes = |name: &str, at: &Path, text: &str, variable: Option<(&str, &Path)>| {
            homes += 1;
            let home = around.join(homes.to_string());
            let path = home.join(at);
            fs::create_dir_all(path.parent().expect("a folder")).expect("mkdir");
            fs::write(&path, text).expect("write");
            let env = variable.map(|(name, folder)| (name.to_owned(), home.join(folder).display().to_string()));
            let found = secrets(Some(&home), &home.join(".countersign"), &env.into_iter().collect());
            assert!(found.is_empty() || found == [path], "{name}: {found:?}");
            !found.is_empty()
        };
        let moved = Path::new("moved");
        for name in CLOSED {
            assert!(closes(name, Path::new(name), "k", None), "{name}");
            for (folder, variable) in MOVED_FOLDERS {
                if let Ok(below) = Path::new(name).strip_prefix(folder) {
                    let variable = Some((*variable, moved));
                    assert!(closes(name, &moved.join(below), "k", variable), "{name} moved");
                }
            }
        }
        for name in EDITORS
            .iter()
            .flat_map(|editor| IN_EDITORS.iter().map(move |name| format!("{editor}/{name}")))
        {
            assert!(closes(&name, Path::new(&name), "k", None), "{name}");
        }
        for (name, words) in CLOSED_WITH {
            assert!(!closes(name, Path::new(name), "repository = here\n", None), "{name}");
            for word in *words {
                let text = format!("repository = here\nx {word} x\n");
                assert!(closes(name, Path::new(name), &text, None), "{name} {word}");
            }
        }
        for (variable, below) in MOVED {
            for name in *below {
                // A file of its own, or one in a folder.
                let place = match name.is_empty() {
                    true => moved.to_owned(),
                    false => moved.join(name),
                };
                let variable = Some((*variable, moved));
                assert!(closes(name, &place, "k", variable), "{variable:?} {name}");
            }
        }
        for name in [
            ".config/nvim/init.lua",
            ".config/git/config",
            ".m2/repository/x.jar",
            ".gradle/caches/x",
            ".cache/huggingface/hub/x",
            ".cargo/config.toml",
            ".bashrc",
            ".zshrc",
            ".kube/kuberc",
            ".pulumi/plugins/x",
            ".claude/skills/x/SKILL.md",
            ".config/Code/User/settings.json",
            ".docker/contexts/meta/x",
            ".subversion/config",
        ] {
            assert!(!closes(name, Path::new(name), "x", None), "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_of_keys_that_cannot_be_listed_is_closed() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().expect("temporary folder");
        let home = fs::canonicalize(dir.path()).expect("canonical");
        let folder = home.join(".ssh");
        fs::create_dir(&folder).expect("mkdir");
        fs::write(folder.join("id_rsa"), "k").expect("write");
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o300)).expect("chmod");
        let found = secrets(Some(&home), &home.join("own"), &BTreeMap::new());
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).expect("chmod");
        // Root lists every folder.
        let expected = match rustix::process::geteuid().is_root() {
            true => folder.join("id_rsa"),
            false => folder,
        };
        assert_eq!(found, [expected]);
    }

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
