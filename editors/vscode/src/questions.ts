/**
 * Questions to the person. A chat that shows the thread asks in line; otherwise a message asks, which takes no key and no focus. Who
 * answers first counts. A message that is closed, or cleared with all others, answers nothing: the question waits in the chat, one click
 * from the status bar.
 */
import * as vscode from "vscode";
import { fieldsOf, valueOf } from "./chat/form";
import { safeLink } from "./chat/markdown";
import type { Question } from "./chat/view";
import { approvalMessage, approvalWords, cut, decisionTitle, fitsEntry, fitsMessage, nameOf, plain, scopeWords, visible, visibleText } from "./chat/words";
import type { Approval, ApprovalDecision, ApprovalResponse, JsonValue, McpElicitation, McpElicitationResponse, UserInputRequest, UserInputResponse } from "./protocol";

/** What the person is to read before they can agree to it; not an answer. */
type Unread = "unread";
/** The message was closed; not an answer either. */
type Later = "later";

type Answer = ApprovalResponse | UserInputResponse | McpElicitationResponse | null;

interface Waiting {
  readonly question: Question;
  readonly threadId: string;
  readonly settle: (answer: Answer) => void;
  isShown: boolean;
  /** Its message was closed: no other one asks. */
  isPutOff: boolean;
  /** Its server ended before it was answered. */
  isLost: boolean;
}

const WHY = "Deny with Comment…";
const MORE = "More…";
const READ = "Read It in the Chat…";
const ANSWER = "Answer…";
const NO_ANSWER = "Skip";
const OTHER = "Other…";
const DECLINE = "Decline";
const OPEN_LINK = "Open Link";

/** What is shown of a question that has no room (characters). */
const BEGINNING = 300;
/** How long a chat may take to show a thread (ms). */
const SHOW_LIMIT = 3000;

export class Questions {
  private readonly waiting = new Map<string, Waiting>();

  constructor(
    /** Whether the person sees a thread in a chat, which asks there. */
    private readonly isSeen: (threadId: string) => boolean,
    /** Shows a thread in a chat. */
    private readonly show: (threadId: string) => Promise<void>,
    /** Writes what went wrong into the log. */
    private readonly tell: (problem: unknown) => void,
  ) {}

  get count(): number {
    return this.waiting.size;
  }

  approval(approval: Approval, token: vscode.CancellationToken): Promise<ApprovalResponse> {
    return this.ask(approval.id, approval.threadId, { kind: "approval", approval }, { decision: "decline" }, token) as Promise<ApprovalResponse>;
  }

  userInput(request: UserInputRequest, token: vscode.CancellationToken): Promise<UserInputResponse | null> {
    return this.ask(request.id, request.threadId, { kind: "userInput", request }, null, token) as Promise<UserInputResponse | null>;
  }

  elicitation(elicitation: McpElicitation, token: vscode.CancellationToken): Promise<McpElicitationResponse> {
    return this.ask(elicitation.id, elicitation.threadId, { kind: "elicitation", elicitation }, { action: "cancel" }, token) as Promise<McpElicitationResponse>;
  }

  /** An answer from a chat. False if the question does not wait here any more. */
  answer(id: string, answer: Answer): boolean {
    const waiting = this.waiting.get(id);
    waiting?.settle(answer);
    return waiting !== undefined;
  }

  /** The server is gone, and its questions with it. */
  clear(): void {
    for (const waiting of [...this.waiting.values()]) {
      waiting.isLost = true;
      waiting.settle(null);
    }
  }

  /** Looks which questions no chat shows any more, and asks them by message. */
  look(): void {
    for (const [id, waiting] of this.waiting) {
      if (!waiting.isShown && !waiting.isPutOff && !this.isSeen(waiting.threadId)) {
        waiting.isShown = true;
        void this.byMessage(id, waiting);
      }
    }
  }

  private ask(id: string, threadId: string, question: Question, denied: Answer, token: vscode.CancellationToken): Promise<Answer> {
    return new Promise((resolve) => {
      const cancelled = token.onCancellationRequested(() => { settle(denied); });
      const settle = (answer: Answer): void => {
        cancelled.dispose();
        this.waiting.delete(id);
        resolve(answer);
      };
      this.waiting.set(id, { question, threadId, settle, isShown: false, isPutOff: false, isLost: false });
      this.look();
    });
  }

  private async byMessage(id: string, waiting: Waiting): Promise<void> {
    try {
      const { question, settle, threadId } = waiting;
      const answer = question.kind === "approval" ? await approve(question.approval) : question.kind === "userInput" ? await answerAll(question.request) : await elicit(question.elicitation);
      if (answer === "later") {
        waiting.isPutOff = true;
        return;
      }
      if (answer === "unread") {
        await this.show(threadId);
        // The page says that it shows the thread a moment later; till then a message would ask beside it.
        await this.shown(threadId);
        return;
      }
      // A message cannot be taken back; pressed late it decides nothing.
      if (this.waiting.has(id)) {
        settle(answer);
      } else if (isGiven(answer)) {
        if (waiting.isLost) {
          void vscode.window.showWarningMessage("The server stopped before you answered, so your answer was not sent. Once it runs again, continue in the chat.");
        } else {
          vscode.window.setStatusBarMessage("$(info) Countersign: that question was settled before.", 6000);
        }
      }
    } catch (error) {
      this.tell(error);
      // What fails at once is not asked for without a rest.
      await this.shown(waiting.threadId);
    } finally {
      // From here on the chat asks; where it does not show the thread, or no more, a message does again.
      waiting.isShown = false;
      this.look();
    }
  }

  /** Ends when a chat shows a thread, or none does within a while. */
  private async shown(threadId: string): Promise<void> {
    const end = Date.now() + SHOW_LIMIT;
    while (!this.isSeen(threadId) && Date.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** Whether the person has said yes, or words of their own: nobody misses a no. */
function isGiven(answer: Answer): boolean {
  if (answer === null) {
    return false;
  }
  if ("action" in answer) {
    return answer.action === "accept";
  }
  return !("decision" in answer) || answer.decision !== "decline" || Boolean(answer.feedback);
}

async function approve(approval: Approval): Promise<ApprovalResponse | Unread | Later> {
  const message = plain(approvalMessage(approval));
  const titled = (decision: ApprovalDecision): string => decisionTitle(decision, approval);
  const offered = approval.availableDecisions;
  if (!fitsMessage(message)) {
    // Nobody agrees to what they cannot read to its end.
    const no = titled("decline");
    const { title, line } = approvalWords(approval);
    const chosen = await vscode.window.showWarningMessage(cut(plain(`${title} ${line}`), BEGINNING), READ, ...(offered.includes("decline") ? [no] : []));
    return chosen === READ ? "unread" : chosen === undefined ? "later" : { decision: "decline" };
  }
  // A message has room for three buttons; the rest is one press further.
  const buttons = (["accept", "decline"] as const).filter((one) => offered.includes(one)).map(titled);
  for (;;) {
    const chosen = await vscode.window.showWarningMessage(message, ...buttons, MORE);
    if (chosen === undefined) {
      return "later";
    }
    if (chosen !== MORE) {
      return { decision: offered.find((one) => titled(one) === chosen) ?? "decline" };
    }
    const rule = "alwaysRule" in approval ? approval.alwaysRule?.text : undefined;
    const details: Partial<Record<ApprovalDecision, string | undefined>> = { acceptForSession: scopeWords(approval), acceptAlways: rule && visible(rule) };
    type Entry = vscode.QuickPickItem & { readonly decision: ApprovalDecision | Unread; readonly why?: boolean };
    const entries: Entry[] = offered.filter((one) => fitsEntry(one, approval)).map((decision) => ({ label: titled(decision), detail: details[decision] ?? "", decision }));
    if (offered.includes("decline")) entries.push({ label: WHY, decision: "decline", why: true });
    if (entries.length < offered.length + 1) entries.push({ label: READ, detail: "What covers more than has room here can be allowed there.", decision: "unread" });
    const picked = await vscode.window.showQuickPick(entries, { title: approvalWords(approval).title, placeHolder: message, ignoreFocusOut: true });
    if (picked?.decision === "unread") {
      return "unread";
    }
    const feedback = picked?.why === true ? await vscode.window.showInputBox({ title: WHY, prompt: "Tell the agent what to do instead", ignoreFocusOut: true }) : "";
    // Who goes back is asked again.
    if (picked !== undefined && feedback !== undefined) {
      return feedback === "" ? { decision: picked.decision } : { decision: picked.decision, feedback };
    }
  }
}

async function answerAll(request: UserInputRequest): Promise<UserInputResponse | null | Unread | Later> {
  const [first] = request.questions;
  const more = request.questions.length > 1 ? ` (and ${request.questions.length - 1} more)` : "";
  const who = request.agent ? `The agent ${nameOf(request.agent)} asks. ` : "";
  const message = plain(`${who}${visibleText(first?.question ?? "")}${more}`);
  if (!fitsMessage(message)) {
    const read = await vscode.window.showInformationMessage(cut(message, BEGINNING), READ, NO_ANSWER);
    return read === READ ? "unread" : read === undefined ? "later" : null;
  }
  const simple = request.questions.length === 1 && first !== undefined && first.options.length > 0 && first.options.length <= 3;
  const buttons = simple ? [...first.options.map((one) => visibleText(one.label)), ...(first.isOther ? [OTHER] : [])] : [ANSWER, NO_ANSWER];
  const chosen = await vscode.window.showInformationMessage(message, ...buttons);
  if (chosen === undefined) {
    return "later";
  }
  if (chosen === NO_ANSWER || first === undefined) {
    return null;
  }
  if (simple && chosen !== OTHER) {
    return { answers: { [first.id]: { answers: [first.options.find((one) => visibleText(one.label) === chosen)?.label ?? chosen] } } };
  }
  const answers: UserInputResponse["answers"] = {};
  for (const question of request.questions) {
    const [header, asked] = [visibleText(question.header), visibleText(question.question)];
    const other = { label: `$(edit) ${OTHER}`, value: undefined };
    const choices = question.options.map((one) => ({ label: visibleText(one.label), detail: visibleText(one.description), value: one.label }));
    const picked = question.options.length === 0 || chosen === OTHER ? other : await pick(header, asked, [...choices, ...(question.isOther ? [other] : [])]);
    const words = picked === other ? await vscode.window.showInputBox({ title: header, prompt: plain(asked), ignoreFocusOut: true }) : picked?.value;
    if (words !== undefined && words !== "") {
      answers[question.id] = { answers: [words] };
    }
  }
  return Object.keys(answers).length > 0 ? { answers } : null;
}

async function pick<T extends vscode.QuickPickItem>(title: string, placeHolder: string, items: readonly T[]): Promise<T | undefined> {
  return vscode.window.showQuickPick(items, { title, placeHolder, ignoreFocusOut: true });
}

async function elicit(elicitation: McpElicitation): Promise<McpElicitationResponse | Unread | Later> {
  const link = elicitation.mode === "url" ? webLink(elicitation.url) : undefined;
  if (elicitation.mode === "url" && link === undefined) {
    return openForServer(elicitation.server, elicitation.url);
  }
  const wants = link === undefined ? "" : ` It wants to open ${visible(link)}`;
  const notes = (elicitation.notes ?? []).map((note) => ` Note: ${visibleText(note)}`).join("");
  const message = plain(`The MCP server ${nameOf(elicitation.server)} asks: ${visibleText(elicitation.message)}${wants}${notes}`);
  const yes = !fitsMessage(message) ? READ : link === undefined ? ANSWER : OPEN_LINK;
  const chosen = await vscode.window.showInformationMessage(yes === READ ? cut(message, BEGINNING) : message, yes, DECLINE);
  if (chosen !== yes) {
    return chosen === DECLINE ? { action: "decline" } : "later";
  }
  if (yes === READ) {
    return "unread";
  }
  if (elicitation.mode === "url") {
    return openForServer(elicitation.server, elicitation.url);
  }
  const content: Record<string, JsonValue> = {};
  for (const field of fieldsOf(elicitation.requestedSchema)) {
    const [title, prompt] = [visibleText(field.title), visibleText(field.description ?? field.title)];
    const choices = field.kind === "boolean" ? [{ value: "true", title: "Yes" }, { value: "false", title: "No" }] : field.choices;
    const entries = choices.map((one) => ({ label: visibleText(one.title), value: one.value }));
    const given = choices.length > 0 ? (await pick(title, prompt, entries))?.value : await vscode.window.showInputBox({ title, prompt: plain(prompt), value: String(field.initial ?? ""), ignoreFocusOut: true, validateInput: (value) => valueOf(field, value).problem });
    if (given === undefined) {
      return { action: "cancel" };
    }
    const { value } = valueOf(field, given);
    if (value !== undefined) {
      content[field.name] = value;
    }
  }
  return { action: "accept", content };
}

/** An address of the web; undefined for any other. */
function webLink(url: string): string | undefined {
  const link = safeLink(url);
  return link !== undefined && /^https?:/i.test(link) ? link : undefined;
}

/** Opens what an MCP server wants to be opened. A yes is told only once the browser has it: the editor may ask, and be told no. */
export async function openForServer(server: string, url: string): Promise<McpElicitationResponse> {
  const link = webLink(url);
  if (link === undefined) {
    void vscode.window.showWarningMessage(plain(`The link of the MCP server ${nameOf(server)} was not opened, because it is not one of the web: ${cut(visible(url), 200)}`));
    return { action: "decline" };
  }
  return { action: (await vscode.env.openExternal(vscode.Uri.parse(link, true))) ? "accept" : "cancel" };
}
