/**
 * The MCP servers in the side bar: how each is, its tools, and signing in to it. The view is there once a conversation has one.
 */
import * as vscode from "vscode";
import type { Threads } from "./chat/threads";
import { nameOf, plain, visibleText } from "./chat/words";
import type { McpServer, McpTool } from "./protocol";

export const VIEW = "countersign.mcp";

/** A row: a server, or a tool of one. */
export interface Row {
  readonly server: McpServer;
  readonly tool?: McpTool;
}

const ICONS: Readonly<Record<McpServer["status"], string>> = { ready: "pass", starting: "loading~spin", failed: "error", lost: "debug-disconnect", stopped: "circle-slash" };

export class McpView implements vscode.TreeDataProvider<Row>, vscode.Disposable {
  private readonly changes = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.changes.event;
  private readonly view: vscode.TreeView<Row>;
  private readonly cleanup: { dispose(): unknown }[];
  private servers: readonly McpServer[] = [];
  /** Counts what was asked for: only the newest answer counts. */
  private asked = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly threads: Threads,
    private readonly inView: () => string | undefined,
  ) {
    this.view = vscode.window.createTreeView(VIEW, { treeDataProvider: this, showCollapseAll: true });
    this.cleanup = [
      this.view,
      this.changes,
      this.view.onDidChangeVisibility(({ visible }) => {
        if (visible) this.later();
      }),
      threads.onConnection((connected) => {
        if (!connected) has(false);
        this.later();
      }),
      threads.onEvent(({ method }) => {
        if (method === "countersign/mcp/status") has(true);
        if (method === "countersign/mcp/status" || method === "countersign/mcp/login/completed" || method === "countersign/thread/started") this.later();
      }),
    ];
  }

  dispose(): void {
    clearTimeout(this.timer);
    vscode.Disposable.from(...this.cleanup).dispose();
  }

  getChildren(row?: Row): Row[] {
    if (row === undefined) {
      return this.servers.map((server) => ({ server }));
    }
    return row.tool === undefined ? row.server.tools.map((tool) => ({ server: row.server, tool })) : [];
  }

  getTreeItem({ server, tool }: Row): vscode.TreeItem {
    return tool === undefined ? serverItem(server) : toolItem(server, tool);
  }

  /** Asks for the servers again and restarts what has failed. */
  async restart(): Promise<void> {
    await this.threads.request("countersign/mcp/refresh", { threadId: this.inView() ?? null });
    await this.read();
  }

  async signIn(server: string): Promise<void> {
    const { url } = await this.threads.request("countersign/mcp/login", { server, threadId: this.inView() ?? null });
    await vscode.env.openExternal(vscode.Uri.parse(url, true));
  }

  async signOut(server: string): Promise<void> {
    await this.threads.request("countersign/mcp/logout", { server, threadId: this.inView() ?? null });
    await this.read();
  }

  /** What comes in a moment is one look. Nobody is asked while nobody looks. */
  private later(): void {
    if (this.view.visible) this.timer ??= setTimeout(() => void this.read(), 200);
  }

  private async read(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.asked += 1;
    const mine = this.asked;
    let problem = this.threads.isConnected ? "" : "The server is not running.";
    try {
      const { data } = this.threads.isConnected ? await this.threads.request("countersign/mcp/list", { threadId: this.inView() ?? null }) : { data: [] };
      if (mine !== this.asked) return;
      this.servers = data;
    } catch (error) {
      if (mine !== this.asked) return;
      problem = `The servers could not be listed: ${error instanceof Error ? error.message : String(error)}`;
    }
    this.view.message = problem;
    this.changes.fire(undefined);
  }
}

function has(servers: boolean): void {
  void vscode.commands.executeCommand("setContext", "countersign.hasServers", servers);
}

function serverItem(server: McpServer): vscode.TreeItem {
  const { name, status, tools, error, authStatus } = server;
  const item = new vscode.TreeItem(nameOf(name, 80), tools.length > 0 ? vscode.TreeItemCollapsibleState.Collapsed : vscode.TreeItemCollapsibleState.None);
  item.id = name;
  const needsLogin = authStatus === "notLoggedIn";
  item.description = [needsLogin ? "not signed in" : status, tools.length === 1 ? "1 tool" : tools.length > 1 ? `${tools.length} tools` : ""].filter(Boolean).join(" · ");
  item.tooltip = error ? visibleText(error) : undefined;
  item.iconPath = new vscode.ThemeIcon(needsLogin ? "key" : ICONS[status]);
  item.contextValue = needsLogin ? "mcp-signed-out" : authStatus === "oAuth" ? "mcp-signed-in" : "mcp";
  return item;
}

function toolItem(server: McpServer, tool: McpTool): vscode.TreeItem {
  const item = new vscode.TreeItem(nameOf(tool.name, 80));
  item.id = `${server.name}|${tool.name}`;
  item.description = [tool.readOnly ? "reads only" : "", tool.title ? plain(nameOf(tool.title, 80)) : ""].filter(Boolean).join(" · ");
  item.tooltip = tool.description ? visibleText(tool.description) : undefined;
  item.iconPath = new vscode.ThemeIcon("tools");
  return item;
}
