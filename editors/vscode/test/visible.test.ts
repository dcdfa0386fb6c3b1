import * as assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { test } from "node:test";
import MarkdownIt from "markdown-it";
import { hides, visible, visibleText } from "../src/chat/visible";

/** What the server makes of texts; its tests write it. */
function corpus(name: string): string[][] {
  const text = fs.readFileSync(path.resolve(__dirname, "..", "..", "..", "..", "tests", "it", "corpus", `${name}.jsonl`), "utf8");
  const rows = text.trimEnd().split("\n").map((line) => JSON.parse(line) as string[]);
  assert.ok(rows.length > 1000, name);
  return rows;
}

test("what hides is shown as the server shows it", () => {
  for (const [given = "", kept = "", counted = kept] of corpus("shown")) {
    assert.equal(visibleText(given), kept);
    assert.equal(visible(given), counted);
    assert.equal(hides(given), kept !== given);
  }
});

test("what is no text shows as such", () => {
  assert.equal(visible("a\ud800b\udc00"), "a<U+D800>b<U+DC00>");
});

test("a document of the server's has nothing in it that is loaded by being shown", () => {
  const page = new MarkdownIt({ html: true });
  page.validateLink = () => true;
  type Token = ReturnType<typeof page.parse>[number];
  const look = (token: Token, row: string): void => {
    assert.notEqual(token.type, "image", row);
    const acts = /[\s/]|<img|<!|<details|<template/.test(token.content.replace(/^<\//, "<"));
    assert.ok(!(token.type.startsWith("html_") && acts), row);
    const leads = token.type === "link_open" && token.info !== "auto" ? String(token.attrGet("href") ?? "") : "";
    assert.ok(!/^(javascript|data):|^\/\/|^https?:.{200}|^https?:.*[?#].{41}/i.test(leads), row);
    assert.ok(!(token.type === "fence" && /^[{. ]*mermaid(?![\w-])/.test(token.info)), row);
    for (const child of token.children ?? []) look(child, row);
  };
  for (const [given, safe = ""] of corpus("inert")) {
    for (const token of page.parse(safe, {})) look(token, JSON.stringify([given, safe]));
  }
});
