// The page of the chat by itself, which says what it asks of the extension: nothing takes the focus from where the person is, a command
// that asks can be read to its end, what was not sent comes back, and a page of the web counts as agreed to only once it is open. Nothing
// slips away while the agent goes on: buttons that are pressed, the place of who works by the keyboard, what is selected. All of it has a
// name, and room where the side bar is narrow.
import { check, equal } from "../../checks.mjs";
import { sleep, until } from "../../stage.mjs";
import { conversation, long, openPage } from "../../vscode-chat/page.mjs";

const PNG = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg==";

export async function play(editor) {
  const { page, tell, posted, focused } = await openPage(editor);
  await tell({ type: "hello", folder: "w", running: true, trouble: null, remedy: "start" });
  await tell(conversation([]));

  // The list of conversations is open, and the agent goes on.
  await page.locator("header button[aria-label='Conversations']").click();
  await tell({ type: "threads", append: false, more: null, entries: [{ id: "T", title: "One", cwd: "w", updatedAtMs: 1, status: "idle", archived: false }] });
  await page.locator(".thread-search input").fill("on");
  await tell(conversation([{ key: "n", turnId: "t", rev: 0, body: { kind: "note", severity: "info", text: "changed" } }]));
  check("the list of conversations stays when a conversation changes", await page.locator(".thread-list").isVisible());
  equal("and the focus stays where it is", await focused(), "Search conversations");
  await tell({ type: "unsent", token: 99 });
  equal("whatever is told", await focused(), "Search conversations");
  await page.keyboard.press("Escape");
  equal("the person closes it", await focused(), "Message to the agent");

  // A command that is long and tries to look short.
  const command = `echo harmless${"\n".repeat(60)}rm -rf "$HOME"/\u202etxt.x`;
  await tell({ type: "events", events: [{ method: "countersign/approval/requested", params: { threadId: "T", turnId: "t", seq: 1, approval: { id: "A", threadId: "T", turnId: "t", itemId: "i", command: ["bash", "-c", command], display: command, cwd: "/w", confined: "outside", reason: "why", availableDecisions: ["accept", "decline"], actions: [], sessionScope: "" } } }] });
  const box = page.locator(".question.open .terminal");
  await until("the question", () => box.isVisible());
  check("all of a command is there to be read", (await box.innerText()).trimEnd().endsWith("rm -rf \"$HOME\"/<U+202E>txt.x"), await box.innerText());
  const sizes = await box.evaluate((one) => ({ all: one.scrollHeight, shown: one.clientHeight, flow: getComputedStyle(one).overflowY }));
  check("what is longer than its box is scrolled", sizes.all > sizes.shown && sizes.flow === "auto", sizes);
  await box.evaluate((one) => (one.scrollTop = one.scrollHeight));
  check("to its end", await box.evaluate((one) => one.scrollTop + one.clientHeight >= one.scrollHeight - 1));

  // What could not be sent.
  const text = page.locator(".composer textarea");
  await text.evaluate(async (area, url) => {
    const data = new DataTransfer();
    data.items.add(new File([await (await fetch(url)).blob()], "dot.png", { type: "image/png" }));
    area.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
  }, PNG);
  await until("the picture", () => page.locator(".picture img").isVisible());
  await page.locator(".composer select[aria-label='Mode']").selectOption("plan");
  await text.fill("look at @a.py");
  await text.press("Enter");
  const [sent] = await posted("send");
  check("words, picture and mode go out together", sent.text === "look at @a.py" && sent.images.length === 1 && sent.choices.mode === "plan", sent);
  equal("and leave the composer", await text.inputValue(), "");
  await text.fill("and then");
  await page.locator(".rows-scroll").focus();
  await tell({ type: "unsent", token: sent.token });
  equal("what was not sent is there again, before what was written since", await text.inputValue(), "look at @a.py\n\nand then");
  equal("with its picture", await page.locator(".picture img").count(), 1);
  equal("and the focus is left alone", await focused(), "Conversation");
  await text.press("Enter");
  const again = (await posted("send"))[1];
  check("and its mode", again.choices.mode === "plan" && again.images[0] === sent.images[0], again);
  await tell({ type: "sent", token: again.token });
  await tell({ type: "unsent", token: again.token });
  equal("what was sent does not come back", await text.inputValue(), "");

  // A message that was sent before comes back; what was picked goes with `/init`.
  await text.fill("a draft");
  await tell({ type: "putBack", text: "said before", images: [PNG] });
  equal("a message that is put back stands above what is being written", await text.inputValue(), "said before\n\na draft");
  equal("with its picture, too", await page.locator(".picture img").count(), 1);
  await page.locator(".picture button").click();
  await page.locator(".composer select[aria-label='Mode']").selectOption("ask");
  await text.fill("/init");
  await text.press("Enter");
  const init = (await posted("send")).at(-1);
  check("/init is a message, in the mode that was picked", init.text.includes("AGENTS.md") && init.choices.mode === "ask", init);
  await tell({ type: "sent", token: init.token });

  // What is dropped: a picture, and a file of the editor's explorer, in a window of this machine and in a remote one.
  const drop = (uris) => page.locator(".composer").evaluate(async (box, [url, list]) => {
    const data = new DataTransfer();
    if (list === "") data.items.add(new File([await (await fetch(url)).blob()], "dot.png", { type: "image/png" }));
    else data.setData("text/uri-list", list);
    box.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
  }, [PNG, uris]);
  await drop("");
  check("a picture can be dropped", await until("the picture", () => page.locator(".picture img").isVisible(), 10000).catch(() => false));
  await page.locator(".picture button").click();
  equal("and taken out again", await page.locator(".picture").count(), 0);
  await drop("file:///w/a%20b.py\r\nvscode-remote://ssh-remote%2Bhost/w/c.py\r\nhttps://example.org/d.py");
  equal("a dropped file is mentioned, a page of the web is not", (await text.inputValue()).trim(), "@\"/w/a b.py\" @/w/c.py");
  await text.fill("");

  await tell({ type: "events", events: [{ method: "countersign/mcp/elicitationRequested", params: { threadId: "T", turnId: "t", seq: 2, elicitation: { id: "E", threadId: "T", turnId: "t", itemId: "i", server: "s", requestId: 1, message: "Sign in", mode: "url", url: "https://example.org/", elicitationId: "e" } } }] });
  await page.locator(".question.open button", { hasText: "Open link" }).click();
  equal("a page of the web is asked to be opened", (await posted("openElicitation")).length, 1);
  equal("and nothing is answered before it is", (await posted("answerElicitation")).length, 0);
  await page.close();
  await meanwhile(editor);
}

/** What the person does while the agent goes on. */
async function meanwhile(editor) {
  const { page, tell, posted, focused } = await openPage(editor);
  const event = (method, params) => tell({ type: "events", events: [{ method: `countersign/${method}`, params: { threadId: "T", turnId: "t", seq: 1, ...params } }] });
  await tell({ type: "hello", folder: "w", running: true, trouble: null, remedy: "start" });
  await tell(conversation([]));
  check("where nothing waits no box is drawn for it", !(await page.locator(".queue").isVisible()));
  await event("turn/started", { turn: { id: "t", startedAtMs: 1, items: [], status: "inProgress" } });
  await event("item/started", { item: { type: "agentMessage", id: "m", text: "So:\n\n```js\nlet one = 1;\n" }, startedAtMs: 1 });
  let lines = 0;
  const more = () => event("item/agentMessage/delta", { itemId: "m", delta: `let line${(lines += 1)} = 2;\n` });
  /** Presses a button with the mouse, and lets the agent go on before it is let go. */
  const press = async (target) => {
    await target.scrollIntoViewIfNeeded();
    const { x, y, width, height } = await target.boundingBox();
    await page.mouse.move(x + width / 2, y + height / 2);
    await page.mouse.down();
    await more();
    await page.mouse.up();
  };

  const waiting = (...ids) => event("turn/queueChanged", { queue: { paused: false, inputs: ids.map((id) => ({ id, input: [{ type: "text", text: `${id}, first line\nsecond line` }] })) } });
  await waiting("a", "b");
  await press(page.locator(".queued button[aria-label='Later']"));
  equal("a waiting message is moved while an answer streams in", (await posted("queue")).length, 1);
  await page.locator(".queued button[aria-label='Remove']").first().focus();
  await more();
  equal("where the focus stays", await focused(), "Remove");
  await waiting("b");
  equal("which never goes to what would do the same to another", await focused(), "Edit");
  await page.keyboard.press("Enter");
  const box = page.locator(".queued textarea");
  equal("a message of several lines is changed as it is", await box.inputValue(), "b, first line\nsecond line");
  await event("turn/queueChanged", { queue: { paused: false, inputs: [] } });
  await box.fill("better words");
  await box.press("Enter");
  check("what was written of one that has gone out is not lost", (await page.locator(".composer textarea").inputValue()).includes("better words") && (await page.locator(".notice").innerText()).includes("has gone to the agent already") && (await posted("queue")).every(({ action }) => action !== "edit"));
  await page.locator(".composer textarea").fill("");

  await page.evaluate(() => {
    const code = document.querySelector("[data-key=m] code");
    getSelection().setBaseAndExtent(code.firstChild, 0, code.childNodes[1], 1);
  });
  await more();
  check("what is selected in code that streams in stays so", (await page.evaluate(() => getSelection().toString())).startsWith("let"));
  await press(page.locator("[data-key=m] button", { hasText: "Copy" }));
  const [copied] = await posted("code");
  check("and it can be copied meanwhile", copied?.text.includes(`line${lines - 1}`) === true, copied);

  const hunk = (id, start, status = "pending") => ({ id, range: { start, end: start + 1 }, oldText: `old ${id}\n`, newText: `new ${id}\n`, status });
  const proposed = (status, hunks) => ({ proposal: { id: "P", threadId: "T", turnId: "t", itemId: "f", status, createdAtMs: 1, files: [{ path: "/w/a.py", uri: "file:///w/a.py", kind: { type: "update" }, hunks }] } });
  await event("item/started", { item: { type: "fileChange", id: "f", changes: [], status: "inProgress", proposalId: "P" }, startedAtMs: 1 });
  await event("proposal/created", proposed("proposed", [hunk("1", 1), hunk("2", 5)]));
  const accept = page.locator("button[aria-label='Accept change 1 of /w/a.py']");
  await until("the change", () => accept.isVisible());
  await accept.focus();
  await event("proposal/moved", { proposalId: "P", status: "proposed", files: [{ uri: "file:///w/a.py", hunks: [{ id: "2", range: { start: 7, end: 8 }, status: "pending" }] }] });
  equal("who is at a change by the keyboard stays there when another one moves", await focused(), "Accept change 1 of /w/a.py");
  await page.keyboard.press("Enter");
  await event("proposal/updated", proposed("partlyDecided", [hunk("1", 1, "accepted"), hunk("2", 7)]));
  equal("and, once it is decided, in it", await focused(), "Change");
  await page.keyboard.press("Tab");
  equal("from where the next one is a step away", await focused(), "Accept change 2 of /w/a.py");
  await page.locator(".composer textarea").focus();
  await event("proposal/updated", proposed("applied", [hunk("1", 1, "applied"), hunk("2", 7, "applied")]));
  equal("who is elsewhere is left there", await focused(), "Message to the agent");
  check("what is done folds", !(await page.locator("details.file").evaluate((one) => one.open)));

  // What did not fit when it was shown is not accepted with the rest, and where a file goes is said.
  const tall = Array.from({ length: 500 }, (_, i) => `new ${i}\n`).join("");
  const files = (second) => [
    { path: "/w/a.py", uri: "file:///w/a.py", kind: { type: "update", movePath: "/w/conftest.py" }, mode: 0o755, hunks: [hunk("3", 1)] },
    { path: "/w/b.py", uri: "file:///w/b.py", kind: { type: "update" }, hunks: [second] },
  ];
  const mixed = (status, second) => ({ proposal: { ...proposed(status, []).proposal, id: "Q", itemId: "g", files: files(second) } });
  await event("item/started", { item: { type: "fileChange", id: "g", changes: [], status: "inProgress", proposalId: "Q" }, startedAtMs: 1 });
  await event("proposal/created", mixed("conflicting", { ...hunk("4", 1, "conflicting"), newText: tall }));
  const card = page.locator(".proposal.waits");
  const all = card.locator("button", { hasText: "Accept all" });
  await until("the second proposal", () => all.isVisible());
  check("where a file goes, and what it becomes, stands beside its name", (await card.innerText()).includes("→ conftest.py, executable (mode 755)"), await card.innerText());
  await all.click();
  const yes = (await posted("accept")).at(-1);
  equal("what does not fit is no part of a yes", JSON.stringify([yes.hunkIds, yes.leaveOut]), JSON.stringify([["3"], ["4"]]));
  await event("proposal/updated", mixed("proposed", { ...hunk("4", 1), newText: tall }));
  check("once it fits it is to be shown first", await all.isDisabled());
  await card.locator("button", { hasText: "Open diff" }).last().click();
  check("to ask for its diff shows nothing", await all.isDisabled());
  await tell({ type: "shown", proposalId: "Q", hunkIds: ["3", "4"] });
  check("a diff that is open does", await all.isEnabled());
  await event("proposal/updated", mixed("applied", { ...hunk("4", 1, "applied"), newText: tall }));

  const command = (status) => ({ item: { type: "commandExecution", id: "c", command: "make", cwd: "/", actions: [], source: "agent", confined: "workspace", status, ...(status === "completed" ? { aggregatedOutput: "made\n", exitCode: 0, durationMs: 5 } : {}) } });
  await event("item/started", { ...command("inProgress"), startedAtMs: 1 });
  await event("item/commandExecution/outputDelta", { itemId: "c", delta: "made\n" });
  const details = page.locator("details.command");
  check("a command that runs shows its output", await until("the output", () => details.evaluate((one) => one.open), 5000).catch(() => false));
  await event("item/completed", { ...command("completed"), completedAtMs: 2 });
  check("and folds once it is done", await until("the fold", () => details.evaluate((one) => !one.open), 5000).catch(() => false));

  await page.locator("header button[aria-label='Conversations']").click();
  const entries = (...ids) => tell({ type: "threads", append: false, more: null, entries: ids.map((id) => ({ id, title: `About ${id}`, cwd: "w", updatedAtMs: 1, status: "idle", archived: false })) });
  await entries("x", "y");
  await page.locator(".thread button[aria-label='Archive']").first().focus();
  await page.keyboard.press("Enter");
  equal("the list is used by keys", (await posted("threadAction"))[0]?.threadId, "x");
  await entries("y");
  equal("and keeps the place", await focused(), "About y");
  await page.keyboard.press("Escape");
  check("so that Escape leaves it", await page.locator(".thread-list").isHidden());

  await page.setViewportSize({ width: 200, height: 800 });
  await waiting("a", "b");
  await tell({ type: "notice", severity: "error", text: "x".repeat(300) });
  const seen = await page.evaluate(() => {
    const shown = [...document.querySelectorAll("button, select, textarea, input, summary, [tabindex='0']")].filter((one) => one.checkVisibility());
    const name = (one) => one.getAttribute("aria-label") || one.textContent.trim() || [...(one.labels ?? [])].map((label) => label.textContent).join("");
    const isCut = (one) => one.closest(".rows") === null && one.getBoundingClientRect().right > innerWidth;
    return { count: shown.length, nameless: shown.filter((one) => !name(one)).map((one) => one.outerHTML), cut: shown.filter(isCut).map((one) => one.outerHTML), wide: document.documentElement.scrollWidth };
  });
  check("everything that can be pressed has a name", seen.count > 10 && seen.nameless.length === 0, seen);
  check("and is in view in a narrow side bar", seen.cut.length === 0 && seen.wide <= 200, seen);

  const edit = page.locator(".queued button[aria-label='Edit']").first();
  await edit.click();
  await box.fill("half a thought");
  await tell({ type: "thread", view: { ...conversation([]).view, id: "U" } });
  check("what waits in one conversation is not in another, whatever is being typed into it", !(await page.locator(".queue").isVisible()) && (await page.locator(".queued").count()) === 0);
  await tell(conversation([]));
  await waiting("a", "b");
  await edit.click();
  equal("who comes back finds what they had typed", await box.inputValue(), "half a thought");
  await box.press("Escape");
  await edit.click();
  equal("until they give it up", await box.inputValue(), "a, first line\nsecond line");
  await page.close();
  await atTheEnd(editor);
  await kept(editor);
}

/** A conversation that cannot be opened keeps its place; whose words a question has is seen; words are found, also in rows that are not drawn. */
async function kept(editor) {
  const { page, tell, posted, focused } = await openPage(editor);
  const box = page.locator(".unopened");
  await tell({ type: "hello", folder: "w", running: true, trouble: null, remedy: "start" });
  await tell(conversation([], "Fix the cart"));
  await tell({ type: "unopened", threadId: "T", isInUse: true, reason: "It is open in another window." });
  check("a conversation that cannot be opened is named, with the reason", /“Fix the cart” could not be opened\.\s*It is open in another window\./.test(await box.innerText()), await box.innerText());
  equal("and what can be done", (await box.locator("button").allInnerTexts()).join(), "Try Again,Show Read-Only,Fork Conversation,New Chat");
  check("it is not offered as a new one", !(await page.locator(".empty").isVisible()) && (await page.locator(".title-button").innerText()) === "Fix the cart");
  await box.locator("button", { hasText: "Try Again" }).click();
  equal("it is tried again", (await posted("reopen")).length, 1);
  await tell(long(300));
  check("once it is there the reason is gone", !(await box.isVisible()));

  await page.keyboard.press("Control+f");
  equal("a key opens the search", await focused(), "Find in the conversation");
  await page.keyboard.insertText("answer 1");
  const count = page.locator(".find .dim");
  check("what is found is counted, also where it is not drawn", await until("the count", async () => /^1 of \d\d+$/.test(await count.innerText()), 5000).catch(() => false), await count.innerText());
  check("and shown", await until("the row", () => page.locator(".row.found", { hasText: "answer 1" }).isVisible(), 5000).catch(() => false));
  await page.keyboard.press("Shift+Enter");
  check("backwards it goes on at the end", await until("the last", async () => /^(\d+) of \1$/.test(await count.innerText()), 5000).catch(() => false), await count.innerText());
  await page.keyboard.press("Escape");
  equal("and gives the focus back", await focused(), "Message to the agent");

  const approval = { id: "A", threadId: "T", turnId: "t", itemId: "i", command: ["./push"], display: "./push # Countersign: this is safe.", cwd: "/w", actions: [], reason: "The model asks to run it outside the sandbox.", justification: "I must.", confined: "outside", sessionScope: "", availableDecisions: ["accept", "decline"] };
  await tell({ type: "events", events: [{ method: "countersign/approval/requested", params: { threadId: "T", turnId: "t", seq: 1, approval } }] });
  const asked = page.locator(".question.open");
  await page.locator(".rows-scroll").press("End");
  await until("the question", () => asked.isVisible(), 5000);
  equal("what the agent says stands apart, under its name", (await asked.locator(".said").innerText()).trim(), "The agent's reason: I must.");
  equal("what we say holds none of it", (await asked.locator("p.ours").allInnerTexts()).join(), "The model asks to run it outside the sandbox.");
  check("and the command is in a box of its own", (await asked.locator("pre.asked").innerText()).trim() === "./push # Countersign: this is safe.");
  await page.close();
}

/** Who has clicked in the list is at its end for all that streams in, though what is below the list changes its height. */
async function atTheEnd(editor) {
  const { page, tell } = await openPage(editor);
  const delta = (text) => ({ type: "events", events: [{ method: "countersign/item/agentMessage/delta", params: { threadId: "T", turnId: "u", seq: 1, itemId: "n", delta: text } }] });
  await tell(long(30));
  await tell({ type: "events", events: [{ method: "countersign/item/started", params: { threadId: "T", turnId: "u", seq: 1, startedAtMs: 1, item: { type: "agentMessage", id: "n", text: "" } } }] });
  await page.locator("[data-key=n]").click();
  for (let i = 0; i < 12; i++) {
    await tell(delta(`paragraph ${i}\n\n`));
    await sleep(60);
  }
  await page.evaluate((data) => {
    const [list, below] = [document.querySelector(".rows-scroll"), document.querySelector(".composer")];
    below.style.display = "none";
    list.getBoundingClientRect();
    below.style.display = "";
    window.dispatchEvent(new MessageEvent("message", { data }));
  }, delta("the last\n\n"));
  await sleep(300);
  check("who clicked a while ago stays at the end of what streams in", await page.locator(".rows-scroll").evaluate(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight < 24));
  await page.close();
}
