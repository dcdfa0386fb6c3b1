//! Programs by what they run: the file among their arguments, what an option of theirs names, what lies in their
//! folder, or another program of which they are only the front.

use crate::exec::command::{Starts, is_starter};

/// How an interpreter takes what it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interpreter {
    /// Letters of options whose value is a program by itself.
    pub(super) code: &'static str,
    /// Letters of options that have some other value, in the same word or the next.
    valued: &'static str,
    /// Whether an option names a module, which is looked for in the folder (`python -m`).
    pub(super) has_modules: bool,
    /// Whether a first argument that is no file may be a sub-command.
    pub(super) has_sub_commands: bool,
    /// Whether it is a shell, whose text is read by itself.
    pub(super) is_shell: bool,
}

const PLAIN: Interpreter = Interpreter {
    code: "",
    valued: "",
    has_modules: false,
    has_sub_commands: false,
    is_shell: false,
};

const SHELL: Interpreter = Interpreter {
    code: "c",
    valued: "oO",
    is_shell: true,
    ..PLAIN
};

const fn taking(code: &'static str, valued: &'static str) -> Interpreter {
    Interpreter { code, valued, ..PLAIN }
}

const SUB_COMMANDS: Interpreter = Interpreter {
    code: "ep",
    has_sub_commands: true,
    ..PLAIN
};

/// Their names without numbers behind.
#[rustfmt::skip]
const INTERPRETERS: &[(&str, Interpreter)] = &[
    (". ash bash csh dash elvish es fish ksh mksh nu oksh osh rbash rc rksh sh source tcsh xonsh yash zsh", SHELL),
    ("pypy python pythonw ipython", Interpreter { has_modules: true, ..taking("c", "QWX") }),
    ("node nodejs electron ts-node tsx nodemon", taking("ep", "Cr")),
    ("perl raku", taking("eE", "CDFIMVdimx")),
    ("ruby jruby irb", taking("e", "CEFIKTWirx")),
    ("php", taking("BERr", "Sdfcntz")),
    ("lua luajit", taking("e", "l")),
    ("r rscript julia", taking("eE", "L")),
    ("pwsh osascript expect elixir groovy scala guile racket sbcl clojure escript jshell", taking("ce", "")),
    ("busybox toybox dart crystal forever pm2", Interpreter { has_sub_commands: true, ..PLAIN }),
    ("bun deno", SUB_COMMANDS),
    ("bunx gdb lldb java javaw kotlin mono wine m4 tclsh wish ghci runghc runhaskell octave gnuplot swipl ocaml iex erl csi \
      gsi crontab insmod ansible-playbook ansible", PLAIN),
];
/// What the loaders of the system are called, at the beginning.
const LOADERS: &[&str] = &["ld-linux", "ld-musl", "ld.so", "ld64.so"];

/// Programs that run what their options name, or what stands behind a sub-command; of some only beside a sub-command. Options whose
/// names say it are in `naming`, whatever the program; they are here too where they may be cut short.
#[rustfmt::skip]
const BY_OPTION: &[(&str, &str, &str)] = &[
    ("awk gawk mawk nawk goawk", "", "-f --file -i --include -l --load -E --exec"),
    ("sed gsed ssed", "", "-f --file"),
    ("vi vim nvim gvim view ex", "", "-S -u -s -c --cmd -l"),
    ("emacs emacsclient", "", "-l --load --script --eval"),
    ("make gmake bmake", "", "-f --file --makefile -E --eval -I --include-dir"),
    ("tar bsdtar gtar", "", "-I -F --use-compress-program --to-command --checkpoint-action \
      --info-script --new-volume-script --rsh-command --rmt-command"),
    ("rsync", "", "-e --rsh --rsync-path"),
    ("split", "", "--filter"),
    ("sort", "", "--compress-program"),
    ("sftp", "", "-b"),
    ("git", "grep", "-O --open-files-in-pager"),
    ("git", "rebase", "--exec"),
    ("ssh scp sftp mosh autossh", "", "-F -o -S -I --ssh"),
    ("scp sftp", "", "-D -s"),
    ("c++ cc clang clang++ cpp g++ gcc gfortran ld ld.bfd ld.gold ld.lld", "", "-B -specs --specs -fplugin -wrapper -plugin --plugin \
      -iplugindir -fuse-ld --ld-path -Wl -Wa -Wp -Xlinker -Xassembler"),
    ("curl", "", "-K --config --engine"),
    ("wget", "", "-e --execute --config --use-askpass"),
    ("gpg gpg2 gpgsm", "", "--homedir --options --agent-program --dirmngr-program --keyboxd-program --photo-viewer"),
    ("npm pnpm yarn", "", "--prefix --userconfig --globalconfig --script-shell --node-options"),
    ("mariadb mysql mysqladmin mysqldump", "", "--defaults-file --defaults-extra-file --plugin-dir"),
    ("git", "", "-c --exec --extcmd --upload-pack --receive-pack --exec-path --template \
      --tree-filter --index-filter --msg-filter --env-filter --config"),
    ("git", "bisect", "run"),
    ("git", "submodule", "foreach"),
    ("git", "rebase", "-x"),
    ("git", "difftool", "-x"),
    ("at batch", "", "-f"),
    ("psql", "", "-f --file"),
    ("sqlite3", "", "-init --init"),
    ("tmux", "", "-f source source-file run run-shell"),
    ("screen", "", "-c"),
    ("openssl", "", "-engine -provider -provider-path -config"),
    ("dpkg", "", "-i --install"),
    ("rpm", "", "-i -U -Uvh -ivh --install --upgrade"),
    ("apt apt-get dnf yum zypper gem", "", "install"),
    ("launchctl", "", "load bootstrap"),
    ("man", "", "-P -H --pager --html"),
    ("zip", "", "-TT --unzip-command"),
    ("install", "", "--strip-program"),
    ("go", "", "-exec -toolexec -vettool"),
    ("systemctl", "", "link enable"),
    ("cargo", "", "--config"),
    ("nc ncat netcat", "", "-e -c --exec --sh-exec --lua-exec"),
    ("esbuild eslint prettier rollup stylelint vite webpack", "", "-c --config"),
    ("rake", "", "-f --rakefile -r --require -e --execute -E --execute-continue -p --execute-print"),
    ("ghc sbcl swift", "", "-e --eval --load"),
    ("just", "", "-f --justfile"),
    ("go-task task", "", "-t --taskfile -d --dir"),
    ("gradle gradlew", "", "-b --build-file -c --settings-file -I --init-script -p --project-dir"),
    ("bazel bazelisk", "", "--bazelrc --override_repository --override_module --run_under"),
    ("go", "", "run generate"),
    ("docker podman", "play", "kube"),
    ("brew pip pip3 pipx", "", "install reinstall"),
];

/// Programs that load modules or orders from the folder that they run in; of some only with one of these sub-commands, or with
/// a word of each of two lists.
const BY_FOLDER: &[(&str, &str, &str)] = &[
    (
        "ansible-playbook celery flask gunicorn hypercorn streamlit uvicorn",
        "",
        "",
    ),
    ("docker podman nerdctl", "build buildx bake stack", ""),
    // Of the others it is read only for the names of what runs already.
    ("docker podman nerdctl", "compose", OF_SERVICES),
    ("docker-compose podman-compose", OF_SERVICES, ""),
    ("run-parts", "", ""),
    ("node", "--test --run", ""),
    // Settings that name what is run from then on.
    ("aws", "configure", "set"),
    ("docker podman", "context", "create import use"),
    ("gh glab", "alias config", "set import"),
    ("gh helm kubectl", "extension plugin krew", "install"),
    ("kubectl oc", "config", "set set-context set-credentials"),
];
const OF_SERVICES: &str = "build create down publish run scale up watch";

/// Words between a wrapper and the command.
const BETWEEN: &str = "dlx exec record run stat trace x -exec -execdir -ok -okdir --";

/// More are not looked at.
const MOST_BEGINNINGS: usize = 64;

fn is_among(name: &str, names: &str) -> bool {
    names.split_ascii_whitespace().any(|known| known == name)
}

/// A program's name without its folder, in small letters, and without the numbers behind it.
fn names(program: &str) -> (String, String) {
    let base = program.rsplit('/').next().unwrap_or(program).to_lowercase();
    let bare = base
        .trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
        .to_owned();
    // That is all there is to the name of the dot.
    let bare = if bare.is_empty() { base.clone() } else { bare };
    (base, bare)
}

pub(super) fn interpreter(program: &str) -> Option<Interpreter> {
    let (base, bare) = names(program);
    if LOADERS.iter().any(|start| base.starts_with(start)) {
        return Some(PLAIN);
    }
    let mut rows = INTERPRETERS.iter();
    let row = rows.find(|(known, _)| is_among(&base, known) || is_among(&bare, known))?;
    Some(row.1)
}

/// The options by which a command names what it runs.
pub(super) fn options(words: &[String]) -> Vec<&'static str> {
    let Some((program, arguments)) = words.split_first() else {
        return Vec::new();
    };
    let (base, bare) = names(program);
    let rows = BY_OPTION.iter().filter(|(known, sub_command, _)| {
        (is_among(&base, known) || is_among(&bare, known))
            && (sub_command.is_empty() || arguments.iter().any(|word| word == sub_command))
    });
    rows.flat_map(|(.., options)| options.split_ascii_whitespace())
        .collect()
}

/// The first word of a command that takes letters without a sign in front, and the words behind it.
pub(super) fn bare_letters(words: &[String]) -> Option<(&str, &[String])> {
    let (program, arguments) = words.split_first()?;
    let (letters, rest) = arguments.split_first()?;
    let is_bare = letters.chars().all(|c| c.is_ascii_alphabetic());
    (is_among(&names(program).0, "tar bsdtar gtar") && is_bare).then_some((letters.as_str(), rest))
}

/// What a word gives an option, or a sub-command behind which all may be run. A long option may be cut short, and a letter may
/// stand among others.
pub(super) fn value_of(option: &str, word: &str, rest: &[String]) -> Option<String> {
    let next = rest.first().map(String::as_str);
    let value = if !option.starts_with('-') {
        return (word == option).then(|| rest.join(" "));
    } else if word == option {
        next
    } else if option.starts_with("--") {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        let fits = name.len() > 2 && option.starts_with(name);
        value.or(next).filter(|_| fits)
    } else if let Some(value) = word.strip_prefix(option).and_then(|rest| rest.strip_prefix(['=', ','])) {
        Some(value)
    } else {
        let bundle = word
            .strip_prefix('-')
            .filter(|rest| !rest.starts_with('-') && option.len() == 2)?;
        let at = bundle.find(&option[1..])?;
        Some(&bundle[at + 1..]).filter(|value| !value.is_empty()).or(next)
    };
    value.map(str::to_owned)
}

pub(super) fn loads_its_folder(words: &[String]) -> bool {
    let Some((program, arguments)) = words.split_first() else {
        return false;
    };
    let (base, _) = names(program);
    let has = |words: &str| words.is_empty() || arguments.iter().any(|word| is_among(word, words));
    let mut rows = BY_FOLDER.iter();
    rows.any(|(known, sub_commands, further)| is_among(&base, known) && has(sub_commands) && has(further))
}

/// Whether a program reads more of its words from the file behind an `@`.
pub(super) fn reads_words(program: &str) -> bool {
    const READING: &str =
        "ar c++ cc clang clang++ cpp g++ gcc gfortran java javac ld ld.bfd ld.gold ld.lld rustc swiftc";
    let (base, bare) = names(program);
    is_among(&base, READING) || is_among(bare.trim_end_matches('-'), READING)
}

pub(super) fn is_wrapper(program: &str) -> bool {
    is_starter(&names(program).0, Starts::Behind)
}

/// Whether a program puts words that nobody sees into the command behind it.
pub(super) fn completes(program: &str) -> bool {
    is_starter(&names(program).0, Starts::Completed)
}

/// The name and the value that a word sets.
pub(super) fn assigned(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let name = name.strip_suffix('+').unwrap_or(name);
    // As `systemd-run` takes it.
    let name = name
        .strip_prefix("-E")
        .or_else(|| name.strip_prefix("--setenv="))
        .unwrap_or(name);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!name.is_empty() && name.chars().all(is_name)).then_some((name, value))
}

/// Where commands may begin among the words of one: behind the variables that it sets, and behind each wrapper with its
/// options and their values.
pub(super) fn beginnings(words: &[String]) -> Vec<usize> {
    const SEARCHED: &[&str] = &[
        "-exec",
        "-execdir",
        "-ok",
        "-okdir",
        "-x",
        "-X",
        "--exec",
        "--exec-batch",
    ];
    let start = words.iter().take_while(|word| assigned(word).is_some()).count();
    let Some(program) = words.get(start) else {
        return Vec::new();
    };
    let mut found = vec![start];
    if !is_wrapper(program) {
        return found;
    }
    let mut is_open = true;
    for (at, word) in words.iter().enumerate().skip(start + 1) {
        let before = words[at - 1].as_str();
        // A search names what it runs behind an option of its own.
        let is_searched = SEARCHED.contains(&before);
        if !is_open && !is_searched {
            continue;
        }
        if found.len() >= MOST_BEGINNINGS {
            break;
        }
        // A search begins there, and nothing but a shell runs a file by that name.
        if word != "." || is_among(program, "builtin command time") {
            found.push(at);
        }
        is_open = word.starts_with(|c: char| c == '-' || c.is_ascii_digit())
            || word.contains(['/', '='])
            || before.starts_with('-') && !is_searched
            || is_among(word, BETWEEN)
            || is_wrapper(word);
    }
    found
}

/// What an option of an interpreter makes of the words behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Behind<'w> {
    Nothing,
    /// Its value, perhaps.
    Value,
    Code,
    Module,
    /// The same, in this very word.
    OwnCode(&'w str),
    OwnModule(&'w str),
}

impl Interpreter {
    /// What an option makes of what is behind it.
    pub(super) fn behind<'w>(&self, option: &'w str) -> Behind<'w> {
        const CODE: &[&str] = &[
            "--command",
            "--eval",
            "--expression",
            "--print",
            "-Command",
            "-EncodedCommand",
        ];
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, None),
        };
        if CODE.contains(&name) {
            return value.map_or(Behind::Code, Behind::OwnCode);
        }
        if option.starts_with("--") {
            return if value.is_some() {
                Behind::Nothing
            } else {
                Behind::Value
            };
        }
        for (at, letter) in option.char_indices().skip(1) {
            let rest = &option[at + letter.len_utf8()..];
            let is_module = self.has_modules && letter == 'm';
            if self.code.contains(letter) || is_module {
                // Letters of the same sort, or of a shell, say nothing else.
                let is_next = rest.chars().all(|letter| self.code.contains(letter)) || self.is_shell;
                return match (is_next, is_module) {
                    (true, false) => Behind::Code,
                    (true, true) => Behind::Module,
                    (false, false) => Behind::OwnCode(rest),
                    (false, true) => Behind::OwnModule(rest),
                };
            }
            if self.valued.contains(letter) {
                return if rest.is_empty() {
                    Behind::Value
                } else {
                    Behind::Nothing
                };
            }
        }
        // Of some it is not known which options have one.
        match self.valued {
            "" => Behind::Value,
            _ => Behind::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn what_an_option_makes_of_the_next_word() {
        for (program, option, expected) in [
            ("python3.12", "-c", Behind::Code),
            ("python3", "-Bc", Behind::Code),
            ("python3", "-cimport x", Behind::OwnCode("import x")),
            ("python3", "-m", Behind::Module),
            ("python3", "-mx", Behind::OwnModule("x")),
            ("python3", "-W", Behind::Value),
            ("python3", "-Wmessage", Behind::Nothing),
            ("python3", "-u", Behind::Nothing),
            ("bash", "-lc", Behind::Code),
            ("bash", "-ec", Behind::Code),
            ("bash", "-euo", Behind::Value),
            ("bash", "-e", Behind::Nothing),
            ("node", "-r", Behind::Value),
            ("node", "-pe", Behind::Code),
            ("node", "--eval=x", Behind::OwnCode("x")),
            ("node", "--import", Behind::Value),
            ("node", "--import=x", Behind::Nothing),
            ("perl", "-lane", Behind::Code),
            ("perl", "-Mfeature", Behind::Nothing),
            ("java", "-cp", Behind::Value),
        ] {
            let found = interpreter(program).expect("an interpreter");
            assert_eq!(found.behind(option), expected, "{program} {option}");
        }
        for program in ["/lib64/ld-linux-x86-64.so.2", ".", "Rscript", "/usr/bin/Python3.11"] {
            assert!(interpreter(program).is_some(), "{program}");
        }
        for program in ["ls", "git", "cargo", "npm", "2", ""] {
            assert!(interpreter(program).is_none(), "{program}");
        }
    }

    #[test]
    fn where_commands_begin() {
        for (text, expected) in [
            ("bash x", &[0][..]),
            ("env -C d sh x", &[0, 1, 2, 3]),
            ("timeout 5 bash x", &[0, 1, 2]),
            ("sudo apt install ruby", &[0, 1]),
            ("command . x", &[0, 1]),
            ("find . -name x -exec grep sh {} ;", &[0, 5]),
            ("A=1 B=2 env C=3 sh x", &[2, 3, 4]),
            ("A=1", &[]),
            ("xargs -a f sh", &[0, 1, 2, 3]),
            ("git log", &[0]),
        ] {
            assert_eq!(beginnings(&words(text)), expected, "{text}");
        }
    }

    #[test]
    fn options_and_folders() {
        assert!(options(&words("git bisect run x")).contains(&"run"));
        assert!(!options(&words("git clean -x a")).contains(&"-x"));
        assert!(options(&words("/usr/bin/gawk -f x")).contains(&"-f"));
        assert!(options(&words("cp a b")).is_empty());
        for (option, text, expected) in [
            ("--exec", "--exec x y", Some("x")),
            ("--exec", "--exec=x y", Some("x")),
            ("--exec", "--ex=x y", Some("x")),
            ("--exec", "--executable x", None),
            ("-f", "-f x", Some("x")),
            ("-f", "-vfx y", Some("x")),
            ("-f", "-vf x", Some("x")),
            ("-f", "--f x", None),
            ("-TT", "-TT x", Some("x")),
            ("-fplugin", "-fplugin=x y", Some("x")),
            ("-fplugin", "-fplugins=x y", None),
            ("run", "run x y", Some("x y")),
            ("run", "runs x y", None),
        ] {
            let words = words(text);
            assert_eq!(
                value_of(option, &words[0], &words[1..]).as_deref(),
                expected,
                "{option} {text}"
            );
        }
        assert!(bare_letters(&words("tar cIf x")).is_some() && bare_letters(&words("tar -cf x")).is_none());
        assert!(loads_its_folder(&words("docker compose up")) && !loads_its_folder(&words("docker ps")));
    }
}
