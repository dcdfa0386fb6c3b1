//! Keys as editors write them: in camel case, and by their other names.

use super::keys::{self, Key, Kind};
use super::tree::{Data, Node};

/// Entries as an editor writes them, under the names that the table of keys has for them.
pub(super) fn normalized(entries: &[(String, Node)], keys: &'static [Key]) -> Vec<(String, Node)> {
    let one = |(written, node): &(String, Node)| {
        let name = match keys::find(keys, written) {
            Some(_) => written.clone(),
            None => keys::snake(written),
        };
        let name = keys::proper(keys, &name).to_owned();
        let data = match (keys::find(keys, &name).map(|key| key.kind), &node.data) {
            (Some(Kind::Table(keys)), Data::Table(entries)) => Data::Table(normalized(entries, keys)),
            (Some(Kind::Map(keys)), Data::Table(entries)) => named(entries, keys),
            (Some(Kind::Approval), Data::Table(entries)) => named(entries, keys::GRANULAR),
            (_, data) => data.clone(),
        };
        (name, Node { data, line: node.line })
    };
    entries.iter().map(one).collect()
}

/// The same for a table with free names, each of which holds these keys.
fn named(entries: &[(String, Node)], keys: &'static [Key]) -> Data {
    let one = |(name, node): &(String, Node)| {
        let data = match &node.data {
            Data::Table(entries) => Data::Table(normalized(entries, keys)),
            data => data.clone(),
        };
        (name.clone(), Node { data, line: node.line })
    };
    Data::Table(entries.iter().map(one).collect())
}

#[cfg(test)]
mod tests {
    use super::super::tree::of_json;
    use super::*;
    use serde_json::json;

    #[test]
    fn names_are_those_of_the_table_of_keys() {
        let of = |value: serde_json::Value| normalized(&of_json(value.as_object().expect("a table")), keys::KEYS);
        for (written, known) in [
            (json!({"approvalPolicy": "never"}), json!({"approval_policy": "never"})),
            (json!({"active_profile": "x"}), json!({"profile": "x"})),
            (
                json!({"approval_policy.granular.sandboxApproval": true}),
                json!({"approval_policy": {"granular": {"sandbox_approval": true}}}),
            ),
            // Free names stay as they are.
            (
                json!({"mcpServers": {"myServer": {"envVars": [], "tools": {"aTool": {"approvalMode": "auto"}}}}}),
                json!({"mcp_servers": {"myServer": {"env_vars": [], "tools": {"aTool": {"approval_mode": "auto"}}}}}),
            ),
            (
                json!({"mcp_servers": {"s": {"env": {"aName": "x"}}}}),
                json!({"mcp_servers": {"s": {"env": {"aName": "x"}}}}),
            ),
        ] {
            assert_eq!(
                of(written.clone()),
                of_json(known.as_object().expect("a table")),
                "{written}"
            );
        }
    }
}
