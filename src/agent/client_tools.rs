//! Calls of tools that the client brought along: asked by request, bounded in time, and never the end of a turn. What they tell
//! of files that are kept from the model goes no further, and a change that they come to is a proposal like any other.

use super::permissions::Reader;
use super::propose;
use super::turn::Turn;
use crate::exec::Excerpt;
use crate::ids::ItemId;
use crate::patch::parse::{Section, parse};
use crate::protocol::tool::{ToolCallParams, ToolCallResult, ToolContent};
use crate::tools::{ANSWER_LIMIT, ToolError, ToolOutput, blocking, image};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Images of one answer.
const MOST_IMAGES: usize = 16;

/// Calls a tool of the client's.
pub(super) async fn call(
    turn: &Arc<Turn>,
    call_id: ItemId,
    tool: String,
    arguments: serde_json::Value,
) -> Result<ToolOutput, ToolError> {
    let limit = turn.config.dynamic_tool_timeout;
    let name = tool.clone();
    let asked = turn.services.editor.call_tool(ToolCallParams {
        thread_id: turn.conversation.id.clone(),
        turn_id: turn.id.clone(),
        call_id,
        tool,
        arguments,
    });
    // Whatever ends the wait drops the request, which takes it back.
    let answer = tokio::select! {
        biased;
        () = turn.cancel.cancelled() => {
            return Ok(ToolOutput::not_done(format!(
                "The person stopped the turn before {name} answered. What it had begun may have happened, so look before you \
                 rely on it."
            )));
        }
        answer = asked => answer,
        () = passed(limit) => Err(format!(
            "it gave no answer within {} seconds and the call was cancelled",
            limit.unwrap_or_default().as_secs()
        )),
    };
    let result = match answer {
        Ok(result) => result,
        Err(reason) => {
            tracing::info!(thread = %turn.conversation.id, tool = %name, %reason, "a tool of the client's failed");
            return Ok(ToolOutput::failed(format!(
                "{name} failed: {reason}. It runs in the person's editor; try another way if it goes on failing."
            )));
        }
    };
    let only_reads = turn.tools().find(&name).is_none_or(|tool| tool.only_reads());
    let (reader, cwd) = (turn.reader(), turn.settings.cwd.clone());
    let sorted = blocking(move || sort(result, &reader, &cwd)).await??;
    let mut told = output(&name, sorted.result);
    if told.success == Some(false) {
        return Ok(told);
    }
    if only_reads && !sorted.patches.is_empty() {
        return Ok(ToolOutput::failed(format!(
            "{name} is declared as a tool that only reads, so the change that it came to was not proposed. Propose it \
             yourself."
        )));
    }
    for patch in sorted.patches {
        turn.may_change()?;
        // An item of its own: that of the call shows the call.
        let proposed = propose::run(turn, ItemId::fresh(), patch, None).await?;
        told.text = format!("{}\n\n{}", told.text, proposed.text);
        told.success = proposed.success;
    }
    Ok(told)
}

/// What the model is told at once, and the changes that the person decides on.
struct Sorted {
    result: ToolCallResult,
    patches: Vec<String>,
}

/// Takes out what is kept from the model, and the changes.
///
/// # Errors
/// A change that would touch what is kept: nothing of it is proposed.
fn sort(answer: ToolCallResult, reader: &Reader, cwd: &Path) -> Result<Sorted, ToolError> {
    let mut result = ToolCallResult {
        content_items: Vec::new(),
        success: answer.success,
    };
    let (mut patches, mut left_out) = (Vec::new(), 0_usize);
    for content in answer.content_items {
        match content {
            ToolContent::InputText { paths, .. } if !paths.iter().all(|path| reader.may_read(&cwd.join(path))) => {
                left_out += 1;
            }
            ToolContent::Patch { patch } => {
                let sections = parse(&patch).map_or_else(|_| Vec::new(), |parsed| parsed.sections);
                if !sections
                    .iter()
                    .flat_map(names)
                    .all(|name| reader.may_read(&cwd.join(name)))
                {
                    return Err(ToolError::Answer(
                        "The change was not proposed: it would touch files that are kept from you. Nothing was changed.".to_owned(),
                    ));
                }
                patches.push(patch);
            }
            content => result.content_items.push(content),
        }
    }
    if left_out > 0 {
        let pieces = if left_out == 1 {
            "One piece".to_owned()
        } else {
            format!("{left_out} pieces")
        };
        result.content_items.push(ToolContent::InputText {
            text: format!("({pieces} left out: of files that are kept from you)"),
            paths: Vec::new(),
        });
    }
    Ok(Sorted { result, patches })
}

/// All files that a section of a patch names: a copy shows its source, and a move makes its target.
fn names(section: &Section) -> Vec<&PathBuf> {
    let mut names = vec![section.path()];
    match section {
        Section::Add { .. } => {}
        Section::Delete { or, .. } => names.extend(or),
        Section::Update { or, move_to, .. } => {
            names.extend(or);
            names.extend(move_to);
        }
        Section::Copy { from, .. } => names.push(from),
    }
    names
}

/// Without a limit it never ends.
async fn passed(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
}

fn output(name: &str, result: ToolCallResult) -> ToolOutput {
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    for content in result.content_items {
        match content {
            ToolContent::InputText { text, .. } => texts.push(text),
            // It is with the person by now.
            ToolContent::Patch { .. } => {}
            ToolContent::InputImage { image_url } if images.len() == MOST_IMAGES => {
                drop(image_url);
                texts.push(format!("(an image was left out: {MOST_IMAGES} are the most)"));
            }
            ToolContent::InputImage { image_url } => match check_url(&image_url) {
                Ok(()) => images.push(image_url),
                Err(why) => texts.push(format!("(an image was left out: {why})")),
            },
        }
    }
    let mut text = Excerpt::from(texts.join("\n")).cut(ANSWER_LIMIT).to_string();
    if text.trim().is_empty() && images.is_empty() {
        text = match result.success {
            true => format!("{name} is done; it gave nothing back."),
            false => format!("{name} failed and did not say why."),
        };
    }
    ToolOutput {
        text,
        success: Some(result.success),
        images,
    }
}

fn check_url(url: &str) -> Result<(), String> {
    let most = usize::try_from(image::LIMIT).unwrap_or(usize::MAX) / 3 * 4 + 100;
    if !url.starts_with("data:image/") && !url.starts_with("https://") {
        return Err("its URL begins neither with data:image/ nor with https://".to_owned());
    }
    if url.len() > most {
        return Err(format!("it is larger than {} MiB", image::LIMIT >> 20));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> ToolContent {
        ToolContent::InputText {
            text: text.to_owned(),
            paths: Vec::new(),
        }
    }

    fn image(url: &str) -> ToolContent {
        ToolContent::InputImage {
            image_url: url.to_owned(),
        }
    }

    #[test]
    fn what_comes_back_is_bounded_and_never_empty() {
        let told =
            |content_items: Vec<ToolContent>, success: bool| output("look", ToolCallResult { content_items, success });
        let good = "data:image/png;base64,AAAA";
        for (content, success, part, images) in [
            (vec![], true, "nothing back", 0),
            (vec![], false, "did not say why", 0),
            (vec![text(" ")], false, "did not say why", 0),
            (vec![text("a"), text("b")], true, "a\nb", 0),
            (vec![image(good)], true, "", 1),
            (vec![text("see"), image("file:///etc/passwd")], true, "left out", 0),
            (vec![image("http://host/a.png")], true, "left out", 0),
            (vec![image(good); MOST_IMAGES + 2], true, "16 are the most", MOST_IMAGES),
        ] {
            let output = told(content.clone(), success);
            assert!(output.text.contains(part), "{content:?}: {}", output.text);
            assert_eq!(
                (output.success, output.images.len()),
                (Some(success), images),
                "{content:?}"
            );
        }
        let long = told(vec![text(&"line\n".repeat(100_000))], true);
        assert!(long.text.len() <= ANSWER_LIMIT + 100 && long.text.contains("cut out"));
    }
}
