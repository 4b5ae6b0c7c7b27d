//! Reads the files of other programs. Not here: what they say.

#![expect(
    clippy::disallowed_methods,
    reason = "the only file that reads what belongs to clients; their paths come from the table of clients"
)]

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
};

/// A larger file is refused. Claude Code keeps much beside its servers in one file.
const MAX_CLIENT_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// The text of a file; none where there is no file.
pub(super) fn read(path: &Path) -> io::Result<Option<String>> {
    match path.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
        // A FIFO would block for ever.
        Ok(found) if !found.is_file() => return Err(io::Error::other("not a regular file")),
        Ok(_) => {}
    }
    let mut text = String::new();
    let read = File::open(path)?.take(MAX_CLIENT_FILE_BYTES + 1).read_to_string(&mut text)?;
    if read as u64 > MAX_CLIENT_FILE_BYTES {
        return Err(io::Error::other("larger than 64 MiB"));
    }
    Ok(Some(text))
}
