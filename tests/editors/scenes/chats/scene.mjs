// Two conversations side by side: both run at once, each in its own windows, and each is in the list.
// Shows S-015.
import { check, equal } from "../../checks.mjs";
import { release, until } from "../../stage.mjs";

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

export async function play(editor) {
  await editor.open("cart.py");
  await editor.openChat();
  await editor.say("First question");
  await until("the first answer to begin", async () => (await chatWith(editor, "First question")).includes("begins,"));
  await editor.openChat("new!");
  await editor.say("Second question");
  await until("the second answer", async () => (await chatWith(editor, "Second question")).includes("The second answer."));
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
}
