// The model asks in words: a choice, and one that the person answers in their own. Then it uses the editor's own eyes, and is
// told where it asks for what is not there.
// Shows S-425, S-427, S-428.
import { check } from "../../checks.mjs";
import { toldOf } from "../../stage.mjs";

export async function play(editor) {
  await editor.open("cart.py");
  await editor.lint();
  await editor.openChat();
  await editor.say("Name the shop");
  const colour = await editor.question("the first question", "Red");
  check("it says what it is about", colour.text.includes("Colour") && colour.text.includes("Which colour"), colour);
  check("each choice says what it means", colour.choices.some((choice) => choice.includes("Like apples.")), colour);
  await editor.shot("question");
  await editor.answer("Red");
  const name = await editor.question("the second question", "Something else");
  check("it is another one", name.text.includes("What is it called?"), name);
  await editor.lua("vim.ui.input = function(_, done) vim.schedule(function() done('Fruit & Co') end) end");
  await editor.answer("Something else");
  await editor.chatHas("with one problem.");
  await editor.idle();
  check("both answers reached the model", toldOf("ask").includes("Red") && toldOf("ask").includes("Fruit & Co"), toldOf("ask"));
  check("the model saw the editor's problems", toldOf("problems").includes("cart.py:") && toldOf("problems").includes("undefined name 'totl'"), toldOf("problems"));
  check("and was told what cannot be", /lines/.test(toldOf("hover")), toldOf("hover"));
  await editor.shot("answered");
}
