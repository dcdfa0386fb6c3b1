/**
 * What the two texts of a change do not show. No editor here: the chat's page needs it, too.
 */
import { visible } from "../chat/visible";
import type { FileChangeKind, ProposalFile } from "../protocol";

const EXECUTABLE = 0o111;

/** What a path of a change is called where it is shown. */
export type PathName = (path: string) => string;

/** What is known of a change of a file beside its texts. */
export type FileFacts = Pick<ProposalFile, "kind" | "mode" | "notText"> & { readonly notes?: readonly string[] };

/**
 * What a person has to know of a change of a file beside its texts, on one line and uncut: where the file goes, that it is deleted, the rights
 * that it gets, what it is where it is no text, and what its new name looks like.
 */
export function beyondText(file: FileFacts, nameOfPath: PathName): string[] {
  const { kind, mode, notText, notes } = file;
  return [
    kind.type === "delete" ? "deleted" : undefined,
    movedTo(kind, nameOfPath),
    mode === null || mode === undefined ? undefined : modeWords(mode),
    notText ? oneLine(notText) : undefined,
    ...(notes ?? []).map(oneLine),
  ].filter((one) => one !== undefined);
}

/** Where a change moves its file to; undefined where it stays. */
export function movedTo(kind: FileChangeKind, nameOfPath: PathName): string | undefined {
  return kind.type === "update" && kind.movePath ? `→ ${oneLine(nameOfPath(kind.movePath))}` : undefined;
}

/** The name of a diff of a file: what it shows, and what it does not. */
export function diffTitle(name: string, file: FileFacts, nameOfPath: PathName): string {
  const [first, ...more] = beyondText(file, nameOfPath);
  const facts = first === undefined ? "" : `${first.startsWith("→") ? " " : ", "}${[first, ...more].join(", ")}`;
  return `${name}${facts} (proposed)`;
}

/** A path as it is said beside others of the same folder. */
export function below(folder: string, path: string): string {
  const rest = folder !== "" && path.startsWith(folder) ? path.slice(folder.length) : "";
  return /^[/\\]./.test(rest) ? rest.slice(1) : path;
}

function modeWords(mode: number): string {
  const digits = mode.toString(8).padStart(3, "0");
  return (mode & EXECUTABLE) === 0 ? `mode ${digits}` : `executable (mode ${digits})`;
}

function oneLine(text: string): string {
  return visible(text.replace(/\n/g, "<U+000A>"));
}
