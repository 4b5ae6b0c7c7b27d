//! [`Recorder`]: takes events from the server, which never waits for it.
//!
//! An event goes into a queue with an end; one that finds it full is dropped and counted. One thread writes what is in
//! it, another sends what is written. Neither is there before the first event, unless others left some to be sent:
//! without analytics there is no thread, no file and no socket. The thread that writes also counts feedback, and warns
//! of a skill that is called useless again and again. Not here: what is written (`journal`), and what is sent (`sender`).

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError},
    },
    thread,
    time::{Duration, Instant},
};

use crate::{
    event::{Event, RecordedEvent, USELESS_STREAK},
    journal::{JournalFolder, JournalWriter, Losses, Streaks},
    sender::{Endpoint, ReadToken, Round, Sender},
    settings::Analytics,
};

/// So many events may wait to be written.
const MAX_QUEUED_EVENTS: usize = 4096;
/// So many are written at once.
const MAX_WRITTEN_EVENTS: usize = 256;
/// What was written is made to survive a power cut this often.
const SYNC_INTERVAL: Duration = Duration::from_secs(1);
/// At the end, so long is waited for the disk. What is only in memory then is lost, so it is longer than sending may
/// take, and shorter than clients wait before they kill a server (two seconds for the signal, two more for the kill).
const WRITE_TIMEOUT: Duration = Duration::from_secs(2);

/// Between two tries for the queue or for the turn to send.
const RETRY_PAUSE: Duration = Duration::from_millis(5);

/// Takes events. Clones are the same.
#[derive(Clone)]
pub struct Recorder(Arc<RecorderState>);

struct RecorderState {
    home: Option<PathBuf>,
    token: ReadToken,
    settings: Box<dyn Fn() -> Option<Analytics> + Send + Sync>,
    /// How many found the queue full.
    missed: Arc<AtomicU64>,
    queue: OnceLock<Option<SyncSender<RecorderMessage>>>,
}

enum RecorderMessage {
    /// Others left events that are to be sent as this says.
    Left(Analytics),
    /// An event, and what was settled when it happened.
    Event(Box<RecordedEvent>, Analytics),
    /// What holds from now on, with or without an event.
    Settings(Analytics),
    /// No more will come; the answer is the way to the sender, if there is one.
    Close(mpsc::Sender<Option<SenderThread>>),
}

impl Recorder {
    /// A recorder that keeps events in this home, as the settings of their moment say.
    pub fn new(
        home: Option<&Path>,
        token: ReadToken,
        settings: impl Fn() -> Option<Analytics> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(RecorderState {
            home: home.map(Path::to_owned),
            token,
            settings: Box::new(settings),
            missed: Arc::default(),
            queue: OnceLock::new(),
        }))
    }

    /// Takes an event. Never waits.
    pub fn take(&self, recorded: RecordedEvent) {
        let Some(settings) = (self.0.settings)() else { return };
        let queue = self.0.queue.get_or_init(|| self.start());
        let message = RecorderMessage::Event(Box::new(recorded), settings);
        if queue.as_ref().is_none_or(|queue| queue.try_send(message).is_err()) {
            self.0.missed.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Sends what others have left unsent, without waiting for an event. It reads a folder, and so may
    /// block.
    pub fn send_left(&self) {
        let settings = (self.0.settings)().filter(|settings| settings.enabled);
        let Some(settings) = settings.filter(|settings| settings.endpoint.is_some()) else {
            return;
        };
        let folder = self.0.home.as_deref().map(|home| JournalFolder::new(home).to(&settings));
        if folder.is_none_or(|folder| folder.unsent() == 0) {
            return;
        }
        if let Some(queue) = self.0.queue.get_or_init(|| self.start()) {
            // Where the queue is full there are events, and then it is sent with them.
            let _ = queue.try_send(RecorderMessage::Left(settings));
        }
    }

    /// Has what is unsent go where the settings of this moment say, or stay where they say nothing: an endpoint that content
    /// may not name any more gets nothing more.
    pub fn settings_changed(&self) {
        if let (Some(Some(queue)), Some(settings)) = (self.0.queue.get(), (self.0.settings)()) {
            // Where the queue is full there are events, which bring their own.
            let _ = queue.try_send(RecorderMessage::Settings(settings));
        }
    }

    fn start(&self) -> Option<SyncSender<RecorderMessage>> {
        let (queue, messages) = mpsc::sync_channel(MAX_QUEUED_EVENTS);
        let (home, token) = (self.0.home.clone(), self.0.token);
        let missed = Arc::clone(&self.0.missed);
        let started = thread::Builder::new().name("journal".to_owned()).spawn(move || {
            let writer = JournalWriter::new(home.as_deref());
            let folder = home.as_deref().map(JournalFolder::new);
            let streaks = Streaks::default();
            JournalThread { writer, folder, token, streaks, missed, sender: None, own: false }
                .run(&messages);
        });
        let failed = |error| tracing::warn!("analytics: events are dropped: no thread: {error}");
        started.map_err(failed).ok().map(|_| queue)
    }

    /// Writes what was taken, and sends what there is until then. Writing has its own time: what is on disk will be sent
    /// by another process, what is not is lost.
    pub fn close(&self, sent_until: Instant) {
        let Some(Some(queue)) = self.0.queue.get() else { return };
        let written_until = Instant::now() + WRITE_TIMEOUT;
        let (answer, answered) = mpsc::channel();
        let mut message = RecorderMessage::Close(answer);
        while let Err(TrySendError::Full(back)) = queue.try_send(message) {
            if Instant::now() >= written_until {
                tracing::warn!("analytics: left before all events were written");
                return;
            }
            message = back;
            thread::sleep(RETRY_PAUSE);
        }
        let left = || written_until.saturating_duration_since(Instant::now());
        match answered.recv_timeout(left()) {
            Ok(Some(sender)) => sender.last_round(sent_until),
            Ok(None) | Err(RecvTimeoutError::Disconnected) => {}
            Err(RecvTimeoutError::Timeout) => {
                tracing::warn!("analytics: left before all events were written");
                return;
            }
        }
        // Nothing more comes: the thread that writes ends once what it wrote survives a power cut.
        let _ = answered.recv_timeout(left());
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("home", &self.0.home).finish_non_exhaustive()
    }
}

/// The thread that writes.
struct JournalThread {
    writer: JournalWriter,
    folder: Option<JournalFolder>,
    token: ReadToken,
    streaks: Streaks,
    missed: Arc<AtomicU64>,
    sender: Option<SenderThread>,
    /// Whether this process recorded an event: its end waits only for those.
    own: bool,
}

impl JournalThread {
    fn run(mut self, messages: &Receiver<RecorderMessage>) {
        let mut settled = Instant::now();
        loop {
            let first = if self.writer.is_unsettled() {
                match messages.recv_timeout(SYNC_INTERVAL.saturating_sub(settled.elapsed())) {
                    Ok(message) => Some(message),
                    Err(RecvTimeoutError::Timeout) => None,
                    Err(RecvTimeoutError::Disconnected) => return self.settle(),
                }
            } else {
                match messages.recv() {
                    Ok(message) => Some(message),
                    Err(_) => return,
                }
            };
            let more = first.into_iter().chain(messages.try_iter()).take(MAX_WRITTEN_EVENTS);
            let closed = self.write(more.collect());
            if let Some(answer) = closed {
                // Sending does not wait for the disk to settle. The one who closes may have given up.
                let _ = answer.send(self.sender.take().filter(|_| self.own));
                self.settle();
                self.log_losses();
                return;
            }
            if settled.elapsed() >= SYNC_INTERVAL {
                self.settle();
                settled = Instant::now();
            }
        }
    }

    /// Logs what was lost and is in no file.
    fn log_losses(&self) {
        let Losses { dropped, unkept } = self.writer.unrecorded();
        if dropped > 0 {
            tracing::warn!(dropped, "analytics: events were dropped, and no file counts them");
        }
        if unkept > 0 {
            tracing::warn!(
                unkept,
                "analytics: events are missing in the history, and no file counts them"
            );
        }
    }

    /// Writes these, those under the same settings together; who waits for the end, if it has come.
    fn write(
        &mut self,
        messages: Vec<RecorderMessage>,
    ) -> Option<mpsc::Sender<Option<SenderThread>>> {
        let mut together: Vec<RecordedEvent> = Vec::new();
        let mut under: Option<Analytics> = None;
        let mut closed = None;
        for message in messages {
            match message {
                RecorderMessage::Event(recorded, settings) => {
                    if under.as_ref().is_some_and(|under| *under != settings) {
                        self.put(&std::mem::take(&mut together), under.as_ref());
                    }
                    under = Some(settings);
                    together.push(*recorded);
                }
                RecorderMessage::Left(settings) => self.send(&settings),
                RecorderMessage::Settings(mut settings) => {
                    self.put(&std::mem::take(&mut together), under.as_ref());
                    settings.endpoint = settings.endpoint.filter(|_| settings.enabled);
                    if let Some(sender) = &self.sender {
                        sender.update(&settings);
                    }
                }
                RecorderMessage::Close(answer) => closed = Some(answer),
            }
        }
        self.put(&together, under.as_ref());
        closed
    }

    fn put(&mut self, events: &[RecordedEvent], settings: Option<&Analytics>) {
        let (Some(settings), false) = (settings, events.is_empty()) else { return };
        self.own = true;
        self.writer.write(events, settings);
        self.send(settings);
        for recorded in events {
            if let Event::SkillFeedback(feedback) = &recorded.event {
                self.rated(&feedback.skill_path, feedback.useful);
            }
        }
    }

    /// Counts feedback on a skill, that of other processes included, and warns where it is useless again and again.
    fn rated(&mut self, skill: &str, useful: bool) {
        let in_a_row = self.streaks.rated(self.folder.as_ref(), skill, useful);
        if in_a_row >= USELESS_STREAK {
            tracing::warn!(
                skill,
                in_a_row,
                "reported as not useful several times in a row; its author should check it"
            );
        }
    }

    /// Sees to it that what is unsent is sent as these say.
    fn send(&mut self, settings: &Analytics) {
        if let (Some(folder), Some(_)) = (&self.folder, &settings.endpoint) {
            let start = || SenderThread::start(folder.clone(), self.token, settings);
            self.sender.get_or_insert_with(start).update(settings);
        }
    }

    fn settle(&mut self) {
        let missed = self.missed.swap(0, Ordering::Relaxed);
        if missed > 0 {
            tracing::warn!(
                missed,
                "analytics: events came faster than the disk takes them and were dropped"
            );
            self.writer.count_dropped(missed);
        }
        self.writer.settle();
    }
}

/// The thread that sends, and what it should know.
struct SenderThread {
    settings: Arc<Mutex<Analytics>>,
    /// Asks for the last round; the sender inside is answered when it is over.
    end: mpsc::Sender<mpsc::Sender<()>>,
}

impl SenderThread {
    fn start(folder: JournalFolder, token: ReadToken, settings: &Analytics) -> Self {
        let (end, ended) = mpsc::channel();
        log_destination(settings);
        let settings = Arc::new(Mutex::new(settings.clone()));
        let shared = Arc::clone(&settings);
        let run = move || run_sender(Sender::new(folder.clone(), token), &folder, &shared, &ended);
        if let Err(error) = thread::Builder::new().name("sender".to_owned()).spawn(run) {
            tracing::warn!("analytics: events wait to be sent: no thread: {error}");
        }
        Self { settings, end }
    }

    fn update(&self, settings: &Analytics) {
        let mut known = self.settings.lock().unwrap_or_else(PoisonError::into_inner);
        if known.endpoint != settings.endpoint {
            log_destination(settings);
        }
        if *known != *settings {
            *known = settings.clone();
        }
    }

    fn last_round(self, until: Instant) {
        let (over, is_over) = mpsc::channel();
        if self.end.send(over).is_ok() {
            // What is not sent by then is sent by the next server.
            let _ = is_over.recv_timeout(until.saturating_duration_since(Instant::now()));
        }
    }
}

/// Says in the log where events go, before the first one does.
fn log_destination(settings: &Analytics) {
    if let Some(Ok(endpoint)) = settings.endpoint.as_deref().map(|url| Endpoint::new(url, None)) {
        tracing::info!("analytics: events are sent to {}", endpoint.host());
    }
}

/// Sends now and then, and once more at the end.
fn run_sender(
    mut sender: Sender,
    folder: &JournalFolder,
    shared: &Mutex<Analytics>,
    ended: &Receiver<mpsc::Sender<()>>,
) {
    let mut wait = None;
    loop {
        let now = || shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let every = Duration::from_secs(now().interval_seconds);
        let mut over = match ended.recv_timeout(wait.unwrap_or(every)) {
            Ok(over) => Some(over),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let settings = now();
        let Some(url) = &settings.endpoint else {
            if over.is_some() {
                return;
            }
            continue;
        };
        sender = sender.of(folder.to(&settings));
        if over.is_none() {
            let pause = |pause| match ended.recv_timeout(pause) {
                Err(RecvTimeoutError::Timeout) => true,
                Err(RecvTimeoutError::Disconnected) => false,
                Ok(asked) => {
                    over = Some(asked);
                    false
                }
            };
            wait = match sender.round(url, pause) {
                Round::Done => None,
                Round::Busy => Some(SYNC_INTERVAL),
                // Another process may fare better meanwhile, and then there is nothing to wait for.
                Round::Later(later) => Some(later.min(every).max(SYNC_INTERVAL)),
            };
        }
        if let Some(over) = over {
            // At the end there is time for one request, once other processes have made theirs.
            while sender.last_round(url) == Round::Busy {
                thread::sleep(RETRY_PAUSE);
            }
            let _ = over.send(());
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use skills_testkit::{Home, TEST_TIMEOUT, wait_until};

    use super::*;
    use crate::{
        journal::{SenderState, disk},
        sample::{feedback, settings},
    };

    // SEND-4
    #[test]
    fn recording_an_event_never_waits_and_what_is_too_much_is_counted() {
        let home = Home::new();
        let settings = settings(None);
        let recorder = Recorder::new(Some(home.path()), || None, move || Some(settings.clone()));
        let path = home.path().join(".skills-mcp/analytics.jsonl");
        // A process that was stopped while it wrote.
        let held = disk::lock(&path).unwrap();
        let started = Instant::now();
        for _ in 0..6_000 {
            recorder.take(feedback("x"));
        }
        assert!(started.elapsed() < TEST_TIMEOUT, "{:?}", started.elapsed());
        recorder.close(Instant::now());
        drop(held);
        recorder.close(Instant::now());
        let folder = JournalFolder::new(home.path());
        let kept = || {
            let text = disk::read(&path, 1 << 30).unwrap();
            u64::try_from(text.split_inclusive(|byte| *byte == b'\n').count()).unwrap()
        };
        wait_until("all are counted", || kept() + SenderState::read(&folder).dropped >= 6_000);
        assert_eq!(kept() + SenderState::read(&folder).dropped, 6_000, "each is there or counted");
        assert!((4_096..=4_096 + 256).contains(&kept()), "{}", kept());
    }
}
