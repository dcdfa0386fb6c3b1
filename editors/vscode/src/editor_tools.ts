/**
 * The editor's own intelligence as tools for the model, through the language servers that run in it anyway. They only look; a rename
 * becomes a proposal, which the person decides on like on any other. Each piece of an answer names the files that it tells of, so that
 * the server can leave out what is kept from the model.
 */
import * as path from "node:path";
import * as vscode from "vscode";
import { Cancelled, unlessCancelled } from "./cancelled";
import { problemsOf } from "./chat/attention";
import type { DynamicToolSpec, JsonValue, ToolCallParams, ToolCallResult, ToolContent } from "./protocol";
import { patchText } from "./rename_patch";
import { kindOf, workspaceSymbols } from "./symbols";

/** Lines of an answer. */
const MOST_LINES = 200;

type Arguments = Record<string, JsonValue>;

/** A piece of an answer, with the files that it tells of; or a change to files. */
type Piece = { readonly text: string; readonly files: readonly vscode.Uri[] } | { readonly patch: string };

interface EditorTool {
  readonly description: string;
  readonly properties: Readonly<Record<string, JsonValue>>;
  readonly required: readonly string[];
  /** It comes to a change, so it is not there where nothing may be changed. */
  readonly changes?: true;
  /** `token`: the server has taken the call back; nothing more of it is done. */
  run(given: Arguments, token: vscode.CancellationToken): Promise<Piece[]>;
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
    run: (given) => {
      const all = given["path"] === undefined ? vscode.languages.getDiagnostics().map(([uri]) => uri) : [fileOf(given)];
      const problems = all.filter((uri) => uri.scheme === "file").flatMap((uri) => problemsOf(uri).map((one) => about(uri, `${named(uri)}:${one.range.start + 1}: ${one.severity}: ${one.message}${one.source ? ` [${one.source}${one.code ? ` ${one.code}` : ""}]` : ""}`)));
      return Promise.resolve(bounded(problems, "The editor shows no problems there. It may not have a language server for these files."));
    },
  },
  definition: {
    description: "Where the symbol at a place is defined, by the person's editor.",
    ...PLACE,
    run: async (given, token) => {
      const place = await placeOf(given, token);
      return bounded(await lines(place, await definitions(place, token), token), "No definition was found.");
    },
  },
  references: {
    description: "All places that use the symbol at a place, by the person's editor. Finds what a text search cannot tell apart.",
    ...PLACE,
    run: async (given, token) => {
      const place = await placeOf(given, token);
      const found = await ask<vscode.Location[]>(token, "vscode.executeReferenceProvider", place.uri, place.position);
      return bounded(await lines(place, found ?? [], token), "No references were found.");
    },
  },
  hover: {
    description: "What the person's editor says of the symbol at a place: its type, its signature, its documentation.",
    ...PLACE,
    run: async (given, token) => {
      const place = await placeOf(given, token);
      const hovers = (await ask<vscode.Hover[]>(token, "vscode.executeHoverProvider", place.uri, place.position)) ?? [];
      const texts = hovers.flatMap((hover) => hover.contents.map((one) => contentOf(one)));
      // What is said of a symbol stands where it is defined.
      const told = [place.uri, ...(await definitions(place, token)).map((one) => one.uri)];
      return bounded(texts.length === 0 ? [] : [{ text: cutLines(texts.join("\n\n")), files: told }], "The editor knows nothing of it.");
    },
  },
  document_symbols: {
    description: "The outline of a file by the person's editor: classes, functions and the like, with their lines.",
    properties: { path: FILE },
    required: ["path"],
    run: async (given, token) => {
      const uri = await opened(fileOf(given), token);
      const found = (await ask<(vscode.DocumentSymbol | vscode.SymbolInformation)[]>(token, "vscode.executeDocumentSymbolProvider", uri)) ?? [];
      return bounded(found.flatMap((one) => outline(one, 0)).map((line) => about(uri, line)), "The editor has no outline of this file.");
    },
  },
  workspace_symbols: {
    description: "Symbols of the whole workspace by a part of their name, from the person's editor.",
    properties: { query: { type: "string", description: "A part of the name." } },
    required: ["query"],
    run: async (given, token) => {
      const found = await workspaceSymbols(textOf(given, "query"), token);
      return bounded(found.map((one) => about(one.location.uri, `${kindOf(one.kind)} ${one.containerName ? `${one.containerName}.` : ""}${one.name}  ${named(one.location.uri)}:${one.location.range.start.line + 1}`)), "No symbol of this name was found.");
    },
  },
  rename: {
    description: "Renames the symbol at a place everywhere, as the person's editor would. The change is proposed to the person, who decides on it like on a patch; the answer says what was taken.",
    properties: { ...PLACE.properties, new_name: { type: "string", description: "The new name." } },
    required: [...PLACE.required, "new_name"],
    changes: true,
    run: async (given, token) => {
      const { uri, position } = await placeOf(given, token);
      const name = textOf(given, "new_name");
      const edit = await ask<vscode.WorkspaceEdit>(token, "vscode.executeDocumentRenameProvider", uri, position, name);
      const entries = edit?.entries().filter(([, edits]) => edits.length > 0) ?? [];
      if (entries.length === 0) {
        return [{ text: "The editor cannot rename this. Change it by a patch of your own.", files: [] }];
      }
      const outside = entries.find(([file]) => vscode.workspace.getWorkspaceFolder(file) === undefined);
      if (outside !== undefined) {
        throw new Error("the editor would change files outside the workspace, so nothing was proposed");
      }
      const files = await Promise.all(
        entries.map(async ([file, edits]) => ({
          // By its whole path: the names of several folders may be the same.
          path: file.fsPath,
          text: (await documentOf(file, token)).getText(),
          edits: edits.map((one) => ({ start: one.range.start, end: one.range.end, text: one.newText })),
        })),
      );
      return [{ text: `The rename to ${name} was proposed to the person.`, files: [] }, { patch: patchText(files) }];
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
      readOnly: tool.changes !== true,
    }));
}

/** Carries out a call. What goes wrong is told to the model, in words that help it on. */
export async function call(params: ToolCallParams, isOn: (name: string) => boolean, token: vscode.CancellationToken): Promise<ToolCallResult> {
  const answer = (text: string, success: boolean, files: readonly vscode.Uri[] = []): ToolCallResult => ({ contentItems: [content({ text, files })], success });
  const name = params.tool.replace(/^editor_/, "");
  const tool = Object.hasOwn(TOOLS, name) ? TOOLS[name] : undefined;
  if (tool === undefined) {
    return answer(`The editor has no tool ${params.tool}.`, false);
  }
  if (!isOn(name)) {
    return answer(`The person has switched ${params.tool} off. Do without it.`, false);
  }
  const all = params.arguments;
  const given = typeof all === "object" && all !== null && !Array.isArray(all) ? all : {};
  try {
    const pieces = await tool.run(given, token);
    return { contentItems: pieces.map(content), success: true };
  } catch (error) {
    return answer(`${params.tool} failed: ${error instanceof Error ? error.message : String(error)}`, false, toldOf(error, given));
  }
}

/** A failure whose words tell of a file. */
class AboutFile extends Error {
  constructor(message: string, readonly uri: vscode.Uri) {
    super(message);
  }
}

/** The files that a failure tells of: what a language server complains of may stand in the file that it was asked about. */
function toldOf(error: unknown, given: Arguments): vscode.Uri[] {
  const files = error instanceof AboutFile ? [error.uri] : [];
  try {
    return [...files, fileOf(given)];
  } catch {
    // The call names no file, or none that is read.
    return files;
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

function content(piece: Piece): ToolContent {
  if ("patch" in piece) {
    return { type: "patch", patch: piece.patch };
  }
  return { type: "inputText", text: piece.text, paths: [...new Set(piece.files.filter((uri) => uri.scheme === "file").map((uri) => uri.fsPath))] };
}

function about(uri: vscode.Uri, text: string): Piece {
  return { text, files: [uri] };
}

/** Pieces of an answer, not too many; `none` where there are none. */
function bounded(pieces: readonly Piece[], none: string): Piece[] {
  if (pieces.length === 0) {
    return [{ text: none, files: [] }];
  }
  return pieces.length <= MOST_LINES ? [...pieces] : [...pieces.slice(0, MOST_LINES), { text: `… and ${pieces.length - MOST_LINES} more`, files: [] }];
}

function cutLines(text: string): string {
  const all = text.split("\n");
  return all.length <= MOST_LINES ? text : [...all.slice(0, MOST_LINES), `… and ${all.length - MOST_LINES} more lines`].join("\n");
}

/** Asks a language server through the editor. The editor's commands cannot be taken back, so the wait for them is. */
function ask<T>(token: vscode.CancellationToken, command: string, ...given: unknown[]): Promise<T | undefined> {
  return unlessCancelled(token, () => vscode.commands.executeCommand<T | undefined>(command, ...given));
}

async function documentOf(uri: vscode.Uri, token: vscode.CancellationToken): Promise<vscode.TextDocument> {
  try {
    return await unlessCancelled(token, () => vscode.workspace.openTextDocument(uri));
  } catch (error) {
    throw error instanceof Cancelled ? error : new AboutFile(`${named(uri)} cannot be opened as text`, uri);
  }
}

async function opened(uri: vscode.Uri, token: vscode.CancellationToken): Promise<vscode.Uri> {
  await documentOf(uri, token);
  return uri;
}

interface PlaceInFile {
  readonly uri: vscode.Uri;
  readonly position: vscode.Position;
}

async function placeOf(given: Arguments, token: vscode.CancellationToken): Promise<PlaceInFile> {
  const uri = await opened(fileOf(given), token);
  const document = await documentOf(uri, token);
  const line = Number(given["line"]) - 1;
  const symbol = textOf(given, "symbol");
  if (!Number.isInteger(line) || line < 0 || line >= document.lineCount) {
    throw new AboutFile(`${named(uri)} has ${document.lineCount} lines, counted from 1; there is no line ${JSON.stringify(given["line"] ?? null)}`, uri);
  }
  const text = document.lineAt(line).text;
  const character = text.indexOf(symbol);
  if (character < 0) {
    throw new AboutFile(`“${symbol}” does not stand in line ${line + 1} of ${named(uri)}, which is: ${text.trim().slice(0, 200)}`, uri);
  }
  return { uri, position: new vscode.Position(line, character) };
}

function named(uri: vscode.Uri): string {
  return vscode.workspace.asRelativePath(uri, false);
}

async function definitions({ uri, position }: PlaceInFile, token: vscode.CancellationToken): Promise<vscode.Location[]> {
  const found = (await ask<(vscode.Location | vscode.LocationLink)[]>(token, "vscode.executeDefinitionProvider", uri, position)) ?? [];
  return found.map((one) => ("targetUri" in one ? new vscode.Location(one.targetUri, one.targetSelectionRange ?? one.targetRange) : one));
}

/** Places as lines of text. What led there is named with each: it is kept from the model where that is. */
function lines(from: PlaceInFile, places: readonly vscode.Location[], token: vscode.CancellationToken): Promise<Piece[]> {
  return Promise.all(
    places.slice(0, MOST_LINES + 1).map(async ({ uri, range }) => {
      const isOurs = vscode.workspace.getWorkspaceFolder(uri) !== undefined;
      const text = isOurs ? (await documentOf(uri, token)).lineAt(range.start.line).text.trim().slice(0, 160) : "";
      return { text: `${named(uri)}:${range.start.line + 1}${text === "" ? "" : `: ${text}`}`, files: [from.uri, uri] };
    }),
  );
}

function contentOf(content: vscode.Hover["contents"][number]): string {
  return content instanceof vscode.MarkdownString ? content.value : typeof content === "string" ? content : String((content as { value: unknown }).value);
}

function outline(one: vscode.DocumentSymbol | vscode.SymbolInformation, depth: number): string[] {
  const range = "range" in one ? one.range : one.location.range;
  const line = `${"  ".repeat(depth)}${kindOf(one.kind)} ${one.name}  lines ${range.start.line + 1}-${range.end.line + 1}`;
  return [line, ...("children" in one ? one.children.flatMap((child) => outline(child, depth + 1)) : [])];
}
