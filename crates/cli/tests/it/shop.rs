//! A server with a small shop in it, and texts without what changes from run to run.

use tempfile::TempDir;

use crate::process::Dev;

/// Keys of the commands of the shop.
pub(crate) const KEY: &str = "0b0e8a4e-5f0a-4c3e-9d6b-7a1c2d3e4f50";
pub(crate) const OTHER_KEY: &str = "0b0e8a4e-5f0a-4c3e-9d6b-7a1c2d3e4f51";

/// A command with two events, changes of all kinds, and a number.
pub(crate) const ORDER: &str = r#"{"events": [
    {"name": "OrderPlaced", "args": {"total": 12.50}, "changes": [
        {"create": {"id": 1, "kind": "order", "fields": {"sku": "A-7", "ticket": {"$next": "ticket"}}}},
        {"set": {"key": "stock/A-7", "value": {"left": 4}}}]},
    {"name": "TicketDrawn", "changes": [{"draw": {"sequence": "ticket"}}]}]}"#;

/// A server with the shop in it, and the folder of its data.
pub(crate) fn shop() -> (TempDir, Dev) {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path());
    fill(&dev);
    (folder, dev)
}

/// An app, its definitions, and two commands.
pub(crate) fn fill(dev: &Dev) {
    dev.run(&["app", "create", "shop", "--partitions", "1"]).ok();
    dev.run(&["sequence", "define", "shop", "ticket", "--format", "T-{n:03}"]).ok();
    dev.run(&["record", "define", "shop", "order", "--class", "c"]).ok();
    dev.run_with(&["submit", "shop", "store-1", "--file", "-", "--key", KEY], ORDER).ok();
    dev.run(&["submit", "shop", "store-1", "Closed", "--key", OTHER_KEY, "--client", "boss"]).ok();
}

/// A text with `<time>` for moments and `<hash>` for hashes.
pub(crate) fn masked(text: &str) -> String {
    let mut masked = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (length, mask) = match rest {
            _ if rest.len() >= 64 && rest.is_char_boundary(64) && is_hash(&rest[..64]) => {
                (64, "<hash>")
            }
            _ if rest.len() >= 24 && rest.is_char_boundary(24) && is_moment(&rest[..24]) => {
                (24, "<time>")
            }
            _ => (first.len_utf8(), &rest[..first.len_utf8()]),
        };
        masked.push_str(mask);
        rest = &rest[length..];
    }
    masked
}

fn is_hash(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_moment(text: &str) -> bool {
    let shape = text.bytes().map(|byte| if byte.is_ascii_digit() { b'0' } else { byte });
    shape.eq(*b"0000-00-00T00:00:00.000Z")
}
