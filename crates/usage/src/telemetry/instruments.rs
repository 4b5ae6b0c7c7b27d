//! The metrics: their names, units and buckets, and what each event adds to which.

use std::sync::Arc;

use opentelemetry::{
    KeyValue,
    metrics::{Counter, Histogram, Meter},
};

use super::OTHER_LABEL;
use crate::{
    event::{Event, RecordedEvent},
    served::ServedCatalog,
};

/// The buckets of the conventions, in seconds.
const SECONDS_BUCKETS: &[f64] =
    &[0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];
/// Most answers fall into the first of those, so there are finer ones, from 50 µs to 100 ms.
const FINE_SECONDS_BUCKETS: &[f64] =
    &[0.000_05, 0.000_1, 0.000_2, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1];

/// The metrics.
#[derive(Debug)]
pub(super) struct Instruments {
    operations: [Histogram<f64>; 2],
    sessions: Histogram<f64>,
    served: Counter<u64>,
    no_match: Counter<u64>,
    feedback: Counter<u64>,
    scripts: Counter<u64>,
    catalog: Arc<dyn ServedCatalog>,
}

impl Instruments {
    /// The metrics of this meter; two of them look at the store whenever they are read.
    pub(super) fn new(meter: &Meter, catalog: &Arc<dyn ServedCatalog>) -> Self {
        let seconds = |name, about, buckets: &[f64]| {
            let named = meter.f64_histogram(name).with_description(about).with_unit("s");
            named.with_boundaries(buckets.to_vec()).build()
        };
        let counter = |name, about, unit| {
            meter.u64_counter(name).with_description(about).with_unit(unit).build()
        };
        let took = "from a request to its answer";
        let lasted = "from the start of the server to its end";
        observe_catalog(meter, catalog);
        Self {
            operations: [
                seconds("mcp.server.operation.duration", took, SECONDS_BUCKETS),
                seconds("skills.operation.duration", took, FINE_SECONDS_BUCKETS),
            ],
            sessions: seconds("mcp.server.session.duration", lasted, SECONDS_BUCKETS),
            served: counter("skills.served", "skills served", "{skill}"),
            no_match: counter("skills.no_match", "requests that no skill fits", "{request}"),
            feedback: counter("skills.feedback", "reports of use", "{report}"),
            scripts: counter("skills.script.runs", "scripts run", "{run}"),
            catalog: Arc::clone(catalog),
        }
    }

    /// A request was answered.
    pub(super) fn answered(&self, seconds: f64, labels: &[KeyValue]) {
        self.operations.iter().for_each(|histogram| histogram.record(seconds, labels));
    }

    /// The client left.
    pub(super) fn ended(&self, seconds: f64, labels: &[KeyValue]) {
        self.sessions.record(seconds, labels);
    }

    /// Counts an event; returns the attributes that it adds to the request's span.
    pub(super) fn record(&self, recorded: &RecordedEvent) -> Vec<KeyValue> {
        let mut attributes =
            recorded.event.skill().map(|skill| self.place(skill)).unwrap_or_default();
        match &recorded.event {
            Event::SkillServed(served) => {
                self.served.add(1, &attributes);
                attributes
                    .extend(served.score.map(|score| KeyValue::new("skills.match.score", score)));
                attributes.push(KeyValue::new("skills.match.ambiguous", served.was_ambiguous));
                let tokens = i64::try_from(served.content_length_tokens).unwrap_or(i64::MAX);
                attributes.push(KeyValue::new("skills.tokens", tokens));
            }
            Event::NoMatch(_) => self.no_match.add(1, &[]),
            Event::Ambiguous(_) => attributes.push(KeyValue::new("skills.match.ambiguous", true)),
            Event::SkillFeedback(feedback) => {
                let mut labels = attributes.clone();
                labels.push(KeyValue::new("skills.useful", feedback.useful));
                self.feedback.add(1, &labels);
            }
            // Where there is no exit code it was refused, and nothing ran.
            Event::ScriptExecuted(script) if script.exit_code.is_some() => {
                let mut labels = attributes.clone();
                labels.push(KeyValue::new("skills.success", script.success));
                self.scripts.add(1, &labels);
            }
            Event::ScriptExecuted(_)
            | Event::SkillSearched(_)
            | Event::AssetServed(_)
            | Event::Refresh(_) => {}
        }
        let commit = recorded.skill_commit.clone();
        attributes.extend(commit.map(|commit| KeyValue::new("skills.commit", commit)));
        attributes
    }

    /// A skill as the catalog has it. An event may name one that there is not.
    fn place(&self, skill: &str) -> Vec<KeyValue> {
        let current = self.catalog.current();
        let catalog = current.as_ref().map(|current| current.catalog());
        let Some((catalog, skill)) =
            catalog.and_then(|catalog| Some((catalog, catalog.find(skill)?)))
        else {
            return vec![KeyValue::new("skills.path", OTHER_LABEL)];
        };
        let mut attributes = vec![KeyValue::new("skills.path", Arc::clone(&skill.identity))];
        let source = catalog.sources().get(skill.source);
        attributes.extend(source.map(|at| KeyValue::new("skills.source", Arc::clone(&at.name))));
        attributes
    }
}

/// Metrics that are read from the catalog when they are exported.
fn observe_catalog(meter: &Meter, catalog: &Arc<dyn ServedCatalog>) {
    let of = Arc::clone(catalog);
    let size = meter.u64_observable_gauge("skills.index.size").with_unit("{skill}");
    size.with_description("skills that are known")
        .with_callback(move |gauge| {
            if let Some(current) = of.current() {
                gauge.observe(current.catalog().len() as u64, &[]);
            }
        })
        .build();
    let of = Arc::clone(catalog);
    let lag = meter.f64_observable_gauge("skills.sync.lag").with_unit("s");
    lag.with_description("since a repository was last request with success")
        .with_callback(move |gauge| {
            for (source, age) in of.sync_ages() {
                gauge.observe(age.as_secs_f64(), &[KeyValue::new("skills.source", source)]);
            }
        })
        .build();
}
