//! MCP methods → the surface's tools, and their replies → the SDK's types.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, Instant},
};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams,
        CompleteResult, ContentBlock, CustomRequest, CustomResult, DiscoverResult, ErrorCode,
        Implementation, JsonObject, ListPromptsResult, ListResourceTemplatesResult,
        ListResourcesResult, ListToolsResult, MetaObject, PaginatedRequestParams, ProtocolVersion,
        ReadResourceRequestParams, ReadResourceResponse, ResourcesCapability, ServerCapabilities,
        ServerConfig, SubscriptionFilter, ToolAnnotations,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use skills_core::diagnostic::escaped;
use tokio::{sync::Semaphore, task::spawn_blocking};

use super::{
    announce::Announcer,
    progress::{answered_meanwhile, caller},
};
use crate::{
    event::{Behalf, Sink},
    script::{Caller, Runs},
    store::{Cause, Snapshot, Store},
    surface::{Blocking, Call, Face, Menu, Offered, Refusal, Reply, Session},
    telemetry::{self, Telemetry},
};

/// So many calls run at once; more wait for their turn.
const MAX_RUNNING: usize = 32;
/// So many of them read much: more would not be quicker, and each keeps a thread.
const MAX_READING: usize = 4;
/// How long clients may keep what never changes while the server runs: its description, the list of resources.
pub(super) const FIXED_TTL_MS: u64 = 60_000;
/// How long clients may keep the list of tools, which says what skills there are. A change on disk is in the next answer,
/// and must be for a client that keeps lists too.
const TOOLS_TTL_MS: u64 = 0;

/// A text that is being changed is asked for so often, and so long is waited in between.
const MAX_TRIES: usize = 5;
const MOMENT: Duration = Duration::from_millis(5);
/// Where looking takes long and somebody never stops writing, it is asked for once more after this and no more.
const LONG: Duration = Duration::from_millis(100);

/// What a tool answers.
type Answer = Result<Reply, Refusal>;
/// A tool's name and what it answers.
type Answered = (&'static str, Answer);

/// When a request came, and what came with it.
pub(super) struct Asked<'a> {
    pub(super) at: Instant,
    pub(super) context: &'a RequestContext<RoleServer>,
}

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
    store: Arc<Store>,
    sink: Sink,
    session: Arc<Session>,
    face: Arc<Face>,
    running: Arc<Semaphore>,
    reading: Arc<Semaphore>,
    runs: Arc<Runs>,
    menu: Arc<Menu>,
    pub(super) announcer: Announcer,
    pub(super) telemetry: Telemetry,
}

impl Handler {
    /// A handler that shows this face of this store.
    pub fn new(store: Arc<Store>, sink: Sink, face: Face, runs: Runs) -> Self {
        let face = Arc::new(face);
        let menu = Arc::new(Menu::new(Arc::clone(&face)));
        let announcer = Announcer::new(Arc::clone(&store), Arc::clone(&face), Arc::clone(&menu));
        let running = Arc::new(Semaphore::new(MAX_RUNNING));
        let reading = Arc::new(Semaphore::new(MAX_READING));
        let (runs, session) = (Arc::new(runs), Arc::default());
        let telemetry = Telemetry::default();
        Self { store, sink, session, face, running, reading, runs, menu, announcer, telemetry }
    }

    /// The same, watched.
    #[must_use]
    pub fn watched(self, telemetry: Telemetry) -> Self {
        Self { telemetry, ..self }
    }

    /// Whether there is anything to read but what tools say.
    pub(super) fn offers_resources(&self) -> bool {
        self.face.history.is_some()
    }

    /// A snapshot with every change that was on disk when the request came.
    async fn snapshot(&self) -> Arc<Snapshot> {
        let snapshot = self.store.fresh().await;
        self.announcer.saw(&snapshot);
        snapshot
    }

    /// Runs a tool over a fresh snapshot; again, if a text it needs is being changed at that moment.
    pub(super) async fn answer(
        &self,
        name: &str,
        arguments: JsonObject,
        caller: Caller,
        asked: &Asked<'_>,
    ) -> Result<Answered, ErrorData> {
        let started = Instant::now();
        let mut tries = 0;
        loop {
            let snapshot = self.snapshot().await;
            let Some(offered) = self.menu.offered(name, &snapshot) else {
                let listed = self.menu.listed(&snapshot);
                let message =
                    format!("unknown tool '{name:.200}'; there are {}", listed.names().join(", "));
                return Err(ErrorData::invalid_params(message, None));
            };
            let last_try = tries == MAX_TRIES || (tries > 0 && started.elapsed() > LONG);
            let sink = self.sink(&snapshot, offered.tool.name, asked);
            let call = self.call(snapshot, sink, caller.clone(), last_try);
            let reply = self.run(offered, call, arguments.clone()).await;
            let stale = matches!(reply, Err(Refusal::Stale(_)));
            let store = Arc::clone(&self.store);
            let look = move || store.refresh(Cause::Call);
            if last_try && !stale {
                // Nobody told of what it says now; whoever asks next should not have to wait.
                drop(spawn_blocking(look));
            } else if stale && !last_try {
                tries += 1;
                tokio::time::sleep(MOMENT).await;
                // Whoever changes it will be heard of once it is whole, unless nobody tells of changes.
                if !self.store.is_told() {
                    let _ = spawn_blocking(look).await;
                }
                continue;
            }
            return Ok((offered.tool.name, reply));
        }
    }

    /// Where the events of one call go: nowhere, unless somebody wants them.
    fn sink(&self, snapshot: &Snapshot, tool: &str, asked: &Asked<'_>) -> Sink {
        let analytics = &snapshot.settings().analytics;
        let sink = if analytics.enabled { self.sink.clone() } else { self.telemetry.sink() };
        sink.on_behalf(|| {
            let client = asked.context.client_info();
            let client = client.as_ref().map(|client| (&*client.name, &*client.version));
            Behalf::new(tool, client, asked.at, analytics.context)
        })
    }

    fn call(&self, snapshot: Arc<Snapshot>, sink: Sink, caller: Caller, last_try: bool) -> Call {
        Call {
            snapshot,
            store: Arc::clone(&self.store),
            sink,
            session: Arc::clone(&self.session),
            face: Arc::clone(&self.face),
            runs: Arc::clone(&self.runs),
            caller,
            last_try,
        }
    }
}

impl Handler {
    /// Runs a tool: short calls where they stand, so that they cost no change of threads; the others on a thread of the
    /// blocking pool, few at a time. A panic ends the call and nothing else.
    async fn run(&self, offered: &Arc<Offered>, call: Call, arguments: JsonObject) -> Answer {
        let _turn = match offered.blocking(&call, &arguments) {
            Blocking::Never | Blocking::ShortRead => {
                let run = || offered.call(&call, arguments);
                return catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| panicked(offered));
            }
            Blocking::LongRead => self.reading.acquire().await.ok(),
            Blocking::Script => None,
        };
        let running = Arc::clone(offered);
        let work = telemetry::carried(move || running.call(&call, arguments));
        spawn_blocking(work).await.unwrap_or_else(|_| panicked(offered))
    }
}

fn panicked(offered: &Offered) -> Answer {
    Err(Refusal::Internal(format!("{} failed: a panic", offered.name)))
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities =
            ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
        capabilities.resources = self.offers_resources().then(ResourcesCapability::default);
        ServerConfig::new(capabilities)
            .with_server_info(self.implementation())
            .with_instructions(self.face.instructions())
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let mut result = DiscoverResult::from_server_info(versions, self.get_info());
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
        let snapshot = self.snapshot().await;
        let tools = self.menu.listed(&snapshot).0.iter().map(described).collect();
        let mut result = ListToolsResult::with_all_items(tools)
            .with_ttl_ms(TOOLS_TTL_MS)
            .with_cache_scope(CacheScope::Private);
        result.meta = self.server_meta(&context);
        Ok(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let asked = Asked { at: Instant::now(), context: &context };
        let closed =
            |error: tokio::sync::AcquireError| ErrorData::internal_error(error.to_string(), None);
        let _turn = self.running.acquire().await.map_err(closed)?;
        let (caller, told) = caller(&context);
        let arguments = request.arguments.unwrap_or_default();
        let running = self.answer(&request.name, arguments, caller, &asked);
        let (tool, reply) = answered_meanwhile(running, told, &context).await?;
        let mut result = match reply {
            Ok(reply) => {
                let mut result = CallToolResult::success(vec![ContentBlock::text(reply.text)]);
                result.structured_content = reply.structured;
                result
            }
            Err(Refusal::Tool(message)) => {
                tracing::debug!(tool, "refused: {}", escaped(&message));
                CallToolResult::error(vec![ContentBlock::text(Refusal::text(&message))])
            }
            Err(Refusal::Plain(message) | Refusal::Stale(message)) => {
                CallToolResult::error(vec![ContentBlock::text(message)])
            }
            Err(refusal) => return Err(answered(refusal)),
        };
        result.meta = self.server_meta(&context);
        Ok(result.into())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.announcer.initialized(context.peer);
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        // The SDK takes away what is not declared.
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.announcer.stream(context).await
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
        let message = format!("there is no method '{:.200}'", request.method);
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None))
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
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let mut result = self.resources()?;
        result.meta = self.server_meta(&context);
        Ok(result)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let mut result = self.resource(&request.uri, &context).await?;
        result.meta = self.server_meta(&context);
        Ok(result.into())
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

pub(super) fn not_offered(method: &'static str) -> ErrorData {
    let message = format!("{method} is not offered; this server has tools only");
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)
}

impl Handler {
    fn implementation(&self) -> Implementation {
        Implementation::new(self.face.server, env!("CARGO_PKG_VERSION"))
    }

    /// Who answers, on every result of the stateless era, where no handshake has said it.
    fn server_meta(&self, context: &RequestContext<RoleServer>) -> Option<MetaObject> {
        let modern = context
            .protocol_version()
            .is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
        let who = serde_json::to_value(self.implementation()).ok().filter(|_| modern)?;
        Some(MetaObject(
            [("io.modelcontextprotocol/serverInfo".to_owned(), who)].into_iter().collect(),
        ))
    }
}

/// A refusal that is no tool's answer.
pub(super) fn answered(refusal: Refusal) -> ErrorData {
    match refusal {
        Refusal::Params(message)
        | Refusal::Tool(message)
        | Refusal::Plain(message)
        | Refusal::Stale(message) => ErrorData::invalid_params(message, None),
        Refusal::Internal(message) => {
            tracing::error!("{message}");
            ErrorData::internal_error(message, None)
        }
    }
}

fn described(offered: &Offered) -> rmcp::model::Tool {
    let tool = offered.tool;
    let mut annotations = ToolAnnotations::new()
        .read_only(tool.read_only)
        .idempotent(tool.idempotent)
        .open_world(tool.dangerous);
    if offered.says_destructive() {
        annotations = annotations.destructive(tool.dangerous);
    }
    let described = rmcp::model::Tool::new(
        offered.name.clone(),
        offered.description.clone(),
        Arc::new(offered.input.clone()),
    )
    .with_title(tool.title)
    .with_annotations(annotations);
    match tool.output {
        Some(output) => described.with_raw_output_schema(Arc::new(output())),
        None => described,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::{ConfigLayers, Environment},
        surface::{Door, Tool},
    };

    type Run = fn(&Call, JsonObject) -> Result<Reply, Refusal>;

    const fn tool(blocking: fn(&Call, &JsonObject) -> Blocking, run: Run) -> Tool {
        Tool {
            name: "planted",
            door: Door::Tree,
            title: "",
            description: "",
            read_only: true,
            idempotent: true,
            dangerous: false,
            input: JsonObject::new,
            output: None,
            blocking,
            run,
        }
    }

    static TOOLS: [Tool; 4] = [
        tool(|_, _| Blocking::LongRead, |_, _| panic!("on purpose")),
        tool(|_, _| Blocking::Never, |_, _| panic!("on purpose")),
        tool(|_, _| Blocking::LongRead, |_, _| Ok(Reply::text("still here"))),
        tool(|_, _| Blocking::Never, |_, _| Ok(Reply::text("still here"))),
    ];

    // ANSWER-8
    #[tokio::test(flavor = "multi_thread")]
    async fn c06_a_panic_in_one_call_is_answered_and_the_server_lives() {
        let store = Arc::new(Store::new(Vec::new(), ConfigLayers::default()));
        let snapshot = store.refresh(Cause::Start).snapshot;
        let runs = Runs::new(&Environment::default());
        let handler = Handler::new(store, Sink::silent(), Face::skills_mcp(true, "/".into()), runs);
        for (number, tool) in TOOLS.iter().enumerate() {
            let offered = Arc::new(Offered {
                tool,
                name: tool.name.into(),
                description: "".into(),
                input: JsonObject::new(),
            });
            let call =
                handler.call(Arc::clone(&snapshot), Sink::silent(), Caller::default(), false);
            let ran = handler.run(&offered, call, JsonObject::new()).await;
            match number {
                0 | 1 => assert!(matches!(ran, Err(Refusal::Internal(_))), "{ran:?}"),
                _ => assert_eq!(ran, Ok(Reply::text("still here"))),
            }
        }
    }
}
