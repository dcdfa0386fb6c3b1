use super::*;
use crate::agent::history::History;
use crate::workspace::{Edit, Position, Range};

struct Scene {
    folder: tempfile::TempDir,
    workspace: Workspace,
    findings: Findings,
    conversation: Arc<Conversation>,
}

impl Scene {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a folder"),
            workspace: Workspace::new(),
            findings: Findings::default(),
            conversation: Arc::new(Conversation::new("t".into(), None, History::default())),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("a file");
    }

    fn open(&self, name: &str, text: &str) {
        let uri = format!("editor:{name}");
        self.workspace.open(&uri, Some(self.path(name)), "text", 1, text);
    }

    /// Puts a text before a line.
    fn insert(&self, name: &str, line: u32, text: &str) {
        let at = Position { line, column: 0 };
        let edit = Edit {
            range: Some(Range { start: at, end: at }),
            text: text.to_owned(),
        };
        self.workspace
            .edit(&format!("editor:{name}"), 2, &[edit])
            .expect("open");
    }

    fn add(&self, name: &str, lines: (u32, u32), before: &Before) -> Vec<OpenFinding> {
        self.add_about(&self.about(ReviewTarget::UncommittedChanges), name, lines, before)
    }

    fn add_about(&self, about: &About, name: &str, lines: (u32, u32), before: &Before) -> Vec<OpenFinding> {
        let mut findings = [ReviewFinding {
            title: name.to_owned(),
            body: String::new(),
            confidence_score: 0.5,
            priority: 1,
            code_location: Some(CodeLocation {
                absolute_file_path: self.path(name),
                line_range: LineRange {
                    start: lines.0,
                    end: lines.1,
                },
            }),
        }];
        let whose = (&self.conversation, &TurnId::fresh());
        self.findings.add(whose, about, &mut findings, before, &self.workspace)
    }

    fn about(&self, target: ReviewTarget) -> About {
        let folder = self.folder.path().to_owned();
        About { target, folder }
    }

    /// Names and lines of all that is left, after a look.
    fn lie(&self) -> Vec<(String, u32, u32)> {
        self.findings.look(&self.workspace);
        let list = self.findings.list(None, None).into_iter();
        list.map(|finding| {
            let lines = finding.code_location.line_range;
            (finding.title, lines.start, lines.end)
        })
        .collect()
    }
}

fn at(name: &str, start: u32, end: u32) -> (String, u32, u32) {
    (name.to_owned(), start, end)
}

#[test]
fn findings_follow_the_text_of_the_editor_and_of_the_disk() {
    let scene = Scene::new();
    for name in ["open", "closed"] {
        scene.write(name, "a\nb\nc\nd\n");
    }
    scene.open("open", "a\nb\nc\nd\n");
    let found = scene.add("open", (1, 2), &Before::default());
    assert_eq!(found[0].uri, "editor:open");
    scene.add("closed", (1, 3), &Before::default());
    scene.add("open", (3, 4), &Before::default());
    assert_eq!(scene.lie(), [at("open", 1, 2), at("closed", 1, 3), at("open", 3, 4)]);
    scene.insert("open", 0, "x\ny\n");
    scene.write("closed", "x\na\nb\nc\nd\n");
    assert_eq!(scene.lie(), [at("open", 3, 4), at("closed", 2, 4), at("open", 5, 6)]);
    // Its own line changes; the other one lies on.
    scene.insert("open", 3, "B");
    assert_eq!(scene.lie(), [at("closed", 2, 4), at("open", 5, 6)]);
    // Closed without saving: what was typed is not there any more.
    scene.workspace.close("editor:open");
    assert_eq!(scene.lie(), [at("closed", 2, 4), at("open", 3, 4)]);
    let uris: Vec<String> = scene.findings.by_uri().into_keys().collect();
    assert!(uris.iter().all(|uri| uri.starts_with("file:")), "{uris:?}");
    scene.open("closed", "x\na\nb\nc\nd\n");
    assert_eq!(scene.lie().len(), 2);
    assert!(scene.findings.by_uri().contains_key("editor:closed"));
    std::fs::remove_file(scene.path("open")).expect("a file");
    assert_eq!(scene.lie(), [at("closed", 2, 4)]);
    // Only the editor has it now, and then nobody.
    std::fs::remove_file(scene.path("closed")).expect("a file");
    assert_eq!(scene.lie().len(), 1);
    scene.workspace.close("editor:closed");
    assert!(scene.lie().is_empty() && scene.findings.is_empty());
}

#[test]
fn what_was_typed_during_the_review_is_followed_too() {
    let scene = Scene::new();
    scene.write("closed", "a\nb\nc\n");
    scene.write("open", "a\nb\nc\n");
    scene.open("open", "a\nb\nc\n");
    let before = Before::of(&scene.workspace, &[scene.path("closed"), scene.path("gone")]);
    scene.insert("open", 0, "x\n");
    scene.write("closed", "x\ny\na\nb\nC\n");
    for name in ["open", "closed"] {
        assert_eq!(scene.add(name, (1, 2), &before).len(), 1);
        // What is not there any more cannot be marked.
        let changed = scene.add(name, (0, 3), &before);
        assert_eq!(changed.len(), usize::from(name == "open"));
    }
    assert_eq!(scene.lie(), [at("open", 2, 3), at("open", 1, 4), at("closed", 3, 4)]);
}

#[test]
fn places_are_brought_into_their_files() {
    let scene = Scene::new();
    scene.write("a", "a\nb\n");
    std::fs::write(scene.path("binary"), b"a\0b").expect("a file");
    std::fs::create_dir(scene.path("folder")).expect("a folder");
    assert_eq!(
        scene.add("a", (7, 99), &Before::default())[0].code_location.line_range,
        LineRange { start: 1, end: 2 }
    );
    for nowhere in ["gone", "binary", "folder"] {
        assert!(scene.add(nowhere, (0, 1), &Before::default()).is_empty(), "{nowhere}");
    }
}

#[tokio::test]
async fn findings_go_when_they_are_dismissed_reviewed_again_or_closed() {
    let scene = Scene::new();
    scene.write("a", "a\nb\n");
    let mut events = scene.conversation.stream.subscribe(None);
    let mut told = async || match events.next().await.expect("an event").kind {
        EventKind::ReviewFindingsChanged(changed) => changed.findings.len(),
        other => panic!("{other:?}"),
    };
    let branch = |name: &str| scene.about(ReviewTarget::BaseBranch { branch: name.into() });
    let first = scene.add("a", (0, 1), &Before::default()).remove(0);
    let second = scene
        .add_about(&branch("main"), "a", (1, 2), &Before::default())
        .remove(0);
    let thread = scene.conversation.id.clone();
    let here = |start, end| scene.findings.at("", &scene.path("a"), LineRange { start, end }).len();
    assert_eq!((here(0, 1), here(1, 2), here(0, 2), here(2, 3)), (1, 1, 2, 0));
    assert_eq!(scene.findings.dismiss(&"other".into(), None, Some(&first.id)), 0);
    assert_eq!(
        scene.findings.dismiss(&thread, Some(&second.turn_id), Some(&first.id)),
        0
    );
    assert_eq!(scene.findings.dismiss(&thread, None, Some(&first.id)), 1);
    assert_eq!(told().await, 1);
    assert_eq!(scene.findings.dismiss(&thread, None, Some(&first.id)), 0);
    scene.findings.outdate(&branch("other"));
    let elsewhere = About {
        folder: "/elsewhere".into(),
        ..branch("main")
    };
    scene.findings.outdate(&elsewhere);
    assert!(scene.findings.get(&second.id).is_some());
    scene.findings.outdate(&branch("main"));
    assert_eq!(told().await, 0);
    let commit = |title: Option<&str>| {
        let (sha, title) = ("abc".to_owned(), title.map(str::to_owned));
        scene.about(ReviewTarget::Commit { sha, title })
    };
    scene.add_about(&commit(None), "a", (0, 1), &Before::default());
    scene.findings.outdate(&commit(Some("title")));
    assert_eq!(told().await, 0);
    scene.add("a", (0, 1), &Before::default());
    scene.findings.close(&thread);
    assert!(scene.findings.is_empty());
}

#[test]
fn findings_follow_their_files_to_new_names() {
    let scene = Scene::new();
    std::fs::create_dir_all(scene.path("in/deep")).expect("folders");
    scene.write("in/deep/a", "a\n");
    scene.write("b", "b\n");
    scene.add("in/deep/a", (0, 1), &Before::default());
    scene.add("b", (0, 1), &Before::default());
    std::fs::rename(scene.path("in"), scene.path("out")).expect("a folder");
    scene.findings.renamed(&scene.path("in"), &scene.path("out"));
    assert_eq!(scene.lie().len(), 2);
    let paths: Vec<PathBuf> = scene
        .findings
        .list(None, None)
        .into_iter()
        .map(|one| one.code_location.absolute_file_path)
        .collect();
    assert_eq!(paths, [scene.path("out/deep/a"), scene.path("b")]);
    std::fs::rename(scene.path("b"), scene.path("out/deep/a")).expect("a file");
    scene.findings.renamed(&scene.path("b"), &scene.path("out/deep/a"));
    assert_eq!(scene.lie(), [at("b", 0, 1)]);
}
