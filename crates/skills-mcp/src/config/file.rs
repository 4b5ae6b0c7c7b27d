//! Reads a configuration file, where there is one.

#![expect(
    clippy::disallowed_methods,
    reason = "configuration files have fixed names; nothing a request or a skill names is opened here"
)]

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
};

/// More than this is no configuration.
const MAX_BYTES: u64 = 256 * 1024;

/// The file's text; `None` where there is no such file.
pub fn read_optional(path: &Path) -> io::Result<Option<String>> {
    // A FIFO would block the start for ever.
    if !path.metadata().is_ok_and(|found| found.is_file()) {
        return Ok(None);
    }
    let mut text = String::new();
    let read = File::open(path)?.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if read as u64 > MAX_BYTES {
        return Err(io::Error::other("larger than 256 KiB"));
    }
    Ok(Some(text))
}
