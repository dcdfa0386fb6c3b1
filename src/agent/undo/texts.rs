//! The contents of what a command changed, as far as they are shown as texts.

use crate::agent::turn::Turn;
use crate::exec::git::Stop;
use crate::patch::turn_diff::{Body, Side};
use crate::snapshot::{Blob, Kind, State};
use crate::workspace::{Document, disk};
use std::collections::HashMap;

/// Bytes of one file that is shown as text, and of all that one command changed.
const MOST_TEXT: u64 = 4 << 20;
const MOST_TEXTS: u64 = 64 << 20;

/// Contents that are needed as texts.
#[derive(Default)]
pub(super) struct Texts {
    wanted: Vec<Blob>,
    bytes: u64,
    contents: HashMap<Blob, Vec<u8>>,
}

impl Texts {
    pub(super) fn want(&mut self, state: Option<&State>) {
        let Some((state, blob)) = state.and_then(|state| Some((state, state.blob.as_ref()?))) else {
            return;
        };
        if state.kind == Kind::Link || (state.size <= MOST_TEXT && self.bytes + state.size <= MOST_TEXTS) {
            self.bytes += state.size;
            self.wanted.push(blob.clone());
        }
    }

    pub(super) fn read(&mut self, turn: &Turn) {
        if self.wanted.is_empty() {
            return;
        }
        match turn.services.snapshots.read(&self.wanted, &Stop::default()) {
            Ok(contents) => {
                let found = self.wanted.drain(..).zip(contents);
                self.contents = found.filter_map(|(blob, content)| Some((blob, content?))).collect();
            }
            Err(error) => tracing::warn!(%error, "what a command changed cannot be shown"),
        }
    }

    /// Whether a file is what was saved from the editor.
    pub(super) fn holds(&self, state: Option<&State>, saved: &Document) -> bool {
        let Some(state) = state.filter(|state| super::track::is_entry(state)) else {
            return false;
        };
        match state.blob.as_ref().and_then(|blob| self.contents.get(blob)) {
            Some(content) => disk::same_text(&saved.text(), content),
            None => !saved.differs_from_disk(),
        }
    }

    pub(super) fn side(&self, state: Option<&State>) -> Option<Side> {
        let state = state.filter(|state| super::track::is_entry(state))?;
        let content = state.blob.as_ref().and_then(|blob| self.contents.get(blob));
        let body = match (state.kind, content, &state.blob) {
            (Kind::Link, Some(content), _) => Body::Link(crate::snapshot::path_of_bytes(content)?),
            (Kind::File, Some(content), _) if is_text(content) => {
                Body::Text(String::from_utf8_lossy(content).as_ref().into())
            }
            (Kind::File, _, Some(blob)) => Body::Bytes {
                key: blob.key(),
                size: state.size,
            },
            _ => Body::Unkept {
                key: state.stamp.clone(),
                size: state.size,
            },
        };
        Some(Side {
            mode: Some(state.mode),
            body,
        })
    }
}

fn is_text(content: &[u8]) -> bool {
    !content.contains(&0) && std::str::from_utf8(content).is_ok()
}
