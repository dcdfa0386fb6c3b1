//! Programs that the server starts itself, planted where it might find them.

use super::repel;
use crate::agent::stage::{Setting, Stage, bash, command_output, say};
use crate::exec::place::{Place, User, users};
use crate::support::client::Reply;
use crate::support::git::git;
use countersign::exec::{self, program};
use serde_json::json;
use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where the system keeps its programs.
pub(super) const SYSTEM: &str = "/usr/local/bin:/usr/bin:/bin";

/// A place in `PATH` that an attacker has: what carries it, how it is made (the planted program comes into the folder that is
/// given back), and what stands in `PATH`.
type Carrier = (&'static str, fn(&Place) -> PathBuf, fn(&Place) -> String);

fn in_work(place: &Place, name: &str) -> PathBuf {
    let folder = place.work.join(name);
    std::fs::create_dir_all(&folder).expect("mkdir");
    folder
}

fn entry(path: PathBuf) -> String {
    path.display().to_string()
}

const CARRIERS: &[Carrier] = &[
    (
        "packages of the workspace",
        |place| in_work(place, "node_modules/.bin"),
        |place| entry(place.work.join("node_modules/.bin")),
    ),
    (
        "an environment of the workspace",
        |place| in_work(place, ".venv/bin"),
        |place| entry(place.work.join(".venv/bin")),
    ),
    (
        "a folder that direnv has put in front",
        |place| in_work(place, "bin"),
        |place| entry(place.work.join("bin")),
    ),
    (
        "shims in a protected folder",
        |place| in_work(place, ".git/shims"),
        |place| entry(place.work.join(".git/shims")),
    ),
    ("a relative entry", |place| in_work(place, "bin"), |_| "bin".to_owned()),
    ("the folder itself", |place| in_work(place, "."), |_| ".".to_owned()),
    ("an empty entry", |place| in_work(place, "."), |_| String::new()),
    (
        "dots on the way",
        |place| in_work(place, "bin"),
        |place| entry(place.outside.join("../work/bin")),
    ),
    (
        "a link from elsewhere into the workspace",
        |place| {
            symlink(place.work.join("bin"), place.outside.join("link")).expect("a link");
            in_work(place, "bin")
        },
        |place| entry(place.outside.join("link")),
    ),
    (
        "a link in the workspace that leads elsewhere today",
        |place| {
            let elsewhere = place.outside.join("elsewhere");
            std::fs::create_dir(&elsewhere).expect("mkdir");
            symlink(&elsewhere, place.work.join("tools")).expect("a link");
            elsewhere
        },
        |place| entry(place.work.join("tools")),
    ),
    (
        "a folder that every user can write",
        |place| {
            let open = place.outside.join("open");
            std::fs::create_dir(&open).expect("mkdir");
            std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).expect("chmod");
            open
        },
        |place| entry(place.outside.join("open")),
    ),
    (
        "a folder below one that every user can write",
        |place| {
            let open = place.outside.join("open");
            std::fs::create_dir_all(open.join("bin")).expect("mkdir");
            std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).expect("chmod");
            open.join("bin")
        },
        |place| entry(place.outside.join("open/bin")),
    ),
    (
        "the temporary folder",
        |place| {
            let tmp = place.outside.join("tmp");
            std::fs::create_dir_all(&tmp).expect("mkdir");
            tmp
        },
        |place| entry(place.outside.join("tmp")),
    ),
];

/// A program that leaves a mark, by several names, and the mark.
fn plant(place: &Place, carrier: &Carrier) -> PathBuf {
    let mark = place.outside.join("mark");
    let folder = carrier.1(place);
    for name in ["git", "npx", "token", "tell"] {
        let file = folder.join(name);
        place.file(
            &file,
            &format!("#!/bin/sh\necho x >> {}\necho planted\n", mark.display()),
        );
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("chmod");
    }
    mark
}

fn env(place: &Place, path: String) -> BTreeMap<String, String> {
    let text = |path: &Path| path.display().to_string();
    BTreeMap::from([
        ("PATH".to_owned(), path),
        ("HOME".to_owned(), text(&place.outside)),
        ("TMPDIR".to_owned(), text(&place.outside.join("tmp"))),
    ])
}

fn unmarked(mark: &Path) -> Result<(), String> {
    match mark.exists() {
        true => Err("the planted program was started".to_owned()),
        false => Ok(()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_planted_git_is_never_started() {
    exec::use_program(env!("CARGO_BIN_EXE_countersign").into());
    let runtime = tokio::runtime::Handle::current();
    let attempt = |carrier: &Carrier| {
        let place = Place::new(User::Own);
        git(&place.work, &["init", "-q"]);
        git(&place.work, &["commit", "-q", "--allow-empty", "-m", "one"]);
        let mark = plant(&place, carrier);
        // The person's git is behind the planted one, or nowhere.
        let behind = env(&place, format!("{}:{SYSTEM}", carrier.2(&place)));
        let alone = env(&place, carrier.2(&place));
        let ask = |env: &BTreeMap<String, String>| {
            tokio::task::block_in_place(|| runtime.block_on(exec::git::info(&place.work, env)))
        };
        let found = ask(&behind);
        unmarked(&mark)?;
        if found.and_then(|info| info.sha).is_none() {
            return Err("the person's own git was not found".to_owned());
        }
        if ask(&alone).is_some() {
            return Err("something answered in git's place".to_owned());
        }
        let tracked = exec::git::tracked(&place.work, &alone, &exec::git::Stop::default());
        let why = tracked.expect_err("no git").to_string();
        unmarked(&mark)?;
        match why.contains("found") {
            true => Ok(()),
            false => Err(format!("the reason is {why:?}")),
        }
    };
    repel(CARRIERS, |carrier| attempt(carrier));
}

/// Programs that give a key, and the notifier: both in the environment of the server.
#[tokio::test(flavor = "multi_thread")]
async fn a_planted_helper_is_never_started() {
    let runtime = tokio::runtime::Handle::current();
    repel(CARRIERS, |carrier| {
        let place = Place::new(User::Own);
        program::guard(&place.work);
        let mark = plant(&place, carrier);
        let env = env(&place, carrier.2(&place));
        let argv = ["token".to_owned()];
        let asked = exec::answer_of(&argv, None, &env, Duration::from_secs(10));
        let answer = tokio::task::block_in_place(|| runtime.block_on(asked));
        unmarked(&mark)?;
        match answer {
            Err(why) if why.contains("found") => Ok(()),
            other => Err(format!("{other:?}")),
        }
    });
}

/// Variables by which a program of the person's loads code, set to places that commands write (as `direnv` does).
#[tokio::test(flavor = "multi_thread")]
async fn a_program_of_our_own_loads_no_code_that_commands_could_write() {
    /// The variable and its value, what is planted and its text, and the program that would load it.
    type Loading = (
        &'static str,
        &'static str,
        &'static str,
        &'static str,
        &'static [&'static str],
    );
    const MARK: &str = "import os\nopen(os.environ['MARK'], 'w').close()\n";
    const LOADING: &[Loading] = &[
        (
            "BASH_ENV",
            "WORK/env",
            "env",
            ": > \"$MARK\"\n",
            &["bash", "-c", "echo ok"],
        ),
        (
            "PYTHONPATH",
            "WORK",
            "json.py",
            MARK,
            &["python3", "-c", "import json; print('ok')"],
        ),
        (
            "PYTHONPATH",
            "/usr/lib:WORK/lib",
            "lib/json.py",
            MARK,
            &["python3", "-c", "import json; print('ok')"],
        ),
        (
            "PYTHONPATH",
            "WORK",
            "sitecustomize.py",
            MARK,
            &["python3", "-c", "print('ok')"],
        ),
        (
            "PERL5LIB",
            "WORK",
            "strict.pm",
            "open(F, '>', $ENV{MARK}); 1;\n",
            &["perl", "-e", "use strict; print 'ok'"],
        ),
        (
            "PERL5OPT",
            "-IWORK -Mplanted",
            "planted.pm",
            "open(F, '>', $ENV{MARK}); 1;\n",
            &["perl", "-e", "print 'ok'"],
        ),
        // Settings that name a program, whatever the variable is called.
        (
            "XDG_CONFIG_HOME",
            "WORK/cfg",
            "cfg/git/config",
            "[alias]\n\tx = \"!: > \\\"$MARK\\\"; echo bad\"\n",
            &["sh", "-c", "git x >/dev/null 2>&1; echo ok"],
        ),
        (
            "GIT_CONFIG_PARAMETERS",
            "'alias.x=!sh WORK/x'",
            "x",
            ": > \"$MARK\"\n",
            &["sh", "-c", "git x >/dev/null 2>&1; echo ok"],
        ),
        (
            "MAKEFILES",
            "WORK/x.mk",
            "x.mk",
            "$(shell : > \"$$MARK\")\n",
            &["sh", "-c", "make -n >/dev/null 2>&1; echo ok"],
        ),
        (
            "BASH_FUNC_pwd%%",
            "() { : > \"$MARK\"; }",
            "unused",
            "",
            &["bash", "-c", "pwd >/dev/null; echo ok"],
        ),
    ];
    let runtime = tokio::runtime::Handle::current();
    repel(LOADING, |(name, value, file, text, argv)| {
        let place = Place::new(User::Own);
        program::guard(&place.work);
        let mark = place.outside.join("mark");
        let path = place.work.join(file);
        place.folder(path.parent().expect("a folder"));
        place.file(&path, text);
        let mut env = env(&place, SYSTEM.to_owned());
        env.insert("MARK".to_owned(), entry(mark.clone()));
        env.insert((*name).to_owned(), value.replace("WORK", &entry(place.work.clone())));
        let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        let asked = exec::answer_of(&argv, None, &env, Duration::from_secs(20));
        let answer = tokio::task::block_in_place(|| runtime.block_on(asked));
        unmarked(&mark)?;
        match answer {
            Ok(said) if said == "ok" => Ok(()),
            // Not every machine has each of them.
            Err(why) if why.contains("was not found") => Ok(()),
            other => Err(format!("{other:?}")),
        }
    });
}

/// What a command could have rewritten a moment ago runs neither as the notifier nor as a program that gives a key, in whatever way
/// the person has named it.
#[tokio::test(flavor = "multi_thread")]
async fn a_helper_whose_code_commands_can_change_is_not_started() {
    let place = Place::new(User::Own);
    program::guard(&place.work);
    let mark = place.outside.join("mark");
    let script = format!("#!/bin/sh\n: > {}\n", mark.display());
    for name in ["work/tool.sh", "work/plain", "work/bin/run", "outside/own.sh"] {
        let (root, rest) = name.split_once('/').expect("two parts");
        let path = if root == "work" { &place.work } else { &place.outside }.join(rest);
        place.folder(path.parent().expect("a folder"));
        place.file(&path, &script);
        let mode = if rest == "plain" { 0o644 } else { 0o755 };
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("chmod");
    }
    let by = place.outside.join("by.sh");
    place.file(&by, &format!("#!{}/bin/run\n", place.work.display()));
    std::fs::set_permissions(&by, std::fs::Permissions::from_mode(0o755)).expect("chmod");
    place.file(&place.work.join("notes.txt"), "text");
    place.file(&place.work.join(".env"), &format!(": > {}\n", mark.display()));
    symlink(place.work.join("tool.sh"), place.outside.join("link")).expect("a link");
    let env = env(&place, SYSTEM.to_owned());
    let work = Some(place.work.as_path());
    for (line, folder, is_refused) in [
        (&["WORK/tool.sh"][..], None, true),
        (&["OUT/link"], None, true),
        (&["OUT/by.sh"], None, true),
        (&["sh", "WORK/plain"], None, true),
        (&["nice", "sh", "WORK/plain"], None, true),
        (&["sh", "-c", "exec WORK/tool.sh"], None, true),
        (&["sh", "-c", "true;WORK/tool.sh>OUT/x"], None, true),
        (&["sh", "-c", "cd WORK && make"], None, true),
        (&["sh", "-c", "cd WORK && ./plain"], None, true),
        // What only the run can tell, out of a file that holds no program by its name.
        (&["sh", "-c", "eval $(cat WORK/.env)"], None, true),
        (
            &["bash", "-c", "eval \"$(grep -v '^#' WORK/.env)\"; echo $T"],
            None,
            true,
        ),
        (&["sh", "-c", "eval \"`cat WORK/.env`\""], None, true),
        (&["sh", "-c", "x=$(cat WORK/.env); eval \"$x\""], None, true),
        (&["sh", "-c", "sh -c \"$(cat WORK/.env)\""], None, true),
        (&["sh", "-c", "python3 -c \"$(cat WORK/notes.txt)\""], None, true),
        (&["sh", "-c", "python3 <<< \"$(cat WORK/notes.txt)\""], None, true),
        (&["sh", "-c", "export $(cat WORK/.env | xargs); ls"], None, true),
        (&["sh", "-c", "eval \"$(cat WORK/later)\""], None, true),
        (&["sh", "-c", "sh WORK/pla*"], None, true),
        (&["sh", "-c", "nice WORK/to?l.sh"], None, true),
        (&["sh", "-c", "run-parts WORK/b*"], None, true),
        (&["sh", "-c", "sh \"$(dirname WORK/x)\"/plain"], None, true),
        (&["env", "-C", "WORK", "true"], None, true),
        (&["env", "--chdir=WORK", "true"], None, true),
        (&["env", "-S", "sh WORK/tool.sh"], None, true),
        (&["env", "PYTHONPATH=WORK", "true"], None, true),
        (&["true", "-cp", "OUT/x.jar:WORK/bin/run"], None, true),
        (&["sh", "-c", "true"], work, true),
        (&["OUT/own.sh"], None, false),
        (&["sh", "OUT/own.sh"], None, false),
        (&["sh", "-c", "OUT/own.sh >> WORK/notes"], None, false),
        (&["sh", "-c", "true < WORK/notes.txt"], None, false),
        (&["true", "WORK/notes.txt"], None, false),
        (&["sh", "-c", "$HOME/own.sh \"$0\""], None, false),
        (&["sh", "-c", ". ~/own.sh; cat < WORK/.env"], None, false),
        (&["sh", "-c", "cd WORK && echo done"], None, false),
        (&["sh", "-c", "cat WORK/*.txt; touch WORK/done-$USER"], None, false),
        (&["sh", "-c", "eval \"$(echo true)\""], None, false),
        // What the notifier is given last.
        (&["true", "{\"cwd\":\"WORK\",\"text\":\"WORK/tool.sh\"}"], None, false),
    ] {
        let (work, outside) = (entry(place.work.clone()), entry(place.outside.clone()));
        let argv: Vec<String> = line
            .iter()
            .map(|word| word.replace("WORK", &work).replace("OUT", &outside))
            .collect();
        let answer = exec::answer_of(&argv, folder, &env, Duration::from_secs(10)).await;
        match answer {
            Err(why) => assert!(is_refused && why.contains("can change what it runs"), "{line:?}: {why}"),
            Ok(_) => assert!(!is_refused, "{line:?}"),
        }
        if is_refused {
            assert!(!mark.exists(), "{line:?}");
            if folder.is_none() {
                let told = exec::start_and_forget(&argv, &env).expect_err("refused");
                assert!(told.contains("can change what it runs"), "{line:?}: {told}");
            }
        }
        let _none = std::fs::remove_file(&mark);
    }
}

/// What nobody can know beforehand is not started; the message has that part of the line, and no place that is not there.
#[tokio::test(flavor = "multi_thread")]
async fn what_only_the_run_can_tell_is_named_as_it_stands() {
    let place = Place::new(User::Own);
    program::guard(&place.work);
    let env = env(&place, SYSTEM.to_owned());
    for (text, word) in [
        ("for f in ~/.notify.d/*; do . \"$f\"; done", "`$f`"),
        ("$TOOL done", "`$TOOL`"),
    ] {
        let argv = ["sh", "-c", text].map(str::to_owned);
        let answer = exec::answer_of(&argv, None, &env, Duration::from_secs(10)).await;
        let why = answer.expect_err(text);
        let is_said = why.contains("cannot be known") && why.contains(word);
        assert!(is_said && !why.contains(&entry(place.outside.clone())), "{text}: {why}");
    }
}

/// A folder that comes to the workspace later takes what was right before with it.
#[test]
fn a_folder_that_is_added_later_counts() {
    let place = Place::new(User::Own);
    let folder = in_work(&place, "bin");
    place.file(&folder.join("later"), "#!/bin/sh\n");
    std::fs::set_permissions(folder.join("later"), std::fs::Permissions::from_mode(0o755)).expect("chmod");
    let env = env(&place, entry(folder.clone()));
    assert_eq!(program::find("later", None, &env), Ok(folder.join("later")));
    assert_eq!(program::search_path(&env), entry(folder.clone()));
    program::guard(&place.work);
    assert!(program::find("later", None, &env).is_err());
    // An empty one would mean the folder that a program runs in.
    let kept = program::search_path(&env);
    assert!(Path::new(&kept).is_absolute() && !Path::new(&kept).exists(), "{kept}");
}

/// Programs of our own start where nothing of a workspace's lies, also where that is the person's home folder or around it.
#[tokio::test(flavor = "multi_thread")]
async fn programs_of_our_own_start_in_no_workspace() {
    let place = Place::new(User::Own);
    program::guard(&place.work);
    let home = place.work.join("home");
    place.folder(&home);
    for (at, (home, expected)) in [
        (&place.outside, place.outside.as_path()),
        (&place.work, Path::new("/")),
        (&home, Path::new("/")),
    ]
    .into_iter()
    .enumerate()
    {
        let mut env = env(&place, SYSTEM.to_owned());
        env.insert("HOME".to_owned(), entry(home.clone()));
        let argv = |script: String| ["sh", "-c", &script].map(str::to_owned);
        let answer = exec::answer_of(&argv("pwd".to_owned()), None, &env, Duration::from_secs(10)).await;
        assert_eq!(answer, Ok(entry(expected.to_owned())));
        let mark = place.outside.join(format!("mark{at}"));
        let (new, done) = (entry(place.outside.join("new")), entry(mark.clone()));
        exec::start_and_forget(&argv(format!("pwd > {new}; mv {new} {done}")), &env).expect("started");
        let begun = std::time::Instant::now();
        while !mark.exists() && begun.elapsed() < Duration::from_secs(20) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let said = std::fs::read_to_string(&mark).expect("it ran");
        assert_eq!(Path::new(said.trim()), expected);
        // What depends on the folder is not guessed.
        for argument in [".", "./x.py", "../x.py", "--file=./x.py"] {
            let argv = ["python3", argument].map(str::to_owned);
            let answer = exec::answer_of(&argv, None, &env, Duration::from_secs(10)).await;
            let told = exec::start_and_forget(&argv, &env);
            for why in [answer.expect_err("refused"), told.expect_err("refused")] {
                assert!(
                    why.contains("absolute path") && why.contains(argument),
                    "{argument}: {why}"
                );
            }
        }
        // In a folder that the person has named, where commands cannot write.
        let argv = ["sh", "-c", "pwd", "."].map(str::to_owned);
        let own = place.outside.join("own");
        place.folder(&own);
        let answer = exec::answer_of(&argv, Some(&own), &env, Duration::from_secs(10)).await;
        assert_eq!(answer, Ok(entry(own)));
    }
}

/// `countersign mcp list` starts the servers as a conversation does.
pub(super) fn list_servers(place: &Place, path: &str, config: &str) -> String {
    mcp(place, path, config, &["list"])
}

pub(super) fn mcp(place: &Place, path: &str, config: &str, arguments: &[&str]) -> String {
    let home = place.outside.join("home");
    place.folder(&home);
    place.file(&home.join("config.toml"), config);
    let mut command = std::process::Command::new(&place.program);
    place.dress(&mut command);
    let output = command
        .arg("mcp")
        .args(arguments)
        .env("COUNTERSIGN_HOME", &home)
        .env("HOME", &place.outside)
        .env("TMPDIR", place.outside.join("tmp"))
        .env("PATH", path)
        .output()
        .expect("the program");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_planted_tool_server_is_never_started() {
    const CONFIG: &str = "[mcp_servers.a]\ncommand = \"npx\"\nargs = [\"-y\", \"x\"]\nstartup_timeout_sec = 5\n\
                          [mcp_servers.b]\ncommand = \"./npx\"\nstartup_timeout_sec = 5\n\
                          [mcp_servers.c]\ncommand = \"bin/npx\"\nstartup_timeout_sec = 5\n";
    for user in users() {
        repel(CARRIERS, |carrier| {
            let place = Place::new(user);
            let mark = plant(&place, carrier);
            let said = list_servers(&place, &carrier.2(&place), CONFIG);
            unmarked(&mark)?;
            let is_refused = |name: &str, part: &str| {
                let line = said.lines().find(|line| line.starts_with(name));
                line.is_some_and(|line| line.contains(part))
            };
            match is_refused("a:", "found only where") && is_refused("b:", "absolute") && is_refused("c:", "absolute") {
                true => Ok(()),
                false => Err(format!("it said {said:?}")),
            }
        });
    }
}

/// Code that lies in the workspace under the name of what an MCP server runs, or configuration of its launcher.
#[test]
fn what_lies_in_the_workspace_is_not_run_in_a_tool_servers_place() {
    let row = |files: &'static [&'static str], command: &'static str, args: &'static str| (files, command, args);
    let rows = [
        row(&["planted.py"], "python3", r#"["-m", "planted"]"#),
        row(&["json.py", "json/__init__.py"], "python3", r#"["-c", "import json"]"#),
        row(&["planted/__main__.py"], "env", r#"["python3", "-m", "planted"]"#),
        row(
            &["sitecustomize.py", "usercustomize.py", "runpy.py"],
            "python3",
            r#"["-m", "this"]"#,
        ),
        row(&["this.py"], "python3", r#"["-m", "this"]"#),
        row(&["planted.py"], "sh", r#"["-c", "python3 -m planted"]"#),
        row(&["planted.py"], "timeout", r#"["9", "python3", "-m", "planted"]"#),
        row(&["planted.py"], "nice", r#"["python3", "-m", "planted"]"#),
        row(&["planted.py"], "env", r#"["-S", "python3 -m planted"]"#),
        row(&["planted.py"], "setsid", r#"["-w", "python3", "-m", "planted"]"#),
        row(&["planted.py"], "stdbuf", r#"["-o0", "python3", "-m", "planted"]"#),
        row(&["planted.py"], "python3", r#"["planted.py"]"#),
        row(&["planted/__main__.py"], "python3", r#"["./planted"]"#),
        row(&["planted/__main__.py"], "sh", r#"["-c", "python3 $0", "."]"#),
    ];
    for user in users() {
        repel(rows, |(files, command, args)| {
            let place = Place::new(user);
            let mark = place.outside.join("mark");
            for file in *files {
                let path = place.work.join(file);
                place.folder(path.parent().expect("a folder"));
                place.file(&path, &format!("open({:?}, 'w').write('x')\n", entry(mark.clone())));
            }
            let config = format!("[mcp_servers.a]\ncommand = {command:?}\nargs = {args}\nstartup_timeout_sec = 10\n");
            let said = list_servers(&place, SYSTEM, &config);
            assert!(said.starts_with("a:"), "{said}");
            unmarked(&mark)
        });
    }
}

/// A server that is to work in a folder says so; what depends on the folder is not started elsewhere.
#[test]
fn a_tool_server_with_a_path_that_depends_on_the_folder_needs_one() {
    let place = Place::new(User::Own);
    let dist = in_work(&place, "dist");
    place.file(&dist.join("server.py"), "");
    for (args, is_refused) in [
        (r#"["dist/server.py"]"#, true),
        (r#"["./dist/server.py"]"#, true),
        (r#"["-m", "x", "."]"#, true),
        (r#"["--version", "@scope/package"]"#, false),
    ] {
        let table = format!("[mcp_servers.a]\ncommand = \"python3\"\nargs = {args}\nstartup_timeout_sec = 5\n");
        let said = list_servers(&place, SYSTEM, &table);
        assert_eq!(said.contains("set `cwd`"), is_refused, "{args}: {said}");
        let said = list_servers(
            &place,
            SYSTEM,
            &format!("{table}cwd = {:?}\n", entry(place.work.clone())),
        );
        assert!(!said.contains("set `cwd`"), "{args}: {said}");
    }
}

/// A standing permission to write makes a folder one in which commands could have put programs, before any of them ran.
#[test]
fn what_a_standing_permission_lets_commands_write_is_no_place_for_programs() {
    let place = Place::new(User::Own);
    let folder = place.outside.join("opt/bin");
    place.folder(&folder);
    place.file(&folder.join("standing"), "#!/bin/sh\n");
    std::fs::set_permissions(folder.join("standing"), std::fs::Permissions::from_mode(0o755)).expect("chmod");
    let env = env(&place, entry(folder.clone()));
    assert_eq!(program::find("standing", None, &env), Ok(folder.join("standing")));
    let home = place.outside.join("home");
    std::fs::create_dir_all(home.join("rules")).expect("mkdir");
    let rule = format!(
        "[[permission]]\ntype = \"write\"\npath = {:?}\n",
        entry(place.outside.join("opt"))
    );
    std::fs::write(home.join("rules/a.toml"), rule).expect("write");
    let sources = exec::rules::Sources::new(&home, &[]);
    let rules = exec::rules::Cache::default().rules(&sources);
    assert_eq!(rules.permissions().count(), 1);
    let why = program::find("standing", None, &env).expect_err("refused").to_string();
    assert!(why.contains("commands can write there"), "{why}");
}

#[test]
fn what_commands_may_write_by_the_configuration_is_no_place_for_programs() {
    let place = Place::new(User::Own);
    let folder = place.outside.join("opt/bin");
    place.folder(&folder);
    let mark = place.outside.join("mark");
    place.file(
        &folder.join("npx"),
        &format!("#!/bin/sh\necho x > {}\n", mark.display()),
    );
    std::fs::set_permissions(folder.join("npx"), std::fs::Permissions::from_mode(0o755)).expect("chmod");
    let table = "[mcp_servers.a]\ncommand = \"npx\"\nstartup_timeout_sec = 5\n";
    let roots = format!(
        "sandbox_mode = \"workspace-write\"\nsandbox_workspace_write.writable_roots = [{:?}]\n",
        entry(place.outside.join("opt"))
    );
    let said = list_servers(&place, &entry(folder.clone()), &format!("{roots}{table}"));
    assert!(said.contains("found only where") && !mark.exists(), "{said}");
    // It is the root that is in the way.
    list_servers(&place, &entry(folder), table);
    assert!(mark.exists());
}

/// What the person's profile puts into `PATH` has not been looked at: a program that a command has put there is not what runs outside
/// under a yes to its name.
#[tokio::test]
async fn a_profile_brings_no_planted_program_into_what_leaves() {
    for option in ["-lc", "-ic", "-c"] {
        let run = json!({
            "command": ["bash", option, "planted-tool; echo ran $?"], "with_escalated_permissions": true, "justification": "needed",
        });
        let plant =
            "mkdir bin; printf '#!/bin/sh\\necho planted > ../owned\\n' > bin/planted-tool; chmod +x bin/planted-tool";
        let script = json!([
            [bash("c1", plant)],
            [json!({"call": {"tool": "shell", "arguments": run, "id": "c2"}})],
            [say("done")],
        ]);
        let stage = Stage::with(script, Setting::default()).await;
        let home = stage.client.home().parent().expect("a folder").to_owned();
        for profile in [".profile", ".bash_profile", ".bashrc"] {
            let path = format!("export PATH={}:$PATH\n", stage.path("bin").display());
            std::fs::write(home.join(profile), path).expect("a profile");
        }
        stage.answers(Reply::Ok(json!({"decision": "accept"})));
        let thread = stage.thread().await;
        stage.complete(&thread, "Go").await;
        let (output, _) = command_output(&stage.requests(3)[2], "c2");
        assert!(output.contains("ran 127"), "{option}: {output}");
        assert!(!stage.path("../owned").exists(), "{option}");
        stage.end();
    }
}
