// Fixes a diagnostic with the agent in a real VS Code with the extension. Run by tests/editors/run, which sets
// JOURNEY_REPOSITORY, JOURNEY_PROJECT, JOURNEY_OUT, JOURNEY_STATE, JOURNEY_SERVER, JOURNEY_VSIX and COUNTERSIGN_EDITORS.
import fs from "node:fs";
import path from "node:path";
import { check, equal, finish } from "./checks.mjs";
import { openWorkbench, sleep, startServer, until } from "./workbench.mjs";

const { JOURNEY_REPOSITORY: repository, JOURNEY_PROJECT: project, JOURNEY_OUT: out, JOURNEY_STATE: state, JOURNEY_SERVER: serverProgram, COUNTERSIGN_EDITORS: editors } = process.env;
const here = path.join(repository, "tests", "editors");
const documentsFile = path.join(state, "documents.json");

const read = (...parts) => fs.readFileSync(path.join(...parts), "utf8");
const before = (name) => read(here, "project", "before", name);
const after = (name) => read(here, "project", "after", name);
const onDisk = (name) => read(project, name);
/** What the editor holds for a file, or undefined if it has none. */
const held = (name) => JSON.parse(fs.readFileSync(documentsFile, "utf8"))[name];
/** What the person adds by hand to the open file, at two places that the agent does not touch. */
const withUnsavedText = (text) => text.replace("VAT = 19\n", "VAT = 19\n# 🍐 discount?\n").replace("kinds of fruit", "kinds of 🍎 and more");

/** Whether an item of the status bar shows progress of the agent; the extension's own item has no colon. */
const inProgress = (item) => item.startsWith("Countersign:");

let workbench;

async function journey() {
  // A project that would rather not have the person asked. It must not get its way.
  fs.mkdirSync(path.join(project, ".vscode"));
  fs.writeFileSync(path.join(project, ".vscode", "settings.json"), JSON.stringify({ "countersign.approval_policy": "never", "countersign.model": "theirs" }));
  const server = await startServer({
    editors, state, out, project,
    vsix: process.env.JOURNEY_VSIX,
    unpacked: path.join(here, "vscode", "witness"),
    env: { JOURNEY_DOCUMENTS: documentsFile },
    // PATH is not enough: the editor takes its environment from a login shell.
    machineSettings: { "countersign.server.path": serverProgram },
  });
  workbench = await openWorkbench({ editors, state, out, project, address: server.address });
  const { page } = workbench;

  await workbench.open("cart.py");
  await page.waitForSelector(".squiggly-error", { timeout: 60000 });
  check("another linter's problem is underlined", true);
  await until("the server to run", async () => (await workbench.status()).some((item) => /Countersign.* is running/.test(item)), 60000);
  check("the status bar says that the server runs", true);
  await workbench.shot("opened");

  const dirty = withUnsavedText(before("cart.py"));
  const wanted = withUnsavedText(after("cart.py"));
  await workbench.focusEditor();
  await workbench.goTo(5, 1);
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  await page.keyboard.insertText("# 🍐 discount?");
  const line = dirty.split("\n").findIndex((text) => text.includes("kinds of")) + 1;
  await workbench.goTo(line, before("cart.py").split("\n")[line - 2].indexOf("fruit") + 1);
  for (let i = 0; i < "fruit".length; i++) await page.keyboard.press("Shift+ArrowRight");
  await page.keyboard.insertText("🍎 and more");
  await until("the typed text", () => held("cart.py").text === dirty, 10000).catch(() => undefined);
  equal("the open file has unsaved text", held("cart.py").text, dirty);
  check("it counts as unsaved", held("cart.py").dirty);
  await workbench.shot("unsaved-text");

  const lines = dirty.split("\n");
  const problem = lines.findIndex((text) => text.includes("totl"));
  await workbench.goTo(problem + 1, lines[problem].indexOf("totl") + 2);
  const actions = await workbench.codeActions();
  check("the code actions offer “Fix with agent”", actions.some((title) => title.startsWith("Fix with agent")), actions);
  await workbench.shot("code-actions");
  await workbench.chooseAction("Fix with agent");

  // From here on the status bar is watched for the agent's progress.
  const progress = new Set();
  let watching = true;
  const watcher = (async () => {
    while (watching) {
      for (const item of await workbench.status().catch(() => [])) {
        if (inProgress(item)) progress.add(item);
      }
      await sleep(150);
    }
  })();

  const command = await until("the question about the command", () => workbench.message("Run once"), 60000);
  check("the command asks first and is shown", command.text.includes("python3 -m unittest"), command);
  await workbench.shot("command-approval");
  await command.press();

  const proposal = await until("the proposal", async () => {
    const panel = await workbench.preview();
    if (panel) return { panel };
    const message = await workbench.message("Accept all");
    return message && { message };
  }, 60000);
  await sleep(500);
  await workbench.shot("proposal");
  equal("nothing has changed before the answer", held("cart.py").text, dirty);
  equal("nothing has changed on disk before the answer", onDisk("prices.py"), before("prices.py"));
  if (proposal.panel) {
    const panel = await workbench.preview();
    check("the preview lists both files", ["cart.py", "prices.py"].every((name) => panel.rows.some((row) => row.includes(name))), panel.rows);
    check("nothing is ticked beforehand", (await panel.ticks()).every((tick) => !tick), await panel.ticks());
    await panel.tickFiles(["cart.py", "prices.py"]);
    await workbench.shot("proposal-ticked");
    await panel.apply();
  } else {
    check("the message names both files", /cart\.py/.test(proposal.message.text) && /prices\.py/.test(proposal.message.text), proposal.message);
    await proposal.message.press();
  }

  await until("the change in the editor", () => held("cart.py").text === wanted).catch(() => undefined);
  equal("the open file has the fix and all unsaved text", held("cart.py").text, wanted);
  await until("the change on disk", () => onDisk("prices.py") === after("prices.py"), 10000).catch(() => undefined);
  equal("the closed file is changed on disk", onDisk("prices.py"), after("prices.py"));
  equal("the test file is as it was", onDisk("test_cart.py"), before("test_cart.py"));
  equal("what was not saved by the person is not saved", onDisk("cart.py"), before("cart.py"));
  await until("the turn to end", async () => !(await workbench.status()).some(inProgress), 60000);
  check("progress is gone from the status bar", true);
  watching = false;
  await watcher;
  fs.writeFileSync(path.join(out, "progress.txt"), [...progress].join("\n"));
  // What lasts shorter than a glance is not drawn; the journeys in Neovim see every line.
  check("the status bar told that the agent waits", [...progress].some((item) => /waiting/i.test(item)), [...progress]);
  await workbench.shot("applied");
  check("no question is left open", !(await workbench.message("Run once")) && !(await workbench.preview()));

  await page.locator('.tab[data-resource-name="cart.py"]').click();
  await workbench.focusEditor();
  await page.keyboard.press("Control+z");
  // An edit over several files asks how far the undo is to go.
  await until("the undo", async () => (await workbench.answerDialog(/this file/i)) || held("cart.py").text !== wanted, 10000).catch(() => undefined);
  await until("the undone text", () => held("cart.py").text === dirty, 10000).catch(() => undefined);
  equal("one undo takes the agent's change back and nothing else", held("cart.py").text, dirty);
  await workbench.shot("undone");

  await workbench.close();
  server.stop();
}

try {
  await journey();
} catch (error) {
  check("the journey comes to its end", false, error instanceof Error ? error.message : String(error));
  await workbench?.shot("failure").catch(() => undefined);
  await workbench?.close().catch(() => undefined);
}
finish();
