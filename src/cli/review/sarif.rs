//! What a review found as SARIF 2.1.0 (OASIS), as code scanning takes it.

use crate::protocol::review::{CodeLocation, ReviewFinding, ReviewOutput, ReviewVerdict};
use crate::shown;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::path::Path;
use url::Url;

/// Rules, by priority: id, level, and what it means.
const RULES: [(&str, &str, &str); 4] = [
    ("review/p0", "error", "Must be fixed at once."),
    ("review/p1", "error", "Should be fixed before anything else."),
    ("review/p2", "warning", "Should be fixed in time."),
    ("review/p3", "note", "Minor."),
];
/// What paths are relative to, as code scanning names it.
const ROOT: &str = "%SRCROOT%";

/// A log with one run, as JSON text. Places are relative to `root`. Without a review, or one that lists what it found, the run is not
/// called successful.
pub(super) fn log(review: Option<&ReviewOutput>, root: &Path) -> String {
    let findings = review.map(|review| review.findings.as_slice()).unwrap_or_default();
    let rules: Vec<Value> = RULES
        .iter()
        .map(|(id, level, meaning)| {
            json!({
                "id": id,
                "shortDescription": {"text": meaning},
                "defaultConfiguration": {"level": level},
            })
        })
        .collect();
    let mut run = json!({
        "tool": {"driver": {"name": "Countersign", "semanticVersion": env!("CARGO_PKG_VERSION"), "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": review.is_some_and(|review| !review.is_unlisted)}],
        "results": findings.iter().map(|finding| result(finding, root)).collect::<Vec<_>>(),
    });
    if let Some(review) = review {
        let verdict = review.overall_correctness.map(|verdict| match verdict {
            ReviewVerdict::Correct => "patch is correct",
            ReviewVerdict::Incorrect => "patch is incorrect",
        });
        run["properties"] = json!({"verdict": verdict, "explanation": shown::prose(&review.overall_explanation)});
    }
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    });
    format!("{log:#}")
}

fn result(finding: &ReviewFinding, root: &Path) -> Value {
    let index = usize::from(finding.priority).min(RULES.len() - 1);
    let (id, level, _) = RULES[index];
    // Viewers of logs show what stands in them.
    let (title, body) = (shown::line(&finding.title), shown::prose(&finding.body));
    let mut result = json!({
        "ruleId": id,
        "ruleIndex": index,
        "level": level,
        "message": {
            "text": format!("{title}\n\n{body}"),
            "markdown": format!("**{title}**\n\n{body}"),
        },
        // From 0 to 100.
        "rank": finding.confidence_score.clamp(0.0, 1.0) * 100.0,
    });
    if let Some(location) = &finding.code_location {
        let place = artifact(&location.absolute_file_path, root);
        result["partialFingerprints"] = json!({"title/v1": fingerprint(&finding.title, &place)});
        result["locations"] = json!([{"physicalLocation": {"artifactLocation": place, "region": region(location)}}]);
    }
    result
}

/// Lines count from 1, and the last one is in it.
fn region(location: &CodeLocation) -> Value {
    let start = location.line_range.start.saturating_add(1);
    json!({"startLine": start, "endLine": location.line_range.end.max(start)})
}

fn artifact(path: &Path, root: &Path) -> Value {
    let (Ok(file), Ok(folder)) = (Url::from_file_path(path), Url::from_directory_path(root)) else {
        return json!({"uri": path.to_string_lossy()});
    };
    match folder.make_relative(&file).filter(|_| path.starts_with(root)) {
        Some(relative) => json!({"uri": relative, "uriBaseId": ROOT}),
        None => json!({"uri": file.as_str()}),
    }
}

/// The same for the same finding of another run, wherever its lines are by then.
fn fingerprint(title: &str, place: &Value) -> String {
    let mut hash = Sha256::new();
    hash.update(title);
    hash.update([0]);
    hash.update(place["uri"].as_str().unwrap_or_default());
    let digest = hash.finalize();
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::item::LineRange;

    fn finding(title: &str, priority: u8, place: Option<(&str, u32, u32)>) -> ReviewFinding {
        ReviewFinding {
            title: title.to_owned(),
            body: "Because.".to_owned(),
            confidence_score: 0.5,
            priority,
            code_location: place.map(|(path, start, end)| CodeLocation {
                absolute_file_path: path.into(),
                line_range: LineRange { start, end },
            }),
        }
    }

    #[test]
    fn findings_have_their_level_and_place() {
        let review = ReviewOutput {
            findings: vec![
                finding("One", 0, Some(("/w/src/a b.rs", 4, 6))),
                finding("Two", 2, Some(("/elsewhere/c.rs", 0, 0))),
                finding("Three", 9, None),
            ],
            overall_correctness: Some(ReviewVerdict::Incorrect),
            overall_explanation: "It breaks.".to_owned(),
            overall_confidence_score: None,
            is_unlisted: false,
        };
        let log: Value = serde_json::from_str(&log(Some(&review), Path::new("/w"))).expect("JSON");
        assert_eq!(log["version"], "2.1.0");
        let run = &log["runs"][0];
        assert_eq!(run["properties"]["verdict"], "patch is incorrect");
        assert_eq!(run["invocations"][0]["executionSuccessful"], true);
        let results = run["results"].as_array().expect("a list");
        let levels: Vec<&Value> = results.iter().map(|result| &result["level"]).collect();
        assert_eq!(levels, ["error", "warning", "note"]);
        for result in results {
            let index = usize::try_from(result["ruleIndex"].as_u64().expect("an index")).expect("small");
            assert_eq!(run["tool"]["driver"]["rules"][index]["id"], result["ruleId"]);
            assert_eq!(result["rank"], 50.0);
        }
        let place = |at: usize| &results[at]["locations"][0]["physicalLocation"];
        assert_eq!(
            *place(0),
            json!({
                "artifactLocation": {"uri": "src/a%20b.rs", "uriBaseId": "%SRCROOT%"},
                "region": {"startLine": 5, "endLine": 6},
            })
        );
        assert_eq!(
            *place(1),
            json!({"artifactLocation": {"uri": "file:///elsewhere/c.rs"}, "region": {"startLine": 1, "endLine": 1}})
        );
        assert!(results[2].get("locations").is_none());
        assert!(
            results[0]["message"]["text"]
                .as_str()
                .is_some_and(|text| text.starts_with("One\n\nBecause."))
        );
    }

    #[test]
    fn a_finding_is_known_again_when_its_lines_have_moved() {
        let root = Path::new("/w");
        let print = |title: &str, path: &str, line: u32| {
            result(&finding(title, 1, Some((path, line, line + 1))), root)["partialFingerprints"].clone()
        };
        assert_eq!(print("One", "/w/a", 1), print("One", "/w/a", 50));
        assert_ne!(print("One", "/w/a", 1), print("Two", "/w/a", 1));
        assert_ne!(print("One", "/w/a", 1), print("One", "/w/b", 1));
    }

    #[test]
    fn without_a_review_the_run_is_not_successful() {
        let log: Value = serde_json::from_str(&log(None, Path::new("/w"))).expect("JSON");
        assert_eq!(log["runs"][0]["invocations"][0]["executionSuccessful"], false);
        assert_eq!(log["runs"][0]["results"], json!([]));
    }
}
