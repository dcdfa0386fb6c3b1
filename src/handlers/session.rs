//! The life of the session: `initialize`, `initialized`, `shutdown`, folders.

use crate::handlers::Context;
use crate::lsp::client::Client;
use crate::lsp::convert;
use crate::lsp::error::RequestError;
use crate::server;
use crate::server::parent;
use crate::workspace::uri;
use lsp_types::{
    DidChangeWorkspaceFoldersParams, InitializeParams, InitializeResult, MessageType, ServerInfo, WorkspaceFolder,
};
use std::path::PathBuf;

/// Learns who the client is. The whole of its parameters is in `initialization_options`, see the transport.
pub fn initialize(context: &Context, params: InitializeParams) -> Result<InitializeResult, RequestError> {
    let client = Client::read(&params.initialization_options.unwrap_or_default());
    context.workspace.set_encoding(client.encoding);
    context.workspace.set_roots(client.roots.clone());
    if let Some(pid) = client.process_id {
        parent::watch(pid, context.stop.clone());
    }
    tracing::info!(
        client = client.name,
        version = client.version,
        plugin = client.can.plugin,
        "initialize"
    );
    let capabilities = server::capabilities(convert::to_encoding_kind(client.encoding));
    if context.client.set(client).is_err() {
        return Err(RequestError::Internal(
            "initialize reached its handler twice".to_owned(),
        ));
    }
    let server_info = ServerInfo {
        name: server::NAME.to_owned(),
        version: Some(server::VERSION.to_owned()),
    };
    Ok(InitializeResult {
        capabilities,
        server_info: Some(server_info),
    })
}

pub fn initialized(context: &Context) {
    if let Some(trouble) = &context.setup.log_trouble {
        context.log(MessageType::WARNING, trouble.clone());
    }
}

/// Ends everything that runs, in order, then answers. `exit` follows.
pub async fn shutdown(context: &Context) {
    context.teardown.run().await;
}

pub fn folders_changed(context: &Context, params: DidChangeWorkspaceFoldersParams) {
    let removed = paths(&params.event.removed);
    let mut roots = context.workspace.roots();
    roots.retain(|root| !removed.contains(root));
    roots.extend(paths(&params.event.added));
    context.workspace.set_roots(roots);
}

fn paths(folders: &[WorkspaceFolder]) -> Vec<PathBuf> {
    let path = |folder: &WorkspaceFolder| match uri::to_path(folder.uri.as_str()) {
        Ok(path) => path,
        Err(error) => {
            tracing::warn!(%error, "a folder of the workspace was left out");
            None
        }
    };
    folders.iter().filter_map(path).collect()
}
