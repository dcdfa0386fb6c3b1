//! Variables by which programs load code that they were not started for. Where they lead to places that commands of the
//! agent or other users can write, as `direnv` and the like set them, they are taken out of the environment of what
//! runs outside the sandbox: whatever a variable is called, a program may read settings from where it leads, and those
//! name code. A few that name no such thing stay.

use super::places::Places;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Paths, joined as in `PATH`. Of these each goes by itself.
#[rustfmt::skip]
const PATHS: &[&str] = &[
    "BASH_ENV", "BUNDLE_GEMFILE", "BUNDLE_PATH", "CLASSPATH", "DYLD_FALLBACK_LIBRARY_PATH", "DYLD_FRAMEWORK_PATH",
    "DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH", "ENV", "GCONV_PATH", "GEM_HOME", "GEM_PATH", "GIT_ASKPASS",
    "GIT_CONFIG", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_EXEC_PATH", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH",
    "GIT_TEMPLATE_DIR", "GTK_PATH", "LD_AUDIT", "LD_LIBRARY_PATH", "LD_PRELOAD", "NODE_PATH", "OPENSSL_CONF",
    "OPENSSL_ENGINES", "OPENSSL_MODULES", "PERL5LIB", "PERLLIB", "PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP",
    "PYTHONUSERBASE", "QT_PLUGIN_PATH", "RUBYLIB", "SSH_ASKPASS", "SUDO_ASKPASS", "ZDOTDIR",
];
/// Command lines: all of one goes where a word of it leads to such a place.
#[rustfmt::skip]
const COMMANDS: &[&str] = &[
    "AR", "BROWSER", "CC", "CPP", "CXX", "EDITOR", "FCEDIT", "GIT_EDITOR", "GIT_EXTERNAL_DIFF", "GIT_PAGER",
    "GIT_PROXY_COMMAND", "GIT_SEQUENCE_EDITOR", "GIT_SSH", "GIT_SSH_COMMAND", "LD", "LESSCLOSE", "LESSOPEN", "MAKE",
    "MANPAGER", "PAGER", "PROMPT_COMMAND", "RSYNC_RSH", "RUSTC", "RUSTC_WORKSPACE_WRAPPER", "RUSTC_WRAPPER", "SHELL",
    "VISUAL",
];
/// Options of interpreters: of these only what loads nothing stays.
#[rustfmt::skip]
const OPTIONS: &[&str] = &[
    "BUN_OPTIONS", "JAVA_OPTS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "LUA_CPATH", "LUA_INIT", "LUA_PATH", "MAVEN_OPTS",
    "NODE_OPTIONS", "PERL5DB", "PERL5OPT", "PHPRC", "PHP_INI_SCAN_DIR", "RUBYOPT", "_JAVA_OPTIONS",
];
/// Options that load code by a bare name.
const LOADING: &[&str] = &[
    "--experimental-loader",
    "--import",
    "--loader",
    "--preload",
    "--require",
];
/// Places of settings that name programs.
#[rustfmt::skip]
const SETTINGS: &[&str] = &[
    "ANSIBLE_CONFIG", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "CARGO_HOME", "CLOUDSDK_CONFIG", "CURL_HOME",
    "DOCKER_CONFIG", "GH_CONFIG_DIR", "GIT_COMMON_DIR", "GIT_DIR", "GNUPGHOME", "HGRCPATH", "HOME", "KUBECONFIG", "MAKEFILES",
    "NPM_CONFIG_GLOBALCONFIG", "NPM_CONFIG_USERCONFIG", "PGSERVICEFILE", "PGSYSCONFDIR", "PIP_CONFIG_FILE", "PSQLRC",
    "RIPGREP_CONFIG_PATH", "SYSTEM_WGETRC", "TF_CLI_CONFIG_FILE", "WGETRC", "XDG_CONFIG_DIRS",
    "XDG_CONFIG_HOME", "XDG_DATA_DIRS", "XDG_DATA_HOME", "npm_config_globalconfig", "npm_config_userconfig",
];
/// What the names of others end with that are places of settings.
const ENDS_OF_SETTINGS: &[&str] = &[
    "CONFIG",
    "CONFIG_DIR",
    "CONFIG_FILE",
    "CONFIG_PATH",
    "HOME",
    "RC",
    "RCPATH",
];
/// What stays wherever it leads: by these no program finds code, and without them it does not find the person's session.
#[rustfmt::skip]
const STAYING: &[&str] = &[
    "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "GPG_TTY", "HOME", "KRB5CCNAME", "OLDPWD", "PATH", "PWD", "SSH_AUTH_SOCK",
    "SSH_TTY", "TEMP", "TMP", "TMPDIR", "VIRTUAL_ENV", "VSCODE_GIT_IPC_HANDLE", "VSCODE_IPC_HOOK_CLI",
    "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR",
];
/// Of git's own the ones that name neither settings nor programs.
#[rustfmt::skip]
const PLAIN_OF_GIT: &[&str] = &[
    "GIT_ALLOW_PROTOCOL", "GIT_ASK_YESNO", "GIT_AUTHOR_DATE", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_NAME", "GIT_CEILING_DIRECTORIES",
    "GIT_COMMITTER_DATE", "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_NAME", "GIT_CONFIG_NOSYSTEM", "GIT_LFS_SKIP_SMUDGE",
    "GIT_OPTIONAL_LOCKS", "GIT_PROTOCOL", "GIT_PROTOCOL_FROM_USER", "GIT_TERMINAL_PROMPT",
];
/// By these a repository of ordinary files, which a command could have written, is none.
const NO_BARE_REPOSITORY: &str = "safe.bareRepository";

/// Takes out of an environment what would load code from places that commands of the agent, or other users, can write.
/// `is_kept` names variables that are left as they are.
pub fn drop_open_code_paths(env: &mut BTreeMap<String, String>, is_kept: impl Fn(&str) -> bool) {
    let places = Places::of(env);
    let changed: Vec<(String, String)> = env
        .iter()
        .filter(|(name, _)| !is_kept(name) && !is_git_setting(name))
        .filter_map(|(name, value)| Some((name.clone(), changed(name, value, &places)?)))
        .collect();
    for (name, value) in changed {
        match value.is_empty() {
            true => env.remove(&name),
            false => env.insert(name, value),
        };
    }
    keep_git_settings(env, is_kept);
}

/// Programs keep what they have made of code in the folder for temporary files, by names that anybody can guess, and run it from
/// there the next time. Commands write that folder too.
const NO_SHARED_CACHES: &[(&str, &str)] = &[
    ("DISABLE_V8_COMPILE_CACHE", "1"),
    ("JITI_FS_CACHE", "false"),
    ("NODE_DISABLE_COMPILE_CACHE", "1"),
    ("TSX_DISABLE_CACHE", "1"),
];

/// Has programs that run outside of the sandbox take nothing from such a cache. What is set stays.
pub fn share_no_caches(env: &mut BTreeMap<String, String>) {
    for (name, value) in NO_SHARED_CACHES {
        env.entry((*name).to_owned()).or_insert_with(|| (*value).to_owned());
    }
}

/// What becomes of a variable, if it does not stay as it is: an empty one goes.
fn changed(name: &str, value: &str, places: &Places) -> Option<String> {
    if STAYING.contains(&name) {
        None
    } else if PATHS.contains(&name) {
        Some(joined(paths(name, value).filter(|path| is_own(path, places))))
    } else if COMMANDS.contains(&name) {
        let mut named = value.split_whitespace().filter(|word| word.contains('/'));
        let is_own = named.all(|word| is_own(word.trim_matches(['"', '\'', '|']), places));
        (!is_own).then(String::new)
    } else if OPTIONS.contains(&name) {
        (!value.split_whitespace().all(loads_nothing)).then(String::new)
    } else if goes_by_name(name) {
        Some(String::new())
    } else if SETTINGS.contains(&name) && !value.is_empty() {
        settings(name, value, places)
    } else if is_relative_place_of_settings(name, value) {
        Some(String::new())
    } else if value.contains('/') && paths(name, value).all(|path| path.is_empty() || Path::new(path).is_absolute()) {
        let kept: Vec<&str> = paths(name, value)
            .filter(|path| path.is_empty() || is_own(path, places))
            .collect();
        let all = paths(name, value).count();
        (kept.len() < all).then(|| joined(kept.into_iter().filter(|path| !path.is_empty())))
    } else {
        open_path(value, places).map(|_| String::new())
    }
}

/// What becomes of a variable that leads to settings: where it is relative, it leads to the folder of whatever is run.
fn settings(name: &str, value: &str, places: &Places) -> Option<String> {
    // These are separated by blanks, and all of them are read.
    let is_whole = name == "MAKEFILES";
    let mut files = value.split_whitespace();
    match is_whole {
        true => (!files.all(|file| is_own(file, places))).then(String::new),
        false => Some(joined(paths(name, value).filter(|path| is_own(path, places)))),
    }
}

/// Whether a variable that is not known leads to settings in the folder of whatever is run, by its name and by what it holds.
fn is_relative_place_of_settings(name: &str, value: &str) -> bool {
    let is_one = ENDS_OF_SETTINGS.iter().any(|end| name.ends_with(end)) && !name.ends_with("SRC");
    is_one && value.contains(['.', '/']) && !value.contains("://") && Path::new(value).is_relative()
}

/// Whether code may be loaded from where a variable leads, by its name.
pub fn names_code(name: &str) -> bool {
    #[rustfmt::skip]
    const STARTS: &[&str] = &[
        "BUN_", "CARGO_", "DENO_", "GOFLAGS", "GOMODCACHE", "GOPATH", "GOROOT", "GOWORK", "NODE_", "NPM_CONFIG_",
        "PYTHON", "RUBY", "UV_", "npm_config_",
    ];
    let is_listed = [PATHS, COMMANDS, OPTIONS, SETTINGS]
        .iter()
        .any(|names| names.contains(&name));
    let is_known = is_listed || goes_by_name(name) || STARTS.iter().any(|start| name.starts_with(start));
    name == "VIRTUAL_ENV" || is_known && !STAYING.contains(&name)
}

fn joined<'v>(paths: impl Iterator<Item = &'v str>) -> String {
    std::env::join_paths(paths)
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// Whether a variable goes whatever it holds: a function of a shell, a setting of git's, a program that runs others.
fn goes_by_name(name: &str) -> bool {
    name.starts_with("BASH_FUNC_")
        || name.starts_with("GIT_") && !PLAIN_OF_GIT.contains(&name)
        || name.ends_with("_RUNNER")
        || name.ends_with("_WRAPPER")
}

/// Whether a variable is one of those by which settings of git's are numbered.
fn is_git_setting(name: &str) -> bool {
    name == "GIT_CONFIG_COUNT" || name.starts_with("GIT_CONFIG_KEY_") || name.starts_with("GIT_CONFIG_VALUE_")
}

/// Leaves of the numbered settings of git's the kept ones and those that only narrow, in a row from zero: git refuses
/// to work where one is missing.
fn keep_git_settings(env: &mut BTreeMap<String, String>, is_kept: impl Fn(&str) -> bool) {
    if !env.keys().any(|name| is_git_setting(name)) {
        return;
    }
    let count: usize = env
        .get("GIT_CONFIG_COUNT")
        .and_then(|count| count.parse().ok())
        .unwrap_or(0);
    let mut kept: Vec<(String, String)> = Vec::new();
    // No environment holds more than a few.
    for number in 0..count.min(1_000) {
        let name = format!("GIT_CONFIG_KEY_{number}");
        let (Some(key), Some(value)) = (env.get(&name), env.get(&format!("GIT_CONFIG_VALUE_{number}"))) else {
            continue;
        };
        if is_kept(&name) || key.eq_ignore_ascii_case(NO_BARE_REPOSITORY) {
            kept.push((key.clone(), value.clone()));
        }
    }
    env.retain(|name, _| !is_git_setting(name));
    if !kept.is_empty() {
        env.insert("GIT_CONFIG_COUNT".to_owned(), kept.len().to_string());
    }
    for (number, (key, value)) in kept.into_iter().enumerate() {
        env.insert(format!("GIT_CONFIG_KEY_{number}"), key);
        env.insert(format!("GIT_CONFIG_VALUE_{number}"), value);
    }
}

/// Where a variable that a command sets leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Leading {
    /// To a place that commands or other users can write.
    Open(PathBuf),
    /// Somewhere that depends on the folder, or that only the run can tell.
    Relative(PathBuf),
}

/// Whether a variable names a command.
pub(super) fn is_command(name: &str) -> bool {
    COMMANDS.contains(&name) || goes_by_name(name)
}

/// The first place in what a command sets a variable to that is not the person's own, if programs load code or settings by it.
pub(super) fn leads_to_open(name: &str, value: &str, places: &Places) -> Option<Leading> {
    let is_list = name == "PATH" || PATHS.contains(&name) || SETTINGS.contains(&name);
    let place = |path: &str| match Path::new(path).is_absolute() && !path.contains(['$', '`']) {
        true => places
            .refuses(Path::new(path))
            .map(|_| Leading::Open(PathBuf::from(path))),
        false => Some(Leading::Relative(PathBuf::from(path))),
    };
    if is_list {
        // What it holds already is looked at before it runs.
        let itself = [format!("${name}"), format!("${{{name}}}"), format!("${{{name}:-}}")];
        let mut paths = paths(name, value).filter(|path| !itself.iter().any(|own| own == path));
        // An empty one means the folder, but not where there is nothing else.
        return (!value.is_empty()).then(|| paths.find_map(place)).flatten();
    }
    if is_command(name) {
        let words = value.split(|c: char| c.is_whitespace() || "\"'|=".contains(c));
        return words.filter(|word| word.contains('/')).find_map(place);
    }
    let loads = OPTIONS.contains(&name) && !value.split_whitespace().all(loads_nothing);
    loads.then(|| Leading::Relative(PathBuf::new()))
}

/// The first path in a value that is not the person's own.
fn open_path<'v>(value: &'v str, places: &Places) -> Option<&'v str> {
    let pieces = value.split(|c: char| c.is_whitespace() || "\"'`,;:=|()".contains(c));
    pieces.filter(|piece| piece.contains('/')).find(|piece| {
        if piece.starts_with("./") || piece.starts_with("../") {
            return true;
        }
        // Also behind the letter of an option.
        let path = match piece.find('/') {
            Some(at) if piece.starts_with(['-', '@']) => &piece[at..],
            _ => piece,
        };
        path.starts_with('/') && !is_own(path, places)
    })
}

fn paths<'v>(name: &str, value: &'v str) -> impl Iterator<Item = &'v str> {
    // The loader of Linux separates those by blanks, too.
    let has_blanks = name == "LD_PRELOAD";
    let joins = if cfg!(windows) { ';' } else { ':' };
    value.split(move |c: char| c == joins || has_blanks && c == ' ')
}

/// Whether a path leads where only the person can change anything.
fn is_own(path: &str, places: &Places) -> bool {
    let path = Path::new(path);
    path.is_absolute() && places.refuses(path).is_none()
}

fn loads_nothing(option: &str) -> bool {
    let is_plain = ["--", "-X", "-W"].iter().any(|start| option.starts_with(start)) && !option.contains(['/', '\\']);
    is_plain && !LOADING.iter().any(|loading| option.starts_with(loading))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn variables_by_table() {
        let dir = tempfile::Builder::new().prefix("code").tempdir_in("/var/tmp");
        let dir = dir.expect("a folder");
        let base = fs::canonicalize(dir.path()).expect("canonical");
        for name in ["ws", "own"] {
            fs::create_dir(base.join(name)).expect("mkdir");
        }
        std::os::unix::fs::symlink(base.join("ws"), base.join("link")).expect("a link");
        super::super::guard(&base.join("ws"));
        let at = |text: &str| {
            text.replace("WS", "BASE/ws")
                .replace("BASE", &base.display().to_string())
        };
        for (name, value, expected) in [
            ("PYTHONPATH", "WS", None),
            ("PYTHONPATH", "BASE/own", Some("BASE/own")),
            ("PYTHONPATH", "WS/lib:BASE/own:.:", Some("BASE/own")),
            ("PYTHONPATH", "BASE/link", None),
            ("PYTHONPATH", "BASE/own/../ws", None),
            ("NODE_PATH", "lib", None),
            ("LD_PRELOAD", "WS/x.so BASE/own/y.so", Some("BASE/own/y.so")),
            ("LD_PRELOAD", "x.so", None),
            ("LD_LIBRARY_PATH", "/usr/lib:WS", Some("/usr/lib")),
            ("BASH_ENV", "WS/.env", None),
            ("ENV", "$HOME/.shrc", None),
            ("ENV", "/etc/shrc", Some("/etc/shrc")),
            ("GIT_EXEC_PATH", "WS", None),
            ("GIT_SSH_COMMAND", "ssh -i BASE/own/key", Some("ssh -i BASE/own/key")),
            ("GIT_SSH_COMMAND", "WS/ssh -4", None),
            ("GIT_SSH_COMMAND", "./ssh", None),
            ("EDITOR", "vi", Some("vi")),
            ("LESSOPEN", "|WS/x %s", None),
            (
                "NODE_OPTIONS",
                "--max-old-space-size=4096",
                Some("--max-old-space-size=4096"),
            ),
            ("NODE_OPTIONS", "--require WS/x.js", None),
            ("NODE_OPTIONS", "--require=x", None),
            ("NODE_OPTIONS", "-r ./x", None),
            ("NODE_OPTIONS", "--import ts-node", None),
            ("PERL5OPT", "-Mlib=lib", None),
            ("RUBYOPT", "-W0", Some("-W0")),
            ("JAVA_TOOL_OPTIONS", "-Xmx1g", Some("-Xmx1g")),
            ("JAVA_TOOL_OPTIONS", "-javaagent:x.jar", None),
            // These load nothing.
            ("PWD", "WS", Some("WS")),
            ("VIRTUAL_ENV", "WS/.venv", Some("WS/.venv")),
            ("TMPDIR", "/tmp", Some("/tmp")),
            ("SSH_AUTH_SOCK", "/tmp/ssh-x/agent.1", Some("/tmp/ssh-x/agent.1")),
            // Whatever else leads there, by whatever name.
            ("XDG_CONFIG_HOME", "WS/cfg", None),
            ("XDG_CONFIG_HOME", "BASE/own", Some("BASE/own")),
            ("XDG_DATA_DIRS", "WS/share:/usr/share", Some("/usr/share")),
            ("KUBECONFIG", "BASE/link/config", None),
            ("CARGO_HOME", "BASE/own/../ws/.cargo", None),
            ("GOFLAGS", "-toolexec=WS/x", None),
            ("GOFLAGS", "-mod=mod", Some("-mod=mod")),
            ("RUSTFLAGS", "-C linker=WS/x", None),
            ("RUSTFLAGS", "-L/usr/lib", Some("-L/usr/lib")),
            ("CFLAGS", "-I/usr/include -IWS/x", None),
            ("MAKEFILES", "./x.mk", None),
            ("MAKEFILES", "x.mk", None),
            ("MAKEFILES", "BASE/own/a.mk", Some("BASE/own/a.mk")),
            ("MAKEFILES", "BASE/own/a.mk x.mk", None),
            ("CURL_HOME", ".", None),
            ("WGETRC", "wgetrc", None),
            ("DOCKER_CONFIG", ".docker", None),
            ("KUBECONFIG", "kube/config", None),
            ("KUBECONFIG", "kube/config:BASE/own/config", Some("BASE/own/config")),
            ("AWS_CONFIG_FILE", "aws/config", None),
            ("PIP_CONFIG_FILE", "pip.conf", None),
            ("HGRCPATH", "hgrc", None),
            ("HGRCPATH", "", Some("")),
            ("RIPGREP_CONFIG_PATH", "rgrc", None),
            ("ACKRC", ".ackrc", None),
            ("MY_TOOL_CONFIG", "tool.toml", None),
            ("MY_TOOL_CONFIG", "BASE/own/tool.toml", Some("BASE/own/tool.toml")),
            ("BUILD_CONFIG", "Release", Some("Release")),
            ("SRC", "lib/x", Some("lib/x")),
            ("ANYTHING", "file://WS/x", None),
            (
                "ANYTHING",
                "https://example.com/tmp/x?a=b/c",
                Some("https://example.com/tmp/x?a=b/c"),
            ),
            ("ANYTHING", "a/tmp/b", Some("a/tmp/b")),
            ("LANG", "C.UTF-8", Some("C.UTF-8")),
            // By their names.
            ("GIT_DIR", "x.git", None),
            ("GIT_CONFIG_PARAMETERS", "'core.fsmonitor=x'", None),
            ("GIT_AUTHOR_NAME", "Ada", Some("Ada")),
            ("GIT_TERMINAL_PROMPT", "0", Some("0")),
            ("GIT_PAGER", "cat", Some("cat")),
            ("BASH_FUNC_ls%%", "() { x; }", None),
            ("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER", "x", None),
            ("MY_WRAPPER", "x", None),
            ("RUSTC_WRAPPER", "sccache", Some("sccache")),
        ] {
            let mut env = BTreeMap::from([(name.to_owned(), at(value))]);
            let set = env.clone();
            drop_open_code_paths(&mut env, |_| false);
            assert_eq!(env.get(name).cloned(), expected.map(at), "{name}={value}");
            let mut env = set.clone();
            drop_open_code_paths(&mut env, |kept| kept == name);
            assert_eq!(env, set, "{name}={value}");
        }
    }

    /// Of the numbered settings of git's those stay that only narrow, and the person's own, in a row.
    #[test]
    fn numbered_settings_of_git() {
        let pairs = |pairs: &[(&str, &str)]| {
            let mut env = BTreeMap::from([("GIT_CONFIG_COUNT".to_owned(), pairs.len().to_string())]);
            for (number, (key, value)) in pairs.iter().enumerate() {
                env.insert(format!("GIT_CONFIG_KEY_{number}"), (*key).to_owned());
                env.insert(format!("GIT_CONFIG_VALUE_{number}"), (*value).to_owned());
            }
            env
        };
        let (bare, watch, own) = (
            ("safe.bareRepository", "explicit"),
            ("core.fsmonitor", "./x"),
            ("user.name", "Ada"),
        );
        for (given, kept, expected) in [
            (&[bare][..], &[][..], &[bare][..]),
            (&[watch, bare], &[], &[bare]),
            (
                &[own, watch, bare],
                &["GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0"],
                &[own, bare],
            ),
        ] {
            let mut env = pairs(given);
            drop_open_code_paths(&mut env, |name| kept.contains(&name));
            assert_eq!(env, pairs(expected), "{given:?}");
        }
        let mut env = pairs(&[watch]);
        drop_open_code_paths(&mut env, |_| false);
        assert!(env.is_empty(), "{env:?}");
    }

    #[test]
    fn what_a_command_sets() {
        let dir = tempfile::Builder::new().prefix("set").tempdir_in("/var/tmp");
        let dir = dir.expect("a folder");
        let base = fs::canonicalize(dir.path()).expect("canonical");
        for name in ["ws", "own"] {
            fs::create_dir(base.join(name)).expect("mkdir");
        }
        super::super::guard(&base.join("ws"));
        let at = |text: &str| text.replace("BASE", &base.display().to_string());
        let places = Places::of(&BTreeMap::new());
        for (name, value, is_open) in [
            ("PATH", ".:/usr/bin", true),
            ("PATH", ".:$PATH", true),
            ("PATH", ":$PATH", true),
            ("PATH", "BASE/ws/bin:$PATH", true),
            ("PATH", "$X:$PATH", true),
            ("PATH", "/usr/bin:$PATH", false),
            ("PATH", "BASE/own:${PATH}", false),
            ("LD_PRELOAD", "./x.so", true),
            ("LD_PRELOAD", "", false),
            ("PYTHONPATH", "src", true),
            ("HOME", ".", true),
            ("XDG_CONFIG_HOME", "cfg", true),
            ("GIT_SSH_COMMAND", "./ssh", true),
            ("GIT_SSH_COMMAND", "ssh -i BASE/own/key", false),
            ("GIT_DIR", "x", true),
            ("CARGO_TARGET_X_RUNNER", "sub/run", true),
            ("NODE_OPTIONS", "-r x", true),
            ("NODE_OPTIONS", "--max-old-space-size=4096", false),
            ("GIT_AUTHOR_NAME", "a/b", false),
            ("OUT", "./dist", false),
            ("RUST_LOG", "debug", false),
        ] {
            let found = leads_to_open(name, &at(value), &places);
            assert_eq!(found.is_some(), is_open, "{name}={value}: {found:?}");
        }
    }
}
