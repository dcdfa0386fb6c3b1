// Where a journey plays: its folders, the project's files as they were and as they are, and how to wait.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

const { env } = process;
/** This checkout. */
export const repository = env.JOURNEY_REPOSITORY;
/** The project that the editor shows; a copy of `project/before`. */
export const project = env.JOURNEY_PROJECT;
/** What was seen is kept here. */
export const out = env.JOURNEY_OUT;
/** For files of the editor under test; goes when the journey ends. */
export const state = env.JOURNEY_STATE;
/** The server under test, also on PATH. */
export const server = env.JOURNEY_SERVER;
/** The home folder of the server. */
export const home = env.COUNTERSIGN_HOME;
/** Where the editors are. */
export const editors = env.COUNTERSIGN_EDITORS;
/** This folder. */
export const here = path.join(repository, "tests", "editors");

export const read = (...parts) => fs.readFileSync(path.join(...parts), "utf8");
/** A file of the project as it was when the journey began. */
export const before = (name) => read(here, "project", "before", name);
/** The same as the agent of the scene `fix` leaves it. */
export const after = (name) => read(here, "project", "after", name);
/** A file of the project as it is on disk now. */
export const onDisk = (name) => read(project, name);
/** A block of code in a page of this checkout: the first that has a text in it. */
export function block(page, part) {
  const found = [...read(repository, page).matchAll(/^ *```\w*\n([^]*?)\n *```$/gm)].map(([, text]) => text.replace(/^ {3}/gm, ""));
  const one = found.find((text) => text.includes(part));
  if (one === undefined) throw new Error(`${page} has no block with “${part}”`);
  return one;
}

/** Makes the profile one of a newcomer: no settings of any program, a key in the environment, and these lines of a README done in a shell. */
export function newcomer(lines) {
  const config = path.join(env.COUNTERSIGN_HOME, "config.toml");
  const [, address] = /base_url = "(.*)"/.exec(fs.readFileSync(config, "utf8"));
  fs.rmSync(config);
  for (const name of ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"]) delete env[name];
  Object.assign(env, { OPENAI_API_KEY: "a-newcomers-key", OPENAI_BASE_URL: address });
  if (lines !== undefined) execFileSync("bash", ["-euc", lines], { cwd: repository, env, stdio: ["ignore", "ignore", "inherit"] });
}

/** Whether the project has this file. */
export const isOnDisk = (name) => fs.existsSync(path.join(project, name));

/** The requests that the rehearsal model has had so far. */
export const requests = () => fs.readFileSync(path.join(out, "requests.jsonl"), "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line));
/** What the model was told last about a call; undefined if it was not. */
export const toldOf = (call) => requests().at(-1)?.body.input.find((item) => item.type === "function_call_output" && item.call_id === call)?.output;

/** Opens a barrier of the rehearsal model. */
export async function release(name) {
  const [, address] = /base_url = "(.*)\/v1"/.exec(read(env.COUNTERSIGN_HOME, "config.toml"));
  await fetch(`${address}/release/${name}`, { method: "POST" });
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits until `look` gives something true; `what` says what was waited for when it never does. */
export async function until(what, look, ms = 30000) {
  const deadline = Date.now() + ms;
  for (;;) {
    let seen;
    try {
      seen = await look();
    } catch {
      seen = undefined;
    }
    if (seen) return seen;
    if (Date.now() > deadline) throw new Error(`gave up waiting for ${what}`);
    await sleep(100);
  }
}
