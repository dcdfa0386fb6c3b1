/**
 * The file that the agent is at: what an item reads or has changed. No editor here, so that plain node can test it.
 */
import * as path from "node:path";
import type { ThreadItem } from "../protocol";

export interface FilePlace {
  /** Absolute. */
  readonly path: string;
  /** From 0; undefined where no line is known. */
  readonly line: number | undefined;
}

/** Where an item leads; undefined where it names no file that can be shown, or has not changed it. */
export function placeOf(item: ThreadItem, cwd: string): FilePlace | undefined {
  switch (item.type) {
    case "commandExecution": {
      const read = item.actions.find((action) => action.type === "read" && !/[*?[\]{}]/.test(action.path));
      return read?.type === "read" ? { path: path.resolve(item.cwd || cwd, read.path), line: undefined } : undefined;
    }
    case "toolCall": {
      if (item.tool !== "read_file" || typeof item.arguments !== "object" || item.arguments === null || Array.isArray(item.arguments)) {
        return undefined;
      }
      const { file_path: file, offset } = item.arguments;
      return typeof file === "string" && file !== "" ? { path: path.resolve(cwd, file), line: typeof offset === "number" ? Math.max(0, offset - 1) : undefined } : undefined;
    }
    case "fileChange": {
      const made = item.status === "completed" ? (item.applied ?? item.changes) : [];
      const last = made.findLast(({ kind }) => kind.type !== "delete");
      return last === undefined ? undefined : { path: (last.kind.type === "update" ? last.kind.movePath : undefined) ?? last.path, line: firstLine(last.diff) };
    }
    default:
      return undefined;
  }
}

/** The first line that a diff changes, in the new text. */
function firstLine(diff: string): number | undefined {
  const lines = diff.split("\n");
  const head = lines.findIndex((line) => line.startsWith("@@"));
  const begins = /^@@ -\d+(?:,\d+)? \+(\d+)/.exec(lines[head] ?? "")?.[1];
  if (begins === undefined) {
    return undefined;
  }
  const same = lines.slice(head + 1).findIndex((line) => !line.startsWith(" "));
  return Math.max(0, Number(begins) - 1 + Math.max(0, same));
}
