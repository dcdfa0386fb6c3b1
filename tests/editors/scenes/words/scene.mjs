// The person calls a prompt of theirs, takes up what they typed before, chooses the model and the mode, and is asked for more than
// the policy gives, which they do not give.
// Shows S-322, S-326, S-330, S-332, S-362, S-429, S-430.
import fs from "node:fs";
import path from "node:path";
import { check, equal } from "../../checks.mjs";
import { toldOf, until } from "../../stage.mjs";

export async function play(editor) {
  const prompts = path.join(process.env.COUNTERSIGN_HOME, "prompts");
  fs.mkdirSync(prompts, { recursive: true });
  fs.writeFileSync(path.join(prompts, "greet.md"), "---\ndescription: Greets somebody\narguments:\n  - name\n---\nSay hello to $NAME, politely.\n");
  await editor.open("cart.py");
  await editor.openChat();
  await editor.typeOut("/gre");
  await until("prompts after /", async () => (await editor.lua("return vim.fn.pumvisible()")) === 1);
  const offered = await editor.lua("return vim.tbl_map(function(one) return one.word .. '|' .. one.menu end, vim.fn.complete_info({ 'items' }).items)");
  check("the prompt is offered, with what it is for", offered.some((one) => one.startsWith("/greet |Greets somebody")), offered);
  await editor.typeOut("<C-n>Ada");
  await editor.typeOut("<Esc><Cmd>write<CR>");
  const chat = await editor.chatHas("Hello, Ada.");
  check("the chat has the call as it was typed", chat.includes("/greet Ada") && !chat.includes("politely"), chat);
  await editor.idle();

  await editor.typeOut("<Cmd>startinsert<CR>half a thought");
  const composed = () => editor.lua("return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')");
  await editor.type("<M-Up>");
  await until("what was typed before", async () => (await composed()) === "/greet Ada");
  await editor.type("<M-Down>");
  await until("what is being typed", async () => (await composed()) === "half a thought");
  check("what was typed before comes back by a key, and so does the draft", true);
  await editor.typeOut("<Esc>");

  await editor.type("<Cmd>Countersign model<CR>");
  const models = await editor.question("the models", "");
  check("the models are listed, the one in use marked", models.text === "Model" && models.choices.some((one) => one.includes("rehearsal") && one.startsWith("● ")), models);
  await editor.lua("return Rig.dismiss()");
  await editor.command("mode plan");
  await until("the mode", async () => (await editor.lua("return require('countersign').statusline()")).includes("plan"));
  await editor.command("mode agent");

  await editor.typeOut("ggVGc");
  await editor.typeOut("Look at the system's words");
  await editor.typeOut("<Esc><Cmd>write<CR>");
  const asked = await editor.question("the wish for more", "Deny");
  check("it says what is wanted and why", /network/i.test(asked.text) && asked.text.includes("To look the words up."), asked);
  check("the first choice is a no", asked.choices[0].startsWith("Deny"), asked);
  await editor.shot("more");
  await editor.answer("Deny");
  await editor.chatHas("Then without the network.");
  await editor.idle();
  check("the model hears of the no", /declin|not g(iven|ranted)|denied|no\b/i.test(toldOf("more")), toldOf("more"));
  equal("no question is left", await editor.isAsked(), null);
}
