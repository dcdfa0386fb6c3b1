// Test only. Stands for another language's linter: reports the undefined name in cart.py. And writes down what the editor
// holds and shows after each change, since the page shows only the visible lines, and those out of order.
const vscode = require("vscode");
const fs = require("fs");
const path = require("path");

exports.activate = (context) => {
  const linter = vscode.languages.createDiagnosticCollection("another-linter");
  context.subscriptions.push(linter);

  const lint = (document) => {
    if (document.uri.scheme !== "file" || !document.fileName.endsWith(".py")) return;
    const at = document.getText().indexOf("return totl");
    if (at < 0) {
      linter.delete(document.uri);
      return;
    }
    const start = document.positionAt(at + "return ".length);
    const problem = new vscode.Diagnostic(new vscode.Range(start, start.translate(0, 4)), "undefined name 'totl'", vscode.DiagnosticSeverity.Error);
    problem.source = "another-linter";
    problem.code = "F821";
    linter.set(document.uri, [problem]);
  };

  const record = () => {
    const documents = {};
    for (const document of vscode.workspace.textDocuments) {
      if (document.uri.scheme === "file") {
        const hints = vscode.languages.getDiagnostics(document.uri).filter((one) => one.source === "countersign");
        documents[path.basename(document.fileName)] = { text: document.getText(), dirty: document.isDirty, hints: hints.map((one) => one.message) };
      }
    }
    const file = process.env.JOURNEY_DOCUMENTS;
    const editor = vscode.window.activeTextEditor;
    const active = editor && { name: path.basename(editor.document.fileName), line: editor.selection.active.line + 1 };
    fs.writeFileSync(file + ".new", JSON.stringify({ documents, active }));
    fs.renameSync(file + ".new", file);
  };

  const changed = (document) => {
    lint(document);
    record();
  };
  context.subscriptions.push(
    vscode.workspace.onDidOpenTextDocument(changed),
    vscode.workspace.onDidChangeTextDocument((event) => changed(event.document)),
    vscode.workspace.onDidSaveTextDocument(changed),
    vscode.workspace.onDidCloseTextDocument(record),
    vscode.window.onDidChangeActiveTextEditor(record),
    vscode.window.onDidChangeTextEditorSelection(record),
    vscode.languages.onDidChangeDiagnostics(record),
  );
  for (const [name, theme] of Object.entries({ light: "Default Light Modern", dark: "Default Dark Modern", contrast: "Default High Contrast" })) {
    context.subscriptions.push(vscode.commands.registerCommand(`witness.theme.${name}`, () => vscode.workspace.getConfiguration("workbench").update("colorTheme", theme, true)));
  }
  vscode.workspace.textDocuments.forEach(lint);
  record();
};
