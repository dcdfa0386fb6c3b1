//! Programs that run what files of their folder say: whoever can write those says what runs.

use super::{base_name, judge};
use std::path::Path;

/// Their names, without numbers behind.
#[rustfmt::skip]
const BY_FOLDER: &[&str] = &[
    "alembic", "ansible", "ansible-playbook", "ant", "astro", "ava", "bazel", "bazelisk", "behave", "brunch", "buck2", "bun", "bundle",
    "busted", "cabal", "cap", "capistrano", "cargo", "cdk", "celery", "cmake", "commitlint", "composer", "ctest", "cucumber", "cypress",
    "dart", "deno", "django-admin", "docker-compose", "dotnet", "dune", "earthly", "ember", "eslint", "expo", "fastlane", "flake8",
    "flutter", "gatsby", "gmake", "go", "golangci-lint", "gradle", "gradlew", "grunt", "gulp", "gunicorn", "hardhat", "hatch", "helmfile",
    "husky", "invoke", "jekyll", "jest", "just", "karma", "lage", "lefthook", "lein", "lerna", "lint-staged", "luacheck", "make",
    "maturin", "meson", "mise", "mix", "mkdocs", "mocha", "moon", "mvn", "mvnw", "mypy", "next", "ng", "nim", "ninja", "nox", "npm",
    "npx", "nuxt", "nx", "packer", "parcel", "pdm", "phpstan", "phpunit", "pip", "pipenv", "playwright", "pnpm", "pnpx", "pod", "poetry",
    "postcss", "pre-commit", "prettier", "psalm", "pulumi", "py.test", "pylint", "pytest", "rails", "rake", "react-scripts", "rebar",
    "rector", "remix", "rollup", "rsbuild", "rspack", "rspec", "rubocop", "rush", "sbt", "scons", "serverless", "skaffold", "sls",
    "sphinx-build", "stack", "storybook", "stylelint", "sv", "swift", "tailwindcss", "task", "terraform", "tilt", "tofu", "tox", "tsc",
    "tsup", "turbo", "typedoc", "uv", "uvicorn", "uvx", "vagrant", "vite", "vitest", "waf", "wasm-pack", "webpack", "wireit",
    "xcodebuild", "yarn", "zig",
];

/// The first program of a command that runs what files of its folder say, by its name.
pub fn runs_what_the_folder_says(argv: &[String]) -> Option<String> {
    let parts = judge(argv, Path::new("/")).parts;
    let programs = parts.iter().filter_map(|part| part.argv.first());
    let own = argv.first().into_iter().chain(programs);
    let mut names = own.map(|program| base_name(program));
    let is_known = |name: &&str| BY_FOLDER.contains(name);
    names
        .find(|name| is_known(name) || is_known(&name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_table() {
        for (text, expected) in [
            ("make test", Some("make")),
            ("prettier --check .", Some("prettier")),
            ("flake8 src", Some("flake8")),
            ("cd web && next build", Some("next")),
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
