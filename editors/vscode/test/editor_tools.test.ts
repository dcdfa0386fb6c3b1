import * as assert from "node:assert/strict";
import { createRequire } from "node:module";
import * as path from "node:path";
import { test } from "node:test";
import type * as Tools from "../src/editor_tools";

const folder = path.resolve("/shop");
const files: Readonly<Record<string, string>> = { "a.py": "total = 1\n", "secret.txt": "the password is hush\n" };

interface Uri {
  readonly scheme: string;
  readonly fsPath: string;
}

/** As much of the editor as the tools need here. */
const editor = {
  Position: Object,
  Uri: { file: (fsPath: string): Uri => ({ scheme: "file", fsPath }) },
  SymbolKind: {},
  DiagnosticSeverity: {},
  workspace: {
    workspaceFolders: [{ uri: { fsPath: folder } }],
    textDocuments: [],
    getWorkspaceFolder: (uri: Uri): unknown => (uri.fsPath.startsWith(folder) ? {} : undefined),
    asRelativePath: (uri: Uri): string => path.relative(folder, uri.fsPath),
    openTextDocument: (uri: Uri): Promise<unknown> => {
      const lines = files[path.relative(folder, uri.fsPath)]?.split("\n");
      return lines === undefined ? Promise.reject(new Error(`cannot open ${uri.fsPath}`)) : Promise.resolve({ lineCount: lines.length, lineAt: (line: number) => ({ text: lines[line] }) });
    },
  },
  commands: { executeCommand: (): Promise<never> => Promise.reject(new Error("the server said: hush")) },
};

const required = createRequire(__filename);
const loader = required("node:module") as { _load: (name: string, ...more: unknown[]) => unknown };
const load = loader._load;
loader._load = (name, ...more) => (name === "vscode" ? editor : load(name, ...more));
const tools = required("../src/editor_tools") as typeof Tools;
loader._load = load;

test("a failure names the files that its words tell of, so that the server can leave it out", async () => {
  const token = { isCancellationRequested: false, onCancellationRequested: () => ({ dispose: () => undefined }) };
  const secret = path.join(folder, "secret.txt");
  for (const [name, given, words, paths] of [
    ["hover", { path: "secret.txt", line: 1, symbol: "x" }, "the password is hush", [secret]],
    ["hover", { path: "secret.txt", line: 99, symbol: "x" }, "has 2 lines", [secret]],
    ["hover", { path: "secret.txt", line: 1, symbol: "password" }, "the server said", [secret]],
    ["document_symbols", { path: "gone.txt" }, "cannot be opened", [path.join(folder, "gone.txt")]],
    ["hover", { path: "../x.txt", line: 1, symbol: "x" }, "does not lie in", []],
    ["hover", {}, "path must be", []],
    ["sing", {}, "no tool", []],
  ] as const) {
    const params = { threadId: "t", turnId: "u", callId: "c", tool: `editor_${name}`, arguments: given };
    const answer = await tools.call(params, () => true, token);
    assert.equal(answer.success, false, words);
    const [piece] = answer.contentItems;
    assert.ok(piece?.type === "inputText" && piece.text.includes(words), JSON.stringify(piece));
    assert.deepEqual(piece.paths, paths, words);
  }
});
