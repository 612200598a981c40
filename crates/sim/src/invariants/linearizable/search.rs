//! Whether calls that overlap can be put into one order that explains what everybody was told.
//!
//! ```text
//!  A ├──── set 1 ────┤            an order must keep what was over before something began,
//!  B        ├─ read 1 ─┤          and every call must come to what it came to
//!  C             ├─ set 2 ─ ?     a maybe: somewhere behind its beginning, or nowhere
//! ```
//!
//! The search is that of Wing and Gong: it tries every call that may be the next one, and comes to
//! each pair of calls that are done and a state only once.
//!
//! **Invariant:** it knows the calls and nothing else. What the server has stored is not asked.

use std::collections::BTreeSet;

use crate::agenda::Moment;

/// The longest history that is looked at.
pub(crate) const CALLS_MAX: usize = 60;

/// How many pairs of calls and state are looked at before it is given up.
const SEARCH_MAX: usize = 100_000;

/// Something that somebody did.
#[derive(Debug, Clone)]
pub(crate) struct Call<T> {
    pub(crate) begun: Moment,
    /// `None` for one of which nobody knows whether it took effect, or will.
    pub(crate) ended: Option<Moment>,
    pub(crate) what: T,
}

/// What a search came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Searched {
    /// There is such an order.
    Found,
    /// There is none.
    None,
    /// There are too many calls, or too many orders.
    TooMany,
}

/// Looks for an order. `next` says which state a call leads to, and `None` if it cannot have come to
/// what it came to in that state.
pub(crate) fn search<T, S: Clone + Ord>(
    calls: &[Call<T>],
    start: S,
    next: impl Fn(&S, &T) -> Option<S>,
) -> Searched {
    if calls.len() > CALLS_MAX {
        return Searched::TooMany;
    }
    let bits = || calls.iter().zip(0_u32..).map(|(call, at)| (call, 1_u64 << at));
    let ended = bits().filter(|(call, _)| call.ended.is_some());
    let wanted = ended.fold(0, |wanted, (_, bit)| wanted | bit);
    let mut seen = BTreeSet::new();
    let mut waiting = vec![(0_u64, start)];
    while let Some((done, state)) = waiting.pop() {
        if done & wanted == wanted {
            return Searched::Found;
        }
        if !seen.insert((done, state.clone())) {
            continue;
        }
        if seen.len() > SEARCH_MAX {
            return Searched::TooMany;
        }
        let left = || bits().filter(|(_, bit)| done & bit == 0);
        // Whatever begins behind the end of another call comes behind it.
        let first_end = left().filter_map(|(call, _)| call.ended).min();
        let may_be_next = left().filter(|(call, _)| first_end.is_none_or(|end| call.begun <= end));
        // The one that stands first is tried first.
        for (call, bit) in may_be_next.collect::<Vec<_>>().into_iter().rev() {
            waiting.extend(next(&state, &call.what).map(|state| (done | bit, state)));
        }
    }
    Searched::None
}
