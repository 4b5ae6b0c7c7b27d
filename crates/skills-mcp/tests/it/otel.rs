//! The feature `otel`, from outside: a collector over real HTTP sees what it should and nothing else; and where there is
//! no collector, or a dead one, clients notice nothing.

use std::{
    collections::HashMap,
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    process::Command,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::Instant,
};

use opentelemetry_proto::tonic::{
    collector::{metrics::v1::ExportMetricsServiceRequest, trace::v1::ExportTraceServiceRequest},
    common::v1::{KeyValue, any_value},
    metrics::v1::{HistogramDataPoint, Metric, metric, number_data_point},
    trace::v1::{Span, span::SpanKind, status::StatusCode},
};
use prost::Message as _;
use serde_json::{Value, json};
use skills_testkit::{Client, Home, PROMPT_TIMEOUT};

use crate::{
    support::{ROOT_TREE, eventually, server},
    workshop::Workshop,
};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";
/// Whatever a client says has this in it, and whatever leaves has not.
const CANARY: &str = "CANARY-4711";
/// The metrics' collector is asked for often here; leaving must not be what makes them come.
const SOON: [(&str, &str); 2] =
    [("OTEL_BSP_SCHEDULE_DELAY", "20"), ("OTEL_METRIC_EXPORT_INTERVAL", "50")];

/// One request to the collector.
#[derive(Clone)]
struct Received {
    path: String,
    headers: HashMap<String, String>,
    body: Vec<u8>,
}

/// A collector: takes everything, remembers it, says yes.
struct Collector {
    address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
    connections: Arc<AtomicUsize>,
    closing: Arc<AtomicBool>,
    listening: Option<JoinHandle<()>>,
}

impl Collector {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (received, connections, closing) =
            (Arc::<Mutex<Vec<_>>>::default(), Arc::<AtomicUsize>::default(), Arc::default());
        let (kept, counted, end) =
            (Arc::clone(&received), Arc::clone(&connections), Arc::<AtomicBool>::clone(&closing));
        let listening = thread::spawn(move || {
            for connection in listener.incoming() {
                if end.load(Ordering::SeqCst) {
                    break;
                }
                counted.fetch_add(1, Ordering::SeqCst);
                let kept = Arc::clone(&kept);
                // Ends with the server that has called.
                thread::spawn(move || while take(connection.as_ref().unwrap(), &kept).is_some() {});
            }
        });
        Self { address, received, connections, closing, listening: Some(listening) }
    }

    /// The server of this home, which sends here.
    fn watch(&self, mut command: Command) -> Command {
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{}", self.address)).envs(SOON);
        command
    }

    fn bodies(&self, path: &str) -> Vec<Received> {
        let received = self.received.lock().unwrap().clone();
        received.into_iter().filter(|one| one.path == path).collect()
    }

    fn spans(&self) -> Vec<Span> {
        let bodies = self.bodies("/v1/traces");
        let read = |one: &Received| ExportTraceServiceRequest::decode(&*one.body).unwrap();
        let resources = bodies.iter().map(read).flat_map(|body| body.resource_spans);
        resources.flat_map(|it| it.scope_spans).flat_map(|it| it.spans).collect()
    }

    /// The span of this name; the first, where there are several.
    fn span(&self, name: &str) -> Span {
        let look = || self.spans().into_iter().find(|span| span.name == name);
        eventually(&format!("a span `{name}`"), look)
    }

    /// What the last body with metrics says of this one.
    fn metric(&self, name: &str) -> Option<Metric> {
        let last = self.bodies("/v1/metrics").pop()?;
        let body = ExportMetricsServiceRequest::decode(&*last.body).unwrap();
        let scopes = body.resource_metrics.into_iter().flat_map(|it| it.scope_metrics);
        scopes.flat_map(|it| it.metrics).find(|metric| metric.name == name)
    }

    /// The sum of a counter over the points that have all these attributes.
    fn counted(&self, name: &str, with: &[(&str, &str)]) -> i64 {
        let Some(metric::Data::Sum(sum)) = self.metric(name).and_then(|it| it.data) else {
            return 0;
        };
        let points = sum.data_points.iter().filter(|point| {
            let has = attributes(&point.attributes);
            with.iter().all(|(key, value)| has.get(*key).is_some_and(|it| it == value))
        });
        let value = |value: Option<number_data_point::Value>| match value {
            Some(number_data_point::Value::AsInt(number)) => number,
            other => panic!("{other:?}"),
        };
        points.map(|point| value(point.value)).sum()
    }

    fn durations(&self, name: &str) -> Vec<HistogramDataPoint> {
        match self.metric(name).and_then(|metric| metric.data) {
            Some(metric::Data::Histogram(histogram)) => histogram.data_points,
            _ => Vec::new(),
        }
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        let _ = self.listening.take().unwrap().join();
    }
}

/// Takes one request and says yes to it.
fn take(connection: &TcpStream, kept: &Mutex<Vec<Received>>) -> Option<()> {
    let mut reader = BufReader::new(connection);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let path = lines.first()?.split(' ').nth(1)?.to_owned();
    let headers = lines.iter().skip(1).filter_map(|line| line.split_once(": "));
    let headers: HashMap<String, String> =
        headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    let mut body = vec![0; headers.get("content-length")?.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    assert!(reader.buffer().is_empty(), "one request at a time");
    kept.lock().unwrap().push(Received { path, headers, body });
    let mut writer = connection;
    writer.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").ok()
}

fn attributes(written: &[KeyValue]) -> HashMap<String, String> {
    let text = |value: &KeyValue| match value.value.clone().and_then(|value| value.value) {
        Some(any_value::Value::StringValue(text)) => text,
        Some(any_value::Value::IntValue(number)) => number.to_string(),
        Some(any_value::Value::BoolValue(truth)) => truth.to_string(),
        Some(any_value::Value::DoubleValue(number)) => format!("{number:.3}"),
        other => panic!("{other:?}"),
    };
    written.iter().map(|one| (one.key.clone(), text(one))).collect()
}

fn told(span: &Span) -> HashMap<String, String> {
    assert_eq!(span.attributes.len(), attributes(&span.attributes).len(), "told once: {span:?}");
    attributes(&span.attributes)
}

fn hex(bytes: &[u8]) -> String {
    skills_core::digest::hex(bytes)
}

fn call(tool: &str, arguments: &Value, traceparent: &str) -> Value {
    let meta = json!({"traceparent": traceparent, "tracestate": "vendor=1"});
    json!({"name": tool, "arguments": arguments, "_meta": meta})
}

fn has(span: &Span, expected: &[(&str, &str)]) {
    let told = told(span);
    for (key, value) in expected {
        assert_eq!(told.get(*key).map(String::as_str), Some(*value), "{key}: {told:?}");
    }
}

fn misses(span: &Span, keys: &[&str]) {
    let told = told(span);
    assert!(!keys.iter().any(|key| told.contains_key(*key)), "{keys:?}: {told:?}");
}

/// Waits until it sends by so many threads; a thread has its name a moment after it has begun.
fn sends_by(client: &Client, threads: usize) {
    eventually("threads that send", || (senders(client) == threads).then_some(()));
}

/// The threads by which the SDK sends.
fn senders(client: &Client) -> usize {
    let tasks = fs::read_dir(format!("/proc/{}/task", client.pid())).unwrap();
    let names = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.starts_with("OpenTelemetry")).count()
}

/// How many connections of the Internet's kind it has, or waits for.
fn connections(client: &Client) -> usize {
    let process = format!("/proc/{}", client.pid());
    let table =
        |name: &str| fs::read_to_string(format!("{process}/net/{name}")).unwrap_or_default();
    let tables = ["tcp", "tcp6", "udp", "udp6"].map(table).concat();
    let open = fs::read_dir(format!("{process}/fd")).unwrap();
    let links = open.filter_map(|file| fs::read_link(file.ok()?.path()).ok());
    let sockets = links.filter_map(|link| {
        let number = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned();
        Some(format!(" {number} "))
    });
    sockets.filter(|number| tables.contains(number)).count()
}

#[test]
fn a_calls_span_lies_below_the_parent_that_the_request_names() {
    let (home, collector) = (Home::with(ROOT_TREE), Collector::new());
    let mut command = collector.watch(server(&home));
    command
        .env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20secret")
        .env("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test");
    let mut client = Client::legacy(command, "2025-11-25");
    let parent = format!("00-{TRACE}-{PARENT}-01");
    let asked = json!({"context": format!("react login session oauth {CANARY}")});
    let answer = client.request("tools/call", call("get_skill", &asked, &parent));
    assert_eq!(answer["result"]["isError"], false, "{answer}");

    let span = collector.span("tools/call get_skill");
    assert_eq!((hex(&span.trace_id), hex(&span.parent_span_id)), (TRACE.into(), PARENT.into()));
    assert_eq!((span.kind, span.trace_state.as_str()), (SpanKind::Server as i32, "vendor=1"));
    assert!(span.end_time_unix_nano > span.start_time_unix_nano);
    assert_eq!(span.status.clone().unwrap_or_default().code, StatusCode::Unset as i32);
    has(
        &span,
        &[
            ("mcp.method.name", "tools/call"),
            ("gen_ai.tool.name", "get_skill"),
            ("gen_ai.operation.name", "execute_tool"),
            ("jsonrpc.request.id", "2"),
            ("mcp.protocol.version", "2025-11-25"),
            ("network.transport", "pipe"),
            ("skills.path", "ui/react/auth"),
            ("skills.source", home.path().file_name().unwrap().to_str().unwrap()),
            ("skills.match.ambiguous", "false"),
        ],
    );
    let told = told(&span);
    assert!(told["skills.tokens"].parse::<u64>().unwrap() > 0, "{told:?}");
    assert!(told["skills.match.score"].parse::<f64>().unwrap() > 0.3, "{told:?}");
    misses(&span, &["error.type", "rpc.response.status_code", "gen_ai.tool.call.arguments"]);
    nothing_said_leaves(&collector);

    let body = collector.bodies("/v1/traces").pop().unwrap();
    assert_eq!(body.headers["content-type"], "application/x-protobuf");
    assert_eq!(body.headers["authorization"], "Bearer secret");
    let body = ExportTraceServiceRequest::decode(&*body.body).unwrap();
    let resource = attributes(&body.resource_spans[0].resource.clone().unwrap().attributes);
    assert_eq!(resource["service.name"], "skills-mcp");
    assert_eq!(resource["service.version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(resource["deployment.environment.name"], "test");
    assert_eq!(resource["service.instance.id"].len(), 36);
}

#[test]
fn requests_without_a_parent_or_with_a_bad_one_begin_a_trace_and_are_answered() {
    let (home, collector) = (Home::with(ROOT_TREE), Collector::new());
    let mut client = Client::modern(collector.watch(server(&home)));
    client.request("tools/list", json!({}));
    let listed = collector.span("tools/list");
    assert!(listed.parent_span_id.is_empty());
    has(&listed, &[("mcp.protocol.version", "2026-07-28"), ("jsonrpc.request.id", "1")]);
    misses(&listed, &["gen_ai.tool.name", "gen_ai.operation.name", "error.type"]);

    let mut client = Client::legacy(collector.watch(server(&home)), "2025-11-25");
    let long = "00-".repeat(10_000);
    for bad in ["", "00-zz-zz-01", &format!("ff-{TRACE}-{PARENT}-01"), &long] {
        let asked = json!({"skill_path": "api/auth"});
        let answer = client.request("tools/call", call("get_skill", &asked, bad));
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    }
    let found = || -> Option<Vec<Span>> {
        let spans = collector.spans().into_iter();
        let spans: Vec<Span> = spans.filter(|it| it.name == "tools/call get_skill").collect();
        (spans.len() == 4).then_some(spans)
    };
    for span in eventually("four spans", found) {
        assert!(span.parent_span_id.is_empty() && hex(&span.trace_id) != TRACE, "{span:?}");
        misses(&span, &["skills.match.score"]);
    }
}

#[test]
fn what_fails_says_so_by_kind_and_not_in_words() {
    let (home, collector) = (Home::with(ROOT_TREE), Collector::new());
    // Later revisions have malformed arguments answered with a result.
    let mut client = Client::legacy(collector.watch(server(&home)), "2025-06-18");
    let reply = client.call("get_asset", &json!({"skill_path": CANARY, "file": "x"}));
    assert!(reply.is_error);
    assert_eq!(client.refused("get_skill", &json!({"context": {CANARY: CANARY}})).0, -32602);
    assert_eq!(client.refused(CANARY, &json!({})).0, -32602);
    assert_eq!(client.request(CANARY, json!({}))["error"]["code"], -32601);
    let malformed = client.request("tools/call", json!({"name": [CANARY]}));
    assert_eq!(malformed["error"]["code"], -32602, "{malformed}");

    for (name, kind, code) in [
        ("tools/call get_asset", "tool_error", None),
        ("tools/call get_skill", "-32602", Some("-32602")),
        ("tools/call _OTHER", "-32602", Some("-32602")),
        ("_OTHER", "-32601", Some("-32601")),
    ] {
        let span = collector.span(name);
        has(&span, &[("error.type", kind)]);
        assert_eq!(told(&span).get("rpc.response.status_code").map(String::as_str), code, "{name}");
        let status = span.status.unwrap();
        assert_eq!((status.code, status.message.as_str()), (StatusCode::Error as i32, ""));
    }
    let histogram = || {
        let points = collector.durations("mcp.server.operation.duration");
        let mut kinds: Vec<Option<String>> =
            points.iter().map(|it| attributes(&it.attributes).remove("error.type")).collect();
        kinds.sort();
        kinds.dedup();
        let words = ["-32601", "-32602", "tool_error"].map(|kind| Some(kind.to_owned()));
        words.iter().all(|kind| kinds.contains(kind)).then_some(())
    };
    eventually("errors in the histogram", histogram);
    nothing_said_leaves(&collector);
}

fn nothing_said_leaves(collector: &Collector) {
    for one in collector.received.lock().unwrap().iter() {
        let body = String::from_utf8_lossy(&one.body);
        assert!(!body.contains(CANARY), "{}: {body}", one.path);
    }
}

#[test]
fn metrics_count_what_is_served_missed_rated_and_run_under_names_of_the_catalog() {
    for analytics in ["analytics.enabled=false", "analytics.enabled=true"] {
        counts_once(analytics);
    }
}

fn counts_once(analytics: &str) {
    let text = format!("echo {CANARY}-said\n");
    let declared = "args: [{name: word, description: w}]";
    let shop = Workshop::new().script("scripts/x.sh", declared, &text).set(analytics);
    let collector = Collector::new();
    let mut client = Client::legacy(collector.watch(shop.command(&[])), "2025-11-25");
    let served = client.call("get_skill", &json!({"skill_path": "tool"}));
    assert!(!served.is_error, "{}", served.text);
    client.call("get_skill", &json!({"context": format!("nothing like it {CANARY}")}));
    let rating = json!({"skill_path": "tool", "useful": false, "comment": CANARY});
    assert!(!client.call("report_usage", &rating).is_error);
    let run = json!({"skill_path": "tool", "file": "scripts/x.sh", "args": {"word": CANARY}});
    let ran = client.call("run_script", &run);
    assert!(ran.text.contains(&format!("{CANARY}-said")), "{}", ran.text);
    let refused =
        client.call("run_script", &json!({"skill_path": CANARY, "file": "x.sh", "args": {}}));
    assert!(refused.is_error, "{}", refused.text);

    let tool = ("skills.path", "tool");
    let counts = || {
        let counts = [
            collector.counted("skills.served", &[tool]),
            collector.counted("skills.no_match", &[]),
            collector.counted("skills.feedback", &[tool, ("skills.useful", "false")]),
            collector.counted("skills.script.runs", &[tool, ("skills.success", "true")]),
        ];
        (counts == [1; 4]).then_some(())
    };
    eventually("one of each", counts);
    assert_eq!(collector.counted("skills.script.runs", &[]), 1, "what was refused did not run");
    // The script ran on a thread of its own, and its skill is still known to the request's span.
    has(&collector.span("tools/call run_script"), &[tool]);
    let is_other = |span: &Span| told(span).get("skills.path").is_some_and(|it| it == "_OTHER");
    eventually("a skill that there is not", || collector.spans().into_iter().find(is_other));

    let called = || {
        let both = ["mcp.server.operation.duration", "skills.operation.duration"];
        let points = both.map(|name| {
            let points = collector.durations(name).into_iter();
            points.max_by_key(|point| point.count)
        });
        match points {
            [Some(standard), Some(ours)] => Some((standard, ours)),
            _ => None,
        }
    };
    let (standard, ours) = eventually("durations", called);
    let seconds = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1., 2., 5., 10., 30., 60., 120., 300.];
    assert_eq!(standard.explicit_bounds, seconds);
    let ends = (ours.explicit_bounds.first(), ours.explicit_bounds.last());
    assert_eq!(ends, (Some(&0.000_05), Some(&0.1)));
    let labels = attributes(&standard.attributes);
    assert_eq!(labels.get("network.transport").map(String::as_str), Some("pipe"));
    assert!(!labels.contains_key("jsonrpc.request.id"), "{labels:?}");
    let size = collector.metric("skills.index.size").and_then(|metric| metric.data);
    let Some(metric::Data::Gauge(size)) = size else { panic!("{size:?}") };
    let sizes: Vec<_> = size.data_points.iter().filter_map(|point| point.value).collect();
    assert_eq!(sizes, [number_data_point::Value::AsInt(1)]);
    nothing_said_leaves(&collector);
}

#[test]
fn without_an_endpoint_there_is_no_thread_and_no_connection() {
    let (home, collector) = (Home::with(ROOT_TREE), Collector::new());
    let here = ("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{}", collector.address));
    for (variables, word) in [
        (vec![], ""),
        (vec![("OTEL_EXPORTER_OTLP_ENDPOINT", String::new())], ""),
        (vec![("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf".to_owned())], ""),
        (vec![here.clone(), ("OTEL_SDK_DISABLED", "true".to_owned())], ""),
        (
            vec![here.clone(), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc".to_owned())],
            "OTEL_EXPORTER_OTLP_PROTOCOL asks for something else than `http/protobuf`",
        ),
        (vec![("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a b/".to_owned())], "is no URL"),
        (vec![("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318".to_owned())], "`http://`"),
    ] {
        let mut command = server(&home);
        command.envs(SOON).envs(variables.clone());
        let mut client = Client::legacy(command, "2025-11-25");
        client.call("get_skill", &json!({"skill_path": "api/auth"}));
        assert_eq!((senders(&client), connections(&client)), (0, 0), "{variables:?}");
        let (status, _, log) = client.close();
        assert_eq!(status.code(), Some(0), "{log}");
        assert!(!log.contains("telemetry is sent") && log.contains(word), "{variables:?}: {log}");
    }
    assert_eq!(collector.connections.load(Ordering::SeqCst), 0);

    // The same looks see both where there is an endpoint, or they would prove nothing.
    let mut command = server(&home);
    command.envs(SOON).envs([here]);
    let mut client = Client::legacy(command, "2025-11-25");
    client.call("get_skill", &json!({"skill_path": "api/auth"}));
    sends_by(&client, 2);
    eventually("connections", || (connections(&client) > 0).then_some(()));
}

#[test]
fn spans_alone_are_sent_where_only_they_have_an_endpoint() {
    let (home, collector) = (Home::with(ROOT_TREE), Collector::new());
    let mut command = server(&home);
    let place = format!("http://{}/some/place", collector.address);
    command.envs(SOON).env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", place);
    let mut client = Client::legacy(command, "2025-11-25");
    client.call("get_skill", &json!({"skill_path": "api/auth"}));
    sends_by(&client, 1);
    let arrived = || (!collector.bodies("/some/place").is_empty()).then_some(());
    eventually("spans, at the very address", arrived);
    drop(client);
    assert!(collector.bodies("/v1/metrics").is_empty());
}

#[test]
fn the_standard_variables_for_names_and_samples_count() {
    let (home, collector) = (Home::with(ROOT_TREE), Collector::new());
    let mut command = collector.watch(server(&home));
    command.env("OTEL_SERVICE_NAME", "another").env("OTEL_TRACES_SAMPLER", "always_off");
    let mut client = Client::legacy(command, "2025-11-25");
    client.call("get_skill", &json!({"skill_path": "api/auth"}));
    let counted = || (collector.counted("skills.served", &[]) == 1).then_some(());
    eventually("a skill in the metrics", counted);
    let body = collector.bodies("/v1/metrics").pop().unwrap();
    let body = ExportMetricsServiceRequest::decode(&*body.body).unwrap();
    let resource = attributes(&body.resource_metrics[0].resource.clone().unwrap().attributes);
    assert_eq!(resource["service.name"], "another");
    client.close();
    assert_eq!(collector.spans(), []);
}

#[test]
fn an_endpoint_that_is_dead_delays_no_answer_and_no_end() {
    let home = Home::with(ROOT_TREE);
    // One takes connections and never answers, at the other no server listens.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let calls = |client: &mut Client| {
        let started = Instant::now();
        for _ in 0..300 {
            client.call("get_skill", &json!({"skill_path": "api/auth"}));
        }
        started.elapsed()
    };
    let usual = calls(&mut Client::legacy(server(&home), "2025-11-25"));
    for (address, word) in [(silent.local_addr().unwrap(), ""), (closed, "cannot be sent")] {
        let mut command = server(&home);
        command
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{address}"))
            .envs(SOON)
            .env("OTEL_BSP_MAX_QUEUE_SIZE", "8")
            .env("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "4");
        let mut client = Client::legacy(command, "2025-11-25");
        let took = calls(&mut client);
        // A single request to the one that never answers is given ten seconds.
        assert!(took < usual * 5 + PROMPT_TIMEOUT, "{took:?}, not {usual:?}");
        sends_by(&client, 2);
        let (status, took, log) = client.close();
        assert_eq!(status.code(), Some(0), "{log}");
        assert!(took < PROMPT_TIMEOUT, "{took:?}");
        assert!(log.contains(word), "{log}");
        let times = log.matches("spans cannot be sent").count();
        assert!(times <= 1, "said once: {log}");
    }
}

#[test]
fn what_is_not_sent_yet_is_sent_on_leaving() {
    let (home, collector) = (Home::with(ROOT_TREE), Collector::new());
    // Leaving waits only a moment, and on a busy machine that may pass in vain.
    let sent = (0..5).any(|_| {
        let mut command = collector.watch(server(&home));
        for (name, _) in SOON {
            command.env_remove(name);
        }
        let mut client = Client::legacy(command, "2025-11-25");
        client.call("get_skill", &json!({"skill_path": "api/auth"}));
        let (status, took, log) = client.close();
        assert_eq!(status.code(), Some(0), "{log}");
        assert!(took < PROMPT_TIMEOUT, "{took:?}");
        let names: Vec<String> = collector.spans().into_iter().map(|span| span.name).collect();
        names.contains(&"tools/call get_skill".to_owned())
            && collector.metric("mcp.server.session.duration").is_some()
    });
    assert!(sent);
}
