//! Where a patch may write, before anybody is asked about it.

use crate::agent::turn::Turn;
use crate::patch::plan::Plan;
use crate::protocol::item::Confined;
use crate::protocol::settings::{ApprovalPolicy, SandboxPolicy};
use std::path::{Path, PathBuf};

pub(super) enum Check {
    Fine,
    /// The person must see this; a yes covers these folders, their links resolved as they were when it was asked.
    Outside {
        reason: String,
        folders: Vec<PathBuf>,
    },
    Refused(String),
}

/// Where the patch may write. Protected folders are refused; a place outside the workspace is said in the question,
/// and refused where nobody may be asked.
pub(super) fn check(turn: &Turn, plan: &Plan) -> Check {
    let never = turn.settings.approval_policy == ApprovalPolicy::Never;
    if never && matches!(turn.settings.sandbox_policy, SandboxPolicy::ReadOnly { .. }) {
        return Check::Refused(
            "The policy is read-only and nobody may be asked, so no file can be changed. Explain the change instead."
                .to_owned(),
        );
    }
    let confinement = turn.patch_confinement();
    let (mut outside, mut folders) = (Vec::new(), Vec::new());
    for path in plan.paths() {
        if confinement.is_protected(path) {
            return Check::Refused(format!(
                "{} is in a protected folder, which patches and commands may only read. Leave it as it is, or tell the person \
                 what to change there.",
                turn.short_name(path)
            ));
        }
        let home = turn.settings.cwd.join("~");
        if path.starts_with(&home) && !home.exists() {
            return Check::Refused(format!(
                "{} is below a folder with the name ~: nothing stands for the home folder in a patch. Write the whole path.",
                turn.short_name(path)
            ));
        }
        let may_write = confinement.may_write(path);
        // Names there mean something else to each process.
        if !may_write && ["/proc", "/sys", "/dev"].iter().any(|folder| path.starts_with(folder)) {
            return Check::Refused(format!(
                "{} is in a folder of the kernel, where patches do not write.",
                path.display()
            ));
        }
        if !may_write {
            let folder = existing_folder(path);
            let real = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
            let name = turn.short_name(path);
            outside.push(match real == folder {
                true => name,
                false => format!("{name} (which is in {})", real.display()),
            });
            folders.push(real);
        }
    }
    match (
        outside.is_empty(),
        never && turn.confinement(Confined::Workspace).confined() != Confined::Outside,
    ) {
        (true, _) => Check::Fine,
        (false, true) => Check::Refused(format!(
            "Outside the workspace, where nothing may be changed under the approval policy never: {}.",
            outside.join(", ")
        )),
        (false, false) => Check::Outside {
            reason: format!("Outside the workspace: {}", outside.join(", ")),
            folders,
        },
    }
}

/// The innermost folder on the way to a path that is there.
fn existing_folder(path: &Path) -> &Path {
    path.ancestors().skip(1).find(|folder| folder.is_dir()).unwrap_or(path)
}
