//! Bodies as servers send them, and as they should not: `tests/it/corpus/streams`, one file a wire. Each goes through the
//! client at every size of chunk from one byte up, in memory on a still clock, and at a few sizes over real HTTP.
//!
//! The form of the corpus: `## name`, then directives (`@ key value`), then the body, line by line, up to `>>`, then what
//! comes of it: the finished items, what was shown where that is something else, and the one ending. Directives: `status`,
//! `type` (content type), `header NAME: VALUE`, `encoding` (`gzip`, `deflate`, `gzip-hidden`), `end` (`cut`, `stall`,
//! `trickle TEXT`), `line-ends` (`crlf`, `cr`), `bom`, `escapes` (`\n`, `\xNN`), `no-newline`, `repeat N` (letters in the
//! place of `REPEAT`), `repeat-lines N` (of the last line), `sizes N` (only chunks of so many bytes).

mod case;
mod heard;
mod wire;

pub(super) use case::{Case, End, cases};
pub(super) use heard::{Heard, ask};

use crate::config::provider::WireApi;
use std::path::PathBuf;

const WIRES: [(&str, WireApi); 3] = [
    ("responses", WireApi::Responses),
    ("chat", WireApi::Chat),
    ("anthropic", WireApi::Anthropic),
];

fn path(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/corpus/streams/{file}.txt"))
}

/// The cases of one wire.
fn corpus(file: &str) -> Vec<Case> {
    let path = path(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    cases(&text)
}

/// All bodies of a wire, for who wants to spoil them.
pub(super) fn bodies(wire_api: WireApi) -> Vec<Vec<u8>> {
    let files = WIRES.iter().filter(|(_, wire)| *wire == wire_api);
    let cases = files.flat_map(|(file, _)| corpus(file));
    cases.map(|case| case.body).filter(|body| body.len() < 10_000).collect()
}

/// Every body over HTTP in one piece; what comes of it is what the corpus says.
#[tokio::test]
async fn each_body_comes_to_what_is_written_beside_it() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (file, wire_api) in WIRES {
        let cases = corpus(file);
        count += cases.len();
        let server = wire::serve(cases.clone()).await;
        let heard = futures::future::join_all((0..cases.len()).map(|index| {
            let client = wire::client(&server.url(index, usize::MAX), wire_api, wire::patience(&cases[index]));
            async move { ask(&client).await }
        }));
        let heard: Vec<Vec<String>> = heard.await.iter().map(Heard::outcome).collect();
        if std::env::var_os("UPDATE").is_some() {
            let text = std::fs::read_to_string(path(file)).expect("read before");
            std::fs::write(path(file), case::rewritten(&text, &heard)).expect("can be written");
            continue;
        }
        for (case, heard) in cases.iter().zip(&heard) {
            if case.wanted != *heard {
                let heard = heard.join("\n");
                wrong.push(format!(
                    "{file}: {}\n--- wanted\n{}\n--- heard\n{heard}",
                    case.name,
                    case.wanted.join("\n")
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n\n"));
    assert!(count >= 80, "{count} bodies");
}

/// Where the network cuts the bytes has no part in what is heard.
#[tokio::test]
async fn a_few_sizes_of_chunk_over_http_make_no_difference() {
    for (file, wire_api) in WIRES {
        let cases = corpus(file);
        let server = wire::serve(cases.clone()).await;
        for size in [1, 7, 100] {
            // Silence takes its time, and was heard in one piece.
            let quick = |case: &Case| matches!(case.end, End::Clean | End::Cut) && case.only_size.is_none();
            let asked = (0..cases.len()).filter(|index| quick(&cases[*index])).map(|index| {
                let client = wire::client(&server.url(index, size), wire_api, wire::patience(&cases[index]));
                async move { (index, ask(&client).await.outcome()) }
            });
            for (index, heard) in futures::future::join_all(asked).await {
                assert_eq!(heard, cases[index].wanted, "{}, in chunks of {size}", cases[index].name);
            }
        }
    }
}

/// The same at all sizes, one file a test, so that they run beside each other.
async fn at_every_size(file: &str) {
    let wire_api = WIRES.iter().find(|(name, _)| *name == file).expect("a wire").1;
    for case in corpus(file).iter().filter(|case| case.is_plain()) {
        let sizes = match case.only_size {
            Some(size) => size..size + 1,
            None => 1..case.body.len().max(1) + 1,
        };
        let mut first: Option<String> = None;
        for size in sizes {
            let heard = ask(&wire::in_memory(case, size, wire_api)).await;
            let trace = heard.trace();
            match &first {
                None => {
                    assert_eq!(heard.outcome(), case.wanted, "{}, in chunks of {size}", case.name);
                    first = Some(trace);
                }
                Some(first) => assert_eq!(*first, trace, "{}, in chunks of {size}", case.name),
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn bodies_of_responses_at_every_size_of_chunk() {
    at_every_size("responses").await;
}

#[tokio::test(start_paused = true)]
async fn bodies_of_chat_at_every_size_of_chunk() {
    at_every_size("chat").await;
}

#[tokio::test(start_paused = true)]
async fn bodies_of_anthropic_at_every_size_of_chunk() {
    at_every_size("anthropic").await;
}
