//! The one resource: what the tool `skill_stats` answers, for clients that attach resources. Offered where the tool is.

use rmcp::{
    ErrorData, RoleServer,
    model::{CacheScope, ListResourcesResult, ReadResourceResult, Resource, ResourceContents},
    service::RequestContext,
};

use super::{
    encode,
    handler::{FIXED_TTL_MS, Handler, access, not_offered},
};

/// Its address.
const URI: &str = "stats://skills";
const MIME_TYPE: &str = "application/json";
/// The tool that says the same.
const TOOL: &str = "skill_stats";

impl Handler {
    /// Every resource.
    pub(super) fn resources(&self) -> Result<ListResourcesResult, ErrorData> {
        if !self.offers_resources() {
            return Err(not_offered("resources/list"));
        }
        let about =
            "What was used, what helped, what was missing and what to fix first: the last 30 days.";
        let stats = Resource::new(URI, TOOL)
            .with_title("How skills are used")
            .with_description(about)
            .with_mime_type(MIME_TYPE);
        let listed = ListResourcesResult::with_all_items(vec![stats]);
        Ok(listed.with_ttl_ms(FIXED_TTL_MS).with_cache_scope(CacheScope::Private))
    }

    /// What a resource says now.
    pub(super) async fn resource(
        &self,
        uri: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<ReadResourceResult, ErrorData> {
        if !self.offers_resources() {
            return Err(not_offered("resources/read"));
        }
        if uri != URI || access(context).is_limited() {
            let message = format!("there is no resource '{uri:.200}'; there is {URI}");
            return Err(ErrorData::resource_not_found(message, None));
        }
        let reply = self.call(TOOL, serde_json::Map::new(), context).await;
        let text = reply.map_err(encode::error)?.text;
        let contents = ResourceContents::text(text, URI).with_mime_type(MIME_TYPE);
        let read = ReadResourceResult::new(vec![contents]);
        Ok(read.with_ttl_ms(0).with_cache_scope(CacheScope::Private))
    }
}
