//! What must hold, whatever was killed: one file for each group of facts.
//!
//! ```text
//!  history of the clients ──► receipts ──┐
//!  partition logs, workspace logs ──► logs ──► numbers
//!  heads, proofs ──► proofs              └──► every key, every number, every byte
//!  what followers saw ──► followers
//! ```
//!
//! The checks themselves are functions of what was read, so that their tests can plant each fault
//! that they are there to find.

pub(crate) mod event;
pub(crate) mod followers;
pub(crate) mod logs;
pub(crate) mod numbers;
pub(crate) mod proofs;
pub(crate) mod receipts;

use anyhow::{Result, ensure};
use serde_json::Value;
use seriatim_testkit::ReconnectingClient;

/// Reads what must be there.
fn get(http: &mut ReconnectingClient, path: &str) -> Result<Value> {
    let response = http.send("GET", path, &[], b"")?;
    let body = serde_json::from_slice(&response.body)?;
    ensure!(response.status == 200, "GET {path}: {} {body}", response.status);
    Ok(body)
}
