//! The reviewer's answer, read with patience for its form and none for its meaning.

use crate::protocol::guardian::{Risk, RiskLevel};
use serde_json::{Map, Value, json};

/// Characters of a rationale that are kept.
const MOST_WORDS: usize = 1000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub allows: bool,
    pub risk_level: Option<RiskLevel>,
    pub rationale: String,
}

pub(super) fn verdict_schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["outcome", "risk_level", "rationale"],
        "properties": {
            "outcome": {"type": "string", "enum": ["allow", "deny"]},
            "risk_level": {"type": "string", "enum": ["low", "medium", "high", "critical"]},
            "rationale": {"type": "string"},
        },
    })
}

pub(super) fn risk_schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["risk_level", "description"],
        "properties": {
            "risk_level": {"type": "string", "enum": ["low", "medium", "high", "critical"]},
            "description": {"type": "string"},
        },
    })
}

/// The verdict in an answer; none where the answer does not clearly say one.
pub(super) fn verdict(text: &str) -> Option<Verdict> {
    let object = object(text)?;
    let allows = match word(&object, &["outcome", "decision", "verdict"])?.as_str() {
        "allow" | "allowed" | "approve" | "approved" | "accept" => true,
        "deny" | "denied" | "reject" | "rejected" | "decline" => false,
        _ => return None,
    };
    let rationale = words(&object, &["rationale", "reason", "explanation"]);
    Some(Verdict {
        allows,
        risk_level: risk_level(&object),
        rationale: rationale.unwrap_or_else(|| "It gave no reason.".to_owned()),
    })
}

/// The risk in an answer.
pub(super) fn risk(text: &str) -> Option<Risk> {
    let object = object(text)?;
    Some(Risk {
        level: risk_level(&object)?,
        description: words(&object, &["description", "rationale", "reason"])?,
    })
}

/// The one JSON object of an answer: the whole text, or what stands from the first brace to the last. Two of them are none:
/// one could be quoted from what is judged.
fn object(text: &str) -> Option<Map<String, Value>> {
    let whole = serde_json::from_str(text.trim());
    let inner = || {
        let (start, end) = (text.find('{')?, text.rfind('}')?);
        serde_json::from_str(text.get(start..=end)?).ok()
    };
    whole.ok().or_else(inner)
}

/// A word under the first of these names that is there.
fn word(object: &Map<String, Value>, names: &[&str]) -> Option<String> {
    let value = names.iter().find_map(|name| object.get(*name))?;
    Some(value.as_str()?.trim().to_lowercase())
}

fn words(object: &Map<String, Value>, names: &[&str]) -> Option<String> {
    let value = names.iter().find_map(|name| object.get(*name))?;
    let text = value.as_str()?.trim();
    let kept: String = text.chars().take(MOST_WORDS).collect();
    (!kept.is_empty()).then_some(kept)
}

fn risk_level(object: &Map<String, Value>) -> Option<RiskLevel> {
    Some(
        match word(object, &["risk_level", "riskLevel", "risk", "level"])?.as_str() {
            "low" => RiskLevel::Low,
            "medium" | "moderate" => RiskLevel::Medium,
            "high" => RiskLevel::High,
            "critical" | "extreme" => RiskLevel::Critical,
            _ => return None,
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_by_table() {
        for (text, expected) in [
            (
                r#"{"outcome":"allow","risk_level":"low","rationale":"fine"}"#,
                Some(true),
            ),
            (
                "```json\n{\"outcome\": \"Deny\", \"rationale\": \"no\"}\n```",
                Some(false),
            ),
            (r#"I think so. {"decision":"approved"} That is all."#, Some(true)),
            (r#"{"outcome":"rejected","risk_level":7}"#, Some(false)),
            ("allow", None),
            ("", None),
            ("{", None),
            ("}{", None),
            (r#"{"outcome":true}"#, None),
            (r#"{"outcome":"maybe"}"#, None),
            (r#"{"outcome":"allow or deny"}"#, None),
            (r#"["allow"]"#, None),
            (r#"{"rationale":"allow"}"#, None),
            (r#"{"outcome":"allow"} {"outcome":"deny"}"#, None),
        ] {
            assert_eq!(verdict(text).map(|verdict| verdict.allows), expected, "{text}");
        }
        let whole = verdict(r#"{"outcome":"deny","risk_level":"Critical","rationale":" It wipes the disk. "}"#);
        let expected = Verdict {
            allows: false,
            risk_level: Some(RiskLevel::Critical),
            rationale: "It wipes the disk.".to_owned(),
        };
        assert_eq!(whole, Some(expected));
    }

    #[test]
    fn risks_by_table() {
        for (text, expected) in [
            (
                r#"{"risk_level":"high","description":"It deletes."}"#,
                Some(RiskLevel::High),
            ),
            (r#"{"risk_level":"high"}"#, None),
            (r#"{"risk_level":"huge","description":"It deletes."}"#, None),
            ("high", None),
        ] {
            assert_eq!(risk(text).map(|risk| risk.level), expected, "{text}");
        }
    }
}
