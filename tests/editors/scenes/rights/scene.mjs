// A chat document with nothing but the printed configuration. The plan is shown with its ticks; a command is allowed for the
// session, another one always, and neither asks a second time: the rule stands in a file; the turn is stopped at a third question.
// Shows S-105, S-107, S-127.
import fs from "node:fs";
import path from "node:path";
import { check, equal } from "../../checks.mjs";
import { home, isOnDisk, until } from "../../stage.mjs";

/** Nothing but what `countersign editor-config` prints. */
export const wants = { profile: "printed" };
const NAME = "talk.countersign.md";

export async function play(editor) {
  const text = () => editor.text(NAME);
  const sees = (part) => until(`“${part}” in the document`, async () => (await text()).includes(part), 60000);
  const say = async (words) => {
    await editor.writeAtEnd(words);
    await editor.send();
  };
  const questions = async () => ((await text()).match(/^### ◆ Question/gm) ?? []).length;

  await editor.open(NAME);
  await say("Look around");
  let asked = await editor.question("the question about the tests", "Allow for Session");
  check("the question says what for", asked.text.includes("python3 -m unittest"), asked);
  await editor.answer("Allow for Session");
  await sees("It fails both times.");
  await editor.idle();
  let now = await text();
  check("the plan is shown with its ticks", now.includes("### ◆ Plan\n\n- [x] Count the fruit\n- [ ] **Run the tests**\n- [ ] Rest\n"), now);
  check("it was allowed for the session", now.includes("Allowed for this session."), now);
  equal("the same command did not ask again", await questions(), 1);
  await editor.shot("session");

  await say("Leave a mark");
  asked = await editor.question("the question about the mark", "Always Allow");
  await editor.answer("Always Allow");
  await sees("Two marks are left.");
  await editor.idle();
  now = await text();
  check("it is allowed always", now.includes("Allowed always."), now);
  equal("one that begins alike did not ask", await questions(), 2);
  check("both were run", isOnDisk("first-mark") && isOnDisk("second-mark"));
  const rules = path.join(home, "rules");
  const written = fs.readdirSync(rules).map((name) => fs.readFileSync(path.join(rules, name), "utf8")).join("\n");
  check("the rule stands in a file", written.includes("touch"), written);
  await editor.shot("always");

  await say("Tidy up");
  await editor.question("the question about the file", "Deny and Stop");
  await editor.answer("Deny and Stop");
  await sees("*Stopped.*");
  await editor.idle();
  check("nothing was run", isOnDisk("README.md") && !isOnDisk("LIESMICH.md"));
  now = await text();
  check("the document says how it ended", now.includes("Denied, and the turn is stopped.") && now.trimEnd().endsWith("## ❯ You"), now);
  check("no question is left open", !(await editor.isAsked()));
  await editor.shot("stopped");
}
