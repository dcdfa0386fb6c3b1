//! The configuration as threads that are live have it: taken up anew when the person has changed it.

use super::aside::aside;
use super::thread::ThreadHandle;
use super::{Agent, AgentError};
use crate::config::{self, ConfigError, Loaded};
use crate::ids::ThreadId;
use crate::protocol::config::ConfigWarning;
use std::path::Path;
use std::time::SystemTime;

/// What tells that the person's file has been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp(Option<(SystemTime, u64)>);

impl Stamp {
    pub(super) fn of(home: &Path) -> Self {
        let meta = std::fs::metadata(home.join("config.toml")).ok();
        Self(meta.and_then(|meta| Some((meta.modified().ok()?, meta.len()))))
    }
}

fn stays(error: &dyn std::fmt::Display) -> String {
    format!("The changed configuration is not taken up; this thread keeps the one it has. {error}")
}

impl Agent {
    /// The person's file as it is now. Found aside, since it looks at the disk.
    async fn stamp(&self) -> Stamp {
        let home = self.services().home.clone();
        aside(move || Stamp::of(&home)).await
    }

    /// Reads the configuration again for one live thread, or all; their next turns take it up. What is wrong in it is told in
    /// each thread, and given here.
    ///
    /// # Errors
    /// The person's file cannot be read or is no TOML: then every thread keeps what it has. Or what a request gave a thread
    /// does not fit any more.
    pub async fn reload_config(&self, thread: Option<&ThreadId>) -> Result<Vec<ConfigWarning>, AgentError> {
        let threads = match thread {
            Some(id) => vec![self.reach(id).await?],
            None => self.live(),
        };
        let mut last = self.shared.config_stamp.lock().await;
        let stamp = self.stamp().await;
        let (warnings, trouble) = self.reload(&threads).await?;
        if thread.is_none() {
            *last = stamp;
        }
        trouble.map_or(Ok(warnings), |error| Err(error.into()))
    }

    /// Has a thread go on with further overrides beside those that it has, from its next turn on.
    ///
    /// # Errors
    /// One of them may not be set by a request, or the person's file cannot be used.
    pub async fn add_overrides(
        &self,
        thread: &ThreadHandle,
        more: serde_json::Map<String, serde_json::Value>,
    ) -> Result<(), AgentError> {
        let agent = self.clone();
        let (cwd, mut overrides) = (thread.settings().cwd, thread.config().overrides.clone());
        overrides.extend(more);
        let place = cwd.clone();
        let load = move || agent.load_config(Some(&place), Some(&overrides));
        let loaded = super::aside::aside(load).await?;
        super::servers::want(thread.conversation(), &loaded.config, &cwd);
        thread.take_up(loaded).await
    }

    /// One thread that cannot follow holds no other back.
    async fn reload(&self, threads: &[ThreadHandle]) -> Result<(Vec<ConfigWarning>, Option<ConfigError>), ConfigError> {
        let mut warnings = self.blocking_load(None).await?.warnings;
        let mut trouble = None;
        for thread in threads {
            let loaded = match self.blocking_load(Some(thread)).await {
                Ok(loaded) => loaded,
                Err(error) => {
                    thread.conversation().warn(None, stays(&error));
                    trouble = Some(error);
                    continue;
                }
            };
            for warning in &loaded.warnings {
                if !warnings.contains(warning) {
                    warnings.push(warning.clone());
                }
            }
            // One that has ended meanwhile needs none.
            let _ended = thread.take_up(loaded).await;
        }
        Ok((warnings, trouble))
    }

    /// The same for all threads, if the person's file was written since it was last looked at. A file that cannot be used is
    /// told in the thread that is about to go on.
    pub async fn follow_config(&self, thread: &ThreadHandle) {
        // Held until all have it, so that no turn begins beside this with what was.
        let mut last = self.shared.config_stamp.lock().await;
        let stamp = self.stamp().await;
        if *last == stamp {
            return;
        }
        *last = stamp;
        if let Err(error) = self.reload(&self.live()).await {
            thread.conversation().warn(None, stays(&error));
        }
    }

    /// The configuration of a thread as the files are now. A broken file does not count as an empty one: what it forbade must
    /// not be allowed because of a slip of the pen.
    async fn blocking_load(&self, thread: Option<&ThreadHandle>) -> Result<Loaded, ConfigError> {
        let agent = self.clone();
        let place = thread.map(|thread| (thread.settings().cwd, thread.config()));
        let loaded = tokio::task::spawn_blocking(move || {
            config::saved(&agent.services().home)?;
            match place {
                Some((cwd, config)) => agent.load_config(Some(&cwd), Some(&config.overrides)),
                None => agent.load_config(None, None),
            }
        });
        // It only ends early with the process.
        loaded.await.unwrap_or_else(|error| {
            Err(ConfigError::Unreadable {
                path: self.services().home.join("config.toml"),
                cause: error.to_string(),
            })
        })
    }
}
