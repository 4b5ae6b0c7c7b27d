//! MCP methods → the surface's tools, and their replies → the SDK's types.

use std::sync::Arc;

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams,
        CompleteResult, ContentBlock, CustomRequest, CustomResult, DiscoverResult, ErrorCode,
        Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
        ListToolsResult, MetaObject, PaginatedRequestParams, ProtocolVersion, ServerCapabilities,
        ServerConfig, ToolAnnotations,
    },
    service::RequestContext,
};
use tokio::sync::Semaphore;

use crate::{
    event::Sink,
    store::Store,
    surface::{Call, INSTRUCTIONS, Refusal, Reply, Session, Tool},
};

/// So many calls run at once; more wait for their turn.
const MAX_RUNNING: usize = 32;
/// How long clients may keep the list of tools and the description of the server.
const TTL_MS: u64 = 60_000;

/// Core methods whose parameters, when malformed, reach us as an unknown request: they are -32602, not -32601.
const CORE_METHODS: &[&str] = &[
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
    store: Arc<Store>,
    sink: Sink,
    session: Arc<Session>,
    tools: &'static [Tool],
    running: Arc<Semaphore>,
}

impl Handler {
    /// A handler that serves these tools from this store.
    pub fn new(store: Arc<Store>, sink: Sink, tools: &'static [Tool]) -> Self {
        let running = Arc::new(Semaphore::new(MAX_RUNNING));
        Self { store, sink, session: Arc::default(), tools, running }
    }

    /// Runs a tool where it may block. A panic ends the call and nothing else.
    async fn run(
        &self,
        tool: &'static Tool,
        request: CallToolRequestParams,
    ) -> Result<Reply, Refusal> {
        let closed = |error: tokio::sync::AcquireError| Refusal::Internal(error.to_string());
        let _turn = self.running.acquire().await.map_err(closed)?;
        let snapshot = self.store.snapshot().await;
        let counted = snapshot.settings().analytics.enabled;
        let call = Call {
            snapshot,
            store: Arc::clone(&self.store),
            sink: if counted { self.sink.clone() } else { Sink::silent() },
            session: Arc::clone(&self.session),
        };
        let arguments = request.arguments.unwrap_or_default();
        let ran = tokio::task::spawn_blocking(move || tool.call(&call, arguments)).await;
        ran.unwrap_or_else(|error| Err(Refusal::Internal(format!("{} failed: {error}", tool.name))))
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(implementation())
            .with_instructions(INSTRUCTIONS)
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let mut result = DiscoverResult::from_server_info(versions, self.get_info());
        result.ttl_ms = TTL_MS;
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
                format!("unknown cursor '{cursor}'; all tools are on one page"),
                None,
            ));
        }
        let tools = self.tools.iter().map(described).collect();
        let mut result = ListToolsResult::with_all_items(tools)
            .with_ttl_ms(TTL_MS)
            .with_cache_scope(CacheScope::Private);
        result.meta = server_meta(&context);
        Ok(result)
    }

    fn get_tool(&self, name: &str) -> Option<rmcp::model::Tool> {
        self.tools.iter().find(|tool| tool.name == name).map(described)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.tools.iter().find(|tool| tool.name == request.name) else {
            let known: Vec<&str> = self.tools.iter().map(|tool| tool.name).collect();
            let message =
                format!("unknown tool '{}'; there are {}", request.name, known.join(", "));
            return Err(ErrorData::invalid_params(message, None));
        };
        let mut result = match self.run(tool, request).await {
            Ok(reply) => CallToolResult::success(vec![ContentBlock::text(reply.text)]),
            Err(Refusal::Tool(message)) => {
                tracing::debug!(tool = tool.name, "refused: {message}");
                CallToolResult::error(vec![ContentBlock::text(Refusal::text(&message))])
            }
            Err(Refusal::Params(message)) => return Err(ErrorData::invalid_params(message, None)),
            Err(Refusal::Internal(message)) => {
                tracing::error!(tool = tool.name, "{message}");
                return Err(ErrorData::internal_error(message, None));
            }
        };
        result.meta = server_meta(&context);
        Ok(result.into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if CORE_METHODS.contains(&request.method.as_str()) {
            let message =
                format!("{}: the parameters are missing or of the wrong type", request.method);
            return Err(ErrorData::invalid_params(message, None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None))
    }

    // The SDK answers these with success by default. What is not declared is not there.

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(not_offered("prompts/list"))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(not_offered("resources/list"))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(not_offered("resources/templates/list"))
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(not_offered("completion/complete"))
    }
}

fn not_offered(method: &'static str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None)
}

fn implementation() -> Implementation {
    Implementation::new("skills-mcp", env!("CARGO_PKG_VERSION"))
}

/// Who answers, on every result of the stateless era, where no handshake has said it.
fn server_meta(context: &RequestContext<RoleServer>) -> Option<MetaObject> {
    let modern =
        context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
    let who = serde_json::to_value(implementation()).ok().filter(|_| modern)?;
    Some(MetaObject([("io.modelcontextprotocol/serverInfo".to_owned(), who)].into_iter().collect()))
}

fn described(tool: &Tool) -> rmcp::model::Tool {
    let annotations = ToolAnnotations::new()
        .read_only(tool.read_only)
        .destructive(false)
        .idempotent(tool.idempotent)
        .open_world(false);
    rmcp::model::Tool::new(tool.name, tool.description, Arc::new((tool.input)()))
        .with_title(tool.title)
        .with_annotations(annotations)
}

#[cfg(test)]
mod tests {
    use rmcp::{ServiceExt as _, service::ServiceError};
    use serde_json::Map;

    use super::*;
    use crate::{config::Stack, store::Cause};

    const fn tool(
        name: &'static str,
        run: fn(&Call, Map<String, serde_json::Value>) -> Result<Reply, Refusal>,
    ) -> Tool {
        Tool {
            name,
            title: name,
            description: name,
            read_only: true,
            idempotent: true,
            input: Map::new,
            run,
        }
    }

    const TOOLS: &[Tool] = &[
        tool("broken", |_, _| panic!("on purpose")),
        tool("sound", |_, _| Ok(Reply { text: "still here".to_owned() })),
    ];

    #[tokio::test]
    async fn c06_a_panic_in_one_call_is_answered_and_the_server_lives() {
        let store = Arc::new(Store::new(Vec::new(), Stack::default()));
        store.refresh(Cause::Start);
        let (ours, theirs) = tokio::io::duplex(4096);
        let server = tokio::spawn(async move {
            Handler::new(store, Sink::silent(), TOOLS)
                .serve(ours)
                .await
                .unwrap()
                .waiting()
                .await
                .unwrap();
        });
        let client = ().serve(theirs).await.unwrap();
        for _ in 0..2 {
            let error = client.call_tool(CallToolRequestParams::new("broken")).await.unwrap_err();
            assert!(
                matches!(error, ServiceError::McpError(data) if data.code == ErrorCode::INTERNAL_ERROR)
            );
            let sound = client.call_tool(CallToolRequestParams::new("sound")).await.unwrap();
            assert_eq!(sound.content.first().unwrap().as_text().unwrap().text, "still here");
        }
        client.cancel().await.unwrap();
        server.await.unwrap();
    }
}
