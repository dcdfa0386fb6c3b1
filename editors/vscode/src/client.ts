/**
 * Makes the language client: how the server is started, what it is told about the editor, and who answers what it asks.
 */
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import type { Executable, LanguageClientOptions, StaticFeature } from "vscode-languageclient/node";
import { CloseAction, DidChangeConfigurationNotification, ErrorAction, LanguageClient, RevealOutputChannelOn, TransportKind } from "vscode-languageclient/node";
import { takeEdits } from "./apply_edit";
import type { Threads } from "./chat/threads";
import { call } from "./editor_tools";
import { foldersOnDisk } from "./folders";
import { askedToAccept } from "./proposals/asked";
import type { Asked } from "./proposals/asked";
import type { DocumentSaveParams, DocumentSaveResult, ServerRequests } from "./protocol";
import type { Questions } from "./questions";
import type { Rpc, ThreadEvent } from "./rpc";
import { NOTIFICATIONS } from "./rpc";
import { isToolOn, reviewsInPreview, savePolicy } from "./preferences";
import type { ServerSettings } from "./settings";
import { answerFor, forServer, serverEnvironment } from "./settings";

export interface ClientParts {
  readonly program: string;
  readonly settings: ServerSettings;
  readonly log: vscode.LogOutputChannel;
  readonly threads: Threads;
  readonly questions: Questions;
  /** Accepts what was shown of a change that a command of the server's is about, and shows the rest. */
  readonly accept: Accept;
  /** Does what a command is about that means the conversation in view; false if the server is to do it. */
  readonly onConversation: OnConversation;
}

export type Accept = (asked: Asked) => Promise<void>;
export type OnConversation = (command: string, args: readonly unknown[]) => Promise<boolean>;

export function createClient({ program, settings, log, threads, questions, accept, onConversation }: ClientParts): LanguageClient {
  const folder = foldersOnDisk()[0]?.uri.fsPath;
  const run: Executable = {
    command: program,
    args: [...settings.args],
    transport: TransportKind.stdio,
    options: { env: { ...serverEnvironment(process.env, settings.env), COUNTERSIGN_SETTINGS_KEY: settingsKey }, ...(folder === undefined ? {} : { cwd: folder }) },
  };
  const options: LanguageClientOptions = {
    // Any language, but only what is a text of the person's: without the scheme the server would also be told of
    // the copies that the editor's own previews open.
    documentSelector: [{ scheme: "file" }, { scheme: "untitled" }],
    outputChannel: log,
    traceOutputChannel: log,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    initializationOptions: currentForServer,
    // Whoever holds the client starts it again, after a while.
    errorHandler: {
      error: () => ({ action: ErrorAction.Continue, handled: true }),
      closed: () => ({ action: CloseAction.DoNotRestart, handled: true }),
    },
    middleware: {
      executeCommand: async (command, args: unknown[], next): Promise<unknown> => {
        if (await onConversation(command, args)) return null;
        // Where the editor's own preview shows the changes the server asks by it, and knows what it has shown.
        const asked = reviewsInPreview() ? undefined : askedToAccept(command, args[0]);
        return asked === undefined ? next(command, args) : accept(asked);
      },
      workspace: {
        // Sent by `sendSettings` whether or not the server registers for it.
        didChangeConfiguration: () => Promise.resolve(),
        configuration: async (params, token, next) => {
          const settings = currentForServer();
          const answers: unknown = await next(params, token);
          return params.items.map((item, i) => answerFor(item.section, settings) ?? (Array.isArray(answers) ? (answers[i] as unknown) : null));
        },
      },
    },
  };
  const client = new LanguageClient("countersign", "Countersign", { run, debug: run }, options);
  takeEdits(client);
  client.registerFeature(pluginProtocol);
  answerServer(client, questions);
  for (const method of NOTIFICATIONS) {
    client.onNotification(method, (params: unknown) => { threads.take({ method, params } as ThreadEvent); });
  }
  return client;
}

/** The server behind a client that runs. */
export function rpcOf(client: LanguageClient): Rpc {
  return { request: (method, params) => client.sendRequest(method, params) };
}

/** Tells the server of changed settings. */
export function sendSettings(client: LanguageClient): Promise<void> {
  return client.sendNotification(DidChangeConfigurationNotification.type, { settings: { countersign: currentForServer() } });
}

/** Says to the server that settings are the person's own: no project that puts settings into the editor knows it. */
const settingsKey = randomBytes(24).toString("hex");

function currentForServer(): Record<string, unknown> {
  return { ...forServer(vscode.workspace.getConfiguration().inspect("countersign")), settingsKey };
}

function answerServer(client: LanguageClient, questions: Questions): void {
  const on = <M extends keyof ServerRequests>(method: M, answer: (params: ServerRequests[M]["params"], token: vscode.CancellationToken) => Promise<ServerRequests[M]["result"] | null>): void => {
    client.onRequest(method, answer);
  };
  on("countersign/approval/command", (approval, token) => questions.approval(approval, token));
  on("countersign/approval/permission", (approval, token) => questions.approval(approval, token));
  on("countersign/approval/tool", (approval, token) => questions.approval(approval, token));
  on("countersign/userInput/request", (request, token) => questions.userInput(request, token));
  on("countersign/mcp/elicitation", (elicitation, token) => questions.elicitation(elicitation, token));
  on("countersign/tool/call", (params, token) => call(params, isToolOn, token));
  on("countersign/document/save", save);
}

/** Saves what the agent changed, as the person's setting says: by itself never text of theirs that was not saved before. */
async function save({ documents }: DocumentSaveParams): Promise<DocumentSaveResult> {
  const saved: string[] = [];
  const policy = savePolicy();
  if (policy === "never") {
    return { saved };
  }
  for (const { uri, heldUnsavedText } of documents) {
    const wanted = vscode.Uri.parse(uri).toString();
    const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === wanted);
    if (document !== undefined && (policy === "always" || !heldUnsavedText) && (!document.isDirty || (await document.save()))) {
      saved.push(uri);
    }
  }
  return { saved };
}

/** Tells the server that this client speaks its own protocol, and who shows proposals. */
const pluginProtocol: StaticFeature = {
  fillClientCapabilities(capabilities) {
    const experimental = (capabilities.experimental ?? {}) as Record<string, unknown>;
    capabilities.experimental = { ...experimental, countersign: { proposals: reviewsInPreview() ? "preview" : "view" } };
  },
  initialize: () => undefined,
  getState: () => ({ kind: "static" }),
  clear: () => undefined,
};
