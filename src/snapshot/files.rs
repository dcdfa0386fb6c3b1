//! Writing the room's own small files, so that a reader sees the old or the new one and never a half.

use crate::private;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// Puts a file in the place of another in one step.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let beside = path.with_extension(format!("new-{}-{count}", std::process::id()));
    let done = private::write(&beside, bytes).and_then(|()| std::fs::rename(&beside, path));
    if done.is_err() {
        let _gone = std::fs::remove_file(&beside);
    }
    done
}
