//! Keys and values in words, for people who look for what is wrong.

use seriatim_codec::{PartitionPrefix, decode_idempotency_key};
use seriatim_types::WorkspaceId;

/// Bytes of a value that are shown.
const SHOWN_BYTES: usize = 48;

/// A key in words. Any bytes will do.
pub(crate) fn key(key: &[u8]) -> String {
    if let Ok((WorkspaceId(workspace), client, key)) = decode_idempotency_key(key) {
        let client = text(client.as_bytes());
        return format!("workspace {workspace}, client {client}, key {key}");
    }
    let read = key.split_at_checked(PartitionPrefix::BYTES).and_then(|(_, rest)| words(rest));
    read.unwrap_or_else(|| format!("key {}", hex(key)))
}

/// A value, cut to what can be looked at.
pub(crate) fn value(value: &[u8]) -> String {
    match value.get(..SHOWN_BYTES) {
        Some(front) => format!("{}… ({} bytes)", hex(front), value.len()),
        None => format!("{} ({} bytes)", hex(value), value.len()),
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn words(rest: &[u8]) -> Option<String> {
    let (tag, rest) = rest.split_first()?;
    let rest = &mut { rest };
    let said = match tag {
        0x01 => "the head of the checkpoint".to_owned(),
        0x02 => format!("numbers of workspace {}", number(rest)?),
        0x03 => {
            let workspace = number(rest)?;
            format!("numbers of client {} in workspace {workspace}", text(take_all(rest)))
        }
        0x05 => format!("event {}", number(rest)?),
        0x06 => format!("workspace {}, offset {}", number(rest)?, number(rest)?),
        0x07 => format!("workspace {}, record {}", number(rest)?, number(rest)?),
        0x08 => {
            let workspace = number(rest)?;
            let kind = text(counted(rest)?);
            format!("workspace {workspace}, record {} by its kind {kind}", number(rest)?)
        }
        0x09 => format!("workspace {}, entity {}", number(rest)?, text(take_all(rest))),
        0x0a => {
            let (time, workspace) = (number(rest)?, number(rest)?);
            format!("workspace {workspace}, entity {}, expiry {time}", text(take_all(rest)))
        }
        0x0c => "the partition itself".to_owned(),
        0x0d => "the definitions of the partition".to_owned(),
        0x0e => format!("workspace {}", number(rest)?),
        0x0f => format!("workspace named {}", text(take_all(rest))),
        0x10 => format!("messages received from {}", neighbour(rest)?),
        0x11 => format!("message to {}, number {}", neighbour(rest)?, number(rest)?),
        0x12 => format!("the last message to {}", neighbour(rest)?),
        0x13 => format!("definitions of the app of workspace {}", number(rest)?),
        0x14 => {
            let workspace = number(rest)?;
            let ([level], index) = (take::<1>(rest)?, number(rest)?);
            let first = index.checked_shl(level.into())?.checked_add(1)?;
            let last = index.checked_add(1)?.checked_shl(level.into())?;
            format!("workspace {workspace}, tree over its events {first} to {last}")
        }
        _ => return None,
    };
    rest.is_empty().then_some(said)
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (part, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(*part)
}

fn number(rest: &mut &[u8]) -> Option<u64> {
    take(rest).map(u64::from_be_bytes)
}

fn neighbour(rest: &mut &[u8]) -> Option<String> {
    let app = u32::from_be_bytes(take(rest)?);
    Some(format!("app {app}, partition {}", u16::from_be_bytes(take(rest)?)))
}

/// Bytes with their length in front.
fn counted<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let [length] = take(rest)?;
    let (part, behind) = rest.split_at_checked(length.into())?;
    *rest = behind;
    Some(part)
}

fn take_all<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    std::mem::take(rest)
}

fn text(bytes: &[u8]) -> String {
    format!("\"{}\"", String::from_utf8_lossy(bytes).escape_debug())
}
