/**
 * What things are called in the chat.
 */
import type { AccountReadResult, AccountStatusResult, Approval, ApprovalDecision, Confined, Cost, GuardianAction, Permission, RateLimits, RateWindow, ThreadTokenUsage, UserInput } from "../protocol";
import { visible, visibleText } from "./visible";

export { hides, visible, visibleText } from "./visible";

export const confinedWords: Readonly<Record<Confined, string>> = {
  readOnly: "sandbox: reads only",
  workspace: "sandbox: writes in the workspace",
  outside: "outside the sandbox",
};

/** How long something took. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const minutes = Math.floor(ms / 60_000);
  return minutes < 60 ? `${minutes} min ${Math.round((ms % 60_000) / 1000)} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** A number of tokens, short. */
export function tokens(count: number): string {
  if (count < 1000) return String(count);
  if (count < 100_000) return `${(count / 1000).toFixed(1)}k`;
  return count < 1_000_000 ? `${Math.round(count / 1000)}k` : `${(count / 1_000_000).toFixed(1)}M`;
}

/** What a conversation has cost, short and in words; undefined where no price is known. */
export function costWords(cost: Cost | null | undefined): { short: string; whole: string } | undefined {
  if (!cost) return undefined;
  const amount = `$${cost.usd.toFixed(cost.usd < 0.01 ? 4 : 2)}`;
  return { short: cost.isPartial ? `> ${amount}` : amount, whole: `The conversation has cost ${cost.isPartial ? "more than" : "about"} ${amount}, estimated from the prices of tokens` };
}

/** How full the model's context window is, from 0 to 100; undefined if its size is not known. */
export function percentUsed(usage: ThreadTokenUsage | undefined): number | undefined {
  const window = usage?.modelContextWindow;
  return usage === undefined || window === undefined || window === null || window <= 0 ? undefined : Math.min(100, Math.round((usage.last.totalTokens / window) * 100));
}

/** For messages and prompts of the editor, which would make a link that runs a command of `[words](command:…)`. */
export function plain(text: string): string {
  return text.replaceAll("](", "] (");
}

/** A text of the page as it may be seen. */
export function shown(text: string): string {
  return visibleText(text);
}

/** Characters of a message that its box has room for in a small window, too; the editor itself cuts it after a thousand. */
const MOST_MESSAGE = 600;
/** Characters of the second line of an entry in a list, which is cut where the list ends. */
const MOST_LINE = 80;

/** Whether a message of the editor, which has no line ends, shows a text as it is. */
export function fitsMessage(text: string): boolean {
  return text.length <= MOST_MESSAGE && !/[\r\n]/.test(text);
}

/** The same of an entry of a list. */
export function fitsLine(text: string): boolean {
  return text.length <= MOST_LINE && !/[\r\n]/.test(text);
}

/** Text cut to a length, with a sign that it was. */
export function cut(text: string, most: number): string {
  const signs = Array.from(text);
  return signs.length <= most ? text : `${signs.slice(0, most - 1).join("")}…`;
}

export function permissionWords(permission: Permission): string {
  switch (permission.type) {
    case "read":
      return `Read ${permission.path}`;
    case "write":
      return `Write in ${permission.path}`;
    case "gitMetadata":
      return `Write git's own files of ${permission.repository}`;
    case "network":
      return "Use the network";
    case "host":
      return `Connect to ${permission.host}${permission.port ? `:${permission.port}` : ""}`;
    case "loopbackPort":
      return `Connect to port ${permission.port} of this machine`;
    case "unixSocket":
      return `Use the socket ${permission.path}`;
  }
}

/** The same on one line, uncut: what a person decides on. */
function oneLine(text: string): string {
  return visibleText(text).replace(/\s+/g, " ").trim();
}

/** The words of a message. */
export function textOf(input: readonly UserInput[]): string {
  return input.map((one) => (one.type === "text" ? one.text : one.type === "mention" ? `@${one.path}` : "")).filter(Boolean).join("\n");
}

/** The pictures of a message that can be shown here, as `data:` addresses. */
export function imagesOf(input: readonly UserInput[]): string[] {
  return input.flatMap((one) => (one.type === "image" && one.url.startsWith("data:image/") ? [one.url] : []));
}

/** What others name a thing, on one line: it must not push what follows out of sight. */
export function nameOf(text: string, most = 100): string {
  return cut(visibleText(text).replace(/\s+/g, " ").trim(), most);
}

/** What a conversation is called, in so many characters. */
export function threadName({ name, preview }: { readonly name?: string | null | undefined; readonly preview: string }, otherwise: string, most: number): string {
  return nameOf(name ?? "", most) || nameOf(preview, most) || otherwise;
}

/** A date as the editor's language writes it, without the marks and narrow blanks that some languages put into it. */
export function dateWords(date: string): string {
  return date.replace(/[\u200e\u200f\u061c]/g, "").replace(/\p{Zs}/gu, " ");
}

/** What somebody else says of what is asked: whose words they are, and the words on one line. */
export interface Said {
  readonly who: string;
  readonly text: string;
}

/**
 * What a question is about, as it may be shown: its title, and the thing itself as code where it has one; `line`: the code for a message,
 * shorter where that says the same. `details` are the server's own words, `said` those of others, which stand apart and behind them.
 */
export function approvalWords(approval: Approval): { title: string; code: string; line: string; where: string | undefined; details: string[]; said: Said[] } {
  // What the server notes of it comes first: no words of the agent's push it out of sight, or pass for it.
  const notes = (approval.notes ?? []).map((note) => `Note: ${visibleText(note)}`);
  const reason = visibleText(approval.reason);
  if ("command" in approval) {
    // To the letter as the server writes it: which program runs is part of it, whatever its name.
    return {
      title: "Run this command?",
      code: visible(approval.script ?? approval.display),
      line: visible(approval.display),
      // All of it: folders of the same name are not the same.
      where: `in ${oneLine(approval.cwd)} · ${confinedWords[approval.confined]}`,
      details: [...notes, reason].filter((one) => one !== ""),
      said: [...reasonOf(approval.justification), ...(approval.risk ? [{ who: `Risk, as a model sees it: ${approval.risk.level}`, text: oneLine(approval.risk.description) }] : [])],
    };
  }
  if ("server" in approval) {
    const given = approval.arguments ?? null;
    // What a yes for longer covers: the tool as it is.
    const definition = approval.definition ? `\n\n${visible(approval.definition)}` : "";
    // The name says which tool it is; the title is what its server says of it, and ends where we say.
    const [tool, title] = [oneLine(approval.tool), oneLine(approval.title).replace(/[“”]/g, '"')];
    const named = title === "" || title === tool ? tool : `${tool} (“${title}”)`;
    return { title: `Call ${named} of ${oneLine(approval.server)}?`, code: visible(JSON.stringify(given, undefined, 2)) + definition, line: visible(JSON.stringify(given)), where: undefined, details: [...notes, reason].filter((one) => one !== ""), said: [] };
  }
  const wanted = approval.permissions?.length ? approval.permissions.map(permissionWords) : approval.folders.map((folder) => `Write in ${folder}`);
  const code = visible(wanted.join("\n"));
  return { title: approval.permissions?.length ? "Allow more than the sandbox does?" : "Allow writing outside the workspace?", code, line: code, where: undefined, details: [...notes, reason].filter((one) => one !== ""), said: reasonOf(approval.justification) };
}

/** What the agent says of it. */
function reasonOf(justification: string | null | undefined): Said[] {
  const text = oneLine(justification ?? "");
  return text === "" ? [] : [{ who: "The agent's reason", text }];
}

/**
 * A question as one message of the editor's, which is shown whole or not answered with yes. What we say stands first: nothing in a command, or in
 * what is said of it, can pass for that.
 */
export function approvalMessage(approval: Approval): string {
  const { title, line, where, details, said } = approvalWords(approval);
  const who = approval.agent ? `The agent ${nameOf(approval.agent)} asks. ` : "";
  const what = "command" in approval ? "Command" : "server" in approval ? "Arguments" : "Permissions";
  const ours = [title, where === undefined ? "" : `Runs ${where}.`, ...details].filter((one) => one !== "").join(" ");
  return `${who}${ours} ${what}: ${line}${said.map((one) => ` — ${one.who}: ${one.text}`).join("")}`.trim();
}

/** What a yes for the session covers, in words. */
export function scopeWords(approval: Approval): string | undefined {
  const scope = "sessionScope" in approval ? approval.sessionScope : "";
  return scope === "" || !approval.availableDecisions.includes("acceptForSession") ? undefined : `covers ${visibleText(scope)}`;
}

/** Whether an entry of a list, which has one line for it, shows all that a decision covers. */
export function fitsEntry(decision: ApprovalDecision, approval: Approval): boolean {
  const rule = "alwaysRule" in approval ? approval.alwaysRule : undefined;
  if ((decision === "acceptForSession" || decision === "acceptAlways") && "definition" in approval && approval.definition !== "") {
    // It covers the tool as it is, which stands in the chat.
    return false;
  }
  switch (decision) {
    case "acceptForSession":
      return fitsLine(scopeWords(approval) ?? "");
    case "acceptAlways":
      return !rule || (fitsLine(visible(rule.text)) && visible(rule.title).length <= MOST_TITLE);
    default:
      return true;
  }
}

/** What the automatic reviewer judged, all of it. */
export function judgedWords(action: GuardianAction): string {
  switch (action.type) {
    case "command":
      return visible(`${action.display}\nin ${action.cwd}, ${confinedWords[action.confined]}`);
    case "tool":
      return visible(`${action.tool} of ${action.server}\n${JSON.stringify(action.arguments, undefined, 2)}`);
    case "permission":
      return visibleText(action.request);
  }
}

/** Characters of a rule's name on a button. */
const MOST_TITLE = 60;

/** What the button of a decision says. */
export function decisionTitle(decision: ApprovalDecision, approval: Approval): string {
  const isCommand = "command" in approval;
  const isTool = "server" in approval;
  switch (decision) {
    case "accept":
      if (!isCommand && !isTool) return { command: "Allow for Command", turn: "Allow for Turn", session: "Allow for Session", always: "Always Allow" }[approval.acceptCovers];
      return "Allow Once";
    case "acceptForSession":
      return "Allow for Session";
    case "acceptAlways":
      return `Always Allow${"alwaysRule" in approval && approval.alwaysRule ? ` ${nameOf(approval.alwaysRule.title, MOST_TITLE)}` : ""}`;
    case "decline":
      return "Deny";
    case "cancel":
      return "Deny and Stop";
  }
}

/** Who is known to the provider, and by what. */
export function accountWords({ account, requiresOpenaiAuth }: AccountReadResult, status: AccountStatusResult | undefined): string {
  if (account?.type === "account") {
    return `Signed in${account.email ? ` as ${account.email}` : ""}${account.plan ? ` (${account.plan})` : ""}`;
  }
  if (account?.type === "apiKey" || status?.authMethod) {
    return "Requests carry a key";
  }
  return requiresOpenaiAuth ? "Not signed in" : "The provider needs no login";
}

/** What is left of an account's allowance, a line each. */
export function allowanceWords(limits: RateLimits): string[] {
  const line = (name: string, window: RateWindow | null | undefined): string[] => {
    if (!window) return [];
    const anew = window.resetsAt ? `, resets ${dateWords(new Date(window.resetsAt * 1000).toLocaleString())}` : "";
    return [`${windowName(name, window.windowMinutes)}: ${Math.round(100 - window.usedPercent)} % left${anew}`];
  };
  const credits = limits.unlimitedCredits === true ? ["Credits without limit"] : limits.creditBalance ? [`Credits: ${limits.creditBalance}`] : [];
  return [...line("Allowance", limits.primary), ...line("Long allowance", limits.secondary), ...credits];
}

/** What a window of an allowance is called in full. */
export function windowName(otherwise: string, minutes: number | null | undefined): string {
  return minutes ? `Allowance of ${windowLength(minutes)}` : otherwise;
}

/** The same beside a meter, where there is little room. */
export function windowShort(minutes: number | null | undefined): string {
  return minutes ? windowLength(minutes).replace(/^1 /, "") : "Allowance";
}

function windowLength(minutes: number): string {
  const [count, unit] = minutes % 10080 === 0 ? [minutes / 10080, "week"] : minutes % 1440 === 0 ? [minutes / 1440, "day"] : minutes % 60 === 0 ? [minutes / 60, "hour"] : [minutes, "minute"];
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}
