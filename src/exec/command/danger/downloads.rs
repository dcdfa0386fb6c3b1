//! Downloads that are run: through a pipe, a substitution, or a file that is written first.

use super::{SHELLS, is_interpreter};
use crate::exec::command::base_name;
use crate::exec::command::script::{Feed, Simple};
use crate::exec::command::starters::{Starts, is_starter};
use crate::exec::command::word::Word;

const DOWNLOADERS: &[&str] = &[
    "curl", "wget", "aria2c", "fetch", "http", "https", "xh", "lynx", "nc", "ncat", "ftp",
];
const REASON: &str = "runs a download that nobody has read";
const MAX_DEPTH: usize = 40;

fn is_downloader(name: &str) -> bool {
    DOWNLOADERS.contains(&base_name(name))
}

fn runs(name: &str) -> bool {
    SHELLS.contains(&name) || is_interpreter(name) || ["eval", "source", "."].contains(&name)
}

/// A download that something runs through a pipe or a substitution.
pub(super) fn run_at_once(simple: &Simple, all: &[Simple]) -> Option<String> {
    let program = base_name(&simple.words.first()?.text);
    let wrapped = || simple.words.iter().any(|word| runs(base_name(&word.text)));
    if !(runs(program) || (is_starter(program, Starts::AnyTail) && wrapped())) {
        return None;
    }
    let substituted = simple.substituted.iter().any(|name| is_downloader(name));
    // A pipe through other programs (tee, gunzip) brings the download all the same.
    let piped = matches!(&simple.feed, Feed::Pipe(sources) if sources.iter().any(|at| downloads(*at, all, 0)));
    (piped || substituted).then(|| REASON.to_owned())
}

fn downloads(at: usize, all: &[Simple], depth: usize) -> bool {
    let Some(simple) = all.get(at).filter(|_| depth < MAX_DEPTH) else {
        return false;
    };
    let mut words = simple.words.iter();
    words.any(|word| is_downloader(&word.text))
        || matches!(&simple.feed, Feed::Pipe(sources) if sources.iter().any(|at| downloads(*at, all, depth + 1)))
}

/// A download into a file that a later command runs.
pub(super) fn run_later(all: &[Simple]) -> Option<String> {
    let mut fetched: Vec<String> = Vec::new();
    for simple in all {
        let Some((program, arguments)) = simple.words.split_first() else {
            continue;
        };
        let mut rest = simple
            .words
            .iter()
            .skip_while(|word| !is_downloader(&word.text))
            .skip(1)
            .peekable();
        if rest.peek().is_some() {
            fetched.extend(saved(&rest.cloned().collect::<Vec<_>>()));
            fetched.extend(simple.writes.iter().map(|word| bare(&word.text).to_owned()));
            continue;
        }
        let is_fetched = |word: &Word| fetched.iter().any(|name| name == bare(&word.text));
        let runs_it = runs(base_name(&program.text)) || is_starter(base_name(&program.text), Starts::AnyTail);
        if is_fetched(program) || (runs_it && arguments.iter().any(is_fetched)) {
            return Some(REASON.to_owned());
        }
        // What comes down a pipe from a download and is kept.
        if let Feed::Pipe(sources) = &simple.feed
            && sources.iter().any(|at| downloads(*at, all, 0))
        {
            fetched.extend(simple.writes.iter().map(|word| bare(&word.text).to_owned()));
            if base_name(&program.text) == "tee" {
                fetched.extend(arguments.iter().map(|word| bare(&word.text).to_owned()));
            }
        }
    }
    None
}

fn bare(path: &str) -> &str {
    path.strip_prefix("./").unwrap_or(path)
}

/// Names of files that a download goes to.
fn saved(arguments: &[Word]) -> Vec<String> {
    let mut names = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        let text = word.text.as_str();
        let next = || arguments.get(at + 1).map(|word| bare(&word.text).to_owned());
        if let Some(name) = text
            .strip_prefix("--output=")
            .or_else(|| text.strip_prefix("--output-document="))
        {
            names.push(bare(name).to_owned());
        } else if text == "--output" || text == "--output-document" {
            names.extend(next());
        } else if let Some(bundle) = text.strip_prefix('-').filter(|rest| !rest.starts_with('-')) {
            if bundle.ends_with(['o', 'O']) {
                names.extend(next());
            } else if let Some(name) = bundle.strip_prefix(['o', 'O']) {
                names.push(bare(name).to_owned());
            }
        } else if text.contains("://") {
            names.extend(
                text.split(['?', '#'])
                    .next()
                    .and_then(|path| path.rsplit('/').next())
                    .map(str::to_owned),
            );
        }
    }
    names.retain(|name| !name.is_empty() && name != "-");
    names
}
