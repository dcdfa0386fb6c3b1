/**
 * Draws Markdown. Blocks that have not changed keep their elements, so that what streams in does not flicker and a selection stays.
 */
import type { Block, CodeBlock, Tree } from "../src/chat/markdown";
import { GrowingText } from "../src/chat/markdown";
import { shown } from "../src/chat/words";
import { button, el } from "./dom";
import { post } from "./host";

export class MarkdownView {
  readonly root = el("div", { class: "markdown" });
  private readonly growing = new GrowingText();
  private shown: Block[] = [];
  private readonly nodes: HTMLElement[] = [];

  update(text: string): void {
    const blocks = this.growing.update(text);
    blocks.forEach((block, i) => {
      if (this.shown[i] === block || this.grow(i, block)) return;
      const node = el("div", { class: "block" }, ...block.trees.map(drawn));
      const before = this.nodes[i];
      if (before === undefined) this.root.append(node);
      else before.replaceWith(node);
      this.nodes[i] = node;
    });
    for (const node of this.nodes.splice(blocks.length)) node.remove();
    this.shown = [...blocks];
  }

  /** Writes on in the code that a block is; false where it is something else. */
  private grow(at: number, { trees: [tree, ...more] }: Block): boolean {
    const [before, ...others] = this.shown[at]?.trees ?? [];
    const figure = this.nodes[at]?.firstElementChild;
    const write = figure instanceof HTMLElement ? writers.get(figure) : undefined;
    if (write === undefined || !isCode(before) || !isCode(tree) || before.language !== tree.language || others.length + more.length > 0) {
      return false;
    }
    write(tree);
    return true;
  }
}

/** How code that is drawn is written on: with the same buttons, and with what is selected in it. */
const writers = new WeakMap<HTMLElement, (now: CodeBlock) => void>();

function isCode(tree: Tree | undefined): tree is CodeBlock {
  return typeof tree === "object" && "code" in tree;
}

export function markdown(text: string): HTMLElement {
  const view = new MarkdownView();
  view.update(text);
  return view.root;
}

function drawn(tree: Tree): Node {
  if (typeof tree === "string") {
    return document.createTextNode(shown(tree));
  }
  if ("code" in tree) {
    return codeBlock(tree);
  }
  const { tag, children, href, start, className } = tree;
  const node = document.createElement(tag);
  if (className !== undefined) node.className = className;
  if (start !== undefined) node.setAttribute("start", String(start));
  if (href !== undefined) {
    // It has no address of its own: the extension checks it and opens it.
    node.setAttribute("role", "link");
    node.tabIndex = 0;
    node.title = shown(href);
    const open = (): void => { post({ type: "link", href }); };
    node.addEventListener("click", open);
    node.addEventListener("keydown", (event) => {
      if (event instanceof KeyboardEvent && event.key === "Enter") open();
    });
  }
  node.append(...children.map(drawn));
  return tag === "table" ? el("div", { class: "table" }, node) : node;
}

export function codeBlock(first: CodeBlock): HTMLElement {
  let current = first;
  const { language } = first;
  const act = (action: "copy" | "insert" | "apply") => (): void => { post({ type: "code", action, text: current.code, language }); };
  const text = el("code", {}, ...first.parts.map(drawn));
  const figure = el(
    "figure",
    { class: "code", label: language === "" ? "Code" : `Code, ${language}`, role: "group" },
    el("figcaption", {}, el("span", { class: "language" }, language), button("Copy", act("copy"), { icon: "copy" }), button("Insert", act("insert"), { title: "Insert at the cursor" }), button("Apply", act("apply"), { title: "Replace the selection, or put it where it belongs; you see the change before it is made" })),
    el("pre", { role: "group", label: "Code", attrs: { tabindex: "0" } }, text),
  );
  writers.set(figure, (now) => {
    const differs = now.parts.findIndex((part, i) => JSON.stringify(part) !== JSON.stringify(current.parts[i]));
    const same = differs < 0 ? now.parts.length : differs;
    while (text.childNodes.length > same) text.lastChild?.remove();
    text.append(...now.parts.slice(same).map(drawn));
    current = now;
  });
  return figure;
}
