// An editor beside the one that is played: another server on the same home folder, and as much of a client as starts a conversation.
import { spawn } from "node:child_process";
import { pathToFileURL } from "node:url";
import { project, server, until } from "./stage.mjs";

export async function otherEditor() {
  const child = spawn(server, [], { stdio: ["pipe", "pipe", "ignore"] });
  process.on("exit", () => child.kill("SIGKILL"));
  const answers = new Map();
  const ended = new Set();
  let last = 0;
  let rest = Buffer.alloc(0);
  const send = (message) => {
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    child.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  };
  child.stdout.on("data", (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const head = rest.indexOf("\r\n\r\n");
      const length = Number(/Content-Length: (\d+)/i.exec(rest.subarray(0, Math.max(0, head)).toString())?.[1]);
      if (head < 0 || rest.length < head + 4 + length) return;
      const message = JSON.parse(rest.subarray(head + 4, head + 4 + length).toString());
      rest = rest.subarray(head + 4 + length);
      if (message.method === undefined) answers.set(message.id, message);
      else if (message.id !== undefined) send({ id: message.id, result: null });
      if (message.method === "countersign/turn/completed") ended.add(message.params.turn.id);
    }
  });
  const call = async (method, params) => {
    const id = ++last;
    send({ id, method, params });
    const { result, error } = await until(`the answer to ${method}`, () => answers.get(id), 20000);
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result;
  };
  const folder = pathToFileURL(project).href;
  await call("initialize", { processId: process.pid, rootUri: folder, workspaceFolders: [{ uri: folder, name: "shop" }], capabilities: { experimental: { countersign: {} } } });
  send({ method: "initialized", params: {} });
  return {
    /** Begins a conversation; gives its id. */
    start: async () => (await call("countersign/thread/start", { settings: { cwd: project } })).thread.id,
    /** Says something in it, and waits until that is answered. */
    say: async (threadId, text) => {
      const { turn } = await call("countersign/turn/start", { threadId, input: [{ type: "text", text }] });
      await until("the end of the turn", () => ended.has(turn.id), 30000);
    },
    stop: () => child.kill("SIGTERM"),
  };
}
