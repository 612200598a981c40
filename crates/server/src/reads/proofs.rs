//! The head of a workspace's log, and proofs about it.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use seriatim_json::write;
use seriatim_node::ProofFailed;
use seriatim_types::{NUMBER_MAX, Number};

use super::{WorkspaceRead, called};
use crate::asked::{Asked, whole};
use crate::context::Context;
use crate::error::ApiError;

/// The size and the root of the tree over a workspace's log.
pub(crate) async fn head(
    State(context): State<Arc<Context>>,
    asked: Asked,
) -> Result<Response, ApiError> {
    let read = WorkspaceRead::new(context, &asked, &["min_offset", "wait_ms"])?;
    let found = read.answer(|reader, workspace| {
        let head = reader.head(workspace.id)?;
        Ok(write::head(&called(workspace), head.size, &head.root))
    });
    found.await
}

/// That an event is among the first of a workspace's log, by default among all.
pub(crate) async fn proof(
    State(context): State<Arc<Context>>,
    asked: Asked,
) -> Result<Response, ApiError> {
    let read = WorkspaceRead::new(context, &asked, &["size", "min_offset", "wait_ms"])?;
    let offset = asked.number("offset", 1..=NUMBER_MAX)?;
    let size = read.query.number("size", offset..=NUMBER_MAX)?;
    let offset = Number::new(offset).expect("the range is that of numbers");
    let found = read.answer(move |reader, workspace| {
        let last = reader.last_offset(workspace.id)?;
        if offset.get() > last {
            return Err(ApiError::not_found(format!("the last offset of the workspace is {last}")));
        }
        let size = size.unwrap_or(last);
        check_size("size", size, last)?;
        let proof = reader.inclusion(workspace.id, offset, size).map_err(proof_failed)?;
        let (leaf, path, root) = (&proof.leaf, &proof.path, &proof.root);
        Ok(write::inclusion(&write::Inclusion { offset, size, leaf, path, root }))
    });
    found.await
}

/// That a workspace's log only grew from one size to another, by default to its present one.
pub(crate) async fn consistency(
    State(context): State<Arc<Context>>,
    asked: Asked,
) -> Result<Response, ApiError> {
    let read = WorkspaceRead::new(context, &asked, &["from", "to", "min_offset", "wait_ms"])?;
    let from = whole("from", read.query.required("from")?, 0..=NUMBER_MAX)?;
    let to = read.query.number("to", from..=NUMBER_MAX)?;
    let found = read.answer(move |reader, workspace| {
        let last = reader.last_offset(workspace.id)?;
        let to = to.unwrap_or(last);
        check_size("to", to, last)?;
        check_size("from", from, to)?;
        let proof = reader.consistency(workspace.id, from, to).map_err(proof_failed)?;
        let (path, from_root, to_root) = (&proof.path, &proof.from_root, &proof.to_root);
        Ok(write::consistency(&write::Consistency { from, to, path, from_root, to_root }))
    });
    found.await
}

/// Why there is no proof, of something whose sizes were checked.
fn proof_failed(failed: ProofFailed) -> ApiError {
    match failed {
        ProofFailed::Nodes(failed) => failed.into(),
        ProofFailed::OutOfRange { asked, size } => {
            ApiError::invalid("size", format!("{asked} is more than the {size} events there are"))
        }
    }
}

fn check_size(field: &str, size: u64, last: u64) -> Result<(), ApiError> {
    if size <= last {
        return Ok(());
    }
    Err(ApiError::invalid(field, format!("{size} is more than the {last} events there are")))
}
