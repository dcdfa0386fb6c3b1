//! What stands between a provider's socket and whoever watches a thread: deltas a second through the client and the thread's
//! stream, beside the bytes of the same answer read off the bare socket; and how long after it was written a delta is seen.
//! `cargo bench --bench deltas`.

#![expect(clippy::print_stdout, reason = "a bench is there to print")]

use countersign::agent::stream::Stream;
use countersign::config::provider::{Provider, WireApi};
use countersign::ids::{ItemId, ThreadId};
use countersign::model::{ModelClient, ModelEvent, ModelRequest};
use countersign::protocol::event::{EventKind, ItemDelta};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Deltas of the answer whose rate is taken, and of the one whose latency is.
const MANY: usize = 50_000;
const FEW: usize = 2_000;
/// Between two deltas, where each is to be seen by itself.
const PAUSE: Duration = Duration::from_millis(2);

fn wires() -> [(&'static str, WireApi); 3] {
    [
        ("responses", WireApi::Responses),
        ("chat", WireApi::Chat),
        ("anthropic", WireApi::Anthropic),
    ]
}

fn delta(wire_api: WireApi, text: &str) -> String {
    match wire_api {
        WireApi::Responses => format!(
            "event: response.output_text.delta\ndata: {{\"type\":\"response.output_text.delta\",\"item_id\":\"m\",\"delta\":\"{text}\"}}\n\n"
        ),
        WireApi::Chat => {
            format!("data: {{\"id\":\"1\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
        }
        WireApi::Anthropic => format!(
            "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{text}\"}}}}\n\n"
        ),
    }
}

fn end(wire_api: WireApi) -> &'static str {
    match wire_api {
        WireApi::Responses => "data: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\"}}\n\n",
        WireApi::Chat => "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
        WireApi::Anthropic => "data: {\"type\":\"message_stop\"}\n\n",
    }
}

/// Answers each request with so many deltas; each holds the microseconds since `epoch` at which it was written.
async fn serve(wire_api: WireApi, count: usize, pause: Option<Duration>, epoch: Instant) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            stream.set_nodelay(true).expect("a socket");
            let mut buffer = vec![0; 1 << 16];
            let _request = stream.read(&mut buffer).await;
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            stream.write_all(head.as_bytes()).await.expect("it reads");
            let stamp = || format!("{:012}", epoch.elapsed().as_micros());
            match pause {
                None => {
                    let body: String = (0..count).map(|_| delta(wire_api, &stamp())).collect();
                    stream.write_all(body.as_bytes()).await.expect("it reads");
                }
                Some(pause) => {
                    for _ in 0..count {
                        stream
                            .write_all(delta(wire_api, &stamp()).as_bytes())
                            .await
                            .expect("it reads");
                        tokio::time::sleep(pause).await;
                    }
                }
            }
            stream.write_all(end(wire_api).as_bytes()).await.expect("it reads");
        }
    });
    format!("http://{address}/v1")
}

/// Reads the same answer off the socket; gives the seconds that it takes.
async fn bare(base_url: &str) -> f64 {
    let address = base_url.trim_start_matches("http://").trim_end_matches("/v1");
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    stream.write_all(b"POST /v1 HTTP/1.1\r\n\r\n").await.expect("it reads");
    let begun = Instant::now();
    let mut buffer = vec![0; 1 << 16];
    while stream.read(&mut buffer).await.expect("an answer") > 0 {}
    begun.elapsed().as_secs_f64()
}

/// Asks, and has a subscriber of a thread's stream see each delta. Gives the seconds to the last, and each one's latency in
/// microseconds.
async fn seen(base_url: &str, wire_api: WireApi, epoch: Instant) -> (f64, Vec<u128>) {
    let provider = Provider {
        name: "Bench".into(),
        base_url: base_url.into(),
        wire_api,
        ..Provider::default()
    };
    let client = ModelClient::new(&provider, None, &ModelClient::user_agent());
    let stream = Arc::new(Stream::new(ThreadId::fresh()));
    let mut watching = stream.subscribe(Some(0));
    let watcher = tokio::spawn(async move {
        let mut latencies = Vec::new();
        while let Some(event) = watching.next().await {
            if let EventKind::AgentMessageDelta(ItemDelta { delta, .. }) = event.kind {
                let now = epoch.elapsed().as_micros();
                // Deltas that waited are joined; the first of them waited longest.
                let stamps = delta
                    .as_bytes()
                    .chunks(12)
                    .filter_map(|stamp| std::str::from_utf8(stamp).ok());
                latencies.extend(stamps.filter_map(|stamp| Some(now.saturating_sub(stamp.parse().ok()?))));
            }
        }
        latencies
    });
    let request = ModelRequest {
        model: "bench".into(),
        ..ModelRequest::default()
    };
    let mut answer = client.stream(&request).await.expect("an answer");
    let begun = Instant::now();
    while let Some(event) = answer.next().await {
        if let ModelEvent::TextDelta { item_id, delta } = event.expect("a sound stream") {
            let item_id = ItemId::from(item_id);
            stream.publish(None, EventKind::AgentMessageDelta(ItemDelta { item_id, delta }));
        }
    }
    stream.end();
    let latencies = watcher.await.expect("it saw them");
    (begun.elapsed().as_secs_f64(), latencies)
}

#[tokio::main]
async fn main() {
    let epoch = Instant::now();
    for (name, wire_api) in wires() {
        let base_url = serve(wire_api, MANY, None, epoch).await;
        let bytes = MANY * delta(wire_api, &"0".repeat(12)).len();
        let (mut socket, mut through) = (f64::MAX, f64::MAX);
        for _ in 0..5 {
            socket = socket.min(bare(&base_url).await);
            let (seconds, latencies) = seen(&base_url, wire_api, epoch).await;
            assert_eq!(latencies.len(), MANY, "each delta is seen");
            through = through.min(seconds);
        }
        let rate = |seconds: f64| MANY as f64 / seconds / 1000.0;
        let megabytes = bytes as f64 / 1e6;
        println!(
            "{name}: {:.0} thousand deltas/s through client and stream, {:.0} thousand/s off the socket ({megabytes:.1} MB)",
            rate(through),
            rate(socket)
        );
        let base_url = serve(wire_api, FEW, Some(PAUSE), epoch).await;
        let (_, mut latencies) = seen(&base_url, wire_api, epoch).await;
        latencies.sort_unstable();
        let at = |part: usize| latencies[latencies.len() * part / 100];
        println!(
            "{name}: a delta is seen after {} µs (median), {} µs (99 %)",
            at(50),
            at(99)
        );
    }
}
