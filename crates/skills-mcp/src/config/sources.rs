//! Which sources there are and what they are called: those of the flags, else of the variables, else of the project's and the
//! user's files. Not here: what a file's entries look like (`source_list`), whether a place exists, or is allowed.

use std::{
    borrow::Cow,
    path::{Component, Path, PathBuf},
};

use super::{
    ConfigError, Environment,
    file::read_users_file,
    project_file::ProjectFile,
    source_list::{ListedPlace, SourceList},
    source_name::{AGENTS_NAME, github_url, is_agents_name, name_of, name_of_url},
    value::without_userinfo,
};
use crate::paths::{is_folder, listing_error, real_path, real_path_or_same};

/// A directory that the operator named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedDirectory {
    /// Unique among the sources; stands before a path that an earlier source has too.
    pub name: String,
    /// Absolute.
    pub path: PathBuf,
    /// The variable, the flag or the line of a file, for messages.
    pub origin: Cow<'static, str>,
    /// The project that the directory must stay in, where only the project's file names it.
    pub project: Option<PathBuf>,
}

/// A repository that the operator named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedRepository {
    /// Unique among the sources, directories included.
    pub name: String,
    /// As written: a URL, with `#branch` or `@commit` or neither. Whether it is accepted is decided by `source`.
    pub url: String,
    /// The variable, the flag or the line of a file, for messages.
    pub origin: Cow<'static, str>,
    /// Whether only the project's file names it.
    pub of_project: bool,
}

/// A source that the operator named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamedSource {
    /// A directory.
    Directory(NamedDirectory),
    /// A repository.
    Repository(NamedRepository),
}

impl NamedSource {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Directory(NamedDirectory { name, .. })
            | Self::Repository(NamedRepository { name, .. }) => name,
        }
    }

    /// The variable, the flag or the line of a file that names it.
    pub fn origin(&self) -> &str {
        match self {
            Self::Directory(NamedDirectory { origin, .. })
            | Self::Repository(NamedRepository { origin, .. }) => origin,
        }
    }
}

/// All sources that the operator named.
#[derive(Debug, Default)]
pub struct NamedSources {
    /// In the order of precedence.
    pub sources: Vec<NamedSource>,
    /// Whether the agents' directories and plugins are served beside them.
    pub agents: bool,
    /// Whether they were looked for in files, since no flag and no variable names any.
    pub in_files: bool,
    /// The tool sets that a file names, and its line.
    pub tools: Option<(String, String)>,
    /// The project's file, where sources are looked for in files.
    pub project: Option<ProjectFile>,
    /// What the operator should know of these files.
    pub notices: Vec<String>,
    /// The directories of the user's files that are not there or cannot be read. They are left out, and the other sources are
    /// served.
    pub left_out: Vec<PathBuf>,
}

impl NamedSources {
    /// Whether the operator named none. One that is left out is named: no other directory takes its place.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty() && self.left_out.is_empty()
    }

    /// These repositories, which a file of this name has the URLs of: a project's, as far as trust goes.
    pub fn repositories<'a>(urls: impl Iterator<Item = &'a str>, origin: &'static str) -> Self {
        let mut named = Self::default();
        urls.for_each(|url| named.push_repository(url.to_owned(), origin, true));
        named
    }

    /// The directories among them.
    pub fn directories(&self) -> impl Iterator<Item = &NamedDirectory> {
        self.sources.iter().filter_map(|source| match source {
            NamedSource::Directory(directory) => Some(directory),
            NamedSource::Repository(_) => None,
        })
    }
}

/// The sources of `--dir` and `--repo`, else of `SKILLS_DIR`, else of `SKILLS_REPO`, else of the project's file and after it
/// of the user's files, else none.
pub fn named_sources(
    environment: &Environment,
    directories: &[PathBuf],
    repositories: &[String],
) -> Result<NamedSources, ConfigError> {
    let lists = user_lists(environment)?;
    let mut named = NamedSources::default();
    if !directories.is_empty() || !repositories.is_empty() {
        for path in directories {
            named.directory(environment, path, "--dir");
        }
        for url in repositories {
            named.repository(environment, url, "--repo");
        }
    } else if let Some(directory) = environment.get("SKILLS_DIR") {
        named.directory(environment, Path::new(directory), "SKILLS_DIR");
    } else if let Some(url) = environment.get("SKILLS_REPO") {
        named.repository(environment, url, "SKILLS_REPO");
    } else {
        named.in_files = true;
        named.project = ProjectFile::find(environment);
        named.read_files(environment, &lists);
    }
    if named.tools.is_none() {
        named.tools = lists.iter().find_map(ListFile::tools);
    }
    Ok(named)
}

/// What one file says about sources.
struct ListFile {
    file: PathBuf,
    list: SourceList,
}

impl ListFile {
    fn tools(&self) -> Option<(String, String)> {
        let (tools, line) = self.list.tools.clone()?;
        Some((tools, format!("{}:{line}", self.file.display())))
    }
}

/// What the user's files say, the one that overrides the other first.
fn user_lists(environment: &Environment) -> Result<Vec<ListFile>, ConfigError> {
    let mut lists = Vec::new();
    for file in environment.user_files().into_iter().rev() {
        let name = file.display().to_string();
        let text = read_users_file(&file).map_err(|error| ConfigError::Unreadable {
            file: name.clone(),
            error: error.to_string(),
        })?;
        if let Some(text) = text {
            lists.push(ListFile { file, list: SourceList::read(&name, &text)? });
        }
    }
    Ok(lists)
}

/// An entry of a file on its way to a source.
struct SourceCandidate {
    place: ListedPlace,
    name: Option<String>,
    origin: String,
    folder: PathBuf,
    /// The project, where its file has the entry.
    project: Option<PathBuf>,
}

/// What the user names, wherever a project's file names it too.
struct UsersPlaces {
    directories: Vec<PathBuf>,
    urls: Vec<String>,
}

impl SourceCandidate {
    /// The address of the repository it names.
    fn url(&self) -> Option<String> {
        let ListedPlace::Repository(url) = &self.place else { return None };
        Some(github_url(url, &self.folder).unwrap_or_else(|| url.clone()))
    }

    /// The directory it names, absolute.
    fn directory(&self, environment: &Environment) -> Option<PathBuf> {
        let ListedPlace::Directory(path) = &self.place else { return None };
        let path = self.folder.join(expand_home(Path::new(path), environment));
        Some(path.components().collect())
    }
}

impl NamedSources {
    fn directory(&mut self, environment: &Environment, path: &Path, origin: &'static str) {
        let path = plain(&environment.directory.join(expand_home(path, environment)));
        let real = real_path_or_same(&path);
        let same = self.directories().find(|known| real_path_or_same(&known.path) == real);
        if let Some(same) = same {
            let (path, name) = (path.display(), &same.name);
            self.notices
                .push(format!("{origin}: {path} is the folder of `{name}`, and is served once"));
            return;
        }
        let name = self.free(&name_of(&path), &[]);
        let origin = origin.into();
        let directory = NamedDirectory { name, path, origin, project: None };
        self.sources.push(NamedSource::Directory(directory));
    }

    fn repository(&mut self, environment: &Environment, url: &str, origin: &'static str) {
        let url = github_url(url, &environment.directory).unwrap_or_else(|| url.to_owned());
        self.push_repository(url, origin, false);
    }

    fn push_repository(&mut self, url: String, origin: &'static str, of_project: bool) {
        let is_same = |source: &NamedSource| matches!(source, NamedSource::Repository(known) if known.url == url);
        if self.sources.iter().any(is_same) {
            let shown = without_userinfo(&url);
            self.notices.push(format!("{origin}: {shown} is named twice, and is served once"));
            return;
        }
        let name = self.free(&name_of_url(&url), &[]);
        let origin = origin.into();
        self.sources.push(NamedSource::Repository(NamedRepository {
            name,
            url,
            origin,
            of_project,
        }));
    }

    /// The sources of the project's file, if the operator agreed to it, then those of the user's files; each place once.
    fn read_files(&mut self, environment: &Environment, lists: &[ListFile]) {
        let mut candidates = Vec::new();
        if let Some(project) = &self.project {
            self.notices = project.notices();
            if let Some(list) = project.agreed() {
                let of_project = Some(project.root.as_path());
                candidates.extend(candidates_of(&project.path, list, of_project));
                let at = |(tools, line): (String, u32)| {
                    (tools, format!("{}:{line}", project.path.display()))
                };
                self.tools = list.tools.clone().map(at);
            }
        }
        for ListFile { file, list } in lists {
            candidates.extend(candidates_of(file, list, None));
        }
        self.agents = candidates.iter().any(|one| one.place == ListedPlace::Agents(true));
        let users = || candidates.iter().filter(|one| one.project.is_none());
        let users = UsersPlaces {
            directories: users()
                .filter_map(|one| one.directory(environment))
                .map(|path| real_path_or_same(&path))
                .collect(),
            urls: users().filter_map(SourceCandidate::url).collect(),
        };
        let reserved: Vec<String> = candidates.iter().filter_map(|one| one.name.clone()).collect();
        for candidate in candidates {
            self.take(environment, candidate, &users, &reserved);
        }
    }

    fn take(
        &mut self,
        environment: &Environment,
        candidate: SourceCandidate,
        users: &UsersPlaces,
        reserved: &[String],
    ) {
        let (directory, url) = (candidate.directory(environment), candidate.url());
        let SourceCandidate { name, origin, mut project, .. } = candidate;
        let of_projects_file = project.is_some();
        if let Some(path) = directory {
            let real = real_path_or_same(&path);
            if self.directories().any(|known| real_path_or_same(&known.path) == real) {
                return;
            }
            // What the user names too is the user's.
            project = project.filter(|_| !users.directories.contains(&real));
            if let Some(why) = project.as_deref().and_then(|root| outside(&path, root)) {
                self.notices.push(format!("{origin}: {why}"));
                return;
            }
            if let Some(why) = absent(&path).filter(|_| project.is_none()) {
                let remove =
                    format!("`skills-mcp remove {}` takes it out of the file", path.display());
                self.notices.push(format!("{origin}: {why}; {remove}"));
                self.left_out.push(path);
                return;
            }
            let name = self.chosen(name, &name_of(&path), reserved);
            // What a project's file names is opened where it was found, wherever links of the project lead later.
            let path = if of_projects_file { real } else { path };
            let origin = origin.into();
            let directory = NamedDirectory { name, path, origin, project };
            self.sources.push(NamedSource::Directory(directory));
        } else if let Some(url) = url {
            let is_same = |source: &NamedSource| matches!(source, NamedSource::Repository(known) if known.url == url);
            if self.sources.iter().any(is_same) {
                return;
            }
            let name = self.chosen(name, &name_of_url(&url), reserved);
            let of_project = project.is_some() && !users.urls.contains(&url);
            let origin = origin.into();
            self.sources.push(NamedSource::Repository(NamedRepository {
                name,
                url,
                origin,
                of_project,
            }));
        }
    }

    /// The name that the entry has, else one made from its place that no entry has.
    fn chosen(&self, name: Option<String>, base: &str, reserved: &[String]) -> String {
        match name {
            Some(name) => self.free(&name, &[]),
            None => self.free(base, reserved),
        }
    }

    /// This name, or the same with a number where another source has it or is to have it.
    fn free(&self, base: &str, reserved: &[String]) -> String {
        let is_taken = |name: &str| {
            reserved.iter().any(|other| other == name)
                || self.sources.iter().any(|source| source.name() == name)
        };
        let base = match base {
            base if base == AGENTS_NAME || self.agents && is_agents_name(base) => {
                &format!("{base}-source")
            }
            base => base,
        };
        let mut name = base.to_owned();
        let mut number = 2;
        while is_taken(&name) {
            name = format!("{base}-{number}");
            number += 1;
        }
        name
    }
}

fn candidates_of(file: &Path, list: &SourceList, project: Option<&Path>) -> Vec<SourceCandidate> {
    let folder = file.parent().unwrap_or(file);
    let candidate = |entry: &super::source_list::ListedSource| SourceCandidate {
        place: entry.place.clone(),
        name: entry.name.clone(),
        origin: format!("{}:{}", file.display(), entry.line),
        folder: folder.to_path_buf(),
        project: project.map(Path::to_path_buf),
    };
    list.entries.iter().map(candidate).collect()
}

/// Why a source in this directory is left out: it is not there, or cannot be read.
fn absent(path: &Path) -> Option<String> {
    match real_path(path) {
        Some(real) if is_folder(&real) => {
            let error = listing_error(&real)?;
            Some(format!("{} cannot be read ({error}), so it is left out", real.display()))
        }
        Some(real) => Some(format!("{} is no directory, so it is left out", real.display())),
        None => Some(format!("there is no directory {}, so it is left out", path.display())),
    }
}

/// Why a project's file may not name this directory.
fn outside(path: &Path, project: &Path) -> Option<String> {
    let why = || {
        let real = real_path(path).filter(|real| !real.starts_with(project))?;
        Some(format!(
            "{} is outside of the project, so it is left out; `skills-mcp add {}` names it as your own",
            real.display(),
            real.display()
        ))
    };
    absent(path).or_else(why)
}

/// `~/x` arrives unexpanded from client configuration files.
fn expand_home(path: &Path, environment: &Environment) -> PathBuf {
    match (path.strip_prefix("~"), &environment.home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_path_buf(),
    }
}

/// Without `.` and `..`: messages name the path. What a `..` leads to only the disk knows, where links are on the way; what
/// comes after it stays as it was named, since consent is recorded under that name too.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |above, part| match part {
        Component::ParentDir => real_path_or_same(&above.join("..")),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::Normal(_) => {
            above.join(part)
        }
    })
}

#[cfg(test)]
mod tests {
    use skills_testkit::Home;

    use super::*;

    fn environment(variables: &[(&'static str, &str)]) -> Environment {
        let variables =
            variables.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        Environment {
            variables,
            directory: "/start".into(),
            home: Some("/home/ada".into()),
            ..Environment::default()
        }
    }

    fn named(
        environment: &Environment,
        directories: &[PathBuf],
        repositories: &[String],
    ) -> NamedSources {
        named_sources(environment, directories, repositories).unwrap()
    }

    fn names(named: &NamedSources) -> Vec<&str> {
        named.sources.iter().map(NamedSource::name).collect()
    }

    // SOURCE-1
    #[test]
    fn flags_win_over_the_variable_and_the_variable_over_the_repository() {
        let environment = environment(&[
            ("SKILLS_DIR", "~/team/skills"),
            ("SKILLS_REPO", "https://example.org/x.git"),
        ]);
        let from_variable = named(&environment, &[], &[]);
        assert_eq!(
            from_variable.directories().next().unwrap().path,
            Path::new("/home/ada/team/skills")
        );
        assert_eq!(names(&from_variable), ["team"]);
        let from_flags = named(&environment, &["a/skills".into(), "/b/a".into()], &[]);
        assert_eq!(names(&from_flags), ["a", "a-2"]);
        let repository = named(&environment, &[], &["https://example.org/y".to_owned()]);
        assert_eq!(names(&repository), ["y"]);
    }

    #[test]
    fn repositories_are_called_by_the_last_part_of_their_url() {
        let name =
            |url: &str| names(&named(&environment(&[("SKILLS_REPO", url)]), &[], &[])).concat();
        assert_eq!(name("https://example.org/team/content.git"), "content");
        assert_eq!(name("git@example.org:team/skills.git#next"), "team");
        assert_eq!(name("ssh://git@example.org/team/content@0123456789"), "content");
        let twice = ["file:///a/x.git".to_owned(), "file:///a/x.git".to_owned()];
        let once = named(&environment(&[]), &[], &twice);
        assert_eq!((names(&once), once.notices.len()), (vec!["x"], 1));
        let agents = named(&environment(&[]), &["/x/agents".into()], &[]);
        assert_eq!(names(&agents), ["agents-source"], "`remove agents` means something else");
        let both = ["file:///a/x.git".to_owned(), "file:///b/x.git".to_owned()];
        assert_eq!(names(&named(&environment(&[]), &["x".into()], &both)), ["x", "x-2", "x-3"]);
    }

    #[test]
    fn c08_a_path_has_no_dots_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(real.join("a/b")).unwrap();
        let path = |path: PathBuf| {
            let named = named(&environment(&[]), &[path], &[]);
            named.directories().next().unwrap().path.clone()
        };
        assert_eq!(path("./x/./y/".into()), Path::new("/start/x/y"));
        assert_eq!(path(real.join("a/b/../b/.")), real.join("a/b"));
    }

    #[test]
    fn nothing_named_is_nothing() {
        assert!(named(&environment(&[]), &[], &[]).is_empty());
    }

    fn home_environment(home: &Home) -> Environment {
        Environment {
            home: Some(home.path().to_path_buf()),
            config_home: Some(home.path().join(".config")),
            directory: home.path().join("project"),
            ..Environment::default()
        }
    }

    /// The places that sources lead to, below the home, with their names.
    fn places(home: &Home, named: &NamedSources) -> Vec<String> {
        let place = |source: &NamedSource| match source {
            NamedSource::Directory(one) => {
                format!("{} {}", one.name, one.path.strip_prefix(home.path()).unwrap().display())
            }
            NamedSource::Repository(one) => format!("{} {}", one.name, one.url),
        };
        named.sources.iter().map(place).collect()
    }

    // SOURCE-10
    #[test]
    fn files_name_sources_where_no_flag_or_variable_does() {
        let home = Home::new();
        home.write(
            ".config/skills-mcp/config.yaml",
            "sources:\n  - dir: ~/own\n  - repo: acme/skills\n  - agents: true\ntools: tree\n",
        );
        home.write(".skills-mcp/config.yaml", "sources:\n  - dir: beside\n  - dir: ~/own\n");
        home.write("own/x", "");
        home.write(".skills-mcp/beside/x", "");
        let mut environment = home_environment(&home);
        let files = named(&environment, &[], &[]);
        assert_eq!(
            places(&home, &files),
            ["own own", "acme https://github.com/acme/skills.git", "beside .skills-mcp/beside"]
        );
        assert!(files.agents);
        let (tools, line) = files.tools.clone().unwrap();
        assert!(tools == "tree" && line.ends_with("config.yaml:5"), "{line}");
        assert!(files.sources[0].origin().ends_with(".config/skills-mcp/config.yaml:2"));
        let flags = named(&environment, &["x".into()], &[]);
        assert_eq!((places(&home, &flags), flags.agents), (vec!["x project/x".to_owned()], false));
        environment.variables.insert("SKILLS_REPO", "https://a.org/y.git".to_owned());
        assert_eq!(names(&named(&environment, &[], &[])), ["y"]);
        home.write(".skills-mcp/config.yaml", "sources:\n  - dri: x\n");
        let wrong = named_sources(&environment, &[], &[]).unwrap_err().to_string();
        assert!(wrong.contains(".skills-mcp/config.yaml:2: unknown key `dri`"), "{wrong}");
    }

    // SOURCE-10
    #[test]
    fn a_directory_of_the_users_file_that_is_not_there_is_left_out_alone() {
        let home = Home::new();
        home.write("own/x", "");
        home.write("file", "");
        home.write(
            ".skills-mcp/config.yaml",
            "sources:\n  - dir: ~/gone\n  - dir: ~/own\n  - dir: ~/file\n",
        );
        let environment = home_environment(&home);
        let files = named(&environment, &[], &[]);
        assert_eq!(places(&home, &files), ["own own"]);
        let notices = files.notices.join("\n");
        assert!(notices.contains("config.yaml:2: there is no directory"), "{notices}");
        assert!(notices.contains("gone` takes it out of the file"), "{notices}");
        assert!(notices.contains("config.yaml:4: ") && notices.contains("is no directory"));
        assert_eq!(files.left_out, [home.path().join("gone"), home.path().join("file")]);
        home.write(".skills-mcp/config.yaml", "sources:\n  - dir: ~/gone\n");
        let only = named(&environment, &[], &[]);
        assert!(only.sources.is_empty() && !only.is_empty(), "nothing takes its place");
    }

    // SOURCE-11, SOURCE-12
    #[test]
    fn a_projects_file_counts_after_a_yes_and_leads_nowhere_else() {
        let home = Home::new();
        for folder in ["project/.git", "project/skills", "project/deep/skills", "own", "secret"] {
            home.write(&format!("{folder}/x"), "");
        }
        let link = home.path().join("project/link");
        std::os::unix::fs::symlink(home.path().join("secret"), link).unwrap();
        home.write(
            "project/.skills-mcp.yaml",
            "sources:\n  - dir: ../own\n  - dir: skills\n    name: team\n  - dir: ../secret\n  - dir: link\n  - dir: /etc\n  - dir: gone\n  - repo: https://a.org/team.git\nscripts:\n  sandbox: off\n",
        );
        home.write(".skills-mcp/config.yaml", "sources:\n  - dir: ~/own\n");
        let environment = home_environment(&home);
        let before = named(&environment, &[], &[]);
        assert_eq!(places(&home, &before), ["own own"]);
        assert_eq!(before.notices.len(), 1, "{:?}", before.notices);
        before.project.unwrap().decide(&environment, true).unwrap();
        let after = named(&environment, &[], &[]);
        assert_eq!(
            places(&home, &after),
            ["own own", "team project/skills", "team-2 https://a.org/team.git"]
        );
        let own = after.directories().map(|one| one.project.is_some()).collect::<Vec<_>>();
        assert_eq!(own, [false, true], "what the user names too is the user's");
        let notices = after.notices.join("\n");
        assert_eq!(notices.matches("is outside of the project").count(), 3, "{notices}");
        assert!(notices.contains("there is no directory"), "{notices}");
        assert!(notices.contains("yaml:10: `scripts` is not read"), "{notices}");
    }
}
