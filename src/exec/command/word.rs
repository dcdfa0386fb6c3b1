//! Words of shell text: what is known of them before the shell has run, and what quotes, escapes and braces make of their
//! source.

/// One word of a command, unquoted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// What the shell puts in at run time stands here as its source.
    pub text: String,
    /// False if the shell puts something in at run time.
    pub known: bool,
    /// Holds an unquoted `*`, `?` or `[`, so that it may become several names.
    pub glob: bool,
    /// May become several words, or none: something unquoted is put in.
    pub splits: bool,
    /// Whatever is put in, what comes out has a character that is no dash in front: it is no option.
    pub tame: bool,
}

impl Word {
    pub(super) fn literal(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            known: true,
            glob: false,
            splits: false,
            tame: !text.is_empty() && !text.starts_with('-'),
        }
    }

    pub(super) fn unknown(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            known: false,
            glob: false,
            splits: true,
            tame: false,
        }
    }

    /// Whether a program may take it for an option: what is known shows it, what is not known may be one.
    pub(super) fn may_be_option(&self) -> bool {
        if self.known && !self.glob {
            return self.text.len() > 1 && self.text.starts_with('-');
        }
        !self.tame || (self.splits && !self.known)
    }

    /// Its text, if that is all there is to it.
    pub(super) fn exact(&self) -> Option<&str> {
        (self.known && !self.glob && !self.splits).then_some(self.text.as_str())
    }
}

/// Takes the backslashes out of an unquoted word; whether there were any.
pub(super) fn unescaped(source: &str) -> (String, bool) {
    let mut text = String::with_capacity(source.len());
    let mut chars = source.chars();
    let mut escaped = false;
    while let Some(c) = chars.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        escaped = true;
        // A line that goes on is no character.
        text.extend(chars.next().filter(|c| *c != '\n'));
    }
    (text, escaped)
}

/// In double quotes a backslash means something only before a few characters.
pub(super) fn unescaped_in_quotes(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    let mut chars = source.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some('"' | '\\' | '$' | '`')) => text.extend(chars.next()),
            ('\\', Some('\n')) => drop(chars.next()),
            _ => text.push(c),
        }
    }
    text
}

/// The escapes of `$'...'`.
pub(super) fn decoded(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    let mut chars = source.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        let decoded = match chars.next() {
            None => '\\',
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('e' | 'E') => '\u{1b}',
            Some('x') => digits_from(&mut chars, 16, 3, '0'),
            Some(digit @ '0'..='7') => digits_from(&mut chars, 8, 3, digit),
            Some('u') => digits_from(&mut chars, 16, 5, '0'),
            Some('U') => digits_from(&mut chars, 16, 9, '0'),
            Some(other) => other,
        };
        text.push(decoded);
    }
    text
}

fn digits_from(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, radix: u32, most: usize, first: char) -> char {
    let mut number = first.to_digit(radix).unwrap_or(0);
    for _ in 1..most {
        let Some(digit) = chars.peek().and_then(|c| c.to_digit(radix)) else {
            break;
        };
        number = number.saturating_mul(radix).saturating_add(digit);
        chars.next();
    }
    char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// How deep braces may be nested, and into how many words they may grow.
const MAX_BRACES: usize = 6;
const MAX_WORDS: usize = 64;

/// So many braces that are no choice are passed over.
const MAX_PLAIN: usize = 64;

/// `a{b,c}d` to `abd acd`, `{1..3}` to `1 2 3`.
pub(super) fn expand_braces(text: &str, depth: usize) -> Vec<String> {
    let choice = first_choice(text).filter(|_| depth < MAX_BRACES);
    let Some((open, close, choices)) = choice else {
        return vec![text.to_owned()];
    };
    let mut words = Vec::new();
    for choice in choices {
        let word = format!("{}{choice}{}", &text[..open], &text[close + 1..]);
        words.extend(expand_braces(&word, depth + 1));
        words.truncate(MAX_WORDS);
    }
    words
}

/// Whether these are all the words that braces make, as far as they are followed.
pub(super) fn is_expanded(words: &[String]) -> bool {
    words.len() < MAX_WORDS && !words.iter().any(|word| first_choice(word).is_some())
}

/// The first braces that a shell expands: where they begin and end, and what they stand for.
fn first_choice(text: &str) -> Option<(usize, usize, Vec<String>)> {
    let opens = text.match_indices('{').map(|(at, _)| at);
    opens.take(MAX_PLAIN).find_map(|open| {
        let (close, choices) = choices(text, open)?;
        Some((open, close, choices))
    })
}

fn choices(text: &str, open: usize) -> Option<(usize, Vec<String>)> {
    let (mut level, mut cuts, mut close) = (0usize, vec![open + 1], None);
    for (at, c) in text[open..].char_indices().map(|(at, c)| (open + at, c)) {
        match c {
            '{' => level += 1,
            ',' if level == 1 => cuts.push(at + 1),
            '}' => {
                level -= 1;
                if level == 0 {
                    close = Some(at);
                    break;
                }
            }
            _ => {}
        }
    }
    let close = close?;
    if cuts.len() == 1 {
        return Some((close, sequence(&text[open + 1..close])?));
    }
    cuts.push(close + 1);
    let choices = cuts.windows(2).take(MAX_WORDS);
    Some((
        close,
        choices.map(|pair| text[pair[0]..pair[1] - 1].to_owned()).collect(),
    ))
}

/// `a..e` and `1..9..2`.
fn sequence(text: &str) -> Option<Vec<String>> {
    let parts: Vec<&str> = text.split("..").collect();
    let (first, last, step) = match parts.as_slice() {
        [first, last] => (*first, *last, 1),
        [first, last, step] => (*first, *last, step.parse::<i64>().ok()?.unsigned_abs().max(1)),
        _ => return None,
    };
    let letter = |text: &str| text.parse::<char>().ok().filter(char::is_ascii_alphabetic);
    let (is_letters, from, to) = match (letter(first), letter(last)) {
        (Some(from), Some(to)) => (true, i64::from(u32::from(from)), i64::from(u32::from(to))),
        _ => (false, first.parse().ok()?, last.parse().ok()?),
    };
    let count = usize::try_from(from.abs_diff(to) / step)
        .unwrap_or(MAX_WORDS)
        .min(MAX_WORDS - 1)
        + 1;
    let step = i64::try_from(step).ok()?;
    let step = if from <= to { step } else { -step };
    let numbers = (0i64..)
        .take(count)
        .map(|at| from.saturating_add(at.saturating_mul(step)));
    let spelled = numbers.map(|number| match u32::try_from(number).ok().and_then(char::from_u32) {
        Some(letter) if is_letters => letter.to_string(),
        _ => number.to_string(),
    });
    Some(spelled.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces() {
        for (text, expected) in [
            ("a{b,c}d", vec!["abd", "acd"]),
            ("{a,{b,c}}", vec!["a", "b", "c"]),
            ("{}", vec!["{}"]),
            ("{a}", vec!["{a}"]),
            ("{a,b", vec!["{a,b"]),
            ("{a}{b,c}", vec!["{a}b", "{a}c"]),
            ("{p..p}ush", vec!["push"]),
            ("pu{s..s}h", vec!["push"]),
            ("{a..e..2}", vec!["a", "c", "e"]),
            ("{2..-1}", vec!["2", "1", "0", "-1"]),
            ("{1..3..0}", vec!["1", "2", "3"]),
            ("{a..3}", vec!["{a..3}"]),
            ("{..}", vec!["{..}"]),
        ] {
            assert_eq!(expand_braces(text, 0), expected, "{text}");
        }
        let long = "{a,b}".repeat(20);
        for (text, expected) in [
            ("{a,b}", true),
            (long.as_str(), false),
            ("{1..1000}", false),
            ("{}", true),
        ] {
            assert_eq!(is_expanded(&expand_braces(text, 0)), expected, "{text}");
        }
    }
}
