//! Waits before a commit when the engine is behind with writing out tables.
//!
//! The engine has a brake of its own: it sleeps a tenth of a second at a time, never looks
//! whether its workers are still alive, and after a crash has been seen to forget the work it
//! waits for. So we brake first, in short steps, and look.

use std::time::Duration;

/// The engine halts at four memtables of a table that wait to be written out. We stop before.
pub(crate) const SEALED_MEMTABLES_MAX: usize = 3;

/// The engine halts at thirty files of a table that wait to be merged. We stop before.
pub(crate) const L0_RUNS_MAX: usize = 28;

const STEP: Duration = Duration::from_millis(1);

/// After so many steps without any write-out under way, the engine has forgotten it.
const STEPS_UNTIL_REMINDER: u32 = 1_000;

/// What can be seen of an engine, and done about it.
pub(crate) trait Engine {
    type Error;

    /// Whether a table has too much waiting to be written out or merged.
    fn is_behind(&self) -> bool;

    /// Whether anything is being written out or merged, or is queued for it.
    fn is_at_work(&self) -> bool;

    /// Fails when the engine has stopped.
    fn check_alive(&self) -> Result<(), Self::Error>;

    /// Asks for the write-out of every table that has something to write out.
    fn remind(&self) -> Result<(), Self::Error>;

    fn pause(&self, step: Duration);
}

/// Returns once the engine can take a commit, with the number of steps waited.
pub(crate) fn wait<E: Engine>(engine: &E) -> Result<u32, E::Error> {
    let mut steps = 0_u32;
    let mut forgotten = 0_u32;
    while engine.is_behind() {
        engine.check_alive()?;
        forgotten = if engine.is_at_work() { 0 } else { forgotten.saturating_add(1) };
        if forgotten == STEPS_UNTIL_REMINDER {
            engine.remind()?;
            forgotten = 0;
        }
        engine.pause(STEP);
        steps = steps.saturating_add(1);
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// An engine that writes out one memtable per ten steps while it has work to do.
    struct Fake {
        sealed: Cell<usize>,
        queued: Cell<usize>,
        dies_after: Option<u32>,
        steps: Cell<u32>,
        reminders: Cell<u32>,
    }

    #[expect(clippy::arithmetic_side_effects, reason = "a few small counters of a test")]
    impl Fake {
        fn step(&self) {
            self.steps.set(self.steps.get() + 1);
            assert!(self.steps.get() < 100_000, "waits for ever");
            if self.steps.get().is_multiple_of(10) && self.queued.get() > 0 {
                self.queued.set(self.queued.get() - 1);
                self.sealed.set(self.sealed.get() - 1);
            }
        }
    }

    fn fake(sealed: usize, queued: usize) -> Fake {
        Fake {
            sealed: Cell::new(sealed),
            queued: Cell::new(queued),
            dies_after: None,
            steps: Cell::new(0),
            reminders: Cell::new(0),
        }
    }

    impl Engine for Fake {
        type Error = &'static str;

        fn is_behind(&self) -> bool {
            self.sealed.get() >= SEALED_MEMTABLES_MAX
        }

        fn is_at_work(&self) -> bool {
            self.queued.get() > 0
        }

        fn check_alive(&self) -> Result<(), Self::Error> {
            match self.dies_after {
                Some(steps) if self.steps.get() >= steps => Err("the workers are gone"),
                Some(_) | None => Ok(()),
            }
        }

        fn remind(&self) -> Result<(), Self::Error> {
            self.reminders.set(self.reminders.get().saturating_add(1));
            self.queued.set(self.sealed.get());
            Ok(())
        }

        fn pause(&self, _: Duration) {
            self.step();
        }
    }

    #[test]
    fn an_engine_that_keeps_up_is_not_waited_for() {
        assert_eq!(wait(&fake(2, 0)), Ok(0));
    }

    #[test]
    fn a_busy_engine_is_waited_for_and_not_reminded() {
        let engine = fake(4, 4);
        assert_eq!(wait(&engine), Ok(20));
        assert_eq!(engine.reminders.get(), 0);
    }

    #[test]
    fn an_engine_that_forgot_its_work_is_reminded() {
        let engine = fake(4, 0);
        let steps = wait(&engine).unwrap();
        assert!(steps >= STEPS_UNTIL_REMINDER);
        assert_eq!(engine.reminders.get(), 1);
    }

    #[test]
    fn a_dead_engine_is_not_waited_for() {
        let engine = Fake { dies_after: Some(5), ..fake(4, 0) };
        assert_eq!(wait(&engine), Err("the workers are gone"));
    }
}
