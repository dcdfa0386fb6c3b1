// The model looks through the editor: its language servers find definitions, uses and symbols; what is kept from the model is left out,
// a tool that is switched off is not there, a rename is a change that waits for the person, and a call that hangs ends with its turn.
// The person mentions a symbol. Shows S-425, S-426.
import fs from "node:fs";
import path from "node:path";
import { check, equal } from "../../checks.mjs";
import { before, onDisk, project, requests, state, toldOf, until } from "../../stage.mjs";

export const wants = {
  settings: { "countersign.editorTools.document_symbols": false },
  prepare() {
    fs.writeFileSync(path.join(project, ".countersignignore"), "secret.py\n");
    fs.writeFileSync(path.join(project, "secret.py"), "price_key = 4711\nkinds = price_of('x') and items\n");
    fs.writeFileSync(path.join(project, "slow.py"), "slow = 1\n");
  },
};

export async function play(editor) {
  await editor.open("cart.py");
  const chat = await editor.openChat();
  const text = chat.locator(".composer textarea");
  await text.pressSequentially("See @price_o");
  const offer = chat.locator(".offers li", { hasText: "function" }).first();
  check("a symbol is offered", await until("the symbol", () => offer.isVisible(), 30000).catch(() => false), await chat.locator(".offers").innerText());
  check("and nothing that what is typed cannot mean", !(await chat.locator(".offers").innerText()).includes("price_key"), await chat.locator(".offers").innerText());
  check("with its kind and its file", /price_of[^]*function[^]*prices\.py/.test(await offer.innerText()), await offer.innerText());
  await editor.shot("symbol");
  await offer.click();
  equal("and becomes a mention of its lines", await text.inputValue(), "See @prices.py#L6 ");
  await text.pressSequentially("who prices?");
  await text.press("Enter");

  const accept = chat.locator(".proposal.waits button", { hasText: "Accept all" });
  await until("the rename as a proposal", () => accept.isVisible(), 90000);
  const first = requests()[1].body.input;
  const told = (call) => first.find((item) => item.type === "function_call_output" && item.call_id === call)?.output ?? "";
  check("the definition was found", /prices\.py:6: def price_of/.test(told("definition")), told("definition"));
  check("and all uses but those in a file that is kept", /cart\.py:3/.test(told("references")) && !told("references").includes("secret") && told("references").includes("left out"), told("references"));
  check("what is said of something defined there is kept, too", told("secret").includes("left out") && !told("secret").includes("4711") && !told("secret").includes("items"), told("secret"));
  check("as are its symbols", told("symbols").includes("price_of") && !told("symbols").includes("price_key"), told("symbols"));
  check("a tool that is switched off is not offered", !requests()[0].body.tools.some((tool) => tool.name === "editor_document_symbols"));
  check("the lines that were mentioned went along", JSON.stringify(requests()[0].body.input).includes("def price_of"));
  check("nothing is renamed yet", onDisk("test_cart.py") === before("test_cart.py") && editor.held("cart.py").text === before("cart.py"));
  await editor.shot("rename");
  await accept.click();
  check("an accepted rename is in the open file", await until("the rename", () => editor.held("cart.py").text.includes("def sum_of("), 20000).catch(() => false), editor.held("cart.py").text);
  check("and in the other one", await until("the file", () => onDisk("test_cart.py").includes("import sum_of"), 20000).catch(() => false), onDisk("test_cart.py"));
  check("a file that is kept is not touched", onDisk("secret.py").includes("price_of('x')"), onDisk("secret.py"));
  await until("the answer", () => chat.locator(".row-agentMessage", { hasText: "Renamed." }).isVisible(), 60000);
  check("the model was told what was taken", /cart\.py/.test(toldOf("rename") ?? ""), toldOf("rename"));
  check("a rename that would touch what is kept is not proposed", /kept from you/.test(toldOf("kept") ?? "") && onDisk("prices.py") === before("prices.py"), toldOf("kept"));

  await until("the end of the turn", async () => !(await chat.locator(".activity").isVisible()), 30000);
  await editor.say(chat, "and slowly");
  await until("the language server to be asked", () => fs.existsSync(path.join(state, "documents.json.slow")), 60000);
  await text.press("Escape");
  check("a call that hangs ends with its turn", await until("the stop", () => chat.locator(".row-note", { hasText: "You stopped this turn" }).isVisible(), 15000).catch(() => false));
}
