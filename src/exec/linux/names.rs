//! What is known of the names that a command has used, and how it is told from one keeper to the other.

use super::moments::Moments;
use super::moves::Moves;
use std::io::{self, Read};

/// What a command has tried to make or change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Named {
    #[default]
    Nothing,
    /// Some entry.
    Any,
    /// One that is kept as it is, or who could tell.
    Kept,
}

impl Named {
    /// As it is told between processes.
    pub(super) fn of(byte: u8) -> Self {
        match byte {
            0 => Self::Nothing,
            1 => Self::Any,
            _ => Self::Kept,
        }
    }
}

/// What is known of the names that a command has used.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub named: Named,
    pub moves: Moves,
    pub moments: Moments,
}

impl Names {
    /// Where nobody was asked, or has said so.
    pub(super) fn unknown() -> Self {
        Self {
            named: Named::Kept,
            ..Self::default()
        }
    }

    /// As it is told between processes.
    pub(super) fn written(&self) -> Vec<u8> {
        let mut bytes = vec![self.named as u8];
        for part in [self.moves.written()].into_iter().chain(self.moments.written()) {
            bytes.extend((part.len() as u32).to_le_bytes());
            bytes.extend(part);
        }
        bytes
    }

    /// What is written so.
    ///
    /// # Errors
    /// It is not there whole.
    pub(super) fn read(mut from: impl Read) -> io::Result<Self> {
        let mut named = [0];
        from.read_exact(&mut named)?;
        let mut part = || -> io::Result<Vec<u8>> {
            let mut length = [0; 4];
            from.read_exact(&mut length)?;
            let mut bytes = vec![0; u32::from_le_bytes(length) as usize];
            from.read_exact(&mut bytes)?;
            Ok(bytes)
        };
        let (moves, made, brought) = (part()?, part()?, part()?);
        Ok(Self {
            named: Named::of(named[0]),
            moves: Moves::of(&moves),
            moments: Moments::of([&made, &brought]),
        })
    }
}
