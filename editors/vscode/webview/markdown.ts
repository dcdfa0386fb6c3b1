/**
 * Draws Markdown. Blocks that have not changed keep their elements, so that what streams in does not flicker and a selection stays.
 */
import type { Block, CodeBlock, Tree } from "../src/chat/markdown";
import { GrowingText } from "../src/chat/markdown";
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
      if (this.shown[i] === block) return;
      const node = el("div", { class: "block" }, ...block.trees.map(drawn));
      const before = this.nodes[i];
      if (before === undefined) this.root.append(node);
      else before.replaceWith(node);
      this.nodes[i] = node;
    });
    for (const node of this.nodes.splice(blocks.length)) node.remove();
    this.shown = [...blocks];
  }
}

export function markdown(text: string): HTMLElement {
  const view = new MarkdownView();
  view.update(text);
  return view.root;
}

function drawn(tree: Tree): Node {
  if (typeof tree === "string") {
    return document.createTextNode(tree);
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
    node.title = href;
    const open = (): void => { post({ type: "link", href }); };
    node.addEventListener("click", open);
    node.addEventListener("keydown", (event) => {
      if (event instanceof KeyboardEvent && event.key === "Enter") open();
    });
  }
  node.append(...children.map(drawn));
  return tag === "table" ? el("div", { class: "table" }, node) : node;
}

export function codeBlock({ code, language, parts }: CodeBlock): HTMLElement {
  const act = (action: "copy" | "insert" | "apply") => (): void => { post({ type: "code", action, text: code, language }); };
  return el(
    "figure",
    { class: "code", label: language === "" ? "Code" : `Code, ${language}`, role: "group" },
    el("figcaption", {}, el("span", { class: "language" }, language), button("Copy", act("copy"), { icon: "copy" }), button("Insert", act("insert"), { title: "Insert at the cursor" }), button("Apply", act("apply"), { title: "Replace the selection, else the file; the editor shows the change first" })),
    el("pre", { attrs: { tabindex: "0" } }, el("code", {}, ...parts.map(drawn))),
  );
}
