/** What asks the person first: the ways that are offered beside the mode, and what each sets. No editor here, so that plain node can test it. */
import type { SettingsOverride, ThreadSettings } from "../protocol";

export type Approvals = "strict" | "ask" | "edits" | "never";

export const APPROVALS: Readonly<Record<Approvals, { readonly title: string; readonly means: string; readonly sets: Required<Pick<SettingsOverride, "approvalPolicy" | "editApproval">> }>> = {
  strict: { title: "Ask always", means: "Asks before every command that may do more than read, and before each change of a file", sets: { approvalPolicy: "untrusted", editApproval: "ask" } },
  ask: { title: "Ask", means: "Asks before each change of a file, and before a command leaves the sandbox", sets: { approvalPolicy: "on-request", editApproval: "ask" } },
  edits: { title: "Accept edits", means: "Makes changes of files in the workspace at once; asks before a command leaves the sandbox", sets: { approvalPolicy: "on-request", editApproval: "workspace" } },
  never: { title: "Never ask", means: "Makes changes of files in the workspace at once; commands run in the sandbox, and what needs more is denied", sets: { approvalPolicy: "never", editApproval: "workspace" } },
};

/** Which of them is in force; undefined where it is another one. */
export function approvalsOf({ approvalPolicy, editApproval }: Pick<ThreadSettings, "approvalPolicy" | "editApproval">): Approvals | undefined {
  const is = ({ sets }: (typeof APPROVALS)[Approvals]): boolean => sets.approvalPolicy === approvalPolicy && sets.editApproval === editApproval;
  return (Object.keys(APPROVALS) as Approvals[]).find((name) => is(APPROVALS[name]));
}

/** Without walls nothing holds what is never asked about: it is not offered there. */
export function isOffered(name: Approvals, sandbox: ThreadSettings["sandboxPolicy"] | undefined): boolean {
  return name !== "never" || sandbox?.type !== "dangerFullAccess";
}
