//! The shape of a chat document: what folds, its turns as symbols, its links to files.

use crate::agent::context::mentions;
use crate::chat::document::{Chat, Role, Section};
use crate::chat::folds;
use crate::server::session::Session;
use crate::workspace::{Document, position, uri};
use lsp_types::{DocumentLink, DocumentSymbol, FoldingRange, FoldingRangeKind, Position, Range, SymbolKind, Url};
use std::ops::Range as Bytes;
use std::path::{Path, PathBuf};

/// Links of one document; each needs a look at the disk.
const MOST_LINKS: usize = 500;

pub fn folds(document: &Document) -> Vec<FoldingRange> {
    let text = document.text();
    let found = folds::folds(&Chat::read(&text));
    let number = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
    found
        .into_iter()
        .map(|fold| FoldingRange {
            start_line: number(fold.first),
            end_line: number(fold.last),
            kind: fold.aside.then_some(FoldingRangeKind::Comment),
            ..FoldingRange::default()
        })
        .collect()
}

pub(super) fn range(session: &Session, document: &Document, bytes: &Bytes<usize>) -> Range {
    let encoding = session.workspace().encoding();
    let place = |byte| {
        let at = position::position_of_byte(&document.rope, byte, encoding);
        Position::new(at.line, at.column)
    };
    Range::new(place(bytes.start), place(bytes.end))
}

pub fn symbols(session: &Session, document: &Document) -> Vec<DocumentSymbol> {
    let text = document.text();
    let chat = Chat::read(&text);
    #[expect(deprecated, reason = "a field that LSP has given up and the type still has")]
    let symbol = |name: String, kind, head: &Bytes<usize>, all: Bytes<usize>, children| {
        let selection = head.start..head.start + crate::chat::document::bare(&text[head.clone()]).len();
        DocumentSymbol {
            name,
            detail: None,
            kind,
            tags: None,
            deprecated: None,
            range: range(session, document, &all),
            selection_range: range(session, document, &selection),
            children,
        }
    };
    chat.sections
        .iter()
        .map(|section| {
            let first = text[section.body.clone()].lines().find(|line| !line.trim().is_empty());
            let first = crate::chat::text::inline(first.unwrap_or_default(), 60);
            let name = match section.role {
                Role::You if first.is_empty() => "You".to_owned(),
                Role::You => format!("You: {first}"),
                Role::Agent => "Agent".to_owned(),
            };
            let parts = chat.parts(section);
            let children = parts.into_iter().map(|part| {
                let all = part.head.start..part.body.end;
                symbol(part.title, SymbolKind::EVENT, &part.head, all, None)
            });
            let children: Vec<_> = children.collect();
            let kind = match section.role {
                Role::You => SymbolKind::STRING,
                Role::Agent => SymbolKind::OBJECT,
            };
            let all = section.head.start..section.body.end;
            symbol(
                name,
                kind,
                &section.head,
                all,
                Some(children).filter(|children| !children.is_empty()),
            )
        })
        .collect()
}

/// Links to files that are there: `@file` in the person's words, `code` in the agent's that names one. Looks at the disk.
pub fn links(session: &Session, document: &Document) -> Vec<DocumentLink> {
    let text = document.text();
    let chat = Chat::read(&text);
    let roots = folders(session, document, &chat);
    let mut links = Vec::new();
    for section in &chat.sections {
        for (bytes, path, at) in pointed(&chat, section, &roots) {
            let target = match at {
                Some(line) => format!("{}#L{line}", uri::from_path(&path)),
                None => uri::from_path(&path),
            };
            let Ok(target) = Url::parse(&target) else { continue };
            links.push(DocumentLink {
                range: range(session, document, &bytes),
                target: Some(target),
                tooltip: None,
                data: None,
            });
            if links.len() >= MOST_LINKS {
                return links;
            }
        }
    }
    links
}

/// The files that a section points at, with the line where one is named.
pub(super) fn pointed(chat: &Chat<'_>, section: &Section, roots: &[PathBuf]) -> Vec<Found> {
    let body = &chat.text[section.body.clone()];
    let mut found = match section.role {
        Role::You => mentioned(body, roots),
        Role::Agent => named(body, roots),
    };
    for (bytes, ..) in &mut found {
        *bytes = bytes.start + section.body.start..bytes.end + section.body.start;
    }
    found
}

/// The folders that names in a document count from.
pub fn folders(session: &Session, document: &Document, chat: &Chat<'_>) -> Vec<PathBuf> {
    let seen = session.chats().seen(document.uri());
    let thread = seen.thread.and_then(|id| session.agent().thread(&id));
    let mut folders: Vec<PathBuf> = thread.map(|thread| thread.settings().cwd).into_iter().collect();
    let roots = session.workspace().roots();
    let named = chat.field("folder").map(PathBuf::from);
    folders.extend(named.filter(|folder| roots.iter().any(|root| folder.starts_with(root))));
    for root in roots {
        if !folders.contains(&root) {
            folders.push(root);
        }
    }
    folders
}

pub(super) type Found = (Bytes<usize>, PathBuf, Option<u32>);

/// A file below one of the folders; what a name leads to outside of them is not linked.
fn file(name: &str, roots: &[PathBuf]) -> Option<PathBuf> {
    let name = Path::new(name);
    roots.iter().find_map(|root| {
        let path = uri::clean(&root.join(name));
        (path.starts_with(root) && path.is_file()).then_some(path)
    })
}

fn mentioned(text: &str, roots: &[PathBuf]) -> Vec<Found> {
    let candidates = mentions::candidates(text).into_iter();
    candidates
        .filter_map(|candidate| {
            candidate.readings.iter().find_map(|reading| {
                let path = file(&reading.name, roots)?;
                let line = match reading.lines {
                    Some(mentions::Lines::Range(lines)) => Some(lines.start + 1),
                    _ => None,
                };
                Some((candidate.start..reading.end, path, line))
            })
        })
        .collect()
}

/// `name` and `name:line` in code spans.
fn named(text: &str, roots: &[PathBuf]) -> Vec<Found> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let mut pieces = line.split('`');
        let mut place = at + pieces.next().map_or(0, str::len) + 1;
        let mut inside = true;
        for piece in pieces {
            let span = place..place + piece.len();
            place = span.end + 1;
            let in_span = inside;
            inside = !inside;
            if in_span && !piece.is_empty() && piece.len() < 1000 {
                let (name, line) = match piece.split_once(':') {
                    Some((name, rest)) => (name, rest.split(':').next().and_then(|line| line.parse().ok())),
                    None => (piece, None),
                };
                if let Some(path) = file(name, roots) {
                    found.push((span, path, line));
                }
            }
        }
        at += line.len();
    }
    found
}
