//! At most one command is carried out under a key within the key's retention.

use std::collections::BTreeMap;

use seriatim_testkit::core::Model;
use seriatim_types::{PartitionRef, Retention};

use super::{Violation, show_partition};

pub(crate) fn check(partition: PartitionRef, model: &Model) -> Result<(), Violation> {
    let retention = model.definitions().map(|definitions| definitions.app.retention);
    let mut last = BTreeMap::new();
    for event in model.log().iter().filter(|event| event.index == 0) {
        let Some(origin) = &event.origin else { continue };
        let key = (event.workspace, origin.client.clone(), origin.key);
        if let Some(before) = last.insert(key, event.time) {
            let is_over = match retention {
                Some(Retention::Milliseconds(ms)) => event.time.0 >= before.0.saturating_add(ms),
                Some(Retention::Forever) | None => false,
            };
            if !is_over {
                let what = format!(
                    "partition {}: {event:?} is the second under its key since {before:?}",
                    show_partition(partition)
                );
                return Err(Violation::new("one_event_per_key", what));
            }
        }
    }
    Ok(())
}
