//! What planning costs by itself: from the patch's text to a plan against files on the disk; and what writing costs,
//! without a sandbox. Each figure is the median.
//! `cargo bench --bench plan`; `benches/cost` reads its lines.

#![expect(clippy::print_stdout, reason = "a bench is there to print")]

use countersign::patch::disk::{DiskChange, Transaction, commit, journal_path};
use countersign::patch::files::DiskFiles;
use countersign::patch::parse::parse;
use countersign::patch::plan::plan;
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

const RUNS: usize = 40;

fn measure(title: &str, patch: &str, root: &Path) -> Result<(), Box<dyn Error>> {
    let mut times = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let start = Instant::now();
        let plan = plan(&parse(patch)?, root, &DiskFiles)?;
        times.push(start.elapsed());
        assert!(!plan.is_noop(), "the patch changes something");
    }
    times.sort();
    println!("{title}: {:.3} ms", times[RUNS / 2].as_secs_f64() * 1e3);
    Ok(())
}

/// Writes what a patch would, and then what was there before, so that each run has the same to do.
fn measure_writing(title: &str, patch: &str, root: &Path, home: &Path) -> Result<(), Box<dyn Error>> {
    let plan = plan(&parse(patch)?, root, &DiskFiles)?;
    let mut times = Vec::with_capacity(RUNS);
    for run in 0..2 * RUNS {
        let mut changes = Vec::with_capacity(plan.files.len());
        for file in &plan.files {
            let mut file = file.clone();
            if run % 2 == 1 {
                std::mem::swap(&mut file.before, &mut file.after);
            }
            let (Some(before), Some(after)) = (&file.before, &file.after) else {
                continue;
            };
            changes.push(DiskChange::Write {
                path: file.path.clone(),
                text: after.clone(),
                expect: countersign::patch::disk::Expect::of(Some(before)),
                mode: None,
            });
        }
        let transaction = Transaction {
            roots: vec![root.to_owned()],
            changes,
            journal: Some(journal_path(Some(home), root)),
            ..Transaction::default()
        };
        let start = Instant::now();
        commit(&transaction)?;
        times.push(start.elapsed());
    }
    times.sort();
    println!("{title}: {:.3} ms", times[RUNS].as_secs_f64() * 1e3);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let (folder, home) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let (root, home) = (folder.path(), home.path());

    let line = |at: usize| format!("line {at} of a file that is long enough to matter");
    let mut text = String::new();
    (0..100_000).try_for_each(|at| writeln!(text, "{}", line(at)))?;
    std::fs::write(root.join("large.txt"), text)?;
    let patch = format!(
        "*** Begin Patch\n*** Update File: large.txt\n@@\n {}\n-{}\n+{} changed\n {}\n*** End Patch\n",
        line(69_999),
        line(70_000),
        line(70_000),
        line(70_001)
    );
    measure("line of 100,000, plan only", &patch, root)?;
    measure_writing("line of 100,000, write only", &patch, root, home)?;

    let mut text = String::new();
    (0..40).try_for_each(|at| writeln!(text, "line {at}"))?;
    let mut patch = "*** Begin Patch\n".to_owned();
    for at in 0..200 {
        let folder = format!("dir{}", at % 10);
        std::fs::create_dir_all(root.join(&folder))?;
        std::fs::write(root.join(&folder).join(format!("file{at}.txt")), &text)?;
        writeln!(
            patch,
            "*** Update File: {folder}/file{at}.txt\n@@\n line 19\n-line 20\n+line twenty\n line 21"
        )?;
    }
    patch.push_str("*** End Patch\n");
    measure("200 files, plan only", &patch, root)?;
    measure_writing("200 files, write only", &patch, root, home)
}
