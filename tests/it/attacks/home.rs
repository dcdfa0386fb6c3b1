//! The home folder: conversations of other projects, history, logs, proposals.

use super::super::exec::fallback::plain_command;
use super::super::exec::place::{Place, has, users, words};
use super::repel;
use crate::agent::stage::{Setting, Stage, bash, command_output, say};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Stands for what was said elsewhere. Its halves stand apart where the model itself names it.
const SECRET: &str = "said-elsewhere-41c7";
const PATTERN: &str = "elsewhere-41c[7]";

/// What lies in the folders of this server and of another agent, below the person's.
const KEPT: [&str; 12] = [
    ".countersign/sessions/2026/01/02/rollout-2026-01-02T03-04-05-0199a213-81c0-7800-8aa1-bbab2a035a53.jsonl",
    ".countersign/archived_sessions/rollout-x.jsonl",
    ".countersign/history.jsonl",
    ".countersign/log/countersign.log",
    ".countersign/proposals/0199a213.json",
    ".countersign/snapshots/x/objects/y",
    ".countersign/outputs/0199a213/call_1.txt",
    ".countersign/chats/old.countersign.md",
    ".countersign/new-kind-of-file",
    ".codex/sessions/2026/01/02/rollout-x.jsonl",
    ".codex/history.jsonl",
    ".claude/projects/x/y.jsonl",
];

struct Ground {
    _folder: tempfile::TempDir,
    base: PathBuf,
}

impl Ground {
    fn new() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("home")
            .tempdir_in("/var/tmp")
            .expect("a folder");
        let base = folder.path().canonicalize().expect("a path");
        fs::create_dir_all(base.join("work/sub")).expect("mkdir");
        for name in KEPT {
            let path = base.join("ada").join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("mkdir");
            fs::write(path, format!("{SECRET}\n")).expect("write");
        }
        let link = |to: &Path, at: &str| std::os::unix::fs::symlink(to, base.join("work").join(at)).expect("symlink");
        link(&base.join("ada/.countersign"), "link");
        link(&base.join("ada"), "around");
        link(Path::new("../ada/.countersign/history.jsonl"), "file");
        link(Path::new("around/.countersign/sessions"), "second");
        link(Path::new("/proc/self/root"), "root");
        Self { _folder: folder, base }
    }

    async fn stage(&self, config: &str, script: Value) -> Stage {
        let setting = Setting {
            config: config.to_owned(),
            folder: Some(self.base.join("work")),
            home: Some(self.base.join("ada/.countersign")),
            env: vec![("HOME".to_owned(), self.base.join("ada").display().to_string())],
            ..Setting::default()
        };
        Stage::with(script, setting).await
    }

    /// Paths under which each file may be had.
    fn paths(&self) -> Vec<String> {
        let ada = self.base.join("ada").display().to_string();
        let mut paths = Vec::new();
        for name in KEPT {
            paths.push(format!("{ada}/{name}"));
            paths.push(format!("around/{name}"));
            paths.push(format!("sub/../around/./{name}"));
            paths.push(format!("root{ada}/{name}"));
            paths.push(format!("/proc/self/cwd/around/{name}"));
            if let Some(below) = name.strip_prefix(".countersign/") {
                paths.push(format!("link/{below}"));
            }
        }
        paths.push("file".to_owned());
        paths.push("second/2026/01/02".to_owned());
        paths
    }
}

fn tool(name: &str, id: &str, arguments: Value) -> Value {
    json!({"call": {"tool": name, "arguments": arguments, "id": id}})
}

/// Nothing of it reaches the model through any tool that reads, nor through a command; under full access not through
/// tools.
#[tokio::test]
async fn no_tool_and_no_command_reads_what_was_said_elsewhere() {
    let ground = Ground::new();
    let paths = ground.paths();
    let home = ground.base.join("ada/.countersign");
    let second = ground.base.join("work/second-name");
    fs::hard_link(home.join("history.jsonl"), &second).expect("a second name");
    for mode in ["workspace-write", "read-only", "danger-full-access"] {
        let mut calls = Vec::new();
        for (at, path) in paths.iter().enumerate() {
            calls.push(tool("read_file", &format!("r{at}"), json!({"file_path": path})));
        }
        let folders = [
            home.display().to_string(),
            home.join("sessions").display().to_string(),
            "link".to_owned(),
            "around".to_owned(),
            "second".to_owned(),
            ground.base.display().to_string(),
        ];
        for (at, folder) in folders.iter().enumerate() {
            let grep = json!({"pattern": PATTERN, "path": folder});
            calls.push(tool("grep_files", &format!("g{at}"), grep));
            calls.push(tool(
                "list_dir",
                &format!("l{at}"),
                json!({"dir_path": folder, "depth": 6}),
            ));
        }
        calls.push(tool("read_file", "h1", json!({"file_path": second})));
        calls.push(tool("view_image", "v1", json!({"path": home.join("history.jsonl")})));
        let patch = format!(
            "*** Begin Patch\n*** Update File: {}\n@@\n-guess\n+x\n*** End Patch",
            home.join("history.jsonl").display()
        );
        calls.push(crate::agent::stage::apply_patch("p1", &patch));
        let confined = mode != "danger-full-access";
        if confined {
            let cat = format!(
                "cat {} file; grep -r '{PATTERN}' {} link/ around/ 2>/dev/null; ls -R link/ around/.countersign; \
                 find {} -type f; cp -r around/.countersign /tmp/x$$ && cat /tmp/x$$/*; true",
                paths.join(" "),
                home.display(),
                home.display()
            );
            calls.push(bash("b1", &cat));
        }
        let script = json!([calls, [say("done")]]);
        let stage = ground.stage(&format!("sandbox_mode = \"{mode}\""), script).await;
        let thread = stage.thread().await;
        stage.complete(&thread, "Go").await;
        let request = &stage.requests(2)[1];
        let mut rows: Vec<String> = (0..paths.len()).map(|at| format!("r{at}")).collect();
        rows.extend((0..folders.len()).flat_map(|at| [format!("g{at}"), format!("l{at}")]));
        rows.extend(["h1", "v1", "p1"].map(str::to_owned));
        repel(rows, |id| {
            let output = request.output(id).ok_or("no output")?;
            let told = output.contains(SECRET) || output.contains("rollout-x") || output.contains("new-kind");
            // What was asked for may be named in the answer.
            let named = id.starts_with('r') && !output.contains(SECRET);
            match told && !named {
                true => Err(format!("{mode}: {output}")),
                false => Ok(()),
            }
        });
        if confined {
            let (printed, _) = command_output(request, "b1");
            assert!(!printed.contains(SECRET), "{mode}: {printed}");
            assert!(!printed.contains("0199a213.json\n"), "{mode}: {printed}");
        }
        stage.end();
    }
}

/// Nor does a command read any of it, whoever the user is and whichever walls there are.
#[test]
fn no_command_of_any_user_reads_what_was_said_elsewhere() {
    const WAYS: [&str; 10] = [
        "cat \"$HOME/NAME\"",
        "cat \"link/NAME\"",
        "cat \"/proc/self/root$HOME/NAME\"",
        "cat \"/proc/$PPID/root$HOME/NAME\" \"/proc/$PPID/cwd/link/NAME\"",
        "cd \"$(dirname \"$HOME/NAME\")\" && cat *",
        "cp -r \"$HOME\" copy; cp \"$HOME/NAME\" single; cat single; grep -r . copy",
        "ln \"$HOME/NAME\" hard && cat hard",
        "mv \"$HOME/NAME\" moved && cat moved",
        "tar cf - -C \"$HOME\" . 2>/dev/null",
        "python3 -c 'import os,sys; print(os.read(os.open(os.path.basename(sys.argv[1]), os.O_RDONLY, \
         dir_fd=os.open(os.path.dirname(sys.argv[1]), os.O_PATH)), 99))' \"$HOME/NAME\"",
    ];
    if !has("python3") {
        return;
    }
    let walls = match has("unshare") && has("setpriv") {
        true => vec![true, false],
        false => vec![true],
    };
    for user in users() {
        let place = Place::new(user);
        for name in KEPT {
            let path = place.outside.join(name);
            let folders: Vec<_> = path
                .ancestors()
                .skip(1)
                .take_while(|one| *one != place.outside)
                .collect();
            folders.iter().rev().for_each(|folder| place.folder(folder));
            place.file(&path, SECRET);
        }
        place.file(&place.outside.join("open.txt"), "what is open is read");
        std::os::unix::fs::symlink(&place.outside, place.work.join("link")).expect("symlink");
        let run = |namespaces: bool, script: &str| {
            let argv = ["sh", "-c", script];
            let mut command = match namespaces {
                true => place.command(&[], &argv),
                false => plain_command(&place, &[], &argv),
            };
            command.env("HOME", &place.outside).output().expect("the sandbox")
        };
        for &namespaces in &walls {
            // The ways are real: each leads to what is open.
            repel([0, 1, 2, 5].map(|at| WAYS[at]), |way| {
                let output = run(namespaces, &way.replace("NAME", "open.txt"));
                match words(&output).contains("what is open is read") {
                    true => Ok(()),
                    false => Err(format!("{user:?} namespaces {namespaces}: {}", words(&output))),
                }
            });
            repel(WAYS, |way| {
                let script: String = KEPT.map(|name| format!("( {} )\n", way.replace("NAME", name))).concat();
                let output = run(namespaces, &script);
                let is_there =
                    |name: &str| fs::read_to_string(place.outside.join(name)).is_ok_and(|text| text == SECRET);
                match KEPT.iter().all(|name| is_there(name)) && !words(&output).contains(SECRET) {
                    true => Ok(()),
                    false => Err(format!("{user:?} namespaces {namespaces}: {}", words(&output))),
                }
            });
        }
    }
}

/// Neither does a link that is exchanged all the time, as a command does that runs on in the sandbox: what tools have opened
/// is judged, not what its path leads to before or after.
#[tokio::test]
async fn a_link_that_is_swapped_while_tools_read_opens_nothing() {
    const CALLS: usize = 60;
    let ground = Ground::new();
    let (work, home) = (ground.base.join("work"), ground.base.join("ada/.countersign"));
    fs::create_dir(work.join("plain")).expect("mkdir");
    fs::write(work.join("plain/history.jsonl"), "nothing here\n").expect("write");
    std::os::unix::fs::symlink("plain", work.join("swapped")).expect("symlink");
    let patch = "*** Begin Patch\n*** Update File: swapped/history.jsonl\n@@\n-guess\n+x\n*** End Patch";
    let calls: Vec<Value> = (0..CALLS)
        .flat_map(|at| {
            [
                tool(
                    "read_file",
                    &format!("r{at}"),
                    json!({"file_path": "swapped/history.jsonl"}),
                ),
                tool(
                    "grep_files",
                    &format!("g{at}"),
                    json!({"pattern": PATTERN, "path": "swapped"}),
                ),
                tool(
                    "list_dir",
                    &format!("l{at}"),
                    json!({"dir_path": "swapped", "depth": 4}),
                ),
                crate::agent::stage::apply_patch(&format!("p{at}"), patch),
            ]
        })
        .collect();
    let stage = ground
        .stage("sandbox_mode = \"workspace-write\"", json!([calls, [say("done")]]))
        .await;
    let thread = stage.thread().await;
    let stop = Arc::new(AtomicBool::new(false));
    let swapping = std::thread::spawn({
        let stop = stop.clone();
        move || {
            let targets = [home.as_path(), Path::new("plain")];
            for to in targets.into_iter().cycle() {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                std::os::unix::fs::symlink(to, work.join("next")).expect("symlink");
                fs::rename(work.join("next"), work.join("swapped")).expect("rename");
                std::thread::sleep(Duration::from_micros(200));
            }
        }
    });
    stage.complete(&thread, "Go").await;
    stop.store(true, Ordering::Relaxed);
    swapping.join().expect("no swap failed");
    let request = &stage.requests(2)[1];
    let rows = (0..CALLS).flat_map(|at| ["r", "g", "l", "p"].map(|kind| format!("{kind}{at}")));
    repel(rows, |id| {
        let output = request.output(id).ok_or("no output")?;
        match output.contains(SECRET) || output.contains("archived_sessions") || output.contains("rollout-x") {
            true => Err(output),
            false => Ok(()),
        }
    });
    let reads = (0..CALLS).filter_map(|at| request.output(&format!("r{at}")));
    let open = reads.filter(|output| output.contains("nothing here")).count();
    assert!(open > 0, "what is open is read");
    stage.end();
}

/// No folder of work opens it: a conversation for which no folder is open has one of its own and nothing else of the home, and
/// one whose folder is the home, or lies in it, or around it, has nothing of it.
#[tokio::test]
async fn no_folder_of_work_opens_the_home() {
    let old = "0199a213-81c0-7800-8aa1-bbab2a035a54";
    let rows = [
        "no folder is open",
        "resumed without a folder",
        "the home is open",
        "a folder of it is open",
        "the person's home is open",
        "cwd is the home",
        "cwd is a link to it",
        "cwd is rules",
        "cwd is private",
        "cwd is scratch",
        "cwd is sessions, the home a root",
    ];
    for row in rows {
        let ground = Ground::new();
        let (ada, home) = (ground.base.join("ada"), ground.base.join("ada/.countersign"));
        for folder in ["rules", "private", "scratch"] {
            fs::create_dir_all(home.join(folder)).expect("mkdir");
        }
        let time = "2026-01-02T03:04:05.000Z";
        let lines = [
            json!({"timestamp": time, "type": "session_meta",
                "payload": {"id": old, "timestamp": time, "originator": "x", "cli_version": "1"}}),
            json!({"timestamp": time, "type": "event_msg", "payload": {"type": "user_message", "message": "Hello"}}),
        ];
        let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let file = format!("sessions/2026/01/02/rollout-2026-01-02T03-04-06-{old}.jsonl");
        fs::write(home.join(file), lines).expect("write");

        let (roots, params) = match row {
            "the home is open" => (vec![home.clone()], json!({})),
            "a folder of it is open" => (vec![home.join("rules")], json!({})),
            "the person's home is open" => (vec![ada.clone()], json!({})),
            "cwd is the home" => (Vec::new(), json!({"cwd": home})),
            "cwd is a link to it" => (Vec::new(), json!({"cwd": ground.base.join("work/link")})),
            "cwd is rules" => (Vec::new(), json!({"cwd": home.join("rules")})),
            "cwd is private" => (Vec::new(), json!({"cwd": home.join("private")})),
            "cwd is scratch" => (Vec::new(), json!({"cwd": home.join("scratch")})),
            "cwd is sessions, the home a root" => (
                Vec::new(),
                json!({"cwd": home.join("sessions"), "runtimeWorkspaceRoots": [home]}),
            ),
            _ => (Vec::new(), json!({})),
        };
        let named = home.display();
        let command = format!(
            "echo mine > note.txt; cat note.txt; cat {named}/history.jsonl history.jsonl; grep -rh '{PATTERN}' {named} . ..; \
             for file in config.toml evil.config.toml rules/evil.toml prompts/evil.md new; do \
             for folder in {named} . .. ../..; do mkdir -p $folder/rules $folder/prompts; echo '# evil' >> $folder/$file; done; done; true"
        );
        let patches = ["config.toml", "rules/evil.toml", "prompts/evil.md"].map(|name| match name {
            "config.toml" => {
                "*** Update File: {}\n@@\n-model = \"rehearsal\"\n+# evil\n".replace("{}", &format!("{named}/{name}"))
            }
            _ => format!("*** Add File: {named}/{name}\n+# evil\n"),
        });
        let patches = patches.map(|patch| format!("*** Begin Patch\n{patch}*** End Patch"));
        let script = json!([
            [
                bash("b1", &command),
                tool("read_file", "r1", json!({"file_path": home.join("history.jsonl")})),
                tool("grep_files", "g1", json!({"pattern": PATTERN, "path": home})),
            ],
            [
                crate::agent::stage::apply_patch("p1", &patches[0]),
                crate::agent::stage::apply_patch("p2", &patches[1]),
                crate::agent::stage::apply_patch("p3", &patches[2]),
            ],
            [say("done")],
        ]);
        let setting = Setting {
            folder: Some(ground.base.join("work")),
            roots: Some(roots),
            home: Some(home.clone()),
            env: vec![("HOME".to_owned(), ada.display().to_string())],
            ..Setting::default()
        };
        let stage = Stage::with(script, setting).await;
        let config = fs::read_to_string(home.join("config.toml")).expect("a configuration");
        let begun = match row {
            "resumed without a folder" => stage.resume(json!({"threadId": old})).await,
            _ => stage.start_thread(params).await,
        };
        let thread = begun["thread"]["id"].as_str().expect("an id").to_owned();
        stage.complete(&thread, "Go").await;
        let requests = stage.requests(3);
        for id in ["b1", "r1", "g1"] {
            let output = requests[1].output(id).unwrap_or_else(|| panic!("{row}: {id}"));
            assert!(!output.contains(SECRET), "{row}: {id}: {output}");
        }
        for id in ["p1", "p2", "p3"] {
            let output = requests[2].output(id).unwrap_or_else(|| panic!("{row}: {id}"));
            assert!(!output.contains("Success"), "{row}: {id}: {output}");
        }
        let now = fs::read_to_string(home.join("config.toml")).expect("a configuration");
        assert_eq!(now, config, "{row}");
        for name in ["evil.config.toml", "rules/evil.toml", "prompts/evil.md", "new"] {
            assert!(!home.join(name).exists(), "{row}: {name} was written");
        }
        if ["no folder is open", "resumed without a folder", "the home is open"].contains(&row) {
            let cwd = begun["settings"]["cwd"].as_str().expect("a folder");
            assert!(Path::new(cwd).starts_with(home.join("scratch")), "{row}: {cwd}");
            let (printed, _) = command_output(&requests[1], "b1");
            assert!(printed.lines().any(|line| line == "mine"), "{row}: {printed}");
            assert_eq!(
                fs::read_to_string(Path::new(cwd).join("note.txt")).expect("a note"),
                "mine\n",
                "{row}"
            );
        }
        stage.end();
    }
}

/// What a conversation needs of its own is there: the person's instructions, and a project in the folder that the person's
/// profile names.
#[tokio::test]
async fn instructions_and_what_a_profile_names_in_the_folder_stay_open() {
    let ground = Ground::new();
    let home = ground.base.join("ada/.countersign");
    fs::write(home.join("AGENTS.md"), "Mind the gap.\n").expect("write");
    let work = home.join("projects/own");
    fs::create_dir_all(&work).expect("mkdir");
    fs::write(work.join("x.txt"), "my-own\n").expect("write");
    let cat = format!("cat x.txt {}; echo y > y.txt", home.join("history.jsonl").display());
    let script = json!([
        [
            bash("b1", &cat),
            tool("read_file", "r1", json!({"file_path": work.join("x.txt")})),
            tool("read_file", "r2", json!({"file_path": home.join("history.jsonl")})),
            tool("read_file", "r3", json!({"file_path": home.join("AGENTS.md")})),
        ],
        [say("done")],
    ]);
    let setting = Setting {
        config: "default_permissions = \"own\"".to_owned(),
        tables: format!(
            "[permissions.own]\nextends = \":workspace\"\n[permissions.own.filesystem]\n\"{}\" = \"write\"\n",
            work.display()
        ),
        folder: Some(work.clone()),
        home: Some(home.clone()),
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    let thread = stage.thread().await;
    stage.complete(&thread, "Go").await;
    let requests = stage.requests(2);
    let output = |id: &str| requests[1].output(id).unwrap_or_else(|| panic!("{id}"));
    let (printed, _) = command_output(&requests[1], "b1");
    assert!(printed.contains("my-own") && !printed.contains(SECRET), "{printed}");
    assert!(work.join("y.txt").exists(), "{printed}");
    assert!(output("r1").contains("my-own") && output("r3").contains("Mind the gap"));
    assert!(output("r2").contains("is closed"), "{}", output("r2"));
    assert!(
        requests[0].body.to_string().contains("Mind the gap"),
        "instructions are told"
    );
}

/// What a person points at is not sent either: a mention or an attached image says so, and goes without.
#[tokio::test]
async fn what_is_pointed_at_in_the_folder_is_not_sent() {
    let ground = Ground::new();
    let home = ground.base.join("ada/.countersign");
    let rows = [
        json!({"type": "mention", "name": "history", "path": home.join("history.jsonl")}),
        json!({"type": "mention", "name": "history", "path": ground.base.join("work/link/history.jsonl")}),
        json!({"type": "mention", "name": "all", "path": home}),
        json!({"type": "mention", "name": "all", "path": ground.base.join("work/second")}),
        json!({"type": "localImage", "path": home.join("history.jsonl")}),
        json!({"type": "text", "text": "See @link/history.jsonl and @file"}),
    ];
    let script: Vec<Value> = rows.iter().map(|_| json!([say("done")])).collect();
    let stage = ground.stage("", json!(script)).await;
    let thread = stage.thread().await;
    for row in &rows {
        let input = json!([{"type": "text", "text": "Look"}, row]);
        let params = json!({"threadId": thread, "input": input});
        // An image that cannot be sent may be refused with the whole input.
        if stage.client.request("countersign/turn/start", params).await.is_ok() {
            stage.until_event("turn/completed").await;
        }
    }
    for request in stage.model.requests() {
        assert!(!request.body.to_string().contains(SECRET), "{}", request.body);
    }
}
