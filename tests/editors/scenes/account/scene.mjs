// Not signed in: a turn fails, and says what may help. The person signs in by the browser, asks again, looks at the account,
// saves a report, and signs out; a login that is begun and not wanted is stopped.
// Shows S-341, S-353.
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { check, equal } from "../../checks.mjs";
import { home, isOnDisk, onDisk, state, until } from "../../stage.mjs";

/** Secrets that were given out. */
const secrets = [];
const revoked = [];
const token = (claims) => {
  const made = `e30.${Buffer.from(JSON.stringify({ ...claims, jti: `secret-${secrets.length}-${process.pid}` })).toString("base64url")}.c2ln`;
  secrets.push(made);
  return made;
};

/** An authorization server that lets Ada in. */
const authority = http.createServer((request, response) => {
  let body = "";
  request.on("data", (piece) => { body += piece; });
  request.on("end", () => {
    const json = (value) => response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
    const url = new URL(request.url, "http://localhost");
    if (url.pathname === "/oauth/authorize") {
      const back = new URL(url.searchParams.get("redirect_uri"));
      back.searchParams.set("code", "a-code");
      back.searchParams.set("state", url.searchParams.get("state"));
      response.writeHead(302, { location: back.href }).end();
    } else if (url.pathname === "/oauth/token") {
      const exp = Math.floor(Date.now() / 1000) + 3600;
      const id = { email: "ada@example.org", "https://api.openai.com/auth": { chatgpt_plan_type: "plus", chatgpt_account_id: "workspace-1" } };
      json({ access_token: token({ exp }), id_token: token(id), refresh_token: token({}), token_type: "Bearer" });
    } else if (url.pathname === "/oauth/revoke") {
      revoked.push(body);
      json({});
    } else {
      json({});
    }
  });
});

export const wants = {
  prepare: async () => {
    await new Promise((resolve) => { authority.listen(0, "127.0.0.1", resolve); });
    authority.unref();
    const issuer = `http://127.0.0.1:${authority.address().port}`;
    fs.appendFileSync(path.join(home, "config.toml"), `requires_openai_auth = true\n\n[login]\nissuer = "${issuer}"\nclient_id = "countersign-test"\nusage_endpoint = "${issuer}/usage"\n`);
  },
};

export async function play(editor) {
  await editor.open("cart.py");
  await editor.lua("Opened = {}; vim.ui.open = function(url) table.insert(Opened, url); return {} end");
  await editor.command("account");
  await editor.told("Not signed in");

  await editor.openChat();
  await editor.say("Hello there");
  const failed = await editor.chatHas("→ Sign in: :Countersign login");
  check("what may help stands below what failed", /\*\*Failed:\*\*/.test(failed) && failed.includes("→ Try again: :Countersign retry"), failed);
  await editor.shot("failed");
  await editor.typeOut("<Esc>");
  await editor.type("<Cmd>Countersign recover<CR>");
  const offered = await editor.question("what may help", "Sign in");
  equal("it is offered as a list too", offered.choices.join(), "Sign in,Try again");
  await editor.answer("Sign in");
  const ways = await editor.question("the ways to sign in", "In the browser");
  check("there are three ways", ways.choices.length === 3, ways);
  await editor.answer("In the browser");
  const page = await until("the page", () => editor.lua("return Opened[1]"));
  await editor.typeOut("<Cmd>Countersign messages<CR>");
  const { text: messages } = await editor.shown();
  check("the address is told too, whole, for who has no browser here", messages.includes(page), messages);
  await editor.typeOut("<Cmd>close<CR>");
  const answer = await fetch(page);
  check("the browser comes back to this machine", answer.ok && new URL(answer.url).hostname === "127.0.0.1", answer.url);
  await editor.told("signed in.");

  await editor.command("retry");
  await editor.chatHas("Hello, Ada.");
  await editor.idle();
  check("nothing of the failure is left to mend", !(await editor.chat()).includes(":Countersign retry"), await editor.chat());
  await editor.command("account");
  const account = await editor.told("ada@example.org");
  check("the account is told, with its plan", account.includes("plus"), account);
  await editor.shot("account");

  await editor.type("<Cmd>Countersign feedback It greets well<CR>");
  await editor.question("what it is about", "A good answer");
  await editor.answer("A good answer");
  await editor.question("what goes along", "With the last lines");
  await editor.answer("With the last lines");
  const whole = await editor.question("the whole report", "Save as");
  check("without an address nothing can be sent, and the first choice is a no", whole.choices.join() === "Cancel,Save as a file…", whole);
  const report = (await editor.shown()).text;
  check("all of it is shown before", report.includes("It greets well") && report.includes("Hello there"), report.slice(0, 2000));
  await editor.shot("report");
  await editor.typesNext("report.json");
  await editor.answer("Save as");
  await editor.told("saved as");
  equal("what is saved is what was shown", onDisk("report.json").trim(), report.trim());
  check("no secret is in it", secrets.length >= 3 && !secrets.some((one) => report.includes(one)), secrets.length);
  await editor.typeOut("<Cmd>tabonly<CR>");

  await editor.type("<Cmd>Countersign logout<CR>");
  const sure = await editor.question("whether they are sure", "Sign out");
  check("the first choice leaves all as it is", sure.choices[0] === "Stay signed in", sure);
  await editor.answer("Sign out");
  await editor.told("signed out.");
  await until("the authorization server to be told", () => revoked.length === 1);
  await editor.command("login browser");
  await until("another page", () => editor.lua("return Opened[2]"));
  await editor.command("logout");
  await editor.told("sign-in failed");
  check("a login that is not wanted is stopped, and nobody is signed in", (await editor.lua("Rig.messages = {}")) === null);
  await editor.command("account");
  await editor.told("Not signed in");
  check("no token is left in the home folder", !isOnDisk("auth.json") && !fs.readdirSync(home, { recursive: true, withFileTypes: true }).some((one) => one.isFile() && secrets.some((secret) => fs.readFileSync(path.join(one.parentPath, one.name), "latin1").includes(secret))), state);
  authority.closeAllConnections();
  authority.close();
}
