//! The code that the command line of a program outside the sandbox leads to: files that it names, folders out of which those
//! load more, and what launchers take from the folder that they start in.

use super::named::{self, ends_in, is_path};
use super::program;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Stands behind a folder, for all the code in it.
pub const ALL: &str = "*";

/// Endings of more that holds no program.
const MORE_DATA: &[&str] = &[
    "css", "htm", "html", "ico", "jsonl", "ndjson", "pid", "sock", "swp", "webp",
];
/// Beginnings of the names of JSON that says what is loaded.
const MANIFESTS_OF_JSON: &[&str] = &[
    "bun",
    "composer",
    "deno",
    "import",
    "jsconfig",
    "npm-shrinkwrap",
    "package",
    "project",
    "tsconfig",
];
/// What lies at the top of a project whose parts load each other.
#[rustfmt::skip]
const MANIFESTS: &[&str] = &[
    "Cargo.toml", "Gemfile", "Pipfile", "build.gradle", "composer.json", "deno.json", "deno.jsonc", "go.mod",
    "mix.exs", "package.json", "pom.xml", "pyproject.toml", "requirements.txt", "setup.cfg", "setup.py",
];
/// What launchers of packages read in the folder that they start in and above.
#[rustfmt::skip]
const SETTINGS: &[&str] = &[
    ".npmrc", ".pnp.cjs", ".pnpmfile.cjs", ".python-version", ".tool-versions", ".yarnrc", ".yarnrc.yml",
    "bunfig.toml", "package.json", "pnpm-workspace.yaml", "pyproject.toml", "uv.toml",
];

/// Programs that run a file or a folder that is named behind them. Names are without numbers behind.
const INTERPRETERS: &str = "ash bash bun dash deno electron fish java ksh lua luajit node nodejs nodemon osascript perl php \
    pwsh pypy python pythonw ruby sh ts-node tsx zsh";
/// Those of them that look for packages in the folder that they start in.
const OF_NODE: &str = "bun deno electron node nodejs nodemon ts-node tsx";
/// Endings of scripts for them.
const OF_NODE_ENDS: &[&str] = &["cjs", "cts", "js", "jsx", "mjs", "mts", "ts", "tsx"];
/// Launchers of packages: of the folder they use settings and packages that are installed there.
const FETCHING: &str = "bunx npx pipx pnpx uvx";
/// The same as a sub-command of another program.
const FETCHING_BY: &[(&str, &str)] = &[
    ("npm", "exec x"),
    ("pnpm", "dlx"),
    ("yarn", "dlx"),
    ("uv", "tool"),
    ("bun", "x"),
];
/// Programs that load code, or what says what runs, from the folder that they start in.
const BY_FOLDER: &str = "ant bazel bun bundle cargo celery composer deno docker-compose dotnet fastmcp flask go gradle \
    gradlew gunicorn hatch hypercorn invoke java julia just lein lua luajit make mcp mise mix mvn mvnw nox npm nx pdm pipenv \
    pixi pnpm poetry r rake rscript rye sbt streamlit swift task ts-node tsx turbo uv uvicorn yarn zig";
/// Options behind which stands what an interpreter takes from the folder that it starts in, and which end its own words.
const MODULES: &[&str] = &["-c", "-e", "-m", "--eval"];
/// Options of interpreters that load what is named behind them, before the program itself.
const LOADING: &[&str] = &[
    "--env-file",
    "--experimental-loader",
    "--import",
    "--loader",
    "--preload",
    "--require",
    "-C",
    "-I",
    "-M",
    "-W",
    "-X",
    "-cp",
    "-r",
];
/// Options behind which stands no value.
#[rustfmt::skip]
const FLAGS: &[&str] = &[
    "--", "--allow-all", "--enable-source-maps", "--isolated", "--no-warnings", "--offline", "--quiet", "--silent",
    "--verbose", "--yes", "-A", "-B", "-E", "-I", "-O", "-S", "-b", "-i", "-jar", "-q", "-s", "-u", "-v", "-y",
];
const SUB_COMMANDS: &[&str] = &["dlx", "exec", "run", "start", "task", "tool", "x"];
/// Options that name the folder in which something runs, or a file in it.
#[rustfmt::skip]
const FOLDERS: &[&str] = &[
    "-C", "-D", "--chdir", "--cwd", "--directory", "--dir", "--from", "--manifest-path", "--prefix", "--project",
    "--project-directory", "--working-directory", "cd",
];
/// What a part of an option's name says of the file behind it: it changes with the work.
#[rustfmt::skip]
const OF_THE_WORK: &[&str] = &[
    "cache", "cookies", "data", "database", "db", "history", "log", "logs", "memory", "out", "output", "report",
    "session", "sessions", "state", "storage", "store",
];

/// The code that a command line leads to and that commands of the agent, or other users, can change: files, also those that
/// are not there yet, and, behind a folder, `*` ([`ALL`]) for the code in it. Relative names count from `cwd` and from the
/// folders that the command line goes to.
pub fn led_to(argv: &[String], cwd: &Path, env: &BTreeMap<String, String>) -> BTreeSet<PathBuf> {
    let mut found = Found {
        env,
        paths: BTreeSet::new(),
    };
    if let Some(program) = argv.first() {
        found.code(&at(program, cwd, env));
    }
    let commands = commands(argv);
    let mut folders = vec![cwd.to_owned()];
    for words in &commands {
        for folder in entered(words, cwd, env) {
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
    }
    for folder in &folders {
        for words in &commands {
            found.named(words, folder);
            found.loaded(words, folder);
        }
        found.by_variables(folder);
    }
    found.paths
}

/// Whether a file in a folder of code holds none.
pub fn is_data(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase());
    let name = name.unwrap_or_default();
    let begins = |names: &[&str]| names.iter().any(|start| name.starts_with(start));
    if ends_in(path, &["json", "jsonc", "json5"]) {
        return !begins(MANIFESTS_OF_JSON);
    }
    named_data(path)
}

/// The same of a file that a command line names: JSON may be its configuration.
fn named_data(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase());
    // What packages are installed.
    let is_list = name.is_some_and(|name| name.contains("requirements") || name.contains("constraints"));
    !is_list && (ends_in(path, named::DATA) || ends_in(path, MORE_DATA))
}

/// The command line, and those that are written in the text of a shell.
fn commands(argv: &[String]) -> Vec<Vec<String>> {
    let mut all = vec![argv.to_vec()];
    let texts = argv.iter().skip(1);
    for text in texts.filter(|text| text.contains(char::is_whitespace) && !text.starts_with('{')) {
        let commands = text.split([';', '&', '|', '\n', '(', ')', '`']);
        let words = |command: &str| -> Vec<String> {
            let words = command.split(|c: char| c.is_whitespace() || "\"'<>".contains(c));
            words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
        };
        all.extend(commands.map(words).filter(|words| !words.is_empty()));
    }
    all
}

/// The folders that the options of a command go to.
fn entered(words: &[String], cwd: &Path, env: &BTreeMap<String, String>) -> Vec<PathBuf> {
    let value = |(place, word): (usize, &String)| {
        let (option, value) = match word.split_once('=') {
            Some((option, value)) => (option, value),
            None => (word.as_str(), words.get(place + 1).map_or("", String::as_str)),
        };
        let attached = word.strip_prefix("-C").filter(|value| is_path(value));
        let value = attached.or_else(|| FOLDERS.contains(&option).then_some(value))?;
        let path = at(value, cwd, env);
        match path.is_dir() {
            true => Some(path),
            false => path.parent().filter(|_| path.is_file()).map(Path::to_owned),
        }
    };
    words.iter().enumerate().filter_map(value).collect()
}

/// A program's name without its folder, its ending and the numbers behind it.
fn name_of(word: &str) -> String {
    let base = word.rsplit(['/', '\\']).next().unwrap_or(word).to_lowercase();
    let base = base
        .strip_suffix(".exe")
        .or_else(|| base.strip_suffix(".cmd"))
        .unwrap_or(&base);
    base.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
        .to_owned()
}

fn is_among(name: &str, names: &str) -> bool {
    names.split_ascii_whitespace().any(|known| known == name)
}

fn is_option(word: &str) -> bool {
    word.starts_with('-') && word.len() > 1
}

/// The path that a word is, without steps that lead nowhere.
fn at(word: &str, folder: &Path, env: &BTreeMap<String, String>) -> PathBuf {
    named::at(word, folder, env).components().collect()
}

/// What a word may name: itself, what stands behind an option, or several paths in one.
fn values(word: &str) -> impl Iterator<Item = &str> {
    let own = (!is_option(word)).then_some(word);
    let behind_letter = word.get(2..).filter(|_| is_option(word) && !word.starts_with("--"));
    let behind_sign = word.split_once('=').map(|(_, value)| value);
    let whole = [own, behind_letter, behind_sign].into_iter().flatten();
    let parts = behind_sign
        .or(own)
        .into_iter()
        .flat_map(|value| value.split([':', ',']));
    whole.chain(parts).filter(|value| !value.is_empty())
}

/// Whether an option says that the file behind it changes with the work.
fn is_of_the_work(option: &str) -> bool {
    let option = option.split('=').next().unwrap_or(option);
    is_option(option)
        && option
            .split(['-', '_', '.'])
            .any(|part| OF_THE_WORK.contains(&part.to_lowercase().as_str()))
}

struct Found<'a> {
    env: &'a BTreeMap<String, String>,
    paths: BTreeSet<PathBuf>,
}

impl Found<'_> {
    fn is_open(&self, path: &Path) -> bool {
        program::is_open(path, self.env)
    }

    /// A file that is run or loaded, with what runs it and what it may load.
    fn code(&mut self, path: &Path) {
        let run_by = program::interpreters(path, Path::new("/"), Some(self.env));
        for path in std::iter::once(path.to_owned()).chain(run_by) {
            if path.is_dir() {
                self.tree(&path);
            } else if path.is_file() && self.is_open(&path) {
                let real = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
                for path in [&path, &real] {
                    self.around(path);
                }
                self.paths.insert(path);
            }
        }
    }

    /// The folders from which a file loads others.
    fn around(&mut self, path: &Path) {
        let Some(folder) = path.parent() else { return };
        if named::is_script(path) {
            let root = self.root(folder);
            self.tree(&root);
            // Packages are looked for in each folder above, too.
            if ends_in(path, OF_NODE_ENDS) {
                self.installed(folder);
            }
        }
        // An interpreter of an environment loads what is installed in that, of which the project around it may be a part.
        if let Some(environment) = folder.parent().filter(|above| above.join("pyvenv.cfg").is_file()) {
            let root = self.root(environment);
            self.tree(&root);
        }
    }

    /// The project that a folder belongs to, as far as commands can write it.
    fn root(&self, folder: &Path) -> PathBuf {
        let mut open = folder.ancestors().take_while(|above| self.is_open(above));
        let root = open.find(|above| MANIFESTS.iter().any(|name| above.join(name).exists()));
        root.unwrap_or(folder).to_owned()
    }

    fn tree(&mut self, folder: &Path) {
        if self.is_open(folder) {
            self.paths.insert(folder.join(ALL));
        }
    }

    /// Files that a command names.
    fn named(&mut self, words: &[String], folder: &Path) {
        let mut before = "";
        for word in words {
            let is_of_the_work = is_of_the_work(if is_option(word) { word } else { before });
            for value in values(word).filter(|value| !value.contains("://")) {
                let path = at(value, folder, self.env);
                let is_plain = is_path(value) && !value.contains(char::is_whitespace) || path.is_file();
                if !is_plain || path.is_dir() || !self.is_open(&path) {
                    continue;
                }
                if named::is_code(&path) {
                    self.code(&path);
                } else if !is_of_the_work && !named_data(&path) {
                    self.paths.insert(path);
                }
            }
            before = word;
        }
    }

    /// What the programs of a command take from a folder, or from those behind them.
    fn loaded(&mut self, words: &[String], folder: &Path) {
        for (place, word) in words.iter().enumerate() {
            let (name, behind) = (name_of(word), &words[place + 1..]);
            let has = |names: &str| behind.iter().any(|word| is_among(word, names));
            let is_fetching =
                is_among(&name, FETCHING) || FETCHING_BY.iter().any(|(program, by)| name == *program && has(by));
            let is_interpreter = is_among(&name, INTERPRETERS);
            let builds = matches!(name.as_str(), "docker" | "podman") && has("bake build buildx compose stack");
            let is_by_folder = !is_fetching && is_among(&name, BY_FOLDER) || builds;
            if is_by_folder {
                let root = self.root(folder);
                self.tree(&root);
            }
            if is_fetching {
                self.installed(folder);
            }
            if is_interpreter {
                self.by_options(&name, behind, folder);
            }
            if is_by_folder || is_fetching || is_interpreter {
                self.run(behind, folder, is_fetching, is_interpreter);
            }
        }
    }

    /// What options of an interpreter take from the folder that it starts in.
    fn by_options(&mut self, name: &str, behind: &[String], folder: &Path) {
        let is_python = name.starts_with("py");
        for word in behind {
            let is_bundle = is_option(word) && !word.starts_with("--");
            if is_python && is_bundle && word.contains(['c', 'm']) {
                let root = self.root(folder);
                self.tree(&root);
            }
            let option = word.split('=').next().unwrap_or(word);
            if is_among(name, OF_NODE) && (LOADING.contains(&option) || MODULES.contains(&option)) {
                self.installed(folder);
            }
        }
    }

    /// The file or the folder that is run by the program in front of these words.
    fn run(&mut self, words: &[String], folder: &Path, is_fetching: bool, is_interpreter: bool) {
        const ENDS: &[&str] = &["cjs", "js", "mjs", "py", "ts"];
        let env = self.env;
        let mut before = "";
        for word in words {
            let mut is_file = false;
            for value in values(word) {
                // A bare name is a package to launchers.
                if is_fetching && !is_path(value) && value != "." && value != ".." {
                    continue;
                }
                let path = at(value, folder, env);
                if path.is_dir() {
                    let root = self.root(&path);
                    self.tree(&root);
                    continue;
                }
                is_file |= path.is_file();
                let mut ended = ENDS.iter().map(|end| at(&format!("{value}.{end}"), folder, env));
                let found = Some(path).filter(|path| path.is_file());
                if let Some(path) = found.or_else(|| ended.find(|path| path.is_file())) {
                    self.code(&path);
                }
            }
            let is_settled = !is_option(before)
                || FLAGS.contains(&before)
                || is_interpreter && MODULES.contains(&before)
                || is_file && !LOADING.contains(&before);
            if !is_option(word) && !SUB_COMMANDS.contains(&word.as_str()) && is_settled {
                return;
            }
            before = word;
        }
    }

    /// What launchers of packages take from a folder and from those above it.
    fn installed(&mut self, folder: &Path) {
        for folder in folder.ancestors() {
            if !self.is_open(folder) {
                return;
            }
            self.paths.extend(SETTINGS.iter().map(|name| folder.join(name)));
            self.paths.insert(folder.join("node_modules").join(ALL));
        }
    }

    /// What variables lead to.
    fn by_variables(&mut self, folder: &Path) {
        let env = self.env;
        for (name, value) in env {
            let names_code = program::names_code(name);
            let separates = |c: char| c.is_whitespace() || matches!(c, ':' | ';' | ',' | '=');
            for word in value.split(separates).filter(|word| !word.is_empty()) {
                let path = at(word, folder, env);
                if !(is_path(word) || names_code && !is_option(word)) || !self.is_open(&path) {
                    continue;
                }
                if path.is_file() {
                    if named::is_code(&path) {
                        self.code(&path);
                    } else if names_code {
                        self.paths.insert(path);
                    }
                } else if names_code && (is_path(word) || path.is_dir()) {
                    // Also one that is not there yet.
                    self.paths.insert(path.join(ALL));
                }
            }
        }
    }
}
