//! Requests for code actions that a person did not make. Editors run what they find under a kind that they ask for, on save and on
//! format, and which kinds those are a project's own settings may say.

use super::repel;
use crate::support::work::{Work, diagnostic, proposes};
use serde_json::{Value, json};

const CHAT: &str = "talk.countersign.md";

/// Work with a change that waits, and words that wait to be sent.
async fn work() -> Work {
    let files = [("a.txt", "1\n2\n3\n"), (CHAT, "Send me.\n")];
    let script = proposes("*** Update File: a.txt\n@@\n 1\n-2\n+two\n 3\n");
    let work = Work::start("helix-25.07.1", &files, script).await;
    work.client.ignore("workspace/codeLens/refresh");
    work.open("a.txt");
    work.open(CHAT);
    work.fix("a.txt").await;
    let question = work.question().await;
    work.press(&question, "Decide in the files");
    work.client.expect_notification("window/showMessage").await;
    work
}

/// Whoever asks, for which kinds, and what it says of who set it off: a person (1), the editor (2), or nothing.
const HOOKS: &[(&str, &[&str], Option<u8>)] = &[
    ("Helix: code-actions-on-save", &["source.organizeImports"], Some(1)),
    ("Helix: code-actions-on-save", &["quickfix"], Some(1)),
    ("Helix: code-actions-on-save", &["quickfix.countersign"], Some(1)),
    ("Helix: code-actions-on-save, of a project", &["countersign"], Some(1)),
    (
        "Helix: code-actions-on-save, of a project",
        &["countersign.decide"],
        Some(1),
    ),
    ("Zed: code_actions_on_format", &["source.fixAll"], None),
    ("Zed: code_actions_on_format", &["quickfix"], None),
    (
        "Zed: code_actions_on_format, of a project",
        &["countersign.decide"],
        None,
    ),
    (
        "Zed: code_actions_on_format, of a project",
        &["countersign.fix", "countersign.control"],
        None,
    ),
    (
        "Zed: all that was ever announced",
        &[
            "quickfix.countersign",
            "refactor.rewrite.countersign",
            "source.countersign",
        ],
        None,
    ),
    ("Neovim: BufWritePre", &["source"], Some(1)),
    ("Neovim: BufWritePre", &["quickfix", "source.fixAll"], Some(1)),
    ("Neovim: BufWritePre", &["countersign.decide"], Some(1)),
    ("Neovim: BufWritePre", &[""], Some(1)),
    ("VS Code: editor.codeActionsOnSave", &["source.fixAll"], Some(2)),
    ("VS Code: editor.codeActionsOnSave", &["quickfix"], Some(2)),
    ("VS Code: editor.codeActionsOnSave", &["source"], Some(2)),
    ("VS Code: editor.codeActionsOnSave", &["refactor"], Some(2)),
    (
        "VS Code: editor.codeActionsOnSave, of a folder",
        &["countersign"],
        Some(2),
    ),
    ("VS Code: notebook.codeActionsOnSave", &["notebook"], Some(2)),
    ("VS Code: auto fix", &["quickfix"], Some(1)),
    ("VS Code: fix all", &["source.fixAll"], Some(1)),
    ("Sublime: lsp_code_actions_on_save", &["source.fixAll"], Some(2)),
    ("Sublime: lsp_code_actions_on_save", &["countersign.fix"], Some(2)),
    (
        "eglot: eglot-code-action-quickfix in before-save-hook",
        &["quickfix"],
        None,
    ),
    ("eglot: eglot-code-actions in before-save-hook", &["countersign"], None),
    ("lsp-mode: lsp-execute-code-action-by-kind", &["quickfix"], None),
    ("Kakoune: lsp-code-actions-sync", &["source.organizeImports"], None),
    ("coc: codeActionsOnSave", &["quickfix"], Some(2)),
    ("any: no kind at all", &[], None),
    ("any: a wild card", &["*"], None),
    (
        "any: letters in another size",
        &["Countersign.Decide", "QUICKFIX"],
        Some(1),
    ),
    ("any: a kind with blanks", &[" countersign.decide "], Some(1)),
    ("any: half a kind", &["counter", "countersign."], Some(1)),
    ("any: a kind below ours", &["countersign.decide.all"], Some(1)),
];

fn context(only: Option<&[&str]>, trigger: Option<u8>) -> Value {
    let mut context = json!({ "diagnostics": [diagnostic(0, "wrong")] });
    if let Some(only) = only {
        context["only"] = json!(only);
    }
    if let Some(trigger) = trigger {
        context["triggerKind"] = json!(trigger);
    }
    context
}

fn kinds(actions: &[Value]) -> Vec<&str> {
    actions
        .iter()
        .map(|action| action["kind"].as_str().unwrap_or_default())
        .collect()
}

/// Nothing of ours is found under a kind, whichever it is; what decides is found by no editor that asks by itself; and a person
/// who opens the menu finds it.
#[tokio::test]
async fn nothing_is_decided_by_a_hook() {
    let work = work().await;
    let mut found = Vec::new();
    for (hook, only, trigger) in HOOKS {
        for (name, lines) in [("a.txt", (0, 3)), (CHAT, (0, 1))] {
            found.push((
                *hook,
                *only,
                name,
                work.actions(name, lines, context(Some(only), *trigger)).await,
            ));
        }
    }
    repel(&found, |(.., actions)| match actions.as_slice() {
        [] => Ok(()),
        some => Err(format!("it may run {some:?}")),
    });
    let harmless = [
        "countersign.fix",
        "countersign.rewrite",
        "countersign.review",
        "countersign.show",
    ];
    for name in ["a.txt", CHAT] {
        let told = work.actions(name, (0, 3), context(None, Some(2))).await;
        let decides = kinds(&told).into_iter().find(|kind| !harmless.contains(kind));
        assert_eq!(decides, None, "{name}: {told:?}");
    }
    for trigger in [None, Some(1)] {
        let offered = work.actions("a.txt", (0, 3), context(None, trigger)).await;
        let accept = offered.iter().find(|action| {
            action["title"]
                .as_str()
                .is_some_and(|title| title.starts_with("Accept"))
        });
        assert_eq!(accept.expect("offered")["kind"], "countersign.decide");
        let foreign = kinds(&offered)
            .into_iter()
            .find(|kind| !kind.starts_with("countersign."));
        assert_eq!(foreign, None, "{offered:?}");
        assert!(
            offered.iter().all(|action| action["isPreferred"].is_null()),
            "{offered:?}"
        );
        assert_eq!(
            kinds(&work.actions(CHAT, (0, 0), context(None, trigger)).await),
            ["countersign.decide"]
        );
    }
    // All of it still waits.
    assert_eq!(work.disk("a.txt").as_deref(), Some("1\n2\n3\n"));
    assert_eq!(work.model.requests().len(), 1);
    work.choose_action("a.txt", (1, 1), "Accept the agent's change 1 of 1 (−1 +1)")
        .await;
    work.done().await;
    assert_eq!(work.buffer("a.txt"), "1\ntwo\n3\n");
}

/// Nothing else that is asked on save is answered by the server at all.
#[tokio::test]
async fn nothing_is_announced_that_is_asked_on_save() {
    for editor in [
        "helix-25.07.1",
        "nvim-0.12.4",
        "vscode-1.139-lc11",
        "eglot-1.17.30",
        "kakoune-lsp-22.0.0",
    ] {
        let work = Work::start(editor, &[("a.txt", "1\n")], json!([])).await;
        let says = &work.client.server_says["capabilities"];
        let sync = &says["textDocumentSync"];
        let actions = &says["codeActionProvider"];
        for (what, value) in [
            ("willSave", &sync["willSave"]),
            ("willSaveWaitUntil", &sync["willSaveWaitUntil"]),
            ("formatting", &says["documentFormattingProvider"]),
            ("range formatting", &says["documentRangeFormattingProvider"]),
            ("formatting while typing", &says["documentOnTypeFormattingProvider"]),
            ("kinds", &actions["codeActionKinds"]),
        ] {
            assert!(value.is_null() || value == &json!(false), "{editor} {what}: {value}");
        }
        assert_eq!(actions["resolveProvider"], false, "{editor}");
        assert_eq!(says["codeLensProvider"]["resolveProvider"], false, "{editor}");
    }
}
