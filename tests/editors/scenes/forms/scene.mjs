// An MCP server asks the person: by a form, whose fields are checked as they are filled in, and by a page of the web, which the server
// is told of only once it was opened. A question that is closed is no yes, and a script is no page.
// Shows S-430.
import { check, equal } from "../../checks.mjs";
import { toldOf, toolServer, until } from "../../stage.mjs";

export const wants = {
  config: `[mcp_servers.asker]\ncommand = ${JSON.stringify(process.execPath)}\nargs = [${JSON.stringify(toolServer("elicit"))}]\ndefault_tools_approval_mode = "approve"\n`,
};

/** What the model was told last about a call, as one text. */
const told = (call) => [JSON.parse(toldOf(call) ?? "[]")].flat().map((one) => one.text).join("\n");

export async function play(editor) {
  await editor.open("cart.py");
  await editor.lua("Opened = {}; vim.ui.open = function(url) table.insert(Opened, url); return {} end");
  await editor.openChat();
  await editor.say("ask me");
  const form = await editor.question("the form", "Answer");
  check("it says which server asks, and for what", form.text.includes("asker") && form.text.includes("How shall the **receipt** look?"), form);
  check("the first choice is a no", form.choices[0] === "Decline", form);
  await editor.typesNext("ab", "Fruit", "3");
  await editor.answer("Answer");
  const colour = await editor.question("the choices of a field", "green");
  check("a field with choices is a list", colour.text.includes("Colour") && colour.choices.join() === "red,green", colour);
  await editor.shot("form");
  await editor.answer("green");
  const signed = await editor.question("a yes or no", "Yes");
  check("so is a yes or no", signed.text.includes("Signed") && signed.choices[0] === "No", signed);
  await editor.answer("Yes");
  const page = await editor.question("the page's question", "Open https://example.org/login?shop=1");
  const prompts = await editor.lua("return Rig.prompts");
  check("what does not fit is said, and the field asked again", prompts.length === 3 && prompts[1].includes("Title") && prompts[1].includes("at least 3"), prompts);
  const filled = told("form");
  check("the server gets what was filled in", ['"accept"', "Fruit", "3", "green", "true"].every((part) => filled.includes(part)), filled);
  check("it is said what the page is for", page.text.includes("Please sign in."), page);
  await editor.shot("page");
  await editor.lua("return Rig.dismiss()");
  await until("the second question", async () => /answered/.test(told("page")));
  check("a closed question is no yes", told("page").includes('"cancel"'), told("page"));
  await editor.question("the page's question again", "Open https://example.org/login?shop=1");
  equal("nothing was opened yet", (await editor.lua("return #Opened")), 0);
  await editor.answer("Open https://example.org/login?shop=1");
  await until("the third question", () => /answered/.test(told("again")));
  equal("the page is opened", (await editor.lua("return Opened")).join(), "https://example.org/login?shop=1");
  check("and the server is told", told("again").includes('"accept"'), told("again"));
  await editor.question("the script's question", "Open javascript:");
  await editor.answer("Open javascript:");
  await editor.chatHas("All asked.");
  await editor.idle();
  check("a script is not opened", told("script").includes('"decline"'), told("script"));
  equal("nor anything else", (await editor.lua("return #Opened")), 1);
  await editor.told("not a web page");
  equal("no question is left", await editor.isAsked(), null);
}
