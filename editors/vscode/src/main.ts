/**
 * Activation: makes the parts and joins them, registers the commands, starts the server.
 */
import * as vscode from "vscode";
import { AccountItem } from "./account";
import { Attention } from "./chat/attention";
import { Elsewhere } from "./chat/elsewhere";
import { onConversation } from "./chat/palette";
import { ChatSurfaces } from "./chat/surfaces";
import { Threads } from "./chat/threads";
import { threadName } from "./chat/words";
import type { Command } from "./commands";
import * as commands from "./commands";
import { Ctx } from "./ctx";
import { declared } from "./editor_tools";
import { folderForConversation } from "./folders";
import { Follow } from "./follow";
import { McpView } from "./mcp_view";
import { isToolOn, reviewsInPreview } from "./preferences";
import { ProposalDocuments } from "./proposals/documents";
import { Review } from "./proposals/review";
import { Proposals } from "./proposals/store";
import { ProposalTree } from "./proposals/tree";
import { Viewed } from "./proposals/viewed";
import { Questions } from "./questions";
import { Watch } from "./watch";

/** The commands of `package.json` that are the extension's own; the language client registers the server's. */
const COMMANDS: Readonly<Record<string, Command>> = {
  "countersign.server.start": commands.start,
  "countersign.server.stop": commands.stop,
  "countersign.server.restart": commands.restart,
  "countersign.server.install": commands.install,
  "countersign.server.showLog": commands.showLog,
  "countersign.server.showStatus": commands.showStatus,
  "countersign.server.doctor": commands.doctor,
  "countersign.server.demo": commands.demo,
  "countersign.account.show": commands.showAccount,
  "countersign.chat.open": commands.openChat,
  "countersign.chat.new": commands.newChat,
  "countersign.chat.openInEditor": commands.openChatInEditor,
  "countersign.chat.copy": commands.copyChat,
  "countersign.chat.export": commands.exportChat,
  "countersign.chat.addSelection": commands.addSelection,
  "countersign.chat.askAboutSelection": commands.askAboutSelection,
  "countersign.chat.rewriteSelection": commands.rewriteSelection,
  "countersign.chat.addFile": commands.addFile,
  "countersign.proposal.open": commands.openProposal,
  "countersign.proposal.openAll": commands.openWholeProposal,
  "countersign.proposal.accept": commands.acceptProposal,
  "countersign.proposal.reject": commands.rejectProposal,
  "countersign.proposal.rejectWithWords": commands.rejectWithWords,
  "countersign.proposal.reset": commands.resetProposal,
  "countersign.proposal.acceptHunk": commands.acceptHunk,
  "countersign.proposal.rejectHunk": commands.rejectHunk,
  "countersign.proposal.rejectHunkWithWords": commands.rejectHunkWithWords,
  "countersign.proposal.resetHunk": commands.resetHunk,
  "countersign.proposals.accept": commands.acceptRow,
  "countersign.proposals.reject": commands.rejectRow,
  "countersign.proposals.rejectWithWords": commands.rejectRowWithWords,
  "countersign.proposals.reset": commands.resetRow,
  "countersign.proposals.acceptAll": commands.acceptAll,
  "countersign.proposals.rejectAll": commands.rejectAll,
  "countersign.mcp.restart": commands.restartServers,
  "countersign.mcp.signIn": commands.signInRow,
  "countersign.mcp.signOut": commands.signOutRow,
  "countersign.proposal.next": commands.nextHunk,
  "countersign.proposal.previous": commands.previousHunk,
};

let ctx: Ctx | undefined;

export function activate(extension: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel("Countersign", { log: true });
  const attention = new Attention();
  const threads = new Threads(() => declared(isToolOn), log);
  // The two need each other: a question asks whether a chat shows it, and a chat answers questions.
  const isSeen = (threadId: string): boolean => chats.isSeen(threadId);
  const questions: Questions = new Questions(isSeen, (threadId) => chats.focus(threadId), (problem) => { log.error(`A question could not be asked: ${String(problem)}`); });
  const made = new Ctx(extension.extensionPath, log, threads, questions, (asked) => review.decide(asked.proposalId === undefined ? undefined : asked, "accept"), (command, args) => onConversation(command, args, chats, threads));
  const elsewhere = new Elsewhere(threads);
  const chats: ChatSurfaces = new ChatSurfaces(extension.extensionUri, {
    threads,
    questions,
    attention,
    decide: (target, decision) => review.put(target, decision),
    accept: (proposalId, hunkIds, leaveOut) => review.accept(proposalId, hunkIds, leaveOut),
    onShown: (...listening) => viewed.onShown(...listening),
    allShown: () => viewed.all,
    seen: () => {
      questions.look();
      review.look();
    },
    folder: folderForConversation,
    readOnly: (threadId) => elsewhere.show(threadId),
    onState: made.onState,
    trouble: () => made.trouble,
    remedy: () => made.remedy,
  });
  const proposals = new Proposals(threads);
  const documents = new ProposalDocuments(proposals, log);
  const viewed: Viewed = new Viewed(proposals, documents);
  const review: Review = new Review(proposals, documents, viewed, isSeen, reviewsInPreview, (threadId) => chats.focus(threadId));
  const tree = new ProposalTree(proposals, (proposal) => {
    const view = threads.get(proposal.threadId)?.view;
    return threadName(view ?? { preview: "" }, "Proposed changes", 60);
  });
  made.pushExtCleanup(
    threads.onConnection((connected) => {
      if (!connected) questions.clear();
    }),
  );
  const account = new AccountItem(threads);
  const watch = new Watch(threads, account, made.status, (threadId) => { void chats.focus(threadId); }, (count) => { chats.showWaiting(count); }, () => { chats.chime(); });
  const follow = new Follow(threads, () => chats.inView);
  const mcp = new McpView(threads, () => chats.inView);
  ctx = made;
  for (const part of [watch, follow, mcp, elsewhere, account, tree, review, viewed, documents, proposals, chats, threads, attention]) {
    made.pushExtCleanup(part);
  }
  const parts: commands.Parts = { ctx: made, chats, review, attention, account, mcp };
  for (const [name, command] of Object.entries(COMMANDS)) {
    made.pushExtCleanup(vscode.commands.registerCommand(name, command(parts)));
  }
  made.pushExtCleanup(
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("countersign.server") || change.affectsConfiguration("countersign.proposals.review")) {
        void made.restart();
      }
    }),
  );
  made.pushExtCleanup(vscode.window.onDidChangeWindowState(({ focused }) => {
    if (focused) void made.lookAgain();
  }));
  made.pushExtCleanup(vscode.workspace.onDidGrantWorkspaceTrust(() => void made.start()));
  made.pushExtCleanup(vscode.workspace.onDidChangeWorkspaceFolders(() => void made.foldersChanged()));
  // Not awaited: a slow start must not hold up the editor's own.
  void made.start();
}

export async function deactivate(): Promise<void> {
  await ctx?.shutdown();
  ctx = undefined;
}
