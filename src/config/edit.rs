//! Changes of the person's own `config.toml` that leave all the rest of it as they wrote it: comments, order, blank lines.

use super::check::{Checker, Layer};
use super::own_file::{FileError, OwnFile};
use super::{ConfigError, tree};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Key, Table, TableLike};

/// One key and what it becomes.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    /// Parts with dots between them, in quotes where they hold dots themselves: `projects."/home/ada/x.y".trust_level`.
    pub key_path: String,
    /// Nothing takes the key away.
    pub value: Option<Value>,
}

/// The file as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    pub path: PathBuf,
    /// Of this very text; see [`version`].
    pub version: String,
}

/// Why the file is as it was.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    #[error(
        "{key_path:?} names no key: {cause}. Write it like model_providers.local.base_url, with quotes around a part that holds \
         dots."
    )]
    KeyPath { key_path: String, cause: String },
    #[error("`{key_path}` cannot be set: {cause}. Nothing was written.")]
    Value { key_path: String, cause: String },
    #[error("{0} Nothing was written.")]
    Misfit(String),
    #[error("{} has changed since it was read, so nothing was written. Read it again, and decide then.", .0.display())]
    Changed(PathBuf),
    #[error(transparent)]
    Broken(#[from] ConfigError),
    #[error("{0}. Make it possible to write there, or change the file yourself.")]
    File(#[from] FileError),
}

/// A name of this very text, for whoever wants to change it only as long as it is this.
pub fn version(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// A way as it is written in an edit.
pub fn key_path(way: &[String]) -> String {
    let is_bare = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    let part = |part: &String| match !part.is_empty() && part.chars().all(is_bare) {
        true => part.clone(),
        false => Value::from(part.clone()).to_string(),
    };
    way.iter().map(part).collect::<Vec<_>>().join(".")
}

/// Makes all changes in the person's file, or none. With `expected` only if the file is still of this version. What would
/// not be a valid configuration is refused. Blocks.
///
/// # Errors
/// The file is as it was; see [`EditError`].
pub fn write(path: &Path, edits: &[Edit], expected: Option<&str>) -> Result<Written, EditError> {
    let file = OwnFile::open(path)?;
    let before = file.text().unwrap_or_default();
    if expected.is_some_and(|expected| expected != version(before)) {
        return Err(EditError::Changed(path.to_owned()));
    }
    let (after, misfit) = edited(path, before, edits)?;
    if let Some(misfit) = misfit {
        return Err(EditError::Misfit(misfit));
    }
    if after != before {
        file.replace(&after, |_new| Ok::<(), EditError>(()))?;
    }
    Ok(Written {
        path: path.to_owned(),
        version: version(&after),
    })
}

/// The text with the changes made, and what in it does not fit that did before.
fn edited(path: &Path, before: &str, edits: &[Edit]) -> Result<(String, Option<String>), EditError> {
    let (mark, body) = match before.strip_prefix('\u{feff}') {
        Some(body) => ("\u{feff}", body),
        None => ("", before),
    };
    let mut document: DocumentMut = body.parse().map_err(|_| broken(path, before))?;
    for edit in edits {
        let keys = Key::parse(&edit.key_path).map_err(|error| EditError::KeyPath {
            key_path: edit.key_path.clone(),
            cause: error.to_string().lines().last().unwrap_or_default().trim().to_owned(),
        })?;
        put(&mut document, &keys, edit.value.as_ref()).map_err(|cause| EditError::Value {
            key_path: edit.key_path.clone(),
            cause,
        })?;
    }
    let mut text = format!("{mark}{document}");
    if body.contains("\r\n") && !body.replace("\r\n", "").contains('\n') {
        text = text.replace("\r\n", "\n").replace('\n', "\r\n");
    }
    let known = misfits(path, before)?;
    let new = misfits(path, &text)?.into_iter().find(|misfit| !known.contains(misfit));
    Ok((text, new))
}

fn misfits(path: &Path, text: &str) -> Result<Vec<String>, EditError> {
    let entries = tree::parse(text).map_err(|_| broken(path, text))?;
    let mut checker = Checker::new(Layer::Person, Some(path));
    checker.check(&entries);
    Ok(checker.misfits)
}

/// What is wrong with a text that is no TOML.
fn broken(path: &Path, text: &str) -> EditError {
    let (line, column, message) = match tree::parse(text) {
        Err(error) => (error.line, error.column, error.message),
        Ok(_) => (1, 1, "it cannot be read in whole".to_owned()),
    };
    EditError::Broken(ConfigError::Syntax {
        path: path.to_owned(),
        line,
        column,
        message,
    })
}

/// Sets a key, or takes it away. Tables on the way there are made.
fn put(document: &mut DocumentMut, keys: &[Key], value: Option<&Value>) -> Result<(), String> {
    let Some((last, parents)) = keys.split_last() else {
        return Err("it names no key".to_owned());
    };
    let mut table: &mut dyn TableLike = document.as_table_mut();
    let mut inline = false;
    for key in parents {
        if value.is_none() && !table.contains_key(key) {
            return Ok(());
        }
        let item = table.entry(key).or_insert_with(|| match inline {
            true => InlineTable::new().into(),
            false => {
                let mut made = Table::new();
                made.set_implicit(true);
                Item::Table(made)
            }
        });
        inline = item.is_inline_table();
        let kind = item.type_name();
        table = item
            .as_table_like_mut()
            .ok_or_else(|| format!("`{}` is {kind} there and no table", key.get()))?;
    }
    let Some(value) = value else {
        table.remove(last);
        return Ok(());
    };
    let mut item = item(value, inline)?;
    match table.get_mut(last) {
        Some(old) => {
            keep_looks(old, &mut item);
            *old = item;
        }
        None => {
            table.insert(last, item);
        }
    }
    Ok(())
}

/// What stands around the old value stays around the new one: a comment behind it, the place of a table.
fn keep_looks(old: &Item, new: &mut Item) {
    match (old, new) {
        (Item::Value(old), Item::Value(new)) => *new.decor_mut() = old.decor().clone(),
        (Item::Table(old), Item::Table(new)) => {
            *new.decor_mut() = old.decor().clone();
            new.set_position(old.position());
        }
        _ => {}
    }
}

fn item(value: &Value, inline: bool) -> Result<Item, String> {
    match value {
        Value::Object(fields) if !inline => {
            let mut table = Table::new();
            for (name, value) in fields {
                table.insert(name, item(value, false)?);
            }
            Ok(Item::Table(table))
        }
        _ => Ok(Item::Value(plain(value)?)),
    }
}

fn plain(value: &Value) -> Result<toml_edit::Value, String> {
    Ok(match value {
        Value::Null => {
            return Err("null stands for nothing in TOML; leave the value out to take the key away".to_owned());
        }
        Value::Bool(flag) => (*flag).into(),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => whole.into(),
            (None, Some(float)) if !number.is_u64() => float.into(),
            _ => return Err(format!("{number} is too large")),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(entries) => entries.iter().map(plain).collect::<Result<Array, _>>()?.into(),
        Value::Object(fields) => {
            let mut table = InlineTable::new();
            for (name, value) in fields {
                table.insert(name, plain(value)?);
            }
            table.into()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn after(before: &str, edits: &[(&str, Option<Value>)]) -> Result<String, String> {
        let edits: Vec<Edit> = edits
            .iter()
            .map(|(key_path, value)| Edit {
                key_path: (*key_path).to_owned(),
                value: value.clone(),
            })
            .collect();
        match edited(Path::new("/home/ada/.countersign/config.toml"), before, &edits) {
            Ok((text, None)) => Ok(text),
            Ok((_, Some(misfit))) => Err(misfit),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn only_what_is_named_changes() {
        let table: &[(&str, &str, Option<Value>, &str)] = &[
            ("", "model", Some(json!("a")), "model = \"a\"\n"),
            (
                "# mine\nmodel = 'a' # why\n\n[history]\n",
                "model",
                Some(json!("b")),
                "# mine\nmodel = \"b\" # why\n\n[history]\n",
            ),
            (
                "[edits]\nhints = true\n",
                "model",
                Some(json!("b")),
                "model = \"b\"\n[edits]\nhints = true\n",
            ),
            (
                "model = \"a\"\r\n# x\r\n",
                "model",
                Some(json!("b")),
                "model = \"b\"\r\n# x\r\n",
            ),
            (
                "model = \"a\"\r\n",
                "hide_agent_reasoning",
                Some(json!(true)),
                "model = \"a\"\r\nhide_agent_reasoning = true\r\n",
            ),
            (
                "\u{feff}model = \"a\"\n",
                "model",
                Some(json!("b")),
                "\u{feff}model = \"b\"\n",
            ),
            (
                "model = \"a\" # x\n# y\nhide_agent_reasoning = true\n",
                "model",
                None,
                "# y\nhide_agent_reasoning = true\n",
            ),
            ("model = \"a\"\n", "edits.hints", None, "model = \"a\"\n"),
            (
                "# top\n\n[edits] # these\n# inner\nhints = true\n",
                "edits.hints",
                Some(json!(false)),
                "# top\n\n[edits] # these\n# inner\nhints = false\n",
            ),
            (
                "edits = { hints = true, approve = \"ask\" }\n",
                "edits.hints",
                Some(json!(false)),
                "edits = { hints = false, approve = \"ask\" }\n",
            ),
            (
                "edits.hints = true\n",
                "edits.hints",
                Some(json!(false)),
                "edits.hints = false\n",
            ),
            (
                "model = \"a\"\n",
                "projects.\"/home/ada/x.y\".trust_level",
                Some(json!("trusted")),
                "model = \"a\"\n\n[projects.\"/home/ada/x.y\"]\ntrust_level = \"trusted\"\n",
            ),
            (
                "[model_providers.b]\nname = \"B\"\nbase_url = \"http://b\"\n",
                "model_providers.a",
                Some(json!({"name": "A", "base_url": "http://a", "request_max_retries": 3})),
                "[model_providers.b]\nname = \"B\"\nbase_url = \"http://b\"\n\n[model_providers.a]\nbase_url = \"http://a\"\nname = \
                 \"A\"\nrequest_max_retries = 3\n",
            ),
            (
                "notify = [\"a\"] # told\n",
                "notify",
                Some(json!(["b", "c"])),
                "notify = [\"b\", \"c\"] # told\n",
            ),
        ];
        for (before, path, value, wanted) in table {
            let got = after(before, &[(path, value.clone())]);
            let got = got.unwrap_or_else(|error| panic!("{before:?} {path}: {error}"));
            assert_eq!(got.trim_end(), wanted.trim_end(), "{before:?} {path}");
        }
    }

    #[test]
    fn texts_are_read_as_they_were_given() {
        for text in ["a \"b\"\n", "it's", "\\", "'''\"\"\"", "\u{1}\t", "é\u{1F600}"] {
            let written = after("model = \"a\" # why\n", &[("model", Some(json!(text)))]).expect("written");
            let entries = tree::parse(&written).expect("TOML");
            assert_eq!(entries[0].1.data, tree::Data::Text(text.to_owned()), "{written}");
            assert!(written.ends_with(" # why\n"), "{written}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused_in_words() {
        let table: &[(&str, &str, Option<Value>, &str)] = &[
            ("", "", Some(json!(1)), "names no key"),
            ("", "a..b", Some(json!(1)), "names no key"),
            ("", "a b", Some(json!(1)), "names no key"),
            ("", "model", Some(json!(5)), "`model`"),
            ("", "approval_policy", Some(json!("sometimes")), "sometimes"),
            ("", "model", Some(Value::Null), "null"),
            ("", "notify", Some(json!(["a", null])), "null"),
            ("", "project_doc_max_bytes", Some(json!(u64::MAX)), "too large"),
            ("model = \"a\"\n", "model.name", Some(json!("b")), "no table"),
            ("model = \n", "model", Some(json!("b")), "line 1"),
            ("[[x]]\na = 1\n", "x.a", Some(json!(2)), "no table"),
        ];
        for (before, path, value, part) in table {
            let error = after(before, &[(path, value.clone())]).expect_err(path);
            assert!(error.contains(part), "{before:?} {path}: {error}");
        }
        // What was wrong before does not stand in the way.
        let kept = after("approval_policy = \"sometimes\"\n", &[("model", Some(json!("a")))]);
        assert_eq!(kept.as_deref(), Ok("approval_policy = \"sometimes\"\nmodel = \"a\"\n"));
    }

    #[test]
    fn all_or_none_and_only_what_was_read() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("new").join("config.toml");
        let set = |key: &str, value: Value| Edit {
            key_path: key.to_owned(),
            value: Some(value),
        };
        let first = write(&path, &[set("model", json!("a"))], Some(&version(""))).expect("written");
        assert_eq!(std::fs::read_to_string(&path).expect("there"), "model = \"a\"\n");
        let half = [set("model", json!("b")), set("approval_policy", json!(7))];
        assert!(matches!(write(&path, &half, None), Err(EditError::Misfit(_))));
        assert!(matches!(
            write(&path, &[set("model", json!("c"))], Some(&version(""))),
            Err(EditError::Changed(_))
        ));
        assert_eq!(std::fs::read_to_string(&path).expect("there"), "model = \"a\"\n");
        let second = write(&path, &[set("model", json!("d"))], Some(&first.version)).expect("written");
        assert_ne!(first.version, second.version);
        let left: Vec<_> = std::fs::read_dir(home.path().join("new"))
            .expect("there")
            .flatten()
            .map(|entry| entry.file_name().into_string().expect("text"))
            .filter(|name| name != ".lock")
            .collect();
        assert_eq!(left, ["config.toml"]);
    }
}
