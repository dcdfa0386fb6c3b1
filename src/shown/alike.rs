//! What looks like something else: letters of one script in the place of another's, and addresses that lead elsewhere than
//! they seem to. Said in sentences beside what a person decides on; the text itself stays as it is.

use std::collections::HashSet;
use std::path::{Component, Path};
use unicode_security::skeleton;

/// Sentences about words; of more than this, how many there are.
const MOST_NOTES: usize = 5;
/// Characters of a word that a sentence quotes.
const QUOTED: usize = 80;
/// Bytes of an address up to its path. No host is as long, and what is longer is not looked up.
const LONGEST_AUTHORITY: usize = 1000;
/// Letters that are their own to those who read them, and seen to be.
const OWN: &str = "äöüÄÖÜßåÅæÆøØœŒñÑçÇàÀéÉèÈêÊ";
const RIGHT_TO_LEFT: &str =
    "Some letters are written from right to left: what stands around them may show in another order.";
/// How the names of hosts end that other hosts pretend to be.
const ENDS_OF_HOSTS: [&str; 12] = [
    "ai", "app", "co", "com", "dev", "edu", "gov", "io", "me", "net", "org", "sh",
];

/// What a word is suspected of.
enum Suspicion<'a> {
    /// An address that leads to this host.
    Leads(&'a str, String),
    Looks(&'a str),
}

/// What a person should know of a command, a path or an address before they decide on it.
pub fn notes(text: &str) -> Vec<String> {
    let (mut notes, mut more) = (Vec::new(), 0);
    let mut seen = HashSet::new();
    let breaks = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>' | '(' | ')' | ',' | ';' | '|');
    for word in text.split(breaks) {
        let may_be = !word.is_ascii() || word.contains(['@', ':']);
        let Some(suspicion) = may_be.then(|| suspicion(word)).flatten().filter(|_| seen.insert(word)) else {
            continue;
        };
        match notes.len() < MOST_NOTES {
            true => notes.push(suspicion.to_string()),
            false => more += 1,
        }
    }
    if more > 0 {
        notes.push(more_names(more));
    }
    if quotes_nothing(text) {
        notes.push("Some quotation marks are not the plain ones: to a shell they quote nothing.".to_owned());
    }
    if text.chars().any(is_right_to_left) {
        notes.push(RIGHT_TO_LEFT.to_owned());
    }
    notes
}

/// The same of paths: which of their names look like others.
pub fn of_paths<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Vec<String> {
    let (mut notes, mut more) = (Vec::new(), 0);
    let mut seen = HashSet::new();
    let mut turns = false;
    for name in paths.into_iter().flat_map(Path::components) {
        let Component::Normal(name) = name else { continue };
        let name = name.to_string_lossy();
        if !seen.insert(name.clone()) {
            continue;
        }
        turns |= name.chars().any(is_right_to_left);
        match is_suspect(&name) {
            true if notes.len() < MOST_NOTES => notes.push(looks_like(&name)),
            true => more += 1,
            false => {}
        }
    }
    if more > 0 {
        notes.push(more_names(more));
    }
    if turns {
        notes.push(RIGHT_TO_LEFT.to_owned());
    }
    notes
}

fn more_names(count: usize) -> String {
    format!("{count} more names look like others.")
}

#[cfg(test)]
thread_local! {
    /// Bytes of words, and of what is parsed as an address.
    static LOOKED_AT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

fn looks_at(_text: &str) {
    #[cfg(test)]
    LOOKED_AT.set(LOOKED_AT.get() + _text.len());
}

fn suspicion(word: &str) -> Option<Suspicion<'_>> {
    looks_at(word);
    let leads = |(address, host)| Suspicion::Leads(address, host);
    address(word)
        .or_else(|| bare_address(word))
        .map(leads)
        .or_else(|| is_suspect(word).then_some(Suspicion::Looks(word)))
}

impl std::fmt::Display for Suspicion<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Leads(address, host) => write!(f, "The address {} leads to the host {host}.", quoted(address)),
            Self::Looks(word) => {
                f.write_str(&looks_like(word))?;
                let is_host =
                    word.starts_with(char::is_alphanumeric) && word.contains('.') && word.len() <= LONGEST_AUTHORITY;
                match is_host.then(|| url::Host::parse(word)) {
                    Some(Ok(url::Host::Domain(host))) if host.contains("xn--") => write!(f, " As a host it is {host}."),
                    _ => Ok(()),
                }
            }
        }
    }
}

fn looks_like(word: &str) -> String {
    let plain: String = word
        .chars()
        .take(2 * QUOTED)
        .map(|c| plain(c).unwrap_or_else(|| c.to_string()))
        .collect();
    format!("{} looks like {} and is not the same.", quoted(word), quoted(&plain))
}

fn quoted(word: &str) -> String {
    let word = super::exact(word);
    match word.char_indices().nth(QUOTED) {
        Some((at, _)) => format!("“{}…”", &word[..at]),
        None => format!("“{word}”"),
    }
}

fn is_right_to_left(c: char) -> bool {
    use icu_properties::props::BidiClass;
    !c.is_ascii()
        && matches!(
            icu_properties::CodePointMapData::<BidiClass>::new().get(c),
            BidiClass::RightToLeft | BidiClass::ArabicLetter
        )
}

/// An address whose host is not the one that its letters show, and that host.
fn address(word: &str) -> Option<(&str, String)> {
    let (scheme, _) = word.split_once("://")?;
    let begin = scheme
        .rfind(|c: char| !c.is_ascii_alphanumeric())
        .map_or(0, |at| at + scheme[at..].chars().next().map_or(1, char::len_utf8));
    let word = &word[begin..];
    let (_, rest) = word.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.len() > LONGEST_AUTHORITY {
        return None;
    }
    // The path changes nothing of the host.
    let up_to_path = &word[..word.len() - rest.len() + authority.len()];
    looks_at(up_to_path);
    let url = url::Url::parse(up_to_path).ok()?;
    let host = url.host_str()?;
    let (user, shows) = authority.rsplit_once('@').unwrap_or(("", authority));
    let name = &shows[..shows.len() - port(shows)];
    let is_same = name.eq_ignore_ascii_case(host) || name.starts_with('[') || is_own(name, host);
    // A name in front of the host is there to be taken for one.
    let (name_of_user, _) = user.split_once(':').unwrap_or((user, ""));
    let in_front = if url.is_special() { user } else { name_of_user };
    let is_plain = in_front.is_ascii() && !in_front.contains(['.', '%', '\\']);
    (!is_same || !is_plain).then(|| (word, host.to_owned()))
}

/// Whether a name is the host's in letters that are taken for no others.
fn is_own(name: &str, host: &str) -> bool {
    use icu_properties::props::Script;
    let is_latin = |c: char| icu_properties::CodePointMapData::<Script>::new().get(c) == Script::Latin;
    let letter = |c: char| c.is_ascii() || OWN.contains(c) || c.is_alphabetic() && !is_latin(c);
    let encoded = url::Host::parse(name).map(|host| host.to_string());
    host.contains("xn--") && encoded.is_ok_and(|name| name == host) && name.chars().all(letter) && !is_suspect(name)
}

/// The same without a scheme: `github.com@evil.example`. An address of mail has no name of a host before its sign.
fn bare_address(word: &str) -> Option<(&str, String)> {
    let authority = word.split(['/', '?', '#']).next().unwrap_or_default();
    let (user, host) = authority.rsplit_once('@')?;
    let (user, _) = user.split_once(':').unwrap_or((user, ""));
    let host = &host[..host.len() - port(host)];
    let is_name = |name: &str| name.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-'));
    let end = |name: &str| name.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase());
    let leads = end(host).is_some_and(|end| end.starts_with(|c: char| c.is_alphabetic())) && is_name(host);
    let pretends = end(user).is_some_and(|end| ENDS_OF_HOSTS.contains(&end.as_str())) && is_name(user);
    let is_short = authority.len() <= LONGEST_AUTHORITY;
    (leads && pretends && is_short).then(|| (word, host.to_owned()))
}

/// How many bytes of an authority are its port.
fn port(authority: &str) -> usize {
    match authority.split_once(':') {
        Some((_, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => port.len() + 1,
        _ => 0,
    }
}

/// Whether a word has letters, or signs between letters, that look like plain ones.
fn is_suspect(word: &str) -> bool {
    !word.is_ascii()
        && (word.split(|c: char| !c.is_alphanumeric()).any(is_alike)
            || has_sign(word)
            || is_like_an_option(word)
            || word.chars().any(is_like_a_digit)
            || has_end_of_command(word)
            || word.chars().next().is_some_and(|c| !c.is_ascii() && is_like(c, &["#"])))
}

fn is_like(c: char, signs: &[&str]) -> bool {
    plain(c).is_some_and(|plain| signs.contains(&plain.as_str()))
}

/// What a single character looks like, where that is plain text.
fn plain(c: char) -> Option<String> {
    if c.is_ascii() {
        return None;
    }
    if let Some(digit) = digit(c) {
        return Some(digit.to_string());
    }
    match c {
        '\u{ff01}'..='\u{ff5e}' => return char::from_u32(u32::from(c) - 0xfee0).map(String::from),
        '\u{37e}' => return Some(";".to_owned()),
        // To the table of look-alikes a bar is the letter l.
        '\u{2223}' | '\u{2758}'..='\u{275a}' | '\u{23d0}' | '\u{ffe8}' => return Some("|".to_owned()),
        '\u{2016}' | '\u{2225}' => return Some("||".to_owned()),
        '\u{201c}'..='\u{201f}' => return Some("\"".to_owned()),
        _ if is_dash(c) => return Some("-".to_owned()),
        _ => {}
    }
    let mut buffer = [0; 4];
    let plain: String = skeleton(c.encode_utf8(&mut buffer)).collect();
    plain.is_ascii().then_some(plain)
}

/// Fullwidth digits, and those of mathematics.
fn digit(c: char) -> Option<u32> {
    match c {
        '\u{ff10}'..='\u{ff19}' => Some(u32::from(c) - 0xff10),
        '\u{1d7ce}'..='\u{1d7ff}' => Some((u32::from(c) - 0x1d7ce) % 10),
        _ => None,
    }
}

fn is_like_a_digit(c: char) -> bool {
    digit(c).is_some()
}

fn is_dash(c: char) -> bool {
    use icu_properties::props::GeneralCategory;
    let dash = icu_properties::CodePointMapData::<GeneralCategory>::new().get(c) == GeneralCategory::DashPunctuation;
    !c.is_ascii() && (dash || matches!(c, '\u{2212}' | '\u{2796}' | '\u{2043}' | '\u{2500}'))
}

/// A word that begins like an option, with another dash.
fn is_like_an_option(word: &str) -> bool {
    let rest = word.trim_start_matches(|c: char| !c.is_ascii() && is_like(c, &["-"]));
    rest.len() < word.len() && rest.starts_with(|c: char| c.is_alphanumeric())
}

/// A sign that looks like one that ends a command, beside plain text.
fn has_end_of_command(word: &str) -> bool {
    let ends = |c: char| is_like(c, &[";", "|", "||", "&", ">", "<", "$"]);
    let beside = |c: Option<char>| c.is_none_or(|c| c.is_ascii() || ends(c));
    word.char_indices().any(|(at, c)| {
        let (before, behind) = (word[..at].chars().next_back(), word[at + c.len_utf8()..].chars().next());
        ends(c) && beside(before) && beside(behind)
    })
}

/// Letters that look like plain ones among plain ones, or nothing but such letters.
fn is_alike(part: &str) -> bool {
    let letters = || part.chars().filter(|c| c.is_alphabetic());
    let confusable = |c: char| {
        !OWN.contains(c) && plain(c).is_some_and(|plain| plain.bytes().all(|byte| byte.is_ascii_alphanumeric()))
    };
    let any = letters().any(confusable);
    any && (letters().any(|c| c.is_ascii()) || letters().all(confusable))
}

/// A sign that looks like one of those that divide paths and addresses, among plain text. What divides paths may begin or end
/// one, too.
fn has_sign(word: &str) -> bool {
    word.char_indices().any(|(at, c)| {
        if c.is_ascii() || c.is_alphanumeric() {
            return false;
        }
        let (before, behind) = (word[..at].chars().next_back(), word[at + c.len_utf8()..].chars().next());
        let both = |is: fn(Option<char>) -> bool| is(before) && is(behind);
        is_like(c, &["/", "//", "\\"]) && both(|c| c.is_none_or(|c| c.is_ascii()))
            || is_like(c, &[".", ":", "@", "?", "#"]) && both(|c| c.is_some_and(|c| c.is_ascii_alphanumeric()))
    })
}

/// Whether what looks like a quotation mark begins or ends a word, outside of what plain ones quote.
fn quotes_nothing(text: &str) -> bool {
    if text.is_ascii() {
        return false;
    }
    let is_edge = |c: Option<char>| c.is_none_or(|c| c.is_whitespace() || c.is_ascii_punctuation());
    let (mut quote, mut before, mut escaped) = (None, None, false);
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match (quote, c) {
            (Some(open), c) if c == open && !escaped => quote = None,
            (None, '"' | '\'') if !escaped => quote = Some(c),
            (None, c) if (is_edge(before) || is_edge(rest.clone().next())) && is_like(c, &["\"", "'", "''", "`"]) => {
                return true;
            }
            _ => {}
        }
        escaped = c == '\\' && !escaped && quote != Some('\'');
        before = Some(c);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_alikes_are_named() {
        for (text, expected) in [
            ("curl https://раураl.com/x", "leads to the host xn--"),
            (
                "curl https://github.com@evil.example/x",
                "leads to the host evil.example",
            ),
            (
                "curl https://github.com:x@evil.example/x",
                "leads to the host evil.example",
            ),
            ("curl https://exam\u{ad}ple.org/x", "leads to the host example.org"),
            ("curl https://1.1.1。1/", "leads to the host 1.1.1.1"),
            ("curl http://0x7f000001/", "leads to the host 127.0.0.1"),
            (
                "curl gооgle.com",
                "looks like “google.com” and is not the same. As a host it is xn--",
            ),
            ("cat /etc/pаsswd", "looks like “/etc/pa"),
            ("cat /etc∕passwd", "looks like “/etc/pa"),
            ("ssh ｇithub.com", "looks like"),
            ("cat сору", "looks like"),
            ("ls א/ב", "from right to left"),
            (
                "git clean -fdx \u{2010}\u{2010}dry\u{2010}run",
                "looks like “--dry-run”",
            ),
            ("git clean -fdx \u{2212}\u{2212}dry-run", "looks like “--dry-run”"),
            ("rm –f x", "looks like “-f”"),
            ("head -n \u{ff11}\u{ff10} a", "looks like “10”"),
            ("head -n \u{1d7cf} a", "looks like “1”"),
            ("ls\u{37e} rm x", "looks like “ls;”"),
            ("ls\u{ff1b}rm x", "looks like"),
            ("ls ｜ sh", "looks like “|”"),
            ("ls；；rm x", "looks like “ls;;rm”"),
            ("ls \u{2223} sh", "looks like “|”"),
            ("ls \u{2758} sh", "looks like “|”"),
            ("ls \u{2016} sh", "looks like “||”"),
            ("ls ＃; touch made", "looks like “#”"),
            ("echo ＂; touch made; echo ＂", "quote nothing"),
            ("echo ‘safe; touch made’", "quote nothing"),
            ("echo “safe; touch made”", "quote nothing"),
            ("echo 'a' \\' ‛safe; touch made‛", "quote nothing"),
            ("curl github.com@evil.example/x", "leads to the host evil.example"),
            (
                "curl -L github.com:443@evil.example:80",
                "leads to the host evil.example",
            ),
            (
                "curl https://x:github.com@evil.example/",
                "leads to the host evil.example",
            ),
            (
                "curl https://github%2ecom@evil.example/",
                "leads to the host evil.example",
            ),
            ("curl https://gíthub.com/", "leads to the host xn--"),
            ("curl https://githu\u{1e05}.com/", "leads to the host xn--"),
            ("rm -rf ~∕x", "looks like “~/x”"),
            ("cat ..∕x", "looks like “../x”"),
            ("rm -rf .∕build", "looks like “./build”"),
            ("rm -rf ∕", "looks like “/”"),
            ("ls \u{29f8}etc", "looks like “/etc”"),
            ("x \u{2d7}rf", "looks like “-rf”"),
        ] {
            let notes = notes(text).join(" ");
            assert!(notes.contains(expected), "{text}: {notes}");
        }
    }

    #[test]
    fn names_in_paths_are_looked_at_one_by_one() {
        let notes = |paths: &[&str]| of_paths(paths.iter().map(Path::new));
        let src = "“s\u{440}c” looks like “spc” and is not the same.";
        assert_eq!(notes(&["/w/s\u{440}c/b.txt", "/w/s\u{440}c/c.txt"]), [src]);
        assert_eq!(
            notes(&["/w/my \u{430}uth.py"]),
            ["“my \u{430}uth.py” looks like “my auth.py” and is not the same."]
        );
        assert!(notes(&["/w/etc\u{2215}passwd"])[0].contains("is not the same"));
        assert!(notes(&["/w/א"])[0].contains("from right to left"));
        assert_eq!(notes(&["/w/src/größe.txt", "привет/мир.txt", ""]), Vec::<String>::new());
        let many: Vec<String> = (0..MOST_NOTES + 2)
            .map(|number| format!("/w/\u{430}b{number}"))
            .collect();
        let told = of_paths(many.iter().map(Path::new));
        assert_eq!(told.last().map(String::as_str), Some("2 more names look like others."));
    }

    #[test]
    fn many_of_them_are_looked_at_once_and_counted() {
        let text: String = (0..20_000).map(|number| format!("\u{430}b{number} ")).collect();
        LOOKED_AT.set(0);
        let notes = notes(&text);
        assert_eq!(notes.len(), MOST_NOTES + 1);
        assert_eq!(
            notes[MOST_NOTES],
            format!("{} more names look like others.", 20_000 - MOST_NOTES)
        );
        assert!(LOOKED_AT.get() <= text.len(), "{}", LOOKED_AT.get());
        let address = format!("http://{}/", "ä".repeat(100_000));
        LOOKED_AT.set(0);
        assert_eq!(super::notes(&address).len(), 0);
        assert_eq!(LOOKED_AT.get(), address.len(), "it is not parsed");
    }

    #[test]
    fn what_people_write_is_not_suspected() {
        for text in [
            "git commit -m 'größer, naïve — don’t'",
            "cat привет/мир.txt",
            "cat 日本語/テスト-2.txt",
            "curl https://example.org:8080/a?b=c#d",
            "curl http://[::1]:80/ http://127.0.0.1:3000/x",
            "git clone git@github.com:a/b.git ssh://github.com/a",
            "echo 안녕 สวัสดี नमस्ते 👩\u{200d}🔬",
            "psql postgres://user:p.w@db.example.org:5432/app",
            "git clone https://token@github.com/x/y https://me:token@github.com/x",
            "curl https://münchen.de/ https://例え.jp/ https://пример.рф/",
            "cat œuvre.txt straße.md",
            "ls 项目：一 说明： ；结束",
            "git commit -m \"Say “yes” — or ‘no’\" # it’s done",
            "git log --author=john.doe@example.org && npm i lodash.merge@4.6.2 a.b@example.com",
            "scp a first.last@host.example.org:/x",
        ] {
            assert_eq!(notes(text), Vec::<String>::new(), "{text}");
        }
    }
}
