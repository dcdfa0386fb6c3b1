/**
 * What the server's own commands, which stand in files and chat documents, would accept. The server takes their word for what was shown, and
 * in this editor nobody but the extension knows that.
 */
import type { Part } from "./shown";

/** The argument of the command says what is meant; without one it is the proposal in view. */
export interface Asked extends Part {
  readonly proposalId?: string;
}

export function askedToAccept(command: string, given: unknown): Asked | undefined {
  const argument = typeof given === "object" && given !== null ? (given as Record<string, unknown>) : {};
  const { proposalId, path, hunkIds, decision } = argument;
  const isYes = command === "countersign.acceptAll" || (command === "countersign.decide" && decision === "accept");
  if (!isYes) {
    return undefined;
  }
  return {
    ...(typeof proposalId === "string" ? { proposalId } : {}),
    ...(typeof path === "string" ? { path } : {}),
    ...(Array.isArray(hunkIds) ? { hunkIds: hunkIds.filter((one) => typeof one === "string") } : {}),
  };
}
