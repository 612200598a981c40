//! Definitions of which some members are left out: what is absent was not said.
//!
//! ```text
//!  SequenceMembers  1 name string · 2 kind optional string · 3 ranges optional Ranges
//!                   4 format optional string, may be empty
//!                   5 reset optional, 1 never, 2 yearly · 6 utc_offset_minutes optional sint32
//!  Ranges           1 ranges repeated Range
//!  RecordMembers    1 name string · 2 class optional, 1 c, 2 o, 3 w · 3 singleton optional bool
//! ```

use seriatim_types::{Name, RecordMembers, SequenceMembers};

use crate::DecodeError;
use crate::wire::{Message, Reader, Writer};

/// The ranges of a sequence, whose absence says something else than that there are none.
struct Ranges(Vec<(u64, u64)>);

impl Message for Ranges {
    const NAME: &'static str = "Ranges";

    fn write(&self, to: &mut Writer) {
        to.repeated(1, &self.0);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        from.repeated(1).map(Self)
    }
}

impl Message for (Name, SequenceMembers) {
    const NAME: &'static str = "SequenceMembers";

    fn write(&self, to: &mut Writer) {
        let (name, SequenceMembers { kind, ranges, format, reset, utc_offset_minutes }) = self;
        to.text(1, name.as_str());
        to.optional_name(2, kind.as_ref());
        if let Some(ranges) = ranges {
            to.message(3, &Ranges(ranges.clone()));
        }
        if let Some(format) = format {
            to.present_bytes(4, format.as_bytes());
        }
        to.optional_choice(5, reset.as_ref());
        to.optional_signed(6, *utc_offset_minutes);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let name = from.name(1)?;
        let kind = from.optional_name(2)?;
        let ranges = from.optional_message::<Ranges>(3)?.map(|Ranges(ranges)| ranges);
        let format = from.optional_bytes(4)?.map(str::from_utf8).transpose();
        let format = format.map_err(|_| from.invalid(4, "UTF-8"))?;
        let members = SequenceMembers {
            kind,
            ranges,
            format: format.map(str::to_owned),
            reset: from.optional_choice(5)?,
            utc_offset_minutes: from.optional_signed(6)?,
        };
        Ok((name, members))
    }
}

impl Message for (Name, RecordMembers) {
    const NAME: &'static str = "RecordMembers";

    fn write(&self, to: &mut Writer) {
        let (name, RecordMembers { class, singleton }) = self;
        to.text(1, name.as_str());
        to.optional_choice(2, class.as_ref());
        to.optional_integer(3, *singleton);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let name = from.name(1)?;
        let class = from.optional_choice(2)?;
        let singleton = match from.optional_integer::<u64>(3)? {
            None => None,
            Some(0) => Some(false),
            Some(1) => Some(true),
            Some(_) => return Err(from.invalid(3, "0 or 1")),
        };
        Ok((name, RecordMembers { class, singleton }))
    }
}
