//! What the types cannot say: order, and the errors of each request.

use crate::protocol::error;

pub(super) struct Notes {
    /// What comes before and after; a sentence or two.
    pub(super) order: &'static str,
    /// Kinds of errors beside `invalidParams` and `internal`.
    pub(super) errors: &'static [&'static str],
}

const fn notes(order: &'static str, errors: &'static [&'static str]) -> Notes {
    Notes { order, errors }
}

pub(super) fn of(method: &str) -> Notes {
    match method.strip_prefix("countersign/").unwrap_or(method) {
        "thread/start" => notes(
            "The answer comes before `thread/started` and `thread/configured`, which follow at once.",
            &[error::INVALID_CONFIG, error::STORE_FAILED],
        ),
        "thread/resume" => notes(
            "As for `thread/start`. A thread that is live already is joined: its running turn goes on, and its settings \
             stay. A file that another program wrote is continued in a copy, so the answer can have another id.",
            &[error::THREAD_NOT_FOUND, error::INVALID_CONFIG, error::STORE_FAILED],
        ),
        "thread/list" => notes("Nothing is loaded; no notification follows.", &[error::INVALID_CURSOR]),
        "thread/read" => notes(
            "Nothing is loaded; no notification follows.",
            &[error::THREAD_NOT_FOUND, error::STORE_FAILED],
        ),
        "thread/fork" => notes(
            "As for `thread/start`, with the copied turns in the answer. What is copied is what is on record: of a running turn \
             that is what it has done so far, and it counts as interrupted in the copy. The thread that is copied goes on as it \
             was. The copy has no name.",
            &[
                error::THREAD_NOT_FOUND,
                error::TURN_NOT_FOUND,
                error::TURN_RUNNING,
                error::INVALID_CONFIG,
                error::STORE_FAILED,
            ],
        ),
        "thread/rollback" => notes(
            "`thread/tokenUsage` with the numbers as they were, and then `thread/rolledBack` come before the answer. If only \
             keeping it failed, it holds all the same and a `warning` says so. Whatever goes wrong before leaves the \
             conversation as it is.",
            &[
                error::ROLLBACK_FAILED,
                error::TURN_MISMATCH,
                error::THREAD_NOT_LOADED,
                error::THREAD_CLOSED,
            ],
        ),
        "thread/subscribe" => notes(
            "What is sent for it follows the answer: the history where it is wanted, then what is kept of the events after \
             `afterSeq`, then all that comes, until `thread/closed`. Deltas are not kept; the completed item says it all. \
             What a compaction or a rollback leaves of the history is not told again: who needs it as it is then subscribes anew. \
             Numbers count from the start of the live thread, so one beyond the latest is of an earlier life and is refused.",
            &[error::THREAD_NOT_LOADED],
        ),
        "thread/unsubscribe" => notes(
            "Nothing is sent for the subscription after the answer.",
            &[error::SUBSCRIPTION_NOT_FOUND],
        ),
        "thread/archive" => notes(
            "A live thread is ended: its turn is stopped and `thread/closed` comes before `thread/archived`.",
            &[
                error::THREAD_NOT_FOUND,
                error::THREAD_ARCHIVED,
                error::THREAD_IN_USE,
                error::THREAD_NOT_STORED,
                error::STORE_FAILED,
            ],
        ),
        "thread/unarchive" => notes(
            "`thread/unarchived` follows the answer. The thread is not loaded.",
            &[error::THREAD_NOT_FOUND, error::STORE_FAILED],
        ),
        "thread/delete" => notes(
            "A live thread is ended: its turn is stopped and `thread/closed` comes before `thread/deleted`. Copies that were made \
             of it stay.",
            &[error::THREAD_NOT_FOUND, error::THREAD_IN_USE, error::STORE_FAILED],
        ),
        "thread/name/set" => notes(
            "`thread/nameUpdated` follows. The name is in the thread's file when the answer comes.",
            &[
                error::THREAD_NOT_FOUND,
                error::THREAD_ARCHIVED,
                error::THREAD_IN_USE,
                error::STORE_FAILED,
            ],
        ),
        "thread/memoryMode/set" => notes(
            "The mode is in the thread's file when the answer comes. No model is asked, no event follows, and nothing in the \
             conversation changes.",
            &[
                error::THREAD_NOT_FOUND,
                error::THREAD_ARCHIVED,
                error::THREAD_IN_USE,
                error::THREAD_NOT_STORED,
                error::STORE_FAILED,
            ],
        ),
        "thread/search" => notes("Nothing is loaded; no notification follows.", &[error::INVALID_CURSOR]),
        "turn/start" => notes(
            "Answered as soon as the thread has taken the input. `turn/started` comes after the answer, then the turn's \
             items, and `turn/completed` ends it. If a turn runs, the input joins it and `steered` is true.",
            &[
                error::THREAD_NOT_LOADED,
                error::THREAD_CLOSED,
                error::QUEUE_FULL,
                error::INVALID_CONFIG,
                error::EMPTY_COMMAND,
                error::COMMAND_NOT_FOUND,
                error::COMMAND_RUNNING,
            ],
        ),
        "thread/context" => notes(
            "Nothing is sent to the model. Before this server has asked one, instructions and tools are not known, nor is the window.",
            &[error::THREAD_NOT_LOADED],
        ),
        "thread/compact" => notes(
            "A turn that runs is stopped first and completes as interrupted, `replaced`. Then `turn/started` comes, one item \
             `contextCompaction`, `thread/tokenUsage` with what is left, and `turn/completed`; if there is no summary, it has \
             failed and the conversation is as it was. What the person says meanwhile begins the next turn. The same happens by \
             itself inside a turn, at nine tenths of the context window or at `model_auto_compact_token_limit`.",
            &[error::THREAD_NOT_LOADED, error::THREAD_CLOSED],
        ),
        "thread/shellCommand" => notes(
            "Answered as soon as the thread has taken the command. If a turn runs, the command shows there as one item more, \
             the agent goes on, and the turn ends when both are done. Otherwise `turn/started` comes after the answer, then the \
             item, its output and its end, and `turn/completed`; no model is asked. Stopping the turn ends the command. The same \
             by `turn/start` and `turn/steer` with one text that begins with `!`.",
            &[error::EMPTY_COMMAND, error::THREAD_NOT_LOADED, error::THREAD_CLOSED],
        ),
        "thread/send" => notes(
            "The message shows as an `agentMail` item of the turn in which the model reads it: the running one, or with \
             `startsTurn` one that begins for it, else the next. After the person has stopped a turn none begins for it before \
             they have said something.",
            &[error::THREAD_NOT_LOADED, error::THREAD_CLOSED, error::QUEUE_FULL],
        ),
        "command/exec" => notes(
            "Answered when the command has ended; any number run side by side, and nothing else waits for them. With \
             `streamOutput` all `command/output` come before the answer. `$/cancelRequest`, the end of the session and a lost \
             client end the command. It leaves no trace in any thread. Under full access there is no sandbox; nobody is asked \
             for more than the policy gives.",
            &[error::EMPTY_COMMAND, error::EXEC_FAILED],
        ),
        "file/readable" => notes(
            "For a tool of the client's that shows a file, or lines of one, to the model: what the person keeps from it \
             (`.countersignignore`, settings) and places of keys are refused, as the server's own tools refuse them.",
            &[error::THREAD_NOT_LOADED, error::THREAD_CLOSED, error::INVALID_CONFIG],
        ),
        "file/search" => notes(
            "Any number run side by side, and nothing waits for them. A search that a newer one under its token has stopped is \
             answered with what it has. With `stream` all `file/searchUpdated` come before the answer. `$/cancelRequest` ends a \
             search. What ignore files name is left out, folders are found too.",
            &[],
        ),
        "feedback/preview" => notes(
            "Secrets are taken out of all that is in it. Show the report to the person before anything is done with it.",
            &[error::FEEDBACK_FAILED],
        ),
        "feedback/save" => notes(
            "With `previewId` exactly what was shown is saved. A file that is there already is not written over.",
            &[error::PREVIEW_NOT_FOUND, error::FEEDBACK_FAILED],
        ),
        "feedback/upload" => notes(
            "With `previewId` exactly what was shown is sent. Nothing waits for it; after 30 seconds it has failed. Without a \
             configured address nothing is ever sent.",
            &[
                error::NO_FEEDBACK_ENDPOINT,
                error::PREVIEW_NOT_FOUND,
                error::FEEDBACK_FAILED,
            ],
        ),
        "git/diffToRemote" => notes(
            "Nothing is fetched: a remote is as it was when the repository heard of it last. The repository stays as it is.",
            &[error::NO_DIFFERENCE],
        ),
        "command/terminate" => notes("The answer of `command/exec` follows, with `stopped`.", &[]),
        "guardian/approveDenied" => notes(
            "The model is told, as a developer message before it is asked the next time, that exactly this action is allowed, \
             once. Nothing is run by it.",
            &[error::THREAD_NOT_LOADED],
        ),
        "turn/steer" => notes(
            "The input shows as a user message item of the running turn, before the next request to the model.",
            &[
                error::THREAD_NOT_LOADED,
                error::NO_ACTIVE_TURN,
                error::TURN_MISMATCH,
                error::QUEUE_FULL,
            ],
        ),
        "turn/interrupt" => notes(
            "Open questions of the turn are withdrawn (`approval/resolved`, `proposal/updated`), its commands end, then \
             `turn/completed` comes with status `interrupted` and `interruptedBy` `person`. Input that the turn had not read yet \
             stands in `unanswered` there and is in no later turn; what waits in the queue stays there, paused.",
            &[error::THREAD_NOT_LOADED, error::TURN_MISMATCH],
        ),
        "turn/retryNow" => notes(
            "The request is sent at once; what follows is what follows a request: the answer's items, or another `turn/retrying`.",
            &[error::THREAD_NOT_LOADED],
        ),
        "turn/queue/add" => notes(
            "For what the person wants to say after the running turn, where `turn/start` and `turn/steer` say it at once. The \
             inputs get their turns one after the other as long as each turn completes: one that was stopped or that failed \
             pauses the queue. What waits is not on the disk; `turn/queueChanged` has the whole of it, each time.",
            &[
                error::THREAD_NOT_LOADED,
                error::THREAD_CLOSED,
                error::QUEUE_FULL,
                error::INVALID_CONFIG,
                error::EMPTY_COMMAND,
                error::COMMAND_NOT_FOUND,
                error::COMMAND_RUNNING,
            ],
        ),
        "turn/queue/list" => notes(
            "No notification follows.",
            &[error::THREAD_NOT_LOADED, error::THREAD_CLOSED],
        ),
        "turn/queue/edit" | "turn/queue/remove" | "turn/queue/reorder" => notes(
            "`turn/queueChanged` tells every client, if something has changed. An input whose turn has begun is not in the queue \
             any more, and one that names it changes nothing.",
            &[error::QUEUED_NOT_FOUND, error::THREAD_NOT_LOADED, error::THREAD_CLOSED],
        ),
        "turn/queue/resume" => notes(
            "The next input gets its turn at once if none runs. Nothing happens where the queue is not paused.",
            &[error::THREAD_NOT_LOADED, error::THREAD_CLOSED],
        ),
        "turn/undo" => notes(
            "Answered at once with the undo's own turn. `turn/started` comes after the answer, then one item `undo`, and \
             `turn/completed` with status `completed`, or `failed` if nothing was taken back. All files or none: only those \
             that the item names as conflicts or skipped stay.",
            &[
                error::THREAD_NOT_LOADED,
                error::THREAD_CLOSED,
                error::TURN_RUNNING,
                error::TURN_NOT_FOUND,
            ],
        ),
        "turn/diff" => notes(
            "Nothing is loaded; nothing follows. The notification of the same name brings the diff as it grows.",
            &[error::THREAD_NOT_FOUND, error::TURN_NOT_FOUND, error::STORE_FAILED],
        ),
        "proposal/list" => notes("Answered from what the server holds; nothing follows.", &[]),
        "proposal/read" => notes(
            "Answered from what the server holds; nothing follows.",
            &[error::PROPOSAL_NOT_FOUND],
        ),
        "proposal/decide" => notes(
            "`proposal/updated` follows each decision. What is accepted is applied at once while others wait: a further \
             `proposal/updated` says `applied` of its hunks, or that they wait again where that failed. Left for the end is a file that \
             moves or whose folder is asked about, and everything where `edits.apply` is `together`; until it is applied a decision can be \
             changed. With the last decision the status is `accepted`, or `rejected` if no hunk was taken, and a further `proposal/updated` says \
             what became of it. A hunk in conflict can only be rejected: \
             naming it with `accept` is an error and changes nothing. Accepting a file leaves its hunks in conflict waiting; \
             accepting the whole leaves them out, and the model is told. Without `hunkIds` only what was told to fit is \
             accepted; what fits just now waits on.",
            &[
                error::PROPOSAL_NOT_FOUND,
                error::PROPOSAL_SETTLED,
                error::HUNK_NOT_FOUND,
                error::HUNK_CONFLICTING,
                error::HUNK_APPLIED,
            ],
        ),
        "proposal/edit" => notes(
            "`proposal/updated` follows. A hunk that was decided waits again once it is edited: nothing is written before \
             just this text is accepted.",
            &[
                error::PROPOSAL_NOT_FOUND,
                error::PROPOSAL_SETTLED,
                error::HUNK_NOT_FOUND,
                error::HUNK_NOT_EDITABLE,
                error::HUNK_APPLIED,
            ],
        ),
        "approval/respond" => notes(
            "`approval/resolved` follows, unless the question was settled before; the first answer counts.",
            &[error::APPROVAL_NOT_FOUND],
        ),
        "userInput/respond" => notes(
            "`userInput/resolved` follows, unless the question was settled before; the first answer counts.",
            &[],
        ),
        "userInput/request" => notes(
            "Sent to clients with the plugin protocol, after `userInput/requested`. `null`, an error, an answer that cannot be \
             understood and a client that is gone are no answer, and the model is told so. Any of the answers may be left out. If \
             the question is settled elsewhere, by a message of the person's, or pointless, the request is cancelled and \
             `userInput/resolved` comes.",
            &[],
        ),
        "tool/call" => notes(
            "Comes while the item of the call is open, and is cancelled when the turn is stopped or the answer takes longer than \
             `dynamic_tool_timeout_sec` (300 where nothing is configured, 0 for no limit). An error, an answer that cannot be \
             understood and a client that is gone are failures of the call, which the model is told; the turn goes on.",
            &[],
        ),
        "review/start" => notes(
            "As for `turn/undo`: `turn/started` comes after the answer. Then `review/entered`, what the reviewer thinks and runs, \
             and `review/completed`. A target that stands for nothing fails the turn (`reviewFailed`) and one without any \
             difference completes it, both before `review/entered`. What the person says meanwhile goes to the reviewer.",
            &[error::THREAD_NOT_LOADED, error::THREAD_CLOSED, error::TURN_RUNNING],
        ),
        "review/findings" => notes("Looks at the texts as they are now; nothing follows.", &[]),
        "review/dismiss" => notes(
            "`review/findingsChanged` follows if there was one, and diagnostics are published again.",
            &[],
        ),
        "terminal/list" => notes("Answered from what the server holds; nothing follows.", &[]),
        "terminal/read" => notes(
            "Answered from what the server holds; nothing follows. What comes later is in `terminal/output`.",
            &[error::TERMINAL_NOT_FOUND],
        ),
        "terminal/write" => notes(
            "Answered at once; what the program makes of it comes as `terminal/output`.",
            &[error::TERMINAL_NOT_FOUND, error::TERMINAL_REFUSED],
        ),
        "terminal/resize" => notes(
            "The program hears of it by SIGWINCH.",
            &[error::TERMINAL_NOT_FOUND, error::TERMINAL_REFUSED],
        ),
        "terminal/kill" => notes(
            "Answered at once; `terminal/exited` follows for each within two seconds. The model is told. One that has \
             ended before is in nobody's way and is not named in the answer.",
            &[error::TERMINAL_NOT_FOUND],
        ),
        "realtime/start" => notes(
            "Answered before anything is connected. `realtime/started` follows, or one `error` of kind `other` with the \
             `realtimeId`; the thread goes on either way. Nothing is sent to the endpoint before this is asked for.",
            &[error::THREAD_NOT_LOADED, error::THREAD_CLOSED],
        ),
        "realtime/audio" => notes(
            "Taken from the answer of `realtime/start` on, and said in order once it has started. A piece has at most \
             96 KiB of sound; some twenty seconds may wait.",
            &[
                error::THREAD_NOT_LOADED,
                error::REALTIME_NOT_RUNNING,
                error::REALTIME_BUSY,
            ],
        ),
        "realtime/text" => notes(
            "As for `realtime/audio`. The voice answers it.",
            &[
                error::THREAD_NOT_LOADED,
                error::REALTIME_NOT_RUNNING,
                error::REALTIME_BUSY,
            ],
        ),
        "realtime/close" => notes(
            "`realtime/closed` follows if it had started, within a second or two; one that still starts ends without a word. \
             Where there is none, nothing follows.",
            &[error::THREAD_NOT_LOADED],
        ),
        "realtime/voices" => notes("The list is built in; nothing is asked of anybody.", &[]),
        "prompt/list" => notes(
            "The files are read again. A file that cannot be used is in `problems` and keeps no other from being offered.",
            &[],
        ),
        "history/read" => notes(
            "Nothing follows. A number that is not there, and the log id of a file that another one has replaced, are no errors: \
             the answer has no `entry`.",
            &[error::STORE_FAILED],
        ),
        "history/list" => notes(
            "Nothing follows. Under another log id than the file\u{2019}s, `data` is empty; the answer has the one that counts now.",
            &[error::STORE_FAILED],
        ),
        "history/append" => notes("Answered at once; the entry is written in the background.", &[]),
        "account/read" => notes("Nothing follows.", &[error::INVALID_CONFIG]),
        "account/status" => notes(
            "Nothing follows. A token that cannot be read or renewed is no error.",
            &[error::INVALID_CONFIG],
        ),
        "account/setup" => notes(
            "Nothing follows. Whether a key is right is not tried.",
            &[error::INVALID_CONFIG],
        ),
        "account/login/start" => notes(
            "A login that runs is given up: there is one at a time. What follows the answer: the `account/login/completed` of the \
             one that was given up; for a key, `account/login/completed` without an id and `account/updated`; for an account, \
             `account/login/completed` once it ends and, if it succeeded, `account/updated`. The server opens no browser.",
            &[
                error::INVALID_CONFIG,
                error::LOGIN_METHOD_FORCED,
                error::LOGIN_NOT_CONFIGURED,
                error::LOGIN_FAILED,
                error::ACCOUNT_STORE_FAILED,
            ],
        ),
        "account/login/cancel" => notes(
            "`account/login/completed` without success follows the answer.",
            &[error::BAD_LOGIN_ID, error::LOGIN_NOT_FOUND],
        ),
        "account/logout" => notes(
            "A login that runs is given up, and its `account/login/completed` follows the answer; then comes `account/updated` with \
             what remains, such as a key of the environment. What was signed in with is forgotten here before the authorization \
             server is told, and whatever it says.",
            &[error::INVALID_CONFIG, error::ACCOUNT_STORE_FAILED],
        ),
        "account/rateLimits/read" => notes(
            "Asks the provider; nothing follows.",
            &[
                error::INVALID_CONFIG,
                error::NOT_LOGGED_IN,
                error::NO_ACCOUNT,
                error::RATE_LIMITS_FAILED,
            ],
        ),
        "model/list" => notes(
            "May ask the provider; nothing follows.",
            &[error::INVALID_CURSOR, error::PROVIDER_FAILED],
        ),
        "config/read" => notes(
            "Read again from the files; nothing follows.",
            &[error::CONFIG_UNREADABLE, error::CONFIG_BROKEN],
        ),
        "config/write" => notes(
            "Comments, order and all other keys stay as they are. Live threads take the new configuration up before their next turn, \
             told by `thread/configured` where their settings change with it; what was chosen for a thread stays, and what a thread \
             may do is narrowed so, never widened. An edit that would \
             not be valid is refused with the cause, and so are all edits with it; `contentModified` says that the file has changed \
             since `expectedVersion`.",
            &[
                error::INVALID_PARAMS,
                error::INVALID_CONFIG,
                error::CONTENT_MODIFIED,
                error::CONFIG_BROKEN,
                error::CONFIG_NOT_WRITTEN,
            ],
        ),
        "config/reload" => notes(
            "Also done before a turn when config.toml was written since. `thread/configured` follows in each thread whose settings \
             change, and a `warning` for what is wrong and was not told there yet. With a file that cannot be read or is no TOML, \
             all threads keep what they have.",
            &[
                error::THREAD_NOT_LOADED,
                error::INVALID_CONFIG,
                error::CONFIG_UNREADABLE,
                error::CONFIG_BROKEN,
            ],
        ),
        "model/setDefault" => notes(
            "Written into the profile in force, if there is one. Threads that are there keep their model; nothing follows.",
            &[
                error::INVALID_PARAMS,
                error::INVALID_CONFIG,
                error::CONFIG_BROKEN,
                error::CONFIG_NOT_WRITTEN,
            ],
        ),
        "sandbox/status" => notes(
            "Each wall is tried again, which takes some milliseconds; nothing follows.",
            &[],
        ),
        "permissions/profiles" => notes("Read again from the files; nothing follows.", &[error::INVALID_CONFIG]),
        "document/save" => notes(
            "Comes before a command runs, while documents that the agent changed are open and not saved. Any answer lets \
             the command run; what is not saved is named to the model.",
            &[],
        ),
        "approval/command" => notes(
            "Sent to clients with the plugin protocol, after `approval/requested`. An answer that cannot be understood, an \
             error and a client that is gone count as `decline`. If the question is settled elsewhere the request is \
             cancelled and `approval/resolved` comes. `acceptAlways` counts only where it is offered, and then `alwaysRule` says \
             what it writes; if that fails a `warning` says why, and the command runs this once.",
            &[],
        ),
        "approval/permission" => notes(
            "Sent to clients with the plugin protocol, after `approval/requested`, once hunks are accepted that write outside \
             every writable folder (`folders`), or when the model asks for `permissions`. Of `permissions` the answer can name \
             a part; an empty list is a no, and so is whatever is no clear yes, as for `approval/command`: then nothing of the \
             patch is written, and nothing is given.",
            &[],
        ),
        "approval/tool" => notes(
            "Sent to clients with the plugin protocol, after `approval/requested`, before a call of a server's tool that may \
             change something. Whatever is no clear yes is a no, as for `approval/command`. `acceptAlways` writes what \
             `alwaysRule` shows.",
            &[],
        ),
        "mcp/list" => notes(
            "Waits for servers that still start, and some seconds for the resources of each, side by side; what did not come \
             in time is told in its `error`, and the rest is there. Without `threadId` the servers of the configuration are \
             started, and end again if no thread has them.",
            &[error::THREAD_NOT_LOADED, error::INVALID_CONFIG],
        ),
        "mcp/login" => notes(
            "Answered once the authorization server is found and the browser can come back. The page is open for ten minutes; \
             `mcp/login/completed` follows, and after a success the server starts again (`mcp/status`) with its tools.",
            &[
                error::THREAD_NOT_LOADED,
                error::INVALID_CONFIG,
                error::LOGIN_FAILED,
                error::INVALID_PARAMS,
            ],
        ),
        "mcp/logout" => notes(
            "The server starts again without a login; its tools are gone where it wants one.",
            &[
                error::THREAD_NOT_LOADED,
                error::INVALID_CONFIG,
                error::ACCOUNT_STORE_FAILED,
                error::INVALID_PARAMS,
            ],
        ),
        "mcp/refresh" => notes(
            "Answered at once. The next turn of each thread takes the new configuration up: servers that are new or did not \
             start are started (`mcp/status`), those that are no longer there end, all others stay as they are.",
            &[error::THREAD_NOT_LOADED, error::INVALID_CONFIG],
        ),
        "mcp/resource/list" | "mcp/resource/templates" | "mcp/resource/read" => notes(
            "Answered when the server has answered, or after some seconds with an error.",
            &[
                error::THREAD_NOT_LOADED,
                error::INVALID_CONFIG,
                error::SERVER_NOT_FOUND,
                error::SERVER_FAILED,
            ],
        ),
        "mcp/elicitation" => notes(
            "Sent to clients with the plugin protocol, after `mcp/elicitationRequested`. An answer that cannot be understood, \
             an error and a client that is gone count as `cancel`. If the turn is stopped or the question settled elsewhere, \
             the request is cancelled and `mcp/elicitationResolved` comes. The server hears its own id again, with `content` \
             only after `accept`.",
            &[],
        ),
        "mcp/elicitation/respond" => notes(
            "`mcp/elicitationResolved` follows, unless the question was settled before; the first answer counts. One that fits \
             no question is only logged.",
            &[],
        ),
        other => panic!("{other} needs notes"),
    }
}

/// What holds for the notifications of every thread.
pub(super) const ORDER: &[&str] = &[
    "`seq` rises by one with each notification of a thread. Deltas of the same place may be joined on their way to a \
     slow client; the joined one carries the last number, so numbers can be left out but never go back.",
    "`thread/started`, then `thread/configured`, come before anything else of a thread; `thread/closed` is the last of its \
     turns. What happens to a thread that is not live, `thread/archived`, `thread/unarchived`, `thread/deleted` and \
     `thread/nameUpdated`, needs no other event of it before.",
    "Each `turn/started` has exactly one `turn/completed`, and nothing of the turn comes after it. One turn runs at a \
     time in a thread; threads run side by side.",
    "Each `item/started` has exactly one `item/completed` with the same item id, in the same turn. Deltas come between \
     the two; the completed item is the whole truth, whatever deltas were missed. No id is given twice in a thread, also where \
     a provider repeats its own.",
    "Where the answer of the model breaks off and the request is sent again, what it had begun is completed with `withdrawn`, \
     before `turn/retrying`: it is no part of the turn any more, on record neither, and what it began comes in another item. \
     Where no later attempt says anything, a new item has its text, with `partial`.",
    "A command that outlives its call is completed as an item with status `background`; then comes `terminal/started`, any \
     number of `terminal/output`, and one `terminal/exited`, also after the turn: they name no turn. A thread's terminals \
     have ended before `thread/closed`.",
    "`realtime/started` comes before all else of a realtime conversation and `realtime/closed` after it; a thread has one at a \
     time, and it is over before the thread\u{2019}s terminals are ended. Its events name no turn, and none is kept for those who \
     subscribe later than it ends. What a client has not taken keeps the endpoint waiting.",
    "A question is registered before it is told, so an answer can never come too early. `approval/requested` comes \
     before `approval/resolved`, `proposal/created` before `proposal/updated`.",
    "While a proposal waits, `proposal/moved` follows what the person types, a moment later and not once for every key; \
     the last one is right. A proposal that waited when the server stopped is shown again by `proposal/created` when it \
     starts in the same folders; its events name no turn, and no other event of its thread needs to come before.",
    "`turn/queueChanged` names no turn; an input leaves the queue before the `turn/started` of its turn. What the person said \
     is shown as a user message in exactly one turn, or waits in the queue, or stands in `unanswered` of the `turn/completed` of \
     the turn that did not read it.",
    "`thread/tokenUsage` comes after each response of the model. `error` comes before the `turn/completed` of the turn \
     that failed. `warning` and `turn/retrying` end nothing.",
    "What `thread/subscribe` asked for comes beside all this, with `subscriptionId`: the same events with the same numbers and in \
     the same order, from where the subscription begins. Whoever follows threads by the rules above leaves it aside.",
];
