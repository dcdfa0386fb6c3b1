//! What the client says of itself in `initialize`, and what that means for us.
//!
//! Read leniently from the JSON: clients are newer than any types, and one odd field must not cost the rest. The
//! judgements here were checked against what real editors do, not only what they announce.

use crate::protocol::tool::DynamicToolSpec;
use crate::workspace::{Encoding, uri};
use serde_json::Value;
use std::path::PathBuf;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Client {
    /// As it calls itself; empty if it does not say.
    pub name: String,
    pub version: Option<String>,
    /// Columns, as agreed: the first of the client's encodings that we know.
    pub encoding: Encoding,
    pub process_id: Option<u32>,
    /// The folders of the workspace; empty where only files are open.
    pub roots: Vec<PathBuf>,
    /// Settings of the person, in the client's configuration.
    pub initialization_options: Value,
    /// Tools of the client's for threads that it does not start itself: those of commands and of chat documents. It says them as
    /// `capabilities.experimental.countersign.tools`, in the form of `thread/start`.
    pub tools: Vec<DynamicToolSpec>,
    pub can: Abilities,
}

/// What the client can do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// Our plugin: it speaks the custom protocol and shows threads, proposals and approvals itself.
    pub plugin: bool,
    /// Our plugin, which shows proposals itself too. A person may have it leave them to the editor's own preview.
    pub reviews_proposals: bool,
    /// Takes `workspace/applyEdit`.
    pub apply_edit: bool,
    /// Takes versioned edits. Neovim does but does not say so; its resource operations tell.
    pub document_changes: bool,
    pub create_files: bool,
    pub rename_files: bool,
    pub delete_files: bool,
    /// Takes change annotations in edits.
    pub change_annotations: bool,
    /// Really asks the person where an annotation says `needsConfirmation`. Others announce annotations and apply
    /// such edits unasked.
    pub honours_confirmation: bool,
    /// Takes `metadata.isRefactoring` in `workspace/applyEdit`; VS Code then saves what the edit touched.
    pub edit_metadata: bool,
    pub show_document: bool,
    /// Is known to show questions (`window/showMessageRequest`) aside, where nothing typed can answer. All others are taken
    /// to show them where keys go: in a popup, in a prompt line.
    pub questions_aside: bool,
    /// Shows few lines of a question: Emacs in its minibuffer, a quarter of the frame; Helix in a popup, and ends (25.07)
    /// where that is higher than its window. Neovim scrolls, VS Code shows a box that does.
    pub questions_low: bool,
    /// Shows diagnostics that a server sends.
    pub diagnostics: bool,
    pub work_done_progress: bool,
    /// Answers `workspace/configuration`.
    pub configuration: bool,
    /// Code actions as objects, not only as commands.
    pub code_action_literals: bool,
    pub code_action_disabled: bool,
    pub code_action_preferred: bool,
    pub code_lens_refresh: bool,
    /// Watches files if asked to by `client/registerCapability`.
    pub watched_files: bool,
    /// What of a chat document and of a file of configuration it takes by `client/registerCapability`, so that it asks for it nowhere else.
    pub registers: Registers,
}

/// Features that are registered for some documents only, as methods of LSP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registers(Vec<&'static str>);

impl Registers {
    /// Those of chat documents and of files of configuration.
    pub const ALL: [&'static str; 5] = [
        "textDocument/completion",
        "textDocument/hover",
        "textDocument/foldingRange",
        "textDocument/documentSymbol",
        "textDocument/documentLink",
    ];

    pub fn has(&self, method: &str) -> bool {
        self.0.contains(&method)
    }

    pub fn all(&self) -> &[&'static str] {
        &self.0
    }
}

impl Client {
    /// Reads the parameters of `initialize`.
    pub fn read(params: &Value) -> Self {
        let text = |pointer: &str| params.pointer(pointer).and_then(Value::as_str);
        let name = text("/clientInfo/name").unwrap_or_default().to_owned();
        Self {
            encoding: encoding(params),
            process_id: params
                .get("processId")
                .and_then(Value::as_u64)
                .and_then(|id| u32::try_from(id).ok()),
            roots: roots(params),
            initialization_options: params.get("initializationOptions").cloned().unwrap_or_default(),
            tools: tools(params.pointer("/capabilities/experimental/countersign/tools")),
            can: Abilities::read(&name, params.get("capabilities").unwrap_or(&Value::Null)),
            version: text("/clientInfo/version").map(str::to_owned),
            name,
        }
    }
}

impl Abilities {
    /// Lines of a question that the person sees at once, at about 80 characters each.
    pub fn question_lines(&self) -> usize {
        if self.questions_low { 16 } else { 60 }
    }

    fn read(name: &str, capabilities: &Value) -> Self {
        let at = |pointer: &str| capabilities.pointer(pointer).filter(|value| !value.is_null());
        let yes = |pointer: &str| at(pointer).and_then(Value::as_bool).unwrap_or(false);
        let there = |pointer: &str| at(pointer).is_some_and(|value| *value != Value::Bool(false));
        let operations = at("/workspace/workspaceEdit/resourceOperations").and_then(Value::as_array);
        let operation = |kind: &str| operations.is_some_and(|all| all.iter().any(|one| one == kind));
        let change_annotations = there("/workspace/workspaceEdit/changeAnnotationSupport");
        Self {
            plugin: there("/experimental/countersign"),
            reviews_proposals: there("/experimental/countersign")
                && at("/experimental/countersign/proposals").is_none_or(|means| means != "preview"),
            apply_edit: yes("/workspace/applyEdit"),
            document_changes: yes("/workspace/workspaceEdit/documentChanges") || operations.is_some(),
            create_files: operation("create"),
            rename_files: operation("rename"),
            delete_files: operation("delete"),
            change_annotations,
            honours_confirmation: change_annotations && is_vscode(name),
            edit_metadata: yes("/workspace/workspaceEdit/metadataSupport"),
            show_document: yes("/window/showDocument/support"),
            questions_aside: is_vscode(name),
            questions_low: is_low(name),
            diagnostics: there("/textDocument/publishDiagnostics"),
            work_done_progress: yes("/window/workDoneProgress"),
            configuration: yes("/workspace/configuration"),
            code_action_literals: there("/textDocument/codeAction/codeActionLiteralSupport"),
            code_action_disabled: yes("/textDocument/codeAction/disabledSupport"),
            code_action_preferred: yes("/textDocument/codeAction/isPreferredSupport"),
            code_lens_refresh: yes("/workspace/codeLens/refreshSupport"),
            watched_files: yes("/workspace/didChangeWatchedFiles/dynamicRegistration"),
            registers: Registers(
                Registers::ALL
                    .into_iter()
                    .filter(|method| yes(&format!("/{method}/dynamicRegistration")))
                    .collect(),
            ),
        }
    }
}

/// Those that can be read; one that cannot costs no other.
fn tools(given: Option<&Value>) -> Vec<DynamicToolSpec> {
    let given = given.and_then(Value::as_array).into_iter().flatten();
    let read = given.map(|one| serde_json::from_value(one.clone()));
    read.filter_map(|one: Result<_, _>| {
        one.inspect_err(|error| tracing::warn!(%error, "a tool of the client's is not understood"))
            .ok()
    })
    .collect()
}

/// VS Code and the editors made from it: they alone preview an edit that wants to be confirmed.
fn is_vscode(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["visual studio code", "code - oss", "code-server", "vscode", "vscodium"]
        .iter()
        .any(|part| name.contains(part))
        || ["cursor", "windsurf", "positron"].contains(&name.as_str())
}

fn is_low(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["emacs", "eglot", "lsp-mode", "helix"]
        .iter()
        .any(|part| name.contains(part))
}

/// The first that the client prefers and we know; all clients know UTF-16.
fn encoding(params: &Value) -> Encoding {
    let offered = params
        .pointer("/capabilities/general/positionEncodings")
        .and_then(Value::as_array);
    offered
        .into_iter()
        .flatten()
        .find_map(|kind| match kind.as_str()? {
            "utf-8" => Some(Encoding::Utf8),
            "utf-16" => Some(Encoding::Utf16),
            "utf-32" => Some(Encoding::Utf32),
            _ => None,
        })
        .unwrap_or_default()
}

/// `workspaceFolders`, else the older `rootUri`, else the oldest `rootPath`. Helix sends an empty list of folders
/// beside the path that it means.
fn roots(params: &Value) -> Vec<PathBuf> {
    let folders = params.get("workspaceFolders").and_then(Value::as_array);
    let folders: Vec<PathBuf> = folders
        .into_iter()
        .flatten()
        .filter_map(|folder| path(folder.get("uri")?.as_str()?))
        .collect();
    if !folders.is_empty() {
        return folders;
    }
    let text = |key: &str| params.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let root = text("rootUri").and_then(path);
    let root = root.or_else(|| text("rootPath").map(PathBuf::from).filter(|path| path.is_absolute()));
    root.into_iter().collect()
}

fn path(uri: &str) -> Option<PathBuf> {
    uri::to_path(uri).unwrap_or_else(|error| {
        tracing::warn!(%error, "a folder of the workspace was left out");
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn recorded(name: &str) -> Client {
        let path = format!("{}/tests/it/fixtures/caps/{name}.json", env!("CARGO_MANIFEST_DIR"));
        Client::read(&serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap())
    }

    #[test]
    fn real_editors_are_judged_by_what_they_do() {
        use Encoding::{Utf8, Utf16, Utf32};
        // name, encoding, apply edit, document changes, create files, annotations, confirmation
        for (name, encoding, apply, versions, create, annotations, confirmation) in [
            ("ale-4.0.0", Utf16, false, false, false, false, false),
            ("eglot-1.17.30", Utf32, true, true, false, false, false),
            ("helix-25.01.1", Utf8, true, true, true, false, false),
            ("helix-25.07.1", Utf8, true, true, true, false, false),
            ("kakoune-lsp-22.0.0", Utf8, true, true, true, true, false),
            ("lsp-mode-10.0.0", Utf32, true, true, true, false, false),
            ("nvim-0.10.4", Utf16, true, true, true, false, false),
            ("nvim-0.12.4", Utf8, true, true, true, true, false),
            ("vscode-1.139-lc11", Utf16, true, true, true, true, true),
            ("vscode-lc9", Utf16, true, true, true, true, true),
        ] {
            let client = recorded(name);
            let can = &client.can;
            assert_eq!(client.encoding, encoding, "{name}");
            assert_eq!(
                (
                    can.apply_edit,
                    can.document_changes,
                    can.create_files,
                    can.change_annotations
                ),
                (apply, versions, create, annotations),
                "{name}"
            );
            assert_eq!(can.honours_confirmation, confirmation, "{name}");
            assert!(!can.plugin, "{name}");
            assert_eq!(client.roots.len(), 1, "{name}");
            assert!(client.process_id.is_some(), "{name}");
        }
        assert!(recorded("vscode-1.139-lc11").can.edit_metadata);
        assert!(!recorded("vscode-lc9").can.edit_metadata);
        assert!(!recorded("kakoune-lsp-22.0.0").can.show_document);
        assert!(!recorded("ale-4.0.0").can.work_done_progress);
        for name in [
            "helix-25.07.1",
            "nvim-0.12.4",
            "eglot-1.17.30",
            "kakoune-lsp-22.0.0",
            "ale-4.0.0",
        ] {
            assert!(!recorded(name).can.questions_aside, "{name}");
        }
        assert!(recorded("vscode-lc9").can.questions_aside);
    }

    #[test]
    fn odd_fields_cost_nothing_but_themselves() {
        let bare = Client::read(&json!({}));
        assert_eq!(bare, Client::default());
        for params in [
            json!(null),
            json!([]),
            json!({"capabilities": 5, "processId": null, "rootUri": null}),
        ] {
            assert_eq!(Client::read(&params), Client::default(), "{params}");
        }
        let odd = Client::read(&json!({
            "processId": -3,
            "clientInfo": "me",
            "rootUri": "",
            "rootPath": "relative",
            "workspaceFolders": [{"uri": 7}, {"uri": "untitled:x"}, {"uri": "file:///a%ff"}, {"uri": "file:///w/x/.."}],
            "capabilities": {
                "general": {"positionEncodings": ["utf-7", 3, "utf-32", "utf-8"]},
                "workspace": {"applyEdit": "yes", "workspaceEdit": {"changeAnnotationSupport": false}},
                "experimental": {"countersign": {"version": 1}},
            },
        }));
        assert_eq!(odd.encoding, Encoding::Utf32);
        assert_eq!(odd.roots, [PathBuf::from("/w")]);
        assert!(odd.can.plugin && !odd.can.apply_edit && !odd.can.change_annotations);
        assert_eq!(odd.process_id, None);
        let tools = json!({"tools": [{"name": "look", "inputSchema": {"type": "object"}}, 7, {"name": 3}]});
        let able = json!({"capabilities": {"experimental": {"countersign": tools}}});
        let names: Vec<String> = Client::read(&able).tools.into_iter().map(|tool| tool.name).collect();
        assert_eq!(names, ["look"]);
        for (experimental, plugin, reviews) in [
            (json!(true), true, true),
            (json!({}), true, true),
            (json!({"proposals": 7}), true, true),
            (json!({"proposals": "preview"}), true, false),
            (json!(false), false, false),
            (json!(null), false, false),
        ] {
            let params = json!({"capabilities": {"experimental": {"countersign": experimental}}});
            let can = Client::read(&params).can;
            assert_eq!((can.plugin, can.reviews_proposals), (plugin, reviews), "{params}");
        }
    }
}
