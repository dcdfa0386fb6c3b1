// An MCP server (MCP over stdio) whose tools ask the person: by a form, and by a page of the web.
import { createInterface } from "node:readline";

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const waiting = new Map();
let last = 0;
const ask = (params) => new Promise((resolve) => {
  last += 1;
  waiting.set(last, resolve);
  send({ id: last, method: "elicitation/create", params });
});
const tool = (name) => ({ name, description: `Asks by a ${name}.`, inputSchema: { type: "object", properties: {} }, annotations: { readOnlyHint: true } });
const asks = {
  form: { mode: "form", message: "How shall the **receipt** look?", requestedSchema: { type: "object", properties: { title: { type: "string", title: "Title", minLength: 3 }, copies: { type: "integer", title: "Copies", minimum: 1, maximum: 5, default: 2 }, colour: { type: "string", title: "Colour", enum: ["red", "green"] }, signed: { type: "boolean", title: "Signed" } }, required: ["title"] } },
  page: { mode: "url", message: "Please sign in.", url: "https://example.org/login?shop=1", elicitationId: "e1" },
  script: { mode: "url", message: "Press here.", url: "javascript:alert(1)", elicitationId: "e2" },
};

createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, method, params, result, error } = JSON.parse(line);
  if (method === undefined) {
    waiting.get(id)?.(result ?? { error });
    waiting.delete(id);
  } else if (method === "initialize") {
    send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "asker", version: "1" } } });
  } else if (method === "tools/list") {
    send({ id, result: { tools: Object.keys(asks).map(tool) } });
  } else if (method === "tools/call") {
    send({ id, result: { content: [{ type: "text", text: `answered: ${JSON.stringify(await ask(asks[params.name]))}` }] } });
  } else if (id !== undefined) {
    send({ id, result: {} });
  }
}).on("close", () => process.exit(0));
