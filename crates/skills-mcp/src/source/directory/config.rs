//! The `config.yaml` of a directory: where it may be, and what it says. Not here: what content may set (config).

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use skills_core::{
    catalog::{Scope, Stamp},
    relpath::RelPath,
};

use super::{Directory, path_below};
use crate::{
    config::{ContentConfig, ServedContent},
    paths::{is_link, real_path},
    source::disk::{DiskError, Links, Root, stamp_of},
};

/// A larger `config.yaml` is not read.
const MAX_CONFIG_BYTES: usize = 256 * 1024;

impl Directory {
    /// The stamps of its `config.yaml`, in each place where one may be: they differ once it has changed.
    pub fn config_stamps(&self) -> [Option<Stamp>; 2] {
        self.config_places().map(|place| stamp_of(&place?))
    }

    /// In the folder, or beside it where the folder is called `skills`.
    fn config_places(&self) -> [Option<PathBuf>; 2] {
        // Only directories that the operator named may have settings.
        if self.scope == Scope::Bundles {
            return [None, None];
        }
        if let Some(repository) = &self.repository {
            let serving = repository.serving();
            let content = serving.as_ref().map(|serving| serving.content().join("config.yaml"));
            return [content, serving.map(|serving| serving.folder().join("config.yaml"))];
        }
        let beside = self.path.parent().filter(|_| self.path.ends_with("skills"));
        [Some(self.path.as_path()), beside].map(|folder| Some(folder?.join("config.yaml")))
    }

    /// What it says about settings, as it is served now; none where it may say nothing, or is not there yet.
    pub fn served(&self) -> Option<ServedContent> {
        if self.scope == Scope::Bundles {
            return None;
        }
        let identities = if let Some(repository) = &self.repository {
            repository.serving()?;
            vec![repository.consent_name().to_owned()]
        } else {
            let mut paths = vec![self.consented.clone(), real_path(&self.consented)?];
            paths.dedup();
            paths.iter().map(|path| path.to_string_lossy().into_owned()).collect()
        };
        let (source, config) = (Arc::clone(&self.name), self.config());
        let of_project = self.of_project;
        let is_own = self.repository.is_none() && !of_project;
        Some(ServedContent { identities, source, config, of_project, is_own })
    }

    /// Its `config.yaml`.
    pub fn config(&self) -> Option<ContentConfig> {
        for file in self.config_places().into_iter().flatten() {
            // Through a link any file's text could become part of a message.
            if self.links != Links::Follow && is_link(&file) {
                let text =
                    Err("a symbolic link is not followed under SKILLS_TRUST=strict".to_owned());
                return Some(ContentConfig { source: Arc::clone(&self.name), file, text });
            }
            let Some(text) = self.config_text(&file) else { continue };
            return Some(ContentConfig { source: Arc::clone(&self.name), file, text });
        }
        None
    }

    /// What a `config.yaml` says, where there is one. A link must stay in the file's folder, or lead where the operator
    /// allows it: any file's text could become part of a message.
    fn config_text(&self, file: &Path) -> Option<Result<String, String>> {
        let name = RelPath::parse("config.yaml").ok()?;
        let folder = self.open_config_folder(file.parent()?);
        match folder.and_then(|folder| folder.read(&name, MAX_CONFIG_BYTES)) {
            Ok(bytes) => Some(String::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned())),
            Err(DiskError::NotFound | DiskError::NotRegular) => None,
            Err(error) => Some(Err(error.to_string())),
        }
    }

    /// Opens the folder itself, or the one that it is in.
    fn open_config_folder(&self, folder: &Path) -> Result<Root, DiskError> {
        if self.repository.is_none() && folder == self.path {
            return self.open_folder();
        }
        let root = match (path_below(folder, &self.boundary), &self.project) {
            (Some(inside), _) => Root::within(&self.boundary, inside, self.links)?,
            // A folder above the one that the operator named is the operator's, but not the project's.
            (None, None) => Root::open(folder, self.links)?,
            (None, Some(_)) => return Err(DiskError::NotFound),
        };
        Ok(root.with_policy(Arc::clone(&self.policy)))
    }
}
