//! Systems whose keyring is not used.

use super::{Keyring, KeyringError, Manner};

fn absent() -> KeyringError {
    KeyringError::Absent("that of this system is not used".to_owned())
}

pub(super) fn read(_keyring: &Keyring, _manner: Manner) -> Result<Option<Vec<u8>>, KeyringError> {
    Err(absent())
}

pub(super) fn write(_keyring: &Keyring, _secret: &[u8], _manner: Manner) -> Result<(), KeyringError> {
    Err(absent())
}

pub(super) fn remove(_keyring: &Keyring, _manner: Manner) -> Result<(), KeyringError> {
    Err(absent())
}
