/**
 * Questions in the chat: approvals, what the model asks, what an MCP server asks. Each is answered in place.
 */
import { fieldsOf, valueOf } from "../src/chat/form";
import type { Question } from "../src/chat/view";
import { approvalWords, decisionTitle, nameOf, scopeWords, visible } from "../src/chat/words";
import type { Approval, ApprovalDecision, JsonValue, McpElicitation, UserInputRequest, UserInputResponse } from "../src/protocol";
import { button, el } from "./dom";
import { post } from "./host";
import { markdown } from "./markdown";

export function questionBody(question: Question, settled: string | undefined): Node[] {
  switch (question.kind) {
    case "approval":
      return approval(question.approval, settled);
    case "userInput":
      return userInput(question.request, settled);
    case "elicitation":
      return elicitation(question.elicitation, settled);
  }
}

function box(title: string, agent: string | null | undefined, settled: string | undefined, ...body: (Node | undefined)[]): Node[] {
  return [el("div", { class: settled === undefined ? "question open" : "question", role: "group", label: title }, el("div", { class: "title" }, agent ? `The agent ${nameOf(agent)} asks: ${title}` : title, settled === undefined ? undefined : el("span", { class: "status" }, settled)), ...body)];
}

function approval(asked: Approval, settled: string | undefined): Node[] {
  const { title, code, where, details, said } = approvalWords(asked);
  const all = el("pre", { class: "terminal asked", label: "What is asked about", attrs: { tabindex: "0" } }, code);
  // Whose words these are stands before them; nothing of theirs looks like ours.
  const others = said.map(({ who, text }) => el("blockquote", { class: "said" }, el("span", { class: "who" }, `${who}: `), text));
  const shown = [
    // All of it: what is longer than the box is scrolled in it.
    all,
    where === undefined ? undefined : el("p", { class: "dim" }, where),
  ];
  if (settled !== undefined) {
    return box(title, asked.agent, settled, shown[0]);
  }
  const words = el("input", { label: "Comment to the agent", attrs: { type: "text", placeholder: "Tell the agent what to do instead" } });
  const answer = (decision: ApprovalDecision) => (): void => {
    const feedback = words.value.trim();
    post({ type: "answerApproval", approvalId: asked.id, response: decision === "decline" && feedback !== "" ? { decision, feedback } : { decision } });
  };
  words.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && words.value.trim() !== "") answer("decline")();
  });
  const rule = "alwaysRule" in asked && asked.alwaysRule ? `${asked.alwaysRule.text}\n\nWritten to ${asked.alwaysRule.file}:\n${asked.alwaysRule.toml}` : undefined;
  const scope = scopeWords(asked);
  const buttons = asked.availableDecisions.map((decision) => button(decisionTitle(decision, asked), answer(decision), { class: decision === "accept" ? "primary" : "", ...(decision === "acceptAlways" && rule !== undefined ? { title: rule } : {}) }));
  const covers = rule === undefined ? undefined : el("p", { class: "dim" }, visible(`“Always Allow” covers ${rule}`));
  const hint = untilRead(asked.id, all, asked.availableDecisions.flatMap((decision, i) => (decision === "decline" || decision === "cancel" ? [] : [buttons[i] as HTMLButtonElement])));
  return box(title, asked.agent, settled, ...shown, hint, ...details.map((one) => el("p", { class: "ours" }, one)), ...others, scope === undefined ? undefined : el("p", { class: "dim" }, `“Allow for Session” ${scope}.`), covers, el("div", { class: "buttons" }, ...buttons), asked.availableDecisions.includes("decline") ? words : undefined);
}

/** Questions that were read to their end, with what they asked: a row may be drawn again. */
const wereRead = new Set<string>();

/** Holds the buttons back that allow, until what they allow has been scrolled to its end; says so meanwhile. `id` is the question's. */
export function untilRead(id: string, all: HTMLElement, allow: HTMLButtonElement[]): HTMLElement {
  const hint = el("p", { class: "dim", role: "status" }, "Scroll to the end to allow it.");
  const key = `${id}\n${all.textContent}`;
  if (wereRead.has(key)) {
    hint.hidden = true;
    return hint;
  }
  // The box must be wholly in sight at some time as well as scrolled to its end: what is not drawn was not shown.
  const look = (): void => {
    const isDrawn = all.isConnected && all.clientHeight > 0;
    const isRead = isDrawn && all.scrollTop + all.clientHeight >= all.scrollHeight - 2 && all.scrollLeft + all.clientWidth >= all.scrollWidth - 2;
    if (isRead) {
      wereRead.add(key);
      hint.hidden = true;
      for (const one of allow) one.disabled = false;
      all.removeEventListener("scroll", look);
      observer.disconnect();
    }
  };
  for (const one of allow) one.disabled = true;
  all.addEventListener("scroll", look);
  const observer = new ResizeObserver(look);
  observer.observe(all);
  return hint;
}

function userInput(request: UserInputRequest, settled: string | undefined): Node[] {
  if (settled !== undefined) {
    return box(request.questions.map((one) => one.question).join(" "), request.agent, settled);
  }
  const fields = request.questions.map((question) => {
    const other = el("input", { label: "Other answer", attrs: { type: "text", placeholder: question.options.length === 0 ? "Your answer" : "Other…" } });
    const choices = question.options.map((option) => {
      const radio = el("input", { attrs: { type: "radio", name: question.id, value: option.label } });
      return { radio, row: el("label", { class: "choice" }, radio, el("span", {}, option.label, el("span", { class: "dim" }, ` ${option.description}`))) };
    });
    const takesWords = question.isOther || question.options.length === 0;
    return {
      question,
      answer: (): string => (takesWords && other.value.trim() !== "" ? other.value.trim() : (choices.find((one) => one.radio.checked)?.radio.value ?? "")),
      row: el("fieldset", {}, el("legend", {}, question.question), ...choices.map((one) => one.row), takesWords ? other : undefined),
    };
  });
  const send = (): void => {
    const answers: UserInputResponse["answers"] = {};
    for (const field of fields) {
      if (field.answer() !== "") answers[field.question.id] = { answers: [field.answer()] };
    }
    post({ type: "answerInput", id: request.id, response: { answers } });
  };
  const form = el("form", { on: { submit: (event) => { event.preventDefault(); send(); } } }, ...fields.map((one) => one.row), el("div", { class: "buttons" }, button("Answer", send, { class: "primary" }), button("Skip", () => { post({ type: "answerInput", id: request.id, response: null }); })));
  return box(request.questions[0]?.header ?? "The agent asks", request.agent, settled, form);
}

function elicitation(asked: McpElicitation, settled: string | undefined): Node[] {
  const title = `The MCP server ${nameOf(asked.server)} asks`;
  if (settled !== undefined) {
    return box(title, undefined, settled, markdown(asked.message));
  }
  const { id, server, requestId } = asked;
  const respond = (action: "accept" | "decline" | "cancel", content?: JsonValue) => (): void => {
    post({ type: "answerElicitation", id, server, requestId, response: { action, ...(content === undefined ? {} : { content }) } });
  };
  if (asked.mode === "url") {
    const { url } = asked;
    const open = button("Open link", () => { post({ type: "openElicitation", id, server, requestId, url }); }, { class: "primary", title: url });
    const address = el("pre", { class: "terminal", label: "The address", attrs: { tabindex: "0" } }, visible(asked.url));
    const hint = untilRead(id, address, [open]);
    const notes = (asked.notes ?? []).map((note) => el("p", {}, `Note: ${note}`));
    return box(title, undefined, settled, markdown(asked.message), address, hint, ...notes, el("div", { class: "buttons" }, open, button("Decline", respond("decline"))));
  }
  const problem = el("p", { class: "note note-warning", role: "alert" });
  problem.hidden = true;
  const fields = fieldsOf(asked.requestedSchema).map((field) => {
    const input =
      field.kind === "choice"
        ? el("select", {}, el("option", { attrs: { value: "" } }, ""), ...field.choices.map((one) => el("option", { attrs: { value: one.value } }, one.title)))
        : el("input", { attrs: { type: field.kind === "boolean" ? "checkbox" : field.kind === "text" ? "text" : "number" } });
    if (field.kind === "boolean") (input as HTMLInputElement).checked = field.initial === true;
    else if (field.initial !== undefined) input.value = String(field.initial);
    return { field, value: () => valueOf(field, field.kind === "boolean" ? (input as HTMLInputElement).checked : input.value), row: el("label", { class: field.kind === "boolean" ? "field field-check" : "field" }, el("span", {}, field.title, field.required ? " *" : ""), field.description ? el("span", { class: "dim" }, field.description) : undefined, input) };
  });
  const send = (): void => {
    const content: Record<string, JsonValue> = {};
    for (const { field, value } of fields) {
      const read = value();
      if (read.problem !== undefined) {
        problem.textContent = read.problem;
        problem.hidden = false;
        return;
      }
      if (read.value !== undefined) content[field.name] = read.value;
    }
    respond("accept", content)();
  };
  const form = el("form", { on: { submit: (event) => { event.preventDefault(); send(); }, input: () => { problem.hidden = true; } } }, ...fields.map((one) => one.row), problem, el("div", { class: "buttons" }, button("Answer", send, { class: "primary" }), button("Decline", respond("decline"))));
  return box(title, undefined, settled, markdown(asked.message), form);
}
