//! `disconnect`: removes what `connect` wrote: entries, the prompt hook, the block of rules.

use std::process::ExitCode;

use super::{
    super::{Context, Failure, Output, output::safe},
    DisconnectOptions, headline,
    shown::written,
};
use crate::connect::{Drafts, EntryScope, has_rules, project_root};

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
    for one in &looked {
        let mut drafts = Drafts::default();
        let mut removed = || -> Result<(), Failure> {
            for scope in scopes {
                drafts.disconnect(one.client, *scope, environment, &project)?;
            }
            if has_rules(one.client) && scopes.contains(&EntryScope::Project) {
                drafts.no_rule(&project)?;
            }
            Ok(())
        };
        if let Err(failure) = removed() {
            out.line(format!("{}: left as it was: {}", one.client.name, safe(failure.message())));
            failed.get_or_insert(failure);
            continue;
        }
        if drafts.changes().next().is_none() {
            out.line(format!("{}: not connected, nothing to remove", headline(one.client)));
            continue;
        }
        written(&mut out, one.client, &drafts, target, "Remove this?", "disconnected")?;
    }
    failed.map_or(Ok(ExitCode::SUCCESS), Err)
}
