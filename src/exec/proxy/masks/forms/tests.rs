//! Secrets in the forms of hosts that only escape what they were sent.

use super::*;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

const SECRET: &str = "ghp_/a+b\"c&d'e<f=0123456789ABCDEF";
const PLACEHOLDER: &str = "ghp_0123456789abcdef0123456789abc";

fn known() -> Forms {
    Forms::of([(SECRET, PLACEHOLDER)].into_iter())
}

/// What of an answer goes on that comes in parts.
fn streamed<'p>(forms: &Forms, parts: impl Iterator<Item = &'p [u8]>) -> Vec<u8> {
    let (mut held, mut passed) = (Vec::new(), Vec::new());
    for part in parts {
        held.extend_from_slice(part);
        let ready = forms.hide(&mut held, false);
        passed.extend(held.drain(..ready));
    }
    forms.hide(&mut held, true);
    passed.extend(held);
    passed
}

/// Each character that is no letter and no digit as this writes it.
fn written(escape: impl Fn(u8) -> String) -> String {
    let one = |byte: u8| match byte.is_ascii_alphanumeric() {
        true => char::from(byte).to_string(),
        false => escape(byte),
    };
    SECRET.bytes().map(one).collect()
}

/// Each character as this writes it.
fn all_written(escape: impl Fn(u8) -> String) -> String {
    SECRET.bytes().map(escape).collect()
}

/// One form in lines.
fn in_lines(text: &str, width: usize, end: &str) -> String {
    let lines = text.as_bytes().chunks(width);
    let lines: Vec<String> = lines.map(|line| String::from_utf8_lossy(line).into_owned()).collect();
    lines.join(end)
}

#[test]
fn a_secret_is_hidden_however_its_characters_are_escaped() {
    let forms = known();
    let mustache = |byte| match byte {
        b'/' | b'=' | b'`' => format!("&#x{byte:X};"),
        b'&' => "&amp;".to_owned(),
        b'<' => "&lt;".to_owned(),
        b'"' => "&quot;".to_owned(),
        b'\'' => "&#39;".to_owned(),
        byte => char::from(byte).to_string(),
    };
    for (label, text) in [
        ("plain", SECRET.to_owned()),
        ("percent", written(|byte| format!("%{byte:02X}"))),
        ("percent in small letters", written(|byte| format!("%{byte:02x}"))),
        ("all of it percent", all_written(|byte| format!("%{byte:02X}"))),
        ("percent twice", written(|byte| format!("%25{byte:02X}"))),
        ("all of it percent twice", all_written(|byte| format!("%25{byte:02x}"))),
        ("hex", all_written(|byte| format!("{byte:02x}"))),
        ("HEX", all_written(|byte| format!("{byte:02X}"))),
        ("JSON", serde_json::to_string(SECRET).expect("JSON")),
        ("JSON of PHP", SECRET.replace('"', "\\\"").replace('/', "\\/")),
        ("JSON of .NET", written(|byte| format!("\\u{byte:04X}"))),
        ("JSON of Go", written(|byte| format!("\\u{byte:04x}"))),
        ("JSON in JSON", written(|byte| format!("\\\\u{byte:04x}"))),
        ("JSON, all of it", all_written(|byte| format!("\\u{byte:04x}"))),
        ("a program's text", written(|byte| format!("\\x{byte:02x}"))),
        ("octal", written(|byte| format!("\\{byte:03o}"))),
        ("a shell's word", written(|byte| format!("\\{}", char::from(byte)))),
        ("HTML of Go", written(|byte| format!("&#{byte};"))),
        ("HTML with zeros", written(|byte| format!("&#{byte:05};"))),
        ("HTML of mustache", written(mustache)),
        ("HTML in HTML", written(|byte| format!("&amp;#x{byte:x};"))),
        ("JSON in HTML", SECRET.replace('"', "\\&quot;").replace('\'', "&#39;")),
        ("JSON in an address", written(|byte| format!("%5Cu{byte:04x}"))),
        (
            "each in its own way",
            SECRET
                .replace('/', "%2F")
                .replace('+', "\\u002B")
                .replace('&', "&amp;")
                .replace('=', "&equals;"),
        ),
        ("UTF-16", all_written(|byte| format!("{}\0", char::from(byte)))),
        (
            "UTF-16, the other way",
            all_written(|byte| format!("\0{}", char::from(byte))),
        ),
        ("UTF-32", all_written(|byte| format!("{}\0\0\0", char::from(byte)))),
        (
            "JSON in UTF-16",
            written(|byte| format!("\\u{byte:04x}"))
                .chars()
                .flat_map(|char| [char, '\0'])
                .collect(),
        ),
    ] {
        let whole = format!("before {text} after, as {text}");
        let hidden = forms.hidden(whole.as_bytes()).expect(label);
        assert_eq!(hidden.len(), whole.len(), "{label}");
        let by_byte = streamed(&forms, whole.as_bytes().chunks(1));
        assert_eq!(hidden, by_byte, "{label}: its parts make no difference");
        let hidden = String::from_utf8(hidden).expect("text");
        let end = &text[text.len() / 2..];
        assert!(!hidden.contains(end.trim_end_matches('"')), "{label}: {hidden}");
        assert!(
            hidden.starts_with("before ") && hidden.contains(" after, as "),
            "{label}: {hidden}"
        );
        // Nothing but the placeholder's characters, by the same escapes.
        assert!(!hidden.contains("EF") && !hidden.contains("4546"), "{label}: {hidden}");
    }
    assert_eq!(forms.hidden(b"nothing of it: ghp_ %2B &#43; \\u002B Z2hw\n"), None);
}

#[test]
fn a_secret_is_hidden_in_base64_wherever_it_begins() {
    let forms = known();
    for before in ["", "m", "me", "me:", "user:"] {
        for behind in ["", "\n", " and more"] {
            let text = STANDARD.encode(format!("{before}{SECRET}{behind}"));
            let hidden = forms.hidden(text.as_bytes()).expect("hidden");
            let decoded = STANDARD.decode(hidden).expect("base64");
            let decoded = String::from_utf8_lossy(&decoded).into_owned();
            assert!(decoded.starts_with(before) && decoded.ends_with(behind), "{decoded}");
            assert!(decoded.contains(&PLACEHOLDER[1..PLACEHOLDER.len() - 1]), "{decoded}");
        }
    }
}

#[test]
fn a_secret_is_hidden_in_base64_of_any_kind() {
    let forms = known();
    for (before, width) in [("", 6), ("x", 60), ("Bearer ", 7), (&"x".repeat(50), 76)] {
        let whole = format!("{before}{SECRET} and more");
        for (label, text) in [
            ("lines", in_lines(&STANDARD.encode(&whole), width, "\r\n")),
            ("lines in JSON", in_lines(&STANDARD.encode(&whole), width, "\\n")),
            ("indented", in_lines(&STANDARD.encode(&whole), width, "\n        ")),
            ("of addresses", URL_SAFE.encode(&whole)),
            (
                "in an address",
                STANDARD.encode(&whole).replace('+', "%2B").replace('/', "%2F"),
            ),
            (
                "in JSON",
                STANDARD.encode(&whole).replace('+', "\\u002B").replace('/', "\\/"),
            ),
            ("twice", STANDARD.encode(STANDARD.encode(&whole))),
            (
                "twice, in lines",
                in_lines(&STANDARD.encode(URL_SAFE.encode(&whole)), width, "\n"),
            ),
        ] {
            let hidden = forms.hidden(text.as_bytes()).unwrap_or_default();
            assert_eq!(hidden.len(), text.len(), "{label} {before}");
            assert_eq!(hidden, streamed(&forms, text.as_bytes().chunks(5)), "{label} {before}");
            let plain = String::from_utf8(hidden).expect("text");
            let plain = plain
                .replace("\\n", "")
                .replace("\\u002B", "+")
                .replace("%2B", "+")
                .replace("%2F", "/");
            let mut plain: String = plain
                .chars()
                .filter(|char| !char.is_whitespace() && *char != '\\')
                .map(|char| match char {
                    '-' => '+',
                    '_' => '/',
                    char => char,
                })
                .collect();
            for _ in 0..2 {
                let Ok(decoded) = STANDARD.decode(&plain) else { break };
                plain = String::from_utf8_lossy(&decoded).into_owned();
                assert!(!plain.contains(&SECRET[4..20]), "{label} {before}: {plain}");
            }
            assert!(plain.contains("456789abcdef01234"), "{label} {before}: {plain}");
        }
    }
}

#[test]
fn what_breaks_off_in_a_secret_is_hidden_too() {
    let forms = known();
    for (length, hides) in [(3, false), (7, false), (8, true), (SECRET.len() - 1, true)] {
        let mut bytes = format!("before {}", &SECRET[..length]).into_bytes();
        assert_eq!(forms.hide(&mut bytes, false), bytes.len() - length);
        forms.hide(&mut bytes, true);
        let expected = if hides {
            &PLACEHOLDER[..length]
        } else {
            &SECRET[..length]
        };
        assert_eq!(String::from_utf8_lossy(&bytes), format!("before {expected}"));
    }
    for passes in ["nothing of it", "Z\n", "Z2h\n\n", "an end\n", "{\"a\": \"b\"}\n\n"] {
        let mut bytes = passes.as_bytes().to_vec();
        assert_eq!(forms.hide(&mut bytes, false), passes.len(), "{passes:?}");
    }
}

/// The other one is `SECRET` as far as it goes.
#[test]
fn a_secret_that_begins_with_another_is_hidden_whole() {
    let (longer, stands_for) = (format!("{SECRET}-and-the-rest"), "f".repeat(SECRET.len() + 13));
    for pairs in [
        [(SECRET, PLACEHOLDER), (&longer, &stands_for)],
        [(&longer, &stands_for), (SECRET, PLACEHOLDER)],
    ] {
        let forms = Forms::of(pairs.into_iter());
        for size in [1, 7, 1000] {
            for (text, expected) in [
                (format!("a {longer} b"), format!("a {stands_for} b")),
                (format!("a {SECRET} b"), format!("a {PLACEHOLDER} b")),
                (
                    format!("a {SECRET}-and-"),
                    format!("a {}", &stands_for[..SECRET.len() + 5]),
                ),
                (format!("a {SECRET}"), format!("a {PLACEHOLDER}")),
            ] {
                let hidden = streamed(&forms, text.as_bytes().chunks(size));
                assert_eq!(String::from_utf8_lossy(&hidden), expected, "{size}");
            }
            let packed = STANDARD.encode(format!("me:{longer}"));
            let hidden = STANDARD
                .decode(streamed(&forms, packed.as_bytes().chunks(size)))
                .expect("base64");
            assert!(!String::from_utf8_lossy(&hidden).contains("and-the"), "{size}");
        }
    }
}
