/**
 * Writes edits of files as a patch in the words that the agent's patch tool reads.
 */
export interface FileEdits {
  /** As the patch is to name it. */
  readonly path: string;
  readonly text: string;
  /** Lines and characters from 0; sorted or not, never overlapping. */
  readonly edits: readonly { readonly start: Place; readonly end: Place; readonly text: string }[];
}

interface Place {
  readonly line: number;
  readonly character: number;
}

const CONTEXT = 3;

export function patchText(files: readonly FileEdits[]): string {
  return ["*** Begin Patch", ...files.flatMap((file) => [`*** Update File: ${file.path}`, ...hunks(file)]), "*** End Patch", ""].join("\n");
}

function hunks({ text, edits }: FileEdits): string[] {
  const before = text.split(/\r?\n/);
  const sorted = [...edits].sort((a, b) => a.start.line - b.start.line || a.start.character - b.start.character);
  // Edits whose context would touch make one hunk.
  const groups: (typeof sorted)[] = [];
  for (const edit of sorted) {
    const group = groups.at(-1);
    const last = group?.at(-1);
    if (group !== undefined && last !== undefined && edit.start.line - last.end.line <= CONTEXT * 2) group.push(edit);
    else groups.push([edit]);
  }
  // By how many lines the groups before have made the file longer.
  let longer = 0;
  return groups.flatMap((group) => {
    const first = group[0]?.start.line ?? 0;
    const last = Math.max(...group.map((edit) => edit.end.line));
    const old = before.slice(first, last + 1);
    const changed = apply(old, group, first);
    const head = before.slice(Math.max(0, first - CONTEXT), first);
    const tail = before.slice(last + 1, last + 1 + CONTEXT);
    // The empty piece behind the last line end is no line.
    if (last + 1 + tail.length === before.length && tail.at(-1) === "") tail.pop();
    const [from, around] = [first - head.length + 1, head.length + tail.length];
    // The numbers tell places apart that look alike.
    const numbers = `@@ -${from},${around + old.length} +${from + longer},${around + changed.length} @@`;
    longer += changed.length - old.length;
    return [numbers, ...head.map((line) => ` ${line}`), ...old.map((line) => `-${line}`), ...changed.map((line) => `+${line}`), ...tail.map((line) => ` ${line}`)];
  });
}

function apply(lines: readonly string[], edits: FileEdits["edits"], base: number): string[] {
  let text = lines.join("\n");
  const offset = ({ line, character }: Place): number => lines.slice(0, line - base).reduce((sum, one) => sum + one.length + 1, 0) + character;
  for (const edit of [...edits].reverse()) {
    text = text.slice(0, offset(edit.start)) + edit.text.replace(/\r\n/g, "\n") + text.slice(offset(edit.end));
  }
  return text.split("\n");
}
