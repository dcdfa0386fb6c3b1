// A folder that is on no disk, as that of a repository which is only looked at: no server is started, and the status bar and the chat say
// why, and what to do. With a folder on the disk beside it the agent works in that one, and says which it does not see; once that is
// closed, the server ends.
import { execFileSync } from "node:child_process";
import { check, equal } from "../../checks.mjs";
import { project, requests, server, until } from "../../stage.mjs";

export const wants = { elsewhere: ["loft:/attic"] };

const running = () => execFileSync("ps", ["eww", "-eo", "args"], { encoding: "utf8", maxBuffer: 64 << 20 }).split("\n").some((line) => line.startsWith(server));

export async function play(editor) {
  const { page } = editor;
  const says = (words) => until("the status bar", async () => { const found = await editor.item(); return words.test(found ?? "") && found; }, 60000).catch(() => editor.item());
  const item = await says(/not on a disk/);
  check("the status bar says that the folder is not on a disk, and what to do", /not on a disk/.test(item ?? "") && /open a local or a remote folder/.test(item ?? ""), item);
  // Quick open does not know of such files.
  await page.locator(".explorer-folders-view .monaco-list-row", { hasText: "letter.txt" }).dblclick();
  check("the editor shows what is there", await until("the file", () => page.locator(".view-line", { hasText: "nothing" }).first().isVisible(), 20000).catch(() => false));
  await editor.command("Countersign: Open Chat");
  const chat = await editor.frame();
  check("and so does the chat", await until("the words", () => chat.locator(".empty", { hasText: "not on a disk" }).isVisible(), 30000).catch(() => false), await chat.locator("body").innerText());
  check("which offers to open another folder", await chat.locator("button", { hasText: "Open a folder…" }).isVisible());
  check("no server was started", !running());
  await editor.theme("light");
  await editor.shot("virtual-light");
  await editor.theme("dark");
  await editor.shot("virtual-dark");
  const text = chat.locator(".composer textarea");
  await text.fill("where are you?");
  await text.press("Enter");
  check("what cannot be sent is not lost", await until("the notice", () => chat.locator(".notice", { hasText: "not on a disk" }).isVisible(), 10000).catch(() => false) && (await text.inputValue()) === "where are you?", await chat.locator("body").innerText());
  await chat.locator("button", { hasText: "Open a folder…" }).click();
  check("the button leads to the editor's own choice", await until("the choice", () => page.locator(".quick-input-widget:not([style*='display: none'])", { hasText: /Open Folder/i }).isVisible(), 20000).catch(() => false));
  await page.keyboard.press("Escape");

  await editor.command("Witness: Add the Project");
  await editor.running();
  check("with a folder on the disk beside it the server runs", true);
  const beside = await says(/not seen by the agent: attic/);
  check("and the status bar says which folder the agent does not see", /not seen by the agent: attic/.test(beside ?? ""), beside);
  await until("the chat to know", async () => (await chat.locator("body.offline").count()) === 0, 20000);
  await text.press("Enter");
  check("a new conversation works in the folder on the disk, without a question", await until("the answer", () => chat.locator(".row-agentMessage", { hasText: "In the shop." }).isVisible(), 60000).catch(() => false), await chat.locator("body").innerText());
  const told = JSON.stringify(requests()[0]?.body.input ?? "");
  check("the model is told of that folder alone", told.includes(project) && !told.includes("attic"), told);
  await text.fill("@letter");
  equal("what is elsewhere cannot be mentioned", await until("an offer", () => chat.locator(".offers li", { hasText: "letter.txt" }).isVisible(), 2000).catch(() => false), false);
  await text.fill("");
  await until("the end of the turn", async () => !(await chat.locator(".activity").isVisible()), 30000);

  await editor.command("Witness: Remove the Project");
  const closed = await says(/not on a disk, so|is not on a disk/);
  check("once it is closed, the window says again why the agent cannot work", /is not on a disk/.test(closed ?? ""), closed);
  check("and the server ends", await until("the end of the server", () => !running(), 15000).catch(() => false));
}
