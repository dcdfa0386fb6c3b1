//! Instruction files.

use super::Place;
use countersign::config;
use std::path::Path;

#[test]
fn agents_files_are_collected_from_the_root_down() {
    let place = Place::new()
        .user("project_doc_fallback_filenames = ['CLAUDE.md', '../../etc/passwd']\ninstructions = 'mine'")
        .project("AGENTS.md", "root\n")
        .project("a/AGENTS.override.md", "a override")
        .project("a/AGENTS.md", "a plain")
        .project("a/b/CLAUDE.md", "\u{feff}b")
        .project("a/b/c/AGENTS.md", "  \n")
        .project("z/AGENTS.md", "elsewhere");
    std::fs::write(place.sources.home.join("AGENTS.md"), "home\n").unwrap();
    let root = place.dir.path().join("project");
    let config = place.load().config;
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    let found = config::instructions::project_documents(&config, &place.sources.home, &root.join("a/b/c"), &read);
    assert_eq!(
        found.text,
        "mine\n\nhome\n\n--- project-doc ---\n\nroot\n\na override\n\nb"
    );
    assert_eq!(
        found.sources,
        [
            place.sources.home.join("AGENTS.md"),
            root.join("AGENTS.md"),
            root.join("a/AGENTS.override.md"),
            root.join("a/b/CLAUDE.md")
        ]
    );
    assert_eq!(found.truncated_warning, None);

    let limited = |max: usize| {
        let mut config = config.clone();
        config.project_doc_max_bytes = max;
        config::instructions::project_documents(&config, &place.sources.home, &root.join("a/b"), &read)
    };
    let some = limited(9);
    assert_eq!(some.text, "mine\n\nhome\n\n--- project-doc ---\n\nroot\n\na ov");
    let warning = some.truncated_warning.unwrap();
    assert!(
        warning.contains("AGENTS.override.md from byte 4") && warning.contains("CLAUDE.md"),
        "{warning}"
    );
    assert_eq!(limited(0).text, "mine\n\nhome");
    assert_eq!(limited(0).truncated_warning, None);
}
