//! The MCP servers that a client names for a session: each is a program that would run with the person's rights, or an
//! address, and a project may have put it into the editor's settings. So none counts before the person has seen it whole and
//! allowed it, which is asked when they send their first message.

use super::error::Failure;
use super::permission;
use super::serve::Server;
use super::sessions::apart;
use super::update;
use crate::agent::thread::ThreadHandle;
use crate::chat::text::in_code;
use crate::config::consent;
use crate::ids::{ItemId, ThreadId};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::PoisonError;

/// Servers by name, as our configuration has them.
pub(super) type Offered = Map<String, Value>;

impl Server {
    /// Keeps what a client named for a session, in the place of what it named before.
    pub(super) fn offer(&self, session: &ThreadId, offered: Offered) {
        let mut all = self.offered.lock().unwrap_or_else(PoisonError::into_inner);
        match offered.is_empty() {
            true => all.remove(session),
            false => all.insert(session.clone(), offered),
        };
    }

    pub(super) fn take_offered(&self, session: &ThreadId) -> Option<Offered> {
        self.offered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(session)
    }

    /// Asks about the servers that were named for a session, and has it go on with those that the person allows. What is
    /// asked about when this is dropped is asked about again.
    ///
    /// # Errors
    /// One that was allowed cannot be configured.
    pub(super) async fn admit_offered(&self, thread: &ThreadHandle) -> Result<(), Failure> {
        let Some(offered) = self.take_offered(thread.id()) else {
            return Ok(());
        };
        let mut kept = Kept {
            server: self,
            session: thread.id(),
            offered: Some(offered.clone()),
        };
        let cwd = thread.settings().cwd;
        let (agent, folder) = (self.agent.clone(), cwd.clone());
        let (remembered, known) = apart(move || {
            let known = agent.load_config(Some(&folder), None).map(|loaded| loaded.values);
            (
                consent::read(&agent.services().home, &[folder]),
                known.unwrap_or_default(),
            )
        })
        .await?;
        let mut admitted = Map::new();
        for (name, described) in offered {
            let fingerprint =
                consent::fingerprint_in(&cwd, &format!("mcp_servers.{}", consent::key_part(&name)), &described);
            let allowed = match remembered.allowed.contains(&fingerprint) {
                true => true,
                false if consent::plain_part(&name).is_none() => {
                    self.leave_out(thread, &name).await;
                    false
                }
                false => {
                    // Nothing of the one that has this name already goes along (`config::described`).
                    let takes_a_place = known["mcp_servers"].get(&name).is_some();
                    let asked = (name.as_str(), &described, takes_a_place);
                    self.may_start(thread, &cwd, asked, &fingerprint).await
                }
            };
            if allowed {
                self.agent.change_client_settings(|settings| {
                    settings.allowed.insert(fingerprint);
                });
                admitted.insert(name, described);
            }
        }
        kept.offered = None;
        if !admitted.is_empty() {
            let overrides = [("mcp_servers".to_owned(), Value::Object(admitted))]
                .into_iter()
                .collect();
            self.agent.add_overrides(thread, overrides).await?;
        }
        Ok(())
    }

    /// Says that a server is not asked about, since its name could pass for words of the question.
    async fn leave_out(&self, thread: &ThreadHandle, name: &str) {
        const SHOWN: usize = 60;
        let begins: String = name.chars().take(SHOWN).collect();
        let words = format!(
            "The MCP server {} in your editor's settings is not started: its name has blanks or other characters that could \
             pass for words of a question, or is too long. Give it a plain name, or put it into your own config.toml.\n\n",
            in_code(&consent::key_part(&begins))
        );
        let update = update::chunk("agent_thought_chunk", &ItemId::fresh(), &words);
        let params = json!({"sessionId": thread.id(), "update": update});
        self.peer.notify("session/update", params).await;
    }

    /// Asks about one server; an answer for always is remembered for the folder.
    async fn may_start(
        &self,
        thread: &ThreadHandle,
        cwd: &Path,
        asked: (&str, &Value, bool),
        fingerprint: &str,
    ) -> bool {
        let always = match permission::tool_server(&self.peer, thread.id(), asked).await {
            permission::Start::No => return false,
            permission::Start::Once => return true,
            permission::Start::Always => fingerprint.to_owned(),
        };
        let (home, folders) = (self.agent.services().home.clone(), vec![cwd.to_owned()]);
        let (key, value) = (format!("mcp_servers.{}", consent::key_part(asked.0)), asked.1.clone());
        let written = apart(move || {
            consent::change(&home, &folders, |workspace| {
                workspace.answer(always, (&key, &value), true);
            })
        });
        if let Ok(Err(error)) = written.await {
            tracing::warn!(%error, "the answer is not remembered: the same server is asked about again");
        }
        true
    }
}

/// Gives what was offered back when the questions are broken off.
struct Kept<'a> {
    server: &'a Server,
    session: &'a ThreadId,
    offered: Option<Offered>,
}

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        if let Some(offered) = self.offered.take() {
            self.server.offer(self.session, offered);
        }
    }
}

/// `mcpServers` of `session/new` and `session/load`.
///
/// # Errors
/// A server cannot be meant as it stands; which, and why.
pub(super) fn offered(servers: &Value) -> Result<Offered, Failure> {
    let list = match servers {
        Value::Null => return Ok(Map::new()),
        Value::Array(list) => list,
        _ => return Err(Failure::params("`mcpServers` must be a list.")),
    };
    let mut all = Map::new();
    for (at, server) in list.iter().enumerate() {
        let wrong = |what: &str| Failure::params(format!("Server {at} of `mcpServers` {what}."));
        let name = server["name"].as_str().map(str::trim).filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| wrong("has no `name`"))?;
        let pairs = |key: &str| -> Result<Value, Failure> {
            let mut pairs = Map::new();
            for pair in server[key].as_array().into_iter().flatten() {
                let (Some(name), Some(_)) = (pair["name"].as_str(), pair["value"].as_str()) else {
                    return Err(wrong(&format!("has a pair in `{key}` without name or value")));
                };
                pairs.insert(name.to_owned(), pair["value"].clone());
            }
            Ok(Value::Object(pairs))
        };
        let described = match server["type"].as_str() {
            Some("http") => json!({
                "url": server["url"].as_str().ok_or_else(|| wrong("has no `url`"))?,
                "http_headers": pairs("headers")?,
            }),
            Some("sse") => return Err(wrong("is of type sse, which is not spoken here; use http")),
            None | Some("stdio") => {
                let args: Vec<&Value> = server["args"].as_array().into_iter().flatten().collect();
                if !args.iter().all(|argument| argument.is_string()) {
                    return Err(wrong("has an argument that is no text"));
                }
                json!({
                    "command": server["command"].as_str().ok_or_else(|| wrong("has no `command`"))?,
                    "args": args,
                    "env": pairs("env")?,
                })
            }
            Some(_) => return Err(wrong("is of no known type; there are stdio and http")),
        };
        if all.insert(name.to_owned(), described).is_some() {
            return Err(wrong("has the name of another one"));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_by_table() {
        let stdio = json!({"name": "s", "command": "/bin/s", "args": ["-x"], "env": [{"name": "A", "value": "b"}]});
        let http =
            json!({"type": "http", "name": "h", "url": "https://h.example", "headers": [{"name": "K", "value": "v"}]});
        let wanted = json!({
            "s": {"command": "/bin/s", "args": ["-x"], "env": {"A": "b"}},
            "h": {"url": "https://h.example", "http_headers": {"K": "v"}},
        });
        assert_eq!(offered(&json!([stdio, http])).map(Value::Object), Ok(wanted));
        for none in [json!(null), json!([])] {
            assert_eq!(offered(&none), Ok(Map::new()));
        }
        for bad in [
            json!({}),
            json!([7]),
            json!([{"command": "x"}]),
            json!([{"name": " ", "command": "x"}]),
            json!([{"name": "s"}]),
            json!([{"name": "s", "command": "x", "args": [1]}]),
            json!([{"name": "s", "command": "x", "env": [{"name": "A"}]}]),
            json!([{"name": "s", "type": "sse", "url": "https://x"}]),
            json!([{"name": "s", "type": "carrier pigeon"}]),
            json!([{"name": "s", "command": "x"}, {"name": "s", "command": "y"}]),
        ] {
            assert!(offered(&bad).is_err(), "{bad}");
        }
    }
}
