//! Analytics in one line, for whoever asks how this server is set up.

use std::path::Path;

use super::{
    journal::{Folder, State, history},
    sender::Endpoint,
};
use crate::config::Analytics;

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
    let left = home.map(|home| Folder::new(home).to(settings)).map(|folder| {
        let State { dropped, unkept, expired, failures, .. } = State::read(&folder);
        let tries = if failures > 0 { format!(", {failures} tries failed") } else { String::new() };
        let some = |n: u64, what: &str| if n > 0 { format!("; {n} {what}") } else { String::new() };
        let unkept = some(unkept, "not kept in the history");
        let expired = some(expired, "too old for the endpoint");
        format!("; {} bytes unsent{tries}; {dropped} dropped{unkept}{expired}", folder.unsent())
    });
    format!("on; {kept}{}{}", sent.unwrap_or_default(), left.unwrap_or_default())
}
