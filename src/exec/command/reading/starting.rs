//! Programs that only read by their arguments, and start others that the folder names in which they run: what its repository
//! is configured with, the tool chain that it asks for, plug-ins that lie in it. Behind walls that harms nobody. Without
//! walls such a command is not called reading: whoever wrote the folder would be the one who runs.

//!
//! Which programs read without walls, too, is a list of its own: whoever is not on it may load code or reach others, as far
//! as is known.

use crate::exec::command::word::Word;

/// Names, a word that has to be among the arguments (any if empty), and what may be started.
#[rustfmt::skip]
const STARTING: &[(&str, &str, &str)] = &[
    ("git cloc git-lfs", "", "what the repository's configuration names (core.fsmonitor, textconv, filters, signature programs)"),
    ("gh glab", "", "git, and with it what the repository's configuration names"),
    ("hg", "", "extensions that the repository's configuration names"),
    ("cargo rustc rustfmt rustup", "", "the tool chain that the folder names (rust-toolchain.toml, .cargo/config.toml)"),
    ("npm npx pnpm yarn bun tsc", "", "what the folder's configuration names (.npmrc, .yarnrc.yml, .pnpmfile.cjs)"),
    ("node nodejs deno python python2 python3 pip pip3 ruby gem java javac scala php perl", "", "the version that the folder names (.tool-versions)"),
    ("uv poetry mypy pylint pytest pre-commit conda mamba ansible", "", "the interpreter or plug-ins that lie in the folder"),
    ("go", "", "the tool chain that go.mod names, and git with what the repository's configuration names"),
    ("bundle rake composer", "", "plug-ins that lie in the folder"),
    ("gradle mvn ant bazel meson flutter dart swift zig", "", "what the folder's configuration names (.mvn, tools/bazel, gradle.properties)"),
    ("terraform tofu", "", "providers that lie in the folder (.terraform)"),
    ("dotnet", "", "the kit that the folder names (global.json)"),
    ("asdf mise", "", "what the folder's configuration names"),
    ("docker podman", "compose", "git, for parts of the project that lie elsewhere"),
];

/// Programs that, when they only read, load no code, start no other program and reach nobody.
#[rustfmt::skip]
const PLAIN: &[&str] = &[
    "cat head tac tail nl cut fold fmt rev paste join expand unexpand pr od hexdump hd strings xxd",
    "wc cksum sum md5sum md5 sha1sum sha224sum sha256sum sha384sum sha512sum b2sum b3sum",
    "column colrm tsort tr sort uniq comm cmp diff jq base64 base32 basenc sed gsed awk gawk mawk nawk numfmt seq shuf expr factor",
    "grep egrep fgrep rg find gfind fd fdfind which whereis",
    "ls dir vdir gls tree du df stat file basename dirname realpath readlink pathchk",
    "uname arch nproc lscpu free uptime whoami id groups tty logname ps pgrep pidof pstree",
    "date gdate cal ncal printenv env sleep",
];

/// Commands of the shell itself, which stand in no folder.
const OF_THE_SHELL: &str = "echo true false : cd pushd popd dirs times pwd printf test [ type exit return break continue shift read export \
                            local readonly unset set wait umask ulimit";

/// Whether a program that only reads does so without walls, too.
pub(super) fn is_plain(name: &str) -> bool {
    is_of_the_shell(name) || PLAIN.iter().any(|names| super::is_among(name, names))
}

/// Whether this is a command of the shell itself.
pub(in crate::exec::command) fn is_of_the_shell(name: &str) -> bool {
    super::is_among(name, OF_THE_SHELL)
}

/// What a program may start that the folder names in which it runs.
pub(super) fn starts(name: &str, arguments: &[Word]) -> Option<&'static str> {
    let fits = |(names, word, _): &&(&str, &str, &str)| {
        super::is_among(name, names) && (word.is_empty() || arguments.iter().any(|given| given.text == *word))
    };
    STARTING.iter().find(fits).map(|(.., what)| *what)
}
