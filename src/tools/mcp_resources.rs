//! `list_mcp_resources`, `list_mcp_resource_templates` and `read_mcp_resource`: what MCP servers hold beside their tools.

use super::{Call, Host, Look, Tool, ToolError, ToolOutput, arguments, schema, shown_arguments};
use crate::mcp::{Server, result, untrusted};
use crate::model::item::ToolSpec;
use futures::future::{BoxFuture, join_all};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// What is listed.
#[derive(Clone, Copy)]
pub enum Kind {
    Resources,
    Templates,
}

impl Kind {
    /// The method of the protocol, and where the answer has the list.
    pub fn method(self) -> (&'static str, &'static str) {
        match self {
            Self::Resources => ("resources/list", "resources"),
            Self::Templates => ("resources/templates/list", "resourceTemplates"),
        }
    }
}

struct List {
    kind: Kind,
    servers: Arc<[Arc<Server>]>,
}

struct Read {
    servers: Arc<[Arc<Server>]>,
}

/// The three tools, for these servers; none where no server has resources.
pub fn all(servers: &[Arc<Server>]) -> Vec<Arc<dyn Tool>> {
    let servers: Arc<[Arc<Server>]> = servers
        .iter()
        .filter(|server| server.has_resources())
        .cloned()
        .collect();
    if servers.is_empty() {
        return Vec::new();
    }
    let list = |kind| {
        let servers = servers.clone();
        Arc::new(List { kind, servers }) as Arc<dyn Tool>
    };
    vec![
        list(Kind::Resources),
        list(Kind::Templates),
        Arc::new(Read {
            servers: servers.clone(),
        }),
    ]
}

#[derive(Deserialize)]
struct ListArguments {
    server: Option<String>,
    cursor: Option<String>,
}

#[derive(Deserialize)]
struct ReadArguments {
    server: String,
    uri: String,
}

impl Tool for List {
    fn spec(&self) -> ToolSpec {
        let (name, what) = match self.kind {
            Kind::Resources => (
                "list_mcp_resources",
                "resources (files, records and other texts, by URI)",
            ),
            Kind::Templates => (
                "list_mcp_resource_templates",
                "resource templates (URIs with gaps to fill in, whose resources can be read)",
            ),
        };
        let known = names(&self.servers);
        ToolSpec::Function {
            name: name.to_owned(),
            description: format!("Lists the {what} of MCP servers. Servers that have some: {known}."),
            strict: false,
            parameters: schema(
                json!({
                    "server": {"type": "string", "description": "One of the servers. Default: all of them."},
                    "cursor": {"type": "string", "description": "The nextCursor of the page before; needs server."},
                }),
                &[],
            ),
        }
    }

    fn only_reads(&self) -> bool {
        true
    }

    fn look(&self, call: &Call) -> Option<Look> {
        let title = match self.kind {
            Kind::Resources => "List resources of MCP servers",
            Kind::Templates => "List resource templates of MCP servers",
        };
        Some(Look {
            title: title.to_owned(),
            arguments: shown_arguments(call),
        })
    }

    fn run<'a>(&'a self, call: &'a Call, host: &'a dyn Host) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let ListArguments { server, cursor } = arguments(call)?;
            let server = server.filter(|name| !name.is_empty());
            let cursor = cursor.filter(|cursor| !cursor.is_empty());
            let (method, key) = self.kind.method();
            let work = async {
                match server {
                    Some(name) => {
                        let found = find(&self.servers, &name)?;
                        if cursor.as_ref().is_some_and(|cursor| !found.has_given(cursor)) {
                            return Err(ToolError::Answer(format!(
                                "{name} has given no such cursor: leave it out to begin at the first page."
                            )));
                        }
                        let (page, next) = found
                            .page(method, key, cursor.as_deref())
                            .await
                            .map_err(|error| ToolError::Answer(error.to_string()))?;
                        Ok(json!({"server": name, key: page, "nextCursor": next}))
                    }
                    None if cursor.is_some() => Err(ToolError::Answer(
                        "A cursor belongs to one server: name it in `server`.".to_owned(),
                    )),
                    None => Ok(list_all(&self.servers, method, key).await),
                }
            };
            let answer = stoppable(host, work).await??;
            Ok(ToolOutput::ok(result::cut(
                result::json_text(&untrusted::visible_value(&answer)),
                result::MOST_TEXT,
            )))
        })
    }
}

async fn list_all(servers: &[Arc<Server>], method: &str, key: &str) -> Value {
    let lists = join_all(servers.iter().map(|server| server.all(method, key))).await;
    let by_server = servers.iter().zip(lists).map(|(server, list)| match list {
        Ok(list) => json!({"server": server.name, key: list}),
        Err(error) => json!({"server": server.name, "error": error.to_string()}),
    });
    Value::Array(by_server.collect())
}

impl Tool for Read {
    fn spec(&self) -> ToolSpec {
        ToolSpec::Function {
            name: "read_mcp_resource".to_owned(),
            description: format!(
                "Reads a resource of an MCP server by its URI. Servers that have some: {}.",
                names(&self.servers)
            ),
            strict: false,
            parameters: schema(
                json!({
                    "server": {"type": "string", "description": "The server that listed it."},
                    "uri": {"type": "string", "description": "The resource's URI, as it was listed or made from a template."},
                }),
                &["server", "uri"],
            ),
        }
    }

    fn only_reads(&self) -> bool {
        true
    }

    fn look(&self, call: &Call) -> Option<Look> {
        let title = match arguments::<ReadArguments>(call) {
            Ok(ReadArguments { server, uri }) => format!("Read {uri} of {server}"),
            Err(_) => "Read a resource of an MCP server".to_owned(),
        };
        Some(Look {
            title,
            arguments: shown_arguments(call),
        })
    }

    fn run<'a>(&'a self, call: &'a Call, host: &'a dyn Host) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let ReadArguments { server, uri } = arguments(call)?;
            let found = find(&self.servers, &server)?;
            if let Ok(Some(path)) = crate::workspace::uri::to_path(&uri) {
                // Closed to every tool is closed to this one.
                host.may_read(&path)?;
            }
            if !stoppable(host, found.has_listed(&uri)).await? {
                host.may_read_resource(call.id.as_str().into(), found.clone(), uri.clone())
                    .await?;
            }
            let work = found.request("resources/read", json!({"uri": uri}));
            let answer = stoppable(host, work)
                .await?
                .map_err(|error| ToolError::Answer(error.to_string()))?;
            let result::Outcome { text, images, .. } = result::resource(&answer);
            Ok(ToolOutput {
                text,
                images,
                success: Some(true),
            })
        })
    }
}

/// The work, or the word that the turn was stopped.
async fn stoppable<T>(host: &dyn Host, work: impl Future<Output = T>) -> Result<T, ToolError> {
    let cancel = host.cancelled();
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(ToolError::Answer("The person stopped the turn before the server answered.".to_owned())),
        done = work => Ok(done),
    }
}

fn names(servers: &[Arc<Server>]) -> String {
    let names: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
    names.join(", ")
}

fn find<'a>(servers: &'a [Arc<Server>], name: &str) -> Result<&'a Arc<Server>, ToolError> {
    servers.iter().find(|server| server.name == name).ok_or_else(|| {
        ToolError::Answer(format!(
            "There is no MCP server {name} with resources. There are: {}.",
            names(servers)
        ))
    })
}
