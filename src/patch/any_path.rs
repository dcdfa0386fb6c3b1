//! Paths in JSON, whatever bytes they are: as text where they are UTF-8, else by their bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};
use std::path::{Path, PathBuf};

/// No path begins like this by chance: it would have to be relative.
const MARK: &str = "base64:";

pub(crate) fn to_text(path: &Path) -> String {
    match path.to_str() {
        Some(text) if !text.starts_with(MARK) => text.to_owned(),
        _ => format!("{MARK}{}", STANDARD.encode(path.as_os_str().as_encoded_bytes())),
    }
}

pub(crate) fn of_text(text: &str) -> Option<PathBuf> {
    match text.strip_prefix(MARK) {
        None => Some(PathBuf::from(text)),
        Some(code) => of_bytes(&STANDARD.decode(code).ok()?),
    }
}

pub(crate) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    to_text(path).serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    let text = String::deserialize(deserializer)?;
    of_text(&text).ok_or_else(|| D::Error::custom("not a path"))
}

/// The path of these bytes; nothing where the system has no such path.
#[cfg(unix)]
pub fn of_bytes(bytes: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt as _;
    Some(std::ffi::OsStr::from_bytes(bytes).into())
}

#[cfg(not(unix))]
pub fn of_bytes(bytes: &[u8]) -> Option<PathBuf> {
    Some(std::str::from_utf8(bytes).ok()?.into())
}
