//! Another limit of idempotency keys for each partition of an app, or none any more.
//!
//! A lower limit forgets nothing: a key inside its retention stays known, and new commands are refused
//! until so many have expired that there is room again.

use seriatim_types::limits::KEYS_MAX;
use seriatim_types::{AppSettings, Definition};

use super::define::between;
use crate::refusal::Refusal;

/// The step that it comes to; `None` when the app has this limit already.
pub(super) fn decide(
    app: &AppSettings,
    keys_max: Option<u64>,
) -> Result<Option<Definition>, Refusal> {
    check(keys_max)?;
    Ok((app.keys_max != keys_max).then_some(Definition::KeyLimit(keys_max)))
}

/// Whether an app can have it.
pub(super) fn check(keys_max: Option<u64>) -> Result<(), Refusal> {
    keys_max.map_or(Ok(()), |max| between("idempotency_keys_max", max, KEYS_MAX))
}

/// What a step has against the limit that there is.
pub(crate) fn contradiction(app: &AppSettings, keys_max: Option<u64>) -> Option<&'static str> {
    let can_follow = app.keys_max != keys_max && check(keys_max).is_ok();
    (!can_follow).then_some("a limit of keys is one that an app can have, and not the same again")
}
