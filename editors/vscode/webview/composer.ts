/**
 * Where the person writes: mentions, calls, history, pictures, the mode and the model.
 */
import { isOffered, picker } from "../src/chat/approvals";
import type { Approvals } from "../src/chat/approvals";
import { InputHistory } from "../src/chat/history";
import { COMMANDS, INIT, complete, couldFit, mention, ownCommand, triggerAt } from "../src/chat/mentions";
import type { Trigger } from "../src/chat/mentions";
import { effortPicker, modelPicker } from "../src/chat/models";
import type { Picker } from "../src/chat/models";
import { Outbox, joined } from "../src/chat/outbox";
import type { Draft } from "../src/chat/outbox";
import type { Choices, SymbolEntry, ToPage } from "../src/chat/wire";
import type { FileMatch, Mode, Model, ThreadSettings } from "../src/protocol";
import { button, el, iconButton } from "./dom";
import { post } from "./host";

const MOST_IMAGE_BYTES = 15 << 20;
const MODES: Readonly<Record<Mode, { title: string; means: string }>> = {
  ask: { title: "Ask", means: "Only answers: no tools that change anything" },
  plan: { title: "Plan", means: "Looks around and plans; the sandbox keeps it from writing" },
  agent: { title: "Agent", means: "Works: runs commands in the sandbox and proposes changes" },
};

interface Offer {
  readonly label: string;
  readonly detail: string;
  readonly text: string;
  /** Of a mention: what is searched for the words behind `@`. */
  readonly sought?: string;
}

export class Composer {
  readonly text = el("textarea", { label: "Message to the agent", attrs: { rows: "1", placeholder: "Ask, or say what to do. @ for context, / for commands, ! for shell", "aria-autocomplete": "list", "aria-controls": "offers" } });
  private readonly offers = el("ul", { class: "offers", role: "listbox", attrs: { id: "offers" } });
  private readonly images = el("div", { class: "images" });
  private readonly chips = el("div", { class: "chips" });
  private readonly mode = el("select", { label: "Mode", title: "What the agent may do" });
  private readonly approvals = el("select", { label: "Approvals", title: "What asks you first" });
  private readonly model = el("select", { label: "Model", title: "Model" });
  private readonly effort = el("select", { label: "Effort", title: "How much the model thinks" });
  private readonly sendButton = button("", () => { this.send(false); }, { class: "send primary", label: "Send", icon: "send" });
  private readonly queueButton = iconButton("down", "Queue: give it a turn of its own after the running one (Alt+Enter)", () => { this.send(true); });
  private readonly stopButton = button("", () => { this.stop(); }, { class: "send stop", label: "Stop (Esc)", title: "Stop (Esc)", icon: "stop" });
  readonly root: HTMLElement;

  private readonly history = new InputHistory();
  private readonly outbox = new Outbox();
  private pictures: string[] = [];
  private prompts: { name: string; description?: string | null; argumentHint: string }[] = [];
  private models: readonly Model[] = [];
  private chosen: { mode?: Mode; approvals?: Approvals; model?: { id: string; provider: string }; effort?: string } = {};
  private settings: ThreadSettings | undefined;
  private shown: Offer[] = [];
  private picked = 0;
  private trigger: Trigger | undefined;
  private token = 0;
  private readonly leaveOut = new Set<"activeFile" | "selection">();
  private attention: { activeFile: string | null; lines: { start: number; end: number } | null } = { activeFile: null, lines: null };
  private running = false;

  constructor(
    private readonly onDraft: (text: string) => void,
    private readonly onTrouble: (text: string) => void,
  ) {
    const file = el("input", { attrs: { type: "file", accept: "image/png,image/jpeg,image/gif,image/webp", multiple: "" }, on: { change: () => { this.addFiles(file.files); } } });
    file.hidden = true;
    for (const [id, { title, means }] of Object.entries(MODES)) {
      this.mode.append(el("option", { attrs: { value: id, title: means } }, title));
    }
    this.mode.value = "agent";
    this.mode.addEventListener("change", () => { this.chosen.mode = this.mode.value as Mode; });
    this.model.addEventListener("change", () => {
      const model = this.models[Number(this.model.value)];
      if (model !== undefined) {
        this.chosen.model = { id: model.id, provider: model.provider };
        this.drawEfforts();
      }
    });
    // Who looks for a model where none is known has them looked for again.
    this.model.addEventListener("focus", () => {
      if (this.models.length === 0) post({ type: "models" });
    });
    this.effort.addEventListener("change", () => {
      if (this.effort.value !== "") this.chosen.effort = this.effort.value;
    });
    this.approvals.addEventListener("change", () => {
      if (this.approvals.value !== "") this.chosen.approvals = this.approvals.value as Approvals;
      this.drawApprovals();
    });
    this.drawApprovals();
    this.drawModels();
    this.offers.hidden = true;
    this.stopButton.hidden = true;
    this.queueButton.hidden = true;
    const add = iconButton("add", "Add context: files, folders, symbols, the selection, problems", () => { this.addContext(); });
    const picture = iconButton("image", "Add a picture", () => { file.click(); });
    this.root = el("div", { class: "composer", role: "form", label: "Composer" },
      this.offers,
      el("div", { class: "given" }, add, picture, this.chips),
      this.images,
      this.text,
      el("div", { class: "composer-bar" },
        el("span", { class: "pickers" }, this.mode, this.approvals, this.model, this.effort),
        el("span", { class: "tools" }, file, this.queueButton, this.stopButton, this.sendButton)));
    this.text.addEventListener("input", () => { this.edited(); });
    this.text.addEventListener("keydown", (event) => { this.key(event); });
    this.text.addEventListener("click", () => { this.look(); });
    // A press on the list takes the focus for a moment; a button that opens the list gives it back.
    this.text.addEventListener("blur", () => { setTimeout(() => { if (document.activeElement !== this.text) this.offer([]); }, 150); });
    this.text.addEventListener("paste", (event) => {
      if (this.addFiles(event.clipboardData?.files)) event.preventDefault();
    });
    this.root.addEventListener("dragover", (event) => { event.preventDefault(); });
    this.root.addEventListener("drop", (event) => {
      event.preventDefault();
      if (!this.addFiles(event.dataTransfer?.files)) this.addUris(event.dataTransfer?.getData("text/uri-list") ?? "");
    });
  }

  focus(): void {
    this.text.focus();
  }

  /** Opens the list of models where the browser lets it be opened; else it has the focus, one key away. */
  chooseModel(): void {
    this.model.focus();
    try {
      this.model.showPicker();
    } catch {
      // Only a press of the person's may open it.
    }
  }

  set(text: string): void {
    this.text.value = text;
    this.edited();
  }

  insert(text: string): void {
    const { selectionStart, value } = this.text;
    const blank = selectionStart === 0 || /\s$/.test(value.slice(0, selectionStart)) ? "" : " ";
    this.text.setRangeText(`${blank}${text} `, selectionStart, this.text.selectionEnd, "end");
    this.edited();
    this.focus();
  }

  setRunning(running: boolean): void {
    if (running === this.running) {
      return;
    }
    this.running = running;
    this.stopButton.hidden = !running;
    this.queueButton.hidden = !running;
    this.text.placeholder = running ? "Add a follow-up (Esc to stop)" : "Ask, or say what to do. @ for context, / for commands, ! for shell";
    this.fit();
  }

  setSettings(settings: ThreadSettings | undefined): void {
    // A list that is just open must not be made anew.
    if (settings !== this.settings) {
      this.settings = settings;
      this.drawSettings();
    }
  }

  private drawSettings(): void {
    const { settings } = this;
    this.mode.value = this.chosen.mode ?? settings?.mode ?? "agent";
    this.drawApprovals();
    this.drawModels();
  }

  /** Another thread is shown: what was chosen was not meant for it. */
  forget(): void {
    this.chosen = {};
    this.drawSettings();
  }

  takeLists(message: Extract<ToPage, { type: "models" | "prompts" | "history" }>): void {
    if (message.type === "models") {
      this.models = message.models;
      this.drawModels();
    } else if (message.type === "prompts") {
      this.prompts = [...message.prompts];
    } else {
      this.history.load(message.entries);
    }
  }

  setAttention(activeFile: string | null, lines: { start: number; end: number } | null): void {
    this.attention = { activeFile, lines };
    this.drawChips();
  }

  found(token: number, files: readonly FileMatch[], symbols: readonly SymbolEntry[]): void {
    if (token !== this.token || this.trigger?.kind !== "mention") {
      return;
    }
    const { query } = this.trigger;
    const special = ["selection", "diagnostics"].filter((name) => name.startsWith(query)).map((name): Offer => ({ label: `@${name}`, detail: name === "selection" ? "what is selected in the editor" : "the problems that the editor shows", text: `@${name}`, sought: name }));
    this.offer([
      ...files.map((file): Offer => ({ label: file.fileName, detail: file.path, text: mention(file.matchType === "directory" ? `${file.path.replace(/\/$/, "")}/` : file.path), sought: file.path })),
      ...symbols.map((symbol): Offer => ({ label: symbol.name, detail: `${symbol.kind} · ${symbol.container}`, text: symbol.mention, sought: symbol.name })),
      ...special,
    ]);
  }

  private drawApprovals(): void {
    const { approvals } = this.chosen;
    // What was picked may not be offered any more.
    if (approvals !== undefined && !isOffered(approvals, this.settings?.sandboxPolicy)) delete this.chosen.approvals;
    const { entries, value, means } = picker(this.settings, this.chosen.approvals);
    this.approvals.replaceChildren(...entries.map((one) => el("option", { attrs: { value: one.value, title: one.means } }, one.title)));
    this.approvals.value = value;
    this.approvals.title = means;
  }

  /** As if a mention had been begun. */
  private addContext(): void {
    this.focus();
    const { selectionStart, selectionEnd, value } = this.text;
    const blank = selectionStart === 0 || /\s$/.test(value.slice(0, selectionStart)) ? "" : " ";
    this.text.setRangeText(`${blank}@`, selectionStart, selectionEnd, "end");
    this.edited();
  }

  private drawModels(): void {
    draw(this.model, modelPicker(this.models, this.settings, this.chosen.model));
    this.drawEfforts();
  }

  private drawEfforts(): void {
    const picker = effortPicker(this.models[Number(this.model.value || "-1")], this.settings, this.chosen.effort);
    this.effort.hidden = picker.options.length === 0;
    draw(this.effort, picker);
  }

  private drawChips(): void {
    const { activeFile, lines } = this.attention;
    const chip = (kind: "activeFile" | "selection", text: string): HTMLElement => {
      const out = this.leaveOut.has(kind);
      return button(text, () => {
        if (out) this.leaveOut.delete(kind);
        else this.leaveOut.add(kind);
        this.drawChips();
      }, { class: out ? "chip out" : "chip", title: out ? "Not sent to the agent. Click to send it" : "Sent to the agent. Click to leave it out", attrs: { "aria-pressed": String(!out) } });
    };
    this.chips.replaceChildren(
      ...(activeFile === null ? [] : [chip("activeFile", activeFile)]),
      ...(activeFile === null || lines === null || this.leaveOut.has("activeFile") ? [] : [chip("selection", lines.end > lines.start ? `lines ${lines.start}–${lines.end}` : `line ${lines.start}`)]),
    );
  }

  /** As high as what is in it. */
  private fit(): void {
    // Measured without being smaller for a moment: the list above would be moved by that.
    this.root.style.minHeight = `${this.root.offsetHeight}px`;
    this.text.style.height = "auto";
    this.text.style.height = `${Math.min(this.text.scrollHeight + 2, 240)}px`;
    this.root.style.minHeight = "";
  }

  private edited(): void {
    this.fit();
    this.root.classList.toggle("shell", this.text.value.startsWith("!"));
    this.onDraft(this.text.value);
    this.history.reset();
    this.look();
  }

  /** Offers what fits to what is being typed. */
  private look(): void {
    this.trigger = triggerAt(this.text.value, this.text.selectionStart);
    this.token += 1;
    if (this.trigger === undefined) {
      this.offer([]);
    } else if (this.trigger.kind === "mention") {
      const { query } = this.trigger;
      // What cannot fit any more goes at once: Enter takes what is shown, and the answer comes later.
      this.offer(this.shown.filter((one) => one.sought !== undefined && couldFit(one.sought, query)));
      post({ type: "searchFiles", token: this.token, query });
    } else {
      const { query } = this.trigger;
      const all = [
        ...this.prompts.map((one): Offer => ({ label: `/${one.name}`, detail: [one.argumentHint, one.description].filter(Boolean).join(" · "), text: `/${one.name}` })),
        ...COMMANDS.filter((one) => !this.prompts.some((prompt) => prompt.name === one.name)).map((one): Offer => ({ label: `/${one.name}`, detail: one.description, text: `/${one.name}` })),
      ];
      this.offer(all.filter((one) => one.label.slice(1).toLowerCase().startsWith(query.toLowerCase())));
    }
  }

  private offer(offers: Offer[]): void {
    this.shown = offers.slice(0, 20);
    this.picked = 0;
    this.offers.hidden = this.shown.length === 0;
    this.drawOffers();
  }

  private drawOffers(): void {
    this.offers.replaceChildren(
      ...this.shown.map((one, i) => {
        const row = el("li", { role: "option", class: i === this.picked ? "picked" : "", attrs: { id: `offer-${i}`, "aria-selected": String(i === this.picked) } }, el("span", { class: "offer-label" }, one.label), el("span", { class: "dim" }, one.detail));
        row.addEventListener("mousedown", (event) => {
          event.preventDefault();
          this.take(one);
        });
        return row;
      }),
    );
    this.offers.children[this.picked]?.scrollIntoView({ block: "nearest" });
    if (this.shown.length > 0) this.text.setAttribute("aria-activedescendant", `offer-${this.picked}`);
    else this.text.removeAttribute("aria-activedescendant");
  }

  private take(offer: Offer): void {
    if (this.trigger !== undefined) {
      const done = complete(this.text.value, this.text.selectionStart, this.trigger, offer.text);
      this.text.value = done.text;
      this.text.setSelectionRange(done.caret, done.caret);
      this.edited();
      this.offer([]);
    }
  }

  private key(event: KeyboardEvent): void {
    if (event.isComposing) {
      return;
    }
    if (this.shown.length > 0 && this.offerKey(event)) {
      event.preventDefault();
      return;
    }
    const { selectionStart, selectionEnd, value } = this.text;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      this.send(event.altKey);
    } else if (event.key === "Escape" && this.running) {
      event.preventDefault();
      this.stop();
    } else if (event.key === "ArrowUp" && selectionStart === selectionEnd && !value.slice(0, selectionStart).includes("\n")) {
      this.recall(event, this.history.older(value));
    } else if (event.key === "ArrowDown" && selectionStart === selectionEnd && !value.slice(selectionEnd).includes("\n")) {
      this.recall(event, this.history.newer());
    }
  }

  private offerKey(event: KeyboardEvent): boolean {
    const chosen = this.shown[this.picked];
    switch (event.key) {
      case "ArrowDown":
      case "ArrowUp":
        this.picked = (this.picked + (event.key === "ArrowDown" ? 1 : this.shown.length - 1)) % this.shown.length;
        this.drawOffers();
        return true;
      case "Tab":
      case "Enter":
        // A call that is written out is sent, not completed.
        if (event.key === "Enter" && (event.shiftKey || chosen?.text === this.text.value)) return false;
        if (chosen !== undefined) this.take(chosen);
        return true;
      case "Escape":
        this.offer([]);
        return true;
      default:
        return false;
    }
  }

  private recall(event: KeyboardEvent, text: string | undefined): void {
    if (text === undefined) {
      return;
    }
    event.preventDefault();
    this.text.value = text;
    this.text.setSelectionRange(text.length, text.length);
    this.fit();
    this.onDraft(text);
  }

  private send(queue: boolean): void {
    const text = this.text.value.trim();
    if (text === "" && this.pictures.length === 0) {
      return;
    }
    const own = ownCommand(text, this.prompts.map((one) => one.name));
    if (own === "model" || own === "help") {
      // Pictures wait for the next message.
      this.set(own === "help" ? "/" : "");
      if (own === "model") this.chooseModel();
      else this.focus();
      return;
    }
    if (own !== undefined && own !== "init" && this.pictures.length === 0) {
      post({ type: "command", token: this.outbox.put({ text, images: [], choices: {} }), name: own });
    } else {
      const draft: Draft = { text, images: this.pictures, choices: this.takeChosen() };
      post({ type: "send", token: this.outbox.put(draft), ...draft, text: own === "init" ? INIT : text, queue, leaveOut: [...this.leaveOut] });
    }
    this.history.add(text);
    this.fill("", []);
  }

  /** Sends the message of a turn again that failed before anything was done, or has the agent continue; with what was picked since. What is being written stays. */
  again(turnId: string | undefined): void {
    const choices = this.takeChosen();
    const token = this.outbox.put({ text: "", images: [], choices });
    if (turnId === undefined) post({ type: "send", token, text: "Continue.", images: [], queue: false, choices, leaveOut: [] });
    else post({ type: "retry", token, turnId, choices });
  }

  /** What was picked goes along once: from then on it is in force. */
  private takeChosen(): Choices {
    const { chosen } = this;
    this.chosen = {};
    return chosen;
  }

  /** What was handed over is with the server. */
  sent(token: number): void {
    this.outbox.done(token);
  }

  /** It is not: all of it comes back, before what was written since. The focus stays where it is. */
  unsent(token: number): void {
    const back = this.outbox.back(token, this.draft());
    if (back !== undefined) this.show(back);
  }

  /** Puts a message that was sent before back, in the same way. */
  putBack(text: string, images: readonly string[], keepFocus: boolean): void {
    this.show(joined({ text, images, choices: {} }, this.draft()));
    if (!keepFocus) this.focus();
  }

  private draft(): Draft {
    return { text: this.text.value, images: this.pictures, choices: this.chosen };
  }

  private show(draft: Draft): void {
    this.chosen = { ...draft.choices };
    this.fill(draft.text, [...draft.images]);
    this.drawSettings();
  }

  private stop(): void {
    post({ type: "command", token: null, name: "stop" });
  }

  private fill(text: string, pictures: string[]): void {
    this.pictures = pictures;
    this.drawPictures();
    this.set(text);
  }

  /** True if there was a picture among them. */
  private addFiles(files: FileList | null | undefined): boolean {
    const all = [...(files ?? [])];
    const pictures = all.filter((file) => /^image\/(png|jpeg|gif|webp)$/.test(file.type) && file.size <= MOST_IMAGE_BYTES);
    if (pictures.length < all.length) {
      this.onTrouble("A file was left out: only pictures of the kinds PNG, JPEG, GIF and WebP, up to 15 MB each, can be sent. Mention other files with @.");
    }
    for (const file of pictures) {
      const reader = new FileReader();
      reader.addEventListener("load", () => {
        if (typeof reader.result === "string") {
          this.pictures.push(reader.result);
          this.drawPictures();
        }
      });
      reader.readAsDataURL(file);
    }
    return pictures.length > 0;
  }

  private addUris(list: string): void {
    for (const uri of list.split(/\r?\n/).filter((one) => /^(file|vscode-remote):\/\//.test(one))) {
      this.insert(mention(decodeURIComponent(new URL(uri).pathname)));
    }
  }

  private drawPictures(): void {
    this.images.replaceChildren(
      ...this.pictures.map((url, i) => el("span", { class: "picture" }, el("img", { attrs: { src: url, alt: `Picture ${i + 1}` } }), button("", () => {
        this.pictures.splice(i, 1);
        this.drawPictures();
      }, { class: "icon-button", label: `Remove picture ${i + 1}`, icon: "close" }))),
    );
  }
}

function draw(select: HTMLSelectElement, { options, value }: Picker): void {
  select.replaceChildren(...options.map((one) => el("option", { attrs: { value: one.value } }, one.title)));
  select.value = value;
}
