//! Picks free hosts, the preferred ones first.

use super::{EqualClasses, FlowUnit, Matching};

impl Matching<'_> {
    /// Picks free hosts tier by tier. Within a tier, the domain comes first in which the demand has
    /// fewest hosts. Hosts in unknown domains come in the order of their choice.
    pub(in crate::plan) fn take_free(&mut self, demand: usize) {
        let problem = self.problem;
        let pool = &problem.demands[demand].pool;
        for (tier, choices) in problem.pools[*pool].tiers.iter().enumerate() {
            self.pass_exhausted(*pool, tier);
            // Each round gives every domain one more host.
            let mut level = 0;
            loop {
                let mut more = None;
                for choice in &choices[self.passed[*pool][tier]..] {
                    let is_unknown = problem.pools[*pool].domains[choice.domain].is_unknown;
                    loop {
                        if self.picks[demand].len() == self.wanted[demand] {
                            return;
                        }
                        let free = |class: &&usize| {
                            self.free[**class] > 0 && self.may_use(demand, **class)
                        };
                        let class = choice.classes.iter().find(free);
                        let Some(&class) = class.filter(|_| self.is_open(demand, choice.domain))
                        else {
                            break;
                        };
                        let load = self.load[demand].get(&choice.domain);
                        let mut in_domain = load.copied().unwrap_or_default();
                        if is_unknown || in_domain <= level {
                            in_domain += 1;
                            self.pick(demand, FlowUnit { domain: choice.domain, class });
                        }
                        if !is_unknown {
                            more = Some(more.map_or(in_domain, |more: usize| more.min(in_domain)));
                            break;
                        }
                    }
                }
                match more {
                    Some(next) => level = next,
                    None => break,
                }
            }
        }
    }

    /// Passes the exhausted choices at the start of a tier. The best choices are exhausted first, and
    /// there may be tens of thousands, so the others are not visited.
    fn pass_exhausted(&mut self, pool: usize, tier: usize) {
        let choices = &self.problem.pools[pool].tiers[tier];
        let is_exhausted =
            |choice: &&EqualClasses| choice.classes.iter().all(|class| self.free[*class] == 0);
        let passed = self.passed[pool][tier];
        let more = choices[passed..].iter().take_while(is_exhausted).count();
        self.passed[pool][tier] += more;
    }
}
