/**
 * One page of the list of conversations, as the chat shows it.
 */
import type { Threads } from "./threads";
import type { ToPage } from "./wire";
import { threadName } from "./words";

const PAGE = 50;

export async function listing(threads: Threads, search: string, archived: boolean, cursor: string | null): Promise<Extract<ToPage, { type: "threads" }>> {
  const params = { archived, cursor, limit: PAGE, modelProviders: [] };
  const found =
    search.trim() === ""
      ? await threads.request("countersign/thread/list", params).then(({ data, nextCursor }) => ({ data: data.map((thread) => ({ thread, snippet: undefined })), nextCursor }))
      : await threads.request("countersign/thread/search", { searchTerm: search, ...params });
  return {
    type: "threads",
    append: cursor !== null,
    more: found.nextCursor ?? null,
    entries: found.data.map(({ thread, snippet }) => ({
      id: thread.id,
      title: threadName(thread, "Empty conversation", 200),
      cwd: thread.cwd.split(/[/\\]/).findLast(Boolean) ?? thread.cwd,
      updatedAtMs: thread.updatedAtMs,
      status: threads.get(thread.id)?.view.status ?? thread.status,
      archived: thread.archived,
      ...(snippet === undefined ? {} : { snippet }),
    })),
  };
}
