//! Every page does what it shows: its commands are carried out, and print what stands below them.
//!
//! Each page has a folder and a server of its own. Pages speak of the port that a server has by
//! default, and of a process id; here a server has a port that is free and an id of its own. Those of
//! the pages are replaced by them in commands, and back again in what is printed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use seriatim_testkit::console::{Shown, is_as_shown, shown};
use tempfile::TempDir;

use crate::process::{Dev, command};

const SHOWN_ADDRESS: &str = "127.0.0.1:7600";

/// The process of the server, in pages.
const SHOWN_PROCESS: &str = "4711";

/// How a page says that the server runs in another terminal, and that it is killed: by the id that it
/// has printed, which is that of no other server.
const START: &str = "seriatim dev";
const KILL: &str = "kill -9 4711";

#[test]
fn every_page_does_what_it_shows() {
    let pages: Vec<PathBuf> =
        pages().into_iter().filter(|page| !commands(page).is_empty()).collect();
    assert!(pages.iter().any(|page| page.ends_with("docs/quickstart.md")), "{pages:?}");
    let next = AtomicUsize::new(0);
    let carry_out = || {
        let mut wrong = Vec::new();
        while let Some(page) = pages.get(next.fetch_add(1, Ordering::Relaxed)) {
            wrong.extend(Page::new(page).carry_out());
        }
        wrong
    };
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let threads = [scope.spawn(carry_out), scope.spawn(carry_out)];
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// All pages of the project for its users.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![root.join("README.md")];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

fn commands(page: &Path) -> Vec<Shown> {
    shown(&std::fs::read_to_string(page).unwrap())
}

struct Page<'p> {
    path: &'p Path,
    folder: TempDir,
    server: Option<Dev>,
}

impl<'p> Page<'p> {
    fn new(path: &'p Path) -> Self {
        Self { path, folder: tempfile::tempdir().unwrap(), server: None }
    }

    /// The first thing that is not as it is shown. What comes after it says little.
    fn carry_out(mut self) -> Option<String> {
        let commands = commands(self.path);
        if !commands.iter().any(|it| it.command == START) {
            self.start();
        }
        commands.into_iter().find_map(|Shown { line, command, expected }| {
            let printed = self.run(&command);
            let lines: Vec<&str> = printed.lines().collect();
            (!is_as_shown(&expected, &lines)).then(|| {
                let (page, expected) = (self.path.display(), expected.join("\n"));
                format!("{page}:{line}: {command}\n--- shown\n{expected}\n--- printed\n{printed}")
            })
        })
    }

    fn start(&mut self) -> String {
        let mut dev = command(&["dev", "--listen", "127.0.0.1:0"]);
        dev.current_dir(self.folder.path());
        let server = self.server.insert(Dev::spawn(dev));
        let printed = format!("Process {} ", printed_process(&server.said));
        server.said.replace(&printed, &format!("Process {SHOWN_PROCESS} "))
    }

    fn run(&mut self, command: &str) -> String {
        let printed = match command {
            START => self.start(),
            KILL => {
                let server = self.server.take().unwrap();
                let process = printed_process(&server.said);
                assert_eq!(process.parse(), Ok(server.pid()));
                let printed = self.shell(&command.replace(SHOWN_PROCESS, &process));
                assert!(!server.ended().0.success(), "it was killed");
                printed
            }
            other => self.shell(other),
        };
        let address = self.server.as_ref().map(|server| server.address.to_string());
        address.map_or(printed.clone(), |address| printed.replace(&address, SHOWN_ADDRESS))
    }

    /// Everything that a command prints.
    fn shell(&self, command: &str) -> String {
        // It would end the servers of other tests, as it would end those of a reader.
        let is_by_name = ["pidof", "pkill", "killall"].iter().any(|it| command.contains(it));
        assert!(!is_by_name, "{} kills by a name: {command}", self.path.display());
        let address = self.server.as_ref().map(|server| server.address.to_string());
        let address = address.unwrap_or_else(|| SHOWN_ADDRESS.to_owned());
        let binary = Path::new(env!("CARGO_BIN_EXE_seriatim")).parent().unwrap().display();
        let path = format!("{binary}:{}", std::env::var("PATH").unwrap());
        let output = Command::new("bash")
            .args(["-c", &format!("exec 2>&1; {}", command.replace(SHOWN_ADDRESS, &address))])
            .current_dir(self.folder.path())
            .env("PATH", path)
            .env("SERIATIM_SERVER", format!("http://{address}"))
            .stdin(Stdio::null())
            .output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    }
}

/// The process id that a server has printed.
fn printed_process(said: &str) -> String {
    let printed = said.split("Process ").nth(1).and_then(|rest| rest.split(' ').next());
    printed.unwrap_or_else(|| panic!("a process id in {said}")).to_owned()
}
