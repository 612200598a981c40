//! A proof on its own.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use seriatim_verify::{ProofProblem, Proved, check_proof};

use super::different;
use crate::document::{object, of};
use crate::exit::Failure;
use crate::output::Form;

pub(super) fn run(output: Form, proof: &Path, event: Option<&Path>) -> Result<()> {
    let read =
        |path: &Path| fs::read(path).with_context(|| format!("{} cannot be read", path.display()));
    let event = event.map(read).transpose()?;
    let proved = check_proof(&read(proof)?, event.as_deref()).map_err(failure)?;
    let (document, text) = match proved {
        Proved::Inclusion { offset, leaf, size, root } => (
            object([
                ("holds", of(true)),
                ("offset", of(offset)),
                ("leaf", of(leaf.to_string())),
                ("size", of(size)),
                ("root", of(root.to_string())),
            ]),
            format!(
                "The proof holds: event {offset} with the hash {leaf} is in the log of {size} \
                 events with the root {root}."
            ),
        ),
        Proved::Consistency { from, from_root, to, to_root } => (
            object([
                ("holds", of(true)),
                ("from", of(from)),
                ("from_root", of(from_root.to_string())),
                ("to", of(to)),
                ("to_root", of(to_root.to_string())),
            ]),
            format!(
                "The proof holds: the log of {from} events with the root {from_root} is the \
                 beginning of the log of {to} events with the root {to_root}."
            ),
        ),
    };
    let advice =
        "Compare the root with one that you kept, or that the server shows: seriatim proof head";
    Ok(output.print_as(&document, || format!("{text}\n{advice}"))?)
}

fn failure(problem: ProofProblem) -> Failure {
    let said = match std::error::Error::source(&problem) {
        Some(source) => format!("{problem}: {source}"),
        None => problem.to_string(),
    };
    match problem {
        ProofProblem::Malformed { .. } => Failure::usage(said),
        ProofProblem::Contradiction { .. } => different("PROOF_CONTRADICTS_ITSELF", said),
        ProofProblem::DoesNotHold(_) => different("PROOF_DOES_NOT_HOLD", said),
    }
}
