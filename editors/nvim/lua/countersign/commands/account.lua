--- Sub-commands about the person's account, what they want kept, and what they have to say.
local client = require('countersign.client')

---@type table<string, countersign.Command>
return {
  login = { desc = 'Sign in to the provider of models', complete = { 'browser', 'device', 'key' }, run = function(call)
    require('countersign.account').login(call.words)
  end },
  setup = { desc = 'Set up a model: a key, a login, a local server', composer = true, complete = { 'key', 'browser', 'local', 'demo', 'doctor' }, run = function(call)
    require('countersign.setup').run(call.words)
  end },
  logout = { desc = 'Sign out, or stop a login that is under way', run = function()
    require('countersign.account').logout()
  end },
  account = { desc = 'Who is signed in, and the usage', composer = true, run = function()
    require('countersign.account').show()
  end },
  feedback = { desc = 'Save or send a report, which is shown first', composer = true, run = function(call)
    require('countersign.feedback').begin(call.words)
  end },
  sandbox = { desc = 'Show how commands are sandboxed on this machine', run = function()
    client.with(function(server)
      client.request(server, 'sandbox/status', {}, function(status)
        local lines = {}
        for _, wall in ipairs(status.walls) do
          lines[#lines + 1] = ('%s %s: %s'):format(wall.stands and '✓' or '✗', wall.name, wall.detail)
        end
        vim.list_extend(lines, status.weaknesses)
        if not status.canConfine then
          lines[#lines + 1] = 'Commands are refused: ' .. status.minimum
        end
        client.tell(table.concat(lines, '\n'), status.canConfine and vim.log.levels.INFO or vim.log.levels.WARN)
      end)
    end)
  end },
}
