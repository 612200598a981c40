//! Defines sequences and kinds while clients are at work, so that kills meet definitions too.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use seriatim_testkit::ReconnectingClient;

use crate::client::check_break;
use crate::progress::Progress;
use crate::workload::{APP, foundations, new_definition};

/// Longer than any life.
const WHOLE_LIFE: Duration = Duration::from_secs(3600);

#[derive(Debug, Default)]
pub(crate) struct Definer {
    /// New definitions that were acknowledged. All of them can be used, everywhere.
    pub(crate) acknowledged: u64,
    /// Definitions that were not answered before a kill.
    pub(crate) unknown: u64,
}

impl Definer {
    /// Defines what the first commands need.
    pub(crate) fn lay_foundations(address: SocketAddr) -> Result<()> {
        let (mut http, progress) = (ReconnectingClient::new(address), Progress::default());
        for (method, path, body) in foundations() {
            define(&mut http, method, &path, &body, &progress)?;
        }
        Ok(())
    }

    /// Waits for so many acknowledged commands, and defines one more thing: what was not answered
    /// in an earlier life is defined again.
    pub(crate) fn live(
        &mut self,
        address: SocketAddr,
        after: u64,
        progress: &Progress,
    ) -> Result<()> {
        if !progress.wait_for(after, WHOLE_LIFE) {
            return Ok(());
        }
        let (path, body) = new_definition(self.acknowledged);
        if define(&mut ReconnectingClient::new(address), "PUT", &path, &body, progress)? {
            self.acknowledged += 1;
            progress.set_defined(self.acknowledged);
        } else {
            self.unknown += 1;
        }
        Ok(())
    }

    /// Defines again what was acknowledged: all of it must be there, so nothing may change.
    pub(crate) fn insist(&self, address: SocketAddr) -> Result<()> {
        let (mut http, progress) = (ReconnectingClient::new(address), Progress::default());
        let before = definitions(&mut http)?;
        for index in 0..self.acknowledged {
            let (path, body) = new_definition(index);
            define(&mut http, "PUT", &path, &body, &progress)?;
        }
        let after = definitions(&mut http)?;
        ensure!(before == after, "acknowledged definitions were missing: {before} became {after}");
        Ok(())
    }
}

/// Returns whether it was acknowledged; if not, the server was killed.
fn define(
    http: &mut ReconnectingClient,
    method: &'static str,
    path: &str,
    body: &Value,
    progress: &Progress,
) -> Result<bool> {
    let body = body.to_string();
    match http.send(method, path, &[], body.as_bytes()) {
        Ok(response) if matches!(response.status, 200 | 201) => Ok(true),
        Ok(response) => {
            let said = String::from_utf8_lossy(&response.body);
            bail!("{method} {path}: {} {said}", response.status)
        }
        Err(error) => {
            check_break(&error, progress).with_context(|| format!("{method} {path}"))?;
            Ok(false)
        }
    }
}

fn definitions(http: &mut ReconnectingClient) -> Result<Value> {
    let path = format!("{APP}/definitions");
    let response = http.send("GET", &path, &[], b"")?;
    ensure!(response.status == 200, "GET {path}: {}", response.status);
    Ok(serde_json::from_slice(&response.body)?)
}
