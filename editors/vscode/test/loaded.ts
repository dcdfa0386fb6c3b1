/** A module of the extension with this in the place of the editor. */
import { createRequire } from "node:module";

export function loaded(name: string, editor: unknown): unknown {
  const required = createRequire(__filename);
  const loader = required("node:module") as { _load: (name: string, ...more: unknown[]) => unknown };
  const load = loader._load;
  loader._load = (wanted, ...more) => (wanted === "vscode" ? editor : load(wanted, ...more));
  try {
    // Each test has an editor of its own.
    for (const key of Object.keys(required.cache).filter((one) => one.includes("/out-test/src/"))) Reflect.deleteProperty(required.cache, key);
    return required(name);
  } finally {
    loader._load = load;
  }
}
