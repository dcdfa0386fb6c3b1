//! Which chat documents are this person's: for each file that the editor has saved, or that this server took up a conversation in,
//! which conversation that is, what the file last held by the editor's own word, and what of it is somebody else's. Kept in the home
//! folder, which neither the agent nor a sandboxed command can write, one file for each document.

use crate::patch::disk::hexadecimal;
use crate::private;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The folder, among the chats of the home folder.
const FOLDER: &str = "known";

/// What is known of one document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// The file; a copy of it elsewhere is another document.
    pub path: PathBuf,
    /// The digest of the links that led there: where they lead can be changed by whoever cannot change the file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub links: String,
    /// The conversation that was taken up in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// The digest of what the editor last saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The lines of it, by their numbers from 0, that somebody else wrote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Range<usize>>,
}

/// The digest of a text, whatever its line ends are and however its lines and itself end: editors differ in those.
pub fn digest(text: &str) -> String {
    let text = text.trim_start_matches('\u{feff}').trim_end().replace("\r\n", "\n");
    let mut digest = Sha256::new();
    for line in text.split(['\n', '\r']) {
        digest.update(line.trim_end_matches([' ', '\t']).as_bytes());
        digest.update(b"\n");
    }
    hexadecimal(&digest.finalize())
}

fn file(home: &Path, path: &Path) -> PathBuf {
    let name = hexadecimal(&Sha256::digest(path.as_os_str().as_encoded_bytes()));
    home.join("chats").join(FOLDER).join(format!("{name}.json"))
}

/// What is known of the document with this real path; nothing of one that is not this person's.
pub fn read(home: &Path, path: &Path) -> Option<Known> {
    let known: Known = serde_json::from_slice(&std::fs::read(file(home, path)).ok()?).ok()?;
    Some(known).filter(|known| known.path == path)
}

/// Keeps what is known of a document.
///
/// # Errors
/// The home folder cannot be written.
pub fn keep(home: &Path, known: &Known) -> io::Result<()> {
    let file = file(home, &known.path);
    let folder = file.parent().unwrap_or(home);
    private::make_folder(folder)?;
    let beside = file.with_extension(format!("{}.new", std::process::id()));
    let written = private::write(&beside, serde_json::to_vec(known)?).and_then(|()| std::fs::rename(&beside, &file));
    if written.is_err() {
        // What is left of it would stay for ever.
        let _may_be_missing = std::fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_known_by_its_place() {
        let home = tempfile::tempdir().expect("a folder");
        let known = Known {
            path: "/w/a.countersign.md".into(),
            links: String::new(),
            thread: Some("1".to_owned()),
            text: Some(digest("a\r\nb\n")),
            others: vec![Range { start: 1, end: 2 }],
        };
        assert_eq!(read(home.path(), &known.path), None);
        keep(home.path(), &known).expect("kept");
        assert_eq!(read(home.path(), &known.path), Some(known.clone()));
        assert_eq!(read(home.path(), Path::new("/w/copy.countersign.md")), None);
        assert_eq!(known.text, Some(digest("\u{feff}a\nb")));
        assert_eq!(known.text, Some(digest("a \rb\t\n\n")));
        for other in ["a\nb\n!c", "a\n b", "a\n\nb", "ab"] {
            assert_ne!(known.text, Some(digest(other)), "{other:?}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_not_known() {
        let home = tempfile::tempdir().expect("a folder");
        let path = Path::new("/w/a.countersign.md");
        let file = file(home.path(), path);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        for content in ["", "{", "null", "[]", r#"{"path":"/w/b.countersign.md"}"#] {
            std::fs::write(&file, content).expect("written");
            assert_eq!(read(home.path(), path), None, "{content}");
        }
    }
}
