//! The page about configuration, made from the table.

use super::Settings;
use super::table::{SECTIONS, TABLE};

const HEAD: &str = r#"# Configuration

`seriatim config reference` prints this page; a test compares the two.

Settings come from a file in TOML (`--config FILE`; `serve` also takes `./seriatim.toml` if it is there), from
variables of the environment, and from flags. Each of these outweighs the ones before it:

| where | how |
|---|---|
| file | `connections_max = 500` below `[server]` |
| environment | `SERIATIM__SERVER__CONNECTIONS_MAX=500` |
| flag | `--set server.connections_max=500`; `--listen` and `--data` have flags of their own |

A setting that does not exist, or a value out of its range, is an error that names its file and line, its variable
or its flag. `seriatim config validate` looks for all such errors without starting anything, and
`seriatim config print` shows what is in force, and where each setting comes from. What it prints is a file that
can be used.

`seriatim dev` takes no file. `seriatim serve` must be told where its data lies.

"#;

/// The page, in Markdown.
pub(crate) fn reference() -> String {
    let defaults = Settings::default();
    let mut page = HEAD.to_owned();
    for (section, about) in SECTIONS {
        let title =
            if section.is_empty() { "At the top".to_owned() } else { format!("`[{section}]`") };
        page.push_str(&format!("## {title}\n\n{about}\n\n"));
        page.push_str("| setting | default | takes | what it is for |\n|---|---|---|---|\n");
        for setting in TABLE.iter().filter(|it| it.section_and_key().0 == *section) {
            let (_, key) = setting.section_and_key();
            let (kind, default) = (&setting.kind, setting.show(&defaults));
            let (takes, range, about) = (kind.in_words(), kind.range_in_words(), setting.about);
            page.push_str(&format!("| `{key}` | `{default}` | {takes}, {range} | {about} |\n"));
        }
        page.push('\n');
    }
    page.truncate(page.trim_end().len().saturating_add(1));
    page
}
