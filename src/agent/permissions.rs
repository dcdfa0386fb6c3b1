//! What may be done, for whoever runs or reads something: the profile in force, made concrete for a place, without what
//! nothing of the agent's reads, and with what the person has granted. The turn's commands, its patches, one-off commands
//! and the reading tools all ask here.

mod ask;
mod second_names;
mod wanted;

pub use ask::{Asked, Given};

use super::AgentError;
use super::aside::aside;
use super::scratch;
use super::services::Services;
use super::turn::Turn;
use crate::config::Config;
use crate::config::permissions::{Access, Profile, Subject, is_built_in};
use crate::exec::profile::{Place, half_written, private_folder, secrets, secrets_of_the_system};
use crate::exec::{Closed, Confinement, decide, rules};
use crate::protocol::item::Confined;
use crate::protocol::permission::{Permission, PermissionProfile, PermissionProfilesResult};
use crate::protocol::settings::{Mode, SandboxPolicy, ThreadSettings};
use crate::store::proposals::Bounds;
use crate::workspace::{Judge, Kept, Opened};
use second_names::SecondNames;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The profile that settings name, or the one that says what their policy says; with what the person's own keeps closed.
pub fn profile(config: &Config, settings: &ThreadSettings) -> Profile {
    let named = settings
        .permissions
        .as_deref()
        .and_then(|id| config.permissions.get(id));
    match named {
        Some(own) if !is_built_in(&own.id) => match settings.sandbox_policy {
            // Held to reading: a sub-agent that is to look only.
            SandboxPolicy::ReadOnly { .. } => own.clone().reading_only(),
            _ => own.clone(),
        },
        // The policy tells the two apart where a policy happens to say what a built-in profile says.
        Some(built_in) => kept_by_own(config, built_in.clone()),
        None => kept_by_own(config, Profile::of_policy(&settings.sandbox_policy)),
    }
}

/// A built-in profile or a policy, with what the profile keeps closed that the person's threads begin with: choosing to read only, or the
/// usual sandbox, is meant to close more. Without a sandbox nothing is kept.
fn kept_by_own(config: &Config, profile: Profile) -> Profile {
    let usual = config.default_permissions.as_deref().filter(|id| !is_built_in(id));
    match usual.and_then(|id| config.permissions.get(id)) {
        Some(own) if !profile.is_unrestricted() => profile.closing(own),
        _ => profile,
    }
}

/// A profile by its id.
///
/// # Errors
/// There is none; the words name those that there are.
pub fn find<'c>(config: &'c Config, id: &str) -> Result<&'c Profile, AgentError> {
    config.permissions.get(id).ok_or_else(|| {
        AgentError::BadSettings(format!(
            "There is no permission profile {id:?}. {}",
            config.permissions.instead_of(id)
        ))
    })
}

/// The confinement of a command outside of any thread: under a profile, else under a policy, else as the configuration
/// says for threads.
///
/// # Errors
/// The profile is not known, or a profile and a policy are given both.
pub fn one_off(
    services: &Services,
    config: &Config,
    cwd: &Path,
    permissions: Option<&str>,
    policy: Option<&SandboxPolicy>,
) -> Result<Confinement, AgentError> {
    let profile = match (permissions, policy) {
        (Some(_), Some(_)) => return Err(both()),
        (Some(id), None) if is_built_in(id) => kept_by_own(config, find(config, id)?.clone()),
        (Some(id), None) => find(config, id)?.clone(),
        (None, Some(policy)) => kept_by_own(config, Profile::of_policy(policy)),
        (None, None) => match &config.default_permissions {
            Some(id) => find(config, id)?.clone(),
            None => Profile::of_policy(&config.sandbox_policy),
        },
    };
    let place = place(services, cwd, &services.workspace.roots());
    Ok(confine(services, config, &profile, &place).within(config.bounds))
}

pub(super) fn both() -> AgentError {
    AgentError::BadSettings(
        "permissions and sandboxPolicy cannot be given both: a profile says what may be done. Leave one of them out."
            .to_owned(),
    )
}

/// The profiles that can be chosen under a configuration.
pub fn list(config: &Config) -> PermissionProfilesResult {
    let data = config.permissions.all().map(|profile| PermissionProfile {
        id: profile.id.clone(),
        description: profile.description.clone(),
        extends: profile.extends.clone(),
        built_in: is_built_in(&profile.id),
    });
    PermissionProfilesResult {
        data: data.collect(),
        default: config
            .default_permissions
            .clone()
            .or_else(|| same_as(config, &config.sandbox_policy)),
    }
}

/// The built-in profile that says the same as a policy, if one does.
pub(super) fn same_as(config: &Config, policy: &SandboxPolicy) -> Option<String> {
    let built_in = config.permissions.all().filter(|profile| is_built_in(&profile.id));
    let mut same = built_in.filter(|profile| profile.policy(None) == *policy);
    same.next().map(|profile| profile.id.clone())
}

/// The person's home folder.
pub(super) fn home_of(services: &Services) -> Option<PathBuf> {
    let home = services.env.get("HOME").map(PathBuf::from);
    home.filter(|home| home.is_absolute())
}

fn place(services: &Services, cwd: &Path, roots: &[PathBuf]) -> Place {
    Place {
        cwd: cwd.to_owned(),
        runtime_roots: roots.to_vec(),
        tmpdir: services.temporary_folder(),
        home: home_of(services),
    }
}

/// A profile made concrete, without what nothing of the agent's reads.
fn confine(services: &Services, config: &Config, profile: &Profile, place: &Place) -> Confinement {
    let confinement = profile.realise(place);
    match confinement.is_outside() {
        true => confinement,
        false => {
            // A profile of the person's own says itself which hosts it lets be reached.
            let says_nothing = profile.id.is_empty() || is_built_in(&profile.id);
            let writes = !confinement.writable_roots().is_empty();
            let hosts = config.network_hosts.iter().filter(|_| says_nothing && writes);
            let hosts: Vec<Permission> = hosts
                .map(|(host, port)| Permission::Host {
                    host: host.clone(),
                    port: *port,
                })
                .collect();
            let work: Vec<PathBuf> = place.runtime_roots.iter().chain([&place.cwd]).cloned().collect();
            let tmpdir = place.tmpdir.as_deref();
            let confinement = confinement.with(&hosts).requesting(&config.requests, &services.env);
            close(confinement, services, config, profile, place).keeping_later(
                &config.protected,
                &config.unprotected,
                &work,
                (tmpdir, place.home.as_deref()),
            )
        }
    }
}

fn close(
    confinement: Confinement,
    services: &Services,
    config: &Config,
    profile: &Profile,
    place: &Place,
) -> Confinement {
    let (home, open) = own_home(services, profile, place);
    let confinement = confinement
        .unreadable(&config.unreadable, place)
        .without(&kept_from_all(services, config, profile, place))
        .without_all_but(&home, &open);
    match usual_home(services, profile, place) {
        Some((usual, open)) => confinement.without_all_but(&usual, &open),
        None => confinement,
    }
}

/// Countersign's own folder in its usual place, where this server has another: what was said to others is in there.
fn usual_home(services: &Services, profile: &Profile, place: &Place) -> Option<(PathBuf, Vec<PathBuf>)> {
    let usual = fs::canonicalize(place.home.as_ref()?.join(".countersign")).ok()?;
    let own = fs::canonicalize(&services.home).unwrap_or_else(|_| services.home.clone());
    if own.starts_with(&usual) {
        return None;
    }
    let named = named(profile, place).into_iter();
    let named = named.filter_map(|path| fs::canonicalize(path).ok());
    let open = named
        .filter(|path| path.starts_with(&usual) && *path != usual)
        .collect();
    Some((usual, open))
}

/// Countersign's own folder, where the conversations of all projects lie, what was typed, logs and proposals, and what is open in it
/// for work: the scratch folder that the work is in, and what the person's profile names. All else is closed, whatever the
/// folders of the work are, so that what comes to lie in it is closed too.
fn own_home(services: &Services, profile: &Profile, place: &Place) -> (PathBuf, Vec<PathBuf>) {
    let home = fs::canonicalize(&services.home).unwrap_or_else(|_| services.home.clone());
    let own_roots = profile.own_roots(place.home.as_deref());
    let named = named(profile, place).into_iter().chain(own_roots);
    let named = named.filter_map(|path| fs::canonicalize(path).ok());
    let cwd = fs::canonicalize(&place.cwd).ok();
    let scratch = cwd.and_then(|cwd| scratch::around(&home, &cwd));
    let open = named.filter(|path| path.starts_with(&home) && *path != home);
    let open = open.chain(scratch).collect();
    (home, open)
}

/// The places that a profile opens by their names.
fn named(profile: &Profile, place: &Place) -> Vec<PathBuf> {
    let open = profile.filesystem.iter().filter(|(_, access)| **access != Access::Deny);
    let open = open.filter_map(|(subject, _)| match subject {
        Subject::Path(path) => Some(path.clone()),
        Subject::Home(below) => Some(place.home.as_ref()?.join(below)),
        _ => None,
    });
    open.collect()
}

/// Where keys lie. What the profile opens by its name stays open, and so does the workspace, wherever it is.
fn kept_from_all(services: &Services, config: &Config, profile: &Profile, place: &Place) -> Vec<PathBuf> {
    let own = own_credentials(services);
    let own: Vec<PathBuf> = own.into_iter().filter(|path| path.exists()).collect();
    if !config.unreadable_defaults {
        return own;
    }
    let named = named(profile, place).into_iter();
    let named: Vec<PathBuf> = named.filter_map(|path| fs::canonicalize(path).ok()).collect();
    let work = place.runtime_roots.iter().chain([&place.cwd]);
    let work: Vec<PathBuf> = work.filter_map(|path| fs::canonicalize(path).ok()).collect();
    let mut closed = secrets(place.home.as_deref(), &services.home, &services.env);
    closed.extend(secrets_of_the_system(&services.env));
    closed.retain(|place| {
        own.contains(place) || !named.contains(place) && !work.iter().any(|folder| folder.starts_with(place))
    });
    closed
}

/// The server's own credentials, whether they are there or not.
fn own_credentials(services: &Services) -> Vec<PathBuf> {
    let home = fs::canonicalize(&services.home).unwrap_or_else(|_| services.home.clone());
    let named = ["auth.json", ".credentials.json"].map(|name| {
        let path = home.join(name);
        fs::canonicalize(&path).unwrap_or(path)
    });
    let private = private_folder(&home);
    [private].into_iter().chain(named).chain(half_written(&home)).collect()
}

/// What is kept from whoever reads for the model: closed by the policy, or by a `.countersignignore`. Holds for one call.
pub struct Reader {
    closed: Closed,
    second_names: SecondNames,
    kept: Kept,
    /// What of Countersign's own folder the model is shown anyway: the person's instructions, by their real places.
    instructions: Vec<PathBuf>,
}

/// The person's instructions in Countersign's own folder.
const INSTRUCTIONS: [&str; 2] = ["AGENTS.md", "AGENTS.override.md"];

impl Reader {
    fn new(services: &Services, closed: Closed) -> Self {
        let home = fs::canonicalize(&services.home).unwrap_or_else(|_| services.home.clone());
        Self {
            closed,
            kept: Kept::default(),
            instructions: INSTRUCTIONS.map(|name| home.join(name)).to_vec(),
            second_names: SecondNames::of(home),
        }
    }

    /// Whether it is one of the person's instructions, and no link to something else.
    fn is_instruction(&self, path: &Path) -> bool {
        let real = fs::canonicalize(path);
        real.is_ok_and(|real| self.instructions.contains(&real) && is_only_name(&real))
    }

    /// Whether a file or folder may be read.
    pub fn check(&self, path: &Path) -> Result<(), Refused> {
        let is_closed = !self.closed.may_read(path) || self.second_names.closes(path);
        if is_closed && !self.is_instruction(path) {
            return Err(Refused::Closed(path.to_owned()));
        }
        match self.kept.by(path) {
            None => Ok(()),
            Some(by) => Err(Refused::Kept {
                path: path.to_owned(),
                by,
            }),
        }
    }

    pub fn may_read(&self, path: &Path) -> bool {
        self.check(path).is_ok()
    }

    /// Whether what is open, which was opened as `name`, may be read.
    pub fn check_opened(&self, name: &Path, opened: &Opened) -> Result<(), Refused> {
        let (place, found) = (opened.place(), opened.metadata());
        let is_closed = !self.closed.may_read_opened(place, found) || self.second_names.closes_opened(place, found);
        let is_instruction = || self.instructions.iter().any(|known| known == place) && has_one_name(found);
        if is_closed && !is_instruction() {
            return Err(Refused::Closed(name.to_owned()));
        }
        match self.kept.by_place(place, found.is_dir()) {
            None => Ok(()),
            Some(by) => Err(Refused::Kept {
                path: name.to_owned(),
                by,
            }),
        }
    }
}

impl Judge for Reader {
    fn path(&self, path: &Path) -> Result<(), String> {
        self.check(path).map_err(|refused| refused.to_string())
    }

    fn opened(&self, name: &Path, opened: &Opened) -> Result<(), String> {
        self.check_opened(name, opened).map_err(|refused| refused.to_string())
    }
}

/// Whether a file has this name only: a second one may be that of a secret.
fn is_only_name(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| has_one_name(&found))
}

#[cfg(unix)]
fn has_one_name(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    found.is_file() && found.nlink() == 1
}

#[cfg(not(unix))]
fn has_one_name(found: &fs::Metadata) -> bool {
    found.is_file()
}

/// Why something is not read for the model, in words for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error(
        "{} is closed: credentials, conversations or other secrets of the person's are kept there, or their settings say so. Work without it, or \
         ask for it with request_permissions if the task is about it.",
        .0.display()
    )]
    Closed(PathBuf),
    #[error(
        "{} is kept from you: the person named it in {}. Work without it; only they can change that file.",
        path.display(),
        by.display()
    )]
    Kept { path: PathBuf, by: PathBuf },
}

impl Refused {
    /// What was asked about.
    pub fn path(&self) -> &Path {
        match self {
            Self::Closed(path) | Self::Kept { path, .. } => path,
        }
    }

    /// The same for the person, as the end of a sentence.
    pub fn in_short(&self) -> String {
        match self {
            Self::Closed(_) => "it is in a place that is kept from the model, as keys and secrets are".to_owned(),
            Self::Kept { by, .. } => format!("{} keeps it from the model", by.display()),
        }
    }
}

/// Who reads in a folder outside of any thread's turn: instruction files among others.
pub(super) fn reader_in(services: &Services, config: &Config, profile: &Profile, cwd: &Path) -> Reader {
    let place = place(services, cwd, &services.workspace.roots());
    Reader::new(services, reading(services, config, profile, &place).closed())
}

/// Who reads for a change that waited while no turn ran: what its bounds close is closed, and Countersign's own folder.
pub(super) fn reader_within(services: &Services, bounds: &Bounds) -> Reader {
    let home = fs::canonicalize(&services.home).unwrap_or_else(|_| services.home.clone());
    let cwd = fs::canonicalize(&bounds.cwd).ok();
    let open: Vec<PathBuf> = cwd.and_then(|cwd| scratch::around(&home, &cwd)).into_iter().collect();
    Reader::new(services, bounds.confinement().without_all_but(&home, &open).closed())
}

/// Which of these paths are kept from the model of a thread, with the reasons: for who shows it files beside its turns' own
/// tools. What the person has granted for work does not count.
pub(super) fn refused(
    services: &Services,
    config: &Config,
    settings: &ThreadSettings,
    paths: &[PathBuf],
) -> Vec<Refused> {
    let reader = reader_in(services, config, &profile(config, settings), &settings.cwd);
    paths.iter().filter_map(|path| reader.check(path).err()).collect()
}

/// As `confine`, for who only reads: also where commands run without a sandbox, tools do not read keys.
fn reading(services: &Services, config: &Config, profile: &Profile, place: &Place) -> Confinement {
    let confinement = match profile.is_unrestricted() {
        true => Profile::of_policy(&SandboxPolicy::ReadOnly { network_access: false }).for_reading(place),
        false => profile.for_reading(place),
    };
    close(confinement, services, config, profile, place).without(&own_credentials(services))
}

impl Turn {
    fn place(&self) -> Place {
        place(&self.services, &self.settings.cwd, &self.roots)
    }

    /// What a run of this turn may touch, with what the person has granted.
    pub fn confinement(&self, confined: Confined) -> Confinement {
        if confined == Confined::Outside {
            return Confinement::outside().within(self.config.bounds);
        }
        if confined == Confined::ReadOnly && self.profile.is_unrestricted() {
            // Where commands run without a sandbox, one that only reads has one all the same.
            let reading = reading(&self.services, &self.config, &self.profile, &self.place());
            return reading.within(self.config.bounds);
        }
        let confinement =
            confine(&self.services, &self.config, &self.profile, &self.place()).within(self.config.bounds);
        let confinement = match confined {
            // What only reads stays so; a folder that was opened counts for patches then.
            Confined::ReadOnly => confinement,
            _ => {
                let granted = self.conversation.granted_roots();
                granted.into_iter().fold(confinement, Confinement::with_writable)
            }
        };
        match self.settings.mode {
            Mode::Agent => confinement.with(&self.granted()),
            // What was granted for work is not granted for looking.
            Mode::Plan | Mode::Ask => confinement,
        }
    }

    /// The same, found out where looking at the disk holds up nothing.
    pub async fn confinement_aside(self: &Arc<Self>, confined: Confined) -> Confinement {
        let turn = self.clone();
        aside(move || turn.confinement(confined)).await
    }

    /// What tools of this turn may not read.
    pub fn closed(&self) -> Closed {
        let reading = reading(&self.services, &self.config, &self.profile, &self.place());
        reading.with(&self.granted()).closed()
    }

    /// What a run of this turn outside of the sandbox needs a yes of its own for.
    pub fn kept(&self) -> decide::Kept {
        let home = home_of(&self.services);
        decide::Kept::new(
            self.closed(),
            &self.config.protected,
            &self.config.unprotected,
            home.as_deref(),
        )
        .within(&self.settings.cwd)
    }

    /// Who reads for the model in this turn.
    pub fn reader(&self) -> Reader {
        Reader::new(&self.services, self.closed())
    }

    /// Narrow grants that hold now: for the turn, for the session, for always. Nothing was granted to a turn that only
    /// reads.
    pub fn granted(&self) -> Vec<Permission> {
        if self.is_apart() {
            return Vec::new();
        }
        let mut granted = standing(self);
        granted.extend(self.conversation.data().permissions.iter().cloned());
        granted.extend(self.permissions().iter().cloned());
        granted
    }

    /// Whether a real path lies in Countersign's own folder and is closed to this turn, also where nothing is there yet.
    pub(super) fn is_closed_own(&self, real: &Path) -> bool {
        let (home, open) = own_home(&self.services, &self.profile, &self.place());
        real.starts_with(&home) && !open.iter().any(|part| real.starts_with(part))
    }

    /// Places that are kept from patches, too.
    pub(super) fn unreadable(&self) -> Vec<PathBuf> {
        let place = self.place();
        let mut closed = kept_from_all(&self.services, &self.config, &self.profile, &place);
        let base = Confinement::new(
            &SandboxPolicy::ReadOnly { network_access: false },
            &place.cwd,
            &[],
            None,
        );
        closed.extend(base.unreadable(&self.config.unreadable, &place).unreadable_places());
        closed
    }
}

/// Writes permissions down that hold in every session from now on, for commands in a folder and below.
async fn keep_standing(services: &Services, cwd: &Path, permissions: &[Permission]) -> Result<(), String> {
    let (home, cwd, permissions) = (services.home.clone(), cwd.to_owned(), permissions.to_vec());
    let write = move || {
        let mut written = permissions
            .iter()
            .map(|one| rules::add_permission(&home, Some(&cwd), one));
        written.try_for_each(|one| one.map(drop).map_err(|error| error.to_string()))
    };
    super::aside::begin(write)
        .await
        .unwrap_or_else(|error| Err(format!("writing it broke off ({error})")))
}

/// The permissions that hold in every session, for commands in a folder, as far as they could still be given.
fn standing(turn: &Turn) -> Vec<Permission> {
    let rules = turn.services.rules(&turn.config);
    let standing = rules.permissions_for(&turn.settings.cwd).into_iter();
    standing.filter_map(|one| wanted::checked(turn, one).ok()).collect()
}
