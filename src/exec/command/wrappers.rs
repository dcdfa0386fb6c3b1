//! Programs that run the command among their arguments, taken off it with their options.

use super::base_name;
use super::word::Word;
use std::collections::HashMap;
use std::sync::LazyLock;

/// What a wrapper holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Inside {
    /// A command by its words.
    Command(Vec<Word>),
    /// Shell text.
    Text(String),
    /// Text that only the run can tell.
    Hidden,
}

/// A command without its wrapper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unwrapped {
    pub inside: Vec<Inside>,
    /// Why the wrapper is not harmless itself, in words that complete "it …".
    pub caveat: Option<String>,
    /// More arguments, which nobody sees, are put behind those of the command.
    pub adds_arguments: bool,
}

impl Unwrapped {
    /// Nothing but a caveat.
    pub(super) fn with_caveat(caveat: &str) -> Self {
        Self {
            inside: Vec::new(),
            caveat: Some(caveat.to_owned()),
            adds_arguments: false,
        }
    }
}

struct Wrapper {
    names: &'static str,
    /// Options that take the next argument as their value.
    valued: &'static str,
    /// Options without one, where the wrapper is harmless: any other may take what looks like the command.
    plain: &'static str,
    /// Arguments in front of the command.
    operands: usize,
    /// What makes it more than a harmless wrapper.
    caveat: Option<&'static str>,
}

const fn wrapper(names: &'static str, valued: &'static str, operands: usize, caveat: Option<&'static str>) -> Wrapper {
    Wrapper {
        names,
        valued,
        plain: "",
        operands,
        caveat,
    }
}

/// A wrapper that does nothing but run its command.
const fn harmless(names: &'static str, valued: &'static str, plain: &'static str, operands: usize) -> Wrapper {
    Wrapper {
        names,
        valued,
        plain,
        operands,
        caveat: None,
    }
}

const OTHER_USER: Option<&str> = Some("runs with the rights of another user");
const ELSEWHERE: Option<&str> = Some("runs in another place than this machine's files");
const WATCHED: Option<&str> = Some("runs a program under watch, which may write");
const FETCHED: Option<&str> = Some("may download a package and run it");

#[rustfmt::skip]
const WRAPPERS: &[Wrapper] = &[
    wrapper("sudo", "-u -g -p -C -h -r -t -T -U -D -R --user --group --prompt --host --chdir --chroot --role --type --close-from --other-user --command-timeout", 0, OTHER_USER),
    wrapper("doas", "-u -C -a", 0, OTHER_USER),
    wrapper("pkexec", "--user", 0, OTHER_USER),
    wrapper("gosu su-exec", "", 1, OTHER_USER),
    wrapper("setpriv", "--reuid --regid --groups --inh-caps --bounding-set --securebits", 0, OTHER_USER),
    harmless("nice", "-n --adjustment", "", 0),
    harmless("ionice", "-c -n --class --classdata", "-t --ignore", 0),
    wrapper("nohup", "", 0, Some("may write its output to a file")),
    harmless("setsid", "", "-c -f -w --ctty --fork --wait", 0),
    harmless("time gtime", "-f --format", "-p -v -q -l -h -a --append --portability --verbose --quiet", 0),
    harmless("timeout gtimeout", "-s -k --signal --kill-after", "-f -p -v --foreground --preserve-status --verbose", 1),
    harmless("stdbuf", "-i -o -e --input --output --error", "", 0),
    harmless("caffeinate", "-t -w", "-d -i -m -s -u", 0),
    harmless("chrt", "-T -P -D", "-a -b -f -i -o -r -v -d -R --batch --fifo --idle --other --rr --deadline --verbose", 1),
    harmless("taskset", "", "-a -c --all-tasks --cpu-list", 1),
    harmless("numactl", "-N -m -C -i -p", "-a -l --all --localalloc", 0),
    harmless("command builtin nocorrect noglob", "", "-p", 0),
    harmless("exec", "-a", "-c -l", 0),
    wrapper("flock", "-w -E --timeout --conflict-exit-code", 1, Some("makes a lock file")),
    wrapper("chroot", "--userspec --groups", 1, ELSEWHERE),
    wrapper("unshare", "-R -w -S -G --root --wd --setuid --setgid --map-user --map-group --map-users --map-groups", 0, ELSEWHERE),
    wrapper("nsenter", "-t -S -G --target --setuid --setgid", 0, ELSEWHERE),
    wrapper("strace ltrace", "-o -e -p -s -a -u -E -P -S -O -I -b -X -U -n -l", 0, WATCHED),
    wrapper("valgrind catchsegv eatmydata rlwrap unbuffer xvfb-run dbus-run-session nocache faketime prlimit", "", 0, WATCHED),
    wrapper("systemd-run systemd-inhibit", "-u -p -E -t -M -H --unit --property --setenv --description --slice --uid --gid --machine --host --on-calendar --on-active", 0, WATCHED),
    wrapper("firejail torsocks proxychains proxychains4 proot", "", 0, ELSEWHERE),
    harmless("busybox toybox", "", "", 0),
    harmless("xargs gxargs", "-I -n -P -L -s -d -E -a -R -S -J --max-args --max-procs --max-lines --max-chars --delimiter --arg-file --process-slot-var", "-0 -e -i -l -o -p -r -t -x --null --no-run-if-empty --verbose --interactive --exit --open-tty --replace --eof", 0),
    wrapper("npx bunx pnpx uvx", "-p --package --from --with --python", 0, FETCHED),
];

/// Wrappers behind a first command word.
#[rustfmt::skip]
const SUB_WRAPPERS: &[(&str, &str, &str, usize, Option<&str>)] = &[
    ("npm", "exec x", "-p --package -w --workspace", 0, FETCHED),
    ("pnpm", "dlx exec", "", 0, FETCHED),
    ("yarn", "dlx exec", "-p", 0, FETCHED),
    ("bun", "x", "", 0, FETCHED),
    ("pipx", "run", "--spec --python", 0, FETCHED),
    ("uv", "run", "--with --python -p --extra --group --package --project --directory", 0, Some("may install packages, then runs a command")),
    ("poetry pipenv hatch rye pdm", "run", "", 0, Some("runs a command in an environment of the project")),
    ("bundle", "exec", "", 0, Some("runs a command in an environment of the project")),
    ("mise asdf direnv", "exec", "", 0, Some("runs a command in an environment of the project")),
    ("conda mamba", "run", "-n -p --name --prefix", 0, Some("runs a command in an environment of the project")),
    ("docker podman", "exec", "-e -u -w --env --user --workdir --env-file --detach-keys", 1, Some("runs in a container")),
    ("docker podman", "run", "-e -u -w -v -p -h -l -m -a --env --user --workdir --volume --publish --name --network --entrypoint --mount --hostname --label --memory --cpus --platform --env-file --add-host --device --pull --restart --user-ns --shm-size --tmpfs --ulimit --cap-add --cap-drop --security-opt", 1, Some("runs in a container")),
    ("kubectl oc", "exec", "-c -n --container --namespace", 1, Some("runs in a cluster")),
    ("podman", "unshare", "", 0, ELSEWHERE),
    ("jj", "util", "", 0, Some("runs a command by another program")),
    ("launchctl", "submit", "-l -p -o -e", 0, Some("runs a program later")),
    ("perf", "stat record trace", "-e -o -p", 0, WATCHED),
    ("rustup", "run", "", 1, Some("runs a command with another compiler")),
];

const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "ksh", "ash", "mksh", "rbash"];

/// Whether a program is a shell of the family that is read here.
pub(super) fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

/// The command within a command, if its program is a wrapper that holds one.
pub(super) fn unwrap(words: &[Word]) -> Option<Unwrapped> {
    let (program, arguments) = words.split_first()?;
    let name = base_name(program.exact()?);
    if is_shell(name) {
        return shell(arguments);
    }
    match name {
        "env" => return env(arguments),
        "su" | "runuser" => {
            return option_text(
                arguments,
                &["-c", "--command", "--session-command"],
                "gGswTu",
                "runs with the rights of another user",
            );
        }
        "script" => {
            return option_text(
                arguments,
                &["-c", "--command", "-qc", "-qec", "-ec"],
                "BEIOTmot",
                "writes what is shown to a file",
            );
        }
        "eval" => return text_of(arguments, "evaluates text"),
        "watch" => {
            return text_of(
                skip_options(arguments, "-n --interval -q --equexit")?,
                "runs a command over and over",
            );
        }
        "ssh" | "mosh" => {
            let rest = skip_options(
                arguments,
                "-b -B -c -D -E -e -F -I -i -J -L -l -m -O -o -p -P -Q -R -S -W -w",
            )?;
            let rest = rest.get(1..).filter(|rest| !rest.is_empty())?;
            return text_of(skip_options(rest, "")?, "runs on another machine");
        }
        "find" | "gfind" => {
            let mut commands = run_by_find(arguments);
            if !commands.is_empty() && arguments.iter().any(|word| word.text == "-delete") {
                commands.push(vec![Word::literal("find"), Word::literal("-delete")]);
            }
            return executed(commands);
        }
        "fd" | "fdfind" => return executed(run_by_fd(arguments)),
        "gdb" | "lldb" | "rr" => {
            let at = arguments
                .iter()
                .position(|word| matches!(word.text.as_str(), "--args" | "-args" | "--"))?;
            return command(
                arguments.get(at + 1..)?,
                Some("runs a program under watch, which may write"),
            );
        }
        "trap" => {
            let text = arguments.iter().find(|word| word.text != "--")?;
            return Some(of_text(text, Some("keeps text to be run later")));
        }
        "parallel" => {
            let rest = skip_options(
                arguments,
                "-j -N -n -L -I -a -S --jobs --colsep --delay --timeout --results --joblog --tmpdir --retries --sshlogin --workdir",
            )?;
            let end = rest
                .iter()
                .position(|word| word.text.starts_with(":::"))
                .unwrap_or(rest.len());
            let mut found = text_of(rest.get(..end)?, "runs a command for each of a list")?;
            found.adds_arguments = true;
            return Some(found);
        }
        "tmux" | "screen" => {
            let text = arguments.iter().rfind(|word| word.text.contains(char::is_whitespace))?;
            return Some(of_text(text, Some("runs in a terminal of its own")));
        }
        _ => {}
    }
    if let Some((_, verbs, valued, operands, caveat)) = SUB_WRAPPERS.iter().find(|(names, verbs, ..)| {
        let verb = arguments.first().and_then(Word::exact).unwrap_or_default();
        is_among(name, names) && is_among(verb, verbs)
    }) {
        debug_assert!(!verbs.is_empty(), "a row names its verbs");
        let rest = skip_options(arguments.get(1..)?, valued)?.get(*operands..)?;
        return command(skip_options(rest, "")?, *caveat);
    }
    let wrapper = BY_NAME.get(name)?;
    // Such as ask rather than run: `command -v`, `ionice -p`, `chrt -p`, `sudo -l`.
    let asks = match name {
        "command" => &["-v", "-V"][..],
        "ionice" | "chrt" | "taskset" => &["-p", "--pid"],
        "sudo" => &["-l", "-v", "-k", "-K", "-e", "--list", "--edit"],
        _ => &[],
    };
    let front = arguments.iter().take_while(|word| word.text.starts_with('-'));
    if front.clone().any(|word| asks.contains(&word.text.as_str())) {
        return None;
    }
    let mut caveat = wrapper.caveat;
    let mut writes = front.filter(|word| match word.text.strip_prefix("--") {
        Some(long) => long.starts_with('o'),
        None => word.text.contains('o'),
    });
    if name.ends_with("time") && writes.next().is_some() {
        caveat = Some("writes the times to a file");
    }
    let rest = skip_options(arguments, wrapper.valued)?;
    let options = &arguments[..arguments.len() - rest.len()];
    if caveat.is_none() && !follows(options, wrapper) {
        caveat = Some("has an option in front that is not followed");
    }
    let mut rest = rest.get(wrapper.operands..)?;
    if name == "sudo" || name == "doas" {
        rest = &rest[rest.iter().take_while(|word| is_assignment(&word.text)).count()..];
    }
    if name == "flock"
        && rest
            .first()
            .is_some_and(|word| matches!(word.text.as_str(), "-c" | "--command"))
    {
        return Some(of_text(rest.get(1)?, caveat));
    }
    if rest.is_empty() && (name == "sudo" || name == "doas") {
        return None;
    }
    // Without a command it prints what it is given.
    let echo = [Word::literal("echo")];
    let rest = if rest.is_empty() && name.ends_with("xargs") {
        &echo
    } else {
        rest
    };
    let mut found = command(rest, caveat)?;
    found.adds_arguments = name.ends_with("xargs");
    Some(found)
}

/// The row of each wrapper: a command may have thousands of words, and each may be one.
static BY_NAME: LazyLock<HashMap<&str, &Wrapper>> = LazyLock::new(|| {
    let names = |wrapper: &'static Wrapper| wrapper.names.split_ascii_whitespace().map(move |name| (name, wrapper));
    // Where two rows have a name, the first counts.
    WRAPPERS.iter().rev().flat_map(names).collect()
});

fn is_among(name: &str, names: &str) -> bool {
    names.split_ascii_whitespace().any(|known| known == name)
}

fn command(words: &[Word], caveat: Option<&str>) -> Option<Unwrapped> {
    (!words.is_empty()).then(|| Unwrapped {
        inside: vec![Inside::Command(words.to_vec())],
        caveat: caveat.map(str::to_owned),
        adds_arguments: false,
    })
}

fn of_text(text: &Word, caveat: Option<&str>) -> Unwrapped {
    Unwrapped {
        inside: vec![match text.exact() {
            Some(text) => Inside::Text(text.to_owned()),
            None => Inside::Hidden,
        }],
        caveat: caveat.map(str::to_owned),
        adds_arguments: false,
    }
}

/// All the words, joined as text that a shell reads again.
fn text_of(words: &[Word], caveat: &str) -> Option<Unwrapped> {
    let texts: Option<Vec<&str>> = words.iter().map(Word::exact).collect();
    let text = match texts {
        Some(texts) => Word::literal(&texts.join(" ")),
        None => Word::unknown(""),
    };
    (!words.is_empty()).then(|| of_text(&text, Some(caveat)))
}

/// What follows the options; none if one of them may be anything.
fn skip_options<'w>(arguments: &'w [Word], valued: &str) -> Option<&'w [Word]> {
    let mut rest = arguments;
    while let Some((first, after)) = rest.split_first() {
        if !first.may_be_option() {
            break;
        }
        let text = first.exact()?;
        rest = after;
        if text == "--" {
            break;
        }
        if is_among(text, valued) {
            rest = after.get(1..)?;
        }
    }
    Some(rest)
}

/// Whether each of these options is known, so that it is clear where the command begins: an abbreviation, or a letter among
/// others, may take the next argument too.
fn follows(options: &[Word], wrapper: &Wrapper) -> bool {
    let mut is_value = false;
    options.iter().all(|word| {
        if std::mem::take(&mut is_value) {
            return true;
        }
        let text = word.text.as_str();
        is_value = is_among(text, wrapper.valued);
        if is_value || text == "--" || is_among(text, wrapper.plain) {
            return true;
        }
        if text.starts_with("--") {
            return text.contains('=');
        }
        let is_number = text[1..].chars().all(|c| c.is_ascii_digit());
        let takes = |c: char| is_among(&format!("-{c}"), wrapper.valued);
        // A value of these stands in the same argument, or nowhere.
        let may_take = |c: char| wrapper.names.starts_with("xargs") && "ile".contains(c);
        let mut letters = text.chars().skip(1);
        let stop = letters.find(|c| takes(*c) || may_take(*c) || !is_among(&format!("-{c}"), wrapper.plain));
        // What follows the letter of an option with a value is that value; without one it would be the next argument.
        is_number && wrapper.names == "nice" || stop.is_none_or(|c| may_take(c) || takes(c) && letters.next().is_some())
    })
}

/// The text of `sh -c` and the like.
fn shell(arguments: &[Word]) -> Option<Unwrapped> {
    let mut rest = arguments;
    let mut takes_text = false;
    let mut caveat = None;
    while let Some((first, after)) = rest.split_first() {
        let text = match first.exact() {
            Some(text) if text.len() > 1 && text.starts_with(['-', '+']) => text,
            Some(_) => break,
            None if first.may_be_option() && !takes_text => {
                return Some(of_text(first, Some("runs text that only the run can tell")));
            }
            None => break,
        };
        rest = after;
        if text == "--" {
            break;
        }
        if matches!(text, "--rcfile" | "--init-file") {
            caveat = Some("has the shell run a file first");
            rest = after.get(1..)?;
        } else if !text.starts_with("--") {
            takes_text |= text.starts_with('-') && text.contains('c');
            // `-o name` and `-O name` take a value each, also in a bundle.
            let values = text.chars().filter(|c| matches!(c, 'o' | 'O')).count();
            rest = rest.get(values..)?;
        }
    }
    let text = rest.first().filter(|_| takes_text)?;
    Some(of_text(text, caveat))
}

/// The text of `sh -c` where only the run can tell it, as its source.
pub(super) fn hidden_text(arguments: &[Word]) -> Option<&str> {
    let hidden = shell(arguments)?.inside == [Inside::Hidden];
    arguments
        .iter()
        .find(|word| hidden && word.exact().is_none())
        .map(|word| word.text.as_str())
}

fn env(arguments: &[Word]) -> Option<Unwrapped> {
    let mut rest = arguments;
    let mut caveat = None;
    while let Some((first, after)) = rest.split_first() {
        let text = first.text.as_str();
        if !first.known && first.may_be_option() {
            return Some(of_text(first, Some("runs a program that only the run can tell")));
        }
        if let Some(front) = split_by(text) {
            return split(front, after);
        }
        if is_assignment(text) {
            let (name, value) = text.split_once('=').unwrap_or_default();
            if !super::variables::is_harmless_value(name, first.exact().and(Some(value))) {
                caveat = Some(format!("sets {name}, which programs act upon"));
            }
            rest = after;
        } else if text.starts_with('-') && text.len() > 1 {
            let takes_value = matches!(text, "-u" | "--unset" | "-C" | "--chdir" | "-a" | "--argv0");
            let plain = ["-i", "-0", "-v", "--", "--ignore-environment", "--null", "--debug"].contains(&text);
            let attached = [
                "-u",
                "-C",
                "--unset=",
                "--chdir=",
                "--block-signal",
                "--default-signal",
                "--ignore-signal",
            ];
            // Letters in a bundle may hold a text that is split into a command.
            if !takes_value && !plain && !attached.iter().any(|option| text.starts_with(option)) {
                return Some(of_text(
                    &Word::unknown(text),
                    Some("has an option of env that is not followed"),
                ));
            }
            rest = after.get(usize::from(takes_value)..)?;
            if text == "--" {
                break;
            }
        } else {
            rest = if text == "-" { after } else { rest };
            break;
        }
    }
    rest = &rest[rest.iter().take_while(|word| is_assignment(&word.text)).count()..];
    let mut found = command(rest, None)?;
    found.caveat = caveat;
    Some(found)
}

/// What stands in an option of `env` that splits text into a command, also among other letters, or shortened.
fn split_by(option: &str) -> Option<&str> {
    if option.starts_with("--") {
        let (name, text) = option.split_once('=').unwrap_or((option, ""));
        return (name.len() > 2 && "--split-string".starts_with(name)).then_some(text);
    }
    let (front, text) = option.strip_prefix('-')?.split_once('S')?;
    front.chars().all(|c| "0iv".contains(c)).then_some(text)
}

/// The command of `env -S`: its own escapes for blanks are blanks.
fn split(front: &str, rest: &[Word]) -> Option<Unwrapped> {
    let words = std::iter::once(front).chain(rest.iter().map(|word| word.text.as_str()));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let blanks = ["\\_", "\\t", "\\n", "\\f", "\\v", "\\r"];
    let text = blanks
        .iter()
        .fold(words.join(" "), |text, blank| text.replace(blank, " "));
    let caveat = Some("splits text into a command");
    (!words.is_empty()).then(|| of_text(&Word::literal(&text), caveat))
}

/// The text behind one of these options, or attached to one: `-c TEXT`, `-cTEXT`, `--command=TEXT`. Letters of `valued` take
/// what follows them.
fn option_text(arguments: &[Word], options: &[&str], valued: &str, caveat: &str) -> Option<Unwrapped> {
    let at = arguments.iter().position(|word| options.contains(&word.text.as_str()));
    if let Some(at) = at {
        return Some(of_text(arguments.get(at + 1)?, Some(caveat)));
    }
    let mut before = arguments.iter().take_while(|word| word.text != "--").enumerate();
    let attached = before.find_map(|(at, word)| {
        if word.text.starts_with("--") {
            let (name, text) = word.text.split_once('=')?;
            return options.contains(&name).then(|| with_text(word, text));
        }
        let (front, text) = word.text.strip_prefix('-')?.split_once('c')?;
        if front.contains(|letter: char| valued.contains(letter)) {
            return None;
        }
        match text {
            "" => arguments.get(at + 1).cloned(),
            _ => Some(with_text(word, text)),
        }
    })?;
    Some(of_text(&attached, Some(caveat)))
}

/// The word with only this of its text.
fn with_text(word: &Word, text: &str) -> Word {
    Word {
        text: text.to_owned(),
        ..word.clone()
    }
}

/// A search that runs commands on all that it finds.
fn executed(commands: Vec<Vec<Word>>) -> Option<Unwrapped> {
    if commands.len() > MAX_RUN {
        return Some(of_text(&Word::unknown(""), Some(TOO_MANY)));
    }
    (!commands.is_empty()).then(|| Unwrapped {
        inside: commands.into_iter().map(Inside::Command).collect(),
        caveat: Some("runs a command on each file that it finds".to_owned()),
        adds_arguments: true,
    })
}

/// The most commands of one search that are followed.
pub(super) const MAX_RUN: usize = 64;
pub(super) const TOO_MANY: &str = "runs more commands than can be followed";

/// The commands that `find` runs on what it finds; one more than [`MAX_RUN`] of them if there are too many.
pub(super) fn run_by_find(arguments: &[Word]) -> Vec<Vec<Word>> {
    const STARTS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];
    let starts = arguments
        .iter()
        .enumerate()
        .filter(|(_, word)| STARTS.contains(&word.text.as_str()));
    starts
        .take(MAX_RUN + 1)
        .map(|(at, _)| up_to_end(arguments.get(at + 1..).unwrap_or_default(), &[";", "+"]))
        .collect()
}

/// The commands that `fd` runs on what it finds: behind an option, among other letters, or with its beginning in the option; one more
/// than [`MAX_RUN`] of them if there are too many.
pub(super) fn run_by_fd(arguments: &[Word]) -> Vec<Vec<Word>> {
    let mut commands = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        let attached = if let Some(long) = word.text.strip_prefix("--") {
            let (name, value) = long.split_once('=').unwrap_or((long, ""));
            ["exec", "exec-batch"].contains(&name).then_some(value)
        } else {
            let bundle = word.text.strip_prefix('-').unwrap_or_default();
            let end = bundle.find(|c| "deEtSco".contains(c)).unwrap_or(bundle.len());
            let run = bundle[..end].find(['x', 'X']);
            run.map(|run| bundle[run + 1..].trim_start_matches('='))
        };
        let Some(attached) = attached else { continue };
        let mut command = up_to_end(arguments.get(at + 1..).unwrap_or_default(), &[";"]);
        if !attached.is_empty() {
            command.insert(0, Word::literal(attached));
        }
        commands.push(command);
        if commands.len() > MAX_RUN {
            break;
        }
    }
    commands
}

fn up_to_end(words: &[Word], ends: &[&str]) -> Vec<Word> {
    words
        .iter()
        .take_while(|word| !ends.contains(&word.text.as_str()))
        .cloned()
        .collect()
}

/// Whether a word sets a variable, as `env` and `sudo` take it.
pub(super) fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests;
