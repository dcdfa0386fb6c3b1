/**
 * What the person does with the messages that wait for a turn of their own.
 */
import type { Threads } from "./threads";
import type { FromPage } from "./wire";

export async function changeQueue(threads: Threads, threadId: string | undefined, { action, queuedId, text }: Extract<FromPage, { type: "queue" }>): Promise<void> {
  if (threadId === undefined) {
    return;
  }
  const inputs = threads.get(threadId)?.view.queue?.inputs ?? [];
  const ids = inputs.map((one) => one.id);
  const at = ids.indexOf(queuedId);
  switch (action) {
    case "remove":
      await threads.request("countersign/turn/queue/remove", { threadId, queuedId });
      return;
    case "resume":
      await threads.request("countersign/turn/queue/resume", { threadId });
      return;
    case "edit": {
      const kept = inputs[at]?.input.filter((one) => one.type !== "text") ?? [];
      await threads.request("countersign/turn/queue/edit", { threadId, queuedId, input: [{ type: "text", text }, ...kept] });
      return;
    }
    case "up":
    case "down": {
      const to = action === "up" ? at - 1 : at + 1;
      const other = ids[to];
      if (at >= 0 && other !== undefined) {
        ids[to] = queuedId;
        ids[at] = other;
        await threads.request("countersign/turn/queue/reorder", { threadId, queuedIds: ids });
      }
    }
  }
}
