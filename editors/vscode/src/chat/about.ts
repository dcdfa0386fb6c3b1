/**
 * What code actions ask the agent about a place: questions about the selection, rewriting it, a review of its file, a prompt of the person's. In
 * this editor the person writes it in their own words, and the answer is in the chat. No editor here, so that plain node can test it.
 */
import { fileURLToPath } from "node:url";
import type { EditorContext, EditorDiagnostic, LineRange } from "../protocol";
import { nameOf } from "./words";

export interface Task {
  /** What the person is asked for; absent where nothing is left to say. */
  readonly input?: { readonly title: string; readonly placeHolder: string };
  readonly context: EditorContext;
  /** The message to the agent, with what the person wrote. */
  words(written: string): string;
}

/** The argument of those commands, as far as it is what the server has put there. */
interface Place {
  readonly uri?: unknown;
  readonly lines?: unknown;
  readonly diagnostics?: unknown;
  readonly instruction?: unknown;
  readonly name?: unknown;
  readonly arguments?: unknown;
}

/** What a command of the server's is to ask; undefined if it is none of these, or the server is to do it. */
export function taskOf(command: string, given: unknown): Task | undefined {
  const place = typeof given === "object" && given !== null ? (given as Place) : undefined;
  const path = place === undefined ? undefined : pathOf(place.uri);
  if (place === undefined || path === undefined) {
    return undefined;
  }
  const lines = isRange(place.lines) ? place.lines : null;
  const context: EditorContext = { activeFile: path, selection: lines, diagnostics: Array.isArray(place.diagnostics) ? (place.diagnostics as EditorDiagnostic[]) : [] };
  const written = typeof place.instruction === "string" && place.instruction.trim() !== "" ? place.instruction : undefined;
  const name = nameOf(path.split(/[/\\]/).at(-1) ?? path);
  const where = lines === null ? name : lines.end > lines.start + 1 ? `lines ${lines.start + 1}–${lines.end} of ${name}` : `line ${lines.start + 1} of ${name}`;
  switch (command) {
    case "countersign.ask":
      return written === undefined ? { input: { title: `Ask about ${where}`, placeHolder: "Explain it, find problems, how is it used…" }, context, words: (text) => text } : { context, words: () => written };
    case "countersign.rewrite":
      return written === undefined ? { input: { title: `Rewrite ${where}`, placeHolder: "Simplify it, handle errors, add documentation…" }, context, words: (text) => `Rewrite the selected lines: ${text}` } : { context, words: () => written };
    case "countersign.reviewFile":
      return { context, words: () => `Review the file ${name}: look for faults that matter (wrong results, crashes, lost data, races, insecure handling), each with its line and a short reason. Do not change anything.` };
    case "countersign.prompt": {
      const prompt = typeof place.name === "string" ? place.name.replace(/^\/+/, "") : "";
      const rest = typeof place.arguments === "string" ? place.arguments.trim() : "";
      return /^[\w.:-]+$/.test(prompt) ? { context, words: () => `/${prompt}${rest === "" ? "" : ` ${rest}`}` } : undefined;
    }
    default:
      return undefined;
  }
}

function pathOf(uri: unknown): string | undefined {
  if (typeof uri !== "string" || !uri.startsWith("file:")) {
    return undefined;
  }
  try {
    return fileURLToPath(uri);
  } catch {
    return undefined;
  }
}

function isRange(lines: unknown): lines is LineRange {
  const { start, end } = (lines ?? {}) as Partial<LineRange>;
  return typeof start === "number" && typeof end === "number";
}
