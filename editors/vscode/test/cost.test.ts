import * as assert from "node:assert/strict";
import { test } from "node:test";
import { costWords } from "../src/chat/words";

test("a cost is shown as far as it is known", () => {
  for (const [cost, short, words] of [
    [{ usd: 0.0012, isPartial: false }, "$0.0012", "about $0.0012"],
    [{ usd: 0.042, isPartial: false }, "$0.04", "about $0.04"],
    [{ usd: 12.5, isPartial: true }, "> $12.50", "more than $12.50"],
  ] as const) {
    assert.equal(costWords(cost)?.short, short);
    assert.ok(costWords(cost)?.whole.includes(words));
  }
  for (const unknown of [undefined, null]) assert.equal(costWords(unknown), undefined);
});
