// The extension without a server: it says so, says what to do, and its commands work all the same. Run by tests/editors/run.
import { check, finish } from "../checks.mjs";
import { until } from "../stage.mjs";
import { openWorkbench, startServer } from "./workbench.mjs";

let workbench;
try {
  const server = await startServer({ "countersign.server.path": "/nowhere/countersign" });
  workbench = await openWorkbench(server.address);
  const told = await until("the message", () => workbench.message("Open Setting"), 60000);
  await workbench.shot("told");
  check("it says what is missing", told.text.includes("/nowhere/countersign"), told);
  check("it says what to do", told.text.includes("countersign.server.path"), told);
  const status = await until("the status bar", async () => (await workbench.status()).find((item) => item.startsWith("Countersign")));
  check("the status bar shows it", status.includes("/nowhere/countersign"), status);
  await told.press();
  await until("the setting", async () => (await workbench.page.locator(".settings-editor").innerText()).includes("Server: Path"));
  check("the button leads to the setting", true);
  await workbench.shot("setting");
  // The settings lie over the workbench; the palette opens once they are closed.
  await until("the settings to close", async () => {
    await workbench.page.keyboard.press("Escape");
    return !(await workbench.page.locator(".settings-editor").isVisible());
  });
  await workbench.command("Countersign: Restart Server");
  check("a restart tries and tells again", await until("the second message", () => workbench.message("Open Setting")));
  await workbench.close();
  server.stop();
} catch (error) {
  check("the journey comes to its end", false, error instanceof Error ? error.message : String(error));
  await workbench?.shot("failure").catch(() => undefined);
  await workbench?.close().catch(() => undefined);
}
finish();
