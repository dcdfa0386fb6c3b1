//! What goes wrong, in tests: at which step, and how. Outside of them nothing does.

use std::io;

/// For tests: what goes wrong.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fault {
    /// The step of this number fails, from 0.
    #[cfg(test)]
    pub(super) fails: Option<usize>,
    /// The process is killed before the step of this number.
    #[cfg(test)]
    pub(super) kills: Option<usize>,
    /// Somebody else does this before the step of this number.
    #[cfg(test)]
    pub(super) meddles: Option<(usize, fn())>,
    /// The file system has no hard links.
    #[cfg(test)]
    pub(super) linkless: bool,
    /// No file can be given its owner.
    #[cfg(test)]
    pub(super) foreign: bool,
    /// Every folder is a disk of its own.
    #[cfg(test)]
    pub(super) apart: bool,
}

#[cfg(not(test))]
impl Fault {
    pub(super) fn at(self, _step: usize) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn is_linkless(self) -> bool {
        false
    }

    pub(super) fn is_foreign(self) -> bool {
        false
    }

    pub(super) fn is_apart(self) -> bool {
        false
    }
}

#[cfg(test)]
impl Fault {
    pub(super) fn at(self, step: usize) -> io::Result<()> {
        if self.kills == Some(step) {
            super::tests::die();
        }
        if let Some((number, meddle)) = self.meddles
            && number == step
        {
            meddle();
        }
        if self.fails == Some(step) {
            return Err(io::Error::other("injected fault"));
        }
        Ok(())
    }

    pub(super) fn is_linkless(self) -> bool {
        self.linkless
    }

    pub(super) fn is_foreign(self) -> bool {
        self.foreign
    }

    pub(super) fn is_apart(self) -> bool {
        self.apart
    }
}
