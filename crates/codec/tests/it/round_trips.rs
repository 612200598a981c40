//! What was written is read, and never as anything else.

use std::fmt::Debug;

use bytes::Bytes;
use proptest::prelude::*;
use seriatim_codec::Stored;

use crate::{samples, strategies};

proptest! {
    #[test]
    fn an_event_is_read_as_it_was_written(event in strategies::event()) {
        check(&event)?;
    }

    #[test]
    fn rows_are_read_as_they_were_written(
        record in strategies::record_row(),
        entity in strategies::entity_row(),
        key in strategies::key_row(),
        workspace in strategies::workspace_row(),
        partition in strategies::partition_row(),
        position in strategies::position_row(),
    ) {
        check(&record)?;
        check(&entity)?;
        check(&key)?;
        check(&workspace)?;
        check(&partition)?;
        check(&position)?;
    }

    #[test]
    fn definitions_are_read_as_they_were_written(
        definitions in strategies::definitions(),
        definition in strategies::definition(),
    ) {
        check(&definitions)?;
        check(&definition)?;
    }

    #[test]
    fn an_entry_is_read_as_it_was_written(entry in strategies::entry()) {
        check(&entry)?;
    }
}

#[test]
fn bytes_that_end_too_early_are_never_the_whole_value() {
    for sample in samples::all() {
        for end in 0..sample.bytes.len() {
            // A value without its last fields may be a value too, but then it is that one.
            let cut = sample.bytes.slice(..end);
            if let Ok(again) = (sample.recode)(&cut) {
                assert_eq!(again, cut, "{} cut at {end}", sample.name);
            }
        }
    }
}

#[test]
fn values_share_the_bytes_that_they_were_read_from() {
    let bytes = samples::rich_event().to_bytes();
    let event = seriatim_types::Event::from_bytes(&bytes).unwrap();
    assert!(bytes.as_ptr_range().contains(&event.args.as_ptr()));
}

#[test]
#[should_panic(expected = "the fields of a record ascend")]
fn fields_out_of_order_are_never_written() {
    let mut record = samples::rich_record();
    record.fields.reverse();
    let _ = record.to_bytes();
}

#[test]
#[should_panic(expected = "sequences stand in the order of their ids")]
fn sequences_out_of_order_are_never_written() {
    let mut definitions = samples::all_definitions();
    definitions.sequences.reverse();
    let _ = definitions.to_bytes();
}

fn check<S: Stored + PartialEq + Debug>(value: &S) -> Result<(), TestCaseError> {
    let bytes: Bytes = value.to_bytes();
    let read = S::from_bytes(&bytes);
    prop_assert_eq!(read.as_ref(), Ok(value));
    prop_assert_eq!(read.map(|value| value.to_bytes()), Ok(bytes));
    Ok(())
}
