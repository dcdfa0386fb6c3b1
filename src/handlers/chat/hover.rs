//! What is told of a place in a chat document: the first lines of a file that is pointed at, what a value of the header means,
//! how a command was confined.

use super::shape;
use crate::account::Terms;
use crate::chat::document::{Chat, Field, Part, Section, bare, lines};
use crate::chat::line;
use crate::chat::text::{fenced, inline};
use crate::ids::ThreadId;
use crate::lsp::convert;
use crate::model::catalogue;
use crate::protocol::item::{Confined, ThreadItem};
use crate::server::session::Session;
use crate::workspace::{Document, disk, position};
use lsp_types::{Hover, HoverContents, MarkupContent, MarkupKind, Position};
use std::ops::Range as Bytes;
use std::path::Path;

/// Lines that are shown of a file, and characters of each.
const MOST_LINES: usize = 20;
const MOST_OF_LINE: usize = 200;
/// Files above this are not looked into.
const MOST_BYTES: u64 = 4 << 20;

/// Looks at the disk.
pub fn hover(session: &Session, document: &Document, at: Position) -> Option<Hover> {
    let text = document.text();
    let chat = Chat::read(&text);
    let encoding = session.workspace().encoding();
    let byte = position::byte_at(&document.rope, convert::position(at), encoding);
    let (place, told) = told(session, document, &chat, byte)?;
    Some(Hover {
        contents: HoverContents::Markup(MarkupContent {
            kind: MarkupKind::Markdown,
            value: told,
        }),
        range: Some(shape::range(session, document, &place)),
    })
}

fn told(session: &Session, document: &Document, chat: &Chat<'_>, at: usize) -> Option<(Bytes<usize>, String)> {
    if let Some(header) = chat.header.as_ref().filter(|_| at < chat.start) {
        let is_here = |field: &&Field| {
            let line = line_of(chat.text, field.at.start);
            line.contains(&at) || line.end == at
        };
        let field = header.fields.iter().find(is_here)?;
        return Some((field.at.clone(), value(session, document, chat, field)?));
    }
    let section = chat.sections.iter().find(|section| section.body.contains(&at))?;
    let roots = shape::folders(session, document, chat);
    if let Some((place, path, line)) = shape::pointed(chat, section, &roots)
        .into_iter()
        .find(|(place, ..)| (place.start..=place.end).contains(&at))
    {
        return Some((place, beginning(session, &path, line)?));
    }
    let parts = chat.parts(section).into_iter();
    let part = parts.into_iter().find(|part| {
        let blocks = blocks(&chat.text[part.body.clone()]);
        (part.head.start..part.body.start + blocks).contains(&at)
    })?;
    let told = command(session, document, section, &part)?;
    Some((part.head.clone(), told))
}

/// Where the fenced blocks that a part begins with end; the words behind them are no part of it.
fn blocks(body: &str) -> usize {
    let mut fence: Option<&str> = None;
    let mut end = 0;
    for line in lines(body) {
        let text = bare(&body[line.clone()]);
        let run = &text[..text.len() - text.trim_start_matches('`').len()];
        match fence {
            None if run.len() >= 3 => fence = Some(run),
            None if text.trim().is_empty() => {}
            None => return end,
            Some(open) if text.trim_end() == open => fence = None,
            Some(_) => {}
        }
        end = line.end;
    }
    end
}

fn line_of(text: &str, at: usize) -> Bytes<usize> {
    let start = text[..at].rfind(['\n', '\r']).map_or(0, |end| end + 1);
    let end = text[at..].find(['\n', '\r']).map_or(text.len(), |end| at + end);
    start..end
}

/// The first lines of a file, or those around a line of it, as the person sees them.
fn beginning(session: &Session, path: &Path, line: Option<u32>) -> Option<String> {
    let text = match session.workspace().document(path) {
        Some(open) => open.text(),
        None => {
            let is_small = path
                .metadata()
                .is_ok_and(|file| file.is_file() && file.len() <= MOST_BYTES);
            is_small.then(|| disk::read_text(path).ok()).flatten()?
        }
    };
    let first = line.map_or(0, |line| (line as usize).saturating_sub(3));
    let shown: Vec<String> = text
        .lines()
        .skip(first)
        .take(MOST_LINES)
        .map(|line| match line.char_indices().nth(MOST_OF_LINE) {
            Some((cut, _)) => format!("{}…", &line[..cut]),
            None => line.to_owned(),
        })
        .collect();
    let language = path.extension().unwrap_or_default().to_string_lossy();
    let name = inline(&path.to_string_lossy(), 300);
    let lines = text.lines().count();
    Some(format!(
        "`{name}`, {lines} lines{}\n\n{}",
        match first {
            0 => String::new(),
            first => format!(", from line {}", first + 1),
        },
        fenced(&inline(&language, 20), &shown.join("\n"))
    ))
}

fn value(session: &Session, document: &Document, chat: &Chat<'_>, field: &Field) -> Option<String> {
    match field.key.as_str() {
        "mode" => {
            let mode = line::mode(&field.value);
            Some(match line::MODES.iter().find(|(known, _)| Some(*known) == mode) {
                Some((_, meaning)) => format!("Mode `{}`: {meaning}.", field.value),
                None => "There are the modes `agent`, `plan` and `ask`.".to_owned(),
            })
        }
        "model" => model(session, document, chat, &field.value),
        "thread" => Some(thread(session, &ThreadId::from(field.value.as_str()))),
        "folder" => Some("The folder that the agent works in.".to_owned()),
        _ => None,
    }
}

/// What is known of a model of the provider that the conversation asks.
fn model(session: &Session, document: &Document, chat: &Chat<'_>, name: &str) -> Option<String> {
    let agent = session.agent();
    let cwd = shape::folders(session, document, chat).into_iter().next();
    let config = agent.load_config(cwd.as_deref(), None).ok()?.config;
    let id = &config.model_provider;
    let provider = config.provider(id).ok()?;
    let terms = Terms {
        login: &config.login,
        provider,
        env: &agent.services().env,
    };
    let offered = catalogue::offered(agent.services().account.paid_by(terms), id, provider, name);
    let model = offered.into_iter().find(|model| model.id == name)?;
    let mut told = format!("Model `{}` of {}", inline(name, 200), inline(&model.provider, 100));
    if let Some(window) = model.context_window {
        told.push_str(&format!(", with a window of {window} tokens"));
    }
    told.push('.');
    if !model.supported_reasoning_efforts.is_empty() {
        told.push_str(&format!(
            " It can think for {} long.",
            model.supported_reasoning_efforts.join(", ")
        ));
    }
    Some(told)
}

fn thread(session: &Session, id: &ThreadId) -> String {
    let Ok(thread) = session.agent().read_thread(id, false) else {
        return "There is no such conversation here any more; the next message begins a new one.".to_owned();
    };
    let title = thread.name.as_deref().unwrap_or(&thread.preview);
    let title = match inline(title, 200) {
        title if title.is_empty() => "A conversation without words yet".to_owned(),
        title => format!("The conversation “{title}”"),
    };
    let usage = session.agent().thread(id).map(|live| live.conversation().data().usage);
    let tokens = usage.filter(|usage| usage.last.total_tokens > 0).map(|usage| {
        let used = usage.last.total_tokens;
        match usage.model_context_window {
            Some(window) => {
                let left = window.saturating_sub(used);
                format!(" It takes {used} of {window} tokens; {left} are left.")
            }
            None => format!(" It takes {used} tokens."),
        }
    });
    let cwd = inline(&thread.cwd.to_string_lossy(), 300);
    format!("{title}, in `{cwd}`.{}", tokens.unwrap_or_default())
}

/// What became of a command, and what it could touch.
fn command(session: &Session, document: &Document, section: &Section, part: &Part) -> Option<String> {
    let number = part.title.strip_prefix("Command ")?;
    let digits = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
    let number: usize = number[..digits].parse().ok()?;
    let id = session.chats().seen(document.uri()).thread?;
    let turns = session.agent().thread(&id)?.snapshot(true).turns;
    let tag = section.tag.as_deref()?;
    let turn = turns.into_iter().find(|turn| crate::chat::tag(&turn.id) == tag)?;
    let mut commands = turn
        .items
        .into_iter()
        .filter(|item| matches!(item, ThreadItem::CommandExecution { .. }));
    let ThreadItem::CommandExecution {
        cwd,
        confined,
        exit_code,
        reason,
        ..
    } = commands.nth(number.checked_sub(1)?)?
    else {
        return None;
    };
    let how = match confined {
        Confined::ReadOnly => "It ran in the sandbox and could only read.",
        Confined::Workspace => "It ran in the sandbox and could write in the workspace.",
        Confined::Outside => "It ran outside the sandbox, with your rights.",
    };
    let code = exit_code
        .map(|code| format!(" Its exit code is {code}."))
        .unwrap_or_default();
    let why = reason
        .map(|why| format!("\n\n{}", crate::chat::text::safe(why.trim())))
        .unwrap_or_default();
    let cwd = inline(&cwd.to_string_lossy(), 300);
    Some(format!("{how}{code} Its folder is `{cwd}`.{why}"))
}
