//! Commands that are known only to read: the table of programs, applied to a command's words.

mod awk;
mod git;
mod rules;
mod sed;
mod starting;

use super::judgement::Kind;
use super::table::{
    FORMS, READERS, Row, Rule, TOOLS, Tool, WITH_SHORT_VERSION, WITH_SINGLE_DASH, WITH_SMALL_LETTER, WITH_VERSION,
};
use super::word::Word;
use super::{base_name, has_usual_place};
pub(super) use starting::is_of_the_shell;
use std::collections::HashSet;
use std::sync::LazyLock;

use rules::{
    is_date, is_plain, is_query, is_test, lists_archive, may_be_evaluated, reads_harmlessly, sets_harmlessly,
    sets_options, shows_certificate,
};

/// What a command that only reads does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub kind: Kind,
    pub words: &'static str,
    /// What it may start that the folder names in which it runs.
    pub starts: Option<&'static str>,
    /// Whether it loads no code and reaches nobody, so that it only reads without walls, too.
    pub is_plain: bool,
}

impl Found {
    /// What starts nothing.
    pub(super) fn new(kind: Kind, words: &'static str) -> Self {
        Self {
            kind,
            words,
            starts: None,
            is_plain: true,
        }
    }
}

/// What a simple command does if it is known to read and print and do nothing else; otherwise why it is not, in words
/// that complete "it …".
pub(super) fn reads(words: &[Word]) -> Result<Found, String> {
    let Some((program, arguments)) = words.split_first() else {
        return Err("is empty".to_owned());
    };
    let found = reads_by_words(program, arguments)?;
    let name = base_name(&program.text);
    let is_plain = starting::is_plain(name);
    let names_an_address = |word: &Word| {
        let is_url = word.text.contains("://") && !word.text.starts_with("s3://");
        word.text.starts_with("/inet") || !is_plain && (is_url || word.text.starts_with("git+"))
    };
    if name != "git" && arguments.iter().any(names_an_address) {
        return Err("names an address that it may reach".to_owned());
    }
    Ok(Found {
        starts: starting::starts(name, arguments),
        is_plain,
        ..found
    })
}

fn reads_by_words(program: &Word, arguments: &[Word]) -> Result<Found, String> {
    let Some(path) = program.exact().filter(|path| !path.is_empty()) else {
        return Err("runs a program that only the run can tell".to_owned());
    };
    if !has_usual_place(path) {
        return Err(format!("runs a program of its own: {path}"));
    }
    let name = base_name(path);
    if let [only] = arguments
        && asks_version(name, only)
    {
        return Ok(Found::new(Kind::Read, "shows its version or help"));
    }
    if name == "git" {
        return git::reads(arguments);
    }
    let mut why = None;
    for row in READERS.iter().filter(|row| is_among(name, row.names)) {
        match by_row(row, arguments) {
            Ok(()) => {
                return Ok(Found::new(row.kind, row.words));
            }
            Err(reason) => why = Some(reason),
        }
    }
    for tool in TOOLS.iter().filter(|tool| is_among(name, tool.names)) {
        match by_tool(tool, arguments) {
            Ok(found) => return Ok(found),
            Err(reason) => why = why.or(Some(reason)),
        }
    }
    let texts: Option<Vec<&str>> = arguments.iter().map(Word::exact).collect();
    for (_, forms, words) in FORMS.iter().filter(|(known, ..)| is_among(name, known)) {
        if texts
            .as_ref()
            .is_some_and(|texts| forms.iter().any(|form| has_form(texts, form)))
        {
            return Ok(Found::new(Kind::Read, words));
        }
    }
    Err(why.unwrap_or_else(|| format!("runs {name}, which is not known to only read")))
}

/// Some shells take `-V` for a mode and go on to read commands, so that not each form means the same everywhere.
fn asks_version(name: &str, argument: &Word) -> bool {
    match argument.exact() {
        Some("--version" | "--help") => is_among(name, WITH_VERSION),
        Some("-v") => is_among(name, WITH_SMALL_LETTER),
        Some("-V") => is_among(name, WITH_SHORT_VERSION),
        Some("-version") => is_among(name, WITH_SINGLE_DASH),
        _ => false,
    }
}

/// Whether a program takes any arguments at all without doing more than reading.
pub(super) fn reads_anything(name: &str) -> bool {
    let rows = READERS.iter().filter(|row| is_among(name, row.names));
    let open = |row: &Row| row.barred.is_empty() && row.rule == Rule::None;
    rows.into_iter().any(open)
}

/// What a program does when it only reads.
pub(super) fn usually(name: &str) -> Option<Found> {
    let row = READERS.iter().find(|row| is_among(name, row.names))?;
    Some(Found::new(row.kind, row.words))
}

/// Whether a program of this name is in the tables.
pub(super) fn is_known(name: &str) -> bool {
    static ALL: LazyLock<HashSet<&str>> = LazyLock::new(|| {
        let readers = READERS.iter().map(|row| row.names);
        let names = readers.chain(TOOLS.iter().map(|tool| tool.names));
        names.flat_map(str::split_ascii_whitespace).collect()
    });
    ALL.contains(name)
}

fn is_among(name: &str, names: &str) -> bool {
    names.split_ascii_whitespace().any(|known| known == name)
}

fn by_row(row: &Row, arguments: &[Word]) -> Result<(), String> {
    no_barred(arguments, row.barred, row.valued)?;
    let refused = |is_fine: bool, why: &str| if is_fine { Ok(()) } else { Err(why.to_owned()) };
    match row.rule {
        Rule::None => Ok(()),
        Rule::NoOperands => refused(
            arguments
                .iter()
                .all(|word| word.exact().is_some_and(|text| text.starts_with('-'))),
            "may set what it shows otherwise",
        ),
        Rule::NoEquals => refused(
            arguments
                .iter()
                .all(|word| word.exact().is_some_and(|text| !text.contains('='))),
            "may set what it shows otherwise",
        ),
        Rule::Only(options) => refused(
            has_only(arguments, options),
            "has an option that is not known to be harmless",
        ),
        Rule::Operands(most) => refused(
            operand_count(arguments, row.valued)? <= most,
            "writes its last argument",
        ),
        Rule::Awk => awk::reads(arguments),
        Rule::Sed => sed::reads(arguments),
        Rule::Certificate => refused(
            shows_certificate(arguments),
            "has an argument that is not known to only show a certificate",
        ),
        Rule::Date => refused(is_date(arguments), "may set the clock"),
        Rule::Env => refused(
            arguments
                .iter()
                .all(|word| matches!(word.exact(), Some("-0" | "--null"))),
            "runs a program",
        ),
        Rule::Plain => refused(
            arguments.iter().all(is_plain),
            "has an argument that a shell may take for more than a text",
        ),
        Rule::Printf => refused(
            arguments
                .first()
                .is_none_or(|word| !word.may_be_option() || word.exact() == Some("--"))
                && !arguments.iter().any(may_be_evaluated),
            "may set a variable by a name that is not known, or run what stands in a number",
        ),
        Rule::Reads => refused(reads_harmlessly(arguments), "sets variables that programs may act upon"),
        Rule::Sets => refused(sets_harmlessly(arguments), "sets variables that programs may act upon"),
        Rule::Options => refused(sets_options(arguments), "sets options that change what commands do"),
        Rule::Numbers => refused(
            arguments
                .iter()
                .all(|word| word.text.parse::<u32>().is_ok() || matches!(word.text.as_str(), "$?" | "$!")),
            "takes more than a number",
        ),
        Rule::Sqlite => refused(is_query(arguments), "may change the database"),
        Rule::Tar => refused(lists_archive(arguments), "may unpack, pack or run something"),
        Rule::Test => refused(is_test(arguments), "tests in a way that may run something"),
    }
}

/// None of the barred options is among the arguments, nor anything that may turn out to be one.
pub(super) fn no_barred(arguments: &[Word], barred: &str, valued: &str) -> Result<(), String> {
    if barred.is_empty() {
        return Ok(());
    }
    let single_dash_words = barred
        .split_ascii_whitespace()
        .any(|option| option.len() > 2 && !option.starts_with("--"));
    // An option may take the next argument as its value, `--` too.
    let mut may_take = false;
    for word in arguments {
        let is_value = std::mem::replace(&mut may_take, takes_next(word));
        if word.exact() == Some("--") && !single_dash_words && !is_value {
            return Ok(());
        }
        if (word.glob || !word.known) && word.may_be_option() {
            return Err(format!(
                "has an argument that may turn out to be an option: {}",
                word.text
            ));
        }
        let hit = |option: &&str| is_option(&word.text, option, valued);
        if let Some(option) = barred.split_ascii_whitespace().find(hit) {
            return Err(format!(
                "has an option that makes it do more than read: {}",
                option.trim_end_matches(['*', '!'])
            ));
        }
        if !(word.known || word.tame) {
            return Err(format!(
                "has an argument that may turn out to be an option: {}",
                word.text
            ));
        }
    }
    Ok(())
}

/// Whether the next argument may be the value of this one.
fn takes_next(word: &Word) -> bool {
    // Of no program that is looked at here do these take one.
    const PLAIN: &str = "--stat --shortstat --numstat --name-only --name-status --cached --staged --oneline --patch --hidden --no-heading";
    word.may_be_option() && !(word.known && (word.text.contains('=') || is_among(&word.text, PLAIN)))
}

/// Whether an argument is an option of the table, or holds or shortens it.
fn is_option(text: &str, option: &str, valued: &str) -> bool {
    if let Some(beginning) = option.strip_suffix('*') {
        return text.starts_with(beginning);
    }
    if let Some(full) = option.strip_suffix('!') {
        return text == full || text.strip_prefix(full).is_some_and(|rest| rest.starts_with('='));
    }
    if option.starts_with("--") {
        let name = text.split('=').next().unwrap_or(text);
        return name.len() > 2 && option.starts_with(name);
    }
    let mut letters = option.chars().skip(1);
    match (letters.next(), letters.next()) {
        (Some(letter), None) => {
            let bundle = text
                .strip_prefix('-')
                .filter(|rest| !rest.starts_with('-'))
                .unwrap_or_default();
            // What follows the letter of an option with a value is that value.
            let end = bundle.find(|c| valued.contains(c)).map_or(bundle.len(), |at| at + 1);
            bundle.get(..end).unwrap_or(bundle).contains(letter)
        }
        _ => text == option,
    }
}

/// Whether all the options are among these, with their value where they end with `=`.
fn has_only(arguments: &[Word], options: &str) -> bool {
    arguments.iter().all(|word| {
        let fits = |option: &str| match option.ends_with('=') {
            true => word.text.starts_with(option),
            false => word.text == option,
        };
        !word.may_be_option() || word.exact().is_some() && options.split_ascii_whitespace().any(fits)
    })
}

fn operand_count(arguments: &[Word], valued: &str) -> Result<usize, String> {
    let mut count = 0;
    let mut is_value = false;
    for word in arguments {
        if std::mem::take(&mut is_value) {
            continue;
        }
        let Some(text) = word.exact() else {
            // One word at least that may be several.
            if word.splits || word.glob || !word.tame {
                return Err("has arguments that only the run can tell, and writes its last one".to_owned());
            }
            count += 1;
            continue;
        };
        match text.strip_prefix('-').filter(|rest| !rest.is_empty()) {
            Some("-") => return Err("has arguments that are not counted".to_owned()),
            Some(option) => {
                let mut letters = option.chars();
                is_value = letters.next().is_some_and(|c| valued.contains(c)) && letters.next().is_none();
            }
            None => count += 1,
        }
    }
    Ok(count)
}

fn by_tool(tool: &Tool, arguments: &[Word]) -> Result<Found, String> {
    let mut rest = arguments;
    // Options in front of the command.
    while let Some((first, after)) = rest.split_first() {
        let Some(text) = first.exact() else { break };
        let fits = |option: &&str| match option.strip_suffix('=') {
            Some(name) => text == name || text.strip_prefix(name).is_some_and(|value| value.starts_with('=')),
            None => text == *option,
        };
        let Some(option) = tool.before.split_ascii_whitespace().find(fits) else {
            break;
        };
        let takes_next = option.ends_with('=') && !text.contains('=');
        rest = after.get(usize::from(takes_next)..).unwrap_or_default();
    }
    let begins = |command: &&str| {
        let words: Vec<&str> = command.split(' ').collect();
        rest.len() >= words.len() && words.iter().zip(rest).all(|(word, given)| given.exact() == Some(word))
    };
    let command = tool.commands.split(',').map(str::trim).find(begins);
    let Some(command) = command else {
        return Err("is a command of this program that is not known to only read".to_owned());
    };
    let after = rest.get(command.split(' ').count()..).unwrap_or_default();
    no_barred(after, tool.barred, tool.valued)?;
    let names = tool.names;
    let kind = if command.contains("search") {
        Kind::Search
    } else {
        Kind::Read
    };
    let words = match names.split(' ').next() {
        Some("gh" | "glab" | "aws" | "gcloud" | "az") => "shows what a service knows",
        Some("kubectl" | "helm") => "shows the state of a cluster",
        Some("docker") => "shows containers and images",
        Some("systemctl" | "launchctl") => "shows services",
        _ => "shows facts, changes nothing",
    };
    Ok(Found::new(kind, words))
}

/// Whether arguments are of a form: these words and no other, or, with `*`, any after them, with `+` some that are no
/// options.
fn has_form(texts: &[&str], form: &str) -> bool {
    let words: Vec<&str> = form.split_ascii_whitespace().collect();
    match words.split_last() {
        Some((&"*", begin)) => texts.starts_with(begin),
        Some((&"+", begin)) => texts
            .strip_prefix(begin)
            .is_some_and(|rest| !rest.is_empty() && !rest.iter().any(|text| text.starts_with(['-', '@']))),
        _ => texts == words,
    }
}

#[cfg(test)]
mod tests;
