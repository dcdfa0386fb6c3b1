// Where a journey plays: its folders, the project's files as they were and as they are, and how to wait.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
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

/**
 * An MCP server's program in a folder of its own: where this checkout lies in a folder that commands can write, all of it would count as
 * the server's code, and it changes while tests run.
 */
export function toolServer(scene, name = "server.mjs") {
  const file = path.join(state, "tool-server", name);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.copyFileSync(path.join(here, "scenes", scene, name), file);
  return file;
}

/** Where the rehearsal model answers, as the configuration of a journey says. */
const modelAddress = () => env.JOURNEY_MODEL ?? /base_url = "(.*)"/.exec(read(env.COUNTERSIGN_HOME, "config.toml"))[1];

/**
 * Makes the profile one of a newcomer: no settings of any program, a key in the environment (or none), and these lines of a README
 * done in a shell.
 */
export function newcomer(lines, withKey = true) {
  const address = modelAddress();
  env.JOURNEY_MODEL = address;
  fs.rmSync(path.join(env.COUNTERSIGN_HOME, "config.toml"));
  for (const name of ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"]) delete env[name];
  if (withKey) Object.assign(env, { OPENAI_API_KEY: "a-newcomers-key", OPENAI_BASE_URL: address });
  if (lines !== undefined) execFileSync("bash", ["-euc", lines], { cwd: repository, env, stdio: ["ignore", "ignore", "inherit"] });
}

/** Where the local servers of models answer that are found without configuration. */
const LOCAL_PORTS = { Ollama: 11434, "llama.cpp": 8080, "LM Studio": 1234 };

/**
 * Lets the rehearsal model answer where an LM Studio would, once no other journey has that place. Says so and gives nothing where
 * the machine has a local server of its own, which is never talked to. What it gives takes the place back.
 */
export async function localServer() {
  const target = new URL(modelAddress());
  for (const [name, port] of Object.entries(LOCAL_PORTS).slice(0, 2)) {
    if (await answers(port)) {
      console.log(`skipped: something answers at the port of ${name} (${port}), and would be taken for the model`);
      return undefined;
    }
  }
  const forward = net.createServer((client) => {
    const model = net.connect(Number(target.port), target.hostname);
    for (const [from, to] of [[client, model], [model, client]]) from.pipe(to).on("error", () => from.destroy());
  });
  await until("the port of LM Studio to be free", () => binds(forward, LOCAL_PORTS["LM Studio"]), 120000);
  return () => forward.close();
}

const answers = (port) =>
  new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });

const binds = (listener, port) =>
  new Promise((resolve) => {
    const taken = () => resolve(false);
    listener.once("error", taken);
    listener.listen(port, "127.0.0.1", () => {
      listener.off("error", taken);
      resolve(true);
    });
  });

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

/** Whether somebody takes connections at a socket: its file is there a moment before. */
export function listens(socket) {
  return new Promise((resolve) => {
    const connection = net.createConnection(socket);
    connection.on("connect", () => {
      connection.destroy();
      resolve(true);
    });
    connection.on("error", () => resolve(false));
  });
}

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
