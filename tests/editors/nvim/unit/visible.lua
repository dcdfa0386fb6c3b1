-- Text of others as the person sees it: the same as what the server makes of it, by the corpora that its tests write.
local T = ...
local tests = {}

local function rows(name)
  local all = {}
  for line in io.lines(('%s/tests/it/corpus/%s.jsonl'):format(T.root, name)) do
    all[#all + 1] = vim.json.decode(line)
  end
  T.check(#all > 1000, name)
  return all
end

tests['what hides is shown as the server shows it'] = function()
  local visible = require('countersign.visible')
  for _, row in ipairs(rows('shown')) do
    T.equal(visible.text(row[1]), row[2])
    T.equal(visible.lines(row[1]), row[3] or row[2])
  end
end

tests['what is no text shows as such'] = function()
  local visible = require('countersign.visible')
  T.equal(visible.text('a\xffb\xe2\x82'), 'a\u{fffd}b\u{fffd}')
  T.equal(visible.text('\xe0\x80\x80\xed\xa0\x80'), '<U+0000><U+D800>')
end

tests['nothing of a text is loaded by being shown, as in the documents of the server'] = function()
  local inert = require('countersign.inert')
  for _, row in ipairs(rows('inert')) do
    T.equal(inert.text(row[1]), row[2], vim.inspect(row[1]))
  end
  T.equal(inert.lines({ 'a ![x]', '', '<img src=u>', '' }), { 'a ![x]', '', '\\<img src=u>', '' })
end

return tests
