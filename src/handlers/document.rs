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
    if let Ok(session) = context.session()
        && let Some(document) = context.workspace.document_by_uri(document.uri.as_str())
    {
        session.chats().opened(session, &document);
        session.presenter().document_opened(document.path());
    }
}

pub fn changed(context: &Context, params: DidChangeTextDocumentParams) {
    if let Ok(session) = context.session() {
        session.idle().typed();
    }
    let document = params.text_document;
    let edits: Vec<_> = params.content_changes.into_iter().map(convert::edit).collect();
    match context.workspace.edit(document.uri.as_str(), document.version, &edits) {
        Ok(edited) => {
            if !edited.in_order() {
                tracing::warn!(uri = %document.uri, ?edited, "a change came with a version that does not rise");
            }
            if let Ok(session) = context.session() {
                session.chats().changed(document.uri.as_str());
            }
        }
        Err(error) => {
            tracing::warn!(%error, "a change was not taken");
            let uri = document.uri.as_str();
            // Neovim tells of the first change of a file that was renamed before it opens it, with all of its text.
            if !context.is_news(&format!("a change of {uri}")) {
                let message = format!("Countersign cannot follow a document: {error}.");
                context.show_once(uri, MessageType::WARNING, message);
            }
        }
    }
}

pub fn saved(context: &Context, params: DidSaveTextDocumentParams) {
    if let Ok(session) = context.session()
        && let Some(document) = context.workspace.document_by_uri(params.text_document.uri.as_str())
    {
        session.chats().saved(&document);
    }
    if !context.workspace.saved(params.text_document.uri.as_str()) {
        // VS Code tells of a save after it has closed the document.
        tracing::debug!(uri = %params.text_document.uri, "saved, but not open");
    }
}

pub fn closed(context: &Context, params: DidCloseTextDocumentParams) {
    if let Ok(session) = context.session() {
        session.chats().closed(params.text_document.uri.as_str());
    }
    if !context.workspace.close(params.text_document.uri.as_str()) {
        tracing::warn!(uri = %params.text_document.uri, "closed, but not open");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::outbound::Outbound;
    use crate::server::run::Setup;
    use crate::server::stop::Stop;
    use crate::workspace::Encoding;
    use serde_json::{Value, json};

    fn decode<T: serde::de::DeserializeOwned>(value: Value) -> T {
        serde_json::from_value(value).expect("right parameters")
    }

    #[test]
    fn the_text_follows_the_editor_in_each_encoding() {
        for (encoding, b, end) in [(Encoding::Utf8, 5, 6), (Encoding::Utf16, 3, 4), (Encoding::Utf32, 2, 3)] {
            let setup = Setup {
                startup: Default::default(),
                env: Default::default(),
                home: "/nowhere".into(),
                parent: None,
                log_trouble: None,
                trace_file: None,
                secrets: Default::default(),
                ring: Default::default(),
            };
            let (outbound, _queue) = Outbound::new(Stop::default());
            let context = Context::new(setup, outbound, Stop::default());
            context.workspace.set_encoding(encoding);
            let uri = "file:///w/a.txt";
            let text = "a😀b\r\nlast";
            opened(
                &context,
                decode(json!({"textDocument": {"uri": uri, "languageId": "", "version": 1, "text": text}})),
            );
            let change = |version: i32, changes: Value| {
                let document = json!({"uri": uri, "version": version});
                changed(
                    &context,
                    decode(json!({"textDocument": document, "contentChanges": changes})),
                );
                context
                    .workspace
                    .read(std::path::Path::new("/w/a.txt"))
                    .expect("open")
                    .text
            };
            let at = |line: u32, start: u32, end: u32, text: &str| {
                let place = |column: u32| json!({"line": line, "character": column});
                json!({"range": {"start": place(start), "end": place(end)}, "text": text})
            };
            assert_eq!(change(2, json!([at(0, b, end, "B")])), "a😀B\r\nlast");
            // Several in one notification build on each other; what is out of range is clamped.
            assert_eq!(
                change(3, json!([at(0, 900, 999, "!"), at(0, end, end + 1, "?")])),
                "a😀B?\r\nlast"
            );
            assert_eq!(change(3, json!([at(7, 0, 9, "\r\nmore")])), "a😀B?\r\nlast\r\nmore");
            assert_eq!(change(2, json!([])), "a😀B?\r\nlast\r\nmore");
            assert_eq!(change(4, json!([at(0, 0, 0, "x"), {"text": "new"}])), "new");
            let version = context.workspace.document_by_uri(uri).expect("open").version;
            assert_eq!(version, 4);
            closed(&context, decode(json!({"textDocument": {"uri": uri}})));
            assert!(context.workspace.documents().is_empty());
        }
    }
}
