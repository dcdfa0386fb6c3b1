use crate::protocol::{item::Confined, settings::*};
use std::path::Path;
pub struct Request<'a> {
    pub argv: &'a [String],
    pub cwd: &'a Path,
    pub approval_policy: ApprovalPolicy,
    pub sandbox_policy: &'a SandboxPolicy,
    pub escalation: Option<&'a str>,
    pub grants: &'a SessionGrants,
}
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Capability(String);
impl Capability {
    pub fn of(argv: &[String], _c: Confined) -> Self {
        Self(argv.join(" "))
    }
}
impl std::fmt::Display for Capability {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
#[derive(Default, Clone, Debug)]
pub struct SessionGrants(Vec<Capability>);
impl SessionGrants {
    pub fn insert(&mut self, c: Capability) {
        self.0.push(c)
    }
    pub fn covers(&self, c: &Capability) -> bool {
        self.0.contains(c)
    }
}
pub enum Verdict {
    Run(Confined),
    Ask {
        reason: String,
        confined: Confined,
        scope: Capability,
    },
    Refuse {
        reason: String,
    },
}
pub fn decide(_r: &Request<'_>) -> Verdict {
    Verdict::Run(Confined::Workspace)
}
