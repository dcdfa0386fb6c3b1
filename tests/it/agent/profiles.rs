//! Permission profiles and workspace folders of a thread: chosen by name, bound when a command runs, kept with the thread;
//! and what nothing of the agent's reads.

use super::stage::{Setting, Stage, Story, apply_patch, bash, command_output, say};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A workspace beside other folders, in one that commands may not write.
struct Ground {
    _folder: tempfile::TempDir,
    base: PathBuf,
}

impl Ground {
    fn new() -> Self {
        Self::within("/var/tmp")
    }

    fn within(place: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("profiles").tempdir_in(place).unwrap();
        let base = folder.path().canonicalize().unwrap();
        for name in ["work/sub", "extra", "other", "own", "moved", "ada/.countersign"] {
            std::fs::create_dir_all(base.join(name)).unwrap();
        }
        Self { _folder: folder, base }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.base.join(name)
    }

    async fn stage(&self, config: &str, tables: &str, script: Value) -> Stage {
        let setting = Setting {
            config: config.to_owned(),
            tables: tables.replace("BASE", self.base.to_str().unwrap()),
            folder: Some(self.at("work")),
            home: Some(self.at("ada/.countersign")),
            ..Setting::default()
        };
        Stage::with(script, setting).await
    }

    /// The other folders at the root are read only: what may be written is looked through for each command, and what appears there
    /// meanwhile counts as the command's; neither how much this machine has of it nor what other tests do is what is tested.
    fn others_at_the_root(&self) -> String {
        let entries = std::fs::read_dir("/").unwrap().flatten().map(|entry| entry.path());
        let others = entries.filter(|path| path.is_dir() && !path.is_symlink() && !self.base.starts_with(path));
        others.map(|path| format!("{path:?} = \"read\"\n")).collect()
    }

    /// A command that tries to make a file in each folder.
    fn tries(&self, id: &str, name: &str) -> Value {
        let folders = ["work", "work/sub", "extra", "other", "own", "moved"].map(|folder| self.at(folder));
        let folders: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
        bash(
            id,
            &format!("for d in {}; do echo x > $d/{name}; done; true", folders.join(" ")),
        )
    }

    /// The folders in which there is such a file.
    fn made(&self, name: &str) -> Vec<&'static str> {
        let folders = ["work", "work/sub", "extra", "other", "own", "moved"];
        folders
            .into_iter()
            .filter(|folder| self.at(folder).join(name).exists())
            .collect()
    }
}

async fn turn(stage: &Stage, thread: &str, settings: Value) -> Story {
    let input = json!([{"type": "text", "text": "Go"}]);
    let story = stage
        .run_with(json!({"threadId": thread, "input": input, "settings": settings}))
        .await;
    assert_eq!(story.status(), "completed", "{story:#?}");
    story
}

const OWN: &str =
    "[permissions.own]\ndescription = \"Mine\"\nextends = \":workspace\"\nworkspace_roots = [\"BASE/own\"]\n";

/// Shows S-411.
#[tokio::test]
async fn a_profile_is_chosen_by_its_id_and_an_unknown_one_changes_nothing() {
    let ground = Ground::new();
    let script = json!([
        [ground.tries("c1", "one")],
        [say("done")],
        [ground.tries("c2", "two")],
        [say("done")]
    ]);
    let stage = ground.stage("", OWN, script).await;
    let listed = stage.client.call("countersign/permissions/profiles", json!({})).await;
    let ids: Vec<_> = listed["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["id"])
        .collect();
    assert_eq!(ids, [":read-only", ":workspace", ":full-access", "own"]);
    assert_eq!(listed["default"], ":workspace");
    assert_eq!(
        listed["data"][3],
        json!({"id": "own", "description": "Mine", "extends": ":workspace", "builtIn": false})
    );

    let start = "countersign/thread/start";
    for (settings, words) in [
        (json!({"permissions": "onw"}), "Did you mean own?"),
        (
            json!({"permissions": "own", "sandboxPolicy": {"type": "readOnly"}}),
            "both",
        ),
    ] {
        let error = stage
            .client
            .request(start, json!({ "settings": settings }))
            .await
            .unwrap_err();
        assert_eq!(error.data["kind"], "invalidConfig", "{error:?}");
        assert!(error.message.contains(words), "{error:?}");
    }
    let started = stage
        .start_thread(json!({"settings": {"permissions": ":read-only"}}))
        .await;
    assert_eq!(started["settings"]["permissions"], ":read-only");
    assert_eq!(started["settings"]["sandboxPolicy"]["type"], "readOnly");
    let thread = started["thread"]["id"].as_str().unwrap();
    let input = json!([{"type": "text", "text": "Go"}]);
    let wrong = json!({"threadId": thread, "input": input, "settings":
        {"permissions": "nothing", "runtimeWorkspaceRoots": [ground.at("extra")]}});
    let error = stage.client.request("countersign/turn/start", wrong).await.unwrap_err();
    assert!(error.message.contains("\"nothing\""), "{error:?}");
    let error = stage
        .client
        .request(
            "countersign/thread/resume",
            json!({"threadId": thread, "settings": {"permissions": "nothing"}}),
        )
        .await
        .unwrap_err();
    assert!(error.message.contains("\"nothing\""), "{error:?}");
    turn(&stage, thread, json!({})).await;
    assert_eq!(ground.made("one"), Vec::<&str>::new());
    let story = turn(&stage, thread, json!({"permissions": "own"})).await;
    assert_eq!(story.one("thread/configured")["settings"]["permissions"], "own");
    assert_eq!(ground.made("two"), ["work", "work/sub", "own"]);
    let told = stage.requests(4)[2].body.to_string();
    assert!(told.contains("<permission_profile>own</permission_profile>"), "{told}");
}

/// Shows S-412, S-413, S-415.
#[tokio::test]
async fn folders_of_a_thread_are_absolute_and_survive_a_restart() {
    let ground = Ground::new();
    let script = json!([
        [ground.tries("c1", "one")],
        [say("done")],
        [ground.tries("c2", "two")],
        [say("done")]
    ]);
    let stage = ground.stage("", "", script).await;
    let roots = json!(["in", ground.at("extra")]);
    std::fs::create_dir(ground.at("other/in")).unwrap();
    let settings = json!({"cwd": ground.at("other"), "runtimeWorkspaceRoots": roots});
    let started = stage.start_thread(json!({ "settings": settings })).await;
    let two = json!([ground.at("other/in"), ground.at("extra")]);
    assert_eq!(started["settings"]["runtimeWorkspaceRoots"], two);
    let thread = started["thread"]["id"].as_str().unwrap().to_owned();
    turn(&stage, &thread, json!({})).await;
    // The editor's folder is one of the workspace, too.
    assert_eq!(ground.made("one"), ["work", "work/sub", "extra", "other"]);
    let resumed = stage
        .client
        .call("countersign/thread/resume", json!({"threadId": thread}))
        .await;
    assert_eq!(resumed["settings"]["runtimeWorkspaceRoots"], two);
    turn(&stage, &thread, json!({"runtimeWorkspaceRoots": [ground.at("moved")]})).await;
    assert_eq!(ground.made("two"), ["work", "work/sub", "other", "moved"]);
    stage.end();

    let script = json!([[ground.tries("c3", "three")], [say("done")]]);
    let stage = ground.stage("", "", script).await;
    let resumed = stage.resume(json!({"threadId": thread})).await;
    assert_eq!(
        resumed["settings"]["runtimeWorkspaceRoots"],
        json!([ground.at("moved")])
    );
    turn(&stage, &thread, json!({})).await;
    assert_eq!(ground.made("three"), ["work", "work/sub", "other", "moved"]);
}

/// Shows S-414, S-416.
#[tokio::test]
async fn what_a_profile_names_by_a_symbol_follows_the_turn() {
    let ground = Ground::new();
    let script = json!([
        [ground.tries("c1", "one")],
        [say("done")],
        [ground.tries("c2", "two")],
        [say("done")]
    ]);
    let tables = "[permissions.own]\nworkspace_roots = [\"BASE/own\"]\n[permissions.own.filesystem]\n\":root\" = \"read\"\n\
                  \":workspace_roots\" = \"write\"\n\":workspace_roots/sub\" = \"read\"\n";
    let stage = ground.stage("", tables, script).await;
    let thread = stage.thread().await;
    turn(&stage, &thread, json!({"permissions": "own"})).await;
    assert_eq!(ground.made("one"), ["work", "own"]);
    let story = turn(&stage, &thread, json!({"runtimeWorkspaceRoots": [ground.at("extra")]})).await;
    let settings = &story.one("thread/configured")["settings"];
    assert_eq!(settings["runtimeWorkspaceRoots"], json!([ground.at("extra")]));
    assert_eq!(settings["permissions"], "own");
    assert_eq!(ground.made("two"), ["work", "extra", "own"]);
}

/// Shows S-417.
#[tokio::test]
async fn another_folder_takes_the_implicit_root_along_and_leaves_the_others() {
    let ground = Ground::new();
    let script = json!([
        [ground.tries("c1", "one")],
        [say("done")],
        [ground.tries("c2", "two")],
        [say("done")],
        [ground.tries("c3", "three")],
        [say("done")],
    ]);
    let stage = ground.stage("", "", script).await;
    let started = stage
        .start_thread(json!({"settings": {"runtimeWorkspaceRoots": [ground.at("extra")]}}))
        .await;
    let thread = started["thread"]["id"].as_str().unwrap().to_owned();
    turn(&stage, &thread, json!({})).await;
    assert_eq!(ground.made("one"), ["work", "work/sub", "extra"]);
    turn(&stage, &thread, json!({"cwd": ground.at("moved")})).await;
    assert_eq!(ground.made("two"), ["extra", "moved"]);
    stage.end();
    let stage = ground
        .stage("", "", json!([[ground.tries("c3", "three")], [say("done")]]))
        .await;
    let resumed = stage.resume(json!({"threadId": thread})).await;
    assert_eq!(resumed["settings"]["cwd"], json!(ground.at("moved")));
    turn(&stage, &thread, json!({})).await;
    assert_eq!(ground.made("three"), ["extra", "moved"]);
}

/// Folders that the editor adds and takes away reach the next turn's sandbox.
#[tokio::test]
async fn the_editors_folders_are_those_of_the_next_turn() {
    let ground = Ground::new();
    let script = json!([
        [ground.tries("c1", "one")],
        [say("done")],
        [ground.tries("c2", "two")],
        [say("done")]
    ]);
    let stage = ground.stage("default_permissions = \":workspace\"", "", script).await;
    let thread = stage.thread().await;
    let folder = |name: &str| json!([{"uri": countersign::workspace::uri::from_path(&ground.at(name)), "name": name}]);
    let change = |added: Value, removed: Value| {
        let event = json!({"added": added, "removed": removed});
        stage
            .client
            .notify("workspace/didChangeWorkspaceFolders", json!({ "event": event }));
    };
    change(folder("extra"), json!([]));
    turn(&stage, &thread, json!({})).await;
    assert_eq!(ground.made("one"), ["work", "work/sub", "extra"]);
    change(folder("other"), folder("extra"));
    turn(&stage, &thread, json!({})).await;
    assert_eq!(ground.made("two"), ["work", "work/sub", "other"]);
}

/// Shows S-165, S-168, S-171.
#[tokio::test]
async fn each_built_in_profile_writes_where_it_says() {
    for (id, made) in [
        (":read-only", &[][..]),
        (":workspace", &["work", "work/sub"][..]),
        (
            ":full-access",
            &["work", "work/sub", "extra", "other", "own", "moved"][..],
        ),
        (
            ":danger-full-access",
            &["work", "work/sub", "extra", "other", "own", "moved"][..],
        ),
    ] {
        let ground = Ground::new();
        let stage = ground
            .stage(
                &format!("default_permissions = \"{id}\""),
                "",
                json!([[ground.tries("c1", "one")], [say("done")]]),
            )
            .await;
        let thread = stage.thread().await;
        stage.complete(&thread, "Go").await;
        assert_eq!(ground.made("one"), made, "{id}");
    }
}

fn secret(path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, "hush-hush\n").unwrap();
}

fn tool(name: &str, id: &str, arguments: Value) -> Value {
    json!({"call": {"tool": name, "arguments": arguments, "id": id}})
}

/// Keys and what the settings close are read by no tool and by no command, through links neither.
#[tokio::test]
async fn secrets_are_read_by_no_tool_and_no_command() {
    let ground = Ground::new();
    for name in [
        "ada/.ssh/id_rsa",
        "ada/.aws/credentials",
        "ada/.countersign/auth.json",
        "work/.env",
        "work/sub/closed/x",
    ] {
        secret(&ground.at(name));
    }
    std::fs::write(ground.at("ada/.ssh/known_hosts"), "open-to-see\n").unwrap();
    std::fs::write(ground.at("work/plain"), "hush-hush is not in here, only its name\n").unwrap();
    std::os::unix::fs::symlink(ground.at("ada/.ssh/id_rsa"), ground.at("work/link")).unwrap();
    std::os::unix::fs::symlink(ground.at("ada/.aws"), ground.at("work/cloud")).unwrap();
    std::fs::hard_link(ground.at("ada/.ssh/id_rsa"), ground.at("work/second")).unwrap();
    let key = ground.at("ada/.ssh/id_rsa");
    for mode in ["workspace-write", "read-only", "danger-full-access"] {
        let read = |id: &str, path: &Path| tool("read_file", id, json!({"file_path": path}));
        let script = json!([
            [
                read("r1", &key),
                read("r2", &ground.at("work/link")),
                read("r3", &ground.at("work/cloud/credentials")),
                read("r4", &ground.at("work/second")),
                read("r5", &ground.at("work/.env")),
                read("r6", &ground.at("ada/.countersign/auth.json")),
                read("r7", &ground.at("ada/.ssh/known_hosts")),
                read("r8", &ground.at("work/sub/closed/x")),
                tool("grep_files", "g1", json!({"pattern": "hush"})),
                tool(
                    "grep_files",
                    "g2",
                    json!({"pattern": "hush|open", "path": ground.at("ada/.ssh")})
                ),
                tool("list_dir", "l1", json!({"dir_path": ground.at("work/sub"), "depth": 5})),
                tool("list_dir", "l2", json!({"dir_path": ground.at("work/sub/closed")})),
                bash(
                    "b1",
                    &format!(
                        "cat {} {} link second .env sub/closed/x",
                        key.display(),
                        ground.at("ada/.aws/credentials").display()
                    )
                ),
                apply_patch(
                    "p1",
                    "*** Begin Patch\n*** Update File: .env\n@@\n-guess\n+x\n*** End Patch"
                ),
            ],
            [say("done")],
        ]);
        let tables = "[sandbox]\nunreadable = [\"**/.env\", \"BASE/work/sub/closed\"]\n";
        let stage = ground
            .stage(&format!("sandbox_mode = \"{mode}\""), tables, script)
            .await;
        let thread = stage.thread().await;
        stage.complete(&thread, "Go").await;
        let request = &stage.requests(2)[1];
        let output = |id: &str| request.output(id).unwrap_or_else(|| panic!("{id}"));
        for id in ["r1", "r2", "r3", "r4", "r5", "r6", "r8", "l2"] {
            let text = output(id);
            assert!(
                text.contains("is closed") && !text.contains("hush"),
                "{mode} {id}: {text}"
            );
        }
        assert!(output("r7").contains("open-to-see"), "{mode}");
        let found = output("g1");
        assert!(
            found.contains("plain:1:") && found.lines().count() == 1,
            "{mode}: {found}"
        );
        assert!(
            output("l1").contains("closed/") && !output("l1").contains("closed/x"),
            "{mode}"
        );
        assert!(output("p1").contains("kept from the model"), "{mode}: {}", output("p1"));
        let (printed, _) = command_output(request, "b1");
        // Commands under full access have no sandbox; a second name of a file lies in the workspace.
        let times = printed.matches("hush-hush").count();
        let expected = if mode == "danger-full-access" { 6 } else { 1 };
        assert!(times <= expected, "{mode}: {printed}");
        if mode != "danger-full-access" {
            assert!(
                printed.contains("id_rsa") && printed.contains("denied") || printed.contains("Permission"),
                "{printed}"
            );
        }
    }
}

/// What the person opens is open, and a profile's own denials hold for tools and commands.
#[tokio::test]
async fn the_person_says_what_is_closed() {
    let ground = Ground::new();
    for name in ["ada/.aws/credentials", "work/keys/a.pem", "work/keys/a.pub", "other/x"] {
        secret(&ground.at(name));
    }
    let aws = ground.at("ada/.aws/credentials");
    let cat = format!(
        "cat {}; cat keys/a.pem; cat keys/a.pub; cat {}; echo new > keys/b.pem; echo over > keys/a.pem; true",
        aws.display(),
        ground.at("other/x").display()
    );
    let script = json!([
        [
            bash("b1", &cat),
            tool("read_file", "r1", json!({"file_path": aws})),
            tool("read_file", "r2", json!({"file_path": ground.at("work/keys/a.pem")})),
            tool("read_file", "r3", json!({"file_path": ground.at("other/x")})),
        ],
        [say("done")],
    ]);
    let tables = "[sandbox]\nunreadable_defaults = false\n[permissions.own]\nextends = \":workspace\"\n\
                  [permissions.own.filesystem]\n\"**/*.pem\" = \"deny\"\n\"BASE/other\" = \"deny\"\n";
    let stage = ground.stage("default_permissions = \"own\"", tables, script).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "Go").await;
    let request = &stage.requests(2)[1];
    let output = |id: &str| request.output(id).unwrap_or_else(|| panic!("{id}"));
    assert!(output("r1").contains("hush-hush"));
    assert!(output("r2").contains("is closed") && output("r3").contains("is closed"));
    let (printed, _) = command_output(request, "b1");
    assert_eq!(printed.matches("hush-hush").count(), 2, "{printed}");
    assert_eq!(
        std::fs::read_to_string(ground.at("work/keys/a.pem")).unwrap(),
        "hush-hush\n"
    );
}

/// A profile that names all that may be read, and one that may do all but one thing.
#[tokio::test]
async fn profiles_can_open_little_and_close_little() {
    for (name, entries, made, read) in [
        (
            "little",
            "\":minimal\" = \"read\"\n\":workspace_roots\" = \"write\"\n",
            &["work", "work/sub"][..],
            false,
        ),
        (
            "much",
            "\":root\" = \"write\"\nOTHERS\n\"BASE/other\" = \"deny\"\n\"BASE/own\" = \"read\"\n",
            &["work", "work/sub", "extra", "moved"][..],
            true,
        ),
    ] {
        // In the folder for temporary files nothing is kept, so nobody else's work is taken for the command's.
        let ground = Ground::within(if read { "/tmp" } else { "/var/tmp" });
        let entries = entries.replace("OTHERS\n", &ground.others_at_the_root());
        std::fs::write(ground.at("extra/x"), "to-be-read\n").unwrap();
        std::fs::write(ground.at("other/x"), "hush-hush\n").unwrap();
        std::fs::write(ground.at("work/x"), "my-own\n").unwrap();
        let (extra, other) = (ground.at("extra/x"), ground.at("other/x"));
        let cat = format!("cat x; cat {}; cat {}; true", extra.display(), other.display());
        let read_file = |id: &str, path: &Path| tool("read_file", id, json!({"file_path": path}));
        let script = json!([
            [
                ground.tries("c1", "one"),
                bash("c2", &cat),
                read_file("r1", &extra),
                read_file("r2", &other)
            ],
            [say("done")],
        ]);
        let tables = format!("[permissions.{name}.filesystem]\n{entries}");
        let stage = ground
            .stage(&format!("default_permissions = \"{name}\""), &tables, script)
            .await;
        let thread = stage.thread().await;
        stage.complete(&thread, "Go").await;
        assert_eq!(ground.made("one"), made, "{name}");
        let request = &stage.requests(2)[1];
        let (printed, _) = command_output(request, "c2");
        assert!(
            printed.contains("my-own") && !printed.contains("hush-hush"),
            "{name}: {printed}"
        );
        assert_eq!(printed.contains("to-be-read"), read, "{name}: {printed}");
        assert_eq!(request.output("r1").unwrap().contains("to-be-read"), read, "{name}");
        assert!(request.output("r2").unwrap().contains("is closed"), "{name}");
    }
}

/// What is wrong with a profile is said with its place, and opens nothing.
#[tokio::test]
async fn broken_profiles_are_reported_with_their_line() {
    let ground = Ground::new();
    let config = "model = \"x\"\n[permissions.a]\nextends = \"b\"\n[permissions.b]\nextends = \"a\"\n[permissions.c]\n\
                  filesytem = 1\n[permissions.c.filesystem]\n\"relative\" = \"write\"\n\"/x\" = \"wirte\"\n\"*.pem\" = \"read\"\n\
                  [permissions.c.network]\ndomains = { \"a*.org\" = \"allow\" }\nloopback_ports = [0]\n[permissions.\":own\"]\n";
    std::fs::write(ground.at("ada/.countersign/config.toml"), config).unwrap();
    let stage = Stage::with(
        json!([]),
        Setting {
            home: Some(ground.at("ada/.countersign")),
            folder: Some(ground.at("work")),
            ..Setting::default()
        },
    )
    .await;
    std::fs::write(ground.at("ada/.countersign/config.toml"), config).unwrap();
    let read = stage.client.call("countersign/config/read", json!({})).await;
    let warnings = read["warnings"].as_array().unwrap();
    for (line, words) in [
        (3, "a extends b extends a"),
        (5, "b extends a extends b"),
        (7, "did you mean `filesystem`?"),
        (9, "no absolute path"),
        (10, "Did you mean \"write\"?"),
        (11, "can only be denied"),
        (13, "write *.example.org for all names below"),
        (14, "1 to 65535"),
        (15, "names with a colon in front are built in"),
    ] {
        let fits = |warning: &Value| {
            warning["line"] == line
                && warning["message"]
                    .as_str()
                    .is_some_and(|message| message.contains(words))
        };
        assert!(warnings.iter().any(fits), "{line} {words}: {warnings:#?}");
    }
    let listed = stage.client.call("countersign/permissions/profiles", json!({})).await;
    let ids: Vec<_> = listed["data"]
        .as_array()
        .unwrap()
        .iter()
        .skip(3)
        .map(|one| &one["id"])
        .collect();
    assert_eq!(ids, ["c"]);
}

/// What the person's own profile denies stays closed in every mode, for sub-agents, and under whatever closes more; under their profile
/// that names all that is read, nothing else is read for that.
#[tokio::test]
async fn what_closes_more_opens_nothing() {
    let denies =
        "[permissions.shop]\nextends = \":workspace\"\n[permissions.shop.filesystem]\n\"**/.env\" = \"deny\"\n";
    let few = "[permissions.few.filesystem]\n\":minimal\" = \"read\"\n\":workspace_roots/sub\" = \"write\"\n";
    let read_only = json!({"type": "readOnly"});
    for (tables, usual, settings, is_read) in [
        (denies, "shop", json!({}), false),
        (denies, "shop", json!({"mode": "plan"}), false),
        (denies, "shop", json!({"mode": "ask"}), false),
        (denies, "shop", json!({"permissions": ":read-only"}), false),
        (denies, "shop", json!({"permissions": ":workspace"}), false),
        (denies, "shop", json!({"sandboxPolicy": read_only}), false),
        (denies, ":workspace", json!({"permissions": "shop"}), false),
        (
            denies,
            ":workspace",
            json!({"permissions": "shop", "mode": "plan"}),
            false,
        ),
        (denies, ":workspace", json!({"mode": "plan"}), true),
        (denies, "shop", json!({"permissions": ":full-access"}), true),
        (few, "few", json!({"mode": "plan"}), false),
        (few, "few", json!({"permissions": ":read-only"}), false),
    ] {
        let ground = Ground::new();
        std::fs::write(ground.at("work/.env"), "hush-hush\n").unwrap();
        let read = json!({"file_path": ".env"});
        let script = json!([
            [bash("c1", "cat .env; true"), tool("read_file", "c2", read)],
            [say("Done.")],
        ]);
        let config = format!("default_permissions = \"{usual}\"\napproval_policy = \"never\"");
        let stage = ground.stage(&config, tables, script).await;
        let thread = stage.thread().await;
        turn(&stage, &thread, settings.clone()).await;
        let request = &stage.requests(2)[1];
        for call in ["c1", "c2"] {
            let output = request.output(call).expect("an output");
            let is_command = call == "c1";
            // In the ask mode no command is run.
            let is_read = is_read && !(is_command && settings["mode"] == "ask");
            assert_eq!(
                output.contains("hush-hush"),
                is_read,
                "{usual} {settings} {call}: {output}"
            );
        }
    }
}

/// A sub-agent that is to look only reads what the profile lets be read under which the other works.
#[tokio::test]
async fn an_agent_that_looks_reads_what_the_profile_lets_be_read() {
    let denies =
        "[permissions.shop]\nextends = \":workspace\"\n[permissions.shop.filesystem]\n\"**/.env\" = \"deny\"\n";
    for (usual, settings) in [("shop", json!({})), (":workspace", json!({"permissions": "shop"}))] {
        let ground = Ground::new();
        std::fs::write(ground.at("work/.env"), "hush-hush\n").unwrap();
        let spawn = tool(
            "spawn_agent",
            "c1",
            json!({"message": "Look around", "name": "scout", "read_only": true}),
        );
        let looks = [
            bash("s1", "cat .env; echo x > made; echo LOOKED"),
            tool("read_file", "s2", json!({"file_path": ".env"})),
        ];
        let script = json!([
            {"when": {"last_user": "Go"}, "outputs": [spawn]},
            {"when": {"last_user": "Look around"}, "outputs": looks},
            {"when": {"output": {"s1": "LOOKED"}}, "outputs": [say("All is well.")]},
            {"when": {"output": {"c1": "scout"}, "not": {"output": "c2"}}, "outputs": [tool("wait_agents", "c2", json!({}))]},
            {"when": {"input": "All is well"}, "outputs": [say("Done.")]},
        ]);
        let config = format!("default_permissions = \"{usual}\"\napproval_policy = \"never\"");
        let stage = ground.stage(&config, denies, script).await;
        let thread = stage.thread().await;
        let input = json!([{"type": "text", "text": "Go"}]);
        let params = json!({"threadId": thread, "input": input, "settings": settings});
        stage.start_turn_with(params).await;
        stage
            .until(|method, params| method == "turn/completed" && params["threadId"] == thread)
            .await;
        let requests = stage.model.requests();
        let outputs = |id: &str| {
            requests
                .iter()
                .filter_map(|request| request.output(id))
                .collect::<Vec<_>>()
        };
        for call in ["s1", "s2"] {
            let outputs = outputs(call);
            assert!(!outputs.is_empty(), "{usual} {call}");
            assert!(
                outputs.iter().all(|output| !output.contains("hush-hush")),
                "{usual} {call}: {outputs:?}"
            );
        }
        assert!(!ground.at("work/made").exists(), "{usual}");
        for (method, _, _) in countersign::protocol::event::EVENTS {
            stage.client.ignore(method);
        }
        stage.client.take_unread();
    }
}
