/**
 * Draws the rows of a thread: what was said, thought, run, changed and asked.
 */
import { counts, hunkLines, unifiedLines } from "../src/chat/diff";
import { screen } from "../src/chat/terminal";
import { groupWords, isGroup } from "../src/chat/groups";
import type { Entry, Group } from "../src/chat/groups";
import { isUndone, messageOf } from "../src/chat/view";
import type { Row, ThreadView } from "../src/chat/view";
import type { FromPage } from "../src/chat/wire";
import { confinedWords, cut, dateWords, duration, imagesOf, judgedWords, shown, textOf, tokens } from "../src/chat/words";
import { below } from "../src/proposals/beyond";
import type { PathName } from "../src/proposals/beyond";
import { Gates } from "../src/proposals/gates";
import type { Shown } from "../src/proposals/shown";
import { hunkWords, isDecided, isOpen, isWaiting } from "../src/proposals/state";
import type { GuardianAction, ItemStatus, Proposal, ProposalFile, ThreadItem, TurnError, UserInput } from "../src/protocol";
import { commandChanges } from "./command_changes";
import { button, el, icon, iconButton } from "./dom";
import { countsOf, diffBox, factsOf, fileLink, fold } from "./files";
import { post } from "./host";
import type { Drawn } from "./list";
import { MarkdownView, markdown } from "./markdown";
import { questionBody, untilRead } from "./questions";

export interface RowContext {
  readonly view: () => ThreadView | undefined;
  /** What was unfolded or folded by hand, by key: rows in and out of view keep it. */
  readonly folds: Map<string, boolean>;
  /** The rows of what commands changed that the person keeps; they outlive the page. */
  readonly keeps: Set<string>;
  /** What of proposals was shown whole, as it would be made: here, or in a diff editor. */
  readonly shown: Shown;
  /** What waits for that, by the proposal. */
  readonly gates: Map<string, { look(): void }>;
  /** Has what was opened or closed shown as rows of the list. */
  regroup(): void;
}

export function drawEntry(entry: Entry, context: RowContext): Drawn {
  return isGroup(entry) ? drawGroup(entry, context) : drawRow(entry, context);
}

/** One line for several rows, which follow it once it is opened. */
function drawGroup(group: Group, context: RowContext): Drawn {
  const words = el("span", { class: "dim" });
  const box = el("details", { class: "tool group" }, el("summary", {}, words));
  const root = el("div", { class: "row row-group" }, box);
  let drawn = group;
  box.addEventListener("toggle", () => {
    // The event comes also where it was drawn so.
    if (box.open === drawn.open) return;
    context.folds.set(drawn.key, box.open);
    if (!box.open) drawn.rows.forEach(({ key }) => context.folds.delete(key));
    context.regroup();
  });
  const update = (now: Group): void => {
    drawn = now;
    words.textContent = groupWords(now);
    root.setAttribute("aria-label", groupWords(now));
    box.open = now.open;
  };
  update(group);
  return { root, update: (now) => { if (isGroup(now)) update(now); } };
}

function drawRow(row: Row, context: RowContext): Drawn {
  const { body } = row;
  if (body.kind === "item" && body.item.type === "agentMessage") {
    return agentMessage(row);
  }
  if (body.kind === "item" && body.item.type === "commandExecution") {
    return command(row, context);
  }
  const root = el("div", {});
  let wasSettled: string | undefined | null = null;
  const update = (now: Row): void => {
    // What is being typed into a question must not be drawn over.
    if (now.body.kind === "question") {
      if (wasSettled === now.body.settled) return;
      wasSettled = now.body.settled;
    }
    root.className = `row row-${kindOf(now)}`;
    root.setAttribute("aria-label", labelOf(now));
    root.replaceChildren(...contents(now, context));
  };
  update(row);
  return { root, update };
}

function kindOf(row: Row): string {
  return row.body.kind === "item" ? row.body.item.type : row.body.kind;
}

/** What a newer server adds has no name here yet. */
const LABELS: Readonly<Partial<Record<string, string>>> = {
  userMessage: "You",
  agentMessage: "Agent",
  reasoning: "Reasoning",
  plan: "Plan",
  commandExecution: "Command",
  fileChange: "Changes to files",
  commandChanges: "Changed by a command",
  mcpToolCall: "Tool call",
  toolCall: "Tool call",
  collabAgentToolCall: "Agents",
  agentMail: "Message from an agent",
  enteredReviewMode: "Review begins",
  exitedReviewMode: "Review",
  undo: "Undo",
  contextCompaction: "Compacted conversation",
};

/** What an undo came to for one file. */
const undoWords: Readonly<Partial<Record<string, string>>> = { restored: "restored", removed: "removed", merged: "undone, and later changes kept", kept: "as it was", conflict: "left as it is", skipped: "not restored" };

function labelOf(row: Row): string {
  const what = row.body.kind === "item" ? (LABELS[row.body.item.type] ?? row.body.item.type) : { question: "Question", error: "Error", note: "Note", unanswered: "Not sent" }[row.body.kind];
  return row.startedAtMs === undefined ? what : `${what}, ${dateWords(new Date(row.startedAtMs).toLocaleTimeString())}`;
}

function time(row: Row): HTMLElement | undefined {
  const at = row.startedAtMs ?? row.completedAtMs;
  if (at === undefined || at === 0) return undefined;
  const date = new Date(at);
  return el("time", { title: dateWords(date.toLocaleString()), attrs: { datetime: date.toISOString() } }, dateWords(date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })));
}

function agentMessage(row: Row): Drawn {
  const view = new MarkdownView();
  const root = el("div", { class: "row row-agentMessage" });
  const foot = el("div", { class: "row-foot" });
  root.append(view.root, foot);
  const update = (now: Row): void => {
    if (now.body.kind !== "item" || now.body.item.type !== "agentMessage") return;
    const { item, live } = now.body;
    root.setAttribute("aria-label", labelOf(now));
    root.setAttribute("aria-busy", String(live));
    root.classList.toggle("live", live);
    view.update(item.text);
    const copy = live || item.text === "" ? "" : el("span", { class: "message-actions" }, iconButton("copy", "Copy the answer", () => { post({ type: "code", action: "copy", text: item.text, language: "markdown" }); }));
    foot.replaceChildren(...[item.partial === true ? el("span", { class: "dim" }, "interrupted") : "", time(now) ?? "", copy].filter((one) => one !== ""));
  };
  update(row);
  return { root, update };
}

function status(of: ItemStatus, ok: string): HTMLElement {
  const words: Record<ItemStatus, string> = { inProgress: "running", completed: ok, failed: "failed", declined: "denied", interrupted: "stopped", background: "runs on" };
  return el("span", { class: `status status-${of}` }, words[of]);
}

function command(row: Row, context: RowContext): Drawn {
  const root = el("div", { class: "row row-commandExecution" });
  const head = el("div", { class: "command-head" });
  const line = el("code", { class: "command-line" });
  const facts = el("div", { class: "facts" });
  const output = el("pre", { class: "terminal", label: "Output", attrs: { tabindex: "0" } });
  const buttons = el("div", { class: "buttons" });
  const box = el("details", { class: "command" }, el("summary", {}, head), output, buttons);
  root.append(box);
  let written: string | undefined;
  let made = false;
  box.addEventListener("toggle", () => {
    // That it was opened or closed here is told as well, and is not the person's doing.
    if (box.open !== made || context.folds.has(row.key)) context.folds.set(row.key, box.open);
  });
  const update = (now: Row): void => {
    if (now.body.kind !== "item" || now.body.item.type !== "commandExecution") return;
    const { item, live } = now.body;
    root.setAttribute("aria-label", shown(`${labelOf(now)}: ${cut(item.command, 200)}`));
    root.setAttribute("aria-busy", String(live));
    line.textContent = shown(item.command);
    const action = item.actions[0];
    const words = item.source === "user" ? "Your command" : action === undefined || action.type === "unknown" ? undefined : action.type === "read" ? `reads ${action.name}` : action.type === "listFiles" ? `lists ${action.path ?? "files"}` : action.type === "search" ? `searches${action.query ? ` for ${action.query}` : ""}` : action.words;
    const ended = item.exitCode === null || item.exitCode === undefined ? undefined : item.exitCode === 0 ? el("span", { class: "status status-completed", label: "exit 0", title: "exit 0" }, "✓") : el("span", { class: "status status-failed" }, `exit ${item.exitCode}`);
    const waits = item.status === "inProgress" && now.body.output === undefined && isAskedAbout(item.id, context);
    const state = ended ?? (waits ? el("span", { class: "status status-waits" }, "waiting for approval") : status(item.status, "✓"));
    const { decided } = now.body;
    const fact = (text: string | undefined, className: string): HTMLElement | undefined => (text === undefined ? undefined : el("span", { class: className }, text));
    // What is more than whether it went well is seen once it is opened.
    facts.replaceChildren(
      ...[
        fact(item.source === "user" ? "your shell" : item.confined === "outside" ? confinedWords.outside : undefined, item.source === "user" ? "fact" : "fact outside"),
        fact(item.source === "user" || item.confined === "outside" ? undefined : confinedWords[item.confined], "fact more"),
        fact(words, "fact more"),
        fact(decided === undefined || item.status === "declined" ? undefined : decided.toLowerCase(), "fact more"),
        fact(item.durationMs ? duration(item.durationMs) : undefined, "fact"),
        time(now),
      ].filter((one) => one !== undefined),
    );
    root.classList.toggle("went-wrong", item.status === "failed" || item.status === "declined");
    head.replaceChildren(state, el("span", { class: "prompt", attrs: { "aria-hidden": "true" } }, "$"), line, facts);
    const begins = now.body.isCut === true ? "[… the beginning is not shown while the command runs …]\n" : "";
    const text = item.aggregatedOutput ?? begins + (now.body.output ?? "");
    if (text !== written) {
      written = text;
      const atEnd = output.scrollHeight - output.scrollTop - output.clientHeight < 30;
      output.replaceChildren(...screen(text).map((span) => (span.classes.length === 0 ? document.createTextNode(shown(span.text)) : el("span", { class: span.classes.map((one) => `ansi-${one}`).join(" ") }, span.text))));
      if (atEnd) output.scrollTop = output.scrollHeight;
    }
    output.hidden = text === "";
    const terminal = item.terminalId;
    const runsOn = terminal !== undefined && terminal !== null && item.status === "background";
    buttons.replaceChildren(
      ...[
        item.reason ? el("span", { class: "dim" }, item.reason) : undefined,
        item.fullOutput ? button("Open Full Output", () => { post({ type: "openOutput", itemId: item.id }); }) : undefined,
        runsOn ? button("Stop", () => { post({ type: "killTerminal", terminalId: terminal }); }) : undefined,
        item.source === "user" && !live ? button("Send Output to Agent", () => { post({ type: "sendOutput", itemId: item.id }); }) : undefined,
      ].filter((one) => one !== undefined),
    );
    made = context.folds.get(row.key) ?? (live || runsOn || item.source === "user" || item.status === "failed");
    box.open = made;
  };
  update(row);
  return { root, update };
}

function hasCommandRow(itemId: string, context: RowContext): boolean {
  return context.view()?.rows.some(({ key, body }) => key === itemId && body.kind === "item" && body.item.type === "commandExecution" && body.decided !== undefined) ?? false;
}

/** Whether the person is asked about an item at this moment. */
function isAskedAbout(itemId: string, context: RowContext): boolean {
  const rows = context.view()?.rows ?? [];
  return rows.some(({ body }) => body.kind === "question" && body.settled === undefined && body.question.kind === "approval" && body.question.approval.itemId === itemId);
}

function contents(row: Row, context: RowContext): (Node | string)[] {
  const { body } = row;
  switch (body.kind) {
    case "question":
      // What was asked about has a row of its own, which says what was decided.
      return body.settled !== undefined && body.question.kind === "approval" && hasCommandRow(body.question.approval.itemId, context) ? [] : questionBody(body.question, body.settled);
    case "error":
      return errorBody(row, body.error, context);
    case "note": {
      return [el("p", { class: `note note-${body.severity}`, role: "note" }, body.text), ...(body.isLost === true ? lost(row, context) : []), ...(body.denied === undefined ? [] : overrule(body.denied, row.key.slice("guardian:".length)))];
    }
    case "unanswered":
      return [el("p", { class: "note note-warning" }, "The agent did not read this: the turn was stopped first."), el("div", { class: "user-text" }, textOf(body.input)), el("div", { class: "buttons" }, sendAgain(body.input), button("Restore to Input", () => { window.dispatchEvent(new CustomEvent("put-back", { detail: body.input })); }))];
    case "item":
      return itemBody(row, body, context);
  }
}

/** Sends a message once more, as a new one. */
function sendAgain(input: readonly UserInput[]): HTMLButtonElement {
  const again = button("Send Again", () => {
    // Pressed twice, it is sent once.
    again.disabled = true;
    post({ type: "send", token: null, text: textOf(input), images: imagesOf(input), queue: false, choices: {}, leaveOut: [] });
  }, { class: "primary" });
  return again;
}

/** The ways on from a turn whose server ended: its message in the place of the first where nothing was done, else the agent continues, or it is sent once more. */
function lost({ turnId }: Row, context: RowContext): HTMLElement[] {
  const view = context.view();
  const { input, hasBegun } = view === undefined || turnId === undefined ? { input: [], hasBegun: true } : messageOf(view, turnId);
  const ask = (detail: string | undefined) => (): void => { window.dispatchEvent(new CustomEvent("ask-again", { detail })); };
  const buttons = hasBegun ? [button("Continue", ask(undefined), { class: "primary" }), ...(input.length > 0 ? [sendAgain(input)] : [])] : [button("Send Again", ask(turnId), { class: "primary" })];
  if (hasBegun) buttons[1]?.classList.remove("primary");
  return [el("div", { class: "buttons" }, ...buttons)];
}

/** What was denied, all of it, and the button that allows it. */
function overrule(denied: GuardianAction, assessmentId: string): HTMLElement[] {
  const all = el("pre", { class: "terminal", label: "What was denied", attrs: { tabindex: "0" } }, judgedWords(denied));
  const allow = button("Allow Once", () => { post({ type: "overrule", assessmentId }); });
  return [all, untilRead(assessmentId, all, [allow]), allow];
}

/** What may help: first what the server says, then what is to be looked at on this machine. */
function errorBody(row: Row, error: TurnError, context: RowContext): Node[] {
  const help = (text: string, action: Extract<FromPage, { type: "help" }>["action"]): HTMLElement => button(text, () => { post({ type: "help", action }); });
  const offered = (error.actions ?? []).flatMap((action): HTMLElement[] => {
    switch (action.type) {
      case "compact":
        return [button("Compact Conversation", () => { post({ type: "command", token: null, name: "compact" }); })];
      case "changeModel":
        return [button("Choose another model", () => { window.dispatchEvent(new CustomEvent("choose-model")); })];
      case "logIn":
        return [help("Sign in", "logIn")];
      default:
        // The time to wait for is said, not pressed.
        return [];
    }
  });
  const wait = error.actions?.find((action) => action.type === "waitUntil");
  const connect = (): HTMLElement => button("Connect a model…", () => { window.dispatchEvent(new CustomEvent("connect-model")); });
  const look: Partial<Record<TurnError["kind"], HTMLElement[]>> = {
    missingKey: [connect()],
    unauthorized: [connect(), help("Run Diagnostics", "doctor")],
    modelNotFound: [help("Open settings", "settings")],
    connectionFailed: [help("Run Diagnostics", "doctor")],
    sandboxError: [help("Run Diagnostics", "doctor")],
  };
  // Where the agent has done something already it goes on from there; else the same message is sent again, in the place of the first.
  const { turnId } = row;
  const all = context.view();
  const hasBegun = all !== undefined && turnId !== undefined && messageOf(all, turnId).hasBegun;
  // A server that did not start, or an undo, is nothing that the model could go on with.
  const again = turnId === undefined || error.kind === "undoFailed" ? undefined : button(hasBegun ? "Continue" : "Try again", () => { window.dispatchEvent(new CustomEvent("ask-again", { detail: hasBegun ? undefined : turnId })); });
  // The most helpful one stands out.
  (offered[0] ?? again)?.classList.add("primary");
  return [
    el("div", { class: "error", role: "alert" },
      el("p", {}, error.message),
      wait === undefined ? undefined : el("p", { class: "dim" }, `Retry after ${dateWords(new Date(wait.at).toLocaleString([], { dateStyle: "medium", timeStyle: "short" }))}.`),
      el("div", { class: "buttons" }, ...offered, again, ...(look[error.kind] ?? []), help("Show the log", "log"))),
  ];
}

function itemBody(row: Row, body: Extract<Row["body"], { kind: "item" }>, context: RowContext): (Node | string)[] {
  const { item } = body;
  const foot = [time(row)].filter((one) => one !== undefined);
  switch (item.type) {
    case "userMessage": {
      const images = imagesOf(item.content).map((url) => el("img", { attrs: { src: url, alt: "A picture that you sent" } }));
      const sent = (item.context ?? []).map((one) => el("span", { class: "chip", title: [one.path, one.note].filter(Boolean).join(" · ") }, one.label));
      return [el("div", { class: "user-text" }, textOf(item.content)), ...images, ...(sent.length > 0 ? [el("div", { class: "chips", label: "Sent along" }, ...sent)] : []), el("div", { class: "row-foot" }, ...messageActions(row, textOf(item.content)), ...foot)];
    }
    case "reasoning": {
      const parts = item.summary.length > 0 ? item.summary : item.content;
      const title = /\*\*(.+?)\*\*/.exec(parts.at(-1) ?? "")?.[1];
      if (parts.every((part) => part.trim() === "")) return body.live ? [el("p", { class: "dim thinking" }, "Thinking…")] : [];
      return [fold(row.key, [body.live ? "Thinking" : "Thought", title === undefined ? undefined : el("span", { class: "dim" }, ` · ${title}`)], () => parts.map((part) => markdown(part)), false, context, "reasoning")];
    }
    case "plan":
      return [
        el("div", { class: "plan" },
          el("div", { class: "title" }, "Plan", el("span", { class: "dim" }, ` ${item.steps.filter((step) => step.status === "completed").length} of ${item.steps.length}`)),
          item.explanation ? el("p", { class: "dim" }, item.explanation) : undefined,
          el("ol", {}, ...item.steps.map((step) => el("li", { class: `step step-${step.status}`, label: `${{ pending: "To do", inProgress: "In progress", completed: "Done" }[step.status]}: ${step.step}` }, el("span", { class: "tick", attrs: { "aria-hidden": "true" } }, ...(step.status === "completed" ? [icon("check")] : [])), step.step)))),
      ];
    case "fileChange":
      return fileChange(row, item, context);
    case "commandChanges":
      return commandChanges(row, item, context);
    case "mcpToolCall":
      return [tool(row, item.title.startsWith(item.server) ? item.title : `${item.server}: ${item.title || item.tool}`, item.status, item.arguments, item.error ?? (item.result ? JSON.stringify(item.result, undefined, 2) : undefined), item.durationMs, body.progress, context)];
    case "toolCall":
      return [tool(row, item.title || item.tool, item.status, item.arguments, item.output ?? undefined, item.durationMs, undefined, context)];
    case "collabAgentToolCall": {
      const agents = item.receiverThreadIds.map((id) => {
        const state = context.view()?.agents[id] ?? item.agentsStates[id];
        return el("li", {}, button(state?.name ?? "agent", () => { post({ type: "open", threadId: id }); }, { class: "link" }), el("span", { class: "dim" }, ` ${state?.status ?? ""}${state?.message ? `: ${cut(state.message, 160)}` : ""}`));
      });
      const title = { spawnAgent: "Starts an agent", sendMessage: "Writes to an agent", wait: "Waits for agents", listAgents: "Looks at its agents", closeAgent: "Closes an agent" }[item.tool];
      return [el("div", { class: "tool agents" }, el("div", { class: "title" }, title, status(item.status, "")), item.prompt ? el("p", { class: "dim" }, cut(item.prompt, 300)) : undefined, el("ul", {}, ...agents))];
    }
    case "agentMail":
      return [el("div", { class: "tool" }, el("div", { class: "title" }, `From ${item.author}`), markdown(item.text))];
    case "enteredReviewMode":
      return [el("p", { class: "note note-info" }, `Reviewing ${item.review}.`)];
    case "exitedReviewMode": {
      const findings = item.output?.findings ?? [];
      return [
        el("div", { class: "tool" },
          el("div", { class: "title" }, findings.length === 0 ? "The review found no problems." : findings.length === 1 ? "The review has 1 finding." : `The review has ${findings.length} findings.`),
          // What they mean the note below says; without findings that can be shown there is only the text.
          item.output ? undefined : markdown(item.review),
          el("ul", { class: "findings" }, ...findings.map((finding) => {
            const at = finding.codeLocation;
            return el("li", {}, at ? button(finding.title, () => { post({ type: "file", path: at.absoluteFilePath, line: at.lineRange.start }); }, { class: "link" }) : finding.title, el("span", { class: "dim" }, ` P${finding.priority}`));
          }))),
      ];
    }
    case "undo":
      return [undo(row, item, context)];
    case "contextCompaction": {
      const saved = item.tokensBefore && item.tokensAfter ? ` ${tokens(item.tokensBefore)} → ${tokens(item.tokensAfter)} tokens` : "";
      return [fold(row.key, [item.status === "inProgress" ? "Compacting conversation…" : `Compacted conversation${saved}`], () => [markdown(item.summary ?? item.message ?? "")], false, context, "reasoning")];
    }
    case "agentMessage":
    case "commandExecution":
      return [];
    default:
      // A newer server may tell of more than this page knows.
      return [el("p", { class: "note" }, (item as { type: string }).type)];
  }
}

/** What can be done with a message of the person's. */
function messageActions(row: Row, text: string): HTMLElement[] {
  const { turnId } = row;
  const copy = iconButton("copy", "Copy the message", () => { post({ type: "code", action: "copy", text, language: "" }); });
  const back = turnId === undefined ? undefined : iconButton("back", "Restore to before this message…", () => { post({ type: "goBack", turnId }); });
  return [el("span", { class: "message-actions" }, copy, back)];
}

/** Folded where all went well: how many files, and behind that which, and where what was there is kept. */
function undo(row: Row, item: Extract<ThreadItem, { type: "undo" }>, context: RowContext): HTMLElement {
  const folder = context.view()?.cwd ?? "";
  const isDone = item.status === "completed" && item.files.every(isUndone);
  const names = item.files.slice(0, 2).map((file) => file.path.split(/[/\\]/).at(-1) ?? file.path);
  const which = names.join(", ") + (item.files.length > 2 ? ` and ${item.files.length - 2} more` : "");
  const files = item.files.map((file) => el("li", {}, fileLink(file.path, folder), el("span", { class: "dim" }, ` ${undoWords[file.result] ?? file.result}${file.message ? `: ${file.message}` : ""}`)));
  const body = (): Node[] => [...(item.message ? [el("p", {}, item.message)] : []), el("ul", { class: "files" }, ...files)];
  return fold(row.key, [el("span", { class: "title" }, "Undo"), status(item.status, "done"), which === "" ? undefined : el("span", { class: "dim" }, which)], body, !isDone, context, "tool");
}

function tool(row: Row, title: string, state: ItemStatus, given: unknown, result: string | undefined, ms: number | null | undefined, progress: string | undefined, context: RowContext): HTMLElement {
  return fold(row.key, [el("span", { class: "title" }, title), status(state, ""), el("span", { class: "dim" }, [progress, ms ? duration(ms) : undefined].filter(Boolean).join(" · "))], () => [el("pre", { class: "terminal", label: "Arguments" }, JSON.stringify(given, undefined, 2)), ...(result === undefined ? [] : [el("pre", { class: "terminal", label: "Result" }, cut(result, 20_000))])], false, context, "tool");
}

function fileChange(row: Row, item: Extract<ThreadItem, { type: "fileChange" }>, context: RowContext): Node[] {
  const folder = context.view()?.cwd ?? "";
  const proposal = item.proposalId ? context.view()?.proposals[item.proposalId] : undefined;
  const waits = proposal !== undefined && isWaiting(proposal);
  const head = el("div", { class: "title" }, waits ? "Proposes changes" : proposal === undefined && item.status === "failed" ? "Changes not proposed" : "Changes", proposal === undefined ? item.applied ? el("span", { class: "status" }, "applied in part") : status(item.status, "done") : el("span", { class: `status status-${proposal.status}` }, proposalWords(proposal)));
  const gates = proposal === undefined ? undefined : new Gates(context.shown, proposal);
  if (proposal !== undefined && gates !== undefined && waits) context.gates.set(proposal.id, gates);
  else if (proposal !== undefined) context.gates.delete(proposal.id);
  const hint = el("p", { class: "dim", role: "status" }, "Unfold all of it, or look through its diffs, to accept it.");
  const buttons = waits && gates !== undefined
    ? el("div", { class: "buttons" },
        gates.hold(button("Accept all", () => { post({ type: "accept", proposalId: proposal.id, ...gates.whole() }); }, { class: "primary", icon: "check" }), proposal.files.flatMap((file) => file.hunks), hint),
        button("Reject all", () => { post({ type: "decide", proposalId: proposal.id, decision: "reject", hunkIds: null }); }, { icon: "close" }),
        proposal.files.length > 1 ? button("Review all files", () => { post({ type: "showProposal", proposalId: proposal.id, path: null }); }) : undefined,
        button("Reject with comment…", () => { post({ type: "rejectWithWords", proposalId: proposal.id, hunkIds: null }); }))
    : undefined;
  // Of what went well the model is told in words of its own.
  const outcome = ["failed", "declined"].includes(item.status) || proposal?.status === "failed" ? (proposal?.outcome ?? item.outcome ?? undefined) : undefined;
  // What was made, and what of it was not.
  const made = item.applied ?? item.changes;
  const left = item.applied ? item.changes.filter((change) => !made.some((one) => one.path === change.path)) : [];
  const rejected = left.map((change) => el("div", { class: "rejected" }, fileLink(change.path, folder), el("span", { class: "dim" }, " rejected")));
  const nameOfPath: PathName = (path) => below(folder, path);
  const files = proposal === undefined || gates === undefined ? [...made.map((change) => fold(`${row.key}|${change.path}`, [fileLink(change.path, folder), factsOf({ kind: change.kind }, nameOfPath), change.diff === "" ? undefined : countsOf(counts(unifiedLines(change.diff)))], () => [diffBox(unifiedLines(change.diff))], false, context, "file")), ...rejected] : proposal.files.map((file) => proposalFile(row.key, proposal, file, waits, context, gates, nameOfPath));
  return [el("div", { class: waits ? "proposal waits" : "proposal" }, head, proposal?.reason ? el("p", { class: "dim" }, proposal.reason) : undefined, ...files, waits ? hint : undefined, buttons, outcome === undefined ? undefined : el("p", { class: "note note-warning" }, outcome))];
}

function proposalWords(proposal: Proposal): string {
  const hunks = proposal.files.flatMap((file) => file.hunks);
  const made = hunks.filter((hunk) => hunk.status === "applied").length;
  if (made > 0 && made < hunks.length && proposal.status !== "undone") return `applied ${made} of ${hunks.length}${isWaiting(proposal) ? ", the rest is pending review" : ""}`;
  return { proposed: "pending review", partlyDecided: "partly reviewed", conflicting: "in conflict with what was typed", stale: "its files have changed", accepted: "accepted", applied: "applied", rejected: "rejected", failed: "failed", superseded: "replaced by a later one", withdrawn: "withdrawn", undone: "undone" }[proposal.status];
}

function proposalFile(key: string, proposal: Proposal, file: ProposalFile, waits: boolean, context: RowContext, gates: Gates, nameOfPath: PathName): HTMLElement {
  const folder = context.view()?.cwd ?? "";
  // Once it is settled, only what was made counts.
  const settled = ["applied", "rejected", "undone"].includes(proposal.status);
  const counted = file.hunks.filter((hunk) => !settled || hunk.status === "applied");
  const all = counted.flatMap((hunk) => hunkLines(hunk.oldText, hunk.newText));
  const fate = counted.length > 0 ? factsOf(file, nameOfPath) : el("span", { class: "dim" }, file.hunks.every((hunk) => hunk.status === "rejected") ? "rejected" : "not applied");
  const decide = (decision: "reject" | "reset", ...hunkIds: string[]) => (): void => { post({ type: "decide", proposalId: proposal.id, decision, hunkIds }); };
  const open = waits && proposal.files.length > 1 ? file.hunks.filter(isOpen) : [];
  const fits = open.filter(({ status }) => status === "pending");
  const whole = [
    fits.length === 0 ? undefined : gates.hold(button("Accept File", () => { post({ type: "accept", proposalId: proposal.id, hunkIds: gates.open(fits), leaveOut: [] }); }, { class: "small", label: `Accept ${file.path}` }), fits),
    open.length === 0 ? undefined : button("Reject File", decide("reject", ...open.map(({ id }) => id)), { class: "small", label: `Reject ${file.path}` }),
  ];
  return fold(
    `${key}|${file.path}`,
    [fileLink(file.path, folder, file.hunks[0]?.range.start ?? null), fate, counted.length > 0 ? countsOf(counts(all)) : undefined, waits ? button("Open diff", () => { post({ type: "showProposal", proposalId: proposal.id, path: file.path }); }, { class: "small" }) : undefined, ...whole],
    () => file.hunks.map((hunk, i) =>
      el("div", { class: `hunk hunk-${hunk.status}`, attrs: { "data-of": hunk.id } },
        el("div", { class: "hunk-head" },
          el("span", { class: "dim" }, `line ${hunk.range.start + 1}${hunkWords(proposal, hunk) === "" ? "" : ` · ${hunkWords(proposal, hunk)}`}`),
          waits && hunk.status === "pending" ? gates.hold(button("Accept", () => { post({ type: "accept", proposalId: proposal.id, hunkIds: gates.open([hunk]), leaveOut: [] }); }, { class: "small", label: `Accept change ${i + 1} of ${file.path}` }), [hunk]) : undefined,
          waits && (hunk.status === "pending" || hunk.status === "conflicting") ? button("Reject", decide("reject", hunk.id), { class: "small", label: `Reject change ${i + 1} of ${file.path}` }) : undefined,
          waits && isDecided(hunk) ? button("Reset decision", decide("reset", hunk.id), { class: "small", label: `Reset the decision on change ${i + 1} of ${file.path}` }) : undefined),
        hunk.conflict ? el("p", { class: "note note-warning" }, hunk.conflict) : undefined,
        diffBox(hunkLines(hunk.oldText, hunk.newText), () => { gates.isDrawn(hunk); }))),
    waits,
    context,
    "file",
  );
}
