//! Tools that the client brings along: checked when they are declared, called by a request to the client.

use super::{Call, Host, Look, Registry, Tool, ToolError, ToolOutput, arguments, edit, shown_arguments, write};
use crate::model::item::{TEXT_EDITOR, ToolSpec};
use crate::protocol::tool::DynamicToolSpec;
use futures::future::BoxFuture;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Tools of one thread.
const MOST_TOOLS: usize = 128;
/// Characters of a name, as providers take them.
const MOST_NAME: usize = 64;
/// Bytes of a description with its schema: they go along with each request.
const MOST_BYTES: usize = 64 << 10;
/// How the names of tools begin that servers of the person's bring.
const OF_SERVERS: &str = "mcp__";

/// A declaration that cannot be meant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("The tool {name:?} was not taken: {reason}. No thread was changed; declare it otherwise and try again.")]
pub struct BadTool {
    pub name: String,
    pub reason: String,
}

/// One tool of the client's.
pub struct Dynamic {
    spec: DynamicToolSpec,
}

/// The tools that a client declares. `own` are ours, whose names are taken.
///
/// # Errors
/// The first declaration that cannot be meant.
pub fn declared(specs: &[DynamicToolSpec], own: &Registry) -> Result<Vec<Arc<dyn Tool>>, BadTool> {
    let mut tools: Vec<Arc<dyn Tool>> = Vec::with_capacity(specs.len());
    for (index, spec) in specs.iter().enumerate() {
        let checked =
            check(spec, own).and_then(
                |()| match specs[..index].iter().any(|before| before.name == spec.name) {
                    true => Err("another of the declared tools has this name".to_owned()),
                    false if index >= MOST_TOOLS => Err(format!("a thread takes {MOST_TOOLS} tools at most")),
                    false => Ok(()),
                },
            );
        checked.map_err(|reason| BadTool {
            name: spec.name.chars().take(MOST_NAME).collect(),
            reason,
        })?;
        tools.push(Arc::new(Dynamic { spec: spec.clone() }));
    }
    Ok(tools)
}

fn check(spec: &DynamicToolSpec, own: &Registry) -> Result<(), String> {
    let name = &spec.name;
    let is_good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() || name.len() > MOST_NAME || !name.chars().all(is_good) {
        return Err(format!(
            "a name has 1 to {MOST_NAME} letters, digits, _ and -, and nothing else"
        ));
    }
    if own.has(name)
        || Registry::standard()
            .find(name)
            .is_some_and(|tool| stands_for(tool.as_ref(), name))
    {
        return Err("Countersign has a tool of this name itself".to_owned());
    }
    if name.starts_with(OF_SERVERS) {
        return Err(format!("names that begin with {OF_SERVERS} belong to MCP servers"));
    }
    let size = spec.description.len() + spec.input_schema.to_string().len();
    if size > MOST_BYTES {
        return Err(format!(
            "its description and schema have more than {} KiB",
            MOST_BYTES >> 10
        ));
    }
    let Value::Object(schema) = &spec.input_schema else {
        return Err("its inputSchema is not a JSON object".to_owned());
    };
    check_schema(schema)
}

/// Whether a name is that of a tool of ours, and nobody else's. What other programs call the tools that change one file is free: a
/// client that offers such a tool means its own.
fn stands_for(tool: &dyn Tool, name: &str) -> bool {
    let own = tool.name();
    own == name || ![edit::NAME, write::NAME, TEXT_EDITOR].contains(&own.as_str())
}

/// Only what every provider needs of a schema: that it is one of an object.
fn check_schema(schema: &Map<String, Value>) -> Result<(), String> {
    if schema.get("type").is_some_and(|kind| kind != "object") {
        return Err("its inputSchema is of another type than \"object\", and arguments are an object".to_owned());
    }
    let no_properties = Map::new();
    let properties = match schema.get("properties") {
        None => &no_properties,
        Some(Value::Object(properties)) => properties,
        Some(_) => return Err("`properties` of its inputSchema is not an object".to_owned()),
    };
    if let Some((name, _)) = properties.iter().find(|(_, one)| !one.is_object() && !one.is_boolean()) {
        return Err(format!("the property {name:?} of its inputSchema is not a schema"));
    }
    let required = match schema.get("required") {
        None => &[],
        Some(Value::Array(required)) => required.as_slice(),
        Some(_) => return Err("`required` of its inputSchema is not a list".to_owned()),
    };
    for one in required {
        match one.as_str() {
            None => return Err("`required` of its inputSchema holds something else than names".to_owned()),
            Some(name) if !properties.contains_key(name) => {
                return Err(format!(
                    "its inputSchema requires {name:?}, which is not among its properties"
                ));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

impl Tool for Dynamic {
    fn spec(&self) -> ToolSpec {
        let mut parameters = self.spec.input_schema.clone();
        if let Value::Object(schema) = &mut parameters {
            // Some providers refuse a schema without them.
            schema.entry("type").or_insert_with(|| "object".into());
            schema.entry("properties").or_insert_with(|| Map::new().into());
        }
        ToolSpec::Function {
            name: self.spec.name.clone(),
            description: self.spec.description.clone(),
            strict: false,
            parameters,
        }
    }

    fn only_reads(&self) -> bool {
        self.spec.read_only
    }

    fn look(&self, call: &Call) -> Option<Look> {
        Some(Look {
            title: format!("Call {} of the editor", self.spec.name),
            arguments: shown_arguments(call),
        })
    }

    fn run<'a>(&'a self, call: &'a Call, host: &'a dyn Host) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let given: Map<String, Value> = arguments(call)?;
            host.call_client(call.id.as_str().into(), self.spec.name.clone(), given.into())
                .await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn spec(name: &str, input_schema: Value) -> DynamicToolSpec {
        DynamicToolSpec {
            name: name.to_owned(),
            description: "Does something.".to_owned(),
            input_schema,
            read_only: false,
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused_by_name() {
        let good = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
        let own = Registry::standard();
        // What other programs call our tools that change one file is free.
        assert!(declared(&[spec("edit_file", good.clone())], &own).is_ok());
        for (name, schema, part) in [
            ("", good.clone(), "1 to 64"),
            ("has space", good.clone(), "1 to 64"),
            ("dots.in", good.clone(), "1 to 64"),
            ("ünlauted", good.clone(), "1 to 64"),
            (&"x".repeat(65), good.clone(), "1 to 64"),
            ("shell", good.clone(), "itself"),
            ("apply_patch", good.clone(), "itself"),
            ("applypatch", good.clone(), "itself"),
            ("edit", good.clone(), "itself"),
            ("mcp__a__b", good.clone(), "MCP servers"),
            ("t", json!([]), "not a JSON object"),
            ("t", json!("object"), "not a JSON object"),
            ("t", json!({"type": "array"}), "another type"),
            ("t", json!({"type": ["object", "null"]}), "another type"),
            ("t", json!({"properties": []}), "not an object"),
            ("t", json!({"properties": {"a": "string"}}), "\"a\""),
            ("t", json!({"required": "a"}), "not a list"),
            ("t", json!({"required": [1]}), "names"),
            ("t", json!({"properties": {}, "required": ["a"]}), "\"a\""),
            ("t", json!({"description": "x".repeat(MOST_BYTES)}), "64 KiB"),
        ] {
            let error = declared(&[spec(name, schema.clone())], &own).err().expect(name);
            assert!(error.to_string().contains(part), "{name} {schema}: {error}");
        }
        let twice = [spec("t", good.clone()), spec("t", good.clone())];
        assert!(
            declared(&twice, &own)
                .err()
                .expect("twice")
                .reason
                .contains("this name")
        );
        let many: Vec<_> = (0..=MOST_TOOLS)
            .map(|number| spec(&format!("t{number}"), good.clone()))
            .collect();
        assert!(declared(&many, &own).err().expect("many").reason.contains("128"));
        assert_eq!(declared(&many[1..], &own).map(|tools| tools.len()), Ok(MOST_TOOLS));
    }

    #[test]
    fn a_schema_is_made_whole_for_the_provider() {
        let tools = declared(&[spec("t", json!({}))], &Registry::standard()).expect("good");
        let ToolSpec::Function { parameters, .. } = tools[0].spec() else {
            panic!("a function")
        };
        assert_eq!(parameters, json!({"type": "object", "properties": {}}));
    }
}
