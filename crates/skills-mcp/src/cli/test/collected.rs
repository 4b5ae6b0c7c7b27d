//! The routing tests of the content: `routing.yaml` of each source, and `tests` in the front matter of its skills.

use std::path::Path;

use skills_core::{
    catalog::Skill,
    document::SkillText,
    relpath::RelPath,
    route::authoring::{ResolvedTest, RoutingFileError, RoutingTest, read_routing_file, tests_of},
};

use super::Failure;
use crate::{
    source::{DiskError, Links, Root, map},
    store::{ContentError, Snapshot},
};

/// The name of a file of tests.
const ROUTING_FILE: &str = "routing.yaml";
/// A larger file of tests is refused.
const MAX_ROUTING_FILE_BYTES: usize = 4 * 1024 * 1024;

/// Where a test is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct TestPlace {
    /// The file, from the working directory where it is below that.
    pub(in crate::cli) file: String,
    pub(in crate::cli) line: u32,
    pub(in crate::cli) column: u32,
}

/// A mistake in a file of tests.
#[derive(Debug)]
pub(super) struct MisplacedTest {
    pub(super) place: TestPlace,
    pub(super) message: String,
    pub(super) hint: String,
}

/// All tests of the content, or what is wrong with them.
#[derive(Debug, Default)]
pub(super) struct CollectedTests {
    pub(super) tests: Vec<(TestPlace, ResolvedTest)>,
    pub(super) errors: Vec<MisplacedTest>,
}

impl CollectedTests {
    /// Those of the sources and their skills, or of one file.
    pub(super) fn of(
        snapshot: &Snapshot,
        directory: &Path,
        file: Option<&Path>,
    ) -> Result<Self, Failure> {
        let mut collected = Self::default();
        if let Some(file) = file {
            let text = read_file(file)?;
            collected.add(snapshot, &shown(file, directory), read_routing_file(&text));
            return Ok(collected);
        }
        for number in 0..snapshot.catalog.sources().len() {
            let path = snapshot.source_path(number).join(ROUTING_FILE);
            let name = shown(&path, directory);
            match snapshot.source_file(number, ROUTING_FILE, MAX_ROUTING_FILE_BYTES) {
                Ok(bytes) => {
                    collected.add(snapshot, &name, read_routing_file(&text(bytes, &name)?));
                }
                Err(ContentError::Missing) => {}
                Err(error) => return Err(Failure::usage(format!("{name} {error}"), HINT)),
            }
        }
        let skills: Vec<&Skill> = snapshot.catalog.skills().collect();
        let own = map(
            &skills,
            || (),
            |(), skill| {
                // A skill that cannot be read now has no tests; `doctor` says what is wrong with it.
                let text = snapshot.text(skill).map(SkillText::into_whole).unwrap_or_default();
                tests_of(&text, &skill.identity)
            },
        );
        for (skill, tests) in skills.into_iter().zip(own) {
            let path = snapshot.source_path(skill.source).join(skill.file.as_str());
            collected.add(snapshot, &shown(&path, directory), tests);
        }
        Ok(collected)
    }

    fn add(
        &mut self,
        snapshot: &Snapshot,
        file: &str,
        tests: Result<Vec<RoutingTest>, Vec<RoutingFileError>>,
    ) {
        let place = |at: skills_core::diagnostic::Position| TestPlace {
            file: file.to_owned(),
            line: at.line,
            column: at.column,
        };
        let mut wrong = |error: RoutingFileError| {
            let RoutingFileError { at, message, hint } = error;
            self.errors.push(MisplacedTest { place: place(at), message, hint });
        };
        match tests {
            Ok(tests) => {
                for test in tests {
                    let at = test.at;
                    match ResolvedTest::resolve(test, &snapshot.catalog) {
                        Ok(test) => self.tests.push((place(at), test)),
                        Err(error) => wrong(error),
                    }
                }
            }
            Err(errors) => errors.into_iter().for_each(wrong),
        }
    }
}

const HINT: &str = "a file of tests is UTF-8 text of at most 4 MiB";

/// A file that the operator named.
fn read_file(file: &Path) -> Result<String, Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::usage(format!("{}: {error}", file.display()), HINT)
    };
    let name = file.file_name().and_then(std::ffi::OsStr::to_str);
    let name = name.and_then(|name| RelPath::parse(name).ok());
    let name = name.ok_or_else(|| failed(&"is no file name"))?;
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let root = Root::open(folder.unwrap_or(Path::new(".")), Links::Inside);
    let read = root.and_then(|root| root.read(&name, MAX_ROUTING_FILE_BYTES));
    let bytes = read.map_err(|error| match error {
        DiskError::NotFound => Failure::usage(
            format!("there is no file or directory {}", file.display()),
            "name a skills directory, or a file of routing tests",
        ),
        error @ (DiskError::NotRegular
        | DiskError::TooLarge { .. }
        | DiskError::Link(_)
        | DiskError::NotSkill
        | DiskError::Io(_)) => failed(&error),
    })?;
    text(bytes, &file.display().to_string())
}

fn text(bytes: Vec<u8>, file: &str) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|_| Failure::usage(format!("{file} is not UTF-8 text"), HINT))
}

/// A path from the working directory where it is below that, with `/` between names.
fn shown(path: &Path, directory: &Path) -> String {
    path.strip_prefix(directory).unwrap_or(path).to_string_lossy().replace('\\', "/")
}
