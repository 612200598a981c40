//! The bugs of a build that has them: they come with the feature `planted`.

#[cfg(feature = "planted")]
pub(super) use seriatim_sim::planted::{all, run};

#[cfg(not(feature = "planted"))]
pub(super) fn all() -> Vec<(&'static str, &'static str)> {
    Vec::new()
}

#[cfg(not(feature = "planted"))]
pub(super) fn run(_name: &str, _seed: u64, _steps: u64) -> Option<seriatim_sim::Report> {
    None
}
