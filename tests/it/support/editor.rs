//! An editor behind a [`Client`]: buffers with versions and undo, positions in the encoding that was agreed on,
//! `workspace/applyEdit` the way real editors do it, and all the ways in which they do it wrongly.
//!
//! It checks what it is sent (versions, overlaps, ranges, minimal edits, operations it never announced) and fails the
//! test at the end if something was amiss.

use super::client::{Client, Reply, Voice, recorded};
use countersign::workspace::uri;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Columns {
    Utf8,
    Utf16,
    Utf32,
}

/// What an editor does with an edit for a version that is not its own any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stale {
    /// VS Code, Helix, eglot, lsp-mode.
    Refused,
    /// Neovim.
    SkippedAndClaimed,
}

/// How the next `workspace/applyEdit` is dealt with.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Honest,
    /// `applied: false`, perhaps with a reason; nothing done.
    Refuse(Option<&'static str>),
    /// A JSON-RPC error; nothing done.
    Error(&'static str),
    /// An answer that is none.
    Rubbish(Value),
    /// `applied: true`; nothing done.
    Lie,
    /// No answer ever; nothing done.
    Silence,
    /// Done, but never answered.
    DoneInSilence,
    /// Answered first, done a moment later.
    AnswerFirst,
    /// Only the first so many documents; then this answer.
    OnlyDocuments(usize, bool),
    /// Only the first edit of each document; then this answer.
    OnlyFirstEdits(bool),
    /// The person types this at the beginning of a line of a file, and then the edit comes.
    TypedBefore(PathBuf, usize, &'static str),
    /// The person types this at the beginning of a line of a file while the preview is open; our extension closes the
    /// preview and says why.
    Outdated(PathBuf, usize, &'static str),
    /// The document is closed, unsaved text and all, and then the edit comes.
    ClosedBefore(PathBuf),
    /// The document is closed and opened again, as when its language changes; the edit is made when the test says so, by
    /// [`Editor::make`].
    ReopenedBefore(PathBuf),
}

#[derive(Clone, Debug, PartialEq)]
struct Buffer {
    uri: String,
    version: i32,
    text: String,
    undo: Vec<String>,
}

type Tick = Box<dyn Fn(&str) -> bool + Send>;

struct State {
    columns: Columns,
    stale: Stale,
    /// What `initialize` announced of `workspace.workspaceEdit`.
    announced: Value,
    document_changes: bool,
    previews: bool,
    buffers: BTreeMap<PathBuf, Buffer>,
    acts: VecDeque<Act>,
    /// Which parts of a preview the person ticks, by the label of the annotation.
    tick: Tick,
    edits: Vec<Value>,
    /// When each of them came.
    came: Vec<Instant>,
    shown: Vec<PathBuf>,
    faults: Vec<String>,
}

pub(crate) struct Editor {
    state: Arc<Mutex<State>>,
    voice: Voice,
}

impl Editor {
    /// The editor of this client, which announced what the editor of this name does.
    pub(crate) fn new(client: &Client, name: &str) -> Self {
        let columns = match client.server_says["capabilities"]["positionEncoding"].as_str() {
            Some("utf-8") => Columns::Utf8,
            Some("utf-32") => Columns::Utf32,
            _ => Columns::Utf16,
        };
        let announced = recorded(name)["capabilities"]["workspace"]["workspaceEdit"].clone();
        let state = State {
            columns,
            stale: match name.starts_with("nvim") {
                true => Stale::SkippedAndClaimed,
                false => Stale::Refused,
            },
            document_changes: announced["documentChanges"] == true || announced["resourceOperations"].is_array(),
            previews: name.starts_with("vscode"),
            announced,
            buffers: BTreeMap::new(),
            acts: VecDeque::new(),
            tick: Box::new(|_| true),
            edits: Vec::new(),
            came: Vec::new(),
            shown: Vec::new(),
            faults: Vec::new(),
        };
        let editor = Self {
            state: Arc::new(Mutex::new(state)),
            voice: client.voice(),
        };
        let (state, voice) = (editor.state.clone(), editor.voice.clone());
        client.on_request("workspace/applyEdit", move |params| {
            let mut state = lock(&state);
            state.edits.push(params.clone());
            state.came.push(Instant::now());
            state.take(params, &voice)
        });
        let state = editor.state.clone();
        client.on_request("window/showDocument", move |params| {
            let path = uri::to_path(params["uri"].as_str().unwrap_or_default()).ok().flatten();
            let there = path.as_ref().is_some_and(|path| path.is_file());
            lock(&state).shown.extend(path);
            Reply::Ok(json!({ "success": there }))
        });
        editor
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// What the editor does with the next edits, one after the other; then it is honest again.
    pub(crate) fn next(&self, acts: impl IntoIterator<Item = Act>) {
        self.state().acts.extend(acts);
    }

    pub(crate) fn tick(&self, tick: impl Fn(&str) -> bool + Send + 'static) {
        self.state().tick = Box::new(tick);
    }

    /// Opens a file of the disk.
    pub(crate) fn open(&self, path: &Path) {
        let text = std::fs::read_to_string(path).expect("a text file");
        let uri = uri::from_path(path);
        self.state().open(path, &uri, &text, &self.voice);
    }

    /// Opens a file under a URI of the editor's own making.
    pub(crate) fn open_as(&self, path: &Path, uri: &str) {
        let text = std::fs::read_to_string(path).expect("a text file");
        // The buffer goes by the path that its URI names.
        let named = path_of(&json!(uri));
        self.state().open(&named, uri, &text, &self.voice);
    }

    /// The person types at the beginning of a line.
    pub(crate) fn type_at(&self, path: &Path, line: usize, text: &str) {
        self.state().type_at(path, line, text, &self.voice);
    }

    /// The text becomes another one, as when the editor formats it or reads the file again.
    pub(crate) fn replace(&self, path: &Path, text: &str) {
        let mut state = self.state();
        let buffer = state.buffers.get_mut(path).expect("an open file");
        let before = std::mem::replace(&mut buffer.text, text.to_owned());
        buffer.undo.push(before);
        buffer.version += 1;
        self.voice
            .notify("textDocument/didChange", buffer.change(json!([{ "text": text }])));
    }

    /// The person types at a place, in bytes.
    pub(crate) fn type_in(&self, path: &Path, at: usize, text: &str) {
        let mut state = self.state();
        state.type_in(path, at, text, &self.voice);
    }

    /// The same if the text is still the one that they looked at; false if not.
    pub(crate) fn type_if(&self, path: &Path, looked_at: &str, at: usize, text: &str) -> bool {
        let mut state = self.state();
        let same = state.buffers.get(path).is_some_and(|buffer| buffer.text == looked_at);
        if same {
            state.type_in(path, at, text, &self.voice);
        }
        same
    }

    /// Makes an edit that was left for later, whatever its version, as editors do that do not look at it; its answer.
    pub(crate) fn make(&self, params: &Value) -> Value {
        let mut state = self.state();
        for change in state.read(&params["edit"]) {
            state.make(change, false, &self.voice);
        }
        json!({ "applied": true })
    }

    pub(crate) fn close(&self, path: &Path) {
        self.state().close(path, &self.voice);
    }

    pub(crate) fn save(&self, path: &Path) {
        self.state().save(path, &self.voice);
    }

    /// The last change of a buffer is taken back; false if there was none.
    pub(crate) fn undo(&self, path: &Path) -> bool {
        let mut state = self.state();
        let buffer = state.buffers.get_mut(path).expect("an open file");
        let Some(text) = buffer.undo.pop() else { return false };
        buffer.text = text.clone();
        buffer.version += 1;
        self.voice
            .notify("textDocument/didChange", buffer.change(json!([{ "text": text }])));
        true
    }

    /// The text of a buffer; nothing if the file is not open.
    pub(crate) fn text(&self, path: &Path) -> Option<String> {
        self.state().buffers.get(path).map(|buffer| buffer.text.clone())
    }

    /// The parameters of every `workspace/applyEdit`, in order.
    pub(crate) fn edits(&self) -> Vec<Value> {
        self.state().edits.clone()
    }

    /// When each of them came, before it was answered.
    pub(crate) fn came(&self) -> Vec<Instant> {
        self.state().came.clone()
    }

    /// What the server asked to be shown.
    pub(crate) fn shown(&self) -> Vec<PathBuf> {
        self.state().shown.clone()
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let faults = std::mem::take(&mut self.state().faults);
            assert!(faults.is_empty(), "the editor was sent:\n  {}", faults.join("\n  "));
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Buffer {
    fn change(&self, changes: Value) -> Value {
        json!({ "textDocument": { "uri": self.uri, "version": self.version }, "contentChanges": changes })
    }
}

/// One entry of `documentChanges`, or of `changes`.
#[derive(Clone)]
enum Change {
    Edits {
        uri: String,
        version: Option<i64>,
        edits: Vec<Value>,
    },
    Operation(Value),
}

impl State {
    fn open(&mut self, path: &Path, uri: &str, text: &str, voice: &Voice) {
        let buffer = Buffer {
            uri: uri.to_owned(),
            version: 1,
            text: text.to_owned(),
            undo: Vec::new(),
        };
        let document = json!({ "uri": uri, "languageId": "text", "version": 1, "text": text });
        voice.notify("textDocument/didOpen", json!({ "textDocument": document }));
        self.buffers.insert(path.to_owned(), buffer);
    }

    fn close(&mut self, path: &Path, voice: &Voice) {
        if let Some(buffer) = self.buffers.remove(path) {
            voice.notify(
                "textDocument/didClose",
                json!({ "textDocument": { "uri": buffer.uri } }),
            );
        }
    }

    fn save(&mut self, path: &Path, voice: &Voice) {
        let buffer = &self.buffers[path];
        std::fs::write(path, &buffer.text).expect("a file that can be written");
        voice.notify("textDocument/didSave", json!({ "textDocument": { "uri": buffer.uri } }));
    }

    fn type_at(&mut self, path: &Path, line: usize, text: &str, voice: &Voice) {
        let columns = self.columns;
        let buffer = self.buffers.get_mut(path).expect("an open file");
        let at = offset(&buffer.text, line, 0, columns).expect("a line of the file");
        buffer.undo.push(buffer.text.clone());
        buffer.text.insert_str(at, text);
        buffer.version += 1;
        let place = json!({ "line": line, "character": 0 });
        let change = json!([{ "range": { "start": place, "end": place }, "text": text }]);
        voice.notify("textDocument/didChange", buffer.change(change));
    }

    fn type_in(&mut self, path: &Path, at: usize, text: &str, voice: &Voice) {
        let columns = self.columns;
        let buffer = self.buffers.get_mut(path).expect("an open file");
        let before = buffer.text[..at].replace("\r\n", "\n");
        let line = before.matches('\n').count();
        let start = buffer.text[..at].rfind('\n').map_or(0, |end| end + 1);
        let character: usize = buffer.text[start..at]
            .chars()
            .map(|c| match columns {
                Columns::Utf8 => c.len_utf8(),
                Columns::Utf16 => c.len_utf16(),
                Columns::Utf32 => 1,
            })
            .sum();
        buffer.undo.push(buffer.text.clone());
        buffer.text.insert_str(at, text);
        buffer.version += 1;
        let place = json!({ "line": line, "character": character });
        let change = json!([{ "range": { "start": place, "end": place }, "text": text }]);
        voice.notify("textDocument/didChange", buffer.change(change));
    }

    fn take(&mut self, params: &Value, voice: &Voice) -> Reply {
        let changes = self.read(&params["edit"]);
        self.check(params, &changes);
        let answer = |applied: bool| Reply::Ok(json!({ "applied": applied }));
        match self.acts.pop_front().unwrap_or(Act::Honest) {
            Act::Honest => self.apply(params, changes, voice),
            Act::Refuse(None) => answer(false),
            Act::Refuse(Some(reason)) => Reply::Ok(json!({ "applied": false, "failureReason": reason })),
            Act::Error(message) => Reply::Error(-32603, message),
            Act::Rubbish(value) => Reply::Ok(value),
            Act::Lie => answer(true),
            Act::Silence => Reply::Never,
            Act::DoneInSilence => {
                self.apply(params, changes, voice);
                Reply::Never
            }
            Act::AnswerFirst => {
                let mut quick = Vec::new();
                // The buffers change now, and the server hears of it later.
                for change in changes {
                    if let Change::Edits { uri, edits, .. } = change {
                        quick.extend(self.edit(&uri, &edits));
                    }
                }
                let voice = voice.clone();
                std::thread::spawn(move || {
                    std::thread::sleep(std::time::Duration::from_millis(120));
                    for change in quick {
                        voice.notify("textDocument/didChange", change);
                    }
                });
                answer(true)
            }
            Act::OnlyDocuments(count, applied) => {
                for change in changes.into_iter().take(count) {
                    self.make(change, false, voice);
                }
                answer(applied)
            }
            Act::OnlyFirstEdits(applied) => {
                for change in changes {
                    if let Change::Edits { uri, version, edits } = change {
                        let edits = edits.into_iter().take(1).collect();
                        self.make(Change::Edits { uri, version, edits }, false, voice);
                    }
                }
                answer(applied)
            }
            Act::TypedBefore(path, line, text) => {
                self.type_at(&path, line, text, voice);
                self.apply(params, changes, voice)
            }
            Act::Outdated(path, line, text) => {
                self.type_at(&path, line, text, voice);
                Reply::Ok(json!({ "applied": false, "failureReason": "the files have changed since" }))
            }
            Act::ReopenedBefore(path) => {
                let buffer = self.buffers[&path].clone();
                self.close(&path, voice);
                self.open(&path, &buffer.uri, &buffer.text, voice);
                if let Some(open) = self.buffers.get_mut(&path) {
                    open.version = buffer.version;
                }
                Reply::Later
            }
            Act::ClosedBefore(path) => {
                self.close(&path, voice);
                answer(false)
            }
        }
    }

    fn read(&mut self, edit: &Value) -> Vec<Change> {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        if let Some(changes) = edit["changes"].as_object() {
            let change = |(uri, edits): (&String, &Value)| Change::Edits {
                uri: uri.clone(),
                version: None,
                edits: list(edits),
            };
            return changes.iter().map(change).collect();
        }
        let read = |change: &Value| match change["kind"].is_string() {
            true => Change::Operation(change.clone()),
            false => Change::Edits {
                uri: change["textDocument"]["uri"].as_str().unwrap_or_default().to_owned(),
                version: change["textDocument"]["version"].as_i64(),
                edits: list(&change["edits"]),
            },
        };
        list(&edit["documentChanges"]).iter().map(read).collect()
    }

    /// Looks for what no server should send.
    fn check(&mut self, params: &Value, changes: &[Change]) {
        let edit = &params["edit"];
        let mut faults = Vec::new();
        match (edit["documentChanges"].is_array(), edit["changes"].is_object()) {
            (true, false) if !self.document_changes => faults.push("documentChanges, never announced".to_owned()),
            (false, true) if self.document_changes => faults.push("changes, where versions could be sent".to_owned()),
            (true, true) | (false, false) => faults.push(format!("not one kind of edit: {edit}")),
            _ => {}
        }
        let mut made = Vec::new();
        for change in changes {
            match change {
                Change::Operation(operation) => {
                    let kind = operation["kind"].as_str().unwrap_or_default();
                    let announced = self.announced["resourceOperations"].as_array();
                    if !announced.is_some_and(|all| all.iter().any(|one| one == kind)) {
                        faults.push(format!("{kind}, never announced"));
                    }
                    if kind == "create" {
                        let path = path_of(&operation["uri"]);
                        if path.exists() {
                            faults.push(format!("create over {}", path.display()));
                        }
                        made.push(path);
                    }
                }
                Change::Edits { uri, version, edits } => {
                    let path = path_of(&json!(uri));
                    let buffer = self.buffers.get(&path);
                    let text = match buffer {
                        Some(buffer) if buffer.uri != *uri => {
                            faults.push(format!("{uri}, where the document is {}", buffer.uri));
                            continue;
                        }
                        Some(buffer) => buffer.text.clone(),
                        None if made.contains(&path) => String::new(),
                        None if self.previews => std::fs::read_to_string(&path).unwrap_or_default(),
                        None => {
                            faults.push(format!("{uri} is not open"));
                            continue;
                        }
                    };
                    match buffer {
                        Some(_) if self.document_changes && version.is_none() => {
                            faults.push(format!("no version for {uri}"));
                        }
                        None if version.is_some() => faults.push(format!("a version for {uri}, which is not open")),
                        // Made for another text: its ranges mean nothing here.
                        Some(buffer) if version.is_some_and(|version| version != i64::from(buffer.version)) => continue,
                        _ => {}
                    }
                    faults.extend(check_edits(&text, edits, self.columns));
                }
            }
        }
        self.faults.extend(faults);
    }

    fn apply(&mut self, params: &Value, changes: Vec<Change>, voice: &Voice) -> Reply {
        let annotations = &params["edit"]["changeAnnotations"];
        if self.previews && annotations.is_object() {
            return self.preview(params, changes, voice);
        }
        let mut claimed = true;
        for change in &changes {
            if let Change::Edits {
                uri,
                version: Some(version),
                ..
            } = change
            {
                let buffer = self.buffers.get(&path_of(&json!(uri)));
                if buffer.is_none_or(|buffer| i64::from(buffer.version) != *version) {
                    claimed = false;
                }
            }
        }
        if !claimed {
            return Reply::Ok(json!({ "applied": self.stale == Stale::SkippedAndClaimed }));
        }
        for change in changes {
            self.make(change, false, voice);
        }
        Reply::Ok(json!({ "applied": true }))
    }

    /// VS Code's panel: only what is ticked is made; whether the rest was wanted nobody hears.
    fn preview(&mut self, params: &Value, changes: Vec<Change>, voice: &Voice) -> Reply {
        let annotations = params["edit"]["changeAnnotations"].clone();
        let is_stale = |change: &Change| match change {
            Change::Edits {
                uri,
                version: Some(version),
                ..
            } => {
                let buffer = self.buffers.get(&path_of(&json!(uri)));
                buffer.is_none_or(|buffer| i64::from(buffer.version) != *version)
            }
            _ => false,
        };
        // "Cannot apply refactoring because … has changed in the meantime": what is left is Discard.
        if changes.iter().any(is_stale) {
            return Reply::Ok(json!({ "applied": false }));
        }
        let mut ticked = |change: &Value| {
            let annotation = &annotations[change["annotationId"].as_str().unwrap_or_default()];
            if annotation["needsConfirmation"] != true {
                self.faults.push(format!("not to be confirmed: {change}"));
            }
            (self.tick)(annotation["label"].as_str().unwrap_or_default())
        };
        let mut wanted = Vec::new();
        for change in changes {
            match change {
                Change::Operation(operation) if ticked(&operation) => wanted.push(Change::Operation(operation)),
                Change::Operation(_) => {}
                Change::Edits { uri, version, edits } => {
                    let edits: Vec<_> = edits.into_iter().filter(&mut ticked).collect();
                    if !edits.is_empty() {
                        wanted.push(Change::Edits { uri, version, edits });
                    }
                }
            }
        }
        let saves = params["metadata"]["isRefactoring"] == true;
        let applied = !wanted.is_empty();
        for change in wanted {
            self.make(change, saves, voice);
        }
        Reply::Ok(json!({ "applied": applied }))
    }

    fn make(&mut self, change: Change, saves: bool, voice: &Voice) {
        match change {
            Change::Edits { uri, edits, .. } => {
                let path = path_of(&json!(uri));
                if !self.buffers.contains_key(&path) {
                    let text = std::fs::read_to_string(&path).unwrap_or_default();
                    if saves {
                        std::fs::write(&path, edited(&text, &edits, self.columns)).expect("a file");
                        return;
                    }
                    // A tab that nobody asked for, with text that is not saved.
                    self.open(&path, &uri, &text, voice);
                }
                if let Some(change) = self.edit(&uri, &edits) {
                    voice.notify("textDocument/didChange", change);
                }
                if saves {
                    self.save(&path, voice);
                }
            }
            Change::Operation(operation) => self.operate(&operation, voice),
        }
    }

    /// Changes a buffer, one undo step; what the server is to hear of it.
    fn edit(&mut self, uri: &str, edits: &[Value]) -> Option<Value> {
        let columns = self.columns;
        let buffer = self.buffers.get_mut(&path_of(&json!(uri)))?;
        let after = edited(&buffer.text, edits, columns);
        buffer.undo.push(std::mem::replace(&mut buffer.text, after));
        buffer.version += 1;
        // From the last to the first, so that each range is right when its turn comes.
        let change = |edit: &Value| json!({ "range": edit["range"], "text": edit["newText"] });
        let mut ordered: Vec<&Value> = edits.iter().collect();
        ordered.sort_by_key(|edit| {
            (
                edit["range"]["start"]["line"].as_u64(),
                edit["range"]["start"]["character"].as_u64(),
            )
        });
        let changes: Vec<_> = ordered.into_iter().rev().map(change).collect();
        Some(buffer.change(json!(changes)))
    }

    fn operate(&mut self, operation: &Value, voice: &Voice) {
        match operation["kind"].as_str().unwrap_or_default() {
            "create" => {
                let path = path_of(&operation["uri"]);
                std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
                std::fs::write(path, "").expect("a new file");
            }
            "rename" => {
                let (from, to) = (path_of(&operation["oldUri"]), path_of(&operation["newUri"]));
                std::fs::create_dir_all(to.parent().expect("a folder")).expect("folders");
                std::fs::rename(&from, &to).expect("a file to rename");
                if let Some(buffer) = self.buffers.get(&from).cloned() {
                    self.close(&from, voice);
                    let uri = operation["newUri"].as_str().unwrap_or_default();
                    self.open(&to, uri, &buffer.text, voice);
                }
            }
            "delete" => {
                let path = path_of(&operation["uri"]);
                std::fs::remove_file(&path).expect("a file to delete");
                self.close(&path, voice);
            }
            other => self.faults.push(format!("an operation {other:?}")),
        }
    }
}

fn path_of(uri: &Value) -> PathBuf {
    let text = uri.as_str().unwrap_or_default();
    uri::to_path(text).expect("a sound URI").expect("a file")
}

/// Byte range of an edit; nothing where it lies outside the text or inside a character.
fn range_of(text: &str, edit: &Value, columns: Columns) -> Option<std::ops::Range<usize>> {
    let place = |place: &Value| {
        offset(
            text,
            place["line"].as_u64()? as usize,
            place["character"].as_u64()? as usize,
            columns,
        )
    };
    let (start, end) = (place(&edit["range"]["start"])?, place(&edit["range"]["end"])?);
    (start <= end).then_some(start..end)
}

/// Byte offset of a position.
fn offset(text: &str, line: usize, column: usize, columns: Columns) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    for _ in 0..line {
        let end = text[at..].find(['\n', '\r'])? + at;
        at = end + if bytes[end..].starts_with(b"\r\n") { 2 } else { 1 };
    }
    let content = text[at..].split(['\n', '\r']).next()?;
    let mut left = column;
    for character in content.chars() {
        if left == 0 {
            return Some(at);
        }
        let width = match columns {
            Columns::Utf8 => character.len_utf8(),
            Columns::Utf16 => character.len_utf16(),
            Columns::Utf32 => 1,
        };
        left = left.checked_sub(width)?;
        at += character.len_utf8();
    }
    (left == 0).then_some(at)
}

fn edited(text: &str, edits: &[Value], columns: Columns) -> String {
    let mut ranges: Vec<_> = edits
        .iter()
        .filter_map(|edit| Some((range_of(text, edit, columns)?, edit["newText"].as_str()?)))
        .collect();
    ranges.sort_by_key(|(range, _)| (range.start, range.end));
    let mut after = text.to_owned();
    for (range, new) in ranges.into_iter().rev() {
        after.replace_range(range, new);
    }
    after
}

fn check_edits(text: &str, edits: &[Value], columns: Columns) -> Vec<String> {
    let mut faults = Vec::new();
    let mut ranges = Vec::new();
    for edit in edits {
        let Some(range) = range_of(text, edit, columns) else {
            faults.push(format!("a range outside the text: {edit}"));
            continue;
        };
        let (old, new) = (&text[range.clone()], edit["newText"].as_str().unwrap_or_default());
        let first = |text: &str| text.split_inclusive('\n').next().map(str::to_owned);
        let last = |text: &str| text.split_inclusive('\n').next_back().map(str::to_owned);
        if old == new {
            faults.push(format!("an edit that changes nothing: {edit}"));
        } else if !old.is_empty() && !new.is_empty() && (first(old) == first(new) || last(old) == last(new)) {
            faults.push(format!("an edit of lines that stay as they are: {edit}"));
        }
        ranges.push(range);
    }
    ranges.sort_by_key(|range| (range.start, range.end));
    if ranges.windows(2).any(|pair| pair[1].start < pair[0].end) {
        faults.push(format!("overlapping edits: {edits:?}"));
    }
    faults
}
