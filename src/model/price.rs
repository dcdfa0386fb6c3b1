//! What a model's tokens cost by its provider's list, or as the person says: an estimate in US dollars.
//!
//! `list.tsv` has a row for each model: provider, name, and dollars for a million tokens of input, of input read from the provider's
//! cache, of input written into it, and of output. The figures are those of LiteLLM's table of prices as of [`LISTED`]. Prices that
//! depend on the length of a request, on batches or on service tiers are not in it.

use crate::config::models::Price;
use crate::model::ModelClient;
use crate::protocol::model::TokenUsage;
use url::Url;

/// The day of the list.
pub const LISTED: &str = "2026-07-24";
const LIST: &str = include_str!("price/list.tsv");

/// Providers of the list, by the hosts at which they answer.
const HOSTS: &[(&str, &str)] = &[
    ("api.anthropic.com", "anthropic"),
    ("api.cerebras.ai", "cerebras"),
    ("api.deepseek.com", "deepseek"),
    ("api.groq.com", "groq"),
    ("api.mistral.ai", "mistral"),
    ("api.moonshot.ai", "moonshot"),
    ("api.openai.com", "openai"),
    ("api.x.ai", "xai"),
    ("api.z.ai", "zai"),
    ("generativelanguage.googleapis.com", "gemini"),
    ("openrouter.ai", "openrouter"),
];

/// The price of a model where it is paid by the token: with a key, at the provider itself.
pub fn listed(client: &ModelClient, model: &str) -> Option<Price> {
    if !client.is_paid_by_key() {
        return None;
    }
    let url = Url::parse(&client.provider().base_url).ok()?;
    let (_, provider) = HOSTS.iter().find(|(host, _)| url.host_str() == Some(host))?;
    of(provider, model)
}

fn of(provider: &str, model: &str) -> Option<Price> {
    let model = model.to_ascii_lowercase();
    row(provider, &model).or_else(|| row(provider, undated(&model)?))
}

/// A name without the day of the version behind it, or without `-latest`.
fn undated(model: &str) -> Option<&str> {
    let cut = |length: usize| model.split_at_checked(model.len().checked_sub(length)?);
    let dated = [11, 9].into_iter().filter_map(cut).find(|(_, day)| is_day(day));
    dated.map(|(name, _)| name).or_else(|| model.strip_suffix("-latest"))
}

/// `-2025-04-14`, `-20250414`.
fn is_day(text: &str) -> bool {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let dashes = text.chars().filter(|c| *c == '-').count();
    digits.len() == 8
        && digits.starts_with("20")
        && digits.len() + dashes == text.len()
        && text.starts_with('-')
        && (dashes == 1 || dashes == 3)
}

fn row(provider: &str, model: &str) -> Option<Price> {
    let fields = LIST.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let mut fits = fields.filter(|fields| fields[..2] == [provider, model]);
    let fields = fits.next()?;
    let number = |at: usize| fields.get(at).and_then(|text| text.parse().ok());
    Some(Price {
        input: number(2)?,
        cached_input: number(3),
        cache_write: number(4),
        output: number(5)?,
    })
}

impl Price {
    /// What a response cost, in US dollars. Where no price is known for the provider's cache, that of input counts.
    pub fn of_usage(&self, usage: &TokenUsage) -> f64 {
        let (cached, written) = (usage.cached_input_tokens, usage.cache_write_input_tokens);
        let fresh = usage.input_tokens.saturating_sub(cached).saturating_sub(written);
        let sum = f64::from(fresh) * self.input
            + f64::from(cached) * self.cached_input.unwrap_or(self.input)
            + f64::from(written) * self.cache_write.unwrap_or(self.input)
            + f64::from(usage.output_tokens) * self.output;
        sum / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_can_be_read() {
        let mut rows = Vec::new();
        for line in LIST.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            assert_eq!(fields.len(), 6, "{line}");
            assert!(HOSTS.iter().any(|(_, provider)| *provider == fields[0]), "{line}");
            let price = row(fields[0], fields[1]).expect(line);
            assert!(
                price.output >= 0.0 && price.input >= 0.0 && price.output < 1000.0,
                "{line}"
            );
            assert!(price.cached_input.is_none_or(|cached| cached <= price.input), "{line}");
            rows.push((fields[0], fields[1]));
        }
        let count = rows.len();
        rows.sort_unstable();
        rows.dedup();
        assert_eq!(rows.len(), count, "no model stands there twice");
    }

    #[test]
    fn models_are_found_by_their_names_with_and_without_a_day() {
        for (provider, model, input) in [
            ("openai", "gpt-5", Some(1.25)),
            ("openai", "gpt-5-2025-08-07", Some(1.25)),
            ("openai", "gpt-4o-2024-05-13", Some(5.0)),
            ("openai", "GPT-5-Codex", Some(1.25)),
            ("anthropic", "claude-haiku-4-5-20251001", Some(1.0)),
            ("anthropic", "claude-haiku-4-5", Some(1.0)),
            ("anthropic", "claude-4-opus-20250514", Some(15.0)),
            ("openai", "gpt-9-nobody-knows", None),
            ("openai", "claude-haiku-4-5", None),
            ("openai", "", None),
            ("openai", "-2025-08-07", None),
            ("openai", "é-2025-08-07", None),
        ] {
            assert_eq!(
                of(provider, model).map(|price| price.input),
                input,
                "{provider} {model}"
            );
        }
    }

    #[test]
    fn each_sort_of_token_has_its_price() {
        let price = Price {
            input: 3.0,
            cached_input: Some(0.3),
            cache_write: Some(3.75),
            output: 15.0,
        };
        let usage = TokenUsage {
            input_tokens: 1_000_000,
            cached_input_tokens: 400_000,
            cache_write_input_tokens: 100_000,
            output_tokens: 10_000,
            ..TokenUsage::default()
        };
        let cost = 0.5 * 3.0 + 0.4 * 0.3 + 0.1 * 3.75 + 0.01 * 15.0;
        assert!((price.of_usage(&usage) - cost).abs() < 1e-9);
        let plain = Price {
            cached_input: None,
            cache_write: None,
            ..price
        };
        assert!((plain.of_usage(&usage) - (3.0 + 0.15)).abs() < 1e-9);
    }
}
