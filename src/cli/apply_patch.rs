//! `countersign apply-patch`: a patch carried out on the disk at once, with the same reading, planning and writing as
//! everywhere else, and nobody asked.
//!
//! It also runs when the program is started under the name `apply_patch`, since that is how models call it. As it is
//! one of many small steps of a script, it starts without the large parser of the command line where it can.

use crate::patch::disk::{CommitError, DiskChange, Transaction, commit, journal_folder, journal_path, recover};
use crate::patch::files::{DiskFiles, FileText, Files, ReadError, Whole, absolute};
use crate::patch::parse::parse;
use crate::patch::plan::error::PlanError;
use crate::patch::plan::{FilePlan, plan};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal as _, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The subcommand.
pub const NAME: &str = "apply-patch";

const EXIT_USAGE: u8 = 2;
const USAGE: &str = "give the patch as the one argument, or on standard input; see countersign apply-patch --help";

#[derive(Debug, Default, PartialEq, Eq, clap::Args)]
pub struct Args {
    /// The folder below which relative paths are; the current one by default.
    #[arg(long, value_name = "DIR")]
    cd: Option<PathBuf>,
    /// A folder in which files may be changed, links followed; by default the folder of --cd. `--root /` allows all.
    #[arg(long = "root", value_name = "DIR")]
    roots: Vec<PathBuf>,
    /// Say what would happen and change nothing.
    #[arg(long, alias = "dry-run")]
    check: bool,
    /// The patch: from `*** Begin Patch` to `*** End Patch`, or a unified diff; by default, standard input.
    #[arg(allow_hyphen_values = true)]
    patch: Option<OsString>,
}

/// Whether the program was started under the name of this tool.
pub fn is_name(program: &OsStr) -> bool {
    let name = Path::new(program).file_stem().and_then(OsStr::to_str);
    matches!(name, Some("apply_patch" | "applypatch"))
}

/// Runs with the words after the subcommand's name.
pub fn run_words(words: Vec<OsString>) -> ExitCode {
    match Args::from_plain(&words) {
        Some(args) => run(args),
        None => {
            let before = ["countersign", NAME].map(OsString::from);
            super::run(clap::Parser::parse_from(before.into_iter().chain(words)))
        }
    }
}

impl Args {
    /// Reads what needs no explanation: options as they are documented, and one patch. Nothing for anything else, such
    /// as `--help` or a mistake, which the large parser explains.
    fn from_plain(words: &[OsString]) -> Option<Self> {
        let mut args = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.as_encoded_bytes() {
                b"--cd" if args.cd.is_none() => args.cd = Some(PathBuf::from(value(words.next()?)?)),
                b"--root" => args.roots.push(PathBuf::from(value(words.next()?)?)),
                b"--check" | b"--dry-run" if !args.check => args.check = true,
                // The name line of a diff; any other dash is an option, or wrong.
                [b'-', b'-', b'-', b' ', ..] => args.set_patch(word)?,
                [b'-', ..] => return None,
                _ => args.set_patch(word)?,
            }
        }
        Some(args)
    }

    fn set_patch(&mut self, word: &OsString) -> Option<()> {
        self.patch.is_none().then(|| self.patch = Some(word.clone()))
    }
}

/// An option's value; what looks like another option is left to the large parser.
fn value(word: &OsString) -> Option<&OsString> {
    (!word.as_encoded_bytes().starts_with(b"-")).then_some(word)
}

pub fn run(args: Args) -> ExitCode {
    let text = match patch_text(args.patch.as_deref()) {
        Ok(text) => text,
        Err(failure) => return failure.tell(),
    };
    match apply(&args, &text) {
        Ok(summary) => {
            let mut out = std::io::stdout().lock();
            // Whoever has stopped reading knows enough; the files are as they should be.
            let summary = crate::shown::text(&summary);
            let _closed = out.write_all(summary.as_bytes()).and_then(|()| out.flush());
            ExitCode::SUCCESS
        }
        Err(message) => Failure { message, status: 1 }.tell(),
    }
}

struct Failure {
    message: String,
    status: u8,
}

impl Failure {
    fn usage(message: &str) -> Self {
        Self {
            message: message.to_owned(),
            status: EXIT_USAGE,
        }
    }

    fn tell(&self) -> ExitCode {
        tell(&self.message);
        ExitCode::from(self.status)
    }
}

fn tell(message: &str) {
    // Names of files and lines of the patch are among it.
    let message = crate::shown::text(message);
    // Without a standard error there is nobody to tell; the exit status says the rest.
    let _closed = writeln!(std::io::stderr(), "countersign apply-patch: {message}");
}

fn patch_text(argument: Option<&OsStr>) -> Result<String, Failure> {
    let bytes = match argument {
        Some(word) => {
            let bytes = word.as_encoded_bytes();
            if bytes.starts_with(b"-") && !bytes.contains(&b'\n') {
                let word = word.display();
                return Err(Failure::usage(&format!("there is no option {word}; {USAGE}")));
            }
            bytes.to_vec()
        }
        None => {
            let mut input = std::io::stdin().lock();
            if input.is_terminal() {
                return Err(Failure::usage(&format!("there is no patch; {USAGE}")));
            }
            let mut bytes = Vec::new();
            input.read_to_end(&mut bytes).map_err(|error| Failure {
                message: format!("the patch cannot be read from standard input ({error}); send it again"),
                status: 1,
            })?;
            bytes
        }
    };
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Failure::usage(&format!("there is no patch; {USAGE}")));
    }
    String::from_utf8(bytes).map_err(|error| Failure {
        message: format!(
            "invalid patch: it is not UTF-8 text (first at byte {}); only text in UTF-8 can be patched",
            error.utf8_error().valid_up_to()
        ),
        status: 1,
    })
}

/// Carries the patch out and says what it did.
fn apply(args: &Args, text: &str) -> Result<String, String> {
    let cwd = folder(args.cd.as_deref().unwrap_or(Path::new(".")))?;
    let mut roots = Vec::with_capacity(args.roots.len().max(1));
    for root in &args.roots {
        roots.push(folder(root)?);
    }
    if roots.is_empty() {
        roots.push(cwd.clone());
    }
    for root in &mut roots {
        *root = std::fs::canonicalize(&*root)
            .map_err(|error| format!("{}: this folder cannot be found ({error})", root.display()))?;
    }
    let home = super::home();
    if !args.check {
        put_right(home.as_deref(), &roots);
    }
    let patch = parse(text).map_err(|error| format!("{error}. No file was changed."))?;
    let mut planned = plan(&patch, &cwd, &Within::new(&roots)).map_err(|error| match is_outside(&error) {
        true => format!("{error} To allow it, name a folder with --root."),
        false => error.to_string(),
    })?;
    planned.files.retain(|file| !file.is_noop());
    if planned.files.is_empty() {
        tell("nothing to do: the files hold already what the patch would put there");
    }
    let summary = planned.summary(&cwd);
    if !args.check && !planned.files.is_empty() {
        let transaction = Transaction {
            changes: planned.files.into_iter().map(disk_change).collect(),
            journal: Some(journal_path(home.as_deref(), &roots[0])),
            roots,
            ..Transaction::default()
        };
        commit(&transaction).map_err(|error: CommitError| error.to_string())?;
    }
    Ok(summary)
}

/// Takes back what others have left half done that were killed: those whose journals are in the home folder, and those
/// in the roots that had none.
fn put_right(home: Option<&Path>, roots: &[PathBuf]) {
    let of_home = home.map(|home| recover(&journal_folder(home), None));
    let of_roots = roots.iter().flat_map(|root| recover(root, Some(roots)));
    let all = of_home.into_iter().flatten().chain(of_roots);
    all.filter_map(|recovery| recovery.in_words())
        .for_each(|words| tell(&words));
}

fn is_outside(error: &PlanError) -> bool {
    match error {
        PlanError::Read { source, .. } => matches!(source, ReadError::Outside { .. }),
        PlanError::Several { first, .. } => is_outside(first),
        _ => false,
    }
}

/// A folder by its whole name. Its links stay, so that what is shown is what was named.
fn folder(name: &Path) -> Result<PathBuf, String> {
    let folder = if name.is_absolute() {
        absolute(Path::new("/"), name)
    } else {
        let here = std::env::current_dir()
            .map_err(|error| format!("the current folder cannot be found ({error}); name one with --cd"))?;
        absolute(&here, name)
    };
    match std::fs::metadata(&folder) {
        Ok(meta) if meta.is_dir() => Ok(folder),
        Ok(_) => Err(format!(
            "{}: it is not a folder; name one that exists",
            folder.display()
        )),
        Err(error) => Err(format!(
            "{}: this folder cannot be entered ({error}); name one that exists",
            folder.display()
        )),
    }
}

/// The whole of a planned file.
fn disk_change(mut file: FilePlan) -> DiskChange {
    if file.before.is_none() {
        file.mode = file.mode.map(as_allowed);
    }
    DiskChange::of(file)
}

/// The permission bits of a new file, without those that this process gives to none.
#[cfg(unix)]
#[allow(
    clippy::useless_conversion,
    reason = "the bits are of a narrower type on some systems"
)]
fn as_allowed(mode: u32) -> u32 {
    use rustix::fs::Mode;
    // It can only be read by setting it; nothing else runs here that could see the difference.
    let mask = rustix::process::umask(Mode::empty());
    rustix::process::umask(mask);
    mode & !u32::from(mask.bits())
}

#[cfg(not(unix))]
fn as_allowed(mode: u32) -> u32 {
    mode
}

/// The disk, but only as far as the roots reach: nothing outside is even read.
struct Within<'r> {
    /// With links resolved.
    roots: &'r [PathBuf],
    /// Folders with their links resolved: many files share one, and to follow links costs more than to read a file.
    folders: RefCell<HashMap<PathBuf, PathBuf>>,
}

impl<'r> Within<'r> {
    fn new(roots: &'r [PathBuf]) -> Self {
        let folders = RefCell::default();
        Self { roots, folders }
    }
}

impl Files for Within<'_> {
    fn read(&self, path: &Path) -> Result<Option<FileText>, ReadError> {
        let real = self.real(path);
        if self.roots.iter().any(|root| real.starts_with(root)) {
            DiskFiles.read(path)
        } else {
            Err(ReadError::Outside { real })
        }
    }

    fn whole(&self, path: &Path) -> Result<Option<Whole>, ReadError> {
        let real = self.real(path);
        if self.roots.iter().any(|root| real.starts_with(root)) {
            DiskFiles.whole(path)
        } else {
            Err(ReadError::Outside { real })
        }
    }

    fn mode(&self, path: &Path) -> Option<u32> {
        DiskFiles.mode(path)
    }

    fn real(&self, path: &Path) -> PathBuf {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return DiskFiles.real(path);
        };
        let mut folders = self.folders.borrow_mut();
        match folders.get(folder) {
            Some(real) => real.join(name),
            None => {
                let real = DiskFiles.real(path);
                let above = real.parent().unwrap_or(&real).to_owned();
                folders.insert(folder.to_owned(), above);
                real
            }
        }
    }

    fn same_entry(&self, a: &Path, b: &Path) -> bool {
        DiskFiles.same_entry(a, b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Large {
        #[command(flatten)]
        args: Args,
    }

    /// The short way may know less than the large parser, but never something else.
    #[test]
    fn both_ways_read_the_same() {
        let patch = "*** Begin Patch\n*** End Patch";
        let plain: &[&[&str]] = &[
            &[],
            &[patch],
            &["--cd", "d", patch],
            &["--root", "a", "--root", "b", "--check", patch],
            &["--dry-run"],
            &[patch, "--cd", "d"],
            &["--- a/f\n+++ b/f\n"],
        ];
        for words in plain {
            let given: Vec<OsString> = words.iter().map(OsString::from).collect();
            let large = Large::try_parse_from(["x"].into_iter().chain(words.iter().copied())).expect("reads");
            assert_eq!(Args::from_plain(&given).as_ref(), Some(&large.args), "{words:?}");
        }
        let left: &[&[&str]] = &[
            &["--help"],
            &["-h"],
            &[patch, patch],
            &["--cd"],
            &["--cd", "--root"],
            &["--cd", "a", "--cd", "b"],
            &["--bogus"],
            &["--cd=d"],
            &["-"],
            &["--", patch],
        ];
        for words in left {
            let given: Vec<OsString> = words.iter().map(OsString::from).collect();
            assert_eq!(Args::from_plain(&given), None, "{words:?}");
        }
    }

    #[test]
    fn knows_its_names() {
        for name in ["apply_patch", "/usr/bin/apply_patch", "applypatch", "apply_patch.exe"] {
            assert!(is_name(OsStr::new(name)), "{name}");
        }
        for name in ["countersign", "apply", "", "/apply_patch/countersign"] {
            assert!(!is_name(OsStr::new(name)), "{name}");
        }
    }
}
