//! Commands that are known only to read: a table of programs with the options that would make them do more.

use super::script::Word;
use super::{base_name, has_usual_place, plain_words};

/// Whether the command is known to read and print and do nothing else. Compositions of plain commands are if each part
/// is; a redirection, a substitution, an unknown program or an option that writes or runs something makes it unknown.
pub fn known_to_only_read(argv: &[String]) -> bool {
    plain_words(argv).is_some_and(|parts| parts.iter().all(|part| reads(part)))
}

/// Read whatever their options.
const ALWAYS: &[&str] = &[
    "arch",
    "basename",
    "cat",
    "cd",
    "cksum",
    "cmp",
    "comm",
    "cut",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "expr",
    "false",
    "fgrep",
    "fmt",
    "fold",
    "free",
    "getconf",
    "grep",
    "groups",
    "head",
    "id",
    "join",
    "jq",
    "ls",
    "lscpu",
    "md5sum",
    "nl",
    "nproc",
    "numfmt",
    "od",
    "paste",
    "pgrep",
    "printenv",
    "ps",
    "pwd",
    "readlink",
    "realpath",
    "rev",
    "seq",
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "sleep",
    "stat",
    "strings",
    "sum",
    "tac",
    "tail",
    "tr",
    "true",
    "tty",
    "type",
    "uname",
    "uptime",
    "wc",
    "which",
    "whoami",
];

/// Programs whose version may be asked for.
const WITH_VERSION: &[&str] = &[
    "bun", "cargo", "clang", "cmake", "deno", "docker", "gcc", "git", "go", "java", "make", "node", "npm", "perl",
    "php", "pip", "pip3", "pnpm", "python", "python3", "ruby", "rustc", "rustup", "uv", "yarn",
];

pub(super) fn reads(words: &[Word]) -> bool {
    let Some((program, arguments)) = words.split_first() else {
        return false;
    };
    if !has_usual_place(&program.text) {
        return false;
    }
    let name = base_name(&program.text);
    let asks_version = |word: &Word| matches!(word.text.as_str(), "--version" | "-V" | "-version");
    if let [only] = arguments
        && asks_version(only)
        && WITH_VERSION.contains(&name)
    {
        return true;
    }
    // What a glob becomes may be an option where options matter.
    let plain = arguments.iter().all(|word| !word.glob);
    ALWAYS.contains(&name) || (plain && reads_with_care(name, arguments))
}

fn reads_with_care(name: &str, arguments: &[Word]) -> bool {
    let texts: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    let none = |bad: &dyn Fn(&str) -> bool| !texts.iter().any(|text| bad(text));
    match name {
        "base64" => none(&|text| short(text, 'o') || long(text, "--output")),
        "sort" => none(&|text| {
            short(text, 'o')
                || long(text, "--output")
                || long(text, "--compress-program")
                || short(text, 'T')
                || long(text, "--temporary-directory")
        }),
        // A second operand is written.
        "uniq" => {
            none(&|text| text == "--")
                && texts
                    .iter()
                    .filter(|text| !text.starts_with('-') || **text == "-")
                    .count()
                    <= 1
        }
        "date" => reads_date(&texts),
        "hostname" => {
            none(&|text| !text.starts_with('-') || short(text, 'F') || long(text, "--file") || short(text, 'b'))
        }
        "file" => none(&|text| short(text, 'C') || long(text, "--compile")),
        "tree" => none(&|text| short(text, 'o') || text == "-R"),
        "printf" => none(&|text| text.starts_with("-v")),
        "find" => none(&|text| {
            ["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fls"].contains(&text) || text.starts_with("-fprint")
        }),
        "fd" | "fdfind" => none(&|text| short(text, 'x') || short(text, 'X') || text.starts_with("--exec")),
        "rg" => none(&|text| {
            short(text, 'z')
                || text.starts_with("--search-zip")
                || text.starts_with("--pre")
                || text.starts_with("--hostname-bin")
        }),
        "sed" => reads_sed(&texts),
        "git" => reads_git(&texts),
        "time" | "command" | "nice" => texts.first().is_some_and(|text| !text.starts_with('-')) && reads(arguments),
        "timeout" => {
            texts
                .first()
                .is_some_and(|text| text.starts_with(|c: char| c.is_ascii_digit()))
                && reads(&arguments[1..])
        }
        _ => false,
    }
}

/// Whether an argument is this short option, or holds it among others.
fn short(text: &str, letter: char) -> bool {
    text.starts_with('-') && !text.starts_with("--") && text.contains(letter)
}

/// Whether an argument is this long option: with a value, or abbreviated.
fn long(text: &str, option: &str) -> bool {
    let name = text.split('=').next().unwrap_or(text);
    name.len() > 2 && option.starts_with(name)
}

/// `date` sets the clock with `-s` and with a bare operand.
fn reads_date(texts: &[&str]) -> bool {
    let mut value = false;
    texts.iter().all(|text| {
        let is_value = std::mem::replace(
            &mut value,
            matches!(*text, "-d" | "--date" | "-r" | "--reference" | "-f" | "--file"),
        );
        is_value || text.starts_with('+') || (text.starts_with('-') && !short(text, 's') && !long(text, "--set"))
    })
}

/// `sed -n` that prints lines by number.
fn reads_sed(texts: &[&str]) -> bool {
    let ["-n", script, files @ ..] = texts else {
        return false;
    };
    let number = |text: &str| text == "$" || (!text.is_empty() && text.chars().all(|c| c.is_ascii_digit()));
    let prints = |part: &str| {
        part.strip_suffix('p')
            .is_some_and(|range| range.split(',').count() <= 2 && range.split(',').all(number))
    };
    script.split(';').all(prints) && !files.iter().any(|file| file.starts_with('-'))
}

fn reads_git(texts: &[&str]) -> bool {
    let mut rest = texts;
    loop {
        rest = match rest {
            ["--no-pager" | "--no-optional-locks" | "--literal-pathspecs", rest @ ..] | ["-C", _, rest @ ..] => rest,
            _ => break,
        };
    }
    let Some((command, rest)) = rest.split_first() else {
        return false;
    };
    let runs = |text: &&&str| {
        [
            "--output",
            "--ext-diff",
            "--textconv",
            "--show-signature",
            "--filters",
            "--exec",
            // Opens the manual in a viewer, which can be any program.
            "--help",
        ]
        .iter()
        .any(|option| long(text, option))
    };
    if rest.iter().filter(|text| **text != "--oneline").any(|text| runs(&text)) {
        return false;
    }
    let all = |good: &dyn Fn(&str) -> bool| rest.iter().all(|text| good(text));
    let bare = !rest.iter().any(|text| !text.starts_with('-'));
    match *command {
        "status" | "log" | "diff" | "show" | "rev-parse" | "ls-files" | "ls-tree" | "blame" | "shortlog"
        | "describe" | "cat-file" | "rev-list" | "name-rev" | "merge-base" | "for-each-ref" | "count-objects"
        | "version" | "diff-tree" | "diff-index" | "diff-files" | "show-ref" | "check-ignore" | "whatchanged"
        | "show-branch" => true,
        "grep" => all(&|text| !short(text, 'O') && !long(text, "--open-files-in-pager")),
        "branch" => lists_branches(rest),
        "tag" => {
            let listing = rest
                .iter()
                .any(|text| matches!(*text, "-l" | "--list" | "--contains" | "--points-at" | "--merged"));
            all(&|text| {
                !text.starts_with('-')
                    || ["-l", "--list", "--contains", "--points-at", "--merged", "--no-merged"].contains(&text)
                    || text.starts_with("-n")
                    || text.starts_with("--sort=")
                    || text.starts_with("--format=")
            }) && (bare || listing)
        }
        "remote" => matches!(rest, [] | ["-v" | "--verbose"] | ["get-url", _]),
        "stash" => matches!(rest, ["list" | "show", ..]),
        "reflog" => matches!(rest, [] | ["show", ..]) || rest.first().is_some_and(|text| text.starts_with("-n")),
        "worktree" => matches!(rest, ["list", ..]),
        "config" => matches!(
            rest,
            ["--get" | "--get-all" | "--get-regexp" | "get", _] | ["--list" | "-l" | "list"]
        ),
        _ => false,
    }
}

fn lists_branches(rest: &[&str]) -> bool {
    const LISTING: [&str; 7] = [
        "-l",
        "--list",
        "--contains",
        "--no-contains",
        "--merged",
        "--no-merged",
        "--points-at",
    ];
    const SHOWING: [&str; 9] = [
        "-a",
        "--all",
        "-r",
        "--remotes",
        "-v",
        "-vv",
        "--verbose",
        "--show-current",
        "--no-color",
    ];
    let listing = rest.iter().any(|text| LISTING.contains(text));
    rest.iter().all(|text| {
        if !text.starts_with('-') {
            return listing;
        }
        LISTING.contains(text)
            || SHOWING.contains(text)
            || ["--sort=", "--format=", "--contains=", "--merged=", "--color="]
                .iter()
                .any(|option| text.starts_with(option))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(text: &str) -> bool {
        known_to_only_read(&["bash".to_owned(), "-lc".to_owned(), text.to_owned()])
    }

    #[test]
    fn commands_that_only_read() {
        for text in [
            "ls -la src",
            "cat a b | head -n 5",
            "cd src && ls; pwd",
            "wc -l *.rs",
            "ls *.rs",
            "grep -rn 'x y' src || true",
            "rg --files",
            "rg -n foo src",
            "find . -name '*.rs' -type f",
            "find src -maxdepth 2",
            "git status --short",
            "git log --oneline -n 5",
            "git --no-pager diff HEAD~1 -- src",
            "git -C sub show HEAD",
            "git branch",
            "git branch -a",
            "git branch --list 'x*'",
            "git branch --show-current",
            "git tag",
            "git tag -l 'v*'",
            "git remote -v",
            "git stash list",
            "git config --get user.name",
            "git grep -n foo",
            "git blame -L 1,5 x",
            "sed -n 1,5p file",
            "sed -n '10p' file",
            "sed -n '$p' file",
            "sort x | uniq -c",
            "sort -u -k 2 x",
            "date",
            "date +%s",
            "date -d yesterday +%F",
            "base64 -d x",
            "/bin/ls",
            "/usr/bin/cat x",
            "cargo --version",
            "python3 --version",
            "timeout 5 cat x",
            "time ls",
            "command ls",
            "echo hello",
            "stat x && file x",
            "jq . package.json",
        ] {
            assert!(shell(text), "not known to only read: {text}");
        }
        assert!(known_to_only_read(&["ls".to_owned(), "$(x)".to_owned()]));
    }

    #[test]
    fn commands_that_may_do_more() {
        for text in [
            "touch x",
            "rm x",
            "ls > out",
            "ls >> out",
            "cat x 2> err",
            "echo $(touch x)",
            "echo `touch x`",
            "ls; touch x",
            "ls & touch x",
            "A=1 ls",
            "find . -delete",
            "find . -exec cat {} \\;",
            "find . -execdir cat {} +",
            "find . -ok cat {} \\;",
            "find . -fprint out",
            "find . -fprintf out x",
            "find . -fls out",
            "find *",
            "rg --pre sh x",
            "rg --pre=sh x",
            "rg -z x",
            "rg -nz x",
            "rg --search-zip x",
            "rg --hostname-bin=x y",
            "rg x *",
            "git grep -O x",
            "git grep -Oless x",
            "git grep -nO x",
            "git grep --open-files-in-pager=sh x",
            "git grep --op=sh x",
            "git -c core.pager=sh log",
            "git -p log",
            "git --exec-path=. status",
            "git --git-dir=evil status",
            "git diff --output=x",
            "git diff --outp=x",
            "git log --ext-diff",
            "git branch new",
            "git branch -d x",
            "git branch -m a b",
            "git tag v1",
            "git tag -d v1",
            "git remote add x y",
            "git stash",
            "git stash pop",
            "git config user.name x",
            "git config --get x y z",
            "git commit -m x",
            "git checkout x",
            "git ls-remote x",
            "git",
            "sed -i s/a/b/ x",
            "sed s/a/b/ x",
            "sed -n 's/a/b/w out' x",
            "sed -n '1e touch x' y",
            "sed -n 1,2p -i x",
            "sort -o out x",
            "sort -uo out x",
            "sort --output=out x",
            "sort --ou out x",
            "sort --compress-program=sh x",
            "uniq in out",
            "uniq - out",
            "uniq -- -in out",
            "git log --help",
            "echo \n\\touch x",
            "echo \x0c#\\#&&touch x",
            "echo \r# && touch x",
            "ls\x0b#; touch x",
            "ls \u{a0}#; touch x",
            "echo $'a\\'; touch x #'",
            "date -s tomorrow",
            "date 01010000",
            "base64 -o out x",
            "tree -o out",
            "file -C x",
            "hostname evil",
            "./ls",
            "bin/ls",
            "/tmp/ls",
            "/home/x/bin/cat y",
            "awk 1 x",
            "xargs cat",
            "env ls",
            "sudo ls",
            "tee x",
            "less x",
            "cargo test",
            "cargo --version x",
            "timeout -s KILL 5 cat x",
            "timeout 5 touch x",
            "command -p touch x",
            "printf -v x y",
            "fd -x rm",
            "python3 x.py",
            "bash -c ls",
            "if true; then ls; fi",
            "(ls)",
            "! ls",
            "ls ||",
            "",
        ] {
            assert!(!shell(text), "taken for reading: {text}");
        }
        assert!(!known_to_only_read(&[]));
    }
}
