// A person at a Neovim that has no plugin: keys in over its socket, what it holds and asks out through the Rig of init.lua.
import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { check, equal } from "../checks.mjs";
import { chooseFix, goToFiles } from "../person.mjs";
import { here, listens, out, project, server, state, until } from "../stage.mjs";

const run = promisify(execFile);
/** What people have in their configuration: the editor's own function, and all that is offered, carried out at once. */
const HOOKS = `for _, kind in ipairs(...) do
    vim.api.nvim_create_autocmd('BufWritePre', { callback = function(event)
      vim.lsp.buf.code_action({ context = { only = { kind } }, apply = true })
      local params = vim.lsp.util.make_range_params(0, 'utf-16')
      params.context = { only = { kind }, diagnostics = {} }
      for id, answer in pairs(vim.lsp.buf_request_sync(event.buf, 'textDocument/codeAction', params, 5000)) do
        if not (answer.err or answer.error) then
          vim.g.hooked = (vim.g.hooked or 0) + 1
        end
        for _, action in ipairs(answer.result or {}) do
          if action.edit then
            vim.lsp.util.apply_workspace_edit(action.edit, 'utf-16')
          end
          if action.command then
            vim.lsp.buf_request(event.buf, 'workspace/executeCommand', action.command, function() end)
          end
        end
      end
    end })
  end`;
const program = process.env.JOURNEY_NVIM;

/**
 * What Neovim runs of a project (option `exrc`) once the person has trusted the file, as is noted here. It hands settings to
 * the server: at its start, on request and as a change; in older releases as a change.
 */
function plant(settings) {
  const file = path.join(project, ".nvim.lua");
  const text = `local settings = { countersign = vim.json.decode([==[${JSON.stringify(settings)}]==]) }
if vim.lsp.config then
  vim.lsp.config('countersign', { init_options = settings, settings = settings })
else
  vim.api.nvim_create_autocmd('LspAttach', { callback = function(event)
    vim.lsp.get_client_by_id(event.data.client_id).notify('workspace/didChangeConfiguration', { settings = settings })
  end })
end
`;
  fs.writeFileSync(file, text);
  const noted = path.join(process.env.XDG_STATE_HOME, "nvim");
  fs.mkdirSync(noted, { recursive: true });
  fs.writeFileSync(path.join(noted, "trust"), `${createHash("sha256").update(text).digest("hex")} ${fs.realpathSync(file)}\n`);
}

/** What a scene may want: `profile`, `onSave` (kinds of code actions that are run before each save), `planted` (settings that the project brings along). */
export async function start({ profile, onSave, planted } = {}) {
  const socket = path.join(state, "nvim.sock");
  let settings = path.join(here, "nvim", "init.lua");
  if (profile === "printed") {
    // What the program prints, and nothing else of ours.
    const { stdout } = await run(server, ["editor-config", "neovim"]);
    settings = path.join(state, "init.lua");
    fs.writeFileSync(settings, `dofile("${path.join(here, "nvim", "rig.lua")}")\n${stdout}`);
  }
  let init = ["-u", settings];
  if (planted) {
    plant(planted);
    // With `-u` nothing of a project would be run.
    const folder = path.join(process.env.XDG_CONFIG_HOME, "nvim");
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(path.join(folder, "init.lua"), `vim.o.exrc = true\ndofile("${settings}")\n`);
    init = [];
  }
  const options = ["--embed", "--headless", "-n", "-i", "NONE", ...init, "--listen", socket];
  const child = spawn(program, options, { cwd: project, stdio: ["pipe", "ignore", "ignore"] });
  const editor = new Neovim(child, socket);
  editor.printed = profile === "printed";
  await until("the editor to start", () => listens(socket));
  const { major, minor, patch } = await editor.lua("return vim.version()");
  editor.version = `Neovim ${major}.${minor}.${patch}`;
  if (onSave) await editor.lua(HOOKS, onSave);
  return editor;
}

export class Neovim {
  typed = 0;

  constructor(child, socket) {
    this.child = child;
    this.socket = socket;
    this.ended = new Promise((resolve) => child.on("exit", () => resolve(true)));
  }

  async #remote(...args) {
    const { stdout } = await run(program, ["--server", this.socket, ...args], { timeout: 20000 });
    return stdout;
  }

  /** Runs Lua in the editor. `...` in it is the argument. */
  async lua(code, argument = null) {
    const file = path.join(state, "chunk.lua");
    fs.writeFileSync(file, `return (function(...) ${code} end)(vim.json.decode([==[${JSON.stringify(argument)}]==]))`);
    return JSON.parse(await this.#remote("--remote-expr", `v:lua.Rig.run('${file}')`));
  }

  /** Types keys, as a person would. They take effect some time later. */
  type(keys) {
    return this.#remote("--remote-send", keys);
  }

  /** Types keys and waits until the editor has dealt with them. */
  async typeOut(keys) {
    this.typed += 1;
    await this.type(`${keys}<Cmd>let g:typed = get(g:, "typed", 0) + 1<CR>`);
    await until(`the editor to take ${keys}`, async () => (await this.lua("return vim.g.typed")) === this.typed);
  }

  async open(name) {
    // What is in view already, with unsaved text, cannot be read anew.
    await this.lua("if vim.fn.bufnr(...) ~= vim.api.nvim_get_current_buf() then vim.cmd.edit(...) end", name);
    const served = await until("the server to start", () =>
      this.lua(`local client = vim.lsp.get_clients({ name = 'countersign', bufnr = 0 })[1]
        return client and client.initialized`),
    );
    check("the server serves the buffer", served);
  }

  text(name) {
    return this.lua("return table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr(...), 0, -1, false), '\\n') .. '\\n'", name);
  }

  isUnsaved(name) {
    return this.lua("return vim.bo[vim.fn.bufnr(...)].modified", name);
  }

  /** Puts the cursor on a text. */
  at(text) {
    return this.lua("vim.fn.search('\\\\V' .. vim.fn.escape(..., '\\\\'), 'w')", text);
  }

  /** The line of the cursor, counted from 1. */
  line() {
    return this.lua("return vim.fn.line('.')");
  }

  /** The document that is shown. */
  shown() {
    return this.lua("return { name = vim.api.nvim_buf_get_name(0), text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n') .. '\\n' }");
  }

  /** What the agent marks in the shown file. */
  hints() {
    return this.lua(`return vim.tbl_map(function(one) return one.message end, vim.tbl_filter(function(one)
        return one.source == 'countersign' and one.severity == vim.diagnostic.severity.HINT
      end, vim.diagnostic.get(0)))`);
  }

  /** What a review found in the shown file. Lines count from 1. */
  findings() {
    return this.lua(`return vim.tbl_map(function(one)
        return { line = one.lnum + 1, severity = vim.diagnostic.severity[one.severity]:lower(), text = one.message }
      end, vim.tbl_filter(function(one) return one.source == 'countersign review' end, vim.diagnostic.get(0)))`);
  }

  async insertBelow(text, line) {
    await this.at(text);
    await this.typeOut(`o${line}<Esc>`);
  }

  async insertAbove(text, line) {
    await this.at(text);
    await this.typeOut(`O${line}<Esc>`);
  }

  async replace(around, word, by) {
    await this.at(around);
    await this.lua("vim.fn.search('\\\\V' .. ..., 'c')", word);
    await this.typeOut(`c${[...word].length}l${by}<Esc>`);
  }

  /** Selects the lines from one text to another. */
  async select(from, to) {
    await this.at(from);
    const first = await this.line();
    await this.at(to);
    return { first, last: await this.line() };
  }

  /** Has selected lines rewritten, by one of the instructions that are offered. */
  async rewrite(from, to, title) {
    const { first, last } = await this.select(from, to);
    await this.type(`:${first},${last}CountersignActions<CR>`);
    const offered = await this.actionList();
    check("a selection can be rewritten", offered.some((one) => one.startsWith("Ask agent to rewrite the selection")), offered);
    await this.choose("Ask agent to rewrite the selection");
    await this.question("what is to be done with it", title);
    await this.answer(title);
  }

  /** Puts words at the end of the shown document. */
  async writeAtEnd(words) {
    await this.typeOut(`GA${words}<Esc>`);
  }

  /** What is offered for words at the end of the document, or at the end of its line that begins so. Nothing of it stays. */
  async completes(words, line) {
    if (line === undefined) await this.lua("vim.cmd('normal! G')");
    else await this.lua("vim.fn.search('^\\\\V' .. ..., 'w')", line);
    const before = await this.shown();
    await this.type(line === undefined ? `A${words}<C-x><C-o>` : `C${words}<C-x><C-o>`);
    const offered = await until(`completion of “${words}”`, async () => {
      const items = await this.lua("return vim.tbl_map(function(one) return one.word .. ' ' .. one.abbr end, vim.fn.complete_info({ 'items' }).items)");
      return items.length > 0 && items;
    });
    await this.typeOut("<C-e><Esc>");
    await this.typeOut("u");
    equal("what was tried out is gone", (await this.shown()).text, before.text);
    return offered.join("\n");
  }

  /** The first lines of what folds in the shown document, by the editor's own folding where it has one. */
  folds() {
    return this.lua(`if vim.lsp.foldexpr then
        vim.wo.foldmethod, vim.wo.foldexpr, vim.wo.foldlevel = 'expr', 'v:lua.vim.lsp.foldexpr()', 99
        vim.wait(3000, function() return vim.fn.foldlevel('$') > 0 end, 20)
        local found, before = {}, 0
        for line = 1, vim.fn.line('$') do
          local level = vim.fn.foldlevel(line)
          if level > before or (level > 0 and vim.lsp.foldexpr(line):sub(1, 1) == '>') then table.insert(found, vim.fn.getline(line)) end
          before = level
        end
        return found
      end
      local client = vim.lsp.get_clients({ name = 'countersign', bufnr = 0 })[1]
      local answer = client.request_sync('textDocument/foldingRange', { textDocument = { uri = vim.uri_from_bufnr(0) } }, 5000, 0)
      return vim.tbl_map(function(one) return vim.fn.getline(one.startLine + 1) end, answer.result)`);
  }

  /** What is told of the place behind a text, once it has a part. */
  async hover(text, part) {
    await this.at(text);
    await this.lua("vim.schedule(vim.lsp.buf.hover)");
    return until(`what is told of “${text}”`, async () => {
      const told = await this.lua(`for _, win in ipairs(vim.api.nvim_list_wins()) do
          if vim.api.nvim_win_get_config(win).relative ~= '' then
            return table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 0, -1, false), '\\n')
          end
        end`);
      return told?.includes(part) && told;
    });
  }

  /** Presses a code lens of the shown document. */
  async lens(title) {
    const found = await until(`the lens “${title}”`, () =>
      this.lua(
        `local client = vim.lsp.get_clients({ name = 'countersign', bufnr = 0 })[1]
        if vim.fn.has('nvim-0.12') == 1 then vim.lsp.codelens.enable(true, { bufnr = 0 }) else vim.lsp.codelens.refresh({ bufnr = 0 }) end
        vim.wait(500)
        for _, one in ipairs(vim.lsp.codelens.get(vim.fn.has('nvim-0.12') == 1 and { bufnr = 0 } or 0)) do
          local lens = one.lens or one
          if lens.command and lens.command.title:find(..., 1, true) then
            return { line = lens.range.start.line + 1, title = lens.command.title }
          end
        end`,
        title,
      ),
    );
    await this.lua("vim.api.nvim_win_set_cursor(0, { ..., 0 })", found.line);
    await this.lua("vim.schedule(vim.lsp.codelens.run)");
    // Where a line has several, Neovim asks which.
    const asked = await until("the lenses of the line", async () => {
      const question = await this.#asked();
      return question?.kind === "codelens" && question;
    }, 3000).catch(() => undefined);
    if (asked) await this.answer(asked.choices.find((choice) => choice.includes(title)));
  }

  /** Does what the document offers. */
  async act(title) {
    await this.actions();
    await this.choose(title);
  }

  async send() {
    await this.actions();
    await this.choose("Agent: Send");
  }

  async stop() {
    await this.typeOut(":CountersignStop<CR>");
  }

  async save() {
    await this.typeOut(":write<CR>");
  }

  async format() {
    await this.typeOut("<Cmd>lua vim.lsp.buf.format()<CR>");
  }

  /** How often code actions were asked for by kind, as is done on save. */
  hooked() {
    return this.lua("return vim.g.hooked or 0");
  }

  /** Closes a file and opens it again. */
  async reopen(name) {
    await this.lua("vim.cmd.bwipeout(vim.fn.bufnr(...))", name);
    await this.open(name);
  }

  /** Another source reports a problem, as a linter or another language server would. */
  lint() {
    return this.lua(`local lnum = vim.fn.search('return totl', 'w') - 1
      vim.diagnostic.set(vim.api.nvim_create_namespace('another-linter'), 0, { {
        lnum = lnum, col = 11, end_lnum = lnum, end_col = 15, source = 'another-linter', code = 'F821',
        severity = vim.diagnostic.severity.ERROR, message = "undefined name 'totl'",
      } })`);
  }

  fix() {
    return chooseFix(this, async () => {
      await this.type(":CountersignFix<CR>");
      return this.actionList();
    });
  }

  async actions() {
    await this.type(this.printed ? "<Cmd>lua vim.lsp.buf.code_action()<CR>" : ":CountersignActions<CR>");
    return this.actionList();
  }

  async actionList() {
    const asked = await until("the list of code actions", async () => {
      const question = await this.#asked();
      return question?.kind === "codeaction" && question;
    });
    return asked.choices;
  }

  choose(title) {
    return this.answer(title);
  }

  #asked() {
    return this.lua("return Rig.question()");
  }

  /** Puts a question away without an answer; nobody is told. */
  putAway() {
    return this.lua("return Rig.put_away()");
  }

  isAsked() {
    return this.#asked();
  }

  /** The question that nobody has answered, once it offers this choice. */
  question(what, choice) {
    return until(what, async () => {
      const asked = await this.#asked();
      return asked?.choices.some((title) => title.startsWith(choice)) && asked;
    });
  }

  async answer(title) {
    if (!(await this.lua("return Rig.answer(...)", title))) throw new Error(`“${title}” is not among the choices: ${JSON.stringify(await this.#asked())}`);
  }

  /** What the person was told since, once one of it has a text. */
  told(text) {
    return until(`“${text}” to be told`, () => this.lua("for _, one in ipairs(Rig.messages) do if one:find(..., 1, true) then return one end end", text));
  }

  async proposal() {
    const asked = await this.question("the proposal", "Accept all");
    return { text: asked.text, acceptAll: () => this.answer("Accept all"), dismiss: () => this.lua("return Rig.dismiss()"), decideInFiles: () => goToFiles(this) };
  }

  async undoTurn() {
    await this.typeOut(":CountersignUndo<CR>");
  }

  async showTurn() {
    await this.typeOut(":CountersignDiff<CR>");
  }

  async idle() {
    await until("the turn to end", () =>
      this.lua(`local open = 0
        for _, p in ipairs(Rig.progress) do
          open = open + (p.value.kind == 'begin' and 1 or p.value.kind == 'end' and -1 or 0)
        end
        return #Rig.progress > 0 and open == 0`),
    );
  }

  async checkProgress() {
    const progress = await this.lua("return Rig.progress");
    const of = (kind) => progress.filter(({ value }) => value.kind === kind);
    equal("progress begins once", of("begin").length, 1);
    equal("progress ends once", of("end").length, 1);
    check("progress can be cancelled", progress[0].value.cancellable === true, progress[0]);
    const words = progress.map(({ value }) => value.message ?? "").join("\n");
    check("progress tells of the command", words.includes("unittest"), words);
  }

  undo() {
    return this.typeOut("u");
  }

  redo() {
    return this.typeOut("<C-r>");
  }

  /** The editor has no screen here; what it holds and was told is kept. */
  async shot(name) {
    fs.writeFileSync(path.join(out, `${name}.txt`), await this.seen());
  }

  seen() {
    return this.lua("return vim.inspect(Rig) .. '\\n' .. table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')");
  }

  async close() {
    // It may be gone before it has said that it took the keys.
    await this.type("<Esc>:qall!<CR>").catch(() => undefined);
    const deadline = new Promise((resolve) => setTimeout(resolve, 10000, false).unref());
    return Promise.race([this.ended, deadline]);
  }
}
