/**
 * Symbols of the workspace, by the editor's own language servers.
 */
import * as vscode from "vscode";
import { mention } from "./chat/mentions";
import type { SymbolEntry } from "./chat/wire";

export async function findSymbols(query: string, most: number): Promise<SymbolEntry[]> {
  const found = (await vscode.commands.executeCommand<vscode.SymbolInformation[] | undefined>("vscode.executeWorkspaceSymbolProvider", query)) ?? [];
  return found
    .filter((one) => one.location.uri.scheme === "file")
    .slice(0, most)
    .map((one) => ({
      name: one.name,
      kind: vscode.SymbolKind[one.kind].toLowerCase(),
      container: one.containerName || vscode.workspace.asRelativePath(one.location.uri),
      mention: mention(vscode.workspace.asRelativePath(one.location.uri, false), { start: one.location.range.start.line + 1, end: one.location.range.end.line + 1 }),
    }));
}
