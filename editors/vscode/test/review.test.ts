import * as assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import type * as vscode from "vscode";
import type { Threads } from "../src/chat/threads";
import type * as DocumentsModule from "../src/proposals/documents";
import type * as ReviewModule from "../src/proposals/review";
import type * as StoreModule from "../src/proposals/store";
import type * as ViewedModule from "../src/proposals/viewed";
import { hunkWords, isDecided } from "../src/proposals/state";
import type { Hunk, Proposal, ProposalDecideParams, ProposalFile } from "../src/protocol";

/** As much of the editor as reviews need: documents, diff editors in one group, messages. */
class Emitter<T> {
  private readonly heard = new Set<(value: T) => void>();
  readonly event = (listener: (value: T) => void): { dispose(): void } => {
    this.heard.add(listener);
    return { dispose: () => this.heard.delete(listener) };
  };
  fire(value: T): void {
    for (const one of [...this.heard]) one(value);
  }
  dispose(): void {
    this.heard.clear();
  }
}

class Uri {
  constructor(
    readonly scheme: string,
    readonly path: string,
    readonly query = "",
  ) {}
  static parse(text: string): Uri {
    const [, scheme = "", path = "", query = ""] = /^([\w-]+):\/\/([^?]*)\??(.*)$/.exec(text) ?? [];
    return new Uri(scheme, path, query);
  }
  with({ scheme, query }: { scheme: string; query: string }): Uri {
    return new Uri(scheme, this.path, query);
  }
  toString(): string {
    return `${this.scheme}://${this.path}${this.query === "" ? "" : `?${this.query}`}`;
  }
}

class TabInputTextDiff {
  constructor(
    readonly original: Uri,
    readonly modified: Uri,
  ) {}
}

class TabInputText {
  constructor(readonly uri: Uri) {}
}

class Range {
  readonly start: { line: number };
  readonly end: { line: number };
  constructor(start: number, _: number, end: number) {
    this.start = { line: start };
    this.end = { line: end };
  }
}

class TextDocument {
  readonly isDirty = false;
  constructor(
    readonly uri: Uri,
    public text: string,
  ) {}
  getText(): string {
    return this.text;
  }
  get lineCount(): number {
    return this.text.split("\n").length;
  }
}

class Editor {
  /** Files on disk. */
  readonly files = new Map<string, string>();
  readonly documents = new Map<string, TextDocument>();
  readonly messages: string[] = [];
  /** The borders of the marks that were made, and other themes. */
  readonly marks: string[] = [];
  readonly themes = new Emitter<{ kind: number }>();
  /** Other commands, with what they were given first. */
  readonly called: unknown[][] = [];
  /** It does not read again what has changed. */
  isSlow = false;
  readonly diffs: { title: string; original: Uri; modified: Uri }[] = [];
  private tab: { label: string; input: TabInputTextDiff; isDirty: boolean } | undefined;
  private provider: vscode.FileSystemProvider | undefined;
  private readonly visible = new Emitter<void>();
  private readonly scrolled = new Emitter<void>();
  /** Lines that a window has room for, and the first one that is in it. */
  room = 1000;
  private top = 0;
  private readonly typed = new Emitter<{ document: TextDocument; contentChanges: readonly unknown[] }>();
  private readonly tabs = new Emitter<void>();

  readonly api = {
    Uri,
    EventEmitter: Emitter,
    Disposable: { from: (...all: { dispose(): void }[]) => ({ dispose: () => { all.forEach((one) => { one.dispose(); }); } }) },
    TabInputTextDiff,
    TabInputText,
    Range,
    Selection: Range,
    TextEditorRevealType: { AtTop: "top", InCenter: "center" },
    ThemeColor: Object,
    DecorationRangeBehavior: { ClosedClosed: 1 },
    ColorThemeKind: { Light: 1, Dark: 2, HighContrast: 3, HighContrastLight: 4 },
    MarkdownString: Object,
    FileType: { File: 1 },
    FileChangeType: { Changed: 1 },
    FileSystemError: { FileNotFound: (uri: Uri) => new Error(`${uri.toString()} is not there`) },
    workspace: {
      registerFileSystemProvider: (_: string, provider: vscode.FileSystemProvider): { dispose(): void } => {
        this.provider = provider;
        provider.onDidChangeFile((changes) => { for (const { uri } of changes) this.reload(uri); });
        return { dispose: () => undefined };
      },
      onDidChangeTextDocument: this.typed.event,
      onDidCloseTextDocument: new Emitter<TextDocument>().event,
      getConfiguration: () => ({ get: (_: string, otherwise: unknown): unknown => otherwise }),
      asRelativePath: (path: string): string => path.replace(/^\/w\//, ""),
      textDocuments: [] as TextDocument[],
    },
    window: {
      createTextEditorDecorationType: (how: { borderStyle?: string }) => {
        this.marks.push(how.borderStyle ?? "none");
        return { dispose: () => undefined };
      },
      activeColorTheme: { kind: 2 },
      onDidChangeActiveColorTheme: this.themes.event,
      onDidChangeVisibleTextEditors: this.visible.event,
      onDidChangeTextEditorVisibleRanges: this.scrolled.event,
      visibleTextEditors: [] as unknown[],
      activeTextEditor: undefined,
      showInformationMessage: (text: string): Promise<undefined> => {
        this.messages.push(text);
        return Promise.resolve(undefined);
      },
      tabGroups: { all: [] as unknown[], activeTabGroup: {}, onDidChangeTabs: this.tabs.event, onDidChangeTabGroups: this.tabs.event, close: (): Promise<void> => {
        this.show(undefined);
        return Promise.resolve();
      } },
    },
    languages: { registerCodeLensProvider: () => ({ dispose: () => undefined }) },
    commands: {
      executeCommand: async (command: string, original: Uri, modified: Uri, title: string): Promise<void> => {
        if (command === "vscode.diff") await this.diff(original, modified, title);
        else this.called.push([command, original, modified]);
      },
    },
  };

  /** Opens a diff editor, as the editor does: it reads, has the documents, and shows them. */
  async diff(original: Uri, modified: Uri, title: string): Promise<void> {
    await this.load(original);
    await this.load(modified);
    const isSame = this.tab?.input.modified.toString() === modified.toString() && this.tab.input.original.toString() === original.toString();
    this.diffs.push({ title, original, modified });
    this.show({ label: isSame ? (this.tab?.label ?? title) : title, input: new TabInputTextDiff(original, modified), isDirty: false });
  }

  /** Has a tab in front; its editors come a little later. */
  show(tab: Editor["tab"], isDrawn = true): void {
    this.tab = tab;
    this.api.window.tabGroups.all = [{ tabs: tab === undefined ? [] : [tab], activeTab: tab }];
    this.api.window.visibleTextEditors = tab === undefined || !isDrawn ? [] : [tab.input.original, tab.input.modified].map((uri) => this.window(this.documents.get(uri.toString()) ?? new TextDocument(uri, "")));
    this.tabs.fire();
    this.visible.fire();
  }

  private window(document: TextDocument): unknown {
    const ranges = (): Range[] => {
      const top = Math.max(0, Math.min(this.top, document.text.split("\n").length - this.room));
      return [new Range(top, 0, top + this.room - 1)];
    };
    return Object.defineProperty({
      document,
      setDecorations: () => undefined,
      revealRange: ({ start, end }: Range, how: string) => { this.scroll(how === "top" ? start.line : Math.max(0, Math.floor((start.line + end.line - this.room) / 2))); },
    }, "visibleRanges", { get: ranges });
  }

  /** The person scrolls. */
  scroll(line: number): void {
    this.top = line;
    this.scrolled.fire();
  }

  private reload(uri: { toString(): string }): void {
    if (!this.isSlow) void this.load(Uri.parse(uri.toString()));
  }

  async load(uri: Uri): Promise<void> {
    const key = uri.toString();
    const ours = uri.scheme === "file" || this.provider === undefined ? undefined : Buffer.from(await this.provider.readFile(uri as unknown as vscode.Uri)).toString().replace(/^\uFEFF/, "");
    const text = ours ?? this.files.get(key);
    if (text === undefined) throw new Error(`${key} is not there`);
    const document = this.documents.get(key) ?? new TextDocument(uri, text);
    this.documents.set(key, document);
    this.api.workspace.textDocuments = [...this.documents.values()];
    document.text = text;
    this.typed.fire({ document, contentChanges: [] });
  }
}

/** The editor, and a server that has one proposal of these files. */
class Stage {
  readonly editor = new Editor();
  readonly sent: ProposalDecideParams[] = [];
  /** Conversations that were shown in a chat. */
  readonly chats: string[] = [];
  readonly proposal: Proposal;
  readonly review: ReviewModule.Review;
  readonly documents: DocumentsModule.ProposalDocuments;
  readonly viewed: ViewedModule.Viewed;
  /** Whether a chat shows the conversation. */
  isInChat = true;
  isPreviewed = true;
  readonly events = new Emitter<unknown>();
  private readonly connections = new Emitter<boolean>();

  constructor(...files: ProposalFile[]) {
    this.proposal = { id: "P", threadId: "T", turnId: "u", itemId: "i", status: "proposed", diff: "", createdAtMs: 1, files };
    for (const { uri, current } of files) if (typeof current === "string") this.editor.files.set(uri, current);
    const required = createRequire(__filename);
    const loader = required("node:module") as { _load: (name: string, ...more: unknown[]) => unknown };
    const load = loader._load;
    loader._load = (name, ...more) => (name === "vscode" ? this.editor.api : load(name, ...more));
    for (const key of Object.keys(required.cache).filter((one) => /proposals/.test(one))) Reflect.deleteProperty(required.cache, key);
    const { Proposals } = required("../src/proposals/store") as typeof StoreModule;
    const { ProposalDocuments } = required("../src/proposals/documents") as typeof DocumentsModule;
    const { Viewed } = required("../src/proposals/viewed") as typeof ViewedModule;
    const { Review } = required("../src/proposals/review") as typeof ReviewModule;
    loader._load = load;
    const threads = { onEvent: this.events.event, onConnection: this.connections.event, isConnected: true, request: (method: string, params: unknown) => Promise.resolve(this.answer(method, params)) };
    const proposals = new Proposals(threads as unknown as Threads);
    this.documents = new ProposalDocuments(proposals, { warn: () => undefined } as unknown as vscode.LogOutputChannel);
    this.viewed = new Viewed(proposals, this.documents);
    this.review = new Review(proposals, this.documents, this.viewed, () => this.isInChat, () => this.isPreviewed, (threadId) => { this.chats.push(threadId); return Promise.resolve(); });
    this.events.fire({ method: "countersign/proposal/created", params: { proposal: this.slim() } });
  }

  hunk(id: string): Hunk {
    const found = this.proposal.files.flatMap((file) => file.hunks).find((one) => one.id === id);
    assert.ok(found !== undefined);
    return found;
  }

  /** The text of a file is another one, and the hunks fit or do not. */
  async becomes(path: string, current: string, status: Hunk["status"]): Promise<void> {
    const file = this.proposal.files.find((one) => one.path === path);
    assert.ok(file !== undefined);
    file.current = current;
    this.editor.files.set(file.uri, current);
    if (this.editor.documents.has(file.uri)) await this.editor.load(Uri.parse(file.uri));
    for (const hunk of file.hunks) hunk.status = status;
    this.events.fire({ method: "countersign/proposal/moved", params: { proposalId: "P", status: "proposed", files: [{ path, uri: file.uri, open: true, hunks: structuredClone(file.hunks) }] } });
    await this.settle();
  }

  async settle(): Promise<void> {
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
  }

  /** The person says yes: what was sent by that. */
  async accept(target: StoreModule.Target = { proposalId: "P" }): Promise<string[] | undefined> {
    const before = this.sent.length;
    await this.review.decide(target, "accept");
    await this.settle();
    const yes = this.sent.slice(before).find(({ decision }) => decision === "accept");
    if (yes !== undefined) assert.ok(yes.hunkIds, "a yes names its hunks");
    return yes?.hunkIds ?? undefined;
  }

  private slim(): Proposal {
    return structuredClone({ ...this.proposal, files: this.proposal.files.map((file) => ({ ...file, current: null, before: null, result: null })) });
  }

  private answer(method: string, params: unknown): unknown {
    if (method === "countersign/proposal/decide") {
      const decided = params as ProposalDecideParams;
      this.sent.push(decided);
      for (const id of decided.hunkIds ?? []) this.hunk(id).status = decided.decision === "accept" ? "accepted" : "rejected";
      return { proposal: this.slim() };
    }
    return { proposal: structuredClone(this.proposal) };
  }
}

const file = (path: string, fields: Partial<ProposalFile> = {}, newText = "evil\n"): ProposalFile => ({
  path, uri: `file://${path}`, kind: { type: "update" }, open: false, before: "a\nold\n", current: "a\nold\n",
  hunks: [{ id: path, status: "pending", range: { start: 1, end: 2 }, oldText: "old\n", newText }], ...fields,
});

const after = (path: string): Uri => new Uri("countersign-proposal", path, new URLSearchParams({ proposal: "P", path, side: "after" }).toString());

test("a yes takes what a diff editor has shown, by its ids, and shows the rest first", async () => {
  const stage = new Stage(file("/w/a"), file("/w/b"));
  assert.equal(await stage.accept(), undefined);
  assert.deepEqual(stage.editor.diffs.map(({ title }) => title), ["a (proposed)"]);
  assert.equal(await stage.accept(), undefined);
  assert.deepEqual(stage.editor.diffs.map(({ title }) => title), ["a (proposed)", "b (proposed)"]);
  assert.deepEqual(await stage.accept(), ["/w/a", "/w/b"]);
});

test("a yes to all that waits shows what was not shown first, and takes nothing before", async () => {
  const stage = new Stage(file("/w/a"), file("/w/b"));
  for (const shown of [1, 2]) {
    await stage.review.decideAll("accept");
    await stage.settle();
    assert.deepEqual([stage.editor.diffs.length, stage.sent.length], [shown, 0]);
  }
  await stage.review.decideAll("accept");
  assert.deepEqual(stage.sent.map(({ decision, hunkIds }) => [decision, hunkIds]), [["accept", ["/w/a", "/w/b"]]]);
});

test("a no to all that waits needs nothing to be shown", async () => {
  const stage = new Stage(file("/w/a"), file("/w/b"));
  await stage.review.decideAll("reject");
  assert.deepEqual(stage.sent.map(({ proposalId, decision, path, hunkIds }) => [proposalId, decision, path, hunkIds]), [["P", "reject", null, null]]);
  assert.deepEqual(stage.editor.diffs, []);
});

test("all files are shown in one editor, which shows none of them as to be accepted", async () => {
  const stage = new Stage(file("/w/a"), file("/w/b", { kind: { type: "add" }, before: null, current: null }));
  await stage.review.openAll({ proposalId: "P" });
  const [[command, title, files] = []] = stage.editor.called;
  assert.deepEqual([command, title], ["vscode.changes", "Proposed Changes"]);
  assert.deepEqual((files as Uri[][]).map((one) => one.map(String)), [
    ["file:///w/a", "file:///w/a", after("/w/a").toString()],
    ["file:///w/b", after("/w/b").toString().replace("side=after", "side=before"), after("/w/b").toString()],
  ]);
  assert.deepEqual(stage.viewed.all, []);
});

test("in high contrast the lines that go have a border", () => {
  const { editor } = new Stage(file("/w/a"));
  assert.ok(!editor.marks.includes("dashed"));
  for (const [kind, marked] of [[3, true], [1, false], [4, true]] as const) {
    editor.marks.length = 0;
    editor.themes.fire({ kind });
    assert.equal(editor.marks.includes("dashed"), marked);
  }
});

test("an accepted change says what it waits for", () => {
  const proposal: Proposal = { id: "P", threadId: "T", turnId: "u", itemId: "i", status: "partlyDecided", diff: "", createdAtMs: 1, files: [file("/w/a"), file("/w/b"), file("/w/c"), file("/w/d")] };
  const [a, b, c, d] = proposal.files.flatMap((one) => one.hunks);
  assert.ok(a && b && c && d);
  a.status = "accepted";
  c.status = "conflicting";
  d.status = "rejected";
  assert.deepEqual([a, b, c, d].map((hunk) => hunkWords(proposal, hunk)), ["accepted, applied when 2 more are decided", "", "in conflict", "rejected"]);
  c.status = "rejected";
  assert.deepEqual((["pending", "accepted", "rejected", "conflicting", "applied"] as const).filter((status) => isDecided({ ...a, status })), ["accepted", "rejected"], "what is in the file is undone, not reset");
  assert.equal(hunkWords(proposal, a), "accepted, applied when 1 more is decided");
  assert.equal(hunkWords({ ...proposal, status: "accepted" }, a), "accepted");
});

test("what a document is read for shows nothing", async () => {
  const stage = new Stage(file("/w/a"));
  const uri = after("/w/a");
  await stage.documents.stat(uri as unknown as vscode.Uri);
  await stage.documents.readFile(uri as unknown as vscode.Uri);
  await stage.editor.load(uri);
  assert.equal(await stage.accept(), undefined, "it was read, and is on no screen");
  stage.editor.show(undefined);
  assert.deepEqual(await stage.accept(), ["/w/a"], "the diff that was opened by that counts, also once it is closed");
});

test("a hunk that did not fit while its file was shown is shown before it is accepted", async () => {
  const stage = new Stage(file("/w/a"), file("/w/b"));
  await stage.becomes("/w/b", "a\nbusy\n", "conflicting");
  await stage.review.open({ proposalId: "P", path: "/w/a" });
  await stage.review.open({ proposalId: "P", path: "/w/b" });
  // Nobody looks when it fits again.
  stage.editor.show(undefined);
  await stage.becomes("/w/b", "a\nold\n", "pending");
  assert.equal(await stage.accept(), undefined);
  assert.deepEqual(await stage.accept(), ["/w/a", "/w/b"]);
});

test("one that fits no more is left out of a yes to the whole, and not taken with it", async () => {
  const stage = new Stage(file("/w/a"), file("/w/b"));
  for (const path of ["/w/a", "/w/b"]) await stage.review.open({ proposalId: "P", path });
  await stage.becomes("/w/b", "a\nbusy\n", "conflicting");
  assert.deepEqual(await stage.accept(), ["/w/a"]);
  assert.deepEqual(stage.sent.map(({ decision, hunkIds }) => [decision, hunkIds]), [["accept", ["/w/a"]], ["reject", ["/w/b"]]]);
  assert.equal(await stage.accept({ proposalId: "P", hunkIds: ["/w/b"] }), undefined);
});

test("a diff shows what it has, whatever is said of the hunks meanwhile", async () => {
  const shown = async (play: (stage: Stage) => Promise<void> | void, ...files: ProposalFile[]): Promise<unknown> => {
    const stage = new Stage(...(files.length > 0 ? files : [file("/w/a")]));
    await play(stage);
    return stage.viewed.all.flatMap(({ hunkIds }) => hunkIds);
  };
  const open = (stage: Stage): Promise<void> => stage.review.open({ proposalId: "P", path: "/w/a" });
  const gone = (fields: Partial<ProposalFile>): ProposalFile => file("/w/a", { kind: { type: "delete" }, ...fields }, "");
  assert.deepEqual(await shown(open), ["/w/a"]);
  assert.deepEqual(await shown(open, file("/w/a", { result: "a\nold\n" })), [], "the server has just found that it does not fit");
  assert.deepEqual(await shown(open, gone({ result: null })), ["/w/a"]);
  assert.deepEqual(await shown(open, gone({ result: "a\nbusy\n" })), [], "the same of a file that would be deleted");
  assert.deepEqual(await shown(open, file("/w/a", { kind: { type: "add" }, before: null, current: null })), ["/w/a"]);
  assert.deepEqual(await shown(open, file("/w/a", { notText: "a symbolic link to b", current: null })), ["/w/a"]);
  assert.deepEqual(
    await shown(async (stage) => {
      await stage.becomes("/w/a", "a\nbusy\n", "conflicting");
      await open(stage);
      stage.editor.isSlow = true;
      await stage.becomes("/w/a", "a\nold\n", "pending");
    }),
    [],
    "the editor still has the text without it",
  );
  assert.deepEqual(
    await shown(async (stage) => {
      stage.editor.files.set("file:///w/a", "a\nevil\n");
      await stage.editor.diff(Uri.parse("file:///w/a"), after("/w/a"), "a (proposed)");
    }),
    [],
    "the left side is not the text that it changes",
  );
  assert.deepEqual(
    await shown(async (stage) => {
      for (const uri of [Uri.parse("file:///w/a"), after("/w/a")]) await stage.editor.load(uri);
      stage.editor.show({ label: "a (proposed)", input: new TabInputTextDiff(Uri.parse("file:///w/a"), after("/w/a")), isDirty: false }, false);
    }),
    [],
    "the tab is there, and nothing is drawn in it",
  );
});

test("one that is in the file already is shown beside what the agent saw", async () => {
  const stage = new Stage(file("/w/a", { current: "a\nevil\n" }));
  const live = Uri.parse("file:///w/a");
  await stage.editor.diff(live, after("/w/a"), "a (proposed)");
  assert.equal(await stage.accept(), undefined, "both sides are the same");
  assert.deepEqual(stage.editor.diffs.at(-1)?.original.scheme, "countersign-proposal");
  assert.deepEqual(await stage.accept(), ["/w/a"]);
});

test("where a file goes and what it becomes is shown with it", async () => {
  for (const [fields, title] of [
    [{ kind: { type: "update", movePath: "/w/conftest.py" } }, "a → conftest.py (proposed)"],
    [{ mode: 0o755 }, "a, executable (mode 755) (proposed)"],
  ] as const) {
    const stage = new Stage(file("/w/a", fields));
    await stage.editor.diff(Uri.parse("file:///w/a"), after("/w/a"), "a (Working Tree)");
    assert.equal(await stage.accept(), undefined, "a diff that does not say it does not show it");
    assert.equal(stage.editor.diffs.at(-1)?.title, title);
    assert.deepEqual(await stage.accept(), ["/w/a"]);
  }
});

test("what is on the screen counts as soon as it is there, and the chat hears of it", async () => {
  const stage = new Stage(file("/w/a"));
  const heard: unknown[] = [];
  stage.viewed.onShown((shown) => heard.push(shown));
  await stage.review.open({ proposalId: "P", path: "/w/a" });
  assert.deepEqual(heard, [{ proposalId: "P", hunkIds: ["/w/a"] }]);
  await stage.becomes("/w/a", "a\nbusy\n", "conflicting");
  assert.deepEqual(stage.viewed.all, []);
  await stage.becomes("/w/a", "x\na\nold\n", "pending");
  assert.equal(heard.length, 2, "the diff is still open, and shows it again");
  assert.deepEqual(await stage.accept(), ["/w/a"]);
});

/** A file of so many lines with a change at each of some, of so many lines. */
function long(length: number, at: readonly number[], count = 1): ProposalFile {
  const current = Array.from({ length }, (_, i) => `${i}\n`).join("");
  const hunks = at.map((line): Hunk => ({ id: `${line}`, status: "pending", range: { start: line, end: line + 1 }, oldText: `${line}\n`, newText: `evil ${line}\n`.repeat(count) }));
  return file("/w/a", { before: current, current, hunks });
}

test("a change counts once all of its lines were on the screen, and a yes brings what was not there", async () => {
  for (const [name, changed, room, presses] of [
    ["short", long(30, [2, 20]), 40, 0],
    ["far apart", long(3000, [2, 1500, 2900]), 40, 2],
    ["longer than the window", long(30, [2], 130), 40, 3],
  ] as const) {
    const stage = new Stage(changed);
    stage.editor.room = room;
    await stage.review.open({ proposalId: "P", path: "/w/a" });
    for (let i = 0; i < presses; i++) assert.equal(await stage.accept(), undefined, `${name}: ${i}`);
    assert.deepEqual(await stage.accept(), changed.hunks.map(({ id }) => id), name);
    assert.equal(stage.editor.messages.length, presses, name);
  }
});

test("what a person scrolls to is on the screen", async () => {
  const stage = new Stage(long(3000, [2, 1500]));
  stage.editor.room = 40;
  await stage.review.open({ proposalId: "P", path: "/w/a" });
  assert.deepEqual(stage.viewed.all.flatMap(({ hunkIds }) => hunkIds), ["2"]);
  assert.deepEqual(await stage.accept({ proposalId: "P", hunkIds: ["2"] }), ["2"]);
  stage.editor.scroll(1480);
  stage.editor.scroll(0);
  assert.deepEqual(await stage.accept(), ["1500"]);
  assert.deepEqual(stage.editor.messages, []);
});

test("lines that stick to the top of a window cover what lies below them", async () => {
  const stage = new Stage(long(3000, [100]));
  stage.editor.room = 40;
  stage.editor.scroll(97);
  await stage.review.open({ proposalId: "P", path: "/w/a" });
  assert.deepEqual(stage.viewed.all, []);
  // The line above is there with it: what goes is drawn between them.
  stage.editor.scroll(95);
  assert.deepEqual(stage.viewed.all, []);
  stage.editor.scroll(94);
  assert.deepEqual(stage.viewed.all.flatMap(({ hunkIds }) => hunkIds), ["100"]);
});

test("a change that takes lines away is shown where its place is", async () => {
  const gone = long(3000, [1500]);
  const stage = new Stage({ ...gone, hunks: gone.hunks.map((one) => ({ ...one, newText: "" })) });
  stage.editor.room = 40;
  await stage.review.open({ proposalId: "P", path: "/w/a" });
  assert.equal(await stage.accept(), undefined);
  assert.deepEqual(await stage.accept(), ["1500"]);
});

test("lines that go are on the screen where those around them are at once", async () => {
  // 60 lines go and one comes, in a window of 40.
  const current = Array.from({ length: 3000 }, (_, i) => `${i}\n`).join("");
  const hunk: Hunk = { id: "big", status: "pending", range: { start: 1500, end: 1560 }, oldText: Array.from({ length: 60 }, (_, i) => `${1500 + i}\n`).join(""), newText: "x\n" };
  const stage = new Stage(file("/w/a", { before: current, current, hunks: [hunk] }));
  stage.editor.room = 40;
  await stage.review.open({ proposalId: "P", path: "/w/a" });
  stage.editor.scroll(1490);
  assert.deepEqual(stage.viewed.all.flatMap(({ hunkIds }) => hunkIds), ["big"], "as the editor tells it: it knows of no lines that go");
  const other = new Stage(file("/w/a", { before: current, current, hunks: [hunk] }));
  other.editor.room = 40;
  await other.review.open({ proposalId: "P", path: "/w/a" });
  // The line above, and then the line below, but never with the one that comes.
  other.editor.scroll(1500 - 40);
  other.editor.scroll(1501);
  assert.deepEqual(other.viewed.all, []);
});

test("what a diff editor does not show as it would be made is accepted in the chat", async () => {
  const current = "if a:\n    b()\nc = 1\n";
  for (const [name, oldText, newText, range, isHidden] of [
    ["short", "c = 1\n", "c = 2\n", { start: 2, end: 3 }, false],
    ["behind a run of blanks", "c = 1\n", `c = 1${" ".repeat(400)}; evil()\n`, { start: 2, end: 3 }, true],
    ["behind tabs", "c = 1\n", "c = 1\t\t\t; evil()\n", { start: 2, end: 3 }, true],
    ["very long", "c = 1\n", `c = "${"x".repeat(200)}"\n`, { start: 2, end: 3 }, true],
    ["indented only", "    b()\n", "b()\n", { start: 1, end: 2 }, true],
    ["indented deeply", "c = 1\n", `${" ".repeat(40)}c = 2\n`, { start: 2, end: 3 }, false],
  ] as const) {
    const stage = new Stage(file("/w/a", { before: current, current, hunks: [{ id: "h", status: "pending", range, oldText, newText }] }));
    await stage.review.open({ proposalId: "P", path: "/w/a" });
    const accepted = await stage.accept();
    assert.equal(accepted === undefined, isHidden, name);
    assert.deepEqual(stage.chats, isHidden ? ["T"] : [], name);
  }
});

test("a proposal that came where nobody saw it is announced once", (context) => {
  context.mock.timers.enable({ apis: ["Date"] });
  const change = (): ProposalFile => file("/w/a", { before: "a\n", current: "a\n", hunks: [{ id: "h", status: "pending", range: { start: 0, end: 1 }, oldText: "a\n", newText: "b\n" }] });
  for (const [name, isInChat, leavesAfter, isDecided, expected] of [
    ["no chat shows it", false, 0, false, 1],
    ["the chat stays", true, undefined, false, 0],
    ["the chat was being left", true, 300, false, 1],
    ["the chat is left later", true, 10_001, false, 0],
    ["it is decided by then", true, 300, true, 0],
  ] as const) {
    const stage = new Stage(change());
    stage.isPreviewed = false;
    stage.isInChat = isInChat;
    const arrived = { ...stage.proposal, id: "Q" };
    stage.events.fire({ method: "countersign/proposal/created", params: { proposal: arrived } });
    if (isDecided) stage.events.fire({ method: "countersign/proposal/updated", params: { proposal: { ...arrived, status: "rejected", files: [] } } });
    stage.review.look();
    if (leavesAfter !== undefined) {
      context.mock.timers.tick(leavesAfter);
      stage.isInChat = false;
      stage.review.look();
      stage.review.look();
    }
    assert.deepEqual(stage.editor.messages.length, expected, name);
  }
});
