// The editor runs code actions by itself before each save, as many configurations have it, and formats. A change that waits is
// not accepted by that, nothing is sent to the model, and the person can still decide.
// Shows S-108.
import { check, equal } from "../../checks.mjs";
import { decideOn } from "../../person.mjs";
import { after, before, onDisk, requests, sleep, until } from "../../stage.mjs";

const kinds = ["quickfix", "quickfix.countersign", "source.fixAll", "source.organizeImports", "refactor", "countersign", "countersign.decide", ""];
export const wants = { onSave: kinds };

export async function play(editor) {
  await editor.open("cart.py");
  await editor.lint();
  await editor.at("totl");
  await editor.fix();
  const proposal = await editor.proposal();
  await proposal.decideInFiles();
  const asked = requests().length;
  const each = editor.asks?.(kinds) ?? kinds;
  for (const place of ["totl", "kinds of fruit"]) {
    await editor.at(place);
    // A save that comes while another one still runs its hooks is none, so it is made again.
    await until("the hooks to run", async () => {
      const had = await editor.hooked();
      await editor.save();
      return until("all of them", async () => (await editor.hooked()) >= had + each.length, 6000);
    }, 45000);
    await editor.format();
  }
  // What they ask for is answered by now.
  await sleep(1000);
  await editor.shot("saved");
  equal("nothing is accepted by a save", await editor.text("cart.py"), before("cart.py"));
  equal("nothing is written in the open file", onDisk("cart.py"), before("cart.py"));
  equal("nothing is written in the other file", onDisk("prices.py"), before("prices.py"));
  equal("the model is asked nothing", requests().length, asked);
  await decideOn(editor, "totl", "Accept all of the agent's changes");
  await until("the change on disk", () => onDisk("prices.py") === after("prices.py")).catch(() => undefined);
  equal("the person still accepts it", onDisk("prices.py"), after("prices.py"));
  await editor.idle();
  check("no question is left open", !(await editor.isAsked()));
}
