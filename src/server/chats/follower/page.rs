//! The page that shows words for which no question has room: the person reads it, and sends again while it is open.

use super::Follower;
use super::ask::{FOLLOW, NOTHING, SEND, WITHOUT, header};
use super::trust::Asked;
use crate::chat::text::fenced;
use crate::private;
use crate::shown;
use crate::store::documents::digest;
use crate::workspace::uri;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Columns of a line of the page, so that nothing stands far to the right.
const WIDTH: usize = 100;
/// Pages that are kept in the home folder.
const KEPT: usize = 20;

/// The words, in lines that fit, with a sign where one of theirs ends.
fn words(words: &str) -> String {
    let mut page = String::new();
    for line in shown::lines(words).split('\n') {
        for (number, c) in line.chars().enumerate() {
            if number > 0 && number.is_multiple_of(WIDTH) {
                page.push('\n');
            }
            page.push(c);
        }
        page.push_str(" ⏎\n");
    }
    page
}

/// The whole page.
fn page(name: &str, asked: &Asked, conversation: Option<&str>) -> String {
    let mut page = format!(
        "# Not all of these words are yours\n\nThey stand at the end of {name}, and somebody else wrote some of them. To send them, \
         choose Send there while this page is open. A line of theirs ends where ⏎ stands, and goes on below where it does not. The page \
         is only to be read.\n\n"
    );
    if !asked.fields.is_empty() {
        page.push_str(&format!("{}\n\n", header(asked, conversation, usize::MAX)));
    }
    if asked.words.starts_with('!') {
        page.push_str("This command would run with your rights, outside of the sandbox:\n\n");
    }
    page.push_str(&fenced("text", &words(&asked.words)));
    page
}

/// Writes a page, for its owner only and not to be changed; of the older ones some are removed.
fn write(path: &Path, page: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    private::make_folder(folder)?;
    if fs::read_to_string(path).is_ok_and(|there| there == page) {
        return Ok(());
    }
    let mut old: Vec<_> = fs::read_dir(folder)?
        .flatten()
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    old.sort();
    for (_, file) in old.iter().take((old.len() + 1).saturating_sub(KEPT)) {
        // It may be gone already, and one too many does no harm.
        let _gone = fs::remove_file(file);
    }
    // One that was left half written.
    let _may_be_missing = fs::remove_file(path);
    let mut file = private::create_new(path)?;
    io::Write::write_all(&mut file, page.as_bytes())?;
    let mut rights = file.metadata()?.permissions();
    rights.set_readonly(true);
    file.set_permissions(rights)
}

impl Follower {
    /// The question about words that are all shown in a page, if that is open as it was written; else it is shown, with `why`.
    pub(super) async fn question_by_page(
        &self,
        asked: &Asked,
        conversation: Option<&str>,
        why: &str,
    ) -> Result<(String, Vec<&'static str>), String> {
        let name = self.name();
        let text = page(&name, asked, conversation);
        let folder = self.session.agent().services().home.join("pages");
        let path: PathBuf = folder.join(format!("{}.md", &digest(&text)[..16]));
        let open = self.session.workspace().document(&path);
        if open.is_some_and(|document| document.text().replace("\r\n", "\n") == text) {
            let message = format!(
                "{name} was not written by your Countersign, or somebody else has changed it. All that would be sent in your name is in the \
                 page {}, which is open.",
                shown::path(&path)
            );
            let choices = match asked.fields.is_empty() {
                true => vec![NOTHING, SEND],
                false => vec![NOTHING, WITHOUT, FOLLOW],
            };
            return Ok((message, choices));
        }
        let (place, content) = (path.clone(), text);
        let writing = tokio::task::spawn_blocking(move || write(&place, &content)).await;
        if let Err(error) = writing.map_err(io::Error::other).and_then(|written| written) {
            return Err(format!(
                "{why} They cannot be shown in a page of their own either: {error}. Put words of your own in their place."
            ));
        }
        let is_shown = self
            .session
            .presenter()
            .show_document(&uri::from_path(&path), None, true)
            .await;
        Err(match is_shown {
            true => format!(
                "{why} The page that is shown now has all of them: read it, and choose Send here again while it is open."
            ),
            false => format!(
                "{why} All of them are in the file {}: open it, read it, and choose Send here again while it is open.",
                shown::path(&path)
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_shows_all_of_the_words() {
        let asked = Asked {
            words: format!(
                "!true{}; touch made\n```\n\u{202e}b\n\n{}",
                " ".repeat(300),
                "x".repeat(250)
            ),
            not_theirs: true,
            fields: vec![("folder".to_owned(), "/x".repeat(300))],
        };
        let page = page("a.countersign.md", &asked, None);
        assert!(page.contains("outside of the sandbox"), "{page}");
        assert!(page.contains(&"/x".repeat(300)), "{page}");
        assert!(page.contains("touch made ⏎\n``` ⏎\n<U+202E>b ⏎\n ⏎\n"), "{page}");
        // Nothing of it ends the fence, and none of it is far to the right.
        assert!(page.contains("````text\n") && page.ends_with(" ⏎\n````\n"), "{page}");
        let (_, words) = page.split_once("````text\n").expect("a fence");
        assert!(words.lines().all(|line| line.chars().count() <= WIDTH + 2), "{page}");
        assert_eq!(words.matches('x').count(), 250);
    }

    #[test]
    fn pages_are_written_once_and_not_kept_for_ever() {
        let home = tempfile::tempdir().expect("a folder");
        for number in 0..KEPT + 5 {
            let path = home.path().join("pages").join(format!("{number}.md"));
            for _ in 0..2 {
                write(&path, "words").expect("written");
            }
            assert_eq!(fs::read_to_string(&path).expect("there"), "words");
        }
        let kept = fs::read_dir(home.path().join("pages")).expect("a folder").count();
        assert_eq!(kept, KEPT);
    }
}
