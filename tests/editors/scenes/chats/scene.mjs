// Two conversations side by side: both run at once, each in its own windows, and each is in the list. Both propose a change of the same
// line: which one is looked at, and edited, the person says.
// Shows S-015.
import { check, equal } from "../../checks.mjs";
import { onDisk, release, until } from "../../stage.mjs";

/** The text of the chat with these words. */
const chatWith = (editor, words) =>
  editor.lua(
    `local words = ...
    for _, buf in ipairs(vim.api.nvim_list_bufs()) do
      if vim.bo[buf].filetype == 'countersign' then
        local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\\n')
        if text:find(words, 1, true) then return text end
      end
    end
    return ''`,
    words,
  );

/** Says something in the conversation that the list shows by these words. */
async function sayIn(editor, conversation, words) {
  await editor.type("<Cmd>Countersign threads<CR>");
  const asked = await editor.question("the list of conversations", "");
  await editor.answer(asked.choices.find((one) => one.includes(conversation)));
  await until("the chosen one", () => editor.lua("return require('countersign.threads').list()[1].preview:find(..., 1, true) ~= nil", conversation));
  await editor.openChat();
  await editor.say(words);
}

export async function play(editor) {
  await editor.open("cart.py");
  await editor.openChat();
  await editor.say("First question");
  await until("the first answer to begin", async () => (await chatWith(editor, "First question")).includes("begins,"));
  await editor.openChat("new!");
  await editor.say("Second question");
  await until("the second answer", async () => (await chatWith(editor, "Second question")).includes("The second answer."));
  const widths = await editor.lua(`return vim.tbl_map(vim.api.nvim_win_get_width, vim.tbl_filter(function(win)
    return vim.bo[vim.api.nvim_win_get_buf(win)].filetype == 'countersign'
  end, vim.api.nvim_list_wins()))`);
  check("both chats have the same width", widths.length === 2 && Math.abs(widths[0] - widths[1]) <= 1, widths);
  const first = await chatWith(editor, "First question");
  check("the first goes on meanwhile, and neither has the other's words", !first.includes("and ends.") && !first.includes("second"), first);
  equal("both are on the screen", await editor.lua("return #vim.tbl_filter(function(win) return vim.bo[vim.api.nvim_win_get_buf(win)].filetype == 'countersign' end, vim.api.nvim_list_wins())"), 2);
  const bars = await editor.lua("return vim.tbl_map(function(win) return vim.wo[win].winbar end, vim.api.nvim_list_wins())");
  check("each says which it is", ["First question", "Second question"].every((words) => bars.some((bar) => bar.includes(words))), bars);
  equal("one turn runs", await editor.lua("return require('countersign.statusline').parts().running"), 1);
  await editor.shot("two");
  await release("first");
  await until("the first answer to end", async () => (await chatWith(editor, "First question")).includes("and ends."));
  await editor.idle();
  await editor.type("<Cmd>Countersign threads<CR>");
  const asked = await editor.question("the list of conversations", "");
  check("the list has both", ["First question", "Second question"].every((words) => asked.choices.some((one) => one.includes(words))), asked);
  await editor.answer(asked.choices.find((one) => one.includes("First question")));
  await until("the chosen one", () => editor.lua("return require('countersign.threads').list()[1].preview:find('First', 1, true) ~= nil"));
  check("the chosen one is the one that is used", true);

  await sayIn(editor, "First question", "Add the tax");
  await until("its proposal", () => editor.lua("return #require('countersign.proposals').list() == 1"));
  await sayIn(editor, "Second question", "Round it");
  await until("both proposals", () => editor.lua("return #require('countersign.proposals').list() == 2"));
  await editor.lua("vim.api.nvim_set_current_win(vim.fn.win_findbuf(vim.fn.bufnr('cart.py'))[1])");
  await editor.typeOut("<Esc>gg<Cmd>call search('return totl')<CR>");
  await editor.type("<Cmd>Countersign diff<CR>");
  const which = await editor.question("which proposal", "");
  check("where two change a line it is asked which is meant", which.choices.length === 2 && ["VAT", "round"].every((part) => which.choices.some((one) => one.includes(part))), which);
  await editor.answer(which.choices.find((one) => one.includes("round")));
  await until("the two sides", () => editor.lua("return vim.b.countersign_side ~= nil"));
  const shown = (await editor.shown()).text;
  check("the chosen one is shown", shown.includes("round(totl)") && !shown.includes("totl + VAT"), shown);
  await editor.shot("which");
  await editor.command("reject file");
  await until("the rejection", () => editor.lua("return #require('countersign.proposals').list() == 1"));
  await editor.lua("vim.api.nvim_set_current_win(vim.fn.win_findbuf(vim.fn.bufnr('cart.py'))[1])");
  await editor.typeOut("<Cmd>Countersign edit<CR>");
  await until("the other's sides", async () => (await editor.lua("return vim.b.countersign_side ~= nil")) && (await editor.shown()).text.includes("totl + VAT"));
  check("of one alone nothing is asked", true);
  await editor.command("accept file");
  await until("the change", async () => (await editor.text("cart.py")).includes("return totl + VAT"));
  await editor.idle();
  check("what was rejected is nowhere", !(await editor.text("cart.py")).includes("round(") && !onDisk("cart.py").includes("round("));
}
