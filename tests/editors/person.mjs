// What a person does alike in all editors.
import { check } from "./checks.mjs";

/** Chooses the fix from a list of code actions that `list` opens. */
export async function chooseFix(editor, list) {
  const offered = await list();
  check("the code actions offer “Fix with agent”", offered.some((title) => title.startsWith("Fix with agent")), offered);
  await editor.shot("code-actions");
  await editor.choose("Fix with agent");
}
