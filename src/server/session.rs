//! One connected client and what serves it: made when `initialize` has told who it is.

use super::chats::Chats;
use super::editor::EditorPort;
use super::idle::Idle;
use super::notices::Notices;
use super::one_offs::OneOffs;
use super::outbound::Outbound;
use super::presenter::Presenter;
use super::subscriptions::Subscriptions;
use crate::agent::{Agent, Setup};
use crate::feedback::Feedback;
use crate::handlers::command;
use crate::ids::ThreadId;
use crate::lsp::client::Client;
use crate::model::ModelClient;
use crate::protocol::turn::EditorContext;
use crate::server;
use crate::server::editor_settings;
use crate::telemetry::Telemetry;
use crate::tools::Registry;
use crate::workspace::Workspace;
use crate::workspace::search::{Searcher, Tokens};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

/// How long it counts whether a folder lies in a repository.
const REPOSITORY: Duration = Duration::from_secs(2);
/// Folders of which that is kept.
const MOST_FOLDERS: usize = 1000;

/// Searches for files: those that run, and the names that were read for them.
#[derive(Default)]
pub struct Searches {
    pub searcher: Searcher,
    pub tokens: Tokens,
}

/// Cheap to clone; handlers get it by reference.
#[derive(Clone)]
pub struct Session(Arc<Shared>);

struct Shared {
    client: Arc<Client>,
    workspace: Workspace,
    outbound: Outbound,
    agent: Agent,
    telemetry: Telemetry,
    feedback: Feedback,
    presenter: Presenter,
    subscriptions: Subscriptions,
    notices: Notices,
    chats: Chats,
    idle: Idle,
    one_offs: OneOffs,
    asked_settings: editor_settings::Asked,
    searches: Searches,
    /// Which folders lie in a repository, and when that was looked at.
    repositories: Mutex<BTreeMap<PathBuf, (Instant, bool)>>,
    /// The thread that code actions speak to, by workspace folder.
    current: Mutex<BTreeMap<PathBuf, ThreadId>>,
    first_thread: Once,
}

impl Session {
    pub fn new(client: Client, workspace: Workspace, outbound: Outbound, setup: &server::run::Setup) -> Self {
        let client = Arc::new(client);
        let idle = Idle::new(!client.can.questions_aside);
        let editor = EditorPort::new(outbound.clone(), client.clone(), idle.clone());
        let telemetry = Telemetry::new(setup.secrets.clone(), &setup.env);
        let agent = Setup {
            workspace: workspace.clone(),
            editor: Arc::new(editor),
            home: setup.home.clone(),
            env: setup.env.clone(),
            client: editor_settings::at_start(setup, &client.initialization_options),
            user_agent: ModelClient::user_agent(),
            secrets: setup.secrets.clone(),
            source: source(&client.name),
        };
        let agent = Agent::with(agent, Registry::standard(), vec![Arc::new(telemetry.clone())]);
        agent.services().servers.logins().learn_into(setup.secrets.clone());
        let presenter = Presenter::new(outbound.clone(), client.clone(), agent.clone(), idle.clone());
        let current = Mutex::default();
        let session = Self(Arc::new(Shared {
            subscriptions: Subscriptions::new(outbound.clone()),
            notices: Notices::new(outbound.clone()),
            client,
            workspace,
            outbound,
            feedback: Feedback::new(setup.secrets.clone(), setup.ring.clone()),
            agent,
            telemetry,
            presenter,
            idle,
            one_offs: OneOffs::default(),
            asked_settings: editor_settings::Asked::default(),
            chats: Chats::default(),
            searches: Searches::default(),
            repositories: Mutex::default(),
            current,
            first_thread: Once::new(),
        }));
        let weak = Arc::downgrade(&session.0);
        session.presenter().logs_in_by(move || {
            if let Some(shared) = weak.upgrade() {
                command::log_in(&Self(shared));
            }
        });
        session
    }

    pub fn client(&self) -> &Client {
        &self.0.client
    }

    /// About which of the editor's settings the person was asked.
    pub fn asked_settings(&self) -> &editor_settings::Asked {
        &self.0.asked_settings
    }

    pub fn workspace(&self) -> &Workspace {
        &self.0.workspace
    }

    pub fn outbound(&self) -> &Outbound {
        &self.0.outbound
    }

    pub fn agent(&self) -> &Agent {
        &self.0.agent
    }

    /// What tells collectors of all this.
    pub fn telemetry(&self) -> &Telemetry {
        &self.0.telemetry
    }

    /// What a person can tell us, and what was shown to them of it.
    pub fn feedback(&self) -> &Feedback {
        &self.0.feedback
    }

    /// See [`Presenter::decisions`].
    pub async fn decisions(&self) -> tokio::sync::OwnedMutexGuard<()> {
        self.presenter().decisions().await
    }

    /// What is told of the account.
    pub fn notices(&self) -> &Notices {
        &self.0.notices
    }

    pub fn presenter(&self) -> &Presenter {
        &self.0.presenter
    }

    /// What the client follows beside what it is shown anyway.
    pub fn subscriptions(&self) -> &Subscriptions {
        &self.0.subscriptions
    }

    /// The chat documents that are open.
    pub fn chats(&self) -> &Chats {
        &self.0.chats
    }

    /// The searches for files.
    pub fn searches(&self) -> &Searches {
        &self.0.searches
    }

    /// The commands that run beside all conversations.
    pub fn one_offs(&self) -> &OneOffs {
        &self.0.one_offs
    }

    /// Hears of the person's keys.
    pub fn idle(&self) -> &Idle {
        &self.0.idle
    }

    /// What is done with the first thread of the session, and not with the others.
    pub fn first_thread(&self) -> &Once {
        &self.0.first_thread
    }

    /// What is known of an editor that does not tell: our plugin does, and when it tells nothing, that is meant.
    pub fn own_context(&self) -> Option<EditorContext> {
        (!self.client().can.plugin).then(|| EditorContext {
            active_file: self.workspace().attended(),
            ..EditorContext::default()
        })
    }

    /// The folder that a file belongs to: its workspace folder, else the folder it lies in. Countersign's own is none to work
    /// in: of what lies there only scratch folders are.
    pub fn folder_of(&self, path: &Path) -> PathBuf {
        let agent = self.agent();
        let home = &agent.services().home;
        let root = self.workspace().root_of(path).filter(|root| root != home);
        let around = || match path.starts_with(home) {
            true => agent.scratch_around(path),
            false => path.parent().map(Path::to_owned),
        };
        root.or_else(around).unwrap_or_else(|| agent.default_folder())
    }

    /// Whether a file lies in a repository. Looks at the disk, but not for every key: one look serves for a moment, also those
    /// who ask while somebody else looks again.
    pub fn in_repository(&self, path: &Path) -> bool {
        let folder = path.parent().unwrap_or(path);
        let known = || self.0.repositories.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((looked, is_in_one)) = known().get_mut(folder) {
            if looked.elapsed() < REPOSITORY {
                return *is_in_one;
            }
            *looked = Instant::now();
        }
        let is_in_one = folder.ancestors().any(|folder| folder.join(".git").exists());
        let mut known = known();
        if known.len() >= MOST_FOLDERS {
            known.clear();
        }
        known.insert(folder.to_owned(), (Instant::now(), is_in_one));
        is_in_one
    }

    /// The thread that code actions in a folder speak to, if there is one.
    pub fn current_thread(&self, folder: &Path) -> Option<ThreadId> {
        self.0
            .current
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(folder)
            .cloned()
    }

    pub fn set_current_thread(&self, folder: &Path, thread: ThreadId) {
        self.0
            .current
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(folder.to_owned(), thread);
    }

    /// The next code action in a folder starts a new conversation.
    pub fn forget_current_thread(&self, folder: &Path) {
        self.0
            .current
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(folder);
    }
}

/// A client's name as threads keep it.
fn source(client: &str) -> String {
    match client.to_ascii_lowercase().as_str() {
        "" => "lsp".to_owned(),
        name if name.contains("visual studio code") || name.contains("code-server") || name.contains("code - oss") => {
            "vscode".to_owned()
        }
        name => name.to_owned(),
    }
}
