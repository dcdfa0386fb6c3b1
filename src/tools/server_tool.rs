//! A tool of a server, under the name that the model is offered.

use super::{Call, Host, Payload, Tool, ToolError, ToolOutput};
use crate::ids::ItemId;
use crate::mcp::{Pinned, Server, ToolInfo, names, shown_name};
use crate::model::item::ToolSpec;
use futures::future::BoxFuture;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Tools of servers that a request carries; providers refuse one with many more.
pub const MOST: usize = 100;

pub struct ServerTool {
    name: String,
    server: Arc<Server>,
    info: Arc<ToolInfo>,
}

/// A call of a tool of a server.
pub struct ServerCall {
    pub item_id: ItemId,
    pub server: Arc<Server>,
    pub tool: Arc<ToolInfo>,
    pub arguments: Map<String, Value>,
}

impl ServerCall {
    /// The tool as it is now, in the form that a grant is tied to. Looks on the disk.
    ///
    /// # Errors
    /// That broke off; a sentence.
    pub async fn pinned(&self) -> Result<Pinned, String> {
        let (server, tool) = (self.server.clone(), self.tool.clone());
        let looked = tokio::task::spawn_blocking(move || Pinned::of(&server, &tool));
        looked.await.map_err(|error| {
            tracing::error!(%error, "a tool was not looked at");
            format!(
                "What the MCP server {} runs could not be looked at.",
                shown_name(&self.server.name)
            )
        })
    }
}

/// The tools of servers that one request carries.
pub struct Offered {
    pub tools: Vec<Arc<dyn Tool>>,
    /// How many of which server are left out.
    pub left_out: Vec<(String, usize)>,
}

/// The tools of all these servers, as far as a request can carry them. A server with many takes nothing from those with few.
pub fn all(servers: &[Arc<Server>]) -> Offered {
    let of_each: Vec<(&Arc<Server>, Vec<Arc<ToolInfo>>)> =
        servers.iter().map(|server| (server, server.tools())).collect();
    let wanted: Vec<usize> = of_each.iter().map(|(_, tools)| tools.len()).collect();
    let room = shares(&wanted, MOST);
    let left_out = of_each
        .iter()
        .zip(&room)
        .filter(|((_, tools), room)| tools.len() > **room);
    let left_out = left_out
        .map(|((server, tools), room)| (server.name.clone(), tools.len() - room))
        .collect();
    // Names are made for all, so that they stay the same whatever is left out.
    let tools: Vec<(&Arc<Server>, Arc<ToolInfo>, bool)> = of_each
        .into_iter()
        .zip(room)
        .flat_map(|((server, tools), room)| {
            let tools = tools.into_iter().enumerate();
            tools.map(move |(at, tool)| (server, tool, at < room))
        })
        .collect();
    let keys: Vec<(&str, &str)> = tools
        .iter()
        .map(|(server, tool, _)| (server.name.as_str(), tool.name.as_str()))
        .collect();
    let named = names::qualify(&keys);
    let offered = tools
        .into_iter()
        .zip(named)
        .filter(|((_, _, is_offered), _)| *is_offered);
    let offered = offered.map(|((server, info, _), name)| {
        let server = server.clone();
        Arc::new(ServerTool { name, server, info }) as Arc<dyn Tool>
    });
    Offered {
        tools: offered.collect(),
        left_out,
    }
}

/// How many of so many each gets where there is room for no more: those who want little get it, the others share the rest.
fn shares(wanted: &[usize], mut room: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by_key(|at| wanted[*at]);
    let mut given = vec![0; wanted.len()];
    for (done, at) in order.into_iter().enumerate() {
        given[at] = wanted[at].min(room.div_ceil(wanted.len() - done));
        room -= given[at];
    }
    given
}

impl Tool for ServerTool {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec::Function {
            name: self.name.clone(),
            description: self.info.description_for_model(&self.server.name),
            strict: false,
            parameters: self.info.schema_for_model.clone(),
        }
    }

    fn only_reads(&self) -> bool {
        self.info.read_only || self.server.settings.parallel
    }

    fn changes_nothing(&self) -> bool {
        self.info.read_only
    }

    fn run<'a>(&'a self, call: &'a Call, host: &'a dyn Host) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let arguments = read(call)?;
            host.call_server_tool(ServerCall {
                item_id: call.id.as_str().into(),
                server: self.server.clone(),
                tool: self.info.clone(),
                arguments,
            })
            .await
        })
    }
}

/// The arguments: an object, or nothing.
fn read(call: &Call) -> Result<Map<String, Value>, ToolError> {
    if let Payload::Function(text) = &call.payload
        && matches!(text.trim(), "" | "null")
    {
        return Ok(Map::new());
    }
    super::arguments(call)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_shared_so_that_many_take_nothing_from_few() {
        for (wanted, room, given) in [
            (&[][..], 10, &[][..]),
            (&[3, 4], 10, &[3, 4]),
            (&[20, 4], 10, &[6, 4]),
            (&[20, 4, 20], 10, &[3, 4, 3]),
            (&[2, 20, 1], 10, &[2, 7, 1]),
            (&[9, 9, 9], 2, &[1, 1, 0]),
        ] {
            assert_eq!(shares(wanted, room), given, "{wanted:?}");
        }
    }
}
