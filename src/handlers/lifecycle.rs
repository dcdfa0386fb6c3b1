//! The life of the session: `initialize`, `initialized`, `shutdown`, folders.

use crate::agent::apply;
use crate::agent::stream::Stream;
use crate::chat::SUFFIX;
use crate::exec::program;
use crate::handlers::chat::complete;
use crate::handlers::{Context, settings_file};
use crate::ids::ThreadId;
use crate::lsp::client::Client;
use crate::lsp::convert;
use crate::lsp::error::RequestError;
use crate::private;
use crate::protocol::error::CONFIG_UNREADABLE;
use crate::server;
use crate::server::editor_settings;
use crate::server::parent;
use crate::server::presenter::Severity;
use crate::server::session::Session;
use crate::workspace::uri;
use lsp_types::{
    DidChangeConfigurationParams, DidChangeWatchedFilesParams, DidChangeWorkspaceFoldersParams, InitializeParams,
    InitializeResult, MessageType, ServerInfo, WorkspaceFolder,
};
use serde_json::json;
use std::path::PathBuf;
use std::time::Duration;

/// How long the last events of the threads may take to go out.
const PRESENTER_LIMIT: Duration = Duration::from_millis(300);
/// How long a client may take to tell its settings.
const CONFIGURATION_LIMIT: Duration = Duration::from_secs(10);

/// Learns who the client is. The whole of its parameters is in `initialization_options`, see the transport.
pub fn initialize(context: &Context, params: InitializeParams) -> Result<InitializeResult, RequestError> {
    // Before anything is read there, or put right by what it says.
    private::check_home(&context.setup.home)
        .map_err(|trouble| RequestError::failed(CONFIG_UNREADABLE, trouble.to_string()))?;
    let client = Client::read(&params.initialization_options.unwrap_or_default());
    context.workspace.set_encoding(client.encoding);
    client.roots.iter().for_each(|root| program::guard(root));
    context.workspace.set_roots(client.roots.clone());
    if let Some(pid) = client.process_id {
        parent::watch(pid, context.stop.clone());
    }
    tracing::info!(
        client = client.name,
        version = client.version,
        plugin = client.can.plugin,
        "initialize"
    );
    let capabilities = server::capabilities(convert::to_encoding_kind(client.encoding), &client.can.registers);
    let session = Session::new(
        client,
        context.workspace.clone(),
        context.outbound.clone(),
        &context.setup,
    );
    let (agent, presenter) = (session.agent().clone(), session.presenter().clone());
    let subscriptions = session.subscriptions().clone();
    let telemetry = session.telemetry().clone();
    context.begin(session)?;
    context
        .teardown
        .register("agent", || async move { agent.shutdown().await });
    // The last events of the threads go out before the answer to `shutdown`.
    context.teardown.register("presenter", || async move {
        presenter.withdraw_questions();
        let shown = async { tokio::join!(presenter.finished(), subscriptions.finished()) };
        let _in_time = tokio::time::timeout(PRESENTER_LIMIT, shown).await;
    });
    // Last: nobody waits for it but who is told of it.
    context
        .teardown
        .register("telemetry", || async move { telemetry.finish().await });
    let server_info = ServerInfo {
        name: server::NAME.to_owned(),
        version: Some(server::VERSION.to_owned()),
    };
    Ok(InitializeResult {
        capabilities,
        server_info: Some(server_info),
    })
}

pub fn initialized(context: &Context) {
    if let Some(trouble) = &context.setup.log_trouble {
        context.log(MessageType::WARNING, trouble.clone());
    }
    if let Ok(session) = context.session() {
        for problem in &context.setup.startup.problems {
            session.presenter().message(Severity::Warning, &problem.message);
        }
        editor_settings::ask_in_background(session);
        fetch_configuration(context, session);
        put_right(session);
        watch_instructions(session);
        register_documents(session);
    }
}

/// Tells clients that can be told so what is there for chat documents and files of configuration, and for no others.
fn register_documents(session: &Session) {
    let methods = session.client().can.registers.all();
    if methods.is_empty() {
        return;
    }
    let register = |what: &str, method: &str, patterns: &[String], triggers: &[&str]| {
        let selector: Vec<_> = patterns
            .iter()
            .map(|pattern| json!({"scheme": "file", "pattern": pattern}))
            .collect();
        let mut options = json!({ "documentSelector": selector });
        if method == "textDocument/completion" {
            options["triggerCharacters"] = json!(triggers);
        }
        json!({"id": format!("countersign-{what}-{method}"), "method": method, "registerOptions": options})
    };
    let chats = [format!("**/*{SUFFIX}")];
    let settings = settings_file::PATTERNS.map(str::to_owned);
    let of_settings = methods
        .iter()
        .filter(|method| ["textDocument/hover", "textDocument/completion"].contains(method));
    let registrations: Vec<_> = methods
        .iter()
        .map(|method| register("chat", method, &chats, &complete::TRIGGERS))
        .chain(of_settings.map(|method| register("config", method, &settings, &settings_file::TRIGGERS)))
        .collect();
    let pending = session
        .outbound()
        .request::<serde_json::Value>("client/registerCapability", json!({"registrations": registrations}));
    tokio::spawn(async move {
        if let Err(error) = pending.await {
            tracing::info!(%error, "the editor has no completion, hover, folds, symbols or links for our documents");
        }
    });
}

/// Asks a client that watches files to tell of instruction files. Where none does, they are looked at before each turn all
/// the same; but a change within one tick of the clock is seen only by who watches.
fn watch_instructions(session: &Session) {
    if !session.client().can.watched_files {
        return;
    }
    let session = session.clone();
    tokio::spawn(async move {
        let agent = session.agent().clone();
        let names = tokio::task::spawn_blocking(move || agent.instruction_names()).await;
        let watchers: Vec<_> = names
            .unwrap_or_default()
            .iter()
            .map(|name| json!({"globPattern": format!("**/{name}")}))
            .collect();
        let registration = json!({
            "id": "countersign-instructions",
            "method": "workspace/didChangeWatchedFiles",
            "registerOptions": {"watchers": watchers},
        });
        let params = json!({"registrations": [registration]});
        let pending = session
            .outbound()
            .request::<serde_json::Value>("client/registerCapability", params);
        if let Err(error) = pending.await {
            tracing::info!(%error, "the editor does not watch instruction files");
        }
    });
}

/// Files that were watched for us have changed.
pub fn watched_files_changed(context: &Context, params: &DidChangeWatchedFilesParams) {
    if let Ok(session) = context.session()
        && !params.changes.is_empty()
    {
        session.agent().services().instructions_changed();
    }
}

/// Puts right what a server has left that died in the middle of its work, then shows what an earlier one left waiting in
/// the folders of the workspace; in the background.
fn put_right(session: &Session) {
    let session = session.clone();
    tokio::spawn(async move {
        let presenter = session.presenter().clone();
        let tell = move |words: &str| presenter.message(Severity::Warning, words);
        apply::put_right(session.agent().services().home.clone(), tell).await;
        restore_proposals(&session).await;
    });
}

/// Shows what an earlier server left waiting in the folders of the workspace.
async fn restore_proposals(session: &Session) {
    let show = |thread: &ThreadId, stream: &Stream| session.presenter().attach_stream(thread, stream);
    session.agent().restore_proposals(show).await;
}

/// Ends everything that runs, in order, then answers. `exit` follows.
pub async fn shutdown(context: &Context) {
    context.teardown.run().await;
}

pub fn folders_changed(context: &Context, params: DidChangeWorkspaceFoldersParams) {
    let removed = paths(&params.event.removed);
    let mut roots = context.workspace.roots();
    roots.retain(|root| !removed.contains(root));
    roots.extend(paths(&params.event.added));
    roots.iter().for_each(|root| program::guard(root));
    context.workspace.set_roots(roots);
    if let Ok(session) = context.session() {
        editor_settings::folders_changed(session);
        let session = session.clone();
        tokio::spawn(async move { restore_proposals(&session).await });
    }
}

/// The settings of the editor changed. Some clients send them along; from the others they are fetched.
pub fn configuration_changed(context: &Context, params: DidChangeConfigurationParams) {
    let Ok(session) = context.session() else { return };
    let sent = params
        .settings
        .get("countersign")
        .cloned()
        .filter(serde_json::Value::is_object);
    match sent {
        Some(settings) => editor_settings::changed(session, &context.setup, settings),
        None => fetch_configuration(context, session),
    }
}

/// Asks the client for its section `countersign`, where it answers such questions.
fn fetch_configuration(context: &Context, session: &Session) {
    if !session.client().can.configuration {
        return;
    }
    let params = json!({"items": [{"section": "countersign"}]});
    let pending = session
        .outbound()
        .request_list::<serde_json::Value>("workspace/configuration", params);
    let (session, setup) = (session.clone(), context.setup.clone());
    tokio::spawn(async move {
        match tokio::time::timeout(CONFIGURATION_LIMIT, pending).await {
            Ok(Ok(sections)) => {
                // Null is a client that has nothing to say; what it said at the start stays.
                if let Some(settings) = sections.into_iter().next().filter(serde_json::Value::is_object) {
                    editor_settings::changed(&session, &setup, settings);
                }
            }
            Ok(Err(error)) => tracing::warn!(%error, "the editor's settings were not read"),
            Err(_) => tracing::warn!("the editor did not answer workspace/configuration"),
        }
    });
}

fn paths(folders: &[WorkspaceFolder]) -> Vec<PathBuf> {
    let path = |folder: &WorkspaceFolder| match uri::to_path(folder.uri.as_str()) {
        Ok(path) => path,
        Err(error) => {
            tracing::warn!(%error, "a folder of the workspace was left out");
            None
        }
    };
    folders.iter().filter_map(path).collect()
}
