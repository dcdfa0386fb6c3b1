//! The judgement of a command: taken apart into all that it runs, each part judged by itself.
//!
//! Two questions are asked of each part. Is it known to only read? That takes both readers of shell text to agree on what
//! its words are. Is it dangerous? For that the more tolerant reader is asked, and a suspicion is enough.

use super::danger::Look;
use super::judgement::{Judgement, Kind, Label, Part};
use super::said::{feed_of, said, untold_feeds};
use super::script::{Feed, Script, Simple};
use super::strict::{self, Dialect};
use super::word::Word;
use super::wrappers::{self, Inside, Unwrapped};
use super::{base_name, display, has_usual_place, input, kinds, reading, variables};
use std::borrow::Cow;
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
        taken_off: Vec::new(),
        runs_untold: false,
    };
    judge.command(&words, &Feed::Nothing, &Setting::default());
    let whole = || match wrappers::unwrap(&words).map(|found| found.inside) {
        Some(inside) => match inside.as_slice() {
            [Inside::Text(text)] => text.clone(),
            _ => display(argv),
        },
        None => display(argv),
    };
    let (mut parts, taken_off, runs_untold) = (judge.parts, judge.taken_off, judge.runs_untold);
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
    Judgement {
        taken_off,
        runs_untold,
        ..Judgement::of(parts)
    }
}

fn part(words: &[Word], text: String, label: Label, why: Option<String>) -> Part {
    let argv: Vec<String> = words.iter().map(|word| word.text.clone()).collect();
    let is_whole = |at: &usize| !words[*at].known && !words[*at].splits && !words[*at].glob;
    let whole = (0..words.len()).filter(is_whole).collect();
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
        starts: None,
        is_plain: false,
        whole,
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
    /// More may be fed to it than is told.
    is_untold: bool,
    /// What is fed to all of the text in which it stands.
    outer: Option<Feed>,
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
            is_untold: self.is_untold,
            outer: None,
        }
    }
}

struct Judge<'l> {
    look: &'l Look<'l>,
    parts: Vec<Part>,
    /// What goes into the judgement beside them.
    taken_off: Vec<Vec<String>>,
    runs_untold: bool,
}

impl Judge<'_> {
    /// Judges a command by its words.
    fn command(&mut self, words: &[Word], feed: &Feed, setting: &Setting) {
        if self.parts.len() > MAX_PARTS {
            return;
        }
        let unwrapped = wrappers::unwrap(words).filter(|_| setting.depth < MAX_DEPTH);
        let Some(found) = unwrapped else {
            self.put_in(words, setting);
            if input::runs_input(words) {
                self.runs_untold |= setting.is_untold || matches!(feed, Feed::Pipe(_));
                if let (Feed::Text(text), Some(program)) = (feed, words.first())
                    && setting.depth < MAX_DEPTH
                {
                    let name = base_name(&program.text);
                    let inner = setting.behind(&Unwrapped::with_caveat("runs the text that is fed to it"));
                    self.text(text, dialect_of(name), &inner);
                    // The text is all that there is to a shell.
                    if wrappers::is_shell(name) || name == "." || name == "source" {
                        return self.take_off(words);
                    }
                }
            }
            return self.leaf(words, feed, setting);
        };
        self.take_off(words);
        let mut inner = setting.behind(&found);
        // What a pipe brings has no place in another text.
        inner.outer = Some(match feed {
            Feed::Pipe(_) => Feed::Pipe(Vec::new()),
            _ => feed.clone(),
        });
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
                Inside::Hidden => {
                    self.put_in(words, &inner);
                    self.leaf(words, feed, &inner);
                }
            }
        }
    }

    fn take_off(&mut self, words: &[Word]) {
        if self.taken_off.len() <= MAX_PARTS {
            let texts = words.iter().map(|word| word.text.clone());
            self.taken_off.push(texts.collect());
        }
    }

    /// What is put into the words of a shell, and run: what a process prints (`source <(echo x)`) or another command.
    fn put_in(&mut self, words: &[Word], setting: &Setting) {
        let program = words.first().map_or("", |program| base_name(&program.text));
        if !wrappers::is_shell(program) && ![".", "eval", "source"].contains(&program) {
            return;
        }
        let takes_text = |word: &Word| {
            let option = word.text.strip_prefix('-');
            option.is_some_and(|letters| !letters.starts_with('-') && letters.contains('c'))
        };
        let names_script = wrappers::is_shell(program) && !words.iter().any(takes_text);
        for word in words.iter().skip(1).filter(|word| !word.known) {
            let text = word.text.trim_matches('"');
            let is_file = text.starts_with("<(");
            // A file that only the run names is a script like another.
            let is_script = !is_file && (names_script || wrappers::unwrap(words).is_none());
            if is_script || !text.starts_with(['$', '`', '<']) {
                continue;
            }
            let inner = text.get(2..).and_then(|inner| inner.strip_suffix(')'));
            let script = inner
                .filter(|_| is_file || text.starts_with("$("))
                .and_then(Script::parse);
            match script.and_then(|script| told_by(&script)) {
                Some(text) if setting.depth < MAX_DEPTH => {
                    let inner = setting.behind(&Unwrapped::with_caveat("runs the text that is fed to it"));
                    self.text(&text, dialect_of(program), &inner);
                }
                _ => self.runs_untold = true,
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
                part.starts = found.starts.map(str::to_owned);
                part.is_plain = found.is_plain;
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
            return Ok(reading::Found::new(Kind::Other, "calls a function of this text"));
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
        let text = &*match dialect {
            Dialect::Zsh => as_in_bash(text),
            Dialect::Bash | Dialect::Plain => Cow::Borrowed(text),
        };
        let Some(script) = Script::parse(text) else {
            let why = "is too long or too deeply nested to be read".to_owned();
            return self.parts.push(part(&[], text.to_owned(), Label::Dangerous, Some(why)));
        };
        let commands = script.commands();
        let untold = untold_feeds(&script, &commands);
        let mut by_place: HashMap<usize, usize> = HashMap::new();
        for (at, simple) in commands.iter().enumerate() {
            if let Some(span) = simple.spans.first() {
                by_place.insert(span.start, at);
            }
        }
        // What is fed to none in it comes from what is fed to all of it.
        let fed_by_outer = setting.outer.as_ref().is_some_and(|outer| *outer != Feed::Nothing);
        let feed_at = |at: usize| match (feed_of(&commands[at], &commands), &setting.outer) {
            (Feed::Nothing, Some(outer)) => outer.clone(),
            (feed, _) => feed,
        };
        let reading = strict::read(text, dialect).and_then(|reading| {
            match agree(&reading, &commands) && !script.has_errors() && !splits_otherwise(&reading) {
                true => Ok(reading),
                false => Err("can be read in two ways"),
            }
        });
        let inner = |caveat: Option<String>, at: Option<usize>, functions: Vec<String>| Setting {
            caveat: setting.caveat.clone().or(caveat),
            is_direct: true,
            functions,
            danger: at.and_then(|at| self.look.simple(&commands[at], &commands)),
            is_untold: at.is_some_and(|at| untold[at]) || fed_by_outer && setting.is_untold,
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
                    let feed = simple.map_or(Feed::Nothing, |at| feed_at(*at));
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
                let settings: Vec<Setting> = (0..commands.len())
                    .map(|at| inner(Some(format!("stands in text that {why}")), Some(at), Vec::new()))
                    .collect();
                for (at, setting) in settings.iter().enumerate() {
                    if !commands[at].words.is_empty() {
                        self.command(&commands[at].words, &feed_at(at), setting);
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

/// Whether a script sets at what words are split, which the strict reader does not follow.
fn splits_otherwise(reading: &strict::Reading) -> bool {
    let is_blank = |value: &str| value.chars().all(char::is_whitespace);
    let mut set = reading.assignments.iter().filter(|(name, _)| name == "IFS");
    set.any(|(_, value)| !value.exact().is_some_and(is_blank))
}

/// What a script of one command prints, if its words tell it.
fn told_by(script: &Script<'_>) -> Option<String> {
    let commands = script.commands();
    let [_] = commands.as_slice() else { return None };
    said(&commands[0], &commands)
}

/// Text of zsh with its `=(…)`, the output of a command in a file, as bash writes the like. Places stay what they are.
fn as_in_bash(text: &str) -> Cow<'_, str> {
    let mut found = text
        .match_indices("=(")
        .map(|(at, _)| at)
        .filter(|at| *at == 0 || text[..*at].ends_with([' ', '\t', '\n', ';', '(']))
        .peekable();
    if found.peek().is_none() {
        return Cow::Borrowed(text);
    }
    let mut written = text.to_owned();
    for at in found {
        written.replace_range(at..=at, "<");
    }
    Cow::Owned(written)
}

/// The language that a program reads its text in.
fn dialect_of(program: &str) -> Dialect {
    match program {
        "zsh" | "ksh" | "mksh" => Dialect::Zsh,
        "bash" | "rbash" | "eval" | "trap" => Dialect::Bash,
        _ => Dialect::Plain,
    }
}
