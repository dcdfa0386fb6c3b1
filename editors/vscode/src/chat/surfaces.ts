/**
 * Where chats stand: one in the side bar, and any number as editor tabs. Both show the same page.
 */
import * as crypto from "node:crypto";
import * as vscode from "vscode";
import { CodeActions } from "./code";
import { Outputs } from "./outputs";
import { ChatPage } from "./page";
import type { ConversationAction } from "./page";
import type { ChatServices } from "./services";
import { threadName } from "./words";

export const VIEW = "countersign.chat";
const PANEL = "countersign.chatEditor";

interface Surface {
  readonly page: ChatPage;
  isVisible(): boolean;
  /** Whether it is the editor tab that has the focus. */
  isActive(): boolean;
  reveal(preserveFocus: boolean): void;
}

export class ChatSurfaces implements vscode.WebviewViewProvider, vscode.WebviewPanelSerializer, vscode.Disposable {
  private readonly surfaces = new Set<Surface>();
  /** The one that the person was in last. */
  private last: Surface | undefined;
  private side: { readonly surface: Surface; readonly view: vscode.WebviewView } | undefined;
  private readonly code: CodeActions;
  private readonly outputs = new Outputs();
  private readonly cleanup: vscode.Disposable[];
  /** Questions that wait for the person, in all conversations. */
  private waiting = 0;
  /** What is to be shown in the side bar once it is there, in the order of the wishes. */
  private wanted: ((page: ChatPage) => void)[] = [];

  constructor(
    private readonly extension: vscode.Uri,
    private readonly services: ChatServices,
  ) {
    this.code = new CodeActions(services.attention);
    this.cleanup = [
      // The page is kept while another view is in its place: what is typed and where one has read to stays.
      vscode.window.registerWebviewViewProvider(VIEW, this, { webviewOptions: { retainContextWhenHidden: true } }),
      vscode.window.registerWebviewPanelSerializer(PANEL, this),
    ];
  }

  dispose(): void {
    this.outputs.dispose();
    vscode.Disposable.from(...this.cleanup).dispose();
  }

  /** Shows at the view, and in the activity bar, how many questions wait. */
  showWaiting(count: number): void {
    this.waiting = count;
    if (this.side !== undefined) this.side.view.badge = count === 0 ? undefined : { value: count, tooltip: count === 1 ? "1 question is waiting for you" : `${count} questions are waiting for you` };
  }

  /** Plays a sound in one chat; in none where no chat is there. */
  chime(): void {
    const [one] = this.surfaces;
    one?.page.post({ type: "chime" });
  }

  /** Whether the person sees this thread in a chat at this moment. */
  isSeen(threadId: string): boolean {
    return [...this.surfaces].some((surface) => surface.page.shown === threadId && surface.isVisible());
  }

  /** The conversation that the person means if they say nothing of which: that of the chat that they were in last, as long as it is in view. */
  get inView(): string | undefined {
    return this.surfaceInView?.page.shown;
  }

  private get surfaceInView(): Surface | undefined {
    const all = [...this.surfaces];
    const side = this.side?.surface;
    const isIn = (one: Surface | undefined): boolean => one?.isVisible() === true;
    return [this.last, all.find((one) => one.isActive()), side].find(isIn) ?? all.find(isIn) ?? side;
  }

  /** Does something with the conversation in view; false if none is. */
  async act(action: ConversationAction): Promise<boolean> {
    if (action === "new") {
      (await this.here()).fresh();
      return true;
    }
    const page = this.surfaceInView?.page;
    if (page?.shown === undefined) {
      return false;
    }
    await page.act(action);
    return true;
  }

  /** The chat in view; where none is, that of the side bar, which is shown. */
  async here({ preserveFocus = false } = {}): Promise<ChatPage> {
    const inView = this.surfaceInView;
    const here = inView?.isVisible() === true ? inView : this.side?.surface;
    if (here !== undefined) {
      here.reveal(preserveFocus);
      // Who is in another one only because the list of commands has just closed is not meant to be there.
      this.last = here;
      if (!preserveFocus) here.page.post({ type: "focus" });
      return here.page;
    }
    const coming = new Promise<ChatPage>((resolve) => { this.wanted.push(resolve); });
    await vscode.commands.executeCommand(`${VIEW}.focus`);
    // A view that is made only now takes the focus.
    if (preserveFocus) await vscode.commands.executeCommand("workbench.action.focusActiveEditorGroup");
    return coming;
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    const surface = this.place(view.webview, { isVisible: () => view.visible, isActive: () => false, reveal: (preserveFocus) => { view.show(preserveFocus); } }, (title) => { view.description = title; });
    this.side = { surface, view };
    this.showWaiting(this.waiting);
    view.onDidChangeVisibility(() => { this.services.seen(); });
    view.onDidDispose(() => {
      this.side = undefined;
      this.remove(surface);
    });
    this.wanted.splice(0).forEach((wish) => { wish(surface.page); });
  }

  deserializeWebviewPanel(panel: vscode.WebviewPanel): Promise<void> {
    this.fill(panel);
    return Promise.resolve();
  }

  /** Shows the chat in the side bar, with a thread or as it is. */
  async focus(threadId?: string): Promise<void> {
    const show = (page: ChatPage): void => {
      if (threadId !== undefined) {
        page.open(threadId).catch((error: unknown) => { page.post({ type: "notice", severity: "error", text: String(error) }); });
      }
      page.post({ type: "focus" });
    };
    if (this.side === undefined) {
      this.wanted.push(show);
      await vscode.commands.executeCommand(`${VIEW}.focus`);
    } else {
      this.side.view.show(false);
      show(this.side.surface.page);
    }
  }

  async fresh(): Promise<void> {
    if (this.side === undefined) {
      this.wanted.push((page) => { page.fresh(); });
      await vscode.commands.executeCommand(`${VIEW}.focus`);
    } else {
      this.side.view.show(false);
      this.side.surface.page.fresh();
    }
  }

  /** Puts text into the composer of the chat. */
  async insert(text: string): Promise<void> {
    await this.focus();
    const page = this.side?.surface.page;
    if (page === undefined) {
      this.wanted.push((one) => { one.post({ type: "insert", text }); });
    } else {
      page.post({ type: "insert", text });
    }
  }

  openInEditor(threadId: string | undefined): void {
    const shown = threadId ?? this.side?.surface.page.shown;
    const name = threadName((shown === undefined ? undefined : this.services.threads.get(shown)?.view) ?? { preview: "" }, "", 80);
    const panel = vscode.window.createWebviewPanel(PANEL, "Countersign", vscode.ViewColumn.Active, { retainContextWhenHidden: true });
    const surface = this.fill(panel);
    if (shown !== undefined) {
      void surface.page.reopen(shown, name);
    }
  }

  private fill(panel: vscode.WebviewPanel): Surface {
    panel.iconPath = { light: vscode.Uri.joinPath(this.extension, "media", "icon-light.svg"), dark: vscode.Uri.joinPath(this.extension, "media", "icon-dark.svg") };
    const surface = this.place(panel.webview, { isVisible: () => panel.visible, isActive: () => panel.active, reveal: (preserveFocus) => { panel.reveal(undefined, preserveFocus); } }, (title) => { panel.title = title; });
    panel.onDidChangeViewState(() => {
      // Chosen by its tab.
      if (panel.active) this.last = surface;
      this.services.seen();
    });
    panel.onDidDispose(() => { this.remove(surface); });
    return surface;
  }

  private place(webview: vscode.Webview, where: Omit<Surface, "page">, titled: (title: string) => void): Surface {
    const out = vscode.Uri.joinPath(this.extension, "out");
    webview.options = { enableScripts: true, localResourceRoots: [out] };
    const page: ChatPage = new ChatPage(webview, this.services, this.code, this.outputs, titled, () => { this.last = surface; });
    const surface: Surface = { page, ...where };
    this.surfaces.add(surface);
    webview.html = html(webview.asWebviewUri(vscode.Uri.joinPath(out, "webview.js")), webview.asWebviewUri(vscode.Uri.joinPath(out, "webview.css")), webview.cspSource);
    return surface;
  }

  private remove(surface: Surface): void {
    this.surfaces.delete(surface);
    if (this.last === surface) this.last = undefined;
    surface.page.dispose();
    this.services.seen();
  }
}

/** Nothing is loaded but this extension's own two files; pictures only where the person put them in. */
function html(script: vscode.Uri, style: vscode.Uri, source: string): string {
  const nonce = crypto.randomBytes(16).toString("base64");
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'nonce-${nonce}'; style-src ${source}; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${style.toString()}">
<title>Countersign</title>
</head>
<body>
<script nonce="${nonce}" src="${script.toString()}"></script>
</body>
</html>`;
}
