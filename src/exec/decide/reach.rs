//! Where the arguments of a command lead, by their words and by the links that stand there now.

use super::hosts::{self, Remotes};
use super::{Folders, shape, taking};
use crate::exec::command::base_name;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// The class of paths and the hosts that a command names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// To paths outside the conversation's folder and the temporary one, or run outside of the first.
    pub elsewhere: bool,
    /// To an entry that other programs act on by themselves (`.git`, `.envrc`, …).
    pub acts_later: bool,
    /// To what commands in the sandbox may not read, as keys.
    pub closed: bool,
    /// To these hosts.
    pub hosts: BTreeSet<String>,
}

/// Options that name another program to run, whatever program they belong to. It could do anything, so a command with one
/// leads elsewhere.
const RUNNING: &[&str] = &[
    "--checkpoint-action",
    "--command",
    "--compress-program",
    "--config",
    "--config-env",
    "--diff-cmd",
    "--diff3-cmd",
    "--editor",
    "--editor-cmd",
    "--exec",
    "--execute",
    "--exec-path",
    "--ext-diff",
    "--extcmd",
    "--gpg-program",
    "--node-options",
    "--open-files-in-pager",
    "--pager",
    "--plugin",
    "--post-renderer",
    "--pre",
    "--program",
    "--python",
    "--receive-pack",
    "--require",
    "--rsh",
    "--rsync-path",
    "--run",
    "--runner",
    "--script",
    "--script-shell",
    "--sendmail-cmd",
    "--shell",
    "--smtp-server",
    "--specs",
    "--strip-program",
    "--template",
    "--textconv",
    "--to-command",
    "--toolexec",
    "--upload-pack",
    "--use-askpass",
    "--use-compress-program",
    "--wrapper",
    "-exec",
    "-execdir",
    "-ok",
    "-okdir",
    "-toolexec",
    "-wrapper",
];

/// Options, in letters and in full, by which a program takes names and settings from a file, from its peer or from an archive, so
/// that its words do not say where it leads.
const FROM_ELSEWHERE: &[(&str, &str, &[&str])] = &[
    ("curl", "JK", &["--remote-header-name"]),
    (
        "wget",
        "eimprx",
        &[
            "--content-disposition",
            "--input-file",
            "--mirror",
            "--page-requisites",
            "--recursive",
            "--trust-server-names",
        ],
    ),
    ("bsdtar", "P", &["--absolute-paths"]),
    ("gtar", "P", &["--absolute-names"]),
    ("tar", "P", &["--absolute-names", "--absolute-paths"]),
];

/// Settings of `ssh` that name a program to run.
const RUN_BY_SSH: &[&str] = &["proxycommand", "localcommand", "remotecommand", "knownhostscommand"];

/// Programs that take short options in one word, the last of them with its value, and those of their letters that take a
/// path.
const BUNDLING: &[(&str, &str)] = &[
    ("cp", "t"),
    ("curl", "oOTPDK"),
    ("gtar", "fCTX"),
    ("install", "t"),
    ("bsdtar", "fCTX"),
    ("ln", "t"),
    ("make", "CfI"),
    ("mv", "t"),
    ("patch", "dior"),
    ("sort", "oT"),
    ("tar", "fCTX"),
    ("unzip", "d"),
    ("wget", "aoOTP"),
];

/// Programs that write through links in the folder that they copy to.
const COPYING: &[&str] = &["cp", "ditto", "install", "rsync", "scp"];

/// Programs that read what lies in the folders that they are given, without an option for it.
const COMPARING: &[&str] = &["colordiff", "diff", "gdiff", "sdiff"];

/// Programs whose last operand is where they put the others.
const PUTTING: &[&str] = &["cp", "ditto", "install", "ln", "mv", "rsync", "scp"];

/// Programs that write files under names that are not among their words, in the folder that they run in; those of an archive at
/// every depth.
const DOWNLOADING: &[&str] = &["curl", "wget"];
const UNPACKING: &[&str] = &[
    "7z", "7za", "7zr", "bsdtar", "cpio", "gtar", "jar", "patch", "tar", "unar", "unrar", "unzip",
];

/// Programs that move or remove what lies below a folder along with it.
const TAKING_WHOLE: &[&str] = &["mv", "rm", "rmdir", "trash"];

/// Programs that read what lies below the folders that they are given, and below their own if they are given none.
const GOING_BELOW: &[&str] = &["ack", "ag", "du", "fd", "fdfind", "find", "rg", "tree", "ugrep"];
/// Those that do so by an option.
const GOING_BELOW_IF_DEEP: &[&str] = &["diff", "egrep", "fgrep", "grep", "ls", "zgrep"];
/// Sub-commands of git that take in what lies below the folders that they are given, and those that need none for it.
const TAKING_IN: &[&str] = &["add", "diff", "grep", "stash"];
const TAKING_IN_ALL: &[&str] = &["diff", "grep", "stash"];

impl Reach {
    /// The reach of one command, the program first, run in one of these folders.
    pub fn of(command: &[String], folders: &Folders) -> Self {
        let mut reach = Self {
            elsewhere: !folders.are_here(),
            ..Self::default()
        };
        let Some((program, arguments)) = command.split_first() else {
            return reach;
        };
        let name = base_name(program);
        let deep = arguments
            .iter()
            .any(|word| word.starts_with('-') && word.contains(['a', 'r', 'R']));
        let unpacks = UNPACKING.contains(&name)
            || name == "git" && arguments.iter().any(|word| matches!(word.as_str(), "apply" | "am"))
            || name == "rsync" && arguments.iter().any(|word| word.starts_with("--files-from"));
        let downloads =
            DOWNLOADING.contains(&name) && (name == "wget" || arguments.iter().any(|word| names_by_address(word)));
        // Whose names are not among the words, and the links among those in the way.
        let makes_names = unpacks || downloads;
        reach.elsewhere |= makes_names && folders.hold_links_out(".", unpacks) || name == "cpio";
        let copies = makes_names || COPYING.contains(&name);
        let of_git = arguments.first().map(String::as_str).filter(|_| name == "git");
        let takes_whole = TAKING_WHOLE.contains(&name) || matches!(of_git, Some("mv" | "rm"));
        let looks_below = deep && COPYING.contains(&name) || takes_whole;
        let takes_in = of_git.is_some_and(|word| TAKING_IN.contains(&word));
        let recurses = arguments.iter().any(|word| may_recurse(word));
        let reads_below = recurses || looks_below || takes_in || GOING_BELOW.contains(&name);
        reach.closed |= reads_its_folder(name, arguments) && folders.close_in_the_repository_or_here(name);
        // What is copied or moved there does not read what is there.
        let puts = PUTTING.contains(&name) || of_git == Some("mv");
        let target = puts.then(|| arguments.len().saturating_sub(1));
        let target = target.filter(|_| !arguments.iter().any(|word| names_target(word)));
        let texts = shape::texts(program, arguments);
        let compares = COMPARING.contains(&name);
        reach.closed |= taking::takes_what_is_closed(name, arguments, &texts, folders);
        let remotes = Remotes::of(program, arguments);
        let mut before = "";
        // What is put somewhere gets a name there that is not among the words.
        let (mut sources, mut folders_put_in) = (Vec::new(), Vec::new());
        let mut made = Vec::new();
        for (at, argument) in arguments.iter().enumerate() {
            let before = std::mem::replace(&mut before, argument.as_str());
            if texts[at] {
                continue;
            }
            // The value of `--option=value` counts like a word of its own.
            let is_option = argument.starts_with('-');
            let with_value = argument.split_once('=').filter(|_| is_option);
            let value = with_value.map_or(argument.as_str(), |(_, value)| value);
            let is_data = hosts::names_no_host(name, with_value.map_or(before, |(option, _)| option));
            let in_front = at.checked_sub(2).map_or("", |at| arguments[at].as_str());
            let is_data = is_data && (with_value.is_some() || !hosts::may_be_a_value(name, in_front));
            // `dd of=/etc/x`, `-d @/etc/x`.
            let assigned = argument.split_once('=').filter(|_| !is_option).map(|(_, value)| value);
            // What names a host to one program is a path to another, or at another place.
            let words = [Some(value), assigned].into_iter().flatten();
            let words = words
                .flat_map(|word| [Some(word), word.strip_prefix(['@', '<'])])
                .flatten();
            let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
            reach.elsewhere |= words.iter().any(|word| leads_elsewhere(word, folders));
            // Of two folders each file is read, and so is what a link in them leads to.
            let compares = compares && folders.has_folder(value);
            reach.elsewhere |= (copies || compares) && folders.hold_links_out(value, deep || unpacks);
            let reads_below = reads_below || compares;
            if !is_data {
                reach
                    .hosts
                    .extend(hosts::named(name, value, remotes.may_be(value, is_option)));
                let is_address = !is_option || argument.starts_with("--");
                reach.elsewhere |= is_address && hosts::may_lead_elsewhere(name, value, is_option);
            }
            let is_of_hosts = hosts::are_operands_of(name);
            if is_of_hosts && !is_option && !is_data && !hosts::begins_with_a_host(value) {
                reach.hosts.extend(hosts::hosts_without_scheme(value));
            }
            // What an option has attached may be a path.
            let attached = argument.get(2..).filter(|_| is_option && !argument.starts_with("--"));
            let attached = attached.filter(|path| !path.is_empty());
            let files: Vec<String> = words
                .iter()
                .copied()
                .chain(attached)
                .filter_map(hosts::path_of_file)
                .collect();
            reach.elsewhere |= !files.is_empty();
            let paths = words
                .iter()
                .copied()
                .chain(attached)
                .chain(files.iter().map(String::as_str));
            for path in paths {
                reach.acts_later |= folders.lead_to_what_acts(path, looks_below && target != Some(at));
                made.extend(folders.parts_of_repositories(path));
                reach.closed |= folders.lead_to_what_is_closed(path, reads_below && target != Some(at));
            }
            for path in tails(argument) {
                reach.acts_later |= folders.lead_to_what_acts(path, false);
                reach.closed |= folders.lead_to_what_is_closed(path, false);
            }
            // Which of the words are addresses is not sure; of a file none is made.
            let is_address = downloads && !is_option && value.contains(['/', '.', ':']);
            let saved = is_address.then(|| hosts::name_by_address(value));
            reach.elsewhere |= saved.as_ref().is_some_and(Option::is_none);
            let saved = saved.flatten().filter(|name| !name.is_empty());
            if let Some(name) = &saved {
                reach.acts_later |= folders.lead_to_what_acts(name, false);
                made.extend(folders.parts_of_repositories(name));
            }
            if puts || makes_names || DOWNLOADING.contains(&name) {
                let names_it = if puts {
                    names_target(before)
                } else {
                    before.starts_with('-')
                };
                let may_be_target = is_option || names_it;
                let values = [value].into_iter().chain(attached).chain(tails(argument));
                folders_put_in.extend(values.filter(|path| may_be_target && folders.has_folder(path)));
                if !is_option || downloads {
                    sources.push((argument.as_str(), saved.unwrap_or_else(|| argument.clone())));
                }
            }
            reach.elsewhere |= makes_names && attached.is_some_and(|path| folders.hold_links_out(path, unpacks));
            let option = argument.split_once('=').map_or(argument.as_str(), |(option, _)| option);
            reach.elsewhere |= is_from_elsewhere(name, option);
            reach.elsewhere |= names_a_program(option) || (name == "git" && is_setting_of_git(argument));
            let is_short = is_option && !argument.starts_with("--");
            // `-o/etc/x`: what follows a letter may be its value.
            reach.elsewhere |= is_short && attached_leads_elsewhere(argument, name, folders);
            if is_of_hosts {
                let lower = argument.to_ascii_lowercase();
                reach.elsewhere |= RUN_BY_SSH.iter().any(|setting| lower.contains(setting))
                    || (argument.starts_with("-e") && argument.contains('='));
                if is_short && hosts::may_name_host(argument, name) {
                    reach.hosts.insert(argument.clone());
                }
            }
        }
        folders_put_in.extend(sources.last().filter(|_| !downloads).map(|(word, _)| *word));
        for (word, source) in &sources {
            for target in folders_put_in.iter().filter(|target| *target != word) {
                reach.acts_later |= folders.put_what_acts(source, target, looks_below, &mut made);
            }
        }
        reach.acts_later |= folders.complete_repository(&made);
        reach
    }

    /// Both together.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.elsewhere |= other.elsewhere;
        self.acts_later |= other.acts_later;
        self.closed |= other.closed;
        self.hosts.extend(other.hosts);
        self
    }
}

/// Whether a program reads what lies below the folder that it runs in without being given it.
fn reads_its_folder(program: &str, arguments: &[String]) -> bool {
    let has = |long: &str, letters: &[char]| {
        let is_one = |word: &String| match word.strip_prefix("--") {
            Some(rest) => !rest.is_empty() && long.starts_with(rest.split('=').next().unwrap_or(rest)),
            None => word.starts_with('-') && word.contains(letters),
        };
        arguments.iter().any(is_one)
    };
    match arguments.first().map(String::as_str) {
        Some(first) if program == "git" => TAKING_IN_ALL.contains(&first) || first == "add" && has("all", &['A', 'u']),
        _ if GOING_BELOW.contains(&program) => true,
        _ => GOING_BELOW_IF_DEEP.contains(&program) && (has("recursive", &['r', 'R']) || has("directories", &['d'])),
    }
}

/// Whether an option may make a program read what lies below a folder.
fn may_recurse(word: &str) -> bool {
    match word.strip_prefix("--") {
        Some(long) => long.starts_with(['d', 'r']),
        None => word.starts_with('-') && word.contains(['r', 'R']),
    }
}

/// Whether an option of a program that copies or moves names the folder to which it does, so that each operand is a source.
fn names_target(word: &str) -> bool {
    match word.strip_prefix("--") {
        Some(long) => !long.is_empty() && "target-directory".starts_with(long.split('=').next().unwrap_or(long)),
        None => word.starts_with('-') && word.contains('t'),
    }
}

/// What the word of a short option may have attached behind one of its letters: `-xfNAME`.
pub(super) fn tails(word: &str) -> impl Iterator<Item = &str> {
    /// More letters than these are hardly ever put together.
    const MOST: usize = 8;
    /// No path is longer.
    const LONGEST: usize = 4_096;
    let is_short = word.starts_with('-') && !word.starts_with("--") && word.len() < LONGEST;
    let starts = word.char_indices().skip(2).take(MOST).filter(move |_| is_short);
    starts.map(move |(at, _)| &word[at..])
}

/// Whether an option names another program to run, in full or cut short as most programs take it.
fn names_a_program(option: &str) -> bool {
    let is_short_for = |known: &&str| option.len() > 2 && option.starts_with("--") && known.starts_with(option);
    RUNNING.contains(&option) || RUNNING.iter().any(is_short_for)
}

/// Whether an option of a program lets others say where it leads.
fn is_from_elsewhere(program: &str, option: &str) -> bool {
    let Some((_, letters, long)) = FROM_ELSEWHERE.iter().find(|(name, ..)| *name == program) else {
        return false;
    };
    match option.strip_prefix("--") {
        Some(_) => option.len() > 2 && long.iter().any(|known| known.starts_with(option)),
        None => option.starts_with('-') && option.contains(|letter: char| letters.contains(letter)),
    }
}

/// Whether an option of `curl` has it save a file under the name that the address has.
fn names_by_address(option: &str) -> bool {
    match option.strip_prefix("--") {
        Some(long) => long.starts_with("remote-name"),
        None => option.starts_with('-') && option.contains('O'),
    }
}

/// `git rebase -x`, and the settings that `git clone` takes for what it makes.
fn is_setting_of_git(argument: &str) -> bool {
    argument == "-x" || argument.starts_with("-c")
}

/// Whether the value in the word of a short option is a path that leads elsewhere: behind its letter, or, with some programs,
/// behind one among others.
fn attached_leads_elsewhere(argument: &str, program: &str, folders: &Folders) -> bool {
    let mut chars = argument[1..].chars();
    if chars.next().is_none() {
        return false;
    }
    let value = chars.as_str();
    let letters = BUNDLING.iter().find(|(name, _)| *name == program);
    let letters = letters.map_or("", |(_, letters)| letters);
    let (front, path) = value.split_at(value.find(['/', '~', '.', '$']).unwrap_or(value.len()));
    let begins = front.chars().next_back().is_none_or(|letter| letters.contains(letter));
    // Wherever in front the value begins: it leads up from there, or it does not.
    (begins && !path.is_empty() && leads_elsewhere(path, folders))
        || (path.contains("/..") && leads_elsewhere(value, folders))
}

fn leads_elsewhere(text: &str, folders: &Folders) -> bool {
    // In an address it is a letter like others.
    let has_variable = text.contains('$') && !hosts::is_plain_address(text);
    if text.starts_with('~') || has_variable || hosts::path_of_file(text).is_some() {
        return true;
    }
    text != "/dev/null" && !folders.keep_here(text)
}

/// A path without `.` and `..`, by its words.
pub(super) fn clean(path: &Path) -> PathBuf {
    let mut place = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::Normal(name) => place.push(name),
            Component::ParentDir => drop(place.pop()),
            _ => {}
        }
    }
    place
}

#[cfg(test)]
mod tests {
    use super::super::Scene;
    use super::*;

    #[test]
    fn a_long_word_is_looked_at_in_time() {
        let before = crate::busy::busy();
        let words = ["cp".to_owned(), format!("-a{}", "t./".repeat(8000))];
        Reach::of(&words, &Folders::of(Scene::at(Path::new("/w"))));
        assert!((crate::busy::busy() - before).as_secs() < 20);
    }

    #[test]
    fn who_reads_below_its_own_folder() {
        for (command, expected) in [
            ("rg x", true),
            ("grep -r x", true),
            ("grep -nrI x sub", true),
            ("grep --recursive x", true),
            ("grep --rec x", true),
            ("grep --directories=recurse x", true),
            ("grep -n x a", false),
            ("ls -R", true),
            ("ls -la", false),
            ("git add -A", true),
            ("git add --al", true),
            ("git add a", false),
            ("git diff", true),
            ("git push", false),
            ("cat a", false),
        ] {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            assert_eq!(reads_its_folder(&words[0], &words[1..]), expected, "{command}");
        }
        let tails: Vec<&str> = tails("-nfk.pem").collect();
        assert_eq!(tails[..3], ["fk.pem", "k.pem", ".pem"]);
        assert_eq!(super::tails("--file=x").count() + super::tails("word").count(), 0);
    }

    #[test]
    fn by_table() {
        for (command, elsewhere, hosts) in [
            ("cp a b", false, ""),
            ("cp a /etc/x", true, ""),
            ("cp a ../x", true, ""),
            ("cp a sub/../b", false, ""),
            ("cp a ~/x", true, ""),
            ("cp a $HOME/x", true, ""),
            ("cp a /tmp/x", false, ""),
            ("cp a /tmp/../etc/x", true, ""),
            ("tool --out=/etc/x", true, ""),
            ("tool --out=x", false, ""),
            ("tool -o/etc/x", true, ""),
            ("tool -I../x", true, ""),
            ("cp -at/etc a", true, ""),
            ("cp -at../x a", true, ""),
            ("cp -atsub/x a", false, ""),
            ("tool -Isub/x --out=sub/x -L./x", false, ""),
            ("gcc -Itarget/include -Lbuild/out/lib a.c", false, ""),
            ("gcc -Itarget/../../x a.c", true, ""),
            ("tar -xfdist/a.tgz", false, ""),
            ("tar -xf/etc/a.tgz", true, ""),
            ("tar -xfdist/../../a.tgz", true, ""),
            ("tar -xC.. -fa.tgz", true, ""),
            ("unzip -qd/etc a.zip", true, ""),
            ("curl -so/etc/x a.example", true, "-so/etc/x a.example"),
            ("ssh -oProxyCommand=x a.example", true, "-oProxyCommand=x a.example"),
            ("ssh -o ProxyCommand=x a.example", true, "a.example proxycommand=x"),
            ("ssh -Jevil a.example", false, "-Jevil a.example"),
            ("ssh -vJevil a.example", false, "-vJevil a.example"),
            ("ssh -v -p2222 -4 a.example", false, "a.example"),
            ("curl -sSfL https://a.example", false, "a.example"),
            ("curl -xevil:80 https://a.example", false, "-xevil:80 a.example"),
            ("curl -sxevil https://a.example", false, "-sxevil a.example"),
            (
                "wget -ehttps_proxy=evil:80 https://a.example",
                true,
                "-ehttps_proxy=evil:80 a.example",
            ),
            (
                "openssl s_client -connect a.example:443",
                false,
                "a.example:443 s_client",
            ),
            ("curl https://A.example/x", false, "a.example"),
            ("curl --url=https://a.example", false, "a.example"),
            ("curl a.example/x b.example", false, "a.example b.example"),
            ("wget -O- a.example:80/x", false, "a.example:80"),
            (
                "curl --resolve a.example:80:192.0.2.1 http://a.example",
                false,
                "192.0.2.1 a.example",
            ),
            ("curl localhost:x@192.0.2.1/?secret", false, "192.0.2.1 localhost"),
            ("curl localhost?x@192.0.2.1/", false, "localhost"),
            ("curl a.example/?x=://b.example", false, "a.example b.example"),
            ("curl a@b.example:x@c.example/", false, "b.example c.example"),
            ("wget a.example:x@b.example/", false, "a.example b.example"),
            ("curl http:/a.example/x", false, "a.example http"),
            ("curl http:///a.example/x", false, "a.example http"),
            ("curl https://a@b.example/x", false, "b.example"),
            ("curl [::1]:80/x", false, "[::1]:80"),
            ("curl [::1]/x", false, "[::1]"),
            ("xh a.example\\@b.example", false, "a.example\\@b.example b.example"),
            ("ssh me@a.example ls", false, "a.example ls"),
            ("curl -X POST -H A:b -d x https://a.example/x", false, "a.example"),
            ("curl -sSX POST --json x https://a.example/x", false, "a.example"),
            ("curl -m 5 --retry 3 -u me@x:y https://a.example/x", false, "a.example"),
            ("curl -so out https://a.example/x", false, "a.example"),
            ("curl -so ../out https://a.example/x", true, "a.example"),
            (
                "curl -x b.example:80 https://a.example/x",
                false,
                "a.example b.example:80",
            ),
            ("curl -sx b.example https://a.example/x", false, "a.example b.example"),
            ("curl -sXPOST b.example", false, "b.example"),
            ("git clone git@a.example:x", false, "a.example"),
            ("git clone --depth 1 alias:x", false, "alias"),
            ("git fetch -m alias:x", false, "alias"),
            ("git -C sub push alias:x", false, "alias"),
            ("git remote add x alias:y", false, "alias"),
            ("git archive --remote=a.example:x HEAD", false, "a.example"),
            ("git push origin v1.2:v1.2", false, ""),
            ("git show HEAD:a", false, ""),
            ("git show v1.2:a", false, ""),
            ("git commit -m fix:x", false, ""),
            ("git commit -am $5:x", false, ""),
            ("git commit -m https://a.example/x", false, ""),
            ("git commit -m x $5", true, ""),
            ("gh pr create -t x:y -b https://a.example/x", false, ""),
            ("git push origin main", false, ""),
            ("git rebase -x evil main", true, ""),
            ("git fetch --upload-p=evil", true, ""),
            ("git clone --templ evil git@a.example:x", true, "a.example"),
            ("git clone -c core.sshCommand=evil git@a.example:x", true, "a.example"),
            ("git log --oneline --graph", false, ""),
            ("git push a.example:x main", false, "a.example"),
            ("git push alias:x main", false, "alias"),
            ("git push origin HEAD:main", false, ""),
            ("scp a b:c", false, "b"),
            ("rsync -a x alias:y", false, "alias"),
            ("curl file:///etc/x", true, ""),
            ("curl FILE://localhost/etc/x", true, ""),
            ("curl file:/etc/x", true, ""),
            ("curl --url=file://localhost/etc/x", true, ""),
            ("curl dict://localhost/x", true, "localhost"),
            ("curl gopher:/localhost/x", true, "gopher localhost"),
            ("curl {file,http}://localhost/x", true, "localhost {file,http}"),
            ("curl [f-f]ile://localhost/etc/x", true, "[f-f] localhost"),
            ("curl https://a.example/x?$top=1", false, "a.example"),
            ("curl localhost/x", false, "localhost"),
            ("curl localhost:80/x", false, "localhost:80"),
            ("curl -d @/etc/x http://localhost", true, "localhost"),
            ("curl -F x=@/etc/x http://localhost", true, "localhost"),
            ("curl -d @x http://localhost", false, "localhost"),
            (
                "wget --output-document=x://localhost/../../../x http://localhost/x",
                true,
                "localhost",
            ),
            (
                "wget --output-document=x://evil/y http://localhost/x",
                false,
                "localhost",
            ),
            ("wget -O x://localhost/../../../x http://localhost/x", true, "localhost"),
            (
                "wget -Ox://localhost/../../../x http://localhost/x",
                true,
                "-Ox://localhost/../../../x localhost",
            ),
            ("cp a x://../../x", true, ".."),
            ("cp a u@x:/../../x", true, "x"),
            ("cp x://../../../etc/passwd b", true, ".."),
            ("dd of=x://../../../x", true, ".."),
            ("git clone https://a.example/x", false, "a.example"),
            ("git clone evil://a.example/x", true, "a.example"),
            ("scp a evil:x://a.example/y", false, "a.example evil"),
            ("scp a me@evil:x://a.example/y", false, "a.example evil"),
            ("scp a scp://a.example/y", false, "a.example"),
            ("scp a http://a.example/y", false, "a.example http"),
            ("rsync -a w evil:x://a.example/", false, "a.example evil"),
            ("dd if=a of=/etc/x", true, ""),
            ("dd if=a of=sub/x", false, ""),
            ("cargo test --config=x", true, ""),
            ("cargo test --lib", false, ""),
        ] {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            let reach = Reach::of(&words, &Folders::of(Scene::at(Path::new("/w"))));
            let found: Vec<String> = reach.hosts.into_iter().collect();
            assert_eq!(
                (reach.elsewhere, found.join(" ").as_str()),
                (elsewhere, hosts),
                "{command}"
            );
        }
    }
}
