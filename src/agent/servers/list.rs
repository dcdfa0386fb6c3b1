//! What the servers of a thread offer, for the person.

use crate::agent::AgentError;
use crate::mcp::{Server, UseError, names, shown_name, untrusted};
use crate::protocol::mcp::{McpResourceListResult, McpResourceReadResult, McpServer, McpTool};
use crate::tools::mcp_resources::Kind;
use futures::future::join_all;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// How long one server may take to list its resources.
const LIMIT: Duration = Duration::from_secs(5);

/// A server by its name.
pub struct Named<'a> {
    pub servers: &'a [Arc<Server>],
    pub name: &'a str,
}

impl Named<'_> {
    fn find(&self) -> Result<&Arc<Server>, AgentError> {
        let found = self.servers.iter().find(|server| server.name == self.name);
        found.ok_or_else(|| {
            let known: Vec<String> = self.servers.iter().map(|server| shown_name(&server.name)).collect();
            AgentError::UnknownServer {
                name: self.name.to_owned(),
                known: known.join(", "),
            }
        })
    }
}

/// All that these servers offer. What must be asked of them is asked side by side, and not waited for long.
pub async fn list(servers: &[Arc<Server>]) -> Vec<McpServer> {
    let parts = join_all(servers.iter().map(|server| async move {
        let lists = async { tokio::join!(all(server, Kind::Resources), all(server, Kind::Templates)) };
        tokio::time::timeout(LIMIT, lists).await
    }))
    .await;
    let tools: Vec<_> = servers.iter().map(|server| server.tools()).collect();
    let keys: Vec<(&str, &str)> = servers
        .iter()
        .zip(&tools)
        .flat_map(|(server, tools)| tools.iter().map(|tool| (server.name.as_str(), tool.name.as_str())))
        .collect();
    let mut named = names::qualify(&keys).into_iter();
    let described = servers.iter().zip(&tools).zip(parts).map(|((server, tools), parts)| {
        let state = server.state();
        let mut error = state.problem.as_deref().map(str::to_owned);
        let (resources, resource_templates) = match parts {
            Ok((resources, templates)) => {
                let mut take = |part: Result<Vec<Value>, UseError>| {
                    part.unwrap_or_else(|problem| {
                        error.get_or_insert_with(|| problem.to_string());
                        Vec::new()
                    })
                };
                (take(resources), take(templates))
            }
            Err(_) => {
                let words = format!("Its resources could not be listed within {} seconds.", LIMIT.as_secs());
                error.get_or_insert(words);
                (Vec::new(), Vec::new())
            }
        };
        let tools = tools.iter().map(|tool| McpTool {
            name: tool.name.clone(),
            qualified_name: named.next().unwrap_or_default(),
            title: tool.title.as_deref().map(untrusted::visible),
            description: tool.description.as_deref().map(untrusted::visible),
            read_only: tool.read_only,
            input_schema: untrusted::visible_value(&tool.schema),
        });
        McpServer {
            name: server.name.clone(),
            status: state.status,
            error,
            auth_status: server.auth_status(),
            tools: tools.collect(),
            resources,
            resource_templates,
        }
    });
    described.collect()
}

async fn all(server: &Arc<Server>, kind: Kind) -> Result<Vec<Value>, UseError> {
    let state = server.started().await;
    // Only to be listed, none is started again.
    if state.status != crate::protocol::mcp::McpServerStatus::Ready {
        return Ok(Vec::new());
    }
    let (method, key) = kind.method();
    match server.all(method, key).await {
        // Some have resources and know nothing of templates.
        Err(UseError::Failed {
            error: crate::mcp::RequestError::Refused { code: -32601, .. },
            ..
        }) => Ok(Vec::new()),
        list => list,
    }
}

/// One page of a server's list.
pub async fn page(named: Named<'_>, kind: Kind, cursor: Option<&str>) -> Result<McpResourceListResult, AgentError> {
    let (method, key) = kind.method();
    let work = named.find()?.page(method, key, cursor);
    let (data, next_cursor) = in_time(named.name, work).await?;
    Ok(McpResourceListResult { data, next_cursor })
}

/// What a resource holds.
pub async fn read(named: Named<'_>, uri: &str) -> Result<McpResourceReadResult, AgentError> {
    let work = named.find()?.request("resources/read", json!({"uri": uri}));
    let mut answer = in_time(named.name, work).await?;
    let contents = match answer.get_mut("contents").map(Value::take) {
        Some(Value::Array(contents)) => contents,
        _ => Vec::new(),
    };
    Ok(McpResourceReadResult { contents })
}

async fn in_time<T>(server: &str, work: impl Future<Output = Result<T, UseError>>) -> Result<T, AgentError> {
    match tokio::time::timeout(LIMIT * 2, work).await {
        Ok(done) => done.map_err(|error| AgentError::Server(error.to_string())),
        Err(_) => Err(AgentError::Server(format!(
            "The MCP server {} did not answer within {} seconds. Try again later.",
            shown_name(server),
            (LIMIT * 2).as_secs()
        ))),
    }
}
