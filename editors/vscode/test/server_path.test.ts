import * as assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { test } from "node:test";
import type { Found, Machine } from "../src/server_path";
import { findServer, INSTALL_COMMAND } from "../src/server_path";

function machine(programs: readonly string[], over: Partial<Machine> = {}): Machine {
  return { platform: "linux", home: "/home/p", env: { PATH: "/usr/bin:/opt/bin" }, isProgram: (file) => programs.includes(file), realPath: (file) => file, ...over };
}

interface Row {
  readonly name: string;
  readonly configured?: string;
  readonly folders?: readonly string[];
  readonly machine: Machine;
  readonly want: Found;
}

const rows: readonly Row[] = [
  {
    name: "the setting wins",
    configured: "/my/countersign",
    machine: machine(["/my/countersign", "/ext/bin/countersign", "/usr/bin/countersign"]),
    want: { kind: "found", program: "/my/countersign", origin: "the setting countersign.server.path" },
  },
  {
    name: "~ in the setting is the home folder",
    configured: "~/cs",
    machine: machine(["/home/p/cs"]),
    want: { kind: "found", program: "/home/p/cs", origin: "the setting countersign.server.path" },
  },
  {
    name: "a bare name in the setting is looked for on PATH",
    configured: "countersign-nightly",
    machine: machine(["/opt/bin/countersign-nightly"]),
    want: { kind: "found", program: "/opt/bin/countersign-nightly", origin: "the setting countersign.server.path" },
  },
  {
    name: "a wrong setting is told, and nothing else is started",
    configured: "/gone/countersign",
    machine: machine(["/usr/bin/countersign"]),
    want: { kind: "misconfigured", program: "/gone/countersign" },
  },
  {
    name: "a blank setting counts as empty",
    configured: "  ",
    machine: machine(["/opt/bin/countersign"]),
    want: { kind: "found", program: "/opt/bin/countersign", origin: "PATH" },
  },
  {
    name: "the bundled server comes before PATH",
    machine: machine(["/ext/bin/countersign", "/usr/bin/countersign"]),
    want: { kind: "found", program: "/ext/bin/countersign", origin: "the extension" },
  },
  {
    name: "Cargo's folder comes last, by default below home",
    machine: machine(["/home/p/.cargo/bin/countersign"]),
    want: { kind: "found", program: "/home/p/.cargo/bin/countersign", origin: "Cargo's bin folder" },
  },
  {
    name: "CARGO_HOME moves Cargo's folder",
    machine: machine(["/cargo/bin/countersign", "/home/p/.cargo/bin/countersign"], { env: { CARGO_HOME: "/cargo" } }),
    want: { kind: "found", program: "/cargo/bin/countersign", origin: "Cargo's bin folder" },
  },
  {
    name: "relative and empty PATH entries are not looked at",
    machine: machine(["bin/countersign", "./countersign", "countersign"], { env: { PATH: "bin:.::/usr/bin" } }),
    want: { kind: "missing", places: ["/ext/bin", "/usr/bin", "/home/p/.cargo/bin"], refused: [] },
  },
  {
    name: "nothing anywhere names the places",
    machine: machine([]),
    want: { kind: "missing", places: ["/ext/bin", "/usr/bin", "/opt/bin", "/home/p/.cargo/bin"], refused: [] },
  },
  {
    name: "no PATH at all",
    machine: machine([], { env: {} }),
    want: { kind: "missing", places: ["/ext/bin", "/home/p/.cargo/bin"], refused: [] },
  },
  {
    name: "Windows: .exe, Path, semicolons",
    machine: machine(["C:\\tools\\countersign.exe"], { platform: "win32", home: "C:\\Users\\p", env: { Path: "C:\\tools;D:\\x" } }),
    want: { kind: "found", program: "C:\\tools\\countersign.exe", origin: "PATH" },
  },
  {
    name: "a program of the project is not started, on PATH neither by a link",
    machine: machine(["/home/p/work/bin/countersign", "/link/countersign", "/l/countersign", "/usr/bin/countersign"], {
      env: { PATH: "/home/p/work/bin:/link:/l:/usr/bin" },
      realPath: (file) => file.replace(/^\/link/, "/home/p/work/tools").replace("/l/countersign", "/home/p/work/x"),
    }),
    want: { kind: "found", program: "/usr/bin/countersign", origin: "PATH" },
  },
  {
    name: "what only projects have is named",
    machine: machine(["/home/p/work/bin/countersign", "/other/node_modules/.bin/countersign", "/other/.venv/bin/countersign"], {
      env: { PATH: "/home/p/work/bin:/other/node_modules/.bin:/other/.venv/bin" },
    }),
    want: {
      kind: "missing",
      places: ["/ext/bin", "/home/p/work/bin", "/other/node_modules/.bin", "/other/.venv/bin", "/home/p/.cargo/bin"],
      refused: ["/home/p/work/bin/countersign", "/other/node_modules/.bin/countersign", "/other/.venv/bin/countersign"],
    },
  },
  {
    name: "a bare name in the setting is not looked for in the project",
    configured: "countersign-nightly",
    machine: machine(["/home/p/work/bin/countersign-nightly"], { env: { PATH: "/home/p/work/bin" } }),
    want: { kind: "misconfigured", program: "countersign-nightly" },
  },
  {
    name: "a path in the setting is the person's word, in the project too",
    configured: "/home/p/work/target/debug/countersign",
    machine: machine(["/home/p/work/target/debug/countersign"]),
    want: { kind: "found", program: "/home/p/work/target/debug/countersign", origin: "the setting countersign.server.path" },
  },
  {
    name: "a window on the home folder, or around it, has the person's own programs in it",
    folders: ["/home/p", "/"],
    machine: machine(["/home/p/.cargo/bin/countersign"]),
    want: { kind: "found", program: "/home/p/.cargo/bin/countersign", origin: "Cargo's bin folder" },
  },
  {
    name: "a folder whose name begins like the project's is another",
    machine: machine(["/home/p/work-tools/countersign"], { env: { PATH: "/home/p/work-tools" } }),
    want: { kind: "found", program: "/home/p/work-tools/countersign", origin: "PATH" },
  },
  {
    name: "Windows: the project by another case, and its packages",
    folders: ["c:\\work"],
    machine: machine(["C:\\Work\\bin\\countersign.exe", "D:\\x\\node_modules\\.bin\\countersign.exe", "D:\\t\\countersign.exe"], {
      platform: "win32",
      home: "C:\\Users\\p",
      env: { Path: "C:\\Work\\bin;D:\\x\\node_modules\\.bin;D:\\t" },
    }),
    want: { kind: "found", program: "D:\\t\\countersign.exe", origin: "PATH" },
  },
];

for (const row of rows) {
  test(`findServer: ${row.name}`, () => {
    const found = findServer({ configured: row.configured, extensionPath: "/ext", folders: row.folders ?? ["/home/p/work"] }, row.machine);
    assert.deepEqual(found, row.want);
  });
}

test("each page names the same way to install", () => {
  const root = path.resolve(__dirname, "..", "..", "..", "..");
  for (const page of ["README.md", "editors/vscode/README.md", "editors/vscode/package.json", "editors/vscode/media/walkthrough/server.md", "editors/nvim/README.md", "editors/nvim/lua/countersign/health.lua"]) {
    const text = fs.readFileSync(path.join(root, page), "utf8");
    assert.ok(text.includes(INSTALL_COMMAND), `${page} does not say how to install`);
    assert.deepEqual([...text.matchAll(/cargo install (?!--path \. --locked)[^`\n]*/g)].map(String), [], page);
  }
});
