// Turns fail, each in its own way, and each says what may help: the conversation is summed up, the allowance waited for, another model
// chosen; each time it is tried again. (A conversation that can be summed
// up is, before it fails.)
import { check, equal } from "../../checks.mjs";
import { requests, until } from "../../stage.mjs";

/** Waits until the last turn has failed, and this is offered. */
const offers = (editor, ...remedies) =>
  until(remedies.join(", "), async () => {
    const chat = await editor.chat();
    return remedies.every((one) => chat.includes(`→ ${one}`)) && chat;
  });

export async function play(editor) {
  await editor.open("cart.py");
  await editor.openChat();
  await editor.say("A long story");
  const full = await offers(editor, "Compact the conversation: :Countersign compact", "Choose another model: :Countersign model", "Try again: :Countersign retry");
  check("it says what went wrong", /\*\*Failed:\*\*.*context window/i.test(full), full);
  await editor.shot("full");
  await editor.typeOut("<Esc>");
  await editor.command("compact");
  await editor.chatHas("There is nothing to compact yet.");
  await editor.idle();
  check("what may help goes with the next turn", !(await editor.chat()).includes("→ "), await editor.chat());

  await editor.openChat();
  await editor.say("Go on with it");
  const limit = await offers(editor, "Retry at ", "Choose another model", "Try again");
  check("it says until when", /Retry at \d\d:\d\d/.test(limit), limit);
  await editor.typeOut("<Esc>");
  const before = requests().length;
  await editor.command("retry wait");
  await editor.chatHas("◷ retries at");
  await editor.shot("waits");
  equal("nothing is asked before", requests().length, before);
  await editor.chatHas("The story goes on.");
  await editor.idle();
  const sent = requests().at(-1).body.input.filter((one) => JSON.stringify(one).includes("Go on with it"));
  check("the same message was sent again by itself, in the place of the first", sent.length === 1 && sent[0].role === "user", sent);

  await editor.openChat();
  await editor.say("And the end?");
  await offers(editor, "Choose another model", "Try again");
  await editor.typeOut("<Esc>");
  // By the key on what failed, as on anything that can be opened.
  await editor.lua(`local win = vim.fn.win_findbuf(vim.fn.bufnr('countersign://thread/'))[1]
    vim.api.nvim_set_current_win(win)
    vim.fn.search('Failed', 'b')`);
  await editor.type("<CR>");
  const offered = await editor.question("what may help", "Choose another model");
  check("the key on it offers the same", offered.choices.join() === "Choose another model,Try again", offered);
  await editor.answer("Choose another model");
  await editor.question("the models", "");
  const models = await editor.isAsked();
  check("the models that are known are listed", models.text === "Model" && models.choices.join().startsWith("● rehearsal"), models);
  await editor.lua("return Rig.dismiss()");
  // One that no list has is chosen by its name.
  await editor.command("model other");
  await editor.told("the model is other");
  await editor.command("retry");
  await editor.chatHas("They lived happily.");
  await editor.idle();
  equal("the other model was asked", requests().at(-1).body.model, "other");
  equal("no question is left", await editor.isAsked(), null);
  await editor.shot("end");
}
