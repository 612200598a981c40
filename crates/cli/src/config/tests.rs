//! The table agrees with itself, with the settings that there are, and with the page about it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::table::{SECTIONS, TABLE};
use super::*;

fn load(given: &Given) -> Result<Configuration, Problems> {
    Configuration::load(Settings::default(), given)
}

fn flags(assignments: &[(&str, &str)]) -> Given {
    let flag =
        |(name, text): &(&str, &str)| ("--set".to_owned(), (*name).to_owned(), (*text).to_owned());
    Given { flags: assignments.iter().map(flag).collect(), ..Given::default() }
}

fn file(text: &str) -> (tempfile::TempDir, Given) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seriatim.toml");
    fs::write(&path, text).unwrap();
    (folder, Given { file: Some(path), ..Given::default() })
}

/// What is wrong, without the folder of the file.
fn problems(given: &Given) -> Vec<String> {
    let said = load(given).unwrap_err().to_string();
    let folder = given.file.as_ref().and_then(|path| path.parent());
    let folder = folder.map_or_else(String::new, |it| format!("{}/", it.display()));
    said.lines().map(|line| line.replace(&folder, "")).collect()
}

#[test]
fn every_field_of_every_settings_type_is_in_the_table() {
    let Settings { server, node, storage, apps, log, .. } = Settings::default();
    let sections = [
        ("server", format!("{server:#?}")),
        ("node", format!("{node:#?}")),
        ("storage", format!("{storage:#?}")),
        ("apps", format!("{apps:#?}")),
        ("log", format!("{log:#?}")),
    ];
    for (section, shown) in sections {
        // Fields of the type itself are indented once.
        let fields = shown.lines().filter_map(|line| line.strip_prefix("    ")?.split_once(": "));
        let fields = fields.map(|(field, _)| field);
        // What a new app gets is a section of its own.
        let fields: Vec<&str> = fields.filter(|it| !it.starts_with(' ') && *it != "apps").collect();
        let rows = TABLE.iter().filter(|it| it.section_and_key().0 == section).count();
        assert_eq!(rows, fields.len(), "{section} has {fields:?}");
    }
}

#[test]
fn every_name_is_there_once_and_has_a_section() {
    let names: BTreeSet<&str> = TABLE.iter().map(|setting| setting.name).collect();
    assert_eq!(names.len(), TABLE.len());
    for setting in TABLE {
        let section = setting.section_and_key().0;
        assert!(SECTIONS.iter().any(|(known, _)| *known == section), "{}", setting.name);
        assert!(setting.about.ends_with('.'), "{}", setting.name);
    }
}

/// What is printed can be used as a file, and sets everything to what it was: so defaults lie in
/// their ranges, and values are read as they are written.
#[test]
fn what_is_printed_is_a_file_that_says_the_same() {
    let before = load(&flags(&[
        ("server.answer_within", "90s"),
        ("server.hosts", "db.internal,db.example"),
        ("storage.cache_bytes", "1000001"),
        ("apps.idempotency_retention", "forever"),
        ("data", "/some/\"where\" else"),
    ]))
    .unwrap();
    let (_folder, given) = file(&toml(&before));
    let after = load(&given).unwrap();
    assert_eq!(after.settings, before.settings);
    assert_eq!(after.set_count(), TABLE.len());
}

#[test]
fn the_ends_of_every_range_can_be_set() {
    for setting in TABLE {
        let ends = setting.kind.range_in_words();
        let Some((first, last)) = ends.split_once(" to ") else { continue };
        let last = last.trim_end_matches(", or forever").trim_end_matches(", or none");
        for end in [first, last] {
            let configuration = load(&flags(&[(setting.name, end)])).unwrap();
            let shown = setting.show(&configuration.settings).to_string();
            assert_eq!(shown.trim_matches('"'), end, "{}", setting.name);
        }
    }
}

#[test]
fn hosts_are_names_without_ports() {
    let hosts = |text| load(&flags(&[("server.hosts", text)]));
    for (text, names) in [("", &[][..]), (" ", &[]), ("*", &["*"]), ("a, b-1.c", &["a", "b-1.c"])] {
        assert_eq!(hosts(text).unwrap().settings.server.hosts, names, "{text:?}");
    }
    for text in ["a:7600", "http://a", "a,", "a b", "*.a"] {
        let why = "is not names of hosts without ports, such as db.internal, db.example";
        let said = hosts(text).unwrap_err().to_string();
        assert_eq!(said, format!("--set: server.hosts: {text:?} {why}"));
    }
}

#[test]
fn flags_outweigh_variables_and_variables_outweigh_the_file() {
    let (_folder, mut given) =
        file("[node]\nqueue_max = 1\ntick_interval = \"1s\"\n[apps]\npartitions = 7\n");
    let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    given.variables = vec![
        variable("SERIATIM__NODE__QUEUE_MAX", "2"),
        variable("SERIATIM__NODE__TICK_INTERVAL", "2s"),
        variable("SERIATIM_SERVER", "http://elsewhere"),
    ];
    given.flags = flags(&[("node.queue_max", "3")]).flags;
    let configuration = load(&given).unwrap();
    let Settings { node, apps, .. } = &configuration.settings;
    assert_eq!((node.queue_max, node.tick_interval.as_secs(), apps.partitions), (3, 2, 7));
    assert_eq!(configuration.source("node.queue_max").to_string(), "--set");
    assert_eq!(
        configuration.source("node.tick_interval").to_string(),
        "SERIATIM__NODE__TICK_INTERVAL"
    );
    assert!(configuration.source("apps.partitions").to_string().ends_with("seriatim.toml:5"));
    assert_eq!(*configuration.source("data"), Source::Default);
}

#[test]
fn everything_that_is_wrong_is_said_with_its_place() {
    let (_folder, mut given) = file(
        "liste = \"127.0.0.1:1\"\n[server]\nconnection_max = 5\nanswer_within = 30\n\
         keep_alive = 1.5\n[bananas]\nripe = 1\n",
    );
    given.variables = vec![("SERIATIM__NODE__QUEUE_MAX".to_owned(), "-1".to_owned())];
    given.flags = flags(&[("listen", "0.0.0.0:7600")]).flags;
    assert_eq!(
        problems(&given),
        [
            "seriatim.toml:1: liste: there is no such setting; did you mean listen?",
            "seriatim.toml:3: server.connection_max: there is no such setting; did you mean \
             server.connections_max?",
            "seriatim.toml:4: server.answer_within: \"30\" is not a time from 1s to 1h, with its \
             unit, such as 30s",
            "seriatim.toml:5: server.keep_alive: a setting is a number, a flag or a text in \
             quotes",
            "seriatim.toml:7: bananas.ripe: there is no such setting; `seriatim config print` shows \
             all",
            "SERIATIM__NODE__QUEUE_MAX: node.queue_max: \"-1\" is not a whole number from 1 to \
             1000000",
            "--set: listen: 0.0.0.0:7600 can be reached from other machines, and there is no \
             authentication yet; listen on 127.0.0.1 or [::1]",
        ]
    );
}

#[test]
fn what_is_no_toml_or_no_file_is_said() {
    let (_folder, given) = file("[server]\nconnections_max = \nconnections_max = 2\n");
    let said = problems(&given);
    assert!(said[0].starts_with("seriatim.toml:2: is no TOML: "), "{said:?}");
    let (_folder, given) = file("[server]\nkeep_alive = \"1s\"\nkeep_alive = \"2s\"\n");
    let said = problems(&given);
    assert!(said[0].starts_with("seriatim.toml:3: is no TOML: duplicate key"), "{said:?}");
    let given = Given { file: Some("/no/such/seriatim.toml".into()), ..Given::default() };
    assert_eq!(problems(&given), ["seriatim.toml: there is no such file"]);
}

#[test]
fn values_out_of_range_and_strange_ones_are_refused() {
    for (name, text) in [
        ("server.connections_max", "0"),
        ("server.connections_max", "1e3"),
        ("server.connections_max", "+1"),
        ("server.connections_max", ""),
        ("server.connections_max", "99999999999999999999"),
        ("storage.cache_bytes", "64 MB"),
        ("storage.cache_bytes", "18446744073709551615 GiB"),
        ("server.keep_alive", "1 fortnight"),
        ("server.keep_alive", "15"),
        ("listen", "localhost"),
        ("listen", "[::]:7600"),
        ("data", ""),
        ("apps.idempotency_retention", "0s"),
        ("apps.trust_level", "3"),
    ] {
        assert!(load(&flags(&[(name, text)])).is_err(), "{name} = {text}");
    }
}

#[test]
fn the_page_about_configuration_is_what_the_table_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/configuration.md");
    let written = fs::read_to_string(path).unwrap_or_default();
    let advice = "run `seriatim config reference > docs/reference/configuration.md`";
    assert!(written == reference(), "{advice}");
}
