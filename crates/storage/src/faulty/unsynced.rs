//! What was committed and not yet synced: the part that a loss of power can take away.
//!
//! Each batch is kept twice: as a frame of bytes (length, checksum, content), which is what a
//! journal on disk would hold, and as the writes that undo it. Losing power cuts the row of
//! frames at an arbitrary byte and may spoil what follows; reading the frames back finds
//! which are whole, and the others are undone, the latest first.
//!
//! A sync that fails leaves every frame in the page cache and calls it clean. Which ones the disk
//! has is drawn. No later sync writes those that it lacks: only writing their bytes anew does.

use std::collections::VecDeque;

use crate::faulty::PowerLoss;
use crate::faulty::dice::Dice;
use crate::{Batch, CommitError, Store, Table, Write};

const FRAME_HEADER_BYTES: usize = 8;

/// Garbage behind a torn write ends with the sector.
const SECTOR_BYTES: usize = 512;

#[derive(Default)]
pub(super) struct Unsynced {
    batches: VecDeque<UnsyncedBatch>,
    /// Batches that were here and became durable. Positions count from the very first.
    durable: usize,
}

struct UnsyncedBatch {
    frame: Vec<u8>,
    undo: Vec<Write>,
    pages: Pages,
}

/// What the page cache thinks of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pages {
    /// The next sync writes it.
    Dirty,
    /// The disk has it.
    Written,
    /// It is called clean, and the disk does not have it.
    Dropped,
}

impl Unsynced {
    /// Commits to the inner store and remembers how to take it back.
    pub(super) fn commit(&mut self, inner: &dyn Store, batch: Batch) -> Result<(), CommitError> {
        let writes = batch.clone().resolve(inner, inner.schema())?;
        let keys: Vec<(Table, &[u8])> =
            writes.iter().map(|write| (write.table, write.key.as_ref())).collect();
        let before = inner.get_many(&keys).map_err(CommitError::Unchecked)?;
        inner.commit(batch)?;
        let frame = frame_of(&writes);
        let undo =
            writes.into_iter().zip(before).map(|(write, value)| Write { value, ..write }).collect();
        self.batches.push_back(UnsyncedBatch { frame, undo, pages: Pages::Dirty });
        Ok(())
    }

    /// How many batches were ever committed.
    pub(super) fn batches(&self) -> usize {
        self.durable.saturating_add(self.batches.len())
    }

    /// A sync has written the first `count` batches ever committed, as far as they were dirty.
    /// What stands behind a frame that the disk lacks is lost with it.
    pub(super) fn are_written(&mut self, count: usize) {
        let dirty = self.batches.iter_mut().take(count.saturating_sub(self.durable));
        for batch in dirty.filter(|batch| batch.pages == Pages::Dirty) {
            batch.pages = Pages::Written;
        }
        while self.batches.front().is_some_and(|first| first.pages == Pages::Written) {
            self.batches.pop_front();
            self.durable = self.durable.saturating_add(1);
        }
    }

    /// A sync has failed: the disk has some of the dirty pages, and the cache calls all of them clean.
    pub(super) fn sync_failed(&mut self, dice: &mut Dice) {
        for batch in self.batches.iter_mut().filter(|batch| batch.pages == Pages::Dirty) {
            batch.pages = if dice.below(2) == 0 { Pages::Dropped } else { Pages::Written };
        }
    }

    /// A process that begins writes everything anew that is not known to be durable, and syncs it.
    /// Returns how many batches that were.
    pub(super) fn write_anew(&mut self) -> usize {
        for batch in &mut self.batches {
            batch.pages = Pages::Dirty;
        }
        let count = self.batches.len();
        self.are_written(self.batches());
        count
    }

    /// Undoes in the inner store what a loss of power takes.
    pub(super) fn lose_power(
        &mut self,
        inner: &dyn Store,
        dice: &mut Dice,
    ) -> Result<PowerLoss, CommitError> {
        let found = self.batches.iter().take_while(|batch| batch.pages != Pages::Dropped);
        let found = found.map(|batch| (batch.pages, batch.frame.as_slice()));
        let found: Vec<_> = found.collect();
        let mut image: Vec<u8> =
            found.iter().flat_map(|(_, frame)| frame.iter().copied()).collect();
        let is_written = |(pages, _): &&(Pages, &[u8])| *pages == Pages::Written;
        let written: usize =
            found.iter().take_while(is_written).map(|(_, frame)| frame.len()).sum();
        let unwritten = image.len().saturating_sub(written);
        let cut = written.saturating_add(dice.index_below(unwritten.saturating_add(1)));
        image.truncate(cut);
        let whole_until_cut = count_whole_frames(&image);
        if dice.below(2) == 1 {
            let mut garbage = vec![0; dice.index_below(SECTOR_BYTES)];
            dice.fill(&mut garbage);
            image.extend(garbage);
        }

        let kept = count_whole_frames(&image);
        assert!(kept <= whole_until_cut.saturating_add(1), "garbage is not a run of batches");
        let lost = self.batches.len().saturating_sub(kept);
        let kept_bytes: usize = self.batches.iter().take(kept).map(|b| b.frame.len()).sum();
        for batch in self.batches.drain(..).skip(kept).rev() {
            let mut undo = Batch::new();
            for write in batch.undo {
                match write.value {
                    Some(value) => undo.put(write.table, write.key, value),
                    None => undo.delete(write.table, write.key),
                }
            }
            inner.commit(undo)?;
        }
        inner.sync().map_err(|error| match error {
            crate::SyncError::Failed(poisoned) | crate::SyncError::Poisoned(poisoned) => {
                CommitError::Poisoned(poisoned)
            }
        })?;
        Ok(PowerLoss { kept, lost, torn: lost > 0 && cut > kept_bytes })
    }
}

fn frame_of(writes: &[Write]) -> Vec<u8> {
    let mut content = Vec::new();
    for write in writes {
        content.extend_from_slice(&write.key);
        content.push(u8::from(write.value.is_some()));
        content.extend_from_slice(write.value.as_deref().unwrap_or_default());
    }
    let length = u32::try_from(content.len()).expect("batches are limited well below 4 GiB");
    let mut frame = Vec::with_capacity(content.len().saturating_add(FRAME_HEADER_BYTES));
    frame.extend_from_slice(&length.to_le_bytes());
    frame.extend_from_slice(&crc32fast::hash(&content).to_le_bytes());
    frame.extend_from_slice(&content);
    frame
}

fn count_whole_frames(mut image: &[u8]) -> usize {
    let mut count = 0_usize;
    loop {
        let Some((length, rest)) = image.split_first_chunk() else { return count };
        let Some((checksum, rest)) = rest.split_first_chunk() else { return count };
        let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let Some((content, rest)) = rest.split_at_checked(length) else { return count };
        if crc32fast::hash(content) != u32::from_le_bytes(*checksum) {
            return count;
        }
        count = count.saturating_add(1);
        image = rest;
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::Schema;

    #[test]
    fn a_frame_is_whole_only_with_its_last_byte() {
        let table = Schema::new(["a"]).unwrap().tables().next().unwrap();
        let writes = [Write {
            table,
            key: Bytes::from_static(b"key"),
            value: Some(Bytes::from_static(b"value")),
        }];
        let frame = frame_of(&writes);
        let two = [frame.as_slice(), &frame].concat();
        for cut in 0..=two.len() {
            assert_eq!(count_whole_frames(&two[..cut]), cut / frame.len(), "cut at {cut}");
        }
        for flipped in 0..frame.len() {
            let mut spoiled = frame.clone();
            spoiled[flipped] ^= 1;
            assert_eq!(count_whole_frames(&spoiled), 0, "bit flipped at {flipped}");
        }
    }
}
