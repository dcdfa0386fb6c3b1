/**
 * The list of a thread's rows. Only those in view are in the page; the rest is blank space of the right height.
 */
import { isGroup } from "../src/chat/groups";
import type { Entry } from "../src/chat/groups";
import { Heights } from "../src/chat/virtual";
import { el, redraw } from "./dom";

/** How long after a touch the list may still move by it. */
const HAND_MS = 500;

/** A row that is drawn. */
export interface Drawn {
  readonly root: HTMLElement;
  /** Draws what has changed. */
  update(row: Entry): void;
}

export class RowList {
  readonly root = el("div", { class: "rows-scroll", role: "feed", label: "Conversation", attrs: { tabindex: "0" } });
  private readonly above = el("div", { class: "rows-space" });
  private readonly below = el("div", { class: "rows-space" });
  private readonly body = el("div", { class: "rows" });
  private readonly heights = new Heights();
  private readonly drawn = new Map<string, { drawn: Drawn; rev: number; index: number }>();
  private rows: readonly Entry[] = [];
  /** Where the list is to be scrolled to once its rows are drawn. */
  private wanted: number | undefined;
  /** Whether the end is in view, which is then kept in view. */
  private atEnd = true;
  private frame = 0;
  private lastTop = 0;
  private lastHeight = 0;
  private lastClient = 0;
  /** When the person last did something that can scroll; milliseconds since the page is there. */
  private touchedAt = -Infinity;
  /** Whether a row is just drawn anew, which may move the focus in it. */
  private redrawing = false;
  private readonly sizes = new ResizeObserver((entries) => { this.measured(entries); });

  constructor(
    private readonly draw: (row: Entry) => Drawn,
    private readonly onEnd: (atEnd: boolean) => void,
  ) {
    this.root.append(this.above, this.body, this.below);
    this.root.addEventListener("scroll", () => {
      const { scrollTop, scrollHeight, clientHeight } = this.root;
      // Only who scrolls up leaves the end. A list is moved up as well where it or what is below it changes its height, and the page tells
      // of it only once both may be as before, or larger: so without a hand on it, it was left only where nothing else happens.
      const still = this.frame === 0 && scrollHeight === this.lastHeight && clientHeight === this.lastClient;
      const byHand = performance.now() - this.touchedAt < HAND_MS;
      if (scrollHeight - scrollTop - clientHeight < 24) this.atEnd = true;
      else if ((byHand || still) && scrollTop < this.lastTop - 1) this.atEnd = false;
      // A drag and a swing go on with no more than this to be seen of them; where it is as it was left, the list has moved itself.
      if (byHand && scrollTop !== this.lastTop) this.touchedAt = performance.now();
      this.remember();
      this.onEnd(this.atEnd);
      this.schedule();
    }, { passive: true });
    for (const touch of ["wheel", "touchmove", "pointerdown", "keydown", "focusin"]) {
      this.root.addEventListener(touch, () => {
        if (!this.redrawing) this.touchedAt = performance.now();
      }, { passive: true });
    }
    new ResizeObserver(() => { this.schedule(); }).observe(this.root);
    this.root.addEventListener("keydown", (event) => { this.key(event); });
  }

  /** Another thread, or the same made anew. */
  reset(rows: readonly Entry[]): void {
    this.rows = rows;
    this.heights.reset(rows.map(estimate));
    this.drawn.forEach(({ drawn }, key) => { this.drop(key, drawn); });
    this.wanted = undefined;
    this.atEnd = true;
    this.onEnd(true);
    this.schedule();
  }

  /** Rows have come or gone, or have changed. Each that stays keeps its height, and what is read its place. */
  changed(rows: readonly Entry[]): void {
    const before = this.rows;
    this.rows = rows;
    if (before.every(({ key }, i) => rows[i]?.key === key)) {
      for (const row of rows.slice(before.length)) this.heights.push(estimate(row));
    } else {
      this.realign(before);
    }
    this.schedule();
  }

  private realign(before: readonly Entry[]): void {
    const top = this.wanted ?? this.root.scrollTop;
    const inView = this.heights.at(top);
    const within = top - this.heights.offset(inView);
    const heights = new Map(before.map(({ key }, i) => [key, this.heights.height(i)]));
    const places = new Map(this.rows.map(({ key }, i) => [key, i]));
    this.heights.reset(this.rows.map((row) => heights.get(row.key) ?? estimate(row)));
    for (const [key, entry] of this.drawn) {
      const index = places.get(key);
      if (index === undefined) this.drop(key, entry.drawn);
      else entry.index = index;
    }
    const isThere = (row: Entry | undefined): boolean => row !== undefined && places.has(row.key);
    // Where the row at the top has gone into a group, that has taken the place of it.
    const anchor = isThere(before[inView]) ? inView : before.findLastIndex((row, i) => i < inView && isThere(row));
    const at = places.get(before[anchor]?.key ?? "");
    if (!this.atEnd && this.root.clientHeight > 0) this.wanted = at === undefined ? 0 : this.heights.offset(at) + (anchor === inView ? within : this.heights.height(at));
  }

  private drop(key: string, { root }: Drawn): void {
    this.sizes.unobserve(root);
    root.remove();
    this.drawn.delete(key);
  }

  /** Draws a row again for something that is not in it. */
  touch(key: string): void {
    const entry = this.drawn.get(key);
    const row = entry === undefined ? undefined : this.rows[entry.index];
    if (row !== undefined) entry?.drawn.update(row);
  }

  /** The list is in view again: what follows is the person's. */
  shown(): void {
    this.layout();
  }

  toEnd(): void {
    this.atEnd = true;
    this.onEnd(true);
    this.schedule();
  }

  /** To a row, by its key. */
  toKey(key: string): void {
    this.toRow(Math.max(0, this.rows.findIndex((row) => row.key === key)));
  }

  private toRow(index: number): void {
    this.atEnd = false;
    this.wanted = undefined;
    this.root.scrollTop = Math.max(0, this.heights.offset(index) - 40);
    this.schedule();
  }

  private schedule(): void {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.layout();
    });
  }

  private layout(): void {
    const height = this.root.clientHeight || 600;
    const top = this.atEnd ? Math.max(0, this.heights.total - height) : (this.wanted ?? this.root.scrollTop);
    const { first, end } = this.heights.window(top, height);
    for (const [key, { drawn, index }] of this.drawn) {
      if (index < first || index >= end) this.drop(key, drawn);
    }
    let before: Element | null = null;
    for (let i = first; i < end; i++) {
      const row = this.rows[i];
      if (row === undefined) continue;
      const root = this.place(row, i);
      // Moving a node would take the focus and the selection from it.
      const wanted: Element | null = before === null ? this.body.firstElementChild : before.nextElementSibling;
      if (root !== wanted) {
        this.body.insertBefore(root, wanted);
      }
      before = root;
    }
    this.above.style.height = `${this.heights.offset(first)}px`;
    this.below.style.height = `${this.heights.total - this.heights.offset(end)}px`;
    if (this.atEnd || this.wanted !== undefined) {
      this.root.scrollTop = this.atEnd ? this.root.scrollHeight : top;
      this.remember();
    }
    this.wanted = undefined;
  }

  private remember(): void {
    this.lastTop = this.root.scrollTop;
    this.lastHeight = this.root.scrollHeight;
    this.lastClient = this.root.clientHeight;
  }

  private place(row: Entry, index: number): HTMLElement {
    const known = this.drawn.get(row.key);
    if (known !== undefined) {
      if (known.rev !== row.rev) {
        this.redrawing = true;
        try {
          redraw(known.drawn.root, () => { known.drawn.update(row); });
        } finally {
          this.redrawing = false;
        }
        known.rev = row.rev;
      }
      known.index = index;
      known.drawn.root.setAttribute("aria-posinset", String(index + 1));
      known.drawn.root.setAttribute("aria-setsize", String(this.rows.length));
      return known.drawn.root;
    }
    const drawn = this.draw(row);
    const { root } = drawn;
    root.tabIndex = -1;
    root.dataset["key"] = row.key;
    root.setAttribute("role", "article");
    root.setAttribute("aria-posinset", String(index + 1));
    root.setAttribute("aria-setsize", String(this.rows.length));
    this.drawn.set(row.key, { drawn, rev: row.rev, index });
    this.sizes.observe(root);
    return root;
  }

  private measured(entries: readonly ResizeObserverEntry[]): void {
    // What is hidden has no height, which is not its own.
    if (this.root.clientHeight === 0) {
      return;
    }
    let moved = 0;
    let changed = false;
    const top = this.root.scrollTop;
    for (const { target } of entries) {
      const entry = target instanceof HTMLElement ? this.drawn.get(target.dataset["key"] ?? "") : undefined;
      if (entry === undefined || !entry.drawn.root.isConnected) continue;
      const isAbove = this.heights.offset(entry.index) + this.heights.height(entry.index) <= top;
      const grown = this.heights.set(entry.index, entry.drawn.root.getBoundingClientRect().height);
      changed ||= grown !== 0;
      // What is read stays where it is when something above turns out to have another height.
      if (isAbove) moved += grown;
    }
    if (moved !== 0 && !this.atEnd) {
      this.root.scrollTop = top + moved;
    }
    if (changed) {
      this.schedule();
    }
  }

  /** From row to row by the arrow keys, where the focus is on a row and not in it. */
  private key(event: KeyboardEvent): void {
    const { target } = event;
    if (!(target instanceof HTMLElement) || (target !== this.root && target.parentElement !== this.body)) {
      return;
    }
    if (event.key === "End" || event.key === "Home") {
      event.preventDefault();
      if (event.key === "End") this.toEnd();
      else this.toRow(0);
      return;
    }
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step === 0) {
      return;
    }
    const shown = [...this.body.children].filter((one): one is HTMLElement => one instanceof HTMLElement);
    const at = target === this.root ? (step === 1 ? -1 : shown.length) : shown.indexOf(target);
    const next = shown[at + step];
    if (next !== undefined) {
      event.preventDefault();
      next.focus();
      next.scrollIntoView({ block: "nearest" });
    }
  }
}

function estimate(row: Entry): number {
  if (isGroup(row)) return 24;
  return row.body.kind === "item" ? 80 : 60;
}
