//! [`Sink`]: where events go, and the only place that sees a request's text before it is cut down to what is kept.

use std::{fmt, sync::Arc, time::Instant};

use skills_core::route::tokenize;

use super::{Event, Recorded, Version};
use crate::clock;

/// No longer request is looked at, and no more of one is kept.
const MAX_CONTEXT_CHARS: usize = 20_000;
/// Clients say what they are called, so it may be anything.
const MAX_NAME_CHARS: usize = 64;

/// How much of a request's text is kept: `analytics.context`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Kept {
    /// All of it.
    #[default]
    Full,
    /// Its words, without their order: each once, those that say nothing left out.
    Tokens,
    /// Nothing.
    Off,
}

impl Kept {
    /// By its word; one that nobody knows keeps nothing.
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
            .nth(MAX_CONTEXT_CHARS)
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

/// For which call events are told.
#[derive(Debug, Clone)]
pub struct Behalf {
    tool: Arc<str>,
    client_name: Option<Arc<str>>,
    client_version: Option<Arc<str>>,
    started: Instant,
    kept: Kept,
}

impl Behalf {
    /// A call of this tool that came in at this moment, by a client of this name and version where it says so.
    pub fn new(tool: &str, client: Option<(&str, &str)>, started: Instant, kept: Kept) -> Self {
        Self {
            tool: tool.into(),
            client_name: client.and_then(|(name, _)| short(name)),
            client_version: client.and_then(|(_, version)| short(version)),
            started,
            kept,
        }
    }
}

/// What a client says of itself, fit to be counted by; nothing where nothing is left.
fn short(name: &str) -> Option<Arc<str>> {
    let visible = name.chars().filter(|c| !c.is_control()).take(MAX_NAME_CHARS);
    let visible: String = visible.collect();
    Some(visible.trim()).filter(|visible| !visible.is_empty()).map(Arc::from)
}

/// An event, and which state of a skill it is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    pub(super) event: Event,
    pub(super) version: Version,
}

impl From<Event> for Told {
    /// An event that is about no skill.
    fn from(event: Event) -> Self {
        event.about(Version::default())
    }
}

/// Where events go. Cheap to clone; telling it never blocks and never fails.
#[derive(Clone, Default)]
pub struct Sink {
    listener: Option<Arc<Listener>>,
    behalf: Option<Arc<Behalf>>,
}

struct Listener {
    server_id: Arc<str>,
    listen: Box<dyn Fn(Recorded) + Send + Sync>,
}

impl Sink {
    /// A sink nobody listens to.
    pub fn silent() -> Self {
        Self::default()
    }

    /// A sink with a listener, which must not block.
    pub fn new(
        server_id: impl Into<Arc<str>>,
        listen: impl Fn(Recorded) + Send + Sync + 'static,
    ) -> Self {
        let listener = Listener { server_id: server_id.into(), listen: Box::new(listen) };
        Self { listener: Some(Arc::new(listener)), behalf: None }
    }

    /// The same sink for one call, which is looked at only where somebody listens.
    #[must_use]
    pub fn on_behalf(&self, of: impl FnOnce() -> Behalf) -> Self {
        let behalf = self.listener.as_ref().map(|_| Arc::new(of()));
        Self { listener: self.listener.clone(), behalf }
    }

    /// Tells what happened; `told` is made only where somebody listens.
    pub fn tell<T: Into<Told>>(&self, told: impl FnOnce() -> T) {
        let Some(listener) = &self.listener else { return };
        let Told { mut event, version } = told().into();
        let behalf = self.behalf.as_deref();
        if let Some(context) = event.context_mut() {
            let kept = behalf.map(|behalf| behalf.kept).unwrap_or_default();
            *context = context.take().and_then(|text| kept.keep(&text));
        }
        let micros = |behalf: &Behalf| behalf.started.elapsed().as_micros();
        (listener.listen)(Recorded {
            event,
            timestamp: clock::timestamp(),
            server_id: Arc::clone(&listener.server_id),
            event_id: clock::event_id(),
            tool: behalf.map(|behalf| Arc::clone(&behalf.tool)),
            client_name: behalf.and_then(|behalf| behalf.client_name.clone()),
            client_version: behalf.and_then(|behalf| behalf.client_version.clone()),
            skill_digest: version.digest,
            skill_commit: version.commit,
            latency_us: behalf.map(|behalf| u64::try_from(micros(behalf)).unwrap_or(u64::MAX)),
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

    /// What a listener hears of one event that is told on behalf of this call.
    fn heard(behalf: Behalf, told: impl Into<Told>) -> Recorded {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let listener = Arc::clone(&heard);
        let sink = Sink::new("dev-ada", move |event| listener.lock().unwrap().push(event));
        sink.on_behalf(|| behalf).tell(|| told);
        let mut heard = heard.lock().unwrap();
        assert_eq!(heard.len(), 1);
        heard.remove(0)
    }

    #[test]
    fn where_nobody_listens_nothing_is_made() {
        let silent = Sink::silent().on_behalf(|| panic!("nobody asked for whom"));
        silent.tell(|| -> Event { panic!("nobody asked what") });
        silent.clone().tell(|| -> Told { panic!("nobody asked what") });
        assert!(silent.listener.is_none() && silent.behalf.is_none());
    }

    #[test]
    fn an_event_says_for_whom_how_fast_and_about_what() {
        let started = Instant::now();
        let behalf = Behalf::new("get_skill", Some(("codex", "2.1")), started, Kept::Full);
        let version =
            Version { digest: Some("sha256:ab".to_owned()), commit: Some("c0ffee".to_owned()) };
        let told = Event::SkillFeedback(SkillFeedback::default()).about(version);
        let heard = heard(behalf, told);
        assert_eq!(
            [heard.tool.as_deref(), heard.client_name.as_deref(), heard.client_version.as_deref()],
            [Some("get_skill"), Some("codex"), Some("2.1")]
        );
        assert_eq!(heard.skill_digest.as_deref(), Some("sha256:ab"));
        assert_eq!(heard.skill_commit.as_deref(), Some("c0ffee"));
        let most = u64::try_from(started.elapsed().as_micros()).unwrap();
        assert!(heard.latency_us.unwrap() <= most);
    }

    #[test]
    fn a_client_is_called_by_what_can_be_shown_of_its_name() {
        let long = "x".repeat(1_000);
        let client = Some(("evil\u{1b}[31m\r\n client\u{0}", long.as_str()));
        let behalf = Behalf::new("skill", client, Instant::now(), Kept::Full);
        assert_eq!(behalf.client_name.as_deref(), Some("evil[31m client"));
        assert_eq!(behalf.client_version.as_deref().map(str::len), Some(64));
        let nameless = Behalf::new("skill", Some(("\n", " ")), Instant::now(), Kept::Full);
        assert_eq!((nameless.client_name, nameless.client_version), (None, None));
    }

    #[test]
    fn b09_of_a_request_only_what_was_asked_for_is_kept() {
        let kept = |kept, text: &str| {
            let behalf = Behalf::new("get_skill", None, Instant::now(), kept);
            heard(behalf, missed(text)).event.context().map(str::to_owned)
        };
        let request = "Réparer the LOGIN, then the login for Ada";
        assert_eq!(kept(Kept::Full, request).as_deref(), Some(request));
        assert_eq!(kept(Kept::Tokens, request).as_deref(), Some("ada login réparer"));
        assert_eq!(kept(Kept::Tokens, "of the"), None);
        assert_eq!(kept(Kept::Off, request), None);
        assert_eq!(Kept::of("anything else"), Kept::Off);
        let long = kept(Kept::Full, &"é".repeat(1_000_000)).unwrap();
        assert_eq!(long.chars().count(), MAX_CONTEXT_CHARS);
    }
}
