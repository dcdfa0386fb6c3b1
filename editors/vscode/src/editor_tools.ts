/**
 * The editor's own intelligence as tools for the model, through the language servers that run in it anyway. They only look; a rename
 * comes back as a patch, which the person decides on like on any other.
 */
import * as path from "node:path";
import * as vscode from "vscode";
import { problemsOf } from "./chat/attention";
import type { DynamicToolSpec, JsonValue, ToolCallParams, ToolCallResult } from "./protocol";
import { patchText } from "./rename_patch";

/** Lines of an answer. */
const MOST_LINES = 200;

type Arguments = Record<string, JsonValue>;

interface EditorTool {
  readonly description: string;
  readonly properties: Readonly<Record<string, JsonValue>>;
  readonly required: readonly string[];
  run(given: Arguments, token: vscode.CancellationToken): Promise<string>;
}

const FILE = { type: "string", description: "Path of the file, absolute or from the workspace folder." };
const LINE = { type: "integer", minimum: 1, description: "Line, counted from 1." };
const SYMBOL = { type: "string", description: "The name as it stands on that line; the cursor is put on it." };
const PLACE = { properties: { path: FILE, line: LINE, symbol: SYMBOL }, required: ["path", "line", "symbol"] };

/** By the last part of their names; the setting `countersign.editorTools.<name>` switches one off. */
export const TOOLS: Readonly<Record<string, EditorTool>> = {
  diagnostics: {
    description: "Problems that the person's editor shows, found by its language servers and linters: of one file, or of all files. Quicker than a build, and it sees text that is not saved.",
    properties: { path: { ...FILE, description: `${FILE.description} Absent: all files that have problems.` } },
    required: [],
    run: async (given) => {
      const all = given["path"] === undefined ? vscode.languages.getDiagnostics().map(([uri]) => uri) : [fileOf(given)];
      const problems = all.filter((uri) => uri.scheme === "file").flatMap((uri) => problemsOf(uri).map((one) => `${named(uri)}:${one.range.start + 1}: ${one.severity}: ${one.message}${one.source ? ` [${one.source}${one.code ? ` ${one.code}` : ""}]` : ""}`));
      return Promise.resolve(problems.length === 0 ? "The editor shows no problems there. It may not have a language server for these files." : list(problems));
    },
  },
  definition: {
    description: "Where the symbol at a place is defined, by the person's editor.",
    ...PLACE,
    run: async (given) => {
      const { uri, position } = await placeOf(given);
      const found = await vscode.commands.executeCommand<(vscode.Location | vscode.LocationLink)[] | undefined>("vscode.executeDefinitionProvider", uri, position);
      return locations(found, "No definition was found.");
    },
  },
  references: {
    description: "All places that use the symbol at a place, by the person's editor. Finds what a text search cannot tell apart.",
    ...PLACE,
    run: async (given) => {
      const { uri, position } = await placeOf(given);
      return locations(await vscode.commands.executeCommand<vscode.Location[] | undefined>("vscode.executeReferenceProvider", uri, position), "No references were found.");
    },
  },
  hover: {
    description: "What the person's editor says of the symbol at a place: its type, its signature, its documentation.",
    ...PLACE,
    run: async (given) => {
      const { uri, position } = await placeOf(given);
      const hovers = (await vscode.commands.executeCommand<vscode.Hover[] | undefined>("vscode.executeHoverProvider", uri, position)) ?? [];
      const texts = hovers.flatMap((hover) => hover.contents.map((one) => contentOf(one)));
      return texts.length === 0 ? "The editor knows nothing of it." : list(texts.join("\n\n").split("\n"));
    },
  },
  document_symbols: {
    description: "The outline of a file by the person's editor: classes, functions and the like, with their lines.",
    properties: { path: FILE },
    required: ["path"],
    run: async (given) => {
      const found = (await vscode.commands.executeCommand<(vscode.DocumentSymbol | vscode.SymbolInformation)[] | undefined>("vscode.executeDocumentSymbolProvider", await opened(fileOf(given)))) ?? [];
      const lines = found.flatMap((one) => outline(one, 0));
      return lines.length === 0 ? "The editor has no outline of this file." : list(lines);
    },
  },
  workspace_symbols: {
    description: "Symbols of the whole workspace by a part of their name, from the person's editor.",
    properties: { query: { type: "string", description: "A part of the name." } },
    required: ["query"],
    run: async (given) => {
      const found = (await vscode.commands.executeCommand<vscode.SymbolInformation[] | undefined>("vscode.executeWorkspaceSymbolProvider", textOf(given, "query"))) ?? [];
      const lines = found.map((one) => `${kind(one.kind)} ${one.containerName ? `${one.containerName}.` : ""}${one.name}  ${named(one.location.uri)}:${one.location.range.start.line + 1}`);
      return lines.length === 0 ? "No symbol of this name was found." : list(lines);
    },
  },
  rename: {
    description: "Renames the symbol at a place everywhere, as the person's editor would. Changes nothing: gives a patch, to be passed to apply_patch as it is, so that the person can decide on it.",
    properties: { ...PLACE.properties, new_name: { type: "string", description: "The new name." } },
    required: [...PLACE.required, "new_name"],
    run: async (given) => {
      const { uri, position } = await placeOf(given);
      const edit = await vscode.commands.executeCommand<vscode.WorkspaceEdit | undefined>("vscode.executeDocumentRenameProvider", uri, position, textOf(given, "new_name"));
      const entries = edit?.entries().filter(([, edits]) => edits.length > 0) ?? [];
      if (entries.length === 0) {
        return "The editor cannot rename this. Change it by a patch of your own.";
      }
      const files = await Promise.all(
        entries.map(async ([file, edits]) => ({
          path: named(file),
          text: (await vscode.workspace.openTextDocument(file)).getText(),
          edits: edits.map((one) => ({ start: one.range.start, end: one.range.end, text: one.newText })),
        })),
      );
      return `Nothing is changed yet. To propose the rename, call apply_patch with exactly this:\n\n${patchText(files)}`;
    },
  },
};

/** The tools that the person has not switched off, as they are declared for a thread. */
export function declared(isOn: (name: string) => boolean): DynamicToolSpec[] {
  return Object.entries(TOOLS)
    .filter(([name]) => isOn(name))
    .map(([name, tool]) => ({
      name: `editor_${name}`,
      description: tool.description,
      inputSchema: { type: "object", properties: { ...tool.properties }, required: [...tool.required], additionalProperties: false },
      readOnly: true,
    }));
}

/** Carries out a call. What goes wrong is told to the model, in words that help it on. */
export async function call(params: ToolCallParams, isOn: (name: string) => boolean, token: vscode.CancellationToken): Promise<ToolCallResult> {
  const answer = (text: string, success: boolean): ToolCallResult => ({ contentItems: [{ type: "inputText", text }], success });
  const name = params.tool.replace(/^editor_/, "");
  const tool = Object.hasOwn(TOOLS, name) ? TOOLS[name] : undefined;
  if (tool === undefined) {
    return answer(`The editor has no tool ${params.tool}.`, false);
  }
  if (!isOn(name)) {
    return answer(`The person has switched ${params.tool} off. Do without it.`, false);
  }
  try {
    const given = params.arguments;
    return answer(await tool.run(typeof given === "object" && given !== null && !Array.isArray(given) ? given : {}, token), true);
  } catch (error) {
    return answer(`${params.tool} failed: ${error instanceof Error ? error.message : String(error)}`, false);
  }
}

function textOf(given: Arguments, name: string): string {
  const value = given[name];
  if (typeof value !== "string" || value === "") {
    throw new Error(`${name} must be a text that is not empty`);
  }
  return value;
}

/** The file, inside a folder of the workspace: the editor reads nothing else for the model. */
function fileOf(given: Arguments): vscode.Uri {
  const name = textOf(given, "path");
  const folders = vscode.workspace.workspaceFolders ?? [];
  const candidates = path.isAbsolute(name) ? [name] : folders.map((folder) => path.resolve(folder.uri.fsPath, name));
  const inside = candidates.map((one) => vscode.Uri.file(path.normalize(one))).filter((uri) => vscode.workspace.getWorkspaceFolder(uri) !== undefined);
  const open = inside.find((uri) => vscode.workspace.textDocuments.some((document) => document.uri.toString() === uri.toString()));
  const uri = open ?? inside[0];
  if (uri === undefined) {
    throw new Error(`${name} does not lie in a folder of the workspace`);
  }
  return uri;
}

async function opened(uri: vscode.Uri): Promise<vscode.Uri> {
  try {
    await vscode.workspace.openTextDocument(uri);
  } catch {
    throw new Error(`${named(uri)} cannot be opened as text`);
  }
  return uri;
}

async function placeOf(given: Arguments): Promise<{ uri: vscode.Uri; position: vscode.Position }> {
  const uri = await opened(fileOf(given));
  const document = await vscode.workspace.openTextDocument(uri);
  const line = Number(given["line"]) - 1;
  const symbol = textOf(given, "symbol");
  if (!Number.isInteger(line) || line < 0 || line >= document.lineCount) {
    throw new Error(`${named(uri)} has ${document.lineCount} lines, counted from 1; there is no line ${JSON.stringify(given["line"] ?? null)}`);
  }
  const text = document.lineAt(line).text;
  const character = text.indexOf(symbol);
  if (character < 0) {
    throw new Error(`“${symbol}” does not stand in line ${line + 1} of ${named(uri)}, which is: ${text.trim().slice(0, 200)}`);
  }
  return { uri, position: new vscode.Position(line, character) };
}

function named(uri: vscode.Uri): string {
  return vscode.workspace.asRelativePath(uri, false);
}

async function locations(found: readonly (vscode.Location | vscode.LocationLink)[] | undefined, none: string): Promise<string> {
  const places = (found ?? []).map((one) => ("targetUri" in one ? new vscode.Location(one.targetUri, one.targetSelectionRange ?? one.targetRange) : one));
  const lines = await Promise.all(
    places.slice(0, MOST_LINES).map(async ({ uri, range }) => {
      const isOurs = vscode.workspace.getWorkspaceFolder(uri) !== undefined;
      const text = isOurs ? (await vscode.workspace.openTextDocument(uri)).lineAt(range.start.line).text.trim().slice(0, 160) : "";
      return `${named(uri)}:${range.start.line + 1}${text === "" ? "" : `: ${text}`}`;
    }),
  );
  return lines.length === 0 ? none : list(lines);
}

function contentOf(content: vscode.Hover["contents"][number]): string {
  return content instanceof vscode.MarkdownString ? content.value : typeof content === "string" ? content : String((content as { value: unknown }).value);
}

function outline(one: vscode.DocumentSymbol | vscode.SymbolInformation, depth: number): string[] {
  const range = "range" in one ? one.range : one.location.range;
  const line = `${"  ".repeat(depth)}${kind(one.kind)} ${one.name}  lines ${range.start.line + 1}-${range.end.line + 1}`;
  return [line, ...("children" in one ? one.children.flatMap((child) => outline(child, depth + 1)) : [])];
}

function kind(symbol: vscode.SymbolKind): string {
  return vscode.SymbolKind[symbol].toLowerCase();
}

function list(lines: readonly string[]): string {
  return lines.length <= MOST_LINES ? lines.join("\n") : [...lines.slice(0, MOST_LINES), `… and ${lines.length - MOST_LINES} more`].join("\n");
}
