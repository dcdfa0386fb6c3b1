//! What a yes for the session covers: not one exact command, and not more than the person was told.

use super::reach::clean;
use super::{Reach, only_reads, plain};
use crate::exec::command::{display, has_usual_place};
use crate::exec::rules::NewRule;
use crate::protocol::item::Confined;
use std::fmt;
use std::path::{Path, PathBuf};

/// What a command can do, as a person would name it. `Display` says it in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capability {
    outside: bool,
    parts: Vec<Part>,
    /// Asked about each time, whatever was said before.
    each_time: bool,
    /// A rule asks about it, so only a yes to a question that such a rule raised counts.
    by_rule: bool,
}

/// One of the commands joined in a composition.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// The program (with its sub-command, where it has them), with any other arguments of the same reach.
    Program {
        name: String,
        /// One word, or two where the first runs the second (`npm run build`).
        sub_command: Vec<String>,
        reach: Reach,
    },
    /// This command and no other: the program would run anything.
    Exact { argv: Vec<String>, cwd: PathBuf },
}

/// Programs that run what they are told: nothing general can be allowed of them.
const RUNNERS: &[&str] = &[
    "R",
    "Rscript",
    "ansible",
    "arch",
    "asdf",
    "ash",
    "at",
    "awk",
    "bash",
    "batch",
    "bsdtar",
    "builtin",
    "bun",
    "bunx",
    "busybox",
    "bwrap",
    "chroot",
    "chrt",
    "command",
    "crontab",
    "csh",
    "dash",
    "dbus-run-session",
    "deno",
    "direnv",
    "doas",
    "docker",
    "ed",
    "emacs",
    "entr",
    "env",
    "eval",
    "ex",
    "exec",
    "expect",
    "fabric",
    "fakeroot",
    "find",
    "firejail",
    "fish",
    "flock",
    "gawk",
    "gdb",
    "gosu",
    "gsed",
    "hyperfine",
    "ionice",
    "java",
    "julia",
    "ksh",
    "kubectl",
    "less",
    "lima",
    "ltrace",
    "lua",
    "man",
    "mawk",
    "mise",
    "more",
    "mosh",
    "mysql",
    "nano",
    "nice",
    "nix-shell",
    "node",
    "nodejs",
    "nohup",
    "npx",
    "nsenter",
    "numactl",
    "nvim",
    "osascript",
    "parallel",
    "perf",
    "perl",
    "php",
    "pipx",
    "pkexec",
    "podman",
    "prlimit",
    "proot",
    "psql",
    "pwsh",
    "python",
    "rlwrap",
    "ruby",
    "runuser",
    "screen",
    "script",
    "sed",
    "setpriv",
    "setsid",
    "sh",
    "socat",
    "source",
    "sqlite3",
    "ssh",
    "stdbuf",
    "strace",
    "su",
    "su-exec",
    "sudo",
    "systemd-run",
    "tar",
    "taskset",
    "tclsh",
    "tcsh",
    "time",
    "timeout",
    "tmux",
    "torsocks",
    "toybox",
    "unbuffer",
    "unshare",
    "uvx",
    "vagrant",
    "valgrind",
    "vi",
    "vim",
    "watch",
    "xargs",
    "xvfb-run",
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

/// Programs that a rule for always is never offered for: by themselves they say nothing of what they would do, or what
/// they do to is the whole machine.
const NEVER_ALWAYS: &[&str] = &[
    "at", "batch", "chattr", "chgrp", "chmod", "chown", "crontab", "dd", "halt", "install", "kill", "killall", "ln",
    "mount", "mv", "nc", "ncat", "pkill", "poweroff", "reboot", "rm", "rmdir", "rsync", "scp", "sftp", "shutdown",
    "socat", "tee", "telnet", "umount", "unlink",
];

/// Parts of one command that a rule is offered for.
const MOST_RULES: usize = 4;

impl Capability {
    /// The capability that a command needs, run in `cwd`. `each_time` keeps it from being remembered.
    pub fn of(argv: &[String], cwd: &Path, confined: Confined, each_time: bool) -> Self {
        let exact = |argv: &[String]| Part::Exact {
            argv: argv.to_vec(),
            cwd: cwd.to_owned(),
        };
        let parts = match plain::commands(argv) {
            // A change of folder changes what the paths after it mean.
            Some(commands) if commands.len() > 1 && commands.iter().any(|command| command[0] == "cd") => {
                vec![exact(argv)]
            }
            Some(commands) => {
                // What only reads and stays here needs no yes of its own.
                let rides = |command: &[String]| only_reads(command, cwd) && !Reach::of(command, cwd).elsewhere;
                let only_rides = commands.iter().all(|command| rides(command));
                commands
                    .iter()
                    .filter(|command| only_rides || !rides(command))
                    .map(|command| part(command, cwd).unwrap_or_else(|| exact(command)))
                    .collect()
            }
            None => vec![exact(argv)],
        };
        Self {
            outside: confined == Confined::Outside,
            parts,
            each_time,
            by_rule: false,
        }
    }

    /// The same, asked about since a rule says so.
    #[must_use]
    pub fn asked_by_rule(mut self) -> Self {
        self.by_rule = true;
        self
    }

    /// Whether a yes to this for the session would settle that.
    pub fn covers(&self, wanted: &Self) -> bool {
        let mut grants = SessionGrants::default();
        grants.add(self.clone());
        grants.covers(wanted)
    }

    /// Whether a yes for the session means anything beyond this once.
    pub fn can_be_remembered(&self) -> bool {
        !self.each_time
    }

    /// The rules that would allow it for always; none where one would be too broad, or would not be heeded.
    pub fn as_rules(&self, leaves_sandbox: bool, cwd: &Path) -> Option<Vec<NewRule>> {
        if self.each_time || self.by_rule || self.parts.is_empty() {
            return None;
        }
        let mut rules: Vec<NewRule> = Vec::new();
        for part in &self.parts {
            let rule = part.as_rule(leaves_sandbox, cwd)?;
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
        (rules.len() <= MOST_RULES).then_some(rules)
    }

    /// What it is called on a button: the programs with their sub-commands.
    pub fn in_short(&self) -> String {
        let mut names: Vec<String> = self.parts.iter().map(Part::in_short).collect();
        names.dedup();
        names.join(", ")
    }

    /// The parts in words, without where they run.
    pub fn parts_in_words(&self) -> String {
        let mut parts: Vec<String> = self.parts.iter().map(Part::to_string).collect();
        parts.dedup();
        parts.join("; ")
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
    let mut sub_command = Vec::new();
    if WITH_SUB_COMMANDS.contains(&base) {
        // Options in front of the sub-command can change what it does (`git -c`, `cargo --config`, `make -f`).
        let first = arguments.first()?;
        if first.starts_with('-') || first.contains('=') || first.starts_with('+') {
            return None;
        }
        sub_command.push(first.clone());
        if RUNNING.contains(&first.as_str()) {
            sub_command.push(arguments.get(1).filter(|word| !word.starts_with('-'))?.clone());
        }
    }
    Some(Part::Program {
        reach: Reach::of(argv, cwd),
        name,
        sub_command,
    })
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

    /// The rule that would allow it, if one is to be offered.
    fn as_rule(&self, outside: bool, cwd: &Path) -> Option<NewRule> {
        let Self::Program {
            name,
            sub_command,
            reach,
        } = self
        else {
            return None;
        };
        let base = name.rsplit('/').next().unwrap_or(name);
        let program = if has_usual_place(name) {
            base.to_owned()
        } else {
            // A program that the agent can change is none to trust for always.
            let place = clean(Path::new(name));
            if place.starts_with(cwd) || place.starts_with("/tmp") || place.starts_with("/var/tmp") {
                return None;
            }
            name.clone()
        };
        if NEVER_ALWAYS.contains(&base) {
            return None;
        }
        Some(NewRule {
            prefix: std::iter::once(program).chain(sub_command.iter().cloned()).collect(),
            outside,
            here: !reach.elsewhere,
            hosts: reach.hosts.iter().cloned().collect(),
        })
    }

    fn in_short(&self) -> String {
        match self {
            Self::Exact { argv, .. } => display(argv),
            Self::Program { name, sub_command, .. } => std::iter::once(name)
                .chain(sub_command)
                .cloned()
                .collect::<Vec<_>>()
                .join(" "),
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact { argv, cwd } => write!(f, "exactly `{}` in {}", display(argv), cwd.display()),
            Self::Program { reach, .. } => {
                write!(f, "`{}`", self.in_short())?;
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
        write!(
            f,
            "{}, {} the sandbox",
            self.parts_in_words(),
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
                let fitting = self
                    .granted
                    .iter()
                    .filter(|granted| (granted.outside || !wanted.outside) && (granted.by_rule || !wanted.by_rule));
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
            ("cargo test", Workspace, "cargo test | tail -n 3", Workspace, true),
            (
                "cargo test",
                Workspace,
                "cargo test && cat /etc/passwd",
                Workspace,
                false,
            ),
            ("cargo test", Workspace, "cargo test && rm x", Workspace, false),
            ("curl a.example/x", Outside, "curl a.example/y", Outside, true),
            ("curl a.example/x", Outside, "curl b.example/x", Outside, false),
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
