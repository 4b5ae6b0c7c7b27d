//! Analytics in one line, for `doctor`.

use std::path::Path;

use crate::{
    journal::{JournalFolder, SenderState, history},
    sender::Endpoint,
    settings::Analytics,
};

/// Whether events are kept and sent, where, and what is left of them. Of the endpoint only the host: the rest may be a
/// secret.
pub fn outlook(home: Option<&Path>, settings: &Analytics) -> String {
    if !settings.enabled {
        return "off".to_owned();
    }
    let kept = match history(settings, home) {
        Some(path) => format!("kept in {}", path.display()),
        None => "not kept: there is no home folder".to_owned(),
    };
    let sent = settings.endpoint.as_deref().map(|url| match Endpoint::new(url, None) {
        Ok(endpoint) => format!("; sent to {}", endpoint.host()),
        Err(why) => format!("; not sent: {why}"),
    });
    let left = home.map(|home| JournalFolder::new(home).to(settings)).map(|folder| {
        let waiting = waiting(&folder);
        let SenderState { dropped, unkept, expired, failures, .. } = SenderState::read(&folder);
        let tries =
            if failures > 0 { format!(", failed tries: {failures}") } else { String::new() };
        let some = |n: u64, what: &str| if n > 0 { format!("; {n} {what}") } else { String::new() };
        let unkept = some(unkept, "not kept in the history");
        let expired = some(expired, "too old for the endpoint");
        format!("; {waiting}{tries}; {dropped} dropped{unkept}{expired}")
    });
    format!("on; {kept}{}{}", sent.unwrap_or_default(), left.unwrap_or_default())
}

/// How many events are unsent, and where they are.
fn waiting(folder: &JournalFolder) -> String {
    let (events, files) = match folder.waiting() {
        Ok(found) => found,
        Err(error) => {
            let bytes = folder.unsent();
            return format!("{bytes} bytes unsent, which cannot be read: {error}");
        }
    };
    let Some((first, others)) = files.split_first() else { return "0 unsent".to_owned() };
    let others = match others.len() {
        0 => String::new(),
        1 => " and 1 file beside it".to_owned(),
        more => format!(" and {more} files beside it"),
    };
    format!("{events} unsent in {}{others}", first.display())
}
