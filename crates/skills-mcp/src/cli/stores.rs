//! The stores that commands work on: over the sources that flags, variables or files name, else over the agents' directories.
//!
//! Not here: who names sources (`config`), and what a command does with them.

use std::sync::Arc;

use super::{
    Context, Failure, Opened, Shared,
    output::{aside, safe},
    sync,
};
use crate::{
    config::{ConfigLayers, NamedSource, NamedSources, SettingOrigin, named_sources},
    source::{
        Directory, LinkPolicy, PluginRecords, default_directories,
        git::{InstalledGit, Repository},
        own_skills,
    },
    store::{Cause, Store},
};

impl Context {
    /// A store over the sources that are named, else over the agents' directories; it has not looked yet.
    pub(super) fn store(&self) -> Result<Store, Failure> {
        let (layers, named) = (self.layers()?, self.named()?);
        for notice in named.notices.iter().filter(|_| !self.quiet) {
            aside(&format!("note: {}", safe(notice)));
        }
        self.store_over(layers, &named)
    }

    /// The same for what serves: what a source says when it is first served goes on record.
    pub(super) fn serving_store(&self) -> Result<Store, Failure> {
        let (layers, named) = (self.layers()?.recording(), self.named()?);
        named.notices.iter().for_each(|notice| tracing::warn!("{notice}"));
        self.store_over(layers, &named)
    }

    /// A store over these sources.
    pub(super) fn store_over(
        &self,
        layers: ConfigLayers,
        named: &NamedSources,
    ) -> Result<Store, Failure> {
        if named.is_empty() && !self.shared.no_default_dirs {
            return Ok(self.agents(layers));
        }
        let policy = self.link_policy(&layers);
        let config = layers.resolve(None);
        let git = Arc::new(InstalledGit::new(&self.environment, &config.settings.scripts.roots));
        // What the operator does not set the content may set.
        let said = config
            .values
            .iter()
            .any(|(key, _, origin)| key.name == "git.branch" && *origin != SettingOrigin::Default);
        let branch = said.then_some(config.settings.git.branch.as_str());
        let home = self.environment.home.as_deref();
        let mut directories = Vec::new();
        let in_files = named.in_files;
        for source in &named.sources {
            directories.push(match source {
                NamedSource::Directory(named) => match Directory::open(named, layers.trust) {
                    Ok(directory) => directory.with_policy(&policy),
                    // What is wrong with one source of a file takes away no other.
                    Err(error) if in_files => {
                        tracing::warn!("{error}; it is left out");
                        continue;
                    }
                    Err(error) => return Err(error.into()),
                },
                NamedSource::Repository(named) => {
                    let git = Arc::<InstalledGit>::clone(&git);
                    let repository = Repository::open(named, home, branch, git)?;
                    Directory::of_repository(Arc::new(repository))
                        .named_by_project(named.of_project)
                }
            });
        }
        let mut records = None;
        if named.agents && !self.shared.no_default_dirs {
            let (more, plugins) = self.agents_directories(&policy);
            directories.extend(more);
            records = plugins;
        }
        directories.extend(self.own_skills());
        Ok(Store::cached(directories, records, layers, home))
    }

    /// What the operator says of links out of their directory.
    pub(super) fn link_policy(&self, layers: &ConfigLayers) -> Arc<LinkPolicy> {
        let allow = layers.resolve(None).settings.links.allow;
        Arc::new(LinkPolicy::new(&allow, self.environment.home.as_deref(), layers.trust))
    }

    /// What the operator named.
    pub(super) fn named(&self) -> Result<NamedSources, Failure> {
        let Shared { directories, repositories, .. } = &self.shared;
        Ok(named_sources(&self.environment, directories, repositories)?)
    }

    /// A store over the agents' directories and plugins.
    pub(super) fn agents(&self, layers: ConfigLayers) -> Store {
        let (mut directories, records) = self.agents_directories(&self.link_policy(&layers));
        directories.extend(self.own_skills());
        Store::cached(directories, records, layers, self.environment.home.as_deref())
    }

    /// The agents' directories and the records of plugins, less what a client loads by itself.
    pub(super) fn agents_directories(
        &self,
        policy: &Arc<LinkPolicy>,
    ) -> (Vec<Directory>, Option<PluginRecords>) {
        let native = self.native();
        let directories = default_directories(&self.environment, native)
            .into_iter()
            .filter_map(Directory::agents)
            .map(|directory| directory.with_policy(policy))
            .collect();
        let has_plugins = native.is_some_and(|client| client.claude_plugins);
        let records = (!has_plugins).then(|| PluginRecords::new(&self.environment));
        (directories, records)
    }

    /// Our own skills, where they are asked for. They come last, so that they hide no other skill.
    fn own_skills(&self) -> Option<Directory> {
        let asked = self.environment.get("SKILLS_WITH_OWN_SKILLS");
        if !self.shared.with_own_skills && !matches!(asked, Some("true" | "1")) {
            return None;
        }
        let unpacked = match self.environment.home.as_deref() {
            Some(home) => own_skills(home).map_err(|error| error.to_string()),
            None => Err("there is no home folder".to_owned()),
        };
        let warn = |error: &String| {
            tracing::warn!(
                "the skills about skills-mcp are not served: ~/.skills-mcp/own-skills: {error}"
            );
        };
        unpacked.inspect_err(warn).ok().and_then(Directory::agents)
    }

    /// A store that has read its sources.
    pub(super) fn opened(&self) -> Result<Opened<'_>, Failure> {
        self.opened_store(self.store()?)
    }

    /// This store, once it has read its sources.
    pub(super) fn opened_store(&self, store: Store) -> Result<Opened<'_>, Failure> {
        let store = Arc::new(store);
        sync::at_first(&store)?;
        let snapshot = store.refresh(Cause::Start).snapshot;
        Ok(Opened { context: self, store, snapshot })
    }
}
