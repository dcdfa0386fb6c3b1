/**
 * Which settings are the extension's own business and which belong to the server. No editor here either.
 */

/** Sections below `countersign.` that the extension reads; everything else is the server's. */
const EXTENSION_SECTIONS: ReadonlySet<string> = new Set(["server", "trace", "pluginProtocol"]);

export interface ServerSettings {
  readonly path: string | undefined;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | null>>;
}

/**
 * The server's part of the section `countersign`, for `initializationOptions` and `workspace/configuration`.
 * What the person has not set is left out, so that the server's own configuration files decide.
 */
export function forServer(section: unknown): Record<string, unknown> {
  if (!isRecord(section)) {
    return {};
  }
  const entries = Object.entries(section).filter(([key, value]) => !EXTENSION_SECTIONS.has(key) && isSet(value));
  return Object.fromEntries(entries.map(([key, value]) => [key, isRecord(value) ? forServerNested(value) : value]));
}

/** Reads `countersign.server`. What has a wrong type is left out and named, since settings files are written by hand. */
export function serverSettings(section: unknown): { settings: ServerSettings; problems: string[] } {
  const problems: string[] = [];
  const raw = isRecord(section) ? section : {};
  let file: string | undefined;
  if (typeof raw["path"] === "string") {
    file = raw["path"];
  } else if (isSet(raw["path"])) {
    problems.push("countersign.server.path must be a text; it is ignored");
  }
  const args: string[] = [];
  if (Array.isArray(raw["args"])) {
    for (const arg of raw["args"] as unknown[]) {
      if (typeof arg === "string") {
        args.push(arg);
      } else {
        problems.push(`countersign.server.args holds ${JSON.stringify(arg)}, which is not a text; it is ignored`);
      }
    }
  } else if (isSet(raw["args"])) {
    problems.push("countersign.server.args must be a list of texts; it is ignored");
  }
  const env: Record<string, string | null> = {};
  if (isRecord(raw["env"])) {
    for (const [name, value] of Object.entries(raw["env"])) {
      if (typeof value === "string" || value === null) {
        env[name] = value;
      } else {
        problems.push(`countersign.server.env: the value of ${name} must be a text or null; it is ignored`);
      }
    }
  } else if (isSet(raw["env"])) {
    problems.push("countersign.server.env must be an object of texts; it is ignored");
  }
  return { settings: { path: file, args, env }, problems };
}

/** The environment of the server: the editor's own, changed as the person asked. */
export function serverEnvironment(
  base: Readonly<Record<string, string | undefined>>,
  changes: ServerSettings["env"],
): Record<string, string> {
  const merged: Record<string, string | null | undefined> = { ...base, ...changes };
  const kept = Object.entries(merged).filter((entry): entry is [string, string] => typeof entry[1] === "string");
  return Object.fromEntries(kept);
}

function forServerNested(section: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(section).filter(([, value]) => isSet(value)));
}

function isSet(value: unknown): boolean {
  return value !== null && value !== undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
