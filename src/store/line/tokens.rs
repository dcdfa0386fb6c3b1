//! Tokens, as rollouts count them.

use crate::protocol::model::{Cost, ThreadTokenUsage, TokenUsage};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TokenInfo {
    #[serde(default)]
    pub total_token_usage: TokenCounts,
    #[serde(default)]
    pub last_token_usage: TokenCounts,
    #[serde(default)]
    pub model_context_window: Option<u64>,
    /// Ours alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

/// Tokens as rollouts write them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenCounts {
    pub input_tokens: u64,
    pub cached_input_tokens: u64,
    /// Ours alone.
    #[serde(skip_serializing_if = "is_none")]
    pub cache_write_input_tokens: u64,
    pub output_tokens: u64,
    pub reasoning_output_tokens: u64,
    pub total_tokens: u64,
}

impl From<TokenUsage> for TokenCounts {
    fn from(usage: TokenUsage) -> Self {
        Self {
            input_tokens: usage.input_tokens.into(),
            cached_input_tokens: usage.cached_input_tokens.into(),
            cache_write_input_tokens: usage.cache_write_input_tokens.into(),
            output_tokens: usage.output_tokens.into(),
            reasoning_output_tokens: usage.reasoning_output_tokens.into(),
            total_tokens: usage.total_tokens.into(),
        }
    }
}

impl From<TokenCounts> for TokenUsage {
    fn from(counts: TokenCounts) -> Self {
        let narrow = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        Self {
            input_tokens: narrow(counts.input_tokens),
            cached_input_tokens: narrow(counts.cached_input_tokens),
            cache_write_input_tokens: narrow(counts.cache_write_input_tokens),
            output_tokens: narrow(counts.output_tokens),
            reasoning_output_tokens: narrow(counts.reasoning_output_tokens),
            total_tokens: narrow(counts.total_tokens),
        }
    }
}

impl From<ThreadTokenUsage> for TokenInfo {
    fn from(usage: ThreadTokenUsage) -> Self {
        Self {
            total_token_usage: usage.total.into(),
            last_token_usage: usage.last.into(),
            model_context_window: usage.model_context_window.map(u64::from),
            cost: usage.cost,
        }
    }
}

impl From<TokenInfo> for ThreadTokenUsage {
    fn from(info: TokenInfo) -> Self {
        Self {
            last: info.last_token_usage.into(),
            total: info.total_token_usage.into(),
            model_context_window: info.model_context_window.and_then(|window| u32::try_from(window).ok()),
            cost: info.cost,
        }
    }
}
