/**
 * What fills the context window of the conversation in view: a bar, and a line for each part.
 */
import type { ThreadContextResult } from "../src/protocol";
import { tokens } from "../src/chat/words";
import { el } from "./dom";

/** The colors of the largest parts; the rest is gray. */
const COLORS = ["blue", "green", "orange", "purple", "yellow", "red"] as const;

/** Names below a part. */
const MOST = 3;
/** The share of all that a part has at least to have names, as a divisor. */
const SMALL = 10;

const colorOf = (index: number): string => {
  const color = COLORS[index];
  return color === undefined ? "var(--vscode-descriptionForeground)" : `var(--vscode-charts-${color})`;
};

/** The summary in one line. */
export function contextWords(context: ThreadContextResult): string {
  const window = context.contextWindow ?? undefined;
  const share = window === undefined || window <= 0 ? "" : ` of ${tokens(window)}`;
  const limit = context.compactsAt ?? undefined;
  return [`${tokens(context.tokens)}${share} tokens`, ...(context.model ? [context.model] : []), ...(limit === undefined ? [] : [`compacted at ${tokens(limit)}`])].join(" · ");
}

export function contextCard(context: ThreadContextResult): HTMLElement {
  const sum = context.parts.reduce((all, part) => all + part.tokens, 0);
  // The parts are estimates: together they are as wide as what was counted.
  const whole = Math.max(context.contextWindow ?? 0, context.tokens, 1);
  const share = (count: number): number => (sum === 0 ? 0 : ((count / sum) * context.tokens * 100) / whole);
  const bar = el("div", { class: "context-bar", attrs: { "aria-hidden": "true" } });
  const list = el("ul", { class: "context-parts" });
  for (const [index, part] of context.parts.entries()) {
    const piece = el("span", {});
    piece.style.width = `${share(part.tokens)}%`;
    piece.style.background = colorOf(index);
    bar.append(piece);
    const swatch = el("span", { class: "swatch", attrs: { "aria-hidden": "true" } });
    swatch.style.background = colorOf(index);
    // Of what is small nobody wants to know what it is made of.
    const largest = part.tokens * SMALL < sum ? [] : (part.largest ?? []).slice(0, MOST).map((one) => el("span", {}, `${one.name} ${tokens(one.tokens)}`));
    list.append(el("li", {}, swatch, el("span", { class: "grow" }, `${part.title}${part.count > 1 ? ` (${part.count})` : ""}`, largest.length > 0 && el("span", { class: "dim largest" }, ...largest)), el("span", { class: "number" }, tokens(part.tokens))));
  }
  const unknown = context.model ? "" : " Instructions, tools and the window are known once the model has been asked.";
  const leftOut = (context.leftOut ?? []).map((what) => el("div", { class: "dim" }, `Not sent, since the window is small: ${what}.`));
  return el("div", { class: "context grow" }, el("div", {}, el("strong", {}, "Context"), ` ${contextWords(context)}`), bar, list, ...leftOut, el("div", { class: "dim" }, `The parts are estimates.${unknown}`));
}
