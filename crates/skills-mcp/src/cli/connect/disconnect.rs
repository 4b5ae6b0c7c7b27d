//! `disconnect`: removes what `connect` wrote: entries, the prompt hook, the block of rules.

use std::process::ExitCode;

use super::{
    super::{Context, Failure, Output},
    DisconnectOptions, headline, left,
    shown::{Chosen, written},
};
use crate::{
    clients::{CLIENTS, KnownClient},
    connect::{
        Drafts, EntryScope, FoundEntry, InstalledClient, RULES_FILE, may_need_rules, project_root,
    },
};

pub(in crate::cli) fn run(
    context: &Context,
    options: &DisconnectOptions,
) -> Result<ExitCode, Failure> {
    let target = &options.target;
    target.check()?;
    let environment = &context.environment;
    let project = project_root(environment);
    let scopes: &[EntryScope] = match (target.project, target.user) {
        (true, _) => &[EntryScope::Project],
        (_, true) => &[EntryScope::User],
        _ => &[EntryScope::User, EntryScope::Project],
    };
    let mut out = Output::new();
    let mut failed = None;
    let looked = target.looked_at(context)?;
    let mut gone: Vec<&str> = Vec::new();
    for one in &looked {
        let mut drafts = Drafts::default();
        // Who keeps the block of rules, where it is there and stays.
        let mut reader = None;
        let mut removed = || -> Result<(), Failure> {
            for scope in scopes {
                drafts.disconnect(one.client, *scope, environment, &project)?;
            }
            let stays = staying(context, one.client, &gone, scopes);
            // Another client than those of the block has it only if a person asked for it.
            let is_theirs =
                may_need_rules(one.client) || (stays.is_empty() && !one.entries.is_empty());
            if is_theirs && scopes.contains(&EntryScope::Project) {
                let mut rule = Drafts::default();
                rule.no_rule(&project)?;
                let has_rule = rule.changes().next().is_some();
                reader = stays.iter().copied().find(|client| has_rule && may_need_rules(client));
                if reader.is_none() {
                    drafts.no_rule(&project)?;
                }
            }
            Ok(())
        };
        if let Err(failure) = removed() {
            left(&mut out, one.client, "left as it was", failure, &mut failed);
            continue;
        }
        if drafts.changes().next().is_none() {
            out.line(format!("{}: not connected, nothing to remove", headline(one.client)));
            continue;
        }
        let chosen =
            written(&mut out, one.client, &drafts, target, "Remove this?", "disconnected")?;
        if chosen == Chosen::No {
            continue;
        }
        gone.push(one.client.id);
        if let Some(reader) = reader {
            let name = reader.name;
            out.sentence("  ", &format!("{RULES_FILE} keeps its two lines: {name} may need them"));
        }
    }
    failed.map_or(Ok(ExitCode::SUCCESS), Err)
}

/// The clients that have an entry of ours, or may have one in a file that cannot be read, once this one, like those before
/// it, has none in files of these scopes.
fn staying(
    context: &Context,
    client: &KnownClient,
    gone: &[&str],
    scopes: &[EntryScope],
) -> Vec<&'static KnownClient> {
    let project = project_root(&context.environment);
    let stays = |known: &&'static KnownClient| {
        let is_gone = known.id == client.id || gone.contains(&known.id);
        // What only one project has is in the user's file.
        let is_removed = |entry: &FoundEntry| match entry.scope {
            EntryScope::Local => scopes.contains(&EntryScope::User),
            EntryScope::User | EntryScope::Project => scopes.contains(&entry.scope),
        };
        let looked = InstalledClient::look(known, &context.environment, &project);
        let may_be = !is_gone && !looked.unread.is_empty();
        may_be || looked.entries.iter().any(|entry| !is_gone || !is_removed(entry))
    };
    CLIENTS.iter().filter(|known| known.entry.is_some()).filter(stays).collect()
}
