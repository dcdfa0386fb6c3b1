// The person looks at a proposal in the files and side by side, edits what it would put in, rejects one change with words, and
// takes the rest: from hunk to hunk by motions.
import { check, equal } from "../../checks.mjs";
import { after, before, onDisk, sleep, toldOf, until } from "../../stage.mjs";

const lineOf = (text, part) => text.split("\n").findIndex((line) => line.includes(part)) + 1;

export async function play(editor) {
  const text = before("cart.py");
  await editor.open("cart.py");
  await editor.lint();
  await editor.at("totl");
  await editor.fix();
  await editor.proposal();
  const marks = await until("the marks", async () => {
    const found = await editor.hints();
    return found.length === 2 && found;
  }).catch(() => editor.hints());
  equal("both changes are marked in the file", marks.length, 2);
  await editor.typeOut("gg");
  await editor.shot("inline");
  await editor.lua("vim.o.background = 'light'");
  await editor.shot("inline-light");
  await editor.lua("vim.o.background = 'dark'");

  await editor.command("next");
  equal("the first motion leads to the first change", await editor.line(), lineOf(text, "price_of(name)"));
  await editor.command("next");
  equal("the second to the second", await editor.line(), lineOf(text, "kinds of fruit"));
  await editor.command("next");
  await until("the other file", async () => (await editor.shown()).name.endsWith("prices.py"));
  check("the third to the other file", true);
  await until("its marks", async () => (await editor.hints()).length === 1);
  // Only what was in view for a moment counts as shown, and is accepted with the rest below.
  await sleep(1000);
  await editor.command("prev");
  await until("the first file again", async () => (await editor.shown()).name.endsWith("cart.py"));
  equal("and back", await editor.line(), lineOf(text, "kinds of fruit"));

  await editor.command("hunks");
  const list = await editor.lua("return vim.tbl_map(function(one) return one.lnum .. ':' .. one.text end, vim.fn.getqflist())");
  equal("the quickfix list has each change", list.length, 3);
  await editor.shot("quickfix");
  await editor.typeOut("<Cmd>cclose<CR>");

  await editor.typeOut("<Cmd>buffer cart.py<CR>");
  await editor.command("diff");
  const tabs = await until("the two sides", () => editor.lua("return vim.wo.diff and vim.bo.buftype == 'acwrite' and #vim.api.nvim_list_tabpages()"));
  equal("they are in a tab of their own", tabs, 2);
  const shown = await editor.shown();
  check("the after side has all changes", shown.text.includes("price_of(name) * count") && shown.text.includes("pieces of"), shown.text);
  check("the cursor is at a change", await until("the cursor", () => editor.lua("return require('countersign.review.side').hunk_at(vim.api.nvim_get_current_buf(), vim.api.nvim_win_get_cursor(0)[1] - 1) ~= nil"), 5000).catch(() => false));
  await editor.shot("sides");

  // An edit of the after side is an edit of the proposal.
  await editor.lua("vim.fn.search('return total')");
  await editor.typeOut("A  # in cents<Esc>");
  await editor.typeOut("<Cmd>write<CR>");
  await until("the edit", () => editor.lua("return not vim.bo.modified and require('countersign.proposals').list()[1].files[1].hunks[1].newText:find('in cents', 1, true) ~= nil"));
  check("what the person wrote is in the proposal", true);
  await editor.lua("vim.fn.search('VAT')");
  await editor.typeOut("A0<Esc>");
  await editor.typeOut("<Cmd>write<CR>");
  check("an edit elsewhere is not taken", await editor.lua("return vim.bo.modified"));
  await editor.typeOut("u");
  await editor.typeOut("<Cmd>write<CR>");

  await editor.lua("vim.fn.search('pieces of')");
  await editor.command("reject hunk Kinds are enough.");
  await until("the rejection", () => editor.lua("return require('countersign.proposals').list()[1].files[1].hunks[2].status == 'rejected'"));
  await until("the after side to follow", async () => !(await editor.shown()).text.includes("pieces of"));
  check("the after side follows", true);
  await editor.lua("vim.fn.search('# in cents')");
  await editor.command("accept hunk");
  await until("the acceptance", () => editor.lua("return require('countersign.proposals').list()[1].files[1].hunks[1].status == 'applied'"));
  check("what is accepted is in the file at once, as the person wrote it", (await editor.text("cart.py")).includes("# in cents") && !(await editor.text("cart.py")).includes("pieces of"));
  await editor.command("accept all");

  await editor.idle();
  equal("the other file, which is open by now, is changed", await editor.text("prices.py"), after("prices.py"));
  equal("and left to the person to write", onDisk("prices.py"), before("prices.py"));
  equal("the open file has what was taken, as edited", await editor.text("cart.py"), after("cart.py").replace("return total\n", "return total  # in cents\n"));
  equal("the tab has closed", await until("one tab", () => editor.lua("return #vim.api.nvim_list_tabpages() == 1")).catch(() => false), true);
  const told = toldOf("patch");
  check("the model is told of the words", told.includes("Kinds are enough."), told);
}
