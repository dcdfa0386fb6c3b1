#!/usr/bin/env python3
"""Another language server for the journeys: reports the undefined name `totl` wherever it stands, and does nothing else."""

import json
import sys


def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    sys.stdout.buffer.flush()


def receive():
    """The next message, or None when the editor has gone."""
    length = 0
    while True:
        line = sys.stdin.buffer.readline()
        if not line:
            return None
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
        if not line.strip():
            return json.loads(sys.stdin.buffer.read(length))


def lint(uri, text):
    problems = []
    for number, line in enumerate(text.split("\n")):
        column = line.find("totl")
        if column >= 0:
            # Columns count UTF-16 units.
            start = len(line[:column].encode("utf-16-le")) // 2
            problems.append(
                {
                    "range": {
                        "start": {"line": number, "character": start},
                        "end": {"line": number, "character": start + len("totl")},
                    },
                    "severity": 1,
                    "source": "another-linter",
                    "code": "F821",
                    "message": "undefined name 'totl'",
                }
            )
    send({"method": "textDocument/publishDiagnostics", "params": {"uri": uri, "diagnostics": problems}})


while (message := receive()) is not None:
    method, params = message.get("method"), message.get("params")
    if method == "initialize":
        # Whole documents at each change.
        send({"id": message["id"], "result": {"capabilities": {"textDocumentSync": 1}}})
    elif method == "textDocument/didOpen":
        lint(params["textDocument"]["uri"], params["textDocument"]["text"])
    elif method == "textDocument/didChange":
        lint(params["textDocument"]["uri"], params["contentChanges"][-1]["text"])
    elif method == "shutdown":
        send({"id": message["id"], "result": None})
    elif method == "exit":
        break
    elif method and "id" in message:
        send({"id": message["id"], "error": {"code": -32601, "message": f"{method} is not known here"}})
