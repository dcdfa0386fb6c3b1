//! Images of the person, as the model takes them.

use base64::Engine;
use std::path::Path;

/// Most bytes of an image file.
const LIMIT: u64 = 20 << 20;

/// An image file as a `data:` URL. The error says in words why not.
pub(super) fn data_url(path: &Path) -> Result<String, String> {
    let kind = match path
        .extension()
        .and_then(|extension| extension.to_str())
        .map(str::to_ascii_lowercase)
        .as_deref()
    {
        Some("png") => "png",
        Some("jpg" | "jpeg") => "jpeg",
        Some("gif") => "gif",
        Some("webp") => "webp",
        _ => return Err("only PNG, JPEG, GIF and WebP are understood".to_owned()),
    };
    let found = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !found.is_file() {
        return Err("it is not a file".to_owned());
    }
    if found.len() > LIMIT {
        return Err(format!("it is larger than {} MiB", LIMIT >> 20));
    }
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    Ok(format!(
        "data:image/{kind};base64,{}",
        base64::engine::general_purpose::STANDARD.encode(bytes)
    ))
}
