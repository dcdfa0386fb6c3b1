//! Realtime: speech beside the written conversation of a thread, one such conversation a thread at a time.

use crate::ids::{RealtimeId, ThreadId};
use serde::{Deserialize, Serialize};

/// Which form of the endpoint's protocol is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum RealtimeVersion {
    /// The older form.
    V1,
    #[default]
    V2,
}

/// In what the endpoint answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum RealtimeModality {
    /// Speech, and what is said in it as text.
    #[default]
    Audio,
    /// Text only.
    Text,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum RealtimeRole {
    User,
    Assistant,
}

/// A piece of sound: PCM, 16 bits a sample, little end first, whole samples only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct RealtimeAudio {
    /// Base64.
    pub data: String,
    /// Samples a second; what is sent must have 24000.
    #[serde(default = "usual_rate")]
    pub sample_rate: u32,
    /// What is sent must have one.
    #[serde(default = "one_channel")]
    pub channels: u16,
}

fn usual_rate() -> u32 {
    24_000
}

fn one_channel() -> u16 {
    1
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct RealtimeStartParams {
    pub thread_id: ThreadId,
    /// Absent: as configured, else `v2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<RealtimeVersion>,
    /// Absent: as configured, else the endpoint's usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// One of `realtime/voices`. Absent: as configured, else the version's usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voice: Option<String>,
    #[serde(default)]
    pub output_modality: RealtimeModality,
    /// Takes the place of the built-in instructions for the voice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Whether the voice is told what the written conversation is about. Absent: it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_startup_context: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct RealtimeStartResult {
    /// Stands in everything that follows of it, also in the error if it cannot be started.
    pub realtime_id: RealtimeId,
    pub version: RealtimeVersion,
    pub model: String,
    pub voice: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct RealtimeAudioParams {
    pub thread_id: ThreadId,
    pub audio: RealtimeAudio,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct RealtimeAudioResult {}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct RealtimeTextParams {
    pub thread_id: ThreadId,
    /// Said to the voice alone, which answers it; the written conversation hears nothing of it.
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct RealtimeTextResult {}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct RealtimeCloseParams {
    pub thread_id: ThreadId,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct RealtimeCloseResult {
    /// Whether there was one to end.
    pub closing: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct RealtimeVoicesParams {}

/// The voices of one version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct RealtimeVoices {
    pub voices: Vec<String>,
    /// The one that is taken where none is named.
    pub usual: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct RealtimeVoicesResult {
    pub v1: RealtimeVoices,
    pub v2: RealtimeVoices,
}

/// Why a realtime conversation is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum RealtimeEnd {
    /// By `realtime/close`.
    Requested,
    /// Another one took its place.
    Replaced,
    /// Its thread ended.
    ThreadClosed,
    /// The endpoint ended it.
    Endpoint,
    /// The connection broke, or what came over it could not be understood.
    Failed,
}
