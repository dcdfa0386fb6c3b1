// A picture in an answer would tell its server that it was read, and what its address holds. The editor's own preview of a chat
// document asks for none; of a document that is none of ours it does.
import fs from "node:fs";
import path from "node:path";
import { check, equal } from "../../checks.mjs";
import { project, sleep, until } from "../../stage.mjs";

/** Nothing but what `countersign editor-config` prints. */
export const wants = { profile: "printed" };
const NAME = "talk.countersign.md";

export async function play(editor) {
  const { page, workbench } = editor;
  const asked = [];
  page.context().on("request", (request) => {
    if (request.url().includes("leak.example")) asked.push(request.url());
  });
  const preview = (words) => until(`the preview with “${words}”`, async () => {
    for (const frame of page.frames().filter((one) => one !== page.mainFrame())) {
      if ((await frame.locator("body").innerText().catch(() => "")).includes(words)) return true;
    }
    return false;
  }, 30000);

  fs.writeFileSync(path.join(project, "other.md"), "![x](https://leak.example/control.png)\n\nAnother document.\n");
  await editor.open("other.md");
  await workbench.focusEditor();
  await workbench.command("Markdown: Open Preview to the Side");
  await preview("Another document.");
  check("the preview of a document that is none of ours asks for its pictures", await until("the picture", () => asked.some((url) => url.includes("control.png")), 15000).catch(() => false), asked);
  await workbench.command("View: Close All Editors");
  asked.length = 0;

  await editor.open(NAME);
  await editor.writeAtEnd("show me");
  await editor.send();
  await until("the answer", async () => (await editor.text(NAME)).includes("End of pictures."), 60000);
  await editor.idle();
  await workbench.command("Markdown: Open Preview to the Side");
  await preview("End of pictures.");
  await sleep(1500);
  await editor.shot("preview");
  equal("nothing is asked for by the preview of what the agent says", asked.join("\n"), "");
}
