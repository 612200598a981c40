//! What the kernel thinks of its own clock.

use std::mem::MaybeUninit;

/// Whether the kernel calls its clock synchronised: a time service keeps it so, and has not been gone
/// for long. Without an answer it is not.
#[expect(unsafe_code, reason = "no crate that is kept well has this call of the system")]
pub(super) fn is_synchronised() -> bool {
    let mut timex = MaybeUninit::<libc::timex>::zeroed();
    // SAFETY: a timex of zeroes is a valid one, whose modes ask to change nothing. The call writes
    // within it, and nothing keeps the pointer.
    let (answer, timex) = unsafe {
        let answer = libc::adjtimex(timex.as_mut_ptr());
        (answer, timex.assume_init())
    };
    answer >= 0 && answer != libc::TIME_ERROR && timex.status & libc::STA_UNSYNC == 0
}
