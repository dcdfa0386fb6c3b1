//! The person's prompts in editors without our plugin: as a command, and as code actions on a selection.

use crate::support::client::Place;
use crate::support::work::{Setting, Work};
use serde_json::{Value, json};

async fn work(script: Value) -> Work {
    let files = [
        ("a.py", "x = 1\ny = 2\n"),
        (".git/HEAD", ""),
        (
            ".countersign/prompts/explain.md",
            "---\ndescription: Explain it simply\ncode: true\n---\nExplain this simply.",
        ),
        (
            ".countersign/prompts/needs.md",
            "---\ncode: true\narguments: [what]\n---\nDo $WHAT.",
        ),
        (".countersign/prompts/bare.md", "---\ncode: true\n---\nSay it."),
        (".countersign/prompts/other.md", "Something about $ARGUMENTS."),
    ];
    let setting = Setting {
        files: files.map(|(name, text)| (name, text.to_owned())).to_vec(),
        place: Place::Process,
        ..Setting::default()
    };
    Work::with(setting, script).await
}

fn titles(actions: &[Value]) -> Vec<&str> {
    actions.iter().filter_map(|action| action["title"].as_str()).collect()
}

#[tokio::test]
async fn a_prompt_for_code_is_offered_on_a_selection_and_runs() {
    let work = work(json!([[{"say": "All done."}]])).await;
    work.open("a.py");
    let offered = work.actions("a.py", (0, 1), json!({"diagnostics": []})).await;
    let prompts: Vec<_> = titles(&offered)
        .into_iter()
        .filter(|title| title.starts_with("Prompt "))
        .collect();
    assert_eq!(prompts, ["Prompt /bare", "Prompt /explain: Explain it simply"]);
    let cursor = work.actions("a.py", (0, 0), json!({"diagnostics": []})).await;
    assert!(titles(&cursor).iter().all(|title| !title.starts_with("Prompt ")));
    let action = offered
        .iter()
        .find(|action| action["title"] == "Prompt /explain: Explain it simply");
    work.run(action.expect("it is offered")).await;
    work.done().await;
    let texts = work.model.requests()[0].input_texts();
    assert_eq!(texts.last().map(String::as_str), Some("Explain this simply."));
    let all = texts.join("\n");
    assert!(
        all.contains("Active file: a.py") && all.contains("```\nx = 1\n```"),
        "{all}"
    );
}

/// Whatever has a command behind a slash: no prompt of a project takes its name.
#[test]
fn a_projects_prompt_takes_the_name_of_no_command() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(root.join(path)).expect(path);
    let mut names: Vec<String> = countersign::chat::line::COMMANDS
        .iter()
        .map(|(name, ..)| (*name).to_owned())
        .collect();
    let vscode = read("editors/vscode/src/chat/mentions.ts");
    let list = vscode.split("export const COMMANDS = [").nth(1).expect("a list");
    let list = list.split("] as const").next().expect("its end");
    let quoted = list.split("name: \"").skip(1);
    names.extend(quoted.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())));
    for file in ["account", "changes", "talk", "threads", "server"] {
        let Ok(text) = std::fs::read_to_string(root.join(format!("editors/nvim/lua/countersign/commands/{file}.lua")))
        else {
            continue;
        };
        for line in text.lines().filter(|line| line.contains("composer = true")) {
            let name = line.trim().split(" = ").next().expect("a name");
            names.push(name.trim_matches(|c| "[]'".contains(c)).to_owned());
        }
    }
    assert!(
        names.len() > 40 && names.contains(&"permissions".to_owned()),
        "{names:?}"
    );
    for name in names {
        assert!(
            countersign::config::prompts::COMMANDS.contains(&name.as_str()),
            "{name}"
        );
    }
}

/// However a project describes its prompt, its title is none of ours.
#[tokio::test]
async fn a_prompt_passes_for_no_action_of_ours() {
    let setting = |description: &str| {
        let prompt = format!("---\ndescription: \"{description}\"\ncode: true\n---\nDo harm.");
        let files = [
            ("a.py", "x = 1\n"),
            (".git/HEAD", ""),
            (".countersign/prompts/evil.md", prompt.as_str()),
        ];
        Setting {
            files: files.map(|(name, text)| (name, text.to_owned())).to_vec(),
            place: Place::Process,
            ..Setting::default()
        }
    };
    for description in ["Stop the agent", "Accept the change (a.txt)", "Agent: Allow Once"] {
        let work = Work::with(setting(description), json!([])).await;
        work.open("a.py");
        let offered = work.actions("a.py", (0, 1), json!({"diagnostics": []})).await;
        let titles = titles(&offered);
        let said = titles.iter().copied().filter(|title| title.contains(description));
        let said: Vec<_> = said.collect();
        assert_eq!(said, [format!("Prompt /evil: {description}")], "{titles:?}");
    }
}

#[tokio::test]
async fn a_prompt_is_called_by_command() {
    let work = work(json!([[{"say": "All done."}]])).await;
    work.open("a.py");
    let call = |argument: Value| {
        let params = json!({"command": "countersign.prompt", "arguments": [argument]});
        work.client.request("workspace/executeCommand", params)
    };
    for bad in [
        json!({}),
        json!({"name": ""}),
        json!({"name": "a b/c"}),
        json!({"name": 1}),
        Value::Null,
    ] {
        let error = call(bad.clone()).await.expect_err("it is refused");
        assert_eq!(error.code, -32602, "{bad}");
    }
    // What is missing is said, and nothing is sent.
    call(json!({"name": "needs"})).await.expect("it is taken");
    assert!(work.warned().await.contains("/needs <what>"));
    call(json!({"name": "other", "arguments": "tests"}))
        .await
        .expect("it is taken");
    work.done().await;
    let requests = work.model.requests();
    // No plugin tells what is looked at: the document that was turned to last.
    let all = requests[0].input_texts().join("\n");
    assert!(all.contains("Active file: a.py"), "{all}");
    assert_eq!(requests.len(), 1);
    assert_eq!(
        requests[0].input_texts().last().map(String::as_str),
        Some("Something about tests.")
    );
}
