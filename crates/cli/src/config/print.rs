//! Settings as they are now, for people and for programs.

use super::table::{SECTIONS, TABLE};
use super::{Configuration, Settings};
use crate::document::{Json, object, of};

/// A file that would set exactly what is set, with what each setting is for.
pub(crate) fn toml(configuration: &Configuration) -> String {
    let mut lines = Vec::new();
    for (section, about) in SECTIONS {
        lines.push(format!("# {about}"));
        if !section.is_empty() {
            lines.push(format!("[{section}]"));
        }
        for (setting, source) in TABLE.iter().zip(&configuration.sources) {
            let (its_section, key) = setting.section_and_key();
            if its_section == *section {
                let (kind, value) = (&setting.kind, setting.show(&configuration.settings));
                lines.push(format!("\n# {}", setting.about));
                lines.push(format!("# {}, {}.", kind.in_words(), kind.range_in_words()));
                lines.push(format!("{key} = {value}    # {source}"));
            }
        }
        lines.push(String::new());
    }
    lines.join("\n")
}

/// The same as a JSON document.
pub(crate) fn json(configuration: &Configuration) -> Json {
    let defaults = Settings::default();
    let settings = TABLE.iter().zip(&configuration.sources).map(|(setting, source)| {
        object([
            ("name", of(setting.name)),
            ("value", of(setting.show(&configuration.settings))),
            ("default", of(setting.show(&defaults))),
            ("source", of(source.to_string())),
            ("type", of(setting.kind.in_words())),
            ("range", of(setting.kind.range_in_words())),
            ("about", of(setting.about)),
        ])
    });
    object([("settings", Json::List(settings.collect()))])
}
