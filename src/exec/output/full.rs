//! All of a long output, in a file that the person can open. What is shown of an output has its middle cut out.

use super::plain;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{mpsc, oneshot};

/// Bytes of one output that are kept.
const MOST: usize = 64 << 20;
/// Bytes that may wait for a slow disk; what comes on top is not kept.
const BEHIND: usize = 8 << 20;
/// Bytes without the end of a line that are written all the same.
const LONG_LINE: usize = 64 << 10;

/// Where all of an output is kept, if it is longer than what is shown of it. A clone is the same; the default keeps nothing.
#[derive(Clone, Debug, Default)]
pub struct FullOutput(Option<Arc<Mutex<State>>>);

#[derive(Debug)]
struct State {
    path: PathBuf,
    /// Bytes that are shown anyway: an output that is no longer needs no file.
    shown: usize,
    /// What has come and is not handed to the writer: all of it while it is short, later the last line.
    waiting: String,
    bytes: usize,
    writer: Option<Writer>,
    /// Not all of it is kept.
    is_cut: bool,
}

#[derive(Debug)]
struct Writer {
    texts: mpsc::UnboundedSender<String>,
    /// Bytes that the disk does not have yet.
    behind: Arc<AtomicUsize>,
    end: oneshot::Receiver<io::Result<()>>,
}

impl FullOutput {
    /// Keeps an output of more than `shown` bytes in the file `path`, whose folder is made for the person alone.
    pub fn to(path: PathBuf, shown: usize) -> Self {
        Self(Some(Arc::new(Mutex::new(State {
            path,
            shown,
            waiting: String::new(),
            bytes: 0,
            writer: None,
            is_cut: false,
        }))))
    }

    fn state(&self) -> Option<MutexGuard<'_, State>> {
        Some(self.0.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes what has come. Does not wait for the disk.
    pub(crate) fn push(&self, text: &str) {
        if let Some(mut state) = self.state() {
            state.push(text);
        }
    }

    /// The output is over: its file, once all is in it; none if it was short, or could not be kept.
    pub(crate) async fn end(&self) -> Option<PathBuf> {
        let (path, end) = self.state()?.end()?;
        match end.await {
            Ok(Ok(())) => Some(path),
            Ok(Err(error)) => {
                tracing::warn!(path = %path.display(), %error, "the whole output of a command could not be kept");
                None
            }
            Err(_gone) => None,
        }
    }
}

impl State {
    fn push(&mut self, text: &str) {
        self.bytes += text.len();
        if self.is_cut {
            return;
        }
        self.waiting.push_str(text);
        if self.bytes <= self.shown {
            return;
        }
        let whole_lines = self.waiting.rfind('\n').map(|at| at + 1);
        let fits = whole_lines.unwrap_or(if self.waiting.len() > LONG_LINE {
            self.waiting.len()
        } else {
            0
        });
        let rest = self.waiting.split_off(fits);
        let lines = std::mem::replace(&mut self.waiting, rest);
        let behind = self.writer().behind.load(Ordering::Relaxed);
        if self.bytes > MOST || behind > BEHIND {
            self.is_cut = true;
            self.waiting.clear();
            self.write("[… the rest is not kept …]\n".to_owned());
        } else if !lines.is_empty() {
            self.write(lines);
        }
    }

    fn writer(&mut self) -> &Writer {
        let path = &self.path;
        self.writer.get_or_insert_with(|| start(path.clone()))
    }

    fn write(&mut self, text: String) {
        let writer = self.writer();
        writer.behind.fetch_add(text.len(), Ordering::Relaxed);
        // A writer that has failed says so at the end.
        let _failed = writer.texts.send(text);
    }

    fn end(&mut self) -> Option<(PathBuf, oneshot::Receiver<io::Result<()>>)> {
        self.writer.as_ref()?;
        let rest = std::mem::take(&mut self.waiting);
        if !rest.is_empty() {
            self.write(rest);
        }
        self.is_cut = true;
        Some((self.path.clone(), self.writer.take()?.end))
    }
}

fn start(path: PathBuf) -> Writer {
    let (texts, mut coming) = mpsc::unbounded_channel::<String>();
    let (ended, end) = oneshot::channel();
    let behind = Arc::new(AtomicUsize::new(0));
    let left = behind.clone();
    tokio::task::spawn_blocking(move || {
        let written = create(&path).and_then(|mut file| {
            while let Some(text) = coming.blocking_recv() {
                if let Err(error) = file.write_all(plain(&text).as_bytes()) {
                    // Nobody would find what there is of it.
                    let _gone = std::fs::remove_file(&path);
                    return Err(error);
                }
                left.fetch_sub(text.len(), Ordering::Relaxed);
            }
            Ok(())
        });
        let _nobody = ended.send(written);
    });
    Writer { texts, behind, end }
}

fn create(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        crate::private::make_folder(folder)?;
    }
    crate::private::options().write(true).create_new(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("outputs").join("t").join("c.txt");
        (dir, path)
    }

    #[tokio::test]
    async fn a_short_output_needs_no_file() {
        let (_dir, path) = place();
        let full = FullOutput::to(path.clone(), 10);
        full.push("0123456789");
        assert_eq!(full.end().await, None);
        assert!(!path.parent().expect("a folder").exists());
        assert_eq!(FullOutput::default().end().await, None);
    }

    #[tokio::test]
    async fn a_long_one_is_kept_whole_as_a_terminal_would_show_it() {
        let (_dir, path) = place();
        let full = FullOutput::to(path.clone(), 10);
        for text in ["one\ntwo", "\nthree", "\x1b[31m, red\x1b[0m\n10%\r", "20%\nlast"] {
            full.push(text);
        }
        assert_eq!(full.end().await.as_ref(), Some(&path));
        let text = std::fs::read_to_string(&path).expect("the file");
        assert_eq!(text, "one\ntwo\nthree, red\n20%\nlast");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| path.metadata().expect("there").permissions().mode() & 0o777;
            assert_eq!((mode(&path), mode(path.parent().expect("a folder"))), (0o600, 0o700));
        }
        // What comes after the end goes nowhere.
        full.push("more\n");
        assert_eq!(full.end().await, None);
    }

    #[tokio::test]
    async fn a_flood_is_bounded_and_that_is_said() {
        let (_dir, path) = place();
        let full = FullOutput::to(path.clone(), 10);
        let line = "x".repeat(1 << 20) + "\n";
        for _ in 0..80 {
            full.push(&line);
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        assert!(full.end().await.is_some());
        let text = std::fs::read_to_string(&path).expect("the file");
        assert!(
            text.len() <= MOST + 100 && text.ends_with("\n[… the rest is not kept …]\n"),
            "{}",
            text.len()
        );
    }

    #[tokio::test]
    async fn what_cannot_be_kept_is_no_fault_of_the_command() {
        let (_dir, path) = place();
        std::fs::create_dir_all(&path).expect("a folder in its place");
        let full = FullOutput::to(path, 1);
        full.push("some\nmore\n");
        assert_eq!(full.end().await, None);
    }
}
