//! Ctrl-C on a terminal, in the middle of work that never waits.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::process::Stdio;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::process::{Ran, command};

/// A terminal: what is written to the second is read from the first.
fn terminal() -> (File, File) {
    let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&screen).unwrap();
    unlockpt(&screen).unwrap();
    let name = ptsname(&screen, Vec::new()).unwrap().into_string().unwrap();
    let line = OpenOptions::new().read(true).write(true).open(name).unwrap();
    (screen.into(), line)
}

/// It stayed there, in front of the shell's prompt.
#[test]
fn no_line_stays_on_a_terminal() {
    let (mut screen, line) = terminal();
    // Nobody else holds the line, so that the screen ends with the process.
    let mut sim = command(&["sim", "--seeds", "1000000", "--steps", "100"])
        .stdout(Stdio::piped())
        .stderr(line)
        .spawn()
        .unwrap();
    let (mut shown, mut part) = (String::new(), [0; 1024]);
    let mut read = |shown: &mut String| {
        let count = screen.read(&mut part).unwrap();
        shown.push_str(std::str::from_utf8(&part[..count]).unwrap());
    };
    while !shown.contains("per second") {
        read(&mut shown);
    }
    kill_process(Pid::from_child(&sim), Signal::INT).unwrap();
    assert_eq!(sim.wait().unwrap().code(), Some(130));
    while !shown.ends_with("\r\x1b[2K") {
        read(&mut shown);
    }
}

#[test]
fn a_check_of_a_folder_ends_when_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let [proof, event] = ["proof", "event"].map(|name| folder.path().join(name));
    mknodat(CWD, &proof, FileType::Fifo, Mode::RWXU, 0).unwrap();
    let paths =
        [&proof, &event, &folder.path().to_owned()].map(|it| it.to_str().unwrap().to_owned());
    let [proof_name, event, data] = paths.each_ref().map(String::as_str);
    let arguments = ["verify", "--proof", proof_name, "--event", event, "--data", data];
    let mut verify = command(&arguments);
    let verify = verify.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Opened as soon as it reads, which it does until this is closed.
    let _writer = OpenOptions::new().write(true).open(&proof).unwrap();
    kill_process(Pid::from_child(&verify), Signal::INT).unwrap();
    let Ran { code, err, .. } = verify.wait_with_output().unwrap().into();
    assert_eq!((code, err.as_str()), (Some(130), ""));
}
