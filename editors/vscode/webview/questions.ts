/**
 * Questions in the chat: approvals, what the model asks, what a tool server asks. Each is answered in place.
 */
import { fieldsOf, valueOf } from "../src/chat/form";
import type { Question } from "../src/chat/view";
import { approvalWords, decisionTitle, scopeWords, visible } from "../src/chat/words";
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
  return [el("div", { class: settled === undefined ? "question open" : "question", role: "group", label: title }, el("div", { class: "title" }, agent ? `The agent ${agent} asks: ${title}` : title, settled === undefined ? undefined : el("span", { class: "status" }, settled)), ...body)];
}

function approval(asked: Approval, settled: string | undefined): Node[] {
  const { title, code, where, details } = approvalWords(asked);
  const shown = [
    // All of it: what is longer than the box is scrolled in it.
    el("pre", { class: "terminal", label: "What is asked about", attrs: { tabindex: "0" } }, visible(code)),
    where === undefined ? undefined : el("p", { class: "dim", title: "command" in asked ? asked.cwd : "" }, where),
  ];
  if (settled !== undefined) {
    return box(title, asked.agent, settled, shown[0]);
  }
  const words = el("input", { label: "Words to the agent", attrs: { type: "text", placeholder: "To deny with words: what should it do instead?" } });
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
  return box(title, asked.agent, settled, ...shown, ...details.map((one) => el("p", {}, one)), scope === undefined ? undefined : el("p", { class: "dim" }, scope), el("div", { class: "buttons" }, ...buttons), asked.availableDecisions.includes("decline") ? words : undefined);
}

function userInput(request: UserInputRequest, settled: string | undefined): Node[] {
  if (settled !== undefined) {
    return box(request.questions.map((one) => one.question).join(" "), request.agent, settled);
  }
  const fields = request.questions.map((question) => {
    const other = el("input", { label: "In other words", attrs: { type: "text", placeholder: question.options.length === 0 ? "Your answer" : "In other words…" } });
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
  const form = el("form", { on: { submit: (event) => { event.preventDefault(); send(); } } }, ...fields.map((one) => one.row), el("div", { class: "buttons" }, button("Answer", send, { class: "primary" }), button("Do not answer", () => { post({ type: "answerInput", id: request.id, response: null }); })));
  return box(request.questions[0]?.header ?? "The agent asks", request.agent, settled, form);
}

function elicitation(asked: McpElicitation, settled: string | undefined): Node[] {
  const title = `The tool server ${asked.server} asks`;
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
    return box(title, undefined, settled, markdown(asked.message), el("pre", { class: "terminal" }, visible(asked.url)), el("div", { class: "buttons" }, open, button("Decline", respond("decline"))));
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
