// The extension without a server: it says so, says what to do, and its commands work all the same. Run by tests/editors/run.
import path from "node:path";
import { check, finish } from "./checks.mjs";
import { openWorkbench, startServer, until } from "./workbench.mjs";

const { JOURNEY_REPOSITORY: repository, JOURNEY_PROJECT: project, JOURNEY_OUT: out, JOURNEY_STATE: state, COUNTERSIGN_EDITORS: editors } = process.env;

let workbench;
try {
  const server = await startServer({
    editors, state, out, project,
    vsix: process.env.JOURNEY_VSIX,
    unpacked: path.join(repository, "tests", "editors", "vscode", "witness"),
    env: { JOURNEY_DOCUMENTS: path.join(state, "documents.json") },
    machineSettings: { "countersign.server.path": "/nowhere/countersign" },
  });
  workbench = await openWorkbench({ editors, state, out, project, address: server.address });
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
