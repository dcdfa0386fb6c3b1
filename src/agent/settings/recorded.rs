//! What a thread that is brought back takes up of the settings that its file names. A record is no permission: what would
//! allow more than the configuration does now is told to the person and left.

use crate::agent::prompt::sandbox_words;
use crate::config::Config;
use crate::config::permissions::{READ_ONLY, is_built_in};
use crate::protocol::settings::{ApprovalPolicy, SandboxMode, SandboxPolicy, SettingsOverride};
use crate::store::TurnContextRecord;

/// Fills in what a request says nothing of. Gives what the person should know of what was left.
pub fn take_up(config: &Config, before: &TurnContextRecord, change: &mut SettingsOverride) -> Vec<String> {
    let mut left = Vec::new();
    // A request that says everything else means the usual mode.
    if !change.is_whole() {
        change.mode.get_or_insert(before.mode);
    }
    if change.permissions.is_none() && change.sandbox_policy.is_none() {
        // In another mode it was the mode's, and says nothing of the thread's.
        if before.mode == Default::default() {
            left.extend(permissions(config, before, change));
        }
    }
    if let (None, Some(then)) = (change.approval_policy, before.approval_policy) {
        let now = config.approval_policy;
        match asks_no_less(then, now) {
            true => change.approval_policy = Some(then),
            false => left.push(too_wide("approval policy", then.as_str(), now.as_str())),
        }
    }
    change.model.get_or_insert_with(|| before.model.clone());
    change.effort.get_or_insert_with(|| before.effort.clone());
    left
}

/// The profile, else the policy. A built-in profile that allows as much as what counts now is not taken up: it may only have
/// been the usual one then.
fn permissions(config: &Config, before: &TurnContextRecord, change: &mut SettingsOverride) -> Option<String> {
    let usual = config.default_permissions.as_ref();
    let usual = usual.and_then(|id| config.permissions.get(id));
    let now = usual.map_or_else(|| config.sandbox_policy.clone(), |profile| profile.policy(None));
    let known = before.permissions.as_deref().and_then(|id| config.permissions.get(id));
    if let Some(profile) = known {
        let then = profile.policy(None);
        let was_reading = matches!(before.sandbox_policy, Some(SandboxPolicy::ReadOnly { .. }));
        if was_reading && rank(&then) > 0 {
            // It was held to reading under that profile.
            change.permissions = Some(READ_ONLY.to_owned());
            return None;
        }
        let most = rank(&now);
        if rank(&then) > most {
            return Some(match is_built_in(&profile.id) {
                true => too_wide("sandbox policy", sandbox_words(&then), sandbox_words(&now)),
                false => too_wide("permission profile", &profile.id, sandbox_words(&now)),
            });
        }
        if rank(&then) < most || !is_built_in(&profile.id) {
            change.permissions = Some(profile.id.clone());
        }
        return None;
    }
    let then = before.sandbox_policy.as_ref().filter(|then| **then != now)?;
    // What a profile of the person's own says is not known by its policy.
    if usual.is_some_and(|profile| !is_built_in(&profile.id)) && rank(then) == rank(&now) {
        return None;
    }
    match is_within(then, &now) {
        true => {
            change.sandbox_policy = Some(then.clone());
            None
        }
        false => Some(too_wide("sandbox policy", sandbox_words(then), sandbox_words(&now))),
    }
}

fn too_wide(what: &str, then: &str, now: &str) -> String {
    let more = if then == now { " with more in it" } else { "" };
    format!(
        "This conversation worked with the {what} {then}{more} before, which allows more than your configuration does now; {now} \
         counts from here on. If you want the other again, choose it for this conversation."
    )
}

fn rank(policy: &SandboxPolicy) -> u8 {
    match policy.mode() {
        SandboxMode::ReadOnly => 0,
        SandboxMode::WorkspaceWrite => 1,
        SandboxMode::DangerFullAccess => 2,
    }
}

/// Whether whatever the first allows is allowed by the second.
pub(super) fn is_within(then: &SandboxPolicy, now: &SandboxPolicy) -> bool {
    if then.network_access() && !now.network_access() {
        return false;
    }
    match (then, now) {
        (
            SandboxPolicy::WorkspaceWrite {
                writable_roots,
                exclude_tmpdir_env_var,
                exclude_slash_tmp,
                ..
            },
            SandboxPolicy::WorkspaceWrite {
                writable_roots: roots_now,
                exclude_tmpdir_env_var: no_tmpdir_now,
                exclude_slash_tmp: no_tmp_now,
                ..
            },
        ) => {
            let is_writable = |root| roots_now.iter().any(|now| std::path::Path::starts_with(root, now));
            (*exclude_tmpdir_env_var || !no_tmpdir_now)
                && (*exclude_slash_tmp || !no_tmp_now)
                && writable_roots.iter().all(|root| is_writable(root))
        }
        _ => rank(then) <= rank(now),
    }
}

/// Whether the first lets the person decide on at least as much as the second.
pub(super) fn asks_no_less(then: ApprovalPolicy, now: ApprovalPolicy) -> bool {
    let rank = |policy| match policy {
        ApprovalPolicy::Untrusted => 0,
        ApprovalPolicy::OnRequest => 1,
        // It answers some questions with a no.
        ApprovalPolicy::Granular(_) => 1,
        ApprovalPolicy::OnFailure => 2,
        ApprovalPolicy::Never => 3,
    };
    match (then, now) {
        // A yes is possible to what is a no now.
        (_, ApprovalPolicy::Granular(_)) => then == now || then == ApprovalPolicy::Untrusted,
        _ => rank(then) <= rank(now),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{self, Sources};
    use crate::protocol::settings::{Granular, Mode};

    fn writes(roots: &[&str], network_access: bool, no_tmp: bool) -> SandboxPolicy {
        SandboxPolicy::WorkspaceWrite {
            writable_roots: roots.iter().map(Into::into).collect(),
            network_access,
            exclude_tmpdir_env_var: no_tmp,
            exclude_slash_tmp: no_tmp,
        }
    }

    const READS: SandboxPolicy = SandboxPolicy::ReadOnly { network_access: false };
    const READS_THE_NET: SandboxPolicy = SandboxPolicy::ReadOnly { network_access: true };

    #[test]
    fn a_policy_is_within_another_by_table() {
        for (then, now, expected) in [
            (READS, READS, true),
            (READS, writes(&[], false, false), true),
            (READS_THE_NET, READS, false),
            (READS_THE_NET, writes(&[], false, false), false),
            (READS_THE_NET, SandboxPolicy::DangerFullAccess, true),
            (writes(&[], false, false), READS, false),
            (writes(&[], false, false), READS_THE_NET, false),
            (writes(&["/a/b"], false, false), writes(&["/a"], false, false), true),
            (writes(&["/ab"], false, false), writes(&["/a"], false, false), false),
            (writes(&["/a"], false, false), writes(&["/a/b"], false, false), false),
            (writes(&[], true, false), writes(&[], false, false), false),
            (writes(&[], false, true), writes(&[], true, false), true),
            (writes(&[], false, false), writes(&[], false, true), false),
            (SandboxPolicy::DangerFullAccess, writes(&["/"], true, false), false),
            (writes(&["/a"], true, false), SandboxPolicy::DangerFullAccess, true),
        ] {
            assert_eq!(is_within(&then, &now), expected, "{then:?} in {now:?}");
        }
    }

    #[test]
    fn a_policy_asks_no_less_than_another_by_table() {
        use ApprovalPolicy::{Never, OnFailure, OnRequest, Untrusted};
        let some = ApprovalPolicy::Granular(Granular::default());
        for (then, now, expected) in [
            (Untrusted, Untrusted, true),
            (Untrusted, Never, true),
            (OnRequest, Untrusted, false),
            (OnRequest, OnFailure, true),
            (Never, OnFailure, false),
            (Never, Never, true),
            (some, OnRequest, true),
            (OnRequest, some, false),
            (some, some, true),
            (Untrusted, some, true),
        ] {
            assert_eq!(asks_no_less(then, now), expected, "{then:?} for {now:?}");
        }
    }

    fn record(mode: Mode, sandbox: SandboxPolicy, approval: ApprovalPolicy) -> TurnContextRecord {
        TurnContextRecord {
            turn_id: None,
            cwd: "/p".into(),
            approval_policy: Some(approval),
            sandbox_policy: Some(sandbox),
            permissions: None,
            runtime_workspace_roots: None,
            model: "m".to_owned(),
            effort: None,
            summary: Default::default(),
            mode,
            output_schema: None,
            metadata: Default::default(),
        }
    }

    fn config() -> Config {
        let home = tempfile::tempdir().expect("a folder");
        let sources = Sources {
            home: home.path().to_owned(),
            ..Sources::default()
        };
        config::load(&sources).expect("a configuration").config
    }

    #[test]
    fn what_a_request_says_counts_before_the_record() {
        let config = config();
        let before = record(Mode::Plan, READS, ApprovalPolicy::Untrusted);
        let mut change = SettingsOverride::default();
        assert!(take_up(&config, &before, &mut change).is_empty());
        assert_eq!(
            (change.mode, change.approval_policy),
            (Some(Mode::Plan), Some(ApprovalPolicy::Untrusted))
        );
        assert_eq!(change.sandbox_policy, None, "it was the mode's");
        let mut change = SettingsOverride {
            mode: Some(Mode::Ask),
            approval_policy: Some(ApprovalPolicy::Never),
            ..SettingsOverride::default()
        };
        assert!(take_up(&config, &before, &mut change).is_empty());
        assert_eq!(
            (change.mode, change.approval_policy),
            (Some(Mode::Ask), Some(ApprovalPolicy::Never))
        );
        let before = record(Mode::Agent, SandboxPolicy::DangerFullAccess, ApprovalPolicy::Never);
        let mut change = SettingsOverride::default();
        let left = take_up(&config, &before, &mut change);
        assert!(
            left.len() == 2 && left[0].contains("danger-full-access") && left[1].contains("never"),
            "{left:?}"
        );
        assert_eq!((change.sandbox_policy, change.approval_policy), (None, None));
        let before = record(Mode::Agent, writes(&[], false, true), ApprovalPolicy::OnRequest);
        let mut change = SettingsOverride::default();
        assert!(take_up(&config, &before, &mut change).is_empty());
        assert_eq!(change.sandbox_policy, before.sandbox_policy);
    }
}
