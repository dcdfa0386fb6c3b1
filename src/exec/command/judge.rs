//! The judgement of a command: taken apart into all that it runs, each part judged by itself.
//!
//! Two questions are asked of each part. Is it known to only read? That takes both readers of shell text to agree on what
//! its words are. Is it dangerous? For that the more tolerant reader is asked, and a suspicion is enough.

use super::danger::{Look, feed_of};
use super::judgement::{Judgement, Kind, Label, Part};
use super::script::{Feed, Script, Simple};
use super::strict::{self, Dialect};
use super::word::Word;
use super::wrappers::{self, Inside, Unwrapped};
use super::{base_name, display, has_usual_place, kinds, reading, variables};
use std::collections::HashMap;
use std::path::Path;

/// How deep commands within commands are taken apart.
const MAX_DEPTH: usize = 6;
/// The most parts that are named.
const MAX_PARTS: usize = 200;
/// Longest text of a part that is shown, in characters.
const MAX_SHOWN: usize = 2000;
const ROOT: &str = "changes something with the rights of another user";

/// Judges a command that would run in `cwd`: each command in it by itself, and all of it by the worst of them.
pub fn judge(argv: &[String], cwd: &Path) -> Judgement {
    let look = Look::new(cwd);
    let words: Vec<Word> = argv.iter().map(|text| Word::literal(text)).collect();
    let mut judge = Judge {
        look: &look,
        parts: Vec::new(),
    };
    judge.command(&words, &Feed::Nothing, &Setting::default());
    let whole = || match wrappers::unwrap(&words).map(|found| found.inside) {
        Some(inside) => match inside.as_slice() {
            [Inside::Text(text)] => text.clone(),
            _ => display(argv),
        },
        None => display(argv),
    };
    let mut parts = judge.parts;
    // What shows only in the whole: a bomb, a download that is kept and run, text that cannot be taken apart.
    if !parts.iter().any(|part| part.label == Label::Dangerous)
        && let Some(why) = look.words(&words, &Feed::Nothing)
    {
        match parts.as_mut_slice() {
            [only] => {
                only.label = Label::Dangerous;
                only.why = Some(why);
            }
            _ => parts.push(part(&[], whole(), Label::Dangerous, Some(why))),
        }
    }
    if parts.is_empty() {
        parts.push(part(
            &[],
            whole(),
            Label::NotSafe,
            Some("holds no command that can be read".to_owned()),
        ));
    }
    Judgement::of(parts)
}

fn part(words: &[Word], text: String, label: Label, why: Option<String>) -> Part {
    let argv: Vec<String> = words.iter().map(|word| word.text.clone()).collect();
    let (kind, said) = kinds::describe(&argv);
    let text = match text.char_indices().nth(MAX_SHOWN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    };
    Part {
        argv,
        text,
        label,
        kind,
        words: said,
        why,
    }
}

/// Where a command stands.
#[derive(Clone, Default)]
struct Setting {
    depth: usize,
    /// Why nothing here is safe.
    caveat: Option<String>,
    /// What changes something here does so with the rights of another user.
    other_user: bool,
    /// Arguments that nobody sees are put behind it.
    adds_arguments: bool,
    /// Stands in shell text by itself, so that builtins mean what they mean.
    is_direct: bool,
    /// Functions that the text defines.
    functions: Vec<String>,
    /// What the tolerant reader found dangerous with what stands around it.
    danger: Option<String>,
}

impl Setting {
    /// The same a level down, behind a wrapper.
    fn behind(&self, found: &Unwrapped) -> Self {
        Self {
            depth: self.depth + 1,
            caveat: self.caveat.clone().or_else(|| found.caveat.clone()),
            other_user: self.other_user
                || found
                    .caveat
                    .as_deref()
                    .is_some_and(|caveat| caveat.contains("another user")),
            adds_arguments: self.adds_arguments || found.adds_arguments,
            is_direct: false,
            functions: Vec::new(),
            danger: self.danger.clone(),
        }
    }
}

struct Judge<'l> {
    look: &'l Look<'l>,
    parts: Vec<Part>,
}

impl Judge<'_> {
    /// Judges a command by its words.
    fn command(&mut self, words: &[Word], feed: &Feed, setting: &Setting) {
        if self.parts.len() > MAX_PARTS {
            return;
        }
        let unwrapped = wrappers::unwrap(words).filter(|_| setting.depth < MAX_DEPTH);
        let Some(found) = unwrapped else {
            if let (Feed::Text(text), Some(program)) = (feed, words.first())
                && wrappers::is_shell(base_name(&program.text))
                && setting.depth < MAX_DEPTH
                && !words[1..].iter().any(|word| !word.text.starts_with('-'))
            {
                let inner = setting.behind(&Unwrapped::with_caveat("runs the text that is fed to it"));
                return self.text(text, dialect_of(base_name(&program.text)), &inner);
            }
            return self.leaf(words, feed, setting);
        };
        let mut inner = setting.behind(&found);
        if inner.caveat.is_none() && !words.first().is_some_and(|program| has_usual_place(&program.text)) {
            inner.caveat = Some("runs a program of its own in front".to_owned());
        }
        if inner.caveat.is_none() && inner.adds_arguments && !matches!(found.inside.as_slice(), [Inside::Command(_)]) {
            inner.caveat = Some("puts arguments that nobody sees into shell text".to_owned());
        }
        let program = words.first().map(|word| base_name(&word.text)).unwrap_or_default();
        for inside in &found.inside {
            match inside {
                Inside::Command(command) => self.command(command, feed, &inner),
                Inside::Text(text) => self.text(text, dialect_of(program), &inner),
                Inside::Hidden => self.leaf(words, feed, &inner),
            }
        }
    }

    /// Judges a command that holds no other.
    fn leaf(&mut self, words: &[Word], feed: &Feed, setting: &Setting) {
        if self.parts.len() >= MAX_PARTS {
            if self.parts.len() == MAX_PARTS {
                let danger = self.look.words(words, feed);
                let label = if danger.is_some() {
                    Label::Dangerous
                } else {
                    Label::NotSafe
                };
                let why = danger.unwrap_or_else(|| "runs more commands than are listed".to_owned());
                self.parts.push(part(&[], "…".to_owned(), label, Some(why)));
            }
            return;
        }
        let texts: Vec<String> = words.iter().map(|word| word.text.clone()).collect();
        let text = match words.iter().all(|word| word.known) {
            true => display(&texts),
            // What the run puts in stands as it was written.
            false => texts.join(" "),
        };
        let danger = setting.danger.clone().or_else(|| self.look.words(words, feed));
        let read = self.reads(words, setting);
        let mut part = match (danger, &read) {
            (Some(why), _) => part(words, text, Label::Dangerous, Some(why)),
            (None, Err(_)) if setting.other_user => part(words, text, Label::Dangerous, Some(ROOT.to_owned())),
            (None, Err(why)) => part(words, text, Label::NotSafe, Some(why.clone())),
            (None, Ok(_)) => match &setting.caveat {
                Some(caveat) => part(words, text, Label::NotSafe, Some(caveat.clone())),
                None => part(words, text, Label::SafeReadonly, None),
            },
        };
        match read {
            Ok(found) => {
                part.kind = found.kind;
                part.words = found.words.to_owned();
            }
            Err(_) if part.kind == Kind::Other => {
                let name = words.first().map(|word| base_name(&word.text)).unwrap_or_default();
                if let Some(found) = reading::usually(name) {
                    part.kind = found.kind;
                    part.words = format!("{}, and may do more", found.words);
                }
            }
            Err(_) => {}
        }
        self.parts.push(part);
    }

    fn reads(&self, words: &[Word], setting: &Setting) -> Result<reading::Found, String> {
        let name = words.first().and_then(Word::exact).unwrap_or_default();
        if setting.is_direct && setting.functions.iter().any(|function| function == name) {
            return Ok(reading::Found {
                kind: Kind::Other,
                words: "calls a function of this text",
            });
        }
        if setting.adds_arguments && !reading::reads_anything(base_name(name)) {
            return Err(format!("gives {name} arguments that nobody sees"));
        }
        if !setting.is_direct && matches!(name, "read" | "export" | "local" | "readonly" | "unset" | "set") {
            return Err(format!("runs {name} in a way that is not followed"));
        }
        reading::reads(words)
    }

    /// Judges shell text.
    fn text(&mut self, text: &str, dialect: Dialect, setting: &Setting) {
        let Some(script) = Script::parse(text) else {
            let why = "is too long or too deeply nested to be read".to_owned();
            return self.parts.push(part(&[], text.to_owned(), Label::Dangerous, Some(why)));
        };
        let commands = script.commands();
        let mut by_place: HashMap<usize, &Simple> = HashMap::new();
        for simple in &commands {
            if let Some(span) = simple.spans.first() {
                by_place.insert(span.start, simple);
            }
        }
        let reading =
            strict::read(text, dialect).and_then(|reading| match agree(&reading, &commands) && !script.has_errors() {
                true => Ok(reading),
                false => Err("can be read in two ways"),
            });
        let inner = |caveat: Option<String>, simple: Option<&Simple>, functions: Vec<String>| Setting {
            caveat: setting.caveat.clone().or(caveat),
            is_direct: true,
            functions,
            danger: simple.and_then(|simple| self.look.simple(simple, &commands)),
            ..setting.clone()
        };
        match reading {
            Ok(reading) => {
                let around = caveat_of(&reading);
                let dangerous = |(name, value): &(String, Word)| self.look.assigned(name, value);
                let set_dangerously = reading.assignments.iter().find_map(dangerous);
                let settings: Vec<Setting> = reading
                    .commands
                    .iter()
                    .map(|command| {
                        let simple = command.spans.first().and_then(|span| by_place.get(&span.start));
                        let written = command.writes.as_ref().map(|file| format!("writes {file}"));
                        let set = harmful(&command.assignments, command);
                        let start = command.spans.first().map_or(0, |span| span.start);
                        let defined = reading.functions.iter().filter(|(_, at)| *at < start);
                        let defined = defined.map(|(name, _)| name.clone()).collect();
                        let mut setting = inner(written.or(set).or_else(|| around.clone()), simple.copied(), defined);
                        let here = || command.assignments.iter().find_map(dangerous);
                        setting.danger = setting.danger.or_else(here).or_else(|| set_dangerously.clone());
                        setting
                    })
                    .collect();
                for (command, setting) in reading.commands.iter().zip(&settings) {
                    let simple = command.spans.first().and_then(|span| by_place.get(&span.start));
                    let feed = simple.map_or(Feed::Nothing, |simple| feed_of(simple, &commands));
                    self.command(&command.words, &feed, setting);
                }
                if reading.commands.is_empty() {
                    let label = match (&around, reading.assignments.is_empty()) {
                        (None, false) => Label::SafeReadonly,
                        _ => Label::NotSafe,
                    };
                    let why = around.or_else(|| (label == Label::NotSafe).then(|| "holds no command".to_owned()));
                    let mut found = part(&[], text.to_owned(), label, why);
                    found.words = "sets variables".to_owned();
                    self.parts.push(found);
                }
            }
            Err(why) => {
                let settings: Vec<Setting> = commands
                    .iter()
                    .map(|simple| inner(Some(format!("stands in text that {why}")), Some(simple), Vec::new()))
                    .collect();
                for (simple, setting) in commands.iter().zip(&settings) {
                    if !simple.words.is_empty() {
                        self.command(&simple.words, &feed_of(simple, &commands), setting);
                    }
                }
                if !commands.iter().any(|simple| !simple.words.is_empty()) {
                    self.parts
                        .push(part(&[], text.to_owned(), Label::NotSafe, Some(why.to_owned())));
                }
            }
        }
    }
}

/// Why no command of a text is safe, whatever it is.
fn caveat_of(reading: &strict::Reading) -> Option<String> {
    if let Some(file) = reading.writes.first() {
        return Some(format!("writes {file}"));
    }
    let set = reading.assignments.iter().find_map(|(name, word)| sets(name, word));
    set.map(|reason| format!("stands behind something that {reason}"))
}

/// Why setting a variable is not harmless.
fn sets(name: &str, word: &Word) -> Option<String> {
    if variables::is_harmless_value(name, word.exact()) {
        return None;
    }
    Some(match variables::runs_by(name) {
        Some(what) => format!("sets {name}, which {what}"),
        None => format!("sets {name}, which programs may act upon"),
    })
}

/// Why variables that are set for one command make it more than it is.
fn harmful(assignments: &[(String, Word)], command: &strict::Command) -> Option<String> {
    let reads_line = command.words.first().is_some_and(|word| word.text == "read");
    let mut acting = assignments.iter().filter(|(name, _)| !(reads_line && name == "IFS"));
    acting.find_map(|(name, word)| sets(name, word))
}

/// Whether both readers found the same words at the same places.
pub(super) fn agree(reading: &strict::Reading, commands: &[Simple]) -> bool {
    let mut strict: Vec<_> = reading
        .commands
        .iter()
        .filter(|command| command.is_plain_command())
        .map(|command| &command.spans)
        .collect();
    let mut tolerant: Vec<_> = commands
        .iter()
        .map(|simple| &simple.spans)
        .filter(|spans| !spans.is_empty())
        .collect();
    strict.sort_by_key(|spans| spans.first().map(|span| span.start));
    tolerant.sort_by_key(|spans| spans.first().map(|span| span.start));
    strict == tolerant
}

/// The language that a program reads its text in.
fn dialect_of(program: &str) -> Dialect {
    match program {
        "zsh" | "ksh" | "mksh" => Dialect::Zsh,
        "bash" | "rbash" | "eval" | "trap" => Dialect::Bash,
        _ => Dialect::Plain,
    }
}
