//! Where somebody's trace comes in (W3C Trace Context): with a request of the client's, or with the environment.

use serde_json::Value;

/// Members of a trace state, and its characters, that are taken (W3C Trace Context, 3.3.1).
const MOST_MEMBERS: usize = 32;
const LONGEST_STATE: usize = 512;

/// A place in a trace, checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Carrier<'a> {
    /// 32 digits.
    pub(crate) trace_id: &'a str,
    /// 16 digits.
    pub(crate) span_id: &'a str,
    /// Two digits.
    pub(super) flags: &'a str,
    pub(crate) state: Option<&'a str>,
}

impl<'a> Carrier<'a> {
    /// Reads what stands beside a request. The error says why it is none.
    pub(crate) fn read(trace: &'a Value) -> Result<Self, &'static str> {
        let parent = trace.get("traceparent").and_then(Value::as_str);
        let parent = parent.ok_or("it has no traceparent that is a text")?;
        Self::of(parent, trace.get("tracestate").and_then(Value::as_str))
            .ok_or("its traceparent is not of the form version-trace-span-flags")
    }

    /// Later versions may add fields at the end. A state that is wrong does not spoil the parent.
    pub(super) fn of(parent: &'a str, state: Option<&'a str>) -> Option<Self> {
        let mut fields = parent.split('-');
        let mut hex = |length: usize| {
            let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            fields
                .next()
                .filter(|field| field.len() == length && field.bytes().all(is_hex))
        };
        let (version, trace_id, span_id, flags) = (hex(2)?, hex(32)?, hex(16)?, hex(2)?);
        let is_nothing = |id: &str| id.bytes().all(|byte| byte == b'0');
        let is_whole = version != "00" || fields.next().is_none();
        let is_one = is_whole && version != "ff" && !is_nothing(trace_id) && !is_nothing(span_id);
        is_one.then_some(Self {
            trace_id,
            span_id,
            flags,
            state: state.filter(|state| is_state(state)),
        })
    }
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
            let read = Carrier::read(&carrier);
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
            assert!(Carrier::read(&trace).is_err(), "{trace}");
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
                Carrier::read(&carrier).map(|read| read.state.is_some()),
                Ok(expected),
                "{state:?}"
            );
        }
    }
}
