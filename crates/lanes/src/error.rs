//! Why the machine does not do what it was asked, and what to do then. Nothing has changed.

use seriatim_types::Time;

use crate::lease::{ProjectionId, Ready, Token};
use crate::place::Place;

/// The holder is a former one. Its work is worth nothing, and nothing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fenced {
    /// The lease comes from the machine of another projection, or of another edition.
    #[error("the lease is of projection {held} and this is {this}: hand it to the one it is from")]
    OtherProjection {
        /// Of the lease.
        held: ProjectionId,
        /// Of the machine.
        this: ProjectionId,
    },
    /// The lease has expired, or its machine began anew.
    #[error("token {token} no longer holds places {first} to {last}: drop the work")]
    Lost {
        /// The first place of the run.
        first: Place,
        /// The last place of the run.
        last: Place,
        /// The token that is worth nothing.
        token: Token,
    },
}

/// Why places are not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OfferError {
    /// Too much is in flight.
    #[error("{runs} runs of {bytes} bytes are in flight: offer again when a commit has room")]
    Full {
        /// Runs in flight.
        runs: usize,
        /// Bytes in flight.
        bytes: u64,
    },
    /// No run has so many places.
    #[error("a run of {places} places is longer than {places_max}: end it at an earlier command")]
    TooManyPlaces {
        /// How many there are.
        places: u32,
        /// How many there may be.
        places_max: u32,
    },
    /// There is no higher place.
    #[error("the order of this projection can hold no more places")]
    Exhausted,
}

/// Why there is nothing to lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Idle {
    /// Every run is held, and more may be offered.
    #[error("no run is free: offer more places")]
    Empty {
        /// When a held one expires or a failed one may be retried, if any.
        until: Option<Time>,
    },
    /// Every run is held, and the window is full.
    #[error("no run is free and no more may be offered: wait for a commit")]
    Full {
        /// When a held one expires or a failed one may be retried, if any.
        until: Option<Time>,
    },
}

/// Why a deadline is not moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RenewError {
    /// The holder is a former one.
    #[error("the lease cannot be renewed")]
    Fenced(#[from] Fenced),
    /// The work is taken for hung. The lease still holds until its deadline.
    #[error("the lease was renewed {renewals} times: finish before {} or lose it", deadline.0)]
    TooOften {
        /// How often.
        renewals: u32,
        /// When it expires.
        deadline: Time,
    },
}

/// Why a commit does not begin with this run, or does not go on with it.
#[derive(Debug, thiserror::Error)]
pub enum BeginError {
    /// The holder is a former one.
    #[error("the work cannot be committed")]
    Fenced(#[from] Fenced),
    /// Lower places are not committed, or not in this commit. The work comes back.
    #[error("places from {} on wait for {expected}: commit that first", ready.first())]
    NotItsTurn {
        /// The work.
        ready: Ready,
        /// The place that comes first.
        expected: Place,
    },
    /// The machine began anew since the commit did. The work comes back.
    #[error("the commit that was to take places from {} on is of before: drop it", ready.first())]
    CommitLost {
        /// The work.
        ready: Ready,
    },
}

/// Why a run is not split.
#[derive(Debug, thiserror::Error)]
pub enum SplitError {
    /// The holder is a former one.
    #[error("the run cannot be split")]
    Fenced(#[from] Fenced),
    /// One part would be empty. The work comes back.
    #[error("place {at} does not split {} to {}: name a later one of them", ready.first(), ready.last())]
    NotInside {
        /// Where it was to be split.
        at: Place,
        /// The work.
        ready: Ready,
    },
}

/// Why a place is not passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PassError {
    /// It is not in this commit.
    #[error("place {place} is not among {first} to {last}, which are being committed")]
    Outside {
        /// The place.
        place: Place,
        /// The first one of the commit.
        first: Place,
        /// The last one of the commit.
        last: Place,
    },
    /// It was passed before.
    #[error("place {place} is passed already, by one resolution")]
    Already {
        /// The place.
        place: Place,
    },
}

/// Why rows are not taken. Nothing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReloadError {
    /// Another owner has the projection.
    #[error("the projection's fence is {stored} and ours is {this}: stop, it has another owner")]
    Fenced {
        /// In the row.
        stored: u64,
        /// Of the machine.
        this: u64,
    },
    /// Runs must lie side by side.
    #[error(
        "the run from place {found} on does not follow the one before: rows were lost or added"
    )]
    Gap {
        /// Where it begins.
        found: Place,
    },
    /// A token is drawn once, and counted in the projection's row.
    #[error("token {number} is held twice, or of more than the {drawn} that were drawn")]
    Token {
        /// Of a lease.
        number: u64,
        /// In the row of the projection.
        drawn: u64,
    },
}
