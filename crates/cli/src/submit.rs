//! `seriatim submit`.

use std::fs::File;
use std::io::{self, Read};
use std::pin::pin;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;
use serde::de::IgnoredAny;
use seriatim_client::{
    Client, Command, CommandJson, Key, Receipt, Submission, SubmitError, Submitted,
};

use crate::args::{Common, DEFAULT_SERVER, DEFAULT_TIMEOUT, SERVER_VARIABLE, Within, or_variable};
use crate::commands::receipt;
use crate::exit::{Exit, Failure};
use crate::output::{Form, Table};
use crate::progress::Progress;
use crate::remote::{self, Again, not_submitted_yet};
use crate::signals;

/// How often to look whether it is time to say that an answer is waited for.
const LOOK_EVERY: Duration = Duration::from_millis(100);

pub(crate) const EXAMPLE: &str = r#"Example, with a number of the sequence `invoice`:
  seriatim submit shop store-1 InvoiceIssued --args '{"number": {"$next": "invoice"}}'"#;

#[derive(Debug, Args)]
pub(crate) struct SubmitArgs {
    /// The app.
    app: String,
    /// The workspace: its name, or its id. It comes into being by being used.
    workspace: String,
    /// The name of the event, of a command that has one.
    #[arg(required_unless_present = "file", conflicts_with = "file")]
    event: Option<String>,
    /// The arguments of the event: a JSON object. {"$next": "s"} in it draws a number.
    #[arg(long, value_name = "JSON", requires = "event")]
    args: Option<String>,
    /// A whole command, as the HTTP contract has it. - is standard input.
    #[arg(long, value_name = "FILE")]
    file: Option<String>,
    /// The idempotency key. Sent again with the same key, a command is carried out once.
    #[arg(long, value_name = "UUID")]
    key: Option<Key>,
    /// Who sends it. Keys belong to their client. SERIATIM_CLIENT sets another default.
    #[arg(long, default_value_t = or_variable("SERIATIM_CLIENT", "cli"))]
    client: String,
    /// Only if this is the last offset of the workspace; 0 for none.
    #[arg(long, value_name = "OFFSET")]
    if_offset: Option<u64>,
    /// Has a proof come with the receipt.
    #[arg(long)]
    proof: bool,
    /// When it is too late to carry it out, from now on.
    #[arg(long, value_name = "TIME")]
    deadline: Option<Within>,
}

/// Sends a command and prints its receipt. A server that is not there is waited for: what is sent
/// with one key may be sent as often as it takes.
pub(crate) fn run(common: &Common, args: &SubmitArgs) -> Result<()> {
    let command = args.command()?;
    let key = args.key.unwrap_or_else(Key::random);
    let Common { server, output, timeout } = common;
    remote::run(async {
        let builder = Client::builder().client_id(&args.client).deadline(timeout.0);
        let client = remote::client(server, builder)?;
        let workspace = client.app(&args.app).workspace(&args.workspace);
        let submitted = tokio::select! {
            answer = patiently(workspace.submit_with_key(key, command), common) => answer,
            () = signals::interrupt() => {
                return Err(interrupted(key, args.again(common, key)).into());
            }
        };
        let submitted = match submitted {
            Ok(submitted) => submitted,
            Err(error) => {
                let again = args.again(common, key);
                return Err(not_submitted_yet(&error, server, again).await.into());
            }
        };
        let Submitted { receipt, is_replayed: replayed, .. } = &submitted;
        let sent = Sent { receipt, key: key.to_string(), replayed: *replayed };
        Ok(output.print_as(&sent, || table(&submitted))?)
    })
}

/// A receipt, and what the contract has in headers.
#[derive(Serialize)]
struct Sent<'a> {
    #[serde(flatten)]
    receipt: &'a Receipt,
    key: String,
    replayed: bool,
}

/// That nobody waits for the answer any more.
fn interrupted(key: Key, again: Again) -> Failure {
    Failure::new(Exit::Unknown, "interrupted: perhaps written")
        .code("INTERRUPTED")
        .fact("idempotency_key", key.to_string())
        .advise(again.resolve())
        .fact("again", again.line)
}

/// Says that an answer is waited for, so that it does not look like a hang.
async fn patiently(submission: Submission, common: &Common) -> Result<Submitted, SubmitError> {
    let Common { server, timeout, .. } = common;
    let mut progress = Progress::new();
    let mut submission = pin!(submission);
    loop {
        match tokio::time::timeout(LOOK_EVERY, &mut submission).await {
            Ok(answer) => return answer,
            Err(_) => progress.say(|| {
                let within = timeout.0.as_millis();
                format!("{server} has not answered: trying for {within} ms in all")
            }),
        }
    }
}

impl SubmitArgs {
    fn command(&self) -> Result<CommandJson> {
        let document = match &self.file {
            Some(file) => read(file)?,
            None => self.one_event()?,
        };
        let command = Command::from_json(&document);
        let mut command = command.map_err(|error| {
            Failure::usage(format!("this is no command: {error}"))
                .advise("docs/reference/http.md shows what one looks like")
        })?;
        if let Some(offset) = self.if_offset {
            command = command.if_offset(offset);
        }
        if self.proof {
            command = command.with_proof();
        }
        if let Some(deadline) = self.deadline.and_then(|it| SystemTime::now().checked_add(it.0)) {
            command = command.deadline(deadline);
        }
        Ok(command)
    }

    /// The command line that sends the same again, whatever is set around it.
    fn again(&self, common: &Common, key: Key) -> Again {
        let Common { server, output, timeout } = common;
        // Who has set another default would send it there.
        let is_default = or_variable(SERVER_VARIABLE, DEFAULT_SERVER) == DEFAULT_SERVER;
        let server = Some(server).filter(|server| !is_default || *server != DEFAULT_SERVER);
        let time = |within: Within| format!("{}ms", within.0.as_millis());
        let timeout = Some(*timeout).filter(|it| DEFAULT_TIMEOUT.parse() != Ok(*it));
        let options = [
            ("--args", self.args.clone()),
            ("--file", self.file.clone()),
            ("--if-offset", self.if_offset.map(|offset| offset.to_string())),
            ("--deadline", self.deadline.map(time)),
            ("--server", server.cloned()),
            ("--timeout", timeout.map(time)),
            ("--output", Some("json".to_owned()).filter(|_| *output == Form::Json)),
            ("--client", Some(self.client.clone())),
            ("--key", Some(key.to_string())),
        ];
        let proof = self.proof.then(|| "--proof".to_owned());
        let given = options.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let options = proof.into_iter().chain(given.flat_map(|(name, value)| option(name, value)));
        let names = [Some(&self.app), Some(&self.workspace), self.event.as_ref()];
        let names = names.into_iter().flatten().cloned();
        let words: Vec<String> = if names.clone().any(|name| name.starts_with('-')) {
            // Behind two dashes nothing is an option.
            options.chain(["--".to_owned()]).chain(names).collect()
        } else {
            names.chain(options).collect()
        };
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let is_piped = self.file.as_deref() == Some("-");
        let input = if is_piped { " with the same standard input" } else { "" };
        let line = format!("seriatim submit {}", words.join(" "));
        Again { line, send: format!("send it again{input}") }
    }

    /// A command with one event, whose arguments are left as they were written.
    fn one_event(&self) -> Result<String> {
        let name = self.event.as_deref().context("there is a name, or a file")?;
        let args = self.args.as_deref().unwrap_or("{}");
        let checked: Result<IgnoredAny, _> = serde_json::from_str(args);
        checked.map_err(|error| {
            let failure = Failure::usage(format!("--args is no JSON: {error}"));
            failure.advise(r#"write an object in quotes, such as --args '{"total": 12}'"#)
        })?;
        let name = serde_json::Value::from(name);
        Ok(format!(r#"{{"events":[{{"name":{name},"args":{args}}}]}}"#))
    }
}

fn read(file: &str) -> Result<String> {
    let name = if file == "-" { "standard input" } else { file };
    let mut bytes = Vec::new();
    let read = match file {
        "-" => io::stdin().read_to_end(&mut bytes),
        _ => File::open(file).and_then(|mut file| file.read_to_end(&mut bytes)),
    };
    read.with_context(|| format!("cannot read {name}"))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let byte = error.as_bytes().get(at).copied().unwrap_or_default();
        Failure::usage(format!("{name} is no UTF-8: 0x{byte:02x} at byte {}", at.saturating_add(1)))
            .into()
    })
}

/// An option with its value, in one word if the value would look like another option.
fn option(name: &str, value: String) -> Vec<String> {
    match value.len() > 1 && value.starts_with('-') {
        true => vec![format!("{name}={value}")],
        false => vec![name.to_owned(), value],
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_./:=,@+".contains(char);
    match word {
        "" => "''".to_owned(),
        plain if plain.chars().all(is_plain) => plain.to_owned(),
        other => format!("'{}'", other.replace('\'', r"'\''")),
    }
}

fn table(submitted: &Submitted) -> Table {
    let replayed = if submitted.is_replayed { "yes: it was carried out before" } else { "no" };
    let key = ("key".to_owned(), submitted.key.to_string());
    let replayed = ("replayed".to_owned(), replayed.to_owned());
    Table::members(receipt::lines(&submitted.receipt).into_iter().chain([key, replayed]))
}
