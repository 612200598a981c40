//! The numbers of an event, for whoever keeps a log of nothing but numbers.
//!
//! ```text
//!  key    │ prefix 10 │ 04 │ offset u64 │
//!  value  │ 01 │ workspace u64 │ kind u16 │ count u16 │ ( sequence u16 │ year u16 │ number u64 ) …
//!         │ client length u8, 0 for none │ client │ its number u64 │
//! ```

use seriatim_types::{ClientId, KindId, Number, PartitionOffset, WorkspaceId, Year};

use crate::PartitionPrefix;
use crate::number_rows::{NumberRowError, SeriesLast, take, take_series, versioned};

const VERSION: u8 = 1;
const EVENT: u8 = 4;

/// What an event says about numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventNumbers {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// Its kind.
    pub kind: KindId,
    /// The numbers, in any order.
    pub values: Vec<SeriesLast>,
    /// The client and its number.
    pub client: Option<(ClientId, Number)>,
}

/// The key of an event's numbers.
#[must_use]
pub fn event_numbers_key(prefix: PartitionPrefix, offset: PartitionOffset) -> Vec<u8> {
    [prefix.encode().as_slice(), &[EVENT], &offset.get().to_be_bytes()].concat()
}

impl EventNumbers {
    /// The stored bytes.
    ///
    /// # Panics
    ///
    /// When there are more than 65,535 values: commands are limited well below.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let count = u16::try_from(self.values.len()).expect("commands are limited well below");
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&self.workspace.0.to_be_bytes());
        bytes.extend_from_slice(&self.kind.0.to_be_bytes());
        bytes.extend_from_slice(&count.to_be_bytes());
        for (sequence, year, number) in &self.values {
            bytes.extend_from_slice(&sequence.0.to_be_bytes());
            bytes.extend_from_slice(&year.map_or(0, Year::get).to_be_bytes());
            bytes.extend_from_slice(&number.get().to_be_bytes());
        }
        match &self.client {
            None => bytes.push(0),
            Some((client, number)) => {
                let name = client.as_bytes();
                bytes.push(u8::try_from(name.len()).expect("a client's name has at most 255"));
                bytes.extend_from_slice(name);
                bytes.extend_from_slice(&number.get().to_be_bytes());
            }
        }
        bytes
    }

    /// Reads the stored bytes.
    ///
    /// # Errors
    ///
    /// When they are something else.
    pub fn decode(bytes: &[u8]) -> Result<Self, NumberRowError> {
        let mut rest = versioned(bytes)?;
        let workspace = WorkspaceId(u64::from_be_bytes(take(&mut rest)?));
        let kind = KindId(u16::from_be_bytes(take(&mut rest)?));
        let count = u16::from_be_bytes(take(&mut rest)?);
        let values = (0..count).map(|_| take_series(&mut rest)).collect::<Result<_, _>>()?;
        let [length] = take(&mut rest)?;
        let (name, mut rest) =
            rest.split_at_checked(length.into()).ok_or(NumberRowError { what: "cut off" })?;
        let client = match ClientId::new(name) {
            None => None,
            Some(client) => {
                let number = Number::new(u64::from_be_bytes(take(&mut rest)?));
                Some((client, number.ok_or(NumberRowError { what: "no number" })?))
            }
        };
        if !rest.is_empty() {
            return Err(NumberRowError { what: "more bytes than an event has" });
        }
        Ok(Self { workspace, kind, values, client })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use seriatim_types::{AppId, Incarnation, PartitionId, SequenceId};

    use super::*;

    fn sample(client: Option<&[u8]>) -> EventNumbers {
        let number = |n| Number::new(n).unwrap();
        EventNumbers {
            workspace: WorkspaceId(5),
            kind: KindId(0),
            values: vec![
                (SequenceId(300), Year::new(2026), number(7)),
                (SequenceId(1), None, number(13)),
            ],
            client: client.map(|name| (ClientId::new(name).unwrap(), number(5))),
        }
    }

    #[test]
    fn the_stored_bytes_are_these_for_ever() {
        let hex =
            |bytes: Vec<u8>| -> String { bytes.iter().map(|byte| format!("{byte:02x}")).collect() };
        let values = "0000000000000005000000 02 012c07ea0000000000000007 00010000000000000000000d";
        let expected = format!("01{values}00").replace(' ', "");
        assert_eq!(hex(sample(None).encode()), expected);
        let expected = format!("01{values} 03 706f73 0000000000000005").replace(' ', "");
        assert_eq!(hex(sample(Some(b"pos")).encode()), expected);
        let prefix = PartitionPrefix {
            app: AppId(1),
            partition: PartitionId(2),
            incarnation: Incarnation(3),
        };
        let key = event_numbers_key(prefix, PartitionOffset::FIRST);
        assert_eq!(hex(key), "00000001000200000003040000000000000001");
    }

    proptest! {
        #[test]
        fn any_bytes_are_numbers_of_an_event_or_an_error(bytes: Vec<u8>) {
            if let Ok(event) = EventNumbers::decode(&bytes) {
                prop_assert_eq!(event.encode(), bytes);
            }
        }

        #[test]
        fn an_event_cut_anywhere_is_an_error(cut in 0..50_usize) {
            let bytes = sample(Some(b"pos")).encode();
            if cut < bytes.len() {
                prop_assert!(EventNumbers::decode(&bytes[..cut]).is_err());
            }
            prop_assert_eq!(EventNumbers::decode(&bytes), Ok(sample(Some(b"pos"))));
        }
    }
}
