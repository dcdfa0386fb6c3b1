// A person at a Neovim with the plugin, in a terminal: keys in, the screen out; what it holds is read over its socket.
import fs from "node:fs";
import path from "node:path";
import { Neovim } from "../nvim/driver.mjs";
import { chooseFix } from "../person.mjs";
import { block, here, home, listens, newcomer, project, sleep, state, until } from "../stage.mjs";
import { Terminal } from "../terminal.mjs";

const program = process.env.JOURNEY_NVIM;

const PAGE = "editors/nvim/README.md";
const socket = path.join(state, "nvim.sock");

/** Settings as VS Code and coc have them in a project's files, each name whole. */
function plant(settings) {
  const camel = (name) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
  const named = Object.entries(settings).map(([name, value]) => [`countersign.${camel(name)}`, value]);
  const write = (name, part) => {
    fs.mkdirSync(path.join(project, path.dirname(name)));
    fs.writeFileSync(path.join(project, name), JSON.stringify(Object.fromEntries(part)));
  };
  write(".vscode/settings.json", named.slice(0, 3));
  write(".vim/coc-settings.json", named.slice(3));
}

/** What a scene may want: `profile`, `key` (false: a clean profile has none), `prepare` (called before anything starts), `config` (text at the end of the server's `config.toml`), `planted` (settings that the project brings along, for a plugin that reads a project's settings). */
export async function start({ profile, key, prepare, config, planted } = {}) {
  await prepare?.();
  if (planted) plant(planted);
  if (config !== undefined) fs.appendFileSync(path.join(home, "config.toml"), `\n${config}`);
  const editor = new WithPlugin({ on: () => undefined }, socket);
  if (profile === "clean") {
    newcomer(block(PAGE, "ln -s"), key);
    const folder = path.join(state, ".config", "nvim");
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(path.join(folder, "init.lua"), block(PAGE, "setup()"));
  }
  await editor.begin(profile);
  if (planted) await editor.lua("dofile(...)", path.join(here, "nvim-plugin", "project_settings.lua"));
  const { major, minor, patch } = await editor.lua("return vim.version()");
  editor.version = `Neovim ${major}.${minor}.${patch} with the plugin`;
  return editor;
}

class WithPlugin extends Neovim {
  async begin(profile) {
    this.typed = 0;
    const settings = profile === "clean" ? ["--cmd", `luafile ${path.join(here, "nvim", "rig.lua")}`] : ["-u", path.join(here, "nvim-plugin", "init.lua")];
    this.terminal = new Terminal([program, "-n", "-i", "NONE", ...settings, "--listen", socket]);
    await until("the editor to start", () => listens(socket));
    await until("the editor to answer", () => this.lua("return true"));
  }

  /** Closes the editor and opens it again. */
  async restart() {
    await this.close();
    await until("the socket to go", () => !fs.existsSync(socket));
    await this.begin();
  }

  /** What the editor says of the plugin's health. */
  async health() {
    await this.typeOut("<Cmd>checkhealth countersign<CR>");
    const { text } = await this.shown();
    await this.shot("health");
    await this.typeOut("<Cmd>bwipeout<CR>");
    return text;
  }

  /** Runs a sub-command of the plugin. A yes comes after a look at what it is for. */
  async command(words) {
    if (words.startsWith("accept")) await sleep(300);
    return this.typeOut(`<Cmd>Countersign ${words}<CR>`);
  }

  fix() {
    return chooseFix(this, () => this.actions());
  }

  async actions() {
    await this.type("<Cmd>Countersign actions<CR>");
    return this.actionList();
  }

  /** Has selected lines rewritten, in words. */
  async rewrite(from, to, _title, words) {
    const { first, last } = await this.select(from, to);
    await this.typeOut(`<Cmd>${first},${last}Countersign rewrite ${words}<CR>`);
  }

  /** What the plugin marks in the shown file. */
  hints() {
    return this.lua(`local found = {}
      for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_create_namespace('countersign.inline'), 0, -1, { details = true })) do
        local chunks = vim.list_extend(vim.deepcopy(mark[4].virt_text or {}), (mark[4].virt_lines or {})[1] or {})
        for _, chunk in ipairs(chunks) do
          if chunk[1]:find('change %d') then
            table.insert(found, chunk[1])
          end
        end
      end
      return found`);
  }

  /** The changes that wait: none is asked about, all are announced. */
  async proposal() {
    const text = await until("the proposal", () =>
      this.lua(`local proposal = require('countersign.proposals').list()[1]
        return proposal and require('countersign.proposals').summary(proposal)`),
    );
    return {
      text,
      acceptAll: () => this.#acceptAll(),
      dismiss: () => this.command("reject all"),
      decideInFiles: () => undefined,
    };
  }

  /** What was not in view is shown at the first word, change by change, and accepted once all of it was. */
  async #acceptAll() {
    const waits = () => this.lua("return #require('countersign.proposals').list() > 0");
    const told = () => this.lua("return #require('countersign.client').told()");
    for (let left = 20; left > 0; left -= 1) {
      const before = await told();
      await this.command("accept all");
      await until("the decision, or what it is about", async () => !(await waits()) || (await told()) > before, 10000);
      if (!(await waits())) return;
      await this.shot("shown-first");
    }
  }

  /** A yes comes after a look at what it is for. One that the plugin takes for a yes to something else is given again. */
  async choose(title) {
    if (!title.startsWith("Accept")) return super.choose(title);
    await sleep(300);
    for (let left = 5; ; left -= 1) {
      const before = await this.#decided();
      await super.choose(title);
      const after = await until("the decision, or what it is about", async () => {
        const now = await this.#decided();
        return now.waiting !== before.waiting || now.told > before.told ? now : undefined;
      }, 10000);
      if (after.waiting !== before.waiting || left === 0) return;
      if (after.last.includes("has not been shown yet")) return title.startsWith("Accept all of") ? this.#acceptAll() : undefined;
      if (!after.last.includes("has only just come")) return;
      await sleep(300);
      await this.actions();
    }
  }

  /** How many changes wait for a decision, and what the person was told so far. */
  #decided() {
    return this.lua(`local waiting, told = 0, require('countersign.client').told()
      for _, proposal in ipairs(require('countersign.proposals').list()) do
        for _, file in ipairs(proposal.files) do
          for _, hunk in ipairs(file.hunks) do
            waiting = waiting + (hunk.status == 'pending' and 1 or 0)
          end
        end
      end
      return { waiting = waiting, told = #told, last = told[#told] or '' }`);
  }

  undoTurn() {
    return this.command("undo");
  }

  showTurn() {
    return this.command("changes");
  }

  /** The text of the chat that is shown, folds open, and what stands beside its lines. */
  chat() {
    return this.lua(`for _, win in ipairs(vim.api.nvim_list_wins()) do
        local buf = vim.api.nvim_win_get_buf(win)
        if vim.bo[buf].filetype == 'countersign' then
          local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
          for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, vim.api.nvim_create_namespace('countersign.chat'), 0, -1, { details = true })) do
            local function add(chunks)
              lines[mark[2] + 1] = lines[mark[2] + 1] .. table.concat(vim.tbl_map(function(chunk) return chunk[1] end, chunks))
            end
            add(mark[4].virt_text or {})
            for _, line in ipairs(mark[4].virt_lines or {}) do
              add(vim.list_extend({ { '\\n' } }, line))
            end
          end
          return table.concat(lines, '\\n')
        end
      end
      return ''`);
  }

  /** Waits until the chat has a text. */
  async chatHas(text) {
    return until(`“${text}” in the chat`, async () => {
      const chat = await this.chat();
      return chat.includes(text) && chat;
    });
  }

  /** Opens the chat and waits until its composer is written in. */
  async openChat(words = "chat") {
    await this.type(`<Cmd>Countersign ${words}<CR>`);
    await until("the composer", async () => (await this.lua("return vim.bo.filetype .. vim.fn.mode()")) === "countersign-composeri");
  }

  /** Writes in the composer and sends it. */
  async say(words) {
    await this.typeOut(words.replaceAll("<", "<lt>"));
    await this.typeOut("<Esc><Cmd>write<CR>");
  }

  /** Types these lines into the next prompts; null closes one. */
  typesNext(...lines) {
    return this.lua("for _, one in ipairs(...) do table.insert(Rig.lines, one == vim.NIL and false or one) end", lines);
  }

  /** Kills the server that this editor has started. */
  async killServer() {
    const own = (await this.lua("return vim.fn.getpid()")).toString();
    const parent = (pid) => /^PPid:\s*(\d+)/m.exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))[1];
    for (const pid of fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
      try {
        if (parent(pid) === own && fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("countersign")) process.kill(Number(pid), "SIGKILL");
      } catch {
        // It has ended meanwhile.
      }
    }
  }

  /** What is on the screen, kept; by a name that ends in -light as a picture on light paper. */
  async shot(name) {
    await this.terminal.shot(name);
    await this.terminal.picture(name, name.endsWith("-light"));
  }

  async close() {
    await this.type("<Esc>:qall!<CR>").catch(() => undefined);
    return until("the editor to close", () => !this.terminal.isOpen, 10000).catch(() => false);
  }
}
