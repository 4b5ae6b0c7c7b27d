//! The queue on Linux: `inotify`, asked for exactly what matters. Reading is no event, so a scan causes none.

use std::{
    ffi::OsStr,
    io,
    mem::MaybeUninit,
    os::{
        fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt as _,
    },
    path::Path,
};

use rustix::{
    fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags},
    io::Errno,
};

use super::{Descriptor, WatchEvent, WatchEventKind};

/// A file that is being written is reported when it is closed, so that half a file is not read. `ATTRIB` is for
/// permissions, and for a link's target that an editor replaces.
const CHANGES: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::EXCL_UNLINK);

/// The events that were not read yet.
#[derive(Debug)]
pub struct Queue(OwnedFd);

impl AsFd for Queue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Queue {
    pub(super) fn open() -> io::Result<Self> {
        Ok(Self(inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?))
    }

    /// How many bytes of events wait.
    pub fn waiting(&self) -> usize {
        let bytes = rustix::io::ioctl_fionread(&self.0).unwrap_or(u64::MAX);
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    /// Watches an open folder or file. By its handle, so that it is the one that was listed.
    pub(in crate::source) fn add(&self, place: &OwnedFd) -> io::Result<Descriptor> {
        let path = format!("/proc/self/fd/{}", place.as_raw_fd());
        Ok(inotify::add_watch(&self.0, path, CHANGES)?)
    }

    /// Watches the file or folder at a path, if there is one.
    pub(super) fn add_path(&self, path: &Path) -> Option<io::Result<Descriptor>> {
        match inotify::add_watch(&self.0, path, CHANGES) {
            Err(Errno::NOENT | Errno::NOTDIR) => None,
            added => Some(added.map_err(io::Error::from)),
        }
    }

    pub(super) fn remove(&self, watch: Descriptor) {
        // What is gone already needs no removing.
        let _ = inotify::remove_watch(&self.0, watch);
    }

    /// Whether an error means that the user has no watches or queues left.
    pub fn is_exhausted(error: &io::Error) -> bool {
        let errno = Errno::from_io_error(error);
        matches!(errno, Some(Errno::NOSPC | Errno::MFILE | Errno::NFILE | Errno::NOMEM))
    }

    /// Takes out everything that waits.
    pub(super) fn drain(&self) -> Vec<WatchEvent> {
        let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
        let mut reader = Reader::new(&self.0, &mut buffer);
        let mut events = Vec::new();
        loop {
            match reader.next() {
                Ok(event) => {
                    let flags = event.events();
                    let what = if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
                        WatchEventKind::Overflow
                    } else if flags.contains(ReadFlags::IGNORED) {
                        WatchEventKind::Unwatched
                    } else {
                        event.file_name().map_or(WatchEventKind::Itself, |name| {
                            WatchEventKind::Named(OsStr::from_bytes(name.to_bytes()).to_os_string())
                        })
                    };
                    events.push(WatchEvent { watch: event.wd(), what });
                }
                Err(Errno::INTR) => {}
                Err(_) => return events,
            }
        }
    }
}
