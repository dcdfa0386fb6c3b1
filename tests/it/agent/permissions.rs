//! Narrow grants: asked for by the model for a command or as such, given by the person for as long as they say.

use super::stage::{Setting, Stage, bash, command_output, say};
use crate::support::client::{Asked, Reply};
use crate::support::git::git;
use crate::support::work::{self, Work, titles};
use serde_json::{Value, json};
use std::path::PathBuf;

const PERMISSION: &str = "countersign/approval/permission";

/// A workspace beside two folders that commands may not write.
async fn beside(config: &str, script: Value) -> Stage {
    let setting = Setting {
        config: config.to_owned(),
        files: vec![
            ("../one/there".to_owned(), "old\n".to_owned()),
            ("../two/there".to_owned(), "old\n".to_owned()),
        ],
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    stage.client.on_request(PERMISSION, |_| Reply::Later);
    stage
}

fn folder(stage: &Stage, name: &str) -> PathBuf {
    stage.dir.parent().expect("a folder above").join(name)
}

fn request(id: &str, permissions: Value) -> Value {
    let arguments = json!({"permissions": permissions, "reason": "The task\n\n needs it."});
    json!({"call": {"tool": "request_permissions", "arguments": arguments, "id": id}})
}

fn with_more(id: &str, script: &str, permissions: Value) -> Value {
    json!({"call": {"tool": "shell", "id": id, "arguments": {
        "command": ["bash", "-c", script],
        "sandbox_permissions": "with_additional_permissions",
        "additional_permissions": permissions,
        "justification": "It writes there.",
    }}})
}

fn write(path: &str) -> Value {
    json!([{"type": "write", "path": path}])
}

async fn asked(stage: &Stage) -> Asked {
    stage.client.expect_request(PERMISSION).await
}

fn given(stage: &Stage, number: usize, id: &str) -> Value {
    let text = stage.requests(number)[number - 1]
        .output(id)
        .unwrap_or_else(|| panic!("no output of {id}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Shows S-429.
#[tokio::test]
async fn two_questions_at_once_each_get_their_own_answer() {
    let script = json!([
        [request("p1", write("../one")), request("p2", write("../two"))],
        [bash("c1", "echo x > ../one/new; echo x > ../two/new; true")],
        [say("done")],
    ]);
    let stage = beside("", script).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    // The calls run side by side, so either may ask first.
    let mut both = [asked(&stage).await, asked(&stage).await];
    let item = |asked: &Asked| asked.params["itemId"].as_str().unwrap().to_owned();
    both.sort_by_key(item);
    let [first, second] = both;
    assert_eq!((item(&first), item(&second)), ("p1".to_owned(), "p2".to_owned()));
    assert_eq!(
        first.params["permissions"],
        json!([{"type": "write", "path": folder(&stage, "one")}])
    );
    assert_eq!(first.params["acceptCovers"], "turn");
    let reason = first.params["reason"].as_str().unwrap();
    // Our words and the model's stand apart.
    assert!(reason.contains("write") && !reason.contains("needs it"), "{reason}");
    assert_eq!(first.params["justification"], "The task\n\n needs it.");
    stage.client.answer(&second, Ok(json!({"decision": "accept"})));
    stage
        .client
        .answer(&first, Ok(json!({"decision": "decline", "feedback": "Not that one."})));
    let story = stage.finish(&turn).await;
    assert_eq!(story.count("approval/resolved"), 2);
    let denied = given(&stage, 3, "p1");
    assert_eq!(denied["permissions"], json!([]));
    assert!(denied["note"].as_str().unwrap().contains("Not that one."), "{denied}");
    let yes = given(&stage, 3, "p2");
    assert_eq!(
        yes["permissions"],
        json!([{"type": "write", "path": folder(&stage, "two")}])
    );
    assert_eq!(yes["scope"], "turn");
    assert!(!folder(&stage, "one").join("new").exists());
    assert!(folder(&stage, "two").join("new").exists());
}

/// Shows S-169, S-430.
#[tokio::test]
async fn a_grant_holds_as_long_as_the_person_said() {
    for (decision, later, next_turn) in [("accept", false, true), ("acceptForSession", true, false)] {
        let script = json!([
            [request("p1", write("../one"))],
            [bash("c1", "echo x > ../one/first")],
            [say("done")],
            [bash("c2", "echo x > ../one/second")],
            [request("p2", write("../one"))],
            [say("done")],
            [bash("c3", "echo x > ../one/third")],
            [request("p3", write("../one"))],
            [say("done")],
        ]);
        let stage = beside("", script).await;
        let one = folder(&stage, "one");
        let thread = stage.thread().await;
        let turn = stage.start_turn(&thread, "Go").await;
        stage
            .client
            .answer(&asked(&stage).await, Ok(json!({ "decision": decision })));
        let story = stage.finish(&turn).await;
        assert_eq!(story.count("approval/requested"), 1);
        assert_eq!(story.item("commandExecution")["confined"], "workspace");
        assert!(one.join("first").exists(), "{decision}");

        let turn = stage.start_turn(&thread, "More").await;
        if next_turn {
            stage
                .client
                .answer(&asked(&stage).await, Ok(json!({"decision": "decline"})));
        }
        let story = stage.finish(&turn).await;
        assert_eq!(story.count("approval/requested"), usize::from(next_turn), "{decision}");
        assert_eq!(one.join("second").exists(), later, "{decision}");

        // Another session knows nothing of it.
        let other = stage.thread().await;
        let turn = stage.start_turn(&other, "Again").await;
        stage
            .client
            .answer(&asked(&stage).await, Ok(json!({"decision": "decline"})));
        stage.finish(&turn).await;
        assert!(!one.join("third").exists(), "{decision}");
    }
}

/// Whatever is no clear yes is a no: an odd answer, an error, an empty part, a part that was not asked for.
#[tokio::test]
async fn only_what_was_asked_for_and_clearly_given_is_given() {
    type Answer = Result<Value, (i64, &'static str)>;
    let rows: [(Answer, usize); 7] = [
        (Ok(json!({"decision": "maybe"})), 0),
        (Ok(json!(null)), 0),
        (Err((-32603, "broken")), 0),
        (Ok(json!({"decision": "accept", "permissions": []})), 0),
        (
            Ok(json!({"decision": "accept", "permissions": [{"type": "network"}, {"type": "write", "path": "/etc"}]})),
            0,
        ),
        (
            Ok(json!({"decision": "accept", "permissions": [{"type": "write", "path": "ONE"}]})),
            1,
        ),
        (Ok(json!({"decision": "accept"})), 2),
    ];
    for (answer, number) in rows {
        let both = json!([{"type": "write", "path": "../one"}, {"type": "loopbackPort", "port": 8080}]);
        let stage = beside("", json!([[request("p1", both)], [say("done")]])).await;
        let thread = stage.thread().await;
        let turn = stage.start_turn(&thread, "Go").await;
        let question = asked(&stage).await;
        let one = folder(&stage, "one").display().to_string();
        let answer = answer.map(|answer| serde_json::from_str(&answer.to_string().replace("ONE", &one)).unwrap());
        let shown = format!("{answer:?}");
        stage.client.answer(&question, answer);
        stage.finish(&turn).await;
        let found = given(&stage, 2, "p1");
        assert_eq!(
            found["permissions"].as_array().unwrap().len(),
            number,
            "{shown}: {found}"
        );
    }
}

/// Shows S-170.
#[tokio::test]
async fn nobody_is_asked_where_nobody_may_be_or_nothing_is_needed() {
    let script = json!([
        [
            request("p1", write("../one")),
            request("p2", write(".")),
            with_more("c1", "echo x > ../one/new", write("../one")),
            with_more("c2", "echo x > inside", write(".")),
        ],
        [say("done")],
    ]);
    let stage = beside("approval_policy = \"never\"", script).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    assert_eq!(story.count("approval/requested"), 0);
    assert!(given(&stage, 2, "p1")["note"].as_str().unwrap().contains("never"));
    assert!(
        given(&stage, 2, "p2")["note"]
            .as_str()
            .unwrap()
            .contains("allowed already")
    );
    let refused = stage.requests(2)[1].output("c1").unwrap();
    assert!(
        refused.contains("was not run") && refused.contains("never"),
        "{refused}"
    );
    assert!(!folder(&stage, "one").join("new").exists() && stage.path("inside").exists());
}

/// What cannot be given is refused without a question, and the model is told why.
#[tokio::test]
async fn what_cannot_be_given_is_not_asked_about() {
    let rows = [
        (write("/"), "/ is never opened"),
        (write("/proc/self"), "kernel"),
        (write("../one/none"), "cannot be opened"),
        (write(".git/hooks"), "protected folder"),
        (write(".codex"), "protected folder"),
        (
            json!([{"type": "gitMetadata", "repository": "../one"}]),
            "no git repository",
        ),
        (json!([{"type": "host", "host": "*.org"}]), "cannot be asked for"),
        (json!([{"type": "host", "host": "a*.example.org"}]), "by a pattern"),
        (json!([{"type": "unixSocket", "path": "../one/there"}]), "no socket"),
        (json!([{"type": "read", "path": "HOME/auth.json"}]), "Countersign's own"),
        (json!([{"type": "everything"}]), "is no type"),
        (json!([]), "is empty"),
    ];
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("auth.json"), "{}").unwrap();
    let named = home.path().display().to_string();
    let calls: Vec<Value> = rows
        .iter()
        .enumerate()
        .map(|(number, (permissions, _))| {
            let permissions = serde_json::from_str(&permissions.to_string().replace("HOME", &named)).unwrap();
            request(&format!("p{number}"), permissions)
        })
        .collect();
    let setting = Setting {
        files: [".git/HEAD", ".git/hooks/x", ".codex/x", "../one/there"]
            .map(|name| (name.to_owned(), String::new()))
            .to_vec(),
        home: Some(home.path().to_owned()),
        ..Setting::default()
    };
    let stage = Stage::with(json!([calls, [say("done")]]), setting).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    assert_eq!(story.count("approval/requested"), 0);
    for (number, (permissions, words)) in rows.iter().enumerate() {
        let output = stage.requests(2)[1].output(&format!("p{number}")).unwrap();
        assert!(output.contains(words), "{permissions}: {output}");
    }
}

/// Also where nothing may be written otherwise.
#[tokio::test]
async fn a_grant_opens_one_place_under_a_policy_that_only_reads() {
    let script = json!([
        [request("p1", write("sub"))],
        [bash("c1", "echo x > sub/new; echo x > beside; true")],
        [say("done")],
    ]);
    let stage = beside("default_permissions = \":read-only\"", script).await;
    stage.write("sub/there", "old\n");
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    stage
        .client
        .answer(&asked(&stage).await, Ok(json!({"decision": "accept"})));
    stage.finish(&turn).await;
    assert!(stage.path("sub/new").exists() && !stage.path("beside").exists());
}

/// A command's own grant holds for it alone, and a no keeps it from running.
#[tokio::test]
async fn a_command_can_ask_for_more_for_itself() {
    let script = json!([
        [with_more("c1", "echo x > ../one/new", write("../one"))],
        [bash("c2", "echo x > ../one/later")],
        [with_more("c3", "echo x > ../two/new", write("../two"))],
        [with_more("c4", "true", json!([]))],
        [say("done")],
    ]);
    let stage = beside("", script).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    let question = asked(&stage).await;
    assert_eq!(
        (&question.params["itemId"], &question.params["acceptCovers"]),
        (&json!("c1"), &json!("command"))
    );
    let reason = question.params["reason"].as_str().unwrap();
    assert!(
        reason.contains("echo x > ../one/new") && !reason.contains("It writes there."),
        "{reason}"
    );
    assert_eq!(question.params["justification"], "It writes there.");
    stage.client.answer(&question, Ok(json!({"decision": "accept"})));
    let question = asked(&stage).await;
    assert_eq!(question.params["itemId"], "c3");
    stage.client.answer(&question, Ok(json!({"decision": "decline"})));
    let story = stage.finish(&turn).await;
    let statuses: Vec<_> = story
        .items("commandExecution")
        .iter()
        .map(|item| item["status"].clone())
        .collect();
    assert_eq!(statuses, ["completed", "failed", "declined"]);
    assert!(folder(&stage, "one").join("new").exists());
    assert!(!folder(&stage, "one").join("later").exists() && !folder(&stage, "two").join("new").exists());
    let output = stage.requests(5)[4].output("c4").unwrap();
    assert!(output.contains("additional_permissions"), "{output}");
}

/// A command that may outlive its call can do the same.
#[tokio::test]
async fn a_command_in_a_terminal_can_ask_for_more_for_itself() {
    let ask = |id: &str, permissions: Value| {
        json!({"call": {"tool": "exec_command", "id": id, "arguments": {
            "cmd": "echo x > ../one/new",
            "sandbox_permissions": "with_additional_permissions",
            "additional_permissions": permissions,
        }}})
    };
    let script = json!([[ask("c1", write("../one"))], [ask("c2", Value::Null)], [say("done")],]);
    let stage = beside("", script).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    let question = asked(&stage).await;
    assert_eq!(question.params["acceptCovers"], "command");
    stage.client.answer(&question, Ok(json!({"decision": "accept"})));
    stage.finish(&turn).await;
    assert!(folder(&stage, "one").join("new").exists());
    let output = stage.requests(3)[2].output("c2").unwrap();
    assert!(output.contains("additional_permissions"), "{output}");
}

/// Git metadata can be opened: commits work, hooks and configuration stay closed.
#[tokio::test]
async fn git_metadata_can_be_opened_without_hooks_and_configuration() {
    let commit = "git -c user.name=p -c user.email=p@localhost commit -q --allow-empty -m one && git rev-parse -q --verify HEAD; \
                  echo x > .git/hooks/pre-commit; echo x >> .git/config; true";
    let script = json!([
        [bash("c1", commit)],
        [request("p1", json!([{"type": "gitMetadata"}]))],
        [bash("c2", commit)],
        [say("done")],
    ]);
    let stage = beside("", script).await;
    git(&stage.dir, &["init", "-q"]);
    let before = stage.text(".git/config");
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    let question = asked(&stage).await;
    assert_eq!(
        question.params["permissions"],
        json!([{"type": "gitMetadata", "repository": stage.dir}])
    );
    stage
        .client
        .answer(&question, Ok(json!({"decision": "acceptForSession"})));
    stage.finish(&turn).await;
    let requests = stage.requests(4);
    let hash = |id: &str| {
        let (printed, _) = command_output(&requests[3], id);
        printed
            .lines()
            .any(|line| line.len() == 40 && line.chars().all(|letter| letter.is_ascii_hexdigit()))
    };
    assert!(!hash("c1") && hash("c2"));
    assert_eq!(stage.text(".git/config"), before);
    assert!(!stage.path(".git/hooks/pre-commit").exists());
}

/// What was opened for reading is read, by tools and by commands; the question says what it is.
#[tokio::test]
async fn a_closed_file_can_be_opened_for_reading() {
    let folder = tempfile::Builder::new()
        .prefix("permissions")
        .tempdir_in("/var/tmp")
        .unwrap();
    let person = folder.path().canonicalize().unwrap().join("ada");
    std::fs::create_dir_all(person.join(".ssh")).unwrap();
    std::fs::write(person.join(".ssh/id_rsa"), "hush-hush\n").unwrap();
    let key = person.join(".ssh/id_rsa");
    let read = |id: &str| json!({"call": {"tool": "read_file", "arguments": {"file_path": key}, "id": id}});
    let script = json!([
        [read("r1")],
        [request("p1", json!([{"type": "read", "path": "~/.ssh/id_rsa"}]))],
        [read("r2"), bash("c1", &format!("cat {}", key.display()))],
        [say("done")],
    ]);
    let setting = Setting {
        home: Some(person.join(".countersign")),
        ..Setting::default()
    };
    let stage = Stage::with(script, setting).await;
    stage.client.on_request(PERMISSION, |_| Reply::Later);
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    let question = asked(&stage).await;
    let reason = question.params["reason"].as_str().unwrap();
    assert!(reason.contains("secrets are kept there"), "{reason}");
    stage.client.answer(&question, Ok(json!({"decision": "accept"})));
    stage.finish(&turn).await;
    let last = &stage.requests(4)[3];
    assert!(!last.output("r1").unwrap().contains("hush") && last.output("r2").unwrap().contains("hush-hush"));
    assert!(command_output(last, "c1").0.contains("hush-hush"));
}

/// What is given for always is written down, and holds after a restart; what is dangerous is asked about each time.
#[tokio::test]
async fn a_grant_for_always_outlives_the_server() {
    let ground = tempfile::Builder::new()
        .prefix("permissions")
        .tempdir_in("/var/tmp")
        .unwrap();
    let base = ground.path().canonicalize().unwrap();
    for made in ["work", "one", "home"] {
        std::fs::create_dir(base.join(made)).unwrap();
    }
    let setting = || Setting {
        folder: Some(base.join("work")),
        home: Some(base.join("home")),
        ..Setting::default()
    };
    let script = json!([
        [request("p1", write("../one"))],
        [request("p2", json!([{"type": "network"}]))],
        [say("done")],
    ]);
    let stage = Stage::with(script, setting()).await;
    stage.client.on_request(PERMISSION, |_| Reply::Later);
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    let offered = |question: &Asked| {
        let decisions = question.params["availableDecisions"].as_array().unwrap();
        decisions.contains(&json!("acceptAlways"))
    };
    let question = asked(&stage).await;
    assert!(offered(&question));
    stage.client.answer(&question, Ok(json!({"decision": "acceptAlways"})));
    let question = asked(&stage).await;
    assert!(!offered(&question));
    assert!(question.params["reason"].as_str().unwrap().contains("Careful"));
    stage.client.answer(&question, Ok(json!({"decision": "acceptAlways"})));
    stage.finish(&turn).await;
    assert_eq!(given(&stage, 3, "p1")["scope"], "always");
    assert_eq!(given(&stage, 3, "p2")["scope"], "turn");
    drop(stage);

    let script = json!([[bash("c1", "echo x > ../one/new")], [say("done")]]);
    let stage = Stage::with(script, setting()).await;
    let thread = stage.thread().await;
    let story = stage.complete(&thread, "Go").await;
    assert_eq!(story.count("approval/requested"), 0);
    assert!(base.join("one/new").exists());
}

/// A stopped turn withdraws the question, and gives nothing.
#[tokio::test]
async fn a_question_is_withdrawn_with_its_turn() {
    let script = json!([
        [request("p1", write("../one"))],
        [bash("c1", "echo x > ../one/new")],
        [say("done")]
    ]);
    let stage = beside("", script).await;
    let thread = stage.thread().await;
    let turn = stage.start_turn(&thread, "Go").await;
    let question = asked(&stage).await;
    stage.interrupt(&thread).await;
    stage.client.expect_withdrawn(&question).await;
    let story = stage.finish(&turn).await;
    assert_eq!(story.status(), "interrupted");
    assert!(story.one("approval/resolved")["decision"].is_null());
    stage.complete(&thread, "Go on").await;
    assert!(!folder(&stage, "one").join("new").exists());
}

/// An editor without our plugin is asked with choices of how long; the first is a no.
#[tokio::test]
async fn any_editor_can_be_asked() {
    for (choice, given) in [(Some("Allow for Session"), true), (Some("Deny"), false), (None, false)] {
        let folder = tempfile::tempdir().unwrap();
        let (project, one) = (folder.path().join("project"), folder.path().join("one"));
        for made in [&project, &one] {
            std::fs::create_dir(made).unwrap();
        }
        let setting = work::Setting {
            folder: Some(project),
            config: "sandbox_workspace_write = { exclude_slash_tmp = true, exclude_tmpdir_env_var = true }".to_owned(),
            ..work::Setting::default()
        };
        let arguments = json!({"permissions": write("../one"), "reason": "The task needs it."});
        let work = Work::with(setting, work::calls("request_permissions", arguments)).await;
        work.fix("a.txt").await;
        let question = work.question().await;
        let message = question.params["message"].as_str().unwrap();
        let real = one.canonicalize().unwrap();
        assert!(
            message.contains(real.to_str().unwrap()) && message.contains("The task needs it."),
            "{message}"
        );
        let titles = titles(&question);
        assert_eq!(titles[0], "Deny");
        for title in ["Allow for Turn", "Allow for Session", "Deny and Stop"] {
            assert!(titles.iter().any(|one| one == title), "{title}: {titles:?}");
        }
        match choice {
            Some(title) => work.press(&question, title),
            None => work.client.answer(&question, Ok(Value::Null)),
        }
        work.done().await;
        let output = work.output("call_1").await;
        assert_eq!(output.contains("\"session\""), given, "{choice:?}: {output}");
        assert_eq!(output.contains("The person said no"), !given, "{choice:?}: {output}");
    }
}

/// A host that a command was refused is named to both: the model in what the command gave back, the person in its item.
#[tokio::test]
async fn a_refused_host_is_named_to_the_model_and_the_person() {
    let asks = "p=${HTTPS_PROXY#http://}; exec 3<>/dev/tcp/127.0.0.1/${p##*:}; \
                printf 'CONNECT refused.example:443 HTTP/1.1\\r\\nHost: refused.example:443\\r\\nProxy-Authorization: Basic %s\\r\\n\\r\\n' \
                \"$(printf %s \"${p%@*}\" | base64 -w0)\" >&3; head -c 80 <&3; exit 7";
    let setting = Setting {
        config: "approval_policy = \"never\"\nsandbox_mode = \"workspace-write\"".to_owned(),
        tables: "[sandbox]\nnetwork = [\"granted.example\"]".to_owned(),
        ..Setting::default()
    };
    let stage = Stage::with(json!([[bash("c1", asks)], [say("done")]]), setting).await;
    let thread = stage.thread().await;
    let story = stage.run(&thread, "Go").await;
    let refusal = "was refused refused.example (port 443): it is not among the hosts that this command may reach";
    let reason = story.item("commandExecution")["reason"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert!(reason.contains(refusal), "{reason}");
    let (output, code) = command_output(&stage.requests(2)[1], "c1");
    assert!(output.contains(refusal) && output.contains("403"), "{output}");
    assert_eq!(code, Some(7));
}
