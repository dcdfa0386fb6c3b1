//! A tool of a server, under the name that the model is offered.

use super::{Call, Host, Payload, Tool, ToolError, ToolOutput};
use crate::ids::ItemId;
use crate::mcp::{Server, ToolInfo, names};
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

/// The tools of all these servers, as far as a request can carry them, and how many are left out.
pub fn all(servers: &[Arc<Server>]) -> (Vec<Arc<dyn Tool>>, usize) {
    let tools: Vec<(&Arc<Server>, Arc<ToolInfo>)> = servers
        .iter()
        .flat_map(|server| server.tools().into_iter().map(move |tool| (server, tool)))
        .collect();
    let keys: Vec<(&str, &str)> = tools
        .iter()
        .map(|(server, tool)| (server.name.as_str(), tool.name.as_str()))
        .collect();
    let named = names::qualify(&keys);
    let left_out = tools.len().saturating_sub(MOST);
    let offered = tools.into_iter().zip(named).take(MOST).map(|((server, info), name)| {
        let server = server.clone();
        Arc::new(ServerTool { name, server, info }) as Arc<dyn Tool>
    });
    (offered.collect(), left_out)
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
