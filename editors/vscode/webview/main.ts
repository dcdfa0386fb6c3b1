/**
 * The chat page: a thread, the list of threads, the composer, and what comes from the extension.
 */
import { grouped } from "../src/chat/groups";
import type { Entry } from "../src/chat/groups";
import { ThreadModel } from "../src/chat/view";
import type { ThreadView } from "../src/chat/view";
import type { Remedy, ToPage } from "../src/chat/wire";
import { costWords, cut, dateWords, duration, imagesOf, percentUsed, textOf, threadName, tokens, visibleText, windowName, windowShort } from "../src/chat/words";
import { Shown } from "../src/proposals/shown";
import { isWaiting } from "../src/proposals/state";
import type { RateWindow, ThreadContextResult, UserInput } from "../src/protocol";
import type { ThreadEvent } from "../src/rpc";
import { chime } from "./chime";
import { Composer } from "./composer";
import { contextCard } from "./context";
import { button, el, iconButton, redraw } from "./dom";
import { FindBar } from "./find";
import { firstRun, forgetKey, isMissing } from "./first_run";
import type { Setup } from "./first_run";
import { keep, kept, post } from "./host";
import { RowList } from "./list";
import { drawEntry } from "./rows";
import { ThreadList } from "./threads";
import "./style.css";

let model: ThreadModel | undefined;
let threadId = kept().threadId;
/** What it is called, also as long as it is not there. */
let threadTitle = kept().name;
let draft = kept().draft;
/** Of what commands changed, so many decisions to keep it outlive a reload. */
const MOST_KEEPS = 500;

const view = (): ThreadView | undefined => model?.view;
const title = el("button", { class: "title-button", title: "Conversations", attrs: { type: "button" } });
const context = { view, keeps: new Set(kept().keeps), folds: new Map<string, boolean>(), shown: new Shown(), gates: new Map<string, { look(): void }>(), regroup: () => { list.changed(entries()); } };
const toEnd = button("", () => { list.toEnd(); }, { class: "to-end", label: "Go to the end", icon: "down" });
const list = new RowList((entry) => drawEntry(entry, context), (atEnd) => { toEnd.hidden = atEnd; });
toEnd.hidden = true;
const threads = new ThreadList(closeThreads, () => threadId ?? undefined);
const composer = new Composer((text) => {
  draft = text;
  remember();
}, (text) => { notice("error", text); });
const find = new FindBar(() => view()?.rows ?? [], showFound, () => {
  mark(undefined);
  composer.focus();
});
const empty = el("div", { class: "empty" });
const activity = el("div", { class: "activity" });
const elapsed = el("span", { class: "dim" });
let shownActivity = "";
let shownWelcome = "";
let shownQueue: ThreadView["queue"];
let shownJoining: ThreadView["joining"] | undefined;
/** What is being written in the place of messages that wait, by their ids: who looks at another conversation finds it again. */
const rewritten = new Map<string, string>();
let contextBox: HTMLElement | undefined;
let toldTrouble: { readonly text: string; readonly box: HTMLElement } | undefined;
const queue = el("div", { class: "queue", label: "Queued messages", role: "group" });
queue.hidden = true;
const meters = el("div", { class: "meters" });
/** What a screen reader is told; the rows themselves would be told again with each scroll. */
const live = el("div", { class: "sr-only", attrs: { "aria-live": "polite" } });
const urgent = el("div", { class: "sr-only", attrs: { "aria-live": "assertive" } });
const notices = el("div", { class: "notices" });
const connectBox = el("section", { class: "first-run error", label: "Connect a model" });
connectBox.hidden = true;
let isConnecting = false;
const unopenedBox = el("section", { class: "unopened error", label: "The conversation is not open" });
unopenedBox.hidden = true;
const retryBox = el("div", { class: "error retry" });
const retryWhen = el("p", { class: "dim" });
let shownRetry = "";
const chat = el("main", { class: "chat" }, find.root, el("div", { class: "list-box" }, list.root, empty, toEnd), notices, unopenedBox, connectBox, retryBox, activity, queue, composer.root, meters);

title.addEventListener("click", () => { openThreads(); });
document.body.append(
  el("header", {}, iconButton("list", "Conversations", openThreads), title, iconButton("search", "Find in the conversation", () => { find.open(); }), iconButton("window", "Open in an editor tab", () => { if (threadId !== null) post({ type: "threadAction", action: "editor", threadId }); }), iconButton("add", "New conversation", () => { post({ type: "new" }); })),
  threads.root,
  chat,
  live,
  urgent,
);

/** Brings a row into view that has what was looked for. */
function showFound(key: string): void {
  list.toKey(key);
  requestAnimationFrame(() => { requestAnimationFrame(() => { mark(key); }); });
}

function mark(key: string | undefined): void {
  document.querySelectorAll(".row.found").forEach((row) => { row.classList.remove("found"); });
  if (key !== undefined) document.querySelector(`[data-key="${CSS.escape(key)}"]`)?.classList.add("found");
}

function openThreads(): void {
  chat.hidden = true;
  threads.show();
}

function closeThreads(): void {
  showChat();
  composer.focus();
}

function showChat(): void {
  threads.hide();
  chat.hidden = false;
  list.shown();
}

function remember(): void {
  keep({ threadId, name: threadTitle, draft, keeps: [...context.keeps].slice(-MOST_KEEPS) });
}

function notice(severity: "info" | "error", words: string | HTMLElement): HTMLElement {
  const box = el("div", { class: `notice notice-${severity}`, role: severity === "error" ? "alert" : "status" }, typeof words === "string" ? el("span", {}, words) : words, iconButton("close", "Close", () => { box.remove(); }));
  notices.replaceChildren(box);
  if (chat.hidden) threads.root.prepend(notices);
  else chat.insertBefore(notices, activity);
  return box;
}

/** Says once what keeps the server from running, where a conversation hides the welcome; it is said until the server is back. */
function tellTrouble(trouble: string | null, running: boolean): void {
  if (trouble !== null && trouble !== toldTrouble?.text && view() !== undefined) {
    toldTrouble = { text: trouble, box: notice("error", trouble) };
  } else if (running) {
    toldTrouble?.box.remove();
    toldTrouble = undefined;
  }
}

/** The conversation of before cannot be opened: why, and what can be done. What is written meanwhile is for it, and waits in the composer. */
function tellUnopened(isInUse: boolean, reason: string): void {
  const again = button("Try Again", () => { post({ type: "reopen" }); }, { class: "primary" });
  const fork = isInUse && threadId !== null ? button("Fork Conversation", () => { if (threadId !== null) post({ type: "threadAction", action: "fork", threadId }); }) : undefined;
  const read = isInUse && threadId !== null ? button("Show Read-Only", () => { if (threadId !== null) post({ type: "readOnly", threadId }); }) : undefined;
  const begin = button("New Chat", () => { post({ type: "new" }); });
  redraw(unopenedBox, () => { unopenedBox.replaceChildren(el("p", { role: "alert" }, threadTitle === "" ? "The conversation could not be opened." : `“${threadTitle}” could not be opened.`), el("p", {}, reason), el("div", { class: "buttons" }, again, read, fork, begin)); }, composer.text);
  unopenedBox.hidden = false;
  head();
}

/** The rows, and groups of them, as the person has opened them. Where they are by the keyboard or have selected something nothing goes. */
function entries(): Entry[] {
  const selection = document.getSelection();
  const selected = selection?.isCollapsed === false ? [selection.anchorNode?.parentElement, selection.focusNode?.parentElement] : [];
  const held = [document.activeElement, ...selected].map((one) => one?.closest<HTMLElement>("[data-key]")?.dataset["key"]);
  return grouped(view()?.rows ?? [], { isOpen: (key) => context.folds.get(key) === true, isHeld: (key) => held.includes(key) });
}

function show(next: ThreadView | null): void {
  const isOther = next?.id !== model?.view.id;
  // What was picked for one conversation is not meant for another; for one that is only just begun it is.
  if (isOther && (model !== undefined || (next?.rows.length ?? 0) > 0)) composer.forget();
  model = next === null ? undefined : new ThreadModel(next);
  threadId = next?.id ?? null;
  threadTitle = next === null ? "" : threadName(next, "", 80);
  unopenedBox.hidden = true;
  remember();
  // It is drawn again, as it is now.
  context.shown.clear();
  context.gates.clear();
  if (isOther) {
    context.folds.clear();
    notices.replaceChildren();
    find.reset();
    // Its buttons, and what is being typed into it, are of the other conversation.
    drawQueue();
  }
  list.reset(entries());
  head();
}

/** All but the rows. */
function head(): void {
  const shown = view();
  if (shown !== undefined && threadName(shown, "", 80) !== threadTitle) {
    threadTitle = threadName(shown, "", 80);
    remember();
  }
  title.textContent = threadTitle || (threadId === null || shown !== undefined ? "New conversation" : "Conversation");
  empty.hidden = (shown?.rows.length ?? 0) > 0 || !unopenedBox.hidden;
  composer.setRunning(shown?.running !== undefined);
  composer.setSettings(shown?.settings);
  drawActivity();
  // What is being typed into it stays, and so do buttons that are just being pressed.
  if (queue.querySelector("textarea") === null && (shown?.queue !== shownQueue || shown?.joining !== shownJoining)) redraw(queue, drawQueue, composer.text);
  drawMeters();
}

function drawActivity(): void {
  const shown = view();
  const open = model?.open().length ?? 0;
  const first = model?.open()[0];
  const plan = shown?.plan;
  const reviews = shown !== undefined && Object.values(shown.proposals).some(isWaiting);
  const step = plan?.find((one) => one.status === "inProgress");
  activity.hidden = (shown?.running === undefined && open === 0) || shown?.retry !== undefined;
  drawRetry();
  const since = shown?.running === undefined || shown.running.startedAtMs === 0 ? "" : duration(Math.max(0, Date.now() - shown.running.startedAtMs));
  const isApproval = first?.body.kind === "question" && first.body.question.kind === "approval";
  const words = open > 0 ? `Waiting for your ${isApproval ? "approval" : "answer"}` : reviews ? "Waiting for your review" : step === undefined ? "Working" : step.step;
  const facts = JSON.stringify([words, open, reviews, first?.key, plan]);
  elapsed.textContent = since;
  // Buttons that are just being pressed must stay the same.
  if (facts === shownActivity) {
    return;
  }
  shownActivity = facts;
  activity.replaceChildren(
    el("span", { class: open > 0 || reviews ? "dot waits" : "dot", attrs: { "aria-hidden": "true" } }),
    el("span", { class: "grow" }, words),
    ...(plan === undefined ? [] : [el("span", { class: "dim" }, `${plan.filter((one) => one.status === "completed").length}/${plan.length}`)]),
    elapsed,
    ...(first === undefined ? [] : [button("Show", () => {
      list.toKey(first.key);
      requestAnimationFrame(() => { requestAnimationFrame(() => { document.querySelector<HTMLElement>(`[data-key="${CSS.escape(first.key)}"] button`)?.focus(); }); });
    }, { class: "small", label: "Show the question" })]),
  );
}

/** The model does not answer: what happened, since when, when it is asked again, and what can be done meanwhile. */
function drawRetry(): void {
  const waiting = view()?.retry;
  retryBox.hidden = waiting === undefined;
  if (waiting === undefined) {
    shownRetry = "";
    return;
  }
  const seconds = Math.ceil((waiting.nextMs - Date.now()) / 1000);
  const often = waiting.limit === undefined ? `try ${waiting.attempt}` : `try ${waiting.attempt} of ${waiting.limit}`;
  retryWhen.textContent = `${often} · since ${dateWords(new Date(waiting.sinceMs).toLocaleTimeString())} · ${seconds > 0 ? `next try in ${duration(seconds * 1000)}` : "trying…"}`;
  // Buttons that are just being pressed must stay the same.
  if (waiting.message === shownRetry) {
    return;
  }
  shownRetry = waiting.message;
  retryBox.replaceChildren(
    el("p", { role: "status" }, waiting.message),
    retryWhen,
    el("div", { class: "buttons" },
      button("Try now", () => { post({ type: "retryNow" }); }, { class: "primary" }),
      button("Stop", () => { post({ type: "command", token: null, name: "stop" }); }),
      button("Choose another model", () => { composer.chooseModel(); }, { title: "For the next turn: stop this one first" })),
  );
}

function drawQueue(): void {
  const waiting = view()?.queue;
  const joining = view()?.joining ?? [];
  shownQueue = waiting;
  shownJoining = view()?.joining;
  queue.hidden = waiting === undefined && joining.length === 0;
  const joined = joining.length === 0 ? [] : [
    el("div", { class: "title" }, "Sent: the agent reads this with its next step"),
    ...joining.map(({ id, input }) => el("div", { class: "queued joined", attrs: { "data-of": id } }, el("span", { class: "grow" }, cut(textOf(input), 200)))),
  ];
  if (waiting === undefined) {
    queue.replaceChildren(...joined);
    return;
  }
  const act = (action: "remove" | "up" | "down", queuedId: string) => (): void => { post({ type: "queue", action, queuedId, text: "" }); };
  queue.replaceChildren(
    ...joined,
    el("div", { class: "title" }, waiting.paused ? "Paused" : "Queued", ...(waiting.paused ? [button("Resume", () => { post({ type: "queue", action: "resume", queuedId: "", text: "" }); }, { class: "small" })] : [])),
    ...waiting.inputs.map((one, i) => {
      const text = textOf(one.input);
      const row = el("div", { class: "queued", attrs: { "data-of": one.id } }, el("span", { class: "grow" }, cut(text, 200)), iconButton("edit", "Edit", () => {
        const box = el("textarea", { label: "Message", attrs: { rows: String(Math.min(8, text.split("\n").length)) } });
        box.value = rewritten.get(one.id) ?? text;
        box.addEventListener("input", () => { rewritten.set(one.id, box.value); });
        box.addEventListener("keydown", (event) => {
          const isDone = event.key === "Enter" && !event.shiftKey && !event.isComposing;
          if (isDone) changeQueued(one.id, box.value);
          if (isDone || event.key === "Escape") {
            event.preventDefault();
            rewritten.delete(one.id);
            redraw(queue, drawQueue, composer.text);
          }
        });
        row.replaceChildren(box);
        box.focus();
      }), ...(i > 0 ? [iconButton("up", "Earlier", act("up", one.id))] : []), ...(i < waiting.inputs.length - 1 ? [iconButton("down", "Later", act("down", one.id))] : []), iconButton("close", "Remove", act("remove", one.id)));
      return row;
    }),
  );
}

/** Changes what waits; where that has gone out meanwhile, what was written stays with the person. */
function changeQueued(queuedId: string, text: string): void {
  if (view()?.queue?.inputs.some((one) => one.id === queuedId) === true) {
    post({ type: "queue", action: "edit", queuedId, text });
  } else {
    composer.insert(text);
    notice("info", "That message has gone to the agent already, so it was not changed. What you wrote is in the composer.");
  }
}

function askForContext(): void {
  post({ type: "command", token: null, name: "context" });
}

/** What fills the context window; as long as it is in view it goes along with the conversation. */
function showContext(of: ThreadContextResult): void {
  const card = contextCard(of);
  if (contextBox?.isConnected === true) contextBox.firstElementChild?.replaceWith(card);
  else contextBox = notice("info", card);
}

function drawMeters(): void {
  const shown = view();
  const used = percentUsed(shown?.usage);
  const cost = costWords(shown?.usage?.cost);
  const limit = (window: RateWindow | null | undefined): HTMLElement[] =>
    window ? [meter(windowShort(window.windowMinutes), window.usedPercent, `${windowName("Allowance", window.windowMinutes)}: ${Math.round(window.usedPercent)} % used${window.resetsAt ? `, resets ${dateWords(new Date(window.resetsAt * 1000).toLocaleString())}` : ""}`)] : [];
  const opening = (inside: HTMLElement): HTMLElement => el("button", { class: "context-meter", on: { click: askForContext } }, inside);
  meters.replaceChildren(
    ...(shown?.usage === undefined ? [] : [opening(used === undefined ? el("span", { class: "dim", title: "Show what fills the context window" }, `${tokens(shown.usage.total.totalTokens)} tokens`) : meter("Context", used, `${tokens(shown.usage.last.totalTokens)} of ${tokens(shown.usage.modelContextWindow ?? 0)} tokens of the model's context window; ${tokens(shown.usage.total.totalTokens)} used in all. Select to see what fills it`))]),
    ...(cost === undefined ? [] : [el("span", { class: "dim cost", title: cost.whole, label: cost.whole }, cost.short)]),
    ...limit(shown?.limits?.primary),
    ...limit(shown?.limits?.secondary),
    ...(shown === undefined ? [] : [el("span", { class: "dim grow end", title: shown.cwd }, shown.cwd.split(/[/\\]/).at(-1) ?? "")]),
  );
}

function meter(name: string, percent: number, words: string): HTMLElement {
  const bar = el("span", { class: percent > 85 ? "bar full" : "bar" });
  bar.style.width = `${Math.max(2, Math.min(100, percent))}%`;
  return el("span", { class: "meter", title: words, role: "meter", label: words, attrs: { "aria-valuenow": String(Math.round(percent)), "aria-valuemin": "0", "aria-valuemax": "100" } }, el("span", { class: "dim" }, `${name} ${Math.round(percent)} %`), el("span", { class: "track" }, bar));
}

/** Says aloud what somebody who does not see the page should know. */
function tell(event: ThreadEvent): void {
  switch (event.method) {
    case "countersign/turn/completed":
      live.textContent = visibleText(event.params.turn.status === "completed" ? `The agent says: ${cut(event.params.lastAgentMessage ?? "done", 600)}` : event.params.turn.status === "failed" ? `The turn failed. ${event.params.turn.error?.message ?? ""}` : "The turn was stopped.");
      break;
    case "countersign/approval/requested":
    case "countersign/userInput/requested":
    case "countersign/mcp/elicitationRequested":
      urgent.textContent = "The agent is waiting for your answer.";
      break;
    case "countersign/proposal/created":
      live.textContent = "The agent proposes changes to files.";
      break;
    default:
  }
}

/** What of a proposal fits no more was not shown as it would be made. */
function follow(event: ThreadEvent): void {
  const id = event.method === "countersign/proposal/moved" ? event.params.proposalId : event.method === "countersign/proposal/updated" ? event.params.proposal.id : undefined;
  const proposal = id === undefined ? undefined : view()?.proposals[id];
  if (proposal !== undefined) context.shown.follow(proposal);
}

/** Diff editors show these changes. */
function shownElsewhere(proposalId: string, hunkIds: readonly string[]): void {
  const proposal = view()?.proposals[proposalId];
  if (proposal !== undefined && context.shown.note(proposal, hunkIds)) context.gates.get(proposalId)?.look();
}

function take(events: readonly ThreadEvent[]): void {
  if (model === undefined) {
    return;
  }
  for (const event of events) {
    model.apply(event);
    follow(event);
    tell(event);
  }
  if (contextBox?.isConnected === true && events.some((event) => event.method === "countersign/thread/tokenUsage")) askForContext();
  list.changed(entries());
  head();
}

window.addEventListener("message", ({ data }: MessageEvent<ToPage>) => {
  switch (data.type) {
    case "hello":
      greet(data.folder, data.trouble, data.remedy);
      document.body.classList.toggle("offline", !data.running);
      tellTrouble(data.trouble, data.running);
      break;
    case "thread":
      show(data.view);
      break;
    case "unopened":
      if (threadId === null || threadId === data.threadId) {
        threadId = data.threadId;
        tellUnopened(data.isInUse, data.reason);
      }
      break;
    case "shown":
      shownElsewhere(data.proposalId, data.hunkIds);
      break;
    case "events":
      take(data.events);
      break;
    case "threads":
      threads.take(data.entries, data.more, data.append);
      break;
    case "found":
      composer.found(data.token, data.files, data.symbols);
      break;
    case "models":
    case "prompts":
    case "history":
      composer.takeLists(data);
      break;
    case "notice":
      notice(data.severity, data.text);
      break;
    case "context":
      if (data.threadId === threadId) showContext(data.context);
      break;
    case "setup":
      setup = { setup: data.setup, problem: data.problem };
      if (!isMissing(setup)) forgetKey();
      greet(...greeting);
      drawConnect(isConnecting && (setup.problem !== undefined || isMissing(setup)));
      break;
    case "attention":
      composer.setAttention(data.activeFile, data.lines);
      break;
    case "insert":
      composer.insert(data.text);
      break;
    case "putBack":
      composer.putBack(data.text, data.images, data.keepFocus);
      break;
    case "sent":
      composer.sent(data.token);
      list.toEnd();
      break;
    case "unsent":
      composer.unsent(data.token);
      break;
    case "opened":
      // Its answer may come late: who has gone elsewhere meanwhile keeps the focus there.
      if (!threads.root.hidden) {
        if (document.hasFocus()) closeThreads();
        else showChat();
      }
      break;
    case "chime":
      void chime().catch(() => undefined);
      break;
    case "focus":
      if (!threads.root.hidden) closeThreads();
      composer.focus();
  }
});

/** The ways to a model, where a conversation is in view that lacks one. */
function drawConnect(open: boolean): void {
  isConnecting = open;
  connectBox.hidden = !open;
  redraw(connectBox, () => { connectBox.replaceChildren(...(open ? [...firstRun(setup), iconButton("close", "Close", () => { drawConnect(false); })] : [])); }, composer.text);
}

/** What is known of the ways to a model. */
let setup: Setup = { setup: null, problem: undefined };
let greeting: [string, string | null, Remedy] = ["", null, "start"];

/** What stands where a conversation is empty. Buttons that are just being pressed must stay the same. */
function greet(folder: string, trouble: string | null, remedy: Remedy): void {
  greeting = [folder, trouble, remedy];
  const facts = JSON.stringify([greeting, setup]);
  if (facts !== shownWelcome) {
    shownWelcome = facts;
    redraw(empty, () => { empty.replaceChildren(...welcome(folder, trouble, remedy)); }, composer.text);
  }
}

function welcome(folder: string, trouble: string | null, remedy: Remedy): Node[] {
  if (trouble !== null) {
    const [text, action] = ({ install: ["How to Install", "install"], start: ["Start the server", "restart"], trust: ["Trust this folder…", "trust"], folder: ["Open a folder…", "folder"] } as const)[remedy];
    return [el("h2", {}, "Countersign is not running"), el("p", {}, trouble), el("div", { class: "buttons" }, button(text, () => { post({ type: "help", action }); }, { class: "primary" }), remedy === "install" ? button("Look Again", () => { post({ type: "help", action: "restart" }); }) : undefined, button("Show the log", () => { post({ type: "help", action: "log" }); }))];
  }
  if (isMissing(setup)) {
    return firstRun(setup);
  }
  const try_ = (text: string): HTMLElement => button(text, () => { composer.set(text); composer.focus(); }, { class: "suggestion" });
  return [
    el("h2", {}, "What do you want to build?"),
    el("p", { class: "dim" }, `${folder === "" ? "" : `The agent works in ${folder}. `}Its patches wait for you to accept them. What its commands change there is listed, and you can undo it.`),
    try_("Explain how this project is structured."),
    try_("Run the tests and fix what fails."),
    try_("/review"),
  ];
}

window.addEventListener("put-back", (event) => {
  if (!(event instanceof CustomEvent)) return;
  const input = event.detail as UserInput[];
  composer.putBack(textOf(input), imagesOf(input), false);
});
// A list or a dialog that closes gives the focus to some page, sooner or later: the person is where they press something.
let isHere = false;
window.addEventListener("blur", () => { isHere = false; });
for (const pressed of ["pointerdown", "keydown"]) {
  document.addEventListener(pressed, () => {
    if (!isHere) post({ type: "focused" });
    isHere = true;
  }, { capture: true });
}
window.addEventListener("connect-model", () => {
  drawConnect(true);
  connectBox.querySelector("input")?.focus();
});
window.addEventListener("remember", remember);
window.addEventListener("choose-model", () => { composer.chooseModel(); });
window.addEventListener("ask-again", (event) => { composer.again(event instanceof CustomEvent && typeof event.detail === "string" ? event.detail : undefined); });
document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() === "f" && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && !chat.hidden) {
    event.preventDefault();
    find.open();
    return;
  }
  // From anywhere that takes no text, writing goes to the composer.
  if (event.key === "/" && event.target === document.body) {
    event.preventDefault();
    composer.focus();
  }
});
setInterval(() => {
  if (view()?.running !== undefined) drawActivity();
}, 1000);

composer.set(draft);
head();
greet("", null, "start");
post({ type: "ready", threadId, name: threadTitle });
