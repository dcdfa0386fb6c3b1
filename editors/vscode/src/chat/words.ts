/**
 * What things are called in the chat.
 */
import type { AccountReadResult, AccountStatusResult, Approval, ApprovalDecision, Confined, Permission, RateLimits, RateWindow, ThreadTokenUsage } from "../protocol";

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

/** How full the model's context window is, from 0 to 100; undefined if its size is not known. */
export function percentUsed(usage: ThreadTokenUsage | undefined): number | undefined {
  const window = usage?.modelContextWindow;
  return usage === undefined || window === undefined || window === null || window <= 0 ? undefined : Math.min(100, Math.round((usage.last.totalTokens / window) * 100));
}

/** For messages and prompts of the editor, which would make a link that runs a command of `[words](command:…)`. */
export function plain(text: string): string {
  return text.replaceAll("](", "] (");
}

/** Signs that hide, or that turn the writing round, written out: what is agreed to must read as it is. Ends of lines and tabs stay. */
export function visible(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/gu, (sign) => `\\u{${(sign.codePointAt(0) ?? 0).toString(16)}}`);
}

/** Whether a message of the editor, which has no line ends and ends after some hundred signs, shows a text as it is. */
export function fitsMessage(text: string): boolean {
  return text.length <= 300 && !/[\r\n]/.test(text);
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
      return `Listen on port ${permission.port} of this machine`;
    case "unixSocket":
      return `Use the socket ${permission.path}`;
  }
}

/** What others name a thing, in the title of a question: it must not push the thing itself out of sight. */
function nameOf(text: string): string {
  return cut(visible(text).replace(/\s+/g, " "), 100);
}

/** What a question is about: its title, and the thing itself as code where it has one; `line`: the code for a message, shorter where that says the same. */
export function approvalWords(approval: Approval): { title: string; code: string; line: string; where: string | undefined; details: string[] } {
  if ("command" in approval) {
    const code = shellWords(approval.command);
    return {
      title: "Run this command?",
      code,
      line: code,
      where: `in ${approval.cwd.split(/[/\\]/).findLast(Boolean) ?? approval.cwd} · ${confinedWords[approval.confined]}`,
      details: [approval.reason, approval.justification, approval.risk ? `Risk: ${approval.risk.level}. ${approval.risk.description}` : undefined].filter((one): one is string => Boolean(one)),
    };
  }
  if ("server" in approval) {
    const given = approval.arguments ?? null;
    return { title: `Call ${nameOf(approval.title || approval.tool)} of ${nameOf(approval.server)}?`, code: JSON.stringify(given, undefined, 2), line: JSON.stringify(given), where: undefined, details: [approval.reason] };
  }
  const wanted = approval.permissions?.length ? approval.permissions.map(permissionWords) : approval.folders.map((folder) => `Write in ${folder}`);
  const code = wanted.join("\n");
  return { title: approval.permissions?.length ? "Allow more than the sandbox does?" : "Allow writing outside the workspace?", code, line: code, where: undefined, details: [approval.reason] };
}

/** What a yes for the session covers, in words. */
export function scopeWords(approval: Approval): string | undefined {
  const scope = "sessionScope" in approval ? approval.sessionScope : "";
  return scope === "" || !approval.availableDecisions.includes("acceptForSession") ? undefined : `“For this session” covers ${scope}.`;
}

/** An argument list as one would type it; a shell's `-c` is shown as its script. */
export function shellWords(command: readonly string[]): string {
  const script = command.length === 3 && /(^|\/)(ba|z|da|k|fi)?sh$/.test(command[0] ?? "") && /^-l?c$/.test(command[1] ?? "") ? command[2] : undefined;
  return script ?? command.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ");
}

/** What the button of a decision says. */
export function decisionTitle(decision: ApprovalDecision, approval: Approval): string {
  const isCommand = "command" in approval;
  const isTool = "server" in approval;
  const verb = isCommand ? "Run" : isTool ? "Call" : "Allow";
  switch (decision) {
    case "accept":
      if (!isCommand && !isTool) return { command: "Allow for this command", turn: "Allow for this turn", session: "Allow for this session", always: "Allow always" }[approval.acceptCovers];
      return `${verb} once`;
    case "acceptForSession":
      return `${verb} for this session`;
    case "acceptAlways":
      return `Always${"alwaysRule" in approval && approval.alwaysRule ? ` for ${cut(approval.alwaysRule.title, 60)}` : ""}`;
    case "decline":
      return "Deny";
    case "cancel":
      return "Stop the turn";
  }
}

/** Who is known to the provider, and by what. */
export function accountWords({ account, requiresOpenaiAuth }: AccountReadResult, status: AccountStatusResult | undefined): string {
  if (account?.type === "account") {
    return `Logged in${account.email ? ` as ${account.email}` : ""}${account.plan ? ` (${account.plan})` : ""}`;
  }
  if (account?.type === "apiKey" || status?.authMethod) {
    return "Requests carry a key";
  }
  return requiresOpenaiAuth ? "Nobody is logged in" : "The provider needs no login";
}

/** What is left of an account's allowance, a line each. */
export function allowanceWords(limits: RateLimits): string[] {
  const line = (name: string, window: RateWindow | null | undefined): string[] => {
    if (!window) return [];
    const anew = window.resetsAt ? `, anew ${new Date(window.resetsAt * 1000).toLocaleString()}` : "";
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
