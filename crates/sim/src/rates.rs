//! How much goes wrong in a run. It is drawn from the seed: some runs are calm, some are hell.

use std::time::Duration;

use seriatim_storage::faulty::Dice;

/// What can go wrong, and how often. Chances are out of a hundred thousand.
#[derive(Debug, Clone)]
pub(crate) struct Rates {
    /// The longest way of a message, if nothing is wrong.
    pub(crate) way: Duration,
    /// A message that is not a part of a stream is lost, comes twice, or comes much later.
    pub(crate) lose: u64,
    pub(crate) double: u64,
    pub(crate) linger: u64,
    /// A stream breaks when something is sent over it.
    pub(crate) snap: u64,
    /// How often the way to or from somebody is cut, and for how long at most.
    pub(crate) cut_every: Duration,
    pub(crate) cut_for: Duration,
    /// A sync takes so long, and sometimes very long.
    pub(crate) sync: Duration,
    pub(crate) slow_sync: u64,
    /// A call of the store fails.
    pub(crate) read_fails: u64,
    pub(crate) read_rots: u64,
    pub(crate) commit_fails: u64,
    pub(crate) sync_fails: u64,
    pub(crate) disk_full: u64,
    /// How often the server is killed, loses power, or stands still.
    pub(crate) crash_every: Duration,
    pub(crate) pause_every: Duration,
    /// How often the server is ended in good order.
    pub(crate) shut_down_every: Duration,
    /// How often somebody restarts a partition of it that is well.
    pub(crate) restart_every: Duration,
    /// How often its clock is set.
    pub(crate) jump_every: Duration,
    /// How often a client is killed. It has kept its keys.
    pub(crate) client_crash_every: Duration,
    /// How long a message may lie in the network before it arrives after all.
    pub(crate) linger_for: Duration,
    /// How often everybody rests, and for how long at most.
    pub(crate) lull_every: Duration,
    pub(crate) lull_for: Duration,
}

/// Longer than any run.
const NEVER: Duration = Duration::from_secs(1_000_000_000);

/// How long everybody rests at most. A run without rest is over within seconds, and one with long
/// ones sees hours: keys are forgotten, entities expire, everybody's patience ends.
const LULLS: [Duration; 6] = [
    Duration::ZERO,
    Duration::ZERO,
    Duration::from_secs(10),
    Duration::from_secs(15 * 60),
    Duration::from_secs(2 * 3_600),
    Duration::from_secs(12 * 3_600),
];

impl Rates {
    pub(crate) fn draw(dice: &mut Dice) -> Self {
        let lull_every = Duration::from_millis(dice.below(1_500).max(100));
        let lull_for = LULLS.get(dice.index_below(LULLS.len())).copied().unwrap_or_default();
        let lull_every = if lull_for.is_zero() { NEVER } else { lull_every };
        let mood = dice.below(4);
        if mood == 0 {
            return Self { lull_every, lull_for, ..Self::calm() };
        }
        // Each kind of trouble is there or not, so that every combination comes up.
        let mut chance = |most: u64| match dice.below(2) {
            0 => 0,
            _ => dice.below(most.saturating_mul(mood)).saturating_add(1),
        };
        let (lose, double, linger, snap) =
            (chance(5_000), chance(5_000), chance(2_000), chance(1_500));
        let (slow_sync, read_fails, commit_fails) = (chance(3_000), chance(40), chance(60));
        let (sync_fails, disk_full, read_rots) = (chance(3_000), chance(2_000), chance(200));
        // One that fails ends the process, so there are few in a run, and in some there are many.
        let commit_fails = commit_fails.saturating_mul(if dice.below(2) == 0 { 40 } else { 1 });
        // A slow disk has several commits in flight most of the time.
        let sync_max = if dice.below(3) == 0 { 80_000 } else { 10_000 };
        let mut every = |seconds: u64| match dice.below(2) {
            0 => NEVER,
            _ => Duration::from_millis(dice.below(seconds.saturating_mul(1_000)).max(500)),
        };
        Self {
            cut_every: every(6),
            crash_every: every(8),
            pause_every: every(8),
            shut_down_every: every(10),
            restart_every: every(6),
            jump_every: every(6),
            client_crash_every: every(6),
            linger_for: Duration::from_secs(if dice.below(2) == 0 { 5 } else { 900 }),
            lull_every,
            lull_for,
            lose,
            double,
            linger,
            snap,
            slow_sync,
            read_fails,
            read_rots,
            commit_fails,
            sync_fails,
            disk_full,
            way: Duration::from_micros(dice.below(20_000).max(100)),
            cut_for: Duration::from_millis(dice.below(5_000).max(1)),
            sync: Duration::from_micros(dice.below(sync_max).max(100)),
        }
    }

    /// Whether calls of the store may fail. One commit that fails makes all reads fail.
    pub(crate) fn may_fail(&self) -> bool {
        self.read_fails > 0 || self.read_rots > 0 || self.commit_fails > 0 || self.sync_fails > 0
    }

    /// Nothing goes wrong.
    pub(crate) fn calm() -> Self {
        Self {
            way: Duration::from_micros(500),
            lose: 0,
            double: 0,
            linger: 0,
            snap: 0,
            cut_every: NEVER,
            cut_for: Duration::ZERO,
            sync: Duration::from_micros(500),
            slow_sync: 0,
            read_fails: 0,
            read_rots: 0,
            commit_fails: 0,
            sync_fails: 0,
            disk_full: 0,
            crash_every: NEVER,
            pause_every: NEVER,
            shut_down_every: NEVER,
            restart_every: NEVER,
            jump_every: NEVER,
            client_crash_every: NEVER,
            linger_for: Duration::ZERO,
            lull_every: NEVER,
            lull_for: Duration::ZERO,
        }
    }
}

/// Whether something of that chance happens.
pub(crate) fn happens(dice: &mut Dice, chance: u64) -> bool {
    chance > 0 && dice.below(100_000) < chance
}

/// Some part of a time.
pub(crate) fn part_of(dice: &mut Dice, most: Duration) -> Duration {
    let micros = u64::try_from(most.as_micros()).unwrap_or(u64::MAX);
    Duration::from_micros(dice.below(micros.saturating_add(1)))
}
