//! Resources: files of published skills, and what the tool `skill_stats` answers where the operator offers that.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use rmcp::{
    ErrorData, RoleServer,
    model::{
        CacheScope, ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource,
        ResourceContents, ResourceTemplate,
    },
    service::RequestContext,
};

use skills_core::catalog::Access;

use super::{
    encode,
    handler::{FIXED_TTL_MS, Handler, LISTS_TTL_MS, access, not_offered},
    list::List,
};
use crate::surface::{
    FileBytes, FileContent, ListedResource, Publication, RESOURCE_FORMS, ResourceForm,
};

/// The address of the statistics.
const STATS_URI: &str = "stats://skills";
const STATS_MIME_TYPE: &str = "application/json";
/// The tool that says the same.
const STATS_TOOL: &str = "skill_stats";

impl Handler {
    /// Whether a client with this access may read how skills are used.
    fn has_stats(&self, access: &Access) -> bool {
        self.dispatcher.profile().history.is_some() && !access.is_limited()
    }

    /// A page of resources. The statistics come first.
    pub(super) async fn resources(
        &self,
        cursor: Option<String>,
        context: &RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        if !self.offers_resources() {
            return Err(not_offered("resources/list"));
        }
        let is_first = cursor.is_none();
        let mut resources = Vec::new();
        let access = access(context);
        if is_first && self.has_stats(&access) {
            resources.push(stats());
        }
        let mut next_cursor = None;
        if self.publishes() {
            self.notifier.was_listed(List::Resources);
            let page = move |skills: &Publication| skills.resources(cursor.as_deref());
            let page = self.dispatcher.publication(&access, &context.ct, page).await;
            let (page, next) = page.map_err(encode::error)?;
            resources.extend(page.into_iter().map(listed));
            next_cursor = next;
        } else if let Some(cursor) = cursor {
            let message = format!("unknown cursor '{cursor:.200}'; all resources are on one page");
            return Err(ErrorData::invalid_params(message, None));
        }
        let mut result = ListResourcesResult::with_all_items(resources);
        result.next_cursor = next_cursor;
        let ttl = if self.publishes() { LISTS_TTL_MS } else { FIXED_TTL_MS };
        Ok(result.with_ttl_ms(ttl).with_cache_scope(CacheScope::Private))
    }

    /// The kinds of addresses that clients may fill in.
    pub(super) fn resource_templates(
        &self,
        cursor: Option<String>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        if !self.publishes() {
            return Err(not_offered("resources/templates/list"));
        }
        if let Some(cursor) = cursor {
            let message = format!("unknown cursor '{cursor:.200}'; all templates are on one page");
            return Err(ErrorData::invalid_params(message, None));
        }
        let template = |form: &ResourceForm| {
            let template = ResourceTemplate::new(form.template, form.name);
            let template = template.with_description(form.description);
            match form.mime_type {
                Some(mime_type) => template.with_mime_type(mime_type),
                None => template,
            }
        };
        let templates = RESOURCE_FORMS.iter().map(template).collect();
        let result = ListResourceTemplatesResult::with_all_items(templates);
        Ok(result.with_ttl_ms(FIXED_TTL_MS).with_cache_scope(CacheScope::Private))
    }

    /// What a resource says now.
    pub(super) async fn resource(
        &self,
        uri: String,
        context: &RequestContext<RoleServer>,
    ) -> Result<ReadResourceResult, ErrorData> {
        if !self.offers_resources() {
            return Err(not_offered("resources/read"));
        }
        let access = access(context);
        let contents = if uri == STATS_URI && self.has_stats(&access) {
            let reply = self.call(STATS_TOOL, serde_json::Map::new(), context).await;
            let text = reply.map_err(encode::error)?.text;
            ResourceContents::text(&*text, STATS_URI).with_mime_type(STATS_MIME_TYPE)
        } else if self.publishes() {
            let read = move |skills: &Publication| skills.read(&uri);
            let read = self.dispatcher.publication(&access, &context.ct, read).await;
            contents(read.map_err(encode::error)?)
        } else {
            let message = format!("there is no resource '{uri:.200}'; there is {STATS_URI}");
            return Err(ErrorData::resource_not_found(message, None));
        };
        let read = ReadResourceResult::new(vec![contents]);
        Ok(read.with_ttl_ms(LISTS_TTL_MS).with_cache_scope(CacheScope::Private))
    }
}

fn stats() -> Resource {
    let about =
        "What was used, what helped, what was missing and what to fix first: the last 30 days.";
    Resource::new(STATS_URI, STATS_TOOL)
        .with_title("How skills are used")
        .with_description(about)
        .with_mime_type(STATS_MIME_TYPE)
}

fn listed(resource: ListedResource) -> Resource {
    Resource::new(resource.uri, resource.name)
        .with_description(resource.description)
        .with_mime_type("text/markdown")
}

fn contents(file: FileContent) -> ResourceContents {
    let contents = match file.bytes {
        FileBytes::Text(text) => ResourceContents::text(text, file.uri),
        FileBytes::Binary(bytes) => ResourceContents::blob(STANDARD.encode(bytes), file.uri),
    };
    contents.with_mime_type(file.mime_type)
}
