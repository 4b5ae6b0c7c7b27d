//! What pages and telemetry need of the catalog that is served. The server implements it.

use std::{fmt, pin::Pin, sync::Arc, time::Duration};

use skills_core::{
    catalog::{Catalog, Skill},
    route::authoring::Routes,
};

/// The catalog that is served, as it changes.
pub trait ServedCatalog: fmt::Debug + Send + Sync {
    /// The last snapshot; none before the first.
    fn current(&self) -> Option<Arc<dyn CatalogSnapshot>>;

    /// A snapshot with every change that is on disk now.
    fn fresh(self: Arc<Self>) -> FreshSnapshot;

    /// How long ago each repository was last fetched with success, by the name of its source.
    fn sync_ages(&self) -> Vec<(Arc<str>, Duration)>;
}

/// A snapshot that may take a moment.
pub type FreshSnapshot = Pin<Box<dyn Future<Output = Arc<dyn CatalogSnapshot>> + Send>>;

/// The catalog of one moment.
pub trait CatalogSnapshot: Send + Sync {
    /// The catalog.
    fn catalog(&self) -> &Catalog;

    /// What requests find in it.
    fn routes(&self) -> Routes<'_>;

    /// Where a skill comes from.
    fn origin(&self, skill: &Skill) -> SkillOrigin;

    /// The whole text of a skill; else why it cannot be read.
    fn text(&self, skill: &Skill) -> Result<String, String>;
}

/// Where a skill comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillOrigin {
    /// The name of its source.
    pub source: String,
    /// The source's folder, or the URL of its repository.
    pub location: String,
    /// The commit that is served, of a repository.
    pub commit: Option<String>,
}
