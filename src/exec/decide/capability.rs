//! What a yes for the session covers: not one exact command, and not more than the person was told.

use super::launchers::is_launcher;
use super::reach::clean;
use super::repository::{self, Repository};
use super::touched::Touched;
use super::{Folders, Reach, Scene, Shape, only_reads, plain, rides_along, shape};
use crate::exec::command::{display, has_usual_place, shell_text};
use crate::exec::confinement::resolve;
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
    /// The program (with its sub-command, where it has them), with any other arguments of the same reach, and outside of the
    /// sandbox of the same shape.
    Program {
        name: String,
        /// One word, or two where the first runs the second (`npm run build`).
        sub_command: Vec<String>,
        reach: Reach,
        /// The folder that its paths stay in, where they do; as it really is, links followed.
        base: PathBuf,
        /// Without walls around it: the options that it may have besides harmless ones, each with the word behind it.
        options: Option<Vec<String>>,
        /// The options that it must have: without them it does more.
        restricting: Vec<String>,
        /// The repository that it acts on, without walls around it.
        repository: Option<Repository>,
    },
    /// This command and no other: the program would run anything, or nothing general is to be said of it.
    Exact {
        argv: Vec<String>,
        cwd: PathBuf,
        /// What it touched when it was looked at, without walls around it and as far as its words tell: a link that is planted
        /// later, another archive or other content of what it may run makes it another command.
        touched: Option<Touched>,
        /// The repository that something in it acts on, without walls around it.
        repository: Option<Repository>,
    },
}

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
    /// The capability that a command needs in a scene. `each_time` keeps it from being remembered.
    pub fn of(argv: &[String], scene: Scene<'_>, confined: Confined, each_time: bool) -> Self {
        let outside = confined == Confined::Outside;
        let exact = |argv: &[String], repository: Repository, touched: &dyn Fn() -> Option<Touched>| Part::Exact {
            argv: argv.to_vec(),
            cwd: scene.cwd.to_owned(),
            touched: if outside { touched() } else { None },
            repository: Some(repository).filter(|_| outside && repository::names_such_a_program(argv)),
        };
        let commands = plain::commands(argv);
        let mut is_untold = false;
        let one_repository = |all: &[(&[String], Folders)]| {
            let mut repositories = all.iter().map(|(command, folders)| folders.repository(command));
            let first = repositories.next().unwrap_or(Repository::Unsure);
            let same = repositories.all(|other| other == first);
            if same { first } else { Repository::Unsure }
        };
        let parts = match &commands {
            // A change of folder changes what the paths after it mean.
            Some(commands) if commands.len() > 1 && commands.iter().any(|command| changes_folder(&command.words)) => {
                let all = Folders::of_each(scene, commands);
                is_untold = outside && fed(commands, &all, scene) == Fed::Untold;
                vec![exact(argv, one_repository(&all), &|| {
                    Touched::of_each(&all)?.fed_by(all.iter())
                })]
            }
            // What is put into a program may be run by it, or be all that it sends.
            Some(commands) if outside && fed(commands, &Folders::of_each(scene, commands), scene) != Fed::Nothing => {
                let all = Folders::of_each(scene, commands);
                is_untold = fed(commands, &all, scene) == Fed::Untold;
                vec![exact(argv, one_repository(&all), &|| {
                    Touched::of_each(&all)?.fed_by(all.iter())
                })]
            }
            Some(commands) => {
                let all = Folders::of_each(scene, commands);
                // What only reads and stays here needs no yes of its own; without walls only if it is nothing but that.
                let rides = |command: &[String], folders: &Folders| {
                    only_reads(command, scene.cwd).is_some_and(|judgement| match outside {
                        true => rides_along(&judgement, command, folders, scene),
                        false => !Reach::of(command, folders).elsewhere,
                    })
                };
                let only_rides = all.iter().all(|(command, folders)| rides(command, folders));
                let parts = all
                    .iter()
                    .filter(|(command, folders)| only_rides || !rides(command, folders));
                let part = |(command, folders): &(&[String], Folders)| {
                    part(command, folders, outside).unwrap_or_else(|| {
                        exact(command, folders.repository(command), &|| {
                            Touched::of_command(command, folders)
                        })
                    })
                };
                parts.map(part).collect()
            }
            // Which repository it acts on cannot be told.
            None => vec![exact(argv, Repository::Unsure, &|| {
                Touched::of_text(shell_text(argv)?, &Folders::of(scene))
            })],
        };
        Self {
            outside,
            each_time: each_time || is_untold || parts.iter().any(Part::asks_each_time),
            parts,
            by_rule: false,
        }
    }

    /// The same, asked about since a rule says so.
    #[must_use]
    pub fn asked_by_rule(mut self) -> Self {
        self.by_rule = true;
        self
    }

    /// The same, asked about each time.
    #[must_use]
    pub fn asked_each_time(mut self) -> Self {
        self.each_time = true;
        self
    }

    /// Whether what it does depends on where paths lead that it names.
    pub fn goes_by_paths(&self) -> bool {
        self.parts.iter().any(|part| match part {
            Part::Program { name, .. } => shape::goes_by_paths(name),
            Part::Exact { argv, .. } => argv.first().is_none_or(|program| shape::goes_by_paths(program)),
        })
    }

    /// Whether only the run tells what it touches without walls around it.
    pub(super) fn is_untold(&self) -> bool {
        let untold = |part: &Part| matches!(part, Part::Exact { touched: None, .. });
        self.outside && self.parts.iter().any(untold)
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
    pub fn as_rules(&self, leaves_sandbox: bool, scene: Scene<'_>) -> Option<Vec<NewRule>> {
        if self.each_time || self.by_rule || self.parts.is_empty() {
            return None;
        }
        let mut rules: Vec<NewRule> = Vec::new();
        for part in &self.parts {
            let rule = part.as_rule(leaves_sandbox, scene)?;
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

/// What pipes put into programs that do more than read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fed {
    Nothing,
    /// What readers print: by their words and the files that they name.
    Told,
    /// What only the run can tell.
    Untold,
}

fn fed(commands: &[plain::Command], all: &[(&[String], Folders)], scene: Scene<'_>) -> Fed {
    let rides = |at: usize| {
        let (command, folders) = &all[at];
        only_reads(command, scene.cwd).is_some_and(|judgement| rides_along(&judgement, command, folders, scene))
    };
    let mut found = Fed::Nothing;
    for at in (0..commands.len()).filter(|at| commands[*at].is_fed && !rides(*at)) {
        // All in front of it in its pipe.
        let first = (0..at).rev().find(|before| !commands[*before].is_fed).unwrap_or(0);
        match (first..at).all(rides) {
            true => found = if found == Fed::Untold { found } else { Fed::Told },
            false => found = Fed::Untold,
        }
    }
    found
}

/// Whether a command changes the folder of those after it.
fn changes_folder(command: &[String]) -> bool {
    command
        .iter()
        .any(|word| matches!(word.as_str(), "cd" | "chdir" | "pushd" | "popd"))
}

/// None if the program would run anything, or, without walls around it, has no shape.
fn part(argv: &[String], folders: &Folders, outside: bool) -> Option<Part> {
    let (program, arguments) = argv.split_first()?;
    // A program of the workspace is named by its whole path, and can change with any edit.
    if is_launcher(program) || program.contains('/') && !program.starts_with('/') {
        return None;
    }
    let lower = program.to_lowercase();
    let base = lower.rsplit('/').next().unwrap_or(&lower);
    let (sub_command, options, restricting) = match outside {
        true => {
            let shape = Shape::of(argv, folders)?;
            (shape.sub_command, Some(shape.options), shape.restricting)
        }
        false => (sub_command(base, arguments)?, None, Vec::new()),
    };
    let repository = (outside && repository::acts_on_one(base)).then(|| folders.repository(argv));
    Some(Part::Program {
        name: program.clone(),
        sub_command,
        reach: Reach::of(argv, folders),
        base: folders.real_base().to_owned(),
        options,
        restricting,
        repository,
    })
}

/// The words that say what a program does, of one that has them; none if they do not.
fn sub_command(base: &str, arguments: &[String]) -> Option<Vec<String>> {
    if !WITH_SUB_COMMANDS.contains(&base) && !repository::acts_on_one(base) {
        return Some(Vec::new());
    }
    // Options in front of the sub-command can change what it does (`git -c`, `cargo --config`, `make -f`).
    let first = arguments.first()?;
    if first.starts_with('-') || first.contains('=') || first.starts_with('+') {
        return None;
    }
    let mut words = vec![first.clone()];
    if RUNNING.contains(&first.as_str()) {
        words.push(arguments.get(1).filter(|word| !word.starts_with('-'))?.clone());
    }
    Some(words)
}

impl Part {
    fn covers(&self, wanted: &Self) -> bool {
        match (self, wanted) {
            (
                Self::Exact { argv, cwd, touched, .. },
                Self::Exact {
                    argv: other_argv,
                    cwd: other_cwd,
                    touched: other_touched,
                    ..
                },
            ) => {
                let leads_no_further = match (touched, other_touched) {
                    (Some(touched), Some(other)) => other.is_within(touched),
                    (None, Some(_)) => false,
                    (_, None) => true,
                };
                argv == other_argv && cwd == other_cwd && leads_no_further && self.holds_in_the_repository_of(wanted)
            }
            (
                Self::Program {
                    name,
                    sub_command,
                    reach,
                    base,
                    options,
                    restricting,
                    ..
                },
                Self::Program {
                    name: other_name,
                    sub_command: other_sub,
                    reach: other_reach,
                    base: other_base,
                    options: other_options,
                    restricting: others_restricting,
                    ..
                },
            ) => {
                let stays = reach.elsewhere || !other_reach.elsewhere && other_base.starts_with(base);
                let has_the_shape = match (options, other_options) {
                    (_, None) => true,
                    (Some(granted), Some(wanted)) => wanted.iter().all(|option| granted.contains(option)),
                    (None, Some(_)) => false,
                };
                name == other_name
                    && sub_command == other_sub
                    && stays
                    && has_the_shape
                    && restricting.iter().all(|option| others_restricting.contains(option))
                    && other_reach.hosts.is_subset(&reach.hosts)
                    && self.holds_in_the_repository_of(wanted)
            }
            _ => false,
        }
    }

    fn repository(&self) -> Option<&Repository> {
        match self {
            Self::Program { repository, .. } | Self::Exact { repository, .. } => repository.as_ref(),
        }
    }

    fn holds_in_the_repository_of(&self, wanted: &Self) -> bool {
        match (self.repository(), wanted.repository()) {
            (_, None) => true,
            (Some(granted), Some(wanted)) => granted.is(wanted),
            (None, Some(_)) => false,
        }
    }

    /// What it acts on is not sure, or it names what other programs act on by themselves: whose content decides, and may be another one
    /// the next time.
    fn asks_each_time(&self) -> bool {
        let acts_later = |touched: &Touched| touched.reach.acts_later;
        let names_it = matches!(self, Self::Exact { touched: Some(touched), .. } if acts_later(touched));
        names_it || self.repository() == Some(&Repository::Unsure)
    }

    /// The rule that would allow it, if one is to be offered.
    fn as_rule(&self, outside: bool, scene: Scene<'_>) -> Option<NewRule> {
        let Self::Program {
            name,
            sub_command,
            reach,
            base: folder,
            options,
            restricting,
            ..
        } = self
        else {
            return None;
        };
        // A rule says what a command may have, and not what it must.
        if !restricting.is_empty() {
            return None;
        }
        let base = name.rsplit('/').next().unwrap_or(name);
        let program = if has_usual_place(name) {
            base.to_owned()
        } else {
            // A program that the agent can change is none to trust for always.
            let (place, real) = (clean(Path::new(name)), resolve(Path::new(name)));
            let is_in = |folder: &Path| place.starts_with(folder) || real.starts_with(resolve(folder));
            let in_workspace = is_in(scene.base) || is_in(scene.cwd);
            if in_workspace || place.starts_with("/tmp") || place.starts_with("/var/tmp") {
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
            folder: (!reach.elsewhere || repository::acts_on_one(base)).then(|| folder.clone()),
            hosts: reach.hosts.iter().cloned().collect(),
            options: options.clone(),
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

/// Which options a run outside the sandbox may have, as it is shown.
pub fn options_in_words(options: &[String]) -> String {
    match options {
        [] => "with harmless options only".to_owned(),
        options => {
            let options: Vec<String> = options.iter().map(|option| crate::shown::code(option)).collect();
            format!("with {} and otherwise harmless options only", options.join(", "))
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let written = match self {
            Self::Exact { argv, cwd, touched, .. } => {
                write!(f, "exactly {} in {}", crate::shown::code(&display(argv)), cwd.display())?;
                f.write_str(&touched.as_ref().map(Touched::as_it_is_now).unwrap_or_default())?;
                match touched.as_ref().is_some_and(|touched| touched.reach.closed) {
                    true => f.write_str(", which names what commands in the sandbox cannot read"),
                    false => Ok(()),
                }
            }
            Self::Program {
                reach,
                base,
                options,
                restricting,
                ..
            } => {
                f.write_str(&crate::shown::code(&self.in_short()))?;
                if reach.elsewhere {
                    f.write_str(" with any paths")?;
                } else {
                    // The temporary folder is open to every command in the sandbox, too.
                    write!(f, " on paths in {} and /tmp", base.display())?;
                }
                if !reach.hosts.is_empty() {
                    write!(
                        f,
                        ", to hosts {}",
                        reach.hosts.iter().cloned().collect::<Vec<_>>().join(", ")
                    )?;
                }
                if !restricting.is_empty() {
                    let all: Vec<String> = restricting.iter().map(|option| crate::shown::code(option)).collect();
                    write!(f, ", always with {}", all.join(", "))?;
                }
                match options.as_deref() {
                    None => Ok(()),
                    Some(options) => write!(f, ", {}", options_in_words(options)),
                }
            }
        };
        written?;
        match self.repository() {
            Some(Repository::At(folder)) => write!(f, ", in the repository {}", folder.display()),
            Some(Repository::Nowhere) => f.write_str(", in no repository"),
            Some(Repository::Unsure) | None => Ok(()),
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
        Capability::of(&argv, Scene::at(Path::new("/w")), confined, false)
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
            // What led elsewhere covers itself only.
            ("cp a /etc/x", Outside, "cp a b", Outside, false),
            ("cp a /etc/x", Outside, "cp a /etc/x", Outside, true),
            ("cp a /etc/x", Workspace, "cp a b", Workspace, true),
            ("mytool go", Outside, "mytool go", Outside, true),
            ("mytool go", Outside, "mytool go on", Outside, false),
            ("mytool go", Workspace, "mytool go on", Workspace, true),
            ("cp a b", Outside, "cp -r c d", Outside, true),
            ("cp a b", Outside, "cp --backup c d", Outside, false),
            (
                "cp --backup=simple a b",
                Outside,
                "cp --backup=simple c d",
                Outside,
                true,
            ),
            (
                "git push --force origin",
                Outside,
                "git push --force origin x",
                Outside,
                true,
            ),
            (
                "git push origin x",
                Outside,
                "git push --force origin x",
                Outside,
                false,
            ),
            ("cp a b", Workspace, "cp *.a b", Workspace, true),
            ("cp a b", Outside, "cp *.a b", Outside, false),
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
            ("cd x && cp a b", Outside, "cd x && cp a b", Outside, true),
            ("pushd x; cp a b", Outside, "pushd /; cp a b", Outside, false),
            // On most systems this is another program.
            ("git commit -m x", Outside, "GIT commit -m x", Outside, false),
            ("Python3 x.py", Outside, "Python3 y.py", Outside, false),
            ("cp a b", Outside, "cp a b; xmllint http://a.example/x", Outside, false),
            ("cp a b", Outside, "ls; cp c d", Outside, true),
            ("cp a b", Outside, "xmllint x; cp c d", Outside, false),
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
                "`cargo test` on paths in /w and /tmp, inside the sandbox",
            ),
            (
                "cp a /etc/x",
                Confined::Outside,
                "exactly `cp a /etc/x` in /w, outside the sandbox",
            ),
            (
                "cp a /etc/x",
                Confined::Workspace,
                "`cp` with any paths, inside the sandbox",
            ),
            (
                "curl https://Example.org/x",
                Confined::Outside,
                "`curl` on paths in /w and /tmp, to hosts example.org, with harmless options only, outside the sandbox",
            ),
            (
                "cp --backup=simple -r a b",
                Confined::Outside,
                "`cp` on paths in /w and /tmp, with `--backup=simple` and otherwise harmless options only, outside the sandbox",
            ),
            (
                "mytool go",
                Confined::Outside,
                "exactly `mytool go` in /w, outside the sandbox",
            ),
            (
                "cp a .envrc",
                Confined::Outside,
                "this one run: commands like this ask each time",
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
            Scene::at(Path::new("/w")),
            Confined::Outside,
            true,
        );
        assert!(each_time.to_string().contains("each time") && !each_time.can_be_remembered());
    }
}
