/**
 * Markdown as a tree of few, known elements. What the model wrote is not trusted: no HTML is ever taken from it or made of it, only
 * nodes of this list are built, and a link that leads elsewhere than to the web, to mail or to a file is only text.
 */
import MarkdownIt from "markdown-it";
import { highlighted } from "./highlight";
import { hides } from "./words";

export type Tag = "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "ul" | "ol" | "li" | "blockquote" | "hr" | "br" | "em" | "strong" | "s" | "code" | "table" | "thead" | "tbody" | "tr" | "th" | "td" | "a" | "span";

export interface Node {
  readonly tag: Tag;
  readonly children: Tree[];
  /** Of a link. */
  readonly href?: string;
  /** Of a numbered list: its first number. */
  readonly start?: number;
  readonly className?: string;
}

/** A code block: drawn with its buttons. */
export interface CodeBlock {
  readonly code: string;
  readonly language: string;
  readonly parts: readonly Tree[];
}

export type Tree = string | Node | CodeBlock;

/** A top-level block with the text that it was made of. */
export interface Block {
  readonly source: string;
  readonly trees: Tree[];
}

const parser = new MarkdownIt("default", { html: false, linkify: false, typographer: false });
// A picture would be loaded from somewhere; its link is kept.
parser.disable("image");
parser.validateLink = (href: string) => safeLink(href) !== undefined;

type Token = ReturnType<typeof parser.parse>[number];

/**
 * The address of a link as it may be opened; undefined if it may not. Kept: `https`, `http`, `mailto`, and paths of files.
 */
export function safeLink(href: string): string | undefined {
  // What a browser would leave out when it reads the scheme is no part of an honest address. Nor is what hides.
  if (href.length > 4000 || /[\n\t]/.test(href) || hides(href)) {
    return undefined;
  }
  const address = href.trim();
  if (address === "" || address.startsWith("#") || address.startsWith("//") || /^(\\|%5c|%2f)/i.test(address)) {
    return undefined;
  }
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(address)?.[1]?.toLowerCase();
  if (scheme === undefined) {
    // What only just is no scheme could be one where it is read again. A number behind a colon is a line.
    return /^[^/?#]*(%3a|&colon;|&#|:(?!\d))/i.test(address) ? undefined : address;
  }
  if (scheme === "http" || scheme === "https") {
    try {
      const { hostname, username, password } = new URL(address);
      // A name in front of the host is there to deceive.
      return hostname !== "" && username === "" && password === "" ? address : undefined;
    } catch {
      return undefined;
    }
  }
  if (scheme === "mailto" || (scheme === "file" && /^file:\/\/\/[^/]/i.test(address))) {
    return address;
  }
  // `src/main.rs:10` has no scheme, nor has `C:\x`; whatever else has one is not opened.
  return /^[\w.-]+\.[A-Za-z0-9]+:\d+(:\d+)?$/.test(address) || /^[A-Za-z]:[\\/]/.test(address) ? address : undefined;
}

/** The whole text as blocks. */
export function blocks(text: string): Block[] {
  return cut(parser.parse(text, {}), text.split("\n"), 0);
}

/**
 * A text that grows. Only its last block is read anew with each piece; what lies before stays the same object, so that who draws it
 * can keep what was drawn.
 */
export class GrowingText {
  private text = "";
  private readonly done: Block[] = [];
  private doneLength = 0;

  /** The blocks of the text; it is read from the start if it does not go on with what it was. */
  update(text: string): readonly Block[] {
    if (!text.startsWith(this.text)) {
      this.done.length = 0;
      this.doneLength = 0;
    }
    this.text = text;
    const tail = text.slice(this.doneLength);
    const lines = tail.split("\n");
    const read = cut(parser.parse(tail, {}), lines, 0);
    // All but the last block can change no more: a block ends where the next one begins.
    const settled = read.slice(0, -1);
    for (const block of settled) {
      this.doneLength += block.source.length;
    }
    this.done.push(...settled);
    return [...this.done, ...read.slice(-1)];
  }
}

/** Groups the tokens by the top-level block that they belong to. Each source runs up to where the next block begins. */
function cut(tokens: readonly Token[], lines: readonly string[], base: number): Block[] {
  const starts: { line: number; tokens: Token[] }[] = [];
  for (const token of tokens) {
    if (token.level === 0 && token.nesting !== -1 && token.map !== null) {
      starts.push({ line: token.map[0] + base, tokens: [] });
    }
    starts.at(-1)?.tokens.push(token);
  }
  return starts.map((start, i) => {
    const next = starts[i + 1];
    const from = i === 0 ? 0 : start.line;
    const source = next === undefined ? lines.slice(from).join("\n") : lines.slice(from, next.line).map((line) => `${line}\n`).join("");
    return { source, trees: build(start.tokens) };
  });
}

const PLAIN: Readonly<Record<string, Tag>> = {
  paragraph_open: "p",
  bullet_list_open: "ul",
  ordered_list_open: "ol",
  list_item_open: "li",
  blockquote_open: "blockquote",
  table_open: "table",
  thead_open: "thead",
  tbody_open: "tbody",
  tr_open: "tr",
  th_open: "th",
  td_open: "td",
  em_open: "em",
  strong_open: "strong",
  s_open: "s",
};

function build(tokens: readonly Token[]): Tree[] {
  const root: Tree[] = [];
  const stack: Tree[][] = [root];
  const add = (tree: Tree): void => {
    stack.at(-1)?.push(tree);
  };
  for (const token of tokens) {
    if (token.nesting === -1) {
      if (stack.length > 1) stack.pop();
      continue;
    }
    if (token.nesting === 1) {
      const node = opened(token);
      add(node);
      stack.push(node.children);
      continue;
    }
    switch (token.type) {
      case "inline":
        build(token.children ?? []).forEach(add);
        break;
      case "text":
        if (token.content !== "") add(token.content);
        break;
      case "softbreak":
        add("\n");
        break;
      case "hardbreak":
        add({ tag: "br", children: [] });
        break;
      case "hr":
        add({ tag: "hr", children: [] });
        break;
      case "code_inline":
        add({ tag: "code", children: [token.content] });
        break;
      case "fence":
      case "code_block":
        add(codeBlock(token.content, token.type === "fence" ? (/^[\w+#.-]*/.exec(token.info.trim())?.[0] ?? "") : ""));
        break;
      default:
        // What is not known is shown as what was written.
        if (token.content !== "") add(token.content);
    }
  }
  return root;
}

function opened(token: Token): Node {
  if (token.type === "heading_open") {
    const level = /^h[1-6]$/.test(token.tag) ? (token.tag as Tag) : "h6";
    return { tag: level, children: [] };
  }
  if (token.type === "link_open") {
    const href = safeLink(String(token.attrGet("href") ?? ""));
    return href === undefined ? { tag: "span", children: [] } : { tag: "a", children: [], href };
  }
  const tag = PLAIN[token.type] ?? "span";
  const start = Number(token.attrGet("start") ?? Number.NaN);
  return tag === "ol" && Number.isSafeInteger(start) ? { tag, children: [], start } : { tag, children: [] };
}

export function codeBlock(code: string, language: string): CodeBlock {
  const parts = highlighted(code, language).map((part): Tree => (part.kind === undefined ? part.text : { tag: "span", children: [part.text], className: `tok-${part.kind}` }));
  return { code, language, parts };
}
