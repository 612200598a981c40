//! Nobody waits for longer than its patience: a client that has looked at its clock has ended every
//! command that is older.

use super::Violation;
use crate::world::World;

pub(crate) fn check(world: &World, index: usize) -> Result<(), Violation> {
    let Some(client) = world.clients.get(index) else { return Ok(()) };
    for number in &client.kept {
        let Some(asked) = world.asked.get(*number).filter(|asked| asked.ended.is_none()) else {
            continue;
        };
        let waited = world.agenda.now().saturating_sub(asked.submitted_at);
        if waited > client.patience {
            let what =
                format!("client {index} waits for #{number} since {} ms", waited.as_millis());
            return Err(Violation::new("patience", what));
        }
    }
    Ok(())
}
