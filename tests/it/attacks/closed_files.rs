//! Files that are closed to commands, read outside of the sandbox by a yes or a rule for something else.

use super::answers::{Said, kept_words, no_yes_leads_on};
use super::repel;
use crate::exec::place::{Place, User};
use countersign::config::permissions::Subject;
use countersign::config::prompts::Prompts;
use countersign::config::{self, Sources};
use countersign::exec::decide::{Kept, Verdict};
use countersign::exec::profile;
use countersign::exec::{Closed, Confinement};
use countersign::protocol::item::Confined;
use countersign::protocol::settings::{ApprovalPolicy, SandboxPolicy};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;

/// What this folder's `*.pem` and one more file are closed to.
pub(super) fn closed(place: &Place) -> Closed {
    let all = Subject::Glob {
        base: Box::new(Subject::Workspace(PathBuf::new())),
        pattern: "**/*.pem".to_owned(),
    };
    let around = profile::Place {
        cwd: place.work.clone(),
        ..profile::Place::default()
    };
    let inside = Confinement::new(&SandboxPolicy::default(), &place.work, &[], None);
    inside
        .unreadable([&all], &around)
        .without(&[place.work.join("sub/key")])
        .closed()
}

/// A folder with files that are closed to commands: by a pattern, by their paths, by a link and by a second name.
pub(super) fn with_closed_files() -> Place {
    let place = Place::new(User::Own);
    for folder in [".git", "sub", "open"] {
        fs::create_dir(place.work.join(folder)).expect("mkdir");
    }
    for file in ["a", "b", "k.pem", "sub/key", "open/x"] {
        fs::write(place.work.join(file), "text\n").expect("write");
    }
    symlink("k.pem", place.work.join("link")).expect("a link");
    fs::hard_link(place.work.join("sub/key"), place.work.join("second")).expect("a second name");
    place
}

/// What commands in the sandbox cannot read is not read outside by a yes to reading, to copying, or to something that it rides
/// along with.
#[test]
fn a_yes_does_not_open_what_is_closed_to_commands() {
    const CLOSED: &[(&str, &str)] = &[
        ("cat a", "cat k.pem"),
        ("cat a", "cat sub/key"),
        ("cat a", "cat sub/../k.pem"),
        ("cat a", "cat link"),
        ("cat a", "cat second"),
        ("cat a", "sh: cat a k.pem | head -n 3"),
        ("head -n 3 a", "head -n 3 k.pem"),
        ("diff a b", "diff a k.pem"),
        ("grep x a", "grep x k.pem"),
        ("grep x a", "grep -r x ."),
        ("grep x a", "grep -r x sub"),
        ("grep x a", "grep -r x"),
        ("grep x a", "grep --recursive x"),
        ("grep x a", "grep -f k.pem a"),
        ("grep x a", "grep -nfk.pem a"),
        ("grep x a", "grep --file=k.pem a"),
        ("cp a b", "cp k.pem x"),
        ("cp a b", "cp link x"),
        ("cp a b", "cp -r sub x"),
        ("cp a b", "cp -a . /tmp/x"),
        ("mv a b", "mv k.pem x"),
        ("mv a b", "mv sub x"),
        ("git add a", "git add k.pem"),
        ("git add a", "git add ."),
        ("git add a", "git add -A"),
        ("git add a", "git add sub"),
        ("touch x", "sh: touch x; cat k.pem"),
        ("touch x", "sh: cat link && touch x"),
        ("touch x", "sh: touch x; wc -l sub/key"),
        ("touch x", "sh: touch x; grep -r x ."),
        ("touch x", "sh: touch x; grep -r x"),
        ("touch x", "sh: touch x; rg x"),
        ("touch x", "sh: touch x; du -a ."),
    ];
    no_yes_leads_on(CLOSED, || {
        let place = with_closed_files();
        let said = Said::keeping(Kept::new(closed(&place), &[], &[], None));
        (place, said)
    });
    // What lies beside goes on without a question.
    const OPEN: &[(&str, &str)] = &[
        ("cat a", "cat open/x"),
        ("cp a b", "cp -r open new"),
        ("cp a b", "cp -r open ."),
        ("mv a b", "mv open/x ."),
        ("git add a", "git add open b"),
        ("touch x", "sh: ls -la; cat a; touch y | head -n 3"),
        ("touch x", "sh: ls -la . sub; touch y"),
    ];
    for (given, wanted) in OPEN {
        let place = with_closed_files();
        let said = Said::keeping(Kept::new(closed(&place), &[], &[], None));
        let said = said.and_yes(&place, (kept_words(given), "work"), false).expect("a yes");
        let wanted = (kept_words(wanted), "work");
        let verdict = said.verdict(&place, wanted, ApprovalPolicy::OnRequest, &SandboxPolicy::default());
        assert_eq!(verdict, Verdict::Run(Confined::Outside), "{given}: {wanted:?}");
    }
}

/// Nor by a rule that lets another command out, or one that holds for the paths of a folder.
#[test]
fn a_rule_does_not_open_what_is_closed_to_commands() {
    const RULES: &str = r#"
[[rule]]
prefix = ["touch"]
decision = "allow"
sandbox = "outside"

[[rule]]
prefix = ["tail"]
decision = "allow"
sandbox = "outside"
paths = "here"
"#;
    const CLOSED: &[&str] = &[
        "touch x; cat k.pem",
        "touch x && cat second",
        "touch x; grep -r x .",
        "tail k.pem",
        "tail -n 3 a link",
        "touch x; tail sub/key",
    ];
    let place = with_closed_files();
    let said = Said {
        kept: Some(Arc::new(Kept::new(closed(&place), &[], &[], None))),
        ..Said::ruled(&place, RULES)
    };
    let out = |text: &'static str| said.runs_outside(&place, (Box::leak(Box::new([text])), "work"));
    repel(CLOSED, |text| match out(text) {
        true => Err("it runs outside unasked".to_owned()),
        false => Ok(()),
    });
    for text in ["touch x; cat a", "tail -n 3 a open/x", "touch x"] {
        assert!(out(text), "{text}");
    }
}

/// Nor by a link that a project puts in the place of its prompts, whose text goes to a model when they are called. What lies
/// elsewhere in the project may be linked to, and the person links their own to where they like.
#[test]
fn a_projects_prompts_are_not_read_from_elsewhere() {
    // What is a link, where it leads, and whether the prompt is offered; `w` is the project.
    const LINKS: &[(&str, &str, bool)] = &[
        ("w/.countersign/prompts", "out", false),
        ("w/.countersign/prompts", "out/prompts", false),
        ("w/.countersign", "out", false),
        ("w/.countersign/prompts/a.md", "out/a.md", false),
        ("w/.countersign/prompts/a.md", "w/in/a.md", false),
        ("w/.countersign/prompts", "w/in", true),
        ("w/.countersign", "w/in", true),
        ("home/prompts", "out", true),
        ("home/prompts/a.md", "out/a.md", true),
    ];
    repel(LINKS, |(link, to, is_offered)| {
        let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
        for file in ["out/a.md", "out/prompts/a.md", "w/in/a.md", "w/in/prompts/a.md"] {
            let file = dir.path().join(file);
            fs::create_dir_all(file.parent().expect("a folder")).map_err(|error| error.to_string())?;
            fs::write(file, "Do it.\n").map_err(|error| error.to_string())?;
        }
        let (link, home) = (dir.path().join(link), dir.path().join("home"));
        fs::create_dir_all(link.parent().expect("a folder")).map_err(|error| error.to_string())?;
        symlink(dir.path().join(to), link).map_err(|error| error.to_string())?;
        let sources = Sources {
            home: home.clone(),
            ..Sources::default()
        };
        let mut config = config::load(&sources).map_err(|error| error.to_string())?.config;
        config.prompt_folders = vec![dir.path().join("w/.countersign/prompts")];
        let found = Prompts::read(&config, &home);
        match found.get("a").is_some() == *is_offered {
            true => Ok(()),
            false => Err(format!("{found:?}")),
        }
    });
}
