//! MCP methods → the surface's tools, and their replies → the SDK's types.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError, Weak},
};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams,
        CompleteResult, ContentBlock, CustomRequest, CustomResult, DiscoverResult, ErrorCode,
        Implementation, JsonObject, ListPromptsResult, ListResourceTemplatesResult,
        ListResourcesResult, ListToolsResult, MetaObject, PaginatedRequestParams,
        ProgressNotificationParam, ProgressToken, ProtocolVersion, ServerCapabilities,
        ServerConfig, ToolAnnotations,
    },
    service::{Peer, RequestContext},
};
use skills_core::diagnostic::escaped;
use tokio::sync::{Semaphore, mpsc};

use crate::{
    event::Sink,
    script::{Caller, Progress, Runs},
    store::{Cause, Snapshot, Store},
    surface::{Call, Face, Menu, Offered, Refusal, Reply, Session},
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

type LastMenu = Option<(Weak<Snapshot>, Arc<Menu>)>;

/// One server, for one connection. Clones share everything.
#[derive(Debug, Clone)]
pub struct Handler {
    store: Arc<Store>,
    sink: Sink,
    session: Arc<Session>,
    face: Arc<Face>,
    running: Arc<Semaphore>,
    runs: Arc<Runs>,
    /// The last menu and the snapshot it was made for.
    menu: Arc<Mutex<LastMenu>>,
}

impl Handler {
    /// A handler that shows this face of this store.
    pub fn new(store: Arc<Store>, sink: Sink, face: Face, runs: Runs) -> Self {
        let running = Arc::new(Semaphore::new(MAX_RUNNING));
        Self {
            store,
            sink,
            session: Arc::default(),
            face: Arc::new(face),
            running,
            runs: Arc::new(runs),
            menu: Arc::default(),
        }
    }

    /// The current snapshot; a face that wants every call fresh looks again first.
    async fn snapshot(&self) -> Result<Arc<Snapshot>, Refusal> {
        if !self.face.rescan {
            return Ok(self.store.snapshot().await);
        }
        let store = Arc::clone(&self.store);
        let looked = tokio::task::spawn_blocking(move || store.refresh(Cause::Call).snapshot).await;
        looked.map_err(|error| Refusal::Internal(format!("looking again failed: {error}")))
    }

    /// The tools over this snapshot; made once for each.
    fn menu(&self, snapshot: &Arc<Snapshot>) -> Arc<Menu> {
        let mut last = self.menu.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((made_for, menu)) if std::ptr::eq(made_for.as_ptr(), Arc::as_ptr(snapshot)) => {
                Arc::clone(menu)
            }
            _ => {
                let menu = Arc::new(Menu::of(&self.face, snapshot));
                *last = Some((Arc::downgrade(snapshot), Arc::clone(&menu)));
                menu
            }
        }
    }

    /// Runs a tool, where it may block if it has to. A panic ends the call and nothing else.
    async fn run(
        &self,
        offered: &Offered,
        snapshot: Arc<Snapshot>,
        arguments: JsonObject,
        caller: Caller,
    ) -> Result<Reply, Refusal> {
        let counted = snapshot.settings().analytics.enabled;
        let call = Call {
            snapshot,
            store: Arc::clone(&self.store),
            sink: if counted { self.sink.clone() } else { Sink::silent() },
            session: Arc::clone(&self.session),
            face: Arc::clone(&self.face),
            runs: Arc::clone(&self.runs),
            caller,
        };
        let name = offered.tool.name;
        if !offered.tool.blocks {
            let ran = catch_unwind(AssertUnwindSafe(|| offered.call(&call, arguments)));
            return ran
                .unwrap_or_else(|_| Err(Refusal::Internal(format!("{name} failed: a panic"))));
        }
        let offered = offered.clone();
        let ran = tokio::task::spawn_blocking(move || offered.call(&call, arguments)).await;
        ran.unwrap_or_else(|error| Err(Refusal::Internal(format!("{name} failed: {error}"))))
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(self.implementation())
            .with_instructions(self.face.instructions())
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
                format!("unknown cursor '{cursor:.200}'; all tools are on one page"),
                None,
            ));
        }
        let snapshot = self.snapshot().await.map_err(answered)?;
        let tools = self.menu(&snapshot).0.iter().map(described).collect();
        let mut result = ListToolsResult::with_all_items(tools)
            .with_ttl_ms(TTL_MS)
            .with_cache_scope(CacheScope::Private);
        result.meta = self.server_meta(&context);
        Ok(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // Before looking again, which some faces do for each call.
        let closed =
            |error: tokio::sync::AcquireError| ErrorData::internal_error(error.to_string(), None);
        let _turn = self.running.acquire().await.map_err(closed)?;
        let snapshot = self.snapshot().await.map_err(answered)?;
        let menu = self.menu(&snapshot);
        let Some(offered) = menu.offered(&request.name) else {
            let known: Vec<&str> = menu.0.iter().map(|offered| &*offered.name).collect();
            let message =
                format!("unknown tool '{:.200}'; there are {}", request.name, known.join(", "));
            return Err(ErrorData::invalid_params(message, None));
        };
        let arguments = request.arguments.unwrap_or_default();
        let (caller, told) = caller(&context);
        let running = self.run(offered, snapshot, arguments, caller);
        let mut result = match answered_meanwhile(running, told, &context).await {
            Ok(reply) => {
                let mut result = CallToolResult::success(vec![ContentBlock::text(reply.text)]);
                result.structured_content = reply.structured;
                result
            }
            Err(Refusal::Tool(message)) => {
                tracing::debug!(tool = offered.tool.name, "refused: {}", escaped(&message));
                CallToolResult::error(vec![ContentBlock::text(Refusal::text(&message))])
            }
            Err(Refusal::Plain(message)) => {
                CallToolResult::error(vec![ContentBlock::text(message)])
            }
            Err(refusal) => return Err(answered(refusal)),
        };
        result.meta = self.server_meta(&context);
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

type Told = Option<(ProgressToken, mpsc::UnboundedReceiver<Progress>)>;

/// Who asks: may take the request back, and hears of progress where a token came with it.
fn caller(context: &RequestContext<RoleServer>) -> (Caller, Told) {
    let cancelled = context.ct.clone();
    let Some(token) = context.meta.get_progress_token() else {
        return (Caller { cancelled, progress: None }, None);
    };
    let (progress, told) = mpsc::unbounded_channel();
    (Caller { cancelled, progress: Some(progress) }, Some((token, told)))
}

/// Waits for the answer and passes on what is told before it; nothing is told behind it.
async fn answered_meanwhile<T>(
    running: impl Future<Output = T>,
    told: Told,
    context: &RequestContext<RoleServer>,
) -> T {
    let mut running = std::pin::pin!(running);
    let Some((token, mut told)) = told else { return running.await };
    loop {
        tokio::select! {
            answer = &mut running => return answer,
            Some(progress) = told.recv() => notify(&context.peer, &token, progress).await,
        }
    }
}

async fn notify(peer: &Peer<RoleServer>, token: &ProgressToken, progress: Progress) {
    let Progress { seconds, of } = progress;
    let param = ProgressNotificationParam::new(token.clone(), seconds)
        .with_total(of)
        .with_message(format!("running for {seconds} s of at most {of} s"));
    // A client that has gone is noticed by the answer.
    let _ = peer.notify_progress(param).await;
}

/// A refusal that is no tool's answer.
fn answered(refusal: Refusal) -> ErrorData {
    match refusal {
        Refusal::Params(message) | Refusal::Tool(message) | Refusal::Plain(message) => {
            ErrorData::invalid_params(message, None)
        }
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
        config::{Environment, Stack},
        surface::{Door, Tool},
    };

    type Run = fn(&Call, JsonObject) -> Result<Reply, Refusal>;

    const fn tool(blocks: bool, run: Run) -> Tool {
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
            blocks,
            run,
        }
    }

    static TOOLS: [Tool; 4] = [
        tool(true, |_, _| panic!("on purpose")),
        tool(false, |_, _| panic!("on purpose")),
        tool(true, |_, _| Ok(Reply::text("still here"))),
        tool(false, |_, _| Ok(Reply::text("still here"))),
    ];

    #[tokio::test]
    async fn c06_a_panic_in_one_call_is_answered_and_the_server_lives() {
        let store = Arc::new(Store::new(Vec::new(), Stack::default()));
        let snapshot = store.refresh(Cause::Start).snapshot;
        let runs = Runs::new(&Environment::default());
        let handler = Handler::new(store, Sink::silent(), Face::skills_mcp(true, "/".into()), runs);
        for (number, tool) in TOOLS.iter().enumerate() {
            let offered = Offered {
                tool,
                name: tool.name.into(),
                description: "".into(),
                input: JsonObject::new(),
            };
            let ran = handler
                .run(&offered, Arc::clone(&snapshot), JsonObject::new(), Caller::default())
                .await;
            match number {
                0 | 1 => assert!(matches!(ran, Err(Refusal::Internal(_))), "{ran:?}"),
                _ => assert_eq!(ran, Ok(Reply::text("still here"))),
            }
        }
    }
}
