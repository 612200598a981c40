//! What a server says.

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;

use seriatim_node::State;

/// Says something to whoever listens. A terminal that was closed ends nothing.
pub(crate) fn say(text: impl std::fmt::Display) {
    drop(writeln!(std::io::stdout(), "{text}"));
}

/// Says what is wrong, where errors are said.
pub(crate) fn complain(text: impl std::fmt::Display) {
    drop(writeln!(std::io::stderr(), "{text}"));
}

/// Where the server is, and for development what to try first.
pub(crate) fn text(address: SocketAddr, data: &Path, is_dev: bool) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let (pid, data) = (std::process::id(), data.display());
    let place = format!(
        "Seriatim {version} listens on http://{address}\n\
         Process {pid} keeps its data in {data}. Ctrl-C stops."
    );
    if is_dev { format!("{place}\n\n{}", first_steps(address)) } else { place }
}

fn first_steps(address: SocketAddr) -> String {
    format!(
        r#"Try it: an app, a sequence, and a command that draws its next number.

  curl -X POST http://{address}/v1/apps -d '{{"name":"shop"}}'
  curl -X PUT http://{address}/v1/apps/shop/sequences/invoice -d '{{"format":"INV-{{n:06}}"}}'
  curl -X POST http://{address}/v1/apps/shop/workspaces/store-1/commands -H 'Idempotency-Key: 0b0e8a4e-5f0a-4c3e-9d6b-7a1c2d3e4f50' -H 'Client-Id: me' -d '{{"events":[{{"name":"InvoiceIssued","args":{{"number":{{"$next":"invoice","as":"text"}}}}}}]}}'

Send the last one twice: the answer is the same. Then see what happened.

  curl http://{address}/v1/apps/shop/workspaces/store-1/events
"#
    )
}

/// How far the partitions are that do not serve yet.
pub(crate) fn progress<T>(partitions: &[(T, State)]) -> String {
    let serving = partitions.iter().filter(|(_, state)| *state == State::Serving).count();
    let (done, total) =
        partitions.iter().fold((0_u64, 0_u64), |(done, total), (_, state)| match state {
            State::Actualizing(progress) => {
                (done.saturating_add(progress.done), total.saturating_add(progress.total))
            }
            State::Serving | State::Stopped(_) => (done, total),
        });
    let count = partitions.len();
    format!("Reading logs: {serving} of {count} partitions serve, {done} of {total} events read.")
}
