//! Hooks that version control would run outside of the sandbox: programs of the person's, but what they start (`make`, `npm run`, `pre-commit`)
//! may do what files of the folder say, which commands of the agent can change.

use super::{Folders, Repository, Scene, plain};
use crate::exec::command::{Judgement, base_name};
use crate::exec::protected::hooks_of_git;
use std::fmt;
use std::path::Path;

/// Which hooks sub-commands of git run; of one that is not here, it may be any.
const BY_SUB_COMMAND: &[(&str, &[&str])] = &[
    ("add", &["post-index-change"]),
    ("branch", &["reference-transaction"]),
    (
        "commit",
        &[
            "pre-commit",
            "prepare-commit-msg",
            "commit-msg",
            "post-commit",
            "post-rewrite",
            "post-index-change",
            "reference-transaction",
            "pre-auto-gc",
        ],
    ),
    ("fetch", &["reference-transaction", "pre-auto-gc"]),
    ("ls-remote", &[]),
    ("mv", &["post-index-change"]),
    ("push", &["pre-push", "reference-transaction"]),
    ("rm", &["post-index-change"]),
    ("tag", &["reference-transaction"]),
];

/// Words by which other programs have git commit, push or take something in.
const BY_OTHERS: &[&str] = &["checkout", "clone", "co", "create", "merge", "push", "sync"];

/// The hooks that a command would run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hooks {
    /// As the person knows it: `git commit`.
    command: String,
    names: Vec<String>,
}

impl Hooks {
    /// Those of the first command that has any. In what only the run can tell no repository is known, so it is asked about each time anyway.
    pub(super) fn of(argv: &[String], judgement: &Judgement, scene: Scene<'_>) -> Option<Self> {
        let home = scene.env.get("HOME").map(Path::new);
        let found = |command: &[String], folders: &Folders| {
            let command = without_path(command)?;
            let names = match folders.repository(&command) {
                Repository::At(repository) => of_command(&command, &repository, home)?,
                Repository::Nowhere | Repository::Unsure => return None,
            };
            let sub_command = command.get(1).filter(|word| !word.starts_with('-'));
            let words = std::iter::once(&command[0]).chain(sub_command);
            Some(Self {
                command: words.cloned().collect::<Vec<_>>().join(" "),
                names,
            })
        };
        if let Some(commands) = plain::commands(argv) {
            let all = Folders::of_each(scene, &commands);
            return all.iter().find_map(|(command, folders)| found(command, folders));
        }
        let folders = Folders::of(scene);
        judgement.parts.iter().find_map(|part| found(&part.argv, &folders))
    }
}

impl fmt::Display for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, do_) = match self.names.len() {
            1 => ("the hook", "it starts"),
            _ => ("the hooks", "they start"),
        };
        write!(
            f,
            "{} runs {what} {} of the repository; what {do_} may be files that commands of the agent can change, so you are asked each time.",
            crate::shown::short_code(&self.command),
            crate::shown::path_in_words(Path::new(&self.names.join(", ")))
        )
    }
}

fn without_path(command: &[String]) -> Option<Vec<String>> {
    let (program, arguments) = command.split_first()?;
    let name = base_name(program).to_owned();
    Some(std::iter::once(name).chain(arguments.iter().cloned()).collect())
}

fn of_command(command: &[String], repository: &Path, home: Option<&Path>) -> Option<Vec<String>> {
    let (program, arguments) = command.split_first()?;
    let sub_command = arguments.first().map_or("", String::as_str);
    let run: Option<&[&str]> = match program.as_str() {
        "git" => BY_SUB_COMMAND
            .iter()
            .find(|(known, _)| *known == sub_command)
            .map(|(_, hooks)| *hooks),
        "gh" | "glab" | "hub" => {
            let has_git_work = arguments.iter().any(|word| BY_OTHERS.contains(&word.as_str()));
            if has_git_work { None } else { Some(&[]) }
        }
        "jj" | "svn" | "hg" => Some(&[]),
        // What keeps an interface for it open, and `git-lfs` and the like.
        name if super::acts_on_one(name) => None,
        _ => Some(&[]),
    };
    let mut names = match run {
        Some([]) => Vec::new(),
        _ => hooks_of_git(repository, home),
    };
    names.retain(|name| run.is_none_or(|run| run.contains(&name.as_str())));
    if program == "hg" && has_hooks(repository, home) {
        names.push("of hgrc".to_owned());
    }
    (!names.is_empty()).then_some(names)
}

/// Whether settings of Mercurial's have it run something of the person's.
fn has_hooks(repository: &Path, home: Option<&Path>) -> bool {
    let own = repository.join(".hg/hgrc");
    let of_person = home.map(|home| home.join(".hgrc"));
    std::iter::once(own).chain(of_person).any(|file| {
        let text = crate::exec::protected::text_of(&file, 1 << 20).unwrap_or_default();
        String::from_utf8_lossy(&text)
            .lines()
            .any(|line| line.trim().starts_with("[hooks]"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::fs;

    fn made(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().expect("a folder above")).expect("mkdir");
        fs::write(path, text).expect("write");
    }

    #[cfg(unix)]
    fn program(path: &Path) {
        use std::os::unix::fs::PermissionsExt as _;
        made(path, "#!/bin/sh\n");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("chmod");
    }

    #[test]
    #[cfg(unix)]
    fn which_hooks_a_command_runs_by_table() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let home = dir.path().join("home");
        let work = dir.path().join("work");
        let fresh = || {
            let _gone = fs::remove_dir_all(dir.path().join("work"));
            for name in ["HEAD", "config", "objects/x", "refs/x"] {
                made(
                    &work.join(".git").join(name),
                    if name == "HEAD" { "ref: refs/heads/main\n" } else { "" },
                );
            }
            made(&home.join(".gitconfig"), "");
        };
        let told = |text: &str| {
            let argv = ["bash", "-c", text].map(str::to_owned);
            let env = BTreeMap::from([("HOME".to_owned(), home.display().to_string())]);
            let scene = Scene {
                env: &env,
                ..Scene::at(&work)
            };
            let judgement = crate::exec::command::judge(&argv, &work);
            Hooks::of(&argv, &judgement, scene).map(|hooks| format!("{}: {}", hooks.command, hooks.names.join(" ")))
        };
        type Prepare = fn(&Path, &Path);
        let rows: [(Prepare, &str, Option<&str>); 16] = [
            (|_, _| {}, "git commit -m x", None),
            (
                |work, _| program(&work.join(".git/hooks/pre-commit")),
                "git commit -m x",
                Some("git commit: pre-commit"),
            ),
            (
                |work, _| program(&work.join(".git/hooks/pre-commit")),
                "/usr/bin/git commit -m x",
                Some("git commit: pre-commit"),
            ),
            (
                |work, _| program(&work.join(".git/hooks/pre-commit")),
                "touch a && git commit -m x",
                Some("git commit: pre-commit"),
            ),
            (|work, _| program(&work.join(".git/hooks/pre-commit")), "git push", None),
            (
                |work, _| program(&work.join(".git/hooks/pre-push")),
                "git push -u origin main",
                Some("git push: pre-push"),
            ),
            (
                |work, _| program(&work.join(".git/hooks/pre-push")),
                "gh pr create -f",
                Some("gh pr: pre-push"),
            ),
            (
                |work, _| program(&work.join(".git/hooks/pre-push")),
                "gh pr view 7",
                None,
            ),
            (
                |work, _| program(&work.join(".git/hooks/post-merge")),
                "git pull",
                Some("git pull: post-merge"),
            ),
            (
                |work, _| program(&work.join(".git/hooks/post-merge")),
                "git -C . merge x",
                Some("git: post-merge"),
            ),
            (
                |work, _| program(&work.join(".git/hooks/pre-commit.sample")),
                "git commit -m x",
                None,
            ),
            (
                |work, _| made(&work.join(".git/hooks/pre-commit"), "#!/bin/sh\n"),
                "git commit -m x",
                None,
            ),
            (|work, _| program(&work.join(".git/hooks/update")), "git push", None),
            (
                |work, _| {
                    made(&work.join(".git/config"), "[core]\n\thooksPath = .husky/_\n");
                    program(&work.join(".husky/_/commit-msg"));
                },
                "git commit -m x",
                Some("git commit: commit-msg"),
            ),
            (
                |_, home| {
                    made(&home.join(".gitconfig"), "[core]\n\thooksPath = ~/hooks\n");
                    program(&home.join("hooks/pre-commit"));
                },
                "git commit -m x",
                Some("git commit: pre-commit"),
            ),
            (
                |work, _| {
                    made(
                        &work.join(".git/config"),
                        "[hook \"lint\"]\n\tevent = pre-commit\n\tcommand = make lint\n",
                    )
                },
                "git commit -m x",
                Some("git commit: pre-commit"),
            ),
        ];
        for (at, (prepare, text, expected)) in rows.into_iter().enumerate() {
            fresh();
            prepare(&work, &home);
            assert_eq!(told(text).as_deref(), expected, "row {at}: {text}");
        }
        let _gone = fs::remove_dir_all(&work);
        made(&work.join(".hg/hgrc"), "[ui]\nusername = x\n");
        assert_eq!(told("hg commit -m x"), None);
        made(&work.join(".hg/hgrc"), "[hooks]\nprecommit = make lint\n");
        assert_eq!(told("hg commit -m x").as_deref(), Some("hg commit: of hgrc"));
    }
}
