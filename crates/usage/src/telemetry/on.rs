//! [`Telemetry`] with the feature `otel`: a span for each request, metrics beside it, and an end to waiting.
//!
//! Spans wait in a bounded queue, and what does not fit is dropped: no call ever waits for a collector. Threads of the
//! SDK send them; nothing is global. What events add to a request finds its span by the task it runs in.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

use opentelemetry::{
    InstrumentationScope, Key, KeyValue,
    metrics::MeterProvider as _,
    trace::{Span as _, SpanBuilder, SpanKind, Status, Tracer as _, TracerProvider as _},
};
use opentelemetry_sdk::{
    Resource,
    metrics::{MeterProviderBuilder, SdkMeterProvider},
    trace::{SdkTracer, SdkTracerProvider, Span, TracerProviderBuilder},
};

use super::{
    TracedOutcome, TracedRequest, Variables, exporter, instruments::Instruments, parent::parent,
};
use crate::{
    clock,
    event::{RecordedEvent, Sink},
    served::ServedCatalog,
};

/// How long leaving may wait for what is still to be sent. A server has a second to end, and calls in flight may
/// have had most of it.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(250);
/// A request's id may be any text; the rest is cut.
const MAX_ID_CHARS: usize = 100;

tokio::task_local! {
    /// What events add to the span of the request that this task answers.
    static SPAN_NOTES: SpanNotes;
}

type SpanNotes = Arc<Mutex<Vec<KeyValue>>>;

/// Spans and metrics of this server. Cheap to clone.
#[derive(Clone, Default)]
pub struct Telemetry {
    live: Option<Arc<Exporting>>,
    sink: Sink,
}

#[derive(Debug)]
struct Exporting {
    tracer: SdkTracer,
    spans: SdkTracerProvider,
    metrics: SdkMeterProvider,
    instruments: Instruments,
    started: Instant,
}

/// One request that is being answered. Dropped unanswered, its span ends as it is.
#[derive(Debug)]
pub struct RequestSpan(Option<TracedSpan>);

#[derive(Debug)]
struct TracedSpan {
    live: Arc<Exporting>,
    span: Span,
    started: Instant,
    labels: Vec<KeyValue>,
    resource: Option<String>,
    noted: SpanNotes,
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.live.is_some() { "Telemetry(on)" } else { "Telemetry(off)" })
    }
}

impl Telemetry {
    /// Starts it where the standard variables ask for it; else nothing is started.
    pub fn start(variables: &Variables, served: &Arc<dyn ServedCatalog>) -> Self {
        let (spans, metrics) = (exporter::spans(variables), exporter::metrics(variables));
        if spans.is_none() && metrics.is_none() {
            return Self::default();
        }
        tracing::info!(spans = spans.is_some(), metrics = metrics.is_some(), "telemetry is sent");
        let resource = resource();
        let provider = SdkTracerProvider::builder().with_resource(resource.clone());
        let provider = spans.into_iter().fold(provider, TracerProviderBuilder::with_batch_exporter);
        let meters = SdkMeterProvider::builder().with_resource(resource);
        let meters = metrics.into_iter().fold(meters, MeterProviderBuilder::with_periodic_exporter);
        let (spans, metrics) = (provider.build(), meters.build());
        let scope = InstrumentationScope::builder("skills-mcp");
        let scope = scope.with_version(env!("CARGO_PKG_VERSION")).build();
        let live = Arc::new(Exporting {
            tracer: spans.tracer_with_scope(scope.clone()),
            instruments: Instruments::new(&metrics.meter_with_scope(scope), served),
            spans,
            metrics,
            started: Instant::now(),
        });
        let listening = Arc::clone(&live);
        let sink =
            Sink::new("", env!("CARGO_PKG_VERSION"), move |recorded| listening.heard(&recorded));
        Self { live: Some(live), sink }
    }

    /// Starts the span of a request, which is described only where spans are made.
    pub fn watch<'a>(&self, request: impl FnOnce() -> TracedRequest<'a>) -> RequestSpan {
        RequestSpan(self.live.as_ref().map(|live| TracedSpan::new(live, &request())))
    }

    /// Counts an event, and adds it to the span of the request that this task answers.
    pub fn heard(&self, recorded: &RecordedEvent) {
        if let Some(live) = &self.live {
            live.heard(recorded);
        }
    }

    /// Where events go if none are recorded.
    pub fn sink(&self) -> Sink {
        self.sink.clone()
    }

    /// Sends what there is and ends; what takes longer than a moment is left behind.
    pub fn close(&self) {
        let Some(live) = &self.live else { return };
        live.instruments.ended(live.started.elapsed().as_secs_f64(), &[transport()]);
        let until = Instant::now() + FLUSH_TIMEOUT;
        let (done, wait) = mpsc::channel();
        let (spans, metrics) = (live.spans.clone(), live.metrics.clone());
        let ends: [Box<dyn FnOnce() + Send>; 2] = [
            Box::new(move || drop(spans.shutdown_with_timeout(FLUSH_TIMEOUT))),
            // This one waits for seconds whatever its timeout, so it is not waited for here.
            Box::new(move || drop(metrics.shutdown_with_timeout(FLUSH_TIMEOUT))),
        ];
        for end in ends {
            let done = done.clone();
            let ending = move || {
                end();
                let _ = done.send(());
            };
            let _ = thread::Builder::new().name("telemetry-end".into()).spawn(ending);
        }
        drop(done);
        for _ in 0..2 {
            let left = until.saturating_duration_since(Instant::now());
            if wait.recv_timeout(left).is_err() {
                tracing::debug!("telemetry that could not be sent in time is left behind");
                break;
            }
        }
    }
}

impl Exporting {
    fn heard(&self, recorded: &RecordedEvent) {
        let attributes = self.instruments.record(recorded);
        // An event without a request is counted and no more.
        let _ = SPAN_NOTES.try_with(|noted| {
            let mut noted = noted.lock().unwrap_or_else(PoisonError::into_inner);
            for one in attributes {
                noted.retain(|before| before.key != one.key);
                noted.push(one);
            }
        });
    }
}

impl TracedSpan {
    fn new(live: &Arc<Exporting>, request: &TracedRequest<'_>) -> Self {
        let mut labels =
            vec![KeyValue::new("mcp.method.name", request.method.to_owned()), transport()];
        if let Some(tool) = request.tool {
            labels.push(KeyValue::new("gen_ai.tool.name", tool));
            labels.push(KeyValue::new("gen_ai.operation.name", "execute_tool"));
        }
        let version = request.protocol.clone();
        labels.extend(version.map(|version| KeyValue::new("mcp.protocol.version", version)));
        let name = match request.tool {
            Some(tool) => format!("{} {tool}", request.method),
            None => request.method.to_owned(),
        };
        let id: String = request.id.chars().take(MAX_ID_CHARS).collect();
        let mut attributes = labels.clone();
        attributes.push(KeyValue::new("jsonrpc.request.id", id));
        let builder =
            SpanBuilder::from_name(name).with_kind(SpanKind::Server).with_attributes(attributes);
        Self {
            live: Arc::clone(live),
            span: live.tracer.build_with_context(builder, &parent(request)),
            started: Instant::now(),
            labels,
            resource: request.resource.map(str::to_owned),
            noted: SpanNotes::default(),
        }
    }

    fn answered(mut self, outcome: TracedOutcome) {
        let mut failed = Vec::new();
        match outcome {
            TracedOutcome::Done => {
                let uri = self.resource.take();
                self.span.set_attributes(uri.map(|uri| KeyValue::new("mcp.resource.uri", uri)));
            }
            TracedOutcome::ToolError => failed.push(KeyValue::new("error.type", "tool_error")),
            TracedOutcome::Refused(code) => {
                failed.push(KeyValue::new("error.type", code.to_string()));
                failed.push(KeyValue::new("rpc.response.status_code", code.to_string()));
            }
        }
        if !failed.is_empty() {
            // Without words: what is said of an error may repeat what was asked.
            self.span.set_status(Status::error(""));
        }
        self.span.set_attributes(failed.iter().cloned());
        let noted = std::mem::take(&mut *self.noted.lock().unwrap_or_else(PoisonError::into_inner));
        self.span.set_attributes(noted);
        self.span.end();
        self.labels.extend(failed);
        self.live.instruments.answered(self.started.elapsed().as_secs_f64(), &self.labels);
    }
}

impl RequestSpan {
    /// The same future; events that are recorded while it runs belong to this request.
    pub fn over<F: Future>(&self, answering: F) -> impl Future<Output = F::Output> + use<F> {
        let noted = self.0.as_ref().map(|request| Arc::clone(&request.noted));
        // Answering is large, and would be copied into each future around it.
        let answering = Box::pin(answering);
        async move {
            match noted {
                Some(noted) => SPAN_NOTES.scope(noted, answering).await,
                None => answering.await,
            }
        }
    }

    /// Ends the span and counts the request.
    pub fn answered(self, outcome: impl FnOnce() -> TracedOutcome) {
        if let Some(request) = self.0 {
            request.answered(outcome());
        }
    }
}

/// The same work, on another thread, still of the request that this task answers.
pub fn in_span<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let noted = SPAN_NOTES.try_with(Arc::clone).ok();
    move || match noted {
        Some(noted) => SPAN_NOTES.sync_scope(noted, work),
        None => work(),
    }
}

/// Standard streams are pipes.
fn transport() -> KeyValue {
    KeyValue::new("network.transport", "pipe")
}

/// What the variables say of this service, and defaults for the rest.
fn resource() -> Resource {
    let said = Resource::builder().build();
    let name = said.get(&Key::new("service.name")).map(|name| name.to_string());
    // Without one, the SDK makes up a name that begins so.
    let unnamed = name.is_none_or(|name| name.starts_with("unknown_service"));
    let missing = |key: &'static str| said.get(&Key::new(key)).is_none();
    let mut ours = Vec::new();
    if unnamed {
        ours.push(KeyValue::new("service.name", "skills-mcp"));
    }
    if missing("service.version") {
        ours.push(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
    }
    // Many servers run beside each other, and their sums must not be taken for each other's.
    if missing("service.instance.id") {
        ours.push(KeyValue::new("service.instance.id", clock::event_id().to_string()));
    }
    Resource::builder().with_attributes(ours).build()
}
