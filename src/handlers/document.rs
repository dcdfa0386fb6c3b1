//! Open text: handed to the workspace in the order in which the editor sends it.

use crate::handlers::Context;
use crate::lsp::convert;
use crate::workspace::uri;
use lsp_types::{
    DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams, DidSaveTextDocumentParams,
    MessageType,
};

pub fn opened(context: &Context, params: DidOpenTextDocumentParams) {
    let document = params.text_document;
    let path = uri::to_path(document.uri.as_str()).unwrap_or_else(|error| {
        context.log(
            MessageType::WARNING,
            format!("{error}. The document is kept, without a file."),
        );
        None
    });
    if context.workspace.document_by_uri(document.uri.as_str()).is_some() {
        tracing::warn!(uri = %document.uri, "opened twice; the newer text is used");
    }
    context.workspace.open(
        document.uri.as_str(),
        path,
        &document.language_id,
        document.version,
        &document.text,
    );
}

pub fn changed(context: &Context, params: DidChangeTextDocumentParams) {
    let document = params.text_document;
    let edits: Vec<_> = params.content_changes.into_iter().map(convert::edit).collect();
    match context.workspace.edit(document.uri.as_str(), document.version, &edits) {
        Ok(edited) if !edited.in_order() => {
            tracing::warn!(uri = %document.uri, ?edited, "a change came with a version that does not rise");
        }
        Ok(_) => {}
        Err(error) => {
            tracing::warn!(%error, "a change was not taken");
            context.show_once(
                document.uri.as_str(),
                MessageType::WARNING,
                format!("Countersign cannot follow a document: {error}."),
            );
        }
    }
}

pub fn saved(context: &Context, params: DidSaveTextDocumentParams) {
    if !context.workspace.saved(params.text_document.uri.as_str()) {
        tracing::warn!(uri = %params.text_document.uri, "saved, but not open");
    }
}

pub fn closed(context: &Context, params: DidCloseTextDocumentParams) {
    if !context.workspace.close(params.text_document.uri.as_str()) {
        tracing::warn!(uri = %params.text_document.uri, "closed, but not open");
    }
}
