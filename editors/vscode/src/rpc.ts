/**
 * The server's own protocol with types: what the client asks by name, and what it is told by name.
 */
import type { ClientRequests, Notifications, UserInput } from "./protocol";

/** Something that answers the client's requests. */
export interface Rpc {
  request<M extends keyof ClientRequests>(method: M, params: ClientRequests[M]["params"]): Promise<ClientRequests[M]["result"]>;
}

/** One notification of a thread, as it came; or what this program knows of it by itself: a message has joined the running turn. */
export type ThreadEvent =
  | { [M in keyof Notifications]: { readonly method: M; readonly params: Notifications[M] } }[keyof Notifications]
  | { readonly method: "joined"; readonly params: { readonly threadId: string; readonly id: string; readonly input: readonly UserInput[] } };

/** All notifications that the server sends; a test compares the list with the protocol. */
export const NOTIFICATIONS = [
  "countersign/thread/started",
  "countersign/thread/configured",
  "countersign/thread/statusChanged",
  "countersign/thread/closed",
  "countersign/thread/archived",
  "countersign/thread/unarchived",
  "countersign/thread/deleted",
  "countersign/thread/nameUpdated",
  "countersign/thread/rolledBack",
  "countersign/turn/started",
  "countersign/turn/completed",
  "countersign/turn/queueChanged",
  "countersign/turn/diff",
  "countersign/turn/retrying",
  "countersign/item/started",
  "countersign/item/completed",
  "countersign/item/agentMessage/delta",
  "countersign/item/reasoning/summaryTextDelta",
  "countersign/item/reasoning/textDelta",
  "countersign/item/commandExecution/outputDelta",
  "countersign/item/mcpToolCall/progress",
  "countersign/terminal/started",
  "countersign/terminal/output",
  "countersign/terminal/exited",
  "countersign/review/entered",
  "countersign/review/completed",
  "countersign/review/findingsChanged",
  "countersign/turn/planUpdated",
  "countersign/thread/tokenUsage",
  "countersign/proposal/created",
  "countersign/proposal/updated",
  "countersign/proposal/moved",
  "countersign/file/changed",
  "countersign/approval/requested",
  "countersign/approval/resolved",
  "countersign/userInput/requested",
  "countersign/userInput/resolved",
  "countersign/mcp/elicitationRequested",
  "countersign/mcp/elicitationResolved",
  "countersign/mcp/status",
  "countersign/thread/agentStatus",
  "countersign/guardian/assessment",
  "countersign/account/updated",
  "countersign/account/rateLimits/updated",
  "countersign/warning",
  "countersign/error",
] as const satisfies readonly (keyof Notifications)[];
