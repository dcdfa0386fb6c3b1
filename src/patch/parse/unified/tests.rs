use super::*;
use crate::patch::parse::parse;

fn sections(text: &str) -> Vec<Section> {
    let patch = parse(text).unwrap_or_else(|error| panic!("{text}\n{error}"));
    assert_eq!(patch.language, Language::Unified, "{text}");
    assert_eq!(patch.steps.iter().sum::<usize>(), patch.sections.len());
    patch.sections
}
