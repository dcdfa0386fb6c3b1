/** What a document says that shows all of a command's output. No editor here, so that plain node can test it. */
import * as fs from "node:fs/promises";
import { visibleText } from "./visible";

/** VS Code hands no longer documents to extensions, and so opens none for them. */
const MOST = 50 * 1024 * 1024;

/** The text of the file, as it may be seen, or why it cannot be. */
export async function outputText(file: string, most = MOST): Promise<string> {
  try {
    const text = (await fs.stat(file)).size > most ? undefined : visibleText(await fs.readFile(file, "utf8"));
    return text === undefined || text.length > most ? `This output is too long to be shown here: it has more than ${most / 1024 / 1024} MB. All of it is in this file:\n${visibleText(file)}\n` : text;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") {
      return `This output is not kept any more. Outputs are removed when they are old, when all of them take too much room, and with their conversation. It was in this file:\n${visibleText(file)}\n`;
    }
    throw error;
  }
}
