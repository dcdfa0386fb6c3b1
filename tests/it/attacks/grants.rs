//! A yes to one command, stretched to another: by the folder, by a link, by a pattern, by a repository, by an option, by a program
//! in `PATH`, by what rides along. Nothing here runs: what counts is that the person would be asked.

use super::answers::{
    SYSTEM, Said, Wanted, argv, kept, kept_words, no_yes_is_stretched, no_yes_leads_on, no_yes_leads_on_after,
};
use super::repel;
use crate::exec::place::{Place, User};
use countersign::exec::Confinement;
use countersign::exec::decide::{Case, Kept, Scene, Verdict, decide};
use countersign::exec::program::guard;
use countersign::protocol::item::Confined;
use countersign::protocol::settings::{ApprovalPolicy, SandboxPolicy};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

/// A yes to paths in the conversation's folder is none to those of a folder that the model names.
#[test]
fn a_yes_here_does_not_follow_the_folder_that_the_model_names() {
    no_yes_is_stretched(
        |place| fs::create_dir_all(place.work.join("sub")).expect("mkdir"),
        (&["cp", "a", "sub/b"], "work"),
        &[
            (&["cp", "work/a", ".bashrc"], ""),
            (&["cp", "a", ".bashrc"], "outside"),
            (&["cp", "a", "b"], "/"),
            (&["cp", "a", "b"], "/tmp"),
            (&["cp", "a", "b"], "work/.."),
            (&["cd ..; cp work/a .bashrc"], "work"),
            (&["pushd ..; cp work/a .bashrc"], "work"),
            (&["cp", "a", "../outside/b"], "work"),
            (&["cp", "a", "../../outside/b"], "work/sub"),
        ],
    );
}

/// A link that a command has planted leads out of the folder.
#[test]
fn a_yes_here_does_not_follow_a_link() {
    no_yes_is_stretched(
        |place| {
            fs::create_dir_all(place.work.join("sub")).expect("mkdir");
            symlink(&place.outside, place.work.join("link")).expect("a link");
            symlink("../../outside", place.work.join("sub/link")).expect("a link");
            symlink(place.outside.join("file"), place.work.join("file")).expect("a link");
            symlink("link", place.work.join("twice")).expect("a link");
            for (folder, name) in [("full", "a"), ("deep/er", "a")] {
                fs::create_dir_all(place.work.join(folder)).expect("mkdir");
                symlink(place.outside.join("file"), place.work.join(folder).join(name)).expect("a link");
            }
        },
        (&["cp", "a", "b"], "work"),
        &[
            (&["cp", "a", "link/.bashrc"], "work"),
            (&["cp", "a", "sub/link/.bashrc"], "work"),
            (&["cp", "a", "file"], "work"),
            (&["cp", "a", "twice/.bashrc"], "work"),
            (&["cp", "-t", "link", "a"], "work"),
            (&["cp", "--target-directory=link", "a"], "work"),
            (&["cp", "a", ".bashrc"], "work/link"),
            (&["cp", "a", "full"], "work"),
            (&["cp", "-r", "from/.", "deep"], "work"),
            (&["cp", "link/secret", "a"], "work"),
            (&["ls; cp a link/.bashrc"], "work"),
        ],
    );
}

/// A repository that a command could have made, as files of its own names or in the temporary folder.
#[test]
fn a_yes_to_git_holds_in_its_repository_only() {
    let made = tempfile::tempdir_in("/tmp").expect("a folder");
    fs::create_dir(made.path().join(".git")).expect("mkdir");
    let elsewhere: &'static str = Box::leak(made.path().display().to_string().into_boxed_str());
    let chain: &'static str = Box::leak(format!("cd {elsewhere} && git fetch origin").into_boxed_str());
    let pushed: &'static str = Box::leak(format!("pushd {elsewhere} && git fetch origin").into_boxed_str());
    let rows: &[Wanted] = &[
        (&["git", "fetch", "origin"], "work/lib/x"),
        (&["git", "fetch", "origin"], "work/lib/x/objects"),
        (&["git", "fetch", "origin"], "work/vendor/y"),
        (&["git", "fetch", "origin"], "work/link"),
        (&["cd lib/x && git fetch origin"], "work"),
        (&["pushd lib/x && git fetch origin"], "work"),
        (&["cd lib; cd x; git fetch origin"], "work"),
        (&["cd link; git fetch origin"], "work"),
        (&["builtin cd lib/x; git fetch origin"], "work"),
        (&["git", "-C", "lib/x", "fetch", "origin"], "work"),
        (&["git", "--git-dir=lib/x", "fetch", "origin"], "work"),
        (&["git", "fetch", "--upload-pa=evil", "origin"], "work"),
        (&["git", "fetch", "origin"], "outside"),
    ];
    let set_up = |place: &Place| {
        for folder in [".git", "lib/x/objects", "lib/x/refs", "vendor/y/.git"] {
            fs::create_dir_all(place.work.join(folder)).expect("mkdir");
        }
        fs::write(place.work.join("lib/x/HEAD"), "ref: refs/heads/x\n").expect("write");
        fs::write(place.work.join("lib/x/config"), "[core]\n\tsshCommand = evil\n").expect("write");
        symlink("lib/x", place.work.join("link")).expect("a link");
    };
    no_yes_is_stretched(set_up, (&["git", "fetch", "origin"], "work"), rows);
    for row in [chain, pushed] {
        let place = Place::new(User::Own);
        set_up(&place);
        let said = Said::yes(&place, (&["git", "fetch", "origin"], "work"), true);
        let words: &'static [&'static str] = Box::leak(Box::new([row]));
        assert!(!said.runs_outside(&place, (words, "work")), "{row}");
    }
    // With full access a yes to `git status` is none to that of another repository.
    repel(rows, |(words, folder)| {
        let place = Place::new(User::Own);
        set_up(&place);
        let mut said = Said::nothing();
        let full = SandboxPolicy::DangerFullAccess;
        let ask = |said: &Said, wanted: Wanted| said.verdict(&place, wanted, ApprovalPolicy::Untrusted, &full);
        let Verdict::Ask { scopes, .. } = ask(&said, (&["git", "fetch", "origin"], "work")) else {
            return Err("it does not ask at all".to_owned());
        };
        said.grants.add(scopes.session);
        match ask(&said, (*words, *folder)) {
            Verdict::Run(Confined::Outside) => Err("it runs unasked".to_owned()),
            _ => Ok(()),
        }
    });
}

/// A program that a command has put into a folder of `PATH`.
#[test]
fn a_yes_to_a_program_is_none_to_one_that_was_planted() {
    const PLANTED: &[(&str, &str, Wanted)] = &[
        (".venv/bin", "gh", (&["gh", "pr", "view", "1"], "work")),
        (".venv/bin", "gh", (&["gh pr view 2"], "work")),
        ("node_modules/.bin", "gh", (&["ls && gh pr view 1"], "work")),
        ("node_modules/.bin", "ls", (&["ls && gh pr view 1"], "work")),
        ("bin", "head", (&["gh pr view 1 | head -n 3"], "work")),
        (".git/shims", "gh", (&["gh", "pr", "view", "1"], "work")),
    ];
    repel(PLANTED, |(folder, name, wanted)| {
        let place = Place::new(User::Own);
        guard(&place.work);
        let given: Wanted = (&["gh", "pr", "view", "7"], "work");
        let mut said = Said::yes(&place, given, true);
        let bin = place.work.join(folder);
        fs::create_dir_all(&bin).expect("mkdir");
        said.env
            .insert("PATH".to_owned(), format!("{}:{SYSTEM}", bin.display()));
        if !said.runs_outside(&place, given) {
            return Err("the yes does not hold".to_owned());
        }
        let program = bin.join(name);
        fs::write(&program, "#!/bin/sh\n").expect("write");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("chmod");
        match said.verdict(&place, *wanted, ApprovalPolicy::OnRequest, &SandboxPolicy::default()) {
            Verdict::Ask { scopes, .. } => match scopes.planted {
                Some(planted) if planted.path == program && !scopes.session.can_be_remembered() => Ok(()),
                other => Err(format!("the question does not say which program: {other:?}")),
            },
            other => Err(format!("{other:?}")),
        }
    });
}

/// A program that commands of the agent can change, whatever names it: each run is asked about, since what the person has looked at may
/// be another one by the next.
#[test]
fn a_program_that_commands_can_change_is_asked_about_each_time() {
    const RUNS: &[(&str, &str)] = &[
        ("./tool.sh go", "work/tool.sh"),
        ("WORK/tool.sh go", "work/tool.sh"),
        ("WORK/.venv/bin/python x.py", "work/.venv/bin/python"),
        ("bash -c './tool.sh go'", "work/tool.sh"),
        ("bash -c 'ls && WORK/tool.sh go'", "work/tool.sh"),
        ("bash -c 'cd sub && ../tool.sh'", "work/../tool.sh"),
        ("bash -c '. ./tool.sh'", "work/tool.sh"),
        ("timeout 5 ./tool.sh go", "work/tool.sh"),
        ("bash tool.sh go", "work/tool.sh"),
        ("bash -c 'bash 2>/dev/null tool.sh go'", "work/tool.sh"),
        ("bash -c 'bash >log 2>&1 tool.sh go'", "work/tool.sh"),
        ("python3 ./tool.sh", "work/tool.sh"),
        ("OUTSIDE/bin/link", "outside/bin/link"),
        ("mytool go", "work/.venv/bin/python"),
        ("OUTSIDE/bin/mytool go", "work/.venv/bin/python"),
        ("byenv go", "work/.venv/bin/inner"),
        // In a folder that the command goes to.
        ("bash -c 'cd sub && sh in.sh'", "work/sub/in.sh"),
        ("bash -c 'cd sub; . ./in.sh'", "work/sub/in.sh"),
        ("env -C sub sh in.sh", "work/sub/in.sh"),
        ("bash -c 'cd $X && sh in.sh'", "work/in.sh"),
        // By a name that is not the file's, by an input, by text, by a variable, by another program.
        ("node server", "work/server.js"),
        ("node -r ./server -e 1", "work/server.js"),
        ("bash -c 'bash < tool.sh'", "work/tool.sh"),
        ("bash -c 'cat tool.sh | sh'", "work/tool.sh"),
        ("bash -c 'sh 2>/dev/null tool.sh'", "work/tool.sh"),
        ("python3 -m json.tool", "work"),
        ("bash -c 'python3 -c \"import json\"'", "work"),
        ("bash -c 'LD_PRELOAD=./x.so ls'", "work/x.so"),
        ("bash -c 'PATH=.:$PATH tool'", "work"),
        ("env PATH=.:/usr/bin:/bin tool", "work"),
        ("awk -f tool.sh", "work/tool.sh"),
        ("tar -I ./tool.sh -cf x.tar a", "work/tool.sh"),
        ("git bisect run sh tool.sh", "work/tool.sh"),
        ("bash -c 'find . -name x -exec sh {} +'", "work"),
        ("bash -c 'ls | xargs sh'", "work"),
        ("docker compose up", "work"),
        // By whatever word names it.
        ("split --filter=./tool.sh a", "work/tool.sh"),
        ("ssh-agent ./tool.sh", "work/tool.sh"),
        ("ssh-agent sh tool.sh", "work/tool.sh"),
        ("git grep -O./tool.sh a", "work/tool.sh"),
        ("git push --receive-p=./tool.sh . x", "work/tool.sh"),
        ("tar -cI./tool.sh -f x.tar a", "work/tool.sh"),
        ("gcc -wrapper ./tool.sh a.c", "work/tool.sh"),
        ("python3 /dev/fd/../cwd/server.js", "work/server.js"),
        ("othertool --run=tool.sh", "work/tool.sh"),
    ];
    fn leaked(place: &Place, text: &str) -> Wanted {
        let text = text
            .replace("WORK", &place.work.display().to_string())
            .replace("OUTSIDE", &place.outside.display().to_string());
        let words: Vec<&'static str> = match text.split_once(" -c ") {
            Some((_, text)) => vec![&*Box::leak(text.trim_matches('\'').to_owned().into_boxed_str())],
            None => {
                let words = text.split(' ');
                words
                    .map(|word| &*Box::leak(word.to_owned().into_boxed_str()))
                    .collect()
            }
        };
        (&*Box::leak(words.into_boxed_slice()), "work")
    }
    let made = || {
        let place = Place::new(User::Own);
        guard(&place.work);
        let program = |path: PathBuf, text: String| {
            fs::create_dir_all(path.parent().expect("a folder")).expect("mkdir");
            fs::write(&path, text).expect("write");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("chmod");
        };
        let (bin, venv) = (place.outside.join("bin"), place.work.join(".venv/bin"));
        program(place.work.join("tool.sh"), "#!/bin/sh\n".to_owned());
        program(place.work.join("sub/in.sh"), String::new());
        program(place.work.join("server.js"), String::new());
        program(venv.join("python"), String::new());
        program(venv.join("inner"), String::new());
        program(bin.join("mytool"), format!("#!{}\n", venv.join("python").display()));
        program(bin.join("byenv"), "#!/usr/bin/env inner\n".to_owned());
        program(bin.join("own"), "#!/bin/sh\n".to_owned());
        symlink(place.work.join("tool.sh"), bin.join("link")).expect("a link");
        let mut said = Said::nothing();
        let path = format!("{}:{}:{SYSTEM}", bin.display(), venv.display());
        said.env.insert("PATH".to_owned(), path);
        (place, said)
    };
    repel(RUNS, |(text, changed)| {
        let (place, said) = made();
        let wanted = leaked(&place, text);
        let changed = place.work.parent().expect("a parent").join(changed);
        match said.verdict(&place, wanted, ApprovalPolicy::OnRequest, &SandboxPolicy::default()) {
            Verdict::Ask { scopes, .. } => match scopes.planted {
                Some(planted)
                    if planted.path == changed && !scopes.session.can_be_remembered() && scopes.always.is_none() =>
                {
                    Ok(())
                }
                other => Err(format!(
                    "a yes is kept, or the question does not say of what: {other:?}"
                )),
            },
            other => Err(format!("{other:?}")),
        }
    });
    // A yes to what commands cannot change is kept.
    for text in ["own go", "OUTSIDE/bin/own go"] {
        let (place, mut said) = made();
        let wanted = leaked(&place, text);
        let verdict = said.verdict(&place, wanted, ApprovalPolicy::OnRequest, &SandboxPolicy::default());
        let scopes = match verdict {
            Verdict::Ask { scopes, .. } => scopes,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(scopes.planted, None, "{text}");
        said.grants.add(scopes.session);
        assert!(said.runs_outside(&place, wanted), "{text}");
    }
}

/// A rule that lets an interpreter out runs nothing that commands wrote, wherever the command goes first.
#[test]
fn a_rule_for_an_interpreter_runs_nothing_that_commands_wrote() {
    const ROWS: &[&str] = &[
        "python3 d/m.py",
        "python3 -m m",
        "python3 m",
        "python3 /dev/fd/../cwd/m.py",
        "python3 /proc/self/cwd/m.py",
        "sh: cd d && python3 m.py",
        "sh: cd d; ls; python3 m.py",
        "sh: pushd d; python3 m.py",
        "sh: cd d && cd .. && python3 d/m.py",
    ];
    let set_up = || {
        let place = Place::new(User::Own);
        guard(&place.work);
        fs::create_dir_all(place.work.join("d")).expect("mkdir");
        for file in [
            place.work.join("d/m.py"),
            place.work.join("m.py"),
            place.outside.join("own.py"),
        ] {
            fs::write(file, "").expect("write");
        }
        let said = Said::ruled(
            &place,
            "[[rule]]\nprefix = [\"python3\"]\ndecision = \"allow\"\nsandbox = \"outside\"\n",
        );
        (place, said)
    };
    repel(ROWS, |row| {
        let (place, said) = set_up();
        match said.runs_outside(&place, (kept_words(row), "work")) {
            true => Err("it runs outside unasked".to_owned()),
            false => Ok(()),
        }
    });
    let (place, said) = set_up();
    let own = kept(format!("python3 {}", place.outside.join("own.py").display()));
    assert!(said.runs_outside(&place, (kept_words(own), "work")), "{own}");
}

/// What only reads does not ride out of the sandbox if it loads code, dials, or reads more than its words name.
#[test]
fn what_rides_along_does_no_more_than_read() {
    const RIDERS: &[&str] = &[
        "openssl x509 -noout -in org.openssl.engine:/tmp/evil.so:x",
        "openssl x509 -noout -in c.pem",
        "brew info ./evil.rb",
        "svn log",
        "kubectl get -k dir",
        "yq .x y.yaml",
        "zcat x.gz",
        "tar tzf x.tgz",
        "sdiff a b",
        "file --uncompress-noreport x",
        "xmllint http://evil.example/x",
        "gawk 1 /inet/tcp/0/evil.example/80",
        "awk 'BEGIN{ARGV[1]=\"/etc/shadow\"}{print}' a",
        "awk 'BEGIN{ARGC=2;split(\"/etc/shadow\",ARGV)}{print}'",
        "mawk 'BEGIN{ARGC=2;split(\"\\057proc\\057self\\057environ\",ARGV)}{print}'",
        "gawk 'BEGIN{for(i in SYMTAB)print i,SYMTAB[i]}'",
        "gawk 'BEGIN{f=\"ARGV\";SYMTAB[f][1]=\"/etc/shadow\"}{print}' a",
        "docker search evil.example/x",
        "helm show chart http://evil.example",
        "git status",
        "cat list | xargs cat",
        "wc --files0-from=list",
        "grep -R x .",
        "diff -r a b",
        "cat link/key",
    ];
    repel(RIDERS, |rider| {
        let place = Place::new(User::Own);
        symlink(&place.outside, place.work.join("link")).expect("a link");
        for always in [false, true] {
            let said = Said::yes(&place, (&["touch", "x"], "work"), always);
            let out = |text: &str| {
                let words: &'static [&'static str] =
                    Box::leak(Box::new([&*Box::leak(text.to_owned().into_boxed_str())]));
                said.runs_outside(&place, (words, "work"))
            };
            for text in [format!("{rider}; touch x"), format!("touch x && {rider}")] {
                if out(&text) {
                    return Err(format!("it rides along (always: {always})"));
                }
            }
            if !out("ls -la; cat a; touch x | head -n 3") {
                return Err("plain reading does not ride".to_owned());
            }
        }
        Ok(())
    });
}

/// What comes into the work is what was asked about: no other branch, no other remote, nothing that somebody asks to be pulled.
#[test]
fn a_yes_to_take_something_in_is_none_to_something_else() {
    let repository = |place: &Place| {
        for folder in [".git/objects", ".git/refs", ".hg", ".jj"] {
            fs::create_dir_all(place.work.join(folder)).expect("mkdir");
        }
    };
    let stretched: [(&'static [&'static str], &'static [Wanted]); 11] = [
        (
            &["git", "pull"],
            &[
                (&["git", "pull", "origin", "pull/7/head"], "work"),
                (&["git", "pull", "--no-rebase", "origin", "refs/pull/7/merge"], "work"),
                (&["git", "pull", "other", "main"], "work"),
                (&["git", "pull", "origin"], "work"),
                (&["git pull -q origin pull/7/head"], "work"),
            ],
        ),
        (
            &["git", "pull", "origin", "main"],
            &[(&["git", "pull", "origin", "pull/7/head"], "work")],
        ),
        (
            &["git", "push"],
            &[
                (&["git", "push", "other"], "work"),
                (&["git", "push", "-u", "other", "main"], "work"),
            ],
        ),
        (
            &["git", "push", "origin", "main"],
            &[(&["git", "push", "other", "main"], "work")],
        ),
        (&["git", "fetch"], &[(&["git", "fetch", "other"], "work")]),
        (&["hg", "update"], &[(&["hg", "update", "evil"], "work")]),
        (&["hg", "pull"], &[(&["hg", "pull", "other"], "work")]),
        (&["jj", "new"], &[(&["jj", "new", "evil"], "work")]),
        (
            &["gh", "pr", "view", "7"],
            &[
                (&["gh", "pr", "view", "7", "-R", "other/private"], "work"),
                (&["gh", "pr", "view", "7", "-cRother/private"], "work"),
                (&["gh", "pr", "view", "--repo=other/private", "7"], "work"),
                (&["gh", "pr", "view", "--repo", "other/private", "7"], "work"),
            ],
        ),
        (
            &["gh", "repo", "view"],
            &[(&["gh", "repo", "view", "other/private"], "work")],
        ),
        (
            &["glab", "mr", "view", "7"],
            &[(&["glab", "mr", "view", "7", "-R", "other/private"], "work")],
        ),
    ];
    for (yes, rows) in stretched {
        no_yes_is_stretched(repository, (yes, "work"), rows);
    }
    // Other commits, and other pull requests of the same, are what was meant.
    let meant: [(&'static [&'static str], &'static [&'static str]); 3] = [
        (&["git", "push", "origin", "main"], &["git", "push", "origin", "topic"]),
        (
            &["git", "pull", "origin", "main"],
            &["git", "pull", "--ff-only", "origin", "main"],
        ),
        (&["gh", "pr", "view", "7"], &["gh", "pr", "view", "8", "--comments"]),
    ];
    for (yes, same) in meant {
        let place = Place::new(User::Own);
        repository(&place);
        let said = Said::yes(&place, (yes, "work"), false);
        assert!(said.runs_outside(&place, (same, "work")), "{same:?}");
    }
}

/// A hook is the person's, and what it starts may do what files of the folder say: it is named, and asked about each time.
#[test]
fn a_yes_to_version_control_is_none_to_what_its_hooks_start() {
    const ROWS: &[(&str, Wanted)] = &[
        ("pre-commit", (&["git", "commit", "-m", "x"], "work")),
        ("pre-commit", (&["git", "commit", "--amend", "--no-edit"], "work")),
        ("commit-msg", (&["git commit -qm y"], "work")),
        ("commit-msg", (&["touch a && git commit -qm y"], "work")),
        ("pre-push", (&["git", "push"], "work")),
        ("pre-push", (&["git", "push", "-u", "origin", "HEAD"], "work")),
        ("pre-push", (&["gh", "pr", "create", "--fill"], "work")),
        ("post-merge", (&["git", "pull"], "work")),
        ("post-merge", (&["git", "merge", "topic"], "work")),
        ("post-checkout", (&["git", "switch", "topic"], "work")),
        ("pre-rebase", (&["git", "rebase", "main"], "work")),
        ("post-commit", (&["git", "-C", ".", "commit", "-m", "x"], "work")),
    ];
    repel(ROWS, |(hook, wanted)| {
        let place = Place::new(User::Own);
        for folder in [".git/objects", ".git/refs", ".git/hooks"] {
            fs::create_dir_all(place.work.join(folder)).expect("mkdir");
        }
        fs::write(place.work.join(".git/HEAD"), "ref: refs/heads/main\n").expect("write");
        let before = Said::yes_if_offered(&place, *wanted, false);
        let rule = Said::yes_if_offered(&place, *wanted, true);
        let file = place.work.join(".git/hooks").join(hook);
        fs::write(&file, "#!/bin/sh\nexec make -s lint\n").expect("write");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("chmod");
        if before.is_some_and(|said| said.runs_outside(&place, *wanted)) {
            return Err("a yes from before the hook holds".to_owned());
        }
        if rule.is_some_and(|said| said.runs_outside(&place, *wanted)) {
            return Err("a rule from before the hook holds".to_owned());
        }
        let verdict = Said::nothing().verdict(&place, *wanted, ApprovalPolicy::OnRequest, &SandboxPolicy::default());
        let Verdict::Ask { scopes, .. } = verdict else {
            return Err(format!("{verdict:?}"));
        };
        let told = scopes.hooks.as_ref().map(ToString::to_string).unwrap_or_default();
        match (
            scopes.session.can_be_remembered(),
            scopes.always.is_some(),
            told.contains(hook),
        ) {
            (false, false, true) => Ok(()),
            other => Err(format!("{other:?} {told}")),
        }
    });
}

/// A pattern of the shell becomes words that nobody has seen: through a link, to an option, out of the folder.
#[test]
fn a_yes_here_does_not_hold_for_a_pattern() {
    no_yes_is_stretched(
        |place| {
            symlink(&place.outside, place.work.join("link")).expect("a link");
            fs::write(place.work.join("--target-directory=.."), "").expect("write");
        },
        (&["cp", "a", "b"], "work"),
        &[
            (&["cp work.bashrc lin[k]/.bashrc"], "work"),
            (&["cp .bashrc lin?/.bashrc"], "work"),
            (&["cp .bashrc .?"], "work"),
            (&["cp .bashrc -*"], "work"),
            (&["cp a *"], "work"),
            (&["ls; cp .bashrc l*k/.bashrc 2>&1"], "work"),
        ],
    );
    // Nor does a rule on paths here that the person wrote.
    let place = Place::new(User::Own);
    symlink(&place.outside, place.work.join("link")).expect("a link");
    let said = Said::ruled(
        &place,
        "[[rule]]\nprefix = [\"cp\"]\ndecision = \"allow\"\nsandbox = \"outside\"\npaths = \"here\"\n",
    );
    assert!(said.runs_outside(&place, (&["cp a b"], "work")));
    assert!(
        said.runs_outside(&place, (&["cp", "a", "b*"], "work")),
        "no shell reads these words"
    );
    assert!(!said.runs_outside(&place, (&["cp a lin[k]/.bashrc"], "work")));
    assert!(!said.runs_outside(&place, (&["cp", "a", ".envrc"], "work")));
}

/// A repository among the operands, whose hooks run.
#[test]
fn a_yes_to_push_goes_to_no_repository_that_was_made() {
    let made = tempfile::tempdir_in("/tmp").expect("a folder");
    for name in ["evil", "short.git", "with/.git"] {
        fs::create_dir_all(made.path().join(name).join("refs")).expect("mkdir");
        fs::write(made.path().join(name).join("HEAD"), "ref: refs/heads/x\n").expect("write");
    }
    let at = |name: &str| kept(made.path().join(name).display().to_string());
    let rows = ["evil", "short", "short.git", "with", "with/", "not-yet"];
    let mut rows: Vec<Wanted> = rows
        .into_iter()
        .map(|name| {
            (
                &*Box::leak(vec!["git", "push", at(name), "HEAD:x"].into_boxed_slice()),
                "work",
            )
        })
        .collect();
    rows.extend([
        (["git", "push", "node_modules/x", "HEAD:x"].as_slice(), "work"),
        (&["git", "push", "node_modules/x/refs", "HEAD:x"], "work"),
        (&["git", "push", "pointer", "HEAD:x"], "work"),
        (&["git", "push", "--repo=node_modules/x"], "work"),
        (&["git", "push", "../not-yet", "HEAD:x"], "work"),
        (&["git", "push", "ext::evil", "HEAD:x"], "work"),
    ]);
    let set_up = |place: &Place| {
        for folder in [".git", "node_modules/x/refs", "node_modules/x/objects"] {
            fs::create_dir_all(place.work.join(folder)).expect("mkdir");
        }
        fs::write(place.work.join("node_modules/x/HEAD"), "ref: refs/heads/x\n").expect("write");
        fs::write(place.work.join("pointer"), "gitdir: node_modules/x\n").expect("write");
    };
    no_yes_is_stretched(set_up, (&["git", "push", "origin", "HEAD:main"], "work"), &rows);
    let place = Place::new(User::Own);
    set_up(&place);
    fs::write(place.work.join("a"), "").expect("write");
    let said = Said::yes(&place, (&["git", "push", "origin", "HEAD:main"], "work"), true);
    assert!(said.runs_outside(&place, (&["git", "push", "-u", "origin", "feature/x"], "work")));
}

/// A file that holds commits, which the sandbox can make, is no repository that the person has said yes to.
#[test]
fn a_yes_to_a_remote_is_none_to_a_file_with_commits() {
    const FILES: &[(&str, &str)] = &[
        ("git pull origin main", "git pull -q x.bundle HEAD"),
        ("git pull origin main", "git pull ./other HEAD"),
        ("git pull origin main", "git pull sub/../other HEAD"),
        ("git pull", "git pull other"),
        ("git pull", "git pull link"),
        ("git pull", "git pull later.bundle"),
        ("git pull", "git pull file:other"),
        ("git fetch origin", "git fetch x m"),
        ("git fetch origin", "git fetch --depth 1 other"),
        ("git fetch origin", "git fetch --tags -- other"),
        ("git fetch origin", "git fetch --multiple origin other"),
        ("git push origin x", "git push other x"),
        ("git push origin x", "git push --repo=other"),
        ("git ls-remote origin", "git ls-remote other"),
        ("hg pull", "hg pull other"),
        ("hg pull", "hg pull later.hg"),
        ("hg pull", "hg pull bundle:sub"),
        ("hg push", "hg push other"),
        ("sh: git fetch -q", "sh: git fetch -q other 2>&1 | tail -n 3"),
    ];
    let place = || {
        let place = Place::new(User::Own);
        for folder in [".git", "sub", "docs"] {
            fs::create_dir(place.work.join(folder)).expect("mkdir");
        }
        for file in ["x.bundle", "other", "main"] {
            fs::write(place.work.join(file), "# v2 git bundle\n").expect("write");
        }
        symlink("other", place.work.join("link")).expect("a link");
        place
    };
    no_yes_leads_on(FILES, || (place(), Said::nothing()));
    // A branch may be called as a file is.
    for (given, wanted) in [
        ("git pull origin main", "git pull -q origin main"),
        ("git push origin x", "git push -u origin main docs"),
        ("git fetch origin x", "git fetch -q --prune origin docs"),
    ] {
        let place = place();
        let said = Said::yes(&place, (kept_words(given), "work"), true);
        assert!(said.runs_outside(&place, (kept_words(wanted), "work")), "{wanted}");
    }
}

/// Options, sub-sub-commands and operands by which a command runs another program. The yes is to the command in front.
#[test]
fn a_yes_to_a_program_is_none_to_another_that_it_starts() {
    const STARTING: &[(&str, &str)] = &[
        ("git submodule status", "git submodule foreach sh"),
        ("git config user.name x", "git config core.fsmonitor evil"),
        ("git bisect log", "git bisect run ./evil"),
        ("git log", "git log --ext-diff"),
        ("git grep x", "git grep -O./evil x"),
        ("git difftool x", "git difftool -yxevil"),
        ("git clone git@a.example:x", "git clone -u ./evil git@a.example:x"),
        ("git clone git@a.example:x", "git clone --template=evil git@a.example:x"),
        ("git send-email x", "git send-email --smtp-server=./evil x"),
        ("git fetch", "git fetch --upload-pack ./evil"),
        ("git rebase main", "git rebase -x ./evil main"),
        ("git push origin x", "git push --receive-pack=./evil origin x"),
        ("git push origin x", "git push origin +x"),
        ("git push origin x", "git push origin :x"),
        (
            "wget http://a.example/x",
            "wget --use-askpass=./evil http://a.example/x",
        ),
        ("wget http://a.example/x", "wget -i list"),
        (
            "wget http://a.example/x",
            "wget -e use_askpass=./evil http://a.example/x",
        ),
        ("curl localhost:80/x", "curl localhost:x@127.0.0.2/?secret"),
        ("curl localhost:80/x", "curl 127.0.0.2/?x=://localhost"),
        ("curl localhost:80/x", "curl 127.0.0.2?localhost"),
        ("curl http:/localhost/x", "curl http:/127.0.0.2/x"),
        ("curl http:///localhost/x", "curl http:///127.0.0.2/x"),
        ("wget localhost/x", "wget 127.0.0.2:x@localhost/"),
        ("curl localhost:80/x", "curl -s -K localhost"),
        ("curl localhost:80/x", "curl -sK localhost"),
        ("curl localhost:80/x", "curl --config localhost"),
        ("curl localhost:80/x", "curl -d @.env localhost:80/x"),
        ("curl localhost:80/x", "curl -J -O localhost:80/x"),
        ("install a b", "install -s --strip-program=./evil a c"),
        ("scp a h:x", "scp -S ./evil a h:x"),
        ("scp a h:x", "scp -F evil a h:x"),
        ("rsync a b", "rsync -e ./evil a b"),
        ("rsync a b", "rsync -ae./evil a b"),
        ("setarch x86_64 true", "setarch x86_64 sh evil.sh"),
        ("linux64 true", "linux64 sh evil.sh"),
        ("run-parts a", "run-parts b"),
        ("ansible-playbook a", "ansible-playbook b"),
        ("ipython a", "ipython b"),
        ("luajit a", "luajit b"),
        ("m4 a", "m4 b"),
        ("mytool go", "mytool sh -c evil"),
        ("mytool go", "mytool @resp"),
        ("mytool go", "mytool go on"),
        ("apt-get update", "apt-get update -o APT::Update::Pre-Invoke::=evil"),
        ("apt-get update", "apt-get update -c file"),
        ("sort a", "sort --compress-program=./evil a"),
        ("split a", "split --filter=./evil a"),
        ("gcc a.c", "gcc -B./ a.c"),
        ("gcc a.c", "gcc -fplugin=./evil.so a.c"),
        ("gcc a.c", "gcc @resp"),
        ("zip x a", "zip -TT ./evil x a"),
        ("go build", "go build -toolexec ./evil"),
        ("go build x", "go build -toolexec=./evil x"),
        ("helm install x y", "helm install x y --post-renderer ./evil"),
        ("svn update", "svn update --diff3-cmd ./evil"),
        ("svn commit -m x", "svn commit --editor-cmd ./evil"),
        ("pip install", "pip install --python ./evil"),
        ("pip install", "pip install evil"),
        ("npm install", "npm install evil"),
        ("npm run build", "npm run build --script-shell=./evil"),
        ("npm run build", "npm run evil"),
        ("cargo test", "cargo test --config x"),
        ("cargo test", "cargo run"),
        ("make test", "make -f evil test"),
        ("make test", "make test SHELL=./evil"),
        ("make test", "make test evil"),
        ("cpio -idF a.cpio", "cpio -idF b.cpio"),
        ("gh pr view 7", "gh extension exec evil"),
        ("gh pr view 7", "gh pr checkout 7"),
        ("docker ps", "docker run -v /:/x y"),
        ("rm a", "rm -r b"),
        ("cp a b", "cp -l a b"),
        ("sh: cp a b", "sh: cp a sh"),
    ];
    no_yes_leads_on(STARTING, || {
        let place = Place::new(User::Own);
        fs::create_dir(place.work.join(".git")).expect("mkdir");
        for file in ["a.cpio", "b.cpio"] {
            fs::write(place.work.join(file), "").expect("write");
        }
        (place, Said::nothing())
    });
}

/// What keeps a command from doing more was a part of what was allowed, and so was where it goes.
#[test]
fn a_yes_to_less_is_none_to_more() {
    const MORE: &[(&str, &str)] = &[
        ("npm ci --ignore-scripts", "npm ci"),
        ("npm install --ignore-scripts", "npm install"),
        ("git push --dry-run origin main", "git push origin main"),
        ("git push -n origin main", "git push origin main"),
        ("cp -n a c", "cp -f a b"),
        ("cp -rn a c", "cp -r a b"),
        ("mv -n a c", "mv -f a b"),
        ("cargo test --no-run", "cargo test"),
        ("cargo fmt --check", "cargo fmt"),
        ("cargo update --dry-run", "cargo update"),
        ("git branch --list x", "git branch new"),
        ("git branch -a", "git branch new"),
        ("git tag -l v1", "git tag v1"),
        ("git rm --cached a", "git rm a"),
        ("git add -n a", "git add a"),
        ("git pull --ff-only origin main", "git pull origin main"),
        ("gh pr create --draft -t x", "gh pr create -t x"),
        ("touch -c a", "touch a"),
        // Where it goes is said elsewhere then.
        ("git push origin x", "git push"),
        ("git push origin x", "git push -q"),
        ("git fetch origin", "git fetch"),
        ("git fetch origin", "git fetch --all"),
        ("git pull origin main", "git pull origin"),
        ("git pull origin main", "git pull"),
    ];
    no_yes_leads_on(MORE, || {
        let place = Place::new(User::Own);
        fs::create_dir(place.work.join(".git")).expect("mkdir");
        (place, Said::nothing())
    });
    // The other way round it is no more than what was allowed.
    for (given, wanted) in [
        ("npm ci", "npm ci --ignore-scripts"),
        ("git push origin main", "git push --dry-run origin main"),
        ("cp a b", "cp -n a c"),
        ("cp -n a b", "cp -n a c"),
    ] {
        let place = Place::new(User::Own);
        fs::create_dir(place.work.join(".git")).expect("mkdir");
        let said = Said::yes(&place, (kept_words(given), "work"), false);
        assert!(
            said.runs_outside(&place, (kept_words(wanted), "work")),
            "{given}: {wanted}"
        );
    }
}

/// What stays the same command for a person goes on without a question.
#[test]
fn a_yes_to_a_shape_holds_for_that_shape() {
    const SAME: &[(&str, &str)] = &[
        ("cp a b", "cp -rf c sub/d"),
        ("mkdir a", "mkdir -p b/c"),
        ("git commit -m x", "git commit -am y"),
        ("git push origin x", "git push -u origin feature/y"),
        ("git push --no-verify origin", "git push --no-verify origin y"),
        ("cargo test", "cargo test -p x --lib name"),
        ("gh pr view 7", "gh pr view 8 --comments"),
        ("gh pr view 7", "gh pr view 8 --json title"),
        ("curl -s https://a.example/x", "curl -fsS https://a.example/y"),
        ("npm run build", "npm run build --silent"),
        ("touch a", "touch b c"),
        ("cp a b", "cp -r c d"),
        ("cp a b", "cp -a c d"),
        ("mv a b", "mv -f c d"),
        ("rm a", "rm -v b"),
        ("git commit -m x", "git commit -m fix:y"),
        ("git commit -m fix:x", "git commit -m feat:y"),
        ("git commit -m x", "git commit -am see:https://a.example/x"),
        ("git commit -m x", "git commit -m costs:$5"),
        ("git commit -m x", "git commit -m .envrc"),
        ("git push origin v1.2:v1.2", "git push origin v1.3:v1.3"),
        ("gh pr create -t x -b y", "gh pr create -t fix:x -b https://a.example/x"),
        ("curl -s -m 5 https://a.example/x", "curl -s -m 9 https://a.example/y"),
    ];
    for (given, wanted) in SAME {
        for always in [false, true] {
            let place = Place::new(User::Own);
            fs::create_dir(place.work.join(".git")).expect("mkdir");
            let Some(said) = Said::yes_if_offered(&place, (kept_words(given), "work"), always) else {
                // For these a rule for always is never offered.
                assert!(always && ["mv", "rm"].contains(&&given[..2]), "{given}");
                continue;
            };
            assert!(
                said.runs_outside(&place, (kept_words(wanted), "work")),
                "{given}: {wanted}"
            );
        }
    }
}

/// What other programs act on by themselves is not among the paths of the folder, whatever names it.
#[test]
fn a_yes_here_does_not_open_what_acts_later() {
    const ACTING: &[(&str, &str)] = &[
        ("cp a b", "cp evil .git/hooks/post-checkout"),
        ("cp a b", "cp evil .git/config"),
        ("cp a b", "cp evil .envrc"),
        ("cp a b", "cp evil sub/.envrc"),
        ("cp a b", "cp a x.countersign.md"),
        ("cp a b", "cp a link/config"),
        ("cp a b", "cp a .vscode/settings.json"),
        ("cp a b", "cp from/.envrc ."),
        ("cp a b", "cp -r from sub"),
        ("cp a b", "cp -t .vscode a"),
        ("cp a b", "cp --target-directory=.vscode a"),
        ("cp a b", "cp config.toml .cargo"),
        ("cp a b", "cp a config.toml .cargo/"),
        ("cp a b", "cp -t .cargo config.toml"),
        ("cp a b", "cp -ft.cargo config.toml"),
        ("cp a b", "cp -r gh .github"),
        ("cp a b", "cp -r gh/. .github"),
        ("cp a b", "cp -rT gh .github"),
        ("mv a b", "mv gh .github"),
        ("mv a b", "mv config.toml .cargo"),
        ("git mv a b", "git mv config.toml .cargo"),
        ("git mv a b", "git mv gh .github"),
        ("git mv a b", "git mv from sub"),
        ("git rm a", "git rm -r from"),
        (
            "curl -s --output-dir .cargo -o x http://localhost/x",
            "curl -s --output-dir .cargo -o config.toml http://localhost/x",
        ),
        (
            "wget -P .cargo http://localhost/x",
            "wget -P .cargo http://localhost/config.toml",
        ),
        ("cp a b", "cp a ev/HEAD"),
        ("cp a b", "cp parts/HEAD ev"),
        ("cp a b", "cp -rT parts ev"),
        ("mv a b", "mv a ev/HEAD"),
        ("touch a", "touch ev/HEAD"),
        ("touch a", "touch ev/../ev/head"),
        ("mkdir a", "mkdir half/objects half/refs"),
        ("mkdir a", "mkdir -p half/objects/x half/refs"),
        ("curl -so x http://localhost/x", "curl -so ev/HEAD http://localhost/x"),
        ("mv a b", "mv .git gone"),
        ("mv a b", "mv from sub"),
        ("rm a", "rm -r .git"),
        ("rm a", "rm -r from"),
        ("touch a", "touch .envrc"),
        ("git log", "git log --output=.vscode/x"),
        ("git archive x", "git archive -o .git/hooks/pre-commit x"),
        ("curl -sO http://localhost/x", "curl -sO http://localhost/.envrc"),
        ("curl -sO http://localhost/x", "curl -sO http://localhost/.envrc?x"),
        ("curl -sO http://localhost/x", "curl -sO http://localhost/{.envrc,x}"),
        ("wget http://localhost/x", "wget http://localhost/%2Eenvrc"),
        ("curl -so x http://localhost/x", "curl -so .envrc http://localhost/x"),
    ];
    repel(ACTING, |(given, wanted)| {
        for always in [false, true] {
            let place = Place::new(User::Own);
            let folders = [".git", "from", "sub", ".vscode", ".cargo", "gh/prompts"];
            for folder in folders.into_iter().chain(["ev/objects", "ev/refs", "half", "parts"]) {
                fs::create_dir_all(place.work.join(folder)).expect("mkdir");
            }
            for file in [
                "from/.envrc",
                "config.toml",
                "gh/prompts/p.prompt.md",
                "half/HEAD",
                "parts/HEAD",
            ] {
                fs::write(place.work.join(file), "").expect("write");
            }
            symlink(".git", place.work.join("link")).expect("a link");
            let given = (kept_words(given), "work");
            let Some(said) = Said::yes_if_offered(&place, given, always) else {
                continue;
            };
            if said.runs_outside(&place, (kept_words(wanted), "work")) {
                return Err(format!("it runs outside unasked (always: {always})"));
            }
        }
        Ok(())
    });
}

/// A rule on paths here does not hold for what writes under names that its words do not say.
#[test]
fn a_rule_for_paths_here_does_not_hold_for_names_that_only_files_and_scripts_say() {
    const ALL: &str = "[[rule]]\nprefix = [[\"ar\", \"awk\", \"bsdtar\", \"convert\", \"cp\", \"ed\", \"ffmpeg\", \"gcc\", \"git\", \"ln\", \"mv\", \"patch\", \
                       \"perl\", \"rsync\", \"sed\", \"sqlite3\", \"tar\", \"touch\", \"unzip\", \"vim\", \"yq\", \"zip\"]]\ndecision = \"allow\"\n\
                       sandbox = \"outside\"\npaths = \"here\"\n";
    let place = Place::new(User::Own);
    let said = Said::ruled(&place, ALL);
    let rows = [
        "tar xf a.tar",
        "tar --one-top-level -xf a.tar",
        "bsdtar -xf a.zip",
        "unzip -o a.zip",
        "ar x a.a",
        "patch -p1 -i a.diff",
        "git apply a.diff",
        "git am a.mbox",
        "git -C . apply a.diff",
        "rsync -a --files-from=list sub t",
        "gcc @list",
        "cp --backup=simple --suffix=rc a .env",
        "cp -bS rc a .env",
        "mv -bSrc a .env",
        "ln -sfbSrc a .env",
        "sed -irc s/a/b/ .env",
        "sh: sed -n 'w .envrc' a",
        "sh: sed 's/a/b/w.envrc' a",
        "sh: sed -e p -e 'w .envrc' a",
        "sh: sed 'p;w .envrc' a",
        "sh: sed '\\,a,w .envrc' a",
        "sed -f a b",
        "perl -irc -pe 1 .env",
        "sh: awk '{ print > \".envrc\" }' a",
        "sh: sqlite3 a.db '.output .envrc' 'select 1'",
        "sh: vim -es '+w .envrc' '+q' a",
        "sh: echo 'w .envrc' | ed a",
        "sh: sed 'r /etc/shadow' a",
        "sh: sed '1R /etc/shadow' a",
        "sh: sed 'p;r/etc/shadow' a",
        "sh: awk 'BEGIN{ARGV[1]=\"/etc/shadow\"}{print}' a",
        "sh: awk '{while((getline l<\"/etc/shadow\")>0)print l}' a",
        "sh: yq 'load_str(\"/etc/shadow\")' a",
        "convert label:@/etc/shadow o.png",
        "ffmpeg -i concat:/etc/shadow o",
        "tar czf a.tgz -T list",
        "tar -czf a.tgz --files-from=list",
        "zip a.zip -@",
    ];
    repel(&rows, |text| {
        match said.runs_outside(&place, (kept_words(text), "work")) {
            true => Err("it runs outside unasked".to_owned()),
            false => Ok(()),
        }
    });
    for text in [
        "tar czf a.tgz sub",
        "unzip -l a.zip",
        "git add a",
        "cp -a a b",
        "mv a b",
        "sed -i s/word/will/ a",
        "sed -n 2p a",
        "gcc -c a.c",
        "touch a",
    ] {
        assert!(said.runs_outside(&place, (kept_words(text), "work")), "{text}");
    }
}

/// What the person's settings keep besides, and what shells and logins act on where the home folder is the conversation's own.
#[test]
fn a_yes_here_does_not_open_what_the_settings_keep() {
    const KEPT: &[(&str, &str)] = &[
        ("cp a b", "cp a .bashrc"),
        ("cp a b", "cp a .ssh/authorized_keys"),
        ("cp a b", "cp a .ssh"),
        ("cp a b", "cp a .config/x"),
        ("touch b", "touch .profile"),
        ("mkdir d", "mkdir bin"),
        ("mv a b", "mv a .local/bin/ls"),
        ("mv a b", "mv bin .local"),
        ("cp a b", "cp a deploy.yml"),
        ("cp a b", "cp a sub/Deploy.yml"),
        ("rm a", "rm deploy.yml"),
        ("cp a b", "cp a hooks/pre-commit"),
        ("cp a b", "cp pre-commit hooks"),
        ("mv a b", "mv hooks old"),
        ("cp a b", "cp a sub/own/pre-commit"),
        ("cp a b", "cp a own-of-sub/pre-commit"),
        ("cp a b", "cp pre-commit own-of-sub"),
        ("cp a b", "cp a of-module/pre-commit"),
        ("cp a b", "cp a deep/down/filter.sh"),
        (
            "curl -so x http://localhost/x",
            "curl -so deploy.yml http://localhost/x",
        ),
    ];
    let kept = |place: &Place| {
        let closed = Confinement::outside().closed();
        let (more, free) = (["deploy.yml".to_owned()], [".envrc".to_owned()]);
        Said::keeping(Kept::new(closed, &more, &free, Some(&place.work)).within(&place.work))
    };
    let place = || {
        let place = Place::new(User::Own);
        for folder in [".git", "sub", ".ssh", ".local", "hooks"] {
            fs::create_dir(place.work.join(folder)).expect("mkdir");
        }
        fs::write(place.work.join(".git/HEAD"), "ref: refs/heads/x\n").expect("write");
        fs::write(place.work.join(".git/config"), "[core]\n\thooksPath = hooks\n").expect("write");
        // A repository below, one in that, and a submodule.
        let repositories = [
            (
                "sub/.git",
                "[core]\n\thooksPath = ../own-of-sub\n[include]\n\tpath = ../own/more\n",
            ),
            ("deep/down/.git", "[filter \"x\"]\n\tclean = ./filter.sh\n"),
            (".git/modules/module", "[core]\n\thooksPath = ../of-module\n"),
        ];
        for (folder, settings) in repositories {
            let folder = place.work.join(folder);
            fs::create_dir_all(folder.join("objects")).expect("mkdir");
            fs::write(folder.join("HEAD"), "ref: refs/heads/x\n").expect("write");
            fs::write(folder.join("config"), settings).expect("write");
        }
        fs::create_dir_all(place.work.join("sub/own")).expect("mkdir");
        fs::write(
            place.work.join("sub/own/more"),
            "[core]\n\tfsmonitor = own/pre-commit\n",
        )
        .expect("write");
        fs::create_dir(place.work.join("module")).expect("mkdir");
        fs::write(place.work.join("module/.git"), "gitdir: ../.git/modules/module\n").expect("write");
        fs::create_dir(place.work.join("own-of-sub")).expect("mkdir");
        place
    };
    no_yes_leads_on(KEPT, || {
        let place = place();
        let said = kept(&place);
        (place, said)
    });
    // What they keep no more is a file like others.
    let place = place();
    let said = kept(&place).and_yes(&place, (&["cp", "a", "b"], "work"), false);
    let said = said.expect("a yes");
    for wanted in ["cp a .envrc", "cp a sub", "cp a sub/.bashrc"] {
        assert!(said.runs_outside(&place, (kept_words(wanted), "work")), "{wanted}");
    }
}

/// A link that is planted after the yes, in the way of a name that the command makes up or had when it was allowed.
#[test]
fn a_yes_does_not_follow_a_link_that_comes_later() {
    const LATER: &[(&str, &str)] = &[
        ("curl -sO http://localhost/x", "curl -sO http://localhost/b"),
        (
            "curl -s --remote-name http://localhost/x",
            "curl -s --remote-name http://localhost/b",
        ),
        ("wget http://localhost/x", "wget http://localhost/b"),
        ("cp a b", "cp a b"),
        ("mytool a b", "mytool a b"),
        ("unzip a.zip", "unzip a.zip"),
        ("unzip a.zip -d sub", "unzip a.zip -d sub"),
        ("patch -i x", "patch -i x"),
        ("git apply x", "git apply x"),
        ("sh: cd sub && cp a b", "sh: cd sub && cp a b"),
    ];
    let set_up = || {
        let place = Place::new(User::Own);
        for folder in [".git", "sub"] {
            fs::create_dir(place.work.join(folder)).expect("mkdir");
        }
        for file in ["a.zip", "x"] {
            fs::write(place.work.join(file), "").expect("write");
        }
        (place, Said::nothing())
    };
    no_yes_leads_on_after(LATER, set_up, |place| {
        for link in ["b", "sub/b"] {
            symlink(place.outside.join(".bashrc"), place.work.join(link)).expect("a link");
        }
    });
}

/// What an archive, or a patch, holds decides what is written, so a yes is one to that content.
#[test]
fn a_yes_to_an_archive_is_none_to_another_under_its_name() {
    const UNPACKING: &[&str] = &[
        "tar xf a.tar",
        "tar -xvfa.tar",
        "tar --extract --file=a.tar",
        "bsdtar -xf a.tar",
        "unzip a.zip",
        "unzip a",
        "7z x a.zip",
        "cpio -idF a.tar",
        "patch -p1 -i a.diff",
        "dpkg -x a.deb sub",
        "timeout 5 tar xf a.tar",
        "sh: cd sub && tar xf ../a.tar",
        "sh: tar x < a.tar",
        "sh: patch -p1 < a.diff > log",
        "sh: sh -c 'tar xf a.tar' > log",
    ];
    repel(UNPACKING, |text| {
        let place = Place::new(User::Own);
        fs::create_dir(place.work.join("sub")).expect("mkdir");
        let put = |content: &str| {
            for file in ["a.tar", "a.zip", "a.diff", "a.deb"] {
                fs::write(place.work.join(file), content).expect("write");
            }
        };
        put("as it was shown");
        let given = (kept_words(text), "work");
        let said = Said::yes(&place, given, false);
        if !said.runs_outside(&place, given) {
            return Err("the yes does not hold".to_owned());
        }
        put("another");
        match said.runs_outside(&place, given) {
            true => Err("it runs outside unasked".to_owned()),
            false => Ok(()),
        }
    });
}

/// What an unknown program is given may decide what it does: a yes holds while that has the same content.
#[test]
fn a_yes_to_a_program_is_none_to_what_else_its_files_say() {
    const STEERED: &[&str] = &[
        "mytool -c x.conf",
        "mytool --config=x.conf",
        "mytool @list",
        "gcc -specs=x.conf a.c",
        "timeout 5 mytool x.conf",
        "sh: cd sub && mytool ../x.conf",
    ];
    const DATA: &[&str] = &["cp x.conf list", "mytool a.csv", "mytool -o list"];
    let is_held = |text: &'static str| {
        let place = Place::new(User::Own);
        fs::create_dir(place.work.join("sub")).expect("mkdir");
        let put = |content: &str| {
            for file in ["x.conf", "list", "a.csv"] {
                fs::write(place.work.join(file), content).expect("write");
            }
        };
        put("as it was shown");
        let given = (kept_words(text), "work");
        let said = Said::yes(&place, given, false);
        let before = said.runs_outside(&place, given);
        put("another");
        (before, said.runs_outside(&place, given))
    };
    repel(STEERED, |text| match is_held(text) {
        (true, false) => Ok(()),
        other => Err(format!("it runs outside before and after: {other:?}")),
    });
    for text in DATA {
        assert_eq!(is_held(text), (true, true), "{text}");
    }
}

/// What a pipe or a file puts into a program may be run by it, or be all that it sends: a yes is one to that.
#[test]
fn a_yes_to_a_program_is_none_to_what_is_put_into_it() {
    const FED: &[(&str, &str)] = &[
        (
            "sh: cat q.sql | sqlite3 app.db",
            "sh: echo '.shell touch x' | sqlite3 app.db",
        ),
        ("sqlite3 app.db", "sh: echo '.shell touch x' | sqlite3 app.db"),
        ("sqlite3 app.db", "sh: cat q.sql | head -n 1 | sqlite3 app.db"),
        ("sh: cat t | mytool -C", "sh: echo 'new -d x' | mytool -C"),
        ("sh: cat names | tee -a list", "sh: echo evil | tee -a list"),
        ("sh: cat names | gh gist create -", "sh: cat q.sql | gh gist create -"),
        ("mytool x", "sh: echo evil | mytool x"),
        ("sh: cd . && mytool x", "sh: cd . && echo evil | mytool x"),
    ];
    let set_up = || {
        let place = Place::new(User::Own);
        for file in ["q.sql", "t", "names"] {
            fs::write(place.work.join(file), file).expect("write");
        }
        (place, Said::nothing())
    };
    no_yes_leads_on(FED, set_up);
    // Two that are joined are another command, and of what the first prints nobody knows.
    let (place, said) = set_up();
    let said = said.and_yes(&place, (kept_words("curl -s http://localhost/x"), "work"), false);
    let said = said.and_then(|said| said.and_yes(&place, (kept_words("sqlite3 app.db"), "work"), false));
    let said = said.expect("two yeses");
    let joined = (kept_words("sh: curl -s http://localhost/x | sqlite3 app.db"), "work");
    assert!(!said.runs_outside(&place, joined));
    let said = said.and_yes(&place, joined, false).expect("a yes");
    assert!(!said.runs_outside(&place, joined), "it is asked about each time");
    // What only reads may stand behind it.
    let said = Said::yes(&place, (kept_words("sh: mytool x | tail -n 3"), "work"), false);
    assert!(said.runs_outside(&place, (kept_words("sh: mytool x | head -n 5"), "work")));
}

/// What is copied to where other programs act on it, or into what runs it, is another command with another content.
#[test]
fn a_yes_to_what_acts_later_or_runs_a_file_is_one_for_once() {
    const AGAIN: &[&str] = &[
        "cp x.conf .envrc",
        "sh: cat x.conf > .envrc",
        "sh: tee .envrc < x.conf",
        "install x.conf .git/hooks/pre-commit",
        "rake -f x.conf",
        "go run x.conf",
        "eslint -c x.conf",
        "just -f x.conf",
        "bazel --bazelrc=x.conf build",
    ];
    const WHILE_THE_SAME: &[&str] = &[
        "sh: sqlite3 b.db < x.conf",
        "sh: cat x.conf | sqlite3 b.db",
        "sh: mytool < x.conf",
    ];
    let holds = |text: &'static str| {
        let place = Place::new(User::Own);
        guard(&place.work);
        fs::create_dir_all(place.work.join(".git/hooks")).expect("mkdir");
        fs::write(place.work.join("x.conf"), "as it was shown").expect("write");
        let given = (kept_words(text), "work");
        let said = Said::yes(&place, given, false);
        let before = said.runs_outside(&place, given);
        fs::write(place.work.join("x.conf"), "another").expect("write");
        (before, said.runs_outside(&place, given))
    };
    repel(AGAIN.iter().chain(WHILE_THE_SAME), |text| match holds(text) {
        (_, true) => Err("it runs outside unasked".to_owned()),
        (_, false) => Ok(()),
    });
    for text in WHILE_THE_SAME {
        assert!(holds(text).0, "{text}");
    }
}

/// A file that is fetched has the name that its address gives it, in the folder that the model names; a host may send on to another.
#[test]
fn a_yes_to_fetch_gives_no_name_that_acts_and_goes_nowhere_else() {
    const FETCHED: &[(&str, Wanted)] = &[
        (
            "curl -sO http://localhost/x",
            (&["curl", "-sO", "http://localhost/config.toml"], "work/.cargo"),
        ),
        (
            "curl -sO http://localhost/x",
            (&["curl", "-sO", "http://localhost/a/b/config.toml"], "work/.cargo"),
        ),
        (
            "curl -sO http://localhost/x",
            (&["cd .cargo && curl -sO http://localhost/config.toml"], "work"),
        ),
        (
            "curl -sO http://localhost/x",
            (&["curl", "-sO", "http://localhost/HEAD"], "work/half"),
        ),
        (
            "curl -sO http://localhost/x",
            (&["curl", "-sO", "ftp://localhost/.envrc;type=a"], "work"),
        ),
        (
            "curl -s http://localhost/x",
            (&["curl", "-sL", "http://localhost/x"], "work"),
        ),
        (
            "curl -s http://localhost/x",
            (&["curl", "-s", "--location", "http://localhost/x"], "work"),
        ),
        (
            "wget -q ftp://localhost/x",
            (&["wget", "-q", "ftp://localhost/.envrc;type=a"], "work"),
        ),
        (
            "wget -q ftp://localhost/x",
            (&["wget", "-q", "ftp://localhost/?envrc"], "work"),
        ),
        (
            "wget -q http://localhost/x",
            (&["wget", "-q", "http://localhost/y"], "work"),
        ),
        (
            "wget -q --max-redirect=0 http://localhost/x",
            (
                &["wget", "-q", "--max-redirect=0", "http://localhost/config.toml"],
                "work/.cargo",
            ),
        ),
        ("git switch feature", (&["git", "switch", "evil"], "work")),
        ("git merge feature", (&["git", "merge", "evil"], "work")),
        ("git rebase feature", (&["git", "rebase", "evil"], "work")),
        ("git cherry-pick a", (&["git", "cherry-pick", "b"], "work")),
        ("git stash pop", (&["git", "stash", "pop", "stash@{1}"], "work")),
    ];
    repel(FETCHED, |(given, wanted)| {
        for always in [false, true] {
            let place = Place::new(User::Own);
            for folder in [".git", ".cargo", "half/objects", "half/refs"] {
                fs::create_dir_all(place.work.join(folder)).expect("mkdir");
            }
            let Some(said) = Said::yes_if_offered(&place, (kept_words(given), "work"), always) else {
                continue;
            };
            if said.runs_outside(&place, *wanted) {
                return Err(format!("it runs outside unasked (always: {always})"));
            }
        }
        Ok(())
    });
}

/// Where programs meet in the folder for temporary files is no path for a rule on paths here.
#[test]
fn a_rule_for_paths_here_opens_no_meeting_place() {
    const RULE: &str = "[[rule]]\nprefix = [[\"cp\", \"mv\", \"rm\"]]\ndecision = \"allow\"\nsandbox = \"outside\"\npaths = \"here\"\n";
    const MEETING: &[&str] = &[
        "cp a /tmp/bash-fc.x1",
        "mv a /tmp/krb5cc_1000",
        "cp a /tmp/tmux-1000/default",
        "cp a /tmp/node-compile-cache/x",
        "rm /tmp/ssh-x/agent.1",
    ];
    let place = Place::new(User::Own);
    let said = Said::ruled(&place, RULE);
    assert!(said.runs_outside(&place, (kept_words("cp a b"), "work")));
    repel(MEETING, |text| {
        match said.runs_outside(&place, (kept_words(text), "work")) {
            true => Err("it runs outside unasked".to_owned()),
            false => Ok(()),
        }
    });
}

/// Text of which only the run can tell what it reaches is asked about each time, and other text once that has changed.
#[test]
fn a_yes_to_text_does_not_hold_for_what_the_run_makes_of_it() {
    const UNTOLD: &[&str] = &[
        "sh: cp $X b",
        "sh: cp a* b",
        "sh: cp a b > lo[g]",
        "sh: cp a \"$(cat list)\"",
        "sh: cp a `cat list`",
        "sh: for f in a b; do cp $f sub; done",
        "sh: f() { cp a b; }; f",
        "sh: while read f; do cp a b; done < list",
        "sh: cat a.tar | tar x",
        "sh: sh -c 'cp $X b' > log",
        "sh: timeout 5 sh -c 'cp $X b'",
    ];
    repel(UNTOLD, |text| {
        let place = Place::new(User::Own);
        let given = (kept_words(text), "work");
        match Said::yes(&place, given, false).runs_outside(&place, given) {
            true => Err("it runs outside unasked".to_owned()),
            false => Ok(()),
        }
    });
    const TOLD: &[&str] = &[
        "sh: cp a b > log",
        "sh: if true; then cp a log; fi",
        "sh: (cp a sub/b; cp a log)",
    ];
    repel(TOLD, |text| {
        let place = Place::new(User::Own);
        let given = (kept_words(text), "work");
        let said = Said::yes(&place, given, false);
        if !said.runs_outside(&place, given) {
            return Err("the yes does not hold".to_owned());
        }
        symlink(place.outside.join(".bashrc"), place.work.join("log")).expect("a link");
        match said.runs_outside(&place, given) {
            true => Err("it runs outside unasked".to_owned()),
            false => Ok(()),
        }
    });
}

/// Where a rule, and a yes, hold is told by where folders really are.
#[test]
fn a_rule_for_a_folder_does_not_hold_behind_a_link_in_it() {
    let place = Place::new(User::Own);
    symlink(&place.outside, place.work.join("link")).expect("a link");
    let text = format!(
        "[[rule]]\nprefix = [\"cp\"]\ndecision = \"allow\"\nsandbox = \"outside\"\npaths = \"here\"\nfolder = {:?}\n",
        place.work
    );
    let ruled = Said::ruled(&place, &text);
    let granted = Said::yes(&place, (&["cp", "a", "b"], "work"), false);
    for (base, expected) in [
        (place.work.clone(), true),
        (place.work.join("link"), false),
        (place.work.join("../outside"), false),
    ] {
        for said in [&ruled, &granted] {
            let argv = argv(&["cp", "a", "b"]);
            let verdict = decide(&Case {
                argv: &argv,
                scene: Scene {
                    env: &said.env,
                    ..Scene::at(&base)
                },
                approval: ApprovalPolicy::OnRequest,
                sandbox: &SandboxPolicy::default(),
                escalated: true,
                grants: &said.grants,
                rules: &said.rules,
                walls: true,
                beside: None,
            })
            .verdict;
            assert_eq!(
                verdict == Verdict::Run(Confined::Outside),
                expected,
                "{}",
                base.display()
            );
        }
    }
}
