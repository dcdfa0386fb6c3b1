//! A `config.toml` in the editor: completion and hover, for the text as it is there. What is wrong with it is told by
//! `server/presenter/settings`.

use crate::config::open::{self, Names, Offer, Role, Sort};
use crate::handlers::model;
use crate::lsp::convert;
use crate::server::session::Session;
use crate::workspace::{Document, Range, position};
use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionList, CompletionTextEdit, Documentation, Hover, HoverContents,
    MarkupContent, MarkupKind, Position, TextEdit,
};
use std::ops;

/// What opens a list by itself.
pub const TRIGGERS: [&str; 5] = ["[", ".", "=", " ", "\""];
/// The files, as patterns of names.
pub const PATTERNS: [&str; 2] = ["**/config.toml", "**/*.config.toml"];

/// The document under this URI, if it is a file of configuration.
pub fn settings(session: &Session, uri: &str) -> Option<(Document, Role)> {
    let document = session.workspace().document_by_uri(uri)?;
    let role = open::role(document.path()?, &session.agent().services().home)?;
    Some((document, role))
}

/// What can stand at a place.
pub async fn complete(session: &Session, document: Document, role: Role, at: Position) -> CompletionList {
    let encoding = session.workspace().encoding();
    let text = document.text();
    let byte = position::byte_at(&document.rope, convert::position(at), encoding);
    let models = model::known(session).await;
    let (agent, path) = (session.agent().clone(), document.path().map(ToOwned::to_owned));
    let offers = tokio::task::spawn_blocking(move || {
        let loaded = path.and_then(|path| agent.load_open(&role, &path, &text).ok());
        let mut names = loaded.map(|(_, loaded)| Names::of(&loaded.config)).unwrap_or_default();
        names.models = models.into_iter().map(|model| (model.id, model.display_name)).collect();
        open::offers(&text, byte, &names)
    });
    let offers = offers.await.unwrap_or_default();
    let items = offers.into_iter().enumerate().map(|(number, offer)| {
        let range = convert::to_range(range(&document, &offer.span, encoding));
        item(number, offer, range)
    });
    CompletionList {
        is_incomplete: false,
        items: items.collect(),
    }
}

fn range(document: &Document, span: &ops::Range<usize>, encoding: crate::workspace::Encoding) -> Range {
    let place = |byte| position::position_of_byte(&document.rope, byte, encoding);
    Range {
        start: place(span.start),
        end: place(span.end),
    }
}

fn item(number: usize, offer: Offer, range: lsp_types::Range) -> CompletionItem {
    CompletionItem {
        kind: Some(match offer.sort {
            Sort::Table => CompletionItemKind::MODULE,
            Sort::Key => CompletionItemKind::PROPERTY,
            Sort::Value => CompletionItemKind::VALUE,
        }),
        detail: Some(offer.detail).filter(|detail| !detail.is_empty()),
        documentation: Some(offer.meaning).filter(|text| !text.is_empty()).map(|value| {
            Documentation::MarkupContent(MarkupContent {
                kind: MarkupKind::Markdown,
                value,
            })
        }),
        // In the order of the table, in which the important ones come first.
        sort_text: Some(format!("{number:05}")),
        // With the quotes, where what is typed has some.
        filter_text: Some(offer.text.trim_end_matches(" = ").to_owned()),
        text_edit: Some(CompletionTextEdit::Edit(TextEdit {
            range,
            new_text: offer.text,
        })),
        label: offer.label,
        ..CompletionItem::default()
    }
}

/// What a place means.
pub async fn hover(session: &Session, document: Document, role: Role, at: Position) -> Option<Hover> {
    let encoding = session.workspace().encoding();
    let text = document.text();
    let byte = position::byte_at(&document.rope, convert::position(at), encoding);
    let (agent, path) = (session.agent().clone(), document.path()?.to_owned());
    let explained = tokio::task::spawn_blocking(move || {
        let (_, loaded) = agent.load_open(&role, &path, &text).ok()?;
        open::explain(&text, byte, &loaded)
    });
    let (value, span) = explained.await.ok()??;
    Some(Hover {
        contents: HoverContents::Markup(MarkupContent {
            kind: MarkupKind::Markdown,
            value,
        }),
        range: Some(convert::to_range(range(&document, &span, encoding))),
    })
}
