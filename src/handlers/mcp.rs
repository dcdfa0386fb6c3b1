//! `countersign/mcp/…`: the tool servers, for the person.

use crate::agent::servers::{self, Named};
use crate::agent::{Agent, AgentError};
use crate::ids::ThreadId;
use crate::lsp::error::RequestError;
use crate::mcp::Server;
use crate::protocol::mcp::{
    McpElicitationRespondParams, McpElicitationRespondResult, McpListParams, McpListResult, McpRefreshParams,
    McpRefreshResult, McpResourceListParams, McpResourceListResult, McpResourceReadParams, McpResourceReadResult,
};
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
    let elicitations = &session.agent().desk().elicitations;
    McpElicitationRespondResult {
        taken: elicitations.answer_of(&server, &request_id, response),
    }
}

/// The servers of a thread; without one, those that a new thread would have, started if they are not.
async fn of(agent: &Agent, thread: Option<&ThreadId>) -> Result<Vec<Arc<Server>>, AgentError> {
    if let Some(id) = thread {
        return Ok(agent.reach(id).await?.conversation().servers.servers());
    }
    let servers = agent.configured_servers()?;
    for server in &servers {
        server.start();
    }
    Ok(servers)
}
