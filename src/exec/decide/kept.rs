//! What of the places that a command may name the conversation's settings keep: what neither commands in the sandbox nor tools
//! read, and what other programs act on by themselves.

use super::repository::{Repository, around};
use crate::exec::confinement::{Closed, resolve};
use crate::exec::protected::{Later, led_to_below, led_to_by_git};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Outside of the sandbox no wall keeps it, so a yes to one command, or to a folder, is none to it.
#[derive(Debug, Default)]
pub struct Kept {
    /// None where nothing is closed.
    closed: Option<Closed>,
    later: Later,
    /// The conversation's folder; none where nothing is looked for in it.
    folder: Option<PathBuf>,
    /// Where settings of version control lead in there; real paths. Found out once somebody asks.
    led_to: OnceLock<Vec<PathBuf>>,
}

impl Kept {
    /// `protected` are names that are kept besides those of the table, `unprotected` those that are not; `home` is the
    /// person's home folder.
    pub fn new(closed: Closed, protected: &[String], unprotected: &[String], home: Option<&Path>) -> Self {
        Self {
            closed: Some(closed),
            later: Later {
                more: protected.to_vec(),
                free: unprotected.to_vec(),
                home: home.map(resolve),
                ..Later::default()
            },
            ..Self::default()
        }
    }

    /// The same in a conversation's folder, with what settings lead to in there: those of the repository around it, and of each
    /// repository below it.
    #[must_use]
    pub fn within(mut self, folder: &Path) -> Self {
        self.folder = Some(folder.to_owned());
        self
    }

    fn find_led_to(&self) -> Vec<PathBuf> {
        let Some(folder) = &self.folder else {
            return Vec::new();
        };
        let real = resolve(folder);
        let mut places = led_to_below(&self.later, &real);
        if let Repository::At(repository) = around(folder) {
            places.extend(led_to_by_git(&repository, self.later.home.as_deref()));
        }
        let places = places.iter().map(|place| resolve(place));
        places
            .filter(|place| place.starts_with(&real) && *place != real)
            .collect()
    }

    /// Whether a place is one that settings of version control lead to, or lies in one.
    pub(super) fn is_led_to(&self, place: &Path) -> bool {
        let led_to = self.led_to.get_or_init(|| self.find_led_to());
        led_to.iter().any(|led_to| place.starts_with(led_to))
    }

    /// What acts later here.
    pub(super) fn later(&self) -> &Later {
        &self.later
    }

    /// Whether a place, which is absolute, is one that nothing of the agent's reads.
    pub(super) fn is_closed(&self, place: &Path) -> bool {
        self.closed.as_ref().is_some_and(|closed| !closed.may_read(place))
    }

    /// Whether such a place lies in a folder, for all that is told without looking into it.
    pub(super) fn closes_within(&self, folder: &Path) -> bool {
        self.closed.as_ref().is_some_and(|closed| closed.closes_within(folder))
    }

    /// Whether places are closed by what they are called, so that a folder has to be looked into.
    pub(super) fn goes_by_names(&self) -> bool {
        self.closed.as_ref().is_some_and(Closed::goes_by_names)
    }
}
