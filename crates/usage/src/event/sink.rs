//! [`Sink`]: where events go, and the only place that sees a request's text before it is cut down to what is kept.

use std::{fmt, sync::Arc, time::Instant};

use skills_core::route::{MAX_REQUEST_CHARS, tokenize};

use super::{Event, RecordedEvent, SkillVersion};
use crate::clock;

/// A client chooses its name, so it may be any text.
const MAX_CLIENT_NAME_CHARS: usize = 64;

/// How much of a request's text is kept: `analytics.context`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KeptContext {
    /// All of it.
    #[default]
    Full,
    /// Its words, without their order: each once, those that say nothing left out.
    Tokens,
    /// Nothing.
    Off,
}

impl KeptContext {
    /// By its word; an unknown one keeps nothing.
    pub fn of(word: &str) -> Self {
        match word {
            "full" => Self::Full,
            "tokens" => Self::Tokens,
            _ => Self::Off,
        }
    }

    fn keep(self, text: &str) -> Option<String> {
        let text = text
            .char_indices()
            .nth(MAX_REQUEST_CHARS)
            .map_or(text, |(end, _)| text.get(..end).unwrap_or_default());
        match self {
            Self::Full => Some(text.to_owned()),
            Self::Tokens => {
                let mut tokens = tokenize(text);
                tokens.sort_unstable();
                Some(tokens.join(" ")).filter(|tokens| !tokens.is_empty())
            }
            Self::Off => None,
        }
    }
}

/// The call that events are recorded for.
#[derive(Debug, Clone)]
pub struct CallContext {
    tool: Arc<str>,
    client_name: Option<Arc<str>>,
    client_version: Option<Arc<str>>,
    started: Instant,
    kept: KeptContext,
}

impl CallContext {
    /// A call of this tool that came in at this moment, by a client of this name and version where it says so.
    pub fn new(
        tool: &str,
        client: Option<(&str, &str)>,
        started: Instant,
        kept: KeptContext,
    ) -> Self {
        Self {
            tool: tool.into(),
            client_name: client.and_then(|(name, _)| short(name)),
            client_version: client.and_then(|(_, version)| short(version)),
            started,
            kept,
        }
    }
}

/// A name or version that a client gave, without control characters; none where nothing is left.
fn short(name: &str) -> Option<Arc<str>> {
    let visible = name.chars().filter(|c| !c.is_control()).take(MAX_CLIENT_NAME_CHARS);
    let visible: String = visible.collect();
    Some(visible.trim()).filter(|visible| !visible.is_empty()).map(Arc::from)
}

/// An event, and which state of a skill it is about.
#[derive(Debug, Clone, PartialEq)]
pub struct VersionedEvent {
    pub(super) event: Event,
    pub(super) version: SkillVersion,
}

impl From<Event> for VersionedEvent {
    /// An event that is about no skill.
    fn from(event: Event) -> Self {
        event.about(SkillVersion::default())
    }
}

/// Where events go. Cheap to clone; recording never blocks and never fails.
#[derive(Clone, Default)]
pub struct Sink {
    listener: Option<Arc<Listener>>,
    context: Option<Arc<CallContext>>,
}

struct Listener {
    server_id: Arc<str>,
    server_version: Arc<str>,
    listen: Box<dyn Fn(RecordedEvent) + Send + Sync>,
}

impl Sink {
    /// A sink that drops events.
    pub fn silent() -> Self {
        Self::default()
    }

    /// The sink of a server with this id, of a program of this version, with a listener, which must not block.
    pub fn new(
        server_id: impl Into<Arc<str>>,
        server_version: &str,
        listen: impl Fn(RecordedEvent) + Send + Sync + 'static,
    ) -> Self {
        let listener = Listener {
            server_id: server_id.into(),
            server_version: server_version.into(),
            listen: Box::new(listen),
        };
        Self { listener: Some(Arc::new(listener)), context: None }
    }

    /// The same sink for one call, whose context is made only if there is a listener.
    #[must_use]
    pub fn for_call(&self, context: impl FnOnce() -> CallContext) -> Self {
        let context = self.listener.as_ref().map(|_| Arc::new(context()));
        Self { listener: self.listener.clone(), context }
    }

    /// Records an event, which is made only if there is a listener.
    pub fn record<T: Into<VersionedEvent>>(&self, event: impl FnOnce() -> T) {
        let Some(listener) = &self.listener else { return };
        let VersionedEvent { mut event, version } = event().into();
        let context = self.context.as_deref();
        if let Some(text) = event.context_mut() {
            let kept = context.map(|context| context.kept).unwrap_or_default();
            *text = text.take().and_then(|text| kept.keep(&text));
        }
        let micros = |context: &CallContext| context.started.elapsed().as_micros();
        (listener.listen)(RecordedEvent {
            event,
            timestamp: clock::timestamp(),
            server_id: Arc::clone(&listener.server_id),
            server_version: Some(Arc::clone(&listener.server_version)),
            event_id: clock::event_id(),
            tool: context.map(|context| Arc::clone(&context.tool)),
            client_name: context.and_then(|context| context.client_name.clone()),
            client_version: context.and_then(|context| context.client_version.clone()),
            skill_digest: version.digest,
            skill_commit: version.commit,
            latency_us: context.map(|context| u64::try_from(micros(context)).unwrap_or(u64::MAX)),
        });
    }
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.listener.is_some() { "Sink(listening)" } else { "Sink(silent)" })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::event::{NoMatch, SkillFeedback};

    fn missed(context: &str) -> Event {
        Event::NoMatch(NoMatch { context: Some(context.to_owned()), ..NoMatch::default() })
    }

    /// What a listener receives of one event of this call.
    fn heard(context: CallContext, event: impl Into<VersionedEvent>) -> RecordedEvent {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let listener = Arc::clone(&heard);
        let sink = Sink::new("dev-ada", "1.2.3", move |event| listener.lock().unwrap().push(event));
        sink.for_call(|| context).record(|| event);
        let mut heard = heard.lock().unwrap();
        assert_eq!(heard.len(), 1);
        heard.remove(0)
    }

    #[test]
    fn without_a_listener_no_event_is_made() {
        let silent = Sink::silent().for_call(|| panic!("no listener asked for the call"));
        silent.record(|| -> Event { panic!("no listener asked for the event") });
        silent.clone().record(|| -> VersionedEvent { panic!("no listener asked for the event") });
        assert!(silent.listener.is_none() && silent.context.is_none());
    }

    #[test]
    fn an_event_says_for_whom_how_fast_and_about_what() {
        let started = Instant::now();
        let context =
            CallContext::new("get_skill", Some(("codex", "2.1")), started, KeptContext::Full);
        let version = SkillVersion {
            digest: Some("sha256:ab".to_owned()),
            commit: Some("c0ffee".to_owned()),
        };
        let event = Event::SkillFeedback(SkillFeedback::default()).about(version);
        let heard = heard(context, event);
        assert_eq!(
            [heard.tool.as_deref(), heard.client_name.as_deref(), heard.client_version.as_deref()],
            [Some("get_skill"), Some("codex"), Some("2.1")]
        );
        assert_eq!(heard.server_version.as_deref(), Some("1.2.3"));
        assert_eq!(heard.skill_digest.as_deref(), Some("sha256:ab"));
        assert_eq!(heard.skill_commit.as_deref(), Some("c0ffee"));
        let most = u64::try_from(started.elapsed().as_micros()).unwrap();
        assert!(heard.latency_us.unwrap() <= most);
    }

    #[test]
    fn a_client_is_called_by_what_can_be_shown_of_its_name() {
        let long = "x".repeat(1_000);
        let client = Some(("evil\u{1b}[31m\r\n client\u{0}", long.as_str()));
        let context = CallContext::new("skill", client, Instant::now(), KeptContext::Full);
        assert_eq!(context.client_name.as_deref(), Some("evil[31m client"));
        assert_eq!(context.client_version.as_deref().map(str::len), Some(64));
        let nameless =
            CallContext::new("skill", Some(("\n", " ")), Instant::now(), KeptContext::Full);
        assert_eq!((nameless.client_name, nameless.client_version), (None, None));
    }

    #[test]
    fn b09_of_a_request_only_what_was_asked_for_is_kept() {
        let kept = |kept, text: &str| {
            let context = CallContext::new("get_skill", None, Instant::now(), kept);
            heard(context, missed(text)).event.context().map(str::to_owned)
        };
        let request = "Réparer the LOGIN, then the login for Ada";
        assert_eq!(kept(KeptContext::Full, request).as_deref(), Some(request));
        assert_eq!(kept(KeptContext::Tokens, request).as_deref(), Some("ada login réparer"));
        assert_eq!(kept(KeptContext::Tokens, "of the"), None);
        assert_eq!(kept(KeptContext::Off, request), None);
        assert_eq!(KeptContext::of("anything else"), KeptContext::Off);
        let long = kept(KeptContext::Full, &"é".repeat(1_000_000)).unwrap();
        assert_eq!(long.chars().count(), MAX_REQUEST_CHARS);
    }
}
