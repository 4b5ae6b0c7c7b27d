//! The store as pages and telemetry see it.

use std::{sync::Arc, time::Duration};

use skills_core::{
    catalog::{Catalog, Skill},
    document::SkillText,
    route::authoring::Routes,
};
use skills_usage::served::{CatalogSnapshot, FreshSnapshot, ServedCatalog, SkillOrigin};

use crate::store::{Snapshot, Store};

/// The catalog of this store.
pub fn served(store: &Arc<Store>) -> Arc<dyn ServedCatalog> {
    Arc::new(ServedStore(Arc::clone(store)))
}

#[derive(Debug)]
struct ServedStore(Arc<Store>);

/// A snapshot, and the store that knows more of its sources.
struct ServedSnapshot {
    store: Arc<Store>,
    snapshot: Arc<Snapshot>,
}

impl ServedStore {
    fn with(&self, snapshot: Arc<Snapshot>) -> Arc<dyn CatalogSnapshot> {
        Arc::new(ServedSnapshot { store: Arc::clone(&self.0), snapshot })
    }
}

impl ServedCatalog for ServedStore {
    fn current(&self) -> Option<Arc<dyn CatalogSnapshot>> {
        self.0.known().map(|snapshot| self.with(snapshot))
    }

    fn fresh(self: Arc<Self>) -> FreshSnapshot {
        Box::pin(async move { self.with(self.0.fresh().await) })
    }

    fn sync_ages(&self) -> Vec<(Arc<str>, Duration)> {
        let repositories = self.0.repositories();
        let ages = repositories.filter_map(|(_, source, repository)| {
            Some((Arc::clone(source.name()), repository.state().age()?))
        });
        ages.collect()
    }
}

impl CatalogSnapshot for ServedSnapshot {
    fn catalog(&self) -> &Catalog {
        &self.snapshot.catalog
    }

    fn routes(&self) -> Routes<'_> {
        self.snapshot.routes()
    }

    fn origin(&self, skill: &Skill) -> SkillOrigin {
        let sources = self.store.sources();
        let source = sources.get(skill.source);
        let repository = source.and_then(|source| source.repository());
        let location = match repository {
            Some(repository) => repository.remote().to_string(),
            None => self.snapshot.source_path(skill.source).to_string_lossy().into_owned(),
        };
        SkillOrigin {
            source: source.map(|source| source.name().to_string()).unwrap_or_default(),
            location,
            commit: repository.and_then(|repository| repository.commit()),
        }
    }

    fn text(&self, skill: &Skill) -> Result<String, String> {
        self.snapshot.text(skill).map(SkillText::into_whole).map_err(|error| error.to_string())
    }
}
