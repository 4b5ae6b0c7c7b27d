//! The only file that opens the history's files; never for writing.

#![expect(
    clippy::disallowed_methods,
    reason = "the operator names the history file; nothing a request or a skill names is opened here"
)]

#[cfg(unix)]
use std::os::unix::fs::FileExt as _;
#[cfg(windows)]
use std::os::windows::fs::FileExt as _;
use std::{
    fs::{File, Metadata},
    io,
    path::Path,
};

/// Which file it is, whatever it is called by now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HistoryFileId(u64, u64);

/// A file that was there, as long as it was then.
#[derive(Debug)]
pub(super) struct HistoryFile {
    file: File,
    pub(super) identity: HistoryFileId,
    pub(super) length: u64,
}

impl HistoryFile {
    /// The file of this name; none where there is none. A FIFO or a device would keep us waiting.
    pub(super) fn at(path: &Path) -> io::Result<Option<Self>> {
        let opened = path.metadata().and_then(|found| {
            if found.is_file() {
                File::open(path)
            } else {
                Err(io::Error::other("it is not a file"))
            }
        });
        let file = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let found = file.metadata()?;
        Ok(Some(Self { identity: identity(&found), length: found.len(), file }))
    }

    /// The bytes of a range, as far as there are any. Many may read at once.
    pub(super) fn read(&self, from: u64, length: usize, into: &mut Vec<u8>) -> io::Result<()> {
        into.resize(length, 0);
        let (mut filled, mut at) = (0, from);
        while let Some(rest) = into.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.read_some(rest, at) {
                Ok(0) => break,
                Ok(read) => {
                    filled += read;
                    at += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        into.truncate(filled);
        Ok(())
    }

    #[cfg(unix)]
    fn read_some(&self, into: &mut [u8], at: u64) -> io::Result<usize> {
        self.file.read_at(into, at)
    }

    #[cfg(windows)]
    fn read_some(&self, into: &mut [u8], at: u64) -> io::Result<usize> {
        self.file.seek_read(into, at)
    }
}

#[cfg(unix)]
fn identity(found: &Metadata) -> HistoryFileId {
    use std::os::unix::fs::MetadataExt as _;
    HistoryFileId(found.dev(), found.ino())
}

#[cfg(not(unix))]
fn identity(found: &Metadata) -> HistoryFileId {
    let born = found.created().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    HistoryFileId(born.map_or(0, |at| at.as_secs()), born.map_or(0, |at| at.subsec_nanos().into()))
}
