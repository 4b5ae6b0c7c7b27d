//! Events as a team makes them, by chance and always the same. Tests and benchmarks share it.

use serde_json::{Value, json};
use skills_testkit::events::Events;
use skills_usage::{archive::Period, clock};

/// A day, in milliseconds.
pub(crate) const DAY: i64 = 24 * 60 * 60 * 1_000;

/// Where events come from.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) Events);

impl Usage {
    /// Chance that starts here.
    pub(crate) fn new(seed: u64) -> Self {
        Self(Events::new(seed, 0, 0, 0))
    }

    /// An event of this moment. A skill without a request was loaded by its name.
    pub(crate) fn event(&mut self, at: i64) -> Value {
        let line = self.0.line_at(u64::try_from(at).unwrap());
        let mut event: Value = serde_json::from_str(&line).unwrap();
        let is_null = |at: &str| event.pointer(at).is_some_and(Value::is_null);
        if is_null("/data/context") && event.pointer("/data/skill_path").is_some() {
            event.as_object_mut().unwrap().insert("tool".to_owned(), json!("skill"));
        }
        event
    }
}

/// A batch as SEND-2 has it.
pub(crate) fn batch(events: &[Value]) -> String {
    json!({"events": events}).to_string()
}

/// So many days until now.
pub(crate) fn until_now(days: u64) -> Period {
    Period::last(days, now().div_euclid(DAY))
}

/// This moment, in milliseconds since 1970 began.
pub(crate) fn now() -> i64 {
    i64::try_from(clock::since_epoch().as_millis()).unwrap()
}
