//! Commands that write a setting by which git runs something from then on.

use crate::exec::command::base_name;

/// Beginnings of the names of git's settings by which it runs something from then on.
#[rustfmt::skip]
const RUN_BY_GIT: &[&str] = &[
    "alias.", "browser.", "core.askpass", "core.attributesfile", "core.editor", "core.fsmonitor", "core.gitproxy", "core.hookspath",
    "core.pager", "core.sshcommand", "core.worktree", "credential.", "diff.", "difftool.", "filter.", "gpg.", "hook.", "include.",
    "includeif.", "init.templatedir", "interactive.difffilter", "man.", "merge.", "mergetool.", "pager.", "protocol.", "remote.",
    "sequence.editor", "sendemail.", "ssh.", "submodule.", "trailer.", "uploadpack.", "url.", "web.",
];
/// Words with which git only says what is set, or forgets it.
const ASKING: &[&str] = &[
    "--get",
    "--get-all",
    "--get-regexp",
    "--list",
    "--unset",
    "-l",
    "get",
    "list",
    "unset",
];

/// Whether git runs what a setting of this name holds, or what it leads to. In small letters.
pub(in crate::exec) fn is_run_by_git(name: &str) -> bool {
    RUN_BY_GIT.iter().any(|begin| name.starts_with(begin))
}

/// Whether git is to write a setting by which it runs something later.
pub(super) fn sets_what_git_runs(program: &str, words: &[String]) -> bool {
    // In front of it stand options only, some with a value.
    let begins = |at: usize| words[at].starts_with('-') || at > 0 && ["-C", "-c"].contains(&words[at - 1].as_str());
    let Some(at) = (0..words.len())
        .find(|at| !begins(*at))
        .filter(|at| words[*at] == "config")
    else {
        return false;
    };
    let settings = &words[at + 1..];
    let is_one = |word: &String| is_run_by_git(&word.to_lowercase());
    base_name(program) == "git"
        && settings.iter().any(is_one)
        && !settings.iter().any(|word| ASKING.contains(&word.as_str()))
}
