//! What a client was told not to have been written has not been written.
//!
//! A claim that was made while an attempt was still on its way is not looked at: that attempt may
//! come later than the claim, and no answer to another one can tell.

use std::collections::BTreeMap;

use seriatim_types::Retention;

use super::Violation;
use crate::client::Ended;
use crate::oracle::Oracle;
use crate::world::World;

/// What the server has answered as not written did not come to be stored by that attempt.
pub(crate) fn check_denied(oracle: &Oracle) -> Result<(), Violation> {
    match oracle.denied_and_stored().next() {
        None => Ok(()),
        Some(key) => {
            let what = format!("{key:?} was answered as not written, and is stored");
            Err(Violation::new("outcomes", what))
        }
    }
}

pub(crate) fn check(world: &World) -> Result<(), Violation> {
    let mut written = BTreeMap::new();
    for (_, model) in world.oracle.settled() {
        let retention = model.definitions().map(|definitions| definitions.app.retention);
        for event in model.log() {
            let Some(origin) = &event.origin else { continue };
            let until = match retention {
                Some(Retention::Milliseconds(ms)) => event.time.0.saturating_add(ms),
                Some(Retention::Forever) | None => u64::MAX,
            };
            written.insert((origin.key, origin.fingerprint), until);
        }
    }
    for (number, asked) in world.asked.iter().enumerate() {
        let claims = matches!(asked.ended, Some(Ended::Refused(_) | Ended::NotWritten));
        let command = &asked.command;
        let key = (command.key, command.fingerprint);
        // One whose key was over by then is another request under the same key.
        let is_written = written.get(&key).is_some_and(|until| asked.ended_time.0 < *until);
        let was_done = !asked.receipts.is_empty();
        if claims && !asked.was_hasty && !was_done && is_written {
            let what = format!("#{number} is {:?}, and it is in the log", asked.ended);
            return Err(Violation::new("outcomes", what));
        }
    }
    Ok(())
}
