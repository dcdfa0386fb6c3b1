// A conversation in a document, in an editor with nothing but the configuration that the program prints: a question, a command
// that is approved by a lens where the editor has lenses, a change that is accepted and one that is rejected, a turn that is stopped, and the document opened again.
// Shows S-091, S-105, S-127, S-300, S-366.
import { check, equal } from "../../checks.mjs";
import { before, onDisk, until } from "../../stage.mjs";

/** Nothing but what `countersign editor-config` prints. */
export const wants = { profile: "printed" };
const NAME = "talk.countersign.md";

export async function play(editor) {
  await editor.open(NAME);
  const text = () => editor.text(NAME);
  const sees = (what, part) => until(`${what} (“${part}”)`, async () => (await text()).includes(part), 60000);
  const rests = () => editor.idle();

  const files = await editor.completes("@pri");
  check("files are offered after @", files.includes("prices.py"), files);
  const words = await editor.completes("/mod");
  check("commands are offered after /", words.includes("model"), words);

  await editor.writeAtEnd("What does cart.py do?");
  await editor.send();
  await sees("the first answer", "no heading of yours.");
  await rests();
  let now = await text();
  check("the header names the conversation", /^---\nthread: [0-9a-f-]{36}\nmodel: rehearsal\nmode: agent\n---\n/.test(now), now);
  check("what the agent says makes no heading", now.includes("\\## ❯ You") && now.split("\n").filter((line) => line === "## ❯ You").length === 2, now);
  check("there is a place to go on", now.trimEnd().endsWith("## ❯ You"), now);
  await editor.shot("first-answer");
  if (editor.folds) {
    const folds = await editor.folds();
    check("the turns and what is in them fold", ["## ❯ You", "## ◆ Agent", "### ◆"].every((head) => folds.some((line) => line.startsWith(head))), folds);
    const modes = await editor.completes("mode: ", "mode:");
    check("the modes are offered in the header", ["agent", "plan", "ask"].every((mode) => modes.includes(mode)), modes);
    const models = await editor.completes("model: ", "model:");
    check("so are the models", models.includes("rehearsal"), models);
  }

  await editor.writeAtEnd("Run the tests");
  await editor.send();
  const asked = await editor.question("the question about the command", "Allow Once");
  check("the command asks first and is shown", asked.text.includes("python3 -m unittest"), asked);
  if (editor.lens) {
    // The same stands above the question in the document; the first answer wins.
    await editor.putAway();
    await editor.lens("Allow Once");
  } else {
    await editor.answer("Allow Once");
  }
  await sees("what came of it", "The name totl is not defined.");
  await rests();
  now = await text();
  check("the question and the command are in the document", now.includes("### ◆ Question 1") && now.includes("Allowed once.") && now.includes("NameError"), now);
  await editor.shot("command");

  await editor.writeAtEnd("Mend it");
  await editor.send();
  const proposal = await editor.proposal();
  await proposal.acceptAll();
  const second = await until("the second change", async () => {
    const asked = await editor.proposal();
    return asked.text.includes("README.md") && asked;
  });
  // The question goes, and the change waits to be decided in the document.
  await second.decideInFiles();
  await until("the question to go", async () => !(await editor.isAsked()));
  await editor.open(NAME);
  await sees("that the first was accepted", "Change 1: Accepted.");
  await sees("the second change", "### ◆ Change 2: README.md");
  const offered = await editor.actions();
  check("the document offers to accept and to reject", ["Agent: Accept the change", "Agent: Reject the change"].every((title) => offered.some((one) => one.startsWith(title))), offered);
  await editor.choose("Agent: Reject the change");
  await sees("that it was rejected", "Change 2: Rejected.");
  await sees("the end of the turn", "The prices are in cents.");
  await rests();
  check("the accepted change is on disk", onDisk("prices.py").includes('"apple": 50'));
  equal("the rejected one is not", onDisk("README.md"), before("README.md"));
  await editor.shot("changes");

  await editor.writeAtEnd("Talk on");
  await editor.send();
  await sees("the beginning", "I talk on and on.");
  await editor.stop();
  await sees("that it was stopped", "*Stopped.*");
  await rests();
  await editor.save();
  const kept = await text();
  check("it is saved by the person", (await until("the file", () => onDisk(NAME) === kept && kept)) === kept);

  await editor.reopen(NAME);
  equal("opened again it is as it was", await text(), kept);
  await editor.writeAtEnd("Are you still there?");
  await editor.send();
  await sees("the answer after it was opened again", "Yes, and I remember the cart.");
  await rests();
  now = await text();
  check("all of it is one conversation", now.startsWith(kept.trimEnd()), now);
  await editor.shot("reopened");
}
