// A command asks first. The question does not come while the person types; what is typed goes into the text. Then it opens by
// itself; the first choice is a no; words to the model go with one.
// Shows S-105, S-106, S-107, S-116, S-127.
import { check, equal } from "../../checks.mjs";
import { sleep, toldOf, until } from "../../stage.mjs";

export async function play(editor) {
  await editor.open("cart.py");
  // The person goes on writing before the question comes.
  await editor.typeOut("Go");
  await editor.type("<Cmd>lua require('countersign').ask('Run the tests')<CR>");
  await until("the question", () => editor.lua("return #require('countersign.ask').waiting() == 1"));
  await until("the announcement", () => editor.lua("return vim.iter(Rig.messages):any(function(one) return one:find('unittest', 1, true) end)"));
  await editor.typeOut("# 1 2 3");
  await sleep(500);
  check("nothing opens while the person writes", !(await editor.isAsked()));
  equal("what was typed is in the text", (await editor.text("cart.py")).trimEnd().endsWith("# 1 2 3"), true);
  await editor.shot("typing");
  await editor.typeOut("<Esc>");

  const first = await editor.question("the question, once the keys are still", "Allow Once");
  check("it says what, where and why", first.text.includes("python3 -m unittest") && first.text.includes("shop") && first.text.includes("sandbox"), first);
  check("the first choice is a no", first.choices[0].startsWith("Deny"), first);
  await editor.answer("Allow Once");

  const second = await editor.question("the second question", "Deny with Comment");
  check("it names the command", second.text.includes("rm -rf __pycache__"), second);
  await editor.lua("vim.ui.input = function(_, done) vim.schedule(function() done('Please leave the caches alone.') end) end");
  await editor.answer("Deny with Comment");
  await editor.idle();
  check("the words reached the model", toldOf("clean").includes("Please leave the caches alone."), toldOf("clean"));
  await editor.openChat();
  await editor.chatHas("Then the caches stay.");
  const chat = await editor.chat();
  check("the chat tells what was denied", /rm -rf __pycache__`.*denied/.test(chat), chat);
  check("no question is left open", !(await editor.isAsked()));
  await editor.shot("declined");
}
