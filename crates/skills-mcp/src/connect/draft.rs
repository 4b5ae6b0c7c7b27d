//! [`Drafts`]: the files that a change of a client touches, as they are and as they would be, before anything is written.

use std::path::{Path, PathBuf};

use super::{
    args::name_sources,
    entries::{FoundEntry, UnreadFile, has_local_entries, in_text},
    file::{outside, read, remove_if_empty, replace},
    hooks,
    json::was_empty_object,
    place,
    place::EntryScope,
    rules, server,
    tree::{TreeError, without_mark},
    wanted::WantedEntry,
};
use crate::{
    clients::KnownClient,
    config::Environment,
    paths::{is_folder, is_link},
};

/// Why a client's files are not changed.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// A file cannot be read or understood, or is written in a way that we do not change.
    #[error("{0}")]
    Unread(UnreadFile),
    /// The client has no such file.
    #[error("{name} has no {scope} file that names servers")]
    NoFile {
        /// The client.
        name: &'static str,
        /// The scope that was asked for.
        scope: &'static str,
    },
    /// A file cannot be written.
    #[error("{}: cannot be written: {error}; it is as it was", file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// Why.
        error: std::io::Error,
    },
}

/// A file before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDraft {
    /// The file.
    pub file: PathBuf,
    /// Its text now; none where it is not there.
    pub before: Option<String>,
    /// Its text then; none where it is removed.
    pub after: Option<String>,
}

impl FileDraft {
    /// Whether anything differs.
    pub fn is_change(&self) -> bool {
        self.before != self.after
    }
}

/// What is to be said of an entry that is written, or was there already.
#[derive(Debug, Default)]
pub struct ConnectOutcome {
    /// What was left out or is amiss, in sentences.
    pub notes: Vec<String>,
    /// Whether the client does not start it, because the entry is switched off.
    pub is_off: bool,
}

/// The files of a change.
#[derive(Debug, Default)]
pub struct Drafts {
    drafts: Vec<FileDraft>,
    /// Folders that go with the last file in them, inner ones first.
    folders: Vec<PathBuf>,
}

impl Drafts {
    /// The files that would differ.
    pub fn changes(&self) -> impl Iterator<Item = &FileDraft> {
        self.drafts.iter().filter(|draft| draft.is_change())
    }

    /// Writes all of them. The first that fails ends it: that file is as it was, and so are those after it.
    pub fn write(&self) -> Result<(), ConnectError> {
        for draft in self.changes() {
            replace(&draft.file, draft.before.as_deref(), draft.after.as_deref())
                .map_err(|error| ConnectError::Write { file: draft.file.clone(), error })?;
        }
        let is_left = |folder: &&PathBuf| {
            self.changes().any(|draft| draft.after.is_none() && draft.file.starts_with(folder))
        };
        self.folders.iter().filter(is_left).for_each(|folder| remove_if_empty(folder));
        Ok(())
    }

    /// Connects a client in its file of this scope.
    pub fn connect(
        &mut self,
        client: &'static KnownClient,
        scope: EntryScope,
        wanted: &WantedEntry,
        environment: &Environment,
        project: &Path,
    ) -> Result<ConnectOutcome, ConnectError> {
        let missing = ConnectError::NoFile { name: client.name, scope: scope.word() };
        let Some(entry) = client.entry else { return Err(missing) };
        let file = place::file_for(&entry, scope, environment, project).ok_or(missing)?;
        refuse_outside(&file, scope, project)?;
        self.edit(&file, |text| server::connected(text, &entry, wanted))?;
        let mut notes = wanted.notes.clone();
        notes.extend(wanted.forwarded(&entry).missing.iter().map(|name| {
            let so = match *name {
                "ANALYTICS_TOKEN" => {
                    "usage events are sent without it, and the endpoint may refuse them"
                }
                _ => "private repositories over https need git's own credentials",
            };
            let client = client.name;
            format!("{client} does not pass {name} on, and no secret is written into a file: {so}")
        }));
        let written = self.written_entry(client, scope, environment, project)?;
        let off = written.as_ref().and_then(|found| found.switched_off.as_ref());
        notes.extend(off.map(|off| {
            let (what, line) = (&off.written, off.line);
            format!("the entry is switched off: remove `{what}` in {}:{line}", file.display())
        }));
        let gone = written.as_ref().and_then(|found| gone_directory(found, environment, project));
        notes.extend(gone);
        Ok(ConnectOutcome { notes, is_off: off.is_some() })
    }

    /// The entry of ours in the file of a scope, as it would be.
    fn written_entry(
        &mut self,
        client: &'static KnownClient,
        scope: EntryScope,
        environment: &Environment,
        project: &Path,
    ) -> Result<Option<FoundEntry>, ConnectError> {
        let file =
            client.entry.and_then(|entry| place::file_for(&entry, scope, environment, project));
        let Some(file) = file else { return Ok(None) };
        let text = self.draft(&file)?.after.clone().unwrap_or_default();
        let found = in_text(client, scope, &file, project, &text).map_err(ConnectError::Unread)?;
        Ok(found.into_iter().find(|found| found.scope == scope))
    }

    /// Disconnects a client in every file of this scope; the user's file may also have entries for this project alone.
    pub fn disconnect(
        &mut self,
        client: &'static KnownClient,
        scope: EntryScope,
        environment: &Environment,
        project: &Path,
    ) -> Result<(), ConnectError> {
        let Some(entry) = client.entry else { return Ok(()) };
        for (of, file) in place::files(&entry, environment, project) {
            if of == scope {
                self.edit_existing(&file, |text| server::disconnected(text, &entry))?;
            }
            if of == scope && of == EntryScope::User && has_local_entries(client) {
                let project = project.to_string_lossy();
                self.edit_existing(&file, |text| {
                    server::disconnected_locally(text, &entry, &project)
                })?;
            }
            self.folders.extend(place::client_folders(&file, environment, project));
        }
        if let Some(file) = hooks::file_for(client, scope, environment, project) {
            self.edit_existing(&file, |text| hooks::removed(text, client))?;
            self.folders.extend(place::client_folders(&file, environment, project));
        }
        Ok(())
    }

    /// Adds the prompt hook of a client, which starts the same server as its entry; whether that differs from what was there.
    pub fn hook(
        &mut self,
        client: &'static KnownClient,
        scope: EntryScope,
        environment: &Environment,
        project: &Path,
    ) -> Result<bool, ConnectError> {
        let missing = || ConnectError::NoFile { name: client.name, scope: scope.word() };
        let file = hooks::file_for(client, scope, environment, project).ok_or_else(missing)?;
        refuse_outside(&file, scope, project)?;
        let entry = self.written_entry(client, scope, environment, project)?;
        let entry = entry.ok_or_else(missing)?;
        let before = self.draft(&file)?.after.clone();
        self.edit(&file, |text| hooks::added(text, client, &entry))?;
        Ok(self.draft(&file)?.after != before)
    }

    /// Whether a prompt hook of ours is in the client's file of this scope. A file that cannot be read has none that we could
    /// bring up to date.
    pub fn has_hook(
        &mut self,
        client: &'static KnownClient,
        scope: EntryScope,
        environment: &Environment,
        project: &Path,
    ) -> bool {
        let file = hooks::file_for(client, scope, environment, project);
        let text = file.and_then(|file| self.draft(&file).ok()?.after.clone());
        text.is_some_and(|text| hooks::has_ours(&text, client))
    }

    /// Adds the block with this rule to the project's rules.
    pub fn rule(&mut self, rule: &str, project: &Path) -> Result<(), ConnectError> {
        let file = project.join(rules::RULES_FILE);
        refuse_outside(&file, EntryScope::Project, project)?;
        self.edit(&file, |text| Ok(rules::with_block(text, rule)))
    }

    /// Removes the block from the project's rules.
    pub fn no_rule(&mut self, project: &Path) -> Result<(), ConnectError> {
        self.edit_existing(&project.join(rules::RULES_FILE), |text| Ok(rules::without_block(text)))
    }

    fn edit_existing(
        &mut self,
        file: &Path,
        change: impl FnOnce(&str) -> Result<String, TreeError>,
    ) -> Result<(), ConnectError> {
        if self.draft(file)?.after.is_none() { Ok(()) } else { self.edit(file, change) }
    }

    /// Changes a file's draft. A text that says nothing is no file, unless the file was there before us: what we make ends
    /// with a line break, and a link was made by the person.
    fn edit(
        &mut self,
        file: &Path,
        change: impl FnOnce(&str) -> Result<String, TreeError>,
    ) -> Result<(), ConnectError> {
        let draft = self.draft(file)?;
        let is_there = draft.after.is_some();
        let before = draft.after.clone().unwrap_or_default();
        let after = change(&before)
            .map_err(|error| ConnectError::Unread(UnreadFile::unparsed(file, error)))?;
        if after == before {
            return Ok(());
        }
        let is_nothing = |text: &str| matches!(without_mark(text).0.trim(), "" | "{}");
        draft.after = if is_nothing(&after) {
            let found = draft.before.as_deref().unwrap_or_default();
            let was_empty = !found.ends_with('\n') || was_empty_object(without_mark(found).0);
            let is_json = file.extension().is_some_and(|extension| extension == "json");
            let empty = if is_json && after.is_empty() { "{}\n".to_owned() } else { after };
            (is_there && (was_empty || is_link(file))).then_some(empty)
        } else if is_there && without_mark(&before).0.trim().is_empty() {
            Some(after.trim_end_matches(['\r', '\n']).to_owned())
        } else {
            Some(after)
        };
        Ok(())
    }

    fn draft(&mut self, file: &Path) -> Result<&mut FileDraft, ConnectError> {
        let known = self.drafts.iter().position(|draft| draft.file == file);
        let at = if let Some(at) = known {
            at
        } else {
            let before = read(file)
                .map_err(|error| ConnectError::Unread(UnreadFile::unread(file, &error)))?;
            let after = before.clone();
            self.drafts.push(FileDraft { file: file.to_path_buf(), before, after });
            self.drafts.len() - 1
        };
        let missing = || {
            ConnectError::Unread(UnreadFile {
                file: file.to_path_buf(),
                line: None,
                message: String::new(),
                hint: "",
            })
        };
        self.drafts.get_mut(at).ok_or_else(missing)
    }
}

/// Refuses a file of the project that a link leads out of it: the link came with the project, and may lead to any file.
fn refuse_outside(file: &Path, scope: EntryScope, project: &Path) -> Result<(), ConnectError> {
    let outside = (scope == EntryScope::Project).then(|| outside(file, project)).flatten();
    outside.map_or(Ok(()), |written| {
        Err(ConnectError::Unread(UnreadFile {
            file: file.to_path_buf(),
            line: None,
            message: format!("a link leads out of the project, to {}", written.display()),
            hint: "replace the link by a file, or connect with --user",
        }))
    })
}

/// A directory that an entry names and that is not there. The command line names none: it would have been refused.
fn gone_directory(entry: &FoundEntry, environment: &Environment, project: &Path) -> Option<String> {
    let sources = entry.sources(environment.home.as_deref());
    let gone = sources.directories.iter().find(|path| !is_folder(&project.join(path)))?;
    let named = if name_sources(entry.own_args()) { "--dir" } else { "SKILLS_DIR" };
    Some(format!("the entry keeps {named} {}, which is not there", gone.display()))
}
