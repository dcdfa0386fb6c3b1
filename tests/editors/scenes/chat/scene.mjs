// The person chats in a panel: the answer streams beside the file, reasoning and output fold, a second message joins the running
// turn, a file is completed after “@”, and the cursor of a reader stays where it is.
// Shows S-079, S-264, S-266, S-269, S-366.
import { check, equal } from "../../checks.mjs";
import { project, release, requests, until } from "../../stage.mjs";
import fs from "node:fs";

export async function play(editor) {
  await editor.open("cart.py");
  await editor.openChat();
  equal("the file is still shown", await editor.lua("return vim.fn.bufwinnr('cart.py') > 0"), true);

  await editor.typeOut("What does the shop do? See @pri");
  await until("files after @", async () => (await editor.lua("return vim.fn.pumvisible()")) === 1);
  const offered = await editor.lua("return vim.tbl_map(function(one) return one.word end, vim.fn.complete_info({ 'items' }).items)");
  check("files are offered after @", offered.includes("@prices.py"), offered);
  await editor.shot("completion");
  await editor.typeOut("<C-n>");
  await editor.typeOut("<Esc><Cmd>write<CR>");

  await editor.chatHas("There are two parts,");
  const early = await editor.chat();
  check("the person's words are there", early.includes("What does the shop do? See @prices.py"), early);
  check("what goes along is named", early.includes("with prices.py"), early);
  check("the plan has its ticks", early.includes("- [x] Read the cart") && early.includes("- [ ] Run the tests"), early);
  check("the command is shown, with its confinement", /`\$ ls -1`.*sandbox/.test(early), early);
  check("the turn is shown as running", early.includes("● working"), early);
  await editor.shot("working");

  // Somebody who reads further up is not moved.
  await editor.lua(`local win = vim.fn.win_findbuf(vim.fn.bufnr('countersign://thread/'))[1]
    vim.api.nvim_win_set_cursor(win, { 1, 0 })`);
  await editor.typeOut("<Cmd>startinsert<CR>And in one word?");
  await editor.typeOut("<Esc><Cmd>write<CR>");
  await editor.chatHas("And in one word?");
  await release("steered");
  await editor.chatHas("the prices are in");
  await editor.idle();
  equal("the cursor of the reader has not moved", await editor.lua(`local win = vim.fn.win_findbuf(vim.fn.bufnr('countersign://thread/'))[1]
    return vim.api.nvim_win_get_cursor(win)[1]`), 1);
  const chat = await editor.chat();
  equal("both messages are of one turn", chat.split("## Countersign").length - 1, 1);
  check("the turn is over", !chat.includes("● working"), chat);
  const folds = await editor.lua(`local win = vim.fn.win_findbuf(vim.fn.bufnr('countersign://thread/'))[1]
    return vim.api.nvim_win_call(win, function()
      local closed = {}
      for line = 1, vim.fn.line('$') do
        if vim.fn.foldclosed(line) == line then
          table.insert(closed, vim.fn.getline(line))
        end
      end
      return closed
    end)`);
  check("reasoning and output are folded", folds.some((line) => line.startsWith("> ")) && folds.some((line) => line.startsWith("`$ ls -1`")), folds);
  await editor.shot("answered");

  const before = requests().length;
  await editor.typeOut("<Cmd>startinsert<CR>!echo from-the-shell");
  await editor.typeOut("<Esc><Cmd>write<CR>");
  await editor.chatHas("from-the-shell\n");
  check("a command of the person's own runs in the chat", /`\$ echo from-the-shell`.*run by you/.test(await editor.chat()), await editor.chat());
  await editor.idle();
  equal("and the model hears nothing of it", requests().length, before);

  await editor.command("rename Shop questions");
  await until("the name", () => editor.lua("return require('countersign.threads').list()[1].name == 'Shop questions'"));
  check("the status line names the model", (await editor.lua("return require('countersign').statusline()")).includes("rehearsal"));
  equal("the project is as it was", fs.readdirSync(project).filter((name) => name !== ".git").sort().join(), "README.md,cart.py,prices.py,test_cart.py");
}
