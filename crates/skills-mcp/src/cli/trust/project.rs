//! The project's file in `trust`: what it names, whether it is used, and the operator's answer.

use serde_json::{Value as Json, json};
use skills_core::diagnostic::escaped;

use super::super::{
    Context, Failure, Output,
    output::{bold, dim},
};
use crate::{
    config::{ListedPlace, ListedSource, ProjectConsent, ProjectFile, SourceList, github_url},
    paths::real_path_or_same,
    source::git::Remote,
    surface::ToolSets,
};

/// The project's file, where `trust` is about it: no source is named to it, or this file is, or its folder.
pub(super) fn concerned(
    context: &Context,
    wanted: Option<&str>,
) -> Result<Option<ProjectFile>, Failure> {
    let project = context.named()?.project;
    let start = &context.environment.directory;
    Ok(project.filter(|project| {
        let says_something = !project.list.as_ref().is_ok_and(SourceList::is_empty);
        let is_meant = wanted.is_none_or(|wanted| {
            let path = real_path_or_same(&start.join(wanted));
            path == project.path || path == project.folder()
        });
        says_something && is_meant
    }))
}

/// Records the operator's answer. A file with a mistake is not agreed to.
pub(super) fn answer(context: &Context, project: &ProjectFile, agree: bool) -> Result<(), Failure> {
    if agree {
        check(project)?;
    }
    project.decide(&context.environment, agree).map_err(|why| super::not_recorded(context, &why))
}

/// Whether all that the file says can be used.
fn check(project: &ProjectFile) -> Result<(), Failure> {
    let file = project.path.display();
    let hint = "correct the file, and ask again";
    let list = match &project.list {
        Ok(list) => list,
        Err(error) => return Err(Failure::usage(error.to_string(), hint)),
    };
    for entry in &list.entries {
        let ListedPlace::Repository(url) = &entry.place else { continue };
        let url = github_url(url, project.folder()).unwrap_or_else(|| url.clone());
        if let Err(error) = Remote::parse(&url) {
            let message = format!("{file}:{}: the URL {error}", entry.line);
            return Err(Failure::usage(message, error.hint()));
        }
    }
    if let Some((tools, line)) = &list.tools {
        ToolSets::parse(tools)
            .map_err(|hint| Failure::usage(format!("{file}:{line} is `{tools}`"), hint))?;
    }
    Ok(())
}

/// Prints what the file names, and of `notices` those that are about it.
pub(super) fn print(out: &mut Output, project: &ProjectFile, notices: &[String]) {
    let file = project.path.display().to_string();
    out.line(format!("{}  {}", bold("project's file"), escaped(&file)));
    let standing = match &project.consent {
        ProjectConsent::Agreed(since) => format!("used: you agreed on {since}"),
        ProjectConsent::Waiting => "not used: you have not agreed to it yet".to_owned(),
        ProjectConsent::Changed(since) => {
            format!("not used: it has changed since you agreed on {since}")
        }
        ProjectConsent::Unknown(why) => format!("not used: {why}"),
    };
    out.line(format!("  {}", escaped(&standing)));
    let list = match &project.list {
        Ok(list) => list,
        Err(error) => {
            out.sentence("  ", &error.to_string());
            return;
        }
    };
    for entry in &list.entries {
        let name = entry.name.as_ref().map(|name| format!(" as {name}")).unwrap_or_default();
        out.line(format!("  {}{}", escaped(&words(project, entry)), dim(&escaped(&name))));
    }
    if let Some((tools, _)) = &list.tools {
        out.line(format!("  tool sets {}", escaped(tools)));
    }
    for (line, message) in list.unread_in_project() {
        out.sentence("  ", &format!("line {line}: {message}"));
    }
    for notice in notices.iter().filter_map(|notice| notice.strip_prefix(&format!("{file}:"))) {
        out.sentence("  ", &format!("line {notice}"));
    }
}

/// What an entry names, in words.
fn words(project: &ProjectFile, entry: &ListedSource) -> String {
    match &entry.place {
        ListedPlace::Directory(path) => format!("folder {path}"),
        ListedPlace::Repository(url) => {
            let url = github_url(url, project.folder()).unwrap_or_else(|| url.clone());
            format!("repository {url}")
        }
        ListedPlace::Agents(true) => "the agents' directories and plugins, too".to_owned(),
        ListedPlace::Agents(false) => "not the agents' directories".to_owned(),
    }
}

pub(super) fn json(project: &ProjectFile) -> Json {
    let since = match &project.consent {
        ProjectConsent::Agreed(since) | ProjectConsent::Changed(since) => Some(since),
        ProjectConsent::Waiting | ProjectConsent::Unknown(_) => None,
    };
    let list = project.list.as_ref().ok();
    let source = |entry: &ListedSource| json!({"line": entry.line, "name": entry.name, "names": words(project, entry)});
    let sources: Vec<Json> = list.iter().flat_map(|list| &list.entries).map(source).collect();
    let unread = list.map(SourceList::unread_in_project).unwrap_or_default();
    let unread: Vec<Json> = unread
        .into_iter()
        .map(|(line, message)| json!({"line": line, "message": message}))
        .collect();
    json!({
        "file": project.path.to_string_lossy(),
        "waiting": project.waits(),
        "since": since,
        "sources": sources,
        "tools": list.and_then(|list| list.tools.as_ref()).map(|(tools, _)| tools),
        "unread": unread,
        "error": project.list.as_ref().err().map(ToString::to_string),
    })
}
