"""What the cost script drives: a client of one server, the rehearsal model as a process, and a model that stamps its deltas."""

import ctypes
import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import threading
import time

TICK = os.sysconf("SC_CLK_TCK")
now = time.perf_counter


class Lsp:
    """A client of one server that reads everything and, as a plugin does, answers every question with yes."""

    def __init__(self, program, home, root, config="", plugin=True):
        home.mkdir(parents=True, exist_ok=True)
        if config:
            (home / "config.toml").write_text(config)
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), "COUNTERSIGN_HOME": str(home)}
        self.started = now()
        self.child = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        self.input, self.output = self.child.stdin.fileno(), self.child.stdout.fileno()
        self.buffer = bytearray()
        self.last_id = 0
        self.answers = {}
        self.seen = []
        self.root = root
        self.documents = {}
        folder = {"uri": root.as_uri(), "name": root.name}
        capabilities = {
            "workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}},
            "window": {"workDoneProgress": False},
            "experimental": {"countersign": True} if plugin else {},
        }
        params = {"processId": os.getpid(), "rootUri": root.as_uri(), "workspaceFolders": [folder],
                  "clientInfo": {"name": "cost"}, "capabilities": capabilities}
        self.call("initialize", params)
        self.initialized_after = now() - self.started
        self.notify("initialized", {})

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        data = b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        while data:
            data = data[os.write(self.input, data):]

    def notify(self, method, params):
        self.send({"method": method, "params": params})

    def call(self, method, params, limit=60):
        self.last_id += 1
        wanted = self.last_id
        self.send({"id": wanted, "method": method, "params": params})
        self.read_until(lambda: wanted in self.answers, limit)
        message = self.answers.pop(wanted)
        if "error" in message:
            raise RuntimeError(f"{method}: {message['error']}")
        return message["result"]

    def read_until(self, done, limit=60):
        deadline = now() + limit
        while not done():
            for message in self.frames(deadline):
                self.take(message)

    def frames(self, deadline, most=1 << 20):
        """The messages of one read, at least a byte of them and at most so many bytes."""
        ready, _, _ = select.select([self.output], [], [], max(0, deadline - now()))
        if not ready:
            raise RuntimeError(f"nothing came; the last was {self.seen[-3:]}")
        piece = os.read(self.output, most)
        if not piece:
            raise RuntimeError("the server has ended")
        self.buffer += piece
        messages = []
        at = 0
        while (head := self.buffer.find(b"\r\n\r\n", at)) >= 0:
            end = head + 4 + int(self.buffer[self.buffer.find(b":", at) + 1:head])
            if len(self.buffer) < end:
                break
            messages.append(json.loads(self.buffer[head + 4:end]))
            at = end
        del self.buffer[:at]
        return messages

    def take(self, message):
        if "method" not in message:
            self.answers[message["id"]] = message
        elif "id" in message:
            self.send({"id": message["id"], "result": self.reply(message["method"], message["params"])})
        else:
            self.seen.append(message)
            if message["method"] == "countersign/proposal/created":
                self.last_id += 1
                decide = {"proposalId": message["params"]["proposal"]["id"], "decision": "accept"}
                self.send({"id": self.last_id, "method": "countersign/proposal/decide", "params": decide})

    def reply(self, method, params):
        if method == "workspace/applyEdit":
            for change in params["edit"]["documentChanges"]:
                uri = change["textDocument"]["uri"]
                self.documents[uri] += 1
                # From the end to the start, so that the ranges stay right.
                edits = sorted(change["edits"], key=lambda edit: tuple(edit["range"]["start"].values()), reverse=True)
                changes = [{"range": edit["range"], "text": edit["newText"]} for edit in edits]
                document = {"uri": uri, "version": self.documents[uri]}
                self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": changes})
            return {"applied": True}
        return {"decision": "accept"} if method == "countersign/approval/command" else None

    def open(self, path):
        self.documents[path.as_uri()] = 1
        document = {"uri": path.as_uri(), "languageId": "text", "version": 1, "text": path.read_text()}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def thread(self):
        return self.call("countersign/thread/start", {})["thread"]["id"]

    def turn(self, thread, text="go", limit=60):
        """A whole turn; gives its wall time in seconds."""
        self.seen.clear()
        start = now()
        params = {"threadId": thread, "input": [{"type": "text", "text": text}]}
        self.call("countersign/turn/start", params)
        self.read_until(lambda: self.find("turn/completed"), limit)
        wall = now() - start
        turn = self.find("turn/completed")["turn"]
        if turn["status"] != "completed":
            raise RuntimeError(f"the turn ended otherwise: {json.dumps(turn)[:2000]}")
        for item in turn["items"]:
            if item.get("status") not in (None, "completed"):
                raise RuntimeError(f"an item was not done: {json.dumps(item)[:2000]}")
        return wall

    def find(self, method):
        return next((m["params"] for m in reversed(self.seen) if m["method"] == f"countersign/{method}"), None)

    def cpu(self):
        """Seconds of CPU of the server and of all its children that have ended."""
        fields = pathlib.Path(f"/proc/{self.child.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return sum(int(field) for field in fields[11:15]) / TICK

    def memory(self):
        """Megabytes: resident, proportional, and without the pages of files, such as the program's own code."""
        lines = pathlib.Path(f"/proc/{self.child.pid}/smaps_rollup").read_text().splitlines()
        kib = {line.split(":")[0]: int(line.split()[1]) for line in lines[1:]}
        return tuple(kib[kind] * 1024 / 1e6 for kind in ("Rss", "Pss", "Anonymous"))

    def end(self):
        try:
            self.call("shutdown", None, 10)
            self.notify("exit", None)
            self.child.wait(10)
        finally:
            self.child.kill()
            self.child.wait()
            self.child.stdin.close()
            self.child.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


class Rehearsal:
    """The rehearsal model, as a process of its own."""

    def __init__(self, program, folder, script):
        path = folder / "script.json"
        path.write_text(json.dumps(script))
        self.child = subprocess.Popen([program, "rehearse", path], stdout=subprocess.PIPE, text=True)
        self.url = self.child.stdout.readline().split()[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.kill()
        self.child.wait()
        self.child.stdout.close()


def config(url):
    return (f'model = "rehearsal"\nmodel_provider = "rehearsal"\n'
            f'[model_providers.rehearsal]\nname = "Rehearsal"\nbase_url = "{url}"\n')


class Stamps:
    """A model whose deltas say when they were sent; for times that are shorter than the rehearsal model's pauses."""

    def __init__(self, count, pause):
        self.count, self.pause = count, pause
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/v1"
        # A process of its own: what it does must not hold up the client.
        self.pid = os.fork()
        if self.pid == 0:
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)
            try:
                while True:
                    connection, _ = self.socket.accept()
                    threading.Thread(target=self.serve, args=[connection], daemon=True).start()
            finally:
                os._exit(0)

    def serve(self, connection):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        data = b""
        while True:
            while b"\r\n\r\n" not in data:
                piece = connection.recv(1 << 16)
                if not piece:
                    return
                data += piece
            head, _, data = data.partition(b"\r\n\r\n")
            length = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
            while len(data) < length:
                data += connection.recv(1 << 16)
            data = data[length:]
            self.answer(connection)

    def answer(self, connection):
        def event(kind, **fields):
            return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"
        def chunk(text):
            return b"%x\r\n%s\r\n" % (len(text), text.encode())
        def item(text):
            content = [{"type": "output_text", "text": text, "annotations": []}] if text else []
            return {"type": "message", "id": "m", "status": "in_progress", "role": "assistant", "content": content}
        def delta(text):
            return chunk(event("response.output_text.delta", item_id="m", output_index=0, content_index=0, delta=text))
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
                           + chunk(event("response.created", response={"id": "r"}))
                           + chunk(event("response.output_item.added", output_index=0, item=item(""))))
        if self.pause:
            time.sleep(0.05)
            for _ in range(self.count):
                time.sleep(self.pause)
                connection.sendall(delta(f"{time.perf_counter_ns():020}"))
        else:
            packet = b"".join(delta(f"{at:08}") for at in range(100))
            for _ in range(self.count // 100):
                connection.sendall(packet)
        text = "x" * 20
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        connection.sendall(chunk(event("response.output_item.done", output_index=0, item=item(text)))
                           + chunk(event("response.completed", response={"id": "r", "usage": usage})) + b"0\r\n\r\n")

    def arrivals(self, lsp, thread, latency):
        """Runs a turn; adds the milliseconds that each delta took; gives the seconds of the whole turn."""
        start = now()
        lsp.call("countersign/turn/start", {"threadId": thread, "input": [{"type": "text", "text": "go"}]})
        ended = False
        while not ended:
            messages = lsp.frames(now() + 60)
            arrived = time.perf_counter_ns()
            for message in messages:
                method = message.get("method")
                if method == "countersign/item/agentMessage/delta" and self.pause:
                    latency.append((arrived - int(message["params"]["delta"][-20:])) / 1e6)
                ended |= method == "countersign/turn/completed"
        return now() - start

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.socket.close()
