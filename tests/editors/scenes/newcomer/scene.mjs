// Somebody who has never used it: no settings of any program, a key in the environment, and nothing done but what the editor's
// README says. The first answer, and the first accepted change.
import { check, equal } from "../../checks.mjs";
import { chatIn } from "../../person.mjs";
import { before, until } from "../../stage.mjs";

export const wants = { profile: "clean" };
export async function play(editor) {
  const began = Date.now();
  await editor.open("cart.py");
  if (editor.health) {
    const health = await editor.health();
    check("the editor finds no problems", /Serves 1 buffer/.test(health) && !/ERROR|WARNING/.test(health), health);
  }
  const chat = chatIn(editor);
  await chat.first("What does this project do?");
  await chat.sees("It is a small fruit shop.");
  await editor.idle();
  check("the first answer is there", true);
  await editor.shot("first-answer");

  await chat.then("Mend it: the total is misspelt");
  const proposal = await editor.proposal();
  await editor.shot("first-change");
  await proposal.acceptAll();
  await chat.sees("The total is returned.");
  await editor.idle();
  const wanted = before("cart.py").replace("totl", "total");
  await until("the change", async () => (await editor.text("cart.py")) === wanted, 10000).catch(() => undefined);
  equal("the first accepted change is in the file", await editor.text("cart.py"), wanted);
  check("all of it took less than five minutes", Date.now() - began < 300000);
}
