//! The Secret Service, as GNOME Keyring, KWallet and KeePassXC speak it.

use super::{Keyring, KeyringError, Manner};
use dbus_secret_service::{EncryptionType, Error, Item, SecretService};
use std::collections::HashMap;
use std::env;
use std::path::Path;

/// How long a person may take to unlock a keyring, in seconds.
const PATIENCE: u64 = 60;

fn open(manner: Manner) -> Result<SecretService, KeyringError> {
    if !there_is_a_bus() {
        return Err(KeyringError::Absent("there is no session bus".to_owned()));
    }
    let seconds = match manner {
        Manner::Quiet => 0,
        Manner::MayAsk => PATIENCE,
    };
    // Not encrypted on its way: whoever could listen on the bus could as well ask for it.
    SecretService::connect_with_max_prompt_timeout(EncryptionType::Plain, seconds).map_err(trouble)
}

/// Whether a session bus can be found without starting one, which the library would do.
fn there_is_a_bus() -> bool {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty());
    match env::var_os("DBUS_SESSION_BUS_ADDRESS") {
        Some(address) => !address.is_empty(),
        None => variable("XDG_RUNTIME_DIR").is_some_and(|folder| Path::new(&folder).join("bus").exists()),
    }
}

fn trouble(error: Error) -> KeyringError {
    match error {
        Error::Locked | Error::Prompt => KeyringError::Locked,
        Error::Unavailable => KeyringError::Absent("the session bus knows none".to_owned()),
        Error::NoResult => KeyringError::Absent("it has no default keyring".to_owned()),
        Error::Dbus(error) => {
            let name = error.name().unwrap_or_default();
            let reason = error.message().unwrap_or(name).trim_end_matches('.').to_owned();
            let kind = name.strip_prefix("org.freedesktop.DBus.Error.").unwrap_or_default();
            match kind {
                "ServiceUnknown" | "NameHasNoOwner" | "NoServer" | "FileNotFound" | "BadAddress" => {
                    KeyringError::Absent(reason)
                }
                _ if kind.starts_with("Spawn.") => KeyringError::Absent(reason),
                _ if name == "org.freedesktop.Secret.Error.IsLocked" => KeyringError::Locked,
                _ => KeyringError::Failed(reason),
            }
        }
        other => KeyringError::Failed(other.to_string()),
    }
}

impl Keyring {
    fn attributes(&self) -> HashMap<&str, &str> {
        HashMap::from([("service", self.service), ("username", self.account.as_str())])
    }

    /// All that is kept in this place, which is one unless somebody has copied it; unlocked.
    fn items<'a>(&self, service: &'a SecretService, manner: Manner) -> Result<Vec<Item<'a>>, KeyringError> {
        let found = service.search_items(self.attributes()).map_err(trouble)?;
        if !found.locked.is_empty() {
            if manner == Manner::Quiet {
                return Err(KeyringError::Locked);
            }
            service
                .unlock_all(&found.locked.iter().collect::<Vec<_>>())
                .map_err(trouble)?;
        }
        Ok(found.unlocked.into_iter().chain(found.locked).collect())
    }
}

pub(super) fn read(keyring: &Keyring, manner: Manner) -> Result<Option<Vec<u8>>, KeyringError> {
    let service = open(manner)?;
    let items = keyring.items(&service, manner)?;
    items.first().map(|item| item.get_secret().map_err(trouble)).transpose()
}

pub(super) fn write(keyring: &Keyring, secret: &[u8], manner: Manner) -> Result<(), KeyringError> {
    let service = open(manner)?;
    let items = keyring.items(&service, manner)?;
    if let Some((first, others)) = items.split_first() {
        first.set_secret(secret, "text/plain").map_err(trouble)?;
        return delete(others);
    }
    let collection = service.get_default_collection().map_err(trouble)?;
    if collection.is_locked().map_err(trouble)? {
        if manner == Manner::Quiet {
            return Err(KeyringError::Locked);
        }
        collection.unlock().map_err(trouble)?;
    }
    collection
        .create_item(&keyring.label, keyring.attributes(), secret, true, "text/plain")
        .map(|_item| ())
        .map_err(trouble)
}

pub(super) fn remove(keyring: &Keyring, manner: Manner) -> Result<(), KeyringError> {
    let service = open(manner)?;
    delete(&keyring.items(&service, manner)?)
}

fn delete(items: &[Item<'_>]) -> Result<(), KeyringError> {
    items.iter().try_for_each(|item| item.delete().map_err(trouble))
}
