//! Seeded schedules: one thread, a scripted provider without a network, a clock that stands still, and a person who types,
//! queues, steers, stops, answers and leaves at moments that a seed decides. Whatever the moments, the rules hold.
//!
//! A schedule that fails prints its seed; `COUNTERSIGN_SEED=<seed> cargo test --lib agent::schedules` plays it again, event
//! for event. `COUNTERSIGN_SCHEDULES` sets how many are played.

mod dice;
mod person;
mod script;
mod verdict;
mod world;

use dice::Dice;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use world::World;

/// Schedules of an ordinary run; `tests/all nightly` plays 10,000.
const SCHEDULES: u64 = 1_500;
/// Threads that play them side by side.
const PLAYERS: u64 = 2;
/// Failures after which no more is played.
const ENOUGH: usize = 3;

/// Whether the thread that asks plays a schedule.
pub(super) fn is_playing() -> bool {
    world::is_playing()
}

fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|error| panic!("{name}={text}: {error}")))
}

struct Played {
    faults: Vec<String>,
    story: Vec<String>,
    sights: Vec<&'static str>,
}

/// Plays one schedule on a runtime of its own.
fn play(seed: u64, agent: &world::Stageless) -> Played {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let mut dice = Dice::new(seed);
        let world = World::new(agent, &mut dice);
        person::act(&world, &mut dice).await;
        let faults = verdict::of(&world).await;
        Played {
            faults,
            story: world.story(),
            sights: verdict::sights(&world),
        }
    })
}

/// Shows S-080, S-081, S-087, S-088, S-089, S-091, S-092, S-097, S-099, S-101, S-103.
#[test]
fn whatever_happens_when_the_rules_hold() {
    let seeds: Vec<u64> = match variable("COUNTERSIGN_SEED") {
        Some(seed) => vec![seed],
        None => (0..variable("COUNTERSIGN_SCHEDULES").unwrap_or(SCHEDULES)).collect(),
    };
    let next = AtomicU64::new(0);
    let failed = Mutex::new(Vec::new());
    let seen = Mutex::new(BTreeSet::new());
    std::thread::scope(|scope| {
        for _ in 0..PLAYERS {
            scope.spawn(|| {
                let agent = world::Stageless::new();
                loop {
                    let at = usize::try_from(next.fetch_add(1, Ordering::Relaxed)).expect("few");
                    let Some(seed) = seeds.get(at) else { return };
                    if failed.lock().expect("no panic").len() >= ENOUGH {
                        return;
                    }
                    let Played { faults, story, sights } = play(*seed, &agent);
                    seen.lock().expect("no panic").extend(sights);
                    if !faults.is_empty() {
                        let report = format!(
                            "seed {seed}\n  {}\nstory:\n  {}",
                            faults.join("\n  "),
                            story.join("\n  ")
                        );
                        failed.lock().expect("no panic").push(report);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("no panic");
    assert!(
        failed.is_empty(),
        "schedules broke the rules; play one again with COUNTERSIGN_SEED:\n{}",
        failed.join("\n\n")
    );
    let seen = seen.into_inner().expect("no panic");
    if seeds.len() >= 1000 {
        assert_eq!(seen, BTreeSet::from(verdict::SIGHTS), "what the schedules came across");
    }
}

#[test]
fn a_seed_plays_the_same_story_again() {
    let agent = world::Stageless::new();
    for seed in (0..100).map(|at| at * 7919) {
        let (one, again) = (play(seed, &agent).story, play(seed, &agent).story);
        assert_eq!(one, again, "seed {seed}");
    }
}
