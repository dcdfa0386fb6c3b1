//! Identifiers. Each is its own type, so that the compiler keeps a turn's id from being taken for a
//! thread's; on the wire every id is a plain string.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// A fresh id: a UUIDv7, so that ids sort by their time of birth.
            pub fn fresh() -> Self {
                Self(uuid::Uuid::now_v7().to_string())
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

ids! {
    /// A conversation. A UUID; also the end of its rollout file's name.
    ThreadId,
    /// From one input of the person to the agent's final answer. A UUIDv7.
    TurnId,
    /// A thing in a turn. The provider's item or call id where there is one, else a UUIDv7.
    ItemId,
    /// A patch that waits for the person.
    ProposalId,
    /// One contiguous change of one file in a proposal; stable for the proposal's life.
    HunkId,
    /// One question to the person about a command or a permission.
    ApprovalId,
    /// What the model asks the person at one time: one to three questions.
    QuestionsId,
    /// One input that waits for its turn.
    QueuedId,
    /// One question of an MCP server to the person.
    ElicitationId,
    /// One thing that a review found.
    FindingId,
    /// One login to an account. A UUIDv7.
    LoginId,
    /// One place to which a client has a thread's events sent once more. A UUIDv7.
    SubscriptionId,
    /// One realtime conversation of a thread. A UUIDv7.
    RealtimeId,
}
