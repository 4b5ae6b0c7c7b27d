//! `add`: names a folder or a git repository as a source for good, in the user's configuration or in the project's file.
//!
//! The source is opened first, so that what is written can be served. Adding takes nothing away: where the agents' directories
//! were served and hold skills, they go on being served. Not here: how the file is edited (`sources_file`).

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use super::{
    Context, Failure, Output,
    output::{bold, counted, dim, safe},
    sources_file::{ConfigFile, hidden_by, kept_sources},
    sync,
};
use crate::{
    config::{
        ListedPlace, NamedDirectory, NamedRepository, NamedSource, NamedSources, Trust, github_url,
        name_mistake, revised,
    },
    paths::{expand_home, is_folder, real_path_or_same},
    source::Directory,
    store::Cause,
};

#[derive(clap::Args)]
pub(super) struct AddOptions {
    /// A folder of skills, the URL of a git repository, or `owner/name` on GitHub
    #[arg(value_name = "PATH|URL|OWNER/NAME", required_unless_present = "agents")]
    what: Option<String>,
    /// Follow this branch of the repository
    #[arg(long, conflicts_with = "commit")]
    branch: Option<String>,
    /// Serve exactly this commit of the repository
    #[arg(long, value_name = "SHA")]
    commit: Option<String>,
    /// Call the source this
    #[arg(long)]
    name: Option<String>,
    /// Write it into the project's .skills-mcp.yaml, for everyone who works on the project
    #[arg(long)]
    project: bool,
    /// Serve the agents' directories and plugins, too
    #[arg(long)]
    agents: bool,
    /// Show what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
}

/// The fields of an entry.
type EntryFields = Vec<(&'static str, String)>;

/// What is added.
struct Addition {
    source: NamedSource,
    fields: EntryFields,
    /// How the words were taken, where they could mean something else.
    note: Option<String>,
    /// How many skills it has, once it was opened.
    skills: Option<usize>,
}

pub(super) fn run(context: &Context, options: &AddOptions) -> Result<ExitCode, Failure> {
    let environment = &context.environment;
    check_name(options.name.as_deref())?;
    let read = || {
        if options.project {
            ConfigFile::of_project(environment)
        } else {
            ConfigFile::of_user(environment)
        }
    };
    let mut addition = match &options.what {
        Some(what) => Some(Addition::of(context, options, &read()?, what)?),
        None => None,
    };
    // Fetching takes its time, so other commands do not have to wait for it.
    if let Some(addition) = &mut addition {
        let file = read()?;
        if known_at(context, &file, &addition.source)?.is_none() {
            addition.look(context, options, &file)?;
        }
    }
    let _lock = if options.dry_run { None } else { ConfigFile::lock(environment)? };
    let file = read()?;
    let mut entries: Vec<EntryFields> = Vec::new();
    let (mut first, mut said) = (None, Vec::new());
    if let Some(addition) = &mut addition {
        said.extend(addition.note.clone());
        let name = safe(&shown(&addition.source));
        if let Some(place) = known_at(context, &file, &addition.source)? {
            check_known_name(context, options, &place)?;
            first = Some(format!("{name} is there already: {}", safe(&place)));
        } else {
            let skills = counted(addition.look(context, options, &file)?, "skill");
            entries.push(addition.fields.clone());
            let verb = if options.dry_run { "would add" } else { "added" };
            first = Some(format!("{verb} {}  {}", bold(&name), dim(&skills)));
        }
    }
    let (agents, why) = agents_entry(context, options, &file, !entries.is_empty())?;
    entries.extend(agents);
    said.extend(why);
    let changed = match &*entries {
        [] => None,
        entries => Some(file.text.with_sources(entries).map_err(|error| file.refused(&error))?),
    };
    if let Some(changed) = changed.as_ref().filter(|_| !options.dry_run) {
        file.write(context, changed)?;
    }
    let mut out = Output::new();
    if let Some(line) = first {
        out.line(line);
    }
    if let Some(changed) = &changed {
        file.print_change(&mut out, changed);
        said.extend(hidden_by(environment));
    }
    for sentence in &said {
        out.sentence("", sentence);
    }
    Ok(ExitCode::SUCCESS)
}

impl Addition {
    fn of(
        context: &Context,
        options: &AddOptions,
        file: &ConfigFile,
        what: &str,
    ) -> Result<Self, Failure> {
        let environment = &context.environment;
        let home = environment.home.as_deref();
        let path = environment.directory.join(expand_home(what, home));
        let mut addition = if is_folder(&path) {
            if options.branch.is_some() || options.commit.is_some() {
                return Err(Failure::usage(
                    format!("{what} is a folder of this machine, which has no branch here"),
                    "leave out --branch and --commit, or name the repository by its URL",
                ));
            }
            Self::directory(file, home, what, &path)?
        } else if let Some(url) = github_url(what, &environment.directory) {
            let note = format!("no folder here is called {what}, so it is taken as {url}");
            Self { note: Some(note), ..Self::repository(options, &url)? }
        } else if what.contains(':') {
            Self::repository(options, what)?
        } else {
            return Err(Failure::usage(
                format!("there is no folder {}", path.display()),
                "name a folder of skills, a URL such as https://example.org/team/skills.git, or owner/name on GitHub",
            ));
        };
        addition.fields.extend(options.name.clone().map(|name| ("name", name)));
        Ok(addition)
    }

    fn directory(
        file: &ConfigFile,
        home: Option<&Path>,
        what: &str,
        path: &Path,
    ) -> Result<Self, Failure> {
        let real = real_path_or_same(path);
        let written = match &file.project {
            Some(project) => relative(&real, file.folder(), project).ok_or_else(|| {
                Failure::usage(
                    format!("{} is outside of the project", real.display()),
                    "a project's file names folders of the project only; leave out --project",
                )
            })?,
            None => in_home(&real, home),
        };
        let nowhere = Path::new("/dev/null");
        let note = github_url(what, nowhere).map(|url| {
            format!("{what} is a folder here; for the repository on GitHub write {url}")
        });
        let source = NamedSource::Directory(NamedDirectory {
            name: "added".to_owned(),
            path: real,
            origin: "add".into(),
            project: file.project.clone(),
        });
        Ok(Self { source, fields: vec![("dir", written)], note, skills: None })
    }

    fn repository(options: &AddOptions, url: &str) -> Result<Self, Failure> {
        let (branch, commit) = (options.branch.as_deref(), options.commit.as_deref());
        let whole = revised(url, branch, commit)
            .map_err(|why| Failure::usage(why, "write --branch NAME or --commit and 40 digits"))?;
        let mut fields = vec![("repo", url.to_owned())];
        fields.extend(branch.map(|branch| ("branch", branch.to_owned())));
        fields.extend(commit.map(|commit| ("commit", commit.to_owned())));
        let (name, origin) = ("added".to_owned(), "add".into());
        let source = NamedSource::Repository(NamedRepository {
            name,
            url: whole,
            origin,
            of_project: false,
        });
        Ok(Self { source, fields, note: None, skills: None })
    }

    /// How many skills it has, if it may be written into this file: it is opened, once.
    fn look(
        &mut self,
        context: &Context,
        options: &AddOptions,
        file: &ConfigFile,
    ) -> Result<usize, Failure> {
        check_free_name(file, options.name.as_deref())?;
        if let Some(skills) = self.skills {
            return Ok(skills);
        }
        let nothing = self.note.as_ref().map_or_else(
            || "nothing was written".to_owned(),
            |note| format!("{note}, and nothing was written"),
        );
        let skills = skills_of(context, &self.source).map_err(|failure| failure.also(&nothing))?;
        self.skills = Some(skills);
        Ok(skills)
    }
}

/// The source in a word.
fn shown(source: &NamedSource) -> String {
    match source {
        NamedSource::Directory(directory) => directory.path.display().to_string(),
        NamedSource::Repository(repository) => repository.url.clone(),
    }
}

/// Where the file names this source already. The same repository with another branch or commit is an error.
fn known_at(
    context: &Context,
    file: &ConfigFile,
    source: &NamedSource,
) -> Result<Option<String>, Failure> {
    let home = context.environment.home.as_deref();
    for entry in &file.list.entries {
        let place = file.place(entry.line);
        match source {
            NamedSource::Directory(wanted) => {
                let known = file.directory(entry, home);
                if known.is_some_and(|known| place_of(&known) == place_of(&wanted.path)) {
                    return Ok(Some(place));
                }
            }
            NamedSource::Repository(wanted) => {
                let known = file.url(entry);
                if known.as_deref() == Some(&*wanted.url) {
                    return Ok(Some(place));
                }
                if known.is_some_and(|known| address(&known) == address(&wanted.url)) {
                    return Err(Failure::usage(
                        format!("{place} names this repository with another branch or commit"),
                        "`skills-mcp remove URL` takes it out; then add it again",
                    ));
                }
            }
        }
    }
    Ok(None)
}

/// The folder whose skills are served where this one is named.
fn place_of(path: &Path) -> PathBuf {
    let named = NamedDirectory {
        name: String::new(),
        path: path.to_path_buf(),
        origin: "add".into(),
        project: None,
    };
    let opened = Directory::open(&named, Trust::default());
    opened.map_or_else(|_| path.to_path_buf(), |opened| real_path_or_same(opened.path()))
}

/// A URL without its branch or commit.
pub(super) fn address(url: &str) -> &str {
    let url = url.split('#').next().unwrap_or(url);
    match url.rsplit_once('@') {
        Some((address, commit)) if !commit.contains(['/', ':', '.']) => address,
        _ => url,
    }
}

fn check_name(name: Option<&str>) -> Result<(), Failure> {
    let Some((name, why)) = name.and_then(|name| Some((name, name_mistake(name)?))) else {
        return Ok(());
    };
    let message = format!("--name: `{name}` cannot be a source's name: {why}");
    Err(Failure::usage(message, "choose another name"))
}

/// A source that is there keeps its name: the file is the operator's, who may have named it so on purpose.
fn check_known_name(context: &Context, options: &AddOptions, place: &str) -> Result<(), Failure> {
    let (Some(what), Some(wanted)) = (&options.what, &options.name) else { return Ok(()) };
    let kept = kept_sources(&context.environment)?;
    let known = kept.sources.iter().find(|source| source.origin() == place);
    match known {
        Some(known) if known.name() != wanted => Err(Failure::usage(
            format!("{place} names {what} already and calls it `{}`", known.name()),
            format!(
                "`skills-mcp remove {}` takes it out; then add it again with --name {wanted}",
                known.name()
            ),
        )),
        _ => Ok(()),
    }
}

fn check_free_name(file: &ConfigFile, name: Option<&str>) -> Result<(), Failure> {
    let Some(name) = name else { return Ok(()) };
    let taken = file.list.entries.iter().find(|entry| entry.name.as_deref() == Some(name));
    match taken {
        Some(taken) => Err(Failure::usage(
            format!("--name: {} has the name `{name}` already", file.place(taken.line)),
            "choose another name",
        )),
        None => Ok(()),
    }
}

/// How many skills a source has: it is opened, and fetched where it is a repository. None is a reason not to add it.
fn skills_of(context: &Context, source: &NamedSource) -> Result<usize, Failure> {
    let named = NamedSources { sources: vec![source.clone()], ..NamedSources::default() };
    let store = context.store_over(context.layers()?, &named)?;
    sync::before_adding(&store)?;
    let skills = store.refresh(Cause::Start).snapshot.catalog.len();
    if skills > 0 {
        return Ok(skills);
    }
    let hint = match source {
        NamedSource::Directory(directory) => {
            let path = directory.path.display();
            format!("`skills-mcp check {path}` says why; `skills-mcp init {path}` makes some")
        }
        NamedSource::Repository(_) => {
            "skills are folders with a SKILL.md, or .md files with keywords; --branch names another branch".to_owned()
        }
    };
    Err(Failure::finding(format!("{} has no skills", shown(source))).with_hint(hint))
}

/// `agents: true`, where it was asked for, or where this is the first source and the agents' directories hold skills.
fn agents_entry(
    context: &Context,
    options: &AddOptions,
    file: &ConfigFile,
    adds_source: bool,
) -> Result<(Option<EntryFields>, Option<String>), Failure> {
    let is_agents = |entry: &crate::config::ListedSource| entry.place == ListedPlace::Agents(true);
    if file.list.entries.iter().any(is_agents) {
        return Ok((None, None));
    }
    let entry = || Some(vec![("agents", "true".to_owned())]);
    if options.agents {
        return Ok((entry(), None));
    }
    let kept = kept_sources(&context.environment)?;
    if !adds_source || !kept.is_empty() || kept.agents {
        return Ok((None, None));
    }
    let store = context.agents(context.layers()?);
    let skills = store.refresh(Cause::Start).snapshot.catalog.len();
    let sentence = format!(
        "The agents' directories have {} and are served as before: `agents: true` says so. `skills-mcp remove agents` serves only what you add.",
        counted(skills, "skill")
    );
    Ok(if skills == 0 { (None, None) } else { (entry(), Some(sentence)) })
}

/// A path as the user's file has it.
fn in_home(path: &Path, home: Option<&Path>) -> String {
    let below = home.map(real_path_or_same).and_then(|home| {
        let below = path.strip_prefix(home).ok()?;
        Some(PathBuf::from("~").join(below))
    });
    below.unwrap_or_else(|| path.to_path_buf()).display().to_string()
}

/// A path as the project's file has it; none where it is outside of the project.
fn relative(path: &Path, folder: &Path, project: &Path) -> Option<String> {
    path.strip_prefix(project).ok()?;
    let mut up = PathBuf::new();
    for above in folder.ancestors() {
        if let Ok(below) = path.strip_prefix(above) {
            let shown = up.join(below);
            let is_same = shown.as_os_str().is_empty();
            return Some(if is_same { ".".to_owned() } else { shown.display().to_string() });
        }
        up.push("..");
    }
    None
}
