//! Holds what was written against the table of keys: what fits is kept, the rest is reported with its line.

use super::bounds::Memory;
use super::consent::{self, Allowed, Refused};
use super::described;
use super::keys::{self, Key, Kind, Scope};
use super::permissions::{check_hosts, check_profiles, check_subjects};
use super::tree::{Data, Node};
use crate::protocol::config::ConfigWarning;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Which layer is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layer {
    /// The person's own file, or a profile.
    Person,
    /// Settings by the command that starts the server, or of an editor that vouches for them as the person's own.
    Command,
    Project,
    /// Settings of the editor, which a workspace may have put there.
    Client,
    /// Overrides of one request.
    Request,
}

/// Settings in the editor's section that are the plugin's business.
const EDITORS_OWN: &[&str] = &["server", "trace", "path", "plugin_protocol", "settings_key"];

/// Addresses that get what the person is known by.
const KEYS_GO_TO: &[&str] = &["openai_base_url", "chatgpt_base_url", "realtime.base_url"];

const IN_PLACE: &str = "in place of what you have under that name, of which nothing goes along";

/// Characters of a name that nobody knows, where it is reported.
const MOST_OF_A_NAME: usize = 100;

/// Unknown keys of one file of a project, or of the editor's settings, for which it is looked what could be meant.
const MOST_HINTS: usize = 10;
/// Warnings about one file of a project, or about the editor's settings: its author says as much as they like.
const MOST_WARNINGS: usize = 20;

/// Whether a warning says that the value of a top-level key has another shape than it takes.
pub(super) fn is_misfit_of(key: &str, warning: &ConfigWarning) -> bool {
    warning.message.starts_with(&format!("`{key}` must be "))
}

/// Looks through one layer.
pub(super) struct Checker<'a> {
    pub(super) layer: Layer,
    /// The file, if it is one.
    pub(super) file: Option<&'a Path>,
    /// What relative paths are relative to.
    pub(super) folder: Option<&'a Path>,
    /// The person's home folder, for `~/`.
    pub(super) home: Option<&'a Path>,
    /// Of a project: the person has called it trusted.
    pub(super) trusted: bool,
    pub(super) warnings: Vec<ConfigWarning>,
    /// Known keys that do nothing yet.
    pub(super) notes: Vec<ConfigWarning>,
    /// Values that do not fit, which make the overrides of a request invalid as a whole.
    pub(super) misfits: Vec<String>,
    /// Values of others that the person has allowed.
    pub(super) allowed: Option<&'a Allowed>,
    /// What holds without this layer, where it is said of a value whose place it takes.
    pub(super) current: Option<&'a Map<String, Value>>,
    /// Values that do not count without the person's word.
    pub(super) refused: Vec<Refused>,
    /// How many keys were not known.
    unknown_keys: usize,
    /// Who may set what lies in the table that is looked at, where the table's own key says so.
    around: Option<Scope>,
}

impl<'a> Checker<'a> {
    pub(super) fn new(layer: Layer, file: Option<&'a Path>) -> Self {
        Self {
            layer,
            file,
            folder: file.and_then(Path::parent),
            home: None,
            trusted: false,
            warnings: Vec::new(),
            notes: Vec::new(),
            misfits: Vec::new(),
            allowed: None,
            current: None,
            refused: Vec::new(),
            unknown_keys: 0,
            around: None,
        }
    }

    /// The values of a top level that fit.
    pub(super) fn check(&mut self, entries: &[(String, Node)]) -> Map<String, Value> {
        self.table(entries, keys::KEYS, &mut Vec::new())
    }

    fn table(
        &mut self,
        entries: &[(String, Node)],
        keys: &'static [Key],
        path: &mut Vec<String>,
    ) -> Map<String, Value> {
        let mut kept = Map::new();
        for (written, node) in entries {
            if node.data == Data::Null {
                continue;
            }
            // Editors write settings in camel case.
            let name = match self.layer {
                Layer::Client | Layer::Command if keys::find(keys, written).is_none() => keys::snake(written),
                _ => written.clone(),
            };
            let proper = keys::proper(keys, &name);
            if proper != name && entries.iter().any(|(other, _)| other == proper) {
                let message =
                    format!("`{written}` is another name of `{proper}`, which stands there too; it is not used.");
                self.warn(message, node.line);
                continue;
            }
            let name = proper.to_owned();
            if matches!(self.layer, Layer::Client | Layer::Command)
                && path.is_empty()
                && EDITORS_OWN.contains(&name.as_str())
            {
                continue;
            }
            let known = keys::find(keys, &name);
            path.push(name.clone());
            let in_profile = path.len() > 2 && path[0] == "profiles";
            match known {
                None => self.unknown(keys, path, written, node),
                Some(_) if in_profile && super::schema::NOT_IN_PROFILES.contains(&name.as_str()) => {
                    let message = format!("`{name}` cannot be set in a profile; it is not used.");
                    self.warn(message, node.line);
                }
                Some(key) if self.layer == Layer::Project && !key.scope.is_projects() => {
                    let message = format!(
                        "A project cannot set `{}`; it is not used. If you want it, put it into your own config.toml.",
                        consent::key_of(path)
                    );
                    self.warn(message, node.line);
                }
                Some(key) if self.layer == Layer::Project && key.scope == Scope::Trusted && !self.trusted => {
                    let message = format!(
                        "A project can set `{}` only if you trust it, since it starts programs with your rights; it is not \
                         used. Look at it, and if you want it put this into your own config.toml: \
                         [projects.{:?}] with trust_level = \"trusted\".",
                        consent::key_of(path),
                        self.folder.unwrap_or_else(|| Path::new("")).display().to_string()
                    );
                    self.warn(message, node.line);
                }
                Some(key) => {
                    let outer = self.around;
                    let Some(node) = self.admit(key, node, path) else {
                        self.around = outer;
                        path.pop();
                        continue;
                    };
                    let node = node.as_ref();
                    match key.without_effect {
                        // Whoever sets it counts on it, so they are told without looking into the file.
                        Some(why) => {
                            let message =
                                format!("`{}` is known, but has no effect here: {why}.", consent::key_of(path));
                            self.warn(message, node.line);
                        }
                        None if !key.used => {
                            let message = format!("`{}` is known but not used yet.", consent::key_of(path));
                            self.note(message, node.line);
                        }
                        None => {}
                    }
                    if let Some(value) = self.value(key.kind, node, path) {
                        kept.insert(name.clone(), value);
                    }
                    self.around = outer;
                }
            }
            path.pop();
        }
        kept
    }

    /// What of a value may be set from here: all of it, some entries of a table with free names, or nothing. What may not is
    /// kept as refused. Tables with known names are judged key by key when they are looked into.
    fn admit<'n>(&mut self, key: &'static Key, node: &'n Node, path: &[String]) -> Option<Cow<'n, Node>> {
        let scope = self.around.unwrap_or(key.scope);
        let may_set = match self.layer {
            Layer::Client => scope.is_editors(),
            Layer::Request => scope.is_requests(),
            Layer::Person | Layer::Command | Layer::Project => true,
        };
        if may_set {
            // What is inside has its own word on it, but where the whole table is one choice.
            if scope == Scope::Own {
                self.around = Some(scope);
            }
            return Some(Cow::Borrowed(node));
        }
        let path = consent::key_of(path);
        match (key.kind, &node.data) {
            (Kind::Table(_), Data::Table(_)) => {
                self.around = Some(scope);
                Some(Cow::Borrowed(node))
            }
            (
                Kind::Map(_) | Kind::Profiles | Kind::Permissions | Kind::TextMap | Kind::FlagMap,
                Data::Table(entries),
            ) => {
                let mut entries = entries.clone();
                entries.retain(|(name, entry)| {
                    let takes_a_place = self.takes_a_place(&path, name, entry);
                    self.counts(
                        &format!("{path}.{}", consent::key_part(name)),
                        entry,
                        scope,
                        takes_a_place,
                    )
                });
                // Each that is left has been allowed as a whole.
                self.around = Some(Scope::Anyone);
                let is_empty = entries.is_empty();
                let kept = Node {
                    data: Data::Table(entries),
                    line: node.line,
                };
                (!is_empty).then_some(Cow::Owned(kept))
            }
            _ => self.counts(&path, node, scope, false).then(|| {
                self.around = Some(Scope::Anyone);
                Cow::Borrowed(node)
            }),
        }
    }

    /// Whether an entry of a table describes something of its own under a name that is taken.
    fn takes_a_place(&self, table: &str, name: &str, entry: &Node) -> bool {
        let Data::Table(inner) = &entry.data else { return false };
        let keys = inner.iter().filter(|(_, node)| node.data != Data::Null);
        described::is_description(table, keys.map(|(key, _)| key.as_str()))
            && self
                .current
                .is_some_and(|current| described::is_known(current, table, name))
    }

    /// Whether a single value counts although its key is not for whoever set it: it allows less than anything else, or the
    /// person has said so.
    fn counts(&mut self, key: &str, node: &Node, scope: Scope, takes_a_place: bool) -> bool {
        if node.data == Data::Null || only_tightens(key, &node.data) {
            return true;
        }
        let reason = match scope {
            Scope::Own => "it chooses among what you have, or speaks in your name",
            Scope::Trusted => "it starts a program with your rights",
            _ if KEYS_GO_TO.contains(&key) => "it names an address to which your key or your login is sent",
            _ => "it starts programs, names addresses, or decides what others may",
        };
        match takes_a_place {
            true => self.allow(key, node, &format!("{reason}, {IN_PLACE}")),
            false => self.allow(key, node, reason),
        }
    }

    /// Whether the person has allowed a value; if not, it is kept as refused, with a warning.
    pub(super) fn allow(&mut self, key: &str, node: &Node, reason: &str) -> bool {
        let value = plain(node);
        let fingerprint = match (self.layer, self.folder) {
            (Layer::Request, Some(folder)) => consent::fingerprint_in(folder, key, &value),
            _ => consent::fingerprint(key, &value),
        };
        if self.allowed.is_some_and(|allowed| allowed.contains(&fingerprint)) {
            return true;
        }
        let who = match self.layer {
            Layer::Request => "A request",
            _ => "The editor's settings",
        };
        let refused = Refused {
            key: key.to_owned(),
            value,
            reason: reason.to_owned(),
        };
        let shown = refused.shown_key();
        let message = format!(
            "{who} cannot set `{shown}`, since {reason}; it is not used. Put it into your own config.toml, or into the command that starts the server (`-c {shown}=…`)."
        );
        self.refused.push(refused);
        self.misfit_with(message, node.line);
        false
    }

    fn unknown(&mut self, keys: &'static [Key], path: &[String], written: &str, node: &Node) {
        let table = &path[..path.len() - 1];
        // In a profile the top level is the profile's own.
        let above: &[String] = if table.len() == 2 && table[0] == "profiles" {
            &[]
        } else {
            table
        };
        let place = if table.is_empty() {
            String::new()
        } else {
            format!(" in [{}]", consent::key_of(table))
        };
        let written = short(written);
        self.unknown_keys += 1;
        let is_others = matches!(self.layer, Layer::Project | Layer::Client);
        let hint = match is_others && self.unknown_keys > MOST_HINTS {
            true => None,
            false => keys::suggestion(keys, above, &written),
        };
        let hint = hint.map_or_else(String::new, |hint| format!("; {hint}"));
        let end = if hint.ends_with(['?', '.']) { "" } else { "." };
        self.warn(
            format!("`{written}` is not a known key{place}, so it is not used{hint}{end}"),
            node.line,
        );
    }

    fn value(&mut self, kind: Kind, node: &Node, path: &mut Vec<String>) -> Option<Value> {
        match (kind, &node.data) {
            (Kind::Any, _) => Some(plain(node)),
            (Kind::Text, Data::Text(text)) => Some(Value::from(text.clone())),
            (Kind::Name, Data::Text(text)) if !text.trim().is_empty() => Some(Value::from(text.trim())),
            (Kind::Url, Data::Text(text)) if is_http(text) => Some(Value::from(text.trim().trim_end_matches('/'))),
            (Kind::Address, Data::Text(text)) if is_http(text) => Some(Value::from(text.trim())),
            (Kind::Seconds, Data::Number(number)) if *number > 0 => Some(Value::from(*number)),
            (Kind::Seconds, Data::Float(number)) if *number > 0.0 && number.is_finite() => Some(Value::from(*number)),
            (Kind::Dollars, Data::Number(number)) if *number >= 0 => Some(Value::from(*number)),
            (Kind::Dollars, Data::Float(number)) if *number >= 0.0 && number.is_finite() => Some(Value::from(*number)),
            (Kind::Flag, Data::Flag(flag)) => Some(Value::from(*flag)),
            (Kind::Count, Data::Number(number)) if *number >= 0 => Some(Value::from(*number)),
            (Kind::Amount, Data::Text(_) | Data::Number(_)) if Memory::of_value(&plain(node)).is_some() => {
                Some(plain(node))
            }
            (Kind::Path, Data::Text(text)) if !text.is_empty() => Some(Value::from(self.absolute(text))),
            (Kind::Texts, Data::List(list)) => self.texts(list, node, path, |_, text| text.to_owned()),
            (Kind::Paths, Data::List(list)) => self.texts(list, node, path, Self::absolute),
            (Kind::TextMap, Data::Table(entries)) => Some(self.map_of(entries, Kind::Text, path)),
            (Kind::FlagMap, Data::Table(entries)) => Some(self.map_of(entries, Kind::Flag, path)),
            (Kind::Choice(choices), Data::Text(text)) => self.choice(choices, text, node, path),
            (Kind::Approval, Data::Text(text)) => self.choice(keys::APPROVALS, text, node, path),
            (Kind::Approval, Data::Table(entries)) => match entries.as_slice() {
                [(name, inner)] if name == "granular" => {
                    path.push(name.clone());
                    let kinds = self.value(Kind::Table(keys::GRANULAR), inner, path);
                    path.pop();
                    kinds.map(|kinds| Value::Object([("granular".to_owned(), kinds)].into_iter().collect()))
                }
                _ => {
                    self.misfit("one of its words, or a table with nothing but `granular`", node, path);
                    None
                }
            },
            (Kind::Exporter, Data::Text(text)) => self.choice(keys::NO_EXPORTERS, text, node, path),
            (Kind::Exporter, Data::Table(entries)) if entries.len() == 1 => {
                Some(self.table(entries, keys::EXPORTERS, path).into())
            }
            (Kind::Table(keys), Data::Table(entries)) => Some(self.table(entries, keys, path).into()),
            (Kind::Map(keys), Data::Table(entries)) => Some(self.tables(entries, keys, path)),
            (Kind::Profiles, Data::Table(entries)) => Some(self.tables(entries, keys::KEYS, path)),
            (Kind::Permissions, Data::Table(entries)) => Some(check_profiles(self, entries, path)),
            (Kind::Places, Data::List(list)) => Some(check_subjects(self, list, path)),
            (Kind::Hosts, Data::List(list)) => Some(check_hosts(self, list, path).into()),
            _ => {
                self.misfit(wanted(kind), node, path);
                None
            }
        }
    }

    fn tables(&mut self, entries: &[(String, Node)], keys: &'static [Key], path: &mut Vec<String>) -> Value {
        let mut kept = Map::new();
        for (name, node) in entries {
            path.push(name.clone());
            match &node.data {
                Data::Null => {}
                Data::Table(inner) => {
                    kept.insert(name.clone(), self.table(inner, keys, path).into());
                }
                _ => self.misfit("a table", node, path),
            }
            path.pop();
        }
        kept.into()
    }

    fn texts(
        &mut self,
        list: &[Node],
        node: &Node,
        path: &[String],
        make: impl Fn(&Self, &str) -> String,
    ) -> Option<Value> {
        let mut texts = Vec::new();
        for item in list {
            match &item.data {
                Data::Text(text) => texts.push(Value::from(make(self, text))),
                _ => {
                    self.misfit(
                        "a list of texts",
                        &Node {
                            data: item.data.clone(),
                            line: item.line.or(node.line),
                        },
                        path,
                    );
                    return None;
                }
            }
        }
        Some(texts.into())
    }

    fn map_of(&mut self, entries: &[(String, Node)], kind: Kind, path: &mut Vec<String>) -> Value {
        let mut kept = Map::new();
        for (name, node) in entries {
            path.push(name.clone());
            if node.data != Data::Null
                && let Some(value) = self.value(kind, node, path)
            {
                kept.insert(name.clone(), value);
            }
            path.pop();
        }
        kept.into()
    }

    fn choice(&mut self, choices: &'static [&'static str], text: &str, node: &Node, path: &[String]) -> Option<Value> {
        if choices.contains(&text) {
            return Some(Value::from(text));
        }
        let text = short(text);
        let meant = keys::nearest(&text.to_lowercase().replace('_', "-"), choices.iter().copied())
            .map_or_else(String::new, |near| format!(" Did you mean {near:?}?"));
        let key = consent::key_of(path);
        let all = choices.join(", ");
        let message = format!("`{key}` cannot be {text:?}; it is one of {all}.{meant} It is not used.");
        self.misfit_with(message, node.line);
        None
    }

    /// The value has another shape than the key takes, so it is not used.
    pub(super) fn misfit(&mut self, wanted: &str, node: &Node, path: &[String]) {
        // Never the value itself: it may be a secret.
        let message = format!(
            "`{}` must be {wanted}, but it is {}. It is not used.",
            consent::key_of(path),
            describe(&node.data)
        );
        self.misfit_with(message, node.line);
    }

    /// As `misfit`, in words of one's own.
    pub(super) fn misfit_with(&mut self, message: String, line: Option<u32>) {
        self.misfits.push(message.clone());
        self.warn(message, line);
    }

    /// A key as it is known: editors write theirs in camel case.
    pub(super) fn name_of(&self, written: &str) -> String {
        match self.layer {
            Layer::Client | Layer::Command => keys::snake(written),
            _ => written.to_owned(),
        }
    }

    /// A path as an absolute text.
    fn absolute(&self, text: &str) -> String {
        let path = match (text.strip_prefix("~/"), self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ if text == "~" => self.home.map_or_else(|| PathBuf::from(text), Path::to_owned),
            _ => self
                .folder
                .map_or_else(|| PathBuf::from(text), |folder| folder.join(text)),
        };
        path.to_string_lossy().into_owned()
    }

    pub(super) fn warn(&mut self, message: String, line: Option<u32>) {
        self.warnings.push(self.at(message, line));
    }

    /// Of many warnings the first ones, and how many more there are.
    pub(super) fn leave_out_warnings(&mut self) {
        self.warnings.sort_by_key(|warning| warning.line);
        let more = self.warnings.len().saturating_sub(MOST_WARNINGS);
        if more > 0 {
            self.warnings.truncate(MOST_WARNINGS);
            self.warn(format!("{more} more warnings are left out here."), None);
        }
    }

    pub(super) fn note(&mut self, message: String, line: Option<u32>) {
        self.notes.push(self.at(message, line));
    }

    fn at(&self, message: String, line: Option<u32>) -> ConfigWarning {
        let message = match self.layer {
            Layer::Client => format!("{message} (editor settings)"),
            Layer::Command => format!("{message} (start-up command)"),
            _ => message,
        };
        ConfigWarning {
            message,
            path: self.file.map(Path::to_owned),
            line,
        }
    }
}

/// The beginning of what somebody else wrote, who says as much as they like.
fn short(written: &str) -> String {
    match written.char_indices().nth(MOST_OF_A_NAME) {
        Some((at, _)) => format!("{}…", &written[..at]),
        None => written.to_owned(),
    }
}

/// Whether a value allows less, sends less or keeps less than any other of its key, so that it may come from anywhere.
fn only_tightens(key: &str, data: &Data) -> bool {
    match (key, data) {
        ("user_commands.sandboxed" | "network.offline" | "disable_response_storage", Data::Flag(on)) => *on,
        ("feedback.enabled" | "features.web_search" | "features.web_search_request", Data::Flag(on)) => !*on,
        ("web_search", Data::Text(word)) => word == "disabled",
        ("approvals_reviewer", Data::Text(word)) => word == "user",
        ("history.persistence" | "shell_environment_policy.inherit", Data::Text(word)) => word == "none",
        ("notify", Data::List(program)) => program.is_empty(),
        _ => false,
    }
}

pub(super) fn is_http(text: &str) -> bool {
    url::Url::parse(text.trim()).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

pub(super) fn describe(data: &Data) -> String {
    match data {
        Data::Text(text) if text.trim().is_empty() => "an empty text".to_owned(),
        Data::Number(number) if *number < 0 => "a negative number".to_owned(),
        other => other.describe().to_owned(),
    }
}

pub(super) fn wanted(kind: Kind) -> &'static str {
    match kind {
        Kind::Text => "a text",
        Kind::Name => "a text that is not empty",
        Kind::Url | Kind::Address => "an address that begins with http:// or https://",
        Kind::Path => "a path",
        Kind::Flag => "true or false",
        Kind::Seconds => "a number of seconds, more than 0",
        Kind::Dollars => "an amount of US dollars, 0 or more",
        Kind::Count => "a whole number, 0 or more",
        Kind::Amount => "an amount of at least 16 MiB as \"8 GiB\" or 512000000, or a share from \"1%\" to \"100%\"",
        Kind::Texts | Kind::Paths | Kind::Places => "a list of texts",
        Kind::Hosts => "a list of hosts and package managers",
        Kind::TextMap => "a table of texts",
        Kind::FlagMap => "a table of true and false",
        Kind::Choice(_) => "a text",
        Kind::Approval => "a text or a table with `granular`",
        Kind::Exporter => "\"none\", or a table with either `otlp-http` or `otlp-grpc`",
        Kind::Table(_) | Kind::Map(_) | Kind::Profiles | Kind::Permissions => "a table",
        Kind::Any => "a value",
    }
}

pub(super) fn plain(node: &Node) -> Value {
    match &node.data {
        Data::Null => Value::Null,
        Data::Flag(flag) => Value::from(*flag),
        Data::Number(number) => Value::from(*number),
        Data::Float(float) => Value::from(*float),
        Data::Text(text) => Value::from(text.clone()),
        Data::List(list) => list.iter().map(plain).collect(),
        Data::Table(entries) => entries
            .iter()
            .map(|(name, node)| (name.clone(), plain(node)))
            .collect::<Map<_, _>>()
            .into(),
    }
}
