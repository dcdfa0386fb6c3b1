use super::*;

#[test]
fn what_commands_can_write_is_started_only_as_it_was() {
    let folder = tempfile::Builder::new()
        .prefix("seen")
        .tempdir_in("/var/tmp")
        .expect("a folder");
    let base = folder.path().canonicalize().expect("a path");
    let (home, work, other) = (base.join("home"), base.join("work"), base.join("other"));
    for folder in [&home, &work, &other] {
        std::fs::create_dir(folder).expect("a folder");
    }
    let write = |name: &str, text: &str| std::fs::write(base.join(name), text).expect("a file");
    for name in ["work/srv.py", "work/lib.py", "work/data.db", "other/srv.py"] {
        write(name, "as it was");
    }
    program::guard(&work);
    let at = |name: &str| base.join(name).display().to_string();
    let launch = |arguments: &[String], cwd: &Path| Launch::Program {
        argv: std::iter::once("/bin/sh".to_owned())
            .chain(arguments.iter().cloned())
            .collect(),
        cwd: cwd.to_owned(),
        env: BTreeMap::new(),
    };
    let server = launch(
        &[
            at("work/srv.py"),
            format!("--lib={}", at("work/lib.py")),
            at("work/data.db"),
            at("other/srv.py"),
        ],
        &home,
    );
    let look = || check(&home, "s", &server);
    assert_eq!(look(), Ok(()), "the first start");
    assert_eq!(look(), Ok(()), "the same again");
    write("work/data.db", "more");
    write("other/srv.py", "the person's");
    assert_eq!(look(), Ok(()), "data, and what commands cannot write");
    for name in ["work/srv.py", "work/lib.py"] {
        write(name, "another");
        let error = look().expect_err(name);
        assert!(
            error.contains(&at(name)) && error.contains("countersign mcp allow s"),
            "{error}"
        );
        assert!(look().is_err(), "it stays so");
        let allowed = allow(&home, "s", &server).expect("written");
        let expected = ["work/*", "work/lib.py", "work/srv.py"].map(|name| base.join(name));
        assert_eq!(allowed, BTreeSet::from(expected));
        assert_eq!(look(), Ok(()), "{name}, by the person's word");
    }
    std::fs::remove_file(base.join("work/srv.py")).expect("a file");
    assert!(look().is_err(), "it is gone");
    // A folder in the workspace that leads elsewhere since.
    std::os::unix::fs::symlink(&home, work.join("in")).expect("a link");
    let there = launch(&["srv.py".to_owned()], &work.join("in"));
    assert_eq!(check(&home, "t", &there), Ok(()));
    std::fs::remove_file(work.join("in")).expect("a link");
    std::os::unix::fs::symlink(&other, work.join("in")).expect("a link");
    assert!(check(&home, "t", &there).is_err(), "another folder");
    // A service, and a program whose files nobody else can write.
    assert_eq!(check(&home, "n", &Launch::None(String::new())), Ok(()));
    assert_eq!(check(&home, "o", &launch(&[at("other/srv.py")], &home)), Ok(()));
    let kept = std::fs::read_to_string(file(&home)).expect("a file");
    assert!(
        kept.contains("srv.py\"") && !kept.contains(&at("other/srv.py")),
        "{kept}"
    );
}

/// However a command line leads to code that commands can write.
#[test]
fn what_a_server_loads_is_started_only_as_it_was() {
    let folder = tempfile::Builder::new()
        .prefix("loads")
        .tempdir_in("/var/tmp")
        .expect("a folder");
    let base = folder.path().canonicalize().expect("a path");
    let write = |name: &str, text: &str| {
        let path = base.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        std::fs::write(path, text).expect("a file");
    };
    let files = [
        "work/srv.py",
        "work/x_lib.py",
        "work/in/deep/lib.py",
        "work/pkg/__main__.py",
        "work/server/main.py",
        "work/app/package.json",
        "work/app/server/index.js",
        "work/app/lib/x.js",
        "work/app/node_modules/dep/index.js",
        "work/lib/a.py",
        "work/x.js",
        "work/b.jar",
        "work/.venv/pyvenv.cfg",
        "work/.venv/bin/python",
        "work/.venv/lib/site-packages/dep.py",
        "work/node_modules/.bin/files",
        "work/conf.toml",
        "work/notes.md",
        "work/state.json",
        "work/data/x.csv",
        "own/x.py",
        "own/node_modules/files/index.js",
    ];
    for name in files {
        write(name, "as it was");
    }
    write("own/tool", &format!("#!{}/work/.venv/bin/python\n", base.display()));
    program::guard(&base.join("work"));
    let set = |text: &str| text.replace("BASE", &base.display().to_string());
    for (at, (line, cwd, variable, changed, is_refused)) in [
        ("python3 BASE/work/srv.py", "own", "", "work/srv.py", true),
        ("python3 BASE/work/srv.py", "own", "", "work/x_lib.py", true),
        ("python3 BASE/work/srv.py", "own", "", "work/in/deep/lib.py", true),
        ("python3 BASE/work/srv.py", "own", "", "work/json.py", true),
        ("python3 BASE/work/pkg", "own", "", "work/pkg/__main__.py", true),
        ("python3 -m srv", "work", "", "work/x_lib.py", true),
        ("python3 -m pkg", "work", "", "work/pkg/__main__.py", true),
        ("BASE/work/.venv/bin/python -m pkg", "work", "", "work/srv.py", true),
        (
            "BASE/work/.venv/bin/python BASE/own/x.py",
            "own",
            "",
            "work/.venv/lib/site-packages/dep.py",
            true,
        ),
        ("sh -c exec+python3+BASE/work/srv.py", "own", "", "work/x_lib.py", true),
        ("sh -c cd+BASE/work+&&+python3+-m+srv", "own", "", "work/x_lib.py", true),
        (
            "env -C BASE/work/server python3 main.py",
            "own",
            "",
            "work/server/main.py",
            true,
        ),
        (
            "env --chdir=BASE/work/server python3 main.py",
            "own",
            "",
            "work/server/main.py",
            true,
        ),
        (
            "uv --directory BASE/work/server run main.py",
            "own",
            "",
            "work/server/main.py",
            true,
        ),
        ("uv run --project BASE/work mcp", "own", "", "work/x_lib.py", true),
        ("uvx --from BASE/work tool", "own", "", "work/x_lib.py", true),
        (
            "npm --prefix BASE/work/app start",
            "own",
            "",
            "work/app/server/index.js",
            true,
        ),
        ("npx .", "work/app", "", "work/app/server/index.js", true),
        ("npx -y files .", "work", "", "work/node_modules/.bin/files", true),
        ("npx -y files .", "work", "", "work/.npmrc", true),
        (
            "node BASE/work/app/server/index.js",
            "own",
            "",
            "work/app/lib/x.js",
            true,
        ),
        ("node server/index.js", "work/app", "", "work/app/lib/x.js", true),
        (
            "node BASE/work/app/server",
            "own",
            "",
            "work/app/node_modules/dep/index.js",
            true,
        ),
        ("node -rBASE/work/x.js BASE/own/tool", "own", "", "work/x.js", true),
        (
            "node -r BASE/work/x.js BASE/work/app",
            "own",
            "",
            "work/app/lib/x.js",
            true,
        ),
        (
            "node --import tsx BASE/own/x.js",
            "work",
            "",
            "work/node_modules/tsx.js",
            true,
        ),
        ("go run ./cmd", "work", "", "work/cmd/main.go", true),
        (
            "cargo run --manifest-path BASE/work/app/package.json",
            "own",
            "",
            "work/app/build.rs",
            true,
        ),
        ("java -cp /opt/a.jar:BASE/work/b.jar X", "own", "", "work/b.jar", true),
        (
            "python3 BASE/own/x.py",
            "own",
            "PYTHONPATH=BASE/work/lib",
            "work/lib/a.py",
            true,
        ),
        (
            "python3 BASE/own/x.py",
            "own",
            "PYTHONPATH=BASE/work/none",
            "work/none/a.py",
            true,
        ),
        (
            "node BASE/own/x.js",
            "own",
            "NODE_OPTIONS=--require+BASE/work/x.js",
            "work/x.js",
            true,
        ),
        ("BASE/own/tool", "own", "", "work/.venv/bin/python", true),
        (
            "/bin/serve --config BASE/work/conf.toml",
            "own",
            "",
            "work/conf.toml",
            true,
        ),
        (
            "/bin/serve --config BASE/work/none.toml",
            "own",
            "",
            "work/none.toml",
            true,
        ),
        // What is worked on.
        ("npx -y files BASE/work", "own", "", "work/srv.py", false),
        ("npx -y files .", "work", "", "work/srv.py", false),
        ("/bin/serve BASE/work", "work", "", "work/srv.py", false),
        ("/bin/serve BASE/work", "own", "ROOT=BASE/work", "work/srv.py", false),
        ("node BASE/own/x.js BASE/work", "own", "", "work/x.js", false),
        ("npx files BASE/work/data", "own", "", "work/data/x.csv", false),
        (
            "/bin/serve --state BASE/work/state.json",
            "own",
            "",
            "work/state.json",
            false,
        ),
        ("python3 BASE/work/srv.py", "own", "", "work/notes.md", false),
        ("python3 BASE/work/srv.py", "own", "", "work/state.json", false),
        ("python3 BASE/work/srv.py", "own", "", "work/__pycache__/x.pyc", false),
        // What commands cannot write.
        ("python3 BASE/own/x.py", "own", "", "own/x.py", false),
        ("npx .", "own", "", "own/node_modules/files/index.js", false),
    ]
    .into_iter()
    .enumerate()
    {
        let home = base.join(format!("home{at}"));
        std::fs::create_dir(&home).expect("a folder");
        let argv = line.split(' ').map(|word| set(word).replace('+', " "));
        let env = variable
            .split_once('=')
            .map(|(name, value)| (name.to_owned(), set(value).replace('+', " ")));
        let server = Launch::Program {
            argv: argv.collect(),
            cwd: base.join(cwd),
            env: env.into_iter().collect(),
        };
        let look = || check(&home, "s", &server);
        assert_eq!(look(), Ok(()), "{line}");
        assert_eq!(look(), Ok(()), "{line}, again");
        let before = std::fs::read(base.join(changed)).ok();
        write(changed, "another");
        assert_eq!(look().is_err(), is_refused, "{line}: {changed}");
        allow(&home, "s", &server).expect("written");
        assert_eq!(look(), Ok(()), "{line}, by the person's word");
        match before {
            Some(text) => std::fs::write(base.join(changed), text).expect("a file"),
            None => std::fs::remove_file(base.join(changed)).expect("a file"),
        }
    }
}

/// One that no file of configuration names, as the editor's settings and clients bring them.
#[test]
fn a_server_that_was_not_started_is_allowed_by_its_name() {
    let folder = tempfile::Builder::new()
        .prefix("refused")
        .tempdir_in("/var/tmp")
        .expect("a folder");
    let base = folder.path().canonicalize().expect("a path");
    let home = base.join("home");
    std::fs::create_dir(&home).expect("a folder");
    let server = |work: &str| {
        let work = base.join(work);
        std::fs::create_dir_all(&work).expect("a folder");
        std::fs::write(work.join("srv.py"), "as it was").expect("a file");
        program::guard(&work);
        Launch::Program {
            argv: vec!["/usr/bin/python3".to_owned(), work.join("srv.py").display().to_string()],
            cwd: base.clone(),
            env: BTreeMap::new(),
        }
    };
    let change = |work: &str| std::fs::write(base.join(work).join("srv.py"), "another").expect("a file");
    let (one, other) = (server("one"), server("other"));
    for launch in [&one, &other] {
        assert_eq!(check(&home, "s", launch), Ok(()));
    }
    let none = BTreeSet::new();
    let by_name = |folder: &str, is_known| allow_refused(&home, "s", &base.join(folder), is_known).expect("written");
    assert_eq!(by_name("one", false), none, "none was refused");
    change("one");
    assert!(check(&home, "s", &one).is_err());
    assert_eq!(by_name("elsewhere", true), none, "another is meant");
    assert!(check(&home, "s", &one).is_err());
    assert!(!by_name("elsewhere", false).is_empty(), "the only one");
    assert_eq!(check(&home, "s", &one), Ok(()));
    // Of two the one whose folder it is.
    for (work, text) in [("one", "a third"), ("other", "a fourth")] {
        std::fs::write(base.join(work).join("srv.py"), text).expect("a file");
    }
    assert!(check(&home, "s", &one).is_err() && check(&home, "s", &other).is_err());
    assert_eq!(by_name("elsewhere", false), none, "it is not known which");
    let expected = ["one/*", "one/srv.py"].map(|name| base.join(name));
    assert_eq!(by_name("one", true), BTreeSet::from(expected));
    assert_eq!(check(&home, "s", &one), Ok(()));
    assert!(check(&home, "s", &other).is_err());
}
