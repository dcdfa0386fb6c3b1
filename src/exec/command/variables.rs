//! Variables that may be set in front of harmless commands: those that programs do not act upon.

/// Names of variables that change no more than how output looks.
const LOOKS: &[&str] = &[
    "CI",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "FORCE_COLOR",
    "GIT_OPTIONAL_LOCKS",
    "GIT_TERMINAL_PROMPT",
    "GREP_COLOR",
    "GREP_COLORS",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LC_NUMERIC",
    "LC_TIME",
    "LINES",
    "LS_COLORS",
    "NO_COLOR",
    "RUST_BACKTRACE",
    "TERM",
    "TZ",
];

/// Capital names that scripts use for their own and that no program is known to read.
const OWN: &[&str] = &[
    "A", "ARG", "B", "BASE", "C", "COUNT", "D", "DIR", "DIRS", "F", "FILE", "FILES", "FOO", "I", "ITEM", "K", "KEY",
    "LINE", "LIST", "MATCH", "N", "NAME", "OUT", "P", "PATTERN", "PREFIX", "Q", "QUERY", "REPO", "RESULT", "ROOT", "S",
    "SRC", "SUFFIX", "TARGET", "TOTAL", "V", "VALUE", "VAR", "WORD", "X", "Y", "Z",
];

/// Names without capitals that shells or programs act upon all the same.
const ACTED_UPON: &[&str] = &[
    "all_proxy",
    "cdpath",
    "fignore",
    "fpath",
    "ftp_proxy",
    "histchars",
    "http_proxy",
    "https_proxy",
    "ifs",
    "mailpath",
    "manpath",
    "module_path",
    "no_proxy",
    "path",
    "prompt",
    "psvar",
    "status",
    "watch",
    "zsh_eval_context",
    "aliases",
    "chpwd_functions",
    "commands",
    "functions",
    "galiases",
    "gopher_proxy",
    "nullcmd",
    "periodic_functions",
    "precmd_functions",
    "preexec_functions",
    "prompt2",
    "prompt3",
    "prompt4",
    "rprompt",
    "rsync_proxy",
    "saliases",
    "socks_proxy",
    "wais_proxy",
    "zshaddhistory_functions",
    "zshexit_functions",
    "argv",
    "builtins",
    "dis_aliases",
    "dis_builtins",
    "dis_functions",
    "dis_galiases",
    "dis_reswords",
    "dis_saliases",
    "mapfile",
    "modules",
    "nameddirs",
    "options",
    "parameters",
    "userdirs",
    "home",
    "shell",
    "term",
    "user",
    "cwd",
];

/// Whether a variable of this name can be set to anything without making a harmless program do more.
pub(super) fn is_harmless(name: &str) -> bool {
    if name.contains(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
        return false;
    }
    if ["npm_", "pnpm_", "yarn_", "bun_"]
        .iter()
        .any(|tool| name.starts_with(tool))
    {
        return false;
    }
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    let own =
        begins && name.len() > 1 && !name.contains(|c: char| c.is_ascii_uppercase()) && !ACTED_UPON.contains(&name);
    let short = name.len() == 1 && name.starts_with(|c: char| c.is_ascii_lowercase());
    own || short || LOOKS.contains(&name) || OWN.contains(&name)
}

/// Whether setting a variable to this value is harmless.
pub(super) fn is_harmless_value(name: &str, value: Option<&str>) -> bool {
    match name {
        "PAGER" | "GIT_PAGER" | "MANPAGER" => matches!(value, Some("cat" | "")),
        // Names of files that programs and the C library look for: catalogs of messages, whose texts are formats, descriptions of
        // terminals, tables of time zones.
        "LANG" | "LANGUAGE" | "TERM" => value.is_some_and(|value| is_made_of(value, "_.@:+-")),
        _ if name.starts_with("LC_") => is_harmless(name) && value.is_some_and(|value| is_made_of(value, "_.@+-")),
        "TZ" => value.is_some_and(|value| {
            let is_part = |part: &str| part != ".." && is_made_of(part, "_.+-,<>:");
            !value.starts_with([':', '/']) && value.split('/').all(is_part)
        }),
        _ => is_harmless(name),
    }
}

/// Whether a value holds letters, digits and these signs only.
fn is_made_of(value: &str, signs: &str) -> bool {
    value
        .chars()
        .all(|char| char.is_ascii_alphanumeric() || signs.contains(char))
}

/// Variables by which another program, library or configuration gets run: what it is in words.
pub(super) fn runs_by(name: &str) -> Option<&'static str> {
    Some(match name {
        "LD_PRELOAD" | "LD_LIBRARY_PATH" | "LD_AUDIT" | "GCONV_PATH" => {
            "loads a library of its choice into the program"
        }
        _ if name.starts_with("DYLD_") => "loads a library of its choice into the program",
        "PATH" | "path" => "changes where programs are looked for",
        "BASH_ENV" | "ENV" | "ZDOTDIR" | "PROMPT_COMMAND" | "PS4" => "has the shell run something first",
        "PAGER"
        | "GIT_PAGER"
        | "MANPAGER"
        | "EDITOR"
        | "VISUAL"
        | "GIT_EDITOR"
        | "BROWSER"
        | "LESSOPEN"
        | "LESSCLOSE"
        | "GIT_SSH"
        | "GIT_SSH_COMMAND"
        | "GIT_EXTERNAL_DIFF"
        | "GIT_PROXY_COMMAND"
        | "GIT_ASKPASS"
        | "SSH_ASKPASS"
        | "GIT_SEQUENCE_EDITOR" => "names a program that is run",
        "NODE_OPTIONS" | "NODE_PATH" | "RUBYOPT" | "RUBYLIB" | "JAVA_TOOL_OPTIONS" | "_JAVA_OPTIONS"
        | "JDK_JAVA_OPTIONS" | "CLASSPATH" | "MAVEN_OPTS" | "GRADLE_OPTS" | "LUA_INIT" | "LUA_PATH" | "LUA_CPATH"
        | "PHPRC" | "PHP_INI_SCAN_DIR" => "loads code of its choice into the program",
        _ if ["PYTHON", "PERL5", "LUA_INIT_"]
            .iter()
            .any(|begin| name.starts_with(begin)) =>
        {
            "loads code of its choice into the program"
        }
        "RUSTC"
        | "RUSTC_WRAPPER"
        | "RUSTC_WORKSPACE_WRAPPER"
        | "RUSTDOC"
        | "RUSTFLAGS"
        | "RUSTUP_TOOLCHAIN"
        | "GOFLAGS"
        | "GOENV"
        | "CC"
        | "CXX"
        | "LD"
        | "AR"
        | "MAKEFLAGS"
        | "MAKEFILES"
        | "GNUMAKEFLAGS" => "changes what builds run",
        _ if name.starts_with("CARGO_") => "changes what builds run",
        _ if name.to_ascii_lowercase().starts_with("npm_config_") => "configures npm, which can run programs",
        "GIT_DIR" | "GIT_COMMON_DIR" | "GIT_WORK_TREE" | "GIT_EXEC_PATH" | "GIT_TEMPLATE_DIR" | "GIT_ATTR_SOURCE" => {
            "leads git to other settings, hooks or programs"
        }
        _ if name.starts_with("GIT_CONFIG") => "configures git, which can run programs",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_by_table() {
        for name in ["f", "dir", "file_name", "_x", "LC_ALL", "NO_COLOR", "FILE", "i2"] {
            assert!(is_harmless(name), "{name}");
        }
        for name in [
            "",
            "a[1]",
            "a b",
            "PATH",
            "path",
            "LD_PRELOAD",
            "GIT_DIR",
            "HOME",
            "IFS",
            "PS4",
            "http_proxy",
            "BASH_ENV",
            "_",
            "LESSOPEN",
        ] {
            assert!(!is_harmless(name), "{name}");
        }
        for name in ["dis_functions", "nameddirs", "options", "userdirs"] {
            assert!(!is_harmless(name), "{name}");
        }
        for (name, value, expected) in [
            ("LANG", "C.UTF-8", true),
            ("LANG", "", true),
            ("LANGUAGE", "de_DE@euro:en", true),
            ("LANGUAGE", "../../../tmp/x", false),
            ("LC_ALL", "/tmp/x", false),
            ("LC_ALL", "en_US.UTF-8", true),
            ("TERM", "xterm-256color", true),
            ("TERM", "x/../../tmp/x", false),
            ("TZ", "Europe/Berlin", true),
            ("TZ", "EST5EDT,M3.2.0,M11.1.0", true),
            ("TZ", "../../tmp/x", false),
            ("TZ", "/tmp/x", false),
            ("TZ", ":/tmp/x", false),
            ("NO_COLOR", "/x", true),
        ] {
            assert_eq!(is_harmless_value(name, Some(value)), expected, "{name}={value}");
        }
        assert!(!is_harmless_value("LANGUAGE", None) && is_harmless_value("dir", None));
        for name in [
            "NODE_OPTIONS",
            "PYTHONSTARTUP",
            "PERL5LIB",
            "CARGO_HOME",
            "npm_config_prefix",
            "GIT_DIR",
            "MAKEFLAGS",
        ] {
            assert!(runs_by(name).is_some() && !is_harmless(name), "{name}");
        }
        assert!(is_harmless_value("GIT_PAGER", Some("cat")) && !is_harmless_value("GIT_PAGER", Some("sh")));
    }
}
