// Somebody who has no key and no settings, but a local server of models that runs: the first question is answered without a file being
// edited, and the doctor says by whom.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { check, equal } from "../../checks.mjs";
import { chatIn } from "../../person.mjs";
import { home, localServer, requests, server } from "../../stage.mjs";

export const wants = { profile: "clean", key: false };

export async function play(editor) {
  const stop = await localServer();
  await editor.open("cart.py");
  if (stop === undefined) return;
  const chat = chatIn(editor);
  await chat.first("What does this project do?");
  await chat.sees("It is a small fruit shop.");
  await editor.idle();
  await editor.shot("first-answer");
  const asked = requests().filter((request) => request.path.endsWith("/chat/completions"));
  equal("the local server was asked, in the words that it knows", asked.length, 1);
  check("nobody has written a configuration", !fs.existsSync(path.join(home, "config.toml")));
  let said;
  try {
    said = execFileSync(server, ["doctor"], { encoding: "utf8" });
  } catch (error) {
    said = error.stdout;
  }
  check("the doctor names the local server", said.includes("LM Studio"), said);
  stop();
}
