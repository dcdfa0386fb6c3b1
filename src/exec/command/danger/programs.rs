//! Programs that destroy by themselves.

use super::files::{holds_cwd, is_everything, of_target, trusted};
use super::options::{forces, has_option, operands, options, recurses};
use super::{Depth, FORCED, embedded::of_embedded, git, of_text, of_words, table};
use crate::exec::command::base_name;
use crate::exec::command::script::Feed;
use crate::exec::command::word::Word;
use crate::exec::command::wrappers;

/// Why a program is dangerous with these arguments.
pub(super) fn of_program(name: &str, arguments: &[Word], depth: Depth<'_>) -> Option<String> {
    let has = |wanted: &str| arguments.iter().any(|word| word.text == wanted);
    let reason = match name {
        "rm" if forces(arguments) => FORCED.to_owned(),
        "rm" | "chmod" | "chown" | "chgrp" | "setfacl" | "chattr" | "chcon" if recurses(arguments) => {
            return of_recursive(name, arguments, depth);
        }
        "rm" | "unlink" | "rmdir" => {
            let file = operands(arguments).find(|word| trusted(&word.text, depth.cwd).is_some())?;
            format!("deletes a file that programs trust: {}", file.text)
        }
        "fdisk" | "sfdisk" | "parted" | "sgdisk" | "gdisk" if has("-l") || has("-p") || has("--list") => return None,
        "rimraf" | "srm" | "shred" | "wipe" | "wipefs" | "blkdiscard" | "mkswap" | "fdisk" | "sfdisk" | "sgdisk"
        | "gdisk" | "parted" => format!("erases beyond recovery ({name})"),
        "rsync"
            if options(arguments)
                .any(|option| option.starts_with("--del") || option.starts_with("--remove-source")) =>
        {
            "deletes files that the other side does not have (rsync)".to_owned()
        }
        "rsync" => return of_embedded(arguments, &Feed::Nothing).or_else(|| of_last(arguments, depth)),
        _ if name == "mkfs" || name == "mke2fs" || name.starts_with("mkfs.") || name.starts_with("newfs") => {
            format!("makes a new file system over what is there ({name})")
        }
        "dd" => {
            let mut targets = arguments.iter().filter_map(|word| word.text.strip_prefix("of="));
            return targets.find_map(|target| of_target(target, depth.cwd));
        }
        "truncate" if has_option(arguments, &['s'], "size") && empties(arguments) => {
            "empties files (truncate)".to_owned()
        }
        "tee" | "truncate" | "touch" => return operands(arguments).find_map(|word| of_target(&word.text, depth.cwd)),
        "sed" | "gsed" | "perl"
            if options(arguments).any(|option| option.starts_with("-i") || option.starts_with("--in")) =>
        {
            let target = operands(arguments).find_map(|word| of_target(&word.text, depth.cwd));
            return target.or_else(|| of_embedded(arguments, &Feed::Nothing));
        }
        "chmod" | "chown" | "chgrp"
            if operands(arguments)
                .skip(1)
                .any(|word| is_everything(&word.text) && !word.text.ends_with('*') && word.text != ".") =>
        {
            format!("changes who may do what with a folder that everything stands on ({name})")
        }
        "chmod" | "chown" | "chgrp" => {
            let file = operands(arguments)
                .skip(1)
                .find(|word| trusted(&word.text, depth.cwd).is_some())?;
            format!("changes who may do what with a file that programs trust: {}", file.text)
        }
        "mv" => return of_moved(arguments, depth),
        "scp" => return of_connection(arguments, depth).or_else(|| of_last(arguments, depth)),
        "cp" | "install" | "ln" => return of_last(arguments, depth),
        "kill" if arguments.iter().skip(1).any(|word| word.text == "-1") => "ends every process there is".to_owned(),
        "kill" if operands(arguments).last().is_some_and(|word| word.text == "1") && arguments.len() < 3 => {
            "ends the process that all others stand on".to_owned()
        }
        "crontab" if has_option(arguments, &['r'], "\0") => "deletes all scheduled commands".to_owned(),
        "history" if has_option(arguments, &['c'], "\0") => "deletes the history of commands".to_owned(),
        "find" | "gfind" => return of_find(arguments, depth),
        "fd" | "fdfind" => return of_executed(&wrappers::run_by_fd(arguments), depth),
        "ssh" | "sftp" => return of_connection(arguments, depth),
        "man" => return of_values(arguments, &["-P", "--pager", "-H", "--html"], depth),
        "rg" => return of_values(arguments, &["--pre"], depth),
        "sort" => return of_values(arguments, &["--compress-program"], depth),
        "zip" => return of_values(arguments, &["-TT", "--unzip-command"], depth),
        "git" => return git::of_git(arguments, depth),
        "curl" => return of_upload(arguments),
        "wget" => {
            let sends = options(arguments)
                .find(|option| option.starts_with("--post-file") || option.starts_with("--body-file"))?;
            format!("sends a file to another machine (wget {sends})")
        }
        "sudo" | "doas" | "su" | "pkexec" if opens_shell(name, arguments) => {
            format!("opens a shell with the rights of another user ({name})")
        }
        "iptables" | "ip6tables" if has_option(arguments, &['F', 'X', 'P'], "flush") => {
            "changes the firewall".to_owned()
        }
        "psql" | "mysql" | "mariadb" | "sqlite3" | "sqlcmd" | "clickhouse-client" | "duckdb" | "cockroach"
        | "mongo" | "mongosh" | "redis-cli" => return of_database(arguments),
        _ => return table::of_table(name, arguments),
    };
    Some(reason)
}

/// Whether the arguments of a program of this name are looked at here.
pub(super) fn is_known(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "blkdiscard",
        "chattr",
        "chcon",
        "clickhouse-client",
        "cockroach",
        "crontab",
        "duckdb",
        "fdisk",
        "gdisk",
        "history",
        "kill",
        "mariadb",
        "mongo",
        "mongosh",
        "mysql",
        "parted",
        "psql",
        "redis-cli",
        "sfdisk",
        "sgdisk",
        "sqlcmd",
        "sqlite3",
        "wipefs",
    ];
    NAMES.contains(&name) || table::is_known(name)
}

/// Deleting or changing a whole folder.
fn of_recursive(name: &str, arguments: &[Word], depth: Depth<'_>) -> Option<String> {
    let mut targets = operands(arguments);
    if let Some(target) = operands(arguments).find(|word| is_everything(&word.text)) {
        return Some(format!("changes or deletes everything below {}", target.text));
    }
    if name != "rm" {
        return None;
    }
    // A value that is empty leaves the root, or the folder itself.
    let reason = targets.find_map(|word| {
        if !word.known && word.text.trim_start_matches('"').starts_with(['$', '`']) {
            return Some(format!("deletes a folder that only the run can tell: {}", word.text));
        }
        (word.known && holds_cwd(&word.text, depth.cwd))
            .then(|| format!("deletes the folder that it runs in: {}", word.text))
    });
    reason.or_else(|| {
        let file = operands(arguments).find(|word| trusted(&word.text, depth.cwd).is_some())?;
        Some(format!("deletes what programs trust: {}", file.text))
    })
}

fn empties(arguments: &[Word]) -> bool {
    let texts: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    let joined = |text: &&str| matches!(*text, "-s0" | "--size=0");
    texts.iter().any(joined)
        || texts
            .windows(2)
            .any(|pair| matches!(pair, ["-s" | "--size" | "-cs", "0"]))
}

/// Where copies and links go: the last operand, or the folder that an option names.
fn of_last(arguments: &[Word], depth: Depth<'_>) -> Option<String> {
    let named = arguments
        .iter()
        .enumerate()
        .find_map(|(at, word)| match word.text.as_str() {
            "-t" | "--target-directory" => arguments.get(at + 1).map(|word| word.text.clone()),
            text => text.strip_prefix("--target-directory=").map(str::to_owned),
        });
    let target = named.or_else(|| operands(arguments).last().map(|word| word.text.clone()))?;
    let folder = match target.ends_with(".ssh") || target.ends_with("/etc") {
        true => format!("{target}/"),
        false => target,
    };
    of_target(&folder, depth.cwd)
}

fn of_moved(arguments: &[Word], depth: Depth<'_>) -> Option<String> {
    let moved: Vec<&Word> = operands(arguments).collect();
    let sources = moved.split_last().map(|(_, sources)| sources).unwrap_or_default();
    if let Some(source) = sources
        .iter()
        .find(|word| is_everything(&word.text) || holds_cwd_itself(&word.text, depth))
    {
        return Some(format!("moves everything below {} away", source.text));
    }
    if let Some(source) = sources.iter().find(|word| trusted(&word.text, depth.cwd).is_some()) {
        return Some(format!("moves away what programs trust: {}", source.text));
    }
    if moved.last().is_some_and(|word| word.text == "/dev/null") {
        return Some("throws files away (mv to /dev/null)".to_owned());
    }
    of_last(arguments, depth)
}

fn holds_cwd_itself(path: &str, depth: Depth<'_>) -> bool {
    !path.starts_with(['$', '~', '"']) && holds_cwd(path, depth.cwd)
}

/// `xargs`: a list of paths that nobody sees is deleted.
pub(super) fn of_deleting_list(arguments: &[Word]) -> Option<String> {
    let program = arguments.iter().find(|word| is_deleter(&word.text))?;
    Some(format!("deletes whatever a list names ({})", base_name(&program.text)))
}

fn is_deleter(program: &str) -> bool {
    ["rm", "unlink", "shred", "rmdir", "rimraf"].contains(&base_name(program))
}

fn of_find(arguments: &[Word], depth: Depth<'_>) -> Option<String> {
    if arguments.iter().any(|word| word.text == "-delete") {
        return Some("deletes every file that it finds".to_owned());
    }
    of_executed(&wrappers::run_by_find(arguments), depth)
}

/// What a search runs on all that it finds.
fn of_executed(commands: &[Vec<Word>], depth: Depth<'_>) -> Option<String> {
    if commands.len() > wrappers::MAX_RUN {
        return Some(wrappers::TOO_MANY.to_owned());
    }
    commands.iter().find_map(|command| {
        of_deleting_list(command)
            .map(|_| "deletes every file that it finds".to_owned())
            .or_else(|| of_words(command, &Feed::Nothing, depth.deeper()))
    })
}

/// The values of options, behind them or attached.
fn values<'w>(arguments: &'w [Word], wanted: &[&str]) -> Vec<&'w str> {
    let mut values = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        let next = || arguments.get(at + 1).map(|word| word.text.as_str());
        values.extend(wanted.iter().filter_map(|option| {
            let rest = word.text.strip_prefix(option)?;
            match (rest.is_empty(), option.starts_with("--")) {
                (true, _) => next(),
                (false, true) => rest.strip_prefix('='),
                (false, false) => Some(rest),
            }
        }));
    }
    values
}

/// The values of options that the program has a shell run.
pub(super) fn of_values(arguments: &[Word], wanted: &[&str], depth: Depth<'_>) -> Option<String> {
    let values = values(arguments, wanted);
    values.into_iter().find_map(|value| of_text(value, depth.deeper()))
}

/// Settings of `ssh` that name a command.
fn of_connection(arguments: &[Word], depth: Depth<'_>) -> Option<String> {
    const RUN: [&str; 3] = ["proxycommand", "localcommand", "knownhostscommand"];
    values(arguments, &["-o"]).into_iter().find_map(|setting| {
        let (name, value) = setting.trim().split_once(['=', ' '])?;
        RUN.contains(&name.to_lowercase().as_str())
            .then(|| of_text(value, depth.deeper()))
            .flatten()
    })
}

/// `curl` that sends a file.
fn of_upload(arguments: &[Word]) -> Option<String> {
    let texts: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    let sends = texts.iter().enumerate().find(|(at, text)| {
        let next = texts.get(at + 1).copied().unwrap_or_default();
        let (option, value) = text.split_once('=').unwrap_or((text, next));
        match option {
            "-T" | "--upload-file" => true,
            "-d" | "--data" | "--data-binary" | "--data-ascii" | "--json" | "--data-raw" => {
                value.starts_with('@') && option != "--data-raw"
            }
            "--data-urlencode" => next.contains('@') && !next.contains('='),
            "-F" | "--form" => next.contains("=@") || next.contains("=<"),
            _ => {
                let short = text
                    .strip_prefix('-')
                    .filter(|rest| !rest.starts_with('-'))
                    .unwrap_or_default();
                short.starts_with("d@")
                    || short.starts_with("F") && (short.contains("=@") || short.contains("=<"))
                    || (short.ends_with('F')
                        && short.chars().all(|c| "sSLkfviF".contains(c))
                        && (next.contains("=@") || next.contains("=<")))
                    || short.starts_with('T') && short.len() > 1
                    || (short.ends_with('d') && next.starts_with('@') && short.chars().all(|c| "sSLkfvid".contains(c)))
                    || (short.ends_with('T') && short.len() > 1 && short.chars().all(|c| "sSLkfviT".contains(c)))
            }
        }
    });
    sends.map(|(_, option)| format!("sends a file to another machine (curl {option})"))
}

/// `sudo -i`, `su -` and the like: nothing of what follows can be seen.
fn opens_shell(name: &str, arguments: &[Word]) -> bool {
    let texts: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    let asks = ["-l", "--list", "-v", "-k", "-K", "--version", "-V", "--help", "-h"];
    match name {
        "su" => !texts
            .iter()
            .any(|text| text.starts_with("-c") || text.starts_with("--c") || asks[5..].contains(text)),
        _ => {
            let opens = ["-i", "-s", "--login", "--shell", "-e", "--edit", "-is"];
            let bare = texts.iter().all(|text| text.starts_with('-'));
            !texts.iter().any(|text| asks.contains(text))
                && (bare
                    || (texts.first().is_some_and(|text| opens.contains(text))
                        && texts.len() <= 3
                        && texts
                            .iter()
                            .skip(1)
                            .all(|text| text.starts_with('-') || texts.contains(&"-u") || texts.contains(&"-e"))))
        }
    }
}

/// Statements that delete whole tables or databases.
fn of_database(arguments: &[Word]) -> Option<String> {
    let statement = arguments
        .iter()
        .map(|word| word.text.as_str())
        .collect::<Vec<_>>()
        .join(" ");
    of_statement(&statement).or_else(|| of_embedded(arguments, &Feed::Nothing))
}

/// Why text for a database is dangerous.
pub(super) fn of_statement(text: &str) -> Option<String> {
    let upper = text.to_uppercase();
    let words: Vec<&str> = upper
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
        .collect();
    const DROPPED: [&str; 8] = [
        "TABLE",
        "DATABASE",
        "SCHEMA",
        "VIEW",
        "INDEX",
        "USER",
        "ROLE",
        "COLLECTION",
    ];
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1).copied().unwrap_or_default();
        let what = match *word {
            "DROP" if DROPPED.contains(&next) => format!("deletes from the database (DROP {next})"),
            "TRUNCATE" => "empties a table (TRUNCATE)".to_owned(),
            "FLUSHALL" | "FLUSHDB" | "DROPDATABASE" => format!("empties the database ({word})"),
            "DELETE" if next == "FROM" && !words.contains(&"WHERE") => {
                "empties a table (DELETE without WHERE)".to_owned()
            }
            "UPDATE" if words.contains(&"SET") && !words.contains(&"WHERE") => {
                "changes every row of a table (UPDATE without WHERE)".to_owned()
            }
            _ => continue,
        };
        return Some(what);
    }
    None
}

/// Text that is fed to a database program.
pub(super) fn of_fed(name: &str, feed: &Feed, depth: Depth<'_>) -> Option<String> {
    let Feed::Text(text) = feed else { return None };
    match name {
        "psql" | "mysql" | "mariadb" | "sqlite3" | "redis-cli" | "mongosh" | "mongo" | "duckdb" => of_statement(text),
        "crontab" => Some("replaces all scheduled commands".to_owned()),
        "fish" => of_text(text, depth.deeper()),
        _ => None,
    }
}
