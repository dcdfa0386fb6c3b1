//! What is known of the values of variables: one that is set once, on the way that every run takes, has that value.

use super::super::script::MAX_VALUE;
use super::super::word::Word;
use super::Reader;
use std::collections::HashMap;

/// What a variable holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Known(String),
    /// An integer.
    Numeric,
    Unknown {
        /// Not empty, and no dash in front.
        tame: bool,
        /// Without blanks and characters of patterns, so that it stays one word without quotes.
        whole: bool,
    },
}

impl Value {
    pub(super) const ANYTHING: Self = Self::Unknown {
        tame: false,
        whole: false,
    };

    /// What a variable holds that is set to this word.
    pub(super) fn of(word: &Word) -> Self {
        let computed = word.text.strip_prefix("$((").and_then(|rest| rest.strip_suffix("))"));
        match word.known {
            true if word.text.len() > MAX_VALUE => Self::ANYTHING,
            true => Self::Known(word.text.clone()),
            false if computed.is_some_and(|inner| !inner.contains("))")) => Self::Numeric,
            false => Self::Unknown {
                tame: word.tame,
                whole: false,
            },
        }
    }

    /// What the variable of a loop over these words holds.
    pub(super) fn of_loop(words: &[Word]) -> Self {
        if !words.is_empty()
            && words
                .iter()
                .all(|word| word.exact().is_some_and(|text| text.parse::<i32>().is_ok()))
        {
            return Self::Numeric;
        }
        let plain = |word: &Word| word.exact().is_some_and(|text| !text.contains(SPLITTING));
        Self::Unknown {
            tame: words.iter().all(|word| word.tame && (!word.splits || word.known)),
            whole: words.iter().all(plain),
        }
    }

    pub(super) fn is_integer(&self) -> bool {
        match self {
            Self::Known(text) => text.parse::<i32>().is_ok(),
            Self::Numeric => true,
            Self::Unknown { .. } => false,
        }
    }
}

/// Characters at which an unquoted value is split or becomes a pattern.
pub(super) const SPLITTING: [char; 7] = [' ', '\t', '\n', '*', '?', '[', '\\'];

/// How often each variable is set, and whether always to an integer.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    set: HashMap<String, (usize, bool)>,
}

impl Facts {
    fn note(&mut self, name: &str, is_integer: bool) {
        let (count, integers) = self.set.entry(name.to_owned()).or_insert((0, true));
        *count += 1;
        *integers &= is_integer;
    }

    pub(super) fn is_set(&self, name: &str) -> bool {
        self.set.contains_key(name)
    }

    fn is_set_once(&self, name: &str) -> bool {
        self.set.get(name).is_some_and(|(count, _)| *count == 1)
    }

    fn holds_integers(&self, name: &str) -> bool {
        self.set.get(name).is_some_and(|(_, integers)| *integers)
    }
}

impl Reader<'_> {
    /// A variable is set here.
    pub(super) fn assign(&mut self, name: &str, value: Value) {
        self.seen.note(name, value.is_integer());
        let before = self.variables.remove(name);
        self.journal.push((name.to_owned(), before.is_some()));
        if self.facts.is_set_once(name) {
            self.variables.insert(name.to_owned(), value);
        } else if self.facts.holds_integers(name) {
            self.variables.insert(name.to_owned(), Value::Numeric);
        }
    }

    /// What a variable holds here.
    pub(super) fn value_of(&self, name: &str) -> Value {
        let rooted = matches!(name, "HOME" | "PWD" | "OLDPWD") && !self.facts.is_set(name);
        match self.variables.get(name) {
            Some(value) => value.clone(),
            None if matches!(name, "?" | "#" | "$") => Value::Numeric,
            None if rooted => Value::Unknown {
                tame: true,
                whole: false,
            },
            None => Value::ANYTHING,
        }
    }

    /// Begins a stretch that not every run goes through.
    pub(super) fn enter(&self) -> usize {
        self.journal.len()
    }

    /// Ends it: what it set may be set or not.
    pub(super) fn leave(&mut self, mark: usize) {
        let mut had_value: HashMap<String, bool> = HashMap::new();
        for (name, before) in self.journal.get(mark..).unwrap_or_default() {
            had_value.entry(name.clone()).or_insert(*before);
        }
        for (name, before) in had_value {
            if !(before && self.facts.holds_integers(&name)) {
                self.variables.remove(&name);
            }
        }
    }
}
