// Conversations in documents, in an editor with nothing but the configuration that the program prints: a second
// message joins the running turn, a command is denied with words, a prompt and a command of the person's own are called, two
// documents talk at once, one of them is stopped and the other goes on to its end.
// Shows S-015, S-079, S-091, S-105, S-116.
import fs from "node:fs";
import path from "node:path";
import { check, equal } from "../../checks.mjs";
import { home, isOnDisk, release, requests, toldOf, until } from "../../stage.mjs";

/** Nothing but what `countersign editor-config` prints. */
export const wants = { profile: "printed" };
const ONE = "one.countersign.md";
const TWO = "two.countersign.md";

export async function play(editor) {
  fs.mkdirSync(path.join(home, "prompts"), { recursive: true });
  fs.writeFileSync(path.join(home, "prompts", "tidy.md"), "Tidy up $ARGUMENTS, please.");
  const sees = (name, part) => until(`“${part}” in ${name}`, async () => (await editor.text(name)).includes(part), 60000);
  const say = async (words, action) => {
    await editor.writeAtEnd(words);
    await (action === undefined ? editor.send() : editor.act(action));
  };

  // Steering: the second message joins the turn that runs.
  await editor.open(ONE);
  await say("Count the apples");
  await sees(ONE, "I count them");
  await say("And the pears");
  await until("the second message in the document", async () => (await editor.text(ONE)).split("## ◆ Agent").length === 3);
  await release("counted");
  await sees(ONE, "Apples and pears: twelve.");
  await editor.idle();
  let now = await editor.text(ONE);
  const tags = [...now.matchAll(/^## ◆ Agent · (\w+)$/gm)].map(([, tag]) => tag);
  check("the second message joined the running turn", tags.length === 2 && tags[0] === tags[1], now);
  await editor.shot("steered");

  // A no with words.
  await say("Remove the caches");
  // It takes the keys, so it is left to the document first.
  await editor.question("the question about the command", "Decide in the chat");
  await editor.answer("Decide in the chat");
  await editor.open(ONE);
  await say("Please leave the caches alone.", "Agent: Deny, with these words as the reason");
  await sees(ONE, "Then the caches stay.");
  await editor.idle();
  now = await editor.text(ONE);
  check("the document says that it was denied", now.includes("Denied."), now);
  check("the words reached the model", toldOf("caches").includes("Please leave the caches alone."), toldOf("caches"));
  check("nothing was run", !isOnDisk("caches-are-gone"));
  check("no question is left open", !(await editor.isAsked()));
  await editor.shot("denied");

  // A prompt, and a command of the person's own, of which the model hears nothing.
  await say("/tidy the shelf");
  await sees(ONE, "The shelf is tidy.");
  await editor.idle();
  await say("!echo mine-$((40 + 2))");
  await sees(ONE, "mine-42");
  await editor.idle();
  check("the model heard nothing of the command", !JSON.stringify(requests()).includes("mine-42"));

  // Two documents at once; one is stopped, the other goes on.
  await say("Talk on in the first");
  await sees(ONE, "The first talks");
  await editor.open(TWO);
  await say("Talk on in the second");
  await sees(TWO, "The second talks");
  await editor.stop();
  await sees(TWO, "*Stopped.*");
  await release("first");
  await sees(ONE, "to its end.");
  await until("the place to go on", async () => (await editor.text(ONE)).trimEnd().endsWith("## ❯ You"));
  const [one, two] = [await editor.text(ONE), await editor.text(TWO)];
  check("neither has the other's words", !one.includes("The second talks") && !two.includes("The first talks"), `${one}\n====\n${two}`);
  check("only the second was stopped", !one.includes("*Stopped.*"), one);
  const thread = (text) => /^thread: (.*)$/m.exec(text)?.[1];
  equal("they are two conversations", new Set([thread(one), thread(two)]).size, 2);
  await editor.shot("two");
}
