//! A tool as its server describes it.

use super::schema;
use serde_json::Value;

/// Bytes of a description that the model gets.
const MOST_DESCRIPTION: usize = 4096;

#[derive(Clone, Debug, PartialEq)]
pub struct ToolInfo {
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    /// The server says that it changes nothing.
    pub read_only: bool,
    /// As the server gives it.
    pub schema: Value,
    /// As providers take it.
    pub schema_for_model: Value,
}

impl ToolInfo {
    /// Reads one description. `None` if it has no name: that tool is left out, the others are not.
    pub fn read(value: &Value) -> Option<Self> {
        let text = |value: Option<&Value>| {
            value
                .and_then(Value::as_str)
                .map(str::trim)
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
        };
        let hints = value.get("annotations");
        let schema = value.get("inputSchema").cloned().unwrap_or_default();
        Some(Self {
            name: value
                .get("name")
                .and_then(Value::as_str)
                .filter(|name| !name.trim().is_empty())?
                .to_owned(),
            title: text(value.get("title")).or_else(|| text(hints.and_then(|hints| hints.get("title")))),
            description: text(value.get("description")),
            read_only: hints
                .and_then(|hints| hints.get("readOnlyHint"))
                .and_then(Value::as_bool)
                == Some(true),
            schema_for_model: schema::sane(&schema),
            schema,
        })
    }

    /// What the model is told of it.
    pub fn description_for_model(&self, server: &str) -> String {
        let words = self
            .description
            .as_deref()
            .or(self.title.as_deref())
            .unwrap_or(&self.name);
        let words = &words[..words.floor_char_boundary(MOST_DESCRIPTION)];
        format!("{words}\n(A tool of the server {server}.)")
    }

    /// In a few words, for the person.
    pub fn shown(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn broken_descriptions_are_told_from_poor_ones() {
        for broken in [
            json!(null),
            json!("x"),
            json!({}),
            json!({"name": 7}),
            json!({"name": " "}),
        ] {
            assert_eq!(ToolInfo::read(&broken), None, "{broken}");
        }
        let poor = ToolInfo::read(&json!({"name": "t", "description": 7, "annotations": [], "inputSchema": "x"}))
            .expect("a tool");
        assert!(!poor.read_only && poor.description.is_none());
        assert_eq!(poor.schema_for_model, json!({"type": "object", "properties": {}}));
        let rich = json!({"name": "t", "title": "T", "annotations": {"readOnlyHint": true}, "description": "d"});
        let rich = ToolInfo::read(&rich).expect("a tool");
        assert!(rich.read_only && rich.description_for_model("s").starts_with("d\n"));
    }
}
