//! [`Sessions`]: who opened which session, for clients with a handshake, and which requests are being answered in it. A session is
//! its opener's alone.

use std::{
    collections::{HashMap, HashSet},
    sync::{self, Arc, PoisonError},
    time::Duration,
};

use rmcp::{
    model::RequestId,
    transport::streamable_http_server::session::{
        SessionId, local::LocalSessionManager, local::SessionConfig,
    },
};
use skills_http::bearer::Principal;
use tokio::sync::Mutex;

/// Sessions in all, and of one principal; without tokens all are of one.
const MAX_HTTP_SESSIONS: usize = 2_000;
/// A session without a request for so long ends; its client shakes hands again.
const SESSION_IDLE_TIMEOUT: Duration = Duration::from_mins(30);

/// No stream begins with an event without data, which says when to connect again: only clients of 2025-11-25 know it, and
/// others fail over it.
pub(super) const SSE_RETRY: Option<Duration> = None;

/// The open sessions.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<HashMap<SessionId, OpenSession>>);

#[derive(Debug)]
struct OpenSession {
    owner: Option<Principal>,
    answering: RequestIds,
}

/// The ids of a session's requests that are being answered.
type RequestIds = Arc<sync::Mutex<HashSet<RequestId>>>;

/// A request that is being answered. The last clone that is dropped frees its id.
#[derive(Debug, Clone)]
pub(super) struct SessionRequest(#[expect(dead_code, reason = "held, not read")] Arc<TakenId>);

#[derive(Debug)]
struct TakenId {
    id: RequestId,
    answering: RequestIds,
}

impl Drop for TakenId {
    fn drop(&mut self) {
        self.answering.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

/// The SDK's keeper of sessions.
pub(super) fn manager() -> LocalSessionManager {
    let mut manager = LocalSessionManager::default();
    let mut config = SessionConfig::default();
    config.keep_alive = Some(SESSION_IDLE_TIMEOUT);
    config.sse_retry = SSE_RETRY;
    manager.session_config = config;
    manager
}

fn name(principal: Option<&Principal>) -> Option<&str> {
    principal.map(|principal| &*principal.name)
}

impl Sessions {
    /// Whether this session was opened by this principal. One that is not known is as good as another's.
    pub(super) async fn is_of(&self, id: &str, principal: Option<&Principal>) -> bool {
        self.0.lock().await.get(id).is_some_and(|session| session.owner.as_ref() == principal)
    }

    /// Whether this principal may open one more. A principal with a token has a quarter of all at most.
    pub(super) async fn have_room(
        &self,
        manager: &LocalSessionManager,
        principal: Option<&Principal>,
    ) -> bool {
        let mut sessions = self.0.lock().await;
        let open = manager.sessions.read().await;
        sessions.retain(|id, _| open.contains_key(id));
        // By name: with another token, or other limits, it is not another one.
        let is_own = |session: &&OpenSession| name(session.owner.as_ref()) == name(principal);
        let own = sessions.values().filter(is_own).count();
        let most = if principal.is_some() { MAX_HTTP_SESSIONS / 4 } else { MAX_HTTP_SESSIONS };
        open.len() < MAX_HTTP_SESSIONS && own < most
    }

    /// Remembers who opened a session.
    pub(super) async fn opened(&self, id: &str, owner: Option<Principal>) {
        let session = OpenSession { owner, answering: RequestIds::default() };
        self.0.lock().await.insert(id.into(), session);
    }

    /// Begins to answer a request in a session. None where another one with its id is being answered: the SDK would send the answer of
    /// the one to the other, and never an answer to the first.
    pub(super) async fn begin(&self, session: &str, id: &RequestId) -> Option<SessionRequest> {
        let answering = Arc::clone(&self.0.lock().await.get(session)?.answering);
        let ids = || answering.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = ids().insert(id.clone());
        is_new.then(|| SessionRequest(Arc::new(TakenId { id: id.clone(), answering })))
    }

    /// How many are open.
    pub(super) async fn count(&self, manager: &LocalSessionManager) -> usize {
        manager.sessions.read().await.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // HTTP-6
    #[tokio::test]
    async fn one_id_is_answered_once_at_a_time_in_each_session() {
        let sessions = Sessions::default();
        for session in ["a", "b"] {
            sessions.opened(session, None).await;
        }
        let (one, other) = (RequestId::Number(1), RequestId::String("1".into()));
        let first = sessions.begin("a", &one).await.unwrap();
        let clone = first.clone();
        drop(first);
        assert!(sessions.begin("a", &one).await.is_none());
        assert!(sessions.begin("a", &other).await.is_some());
        assert!(sessions.begin("b", &one).await.is_some());
        drop(clone);
        assert!(sessions.begin("a", &one).await.is_some());
    }
}
