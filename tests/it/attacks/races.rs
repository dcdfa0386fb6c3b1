//! Links and pointers swapped at the right moment, other processes, variables that steer programs.

use super::repel;
use crate::agent::stage::{Setting, Stage, apply_patch, say};
use crate::exec::fallback::plain_command;
use crate::exec::place::{Place, has, users, words};
use countersign::exec::command::{Label, judge};
use countersign::exec::decide::{Case, Scene, SessionGrants, Verdict, decide};
use countersign::exec::rules;
use countersign::protocol::settings::{ApprovalPolicy, SandboxPolicy};
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

/// Variables by which a harmless program does what somebody else wants.
const STEERING: &[&str] = &[
    "LD_PRELOAD=./x.so",
    "LD_LIBRARY_PATH=.",
    "LD_AUDIT=./x.so",
    "LD_DEBUG_OUTPUT=x",
    "GCONV_PATH=.",
    "LOCPATH=.",
    "DYLD_INSERT_LIBRARIES=x",
    "PATH=.:/bin",
    "BASH_ENV=./x",
    "ENV=./x",
    "ZDOTDIR=.",
    "SHELLOPTS=xtrace",
    "BASHOPTS=extdebug",
    "PS4='$(x)'",
    "PROMPT_COMMAND=x",
    "IFS=x",
    "HOME=.",
    "XDG_CONFIG_HOME=.",
    "GIT_DIR=./evil",
    "GIT_WORK_TREE=.",
    "GIT_CONFIG=x",
    "GIT_CONFIG_GLOBAL=./x",
    "GIT_CONFIG_SYSTEM=./x",
    "GIT_CONFIG_COUNT=1",
    "GIT_CONFIG_KEY_0=core.fsmonitor",
    "GIT_CONFIG_PARAMETERS=x",
    "GIT_EXEC_PATH=.",
    "GIT_EXTERNAL_DIFF=./x",
    "GIT_PAGER=./x",
    "GIT_EDITOR=./x",
    "GIT_SSH=./x",
    "GIT_SSH_COMMAND=./x",
    "GIT_ASKPASS=./x",
    "GIT_PROXY_COMMAND=./x",
    "GIT_TEMPLATE_DIR=.",
    "GIT_TRACE=/w/x",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES=.",
    "GIT_INDEX_FILE=x",
    "PAGER=./x",
    "MANPAGER=./x",
    "SYSTEMD_PAGER=./x",
    "EDITOR=./x",
    "VISUAL=./x",
    "BROWSER=./x",
    "LESSOPEN='|./x %s'",
    "LESSCLOSE=./x",
    "LESSKEYIN=x",
    "NODE_OPTIONS=--require=./x",
    "NODE_PATH=.",
    "npm_config_prefix=.",
    "npm_config_script_shell=./x",
    "PYTHONSTARTUP=x",
    "PYTHONPATH=.",
    "PYTHONHOME=.",
    "PYTHONINSPECT=1",
    "PYTHONBREAKPOINT=x",
    "PYTHONUSERBASE=.",
    "PERL5OPT=-Mx",
    "PERL5LIB=.",
    "PERL5DB=x",
    "RUBYOPT=-rx",
    "RUBYLIB=.",
    "JAVA_TOOL_OPTIONS=-javaagent:x",
    "_JAVA_OPTIONS=-javaagent:x",
    "JDK_JAVA_OPTIONS=-javaagent:x",
    "CLASSPATH=.",
    "PHPRC=.",
    "DOTNET_STARTUP_HOOKS=x",
    "RUSTC_WRAPPER=./x",
    "CARGO_HOME=.",
    "CARGO_BUILD_RUSTC_WRAPPER=./x",
    "GOFLAGS=-toolexec=./x",
    "MAKEFLAGS=x",
    "TAR_OPTIONS=--checkpoint-action=exec=x",
    "RIPGREP_CONFIG_PATH=x",
    "TERMINFO=.",
    "TMPDIR=.",
    "http_proxy=http://x",
    "rsync_proxy=x",
    "precmd_functions=x",
    "preexec_functions=x",
    "fpath=.",
    "path=.",
];

/// Ways to set one for a command that by itself only reads, or that a rule allows. `SET` is the setting, `NAME` its name.
const FORMS: &[&str] = &[
    "SET git status",
    "SET A=1 git status",
    "a=1 SET git status",
    "env SET git status",
    "env -i SET git status",
    "env -u X SET git status",
    "env -S 'SET git status'",
    "/usr/bin/env SET git status",
    "command env SET git status",
    "nice env SET git status",
    "export SET; git status",
    "export SET && git status",
    "declare -x SET; git status",
    "typeset -x SET; git status",
    "readonly SET; git status",
    "SET; export NAME; git status",
    "SET; git status",
    "set -a; SET; git status",
    "{ export SET; }; git status",
    "(export SET; git status)",
    "if export SET; then git status; fi",
    "export SET\ngit status",
    "bash -c 'SET git status'",
    "xargs env SET git status",
    "time SET git status",
    "! SET git status",
    "SET git status | cat",
    "cat x | SET git status",
    "git status $(export SET; git status)",
    "printf -v NAME x; export NAME; git status",
    "read NAME; export NAME; git status",
    "for NAME in x; do git status; done",
    ": ${NAME:=x}; git status",
];

/// Whatever is set for a command, it is neither called known to read nor does a rule that allows it count. Each way is tried in one
/// shell, by turns; in all of them where `COUNTERSIGN_ALL_NAMES` is set.
#[test]
fn a_variable_that_steers_programs_makes_a_command_more_than_it_is() {
    let home = tempfile::tempdir().expect("a folder");
    fs::create_dir(home.path().join("rules")).expect("mkdir");
    let allows = "[[rule]]\nprefix = [\"git\", \"status\"]\ndecision = \"allow\"\n[[rule]]\nprefix = [\"cat\"]\ndecision = \
                  \"allow\"\n";
    fs::write(home.path().join("rules/mine.toml"), allows).expect("write");
    let rules = rules::load(&rules::Sources::new(home.path(), &[]));
    let grants = SessionGrants::default();
    let run = |text: &str, dialect: &str| {
        let argv = [dialect, "-c", text].map(str::to_owned);
        let case = Case {
            argv: &argv,
            scene: Scene::at(Path::new("/w")),
            approval: ApprovalPolicy::Untrusted,
            sandbox: &SandboxPolicy::DangerFullAccess,
            escalated: false,
            grants: &grants,
            rules: &rules,
            walls: true,
            beside: None,
        };
        (
            judge(&argv, Path::new("/w")).label,
            matches!(decide(&case).verdict, Verdict::Run(_)),
        )
    };
    assert!(run("git status", "bash").1, "the rule is heeded");
    let in_all = std::env::var_os("COUNTERSIGN_ALL_NAMES").is_some();
    let rows = STEERING.iter().enumerate().flat_map(|(set_at, set)| {
        let name = set.split('=').next().unwrap_or_default();
        FORMS.iter().enumerate().flat_map(move |(form_at, form)| {
            // In quotes of its own a value with quotes says something else.
            let fits = !(form.contains('\'') && set.contains('\''));
            let text = form.replace("SET", set).replace("NAME", name);
            let shells = ["bash", "sh", "zsh"].iter().enumerate();
            let tried = shells.filter(move |(at, _)| fits && (in_all || (set_at + form_at) % 3 == *at));
            tried.map(move |(_, shell)| (*shell, text.clone()))
        })
    });
    repel(rows, |(shell, text)| match run(text, shell) {
        (Label::SafeReadonly, _) => Err("called known to read".to_owned()),
        (_, true) => Err("run unasked".to_owned()),
        _ => Ok(()),
    });
}

/// Rules for the person's other processes, without namespaces too: what they hold in memory and environment is read by no
/// command, nor are their files and descriptors, and no signal reaches them.
#[test]
fn other_processes_of_the_person_are_closed_by_rule() {
    const ATTEMPTS: &[&str] = &[
        "cat /proc/PID/environ",
        "cat /proc/PID/task/PID/environ",
        "head -c 1 /proc/PID/mem",
        "python3 -c 'open(\"/proc/PID/mem\", \"r+b\")'",
        "cat /proc/PID/maps",
        "cat /proc/PID/auxv",
        "cat /proc/PID/stack; cat /proc/PID/syscall",
        "readlink /proc/PID/fd/*",
        "cat /proc/PID/fd/0",
        "readlink /proc/PID/cwd",
        "ls /proc/PID/root/",
        "cat /proc/PID/cwd/secret",
        "cat /proc/PID/root/proc/PID/environ",
        "kill -0 PID",
        "kill -CONT PID",
        "python3 -c 'import os; os.pidfd_open(PID); import signal; signal.pidfd_send_signal(os.pidfd_open(PID), 0)'",
        "python3 -c 'import ctypes; l = ctypes.CDLL(None, use_errno=True); exit(l.ptrace(16, PID, 0, 0) != 0)'",
        "for p in /proc/[0-9]*; do cat $p/environ 2>/dev/null; done | tr '\\0' '\\n' | grep hush-of-another",
    ];
    for user in users() {
        for namespaces in [true, false] {
            if !(namespaces || has("unshare") && has("setpriv")) {
                continue;
            }
            let place = Place::new(user);
            place.file(&place.outside.join("secret"), "hush");
            let mut other = Command::new("sleep");
            place.dress(&mut other);
            other
                .arg("600")
                .env("HUSH", "hush-of-another")
                .current_dir(&place.outside);
            other.stdin(Stdio::piped());
            let mut other = other.spawn().expect("sleep");
            let pid = other.id().to_string();
            let mut rows = ATTEMPTS.to_vec();
            if namespaces {
                rows.push("test -e /proc/PID/cmdline && grep -q sleep /proc/PID/cmdline");
            }
            let script: String = rows
                .iter()
                .enumerate()
                .map(|(at, row)| {
                    format!(
                        "if ( {} ) >out{at} 2>&1; then echo through {at}; fi\n",
                        row.replace("PID", &pid)
                    )
                })
                .collect();
            let script = format!("cd \"$WORK\"; mkdir -p o; cd o\n{script}");
            let output = match namespaces {
                true => place.command(&[], &["bash", "-c", &script]).output(),
                false => plain_command(&place, &[], &["bash", "-c", &script]).output(),
            };
            let _ended = other.kill();
            let _reaped = other.wait();
            let output = output.expect("run the sandbox");
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(
                output.status.success() || output.status.code() == Some(1),
                "{}",
                words(&output)
            );
            repel(rows.iter().enumerate(), |(at, row)| {
                let printed = fs::read_to_string(place.work.join(format!("o/out{at}"))).unwrap_or_default();
                // An empty answer tells nothing.
                let opened = said.lines().any(|line| line == format!("through {at}"));
                let tells = !printed.trim().is_empty() || row.contains("kill") || row.contains("python3");
                match opened && tells {
                    true => Err(format!("{user:?} namespaces {namespaces}: {printed}")),
                    false => Ok(()),
                }
            });
        }
    }
}

/// Pointers of git that lead into the workspace: what git would run or take orders from at their ends stays as it is.
#[test]
fn where_pointers_of_git_lead_stays_as_it_is() {
    const ATTEMPTS: &[&str] = &[
        "echo x > .git/modules/sub/hooks/pre-commit",
        "mkdir -p .git/modules/sub/hooks",
        "echo x >> .git/modules/sub/config",
        "echo x > .git/info/attributes",
        "echo x > .git/info/exclude",
        "echo x > .git/worktrees/tree/commondir",
        "echo x > .git/worktrees/tree/gitdir",
        "echo x > .git/worktrees/tree/config.worktree",
        "echo x > .git/commondir",
        "echo x > .git/objects/info/alternates",
        "echo x > sub/.git",
        "rm sub/.git; mkdir sub/.git",
        "mv sub old; mkdir sub; echo 'gitdir: ../evil' > sub/.git",
        "echo x > tree/.git",
        "mv tree/.git tree/gone",
        "echo x > .GIT/config; mkdir -p .GIT/hooks",
        "mkdir .Git",
        "mkdir sub/.GIT",
        "mkdir sub/GIT~1",
        "mkdir -p deep/er/.git/hooks",
        "git init -q deep/new",
        "git init -q --separate-git-dir=real deep/other",
        "git clone -q . deep/clone",
        "echo '* filter=x' > .gitattributes",
        "echo '* diff=x' > sub/.gitattributes",
        "echo x > .gitmodules",
        "ln -s evil sub/.gitmodules",
    ];
    for user in users() {
        let place = Place::new(user);
        for folder in [
            ".git",
            ".git/hooks",
            ".git/info",
            ".git/objects",
            ".git/objects/info",
            ".git/refs",
            ".git/modules",
            ".git/modules/sub",
            ".git/worktrees",
            ".git/worktrees/tree",
            "sub",
            "tree",
            "deep",
        ] {
            place.folder(&place.work.join(folder));
        }
        for (name, text) in [
            (".git/HEAD", "ref: refs/heads/main\n"),
            (
                ".git/config",
                "[core]\n\tbare = false\n[includeIf \"gitdir:/\"]\n\tpath = more\n",
            ),
            (".git/more", "[user]\n\tname = x\n"),
            (".git/modules/sub/HEAD", "ref: refs/heads/main\n"),
            (".git/modules/sub/config", "[core]\n"),
            (".git/worktrees/tree/HEAD", "ref: refs/heads/tree\n"),
            (".git/worktrees/tree/commondir", "../..\n"),
            ("sub/.git", "gitdir: ../.git/modules/sub\n"),
            ("tree/.git", "gitdir: ../.git/worktrees/tree\n"),
        ] {
            place.file(&place.work.join(name), text);
        }
        let before = git_files(&place.work);
        let script: String = ATTEMPTS.iter().map(|row| format!("( {row} )\n")).collect();
        for namespaces in [true, false] {
            if !(namespaces || has("unshare") && has("setpriv")) {
                continue;
            }
            let argv = ["bash", "-c", &script];
            let output = match namespaces {
                true => place.command(&[], &argv).output(),
                false => plain_command(&place, &[], &argv).output(),
            };
            let output = output.expect("run the sandbox");
            // What moves is put back for the next round.
            if place.work.join("old").exists() {
                let _gone = fs::remove_dir_all(place.work.join("sub"));
                fs::rename(place.work.join("old"), place.work.join("sub")).expect("rename");
            }
            let now = git_files(&place.work);
            assert_eq!(before, now, "{user:?} namespaces {namespaces}: {}", words(&output));
        }
    }
}

/// Every file and folder whose way leads through a name of git's, with its text.
fn git_files(work: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut waiting = vec![work.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = path.strip_prefix(work).expect("below").display().to_string();
            if name.to_lowercase().contains("git") {
                found.push((name, fs::read_to_string(&path).unwrap_or_default()));
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                waiting.push(path);
            }
        }
    }
    found.sort();
    found
}

/// A link that takes the place of a folder between the proposal and the yes: what was agreed to is written nowhere else,
/// least of all where other programs take orders from.
#[tokio::test]
async fn a_link_between_the_proposal_and_the_yes_leads_nowhere() {
    // What the patch names, what becomes of its folder, and where nothing may come to lie then.
    let rows: &[(&str, &str, &str)] = &[
        ("dir/tasks.json", "../work/.vscode", ".vscode/tasks.json"),
        ("dir/deep/x.md", "../work/.claude", ".claude/deep/x.md"),
        ("dir/hooks/pre-push", "../work/.git", ".git/hooks/pre-push"),
        ("dir/settings.json", "sub/.zed", "sub/.zed/settings.json"),
        ("dir/skill.md", "../work/.agents", ".agents/skill.md"),
        // The name acts at both ends, and only one was shown.
        ("dir/.envrc", ".", ".envrc"),
        ("dir/AGENTS.md", "sub", "sub/AGENTS.md"),
        // Nor is any other file.
        ("dir/main.py", ".", "main.py"),
    ];
    // Another file of the same change acts later by itself; it opens nothing but itself.
    let also = ["", "\n*** Add File: sub/CLAUDE.md\n+text"];
    for ((named, target, never), also) in rows.iter().flat_map(|row| also.map(|also| (row, also))) {
        let folder = tempfile::Builder::new()
            .prefix("swap")
            .tempdir_in("/var/tmp")
            .expect("a folder");
        let work = folder.path().canonicalize().expect("a path").join("work");
        for name in ["dir", ".vscode", ".claude", ".git/hooks", "sub/.zed"] {
            fs::create_dir_all(work.join(name)).expect("mkdir");
        }
        let patch = format!("*** Begin Patch\n*** Add File: {named}\n+evil{also}\n*** End Patch");
        let setting = Setting {
            folder: Some(work.clone()),
            ..Setting::default()
        };
        let stage = Stage::with(json!([[apply_patch("p1", &patch)], [say("done")]]), setting).await;
        let thread = stage.thread().await;
        let turn = stage.start_turn(&thread, "Go").await;
        let story = stage.until_event("proposal/created").await;
        let proposal = story.one("proposal/created")["proposal"]["id"].clone();
        fs::rename(work.join("dir"), work.join("old")).expect("rename");
        symlink(target, work.join("dir")).expect("symlink");
        let decision = json!({"proposalId": proposal, "decision": "accept"});
        let _refused = stage.client.request("countersign/proposal/decide", decision).await;
        stage.finish(&turn).await;
        assert!(!work.join(never).exists(), "{named} through a link to {target}{also}");
        stage.end();
    }
}

/// What acts later is changed by a patch only after a question, whatever the settings say, and the question says why.
#[tokio::test]
async fn a_patch_to_what_acts_later_is_asked_about() {
    let named = [
        ".vscode/tasks.json",
        "sub/AGENTS.md",
        "a/b/.envrc",
        "sub/.husky/pre-commit",
        "x.code-workspace",
    ];
    for file in named {
        let patch = format!("*** Begin Patch\n*** Add File: {file}\n+text\n*** End Patch");
        let script = json!([[apply_patch("p1", &patch)], [say("done")]]);
        let stage = Stage::with(
            script,
            Setting {
                tables: "[edits]\napprove = \"workspace\"\n".to_owned(),
                ..Setting::default()
            },
        )
        .await;
        let thread = stage.thread().await;
        let turn = stage.start_turn(&thread, "Go").await;
        let story = stage.until_event("proposal/created").await;
        let proposal = &story.one("proposal/created")["proposal"];
        assert!(
            !proposal["autoApproved"].as_bool().unwrap_or_default(),
            "{file}: {proposal}"
        );
        let reason = proposal["reason"].as_str().unwrap_or_default();
        assert!(
            reason.contains("Careful") && reason.contains(file),
            "{file}: {proposal}"
        );
        assert!(!stage.path(file).exists(), "{file}");
        let decision = json!({"proposalId": proposal["id"], "decision": "accept"});
        stage.client.call("countersign/proposal/decide", decision).await;
        stage.finish(&turn).await;
        assert_eq!(stage.text(file), "text\n", "{file}");
        stage.end();
    }
}

/// The same of what a repository's own settings lead to, by a name that says nothing.
#[tokio::test]
async fn a_patch_to_what_settings_lead_to_is_asked_about() {
    let folder = tempfile::Builder::new()
        .prefix("hooks")
        .tempdir_in("/var/tmp")
        .expect("a folder");
    let work = folder.path().canonicalize().expect("a path").join("work");
    fs::create_dir_all(work.join(".git")).expect("mkdir");
    fs::create_dir_all(work.join("tools/hooks")).expect("mkdir");
    fs::write(work.join(".git/config"), "[core]\n\thooksPath = tools/hooks\n").expect("write");
    let patch = "*** Begin Patch\n*** Add File: tools/hooks/pre-commit\n+text\n*** End Patch";
    let setting = Setting {
        folder: Some(work.clone()),
        tables: "[edits]\napprove = \"workspace\"\n".to_owned(),
        ..Setting::default()
    };
    let stage = Stage::with(json!([[apply_patch("p1", patch)], [say("done")]]), setting).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    let story = stage.until_event("proposal/created").await;
    let proposal = &story.one("proposal/created")["proposal"];
    assert!(!proposal["autoApproved"].as_bool().unwrap_or_default(), "{proposal}");
    let reason = proposal["reason"].as_str().unwrap_or_default();
    assert!(
        reason.contains("Careful") && reason.contains("tools/hooks"),
        "{proposal}"
    );
    let decision = json!({"proposalId": proposal["id"], "decision": "accept"});
    stage.client.call("countersign/proposal/decide", decision).await;
    stage.finish(&turn).await;
    let written = fs::read_to_string(work.join("tools/hooks/pre-commit"));
    assert_eq!(written.expect("it is written"), "text\n");
    stage.end();
}

/// A folder may be another's link, in the repository as it came: the question says where the file really is, what is
/// allowed is written there, and it can be undone.
#[tokio::test]
async fn a_patch_through_a_link_to_what_acts_later_is_made_once_it_is_allowed() {
    // A link, the folder that it leads to, and the name in the patch.
    let rows = [
        ("husky", ".husky", "husky/pre-commit"),
        (".husky", "tools/husky", ".husky/pre-commit"),
        (".husky", "tools/husky", "tools/husky/pre-commit"),
        ("notes", "sub/.claude", "notes/settings.json"),
        ("alias", "sub", "alias/AGENTS.md"),
        ("alias", "sub", "alias/.vscode/tasks.json"),
        (".vscode", "editors/code", ".vscode/tasks.json"),
    ];
    let texts = [None, Some("old\n")];
    for ((link, leads, named), before) in rows.iter().flat_map(|row| texts.map(|text| (row, text))) {
        let folder = tempfile::Builder::new()
            .prefix("linked")
            .tempdir_in("/var/tmp")
            .expect("a folder");
        let work = folder.path().canonicalize().expect("a path").join("work");
        fs::create_dir_all(work.join(leads)).expect("mkdir");
        symlink(leads, work.join(link)).expect("symlink");
        if let Some(text) = before {
            fs::create_dir_all(work.join(named).parent().expect("a folder")).expect("mkdir");
            fs::write(work.join(named), text).expect("write");
        }
        let (head, gone) = match before {
            None => ("Add", String::new()),
            Some(text) => ("Update", format!("@@\n-{text}")),
        };
        let patch = format!("*** Begin Patch\n*** {head} File: {named}\n{gone}+text\n*** End Patch");
        let setting = Setting {
            folder: Some(work.clone()),
            tables: "[edits]\napprove = \"workspace\"\n".to_owned(),
            ..Setting::default()
        };
        let stage = Stage::with(json!([[apply_patch("p1", &patch)], [say("done")]]), setting).await;
        let thread = stage.thread().await;
        let turn = stage.start_turn(&thread, "Go").await;
        let story = stage.until_event("proposal/created").await;
        let proposal = &story.one("proposal/created")["proposal"];
        let reason = proposal["reason"].as_str().unwrap_or_default();
        assert!(
            reason.contains("Careful") && reason.contains(named),
            "{named}: {proposal}"
        );
        if named.starts_with(link) {
            assert!(reason.contains(&format!("(which is {leads}/")), "{named}: {reason}");
        }
        let decision = json!({"proposalId": proposal["id"], "decision": "accept"});
        stage.client.call("countersign/proposal/decide", decision).await;
        let story = stage.finish(&turn).await;
        let text = || fs::read_to_string(work.join(named)).ok();
        assert_eq!(
            text().as_deref(),
            Some("text\n"),
            "{link} to {leads}, {named}: {story:#?}"
        );
        let undone = stage
            .client
            .call("countersign/turn/undo", json!({"threadId": thread}))
            .await;
        stage.finish(undone["turnId"].as_str().expect("an id")).await;
        assert_eq!(text().as_deref(), before, "{link} to {leads}, {named}, undone");
        stage.end();
    }
}

/// Under `never` nobody can be asked, so it stays as it is, and the model hears why.
#[tokio::test]
async fn without_a_question_what_acts_later_stays_as_it_is() {
    let patch = "*** Begin Patch\n*** Add File: sub/CLAUDE.md\n+text\n*** End Patch";
    let script = json!([[apply_patch("p1", patch)], [say("done")]]);
    let stage = Stage::configured("approval_policy = \"never\"", script).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "Go").await;
    assert!(!stage.path("sub/CLAUDE.md").exists());
    let output = stage.requests(2)[1].output("p1").expect("an output");
    assert!(
        output.contains("nobody is asked") && output.contains("CLAUDE.md"),
        "{output}"
    );
}
