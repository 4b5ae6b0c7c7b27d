//! Which sources the operator names, and what they are called.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use super::{ConfigError, Environment};

/// A directory somebody named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedSource {
    /// Unique among the sources; stands before a path that an earlier source has too.
    pub name: String,
    /// Absolute.
    pub path: PathBuf,
    /// The variable or flag, for messages.
    pub origin: &'static str,
}

/// The sources of `--dir`, else of `SKILLS_DIR`, else none. `SKILLS_DIR` wins over `SKILLS_REPO`.
pub fn sources(
    environment: &Environment,
    directories: &[PathBuf],
) -> Result<Vec<NamedSource>, ConfigError> {
    if !directories.is_empty() {
        return Ok(named(environment, directories.iter().map(PathBuf::as_path), "--dir"));
    }
    if let Some(directory) = environment.get("SKILLS_DIR") {
        return Ok(named(environment, [Path::new(directory)].into_iter(), "SKILLS_DIR"));
    }
    if environment.get("SKILLS_REPO").is_some() {
        return Err(ConfigError::NoGit { origin: "SKILLS_REPO" });
    }
    Ok(Vec::new())
}

fn named<'a>(
    environment: &Environment,
    paths: impl Iterator<Item = &'a Path>,
    origin: &'static str,
) -> Vec<NamedSource> {
    let mut sources: Vec<NamedSource> = Vec::new();
    for path in paths {
        let path = environment.directory.join(expand_home(path, environment));
        let base = name_of(&path);
        let taken = |name: &str| sources.iter().any(|source| source.name == name);
        let mut name = base.clone();
        let mut number = 2;
        while taken(&name) {
            name = format!("{base}-{number}");
            number += 1;
        }
        sources.push(NamedSource { name, path, origin });
    }
    sources
}

/// `~/x` reaches us unexpanded from client configuration files.
fn expand_home(path: &Path, environment: &Environment) -> PathBuf {
    match (path.strip_prefix("~"), &environment.home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_path_buf(),
    }
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

    #[test]
    fn flags_win_over_the_variable_and_the_variable_over_the_repository() {
        let environment = environment(&[
            ("SKILLS_DIR", "~/team/skills"),
            ("SKILLS_REPO", "https://example.org/x.git"),
        ]);
        let from_variable = sources(&environment, &[]).unwrap();
        assert_eq!(from_variable[0].path, Path::new("/home/ada/team/skills"));
        assert_eq!(from_variable[0].name, "team");
        let from_flags = sources(&environment, &["a/skills".into(), "/b/a".into()]).unwrap();
        assert_eq!(from_flags.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["a", "a-2"]);
    }

    #[test]
    fn a_repository_alone_is_refused_with_the_way_out() {
        let error = sources(&environment(&[("SKILLS_REPO", "https://example.org/x.git")]), &[])
            .unwrap_err();
        assert!(error.to_string().starts_with("SKILLS_REPO: "));
        assert!(error.hint().contains("SKILLS_DIR"));
    }

    #[test]
    fn nothing_named_is_nothing() {
        assert!(sources(&environment(&[]), &[]).unwrap().is_empty());
    }
}
