/**
 * Symbols of the workspace, by the editor's own language servers.
 */
import * as vscode from "vscode";
import { unlessCancelled } from "./cancelled";
import { mention } from "./chat/mentions";
import type { SymbolEntry } from "./chat/wire";
import { mentionedPath } from "./folders";

export async function workspaceSymbols(query: string, token: vscode.CancellationToken): Promise<vscode.SymbolInformation[]> {
  return (await unlessCancelled(token, () => vscode.commands.executeCommand<vscode.SymbolInformation[] | undefined>("vscode.executeWorkspaceSymbolProvider", query))) ?? [];
}

/** Symbols that can be mentioned in a conversation that works in `cwd`. */
export async function findSymbols(query: string, most: number, cwd: string | undefined): Promise<SymbolEntry[]> {
  const found = await workspaceSymbols(query, new vscode.CancellationTokenSource().token);
  return found
    .filter((one) => one.location.uri.scheme === "file")
    .slice(0, most)
    .map((one) => ({
      name: one.name,
      kind: kindOf(one.kind),
      container: one.containerName || vscode.workspace.asRelativePath(one.location.uri),
      mention: mention(mentionedPath(one.location.uri, cwd) ?? one.location.uri.fsPath, { start: one.location.range.start.line + 1, end: one.location.range.end.line + 1 }),
    }));
}

export function kindOf(symbol: vscode.SymbolKind): string {
  return vscode.SymbolKind[symbol].toLowerCase();
}
