// A folder that is not trusted: no server is started in it, the status bar and the chat say why, and what to do; once it is trusted the
// server comes by itself.
import { execFileSync } from "node:child_process";
import { check } from "../../checks.mjs";
import { server, until } from "../../stage.mjs";

export const wants = { trust: true, userSettings: { "security.workspace.trust.startupPrompt": "never" } };

export async function play(editor) {
  const { page } = editor;
  const item = await until("the status bar", async () => { const found = await editor.item(); return /not trusted/.test(found ?? "") && found; }, 60000).catch(() => editor.item());
  check("the status bar says that the folder is not trusted, and what to do", /not trusted/.test(item ?? "") && /Manage Workspace Trust/.test(item ?? ""), item);
  await editor.command("Countersign: Open Chat");
  const chat = await editor.frame();
  check("and so does the chat", await until("the words", () => chat.locator(".empty", { hasText: "not trusted" }).isVisible(), 30000).catch(() => false), await chat.locator("body").innerText());
  check("no server was started", !execFileSync("ps", ["-eo", "args"], { encoding: "utf8" }).split("\n").some((line) => line.startsWith(server)));
  await editor.theme("light");
  await editor.shot("untrusted-light");
  await editor.theme("dark");
  await editor.shot("untrusted-dark");
  await chat.locator("button", { hasText: "Trust this folder" }).click();
  await page.locator(".workspace-trust-editor .monaco-button", { hasText: /^Trust$/ }).first().click();
  await editor.running();
  check("once it is trusted the server runs", true);
  await until("the chat to know", async () => (await chat.locator("body.offline").count()) === 0, 20000);
  await editor.say(chat, "hello");
  check("and the agent answers", await until("the answer", () => chat.locator(".row-agentMessage", { hasText: "Trusted." }).isVisible(), 60000).catch(() => false), await chat.locator("body").innerText());
}
