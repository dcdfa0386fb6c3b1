--- The changes that wait for the person: their hunks, where they lie, and the decisions on them.
local client = require('countersign.client')
local events = require('countersign.events')
local places = require('countersign.review.places')
local visible = require('countersign.visible')

local M = {}

---@class countersign.Place
---@field proposal table
---@field file table
---@field hunk table
---@field range { start: integer, end: integer } Where it lies now; lines from 0, half open.

---@type table<string, table> Proposals that wait, by id, each with `client` and `came`: when it was first known (ms).
local waiting = {}
local order = {}

--- How long (ms) a server that has started still brings what waited before: it looks several times, and a little more.
local LOOKS = 30000

---@type table<integer, string> The folder of each server that runs, by client.
local running = {}
---@type table<string, { root: string, files: table[] }> Proposals that waited when their server ended, and may come back.
local lost = {}

local in_wait = { proposed = true, partlyDecided = true, conflicting = true, stale = true }

---@param proposal table
---@return boolean
function M.is_waiting(proposal)
  return in_wait[proposal.status] or false
end

local function place_of(proposal, file, hunk)
  return { proposal = proposal, file = file, hunk = hunk, range = places.range(proposal, file, hunk) }
end

local function take(proposal, id)
  local known = waiting[proposal.id]
  proposal.client, proposal.came = id, known and known.came or vim.uv.now()
  lost[proposal.id] = nil
  if M.is_waiting(proposal) then
    if not known then
      order[#order + 1] = proposal.id
    end
    waiting[proposal.id] = proposal
  elseif waiting[proposal.id] then
    waiting[proposal.id] = nil
    require('countersign.review.seen').forget(proposal.id)
    for i, one in ipairs(order) do
      if one == proposal.id then
        table.remove(order, i)
        break
      end
    end
  end
  require('countersign.review.seen').follow(proposal)
  places.hold(proposal, M.is_waiting(proposal))
  events.emit('proposal', { proposal = proposal })
end

--- Those that wait, oldest first.
---@return table[]
function M.list()
  return vim.tbl_map(function(id)
    return waiting[id]
  end, order)
end

---@param id string
---@return table?
function M.get(id)
  return waiting[id]
end

--- What is to be hoped for a proposal whose server has ended, in words.
local function away(one)
  if vim.tbl_contains(vim.tbl_values(running), one.root) then
    return 'the server has started again. What waited may come back in a moment.'
  end
  local which = next(running) and ' of ' .. vim.fs.basename(one.root) or ''
  return ('the server%s has ended. What waited may come back once it runs again (:Countersign restart).'):format(which)
end

--- Why a proposal does not wait, in words.
---@param id string
---@return string
function M.gone(id)
  return lost[id] and away(lost[id]) or 'this change does not wait any more.'
end

--- That nothing waits, in words, or that what waited may come back.
---@param where string
---@param hint? string What helps where that is so.
---@param path? string The only file that is meant.
---@return string
function M.none(where, hint, path)
  for _, one in pairs(lost) do
    if not path or M.has_file(one, path) then
      return away(one)
    end
  end
  return ('no pending change %s.'):format(where) .. (hint and ' ' .. hint or '')
end

--- Whether a proposal changes a file.
---@param proposal table
---@param path? string
---@return boolean
function M.has_file(proposal, path)
  return vim.iter(proposal.files):any(function(file)
    return file.path == path
  end)
end

--- The first line of a hunk.
---@param hunk table
---@return string
function M.headline(hunk)
  return visible.text(vim.trim((hunk.newText ~= '' and hunk.newText or hunk.oldText):match('[^\n]*')))
end

--- What happens to a file beside its lines, in words: where it goes, that it is deleted, its mode, and what it is if it is no text.
---@param file table
---@return string?
function M.beyond_text(file)
  local words = {}
  if file.kind.type == 'delete' then
    words[1] = 'the file is deleted'
  elseif file.kind.movePath then
    words[1] = 'the file moves to ' .. visible.text(vim.fn.fnamemodify(file.kind.movePath, ':.'))
  end
  if file.mode then
    local runs = math.floor(file.mode / 64) % 2 == 1 or math.floor(file.mode / 8) % 2 == 1 or file.mode % 2 == 1
    words[#words + 1] = (runs and 'it can be run as a program (mode %03o)' or 'it gets the mode %03o'):format(file.mode)
  end
  if file.notText then
    words[#words + 1] = visible.text(file.notText)
  end
  for _, note in ipairs(file.notes or {}) do
    words[#words + 1] = visible.text(note)
  end
  return #words > 0 and (table.concat(words, ', '):gsub('\n', ' ')) or nil
end

--- Files and lines of a proposal, in words.
---@param proposal table
---@return string
function M.summary(proposal)
  local names, special, plus, minus, hunks = {}, 0, 0, 0, 0
  for _, file in ipairs(proposal.files) do
    local name, beyond = visible.text(vim.fn.fnamemodify(file.path, ':t')), M.beyond_text(file)
    -- Those with more than lines come first: they are never among the ones that are only counted.
    special = special + (beyond and 1 or 0)
    table.insert(names, beyond and special or #names + 1, beyond and ('%s (%s)'):format(name, beyond) or name)
    for _, hunk in ipairs(file.hunks) do
      hunks = hunks + 1
      plus = plus + select(2, hunk.newText:gsub('[^\n]+', ''))
      minus = minus + select(2, hunk.oldText:gsub('[^\n]+', ''))
    end
  end
  local named = math.min(#names, math.max(3, special))
  local shown = table.concat(names, ', ', 1, named) .. (#names > named and (' and %d more'):format(#names - named) or '')
  return ('%s (%d %s, +%d −%d)'):format(shown, hunks, hunks == 1 and 'change' or 'changes', plus, minus)
end

function M.created(params, id)
  local proposal = params.proposal
  take(proposal, id)
  if not M.is_waiting(proposal) or proposal.autoApproved then
    return
  end
  client.tell('pending review: ' .. M.summary(proposal) .. '. :Countersign next, accept')
  if require('countersign.config').get().review.open == 'side' then
    require('countersign.review.side').open(proposal, nil, nil, true)
  end
end

function M.updated(params, id)
  local proposal = params.proposal
  local before = waiting[proposal.id]
  take(proposal, id)
  if before and proposal.status == 'failed' then
    require('countersign.client').tell((proposal.outcome or 'the change could not be made; no file was changed.'), vim.log.levels.ERROR)
  end
end

--- Where the hunks lie after the person has typed.
function M.moved(params)
  local proposal = waiting[params.proposalId]
  if not proposal then
    return
  end
  proposal.status = params.status
  for _, moved in ipairs(params.files) do
    for _, file in ipairs(proposal.files) do
      if file.path == moved.path then
        file.open, file.version = moved.open, moved.version
        local by_id = {}
        for _, hunk in ipairs(file.hunks) do
          by_id[hunk.id] = hunk
        end
        for _, hunk in ipairs(moved.hunks) do
          local known = by_id[hunk.id]
          if known then
            known.status, known.range, known.conflict = hunk.status, hunk.range, hunk.conflict
          end
        end
      end
    end
  end
  require('countersign.review.seen').follow(proposal)
  places.hold(proposal, M.is_waiting(proposal))
  events.emit('proposal', { proposal = proposal, moved = true })
end

events.on('found', function(data)
  local id, root = data.client.id, data.client.config.root_dir or ''
  running[id] = root
  vim.defer_fn(function()
    for proposal, one in pairs(lost) do
      if running[id] and one.root == root then
        lost[proposal] = nil
      end
    end
  end, LOOKS)
end)

events.on('lost', function(data)
  local root = running[data.client] or ''
  running[data.client] = nil
  for _, proposal in ipairs(M.list()) do
    if proposal.client == data.client then
      proposal.status = 'withdrawn'
      take(proposal, data.client)
      lost[proposal.id] = { root = root, files = proposal.files }
    end
  end
end)

--- The waiting hunks of a file, in the order of their lines.
---@param path string
---@return countersign.Place[]
function M.in_file(path)
  local found = {}
  for _, proposal in ipairs(M.list()) do
    for _, file in ipairs(proposal.files) do
      if file.path == path then
        for _, hunk in ipairs(file.hunks) do
          found[#found + 1] = place_of(proposal, file, hunk)
        end
      end
    end
  end
  table.sort(found, function(a, b)
    return a.range.start < b.range.start
  end)
  return found
end

---@param place countersign.Place
---@return boolean
function M.is_open(place)
  return place.hunk.status == 'pending' or place.hunk.status == 'conflicting'
end

--- All hunks that nobody has decided on, file by file.
---@return countersign.Place[]
function M.open_hunks()
  local found = {}
  for _, proposal in ipairs(M.list()) do
    for _, file in ipairs(proposal.files) do
      for _, hunk in ipairs(file.hunks) do
        local place = place_of(proposal, file, hunk)
        if M.is_open(place) then
          found[#found + 1] = place
        end
      end
    end
  end
  return found
end

--- A hunk of a proposal that waits.
---@param proposal string
---@param hunk string
---@return countersign.Place?
function M.find(proposal, hunk)
  for _, file in ipairs(waiting[proposal] and waiting[proposal].files or {}) do
    for _, one in ipairs(file.hunks) do
      if one.id == hunk then
        return place_of(waiting[proposal], file, one)
      end
    end
  end
end

--- The hunk at a line of a file: the one that covers it, else the only one on the line before or behind. Where several cover
--- it or are as near, none is meant: nobody could tell which. One that waits goes before one that is decided.
---@param path string
---@param line integer From 0.
---@param only? string The id of the proposal that is looked at: those of others are not meant.
---@return countersign.Place?
---@return boolean? several Whether none is meant because several cover the line.
function M.at(path, line, only)
  local function find(list)
    local over, near = {}, {}
    for _, place in ipairs(list) do
      local range = place.range
      if line >= range.start and line < math.max(range['end'], range.start + 1) then
        over[#over + 1] = place
      elseif line >= range.start - 1 and line <= range['end'] then
        near[#near + 1] = place
      end
    end
    if #over > 0 then
      return #over == 1 and over[1] or nil, #over > 1
    end
    return #near == 1 and near[1] or nil, false
  end
  local all = vim.tbl_filter(function(place)
    return not only or place.proposal.id == only
  end, M.in_file(path))
  local found, several = find(vim.tbl_filter(M.is_open, all))
  if found or several then
    return found, several
  end
  return find(all)
end

--- Sends a decision. What becomes of it is told by `proposal/updated`. A yes names its hunks: one without would cover what fits only by
--- the time it comes, which nobody has seen.
---@param proposal table
---@param decision 'accept'|'reject'|'reset'
---@param which? { hunkIds?: string[], path?: string }
---@param feedback? string
---@param done? fun(proposal: table)
function M.decide(proposal, decision, which, feedback, done)
  if lost[proposal.id] or (not waiting[proposal.id] and not client.by_id(proposal.client)) then
    return client.tell('nothing was decided: ' .. M.gone(proposal.id), vim.log.levels.WARN)
  end
  if decision == 'accept' and not (which and which.hunkIds) then
    error('an accept names its hunks')
  end
  -- Another server may have it than when it was looked at.
  proposal = waiting[proposal.id] or proposal
  local params = vim.tbl_extend('force', { proposalId = proposal.id, decision = decision }, which or {})
  params.feedback = feedback and vim.trim(feedback) ~= '' and feedback or nil
  client.request(proposal.client, 'proposal/decide', params, function(result)
    take(result.proposal, proposal.client)
    if done then
      done(result.proposal)
    end
  end)
end

--- Brings what a server has waiting, for instance from an earlier session.
---@param server vim.lsp.Client
function M.load(server)
  client.request(server, 'proposal/list', {}, function(result)
    for _, proposal in ipairs(result.data) do
      take(proposal, server.id)
    end
  end, function() end)
end

--- For tests: forgets everything.
function M.reset()
  waiting, order, lost = {}, {}, {}
end

return M
