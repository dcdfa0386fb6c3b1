//! Git's commands that only read.

use super::{Found, no_barred};
use crate::exec::command::judgement::Kind;
use crate::exec::command::table::{GIT_BARRED, GIT_READERS, GIT_SETTINGS};
use crate::exec::command::word::Word;

/// What a git command does if it only reads; otherwise why it may do more.
pub(super) fn reads(arguments: &[Word]) -> Result<Found, String> {
    let refuse = |why: &str| Err(why.to_owned());
    let mut rest = arguments;
    while let Some((first, after)) = rest.split_first() {
        rest = match first.exact() {
            Some(
                "--no-pager"
                | "--no-optional-locks"
                | "--literal-pathspecs"
                | "--no-replace-objects"
                | "--icase-pathspecs",
            ) => after,
            Some("-C") if after.first().is_some_and(|folder| !folder.splits && !folder.glob) => &after[1..],
            Some("-c") => {
                let setting = after.first().and_then(Word::exact).unwrap_or_default().to_lowercase();
                let fits = |known: &&str| match known.ends_with(['.', '=']) {
                    true => setting.starts_with(*known),
                    false => setting == **known,
                };
                if !GIT_SETTINGS.iter().any(fits) {
                    return refuse("configures git for this run, which can make it run programs");
                }
                &after[1..]
            }
            Some("--version" | "--html-path" | "--man-path" | "--exec-path") if after.is_empty() => {
                return found(Kind::Read, "shows facts about git");
            }
            Some(option) if option.starts_with('-') => {
                return Err(format!("has an option of git that may make it run something: {option}"));
            }
            _ => break,
        };
    }
    let Some((command, rest)) = rest.split_first() else {
        return refuse("names no command of git");
    };
    let Some(command) = command.exact() else {
        return refuse("runs a command of git that only the run can tell");
    };
    no_barred(rest, GIT_BARRED, if command == "grep" { "ABCefm" } else { "OSGLUMC" })?;
    let texts: Option<Vec<&str>> = rest.iter().map(Word::exact).collect();
    let texts = match texts {
        Some(texts) => texts,
        // What only the run can tell stands where it can be no option; it is a commit or a path.
        None if GIT_READERS.split_ascii_whitespace().any(|known| known == command) => {
            rest.iter().filter_map(Word::exact).collect()
        }
        None => return refuse("has arguments of git that only the run can tell"),
    };
    if GIT_READERS.split_ascii_whitespace().any(|known| known == command) {
        return match command {
            "grep" => found(Kind::Search, "searches text in the repository"),
            "ls-files" | "ls-tree" => found(Kind::List, "lists files of the repository"),
            // Writes the index where it was told to.
            "diff-files" | "rev-parse" if texts.contains(&"--parseopt") => refuse("parses options"),
            _ => found(Kind::Read, "shows the state or history of the repository"),
        };
    }
    let shows = match command {
        "branch" => lists(&texts, BRANCH_LISTING, BRANCH_SHOWING),
        "tag" => lists(&texts, TAG_LISTING, TAG_SHOWING),
        "remote" => matches!(
            texts.as_slice(),
            [] | ["-v" | "--verbose"] | ["get-url", _] | ["get-url", "--all" | "--push", _]
        ),
        "stash" => matches!(texts.as_slice(), ["list" | "show", ..]),
        "reflog" => {
            matches!(texts.as_slice(), [] | ["show", ..]) || texts.first().is_some_and(|text| text.starts_with("-n"))
        }
        "worktree" => matches!(texts.as_slice(), ["list", ..]),
        "config" => reads_settings(&texts),
        "submodule" => matches!(texts.as_slice(), [] | ["status" | "summary", ..]),
        "notes" => matches!(texts.as_slice(), [] | ["list" | "show", ..]),
        "bisect" => matches!(texts.as_slice(), ["log" | "view"]),
        "sparse-checkout" | "bundle" => matches!(texts.as_slice(), ["list" | "list-heads", ..]),
        "lfs" => matches!(texts.as_slice(), ["ls-files" | "status" | "env", ..]),
        "apply" => {
            matches!(texts.as_slice(), ["--stat" | "--numstat" | "--summary", paths @ ..] if paths.iter().all(|path| !path.starts_with('-')))
        }
        "symbolic-ref" => matches!(
            texts.as_slice(),
            ["HEAD"]
                | ["--short" | "-q", "HEAD"]
                | ["refs/remotes/origin/HEAD"]
                | ["--short", "refs/remotes/origin/HEAD"]
        ),
        "fsck" => texts.iter().all(|text| !text.starts_with("--l")),
        "help" => false,
        _ => false,
    };
    match shows {
        true => found(Kind::Read, "shows the state or history of the repository"),
        false => Err(format!("runs git {command}, which may change the repository")),
    }
}

fn found(kind: Kind, words: &'static str) -> Result<Found, String> {
    Ok(Found::new(kind, words))
}

const BRANCH_LISTING: &str = "-l --list --contains --no-contains --merged --no-merged --points-at";
const BRANCH_SHOWING: &str =
    "-a --all -r --remotes -v -vv -av -avv -rv -vva --verbose --show-current --no-color --color -i --ignore-case";
const TAG_LISTING: &str = "-l --list --contains --no-contains --points-at --merged --no-merged";
const TAG_SHOWING: &str = "-i --ignore-case --no-color --color --column";

/// Whether `git branch` or `git tag` lists: operands are patterns only after an option that says so.
fn lists(texts: &[&str], listing: &str, showing: &str) -> bool {
    let among = |text: &str, options: &str| options.split_ascii_whitespace().any(|option| option == text);
    let count = |text: &str| {
        text.strip_prefix("-n")
            .is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()))
    };
    const VALUED: [&str; 7] = [
        "--sort=",
        "--format=",
        "--contains=",
        "--merged=",
        "--no-merged=",
        "--color=",
        "--points-at=",
    ];
    let says_so = texts
        .iter()
        .any(|text| among(text, listing) || (listing == TAG_LISTING && count(text)));
    let mut value = false;
    texts.iter().all(|text| {
        if std::mem::take(&mut value) {
            return !text.starts_with('-');
        }
        value = matches!(*text, "--sort" | "--format");
        value
            || (!text.starts_with('-') && says_so)
            || among(text, listing)
            || among(text, showing)
            || (listing == TAG_LISTING && count(text))
            || VALUED.iter().any(|option| text.starts_with(option))
    })
}

fn reads_settings(texts: &[&str]) -> bool {
    let mut rest = texts;
    while let [first, after @ ..] = rest {
        match *first {
            "--global" | "--local" | "--system" | "--worktree" | "--show-origin" | "--show-scope" | "--name-only"
            | "-z" | "--null" => rest = after,
            _ => break,
        }
    }
    match rest {
        ["--get" | "--get-all" | "--get-regexp" | "get", key] => !key.starts_with('-'),
        ["get", "--all" | "--show-origin", key] => !key.starts_with('-'),
        [key] if key.contains('.') && !key.starts_with('-') => true,
        ["--list" | "-l" | "list", options @ ..] => options.iter().all(|option| {
            matches!(
                *option,
                "--show-origin" | "--show-scope" | "--global" | "--local" | "--name-only" | "--system"
            )
        }),
        _ => false,
    }
}
