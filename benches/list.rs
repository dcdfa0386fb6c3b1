//! What a list of stored threads costs: the first page of 10,000 and of 100,000, from the index and from the files, and what
//! the resume of a long conversation takes.
//!
//! `cargo bench --bench list`; `COUNTERSIGN_BENCH_THREADS=10000` for one size only.

#![expect(clippy::print_stdout, reason = "a bench is there to print")]

use countersign::protocol::thread::ThreadListParams;
use countersign::store::{self, Index};
use serde_json::json;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Threads in the folder of a day.
const A_DAY: usize = 100;

fn tell(what: &str, times: &mut [Duration]) {
    times.sort();
    println!(
        "{what:<44} median {:>10.2?}  worst {:>10.2?}",
        times[times.len() / 2],
        times[times.len() - 1]
    );
}

fn id_of(number: usize) -> String {
    format!("01890000-0000-7000-8000-{number:012x}")
}

fn fill(home: &Path, threads: usize) {
    for number in 0..threads {
        let day = number / A_DAY;
        let date = format!("{:04}/{:02}/{:02}", 2020 + day / 336, 1 + day / 28 % 12, 1 + day % 28);
        let folder = home.join("sessions").join(&date);
        if number % A_DAY == 0 {
            std::fs::create_dir_all(&folder).expect("a folder");
        }
        let stamp = date.replace('/', "-");
        let path = folder.join(format!("rollout-{stamp}T00-00-00-{}.jsonl", id_of(number)));
        std::fs::write(path, thread(number, 4)).expect("a file");
    }
}

fn thread(number: usize, turns: usize) -> String {
    let id = id_of(number);
    let line = |kind: &str, payload: serde_json::Value, ordinal: usize| {
        json!({"timestamp": "2026-01-01T00:00:00.000Z", "ordinal": ordinal, "type": kind, "payload": payload})
            .to_string()
            + "\n"
    };
    let meta = json!({
        "id": id, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": format!("/home/ada/{}", number % 20),
        "originator": "countersign", "cli_version": "0.1.0", "source": "vscode", "model_provider": "openai",
    });
    let mut text = line("session_meta", meta, 0);
    for turn in 0..turns {
        let message = |role: &str, kind: &str, words: String| json!({"type": "message", "role": role, "content": [{"type": kind, "text": words}]});
        let turn_id = format!("t{turn}");
        let words = format!("Question {turn} of thread {number}");
        let lines = [
            ("event_msg", json!({"type": "task_started", "turn_id": turn_id})),
            ("response_item", message("user", "input_text", words)),
            (
                "response_item",
                message("assistant", "output_text", "An answer of some length. ".repeat(40)),
            ),
            (
                "event_msg",
                json!({"type": "item_completed", "turn_id": turn_id, "item":
                {"type": "agentMessage", "id": format!("a{turn}"), "text": "An answer of some length. ".repeat(40)}}),
            ),
            ("event_msg", json!({"type": "task_complete", "turn_id": turn_id})),
        ];
        for (at, (kind, payload)) in lines.into_iter().enumerate() {
            text += &line(kind, payload, 1 + turn * 5 + at);
        }
    }
    text
}

fn page(folder: Option<PathBuf>) -> ThreadListParams {
    ThreadListParams {
        cwd: folder,
        ..ThreadListParams::default()
    }
}

fn measure(threads: usize) {
    let home = tempfile::tempdir().expect("a folder");
    let home = home.path();
    fill(home, threads);
    let time = |work: &mut dyn FnMut()| {
        let begun = Instant::now();
        work();
        begun.elapsed()
    };
    let mut files = (0..3)
        .map(|_| time(&mut || assert_eq!(store::list(home, &page(None), "openai").expect("a page").data.len(), 25)))
        .collect::<Vec<_>>();
    tell(&format!("{threads} threads, from the files"), &mut files);
    let begun = Instant::now();
    let index = Index::new(home);
    while !index.is_ready() {
        std::thread::sleep(Duration::from_millis(20));
    }
    tell(&format!("{threads} threads, index made"), &mut [begun.elapsed()]);
    let mut cold: Vec<_> = (0..5)
        .map(|_| {
            let index = Index::new(home);
            time(&mut || assert_eq!(index.list(&page(None), "openai", &[]).expect("a page").data.len(), 25))
        })
        .collect();
    tell(&format!("{threads} threads, first page of a server"), &mut cold);
    for (what, folder) in [("all", None), ("of a folder", Some("/work/7".into()))] {
        let mut warm: Vec<_> = (0..50)
            .map(|_| {
                time(&mut || {
                    assert_eq!(
                        index
                            .list(&page(folder.clone()), "openai", &[])
                            .expect("a page")
                            .data
                            .len(),
                        25
                    )
                })
            })
            .collect();
        tell(&format!("{threads} threads, first page, {what}"), &mut warm);
    }
}

fn main() {
    let only = std::env::var("COUNTERSIGN_BENCH_THREADS")
        .ok()
        .and_then(|size| size.parse().ok());
    for threads in only.map_or(vec![10_000, 100_000], |size| vec![size]) {
        measure(threads);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder
        .path()
        .join(format!("rollout-2026-01-01T00-00-00-{}.jsonl", id_of(1)));
    let turns = 50 * 1024 * 1024 / thread(1, 100).len() * 100;
    std::fs::File::create(&path)
        .and_then(|mut file| file.write_all(thread(1, turns).as_bytes()))
        .expect("a file");
    let mut loads: Vec<_> = (0..5)
        .map(|_| {
            let begun = Instant::now();
            assert_eq!(store::load(&path).expect("a thread").turns.len(), turns);
            begun.elapsed()
        })
        .collect();
    tell(&format!("resume of 50 MB, {turns} turns"), &mut loads);
}
