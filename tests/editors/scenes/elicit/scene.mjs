// The model asks for permissions; then an MCP server asks the person: by a form, whose fields are checked, and by a page of the web, which the server is told of only once
// it was opened. A script is no page. Shows S-429, S-430.
import { check, equal } from "../../checks.mjs";
import { toldOf, toolServer, until } from "../../stage.mjs";

export const wants = {
  config: `[mcp_servers.asker]\ncommand = ${JSON.stringify(process.execPath)}\nargs = [${JSON.stringify(toolServer("elicit"))}]\ndefault_tools_approval_mode = "approve"\n`,
};

/** What the model was told last about a call, as one text. */
const told = (call) => [JSON.parse(toldOf(call) ?? "[]")].flat().map((one) => one.text).join("\n");

export async function play(editor) {
  await editor.open("cart.py");
  const chat = await editor.openChat();
  await editor.say(chat, "ask me");
  const open = chat.locator(".question.open");
  const allow = open.locator("button", { hasText: "Allow for Turn" });
  await until("the question for permission", () => allow.isVisible(), 90000);
  check("it says what is asked for and why", /network[^]*To fetch the prices/i.test(await open.innerText()), await open.innerText());
  await editor.shot("permission");
  await allow.click();
  const answer = open.locator("button", { hasText: /^Answer$/ });
  await until("the form", () => answer.isVisible(), 90000);
  check("it says which server asks", (await open.innerText()).includes("asker"), await open.innerText());
  const field = (name) => open.locator(".field", { hasText: name }).locator("input, select");
  equal("a field has what the server proposes", await field("Copies").inputValue(), "2");
  await field("Title").fill("ab");
  await answer.click();
  check("what does not fit is said", (await open.locator("[role=alert]").innerText()).includes("at least 3"), await open.innerText());
  await field("Title").fill("Fruit");
  await field("Copies").fill("3");
  await field("Colour").selectOption("green");
  await field("Signed").check();
  await editor.shot("form-light");
  await editor.theme("contrast");
  await editor.shot("form-contrast");
  await editor.theme("dark");
  await editor.shot("form-dark");
  await answer.click();
  const link = open.locator("button", { hasText: "Open link" });
  await until("the page's question", () => link.isVisible(), 60000);
  const form = told("form");
  check("the server gets what was filled in", ["\"accept\"", "Fruit", "3", "green", "true"].every((part) => form.includes(part)), form);
  check("the whole address is shown", (await open.innerText()).includes("https://example.org/login?shop=1"), await open.innerText());
  await editor.shot("page");
  await link.click();
  // The editor asks whether the browser may open it.
  await until("the editor's own question", () => editor.page.locator(".monaco-dialog-box", { hasText: "example.org" }).isVisible(), 20000);
  equal("the server is not answered yet", told("page"), "");
  await editor.shot("asked");
  await editor.workbench.answerDialog(/^Cancel$/);
  await until("the second question", async () => /answered/.test(told("page")), 60000);
  check("who does not let it be opened has not agreed", (told("page")).includes("\"cancel\""), told("page"));
  await until("the page's question", () => link.isVisible(), 60000);
  await link.click();
  await until("the editor to open it", () => editor.workbench.answerDialog(/^Open$/), 20000);
  await until("the third question", () => /answered/.test(told("again")), 60000);
  check("once it is opened the server is told", (told("again")).includes("\"accept\""), told("again"));
  await until("the script's question", () => link.isVisible(), 60000);
  await link.click();
  await until("the answer", () => chat.locator(".row-agentMessage", { hasText: "All asked." }).isVisible(), 60000);
  check("a script is not opened", (told("script")).includes("\"decline\""), told("script"));

  // The servers stand in a view of their own, which asks nobody before it is opened.
  const row = (text) => editor.page.locator(".pane-body .monaco-list-row", { hasText: text }).first();
  await editor.command("Countersign: Focus on MCP Servers View");
  await until("the server", () => row("asker").isVisible(), 20000);
  check("each server says how it is and how much it offers", /asker\s*ready · \d+ tools?/.test(await row("asker").innerText()), await row("asker").innerText());
  await row("asker").click();
  check("and its tools", await until("the tool", async () => (await editor.page.locator(".pane-body .monaco-list-row").count()) > 1, 10000).catch(() => false));
  await editor.shot("servers");
}
