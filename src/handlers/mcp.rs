//! `countersign/mcp/…`: the MCP servers, for the person.

use crate::agent::servers::{self, Named};
use crate::agent::{Agent, AgentError};
use crate::ids::ThreadId;
use crate::lsp::error::RequestError;
use crate::mcp::{self, LoginError, Server};
use crate::protocol::error as kinds;
use crate::protocol::mcp::{
    McpElicitationRespondParams, McpElicitationRespondResult, McpListParams, McpListResult, McpLoginCompleted,
    McpLoginParams, McpLoginResult, McpLogoutParams, McpLogoutResult, McpRefreshParams, McpRefreshResult,
    McpResourceListParams, McpResourceListResult, McpResourceReadParams, McpResourceReadResult,
};
use crate::protocol::method::MCP_LOGIN_COMPLETED;
use crate::server::after_reply;
use crate::server::presenter::Severity;
use crate::server::session::Session;
use crate::tools::mcp_resources::Kind;
use std::sync::Arc;

pub async fn list(session: &Session, params: McpListParams) -> Result<McpListResult, RequestError> {
    let servers = of(session.agent(), params.thread_id.as_ref()).await?;
    Ok(McpListResult {
        data: servers::list(&servers).await,
    })
}

pub async fn refresh(session: &Session, params: McpRefreshParams) -> Result<McpRefreshResult, RequestError> {
    session.agent().refresh_servers(params.thread_id.as_ref()).await?;
    Ok(McpRefreshResult {})
}

/// Begins a login, in the place of one to the same server that still waits; how each ended is told later.
pub async fn login(session: &Session, params: McpLoginParams) -> Result<McpLoginResult, RequestError> {
    let server = named(session, &params.server, params.thread_id.as_ref()).await?;
    let pool = &session.agent().services().servers;
    let begun = mcp::begin(&server.name, &server.settings, pool.logins()).await;
    let begun = begun.map_err(|error| {
        let kind = match &error {
            LoginError::NotForIt(..) => kinds::INVALID_PARAMS,
            _ => kinds::LOGIN_FAILED,
        };
        RequestError::failed(kind, error.to_string())
    })?;
    let url = begun.url.clone();
    let session = session.clone();
    after_reply(move || {
        tokio::spawn(async move {
            let outcome = begun.finish().await;
            // Whoever began another one, or signed out, knows.
            let is_news = !matches!(outcome, Err(LoginError::Stopped(_)));
            if outcome.is_ok() {
                session.agent().services().servers.login_changed(&server.name);
            }
            let completed = McpLoginCompleted {
                server: server.name.clone(),
                success: outcome.is_ok(),
                error: outcome.err().map(|error| error.to_string()),
            };
            if session.client().can.plugin {
                session.outbound().notify(MCP_LOGIN_COMPLETED, completed);
            } else if let Some(error) = completed.error.filter(|_| is_news) {
                session.presenter().message(Severity::Error, &error);
            }
        });
    });
    Ok(McpLoginResult { url })
}

pub async fn logout(session: &Session, params: McpLogoutParams) -> Result<McpLogoutResult, RequestError> {
    let server = named(session, &params.server, params.thread_id.as_ref()).await?;
    let pool = &session.agent().services().servers;
    let Some(url) = server.settings.url() else {
        return Ok(McpLogoutResult { forgotten: false });
    };
    let forgotten = pool
        .logins()
        .forget(&server.name, url, server.settings.login.store, &server.settings.network)
        .await;
    let forgotten = forgotten.map_err(|error| RequestError::failed(kinds::ACCOUNT_STORE_FAILED, error.to_string()))?;
    if forgotten {
        pool.login_changed(&server.name);
    }
    Ok(McpLogoutResult { forgotten })
}

/// The server of this name.
async fn named(session: &Session, name: &str, thread: Option<&ThreadId>) -> Result<Arc<Server>, RequestError> {
    let servers = of(session.agent(), thread).await?;
    let found = servers.iter().find(|server| server.name == name).cloned();
    found.ok_or_else(|| {
        let known: Vec<String> = servers.iter().map(|server| mcp::shown_name(&server.name)).collect();
        RequestError::invalid_params(match known.is_empty() {
            true => format!("There is no MCP server {name:?}; none are configured."),
            false => format!("There is no MCP server {name:?}. There are: {}.", known.join(", ")),
        })
    })
}

pub async fn resources(
    session: &Session,
    params: McpResourceListParams,
    kind: Kind,
) -> Result<McpResourceListResult, RequestError> {
    let servers = of(session.agent(), params.thread_id.as_ref()).await?;
    let named = Named {
        servers: &servers,
        name: &params.server,
    };
    Ok(servers::page(named, kind, params.cursor.as_deref()).await?)
}

pub async fn read(session: &Session, params: McpResourceReadParams) -> Result<McpResourceReadResult, RequestError> {
    let servers = of(session.agent(), params.thread_id.as_ref()).await?;
    let named = Named {
        servers: &servers,
        name: &params.server,
    };
    Ok(servers::read(named, &params.uri).await?)
}

pub fn respond(session: &Session, params: McpElicitationRespondParams) -> McpElicitationRespondResult {
    let McpElicitationRespondParams {
        server,
        request_id,
        response,
    } = params;
    let elicitations = &session.agent().services().elicitations;
    McpElicitationRespondResult {
        taken: elicitations.answer_of(&server, &request_id, response),
    }
}

/// The servers of a thread; without one, those that a new thread would have, started if they are not.
async fn of(agent: &Agent, thread: Option<&ThreadId>) -> Result<Vec<Arc<Server>>, AgentError> {
    if let Some(id) = thread {
        return Ok(agent.reach(id).await?.conversation().servers.servers());
    }
    let servers = agent.configured_servers().await?;
    for server in &servers {
        server.start();
    }
    Ok(servers)
}
