//! Events → past requests, for what is learned from use.
//!
//! Not here: what is proposed of them, and how a search learns (core and the server).

use std::collections::{HashMap, HashSet};

use skills_core::route::authoring::PastRequest;

use crate::event::{Event, RecordedEvent};

/// The requests of these events, oldest first: those that a skill was loaded for, and those that loaded none. A load that is
/// called useless before the next load of that skill on the same machine is left out.
pub fn past_requests<'a>(events: impl IntoIterator<Item = &'a RecordedEvent>) -> Vec<PastRequest> {
    let mut past: Vec<Option<PastRequest>> = Vec::new();
    // The last load of each skill on each machine.
    let mut loads: HashMap<(&str, &str), usize> = HashMap::new();
    for recorded in events {
        match &recorded.event {
            Event::SkillServed(served) => {
                if let Some(request) = &served.context {
                    loads.insert((&recorded.server_id, &served.skill_path), past.len());
                    let skill = Some(served.skill_path.clone());
                    past.push(Some(PastRequest { request: request.clone(), skill }));
                }
            }
            Event::SkillFeedback(feedback) => {
                let load = loads.remove(&(&*recorded.server_id, feedback.skill_path.as_str()));
                if let Some(load) =
                    load.filter(|_| !feedback.useful).and_then(|at| past.get_mut(at))
                {
                    *load = None;
                }
            }
            Event::NoMatch(miss) if !recorded.call().is_by_name() => {
                past.push(unloaded(miss.context.as_ref()));
            }
            Event::Ambiguous(several) if !recorded.call().is_by_name() => {
                past.push(unloaded(several.context.as_ref()));
            }
            Event::SkillSearched(search) => past.push(unloaded(search.context.as_ref())),
            Event::NoMatch(_)
            | Event::Ambiguous(_)
            | Event::AssetServed(_)
            | Event::ScriptExecuted(_)
            | Event::Refresh(_) => {}
        }
    }
    // What first found nothing and then led to a load is the load alone.
    let loaded: HashSet<String> = past
        .iter()
        .flatten()
        .filter(|one| one.skill.is_some())
        .map(|one| one.request.clone())
        .collect();
    let mut past: Vec<PastRequest> = past.into_iter().flatten().collect();
    past.retain(|one| one.skill.is_some() || !loaded.contains(&one.request));
    past
}

fn unloaded(request: Option<&String>) -> Option<PastRequest> {
    request.map(|request| PastRequest { request: request.clone(), skill: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(lines: &[&str]) -> Vec<RecordedEvent> {
        let event = |(number, line): (usize, &&str)| {
            let text =
                format!(r#"{{"timestamp":"2026-02-18T14:30:0{number}Z","server_id":"a",{line}}}"#);
            RecordedEvent::read(&text).unwrap()
        };
        lines.iter().enumerate().map(event).collect()
    }

    // LEARN-1
    #[test]
    fn loads_count_unless_they_were_called_useless() {
        let served = |skill: &str, request: &str| {
            format!(
                r#""type":"skill_served","data":{{"skill_path":"{skill}","context":"{request}"}}"#
            )
        };
        let rated = |skill: &str, useful: bool| {
            format!(
                r#""type":"skill_feedback","data":{{"skill_path":"{skill}","useful":{useful}}}"#
            )
        };
        let lines = [
            r#""type":"no_match","data":{"context":"first in vain"}"#.to_owned(),
            served("x", "first in vain"),
            rated("x", false),
            served("x", "second"),
            rated("x", true),
            served("x", "third"),
            r#""type":"skill_searched","data":{"context":"never loaded","shown":[]}"#.to_owned(),
            r#""type":"no_match","tool":"skill","data":{"context":"a-name"}"#.to_owned(),
            served("y", "never loaded before"),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let past = past_requests(&events(&lines));
        let short: Vec<(&str, Option<&str>)> =
            past.iter().map(|one| (one.request.as_str(), one.skill.as_deref())).collect();
        assert_eq!(
            short,
            [
                ("first in vain", None),
                ("second", Some("x")),
                ("third", Some("x")),
                ("never loaded", None),
                ("never loaded before", Some("y")),
            ]
        );
    }
}
