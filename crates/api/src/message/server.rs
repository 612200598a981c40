//! The server itself: its partitions, its health, its clock.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Timestamp;

/// A body that says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Empty {}

/// What all partitions of the server are doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Partitions {
    /// The partitions.
    pub partitions: Vec<PartitionStatus>,
}

/// What a partition is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartitionStatus {
    /// Its app.
    pub app: String,
    /// Its number, from 0 on.
    pub partition: u16,
    /// What it is doing.
    pub state: PartitionState,
    /// How many events it has read, while it actualizes.
    pub done: u64,
    /// How many there are to read.
    pub total: u64,
    /// Why it has stopped; `null` if it has not.
    pub reason: Option<String>,
}

/// What a partition can be doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PartitionState {
    /// It takes commands.
    Serving,
    /// It reads its log.
    Actualizing,
    /// It has stopped, and waits for an operator.
    Stopped,
}

/// Whether the server takes commands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ready {
    /// Whether every partition takes commands, and the disk answers.
    pub ready: bool,
    /// The partitions.
    pub partitions: Vec<PartitionStatus>,
    /// What else is in the way: the clock, or the disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// That the process answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Live {
    /// Always true.
    pub live: bool,
}

/// What is running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Version {
    /// `seriatim`.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// A partition that reads its log again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Restarted {
    /// Its app.
    pub app: String,
    /// Its number.
    pub partition: u16,
}

/// That the clock is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockAccepted {
    /// The time that is believed from now on.
    pub time: Timestamp,
}
