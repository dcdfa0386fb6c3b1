//! The shape of a chat document: what folds, its turns as symbols, its links to files.

use crate::agent::context::mentions;
use crate::chat::document::{Chat, Role, Section};
use crate::chat::folds;
use crate::lsp::convert;
use crate::server::session::Session;
use crate::workspace::position::{Encoding, Places};
use crate::workspace::{Document, position, uri};
use lsp_types::{DocumentLink, DocumentSymbol, FoldingRange, FoldingRangeKind, Position, Range, SymbolKind, Url};
use std::ops::Range as Bytes;
use std::path::{Path, PathBuf};

/// Links of one document; each needs a look at the disk.
const MOST_LINKS: usize = 500;
/// Turns and parts that are told of one document.
const MOST_SYMBOLS: usize = 10_000;
/// Bytes of a line that a turn's name is made of.
const MOST_OF_LINE: usize = 1000;

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

/// The turns and their parts. Takes long enough in a long document to be done aside.
pub fn symbols(document: &Document, encoding: Encoding) -> Vec<DocumentSymbol> {
    symbols_of(&document.text(), encoding)
}

fn symbols_of(text: &str, encoding: Encoding) -> Vec<DocumentSymbol> {
    let chat = Chat::read(text);
    let places = Places::new(text, encoding);
    let place = |byte| convert::to_position(places.of_byte(byte));
    let range = |bytes: &Bytes<usize>| Range::new(place(bytes.start), place(bytes.end));
    #[expect(deprecated, reason = "a field that LSP has given up and the type still has")]
    let symbol = |name: String, kind, head: &Bytes<usize>, all: Bytes<usize>, children| {
        let selection = head.start..head.start + crate::chat::document::bare(&text[head.clone()]).len();
        DocumentSymbol {
            name,
            detail: None,
            kind,
            tags: None,
            deprecated: None,
            range: range(&all),
            selection_range: range(&selection),
            children,
        }
    };
    let mut left = MOST_SYMBOLS;
    let mut symbols = Vec::new();
    for section in &chat.sections {
        if left == 0 {
            break;
        }
        left -= 1;
        let first = text[section.body.clone()].lines().find(|line| !line.trim().is_empty());
        let first = first.unwrap_or_default();
        let first = crate::chat::text::inline(&first[..first.floor_char_boundary(MOST_OF_LINE)], 60);
        let name = match section.role {
            Role::You if first.is_empty() => "You".to_owned(),
            Role::You => format!("You: {first}"),
            Role::Agent => "Agent".to_owned(),
        };
        let parts = chat.parts(section).into_iter().take(left);
        let children = parts.map(|part| {
            let all = part.head.start..part.body.end;
            symbol(part.title, SymbolKind::EVENT, &part.head, all, None)
        });
        let children: Vec<_> = children.collect();
        left -= children.len();
        let kind = match section.role {
            Role::You => SymbolKind::STRING,
            Role::Agent => SymbolKind::OBJECT,
        };
        let all = section.head.start..section.body.end;
        symbols.push(symbol(
            name,
            kind,
            &section.head,
            all,
            Some(children).filter(|children| !children.is_empty()),
        ));
    }
    symbols
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

#[cfg(test)]
mod tests {
    use super::*;

    fn count(symbols: &[DocumentSymbol]) -> usize {
        let children = |symbol: &DocumentSymbol| symbol.children.as_ref().map_or(0, Vec::len);
        symbols.iter().map(|symbol| 1 + children(symbol)).sum()
    }

    #[test]
    fn turns_and_parts_are_told_with_their_places() {
        let text = "## ❯ You\r\n\r\nÄ 😀?\r\n\r\n## ◆ Agent · 1b2c3d4e\n\n### ◆ Thinking\n\nx\n";
        let symbols = symbols_of(text, Encoding::Utf16);
        let names: Vec<_> = symbols.iter().map(|symbol| symbol.name.as_str()).collect();
        assert_eq!(names, ["You: Ä 😀?", "Agent"]);
        let range = |lines: (u32, u32), columns: (u32, u32)| {
            Range::new(Position::new(lines.0, columns.0), Position::new(lines.1, columns.1))
        };
        assert_eq!(symbols[0].range, range((0, 4), (0, 0)));
        assert_eq!(symbols[0].selection_range, range((0, 0), (0, 8)));
        assert_eq!(symbols[1].range, range((4, 9), (0, 0)));
        let parts = symbols[1].children.as_ref().expect("parts");
        assert_eq!(
            (&parts[0].name[..], parts[0].range),
            ("Thinking", range((6, 9), (0, 0)))
        );
    }

    /// With a look through the document for each of them this would take minutes.
    #[test]
    fn a_document_full_of_turns_has_a_bound() {
        let turn = "## ❯ You\n\nx\n\n";
        let parts = "### ◆ x\n".repeat(50);
        let answer = format!("{turn}## ◆ Agent · deadbeef\n\n{parts}");
        for (piece, most) in [
            (turn, MOST_SYMBOLS),
            (&answer[..], MOST_SYMBOLS),
            ("## ❯ You\n", MOST_SYMBOLS),
        ] {
            let text = piece.repeat((1 << 20) / piece.len());
            assert_eq!(count(&symbols_of(&text, Encoding::Utf16)), most, "{piece}");
        }
        // One line without an end.
        let long = format!("{turn}{}", "](".repeat(1 << 19));
        assert_eq!(count(&symbols_of(&long, Encoding::Utf16)), 1);
    }
}
