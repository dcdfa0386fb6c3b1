/**
 * The bar that finds words in the conversation.
 */
import { found } from "../src/chat/find";
import type { Row } from "../src/chat/view";
import { el, iconButton } from "./dom";

export class FindBar {
  private readonly input = el("input", { label: "Find in the conversation", attrs: { type: "search", placeholder: "Find" } });
  private readonly count = el("span", { class: "dim", attrs: { "aria-live": "polite" } });
  readonly root = el("div", { class: "find", role: "search" }, this.input, this.count, iconButton("up", "Previous match (Shift+Enter)", () => { this.step(-1); }), iconButton("down", "Next match (Enter)", () => { this.step(1); }), iconButton("close", "Close (Esc)", () => { this.close(); }));
  private keys: readonly string[] = [];
  private at = -1;

  constructor(
    private readonly rows: () => readonly Row[],
    private readonly show: (key: string) => void,
    private readonly closed: () => void,
  ) {
    this.root.hidden = true;
    this.input.addEventListener("input", () => {
      this.at = -1;
      this.step(1);
    });
    this.root.addEventListener("keydown", (event) => {
      if (event.key === "Escape") {
        event.preventDefault();
        event.stopPropagation();
        this.close();
      } else if (event.key === "Enter" && event.target === this.input && !event.isComposing) {
        event.preventDefault();
        this.step(event.shiftKey ? -1 : 1);
      }
    });
  }

  open(): void {
    this.root.hidden = false;
    this.input.focus();
    this.input.select();
  }

  /** Another conversation is shown. */
  reset(): void {
    this.root.hidden = true;
    this.at = -1;
  }

  private close(): void {
    this.reset();
    this.closed();
  }

  private step(by: 1 | -1): void {
    const before = this.keys[this.at];
    this.keys = found(this.rows(), this.input.value);
    // Rows may have come since: it goes on from where it was.
    const from = before === undefined ? (by === 1 ? -1 : 0) : this.keys.indexOf(before);
    const count = this.keys.length;
    this.at = count === 0 ? -1 : (from + by + count) % count;
    this.count.textContent = this.input.value.trim() === "" ? "" : count === 0 ? "No results" : `${this.at + 1} of ${count}`;
    const key = this.keys[this.at];
    if (key !== undefined) this.show(key);
  }
}
