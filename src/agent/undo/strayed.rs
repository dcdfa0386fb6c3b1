//! An undo goes back to where a file was, not to where a link leads that has taken the place of its folder since.

use crate::ids::TurnId;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// When a turn began: its id says it. Nothing of one that does not.
fn began(turn: &TurnId) -> Option<Duration> {
    let id = uuid::Uuid::parse_str(turn.as_str()).ok()?;
    let (seconds, nanoseconds) = id.get_timestamp()?.to_unix();
    Some(Duration::new(seconds, nanoseconds))
}

/// The first link in the place of a folder on the way to one of these paths that is not older than all of the turns. Where it cannot be told
/// when they began any link is one. Waits for the disk.
pub(super) fn first_link<'p>(paths: impl Iterator<Item = &'p Path>, turns: &[TurnId]) -> Option<PathBuf> {
    let since = turns
        .iter()
        .map(began)
        .try_fold(Duration::MAX, |first, at| Some(first.min(at?)));
    let since = since.unwrap_or(Duration::ZERO);
    let mut folders = paths.flat_map(|path| path.ancestors().skip(1));
    folders.find(|folder| is_link_since(folder, since)).map(Path::to_owned)
}

#[cfg(unix)]
fn is_link_since(place: &Path, since: Duration) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let Ok(found) = std::fs::symlink_metadata(place) else {
        return false;
    };
    // Nobody can set back when a link was made or moved.
    let changed = Duration::new(
        u64::try_from(found.ctime()).unwrap_or_default(),
        u32::try_from(found.ctime_nsec()).unwrap_or_default(),
    );
    found.is_symlink() && changed >= since
}

#[cfg(not(unix))]
fn is_link_since(_place: &Path, _since: Duration) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_that_was_there_before_is_the_persons() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("real")).expect("made");
        symlink("real", at("old")).expect("a link");
        std::thread::sleep(Duration::from_millis(20));
        let turns = [TurnId::fresh()];
        std::thread::sleep(Duration::from_millis(20));
        symlink(".", at("new")).expect("a link");
        let found = |name: &str| first_link([at(name).as_path()].into_iter(), &turns);
        assert_eq!(found("old/x"), None);
        assert_eq!(found("real/deep/x"), None);
        // The last part is what is written, not the way to it.
        assert_eq!(found("new"), None);
        assert_eq!(found("new/x"), Some(at("new")));
        assert_eq!(found("new/deep/x"), Some(at("new")));
        let untold = [TurnId::from("turn")];
        assert_eq!(
            first_link([at("old/x").as_path()].into_iter(), &untold),
            Some(at("old"))
        );
    }
}
