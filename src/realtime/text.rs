//! What of written text a voice is told: no more than it can keep in mind.

use crate::protocol::realtime::RealtimeVersion;

/// Tokens of one text of the person's that is mirrored, its mark with it.
const MIRROR_TOKENS: usize = 300;
/// Bytes of text in a token, roughly.
const BYTES_PER_TOKEN: usize = 4;
/// Marks, in version 2, that the person wrote it and did not say it.
const USER_MARK: &str = "[USER] ";
const CUT_MARK: &str = " …";

/// The text in at most so many tokens, cut at its end between characters, which shows.
pub fn cut(text: &str, tokens: usize) -> String {
    let most = tokens * BYTES_PER_TOKEN;
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most.saturating_sub(CUT_MARK.len()));
    format!("{}{CUT_MARK}", &text[..end])
}

/// Written input as a running conversation is told of it. `None`: there is nothing to tell.
pub fn mirrored(version: RealtimeVersion, text: &str) -> Option<String> {
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    let marked = match version {
        RealtimeVersion::V1 => text.to_owned(),
        RealtimeVersion::V2 => format!("{USER_MARK}{text}"),
    };
    Some(cut(&marked, MIRROR_TOKENS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_marked_and_cut_to_the_budget() {
        use RealtimeVersion::{V1, V2};
        assert_eq!(mirrored(V1, "  hello \n"), Some("hello".to_owned()));
        assert_eq!(mirrored(V2, "hello"), Some("[USER] hello".to_owned()));
        assert_eq!((mirrored(V1, " \n\t"), mirrored(V2, "")), (None, None));
        let most = MIRROR_TOKENS * BYTES_PER_TOKEN;
        for letter in ["a", "é", "語", "😀"] {
            for version in [V1, V2] {
                let long = mirrored(version, &letter.repeat(5000)).expect("text");
                assert!(long.len() <= most && long.len() > most - 8, "{}", long.len());
                assert!(long.ends_with(CUT_MARK));
            }
        }
        assert_eq!(cut("", 0), "");
        assert_eq!(cut("abcdefghij", 2), "abcd …");
        assert_eq!(cut("語語語語", 1), " …");
    }
}
