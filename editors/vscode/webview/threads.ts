/**
 * The list of conversations: search, open, rename, fork, archive, delete.
 */
import type { FromPage, ThreadEntry } from "../src/chat/wire";
import { dateWords } from "../src/chat/words";
import { button, el, iconButton, redraw } from "./dom";
import { post } from "./host";

type Action = Extract<FromPage, { type: "threadAction" }>["action"];

export class ThreadList {
  private readonly search = el("input", { label: "Search conversations", attrs: { type: "search", placeholder: "Search conversations" } });
  private readonly archived = el("input", { attrs: { type: "checkbox" } });
  private readonly list = el("ul", { class: "threads", label: "Conversations" });
  private readonly more = button("Show more", () => { this.ask(this.cursor); });
  readonly root: HTMLElement;
  private cursor: string | null = null;
  private timer = 0;
  private entries: ThreadEntry[] = [];

  constructor(
    private readonly onClose: () => void,
    private readonly current: () => string | undefined,
  ) {
    this.search.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = window.setTimeout(() => { this.ask(null); }, 200);
    });
    this.archived.addEventListener("change", () => { this.ask(null); });
    this.root = el("section", { class: "thread-list", label: "Conversations" }, el("div", { class: "thread-search" }, iconButton("back", "Back to the conversation", onClose), this.search), el("label", { class: "dim archived" }, this.archived, "Archived"), this.list, this.more);
    this.root.hidden = true;
    this.root.addEventListener("keydown", (event) => { this.key(event); });
  }

  show(): void {
    this.root.hidden = false;
    this.ask(null);
    this.search.focus();
  }

  hide(): void {
    this.root.hidden = true;
  }

  take(entries: readonly ThreadEntry[], more: string | null, append: boolean): void {
    this.entries = append ? [...this.entries, ...entries] : [...entries];
    this.cursor = more;
    this.more.hidden = more === null;
    redraw(this.list, () => { this.list.replaceChildren(...this.entries.map((entry) => this.row(entry))); }, this.search);
    if (this.entries.length === 0) {
      this.list.append(el("li", { class: "dim empty" }, this.search.value === "" ? "There are no conversations yet." : "Nothing was found."));
    }
  }

  private ask(cursor: string | null): void {
    post({ type: "threads", search: this.search.value, archived: this.archived.checked, cursor });
  }

  private row(entry: ThreadEntry): HTMLElement {
    const act = (action: Action) => (): void => { post({ type: "threadAction", action, threadId: entry.id }); };
    // The list stays until the conversation is there.
    const open = (): void => { post({ type: "open", threadId: entry.id }); };
    const states: Partial<Record<ThreadEntry["status"], string>> = { active: "working", waitingOnApproval: "waiting for approval", waitingOnUserInput: "waiting for an answer" };
    const state = states[entry.status];
    return el("li", { class: entry.id === this.current() ? "thread current" : "thread", attrs: { "data-of": entry.id } },
      button("", open, { class: "thread-open", label: `${entry.title}${state === undefined ? "" : `, ${state}`}` }),
      el("div", { class: "thread-title" }, entry.title),
      el("div", { class: "dim" }, [state, dateWords(new Date(entry.updatedAtMs).toLocaleString([], { dateStyle: "medium", timeStyle: "short" })), entry.cwd].filter(Boolean).join(" · ")),
      entry.snippet === undefined ? undefined : el("div", { class: "snippet" }, entry.snippet),
      el("div", { class: "thread-actions" }, iconButton("edit", "Rename", act("rename")), iconButton("fork", "Fork", act("fork")), iconButton("window", "Open in an editor tab", act("editor")), entry.archived ? iconButton("back", "Unarchive", act("unarchive")) : iconButton("archive", "Archive", act("archive")), iconButton("trash", "Delete", act("delete"))));
  }

  private key(event: KeyboardEvent): void {
    if (event.key === "Escape") {
      this.onClose();
      return;
    }
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step === 0) {
      return;
    }
    const all = [this.search, ...this.list.querySelectorAll<HTMLElement>(".thread-open")];
    const at = all.findIndex((one) => one === document.activeElement);
    const next = all[at + step];
    if (next !== undefined) {
      event.preventDefault();
      next.focus();
    }
  }
}
