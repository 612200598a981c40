//! The machine as rows, for processes that share a projection.
//!
//! ```text
//!  BEGIN · lock the projection's row · reload(rows) · one step · stored() ─► rows · COMMIT
//!                                         now: the database's time
//! ```
//!
//! A row says who has a run and until when, which is all that others need. Durations, metrics and
//! which work is finished stay in the process that knows them.
//!
//! What a step returns holds once its transaction is committed. A lease from a transaction that was
//! rolled back is dropped: its token was never given out, and another process may draw the same.
//!
//! **Invariant:** a machine that is reloaded from what it stored goes on as before, but for a commit
//! that was under way: then the rows know better.

use std::collections::BTreeSet;

use seriatim_types::Time;

use crate::commit::Wake;
use crate::error::ReloadError;
use crate::lanes::Lanes;
use crate::lease::{Fence, Token, WorkerId};
use crate::place::{Place, after};
use crate::run::{Hold, Run, Stage, State, Tries};
use crate::runs::Runs;
use crate::settings::Sharing;

/// What the rows of a projection say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The fence in the projection's row.
    pub fence: Fence,
    /// The last place in the read model.
    pub committed: Option<Place>,
    /// How many tokens were drawn under this fence.
    pub tokens_drawn: u64,
    /// A row for each run that is offered and not committed, by place.
    pub runs: Vec<StoredRun>,
}

/// The row of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredRun {
    /// The first place: the key.
    pub first: Place,
    /// The last place.
    pub last: Place,
    /// Bytes of its events.
    pub bytes: u64,
    /// What has been tried.
    pub tries: Tries,
    /// Not to be leased before then, after a failure.
    pub not_before: Option<Time>,
    /// Who has it, if anybody.
    pub lease: Option<StoredLease>,
}

/// The columns of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredLease {
    /// The number of its token; the fence is the projection's.
    pub token_number: u64,
    /// Who works.
    pub worker: WorkerId,
    /// Since when.
    pub leased_at: Time,
    /// Until when.
    pub deadline: Time,
    /// How often it was renewed.
    pub renewals: u32,
}

impl Lanes {
    /// The rows as they should be.
    #[must_use]
    pub fn stored(&self) -> Stored {
        let runs = self.runs.iter().map(|(first, run)| StoredRun::of(first, run)).collect();
        let (fence, committed, tokens_drawn) = (self.fence, self.committed, self.tokens_drawn);
        Stored { fence, committed, tokens_drawn, runs }
    }

    /// Takes the rows as they are, and says whose turn it is if that work was finished here.
    ///
    /// # Errors
    ///
    /// When another owner has raised the fence, or when the rows contradict each other. Nothing has
    /// changed.
    pub fn reload(&mut self, stored: &Stored) -> Result<Option<Wake>, ReloadError> {
        if stored.fence != self.fence {
            let (stored, this) = (stored.fence.0, self.fence.0);
            return Err(ReloadError::Fenced { stored, this });
        }
        let mut runs = Runs::new(self.settings.sharing == Sharing::ManyProcesses);
        let mut through = stored.committed;
        let mut numbers = BTreeSet::new();
        for row in &stored.runs {
            let expected = after(through).ok_or(ReloadError::Gap { found: row.first })?;
            if row.first != expected || row.last < row.first {
                return Err(ReloadError::Gap { found: row.first });
            }
            if let Some(number) = row.lease.map(|lease| lease.token_number) {
                let drawn = stored.tokens_drawn;
                if number > drawn || !numbers.insert(number) {
                    return Err(ReloadError::Token { number, drawn });
                }
            }
            runs.insert(row.first, self.known(row));
            through = Some(row.last);
        }
        self.runs = runs;
        (self.committed, self.offered) = (stored.committed, through);
        // A token of a transaction that was rolled back is not drawn again by this process.
        self.tokens_drawn = self.tokens_drawn.max(stored.tokens_drawn);
        self.debug_check();
        Ok(self.next_ready())
    }

    /// The run of a row, finished if that is what this process knows of the same lease.
    fn known(&self, row: &StoredRun) -> Run {
        let mut run = row.run(self.fence);
        let known = self.runs.get(row.first).and_then(Run::hold);
        if let (State::Held(hold), Some(known)) = (&mut run.state, known)
            && hold.token == known.token
            && known.stage != Stage::Working
        {
            hold.stage = Stage::Ready;
        }
        run
    }
}

impl StoredRun {
    fn of(first: Place, run: &Run) -> Self {
        let (not_before, lease) = match run.state {
            State::Free { not_before } => (not_before, None),
            State::Held(hold) => (None, Some(StoredLease::of(&hold))),
        };
        Self { first, last: run.last, bytes: run.bytes, tries: run.tries, not_before, lease }
    }

    fn run(&self, fence: Fence) -> Run {
        let state = self.lease.map_or(State::Free { not_before: self.not_before }, |lease| {
            State::Held(Hold {
                token: Token::new(fence, lease.token_number),
                worker: lease.worker,
                leased_at: lease.leased_at,
                deadline: lease.deadline,
                renewals: lease.renewals,
                stage: Stage::Working,
            })
        });
        Run { last: self.last, bytes: self.bytes, tries: self.tries, state }
    }
}

impl StoredLease {
    fn of(hold: &Hold) -> Self {
        Self {
            token_number: hold.token.number(),
            worker: hold.worker,
            leased_at: hold.leased_at,
            deadline: hold.deadline,
            renewals: hold.renewals,
        }
    }
}
