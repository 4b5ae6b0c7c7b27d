//! [`Directory`]: one folder of skills that the operator named, or the one that a repository's pointer leads to.

mod config;

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
    sync::Arc,
};

use skills_core::{
    catalog::{Origin, Scope},
    diagnostic::{Code, Finding, escaped},
    document::{Dialect, Parsed, SkillText},
    relpath::RelPath,
};
use thiserror::Error;

use super::{
    agent_directories::AgentDirectory,
    disk::{DiskError, FileIdentity, LinkPolicy, Links, Root, folder_identity},
    git::Repository,
    hint::LINK_REFUSED,
    layout::{content_folder, has_content_folder},
};
use crate::{
    clients::KnownClient,
    config::{Environment, NamedDirectory, Trust},
    paths::{is_folder, is_link, real_path, real_path_or_same},
};

/// A skill's file may be this large.
pub const MAX_SKILL_BYTES: usize = 1024 * 1024;

/// A folder of skills.
#[derive(Debug, Clone)]
pub struct Directory {
    name: Arc<str>,
    path: PathBuf,
    /// The folder that the operator named, which consent is for: content decides which folder in it is meant.
    consented: PathBuf,
    /// The folder that links may not leave, and the source's path below it.
    boundary: PathBuf,
    inside: RelPath,
    /// The `skills/` of a named folder that is meant, which is a root of its own; else the root.
    content: RelPath,
    links: Links,
    policy: Arc<LinkPolicy>,
    origin: Origin,
    scope: Scope,
    /// The project that it must stay in, where only the project's file names it.
    project: Option<PathBuf>,
    /// Whether only a project's file names it.
    of_project: bool,
    /// Whether it may be missing.
    optional: bool,
    /// The repository whose current generation it is.
    repository: Option<Arc<Repository>>,
}

/// A source that cannot be read at all.
#[derive(Debug, Error)]
pub enum SourceError {
    /// It is not there, or is no folder.
    #[error("{origin}: there is no directory {}", path.display())]
    Missing {
        /// The variable, the flag or the line of a file that names it.
        origin: Cow<'static, str>,
        /// Where it should be.
        path: PathBuf,
    },
    /// It is there, but cannot be read.
    #[error("{}: {error}", path.display())]
    Closed {
        /// Where it is.
        path: PathBuf,
        /// Why.
        error: DiskError,
    },
}

impl SourceError {
    /// What to do.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Missing { origin, .. } if origin.contains(':') => {
                "create it, or take it out of the file: `skills-mcp remove PATH`"
            }
            Self::Missing { .. } => {
                "create it, or name another one; `skills-mcp demo` shows an example"
            }
            Self::Closed { error: DiskError::Link(_), .. } => {
                "name the folder that you mean, without a link in its place"
            }
            Self::Closed { .. } => "fix its permissions, or name another directory",
        }
    }
}

impl Directory {
    /// Checks that the folder is there. One whose `skills/` holds its skills stands for that folder.
    pub fn open(named: &NamedDirectory, trust: Trust) -> Result<Self, SourceError> {
        let is_limited = trust == Trust::Strict || named.project.is_some();
        let links = if is_limited { Links::Inside } else { Links::Follow };
        let path = content_folder(&named.path, links);
        match Root::open(&path, links).and_then(|root| root.reached_by(&path)) {
            Ok(_) => {
                let directory = Self {
                    consented: named.path.clone(),
                    project: named.project.clone(),
                    of_project: named.project.is_some(),
                    ..Self::named(&named.name, path.clone(), links)
                };
                let closed = SourceError::Closed { path: path.clone(), error: DiskError::NotFound };
                directory.at(path).ok_or(closed)
            }
            Err(DiskError::NotFound) => {
                Err(SourceError::Missing { origin: named.origin.clone(), path })
            }
            Err(error) => Err(SourceError::Closed { path, error }),
        }
    }

    /// The same source in this folder. Links may not leave the folder, or the project where it belongs to one; none where the
    /// folder is not in the project.
    fn at(self, path: PathBuf) -> Option<Self> {
        let Some(project) = self.project.clone() else {
            let content = path_below(&path, &self.consented)?;
            return Some(Self { boundary: self.consented.clone(), path, content, ..self });
        };
        let inside = path_below(&path, &project)?;
        Some(Self { path, boundary: project, inside, ..self })
    }

    /// The same source as things are now: a named directory may have got skills beside its `skills/`, or lost them.
    #[must_use]
    pub fn renewed(&self) -> Self {
        if self.scope == Scope::Bundles || self.repository.is_some() {
            return self.clone();
        }
        self.clone().at(content_folder(&self.consented, self.links)).unwrap_or_else(|| self.clone())
    }

    /// Whether it is a named folder that is served whole, and has a `skills/` that could be meant instead.
    pub fn may_mean_its_content(&self) -> bool {
        let is_whole = self.path == self.consented && self.scope == Scope::All;
        is_whole && self.repository.is_none() && has_content_folder(&self.path)
    }

    fn named(name: &str, path: PathBuf, links: Links) -> Self {
        Self {
            name: name.into(),
            boundary: path.clone(),
            consented: path.clone(),
            inside: RelPath::root(),
            content: RelPath::root(),
            path,
            links,
            policy: Arc::default(),
            origin: Origin::Named,
            scope: Scope::All,
            project: None,
            of_project: false,
            optional: false,
            repository: None,
        }
    }

    /// Whatever generation of a repository is current; there may be none yet. Nothing in it is a link.
    pub fn of_repository(repository: Arc<Repository>) -> Self {
        let folder = repository.folder().to_owned();
        let directory = Self::named(repository.name(), folder, Links::Refuse);
        Self { optional: true, repository: Some(repository), ..directory }
    }

    /// Everything that decides what a scan of this folder finds, but for what is in it.
    pub fn description(&self) -> String {
        let Self { name, path, boundary, inside, links, policy, origin, scope, repository, .. } =
            self;
        let remote = repository.as_ref().map(|repository| repository.folder());
        format!(
            "{name}\n{}\n{}\n{inside}\n{links:?}\n{policy:?}\n{origin:?}\n{scope:?}\n{remote:?}",
            path.display(),
            boundary.display(),
        )
    }

    /// The repository, where it is one.
    pub fn repository(&self) -> Option<&Arc<Repository>> {
        self.repository.as_ref()
    }

    /// A project's folder of bundles, which may appear later.
    pub fn bundles(name: &str, path: PathBuf) -> Self {
        Self { scope: Scope::Bundles, optional: true, ..Self::named(name, path, Links::Follow) }
    }

    /// A directory that agents keep skills in. It may come and go. None where its path below its boundary cannot be written:
    /// opened by its whole path, a link in it could leave the boundary.
    pub fn agents(directory: AgentDirectory) -> Option<Self> {
        let AgentDirectory { name, path, boundary, origin, links } = directory;
        let Some(inside) = path_below(&path, &boundary) else {
            let shown = escaped(&path.to_string_lossy());
            tracing::warn!(
                "{shown} is not served: the name of a folder above it has a line break or is not UTF-8"
            );
            return None;
        };
        Some(Self {
            boundary,
            inside,
            origin,
            scope: Scope::Bundles,
            optional: true,
            ..Self::named(&name, path, links)
        })
    }

    /// The same, with what the operator says of links.
    #[must_use]
    pub fn with_policy(self, policy: &Arc<LinkPolicy>) -> Self {
        Self { links: policy.limit(self.links), policy: Arc::clone(policy), ..self }
    }

    /// Whether another one is the same place, under the same name and with the same boundary.
    pub fn is_same(&self, other: &Self) -> bool {
        self.name == other.name
            && self.path == other.path
            && self.boundary == other.boundary
            && self.of_project == other.of_project
            && self.origin == other.origin
    }

    /// These without those that lead where an earlier one leads, which both were named; and a sentence for each that is left
    /// out.
    pub fn each_place_once(directories: Vec<Self>) -> (Vec<Self>, Vec<String>) {
        let (mut kept, mut notices): (Vec<(Self, Option<PathBuf>)>, _) = (Vec::new(), Vec::new());
        for directory in directories {
            let place = directory.named_place();
            let earlier = kept.iter().find(|(_, other)| place.is_some() && *other == place);
            match earlier {
                Some((earlier, _)) => notices.push(format!(
                    "{} (`{}`) is the folder of `{}`, and is served once",
                    directory.consented.display(),
                    directory.name,
                    earlier.name
                )),
                None => kept.push((directory, place)),
            }
        }
        (kept.into_iter().map(|(directory, _)| directory).collect(), notices)
    }

    /// Where a directory that the operator named leads, with its links resolved.
    fn named_place(&self) -> Option<PathBuf> {
        let is_named = self.origin == Origin::Named && self.repository.is_none();
        is_named.then(|| real_path(&self.path)).flatten()
    }

    /// Its name among the sources.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether only a project's file names it: its scripts get no more than those of a repository.
    pub fn is_of_project(&self) -> bool {
        self.of_project
    }

    /// The same as a source that only a project's file names, where it is one.
    #[must_use]
    pub fn named_by_project(self, of_project: bool) -> Self {
        Self { of_project, ..self }
    }

    /// Whether there is anything to scan.
    pub fn is_there(&self) -> bool {
        self.repository.is_some() || is_folder(&self.path) || is_link(&self.path)
    }

    /// Where it comes from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Which kinds of skills it may hold.
    pub fn scope(&self) -> Scope {
        match &self.repository {
            _ if self.scope == Scope::Bundles => Scope::Bundles,
            Some(repository) => {
                repository.serving().map_or(self.scope, |generation| generation.manifest().scope())
            }
            None if self.path.ends_with("skills") => Scope::Content,
            None => self.scope,
        }
    }

    /// Which folder its path leads to now.
    pub fn identity(&self) -> Option<FileIdentity> {
        match &self.repository {
            Some(repository) => repository.identity(),
            None => folder_identity(&self.path),
        }
    }

    /// Where the folder will appear, if it is not there: the nearest folder above it that is.
    pub fn awaited_in(&self) -> Option<PathBuf> {
        if self.repository.is_some() || self.identity().is_some() {
            return None;
        }
        self.path.ancestors().skip(1).find(|above| is_folder(above)).map(Path::to_path_buf)
    }

    /// Opens the folder. There is none where an optional folder is not there.
    pub(super) fn root(&self) -> Result<Option<(Root, FileIdentity)>, SourceError> {
        // Before it is opened: if the folder is replaced meanwhile, the new one has the old one's identity here, and is
        // scanned again.
        let before = self.identity();
        match (self.open_folder(), before) {
            (Ok(root), Some(identity)) => Ok(Some((root, identity))),
            (Ok(_) | Err(DiskError::NotFound), None) => Ok(None),
            (Err(error), _) => Err(self.closed(error)),
        }
    }

    /// Opens the folder from its boundary on, so that a link that content puts in its place leads no further than other links.
    fn open_folder(&self) -> Result<Root, DiskError> {
        let root = Root::within(&self.boundary, self.inside.clone(), self.links)?
            .with_policy(Arc::clone(&self.policy))
            .reached_by(&self.boundary)?;
        if self.content.is_root() { Ok(root) } else { root.descend(&self.content) }
    }

    /// The error if it is not there and should be. A link to nowhere is a disk that is not mounted, or a checkout that moved,
    /// also where the directory may be missing.
    pub fn missed(&self) -> Option<SourceError> {
        let matters = !self.optional || is_link(&self.path);
        (matters && self.identity().is_none()).then(|| self.closed(DiskError::NotFound))
    }

    pub(super) fn closed(&self, error: DiskError) -> SourceError {
        SourceError::Closed { path: self.path.clone(), error }
    }
}

impl KnownClient {
    /// Whether this client loads all of these sources by itself; not if none of them is there.
    pub fn loads_all(&self, environment: &Environment, sources: &[Directory]) -> bool {
        let own = self.directories(environment);
        let mut there = sources.iter().filter(|source| source.is_there()).peekable();
        there.peek().is_some()
            && there.all(|source| {
                let of_plugin = self.claude_plugins && matches!(source.origin(), Origin::Plugin(_));
                of_plugin || own.contains(&real_path_or_same(source.path()))
            })
    }
}

/// What a skill's file says, with its text; or why it cannot be read.
pub fn read_skill(root: &Root, file: &RelPath, dialect: Dialect) -> (Parsed, Option<SkillText>) {
    let finding = match root.read(file, MAX_SKILL_BYTES) {
        Ok(bytes) => return Parsed::with_text(bytes, dialect),
        Err(error @ DiskError::TooLarge { .. }) => {
            Finding::whole(Code::FileTooLarge, error.to_string())
                .hint("split it into smaller skills, or move data to assets")
        }
        Err(error @ (DiskError::Link(_) | DiskError::NotSkill)) => {
            Finding::whole(Code::LinkRefused, error.to_string()).hint(LINK_REFUSED)
        }
        Err(error @ DiskError::NotRegular) => Finding::whole(Code::NotRegular, error.to_string()),
        Err(error @ (DiskError::NotFound | DiskError::Io(_))) => {
            Finding::whole(Code::Unreadable, error.to_string())
                .hint("fix its permissions, or move it away")
        }
    };
    (Parsed::unread(finding), None)
}

/// The path of a folder below another one, by the names on disk, which are freer than those in requests; none where it is not
/// below it, or where a name cannot be part of a path.
fn path_below(folder: &Path, above: &Path) -> Option<RelPath> {
    let mut names = folder.strip_prefix(above).ok()?.components();
    names.try_fold(RelPath::root(), |path, name| path.child(name.as_os_str().to_str()?).ok())
}
