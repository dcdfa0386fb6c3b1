// On a small screen, by keys alone: a question in Neovim's own list, which shows all of it and whose Enter is a no; then one in a
// picker like those of plugins, a window that takes the keys and has one line for what is asked. What it has no room for stands
// above it. A no with words, typed at Neovim's own prompt, reaches the model.
// Shows S-105, S-106.
import { check, equal } from "../../checks.mjs";
import { release, toldOf, until } from "../../stage.mjs";

/** A picker as plugins have them. */
const PICKER = `vim.ui.select = function(items, opts, on_choice)
  local lines = vim.tbl_map(opts.format_item, items)
  assert(not opts.prompt:find('\\n'), 'a title has one line')
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  local win = vim.api.nvim_open_win(buf, true, { relative = 'editor', row = vim.o.lines - #lines - 5, col = 8, width = 62, height = #lines, border = 'rounded', title = ' ' .. opts.prompt .. ' ', style = 'minimal' })
  vim.wo[win].cursorline = true
  local function done(i)
    vim.api.nvim_win_close(win, true)
    vim.schedule(function() on_choice(items[i], items[i] and i) end)
  end
  vim.keymap.set('n', '<CR>', function() done(vim.fn.line('.')) end, { buffer = buf })
  vim.keymap.set('n', 'q', function() done(0) end, { buffer = buf })
end`;

export async function play(editor) {
  const { terminal } = editor;
  await terminal.resize(80, 24);
  await editor.open("cart.py");
  await editor.lua("vim.ui.select, vim.ui.input = Rig.own.select, Rig.own.input");
  await editor.type("<Cmd>lua require('countersign').ask('Run the tests')<CR>");
  await terminal.sees("Neovim's own list", "Allow Once");
  const own = terminal.text();
  check("it shows what, where and why", ["Run python3 -m unittest -q?", "inside the sandbox", "1: Deny", "2: Allow Once"].every((part) => own.includes(part)), own);
  await editor.shot("own-dark");
  await terminal.keys("2", "Enter");

  // The model goes on once the other picker is there.
  await editor.lua(PICKER);
  await release("picker");
  await terminal.sees("the picker", "Deny with Comment");
  const picked = terminal.text();
  check("its title is one line, and all of the question stands above it", picked.includes(" Run rm -rf __pycache__? ") && /In .*inside the sandbox/.test(picked), picked);
  await editor.shot("picker-dark");
  await editor.lua("vim.o.background = 'light'");
  await editor.shot("picker-light");
  await terminal.keys("/", "Comment", "Enter", "Enter");
  await terminal.sees("Neovim's own prompt", "What should the agent do instead?");
  await terminal.words("Please leave the caches alone.");
  await terminal.keys("Enter");
  await editor.idle();
  check("the words reached the model", toldOf("clean").includes("Please leave the caches alone."), toldOf("clean"));
  equal("nothing is left above the files", await editor.lua("return #vim.tbl_filter(function(win) return vim.api.nvim_win_get_config(win).relative ~= '' end, vim.api.nvim_list_wins())"), 0);
  await editor.openChat();
  await editor.chatHas("Then the caches stay.");
  await until("the end of the turn", async () => !(await editor.chat()).includes("● working"));
  await editor.shot("chat-light");
  await editor.lua("vim.o.background = 'dark'");
  await editor.shot("chat-dark");
}
