//! Git commands that throw away work or rewrite what others have.

use super::options::{forces, has_option, operands, options};
use super::programs::of_values;
use super::{Depth, of_text, of_words};
use crate::exec::command::script::Feed;
use crate::exec::command::word::Word;

/// Git commands that throw away work or rewrite what others have.
pub(super) fn of_git(arguments: &[Word], depth: Depth<'_>) -> Option<String> {
    let mut at = 0;
    while let Some(word) = arguments.get(at).filter(|word| word.text.starts_with('-')) {
        let takes_value = matches!(
            word.text.as_str(),
            "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--exec-path"
        );
        // Aliases, pagers, editors and many other values are run.
        if word.text == "-c"
            && let Some((_, value)) = arguments.get(at + 1).and_then(|word| word.text.split_once('='))
            && let Some(reason) = of_text(value.trim_start_matches('!'), depth.deeper())
        {
            return Some(reason);
        }
        at += if takes_value { 2 } else { 1 };
    }
    let (command, rest) = arguments.get(at..)?.split_first()?;
    // Some options name a program, and so does an address.
    let named: &[&str] = match command.text.as_str() {
        "clone" => &["--upload-pack", "-u"],
        "fetch" | "pull" | "ls-remote" | "fetch-pack" => &["--upload-pack", "--exec"],
        "push" | "send-pack" => &["--receive-pack", "--exec"],
        "archive" => &["--exec"],
        "difftool" => &["--extcmd", "-x"],
        "grep" => &["--open-files-in-pager", "-O"],
        _ => &[],
    };
    if let Some(reason) = of_values(rest, named, depth) {
        return Some(reason);
    }
    let mut addresses = rest.iter().filter_map(|word| word.text.strip_prefix("ext::"));
    if let Some(reason) = addresses.find_map(|text| of_text(text, depth.deeper())) {
        return Some(reason);
    }
    let short = |letters: &[char]| has_option(rest, letters, "\0");
    let long = |name: &str| {
        options(rest).any(|option| {
            let option = option.split('=').next().unwrap_or(option);
            option.len() > 4 && name.starts_with(option)
        })
    };
    let first = operands(rest).next().map(|word| word.text.as_str());
    let reason = match command.text.as_str() {
        "reset" if has_option(rest, &[], "hard") || has_option(rest, &[], "merge") => {
            "throws away changes that are not committed"
        }
        "clean" if forces(rest) => "deletes files that git does not know",
        "checkout" | "switch" if forces(rest) || long("--discard-changes") => {
            "throws away changes that are not committed"
        }
        "checkout" if rest.iter().any(|word| word.text == "--" || word.text == ".") => {
            "throws away changes that are not committed"
        }
        "restore" if !(long("--staged") || short(&['S'])) || long("--worktree") || short(&['W']) => {
            "throws away changes that are not committed"
        }
        "push"
            if forces(rest)
                || long("--force-with-lease")
                || long("--mirror")
                || long("--delete")
                || long("--prune")
                || short(&['d']) =>
        {
            "rewrites or deletes what others may have"
        }
        "push" if operands(rest).any(|word| word.text.starts_with(['+', ':'])) => {
            "rewrites or deletes what others may have"
        }
        "branch" if short(&['M', 'C']) || (forces(rest) && !long("--delete") && !short(&['d'])) => {
            "moves a branch away from its commits"
        }
        "tag" if forces(rest) => "moves a tag",
        "branch" if short(&['D']) || (forces(rest) && (long("--delete") || short(&['d']))) => {
            "deletes a branch with its commits"
        }
        "rm" if forces(rest) => "deletes files with their changes",
        "stash" if matches!(first, Some("drop" | "clear")) => "deletes stashed changes",
        "reflog" if matches!(first, Some("delete" | "expire")) => "deletes the way back to earlier states",
        "filter-branch" | "filter-repo" => "rewrites the whole history",
        "update-ref" if short(&['d']) || long("--delete") => "deletes a reference",
        "gc" | "prune" if long("--prune") || command.text == "prune" => "deletes commits that nothing refers to",
        "worktree" if first == Some("remove") && forces(rest) => "deletes a worktree with its changes",
        "tag" if short(&['d']) || long("--delete") => "deletes a tag",
        "bisect" if first == Some("run") => return of_words(rest.get(1..)?, &Feed::Nothing, depth.deeper()),
        "rebase" if long("--root") || long("--onto") || long("--interactive") || short(&['i']) => "rewrites history",
        "rebase" | "config" => {
            let texts = rest
                .iter()
                .map(|word| word.text.trim_start_matches("--exec=").trim_start_matches('!'));
            return texts
                .filter(|text| text.contains(' '))
                .find_map(|text| of_text(text, depth.deeper()));
        }
        "submodule" if first == Some("foreach") => {
            let run = rest.iter().position(|word| word.text == "foreach")? + 1;
            let run = run + rest[run..].iter().take_while(|word| word.text.starts_with('-')).count();
            return rest[run..]
                .iter()
                .find_map(|word| of_text(&word.text, depth.deeper()))
                .or_else(|| of_words(&rest[run..], &Feed::Nothing, depth.deeper()));
        }
        _ => return None,
    };
    Some(format!("{reason} (git {})", command.text))
}
