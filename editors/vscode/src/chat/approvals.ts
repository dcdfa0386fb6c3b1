/** What asks the person first: the ways that are offered beside the mode, and what each sets. No editor here, so that plain node can test it. */
import type { SandboxPolicy, SettingsOverride, ThreadSettings } from "../protocol";

export type Approvals = "strict" | "ask" | "edits" | "never";

type Sets = Required<Pick<SettingsOverride, "approvalPolicy" | "editApproval">>;
type Settings = Pick<ThreadSettings, "approvalPolicy" | "editApproval" | "sandboxPolicy">;

export const APPROVALS: Readonly<Record<Approvals, { readonly title: string; readonly sets: Sets }>> = {
  strict: { title: "Ask always", sets: { approvalPolicy: "untrusted", editApproval: "ask" } },
  ask: { title: "Ask", sets: { approvalPolicy: "on-request", editApproval: "ask" } },
  edits: { title: "Accept edits", sets: { approvalPolicy: "on-request", editApproval: "workspace" } },
  never: { title: "Never ask", sets: { approvalPolicy: "never", editApproval: "workspace" } },
};

const NAMES = Object.keys(APPROVALS) as Approvals[];
const STRICT = "Asks before every command that may do more than read, and before each change of a file";

/** What each means, by what holds commands; `unknown`: before there is a conversation. */
const MEANS: Readonly<Record<SandboxPolicy["type"] | "unknown", Readonly<Record<Approvals, string>>>> = {
  readOnly: {
    strict: STRICT,
    ask: "Asks before each change of a file, and before a command leaves the sandbox",
    edits: "Asks before each change of a file, because the sandbox is read-only, and before a command leaves the sandbox",
    never: "Asks nothing: no file is changed, commands only read, and what needs more is denied",
  },
  workspaceWrite: {
    strict: STRICT,
    ask: "Asks before each change of a file, and before a command leaves the sandbox",
    edits: "Makes changes of files in the workspace at once; asks before a command leaves the sandbox",
    never: "Makes changes of files in the workspace at once; commands run in the sandbox, and what needs more is denied",
  },
  dangerFullAccess: {
    strict: STRICT,
    ask: "Asks before each change of a file; commands run without a sandbox, and only dangerous ones ask first",
    edits: "Makes changes of files in the workspace at once; commands run without a sandbox, and only dangerous ones ask first",
    never: "Asks nothing: changes of files are made at once, and commands run without a sandbox",
  },
  unknown: {
    strict: STRICT,
    ask: "Asks before each change of a file, and before a command leaves the sandbox, where there is one",
    edits: "Makes changes of files in the workspace at once; asks before a command leaves the sandbox, where there is one",
    never: "Makes changes of files in the workspace at once; commands run in the sandbox, and what needs more is denied",
  },
};

/** Which of them is in force; undefined where it is another one. */
export function approvalsOf({ approvalPolicy, editApproval }: Pick<Settings, "approvalPolicy" | "editApproval">): Approvals | undefined {
  return NAMES.find((name) => APPROVALS[name].sets.approvalPolicy === approvalPolicy && APPROVALS[name].sets.editApproval === editApproval);
}

/** Without a sandbox nothing holds what is never asked about: it is offered only where there is one. */
export function isOffered(name: Approvals, sandbox: SandboxPolicy | undefined): boolean {
  return name !== "never" || (sandbox !== undefined && sandbox.type !== "dangerFullAccess");
}

/** What the picker shows: its entries, the value of the one in force, and what that means. */
export interface Picker {
  readonly entries: readonly { readonly value: Approvals | ""; readonly title: string; readonly means: string }[];
  readonly value: Approvals | "";
  readonly means: string;
}

/** Without a conversation nobody knows yet what its settings say: nothing is in force then but what was picked. */
export function picker(settings: Settings | undefined, chosen: Approvals | undefined): Picker {
  const sandbox = settings?.sandboxPolicy;
  const means = MEANS[sandbox?.type ?? "unknown"];
  const isPicked = chosen !== undefined && isOffered(chosen, sandbox);
  const now = isPicked ? chosen : settings === undefined ? undefined : approvalsOf(settings);
  const entries = NAMES.filter((name) => isOffered(name, sandbox)).map((name) => ({ value: name, title: APPROVALS[name].title, means: means[name] }));
  if (now !== undefined && isOffered(now, sandbox)) {
    return { entries, value: now, means: means[now] };
  }
  const other = { value: "" as const, title: settings === undefined ? "Default approvals" : "Custom approvals", means: now === undefined ? "What asks you first" : means[now] };
  return { entries: [other, ...entries], value: "", means: other.means };
}
