//! [`Handler`]: MCP's methods. It decodes a request, has the surface's [`Dispatcher`] answer it, and encodes the answer.

use std::{
    borrow::Cow,
    sync::Arc,
    time::{Duration, Instant},
};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
        CustomRequest, CustomResult, DiscoverResult, ErrorCode, Extensions, GetPromptRequestParams,
        GetPromptResponse, Implementation, InitializeRequestParams, InitializeResult, JsonObject,
        ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
        MetaObject, PaginatedRequestParams, PromptsCapability, ProtocolVersion,
        ReadResourceRequestParams, ReadResourceResponse, ResourcesCapability, ServerCapabilities,
        ServerConfig, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use serde_json::{Map, Value};
use skills_core::{catalog::Access, diagnostic::escaped};
use tokio::time::timeout;

use super::{
    encode, notify::Notifier, progress::Progressing, streams::StreamOwner,
    subscription::limit_subscriptions,
};
use crate::surface::{
    Dispatcher, EXTENSION, EXTENSION_METHODS, Refusal, Reply, Surfaces, ToolRequest,
};

/// How long clients may keep what never changes while the server runs: its description, the list of resources.
pub(super) const FIXED_TTL_MS: u64 = 60_000;
/// How long clients may keep what says which skills there are, and what they say. A change on disk is in the next answer, and must
/// be for a client that keeps answers too.
pub(super) const LISTS_TTL_MS: u64 = 0;

/// Where a request of the stateless era says who sends it.
pub(super) const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// What the client of such a request can do.
#[cfg(feature = "http")]
pub(super) const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The revision, in every request of the stateless era and in no other.
pub(super) const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// A client of the table waits so long for instructions that say what there is; then it gets others.
const FIRST_SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(5);

/// Core methods whose parameters, when malformed, reach us as an unknown request: they are -32602, not -32601.
pub(super) const CORE_METHODS: &[&str] = &[
    "server/discover",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "subscriptions/listen",
];

/// One server, for one connection. Clones share everything.
#[derive(Debug, Clone)]
pub struct Handler {
    pub(super) dispatcher: Arc<Dispatcher>,
    pub(super) notifier: Notifier,
}

impl Handler {
    /// A handler of the calls that this dispatcher answers.
    pub fn new(dispatcher: Dispatcher) -> Self {
        let dispatcher = Arc::new(dispatcher);
        let notifier = Notifier::new(Arc::clone(&dispatcher));
        Self { dispatcher, notifier }
    }

    /// Whether skills are resources and prompts too, and the Skills extension is there.
    pub(super) fn publishes(&self) -> bool {
        self.dispatcher.profile().surfaces == Surfaces::All
    }

    /// Whether there is anything to read but what tools say.
    pub(super) fn offers_resources(&self) -> bool {
        self.publishes() || self.dispatcher.profile().history.is_some()
    }

    /// Decodes what came with a call, and has it answered; the client hears of progress meanwhile.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        context: &RequestContext<RoleServer>,
    ) -> Result<Reply, Refusal> {
        let received = Instant::now();
        let client = || reported_client(context);
        let progressing = Progressing::new(context);
        let caller = progressing.caller.clone();
        let client_name = client_name(context);
        let access = access(context);
        // Clients of earlier revisions, and those of `sk`, expect an error of the protocol.
        let is_recent = |version: ProtocolVersion| version >= ProtocolVersion::V_2025_11_25;
        let corrects = self.publishes() && context.protocol_version().is_some_and(is_recent);
        let client = &client;
        let request = ToolRequest {
            tool,
            arguments,
            client_name,
            client,
            caller,
            access,
            corrects,
            received,
        };
        progressing.until(self.dispatcher.call(request)).await
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities =
            ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
        capabilities.resources = self.offers_resources().then(|| {
            let mut resources = ResourcesCapability::default();
            resources.subscribe = self.publishes().then_some(true);
            resources.list_changed = self.publishes().then_some(true);
            resources
        });
        if self.publishes() {
            let mut prompts = PromptsCapability::default();
            prompts.list_changed = Some(true);
            capabilities.prompts = Some(prompts);
            capabilities.completions = Some(JsonObject::new());
            let settings = JsonObject::from_iter([("directoryRead".to_owned(), Value::Bool(true))]);
            capabilities.extensions = Some([(EXTENSION.to_owned(), settings)].into());
        }
        ServerConfig::new(capabilities)
            .with_server_info(self.implementation())
            .with_instructions(self.dispatcher.profile().instructions())
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut result = self.negotiate_initialize(&request)?;
        let (name, access) = (&request.client_info.name, access(&context));
        result.instructions = Some(self.instructions(Some(name), &access).await);
        Ok(result)
    }

    async fn discover(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let name = client_name(&context);
        let mut info = self.get_info();
        info.instructions = Some(self.instructions(name.as_deref(), &access(&context)).await);
        let mut result = DiscoverResult::from_server_info(versions, info);
        result.ttl_ms = FIXED_TTL_MS;
        result.cache_scope = CacheScope::Private;
        Ok(result)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if let Some(cursor) = request.and_then(|request| request.cursor) {
            return Err(ErrorData::invalid_params(
                format!("unknown cursor '{cursor:.200}'; all tools are on one page"),
                None,
            ));
        }
        let registry = self.dispatcher.registry(client_name(&context).as_deref());
        let snapshot = self.dispatcher.snapshot(&access(&context)).await;
        let tools = registry.tool_list(&snapshot).0.iter().map(encode::tool).collect();
        let mut result = ListToolsResult::with_all_items(tools)
            .with_ttl_ms(LISTS_TTL_MS)
            .with_cache_scope(CacheScope::Private);
        result.meta = self.server_meta(&context);
        Ok(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let mut result = encode::result(self.call(&request.name, arguments, &context).await)?;
        result.meta = self.server_meta(&context);
        Ok(result.into())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let access = access_in(&context.extensions);
        self.notifier.initialized(context.peer, access);
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        // The SDK takes away what is not declared.
        let mut accepted = requested.clone();
        if let Some(uris) = &mut accepted.resource_subscriptions {
            limit_subscriptions(uris);
        }
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let request = context.request_context();
        // The tools as this client sees them: lists that no client has seen are not compared.
        self.dispatcher.registry(client_name(request).as_deref());
        let (access, owner) = (access(request), owner_in(&request.extensions));
        self.notifier.stream(context, access, owner).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if self.publishes() && EXTENSION_METHODS.contains(&request.method.as_str()) {
            return self.extension(request, &context).await;
        }
        if CORE_METHODS.contains(&request.method.as_str()) {
            let message =
                format!("{}: the parameters are missing or of the wrong type", request.method);
            return Err(ErrorData::invalid_params(message, None));
        }
        let message = format!("there is no method '{:.200}'", request.method);
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None))
    }

    // What is not declared is not there, though the SDK answers some of these with success by default.

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let mut result = self.prompts(request.and_then(|request| request.cursor), &context).await?;
        result.meta = self.server_meta(&context);
        Ok(result)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let mut result = self.prompt(request, &context).await?;
        result.meta = self.server_meta(&context);
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let mut result = self.resources(cursor, &context).await?;
        result.meta = self.server_meta(&context);
        Ok(result)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let mut result = self.resource(request.uri, &context).await?;
        result.meta = self.server_meta(&context);
        Ok(result.into())
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let mut result = self.resource_templates(request.and_then(|request| request.cursor))?;
        result.meta = self.server_meta(&context);
        Ok(result)
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscribe_to(&request.uri, &context)
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.unsubscribe_from(&request.uri, &context)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let mut result = self.completions(request, &context).await?;
        result.meta = self.server_meta(&context);
        Ok(result)
    }
}

pub(super) fn not_offered(method: &'static str) -> ErrorData {
    let message = format!("{method} is not offered by this server");
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)
}

/// Whether the client said what it is. A request of the stateless era says it itself or not at all: there the SDK's handshake
/// has the name of the SDK.
fn is_reported(context: &RequestContext<RoleServer>) -> bool {
    context.meta.get(CLIENT_INFO).is_some() || context.meta.get(PROTOCOL_VERSION).is_none()
}

/// Name and version of the client, as it reported them.
pub(super) fn reported_client(context: &RequestContext<RoleServer>) -> Option<(String, String)> {
    let info = context.client_info().filter(|_| is_reported(context));
    info.map(|client| (client.name, client.version))
}

/// What the client calls itself: in the request of the stateless era, else in its handshake.
fn client_name(context: &RequestContext<RoleServer>) -> Option<Cow<'_, str>> {
    let reported = context.meta.get(CLIENT_INFO).and_then(|client| client.get("name"));
    match reported.and_then(Value::as_str) {
        Some(name) => Some(Cow::Borrowed(name)),
        None if !is_reported(context) => None,
        None => Some(Cow::Owned(context.peer.peer_info()?.client_info.name.clone())),
    }
}

/// Which skills the client of a request may see.
pub(super) fn access(context: &RequestContext<RoleServer>) -> Access {
    access_in(&context.extensions)
}

/// The same by what came with a request. On the standard streams nothing does, and their client sees everything.
fn access_in(extensions: &Extensions) -> Access {
    #[cfg(feature = "http")]
    if let Some(parts) = extensions.get::<::http::request::Parts>() {
        // What came over HTTP was authorized there; without that it sees nothing.
        let authorized = parts.extensions.get::<Access>().cloned();
        return authorized.unwrap_or_else(|| Access::only::<&str>([]));
    }
    #[cfg(not(feature = "http"))]
    let _ = extensions;
    Access::All
}

/// Whose stream a request opens; on the standard streams, and where no token is asked for, it is of no principal.
fn owner_in(extensions: &Extensions) -> Option<StreamOwner> {
    #[cfg(feature = "http")]
    if let Some(parts) = extensions.get::<::http::request::Parts>() {
        return parts.extensions.get::<StreamOwner>().cloned();
    }
    #[cfg(not(feature = "http"))]
    let _ = extensions;
    None
}

impl Handler {
    /// The instructions for a client that calls itself so. One of the table waits a moment for the first snapshot, because its
    /// instructions say what there is.
    async fn instructions(&self, reported: Option<&str>, access: &Access) -> String {
        let registry = self.dispatcher.registry(reported);
        let profile = &registry.profile;
        let reported = escaped(reported.unwrap_or("no name"));
        let Some(client) = profile.client else {
            tracing::info!("client {reported:.200}: not in the table of clients");
            return profile.instructions();
        };
        tracing::info!("client {reported:.200}: presented as to {}", client.name);
        match timeout(FIRST_SNAPSHOT_TIMEOUT, self.dispatcher.store().snapshot()).await {
            Ok(snapshot) => registry.instructions(&self.dispatcher.limited(snapshot, access).await),
            Err(_) => profile.instructions(),
        }
    }

    fn implementation(&self) -> Implementation {
        Implementation::new(self.dispatcher.profile().server, env!("CARGO_PKG_VERSION"))
    }

    /// Who answers, on a result of the stateless era.
    pub(super) fn modern_meta(&self) -> Option<MetaObject> {
        let who = serde_json::to_value(self.implementation()).ok()?;
        let meta = [("io.modelcontextprotocol/serverInfo".to_owned(), who)];
        Some(MetaObject(meta.into_iter().collect()))
    }

    /// Who answers, on every result of the stateless era, where no handshake has said it.
    pub(super) fn server_meta(&self, context: &RequestContext<RoleServer>) -> Option<MetaObject> {
        let modern = context
            .protocol_version()
            .is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
        if modern { self.modern_meta() } else { None }
    }
}
