use super::*;
use crate::agent::apply::{self, HunkResult, Scope};
use crate::agent::approvals::Approvals;
use crate::agent::editor::{ApplyReply, Editor, EditorChange, EditorStep, Saving};
use crate::agent::provider::Clients;
use crate::agent::services::Services;
use crate::exec::Confinement;
use crate::ids::HunkId;
use crate::patch::hunk::hunks;
use crate::protocol::proposal::ProposalDecision;
use crate::protocol::proposal::{ProposalDecideParams, ProposalEditParams};
use crate::tools::Registry;
use crate::workspace::Edit;
use crate::workspace::opened::All;
use futures::FutureExt;
use futures::future::BoxFuture;
use proptest::prelude::*;

/// An editor that does what it is asked.
struct Model(Workspace);

impl Editor for Model {
    fn apply(&self, change: EditorChange) -> BoxFuture<'static, ApplyReply> {
        for step in change.steps {
            let EditorStep::Edit {
                uri, version, edits, ..
            } = step
            else {
                panic!("only edits are expected: {step:?}");
            };
            let document = self.0.document_by_uri(&uri).expect("it is open");
            assert_eq!(document.version, version);
            let mut text = document.text();
            for (range, new) in edits.into_iter().rev() {
                text.replace_range(range, &new);
            }
            set(&self.0, &uri, text);
        }
        async { ApplyReply::Applied }.boxed()
    }

    fn save(&self, _: ThreadId, _: Vec<Unsaved>) -> BoxFuture<'static, Saving> {
        async { Saving::Over }.boxed()
    }

    fn has_resource_operations(&self) -> bool {
        true
    }
}

fn set(workspace: &Workspace, uri: &str, text: String) {
    let version = workspace.document_by_uri(uri).expect("it is open").version + 1;
    let edit = Edit { range: None, text };
    workspace.edit(uri, version, &[edit]).expect("it is open");
}

const URI: &str = "file:///w/a.txt";

struct Table {
    services: Arc<Services>,
    applies_each: bool,
    _home: tempfile::TempDir,
}

impl Table {
    fn new(text: &str) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let workspace = Workspace::new();
        workspace.open(URI, Some("/w/a.txt".into()), "text", 1, text);
        let services = Services {
            contributors: crate::agent::contributors::Contributors::with(Vec::new()),
            questions: Default::default(),
            agents: Default::default(),
            servers: crate::mcp::Pool::default(),
            elicitations: crate::agent::servers::Elicitations::default(),
            approvals: Approvals::default(),
            proposals: Proposals::new(workspace.clone(), home.path()),
            terminals: Default::default(),
            beside: Default::default(),
            tools: Registry::standard(),
            account: crate::account::Account::new(home.path(), Default::default()),
            clients: Clients::default(),
            secrets: Default::default(),
            editor: Arc::new(Model(workspace.clone())),
            snapshots: crate::snapshot::Snapshots::new(home.path(), &BTreeMap::new()),
            persons: crate::agent::undo::Persons::default(),
            writers: Default::default(),
            rules: Default::default(),
            instructions: Default::default(),
            typed: crate::store::typed::Typed::new(home.path()),
            findings: Default::default(),
            changing: Arc::default(),
            notifier_problem_shown: Default::default(),
            home: home.path().to_owned(),
            env: BTreeMap::new(),
            user_agent: String::new(),
            steps: tokio_util::task::TaskTracker::new(),
            source: "test".to_owned(),
            workspace,
        };
        Self {
            services: Arc::new(services),
            applies_each: false,
            _home: home,
        }
    }

    fn scope(&self) -> Scope {
        Scope {
            services: self.services.clone(),
            thread: "t".into(),
            workspace: self.services.workspace.clone(),
            cwd: "/w".into(),
            confinement: Confinement::outside(),
            reader: Arc::new(All),
            shown_at: Vec::new(),
        }
    }

    async fn propose(&self, id: &str, thread: &str, kind: FileChangeKind, before: &str, after: &str) -> Waiting {
        let file = FilePlan {
            path: "/w/a.txt".into(),
            kind,
            before: Some(before.to_owned()),
            after: Some(after.to_owned()),
            whole: None,
            hunks: hunks(before, after),
            mode: None,
            folders: Vec::new(),
        };
        let origin = Origin {
            thread_id: thread.into(),
            turn_id: "u".into(),
            item_id: "i".into(),
            diff: String::new(),
            reason: None,
            cwd: "/w".into(),
            grant_root: None,
            auto_approved: false,
            applies_each: self.applies_each,
            bounds: None,
        };
        let stream = Stream::new(thread.into());
        let plan = Plan { files: vec![file] };
        self.services.proposals.open(id.into(), plan, origin, stream).await
    }

    fn update() -> FileChangeKind {
        FileChangeKind::Update { move_path: None }
    }

    fn text(&self) -> String {
        self.services.workspace.document_by_uri(URI).expect("it is open").text()
    }

    fn decide(&self, hunk: Option<&HunkId>, decision: ProposalDecision) -> Result<Proposal, ProposalError> {
        self.services.proposals.decide(&ProposalDecideParams {
            proposal_id: "p".into(),
            decision,
            hunk_ids: hunk.map(|hunk| vec![hunk.clone()]),
            path: None,
            feedback: None,
        })
    }
}

#[derive(Clone, Debug)]
enum Act {
    Insert(usize),
    Remove(usize),
    Rewrite(usize),
    PutBack(usize),
    Decide(usize, ProposalDecision),
    Edit(usize, bool),
}

fn act() -> impl Strategy<Value = Act> {
    let decision = prop_oneof![
        3 => Just(ProposalDecision::Accept),
        1 => Just(ProposalDecision::Reject),
        1 => Just(ProposalDecision::Reset),
    ];
    prop_oneof![
        3 => (0usize..30).prop_map(Act::Insert),
        1 => (0usize..30).prop_map(Act::Remove),
        1 => (0usize..30).prop_map(Act::Rewrite),
        1 => (0usize..12).prop_map(Act::PutBack),
        4 => (0usize..6, decision).prop_map(|(hunk, decision)| Act::Decide(hunk, decision)),
        1 => (0usize..6, any::<bool>()).prop_map(|(hunk, back)| Act::Edit(hunk, back)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Deciding, editing and typing in any order: at the end the file is what the person typed, with exactly the hunks
    /// that they accepted, as they edited them.
    #[test]
    fn the_end_is_todays_text_with_what_was_accepted(acts in prop::collection::vec(act(), 0..24), applies_each: bool) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(play(acts, applies_each))?;
    }
}

fn waiting_on(table: &Table) -> bool {
    let (proposal, _) = table.services.proposals.decided(&"p".into()).expect("it is there");
    proposal.status.is_waiting()
}

/// The last word on a proposal.
async fn all(waiting: &mut Waiting) -> Decided {
    loop {
        match waiting.ready().await.expect("all is decided") {
            Ready::Part => {}
            Ready::All(decided) => return decided,
        }
    }
}

async fn play(acts: Vec<Act>, applies_each: bool) -> Result<(), TestCaseError> {
    let before: String = (0..12).map(|line| format!("line {line}\n")).collect();
    let after: String = (0..12)
        .map(|line| match line % 2 {
            0 => format!("line {line}\n"),
            _ => format!("HUNK {line}\n"),
        })
        .collect();
    let mut table = Table::new(&before);
    table.applies_each = applies_each;
    let mut waiting = table.propose("p", "t", Table::update(), &before, &after).await;
    let ids: Vec<HunkId> = {
        let (proposal, _) = table.services.proposals.decided(&"p".into()).expect("it waits");
        proposal.files[0].hunks.iter().map(|hunk| hunk.id.clone()).collect()
    };
    for (number, act) in acts.into_iter().enumerate() {
        let mut lines: Vec<String> = table.text().split_inclusive('\n').map(str::to_owned).collect();
        let at = |line: usize| line.min(lines.len().saturating_sub(1));
        match act {
            Act::Insert(line) => {
                let line = line.min(lines.len());
                lines.insert(line, format!("typed {number}\n"));
            }
            Act::Remove(line) if !lines.is_empty() => {
                lines.remove(at(line));
            }
            Act::Rewrite(line) if !lines.is_empty() => {
                let line = at(line);
                lines[line] = format!("rewritten {number}\n");
            }
            Act::PutBack(line) => {
                let text = format!("line {line}\n");
                if !lines.contains(&text) {
                    let place = lines.iter().position(|other| *other == format!("line {}\n", line + 1));
                    lines.insert(place.unwrap_or(lines.len()), text);
                }
            }
            Act::Decide(hunk, decision) => {
                // Once all is decided there is nothing more to decide.
                let decided = table.decide(Some(&ids[hunk]), decision);
                if let Err(error) = decided {
                    let expected = match error {
                        ProposalError::Conflicting { .. } | ProposalError::Settled(_) => true,
                        ProposalError::Applied { .. } => applies_each,
                        _ => false,
                    };
                    prop_assert!(expected, "{}", error);
                }
                // Its end is awaited below.
                if applies_each && waiting_on(&table) {
                    while let Some(Some(Ready::Part)) = waiting.ready().now_or_never() {
                        part(&table).await?;
                    }
                }
                continue;
            }
            Act::Edit(hunk, back) => {
                let new_text = (!back).then(|| format!("EDITED {hunk} {number}"));
                let edited = table.services.proposals.edit(&ProposalEditParams {
                    proposal_id: "p".into(),
                    hunk_id: ids[hunk].clone(),
                    new_text,
                });
                let expected = match edited {
                    Ok(_) | Err(ProposalError::Settled(_)) => true,
                    Err(ProposalError::Applied { .. }) => applies_each,
                    Err(_) => false,
                };
                prop_assert!(expected);
                continue;
            }
            Act::Remove(_) | Act::Rewrite(_) => continue,
        }
        set(&table.services.workspace, URI, lines.concat());
    }
    // What is left is not taken.
    let _settled = table.decide(None, ProposalDecision::Reject);
    let decided = all(&mut waiting).await;
    let (proposal, _) = table.services.proposals.decided(&"p".into()).expect("it is there");
    let today = table.text();
    let outcome = apply::run(&table.scope(), &"p".into(), &decided).await;
    is_as_accepted(&proposal, &today, &outcome, &table.text())
}

/// Applies what is accepted so far.
async fn part(table: &Table) -> Result<(), TestCaseError> {
    let (proposal, _) = table.services.proposals.decided(&"p".into()).expect("it waits");
    let today = table.text();
    let outcome = apply::run_part(&table.scope(), &"p".into()).await;
    let results = super::super::propose::hunk_statuses(&outcome);
    table.services.proposals.part_is_applied(&"p".into(), &results);
    is_as_accepted(&proposal, &today, &outcome, &table.text())
}

/// The file is what it was, with exactly the accepted hunks that were not in it yet.
fn is_as_accepted(proposal: &Proposal, today: &str, outcome: &apply::Outcome, text: &str) -> Result<(), TestCaseError> {
    prop_assert_eq!(&outcome.error, &None);
    let mut expected = today.to_owned();
    for (hunk, result) in proposal.files[0].hunks.iter().zip(&outcome.files[0].hunks) {
        if result.applied {
            prop_assert_eq!(hunk.status, HunkStatus::Applied);
            continue;
        }
        let accepted = hunk.status == HunkStatus::Accepted;
        let is_left_out = matches!(result.result, HunkResult::Rejected | HunkResult::Conflict);
        prop_assert!(accepted || is_left_out);
        prop_assert!(!accepted || result.result != HunkResult::Rejected);
        if result.result == HunkResult::Taken {
            prop_assert_eq!(today.matches(&hunk.old_text).count(), 1, "{:?} in {:?}", hunk, today);
            expected = expected.replace(&hunk.old_text, &hunk.new_text);
        } else {
            // Text that changed after the last word on it.
            prop_assert!(!accepted || result.misfit.is_some());
        }
    }
    prop_assert_eq!(text, expected);
    Ok(())
}

#[tokio::test]
async fn a_hunk_follows_its_text_and_waits_again_when_that_has_changed() {
    let before = "one\ntwo\nthree\nfour\nfive\n";
    let table = Table::new(before);
    let _waiting = table
        .propose("p", "t", Table::update(), before, "one\nTWO\nthree\nFOUR\nfive\n")
        .await;
    let now = || {
        table
            .services
            .proposals
            .on_document(Path::new("/w/a.txt"), URI)
            .remove(0)
    };
    let statuses = || -> Vec<HunkStatus> { entry::hunks(&now()).map(|hunk| hunk.status).collect() };
    let second = now().files[0].hunks[1].id.clone();
    table.decide(Some(&second), ProposalDecision::Accept).expect("it fits");
    assert_eq!(now().status, ProposalStatus::PartlyDecided);
    // Text above it: the yes stands.
    set(&table.services.workspace, URI, format!("zero\n{before}"));
    assert_eq!(statuses(), [HunkStatus::Pending, HunkStatus::Accepted]);
    assert_eq!(now().files[0].hunks[1].range, LineRange { start: 4, end: 5 });
    // Its own text: the yes was to something else.
    set(&table.services.workspace, URI, before.replace("four", "4"));
    assert_eq!(statuses(), [HunkStatus::Pending, HunkStatus::Conflicting]);
    assert_eq!(now().status, ProposalStatus::Conflicting);
    assert!(
        now().files[0].hunks[1]
            .conflict
            .as_deref()
            .is_some_and(|why| why.contains("have changed"))
    );
    assert!(matches!(
        table.decide(Some(&second), ProposalDecision::Accept),
        Err(ProposalError::Conflicting { .. })
    ));
    set(&table.services.workspace, URI, String::new());
    assert_eq!(now().status, ProposalStatus::Stale);
    // Back again.
    set(&table.services.workspace, URI, before.to_owned());
    assert_eq!(statuses(), [HunkStatus::Pending, HunkStatus::Pending]);
    assert_eq!(
        (now().status, &now().files[0].hunks[1].conflict),
        (ProposalStatus::Proposed, &None)
    );
    // The person makes the same change: nothing is in the way, and nothing is left to do.
    set(&table.services.workspace, URI, before.replace("four", "FOUR"));
    assert_eq!(statuses(), [HunkStatus::Pending, HunkStatus::Pending]);
}

#[tokio::test]
async fn a_document_that_was_moved_counts_as_changed_by_the_agent() {
    let table = Table::new("one\n");
    let kind = FileChangeKind::Update {
        move_path: Some("/w/b.txt".into()),
    };
    let waiting = table.propose("p", "t", kind, "one\n", "two\n").await;
    let proposal = table.decide(None, ProposalDecision::Accept).expect("it fits");
    let hunk = proposal.files[0].hunks[0].id.clone();
    let statuses = BTreeMap::from([(hunk, HunkStatus::Applied)]);
    table
        .services
        .proposals
        .settle(&waiting.id, ProposalStatus::Applied, &statuses, None)
        .await;
    let changed = |path: &str| {
        table
            .services
            .proposals
            .changed_by_agent(&"t".into(), &[PathBuf::from(path)])
            .len()
    };
    assert_eq!((changed("/w/a.txt"), changed("/w/b.txt")), (0, 1));
}

#[tokio::test]
async fn a_newer_proposal_takes_the_place_of_an_older_one_or_stands_on_it() {
    let table = Table::new("one\n");
    let proposals = &table.services.proposals;
    let mut first = table.propose("a", "t", Table::update(), "one\n", "two\n").await;
    let mut other = table.propose("b", "other", Table::update(), "one\n", "three\n").await;
    assert_eq!(proposals.read(&"b".into()).expect("it waits").stacked_on, ["a".into()]);
    let _newer = table.propose("c", "t", Table::update(), "one\n", "four\n").await;
    let gone = proposals.read(&"a".into()).expect("still known");
    assert_eq!(
        (gone.status, gone.superseded_by),
        (ProposalStatus::Superseded, Some("c".into()))
    );
    let told = all(&mut first).await;
    assert!(Proposals::superseded(&told).is_some_and(|words| words.contains('c')));
    assert_eq!(
        proposals.read(&"b".into()).expect("it waits").stacked_on,
        [] as [ProposalId; 0]
    );
    assert_eq!(proposals.read(&"c".into()).expect("it waits").stacked_on, ["b".into()]);
    assert!(other.ready().now_or_never().is_none(), "it waits on");
}

#[tokio::test]
async fn a_renamed_file_is_followed_to_its_new_name() {
    let table = Table::new("one\n");
    let _waiting = table.propose("p", "t", Table::update(), "one\n", "two\n").await;
    let workspace = &table.services.workspace;
    workspace.close(URI);
    workspace.open(
        "file:///w/deep/b.txt",
        Some("/w/deep/b.txt".into()),
        "text",
        1,
        "zero\none\n",
    );
    table.services.proposals.renamed(Path::new("/w/other"), Path::new("/x"));
    table
        .services
        .proposals
        .renamed(Path::new("/w/a.txt"), Path::new("/w/deep/b.txt"));
    let proposal = table.services.proposals.read(&"p".into()).expect("it waits");
    let file = &proposal.files[0];
    assert_eq!(
        (&file.path, &file.uri[..]),
        (&PathBuf::from("/w/deep/b.txt"), "file:///w/deep/b.txt")
    );
    assert_eq!(
        (file.hunks[0].status, file.hunks[0].range.start),
        (HunkStatus::Pending, 1)
    );
    assert_eq!(file.result.as_deref(), Some("zero\ntwo\n"));
    // A folder takes all below it along.
    table
        .services
        .proposals
        .renamed(Path::new("/w/deep"), Path::new("/w/moved"));
    let proposal = table.services.proposals.read(&"p".into()).expect("it waits");
    assert_eq!(proposal.files[0].path, PathBuf::from("/w/moved/b.txt"));
}

/// What was accepted at its lines while a preview of the rest was open is neither lost nor refused with what was left
/// unticked there.
#[tokio::test]
async fn a_preview_does_not_refuse_what_was_accepted_elsewhere() {
    let (before, after) = ("a\nb\nc\nd\ne\n", "A\nb\nC\nd\nE\n");
    let table = Table::new(before);
    let mut waiting = table.propose("p", "t", Table::update(), before, after).await;
    let (proposal, _) = table.services.proposals.decided(&"p".into()).expect("it waits");
    let ids: Vec<HunkId> = proposal.files[0].hunks.iter().map(|hunk| hunk.id.clone()).collect();
    let (first, second) = (ids[0].clone(), ids[1].clone());
    table.decide(Some(&first), ProposalDecision::Accept).expect("it waits");
    set(&table.services.workspace, URI, "a\nb\nC\nd\ne\n".to_owned());
    let taken = [second];
    let settled = table
        .services
        .proposals
        .settled_in_place(&"p".into(), &taken, None)
        .expect("it waits");
    let statuses: Vec<_> = settled.files[0].hunks.iter().map(|hunk| hunk.status).collect();
    assert_eq!(
        statuses,
        [HunkStatus::Accepted, HunkStatus::Accepted, HunkStatus::Rejected]
    );
    let decided = all(&mut waiting).await;
    assert!(!decided.in_place, "the first one is still to be written");
    let scope = Scope {
        services: table.services.clone(),
        thread: "t".into(),
        workspace: table.services.workspace.clone(),
        cwd: "/w".into(),
        confinement: crate::exec::Confinement::outside(),
        reader: Arc::new(All),
        shown_at: Vec::new(),
    };
    let outcome = apply::run(&scope, &"p".into(), &decided).await;
    assert_eq!(outcome.error, None);
    assert_eq!(table.text(), "A\nb\nC\nd\ne\n");
}

/// A turn that is ended by force drops what it waits with, perhaps before the proposal is registered.
#[test]
fn one_whose_turn_is_gone_before_it_is_registered_is_nobodys() {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().max_blocking_threads(1).build().expect("a runtime");
    runtime.block_on(async {
        let table = Table::new("one\n");
        // The one thread for such work has something else to do.
        let (release, released) = std::sync::mpsc::channel::<()>();
        let busy = tokio::task::spawn_blocking(move || released.recv());
        let opening = table.propose("p", "t", Table::update(), "one\n", "two\n");
        let opened = tokio::time::timeout(std::time::Duration::from_millis(1), opening).await;
        assert!(opened.is_err(), "it waits for the thread");
        release.send(()).expect("it waits");
        busy.await.expect("no panic").expect("released");
        tokio::task::spawn_blocking(|| {}).await.expect("all before it is done");
        assert!(table.services.proposals.list(None, true).is_empty());
        let late = table.decide(None, ProposalDecision::Accept);
        assert!(matches!(late, Err(ProposalError::Unknown(_))), "{late:?}");
    });
}

#[tokio::test]
async fn a_look_that_was_overtaken_moves_nothing_back() {
    let table = Table::new("one\n");
    let _waiting = table.propose("p", "t", Table::update(), "one\n", "two\n").await;
    let proposals = &table.services.proposals;
    let line = || {
        proposals.on_document(Path::new("/w/a.txt"), URI)[0].files[0].hunks[0]
            .range
            .start
    };
    let slow = proposals.looks(|_| true).pop().expect("one waits");
    let slow = slow.take(|_, workspace, file| Some(Now::of(workspace, file)));
    set(&table.services.workspace, URI, "zero\none\n".to_owned());
    proposals.refresh(|_| true);
    slow.place(proposals);
    let proposal = proposals.decided(&"p".into()).expect("it waits").0;
    assert_eq!(
        proposal.files[0].hunks[0].range.start, 1,
        "where the later look has found it"
    );
    assert_eq!(line(), 1);
}

/// A yes is to what the texts showed: what was in conflict while they were shown, or in the text already, is not taken with it,
/// whatever the text is by then.
#[tokio::test]
async fn a_yes_takes_what_was_shown_and_nothing_that_fits_by_then() {
    let (before, after) = ("one\ntwo\nthree\nfour\nfive\n", "one\nTWO\nthree\nFOUR\nfive\n");
    for (name, while_shown, shows) in [
        ("in conflict", before.replace("four", "busy"), 1),
        ("there already", before.replace("four", "FOUR"), 1),
        ("all of it", before.to_owned(), 2),
        ("none of it", "busy\n".to_owned(), 0),
    ] {
        let table = Table::new(before);
        let mut waiting = table.propose("p", "t", Table::update(), before, after).await;
        let proposals = &table.services.proposals;
        set(&table.services.workspace, URI, while_shown);
        let (read, fitting) = proposals.read_fitting(&"p".into()).expect("it waits");
        assert_eq!(fitting.len(), shows, "{name}: {read:#?}");
        set(&table.services.workspace, URI, before.to_owned());
        proposals.accept_shown(&"p".into(), &fitting).expect("it waits");
        let left = proposals.leave_out(&"p".into());
        assert_eq!(left.is_ok(), shows < 2, "{name}");
        let decided = all(&mut waiting).await;
        let scope = Scope {
            services: table.services.clone(),
            thread: "t".into(),
            workspace: table.services.workspace.clone(),
            cwd: "/w".into(),
            confinement: Confinement::outside(),
            reader: Arc::new(All),
            shown_at: Vec::new(),
        };
        let outcome = apply::run(&scope, &"p".into(), &decided).await;
        let expected = match shows {
            2 => after.to_owned(),
            1 => before.replace("two", "TWO"),
            _ => before.to_owned(),
        };
        assert_eq!(table.text(), expected, "{name}");
        let left_out = |hunk: &&apply::HunkOutcome| hunk.result == HunkResult::Conflict;
        assert_eq!(
            outcome.files[0].hunks.iter().filter(left_out).count(),
            2 - shows,
            "{name}"
        );
    }
}

/// What is accepted without being named was told to fit. What fits only by now is reported, and waits for another answer.
#[tokio::test]
async fn what_was_told_to_be_in_conflict_is_accepted_by_name_only() {
    let (before, after) = ("one\ntwo\nthree\nfour\nfive\n", "one\nTWO\nthree\nFOUR\nfive\n");
    for told in [before.replace("four", "busy"), "busy\n".to_owned()] {
        let table = Table::new(&told);
        let mut waiting = table.propose("p", "t", Table::update(), before, after).await;
        set(&table.services.workspace, URI, before.to_owned());
        let first = table.decide(None, ProposalDecision::Accept);
        match told.contains("two") {
            true => {
                let statuses: Vec<_> = first.expect("one was told to fit").files[0]
                    .hunks
                    .iter()
                    .map(|hunk| hunk.status)
                    .collect();
                assert_eq!(statuses, [HunkStatus::Accepted, HunkStatus::Pending]);
            }
            false => assert!(matches!(first, Err(ProposalError::NotShown(_))), "{first:?}"),
        }
        assert!(waiting.ready().now_or_never().is_none(), "it waits on");
        let second = table
            .decide(None, ProposalDecision::Accept)
            .expect("it was told by now");
        assert_eq!(second.status, ProposalStatus::Accepted);
    }
}
