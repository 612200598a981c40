//! What runs must have shown, all of them together: a simulator that never does a thing says nothing
//! about it.
//!
//! **Deliberately absent:** that a partition is busy because too many numbers wait for a checkpoint. A
//! node writes one with the commit before it comes to that. What is left is a process with lower
//! limits than the one before it, that has read a long part of the log and finds the disk full when
//! it writes its first checkpoint: too rare for a hundred runs. It is counted when it happens.

use std::collections::BTreeMap;

/// Everything that is counted under `covered_…`. A hundred runs have shown all of it.
pub(crate) const ALL: &[&str] = &[
    // What is asked for.
    "covered_create",
    "covered_create_with_parent",
    "covered_import",
    "covered_update",
    "covered_delete",
    "covered_set",
    "covered_set_with_expiry",
    "covered_unset",
    "covered_draw",
    "covered_declared",
    "covered_proof",
    "covered_if_exists",
    "covered_if_absent",
    "covered_if_version",
    "covered_if_value",
    "covered_if_record_version",
    "covered_if_offset",
    "covered_deadline_met",
    "covered_read_of_an_entity",
    "covered_read_of_a_receipt",
    "covered_read_of_a_head",
    "covered_read_of_a_sequence",
    "covered_read_of_a_client",
    "covered_read_of_a_record",
    "covered_read_of_records",
    "covered_read_of_two_heads",
    "covered_read_of_an_old_view",
    "covered_follower_lagged",
    // What is refused.
    "covered_deadline_exceeded",
    "covered_idempotency_key_reused",
    "covered_invalid_argument",
    "covered_key_exists",
    "covered_key_not_found",
    "covered_key_window_full",
    "covered_offset_mismatch",
    "covered_record_exists",
    "covered_record_not_found",
    "covered_sequence_exhausted",
    "covered_singleton_exists",
    "covered_too_large",
    "covered_unknown_kind",
    "covered_unknown_sequence",
    "covered_value_mismatch",
    "covered_version_mismatch",
    "covered_definition_refused",
    "covered_declaration_refused",
    // What is not decided.
    "covered_busy_actualizing",
    "covered_busy_clock",
    "covered_busy_disk_full",
    "covered_busy_behind",
    "covered_busy_queue_full",
    "covered_answer_not_written",
    "covered_answer_unknown",
    "covered_answer_stopped",
    "covered_unknown_left_so",
    "covered_patience_ends_before_it_is_sent",
    "covered_patience_ends_on_its_way",
    "covered_patience_ends_at_the_server",
    "covered_patience_ends_before_the_sync",
    "covered_patience_ends_before_the_answer",
    "covered_longest_back_off",
    "covered_history_with_a_maybe",
    "covered_page_full",
    // What time does.
    "covered_entities_expired",
    "covered_keys_expired",
    "covered_expired_and_not_swept",
    "covered_hours",
    "covered_key_used_again",
    "covered_year_turned",
    "covered_clock_set_back",
    "covered_clock_wrong_at_start",
    "covered_clock_accepted",
    "covered_clock_vouched_for",
    "covered_repetition",
    // What partitions tell each other.
    "covered_definition_among_commands",
    "covered_key_limit_set",
    "covered_key_limit_removed",
    "covered_delivery_repeated",
    "covered_delivery_cut_off",
    // What goes wrong.
    "covered_some_flights_lost",
    "covered_all_flights_lost",
    "covered_torn_tail",
    "covered_disk_full",
    "covered_commit_maybe",
    "covered_store_stopped",
    "covered_pages_dropped",
    "covered_tail_written_anew",
    "covered_rot_found",
    "covered_restarted_after_a_maybe",
    "covered_stopped_partition_restarted",
    "covered_partition_restarted_alone",
    "covered_pause_beyond_patience",
    "covered_one_way_cut",
    "covered_full_cut",
    "covered_healed_within_a_process",
    "covered_shut_down_in_order",
    "covered_shut_down_cut_off",
];

/// What runs with these counts have not shown.
#[must_use]
pub fn uncovered(counts: &BTreeMap<&'static str, u64>) -> Vec<&'static str> {
    ALL.iter().copied().filter(|what| !counts.contains_key(what)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_as_covered_can_be_missed() {
        let counts: BTreeMap<_, _> =
            (0..4).flat_map(|seed| crate::run(seed, 1_500).counts).collect();
        let covered = counts.keys().filter(|what| what.starts_with("covered_"));
        let known: Vec<_> = covered.copied().collect();
        assert!(known.len() > 20 && known.iter().all(|what| ALL.contains(what)), "{known:?}");
        let missing = uncovered(&counts);
        assert_eq!(known.len() + missing.len(), ALL.len());
        assert_eq!(uncovered(&BTreeMap::new()), ALL);
    }
}
