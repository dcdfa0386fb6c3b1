//! What becomes of a patch before anybody is asked: applied as the policy says, shown to the person, or refused.
//!
//! The verdict is a pure function of where the paths lie and of the policies; looking where they lie is done before.

use super::place::{Lies, Place, Surroundings};
use crate::agent::permissions;
use crate::agent::turn::Turn;
use crate::patch::files::Whole;
use crate::patch::plan::{FilePlan, Plan};
use crate::protocol::settings::{ApprovalPolicy, EditApproval, SandboxMode};
use crate::tools::Host as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// All that the verdict depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case<'a> {
    pub places: &'a [Place],
    pub approval: ApprovalPolicy,
    pub sandbox: SandboxMode,
    pub edits: EditApproval,
    /// Whether the sandbox can be put up here.
    pub enforced: bool,
    /// The conversation's folder, for short names.
    pub cwd: &'a Path,
}

/// How the reason begins where nothing may be changed at all.
pub(crate) const READ_ONLY: &str = "The policy is read-only";

/// What a question says of files that other programs act on by themselves.
const ACTS_LATER: &str = "Careful: other programs run or obey these files automatically";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is applied; nobody is asked.
    Approve,
    /// The person decides.
    Ask {
        /// Why more is asked than usual.
        reason: Option<String>,
    },
    /// It is not even shown. The reason is for the model.
    Reject(String),
}

/// A patch that may be proposed.
pub(super) struct Checked {
    /// Every path that it writes or removes.
    pub places: Vec<Place>,
    /// Nobody is asked.
    pub auto_approved: bool,
    /// Why the person is asked more than usual.
    pub reason: Option<String>,
    /// The first folder that must be opened before it can be applied whole.
    pub grant_root: Option<PathBuf>,
}

impl Checked {
    /// The paths that other programs act on by themselves.
    pub(super) fn acting(&self) -> impl Iterator<Item = &Path> {
        acting(&self.places).map(|place| place.path.as_path())
    }
}

/// The places that other programs act on by themselves.
pub(super) fn acting(places: &[Place]) -> impl Iterator<Item = &Place> {
    places.iter().filter(|place| place.acts.is_some())
}

/// Decides on a patch.
pub(super) fn verdict(case: &Case<'_>) -> Verdict {
    let full_access = case.sandbox == SandboxMode::DangerFullAccess;
    let named = |place: &Place| short_name(&place.path, case.cwd);
    let closed = case.places.iter().find_map(|place| match &place.lies {
        Lies::Never(why) => Some(format!("{} {why}", named(place))),
        Lies::Apart(why) if !full_access => Some(format!("{} {why}", named(place))),
        _ => None,
    });
    if let Some(reason) = closed {
        return Verdict::Reject(reason);
    }
    let later = later(case);
    let outside: Vec<_> = case
        .places
        .iter()
        .filter(|place| place.lies != Lies::Inside)
        .map(|place| named_with_real(place, case.cwd))
        .collect();
    if case.approval == ApprovalPolicy::Never {
        return match (case.sandbox, outside.is_empty()) {
            (SandboxMode::ReadOnly, _) => Verdict::Reject(format!(
                "{READ_ONLY} and nobody may be asked, so no file can be changed. Explain the change instead."
            )),
            (SandboxMode::WorkspaceWrite, false) => Verdict::Reject(format!(
                "Outside the workspace, where nothing may be changed under the approval policy never: {}. Nobody was asked; \
                 change files of the workspace only, or explain the change instead.",
                outside.join(", ")
            )),
            (SandboxMode::WorkspaceWrite, true) if !later.is_empty() => Verdict::Reject(format!(
                "Other programs act on this by themselves, so it is changed only after a question, and under the approval policy \
                 never nobody is asked: {}. Leave it as it is, and tell the person what to change there.",
                later.join("; ")
            )),
            _ => Verdict::Approve,
        };
    }
    let careful = format!("{ACTS_LATER}: {}", later.join("; "));
    if !outside.is_empty() {
        let second = match full_access {
            true => "",
            false => ". Writing there is asked about once more, before anything is written",
        };
        let reason = format!("Outside the workspace: {}{second}", outside.join(", "));
        let reason = match later.is_empty() {
            true => reason,
            false => format!("{careful}. {reason}"),
        };
        return Verdict::Ask { reason: Some(reason) };
    }
    if !later.is_empty() {
        return Verdict::Ask { reason: Some(careful) };
    }
    let asked_all_the_same = match case.edits {
        EditApproval::Ask => return Verdict::Ask { reason: None },
        EditApproval::Workspace if case.approval == ApprovalPolicy::Untrusted => "the approval policy is untrusted",
        EditApproval::Workspace if case.sandbox == SandboxMode::ReadOnly => "the sandbox policy is read-only",
        EditApproval::Workspace if !case.enforced => "the sandbox cannot be put up here",
        EditApproval::Workspace => return Verdict::Approve,
    };
    Verdict::Ask {
        reason: Some(format!(
            "Asked although edits.approve is workspace: {asked_all_the_same}"
        )),
    }
}

/// The files that other programs act on by themselves, each with who does.
fn later(case: &Case<'_>) -> Vec<String> {
    let places = case.places.iter().filter_map(|place| {
        let acts = place.acts?;
        Some(format!("{}, which {acts}", named_with_real(place, case.cwd)))
    });
    places.collect()
}

/// A place by its name, and where it really is, if links lead elsewhere.
fn named_with_real(place: &Place, cwd: &Path) -> String {
    let name = short_name(&place.path, cwd);
    match place.real == place.path {
        true => name,
        false => format!("{name} (which is {})", short_name(&place.real, cwd)),
    }
}

/// Looks where a patch would write, and decides. The error is the reason why it is refused.
pub(super) async fn check(turn: &Arc<Turn>, plan: &Plan) -> Result<Checked, String> {
    let of_file = |file: &FilePlan| {
        let itself = file.whole.is_some();
        file.paths().map(|path| (path.to_owned(), itself)).collect::<Vec<_>>()
    };
    let paths: Vec<(PathBuf, bool)> = plan.files.iter().flat_map(of_file).collect();
    let looking = turn.clone();
    let look = move || {
        let confinement = looking.patch_confinement();
        let surroundings = looking.surroundings(&confinement);
        let look = |(path, itself): &(PathBuf, bool)| surroundings.place(path, *itself);
        let places: Vec<Place> = paths.iter().map(look).collect();
        for place in places.iter().filter(|place| surroundings.is_own(&place.real)) {
            looking.may_read(&place.path).map_err(|error| error.to_string())?;
            if looking.is_closed_own(&place.real) {
                return Err(permissions::Refused::Closed(place.path.clone()).to_string());
            }
        }
        Ok(places)
    };
    let places: Result<Vec<Place>, String> = crate::tools::blocking(look).await.map_err(|error| error.to_string())?;
    let places = places?;
    let settings = &turn.settings;
    let decided = verdict(&Case {
        places: &places,
        approval: settings.approval_policy,
        sandbox: settings.sandbox_policy.mode(),
        edits: settings.edit_approval,
        enforced: settings.edit_approval == EditApproval::Ask || crate::exec::can_confine().await,
        cwd: &settings.cwd,
    });
    let (auto_approved, reason) = match decided {
        Verdict::Approve => (true, None),
        Verdict::Ask { reason } => (false, joined(reason, &places, &plan.files, &settings.cwd)),
        Verdict::Reject(reason) => return Err(reason),
    };
    let first = places.iter().find_map(|place| match &place.lies {
        Lies::Outside(folder) => Some(folder.clone()),
        _ => None,
    });
    Ok(Checked {
        grant_root: first.filter(|_| settings.sandbox_policy.mode() != SandboxMode::DangerFullAccess),
        places,
        auto_approved,
        reason,
    })
}

/// The reason with what no hunk shows: where links lead, and what is deleted or moved as it is.
fn joined(reason: Option<String>, places: &[Place], files: &[FilePlan], cwd: &Path) -> Option<String> {
    // Of those that are outside the reason says it.
    let led = places
        .iter()
        .filter(|place| place.lies == Lies::Inside && place.led_out);
    let led = led.map(|place| format!("{} is really {}", short_name(&place.path, cwd), place.real.display()));
    let wholes = files.iter().filter_map(|file| Some((file, file.whole.as_ref()?)));
    let entries = wholes.map(|(file, whole)| {
        let name = short_name(&file.path, cwd);
        let done = match file.move_to() {
            Some(to) => format!("moved to {}", short_name(to, cwd)),
            None => "deleted".to_owned(),
        };
        match whole {
            Whole::Bytes { .. } => format!("{name} is {whole}: it is {done} as it is"),
            Whole::Link { .. } => {
                format!("{name} is {whole}: the link itself is {done}, what it leads to is left alone")
            }
        }
    });
    let all: Vec<String> = reason.into_iter().chain(led).chain(entries).collect();
    (!all.is_empty()).then(|| all.join(". "))
}

impl Turn {
    /// What the paths of a patch are measured against.
    pub(super) fn surroundings<'a>(&'a self, confinement: &'a crate::exec::Confinement) -> Surroundings<'a> {
        let home = self
            .services
            .env
            .get("HOME")
            .map(Path::new)
            .filter(|home| home.is_absolute());
        let (more, free) = (&self.config.protected, &self.config.unprotected);
        Surroundings::new(confinement, &self.settings.cwd, &self.roots, home, &self.services.home).acting(more, free)
    }
}

fn short_name(path: &Path, cwd: &Path) -> String {
    path.strip_prefix(cwd).unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(path: &str, lies: Lies) -> Place {
        Place {
            path: Path::new("/p").join(path),
            real: Path::new("/p").join(path),
            lies,
            acts: None,
            itself: false,
            led_out: false,
        }
    }

    /// Where a link leads is said also where nobody has to open the folder any more.
    #[test]
    fn where_a_link_leads_is_said() {
        let mut places = inside();
        assert_eq!(joined(None, &places, &[], Path::new("/p")), None);
        places[1].real = "/etc/b.txt".into();
        places[1].led_out = true;
        let said = joined(Some("Careful".to_owned()), &places, &[], Path::new("/p"));
        assert_eq!(said.as_deref(), Some("Careful. sub/b.txt is really /etc/b.txt"));
    }

    fn inside() -> Vec<Place> {
        vec![place("a.txt", Lies::Inside), place("sub/b.txt", Lies::Inside)]
    }

    fn outside() -> Vec<Place> {
        vec![
            place("a.txt", Lies::Inside),
            place("/sib/b.txt", Lies::Outside("/sib".into())),
        ]
    }

    fn closed() -> Vec<Place> {
        vec![
            place("/sib/b.txt", Lies::Outside("/sib".into())),
            place(".git/config", Lies::Never("is in a protected folder.".into())),
        ]
    }

    fn acting() -> Vec<Place> {
        let mut places = inside();
        places.push(Place {
            acts: Some("agents take instructions from"),
            ..place("sub/AGENTS.md", Lies::Inside)
        });
        places
    }

    fn apart() -> Vec<Place> {
        vec![place("/x.txt", Lies::Apart("is right in the folder /.".into()))]
    }

    /// Shows S-138, S-139.
    #[test]
    fn the_verdict_follows_from_place_and_policy() {
        use ApprovalPolicy::{Never, OnFailure, OnRequest, Untrusted};
        use EditApproval::{Ask, Workspace};
        use SandboxMode::{DangerFullAccess as Full, ReadOnly, WorkspaceWrite as Write};
        // What is seen of a verdict: approved, asked with a part of the reason, rejected with a part of the reason.
        let yes = ("approve", "");
        let ask = ("ask", "");
        let out = (
            "ask",
            "Outside the workspace: /sib/b.txt. Writing there is asked about once more",
        );
        let free = ("ask", "Outside the workspace: /sib/b.txt");
        let no = |part| ("reject", part);
        let rows = [
            // Inside: the setting decides, and the policies may ask for more.
            (OnRequest, Write, Ask, true, inside(), ask),
            (OnFailure, Write, Ask, true, inside(), ask),
            (Untrusted, Write, Ask, true, inside(), ask),
            (Never, Write, Ask, true, inside(), yes),
            (OnRequest, Write, Workspace, true, inside(), yes),
            (OnFailure, Write, Workspace, true, inside(), yes),
            (Untrusted, Write, Workspace, true, inside(), ("ask", "untrusted")),
            (Never, Write, Workspace, true, inside(), yes),
            (
                OnRequest,
                Write,
                Workspace,
                false,
                inside(),
                ("ask", "cannot be put up"),
            ),
            (
                OnFailure,
                Write,
                Workspace,
                false,
                inside(),
                ("ask", "cannot be put up"),
            ),
            (OnRequest, ReadOnly, Ask, true, inside(), ask),
            (OnRequest, ReadOnly, Workspace, true, inside(), ("ask", "read-only")),
            (Never, ReadOnly, Ask, true, inside(), no("read-only")),
            (Never, ReadOnly, Workspace, true, inside(), no("read-only")),
            (OnRequest, Full, Ask, true, inside(), ask),
            (OnRequest, Full, Workspace, true, inside(), yes),
            (Untrusted, Full, Workspace, true, inside(), ("ask", "untrusted")),
            (Never, Full, Ask, true, inside(), yes),
            // Outside: asked, whatever the setting; refused where nobody may be asked.
            (OnRequest, Write, Ask, true, outside(), out),
            (OnRequest, Write, Workspace, true, outside(), out),
            (OnFailure, Write, Workspace, true, outside(), out),
            (Untrusted, Write, Ask, true, outside(), out),
            (OnRequest, ReadOnly, Workspace, true, outside(), out),
            (OnRequest, Full, Workspace, true, outside(), free),
            (Never, Write, Ask, true, outside(), no("never: /sib/b.txt")),
            (Never, Write, Workspace, true, outside(), no("never: /sib/b.txt")),
            (Never, ReadOnly, Ask, true, outside(), no("read-only")),
            (Never, Full, Ask, true, outside(), yes),
            // No folder can be opened for it.
            (OnRequest, Write, Ask, true, apart(), no("right in")),
            (OnRequest, ReadOnly, Workspace, true, apart(), no("right in")),
            (
                OnRequest,
                Full,
                Ask,
                true,
                apart(),
                ("ask", "Outside the workspace: /x.txt"),
            ),
            (Never, Full, Ask, true, apart(), yes),
            // What acts later: asked, whatever the setting; refused where nobody may be asked.
            (
                OnRequest,
                Write,
                Ask,
                true,
                acting(),
                ("ask", "AGENTS.md, which agents"),
            ),
            (OnRequest, Write, Workspace, true, acting(), ("ask", "Careful")),
            (OnFailure, Write, Workspace, true, acting(), ("ask", "Careful")),
            (OnRequest, Full, Workspace, true, acting(), ("ask", "Careful")),
            (OnRequest, ReadOnly, Workspace, true, acting(), ("ask", "Careful")),
            (Never, Write, Workspace, true, acting(), no("nobody is asked")),
            (Never, ReadOnly, Workspace, true, acting(), no("read-only")),
            (Never, Full, Workspace, true, acting(), yes),
            // Closed to everybody.
            (
                OnRequest,
                Write,
                Ask,
                true,
                closed(),
                no(".git/config is in a protected folder."),
            ),
            (OnFailure, Write, Workspace, true, closed(), no("protected")),
            (Untrusted, ReadOnly, Ask, true, closed(), no("protected")),
            (Never, Full, Workspace, true, closed(), no("protected")),
        ];
        for (approval, sandbox, edits, enforced, places, (kind, part)) in rows {
            let case = Case {
                places: &places,
                approval,
                sandbox,
                edits,
                enforced,
                cwd: Path::new("/p"),
            };
            let (seen, reason) = match verdict(&case) {
                Verdict::Approve => ("approve", String::new()),
                Verdict::Ask { reason } => ("ask", reason.unwrap_or_default()),
                Verdict::Reject(reason) => ("reject", reason),
            };
            assert_eq!(seen, kind, "{case:?}: {reason}");
            assert!(
                reason.contains(part) && reason.is_empty() == part.is_empty(),
                "{case:?}: {reason}"
            );
        }
    }

    #[test]
    fn a_path_that_is_elsewhere_is_named_with_its_real_place() {
        let mut places = outside();
        places[1].path = "/p/link/b.txt".into();
        let case = Case {
            places: &places,
            approval: ApprovalPolicy::OnRequest,
            sandbox: SandboxMode::WorkspaceWrite,
            edits: EditApproval::Ask,
            enforced: true,
            cwd: Path::new("/p"),
        };
        let Verdict::Ask { reason: Some(reason) } = verdict(&case) else {
            panic!("asked");
        };
        assert!(reason.contains("link/b.txt (which is /sib/b.txt)"), "{reason}");
    }
}
