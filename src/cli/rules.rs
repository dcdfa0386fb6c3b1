//! `countersign rules`: what the standing rules make of commands, for those who write rules and for tests.

use crate::config::{self, Config, Sources as ConfigSources};
use crate::exec::Confinement;
use crate::exec::command::{self, Judgement, shell_text};
use crate::exec::decide::{Case, Kept, Scene, SessionGrants, Verdict, decide};
use crate::exec::profile::{Place, secrets, secrets_of_the_system};
use crate::exec::rules::{self, Rule, Rules, Sources};
use crate::protocol::config::ConfigWarning;
use crate::protocol::item::Confined;
use crate::protocol::settings::{ApprovalPolicy, SandboxMode, SandboxPolicy};
use crate::shown;
use clap::ValueEnum;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Longest line that is read, in bytes.
const MOST_LINE: usize = 4 << 20;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Judge a command, as in `rules check git push`; without one, judge each that is read.
    ///
    /// Without a command it reads JSON lines {"id", "argv"} and writes for each {"id", "label", "verdict", "parts", …}. `argv` is a list of
    /// words, or a text for the shell. The status is 1 if a line could not be read.
    Check(Check),
    /// Show the rules and standing permissions in force, and what is broken. The status is 1 if something is.
    List(List),
}

#[derive(Debug, clap::Args)]
struct Check {
    /// When the person is asked.
    #[arg(long, value_enum, default_value_t = Policy::OnRequest)]
    policy: Policy,
    /// What commands may touch.
    #[arg(long, value_enum, default_value_t = Sandbox::WorkspaceWrite)]
    sandbox: Sandbox,
    #[command(flatten)]
    which: Which,
    /// The command: its words, or one text for the shell.
    #[arg(trailing_var_arg = true, value_name = "CMD")]
    command: Vec<String>,
}

#[derive(Debug, clap::Args)]
struct List {
    #[command(flatten)]
    which: Which,
}

/// Which rules count.
#[derive(Debug, clap::Args)]
struct Which {
    /// The folder that commands run in, whose project's rules count too; the current one by default.
    #[arg(long, value_name = "DIR")]
    cd: Option<PathBuf>,
    /// Files of rules, or folders of them, in place of the person's own and the project's.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    rules: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Policy {
    Untrusted,
    OnRequest,
    OnFailure,
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Sandbox {
    ReadOnly,
    WorkspaceWrite,
    #[value(alias = "full-access")]
    DangerFullAccess,
}

pub fn run(args: Args) -> ExitCode {
    let (which, outcome) = match args.command {
        Command::Check(check) => {
            let loaded = load(&check.which);
            (
                "check",
                loaded.and_then(|(cwd, rules, config)| {
                    say_reports(rules.reports());
                    let judge = Judge::new(&check, &cwd, &rules, config.as_deref());
                    let answered = match check.command.as_slice() {
                        [] => judge.all(io::stdin().lock(), io::stdout().lock()),
                        words => judge.one(words, io::stdout().lock()),
                    };
                    answered.map_err(|error| format!("{error}"))
                }),
            )
        }
        Command::List(list) => {
            let loaded = load(&list.which);
            (
                "list",
                loaded.and_then(|(_, rules, _)| show(&rules, io::stdout().lock()).map_err(|error| format!("{error}"))),
            )
        }
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            say(&format!("countersign rules {which}: {problem}"));
            ExitCode::FAILURE
        }
    }
}

fn say(message: &str) {
    // Without a standard error there is nobody to tell; the exit status says the rest.
    let _closed = writeln!(io::stderr(), "{message}");
}

fn say_reports(reports: &[ConfigWarning]) {
    for report in reports {
        say(&report.in_words());
    }
}

/// The folder that commands run in, the rules that count there, and the configuration if it is asked.
fn load(which: &Which) -> Result<(PathBuf, Rules, Option<Box<Config>>), String> {
    let here = std::env::current_dir();
    let absolute = |path: &Path| match &here {
        _ if path.is_absolute() => Ok(path.to_owned()),
        Ok(here) => Ok(here.join(path)),
        Err(error) => Err(format!(
            "the current folder cannot be found ({error}); name one with --cd"
        )),
    };
    let cwd = absolute(which.cd.as_deref().unwrap_or(Path::new(".")))?;
    let cwd = std::fs::canonicalize(&cwd).map_err(|error| {
        format!(
            "the folder cannot be entered ({error}); name one that exists: {}",
            cwd.display()
        )
    })?;
    if !which.rules.is_empty() {
        let files: Result<Vec<_>, _> = which.rules.iter().map(|path| absolute(path)).collect();
        return Ok((cwd, rules::load_files(&files?), None));
    }
    let env = crate::cli::environment();
    let Some(home) = crate::cli::home() else {
        return Ok((cwd, Rules::default(), None));
    };
    let sources = ConfigSources {
        home: home.clone(),
        env,
        cwd: Some(cwd.clone()),
        ..ConfigSources::default()
    };
    let loaded = config::load(&sources).map_err(|error| error.to_string())?;
    let rules = rules::load(&Sources::new(&home, &loaded.config.rule_folders));
    Ok((cwd, rules, Some(Box::new(loaded.config))))
}

/// What the settings keep, as for a conversation in this folder.
fn kept(cwd: &Path, env: &BTreeMap<String, String>, config: Option<&Config>) -> Kept {
    let person = env.get("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let place = Place {
        cwd: cwd.to_owned(),
        home: person.clone(),
        ..Place::default()
    };
    let reading = SandboxPolicy::from_mode(SandboxMode::ReadOnly);
    let reading = Confinement::new(&reading, cwd, &[], None);
    let reading = match config {
        Some(config) => reading.unreadable(&config.unreadable, &place),
        None => reading,
    };
    let keys = match crate::cli::home() {
        Some(own) if config.is_none_or(|config| config.unreadable_defaults) => {
            let mut keys = secrets(person.as_deref(), &own, env);
            keys.extend(secrets_of_the_system(env));
            keys
        }
        _ => Vec::new(),
    };
    let (protected, unprotected) = match config {
        Some(config) => (config.protected.as_slice(), config.unprotected.as_slice()),
        None => Default::default(),
    };
    Kept::new(
        reading.without(&keys).closed(),
        protected,
        unprotected,
        person.as_deref(),
    )
    .within(cwd)
}

/// What is said of a command.
#[derive(Serialize)]
struct Answer {
    id: Value,
    label: command::Label,
    verdict: &'static str,
    /// How it would run, or would run after a yes.
    #[serde(skip_serializing_if = "Option::is_none")]
    confined: Option<Confined>,
    parts: Vec<command::Part>,
    /// Why it is asked about or refused; else why it is not called safe.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The rule that made the difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<Named>,
}

#[derive(Serialize)]
struct Named {
    decision: &'static str,
    prefix: String,
    file: PathBuf,
    line: u32,
}

impl Named {
    fn of(rule: &Rule) -> Self {
        Self {
            decision: rule.decision.as_str(),
            prefix: rule.prefix_in_words(),
            file: rule.place.path.clone(),
            line: rule.place.line,
        }
    }
}

#[derive(Serialize)]
struct Refusal {
    id: Value,
    error: String,
}

/// Answers line by line.
struct Judge<'a> {
    approval: ApprovalPolicy,
    sandbox: SandboxPolicy,
    cwd: &'a Path,
    rules: &'a Rules,
    grants: SessionGrants,
    env: BTreeMap<String, String>,
    kept: Arc<Kept>,
    walls: bool,
}

impl<'a> Judge<'a> {
    fn new(check: &Check, cwd: &'a Path, rules: &'a Rules, config: Option<&Config>) -> Self {
        // As for a conversation in this folder.
        crate::exec::program::guard(cwd);
        let env = crate::cli::environment();
        Self {
            approval: match check.policy {
                Policy::Untrusted => ApprovalPolicy::Untrusted,
                Policy::OnRequest => ApprovalPolicy::OnRequest,
                Policy::OnFailure => ApprovalPolicy::OnFailure,
                Policy::Never => ApprovalPolicy::Never,
            },
            sandbox: SandboxPolicy::from_mode(match check.sandbox {
                Sandbox::ReadOnly => SandboxMode::ReadOnly,
                Sandbox::WorkspaceWrite => SandboxMode::WorkspaceWrite,
                Sandbox::DangerFullAccess => SandboxMode::DangerFullAccess,
            }),
            cwd,
            rules,
            grants: SessionGrants::default(),
            kept: Arc::new(kept(cwd, &env, config)),
            env,
            walls: crate::exec::support().can_confine(),
        }
    }

    /// Answers each line in its order; whoever waits for an answer before the next question gets it. False if a line could
    /// not be read.
    fn all(&self, input: impl io::Read, output: impl Write) -> io::Result<bool> {
        let mut input = BufReader::with_capacity(1 << 16, input);
        let mut output = BufWriter::with_capacity(1 << 16, output);
        let mut all_read = true;
        let mut line = Vec::new();
        loop {
            line.clear();
            let whole = read_line(&mut input, &mut line)?;
            if line.is_empty() && whole {
                break;
            }
            let text = line.trim_ascii();
            if !text.is_empty() {
                let written = match self.line(text, whole) {
                    Ok(answer) => serde_json::to_writer(&mut output, &answer),
                    Err(refusal) => {
                        all_read = false;
                        serde_json::to_writer(&mut output, &refusal)
                    }
                };
                let ended = written.map_err(io::Error::from).and_then(|()| output.write_all(b"\n"));
                match ended {
                    // A reader that has seen enough is no trouble of ours.
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(all_read),
                    ended => ended?,
                }
            }
            // With a whole line in hand the next answer comes at once; else somebody may wait for this one.
            if !input.buffer().contains(&b'\n') {
                match output.flush() {
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(all_read),
                    flushed => flushed?,
                }
            }
        }
        Ok(all_read)
    }

    fn line(&self, text: &[u8], whole: bool) -> Result<Answer, Refusal> {
        let refuse = |id: Value, error: String| Refusal { id, error };
        if !whole {
            let error = format!("The line is longer than {MOST_LINE} bytes and was not read.");
            return Err(refuse(Value::Null, error));
        }
        let question: Value = serde_json::from_slice(text).map_err(|error| {
            refuse(
                Value::Null,
                format!("The line is no JSON: {error}. Write one object a line."),
            )
        })?;
        let Value::Object(mut question) = question else {
            return Err(refuse(
                Value::Null,
                "The line is no object. Write {\"id\": …, \"argv\": […]}.".to_owned(),
            ));
        };
        let id = question.remove("id").unwrap_or_default();
        let argv = match question.remove("argv") {
            Some(Value::Array(words)) => {
                let words: Option<Vec<String>> = words.iter().map(|word| word.as_str().map(str::to_owned)).collect();
                words.ok_or("The words of `argv` must be texts.")
            }
            Some(Value::String(text)) => Ok(vec!["bash".to_owned(), "-lc".to_owned(), text]),
            Some(_) => Err("`argv` must be a list of words, or a text for the shell."),
            None => Err("There is no `argv`. Give a list of words, or a text for the shell."),
        };
        let argv = match argv {
            Ok(argv) if argv.first().is_none_or(|program| program.trim().is_empty()) => Err("`argv` names no program."),
            other => other,
        };
        let argv = match argv {
            Ok(argv) => argv,
            Err(problem) => return Err(refuse(id, problem.to_owned())),
        };
        let escalated = match question.remove("escalated") {
            None | Some(Value::Bool(false)) => false,
            Some(Value::Bool(true)) => true,
            Some(_) => return Err(refuse(id, "`escalated` must be true or false.".to_owned())),
        };
        Ok(self.answer(id, &argv, escalated))
    }

    /// Says of one command, in words, what becomes of it.
    fn one(&self, words: &[String], mut out: impl Write) -> io::Result<bool> {
        let argv = match words {
            [text] if text.contains(char::is_whitespace) => vec!["bash".to_owned(), "-lc".to_owned(), text.clone()],
            words => words.to_vec(),
        };
        let answer = self.answer(Value::Null, &argv, false);
        let place = match answer.confined {
            Some(Confined::ReadOnly) => " in the sandbox, which only reads",
            Some(Confined::Workspace) => " in the sandbox",
            Some(Confined::Outside) => " outside the sandbox",
            None => "",
        };
        let verdict = match answer.verdict {
            "run" => format!("Runs{place} without a question."),
            "ask" => format!("Asks first; after a yes it runs{place}."),
            _ => "Is refused.".to_owned(),
        };
        let mut text = verdict;
        if let Some(reason) = answer.reason {
            text = format!("{text}\n{}", shown::prose(&reason));
        }
        if let Some(rule) = answer.rule {
            let place = shown::path(&rule.file);
            text = format!(
                "{text}\nRule: {} {} ({place}:{})",
                rule.decision,
                shown::line(&rule.prefix),
                rule.line
            );
        }
        match writeln!(out, "{text}") {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(true),
            written => written.map(|()| true),
        }
    }

    fn answer(&self, id: Value, argv: &[String], escalated: bool) -> Answer {
        let decided = decide(&Case {
            argv,
            scene: Scene {
                env: &self.env,
                kept: Some(&self.kept),
                ..Scene::at(self.cwd)
            },
            approval: self.approval,
            sandbox: &self.sandbox,
            escalated,
            grants: &self.grants,
            rules: self.rules,
            walls: self.walls,
            beside: None,
        });
        let confined = match &decided.verdict {
            Verdict::Run(confined) | Verdict::Ask { confined, .. } => *confined,
            Verdict::Refuse { .. } => Confined::Workspace,
        };
        // Where a rule lets it out, it is not its label that does.
        let label = match decided.rule {
            Some(_) => decided.judgement.label,
            None => decided.judgement.label_when(confined),
        };
        let Judgement { parts, .. } = decided.judgement;
        let why = || {
            let part = parts.iter().find(|part| part.label == label)?;
            let text = shell_text(argv).unwrap_or(&part.text);
            let what = if parts.len() > 1 { part.text.as_str() } else { text };
            part.why.as_ref().map(|why| format!("`{what}` {why}."))
        };
        let (verdict, confined, reason) = match decided.verdict {
            Verdict::Run(confined) => ("run", Some(confined), why()),
            Verdict::Ask { reason, confined, .. } => ("ask", Some(confined), Some(reason)),
            Verdict::Refuse { reason } => ("refuse", None, Some(reason)),
        };
        Answer {
            id,
            label,
            verdict,
            confined,
            reason,
            rule: decided.rule.map(Named::of),
            parts,
        }
    }
}

/// Reads up to the end of a line. False if it was too long: then it was passed over.
fn read_line(input: &mut impl io::BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    let mut whole = true;
    loop {
        let buffer = match input.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            buffer => buffer?,
        };
        if buffer.is_empty() {
            if !whole {
                line.push(b'?');
            }
            return Ok(whole);
        }
        let end = buffer.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        let taken = end.unwrap_or(buffer.len());
        if line.len() + taken > MOST_LINE {
            whole = false;
            line.truncate(0);
            line.push(b' ');
        }
        if whole {
            line.extend_from_slice(&buffer[..taken]);
        }
        input.consume(taken);
        if end.is_some() {
            // What is left of a line that was passed over is a mark that there was one.
            if !whole {
                line.push(b'?');
            }
            return Ok(whole);
        }
    }
}

/// Shows what is in force. False if something is broken.
fn show(rules: &Rules, mut out: impl Write) -> io::Result<bool> {
    for rule in rules.iter() {
        let out_of_sandbox = if rule.outside { ", outside the sandbox" } else { "" };
        let reason = rule
            .reason
            .as_ref()
            .map(|reason| format!("  # {reason}"))
            .unwrap_or_default();
        // A project's words are among them: no line of their own, and nothing that hides.
        let words = shown::line(&format!(
            "{}{out_of_sandbox}  ({}){reason}",
            rule.in_words(),
            rule.place
        ));
        writeln!(out, "{:5}  {words}", rule.decision.as_str())?;
    }
    for standing in rules.permissions() {
        let permission = serde_json::to_string(&standing.permission)?;
        let folder = standing
            .folder
            .as_ref()
            .map_or_else(|| "everywhere".to_owned(), |folder| folder.display().to_string());
        let words = shown::line(&format!("{permission}  in {folder}  ({})", standing.place));
        writeln!(out, "permission  {words}")?;
    }
    if rules.iter().next().is_none() && rules.permissions().next().is_none() {
        writeln!(out, "There are no rules.")?;
    }
    for report in rules.reports() {
        writeln!(out, "broken  {}", report.in_words())?;
    }
    Ok(rules.reports().is_empty())
}
