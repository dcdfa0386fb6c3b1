//! A history that has to become shorter by force: the request for a summary must fit the window too.
//!
//! Images go first, then the middle of what is large, then the oldest items, a call always with its output. Instructions from
//! the beginning stay.

use super::fold::IMAGE_GONE;
use super::measure;
use crate::agent::history::is_call;
use crate::model::item::{ContentPart, ResponseItem, ToolOutputPayload};
use crate::store::history::is_words;
use std::collections::HashSet;
use std::sync::Arc;

/// What is left out of a history that may take so many tokens, by the estimate; the same one if it fits. Every call in it
/// has its output.
pub(super) fn within(items: &Arc<Vec<ResponseItem>>, most: usize) -> Arc<Vec<ResponseItem>> {
    if measure::items(items.iter()) <= most {
        return items.clone();
    }
    let mut left = without_images(items).unwrap_or_else(|| items.to_vec());
    cut_outputs(&mut left, (most / LARGE).max(SMALL));
    Arc::new(without_oldest(left, most))
}

/// A shorter one than this, which was refused: without images, else without about the oldest quarter. None if there is
/// nothing left to leave out.
pub(super) fn shorter(items: &[ResponseItem]) -> Option<Vec<ResponseItem>> {
    if let Some(bare) = without_images(items) {
        return Some(bare);
    }
    let leading = measure::items(&items[..leading(items)]);
    let behind = measure::items(items) - leading;
    let left = without_oldest(items.to_vec(), leading + behind / 4 * 3);
    (left.len() < items.len()).then_some(left)
}

/// One output that is larger than a quarter of all there may be loses its middle, and not all the rest its place.
const LARGE: usize = 4;
/// Tokens below which an output is left as it is.
const SMALL: usize = 64;

fn cut_outputs(items: &mut [ResponseItem], most: usize) {
    let outputs = items.iter_mut().filter_map(|item| match item {
        ResponseItem::FunctionCallOutput { output, .. } | ResponseItem::CustomToolCallOutput { output, .. } => {
            match output {
                ToolOutputPayload::Text(text) => Some(text),
                ToolOutputPayload::Parts(_) => None,
            }
        }
        ResponseItem::LocalShellCallOutput { output, .. } => Some(output),
        _ => None,
    });
    for text in outputs.filter(|text| measure::text(text) > most) {
        *text = super::fold::cut(text, most * measure::BYTES_PER_TOKEN);
    }
}

/// None if there are none.
fn without_images(items: &[ResponseItem]) -> Option<Vec<ResponseItem>> {
    let is_image = |part: &ContentPart| matches!(part, ContentPart::InputImage { .. });
    let content = |item: &ResponseItem| -> bool {
        match item {
            ResponseItem::Message { content, .. } => content.iter().any(is_image),
            ResponseItem::FunctionCallOutput { output, .. } | ResponseItem::CustomToolCallOutput { output, .. } => {
                matches!(output, ToolOutputPayload::Parts(parts) if parts.iter().any(is_image))
            }
            _ => false,
        }
    };
    if !items.iter().any(content) {
        return None;
    }
    let mut items = items.to_vec();
    for item in &mut items {
        let parts = match item {
            ResponseItem::Message { content, .. } => content,
            ResponseItem::FunctionCallOutput { output, .. } | ResponseItem::CustomToolCallOutput { output, .. } => {
                match output {
                    ToolOutputPayload::Parts(parts) => parts,
                    ToolOutputPayload::Text(_) => continue,
                }
            }
            _ => continue,
        };
        for part in parts.iter_mut().filter(|part| is_image(part)) {
            let text = IMAGE_GONE.to_owned();
            *part = ContentPart::InputText { text };
        }
    }
    Some(items)
}

/// How many items at the beginning are instructions and surroundings.
fn leading(items: &[ResponseItem]) -> usize {
    let is_context =
        |item: &&ResponseItem| matches!(item, ResponseItem::Message { .. }) && !item.is_answer() && !is_words(item);
    items.iter().take_while(is_context).count()
}

/// Leaves out the oldest items behind the leading ones, until the rest fits.
fn without_oldest(items: Vec<ResponseItem>, most: usize) -> Vec<ResponseItem> {
    let leading = leading(&items);
    let mut size = measure::items(&items);
    let mut outputs_gone: HashSet<String> = HashSet::new();
    let mut left = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let own = measure::item(item);
        let is_orphan = !is_call(item) && item.call_id().is_some_and(|id| outputs_gone.remove(id));
        if is_orphan {
            size -= own;
        } else if index < leading || size <= most {
            left.push(item.clone());
        } else {
            size -= own;
            if let Some(id) = item.call_id().filter(|_| is_call(item)) {
                outputs_gone.insert(id.to_owned());
            }
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::history::output_for;
    use proptest::prelude::*;

    fn call(id: &str) -> ResponseItem {
        ResponseItem::CustomToolCall {
            id: None,
            name: "apply_patch".into(),
            input: "x".repeat(40),
            call_id: id.into(),
        }
    }

    fn output(id: &str) -> ResponseItem {
        output_for(&call(id), id, "y".repeat(40))
    }

    fn image() -> ResponseItem {
        ResponseItem::CustomToolCallOutput {
            call_id: "i".into(),
            output: ToolOutputPayload::Parts(vec![ContentPart::InputImage {
                image_url: "data:".into(),
            }]),
        }
    }

    #[test]
    fn images_go_first_then_the_oldest_with_their_outputs() {
        let items = Arc::new(vec![
            ResponseItem::developer("be kind"),
            ResponseItem::user("first"),
            call("a"),
            call("i"),
            output("a"),
            image(),
            ResponseItem::assistant("last"),
        ]);
        let all = measure::items(items.iter());
        assert!(Arc::ptr_eq(&within(&items, all), &items));
        let bare = within(&items, all - 1000);
        assert_eq!(bare.len(), items.len());
        assert_eq!(shorter(&items).as_ref(), Some(&*bare));
        let size = measure::items(bare.iter());
        assert_eq!(*within(&bare, size - 1), [&items[..1], &bare[2..]].concat());
        // The first call goes, and its output with it, though that stands behind what stays.
        let less = within(&bare, size - measure::item(&items[1]) - 1);
        assert_eq!(
            *less,
            vec![items[0].clone(), call("i"), bare[5].clone(), items[6].clone()]
        );
        assert_eq!(*within(&items, 0), items[..1]);
        assert_eq!(shorter(&items[..1]), None);
    }

    proptest! {
        /// Whatever must go: what is left can be sent, and refusals come to an end.
        #[test]
        fn nothing_is_left_on_its_own(ids in prop::collection::vec((0u8..6, any::<bool>()), 0..24), most in 0usize..400) {
            let items: Vec<_> = ids.iter().map(|(id, is_call)| match is_call {
                true => call(&id.to_string()),
                false => output(&id.to_string()),
            }).collect();
            let items = crate::agent::history::History::new(items).for_model();
            let left = within(&items, most);
            let whole = crate::agent::history::History::new(left.to_vec()).for_model();
            prop_assert_eq!(&*left, &*whole);
            prop_assert!(measure::items(left.iter()) <= most || left.is_empty());
            let mut rounds = 0;
            let mut rest = items.to_vec();
            while let Some(less) = shorter(&rest) {
                prop_assert!(less.len() < rest.len());
                rest = less;
                rounds += 1;
            }
            prop_assert!(rounds <= items.len());
        }
    }
}
