//! Which sources the operator names, and their names. Not here: whether they exist, or are allowed.

use std::{
    ffi::OsStr,
    path::{Component, Path, PathBuf},
};

use super::Environment;
use crate::paths::real_path_or_same;

/// A directory that the operator named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedDirectory {
    /// Unique among the sources; stands before a path that an earlier source has too.
    pub name: String,
    /// Absolute.
    pub path: PathBuf,
    /// The variable or flag, for messages.
    pub origin: &'static str,
}

/// A repository that the operator named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedRepository {
    /// Unique among the sources, directories included.
    pub name: String,
    /// As written: a URL, with `#branch` or `@commit` or neither. Whether it is accepted is decided by `source`.
    pub url: String,
    /// The variable or flag, for messages.
    pub origin: &'static str,
}

/// All sources that the operator named, directories before repositories.
#[derive(Debug, Default)]
pub struct NamedSources {
    /// Directories.
    pub directories: Vec<NamedDirectory>,
    /// Repositories.
    pub repositories: Vec<NamedRepository>,
}

impl NamedSources {
    /// Whether the operator named none.
    pub fn is_empty(&self) -> bool {
        self.directories.is_empty() && self.repositories.is_empty()
    }
}

/// The sources of `--dir` and `--repo`, else of `SKILLS_DIR`, else of `SKILLS_REPO`, else none.
pub fn named_sources(
    environment: &Environment,
    directories: &[PathBuf],
    repositories: &[String],
) -> NamedSources {
    let mut named = NamedSources::default();
    if !directories.is_empty() || !repositories.is_empty() {
        for path in directories {
            named.directory(environment, path, "--dir");
        }
        for url in repositories {
            named.repository(url, "--repo");
        }
    } else if let Some(directory) = environment.get("SKILLS_DIR") {
        named.directory(environment, Path::new(directory), "SKILLS_DIR");
    } else if let Some(url) = environment.get("SKILLS_REPO") {
        named.repository(url, "SKILLS_REPO");
    }
    named
}

impl NamedSources {
    fn directory(&mut self, environment: &Environment, path: &Path, origin: &'static str) {
        let path = plain(&environment.directory.join(expand_home(path, environment)));
        let name = self.free(&name_of(&path));
        self.directories.push(NamedDirectory { name, path, origin });
    }

    fn repository(&mut self, url: &str, origin: &'static str) {
        // The name of `git@host:team/skills.git#main` comes from `team/skills`.
        let place = url.split('#').next().unwrap_or(url);
        let place = match place.rsplit_once('@') {
            Some((place, commit)) if !commit.contains(['/', ':']) => place,
            _ => place,
        };
        let place = place.rsplit_once(':').map_or(place, |(_, place)| place).trim_end_matches('/');
        let place = place.strip_suffix(".git").unwrap_or(place);
        let name = self.free(&name_of(Path::new(place)));
        self.repositories.push(NamedRepository { name, url: url.to_owned(), origin });
    }

    /// This name, or the same with a number where another source has it.
    fn free(&self, base: &str) -> String {
        let mut taken =
            self.directories.iter().map(|source| source.name.as_str()).collect::<Vec<_>>();
        taken.extend(self.repositories.iter().map(|source| source.name.as_str()));
        let mut name = base.to_owned();
        let mut number = 2;
        while taken.contains(&name.as_str()) {
            name = format!("{base}-{number}");
            number += 1;
        }
        name
    }
}

/// `~/x` arrives unexpanded from client configuration files.
fn expand_home(path: &Path, environment: &Environment) -> PathBuf {
    match (path.strip_prefix("~"), &environment.home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_path_buf(),
    }
}

/// Without `.` and `..`: messages name the path. What a `..` leads to only the disk knows, where links are on the way.
fn plain(path: &Path) -> PathBuf {
    let path: PathBuf = path.components().collect();
    let has_parent = path.components().any(|part| part == Component::ParentDir);
    if has_parent { real_path_or_same(&path) } else { path }
}

/// The folder's name; for a folder called `skills`, the one around it says more.
fn name_of(path: &Path) -> String {
    let mut names =
        path.iter().rev().filter(|part| *part != "/" && *part != "..").map(OsStr::to_string_lossy);
    let last = names.next().unwrap_or_default();
    let name = if last == "skills" { names.next().unwrap_or(last) } else { last };
    let plain: String = name
        .chars()
        .map(|c| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' })
        .collect();
    if plain.is_empty() { "skills".to_owned() } else { plain }
}

#[cfg(test)]
mod tests {
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

    fn names(named: &NamedSources) -> Vec<&str> {
        let directories = named.directories.iter().map(|source| source.name.as_str());
        directories.chain(named.repositories.iter().map(|source| source.name.as_str())).collect()
    }

    // SOURCE-1
    #[test]
    fn flags_win_over_the_variable_and_the_variable_over_the_repository() {
        let environment = environment(&[
            ("SKILLS_DIR", "~/team/skills"),
            ("SKILLS_REPO", "https://example.org/x.git"),
        ]);
        let from_variable = named_sources(&environment, &[], &[]);
        assert_eq!(from_variable.directories[0].path, Path::new("/home/ada/team/skills"));
        assert_eq!(names(&from_variable), ["team"]);
        let from_flags = named_sources(&environment, &["a/skills".into(), "/b/a".into()], &[]);
        assert_eq!(names(&from_flags), ["a", "a-2"]);
        let repository = named_sources(&environment, &[], &["https://example.org/y".to_owned()]);
        assert_eq!(names(&repository), ["y"]);
    }

    #[test]
    fn repositories_are_called_by_the_last_part_of_their_url() {
        let named = |url: &str| {
            names(&named_sources(&environment(&[("SKILLS_REPO", url)]), &[], &[])).concat()
        };
        assert_eq!(named("https://example.org/team/content.git"), "content");
        assert_eq!(named("git@example.org:team/skills.git#next"), "team");
        assert_eq!(named("ssh://git@example.org/team/content@0123456789"), "content");
        let both = ["file:///a/x.git".to_owned(), "file:///b/x.git".to_owned()];
        assert_eq!(
            names(&named_sources(&environment(&[]), &["x".into()], &both)),
            ["x", "x-2", "x-3"]
        );
    }

    #[test]
    fn c08_a_path_has_no_dots_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(real.join("a/b")).unwrap();
        let named = |path: PathBuf| {
            named_sources(&environment(&[]), &[path], &[]).directories.remove(0).path
        };
        assert_eq!(named("./x/./y/".into()), Path::new("/start/x/y"));
        assert_eq!(named(real.join("a/b/../b/.")), real.join("a/b"));
    }

    #[test]
    fn nothing_named_is_nothing() {
        assert!(named_sources(&environment(&[]), &[], &[]).is_empty());
    }
}
