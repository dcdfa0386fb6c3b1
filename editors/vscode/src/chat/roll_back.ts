/**
 * Drops turns from the end of a conversation, as long as its end is where it was seen. No editor here, so that plain node can test it.
 */
import type { ThreadRollbackParams, TurnId } from "../protocol";
import type { Rpc } from "../rpc";
import type { ThreadView } from "./view";

/** The conversation ends with another turn than was seen, so nothing was done. */
export class Changed extends Error {
  constructor() {
    super("The conversation has changed meanwhile. Try again.");
  }
}

/** @throws Changed where the last turn is another one by now */
export async function rollBack(request: Rpc["request"], params: ThreadRollbackParams): Promise<void> {
  try {
    await request("countersign/thread/rollback", params);
  } catch (error) {
    throw (error as { data?: { kind?: unknown } | null } | null)?.data?.kind === "turnMismatch" ? new Changed() : error;
  }
}

/**
 * Drops a turn, if it is the last one. False where it stays: its message is then said twice, rather than not at all.
 *
 * @throws Changed as above
 */
export async function makeWay(request: Rpc["request"], view: Pick<ThreadView, "id" | "lastTurn">, turnId: TurnId): Promise<boolean> {
  if (view.lastTurn !== turnId) {
    return false;
  }
  try {
    await rollBack(request, { threadId: view.id, numTurns: 1, expectedTurnId: turnId });
    return true;
  } catch (error) {
    if (error instanceof Changed) throw error;
    return false;
  }
}
