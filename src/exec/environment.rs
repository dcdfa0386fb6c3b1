//! The environment handed to a command: `[shell_environment_policy]` at work.

use crate::config::environment::{EnvironmentPolicy, Inherit};
use std::collections::BTreeMap;

/// The variables of the core set.
const CORE: [&str; 11] = [
    "PATH", "SHELL", "TMPDIR", "TEMP", "TMP", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "USER",
];

/// Names that look like secrets.
const SECRETS: [&str; 3] = ["*KEY*", "*SECRET*", "*TOKEN*"];

/// That output goes to a program and not to a terminal.
const TERMINAL: [(&str, &str); 5] = [
    ("NO_COLOR", "1"),
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GH_PAGER", "cat"),
];

/// That what is installed shares no file with a cache of the person's, by a second name (a hard link) through which a change of
/// the one is a change of the other; and that no code is kept in the folder for temporary files, where it is closed.
const APART: [(&str, &str); 2] = [("UV_LINK_MODE", "copy"), ("DISABLE_V8_COMPILE_CACHE", "1")];

/// That there is no network.
const CUT: [(&str, &str); 2] = [
    ("COUNTERSIGN_SANDBOX_NETWORK_DISABLED", "1"),
    ("CODEX_SANDBOX_NETWORK_DISABLED", "1"),
];

/// That what is fetched is not tried again: npm does so for minutes, and no second try finds a network.
const NO_RETRIES: [(&str, &str); 5] = [
    ("npm_config_fetch_retries", "0"),
    ("PIP_RETRIES", "0"),
    ("CARGO_NET_RETRY", "0"),
    ("BUNDLE_RETRY", "0"),
    ("UV_HTTP_RETRIES", "0"),
];

/// For a command that reaches no host at all: what the person sets themselves stays.
pub fn without_retries(variables: &mut BTreeMap<String, String>, policy: &EnvironmentPolicy) {
    if policy.inherit == Inherit::None || !policy.include_only.is_empty() {
        return;
    }
    for (name, value) in NO_RETRIES {
        variables.entry(name.to_owned()).or_insert_with(|| value.to_owned());
    }
}

/// The variables for a command, made from the server's own (`inherited`). The steps and their order are those of the
/// reference system; names in `never` (the providers' keys) are dropped whatever the policy says. Markers come
/// last, unless the policy sets them itself: that output goes to a program and not to a terminal, unless the policy wants
/// nothing but what it names, and, when `network` is false, that there is no network; then the thread's id, which is empty for a command beside all threads.
pub fn environment(
    policy: &EnvironmentPolicy,
    inherited: impl IntoIterator<Item = (String, String)>,
    never: &[&str],
    thread_id: &str,
    network: bool,
) -> BTreeMap<String, String> {
    let mut variables: BTreeMap<String, String> = match policy.inherit {
        Inherit::None => BTreeMap::new(),
        Inherit::All => inherited.into_iter().collect(),
        Inherit::Core => inherited
            .into_iter()
            .filter(|(name, _)| CORE.contains(&name.as_str()))
            .collect(),
    };
    if !policy.ignore_default_excludes {
        variables.retain(|name, _| !looks_secret(name));
    }
    variables.retain(|name, _| !policy.exclude.iter().any(|pattern| matches(pattern, name)));
    variables.extend(policy.set.clone());
    if !policy.include_only.is_empty() {
        variables.retain(|name, _| policy.include_only.iter().any(|pattern| matches(pattern, name)));
    }
    variables.retain(|name, _| !never.contains(&name.as_str()) && is_name(name));
    variables.retain(|_, value| !value.contains('\0'));
    let only_named = policy.inherit == Inherit::None || !policy.include_only.is_empty();
    let terminal = TERMINAL.iter().filter(|_| !only_named);
    for (name, value) in terminal.chain(CUT.iter().filter(|_| !network)) {
        if !policy.set.contains_key(*name) {
            variables.insert((*name).to_owned(), (*value).to_owned());
        }
    }
    if !only_named {
        trust_no_bare_repository(&mut variables);
        for (name, value) in APART {
            variables
                .entry((*name).to_owned())
                .or_insert_with(|| (*value).to_owned());
        }
    }
    if !thread_id.is_empty() {
        variables.insert("COUNTERSIGN_THREAD_ID".to_owned(), thread_id.to_owned());
    }
    variables
}

/// Tells git to take no folder of ordinary files for a repository: a command could have written it, settings and all.
fn trust_no_bare_repository(variables: &mut BTreeMap<String, String>) {
    let count = variables
        .get("GIT_CONFIG_COUNT")
        .and_then(|count| count.parse().ok())
        .unwrap_or(0);
    // Names with "KEY" are taken out by default; without its names git reads none of the settings.
    let is_whole = |number: usize| {
        let holds = |what: &str| variables.contains_key(&format!("GIT_CONFIG_{what}_{number}"));
        holds("KEY") && holds("VALUE")
    };
    let at = if (0..count).all(is_whole) { count } else { 0 };
    variables.insert("GIT_CONFIG_COUNT".to_owned(), (at + 1).to_string());
    variables.insert(format!("GIT_CONFIG_KEY_{at}"), "safe.bareRepository".to_owned());
    variables.insert(format!("GIT_CONFIG_VALUE_{at}"), "explicit".to_owned());
}

/// The variables for a program of the person's own that is talked to: the core set, those that are `asked` for by name and
/// are set, and what is `set` for it. Of the server's own the names in `never` (the providers' keys) are left out whatever
/// is asked.
pub fn for_companion(
    inherited: &BTreeMap<String, String>,
    asked: &[String],
    set: &BTreeMap<String, String>,
    never: &[&str],
) -> BTreeMap<String, String> {
    let is_wanted = |name: &str| CORE.contains(&name) || asked.iter().any(|asked| asked == name);
    let own = inherited
        .iter()
        .filter(|(name, _)| is_wanted(name) && !never.contains(&name.as_str()));
    let mut variables: BTreeMap<String, String> = own.map(|(name, value)| (name.clone(), value.clone())).collect();
    variables.extend(set.iter().map(|(name, value)| (name.clone(), value.clone())));
    variables.retain(|name, value| is_name(name) && !value.contains('\0'));
    variables
}

/// What a command that is kept in a terminal finds beside that: a kind of terminal if it has one, and a language in
/// which every character can be shown, where the person has set none. What the policy sets itself stays.
pub fn for_terminal(variables: &mut BTreeMap<String, String>, policy: &EnvironmentPolicy, tty: bool) {
    if tty && !policy.set.contains_key("TERM") {
        variables.insert("TERM".to_owned(), "xterm-256color".to_owned());
    }
    // Each would overrule what is set by the ones after it.
    if !["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .any(|name| variables.contains_key(*name))
    {
        for name in ["LANG", "LC_ALL"] {
            variables.insert(name.to_owned(), "C.UTF-8".to_owned());
        }
    }
}

/// Whether a variable of this name is likely to hold a secret.
pub fn looks_secret(name: &str) -> bool {
    SECRETS.iter().any(|pattern| matches(pattern, name))
}

/// A name that a process can be given.
fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}

/// Whether `name` fits `pattern`, in which `*` stands for any text and `?` for one character, whatever the case.
fn matches(pattern: &str, name: &str) -> bool {
    let fold = |text: &str| text.chars().flat_map(char::to_lowercase).collect::<Vec<_>>();
    let (pattern, name) = (fold(pattern), fold(name));
    let (mut p, mut n) = (0, 0);
    // Where to go on when a star has to swallow one character more.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p + 1, n));
                p += 1;
            }
            Some(c) if *c == '?' || *c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some((after, swallowed)) = star else { return false };
                star = Some((after, swallowed + 1));
                p = after;
                n = swallowed + 1;
            }
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inherited() -> Vec<(String, String)> {
        [
            ("PATH", "/bin"),
            ("HOME", "/home/ada"),
            ("USER", "ada"),
            ("EDITOR", "hx"),
            ("OPENAI_API_KEY", "sk-1"),
            ("my_secret", "s"),
            ("GitHub_Token", "t"),
            ("AWS_REGION", "eu"),
            ("AWS_PROFILE", "p"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec()
    }

    #[test]
    fn a_companion_gets_little_and_never_a_key() {
        let inherited: BTreeMap<String, String> = inherited().into_iter().collect();
        let asked = ["AWS_PROFILE", "OPENAI_API_KEY", "NOT_SET"].map(str::to_owned);
        let set = BTreeMap::from([
            ("TOKEN".to_owned(), "mine".to_owned()),
            ("A=B".to_owned(), String::new()),
        ]);
        let variables = for_companion(&inherited, &asked, &set, &["OPENAI_API_KEY"]);
        let names: Vec<&str> = variables.keys().map(String::as_str).collect();
        assert_eq!(names, ["AWS_PROFILE", "HOME", "PATH", "TOKEN", "USER"]);
    }

    #[test]
    fn git_takes_ordinary_files_for_no_repository() {
        for (inherited, expected) in [
            (&[][..], "0"),
            (&[("GIT_CONFIG_COUNT", "0")], "0"),
            (
                &[
                    ("GIT_CONFIG_COUNT", "1"),
                    ("GIT_CONFIG_KEY_0", "user.name"),
                    ("GIT_CONFIG_VALUE_0", "Ada"),
                ],
                "1",
            ),
            // Half of it is nothing to git.
            (&[("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_VALUE_0", "Ada")], "0"),
            (&[("GIT_CONFIG_COUNT", "x")], "0"),
        ] {
            let mut variables: BTreeMap<String, String> = inherited
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            trust_no_bare_repository(&mut variables);
            assert_eq!(
                variables[&format!("GIT_CONFIG_KEY_{expected}")],
                "safe.bareRepository",
                "{inherited:?}"
            );
            assert_eq!(
                variables[&format!("GIT_CONFIG_VALUE_{expected}")],
                "explicit",
                "{inherited:?}"
            );
            let count: usize = variables["GIT_CONFIG_COUNT"].parse().expect("a number");
            assert_eq!(
                count.to_string(),
                (expected.parse::<usize>().expect("a number") + 1).to_string()
            );
        }
    }

    /// The names that are left, markers aside.
    fn names(policy: &EnvironmentPolicy) -> Vec<String> {
        let marker = |name: &str| {
            TERMINAL.iter().chain(&APART).any(|(marker, _)| *marker == name)
                || name == "COUNTERSIGN_THREAD_ID"
                || name.starts_with("GIT_CONFIG_")
        };
        environment(policy, inherited(), &["OPENAI_API_KEY"], "t", true)
            .into_keys()
            .filter(|name| !marker(name))
            .collect()
    }

    fn list(items: &[&str]) -> Vec<String> {
        items.iter().map(|item| (*item).to_owned()).collect()
    }

    /// Shows S-174, S-175, S-176.
    #[test]
    fn policies_by_table() {
        let all = EnvironmentPolicy {
            inherit: Inherit::All,
            ..Default::default()
        };
        let set = BTreeMap::from([
            ("PATH".to_owned(), "/mine".to_owned()),
            ("A_TOKEN".to_owned(), "given".to_owned()),
        ]);
        for (label, policy, expected) in [
            (
                "core is the default",
                EnvironmentPolicy::default(),
                list(&["HOME", "PATH", "USER"]),
            ),
            (
                "all",
                all.clone(),
                list(&["AWS_PROFILE", "AWS_REGION", "EDITOR", "HOME", "PATH", "USER"]),
            ),
            (
                "none",
                EnvironmentPolicy {
                    inherit: Inherit::None,
                    ..Default::default()
                },
                vec![],
            ),
            (
                "secrets kept, the provider's key never",
                EnvironmentPolicy {
                    ignore_default_excludes: true,
                    ..all.clone()
                },
                list(&[
                    "AWS_PROFILE",
                    "AWS_REGION",
                    "EDITOR",
                    "GitHub_Token",
                    "HOME",
                    "PATH",
                    "USER",
                    "my_secret",
                ]),
            ),
            (
                "exclude, whatever the case",
                EnvironmentPolicy {
                    exclude: list(&["aws_*", "edit?r"]),
                    ..all.clone()
                },
                list(&["HOME", "PATH", "USER"]),
            ),
            (
                "set wins and comes after the excludes",
                EnvironmentPolicy {
                    set: set.clone(),
                    inherit: Inherit::None,
                    exclude: list(&["PATH"]),
                    ..Default::default()
                },
                list(&["A_TOKEN", "PATH"]),
            ),
            (
                "include_only is the last step",
                EnvironmentPolicy {
                    include_only: list(&["p*", "aws_r*"]),
                    set,
                    ..all
                },
                list(&["AWS_REGION", "PATH"]),
            ),
        ] {
            assert_eq!(names(&policy), expected, "{label}");
        }
    }

    #[test]
    fn terminals_by_table() {
        let set = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect()
        };
        for (inherited, given, tty, expected) in [
            (
                set(&[]),
                set(&[]),
                true,
                set(&[("LANG", "C.UTF-8"), ("LC_ALL", "C.UTF-8"), ("TERM", "xterm-256color")]),
            ),
            (
                set(&[]),
                set(&[]),
                false,
                set(&[("LANG", "C.UTF-8"), ("LC_ALL", "C.UTF-8"), ("TERM", "dumb")]),
            ),
            (
                set(&[("LANG", "de_DE.UTF-8")]),
                set(&[]),
                false,
                set(&[("LANG", "de_DE.UTF-8"), ("TERM", "dumb")]),
            ),
            (
                set(&[]),
                set(&[("LC_ALL", "C"), ("TERM", "vt100"), ("PAGER", "more")]),
                true,
                set(&[("LC_ALL", "C"), ("TERM", "vt100")]),
            ),
        ] {
            let policy = EnvironmentPolicy {
                set: given.clone(),
                ..EnvironmentPolicy::default()
            };
            let mut variables = environment(&policy, inherited, &[], "t", true);
            for_terminal(&mut variables, &policy, tty);
            let pager = given.get("PAGER").map_or("cat", String::as_str);
            assert_eq!(
                (variables["PAGER"].as_str(), variables["NO_COLOR"].as_str()),
                (pager, "1")
            );
            variables.retain(|name, _| ["LANG", "LC_ALL", "TERM"].contains(&name.as_str()));
            assert_eq!(variables, expected);
        }
    }

    #[test]
    fn patterns() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("*KEY*", "MONKEYS", true),
            ("key", "KEY", true),
            ("k?y", "ky", false),
            ("A*B*C", "axxbyyc", true),
            ("A*B*C", "axxbyy", false),
            ("", "x", false),
            ("[a]", "a", false),
            ("Ä*", "äh", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} on {name}");
        }
    }

    #[test]
    fn what_has_no_network_does_not_try_again() {
        let mut variables = BTreeMap::from([("PIP_RETRIES".to_owned(), "7".to_owned())]);
        without_retries(&mut variables, &EnvironmentPolicy::default());
        assert_eq!(variables["npm_config_fetch_retries"], "0");
        assert_eq!(variables["PIP_RETRIES"], "7", "what is set stays");
        let none = EnvironmentPolicy {
            inherit: Inherit::None,
            ..Default::default()
        };
        let mut variables = BTreeMap::new();
        without_retries(&mut variables, &none);
        assert!(variables.is_empty());
    }

    #[test]
    fn markers_say_that_the_network_is_cut() {
        let variables = environment(&EnvironmentPolicy::default(), [], &[], "thread", false);
        assert_eq!(variables["CODEX_SANDBOX_NETWORK_DISABLED"], "1");
        assert_eq!(variables["COUNTERSIGN_SANDBOX_NETWORK_DISABLED"], "1");
        assert_eq!(variables["COUNTERSIGN_THREAD_ID"], "thread");
        assert_eq!(
            (variables["TERM"].as_str(), variables["NO_COLOR"].as_str()),
            ("dumb", "1")
        );
        let none = EnvironmentPolicy {
            inherit: Inherit::None,
            ..Default::default()
        };
        let names: Vec<String> = environment(&none, inherited(), &[], "", true).into_keys().collect();
        assert!(names.is_empty(), "{names:?}");
        let variables = environment(&EnvironmentPolicy::default(), [], &[], "thread", true);
        assert!(!variables.contains_key("CODEX_SANDBOX_NETWORK_DISABLED"));
    }
}
