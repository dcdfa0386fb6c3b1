//! Where the lines of the file begin: every so many of them, so that a number is found with one short read, and only what was
//! added is counted.

use super::{Entry, State, file};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::ops::Range;

/// Lines between two marks.
const EVERY: u64 = 256;
/// Bytes that are read at once, and those in which newlines are counted at once.
const READ: usize = 256 << 10;
const BLOCK: usize = 4 << 10;
/// Bytes of entries in one answer.
const MOST: usize = 8 << 20;

#[derive(Debug, Default)]
pub(super) struct Index {
    log_id: u64,
    /// End of the last whole line.
    end: u64,
    count: u64,
    /// Where line `EVERY * n` begins.
    marks: Vec<u64>,
}

impl Index {
    /// Brings the index up to date.
    pub(super) fn look(&mut self, file: &mut File) -> io::Result<State> {
        let found = file.metadata()?;
        let log_id = file::log_id(&found);
        // Another file, or one that was cut or written anew in its place.
        let same = log_id == self.log_id && found.len() >= self.end && file::ends_with_newline(file, self.end)?;
        if !same {
            *self = Self {
                log_id,
                marks: vec![0],
                ..Self::default()
            };
        }
        if found.len() > self.end {
            self.count_on(file)?;
        }
        Ok(State {
            log_id,
            count: self.count,
        })
    }

    fn count_on(&mut self, file: &mut File) -> io::Result<()> {
        file.seek(SeekFrom::Start(self.end))?;
        let mut buffer = vec![0; READ];
        let mut at = self.end;
        loop {
            let read = match file.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            for block in buffer[..read].chunks(BLOCK) {
                self.block(block, at);
                at += block.len() as u64;
            }
        }
    }

    fn block(&mut self, block: &[u8], at: u64) {
        let newlines = block.iter().filter(|byte| **byte == b'\n').count() as u64;
        if newlines == 0 {
            return;
        }
        if self.count % EVERY + newlines >= EVERY {
            let ends = block.iter().zip(at + 1..).filter(|(byte, _)| **byte == b'\n');
            for ((_, end), count) in ends.zip(self.count + 1..) {
                if count % EVERY == 0 {
                    self.marks.push(end);
                }
            }
        }
        self.count += newlines;
        if let Some(last) = block.iter().rposition(|byte| *byte == b'\n') {
            self.end = at + last as u64 + 1;
        }
    }

    /// The entries with these numbers, as far as there are such lines and they are entries.
    pub(super) fn entries(&self, file: &mut File, numbers: Range<u64>) -> io::Result<Vec<(u64, Entry)>> {
        let numbers = numbers.start..numbers.end.min(self.count);
        if numbers.is_empty() {
            return Ok(Vec::new());
        }
        let mark = usize::try_from(numbers.start / EVERY).unwrap_or(usize::MAX);
        let Some(begin) = self.marks.get(mark) else {
            return Ok(Vec::new());
        };
        file.seek(SeekFrom::Start(*begin))?;
        let mut reader = BufReader::with_capacity(BLOCK * 4, file);
        for _ in 0..numbers.start % EVERY {
            reader.skip_until(b'\n')?;
        }
        let mut entries = VecDeque::new();
        let mut size = 0;
        let mut line = Vec::new();
        for number in numbers {
            line.clear();
            (&mut reader).take(MOST as u64).read_until(b'\n', &mut line)?;
            if !line.ends_with(b"\n") {
                // Longer than anything that is kept.
                reader.skip_until(b'\n')?;
                continue;
            }
            if let Ok(entry) = serde_json::from_slice::<Entry>(&line) {
                size += entry.text.len();
                entries.push_back((number, entry));
            }
            // The newest are what is looked for.
            while size > MOST && entries.len() > 1 {
                size -= entries
                    .pop_front()
                    .map_or(0, |(_, oldest): (u64, Entry)| oldest.text.len());
            }
        }
        Ok(entries.into())
    }
}
