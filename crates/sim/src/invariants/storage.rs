//! What is stored is what a replay of the log gives: every row of every table, by the model and by
//! the laws of `verify`.

use seriatim_storage::Store as _;
use seriatim_verify::{Options, verify};

use super::Violation;
use crate::world::World;

pub(crate) fn check(world: &World) -> Result<(), Violation> {
    let right = world.oracle.check_stored(&world.disk);
    right.map_err(|what| Violation::new("storage", what))?;
    let rows = world.disk.rows();
    let verified = verify(&**rows, rows.schema(), &Options::default(), &mut |_| ());
    verified.map_err(|error| Violation::new("storage", format!("verify: {error}")))?;
    Ok(())
}
