//! The language server: what it can do and what it answers, side by side. The rest of this room is the wiring:
//! transport, life cycle, everything that is sent.

pub(crate) mod call;
pub(crate) mod frame;
pub mod log;
pub(crate) mod message;
pub mod outbound;
pub(crate) mod parent;
pub mod run;
pub mod stop;
pub mod transport;
pub mod wire;

pub use call::after_reply;

use crate::handlers::{Context, command, document, session};
use crate::lsp::error::RequestError;
use lsp_types::*;
use serde_json::{Value, json};
use std::sync::Arc;
use tower_lsp::jsonrpc::Result;
use tower_lsp::{ClientSocket, LanguageServer, LspService};

pub const NAME: &str = "countersign";
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Rises when the custom protocol changes in a way that older plugins cannot follow.
pub const PROTOCOL_VERSION: u32 = 1;

/// What `initialize` announces.
pub(crate) fn capabilities(position_encoding: PositionEncodingKind) -> ServerCapabilities {
    ServerCapabilities {
        position_encoding: Some(position_encoding),
        text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::INCREMENTAL),
            save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions {
                include_text: Some(false),
            })),
            ..Default::default()
        })),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: command::names(),
            ..Default::default()
        }),
        workspace: Some(WorkspaceServerCapabilities {
            workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                supported: Some(true),
                change_notifications: Some(OneOf::Left(true)),
            }),
            file_operations: None,
        }),
        experimental: Some(json!({ "countersign": { "version": PROTOCOL_VERSION } })),
        ..Default::default()
    }
}

/// The method table. `initialize`, `exit` and `$/cancelRequest` have their rules in the transport.
#[tower_lsp::async_trait]
impl LanguageServer for Server {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        Ok(session::initialize(&self.0, params)?)
    }

    async fn initialized(&self, _: InitializedParams) {
        self.note(session::initialized);
    }

    async fn shutdown(&self) -> Result<()> {
        session::shutdown(&self.0).await;
        Ok(())
    }

    async fn did_open(&self, params: DidOpenTextDocumentParams) {
        self.note(|context| document::opened(context, params));
    }

    async fn did_change(&self, params: DidChangeTextDocumentParams) {
        self.note(|context| document::changed(context, params));
    }

    async fn did_save(&self, params: DidSaveTextDocumentParams) {
        self.note(|context| document::saved(context, params));
    }

    async fn did_close(&self, params: DidCloseTextDocumentParams) {
        self.note(|context| document::closed(context, params));
    }

    async fn did_change_workspace_folders(&self, params: DidChangeWorkspaceFoldersParams) {
        self.note(|context| session::folders_changed(context, params));
    }

    async fn execute_command(&self, params: ExecuteCommandParams) -> Result<Option<Value>> {
        Ok(command::execute(&self.0, params)?)
    }
}

/// Notifications with a handler: should one not reach it, the person may have to know.
const NOTIFICATIONS: &[&str] = &[
    "initialized",
    "textDocument/didOpen",
    "textDocument/didChange",
    "textDocument/didSave",
    "textDocument/didClose",
    "workspace/didChangeWorkspaceFolders",
];

/// The custom methods.
pub(crate) fn service(context: Arc<Context>) -> (LspService<Server>, ClientSocket) {
    LspService::build(|_| Server(context)).finish()
}

/// Answers what the client sends.
pub struct Server(Arc<Context>);

impl Server {
    /// Runs the handler of a notification, at once and to its end.
    fn note(&self, handler: impl FnOnce(&Context)) {
        call::reached();
        handler(&self.0);
    }
}

/// A notification could not be handed over: its parameters are wrong, or its handler failed.
pub(crate) fn lost(context: &Context, method: &str, document: Option<&str>) {
    if !NOTIFICATIONS.contains(&method) {
        return tracing::debug!(method, "a notification without a handler was ignored");
    }
    let about = document.unwrap_or("the session");
    tracing::warn!(method, about, "the parameters of a notification were not understood");
    let message = format!(
        "Countersign did not understand {method} from the editor for {about}, so it may see another text than you. \
         Close the document and open it again."
    );
    context.show_once(&format!("{method} {about}"), MessageType::WARNING, message);
}

/// So that handlers can use `?` on what returns our own errors.
const _: fn(RequestError) -> tower_lsp::jsonrpc::Error = tower_lsp::jsonrpc::Error::from;
