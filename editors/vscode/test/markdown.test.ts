import * as assert from "node:assert/strict";
import { test } from "node:test";
import type { Tree } from "../src/chat/markdown";
import { blocks, GrowingText, safeLink } from "../src/chat/markdown";

const TAGS = new Set(["p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "hr", "br", "em", "strong", "s", "code", "table", "thead", "tbody", "tr", "th", "td", "a", "span"]);

function* nodes(trees: readonly Tree[]): Generator<Exclude<Tree, string>> {
  for (const tree of trees) {
    if (typeof tree === "string") continue;
    yield tree;
    yield* nodes("code" in tree ? tree.parts : tree.children);
  }
}

const text = (trees: readonly Tree[]): string => trees.map((tree) => (typeof tree === "string" ? tree : "code" in tree ? tree.code : text(tree.children))).join("");
const all = (source: string): Tree[] => blocks(source).flatMap((block) => block.trees);

const HOSTILE = [
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "a <b onmouseover=alert(1)>b</b>",
  "<iframe src='https://example.org'></iframe>",
  "<svg/onload=alert(1)>",
  "<style>*{display:none}</style>",
  "<form action=https://example.org><input name=q></form>",
  "<a href='javascript:alert(1)'>x</a>",
  "<!-- --><script>x</script>",
  "<![CDATA[<script>]]>",
  "[x](javascript:alert(1))",
  "[x](JaVaScRiPt:alert(1))",
  "[x](java\u0000script:alert(1))",
  "[x](&#106;avascript:alert(1))",
  "[x](javascript&colon;alert(1))",
  "[x](javascript%3Aalert(1))",
  "[x](  javascript:alert(1))",
  "[x](<java\tscript:alert(1)>)",
  "[x](data:text/html;base64,PHNjcmlwdD4=)",
  "[x](vbscript:msgbox)",
  "[x](vscode://file/etc/passwd)",
  "[x](command:workbench.action.terminal.new)",
  "[x](vscode-resource:/etc/passwd)",
  "[x](blob:https://example.org/1)",
  "[x](//example.org)",
  "[x](\\\\example.org\\share)",
  "[x](file://example.org/share)",
  "[x](https://user:secret@example.org)",
  "[x](https://good.example@evil.example)",
  "[x](https://example.org/\u202ecod.exe)",
  "![x](https://example.org/x.png)",
  "![x][y]\n\n[y]: https://example.org/x.png?q=secret",
  "![y]\n\n[y]: https://example.org/x.png?q=secret",
  "<picture><source srcset=https://example.org/x.png></picture>",
  "<video poster=//example.org/x.png>",
  "<style>@import 'https://example.org/x'</style>",
  "<link rel=prefetch href=https://example.org/x>",
  "[x](https://example.org/\u00ad\u2800cod.exe)",
  "![x](data:image/svg+xml;base64,PHN2Zz4=)",
  "[![x](https://example.org/x.png)](javascript:alert(1))",
  "<https://example.org> <javascript:alert(1)>",
  "[x]: javascript:alert(1)\n\n[x]",
  "```\n</code></pre><script>alert(1)</script>\n```",
  "```<img src=x onerror=alert(1)>\nx\n```",
  "`<script>`",
  "| <script> | b |\n|---|---|\n| [x](javascript:1) | c |",
  "# <script>alert(1)</script>",
  "> [x](javascript:alert(1))",
  "* [ ] <input type=checkbox onclick=alert(1)>",
  `${"[".repeat(500)}x${"](javascript:1)".repeat(500)}`,
  `${"> ".repeat(200)}deep`,
  `${"*".repeat(3000)}x`,
  "\u0000\u0001",
  "",
];

test("what is hostile becomes nothing but text and known elements", () => {
  for (const source of HOSTILE) {
    for (const node of nodes(all(source))) {
      if ("code" in node) {
        assert.match(node.language, /^[\w+#.-]*$/, source);
        continue;
      }
      assert.ok(TAGS.has(node.tag), `${node.tag} from ${source}`);
      assert.deepEqual(Object.keys(node).filter((key) => !["tag", "children", "href", "start", "className"].includes(key)), [], source);
      if (node.href !== undefined) {
        assert.ok(/^https?:\/\//i.test(node.href), `${node.href} from ${source}`);
        assert.ok(!/@|javascript/i.test(node.href), `${node.href} from ${source}`);
      }
      if (node.className !== undefined) assert.match(node.className, /^tok-[a-z]+$/);
    }
  }
});

test("HTML is shown as it was written", () => {
  assert.equal(text(all("a <b>c</b>")), "a <b>c</b>");
  assert.equal(text(all("<div>x</div>")), "<div>x</div>");
});

test("links that may be opened, and those that may not", () => {
  for (const good of ["https://example.org/a?b#c", "http://localhost:3000", "mailto:a@example.org", "src/main.rs", "src/main.rs:10", "./a b.md", "/w/a.rs#L3", "file:///w/a.rs", "C:\\x\\y.rs", "main.rs:10:4"]) {
    assert.equal(safeLink(good), good, good);
  }
  for (const bad of ["", " ", "#x", "//example.org", "javascript:1", " javascript:1", "ftp://example.org", "vscode:extension/x", "command:x", "data:x", "about:blank", "ws://x", "https://", "https://a@b", "file://host/x", "a\nb", `https://${"x".repeat(5000)}`]) {
    assert.equal(safeLink(bad), undefined, bad);
  }
});

test("what Markdown is for", () => {
  const shape = (trees: readonly Tree[]): unknown => trees.map((tree) => (typeof tree === "string" ? tree : "code" in tree ? [`code:${tree.language}`, tree.code] : [tree.tag, ...(shape(tree.children) as unknown[])]));
  assert.deepEqual(shape(all("# T\n\na **b** `c`\n\n3. x\n4. y\n")), [["h1", "T"], ["p", "a ", ["strong", "b"], " ", ["code", "c"]], ["ol", ["li", ["p", "x"]], ["li", ["p", "y"]]]]);
  assert.deepEqual(shape(all("```rust\nlet x = 1;\n```")), [["code:rust", "let x = 1;\n"]]);
  const list = all("3. x").find((tree) => typeof tree !== "string" && "tag" in tree);
  assert.ok(typeof list === "object" && "start" in list && list.start === 3);
});

const STORY = "# Title\n\nSome *text* that\ngoes on.\n\n- one\n- two\n\n  more of two\n\n```js\nlet x = 1;\n\nlet y = 2;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> quoted\n> on\n\nSetext\n======\n\nThe end.\n";

test("a text that grows sign by sign ends as if it had been there at once, and its finished blocks stay", () => {
  const growing = new GrowingText();
  let before: readonly unknown[] = [];
  for (let end = 1; end <= STORY.length; end++) {
    const now = growing.update(STORY.slice(0, end));
    // All but the last of what was there is the very same.
    const kept = before.slice(0, Math.max(0, Math.min(before.length, now.length) - 1));
    kept.forEach((block, i) => { assert.ok(now[i] === block, `block ${i} was made anew at ${end}`); });
    before = now;
  }
  assert.deepEqual(growing.update(STORY).map((block) => block.trees), blocks(STORY).map((block) => block.trees));
  assert.equal(growing.update(STORY).map((block) => block.source).join(""), STORY);
});

test("a text that becomes another one is read from its start", () => {
  const growing = new GrowingText();
  growing.update("a\n\nb\n\nc");
  assert.equal(text(growing.update("x\n\ny").flatMap((block) => block.trees)), "xy");
});
