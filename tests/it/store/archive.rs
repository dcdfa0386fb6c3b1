//! A thread's own file is put away and taken out again.

use super::{ID, file_of, id_of, meta_line, words_line};
use countersign::ids::ThreadId;
use countersign::store::{self, StoreError};
use std::path::Path;

/// Shows S-313, S-315.
#[test]
fn only_a_threads_own_file_is_archived() {
    let home = tempfile::tempdir().unwrap();
    let id = ThreadId::from(ID);
    let path = file_of(home.path(), ID, &[meta_line(ID), words_line("Hi")]);
    let outside = home.path().join(format!("rollout-2026-01-01T00-00-00-{ID}.jsonl"));
    std::fs::copy(&path, &outside).unwrap();
    let link = path.with_file_name(format!("rollout-2026-01-02T00-00-00-{ID}.jsonl"));
    std::os::unix::fs::symlink(&outside, &link).unwrap();
    let folder = path.with_file_name(format!("rollout-2026-01-03T00-00-00-{ID}.jsonl"));
    std::fs::create_dir(&folder).unwrap();
    let other = ThreadId::from(id_of(7));
    let rows: [(&ThreadId, &Path, &str); 5] = [
        (&id, &outside, "outside"),
        (&id, &link, "outside"),
        (&id, &folder, "not a plain file"),
        (&other, &path, "does not end with the id"),
        (&id, Path::new("sessions/nothing.jsonl"), "no stored thread"),
    ];
    for (id, path, part) in rows {
        let error = store::archive::archive_file(home.path(), id, path).unwrap_err();
        assert!(error.is_bad_request() && error.to_string().contains(part), "{error}");
    }
    let bad = store::archive::archive(home.path(), &ThreadId::from("no id")).unwrap_err();
    assert!(matches!(bad, StoreError::BadId { .. }));
    std::fs::remove_file(&link).unwrap();
    std::fs::remove_dir(&folder).unwrap();
    // A file that is there already is never written over.
    let to = home.path().join("archived_sessions").join(path.file_name().unwrap());
    std::fs::create_dir(to.parent().unwrap()).unwrap();
    std::fs::write(&to, "precious").unwrap();
    let error = store::archive::archive(home.path(), &id).unwrap_err();
    assert!(matches!(error, StoreError::Move { .. }), "{error}");
    assert_eq!(std::fs::read_to_string(&to).unwrap(), "precious");
    std::fs::remove_file(&to).unwrap();
    let text = std::fs::read(&path).unwrap();
    assert_eq!(store::archive::archive(home.path(), &id).unwrap(), to);
    assert_eq!(std::fs::read(&to).unwrap(), text);
    assert!(!path.exists());
    assert!(matches!(
        store::archive::archive(home.path(), &id),
        Err(StoreError::Archived { .. })
    ));
    let back = store::archive::unarchive(home.path(), &id).unwrap();
    assert_eq!(std::fs::read(&back).unwrap(), text);
    assert_eq!(
        back.parent().unwrap().strip_prefix(home.path()).unwrap(),
        Path::new("sessions/2025/05/07")
    );
}
