//! The lives of a server, one after the other, and what is checked between and behind them.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use seriatim_storage::faulty::Dice;
use seriatim_testkit::ReconnectingClient;

use crate::checks::logs::Logs;
use crate::checks::proofs::{Heads, Trees};
use crate::checks::{followers, numbers, receipts};
use crate::client::{Client, Insist};
use crate::definer::Definer;
use crate::follower::{Home, Seen, follow};
use crate::history::Counts;
use crate::power_cut;
use crate::process::{Program, Server};
use crate::progress::Progress;
use crate::report::Summary;
use crate::workload::{HOT, LAST_EVENT, Workload};

/// How long a server may take to be ready, and clients to be acknowledged.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a start is taken to last before one was measured.
const READY_LEAST: Duration = Duration::from_millis(20);

/// One kill of so many meets a server that is starting.
const KILLS_PER_EARLY_KILL: u64 = 6;

/// Whose logs are followed.
const FOLLOWED: [&str; 3] = ["store-1", "7", "branch-2"];

/// What is to be done.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The server.
    pub program: Program,
    /// How often it is killed.
    pub kills: u64,
    /// Where all choices come from.
    pub seed: u64,
    /// Clients that send commands at the same time, two under each name.
    pub clients: u64,
    /// A life ends after at least one and at most so many acknowledged commands.
    pub acknowledged_max: u64,
    /// Where data and messages of the server go: a folder that is empty.
    pub folder: PathBuf,
}

/// Tortures a server. `tell` hears of the state of affairs after each kill.
///
/// # Errors
///
/// The first fact that does not hold, with its place. The folder is left as it is.
pub fn run(plan: &Plan, tell: &mut dyn FnMut(&Summary)) -> Result<Summary> {
    let mut run = Run::new(plan);
    let result = run.all_lives(tell);
    run.home.close();
    result.with_context(|| {
        let folder = plan.folder.display();
        format!("{}, seed {}, data in {folder}", plan.program.title(), plan.seed)
    })?;
    Ok(run.summary)
}

struct Run<'a> {
    plan: &'a Plan,
    dice: Dice,
    clients: Vec<Client>,
    definer: Definer,
    heads: Heads,
    home: Arc<Home>,
    followers: Vec<JoinHandle<Result<Seen>>>,
    summary: Summary,
}

impl<'a> Run<'a> {
    fn new(plan: &'a Plan) -> Self {
        let dice = Dice::new(plan.seed);
        let client = |index: u64| {
            // Two clients of one name: their commands are counted together.
            let name = format!("till-{}", index / 2);
            Client::new(Workload::new(name, dice.fork(index + 1)))
        };
        let home = Arc::new(Home::default());
        Self {
            plan,
            clients: (0..plan.clients).map(client).collect(),
            definer: Definer::default(),
            heads: Heads::default(),
            followers: FOLLOWED.iter().map(|it| follow(it, home.clone())).collect(),
            home,
            summary: Summary::new(plan),
            dice,
        }
    }

    fn all_lives(&mut self, tell: &mut dyn FnMut(&Summary)) -> Result<()> {
        let started = Instant::now();
        while self.summary.kills < self.plan.kills {
            self.life().with_context(|| format!("life {}", self.summary.kills + 1))?;
            self.count(started);
            tell(&self.summary);
        }
        self.last_life().context("the last life")?;
        self.count(started);
        Ok(())
    }

    /// Starts the server, works with it, kills it.
    fn life(&mut self) -> Result<()> {
        let mut server = self.start()?;
        if self.summary.kills > 0 && self.dice.below(KILLS_PER_EARLY_KILL) == 0 {
            let usual = self.summary.ready(50).max(READY_LEAST);
            let moment = self.dice.below(u64::try_from(usual.as_micros())? * 2);
            server.wait_until_ready(Duration::from_micros(moment))?;
            server.kill()?;
            self.summary.early_kills += 1;
        } else {
            let address = self.ready(&mut server)?;
            if self.summary.kills == 0 {
                self.lay_foundations(address)?;
            }
            self.home.moved(address);
            self.insist_on_some(address)?;
            self.work(address, server)?;
        }
        self.summary.kills += 1;
        self.cut_power()?;
        match self.followers.iter().position(JoinHandle::is_finished) {
            None => Ok(()),
            Some(ended) => {
                join(self.followers.swap_remove(ended))?;
                bail!("a follower saw an end that there was not")
            }
        }
    }

    fn last_life(&mut self) -> Result<()> {
        let mut server = self.start()?;
        let address = self.ready(&mut server)?;
        self.home.moved(address);
        self.definer.live(address, 0, &Progress::default())?;
        for client in &mut self.clients {
            client.resolve_now(address)?;
        }
        self.say(address, LAST_EVENT)?;
        self.definer.insist(address)?;
        thread::scope(|scope| {
            let insist = |client: &'_ mut Client| client.insist(address, Insist::OnAll);
            let clients = self.clients.iter_mut().map(|it| scope.spawn(move || insist(it)));
            clients.collect::<Vec<_>>().into_iter().try_for_each(|it| unwind(it.join()))
        })?;
        self.check_all(&mut ReconnectingClient::new(address))?;
        server.kill()
    }

    /// All facts, when nothing is under way any more.
    fn check_all(&mut self, http: &mut ReconnectingClient) -> Result<()> {
        let histories = || self.clients.iter().map(Client::history);
        let logs = Logs::read(http)?;
        logs.check()?;
        numbers::check(&logs)?;
        receipts::check(&logs, histories())?;
        let trees = Trees::of(&logs)?;
        trees.check(http)?;
        self.summary.proofs = trees.check_receipts(histories())?;
        self.summary.workspaces = logs.workspaces.len();
        self.summary.events = logs.workspaces.values().map(Vec::len).sum();
        for workspace in HOT {
            self.heads.look(http, workspace)?;
        }
        self.heads.check(http)?;
        let have_ended = self.home.wait_for_ends(FOLLOWED.len(), PATIENCE);
        ensure!(have_ended, "a follower has not seen the last event within {PATIENCE:?}");
        for follower in std::mem::take(&mut self.followers) {
            let seen = join(follower)?;
            followers::check(&logs, &seen)?;
            self.summary.followed += seen.events.len();
        }
        Ok(())
    }

    fn start(&self) -> Result<Server> {
        let folder = &self.plan.folder;
        Server::start(&self.plan.program, &self.data(), &self.notes(), folder.join("server.log"))
    }

    fn ready(&mut self, server: &mut Server) -> Result<SocketAddr> {
        let address = server.wait_until_ready(PATIENCE)?;
        let address = address.with_context(|| format!("not ready after {PATIENCE:?}"))?;
        // The first start makes the store, which takes longer.
        if self.summary.kills > 0 {
            self.summary.ready.push(server.age());
        }
        Ok(address)
    }

    fn lay_foundations(&mut self, address: SocketAddr) -> Result<()> {
        Definer::lay_foundations(address)?;
        self.say(address, "Begun")
    }

    /// Has one event of this name in every workspace that is watched.
    fn say(&mut self, address: SocketAddr, event: &str) -> Result<()> {
        let client = self.clients.first_mut().context("there are clients")?;
        let watched: BTreeSet<&str> = HOT.into_iter().chain(FOLLOWED).collect();
        watched.into_iter().try_for_each(|workspace| client.say(address, workspace, event))
    }

    /// After a restart: what is most likely to be lost, and a few samples of the rest.
    fn insist_on_some(&mut self, address: SocketAddr) -> Result<()> {
        for client in &mut self.clients {
            client.insist(address, Insist::OnSome { newest: 6, older: 2 })?;
        }
        let mut http = ReconnectingClient::new(address);
        HOT.iter().try_for_each(|workspace| self.heads.look(&mut http, workspace))
    }

    /// Lets clients and the definer work until so many commands were acknowledged, and kills the
    /// server at some moment between two acknowledgements.
    fn work(&mut self, address: SocketAddr, server: Server) -> Result<()> {
        let progress = Progress::default();
        let count = 1 + self.dice.below(self.plan.acknowledged_max);
        let more = count + self.dice.below(4);
        let moment = Duration::from_micros(self.dice.below(3000));
        // Half of the definitions come close to the kill, so that some of them meet it.
        let define_after = match self.dice.below(2) {
            0 => count.saturating_sub(self.dice.below(8)),
            _ => self.dice.below(count),
        };
        progress.set_defined(self.definer.acknowledged);
        thread::scope(|scope| {
            let progress = &progress;
            let lives = self.clients.iter_mut().map(|client| {
                scope.spawn(move || progress.end_if_failed(client.live(address, progress)))
            });
            let mut lives: Vec<_> = lives.collect();
            let definer = &mut self.definer;
            lives.push(scope.spawn(move || {
                progress.end_if_failed(definer.live(address, define_after, progress))
            }));
            let is_enough = progress.wait_for(count, PATIENCE);
            progress.wait_for(more, moment);
            progress.end();
            let killed = server.kill();
            lives.into_iter().try_for_each(|life| unwind(life.join()))?;
            ensure!(is_enough, "fewer than {count} commands were acknowledged in {PATIENCE:?}");
            killed
        })
    }

    fn cut_power(&mut self) -> Result<()> {
        if self.plan.program.loses_unsynced() {
            let lost = power_cut::cut(&self.data(), &self.notes(), &mut self.dice)?;
            self.summary.lost_bytes += lost;
            self.summary.cuts += u64::from(lost > 0);
        }
        Ok(())
    }

    fn count(&mut self, started: Instant) {
        let mut counts = Counts::default();
        self.clients.iter().for_each(|client| counts.add(client.history().counts));
        self.summary.counts = counts;
        self.summary.definitions = self.definer.acknowledged;
        self.summary.unknown_definitions = self.definer.unknown;
        self.summary.took = started.elapsed();
    }

    fn data(&self) -> PathBuf {
        self.plan.folder.join("data")
    }

    fn notes(&self) -> PathBuf {
        self.plan.folder.join("synced")
    }
}

fn join<T>(thread: JoinHandle<Result<T>>) -> Result<T> {
    unwind(thread.join())
}

/// A panic of a thread is one of its owner too.
fn unwind<T>(joined: thread::Result<Result<T>>) -> Result<T> {
    joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
