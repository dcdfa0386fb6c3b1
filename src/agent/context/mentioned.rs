//! What the person points at, in words (`@src/a.rs`) or as a piece of their input, as text for the model: read as they see
//! it, bounded, and apart from what they typed. What is not there, or could be two things, is told and not guessed.

use super::Told;
use super::mentions::{self, Candidate, Lines};
use super::place::{Found, Ground};
use crate::protocol::item::{LineRange, SentContext, SentContextKind, UserInput};
use crate::protocol::turn::EditorContext;
use crate::tools::image::{self, Image};
use crate::tools::list_dir;
use std::path::{Path, PathBuf};

/// How the message begins.
pub(in crate::agent) const OPENING: &str = "<countersign_mentions>";
/// Bytes of one file, or of one listing.
const MOST_OF_ONE: usize = 48 << 10;
/// Bytes of all that one input points at.
const MOST_OF_ALL: usize = 160 << 10;
/// Things that one input points at.
const MOST_MENTIONS: usize = 40;
/// Levels of a folder that are listed, and entries.
const LISTED: (usize, usize) = (2, 200);

/// What one mention means.
#[derive(Clone, Debug, PartialEq)]
enum Target {
    Path {
        path: PathBuf,
        lines: Option<LineRange>,
    },
    Diagnostics,
    /// Nothing that could be sent: what was written, and why.
    Trouble {
        written: String,
        why: String,
        /// The person is told even if they look at nothing.
        is_plain: bool,
    },
}

/// Reads all that an input points at. `words` are the texts in which mentions count.
pub(super) fn read(
    words: &[&str],
    content: &[UserInput],
    context: Option<&EditorContext>,
    ground: &Ground<'_>,
    told: &mut Told,
) {
    let mut targets: Vec<Target> = Vec::new();
    let pieces = content.iter().filter_map(|piece| match piece {
        UserInput::Mention { path, line_range } => Some(Target::Path {
            path: crate::workspace::uri::clean(&ground.cwd.join(path)),
            lines: *line_range,
        }),
        _ => None,
    });
    let written = words.iter().flat_map(|text| in_words(text, context, ground));
    for target in pieces.chain(written) {
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    if targets.is_empty() {
        return;
    }
    let mut sheet = Sheet::default();
    for (index, target) in targets.iter().enumerate() {
        match target {
            _ if index >= MOST_MENTIONS => {
                let left = targets.len() - index;
                told.warnings.push(format!(
                    "One message can point at {MOST_MENTIONS} things; {left} more were not sent along. Name them in a message \
                     of their own."
                ));
                break;
            }
            Target::Path { path, lines } => sheet.path(ground, path, *lines, told),
            Target::Diagnostics => {
                let shown = context.map(|context| super::editor::diagnostics(&context.diagnostics, ground));
                let text = shown.map(|lines| lines.concat()).unwrap_or_default();
                sheet.add("The problems that the editor shows", &text);
                let all = context.map_or(0, |context| context.diagnostics.len());
                told.sent.push(SentContext {
                    kind: SentContextKind::Diagnostics,
                    label: format!("{all} {}", if all == 1 { "problem" } else { "problems" }),
                    path: None,
                    line_range: None,
                    bytes: size(&text),
                    note: None,
                });
            }
            Target::Trouble { written, why, is_plain } => {
                sheet.missing(written, why);
                if *is_plain {
                    told.warnings
                        .push(format!("{written} was not sent along with your message: {why}."));
                }
                told.sent.push(SentContext {
                    kind: SentContextKind::File,
                    label: written.clone(),
                    path: None,
                    line_range: None,
                    bytes: 0,
                    note: Some(format!("{why}.")),
                });
            }
        }
    }
    told.messages.push(sheet.message());
}

/// What the mentions of a text mean. Those that name nothing and are written as no file is are words.
fn in_words(text: &str, context: Option<&EditorContext>, ground: &Ground<'_>) -> Vec<Target> {
    let mut targets = Vec::new();
    let mut until = 0;
    for candidate in mentions::candidates(text) {
        if targets.len() > MOST_MENTIONS {
            break;
        }
        if candidate.start < until {
            continue;
        }
        if let Some((end, target)) = meaning(text, &candidate, context, ground) {
            until = end;
            targets.push(target);
        }
    }
    targets
}

fn meaning(
    text: &str,
    candidate: &Candidate,
    context: Option<&EditorContext>,
    ground: &Ground<'_>,
) -> Option<(usize, Target)> {
    let trouble = |end: usize, why: String, is_plain: bool| {
        let written = text[candidate.start..end].to_owned();
        Some((end, Target::Trouble { written, why, is_plain }))
    };
    for reading in candidate.readings.iter().filter(|reading| !reading.is_quoted) {
        match (reading.name.as_str(), context) {
            ("selection", Some(context)) if context.active_file.is_some() && context.selection.is_some() => {
                let path = context.active_file.clone()?;
                let lines = context.selection;
                return Some((reading.end, Target::Path { path, lines }));
            }
            ("diagnostics", Some(context)) if !context.diagnostics.is_empty() => {
                return Some((reading.end, Target::Diagnostics));
            }
            ("selection", _) => {
                let why = "nothing is selected, as far as the editor has told";
                return trouble(reading.end, why.to_owned(), true);
            }
            ("diagnostics", _) => {
                let why = "the editor shows no problems, as far as it has told";
                return trouble(reading.end, why.to_owned(), true);
            }
            _ => {}
        }
    }
    let found = |find: &dyn Fn(&str) -> Found| {
        let all = candidate.readings.iter().map(|reading| (reading, find(&reading.name)));
        all.into_iter().find(|(_, found)| *found != Found::None)
    };
    let hit = found(&|name| ground.find(name)).or_else(|| {
        // A name that nobody writes for anything else is worth a look at the whole workspace.
        candidate.is_plain.then(|| found(&|name| ground.search(name))).flatten()
    });
    match hit {
        Some((reading, Found::One(path))) => match reading.lines {
            Some(Lines::Zero) => trouble(reading.end, "lines count from 1".to_owned(), true),
            Some(Lines::Range(lines)) => Some((
                reading.end,
                Target::Path {
                    path,
                    lines: Some(lines),
                },
            )),
            None => Some((reading.end, Target::Path { path, lines: None })),
        },
        Some((reading, Found::Many(paths))) => {
            let names: Vec<String> = paths.iter().map(|path| ground.short(path)).collect();
            let why = format!("it could be {}; write more of its path", names.join(" or "));
            trouble(reading.end, why, true)
        }
        _ if candidate.is_plain => {
            let end = candidate.readings.last()?.end;
            trouble(end, "there is no such file or folder here".to_owned(), true)
        }
        _ => None,
    }
}

/// The message in the making.
#[derive(Default)]
struct Sheet {
    text: String,
    /// Bytes of the images that go along.
    pictures: u64,
}

impl Sheet {
    fn room(&self) -> usize {
        MOST_OF_ALL.saturating_sub(self.text.len()).min(MOST_OF_ONE)
    }

    fn add(&mut self, title: &str, text: &str) {
        let fence = fence_for(text);
        let end = if text.is_empty() || text.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        self.text.push_str(&format!("{title}:\n{fence}\n{text}{end}{fence}\n"));
    }

    fn missing(&mut self, written: &str, why: &str) {
        self.text.push_str(&format!("{written}: {why}.\n"));
    }

    fn path(&mut self, ground: &Ground<'_>, path: &Path, lines: Option<LineRange>, told: &mut Told) {
        let name = ground.short(path);
        let is_dir = path.is_dir() && ground.workspace.document(path).is_none();
        let label = match lines {
            Some(lines) if !is_dir => format!("{name}, {}", super::lines_in_words(lines)),
            _ => name.clone(),
        };
        let piece = |bytes: u32, note: Option<String>| SentContext {
            kind: if is_dir {
                SentContextKind::Folder
            } else {
                SentContextKind::File
            },
            label: label.clone(),
            path: Some(path.to_owned()),
            line_range: lines.filter(|_| !is_dir),
            bytes,
            note,
        };
        let text = ground.reader.check(path).map_err(|refused| refused.in_short());
        if text.is_ok()
            && lines.is_none()
            && ground.workspace.document(path).is_none()
            && image::is_one(path, ground.reader)
        {
            let image = match ground.takes_images {
                true => self.image(ground, path),
                false => Err("it is an image, and your model takes none".to_owned()),
            };
            match image {
                Ok(image) => {
                    self.text
                        .push_str(&format!("{label}: an image, which goes with that message.\n"));
                    told.sent
                        .push(piece(u32::try_from(image.bytes).unwrap_or(u32::MAX), None));
                    told.images.push(image.url);
                }
                Err(why) => self.unsent(&label, &why, piece(0, Some(format!("{why}."))), told),
            }
            return;
        }
        let text = text.and_then(|()| match is_dir {
            true => listing(ground, path),
            false => part(ground, path, lines),
        });
        let text = match text {
            Ok(text) => text,
            Err(why) => return self.unsent(&label, &why, piece(0, Some(format!("{why}."))), told),
        };
        let kept = cut(&text.text, self.room());
        if kept.is_empty() && !text.text.is_empty() {
            let why = "the message holds as much as it may";
            self.missing(&format!("{label} was left out"), &format!("{why}; read it with a tool"));
            told.warnings.push(format!(
                "{label} was not sent along: {why}. The agent knows that it can read it itself."
            ));
            told.sent.push(piece(0, Some(format!("{why}."))));
            return;
        }
        let note = (kept.len() < text.text.len()).then(|| match is_dir {
            true => "not all entries are listed".to_owned(),
            false => {
                let first = text.first_line;
                let last = first + kept.lines().count().saturating_sub(1);
                format!("only lines {first} to {last} of {} are sent", text.total_lines)
            }
        });
        let unsaved = if text.unsaved { ", with unsaved changes" } else { "" };
        let rest = note.as_deref().map(|note| format!(" ({note})")).unwrap_or_default();
        let title = match is_dir {
            true => format!("The folder {label}{rest}"),
            false => format!("{label}{unsaved}{rest}"),
        };
        self.add(&title, kept);
        told.sent.push(piece(size(kept), note.map(|note| format!("{note}."))));
    }

    /// The agent and the person are told why something is missing.
    fn unsent(&mut self, label: &str, why: &str, piece: SentContext, told: &mut Told) {
        self.missing(&format!("{label} cannot be sent along"), why);
        told.warnings
            .push(format!("{label} was not sent along with your message: {why}."));
        told.sent.push(piece);
    }

    /// A file that the model can look at, or why it does not go along.
    fn image(&mut self, ground: &Ground<'_>, path: &Path) -> Result<Image, String> {
        let most = image::LIMIT >> 20;
        let size = path.metadata().map_or(0, |found| found.len());
        if size <= image::LIMIT && self.pictures + size > image::LIMIT {
            return Err(format!(
                "the images of one message may have {most} MiB together; send it with a message of its own"
            ));
        }
        let image =
            image::read(path, ground.reader).map_err(|error| format!("it is an image that cannot be sent: {error}"))?;
        self.pictures += size;
        Ok(image)
    }

    fn message(self) -> crate::model::item::ResponseItem {
        crate::agent::prompt::message(
            "user",
            format!(
                "{OPENING}\nThe person's next message points at what follows. Texts are as the editor shows them at \
                 this moment.\n{}</countersign_mentions>",
                crate::shown::envelope::inside(&self.text)
            ),
        )
    }
}

/// What there is to send of a file or a folder.
struct Text {
    text: String,
    /// Of the text, counted from 1.
    first_line: usize,
    /// Of the whole file.
    total_lines: usize,
    unsaved: bool,
}

/// A file as the person sees it, or lines of it.
fn part(ground: &Ground<'_>, path: &Path, lines: Option<LineRange>) -> Result<Text, String> {
    let seen = ground
        .workspace
        .read_judged(path, ground.reader)
        .map_err(|error| error.to_string().trim_end_matches('.').to_owned())?;
    let unsaved = seen.open
        && ground
            .workspace
            .document(path)
            .is_some_and(|document| document.differs_from_disk());
    let total_lines = seen.text.lines().count();
    let Some(lines) = lines else {
        return Ok(Text {
            text: seen.text,
            first_line: 1,
            total_lines,
            unsaved,
        });
    };
    let (start, end) = (lines.start as usize, lines.end as usize);
    if start >= total_lines.max(1) || end <= start {
        let count = match total_lines {
            1 => "1 line".to_owned(),
            count => format!("{count} lines"),
        };
        return Err(format!("it has {count}, so none of these"));
    }
    let text = seen.text.split_inclusive('\n').skip(start).take(end - start).collect();
    Ok(Text {
        text,
        first_line: start + 1,
        total_lines,
        unsaved,
    })
}

fn listing(ground: &Ground<'_>, path: &Path) -> Result<Text, String> {
    let text = list_dir::list(path, LISTED.0, LISTED.1, ground.reader, &|| false).map_err(|error| error.to_string())?;
    // Its first line is the folder's own name.
    let text = text
        .split_once('\n')
        .map_or(String::new(), |(_, entries)| entries.to_owned());
    Ok(Text {
        text,
        first_line: 1,
        total_lines: 0,
        unsaved: false,
    })
}

/// The beginning of a text, whole lines where there are some, whole characters in any case.
pub(super) fn cut(text: &str, room: usize) -> &str {
    if text.len() <= room {
        return text;
    }
    let mut end = room;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    match text[..end].rfind('\n') {
        Some(line_end) => &text[..=line_end],
        None => &text[..end],
    }
}

/// A fence that the text itself does not hold.
pub(super) fn fence_for(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    "`".repeat(longest.max(2) + 1)
}

pub(super) fn size(text: &str) -> u32 {
    u32::try_from(text.len()).unwrap_or(u32::MAX)
}
