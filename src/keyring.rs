//! The keyring of the person's system: on Linux and its like what answers for `org.freedesktop.secrets` on the session's
//! bus, on macOS the keychain. It keeps one text for each purpose and home folder.
//!
//! All of it waits for another program, within a bound: it is for threads on which nobody else waits.

#[cfg(all(unix, not(target_os = "macos")))]
#[path = "keyring/secret_service.rs"]
mod system;
#[cfg(target_os = "macos")]
#[path = "keyring/keychain.rs"]
mod system;
#[cfg(not(unix))]
#[path = "keyring/none.rs"]
mod system;

use crate::patch::disk::hexadecimal;
use sha2::{Digest as _, Sha256};
use std::path::Path;

/// Whether the system may show the person a window, as it does to unlock a keyring. It may only upon their own wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    Quiet,
    MayAsk,
}

/// Why a keyring did not do what was wanted; the part of a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyringError {
    /// There is none, or none that keeps anything.
    #[error("no keyring answers ({0})")]
    Absent(String),
    #[error("it is locked")]
    Locked,
    #[error("it answered: {0}")]
    Failed(String),
}

impl KeyringError {
    /// What the person can do, as a sentence.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Absent(_) => "Start one (GNOME Keyring, KWallet, KeePassXC) in the session that the program runs in.",
            Self::Locked => "Unlock it in the program that shows your passwords, then try again.",
            Self::Failed(_) => "Look at it in the program that shows your passwords, then try again.",
        }
    }
}

/// The place of one text in the keyring.
#[derive(Clone, Debug)]
#[cfg_attr(
    not(all(unix, not(target_os = "macos"))),
    allow(dead_code, reason = "no other system takes all of it")
)]
pub struct Keyring {
    /// What it is called where the person looks at their keyring.
    label: String,
    service: &'static str,
    /// Which home folder it belongs to: each has its own.
    account: String,
}

impl Keyring {
    /// `purpose` tells what is kept there, in the person's words.
    pub fn new(service: &'static str, purpose: &str, home: &Path) -> Self {
        let real = std::fs::canonicalize(home).unwrap_or_else(|_| home.to_owned());
        let digest = Sha256::digest(real.as_os_str().as_encoded_bytes());
        Self {
            label: format!("Countersign: {purpose} ({})", home.display()),
            service,
            account: hexadecimal(&digest[..8]),
        }
    }

    /// The text, if there is one.
    ///
    /// # Errors
    /// It cannot be told whether there is.
    pub fn read(&self, manner: Manner) -> Result<Option<String>, KeyringError> {
        let bytes = system::read(self, manner)?;
        bytes
            .map(|bytes| String::from_utf8(bytes).map_err(|_| KeyringError::Failed("what it keeps is no text".into())))
            .transpose()
    }

    /// Keeps the text in the place of the one before.
    ///
    /// # Errors
    /// It is not kept.
    pub fn write(&self, text: &str, manner: Manner) -> Result<(), KeyringError> {
        system::write(self, text.as_bytes(), manner)
    }

    /// Keeps nothing any more.
    ///
    /// # Errors
    /// It may still be there.
    pub fn remove(&self, manner: Manner) -> Result<(), KeyringError> {
        system::remove(self, manner)
    }
}
