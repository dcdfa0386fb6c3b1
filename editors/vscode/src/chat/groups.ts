/**
 * Which rows of a conversation are drawn as one line: what the agent did one after the other, and which all went well. No page here, so that
 * plain node can test it.
 */
import type { Row } from "./view";
import { confinedWords, duration } from "./words";

/** One line for several rows. */
export interface Group {
  /** Stays the same as long as its first row is the first. */
  readonly key: string;
  readonly rows: readonly Row[];
  /** Its rows follow it, as they are. */
  readonly open: boolean;
  /** Another one with each change. */
  readonly rev: number;
}

/** What the list has a place for. */
export type Entry = Row | Group;

export const isGroup = (entry: Entry): entry is Group => "rows" in entry;

export interface Look {
  /** Whether the person has opened something, by the key of its row or group. */
  readonly isOpen: (key: string) => boolean;
  /** Whether the person is in a row. */
  readonly isHeld: (key: string) => boolean;
}

/** Fewer calls than this are shown as they are. */
const FEWEST = 3;

/** The rows, and groups in the place of those that are in one. The last row is in none: it is what was done last. */
export function grouped(rows: readonly Row[], look: Look): Entry[] {
  const entries: Entry[] = [];
  for (let at = 0; at < rows.length;) {
    const end = endOfRun(rows, at);
    const run = rows.slice(at, end);
    entries.push(...(run.length < FEWEST ? run : ofRun(run, look)));
    at = end;
  }
  return entries;
}

/** Behind the rows from here on that may be in one group; behind this one, if it may be in none. */
function endOfRun(rows: readonly Row[], at: number): number {
  const first = rows[at];
  let end = at + 1;
  if (first === undefined || !isCall(first)) {
    return end;
  }
  const calls = new Set([first.key]);
  for (let i = end; i < rows.length - 1; i++) {
    const row = rows[i];
    if (row === undefined || row.turnId !== first.turnId || !(isCall(row) || isBetween(row, calls))) break;
    if (isCall(row)) {
      calls.add(row.key);
      end = i + 1;
    }
  }
  return end;
}

/** A run as it is shown: what the person has opened is in no group that is closed. */
function ofRun(run: readonly Row[], { isOpen, isHeld }: Look): Entry[] {
  const entries: Entry[] = [];
  let part: Row[] = [];
  const close = (): void => {
    // What was thought behind the last call is no part of it.
    const own = part.slice(0, part.findLastIndex(isCall) + 1);
    entries.push(...asGroup(own, false), ...part.slice(own.length));
    part = [];
  };
  for (const [i, row] of run.entries()) {
    const first = part[0] ?? row;
    if (part.length === 0 && isCall(first) && isOpen(keyOf(first))) {
      return [...entries, ...asGroup(run.slice(i), true)];
    }
    if (isOpen(row.key) || isHeld(row.key) || (part.length === 0 && !isCall(row))) {
      close();
      entries.push(row);
    } else {
      part.push(row);
    }
  }
  close();
  return entries;
}

function asGroup(rows: readonly Row[], open: boolean): Entry[] {
  const [first] = rows;
  if (first === undefined || rows.filter(isCall).length < FEWEST) {
    return [...rows];
  }
  const rev = rows.reduce((sum, row) => sum + row.rev + 1, 0) * 2 + Number(open);
  return [{ key: keyOf(first), rows, open, rev }, ...(open ? rows : [])];
}

const keyOf = (first: Row): string => `group:${first.key}`;

/** Something that was done, is over and went well. */
function isCall({ body }: Row): boolean {
  if (body.kind !== "item" || body.live) {
    return false;
  }
  const { item } = body;
  switch (item.type) {
    case "commandExecution":
      return item.source !== "user" && item.status === "completed" && item.exitCode === 0;
    case "mcpToolCall":
      return item.status === "completed" && !item.error;
    case "toolCall":
      return item.status === "completed";
    default:
      return false;
  }
}

/** What stands between calls and says nothing that has to be seen: a thought, the yes to one of them. */
function isBetween({ body }: Row, calls: ReadonlySet<string>): boolean {
  if (body.kind === "question") {
    return body.settled !== undefined && body.question.kind === "approval" && calls.has(body.question.approval.itemId);
  }
  return body.kind === "item" && body.item.type === "reasoning" && !body.live;
}

/** What a group came to: `Ran 5 commands, read 3 files · 4 s`. */
export function groupWords({ rows }: Group): string {
  const files = new Set<string>();
  let [commands, searches, tools, ms, outside] = [0, 0, 0, 0, false];
  for (const { body } of rows) {
    if (body.kind !== "item") continue;
    const { item } = body;
    if (item.type === "commandExecution") {
      const { actions } = item;
      if (actions.length > 0 && actions.every((one) => one.type === "read")) actions.forEach((one) => files.add(one.path));
      else if (actions.length > 0 && actions.every((one) => one.type === "read" || one.type === "search" || one.type === "listFiles")) searches += 1;
      else commands += 1;
      outside ||= item.confined === "outside";
    } else if (item.type === "mcpToolCall" || item.type === "toolCall") {
      tools += 1;
    } else {
      continue;
    }
    ms += item.durationMs ?? 0;
  }
  const count = (many: number, verb: string, one: string, more: string): string[] => (many === 0 ? [] : [`${verb} ${many} ${many === 1 ? one : more}`]);
  const did = [...count(commands, "ran", "command", "commands"), ...count(files.size, "read", "file", "files"), ...count(searches, "did", "search", "searches"), ...count(tools, "made", "tool call", "tool calls")].join(", ");
  return [did.charAt(0).toUpperCase() + did.slice(1), ...(outside ? [confinedWords.outside] : []), ...(ms > 0 ? [duration(ms)] : [])].join(" · ");
}
