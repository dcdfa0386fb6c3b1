//! Models that take no images: known by the table, by what a local server says, or by a refusal. Their requests go out with words in the
//! place of each image; the conversation keeps it, for a model that sees.

use super::error::ErrorKind;
use super::item::{ContentPart, ResponseItem, ToolOutputPayload};
use super::{ModelRequest, catalogue};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// What stands in the place of an image.
const NOTE: &str = "[An image is left out here: this model takes none. Tell the person so, if it matters.]";
/// Models that are remembered.
const MOST_KNOWN: usize = 256;

/// Those that were found out, by the server's address and the model's name. A server that is loaded otherwise is another process than
/// ours, so this holds as long as we run, or until the server says so.
static FOUND: Mutex<BTreeSet<(String, String)>> = Mutex::new(BTreeSet::new());

/// Notes whether a model at a server takes images.
pub(super) fn note(server: &str, model: &str, is_blind: bool) {
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (server.to_owned(), model.to_owned());
    if !is_blind {
        found.remove(&key);
    } else if found.len() < MOST_KNOWN {
        found.insert(key);
    }
}

/// Whether a model at a server takes no images, as far as is known.
pub(super) fn is_blind(server: &str, model: &str) -> bool {
    let found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    !catalogue::takes_images(model) || found.contains(&(server.to_owned(), model.to_owned()))
}

/// The request with words in the place of its images; none where it has no image.
pub(super) fn without_images(request: &ModelRequest) -> Option<ModelRequest> {
    let has_image = |parts: &[ContentPart]| parts.iter().any(|part| matches!(part, ContentPart::InputImage { .. }));
    let is_seen = |item: &ResponseItem| parts(item).is_some_and(has_image);
    if !request.input.iter().any(is_seen) {
        return None;
    }
    let mut input = Vec::clone(&request.input);
    for part in input.iter_mut().filter_map(parts_mut).flatten() {
        if matches!(part, ContentPart::InputImage { .. }) {
            let text = NOTE.to_owned();
            *part = ContentPart::InputText { text };
        }
    }
    Some(ModelRequest {
        input: Arc::new(input),
        ..request.clone()
    })
}

fn parts(item: &ResponseItem) -> Option<&[ContentPart]> {
    match item {
        ResponseItem::Message { content, .. } => Some(content),
        ResponseItem::FunctionCallOutput { output, .. } | ResponseItem::CustomToolCallOutput { output, .. } => {
            match output {
                ToolOutputPayload::Parts(parts) => Some(parts),
                ToolOutputPayload::Text(_) => None,
            }
        }
        _ => None,
    }
}

fn parts_mut(item: &mut ResponseItem) -> Option<&mut Vec<ContentPart>> {
    match item {
        ResponseItem::Message { content, .. } => Some(content),
        ResponseItem::FunctionCallOutput { output, .. } | ResponseItem::CustomToolCallOutput { output, .. } => {
            match output {
                ToolOutputPayload::Parts(parts) => Some(parts),
                ToolOutputPayload::Text(_) => None,
            }
        }
        _ => None,
    }
}

/// Whether a server refuses a request because of its images, and not because of one that is broken or too large.
pub(super) fn is_refusal(kind: &ErrorKind) -> bool {
    let (ErrorKind::Http { message, .. } | ErrorKind::BadRequest { message, .. } | ErrorKind::Failed { message, .. }) =
        kind
    else {
        return false;
    };
    let words = message.to_lowercase();
    let says = |parts: &[&str]| parts.iter().any(|part| words.contains(part));
    // That a content is no text is said by those that know nothing else.
    let only_text = says(&[
        "must be a string",
        "value must be a string",
        "unknown variant `image_url`",
    ]) && says(&["content", "messages"]);
    let of_images = only_text || says(&["image", "vision", "multimodal", "multi-modal"]);
    let of_model = only_text
        || says(&[
            "not support",
            "n't support",
            "not enabled",
            "at most 0 image",
            "unsupported",
            "only supported by",
            "does not accept",
            "not a multimodal",
            "not multimodal",
            "missing data required for image",
            "mmproj",
            "no endpoints found that support image",
        ]);
    // Another kind of picture may do.
    let of_file = says(&[
        "format",
        "media type",
        "media_type",
        "mime",
        "too large",
        "resolution",
        "webp",
        "gif",
    ]);
    of_images && of_model && !of_file
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image() -> ContentPart {
        ContentPart::InputImage {
            image_url: "data:image/png;base64,AAAA".to_owned(),
        }
    }

    #[test]
    fn images_give_way_to_words_wherever_they_are() {
        let output = |parts| ResponseItem::FunctionCallOutput {
            call_id: "c".to_owned(),
            output: ToolOutputPayload::Parts(parts),
        };
        let said = ResponseItem::Message {
            id: None,
            role: "user".to_owned(),
            content: vec![
                ContentPart::InputText {
                    text: "look".to_owned(),
                },
                image(),
            ],
        };
        let request = ModelRequest {
            input: Arc::new(vec![said, output(vec![image()]), ResponseItem::user("more")]),
            ..ModelRequest::default()
        };
        let sent = without_images(&request).expect("there are images");
        let text = format!("{:?}", sent.input);
        assert!(
            !text.contains("base64") && text.matches("An image is left out here").count() == 2,
            "{text}"
        );
        assert!(text.contains("look") && text.contains("more"));
        assert!(without_images(&sent).is_none());
    }

    #[test]
    fn refusals_of_images_are_known_by_their_words() {
        let bad = |message: &str| ErrorKind::BadRequest {
            status: Some(400),
            message: message.to_owned(),
            request_id: None,
        };
        for message in [
            "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
            "This model does not support image input.",
            "Invalid content type. image_url is only supported by certain models.",
            "qwen3-8b is not a multimodal model",
            "this model is missing data required for image input",
            "No endpoints found that support image input",
            "Image content is unsupported by this model",
            // DeepSeek, Groq, Mistral, Bedrock, vLLM.
            "Failed to deserialize the JSON body into the target type: messages[3]: unknown variant `image_url`, expected `text` at line 1",
            "messages[1].content must be a string",
            "'messages.0.content' : value must be a string",
            "Image input is not enabled for this model",
            "This model doesn't support the image content block that you provided.",
            "At most 0 image(s) may be provided in one prompt.",
        ] {
            assert!(is_refusal(&bad(message)), "{message}");
        }
        for message in [
            "Unsupported image format: image/tiff",
            "The image is too large and not supported",
            "tools are not supported by this model",
            "Invalid image data",
            "model must be a string",
            "",
        ] {
            assert!(!is_refusal(&bad(message)), "{message}");
        }
        assert!(!is_refusal(&ErrorKind::Refused));
    }

    #[test]
    fn what_was_found_out_holds_for_that_server_and_model() {
        note("http://one", "m", true);
        assert!(is_blind("http://one", "m") && !is_blind("http://two", "m") && !is_blind("http://one", "n"));
        note("http://one", "m", false);
        assert!(!is_blind("http://one", "m"));
        assert!(is_blind("anywhere", "gpt-oss-120b"));
    }
}
