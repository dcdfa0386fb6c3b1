import * as assert from "node:assert/strict";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { test } from "node:test";
import { outputText } from "../src/chat/output_text";

test("all of an output is shown as it may be seen; where it cannot be, it says why and where it is", async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "countersign-output-"));
  const file = path.join(folder, "output.txt");
  try {
    for (const [text, most, expected] of [
      ["1\n\t2\n", 1000, /^1\n\t2\n$/],
      ["a\u202Eb\n", 1000, /^a<U\+202E>b\n$/],
      ["x".repeat(11), 10, /^This output is too long .*:\n.*output\.txt\n$/],
      // What is written out is longer than it was.
      ["\u202E\u202E", 10, /^This output is too long/],
    ] as const) {
      fs.writeFileSync(file, text);
      assert.match(await outputText(file, most), expected);
    }
    fs.rmSync(file);
    assert.match(await outputText(file), /^This output is not kept any more\. .*:\n.*output\.txt\n$/);
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});
