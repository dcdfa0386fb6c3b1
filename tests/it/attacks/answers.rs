//! What a person has said yes to, and what that lets run. Nothing runs here: what counts is that they would be asked.

use super::repel;
use crate::exec::place::{Place, User};
use countersign::exec::decide::{Case, Kept, Scene, SessionGrants, Verdict, decide};
use countersign::exec::rules::{self, Rules, Sources};
use countersign::protocol::item::Confined;
use countersign::protocol::settings::{ApprovalPolicy, SandboxPolicy};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) const SYSTEM: &str = "/usr/local/bin:/usr/bin:/bin";

/// A command of the model: its words or, in one, shell text; below the place, the folder that it names (`work` is the
/// conversation's own).
pub(super) type Wanted = (&'static [&'static str], &'static str);

pub(super) fn argv(words: &[&str]) -> Vec<String> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    match words.as_slice() {
        [text] => vec!["bash".to_owned(), "-c".to_owned(), text.clone()],
        _ => words,
    }
}

/// What the person has said yes to.
pub(super) struct Said {
    pub(super) grants: SessionGrants,
    pub(super) rules: Rules,
    pub(super) env: BTreeMap<String, String>,
    /// What the conversation's settings keep.
    pub(super) kept: Option<Arc<Kept>>,
}

impl Said {
    pub(super) fn nothing() -> Self {
        Self {
            grants: SessionGrants::default(),
            rules: Rules::NONE,
            env: BTreeMap::from([("PATH".to_owned(), SYSTEM.to_owned())]),
            kept: None,
        }
    }

    pub(super) fn verdict(
        &self,
        place: &Place,
        (words, folder): Wanted,
        approval: ApprovalPolicy,
        sandbox: &SandboxPolicy,
    ) -> Verdict {
        let argv = argv(words);
        let cwd = match Path::new(folder).is_absolute() {
            true => PathBuf::from(folder),
            false => place.work.parent().expect("a parent").join(folder),
        };
        decide(&Case {
            argv: &argv,
            scene: Scene {
                cwd: &cwd,
                env: &self.env,
                kept: self.kept.as_ref(),
                ..Scene::at(&place.work)
            },
            approval,
            sandbox,
            escalated: true,
            grants: &self.grants,
            rules: &self.rules,
            walls: true,
            beside: None,
        })
        .verdict
    }

    /// Whether it would run outside the sandbox without a question.
    pub(super) fn runs_outside(&self, place: &Place, wanted: Wanted) -> bool {
        let verdict = self.verdict(place, wanted, ApprovalPolicy::OnRequest, &SandboxPolicy::default());
        verdict == Verdict::Run(Confined::Outside)
    }

    /// A yes for the session to one command, or one for always.
    pub(super) fn yes(place: &Place, wanted: Wanted, always: bool) -> Self {
        Self::yes_if_offered(place, wanted, always).expect("a rule is offered")
    }

    /// None where no rule for always is offered.
    pub(super) fn yes_if_offered(place: &Place, wanted: Wanted, always: bool) -> Option<Self> {
        Self::nothing().and_yes(place, wanted, always)
    }

    pub(super) fn keeping(kept: Kept) -> Self {
        Self {
            kept: Some(Arc::new(kept)),
            ..Self::nothing()
        }
    }

    pub(super) fn and_yes(mut self, place: &Place, wanted: Wanted, always: bool) -> Option<Self> {
        let said = &mut self;
        let verdict = said.verdict(place, wanted, ApprovalPolicy::OnRequest, &SandboxPolicy::default());
        let Verdict::Ask { scopes, .. } = verdict else {
            panic!("{wanted:?} asks")
        };
        match always {
            false => said.grants.add(scopes.session),
            true => {
                let home = place.outside.join("countersign");
                fs::create_dir_all(&home).expect("mkdir");
                rules::add_rules(&home, &scopes.always?).expect("written");
                said.rules = rules::load(&Sources::new(&home, &[]));
            }
        }
        Some(self)
    }

    /// What the person's own file of rules says.
    pub(super) fn ruled(place: &Place, text: &str) -> Self {
        let home = place.outside.join("countersign");
        fs::create_dir_all(home.join("rules")).expect("mkdir");
        fs::write(home.join("rules/own.toml"), text).expect("written");
        Self {
            rules: rules::load(&Sources::new(&home, &[])),
            ..Self::nothing()
        }
    }
}

/// Tries each row with a yes for the session and one for always. The yes itself has to hold.
pub(super) fn no_yes_is_stretched(set_up: impl Fn(&Place), given: Wanted, rows: &[Wanted]) {
    for always in [false, true] {
        repel(rows, |row| {
            let place = Place::new(User::Own);
            set_up(&place);
            // Where nothing general can be said of the command, no rule is offered that could be stretched.
            let Some(said) = Said::yes_if_offered(&place, given, always) else {
                return Ok(());
            };
            if !said.runs_outside(&place, given) {
                return Err(format!("the yes does not hold (always: {always})"));
            }
            match said.runs_outside(&place, **row) {
                true => Err(format!("it runs outside unasked (always: {always})")),
                false => Ok(()),
            }
        });
    }
}

/// Tries each pair: a yes, for the session and for always, has to hold for the first and not for the second.
pub(super) fn no_yes_leads_on(rows: &[(&'static str, &'static str)], set_up: impl Fn() -> (Place, Said)) {
    no_yes_leads_on_after(rows, set_up, |_| {});
}

/// The same where something happens to the place between the two.
pub(super) fn no_yes_leads_on_after(
    rows: &[(&'static str, &'static str)],
    set_up: impl Fn() -> (Place, Said),
    meanwhile: impl Fn(&Place),
) {
    repel(rows, |(given, wanted)| {
        for always in [false, true] {
            let (place, said) = set_up();
            let given = (kept_words(given), "work");
            let Some(said) = said.and_yes(&place, given, always) else {
                continue;
            };
            if !said.runs_outside(&place, given) {
                return Err(format!("the yes does not hold (always: {always})"));
            }
            meanwhile(&place);
            if said.runs_outside(&place, (kept_words(wanted), "work")) {
                return Err(format!("it runs outside unasked (always: {always})"));
            }
        }
        Ok(())
    });
}

/// A word as a test that runs to its end may hold it.
pub(super) fn kept(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

/// The words of a command, or shell text where it says so.
pub(super) fn kept_words(text: &'static str) -> &'static [&'static str] {
    match text.strip_prefix("sh: ") {
        Some(text) => Box::leak(Box::new([text])),
        None => Box::leak(text.split(' ').collect::<Vec<_>>().into_boxed_slice()),
    }
}
