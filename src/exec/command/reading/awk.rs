//! Programs of `awk` that only print: no commands, no files, no pipes.

use crate::exec::command::word::Word;

/// Whether the arguments of `awk` make it print and nothing else; otherwise why not.
pub(super) fn reads(arguments: &[Word]) -> Result<(), String> {
    let refuse = |why: &str| Err(why.to_owned());
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.exact() {
            Some("-F" | "-v") => {
                if words.next().is_none_or(|value| value.splits || value.glob) {
                    return refuse("has an awk variable that is not known");
                }
            }
            Some("--") => {}
            Some(text) if text.starts_with("-F") || text.starts_with("-v") => {}
            Some(text) if text.starts_with('-') => {
                return refuse("has an option of awk that is not known to be harmless");
            }
            Some(program) if prints(program) => {
                // What follows are names of files; an option among them is one of the program's own.
                return Ok(());
            }
            Some(program) => {
                return Err(format!(
                    "runs an awk program that may write or run something: {program}"
                ));
            }
            None => return refuse("runs an awk program that only the run can tell"),
        }
    }
    refuse("has no awk program")
}

/// Words that a pattern may follow, so that a slash behind them is no division.
const BEFORE_PATTERN: [&str; 10] = [
    "print", "printf", "return", "in", "else", "do", "case", "exit", "delete", "while",
];

/// Whether a program neither runs commands nor writes files, and reads none but those that the command names.
fn prints(program: &str) -> bool {
    const ACTS: [&str; 7] = ["system", "getline", "@", "#", "close", "fflush", "\\\n"];
    // Files are read that the program names by itself, and what they hold may be variables.
    const NAMES: [&str; 5] = ["ARGV", "ARGC", "ARGIND", "SYMTAB", "FUNCTAB"];
    let words = program.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    // A name may stand right behind a number.
    let mut words = words.map(|word| word.trim_start_matches(|c: char| c.is_ascii_digit()));
    if ACTS.iter().any(|act| program.contains(act)) || words.any(|word| NAMES.contains(&word)) {
        return false;
    }
    let mut chars = program.chars().peekable();
    // The last sign that was no blank, and the word that ends with it.
    let mut last = '\n';
    let mut word = String::new();
    let mut in_print = false;
    while let Some(c) = chars.next() {
        match c {
            '"' => loop {
                match chars.next() {
                    Some('"') => break,
                    Some('\\') => drop(chars.next()),
                    Some('\n') | None => return false,
                    Some(_) => {}
                }
            },
            '/' if "\n(,~!&|{;}".contains(last) => loop {
                match chars.next() {
                    Some('/') => break,
                    Some('\\') => drop(chars.next()),
                    Some('[') if !plain_brackets(&mut chars) => return false,
                    Some('\n') | None => return false,
                    Some(_) => {}
                }
            },
            // Behind anything but an operand a pattern may begin.
            '/' if BEFORE_PATTERN.contains(&word.as_str()) || !divides(last, program) => return false,
            '|' if chars.next_if_eq(&'|').is_none() => return false,
            '>' if in_print => return false,
            // A line end behind a comma ends nothing.
            ';' | '}' => in_print = false,
            _ => {}
        }
        if c.is_ascii_alphanumeric() || c == '_' {
            if !(last.is_ascii_alphanumeric() || last == '_') {
                word.clear();
            }
            word.push(c);
            in_print |= word.starts_with("print");
        } else if !c.is_whitespace() {
            word.clear();
        }
        if !c.is_whitespace() || c == '\n' {
            last = c;
        } else if last.is_ascii_alphanumeric() {
            // The word stands, a new one begins.
            last = ' ';
        }
    }
    true
}

/// Whether a slash behind this sign is a division.
fn divides(last: char, program: &str) -> bool {
    match last {
        // What stands behind the parenthesis of a condition is a statement.
        ')' => !program
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .map(|word| word.trim_start_matches(|c: char| c.is_ascii_digit()))
            .any(|word| ["if", "while", "for", "switch"].contains(&word)),
        _ => last.is_ascii_alphanumeric() || "_]\" ".contains(last),
    }
}

/// Takes what follows an opening bracket in a pattern; whether it holds nothing that programs read each in its own way, such
/// as a slash.
fn plain_brackets(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> bool {
    chars.next_if_eq(&'^');
    let mut is_first = true;
    loop {
        match chars.next() {
            Some(']') if !is_first => return true,
            Some('[') if chars.next_if_eq(&':').is_some() => {
                while chars.next_if(char::is_ascii_alphabetic).is_some() {}
                if chars.next_if_eq(&':').is_none() || chars.next_if_eq(&']').is_none() {
                    return false;
                }
                is_first = false;
            }
            Some('/' | '"' | '\\' | '[' | ']' | '\n') | None => return false,
            Some(_) => is_first = false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::prints;

    #[test]
    fn programs_by_table() {
        for program in [
            "1",
            "{print $1}",
            "{ print $1, $NF }",
            "/foo/ {print}",
            "NR==5",
            "$3 > 5 {print $1}",
            "BEGIN{FS=\":\"} {print $2}",
            "{s+=$1} END {print s}",
            "/a|b/",
            "NR>=10 && NR<=20",
            "{printf \"%s\\n\", $1}",
            "!seen[$0]++",
            "{print $1/2}",
            "$1 ~ /x|y/ {print}",
            "{print \"a|b > c\"}",
            "/[0-9]+:[^a-z]/ {print}",
            "/^[[:space:]]*x/ {next} {print}",
            "{print ($1 + $2) / 2, n[1] / 3, \"4\" / 2}",
            "{if ($1) print $2 / 2}",
            "{diff=($2-$1)/60; print diff}",
            "{before = ($1) / 2; print before}",
        ] {
            assert!(prints(program), "{program}");
        }
        for program in [
            "BEGIN{system(\"touch P\")}",
            "{print > \"out\"}",
            "{print | \"sh\"}",
            "{print >> \"out\"}",
            "{\"cmd\" | getline}",
            "{printf \"x\" > \"P\"}",
            "BEGIN{print /\"/ | \"sh\" \"/}",
            "{print $1 |& \"sh\"}",
            "@load \"x\"",
            "{print (1) > \"P\"}",
            "# \"\n{print | \"sh\"} # \"",
            "\"open",
            "{if(1)print>\"P\"}",
            "BEGIN{x = /\"/; print 1 > \"P\"; y = /\"/}",
            "BEGIN{print 1 + /\"/ > \"P\"; x = 1 + /\"/}",
            "$1 == /\"/ {print > \"P\"} $1 == /\"/",
            "{if (1) /\"/; print 1 > \"P\"; if (1) /\"/}",
            "{x=1;if(1)/\"/; print 1 > \"P\"; 1if(1)/\"/}",
            "{y = x ? /\"/ : 1; print > \"P\"; y = x ? /\"/ : 1}",
            "/[/]\"/ {print > \"P\"} /[/]\"/",
            "/[]\"/]/ {print > \"P\"} /\"/",
            "BEGIN{ARGV[1]=\"/etc/shadow\"}{print}",
            "BEGIN{ARGC=2;split(\"/etc/shadow\",ARGV)}{print}",
            "BEGIN{ARGV[ARGC++]=\"\\057etc\\057shadow\"};{print}",
            "BEGIN{for(i in SYMTAB)print i}",
            "{a=1ARGV}",
        ] {
            assert!(!prints(program), "{program}");
        }
    }
}
