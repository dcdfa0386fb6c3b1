// Test only. Stands for another language's server: reports the undefined name in cart.py, and knows the names of Python files. And
// writes down what the editor holds and shows after each change, since the page shows only the visible lines, and those out of order.
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

  // How often somebody has asked for code actions of one kind alone, as hooks on save do.
  let hooked = 0;
  context.subscriptions.push(vscode.languages.registerCodeActionsProvider({ scheme: "file" }, {
    provideCodeActions: (_document, _range, { only }) => {
      if (only !== undefined) {
        hooked += 1;
        record();
      }
      return [];
    },
  }));

  const record = () => {
    const documents = {};
    for (const document of vscode.workspace.textDocuments) {
      if (document.uri.scheme === "file") {
        const hints = vscode.languages.getDiagnostics(document.uri).filter((one) => one.source === "countersign");
        const problems = vscode.languages.getDiagnostics(document.uri).map((one) => ({ text: one.message, line: one.range.start.line + 1, severity: one.severity, source: one.source }));
        documents[path.basename(document.fileName)] = { text: document.getText(), dirty: document.isDirty, hints: hints.map((one) => one.message), problems };
      }
    }
    const file = process.env.JOURNEY_DOCUMENTS;
    const editor = vscode.window.activeTextEditor;
    const active = editor && { name: path.basename(editor.document.fileName), line: editor.selection.active.line + 1 };
    fs.writeFileSync(file + ".new", JSON.stringify({ documents, active, hooked }));
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
  context.subscriptions.push(vscode.commands.registerCommand("witness.saveAlways", () => vscode.workspace.getConfiguration("countersign").update("proposals.save", "always", true)));
  context.subscriptions.push(vscode.workspace.registerFileSystemProvider("loft", loft(), { isCaseSensitive: true }));
  context.subscriptions.push(vscode.commands.registerCommand("witness.addProject", () => vscode.workspace.updateWorkspaceFolders(vscode.workspace.workspaceFolders.length, 0, { uri: vscode.Uri.file(process.env.JOURNEY_PROJECT) })));
  context.subscriptions.push(vscode.commands.registerCommand("witness.removeProject", () => vscode.workspace.updateWorkspaceFolders(vscode.workspace.workspaceFolders.length - 1, 1)));
  context.subscriptions.push(...languageServer());
  vscode.workspace.textDocuments.forEach(lint);
  record();
};

/** A file system that is on no disk, as that of a repository which is only looked at: one file in one folder. */
function loft() {
  const text = Buffer.from("Up here is nothing that a command could see.\n");
  const stat = (uri) => {
    if (uri.path === "/attic") return { type: vscode.FileType.Directory, ctime: 0, mtime: 0, size: 0 };
    if (uri.path === "/attic/letter.txt") return { type: vscode.FileType.File, ctime: 0, mtime: 0, size: text.length };
    throw vscode.FileSystemError.FileNotFound(uri);
  };
  const refuse = (uri) => { throw vscode.FileSystemError.NoPermissions(uri); };
  return {
    onDidChangeFile: new vscode.EventEmitter().event,
    watch: () => new vscode.Disposable(() => undefined),
    stat,
    readDirectory: (uri) => (uri.path === "/attic" ? [["letter.txt", vscode.FileType.File]] : refuse(uri)),
    readFile: (uri) => (stat(uri).type === vscode.FileType.File ? text : refuse(uri)),
    createDirectory: refuse,
    writeFile: refuse,
    delete: refuse,
    rename: refuse,
  };
}

/** What a language server for Python would tell, by the words alone. The name "slow" is never answered for. */
function languageServer() {
  const selector = { language: "python", scheme: "file" };
  const files = async () => Promise.all((await vscode.workspace.findFiles("**/*.py")).sort((a, b) => (a.path < b.path ? -1 : 1)).map((uri) => vscode.workspace.openTextDocument(uri)));
  const places = (document, pattern) => [...document.getText().matchAll(pattern)].map((found) => {
    const start = document.positionAt(found.index + (found[0].length - found[1].length));
    return { name: found[1], range: new vscode.Range(start, start.translate(0, found[1].length)) };
  });
  const defined = (document) => places(document, /^(?:def |class |)([A-Za-z_]\w*)(?=\(| = |:)/gm);
  const wordAt = (document, position) => document.getText(document.getWordRangeAtPosition(position));
  const uses = async (word) => (await files()).flatMap((document) => places(document, new RegExp(`\\b(${word})\\b`, "g")).map(({ range }) => new vscode.Location(document.uri, range)));
  const definitions = async (word) => (await files()).flatMap((document) => defined(document).filter(({ name }) => name === word).map(({ range }) => new vscode.Location(document.uri, range)));
  const symbols = (document) => defined(document).map(({ name, range }) => new vscode.SymbolInformation(name, vscode.SymbolKind.Function, "", new vscode.Location(document.uri, range)));
  return [
    vscode.languages.registerDefinitionProvider(selector, { provideDefinition: async (document, position) => definitions(wordAt(document, position)) }),
    vscode.languages.registerReferenceProvider(selector, { provideReferences: async (document, position) => uses(wordAt(document, position)) }),
    vscode.languages.registerHoverProvider(selector, { provideHover: async (document, position) => {
      const word = wordAt(document, position);
      if (word === "slow") {
        fs.writeFileSync(`${process.env.JOURNEY_DOCUMENTS}.slow`, "");
        return new Promise(() => undefined);
      }
      const [found] = await definitions(word);
      return found && new vscode.Hover(`${word}: ${(await vscode.workspace.openTextDocument(found.uri)).lineAt(found.range.start.line).text}`);
    } }),
    vscode.languages.registerDocumentSymbolProvider(selector, { provideDocumentSymbols: symbols }),
    vscode.languages.registerWorkspaceSymbolProvider({ provideWorkspaceSymbols: async (query) => (await files()).flatMap(symbols).filter(({ name }) => name.includes(query)) }),
    vscode.languages.registerRenameProvider(selector, { provideRenameEdits: async (document, position, name) => {
      const edit = new vscode.WorkspaceEdit();
      for (const { uri, range } of await uses(wordAt(document, position))) edit.replace(uri, range, name);
      return edit;
    } }),
  ];
}
