--- How the person is known to the provider of models: signing in and out, and what is left of the allowance.
local choice = require('countersign.ask.choice')
local client = require('countersign.client')

local M = {}

---@type table<string, { url: string, code?: string }> Logins that are under way, by their id.
local under_way = {}

--- Opens a page of the authorization server, and says where it is for who has no browser here.
local function page(url, words)
  if not url:match('^https?://') then
    return client.tell('the address is not a web page, so it is not opened: ' .. choice.line(url), vim.log.levels.WARN)
  end
  -- Whole in `:Countersign messages`, to be copied.
  client.tell(words .. ' ' .. url .. '\n:Countersign logout stops it.')
  local _, problem = vim.ui.open(url)
  if problem then
    client.tell('no browser can be opened here. Open the address yourself; :Countersign messages has it.', vim.log.levels.WARN)
  end
end

local function begun(result)
  if result.type == 'apiKey' or not result.loginId then
    return
  end
  local url = result.authUrl or result.verificationUrlComplete or result.verificationUrl
  under_way[result.loginId] = { url = url, code = result.userCode }
  if result.userCode then
    page(url, ('type the code %s on the page that opens:'):format(result.userCode))
  else
    page(url, 'sign in on the page that opens:')
  end
end

local function start(server, params)
  client.request(server, 'account/login/start', params, begun)
end

local ways = {
  browser = { label = 'In the browser of this machine', params = { type = 'browser' } },
  device = { label = 'By a code, in a browser anywhere', params = { type = 'deviceCode' } },
  key = { label = 'With an API key' },
}

local function take(server, way)
  if way.params then
    return start(server, way.params)
  end
  -- Not shown while it is typed, and in no history.
  local key = vim.trim(vim.fn.inputsecret('API key: '))
  if key ~= '' then
    start(server, { type = 'apiKey', apiKey = key })
  end
end

--- Logs in.
---@param name string A way; empty: it is asked for.
function M.login(name)
  client.with(function(server)
    if ways[name] then
      return take(server, ways[name])
    elseif name ~= '' then
      return client.tell(('there is no way %s to sign in. There are: browser, device, key.'):format(name), vim.log.levels.ERROR)
    end
    choice.pick({ ways.browser, ways.device, ways.key }, 'Sign in', 'countersign.login', function(way)
      if way then
        take(server, way)
      end
    end)
  end)
end

--- Stops the logins that are under way; where there is none, signs out.
function M.logout()
  client.with(function(server)
    local stopped = false
    for id in pairs(under_way) do
      stopped = true
      client.request(server, 'account/login/cancel', { loginId = id })
    end
    if stopped then
      return
    end
    choice.pick({ { label = 'Stay signed in' }, { label = 'Sign out', yes = true } }, 'Sign out? What is kept of the login is deleted.', 'countersign.confirm', function(chosen)
      if chosen and chosen.yes then
        client.request(server, 'account/logout', {}, function()
          client.tell('signed out.')
        end)
      end
    end)
  end)
end

--- Hears how a login ended.
function M.completed(params, id)
  if params.loginId then
    under_way[params.loginId] = nil
  end
  require('countersign.events').emit('account', { client = id })
  if params.success then
    client.tell('signed in.')
  else
    client.tell('sign-in failed. ' .. (params.error or ':Countersign login tries again.'), vim.log.levels.ERROR)
  end
end

require('countersign.events').on('lost', function()
  under_way = {}
end)

--- A part of the allowance in words.
local function allowance(window)
  local span = window.windowMinutes and require('countersign.pick').minutes(window.windowMinutes) or 'the window'
  local again = window.resetsAt and os.date(', begins again on %d %B at %H:%M', window.resetsAt) or ''
  return ('%d%% of the allowance for %s is used%s'):format(math.floor(window.usedPercent + 0.5), span, again)
end

--- What is known of the person and of their allowance, as lines.
---@param account table Of `account/read`.
---@param limits? table Of `account/rateLimits/read`.
---@param status? table Of `account/status`.
---@return string[]
function M.lines(account, limits, status)
  local lines, who = {}, account.account
  if who and who.type == 'account' then
    lines[1] = ('Signed in%s%s.'):format(who.email and (' as ' .. choice.line(who.email, 80)) or '', who.plan and (', plan ' .. choice.line(who.plan, 40)) or '')
  elseif (who and who.type == 'apiKey') or (status and status.authMethod == 'apiKey') then
    lines[1] = 'Requests are allowed by an API key.'
  elseif account.requiresOpenaiAuth then
    lines[1] = 'Not signed in. :Countersign login does it.'
  else
    lines[1] = 'The configured provider needs no account.'
  end
  for _, name in ipairs({ 'primary', 'secondary' }) do
    if limits and limits[name] then
      lines[#lines + 1] = allowance(limits[name]) .. '.'
    end
  end
  if limits and limits.creditBalance then
    lines[#lines + 1] = 'Credits: ' .. choice.line(limits.creditBalance, 60) .. '.'
  end
  return lines
end

--- Shows who is signed in and what is left of the allowance.
function M.show()
  client.with(function(server)
    client.request(server, 'account/read', {}, function(account)
      client.request(server, 'account/status', {}, function(status)
        local function tell(limits)
          client.tell(table.concat(M.lines(account, limits, status), '\n'))
        end
        -- Only an account has an allowance that can be asked for.
        client.request(server, 'account/rateLimits/read', {}, function(result)
          tell(result.rateLimits)
        end, function()
          tell(nil)
        end)
      end)
    end)
  end)
end

return M
