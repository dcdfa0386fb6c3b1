//! What finding a file by a few letters costs, in folders of 50,000 and 100,000 files: the first time, for each letter after
//! it, and after a file was made. Each figure is the median.
//! `cargo bench --bench search`

#![expect(clippy::print_stdout, reason = "a bench is there to print")]

use countersign::workspace::search::{Searcher, USUAL_LIMIT};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

const RUNS: usize = 15;

fn fill(root: &Path, files: usize) -> Result<(), Box<dyn Error>> {
    for number in 0..files {
        let folder = root.join(format!("part{}/module{}", number / 1000, number / 10));
        if number % 10 == 0 {
            std::fs::create_dir_all(&folder)?;
        }
        std::fs::write(folder.join(format!("source_file_{number}.rs")), "")?;
    }
    Ok(())
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e3
}

fn look(searcher: &Searcher, query: &str, roots: &[PathBuf]) -> Duration {
    let start = Instant::now();
    let found = searcher
        .search(query, roots, USUAL_LIMIT, CancellationToken::new())
        .run();
    assert!(found.complete && found.total > 0, "{query} is found");
    start.elapsed()
}

/// Until there is something to show.
fn first_file(roots: &[PathBuf]) -> Duration {
    let start = Instant::now();
    let search = Searcher::default().search("source", roots, USUAL_LIMIT, CancellationToken::new());
    std::thread::scope(|scope| {
        scope.spawn(|| search.run());
        while search.changes() == 0 {
            std::thread::yield_now();
        }
        start.elapsed()
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    for files in [50_000, 100_000] {
        let dir = tempfile::tempdir()?;
        let roots = [dir.path().to_owned()];
        fill(dir.path(), files)?;
        // A folder that has just changed is not believed to stay.
        std::thread::sleep(Duration::from_millis(200));
        let first = (0..RUNS).map(|_| first_file(&roots)).collect();
        println!("{files} files, until the first is there: {:.2} ms", median(first));
        let cold = (0..RUNS).map(|_| look(&Searcher::default(), "src42", &roots)).collect();
        println!("{files} files, first search: {:.1} ms", median(cold));
        let searcher = Searcher::default();
        look(&searcher, "s", &roots);
        for query in ["s", "sou", "source_file_4", "part7 42rs"] {
            let warm = (0..RUNS).map(|_| look(&searcher, query, &roots)).collect();
            println!("{files} files, {query:?} after that: {:.1} ms", median(warm));
        }
        let mut made = Vec::new();
        for run in 0..RUNS {
            std::fs::write(dir.path().join(format!("part1/made_{run}.rs")), "")?;
            made.push(look(&searcher, &format!("made_{run}"), &roots));
        }
        println!("{files} files, after one was made: {:.1} ms", median(made));
    }
    Ok(())
}
