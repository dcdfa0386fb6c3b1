//! What the keyring holds, as it was a moment ago: whoever needs a login must not wait for another program each time, and
//! most who need it cannot wait at all.

use crate::keyring::{Keyring, KeyringError, Manner};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::{Handle, RuntimeFlavor};

/// What was seen longer ago is still told, and looked at again beside that.
const FRESH: Duration = Duration::from_secs(1);
/// A keyring that does not answer as it should is left alone for so long: asking may take it seconds.
const PAUSE: Duration = Duration::from_secs(10);

type Found = Result<Option<String>, KeyringError>;

/// A clone is another handle.
#[derive(Clone)]
pub(super) struct Mirror(Arc<Shared>);

struct Shared {
    keyring: Keyring,
    seen: Mutex<Seen>,
    /// Somebody looks at it beside everything else.
    is_looking: AtomicBool,
}

#[derive(Default)]
struct Seen {
    /// When, and what.
    last: Option<(Instant, Found)>,
    /// How often this program has changed it: what was seen before a change does not count after it.
    changes: u64,
}

impl Mirror {
    pub(super) fn new(home: &Path) -> Self {
        Self(Arc::new(Shared {
            keyring: Keyring::new("Countersign", "login to the provider of models", home),
            seen: Mutex::default(),
            is_looking: AtomicBool::new(false),
        }))
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the keyring holds. Waits for it the first time, and as long as it is not to be read: whoever has unlocked it
    /// a moment ago is not told that it is locked.
    pub(super) fn read(&self) -> Found {
        let last = self.seen().last.clone();
        let counts = |(at, found): &(Instant, Found)| match found {
            Ok(_) => true,
            Err(KeyringError::Failed(_)) => at.elapsed() < PAUSE,
            Err(_) => false,
        };
        let Some((at, found)) = last.filter(counts) else {
            // Other tasks of this thread go on elsewhere meanwhile, where there is an elsewhere.
            return match Handle::try_current().map(|handle| handle.runtime_flavor()) {
                Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(|| self.look()),
                _ => self.look(),
            };
        };
        if found.is_ok() && at.elapsed() >= FRESH && !self.0.is_looking.swap(true, Ordering::AcqRel) {
            let mirror = self.clone();
            let looks = move || {
                let _in_the_mirror = mirror.look();
                mirror.0.is_looking.store(false, Ordering::Release);
            };
            if std::thread::Builder::new()
                .name("keyring".to_owned())
                .spawn(looks)
                .is_err()
            {
                self.0.is_looking.store(false, Ordering::Release);
            }
        }
        found
    }

    fn look(&self) -> Found {
        let changes = self.seen().changes;
        let found = self.0.keyring.read(Manner::Quiet);
        let mut seen = self.seen();
        if seen.changes == changes {
            seen.last = Some((Instant::now(), found.clone()));
        }
        found
    }

    /// Looks now, and waits for it.
    pub(super) async fn look_again(&self) {
        let mirror = self.clone();
        // What came of it is in the mirror.
        let _seen = tokio::task::spawn_blocking(move || mirror.look()).await;
    }

    /// Keeps this text.
    pub(super) async fn write(&self, text: String, manner: Manner) -> Result<(), KeyringError> {
        self.change(move |keyring| {
            keyring.write(&text, manner)?;
            Ok(((), Some(text)))
        })
        .await
    }

    /// Keeps nothing any more, and gives what was there. It is the person's wish: they may be asked to unlock it.
    pub(super) async fn take(&self) -> Found {
        self.change(|keyring| {
            let taken = keyring.read(Manner::MayAsk)?;
            keyring.remove(Manner::MayAsk)?;
            Ok((taken, None))
        })
        .await
    }

    /// Changes it where nobody else waits. `change` says what came of it, and what is there now.
    async fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Keyring) -> Result<(T, Option<String>), KeyringError> + Send + 'static,
    ) -> Result<T, KeyringError> {
        let mirror = self.clone();
        let changed = tokio::task::spawn_blocking(move || {
            let changed = change(&mirror.0.keyring);
            let mut seen = mirror.seen();
            seen.changes += 1;
            let (done, now) = match changed {
                Ok((done, now)) => (Ok(done), Some((Instant::now(), Ok(now)))),
                Err(error) => (Err(error), None),
            };
            seen.last = now;
            done
        });
        changed
            .await
            .unwrap_or_else(|error| Err(KeyringError::Failed(error.to_string())))
    }
}
