//! Fields that hold names, numbers and the like: read only if they keep the rules of their types.

use bytes::Bytes;
use seriatim_types::{
    ClientId, EntityKey, FieldName, Fingerprint, Key, Name, Number, PartitionOffset, Time,
};

use crate::wire::{Message, Reader, Writer};
use crate::{DecodeError, Problem};

/// An enum whose values are stored as numbers.
pub(crate) trait Choice: Sized {
    /// What a number that is none of them is not.
    const WHAT: &'static str;

    /// The number of a value.
    fn number(&self) -> u32;

    /// The value of a number.
    fn of_number(number: u32) -> Option<Self>;
}

impl Writer {
    pub(crate) fn text(&mut self, field: u32, text: &str) {
        self.bytes(field, text.as_bytes());
    }

    pub(crate) fn choice(&mut self, field: u32, choice: &impl Choice) {
        self.integer(field, choice.number());
    }

    pub(crate) fn optional_time(&mut self, field: u32, time: Option<Time>) {
        self.optional_integer(field, time.map(|time| time.0));
    }

    pub(crate) fn optional_name(&mut self, field: u32, name: Option<&Name>) {
        self.text(field, name.map_or("", Name::as_str));
    }

    /// A choice whose absence says something. No choice of its type is 0.
    pub(crate) fn optional_choice(&mut self, field: u32, choice: Option<&impl Choice>) {
        self.integer(field, choice.map_or(0, Choice::number));
    }

    /// A small number that may be negative, as protobuf's `sint32`: 0, -1, 1, -2, 2 …
    pub(crate) fn signed(&mut self, field: u32, value: i16) {
        self.integer(field, zigzag(value));
    }

    /// The same where absence says something else than zero.
    pub(crate) fn optional_signed(&mut self, field: u32, value: Option<i16>) {
        self.optional_integer(field, value.map(zigzag));
    }

    /// Fields of a record with their values, or with templates of them.
    pub(crate) fn fields<V>(&mut self, field: u32, fields: &[(FieldName, V)])
    where
        (FieldName, V): Message,
    {
        assert!(fields_ascend(fields), "the fields of a record ascend");
        self.repeated(field, fields);
    }

    /// The version and the hash in one: 17 bytes.
    pub(crate) fn fingerprint(&mut self, field: u32, fingerprint: &Fingerprint) {
        let mut bytes = [fingerprint.version; 17];
        let (_, hash) = bytes.split_at_mut(1);
        hash.copy_from_slice(&fingerprint.hash);
        self.bytes(field, &bytes);
    }

    /// A value that a client chose. The number after this one is reserved for the same value
    /// protected.
    pub(crate) fn plain(&mut self, field: u32, value: &[u8]) {
        self.present_bytes(field, value);
    }
}

impl<'a> Reader<'a> {
    pub(crate) fn text(&mut self, field: u32) -> Result<&'a str, DecodeError> {
        let bytes = self.bytes(field)?;
        str::from_utf8(bytes).map_err(|_| self.invalid(field, "UTF-8"))
    }

    pub(crate) fn name(&mut self, field: u32) -> Result<Name, DecodeError> {
        self.optional_name(field)?.ok_or_else(|| self.error(field, Problem::Missing))
    }

    pub(crate) fn optional_name(&mut self, field: u32) -> Result<Option<Name>, DecodeError> {
        match self.text(field)? {
            "" => Ok(None),
            text => Name::new(text).map(Some).ok_or_else(|| self.invalid(field, "a name")),
        }
    }

    pub(crate) fn entity_key(&mut self, field: u32) -> Result<EntityKey, DecodeError> {
        let key = EntityKey::new(self.text(field)?);
        key.ok_or_else(|| self.invalid(field, "the key of an entity"))
    }

    pub(crate) fn field_name(&mut self, field: u32) -> Result<FieldName, DecodeError> {
        let name = FieldName::new(self.text(field)?);
        name.ok_or_else(|| self.invalid(field, "the name of a field"))
    }

    pub(crate) fn client(&mut self, field: u32) -> Result<ClientId, DecodeError> {
        let client = ClientId::new(self.bytes(field)?);
        client.ok_or_else(|| self.invalid(field, "a client"))
    }

    pub(crate) fn key(&mut self, field: u32) -> Result<Key, DecodeError> {
        let key = self.bytes(field)?.try_into().map(Key);
        key.map_err(|_| self.invalid(field, "16 bytes"))
    }

    pub(crate) fn fingerprint(&mut self, field: u32) -> Result<Fingerprint, DecodeError> {
        let bytes: [u8; 17] =
            self.bytes(field)?.try_into().map_err(|_| self.invalid(field, "17 bytes"))?;
        let [version, hash @ ..] = bytes;
        Ok(Fingerprint { version, hash })
    }

    pub(crate) fn number(&mut self, field: u32) -> Result<Number, DecodeError> {
        self.optional_number(field)?.ok_or_else(|| self.error(field, Problem::Missing))
    }

    pub(crate) fn optional_number(&mut self, field: u32) -> Result<Option<Number>, DecodeError> {
        match self.integer(field)? {
            0 => Ok(None),
            value => Number::new(value)
                .map(Some)
                .ok_or_else(|| self.invalid(field, "a number of a sequence")),
        }
    }

    pub(crate) fn offset(&mut self, field: u32) -> Result<PartitionOffset, DecodeError> {
        self.optional_offset(field)?.ok_or_else(|| self.error(field, Problem::Missing))
    }

    pub(crate) fn optional_offset(
        &mut self,
        field: u32,
    ) -> Result<Option<PartitionOffset>, DecodeError> {
        match self.integer(field)? {
            0 => Ok(None),
            value => PartitionOffset::new(value)
                .map(Some)
                .ok_or_else(|| self.invalid(field, "an offset")),
        }
    }

    pub(crate) fn time(&mut self, field: u32) -> Result<Time, DecodeError> {
        self.integer(field).map(Time)
    }

    pub(crate) fn optional_time(&mut self, field: u32) -> Result<Option<Time>, DecodeError> {
        Ok(self.optional_integer(field)?.map(Time))
    }

    pub(crate) fn choice<C: Choice>(&mut self, field: u32) -> Result<C, DecodeError> {
        C::of_number(self.integer(field)?).ok_or_else(|| self.invalid(field, C::WHAT))
    }

    pub(crate) fn optional_choice<C: Choice>(
        &mut self,
        field: u32,
    ) -> Result<Option<C>, DecodeError> {
        match self.integer(field)? {
            0 => Ok(None),
            number => C::of_number(number).map(Some).ok_or_else(|| self.invalid(field, C::WHAT)),
        }
    }

    pub(crate) fn signed(&mut self, field: u32) -> Result<i16, DecodeError> {
        self.integer(field).map(of_zigzag)
    }

    pub(crate) fn optional_signed(&mut self, field: u32) -> Result<Option<i16>, DecodeError> {
        Ok(self.optional_integer(field)?.map(of_zigzag))
    }

    /// Fields of a record with their values, or with templates of them.
    pub(crate) fn fields<V>(&mut self, field: u32) -> Result<Vec<(FieldName, V)>, DecodeError>
    where
        (FieldName, V): Message,
    {
        let fields = self.repeated(field)?;
        if !fields_ascend(&fields) {
            return Err(self.invalid(field, "in the order of names, each once"));
        }
        Ok(fields)
    }

    pub(crate) fn boolean(&mut self, field: u32) -> Result<bool, DecodeError> {
        match self.integer(field)? {
            0_u64 => Ok(false),
            1 => Ok(true),
            _ => Err(self.invalid(field, "0 or 1")),
        }
    }

    /// A value that a client chose, written plain.
    pub(crate) fn plain(&mut self, field: u32) -> Result<Bytes, DecodeError> {
        let plain = self.optional_bytes(field)?;
        let protected = field.saturating_add(1);
        if self.optional_bytes(protected)?.is_some() {
            return Err(self.error(protected, Problem::Protected));
        }
        plain.map(|value| self.share(value)).ok_or_else(|| self.error(field, Problem::Missing))
    }

    pub(crate) fn invalid(&self, field: u32, what: &'static str) -> DecodeError {
        self.error(field, Problem::Invalid(what))
    }
}

fn zigzag(value: i16) -> u16 {
    (value << 1 ^ value >> 15).cast_unsigned()
}

fn of_zigzag(zigzag: u16) -> i16 {
    (zigzag >> 1).cast_signed() ^ (zigzag & 1).cast_signed().wrapping_neg()
}

fn fields_ascend<V>(fields: &[(FieldName, V)]) -> bool {
    fields.is_sorted_by(|(one, _), (next, _)| one < next)
}
