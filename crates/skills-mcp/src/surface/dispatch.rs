//! [`Dispatcher`]: one call of a tool, from its decoded request to a reply.
//!
//! It takes a fresh snapshot, looks the tool up, and runs it on the thread that its kind of work needs; once more where a text that
//! the tool needs is being written. Clients' calls and those of commands (`show`, `run`) come this way. Not here: what
//! a tool does (its file), decoding and encoding (transport).

use std::{
    borrow::Cow,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use arc_swap::ArcSwapOption;
use serde_json::{Map, Value};
use skills_core::{catalog::Access, diagnostic::escaped};
use tokio::{
    sync::{AcquireError, OwnedSemaphorePermit, Semaphore, SemaphorePermit},
    task::spawn_blocking,
};
use tokio_util::sync::CancellationToken;

use super::{
    AdvertisedTool, Blocking, Call, CallCounts, Publication, Refusal, Registry, Reply,
    ServerProfile, Session, ToolList, call::Recent, published::PublishedSkills,
};
use crate::{
    clients::CLIENTS,
    event::{CallContext, Sink},
    script::{Caller, Runs},
    store::{Cause, Snapshot, Store},
    telemetry::{self, Telemetry},
};

const MAX_RUNNING_CALLS: usize = 32;
/// So many of them read much: more would not be quicker, and each keeps a thread.
const MAX_LONG_READS: usize = 4;
/// A text that is being written is asked for so often, with this pause in between.
const MAX_STALE_RETRIES: usize = 5;
const STALE_RETRY_PAUSE: Duration = Duration::from_millis(5);
/// Where refreshing takes long and the writing never stops, the text is asked for once more after this and not again.
const STALE_RETRY_TIME: Duration = Duration::from_millis(100);

/// A call as it was decoded.
pub struct ToolRequest<'a> {
    /// The tool's name as the client wrote it.
    pub tool: &'a str,
    /// The arguments, not checked yet.
    pub arguments: Map<String, Value>,
    /// What the client calls itself.
    pub client_name: Option<Cow<'a, str>>,
    /// Gives name and version of the client, where it gave them. Only events want to know, so it is not decoded without one.
    pub client: &'a (dyn Fn() -> Option<(String, String)> + Sync),
    /// Who waits for the answer.
    pub caller: Caller,
    /// Which skills the client may see.
    pub access: Access,
    /// Whether malformed arguments are a result and not an error of the protocol.
    pub corrects: bool,
    /// When the request came.
    pub received: Instant,
}

impl<'a> ToolRequest<'a> {
    /// A request of this process itself.
    pub fn new(tool: &'a str, arguments: Map<String, Value>) -> Self {
        let received = Instant::now();
        let (client, access, corrects) = (&|| None, Access::All, false);
        let (client_name, caller) = (None, Caller::default());
        Self { tool, arguments, client_name, client, caller, access, corrects, received }
    }
}

impl fmt::Debug for ToolRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolRequest").field("tool", &self.tool).finish_non_exhaustive()
    }
}

/// Where events go.
#[derive(Debug, Clone)]
pub struct EventSinks {
    recorder: Sink,
    telemetry: Telemetry,
}

impl EventSinks {
    /// Where the events of one request go: to the recorder where analytics are on, else to telemetry alone. `client` gives
    /// the client's name and version.
    pub fn for_request(
        &self,
        snapshot: &Snapshot,
        what: &str,
        client: impl FnOnce() -> Option<(String, String)>,
        received: Instant,
    ) -> Sink {
        let analytics = &snapshot.settings().analytics;
        let sink = if analytics.enabled { self.recorder.clone() } else { self.telemetry.sink() };
        sink.for_call(|| {
            let client = client();
            let client = client.as_ref().map(|(name, version)| (&**name, &**version));
            CallContext::new(what, client, received, analytics.context)
        })
    }
}

/// How often something was tried over snapshots in which a file was being written.
#[derive(Debug)]
struct StaleTries {
    started: Instant,
    count: usize,
}

impl StaleTries {
    fn new() -> Self {
        Self { started: Instant::now(), count: 0 }
    }

    fn is_last(&self) -> bool {
        self.count == MAX_STALE_RETRIES
            || (self.count > 0 && self.started.elapsed() > STALE_RETRY_TIME)
    }
}

/// Calls tools for one connection.
#[derive(Debug)]
pub struct Dispatcher {
    store: Arc<Store>,
    sinks: EventSinks,
    published: Arc<PublishedSkills>,
    recent: Arc<Recent>,
    session: Arc<Session>,
    profile: ServerProfile,
    /// The tools as each client of the table sees them, by its place in the table.
    known: Vec<OnceLock<Registry>>,
    /// The tools as all other clients see them.
    others: OnceLock<Registry>,
    runs: Arc<Runs>,
    running: Semaphore,
    long_reads: Arc<Semaphore>,
    /// The snapshot that clients have seen: the first one a call was answered from, until a notifier puts a later one here.
    seen: ArcSwapOption<Snapshot>,
    counts: CallCounts,
    started: Instant,
}

impl Dispatcher {
    /// A dispatcher over this store.
    pub fn new(
        store: Arc<Store>,
        profile: ServerProfile,
        runs: Runs,
        sink: Sink,
        telemetry: Telemetry,
    ) -> Self {
        Self {
            store,
            sinks: EventSinks { recorder: sink, telemetry },
            published: Arc::default(),
            recent: Arc::default(),
            session: Arc::default(),
            known: CLIENTS.iter().map(|_| OnceLock::new()).collect(),
            others: OnceLock::new(),
            profile,
            runs: Arc::new(runs),
            running: Semaphore::new(MAX_RUNNING_CALLS),
            long_reads: Arc::new(Semaphore::new(MAX_LONG_READS)),
            seen: ArcSwapOption::empty(),
            counts: CallCounts::default(),
            started: Instant::now(),
        }
    }

    /// How the server presents itself to clients that are not in the table.
    pub fn profile(&self) -> &ServerProfile {
        &self.profile
    }

    /// The tools for a client that calls itself so.
    pub fn registry(&self, reported: Option<&str>) -> &Registry {
        let client = self.profile.choose(reported);
        let place = client.and_then(|client| CLIENTS.iter().position(|row| row.id == client.id));
        let known = place.and_then(|place| self.known.get(place));
        let registry = || Registry::new(Arc::new(self.profile.for_client(client)));
        known.unwrap_or(&self.others).get_or_init(registry)
    }

    /// The store that calls are answered from.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// The telemetry of this connection.
    pub fn telemetry(&self) -> &Telemetry {
        &self.sinks.telemetry
    }

    /// Where events go.
    pub fn sinks(&self) -> EventSinks {
        self.sinks.clone()
    }

    /// The published skills over a snapshot, as they are now.
    pub fn published_over(&self, snapshot: &Arc<Snapshot>) -> Publication {
        self.published.over(Arc::clone(snapshot), true, CancellationToken::new())
    }

    /// Answers a request about published skills, on a thread that may read much; once more where a file that the answer needs is
    /// being written.
    pub async fn publication<T: Send + 'static>(
        &self,
        access: &Access,
        cancelled: &CancellationToken,
        answer: impl Fn(&Publication) -> Result<T, Refusal> + Send + Sync + 'static,
    ) -> Result<T, Refusal> {
        let closed = |error: AcquireError| Refusal::Internal(error.to_string());
        let answer = Arc::new(answer);
        let mut tries = StaleTries::new();
        loop {
            let turn = self.running.acquire().await.map_err(closed)?;
            let snapshot = self.snapshot(access).await;
            // Short calls need not wait for those that wait to read.
            drop(turn);
            let is_last = tries.is_last();
            let reading = self.turn_to_read().await.map_err(closed)?;
            let (published, answer) = (Arc::clone(&self.published), Arc::clone(&answer));
            let cancelled = cancelled.clone();
            let work = telemetry::in_span(move || {
                let _reading = reading;
                let publication = published.over(snapshot, is_last, cancelled);
                publication.check_cancelled()?;
                answer(&publication)
            });
            let panicked = |_| Err(Refusal::Internal("the answer failed: a panic".to_owned()));
            let answered = spawn_blocking(work).await.unwrap_or_else(panicked);
            if !matches!(answered, Err(Refusal::Stale(_))) || is_last {
                return answered;
            }
            tries.count += 1;
            self.wait_for_writer().await;
        }
    }

    /// Waits until one more may read much. The turn goes with the work and not with the request: where a client hangs up, its work
    /// goes on.
    fn turn_to_read(
        &self,
    ) -> impl Future<Output = Result<OwnedSemaphorePermit, AcquireError>> + use<> {
        Arc::clone(&self.long_reads).acquire_owned()
    }

    /// The tool lists over a snapshot of all clients that asked for something. A digest of them is the same for two snapshots
    /// only where each client reads the same.
    pub fn tool_lists(&self, snapshot: &Arc<Snapshot>) -> Vec<Arc<ToolList>> {
        let asked = self.known.iter().chain([&self.others]).filter_map(OnceLock::get);
        asked.map(|registry| registry.tool_list(snapshot)).collect()
    }

    /// A snapshot with every change that was on disk when the request came, to answer a client from: with only the skills that
    /// the client may see. Nothing that is answered from it needs to check that again.
    pub async fn snapshot(&self, access: &Access) -> Arc<Snapshot> {
        let snapshot = self.store.fresh().await;
        self.mark_seen(&snapshot);
        self.limited(snapshot, access).await
    }

    /// What a client with this access sees of a snapshot.
    pub async fn limited(&self, snapshot: Arc<Snapshot>, access: &Access) -> Arc<Snapshot> {
        if let Some(known) = self.store.known_limited(&snapshot, access) {
            return known;
        }
        let (store, access) = (Arc::clone(&self.store), access.clone());
        let made = spawn_blocking(move || store.limited(&snapshot, &access));
        made.await.unwrap_or_else(|panicked| resume_unwind(panicked.into_panic()))
    }

    /// Remembers the first snapshot that clients see, so that whatever follows it is compared with it, however soon.
    pub fn mark_seen(&self, snapshot: &Arc<Snapshot>) {
        if self.seen.load().is_none() {
            let none: Option<Arc<Snapshot>> = None;
            self.seen.compare_and_swap(&none, Some(Arc::clone(snapshot)));
        }
    }

    /// Notes that clients are being notified of this snapshot; returns the one they had seen.
    pub fn replace_seen(&self, snapshot: &Arc<Snapshot>) -> Option<Arc<Snapshot>> {
        self.seen.swap(Some(Arc::clone(snapshot)))
    }

    /// How many calls were answered, and how quickly.
    pub fn counts(&self) -> &CallCounts {
        &self.counts
    }

    /// Answers one call.
    pub async fn call(&self, request: ToolRequest<'_>) -> Result<Reply, Refusal> {
        let (tool, received) = (request.tool, request.received);
        let reply = self.answer(request).await;
        self.counts.count(tool, &reply, received.elapsed());
        reply
    }

    async fn answer(&self, request: ToolRequest<'_>) -> Result<Reply, Refusal> {
        let registry = self.registry(request.client_name.as_deref());
        let closed = |error: AcquireError| Refusal::Internal(error.to_string());
        let mut tries = StaleTries::new();
        loop {
            self.store.first_clone(self.started).await;
            let turn = self.running.acquire().await.map_err(closed)?;
            let snapshot = self.snapshot(&request.access).await;
            let Some(tool) = registry.find(request.tool, &snapshot) else {
                let names = registry.tool_list(&snapshot).names().join(", ");
                let message = format!("unknown tool '{:.200}'; there are {names}", request.tool);
                return Err(Refusal::Params(message));
            };
            let last_try = tries.is_last();
            let call = self.context(&request, registry, tool, snapshot, last_try);
            let reply = self.run(tool, call, request.arguments.clone(), turn).await;
            let reply = reply.map_err(|refusal| tool.corrected(refusal, request.corrects));
            if matches!(reply, Err(Refusal::Stale(_))) && !last_try {
                tries.count += 1;
                self.wait_for_writer().await;
                continue;
            }
            if last_try && !matches!(reply, Err(Refusal::Stale(_))) {
                // The catalog still has the text before this one; the next call should not find that out again.
                drop(self.refresh());
            }
            if let Err(Refusal::Tool(message)) = &reply {
                tracing::debug!(tool = tool.tool.name, "refused: {}", escaped(message));
            }
            return reply;
        }
    }

    /// Waits for a file that is being written: the watch reports it once it is closed; where nothing is watched, the
    /// store has to look.
    async fn wait_for_writer(&self) {
        tokio::time::sleep(STALE_RETRY_PAUSE).await;
        if !self.store.is_watched() {
            let _ = self.refresh().await;
        }
    }

    fn refresh(&self) -> tokio::task::JoinHandle<crate::store::Refreshed> {
        let store = Arc::clone(&self.store);
        spawn_blocking(move || store.refresh(Cause::Call))
    }

    fn context(
        &self,
        request: &ToolRequest<'_>,
        registry: &Registry,
        tool: &AdvertisedTool,
        snapshot: Arc<Snapshot>,
        last_try: bool,
    ) -> Call {
        let is_remote = registry.profile.remote.is_some();
        Call {
            sink: self.sinks.for_request(
                &snapshot,
                tool.tool.name,
                request.client,
                request.received,
            ),
            snapshot,
            store: Arc::clone(&self.store),
            published: Arc::clone(&self.published),
            // One client does not ask for the same again and again.
            recent: is_remote.then(|| Arc::clone(&self.recent)),
            session: self.session(registry),
            profile: Arc::clone(&registry.profile),
            runs: Arc::clone(&self.runs),
            caller: request.caller.clone(),
            accept_changed: last_try,
        }
    }

    /// What is remembered of the caller. Calls over HTTP have no caller that could be recognized.
    fn session(&self, registry: &Registry) -> Arc<Session> {
        let is_remote = registry.profile.remote.is_some();
        if is_remote { Arc::default() } else { Arc::clone(&self.session) }
    }

    /// Runs a tool: short calls where they stand, so that they cost no change of threads; the others on a thread of the
    /// blocking pool, few at a time. A panic ends the call and nothing else.
    async fn run(
        &self,
        tool: &Arc<AdvertisedTool>,
        call: Call,
        arguments: Map<String, Value>,
        turn: SemaphorePermit<'_>,
    ) -> Result<Reply, Refusal> {
        let panicked = || Err(Refusal::Internal(format!("{} failed: a panic", tool.name)));
        let (_turn, reading) = match tool.blocking(&call, &arguments) {
            Blocking::Never | Blocking::ShortRead => {
                let run = || tool.call(&call, arguments);
                return catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| panicked());
            }
            Blocking::LongRead => {
                // Short calls need not wait for those that wait to read.
                drop(turn);
                let reading = self.turn_to_read().await;
                if call.caller.cancelled.is_cancelled() {
                    return Err(Refusal::cancelled());
                }
                (None, reading.ok())
            }
            Blocking::Script => (Some(turn), None),
        };
        let running = Arc::clone(tool);
        let work = telemetry::in_span(move || {
            let _reading = reading;
            running.call(&call, arguments)
        });
        spawn_blocking(work).await.unwrap_or_else(|_| panicked())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::Mutex;

    use super::*;
    use crate::{
        config::{ConfigLayers, Environment},
        surface::{Tool, ToolSet},
    };

    impl Dispatcher {
        /// A dispatcher for tests that need no skill.
        pub(crate) fn without_sources() -> Self {
            let store = Arc::new(Store::new(Vec::new(), ConfigLayers::default()));
            store.refresh(Cause::Start);
            let runs = Runs::new(&Environment::default());
            let profile = ServerProfile::skills_mcp(true, Arc::default());
            Self::new(store, profile, runs, Sink::silent(), Telemetry::default())
        }
    }

    type Arguments = Map<String, Value>;
    type Run = fn(&Call, Arguments) -> Result<Reply, Refusal>;

    const fn tool(blocking: fn(&Call, &Arguments) -> Blocking, run: Run) -> Tool {
        Tool {
            name: "planted",
            tool_set: ToolSet::Tree,
            title: "",
            description: "",
            read_only: true,
            idempotent: true,
            dangerous: false,
            input: Arguments::new,
            output: None,
            blocking,
            run,
        }
    }

    fn advertised(tool: &'static Tool) -> Arc<AdvertisedTool> {
        Arc::new(AdvertisedTool {
            tool,
            name: tool.name.into(),
            description: "".into(),
            input: Arguments::new(),
            output: None,
            meta: Arguments::new(),
        })
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
        let dispatcher = Dispatcher::without_sources();
        let snapshot = dispatcher.snapshot(&Access::All).await;
        for (number, tool) in TOOLS.iter().enumerate() {
            let advertised = advertised(tool);
            let request = ToolRequest::new("planted", Arguments::new());
            let registry = dispatcher.registry(None);
            let call =
                dispatcher.context(&request, registry, &advertised, Arc::clone(&snapshot), false);
            let turn = dispatcher.running.acquire().await.unwrap();
            let ran = dispatcher.run(&advertised, call, Arguments::new(), turn).await;
            match number {
                0 | 1 => assert!(matches!(ran, Err(Refusal::Internal(_))), "{ran:?}"),
                _ => assert_eq!(ran.map(|reply| reply.text), Ok("still here".into())),
            }
        }
    }

    /// Held while what reads much is not to end.
    static READING: Mutex<()> = Mutex::const_new(());

    fn read_much() {
        drop(READING.blocking_lock());
    }

    // HTTP-5
    #[tokio::test(flavor = "multi_thread")]
    async fn what_reads_much_keeps_its_turn_though_its_client_hangs_up() {
        static READER: Tool = tool(
            |_, _| Blocking::LongRead,
            |_, _| {
                read_much();
                Ok(Reply::text("read"))
            },
        );

        let dispatcher = Arc::new(Dispatcher::without_sources());
        let snapshot = dispatcher.snapshot(&Access::All).await;
        let turns = Arc::clone(&dispatcher.long_reads);
        let reading = READING.lock().await;
        let mut clients = tokio::task::JoinSet::new();
        for number in 0..MAX_LONG_READS {
            let (dispatcher, snapshot) = (Arc::clone(&dispatcher), Arc::clone(&snapshot));
            clients.spawn(async move {
                if number % 2 == 0 {
                    let read = |_: &Publication| {
                        read_much();
                        Ok(())
                    };
                    let never = CancellationToken::new();
                    return dispatcher.publication(&Access::All, &never, read).await;
                }
                let reader = advertised(&READER);
                let request = ToolRequest::new("planted", Arguments::new());
                let registry = dispatcher.registry(None);
                let call = dispatcher.context(&request, registry, &reader, snapshot, false);
                let turn = dispatcher.running.acquire().await.unwrap();
                dispatcher.run(&reader, call, Arguments::new(), turn).await.map(drop)
            });
        }
        while turns.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        clients.shutdown().await;
        assert_eq!(turns.available_permits(), 0, "their work goes on");
        drop(reading);
        while turns.available_permits() < MAX_LONG_READS {
            tokio::task::yield_now().await;
        }
    }

    // HTTP-5
    #[tokio::test(flavor = "multi_thread")]
    async fn calls_that_wait_to_read_much_keep_out_no_short_ones() {
        let dispatcher = Arc::new(Dispatcher::without_sources());
        let many = u32::try_from(MAX_LONG_READS).unwrap();
        let reading = dispatcher.long_reads.acquire_many(many).await.unwrap();
        let (mut waiting, started) = (tokio::task::JoinSet::new(), Arc::new(AtomicUsize::new(0)));
        let many = 4 * MAX_RUNNING_CALLS;
        for number in 0..many {
            let (dispatcher, started) = (Arc::clone(&dispatcher), Arc::clone(&started));
            waiting.spawn(async move {
                started.fetch_add(1, Ordering::Relaxed);
                if number % 2 == 0 {
                    let request = ToolRequest::new("refresh_skills", Arguments::new());
                    return dispatcher.call(request).await.map(drop);
                }
                let never = CancellationToken::new();
                dispatcher.publication(&Access::All, &never, |_| Ok(())).await
            });
        }
        while started.load(Ordering::Relaxed) < many {
            tokio::task::yield_now().await;
        }
        let short = dispatcher.call(ToolRequest::new("list_skills", Arguments::new()));
        let short = tokio::time::timeout(Duration::from_mins(1), short).await;
        assert!(matches!(short, Ok(Ok(_))), "{short:?}");
        drop(reading);
        while let Some(ended) = waiting.join_next().await {
            assert_eq!(ended.unwrap(), Ok(()));
        }
    }
}
