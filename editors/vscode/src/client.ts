/**
 * Makes the language client: how the server is started and what it is told about the editor.
 */
import * as vscode from "vscode";
import type { Executable, LanguageClientOptions, StaticFeature } from "vscode-languageclient/node";
import { DidChangeConfigurationNotification, LanguageClient, RevealOutputChannelOn, TransportKind } from "vscode-languageclient/node";
import { takeEdits } from "./apply_edit";
import type { ServerSettings } from "./settings";
import { answerFor, forServer, serverEnvironment } from "./settings";

export interface ClientParts {
  readonly program: string;
  readonly settings: ServerSettings;
  readonly log: vscode.LogOutputChannel;
}

export function createClient({ program, settings, log }: ClientParts): LanguageClient {
  const folder = vscode.workspace.workspaceFolders?.find((f) => f.uri.scheme === "file")?.uri.fsPath;
  const run: Executable = {
    command: program,
    args: [...settings.args],
    transport: TransportKind.stdio,
    options: { env: serverEnvironment(process.env, settings.env), ...(folder === undefined ? {} : { cwd: folder }) },
  };
  const options: LanguageClientOptions = {
    // Any language, but only what is a text of the person's: without the scheme the server would also be told of
    // the copies that the editor's own previews open.
    documentSelector: [{ scheme: "file" }, { scheme: "untitled" }],
    outputChannel: log,
    traceOutputChannel: log,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    initializationOptions: currentForServer,
    middleware: {
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
  if (vscode.workspace.getConfiguration("countersign").get<boolean>("pluginProtocol", false)) {
    client.registerFeature(pluginProtocol);
  }
  return client;
}

/** Tells the server of changed settings. */
export function sendSettings(client: LanguageClient): Promise<void> {
  return client.sendNotification(DidChangeConfigurationNotification.type, { settings: { countersign: currentForServer() } });
}

function currentForServer(): Record<string, unknown> {
  return forServer(vscode.workspace.getConfiguration().inspect("countersign"));
}

/** Tells the server that this client speaks its own protocol, so that it is asked there and not by message boxes. */
const pluginProtocol: StaticFeature = {
  fillClientCapabilities(capabilities) {
    const experimental = (capabilities.experimental ?? {}) as Record<string, unknown>;
    capabilities.experimental = { ...experimental, countersign: {} };
  },
  initialize: () => undefined,
  getState: () => ({ kind: "static" }),
  clear: () => undefined,
};
