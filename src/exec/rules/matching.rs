//! Which commands fall under a rule.
//!
//! An allow is held to the letter: the words of the prefix, one after the other, by a program in one of its usual places; a
//! program of version control in the repository of the conversation's folder.
//! An ask or a deny looks further, since missing a command would widen what may happen: the program wherever it lies, and
//! its own options in front of the sub-command.

use super::{Decision, Rule};
use crate::exec::command::has_usual_place;
use crate::exec::confinement::resolve;
use crate::exec::decide::{Folders, Reach, Repository, Scene, Shape, acts_on_one, around, writes_unsaid};
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
    /// Whether this rule allows a command that would run in one of these folders.
    pub(super) fn allows(&self, command: &[String], folders: &Folders) -> bool {
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
        if !self.holds_in(folders) || acts_on_one(program) && !self.holds_in_the_repository(command, folders) {
            return false;
        }
        if let Some(options) = &self.options
            && !Shape::of(command, folders).is_some_and(|shape| shape.options.iter().all(|one| options.contains(one)))
        {
            return false;
        }
        if !self.here && self.hosts.is_none() {
            return true;
        }
        let reach = Reach::of(command, folders);
        let hosts_fit = self
            .hosts
            .as_ref()
            .is_none_or(|allowed| reach.hosts.iter().all(|host| allowed.contains(host)));
        let leads_on = reach.elsewhere
            || reach.acts_later
            || reach.closed
            || folders.has_pattern()
            || self.here && writes_unsaid(command);
        hosts_fit && !(self.here && leads_on)
    }

    fn holds_in(&self, folders: &Folders) -> bool {
        self.folder
            .as_ref()
            .is_none_or(|folder| folders.real_base().starts_with(resolve(folder)))
    }

    /// Whether the command acts on the repository of the conversation's folder, and of the one that the rule is for.
    fn holds_in_the_repository(&self, command: &[String], folders: &Folders) -> bool {
        let own = around(self.folder.as_deref().unwrap_or(folders.base()));
        own != Repository::Unsure && own == around(folders.base()) && own == folders.repository(command)
    }

    /// Whether a command falls under this ask or deny, for all that can be told before it runs.
    pub(super) fn catches(&self, command: &[String]) -> bool {
        let (Some((first, rest)), Some((program, arguments))) = (self.prefix.split_first(), command.split_first())
        else {
            return false;
        };
        // zsh puts the path of a program in the place of `=program`.
        let program = program.trim_start_matches('=');
        let is_program = first.iter().any(|name| match name.contains('/') {
            true => may_be(program, name),
            false => may_be(name_of(program), name),
        });
        is_program && leads(rest, arguments, base_name(program))
    }

    /// Whether a rule of this kind takes the command: for the examples.
    pub(super) fn takes(&self, command: &[String]) -> bool {
        match self.decision {
            // As if run in a folder of its own.
            Decision::Allow => {
                let folder = self.folder.as_deref().unwrap_or(Path::new("/example"));
                self.allows(command, &Folders::of(Scene::at(folder)))
            }
            Decision::Ask | Decision::Deny => self.catches(command),
        }
    }
}

/// A word of which nothing is known before the run.
pub(in crate::exec) const UNKNOWN: &str = "$";

/// Whether a word of a command may be that of a rule: itself, or one that a shell puts together when it runs, by what stands in
/// front of a variable, a substitution or a pattern.
fn may_be(word: &str, wanted: &str) -> bool {
    // The file systems of some systems do not tell `GIT` from `git`.
    let is_caseless = cfg!(any(target_os = "macos", windows));
    if word == wanted || is_caseless && word.eq_ignore_ascii_case(wanted) {
        return true;
    }
    let Some(at) = word.find(['$', '`', '*', '?', '[']) else {
        return false;
    };
    // `[` is a program.
    let front = word[..at].replace(['"', '\'', '\\'], "");
    word != "[" && word != "[[" && wanted.starts_with(&front)
}

/// The name of a program, as far as it can be told before the run.
fn name_of(program: &str) -> &str {
    if !is_put_in(program) {
        return base_name(program);
    }
    match base_name(program).trim_end_matches('"') {
        // The slash stands in what is put in: `$(command -v x/y)`.
        name if name.ends_with([')', '}', '`']) => UNKNOWN,
        name => name,
    }
}

/// Whether a word is one that only the run can tell.
fn is_put_in(word: &str) -> bool {
    word.contains(['$', '`'])
}

/// Whether such a word is in quotes, so that it is one word whatever is put in; a list becomes several even there.
fn is_one_word(word: &str) -> bool {
    let is_list = ["$@", "${@", "[@]"].iter().any(|list| word.contains(list));
    word.len() > 1 && word.starts_with('"') && word.ends_with('"') && !is_list
}

/// Whether what is put into a word may become several words, or none.
fn spreads(word: &str) -> bool {
    is_put_in(word) && !is_one_word(word)
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
            let spreads = spreads(word);
            if slot.iter().any(|wanted| may_be(word, wanted)) {
                next.insert(at + 1);
                if spreads {
                    next.insert(at);
                }
            }
            if spreads && word.starts_with(['$', '`', '"']) {
                starts.insert(at + 1);
            }
            if word.starts_with(['-', '+']) {
                let takes_next = with_value.contains(&word.as_str());
                let is_value = takes_next
                    && words
                        .get(at + 1)
                        .is_some_and(|value| is_put_in(value) && is_one_word(value));
                if !is_value {
                    starts.insert(at + 1);
                }
                if takes_next || may_take_next(word) {
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
            folder: None,
            hosts: None,
            options: None,
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
            // What only the run can tell may be any word.
            ("git push", "git $x", false, true),
            ("git push", "$x push", false, true),
            ("git push", "$x", false, false),
            ("git push", "git \"$@\"", false, true),
            ("git push", "git -v \"${a[@]}\"", false, true),
            ("git push", "git \"$x\"", false, true),
            ("git push", "$(echo`git`) push", false, true),
            ("git push", "$DIR/bin/git push", false, true),
            ("git push", "$DIR/bin/gitx push", false, false),
            ("git push", "git $options push", false, true),
            ("git push", "git pu$x", false, true),
            ("git push", "git log$x", false, false),
            ("git push", "git log $x", false, false),
            ("git push", "git pus?", false, true),
            ("git push", "gi[t] push", false, true),
            ("git push", "git add *.c", false, false),
            ("git push", "git -C \"$dir\" status", false, false),
            ("git push", "git -C $dir status", false, true),
            ("git push", "git -C \"$dir\" push", false, true),
            ("git push", "", false, false),
        ] {
            let command_words = words(command);
            let allows = rule(prefix, Decision::Allow).allows(&command_words, &Folders::of(Scene::at(Path::new("/w"))));
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
            ("curl a.example/x -o out", true),
            ("curl -sSo out a.example/x", true),
            ("curl a.example/x -o ../out", false),
            ("curl a.example/x -o .envrc", false),
            ("curl -o out b.example", false),
            ("curl https://a.example/x https://b.example", false),
            ("curl b.example", false),
            ("curl -T /etc/passwd https://a.example", false),
        ] {
            assert_eq!(
                bound.allows(&words(command), &Folders::of(Scene::at(Path::new("/w")))),
                expected,
                "{command}"
            );
        }
    }

    #[test]
    fn an_allow_holds_for_the_conversation_that_it_was_given_in() {
        let mut bound = rule("cp", Decision::Allow);
        bound.here = true;
        bound.folder = Some("/w".into());
        for (base, cwd, command, expected) in [
            ("/w", "/w", "cp a b", true),
            ("/w/sub", "/w/sub", "cp a b", true),
            ("/w", "/w/sub", "cp a b", true),
            ("/w", "/home/ada", "cp w/a .bashrc", false),
            ("/w", "/", "cp w/a w/b", false),
            ("/w", "/tmp", "cp a b", false),
            ("/other", "/other", "cp a b", false),
            ("/wider", "/wider", "cp a b", false),
        ] {
            let scene = Scene {
                cwd: Path::new(cwd),
                ..Scene::at(Path::new(base))
            };
            let found = bound.allows(&words(command), &Folders::of(scene));
            assert_eq!(found, expected, "{command} in {cwd} of {base}");
        }
        // One of a time without folders stays in the conversation's folder.
        bound.folder = None;
        let elsewhere = Scene {
            cwd: Path::new("/home/ada"),
            ..Scene::at(Path::new("/w"))
        };
        assert!(!bound.allows(&words("cp a b"), &Folders::of(elsewhere)));
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
