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
    if texts.iter().any(|text| holds(text, &["fork"]) && holds(text, &LOOPS)) {
        return Some("starts itself over and over (a fork bomb)".to_owned());
    }
    let deep = |text: &str| text.contains("recursive") && holds(text, &["rm(", "unlink(", "remove"]);
    let found = texts
        .iter()
        .any(|text| holds(text, DELETES) || deep(text) || holds_forced_removal(text));
    found.then(|| "deletes whole folders in its program text".to_owned())
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
        let options = words[at + 1..]
            .iter()
            .take_while(|word| word.text.starts_with('-'))
            .count();
        base_name(&words[at].text) == "rm" && forces(&words[at + 1..][..options])
    })
}
