/**
 * Reads what stands before the cursor in the composer: a file or symbol that is being mentioned, a prompt or command that is
 * being called. And writes mentions as the server reads them.
 */
export interface Trigger {
  readonly kind: "mention" | "slash";
  /** What was typed behind the sign. */
  readonly query: string;
  /** Where the sign stands. */
  readonly start: number;
}

/** What is being typed at `caret`, if it is a mention or a call. */
export function triggerAt(text: string, caret: number): Trigger | undefined {
  const before = text.slice(0, caret);
  const slash = /^\/([\w.:-]*)$/.exec(before);
  if (slash !== null) {
    return { kind: "slash", query: slash[1] ?? "", start: 0 };
  }
  if (isInFence(before)) {
    return undefined;
  }
  // An address such as ada@example.org is no mention: something must stand before the sign that no name ends with.
  const mention = /(?:^|[\s([{,;])@(?:"([^"\n]*)|([^\s"@]*))$/.exec(before);
  if (mention === null) {
    return undefined;
  }
  return { kind: "mention", query: mention[1] ?? mention[2] ?? "", start: before.lastIndexOf("@") };
}

/** Whether the end of the text lies in fenced code, where nothing is a mention. */
function isInFence(text: string): boolean {
  let fence: string | undefined;
  for (const line of text.split("\n")) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (mark === undefined) {
      continue;
    }
    if (fence === undefined) {
      fence = mark;
    } else if (mark.startsWith(fence)) {
      fence = undefined;
    }
  }
  return fence !== undefined;
}

/** A file, perhaps some of its lines (counted from 1), as a mention. */
export function mention(path: string, lines?: { start: number; end: number }): string {
  // A quote in a name would end the quotes; the server finds such a file by its last name, without.
  const name = /^[\w./\\+~-]+$/.test(path) ? path : `"${path.replaceAll('"', "")}"`;
  const place = lines === undefined ? "" : lines.end > lines.start ? `#L${lines.start}-${lines.end}` : `#L${lines.start}`;
  return `@${name}${place}`;
}

/** Whether what was offered may still be meant by `query`: its letters stand in it in their order. What follows a colon is a place in it. */
export function couldFit(sought: string, query: string): boolean {
  const wanted = query.replace(/:.*$/, "").toLowerCase();
  let at = 0;
  for (const letter of sought.toLowerCase()) {
    if (wanted.startsWith(letter, at)) at += letter.length;
  }
  return at === wanted.length;
}

/** A path below a folder of the workspace, as it leads there from another folder: with the folder's name in front. */
export function fromFolder(path: string, folder: string, cwd: string | undefined): string {
  const name = folder.split(/[/\\]/).findLast(Boolean);
  return folder === cwd || name === undefined ? path : `${name}/${path}`;
}

/** Puts `chosen` in the place of what was being typed; a blank comes behind it. */
export function complete(text: string, caret: number, trigger: Trigger, chosen: string): { text: string; caret: number } {
  const rest = text.slice(caret).replace(/^"/, "");
  const blank = rest.startsWith(" ") ? "" : " ";
  const head = text.slice(0, trigger.start) + chosen + blank;
  return { text: head + rest, caret: head.length + (blank === "" ? 1 : 0) };
}

/** A command of the composer's own. */
export interface SlashCommand {
  readonly name: string;
  readonly description: string;
}

/** What the composer does itself, where no prompt of the person's has the name. */
export const COMMANDS = [
  { name: "new", description: "Begin a new conversation" },
  { name: "compact", description: "Compact the conversation to make room" },
  { name: "context", description: "Show what fills the model's context window" },
  { name: "undo", description: "Undo the agent's last turn" },
  { name: "diff", description: "Show what the last turn changed" },
  { name: "review", description: "Have the uncommitted changes reviewed" },
  { name: "fork", description: "Fork this conversation" },
  { name: "rename", description: "Give this conversation a name" },
  { name: "rollback", description: "Restore to before your last message: conversation, files, or both" },
  { name: "stop", description: "Stop the running turn" },
  { name: "clear", description: "Begin a new conversation; this one stays in the list" },
  { name: "rewind", description: "Restore to before your last message, as /rollback does" },
  { name: "init", description: "Have AGENTS.md written for this project" },
  { name: "mcp", description: "Show the MCP servers and how they are" },
  { name: "copy", description: "Copy this conversation as Markdown" },
  { name: "export", description: "Write this conversation to a Markdown file" },
  { name: "model", description: "Choose the model" },
  { name: "help", description: "Show what can be written here" },
] as const satisfies readonly SlashCommand[];

export type CommandName = Exclude<(typeof COMMANDS)[number]["name"], OwnName>;

/** What the page does by itself, or makes a message of. */
export type OwnName = "model" | "help" | "init";

/** What `/init` asks for. */
export const INIT = "Look through this project and write AGENTS.md for it, or improve the one that is there: how to build, test and run it, how it is laid out, and the conventions that its code follows. Keep it under a page, and write only what you have seen to be so.";

/** The composer's own command that a text calls, if it calls one and no prompt has its name. */
export function ownCommand(text: string, prompts: readonly string[]): CommandName | OwnName | undefined {
  const name = /^\/([\w-]+)\s*$/.exec(text)?.[1];
  return name === undefined || prompts.includes(name) ? undefined : COMMANDS.find((one) => one.name === name)?.name;
}
