//! What a yes for the session covers: not one exact command, and not more than the person was told.

use crate::exec::command::{display, plain_commands};
use crate::protocol::item::Confined;
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Component, Path, PathBuf};

/// What a command can do, as a person would name it. `Display` says it in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capability {
    outside: bool,
    parts: Vec<Part>,
    /// Asked about each time, whatever was said before.
    each_time: bool,
}

/// One of the commands joined in a composition.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// The program (with its sub-command, where it has them), with any other arguments of the same reach.
    Program {
        name: String,
        sub_command: Option<String>,
        reach: Reach,
    },
    /// This command and no other: the program would run anything.
    Exact { argv: Vec<String>, cwd: PathBuf },
}

/// Where the arguments of a command lead, by their words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Reach {
    /// To paths outside the working directory and the temporary folder.
    elsewhere: bool,
    /// To these hosts.
    hosts: BTreeSet<String>,
}

/// Programs that run what they are told: nothing general can be allowed of them.
const RUNNERS: &[&str] = &[
    "arch",
    "ash",
    "awk",
    "bash",
    "bun",
    "busybox",
    "bunx",
    "chroot",
    "command",
    "csh",
    "dash",
    "deno",
    "doas",
    "docker",
    "env",
    "eval",
    "exec",
    "expect",
    "find",
    "fish",
    "flock",
    "gawk",
    "gdb",
    "ionice",
    "ksh",
    "kubectl",
    "lua",
    "mawk",
    "nice",
    "node",
    "nodejs",
    "nohup",
    "nsenter",
    "npx",
    "osascript",
    "parallel",
    "perl",
    "php",
    "pipx",
    "pkexec",
    "podman",
    "pwsh",
    "python",
    "rlwrap",
    "ruby",
    "runuser",
    "script",
    "setpriv",
    "setsid",
    "sh",
    "ssh",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "taskset",
    "tcsh",
    "time",
    "timeout",
    "tmux",
    "uvx",
    "watch",
    "xargs",
    "zsh",
];

/// Programs whose first word says what they do.
const WITH_SUB_COMMANDS: &[&str] = &[
    "apt",
    "apt-get",
    "aws",
    "az",
    "brew",
    "bundle",
    "cargo",
    "cmake",
    "composer",
    "conda",
    "dnf",
    "dotnet",
    "gcloud",
    "gem",
    "gh",
    "git",
    "glab",
    "go",
    "gradle",
    "gradlew",
    "helm",
    "hg",
    "jj",
    "just",
    "make",
    "mix",
    "mvn",
    "nix",
    "npm",
    "pip",
    "pip3",
    "pnpm",
    "poetry",
    "rake",
    "rustup",
    "stack",
    "svn",
    "swift",
    "systemctl",
    "task",
    "terraform",
    "uv",
    "yarn",
    "zig",
];

/// Sub-commands that run whatever follows them.
const RUNNING: &[&str] = &["exec", "run", "x", "dlx", "run-script", "shell", "develop"];

impl Capability {
    /// The capability that a command needs, run in `cwd`. `each_time` keeps it from being remembered.
    pub fn of(argv: &[String], cwd: &Path, confined: Confined, each_time: bool) -> Self {
        let exact = |argv: &[String]| Part::Exact {
            argv: argv.to_vec(),
            cwd: cwd.to_owned(),
        };
        let parts = match plain_commands(argv) {
            // A change of folder changes what the paths after it mean.
            Some(commands) if commands.len() > 1 && commands.iter().any(|command| command[0] == "cd") => {
                vec![exact(argv)]
            }
            Some(commands) => commands
                .iter()
                .map(|command| part(command, cwd).unwrap_or_else(|| exact(command)))
                .collect(),
            None => vec![exact(argv)],
        };
        Self {
            outside: confined == Confined::Outside,
            parts,
            each_time,
        }
    }

    /// Whether a yes for the session means anything beyond this once.
    pub fn can_be_remembered(&self) -> bool {
        !self.each_time
    }
}

/// None if the program would run anything.
fn part(argv: &[String], cwd: &Path) -> Option<Part> {
    let (program, arguments) = argv.split_first()?;
    // A program of the workspace is named by its whole path, and can change with any edit.
    let name = if program.contains('/') {
        program.clone()
    } else {
        program.to_lowercase()
    };
    let base = name.rsplit('/').next().unwrap_or(&name);
    let bare = base.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if RUNNERS.contains(&base) || RUNNERS.contains(&bare) || program.contains('/') && !program.starts_with('/') {
        return None;
    }
    let mut sub_command = None;
    if WITH_SUB_COMMANDS.contains(&base) {
        // Options in front of the sub-command can change what it does (`git -c`, `cargo --config`, `make -f`).
        let first = arguments.first()?;
        if first.starts_with('-') || first.contains('=') || first.starts_with('+') {
            return None;
        }
        let mut words = first.clone();
        if RUNNING.contains(&first.as_str()) {
            words = format!("{words} {}", arguments.get(1).filter(|word| !word.starts_with('-'))?);
        }
        sub_command = Some(words);
    }
    Some(Part::Program {
        reach: reach(arguments, cwd),
        name,
        sub_command,
    })
}

fn reach(arguments: &[String], cwd: &Path) -> Reach {
    let mut reach = Reach::default();
    for argument in arguments {
        // The value of `--option=value` counts like a word of its own.
        let value = argument
            .split_once('=')
            .filter(|_| argument.starts_with('-'))
            .map_or(argument.as_str(), |(_, value)| value);
        match host(value) {
            Some(host) => drop(reach.hosts.insert(host)),
            None => reach.elsewhere |= leads_elsewhere(value, cwd),
        }
    }
    reach
}

/// The host in `https://host/…` and in `user@host:path`.
fn host(text: &str) -> Option<String> {
    let rest = match text.split_once("://") {
        Some((_, rest)) => rest,
        None => {
            let (place, _) = text.split_once(':')?;
            place.contains('@').then_some(place)?
        }
    };
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    (!host.is_empty()).then(|| host.to_ascii_lowercase())
}

fn leads_elsewhere(text: &str, cwd: &Path) -> bool {
    if text.starts_with('~') || text.contains('$') {
        return true;
    }
    let path = Path::new(text);
    let mut place = PathBuf::from("/");
    for part in cwd.join(path).components() {
        match part {
            Component::Normal(name) => place.push(name),
            Component::ParentDir => drop(place.pop()),
            _ => {}
        }
    }
    !(place.starts_with(cwd) || place.starts_with("/tmp") || text == "/dev/null")
}

impl Part {
    fn covers(&self, wanted: &Self) -> bool {
        match (self, wanted) {
            (Self::Exact { .. }, Self::Exact { .. }) => self == wanted,
            (
                Self::Program {
                    name,
                    sub_command,
                    reach,
                },
                Self::Program {
                    name: other_name,
                    sub_command: other_sub,
                    reach: other_reach,
                },
            ) => {
                let further = other_reach.elsewhere && !reach.elsewhere;
                name == other_name && sub_command == other_sub && !further && other_reach.hosts.is_subset(&reach.hosts)
            }
            _ => false,
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact { argv, cwd } => write!(f, "exactly `{}` in {}", display(argv), cwd.display()),
            Self::Program {
                name,
                sub_command,
                reach,
            } => {
                match sub_command {
                    Some(sub_command) => write!(f, "`{name} {sub_command}`")?,
                    None => write!(f, "`{name}`")?,
                }
                if reach.elsewhere {
                    f.write_str(" with any paths")?;
                } else {
                    f.write_str(" on paths in the working directory")?;
                }
                if !reach.hosts.is_empty() {
                    write!(
                        f,
                        " and hosts {}",
                        reach.hosts.iter().cloned().collect::<Vec<_>>().join(", ")
                    )?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.each_time {
            return f.write_str("this one run: commands like this ask each time");
        }
        let mut parts: Vec<String> = self.parts.iter().map(Part::to_string).collect();
        parts.dedup();
        write!(
            f,
            "{}, {} the sandbox",
            parts.join("; "),
            if self.outside { "outside" } else { "inside" }
        )
    }
}

/// What the person has said yes to for the session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionGrants {
    granted: Vec<Capability>,
}

impl SessionGrants {
    /// Remembers a yes. One to something that asks each time is not remembered.
    pub fn add(&mut self, capability: Capability) {
        if capability.can_be_remembered() && !self.granted.contains(&capability) {
            self.granted.push(capability);
        }
    }

    /// Whether every part was granted: for a run outside by a yes to a run outside.
    pub fn covers(&self, wanted: &Capability) -> bool {
        wanted.can_be_remembered()
            && !wanted.parts.is_empty()
            && wanted.parts.iter().all(|part| {
                let fitting = self.granted.iter().filter(|granted| granted.outside || !wanted.outside);
                fitting
                    .flat_map(|granted| &granted.parts)
                    .any(|granted| granted.covers(part))
            })
    }

    /// All of it in words, oldest first.
    pub fn in_words(&self) -> impl Iterator<Item = String> {
        self.granted.iter().map(Capability::to_string)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capability(text: &str, confined: Confined) -> Capability {
        let argv = ["bash", "-lc", text].map(str::to_owned);
        Capability::of(&argv, Path::new("/w"), confined, false)
    }

    #[test]
    fn what_covers_what() {
        use Confined::{Outside, Workspace};
        for (granted, given, wanted, needed, expected) in [
            ("cargo test", Workspace, "cargo test --lib x", Workspace, true),
            ("cargo test", Workspace, "cargo build", Workspace, false),
            ("cargo test", Workspace, "cargo test", Outside, false),
            ("cargo test", Outside, "cargo test", Workspace, true),
            ("cargo test", Outside, "cargo --config x test", Outside, false),
            ("git commit -m x", Outside, "git commit -m 'y z'", Outside, true),
            ("git commit -m x", Outside, "git push", Outside, false),
            ("git status", Outside, "git -c core.pager=sh status", Outside, false),
            ("npm run build", Workspace, "npm run build -- --fast", Workspace, true),
            ("npm run build", Workspace, "npm run deploy", Workspace, false),
            ("cp a b", Outside, "cp c d", Outside, true),
            ("cp a b", Outside, "cp a /etc/x", Outside, false),
            ("cp a b", Outside, "cp a ../x", Outside, false),
            ("cp a b", Outside, "cp a ~/x", Outside, false),
            ("cp a /etc/x", Outside, "cp a b", Outside, true),
            (
                "curl https://a.example/x",
                Outside,
                "curl https://a.example/y",
                Outside,
                true,
            ),
            (
                "curl https://a.example/x",
                Outside,
                "curl https://b.example/x",
                Outside,
                false,
            ),
            (
                "curl https://a.example/x",
                Outside,
                "curl --url=https://b.example/x",
                Outside,
                false,
            ),
            (
                "git clone git@a.example:x",
                Outside,
                "git clone git@b.example:x",
                Outside,
                false,
            ),
            ("python3 x.py", Outside, "python3 x.py", Outside, true),
            ("python3 x.py", Outside, "python3 y.py", Outside, false),
            ("python3.12 -c 1", Outside, "python3.12 -c 2", Outside, false),
            ("sudo ls", Outside, "sudo id", Outside, false),
            ("env ls", Outside, "env rm", Outside, false),
            ("./run a", Outside, "./run b", Outside, false),
            ("cargo test && cargo fmt", Workspace, "cargo fmt", Workspace, true),
            ("cargo test", Workspace, "cargo test | tail -n 3", Workspace, false),
            (
                "cargo test | tail -n 3",
                Workspace,
                "cargo test x | tail -n 9",
                Workspace,
                true,
            ),
            ("cargo test > log", Workspace, "cargo test > log", Workspace, true),
            ("cargo test > log", Workspace, "cargo test > other", Workspace, false),
            ("cd x && cp a b", Workspace, "cd / && cp a b", Workspace, false),
        ] {
            let mut grants = SessionGrants::default();
            grants.add(capability(granted, given));
            assert_eq!(
                grants.covers(&capability(wanted, needed)),
                expected,
                "{granted} covers {wanted}"
            );
        }
    }

    #[test]
    fn words() {
        for (text, confined, expected) in [
            (
                "cargo test --lib",
                Confined::Workspace,
                "`cargo test` on paths in the working directory, inside the sandbox",
            ),
            (
                "cp a /etc/x",
                Confined::Outside,
                "`cp` with any paths, outside the sandbox",
            ),
            (
                "curl https://Example.org/x",
                Confined::Outside,
                "`curl` on paths in the working directory and hosts example.org, outside the sandbox",
            ),
            (
                "python3 x.py",
                Confined::Outside,
                "exactly `python3 x.py` in /w, outside the sandbox",
            ),
        ] {
            assert_eq!(capability(text, confined).to_string(), expected);
        }
        let each_time = Capability::of(
            &["rm".to_owned(), "-rf".to_owned()],
            Path::new("/w"),
            Confined::Outside,
            true,
        );
        assert!(each_time.to_string().contains("each time") && !each_time.can_be_remembered());
    }
}
