//! Between the types of the wire and ours.

use crate::workspace::{Edit, Encoding, Position, Range};
use lsp_types::{PositionEncodingKind, TextDocumentContentChangeEvent};

pub fn position(from: lsp_types::Position) -> Position {
    Position {
        line: from.line,
        column: from.character,
    }
}

pub fn range(from: lsp_types::Range) -> Range {
    Range {
        start: position(from.start),
        end: position(from.end),
    }
}

pub fn edit(from: TextDocumentContentChangeEvent) -> Edit {
    Edit {
        range: from.range.map(range),
        text: from.text,
    }
}

pub fn to_position(from: Position) -> lsp_types::Position {
    lsp_types::Position {
        line: from.line,
        character: from.column,
    }
}

pub fn to_range(from: Range) -> lsp_types::Range {
    lsp_types::Range {
        start: to_position(from.start),
        end: to_position(from.end),
    }
}

pub fn to_encoding_kind(from: Encoding) -> PositionEncodingKind {
    match from {
        Encoding::Utf8 => PositionEncodingKind::UTF8,
        Encoding::Utf16 => PositionEncodingKind::UTF16,
        Encoding::Utf32 => PositionEncodingKind::UTF32,
    }
}
