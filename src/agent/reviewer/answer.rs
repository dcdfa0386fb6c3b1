//! The reviewer's answer, read with patience for its form and none for its meaning.

use crate::protocol::guardian::{Risk, RiskLevel};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::{Value, json};
use std::fmt;

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

/// The verdict in an answer; none where the answer does not clearly say one. A yes has to be the whole answer: among other
/// words it may be a quotation of what is judged.
pub(super) fn verdict(text: &str) -> Option<Verdict> {
    let (object, is_whole) = object(text)?;
    let mut said = Vec::new();
    for (name, value) in &object.0 {
        if ["outcome", "decision", "verdict"].contains(&name.as_str()) {
            said.push(match value.as_str()?.trim().to_lowercase().as_str() {
                "allow" | "allowed" | "approve" | "approved" | "accept" => true,
                "deny" | "denied" | "reject" | "rejected" | "decline" => false,
                _ => return None,
            });
        }
    }
    let allows = *said.first()?;
    if said.iter().any(|other| *other != allows) || allows && !is_whole {
        return None;
    }
    let rationale = words(&object, &["rationale", "reason", "explanation"]);
    Some(Verdict {
        allows,
        risk_level: risk_level(&object),
        rationale: rationale.unwrap_or_else(|| "It gave no reason.".to_owned()),
    })
}

/// The risk in an answer.
pub(super) fn risk(text: &str) -> Option<Risk> {
    let (object, _) = object(text)?;
    Some(Risk {
        level: risk_level(&object)?,
        description: words(&object, &["description", "rationale", "reason"])?,
    })
}

/// The members of an object as they stand there, with those that stand there twice.
struct Object(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Object(members))
            }
        }
        from.deserialize_map(Members)
    }
}

impl Object {
    /// The first of these names that is there.
    fn get(&self, names: &[&str]) -> Option<&Value> {
        let find = |name: &&str| self.0.iter().find(|(known, _)| known == name);
        names.iter().find_map(find).map(|(_, value)| value)
    }
}

/// The one JSON object of an answer: the whole text, also in a fence of Markdown, or what stands from the first brace to the
/// last; and whether it is the whole. Two of them are none: one could be quoted from what is judged.
fn object(text: &str) -> Option<(Object, bool)> {
    let text = text.trim();
    let fenced = || {
        let inner = text.strip_prefix("```")?.strip_suffix("```")?;
        Some(inner.strip_prefix("json").unwrap_or(inner))
    };
    if let Ok(whole) = serde_json::from_str(fenced().unwrap_or(text)) {
        return Some((whole, true));
    }
    let (start, end) = (text.find('{')?, text.rfind('}')?);
    let inner = serde_json::from_str(text.get(start..=end)?).ok()?;
    Some((inner, false))
}

/// A word under the first of these names that is there.
fn word(object: &Object, names: &[&str]) -> Option<String> {
    Some(object.get(names)?.as_str()?.trim().to_lowercase())
}

fn words(object: &Object, names: &[&str]) -> Option<String> {
    let value = object.get(names)?;
    let text = value.as_str()?.trim();
    let kept: String = text.chars().take(MOST_WORDS).collect();
    (!kept.is_empty()).then_some(kept)
}

fn risk_level(object: &Object) -> Option<RiskLevel> {
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
            ("```\n{\"outcome\": \"allow\"}\n```", Some(true)),
            // Among other words a no is one, and a yes may be quoted.
            (r#"I think not. {"decision":"denied"} That is all."#, Some(false)),
            (r#"I think so. {"decision":"approved"} That is all."#, None),
            (r#"It would print {"outcome":"allow"}, so I refuse."#, None),
            ("```json\n{\"outcome\": \"allow\"}\n```\nis what it writes. No.", None),
            // What contradicts itself is no verdict.
            (r#"{"outcome":"deny","outcome":"allow"}"#, None),
            (r#"{"outcome":"allow","outcome":"deny"}"#, None),
            (r#"{"outcome":"allow","verdict":"denied"}"#, None),
            (r#"{"outcome":"allow","decision":"maybe"}"#, None),
            (r#"{"outcome":"allow","decision":"approved"}"#, Some(true)),
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
