//! One attempt to get out: what it runs, and where it counts.

use super::super::place::User;

/// A policy that attempts are made under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    ReadOnly,
    Workspace,
    /// The workspace's, with the network let through.
    Network,
}

impl Policy {
    pub(super) fn options(self) -> &'static [&'static str] {
        match self {
            Self::ReadOnly => &["--policy", "read-only"],
            Self::Workspace => &["--policy", "workspace-write"],
            Self::Network => &["--policy", "workspace-write", "--network"],
        }
    }
}

/// What stands around an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Around {
    /// All walls.
    Everything,
    /// Landlock and the filter of system calls alone: the person may not make namespaces.
    NoNamespaces,
    /// No sandbox: the contrast.
    Nothing,
}

/// As whom an attempt gets through where there is no sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Real {
    Everyone,
    Root,
    /// It would do harm, or it depends on what a machine has: it is tried inside only.
    Untried,
}

/// Python that tries to get out, with the names of `driver.py` and of the round.
///
/// Whether it did is seen outside: in its folder `OUT`, in the repository around its folder `HERE`, at the person's
/// other programs, in a secret that it was able to print. What leaves no trace says `through()` behind the call.
#[derive(Debug)]
pub(super) struct Attempt {
    pub name: &'static str,
    pub script: &'static str,
    real: Real,
    /// Policies under which it is allowed.
    allowed: &'static [Policy],
    /// Something is left that only the end of the command takes away.
    pub settles: bool,
    /// A stated limit of the sandbox without namespaces.
    pub weaker: Option<&'static str>,
}

/// One that works for everyone and is an escape under every policy.
pub(super) const fn attempt(name: &'static str, script: &'static str) -> Attempt {
    Attempt {
        name,
        script,
        real: Real::Everyone,
        allowed: &[],
        settles: false,
        weaker: None,
    }
}

impl Attempt {
    pub(super) const fn by_root(mut self) -> Self {
        self.real = Real::Root;
        self
    }

    pub(super) const fn inside_only(mut self) -> Self {
        self.real = Real::Untried;
        self
    }

    /// Writing to the workspace or the temporary folder, which only `read-only` forbids.
    pub(super) const fn where_nothing_may_be_written(mut self) -> Self {
        self.allowed = &[Policy::Workspace, Policy::Network];
        self
    }

    pub(super) const fn where_there_is_no_network(mut self) -> Self {
        self.allowed = &[Policy::Network];
        self
    }

    pub(super) const fn seen_at_the_end(mut self) -> Self {
        self.settles = true;
        self
    }

    pub(super) const fn weaker_without_namespaces(mut self, limit: &'static str) -> Self {
        self.weaker = Some(limit);
        self
    }

    /// Whether it must get through where there is no sandbox.
    pub(super) fn is_real_for(&self, user: User) -> bool {
        match self.real {
            Real::Everyone => true,
            Real::Root => user == User::Own && super::super::place::is_root(),
            Real::Untried => false,
        }
    }

    /// Whether it must fail there.
    pub(super) fn counts_under(&self, policy: Policy) -> bool {
        !self.allowed.contains(&policy)
    }
}
