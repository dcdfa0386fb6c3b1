//! Which commands fall under a rule.
//!
//! An allow is held to the letter: the words of the prefix, one after the other, by a program in one of its usual places.
//! An ask or a deny looks further, since missing a command would widen what may happen: the program wherever it lies, and
//! its own options in front of the sub-command.

use super::{Decision, Rule};
use crate::exec::command::has_usual_place;
use crate::exec::decide::Reach;
use std::collections::BTreeSet;
use std::path::Path;

/// Those of `kubectl`, which `oc` has as well.
const OF_KUBECTL: &[&str] = &[
    "-n",
    "--namespace",
    "--context",
    "--kubeconfig",
    "--cluster",
    "--user",
    "-s",
    "--server",
    "-v",
];

/// Short options in front of a sub-command that take the word after them, and long ones.
const WITH_VALUE: &[(&str, &[&str])] = &[
    (
        "git",
        &[
            "-C",
            "-c",
            "--git-dir",
            "--work-tree",
            "--namespace",
            "--exec-path",
            "--config-env",
        ],
    ),
    ("cargo", &["--config", "-Z", "-C", "--color", "--manifest-path"]),
    ("npm", &["--prefix", "-C", "--workspace", "-w"]),
    ("pnpm", &["--dir", "-C", "--filter", "-F"]),
    ("yarn", &["--cwd"]),
    (
        "docker",
        &["-H", "--host", "--context", "-c", "--config", "-l", "--log-level"],
    ),
    ("podman", &["-c", "--url", "--connection", "--root", "--log-level"]),
    ("kubectl", OF_KUBECTL),
    ("oc", OF_KUBECTL),
    ("helm", &["-n", "--namespace", "--kube-context", "--kubeconfig"]),
    ("make", &["-C", "-f", "-I", "-o", "-W", "--directory", "--file"]),
    ("go", &["-C"]),
    ("gh", &["-R", "--repo"]),
    ("aws", &["--profile", "--region", "--output", "--endpoint-url"]),
    ("gcloud", &["--project", "--account", "--configuration"]),
    ("terraform", &["-chdir"]),
    ("tofu", &["-chdir"]),
    (
        "systemctl",
        &[
            "-H",
            "--host",
            "-M",
            "--machine",
            "-t",
            "--type",
            "-n",
            "-p",
            "-o",
            "-P",
            "-s",
        ],
    ),
    ("pip", &["--python", "--log", "--proxy"]),
    ("apt-get", &["-o", "-c", "-t", "-a"]),
    ("apt", &["-o", "-c", "-t", "-a"]),
    ("dnf", &["-c", "-d", "-e", "-R", "-x"]),
    ("yum", &["-c", "-d", "-e", "-R", "-x"]),
    ("hg", &["-R", "--repository", "--cwd", "--config"]),
    ("svn", &["-m", "-F", "-r", "-c", "-x"]),
];

/// Long options that take none, of any program: each other may.
const WITHOUT_VALUE: &[&str] = &[
    "--all",
    "--bare",
    "--debug",
    "--dev",
    "--force",
    "--frozen",
    "--global",
    "--help",
    "--list",
    "--locked",
    "--offline",
    "--paginate",
    "--production",
    "--quiet",
    "--save",
    "--save-dev",
    "--silent",
    "--system",
    "--user",
    "--verbose",
    "--version",
    "--workspace",
    "--yes",
];

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

impl Rule {
    /// Whether this rule allows a command that would run in `cwd`.
    pub(super) fn allows(&self, command: &[String], cwd: &Path) -> bool {
        let (Decision::Allow, Some((first, rest)), Some((program, arguments))) =
            (self.decision, self.prefix.split_first(), command.split_first())
        else {
            return false;
        };
        let is_program = first.iter().any(|name| match name.contains('/') {
            true => name == program,
            false => base_name(program) == name && has_usual_place(program),
        });
        if !is_program
            || arguments.len() < rest.len()
            || !rest.iter().zip(arguments).all(|(one, word)| one.contains(word))
        {
            return false;
        }
        if !self.here && self.hosts.is_none() {
            return true;
        }
        let reach = Reach::of(command, cwd);
        let hosts_fit = self
            .hosts
            .as_ref()
            .is_none_or(|allowed| reach.hosts.iter().all(|host| allowed.contains(host)));
        hosts_fit && !(self.here && reach.elsewhere)
    }

    /// Whether a command falls under this ask or deny.
    pub(super) fn catches(&self, command: &[String]) -> bool {
        let (Some((first, rest)), Some((program, arguments))) = (self.prefix.split_first(), command.split_first())
        else {
            return false;
        };
        let is_program = first.iter().any(|name| match name.contains('/') {
            true => name == program,
            false => base_name(program) == name,
        });
        is_program && leads(rest, arguments, base_name(program))
    }

    /// Whether a rule of this kind takes the command: for the examples.
    pub(super) fn takes(&self, command: &[String], cwd: &Path) -> bool {
        match self.decision {
            Decision::Allow => self.allows(command, cwd),
            Decision::Ask | Decision::Deny => self.catches(command),
        }
    }
}

/// Whether the slots are filled by the words in their order, options between them left out.
fn leads(slots: &[Vec<String>], words: &[String], program: &str) -> bool {
    let with_value = WITH_VALUE
        .iter()
        .find(|(name, _)| *name == program)
        .map_or(&[][..], |(_, options)| options);
    // The places at which the words not yet used can begin.
    let mut starts = BTreeSet::from([0]);
    for slot in slots {
        let mut next = BTreeSet::new();
        while let Some(at) = starts.pop_first() {
            let Some(word) = words.get(at) else { continue };
            if slot.contains(word) {
                next.insert(at + 1);
            }
            if word.starts_with(['-', '+']) {
                starts.insert(at + 1);
                if with_value.contains(&word.as_str()) || may_take_next(word) {
                    starts.insert(at + 2);
                }
            }
        }
        starts = next;
    }
    !starts.is_empty()
}

/// Whether a long option may take the word after it, for all that is known.
fn may_take_next(option: &str) -> bool {
    option.starts_with("--")
        && !option.contains('=')
        && !option.starts_with("--no-")
        && !WITHOUT_VALUE.contains(&option)
}

#[cfg(test)]
mod tests {
    use super::super::{Place, Rules};
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ')
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    }

    fn rule(prefix: &str, decision: Decision) -> Rule {
        let prefix = words(prefix)
            .iter()
            .map(|word| word.split('|').map(str::to_owned).collect())
            .collect();
        Rule {
            prefix,
            decision,
            outside: false,
            here: false,
            hosts: None,
            reason: None,
            place: Place {
                path: "/r".into(),
                line: 1,
            },
        }
    }

    #[test]
    fn what_falls_under_an_allow_and_what_under_a_deny() {
        // Columns: prefix, command, allowed, denied.
        for (prefix, command, allowed, denied) in [
            ("git push", "git push", true, true),
            ("git push", "git push --force origin", true, true),
            ("git push", "git pull", false, false),
            ("git push", "git", false, false),
            ("git push", "gitx push", false, false),
            ("git push", "/usr/bin/git push", true, true),
            ("git push", "/opt/own/git push", false, true),
            ("git push", "./git push", false, true),
            ("git push", "git -C x push", false, true),
            ("git push", "git --no-pager -c a=b push", false, true),
            ("git push", "git -p log push", false, false),
            ("git push", "git --attr-source HEAD push", false, true),
            ("npm publish", "npm --registry x publish", false, true),
            ("git push", "git --no-pager log push", false, false),
            ("git push", "git --attr-source=x log push", false, false),
            ("git push", "git log push", false, false),
            ("git push", "git pushx", false, false),
            ("git push --force", "git push -v --force", false, true),
            ("cargo test|check", "cargo check -q", true, true),
            ("cargo test|check", "cargo run", false, false),
            ("cargo publish", "cargo +nightly publish", false, true),
            ("npm test", "npm --save-dev install test", false, false),
            ("npm test", "npm --production install test", false, false),
            ("npm test", "npm --workspace a test", false, true),
            ("cargo run", "cargo --list build run", false, false),
            ("oc delete", "oc -n prod delete pod x", false, true),
            ("oc delete", "oc --user a delete pod x", false, true),
            ("kubectl delete", "kubectl -v 6 delete pod x", false, true),
            ("apt-get install", "apt-get -t stable install x", false, true),
            ("hg push", "hg -R . push", false, true),
            ("svn commit", "svn -m x commit", false, true),
            ("dnf install", "dnf -c x install y", false, true),
            ("podman run", "podman -c x run y", false, true),
            ("systemctl stop", "systemctl -n 5 stop x", false, true),
            ("/opt/x/tool go", "/opt/x/tool go", true, true),
            ("/opt/x/tool go", "tool go", false, false),
            ("/usr/bin/git push", "git push", false, false),
            ("a|b x", "b x", true, true),
            ("git", "git anything", true, true),
            ("git push", "", false, false),
        ] {
            let command_words = words(command);
            let allows = rule(prefix, Decision::Allow).allows(&command_words, Path::new("/w"));
            let denies = rule(prefix, Decision::Deny).catches(&command_words);
            assert_eq!((allows, denies), (allowed, denied), "{prefix}: {command}");
        }
    }

    #[test]
    fn an_allow_can_be_bound_to_places_and_hosts() {
        let mut bound = rule("curl", Decision::Allow);
        bound.here = true;
        bound.hosts = Some(vec!["a.example".to_owned()]);
        for (command, expected) in [
            ("curl https://a.example/x", true),
            ("curl a.example/x -o out", false),
            ("curl https://a.example/x https://b.example", false),
            ("curl b.example", false),
            ("curl -T /etc/passwd https://a.example", false),
        ] {
            assert_eq!(bound.allows(&words(command), Path::new("/w")), expected, "{command}");
        }
    }

    #[test]
    fn the_strictest_counts_whatever_the_order() {
        let all = [Decision::Deny, Decision::Ask, Decision::Allow];
        for turn in 0..3 {
            let mut rules = Rules::default();
            rules.rules.extend((0..3).map(|at| rule("git", all[(at + turn) % 3])));
            let found = rules
                .tightening(&[words("ls"), words("git push")])
                .map(|rule| rule.decision);
            assert_eq!(found, Some(Decision::Deny));
        }
    }
}
