/**
 * A conversation as Markdown: what was said, run, changed and decided. What the model and others wrote stays text: it loads nothing, is no HTML, and
 * passes for no heading of ours. No editor here, so that plain node can test it.
 */
import type { FileChange, ThreadItem } from "../protocol";
import { counts, unifiedLines } from "./diff";
import type { Question, Row, ThreadView } from "./view";
import { approvalWords, cut, imagesOf, nameOf, textOf, threadName, visibleText } from "./words";

/** Signs of one output or diff that are written. */
const MOST_BLOCK = 20_000;

export function markdownOf(view: ThreadView): string {
  const title = threadName(view, "Conversation", 120);
  const folder = view.cwd.split(/[/\\]/).findLast(Boolean);
  const parts = view.rows.map((row) => rowText(row, view)).filter((text) => text !== "");
  return `${[`# ${escaped(title)}`, ...(folder === undefined ? [] : [`Folder: ${escaped(nameOf(folder))}`]), ...parts].join("\n\n")}\n`;
}

/** What a file with it may be called. */
export function fileNameOf(view: ThreadView): string {
  const words = threadName(view, "conversation", 60).normalize("NFC").replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "");
  return `${words === "" ? "conversation" : words}.md`;
}

function rowText({ body }: Row, view: ThreadView): string {
  switch (body.kind) {
    case "item":
      return itemText(body.item, body.output, view);
    case "question":
      return body.settled === undefined ? "" : `**Asked:** ${escaped(questionTitle(body.question))} — ${escaped(body.settled)}`;
    case "error":
      return `**Error:** ${escaped(body.error.message)}`;
    case "note":
      return `*${escaped(body.text)}*`;
    case "unanswered":
      return `## You (not read by the agent)\n\n${tame(textOf(body.input))}`;
  }
}

function questionTitle(question: Question): string {
  switch (question.kind) {
    case "approval": {
      const { title, line } = approvalWords(question.approval);
      return cut(`${title} ${line}`, 300);
    }
    case "userInput":
      return cut(question.request.questions.map((one) => one.question).join(" "), 300);
    case "elicitation":
      return cut(`The MCP server ${nameOf(question.elicitation.server)}: ${question.elicitation.message}`, 300);
  }
}

function itemText(item: ThreadItem, output: string | undefined, view: ThreadView): string {
  switch (item.type) {
    case "userMessage": {
      const pictures = imagesOf(item.content).length;
      return [`## You`, tame(textOf(item.content)), pictures === 0 ? "" : `*${pictures === 1 ? "1 picture" : `${pictures} pictures`}*`].filter((text) => text !== "").join("\n\n");
    }
    case "agentMessage":
      return `## Agent\n\n${tame(item.text)}${item.partial === true ? "\n\n*interrupted*" : ""}`;
    case "plan":
      return item.steps.map((step) => `- [${step.status === "completed" ? "x" : " "}] ${escaped(step.step)}`).join("\n");
    case "commandExecution": {
      const ended = item.exitCode === null || item.exitCode === undefined ? item.status : `exit ${item.exitCode}`;
      const text = item.aggregatedOutput ?? output ?? "";
      return `**${item.source === "user" ? "Your command" : "Command"}** (${ended})\n\n${fenced("console", `$ ${item.command}${text === "" ? "" : `\n${text}`}`)}`;
    }
    case "fileChange": {
      const made = item.applied ?? (item.status === "completed" ? item.changes : []);
      const left = item.changes.filter((change) => !made.some((one) => one.path === change.path));
      const proposal = item.proposalId ? view.proposals[item.proposalId] : undefined;
      const fate = item.status === "inProgress" ? "pending review" : proposal?.status === "rejected" || item.applied || item.status === "declined" ? "rejected" : "not applied";
      return ["**Changes**", ...made.map((change) => changeText(change, "applied")), ...left.map((change) => changeText(change, fate))].join("\n\n");
    }
    case "commandChanges":
      return [`**Changed by a command**`, item.changes.map((change) => `- ${escaped(change.path)} (+${change.added} −${change.removed})`).join("\n")].join("\n\n");
    case "mcpToolCall":
      return `**Tool call:** ${escaped(`${item.server}: ${item.title || item.tool}`)} (${item.status})`;
    case "toolCall":
      return `**Tool call:** ${escaped(item.title || item.tool)} (${item.status})`;
    case "agentMail":
      return `**From ${escaped(item.author)}:**\n\n${tame(item.text)}`;
    case "exitedReviewMode":
      return `**Review**\n\n${tame(item.review)}`;
    case "undo":
      return `**Undo** (${item.status})${item.files.length === 0 ? "" : `\n\n${item.files.map((file) => `- ${escaped(file.path)}: ${file.result}`).join("\n")}`}`;
    case "contextCompaction":
      return "*Compacted conversation*";
    default:
      // Thoughts are not part of what was said, and a newer server may tell of more than is known here.
      return "";
  }
}

function changeText(change: FileChange, fate: string): string {
  const { added, removed } = counts(unifiedLines(change.diff));
  const head = `${escaped(change.path)} — ${fate}, +${added} −${removed}`;
  return fate === "applied" && change.diff !== "" ? `${head}\n\n${fenced("diff", change.diff)}` : head;
}

/** Code in a fence that nothing in it ends. */
function fenced(language: string, text: string): string {
  const whole = visibleText(text).replace(/\n$/, "");
  const shown = whole.length > MOST_BLOCK ? `${whole.slice(0, MOST_BLOCK)}\n[… the rest is left out …]` : whole;
  const longest = Math.max(2, ...[...shown.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${shown}\n${fence}`;
}

/** Words on one line that are no Markdown. */
function escaped(text: string): string {
  return visibleText(text).replace(/\s+/g, " ").trim().replace(/[\\`*_{}[\]<>#!|~]/g, "\\$&");
}

/** Markdown of somebody's as it is, but for what would load something, be HTML, or pass for a heading of ours. */
function tame(text: string): string {
  let fence: string | undefined;
  const lines = visibleText(text).replace(/\r\n?/g, "\n").trim().split("\n").map((line) => {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence !== undefined) {
      if (mark?.startsWith(fence) === true && /^ {0,3}[`~]+\s*$/.test(line)) fence = undefined;
      return line;
    }
    if (mark !== undefined) {
      fence = mark;
      return line;
    }
    const deeper = line.replace(/^( {0,3}(?:> ?)*)(#{1,6})(?=\s|$)/, (_, before: string, signs: string) => before + "#".repeat(Math.min(6, signs.length + 2)));
    // A line under a text makes a heading of it.
    const flat = deeper.replace(/^( {0,3}(?:> ?)*)(?=(?:=+|-+)\s*$)/, "$1\\");
    return flat.split(/(`+[^`]*`+)/).map((part, i) => (i % 2 === 1 ? part : part.replace(/<(?=[A-Za-z/!?])/g, "\\<").replaceAll("![", "!\\["))).join("");
  });
  return fence === undefined ? lines.join("\n") : [...lines, fence].join("\n");
}
