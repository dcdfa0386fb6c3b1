//! Permission profiles as they are written: what `[permissions.<name>]` says, held against what it can say, and what a
//! profile comes to with those that it extends. The places in them stay symbols here; what they stand for is found out
//! when a sandbox is made (`exec::profile`).

mod check;
mod host;
mod presets;
mod subject;

pub(super) use check::{hosts as check_hosts, profiles as check_profiles, subjects as check_subjects};
pub(crate) use host::one;
pub use host::{Host, NoHost};
pub use subject::Subject;

use super::ConfigWarning;
use super::keys::nearest;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Ids of the profiles that are always there. They begin with a colon, as no other does.
pub const READ_ONLY: &str = ":read-only";
pub const WORKSPACE: &str = ":workspace";
pub const FULL_ACCESS: &str = ":full-access";
/// Another name of `:full-access`, as it stands in files of others.
const DANGER: &str = ":danger-full-access";

/// What may be done in a place. A later one wins over an earlier one of the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    Write,
    Read,
    #[serde(alias = "none")]
    Deny,
}

impl Access {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
            Self::Deny => "deny",
        }
    }
}

/// A name for what may be done. Never changed; chosen by its id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    pub id: String,
    pub description: Option<String>,
    /// The profile that this one begins from.
    pub extends: Option<String>,
    pub filesystem: BTreeMap<Subject, Access>,
    pub network: Network,
    /// Folders that belong to the workspace wherever the profile is used: absolute, or below `~`.
    pub workspace_roots: Vec<Subject>,
}

/// What a profile lets through to the network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// Absent: off, unless hosts are named.
    pub enabled: Option<bool>,
    /// Hosts by name, some with a port, and whether they may be reached.
    pub domains: BTreeMap<String, bool>,
    /// Socket files that may be connected to.
    pub unix_sockets: Vec<Subject>,
    /// TCP ports of this machine that may be reached.
    pub loopback_ports: Vec<u16>,
}

impl Network {
    /// Whether everything may be reached. Where hosts are named, only they may.
    pub fn is_whole(&self) -> bool {
        match self.domains.get("*") {
            Some(allowed) => *allowed && self.enabled != Some(false) && self.denied().next().is_none(),
            None => self.domains.is_empty() && self.enabled == Some(true),
        }
    }

    /// The hosts that may be reached where not everything may.
    pub fn hosts(&self) -> impl Iterator<Item = (String, Option<u16>)> {
        let on = self.enabled != Some(false) && !self.is_whole();
        let allowed = self.domains.iter().filter(move |(_, allowed)| on && **allowed);
        let open = allowed.map(|(name, _)| host_and_port(name));
        open.filter(|(host, port)| {
            let mut denied = self.denied().map(host_and_port);
            denied.all(|(other, at)| other != *host || at.is_some() && at != *port)
        })
    }

    /// The hosts that are closed where all names are open, or all below one. What is no host blocks none, which the person
    /// has a warning of since it was read.
    pub fn closed_hosts(&self) -> impl Iterator<Item = (String, Option<u16>)> {
        // Without it nothing is open anyway, but for what is named.
        let closed = self.denied().filter(|name| *name != "*").map(host_and_port);
        closed.filter(|(host, _)| Host::parse(host).is_ok())
    }

    fn denied(&self) -> impl Iterator<Item = &str> {
        let denied = self.domains.iter().filter(|(_, allowed)| !**allowed);
        denied.map(|(name, _)| name.as_str())
    }
}

/// `name:port`, `[address]:port`, or the name alone.
pub(crate) fn host_and_port(text: &str) -> (String, Option<u16>) {
    let plain = |host: &str| host.trim_start_matches('[').trim_end_matches(']').to_owned();
    match text.rsplit_once(':') {
        Some((host, port)) if host.ends_with(']') || !host.contains(':') => match port.parse() {
            Ok(port) => (plain(host), Some(port)),
            Err(_) => (plain(text), None),
        },
        _ => (plain(text), None),
    }
}

impl Profile {
    /// The same where everything that it opens is only read, and nothing reached. What it closes stays closed.
    #[must_use]
    pub fn reading_only(mut self) -> Self {
        for access in self.filesystem.values_mut() {
            *access = (*access).max(Access::Read);
        }
        self.network = Network {
            enabled: Some(false),
            ..Network::default()
        };
        self
    }

    /// The same with what another one closes. Where nothing is written: the other's reading.
    #[must_use]
    pub fn closing(mut self, other: &Self) -> Self {
        let writes = |profile: &Self| profile.filesystem.values().any(|access| *access == Access::Write);
        if !writes(&self) {
            self.filesystem = other.clone().reading_only().filesystem;
        }
        let closed = other.filesystem.iter().filter(|(_, access)| **access == Access::Deny);
        self.filesystem
            .extend(closed.map(|(subject, access)| (subject.clone(), *access)));
        let mut denied = other.network.denied().filter(|name| *name != "*").peekable();
        if self.network.is_whole() && denied.peek().is_some() {
            self.network.domains.insert("*".to_owned(), true);
            self.network.domains.extend(denied.map(|name| (name.to_owned(), false)));
        }
        self
    }
}

/// All profiles that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profiles {
    /// Complete: with what they extend.
    known: BTreeMap<String, Profile>,
}

impl Default for Profiles {
    fn default() -> Self {
        let known = built_in().map(|profile| (profile.id.clone(), profile));
        Self {
            known: known.into_iter().collect(),
        }
    }
}

impl Profiles {
    /// The profile with this id; `:danger-full-access` is `:full-access`.
    pub fn get(&self, id: &str) -> Option<&Profile> {
        self.known.get(if id == DANGER { FULL_ACCESS } else { id })
    }

    /// All, the built-in ones first.
    pub fn all(&self) -> impl Iterator<Item = &Profile> {
        let own = self.known.values().filter(|profile| !is_built_in(&profile.id));
        let always = [READ_ONLY, WORKSPACE, FULL_ACCESS];
        always.into_iter().filter_map(|id| self.known.get(id)).chain(own)
    }

    /// The ids of all.
    pub fn ids(&self) -> Vec<String> {
        self.all().map(|profile| profile.id.clone()).collect()
    }

    /// What there is in place of an id that is not known, as a sentence.
    pub fn instead_of(&self, id: &str) -> String {
        let names: Vec<&str> = self.all().map(|profile| profile.id.as_str()).collect();
        let meant =
            nearest(id, names.iter().copied()).map_or_else(String::new, |near| format!(" Did you mean {near}?"));
        format!("The profiles are: {}.{meant}", names.join(", "))
    }
}

/// Whether the profile is always there.
pub fn is_built_in(id: &str) -> bool {
    id.starts_with(':')
}

fn built_in() -> [Profile; 3] {
    let profile = |id: &str, description: &str, entries: &[(Subject, Access)], network: bool| Profile {
        id: id.to_owned(),
        description: Some(description.to_owned()),
        filesystem: entries.iter().cloned().collect(),
        network: Network {
            enabled: Some(network),
            ..Network::default()
        },
        ..Profile::default()
    };
    let read = (Subject::Root, Access::Read);
    let workspace = [
        read.clone(),
        (Subject::Workspace(PathBuf::new()), Access::Write),
        (Subject::Tmpdir, Access::Write),
        (Subject::SlashTmp, Access::Write),
    ];
    [
        profile(
            READ_ONLY,
            "Everything may be read, nothing written; no network.",
            &[read],
            false,
        ),
        profile(
            WORKSPACE,
            "Everything may be read, the workspace and the temporary folders written; no network.",
            &workspace,
            false,
        ),
        profile(
            FULL_ACCESS,
            "No sandbox: everything that you may do yourself.",
            &[(Subject::Root, Access::Write)],
            true,
        ),
    ]
}

/// The profiles of checked values, complete, and what is wrong with how they hang together.
pub(super) fn resolve(
    values: &Map<String, Value>,
    line: &dyn Fn(&str) -> ConfigWarning,
) -> (Profiles, Vec<ConfigWarning>) {
    let mut profiles = Profiles::default();
    let empty = Map::new();
    let written = values.get("permissions").and_then(Value::as_object).unwrap_or(&empty);
    let mut problems = Vec::new();
    for name in written.keys() {
        match complete(name, written, &mut Vec::new()) {
            Ok(profile) => {
                profiles.known.insert(name.clone(), profile);
            }
            Err(problem) => {
                let place = line(name);
                problems.push(ConfigWarning {
                    message: format!("The permission profile {name:?} is not used: {problem}"),
                    ..place
                });
            }
        }
    }
    (profiles, problems)
}

/// A profile with everything that it extends. The error ends a sentence.
fn complete<'a>(name: &'a str, written: &'a Map<String, Value>, above: &mut Vec<&'a str>) -> Result<Profile, String> {
    if above.contains(&name) {
        above.push(name);
        return Err(format!(
            "it extends itself ({}). Fix `extends`.",
            above.join(" extends ")
        ));
    }
    let Some(table) = written.get(name).and_then(Value::as_object) else {
        let names = written
            .keys()
            .map(String::as_str)
            .chain([READ_ONLY, WORKSPACE, FULL_ACCESS]);
        let meant = nearest(name, names).map_or_else(String::new, |near| format!(" Did you mean {near:?}?"));
        return Err(format!("it extends {name:?}, which there is not.{meant}"));
    };
    above.push(name);
    let extends = table.get("extends").and_then(Value::as_str);
    let base = match extends {
        None => Profile::default(),
        Some(id) if is_built_in(id) => match Profiles::default().get(id) {
            Some(profile) => profile.clone(),
            None => return Err(format!("it extends {id:?}, which there is not.")),
        },
        Some(other) => complete(other, written, above)?,
    };
    let own = Written::of(table);
    let mut profile = Profile {
        id: name.to_owned(),
        description: own.description,
        extends: extends.map(str::to_owned),
        ..base
    };
    if extends.is_none() && own.filesystem.is_empty() {
        // One that says nothing of files lets them be read.
        profile.filesystem.insert(Subject::Root, Access::Read);
    }
    profile.filesystem.extend(own.filesystem);
    // Hosts that it names itself are meant to be reached, also where what it begins from has no network.
    let names_hosts = own.network.domains.values().any(|allowed| *allowed);
    let before = profile.network.enabled.filter(|enabled| *enabled || !names_hosts);
    profile.network.enabled = own.network.enabled.or(before);
    profile.network.domains.extend(own.network.domains);
    profile.network.unix_sockets.extend(own.network.unix_sockets);
    profile.network.loopback_ports.extend(own.network.loopback_ports);
    profile.workspace_roots.extend(own.workspace_roots);
    Ok(profile)
}

/// One table by itself.
#[derive(Default)]
struct Written {
    description: Option<String>,
    filesystem: BTreeMap<Subject, Access>,
    network: Network,
    workspace_roots: Vec<Subject>,
}

impl Written {
    /// What fits was kept by the check, so nothing is lost here.
    fn of(table: &Map<String, Value>) -> Self {
        let subjects = |value: Option<&Value>| -> Vec<Subject> {
            let texts = value.and_then(Value::as_array).into_iter().flatten();
            texts.filter_map(|text| Subject::parse(text.as_str()?).ok()).collect()
        };
        let entries = table.get("filesystem").and_then(Value::as_object).into_iter().flatten();
        let filesystem = entries.filter_map(|(subject, access)| {
            let access = serde_json::from_value(access.clone()).ok()?;
            Some((Subject::parse(subject).ok()?, access))
        });
        let network = table.get("network");
        let field = |name: &str| network.and_then(|network| network.get(name));
        let domains = field("domains").and_then(Value::as_object).into_iter().flatten();
        let ports = field("loopback_ports").and_then(Value::as_array).into_iter().flatten();
        Self {
            description: table.get("description").and_then(Value::as_str).map(str::to_owned),
            filesystem: filesystem.collect(),
            network: Network {
                enabled: field("enabled").and_then(Value::as_bool),
                domains: domains
                    .map(|(name, allowed)| (name.clone(), allowed.as_str() == Some("allow")))
                    .collect(),
                unix_sockets: subjects(field("unix_sockets")),
                loopback_ports: ports.filter_map(|port| u16::try_from(port.as_u64()?).ok()).collect(),
            },
            workspace_roots: subjects(table.get("workspace_roots")),
        }
    }
}

/// The hosts of a checked list, with the port of each if only one is meant.
pub(super) fn hosts(values: &[String]) -> Vec<(String, Option<u16>)> {
    values.iter().map(|text| host_and_port(text)).collect()
}

/// The subjects of a checked list.
pub(super) fn subjects(values: &[String]) -> Vec<Subject> {
    values.iter().filter_map(|text| Subject::parse(text).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn resolved(permissions: Value) -> (Profiles, Vec<String>) {
        let values = json!({ "permissions": permissions });
        let place = |_: &str| ConfigWarning {
            message: String::new(),
            path: None,
            line: None,
        };
        let (profiles, problems) = resolve(values.as_object().expect("a table"), &place);
        (profiles, problems.into_iter().map(|problem| problem.message).collect())
    }

    #[test]
    fn the_built_in_ones_are_always_there() {
        let (profiles, problems) = resolved(json!({}));
        assert_eq!(problems, Vec::<String>::new());
        let ids: Vec<&str> = profiles.all().map(|profile| profile.id.as_str()).collect();
        assert_eq!(ids, [READ_ONLY, WORKSPACE, FULL_ACCESS]);
        assert_eq!(profiles.get(":danger-full-access"), profiles.get(FULL_ACCESS));
        assert_eq!(profiles.get("workspace"), None);
        assert!(profiles.instead_of(":workspac").contains("Did you mean :workspace?"));
    }

    #[test]
    fn a_profile_takes_over_what_it_extends_and_says_more() {
        let (profiles, problems) = resolved(json!({
            "base": {"extends": ":workspace", "filesystem": {"/a": "deny"}, "network": {"domains": {"x.org": "allow"}}},
            "more": {"extends": "base", "filesystem": {"/a": "read", "/b": "write"}, "workspace_roots": ["~/w"]},
        }));
        assert_eq!(problems, Vec::<String>::new());
        let more = profiles.get("more").expect("known");
        let access = |text: &str| more.filesystem.get(&Subject::parse(text).expect("a subject")).copied();
        assert_eq!(access("/a"), Some(Access::Read));
        assert_eq!(access("/b"), Some(Access::Write));
        assert_eq!(access(":workspace_roots"), Some(Access::Write));
        assert_eq!(more.network.domains.len(), 1);
        assert_eq!(more.workspace_roots, [Subject::Home("w".into())]);
        assert_eq!(more.extends.as_deref(), Some("base"));
    }

    #[test]
    fn circles_and_missing_parents_cost_the_profile_itself() {
        let (profiles, problems) = resolved(json!({
            "a": {"extends": "b"}, "b": {"extends": "a"}, "c": {"extends": "c"},
            "d": {"extends": ":nothing"}, "e": {"extends": "fine2"}, "fine": {},
        }));
        let own: Vec<&str> = profiles.all().skip(3).map(|profile| profile.id.as_str()).collect();
        assert_eq!(own, ["fine"]);
        assert_eq!(problems.len(), 5, "{problems:#?}");
        assert!(problems[0].contains("a extends b extends a"), "{}", problems[0]);
        assert!(problems[4].contains("Did you mean \"fine\"?"), "{}", problems[4]);
    }

    #[test]
    fn hosts_that_are_named_are_all_there_is() {
        let network = |value: Value| {
            let table = json!({ "network": value });
            Written::of(table.as_object().expect("a table")).network
        };
        for (written, whole, hosts) in [
            (json!({}), false, vec![]),
            (json!({"enabled": true}), true, vec![]),
            (
                json!({"enabled": true, "domains": {"a.org": "allow"}}),
                false,
                vec![("a.org", None)],
            ),
            (
                json!({"domains": {"a.org:443": "allow", "b.org": "deny"}}),
                false,
                vec![("a.org", Some(443))],
            ),
            (json!({"enabled": false, "domains": {"a.org": "allow"}}), false, vec![]),
            (json!({"domains": {"*": "allow"}}), true, vec![]),
            (
                json!({"domains": {"*": "allow", "a.org": "deny"}}),
                false,
                vec![("*", None)],
            ),
            (
                json!({"domains": {"*.b.org": "allow", "a.org": "deny"}}),
                false,
                vec![("*.b.org", None)],
            ),
            (json!({"enabled": true, "domains": {"a.org": "deny"}}), false, vec![]),
            // No host, and no reason to refuse every command.
            (json!({"enabled": true, "domains": {"x y": "deny"}}), false, vec![]),
            (
                json!({"domains": {"*": "allow", "http://a.org": "deny"}}),
                false,
                vec![("*", None)],
            ),
            (
                json!({"domains": {"[::1]:80": "allow", "a.org:1": "allow", "a.org": "deny"}}),
                false,
                vec![("::1", Some(80))],
            ),
        ] {
            let network = network(written.clone());
            assert_eq!(network.is_whole(), whole, "{written}");
            let found: Vec<_> = network.hosts().collect();
            let mut closed = network.closed_hosts();
            assert!(
                closed.all(|(host, _)| ["a.org", "b.org"].contains(&host.as_str())),
                "{written}"
            );
            let expected: Vec<_> = hosts.into_iter().map(|(host, port)| (host.to_owned(), port)).collect();
            assert_eq!(found, expected, "{written}");
        }
    }
}
