//! [`ScannedSource`]: a directory as the last scan found it, kept up to date by scanning all of it or only what changed.
//!
//! Not here: when to scan (store), and how folders are walked (`walk`).

mod paths;

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use skills_core::{
    catalog::{FileEntry, Folder, FolderItem, SourceScan},
    diagnostic::{Finding, escaped},
    document::{Dialect, Parsed},
    relpath::RelPath,
};

use super::{
    bodies::{Bodies, BodyWriter},
    directory::{Directory, SourceError, read_skill},
    disk::{DiskError, FileIdentity, Links, Root, folder_identity},
    git::Repository,
    link_targets::LinkTargets,
    parallel::map,
    walk::{Walked, walk},
    watch::{Watch, is_at_or_below},
};

/// How much of a source to scan.
#[derive(Debug, Clone, Copy)]
pub enum ScanScope<'a> {
    /// Everything.
    All,
    /// These paths, in ascending order.
    Paths(&'a [RelPath]),
}

/// A directory, and what was found in it.
#[derive(Debug, Default)]
pub struct ScannedSource {
    /// The open folder; none where there is nothing to read.
    root: Option<Arc<Root>>,
    identity: Option<FileIdentity>,
    /// Where it is, if that is not always the same place.
    place: Option<PathBuf>,
    /// Its commit, if it comes from a repository.
    commit: Option<Arc<str>>,
    folder: Arc<Folder>,
    findings: Vec<(String, Finding)>,
    /// The links in it, and what each leads to.
    links: Vec<(RelPath, Option<FileIdentity>)>,
    /// Whether a part of it cannot be scanned by itself.
    whole_only: bool,
    /// Whether everything in it is watched.
    watched: bool,
    /// Why it cannot be watched; it is not tried again.
    unwatchable: Option<String>,
    /// Whether it is on a network file system.
    remote: bool,
    /// How many changes of any file in it were seen.
    changes: u64,
}

impl ScannedSource {
    /// What an earlier process found, to be scanned again.
    pub fn resumed(identity: FileIdentity, folder: Arc<Folder>) -> Self {
        Self { identity: Some(identity), folder, ..Self::default() }
    }

    /// Everything below its root.
    pub fn folder(&self) -> &Arc<Folder> {
        &self.folder
    }

    /// Problems of the scan: file, as text, and finding.
    pub fn findings(&self) -> &[(String, Finding)] {
        &self.findings
    }

    /// The open folder; none where there is nothing to read.
    pub fn root(&self) -> Option<&Arc<Root>> {
        self.root.as_ref()
    }

    /// Which folder it is.
    pub fn identity(&self) -> Option<FileIdentity> {
        self.identity
    }

    /// Where it is.
    pub fn place<'a>(&'a self, directory: &'a Directory) -> &'a Path {
        self.place.as_deref().unwrap_or(directory.path())
    }

    /// Its commit, if it comes from a repository.
    pub fn commit(&self) -> Option<&Arc<str>> {
        self.commit.as_ref()
    }

    /// Whether every change in it is reported. An empty place needs no watch.
    pub fn is_watched(&self) -> bool {
        self.watched || self.root.is_none()
    }

    /// How many changes of any file in it were seen. The count never goes down.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Whether it is on a network file system.
    pub fn is_remote(&self) -> bool {
        self.remote
    }

    /// The links whose targets have to be compared, because the watch does not report all their changes.
    pub fn link_targets(&self) -> LinkTargets {
        match self.root.as_ref().filter(|_| self.watched && !self.links.is_empty()) {
            Some(root) => LinkTargets::new(root, &self.links),
            None => LinkTargets::default(),
        }
    }

    /// Why its changes are not reported, if they cannot be.
    pub fn unwatchable(&self) -> Option<&str> {
        self.unwatchable.as_deref()
    }

    /// The watch has ended.
    pub fn stop_watching(&mut self) {
        self.watched = false;
    }

    /// Scans it again. If it cannot be read at all, what it held stays.
    pub fn scan(
        &mut self,
        directory: &Directory,
        number: usize,
        scope: ScanScope<'_>,
        mut watch: Option<&mut Watch>,
    ) -> Result<Option<io::Error>, SourceError> {
        if let Some(repository) = directory.repository() {
            return self.scan_generation(directory, repository);
        }
        match scope {
            ScanScope::Paths(paths) if !self.whole_only && self.root.is_some() => {
                if paths.iter().all(|path| !path.is_root()) {
                    let trouble = self.scan_paths(number, paths, watch.as_deref_mut());
                    if !self.whole_only {
                        return Ok(trouble);
                    }
                }
            }
            ScanScope::Paths(_) | ScanScope::All => {}
        }
        self.scan_all(directory, number, watch)
    }

    fn scan_all(
        &mut self,
        directory: &Directory,
        number: usize,
        mut watch: Option<&mut Watch>,
    ) -> Result<Option<io::Error>, SourceError> {
        let Some((root, identity)) = directory.root()? else {
            if let Some(watch) = watch {
                watch.forget(number, &RelPath::root());
            }
            let changes = self.changes + u64::from(self.root.is_some());
            *self = Self { changes, ..Self::default() };
            return Ok(None);
        };
        let remote = root.is_remote(&RelPath::root());
        let another = self.identity != Some(identity);
        if another {
            self.unwatchable = remote.then(|| "it is on a disk of another machine".to_owned());
        }
        let queue = watch.as_ref().map(|watch| Arc::clone(watch.queue()));
        let queue = queue.filter(|_| self.unwatchable.is_none());
        // Another folder in its place has nothing in common with what was there; and a folder has to be listed to be
        // watched.
        let same = !another && (self.watched || queue.is_none());
        if let (false, Some(watch)) = (same, &mut watch) {
            watch.forget(number, &RelPath::root());
            self.watched = false;
        }
        let before = same.then(|| Arc::clone(&self.folder));
        let walked = walk(&root, &RelPath::root(), before.as_ref(), queue.as_deref())
            .map_err(|error| directory.closed(error))?;
        let Walked { folder, findings, watches, links, unwatched, whole_only } = walked;
        self.changes += u64::from(another || folder.is_changed_from(&self.folder));
        self.root = Some(Arc::new(root));
        self.identity = Some(identity);
        self.folder = folder;
        self.findings = findings;
        self.links = links;
        self.whole_only = whole_only;
        self.watched = queue.is_some();
        self.remote = remote;
        if let Some(watch) = &mut watch {
            for (one, path) in watches {
                watch.remember(one, number, path);
            }
        }
        self.give_up(number, unwatched.as_ref(), watch);
        Ok(unwatched)
    }

    /// What cannot be watched whole is not watched at all.
    fn give_up(&mut self, number: usize, error: Option<&io::Error>, watch: Option<&mut Watch>) {
        let Some(error) = error else { return };
        self.unwatchable = Some(error.to_string());
        self.watched = false;
        if let Some(watch) = watch {
            watch.forget(number, &RelPath::root());
        }
    }

    /// Takes the current generation. A generation never changes, so it is not scanned again and not watched.
    fn scan_generation(
        &mut self,
        directory: &Directory,
        repository: &Repository,
    ) -> Result<Option<io::Error>, SourceError> {
        let Some(generation) = repository.serve() else {
            // If the pointer is there and leads nowhere, what was read last is kept.
            if repository.identity().is_none() {
                *self = Self { changes: self.changes + 1, ..Self::default() };
            }
            return Ok(None);
        };
        let place = generation.content();
        self.watched = true;
        if self.place.as_ref() == Some(&place) && self.identity == folder_identity(&place) {
            return Ok(None);
        }
        self.changes += 1;
        let found = folder_identity(&place);
        let root = Root::open(&place, Links::Refuse).map_err(|error| directory.closed(error))?;
        self.remote = root.is_remote(&RelPath::root());
        self.folder = generation.manifest().listing(&self.folder);
        self.findings = generation.manifest().left_out().to_vec();
        (self.root, self.identity, self.place) = (Some(Arc::new(root)), found, Some(place));
        self.commit = Some(generation.commit().into());
        Ok(None)
    }

    /// Whether what was found at this path is not there any more.
    pub fn is_gone(&self, path: &RelPath) -> bool {
        let was_there = self.folder.file(path).is_some() || self.folder.folder(path).is_some();
        was_there && self.root.as_ref().is_some_and(|root| root.entry_at(path).is_none())
    }

    /// Walks one folder and what is below it, and puts it in its place.
    fn rewalk(
        &mut self,
        root: &Root,
        number: usize,
        path: &RelPath,
        watch: Option<&mut Watch>,
    ) -> Result<Option<io::Error>, DiskError> {
        let queue = watch.as_ref().filter(|_| self.watched).map(|watch| Arc::clone(watch.queue()));
        let walked = walk(root, path, None, queue.as_deref())?;
        let shown = escaped(path.as_str());
        self.findings.retain(|(file, _)| {
            let inside = file.strip_prefix(&*shown);
            !inside.is_some_and(|rest| path.is_root() || rest.starts_with('/'))
        });
        self.findings.extend(walked.findings);
        self.links.retain(|(link, _)| !is_at_or_below(link, path));
        self.links.extend(walked.links);
        self.whole_only |= walked.whole_only;
        if let Some(watch) = watch {
            for (one, path) in walked.watches {
                watch.remember(one, number, path);
            }
        }
        if path.is_root() {
            self.folder = walked.folder;
        } else {
            Arc::make_mut(&mut self.folder).put(path, Some(FolderItem::Folder(walked.folder)));
        }
        Ok(walked.unwatched)
    }

    /// What it holds, for the catalog.
    pub fn intake(&self, directory: &Directory) -> SourceScan {
        SourceScan {
            source: Arc::clone(directory.name()),
            origin: directory.origin().clone(),
            scope: directory.scope(),
            root: Arc::clone(&self.folder),
            scan_findings: self.findings.as_slice().into(),
        }
    }

    /// What these files say; of skills, `bodies` keeps what the index needs. `known` has what an earlier process read of a file
    /// in a certain state.
    pub fn read(
        &self,
        files: &[(RelPath, Dialect)],
        bodies: &Bodies,
        known: impl Fn(&RelPath, FileEntry) -> Option<Arc<Parsed>> + Sync,
    ) -> Vec<Arc<Parsed>> {
        let read = |bodies: &mut BodyWriter<'_>, (file, dialect): &(RelPath, Dialect)| {
            let entry = self.folder.file(file);
            if let Some(parsed) = entry.and_then(|entry| known(file, entry)) {
                return parsed;
            }
            let Some(root) = &self.root else { return Arc::new(Parsed::gone()) };
            let (parsed, text) = read_skill(root, file, *dialect);
            if let (Some(skill), Some(text)) = (&parsed.skill, text) {
                bodies.keep(skill.document.digest(), text.body());
            }
            Arc::new(parsed)
        };
        map(files, || bodies.writer(), read)
    }
}
