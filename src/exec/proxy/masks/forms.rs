//! The forms in which a host may give a secret back: as it is, in hexadecimal and in base64, each of their characters plain or
//! escaped (`reader`). What is found is written over by the same form of the placeholder, in as many bytes, so that nothing that
//! says how long an answer is has to change.
//!
//! A host that means to give the secret away has other ways (compressed, encrypted, one letter at a time); these are those
//! of hosts that only echo what they were sent.

mod reader;

use base64::Engine as _;
use base64::engine::general_purpose::{GeneralPurpose, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use reader::{Reader, begins_escape, write_over};

/// The beginning of a secret that is hidden also where the answer ends with it: shorter ones are of any text.
const TELLING: usize = 8;
/// Blanks between two characters of base64: the end of a line, and how far the next one is indented.
const MOST_BLANKS: usize = 32;
/// Characters of base64 that are of any text: behind so few the end of a line is not held back, as whoever waits for it would wait
/// for ever.
const OF_ANY_TEXT: usize = 4;

/// How the characters of a text are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Alphabet {
    Exact,
    /// In either case.
    Hex,
    /// That of files or that of addresses, in lines or in one.
    Base64,
}

impl Alphabet {
    fn fits(self, wanted: u8, found: u8) -> bool {
        let usual = |byte| match byte {
            b'-' => b'+',
            b'_' => b'/',
            byte => byte,
        };
        match self {
            Self::Exact => wanted == found,
            Self::Hex => wanted.eq_ignore_ascii_case(&found),
            Self::Base64 => usual(wanted) == usual(found),
        }
    }
}

/// One form of a secret, and that of its placeholder, which is as long.
#[derive(Debug)]
struct Form {
    alphabet: Alphabet,
    secret: Vec<u8>,
    placeholder: Vec<u8>,
}

/// A character that was found.
#[derive(Clone, Copy, Debug)]
struct Step {
    start: usize,
    end: usize,
    /// The number of the step before.
    before: usize,
}

/// A form, or its beginning, by the places of its characters.
#[derive(Debug)]
struct Found {
    form: usize,
    places: Vec<(usize, usize)>,
}

impl Found {
    fn end(&self) -> usize {
        self.places.last().map_or(0, |(_, end)| *end)
    }
}

/// What there is at one place of an answer.
enum Look {
    Nothing,
    /// What follows decides.
    Open,
    Found(Found),
}

/// What is looked for in the answers of one host.
#[derive(Debug)]
pub(super) struct Forms {
    forms: Vec<Form>,
    /// Those that begin with a character, by its number.
    by_first: Vec<Vec<usize>>,
    /// Whether any may begin with these two bytes, by both: nearly nothing of an answer does.
    begins: Vec<bool>,
}

/// The place of two bytes among all.
fn both(first: u8, second: u8) -> usize {
    u16::from_be_bytes([first, second]).into()
}

impl Forms {
    /// Of these secrets and their placeholders, which are as long.
    pub(super) fn of<'s>(secrets: impl Iterator<Item = (&'s str, &'s str)>) -> Self {
        let forms: Vec<Form> = secrets
            .flat_map(|(secret, placeholder)| forms(secret, placeholder))
            .collect();
        let beginning = |byte: u8| {
            let all = forms.iter().enumerate();
            let fitting = all.filter(|(_, form)| form.alphabet.fits(form.secret[0], byte));
            fitting.map(|(at, _)| at).collect()
        };
        let mut begins = vec![false; both(u8::MAX, u8::MAX) + 1];
        for first in 0..=u8::MAX {
            let its: Vec<&Form> = forms
                .iter()
                .filter(|form| form.alphabet.fits(form.secret[0], first))
                .collect();
            for second in 0..=u8::MAX {
                begins[both(first, second)] = begins_escape(first) || its.iter().any(|form| form.may_go_on(second));
            }
        }
        Self {
            by_first: (0..=u8::MAX).map(beginning).collect(),
            forms,
            begins,
        }
    }

    /// The bytes with placeholders in the place of secrets; none where there is no secret.
    pub(super) fn hidden(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut hidden = bytes.to_vec();
        self.hide(&mut hidden, true);
        (hidden != bytes).then_some(hidden)
    }

    /// Whether a secret, or the telling beginning of one, stands in these pieces one behind the other and would be seen where
    /// each is hidden by itself.
    pub(super) fn is_spread(&self, pieces: &[&[u8]]) -> bool {
        let plain = pieces.concat();
        let alone = pieces
            .iter()
            .flat_map(|piece| self.hidden(piece).unwrap_or_else(|| piece.to_vec()));
        let together = self.hidden(&plain).unwrap_or_else(|| plain.clone());
        let seen = |((plain, alone), together): ((u8, u8), u8)| plain == alone && plain != together;
        plain.iter().copied().zip(alone).zip(together).any(seen)
    }

    /// Whether a secret stands in a text whose letters have lost their case, as those of a header's name.
    pub(super) fn is_in_folded(&self, text: &[u8]) -> bool {
        let fits = |(found, wanted): (&u8, &u8)| {
            let wanted = wanted.to_ascii_lowercase();
            Alphabet::Base64.fits(wanted, found.to_ascii_lowercase())
        };
        self.forms.iter().any(|form| {
            let mut places = text.windows(form.secret.len());
            places.any(|place| place.iter().zip(&form.secret).all(fits))
        })
    }

    /// Writes placeholders over the secrets in a part of an answer, at its end also over the beginning of one. How many bytes
    /// can go on: the others may be the beginning of a secret.
    pub(super) fn hide(&self, bytes: &mut [u8], is_end: bool) -> usize {
        let mut steps = Vec::new();
        let mut at = 0;
        while let Some(next) = self.next(bytes, at) {
            at = next;
            match self.look(bytes, at, is_end, &mut steps) {
                Look::Nothing => at += 1,
                Look::Open => return at,
                Look::Found(found) => {
                    let placeholder = &self.forms[found.form].placeholder;
                    for ((start, end), with) in found.places.iter().zip(placeholder) {
                        write_over(&mut bytes[*start..*end], *with);
                    }
                    at = found.end();
                }
            }
        }
        bytes.len()
    }

    /// Where, from a place on, the next may begin.
    fn next(&self, bytes: &[u8], from: usize) -> Option<usize> {
        let mut pairs = bytes[from..].windows(2);
        let found = pairs.position(|pair| self.begins[both(pair[0], pair[1])]);
        found.map(|at| from + at).or_else(|| {
            let (last, _) = bytes[from..].split_last()?;
            let may_begin = begins_escape(*last) || !self.by_first[usize::from(*last)].is_empty();
            may_begin.then_some(bytes.len() - 1)
        })
    }

    /// What begins at a place. Of several forms the one that reaches farthest counts: a secret may begin with another.
    fn look(&self, bytes: &[u8], at: usize, is_end: bool, steps: &mut Vec<Step>) -> Look {
        let reader = Reader::new(bytes);
        let firsts = reader.readings(at);
        let mut is_open = reader.has_ended();
        let (mut whole, mut begun): (Option<Found>, Option<Found>) = (None, None);
        for (byte, end) in firsts {
            for &number in &self.by_first[usize::from(byte)] {
                steps.clear();
                steps.push(Step {
                    start: at,
                    end,
                    before: 0,
                });
                let best = match self.forms[number].follow(&reader, steps) {
                    Followed::No => continue,
                    Followed::Begun => {
                        is_open = true;
                        &mut begun
                    }
                    Followed::Whole => &mut whole,
                };
                let found = Found {
                    form: number,
                    places: places(steps),
                };
                if best.as_ref().is_none_or(|best| best.end() < found.end()) {
                    *best = Some(found);
                }
            }
        }
        if is_open && !is_end {
            return Look::Open;
        }
        let begun = begun.filter(|begun| begun.places.len() >= TELLING);
        let farthest = begun.into_iter().chain(whole).max_by_key(Found::end);
        farthest.map_or(Look::Nothing, Look::Found)
    }
}

/// How much of a form there is.
enum Followed {
    No,
    /// Its beginning, and the bytes end.
    Begun,
    Whole,
}

impl Form {
    /// Whether this byte may stand behind its first character.
    fn may_go_on(&self, byte: u8) -> bool {
        let fits = self
            .secret
            .get(1)
            .is_none_or(|second| self.alphabet.fits(*second, byte));
        let is_blank = self.alphabet == Alphabet::Base64 && byte.is_ascii_whitespace();
        fits || is_blank || byte == 0 || begins_escape(byte)
    }

    /// Follows its characters from the first one, which is in `steps`. All readings are followed side by side.
    fn follow(&self, reader: &Reader<'_>, steps: &mut Vec<Step>) -> Followed {
        let _of_others = reader.has_ended();
        let most_blanks = match self.alphabet {
            Alphabet::Base64 => MOST_BLANKS,
            Alphabet::Exact | Alphabet::Hex => 0,
        };
        let mut latest = 0;
        for (count, wanted) in self.secret.iter().enumerate().skip(1) {
            let made = steps.len();
            for before in latest..made {
                let mut start = steps[before].end;
                for blanks in 0..=most_blanks {
                    if blanks > 0 && count < OF_ANY_TEXT && reader.is_end(start) {
                        break;
                    }
                    let mut blank = None;
                    for (byte, end) in reader.readings(start) {
                        let is_new = || steps[made..].iter().all(|step| step.end != end);
                        if self.alphabet.fits(*wanted, byte) && is_new() {
                            steps.push(Step { start, end, before });
                        }
                        if byte.is_ascii_whitespace() {
                            blank = Some(end);
                        }
                    }
                    let Some(end) = blank else { break };
                    start = end;
                }
            }
            if steps.len() == made {
                return match reader.has_ended() {
                    true => Followed::Begun,
                    false => Followed::No,
                };
            }
            latest = made;
        }
        Followed::Whole
    }
}

/// The places of the characters that lead to the last step.
fn places(steps: &[Step]) -> Vec<(usize, usize)> {
    let mut at = steps.len() - 1;
    let mut places = vec![(steps[at].start, steps[at].end)];
    while at > 0 {
        at = steps[at].before;
        places.push((steps[at].start, steps[at].end));
    }
    places.reverse();
    places
}

fn forms(secret: &str, placeholder: &str) -> Vec<Form> {
    let hex = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    let form = |alphabet, secret: &str, placeholder: &str| Form {
        alphabet,
        secret: secret.as_bytes().to_vec(),
        placeholder: placeholder.as_bytes().to_vec(),
    };
    let mut forms = vec![
        form(Alphabet::Exact, secret, placeholder),
        form(Alphabet::Hex, &hex(secret), &hex(placeholder)),
    ];
    let packed = |engine: &GeneralPurpose, secret: &str, placeholder: &str| {
        [0, 1, 2].map(|before| [secret, placeholder].map(|text| packed(engine, before, text)))
    };
    for [secret, placeholder] in packed(&STANDARD_NO_PAD, secret, placeholder) {
        forms.push(form(Alphabet::Base64, &secret, &placeholder));
    }
    // Packed once more, as a header is whose name and password are packed already.
    let mut twice: Vec<[String; 2]> = Vec::new();
    for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
        for [secret, placeholder] in packed(&engine, secret, placeholder) {
            twice.extend(packed(&STANDARD_NO_PAD, &secret, &placeholder));
        }
    }
    twice.sort();
    twice.dedup();
    forms.extend(
        twice
            .iter()
            .map(|[secret, placeholder]| form(Alphabet::Base64, secret, placeholder)),
    );
    forms
}

/// The characters of base64 that are of a text alone, whatever stands around it, where so many bytes of a group stand before it.
fn packed(engine: &GeneralPurpose, before: usize, text: &str) -> String {
    let text = [&[0; 2][..before], text.as_bytes()].concat();
    engine.encode(&text)[(before * 8).div_ceil(6)..text.len() * 8 / 6].to_owned()
}

#[cfg(test)]
mod tests;
