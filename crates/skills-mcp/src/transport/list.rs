//! [`List`]: a list that clients can ask for and be notified of, what it says over a snapshot, and its notification.

use std::sync::Arc;

use rmcp::model::{
    CustomNotification, GetMeta as _, PromptListChangedNotification, RequestId,
    ResourceListChangedNotification, ResourceUpdatedNotification, ResourceUpdatedNotificationParam,
    ServerNotification, SubscriptionFilter, ToolListChangedNotification,
};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::{store::Snapshot, surface::Dispatcher};

/// A list that clients can ask for and be notified of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum List {
    Tools,
    Prompts,
    Resources,
    /// `skills/list`, whose entries name every file. The extension has no notification of its own.
    Skills,
}

impl List {
    pub(super) const ALL: [Self; 4] = [Self::Tools, Self::Prompts, Self::Resources, Self::Skills];

    pub(super) fn method(self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
            Self::Resources | Self::Skills => "notifications/resources/list_changed",
        }
    }

    pub(super) fn wanted(self, filter: &SubscriptionFilter) -> bool {
        let wanted = match self {
            Self::Tools => filter.tools_list_changed,
            Self::Prompts => filter.prompts_list_changed,
            Self::Resources | Self::Skills => filter.resources_list_changed,
        };
        wanted == Some(true)
    }

    /// The same for two snapshots only where clients that ask read the same.
    pub(super) fn digest(self, dispatcher: &Dispatcher, snapshot: &Arc<Snapshot>) -> [u8; 32] {
        match self {
            Self::Tools => {
                let mut all = Sha256::new();
                dispatcher.tool_lists(snapshot).iter().for_each(|list| all.update(list.digest()));
                all.finalize().into()
            }
            Self::Prompts => dispatcher.published_over(snapshot).prompts_digest(),
            Self::Resources => dispatcher.published_over(snapshot).resources_digest(),
            Self::Skills => {
                let published = dispatcher.published_over(snapshot);
                let all = Sha256::new().chain_update(published.resources_digest());
                let all = if snapshot.is_limited() {
                    // The number of changes counts those of hidden skills too.
                    all.chain_update(published.files_digest())
                } else {
                    all.chain_update(snapshot.changes().to_le_bytes())
                };
                all.finalize().into()
            }
        }
    }

    pub(super) fn notification(
        self,
        reason: Option<&str>,
        stream: Option<&RequestId>,
    ) -> ServerNotification {
        let notification = match (self, reason) {
            (Self::Tools, None) => ServerNotification::ToolListChangedNotification(
                ToolListChangedNotification::default(),
            ),
            (Self::Prompts, None) => ServerNotification::PromptListChangedNotification(
                PromptListChangedNotification::default(),
            ),
            (Self::Resources | Self::Skills, None) => {
                ServerNotification::ResourceListChangedNotification(
                    ResourceListChangedNotification::default(),
                )
            }
            // The SDK's own have no place for a reason.
            (_, Some(reason)) => ServerNotification::CustomNotification(CustomNotification::new(
                self.method(),
                Some(json!({"reason": reason})),
            )),
        };
        on_stream(notification, stream)
    }
}

/// The notification that a resource says something else.
pub(super) fn updated(uri: &str, stream: Option<&RequestId>) -> ServerNotification {
    let params = ResourceUpdatedNotificationParam::new(uri);
    let notification = ResourceUpdatedNotification::new(params);
    on_stream(ServerNotification::ResourceUpdatedNotification(notification), stream)
}

fn on_stream(
    mut notification: ServerNotification,
    stream: Option<&RequestId>,
) -> ServerNotification {
    if let Some(id) = stream {
        notification.get_meta_mut().set_subscription_id(id.clone());
    }
    notification
}
