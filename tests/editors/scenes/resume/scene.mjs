// The person saves a session with a chat in it, closes the editor, and comes back: the conversation is where it was, and goes on;
// also from the list of conversations, and when the server dies.
// Shows S-014, S-300, S-301, S-309.
import { check, equal } from "../../checks.mjs";
import { state, until } from "../../stage.mjs";
import path from "node:path";

export async function play(editor) {
  const session = path.join(state, "Session.vim");
  await editor.open("cart.py");
  await editor.openChat();
  await editor.say("Remember the pears");
  await editor.chatHas("I remember the pears.");
  await editor.idle();
  const id = await editor.lua("return require('countersign.threads').list()[1].id");
  await editor.typeOut(`<Esc><Cmd>mksession! ${session}<CR>`);
  await editor.restart();

  await editor.typeOut(`<Cmd>source ${session}<CR>`);
  const chat = await editor.chatHas("I remember the pears.");
  check("the conversation is back in its window", chat.includes("Remember the pears"), chat);
  equal("it is the same", await editor.lua("return require('countersign.threads').list()[1].id"), id);
  await editor.shot("restored");
  await editor.openChat();
  await editor.say("What was it?");
  await editor.chatHas("It was the pears.");
  await editor.idle();
  const goneOn = await editor.chat();
  check("it has gone on in one conversation", goneOn.indexOf("I remember") < goneOn.indexOf("It was the pears."), goneOn);

  // The same without a session: from the list.
  await editor.restart();
  await editor.open("cart.py");
  await editor.type("<Cmd>Countersign threads<CR>");
  const asked = await editor.question("the list of conversations", "");
  check("the list has it", asked.choices.length === 1 && asked.choices[0].includes("Remember the pears"), asked);
  await editor.answer(asked.choices[0]);
  const listed = await editor.chatHas("It was the pears.");
  check("all of it is there", listed.includes("I remember the pears.") && listed.includes("What was it?"), listed);
  await until("the composer", async () => (await editor.lua("return vim.bo.filetype")) === "countersign-composer");

  // The server dies: another one is started, and the chat that is shown goes on.
  const lost = await editor.lua("return vim.lsp.get_clients({ name = 'countersign' })[1].id");
  await editor.killServer();
  await until("another server", () => editor.lua(`local client = vim.lsp.get_clients({ name = 'countersign' })[1]
    return client and client.id ~= ... and require('countersign.threads').list()[1].live`, lost));
  await editor.typeOut("<Esc>");
  await editor.openChat();
  await editor.say("And now?");
  await editor.chatHas("Still the pears.");
  await editor.idle();

  // The last message is taken back, after it was shown what goes.
  await editor.typeOut("<Esc>");
  await editor.type("<Cmd>Countersign rollback<CR>");
  const back = await editor.question("what is to go", "Conversation only");
  const preview = await editor.shown();
  check("what would go is shown, and the first choice is a no", back.choices[0] === "Cancel" && preview.text.includes("1. And now?"), { back, preview });
  await editor.shot("rollback");
  await editor.answer("Conversation only");
  await until("the message to go", async () => {
    const left = await editor.chat();
    return left.includes("It was the pears.") && !left.includes("And now?");
  });
  check("the messages before it are left", true);
  equal("one server runs", await editor.lua("return #vim.lsp.get_clients({ name = 'countersign' })"), 1);
}
