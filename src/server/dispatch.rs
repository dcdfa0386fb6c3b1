//! The span around a request: what is logged while it is carried out can be told apart, and joined to the client's own trace.

use crate::protocol::method::dispatch_span;
use crate::telemetry::Carrier;
use serde_json::Value;
use tracing::Span;

/// The span of a request: under the client's, if it names one. A carrier that is none is ignored, and the log says so.
pub(crate) fn span(method: &str, submission: i64, trace: Option<&Value>) -> Span {
    let span = dispatch_span(method, submission);
    match trace.map(Carrier::read) {
        None => {}
        Some(Ok(carrier)) => {
            span.record("trace_id", carrier.trace_id);
            span.record("parent_span_id", carrier.span_id);
            if let Some(state) = carrier.state {
                span.record("trace_state", state);
            }
        }
        Some(Err(reason)) => span.in_scope(|| tracing::warn!(reason, "the trace context of a request was ignored")),
    }
    span
}
