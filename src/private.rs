//! What is the person's alone: files and folders that are made so whatever the umask says, and what was made otherwise.
//!
//! Who can write the home folder can say what the person says: settings, rules, logins. So what others can write there does
//! not count, and says how to close it.

use crate::owners::changed_by_others;
use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The folder of a home that holds what counts as the person's word beside their files of settings.
const HELD: &str = "private";
/// Folders that count as the person's word: what others may have put there is not made theirs by closing them.
const BELIEVED: [&str; 2] = ["prompts", "rules"];

/// Somebody else can write what only the person should, or owns it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenToOthers {
    pub path: PathBuf,
    /// Who, as the beginning of a sentence.
    pub who: &'static str,
    pub mode: u32,
    /// Whether the person owns it.
    is_own: bool,
}

impl fmt::Display for OpenToOthers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (who, path, mode) = (first_upper(self.who), self.path.display(), self.mode);
        let advice = self.advice();
        write!(
            f,
            "{who} {path} (mode {mode:04o}), so what it holds is not used. {advice}"
        )
    }
}

impl std::error::Error for OpenToOthers {}

impl OpenToOthers {
    /// What to do about it.
    fn advice(&self) -> String {
        let path = quoted(&self.path);
        match self.is_own {
            true => format!("Check that all of it is yours, then run `chmod go-w {path}`."),
            false => format!("If it is yours, run `sudo chown \"$(id -un)\" {path} && chmod go-w {path}`."),
        }
    }
}

fn first_upper(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(characters).collect()
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | '@' | ',' | ':');
    match text.chars().all(is_plain) {
        true => text.into_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// Whether others can change a file or folder, or have put a link in its place. What is not there is no trouble.
///
/// # Errors
/// They can.
pub fn check(path: &Path) -> Result<(), OpenToOthers> {
    // The link first: where it leads may be somebody else's choice.
    for found in [fs::symlink_metadata(path), fs::metadata(path)].into_iter().flatten() {
        if let Some(who) = changed_by_others(&found, true) {
            return Err(OpenToOthers {
                path: path.to_owned(),
                who,
                mode: mode(&found),
                is_own: !who.contains("owns"),
            });
        }
    }
    Ok(())
}

/// The same for a home folder and for what lies in its private folder.
///
/// # Errors
/// Others can change it.
pub fn check_home(home: &Path) -> Result<(), OpenToOthers> {
    check(home)?;
    let held = home.join(HELD);
    check(&held)?;
    let entries = fs::read_dir(held).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).try_for_each(|path| check(&path))
}

/// Makes the home folder where it is missing. Folders in it that only we write are closed where an earlier version has left
/// them open.
///
/// # Errors
/// Others can change it. That it cannot be made is found by who writes into it.
pub fn make_home(home: &Path) -> Result<(), OpenToOthers> {
    if let Err(error) = make_folder(home) {
        tracing::debug!(%error, "the home folder cannot be made");
    }
    check(home)?;
    for entry in fs::read_dir(home).into_iter().flatten().flatten() {
        let is_believed = BELIEVED.iter().any(|name| entry.file_name() == *name);
        // Not through a link: that folder is somebody's choice.
        if !is_believed && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            close(&entry.path());
        }
    }
    Ok(())
}

#[cfg(unix)]
fn mode(found: &fs::Metadata) -> u32 {
    std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o7777
}

#[cfg(not(unix))]
fn mode(_found: &fs::Metadata) -> u32 {
    0
}

/// Takes from others the right to write in a folder of the person's.
#[cfg(unix)]
fn close(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    if !check(folder).is_err_and(|trouble| trouble.is_own) {
        return;
    }
    let Ok(found) = fs::symlink_metadata(folder) else {
        return;
    };
    let closed = fs::Permissions::from_mode(mode(&found) & !0o022);
    if let Err(error) = fs::set_permissions(folder, closed) {
        tracing::warn!(path = %folder.display(), %error, "a folder that others can write could not be closed");
    }
}

#[cfg(not(unix))]
fn close(_folder: &Path) {}

/// Makes a folder, and those around it that are missing, for the person alone.
///
/// # Errors
/// It cannot be made.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// How a file is opened that is the person's alone where it has to be made.
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// A new file for the person alone.
///
/// # Errors
/// There is one already, or it cannot be made.
pub fn create_new(path: &Path) -> io::Result<File> {
    options().write(true).create_new(true).open(path)
}

/// Puts a file for the person alone in the place of another in one step: who reads it sees the old or the new one, never a
/// half.
///
/// # Errors
/// It cannot be written; the old one is there as before.
pub fn replace(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let beside = path.with_extension(format!("new-{}-{count}", std::process::id()));
    let done = write(&beside, bytes).and_then(|()| std::fs::rename(&beside, path));
    if done.is_err() {
        let _gone = std::fs::remove_file(&beside);
    }
    done
}

/// Writes a file; a new one is for the person alone.
///
/// # Errors
/// It cannot be written.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    let mut file = options().write(true).create(true).truncate(true).open(path)?;
    file.write_all(bytes.as_ref())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set");
    }

    #[test]
    fn what_others_can_write_is_named_with_its_mode_and_what_to_run() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("a file's");
        fs::write(&file, "x").expect("written");
        for (mode, is_open) in [
            (0o600, false),
            (0o644, false),
            (0o755, false),
            (0o602, true),
            (0o666, true),
        ] {
            set(&file, mode);
            let said = check(&file).err().map(|trouble| trouble.to_string());
            assert_eq!(said.is_some(), is_open, "{mode:o}");
            if let Some(said) = said {
                let command = format!("chmod go-w '{}/a file'\\''s'", dir.path().display());
                assert!(
                    said.contains(&format!("(mode {mode:04o})")) && said.contains(&command),
                    "{said}"
                );
            }
        }
        check(&dir.path().join("not there")).expect("no trouble");
    }

    /// A folder of everybody's is open even where nobody else can move what is in it: new names can be put there.
    #[test]
    fn a_home_is_refused_and_what_only_we_write_in_it_is_closed() {
        let dir = tempfile::tempdir().expect("a folder");
        let home = dir.path().join("home");
        make_home(&home).expect("made");
        assert_eq!(mode(&fs::metadata(&home).expect("there")), 0o700);
        for mode in [0o777, 0o1777] {
            set(&home, mode);
            assert!(make_home(&home).is_err(), "{mode:o}");
        }
        set(&home, 0o755);
        for name in ["log", "rules", "private"] {
            fs::create_dir(home.join(name)).expect("mkdir");
        }
        set(&home.join("log"), 0o777);
        set(&home.join("rules"), 0o777);
        make_home(&home).expect("only what we write is open");
        assert_eq!(mode(&fs::metadata(home.join("log")).expect("there")), 0o755);
        assert_eq!(mode(&fs::metadata(home.join("rules")).expect("there")), 0o777);
        let login = home.join("private/auth.json");
        fs::write(&login, "{}").expect("written");
        set(&login, 0o666);
        assert_eq!(check_home(&home).expect_err("open").path, login);
        set(&login, 0o600);
        set(&home.join("private"), 0o777);
        assert_eq!(check_home(&home).expect_err("open").path, home.join("private"));
        make_home(&home).expect("it is closed");
        check_home(&home).expect("nothing is open");
    }

    /// Only root can make what somebody else owns.
    #[test]
    fn what_another_user_owns_is_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("config.toml");
        fs::write(&file, "").expect("written");
        if !rustix::process::geteuid().is_root() || std::os::unix::fs::chown(&file, Some(65_533), None).is_err() {
            return;
        }
        let said = check(&file).expect_err("another's").to_string();
        assert!(
            said.starts_with("Another user owns ") && said.contains("chown"),
            "{said}"
        );
    }
}
