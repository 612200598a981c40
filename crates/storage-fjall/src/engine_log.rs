//! What the engine says when one of its threads fails.
//!
//! To its callers it says only that it has stopped. The cause, with what the operating system said,
//! goes to the crate `log` and nowhere else. A logger belongs to the program and not to a library, so
//! it is the program that installs this one.

use std::sync::{Mutex, PoisonError};

use log::{Level, LevelFilter, Log, Metadata, Record};

/// The last error that a thread of the engine has ended with.
static LAST: Mutex<Option<String>> = Mutex::new(None);

static ENGINE_LOG: EngineLog = EngineLog;

struct EngineLog;

/// Keeps the errors of the engine's threads, so that a store that stops for one says which. For a
/// program that has no logger of its own; returns whether that is so.
pub fn keep_engine_errors() -> bool {
    let is_installed = log::set_logger(&ENGINE_LOG).is_ok();
    if is_installed {
        log::set_max_level(LevelFilter::Error);
    }
    is_installed
}

/// What a thread of the engine has ended with, if one has and it was kept.
pub(crate) fn last_error() -> Option<String> {
    LAST.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

impl Log for EngineLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() == Level::Error && metadata.target().starts_with("fjall")
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let text = record.args().to_string();
        if let Some((_, cause)) = text.split_once(CRASHED) {
            *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(system_error(cause));
        }
    }

    fn flush(&self) {}
}

/// How the engine announces the end of a thread; the cause follows.
const CRASHED: &str = " crashed: ";

/// What the operating system said, if the cause is such an error; it is shown for debugging.
fn system_error(cause: &str) -> String {
    let said = || {
        let (_, os) = cause.split_once("Os { code: ")?;
        let (code, _) = os.split_once(',')?;
        let (_, message) = os.split_once("message: \"")?;
        let (message, _) = message.split_once('"')?;
        Some(format!("{message} (os error {code})"))
    };
    said().unwrap_or_else(|| cause.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operating_system_is_quoted_and_anything_else_is_kept_as_it_is() {
        let full = std::io::Error::from_raw_os_error(28);
        let cause = format!("{:?}", fjall::Error::Io(full));
        assert_eq!(system_error(&cause), "No space left on device (os error 28)");
        assert_eq!(system_error("Poisoned"), "Poisoned");
    }
}
