//! Which environment variables reach a command: `[shell_environment_policy]`.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The set of variables to start from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Inherit {
    All,
    /// `PATH`, `HOME`, `USER` and the like.
    #[default]
    Core,
    None,
}

/// Applied in the order of the fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EnvironmentPolicy {
    pub inherit: Inherit,
    /// Keep names that look like secrets (`*KEY*`, `*SECRET*`, `*TOKEN*`).
    pub ignore_default_excludes: bool,
    /// Name patterns to drop, with `*` and `?`, whatever the case.
    pub exclude: Vec<String>,
    /// Values that win over inherited ones.
    pub set: BTreeMap<String, String>,
    /// If not empty, only names that match one of these survive.
    pub include_only: Vec<String>,
    /// Start commands through the person's login shell, so that what their profile sets is there.
    pub experimental_use_profile: bool,
}
