#!/usr/bin/env python3
"""Drives `countersign acp` with the protocol's own Python client, which checks each message against the published types.

    python3 client.py COUNTERSIGN

Needs the package agent-client-protocol. Prints a line per check; the status is 0 if all is well, 77 if the package is missing.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import acp
    from acp import schema
except ImportError:
    print("skip  the Python package agent-client-protocol is not installed (pip install agent-client-protocol)")
    sys.exit(77)

PATCH = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+ONE\n*** End Patch\n"
SCRIPT = [
    [
        {"think": "Let me see."},
        {"say": "I look."},
        {"call": {"tool": "update_plan", "arguments": {"plan": [{"step": "Look", "status": "in_progress"}]}, "id": "p1"}},
        {"call": {"tool": "read_file", "arguments": {"file_path": "a.txt"}, "id": "r1"}},
        {"call": {"tool": "grep_files", "arguments": {"pattern": "typed"}, "id": "g1"}},
        {"call": {"tool": "shell", "arguments": {"command": ["bash", "-c", "echo out"]}, "id": "c1"}},
    ],
    [{"call": {"tool": "apply_patch", "arguments": {"input": PATCH}, "id": "e1"}}],
    [{"say": "Done."}],
    [{"say": "I wait", "partial": True}, {"hold": "never"}],
]
LIMIT = 60


class Person:
    """Answers with the first choice that allows, and keeps what it is shown."""

    def __init__(self, buffers):
        self.buffers, self.updates, self.asked = buffers, [], []

    def on_connect(self, connection):
        pass

    async def request_permission(self, options, session_id, tool_call, **_):
        self.asked.append(tool_call)
        chosen = next(option for option in options if option.kind == "allow_once")
        outcome = {"outcome": "selected", "optionId": chosen.option_id}
        return schema.RequestPermissionResponse.model_validate({"outcome": outcome})

    async def session_update(self, session_id, update, **_):
        self.updates.append(update)

    async def read_text_file(self, path, session_id, **_):
        if path not in self.buffers:
            raise acp.RequestError.resource_not_found(path)
        return schema.ReadTextFileResponse(content=self.buffers[path])

    async def write_text_file(self, content, path, session_id, **_):
        self.buffers[path] = content
        Path(path).write_text(content)
        return schema.WriteTextFileResponse()

    async def ext_method(self, method, params):
        raise acp.RequestError.method_not_found(method)

    async def ext_notification(self, method, params):
        pass

    def said(self, kind):
        return "".join(update.content.text for update in self.updates if update.session_update == kind)


failed = False


def check(what, holds):
    global failed
    failed |= not holds
    print(("ok    " if holds else "FAIL  ") + what)


async def play(program, folder, address):
    home, work = folder / "home", folder / "work"
    home.mkdir()
    work.mkdir()
    file = work / "a.txt"
    file.write_text("one\ntwo\n")
    (home / "config.toml").write_text(
        f'model = "rehearsal"\nmodel_provider = "rehearsal"\nmodel_context_window = 100000\napproval_policy = "on-request"\n'
        f'[model_providers.rehearsal]\nname = "Rehearsal"\nbase_url = "{address}"\n'
    )
    env = {"COUNTERSIGN_HOME": str(home), "HOME": str(home), "PATH": os.environ["PATH"]}
    person = Person({str(file): "one\ntyped\ntwo\n"})
    async with acp.spawn_agent_process(person, program, "acp", env=env, cwd=work) as (agent, process):
        capabilities = schema.ClientCapabilities.model_validate(
            {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}
        )
        told = await agent.initialize(protocol_version=1, client_capabilities=capabilities)
        check("the versions agree", told.protocol_version == 1)
        check("nobody has to sign in", told.auth_methods == [])
        session = await agent.new_session(cwd=str(work), mcp_servers=[])
        check("there are modes", [mode.id for mode in session.modes.available_modes] == ["agent", "accept-edits", "never-ask", "plan", "ask"])
        check("there are options", [option.id for option in session.config_options][:2] == ["mode", "model"])
        text = [acp.text_block("Mend it")]
        answer = await agent.prompt(session_id=session.session_id, prompt=text)
        check("the turn ends", answer.stop_reason == "end_turn")
        check("the words come", person.said("agent_message_chunk") == "I look.\n\nDone.")
        check("the thoughts come", "Let me see." in person.said("agent_thought_chunk"))
        kinds = {update.session_update for update in person.updates}
        for kind in ["plan", "tool_call", "tool_call_update", "usage_update", "session_info_update"]:
            check(f"{kind} comes", kind in kinds)
        shown = json.dumps([update.model_dump(mode="json") for update in person.updates])
        check("unsaved text is read", "L2: typed" in shown and "a.txt:2: typed" in shown)
        check("the patch was asked about with its diff", any(call.tool_call_id == "e1" and call.content for call in person.asked))
        check("the patch is in the buffer", person.buffers[str(file)] == "ONE\ntyped\ntwo\n")
        changed = await agent.set_config_option(config_id="mode", session_id=session.session_id, value="plan")
        check("an option changes", changed.config_options[0].current_value == "plan")
        await agent.set_session_mode(session_id=session.session_id, mode_id="agent")
        waiting = asyncio.create_task(agent.prompt(session_id=session.session_id, prompt=text))
        while "I wait" not in person.said("agent_message_chunk"):
            await asyncio.sleep(0.02)
        await agent.cancel(session_id=session.session_id)
        check("a stopped turn is cancelled", (await waiting).stop_reason == "cancelled")
        listed = await agent.list_sessions()
        check("the session is listed", [one.session_id for one in listed.sessions] == [session.session_id])
        await agent.close_session(session_id=session.session_id)
        person.updates.clear()
        await agent.load_session(cwd=str(work), session_id=session.session_id, mcp_servers=[])
        check("it is told again", "I look.\n\nDone." in person.said("agent_message_chunk"))
        try:
            await agent.prompt(session_id="nobody", prompt=text)
            check("an unknown session is an error", False)
        except acp.RequestError as error:
            check("an unknown session is an error", error.code == -32002)


def main():
    program = sys.argv[1]
    # Not in the temporary folder, which commands may write.
    with tempfile.TemporaryDirectory(prefix="acp", dir="/var/tmp") as name:
        folder = Path(name).resolve()
        script = folder / "script.json"
        script.write_text(json.dumps(SCRIPT))
        model = subprocess.Popen([program, "rehearse", str(script)], stdout=subprocess.PIPE, text=True)
        try:
            address = next(word for word in model.stdout.readline().split() if word.startswith("http"))
            asyncio.run(asyncio.wait_for(play(program, folder, address), LIMIT))
        finally:
            model.terminate()
            model.wait()
    return 1 if failed else 0


sys.exit(main())
