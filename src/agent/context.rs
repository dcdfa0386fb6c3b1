//! What goes to the model beside the person's words: instructions that have changed, what they point at, what their editor
//! shows, the text of a prompt that they call by name.
//!
//! All of it is read when the input is taken, away from the turn's task, bounded, and put into messages of its own. The
//! person sees what was sent on their message's item.

mod called;
mod editor;
mod instructions;
mod mentioned;
pub mod mentions;
mod place;

pub(super) use editor::OPENING as EDITOR_OPENING;
pub(super) use instructions::OPENING as CHANGED_INSTRUCTIONS;
pub use instructions::{Known, read as read_instructions};

use super::aside;
use super::pending::Input;
use super::permissions::home_of;
use super::prompt;
use super::turn::Turn;
use crate::model::item::{ContentPart, ResponseItem};
use crate::protocol::item::{LineRange, SentContext, UserInput};
use crate::tools::image;
pub(super) use mentioned::OPENING as MENTIONS_OPENING;
use place::Ground;
use std::cell::Cell;
use std::sync::Arc;

/// An input with all that belongs to it.
pub struct Gathered {
    pub input: Input,
    pub told: Told,
}

/// What the model is told with an input.
#[derive(Default)]
pub struct Told {
    /// Go before the person's message.
    pub messages: Vec<ResponseItem>,
    /// The person's message itself.
    pub message: Option<ResponseItem>,
    /// Images that the person points at, which go with their message, as `data:` URLs.
    pub images: Vec<String>,
    /// What of it the person sees.
    pub sent: Vec<SentContext>,
    /// What they should know of.
    pub warnings: Vec<String>,
    /// The last edit of theirs that is told of, where the editor is.
    pub edits: Option<u64>,
}

/// Reads what belongs to inputs, in their order. A turn that is stopped meanwhile has the inputs all the same, without it.
pub async fn gather(turn: &Arc<Turn>, inputs: Vec<Input>) -> Vec<Gathered> {
    if inputs.is_empty() {
        return Vec::new();
    }
    let plain = |input: Input| {
        let message = prompt::user_message(&input.content, &turn.settings.cwd, &|_| {
            Err("the turn was stopped".to_owned())
        });
        let told = Told {
            message,
            ..Told::default()
        };
        Gathered { input, told }
    };
    let reading = {
        let (turn, inputs) = (turn.clone(), inputs.clone());
        aside::begin(move || -> Vec<Told> {
            let mut since = turn.conversation.data().told_edits;
            let one = |input| {
                let told = read(&turn, input, since);
                since = told.edits.unwrap_or(since);
                told
            };
            inputs.iter().map(one).collect()
        })
    };
    let read = tokio::select! {
        biased;
        () = turn.cancel.cancelled() => None,
        read = reading => read.inspect_err(|error| tracing::error!(%error, "what belongs to an input was not read")).ok(),
    };
    match read {
        Some(all) => {
            let pairs = inputs.into_iter().zip(all);
            pairs.map(|(input, told)| Gathered { input, told }).collect()
        }
        None => inputs.into_iter().map(plain).collect(),
    }
}

/// `since` is the last edit of the person's that was told of before.
fn read(turn: &Turn, input: &Input, since: u64) -> Told {
    let reader = turn.reader();
    let ground = Ground {
        workspace: &turn.workspace,
        cwd: &turn.settings.cwd,
        roots: &turn.roots,
        home: home_of(&turn.services),
        reader: &reader,
        takes_images: turn
            .provider
            .get()
            .is_none_or(|provider| !provider.client.is_blind(&provider.model)),
        searches: Cell::new(place::MOST_SEARCHES),
    };
    let mut told = Told::default();
    let content = match input.by_agent {
        true => input.content.clone(),
        false => {
            let content = called::sent(&turn.services, &turn.config, &input.content, &mut told);
            let words: Vec<&str> = content.iter().filter_map(text_of).collect();
            mentioned::read(&words, &content, input.context.as_ref(), &ground, &mut told);
            content
        }
    };
    if let Some(context) = &input.context {
        let last = editor::read(context, turn.settings.editor_context, since, &ground, &mut told);
        told.edits = Some(last);
    }
    let image = |path: &std::path::Path| {
        let path = turn.settings.cwd.join(path);
        let refused = reader.check(&path).map_err(|refused| refused.in_short());
        let read = || {
            image::read(&path, &reader)
                .map(|image| image.url)
                .map_err(|error| error.to_string())
        };
        refused.and_then(|()| read())
    };
    told.message = prompt::user_message(&content, &turn.settings.cwd, &image);
    if let Some(ResponseItem::Message { content, .. }) = &mut told.message {
        let images = told.images.drain(..);
        content.extend(images.map(|image_url| ContentPart::InputImage { image_url }));
    }
    told
}

fn text_of(piece: &UserInput) -> Option<&str> {
    match piece {
        UserInput::Text { text } => Some(text),
        _ => None,
    }
}

/// Tells the model what has changed in the instructions since it was told of them. Returns what the person should know, to
/// be shown once the turn has begun.
pub async fn tell_instructions(turn: &Arc<Turn>) -> Vec<String> {
    let looking = {
        let turn = turn.clone();
        aside::begin(move || instructions::difference(&turn))
    };
    let looked = tokio::select! {
        biased;
        () = turn.cancel.cancelled() => return Vec::new(),
        looked = looking => looked,
    };
    match looked {
        Ok(Some(instructions::News {
            known,
            message,
            warnings,
        })) => {
            // Both or neither: what is not said is not known.
            turn.conversation.data().instructions = known;
            turn.conversation.say(message);
            warnings
        }
        Ok(None) => Vec::new(),
        Err(error) => {
            tracing::error!(%error, "changed instructions were not read");
            Vec::new()
        }
    }
}

/// Lines as people count them.
pub(super) fn lines_in_words(lines: LineRange) -> String {
    let first = lines.start.saturating_add(1);
    if lines.end <= first {
        format!("line {first}")
    } else {
        format!("lines {first}-{}", lines.end)
    }
}
