//! The keychain of macOS. The system itself asks the person where it wants to, as when another build of this program reads
//! what one has kept.

use super::{Keyring, KeyringError, Manner};
use security_framework::base::Error;
use security_framework::passwords::{delete_generic_password, get_generic_password, set_generic_password};

/// `errSecItemNotFound`.
const NOT_FOUND: i32 = -25300;
/// `errSecInteractionNotAllowed`, `errSecAuthFailed` and `errSecUserCanceled`.
const LOCKED: [i32; 3] = [-25308, -25293, -128];

fn trouble(error: Error) -> KeyringError {
    match error.code() {
        code if LOCKED.contains(&code) => KeyringError::Locked,
        code => KeyringError::Failed(error.message().unwrap_or_else(|| format!("error {code}"))),
    }
}

pub(super) fn read(keyring: &Keyring, _manner: Manner) -> Result<Option<Vec<u8>>, KeyringError> {
    match get_generic_password(keyring.service, &keyring.account) {
        Ok(secret) => Ok(Some(secret)),
        Err(error) if error.code() == NOT_FOUND => Ok(None),
        Err(error) => Err(trouble(error)),
    }
}

pub(super) fn write(keyring: &Keyring, secret: &[u8], _manner: Manner) -> Result<(), KeyringError> {
    set_generic_password(keyring.service, &keyring.account, secret).map_err(trouble)
}

pub(super) fn remove(keyring: &Keyring, _manner: Manner) -> Result<(), KeyringError> {
    match delete_generic_password(keyring.service, &keyring.account) {
        Err(error) if error.code() != NOT_FOUND => Err(trouble(error)),
        _ => Ok(()),
    }
}
