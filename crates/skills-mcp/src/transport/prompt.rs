//! Prompts and completion: decoding and encoding.

use std::time::Instant;

use rmcp::{
    ErrorData, RoleServer,
    model::{
        CacheScope, CompleteRequestParams, CompleteResult, CompletionInfo, GetPromptRequestParams,
        GetPromptResult, ListPromptsResult, Prompt, PromptArgument, PromptMessage, Reference, Role,
    },
    service::RequestContext,
};

use super::{
    encode,
    handler::{Handler, LISTS_TTL_MS, access, not_offered, reported_client},
    list::List,
};
use crate::surface::{Completions, ListedPrompt, PROMPT_ARGUMENT, Publication};

const GET_PROMPT: &str = "prompts/get";

impl Handler {
    /// A page of prompts.
    pub(super) async fn prompts(
        &self,
        cursor: Option<String>,
        context: &RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        if !self.publishes() {
            return Err(not_offered("prompts/list"));
        }
        self.notifier.was_listed(List::Prompts);
        let page = move |skills: &Publication| skills.prompts(cursor.as_deref());
        let page = self.dispatcher.publication(&access(context), &context.ct, page).await;
        let (page, next) = page.map_err(encode::error)?;
        let mut result = ListPromptsResult::with_all_items(page.into_iter().map(listed).collect());
        result.next_cursor = next;
        Ok(result.with_ttl_ms(LISTS_TTL_MS).with_cache_scope(CacheScope::Private))
    }

    /// A prompt, filled in.
    pub(super) async fn prompt(
        &self,
        request: GetPromptRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<GetPromptResult, ErrorData> {
        if !self.publishes() {
            return Err(not_offered(GET_PROMPT));
        }
        let received = Instant::now();
        let mut given = None;
        for (name, value) in request.arguments.unwrap_or_default() {
            let text = value.as_str().filter(|_| name == PROMPT_ARGUMENT);
            let text = text.ok_or_else(|| {
                let message = format!(
                    "{GET_PROMPT}: the argument '{name:.200}' is unknown or no text; a prompt takes '{PROMPT_ARGUMENT}'"
                );
                ErrorData::invalid_params(message, None)
            })?;
            given = Some(text.to_owned());
        }
        let client = reported_client(context);
        let (sinks, name) = (self.dispatcher.sinks(), request.name);
        let prompt = move |skills: &Publication| {
            let client = || client.clone();
            let sink = sinks.for_request(&skills.snapshot, GET_PROMPT, client, received);
            skills.prompt(&name, given.as_deref(), &sink)
        };
        let prompt = self.dispatcher.publication(&access(context), &context.ct, prompt).await;
        let (text, description) = prompt.map_err(encode::error)?;
        let mut result = GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]);
        result.description = Some(description);
        Ok(result)
    }

    /// What may stand where the client has something so far. An argument of a prompt is free text.
    pub(super) async fn completions(
        &self,
        request: CompleteRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        if !self.publishes() {
            return Err(not_offered("completion/complete"));
        }
        let CompleteRequestParams { r#ref: reference, argument, .. } = request;
        let Completions { values, total } = match reference {
            Reference::Resource(template) => {
                let complete = move |skills: &Publication| {
                    let uri = &template.uri;
                    Ok(skills.complete_resource(uri, &argument.name, &argument.value))
                };
                let found =
                    self.dispatcher.publication(&access(context), &context.ct, complete).await;
                found.map_err(encode::error)?
            }
            Reference::Prompt(_) | _ => Completions::default(),
        };
        let has_more = total > values.len();
        let total = u32::try_from(total).ok();
        let info = CompletionInfo::with_pagination(values, total, has_more)
            .map_err(|error| ErrorData::internal_error(error, None))?;
        Ok(CompleteResult::new(info))
    }
}

fn listed(prompt: ListedPrompt) -> Prompt {
    let argument = prompt.argument.map(|hint| {
        vec![PromptArgument::new(PROMPT_ARGUMENT).with_description(hint).with_required(false)]
    });
    Prompt::new(prompt.name, Some(prompt.description), argument)
}
