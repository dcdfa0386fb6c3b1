//! What commands that do more than read are for, in a word and in words.

use super::base_name;
use super::judgement::Kind;
use std::collections::HashSet;
use std::sync::LazyLock;

/// Programs of one purpose each.
#[rustfmt::skip]
const PROGRAMS: &[(Kind, &str)] = &[
    (Kind::Test, "pytest py.test nosetests nose2 tox nox jest vitest mocha ava karma cypress playwright rspec minitest phpunit ctest prove bats busted cucumber behave gotestsum cargo-nextest testem"),
    (Kind::Build, "gcc g++ cc c++ clang clang++ rustc ghc javac kotlinc scalac swiftc tsc webpack rollup vite esbuild parcel turbo nx ninja bazel buck buck2 meson cmake configure autoreconf autoconf automake scons ant sbt lein msbuild xcodebuild ld as ar protoc dotnet-build gmake nmake"),
    (Kind::Format, "rustfmt gofmt goimports gofumpt prettier black isort autopep8 yapf clang-format shfmt stylua ktlint standard dprint taplo sqlfluff"),
    (Kind::Install, "apt apt-get aptitude dnf yum pacman zypper apk brew port snap flatpak dpkg rpm pip pip3 pipx conda mamba gem cpan luarocks nix-env opam easy_install choco winget scoop"),
    (Kind::Network, "curl wget ssh scp sftp rsync ftp nc ncat netcat telnet ping ping6 traceroute tracepath mtr dig nslookup host whois http https xh aria2c lynx socat nmap openssl mosh gh glab aws gcloud az"),
    (Kind::Vcs, "git hg svn jj bzr fossil cvs"),
    (Kind::Delete, "rm rmdir unlink shred srm rimraf trash trash-put wipe"),
    (Kind::Write, "cp mv ln mkdir touch tee install dd truncate chmod chown chgrp setfacl setfattr mktemp mkfifo mknod patch split csplit tar zip unzip gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd 7z ed ex sed perl-rename rename xxd uniq sort"),
    (Kind::Run, "bash sh zsh dash ksh fish python python2 python3 node nodejs deno bun ruby perl php lua java awk gawk mawk osascript pwsh Rscript julia eval source . exec"),
];

/// Programs whose first word says what they are for.
#[rustfmt::skip]
const COMMANDS: &[(&str, Kind, &str)] = &[
    ("cargo", Kind::Test, "test t nextest bench miri"),
    ("cargo", Kind::Build, "build b check c clippy doc d rustc run r watch clean expand llvm-cov"),
    ("cargo", Kind::Format, "fmt fix"),
    ("cargo", Kind::Install, "add install remove uninstall update fetch vendor upgrade"),
    ("cargo", Kind::Network, "publish yank login owner"),
    ("npm pnpm yarn bun", Kind::Test, "test t tst"),
    ("npm pnpm yarn bun", Kind::Install, "install i ci add remove rm uninstall un update up upgrade link dedupe prune import"),
    ("npm pnpm yarn bun", Kind::Build, "build pack rebuild"),
    ("npm pnpm yarn bun", Kind::Network, "publish unpublish deprecate"),
    ("go", Kind::Test, "test"),
    ("go", Kind::Build, "build run generate clean"),
    ("go", Kind::Format, "fmt fix"),
    ("go", Kind::Install, "get install mod work"),
    ("make gmake just task rake mage", Kind::Test, "test tests check unittest t"),
    ("make gmake just task rake mage", Kind::Format, "fmt format"),
    ("make gmake just task rake mage", Kind::Install, "install deps"),
    ("mvn mvnw gradle gradlew sbt", Kind::Test, "test verify check"),
    ("mvn mvnw gradle gradlew sbt", Kind::Build, "compile package build assemble install clean jar"),
    ("dotnet", Kind::Test, "test"),
    ("dotnet", Kind::Build, "build run publish clean"),
    ("dotnet", Kind::Format, "format"),
    ("dotnet", Kind::Install, "add restore remove"),
    ("swift zig mix stack cabal dune rebar3 dart flutter bazel xcodebuild nx turbo deno", Kind::Test, "test runtest check"),
    ("swift zig mix stack cabal dune rebar3 dart flutter bazel deno", Kind::Build, "build compile run"),
    ("swift zig mix dart flutter deno", Kind::Format, "format fmt"),
    ("python python3 python2", Kind::Test, "-mpytest -munittest"),
    ("uv poetry pdm pipenv", Kind::Install, "add install sync lock remove update pip"),
    ("docker podman", Kind::Build, "build buildx compose"),
    ("docker podman", Kind::Network, "pull push login"),
    ("ruff", Kind::Format, "format"),
    ("terraform tofu pulumi", Kind::Network, "plan apply destroy init import refresh"),
];

/// What a command is for, and what it does in words.
pub(super) fn describe(argv: &[String]) -> (Kind, String) {
    let Some((program, arguments)) = argv.split_first() else {
        return (Kind::Other, "does something that cannot be told".to_owned());
    };
    let name = base_name(program).trim_end_matches(".exe");
    let kind = kind_of(name, arguments);
    let verb = arguments
        .iter()
        .find(|word| !word.starts_with('-') && !word.starts_with('+'))
        .map(String::as_str);
    let words = match kind {
        Kind::Test => format!("runs the tests with {name}"),
        Kind::Build if matches!(verb, Some("run" | "r")) => format!("builds and runs the program with {name}"),
        Kind::Build if matches!(verb, Some("clean")) => format!("deletes what was built, with {name}"),
        Kind::Build if matches!(verb, Some("check" | "c" | "clippy")) => format!("checks the code with {name}"),
        Kind::Build => format!("builds with {name}"),
        Kind::Format => format!("formats or fixes the code with {name}"),
        Kind::Install => match verb.filter(|verb| verb.len() < 20) {
            Some(verb) => format!("changes what is installed ({name} {verb})"),
            None => format!("changes what is installed ({name})"),
        },
        Kind::Network => format!("uses the network ({name})"),
        Kind::Vcs => match verb.filter(|verb| verb.len() < 20) {
            Some(verb) => format!("runs `{name} {verb}`"),
            None => format!("runs `{name}`"),
        },
        Kind::Delete => "deletes files".to_owned(),
        Kind::Write => format!("changes files ({name})"),
        Kind::Run => match arguments.iter().find(|word| !word.starts_with('-')) {
            Some(_)
                if arguments
                    .iter()
                    .any(|word| matches!(word.as_str(), "-c" | "-e" | "--eval" | "-E")) =>
            {
                format!("runs program text with {name}")
            }
            Some(script) if script.len() < 80 => format!("runs {script} with {name}"),
            _ => format!("runs {name}"),
        },
        _ if name.is_empty() => "does something that cannot be told".to_owned(),
        _ => format!("runs {name}"),
    };
    (kind, words)
}

/// Whether a program of this name is known.
pub(super) fn is_known(name: &str) -> bool {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let (programs, commands) = &*ALL;
    programs.contains(name) || programs.contains(bare) || commands.contains(name)
}

/// All names, of the two tables: a command may have thousands of words, and each may be one.
static ALL: LazyLock<(HashSet<&str>, HashSet<&str>)> = LazyLock::new(|| {
    let programs = PROGRAMS.iter().flat_map(|(_, names)| names.split_ascii_whitespace());
    let commands = COMMANDS.iter().flat_map(|(names, ..)| names.split_ascii_whitespace());
    (programs.collect(), commands.collect())
});

fn is_among(name: &str, names: &str) -> bool {
    names.split_ascii_whitespace().any(|known| known == name)
}

fn kind_of(name: &str, arguments: &[String]) -> Kind {
    let mut words = arguments
        .iter()
        .map(String::as_str)
        .filter(|word| !word.starts_with('+'));
    let mut verb = words.clone().find(|word| !word.starts_with('-')).unwrap_or_default();
    // `npm run test:unit` is for what its script is named after.
    if is_among(name, "npm pnpm yarn bun") {
        if matches!(verb, "run" | "run-script") {
            verb = words
                .clone()
                .filter(|word| !word.starts_with('-'))
                .nth(1)
                .unwrap_or_default();
        }
        let stem = verb.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        match stem {
            "test" | "tests" | "e2e" | "spec" | "coverage" => return Kind::Test,
            "build" | "compile" | "bundle" | "typecheck" | "lint" | "tsc" => return Kind::Build,
            "format" | "fmt" | "prettier" => return Kind::Format,
            _ => {}
        }
    }
    if name.starts_with("python") && words.next() == Some("-m") {
        return match words.next() {
            Some("pytest" | "unittest" | "tox" | "nose" | "doctest") => Kind::Test,
            Some("build" | "compileall" | "mypy") => Kind::Build,
            Some("black" | "isort" | "ruff") => Kind::Format,
            Some("pip" | "venv" | "ensurepip") => Kind::Install,
            _ => Kind::Run,
        };
    }
    match name {
        "make" | "gmake" | "just" | "rake" | "task" if verb.contains("test") => return Kind::Test,
        "eslint" | "ruff" | "rubocop" | "biome" | "golangci-lint"
            if arguments
                .iter()
                .any(|word| word.starts_with("--fix") || word == "-a" || word == "--write") =>
        {
            return Kind::Format;
        }
        "eslint" | "ruff" | "rubocop" | "biome" | "golangci-lint" | "mypy" | "pyright" | "flake8" | "pylint"
        | "shellcheck" | "stylelint"
            if verb != "format" =>
        {
            return Kind::Build;
        }
        "cmake" if arguments.iter().any(|word| word == "--build") => return Kind::Build,
        _ => {}
    }
    if let Some((_, kind, _)) = COMMANDS
        .iter()
        .find(|(names, _, verbs)| is_among(name, names) && is_among(verb, verbs))
    {
        return *kind;
    }
    if is_among(name, "make gmake ninja just rake mvn mvnw gradle gradlew bazel sbt zig") {
        return Kind::Build;
    }
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let by_name = |name: &str| {
        PROGRAMS
            .iter()
            .find(|(_, names)| is_among(name, names))
            .map(|(kind, _)| *kind)
    };
    by_name(name).or_else(|| by_name(bare)).unwrap_or(Kind::Other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_by_table() {
        for (line, kind) in [
            ("cargo test --lib", Kind::Test),
            ("cargo +nightly test", Kind::Test),
            ("cargo build", Kind::Build),
            ("cargo fmt", Kind::Format),
            ("cargo add serde", Kind::Install),
            ("npm test", Kind::Test),
            ("npm run test:unit", Kind::Test),
            ("npm run build", Kind::Build),
            ("npm install", Kind::Install),
            ("make", Kind::Build),
            ("make -j4 test", Kind::Test),
            ("python3 -m pytest -q", Kind::Test),
            ("python3.12 x.py", Kind::Run),
            ("pytest", Kind::Test),
            ("go test ./...", Kind::Test),
            ("ruff check --fix", Kind::Format),
            ("git commit -m x", Kind::Vcs),
            ("rm x", Kind::Delete),
            ("cp a b", Kind::Write),
            ("curl https://x", Kind::Network),
            ("apt-get install x", Kind::Install),
            ("frobnicate", Kind::Other),
        ] {
            let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(describe(&argv).0, kind, "{line}");
        }
        let words = |line: &str| describe(&line.split(' ').map(str::to_owned).collect::<Vec<_>>()).1;
        assert_eq!(words("cargo test"), "runs the tests with cargo");
        assert_eq!(words("python3 tool.py x"), "runs tool.py with python3");
        assert_eq!(words("git commit -m x"), "runs `git commit`");
        assert_eq!(words("rm x"), "deletes files");
    }
}
