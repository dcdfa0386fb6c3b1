// The README's quick start from a clean profile: the server lies where Cargo puts it, the extension is installed, nothing is set.
// The first answer, and the first change that is accepted.
import fs from "node:fs";
import path from "node:path";
import { check } from "../../checks.mjs";
import { chooseFix } from "../../person.mjs";
import { home, onDisk, server, state, until } from "../../stage.mjs";

/** What the README promises. */
const MOST_MS = 5 * 60 * 1000;
const begun = Date.now();

export const wants = {
  settings: { "countersign.server.path": null },
  prepare() {
    // As `cargo install` leaves it; the editor's PATH does not know of it.
    const bin = path.join(state, ".cargo", "bin");
    fs.mkdirSync(bin, { recursive: true });
    fs.symlinkSync(fs.realpathSync(server), path.join(bin, "countersign"));
    process.env.PATH = process.env.PATH.split(path.delimiter).filter((dir) => dir !== path.dirname(server)).join(path.delimiter);
    delete process.env.CARGO_HOME;
    check("nothing of Countersign's is there but the provider", fs.readdirSync(home).join() === "config.toml", fs.readdirSync(home));
  },
};

export async function play(editor) {
  const { workbench, page } = editor;
  await editor.running();
  check("the server is found where Cargo puts it", ((await editor.item()) ?? "").includes(path.join(".cargo", "bin")), await editor.item());
  await editor.open("cart.py");
  await page.keyboard.press("Control+Alt+a");
  const chat = await editor.frame();
  await until("the server in the chat", async () => (await chat.locator("body.offline").count()) === 0, 30000);
  await editor.shot("first-look");
  await chat.locator(".suggestion", { hasText: "Explain how this project is structured" }).click();
  await chat.locator(".composer textarea").press("Enter");
  check("the first answer", await until("the answer", () => chat.locator(".row-agentMessage", { hasText: "A cart and its prices." }).isVisible(), 60000).catch(() => false), await chat.locator("body").innerText());
  await editor.shot("first-answer");

  await workbench.focusEditor();
  await page.waitForSelector(".squiggly-error", { timeout: 60000 });
  await workbench.goTo(13, 12);
  await chooseFix({ shot: (name) => editor.shot(name), choose: (title) => workbench.chooseAction(title) }, () => workbench.codeActions());
  const told = await until("the first change", () => editor.message("Review"), 60000);
  check("the first change waits", told.text.length > 0 && !editor.held("cart.py").text.includes("return total\n"), told);
  await editor.shot("first-change");
  await told.press();
  await until("the diff", () => page.locator(".tab", { hasText: "cart.py (proposed)" }).first().isVisible(), 20000);
  const right = page.locator(".diff-editor-modified, .editor.modified").first();
  await until("its right side", async () => (await right.innerText()).replaceAll("\u00a0", " ").includes("return total"), 20000);
  await editor.shot("first-diff");
  await editor.command("Countersign: Accept This Change");
  check("and is in the file once it is accepted", await until("the change", () => onDisk("cart.py").includes("return total\n"), 30000).catch(() => false), onDisk("cart.py"));
  const took = Date.now() - begun;
  check("in less than five minutes", took < MOST_MS, took);
  await editor.command("Welcome: Open Walkthrough...");
  const input = page.locator(".quick-input-widget:not([style*='display: none']) input.input").first();
  await input.fill("Countersign");
  await page.keyboard.press("Enter");
  check("the walkthrough leads through the same", await until("the walkthrough", () => page.locator(".gettingStartedContainer", { hasText: "Get started with Countersign" }).isVisible(), 20000).catch(() => false));
  await editor.shot("walkthrough");
}
