//! File URIs and paths.

use std::path::{Component, Path, PathBuf};
use thiserror::Error;

/// Why a `file:` URI names no path of this machine.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UriError {
    #[error("the URI {uri} names the host {host}; only files of this machine can be used")]
    OtherHost { uri: String, host: String },
    #[error("the path in the URI {uri} is not UTF-8 once its percent signs are decoded")]
    NotUtf8 { uri: String },
    #[error("the URI {uri} has a percent sign that is not followed by two hexadecimal digits")]
    BadPercent { uri: String },
    #[error("the path in the URI {uri} holds a NUL byte")]
    Nul { uri: String },
    #[error("the URI {uri} has no absolute path")]
    NotAbsolute { uri: String },
}

/// The path of a `file:` URI, cleaned. `Ok(None)` for every other scheme: those are documents without a file.
pub fn to_path(uri: &str) -> Result<Option<PathBuf>, UriError> {
    let Some(rest) = strip_scheme(uri, "file") else {
        return Ok(None);
    };
    let owned = || uri.to_owned();
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let path = match rest.strip_prefix("//") {
        Some(after) => {
            let slash = after.find('/').unwrap_or(after.len());
            let host = &after[..slash];
            if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                return Err(UriError::OtherHost {
                    uri: owned(),
                    host: host.to_owned(),
                });
            }
            &after[slash..]
        }
        None => rest,
    };
    let bytes = decode(path).ok_or_else(|| UriError::BadPercent { uri: owned() })?;
    if bytes.contains(&0) {
        return Err(UriError::Nul { uri: owned() });
    }
    let text = String::from_utf8(bytes).map_err(|_| UriError::NotUtf8 { uri: owned() })?;
    let text = if cfg!(windows) { drive(&text) } else { text.as_str() };
    let path = Path::new(text);
    if !path.is_absolute() {
        return Err(UriError::NotAbsolute { uri: owned() });
    }
    Ok(Some(clean(path)))
}

/// The `file:` URI of an absolute path. A path that is not UTF-8 keeps its bytes as percent signs on Unix.
pub fn from_path(path: &Path) -> String {
    let mut uri = String::from("file://");
    #[cfg(unix)]
    let bytes = std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str());
    #[cfg(not(unix))]
    let text = format!("/{}", path.to_string_lossy().replace('\\', "/"));
    #[cfg(not(unix))]
    let bytes = text.as_bytes();
    for &byte in bytes {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(char::from(byte)),
            _ => {
                uri.push('%');
                for digit in [byte >> 4, byte & 15] {
                    uri.push(char::from(b"0123456789ABCDEF"[usize::from(digit)]));
                }
            }
        }
    }
    uri
}

/// Drops `.`, resolves `..` and doubled slashes by the text alone; links are not looked at. `..` at the root
/// stays at the root.
pub fn clean(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                if !matches!(clean.components().next_back(), None | Some(Component::ParentDir)) {
                    clean.pop();
                } else if !path.is_absolute() {
                    clean.push("..");
                }
            }
            other => clean.push(other),
        }
    }
    clean
}

fn strip_scheme<'a>(uri: &'a str, scheme: &str) -> Option<&'a str> {
    let (head, rest) = uri.split_once(':')?;
    head.eq_ignore_ascii_case(scheme).then_some(rest)
}

/// `None` where a percent sign is not followed by two hexadecimal digits.
fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?].map(|digit| char::from(digit).to_digit(16));
                let [Some(high), Some(low)] = digits else { return None };
                u8::try_from(high * 16 + low).ok()?
            }
            byte => byte,
        });
    }
    Some(bytes)
}

/// `/C:/x` is `C:/x` on Windows.
fn drive(text: &str) -> &str {
    match text.as_bytes() {
        [b'/', letter, b':', ..] if letter.is_ascii_alphabetic() => &text[1..],
        _ => text,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn uris_of_files_have_paths() {
        for (uri, path) in [
            ("file:///tmp/a.rs", Some("/tmp/a.rs")),
            ("FILE:///tmp/a.rs", Some("/tmp/a.rs")),
            ("file:/tmp/a.rs", Some("/tmp/a.rs")),
            ("file://localhost/tmp/a", Some("/tmp/a")),
            ("file:///a%20b/%C3%9F%f0%9f%98%80", Some("/a b/ß😀")),
            ("file:///a/./b/../c//d/", Some("/a/c/d")),
            ("file:///../../etc", Some("/etc")),
            ("file:///c%3A/Users/x", Some("/c:/Users/x")),
            ("file:///C:/Users/x", Some("/C:/Users/x")),
            ("file:///a%2Fb", Some("/a/b")),
            ("file:///a#L3", Some("/a")),
            ("file:///a?x=1", Some("/a")),
            ("file:///a%23b%3F", Some("/a#b?")),
            ("file:///", Some("/")),
            ("untitled:Untitled-1", None),
            ("vscode-notebook-cell:/x.ipynb#W1", None),
            ("git:/repo/a.rs?ref", None),
            ("", None),
            ("no scheme", None),
        ] {
            assert_eq!(to_path(uri).unwrap().as_deref(), path.map(Path::new), "{uri}");
        }
    }

    #[test]
    fn what_names_no_path_here_is_refused() {
        let owned = |uri: &str| uri.to_owned();
        for (uri, error) in [
            (
                "file:///a%ff",
                UriError::NotUtf8 {
                    uri: owned("file:///a%ff"),
                },
            ),
            (
                "file:///a%zz",
                UriError::BadPercent {
                    uri: owned("file:///a%zz"),
                },
            ),
            (
                "file:///a%2",
                UriError::BadPercent {
                    uri: owned("file:///a%2"),
                },
            ),
            (
                "file:///a%00b",
                UriError::Nul {
                    uri: owned("file:///a%00b"),
                },
            ),
            (
                "file://server/share",
                UriError::OtherHost {
                    uri: owned("file://server/share"),
                    host: owned("server"),
                },
            ),
            (
                "file:relative",
                UriError::NotAbsolute {
                    uri: owned("file:relative"),
                },
            ),
            ("file://", UriError::NotAbsolute { uri: owned("file://") }),
        ] {
            assert_eq!(to_path(uri), Err(error), "{uri}");
        }
    }

    #[test]
    fn cleaning_goes_by_the_text_alone() {
        for (path, expected) in [
            ("/a/../../b", "/b"),
            ("a/../../b", "../b"),
            ("./a", "a"),
            ("/a/b/..", "/a"),
            ("/..", "/"),
            ("../..", "../.."),
        ] {
            assert_eq!(clean(Path::new(path)), Path::new(expected), "{path}");
        }
    }

    proptest! {
        #[test]
        fn a_path_survives_the_way_there_and_back(parts in prop::collection::vec("[^/\0]{1,8}", 1..5)) {
            let path = clean(Path::new(&format!("/{}", parts.join("/"))));
            let uri = from_path(&path);
            prop_assert!(uri.is_ascii());
            prop_assert_eq!(to_path(&uri).unwrap(), Some(path));
        }
    }
}
