//! The numbers of an event, for whoever keeps a log of nothing but numbers.
//!
//! ```text
//!  key    │ prefix 10 │ 04 │ offset u64 │
//!  value  │ 01 │ workspace u64 │ kind u16 │ count u16 │ ( sequence u16 │ year u16 │ number u64 ) …
//!         │ client length u8, 0 for none │ client │ its number u64 │
//!         │ 02 │ … │ client length u16, at least 256 │ client │ its number u64 │
//! ```

use seriatim_types::{ClientId, KindId, Number, PartitionOffset, WorkspaceId, Year};

use crate::PartitionPrefix;
use crate::number_rows::{NumberRowError, SeriesLast, take, take_series, versioned};

const VERSION: u8 = 1;
const LONG_CLIENT: u8 = 2;
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
        let client = self.client.as_ref().map_or([].as_slice(), |(client, _)| client.as_bytes());
        let length = u16::try_from(client.len()).expect("a client has at most 1020 bytes");
        let [high, low] = length.to_be_bytes();
        let mut bytes = vec![if high == 0 { VERSION } else { LONG_CLIENT }];
        bytes.extend_from_slice(&self.workspace.0.to_be_bytes());
        bytes.extend_from_slice(&self.kind.0.to_be_bytes());
        bytes.extend_from_slice(&count.to_be_bytes());
        for (sequence, year, number) in &self.values {
            bytes.extend_from_slice(&sequence.0.to_be_bytes());
            bytes.extend_from_slice(&year.map_or(0, Year::get).to_be_bytes());
            bytes.extend_from_slice(&number.get().to_be_bytes());
        }
        if high > 0 {
            bytes.push(high);
        }
        bytes.push(low);
        if let Some((_, number)) = &self.client {
            bytes.extend_from_slice(client);
            bytes.extend_from_slice(&number.get().to_be_bytes());
        }
        bytes
    }

    /// Reads the stored bytes.
    ///
    /// # Errors
    ///
    /// When they are something else.
    pub fn decode(bytes: &[u8]) -> Result<Self, NumberRowError> {
        let (is_long, mut rest) = match bytes.split_first() {
            Some((&LONG_CLIENT, rest)) => (true, rest),
            Some(_) | None => (false, versioned(bytes)?),
        };
        let workspace = WorkspaceId(u64::from_be_bytes(take(&mut rest)?));
        let kind = KindId(u16::from_be_bytes(take(&mut rest)?));
        let count = u16::from_be_bytes(take(&mut rest)?);
        let values = (0..count).map(|_| take_series(&mut rest)).collect::<Result<_, _>>()?;
        let [high] = if is_long { take(&mut rest)? } else { [0] };
        let [low] = take(&mut rest)?;
        let length = u16::from_be_bytes([high, low]);
        let (name, mut rest) =
            rest.split_at_checked(length.into()).ok_or(NumberRowError { what: "cut off" })?;
        if is_long != (high > 0) {
            return Err(NumberRowError { what: "a short client in the long form" });
        }
        let client = match name {
            [] => None,
            name => {
                let client = ClientId::new(name).ok_or(NumberRowError { what: "no client" })?;
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
        let long = "é".repeat(128);
        let name = "c3a9".repeat(128);
        let expected = format!("02{values} 0100 {name} 0000000000000005").replace(' ', "");
        assert_eq!(hex(sample(Some(long.as_bytes())).encode()), expected);
        let prefix = PartitionPrefix {
            app: AppId(1),
            partition: PartitionId(2),
            incarnation: Incarnation(3),
        };
        let key = event_numbers_key(prefix, PartitionOffset::FIRST);
        assert_eq!(hex(key), "00000001000200000003040000000000000001");
    }

    #[test]
    fn a_short_client_has_no_long_form() {
        let short = sample(Some(b"pos")).encode();
        let (front, client) = short.split_at(short.len() - 12);
        let long = [&[LONG_CLIENT], &front[1..], &[0], client].concat();
        let what = "a short client in the long form";
        assert_eq!(EventNumbers::decode(&long), Err(NumberRowError { what }));
    }

    proptest! {
        #[test]
        fn any_bytes_are_numbers_of_an_event_or_an_error(bytes: Vec<u8>) {
            if let Ok(event) = EventNumbers::decode(&bytes) {
                prop_assert_eq!(event.encode(), bytes);
            }
        }

        #[test]
        fn an_event_cut_anywhere_is_an_error(
            client in prop_oneof!["x{250,255}", "é{1,255}", "😀{1,255}"],
            cut in any::<prop::sample::Index>(),
        ) {
            let event = sample(Some(client.as_bytes()));
            let bytes = event.encode();
            let cut = cut.index(bytes.len());
            prop_assert!(EventNumbers::decode(&bytes[..cut]).is_err());
            prop_assert_eq!(EventNumbers::decode(&bytes), Ok(event));
        }
    }
}
