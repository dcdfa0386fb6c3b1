//! What a server answered to a call, for the model: structured content where there is some, else the content blocks;
//! images as images.

use super::untrusted;
use base64::Engine as _;
use serde::Serialize;
use serde_json::{Value, json};

/// Bytes of text that the model gets of one result.
pub const MOST_TEXT: usize = 64 << 10;
/// Images of one result.
const MOST_IMAGES: usize = 16;
/// Bytes of one image, as it is sent.
const MOST_IMAGE: usize = 20 << 20;
/// Characters of base64 that are left in a text: keys and hashes are shorter.
const MOST_DATA: usize = 2048;
/// Bytes of a result that is shown and recorded.
const MOST_SHOWN: usize = 256 << 10;

/// A result as the model gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub text: String,
    /// As `data:` URLs.
    pub images: Vec<String>,
    /// The opposite of the server's error flag.
    pub success: bool,
}

/// Reads a result of `tools/call`.
pub fn outcome(result: &Value) -> Outcome {
    let success = result.get("isError").and_then(Value::as_bool) != Some(true);
    let mut images = Vec::new();
    let empty = Vec::new();
    let content = result.get("content").and_then(Value::as_array).unwrap_or(&empty);
    let blocks: Vec<Value> = content.iter().map(|block| without_image(block, &mut images)).collect();
    let structured = result.get("structuredContent").filter(|value| !value.is_null());
    let mut shown = structured.cloned().unwrap_or_else(|| blocks.into());
    leave_out_data(&mut shown, &images);
    untrusted::visible_in(&mut shown);
    Outcome {
        text: cut(json_text(&shown), MOST_TEXT),
        images,
        success,
    }
}

/// Reads a result of `resources/read`.
pub fn resource(result: &Value) -> Outcome {
    let mut images = Vec::new();
    let empty = Vec::new();
    let contents = result.get("contents").and_then(Value::as_array).unwrap_or(&empty);
    let parts = contents.iter().map(|part| {
        let kind = part.get("mimeType").and_then(Value::as_str).unwrap_or_default();
        match part.get("blob") {
            Some(blob) if kind.starts_with("image/") => {
                let block = json!({"type": "image", "data": blob, "mimeType": kind});
                let note = without_image(&block, &mut images);
                json!({"uri": part.get("uri"), "mimeType": kind, "text": note.get("text")})
            }
            _ => part.clone(),
        }
    });
    let mut shown = json!({"contents": parts.collect::<Vec<Value>>()});
    leave_out_data(&mut shown, &images);
    untrusted::visible_in(&mut shown);
    Outcome {
        text: cut(json_text(&shown), MOST_TEXT),
        images,
        success: true,
    }
}

/// Puts words in the place of bytes that are written as base64, which no model reads: an image that is shown is named, of other data it is
/// said how much it is.
fn leave_out_data(value: &mut Value, images: &[String]) {
    match value {
        Value::String(text) if text.len() > MOST_DATA && is_base64(text) => {
            let data = text.rsplit_once(";base64,").map_or(text.as_str(), |(_, data)| data);
            let is_it = |url: &String| url.ends_with(data.trim());
            *text = match images.iter().position(is_it) {
                Some(at) => format!("[image {}, shown with this result]", at + 1),
                None => format!("[{} bytes of data, left out]", data.len() / 4 * 3),
            };
        }
        Value::Array(list) => list.iter_mut().for_each(|value| leave_out_data(value, images)),
        Value::Object(map) => map.values_mut().for_each(|value| leave_out_data(value, images)),
        _ => {}
    }
}

/// Whether a text is nothing but base64 of either alphabet, or a `data:` URL of it.
fn is_base64(text: &str) -> bool {
    let data = match text.split_once(";base64,") {
        Some((kind, data)) if kind.starts_with("data:") && kind.len() < 200 => data,
        _ => text,
    };
    let is_of_it =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=' | b'\r' | b'\n');
    data.bytes().all(is_of_it)
}

/// A value as JSON text. One that cannot be written says so in its place.
pub fn json_text(value: &impl Serialize) -> String {
    serde_json::to_string(value)
        .unwrap_or_else(|error| format!("The tool gave a result that cannot be written as JSON: {error}."))
}

/// A block of content; an image is taken out of it and put aside.
fn without_image(block: &Value, images: &mut Vec<String>) -> Value {
    if block.get("type").and_then(Value::as_str) != Some("image") {
        return block.clone();
    }
    let note = |text: String| json!({"type": "text", "text": text});
    match image(block) {
        Ok(_) if images.len() == MOST_IMAGES => note(format!(
            "[another image, left out: more than {MOST_IMAGES} in one result]"
        )),
        Ok(url) => {
            images.push(url);
            note(format!("[image {}, shown with this result]", images.len()))
        }
        Err(problem) => note(format!("[an image that cannot be shown: {problem}]")),
    }
}

fn image(block: &Value) -> Result<String, String> {
    let data = block.get("data").and_then(Value::as_str).ok_or("it has no data")?;
    let data: String = data.chars().filter(|letter| !letter.is_ascii_whitespace()).collect();
    let (kind, data) = match data.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")) {
        Some((kind, data)) => (Some(kind.to_owned()), data.to_owned()),
        None => (block.get("mimeType").and_then(Value::as_str).map(str::to_owned), data),
    };
    let kind = kind.unwrap_or_default().to_ascii_lowercase();
    let kind = if kind == "image/jpg" {
        "image/jpeg".to_owned()
    } else {
        kind
    };
    if !["image/png", "image/jpeg", "image/gif", "image/webp"].contains(&kind.as_str()) {
        return Err(format!(
            "only PNG, JPEG, GIF and WebP are understood, and it is {kind:?}"
        ));
    }
    if data.len() > MOST_IMAGE {
        return Err(format!("it is larger than {} MiB", MOST_IMAGE >> 20));
    }
    match base64::engine::general_purpose::STANDARD.decode(&data) {
        Ok(bytes) if !bytes.is_empty() => Ok(format!("data:{kind};base64,{data}")),
        Ok(_) => Err("it is empty".to_owned()),
        Err(_) => Err("its data is not base64".to_owned()),
    }
}

/// The head and the tail of a text that is too long.
pub fn cut(text: String, most: usize) -> String {
    if text.len() <= most {
        return text;
    }
    let half = most / 2;
    let (head, tail) = (
        text.floor_char_boundary(half),
        text.ceil_char_boundary(text.len() - half),
    );
    format!(
        "{}\n[… {} bytes left out here …]\n{}",
        &text[..head],
        tail - head,
        &text[tail..]
    )
}

/// A result of a size that can be shown and recorded: of what is too large, only how large it is.
pub fn shown(mut result: Value) -> Value {
    untrusted::visible_in(&mut result);
    let size = |value: &Value| json_text(value).len();
    if size(&result) <= MOST_SHOWN {
        return result;
    }
    shorten(&mut result, 4096);
    match size(&result) <= MOST_SHOWN {
        true => result,
        false => json!({"content": [{
            "type": "text",
            "text": "The result is too large to be shown.",
        }], "isError": result.get("isError")}),
    }
}

fn shorten(value: &mut Value, most: usize) {
    match value {
        Value::String(text) if text.len() > most => {
            let head = &text[..text.floor_char_boundary(64)];
            *text = format!("{head} [… {} bytes]", text.len());
        }
        Value::Array(list) => list.iter_mut().for_each(|value| shorten(value, most)),
        Value::Object(map) => map.values_mut().for_each(|value| shorten(value, most)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Shows S-202.
    #[test]
    fn structured_content_counts_before_blocks() {
        let blocks = json!([{"type": "text", "text": "hi"}]);
        let written = r#"[{"text":"hi","type":"text"}]"#;
        for (result, text, success) in [
            (
                json!({"content": blocks, "structuredContent": {"a": 1}}),
                r#"{"a":1}"#,
                true,
            ),
            (
                json!({"content": blocks, "structuredContent": null, "isError": true}),
                written,
                false,
            ),
            (json!({"content": blocks, "isError": false}), written, true),
            (json!({"content": blocks}), written, true),
            (json!({"content": []}), "[]", true),
            (json!({}), "[]", true),
        ] {
            let outcome = outcome(&result);
            assert_eq!((outcome.text.as_str(), outcome.success), (text, success), "{result}");
            assert!(outcome.images.is_empty());
        }
    }

    #[test]
    fn no_model_gets_bytes_as_text() {
        let data = "iVBORw0K".repeat(1000);
        let image = json!({"type": "image", "data": data, "mimeType": "image/png"});
        let other = "AAAA".repeat(1000);
        let key = "a".repeat(MOST_DATA);
        let structured = json!({
            "shot": data, "url": format!("data:image/png;base64,{data}"), "audio": [other], "key": key, "prose": "so it is. ".repeat(500),
        });
        let outcome = outcome(&json!({"content": [image], "structuredContent": structured}));
        assert_eq!(outcome.images.len(), 1);
        let told: Value = serde_json::from_str(&outcome.text).expect("JSON");
        let named = json!("[image 1, shown with this result]");
        assert_eq!((&told["shot"], &told["url"]), (&named, &named));
        assert_eq!(told["audio"][0], "[3000 bytes of data, left out]");
        assert_eq!(
            (&told["key"], &told["prose"]),
            (&structured["key"], &structured["prose"])
        );
        let read = resource(&json!({"contents": [{"uri": "x:/y", "mimeType": "application/zip", "blob": other}]}));
        assert!(
            read.text.contains("3000 bytes of data") && read.text.len() < 200,
            "{}",
            read.text
        );
    }

    #[test]
    fn images_are_put_aside_as_far_as_they_are_images() {
        let image = |data: &str, kind: &str| json!({"type": "image", "data": data, "mimeType": kind});
        let result = json!({"content": [
            {"type": "text", "text": "look"},
            image("iVBO\nRw==", "image/png"),
            image("data:image/jpg;base64,/9j/", "x"),
            image("not base64!", "image/png"),
            image("AAAA", "image/tiff"),
            image("", "image/png"),
            {"type": "image"},
            {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
        ]});
        let outcome = outcome(&result);
        assert_eq!(
            outcome.images,
            ["data:image/png;base64,iVBORw==", "data:image/jpeg;base64,/9j/"]
        );
        for word in [
            "look",
            "image 1",
            "image 2",
            "not base64",
            "image/tiff",
            "empty",
            "no data",
            "audio/wav",
        ] {
            assert!(outcome.text.contains(word), "{word}: {}", outcome.text);
        }
    }

    /// Shows S-204.
    #[test]
    fn what_cannot_be_written_is_told_in_words() {
        let strange = BTreeMap::from([(vec![1_u8], 2)]);
        assert!(json_text(&strange).contains("cannot be written"));
    }

    #[test]
    fn large_results_are_bounded() {
        let long = json!({"content": [{"type": "text", "text": "é".repeat(200_000)}]});
        assert!(outcome(&long).text.len() < MOST_TEXT + 100);
        let kept = shown(long);
        assert!(json_text(&kept).len() < 1000, "{kept}");
        let many = json!({"content": vec![json!({"type": "text", "text": "x".repeat(4000)}); 200]});
        assert!(json_text(&shown(many)).contains("too large"));
        let small = json!({"content": []});
        assert_eq!(shown(small.clone()), small);
    }
}
