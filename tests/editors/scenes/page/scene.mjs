// The page of the chat by itself, which says what it asks of the extension: nothing takes the focus from where the person is, a command
// that asks can be read to its end, what was not sent comes back, and a page of the web counts as agreed to only once it is open.
import { check, equal } from "../../checks.mjs";
import { until } from "../../stage.mjs";
import { conversation, openPage } from "../../vscode-chat/page.mjs";

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
  await tell({ type: "events", events: [{ method: "countersign/approval/requested", params: { threadId: "T", turnId: "t", seq: 1, approval: { id: "A", threadId: "T", turnId: "t", itemId: "i", command: ["bash", "-c", command], cwd: "/w", confined: "outside", reason: "why", availableDecisions: ["accept", "decline"], actions: [], sessionScope: "" } } }] });
  const box = page.locator(".question.open .terminal");
  await until("the question", () => box.isVisible());
  check("all of a command is there to be read", (await box.innerText()).trimEnd().endsWith("rm -rf \"$HOME\"/\\u{202e}txt.x"), await box.innerText());
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

  await tell({ type: "events", events: [{ method: "countersign/mcp/elicitationRequested", params: { threadId: "T", turnId: "t", seq: 2, elicitation: { id: "E", threadId: "T", turnId: "t", itemId: "i", server: "s", requestId: 1, message: "Log in", mode: "url", url: "https://example.org/", elicitationId: "e" } } }] });
  await page.locator(".question.open button", { hasText: "Open link" }).click();
  equal("a page of the web is asked to be opened", (await posted("openElicitation")).length, 1);
  equal("and nothing is answered before it is", (await posted("answerElicitation")).length, 0);
  await page.close();
}
