//! What responses cost, as far as prices are known, and the bounds of a turn. What an agent costs counts for the turn that set it to
//! work, too.

use crate::protocol::model::Cost;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The share of its bound at which a turn is warned of.
const NEAR: f64 = 0.8;

/// What was spent before, with one more response; `has_others` if there were responses before it.
pub(super) fn with(before: Option<Cost>, has_others: bool, more: Option<f64>) -> Option<Cost> {
    match (before, more) {
        (None, None) => None,
        (None, Some(usd)) => Some(Cost {
            usd,
            is_partial: has_others,
        }),
        (Some(before), more) => Some(Cost {
            usd: before.usd + more.unwrap_or_default(),
            is_partial: before.is_partial || more.is_none(),
        }),
    }
}

/// How a turn stands to its bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Standing {
    Below,
    /// So much of it is spent, which was not said yet.
    Near(f64),
    /// Responses cost nobody knows what, which was not said yet.
    Unknown,
    Over(f64),
}

/// What a turn has spent, with the agents that it set to work.
#[derive(Debug, Default)]
pub struct Spending {
    spent: Mutex<Spent>,
    /// That of the turn that it works for.
    above: Option<Arc<Self>>,
}

#[derive(Debug, Default)]
struct Spent {
    cost: Option<Cost>,
    requests: u32,
    has_responses: bool,
    /// The person was warned.
    has_warned: bool,
}

impl Spending {
    /// Of a turn that works for another one.
    pub(super) fn below(above: Option<Arc<Self>>) -> Self {
        Self {
            above,
            ..Self::default()
        }
    }

    fn lock(&self) -> MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This one, and those of whom it works for. One is locked at a time.
    fn all(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |one| one.above.as_deref())
    }

    /// One more request to the model; false, and none, if there were as many as there may be.
    pub(super) fn ask(&self, most: u32) -> bool {
        if self.all().any(|one| one.lock().requests >= most) {
            return false;
        }
        self.all().for_each(|one| one.lock().requests += 1);
        true
    }

    /// One more response; absent where its price is not known.
    pub(super) fn add(&self, usd: Option<f64>) {
        for one in self.all() {
            let mut spent = one.lock();
            spent.cost = with(spent.cost, spent.has_responses, usd);
            spent.has_responses = true;
        }
    }

    /// What was spent, as far as it is known.
    pub fn cost(&self) -> Option<Cost> {
        self.lock().cost
    }

    pub(super) fn standing(&self, most: f64) -> Standing {
        let usd = |one: &Self| one.cost().map_or(0.0, |cost| cost.usd);
        let above = self.all().skip(1).map(usd).find(|usd| *usd > 0.0 && *usd >= most);
        if let Some(usd) = above {
            return Standing::Over(usd);
        }
        let mut spent = self.lock();
        let usd = spent.cost.map_or(0.0, |cost| cost.usd);
        let is_unknown = spent.has_responses && spent.cost.is_none_or(|cost| cost.is_partial);
        match usd {
            usd if usd > 0.0 && usd >= most => Standing::Over(usd),
            _ if spent.has_warned => Standing::Below,
            usd if usd > 0.0 && usd >= most * NEAR => {
                spent.has_warned = true;
                Standing::Near(usd)
            }
            _ if is_unknown => {
                spent.has_warned = true;
                Standing::Unknown
            }
            _ => Standing::Below,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_said_to_be_more() {
        let cost = |usd: f64, is_partial: bool| Some(Cost { usd, is_partial });
        for (before, has_others, more, wanted) in [
            (None, false, None, None),
            (None, false, Some(0.5), cost(0.5, false)),
            (None, true, Some(0.5), cost(0.5, true)),
            (cost(0.5, false), true, Some(0.25), cost(0.75, false)),
            (cost(0.5, false), true, None, cost(0.5, true)),
            (cost(0.5, true), true, Some(0.25), cost(0.75, true)),
        ] {
            assert_eq!(with(before, has_others, more), wanted, "{before:?} {more:?}");
        }
    }

    #[test]
    fn a_turn_is_warned_of_once_and_then_is_over() {
        let spending = Spending::default();
        assert_eq!(spending.standing(1.0), Standing::Below);
        spending.add(Some(0.5));
        assert_eq!(spending.standing(1.0), Standing::Below);
        spending.add(Some(0.375));
        assert_eq!(spending.standing(1.0), Standing::Near(0.875));
        assert_eq!(spending.standing(1.0), Standing::Below);
        spending.add(Some(0.125));
        assert_eq!(spending.standing(1.0), Standing::Over(1.0));
        let unknown = Spending::default();
        unknown.add(None);
        assert_eq!(unknown.standing(1.0), Standing::Unknown);
        assert_eq!(unknown.standing(1.0), Standing::Below);
        let free = Spending::default();
        free.add(Some(0.0));
        assert_eq!(free.standing(0.0), Standing::Below);
    }

    /// An agent spends what the turn may spend that it works for.
    #[test]
    fn what_agents_spend_counts_above_them() {
        let main = Arc::new(Spending::default());
        let agents = [0, 1].map(|_| Arc::new(Spending::below(Some(main.clone()))));
        let deeper = Spending::below(Some(agents[0].clone()));
        main.add(Some(0.125));
        agents[1].add(Some(0.25));
        deeper.add(Some(0.5));
        let costs = [&main, &agents[0], &agents[1]].map(|one| one.cost().map(|cost| cost.usd));
        assert_eq!(costs, [Some(0.875), Some(0.5), Some(0.25)]);
        assert_eq!(agents[1].standing(0.875), Standing::Over(0.875));
        assert_eq!(deeper.standing(0.875), Standing::Over(0.875));
        assert_eq!(main.standing(0.875), Standing::Over(0.875));
        assert_eq!(agents[1].standing(2.0), Standing::Below);
        let asked = [&main, &agents[0], &agents[1], &main].map(|one| one.ask(3));
        assert_eq!(asked, [true, true, true, false]);
        assert!(!deeper.ask(3) && !agents[1].ask(3) && deeper.ask(4));
    }
}
