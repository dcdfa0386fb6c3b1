// node journey.mjs DRIVER SCENE : plays a scene in a real editor. Run by tests/editors/run, which sets what stage.mjs reads.
// A scene says what the person does and what must then be so; a driver is how that is done in one editor.
import { check, finish } from "./checks.mjs";

const [driver, scene] = process.argv.slice(2);
const { start } = await import(`./${driver}/driver.mjs`);
// A scene that begins at a clean profile says so: nothing but what the README says is then done.
const { play, profile } = await import(`./scenes/${scene}/scene.mjs`);

let editor;
try {
  editor = await start(profile);
  console.log(editor.version);
  await play(editor);
  check("the editor closes", await editor.close());
} catch (error) {
  check("the journey comes to its end", false, error instanceof Error ? `${error.stack}\n${(await editor?.seen().catch(String)) ?? ""}` : String(error));
  await editor?.shot("failure").catch(() => undefined);
  await editor?.close().catch(() => undefined);
}
finish();
