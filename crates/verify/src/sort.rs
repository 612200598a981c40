//! Sorting what does not fit into memory.
//!
//! ```text
//!  push … ─► arena ─ full ─► sorted run, in a file without a name ─┐
//!              └ at the end ─► sorted in place ────────────────────┴─► merge ─► next …
//! ```
//!
//! Items come out by key, and those of one key in the order in which they were pushed. As long as
//! everything fits into the arena, no file is made.
//!
//! **Invariant:** memory is the arena and one buffer for each run.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Seek, Write};

/// Bytes that are read of a run in one go.
const RUN_BUFFER_BYTES: usize = 64 * 1024;

/// What an item costs in the arena beside its bytes.
const ITEM_BYTES: usize = size_of::<Slot>();

/// Takes items in any order.
#[derive(Debug)]
pub(crate) struct Sorter {
    memory_bytes: usize,
    arena: Vec<u8>,
    slots: Vec<Slot>,
    runs: Vec<File>,
    pushed: u64,
}

/// An item that came out.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Item {
    pub(crate) key: Vec<u8>,
    /// Counts the pushed items.
    order: u64,
    pub(crate) payload: Vec<u8>,
}

/// Where an item lies in the arena.
#[derive(Debug, Clone, Copy)]
struct Slot {
    start: usize,
    key: usize,
    end: usize,
    order: u64,
}

impl Sorter {
    pub(crate) fn new(memory_bytes: usize) -> Self {
        let (arena, slots, runs) = (Vec::new(), Vec::new(), Vec::new());
        Self { memory_bytes, arena, slots, runs, pushed: 0 }
    }

    /// How many items were pushed.
    pub(crate) fn pushed(&self) -> u64 {
        self.pushed
    }

    pub(crate) fn push(&mut self, key: &[u8], payload: &[u8]) -> io::Result<()> {
        let start = self.arena.len();
        self.arena.extend_from_slice(key);
        let key = self.arena.len();
        self.arena.extend_from_slice(payload);
        self.slots.push(Slot { start, key, end: self.arena.len(), order: self.pushed });
        self.pushed = self.pushed.saturating_add(1);
        let used = self.slots.len().saturating_mul(ITEM_BYTES).saturating_add(self.arena.len());
        if used >= self.memory_bytes { self.spill() } else { Ok(()) }
    }

    pub(crate) fn finish(mut self) -> io::Result<Sorted> {
        self.sort();
        let mut runs = Vec::with_capacity(self.runs.len());
        for mut file in self.runs {
            file.rewind()?;
            runs.push(BufReader::with_capacity(RUN_BUFFER_BYTES, file));
        }
        let mut sorted = Sorted {
            arena: self.arena,
            slots: self.slots.into_iter(),
            runs,
            heap: BinaryHeap::new(),
        };
        for source in 0..=sorted.runs.len() {
            sorted.refill(source)?;
        }
        Ok(sorted)
    }

    fn sort(&mut self) {
        let arena = &self.arena;
        let key = |slot: &Slot| arena.get(slot.start..slot.key).unwrap_or_default();
        self.slots.sort_unstable_by(|a, b| key(a).cmp(key(b)).then(a.order.cmp(&b.order)));
    }

    fn spill(&mut self) -> io::Result<()> {
        self.sort();
        let mut run = BufWriter::new(tempfile::tempfile()?);
        for slot in self.slots.drain(..) {
            let key = self.arena.get(slot.start..slot.key).unwrap_or_default();
            let payload = self.arena.get(slot.key..slot.end).unwrap_or_default();
            for length in [key.len(), payload.len()] {
                let length = u32::try_from(length).map_err(|_| ErrorKind::InvalidInput)?;
                run.write_all(&length.to_le_bytes())?;
            }
            run.write_all(&slot.order.to_le_bytes())?;
            run.write_all(key)?;
            run.write_all(payload)?;
        }
        self.runs.push(run.into_inner().map_err(io::IntoInnerError::into_error)?);
        self.arena.clear();
        Ok(())
    }
}

/// Items by key.
#[derive(Debug)]
pub(crate) struct Sorted {
    arena: Vec<u8>,
    slots: std::vec::IntoIter<Slot>,
    runs: Vec<BufReader<File>>,
    /// The next item of every source: the runs, and behind them the arena.
    heap: BinaryHeap<Reverse<(Item, usize)>>,
}

impl Sorted {
    pub(crate) fn next(&mut self) -> io::Result<Option<Item>> {
        let Some(Reverse((item, source))) = self.heap.pop() else { return Ok(None) };
        self.refill(source)?;
        Ok(Some(item))
    }

    /// The next item, if its key is this one.
    pub(crate) fn next_of(&mut self, key: &[u8]) -> io::Result<Option<Item>> {
        let is_of = self.heap.peek().is_some_and(|Reverse((item, _))| item.key == key);
        if is_of { self.next() } else { Ok(None) }
    }

    /// The key of the next item.
    pub(crate) fn peek(&self) -> Option<&[u8]> {
        self.heap.peek().map(|Reverse((item, _))| item.key.as_slice())
    }

    fn refill(&mut self, source: usize) -> io::Result<()> {
        let item = match self.runs.get_mut(source) {
            Some(run) => read_item(run)?,
            None => self.slots.next().map(|slot| Item {
                key: self.arena.get(slot.start..slot.key).unwrap_or_default().to_vec(),
                order: slot.order,
                payload: self.arena.get(slot.key..slot.end).unwrap_or_default().to_vec(),
            }),
        };
        self.heap.extend(item.map(|item| Reverse((item, source))));
        Ok(())
    }
}

/// The next item of a run; `None` at its end.
fn read_item(run: &mut BufReader<File>) -> io::Result<Option<Item>> {
    let mut head = [0; 16];
    match run.read_exact(&mut head) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let [k0, k1, k2, k3, p0, p1, p2, p3, order @ ..] = head;
    let mut bytes = |length: [u8; 4]| {
        let length =
            usize::try_from(u32::from_le_bytes(length)).map_err(|_| ErrorKind::InvalidData)?;
        let mut bytes = vec![0; length];
        run.read_exact(&mut bytes).map(|()| bytes)
    };
    let key = bytes([k0, k1, k2, k3])?;
    let payload = bytes([p0, p1, p2, p3])?;
    Ok(Some(Item { key, order: u64::from_le_bytes(order), payload }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same items through a sorter and through a stable sort in memory.
    fn check(memory_bytes: usize) -> usize {
        let mut sorter = Sorter::new(memory_bytes);
        let mut expected = Vec::new();
        let mut state = 7_u64;
        for index in 0..5_000_u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let length = if state >> 63 == 0 { 8 } else { 7 };
            let key = (state >> 56).to_be_bytes()[..length].to_vec();
            sorter.push(&key, &index.to_be_bytes()).unwrap();
            expected.push((key, index));
        }
        expected.sort_by(|a, b| a.0.cmp(&b.0));
        let runs = sorter.runs.len();
        let mut sorted = sorter.finish().unwrap();
        for (key, index) in expected {
            let item = sorted.next().unwrap().unwrap();
            assert_eq!((item.key, item.payload), (key, index.to_be_bytes().to_vec()));
        }
        assert_eq!(sorted.next().unwrap(), None);
        runs
    }

    #[test]
    fn items_come_out_by_key_and_then_as_they_were_pushed() {
        assert_eq!(check(1 << 20), 0, "everything fits");
        assert!(check(10_000) > 10, "most of it is put aside");
    }
}
