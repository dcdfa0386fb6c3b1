//! What the rehearsed model says and does. Each step is played only if the outputs of the tools really say what the step
//! goes on from; if they do not, the model says so and stops, and the demonstration fails.

use super::project::{CART_FIX, CLOSED, OPEN, PRICE_FIX, TEST, UNSAVED};
use crate::rehearsal::{Script, ScriptError};
use serde_json::{Value, json};
use std::path::Path;

/// Ids of the model's calls; those of commands are the ids of their items, too.
pub(super) const READ: &str = "read_open_file";
pub(super) const TEST_BEFORE: &str = "test_before";
pub(super) const COPY: &str = "copy";
pub(super) const COPY_OUTSIDE: &str = "copy_outside";
const PATCH: &str = "patch";
pub(super) const TEST_AFTER: &str = "test_after";

/// The script; `backup` is a file outside the project, `slowly` a pause before each piece of text.
pub(super) fn script(backup: &Path, slowly: bool) -> Result<Script, ScriptError> {
    let copy = json!(["cp", CLOSED, backup.display().to_string()]);
    let failed = |status: i32| format!("\"exit_code\":{status}");
    let steps = json!([
        {
            "name": "look",
            "when": {"input": "Fix this problem: with_tax 1999"},
            "outputs": [
                {"think": "The price comes out one cent too low. I read both files and see what the test says before I change anything."},
                {"say": "I'll look at the code and run the test."},
                plan("plan_1", "in_progress", "pending", "pending"),
                call("read_file", READ, json!({"file_path": OPEN})),
                call("read_file", "read_closed_file", json!({"file_path": CLOSED})),
                call("shell", TEST_BEFORE, json!({"command": ["sh", TEST]})),
            ],
        },
        {
            "name": "copy",
            "when": {"output": {READ: UNSAVED, TEST_BEFORE: failed(1)}, "input": "FAILED  total"},
            "outputs": [
                {"think": "Two faults: the fraction of a cent is cut off, and the last item is not counted. First a copy of the cart, to be on the safe side."},
                call("shell", COPY, json!({"command": copy})),
            ],
        },
        {
            "name": "ask",
            "when": {"output": {COPY: "the sandbox stopped it"}},
            "outputs": [
                {"say": "The sandbox doesn't let me write there. I ask whether I may."},
                call("shell", COPY_OUTSIDE, json!({
                    "command": copy,
                    "with_escalated_permissions": true,
                    "justification": "I'd like to keep a copy of the cart outside the project.",
                })),
            ],
        },
        propose("propose without a copy", "The person rejected", "No copy, then: nothing is changed before you have seen it anyway."),
        propose("propose with a copy", &failed(0), "The copy is made. Now the two faults."),
        {
            "name": "test again",
            "when": {"output": {PATCH: "in the files"}},
            "outputs": [
                {"say": "Now the test again."},
                plan("plan_3", "completed", "completed", "in_progress"),
                call("shell", TEST_AFTER, json!({"command": ["sh", TEST]})),
            ],
        },
        {
            "name": "rejected",
            "when": {"output": {PATCH: "The person rejected the patch"}},
            "outputs": [{"say": "Understood: I leave both files as they are."}],
        },
        {
            "name": "done",
            "when": {"output": {TEST_AFTER: "tests passed", "plan_4": ""}},
            "outputs": [
                {"say": "Done: {{output:test_after:all \\d+ tests passed}}. `with_tax` now rounds to the nearest cent and `total` counts the last item, too. Your own line is as you wrote it."},
            ],
        },
        {
            "name": "passed",
            "when": {"output": {TEST_AFTER: failed(0)}},
            "outputs": [plan("plan_4", "completed", "completed", "completed")],
        },
        {
            "name": "still fails",
            "when": {"output": {PATCH: "Taken in part", TEST_AFTER: failed(1)}},
            "outputs": [
                {"say": "With part of the change left out, {{output:test_after:\\d+ of \\d+ tests failed}}. Tell me if I should look for another way."},
            ],
        },
        {
            "name": "not saved",
            "when": {"output": {TEST_AFTER: "unsaved in the editor"}},
            "outputs": [
                {"say": "The test saw `price.sh` as it is on the disk: {{output:test_after:\\d+ of \\d+ tests failed}}. Save it and run the test again when you like."},
            ],
        },
        {
            "name": "not as rehearsed",
            "repeat": true,
            "outputs": [{"say": "This is not what I rehearsed for: {{last_output}}"}],
        },
    ]);
    Script::from_json(&json!({"chunk": 5, "delay_ms": if slowly { 14 } else { 0 }, "steps": steps}))
}

/// The step that proposes the change, once the question about the copy is settled.
fn propose(name: &str, settled: &str, words: &str) -> Value {
    json!({
        "name": name,
        "when": {"output": {COPY_OUTSIDE: settled}},
        "outputs": [
            {"say": words},
            plan("plan_2", "completed", "in_progress", "pending"),
            call("apply_patch", PATCH, json!({"input": patch()})),
        ],
    })
}

/// The change to both files, as the model writes it.
fn patch() -> String {
    let chunk = |before: &str, (fault, remedy): (&str, &str), after: &str| {
        let kept = |text: &str| text.lines().map(|line| format!(" {line}\n")).collect::<String>();
        format!("@@\n{}-{fault}+{remedy}{}", kept(before), kept(after))
    };
    let price = chunk("with_tax() {\n", PRICE_FIX, "}\n");
    let cart = chunk("    sum=0\n", CART_FIX, "        sum=$((sum + $1))\n        shift\n");
    format!("*** Begin Patch\n*** Update File: {OPEN}\n{price}*** Update File: {CLOSED}\n{cart}*** End Patch\n")
}

/// A call in one piece: nobody reads along.
fn call(tool: &str, id: &str, arguments: Value) -> Value {
    json!({"call": {"tool": tool, "id": id, "arguments": arguments}, "chunk": 100_000, "delay_ms": 0})
}

fn plan(id: &str, test: &str, fix: &str, again: &str) -> Value {
    let step = |step: &str, status: &str| json!({"step": step, "status": status});
    let steps = [
        step("see it fail", test),
        step("fix it", fix),
        step("see it pass", again),
    ];
    call("update_plan", id, json!({"plan": steps}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_can_be_played_and_its_patch_is_one() {
        let script = script(Path::new("/home/ada/x"), true).expect("a script");
        assert!(script.steps.len() > 8);
        let parsed = crate::patch::parse::parse(&patch()).expect("a patch");
        assert_eq!(parsed.sections.len(), 2);
    }
}
