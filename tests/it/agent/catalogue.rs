//! What the reference can be asked and tells, and what that is here: each function by its method, event or command.

use super::stage::{Stage, say};
use countersign::protocol::error::KINDS;
use countersign::protocol::event::EVENTS;
use countersign::protocol::method::{CLIENT_REQUESTS, SERVER_REQUESTS};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// What a function of the reference is here.
enum Here {
    /// A request of the client's.
    Asks(&'static str),
    /// A request to the client; the function is its answer.
    Answers(&'static str),
    /// A notification of a thread.
    Tells(&'static str),
    /// A method of LSP itself.
    Lsp(&'static str),
}

use Here::{Answers, Asks, Lsp, Tells};

/// Operations of the newest loop (S-034).
const OPERATIONS: &[(&str, Here)] = &[
    ("Interrupt", Asks("turn/interrupt")),
    ("CleanBackgroundTerminals", Asks("terminal/kill")),
    ("RealtimeConversationStart", Asks("realtime/start")),
    ("RealtimeConversationAudio", Asks("realtime/audio")),
    ("RealtimeConversationText", Asks("realtime/text")),
    ("RealtimeConversationClose", Asks("realtime/close")),
    ("RealtimeConversationListVoices", Asks("realtime/voices")),
    ("OverrideTurnContext", Asks("turn/start")),
    ("UserInput", Asks("turn/start")),
    ("UserInputWithTurnContext", Asks("turn/start")),
    ("UserTurn", Asks("turn/start")),
    ("InterAgentCommunication", Asks("thread/send")),
    ("UserInputAnswer", Answers("userInput/request")),
    ("DynamicToolResponse", Answers("tool/call")),
    ("Compact", Asks("thread/compact")),
    ("ExecApproval", Answers("approval/command")),
    ("PatchApproval", Asks("proposal/decide")),
    ("RequestPermissionsResponse", Answers("approval/permission")),
    ("RefreshMcpServers", Asks("mcp/refresh")),
    ("ReloadUserConfig", Asks("config/reload")),
    ("ThreadRollback", Asks("thread/rollback")),
    ("SetThreadMemoryMode", Asks("thread/memoryMode/set")),
    ("RunUserShellCommand", Asks("thread/shellCommand")),
    ("ResolveElicitation", Answers("mcp/elicitation")),
    ("Shutdown", Lsp("shutdown")),
    ("Review", Asks("review/start")),
    ("ApproveGuardianDeniedAction", Asks("guardian/approveDenied")),
    // Older, and still needed (S-035).
    ("AddToHistory", Asks("history/append")),
    ("GetHistoryEntryRequest", Asks("history/read")),
    ("ListMcpTools", Asks("mcp/list")),
    ("ListCustomPrompts", Asks("prompt/list")),
    ("Undo", Asks("turn/undo")),
];

/// Kinds of events (S-040).
const KINDS_OF_EVENTS: &[(&str, Here)] = &[
    ("SessionConfigured", Tells("thread/configured")),
    ("TaskStarted", Tells("turn/started")),
    ("TaskComplete", Tells("turn/completed")),
    ("TurnAborted", Tells("turn/completed")),
    ("ItemStarted", Tells("item/started")),
    ("ItemCompleted", Tells("item/completed")),
    ("AgentMessage", Tells("item/completed")),
    ("AgentMessageDelta", Tells("item/agentMessage/delta")),
    ("AgentReasoning", Tells("item/completed")),
    ("AgentReasoningDelta", Tells("item/reasoning/summaryTextDelta")),
    ("AgentReasoningRawContentDelta", Tells("item/reasoning/textDelta")),
    // A new part has another index.
    ("AgentReasoningSectionBreak", Tells("item/reasoning/summaryTextDelta")),
    ("RawResponseItem", Tells("item/raw")),
    ("ExecApprovalRequest", Tells("approval/requested")),
    ("ApplyPatchApprovalRequest", Tells("proposal/created")),
    ("ExecCommandBegin", Tells("item/started")),
    ("ExecCommandEnd", Tells("item/completed")),
    ("PatchApplyBegin", Tells("item/started")),
    ("PatchApplyEnd", Tells("item/completed")),
    ("TurnDiff", Tells("turn/diff")),
    ("McpToolCallBegin", Tells("item/started")),
    ("McpToolCallEnd", Tells("item/completed")),
    ("McpListToolsResponse", Asks("mcp/list")),
    ("ListCustomPromptsResponse", Asks("prompt/list")),
    ("GetHistoryEntryResponse", Asks("history/read")),
    ("WebSearchBegin", Tells("item/started")),
    ("TokenCount", Tells("thread/tokenUsage")),
    ("StreamError", Tells("turn/retrying")),
    ("BackgroundEvent", Lsp("window/logMessage")),
    ("Warning", Tells("warning")),
    ("Error", Tells("error")),
    ("EnteredReviewMode", Tells("review/entered")),
    ("ExitedReviewMode", Tells("review/completed")),
    ("ThreadRolledBack", Tells("thread/rolledBack")),
    ("ShutdownComplete", Tells("thread/closed")),
    ("GuardianAssessment", Tells("guardian/assessment")),
    ("RealtimeConversationStarted", Tells("realtime/started")),
    ("RealtimeConversationRealtime, of sound", Tells("realtime/audio/delta")),
    (
        "RealtimeConversationRealtime, of words",
        Tells("realtime/transcript/delta"),
    ),
    ("RealtimeConversationRealtime, of an error", Tells("realtime/error")),
    ("RealtimeConversationClosed", Tells("realtime/closed")),
    ("RealtimeConversationListVoicesResponse", Asks("realtime/voices")),
];

/// Requests of its server (S-431).
const REQUESTS: &[(&str, Here)] = &[
    ("ThreadStart, NewConversation", Asks("thread/start")),
    ("ThreadResume, ResumeConversation", Asks("thread/resume")),
    ("ThreadArchive, ArchiveConversation", Asks("thread/archive")),
    ("ThreadList, ListConversations", Asks("thread/list")),
    ("ThreadCompact", Asks("thread/compact")),
    ("ThreadFork", Asks("thread/fork")),
    ("TurnStart, SendUserMessage, SendUserTurn", Asks("turn/start")),
    ("TurnInterrupt, InterruptConversation", Asks("turn/interrupt")),
    ("ModelList", Asks("model/list")),
    ("LoginAccount, LoginApiKey, LoginChatGpt", Asks("account/login/start")),
    ("CancelLoginAccount, CancelLoginChatGpt", Asks("account/login/cancel")),
    ("LogoutAccount, LogoutChatGpt", Asks("account/logout")),
    ("GetAccount, UserInfo", Asks("account/read")),
    ("GetAuthStatus", Asks("account/status")),
    ("GetAccountRateLimits", Asks("account/rateLimits/read")),
    ("FeedbackUpload", Asks("feedback/upload")),
    ("Initialize", Lsp("initialize")),
    ("GetConversationSummary", Asks("thread/read")),
    ("AddConversationListener", Asks("thread/subscribe")),
    ("RemoveConversationListener", Asks("thread/unsubscribe")),
    ("GetUserSavedConfig", Asks("config/read")),
    ("SetDefaultModel", Asks("model/setDefault")),
    // What the server is called is in the answer to initialize.
    ("GetUserAgent", Lsp("initialize")),
    ("FuzzyFileSearch", Asks("file/search")),
    ("ExecOneOffCommand", Asks("command/exec")),
    ("GitDiffToRemote", Asks("git/diffToRemote")),
];

fn has(mut table: impl Iterator<Item = &'static str>, name: &str) -> bool {
    table.any(|known| known.strip_prefix("countersign/") == Some(name))
}

/// Shows S-034, S-040. What each does is shown by the tests of its area.
#[test]
fn each_function_of_the_reference_has_its_place() {
    for (name, here) in OPERATIONS.iter().chain(KINDS_OF_EVENTS).chain(REQUESTS) {
        let is_there = match here {
            Asks(method) => has(CLIENT_REQUESTS.iter().map(|row| row.0), method),
            Answers(method) => has(SERVER_REQUESTS.iter().map(|row| row.0), method),
            Tells(method) => has(EVENTS.iter().map(|row| row.0), method),
            Lsp(method) => !method.starts_with("countersign/"),
        };
        assert!(is_there, "{name} has no place");
    }
}

/// Shows S-431.
#[tokio::test]
async fn each_request_of_the_references_server_is_known_here() {
    let stage = Stage::new(json!([])).await;
    stage.client.ignore("countersign/account/updated");
    for (name, here) in OPERATIONS.iter().chain(REQUESTS) {
        if let Asks(method) = here {
            // No thread, and settings that cannot be: nothing begins.
            let params = json!({"threadId": "no thread", "settings": 3, "input": [], "command": []});
            let answer = stage.client.request(&format!("countersign/{method}"), params).await;
            assert_ne!(answer.map_err(|error| error.code), Err(-32601), "{name}: {method}");
        }
    }
}

/// Shows S-035.
#[tokio::test]
async fn the_older_operations_answer_on_a_live_thread() {
    let patch = "*** Begin Patch\n*** Add File: new.txt\n+made\n*** End Patch\n";
    let script = json!([
        [{"call": {"tool": "apply_patch", "arguments": {"input": patch}, "id": "c1"}}],
        [say("Done.")],
    ]);
    let stage = Stage::configured(
        "approval_policy = \"never\"\nsandbox_mode = \"workspace-write\"",
        script,
    )
    .await;
    let prompts = stage.client.home().join("prompts");
    std::fs::create_dir_all(&prompts).expect("a folder");
    std::fs::write(prompts.join("tidy.md"), "Tidy up.\n").expect("a prompt");
    let thread = stage.thread().await;
    stage.complete(&thread, "Make it").await;
    assert_eq!(stage.text("new.txt"), "made\n");
    let call = async |method: &str, params: Value| stage.client.call(&format!("countersign/{method}"), params).await;
    call("history/append", json!({"text": "Typed elsewhere", "threadId": thread})).await;
    let list = call("history/list", json!({})).await;
    let newest = &list["data"][0];
    assert_eq!(newest["text"], "Typed elsewhere", "{list}");
    let read = json!({"logId": list["logId"], "offset": newest["offset"]});
    let entry = call("history/read", read).await;
    assert_eq!(entry["entry"]["text"], "Typed elsewhere", "{entry}");
    let servers = call("mcp/list", json!({"threadId": thread})).await;
    assert_eq!(servers["data"], json!([]));
    let listed = call("prompt/list", json!({})).await;
    assert_eq!(listed["data"][0]["name"], "tidy", "{listed}");
    let undone = call("turn/undo", json!({"threadId": thread})).await;
    stage.finish(undone["turnId"].as_str().expect("an id")).await;
    assert!(!stage.path("new.txt").exists());
}

/// One table of errors: each kind once, with its code, and all of them on the page; nowhere is one made up beside it.
#[test]
fn kinds_of_errors_are_those_of_the_table() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/protocol.md")).expect("the page");
    let mut names = BTreeSet::new();
    for kind in KINDS {
        assert!(names.insert(kind.name), "{} stands twice", kind.name);
        let row = |line: &str| line.contains(&format!("`{}`", kind.name)) && line.contains(&kind.code.to_string());
        assert!(page.lines().any(row), "{} is not on the page with its code", kind.name);
    }
    let mut folders = vec![root.join("src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = std::fs::read_to_string(&path).expect("text");
                let flat: String = text.split_whitespace().collect();
                let made_up = flat.contains("RequestError::failed(\"") || flat.contains("Self::failed(\"");
                assert!(!made_up, "{} names a kind of error by itself", path.display());
            }
        }
    }
}
