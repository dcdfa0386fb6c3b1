//! What a look at a workspace of 10,000 files costs: the first, one where nothing has changed, one where a file has.
//! `cargo bench --bench snapshot`; needs git.

#![expect(clippy::print_stdout, reason = "a bench is there to print")]

use countersign::snapshot::Snapshots;
use std::path::Path;
use std::time::Instant;
use tokio_util::sync::CancellationToken;

async fn look(title: &str, snapshots: &Snapshots, root: &Path) {
    let start = Instant::now();
    let taken = snapshots.take(root, &[], &CancellationToken::new()).await;
    assert!(taken.is_ok(), "{:?}", taken.err());
    println!("10,000 files, {title}: {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
}

fn main() {
    let (home, root) = (
        tempfile::tempdir().expect("a folder"),
        tempfile::tempdir().expect("a folder"),
    );
    let place = |number: usize| {
        root.path()
            .join(format!("d{}/e{}/f{number}.rs", number % 100, number % 7))
    };
    for number in 0..10_000 {
        let file = place(number);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(file, format!("line {number}\n").repeat(60)).expect("a file");
    }
    let snapshots = Snapshots::new(home.path(), &std::env::vars().collect());
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        look("the first", &snapshots, root.path()).await;
        look("soon after", &snapshots, root.path()).await;
        look("nothing changed", &snapshots, root.path()).await;
        std::fs::write(place(1), "changed").expect("a file");
        look("one file changed", &snapshots, root.path()).await;
    });
}
