//! Delays, on top of what bounds the sequencer's memory.

use std::time::Duration;

use seriatim_sequencer::Settings;

/// Settings of a [`Runtime`](crate::Runtime).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuntimeSettings {
    /// What bounds memory.
    pub sequencer: Settings,
    /// How long numbers are gathered before they are written.
    pub checkpoint_delay: Duration,
    /// How long to wait before what has failed is tried again; doubled each time.
    pub retry_delay_min: Duration,
    /// The longest such wait.
    pub retry_delay_max: Duration,
}

impl Default for RuntimeSettings {
    fn default() -> Self {
        Self {
            sequencer: Settings::default(),
            checkpoint_delay: Duration::from_millis(5),
            retry_delay_min: Duration::from_millis(10),
            retry_delay_max: Duration::from_millis(500),
        }
    }
}
