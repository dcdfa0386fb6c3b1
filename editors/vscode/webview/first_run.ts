/**
 * What is shown as long as no model can be asked: each way to one, done right here.
 */
import type { AccountSetupResult } from "../src/protocol";
import { button, el } from "./dom";
import { post } from "./host";

/** What is known of that; null as long as nothing is. */
export interface Setup {
  readonly setup: AccountSetupResult | null;
  /** Why a key was not kept. */
  readonly problem: string | undefined;
}

/** What has been typed of a key: it outlives that the page is drawn again. */
let typed = "";

/** A model can be asked: the key is not kept here any longer. */
export function forgetKey(): void {
  typed = "";
}

/** Whether the person has to do something first. */
export function isMissing({ setup }: Setup): boolean {
  return setup !== null && !setup.ready;
}

export function firstRun({ setup, problem }: Setup): HTMLElement[] {
  if (setup === null) {
    return [];
  }
  const key = el("input", { label: `API key of ${setup.provider}`, attrs: { type: "password", placeholder: "sk-…", autocomplete: "off", spellcheck: "false" } });
  key.value = typed;
  key.addEventListener("input", () => { typed = key.value; });
  const save = (): void => {
    if (key.value.trim() !== "") post({ type: "saveKey", key: key.value.trim() });
  };
  key.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.isComposing) save();
  });
  const help = (text: string, action: "logIn" | "provider" | "demo" | "doctor"): HTMLElement => button(text, () => { post({ type: "help", action }); });
  const byKey = setup.takesKey
    ? [
        el("label", { class: "field" }, `Paste an API key of ${setup.provider}`, key),
        problem === undefined ? undefined : el("p", { class: "note note-warning", role: "alert" }, problem),
        el("div", { class: "buttons" }, button("Save Key", save, { class: "primary" }), setup.takesBrowser ? help("Sign In with a Browser", "logIn") : undefined),
        el("p", { class: "dim" }, "Countersign keeps it in its home folder, or in the keyring if your settings say so. Commands in the sandbox cannot read it."),
      ]
    : [el("p", {}, setup.envKey ? `${setup.provider} takes its key from the environment variable ${setup.envKey}. Set it in the setting “countersign.server.env”; the server starts again by itself.` : `${setup.provider} cannot be asked yet. Run Diagnostics says what is missing.`)];
  return [
    el("h2", {}, "Connect a model"),
    ...byKey.filter((one) => one !== undefined),
    el("p", {}, "Or start a local server: Ollama, llama.cpp or LM Studio on this machine is used as soon as it runs."),
    el("div", { class: "buttons" }, button("Look Again", () => { post({ type: "setup" }); }), help("Other Providers…", "provider"), help("Watch the Demo", "demo"), help("Run Diagnostics", "doctor")),
  ];
}
