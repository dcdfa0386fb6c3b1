//! Answers without a network, for tests that hold the clock: whoever plays the provider gives HTTP answers in memory. All
//! else of the client is as it is.

use crate::model::error::ErrorKind;
use axum::body::Body;
use axum::http::{HeaderMap, Response};
use bytes::Bytes;
use futures::future::BoxFuture;
use http_body::Frame;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// Answers a request: its headers, its body, and what fires when the connection is cut.
pub(crate) type Line =
    Arc<dyn Fn(HeaderMap, Bytes, CancellationToken) -> BoxFuture<'static, Response<Body>> + Send + Sync>;

pub(super) async fn send(line: &Line, headers: HeaderMap, body: Bytes) -> Result<reqwest::Response, ErrorKind> {
    let cut = CancellationToken::new();
    let response = tokio::select! {
        biased;
        () = cut.cancelled() => {
            let reason = "the connection was cut".to_owned();
            return Err(ErrorKind::Broken { reason });
        }
        response = line(headers, body, cut.clone()) => response,
    };
    let cut = Box::pin(cut.cancelled_owned());
    Ok(response
        .map(|body| reqwest::Body::wrap(Arriving(Mutex::new((body, cut)))))
        .into())
}

/// A body that ends with an error when the connection is cut.
struct Arriving(Mutex<(Body, Pin<Box<WaitForCancellationFutureOwned>>)>);

impl http_body::Body for Arriving {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let mut state = self.0.lock().expect("no panic while it is held");
        let (body, cut) = &mut *state;
        // What was sent before arrives.
        if let Poll::Ready(frame) = Pin::new(body).poll_frame(context) {
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        cut.as_mut()
            .poll(context)
            .map(|()| Some(Err("the connection was cut".into())))
    }
}
