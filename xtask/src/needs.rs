//! What the tests need from the operating system, installed when it is missing.
//!
//! A test that skips itself where a tool is missing proves nothing and says so to nobody; so the
//! tools are installed, and where that is impossible the run stops with what to install by hand.

use std::process::Command;

use anyhow::{Result, bail};

use crate::tasks::{answers, run};

struct Need {
    /// Succeeds exactly when the need is met.
    probe: &'static [&'static str],
    /// The Debian package that meets it.
    package: &'static str,
    what_for: &'static str,
}

const NEEDS: &[Need] = &[
    Need {
        probe: &["unshare", "--version"],
        package: "util-linux",
        what_for: "the full-disk test mounts its own small disk in a namespace of its own",
    },
    Need {
        probe: &["mount", "--version"],
        package: "mount",
        what_for: "the full-disk test mounts its own small disk",
    },
    Need {
        probe: &["curl", "--version"],
        package: "curl",
        what_for: "the pages of the handbook are carried out, and they use curl",
    },
    Need {
        probe: &["valgrind", "--version"],
        package: "valgrind",
        what_for: "instructions per command are counted by callgrind",
    },
];

/// Installs what is missing and checks that it is there afterwards.
pub(crate) fn install() -> Result<()> {
    let wanted = missing(NEEDS, probe);
    if wanted.is_empty() {
        return Ok(());
    }
    for need in &wanted {
        println!("test: installing {} ({})", need.package, need.what_for);
    }
    let installed = apt_get(&wanted);
    let still = missing(NEEDS, probe);
    if still.is_empty() {
        return Ok(());
    }
    match installed {
        Ok(()) => bail!("{}", by_hand(&still)),
        Err(error) => bail!("{error:#}\n{}", by_hand(&still)),
    }
}

fn apt_get(wanted: &[&Need]) -> Result<()> {
    let prefix = privilege(is_root(), answers(command(&["sudo", "--version"])));
    let call = |args: &[&str]| {
        run(&mut command(
            &[prefix, &["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"], args].concat(),
        ))
    };
    call(&["update"])?;
    let packages: Vec<&str> = wanted.iter().map(|need| need.package).collect();
    call(&[["install", "-y", "--no-install-recommends"].as_slice(), &packages].concat())
}

fn missing(needs: &'static [Need], is_met: impl Fn(&Need) -> bool) -> Vec<&'static Need> {
    needs.iter().filter(|need| !is_met(need)).collect()
}

fn probe(need: &Need) -> bool {
    answers(command(need.probe))
}

fn privilege(is_root: bool, has_sudo: bool) -> &'static [&'static str] {
    if !is_root && has_sudo { &["sudo"] } else { &[] }
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

fn by_hand(needs: &[&Need]) -> String {
    let list: Vec<String> = needs
        .iter()
        .map(|need| {
            let program = need.probe.first().copied().unwrap_or_default();
            format!("\n  {program} (Debian package {}): {}", need.package, need.what_for)
        })
        .collect();
    format!("cannot install what the tests need; install by hand, then run again:{}", list.concat())
}

fn command(words: &[&str]) -> Command {
    let (program, args) = words.split_first().expect("every command here has a program");
    let mut command = Command::new(program);
    command.args(args);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_does_not_answer_is_missing() {
        assert!(missing(NEEDS, |_| true).is_empty());
        let wanted = missing(NEEDS, |need| need.package != "mount");
        assert_eq!(wanted.iter().map(|need| need.package).collect::<Vec<_>>(), ["mount"]);
    }

    #[test]
    fn sudo_goes_in_front_only_where_it_helps() {
        assert_eq!(privilege(false, true), ["sudo"]);
        assert!(privilege(true, true).is_empty());
        assert!(privilege(false, false).is_empty());
    }

    #[test]
    fn the_error_says_what_to_install_by_hand() {
        let text = by_hand(&missing(NEEDS, |_| false));
        assert!(text.contains("unshare (Debian package util-linux)"), "{text}");
        assert!(text.contains("mount (Debian package mount)"), "{text}");
    }
}
