//! The reviewer's answer: the form in which it is asked for, and what is read out of whatever comes. Much is forgiven in the
//! form, since a review is dear; what cannot be read at all is shown as it is.

use crate::protocol::review::{ReviewFinding, ReviewVerdict};
use serde_json::{Map, Value, json};

/// Characters of a title.
const MOST_TITLE: usize = 80;
/// Characters of a body, and of the explanation.
const MOST_BODY: usize = 8000;
const MOST_EXPLANATION: usize = 16_000;
/// Findings that are taken; nobody reads more.
const MOST_FINDINGS: usize = 200;
/// Of a finding that names none.
const USUAL_PRIORITY: u8 = 2;
const USUAL_CONFIDENCE: f64 = 0.5;

/// What the reviewer says. The places of its findings are claims.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Answer {
    pub(super) findings: Vec<(ReviewFinding, Option<Claim>)>,
    pub(super) verdict: Option<ReviewVerdict>,
    pub(super) explanation: String,
    pub(super) confidence: Option<f64>,
    /// It has no list of findings, nor says that there is nothing to find.
    pub(super) is_unlisted: bool,
}

/// Where the reviewer says that a finding lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    /// As it was written.
    pub(super) path: String,
    /// First and last line, counted from 1, in their order.
    pub(super) first: u32,
    pub(super) last: u32,
}

/// The JSON schema of an answer.
pub(super) fn schema() -> Value {
    let object = |properties: Value| {
        let names: Vec<String> = properties
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, _)| name.clone())
            .collect();
        json!({"type": "object", "additionalProperties": false, "required": names, "properties": properties})
    };
    let share = json!({"type": "number", "minimum": 0, "maximum": 1});
    let line = json!({"type": "integer", "minimum": 1});
    let finding = object(json!({
        "title": {"type": "string", "maxLength": MOST_TITLE},
        "body": {"type": "string"},
        "confidence_score": share,
        "priority": {"type": "integer", "minimum": 0, "maximum": 3},
        "code_location": object(json!({
            "absolute_file_path": {"type": "string"},
            "line_range": object(json!({"start": line, "end": line})),
        })),
    }));
    object(json!({
        "findings": {"type": "array", "items": finding},
        "overall_correctness": {"type": "string", "enum": [ReviewVerdict::Correct, ReviewVerdict::Incorrect]},
        "overall_explanation": {"type": "string"},
        "overall_confidence_score": share,
    }))
}

/// Reads an answer: the whole text as JSON, else what stands from the first brace to the last, else the text itself as the
/// explanation.
pub(super) fn read(text: &str) -> Answer {
    let text = text.trim_start_matches('\u{feff}').trim();
    let whole = || answer(&serde_json::from_str(text).ok()?);
    let inner = || {
        let (start, end) = (text.find('{')?, text.rfind('}')?);
        answer(&serde_json::from_str(text.get(start..=end)?).ok()?)
    };
    whole().or_else(inner).unwrap_or_else(|| Answer {
        explanation: cut(text, MOST_EXPLANATION),
        is_unlisted: true,
        ..Answer::default()
    })
}

/// None where the JSON is about something else.
fn answer(value: &Value) -> Option<Answer> {
    let object = value.as_object()?;
    let list = get(object, &["findings"]).and_then(Value::as_array);
    let verdict = get(object, &["overall_correctness", "correctness", "verdict"]).and_then(verdict);
    let explanation = words(object, &["overall_explanation", "explanation", "summary"]);
    if list.is_none() && verdict.is_none() && explanation.is_none() {
        return None;
    }
    let mut findings: Vec<(ReviewFinding, Option<Claim>)> = Vec::new();
    for found in list.into_iter().flatten().filter_map(finding) {
        if findings.len() < MOST_FINDINGS && !findings.contains(&found) {
            findings.push(found);
        }
    }
    Some(Answer {
        findings,
        is_unlisted: list.is_none() && verdict != Some(ReviewVerdict::Correct),
        verdict,
        explanation: cut(&explanation.unwrap_or_default(), MOST_EXPLANATION),
        confidence: get(object, &["overall_confidence_score", "confidence_score", "confidence"]).and_then(share),
    })
}

fn finding(value: &Value) -> Option<(ReviewFinding, Option<Claim>)> {
    let object = value.as_object()?;
    let body = words(object, &["body", "description", "message", "explanation"]).unwrap_or_default();
    let title = words(object, &["title", "name", "summary"]);
    let title = title.unwrap_or_else(|| body.lines().next().unwrap_or_default().to_owned());
    let (tag, title) = tagged(&one_line(&title));
    if title.is_empty() {
        return None;
    }
    let priority = get(object, &["priority", "severity"]).and_then(priority).or(tag);
    let confidence = get(object, &["confidence_score", "confidence"]).and_then(share);
    let finding = ReviewFinding {
        title: cut(&title, MOST_TITLE),
        body: cut(&body, MOST_BODY),
        confidence_score: confidence.unwrap_or(USUAL_CONFIDENCE),
        priority: priority.unwrap_or(USUAL_PRIORITY),
        code_location: None,
    };
    let place = get(object, &["code_location", "location"]).and_then(Value::as_object);
    Some((finding, claim(place.unwrap_or(object))))
}

fn claim(place: &Map<String, Value>) -> Option<Claim> {
    let path = words(place, &["absolute_file_path", "file_path", "path", "file"])?;
    let (first, last) = match get(place, &["line_range", "lines", "range", "line"]) {
        Some(lines) => lines_of(lines),
        None => (
            get(place, &["start_line", "start"]).and_then(line),
            get(place, &["end_line", "end"]).and_then(line),
        ),
    };
    let first = first.or(last)?;
    let last = last.unwrap_or(first);
    Some(Claim {
        path,
        first: first.min(last),
        last: first.max(last),
    })
}

/// First and last line of `{"start": 1, "end": 2}`, `[1, 2]`, `"1-2"` and `1`.
fn lines_of(value: &Value) -> (Option<u32>, Option<u32>) {
    match value {
        Value::Object(range) => (
            get(range, &["start", "start_line", "first"]).and_then(line),
            get(range, &["end", "end_line", "last"]).and_then(line),
        ),
        Value::Array(range) => (range.first().and_then(line), range.get(1).and_then(line)),
        Value::String(text) => {
            let mut numbers = text
                .split(|c: char| !c.is_ascii_digit())
                .filter(|part| !part.is_empty());
            let mut next = || numbers.next().and_then(|part| line(&Value::from(part)));
            (next(), next())
        }
        one => (line(one), None),
    }
}

/// A line number; what lies before the first line is the first.
fn line(value: &Value) -> Option<u32> {
    let number = number(value)?;
    Some(if number < 1.0 { 1 } else { number as u32 })
}

fn share(value: &Value) -> Option<f64> {
    let share = number(value)?;
    // Some count in per cent.
    let share = if share > 1.0 && share <= 100.0 {
        share / 100.0
    } else {
        share
    };
    Some(share.clamp(0.0, 1.0))
}

fn priority(value: &Value) -> Option<u8> {
    let number = match value {
        Value::String(text) => text.trim().trim_start_matches(['P', 'p']).parse().ok()?,
        other => number(other)?,
    };
    Some(number.round().clamp(0.0, 3.0) as u8)
}

fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    number.is_finite().then_some(number)
}

fn verdict(value: &Value) -> Option<ReviewVerdict> {
    let text = value.as_str()?.to_lowercase();
    match (
        text.contains("correct"),
        text.contains("incorrect") || text.contains("not correct"),
    ) {
        (_, true) => Some(ReviewVerdict::Incorrect),
        (true, false) => Some(ReviewVerdict::Correct),
        (false, false) => None,
    }
}

/// A title without the priority in brackets that some put before it.
fn tagged(title: &str) -> (Option<u8>, String) {
    let tag = title.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let read = tag.and_then(|(tag, rest)| {
        let number = tag.trim().strip_prefix(['P', 'p'])?;
        Some((priority(&Value::from(number))?, rest.trim().to_owned()))
    });
    match read {
        Some((priority, rest)) => (Some(priority), rest),
        None => (None, title.to_owned()),
    }
}

/// The value under the first of these names that is there, in either way of writing.
fn get<'v>(object: &'v Map<String, Value>, names: &[&str]) -> Option<&'v Value> {
    let known = |name: &&str| object.get(*name).or_else(|| object.get(&camel(name)));
    names.iter().filter_map(known).find(|value| !value.is_null())
}

fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |mut all, word| {
        let mut letters = word.chars();
        all.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        all.push_str(letters.as_str());
        all
    })
}

/// A text that says something.
fn words(object: &Map<String, Value>, names: &[&str]) -> Option<String> {
    let text = get(object, names)?.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// At most so many characters, the last one telling that there were more.
pub(super) fn cut(text: &str, most: usize) -> String {
    if text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    let mut kept: String = text.chars().take(most - 1).collect();
    kept.truncate(kept.trim_end().len());
    kept.push('…');
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole() -> Value {
        json!({
            "findings": [{
                "title": "Check the length before the first byte is read",
                "body": "An empty file panics.",
                "confidence_score": 0.9,
                "priority": 1,
                "code_location": {"absolute_file_path": "/w/src/a.rs", "line_range": {"start": 10, "end": 12}},
            }],
            "overall_correctness": "patch is incorrect",
            "overall_explanation": "It panics.",
            "overall_confidence_score": 0.8,
        })
    }

    fn claim(path: &str, first: u32, last: u32) -> Option<Claim> {
        let path = path.to_owned();
        Some(Claim { path, first, last })
    }

    /// Shows S-254.
    #[test]
    fn answers_are_found_in_what_is_around_them() {
        let json = whole().to_string();
        let expected = answer(&whole()).expect("an answer");
        assert_eq!(expected.findings.len(), 1);
        assert_eq!(expected.findings[0].1, claim("/w/src/a.rs", 10, 12));
        assert_eq!(
            (expected.verdict, expected.confidence, expected.explanation.as_str()),
            (Some(ReviewVerdict::Incorrect), Some(0.8), "It panics.")
        );
        for text in [
            json.clone(),
            format!("\u{feff}  {json}\n"),
            format!("```json\n{json}\n```"),
            format!("Here is what I found:\n\n{json}\n\nThat is all."),
            format!(
                "```\n{}\n```\nDone.",
                serde_json::to_string_pretty(&whole()).expect("JSON")
            ),
        ] {
            assert_eq!(read(&text), expected, "{text}");
        }
        for text in [
            "Everything is fine.",
            "",
            "}{",
            "} backwards {",
            "{",
            "{}",
            "[]",
            "null",
            "\"findings\"",
            "{\"findings\": [}",
            "{\"answer\": 42}",
            "Two: {\"findings\": []} and {\"findings\": []}",
            "{\"findings\": \"none\"}",
        ] {
            let only = Answer {
                explanation: text.to_owned(),
                is_unlisted: true,
                ..Answer::default()
            };
            assert_eq!(read(text), only, "{text}");
        }
        let empty = read("{\"findings\": []}");
        assert_eq!(empty, Answer::default());
        // A verdict without a list says enough only where there is nothing to find.
        assert!(!read("{\"overall_correctness\": \"patch is correct\"}").is_unlisted);
        assert!(read("{\"overall_correctness\": \"patch is incorrect\"}").is_unlisted);
    }

    #[test]
    fn fields_by_table() {
        let one = |field: &str, value: Value| {
            let mut finding = whole()["findings"][0].clone();
            match value {
                Value::Null => drop(finding.as_object_mut().expect("an object").remove(field)),
                value => finding[field] = value,
            }
            let read = read(&json!({"findings": [finding]}).to_string());
            read.findings.into_iter().next()
        };
        for (value, expected) in [
            (json!(0), 0),
            (json!(3), 3),
            (json!(4), 3),
            (json!(-1), 0),
            (json!("P0"), 0),
            (json!("2"), 2),
            (json!(1.0), 1),
            (json!("high"), USUAL_PRIORITY),
            (json!([]), USUAL_PRIORITY),
            (Value::Null, USUAL_PRIORITY),
        ] {
            assert_eq!(
                one("priority", value.clone()).expect("one").0.priority,
                expected,
                "{value}"
            );
        }
        for (value, expected) in [
            (json!(0.25), 0.25),
            (json!(1), 1.0),
            (json!(-2), 0.0),
            (json!(85), 0.85),
            (json!(1000), 1.0),
            (json!("0.5"), 0.5),
            (json!("sure"), USUAL_CONFIDENCE),
            (Value::Null, USUAL_CONFIDENCE),
        ] {
            let read = one("confidence_score", value.clone()).expect("one").0.confidence_score;
            assert!((read - expected).abs() < 1e-9, "{value}: {read}");
        }
        let place = |lines: Value| json!({"absolute_file_path": "/w/a", "line_range": lines});
        for (value, expected) in [
            (place(json!({"start": 3, "end": 3})), claim("/w/a", 3, 3)),
            (place(json!({"start": 9, "end": 3})), claim("/w/a", 3, 9)),
            (place(json!({"start": 9})), claim("/w/a", 9, 9)),
            (place(json!({"end": 9})), claim("/w/a", 9, 9)),
            (place(json!({"start": 0, "end": -5})), claim("/w/a", 1, 1)),
            (place(json!({"start": "4", "end": "5"})), claim("/w/a", 4, 5)),
            (place(json!([7, 8])), claim("/w/a", 7, 8)),
            (place(json!("7-8")), claim("/w/a", 7, 8)),
            (place(json!("L7")), claim("/w/a", 7, 7)),
            (place(json!(7)), claim("/w/a", 7, 7)),
            (place(json!({"start": 1e300, "end": 1})), claim("/w/a", 1, u32::MAX)),
            (place(json!({})), None),
            (place(json!("somewhere")), None),
            (json!({"path": "a.rs", "line": 3}), claim("a.rs", 3, 3)),
            (
                json!({"filePath": "a.rs", "startLine": 3, "endLine": 4}),
                claim("a.rs", 3, 4),
            ),
            (
                json!({"absolute_file_path": "", "line_range": {"start": 1, "end": 1}}),
                None,
            ),
            (json!("src/a.rs:3"), None),
            (Value::Null, None),
        ] {
            assert_eq!(one("code_location", value.clone()).expect("one").1, expected, "{value}");
        }
        for (value, expected) in [
            (json!("Mend it"), Some((1, "Mend it"))),
            (json!(" Mend\n it "), Some((1, "Mend it"))),
            (json!("[P0] Mend it"), Some((1, "Mend it"))),
            (json!("[p3]Mend it"), Some((1, "Mend it"))),
            (json!("[x] Mend it"), Some((1, "[x] Mend it"))),
            (json!(""), Some((1, "An empty file panics."))),
            (json!(7), Some((1, "An empty file panics."))),
        ] {
            let read = one("title", value.clone()).map(|(found, _)| (found.priority, found.title));
            let expected = expected.map(|(priority, title)| (priority, title.to_owned()));
            assert_eq!(read, expected, "{value}");
        }
        let tagged = read(r#"{"findings": [{"title": "[P3] Mend it"}, {"body": ""}, 7, null]}"#);
        assert_eq!(tagged.findings.len(), 1);
        assert_eq!(tagged.findings[0].0.priority, 3);
        let long = one("title", json!("ä".repeat(200))).expect("one").0.title;
        assert_eq!(long.chars().count(), MOST_TITLE);
        let verdicts = [
            (json!("patch is correct"), Some(ReviewVerdict::Correct)),
            (json!("Patch is INCORRECT"), Some(ReviewVerdict::Incorrect)),
            (json!("not correct"), Some(ReviewVerdict::Incorrect)),
            (json!("maybe"), None),
            (json!(true), None),
        ];
        for (value, expected) in verdicts {
            assert_eq!(verdict(&value), expected, "{value}");
        }
    }

    #[test]
    fn there_is_an_end_to_it_and_nothing_is_told_twice() {
        let many: Vec<Value> = (0..1000).map(|n| json!({"title": format!("Mend {n}")})).collect();
        assert_eq!(
            read(&json!({"findings": many}).to_string()).findings.len(),
            MOST_FINDINGS
        );
        let twice = json!({"findings": [whole()["findings"][0], whole()["findings"][0]]});
        assert_eq!(read(&twice.to_string()).findings.len(), 1);
        let long = read(&"x".repeat(1 << 20));
        assert_eq!(long.explanation.chars().count(), MOST_EXPLANATION);
    }

    /// Shows S-253.
    #[test]
    fn the_form_that_is_asked_for_names_every_field_and_allows_no_other() {
        fn check(schema: &Value, sample: &Value) {
            match sample {
                Value::Object(fields) => {
                    assert_eq!(schema["additionalProperties"], false);
                    let names: Vec<&String> = fields.keys().collect();
                    let required = schema["required"].as_array().expect("a list").iter();
                    let required: Vec<&str> = required.map(|name| name.as_str().expect("a name")).collect();
                    assert_eq!(names, required);
                    fields
                        .iter()
                        .for_each(|(name, value)| check(&schema["properties"][name], value));
                }
                Value::Array(items) => items.iter().for_each(|item| check(&schema["items"], item)),
                Value::String(text) => {
                    assert_eq!(schema["type"], "string");
                    let words = schema["enum"].as_array();
                    assert!(words.is_none_or(|words| words.contains(&json!(text))), "{text}");
                }
                Value::Number(number) => {
                    let (least, most) = (schema["minimum"].as_f64(), schema["maximum"].as_f64());
                    let number = number.as_f64().expect("a number");
                    assert!(least.is_none_or(|least| least <= number) && most.is_none_or(|most| number <= most));
                }
                other => panic!("{other}"),
            }
        }
        check(&schema(), &whole());
        let properties = &schema()["properties"];
        assert_eq!(
            properties["overall_correctness"]["enum"],
            json!(["patch is correct", "patch is incorrect"])
        );
        let finding = &properties["findings"]["items"]["properties"];
        assert_eq!(finding["title"]["maxLength"], 80);
        assert_eq!(
            (&finding["priority"]["minimum"], &finding["priority"]["maximum"]),
            (&json!(0), &json!(3))
        );
    }
}
