//! `seriatim demo`: a small invoicing shop that runs by itself.
//!
//! Everything in it is real: a server process, a folder, SIGKILL. Each step says in one line what
//! it shows, and what is not as promised ends the demo with an error.

mod server;

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use seriatim_client::{
    App, Client, Command, Condition, Key, NewSequence, RecordClass, SubmitError, Submitted,
    Workspace, next_text,
};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use self::server::Server;
use crate::document::{object, of};
use crate::output::{Form, print};
use crate::signals::interruptible;
use crate::verify;

/// Invoices that are written while the server is killed, and by how many at the same time.
const INVOICES: u64 = 400;
const CLERKS: u64 = 8;

/// After how many of them it is killed.
const KILL_AFTER: usize = 150;

pub(crate) fn run(output: Form) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(interruptible(async {
        let folder = tempfile::Builder::new().prefix("seriatim-demo-").tempdir();
        let folder = folder.context("a folder for the demo cannot be made")?;
        Demo { output, step: 0 }.play(folder.path()).await?;
        folder.close().context("the folder of the demo cannot be removed")
    }))
}

/// Counts steps.
struct Demo {
    output: Form,
    step: u32,
}

impl Demo {
    async fn play(mut self, data: &Path) -> Result<()> {
        self.tell("A small invoicing shop. The server is a real process, and it will be killed.")?;
        let server = Server::start(data, SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
        let address = server.address;
        self.say(format!("A server listens on {address}, with its data in {}.", data.display()))?;
        let client = Client::builder().client_id("clerk-1");
        let client = client.connect(&format!("http://{address}"))?;
        let store = self.define(&client.app("shop")).await?;
        self.order(&store).await?;
        self.retry(&store).await?;
        self.refuse(&store).await?;
        let server = self.crash(&store, server, data).await?;
        self.count(&store).await?;
        self.verify(server, data)?;
        self.tell("\nDone. Start a server for yourself with `seriatim dev`.")
    }

    /// Tells people, and nobody else, what is no step.
    fn tell(&self, sentence: &str) -> Result<()> {
        match self.output {
            Form::Table => Ok(print(sentence)?),
            Form::Json => Ok(()),
        }
    }

    fn say(&mut self, sentence: impl std::fmt::Display) -> Result<()> {
        self.step = self.step.saturating_add(1);
        let (step, sentence) = (self.step, sentence.to_string());
        let document = object([("step", of(step)), ("text", of(sentence.as_str()))]);
        Ok(self.output.print_as(&document, || format!("{step}. {sentence}"))?)
    }

    async fn define(&mut self, app: &App) -> Result<Workspace> {
        app.create(Default::default()).await?;
        app.define_record("order", RecordClass::C).await?;
        app.define_sequence("invoice", NewSequence::yearly("INV-{yyyy}-{n:06}")).await?;
        self.say(
            "An app \"shop\" numbers its invoices INV-{yyyy}-{n:06}, without a gap, anew each year.",
        )?;
        Ok(app.workspace("store-1"))
    }

    async fn order(&mut self, store: &Workspace) -> Result<()> {
        let (mut orders, mut invoices) = (Vec::new(), Vec::new());
        for sku in ["A-7", "B-2", "C-9"] {
            let placed = Command::new("OrderPlaced").create(1, "order", json!({"sku": sku}));
            let order = store.submit(placed).await?.id(1).context("an order has an id")?;
            invoices.push(invoice_number(&store.submit(invoice(order)).await?)?);
            orders.push(order.to_string());
        }
        let last_digits: Vec<&str> =
            invoices.iter().filter_map(|it| it.rsplit('-').next()).collect();
        ensure!(last_digits == ["000001", "000002", "000003"], "no gap: {invoices:?}");
        let (orders, invoices) = (orders.join(", "), invoices.join(", "));
        self.say(format!("Three orders ({orders}) get three invoices: {invoices}."))
    }

    async fn retry(&mut self, store: &Workspace) -> Result<()> {
        let (key, command) = (Key::random(), invoice(200_003));
        let first = store.submit_with_key(key, command.clone()).await?;
        let again = store.submit_with_key(key, command).await?;
        ensure!(!first.is_replayed && again.is_replayed, "the second one is a repeat");
        ensure!(again.receipt == first.receipt, "a repeat has the same receipt");
        let number = invoice_number(&first)?;
        self.say(format!(
            "An answer is lost and the command is sent again with its key: the same receipt, {number}, \
             and still one event."
        ))
    }

    async fn refuse(&mut self, store: &Workspace) -> Result<()> {
        let paid = invoice(200_001).set_if("paid/200001", true, Condition::Exists);
        let refused = store.submit(paid).await;
        let Err(SubmitError::Refused { error, .. }) = refused else {
            anyhow::bail!("an entity that is not there does not exist: {refused:?}");
        };
        let next = invoice_number(&store.submit(invoice(200_001)).await?)?;
        ensure!(next.ends_with("-000005"), "a refused command draws nothing: {next}");
        let code = error.code();
        self.say(format!(
            "A command whose condition does not hold is refused ({code}) and draws no number: the \
             next invoice is {next}."
        ))
    }

    /// Kills the server while invoices are written, and starts it again.
    async fn crash(&mut self, store: &Workspace, server: Server, data: &Path) -> Result<Server> {
        let (done, mut seen) = mpsc::unbounded_channel();
        let mut clerks = JoinSet::new();
        for _ in 0..CLERKS {
            let (store, done) = (store.clone(), done.clone());
            clerks.spawn(async move {
                for _ in 0..INVOICES / CLERKS {
                    store.submit(invoice(200_002)).await?;
                    // Whoever kills the server has seen enough at some time.
                    let _ = done.send(());
                }
                anyhow::Ok(())
            });
        }
        for _ in 0..KILL_AFTER {
            seen.recv().await.context("all clerks ended early")?;
        }
        let address = server.address;
        server.kill()?;
        let server = Server::start(data, address).await?;
        while let Some(clerk) = clerks.join_next().await {
            clerk??;
        }
        self.say(format!(
            "{CLERKS} clerks write {INVOICES} invoices. After {KILL_AFTER} the server is killed \
             (SIGKILL) and started again: the clerks only wait, and all {INVOICES} are acknowledged."
        ))?;
        Ok(server)
    }

    /// Reads all invoices back.
    async fn count(&mut self, store: &Workspace) -> Result<()> {
        let state = store.sequence("invoice", None).await?.context("the sequence is defined")?;
        let last = state.last;
        let (mut numbers, mut from) = (BTreeSet::new(), 1);
        loop {
            let page = store.events(from, 1000).await?;
            let issued = page.events.iter().filter(|event| event.name == "InvoiceIssued");
            for event in issued {
                let args = event.args.to_value();
                let number = args.get("number").and_then(|it| it.as_str());
                let number = number.and_then(|it| it.rsplit('-').next()?.parse::<u64>().ok());
                let number = number.context("an invoice has a number")?;
                ensure!(numbers.insert(number), "invoice {number} is there twice");
            }
            if page.next > page.last {
                break;
            }
            from = page.next;
        }
        // Five were written before the clerks came.
        let expected = INVOICES.saturating_add(5);
        ensure!(last == expected, "{expected} invoices were acknowledged, and {last} are there");
        ensure!(numbers.iter().copied().eq(1..=last), "every number is there");
        self.say(format!("Every number from 1 to {last} is in the log, exactly once."))
    }

    fn verify(&mut self, server: Server, data: &Path) -> Result<()> {
        server.end()?;
        let totals = verify::check(data)?;
        self.say(format!(
            "The server has ended, and everything is recomputed from the events alone: {} events, {} \
             rows, nothing differs.",
            totals.events, totals.rows
        ))
    }
}

fn invoice(order: u64) -> Command {
    let number = next_text("invoice");
    Command::new("InvoiceIssued").args(json!({"order": order, "number": number}))
}

fn invoice_number(submitted: &Submitted) -> Result<String> {
    let drawn = submitted.number("invoice").context("an invoice draws a number")?;
    Ok(drawn.text.clone())
}
