//! [`Sessions`]: who opened which session, for clients with a handshake. A session is its opener's alone.

use std::{collections::HashMap, time::Duration};

use rmcp::transport::streamable_http_server::session::{
    SessionId, local::LocalSessionManager, local::SessionConfig,
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
pub(super) struct Sessions(Mutex<HashMap<SessionId, Option<Principal>>>);

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
        self.0.lock().await.get(id).is_some_and(|owner| owner.as_ref() == principal)
    }

    /// Whether this principal may open one more. A principal with a token has a quarter of all at most.
    pub(super) async fn have_room(
        &self,
        manager: &LocalSessionManager,
        principal: Option<&Principal>,
    ) -> bool {
        let mut owners = self.0.lock().await;
        let open = manager.sessions.read().await;
        owners.retain(|id, _| open.contains_key(id));
        // By name: with another token, or other limits, it is not another one.
        let is_own = |owner: &&Option<Principal>| name(owner.as_ref()) == name(principal);
        let own = owners.values().filter(is_own).count();
        let most = if principal.is_some() { MAX_HTTP_SESSIONS / 4 } else { MAX_HTTP_SESSIONS };
        open.len() < MAX_HTTP_SESSIONS && own < most
    }

    /// Remembers who opened a session.
    pub(super) async fn opened(&self, id: &str, principal: Option<Principal>) {
        self.0.lock().await.insert(id.into(), principal);
    }

    /// How many are open.
    pub(super) async fn count(&self, manager: &LocalSessionManager) -> usize {
        manager.sessions.read().await.len()
    }
}
