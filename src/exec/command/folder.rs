//! Programs that run what files of their folder say: whoever can write those says what runs.

use super::{base_name, judge};
use std::path::Path;

/// Their names, without numbers behind.
#[rustfmt::skip]
const BY_FOLDER: &[&str] = &[
    "ant", "bazel", "bazelisk", "buck2", "bun", "bundle", "cabal", "cargo", "cmake", "composer", "ctest", "deno", "docker-compose",
    "dotnet", "dune", "eslint", "gmake", "go", "gradle", "gradlew", "grunt", "gulp", "hatch", "invoke", "jest", "just", "lein", "make",
    "meson", "mise", "mix", "mocha", "mvn", "mvnw", "nim", "ninja", "nox", "npm", "npx", "nx", "pdm", "pip", "pipenv", "pnpm", "pnpx",
    "poetry", "pre-commit", "py.test", "pytest", "rake", "rebar", "rspec", "rush", "sbt", "scons", "stack", "swift", "task", "terraform",
    "tofu", "tox", "tsc", "turbo", "uv", "uvx", "vagrant", "vite", "vitest", "waf", "webpack", "xcodebuild", "yarn", "zig",
];

/// The first program of a command that runs what files of its folder say, by its name.
pub fn runs_what_the_folder_says(argv: &[String]) -> Option<String> {
    let parts = judge(argv, Path::new("/")).parts;
    let programs = parts.iter().filter_map(|part| part.argv.first());
    let own = argv.first().into_iter().chain(programs);
    let mut names = own.map(|program| base_name(program));
    names
        .find(|name| BY_FOLDER.contains(&name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_table() {
        for (text, expected) in [
            ("make test", Some("make")),
            ("cd x && npm run build", Some("npm")),
            ("timeout 5 /usr/bin/cargo test 2>&1 | tail", Some("cargo")),
            ("pip3.12 install .", Some("pip3.12")),
            ("sh -c 'pytest x'", Some("pytest")),
            ("git push", None),
            ("echo make", None),
            ("", None),
        ] {
            let argv = ["bash", "-c", text].map(str::to_owned);
            assert_eq!(runs_what_the_folder_says(&argv).as_deref(), expected, "{text}");
        }
    }
}
