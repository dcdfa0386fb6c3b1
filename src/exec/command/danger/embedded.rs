//! Program text in other languages: only the plainest forms of deleting can be seen in it.

use super::FORCED;
use super::options::forces;
use crate::exec::command::base_name;
use crate::exec::command::script::Feed;
use crate::exec::command::word::Word;

/// What deletes whole folders, in small letters.
const DELETES: &[&str] = &[
    "rmtree",
    "rmsync",
    "rmdirsync",
    "promises.rm(",
    "fs.rm(",
    "rm_r",
    "remove_dir",
    "remove_tree",
    "remove_entry",
    "unlink glob",
    "remove-item",
];
/// What deletes them if it is told to, by an option or a pattern that is recursive.
const REMOVES: &[&str] = &[
    "rm(",
    "unlink(",
    "fs.remove",
    "removesync(",
    "deno.remove",
    "os.remove(",
];
/// What fetches from another machine.
const FETCHES: &[&str] = &[
    "urlopen",
    "requests.get",
    "http.get",
    "fetch(",
    "open-uri",
    "lwp",
    "downloadstring",
    "invoke-webrequest",
    "invoke-restmethod",
    "iwr ",
    "irm ",
];
/// What runs a text.
const RUNS: &[&str] = &[
    "exec(",
    "eval(",
    "eval ",
    "system(",
    "subprocess",
    "execsync",
    "invoke-expression",
    "iex",
];

/// The text of a program in another language: only the plainest forms of deleting can be seen in it.
pub(super) fn of_program_text(arguments: &[Word], feed: &Feed) -> Option<String> {
    let fed = match feed {
        Feed::Text(text) => Some(text.as_str()),
        _ => None,
    };
    let texts = arguments.iter().map(|word| word.text.as_str()).chain(fed);
    // One of these languages does not mind the case of its names.
    let texts: Vec<String> = texts.map(str::to_lowercase).collect();
    let holds = |text: &str, signs: &[&str]| signs.iter().any(|sign| text.contains(sign));
    if texts.iter().any(|text| holds(text, FETCHES) && holds(text, RUNS)) {
        return Some("runs a download that nobody has read".to_owned());
    }
    const LOOPS: [&str; 5] = ["while", "until", "loop", "for(;;)", "for (;;)"];
    if texts.iter().any(|text| forks(text) && holds(text, &LOOPS)) {
        return Some("starts itself over and over (a fork bomb)".to_owned());
    }
    let deep = |text: &str| text.contains("recursive") && holds_call(text, REMOVES);
    let found = texts
        .iter()
        .any(|text| holds_call(text, DELETES) || deep(text) || holds_forced_removal(text));
    found.then(|| "deletes whole folders in its program text".to_owned())
}

/// Whether a text holds one of the signs; one that begins with `rm` is not the end of another word, as in `norm(`.
fn holds_call(text: &str, signs: &[&str]) -> bool {
    let stands = |at: usize| !text[..at].ends_with(char::is_alphanumeric);
    signs.iter().any(|sign| {
        text.match_indices(sign)
            .any(|(at, _)| !sign.starts_with("rm") || stands(at))
    })
}

/// Whether a program text starts itself once more: `fork` as a call or a statement, not as a word of prose.
fn forks(text: &str) -> bool {
    const BEHIND: [&str; 10] = ["()", ";", "}", "{", "&", "|", "while", "until", "end", "do "];
    const BEFORE: [&str; 6] = ["\n", ";", "{", "do", "while", "until"];
    text.match_indices("fork").any(|(at, fork)| {
        let behind = &text[at + fork.len()..];
        let is_word = !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let before = text[..at].trim_end_matches([' ', '\t']);
        let begins = before.is_empty() || BEFORE.iter().any(|sign| before.ends_with(sign));
        let rest = behind.trim_start_matches([' ', '\t']);
        let ends_line = rest.is_empty() || rest.starts_with(['\n', '\r']);
        let ends = begins && ends_line || BEHIND.iter().any(|sign| rest.starts_with(sign));
        let is_apart = !behind.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        is_word && (behind.starts_with('(') || is_apart && ends)
    })
}

/// Shell commands within the arguments of a program that has a language of its own.
pub(super) fn of_embedded(arguments: &[Word], feed: &Feed) -> Option<String> {
    let texts = arguments.iter().map(|word| word.text.as_str());
    let fed = match feed {
        Feed::Text(text) => Some(text.as_str()),
        _ => None,
    };
    texts.chain(fed).any(holds_forced_removal).then(|| FORCED.to_owned())
}

/// Whether the words of a text, whatever stands between them, hold `rm` with force.
fn holds_forced_removal(text: &str) -> bool {
    let words: Vec<Word> = text
        .split(|c: char| !c.is_alphanumeric() && !"-_./".contains(c))
        .filter(|word| !word.is_empty())
        .map(Word::literal)
        .collect();
    (0..words.len()).any(|at| {
        if base_name(&words[at].text) != "rm" {
            return false;
        }
        let options = words[at + 1..]
            .iter()
            .take_while(|word| word.text.starts_with('-'))
            .count();
        forces(&words[at + 1..][..options])
    })
}
