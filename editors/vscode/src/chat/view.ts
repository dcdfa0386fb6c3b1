/**
 * What a chat shows of a thread, and how each event changes it. No editor and no page here: the extension and the page both run
 * this, and plain node tests it.
 */
import type {
  AgentState,
  Approval,
  GuardianAction,
  McpElicitation,
  PlanStep,
  Proposal,
  RateLimits,
  Thread,
  ThreadItem,
  ThreadSettings,
  ThreadStatus,
  ThreadTokenUsage,
  Turn,
  TurnError,
  TurnQueue,
  UndoFile,
  UserInput,
  UserInputRequest,
} from "../protocol";
import { move } from "../proposals/state";
import type { ThreadEvent } from "../rpc";

/** Output of one command that is kept for show; the rollout has all of it. */
export const MOST_OUTPUT = 200_000;
/** Said below a turn that its server did not bring to an end. */
const ENDED = "The server ended before this turn did.";

/** A question to the person, of any kind. */
export type Question =
  | { readonly kind: "approval"; readonly approval: Approval }
  | { readonly kind: "userInput"; readonly request: UserInputRequest }
  | { readonly kind: "elicitation"; readonly elicitation: McpElicitation };

export type RowBody =
  /** `isCut`: the beginning of the output that came so far is not kept here. */
  | {
      readonly kind: "item";
      item: ThreadItem;
      output?: string;
      isCut?: boolean;
      progress?: string;
      live: boolean;
      /** What the person has decided on it. */
      decided?: string;
    }
  /** `settled`: how it ended, in words; absent while it waits. */
  | { readonly kind: "question"; readonly question: Question; settled?: string }
  | { readonly kind: "error"; readonly error: TurnError }
  /** `denied`: what the automatic reviewer denied, which the person can allow. `isLost`: the turn's message can be sent again. */
  | { readonly kind: "note"; readonly severity: "info" | "warning"; readonly text: string; readonly denied?: GuardianAction; readonly isLost?: boolean }
  /** Words of the person's that no model has read. */
  | { readonly kind: "unanswered"; readonly input: UserInput[] };

export interface Row {
  /** Stays the same as long as the row is there. */
  readonly key: string;
  readonly turnId: string | undefined;
  readonly body: RowBody;
  /** Milliseconds since 1970. */
  startedAtMs: number | undefined;
  completedAtMs: number | undefined;
  /** Counts up with each change. */
  rev: number;
}

/** The model did not answer, and is asked again. */
export interface Waiting {
  /** What happened, in words. */
  readonly message: string;
  /** How often it has been tried; counted from 1. */
  readonly attempt: number;
  /** How often at most; absent: without end. */
  readonly limit: number | undefined;
  /** When it failed for the first time, and when it is asked again: milliseconds since 1970. */
  readonly sinceMs: number;
  readonly nextMs: number;
}

/** A message that joined a running turn; `id` is the `clientId` of its item. */
export interface Joining {
  readonly id: string;
  readonly input: readonly UserInput[];
}

export interface ThreadView {
  readonly id: string;
  name: string | undefined;
  preview: string;
  readonly cwd: string;
  status: ThreadStatus;
  /** Name of the agent whose thread this is; absent for the person's own. */
  readonly agent: string | undefined;
  readonly parent: string | undefined;
  archived: boolean;
  settings: ThreadSettings | undefined;
  rows: Row[];
  running: { turnId: string; startedAtMs: number } | undefined;
  /** The turn that began last. */
  lastTurn: string | undefined;
  usage: ThreadTokenUsage | undefined;
  limits: RateLimits | undefined;
  queue: TurnQueue | undefined;
  /** Messages that joined the running turn, and that the agent has not read yet. */
  joining: readonly Joining[];
  plan: PlanStep[] | undefined;
  /** What is waited for before the model is asked again. */
  retry: Waiting | undefined;
  agents: Record<string, AgentState>;
  proposals: Record<string, Proposal>;
  /** Item ids by the number of the terminal that their commands run on in. */
  terminals: Partial<Record<string, string>>;
}

/** What an event changed: rows by their keys, and whether rows came or went. */
export interface Change {
  readonly rows: readonly string[];
  readonly structure: boolean;
}

const NOTHING: Change = { rows: [], structure: false };

const both = (one: Change, other: Change): Change => ({ rows: [...one.rows, ...other.rows], structure: one.structure || other.structure });

export function viewOf(thread: Thread, settings?: ThreadSettings): ThreadView {
  const view: ThreadView = {
    id: thread.id,
    name: thread.name ?? undefined,
    preview: thread.preview,
    cwd: thread.cwd,
    status: thread.status,
    agent: thread.agent?.name,
    parent: thread.agent?.parentThreadId,
    archived: thread.archived,
    settings,
    rows: [],
    running: undefined,
    lastTurn: thread.turns.at(-1)?.id,
    usage: undefined,
    limits: undefined,
    queue: undefined,
    joining: [],
    plan: undefined,
    retry: undefined,
    agents: {},
    proposals: {},
    terminals: {},
  };
  for (const turn of thread.turns) {
    addTurn(view, turn);
  }
  return view;
}

function addTurn(view: ThreadView, turn: Turn): void {
  for (const item of turn.items) {
    const row = newRow(item.id, turn.id, { kind: "item", item, live: false });
    row.startedAtMs = turn.startedAtMs ?? undefined;
    row.completedAtMs = turn.completedAtMs ?? undefined;
    view.rows.push(row);
  }
  if (turn.status === "inProgress") {
    view.running = { turnId: turn.id, startedAtMs: turn.startedAtMs ?? 0 };
  }
  const end = endOf(turn);
  if (end !== undefined) {
    view.rows.push(end);
  }
}

/** The same where the last turn goes on elsewhere: nobody has ended it. */
export function withoutEnd(view: ThreadView): ThreadView {
  const body = view.rows.at(-1)?.body;
  return body?.kind === "note" && body.isLost === true ? { ...view, rows: view.rows.slice(0, -1) } : view;
}

/** What is said below a turn that did not end well. */
function endOf(turn: Turn): Row | undefined {
  if (turn.error !== undefined && turn.error !== null) {
    return newRow(`error:${turn.id}`, turn.id, { kind: "error", error: turn.error });
  }
  if (turn.status !== "interrupted") {
    return undefined;
  }
  const by = { person: "You stopped this turn.", reviewer: "The reviewer stopped this turn.", replaced: "This turn gave way to another.", shutdown: ENDED, crash: ENDED };
  const text = turn.interruptedBy ? by[turn.interruptedBy] : "This turn was stopped.";
  return newRow(`end:${turn.id}`, turn.id, { kind: "note", severity: "info", text, ...(text === ENDED ? { isLost: true } : {}) });
}

function newRow(key: string, turnId: string | null | undefined, body: RowBody): Row {
  return { key, turnId: turnId ?? undefined, body, startedAtMs: undefined, completedAtMs: undefined, rev: 0 };
}

/** The person's message of a turn, and whether the agent has done anything about it. */
export function messageOf(view: ThreadView, turnId: string): { readonly input: readonly UserInput[]; readonly hasBegun: boolean } {
  const items = view.rows.flatMap(({ turnId: of, body }) => (of === turnId && body.kind === "item" ? [body.item] : []));
  return { input: items.flatMap((item) => (item.type === "userMessage" ? item.content : [])), hasBegun: items.some((item) => item.type !== "userMessage") };
}

/** Whether a file of an undo is as before. */
export function isUndone({ result }: UndoFile): boolean {
  return result === "restored" || result === "removed" || result === "merged";
}

/** The turns that are undone by now; an undo that is undone brings them back. */
export function undoneTurns(view: ThreadView): Set<string> {
  const undone = new Set<string>();
  const byTurn = new Map<string, readonly string[]>();
  for (const { body, turnId } of view.rows) {
    if (body.kind !== "item" || body.item.type !== "undo" || body.item.status !== "completed") continue;
    for (const turn of body.item.turns) {
      byTurn.get(turn)?.forEach((one) => undone.delete(one));
      undone.add(turn);
    }
    if (turnId !== undefined) byTurn.set(turnId, body.item.turns);
  }
  return undone;
}

/** The files that a command changed, and that are undone by now: by themselves, or with their turn. */
export function undoneOf(view: ThreadView, row: Row): Set<string> {
  const undone = new Set<string>();
  /** What each undo took back, by its turn: an undo can be undone, too. */
  const byTurn = new Map<string, string[]>();
  for (const { body, turnId } of view.rows) {
    if (body.kind !== "item" || body.item.type !== "undo" || body.item.status !== "completed") continue;
    const { item } = body;
    for (const turn of item.turns) byTurn.get(turn)?.forEach((path) => undone.delete(path));
    if (item.itemId === row.key || (row.turnId !== undefined && item.turns.includes(row.turnId))) {
      const paths = item.files.filter(isUndone).map((file) => file.path);
      paths.forEach((path) => undone.add(path));
      if (turnId !== undefined) byTurn.set(turnId, paths);
    }
  }
  return undone;
}

/** The files of a turn of which nothing that commands or patches did is left, though the turn is not undone as such. */
export function undoneFiles(view: ThreadView, turnId: string): Set<string> {
  const undone = new Set<string>();
  const left = new Set<string>();
  for (const row of view.rows) {
    if (row.turnId !== turnId || row.body.kind !== "item") continue;
    const { item } = row.body;
    if (item.type === "commandChanges") {
      const gone = undoneOf(view, row);
      for (const { path } of item.changes) (gone.has(path) ? undone : left).add(path);
    } else if (item.type === "fileChange") {
      const made = item.applied ?? (item.status === "completed" ? item.changes : []);
      for (const { path } of made) left.add(path);
    }
  }
  return new Set([...undone].filter((path) => !left.has(path)));
}

/** A view with the way to its rows by key. */
export class ThreadModel {
  private readonly index = new Map<string, number>();
  private counter = 0;

  constructor(readonly view: ThreadView) {
    view.rows.forEach((row, i) => this.index.set(row.key, i));
  }

  row(key: string): Row | undefined {
    const at = this.index.get(key);
    return at === undefined ? undefined : this.view.rows[at];
  }

  /** The position of a row; undefined if there is none of this key. */
  position(key: string): number | undefined {
    return this.index.get(key);
  }

  /** Questions that wait for the person. */
  open(): Row[] {
    return this.view.rows.filter((row) => row.body.kind === "question" && row.body.settled === undefined);
  }

  /** Takes an event in. An event of another thread changes nothing. */
  apply(event: ThreadEvent): Change {
    const { view } = this;
    if (!("threadId" in event.params) || event.params.threadId !== view.id) {
      return NOTHING;
    }
    switch (event.method) {
      case "countersign/thread/configured":
        view.settings = event.params.settings;
        return NOTHING;
      case "countersign/thread/statusChanged":
        view.status = event.params.status;
        return NOTHING;
      case "countersign/thread/nameUpdated":
        view.name = event.params.name ?? undefined;
        return NOTHING;
      case "countersign/thread/archived":
      case "countersign/thread/unarchived":
        view.archived = event.method === "countersign/thread/archived";
        return NOTHING;
      case "countersign/thread/closed":
        view.status = "notLoaded";
        view.running = undefined;
        return NOTHING;
      case "countersign/turn/started":
        view.running = { turnId: event.params.turn.id, startedAtMs: event.params.turn.startedAtMs ?? 0 };
        view.lastTurn = event.params.turn.id;
        view.retry = undefined;
        return NOTHING;
      case "countersign/turn/completed":
        return this.turnCompleted(event.params.turn, event.params.unanswered.map((one) => one.input));
      case "countersign/turn/queueChanged":
        view.queue = event.params.queue.inputs.length > 0 ? event.params.queue : undefined;
        return NOTHING;
      case "joined": {
        const { id, input } = event.params;
        const isRead = view.rows.some(({ body }) => body.kind === "item" && body.item.type === "userMessage" && body.item.clientId === id);
        if (!isRead && view.running !== undefined) view.joining = [...view.joining, { id, input }];
        return NOTHING;
      }
      case "countersign/turn/retrying":
        view.retry = {
          message: event.params.message,
          attempt: event.params.attempt,
          limit: event.params.limit ?? undefined,
          sinceMs: view.retry?.sinceMs ?? Date.now(),
          nextMs: Date.now() + event.params.delayMs,
        };
        return NOTHING;
      case "countersign/turn/planUpdated":
        view.plan = event.params.steps;
        return NOTHING;
      case "countersign/thread/tokenUsage":
        view.usage = event.params.tokenUsage;
        view.limits = event.params.rateLimits ?? view.limits;
        return NOTHING;
      case "countersign/thread/agentStatus":
        view.agents[event.params.agentThreadId] = event.params.state;
        return this.touch((row) => row.body.kind === "item" && row.body.item.type === "collabAgentToolCall");
      case "countersign/item/started":
        view.retry = undefined;
        return this.setItem(event.params.turnId, event.params.item, true, event.params.startedAtMs);
      case "countersign/item/completed":
        if (event.params.withdrawn === true) {
          return this.remove(event.params.item.id);
        }
        return this.completed(event.params.turnId, event.params.item, event.params.completedAtMs);
      case "countersign/item/agentMessage/delta":
        return this.change(event.params.itemId, (item) => {
          if (item.type === "agentMessage") item.text += event.params.delta;
        });
      case "countersign/item/reasoning/summaryTextDelta":
      case "countersign/item/reasoning/textDelta":
        return this.change(event.params.itemId, (item) => {
          if (item.type !== "reasoning") return;
          const parts = event.method === "countersign/item/reasoning/textDelta" ? item.content : item.summary;
          while (parts.length <= event.params.index) parts.push("");
          parts[event.params.index] = (parts[event.params.index] ?? "") + event.params.delta;
        });
      case "countersign/item/commandExecution/outputDelta":
        return this.addOutput(event.params.itemId, event.params.delta);
      case "countersign/item/mcpToolCall/progress": {
        const { progress, total, message } = event.params;
        return this.changeRow(event.params.itemId, (row) => {
          if (row.body.kind === "item") row.body.progress = [message, total === null ? String(progress) : `${progress} of ${total}`].filter(Boolean).join(" · ");
        });
      }
      case "countersign/terminal/started":
        view.terminals[event.params.terminal.terminalId] = event.params.terminal.itemId;
        return this.changeRow(event.params.terminal.itemId, () => undefined);
      case "countersign/terminal/output": {
        const item = view.terminals[event.params.terminalId];
        return item === undefined ? NOTHING : this.addOutput(item, event.params.delta);
      }
      case "countersign/terminal/exited": {
        const item = view.terminals[event.params.terminalId];
        const { exitCode, durationMs, fullOutput } = event.params;
        if (item === undefined) return NOTHING;
        return this.change(item, (one) => {
          if (one.type === "commandExecution") Object.assign(one, { exitCode, durationMs, status: exitCode === 0 ? "completed" : "failed", ...(fullOutput ? { fullOutput } : {}) });
        });
      }
      case "countersign/proposal/created":
      case "countersign/proposal/updated":
        view.proposals[event.params.proposal.id] = event.params.proposal;
        return this.changeRow(event.params.proposal.itemId, () => undefined);
      case "countersign/proposal/moved":
        return this.proposalMoved(event.params);
      case "countersign/approval/requested":
        return both(this.ask(event.params.approval.id, event.params.turnId, { kind: "approval", approval: event.params.approval }), this.changeRow(event.params.approval.itemId, () => undefined));
      case "countersign/approval/resolved": {
        const { decision } = event.params;
        const words = { accept: "Allowed once", acceptForSession: "Allowed for session", acceptAlways: "Always allowed", decline: "Denied", cancel: "Denied, and the turn stopped" };
        return this.settle(event.params.approvalId, decision === null ? "No longer needed" : words[decision]);
      }
      case "countersign/userInput/requested":
        return this.ask(event.params.request.id, event.params.turnId, { kind: "userInput", request: event.params.request });
      case "countersign/userInput/resolved":
        return this.settle(event.params.id, event.params.answered ? "Answered" : "Not answered");
      case "countersign/mcp/elicitationRequested":
        return this.ask(event.params.elicitation.id, event.params.turnId, { kind: "elicitation", elicitation: event.params.elicitation });
      case "countersign/mcp/elicitationResolved": {
        const { action } = event.params;
        return this.settle(event.params.elicitationId, action === null ? "No longer needed" : { accept: "Answered", decline: "Declined", cancel: "Closed" }[action]);
      }
      case "countersign/guardian/assessment": {
        const { id, status, rationale, turnId, action } = event.params;
        const words = { inProgress: "The automatic reviewer looks at this.", approved: "The automatic reviewer allowed this.", denied: "The automatic reviewer denied this.", aborted: "The automatic review was interrupted." };
        return this.put(newRow(`guardian:${id}`, turnId, { kind: "note", severity: status === "denied" ? "warning" : "info", text: [words[status], rationale].filter(Boolean).join(" "), ...(status === "denied" ? { denied: action } : {}) }));
      }
      case "countersign/warning":
        return this.put(newRow(`note:${this.next()}`, event.params.turnId, { kind: "note", severity: "warning", text: event.params.message }));
      case "countersign/error":
        // A turn's own error comes again with its end.
        return event.params.turnId ? NOTHING : this.put(newRow(`note:${this.next()}`, undefined, { kind: "error", error: event.params.error }));
      default:
        return NOTHING;
    }
  }

  private next(): number {
    this.counter += 1;
    return this.counter;
  }

  private turnCompleted(turn: Turn, unanswered: UserInput[][]): Change {
    const { view } = this;
    view.retry = undefined;
    if (view.running?.turnId === turn.id) {
      view.running = undefined;
      // What it has not read comes back as unanswered.
      view.joining = [];
    }
    const changed: string[] = [];
    let structure = false;
    for (const row of view.rows) {
      // What has not been told to have ended has ended now.
      if (row.turnId === turn.id && row.body.kind === "item" && row.body.live) {
        row.body.live = false;
        row.rev += 1;
        changed.push(row.key);
      }
    }
    const added = [endOf(turn), ...unanswered.map((input, i) => newRow(`unanswered:${turn.id}:${i}`, turn.id, { kind: "unanswered", input }))];
    for (const row of added) {
      if (row !== undefined) {
        row.completedAtMs = turn.completedAtMs ?? undefined;
        const put = this.put(row);
        changed.push(...put.rows);
        structure ||= put.structure;
      }
    }
    return { rows: changed, structure };
  }

  /** Adds a row, or puts it in the place of the one with its key. */
  private put(row: Row): Change {
    const at = this.index.get(row.key);
    if (at === undefined) {
      this.index.set(row.key, this.view.rows.length);
      this.view.rows.push(row);
      return { rows: [row.key], structure: true };
    }
    row.rev = (this.view.rows[at]?.rev ?? 0) + 1;
    this.view.rows[at] = row;
    return { rows: [row.key], structure: false };
  }

  /** Takes a row away: what it began is said in another one. */
  private remove(key: string): Change {
    const at = this.index.get(key);
    if (at === undefined) {
      return NOTHING;
    }
    this.view.rows.splice(at, 1);
    this.index.clear();
    this.view.rows.forEach((row, place) => this.index.set(row.key, place));
    return { rows: [], structure: true };
  }

  private setItem(turnId: string | null | undefined, item: ThreadItem, live: boolean, at: number): Change {
    const before = this.row(item.id);
    const body: RowBody = { kind: "item", item, live };
    if (before?.body.kind === "item" && before.body.decided !== undefined) {
      body.decided = before.body.decided;
    }
    if (before?.body.kind === "item" && before.body.output !== undefined) {
      body.output = before.body.output;
      if (before.body.isCut === true) body.isCut = true;
    }
    if (item.type === "userMessage") {
      this.view.joining = this.view.joining.filter(({ id }) => id !== item.clientId);
    }
    if (item.type === "userMessage" && this.view.preview === "") {
      this.view.preview = item.content.map((one) => (one.type === "text" ? one.text : "")).join(" ").trim();
    }
    const row = newRow(item.id, turnId ?? before?.turnId, body);
    row.startedAtMs = before?.startedAtMs ?? at;
    row.completedAtMs = live ? undefined : at;
    return this.put(row);
  }

  private completed(turnId: string | null | undefined, item: ThreadItem, at: number): Change {
    const change = this.setItem(turnId, item, false, at);
    if (item.type !== "undo") {
      return change;
    }
    // What it undid says so.
    const touched = this.touch((row) => row.body.kind === "item" && row.body.item.type === "commandChanges");
    return both(change, touched);
  }

  private changeRow(key: string, how: (row: Row) => void): Change {
    const row = this.row(key);
    if (row === undefined) {
      return NOTHING;
    }
    how(row);
    row.rev += 1;
    return { rows: [key], structure: false };
  }

  private change(key: string, how: (item: ThreadItem) => void): Change {
    return this.changeRow(key, (row) => {
      if (row.body.kind === "item") how(row.body.item);
    });
  }

  private addOutput(key: string, delta: string): Change {
    return this.changeRow(key, (row) => {
      if (row.body.kind !== "item") return;
      const output = (row.body.output ?? "") + delta;
      row.body.output = output.slice(-MOST_OUTPUT);
      if (output.length > MOST_OUTPUT) row.body.isCut = true;
    });
  }

  private touch(which: (row: Row) => boolean): Change {
    const touched = this.view.rows.filter(which);
    touched.forEach((row) => (row.rev += 1));
    return { rows: touched.map((row) => row.key), structure: false };
  }

  private ask(id: string, turnId: string | null | undefined, question: Question): Change {
    return this.put(newRow(`question:${id}`, turnId, { kind: "question", question }));
  }

  private settle(id: string, words: string): Change {
    let about: string | undefined;
    const settled = this.changeRow(`question:${id}`, (row) => {
      if (row.body.kind !== "question") return;
      row.body.settled = words;
      if (row.body.question.kind === "approval") about = row.body.question.approval.itemId;
    });
    const decided = (row: Row): void => {
      if (row.body.kind === "item") row.body.decided = words;
    };
    return about === undefined ? settled : both(settled, this.changeRow(about, decided));
  }

  private proposalMoved(moved: Extract<ThreadEvent, { method: "countersign/proposal/moved" }>["params"]): Change {
    const proposal = this.view.proposals[moved.proposalId];
    if (proposal === undefined) {
      return NOTHING;
    }
    move(proposal, moved);
    return this.changeRow(proposal.itemId, () => undefined);
  }
}
