/**
 * Which settings are the extension's own business and which belong to the server. No editor here either.
 */

/** Sections below `countersign.` that are the extension's or the language client's; everything else is the server's. */
export const EXTENSION_SECTIONS: ReadonlySet<string> = new Set(["server", "trace", "proposals", "editorTools", "notifications", "followAgent"]);

export interface ServerSettings {
  readonly path: string | undefined;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | null>>;
}

/** The layers of a section, as the editor keeps them apart. */
export interface Layers {
  readonly defaultValue?: unknown;
  /** The person's own settings. */
  readonly globalValue?: unknown;
  /** Settings that lie in the project's folder: whoever wrote the project wrote them. */
  readonly workspaceValue?: unknown;
}

/**
 * The server's part of the section `countersign`, for `initializationOptions` and `workspace/configuration`.
 *
 * Only the person's own settings count. The extension vouches for them to the server, where they outrank every file, so a
 * project could otherwise switch off the questions or send the person's key elsewhere; what a project may say stands in its
 * `.countersign/config.toml`.
 * What the person has not set is left out, so that the server's configuration files decide.
 */
export function forServer(layers: Layers | undefined): Record<string, unknown> {
  const section = record(ofPerson(layers));
  const entries = Object.entries(section).filter(([key, value]) => !EXTENSION_SECTIONS.has(key) && isSet(value));
  const set = entries.map(([key, value]): [string, unknown] => [key, isRecord(value) ? withoutUnset(value) : value]);
  // A table of which nothing is set is not set either.
  return Object.fromEntries(set.filter(([, value]) => !isRecord(value) || Object.keys(value).length > 0));
}

/**
 * A setting as the person has it, or as it is by default. What the project's folder says is left out: the manifest forbids it
 * single settings, but in older editors not the table that holds them.
 */
export function ofPerson(layers: Layers | undefined): unknown {
  const { defaultValue, globalValue } = layers ?? {};
  if (isRecord(globalValue) || (isRecord(defaultValue) && !isSet(globalValue))) {
    return { ...record(defaultValue), ...record(globalValue) };
  }
  return globalValue === undefined ? defaultValue : globalValue;
}

/** What the server gets when it asks for `section`; undefined if that is none of its business. */
export function answerFor(section: string | undefined, settings: Readonly<Record<string, unknown>>): unknown {
  if (section === "countersign") {
    return settings;
  }
  if (section?.startsWith("countersign.") !== true) {
    return undefined;
  }
  let value: unknown = settings;
  for (const key of section.split(".").slice(1)) {
    value = record(value)[key];
  }
  return value ?? null;
}

/** Reads `countersign.server`. What has a wrong type is left out and named, since settings files are written by hand. */
export function serverSettings(section: unknown): { settings: ServerSettings; problems: string[] } {
  const problems: string[] = [];
  const raw = record(section);
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

function withoutUnset(section: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(section).filter(([, value]) => isSet(value)));
}

function isSet(value: unknown): boolean {
  return value !== null && value !== undefined;
}

function record(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
