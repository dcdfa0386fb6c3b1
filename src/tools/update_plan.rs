//! `update_plan`: shows the person what the model means to do, and how far it is.

use super::{Call, Host, Tool, ToolError, ToolOutput, arguments, schema};
use crate::model::item::ToolSpec;
use crate::protocol::item::PlanStep;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

pub struct UpdatePlan;

#[derive(Deserialize)]
struct Arguments {
    explanation: Option<String>,
    plan: Vec<PlanStep>,
}

impl Tool for UpdatePlan {
    fn spec(&self) -> ToolSpec {
        ToolSpec::Function {
            name: "update_plan".to_owned(),
            description:
                "Shows the person your plan and where you are in it. For work of several steps; the whole plan each time, \
                with at most one step in progress."
                    .to_owned(),
            strict: false,
            parameters: schema(
                json!({
                    "explanation": {"type": "string", "description": "Why it changed."},
                    "plan": {
                        "type": "array",
                        "items": schema(
                            json!({
                                "step": {"type": "string"},
                                "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
                            }),
                            &["step", "status"],
                        ),
                    },
                }),
                &["plan"],
            ),
        }
    }

    fn only_reads(&self) -> bool {
        true
    }

    fn run<'a>(&'a self, call: &'a Call, host: &'a dyn Host) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let Arguments { explanation, plan } = arguments(call)?;
            host.show_plan(call.id.as_str().into(), explanation, plan);
            Ok(ToolOutput::ok("The plan is shown."))
        })
    }
}
