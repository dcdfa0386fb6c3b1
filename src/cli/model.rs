//! `countersign model`: which models can be had.

use super::headless::{self, Places};
use crate::agent::{Agent, provider};
use crate::protocol::model::Model;
use crate::secrets::Secrets;
use crate::shown;
use crate::tools::Registry;
use std::process::ExitCode;
use std::sync::Arc;

const NAME: &str = "model";

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List the models of the configured provider; without a key, those of the local servers that answer.
    List(List),
}

#[derive(Debug, clap::Args)]
struct List {
    /// Those of another provider, by its id in the configuration.
    #[arg(long, value_name = "ID")]
    provider: Option<String>,
    /// One line of JSON each.
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> ExitCode {
    let Command::List(wish) = args.command;
    match list(&wish) {
        Ok(text) => {
            headless::print(text.trim_end());
            ExitCode::SUCCESS
        }
        Err(problem) => {
            headless::say(NAME, &problem);
            ExitCode::FAILURE
        }
    }
}

/// # Errors
/// There is no such provider, or it has no model that is known.
fn list(wish: &List) -> Result<String, String> {
    let places = Places::at(None)?;
    let env = crate::cli::environment();
    let secrets = Secrets::of_environment(&env);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start: {error}"))?;
    runtime.block_on(async {
        let setup = headless::setup(&places, env, secrets, NAME);
        let agent = Agent::with(setup, Registry::standard(), Vec::new());
        let config = agent
            .load_config(Some(&places.cwd), None)
            .map_err(|error| error.to_string())?
            .config;
        let id = wish.provider.clone().unwrap_or_else(|| config.model_provider.clone());
        let named = config.provider(&id).map_err(|error| error.to_string())?;
        let (name, address) = (named.name.clone(), named.base_url.clone());
        let current = config.model.clone().unwrap_or_default();
        let models = provider::offered(Arc::new(config), id, current, agent.services().clone()).await;
        if models.is_empty() {
            return Err(format!(
                "{} ({}) lists no models; `countersign doctor` checks whether it can be reached",
                shown::line(&name),
                shown::line(&address)
            ));
        }
        models.iter().map(|model| line(model, wish.json)).collect()
    })
}

fn line(model: &Model, is_json: bool) -> Result<String, String> {
    if is_json {
        let json = serde_json::to_string(model).map_err(|error| error.to_string())?;
        return Ok(json + "\n");
    }
    let mut text = format!("{}  {}", shown::line(&model.id), shown::line(&model.provider));
    if let Some(window) = model.context_window {
        text.push_str(&format!("  {window} tokens"));
    }
    Ok(text + "\n")
}
