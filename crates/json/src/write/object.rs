//! Writes objects member by member, in the order of the calls.

use seriatim_types::{Fields, Hash, NumberDrawn, Time};

use crate::canonical::write_text;
use crate::time;

/// An object that is being written.
pub(super) struct Object<'o> {
    out: &'o mut Vec<u8>,
    is_empty: bool,
}

/// The bytes of an object.
pub(super) fn object(write: impl FnOnce(&mut Object<'_>)) -> Vec<u8> {
    object_of(0, write)
}

/// The bytes of an object that is expected to have so many.
pub(super) fn object_of(bytes: usize, write: impl FnOnce(&mut Object<'_>)) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes);
    write_object(&mut out, write);
    out
}

/// Adds an object to the bytes.
pub(super) fn write_object(out: &mut Vec<u8>, write: impl FnOnce(&mut Object<'_>)) {
    out.push(b'{');
    write(&mut Object { out, is_empty: true });
    out.push(b'}');
}

impl Object<'_> {
    pub(super) fn number(&mut self, name: &str, number: u64) {
        self.raw(name, number.to_string().as_bytes());
    }

    pub(super) fn text(&mut self, name: &str, text: &str) {
        write_text(text, self.member(name));
    }

    pub(super) fn flag(&mut self, name: &str, flag: bool) {
        self.raw(name, if flag { b"true" } else { b"false" });
    }

    pub(super) fn time(&mut self, name: &str, time: Time) {
        self.text(name, &time::write(time));
    }

    pub(super) fn hash(&mut self, name: &str, hash: &Hash) {
        self.text(name, &hash.to_string());
    }

    /// A value that is JSON already.
    pub(super) fn raw(&mut self, name: &str, json: &[u8]) {
        self.member(name).extend_from_slice(json);
    }

    pub(super) fn null(&mut self, name: &str) {
        self.raw(name, b"null");
    }

    pub(super) fn object(&mut self, name: &str, write: impl FnOnce(&mut Object<'_>)) {
        write_object(self.member(name), write);
    }

    pub(super) fn list<T>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        write: impl Fn(&mut Vec<u8>, T),
    ) {
        let out = self.member(name);
        out.push(b'[');
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            write(out, item);
        }
        out.push(b']');
    }

    pub(super) fn hashes(&mut self, name: &str, hashes: &[Hash]) {
        self.list(name, hashes, |out, hash| write_text(&hash.to_string(), out));
    }

    pub(super) fn fields(&mut self, fields: &Fields) {
        self.object("fields", |object| {
            for (name, value) in fields {
                object.raw(name.as_str(), value);
            }
        });
    }

    /// A number that was drawn, with its period if it belongs to one.
    pub(super) fn number_drawn(&mut self, drawn: &NumberDrawn) {
        self.text("sequence", drawn.name.as_str());
        if let Some(year) = drawn.year {
            self.number("period", u64::from(year.get()));
        }
        self.number("number", drawn.number.get());
        self.text("text", &drawn.text);
    }

    fn member(&mut self, name: &str) -> &mut Vec<u8> {
        if !self.is_empty {
            self.out.push(b',');
        }
        self.is_empty = false;
        write_text(name, self.out);
        self.out.push(b':');
        self.out
    }
}
