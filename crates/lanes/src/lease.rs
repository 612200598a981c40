//! What a holder of places has in hand, each kind of proof a type of its own.
//!
//! ```text
//!  Lease ── finish ─► Ready ── begin_commit ─► Commit ── committed ─► gone
//!    may work          work is done, waits for its turn    in a transaction
//! ```
//!
//! **Invariant:** these values are made by the machine alone, cannot be copied, and are consumed by
//! the step that they allow. So a token is used once, and committing work that is not done does not
//! compile.

use std::fmt;

use seriatim_types::Time;

use crate::place::{Place, count};

/// One edition of a projection. Its owner numbers them; two machines must not share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProjectionId(pub u64);

/// Who works. It is only shown: what a holder may do is decided by its token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerId(pub u64);

/// Which owner of a projection commits. It is kept in the projection's row, raised when an engine
/// starts, and compared by every commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence(pub u64);

/// The fencing token of a lease: the fence of its machine, and a count that no two leases share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token {
    fence: Fence,
    number: u64,
}

/// The right to work on the places of a run, until the deadline has passed and the machine was told.
///
/// It is used up by what it allows:
///
/// ```compile_fail,E0382
/// # use seriatim_lanes::{Lanes, Lease};
/// # use seriatim_types::Time;
/// fn twice(lanes: &mut Lanes, lease: Lease) {
///     let _ = lanes.finish(Time(1), lease);
///     let _ = lanes.finish(Time(2), lease);
/// }
/// ```
///
/// Nobody but the machine makes one, nor a token:
///
/// ```compile_fail,E0451
/// # use seriatim_lanes::{Fence, Token};
/// let forged = Token { fence: Fence(1), number: 7 };
/// ```
///
/// And a copy cannot be kept:
///
/// ```compile_fail,E0308
/// # use seriatim_lanes::Lease;
/// fn keep(lease: &Lease) -> Lease {
///     lease.clone()
/// }
/// ```
#[derive(Debug)]
#[must_use = "a lease that is dropped holds its places until its deadline: finish or release it"]
pub struct Lease {
    pub(crate) projection: ProjectionId,
    pub(crate) first: Place,
    pub(crate) last: Place,
    pub(crate) token: Token,
    pub(crate) deadline: Time,
    pub(crate) attempt: u32,
}

/// Finished work on the places of a run, which waits until all lower places are committed.
///
/// A lease is not enough to commit:
///
/// ```compile_fail,E0308
/// # use seriatim_lanes::{Lanes, Lease};
/// fn too_early(lanes: &mut Lanes, lease: Lease) {
///     let _ = lanes.begin_commit(lease);
/// }
/// ```
#[derive(Debug)]
#[must_use = "finished work that is dropped is never committed: keep it until its turn, or reopen it"]
pub struct Ready {
    pub(crate) lease: Lease,
    pub(crate) since: Time,
    /// How long the work took, no longer than it was leased for.
    pub(crate) used_ms: u64,
    pub(crate) leased_ms: u64,
}

impl Token {
    pub(crate) const fn new(fence: Fence, number: u64) -> Self {
        Self { fence, number }
    }

    /// The fence that a commit under this token compares.
    #[must_use]
    pub const fn fence(self) -> Fence {
        self.fence
    }

    /// The count. A later lease has a higher one.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.number
    }
}

impl Lease {
    /// The projection.
    #[must_use]
    pub const fn projection(&self) -> ProjectionId {
        self.projection
    }

    /// The first place of the run.
    #[must_use]
    pub const fn first(&self) -> Place {
        self.first
    }

    /// The last place of the run.
    #[must_use]
    pub const fn last(&self) -> Place {
        self.last
    }

    /// How many places the run has.
    #[must_use]
    pub fn places(&self) -> u64 {
        count(self.first, self.last)
    }

    /// The token.
    #[must_use]
    pub const fn token(&self) -> Token {
        self.token
    }

    /// When the run may be given to somebody else, by the clock that granted the lease.
    #[must_use]
    pub const fn deadline(&self) -> Time {
        self.deadline
    }

    /// How often the run was leased, this time included.
    #[must_use]
    pub const fn attempt(&self) -> u32 {
        self.attempt
    }
}

impl Ready {
    /// The lease under which the work was done.
    pub const fn lease(&self) -> &Lease {
        &self.lease
    }

    /// The first place of the run.
    #[must_use]
    pub const fn first(&self) -> Place {
        self.lease.first
    }

    /// The last place of the run.
    #[must_use]
    pub const fn last(&self) -> Place {
        self.lease.last
    }
}

impl fmt::Display for ProjectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.fence.0, self.number)
    }
}
