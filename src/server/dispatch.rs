//! The span around a request: what is logged while it is carried out can be told apart, and joined to the client's own trace.

use crate::protocol::method::dispatch_span;
use serde_json::Value;
use tracing::Span;

/// Members of a trace state, and its characters, that are taken (W3C Trace Context, 3.3.1).
const MOST_MEMBERS: usize = 32;
const LONGEST_STATE: usize = 512;

/// Where in a client's trace a request belongs, by W3C Trace Context.
#[derive(Debug, PartialEq, Eq)]
struct Carrier<'a> {
    trace_id: &'a str,
    span_id: &'a str,
    state: Option<&'a str>,
}

/// The span of a request: under the client's, if it names one. A carrier that is none is ignored, and the log says so.
pub(crate) fn span(method: &str, submission: i64, trace: Option<&Value>) -> Span {
    let span = dispatch_span(method, submission);
    match trace.map(read) {
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

fn read(trace: &Value) -> Result<Carrier<'_>, &'static str> {
    let parent = trace.get("traceparent").and_then(Value::as_str);
    let parent = parent.ok_or("it has no traceparent that is a text")?;
    let (trace_id, span_id) = parent_of(parent).ok_or("its traceparent is not of the form version-trace-span-flags")?;
    let state = trace.get("tracestate").and_then(Value::as_str);
    Ok(Carrier {
        trace_id,
        span_id,
        // A state that is wrong does not spoil the parent.
        state: state.filter(|state| is_state(state)),
    })
}

/// Trace and span. Later versions may add fields at the end.
fn parent_of(text: &str) -> Option<(&str, &str)> {
    let mut fields = text.split('-');
    let mut hex = |length: usize| {
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        fields
            .next()
            .filter(|field| field.len() == length && field.bytes().all(is_hex))
    };
    let (version, trace_id, span_id, _flags) = (hex(2)?, hex(32)?, hex(16)?, hex(2)?);
    let is_nothing = |id: &str| id.bytes().all(|byte| byte == b'0');
    let is_whole = version != "00" || fields.next().is_none();
    (is_whole && version != "ff" && !is_nothing(trace_id) && !is_nothing(span_id)).then_some((trace_id, span_id))
}

fn is_state(text: &str) -> bool {
    let mut members = text.split(',').map(str::trim).filter(|member| !member.is_empty());
    let is_visible = |member: &str| member.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let is_member = |member: &str| {
        member
            .split_once('=')
            .is_some_and(|(key, value)| !key.is_empty() && !value.is_empty())
    };
    text.len() <= LONGEST_STATE
        && text.split(',').count() <= MOST_MEMBERS
        && members.all(|member| is_visible(member) && is_member(member))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const SPAN: &str = "b7ad6b7169203331";

    #[test]
    fn carriers_by_table() {
        let good = format!("00-{TRACE}-{SPAN}-01");
        for (parent, expected) in [
            (good.clone(), true),
            (format!("cc-{TRACE}-{SPAN}-00-what-comes-later"), true),
            (format!("{good}-more"), false),
            (format!("ff-{TRACE}-{SPAN}-01"), false),
            (format!("00-{}-{SPAN}-01", "0".repeat(32)), false),
            (format!("00-{TRACE}-{}-01", "0".repeat(16)), false),
            (format!("00-{}-{SPAN}-01", TRACE.to_uppercase()), false),
            (format!("00-{TRACE}-{SPAN}"), false),
            (format!("00-{SPAN}-{TRACE}-01"), false),
            (format!("00-{TRACE}-{SPAN}-1"), false),
            (format!(" {good}"), false),
            (String::new(), false),
        ] {
            let carrier = json!({"traceparent": parent});
            let read = read(&carrier);
            assert_eq!(read.is_ok(), expected, "{parent:?}");
            if let Ok(read) = read {
                assert_eq!(
                    (read.trace_id, read.span_id, read.state),
                    (TRACE, SPAN, None),
                    "{parent:?}"
                );
            }
        }
        for trace in [
            json!(null),
            json!("x"),
            json!([]),
            json!({"traceparent": 7}),
            json!({"tracestate": "a=b"}),
        ] {
            assert!(read(&trace).is_err(), "{trace}");
        }
        for (state, expected) in [
            ("vendor=1", true),
            ("a=1,b=2, c=3", true),
            ("none", false),
            ("=1", false),
            ("a=", false),
            ("a=\u{7}", false),
            (&format!("a={}", "x".repeat(600)), false),
        ] {
            let carrier = json!({"traceparent": good, "tracestate": state});
            assert_eq!(
                read(&carrier).map(|read| read.state.is_some()),
                Ok(expected),
                "{state:?}"
            );
        }
    }
}
