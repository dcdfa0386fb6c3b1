//! Completion in chat documents: files after `@`, commands and prompts after `/`, models and modes in the header.

use super::shape;
use crate::chat::document::Chat;
use crate::chat::line::{self, Writing};
use crate::config::prompts;
use crate::handlers::{model, prompt};
use crate::lsp::convert;
use crate::protocol::prompt::PromptListParams;
use crate::server::session::Session;
use crate::shown;
use crate::workspace::{Document, position};
use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionList, CompletionTextEdit, Documentation, MarkupContent, MarkupKind,
    Position, Range, TextEdit,
};
use std::path::PathBuf;
use tokio_util::sync::CancellationToken;

/// What opens a list by itself.
pub const TRIGGERS: [&str; 3] = ["@", "/", ":"];
/// What can be pointed at beside files.
const MARKS: [(&str, &str); 2] = [
    ("selection", "What you have selected in the editor"),
    ("diagnostics", "The problems that the editor showed where you were last"),
];
/// Files that are offered.
const MOST_FILES: usize = 50;

/// What can stand at a place. The list is whole only where nothing is searched for.
pub async fn complete(session: &Session, document: &Document, at: Position) -> CompletionList {
    let text = document.text();
    let chat = Chat::read(&text);
    let encoding = session.workspace().encoding();
    let byte = position::byte_at(&document.rope, convert::position(at), encoding);
    let Some(writing) = line::writing_at(&chat, byte) else {
        return CompletionList::default();
    };
    let (from, searching) = match &writing {
        Writing::Mention { from, .. } => (*from, true),
        Writing::Command { from, .. } | Writing::Value { from, .. } => (*from, false),
    };
    let start = position::position_of_byte(&document.rope, from, encoding);
    let range = Range::new(convert::to_position(start), at);
    let items = match writing {
        Writing::Mention { query, .. } => {
            let roots = shape::folders(session, document, &chat);
            mentions(session, query, roots).await
        }
        Writing::Command { .. } => commands(session, shape::folders(session, document, &chat)).await,
        Writing::Value { key, .. } => values(session, &key).await,
    };
    let items = items.into_iter().filter(hides_nothing);
    let items = items.enumerate().map(|(number, item)| CompletionItem {
        // In our order.
        sort_text: Some(format!("{number:05}")),
        text_edit: Some(CompletionTextEdit::Edit(TextEdit {
            range,
            new_text: item.insert_text.clone().unwrap_or_else(|| item.label.clone()),
        })),
        insert_text: None,
        ..item
    });
    CompletionList {
        is_incomplete: searching,
        items: items.collect(),
    }
}

/// Whether what would be put into the document is what is seen in the list: a name with a line end in it would be a heading, or an order.
fn hides_nothing(item: &CompletionItem) -> bool {
    let is_shown = |text: &String| shown::exact(text) == *text;
    is_shown(&item.label) && item.insert_text.as_ref().is_none_or(is_shown)
}

async fn mentions(session: &Session, query: String, roots: Vec<PathBuf>) -> Vec<CompletionItem> {
    let marks = MARKS.iter().filter(|(mark, _)| mark.starts_with(query.as_str()));
    let marks = marks.map(|(mark, detail)| CompletionItem {
        label: (*mark).to_owned(),
        kind: Some(CompletionItemKind::KEYWORD),
        detail: Some((*detail).to_owned()),
        ..CompletionItem::default()
    });
    let marks: Vec<_> = marks.collect();
    if roots.is_empty() || query.trim().is_empty() {
        return marks;
    }
    let searcher = session.searches().searcher.clone();
    let asked = query.clone();
    let searched = tokio::task::spawn_blocking(move || {
        let roots: Vec<_> = roots.into_iter().filter(|root| root.is_dir()).collect();
        searcher
            .search(&asked, &roots, MOST_FILES, CancellationToken::new())
            .run()
    });
    let Ok(found) = searched.await else { return marks };
    let item = |file: crate::workspace::search::Match| {
        let mut name = file.path.clone();
        if file.is_dir && !name.ends_with('/') {
            name.push('/');
        }
        let written = match name.contains(char::is_whitespace) {
            true => format!("\"{name}\""),
            false => name.clone(),
        };
        CompletionItem {
            label: name,
            kind: Some(match file.is_dir {
                true => CompletionItemKind::FOLDER,
                false => CompletionItemKind::FILE,
            }),
            // It was found by a few letters of it; the editor must not look for them in its own way.
            filter_text: Some(query.clone()),
            insert_text: Some(written),
            ..CompletionItem::default()
        }
    };
    marks.into_iter().chain(found.files.into_iter().map(item)).collect()
}

async fn commands(session: &Session, folders: Vec<PathBuf>) -> Vec<CompletionItem> {
    let ours = line::COMMANDS.iter().map(|(name, behind, does)| CompletionItem {
        label: (*name).to_owned(),
        kind: Some(CompletionItemKind::KEYWORD),
        detail: Some(match behind.is_empty() {
            true => (*does).to_owned(),
            false => format!("{behind}: {does}"),
        }),
        ..CompletionItem::default()
    });
    let params = PromptListParams {
        cwd: folders.into_iter().next(),
    };
    let prompts = prompt::list(session, params)
        .await
        .map(|found| found.data)
        .unwrap_or_default();
    let theirs = prompts.into_iter().map(|prompt| CompletionItem {
        kind: Some(CompletionItemKind::SNIPPET),
        // A project's file says it.
        detail: Some(shown::line(
            [prompt.argument_hint, prompt.description.unwrap_or_default()]
                .join(" ")
                .trim(),
        )),
        documentation: Some(Documentation::MarkupContent(MarkupContent {
            kind: MarkupKind::PlainText,
            value: shown::text(&prompt.content),
        })),
        // What has the name of a command of ours is called by its full one.
        label: match line::COMMANDS.iter().any(|(name, ..)| *name == prompt.name) {
            true => format!("{}{}", prompts::FULL, prompt.name),
            false => prompt.name,
        },
        ..CompletionItem::default()
    });
    ours.chain(theirs).collect()
}

async fn values(session: &Session, key: &str) -> Vec<CompletionItem> {
    let item = |label: String, detail: Option<String>| CompletionItem {
        label,
        kind: Some(CompletionItemKind::VALUE),
        detail,
        ..CompletionItem::default()
    };
    match key {
        "mode" => line::MODES
            .map(|(mode, detail)| item(line::mode_name(mode).to_owned(), Some(detail.to_owned())))
            .into(),
        "model" => {
            let models = model::known(session).await;
            models
                .into_iter()
                .map(|model| item(model.id, Some(model.display_name)))
                .collect()
        }
        _ => Vec::new(),
    }
}
