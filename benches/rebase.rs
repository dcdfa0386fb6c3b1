//! What a key costs while hunks wait in the document: where each of them lies is found again. Each figure is the median.
//! `cargo bench --bench rebase`.

#![expect(clippy::print_stdout, reason = "a bench is there to print")]

use countersign::patch::hunk::hunks;
use countersign::patch::rebase::{Follower, Rebased};
use std::time::Instant;

const RUNS: usize = 200;

/// A text of so many lines, and the same with 200 of them changed.
fn texts(lines: usize) -> (String, String) {
    let line = |at: usize| format!("    let value_{at} = compute(value_{}, {at}); // line {at}\n", at / 2);
    let every = lines / 200;
    let before = (0..lines).map(line).collect();
    let after = (0..lines)
        .map(|at| match at % every {
            0 => line(at).replace("compute", "compute_again"),
            _ => line(at),
        })
        .collect();
    (before, after)
}

fn measure(title: &str, lines: usize, spread: bool) {
    let (before, after) = texts(lines);
    let hunks = hunks(&before, &after);
    assert_eq!(hunks.len(), 200);
    let mut follower = Follower::default();
    let mut now = before.clone();
    if spread {
        // The person has been at work in many places.
        let typed = |(at, line): (usize, &str)| match at % (lines / 50) {
            1 => format!("// typed at {at}\n{line}"),
            _ => line.to_owned(),
        };
        now = before.split_inclusive('\n').enumerate().map(typed).collect();
    }
    let mut at = now.len() / 2;
    at += now[at..].find('\n').unwrap_or(0) + 1;
    let mut times = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        now.insert(at, 'x');
        let text = now.clone();
        let start = Instant::now();
        let found = follower.follow(&before, &hunks, text);
        times.push(start.elapsed());
        let placed = |one: &&countersign::patch::rebase::Followed| matches!(one.found, Rebased::Placed(_));
        assert!(found.iter().filter(placed).count() >= 199);
    }
    times.sort();
    println!("{title}: {:.3} ms", times[RUNS / 2].as_secs_f64() * 1e3);
}

fn main() {
    measure("a key, 200 hunks in 2,000 lines", 2_000, false);
    measure("a key, 200 hunks in 10,000 lines", 10_000, false);
    measure("a key, 200 hunks in 10,000 lines, typed in 50 places", 10_000, true);
    measure("a key, 200 hunks in 100,000 lines", 100_000, false);
}
