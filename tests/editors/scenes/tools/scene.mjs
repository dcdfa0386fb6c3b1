// The model uses the editor's language server: what the person keeps from it is shown by no tool, a rename is a proposal that the
// person accepts, and a call that is never answered ends with the turn that is stopped.
// Shows S-425, S-426.
import fs from "node:fs";
import path from "node:path";
import { check, equal } from "../../checks.mjs";
import { before, onDisk, project, requests, until } from "../../stage.mjs";

/** A language server that finds words, renames them, and never answers what a name is. */
const SERVER = `
  Asked = {}
  local function places(word)
    local found = {}
    for _, name in ipairs({ 'cart.py', 'prices.py', 'test_cart.py' }) do
      local path = vim.fn.getcwd() .. '/' .. name
      local buf = vim.fn.bufnr(path)
      local lines = buf > 0 and vim.api.nvim_buf_is_loaded(buf) and vim.api.nvim_buf_get_lines(buf, 0, -1, false) or vim.fn.readfile(path)
      for row, line in ipairs(lines) do
        local from, to = line:find('%f[%w_]' .. word .. '%f[^%w_]')
        if from then
          table.insert(found, { uri = vim.uri_from_fname(path), range = { start = { line = row - 1, character = from - 1 }, ['end'] = { line = row - 1, character = to } } })
        end
      end
    end
    return found
  end
  vim.lsp.start({ name = 'words', root_dir = vim.fn.getcwd(), cmd = function(dispatchers)
    local id, closing = 0, false
    return {
      request = function(method, params, done)
        id = id + 1
        table.insert(Asked, { method = method, id = id })
        local result = {}
        if method == 'initialize' then
          result = { capabilities = { referencesProvider = true, renameProvider = true, hoverProvider = true } }
        elseif method == 'textDocument/references' then
          result = vim.list_extend(places('price_of'), { places('total')[1] and { uri = vim.uri_from_fname(vim.fn.getcwd() .. '/test_cart.py'), range = places('total')[1].range } })
        elseif method == 'textDocument/rename' then
          local changes = {}
          for _, place in ipairs(places('price_of')) do
            changes[place.uri] = vim.list_extend(changes[place.uri] or {}, { { range = place.range, newText = params.newName } })
          end
          result = { changes = changes }
        elseif method == 'textDocument/hover' then
          return true, id
        end
        vim.schedule(function() done(nil, result) end)
        return true, id
      end,
      notify = function(method, params)
        table.insert(Asked, { method = method, id = params and params.id })
        if method == 'exit' then dispatchers.on_exit(0, 0) end
        return true
      end,
      is_closing = function() return closing end,
      terminate = function() closing = true end,
    }
  end })`;

export async function play(editor) {
  fs.writeFileSync(path.join(project, ".countersignignore"), "test_cart.py\n");
  await editor.open("cart.py");
  await editor.insertBelow("VAT = 19", "# not saved yet");
  await editor.lua(SERVER);
  const typed = await editor.text("cart.py");
  await editor.openChat();
  await editor.say("Rename price_of to cost_of");
  const proposal = await editor.proposal();
  check("the rename is a proposal over the files it touches", proposal.text.includes("cart.py") && proposal.text.includes("prices.py"), proposal);
  equal("nothing is renamed before it is accepted", await editor.text("cart.py"), typed);
  await editor.shot("rename");
  await proposal.acceptAll();
  await until("the change", async () => (await editor.text("cart.py")).includes("cost_of"));
  equal("it is renamed in the open file, whose unsaved text stays", await editor.text("cart.py"), typed.replaceAll("price_of", "cost_of"));
  equal("and in the closed one", onDisk("prices.py"), before("prices.py").replaceAll("price_of", "cost_of"));

  const hover = await until("the last question to the language server", () =>
    editor.lua("for _, one in ipairs(Asked) do if one.method == 'textDocument/hover' then return one.id end end"),
  );
  await editor.command("stop");
  await until("the call to be taken back", () =>
    editor.lua("for _, one in ipairs(Asked) do if one.method == '$/cancelRequest' and one.id == ... then return true end end", hover),
  );
  check("a stopped turn takes its call back, to the language server", true);
  await editor.idle();
  const told = requests().flatMap(({ body }) => body.input.filter((item) => item.type === "function_call_output").map((item) => item.output)).join("\n");
  check("what is kept was never told", !told.includes("unittest") && !told.includes("class "), told);
}
