/**
 * What a chat page is told beside its conversation: whether a model can be asked, the models, the prompts, what was written before. No editor
 * here, so that plain node can test it.
 */
import type { McpServer } from "../protocol";
import type { Threads } from "./threads";
import type { ToPage } from "./wire";
import { nameOf } from "./words";

export class Lists {
  /** Whether a model can be asked, as far as it is known. */
  private isReady: boolean | undefined;

  constructor(
    private readonly threads: Pick<Threads, "isConnected" | "request">,
    private readonly cwd: () => string | undefined,
    private readonly post: (message: ToPage) => void,
  ) {}

  /** All of it. */
  async tell(): Promise<void> {
    const { threads } = this;
    if (!threads.isConnected) {
      return;
    }
    const [, , prompts, history] = await Promise.allSettled([this.tellSetup(), this.tellModels(), threads.request("countersign/prompt/list", { cwd: this.cwd() ?? null }), threads.request("countersign/history/list", { limit: 200 })]);
    if (prompts.status === "fulfilled") this.post({ type: "prompts", prompts: prompts.value.data.map(({ name, description, argumentHint }) => ({ name, description: description ?? null, argumentHint })) });
    if (history.status === "fulfilled") this.post({ type: "history", entries: history.value.data.map((entry) => entry.text) });
  }

  /** Whether a model can be asked. Where that is not known it is as good as ready: a request says what is missing. */
  async tellSetup(problem?: string): Promise<void> {
    const { threads } = this;
    const setup = threads.isConnected ? await threads.request("countersign/account/setup", {}).catch(() => null) : null;
    this.post({ type: "setup", setup, ...(problem === undefined ? {} : { problem }) });
    const was = this.isReady;
    this.isReady = setup?.ready;
    // A local server that runs by now has models, too.
    if (was === false && this.isReady === true) await this.tellModels();
  }

  /** The models; those that the page has stay where they cannot be asked for. */
  async tellModels(): Promise<void> {
    const models = this.threads.isConnected ? await this.threads.request("countersign/model/list", { limit: 200 }).catch(() => undefined) : undefined;
    if (models !== undefined) this.post({ type: "models", models: models.data });
  }

  async saveKey(key: string): Promise<void> {
    try {
      await this.threads.request("countersign/account/login/start", { type: "apiKey", apiKey: key });
    } catch (error) {
      await this.tellSetup(error instanceof Error ? error.message : String(error));
      return;
    }
    await this.tell();
  }
}

/** Which MCP servers a conversation has, or a new one would have, and how each is. */
export async function serverWords(threads: Pick<Threads, "request">, threadId: string | undefined): Promise<string> {
  const { data } = await threads.request("countersign/mcp/list", { threadId: threadId ?? null });
  const line = ({ name, status, tools, error }: McpServer): string => `${nameOf(name)}: ${status}, ${tools.length === 1 ? "1 tool" : `${tools.length} tools`}${error ? `. ${error}` : ""}`;
  return data.length === 0 ? "No MCP servers are configured. Name them in the file config.toml in ~/.countersign, each in a table of its own:\n[mcp_servers.docs]\ncommand = \"npx\"\nargs = [\"-y\", \"some-docs-server\"]\nA service on the network has a url in place of command and args. New conversations have them then." : data.map(line).join("\n");
}
