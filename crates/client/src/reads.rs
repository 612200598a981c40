//! Everything that can be asked of a workspace.

use std::time::Duration;

use serde::de::DeserializeOwned;
use seriatim_api::message::{
    ClientState, Consistency, Entity, Events, Head, InclusionProof, Receipt, Record, Records,
    SequenceState,
};
use seriatim_api::method::MethodId;

use crate::error::Error;
use crate::http::Request;
use crate::key::Key;
use crate::partition::some;
use crate::workspace::Workspace;

/// The longest that a server lets a read wait.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// Reads. Each sees everything that was acknowledged before it began. What is not there is `None`,
/// no error.
impl Workspace {
    /// The same workspace, whose reads wait until it has this offset: as long as the client tries
    /// anything, and then fail with `NOT_YET`. The offset comes from a receipt, an event or a
    /// head that somebody else has seen.
    #[must_use]
    pub fn min_offset(&self, offset: u64) -> Self {
        Self { min_offset: offset, ..self.clone() }
    }

    /// Events from an offset on, in order and without a hole, at most so many. 0 and 1 are the
    /// beginning.
    ///
    /// # Errors
    ///
    /// When there is no answer.
    pub async fn events(&self, from: u64, limit: u32) -> Result<Events, Error> {
        let request = self.asked(MethodId::ListEvents, &[])?.with("from", Some(from));
        self.client.ask(request.with("limit", some(limit.into()))).await
    }

    /// A record, by its id.
    ///
    /// # Errors
    ///
    /// When there is no answer.
    pub async fn record(&self, id: u64) -> Result<Option<Record>, Error> {
        self.find(self.asked(MethodId::GetRecord, &[("id", &id.to_string())])?).await
    }

    /// Records of a kind of class c, those with the lowest ids from `from` on, at most so many.
    ///
    /// # Errors
    ///
    /// `UNKNOWN_KIND`, `INVALID_ARGUMENT` for one of another class, or when there is no answer.
    pub async fn records(&self, kind: &str, from: u64, limit: u32) -> Result<Records, Error> {
        let request = self.asked(MethodId::ListRecords, &[])?.with("kind", Some(kind));
        let request = request.with("from", Some(from)).with("limit", some(limit.into()));
        self.client.ask(request).await
    }

    /// An entity, unless its time is over.
    ///
    /// # Errors
    ///
    /// When there is no answer.
    pub async fn entity(&self, key: &str) -> Result<Option<Entity>, Error> {
        self.find(self.asked(MethodId::GetEntity, &[("key", key)])?).await
    }

    /// Where a sequence stands: in a year, or in the current one. `None` when the workspace has no
    /// such sequence, or a year is asked for and the sequence has none.
    ///
    /// # Errors
    ///
    /// When there is no answer.
    pub async fn sequence(
        &self,
        name: &str,
        period: Option<u16>,
    ) -> Result<Option<SequenceState>, Error> {
        let request = self.asked(MethodId::GetSequence, &[("name", name)])?;
        self.find(request.with("period", period)).await
    }

    /// Where a client stands; `None` when nothing of it was carried out.
    ///
    /// # Errors
    ///
    /// When there is no answer.
    pub async fn client(&self, client: &str) -> Result<Option<ClientState>, Error> {
        self.find(self.asked(MethodId::GetClient, &[("client", client)])?).await
    }

    /// The receipt of the command that a client sent with a key; `None` when it was not carried
    /// out, or its key's retention is over. A command that is under way may still be carried out:
    /// `None` is final once its [deadline](crate::Command::deadline) has passed. To resolve one at
    /// once, send it again with the same key.
    ///
    /// # Errors
    ///
    /// When there is no answer.
    pub async fn receipt(&self, client: &str, key: Key) -> Result<Option<Receipt>, Error> {
        let parts = [("client", client), ("key", &*key.to_string())];
        self.find(self.asked(MethodId::GetReceipt, &parts)?).await
    }

    /// How many events the log has, and the root of the tree over them.
    ///
    /// # Errors
    ///
    /// When there is no answer.
    pub async fn head(&self) -> Result<Head, Error> {
        self.client.ask(self.asked(MethodId::GetHead, &[])?).await
    }

    /// The proof that an event is among the first `size` of the log; 0 stands for all there are.
    ///
    /// # Errors
    ///
    /// When there are not as many, or no answer.
    pub async fn proof(&self, offset: u64, size: u64) -> Result<InclusionProof, Error> {
        let request = self.asked(MethodId::GetProof, &[("offset", &offset.to_string())])?;
        self.client.ask(request.with("size", some(size))).await
    }

    /// The proof that the log only grew from one size to another; 0 stands for all there are.
    ///
    /// # Errors
    ///
    /// When there are not as many, or no answer.
    pub async fn consistency(&self, from: u64, to: u64) -> Result<Consistency, Error> {
        let request = self.asked(MethodId::GetConsistency, &[])?.with("from", Some(from));
        self.client.ask(request.with("to", some(to))).await
    }

    /// What is there, or that it is not.
    async fn find<T: DeserializeOwned>(&self, request: Request) -> Result<Option<T>, Error> {
        match self.client.ask(request).await {
            Ok(found) => Ok(Some(found)),
            Err(error) if matches!(error.code(), "NOT_FOUND" | "RECORD_NOT_FOUND") => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A request that waits for the offset that is asked for.
    fn asked(&self, method: MethodId, parts: &[(&str, &str)]) -> Result<Request, Error> {
        let request = self.request(method, parts)?;
        if self.min_offset == 0 {
            return Ok(request);
        }
        // Its answer has to come back before this client gives up.
        let wait = self.client.inner.patience.mul_f64(0.8).min(WAIT_MAX);
        let request = request.with("min_offset", Some(self.min_offset));
        Ok(request.with("wait_ms", Some(wait.as_millis())))
    }
}
