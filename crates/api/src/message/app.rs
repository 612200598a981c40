//! Apps.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use seriatim_types as types;

use crate::schema;

/// An app: all that was settled when it was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct App {
    /// Its name.
    pub name: String,
    /// How many partitions it has.
    pub partitions: u16,
    /// How record ids are numbered.
    pub record_ids: RecordIds,
    /// How much of what is stored is checked before each write: 0, 1 or 2.
    #[schemars(range(min = 0, max = 2))]
    pub trust_level: u8,
    /// How long an idempotency key is kept: `90m`, `24h`, `7d` or `forever`.
    pub idempotency_retention: String,
    /// How many keys a partition keeps at most; `null` for no limit.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub idempotency_keys_max: Option<u64>,
}

/// What an app is to be. What is left out is the server's default for a new app, and of an app that
/// exists it is what that has.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct NewApp {
    /// Its name: not of digits alone.
    #[schemars(schema_with = "schema::app_name")]
    pub name: String,
    /// How many partitions it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u16", range(min = 1, max = 1024))]
    pub partitions: Option<u16>,
    /// How record ids are numbered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RecordIds")]
    pub record_ids: Option<RecordIds>,
    /// How much of what is stored is checked before each write: 0, 1 or 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u8", range(min = 0, max = 2))]
    pub trust_level: Option<u8>,
    /// How long an idempotency key is kept: `90m`, `24h`, `7d` or `forever`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::retention")]
    pub idempotency_retention: Option<String>,
    /// How many keys a partition keeps at most; `null` for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[schemars(schema_with = "schema::keys_max")]
    pub idempotency_keys_max: Option<Option<u64>>,
}

/// What is to change of an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields, extend("required" = ["idempotency_keys_max"]))]
pub struct AppChange {
    /// How many keys a partition keeps at most; `null` for no limit.
    #[schemars(schema_with = "schema::keys_max")]
    pub idempotency_keys_max: Option<u64>,
}

/// All apps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Apps {
    /// The apps, in the order in which they were made.
    pub apps: Vec<App>,
}

/// How record ids are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RecordIds {
    /// One sequence for all kinds.
    Single,
    /// Separate sequences for class c and for classes o and w.
    Split,
}

/// A member that is there, also when it is `null`.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<u64>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// The milliseconds of the units in which a retention is shown, the greatest first. Days are not
/// among them: a day is shown as `24h`.
const UNITS: [(&str, u64); 4] = [("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

impl From<&types::AppSettings> for App {
    fn from(settings: &types::AppSettings) -> Self {
        Self {
            name: settings.name.as_str().to_owned(),
            partitions: settings.partitions,
            record_ids: match settings.record_ids {
                types::RecordIdScheme::Single => RecordIds::Single,
                types::RecordIdScheme::Split => RecordIds::Split,
            },
            trust_level: match settings.trust_level {
                types::TrustLevel::Zero => 0,
                types::TrustLevel::One => 1,
                types::TrustLevel::Two => 2,
            },
            idempotency_retention: retention(settings.retention),
            idempotency_keys_max: settings.keys_max,
        }
    }
}

/// A retention as requests write it: in the greatest unit without a rest, or `forever`.
fn retention(retention: types::Retention) -> String {
    match retention {
        types::Retention::Forever => "forever".to_owned(),
        types::Retention::Milliseconds(ms) => {
            let mut units = UNITS.into_iter();
            let text = units.find_map(|(unit, unit_ms)| {
                let count = ms.checked_div(unit_ms)?;
                ms.is_multiple_of(unit_ms).then(|| format!("{count}{unit}"))
            });
            text.expect("the last unit is a millisecond")
        }
    }
}
