//! [`CheckTarget`]: which source a check reads, and which part of it the check is about.

use std::path::{Path, PathBuf};

use super::super::{Context, Failure, authoring::in_repository};
use crate::paths::{exists, expand_home, is_file, is_folder};

/// So many folders above a path are looked at for the source that it belongs to.
const MAX_FOLDERS_ABOVE: usize = 16;

/// What is checked.
pub(super) struct CheckTarget {
    /// The context whose sources are read.
    pub(super) context: Context,
    /// The part of the only source that is meant: a file or folder below its root; empty for all of it.
    part: String,
    /// As the person wrote it.
    written: Option<PathBuf>,
}

impl CheckTarget {
    /// The sources that every command uses, or what this path stands for. A file or folder of a larger source is read with
    /// that source, because other skills of it matter.
    pub(super) fn of(context: &Context, path: Option<&Path>) -> Result<Self, Failure> {
        let Some(written) = path else {
            let context = in_repository(context);
            return Ok(Self { context, part: String::new(), written: None });
        };
        let home = context.environment.home.as_deref();
        let path =
            context.environment.directory.join(expand_home(&written.to_string_lossy(), home));
        let path: PathBuf = path.components().collect();
        if !exists(&path) {
            return Err(Failure::usage(
                format!("there is no file or directory {}", written.display()),
                "name a skills directory, one skill's folder or one Markdown file",
            ));
        }
        let is_markdown =
            path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"));
        if is_file(&path) && !is_markdown {
            return Err(Failure::usage(
                format!("{} is no Markdown file", written.display()),
                "name a skills directory, one skill's folder or one Markdown file",
            ));
        }
        let source = source_of(&path);
        let part = path.strip_prefix(&source).unwrap_or(Path::new(""));
        let part = part.to_string_lossy().replace('\\', "/");
        let mut context = context.clone();
        context.shared.directories = vec![source];
        context.shared.repositories = Vec::new();
        Ok(Self { context, part, written: Some(written.to_path_buf()) })
    }

    /// Whether a file of the source is meant.
    pub(super) fn has(&self, file: &str) -> bool {
        let below =
            |folder: &str| file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        // A tree skill's files are in the folder of its name.
        let files = self.part.strip_suffix(".md").filter(|_| !self.part.ends_with("SKILL.md"));
        self.part.is_empty() || file == self.part || below(&self.part) || files.is_some_and(below)
    }

    /// What is checked, in words.
    pub(super) fn described(&self) -> String {
        match &self.written {
            Some(written) => written.display().to_string(),
            None => "the sources".to_owned(),
        }
    }
}

/// The folder whose skills belong together with what is at a path: the nearest at or above it that has a `_root.md` or is
/// called `skills`, within its repository; else the folder itself, or the one that the file is in.
fn source_of(path: &Path) -> PathBuf {
    let own = if is_folder(path) { path } else { path.parent().unwrap_or(path) };
    let is_source =
        |folder: &&Path| folder.ends_with("skills") || is_file(&folder.join("_root.md"));
    let mut above = Vec::new();
    for folder in own.ancestors().take(MAX_FOLDERS_ABOVE) {
        above.push(folder);
        // A repository's root may be a source; what is above it is none.
        if exists(&folder.join(".git")) {
            break;
        }
    }
    above.into_iter().find(is_source).unwrap_or(own).to_path_buf()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_belongs_to_the_nearest_source_above_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        for path in ["team/.git", "team/skills/ui/react", "plain/pdf", "tree/a/b"] {
            std::fs::create_dir_all(at(path)).unwrap();
        }
        std::fs::write(at("team/skills/ui/auth.md"), "x").unwrap();
        std::fs::write(at("tree/_root.md"), "x").unwrap();
        std::fs::write(at("plain/pdf/SKILL.md"), "x").unwrap();
        for (path, source) in [
            ("team/skills/ui/auth.md", "team/skills"),
            ("team/skills", "team/skills"),
            ("team", "team"),
            ("tree/a/b", "tree"),
            ("plain/pdf", "plain/pdf"),
            ("plain/pdf/SKILL.md", "plain/pdf"),
            ("plain", "plain"),
        ] {
            assert_eq!(source_of(&at(path)), at(source), "{path}");
        }
    }
}
