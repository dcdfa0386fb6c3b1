// What a person does alike in all editors.
import { check } from "./checks.mjs";
import { until } from "./stage.mjs";

/** Chooses the fix from a list of code actions that `list` opens. */
export async function chooseFix(editor, list) {
  const offered = await list();
  check("the code actions offer “Fix with agent”", offered.some((title) => title.startsWith("Fix with agent")), offered);
  await editor.shot("code-actions");
  await editor.choose("Fix with agent");
}

/** Decides by a code action on the line of a text, of which the beginning is enough. Resolves to all that was offered there. */
export async function decideOn(editor, text, title) {
  await editor.at(text);
  const offered = await editor.actions();
  check(`on “${text}” there is “${title}”`, offered.some((one) => one.startsWith(title)), offered);
  await editor.choose(title);
  return offered;
}

/** Answers that a change is decided in its files. The editor goes to the first place then, and a person looks there before going elsewhere. */
export async function goToFiles(editor) {
  const from = await editor.line();
  await editor.answer("Decide in the files");
  const hasGone = async () => {
    const line = await editor.line();
    return line && line !== from;
  };
  // It may have been there.
  await until("the editor to go to the change", hasGone, 5000).catch(() => undefined);
}

/** What a question says, in one line: a frame around it, and where its lines are broken, say nothing. */
export const plain = (text) => text.replace(/^.*?│(.*)│.*$/gm, "$1").replace(/\s+/g, " ");

const CHAT = "talk.countersign.md";

/** Says something in the chat of the plugin, or in a chat document. */
export const chatIn = (editor) =>
  editor.openChat
    ? {
        first: async (words) => {
          await editor.openChat(`chat ${words}`);
        },
        then: async (words) => {
          await editor.say(words);
        },
        sees: (part) => editor.chatHas(part),
      }
    : {
        first: async (words) => {
          await editor.open(CHAT);
          await editor.writeAtEnd(words);
          await editor.send();
        },
        then: async (words) => {
          await editor.writeAtEnd(words);
          await editor.send();
        },
        sees: (part) => until(`“${part}”`, async () => (await editor.text(CHAT)).includes(part), 60000),
      };
