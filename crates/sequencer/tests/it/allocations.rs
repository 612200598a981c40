//! Drawing a number from a row that is in memory allocates nothing.

use seriatim_sequencer::{Begin, RecordIds, RowKey, Sequences, Settings, built_in};
use seriatim_types::{Time, WorkspaceId};

use crate::world::{DEFAULT, World, ask};

#[test]
fn a_draw_from_a_cached_row_allocates_nothing() {
    let mut world = World::new(Sequences::new(RecordIds::single()), Settings::default());
    world.run(&ask(1, &[built_in::RECORD_IDS]));
    let workspace = WorkspaceId(1);
    let read = world.read(vec![RowKey::Workspace(workspace)]);
    let begin = Begin { workspace, kind: DEFAULT, client: None, time: Time(0) };
    let mut tx = world.sequencer.begin(begin, &read).unwrap();
    let mut last = 0;
    let allocated = allocation_counter::measure(|| {
        for _ in 0..1_000 {
            last = tx.next(built_in::RECORD_IDS).unwrap().number.get();
        }
    });
    assert_eq!(last, 201_001);
    assert_eq!(allocated.count_total, 0, "{allocated:?}");
}
