//! The last leases that ended: what averages and ratios are taken over.
//!
//! A ratio since the start would show an alert of last month for ever. A window by count needs no
//! clock, and says nothing new while nothing happens.
//!
//! **Invariant:** the sums are the sums of the entries, of which there are at most 1,024.

use std::collections::VecDeque;

use seriatim_types::limits::LEASE_WINDOW;

/// How a lease ended. One that was released is not counted: it neither succeeded nor expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Committed { wait_ms: u64, used_ms: u64, leased_ms: u64 },
    Expired { leased_ms: u64 },
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Window {
    ended: VecDeque<Ended>,
    sums: Sums,
}

/// Over the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sums {
    pub(crate) committed: u64,
    pub(crate) expired: u64,
    pub(crate) wait_ms: u64,
    pub(crate) used_ms: u64,
    pub(crate) leased_ms: u64,
}

impl Window {
    pub(crate) fn push(&mut self, ended: Ended) {
        if self.ended.len() >= LEASE_WINDOW
            && let Some(oldest) = self.ended.pop_front()
        {
            self.sums.apply(oldest, u64::saturating_sub);
        }
        self.ended.push_back(ended);
        self.sums.apply(ended, u64::saturating_add);
    }

    pub(crate) const fn sums(&self) -> Sums {
        self.sums
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.ended.len()
    }

    pub(crate) fn check_invariants(&self) {
        assert!(self.ended.len() <= LEASE_WINDOW, "the window is bounded");
        let mut sums = Sums::default();
        self.ended.iter().for_each(|ended| sums.apply(*ended, u64::saturating_add));
        assert_eq!(sums, self.sums, "the sums are those of the window");
    }
}

impl Sums {
    fn apply(&mut self, ended: Ended, step: fn(u64, u64) -> u64) {
        let sums = match ended {
            Ended::Committed { wait_ms, used_ms, leased_ms } => {
                Self { committed: 1, expired: 0, wait_ms, used_ms, leased_ms }
            }
            // Whatever the holder did, it had the places for all of that time.
            Ended::Expired { leased_ms } => {
                Self { committed: 0, expired: 1, wait_ms: 0, used_ms: leased_ms, leased_ms }
            }
        };
        self.committed = step(self.committed, sums.committed);
        self.expired = step(self.expired, sums.expired);
        self.wait_ms = step(self.wait_ms, sums.wait_ms);
        self.used_ms = step(self.used_ms, sums.used_ms);
        self.leased_ms = step(self.leased_ms, sums.leased_ms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_forgets_the_oldest_lease_after_1024() {
        let mut window = Window::default();
        window.push(Ended::Expired { leased_ms: 7 });
        let committed = Ended::Committed { wait_ms: 1, used_ms: 2, leased_ms: 4 };
        (1..LEASE_WINDOW).for_each(|_| window.push(committed));
        let full =
            Sums { committed: 1_023, expired: 1, wait_ms: 1_023, used_ms: 2_053, leased_ms: 4_099 };
        assert_eq!(window.sums(), full);
        window.push(committed);
        let all =
            Sums { committed: 1_024, expired: 0, wait_ms: 1_024, used_ms: 2_048, leased_ms: 4_096 };
        assert_eq!(window.sums(), all);
        window.check_invariants();
    }
}
