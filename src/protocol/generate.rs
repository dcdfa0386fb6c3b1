//! Makes the committed pages from the Rust types: the JSON Schema, the TypeScript declarations and the
//! reference. A test compares; `UPDATE=1 cargo test --lib protocol::` writes them anew.

mod examples;
mod markdown;
mod notes;
mod schema;
mod typescript;

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;

/// Gets the types of the tables, one by one.
pub(super) trait Visitor {
    fn visit<T: JsonSchema + ts_rs::TS + 'static>(&mut self);
}

/// Everything that the pages are made from.
struct Model {
    /// One schema a type. Optional is what may be left out by whoever sends it.
    schemas: Map<String, Value>,
    /// One declaration a type.
    declarations: BTreeMap<String, typescript::Declaration>,
}

/// Collects the schema of every type below those it is shown.
struct Schemas(SchemaGenerator);

impl Visitor for Schemas {
    fn visit<T: JsonSchema + ts_rs::TS + 'static>(&mut self) {
        self.0.subschema_for::<T>();
    }
}

fn visit_all(visitor: &mut impl Visitor) {
    super::method::each_client_request(visitor);
    super::method::each_server_request(visitor);
    super::event::each_event(visitor);
    super::method::each_notification(visitor);
}

fn model() -> Model {
    let schemas = schema::collect();
    let declarations = typescript::collect(&schemas);
    Model { schemas, declarations }
}

/// Compares a page with what is committed, or writes it.
fn check(path: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    if committed == text {
        return;
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().expect("a page is in a folder")).expect("the folder can be made");
        std::fs::write(&path, text).expect("the page can be written");
        return;
    }
    let same = text.lines().zip(committed.lines()).take_while(|(a, b)| a == b).count();
    panic!(
        "{} is out of step with the types (line {}); run UPDATE=1 cargo test --lib protocol::",
        path.display(),
        same + 1
    );
}

/// Shows S-357, S-419.
#[test]
fn the_schema_is_in_step() {
    check("docs/protocol.schema.json", &schema::page(&model()));
}

/// Shows S-419.
#[test]
fn the_typescript_is_in_step() {
    check("editors/vscode/src/protocol.ts", &typescript::page(&model()));
}

/// Shows S-419.
#[test]
fn the_reference_is_in_step() {
    check("docs/protocol.md", &markdown::page(&model()));
}
