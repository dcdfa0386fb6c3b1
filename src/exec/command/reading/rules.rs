//! Arguments that need a look of their own.

use super::{is_among, is_option};
use crate::exec::command::variables;
use crate::exec::command::word::Word;

/// `date` sets the clock with `-s` and with a bare operand.
pub(super) fn is_date(arguments: &[Word]) -> bool {
    let mut value = false;
    arguments.iter().all(|word| {
        let is_value = std::mem::take(&mut value);
        let text = word.text.as_str();
        if !word.known || word.glob {
            return !word.splits
                && !word.glob
                && (is_value || text.starts_with('+') || text.starts_with("--date=") || text.starts_with("-d"));
        }
        value = !is_value && matches!(text, "-d" | "--date" | "-r" | "--reference" | "-f" | "--file");
        let sets = is_option(text, "-s", "dfrI") || is_option(text, "--set", "");
        is_value || text.starts_with('+') || (text.starts_with('-') && !sets)
    })
}

/// `set` with options that make a script stricter or more talkative.
pub(super) fn sets_options(arguments: &[Word]) -> bool {
    const OPTIONS: &str = "pipefail errexit nounset xtrace";
    let mut names_option = false;
    !arguments.is_empty()
        && arguments.iter().all(|word| {
            let Some(text) = word.exact() else { return false };
            if std::mem::replace(&mut names_option, text.ends_with('o')) {
                names_option = false;
                return is_among(text, OPTIONS);
            }
            text.len() > 1
                && text.starts_with(['-', '+'])
                && text[1..]
                    .chars()
                    .enumerate()
                    .all(|(at, c)| "euxv".contains(c) || (c == 'o' && at + 2 == text.len()))
        })
        && !names_option
}

/// Whether some shell may run what stands in this word where it expects a number: it evaluates subscripts.
pub(super) fn may_be_evaluated(word: &Word) -> bool {
    word.known && word.text.contains('[') && word.text.contains(['$', '`'])
}

/// `export`, `local`, `readonly`, `unset`: plain names of variables that no program acts upon, and no options: `-n` makes another name
/// for a variable, and after none of them is the next word anything but a name.
pub(super) fn sets_harmlessly(arguments: &[Word]) -> bool {
    !arguments.iter().any(may_be_evaluated) && arguments.iter().all(is_harmless_name)
}

/// `read`: the same with its options.
pub(super) fn reads_harmlessly(arguments: &[Word]) -> bool {
    if arguments.iter().any(may_be_evaluated) {
        return false;
    }
    let mut skip = false;
    arguments.iter().all(|word| {
        if std::mem::take(&mut skip) {
            // A prompt or a number; where the option takes no value, as in zsh, the name of a variable.
            let is_name = word
                .text
                .starts_with(|first: char| first.is_alphabetic() || first == '_')
                && word.text.chars().all(|char| char.is_alphanumeric() || char == '_');
            return !word.splits && !word.glob && (!is_name || is_harmless_name(word));
        }
        match word.text.as_str() {
            "-r" | "-s" | "-e" | "-rs" => word.known,
            "-d" | "-rd" | "-n" | "-rn" | "-p" | "-rp" | "-t" | "-N" => {
                skip = true;
                word.known
            }
            _ => is_harmless_name(word),
        }
    })
}

/// `NAME` or `NAME=value` of a variable that no program acts upon.
fn is_harmless_name(word: &Word) -> bool {
    let text = word.text.as_str();
    let (name, value) = text
        .split_once('=')
        .map_or((text, None), |(name, value)| (name, Some(value)));
    let value = value.filter(|_| word.known);
    !word.splits && !word.glob && variables::is_harmless_value(name, value)
}

/// `test` and `[`: some operators evaluate what they are given, so each must be one that does not.
pub(super) fn is_test(arguments: &[Word]) -> bool {
    const UNARY: &str = "-f -d -e -r -w -x -s -n -z -L -h -p -S -b -c -g -u -k -t -O -G -N";
    const BINARY: &str = "= == != < > -eq -ne -lt -le -gt -ge -nt -ot -ef";
    let arguments = match arguments.split_last() {
        Some((last, rest)) if last.exact() == Some("]") => rest,
        _ => arguments,
    };
    if arguments
        .iter()
        .any(|word| word.splits || word.glob || may_be_evaluated(word) || matches!(word.text.as_str(), "-v" | "-R"))
    {
        return false;
    }
    let is_one = |word: &Word, of: &str| word.exact().is_some_and(|text| is_among(text, of));
    match arguments {
        [] | [_] => true,
        [not, rest @ ..] if not.exact() == Some("!") => is_test(rest),
        [operator, _] => is_one(operator, UNARY),
        [_, operator, _] => is_one(operator, BINARY),
        _ => arguments.iter().all(|word| word.exact().is_some()),
    }
}

/// A word that means itself to a shell, and is no option but of letters and a number.
pub(super) fn is_plain(word: &Word) -> bool {
    let Some(text) = word.exact() else { return false };
    let of_text = |char: char| char.is_alphanumeric() || " ._/:,@%+=-".contains(char);
    let in_option = |char: char| char.is_ascii_alphanumeric();
    match text.strip_prefix('-') {
        Some(option) => !option.is_empty() && option.chars().all(in_option),
        None => text.chars().all(of_text),
    }
}

/// `openssl x509` that shows a certificate in a file. A value with a colon may name a library to be loaded.
pub(super) fn shows_certificate(arguments: &[Word]) -> bool {
    const SHOWING: &str = "-noout -text -subject -issuer -dates -startdate -enddate -serial -fingerprint -sha1 -sha256 -pubkey \
                           -purpose -modulus -hash -subject_hash -issuer_hash -email -alias -ocspid -ocsp_uri";
    const VALUED: &str = "-in -inform -nameopt -certopt -ext -checkend -checkhost -checkemail -checkip";
    let Some(texts) = arguments.iter().map(Word::exact).collect::<Option<Vec<_>>>() else {
        return false;
    };
    let Some((&"x509", rest)) = texts.split_first() else {
        return false;
    };
    let mut is_value = false;
    let is_fine = |text: &&str| {
        if std::mem::take(&mut is_value) {
            return !text.contains(':');
        }
        is_value = is_among(text, VALUED);
        is_value || is_among(text, SHOWING)
    };
    rest.iter().all(is_fine)
}

/// `sqlite3 FILE QUERY` with nothing but questions.
pub(super) fn is_query(arguments: &[Word]) -> bool {
    let Some(texts) = arguments.iter().map(Word::exact).collect::<Option<Vec<_>>>() else {
        return false;
    };
    let shows = |text: &&&str| {
        is_among(
            text,
            "-readonly -header -column -json -csv -line -markdown -table -box -list -noheader",
        )
    };
    let rest = &texts[texts.iter().take_while(shows).count()..];
    let [file, queries @ ..] = rest else { return false };
    // An address says how a file is opened, too.
    if file.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:")) {
        return false;
    }
    let asks = |statement: &str| {
        let lower = statement.trim().to_lowercase();
        let acts = [
            "writefile",
            "load_extension",
            "readfile",
            "into ",
            "fts3_tokenizer",
            "\n.",
        ];
        let questions = ["select ", "explain ", "pragma table_info(", "with "];
        !acts.iter().any(|act| lower.contains(act))
            && (lower.is_empty() || questions.iter().any(|question| lower.starts_with(question)))
            && !["insert", "update", "delete", "drop", "replace", "edit"]
                .iter()
                .any(|verb| lower.split(|c: char| !c.is_alphanumeric()).any(|word| word == *verb))
    };
    let is_fine = |query: &&str| {
        let dotted = [".tables", ".schema", ".databases", ".indexes"];
        dotted.iter().any(|command| {
            query
                .strip_prefix(command)
                .is_some_and(|rest| rest.chars().all(|c| c.is_alphanumeric() || c == '_' || c == ' '))
        }) || (!query.contains('\n') && query.split(';').all(asks))
    };
    !rest[0].starts_with('-') && !queries.is_empty() && queries.iter().all(is_fine)
}

/// `tar t…` with nothing that runs a program.
pub(super) fn lists_archive(arguments: &[Word]) -> bool {
    const OPTIONS: &str =
        "--list --wildcards --no-wildcards --numeric-owner --full-time --verbose --auto-compress --gzip --bzip2 --xz";
    let letters = |text: &str| !text.is_empty() && text.chars().all(|c| "tvfzjJan".contains(c));
    let mut lists = false;
    arguments.iter().enumerate().all(|(at, word)| {
        let Some(text) = word.exact() else { return false };
        let bundle = match text.strip_prefix('-') {
            None if at == 0 => Some(text),
            bundle => bundle.filter(|bundle| !bundle.starts_with('-')),
        };
        if let Some(bundle) = bundle {
            lists |= bundle.contains('t');
            return letters(bundle);
        }
        lists |= text == "--list";
        match text.starts_with('-') {
            true => is_among(text, OPTIONS) || text.starts_with("--file=") && !text.contains(':'),
            false => !text.contains(':'),
        }
    }) && lists
}
