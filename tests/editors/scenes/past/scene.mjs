// A chat document with nothing but the printed configuration. What differs from a branch and what a commit changed is reviewed; a
// picture goes with a message; the tokens that are left are told; a conversation is named, its last turn is dropped, a copy
// of it is gone on with, and the copy is put away and brought back in the list of conversations.
// Shows S-047, S-244, S-316, S-320.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { check, equal } from "../../checks.mjs";
import { decideOn } from "../../person.mjs";
import { before, home, project, requests, until } from "../../stage.mjs";

/** Nothing but what `countersign editor-config` prints. */
export const wants = { profile: "printed" };
const NAME = "talk.countersign.md";
/** One dot. */
const PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const git = (...words) => execFileSync("git", ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", ...words], { cwd: project, stdio: "ignore" });
const archived = () => fs.existsSync(path.join(home, "archived_sessions")) && fs.readdirSync(path.join(home, "archived_sessions"), { recursive: true }).filter((name) => name.endsWith(".jsonl")).length;

export async function play(editor) {
  const config = path.join(home, "config.toml");
  fs.writeFileSync(config, `model_context_window = 50000\n${fs.readFileSync(config, "utf8")}`);
  fs.writeFileSync(path.join(project, "pear.png"), Buffer.from(PICTURE, "base64"));
  git("checkout", "-q", "-b", "main");
  git("add", "README.md", "pear.png");
  git("commit", "-q", "-m", "Open the shop");
  git("checkout", "-q", "-b", "work");
  git("add", ".");
  git("commit", "-q", "-m", "Write of the cart");

  await editor.open("cart.py");
  await decideOn(editor, "The shopping cart", "Review changes with agent");
  await editor.question("what to review", "Changes against main");
  await editor.answer("Changes against main");
  const [found] = await until("the finding", async () => {
    const findings = await editor.findings();
    return findings.length === 1 && findings;
  });
  equal("the finding lies on its line", found.line, before("cart.py").split("\n").findIndex((line) => line.includes("return totl")) + 1);
  await editor.idle();

  let name = NAME;
  const text = () => editor.text(name);
  const sees = (part) => until(`“${part}” in the document`, async () => (await text()).includes(part), 60000);
  const say = async (words, answer) => {
    await editor.writeAtEnd(words);
    await editor.send();
    await sees(answer);
    await editor.idle();
  };
  const asked = () => JSON.stringify(requests().at(-1).body.input);

  await editor.open(NAME);
  await say("/review commit HEAD", "The commit may stay.");
  await say("What is on @pear.png?", "It is a pear.");
  const parts = requests().at(-1).body.input.at(-1).content;
  check("the picture went with the words", parts.some((part) => part.image_url === `data:image/png;base64,${PICTURE}`), parts);
  const told = await editor.hover("thread: ", "tokens");
  check("the tokens that are left are told", /of 50000 tokens; \d+ are left/.test(told), told);
  await editor.shot("tokens");

  await say("/rename The pears", "*The conversation is called “The pears” from now on.*");
  await say("Mind the plum", "A plum, too.");
  await say("/rollback", "*The last turn is gone from the conversation. Files stay as they are; undo is for those.");
  await say("What do you mind?", "Only the pear.");
  check("what was dropped is not sent any more", asked().includes("What is on @pear.png?") && !asked().includes("plum"), asked());
  const first = await text();
  check("it stays in the document", first.includes("Mind the plum") && first.includes("A plum, too."), first);
  await editor.shot("rolled-back");

  const shown = (part) => until(`a document “${part}”`, async () => {
    const document = await editor.shown();
    return document.name.includes(part) && document;
  });
  await editor.writeAtEnd("/fork");
  await editor.send();
  const copy = await shown("chat-1");
  name = copy.name;
  await sees("Only the pear.");
  await say("Are you a copy?", "I am one.");
  const thread = (words) => /^thread: (.*)$/m.exec(words)?.[1];
  check("the copy goes by its own id", thread(await text()) !== thread(first), await text());
  await say("/rename The copy", "“The copy”");

  await editor.writeAtEnd("/list");
  await editor.send();
  const list = await shown("conversations-1");
  check("both are in the list", list.text.includes("- The pears `thread ") && list.text.includes("- The copy `thread "), list.text);
  await decideOn(editor, "The copy", "Agent: Archive");
  await until("the copy to be put away", () => archived() === 1);
  await editor.shot("archived");
  await editor.open(NAME);
  await editor.writeAtEnd("/list");
  await editor.send();
  const again = await shown("conversations-2");
  check("it stands below the others", again.text.indexOf("## Archived") > 0 && again.text.indexOf("- The copy") > again.text.indexOf("## Archived"), again.text);
  await decideOn(editor, "The copy", "Agent: Unarchive");
  await until("the copy to be back", () => archived() === 0);
  await editor.shot("back");
}
