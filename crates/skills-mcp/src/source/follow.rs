//! [`Followed`]: a directory as it was found last, kept up to date by looking again at all of it or at what changed.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use skills_core::{
    catalog::{Entry, Folder, Intake, Node, SkillPath, Stamp},
    diagnostic::{Finding, escaped},
    document::{Dialect, Parsed},
    relpath::RelPath,
};

use super::{
    directory::{Directory, SourceError, read_skill},
    disk::{DiskError, Identity, Links, Listed, Root, identity},
    git::Repository,
    parallel::map,
    walk::{Walked, is_skipped, walk},
    watch::{Watch, is_at_or_below},
};

/// So many links of a source are looked at before each answer; the rest, when everything is.
const MAX_LINKS: usize = 256;

/// How to look again.
#[derive(Debug, Clone, Copy)]
pub enum Look<'a> {
    /// At everything.
    Whole,
    /// At these paths, which ascend.
    At(&'a [RelPath]),
}

/// A directory, and what was found in it.
#[derive(Debug, Default)]
pub struct Followed {
    /// The open folder; none where there is nothing to read.
    root: Option<Arc<Root>>,
    identity: Option<Identity>,
    /// Where it lies, if that is not always the same place.
    place: Option<PathBuf>,
    /// Which commit it is, where it comes from a repository.
    commit: Option<Arc<str>>,
    folder: Arc<Folder>,
    findings: Vec<(String, Finding)>,
    /// The links in it, and what each leads to.
    links: Vec<(RelPath, Option<Identity>)>,
    /// A part of it cannot be looked at by itself.
    whole_only: bool,
    /// Whether everything in it is watched.
    watched: bool,
    /// Why it cannot be; it is not tried again.
    unwatchable: Option<String>,
    /// Whether it is on a disk of another machine.
    remote: bool,
    /// How many changes were seen in it: of any file, be it a skill's or not.
    changes: u64,
}

impl Followed {
    /// The open folder; none where there is nothing to read.
    pub fn root(&self) -> Option<&Arc<Root>> {
        self.root.as_ref()
    }

    /// Which folder it is.
    pub fn identity(&self) -> Option<Identity> {
        self.identity
    }

    /// Where it lies.
    pub fn place<'a>(&'a self, directory: &'a Directory) -> &'a Path {
        self.place.as_deref().unwrap_or(directory.path())
    }

    /// Which commit it is, where it comes from a repository.
    pub fn commit(&self) -> Option<&Arc<str>> {
        self.commit.as_ref()
    }

    /// Whether somebody tells of every change in it. Nothing is watched where there is nothing.
    pub fn is_watched(&self) -> bool {
        self.watched || self.root.is_none()
    }

    /// How many changes were seen in it: of any file, be it a skill's or not. It never goes down.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Whether it is on a disk of another machine.
    pub fn is_remote(&self) -> bool {
        self.remote
    }

    /// Whether its links lead where they did. Nobody tells of a target that appears, or of a link or folder on the way
    /// to one that is replaced.
    pub fn has_same_links(&self) -> bool {
        let Some(root) = self.root.as_ref().filter(|_| self.watched) else { return true };
        let nowhere = self.links.iter().filter(|(_, leads)| leads.is_none());
        let somewhere = self.links.iter().filter(|(_, leads)| leads.is_some());
        let mut links = nowhere.chain(somewhere).take(MAX_LINKS);
        links.all(|(path, leads)| root.leads(path) == *leads)
    }

    /// Why nobody tells of its changes, where that cannot be had.
    pub fn unwatchable(&self) -> Option<&str> {
        self.unwatchable.as_deref()
    }

    /// Nobody watches it any more.
    pub fn unwatched(&mut self) {
        self.watched = false;
    }

    /// Looks again. What it held stays where it cannot be read at all.
    pub fn look(
        &mut self,
        directory: &Directory,
        number: usize,
        how: Look<'_>,
        mut watch: Option<&mut Watch>,
    ) -> Result<Option<io::Error>, SourceError> {
        if let Some(repository) = directory.repository() {
            return self.look_at_generation(directory, repository);
        }
        match how {
            Look::At(paths) if !self.whole_only && self.root.is_some() => {
                if paths.iter().all(|path| !path.is_root()) {
                    let trouble = self.look_at(number, paths, watch.as_deref_mut());
                    if !self.whole_only {
                        return Ok(trouble);
                    }
                }
            }
            Look::At(_) | Look::Whole => {}
        }
        self.look_whole(directory, number, watch)
    }

    fn look_whole(
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
        // Another folder in its place has nothing to do with what was there; and what is not watched yet has to be
        // listed to be.
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

    /// Takes the generation that is current. It never changes, so only another one is looked at, and nothing is watched.
    fn look_at_generation(
        &mut self,
        directory: &Directory,
        repository: &Repository,
    ) -> Result<Option<io::Error>, SourceError> {
        let Some(generation) = repository.serve() else {
            // The pointer may be there and lead nowhere: then what was read last is as good as it gets.
            if repository.identity().is_none() {
                *self = Self { changes: self.changes + 1, ..Self::default() };
            }
            return Ok(None);
        };
        let place = generation.content();
        self.watched = true;
        if self.place.as_ref() == Some(&place) && self.identity == identity(&place) {
            return Ok(None);
        }
        self.changes += 1;
        let found = identity(&place);
        let root = Root::open(&place, Links::Refuse).map_err(|error| directory.closed(error))?;
        self.remote = root.is_remote(&RelPath::root());
        self.folder = generation.manifest().listing(&self.folder);
        self.findings = generation.manifest().left_out().to_vec();
        (self.root, self.identity, self.place) = (Some(Arc::new(root)), found, Some(place));
        self.commit = Some(generation.commit().into());
        Ok(None)
    }

    /// Looks at single names. Each is what it is now: a file is read again, a folder walked.
    fn look_at(
        &mut self,
        number: usize,
        paths: &[RelPath],
        mut watch: Option<&mut Watch>,
    ) -> Option<io::Error> {
        let root = Arc::clone(self.root.as_ref()?);
        let mut trouble = None;
        let mut done: Option<&RelPath> = None;
        for path in paths {
            let inside = done.is_some_and(|done| is_at_or_below(path, done));
            let above = self.folder.folder(&path.folder());
            let (false, Some(above)) = (inside, above) else { continue };
            let was_folder = above.own_folder(path.name()).is_some();
            let was_there = was_folder || above.own_file(path.name()).is_some();
            let listed = root.look(path).filter(|listed| !is_passed_by(path, listed));
            // A file that came and went in between is not worth a word.
            self.changes += u64::from(was_there || listed.is_some());
            let is_folder = matches!(listed, Some(Listed::Folder { .. }));
            let shown = escaped(path.as_str());
            self.findings.retain(|(file, _)| {
                let inside = file.strip_prefix(&*shown);
                !inside.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            });
            self.links.retain(|(link, _)| !is_at_or_below(link, path));
            if was_folder && let Some(watch) = &mut watch {
                watch.forget(number, path);
            }
            let plain = match listed {
                None => {
                    Arc::make_mut(&mut self.folder).put(path, None);
                    continue;
                }
                Some(Listed::File { bytes, linked: false, .. }) => {
                    // Somebody told of it, so it is read again, whatever its times say.
                    let entry = Entry::Regular { bytes, stamp: Stamp::UNSURE };
                    Arc::make_mut(&mut self.folder).put(path, Some(Node::File(entry)));
                    continue;
                }
                // Named like a skill's file, it is told of.
                Some(Listed::Folder { linked: false }) => SkillPath::of_file(path).is_none(),
                // Whatever is out of the ordinary is found by walking the folder that it is in.
                Some(
                    Listed::File { .. }
                    | Listed::Folder { .. }
                    | Listed::Special
                    | Listed::Refused(_),
                ) => false,
            };
            let walked_path = if plain { path.clone() } else { path.folder() };
            let mut result = self.rewalk(&root, number, &walked_path, watch.as_deref_mut());
            if plain && !matches!(result, Ok(_) | Err(DiskError::NotFound)) {
                // Closed to us, which is said of it in the folder that it is in.
                result = self.rewalk(&root, number, &path.folder(), watch.as_deref_mut());
            }
            match result {
                Ok(unwatched) => trouble = trouble.or(unwatched),
                // Gone between looking and walking: the next event tells.
                Err(_) => Arc::make_mut(&mut self.folder).put(path, None),
            }
            if is_folder && plain {
                done = Some(path);
            }
        }
        self.give_up(number, trouble.as_ref(), watch);
        trouble
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
            Arc::make_mut(&mut self.folder).put(path, Some(Node::Folder(walked.folder)));
        }
        Ok(walked.unwatched)
    }

    /// What it holds, for the catalog.
    pub fn intake(&self, directory: &Directory) -> Intake {
        Intake {
            source: Arc::clone(directory.name()),
            origin: directory.origin().clone(),
            scope: directory.scope(),
            root: Arc::clone(&self.folder),
            walked: self.findings.as_slice().into(),
        }
    }

    /// What these files say.
    pub fn read(&self, files: &[(RelPath, Dialect)]) -> Vec<Arc<Parsed>> {
        map(
            files,
            || (),
            |(), (file, dialect)| {
                let parsed = match &self.root {
                    Some(root) => read_skill(root, file, *dialect),
                    None => Parsed::gone(),
                };
                Arc::new(parsed)
            },
        )
    }
}

/// Whether a path leads to or through a tool's own folder; a file may be called as it likes.
fn is_passed_by(path: &RelPath, listed: &Listed) -> bool {
    let is_folder = matches!(listed, Listed::Folder { .. });
    path.folder().segments().any(is_skipped) || (is_folder && is_skipped(path.name()))
}
