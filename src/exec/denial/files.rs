//! Refused writes and reads, in the words of programs.

use super::{Denial, Missing, Ran, quoted};
use std::path::{Component, Path, PathBuf};

/// What the kernel's refusals are called, in lower case. Only a view of the disk that is made read-only says the first;
/// the others are said for many reasons.
const READ_ONLY: [&str; 8] = [
    "read-only file system",
    "erofs",
    // The C library's, in other languages.
    "dateisystem ist nur lesbar",
    "en lecture seulement",
    "de sólo lectura",
    "sistema de arquivos somente para leitura",
    "file system in sola lettura",
    "只读文件系统",
];
const DENIED: [&str; 10] = [
    "permission denied",
    "operation not permitted",
    "accessdeniedexception",
    "is denied",
    "keine berechtigung",
    "permission non accordée",
    "permiso denegado",
    "permissão negada",
    "permesso negato",
    "权限不够",
];

/// Lines above a bare cause in which the path may stand.
const ABOVE: usize = 4;

/// What a line says.
struct Sign {
    /// Where the words stand.
    from: usize,
    to: usize,
    read_only: bool,
}

fn sign(line: &str) -> Option<Sign> {
    // The same bytes in the same places, which other changes of case do not promise.
    let lower = line.to_ascii_lowercase();
    let find = |words: &[&str], read_only: bool| {
        words.iter().find_map(|word| {
            let from = lower.rfind(word)?;
            let to = from + word.len();
            Some(Sign { from, to, read_only })
        })
    };
    find(&READ_ONLY, true).or_else(|| find(&DENIED, false))
}

/// Judges a line that names a place.
pub(super) fn judge(line: &str, ran: &Ran<'_>) -> Option<Denial> {
    let sign = sign(line).filter(|sign| is_an_error(line, sign))?;
    let named = candidates(line, &sign);
    let named = if named.is_empty() && is_bare(line, &sign) {
        above(line, ran.output)
    } else {
        named
    };
    for name in named {
        let place = absolute(ran.cwd, &name);
        // A place that may not be read may not be written either, and the first is why it was not found.
        let unreadable = ran.confinement.walls().is_some_and(|walls| {
            let mut hidden = walls.unreadable.iter();
            hidden.any(|hidden| place.starts_with(hidden))
        });
        if unreadable {
            let words = format!("reading {} ({})", place.display(), quoted(line));
            return Some(denial(&words, Missing::Read(place)));
        }
        // A read-only view is of our making; the rest only where the person may do it.
        if !ran.confinement.may_write(&place) && (sign.read_only || may_write(&place)) {
            let words = format!("writing to {} ({})", place.display(), quoted(line));
            return Some(denial(&words, Missing::Write(place)));
        }
    }
    None
}

/// Judges a line that names no place but is an error of the kernel's all the same.
pub(super) fn judge_unclear(line: &str) -> Option<Denial> {
    let sign = sign(line).filter(|sign| is_an_error(line, sign))?;
    if sign.read_only {
        let words = format!("writing outside the folders that may be written ({})", quoted(line));
        return Some(denial(&words, Missing::Other));
    }
    let lower = line.to_ascii_lowercase();
    let refused = [
        "[errno 1] operation not permitted",
        "operation not permitted (os error 1)",
    ];
    let ends = refused.iter().any(|words| lower.trim_end().ends_with(words));
    ends.then(|| {
        let words = format!("something that the policy does not allow ({})", quoted(line));
        denial(&words, Missing::Other)
    })
}

fn denial(words: &str, missing: Missing) -> Denial {
    Denial {
        reason: format!("the sandbox blocked {words}"),
        missing,
    }
}

/// Whether the words stand where a program puts an error: at the end of a line or of a clause, after a colon, or as the
/// name of an error; not somewhere in a sentence.
fn is_an_error(line: &str, sign: &Sign) -> bool {
    let before = line[..sign.from].trim_end();
    let after = line[sign.to..].trim_start();
    let begins = before.is_empty()
        || before.ends_with([':', '(', ']', ',', '-', '\'', '"', '’'])
        || before.ends_with("Das")
        || before.ends_with("Système de fichiers accessible")
        || before.ends_with("Sistema de ficheros")
        || before.ends_with("java.nio.file.");
    let ends = after.is_empty()
        || after == "."
        || after.starts_with([':', ',', ')', '@', '\'', '"', '»'])
        || after.starts_with("(os error")
        || after.starts_with("(Errno")
        || after.starts_with(" : ")
        || after.starts_with("in ");
    begins && ends
}

/// Whether the line has nothing but the error.
fn is_bare(line: &str, sign: &Sign) -> bool {
    line[..sign.from]
        .trim()
        .trim_end_matches(':')
        .trim_start_matches(|char: char| char.is_ascii_digit())
        .trim()
        .is_empty()
}

/// What may be meant: in quotes next to the words, then what stands after them, then before.
fn candidates(line: &str, sign: &Sign) -> Vec<String> {
    let (before, after) = (&line[..sign.from], &line[sign.to..]);
    let mut found = Vec::new();
    found.extend(in_quotes(after).into_iter().rev());
    found.extend(in_quotes(before).into_iter().rev());
    found.retain(|name| !name.is_empty() && !name.contains("://"));
    let mut words = Vec::new();
    // "@ rb_sysopen - PATH (Errno::EROFS)", ": PATH".
    if let Some((_, path)) = after.split_once(" - ") {
        words.extend(path.split(" (").next());
    }
    words.extend(after.strip_prefix(':').map(|path| path.trim().trim_end_matches('.')));
    // "program: PATH: words", "program: cannot create PATH: words", "PATH (words)", "f(PATH): words".
    let trimmed = before.trim_end().trim_end_matches([':', '(']).trim_end();
    let clauses: Vec<&str> = trimmed.split(": ").map(str::trim).collect();
    // The program that speaks is not what it speaks of.
    let clauses = if clauses.len() > 1 { &clauses[1..] } else { &clauses[..] };
    for clause in clauses.iter().rev() {
        if clause.starts_with('/') {
            words.push(clause);
        }
        if let Some(word) = clause.rsplit(' ').next() {
            words.push(
                word.split_once('(')
                    .map_or(word, |(_, inside)| inside.trim_end_matches(')')),
            );
        }
    }
    found.extend(words.into_iter().filter(|word| is_path(word)).map(str::to_owned));
    // "tee: name: words".
    if found.is_empty()
        && sign.read_only
        && let [.., last] = clauses
        && trimmed != *last
        && !last.contains(char::is_whitespace)
    {
        found.extend((!last.is_empty()).then(|| (*last).to_owned()));
    }
    found
}

/// A word with a slash in it that is not an address.
fn is_path(name: &str) -> bool {
    let is_word = !name.is_empty() && !name.contains(char::is_whitespace);
    name.starts_with('/') && name.len() > 1 || name.contains('/') && is_word && !name.contains("://")
}

fn in_quotes(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (open, close) in [
        ('\'', '\''),
        ('"', '"'),
        ('‘', '’'),
        ('`', '`'),
        ('`', '\''),
        ('«', '»'),
    ] {
        let mut rest = text;
        while let Some((_, inside)) = rest.split_once(open)
            && let Some((quoted, after)) = inside.split_once(close)
        {
            found.push(quoted.trim().to_owned());
            rest = after;
        }
    }
    found
}

/// Paths in the lines above the first such line.
fn above(line: &str, output: &str) -> Vec<String> {
    let plain = crate::exec::output::plain(output);
    let lines: Vec<&str> = plain.lines().collect();
    let Some(at) = lines.iter().rposition(|other| *other == line) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for line in lines[at.saturating_sub(ABOVE)..at].iter().rev() {
        found.extend(in_quotes(line));
        found.extend(
            line.split_whitespace()
                .map(|word| word.trim_end_matches([',', ':', '.']).to_owned()),
        );
    }
    found.retain(|name| is_path(name));
    found
}

/// The place without `.` and `..`, by its words alone.
fn absolute(cwd: &Path, name: &str) -> PathBuf {
    let mut place = PathBuf::new();
    for part in cwd.join(name.trim()).components() {
        match part {
            Component::ParentDir => {
                place.pop();
            }
            Component::CurDir => {}
            part => place.push(part),
        }
    }
    place
}

/// Whether the person may write and read a place, or make it where it does not exist.
#[cfg(unix)]
fn may_write(place: &Path) -> bool {
    use rustix::fs::{Access, access};
    let wanted = |path: &Path| access(path, Access::WRITE_OK | Access::READ_OK).is_ok();
    match std::fs::symlink_metadata(place) {
        Ok(_) => wanted(place),
        Err(_) => place.parent().is_some_and(wanted),
    }
}

#[cfg(not(unix))]
fn may_write(_place: &Path) -> bool {
    true
}
