import * as assert from "node:assert/strict";
import { test } from "node:test";
import { fitted, leavesOut, placesOf } from "../src/chat/placement";

const PYTHON = "import os\n\ndef total(items):\n    sum = 0\n\n    for item in items:\n        sum += item\n    return sum\n\n\ndef describe(items):\n    return \"none\"\n";
const TYPESCRIPT = "class A {\n  first() {\n    return 1;\n  }\n\n  second() {\n    if (x) {\n      return 2;\n    }\n    return 3;\n  }\n}\n";

test("code belongs where its first line stands, to the end of what begins there", () => {
  for (const [text, code, expected] of [
    [PYTHON, "def total(items):\n    return sum(items)\n", [[2, 8]]],
    [PYTHON, "\ndef describe(items):\n    return \"many\"\n\n", [[10, 12]]],
    // As an answer shows it: not as deep.
    [TYPESCRIPT, "second() {\n  return 4;\n}\n", [[5, 11]]],
    [TYPESCRIPT, "  first() {\n    return 5;\n  }\n\n  second() {\n    return 3;\n  }\n", [[1, 11]]],
    // Two that follow one another.
    [PYTHON, "def total(items):\n    return 0\n\n\ndef describe(items):\n    return \"none\"\n", [[2, 12]]],
    // With what belongs to it above; what is above in the file stays where the code says nothing of it.
    ["// A.\nfn a() {\n  1\n}\n", "// Better.\nfn a() {\n  2\n}\n", [[0, 4]]],
    ["// A.\nfn a() {\n  1\n}\n", "fn a() {\n  2\n}\n", [[1, 4]]],
    ["@x\ndef a():\n  1\n", "@y\n@z\ndef a():\n  2\n", [[0, 3]]],
    // What is between would be lost, or be there twice.
    ["a {\n 1\n}\nb {\n 2\n}\nc {\n 3\n}\n", "a {\n 4\n}\nc {\n 5\n}\n", []],
    ["b {\n 2\n}\na {\n 1\n}\n", "a {\n 4\n}\nb {\n 5\n}\n", []],
    ["a {\n 1\n}\nc {\n 3\n}\n", "a {\n 4\n}\nb {\n 5\n}\n", [[0, 3]]],
    ["int f()\n{\n  1;\n}\nint g();\n", "int f()\n{\n  2;\n}\n", [[0, 4]]],
    ["if a:\n  1\nelse:\n  2\nb()\n", "if a:\n  3\nelse:\n  4\n", [[0, 4]]],
    ["#include <a>\nint f() {\n  1;\n}\n", "#include <b>\nint f() {\n  2;\n}\n", []],
    // Lines in a row are no block.
    ["a = 1\nb = 2\n", "a = 1\nb = 3\n", []],
    [PYTHON, "import os\nimport sys\n\ndef total(items):\n    return 0\n", []],
    // Nothing begins like it, or everything does.
    [PYTHON, "def other():\n    pass\n", []],
    [TYPESCRIPT, "}\n", []],
    ["", "a\nb\n", []],
    [PYTHON, "", []],
    // It is there.
    [PYTHON, "import os\n", []],
    // In two places: the more alike first.
    ["def f():\n    a\n\ndef f():\n    b\n    c\n", "def f():\n    b\n    d\n", [[3, 6], [0, 2]]],
  ] as [string, string, [number, number][]][]) {
    assert.deepEqual(placesOf(text, code).map(({ start, end }) => [start, end]), expected, code);
  }
});

test("code is put as deep as what it replaces, with its line ends", () => {
  for (const [text, code, start, end, expected] of [
    [TYPESCRIPT, "second() {\n  return 4;\n}\n", 5, 11, "  second() {\n    return 4;\n  }\n"],
    [TYPESCRIPT, "      second() {\n        return 4;\n\n      }", 5, 11, "  second() {\n    return 4;\n\n  }\n"],
    ["a\r\nb\r\n", "A\n", 0, 1, "A\r\n"],
    ["a\nb", "B\n", 1, 2, "B"],
  ] as [string, string, number, number, string][]) {
    assert.equal(fitted(text, code, { start, end }), expected, code);
  }
});

test("code that leaves lines out is known by its own word", () => {
  for (const [code, expected] of [
    ["def f():\n    # ...\n    return 1\n", true],
    ["f() {\n  // ... existing code ...\n}\n", true],
    ["f() {\n  // existing code\n}\n", true],
    ["...\nf()\n", true],
    ["<a>\n  <!-- rest of the page -->\n</a>\n", true],
    ["{/* … */}\n", true],
    ["const a = [...b];\n", false],
    ["f(\n  ...rest,\n)\n", false],
    ["let a = 0..3;\n", false],
    ["print('wait...')\n", false],
  ] as [string, boolean][]) {
    assert.equal(leavesOut(code), expected, code);
  }
});
