//! Git commands that read, in repositories that run programs.

use super::repel;
use crate::exec::place::{Place, User, users};
use crate::support::git::git;
use countersign::exec;
use countersign::exec::git::{Reading, Stop, diff_to_remote, info, tracked};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// What `countersign rules check` says of commands, each on a line.
fn judged(policy: &str, sandbox: &str, texts: &[&str]) -> Vec<Value> {
    let place = Place::new(User::Own);
    let mut command = std::process::Command::new(&place.program);
    place.dress(&mut command);
    let mut child = command
        .args(["rules", "check", "--policy", policy, "--sandbox", sandbox])
        .env("COUNTERSIGN_HOME", place.outside.join("home"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program");
    let lines: String = texts
        .iter()
        .map(|text| format!("{}\n", json!({"id": text, "argv": text})))
        .collect();
    let mut stdin = child.stdin.take().expect("a pipe");
    let writing = std::thread::spawn(move || stdin.write_all(lines.as_bytes()).expect("written"));
    let output = child.wait_with_output().expect("an end");
    writing.join().expect("written");
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

/// Commands that read by their arguments, and start what the folder names.
const STARTING: &[&str] = &[
    "git status",
    "git -C ./evil status",
    "git -C vendor/lib log",
    "cd evil && git status",
    "cd vendor/lib && git log -p",
    "pushd evil; git diff",
    "(cd evil && git show HEAD)",
    "git diff --stat",
    "git log --format=%G?",
    "git blame x",
    "git grep x",
    "git stash show -p",
    "git submodule status",
    "git lfs status",
    "git rev-parse HEAD",
    "git branch -a",
    "git config --get user.name",
    "env git status",
    "timeout 5 git status",
    "/usr/bin/git status",
    "git status | head",
    "echo $(git status)",
    "for f in a b; do git diff $f; done",
    "find . -name '*.rs' -exec git blame {} +",
    "xargs git log",
    "f() { git status; }; f",
    "cloc --vcs=git .",
    "hg status",
    "gh pr view 1",
    "cargo metadata",
    "cargo tree",
    "cargo --version",
    "rustc --version",
    "npm ls",
    "npm outdated",
    "pnpm list",
    "yarn --version",
    "uv pip list",
    "poetry show",
    "go list ./...",
    "go env",
    "terraform show",
    "terraform providers schema",
    "docker compose config",
    "mvn --version",
    "bazel --version",
    "python3 --version",
    "node --version",
];

#[test]
fn what_a_repository_may_run_by_is_reading_only_behind_walls() {
    repel(judged("untrusted", "danger-full-access", STARTING), |said| {
        match (said["verdict"].as_str(), said["label"].as_str()) {
            (Some("ask"), Some("not-safe")) => Ok(()),
            _ => Err("it runs unasked without walls".to_owned()),
        }
    });
    // Behind walls it harms nobody, and nobody is asked.
    for sandbox in ["read-only", "workspace-write"] {
        let said = judged("untrusted", sandbox, STARTING);
        let reads = |said: &&Value| said["verdict"] == "run" && said["label"] == "safe-readonly";
        let known = said.iter().filter(reads).count();
        assert!(known + 5 > STARTING.len(), "{sandbox}: {said:#?}");
    }
    // What reads and starts nothing is not asked about in either case.
    let plain = ["ls -la", "cat x | head", "rg x src", "cd evil && ls", "echo git status"];
    for said in judged("untrusted", "danger-full-access", &plain) {
        assert_eq!(
            (&said["verdict"], &said["label"]),
            (&json!("run"), &json!("safe-readonly")),
            "{said}"
        );
    }
}

/// In a chain that a rule lets out of the sandbox, what reads would go along.
#[test]
fn a_rule_for_another_command_does_not_take_git_out_of_the_sandbox() {
    let place = Place::new(User::Own);
    let rules = place.outside.join("rules.toml");
    place.file(
        &rules,
        "[[rule]]\nprefix = [\"make\"]\ndecision = \"allow\"\nsandbox = \"outside\"\n",
    );
    let mut command = std::process::Command::new(&place.program);
    place.dress(&mut command);
    let texts = [
        "git status && make",
        "cd evil && git log; make",
        "make && git diff",
        "git -C . show && make",
        "make && cargo tree",
    ];
    let lines: String = texts
        .iter()
        .chain(&["ls && make"])
        .map(|text| format!("{}\n", json!({"argv": text})))
        .collect();
    let mut child = command
        .args(["rules", "check", "--rules"])
        .arg(&rules)
        .env("COUNTERSIGN_HOME", place.outside.join("home"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program");
    child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(lines.as_bytes())
        .expect("written");
    let output = child.wait_with_output().expect("an end");
    let text = String::from_utf8(output.stdout).expect("text");
    let said: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let outside =
        |said: &Value| said["verdict"] == "run" && said["confined"].as_str().is_some_and(|how| how == "outside");
    assert!(outside(&said[texts.len()]), "the rule itself counts: {text}");
    repel(&said[..texts.len()], |said| match outside(said) {
        true => Err("it would leave the sandbox".to_owned()),
        false => Ok(()),
    });
}

/// A repository that starts a program where git reads it: what carries that, how it is set up with this program, and the
/// command that starts it for whoever has no walls.
type Carrier = (&'static str, fn(&Path, &str), &'static [&'static str]);

const CARRIERS: &[Carrier] = &[
    (
        "a monitor",
        |work, program| set(work, "core.fsmonitor", program),
        &["status"],
    ),
    (
        "a monitor in an included file",
        |work, program| {
            std::fs::write(work.join("more"), format!("[core]\n\tfsmonitor = \"{program}\"\n")).expect("write");
            set(work, "include.path", "../more");
        },
        &["status"],
    ),
    (
        "an external diff",
        |work, program| set(work, "diff.external", program),
        &["diff"],
    ),
    (
        "a converter to text",
        |work, program| {
            set(work, "diff.evil.textconv", program);
            std::fs::write(work.join(".git/info/attributes"), "* diff=evil\n").expect("write");
        },
        &["diff"],
    ),
    (
        "an external diff by attribute",
        |work, program| {
            set(work, "diff.evil.command", program);
            std::fs::write(work.join(".gitattributes"), "* diff=evil\n").expect("write");
        },
        &["diff"],
    ),
    (
        "a filter",
        |work, program| {
            set(work, "filter.evil.clean", program);
            std::fs::write(work.join(".gitattributes"), "* filter=evil\n").expect("write");
        },
        &["diff"],
    ),
    (
        "a filter that is required, in the configuration of the work tree",
        |work, program| {
            set(work, "extensions.worktreeConfig", "true");
            git(work, &["config", "--worktree", "filter.evil.clean", program]);
            git(work, &["config", "--worktree", "filter.evil.required", "true"]);
            std::fs::write(work.join(".git/info/attributes"), "* filter=evil\n").expect("write");
        },
        &["diff"],
    ),
    (
        "a hook after the index",
        |work, program| {
            let hook = work.join(".git/hooks/post-index-change");
            std::fs::create_dir_all(work.join(".git/hooks")).expect("mkdir");
            std::fs::write(&hook, format!("#!/bin/sh\n{program}\n")).expect("write");
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&hook, mode).expect("chmod");
        },
        &["status"],
    ),
    (
        "a program for signatures",
        |work, program| {
            let wrapper = work.join(".git/gpg");
            std::fs::write(&wrapper, format!("#!/bin/sh\n{program}\n")).expect("write");
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&wrapper, mode).expect("chmod");
            let tree = git(work, &["rev-parse", "HEAD^{tree}"]);
            let head = git(work, &["rev-parse", "HEAD"]);
            let commit = format!(
                "tree {tree}\nparent {head}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n \
                 -----END PGP SIGNATURE-----\n\nsigned\n"
            );
            std::fs::write(work.join(".git/commit"), commit).expect("write");
            let id = git(work, &["hash-object", "-t", "commit", "-w", ".git/commit"]);
            git(work, &["update-ref", "HEAD", &id]);
            set(work, "gpg.program", &wrapper.display().to_string());
            set(work, "log.showSignature", "true");
        },
        &["log", "-1"],
    ),
];

/// The same, where the program cannot be switched off: such a repository is not compared at all.
const UNNAMED: &[Carrier] = &[
    (
        "a filter with an equals sign in its name",
        |work, program| {
            set(work, "filter.a=b.clean", program);
            std::fs::write(work.join(".gitattributes"), "* filter=a=b\n").expect("write");
        },
        &["diff"],
    ),
    (
        "a filter whose name is no text, in an included file",
        |work, program| {
            let text = format!("\"]\n\tclean = \"{program}\"\n");
            let text = [b"[filter \"\xe9".as_slice(), text.as_bytes()].concat();
            std::fs::write(work.join(".git/more"), text).expect("write");
            set(work, "include.path", "more");
            std::fs::write(work.join(".git/info/attributes"), b"* filter=\xe9\n").expect("write");
        },
        &["diff"],
    ),
];

fn set(work: &Path, name: &str, value: &str) {
    git(work, &["config", name, value]);
}

/// A repository with a changed file and a remote, set up so.
fn repository(place: &Place, carrier: &Carrier) -> PathBuf {
    let mark = place.work.join("mark");
    git(&place.work, &["init", "-q"]);
    std::fs::create_dir_all(place.work.join(".git/info")).expect("mkdir");
    for name in ["x.txt", "y.txt"] {
        std::fs::write(place.work.join(name), "1\n").expect("write");
    }
    git(&place.work, &["add", "x.txt", "y.txt"]);
    git(&place.work, &["commit", "-qm", "one"]);
    git(&place.work, &["update-ref", "refs/remotes/origin/main", "HEAD"]);
    std::fs::write(place.work.join("x.txt"), "2\n").expect("write");
    // The same once more, so that the index has something to note.
    std::fs::write(place.work.join("y.txt"), "1\n").expect("write");
    carrier.1(&place.work, &format!("echo x >> {}; false", mark.display()));
    mark
}

fn env() -> BTreeMap<String, String> {
    BTreeMap::from([("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())])
}

/// That the attacks are real: with git alone each of them leaves its mark.
#[test]
fn without_us_each_repository_runs_its_program() {
    for carrier in CARRIERS.iter().chain(UNNAMED) {
        let place = Place::new(User::Own);
        let mark = repository(&place, carrier);
        let mut command = std::process::Command::new("git");
        place.dress(&mut command);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").args(carrier.2);
        let output = command.output().expect("git");
        assert!(mark.exists(), "{}: {output:?}", carrier.0);
    }
}

/// The questions that the server asks itself: for a thread, for snapshots, for reviews and comparisons.
#[tokio::test(flavor = "multi_thread")]
async fn our_own_questions_start_no_program_of_a_repository() {
    exec::use_program(env!("CARGO_BIN_EXE_countersign").into());
    let runtime = tokio::runtime::Handle::current();
    repel(CARRIERS, |carrier| {
        let place = Place::new(User::Own);
        let mark = repository(&place, carrier);
        let stop = Stop::default();
        let found = tokio::task::block_in_place(|| runtime.block_on(info(&place.work, &env())));
        let files = tracked(&place.work, &env(), &stop);
        let reading = Reading::open(&place.work, &env(), &stop).map_err(|error| error.to_string())?;
        let changed = reading.paths(&["diff", "--name-only", "-z", "--no-ext-diff", "--no-textconv", "HEAD"]);
        let shown = reading
            .ask(&["log", "-1", "--format=%H"])
            .map_err(|error| error.to_string())?;
        let against = diff_to_remote(&place.work, &env(), &place.outside.join("aside"), &stop);
        if mark.exists() {
            return Err("its program was started".to_owned());
        }
        if found.and_then(|info| info.sha).is_none() || shown.is_empty() {
            return Err("its commit is not known".to_owned());
        }
        let (files, changed) = (files.unwrap_or_default(), changed.unwrap_or_default());
        if !files.contains(&PathBuf::from("x.txt")) || !changed.contains(&place.work.join("x.txt")) {
            return Err(format!("its files are not known: {files:?} {changed:?}"));
        }
        against.map(drop)
    });
}

#[test]
fn a_repository_whose_filters_cannot_be_switched_off_is_not_compared() {
    exec::use_program(env!("CARGO_BIN_EXE_countersign").into());
    repel(UNNAMED, |carrier| {
        let place = Place::new(User::Own);
        let mark = repository(&place, carrier);
        let stop = Stop::default();
        let reading = Reading::open(&place.work, &env(), &stop).map(drop);
        let against = diff_to_remote(&place.work, &env(), &place.outside.join("aside"), &stop);
        if mark.exists() {
            return Err("its program was started".to_owned());
        }
        match reading {
            Err(error) if error.to_string().contains("cannot be switched off") && against.is_err() => Ok(()),
            other => Err(format!("it was read: {other:?} {against:?}")),
        }
    });
}

/// Files that are a repository by their names: git is not to take them for one, whatever its configuration.
#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_came_as_ordinary_files_is_not_read() {
    exec::use_program(env!("CARGO_BIN_EXE_countersign").into());
    let runtime = tokio::runtime::Handle::current();
    repel(["vendor/lib", "docs", ".", "a b", "deep/er/down"], |name| {
        let place = Place::new(User::Own);
        let mark = place.outside.join("mark");
        let bare = place.work.join(name);
        std::fs::create_dir_all(&bare).expect("mkdir");
        git(&bare, &["init", "-q", "--bare", "."]);
        let program = format!("echo x >> {}; false", mark.display());
        git(&bare, &["config", "core.bare", "false"]);
        git(&bare, &["config", "core.worktree", "."]);
        git(&bare, &["config", "core.fsmonitor", &program]);
        let found = tokio::task::block_in_place(|| runtime.block_on(info(&bare, &env())));
        let files = tracked(&bare, &env(), &Stop::default());
        let reading = Reading::open(&bare, &env(), &Stop::default());
        match (mark.exists(), found.is_none() && files.is_err() && reading.is_err()) {
            (false, true) => Ok(()),
            (started, _) => Err(format!("read as a repository (started: {started}): {found:?}")),
        }
    });
}

/// A program that a repository starts all the same meets the walls of its command.
#[test]
fn behind_walls_a_repositorys_program_changes_nothing_outside() {
    for user in users() {
        repel(CARRIERS, |carrier| {
            let place = Place::new(user);
            let mark = place.outside.join("mark");
            let made = Place::new(User::Own);
            repository(&made, carrier);
            // Made by us, given to whoever runs.
            let program = format!("echo x >> {}; false", mark.display());
            carrier.1(&made.work, &program);
            let copied = std::process::Command::new("cp")
                .arg("-a")
                .arg(made.work.join("."))
                .arg(&place.work)
                .status();
            assert!(copied.expect("cp").success());
            let owned = std::process::Command::new("chown")
                .arg("-R")
                .arg("--reference")
                .arg(&place.outside)
                .arg(&place.work)
                .status();
            assert!(owned.expect("chown").success());
            let argv = [&["git"][..], carrier.2].concat();
            for policy in ["read-only", "workspace-write"] {
                let output = place
                    .command(&["--policy", policy], &argv)
                    .output()
                    .expect("the sandbox");
                if mark.exists() {
                    return Err(format!("under {policy} its program wrote outside: {output:?}"));
                }
            }
            Ok(())
        });
    }
}
